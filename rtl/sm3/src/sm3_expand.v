// One word of SM3's message expansion (5.3.2 b), combinational: W[j] from W[j-16], W[j-13], W[j-9], W[j-6], W[j-3].
`default_nettype none

module sm3_expand (
    input  wire [31:0] w16, w13, w9, w6, w3,
    output wire [31:0] w
);
    wire [31:0] x  = w16 ^ w9 ^ {w3[16:0], w3[31:17]};
    wire [31:0] p1 = x ^ {x[16:0], x[31:17]} ^ {x[8:0], x[31:9]};

    assign w = p1 ^ {w13[24:0], w13[31:25]} ^ w6;
endmodule

`default_nettype wire

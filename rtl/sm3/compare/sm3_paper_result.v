// The result module: 256 bits read out as eight words, A first.
`default_nettype none

module sm3_paper_result (
    input  wire [255:0] V,
    input  wire [2:0]   index,
    output reg  [31:0]  dout
);
    always @*
        case (index)
            3'd0: dout = V[255:224];
            3'd1: dout = V[223:192];
            3'd2: dout = V[191:160];
            3'd3: dout = V[159:128];
            3'd4: dout = V[127:96];
            3'd5: dout = V[95:64];
            3'd6: dout = V[63:32];
            default: dout = V[31:0];
        endcase
endmodule

`default_nettype wire

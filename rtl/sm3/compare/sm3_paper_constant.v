// T_j <<< j, ready in a register before round j begins.
`default_nettype none

module sm3_paper_constant (
    input  wire        clk,
    input  wire        load,   // before round 0
    input  wire        round,
    input  wire [5:0]  j,
    output reg  [31:0] T
);
    // The registers of the paper hold no T: one more, instead of a table behind the counter, keeps
    // the table's delay out of the critical path and is smaller.
    always @(posedge clk)
        if (load | round)
            T <= load ? 32'h79cc4519 : (j == 6'd15) ? 32'h9d8a7a87 : {T[30:0], T[31]};
endmodule

`default_nettype wire

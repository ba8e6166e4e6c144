// Tj <<< j in a register that turns by ROUNDS_PER_CYCLE bits: smaller than 32 functions of the round's number, and out
// of the longest path. `first` loads T0 <<< 0 for the next cycle, `second` T16 <<< 16; no reset, because no round
// comes before `first`.
`default_nettype none

module sm3_constant #(
    parameter ROUNDS_PER_CYCLE = 1
) (
    input  wire        clk,
    input  wire        enable,
    input  wire        first,
    input  wire        second,
    output reg  [31:0] t
);
    localparam [31:0] T0  = 32'h79cc4519;
    localparam [31:0] T16 = 32'h9d8a7a87;    // 7a879d8a <<< 16

    wire [31:0] turned = {t[31-ROUNDS_PER_CYCLE:0], t[31:32-ROUNDS_PER_CYCLE]};

    always @(posedge clk)
        if (enable)
            t <= ({32{~(first | second)}} & turned) | ({32{first}} & T0) | ({32{second}} & T16);
endmodule

`default_nettype wire

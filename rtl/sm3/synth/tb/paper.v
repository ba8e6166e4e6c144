// Gate-level or source simulation of the paper's architecture: write, encrypt, read.
`timescale 1ps / 1ps
module tb;
    `include "bench.vh"

    reg W = 1'b0;
    reg R = 1'b0;
    reg [31:0] DIN = 32'd0;
    wire [1:0] STATE;
    wire FINISH;
    wire [31:0] DOUT;
    integer i, block;

    sm3_paper `PARAMETERS dut (
        .clk(clk), .rst_n(rst_n), .W(W), .R(R), .DIN(DIN), .STATE(STATE), .FINISH(FINISH), .DOUT(DOUT)
    );

    // Idle takes no word of the block: W there begins it.
    task take_block;
        begin
            W = 1'b1;
            @(posedge clk);
            while (STATE != 2'd1) @(posedge clk);
            for (i = 0; i < 16; i = i + 1) begin
                DIN = words[at];
                at = at + 1;
            end
        end
    endtask

    initial $finish;
endmodule

// Gate-level or source simulation of the paper's architecture: write, encrypt, read.
`timescale 1ps / 1ps
module tb;
    `include "bench.vh"

    localparam WRITE = 2'd1, READ = 2'd3;

    reg W = 1'b0;
    reg R = 1'b0;
    reg [31:0] DIN = 32'd0;
    wire [1:0] STATE;
    wire [31:0] DOUT;
    integer i;

    sm3_paper `PARAMETERS dut (
        .clk(clk), .rst_n(rst_n), .W(W), .R(R), .DIN(DIN), .STATE(STATE), .FINISH(), .DOUT(DOUT)
    );

    task take_word;
        begin
            W = 1'b1;
            DIN = words[at];
            @(posedge clk);
            while (STATE != WRITE) @(posedge clk);
            at = at + 1;
            #1000;
        end
    endtask

    initial begin
        at = 0;
        reset;
        for (message = 0; message < `MESSAGES; message = message + 1) begin
            begin_message;
            repeat (blocks[message] * 16) take_word;
            W = 1'b0;
            R = 1'b1;
            @(posedge clk);
            while (STATE != READ) @(posedge clk);
            end_message;
            $write("DIGEST ");
            for (i = 0; i < 8; i = i + 1) begin
                $write("%h", DOUT);
                if (i < 7) @(posedge clk);
            end
            $write("\n");
            #1000 R = 1'b0;
            tick;
        end
        $finish;
    end
endmodule

// All parameter sets of sm3_ahb play the same file of messages, each with a master of its own.
`default_nettype none

module replay #(
    parameter integer V_IN_RAM = 0
);

    reg clk, rst_n;
    wire [3:0] finished, failed;
    wire [31:0] digests [0:3];
    wire [63:0] cycles [0:3];
    wire [7:0] longest [0:3];

    genvar i;
    generate
        for (i = 0; i < 4; i = i + 1) begin : set
            replay_master #(
                .ROUNDS_PER_CYCLE(1 + i % 2),
                .INPUT_BUFFER(i / 2),
                .V_IN_RAM(V_IN_RAM),
                .SEED(32'h5EED0001 + i)
            ) master (
                .clk(clk),
                .rst_n(rst_n),
                .finished(finished[i]),
                .failed(failed[i]),
                .digests(digests[i]),
                .cycles(cycles[i]),
                .longest(longest[i])
            );
        end
    endgenerate

    initial begin
        clk = 1'b0;
        forever #5 clk = !clk;
    end

    initial begin
        rst_n = 1'b1;
        #1 rst_n = 1'b0;
        #12 rst_n = 1'b1;
    end

    integer n;
    always @(negedge clk)
        if (failed != 4'd0 || finished == 4'hF) begin
            for (n = 0; n < 4; n = n + 1)
                $display("set %0d %0s: %0d digests, %0d cycles, longest wait %0d",
                         n, failed[n] ? "FAILED" : "passed", digests[n], cycles[n], longest[n]);
            $finish;
        end

endmodule

`default_nettype wire

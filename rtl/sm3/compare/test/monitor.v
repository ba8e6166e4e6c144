// Counts the cycles of each block at the core's own signals and prints them:
//   compress N   from the cycle that takes W0 to the one whose edge completes A...H
//   block N      from the cycle that takes W0 to the one that takes the next block's W0, where the
//                message goes on (nothing was read out between the two)
`default_nettype none

module monitor (
    input wire         clk,
    input wire         rst_n,
    input wire [1:0]   STATE,
    input wire         W,
    input wire [255:0] registers  // A...H
);
    localparam IDLE = 2'd0, WRITE = 2'd1, ENCRYPT = 2'd2, READ = 2'd3;

    integer cycle = 0, first = 0, completed = 0, changed = 0;
    reg [1:0] before = IDLE;
    reg [255:0] registers_before = 0;
    reg loading = 0, chained = 0;

    always @(posedge clk) begin
        cycle <= cycle + 1;
        before <= STATE;
        registers_before <= registers;
        if (registers !== registers_before) completed = cycle - 1;
        if (STATE !== before) changed = cycle;
        if (cycle - changed > 1000) begin
            $display("error: the same STATE for 1000 cycles");
            $finish;
        end
        if (!rst_n) begin
            loading <= 0;
            chained <= 0;
        end else begin
            if (STATE == WRITE && W && !loading) begin
                if (chained) $display("block %0d", cycle - first);
                first   <= cycle;
                loading <= 1;
            end
            if (before == ENCRYPT && STATE != ENCRYPT) begin
                $display("compress %0d", completed - first + 1);
                loading <= 0;
                chained <= (STATE == IDLE);
            end
            if (STATE == READ) chained <= 0;
        end
    end
endmodule

`default_nettype wire

// Gate-level or source simulation of sm3_core: words as fast as they are taken.
`timescale 1ps / 1ps
module tb;
    `include "bench.vh"

    reg init = 1'b0;
    reg [31:0] w_data = 32'd0;
    reg w_valid = 1'b0;
    reg [2:0] v_index = 3'd0;
    wire w_ready, busy;
    wire [31:0] v_data;
    integer i;

    sm3_core `PARAMETERS dut (
        .clk(clk), .rst_n(rst_n), .init(init), .w_data(w_data), .w_valid(w_valid), .w_ready(w_ready),
        .w_open(), .busy(busy), .done(), .w_count(), .v_index(v_index), .v_data(v_data),
        .v_write(1'b0), .v_next(32'd0)
    );

    task take_word;
        begin
            w_data = words[at];
            w_valid = 1'b1;
            @(posedge clk);
            while (!w_ready) @(posedge clk);
            at = at + 1;
            #1000;
        end
    endtask

    initial begin
        at = 0;
        reset;
        for (message = 0; message < `MESSAGES; message = message + 1) begin
            init = 1'b1;
            tick;
            init = 1'b0;
            begin_message;
            repeat (blocks[message] * 16) take_word;
            w_valid = 1'b0;
            @(posedge clk);
            while (busy) @(posedge clk);
            end_message;
            $write("DIGEST ");
            for (i = 0; i < 8; i = i + 1) begin
                #1000 v_index = i;
                @(posedge clk);
                $write("%h", v_data);
            end
            $write("\n");
            #1000;
        end
        $finish;
    end
endmodule

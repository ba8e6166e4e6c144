// Clock, reset, messages and the measured window, for every testbench of this folder. The messages are
// whole padded blocks; what is driven changes 1 ns after the edge, what is read is read at the edge.
reg clk = 1'b0;
reg rst_n = 1'b0;
integer cycle = 0;

reg [31:0] words [0:`WORDS-1];
reg [31:0] blocks [0:`MESSAGES-1];
integer message, at, started;

always #(`PERIOD / 2) clk = ~clk;
always @(posedge clk) cycle = cycle + 1;

initial begin
    $readmemh("words.hex", words);
    $readmemh("blocks.hex", blocks);
    #(`PERIOD * 5000) $display("TIMEOUT");
    $finish;
end

task tick;
    begin
        @(posedge clk);
        #1000;
    end
endtask

task reset;
    begin
        repeat (3) tick;
        rst_n = 1'b1;
        tick;
    end
endtask

// The first word is about to be taken.
task begin_message;
    begin
        started = cycle;
`ifdef ENERGY
        if (message == `MESSAGES - 1) begin
            $dumpfile("energy.vcd");
            $dumpvars(1, dut);
        end
`endif
    end
endtask

// The digest is final.
task end_message;
    begin
`ifdef ENERGY
        if (message == `MESSAGES - 1) $dumpoff;
`endif
        $display("CYCLES %0d %0d", blocks[message], cycle - started);
    end
endtask

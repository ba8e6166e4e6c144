// Feeds sm3_paper with the messages of +stimuli=FILE (each a number of blocks, then their words, in
// hexadecimal) and prints "digest ..." for each. +stalls=1: words and reads come late at random, and
// some messages are broken off by a reset first. +seed=N.
`default_nettype none
`timescale 1ns / 1ps

module bench_core #(
    parameter NESTED = 1
);
    reg clk = 0, rst_n = 0, W = 0, R = 0;
    reg [31:0] DIN = 0;
    wire [1:0] STATE;
    wire FINISH;
    wire [31:0] DOUT;

    sm3_paper #(.NESTED(NESTED)) dut (
        .clk(clk), .rst_n(rst_n), .W(W), .R(R), .DIN(DIN), .STATE(STATE), .FINISH(FINISH), .DOUT(DOUT)
    );

    monitor monitor (
        .clk(clk), .rst_n(rst_n), .STATE(STATE), .W(W),
        .registers({dut.compression.A, dut.compression.B, dut.compression.C, dut.compression.D,
                    dut.compression.E, dut.compression.F, dut.compression.G, dut.compression.H})
    );

    always #5 clk = ~clk;

    integer file, stalls, seed, scanned, blocks, i;
    reg [1023:0] name;
    reg [31:0] word;
    reg [255:0] digest;

    task late;  // now and then, some cycles with neither W nor R
        if (stalls != 0 && $random(seed) % 4 == 0) begin
            W = 0;
            R = 0;
            repeat ($unsigned($random(seed)) % 7) @(negedge clk);
        end
    endtask

    task send(input [31:0] value);
        begin
            late;
            W = 1;
            DIN = value;
            @(posedge clk);
            while (STATE != 2'd1) @(posedge clk);
            @(negedge clk);
        end
    endtask

    task reset;
        begin
            rst_n = 0;
            W = 0;
            R = 0;
            repeat (2) @(negedge clk);
            rst_n = 1;
            @(negedge clk);
        end
    endtask

    task read_out;
        begin
            R = 1;
            while (STATE != 2'd3) @(negedge clk);
            for (i = 0; i < 8; i = i + 1) begin
                late;
                R = 1;
                digest = {digest[223:0], DOUT};
                if (FINISH && i != 0) $display("error: FINISH before the last word");
                @(negedge clk);
            end
            R = 0;
            if (!FINISH || STATE != 2'd0) $display("error: no FINISH after the last word");
            $display("digest %h", digest);
        end
    endtask

    initial begin
        if (!$value$plusargs("stimuli=%s", name)) $finish;
        if (!$value$plusargs("stalls=%d", stalls)) stalls = 0;
        if (!$value$plusargs("seed=%d", seed)) seed = 1;
        file = $fopen(name, "r");
        reset;
        while ($fscanf(file, "%h", blocks) == 1) begin
            if (stalls != 0 && $random(seed) % 8 == 0) begin
                repeat ($unsigned($random(seed)) % 40 + 1) send($random(seed));
                repeat ($unsigned($random(seed)) % 90) @(negedge clk);
                reset;
            end
            while (blocks > 0) begin
                for (i = 0; i < 16; i = i + 1) begin
                    scanned = $fscanf(file, "%h", word);
                    send(word);
                end
                blocks = blocks - 1;
            end
            W = 0;
            read_out;
        end
        $display("end");
        $finish;
    end
endmodule

`default_nettype wire

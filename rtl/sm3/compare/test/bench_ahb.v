// The same messages through sm3_paper_ahb, by a master whose address phases overlap the data phases
// before; +stalls=1: with idle cycles between, and with WIDE = 1 words written twice and results read from
// the last word on. Prints besides the monitor's lines, once a message:
//   start N   from the data phase of its first word to the cycle that takes W0
// Options as of bench_core.
`default_nettype none
`timescale 1ns / 1ps

module bench_ahb #(
    parameter NESTED = 1,
    parameter WIDE = 1
);
    localparam [11:0] INPUT = (WIDE != 0) ? 12'h40 : 12'h0, OUTPUT = (WIDE != 0) ? 12'h80 : 12'h4;
    localparam [11:0] CONTROL = 12'h8, STATUS = 12'hc;
    localparam STRIDE = (WIDE != 0) ? 4 : 0;  // from word to word

    reg clk = 0, rst_n = 0, HSEL = 0, HWRITE = 0;
    reg [11:0] HADDR = 0;
    reg [1:0] HTRANS = 0;
    reg [31:0] HWDATA = 0;
    wire HREADY, HRESP;
    wire [31:0] HRDATA;

    sm3_paper_ahb #(.NESTED(NESTED), .WIDE(WIDE)) dut (
        .HCLK(clk), .HRESETn(rst_n), .HSEL(HSEL), .HADDR(HADDR), .HTRANS(HTRANS), .HWRITE(HWRITE),
        .HWDATA(HWDATA), .HREADY(HREADY), .HREADYOUT(HREADY), .HRESP(HRESP), .HRDATA(HRDATA)
    );

    monitor monitor (
        .clk(clk), .rst_n(rst_n), .STATE(dut.core.STATE), .W(dut.core.W),
        .registers({dut.core.compression.A, dut.core.compression.B, dut.core.compression.C,
                    dut.core.compression.D, dut.core.compression.E, dut.core.compression.F,
                    dut.core.compression.G, dut.core.compression.H})
    );

    always #5 clk = ~clk;

    integer file, stalls, seed, scanned, blocks, i, waits;
    reg [1023:0] name;
    reg [31:0] word, pending, data;
    reg [255:0] digest;

    integer cycle = 0, stored = 0;
    reg fresh = 0, starting = 0;  // no word stored, none taken
    wire writing_input = dut.sic.to_input && HREADY;

    always @(posedge clk) begin
        cycle <= cycle + 1;
        if (fresh && writing_input) begin
            stored   <= cycle;
            fresh    <= 0;
            starting <= 1;
        end
        if (starting && dut.core.STATE == 2'd1 && dut.core.W) begin
            $display("start %0d", cycle - stored);
            starting <= 0;
        end
    end

    // One address phase, and the data phase of the transfer before: `data` is what that one read.
    task phase(input [1:0] trans, input write, input [11:0] address, input [31:0] value);
        begin
            HSEL = trans[1];
            HTRANS = trans;
            HADDR = address;
            HWRITE = write;
            HWDATA = pending;
            waits = 0;
            @(posedge clk);
            while (!HREADY) begin
                waits = waits + 1;
                if (waits == 100) begin
                    $display("error: 100 wait states");
                    $finish;
                end
                @(posedge clk);
            end
            data = HRDATA;
            if (HRESP) $display("error: HRESP");
            pending = value;
            @(negedge clk);
        end
    endtask

    task write(input [11:0] address, input [31:0] value);
        begin
            if (stalls != 0 && $random(seed) % 4 == 0)
                repeat ($unsigned($random(seed)) % 7) phase(2'b00, 1'b0, 12'h0, 32'h0);
            phase(2'b10, 1'b1, address, value);
        end
    endtask

    task read(input [11:0] address);
        begin
            phase(2'b10, 1'b0, address, 32'h0);
            if (stalls != 0 && $random(seed) % 4 == 0) phase(2'b01, 1'b1, INPUT, 32'h0);
            else phase(2'b00, 1'b0, 12'h0, 32'h0);
        end
    endtask

    task read_out;
        begin
            data = 0;
            while (!data[3]) read(STATUS);
            if (stalls != 0) begin
                for (i = 0; i < 8; i = i + 1) begin
                    read(OUTPUT + STRIDE * (7 - i));
                    digest = (WIDE != 0) ? {data, digest[255:32]} : {digest[223:0], data};
                end
            end else begin
                phase(2'b10, 1'b0, OUTPUT, 32'h0);
                for (i = 0; i < 8; i = i + 1) begin
                    phase(i == 7 ? 2'b00 : 2'b11, 1'b0, OUTPUT + STRIDE * (i + 1), 32'h0);
                    digest = {digest[223:0], data};
                end
            end
            read(STATUS);
            if (data[3:0] != {WIDE != 0, 3'b100}) $display("error: status %b after the result", data[3:0]);
            read(CONTROL);
            if (data != 32'd1) $display("error: control");
            $display("digest %h", digest);
        end
    endtask

    initial begin
        if (!$value$plusargs("stimuli=%s", name)) $finish;
        if (!$value$plusargs("stalls=%d", stalls)) stalls = 0;
        if (!$value$plusargs("seed=%d", seed)) seed = 1;
        file = $fopen(name, "r");
        repeat (2) @(negedge clk);
        rst_n = 1;
        while ($fscanf(file, "%h", blocks) == 1) begin
            write(CONTROL, 32'd0);
            fresh = 1;
            while (blocks > 0) begin
                if (WIDE != 0 && blocks == 1) write(CONTROL, 32'd1);
                for (i = 0; i < 16; i = i + 1) begin
                    scanned = $fscanf(file, "%h", word);
                    if (WIDE != 0 && stalls != 0 && i != 15 && $random(seed) % 4 == 0)
                        write(INPUT + STRIDE * i, ~word);
                    write(INPUT + STRIDE * i, word);
                end
                blocks = blocks - 1;
            end
            if (WIDE == 0) write(CONTROL, 32'd1);
            phase(2'b00, 1'b0, 12'h0, 32'h0);
            read_out;
        end
        $display("end");
        $finish;
    end
endmodule

`default_nettype wire

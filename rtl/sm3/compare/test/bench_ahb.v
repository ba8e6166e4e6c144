// The same messages through sm3_paper_ahb, by a master whose address phases overlap the data phases
// before; +stalls=1: with idle cycles between. Options as of bench_core.
`default_nettype none
`timescale 1ns / 1ps

module bench_ahb #(
    parameter NESTED = 1
);
    localparam [11:0] INPUT = 12'h0, OUTPUT = 12'h4, CONTROL = 12'h8, STATUS = 12'hc;

    reg clk = 0, rst_n = 0, HSEL = 0, HWRITE = 0;
    reg [11:0] HADDR = 0;
    reg [1:0] HTRANS = 0;
    reg [31:0] HWDATA = 0;
    wire HREADY, HRESP;
    wire [31:0] HRDATA;

    sm3_paper_ahb #(.NESTED(NESTED)) dut (
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
                    read(OUTPUT);
                    digest = {digest[223:0], data};
                end
            end else begin
                phase(2'b10, 1'b0, OUTPUT, 32'h0);
                for (i = 0; i < 8; i = i + 1) begin
                    phase(i == 7 ? 2'b00 : 2'b11, 1'b0, OUTPUT, 32'h0);
                    digest = {digest[223:0], data};
                end
            end
            read(STATUS);
            if (data[3:0] != 4'b0100) $display("error: status %b after the result", data[3:0]);
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
            while (blocks > 0) begin
                for (i = 0; i < 16; i = i + 1) begin
                    scanned = $fscanf(file, "%h", word);
                    write(INPUT, word);
                end
                blocks = blocks - 1;
            end
            write(CONTROL, 32'd1);
            phase(2'b00, 1'b0, 12'h0, 32'h0);
            read_out;
        end
        $display("end");
        $finish;
    end
endmodule

`default_nettype wire

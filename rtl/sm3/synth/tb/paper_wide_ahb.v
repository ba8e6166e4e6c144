// Gate-level or source simulation of the paper's architecture behind its AHB-SIC with registers of 512 and
// 256 bits: pipelined single writes, the end by polling.
`timescale 1ps / 1ps
module tb;
    `include "bench.vh"

    localparam IDLE = 2'd0, NONSEQ = 2'd2;
    localparam INPUT = 12'h040, OUTPUT = 12'h080, CONTROL = 12'h008, STATUS = 12'h00C;

    reg [11:0] HADDR = 12'd0;
    reg [1:0] HTRANS = IDLE;
    reg HWRITE = 1'b0;
    reg [31:0] HWDATA = 32'd0;
    wire HREADYOUT, HRESP;
    wire [31:0] HRDATA;
    integer i;

    sm3_paper_ahb `PARAMETERS dut (
        .HCLK(clk), .HRESETn(rst_n), .HSEL(1'b1), .HADDR(HADDR), .HTRANS(HTRANS), .HWRITE(HWRITE),
        .HWDATA(HWDATA), .HREADY(HREADYOUT), .HREADYOUT(HREADYOUT), .HRESP(HRESP), .HRDATA(HRDATA)
    );

    reg [31:0] data;

    // One address phase with the data phase before it; `data` is what that one read.
    task phase(input [1:0] trans, input write, input [11:0] address, input [31:0] value);
        begin
            HTRANS = trans;
            HWRITE = write;
            HADDR = address;
            @(posedge clk);
            while (!HREADYOUT) @(posedge clk);
            data = HRDATA;
            #1000 HWDATA = value;
        end
    endtask

    initial begin
        at = 0;
        reset;
        for (message = 0; message < `MESSAGES; message = message + 1) begin
            phase(NONSEQ, 1'b1, CONTROL, (blocks[message] == 1));
            phase(NONSEQ, 1'b1, INPUT, words[at]);
            begin_message;
            for (i = 1; i < blocks[message] * 16; i = i + 1) begin
                if (i == blocks[message] * 16 - 16) phase(NONSEQ, 1'b1, CONTROL, 32'd1);
                phase(NONSEQ, 1'b1, INPUT + 4 * (i % 16), words[at + i]);
            end
            at = at + blocks[message] * 16;
            data = 32'd0;
            phase(NONSEQ, 1'b0, STATUS, 32'd0);
            phase(NONSEQ, 1'b0, STATUS, 32'd0);
            while (!data[3]) phase(NONSEQ, 1'b0, STATUS, 32'd0);
            end_message;
            $write("DIGEST ");
            phase(NONSEQ, 1'b0, OUTPUT, 32'd0);
            for (i = 0; i < 8; i = i + 1) begin
                phase((i == 7) ? IDLE : NONSEQ, 1'b0, OUTPUT + 4 * ((i + 1) % 8), 32'd0);
                $write("%h", data);
            end
            $write("\n");
        end
        $finish;
    end
endmodule

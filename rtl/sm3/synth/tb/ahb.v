// Gate-level or source simulation of sm3_ahb: one unbroken write burst a message, the end by interrupt.
`timescale 1ps / 1ps
module tb;
    `include "bench.vh"

    localparam IDLE = 2'd0, NONSEQ = 2'd2, SEQ = 2'd3;
    localparam CTRL = 12'h008, IRQ_ENABLE = 12'h010, IRQ_STATUS = 12'h014, DIN = 12'h040, DIGEST = 12'h080;

    reg [11:0] HADDR = 12'd0;
    reg [1:0] HTRANS = IDLE;
    reg HWRITE = 1'b0;
    reg [31:0] HWDATA = 32'd0;
    wire HREADYOUT, HRESP, IRQ;
    wire [31:0] HRDATA;
    integer i;

    sm3_ahb `PARAMETERS dut (
        .HCLK(clk), .HRESETn(rst_n), .HSEL(1'b1), .HADDR(HADDR), .HTRANS(HTRANS), .HWRITE(HWRITE),
        .HSIZE(3'd2), .HBURST(3'd1), .HWDATA(HWDATA), .HREADY(HREADYOUT), .HREADYOUT(HREADYOUT),
        .HRESP(HRESP), .HRDATA(HRDATA), .IRQ(IRQ), .DMA_REQ()
    );

    // One bus cycle with its wait states.
    task transfer;
        begin
            @(posedge clk);
            while (!HREADYOUT) @(posedge clk);
            if (HRESP) $display("ERROR RESPONSE");
            #1000;
        end
    endtask

    task write(input [11:0] address, input [31:0] data);
        begin
            HADDR = address;
            HTRANS = NONSEQ;
            HWRITE = 1'b1;
            transfer;
            HTRANS = IDLE;
            HWDATA = data;
            transfer;
        end
    endtask

    initial begin
        at = 0;
        reset;
        write(IRQ_ENABLE, 32'd1);
        for (message = 0; message < `MESSAGES; message = message + 1) begin
            write(CTRL, 32'd1);
            HADDR = DIN;
            HTRANS = NONSEQ;
            HWRITE = 1'b1;
            transfer;
            begin_message;
            for (i = 1; i <= blocks[message] * 16; i = i + 1) begin
                HADDR = DIN + (i % 16) * 4;
                HTRANS = (i == blocks[message] * 16) ? IDLE : (i % 16 == 0) ? NONSEQ : SEQ;
                HWDATA = words[at];
                at = at + 1;
                transfer;
            end
            @(posedge clk);
            while (!IRQ) @(posedge clk);
            end_message;
            #1000 write(IRQ_STATUS, 32'd1);
            $write("DIGEST ");
            HWRITE = 1'b0;
            HADDR = DIGEST;
            HTRANS = NONSEQ;
            transfer;
            for (i = 1; i <= 8; i = i + 1) begin
                HADDR = DIGEST + i * 4;
                HTRANS = (i == 8) ? IDLE : SEQ;
                @(posedge clk);
                $write("%h", HRDATA);
                #1000;
            end
            $write("\n");
        end
        $finish;
    end
endmodule

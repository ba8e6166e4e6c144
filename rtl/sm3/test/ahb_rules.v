// Watches one AHB-Lite slave and keeps the first rule that it breaks.
//   1  no transfer in the data phase: HREADYOUT high and HRESP low
//   2  a wrong transfer: exactly one cycle of HREADYOUT low with HRESP, then one of both high
//   3  a right transfer: no HRESP
//   4  a right transfer other than writing DIN: no wait
//   5  writing DIN: at most BOUND waits
//   6  DIGEST: OKAY at once, or the two cycles of rule 2 (which one depends on BUSY)
//   7  a control output is unknown
// The map of addresses is written down here a second time on purpose.
`default_nettype none

module ahb_rules (
    input wire clk,
    input wire rst_n,
    input wire [7:0] bound,
    input wire HSEL,
    input wire [11:0] HADDR,
    input wire transfer,  // HTRANS is NONSEQ or SEQ
    input wire HWRITE,
    input wire [2:0] HSIZE,
    input wire HREADY,
    input wire HREADYOUT,
    input wire HRESP,
    input wire IRQ,
    input wire DMA_REQ,
    output reg [2:0] broken,
    output reg [7:0] longest
);

    // The transfer in its data phase.
    reg active, first, bad, digest, din;
    reg [7:0] waits;

    wire writable = HADDR == 12'h008 || HADDR == 12'h010 || HADDR == 12'h014;
    wire readable = HADDR <= 12'h014;
    wire at_din = HADDR >= 12'h040 && HADDR <= 12'h07C;
    wire at_digest = HADDR >= 12'h080 && HADDR <= 12'h09C;
    wire right = HSIZE == 3'd2 && HADDR[1:0] == 2'd0 &&
                 (at_digest || (HWRITE ? writable || at_din : readable));

    // What a data phase's first and later cycles may look like.
    wire error_1 = !HREADYOUT && HRESP && first;
    wire error_2 = HREADYOUT && HRESP && !first;
    wire okay = HREADYOUT && !HRESP;

    reg [2:0] rule;
    always @* begin
        rule = 3'd0;
        if ((^{HREADYOUT, HRESP, IRQ, DMA_REQ}) === 1'bx)
            rule = 3'd7;
        else if (!active) begin
            if (!okay)
                rule = 3'd1;
        end else if (bad) begin
            if (!error_1 && !error_2)
                rule = 3'd2;
        end else if (digest) begin
            if (!error_1 && !error_2 && !(okay && first))
                rule = 3'd6;
        end else if (HRESP)
            rule = 3'd3;
        else if (!HREADYOUT && !din)
            rule = 3'd4;
        else if (!HREADYOUT && waits >= bound)
            rule = 3'd5;
    end

    always @(posedge clk or negedge rst_n)
        if (!rst_n) begin
            active <= 1'b0;
            first <= 1'b0;
            bad <= 1'b0;
            digest <= 1'b0;
            din <= 1'b0;
            waits <= 8'd0;
            broken <= 3'd0;
            longest <= 8'd0;
        end else begin
            if (broken == 3'd0)
                broken <= rule;
            first <= 1'b0;
            if (HREADY) begin
                active <= HSEL && transfer;
                first <= HSEL && transfer;
                bad <= !right;
                digest <= right && at_digest;
                din <= right && at_din;
                waits <= 8'd0;
            end else if (active && !HREADYOUT && !HRESP) begin
                waits <= waits + 8'd1;
                if (waits >= longest)
                    longest <= waits + 8'd1;
            end
        end

endmodule

`default_nettype wire

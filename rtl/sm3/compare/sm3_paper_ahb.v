// The paper's whole IP: sm3_paper behind its AHB-SIC, whose input and output registers have 512 and 256
// bits (WIDE = 1) or a word each (WIDE = 0).
`default_nettype none

module sm3_paper_ahb #(
    parameter NESTED = 1,
    parameter WIDE = 1
) (
    input  wire        HCLK,
    input  wire        HRESETn,
    input  wire        HSEL,
    // The interface controller knows 256 bytes and words only.
    /* verilator lint_off UNUSEDSIGNAL */
    input  wire [11:0] HADDR,
    input  wire [1:0]  HTRANS,
    /* verilator lint_on UNUSEDSIGNAL */
    input  wire        HWRITE,
    input  wire [31:0] HWDATA,
    input  wire        HREADY,
    output wire        HREADYOUT,
    output wire        HRESP,
    output wire [31:0] HRDATA
);
    wire        W, R, FINISH;
    wire [1:0]  STATE;
    wire [31:0] DIN, DOUT;

    assign HRESP = 1'b0;

    sm3_paper_sic #(.WIDE(WIDE)) sic (
        .HCLK(HCLK), .HRESETn(HRESETn), .HSEL(HSEL), .HADDR(HADDR[7:2]), .HTRANS1(HTRANS[1]),
        .HWRITE(HWRITE), .HWDATA(HWDATA), .HREADY(HREADY), .HREADYOUT(HREADYOUT), .HRDATA(HRDATA),
        .W(W), .R(R), .DIN(DIN), .STATE(STATE), .FINISH(FINISH), .DOUT(DOUT)
    );

    sm3_paper #(.NESTED(NESTED)) core (
        .clk(HCLK), .rst_n(HRESETn), .W(W), .R(R), .DIN(DIN), .STATE(STATE), .FINISH(FINISH),
        .DOUT(DOUT)
    );
endmodule

`default_nettype wire

// The paper's AHB-SM3 interface controller (AHB-SIC), an AHB-Lite slave: bus interface control logic
// around four function registers.
//
// WIDE = 1  WIDE = 0
// 0x40-0x7C 0x0  input    W: the words of a block, in their order
// 0x80-0x9C 0x4  output   R: the words of the result
// 0x08      0x8  control  RW: [0] R: read out the result
// 0x0C      0xC  status   R: [1:0] STATE, [2] FINISH, [3] the output register can be read
//
// WIDE = 1: the input register has 512 bits, the output register 256, and the address selects the word.
// Writing the last word hands the block over, with R as it is then; a write waits until all of it has
// been taken.
// WIDE = 0: each has a word; R counts at the end of a block. A write waits while the last word has not
// been taken, but not while a result is being read: that ends by reads of the master who would be
// waiting.
`default_nettype none

module sm3_paper_sic #(
    parameter WIDE = 1
) (
    input  wire        HCLK,
    input  wire        HRESETn,
    input  wire        HSEL,
    input  wire [7:2]  HADDR,
    input  wire        HTRANS1,
    input  wire        HWRITE,
    input  wire [31:0] HWDATA,
    input  wire        HREADY,
    output wire        HREADYOUT,
    output reg  [31:0] HRDATA,
    output wire        W,
    output wire        R,
    output wire [31:0] DIN,
    input  wire [1:0]  STATE,
    input  wire        FINISH,
    input  wire [31:0] DOUT
);
    localparam INPUT = 2'd0, OUTPUT = 2'd1, CONTROL = 2'd2, STATUS = 2'd3;

    // Control logic and address decoder.
    reg       writing, reading, control_r;
    reg [7:2] address;

    wire [1:0] wide_map = address[7] ? OUTPUT : address[6] ? INPUT : address[2] ? STATUS : CONTROL;
    wire [1:0] register = (WIDE != 0) ? wide_map : address[3:2];
    wire to_input = writing & (register == INPUT);
    wire from_output = reading & (register == OUTPUT);

    always @(posedge HCLK or negedge HRESETn)
        if (!HRESETn) begin
            writing <= 1'b0;
            reading <= 1'b0;
            address <= 6'd0;
        end else if (HREADY) begin
            writing <= HSEL & HTRANS1 & HWRITE;
            reading <= HSEL & HTRANS1 & ~HWRITE;
            if (HSEL & HTRANS1) address <= HADDR;
        end

    always @(posedge HCLK or negedge HRESETn)
        if (!HRESETn) control_r <= 1'b0;
        else if (writing & (register == CONTROL)) control_r <= HWDATA[0];

    // Input and output register.
    wire [31:0] result;
    wire        readable;

    generate
        if (WIDE != 0) begin : wide
            sm3_paper_wide registers (
                .clk(HCLK), .rst_n(HRESETn), .to_input(to_input), .word(address[5:2]), .data(HWDATA),
                .control_r(control_r), .ready(HREADYOUT), .readable(readable), .result(result),
                .W(W), .R(R), .DIN(DIN), .STATE(STATE), .FINISH(FINISH), .DOUT(DOUT)
            );
            /* verilator lint_off UNUSEDSIGNAL */
            wire unused = from_output;  // reading leaves the result where it is
            /* verilator lint_on UNUSEDSIGNAL */
        end else begin : narrow
            sm3_paper_narrow registers (
                .clk(HCLK), .rst_n(HRESETn), .to_input(to_input), .from_output(from_output),
                .data(HWDATA), .control_r(control_r), .ready(HREADYOUT), .readable(readable),
                .result(result), .W(W), .R(R), .DIN(DIN), .STATE(STATE), .DOUT(DOUT)
            );
            /* verilator lint_off UNUSEDSIGNAL */
            wire [1:0] unused = address[5:4];
            /* verilator lint_on UNUSEDSIGNAL */
        end
    endgenerate

    // Multiplexer.
    always @*
        case (register)
            INPUT: HRDATA = 32'd0;
            OUTPUT: HRDATA = result;
            CONTROL: HRDATA = {31'd0, control_r};
            default: HRDATA = {28'd0, readable, FINISH, STATE};
        endcase
endmodule

`default_nettype wire

// The paper's AHB-SM3 interface controller (AHB-SIC), an AHB-Lite slave: bus interface control logic
// around four function registers, 32 bits each.
//
// 0x0 input    W: the next word of the message
// 0x4 output   R: the next word of the result
// 0x8 control  RW: [0] R, to be set before the end of a message's last block
// 0xC status   R: [1:0] STATE, [2] FINISH, [3] a word is in the output register
//
// A write to the input register waits while the last word has not been taken, but not while a result
// is being read: that ends by reads of the master who would be waiting.
`default_nettype none

module sm3_paper_sic (
    input  wire        HCLK,
    input  wire        HRESETn,
    input  wire        HSEL,
    input  wire [3:2]  HADDR,
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
    localparam INPUT = 2'd0, OUTPUT = 2'd1, CONTROL = 2'd2;
    localparam WRITE = 2'd1, READ = 2'd3;

    // Control logic and address decoder.
    reg       writing, reading;
    reg [1:0] register;

    always @(posedge HCLK or negedge HRESETn)
        if (!HRESETn) begin
            writing  <= 1'b0;
            reading  <= 1'b0;
            register <= INPUT;
        end else if (HREADY) begin
            writing <= HSEL & HTRANS1 & HWRITE;
            reading <= HSEL & HTRANS1 & ~HWRITE;
            if (HSEL & HTRANS1) register <= HADDR;
        end

    reg full, held, control_r;
    reg [31:0] input_register, output_register;

    wire to_input = writing & (register == INPUT);
    wire from_output = reading & (register == OUTPUT);
    wire taken = full & (STATE == WRITE);
    wire store = to_input & HREADYOUT;

    assign HREADYOUT = ~(to_input & full & ~taken & (STATE != READ));
    assign W = full;
    assign R = (STATE == READ) ? ~held | from_output : control_r;
    assign DIN = input_register;

    // Distributor.
    wire fetch = (STATE == READ) & R;

    always @(posedge HCLK or negedge HRESETn)
        if (!HRESETn) begin
            full      <= 1'b0;
            held      <= 1'b0;
            control_r <= 1'b0;
        end else begin
            full <= store | (full & ~taken);
            held <= fetch | (held & ~from_output);
            if (writing & (register == CONTROL)) control_r <= HWDATA[0];
        end

    always @(posedge HCLK)
        if (store) input_register <= HWDATA;

    always @(posedge HCLK)
        if (fetch) output_register <= DOUT;

    // Multiplexer.
    always @*
        case (register)
            INPUT: HRDATA = 32'd0;
            OUTPUT: HRDATA = output_register;
            CONTROL: HRDATA = {31'd0, control_r};
            default: HRDATA = {28'd0, held, FINISH, STATE};
        endcase
endmodule

`default_nettype wire

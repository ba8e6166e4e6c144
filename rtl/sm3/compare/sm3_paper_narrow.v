// Input and output register of the AHB-SIC, a word each (WIDE = 0).
`default_nettype none

module sm3_paper_narrow (
    input  wire        clk,
    input  wire        rst_n,
    input  wire        to_input,     // data phase of a write
    input  wire        from_output,  // data phase of a read
    input  wire [31:0] data,
    input  wire        control_r,
    output wire        ready,
    output wire        readable,
    output wire [31:0] result,
    output wire        W,
    output wire        R,
    output wire [31:0] DIN,
    input  wire [1:0]  STATE,
    input  wire [31:0] DOUT
);
    localparam WRITE = 2'd1, READ = 2'd3;

    reg full, held;
    reg [31:0] input_register, output_register;

    wire taken = full & (STATE == WRITE);
    wire store = to_input & ready;
    wire fetch = (STATE == READ) & R;

    assign ready = ~(to_input & full & ~taken & (STATE != READ));
    assign readable = held;
    assign result = output_register;
    assign W = full;
    assign R = (STATE == READ) ? ~held | from_output : control_r;
    assign DIN = input_register;

    always @(posedge clk or negedge rst_n)
        if (!rst_n) begin
            full <= 1'b0;
            held <= 1'b0;
        end else begin
            full <= store | (full & ~taken);
            held <= fetch | (held & ~from_output);
        end

    always @(posedge clk)
        if (store) input_register <= data;

    always @(posedge clk)
        if (fetch) output_register <= DOUT;
endmodule

`default_nettype wire

// Input register of 512 bits and output register of 256 bits of the AHB-SIC (WIDE = 1).
//
// The distributor writes the word that the address names; the core takes all 16 in consecutive cycles.
// A block is written while the one before is compressed: R belongs to a block, and goes with it.
// The result module's words are shifted in, and the address selects one of them.
`default_nettype none

module sm3_paper_wide (
    input  wire        clk,
    input  wire        rst_n,
    input  wire        to_input,   // data phase of a write
    input  wire [3:0]  word,
    input  wire [31:0] data,
    input  wire        control_r,
    output wire        ready,
    output wire        readable,
    output wire [31:0] result,
    output wire        W,
    output wire        R,
    output wire [31:0] DIN,
    input  wire [1:0]  STATE,
    input  wire        FINISH,
    input  wire [31:0] DOUT
);
    localparam IDLE = 2'd0, WRITE = 2'd1, READ = 2'd3;

    reg         full, full_r, taken_r;
    reg [3:0]   next;  // the word that the core takes
    reg [511:0] input_register;
    reg [255:0] output_register;

    wire taken = full & (STATE == WRITE);
    wire store = to_input & ~full;
    wire last_stored = store & (&word);
    wire last_taken = taken & (&next);

    assign ready = ~(to_input & full);
    assign readable = (STATE == IDLE) & FINISH & ~full;
    assign W = full;
    assign R = taken_r;

    always @(posedge clk or negedge rst_n)
        if (!rst_n) begin
            full <= 1'b0;
            next <= 4'd0;
        end else begin
            full <= last_stored | (full & ~last_taken);
            if (taken) next <= next + 4'd1;
        end

    always @(posedge clk)
        if (last_stored) full_r <= control_r;

    always @(posedge clk)
        if (last_taken) taken_r <= full_r;

    // The lowest bits are word 0.
    genvar i;
    generate
        for (i = 0; i < 16; i = i + 1) begin : words
            always @(posedge clk)
                if (store & (word == i)) input_register[32*i+:32] <= data;
        end
    endgenerate

    always @(posedge clk)
        if (STATE == READ) output_register <= {DOUT, output_register[255:32]};

    assign DIN = input_register[32*next+:32];
    assign result = output_register[32*word[2:0]+:32];
endmodule

`default_nettype wire

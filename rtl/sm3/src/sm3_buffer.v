// A queue of 16 words before sm3_core (parameter INPUT_BUFFER of sm3_ahb): the next block can be written at any time
// while one is compressed. Words go on to the core as soon as it takes them; one word enters and one leaves in a cycle,
// also when full.
`default_nettype none

module sm3_buffer (
    input  wire        clk,
    input  wire        rst_n,
    input  wire        init,
    input  wire [31:0] in_data,
    input  wire        in_valid,
    output wire        in_ready,
    output wire [31:0] out_data,
    output wire        out_valid,
    input  wire        out_ready,
    output wire [3:0]  count        // words taken of the block that is being written, 0 between blocks
);
    reg [31:0] word [0:15];
    reg [4:0]  in, out;             // words taken and given, modulo 32

    wire [4:0] held = in - out;
    wire       take = in_valid & in_ready;

    assign in_ready  = ~held[4] | out_ready;
    assign out_valid = held != 5'd0;
    assign out_data  = word[out[3:0]];
    assign count     = in[3:0];

    always @(posedge clk)
        if (take) word[in[3:0]] <= in_data;

    always @(posedge clk or negedge rst_n)
        if (!rst_n) in <= 5'd0;
        else if (init) in <= 5'd0;
        else if (take) in <= in + 5'd1;

    always @(posedge clk or negedge rst_n)
        if (!rst_n) out <= 5'd0;
        else if (init) out <= 5'd0;
        else if (out_valid & out_ready) out <= out + 5'd1;
endmodule

`default_nettype wire

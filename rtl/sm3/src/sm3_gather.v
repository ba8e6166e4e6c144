// Two words at a time for the chain of W, from one word a cycle: needed with two rounds a cycle alone. The chain has
// room for the next block in the last 8 of the 34 cycles only; the eight words kept here let loading begin 8 cycles
// earlier, so that a word a cycle sustains 34 cycles a block. Even words and odd words lie in a bank each; the odd word
// that completes a pair passes by.
`default_nettype none

module sm3_gather (
    input  wire        clk,
    input  wire        rst_n,
    input  wire        init,
    input  wire [31:0] w_data,
    input  wire        w_valid,
    output wire        w_ready,
    output reg  [3:0]  count,       // words taken of the block that is being loaded

    input  wire        pair_open,
    output wire        pair_valid,
    input  wire [2:0]  given,       // pairs of the same block that the chain has taken
    output wire [63:0] pair         // the first word in the lower half
);
    reg [31:0] even [0:3];
    reg [31:0] odd [0:3];

    // Pairs complete here, and none can be more than four ahead of the chain.
    wire [2:0] ahead = count[3:1] - given;
    wire       full  = ahead[2];
    wire       by    = ahead == 3'd0;

    assign w_ready    = ~full | pair_open;
    assign pair_valid = ~by | (count[0] & w_valid);
    assign pair       = {by ? w_data : odd[given[1:0]], even[given[1:0]]};

    wire take = w_valid & w_ready;

    always @(posedge clk) begin
        if (take & ~count[0]) even[count[2:1]] <= w_data;
        if (take & count[0]) odd[count[2:1]] <= w_data;
    end

    always @(posedge clk or negedge rst_n)
        if (!rst_n) count <= 4'd0;
        else if (init) count <= 4'd0;
        else if (take) count <= count + 4'd1;
endmodule

`default_nettype wire

// The expansion: W1...W15 and W, the newest word, as one chain, and W_prime, the current W'_j.
//
// A word enters at W, from the message or from the recurrence, and all others move one place down;
// so W' is W12 xor W of the same moment for every j when the compression follows five words behind
// (NESTED). When it waits for the whole block instead, the same words lie at the chain's end.
`default_nettype none

module sm3_paper_expansion #(
    parameter NESTED = 1
) (
    input  wire        clk,
    input  wire        from_din,
    input  wire        step,
    input  wire [31:0] din,
    output wire [31:0] w_current,  // W_j+1 of the round that is being computed
    output reg  [31:0] w_prime     // W'_j+1
);
    reg [31:0] W1, W2, W3, W4, W5, W6, W7, W8, W9, W10, W11, W12, W13, W14, W15, W;

    wire [31:0] Y = W1 ^ W8 ^ {W14[16:0], W14[31:17]};
    wire [31:0] P1 = Y ^ {Y[16:0], Y[31:17]} ^ {Y[8:0], Y[31:9]};
    wire [31:0] next = from_din ? din : P1 ^ {W4[24:0], W4[31:25]} ^ W11;

    assign w_current = (NESTED != 0) ? W12 : W1;

    always @(posedge clk)
        if (step) begin
            w_prime <= (NESTED != 0) ? W13 ^ next : W2 ^ W6;
            W   <= next;
            W15 <= W;
            W14 <= W15;
            W13 <= W14;
            W12 <= W13;
            W11 <= W12;
            W10 <= W11;
            W9  <= W10;
            W8  <= W9;
            W7  <= W8;
            W6  <= W7;
            W5  <= W6;
            W4  <= W5;
            W3  <= W4;
            W2  <= W3;
            W1  <= W2;
        end
endmodule

`default_nettype wire

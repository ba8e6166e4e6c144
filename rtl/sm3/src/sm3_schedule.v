// The message schedule: one chain of 16 words, in cycle i from W[iR] (lowest bits) to W[iR+15], R = ROUNDS_PER_CYCLE.
// New words enter at the top alone, expanded or of the next block, so no word needs a loading multiplexer. No reset:
// what was in the chain before a block has left it when the block's round 0 comes.
//
// The flip-flops hold the words inverted: expansion keeps that, being an XOR of eleven bits, and a word that is to be
// 0 at times (sm3_core: bare) then costs a NOR a bit.
`default_nettype none

module sm3_schedule #(
    parameter ROUNDS_PER_CYCLE = 1
) (
    input  wire        clk,
    input  wire        shift,
    input  wire        load,        // what enters is `unit`
    input  wire [32*ROUNDS_PER_CYCLE-1:0] unit,
    output wire [32*ROUNDS_PER_CYCLE-1:0] w,        // W[j+1] (and W[j+2]), j the (first) round of this cycle
    output wire [32*ROUNDS_PER_CYCLE-1:0] w_prime   // W'[j+1] (and W'[j+2])
);
    localparam R = ROUNDS_PER_CYCLE;

    reg  [511:0] inverted;
    wire [511:0] chain = ~inverted;
    wire [32*R-1:0] expanded;

    genvar i;
    generate
        for (i = 0; i < R; i = i + 1) begin : lane
            sm3_expand expand (
                .w16(chain[32*i +: 32]), .w13(chain[32*(i+3) +: 32]), .w9(chain[32*(i+7) +: 32]),
                .w6(chain[32*(i+10) +: 32]), .w3(chain[32*(i+13) +: 32]), .w(expanded[32*i +: 32])
            );
            assign w[32*i +: 32]       = chain[32*(i+1) +: 32];
            assign w_prime[32*i +: 32] = chain[32*(i+1) +: 32] ^ chain[32*(i+5) +: 32];
        end
    endgenerate

    always @(posedge clk)
        if (shift) inverted <= ~{({32*R{load}} & unit) | ({32*R{~load}} & expanded), chain[511:32*R]};
endmodule

`default_nettype wire

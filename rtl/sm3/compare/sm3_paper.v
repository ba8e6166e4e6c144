// SM3 as the paper of README.md builds it, for comparison: one block after the other, nothing of the
// next one is taken before the last one has ended.
//
// STATE is 0 idle, 1 write, 2 encrypt, 3 read. A block begins in idle with W; then each cycle of the
// write state with W takes a word of DIN, 16 in all. When the block has ended, R = 0 keeps the result
// as the next block's chaining value; R = 1 reads it out: each cycle of the read state with R hands
// out the word on DOUT, and after the eighth the chaining value is IV again.
//
// NESTED = 1: the compression begins when five words have been taken and waits where one is late.
// NESTED = 0: it begins when the write state has ended.
`default_nettype none

module sm3_paper #(
    parameter NESTED = 1
) (
    input  wire        clk,
    input  wire        rst_n,
    input  wire        W,
    input  wire        R,
    input  wire [31:0] DIN,
    output wire [1:0]  STATE,
    output wire        FINISH,
    output wire [31:0] DOUT
);
    wire         restore, load, from_din, step, prepare, round, feed;
    wire [6:0]   countout;
    wire [31:0]  w_current, w_prime;
    wire [255:0] V;

    sm3_paper_controller #(.NESTED(NESTED)) controller (
        .clk(clk), .rst_n(rst_n), .w(W), .r(R), .ctrl(STATE), .finish(FINISH), .countout(countout),
        .restore(restore), .load(load), .from_din(from_din), .step(step), .prepare(prepare),
        .round(round), .feed(feed)
    );

    sm3_paper_expansion #(.NESTED(NESTED)) expansion (
        .clk(clk), .from_din(from_din), .step(step), .din(DIN), .w_current(w_current),
        .w_prime(w_prime)
    );

    sm3_paper_compression compression (
        .clk(clk), .restore(restore), .load(load), .prepare(prepare), .round(round), .feed(feed),
        .j(countout), .w_current(w_current), .w_prime(w_prime), .V(V)
    );

    sm3_paper_result result (.V(V), .index(countout[2:0]), .dout(DOUT));
endmodule

`default_nettype wire

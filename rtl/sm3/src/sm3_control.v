// The one counter of sm3_core and what follows from it.
//
// The counter holds the cycle of the block, plus an offset that puts its parts on single bits (one round a cycle: plus
// 12; two: plus 6, which is the same bits one place to the right):
//
//   cycles (1 round | 2 rounds)   part
//   0..51  | 0..25                rounds; the chain of W moves with each
//   52..63 | 26..31               rounds; the next block's words enter the chain, whose old words are still needed up
//                                 to round 61: once one has entered, rounds and chain wait for late ones together
//   64..67 | 32..33               drain: feed-forward and reload of the state; the last of these cycles forms M and N
//                                 of the next block's round 0 and waits for its last word, if its first has come
//   68     | 34                   idle: V is final. The first word of a block starts a second drain without
//                                 feed-forward, which brings V (perhaps IV, perhaps written from outside) to the state
//
// A `unit` is what enters the chain in a cycle: a word, or two with two rounds a cycle.
`default_nettype none

module sm3_control #(
    parameter ROUNDS_PER_CYCLE = 1
) (
    input  wire       clk,
    input  wire       rst_n,
    input  wire       init,

    input  wire       unit_valid,   // a unit of the next block can be taken
    output wire       unit_open,    // and is, where this is high too
    output reg  [4-ROUNDS_PER_CYCLE:0] units,   // of an incomplete block that are in the chain

    output wire       shift,        // the chain of W moves
    output wire       step,         // the state moves
    output wire       drain,
    output wire [1:0] k,            // in the drain: the first of the words that leave (see sm3_value)
    output reg        feed,         // the state is a block's result, not yet in V
    output wire       bare,         // M and N are to be D and H alone
    output wire       first,        // round 0 follows
    output wire       second,       // round 16 follows
    output reg        early,        // round 0..15
    output wire       idle,
    output reg        done,
    output wire [6:0] w_phase
);
    localparam R   = ROUNDS_PER_CYCLE;
    localparam TOP = 7 - R;         // highest bit of the counter

    localparam [31:0] FIRST  = 12 / R;
    localparam [31:0] SECOND = 28 / R - 1;
    localparam [31:0] RELOAD = 76 / R;
    localparam [31:0] IDLE   = 80 / R;

    reg [TOP:0] count;

    wire window = count[TOP];
    assign idle  = window & count[TOP-2];
    assign drain = window & count[TOP-3] & count[TOP-4];

    wire final_bits = R == 2 ? count[0] : &count[1:0];
    wire drained    = drain & final_bits;       // the last cycle of the drain
    // Rounds 62 and 63, and the drain: no old word is needed any more.
    wire unbound    = count[TOP-3] & (count[TOP-4] | count[TOP-5]);

    assign unit_open = window;

    wire unit_begun = |units;
    wire unit_last  = &units;
    wire take       = unit_valid & window;
    wire wait_word = window & ~idle & ~unbound & unit_begun & ~unit_valid;
    wire wait_last = drained & (unit_begun | unit_valid) & ~(unit_last & unit_valid);

    assign step   = ~idle & ~wait_word & ~wait_last;
    assign shift  = ~window | unit_valid | ~(idle | unbound | unit_begun);
    assign first  = drained & unit_last & unit_valid;
    assign second = count == SECOND[TOP:0];

    assign bare   = window & count[TOP-3] & (count[TOP-4] ^ final_bits);

    generate
        if (R == 1) begin : one
            assign k       = count[1:0];
            assign w_phase = count;
        end else begin : two
            assign k       = {count[0], 1'b0};
            assign w_phase = {1'b0, count} + 7'd40;
        end
    endgenerate

    always @(posedge clk or negedge rst_n)
        if (!rst_n) count <= IDLE[TOP:0];
        else if (init) count <= IDLE[TOP:0];
        else if (first) count <= FIRST[TOP:0];
        else if (idle & take) count <= RELOAD[TOP:0];
        else if (step) count <= count + 1'b1;

    always @(posedge clk or negedge rst_n)
        if (!rst_n) units <= {5-R{1'b0}};
        else if (init) units <= {5-R{1'b0}};
        else if (take) units <= units + 1'b1;

    always @(posedge clk or negedge rst_n)
        if (!rst_n) begin
            feed  <= 1'b0;
            early <= 1'b0;
            done  <= 1'b0;
        end else begin
            feed  <= first | (feed & ~idle);
            early <= first | (early & ~(second & step));
            done  <= drained & step & feed & ~init;
        end
endmodule

`default_nettype wire

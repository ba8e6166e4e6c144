// The chaining value V: eight words with one writing bus for each half, (A, B, C, D) and (E, F, G, H), and one reading
// port for each half. No word is moved to be read, each is written once a block under its own clock gate.
//
// Feed-forward and reload are one action: during the drain the state leaves its chain at M and N as D, C, B <<< 9,
// A <<< 9 (and H, G, F <<< 19, E <<< 19), the round's own rotation included. Words B, A, F, E are kept rotated like
// that, so the XOR meets equal positions, and the result turned back is what the head of the chain takes.
//
// A word not given since `init` reads as the IV's: `init` needs one cycle, and the 256 flip-flops need no reset.
`default_nettype none

module sm3_value #(
    parameter ROUNDS_PER_CYCLE = 1       // words of each half that a cycle of the drain takes
) (
    input  wire        clk,
    input  wire        rst_n,
    input  wire        init,             // V := IV at the next edge

    input  wire        drain,            // a cycle of the drain: its words are on next_a and next_e
    input  wire [1:0]  k,                // the first of them: 0 = D and H, 1 = C and G, 2 = B and F, 3 = A and E
    input  wire        feed,             // with drain: V is XORed with the state before
    input  wire        keep,             // with drain and feed: the edge takes the result into V
    input  wire [32*ROUNDS_PER_CYCLE-1:0] tap_a, tap_e,     // the state's words, first in the lowest bits
    output wire [32*ROUNDS_PER_CYCLE-1:0] next_a, next_e,   // 0 outside drain and access

    input  wire        access,           // outside the drain: v_index is looked at
    input  wire [2:0]  v_index,
    output wire [31:0] v_data,           // meaningful with access and without v_write
    input  wire        v_write,
    input  wire [31:0] v_next
);
    localparam R = ROUNDS_PER_CYCLE;

    // IV in the order and rotation of the drain, D first (lowest bits).
    localparam [127:0] IV_A = {32'h002cdee7, 32'h29657292, 32'h172442d7, 32'hda8a0600};
    localparam [127:0] IV_E = {32'h85e54b79, 32'hc550b189, 32'he38dee4d, 32'hb0fb0e4e};

    wire reading = access & ~v_write;
    wire writing = access & v_write;
    wire feeding = drain & feed;
    wire write_plain  = writing & v_index[1];
    wire write_turned = writing & ~v_index[1];

    wire [32*R-1:0] read_a, read_e, bus_a, bus_e;
    wire [127:0] part_a, part_e;         // each word where it is selected, else 0

    genvar i;
    generate
        for (i = 0; i < 4; i = i + 1) begin : word
            localparam [31:0] SLOT  = i / R * R;
            localparam [31:0] INDEX = 3 - i;
            localparam LANE = i % R;

            reg [31:0] a, e;
            reg        given_a, given_e;
            wire turn   = drain & (k == SLOT[1:0]);
            wire here_a = ~v_index[2] & (v_index[1:0] == INDEX[1:0]);
            wire here_e = v_index[2] & (v_index[1:0] == INDEX[1:0]);
            wire pick_a = turn | (reading & here_a);
            wire pick_e = turn | (reading & here_e);
            wire take_a = (turn & keep) | (writing & here_a);
            wire take_e = (turn & keep) | (writing & here_e);

            assign part_a[32*i +: 32] = ({32{pick_a & given_a}} & a) | ({32{pick_a & ~given_a}} & IV_A[32*i +: 32]);
            assign part_e[32*i +: 32] = ({32{pick_e & given_e}} & e) | ({32{pick_e & ~given_e}} & IV_E[32*i +: 32]);

            always @(posedge clk) begin
                if (take_a) a <= bus_a[32*LANE +: 32];
                if (take_e) e <= bus_e[32*LANE +: 32];
            end

            always @(posedge clk or negedge rst_n)
                if (!rst_n) begin
                    given_a <= 1'b0;
                    given_e <= 1'b0;
                end else begin
                    given_a <= ~init & (given_a | take_a);
                    given_e <= ~init & (given_e | take_e);
                end
        end
    endgenerate

    generate
        if (R == 1) begin : one
            assign read_a = part_a[31:0] | part_a[63:32] | part_a[95:64] | part_a[127:96];
            assign read_e = part_e[31:0] | part_e[63:32] | part_e[95:64] | part_e[127:96];
        end else begin : two
            assign read_a = part_a[63:0] | part_a[127:64];
            assign read_e = part_e[63:0] | part_e[127:64];
        end
        for (i = 0; i < R; i = i + 1) begin : lane
            wire [31:0] add_a = ({32{feeding}} & tap_a[32*i +: 32]) | ({32{write_plain}} & v_next)
                                | ({32{write_turned}} & {v_next[22:0], v_next[31:23]});
            wire [31:0] add_e = ({32{feeding}} & tap_e[32*i +: 32]) | ({32{write_plain}} & v_next)
                                | ({32{write_turned}} & {v_next[12:0], v_next[31:13]});

            assign bus_a[32*i +: 32] = read_a[32*i +: 32] ^ add_a;
            assign bus_e[32*i +: 32] = read_e[32*i +: 32] ^ add_e;
            assign next_a[32*i +: 32] = {bus_a[32*i +: 9], bus_a[32*i+9 +: 23]};
            assign next_e[32*i +: 32] = {bus_e[32*i +: 19], bus_e[32*i+19 +: 13]};
        end
    endgenerate

    // One word of one half is selected, all others are 0: OR replaces selection.
    wire [31:0] word_a = read_a[31:0] | read_a[32*R-1 -: 32];
    wire [31:0] word_e = read_e[31:0] | read_e[32*R-1 -: 32];
    wire [31:0] plain  = word_a | word_e;
    wire [31:0] turned = {word_a[8:0], word_a[31:9]} | {word_e[18:0], word_e[31:19]};

    assign v_data = ({32{v_index[1]}} & plain) | ({32{~v_index[1]}} & turned);
endmodule

`default_nettype wire

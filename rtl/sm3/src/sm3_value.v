// The chaining value V: eight words with one writing bus for each half, (A, B, C, D) and (E, F, G, H), and one reading
// port for each half. No word is moved to be read, each is written once a block under its own clock gate.
//
// Feed-forward and reload are one action: during the drain the state leaves its chain at M and N as D, C, B <<< 9,
// A <<< 9 (and H, G, F <<< 19, E <<< 19), the round's own rotation included. Words B, A, F, E are kept rotated like
// that, so the XOR meets equal positions, and the result turned back is what the head of the chain takes.
//
// A word not given since `init` reads as the IV's: `init` needs one cycle, and the 256 flip-flops need no reset. A and E
// share a clock gate and that mark, so do B and F, C and G, D and H: when one of them is written from outside, the
// other takes what it reads as.
`default_nettype none

module sm3_value #(
    parameter ROUNDS_PER_CYCLE = 1,      // words of each half that a cycle of the drain takes
    parameter V_IN_RAM = 0               // see sm3_words
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

    wire writing = access & v_write;
    wire feeding = drain & feed;
    wire plain_a  = writing & ~v_index[2] & v_index[1];
    wire plain_e  = writing & v_index[2] & v_index[1];
    wire turned_a = writing & ~v_index[2] & ~v_index[1];
    wire turned_e = writing & v_index[2] & ~v_index[1];

    // Two words of one place in the halves are a pair; writing one gives the other what it reads as.
    wire [1:0] place = drain ? k : ~v_index[1:0];
    reg  [3:0] given;                    // pairs since `init`

    wire [32*R-1:0] read_a, read_e, fed_a, fed_e, bus_a, bus_e, seen_a, seen_e;

    genvar i;
    generate
        for (i = 0; i < R; i = i + 1) begin : lane
            localparam [31:0] LANE = i;

            // With two lanes, the drain looks at both, access at one.
            wire [1:0]  slot   = R == 2 ? {place[1], LANE[0]} : place;
            wire        chosen = access & (R == 1 || place[0] == LANE[0]);
            wire        show_a = drain | (chosen & (v_index[2] == v_write));
            wire        show_e = drain | (chosen & (v_index[2] != v_write));
            wire        take   = (drain & keep) | (chosen & v_write);
            wire [4/R-1:0] known;
            wire [31:0] word_a, word_e;
            reg  [31:0] iv_a, iv_e;
            integer     j, n;

            if (R == 1) begin : all
                assign known = given;
            end else begin : half
                assign known = {given[i+2], given[i]};
            end

            sm3_words #(.DEPTH(4 / R), .IN_RAM(V_IN_RAM)) words (
                .clk(clk), .address(place[1:R-1]), .write(take),
                .in_a(bus_a[32*i +: 32]), .in_e(bus_e[32*i +: 32]),
                .show_a(show_a), .show_e(show_e), .known(known), .out_a(word_a), .out_e(word_e)
            );

            // Each pair's own mark beside its own place: no selection before another on the way to the state.
            always @* begin
                iv_a = 32'd0;
                iv_e = 32'd0;
                for (j = i; j < 4; j = j + R) begin
                    iv_a = iv_a | ({32{show_a & (slot == j[1:0]) & ~given[j]}} & IV_A[32*j +: 32]);
                    iv_e = iv_e | ({32{show_e & (slot == j[1:0]) & ~given[j]}} & IV_E[32*j +: 32]);
                end
            end

            assign read_a[32*i +: 32] = word_a | iv_a;
            assign read_e[32*i +: 32] = word_e | iv_e;

            // The word written from outside reads as 0 here. In standard cells it joins the state's words before the
            // XOR, which is smallest; with a memory it comes after, where six inputs of a lookup table suffice.
            wire [31:0] put_a = ({32{plain_a}} & v_next) | ({32{turned_a}} & {v_next[22:0], v_next[31:23]});
            wire [31:0] put_e = ({32{plain_e}} & v_next) | ({32{turned_e}} & {v_next[12:0], v_next[31:13]});
            wire [31:0] add_a = {32{feeding}} & tap_a[32*i +: 32];
            wire [31:0] add_e = {32{feeding}} & tap_e[32*i +: 32];

            if (V_IN_RAM != 0) begin : late
                assign fed_a[32*i +: 32] = read_a[32*i +: 32] ^ add_a;
                assign fed_e[32*i +: 32] = read_e[32*i +: 32] ^ add_e;
                assign bus_a[32*i +: 32] = fed_a[32*i +: 32] | put_a;
                assign bus_e[32*i +: 32] = fed_e[32*i +: 32] | put_e;
                assign seen_a[32*i +: 32] = fed_a[32*i +: 32];
                assign seen_e[32*i +: 32] = fed_e[32*i +: 32];
            end else begin : soon
                assign fed_a[32*i +: 32] = read_a[32*i +: 32] ^ (add_a | put_a);
                assign fed_e[32*i +: 32] = read_e[32*i +: 32] ^ (add_e | put_e);
                assign bus_a[32*i +: 32] = fed_a[32*i +: 32];
                assign bus_e[32*i +: 32] = fed_e[32*i +: 32];
                assign seen_a[32*i +: 32] = read_a[32*i +: 32];
                assign seen_e[32*i +: 32] = read_e[32*i +: 32];
            end
            assign next_a[32*i +: 32] = {fed_a[32*i +: 9], fed_a[32*i+9 +: 23]};
            assign next_e[32*i +: 32] = {fed_e[32*i +: 19], fed_e[32*i+19 +: 13]};

            always @(posedge clk or negedge rst_n)
                if (!rst_n)
                    for (n = i; n < 4; n = n + R) given[n] <= 1'b0;
                else
                    for (n = i; n < 4; n = n + R)
                        given[n] <= ~init & (given[n] | (take & (slot == n[1:0])));
        end
    endgenerate

    // One word of one half is selected, all others are 0: OR replaces selection. Outside the drain nothing is added.
    wire [31:0] word_a = seen_a[31:0] | seen_a[32*R-1 -: 32];
    wire [31:0] word_e = seen_e[31:0] | seen_e[32*R-1 -: 32];
    wire [31:0] plain  = word_a | word_e;
    wire [31:0] turned = {word_a[8:0], word_a[31:9]} | {word_e[18:0], word_e[31:19]};

    assign v_data = ({32{v_index[1]}} & plain) | ({32{~v_index[1]}} & turned);
endmodule

`default_nettype wire

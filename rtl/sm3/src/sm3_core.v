// SM3's compression function (GB/T 32905-2016, 5.3) with the chaining value: blocks in, V to be read, or written to go
// on with a saved one. Padding is software's.
//
// ROUNDS_PER_CYCLE = 1: 68 cycles a block; 2: 34. The next block's words enter while the last rounds run, one a cycle,
// so blocks follow each other without a gap:
//
//   cycle (1 round)   0 ............ 51 | 52 ................ 67 |  0
//   rounds            0 ............ 51 | 52 .... 63 | drain     |  0      W0 of the next block in 52, W15 in 67
//   w_ready           ________________  | """""""""""""""""""""" | __
//   w_open            ________________  | """ falls with W0      | __
//   busy              """"""""""""""""    """"""""""""""""""""""   ""      low after 67 if no word has come
//   done              _"___________________________________________"_      one cycle, after each block
//
// With two rounds a cycle 8 words are taken at any time, and w_open rises in cycle 18 of 34.
//
// Load whole blocks. Once the first word of a block is taken, the rounds of the block before, and so its `done`, can
// wait for its other words; `init` drops a block half loaded.
`default_nettype none

module sm3_core #(
    parameter ROUNDS_PER_CYCLE = 1,     // 1 or 2
    parameter V_IN_RAM         = 0      // 1: V in lookup tables used as memory, for FPGAs
) (
    input  wire        clk,
    input  wire        rst_n,           // asserted asynchronously; V is the IV then
    input  wire        init,            // drops what is loaded or compressed, V := IV, both at the next edge

    input  wire [31:0] w_data,          // W0..W15, first byte of the message in the highest bits
    input  wire        w_valid,
    output wire        w_ready,         // a word is taken at an edge with both
    output wire        w_open,          // 16 words in consecutive cycles from now on meet no wait
    output wire [6:0]  w_phase,         // below 64: 64 - w_phase cycles are left until there is room for a block
    output wire [4:0]  w_count,         // words taken of a block that is not complete

    output wire        busy,            // words of an incomplete block are held, or a block is compressed
    output wire        done,            // first cycle with a block's result in V (with busy: another block follows)

    input  wire [2:0]  v_index,         // 0 = A .. 7 = H
    output wire [31:0] v_data,          // meaningful while not busy and without v_write
    input  wire        v_write,         // V[v_index] := v_next; while not busy
    input  wire [31:0] v_next
);
    localparam R = ROUNDS_PER_CYCLE;

    wire [32*R-1:0] unit;
    wire            unit_valid, unit_open;
    wire [4-R:0]    units;
    wire            shift, step, drain, feed, bare, first, second, early, idle;
    wire [1:0]      k;
    wire [32*R-1:0] w, w_prime;
    wire [31:0]     t;
    wire [32*R-1:0] tt1, p0_tt2, tap_a, tap_e, next_a, next_e;

    sm3_control #(.ROUNDS_PER_CYCLE(R)) control (
        .clk(clk), .rst_n(rst_n), .init(init),
        .unit_valid(unit_valid), .unit_open(unit_open), .units(units),
        .shift(shift), .step(step), .drain(drain), .k(k), .feed(feed), .bare(bare),
        .first(first), .second(second), .early(early), .idle(idle), .done(done), .w_phase(w_phase)
    );

    sm3_schedule #(.ROUNDS_PER_CYCLE(R)) schedule (
        .clk(clk), .shift(shift), .load(unit_open), .unit(unit), .w(w), .w_prime(w_prime)
    );

    sm3_constant #(.ROUNDS_PER_CYCLE(R)) constant (
        .clk(clk), .enable(step), .first(first), .second(second), .t(t)
    );

    sm3_value #(.ROUNDS_PER_CYCLE(R), .V_IN_RAM(V_IN_RAM)) value (
        .clk(clk), .rst_n(rst_n), .init(init),
        .drain(drain), .k(k), .feed(feed), .keep(feed & step),
        .tap_a(tap_a), .tap_e(tap_e), .next_a(next_a), .next_e(next_e),
        .access(idle), .v_index(v_index), .v_data(v_data), .v_write(v_write), .v_next(v_next)
    );

    assign busy   = ~idle | (w_count != 5'd0);
    assign w_open = (w_phase[6]) & (w_count == 5'd0);

    // The state. M and N take D + W'[j+1] and H + W[j+1], or D and H alone on the way to the drain.
    reg  [31:0] a, b, c, m, e, f, g, n;
    wire [31:0] b9       = {b[22:0], b[31:23]};
    wire [31:0] f19      = {f[12:0], f[31:13]};
    wire [31:0] add_m    = w_prime[32*R-1 -: 32] & {32{~bare}};
    wire [31:0] add_n    = w[32*R-1 -: 32] & {32{~bare}};
    wire [32*R-1:0] in_a = (tt1 & {32*R{~drain}}) | next_a;
    wire [32*R-1:0] in_e = (p0_tt2 & {32*R{~drain}}) | next_e;

    sm3_round round (
        .a(a), .b(b), .c(c), .m(m), .e(e), .f(f), .g(g), .n(n), .t(t), .early(early),
        .tt1(tt1[31:0]), .p0_tt2(p0_tt2[31:0])
    );

    generate
        if (R == 1) begin : one
            assign unit       = w_data;
            assign unit_valid = w_valid;
            assign w_ready    = unit_open;
            assign w_count    = {1'b0, units};
            assign tap_a      = m;
            assign tap_e      = n;

            always @(posedge clk)
                if (step) begin
                    a <= in_a;
                    b <= a;
                    c <= b9;
                    m <= c + add_m;
                    e <= in_e;
                    f <= e;
                    g <= f19;
                    n <= g + add_n;
                end
        end else begin : two
            wire [31:0] a9  = {a[22:0], a[31:23]};
            wire [31:0] e19 = {e[12:0], e[31:13]};

            assign w_count[4] = 1'b0;
            assign tap_a      = {c, m};
            assign tap_e      = {g, n};

            sm3_gather gather (
                .clk(clk), .rst_n(rst_n), .init(init),
                .w_data(w_data), .w_valid(w_valid), .w_ready(w_ready), .count(w_count[3:0]),
                .pair_open(unit_open), .pair_valid(unit_valid), .given(units), .pair(unit)
            );

            sm3_round round_2 (
                .a(tt1[31:0]), .b(a), .c(b9), .m(c + w_prime[31:0]),
                .e(p0_tt2[31:0]), .f(e), .g(f19), .n(g + w[31:0]), .t({t[30:0], t[31]}), .early(early),
                .tt1(tt1[63:32]), .p0_tt2(p0_tt2[63:32])
            );

            always @(posedge clk)
                if (step) begin
                    a <= in_a[63:32];
                    b <= in_a[31:0];
                    c <= a9;
                    m <= b9 + add_m;
                    e <= in_e[63:32];
                    f <= in_e[31:0];
                    g <= e19;
                    n <= f19 + add_n;
                end
        end
    endgenerate
endmodule

`default_nettype wire

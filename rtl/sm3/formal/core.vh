// sm3_core: V, when it is not busy, is the standard's function of the words taken (GB/T 32905-2016, 5.3),
// for all messages, waits and `init` at any time. Inserted into sm3_core.
//
// Beside the core runs the standard's own description: V, A..H and the words W[j]..W[j+15], which move when
// the core takes a step. The invariants say where the core holds each of them. That sums in a round are the
// standard's is shown for sm3_round alone (round.vh); here the results TT1 and P0(TT2) of its instances,
// whose inputs are asserted to be what that proof is about, are used as they are. That words arrive in
// order where two a cycle are gathered is shown for sm3_gather (gather.vh).
localparam [6:0] F_FIRST = 12 / R;          // the counter in round 0
localparam [6:0] F_DRAIN = 76 / R;
localparam [6:0] F_IDLE = 80 / R;
// Word i, A first, in bits 32i to 32i+31.
localparam [255:0] F_IV = {
    32'hb0fb0e4e, 32'he38dee4d, 32'h163138aa, 32'ha96f30bc,
    32'hda8a0600, 32'h172442d7, 32'h4914b2b9, 32'h7380166f
};

function [31:0] f_left(input [31:0] X, input integer k);
    f_left = (X << k) | (X >> (32 - k));
endfunction

function [31:0] f_expanded(input [511:0] W);
    reg [31:0] X;
    begin
        X = W[31:0] ^ W[32*7 +: 32] ^ f_left(W[32*13 +: 32], 15);
        f_expanded = X ^ f_left(X, 15) ^ f_left(X, 23) ^ f_left(W[32*3 +: 32], 7) ^ W[32*10 +: 32];
    end
endfunction

// A to H after a round that computes TT1 and P0(TT2).
function [255:0] f_round(input [255:0] S, input [31:0] TT1, input [31:0] P0_TT2);
    f_round = {
        S[32*6 +: 32], f_left(S[32*5 +: 32], 19), S[32*4 +: 32], P0_TT2,
        S[32*2 +: 32], f_left(S[32*1 +: 32], 9), S[32*0 +: 32], TT1
    };
endfunction

// Signals within instances.
wire [511:0] f_chain;
wire [7-R:0] f_count;
wire [31:0] f_a0, f_a1, f_a2, f_a3, f_e0, f_e1, f_e2, f_e3;
wire [3:0] f_given;
wire [6:0] f_at = f_count;
// Operands of the first and of the second round.
wire [31:0] f_1a, f_1b, f_1c, f_1m, f_1e, f_1f, f_1g, f_1n, f_1t;
wire [31:0] f_2a, f_2b, f_2c, f_2m, f_2e, f_2f, f_2g, f_2n, f_2t;
wire f_1early, f_2early;

reg f_started;
initial f_started = 1'b0;
always @(posedge clk)
    f_started <= 1'b1;
always @*
    if (!f_started)
        assume (!rst_n);
// Only while not busy may V be written.
always @*
    if (busy)
        assume (!v_write);

// The standard's description.
reg f_run;              // a block is compressed, or its result is on the way to V
reg [6:0] f_j;          // the next round; 64 when all are done
reg [255:0] f_V, f_S;   // chaining value; A to H
reg [511:0] f_W;        // W[j]..W[j+15]
reg [511:0] f_next;     // the words of the next block that have entered the chain
reg [31:0] f_D, f_H, f_add_m, f_add_n;   // what M and N are the sums of

wire f_take = unit_valid && unit_open;
wire f_rounds = f_run && !f_j[6];
wire f_drained = drain && step && f_at == F_IDLE - 7'd1;
wire [255:0] f_V_next = (f_run && f_drained) ? f_V ^ f_S : f_V;
wire [511:0] f_W_next = {f_expanded(f_W), f_W[511:32]};
reg [511:0] f_next_next;
wire [255:0] f_S_1 = f_round(f_S, tt1[31:0], p0_tt2[31:0]);
wire [255:0] f_S_next = R == 1 ? f_S_1 : f_round(f_S_1, tt1[32*R-1 -: 32], p0_tt2[32*R-1 -: 32]);

always @* begin
    f_next_next = f_next;
    if (f_take)
        f_next_next[32*R*units +: 32*R] = unit;
end

always @(posedge clk or negedge rst_n)
    if (!rst_n) begin
        f_run <= 1'b0;
        f_j <= 7'd0;
        f_V <= F_IV;
    end else if (init) begin
        f_run <= 1'b0;
        f_V <= F_IV;
    end else begin
        f_V <= f_V_next;
        if (v_write)
            f_V[32*v_index +: 32] <= v_next;
        if (first) begin
            f_run <= 1'b1;
            f_j <= 7'd0;
        end else if (f_rounds && step)
            f_j <= f_j + R;
        else if (f_drained)
            f_run <= 1'b0;
    end

always @(posedge clk) begin
    f_next <= f_next_next;
    if (first) begin
        f_S <= f_V_next;
        f_W <= f_next_next;
    end else if (f_rounds && step) begin
        f_S <= f_S_next;
        f_W <= R == 1 ? f_W_next : {f_expanded(f_W_next), f_W_next[511:32]};
    end
    if (step) begin
        f_add_m <= add_m;
        f_add_n <= add_n;
    end
end

generate
    if (R == 1) begin : f_one
        always @(posedge clk)
            if (step) begin
                f_D <= c;
                f_H <= g;
            end
    end else begin : f_two
        always @(posedge clk)
            if (step) begin
                f_D <= b9;
                f_H <= f19;
            end
        // The second round's operands; the first's are below.
        always @* if (f_started) if (f_rounds) begin
            assert (w_prime[31:0] == (f_W[32*1 +: 32] ^ f_W[32*5 +: 32]));
            assert (w[31:0] == f_W[32*1 +: 32]);
            assert ({f_2g, f_2f, f_2e, f_2c, f_2b, f_2a} == {f_S_1[32*4 +: 96], f_S_1[0 +: 96]});
            assert (f_2m == c + w_prime[31:0] && c == f_S_1[32*3 +: 32]);
            assert (f_2n == g + w[31:0] && g == f_S_1[32*7 +: 32]);
            assert (f_2t == {t[30:0], t[31]} && f_2early == early);
        end
    end
endgenerate

// Tj <<< j.
wire [63:0] f_T2 = {2{f_j < 7'd16 ? 32'h79cc4519 : 32'h7a879d8a}} << f_j[4:0];
wire [31:0] f_T = f_T2[63:32];

// What the core's control has to do with it.
always @* if (f_started) begin
    assert (f_run == (feed && !idle));
    if (f_rounds)
        assert (f_at == F_FIRST + f_j / R);
    if (f_run && f_j == 7'd64)
        assert (drain);
    assert (f_j <= 7'd64 && f_j % R == 0);
end

// The words that have entered are the last in the chain.
genvar f_i;
generate
    for (f_i = 0; f_i < 16; f_i = f_i + 1) begin : f_words
        wire [4:0] place = 5'd16 - R * units + f_i;
        always @* if (f_started)
            if (f_i < R * units)
                assert (f_chain[32*place[3:0] +: 32] == f_next[32*f_i +: 32]);
        // The first are the current block's, in rounds that still need them; from the window on a word a
        // round is lost, whether the next block's has come or not.
        always @* if (f_started)
            if (f_rounds && f_j < 7'd64 - R && f_i + (f_j > 7'd52 ? f_j - 7'd52 : 7'd0) < 16)
                assert (f_chain[32*f_i +: 32] == f_W[32*f_i +: 32]);
    end
endgenerate

// Rounds: the state, and the operands of the round.
always @* if (f_started)
    if (f_rounds) begin
        assert ({g, f, e, c, b, a} == {f_S[32*4 +: 96], f_S[0 +: 96]});
    end

always @* if (f_started) begin
    if (f_rounds) begin
        assert (f_D == f_S[32*3 +: 32]);
        assert (f_H == f_S[32*7 +: 32]);
        assert (f_add_m == (f_W[31:0] ^ f_W[32*4 +: 32]));
        assert (f_add_n == f_W[31:0]);
        assert (t == f_T);
        assert ({f_1n, f_1g, f_1f, f_1e, f_1m, f_1c, f_1b, f_1a} == {n, g, f, e, m, c, b, a});
        assert (f_1t == t && f_1early == early);
        assert (early == (f_j < 7'd16));
    end
    if (f_run) begin
        assert (m == f_D + f_add_m || drain);
        assert (n == f_H + f_add_n || drain);
    end
end

// V: a word not given since `init` is the IV's. In the drain words are taken into V from D to A and from H
// to E; the standard's V changes with the last.
wire [1:0] f_k = (f_at - F_DRAIN) * R;

generate
    for (f_i = 0; f_i < 4; f_i = f_i + 1) begin : f_value
        wire [31:0] held_a = f_i == 0 ? f_a3 : f_i == 1 ? f_a2 : f_i == 2 ? f_a1 : f_a0;
        wire [31:0] held_e = f_i == 0 ? f_e3 : f_i == 1 ? f_e2 : f_i == 2 ? f_e1 : f_e0;
        wire given = f_given[3-f_i];
        wire taken = f_run && drain && 3 - f_i < f_k;
        wire [31:0] V_a = f_V[32*f_i +: 32] ^ (taken ? f_S[32*f_i +: 32] : 32'd0);
        wire [31:0] V_e = f_V[32*(f_i+4) +: 32] ^ (taken ? f_S[32*(f_i+4) +: 32] : 32'd0);
        // A, B, E and F are kept turned.
        wire [31:0] turned_a = f_i < 2 ? f_left(held_a, 23) : held_a;
        wire [31:0] turned_e = f_i < 2 ? f_left(held_e, 13) : held_e;
        always @* if (f_started) begin
            assert ((given ? turned_a : F_IV[32*f_i +: 32]) == V_a);
            assert ((given ? turned_e : F_IV[32*(f_i+4) +: 32]) == V_e);
        end
    end
endgenerate

// The drain: old words leave at M and N, new ones enter at A and E.
wire [255:0] f_new = f_run ? f_V ^ f_S : f_V;
wire [31:0] f_nA = f_new[31:0], f_nB = f_new[63:32], f_nC = f_new[95:64], f_nD = f_new[127:96];
wire [31:0] f_nE = f_new[159:128], f_nF = f_new[191:160], f_nG = f_new[223:192], f_nH = f_new[255:224];
wire [31:0] f_A = f_S[31:0], f_B = f_S[63:32], f_C = f_S[95:64];
wire [31:0] f_E = f_S[159:128], f_F = f_S[191:160], f_G = f_S[223:192];

always @* if (f_started)
    if (drain) begin
        if (f_run && f_k == 2'd0) begin
            assert ({c, b, a} == f_S[0 +: 96] && m == f_S[32*3 +: 32]);
            assert ({g, f, e} == f_S[32*4 +: 96] && n == f_S[32*7 +: 32]);
        end
        if (f_k == 2'd1) begin
            assert (a == f_left(f_nD, 23) && e == f_left(f_nH, 13));
            if (f_run) begin
                assert (b == f_A && c == f_left(f_B, 9) && m == f_C);
                assert (f == f_E && g == f_left(f_F, 19) && n == f_G);
            end
        end
        if (f_k == 2'd2) begin
            assert (a == f_left(f_nC, 23) && b == f_left(f_nD, 23));
            assert (e == f_left(f_nG, 13) && f == f_left(f_nH, 13));
            if (f_run) begin
                assert (c == f_left(f_A, 9) && m == f_left(f_B, 9));
                assert (g == f_left(f_E, 19) && n == f_left(f_F, 19));
            end
        end
        if (f_k == 2'd3) begin
            assert (a == f_nB && b == f_left(f_nC, 23) && c == f_nD);
            assert (e == f_nF && f == f_left(f_nG, 13) && g == f_nH);
            if (f_run)
                assert (m == f_left(f_A, 9) && n == f_left(f_E, 19));
        end
    end

// What users see.
always @* if (f_started) begin
    if (!busy && !v_write && rst_n)
        assert (v_data == f_V[32*v_index +: 32]);
    if (!busy)
        assert (!f_run);
end

// The compression: A...H, and M and N, which take D + W' and H + W one round ahead, so that four
// additions follow each other in a round, not five; V, the chaining value.
`default_nettype none

module sm3_paper_compression (
    input  wire         clk,
    input  wire         restore,
    input  wire         load,
    input  wire         prepare,
    input  wire         round,
    input  wire         feed,
    input  wire [6:0]   j,          // two's complement
    input  wire [31:0]  w_current,
    input  wire [31:0]  w_prime,
    output reg  [255:0] V
);
    localparam [255:0] IV = {
        32'h7380166f, 32'h4914b2b9, 32'h172442d7, 32'hda8a0600,
        32'ha96f30bc, 32'h163138aa, 32'he38dee4d, 32'hb0fb0e4e
    };

    reg [31:0] A, B, C, D, E, F, G, H, M, N;

    wire [31:0] T;
    sm3_paper_constant constant (.clk(clk), .load(load), .round(round), .j(j[5:0]), .T(T));

    wire early = (j[5:4] == 2'b00);
    wire [31:0] FF = early ? A ^ B ^ C : (A & B) | (A & C) | (B & C);
    wire [31:0] GG = early ? E ^ F ^ G : (E & F) | (~E & G);

    wire [31:0] A12 = {A[19:0], A[31:20]};
    wire [31:0] S = A12 + E + T;
    wire [31:0] SS1 = {S[24:0], S[31:25]};
    wire [31:0] SS2 = SS1 ^ A12;
    wire [31:0] TT1 = FF + M + SS2;
    wire [31:0] TT2 = GG + N + SS1;
    wire [31:0] P0 = TT2 ^ {TT2[22:0], TT2[31:23]} ^ {TT2[14:0], TT2[31:15]};

    always @(posedge clk)
        if (load | round)
            {A, B, C, D, E, F, G, H} <= load ? V : {
                TT1, A, B[22:0], B[31:23], C, P0, E, F[12:0], F[31:13], G
            };

    // Before the first round D and H are already where M and N need them; later they come from C, G.
    always @(posedge clk)
        if (prepare | round) begin
            M <= (j[6] ? D : C) + w_prime;
            N <= (j[6] ? H : G) + w_current;
        end

    always @(posedge clk)
        if (restore | feed) V <= restore ? IV : V ^ {A, B, C, D, E, F, G, H};
endmodule

`default_nettype wire

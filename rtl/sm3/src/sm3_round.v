// One round of SM3's compression (GB/T 32905-2016, 5.3.3), combinational.
//
// M and N stand where the standard has D and H: M = D + W'j and N = H + Wj were formed a round earlier, which takes
// one addition off the longest path and costs no register.
//
// Two results leave: TT1, the next A, and P0(TT2), the next E. The six other words only move (see sm3_core).
`default_nettype none

module sm3_round (
    input  wire [31:0] a, b, c, m,      // A, B, C, M = D + W'j
    input  wire [31:0] e, f, g, n,      // E, F, G, N = H + Wj
    input  wire [31:0] t,               // Tj <<< j
    input  wire        early,           // j < 16: FF and GG are XOR
    output wire [31:0] tt1,
    output wire [31:0] p0_tt2
);
    wire [31:0] a12 = {a[19:0], a[31:20]};
    wire [31:0] sum = a12 + e + t;
    wire [31:0] ss1 = {sum[24:0], sum[31:25]};
    wire [31:0] ss2 = ss1 ^ a12;

    wire [31:0] ff = ({32{early}} & (a ^ b ^ c)) | ({32{~early}} & ((a & b) | (a & c) | (b & c)));
    wire [31:0] gg = ({32{early}} & (e ^ f ^ g)) | ({32{~early}} & ((e & f) | (~e & g)));

    assign tt1 = ff + ss2 + m;

    wire [31:0] tt2 = gg + ss1 + n;
    assign p0_tt2 = tt2 ^ {tt2[22:0], tt2[31:23]} ^ {tt2[14:0], tt2[31:15]};
endmodule

`default_nettype wire

// Additions with their carries as a parallel prefix network, chosen by one macro: KOGGE_STONE (least
// depth and fan-out), SKLANSKY (least depth), BRENT_KUNG (fewer cells), RIPPLE (fewest).
(* techmap_celltype = "$alu" *)
module prefix_alu (A, B, CI, BI, X, Y, CO);
    parameter A_SIGNED = 0;
    parameter B_SIGNED = 0;
    parameter A_WIDTH = 1;
    parameter B_WIDTH = 1;
    parameter Y_WIDTH = 1;
    localparam WIDTH = Y_WIDTH;

    (* force_downto *)
    input [A_WIDTH-1:0] A;
    (* force_downto *)
    input [B_WIDTH-1:0] B;
    input CI, BI;
    (* force_downto *)
    output [Y_WIDTH-1:0] X, Y, CO;

    (* force_downto *)
    wire [WIDTH-1:0] a, b_plain;
    \$pos #(.A_SIGNED(A_SIGNED), .A_WIDTH(A_WIDTH), .Y_WIDTH(WIDTH)) extend_a (.A(A), .Y(a));
    \$pos #(.A_SIGNED(B_SIGNED), .A_WIDTH(B_WIDTH), .Y_WIDTH(WIDTH)) extend_b (.A(B), .Y(b_plain));
    (* force_downto *)
    wire [WIDTH-1:0] b = BI ? ~b_plain : b_plain;

    assign X = a ^ b;
    assign Y = X ^ {g, CI};
    assign CO = g;

    integer i, d;
    (* force_downto *)
    reg [WIDTH-1:0] p, g;

    wire [1023:0] _TECHMAP_DO_ = "proc; opt -fast";

    always @* begin
        p = X;
        g = a & b;
        g[0] = (a[0] & b[0]) | (X[0] & CI);
`ifdef RIPPLE
        for (i = 1; i < WIDTH; i = i + 1)
            g[i] = g[i] | (p[i] & g[i-1]);
`elsif KOGGE_STONE
        for (d = 1; d < WIDTH; d = d * 2)
            for (i = WIDTH - 1; i >= d; i = i - 1) begin
                g[i] = g[i] | (p[i] & g[i-d]);
                p[i] = p[i] & p[i-d];
            end
`elsif SKLANSKY
        for (d = 1; d < WIDTH; d = d * 2)
            for (i = 0; i < WIDTH; i = i + 1)
                if ((i / d) % 2 == 1) begin
                    g[i] = g[i] | (p[i] & g[(i/d)*d-1]);
                    p[i] = p[i] & p[(i/d)*d-1];
                end
`elsif BRENT_KUNG
        for (d = 1; d < WIDTH; d = d * 2)
            for (i = 2*d - 1; i < WIDTH; i = i + 2*d) begin
                g[i] = g[i] | (p[i] & g[i-d]);
                p[i] = p[i] & p[i-d];
            end
        for (d = 2 ** $clog2(WIDTH); d > 0; d = d / 2)
            for (i = 3*d - 1; i < WIDTH; i = i + 2*d) begin
                g[i] = g[i] | (p[i] & g[i-d]);
                p[i] = p[i] & p[i-d];
            end
`else
        no_adder_chosen;
`endif
    end
endmodule

// Carry look-ahead of every addition ($lcu) as a parallel prefix network, chosen by one macro:
// KOGGE_STONE (least depth and fan-out), SKLANSKY (least depth), BRENT_KUNG (fewer cells), RIPPLE (fewest).
(* techmap_celltype = "$lcu" *)
module prefix_lcu (P, G, CI, CO);
    parameter WIDTH = 2;

    (* force_downto *)
    input [WIDTH-1:0] P, G;
    input CI;
    (* force_downto *)
    output [WIDTH-1:0] CO;

    integer i, d;
    (* force_downto *)
    reg [WIDTH-1:0] p, g;

    wire [1023:0] _TECHMAP_DO_ = "proc; opt -fast";

    always @* begin
        p = P;
        g = G;
        g[0] = G[0] | (P[0] & CI);
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

    assign CO = g;
endmodule

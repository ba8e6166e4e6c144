// Additions as rows of the library's full-adder cell. What has a constant operand (counters) or a
// subtraction's inverted one stays with the ordinary mapping, where it is smaller.
(* techmap_celltype = "$alu" *)
module ripple_alu (A, B, CI, BI, X, Y, CO);
    parameter A_SIGNED = 0;
    parameter B_SIGNED = 0;
    parameter A_WIDTH = 1;
    parameter B_WIDTH = 1;
    parameter Y_WIDTH = 1;
    parameter _TECHMAP_CONSTMSK_A_ = 0;
    parameter _TECHMAP_CONSTMSK_B_ = 0;
    parameter _TECHMAP_CONSTMSK_BI_ = 0;
    parameter _TECHMAP_CONSTVAL_BI_ = 0;

    (* force_downto *)
    input [A_WIDTH-1:0] A;
    (* force_downto *)
    input [B_WIDTH-1:0] B;
    input CI, BI;
    (* force_downto *)
    output [Y_WIDTH-1:0] X, Y, CO;

    wire _TECHMAP_FAIL_ = Y_WIDTH < 8 || &_TECHMAP_CONSTMSK_A_ || &_TECHMAP_CONSTMSK_B_
                          || !_TECHMAP_CONSTMSK_BI_ || _TECHMAP_CONSTVAL_BI_;

    (* force_downto *)
    wire [Y_WIDTH-1:0] a, b;
    \$pos #(.A_SIGNED(A_SIGNED), .A_WIDTH(A_WIDTH), .Y_WIDTH(Y_WIDTH)) extend_a (.A(A), .Y(a));
    \$pos #(.A_SIGNED(B_SIGNED), .A_WIDTH(B_WIDTH), .Y_WIDTH(Y_WIDTH)) extend_b (.A(B), .Y(b));

    assign X = a ^ b;
    genvar i;
    generate
        for (i = 0; i < Y_WIDTH; i = i + 1) begin : bits
            if (i == 0 || i == Y_WIDTH - 1) begin : ends
                // The first bit has a constant carry in, the last one no carry out: gates are smaller.
                wire c;
                if (i == 0) assign c = CI;
                else assign c = CO[i-1];
                assign Y[i] = a[i] ^ b[i] ^ c;
                assign CO[i] = (a[i] & b[i]) | ((a[i] ^ b[i]) & c);
            end else begin : inner
                \$__FULL_ADDER adder (.a(a[i]), .b(b[i]), .c(CO[i-1]), .sum(Y[i]), .carry(CO[i]));
            end
        end
    endgenerate
endmodule

(* techmap_celltype = "$fa" *)
module carry_save (A, B, C, X, Y);
    parameter WIDTH = 1;
    parameter _TECHMAP_CONSTMSK_A_ = 0;
    parameter _TECHMAP_CONSTMSK_B_ = 0;
    parameter _TECHMAP_CONSTMSK_C_ = 0;

    (* force_downto *)
    input [WIDTH-1:0] A, B, C;
    (* force_downto *)
    output [WIDTH-1:0] X, Y;

    wire _TECHMAP_FAIL_ = |{_TECHMAP_CONSTMSK_A_, _TECHMAP_CONSTMSK_B_, _TECHMAP_CONSTMSK_C_};

    genvar i;
    generate
        for (i = 0; i < WIDTH; i = i + 1) begin : bits
            if (i == WIDTH - 1) begin : last
                assign Y[i] = A[i] ^ B[i] ^ C[i];
                assign X[i] = (A[i] & B[i]) | ((A[i] ^ B[i]) & C[i]);
            end else begin : inner
                \$__FULL_ADDER adder (.a(A[i]), .b(B[i]), .c(C[i]), .sum(Y[i]), .carry(X[i]));
            end
        end
    endgenerate
endmodule

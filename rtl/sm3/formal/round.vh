// sm3_round, line by line as GB/T 32905-2016, 5.3.3 has it, for all words. Inserted into sm3_round.
//
// D, H, Wj and W'j are any words with M = D + W'j and N = H + Wj. Each line is about signals of the module
// itself, so that the lines put together say what a round computes.
(* anyconst *) reg [31:0] f_D, f_H, f_W, f_W_prime;

function [31:0] f_rotated(input [31:0] X, input integer k);
    f_rotated = (X << k) | (X >> (32 - k));
endfunction

always @* begin
    assume (m == f_D + f_W_prime);
    assume (n == f_H + f_W);
    assert (ff == (early ? a ^ b ^ c : (a & b) | (a & c) | (b & c)));
    assert (gg == (early ? e ^ f ^ g : (e & f) | (~e & g)));
    assert (ss1 == f_rotated(f_rotated(a, 12) + e + t, 7));
    assert (ss2 == (ss1 ^ f_rotated(a, 12)));
    assert (tt1 == ff + f_D + ss2 + f_W_prime);
    assert (tt2 == gg + f_H + ss1 + f_W);
    assert (p0_tt2 == (tt2 ^ f_rotated(tt2, 9) ^ f_rotated(tt2, 17)));
end

// AES on 32 blocks at once, a register for each bit of the state: register 32 w + 8 r + p has bit p of
// row r of column w, of every block.
#pragma once

#include "device.h"

// SubBytes of one byte of every block: the circuit of Boyar and Peralta (A depth-16 circuit for the AES
// S-box, 2011), 32 ands and 81 exclusive ors, with the names of the paper but for inputs and outputs.
DEVICE void sliced_sub_byte(u32 *v) {
    const u32 x7 = v[0], x6 = v[1], x5 = v[2], x4 = v[3], x3 = v[4], x2 = v[5], x1 = v[6],
              x0 = v[7];

    // The top linear part.
    const u32 y14 = x3 ^ x5;
    const u32 y13 = x0 ^ x6;
    const u32 y9 = x0 ^ x3;
    const u32 y8 = x0 ^ x5;
    const u32 t0 = x1 ^ x2;
    const u32 y1 = t0 ^ x7;
    const u32 y4 = y1 ^ x3;
    const u32 y12 = y13 ^ y14;
    const u32 y2 = y1 ^ x0;
    const u32 y5 = y1 ^ x6;
    const u32 y3 = y5 ^ y8;
    const u32 t1 = x4 ^ y12;
    const u32 y15 = t1 ^ x5;
    const u32 y20 = t1 ^ x1;
    const u32 y6 = y15 ^ x7;
    const u32 y10 = y15 ^ t0;
    const u32 y11 = y20 ^ y9;
    const u32 y7 = x7 ^ y11;
    const u32 y17 = y10 ^ y11;
    const u32 y19 = y10 ^ y8;
    const u32 y16 = t0 ^ y11;
    const u32 y21 = y13 ^ y16;
    const u32 y18 = x0 ^ y16;

    // The inversion, by way of the field of sixteen elements.
    const u32 t2 = y12 & y15;
    const u32 t4 = y3 & y6 ^ t2;
    const u32 t6 = y4 & x7 ^ t2;
    const u32 t7 = y13 & y16;
    const u32 t9 = y5 & y1 ^ t7;
    const u32 t11 = y2 & y7 ^ t7;
    const u32 t12 = y9 & y11;
    const u32 t14 = y14 & y17 ^ t12;
    const u32 t16 = y8 & y10 ^ t12;
    const u32 t21 = t4 ^ t14 ^ y20;
    const u32 t22 = t6 ^ t16 ^ y19;
    const u32 t23 = t9 ^ t14 ^ y21;
    const u32 t24 = t11 ^ t16 ^ y18;
    const u32 t25 = t21 ^ t22;
    const u32 t26 = t21 & t23;
    const u32 t27 = t24 ^ t26;
    const u32 t29 = t25 & t27 ^ t22;
    const u32 t30 = t23 ^ t24;
    const u32 t31 = t22 ^ t26;
    const u32 t33 = t31 & t30 ^ t24;
    const u32 t34 = t23 ^ t33;
    const u32 t35 = t27 ^ t33;
    const u32 t36 = t24 & t35;
    const u32 t37 = t36 ^ t34;
    const u32 t38 = t27 ^ t36;
    const u32 t40 = t25 ^ t29 & t38;
    const u32 t41 = t40 ^ t37;
    const u32 t42 = t29 ^ t33;
    const u32 t43 = t29 ^ t40;
    const u32 t44 = t33 ^ t37;
    const u32 t45 = t42 ^ t41;
    const u32 z0 = t44 & y15;
    const u32 z1 = t37 & y6;
    const u32 z2 = t33 & x7;
    const u32 z3 = t43 & y16;
    const u32 z4 = t40 & y1;
    const u32 z5 = t29 & y7;
    const u32 z6 = t42 & y11;
    const u32 z7 = t45 & y17;
    const u32 z8 = t41 & y10;
    const u32 z9 = t44 & y12;
    const u32 z10 = t37 & y3;
    const u32 z11 = t33 & y4;
    const u32 z12 = t43 & y13;
    const u32 z13 = t40 & y5;
    const u32 z14 = t29 & y2;
    const u32 z15 = t42 & y9;
    const u32 z16 = t45 & y14;
    const u32 z17 = t41 & y8;

    // The bottom linear part.
    const u32 t46 = z15 ^ z16;
    const u32 t47 = z10 ^ z11;
    const u32 t48 = z5 ^ z13;
    const u32 t49 = z9 ^ z10;
    const u32 t50 = z2 ^ z12;
    const u32 t51 = z2 ^ z5;
    const u32 t52 = z7 ^ z8;
    const u32 t53 = z0 ^ z3;
    const u32 t54 = z6 ^ z7;
    const u32 t55 = z16 ^ z17;
    const u32 t56 = z12 ^ t48;
    const u32 t57 = t50 ^ t53;
    const u32 t58 = z4 ^ t46;
    const u32 t59 = z3 ^ t54;
    const u32 t60 = t46 ^ t57;
    const u32 t61 = z14 ^ t57;
    const u32 t62 = t52 ^ t58;
    const u32 t63 = t49 ^ t58;
    const u32 t64 = z4 ^ t59;
    const u32 t65 = t61 ^ t62;
    const u32 t66 = z1 ^ t63;
    const u32 s0 = t59 ^ t63;
    const u32 s6 = t56 ^ ~t62;
    const u32 s7 = t48 ^ ~t60;
    const u32 t67 = t64 ^ t65;
    const u32 s3 = t53 ^ t66;
    const u32 s4 = t51 ^ t66;
    const u32 s5 = t47 ^ t65;
    const u32 s1 = t64 ^ ~s3;
    const u32 s2 = t55 ^ ~t67;
    const u32 s[8] = {s7, s6, s5, s4, s3, s2, s1, s0};
    UNROLL
    for (int p = 0; p < 8; ++p) {
        v[p] = s[p];
    }
}

// ShiftRows moves whole registers: the compiler renames them.
DEVICE void sliced_shift_rows(u32 (&x)[128]) {
    u32 old[128];
    UNROLL
    for (int i = 0; i < 128; ++i) {
        old[i] = x[i];
    }
    UNROLL
    for (int i = 0; i < 128; ++i) {
        x[i] = old[(i + 32 * (i / 8 % 4)) % 128];
    }
}

// MixColumns of one column, four bytes.
DEVICE void sliced_mix_column(u32 *v) {
    u32 sum[32], mixed[32];
    UNROLL
    for (int i = 0; i < 32; ++i) {
        sum[i] = v[i] ^ v[(i + 8) % 32];
    }
    UNROLL
    for (int i = 0; i < 32; ++i) {
        const int row = i & ~7, bit = i & 7;
        // Twice the sum, which is bit 7 of it in bits 0, 1, 3 and 4 besides.
        const u32 carry = bit == 0 || bit == 1 || bit == 3 || bit == 4 ? sum[row + 7] : 0;
        const u32 twice = bit == 0 ? carry : sum[i - 1] ^ carry;
        mixed[i] = xor3(twice, v[(i + 8) % 32], sum[(i + 16) % 32]);
    }
    UNROLL
    for (int i = 0; i < 32; ++i) {
        v[i] = mixed[i];
    }
}

DEVICE void sliced_add_key(u32 (&x)[128], const u32 *masks) {
    UNROLL
    for (int i = 0; i < 128; ++i) {
        x[i] ^= masks[i];
    }
}

// `masks` has all ones for each bit of the round keys that is one.
template <int ROUNDS>
DEVICE void sliced_encrypt(u32 (&x)[128], const u32 *masks) {
    sliced_add_key(x, masks);
    NO_UNROLL
    for (int round = 1;; ++round) {
        UNROLL
        for (int byte = 0; byte < 16; ++byte) {
            sliced_sub_byte(x + 8 * byte);
        }
        sliced_shift_rows(x);
        if (round == ROUNDS) {
            break;
        }
        UNROLL
        for (int column = 0; column < 4; ++column) {
            sliced_mix_column(x + 32 * column);
        }
        sliced_add_key(x, masks + 128 * round);
    }
    sliced_add_key(x, masks + 128 * ROUNDS);
}

// The counters of 32 blocks that are 32 apart, from a multiple of 1024 and a lane's number on.
DEVICE void slice_counters(u32 (&x)[128], const Vector &first) {
    UNROLL
    for (u32 i = 0; i < 128; ++i) {
        x[i] = 0 - (first.x[i / 32] >> (i % 32) & 1);
    }
    // Bits 5 to 7 of the last byte, and 0 and 1 of the one before.
    x[125] = 0xaaaaaaaa;
    x[126] = 0xcccccccc;
    x[127] = 0xf0f0f0f0;
    x[112] = 0xff00ff00;
    x[113] = 0xffff0000;
}

// Bit j of register i becomes bit i of register j.
DEVICE void transpose(u32 *x) {
    u32 mask = 0xffff;
    UNROLL
    for (u32 distance = 16; distance != 0; distance /= 2, mask ^= mask << distance) {
        UNROLL
        for (u32 i = 0; i < 32; ++i) {
            if ((i & distance) == 0) {
                const u32 swap = (x[i] >> distance ^ x[i + distance]) & mask;
                x[i] ^= swap << distance;
                x[i + distance] ^= swap;
            }
        }
    }
}

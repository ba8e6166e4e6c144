// Keccak-p[1600] (FIPS 202, 3.2 and 3.3), one state a thread, in registers.
//
// The logic unit of an NVIDIA multiprocessor is the bottleneck: a round is 122 operations of three
// inputs and 58 shifts of two words, for 64 lanes a clock: 526 GB/s of SHA3-256 on an H100. What other
// units can take from it, as measured there with 540,672 rows of 8 KiB and 67,077,120 of 32 bytes:
//
// BY_MULTIPLIER: half of iota, an addition. Products for rotations were no gain, down to 458 GB/s
// from 491 with 393,216 rows: of IMAD.HI and IMAD.WIDE each costs as much as the shift that it replaces.
// BY_DOUBLES: one half of every rotation, as a shift by the unit of doubles and a product of low words:
// 532 GB/s and 4.16 G/s instead of 509 and 4.00. Both halves are slower again (497 to 512 GB/s).
#pragma once

#include "device.h"

namespace keccak {

// A word of the state, (x, y) of FIPS 202 at x + 5 * y.
struct Word {
    u32 low, high;
};

CONSTANT u64 RC[24] = {
    0x0000000000000001, 0x0000000000008082, 0x800000000000808a, 0x8000000080008000,
    0x000000000000808b, 0x0000000080000001, 0x8000000080008081, 0x8000000000008009,
    0x000000000000008a, 0x0000000000000088, 0x0000000080008009, 0x000000008000000a,
    0x000000008000808b, 0x800000000000008b, 0x8000000000008089, 0x8000000000008003,
    0x8000000000008002, 0x8000000000000080, 0x000000000000800a, 0x800000008000000a,
    0x8000000080008081, 0x8000000000008080, 0x0000000080000001, 0x8000000080008008,
};

#ifdef BY_MULTIPLIER
// Written by nobody, but compilers do not know that: a multiplication by it stays one.
OPAQUE_CONSTANT u32 ONE = 1;
#endif

// Adds the high word of a round constant, of which only the highest bit can be set: there adding is
// exclusive or, and the multiplier can do it.
DEVICE u32 iota_high(u32 x, u32 high) {
#ifdef BY_MULTIPLIER
    return multiply_add(x, ONE, high);
#else
    return x ^ high;
#endif
}

template <int N>
DEVICE Word rotate(Word a) {
    if constexpr (N == 0) {
        return a;
    } else if constexpr (N >= 32) {
        return rotate<N - 32>({a.high, a.low});
    } else {
#ifdef BY_DOUBLES
        // Bits of the two terms are apart: to add is exclusive or.
        const u32 low = multiply_add(a.low, 1u << N, shift_right_by_double<32 - N>(a.high));
#else
        const u32 low = funnel_left<N>(a.low, a.high);
#endif
        return {low, funnel_left<N>(a.high, a.low)};
    }
}

DEVICE Word xor2(Word a, Word b) { return {a.low ^ b.low, a.high ^ b.high}; }
DEVICE Word xor3(Word a, Word b, Word c) {
    return {::xor3(a.low, b.low, c.low), ::xor3(a.high, b.high, c.high)};
}

// One round; the state is left in the same order.
DEVICE void round(Word (&A)[25], u64 constant) {
    Word C[5], rotated[5], B[25];
    UNROLL
    for (int x = 0; x < 5; ++x) {
        C[x] = xor3(xor3(A[x], A[x + 5], A[x + 10]), A[x + 15], A[x + 20]);
    }
    UNROLL
    for (int x = 0; x < 5; ++x) {
        rotated[x] = rotate<1>(C[x]);
    }
#ifdef ONLY_XOR2
    Word D[5];
    UNROLL
    for (int x = 0; x < 5; ++x) {
        D[x] = xor2(C[(x + 4) % 5], rotated[(x + 1) % 5]);
    }
#define WITH_THETA(x, y) xor2(A[x + 5 * y], D[x])
#else
#define WITH_THETA(x, y) xor3(A[x + 5 * y], C[(x + 4) % 5], rotated[(x + 1) % 5])
#endif
#define RHO_PI(x, y, n) B[y + 5 * ((2 * x + 3 * y) % 5)] = rotate<n>(WITH_THETA(x, y));
    RHO_PI(0, 0, 0) RHO_PI(1, 0, 1) RHO_PI(2, 0, 62) RHO_PI(3, 0, 28) RHO_PI(4, 0, 27)
    RHO_PI(0, 1, 36) RHO_PI(1, 1, 44) RHO_PI(2, 1, 6) RHO_PI(3, 1, 55) RHO_PI(4, 1, 20)
    RHO_PI(0, 2, 3) RHO_PI(1, 2, 10) RHO_PI(2, 2, 43) RHO_PI(3, 2, 25) RHO_PI(4, 2, 39)
    RHO_PI(0, 3, 41) RHO_PI(1, 3, 45) RHO_PI(2, 3, 15) RHO_PI(3, 3, 21) RHO_PI(4, 3, 8)
    RHO_PI(0, 4, 18) RHO_PI(1, 4, 2) RHO_PI(2, 4, 61) RHO_PI(3, 4, 56) RHO_PI(4, 4, 14)
#undef RHO_PI
#undef WITH_THETA
    UNROLL
    for (int y = 0; y < 25; y += 5) {
        UNROLL
        for (int x = 0; x < 5; ++x) {
            const Word a = B[y + x], b = B[y + (x + 1) % 5], c = B[y + (x + 2) % 5];
            A[y + x] = {xor_and_not(a.low, b.low, c.low), xor_and_not(a.high, b.high, c.high)};
        }
    }
    A[0].low ^= static_cast<u32>(constant);
    A[0].high = iota_high(A[0].high, static_cast<u32>(constant >> 32));
}

// Rounds `from` to `to` - 1, an even number of them. Code of all 24 would not fit the instruction cache
// beside the rest.
DEVICE void rounds(Word (&A)[25], int from, int to) {
    NO_UNROLL
    for (int i = from; i < to; i += 2) {
        round(A, RC[i]);
        round(A, RC[i + 1]);
    }
}

}  // namespace keccak

// Keccak-p[1600] (FIPS 202, 3.2 and 3.3), one state a thread, in registers.
//
// The logic unit of an NVIDIA multiprocessor is the bottleneck: a round is 122 three-input
// operations and 58 funnel shifts of 32 bits. The multiplier beside it has room, so some rotations
// go there: a product with 2^n is a word's two parts, and their sum with the other word's is
// the rotated pair. `Mix` says which; tuning.rs and README.md what is best.
#pragma once

#include "device.h"

namespace keccak {

// A word of the state, (x, y) of FIPS 202 at x + 5 * y.
struct Word {
    u32 low, high;
};

// How words are rotated, one bit for each: bit x + 5 * y for rho, bit x for the columns of theta.
// In `half`, one of the two halves is made by the multiplier; in `full`, both.
#if defined(BY_MULTIPLIER) && !defined(RHO_HALF)
#define RHO_HALF 0xaaaaaa
#endif
#ifndef RHO_HALF
#define RHO_HALF 0
#endif
#ifndef RHO_FULL
#define RHO_FULL 0
#endif
#ifndef THETA_HALF
#define THETA_HALF 0
#endif
#ifndef THETA_FULL
#define THETA_FULL 0
#endif
#ifndef IOTA_BY_MULTIPLIER
#define IOTA_BY_MULTIPLIER 0
#endif
#ifndef ROUNDS_AT_ONCE
#define ROUNDS_AT_ONCE 2
#endif

enum Unit : u32 { SHIFTER, HALF, MULTIPLIER };

template <u32 HALF_OF, u32 FULL_OF, int BIT>
DEVICE_METHOD constexpr Unit unit() {
    return FULL_OF >> BIT & 1 ? MULTIPLIER : HALF_OF >> BIT & 1 ? HALF : SHIFTER;
}

CONSTANT u64 RC[24] = {
    0x0000000000000001, 0x0000000000008082, 0x800000000000808a, 0x8000000080008000,
    0x000000000000808b, 0x0000000080000001, 0x8000000080008081, 0x8000000000008009,
    0x000000000000008a, 0x0000000000000088, 0x0000000080008009, 0x000000008000000a,
    0x000000008000808b, 0x800000000000008b, 0x8000000000008089, 0x8000000000008003,
    0x8000000000008002, 0x8000000000000080, 0x000000000000800a, 0x800000008000000a,
    0x8000000080008081, 0x8000000000008080, 0x0000000080000001, 0x8000000080008008,
};

// 2^n, in memory that compilers take to be written: else they would make shifts of the products.
OPAQUE_CONSTANT u32 POWERS[32] = {
    1u << 0,  1u << 1,  1u << 2,  1u << 3,  1u << 4,  1u << 5,  1u << 6,  1u << 7,
    1u << 8,  1u << 9,  1u << 10, 1u << 11, 1u << 12, 1u << 13, 1u << 14, 1u << 15,
    1u << 16, 1u << 17, 1u << 18, 1u << 19, 1u << 20, 1u << 21, 1u << 22, 1u << 23,
    1u << 24, 1u << 25, 1u << 26, 1u << 27, 1u << 28, 1u << 29, 1u << 30, 1u << 31,
};

template <int N, Unit UNIT>
DEVICE Word rotate(Word a) {
    if constexpr (N == 0) {
        return a;
    } else if constexpr (N >= 32) {
        return rotate<N - 32, UNIT>({a.high, a.low});
    } else if constexpr (UNIT == SHIFTER) {
        return {funnel_left<N>(a.low, a.high), funnel_left<N>(a.high, a.low)};
    } else {
#ifdef HALF_OPAQUE
        const u32 power = POWERS[N];
#else
        const u32 power = UNIT == HALF ? 1u << N : POWERS[N];
#endif
        if constexpr (UNIT == HALF) {
            u32 low, high;
            multiply_wide(a.high, power, low, high);
            return {multiply_add(a.low, power, high), funnel_left<N>(a.high, a.low)};
        } else {
            Word out;
            multiply_wide_add(a.low, power, multiply_high(a.high, power),
                              a.high << N, out.low, out.high);
            return out;
        }
    }
}

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
#define THETA(x) rotated[x] = rotate<1, unit<THETA_HALF, THETA_FULL, x>()>(C[x]);
    THETA(0) THETA(1) THETA(2) THETA(3) THETA(4)
#undef THETA
#define RHO_PI(x, y, n)                                                                            \
    B[y + 5 * ((2 * x + 3 * y) % 5)] = rotate<n, unit<RHO_HALF, RHO_FULL, x + 5 * y>()>(             \
        xor3(A[x + 5 * y], C[(x + 4) % 5], rotated[(x + 1) % 5]));
    RHO_PI(0, 0, 0) RHO_PI(1, 0, 1) RHO_PI(2, 0, 62) RHO_PI(3, 0, 28) RHO_PI(4, 0, 27)
    RHO_PI(0, 1, 36) RHO_PI(1, 1, 44) RHO_PI(2, 1, 6) RHO_PI(3, 1, 55) RHO_PI(4, 1, 20)
    RHO_PI(0, 2, 3) RHO_PI(1, 2, 10) RHO_PI(2, 2, 43) RHO_PI(3, 2, 25) RHO_PI(4, 2, 39)
    RHO_PI(0, 3, 41) RHO_PI(1, 3, 45) RHO_PI(2, 3, 15) RHO_PI(3, 3, 21) RHO_PI(4, 3, 8)
    RHO_PI(0, 4, 18) RHO_PI(1, 4, 2) RHO_PI(2, 4, 61) RHO_PI(3, 4, 56) RHO_PI(4, 4, 14)
#undef RHO_PI
    UNROLL
    for (int y = 0; y < 25; y += 5) {
        UNROLL
        for (int x = 0; x < 5; ++x) {
            const Word a = B[y + x], b = B[y + (x + 1) % 5], c = B[y + (x + 2) % 5];
            A[y + x] = {xor_and_not(a.low, b.low, c.low), xor_and_not(a.high, b.high, c.high)};
        }
    }
    A[0].low ^= static_cast<u32>(constant);
    // All that a constant has in its high word is the highest bit: there adding is exclusive or.
    const u32 high = static_cast<u32>(constant >> 32);
    A[0].high = IOTA_BY_MULTIPLIER ? multiply_add(A[0].high, POWERS[0], high) : A[0].high ^ high;
}

// Rounds FROM to TO - 1, a multiple of ROUNDS_AT_ONCE.
DEVICE void rounds(Word (&A)[25], u32 from, u32 to) {
    NO_UNROLL
    for (u32 i = from; i < to; i += ROUNDS_AT_ONCE) {
        UNROLL
        for (u32 k = 0; k < ROUNDS_AT_ONCE; ++k) {
            round(A, RC[i + k]);
        }
    }
}

}  // namespace keccak

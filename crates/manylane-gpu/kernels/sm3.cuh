// SM3's compression (GB/T 32905-2016, 5.3), one message a thread, in registers.
//
// The schedule is a window of sixteen words; rounds are unrolled, so that the state is renamed
// instead of moved and every rotation is by a constant.
//
// The logic unit of an NVIDIA multiprocessor is the bottleneck: 592 rotations, 484 three-input
// operations and 16 permutations a block. The multiplier beside it has room, so additions go
// there as x * one + y, where `one` is a kernel's argument that no compiler can fold. `MIX`
// says which additions; what is best differs between shapes and architectures (tuning.rs).
#pragma once

#include "device.h"

// What of a block goes to the multiplier instead of the logic unit.
enum Mix : u32 {
    PLAIN = 0,
    // Additions of two words.
    ADDITIONS = 1,
    // The additions of SS1 as well.
    SS1_ADDITIONS = 2,
    // In every other round only.
    SS1_HALF = 4,
    // SS1's rotation by 7, as the two halves of a wide product: saves the logic unit an operation,
    // costs the multiplier two.
    SS1_ROTATION = 8,
    SS1_ROTATION_HALF = 16,
    // Rotation of A by 12, likewise.
    A_ROTATION = 32,
    A_ROTATION_HALF = 64,
    // Rounds 16 to 63 as a loop of three times sixteen.
    ROLLED = 128,
};

// The factor 1, twice: from the argument itself, which the compiler may keep in a uniform
// register, and from the thread, which it must keep in an ordinary one. An IMAD takes one operand
// that is no ordinary register: the first form adds registers, the second adds constants.
struct One {
    u32 uniform, lane;
};

// T of round J, rotated by J.
template <int J>
struct RoundConstant {
    static constexpr u32 T = J < 16 ? 0x79cc4519 : 0x7a879d8a;
    static constexpr u32 value = J % 32 == 0 ? T : T << J % 32 | T >> (32 - J % 32);
};

CONSTANT u32 ROUND_CONSTANTS[64] = {
#define FOUR(j)                                                                                    \
    RoundConstant<j>::value, RoundConstant<j + 1>::value, RoundConstant<j + 2>::value,             \
        RoundConstant<j + 3>::value
    FOUR(0), FOUR(4), FOUR(8), FOUR(12), FOUR(16), FOUR(20), FOUR(24), FOUR(28),
    FOUR(32), FOUR(36), FOUR(40), FOUR(44), FOUR(48), FOUR(52), FOUR(56), FOUR(60),
#undef FOUR
};

template <u32 MIX>
DEVICE u32 add(u32 x, u32 y, One one) {
    return MIX & ADDITIONS ? multiply_add(x, one.uniform, y) : x + y;
}

// The factors for additions, `constant` if those have an operand that is the same in all threads.
DEVICE One one_for(bool constant, One one) {
    return constant ? One{one.lane, one.lane} : one;
}

// Adds something that is the same in all threads.
template <u32 MIX>
DEVICE u32 add_uniform(u32 x, u32 uniform, One one) {
    return add<MIX>(x, uniform, one_for(true, one));
}

// One round; the caller renames the state instead of moving it: afterwards D holds the new A, and
// H the new E.
template <u32 MIX, int J>
DEVICE void round(u32 A, u32 &B, u32 C, u32 &D, u32 E, u32 &F, u32 G, u32 &H, u32 T, u32 w,
                  u32 w_prime, One one_for_words, One one) {
    constexpr bool by_multiplier = MIX & SS1_ADDITIONS || (MIX & SS1_HALF && J % 2 != 0);
    constexpr bool rotate_sum = MIX & SS1_ROTATION || (MIX & SS1_ROTATION_HALF && J % 2 != 0);
    constexpr bool rotate_a = MIX & A_ROTATION || (MIX & A_ROTATION_HALF && J % 2 == 0);
    const u32 FF = J < 16 ? xor3(A, B, C) : majority(A, B, C);
    const u32 GG = J < 16 ? xor3(E, F, G) : choose(E, F, G);
    u32 TT1 = add<MIX>(D, w_prime, one_for_words);
    u32 TT2 = add<MIX>(H, w, one_for_words);
    TT1 = add<MIX>(FF, TT1, one);
    TT2 = add<MIX>(GG, TT2, one);
    u32 A12 = 0, low12 = 0, high12 = 0;
    if constexpr (rotate_a) {
        multiply_wide(A, 1u << 12, low12, high12);
    } else {
        A12 = rotate_left<12>(A);
    }
    u32 sum;
    if constexpr (rotate_a) {
        sum = add<MIX>(add<MIX>(add_uniform<MIX>(E, T, one), high12, one), low12, one);
    } else if constexpr (by_multiplier) {
        sum = add<MIX>(add_uniform<MIX>(A12, T, one), E, one);
    } else {
        sum = A12 + E + T;
    }
    if constexpr (rotate_sum) {
        u32 low, high;
        multiply_wide(sum, 1u << 7, low, high);
        TT1 = add<MIX>(xor3(low, high, A12), TT1, one);
        TT2 = add<MIX>(high, add<MIX>(low, TT2, one), one);
    } else {
        const u32 SS1 = rotate_left<7>(sum);
        const u32 SS2 = rotate_a ? xor3(SS1, low12, high12) : SS1 ^ A12;
        TT1 = add<MIX>(SS2, TT1, one);
        TT2 = add<MIX>(SS1, TT2, one);
    }
    B = rotate_left<9>(B);
    F = rotate_left<19>(F);
    D = TT1;
    H = xor3(TT2, rotate_left<9>(TT2), rotate_left<17>(TT2));
}

template <int J>
DEVICE void expand(u32 (&w)[16]) {
    const u32 x = xor3(w[J % 16], w[(J + 7) % 16], rotate_left<15>(w[(J + 13) % 16]));
    const u32 p1 = xor3(x, rotate_left<15>(x), rotate_left<23>(x));
    w[J % 16] = xor3(p1, rotate_left<7>(w[(J + 3) % 16]), w[(J + 10) % 16]);
}

// W and W' of the rounds: expanded on the way, or the constant ones of a padding block.
struct Expanded {
    u32 (&w)[16];
    // Whether words of round j are the same in all threads; whether the state is at first.
    DEVICE_METHOD static constexpr bool uniform(int) { return false; }
    DEVICE_METHOD static constexpr bool fresh() { return false; }
    template <int J>
    DEVICE_METHOD void prepare() const {
        if constexpr (J + 4 >= 16) {
            expand<J + 4>(w);
        }
    }
    template <int J>
    DEVICE_METHOD u32 W() const {
        return w[J % 16];
    }
    template <int J>
    DEVICE_METHOD u32 W_prime() const {
        return w[J % 16] ^ w[(J + 4) % 16];
    }
};

// The same, where the second half of the block is constant, and the state before it too.
struct HalfConstant : Expanded {
    DEVICE_METHOD static constexpr bool uniform(int j) { return 8 <= j && j < 16; }
    DEVICE_METHOD static constexpr bool fresh() { return true; }
};

// The words of a block that is the same for all messages.
struct PaddingBlock {
    u32 W[64], W_prime[64];
};

struct Constant {
    const PaddingBlock &block;
    DEVICE_METHOD static constexpr bool uniform(int) { return true; }
    DEVICE_METHOD static constexpr bool fresh() { return false; }
    template <int J>
    DEVICE_METHOD void prepare() const {}
    template <int J>
    DEVICE_METHOD u32 W() const {
        return block.W[J];
    }
    template <int J>
    DEVICE_METHOD u32 W_prime() const {
        return block.W_prime[J];
    }
};

// Rounds FROM to TO - 1, both multiples of four. T of round j is `constants[j - FROM]` if given.
template <u32 MIX, int FROM, int TO, class Words>
DEVICE void rounds(u32 (&s)[8], const Words &words, One one, const u32 *constants = nullptr) {
    if constexpr (FROM < TO) {
        constexpr bool fresh = Words::fresh() && FROM == 0;
#define ROUND(i, A, B, C, D, E, F, G, H)                                                           \
    words.template prepare<FROM + i>();                                                            \
    round<MIX, FROM + i>(s[A], s[B], s[C], s[D], s[E], s[F], s[G], s[H],                           \
                         constants ? constants[i] : RoundConstant<FROM + i>::value,                \
                         words.template W<FROM + i>(), words.template W_prime<FROM + i>(),         \
                         one_for(Words::uniform(FROM + i) || fresh, one),                     \
                         one_for(fresh, one));
        ROUND(0, 0, 1, 2, 3, 4, 5, 6, 7)
        ROUND(1, 3, 0, 1, 2, 7, 4, 5, 6)
        ROUND(2, 2, 3, 0, 1, 6, 7, 4, 5)
        ROUND(3, 1, 2, 3, 0, 5, 6, 7, 4)
#undef ROUND
        rounds<MIX, FROM + 4, TO>(s, words, one, constants ? constants + 4 : nullptr);
    }
}

template <u32 MIX, class Words>
DEVICE void all_rounds(u32 (&s)[8], const Words &words, One one) {
    if constexpr (MIX & ROLLED && !Words::uniform(16)) {
        rounds<MIX, 0, 16>(s, words, one);
        NO_UNROLL
        for (int j = 16; j < 64; j += 16) {
            rounds<MIX, 16, 32>(s, words, one, ROUND_CONSTANTS + j);
        }
    } else {
        rounds<MIX, 0, 64>(s, words, one);
    }
}

DEVICE void set_initial(u32 (&V)[8]) {
    V[0] = 0x7380166f;
    V[1] = 0x4914b2b9;
    V[2] = 0x172442d7;
    V[3] = 0xda8a0600;
    V[4] = 0xa96f30bc;
    V[5] = 0x163138aa;
    V[6] = 0xe38dee4d;
    V[7] = 0xb0fb0e4e;
}

template <u32 MIX, class Words>
DEVICE void compress(u32 (&V)[8], const Words &words, One one) {
    u32 s[8];
    UNROLL
    for (int i = 0; i < 8; ++i) {
        s[i] = V[i];
    }
    all_rounds<MIX>(s, words, one);
    UNROLL
    for (int i = 0; i < 8; ++i) {
        V[i] ^= s[i];
    }
}

DEVICE void store_digest(u8 *out, const u32 (&V)[8]) {
    UNROLL
    for (int half = 0; half < 8; half += 4) {
        store16(out + 4 * half, {{big_endian(V[half]), big_endian(V[half + 1]),
                                  big_endian(V[half + 2]), big_endian(V[half + 3])}});
    }
}

// SHA-3, SHAKE and their relatives of many messages: the entry kernels. README.md has their arguments.
#include "bins.cuh"
#include "keccak.cuh"
#include "messages.cuh"

namespace sha3 {

using keccak::RC;
using keccak::Word;

// The most threads a block may have.
constexpr u32 BLOCK = 128;

// Least threads that a multiprocessor must hold, which leaves each 96 of its registers, or 128.
#ifndef RESIDENT
#ifdef BY_DOUBLES
#define RESIDENT 512
#else
#define RESIDENT 640
#endif
#endif

// The sponge before the first message byte: the state, in which `rest_len` bytes, under a block,
// wait to be permuted; and what follows the message: the domain's bits with the first bit of the
// padding, from which round on a permutation is, and how many bytes to squeeze.
struct Sponge {
    u32 A[50];
    u32 rest_len, suffix, first_round, output_len;
};

DEVICE void begin(Word (&A)[25], const Sponge &sponge) {
    UNROLL
    for (int k = 0; k < 25; ++k) {
        A[k] = {sponge.A[2 * k], sponge.A[2 * k + 1]};
    }
}

// Half of a word; `k` is known where this is unrolled.
DEVICE u32 half(const Word (&A)[25], int k) { return k % 2 ? A[k / 2].high : A[k / 2].low; }

DEVICE void absorb(Word (&A)[25], int k, u32 x) {
    if (k % 2) {
        A[k / 2].high ^= x;
    } else {
        A[k / 2].low ^= x;
    }
}

// The last bit of the padding.
template <int RATE>
DEVICE void absorb_last_bit(Word (&A)[25]) {
    A[RATE / 8 - 1].high ^= 0x80000000;
}

// A block at an 8-byte boundary.
template <int RATE>
DEVICE void absorb_aligned(Word (&A)[25], const u8 *at) {
    UNROLL
    for (int k = 0; k < RATE / 8; ++k) {
        const u64 x = load8(at + 8 * k);
        A[k].low ^= static_cast<u32>(x);
        A[k].high ^= static_cast<u32>(x >> 32);
    }
}

// The last `len` bytes of a message, at an 8-byte boundary, and the padding.
template <int RATE>
DEVICE void absorb_aligned_end(Word (&A)[25], const u8 *at, u32 len, u32 suffix) {
    const u64 kept = (1ull << 8 * (len % 8)) - 1;
    const u64 end = static_cast<u64>(suffix) << 8 * (len % 8);
    UNROLL
    for (u32 k = 0; k < RATE / 8; ++k) {
        u64 x = 0;
        if (8 * k < len) {
            x = load8(at + 8 * k);
        }
        if (k == len / 8) {
            x = (x & kept) | end;
        }
        A[k].low ^= static_cast<u32>(x);
        A[k].high ^= static_cast<u32>(x >> 32);
    }
    absorb_last_bit<RATE>(A);
}

DEVICE u32 misalignment4(const u8 *at) { return static_cast<u32>(reinterpret_cast<u64>(at) % 4); }

// A block at any address.
template <int RATE>
DEVICE void absorb_full(Word (&A)[25], const u8 *at) {
    const u32 ahead = misalignment4(at);
    const u8 *base = at - ahead;
    u32 x = load4(base);
    UNROLL
    for (int k = 0; k < RATE / 4; ++k) {
        u32 next = 0;
        if (k + 1 < RATE / 4 || ahead != 0) {
            next = load4(base + 4 * k + 4);
        }
        absorb(A, k, unaligned_word(x, next, 8 * ahead));
        x = next;
    }
}

// The last `len` bytes of a message, at any address, and the padding.
template <int RATE>
DEVICE void absorb_end(Word (&A)[25], const u8 *at, u32 len, u32 suffix) {
    const u32 ahead = misalignment4(at), end = ahead + len;
    const u8 *base = at - ahead;
    // The half word in which the message ends.
    const u32 place = len / 4, bits = 8 * (len % 4);
    u32 last = suffix << bits;
    if (bits != 0) {
        const u32 low = load4(base + 4 * place);
        const u32 high = 4 * place + 4 < end ? load4(base + 4 * place + 4) : 0;
        last |= unaligned_word(low, high, 8 * ahead) & ~shift_left(~0u, bits);
    }
    u32 x = len >= 4 ? load4(base) : 0;
    UNROLL
    for (u32 k = 0; k < RATE / 4; ++k) {
        u32 next = 0;
        if (4 * k + 4 < end) {
            next = load4(base + 4 * k + 4);
        }
        const u32 whole = unaligned_word(x, next, 8 * ahead);
        absorb(A, k, k < place ? whole : k == place ? last : 0);
        x = next;
    }
    absorb_last_bit<RATE>(A);
}

// A block of which bytes `from` to `to` are the message's, and others came before it: the first. It is
// padded unless it ends with the block.
template <int RATE>
DEVICE void absorb_first(Word (&A)[25], const u8 *block, u32 from, u32 to, u32 suffix) {
    const u32 ahead = misalignment4(block);
    const u8 *base = block - ahead;
    u32 x = 0;
    UNROLL
    for (int k = -1; k < RATE / 4; ++k) {
        // Loads overlap the message. Before a block's first byte that is one load at most.
        u32 next = 0;
        const int at = 4 * k + 4;
        if (at + 4 > static_cast<int>(ahead + from) && at < static_cast<int>(ahead + to)) {
            next = load4(base + at);
        }
        if (k >= 0) {
            const int after = static_cast<int>(to) - 4 * k, before = static_cast<int>(from) - 4 * k;
            const u32 end = shift_left(~0u, static_cast<u32>(8 * (after > 0 ? after : 0)));
            const u32 begin = shift_left(~0u, static_cast<u32>(8 * (before > 0 ? before : 0)));
            const u32 pad = shift_left(suffix, static_cast<u32>(8 * after));
            absorb(A, k, (unaligned_word(x, next, 8 * ahead) & begin & ~end) ^ pad);
        }
        x = next;
    }
    if (to < RATE) {
        absorb_last_bit<RATE>(A);
    }
}

// The first `len` bytes of the state. In multiples of four if `out` is.
template <int RATE>
DEVICE void squeeze(const Word (&A)[25], u8 *out, u32 len, bool aligned) {
    UNROLL
    for (u32 k = 0; k < RATE / 4; ++k) {
        if (4 * k < len) {
            if (aligned) {
                store4(out + 4 * k, half(A, k));
            } else {
                UNROLL
                for (u32 i = 0; i < 4; ++i) {
                    if (4 * k + i < len) {
                        out[4 * k + i] = static_cast<u8>(half(A, k) >> 8 * i);
                    }
                }
            }
        }
    }
}

// All of a digest goes to `out` in pieces of a block, each after a permutation. True at its end.
template <int RATE>
DEVICE bool squeeze_next(const Word (&A)[25], u8 *&out, u32 &left, bool aligned) {
    const u32 len = left < RATE ? left : RATE;
    squeeze<RATE>(A, out, len, aligned);
    out += len;
    left -= len;
    return left == 0;
}

// Absorbing and squeezing are one loop around one permutation: code of several would not fit the
// instruction cache. `left` counts the message's whole blocks, then below zero.
template <int RATE>
DEVICE void hash_row(const u8 *at, int blocks, u32 rest, const Sponge &sponge, u8 *out) {
    Word A[25];
    begin(A, sponge);
    u32 output_left = sponge.output_len;
    int left = blocks;
    bool done = false;
    NO_UNROLL
    do {
        if (left > 0) {
            absorb_aligned<RATE>(A, at);
            at += RATE;
        } else if (left == 0) {
            absorb_aligned_end<RATE>(A, at, rest, sponge.suffix);
        }
        keccak::rounds(A, sponge.first_round, 24);
        if (left <= 0) {
            done = squeeze_next<RATE>(A, out, output_left, sponge.output_len % 4 == 0);
        }
        --left;
    } while (!done);
}

template <int RATE>
DEVICE void hash_one(const Message &m, const Sponge &sponge, u8 *out) {
    Word A[25];
    begin(A, sponge);
    // The first block begins with what came before the message.
    const u64 total = sponge.rest_len + m.len;
    const u8 *at = m.at - sponge.rest_len;
    int left = static_cast<int>(total / RATE);
    const u32 rest = static_cast<u32>(total % RATE);
    u32 before = sponge.rest_len, output_left = sponge.output_len;
    bool done = false;
    NO_UNROLL
    do {
        if (before != 0) {
            absorb_first<RATE>(A, at, before, left > 0 ? RATE : rest, sponge.suffix);
            before = 0;
        } else if (left > 0) {
            absorb_full<RATE>(A, at);
        } else if (left == 0) {
            absorb_end<RATE>(A, at, rest, sponge.suffix);
        }
        at += RATE;
        keccak::rounds(A, sponge.first_round, 24);
        if (left <= 0) {
            done = squeeze_next<RATE>(A, out, output_left, sponge.output_len % 4 == 0);
        }
        --left;
    } while (!done);
}

// The first WORDS words of the state; only they are computed of the last round.
template <int WORDS>
DEVICE void last_rounds(Word (&A)[25], u32 first, u8 *out, u32 output_len) {
    keccak::rounds(A, first, 22);
    keccak::round(A, RC[22]);
    keccak::round(A, RC[23]);
    if (output_len % 16 == 0) {
        UNROLL
        for (u32 k = 0; k < WORDS; k += 2) {
            if (8 * k < output_len) {
                store16(out + 8 * k, {{A[k].low, A[k].high, A[k + 1].low, A[k + 1].high}});
            }
        }
    } else {
        squeeze<8 * WORDS>(A, out, output_len, true);
    }
}

// A message that fits into a block with its padding, after nothing.
template <int RATE, int WORDS>
DEVICE void hash_short(const u8 *at, u32 len, u32 suffix, u32 first, u32 output_len, u8 *out) {
    Word A[25] = {};
    absorb_end<RATE>(A, at, len, suffix);
    last_rounds<WORDS>(A, first, out, output_len);
}

// A message of 32 bytes at a 16-byte boundary with rate 136: all else of the block is constant, so that
// much of the first round is too.
DEVICE void hash_32(const u8 *at, u32 suffix, u8 *out) {
    const Vector low = load16(at), high = load16(at + 16);
    Word A[25] = {};
    A[0] = {low.x[0], low.x[1]};
    A[1] = {low.x[2], low.x[3]};
    A[2] = {high.x[0], high.x[1]};
    A[3] = {high.x[2], high.x[3]};
    A[4] = {suffix, 0};
    absorb_last_bit<136>(A);
    keccak::round(A, RC[0]);
    keccak::rounds(A, 1, 23);
    keccak::round(A, RC[23]);
    store16(out, {{A[0].low, A[0].high, A[1].low, A[1].high}});
    store16(out + 16, {{A[2].low, A[2].high, A[3].low, A[3].high}});
}

}  // namespace sha3

// SHAKE128 has rate 168; SHA3-224, -256, -384 and -512 have 144, 136, 104 and 72. Of the last round
// of a short message only the words of their digests are computed, of SHAKE128 the usual 32 bytes.
#define KERNELS(RATE, WORDS)                                                                       \
    KERNEL(sha3::BLOCK, RESIDENT)                                                                  \
    sha3_hash_many_##RATE(const Messages messages, const sha3::Sponge sponge, const u32 *order,    \
                          u32 count, u8 *out) {                                                    \
        FOR_EACH_THREAD(t) {                                                                       \
            const u32 i = block_index() * block_size() + t;                                        \
            if (i < count) {                                                                       \
                const u32 index = order != nullptr ? order[i] : i;                                 \
                sha3::hash_one<RATE>(message(messages, index), sponge,                             \
                                     out + static_cast<u64>(index) * sponge.output_len);           \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
    KERNEL(sha3::BLOCK, RESIDENT)                                                                  \
    sha3_hash_rows_##RATE(const u8 *data, u64 stride, u32 blocks, u32 rest,                        \
                          const sha3::Sponge sponge, u32 count, u8 *out) {                         \
        FOR_EACH_THREAD(t) {                                                                       \
            const u32 i = block_index() * block_size() + t;                                        \
            if (i < count) {                                                                       \
                sha3::hash_row<RATE>(data + i * stride, static_cast<int>(blocks), rest, sponge,    \
                                     out + static_cast<u64>(i) * sponge.output_len);               \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
    KERNEL(sha3::BLOCK, RESIDENT)                                                                  \
    sha3_hash_short_##RATE(const u8 *data, u64 stride, u32 len, u32 suffix, u32 first_round,       \
                           u32 output_len, u32 count, u8 *out) {                                   \
        const u32 grid = block_count() * block_size();                                             \
        FOR_EACH_THREAD(t) {                                                                       \
            NO_UNROLL                                                                              \
            for (u64 i = block_index() * block_size() + t; i < count; i += grid) {                 \
                sha3::hash_short<RATE, WORDS>(data + i * stride, len, suffix, first_round,         \
                                              output_len, out + i * output_len);                   \
            }                                                                                      \
        }                                                                                          \
    }

KERNELS(168, 4)
KERNELS(144, 4)
KERNELS(136, 4)
KERNELS(104, 6)
KERNELS(72, 8)
#undef KERNELS

KERNEL(sha3::BLOCK, RESIDENT)
sha3_hash_32(const u8 *data, u64 stride, u32 count, u32 suffix, u8 *out) {
    const u32 grid = block_count() * block_size();
    FOR_EACH_THREAD(t) {
        NO_UNROLL
        for (u64 i = block_index() * block_size() + t; i < count; i += grid) {
            sha3::hash_32(data + i * stride, suffix, out + 32 * i);
        }
    }
}

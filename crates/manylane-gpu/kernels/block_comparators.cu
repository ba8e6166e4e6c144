// AES in counter mode on GPUs as others have published it, to be measured beside aes.cu. README.md has
// the arguments.
#include "aes.cuh"
#include "bitsliced.cuh"
#include "modes.cuh"

constexpr u32 SLICED_THREADS = 128;

// The counter block of block `index`, columns as in aes.cuh.
DEVICE Vector counter_block(const Counter &counter, u32 index) {
    return {{big_endian(counter.high[0]), big_endian(counter.high[1]), big_endian(counter.high[2]),
             big_endian(counter.low + index)}};
}

DEVICE void add_to_data(const u8 *in, u8 *out, u32 index, const u32 (&key_stream)[4]) {
    const u64 at = static_cast<u64>(index) * 16;
    Vector data = load16_once(in + at);
    for (int i = 0; i < 4; ++i) {
        data.x[i] ^= key_stream[i];
    }
    store16_once(out + at, data);
}

DEVICE u32 s_box(u32 x) { return AES_TABLES.encrypt.x[x] >> 8 & 0xff; }

// --- Four functions a round, on a state of bytes: Li et al. -----------------------------------------

struct SBox {
    u8 x[256];
};

DEVICE constexpr SBox plain_s_box() {
    SBox box{};
    const AesTables tables = aes_tables();
    for (int i = 0; i < 256; ++i) {
        box.x[i] = static_cast<u8>(tables.encrypt.x[i] >> 8);
    }
    return box;
}

CONSTANT SBox S_BOX = plain_s_box();

DEVICE void sub_bytes(u8 (&state)[16]) {
    for (int i = 0; i < 16; ++i) {
        state[i] = S_BOX.x[state[i]];
    }
}

DEVICE void shift_rows(u8 (&state)[16]) {
    u8 old[16];
    for (int i = 0; i < 16; ++i) {
        old[i] = state[i];
    }
    for (int i = 0; i < 16; ++i) {
        state[i] = old[(i + 4 * (i % 4)) % 16];
    }
}

DEVICE u8 twice(u8 x) { return static_cast<u8>(x << 1 ^ (x >> 7) * 0x1b); }

DEVICE void mix_columns(u8 (&state)[16]) {
    for (int c = 0; c < 16; c += 4) {
        const u8 w = state[c], x = state[c + 1], y = state[c + 2], z = state[c + 3];
        state[c] = twice(w) ^ twice(x) ^ x ^ y ^ z;
        state[c + 1] = w ^ twice(x) ^ twice(y) ^ y ^ z;
        state[c + 2] = w ^ x ^ twice(y) ^ twice(z) ^ z;
        state[c + 3] = twice(w) ^ w ^ x ^ y ^ twice(z);
    }
}

DEVICE void add_round_key(u8 (&state)[16], const u32 *key) {
    for (int i = 0; i < 16; ++i) {
        state[i] ^= static_cast<u8>(key[i / 4] >> (8 * (i % 4)));
    }
}

template <int ROUNDS>
DEVICE void by_steps(const u8 *in, u8 *out, u64 len, const Counter &counter,
                     const AesKeys<ROUNDS> &keys) {
    FOR_EACH_THREAD(t) {
        const u32 index = block_index() * block_size() + t;
        if (index < len / 16) {
            const Vector v = counter_block(counter, index);
            u8 state[16];
            for (int i = 0; i < 16; ++i) {
                state[i] = static_cast<u8>(v.x[i / 4] >> (8 * (i % 4)));
            }
            add_round_key(state, keys.word);
            for (int round = 1; round <= ROUNDS; ++round) {
                sub_bytes(state);
                shift_rows(state);
                if (round < ROUNDS) {
                    mix_columns(state);
                }
                add_round_key(state, keys.word + 4 * round);
            }
            u32 words[4];
            for (int i = 0; i < 4; ++i) {
                words[i] = state[4 * i] | state[4 * i + 1] << 8 | state[4 * i + 2] << 16 |
                           static_cast<u32>(state[4 * i + 3]) << 24;
            }
            add_to_data(in, out, index, words);
        }
    }
}

// --- One table for 32 lanes, entries rotated, and an S-box for 32 lanes: Tezcan ---------------------

// Rotates to the left by a byte as the paper does.
DEVICE u32 rotate_byte(u32 x) { return permute<0x2103>(x, x); }

struct OneTable {
    // [256][32], [64][32] of four bytes each, round keys.
    const u32 *t0, *s_box, *keys;
    u32 lane;

    DEVICE_METHOD u32 entry(u32 x) const { return t0[x * LANES + lane]; }
    DEVICE_METHOD u32 column(u32 a, u32 b, u32 c, u32 d, int key) const {
        const u32 high = rotate_byte(entry(d >> 24)), middle = entry(c >> 16 & 0xff);
        return entry(a & 0xff) ^ rotate_byte(entry(b >> 8 & 0xff)) ^
               permute<0x1032>(middle, middle) ^ permute<0x1032>(high, high) ^ keys[key];
    }
    DEVICE_METHOD u32 s(u32 x) const {
        return reinterpret_cast<const u8 *>(s_box)[x / 4 * (LANES * 4) + 4 * lane + x % 4];
    }
    DEVICE_METHOD u32 last(u32 a, u32 b, u32 c, u32 d, int key) const {
        return (s(a & 0xff) | s(b >> 8 & 0xff) << 8 | s(c >> 16 & 0xff) << 16 | s(d >> 24) << 24) ^
               keys[key];
    }
};

template <int ROUNDS>
DEVICE void by_one_table(const u8 *in, u8 *out, u64 len, const Counter &counter,
                         const AesKeys<ROUNDS> &keys) {
    SHARED(u32, t0, 256 * LANES);
    SHARED(u32, boxes, 64 * LANES);
    SHARED(u32, round_keys, 4 * (ROUNDS + 1));
    FOR_EACH_THREAD(t) {
        for (u32 i = t; i < 256 * LANES; i += block_size()) {
            t0[i] = AES_TABLES.encrypt.x[i / LANES];
        }
        for (u32 i = t; i < 64 * LANES; i += block_size()) {
            const u32 x = i / LANES * 4;
            boxes[i] = s_box(x) | s_box(x + 1) << 8 | s_box(x + 2) << 16 | s_box(x + 3) << 24;
        }
        for (u32 i = t; i < 4 * (ROUNDS + 1); i += block_size()) {
            round_keys[i] = keys.word[i];
        }
    }
    BARRIER();
    FOR_EACH_THREAD(t) {
        const OneTable table = {t0, boxes, round_keys, t % LANES};
        const u32 blocks = static_cast<u32>(len / 16), step = block_count() * block_size();
        for (u32 index = block_index() * block_size() + t; index < blocks; index += step) {
            const Vector v = counter_block(counter, index);
            u32 a = v.x[0] ^ round_keys[0], b = v.x[1] ^ round_keys[1];
            u32 c = v.x[2] ^ round_keys[2], d = v.x[3] ^ round_keys[3];
            for (int k = 4; k < 4 * ROUNDS; k += 4) {
                const u32 e = table.column(a, b, c, d, k), f = table.column(b, c, d, a, k + 1);
                const u32 g = table.column(c, d, a, b, k + 2);
                d = table.column(d, a, b, c, k + 3);
                a = e;
                b = f;
                c = g;
            }
            constexpr int k = 4 * ROUNDS;
            const u32 words[4] = {table.last(a, b, c, d, k), table.last(b, c, d, a, k + 1),
                                  table.last(c, d, a, b, k + 2), table.last(d, a, b, c, k + 3)};
            add_to_data(in, out, index, words);
        }
    }
    BARRIER();
    FOR_EACH_THREAD(t) {
        for (u32 i = t; i < 4 * (ROUNDS + 1); i += block_size()) {
            round_keys[i] = 0;
        }
    }
}

// --- 32 blocks in 128 registers: Hajihassani et al. -------------------------------------------------

template <int ROUNDS>
DEVICE void by_bits(const u8 *in, u8 *out, u64 len, const Counter &counter,
                    const AesKeys<ROUNDS> &keys) {
    SHARED(u32, masks, 128 * (ROUNDS + 1));
    FOR_EACH_THREAD(t) {
        for (u32 i = t; i < 128 * (ROUNDS + 1); i += block_size()) {
            masks[i] = 0 - (keys.word[i / 32] >> (i % 32) & 1);
        }
    }
    BARRIER();
    FOR_EACH_THREAD(t) {
        // Block j of a lane's 32 is the one at 32 j after its first, so that a warp loads bytes side by
        // side.
        const u32 warp = (block_index() * block_size() + t) / LANES;
        const u32 first = warp * 1024 + t % LANES;
        if (first < len / 16) {
            u32 x[128];
            slice_counters(x, counter_block(counter, first));
            sliced_encrypt<ROUNDS>(x, masks);
            UNROLL
            for (int w = 0; w < 4; ++w) {
                transpose(x + 32 * w);
            }
            UNROLL
            for (u32 j = 0; j < 32; ++j) {
                const u32 words[4] = {x[j], x[32 + j], x[64 + j], x[96 + j]};
                add_to_data(in, out, first + 32 * j, words);
            }
        }
    }
    BARRIER();
    FOR_EACH_THREAD(t) {
        for (u32 i = t; i < 128 * (ROUNDS + 1); i += block_size()) {
            masks[i] = 0;
        }
    }
}

#define COMPARATORS(bits, rounds)                                                                  \
    KERNEL(BLOCK_THREADS, BLOCK_THREADS)                                                           \
    comparator_aes##bits##_steps(const u8 *in, u8 *out, u64 len, const Counter counter,            \
                                 const AesKeys<rounds> keys) {                                     \
        by_steps(in, out, len, counter, keys);                                                     \
    }                                                                                              \
    KERNEL(BLOCK_THREADS, BLOCK_THREADS)                                                           \
    comparator_aes##bits##_one_table(const u8 *in, u8 *out, u64 len, const Counter counter,        \
                                     const AesKeys<rounds> keys) {                                 \
        by_one_table(in, out, len, counter, keys);                                                 \
    }                                                                                              \
    KERNEL(SLICED_THREADS, SLICED_THREADS)                                                         \
    comparator_aes##bits##_bits(const u8 *in, u8 *out, u64 len, const Counter counter,             \
                                const AesKeys<rounds> keys) {                                      \
        by_bits(in, out, len, counter, keys);                                                      \
    }

COMPARATORS(128, 10)
COMPARATORS(192, 12)
COMPARATORS(256, 14)
#undef COMPARATORS

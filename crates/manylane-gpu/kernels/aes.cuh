// AES (FIPS 197) by tables: words are columns, row 0 in the lowest byte.
#pragma once

#include "tables.cuh"

// Multiplication by x in GF(2⁸).
DEVICE constexpr u32 aes_double(u32 x) { return (x << 1 ^ (x >> 7) * 0x11b) & 0xff; }

DEVICE constexpr u32 aes_product(u32 x, u32 y) {
    u32 product = 0;
    for (; y != 0; y >>= 1, x = aes_double(x)) {
        product ^= (y & 1) * x;
    }
    return product;
}

struct AesTables {
    // MixColumns of the S-box's value in row 0; the same of the inverse cipher.
    Table encrypt, decrypt;
};

// 5.1.1 and 5.3.2: inverses by walking through the powers of 3 and of its inverse.
DEVICE constexpr AesTables aes_tables() {
    AesTables tables{};
    u32 x = 1, inverse = 1;
    for (int power = 0; power < 256; ++power) {
        // After the last of the 255 powers comes 0, its own inverse here.
        if (power == 255) {
            x = inverse = 0;
        }
        u32 s = 0x63;
        for (int turn = 0; turn < 5; ++turn) {
            s ^= (inverse << turn | inverse >> (8 - turn)) & 0xff;
        }
        tables.encrypt.x[x] = aes_product(s, 2) | s << 8 | s << 16 | aes_product(s, 3) << 24;
        tables.decrypt.x[s] = aes_product(x, 14) | aes_product(x, 9) << 8 |
                              aes_product(x, 13) << 16 | aes_product(x, 11) << 24;
        x = aes_product(x, 3);
        inverse = aes_product(inverse, 0xf6);
    }
    return tables;
}

CONSTANT AesTables AES_TABLES = aes_tables();

template <int ROUNDS>
struct AesKeys {
    u32 word[4 * (ROUNDS + 1)];
};

struct Columns {
    u32 a, b, c, d;
};

// Rounds FROM to ROUNDS - 1 of the cipher.
template <int FROM, int ROUNDS, int TABLES>
DEVICE void encrypt_rounds(Columns &s, const AesKeys<ROUNDS> &keys, const Lookup<TABLES> &t) {
    UNROLL
    for (int round = FROM; round < ROUNDS; ++round) {
        const u32 *k = keys.word + 4 * round;
        s = {t.sum(s.a, s.b, s.c, s.d, k[0]), t.sum(s.b, s.c, s.d, s.a, k[1]),
             t.sum(s.c, s.d, s.a, s.b, k[2]), t.sum(s.d, s.a, s.b, s.c, k[3])};
    }
}

// A word of the last round, which has no MixColumns: the S-box's values are in bytes 1 and 2 of T0.
template <int TABLES>
DEVICE u32 encrypt_last(u32 a, u32 b, u32 c, u32 d, const Lookup<TABLES> &t) {
    const u32 low = permute<0x0051>(t.template stored<0, 0>(a), t.template stored<0, 1>(b));
    const u32 high = permute<0x0051>(t.template stored<0, 2>(c), t.template stored<0, 3>(d));
    return permute<0x5410>(low, high);
}

// The last round, and with what it is added to.
template <int ROUNDS, int TABLES>
DEVICE Vector encrypt_end(const Columns &s, const AesKeys<ROUNDS> &keys, const Lookup<TABLES> &t,
                          const Vector &data) {
    const u32 *k = keys.word + 4 * ROUNDS;
    return {{xor3(encrypt_last(s.a, s.b, s.c, s.d, t), k[0], data.x[0]),
             xor3(encrypt_last(s.b, s.c, s.d, s.a, t), k[1], data.x[1]),
             xor3(encrypt_last(s.c, s.d, s.a, s.b, t), k[2], data.x[2]),
             xor3(encrypt_last(s.d, s.a, s.b, s.c, t), k[3], data.x[3])}};
}

// The equivalent inverse cipher (5.3.5), with its keys in the order of use.
template <int ROUNDS, int TABLES>
DEVICE void decrypt_rounds(Columns &s, const AesKeys<ROUNDS> &keys, const Lookup<TABLES> &t) {
    UNROLL
    for (int round = 1; round < ROUNDS; ++round) {
        const u32 *k = keys.word + 4 * round;
        s = {t.sum(s.a, s.d, s.c, s.b, k[0]), t.sum(s.b, s.a, s.d, s.c, k[1]),
             t.sum(s.c, s.b, s.a, s.d, k[2]), t.sum(s.d, s.c, s.b, s.a, k[3])};
    }
}

// Each word's bytes added up, word i's in byte i.
DEVICE u32 add_bytes(u32 w0, u32 w1, u32 w2, u32 w3) {
    const u32 low = permute<0x5410>(w0, w1) ^ permute<0x7632>(w0, w1);
    const u32 high = permute<0x5410>(w2, w3) ^ permute<0x7632>(w2, w3);
    return permute<0x6420>(low, high) ^ permute<0x7531>(low, high);
}

// A word of the last round. No entry of the table has the inverse S-box's value, but the four bytes
// of an entry add up to it: 14 ^ 9 ^ 13 ^ 11 = 1.
template <int TABLES>
DEVICE u32 decrypt_last(u32 a, u32 b, u32 c, u32 d, const Lookup<TABLES> &t) {
    return add_bytes(t.template stored<0, 0>(a), t.template stored<0, 1>(b),
                     t.template stored<0, 2>(c), t.template stored<0, 3>(d));
}

template <int ROUNDS, int TABLES>
DEVICE Vector decrypt_end(const Columns &s, const AesKeys<ROUNDS> &keys, const Lookup<TABLES> &t) {
    const u32 *k = keys.word + 4 * ROUNDS;
    return {{decrypt_last(s.a, s.d, s.c, s.b, t) ^ k[0], decrypt_last(s.b, s.a, s.d, s.c, t) ^ k[1],
             decrypt_last(s.c, s.b, s.a, s.d, t) ^ k[2],
             decrypt_last(s.d, s.c, s.b, s.a, t) ^ k[3]}};
}

DEVICE Columns add_key(const Vector &v, const u32 *k) {
    return {v.x[0] ^ k[0], v.x[1] ^ k[1], v.x[2] ^ k[2], v.x[3] ^ k[3]};
}

template <int ROUNDS, int TABLES_>
struct AesEncrypt {
    static constexpr int TABLES = TABLES_;
    using Keys = AesKeys<ROUNDS>;
    DEVICE_METHOD static const Table &table() { return AES_TABLES.encrypt; }
    DEVICE_METHOD static Vector apply(const Vector &v, const Keys &keys, const Lookup<TABLES> &t) {
        Columns s = add_key(v, keys.word);
        encrypt_rounds<1>(s, keys, t);
        return encrypt_end(s, keys, t, {{0, 0, 0, 0}});
    }
};

template <int ROUNDS, int TABLES_>
struct AesDecrypt {
    static constexpr int TABLES = TABLES_;
    using Keys = AesKeys<ROUNDS>;
    DEVICE_METHOD static const Table &table() { return AES_TABLES.decrypt; }
    DEVICE_METHOD static Vector apply(const Vector &v, const Keys &keys, const Lookup<TABLES> &t) {
        Columns s = add_key(v, keys.word);
        decrypt_rounds(s, keys, t);
        return decrypt_end(s, keys, t);
    }
};

// Counter mode. Of counters that differ in their lowest two bytes only, which a thread takes so that
// the lowest is fixed: byte 15 of the counter is in row 3 and reaches one column of the state after
// round 1, byte 14 in row 2 another, and each column one byte of each column after round 2. So the
// state after round 2 is what all but byte 14 gives, plus four words that byte 14 alone decides.
// Those are the same in the whole grid: a table of 256 rows, computed by the thread block where
// there is shared memory for it, else by one and four look-ups for each block.
template <int ROUNDS, int TABLES_>
struct AesCounter {
    static constexpr int TABLES = TABLES_;
    static constexpr bool ROW_TABLE = TABLES == 4;
    static constexpr u32 SHARED_BYTES = tables_bytes(TABLES) + (ROW_TABLE ? 256 * 16 : 0);
    using Keys = AesKeys<ROUNDS>;
    // After round 2, less what byte 14 of the counter adds.
    using Fixed = Columns;

    const Keys &keys;
    Lookup<TABLES> t;
    u8 *rows;
    // The counter's words 0 to 2 after the first key.
    u32 a, b, c;
    // Column 1 after round 1, less what byte 14 adds.
    u32 b1;

    DEVICE_METHOD static const Table &table() { return AES_TABLES.encrypt; }

    DEVICE_METHOD AesCounter(u8 *shared, u32 lane, const Keys &keys, const u32 (&high)[3])
        : keys(keys), t{shared, lane}, rows(shared + tables_bytes(TABLES)),
          a(big_endian(high[0]) ^ keys.word[0]), b(big_endian(high[1]) ^ keys.word[1]),
          c(big_endian(high[2]) ^ keys.word[2]) {
        b1 = xor3(t.template term<0>(b), t.template term<1>(c), t.template term<3>(a)) ^
             keys.word[5];
    }

    // What byte 14 adds to each column after round 2.
    DEVICE_METHOD Columns by_row(u32 row) const {
        const u32 d = row << 16 ^ keys.word[3];
        const u32 column = b1 ^ t.template term<2>(d);
        return {t.template term<1>(column), t.template term<0>(column), t.template term<3>(column),
                t.template term<2>(column)};
    }

    // The rows, by all threads of a block together; a barrier has to follow.
    DEVICE_METHOD void fill_rows(u32 thread) const {
        if constexpr (ROW_TABLE) {
            for (u32 row = thread; row < 256; row += block_size()) {
                const Columns s = by_row(row);
                store16(rows + 16 * row, {{s.a, s.b, s.c, s.d}});
            }
        }
    }

    // The rows are of the key and the nonce, and the next kernel can read what this one leaves.
    DEVICE_METHOD void wipe_rows(u32 thread) const {
        if constexpr (ROW_TABLE) {
            for (u32 row = thread; row < 256; row += block_size()) {
                store16(rows + 16 * row, {{0, 0, 0, 0}});
            }
        }
    }

    // Of the counters that have this last word but for its second byte.
    DEVICE_METHOD Fixed fix(u32 counter) const {
        const u32 *k = keys.word;
        const u32 d = big_endian(counter) ^ k[3];
        const u32 A = t.sum(a, b, c, d, k[4]);
        const u32 C = t.sum(c, d, a, b, k[6]);
        const u32 D = t.sum(d, a, b, c, k[7]);
        return {xor3(t.template term<0>(A), t.template term<2>(C), t.template term<3>(D)) ^ k[8],
                xor3(t.template term<1>(C), t.template term<2>(D), t.template term<3>(A)) ^ k[9],
                xor3(t.template term<0>(C), t.template term<1>(D), t.template term<2>(A)) ^ k[10],
                xor3(t.template term<0>(D), t.template term<1>(A), t.template term<3>(C)) ^ k[11]};
    }

    // What is the same for all counters of a row.
    DEVICE_METHOD Columns row(u32 row) const {
        if constexpr (ROW_TABLE) {
            const Vector v = *reinterpret_cast<const Vector *>(rows + 16 * row);
            return {v.x[0], v.x[1], v.x[2], v.x[3]};
        } else {
            return by_row(row);
        }
    }

    DEVICE_METHOD Vector apply(const Fixed &fixed, const Columns &row, const Vector &data) const {
        Columns s = {fixed.a ^ row.a, fixed.b ^ row.b, fixed.c ^ row.c, fixed.d ^ row.d};
        encrypt_rounds<3>(s, keys, t);
        return encrypt_end(s, keys, t, data);
    }
};

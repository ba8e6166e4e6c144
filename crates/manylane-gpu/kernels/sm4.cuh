// SM4 (GB/T 32907-2016) by tables: words as the standard has them, the lowest byte last in memory.
#pragma once

#include "tables.cuh"

// Multiplication by x in the field of SM4's S-box.
DEVICE constexpr u32 sm4_double(u32 x) { return (x << 1 ^ (x >> 7) * 0x1f5) & 0xff; }

DEVICE constexpr u32 sm4_product(u32 x, u32 y) {
    u32 product = 0;
    for (; y != 0; y >>= 1, x = sm4_double(x)) {
        product ^= (y & 1) * x;
    }
    return product;
}

// The affine map on both sides of the inversion.
DEVICE constexpr u32 sm4_affine(u32 x) {
    u32 y = 0;
    for (u32 row = 0; row < 8; ++row) {
        u32 sum = x & ((0xa7u << row | 0xa7u >> (8 - row)) & 0xff);
        sum ^= sum >> 4;
        sum ^= sum >> 2;
        y |= ((sum ^ sum >> 1) & 1) << row;
    }
    return y ^ 0xd3;
}

DEVICE constexpr u32 sm4_inverse(u32 x) {
    // x to the power of 254.
    u32 power = 1;
    for (int bit = 0; bit < 7; ++bit) {
        x = sm4_product(x, x);
        power = sm4_product(power, x);
    }
    return power;
}

// T0(x) = L(S(x)), 6.2.
DEVICE constexpr Table sm4_table() {
    Table table{};
    for (u32 x = 0; x < 256; ++x) {
        const u32 s = sm4_affine(sm4_inverse(sm4_affine(x)));
        table.x[x] = s ^ s << 2 ^ s << 10 ^ s << 18 ^ s << 24;
    }
    return table;
}

CONSTANT Table SM4_TABLE = sm4_table();

// In the order of use.
struct Sm4Keys {
    u32 word[32];
};

// The round that replaces X0, X0 being the round's own; `two` is X2 + X3.
template <int TABLES>
DEVICE void sm4_round(u32 &X0, u32 X1, u32 two, u32 key, const Lookup<TABLES> &t) {
    const u32 y = xor3(X1, two, key);
    X0 = t.sum(y, y, y, y, X0);
}

// Rounds FROM to 31, FROM being even; words are renamed instead of moved.
template <int FROM, int TABLES>
DEVICE void sm4_rounds(u32 (&X)[4], const Sm4Keys &keys, const Lookup<TABLES> &t) {
    UNROLL
    for (int round = FROM; round < 32; round += 2) {
        // Two rounds have two of their three words in common.
        u32 &X0 = X[round % 4], &X1 = X[(round + 1) % 4];
        const u32 two = X[(round + 2) % 4] ^ X[(round + 3) % 4];
        sm4_round(X0, X1, two, keys.word[round], t);
        sm4_round(X1, X0, two, keys.word[round + 1], t);
    }
}

// The words in reverse order, as bytes in memory, added to data.
DEVICE Vector sm4_end(const u32 (&X)[4], const Vector &data) {
    return {{big_endian(X[3]) ^ data.x[0], big_endian(X[2]) ^ data.x[1],
             big_endian(X[1]) ^ data.x[2], big_endian(X[0]) ^ data.x[3]}};
}

template <int TABLES_>
struct Sm4 {
    static constexpr int TABLES = TABLES_;
    using Keys = Sm4Keys;
    DEVICE_METHOD static const Table &table() { return SM4_TABLE; }
    DEVICE_METHOD static Vector apply(const Vector &v, const Keys &keys, const Lookup<TABLES> &t) {
        u32 X[4];
        UNROLL
        for (int i = 0; i < 4; ++i) {
            X[i] = big_endian(v.x[i]);
        }
        sm4_rounds<0>(X, keys, t);
        return sm4_end(X, {{0, 0, 0, 0}});
    }
};

// Counter mode. Of counters that differ in their second lowest byte only, round 1 differs in one
// look-up.
template <int TABLES_>
struct Sm4Counter {
    static constexpr int TABLES = TABLES_;
    static constexpr u32 SHARED_BYTES = tables_bytes(TABLES);
    using Keys = Sm4Keys;

    // X3, and X4 less one look-up, of the counter with the second byte 0.
    struct Fixed {
        u32 X3, X4;
    };
    struct Row {
        u32 number, X4;
    };

    const Keys &keys;
    Lookup<TABLES> t;
    const u32 (&high)[3];

    DEVICE_METHOD static const Table &table() { return SM4_TABLE; }

    DEVICE_METHOD Sm4Counter(u8 *shared, u32 lane, const Keys &keys, const u32 (&high)[3])
        : keys(keys), t{shared, lane}, high(high) {}

    DEVICE_METHOD void fill_rows(u32) const {}
    DEVICE_METHOD void wipe_rows(u32) const {}

    DEVICE_METHOD u32 first_sum(u32 counter) const {
        return xor3(high[1], high[2], counter) ^ keys.word[0];
    }

    DEVICE_METHOD Fixed fix(u32 counter) const {
        const u32 y = first_sum(counter);
        const u32 X4 = xor3(t.template term<0>(y), t.template term<2>(y), t.template term<3>(y));
        return {counter, X4 ^ high[0]};
    }

    DEVICE_METHOD Row row(u32 row) const {
        return {row << 8, t.template term<1>(first_sum(row << 8))};
    }

    DEVICE_METHOD Vector apply(const Fixed &fixed, const Row &row, const Vector &data) const {
        u32 X[4] = {fixed.X4 ^ row.X4, high[1], high[2], fixed.X3 | row.number};
        sm4_round(X[1], X[0], X[2] ^ X[3], keys.word[1], t);
        sm4_rounds<2>(X, keys, t);
        return sm4_end(X, data);
    }
};

// Table look-ups of block ciphers in shared memory, without bank conflicts: every lane of a warp has
// a copy of each table in a bank of its own, so that no look-up waits for another, and none takes a
// time that depends on its index.
//
// With tables T0…T3, T_j(x) = T0(x) rotated left by 8 j bits, a round of a cipher is four look-ups
// for a word. Four tables for 32 lanes take 128 KiB; with two, T2 and T3 are rotations of T0 and T1,
// with one all are. A row of 256 bytes holds two tables' entries of one index, so that the address of
// a look-up is `index << 8 | 4 * lane`: one byte permutation of the state's word and a lane's constant.
#pragma once

#include "device.h"

// The entries of T0.
struct Table {
    u32 x[256];
};

// Lanes with a copy of their own: as many as there are banks.
constexpr u32 LANES = 32;

// Shared memory of so many tables.
DEVICE constexpr u32 tables_bytes(int tables) { return static_cast<u32>(tables) * 256 * LANES * 4; }

// All threads of the block take part; a barrier has to follow.
template <int TABLES>
DEVICE void fill_tables(u8 *shared, const Table &table, u32 t) {
    constexpr u32 pair = TABLES == 1 ? 1 : 2;
    for (u32 word = t; word < tables_bytes(TABLES) / 4; word += block_size()) {
        const u32 column = word / LANES % pair, row = word / (LANES * pair);
        const u32 rotation = 8 * (row / 256 * pair + column);
        const u32 entry = table.x[row % 256];
        reinterpret_cast<u32 *>(shared)[word] =
            shift_left(entry, rotation) | shift_right(entry, 32 - rotation);
    }
}

template <int TABLES>
struct Lookup {
    const u8 *shared;
    // Of the copy: four times the lane.
    u32 lane;

    // T_TABLE of byte BYTE of x.
    template <int TABLE, int BYTE>
    DEVICE_METHOD u32 stored(u32 x) const {
        static_assert(TABLE < TABLES, "a table that is there");
        if constexpr (TABLES == 1) {
            // The multiplier adds beside the logic unit.
            const u32 index = permute<0x4440 | BYTE>(x, 0);
            return load_shared<0>(shared, multiply_add(index, 4 * LANES, lane));
        } else {
            constexpr u32 place = tables_bytes(2) * (TABLE / 2) + 4 * LANES * (TABLE % 2);
            return load_shared<place>(shared, permute<0x7704 | BYTE << 4>(x, lane));
        }
    }

    // T_J of byte J of x.
    template <int J>
    DEVICE_METHOD u32 term(u32 x) const {
        constexpr int table = J % TABLES;
        return rotate_left<8 * (J - table)>(stored<table, J>(x));
    }

    // T0 of byte 0 of a, T1 of byte 1 of b, T2 of byte 2 of c, T3 of byte 3 of d, and rest, all
    // added: the words where the tables are, in two instructions.
    DEVICE_METHOD u32 sum(u32 a, u32 b, u32 c, u32 d, u32 rest) const {
        if constexpr (TABLES == 4) {
            return xor3(xor3(stored<0, 0>(a), stored<1, 1>(b), stored<2, 2>(c)), stored<3, 3>(d),
                        rest);
        } else if constexpr (TABLES == 2) {
            const u32 rotated = stored<0, 2>(c) ^ stored<1, 3>(d);
            return xor3(stored<0, 0>(a), stored<1, 1>(b), rest) ^ rotate_left<16>(rotated);
        } else {
            u32 y = rotate_left<8>(stored<0, 3>(d)) ^ stored<0, 2>(c);
            y = rotate_left<8>(y) ^ stored<0, 1>(b);
            return xor3(rotate_left<8>(y), stored<0, 0>(a), rest);
        }
    }
};

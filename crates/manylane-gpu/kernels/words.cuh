// Blocks of 64 bytes at any address as big-endian words, and what SM3 starts from.
#pragma once

#include "device.h"

// The hash before the first message byte: state, and `rest_len` (under 64) bytes that were taken
// in but not yet compressed, in memory order. `prefix_len` counts all bytes so far, the rest
// included.
struct Start {
    u32 V[8];
    u32 rest[16];
    u64 prefix_len;
    u32 rest_len, reserved;
};

// Bytes of one load. Every load is aligned to its size and overlaps the message.
#ifndef LOAD_BYTES
#define LOAD_BYTES 4
#endif

constexpr int LOADS = 64 / LOAD_BYTES + 1;

DEVICE u32 misalignment(const u8 *at) {
    return static_cast<u32>(reinterpret_cast<u64>(at) % LOAD_BYTES);
}

// What the loads of one block brought, before the words are taken out.
struct Window {
    u32 x[LOADS * LOAD_BYTES / 4];
};

template <int UNIT>
DEVICE void load_unit(Window &window, int unit, const u8 *at) {
#if LOAD_BYTES == 16
    const Vector v = load16(at);
    for (int k = 0; k < 4; ++k) {
        window.x[4 * unit + k] = v.x[k];
    }
#elif LOAD_BYTES == 8
    const u64 v = load8(at);
    window.x[2 * unit] = static_cast<u32>(v);
    window.x[2 * unit + 1] = static_cast<u32>(v >> 32);
#else
    window.x[unit] = load4(at);
#endif
}

// The 64 bytes at `block`, all of the message.
DEVICE void load_full(Window &window, const u8 *block) {
    const u8 *base = block - misalignment(block);
    UNROLL
    for (int i = 0; i < LOADS - 1; ++i) {
        load_unit<LOAD_BYTES>(window, i, base + i * LOAD_BYTES);
    }
    if (base != block) {
        load_unit<LOAD_BYTES>(window, LOADS - 1, base + 64);
    }
}

// The 64 bytes at `block`, of which those from `begin` to `end` are the message's; the others are
// anything.
DEVICE void load_part(Window &window, const u8 *block, const u8 *begin, const u8 *end) {
    const u8 *base = block - misalignment(block);
    UNROLL
    for (int i = 0; i < LOADS; ++i) {
        const u8 *at = base + i * LOAD_BYTES;
        if (at + LOAD_BYTES > begin && at < end) {
            load_unit<LOAD_BYTES>(window, i, at);
        }
    }
}

// How to find the words of a block in a window: the same for all blocks of a message.
struct Alignment {
    u32 selector;
    // 1 or 0 and its complement: whether one word and two words are skipped.
    u32 skip1, stay1, skip2, stay2;
};

DEVICE Alignment alignment(const u8 *block) {
    const u32 bytes = misalignment(block);
    const u32 one = bytes >> 2 & 1, two = bytes >> 3 & 1;
    return {big_endian_selector(bytes % 4), one, 1 - one, two, 1 - two};
}

#ifdef SELECT_BY_MULTIPLIER
DEVICE u32 pick(u32 x, u32 stay, u32 y, u32 skip) {
    return multiply_add(y, skip, multiply_add(x, stay, 0));
}
#else
DEVICE u32 pick(u32 x, u32, u32 y, u32 skip) { return skip ? y : x; }
#endif

DEVICE void words(u32 (&w)[16], const Window &window, const Alignment &how) {
#if LOAD_BYTES == 16
    u32 half[18];
    UNROLL
    for (int k = 0; k < 18; ++k) {
        half[k] = pick(window.x[k], how.stay2, window.x[k + 2], how.skip2);
    }
#else
    const auto &half = window.x;
#endif
#if LOAD_BYTES >= 8
    u32 word[17];
    UNROLL
    for (int k = 0; k < 17; ++k) {
        word[k] = pick(half[k], how.stay1, half[k + 1], how.skip1);
    }
#else
    const auto &word = half;
#endif
    UNROLL
    for (int k = 0; k < 16; ++k) {
        w[k] = big_endian_word(word[k], word[k + 1], how.selector);
    }
}

// Keeps the first `bytes` bytes of a block, none if negative; puts `first_bit` after them if that
// lies in the block; clears the rest.
DEVICE void pad(u32 (&w)[16], int bytes, u32 first_bit) {
    const int bits = 8 * (bytes < 64 ? bytes : 64);
    UNROLL
    for (int k = 0; k < 16; ++k) {
        const int cut = 32 - bits + 32 * k;
        w[k] = (w[k] & shift_left(~0u, static_cast<u32>(cut > 0 ? cut : 0)))
               | shift_right(first_bit, static_cast<u32>(bits - 32 * k));
    }
}

// Puts the bytes that wait since before the message in front of a block.
DEVICE void put_rest(u32 (&w)[16], const Start &start) {
    const u32 bits = 8 * start.rest_len;
    UNROLL
    for (int k = 0; k < 16; ++k) {
        const u32 rest = big_endian(start.rest[k]);
        const int cut = 32 - static_cast<int>(bits) + 32 * k;
        const u32 mask = shift_left(~0u, static_cast<u32>(cut > 0 ? cut : 0));
        w[k] = choose(mask, rest, w[k]);
    }
}

// Counting sort of messages by their number of blocks, longest first: neighbours in the order are
// of (nearly) one length, so the threads of a warp end together, and the last to start are short.
// Messages whose last block is padding alone come after those of as many blocks that end in theirs:
// mixed in a warp, they would make it do the edges twice.
//
// `bin_count`, `bin_offsets` (one thread block) and `bin_scatter` in this order, on BINS words that
// the caller has zeroed. Equal lengths come in any order.
#pragma once

#include "messages.cuh"

// Twice the blocks, less one if the last is padding alone, is exact up to EXACT - 1; above,
// PER_OCTAVE = 1 << OCTAVE_BITS bins serve each doubling.
constexpr u32 BINS = 1024, EXACT = 512, EXACT_BITS = 9, OCTAVE_BITS = 4;

// How a message's length makes its number of blocks: bytes beside the message, at least one; bytes of a
// block; and bytes of the last block up to which it is padding alone, 0 if that does not matter.
struct Blocks {
    u32 extra, len, padding;
};

// The bin of a message, the longest first.
DEVICE u32 bin(const Messages &messages, const Blocks &blocks, u32 index) {
    const u64 last = message(messages, index).len + blocks.extra - 1;
    const u64 size = 2 * (last / blocks.len + 1) - (last % blocks.len < blocks.padding);
    const u32 n = size >> 32 ? ~0u : static_cast<u32>(size);
    u32 rank = n;
    if (n >= EXACT) {
        const u32 octave = 31 - leading_zeros(n);
        const u32 part = (n >> (octave - OCTAVE_BITS)) - (1u << OCTAVE_BITS);
        rank = EXACT + ((octave - EXACT_BITS) << OCTAVE_BITS) + part;
    }
    return BINS - 1 - rank;
}

// The messages of one thread block: a run as long as the others'.
struct Tile {
    u32 from, to;
};

DEVICE Tile tile(u32 count) {
    const u32 each = count / block_count() + (count % block_count() != 0);
    const u64 from = static_cast<u64>(block_index()) * each;
    const u64 to = from + each;
    return {static_cast<u32>(from < count ? from : count),
            static_cast<u32>(to < count ? to : count)};
}

DEVICE void clear(u32 *bins, u32 t) {
    for (u32 b = t; b < BINS; b += block_size()) {
        bins[b] = 0;
    }
}

DEVICE void count_tile(const Messages &messages, const Blocks &blocks, u32 count, u32 *bins, u32 t) {
    const Tile own = tile(count);
    for (u32 i = own.from + t; i < own.to; i += block_size()) {
        atomic_add(&bins[bin(messages, blocks, i)], 1);
    }
}

KERNEL(1024, 1024)
bin_count(const Messages messages, const Blocks blocks, u32 count, u32 *bins) {
    SHARED(u32, own, BINS);
    FOR_EACH_THREAD(t) { clear(own, t); }
    BARRIER();
    FOR_EACH_THREAD(t) { count_tile(messages, blocks, count, own, t); }
    BARRIER();
    FOR_EACH_THREAD(t) {
        for (u32 b = t; b < BINS; b += block_size()) {
            if (own[b] != 0) {
                atomic_add(&bins[b], own[b]);
            }
        }
    }
}

// Replaces each bin's count by the number of messages in the bins before it.
KERNEL(1024, 1024)
bin_offsets(u32 *bins) {
    SHARED(u32, sums, 2 * BINS);
    FOR_EACH_THREAD(t) {
        for (u32 b = t; b < BINS; b += block_size()) {
            sums[b] = b == 0 ? 0 : bins[b - 1];
        }
    }
    u32 from = 0;
    for (u32 distance = 1; distance < BINS; distance *= 2) {
        BARRIER();
        FOR_EACH_THREAD(t) {
            for (u32 b = t; b < BINS; b += block_size()) {
                const u32 left = b >= distance ? sums[from + b - distance] : 0;
                sums[BINS - from + b] = sums[from + b] + left;
            }
        }
        from = BINS - from;
    }
    BARRIER();
    FOR_EACH_THREAD(t) {
        for (u32 b = t; b < BINS; b += block_size()) {
            bins[b] = sums[from + b];
        }
    }
}

// Writes the order, and leaves each bin's end in `bins`.
KERNEL(1024, 1024)
bin_scatter(const Messages messages, const Blocks blocks, u32 count, u32 *bins, u32 *order) {
    SHARED(u32, next, BINS);
    FOR_EACH_THREAD(t) { clear(next, t); }
    BARRIER();
    FOR_EACH_THREAD(t) { count_tile(messages, blocks, count, next, t); }
    BARRIER();
    FOR_EACH_THREAD(t) {
        for (u32 b = t; b < BINS; b += block_size()) {
            if (next[b] != 0) {
                next[b] = atomic_add(&bins[b], next[b]);
            }
        }
    }
    BARRIER();
    FOR_EACH_THREAD(t) {
        const Tile own = tile(count);
        for (u32 i = own.from + t; i < own.to; i += block_size()) {
            order[atomic_add(&next[bin(messages, blocks, i)], 1)] = i;
        }
    }
}

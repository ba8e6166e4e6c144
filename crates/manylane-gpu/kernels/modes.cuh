// Modes of operation over a block cipher: a thread a block, the grid as large as the device.
#pragma once

#include "tables.cuh"

// Threads of a thread block at most. Four tables leave room for one thread block on a
// multiprocessor; a thread then has 64 registers.
constexpr u32 BLOCK_THREADS = 1024;

// A counter block as the numbers of its four words; the last one counts.
struct Counter {
    u32 high[3];
    u32 low;
};

DEVICE u32 lane_of(u32 t) { return t % LANES * 4; }

// Adds what begins in `data` to less than a block of bytes.
DEVICE void add_rest(const u8 *in, u8 *out, u32 len, const Vector &key_stream) {
    NO_UNROLL
    for (u32 i = 0; i < len; ++i) {
        const u32 word = i / 4 == 0   ? key_stream.x[0]
                         : i / 4 == 1 ? key_stream.x[1]
                         : i / 4 == 2 ? key_stream.x[2]
                                      : key_stream.x[3];
        out[i] = in[i] ^ static_cast<u8>(word >> (8 * (i % 4)));
    }
}

// Which blocks of the data have which counters: block `index` has `low + index`. `whole` blocks, and
// `rest` bytes after them.
struct Extent {
    u32 low, whole, rest;
};

// A thread's counters of lines `begin` to `end`, which are the same for the whole thread block: so
// control flow is uniform, and what is alike in all threads stays in uniform registers. A line is as
// many counters as the block has threads, a multiple of 256: a thread's differ above their lowest byte.
template <class Cipher>
DEVICE void counter_lines(const Cipher &cipher, const u8 *in, u8 *out, const Extent &extent,
                          u32 begin, u32 end, u32 t) {
    // The lowest byte varies in a line, this many lines share all but the two lowest.
    const u32 lines = (1u << 16) / block_size();
    while (begin < end) {
        const u32 line = begin * block_size();
        const typename Cipher::Fixed fixed = cipher.fix((line & ~0xffffu) + t % 256);
        const u32 next = (begin / lines + 1) * lines, last = next < end ? next : end;
        NO_UNROLL
        for (; begin < last; ++begin) {
            const u32 counter = begin * block_size() + t;
            // Before the first block this is over 2³¹.
            const u32 index = counter - extent.low;
            const u64 at = static_cast<u64>(index) * 16;
            Vector data{};
            if (index < extent.whole) {
                data = load16_once(in + at);
            }
            data = cipher.apply(fixed, cipher.row(counter >> 8 & 255), data);
            if (index < extent.whole) {
                store16_once(out + at, data);
            } else if (index == extent.whole && extent.rest != 0) {
                add_rest(in + at, out + at, extent.rest, data);
            }
        }
    }
}

// `len` bytes, less than 2³¹ blocks; the counter's last word does not wrap on the way. Thread blocks
// of 256, 512 or 1024 threads.
template <class Cipher>
DEVICE void counter_mode(u8 *shared, const u8 *in, u8 *out, u64 len, const Counter &counter,
                         const typename Cipher::Keys &keys) {
    FOR_EACH_THREAD(t) { fill_tables<Cipher::TABLES>(shared, Cipher::table(), t); }
    BARRIER();
    FOR_EACH_THREAD(t) {
        Cipher(shared, lane_of(t), keys, counter.high).fill_rows(t);
    }
    BARRIER();
    FOR_EACH_THREAD(t) {
        const Extent extent = {counter.low, static_cast<u32>(len / 16), static_cast<u32>(len % 16)};
        // Lines in equal shares, to within one.
        const u32 size = block_size(), first = counter.low / size;
        const u64 end = (counter.low + (len + 15) / 16 + size - 1) / size, lines = end - first;
        const Cipher cipher(shared, lane_of(t), keys, counter.high);
        counter_lines(cipher, in, out, extent,
                      first + static_cast<u32>(lines * block_index() / block_count()),
                      first + static_cast<u32>(lines * (block_index() + 1) / block_count()), t);
    }
    BARRIER();
    FOR_EACH_THREAD(t) {
        Cipher(shared, lane_of(t), keys, counter.high).wipe_rows(t);
    }
}

// Each of `blocks` blocks for itself.
template <class Cipher>
DEVICE void each_block(u8 *shared, const u8 *in, u8 *out, u64 blocks,
                       const typename Cipher::Keys &keys) {
    FOR_EACH_THREAD(t) { fill_tables<Cipher::TABLES>(shared, Cipher::table(), t); }
    BARRIER();
    FOR_EACH_THREAD(t) {
        const Lookup<Cipher::TABLES> lookup{shared, lane_of(t)};
        const u64 step = static_cast<u64>(block_count()) * block_size();
        u64 i = static_cast<u64>(block_index()) * block_size() + t;
        Vector next{};
        if (i < blocks) {
            next = load16_once(in + 16 * i);
        }
        NO_UNROLL
        while (i < blocks) {
            const Vector v = next;
            // Loaded a block ahead, so that nobody waits for memory.
            if (i + step < blocks) {
                next = load16_once(in + 16 * (i + step));
            }
            store16_once(out + 16 * i, Cipher::apply(v, keys, lookup));
            i += step;
        }
    }
}

// SM3 of many messages: the entry kernels. README.md has their arguments.
#include "bins.cuh"
#include "messages.cuh"
#include "sm3.cuh"
#include "words.cuh"

// The most threads a block may have.
constexpr u32 BLOCK = 256;

// What goes to the multiplier: src/tuning.rs says where this pays, README.md what was measured.
#ifdef BY_MULTIPLIER
// Free to take what it needs (56 registers on Hopper), the kernel of short messages is 4 % faster.
#define SHORT_RESIDENT 256
#ifndef MIX_ROWS
#define MIX_ROWS (ADDITIONS | SS1_ADDITIONS | SS1_ROTATION_HALF)
#endif
#ifndef MIX_MANY
#define MIX_MANY (ADDITIONS | SS1_ADDITIONS)
#endif
#ifndef MIX_SHORT
#define MIX_SHORT (ADDITIONS | SS1_ADDITIONS)
#endif
#ifndef MIX_HMAC
#define MIX_HMAC (ADDITIONS | SS1_ADDITIONS)
#endif
#else
#define SHORT_RESIDENT 1024
#define MIX_ROWS PLAIN
#define MIX_MANY PLAIN
#define MIX_SHORT PLAIN
#define MIX_HMAC PLAIN
#endif

DEVICE One factors(u32 one, u32 t) { return {one, one + (t >> 20)}; }

DEVICE void copy(u32 (&to)[8], const u32 (&from)[8]) {
    UNROLL
    for (int i = 0; i < 8; ++i) {
        to[i] = from[i];
    }
}

DEVICE void load_aligned(u32 (&raw)[16], const u8 *at) {
    UNROLL
    for (int k = 0; k < 16; k += 4) {
        const Vector v = load16(at + 4 * k);
        for (int i = 0; i < 4; ++i) {
            raw[k + i] = v.x[i];
        }
    }
}

DEVICE void hash_row(const u8 *at, u32 blocks, const Start &start, const PaddingBlock &padding,
                     One one, u8 *out) {
    u32 V[8], w[16], raw[16];
    copy(V, start.V);
    if (blocks != 0) {
        load_aligned(raw, at);
        NO_UNROLL
        for (u32 left = blocks; left != 0; --left) {
            UNROLL
            for (int k = 0; k < 16; ++k) {
                w[k] = big_endian(raw[k]);
            }
            // The last block is loaded once more instead of nothing.
            at += left > 1 ? 64 : 0;
            compress<MIX_ROWS>(V, Expanded{w}, one);
            load_aligned(raw, at);
        }
    }
    compress<MIX_ROWS>(V, Constant{padding}, one);
    store_digest(out, V);
}

KERNEL(BLOCK, 1024)
sm3_hash_rows(const u8 *data, u64 stride, u32 blocks, const Start start,
              const PaddingBlock padding, u32 count, u32 one, u8 *out) {
    FOR_EACH_THREAD(t) {
        const u32 i = block_index() * block_size() + t;
        if (i < count) {
            hash_row(data + i * stride, blocks, start, padding, factors(one, t),
                     out + 32 * static_cast<u64>(i));
        }
    }
}

// A message taken block by block, after `rest_len` bytes that stand before it in the first block.
// All else is derived where it is needed: registers are scarcer than the few operations.
struct Stream {
    const u8 *begin;
    u64 len;
    u32 rest_len, next;

    DEVICE_METHOD u64 total() const { return rest_len + len; }
    // At least one bit and the length are padded. Memory of a device bounds this to 32 bits.
    DEVICE_METHOD u32 blocks() const { return static_cast<u32>((total() + 9 + 63) / 64); }
    DEVICE_METHOD bool done() const { return next == blocks(); }
    DEVICE_METHOD const u8 *block() const {
        return begin - rest_len + 64 * static_cast<u64>(next);
    }
    // Blocks from the next one on that are the message's as a whole.
    DEVICE_METHOD u32 full_blocks() const {
        const u32 whole = static_cast<u32>(total() / 64);
        return next < whole && (next != 0 || rest_len == 0) ? whole - next : 0;
    }
    DEVICE_METHOD bool full() const { return full_blocks() != 0; }
};

// The words of a block that is not the message's as a whole: padded, the length being that of the
// message and `prefix_len` more bytes; or only filled up with zeros.
DEVICE void edge_block(Stream &s, u32 (&w)[16], const Start *start, bool padded, u64 prefix_len) {
    Window window = {};
    const u8 *block = s.block();
    load_part(window, block, s.begin, s.begin + s.len);
    words(w, window, alignment(block));
    if (start != nullptr && s.next == 0 && s.rest_len != 0) {
        put_rest(w, *start);
    }
    // Only blocks near the end need it exactly; there it is small, and may be negative.
    const u32 total = static_cast<u32>(s.total());
    const int left = s.blocks() - s.next > 2 ? 64 : static_cast<int>(total - 64 * s.next);
    pad(w, left, padded ? 0x80000000 : 0);
    if (padded && s.next + 1 == s.blocks()) {
        const u64 bits = 8 * (prefix_len + s.len);
        w[14] = static_cast<u32>(bits >> 32);
        w[15] = static_cast<u32>(bits);
    }
    ++s.next;
}

// The next block's words, whatever they are of.
DEVICE void next_block(Stream &s, u32 (&w)[16], bool padded, u64 prefix_len) {
    if (s.full()) {
        Window window;
        load_full(window, s.block());
        words(w, window, alignment(s.block()));
        ++s.next;
    } else {
        edge_block(s, w, nullptr, padded, prefix_len);
    }
}

// Compresses the blocks that are the message's as a whole.
DEVICE void compress_full(Stream &s, u32 (&V)[8], One one) {
    const u8 *block = s.block();
    const Alignment how = alignment(block);
    NO_UNROLL
    for (u32 left = s.full_blocks(); left != 0; --left) {
        Window window;
        u32 w[16];
        load_full(window, block);
        words(w, window, how);
        compress<MIX_MANY>(V, Expanded{w}, one);
        block += 64;
        ++s.next;
    }
}

DEVICE void hash_one(const Message &m, const Start &start, One one, u8 *out) {
    Stream s = {m.at, m.len, start.rest_len, 0};
    u32 V[8];
    copy(V, start.V);
    NO_UNROLL
    do {
        // A loop of its own: without the edges' branches the compiler overlaps the loads of a block
        // with the rounds of the one before.
        compress_full(s, V, one);
        u32 w[16];
        edge_block(s, w, &start, true, start.prefix_len);
        compress<MIX_MANY>(V, Expanded{w}, one);
    } while (!s.done());
    store_digest(out, V);
}

// A message of at most 55 bytes: the padding depends on the arguments alone, and a compiler can
// work it out once for all threads.
DEVICE void hash_short(const u8 *at, u32 len, const Start &start, One one, u8 *out) {
    Window window = {};
    const u32 ahead = misalignment(at);
    UNROLL
    for (u32 i = 0; i < LOADS; ++i) {
        if (i * LOAD_BYTES < ahead + len && len != 0) {
            load_unit<LOAD_BYTES>(window, i, at - ahead + i * LOAD_BYTES);
        }
    }
    u32 V[8], w[16];
    words(w, window, alignment(at));
    UNROLL
    for (u32 k = 0; k < 14; ++k) {
        const u32 kept = len >= 4 * k + 4 ? 4 : len > 4 * k ? len - 4 * k : 0;
        const u32 bit = len >= 4 * k && len < 4 * k + 4 ? 0x80000000 >> 8 * kept : 0;
        w[k] = add_uniform<MIX_SHORT>(w[k] & ~shift_right(~0u, 8 * kept), bit, one);
    }
    const u64 bits = 8 * (start.prefix_len + len);
    // In ordinary registers: an IMAD of the uniform 1 and another uniform value does not exist, and
    // the compiler would give up the uniform 1 everywhere.
    w[14] = static_cast<u32>(bits >> 32) * one.lane;
    w[15] = static_cast<u32>(bits) * one.lane;
    copy(V, start.V);
    compress<MIX_SHORT>(V, Expanded{w}, one);
    store_digest(out, V);
}

// A message of 32 bytes at a 16-byte boundary: half of the block is constant.
DEVICE void hash_32(const u8 *at, One one, u8 *out) {
    const Vector low = load16(at), high = load16(at + 16);
    u32 V[8], w[16] = {};
    UNROLL
    for (int k = 0; k < 4; ++k) {
        w[k] = big_endian(low.x[k]);
        w[k + 4] = big_endian(high.x[k]);
    }
    w[8] = 0x80000000;
    w[15] = 8 * 32;
    set_initial(V);
    compress<MIX_SHORT>(V, HalfConstant{{w}}, one);
    store_digest(out, V);
}

// These two take any grid: a thread goes on with the message a grid further, so that what is the
// same for all messages is prepared once for several.
KERNEL(BLOCK, SHORT_RESIDENT)
sm3_hash_short(const Messages messages, const Start start, u32 count, u32 one, u8 *out) {
    const u32 len = static_cast<u32>(messages.len);
    const u32 grid = block_count() * block_size();
    FOR_EACH_THREAD(t) {
        NO_UNROLL
        for (u64 i = block_index() * block_size() + t; i < count; i += grid) {
            hash_short(messages.data + i * messages.stride, len, start, factors(one, t),
                       out + 32 * i);
        }
    }
}

KERNEL(BLOCK, 1024)
sm3_hash_32(const u8 *data, u64 stride, u32 count, u32 one, u8 *out) {
    const u32 grid = block_count() * block_size();
    FOR_EACH_THREAD(t) {
        NO_UNROLL
        for (u64 i = block_index() * block_size() + t; i < count; i += grid) {
            hash_32(data + i * stride, factors(one, t), out + 32 * i);
        }
    }
}

KERNEL(BLOCK, 1024)
sm3_hash_many(const Messages messages, const Start start, const u32 *order, u32 count, u32 one,
              u8 *out) {
    FOR_EACH_THREAD(t) {
        const u32 i = block_index() * block_size() + t;
        if (i < count) {
            const u32 index = order != nullptr ? order[i] : i;
            hash_one(message(messages, index), start, factors(one, t),
                     out + 32 * static_cast<u64>(index));
        }
    }
}

// Where a thread keeps a digest while it hashes something else: a column of shared memory, for
// there are not enough registers for both.
struct Column {
    u32 *words;
    DEVICE_METHOD void put(const u32 (&V)[8]) const {
        UNROLL
        for (int k = 0; k < 8; ++k) {
            words[k * BLOCK] = V[k];
        }
    }
    DEVICE_METHOD void get(u32 (&w)[16]) const {
        UNROLL
        for (int k = 0; k < 8; ++k) {
            w[k] = words[k * BLOCK];
            w[k + 8] = 0;
        }
    }
    DEVICE_METHOD void wipe() const {
        UNROLL
        for (int k = 0; k < 8; ++k) {
            words[k * BLOCK] = 0;
        }
    }
};

DEVICE Stream stream(const Message &m) { return {m.at, m.len, 0, 0}; }

// RFC 2104 as one loop around one compression: code of five would not fit the instruction cache.
// `digest` is that of a long key, later that of the inner hash.
DEVICE void hmac_one(const Messages &keys, const Messages &messages, u32 index, Column digest,
                     One one, u8 *out) {
    enum : u32 { KEY, INNER_KEY, MESSAGE, OUTER_KEY, DIGEST };
    Stream s = stream(message(keys, index));
    const bool long_key = s.len > 64;
    u32 step = long_key ? KEY : INNER_KEY;
    u32 V[8], w[16];
    set_initial(V);
    NO_UNROLL
    for (;;) {
        // Or the compiler follows each step to the next, and writes the compression out for each.
        step = opaque(step);
        const bool key_step = step == INNER_KEY || step == OUTER_KEY;
        if (step == DIGEST || (key_step && long_key)) {
            digest.get(w);
            if (step == DIGEST) {
                w[8] = 0x80000000;
                w[15] = 8 * (64 + 32);
            }
        } else {
            next_block(s, w, !key_step, step == MESSAGE ? 64 : 0);
        }
        if (key_step) {
            const u32 pad = step == INNER_KEY ? 0x36363636 : 0x5c5c5c5c;
            UNROLL
            for (int k = 0; k < 16; ++k) {
                w[k] ^= pad;
            }
        }
        if (step == OUTER_KEY) {
            digest.put(V);
            set_initial(V);
        }
        compress<MIX_HMAC>(V, Expanded{w}, one);
        if (step == DIGEST) {
            break;
        }
        if ((step == KEY || step == MESSAGE) && !s.done()) {
            continue;
        }
        if (step == KEY) {
            digest.put(V);
            set_initial(V);
        } else if (step == INNER_KEY) {
            s = stream(message(messages, index));
        } else if (step == MESSAGE) {
            s = stream(message(keys, index));
        }
        ++step;
    }
    digest.wipe();
    store_digest(out + 32 * static_cast<u64>(index), V);
}

KERNEL(BLOCK, 1024)
sm3_hmac_many(const Messages keys, const Messages messages, const u32 *order, u32 count, u32 one,
              u8 *out) {
    SHARED(u32, digests, 8 * BLOCK);
    FOR_EACH_THREAD(t) {
        const u32 i = block_index() * block_size() + t;
        if (i < count) {
            hmac_one(keys, messages, order != nullptr ? order[i] : i, {digests + t},
                     factors(one, t), out);
        }
    }
}

// SM3 of many messages as others have published it, to be measured beside sm3.cu: one thread a
// message, digests in the messages' order, plain additions. README.md has the arguments.
#include "sm3.cuh"

// HI-SM3 is measured with blocks of up to 1024 threads.
constexpr u32 LARGEST_BLOCK = 1024;

DEVICE void compress_fused(u32 (&V)[8], u32 (&w)[16]) {
    // Plain additions have no use for the factor.
    compress<PLAIN>(V, Expanded{w}, One{1, 1});
}

// The block that pads a message of whole blocks: no message byte is in it.
DEVICE void padding_words(u32 (&w)[16], u64 len) {
    UNROLL
    for (int k = 1; k < 14; ++k) {
        w[k] = 0;
    }
    w[0] = 0x80000000;
    w[14] = static_cast<u32>(8 * len >> 32);
    w[15] = static_cast<u32>(8 * len);
}

// Sixteen bytes by loads of BYTES, as little-endian words.
template <int BYTES>
DEVICE Vector load_element(const u8 *at) {
    if constexpr (BYTES == 16) {
        return load16(at);
    } else if constexpr (BYTES == 8) {
        const u64 low = load8(at), high = load8(at + 8);
        return {{static_cast<u32>(low), static_cast<u32>(low >> 32), static_cast<u32>(high),
                 static_cast<u32>(high >> 32)}};
    } else {
        return {{load4(at), load4(at + 4), load4(at + 8), load4(at + 12)}};
    }
}

// A block as four elements of sixteen bytes, `step` bytes from one to the next.
template <int BYTES>
DEVICE void load_block(u32 (&w)[16], const u8 *at, u64 step) {
    UNROLL
    for (int element = 0; element < 4; ++element) {
        const Vector v = load_element<BYTES>(at + element * step);
        UNROLL
        for (int k = 0; k < 4; ++k) {
            w[4 * element + k] = big_endian(v.x[k]);
        }
    }
}

// HI-SM3 (Dong et al.): expansion and rounds fused, message i's element e of 16 bytes at
// `data + 16 * (e * count + i)`, so that threads side by side load bytes side by side.
template <int BYTES>
DEVICE void hash_interleaved(const u8 *data, u64 len, u32 count, u8 *out) {
    FOR_EACH_THREAD(t) {
        const u64 i = static_cast<u64>(block_index()) * block_size() + t;
        if (i < count) {
            const u64 step = 16 * static_cast<u64>(count);
            const u8 *at = data + 16 * i;
            u32 V[8], w[16];
            set_initial(V);
            NO_UNROLL
            for (u64 left = len / 64; left != 0; --left) {
                load_block<BYTES>(w, at, step);
                compress_fused(V, w);
                at += 4 * step;
            }
            padding_words(w, len);
            compress_fused(V, w);
            store_digest(out + 32 * i, V);
        }
    }
}

KERNEL(LARGEST_BLOCK, 1024)
comparator_interleaved_4(const u8 *data, u64 len, u32 count, u8 *out) {
    hash_interleaved<4>(data, len, count, out);
}

KERNEL(LARGEST_BLOCK, 1024)
comparator_interleaved_8(const u8 *data, u64 len, u32 count, u8 *out) {
    hash_interleaved<8>(data, len, count, out);
}

KERNEL(LARGEST_BLOCK, 1024)
comparator_interleaved_16(const u8 *data, u64 len, u32 count, u8 *out) {
    hash_interleaved<16>(data, len, count, out);
}

// The mode of Sun, Zhang and Ma for messages of any lengths: the host has padded them, one after
// another at multiples of 64 bytes, and no thread's path depends on more than a number of blocks.
KERNEL(LARGEST_BLOCK, 1024)
comparator_padded(const u8 *data, const u64 *offsets, u64 base, u32 count, u8 *out) {
    FOR_EACH_THREAD(t) {
        const u64 i = static_cast<u64>(block_index()) * block_size() + t;
        if (i < count) {
            const u8 *at = data + (offsets[i] - base);
            u32 V[8], w[16];
            set_initial(V);
            NO_UNROLL
            for (u64 left = (offsets[i + 1] - offsets[i]) / 64; left != 0; --left) {
                load_block<16>(w, at, 16);
                compress_fused(V, w);
                at += 64;
            }
            store_digest(out + 32 * i, V);
        }
    }
}

// 5.3.2 and 5.3.3 as they stand: all words of a block first, then a loop of rounds. Unrolled, the
// compiler would make the words on the way in registers, which is another design.
DEVICE void compress_plainly(u32 (&V)[8], const u32 (&B)[16]) {
    u32 W[68], W_prime[64];
    for (int j = 0; j < 16; ++j) {
        W[j] = B[j];
    }
    NO_UNROLL
    for (int j = 16; j < 68; ++j) {
        const u32 x = W[j - 16] ^ W[j - 9] ^ rotate_left<15>(W[j - 3]);
        const u32 P1 = x ^ rotate_left<15>(x) ^ rotate_left<23>(x);
        W[j] = P1 ^ rotate_left<7>(W[j - 13]) ^ W[j - 6];
    }
    NO_UNROLL
    for (int j = 0; j < 64; ++j) {
        W_prime[j] = W[j] ^ W[j + 4];
    }
    u32 A = V[0], B_ = V[1], C = V[2], D = V[3], E = V[4], F = V[5], G = V[6], H = V[7];
    NO_UNROLL
    for (int j = 0; j < 64; ++j) {
        const u32 A12 = rotate_left<12>(A);
        const u32 SS1 = rotate_left<7>(A12 + E + ROUND_CONSTANTS[j]);
        const u32 SS2 = SS1 ^ A12;
        const u32 FF = j < 16 ? A ^ B_ ^ C : (A & B_) | (A & C) | (B_ & C);
        const u32 GG = j < 16 ? E ^ F ^ G : (E & F) | (~E & G);
        const u32 TT1 = FF + D + SS2 + W_prime[j];
        const u32 TT2 = GG + H + SS1 + W[j];
        D = C;
        C = rotate_left<9>(B_);
        B_ = A;
        A = TT1;
        H = G;
        G = rotate_left<19>(F);
        F = E;
        E = TT2 ^ rotate_left<9>(TT2) ^ rotate_left<17>(TT2);
    }
    V[0] ^= A;
    V[1] ^= B_;
    V[2] ^= C;
    V[3] ^= D;
    V[4] ^= E;
    V[5] ^= F;
    V[6] ^= G;
    V[7] ^= H;
}

// As one writes it from the standard, a word at a time from messages as they lie.
KERNEL(LARGEST_BLOCK, 1024)
comparator_plain(const u8 *data, u64 stride, u64 len, u32 count, u8 *out) {
    FOR_EACH_THREAD(t) {
        const u64 i = static_cast<u64>(block_index()) * block_size() + t;
        if (i < count) {
            const u8 *at = data + i * stride;
            u32 V[8], w[16];
            set_initial(V);
            NO_UNROLL
            for (u64 left = len / 64; left != 0; --left) {
                load_block<4>(w, at, 16);
                compress_plainly(V, w);
                at += 64;
            }
            padding_words(w, len);
            compress_plainly(V, w);
            store_digest(out + 32 * i, V);
        }
    }
}

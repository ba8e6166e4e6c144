// SHA3-256 as others have put it on GPUs, to be measured beside sha3.cu. README.md has the arguments.
#include "keccak.cuh"

namespace sha3 {

constexpr u32 RATE = 136;

// Threads of a block with one message: 25 of them have a word each.
constexpr u32 MESSAGE_BLOCK = 32;

// Rotations of rho and places of pi, for words (x, y) at x + 5 * y.
CONSTANT u8 RHO[25] = {0,  1,  62, 28, 27, 36, 44, 6,  55, 20, 3,  10, 43,
                       25, 39, 41, 45, 15, 21, 8,  18, 2,  61, 56, 14};
CONSTANT u8 PI[25] = {0, 10, 20, 5, 15, 16, 1, 11, 21, 6, 7, 17, 2, 12, 22, 23, 8, 18, 3, 13, 14, 24, 9, 19, 4};

DEVICE u64 rotate(u64 x, u32 n) { return n == 0 ? x : x << n | x >> (64 - n); }

// Word k of the block at `at`, of which `left` bytes are the message's: padded if that is less than a block.
DEVICE u64 padded_word(const u8 *at, u64 left, u32 k) {
    u64 word = 8 * k < left ? load8(at + 8 * k) : 8 * k == left ? 6 : 0;
    if (left < RATE && k == RATE / 8 - 1) {
        word |= 1ull << 63;
    }
    return word;
}

}  // namespace sha3

// A thread block a message, with the state in shared memory.
KERNEL(sha3::MESSAGE_BLOCK, 1024)
comparator_sha3_block(const u8 *data, u64 stride, u64 len, u32, u8 *out) {
    SHARED(u64, A, 25);
    SHARED(u64, B, 25);
    SHARED(u64, C, 5);
    const u8 *at = data + block_index() * stride;
    FOR_EACH_THREAD(t) {
        if (t < 25) {
            A[t] = 0;
        }
    }
    NO_UNROLL
    for (u64 done = 0; done <= len; done += sha3::RATE) {
        FOR_EACH_THREAD(t) {
            if (t < sha3::RATE / 8) {
                A[t] ^= sha3::padded_word(at + done, len - done, t);
            }
        }
        BARRIER();
        NO_UNROLL
        for (u32 i = 0; i < 24; ++i) {
            FOR_EACH_THREAD(t) {
                if (t < 5) {
                    C[t] = A[t] ^ A[t + 5] ^ A[t + 10] ^ A[t + 15] ^ A[t + 20];
                }
            }
            BARRIER();
            FOR_EACH_THREAD(t) {
                if (t < 25) {
                    const u64 D = C[(t + 4) % 5] ^ sha3::rotate(C[(t + 1) % 5], 1);
                    B[sha3::PI[t]] = sha3::rotate(A[t] ^ D, sha3::RHO[t]);
                }
            }
            BARRIER();
            FOR_EACH_THREAD(t) {
                if (t < 25) {
                    const u32 row = t / 5 * 5;
                    A[t] = B[t] ^ (~B[row + (t + 1) % 5] & B[row + (t + 2) % 5]);
                    if (t == 0) {
                        A[0] ^= keccak::RC[i];
                    }
                }
            }
            BARRIER();
        }
    }
    FOR_EACH_THREAD(t) {
        if (t < 8) {
            const u64 word = A[t / 2];
            store4(out + 32 * static_cast<u64>(block_index()) + 4 * t,
                   static_cast<u32>(t % 2 ? word >> 32 : word));
        }
    }
}

// A thread a message, of which there is one: how long a chain of blocks takes.
KERNEL(sha3::MESSAGE_BLOCK, 640)
comparator_sha3_serial(const u8 *data, u64 stride, u64 len, u32 count, u8 *out) {
    FOR_EACH_THREAD(t) {
        const u32 i = block_index() * block_size() + t;
        if (i < count) {
            const u8 *at = data + i * stride;
            keccak::Word A[25] = {};
            NO_UNROLL
            for (u64 done = 0; done <= len; done += sha3::RATE) {
                UNROLL
                for (u32 k = 0; k < sha3::RATE / 8; ++k) {
                    const u64 word = sha3::padded_word(at + done, len - done, k);
                    A[k].low ^= static_cast<u32>(word);
                    A[k].high ^= static_cast<u32>(word >> 32);
                }
                keccak::rounds(A, 0, 24);
            }
            UNROLL
            for (u32 k = 0; k < 4; ++k) {
                store4(out + 32 * static_cast<u64>(i) + 8 * k, A[k].low);
                store4(out + 32 * static_cast<u64>(i) + 8 * k + 4, A[k].high);
            }
        }
    }
}

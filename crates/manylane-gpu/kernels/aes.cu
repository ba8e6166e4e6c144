// AES in ECB and counter mode: the entry kernels. README.md has their arguments.
#include "aes.cuh"
#include "modes.cuh"

#define AES_KERNELS(bits, rounds, tables)                                                          \
    KERNEL(BLOCK_THREADS, BLOCK_THREADS)                                                           \
    aes##bits##_encrypt_##tables(const u8 *in, u8 *out, u64 blocks, const AesKeys<rounds> keys) {  \
        LAUNCH_SHARED(shared);                                                                     \
        each_block<AesEncrypt<rounds, tables>>(shared, in, out, blocks, keys);                     \
    }                                                                                              \
    KERNEL(BLOCK_THREADS, BLOCK_THREADS)                                                           \
    aes##bits##_decrypt_##tables(const u8 *in, u8 *out, u64 blocks, const AesKeys<rounds> keys) {  \
        LAUNCH_SHARED(shared);                                                                     \
        each_block<AesDecrypt<rounds, tables>>(shared, in, out, blocks, keys);                     \
    }                                                                                              \
    KERNEL(BLOCK_THREADS, BLOCK_THREADS)                                                           \
    aes##bits##_ctr_##tables(const u8 *in, u8 *out, u64 len, const Counter counter,                \
                             const AesKeys<rounds> keys) {                                         \
        LAUNCH_SHARED(shared);                                                                     \
        counter_mode<AesCounter<rounds, tables>>(shared, in, out, len, counter, keys);             \
    }
#define OF_EVERY_KEY(tables)                                                                       \
    AES_KERNELS(128, 10, tables) AES_KERNELS(192, 12, tables) AES_KERNELS(256, 14, tables)

// An image has the kernels of one number of tables; where none is said, of all.
#if !defined(ONLY_TABLES) || ONLY_TABLES == 4
OF_EVERY_KEY(4)
#endif
#if !defined(ONLY_TABLES) || ONLY_TABLES == 2
OF_EVERY_KEY(2)
#endif
#if !defined(ONLY_TABLES) || ONLY_TABLES == 1
OF_EVERY_KEY(1)
#endif
#undef OF_EVERY_KEY
#undef AES_KERNELS

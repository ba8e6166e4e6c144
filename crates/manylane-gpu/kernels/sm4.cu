// SM4 in ECB and counter mode: the entry kernels. README.md has their arguments.
#include "modes.cuh"
#include "sm4.cuh"

#define SM4_KERNELS(tables)                                                                        \
    KERNEL(BLOCK_THREADS, BLOCK_THREADS)                                                           \
    sm4_ecb_##tables(const u8 *in, u8 *out, u64 blocks, const Sm4Keys keys) {                      \
        LAUNCH_SHARED(shared);                                                                     \
        each_block<Sm4<tables>>(shared, in, out, blocks, keys);                                    \
    }                                                                                              \
    KERNEL(BLOCK_THREADS, BLOCK_THREADS)                                                           \
    sm4_ctr_##tables(const u8 *in, u8 *out, u64 len, const Counter counter, const Sm4Keys keys) {  \
        LAUNCH_SHARED(shared);                                                                     \
        counter_mode<Sm4Counter<tables>>(shared, in, out, len, counter, keys);                     \
    }

// An image has the kernels of one number of tables; where none is said, of all.
#if !defined(ONLY_TABLES) || ONLY_TABLES == 4
SM4_KERNELS(4)
#endif
#if !defined(ONLY_TABLES) || ONLY_TABLES == 2
SM4_KERNELS(2)
#endif
#if !defined(ONLY_TABLES) || ONLY_TABLES == 1
SM4_KERNELS(1)
#endif
#undef SM4_KERNELS

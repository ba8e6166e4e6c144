// The one file that knows the machine: CUDA (NVRTC, nvcc), HIP (hipRTC, clang), or host C++17.
//
// A kernel body is a row of `FOR_EACH_THREAD(t) { … }` scopes with `BARRIER()` between them. On a
// GPU a scope is the thread itself. On the host a kernel is a function called once per thread
// block and a scope is a loop over the block's threads, so no value of a thread may outlive its
// scope; what crosses a barrier lies in `SHARED` memory.
//
// Nothing is included on a GPU: run-time compilers have no standard headers.
#pragma once

typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;

// Sixteen bytes as one memory access.
struct alignas(16) Vector {
    u32 x[4];
};

#if defined(__CUDACC__) || defined(__CUDACC_RTC__)

#define MANYLANE_CUDA
#define DEVICE static __device__ __forceinline__
#define DEVICE_METHOD __device__ __forceinline__
// `threads` is the most a block may have, `resident` the least that a multiprocessor must hold: it
// bounds the registers.
#define KERNEL(threads, resident)                                                                  \
    extern "C" __global__ void __launch_bounds__(threads, resident / threads)
#define CONSTANT static __constant__ const
// A constant that compilers take to be written from outside.
#define OPAQUE_CONSTANT __constant__
#define SHARED(type, name, count) __shared__ type name[count]
// As many bytes as the launch asked for, 16-byte aligned.
#define LAUNCH_SHARED(name) extern __shared__ __align__(16) u8 name[]
#define BARRIER() __syncthreads()
#define FOR_EACH_THREAD(t) if (const u32 t = threadIdx.x; true)
#define UNROLL _Pragma("unroll")
#define NO_UNROLL _Pragma("unroll 1")

DEVICE u32 block_index() { return blockIdx.x; }
DEVICE u32 block_count() { return gridDim.x; }
DEVICE u32 block_size() { return blockDim.x; }

template <int N>
DEVICE u32 rotate_left(u32 x) {
    return __funnelshift_l(x, x, N & 31);
}

// One LOP3 each, whatever the compiler would make of the expression.
template <int TABLE>
DEVICE u32 logic3(u32 x, u32 y, u32 z) {
    u32 out;
    asm("lop3.b32 %0, %1, %2, %3, %4;" : "=r"(out) : "r"(x), "r"(y), "r"(z), "n"(TABLE));
    return out;
}
DEVICE u32 xor3(u32 x, u32 y, u32 z) { return logic3<0x96>(x, y, z); }
DEVICE u32 majority(u32 x, u32 y, u32 z) { return logic3<0xe8>(x, y, z); }
DEVICE u32 choose(u32 x, u32 y, u32 z) { return logic3<0xca>(x, y, z); }
// x ^ (~y & z)
DEVICE u32 xor_and_not(u32 x, u32 y, u32 z) { return logic3<0xd2>(x, y, z); }

// The high word of high:low << N.
template <int N>
DEVICE u32 funnel_left(u32 high, u32 low) {
    return __funnelshift_l(low, high, N);
}

// Shifts by 32 and more give 0.
DEVICE u32 shift_left(u32 x, u32 n) {
    u32 out;
    asm("shl.b32 %0, %1, %2;" : "=r"(out) : "r"(x), "r"(n));
    return out;
}
DEVICE u32 shift_right(u32 x, u32 n) {
    u32 out;
    asm("shr.b32 %0, %1, %2;" : "=r"(out) : "r"(x), "r"(n));
    return out;
}

// x >> S, 0 < S < 32, by the unit of doubles: x as a subnormal number, x * 2^-1074, times 2^1023 and plus
// 2^(1 + S), rounded down. In a number of that size the last place is 2^(S - 51), so what stays
// in the low word is x >> S.
template <int S>
DEVICE u32 shift_right_by_double(u32 x) {
    u32 out;
    asm("{ .reg .f64 n; .reg .b32 zero, high; mov.b32 zero, 0; mov.b64 n, {%1, zero};"
        "  fma.rz.f64 n, n, 0d7FE0000000000000, %2; mov.b64 {%0, high}, n; }"
        : "=r"(out)
        : "r"(x), "d"(__longlong_as_double((0x400ll + S) << 52)));
    return out;
}

// The four bytes of `high:low` from byte `from` (0…3) on, as a big-endian word: one PRMT.
DEVICE u32 big_endian_selector(u32 from) { return 0x0123 + 0x1111 * from; }
DEVICE u32 big_endian_word(u32 low, u32 high, u32 selector) {
    return __byte_perm(low, high, selector);
}
DEVICE u32 big_endian(u32 x) { return __byte_perm(x, 0, 0x0123); }

// The four bytes of `high:low` from bit `from` (a multiple of 8 under 32) on.
DEVICE u32 unaligned_word(u32 low, u32 high, u32 from) { return __funnelshift_r(low, high, from); }

DEVICE u32 multiply_add(u32 x, u32 y, u32 z) {
    u32 out;
    asm("mad.lo.u32 %0, %1, %2, %3;" : "=r"(out) : "r"(x), "r"(y), "r"(z));
    return out;
}
DEVICE void multiply_wide(u32 x, u32 y, u32 &low, u32 &high) {
    asm("{ .reg .b64 t; mul.wide.u32 t, %2, %3; mov.b64 {%0, %1}, t; }"
        : "=r"(low), "=r"(high)
        : "r"(x), "r"(y));
}

DEVICE u32 load4(const u8 *at) { return __ldg(reinterpret_cast<const u32 *>(at)); }
DEVICE u64 load8(const u8 *at) { return __ldg(reinterpret_cast<const u64 *>(at)); }
DEVICE Vector load16(const u8 *at) {
    const uint4 v = __ldg(reinterpret_cast<const uint4 *>(at));
    return {{v.x, v.y, v.z, v.w}};
}
DEVICE void store4(u8 *at, u32 x) { *reinterpret_cast<u32 *>(at) = x; }
DEVICE void store16(u8 *at, const Vector &v) {
    *reinterpret_cast<uint4 *>(at) = make_uint4(v.x[0], v.x[1], v.x[2], v.x[3]);
}
// For what is read once and may be written in place: the read-only path would be wrong.
DEVICE Vector load16_once(const u8 *at) {
    const uint4 v = __ldcs(reinterpret_cast<const uint4 *>(at));
    return {{v.x, v.y, v.z, v.w}};
}
DEVICE void store16_once(u8 *at, const Vector &v) {
    __stcs(reinterpret_cast<uint4 *>(at), make_uint4(v.x[0], v.x[1], v.x[2], v.x[3]));
}
DEVICE u32 atomic_add(u32 *at, u32 x) { return atomicAdd(at, x); }
DEVICE u32 leading_zeros(u32 x) { return __clz(x); }

// The word PLACE + offset bytes into what the launch asked for. What is constant is added to the pointer:
// the load does that.
template <u32 PLACE>
DEVICE u32 load_shared(const u8 *shared, u32 offset) {
    return *reinterpret_cast<const u32 *>(shared + PLACE + offset);
}

// Byte i of the result is byte n of `high:low`, n being the i-th hexadecimal digit of SELECTOR from
// the right: one PRMT.
template <u32 SELECTOR>
DEVICE u32 permute(u32 low, u32 high) {
    return __byte_perm(low, high, SELECTOR);
}

// The same value, of which the compiler knows nothing.
DEVICE u32 opaque(u32 x) {
    asm volatile("" : "+r"(x));
    return x;
}

#elif defined(__HIP__)

#define MANYLANE_HIP
#define DEVICE static __attribute__((device)) inline __attribute__((always_inline))
#define DEVICE_METHOD __attribute__((device)) inline __attribute__((always_inline))
#define KERNEL(threads, resident)                                                                            \
    extern "C" __attribute__((global)) void __attribute__((amdgpu_flat_work_group_size(1, threads),    \
                                                           amdgpu_waves_per_eu(2)))
#define CONSTANT static __attribute__((constant)) const
#define OPAQUE_CONSTANT static __attribute__((constant)) const
#define SHARED(type, name, count) static __attribute__((shared)) type name[count]
#define LAUNCH_SHARED(name) extern __attribute__((shared)) __attribute__((aligned(16))) u8 name[]
#define BARRIER() block_barrier()
#define FOR_EACH_THREAD(t) if (const u32 t = __builtin_amdgcn_workitem_id_x(); true)
#define UNROLL _Pragma("unroll")
#define NO_UNROLL _Pragma("nounroll")

DEVICE void block_barrier() {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
DEVICE u32 block_index() { return __builtin_amdgcn_workgroup_id_x(); }
DEVICE u32 block_size() { return __builtin_amdgcn_workgroup_size_x(); }
DEVICE u32 block_count() { return __builtin_amdgcn_grid_size_x() / block_size(); }

#else

#define MANYLANE_HOST
#define DEVICE static inline
#define DEVICE_METHOD inline
#define KERNEL(threads, resident) extern "C" void
#define CONSTANT static const
#define OPAQUE_CONSTANT static const
// The emulator looks what a thread block leaves in it.
#define SHARED(type, name, count)                                                                  \
    static thread_local type name[count];                                                          \
    manylane_leaves(#name, name, sizeof(name))
#define LAUNCH_SHARED(name) u8 *const name = manylane_shared
#define BARRIER()
#define FOR_EACH_THREAD(t) for (u32 t = 0; t < manylane_block.size; ++t)
#define UNROLL
#define NO_UNROLL

// The thread block that the emulator runs on this thread: its index, how many there are, and how
// many threads it has.
struct ManylaneBlock {
    u32 index, count, size;
};
extern "C" thread_local ManylaneBlock manylane_block;
// The bytes that the launch asked for.
extern "C" thread_local u8 *manylane_shared;
extern "C" void manylane_leaves(const char *name, const void *bytes, u64 count);

DEVICE u32 block_index() { return manylane_block.index; }
DEVICE u32 block_count() { return manylane_block.count; }
DEVICE u32 block_size() { return manylane_block.size; }

#endif

#if defined(MANYLANE_HIP) || defined(MANYLANE_HOST)

template <int N>
DEVICE u32 rotate_left(u32 x) {
    return x << (N & 31) | x >> (-N & 31);
}

// The forms in which LLVM finds v_xor3_b32 (from gfx10 on) and v_bfi_b32.
DEVICE u32 xor3(u32 x, u32 y, u32 z) { return x ^ y ^ z; }
DEVICE u32 choose(u32 x, u32 y, u32 z) { return z ^ (x & (y ^ z)); }
DEVICE u32 majority(u32 x, u32 y, u32 z) { return choose(x ^ y, z, y); }
// The high word of high:low << N, 0 < N < 32: the form in which LLVM finds v_alignbit_b32.
template <int N>
DEVICE u32 funnel_left(u32 high, u32 low) {
    return high << N | low >> (32 - N);
}

template <int S>
DEVICE u32 shift_right_by_double(u32 x) {
    return x >> S;
}

// Shifts by 32 and more give 0.
DEVICE u32 shift_left(u32 x, u32 n) { return n < 32 ? x << n : 0; }
DEVICE u32 shift_right(u32 x, u32 n) { return n < 32 ? x >> n : 0; }

DEVICE u32 big_endian(u32 x) { return __builtin_bswap32(x); }

// No pipe of these machines multiplies beside the additions.
DEVICE u32 multiply_add(u32 x, u32 y, u32 z) { return x * y + z; }
DEVICE void multiply_wide(u32 x, u32 y, u32 &low, u32 &high) {
    const u64 product = static_cast<u64>(x) * y;
    low = static_cast<u32>(product);
    high = static_cast<u32>(product >> 32);
}

// The four bytes of `high:low` from bit `from` (a multiple of 8 under 32) on.
DEVICE u32 unaligned_word(u32 low, u32 high, u32 from) {
    return static_cast<u32>((static_cast<u64>(high) << 32 | low) >> from);
}

DEVICE u32 load4(const u8 *at) { return *reinterpret_cast<const u32 *>(at); }
DEVICE u64 load8(const u8 *at) { return *reinterpret_cast<const u64 *>(at); }
DEVICE Vector load16(const u8 *at) { return *reinterpret_cast<const Vector *>(at); }
DEVICE void store4(u8 *at, u32 x) { *reinterpret_cast<u32 *>(at) = x; }
DEVICE void store16(u8 *at, const Vector &v) { *reinterpret_cast<Vector *>(at) = v; }
DEVICE Vector load16_once(const u8 *at) { return load16(at); }
DEVICE void store16_once(u8 *at, const Vector &v) { store16(at, v); }
DEVICE u32 atomic_add(u32 *at, u32 x) { return __atomic_fetch_add(at, x, __ATOMIC_RELAXED); }
DEVICE u32 leading_zeros(u32 x) { return static_cast<u32>(__builtin_clz(x)); }

#endif

#if defined(MANYLANE_HIP)

#ifdef __GFX9__
#define ONLY_XOR2
// x ^ (~y & z): a choice between 0 and z, then an exclusive or. LLVM takes one instruction more.
DEVICE u32 xor_and_not(u32 x, u32 y, u32 z) {
    u32 kept;
    asm("v_bfi_b32 %0, %1, 0, %2" : "=v"(kept) : "v"(y), "v"(z));
    return x ^ kept;
}
#else
// x ^ (~y & z)
DEVICE u32 xor_and_not(u32 x, u32 y, u32 z) { return xor3(x, z, y & z); }
#endif

// The same value, of which the compiler knows nothing.
DEVICE u32 opaque(u32 x) {
    asm volatile("" : "+v"(x));
    return x;
}

// The four bytes of `high:low` from byte `from` (0…3) on, as a big-endian word: one v_perm_b32.
DEVICE u32 big_endian_selector(u32 from) { return 0x00010203 + 0x01010101 * from; }
DEVICE u32 big_endian_word(u32 low, u32 high, u32 selector) {
    return __builtin_amdgcn_perm(high, low, selector);
}

// The word PLACE + offset bytes into what the launch asked for, in kernels that have no other shared
// memory: there it begins at address 0, which compilers do not know, so that they would add the
// address for each load.
template <u32 PLACE>
DEVICE u32 load_shared(const u8 *, u32 offset) {
    return *(const __attribute__((address_space(3))) u32 *)(PLACE + offset);
}

// Byte i of the result is byte n of `high:low`, n being the i-th hexadecimal digit of SELECTOR from
// the right: one v_perm_b32.
template <u32 SELECTOR>
DEVICE u32 permute(u32 low, u32 high) {
    constexpr u32 bytes = (SELECTOR & 0xf) | (SELECTOR & 0xf0) << 4 | (SELECTOR & 0xf00) << 8 |
                          (SELECTOR & 0xf000) << 12;
    return __builtin_amdgcn_perm(high, low, bytes);
}

#elif defined(MANYLANE_HOST)

DEVICE u32 opaque(u32 x) { return x; }

// x ^ (~y & z)
DEVICE u32 xor_and_not(u32 x, u32 y, u32 z) { return x ^ (~y & z); }

// The four bytes of `high:low` from byte `from` (0…3) on, as a big-endian word.
DEVICE u32 big_endian_selector(u32 from) { return 8 * from; }
DEVICE u32 big_endian_word(u32 low, u32 high, u32 selector) {
    return big_endian(static_cast<u32>((static_cast<u64>(high) << 32 | low) >> selector));
}

// The word PLACE + offset bytes into what the launch asked for.
template <u32 PLACE>
DEVICE u32 load_shared(const u8 *shared, u32 offset) {
    return *reinterpret_cast<const u32 *>(shared + PLACE + offset);
}

// Byte i of the result is byte n of `high:low`, n being the i-th hexadecimal digit of SELECTOR from
// the right.
template <u32 SELECTOR>
DEVICE u32 permute(u32 low, u32 high) {
    const u64 both = static_cast<u64>(high) << 32 | low;
    u32 out = 0;
    for (u32 i = 0; i < 4; ++i) {
        out |= static_cast<u32>(both >> (8 * (SELECTOR >> (4 * i) & 7)) & 0xff) << (8 * i);
    }
    return out;
}

#endif

//! SM3 in four lanes with SSSE3 and SSE4.1.
#![allow(unsafe_code)]

use ::core::arch::x86_64::*;

use super::{
    DIGEST_LEN, Kernel, Machine,
    body::{self, Vector},
    counter::groups,
    dispatch::{Expanded, State, common_blocks},
};
use crate::cpu::Sse;

/// Messages side by side.
pub(super) const LANES: usize = 4;

const KERNEL: Kernel = Kernel::new("sm3/sse", Machine::Sse);

#[derive(Clone, Copy)]
struct U32x4(__m128i);

// SAFETY (all functions): callers prove SSSE3 and SSE4.1; `load` and `store` get four words.
impl Vector for U32x4 {
    #[inline(always)]
    unsafe fn splat(x: u32) -> Self {
        // SAFETY: SSE2 is x86-64's baseline.
        U32x4(unsafe { _mm_set1_epi32(x.cast_signed()) })
    }
    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        // SAFETY: as above.
        U32x4(unsafe { _mm_add_epi32(self.0, other.0) })
    }
    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        // SAFETY: as above.
        U32x4(unsafe { _mm_xor_si128(self.0, other.0) })
    }
    #[inline(always)]
    unsafe fn rol<const N: i32>(self) -> Self {
        // SAFETY: as above. Shifts by vector counts, because `32 - N` is no constant expression.
        U32x4(unsafe {
            let left = _mm_sll_epi32(self.0, _mm_cvtsi32_si128(N));
            _mm_or_si128(left, _mm_srl_epi32(self.0, _mm_cvtsi32_si128(32 - N)))
        })
    }
    #[inline(always)]
    unsafe fn majority(self, y: Self, z: Self) -> Self {
        // SAFETY: as above.
        U32x4(unsafe {
            let either = _mm_and_si128(self.0, _mm_or_si128(y.0, z.0));
            _mm_or_si128(_mm_and_si128(y.0, z.0), either)
        })
    }
    #[inline(always)]
    unsafe fn choose(self, y: Self, z: Self) -> Self {
        // SAFETY: as above.
        U32x4(unsafe { _mm_xor_si128(_mm_and_si128(_mm_xor_si128(y.0, z.0), self.0), z.0) })
    }
    #[inline(always)]
    unsafe fn load(lanes: *const u32) -> Self {
        // SAFETY: the caller's four words.
        U32x4(unsafe { _mm_loadu_si128(lanes.cast()) })
    }
    #[inline(always)]
    unsafe fn store(self, lanes: *mut u32) {
        // SAFETY: the caller's four words.
        unsafe { _mm_storeu_si128(lanes.cast(), self.0) }
    }
    #[inline(always)]
    unsafe fn xor_digests(v: [Self; 8], data: *mut u8) {
        // SAFETY: the caller's proof, and its 128 bytes.
        unsafe {
            let swap = _mm_setr_epi8(3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12);
            for half in 0..2 {
                let [r0, r1, r2, r3] = [0, 1, 2, 3].map(|i| v[4 * half + i].0);
                let (a, b) = (_mm_unpacklo_epi32(r0, r1), _mm_unpacklo_epi32(r2, r3));
                let (c, d) = (_mm_unpackhi_epi32(r0, r1), _mm_unpackhi_epi32(r2, r3));
                let lanes = [
                    _mm_unpacklo_epi64(a, b),
                    _mm_unpackhi_epi64(a, b),
                    _mm_unpacklo_epi64(c, d),
                    _mm_unpackhi_epi64(c, d),
                ];
                for (lane, words) in lanes.into_iter().enumerate() {
                    let data = data.add(32 * lane + 16 * half).cast();
                    let words = _mm_shuffle_epi8(words, swap);
                    _mm_storeu_si128(data, _mm_xor_si128(_mm_loadu_si128(data), words));
                }
            }
        }
    }
    #[inline(always)]
    unsafe fn p0(self) -> Self {
        // SAFETY: the caller's proof. x ^ ((x ^ (x <<< 8)) <<< 9): one shuffle for a rotation.
        unsafe { self.xor(self.xor(self.rol8()).rol::<9>()) }
    }
    #[inline(always)]
    unsafe fn p1(self) -> Self {
        // SAFETY: the caller's proof. x ^ ((x ^ (x <<< 8)) <<< 15).
        unsafe { self.xor(self.xor(self.rol8()).rol::<15>()) }
    }
}

impl U32x4 {
    /// Rotation by eight bits, as one byte shuffle.
    ///
    /// # Safety
    /// The processor has SSSE3.
    #[inline(always)]
    unsafe fn rol8(self) -> Self {
        // SAFETY: the caller's proof.
        U32x4(unsafe {
            _mm_shuffle_epi8(
                self.0,
                _mm_setr_epi8(3, 0, 1, 2, 7, 4, 5, 6, 11, 8, 9, 10, 15, 12, 13, 14),
            )
        })
    }
}

/// CF over the blocks of `inputs`, lane by lane.
pub(super) fn compress_lanes(_: Sse, v: &mut State<LANES>, inputs: &[&[u8]; LANES]) -> Kernel {
    let blocks = common_blocks(inputs);
    // SAFETY: the token proves the features; every input has `blocks` blocks.
    unsafe { compress(v, &inputs.map(<[u8]>::as_ptr), blocks) };
    KERNEL
}

/// CF of one block that all lanes share.
pub(super) fn compress_constant(_: Sse, v: &mut State<LANES>, block: &Expanded) -> Kernel {
    // SAFETY: the token proves the features.
    unsafe { constant(v, block) };
    KERNEL
}

/// CF of counter blocks, xored into `data`.
pub(super) fn xor_counters(
    _: Sse,
    v: &[u32; 8],
    counter: u32,
    data: &mut [[u8; DIGEST_LEN]],
) -> Kernel {
    // SAFETY: the token proves the features.
    unsafe { counters(v, counter, data) };
    KERNEL
}

/// # Safety
/// Each of `inputs` points to `blocks` blocks.
#[target_feature(enable = "ssse3,sse4.1")]
unsafe fn compress(v: &mut State<LANES>, inputs: &[*const u8; LANES], blocks: usize) {
    // SAFETY: the features are enabled here; block `k` of each input exists.
    unsafe {
        body::compress::<U32x4, LANES>(v, blocks, |k| {
            let mut w = [U32x4::splat(0); 16];
            for i in 0..4 {
                let row = |lane: usize| {
                    let bytes = inputs[lane].add(64 * k + 16 * i);
                    _mm_shuffle_epi8(
                        _mm_loadu_si128(bytes.cast()),
                        _mm_setr_epi8(3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12),
                    )
                };
                let [r0, r1, r2, r3] = [row(0), row(1), row(2), row(3)];
                let (t0, t1) = (_mm_unpacklo_epi32(r0, r1), _mm_unpackhi_epi32(r0, r1));
                let (t2, t3) = (_mm_unpacklo_epi32(r2, r3), _mm_unpackhi_epi32(r2, r3));
                w[4 * i] = U32x4(_mm_unpacklo_epi64(t0, t2));
                w[4 * i + 1] = U32x4(_mm_unpackhi_epi64(t0, t2));
                w[4 * i + 2] = U32x4(_mm_unpacklo_epi64(t1, t3));
                w[4 * i + 3] = U32x4(_mm_unpackhi_epi64(t1, t3));
            }
            w
        });
    }
}

#[target_feature(enable = "ssse3,sse4.1")]
fn constant(v: &mut State<LANES>, block: &Expanded) {
    // SAFETY: the features are enabled here.
    unsafe { body::compress_constant::<U32x4, LANES>(v, block) }
}

#[target_feature(enable = "ssse3,sse4.1")]
fn counters(v: &[u32; 8], counter: u32, data: &mut [[u8; DIGEST_LEN]]) {
    groups::<LANES>(counter, data, |words, data| {
        // SAFETY: the features are enabled here; `data` has 32 bytes for each lane.
        unsafe { body::xor_counters::<U32x4, LANES>(v, words, data.as_mut_ptr().cast()) };
    });
}

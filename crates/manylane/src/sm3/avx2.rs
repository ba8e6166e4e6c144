//! SM3 in eight lanes with AVX2.
#![allow(unsafe_code)]

use ::core::arch::x86_64::*;

use super::{
    DIGEST_LEN, Kernel, Machine,
    body::{self, Vector},
    counter::groups,
    dispatch::{Expanded, State, common_blocks},
};
use crate::cpu::Avx2;

/// Messages side by side.
pub(super) const LANES: usize = 8;

const KERNEL: Kernel = Kernel::new("sm3/avx2", Machine::Avx2);

#[derive(Clone, Copy)]
pub(super) struct U32x8(__m256i);

// SAFETY (all functions): callers prove AVX2; `load` and `store` get eight words.
impl Vector for U32x8 {
    #[inline(always)]
    unsafe fn splat(x: u32) -> Self {
        // SAFETY: the caller's proof.
        U32x8(unsafe { _mm256_set1_epi32(x.cast_signed()) })
    }
    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        // SAFETY: the caller's proof.
        U32x8(unsafe { _mm256_add_epi32(self.0, other.0) })
    }
    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        // SAFETY: the caller's proof.
        U32x8(unsafe { _mm256_xor_si256(self.0, other.0) })
    }
    #[inline(always)]
    unsafe fn rol<const N: i32>(self) -> Self {
        // SAFETY: the caller's proof. Counts in vectors, because `32 - N` is no constant
        // expression; they fold into immediate shifts.
        U32x8(unsafe {
            let left = _mm256_sll_epi32(self.0, _mm_cvtsi32_si128(N));
            _mm256_or_si256(left, _mm256_srl_epi32(self.0, _mm_cvtsi32_si128(32 - N)))
        })
    }
    #[inline(always)]
    unsafe fn majority(self, y: Self, z: Self) -> Self {
        // SAFETY: the caller's proof.
        U32x8(unsafe {
            let either = _mm256_and_si256(self.0, _mm256_or_si256(y.0, z.0));
            _mm256_or_si256(_mm256_and_si256(y.0, z.0), either)
        })
    }
    #[inline(always)]
    unsafe fn choose(self, y: Self, z: Self) -> Self {
        // SAFETY: the caller's proof.
        U32x8(unsafe {
            _mm256_xor_si256(_mm256_and_si256(_mm256_xor_si256(y.0, z.0), self.0), z.0)
        })
    }
    #[inline(always)]
    unsafe fn load(lanes: *const u32) -> Self {
        // SAFETY: the caller's eight words.
        U32x8(unsafe { _mm256_loadu_si256(lanes.cast()) })
    }
    #[inline(always)]
    unsafe fn store(self, lanes: *mut u32) {
        // SAFETY: the caller's eight words.
        unsafe { _mm256_storeu_si256(lanes.cast(), self.0) }
    }
    #[inline(always)]
    unsafe fn xor_digests(v: [Self; 8], data: *mut u8) {
        // SAFETY: the caller's proof, and its 256 bytes.
        unsafe {
            let (low, high) = (halves([v[0], v[1], v[2], v[3]]), halves([v[4], v[5], v[6], v[7]]));
            for i in 0..4 {
                let first = _mm256_permute2x128_si256::<0x20>(low[i], high[i]);
                let second = _mm256_permute2x128_si256::<0x31>(low[i], high[i]);
                xor_one(data.add(32 * i), first);
                xor_one(data.add(32 * (4 + i)), second);
            }
        }
    }
    #[inline(always)]
    unsafe fn p0(self) -> Self {
        // SAFETY: the caller's proof. x ^ ((x ^ (x <<< 8)) <<< 9): six operations for eight.
        unsafe { self.xor(self.xor(self.rol8()).rol::<9>()) }
    }
    #[inline(always)]
    unsafe fn p1(self) -> Self {
        // SAFETY: the caller's proof. x ^ ((x ^ (x <<< 8)) <<< 15).
        unsafe { self.xor(self.xor(self.rol8()).rol::<15>()) }
    }
}

impl U32x8 {
    /// Rotation by eight bits, as one byte shuffle.
    ///
    /// # Safety
    /// The processor has AVX2.
    #[inline(always)]
    unsafe fn rol8(self) -> Self {
        // SAFETY: the caller's proof.
        U32x8(unsafe {
            let bytes = _mm_setr_epi8(3, 0, 1, 2, 7, 4, 5, 6, 11, 8, 9, 10, 15, 12, 13, 14);
            _mm256_shuffle_epi8(self.0, _mm256_broadcastsi128_si256(bytes))
        })
    }
}

/// Four words of eight lanes, turned around: half q of vector i is those of lane 4 q + i.
///
/// # Safety
/// The processor has AVX2.
#[inline(always)]
unsafe fn halves(v: [U32x8; 4]) -> [__m256i; 4] {
    // SAFETY: the caller's proof.
    unsafe {
        let a = _mm256_unpacklo_epi32(v[0].0, v[1].0);
        let b = _mm256_unpacklo_epi32(v[2].0, v[3].0);
        let c = _mm256_unpackhi_epi32(v[0].0, v[1].0);
        let d = _mm256_unpackhi_epi32(v[2].0, v[3].0);
        [
            _mm256_unpacklo_epi64(a, b),
            _mm256_unpackhi_epi64(a, b),
            _mm256_unpacklo_epi64(c, d),
            _mm256_unpackhi_epi64(c, d),
        ]
    }
}

/// Xors the words of a digest into `data`.
///
/// # Safety
/// The processor has AVX2, and `data` is valid for reads and writes of 32 bytes.
#[inline(always)]
unsafe fn xor_one(data: *mut u8, digest: __m256i) {
    // SAFETY: the caller's proof.
    unsafe {
        let swap = _mm256_broadcastsi128_si256(_mm_setr_epi8(
            3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12,
        ));
        let digest = _mm256_shuffle_epi8(digest, swap);
        let data = data.cast();
        _mm256_storeu_si256(data, _mm256_xor_si256(_mm256_loadu_si256(data), digest));
    }
}

/// CF over the blocks of `inputs`, lane by lane.
pub(super) fn compress_lanes(_: Avx2, v: &mut State<LANES>, inputs: &[&[u8]; LANES]) -> Kernel {
    let blocks = common_blocks(inputs);
    // SAFETY: the token proves the feature; every input has `blocks` blocks.
    unsafe { compress(v, &inputs.map(<[u8]>::as_ptr), blocks) };
    KERNEL
}

/// CF of one block that all lanes share.
pub(super) fn compress_constant(_: Avx2, v: &mut State<LANES>, block: &Expanded) -> Kernel {
    // SAFETY: the token proves the feature.
    unsafe { constant(v, block) };
    KERNEL
}

/// CF of counter blocks, xored into `data`.
pub(super) fn xor_counters(
    _: Avx2,
    v: &[u32; 8],
    counter: u32,
    data: &mut [[u8; DIGEST_LEN]],
) -> Kernel {
    // SAFETY: the token proves the feature.
    unsafe { counters(v, counter, data) };
    KERNEL
}

/// # Safety
/// Each of `inputs` points to `blocks` blocks.
#[target_feature(enable = "avx2")]
unsafe fn compress(v: &mut State<LANES>, inputs: &[*const u8; LANES], blocks: usize) {
    // SAFETY: the feature is enabled here; block `k` of each input exists.
    unsafe {
        body::compress::<U32x8, LANES>(v, blocks, |k| {
            let mut w = [U32x8::splat(0); 16];
            for half in 0..2 {
                let rows = inputs.map(|input| input.add(64 * k + 32 * half));
                w[8 * half..8 * half + 8].copy_from_slice(&transpose(rows));
            }
            w
        });
    }
}

/// Eight big-endian words from each of eight rows, as eight vectors of one word each: rows are
/// loaded in halves, so that the 128-bit exchange is part of the load.
///
/// # Safety
/// The processor has AVX2, and each row points to 32 bytes.
#[inline(always)]
pub(super) unsafe fn transpose(rows: [*const u8; 8]) -> [U32x8; 8] {
    // SAFETY: the caller's proof.
    unsafe {
        let swap = _mm256_broadcastsi128_si256(_mm_setr_epi8(
            3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12,
        ));
        let mut w = [U32x8::splat(0); 8];
        for half in 0..2 {
            // Lane i in the low half, lane i + 4 in the high one.
            let row = |i: usize| {
                let low = _mm_loadu_si128(rows[i].add(16 * half).cast());
                let high = _mm_loadu_si128(rows[i + 4].add(16 * half).cast());
                let both = _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(low), high);
                _mm256_shuffle_epi8(both, swap)
            };
            let [r0, r1, r2, r3] = [row(0), row(1), row(2), row(3)];
            let (t0, t1) = (_mm256_unpacklo_epi32(r0, r1), _mm256_unpackhi_epi32(r0, r1));
            let (t2, t3) = (_mm256_unpacklo_epi32(r2, r3), _mm256_unpackhi_epi32(r2, r3));
            w[4 * half] = U32x8(_mm256_unpacklo_epi64(t0, t2));
            w[4 * half + 1] = U32x8(_mm256_unpackhi_epi64(t0, t2));
            w[4 * half + 2] = U32x8(_mm256_unpacklo_epi64(t1, t3));
            w[4 * half + 3] = U32x8(_mm256_unpackhi_epi64(t1, t3));
        }
        w
    }
}

#[target_feature(enable = "avx2")]
fn constant(v: &mut State<LANES>, block: &Expanded) {
    // SAFETY: the feature is enabled here.
    unsafe { body::compress_constant::<U32x8, LANES>(v, block) }
}

#[target_feature(enable = "avx2")]
fn counters(v: &[u32; 8], counter: u32, data: &mut [[u8; DIGEST_LEN]]) {
    groups::<LANES>(counter, data, |words, data| {
        // SAFETY: the feature is enabled here; `data` has 32 bytes for each lane.
        unsafe { body::xor_counters::<U32x8, LANES>(v, words, data.as_mut_ptr().cast()) };
    });
}

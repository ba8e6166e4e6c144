//! SM3 in sixteen lanes with AVX-512: three-input logic and rotation in one instruction each.
#![allow(unsafe_code)]

use ::core::arch::x86_64::*;

use super::{
    DIGEST_LEN, Kernel, Machine, bmi2,
    body::{self, Vector},
    counter::groups,
    dispatch::{Expanded, State, common_blocks},
};
use crate::cpu::Avx512;

/// Messages side by side.
pub(super) const LANES: usize = 16;

const KERNEL: Kernel = Kernel::new("sm3/avx512", Machine::Avx512);

#[derive(Clone, Copy)]
pub(super) struct U32x16(pub(super) __m512i);

// SAFETY (all functions): callers prove AVX-512 F; `load` and `store` get sixteen words.
impl Vector for U32x16 {
    #[inline(always)]
    unsafe fn splat(x: u32) -> Self {
        // SAFETY: the caller's proof.
        U32x16(unsafe { _mm512_set1_epi32(x.cast_signed()) })
    }
    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        // SAFETY: the caller's proof.
        U32x16(unsafe { _mm512_add_epi32(self.0, other.0) })
    }
    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        // SAFETY: the caller's proof.
        U32x16(unsafe { _mm512_xor_si512(self.0, other.0) })
    }
    #[inline(always)]
    unsafe fn rol<const N: i32>(self) -> Self {
        // SAFETY: the caller's proof.
        U32x16(unsafe { _mm512_rol_epi32::<N>(self.0) })
    }
    #[inline(always)]
    unsafe fn majority(self, y: Self, z: Self) -> Self {
        // SAFETY: the caller's proof.
        U32x16(unsafe { _mm512_ternarylogic_epi32::<0xe8>(self.0, y.0, z.0) })
    }
    #[inline(always)]
    unsafe fn choose(self, y: Self, z: Self) -> Self {
        // SAFETY: the caller's proof.
        U32x16(unsafe { _mm512_ternarylogic_epi32::<0xca>(self.0, y.0, z.0) })
    }
    #[inline(always)]
    unsafe fn xor3(self, y: Self, z: Self) -> Self {
        // SAFETY: the caller's proof.
        U32x16(unsafe { _mm512_ternarylogic_epi32::<0x96>(self.0, y.0, z.0) })
    }
    #[inline(always)]
    unsafe fn load(lanes: *const u32) -> Self {
        // SAFETY: the caller's sixteen words.
        U32x16(unsafe { _mm512_loadu_si512(lanes.cast()) })
    }
    #[inline(always)]
    unsafe fn store(self, lanes: *mut u32) {
        // SAFETY: the caller's sixteen words.
        unsafe { _mm512_storeu_si512(lanes.cast(), self.0) }
    }
    #[inline(always)]
    unsafe fn xor_digests(v: [Self; 8], data: *mut u8) {
        // SAFETY: the caller's proof, and its 512 bytes.
        unsafe {
            let (low, high) =
                (quarters([v[0], v[1], v[2], v[3]]), quarters([v[4], v[5], v[6], v[7]]));
            for i in [0, 2] {
                let a = _mm512_shuffle_i32x4::<0x44>(low[i], high[i]);
                let b = _mm512_shuffle_i32x4::<0x44>(low[i + 1], high[i + 1]);
                let c = _mm512_shuffle_i32x4::<0xee>(low[i], high[i]);
                let d = _mm512_shuffle_i32x4::<0xee>(low[i + 1], high[i + 1]);
                xor_two(data.add(32 * i), _mm512_shuffle_i32x4::<0x88>(a, b));
                xor_two(data.add(32 * (4 + i)), _mm512_shuffle_i32x4::<0xdd>(a, b));
                xor_two(data.add(32 * (8 + i)), _mm512_shuffle_i32x4::<0x88>(c, d));
                xor_two(data.add(32 * (12 + i)), _mm512_shuffle_i32x4::<0xdd>(c, d));
            }
        }
    }
}

/// Four words of sixteen lanes, turned around: quarter q of vector i is those of lane 4 q + i.
///
/// # Safety
/// The processor has AVX-512 F.
#[inline(always)]
unsafe fn quarters(v: [U32x16; 4]) -> [__m512i; 4] {
    // SAFETY: the caller's proof.
    unsafe {
        let a = _mm512_unpacklo_epi32(v[0].0, v[1].0);
        let b = _mm512_unpacklo_epi32(v[2].0, v[3].0);
        let c = _mm512_unpackhi_epi32(v[0].0, v[1].0);
        let d = _mm512_unpackhi_epi32(v[2].0, v[3].0);
        [
            _mm512_unpacklo_epi64(a, b),
            _mm512_unpackhi_epi64(a, b),
            _mm512_unpacklo_epi64(c, d),
            _mm512_unpackhi_epi64(c, d),
        ]
    }
}

/// Xors the words of two digests into `data`.
///
/// # Safety
/// The processor has AVX-512 F and BW, and `data` is valid for reads and writes of 64 bytes.
#[inline(always)]
unsafe fn xor_two(data: *mut u8, digests: __m512i) {
    // SAFETY: the caller's proof.
    unsafe {
        let swap = _mm512_broadcast_i32x4(_mm_setr_epi8(
            3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12,
        ));
        let digests = _mm512_shuffle_epi8(digests, swap);
        let data = data.cast();
        _mm512_storeu_si512(data, _mm512_xor_si512(_mm512_loadu_si512(data), digests));
    }
}

/// CF over consecutive blocks of one stream.
pub(super) fn compress(token: Avx512, v: &mut [u32; 8], blocks: &[[u8; 64]]) -> Kernel {
    bmi2::compress_avx512(token, v, blocks)
}

/// CF over the blocks of `inputs`, lane by lane.
pub(super) fn compress_lanes(_: Avx512, v: &mut State<LANES>, inputs: &[&[u8]; LANES]) -> Kernel {
    let blocks = common_blocks(inputs);
    // SAFETY: the token proves the features; every input has `blocks` blocks.
    unsafe { lanes(v, &inputs.map(<[u8]>::as_ptr), blocks) };
    KERNEL
}

/// CF of one block that all lanes share.
pub(super) fn compress_constant(_: Avx512, v: &mut State<LANES>, block: &Expanded) -> Kernel {
    // SAFETY: the token proves the features.
    unsafe { constant(v, block) };
    KERNEL
}

/// CF of counter blocks, xored into `data`.
pub(super) fn xor_counters(
    _: Avx512,
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
#[target_feature(enable = "avx512f,avx512bw")]
unsafe fn lanes(v: &mut State<LANES>, inputs: &[*const u8; LANES], blocks: usize) {
    // SAFETY: the features are enabled here; block `k` of each input exists.
    unsafe {
        body::compress::<U32x16, LANES>(v, blocks, |k| transpose(|lane| inputs[lane].add(64 * k)));
    }
}

#[target_feature(enable = "avx512f,avx512bw")]
fn constant(v: &mut State<LANES>, block: &Expanded) {
    // SAFETY: the features are enabled here.
    unsafe { body::compress_constant::<U32x16, LANES>(v, block) }
}

/// The sixteen big-endian words of sixteen blocks, as sixteen vectors of one word each.
///
/// # Safety
/// The processor has AVX-512 F and BW, and each block points to 64 bytes.
#[inline(always)]
pub(super) unsafe fn transpose(block: impl Fn(usize) -> *const u8) -> [U32x16; 16] {
    // SAFETY: the caller's proof.
    unsafe {
        let swap = _mm512_broadcast_i32x4(_mm_setr_epi8(
            3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12,
        ));
        let mut r = [swap; 16];
        let mut t = [swap; 16];
        for i in 0..16 {
            r[i] = _mm512_shuffle_epi8(_mm512_loadu_si512(block(i).cast()), swap);
        }
        for i in 0..8 {
            t[2 * i] = _mm512_unpacklo_epi32(r[2 * i], r[2 * i + 1]);
            t[2 * i + 1] = _mm512_unpackhi_epi32(r[2 * i], r[2 * i + 1]);
        }
        for i in 0..4 {
            r[4 * i] = _mm512_unpacklo_epi64(t[4 * i], t[4 * i + 2]);
            r[4 * i + 1] = _mm512_unpackhi_epi64(t[4 * i], t[4 * i + 2]);
            r[4 * i + 2] = _mm512_unpacklo_epi64(t[4 * i + 1], t[4 * i + 3]);
            r[4 * i + 3] = _mm512_unpackhi_epi64(t[4 * i + 1], t[4 * i + 3]);
        }
        for i in 0..4 {
            t[i] = _mm512_shuffle_i32x4::<0x88>(r[i], r[4 + i]);
            t[4 + i] = _mm512_shuffle_i32x4::<0xdd>(r[i], r[4 + i]);
            t[8 + i] = _mm512_shuffle_i32x4::<0x88>(r[8 + i], r[12 + i]);
            t[12 + i] = _mm512_shuffle_i32x4::<0xdd>(r[8 + i], r[12 + i]);
        }
        let mut w = [U32x16(swap); 16];
        for i in 0..4 {
            w[i] = U32x16(_mm512_shuffle_i32x4::<0x88>(t[i], t[8 + i]));
            w[8 + i] = U32x16(_mm512_shuffle_i32x4::<0xdd>(t[i], t[8 + i]));
            w[4 + i] = U32x16(_mm512_shuffle_i32x4::<0x88>(t[4 + i], t[12 + i]));
            w[12 + i] = U32x16(_mm512_shuffle_i32x4::<0xdd>(t[4 + i], t[12 + i]));
        }
        w
    }
}

#[target_feature(enable = "avx512f,avx512bw")]
fn counters(v: &[u32; 8], counter: u32, data: &mut [[u8; DIGEST_LEN]]) {
    groups::<LANES>(counter, data, |words, data| {
        // SAFETY: the features are enabled here; `data` has 32 bytes for each lane.
        unsafe { body::xor_counters::<U32x16, LANES>(v, words, data.as_mut_ptr().cast()) };
    });
}

//! SM3 in sixteen lanes with AVX-512: three-input logic and rotation in one instruction each.
#![allow(unsafe_code)]

use ::core::arch::x86_64::*;

use super::{
    Kernel, Machine, bmi2,
    body::{self, Vector},
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

//! Words of bits: 64, or 128 as every x86-64 has them.
#![allow(unsafe_code)]

use core::ops::{BitAnd, BitOr, BitXor, Not};

/// As many bits as sixteen for each of `4 * WORDS` blocks.
pub(super) trait Bits:
    Copy + BitAnd<Output = Self> + BitOr<Output = Self> + BitXor<Output = Self> + Not<Output = Self>
{
    /// Words of 64 bits.
    const WORDS: usize;
    /// Every word `word`.
    fn splat(word: u64) -> Self;
    /// The first `WORDS` of `words`.
    fn new(words: [u64; 2]) -> Self;
    /// The words, and zero for a second that is not there.
    fn words(self) -> [u64; 2];
    /// Each word moved up.
    fn up<const N: i32>(self) -> Self;
    /// Each word moved down.
    fn down<const N: i32>(self) -> Self;
}

impl Bits for u64 {
    const WORDS: usize = 1;
    #[inline(always)]
    fn splat(word: u64) -> Self {
        word
    }
    #[inline(always)]
    fn new(words: [u64; 2]) -> Self {
        words[0]
    }
    #[inline(always)]
    fn words(self) -> [u64; 2] {
        [self, 0]
    }
    #[inline(always)]
    fn up<const N: i32>(self) -> Self {
        self << N
    }
    #[inline(always)]
    fn down<const N: i32>(self) -> Self {
        self >> N
    }
}

/// SSE2, which every x86-64 has. As two words, compilers take them apart and move them to and fro.
#[cfg(target_arch = "x86_64")]
mod wide {
    use ::core::arch::x86_64::*;

    pub(in super::super) type Inner = __m128i;

    #[inline(always)]
    pub(super) fn new(words: [u64; 2]) -> Inner {
        // SAFETY: every x86-64 has SSE2.
        unsafe { _mm_set_epi64x(words[1].cast_signed(), words[0].cast_signed()) }
    }
    #[inline(always)]
    pub(super) fn words(x: Inner) -> [u64; 2] {
        // SAFETY: every x86-64 has SSE2.
        unsafe {
            let upper = _mm_unpackhi_epi64(x, x);
            [_mm_cvtsi128_si64(x).cast_unsigned(), _mm_cvtsi128_si64(upper).cast_unsigned()]
        }
    }
    #[inline(always)]
    pub(super) fn xor(x: Inner, y: Inner) -> Inner {
        // SAFETY: every x86-64 has SSE2.
        unsafe { _mm_xor_si128(x, y) }
    }
    #[inline(always)]
    pub(super) fn and(x: Inner, y: Inner) -> Inner {
        // SAFETY: every x86-64 has SSE2.
        unsafe { _mm_and_si128(x, y) }
    }
    #[inline(always)]
    pub(super) fn or(x: Inner, y: Inner) -> Inner {
        // SAFETY: every x86-64 has SSE2.
        unsafe { _mm_or_si128(x, y) }
    }
    #[inline(always)]
    pub(super) fn up<const N: i32>(x: Inner) -> Inner {
        // SAFETY: every x86-64 has SSE2.
        unsafe { _mm_slli_epi64::<N>(x) }
    }
    #[inline(always)]
    pub(super) fn down<const N: i32>(x: Inner) -> Inner {
        // SAFETY: every x86-64 has SSE2.
        unsafe { _mm_srli_epi64::<N>(x) }
    }
}

/// Two words, of which compilers make vectors where they can.
#[cfg(not(target_arch = "x86_64"))]
mod wide {
    pub(in super::super) type Inner = [u64; 2];

    #[inline(always)]
    pub(super) fn new(words: [u64; 2]) -> Inner {
        words
    }
    #[inline(always)]
    pub(super) fn words(x: Inner) -> [u64; 2] {
        x
    }
    #[inline(always)]
    pub(super) fn xor(x: Inner, y: Inner) -> Inner {
        [x[0] ^ y[0], x[1] ^ y[1]]
    }
    #[inline(always)]
    pub(super) fn and(x: Inner, y: Inner) -> Inner {
        [x[0] & y[0], x[1] & y[1]]
    }
    #[inline(always)]
    pub(super) fn or(x: Inner, y: Inner) -> Inner {
        [x[0] | y[0], x[1] | y[1]]
    }
    #[inline(always)]
    pub(super) fn up<const N: i32>(x: Inner) -> Inner {
        [x[0] << N, x[1] << N]
    }
    #[inline(always)]
    pub(super) fn down<const N: i32>(x: Inner) -> Inner {
        [x[0] >> N, x[1] >> N]
    }
}

/// Two words.
#[derive(Clone, Copy)]
pub(super) struct Wide(wide::Inner);

impl Bits for Wide {
    const WORDS: usize = 2;
    #[inline(always)]
    fn splat(word: u64) -> Self {
        Wide(wide::new([word, word]))
    }
    #[inline(always)]
    fn new(words: [u64; 2]) -> Self {
        Wide(wide::new(words))
    }
    #[inline(always)]
    fn words(self) -> [u64; 2] {
        wide::words(self.0)
    }
    #[inline(always)]
    fn up<const N: i32>(self) -> Self {
        Wide(wide::up::<N>(self.0))
    }
    #[inline(always)]
    fn down<const N: i32>(self) -> Self {
        Wide(wide::down::<N>(self.0))
    }
}

impl BitXor for Wide {
    type Output = Self;
    #[inline(always)]
    fn bitxor(self, other: Self) -> Self {
        Wide(wide::xor(self.0, other.0))
    }
}

impl BitAnd for Wide {
    type Output = Self;
    #[inline(always)]
    fn bitand(self, other: Self) -> Self {
        Wide(wide::and(self.0, other.0))
    }
}

impl BitOr for Wide {
    type Output = Self;
    #[inline(always)]
    fn bitor(self, other: Self) -> Self {
        Wide(wide::or(self.0, other.0))
    }
}

impl Not for Wide {
    type Output = Self;
    #[inline(always)]
    fn not(self) -> Self {
        self ^ Wide::splat(u64::MAX)
    }
}

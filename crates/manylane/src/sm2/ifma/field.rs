//! F_p in eight lanes with AVX-512 IFMA: eight elements at a time, each in one lane of five vectors.
//!
//! Limbs have 52 bits, what the multiplier takes, and elements are in Montgomery form with 2²⁶⁰. An
//! element is a number below 2²⁶⁰, sixteen times p, that need not be below p: a product of a and b is
//! below ab / 2²⁶⁰ + p, so those of small multiples of p come down by themselves, and `ifma.rs`
//! says of sums how many times p they are at most. Only what is carried ([`Sum::carry`])
//! can be multiplied; sums have signed limbs until then, and many are carried but once.
//!
//! −p⁻¹ mod 2⁵² = 1, so each step of the reduction adds q·p for q the lowest limb itself. In signed limbs
//! p is −1, −A, 0, 0, B with A = 2⁴⁴ − 2¹² and B = 2⁴⁸ − 2¹⁶: four multiplications a step.

use ::core::arch::x86_64::*;

/// Lanes of a vector.
pub(in super::super) const LANES: usize = 8;

/// Bits of a limb.
const BITS: u32 = 52;

const A: i64 = (1 << 44) - (1 << 12);
const B: i64 = (1 << 48) - (1 << 16);

type Limbs = [__m512i; 5];

/// Elements with limbs below 2⁵².
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(super) struct Element(pub(super) Limbs);

/// Elements with signed limbs of no more than 60 bits.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(super) struct Sum(Limbs);

/// A constant in all lanes.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn splat(x: i64) -> __m512i {
    _mm512_set1_epi64(x)
}

/// (t₀ … t₉) / 2²⁶⁰ mod p: what is above the limbs that five steps clear.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn reduce(mut t: [__m512i; 10]) -> Limbs {
    let (a, b) = (splat(A), splat(B));
    // What is to be subtracted from t.
    let mut n = [splat(0); 7];
    for i in 0..5 {
        let q = if i == 0 { t[0] } else { _mm512_sub_epi64(t[i], n[i]) };
        n[i + 1] = _mm512_madd52lo_epu64(n[i + 1], q, a);
        n[i + 2] = _mm512_madd52hi_epu64(n[i + 2], q, a);
        t[i + 4] = _mm512_madd52lo_epu64(t[i + 4], q, b);
        t[i + 5] = _mm512_madd52hi_epu64(t[i + 5], q, b);
        // The multiplier takes the low 52 bits of q; those and −q·2⁰ leave the rest as a carry.
        t[i + 1] = _mm512_add_epi64(t[i + 1], _mm512_srai_epi64::<BITS>(q));
    }
    [_mm512_sub_epi64(t[5], n[5]), _mm512_sub_epi64(t[6], n[6]), t[7], t[8], t[9]]
}

#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn product(a: &Limbs, b: &Limbs) -> [__m512i; 10] {
    let mut t = [splat(0); 10];
    for i in 0..5 {
        for j in 0..5 {
            t[i + j] = _mm512_madd52lo_epu64(t[i + j], a[i], b[j]);
            t[i + j + 1] = _mm512_madd52hi_epu64(t[i + j + 1], a[i], b[j]);
        }
    }
    t
}

#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn square(a: &Limbs) -> [__m512i; 10] {
    let mut t = [splat(0); 10];
    for i in 0..5 {
        for j in i + 1..5 {
            t[i + j] = _mm512_madd52lo_epu64(t[i + j], a[i], a[j]);
            t[i + j + 1] = _mm512_madd52hi_epu64(t[i + j + 1], a[i], a[j]);
        }
    }
    for t in &mut t[1..9] {
        *t = _mm512_add_epi64(*t, *t);
    }
    for i in 0..5 {
        t[2 * i] = _mm512_madd52lo_epu64(t[2 * i], a[i], a[i]);
        t[2 * i + 1] = _mm512_madd52hi_epu64(t[2 * i + 1], a[i], a[i]);
    }
    t
}

impl Element {
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn zero() -> Self {
        Element([splat(0); 5])
    }

    /// A number below 2²⁶⁰ in all lanes.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn splat(limbs: &[i64; 5]) -> Self {
        let [a, b, c, d, e] = *limbs;
        Element([splat(a), splat(b), splat(c), splat(d), splat(e)])
    }

    /// a·b.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn mul(&self, b: &Self) -> Sum {
        Sum(reduce(product(&self.0, &b.0)))
    }

    /// a².
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn sqr(&self) -> Sum {
        Sum(reduce(square(&self.0)))
    }

    /// As terms of a sum.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn sum(&self) -> Sum {
        Sum(self.0)
    }

    /// In each lane, b where the bit of `mask` is set, else a.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn select(&self, b: &Self, mask: __mmask8) -> Self {
        let mut out = *self;
        for i in 0..5 {
            out.0[i] = _mm512_mask_mov_epi64(self.0[i], mask, b.0[i]);
        }
        out
    }

    /// In each lane, the number of the lane that `index` says.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn permute(&self, index: __m512i) -> Self {
        let mut out = *self;
        for i in 0..5 {
            out.0[i] = _mm512_permutexvar_epi64(index, self.0[i]);
        }
        out
    }

    /// The numbers below p, of elements below 2p.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn canonical(&self) -> Self {
        let less = self.sum().plus_p(-1).carry();
        less.select(self, _mm512_cmplt_epi64_mask(less.0[4], splat(0)))
    }

    /// The lanes that are zero, of canonical elements.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn is_zero(&self) -> __mmask8 {
        let [a, b, c, d, e] = self.0;
        let low = _mm512_or_si512(_mm512_or_si512(a, b), _mm512_or_si512(c, d));
        let all = _mm512_or_si512(low, e);
        _mm512_testn_epi64_mask(all, all)
    }
}

impl Sum {
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn add(&self, b: &Self) -> Self {
        let mut out = *self;
        for i in 0..5 {
            out.0[i] = _mm512_add_epi64(self.0[i], b.0[i]);
        }
        out
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn sub(&self, b: &Self) -> Self {
        let mut out = *self;
        for i in 0..5 {
            out.0[i] = _mm512_sub_epi64(self.0[i], b.0[i]);
        }
        out
    }

    /// a + k·p.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn plus_p(&self, k: i64) -> Self {
        let mut out = *self;
        let t = &mut out.0;
        t[0] = _mm512_add_epi64(t[0], splat(-k));
        t[1] = _mm512_add_epi64(t[1], splat(-k * A));
        t[4] = _mm512_add_epi64(t[4], splat(k * B));
        out
    }

    /// a / 2: p is added to odd numbers.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn half(&self) -> Self {
        let mut out = *self;
        let t = &mut out.0;
        let odd = _mm512_test_epi64_mask(t[0], splat(1));
        t[0] = _mm512_mask_add_epi64(t[0], odd, t[0], splat(-1));
        t[1] = _mm512_mask_add_epi64(t[1], odd, t[1], splat(-A));
        t[4] = _mm512_mask_add_epi64(t[4], odd, t[4], splat(B));
        for i in 0..5 {
            let half = _mm512_srai_epi64::<1>(t[i]);
            // The lowest bit of the limb above.
            let top = splat(1 << (BITS - 1));
            t[i] = if i < 4 { _mm512_madd52lo_epu64(half, t[i + 1], top) } else { half };
        }
        out
    }

    /// The same element between p − 2²¹⁶ and 2p + 2²²⁸, of one between 0 and 2²⁶⁰ whose top limb is not
    /// negative: less as many times p as there are 2²⁵⁶ in the top limb, and p once.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn fold(&self) -> Self {
        let mut out = *self;
        let t = &mut out.0;
        let q = _mm512_srli_epi64::<48>(t[4]);
        t[0] = _mm512_add_epi64(t[0], q);
        t[1] = _mm512_madd52lo_epu64(t[1], q, splat(A));
        let low = _mm512_and_si512(t[4], splat((1 << 48) - 1));
        t[4] = _mm512_madd52lo_epu64(low, q, splat(1 << 16));
        out.plus_p(1)
    }

    /// With limbs below 2⁵², of a number between 0 and 2²⁶⁰. A negative number keeps its sign in the top
    /// limb.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn carry(&self) -> Element {
        let mut out = self.0;
        let mask = splat((1 << BITS) - 1);
        let t = &mut out;
        for i in 0..4 {
            t[i + 1] = _mm512_add_epi64(t[i + 1], _mm512_srai_epi64::<BITS>(t[i]));
            t[i] = _mm512_and_si512(t[i], mask);
        }
        Element(out)
    }
}

/// 2²⁵⁶ mod p: a product with it takes the Montgomery form with 2²⁶⁰ into that with 2²⁵⁶.
const TO_256: [i64; 5] = split([1, 0xffff_ffff, 0, 1 << 32]);

/// 2²⁶⁰ mod p, that is 1.
pub(super) const ONE: [i64; 5] = split([0x10, 0xf_ffff_fff0, 0, 0x10_0000_0000]);

/// The limbs of 52 bits.
const fn split(a: [u64; 4]) -> [i64; 5] {
    const MASK: u64 = (1 << BITS) - 1;
    [
        (a[0] & MASK).cast_signed(),
        ((a[0] >> 52 | a[1] << 12) & MASK).cast_signed(),
        ((a[1] >> 40 | a[2] << 24) & MASK).cast_signed(),
        ((a[2] >> 28 | a[3] << 36) & MASK).cast_signed(),
        (a[3] >> 16).cast_signed(),
    ]
}

/// The elements of four vectors of 64-bit limbs, in Montgomery form with 2²⁵⁶; between p − 2²¹⁶ and 2p + 2²²⁸.
/// Sixteen times the number is the form with 2²⁶⁰, and fits: no product is needed.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn from_words(words: &[__m512i; 4]) -> Element {
    let mask = splat((1 << BITS) - 1);
    let [a, b, c, d] = *words;
    let join = |low, high| _mm512_and_si512(_mm512_or_si512(low, high), mask);
    let limbs = [
        _mm512_and_si512(_mm512_slli_epi64::<4>(a), mask),
        join(_mm512_srli_epi64::<48>(a), _mm512_slli_epi64::<16>(b)),
        join(_mm512_srli_epi64::<36>(b), _mm512_slli_epi64::<28>(c)),
        join(_mm512_srli_epi64::<24>(c), _mm512_slli_epi64::<40>(d)),
        _mm512_srli_epi64::<12>(d),
    ];
    Sum(limbs).fold().carry()
}

/// Four vectors of 64-bit limbs, in Montgomery form with 2²⁵⁶, below p; of elements below 16 p.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn to_words(a: &Element) -> [__m512i; 4] {
    let [a, b, c, d, e] = a.mul(&Element::splat(&TO_256)).carry().canonical().0;
    [
        _mm512_or_si512(a, _mm512_slli_epi64::<52>(b)),
        _mm512_or_si512(_mm512_srli_epi64::<12>(b), _mm512_slli_epi64::<40>(c)),
        _mm512_or_si512(_mm512_srli_epi64::<24>(c), _mm512_slli_epi64::<28>(d)),
        _mm512_or_si512(_mm512_srli_epi64::<36>(d), _mm512_slli_epi64::<16>(e)),
    ]
}

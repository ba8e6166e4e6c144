//! SM4 of 128 blocks at once with GFNI: a vector for each byte of a block, so that no round moves a byte.
//!
//! With words in vectors, a round takes ten operations for sixteen blocks, three of which turn words by
//! bytes. Here vector 4 j + i holds byte i of word Xⱼ of 64 blocks, and turning words is naming other
//! vectors. L of the head of `affine` is also
//!
//! L(b)ᵢ = R bᵢ + P bᵢ₋₁ + Σ, Σ = Q (b₀ + b₁ + b₂ + b₃) = the sum of all R bᵢ + P bᵢ₋₁.
//!
//! So with Yᵢ = X₀ᵢ + R bᵢ + P bᵢ₋₁ and s₀ the sum of the four bytes of X₀, Σ = Y₀ + Y₁ + Y₂ + Y₃ + s₀, and the
//! bytes of X₄ = Y + Σ have the sum of those of Y. A round of 64 blocks takes eight maps of inverses and fifteen
//! exclusive ors, of three where possible: 23 operations where words in vectors take 40. Only one of two
//! ports has the maps, and each round waits for the one before; so two groups of 64 blocks take turns. Their 40
//! vectors are more than there are registers, but the ports that load and store are free: measured, the rounds
//! of one group run at 1.56 bytes a clock and those of two at 2.0, where the ports allow 2.8. Turning blocks into bytes
//! and back are 128 operations for 64 blocks on the port that shuffles; counters are made as bytes.
#![allow(unsafe_code)]

use ::core::arch::x86_64::*;

use super::{Gfni, matrix};
use crate::{
    block::{
        Block,
        lanes::{End, InverseRounds, Rounds, Whole, kernel},
    },
    ct::wipe_words,
    sm4::{
        affine::AES,
        schedule::{Keys, RoundKeys},
    },
};

/// Blocks of a group.
pub(super) const GROUP: usize = 128;

/// Nothing is left after groups, as the kernels' arguments say.
type Groups = Whole<32>;

const _: () = assert!(<Groups as End<__m512i, ()>>::PART == GROUP);

/// Round keys with each byte four times.
#[repr(align(64))]
struct Planar<'a> {
    keys: &'a RoundKeys,
    k: [[u32; 4]; 32],
}

impl Drop for Planar<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        wipe_words(self.k.as_flattened_mut());
    }
}

/// # Safety
/// The processor has AVX-512 F.
#[inline(always)]
unsafe fn xor(x: __m512i, y: __m512i) -> __m512i {
    // SAFETY: the caller's proof.
    unsafe { _mm512_xor_si512(x, y) }
}

/// # Safety
/// The processor has AVX-512 F.
#[inline(always)]
unsafe fn xor3(x: __m512i, y: __m512i, z: __m512i) -> __m512i {
    // SAFETY: the caller's proof.
    unsafe { _mm512_ternarylogic_epi32::<0x96>(x, y, z) }
}

/// Byte `i` of a word, everywhere.
///
/// # Safety
/// The processor has AVX-512 BW.
#[inline(always)]
unsafe fn byte(word: u32, i: usize) -> __m512i {
    // SAFETY: the caller's proof.
    unsafe { _mm512_set1_epi8((word >> (8 * i)) as i8) }
}

impl<'a> Planar<'a> {
    /// # Safety
    /// The processor has AVX-512 F and BW.
    #[inline(always)]
    unsafe fn new(keys: &'a RoundKeys) -> Self {
        let mut planar = Planar { keys, k: [[0; 4]; 32] };
        // SAFETY: four words are read, and four times four written; the rest is the caller's proof.
        unsafe {
            // Byte i of word j, four times, to word i of quarter j.
            let bytes = _mm_setr_epi8(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
            let words = _mm512_setr_epi32(0, 0, 0, 0, 4, 4, 4, 4, 8, 8, 8, 8, 12, 12, 12, 12);
            let words = _mm512_shuffle_epi8(words, _mm512_setzero_si512());
            let from = _mm512_add_epi8(_mm512_broadcast_i32x4(bytes), words);
            let mut sums = _mm512_setzero_si512();
            for i in (0..32).step_by(4) {
                let four =
                    _mm512_broadcast_i32x4(_mm_loadu_si128(keys.k[i..i + 4].as_ptr().cast()));
                let k = _mm512_shuffle_epi8(four, from);
                // The sum of bytes that a round leaves lacks those of its key. It is used four rounds
                // later, for every byte.
                _mm512_storeu_si512(planar.k[i..i + 4].as_mut_ptr().cast(), xor(k, sums));
                let pairs = xor(k, _mm512_shuffle_epi32::<0xb1>(k));
                sums = xor(pairs, _mm512_shuffle_epi32::<0x4e>(pairs));
            }
        }
        planar
    }

    /// Xors the key stream of counters from `counter` on into groups of blocks.
    ///
    /// # Safety
    /// The processor has AVX-512 F and BW and GFNI.
    #[inline(always)]
    unsafe fn xor_counters(&self, counter: &Block, groups: &mut [[Block; GROUP]]) {
        let [.., a, b, c, d] = *counter;
        let mut low = u32::from_be_bytes([a, b, c, d]);
        // SAFETY: the vectors of a group are read and written; the rest is the caller's proof.
        unsafe {
            let mut common = [_mm512_setzero_si512(); 12];
            for i in 0..12 {
                common[i] = entered(_mm512_set1_epi8(counter[i].cast_signed()));
            }
            for group in groups {
                let first = from_counters(&common, low);
                let mut x = [first, from_counters(&common, low.wrapping_add(GROUP as u32 / 2))];
                low = low.wrapping_add(GROUP as u32);
                self.rounds(&mut x);
                let at: *mut __m512i = group.as_mut_ptr().cast();
                xor_into(at, into_blocks(x[0]));
                xor_into(at.add(16), into_blocks(x[1]));
            }
        }
    }

    /// The 32 rounds and R of clause 7.1 on blocks.
    ///
    /// # Safety
    /// The processor has AVX-512 F and BW and GFNI.
    #[inline(always)]
    unsafe fn crypt(&self, mut v: [__m512i; 32]) -> [__m512i; 32] {
        // SAFETY: the caller's proof.
        unsafe {
            let (first, second) = v.split_at_mut(16);
            let mut x = [from_blocks(first), from_blocks(second)];
            self.rounds(&mut x);
            first.copy_from_slice(&into_blocks(x[0]));
            second.copy_from_slice(&into_blocks(x[1]));
            v
        }
    }

    /// The 32 rounds of two groups, whose bytes are in the form of `affine` before and after.
    ///
    /// # Safety
    /// The processor has AVX-512 F and BW and GFNI.
    #[inline(always)]
    unsafe fn rounds(&self, x: &mut [[__m512i; 16]; 2]) {
        // SAFETY: the caller's proof.
        unsafe {
            let mut sums = [[x[0][0]; 4]; 2];
            for g in 0..2 {
                for i in 0..4 {
                    x[g][12 + i] = xor(x[g][12 + i], byte(self.keys.before, i));
                }
                for j in 0..4 {
                    let three = xor3(x[g][4 * j], x[g][4 * j + 1], x[g][4 * j + 2]);
                    sums[g][j] = xor(three, x[g][4 * j + 3]);
                }
            }
            for i in (0..32).step_by(4) {
                self.round::<0, 1, 2, 3>(x, &mut sums, i);
                self.round::<1, 2, 3, 0>(x, &mut sums, i + 1);
                self.round::<2, 3, 0, 1>(x, &mut sums, i + 2);
                self.round::<3, 0, 1, 2>(x, &mut sums, i + 3);
            }
            for g in 0..2 {
                for j in 0..3 {
                    for i in 0..4 {
                        x[g][4 * j + i] = xor(x[g][4 * j + i], byte(self.keys.after[j], i));
                    }
                }
            }
        }
    }

    /// Round `i` of both groups; the constants are the places of X₀ … X₃.
    ///
    /// # Safety
    /// The processor has AVX-512 F and BW and GFNI.
    #[inline(always)]
    unsafe fn round<const X0: usize, const X1: usize, const X2: usize, const X3: usize>(
        &self,
        x: &mut [[__m512i; 16]; 2],
        sums: &mut [[__m512i; 4]; 2],
        i: usize,
    ) {
        // SAFETY: the caller's proof.
        unsafe {
            let (p, r) = (matrix(&AES.p), matrix(&AES.r));
            for g in 0..2 {
                let x = &mut x[g];
                let t0 = xor3(x[4 * X1], x[4 * X2], x[4 * X3]);
                let t1 = xor3(x[4 * X1 + 1], x[4 * X2 + 1], x[4 * X3 + 1]);
                let t2 = xor3(x[4 * X1 + 2], x[4 * X2 + 2], x[4 * X3 + 2]);
                let t3 = xor3(x[4 * X1 + 3], x[4 * X2 + 3], x[4 * X3 + 3]);
                macro_rules! y {
                    ($x:expr, $own:ident, $before:ident) => {
                        xor3(
                            $x,
                            _mm512_gf2p8affineinv_epi64_epi8::<0>($own, r),
                            _mm512_gf2p8affineinv_epi64_epi8::<0>($before, p),
                        )
                    };
                }
                let y0 = y!(x[4 * X0], t0, t3);
                let y1 = y!(x[4 * X0 + 1], t1, t0);
                let y2 = y!(x[4 * X0 + 2], t2, t1);
                let y3 = y!(x[4 * X0 + 3], t3, t2);
                let three = xor3(y0, y1, y2);
                let sigma = xor3(three, y3, sums[g][X0]);
                sums[g][X0] = xor(three, y3);
                let k = |byte: usize| _mm512_set1_epi32(self.k[i][byte].cast_signed());
                x[4 * X0] = xor3(y0, sigma, k(0));
                x[4 * X0 + 1] = xor3(y1, sigma, k(1));
                x[4 * X0 + 2] = xor3(y2, sigma, k(2));
                x[4 * X0 + 3] = xor3(y3, sigma, k(3));
            }
        }
    }
}

/// Bytes in the form of `affine`.
///
/// # Safety
/// The processor has AVX-512 F and GFNI.
#[inline(always)]
unsafe fn entered(bytes: __m512i) -> __m512i {
    // SAFETY: the caller's proof.
    unsafe { _mm512_gf2p8affine_epi64_epi8::<0>(bytes, matrix(&AES.enter)) }
}

/// The bytes of 64 blocks.
///
/// # Safety
/// `v` has sixteen vectors; the processor has AVX-512 F and BW and GFNI.
#[inline(always)]
unsafe fn from_blocks(v: &[__m512i]) -> [__m512i; 16] {
    // SAFETY: the caller's proof.
    unsafe {
        let mut x = [v[0]; 16];
        x.copy_from_slice(v);
        x = turn(x);
        for i in 0..16 {
            x[i] = entered(x[i]);
        }
        x
    }
}

/// The bytes of 64 blocks that have the first twelve in `common`, already in the form of `affine`, and then
/// the numbers `low`, `low` + 1, …: what [`turn`] would make of such blocks.
///
/// # Safety
/// The processor has AVX-512 F and BW and GFNI.
#[inline(always)]
unsafe fn from_counters(common: &[__m512i; 12], low: u32) -> [__m512i; 16] {
    // SAFETY: the caller's proof.
    unsafe {
        // Block 4 v + q is byte v of quarter q: four numbers of a quarter are four apart.
        let apart = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
        let by_bytes = _mm512_broadcast_i32x4(_mm_setr_epi8(
            3, 7, 11, 15, 2, 6, 10, 14, 1, 5, 9, 13, 0, 4, 8, 12,
        ));
        let mut words = [apart; 4];
        for i in 0..4 {
            let first = _mm512_set1_epi32(low.wrapping_add(16 * i as u32).cast_signed());
            words[i] = _mm512_shuffle_epi8(_mm512_add_epi32(first, apart), by_bytes);
        }
        let last = super::turn(words);
        let mut x = [last[0]; 16];
        x[..12].copy_from_slice(common);
        for i in 0..4 {
            x[12 + i] = entered(last[i]);
        }
        x
    }
}

/// Xors 64 blocks into those at `at`.
///
/// # Safety
/// `at` is valid for reads and writes of 64 blocks; the processor has AVX-512 F.
#[inline(always)]
unsafe fn xor_into(at: *mut __m512i, v: [__m512i; 16]) {
    for i in 0..16 {
        // SAFETY: the caller's blocks.
        unsafe {
            let at = at.add(i);
            _mm512_storeu_si512(at, xor(v[i], _mm512_loadu_si512(at)));
        }
    }
}

/// R of clause 7.1, and blocks again.
///
/// # Safety
/// The processor has AVX-512 F and BW and GFNI.
#[inline(always)]
unsafe fn into_blocks(mut x: [__m512i; 16]) -> [__m512i; 16] {
    // SAFETY: the caller's proof.
    unsafe {
        for i in 0..16 {
            x[i] = _mm512_gf2p8affine_epi64_epi8::<0>(x[i], matrix(&AES.leave));
        }
        turn([
            x[12], x[13], x[14], x[15], x[8], x[9], x[10], x[11], x[4], x[5], x[6], x[7], x[0],
            x[1], x[2], x[3],
        ])
    }
}

/// Turns 16 × 16 bytes around in each quarter: byte j of vector i becomes byte i of vector j. Four times, the
/// highest bit of a vector's number changes places with the highest of its bytes', and both numbers, side by
/// side, turn by a bit.
///
/// # Safety
/// The processor has AVX-512 BW.
#[inline(always)]
unsafe fn turn(v: [__m512i; 16]) -> [__m512i; 16] {
    // SAFETY: the caller's proof.
    unsafe { turn_bit(turn_bit(turn_bit(turn_bit(v)))) }
}

/// A quarter of [`turn`].
///
/// # Safety
/// The processor has AVX-512 BW.
#[inline(always)]
unsafe fn turn_bit(v: [__m512i; 16]) -> [__m512i; 16] {
    // SAFETY: the caller's proof. Written out, because a loop would go through memory.
    unsafe {
        [
            _mm512_unpacklo_epi8(v[0], v[8]),
            _mm512_unpackhi_epi8(v[0], v[8]),
            _mm512_unpacklo_epi8(v[1], v[9]),
            _mm512_unpackhi_epi8(v[1], v[9]),
            _mm512_unpacklo_epi8(v[2], v[10]),
            _mm512_unpackhi_epi8(v[2], v[10]),
            _mm512_unpacklo_epi8(v[3], v[11]),
            _mm512_unpackhi_epi8(v[3], v[11]),
            _mm512_unpacklo_epi8(v[4], v[12]),
            _mm512_unpackhi_epi8(v[4], v[12]),
            _mm512_unpacklo_epi8(v[5], v[13]),
            _mm512_unpackhi_epi8(v[5], v[13]),
            _mm512_unpacklo_epi8(v[6], v[14]),
            _mm512_unpackhi_epi8(v[6], v[14]),
            _mm512_unpacklo_epi8(v[7], v[15]),
            _mm512_unpackhi_epi8(v[7], v[15]),
        ]
    }
}

impl Rounds<__m512i, 32> for Planar<'_> {
    #[inline(always)]
    unsafe fn encrypt(&self, v: [__m512i; 32]) -> [__m512i; 32] {
        // SAFETY: the caller's proof.
        unsafe { self.crypt(v) }
    }
}

impl InverseRounds<__m512i, 32> for Planar<'_> {
    #[inline(always)]
    unsafe fn decrypt(&self, v: [__m512i; 32]) -> [__m512i; 32] {
        // SAFETY: the caller's proof.
        unsafe { self.crypt(v) }
    }
}

macro_rules! planar {
    ($($(#[$doc:meta])* $name:ident($key:ident, $($argument:ident: $type:ty),*) => $body:expr;)*) => {$(
        kernel!(
            Gfni,
            [target_feature(enable = "avx512f,avx512bw,avx512vl,gfni,vpclmulqdq")],
            [], Keys, $(#[$doc])* $name($key, $($argument: $type),*) => $body
        );
    )*};
}

planar! {
    /// Encrypts every block by itself.
    encrypt_blocks(key, data: &mut [[Block; GROUP]]) => {
        let planar = Planar::new(&key.encrypt);
        lanes::ecb::<__m512i, _, Groups, 32, true>(&planar, data.as_flattened_mut())
    };
    /// Decrypts every block by itself.
    decrypt_blocks(key, data: &mut [[Block; GROUP]]) => {
        let planar = Planar::new(&key.decrypt);
        lanes::ecb::<__m512i, _, Groups, 32, false>(&planar, data.as_flattened_mut())
    };
    /// Xors the key stream of `counter` and on into `data`.
    xor_counters(key, counter: &Block, data: &mut [[Block; GROUP]]) =>
        Planar::new(&key.encrypt).xor_counters(counter, data);
    /// Decrypts CBC; `iv` becomes the last ciphertext block.
    cbc_decrypt(key, iv: &mut Block, data: &mut [[Block; GROUP]]) => {
        let planar = Planar::new(&key.decrypt);
        lanes::decrypt_chained::<__m512i, _, Groups, 32, false>(&planar, iv, data.as_flattened_mut())
    };
    /// Decrypts CFB; `iv` becomes the last ciphertext block.
    cfb_decrypt(key, iv: &mut Block, data: &mut [[Block; GROUP]]) => {
        let planar = Planar::new(&key.encrypt);
        lanes::decrypt_chained::<__m512i, _, Groups, 32, true>(&planar, iv, data.as_flattened_mut())
    };
    /// Encrypts XTS blocks; `tweak` becomes that of the next.
    xts_encrypt(key, order: crate::block::TweakOrder, tweak: &mut Block, data: &mut [[Block; GROUP]]) => {
        let planar = Planar::new(&key.encrypt);
        let data = data.as_flattened_mut();
        match order {
            TweakOrder::Ieee => lanes::xts::<__m512i, _, Groups, 32, false, true>(&planar, tweak, data),
            TweakOrder::Gb => lanes::xts::<__m512i, _, Groups, 32, true, true>(&planar, tweak, data),
        }
    };
    /// Decrypts XTS blocks; `tweak` becomes that of the next.
    xts_decrypt(key, order: crate::block::TweakOrder, tweak: &mut Block, data: &mut [[Block; GROUP]]) => {
        let planar = Planar::new(&key.decrypt);
        let data = data.as_flattened_mut();
        match order {
            TweakOrder::Ieee => lanes::xts::<__m512i, _, Groups, 32, false, false>(&planar, tweak, data),
            TweakOrder::Gb => lanes::xts::<__m512i, _, Groups, 32, true, false>(&planar, tweak, data),
        }
    };
}

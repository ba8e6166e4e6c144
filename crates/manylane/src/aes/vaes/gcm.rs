//! GCM in one loop: counter mode of a group of blocks, and the hash of a group.
//!
//! AESENC of 512 bits has one port, products without carries the other: 80 of the one for 32 blocks under a
//! key of 128 bits, 34 of the other, and 80 that are for either. Between the rounds of the group that is
//! encrypted stand the vectors of the group that is hashed: further apart, the processor would not look far enough
//! ahead to start both. Compilers do put them further apart, so that they are held in their places.
#![allow(unsafe_code)]

use ::core::arch::{asm, x86_64::*};

use super::{Block, Keys, RoundKeys, broadcast};
use crate::{
    block::lanes::Vector,
    cpu::Vaes,
    ghash::{
        POWERS, Powers,
        lanes::{Clmul, Sum},
    },
};

/// Vectors of a group, and its blocks.
const GROUP: usize = 8;
pub(crate) const BLOCKS: usize = 4 * GROUP;

/// Encrypts, then hashes whole groups of [`BLOCKS`]; the rest is left. Returns how many blocks are done.
pub(in crate::aes) fn encrypt<const N: usize>(
    _: Vaes,
    keys: &RoundKeys<N>,
    powers: &Powers,
    y: &mut Block,
    counter: &Block,
    data: &mut [Block],
) -> usize {
    // SAFETY: the token proves the features.
    unsafe { encrypt_groups(keys, powers, y, counter, data) }
}

/// Hashes, then decrypts whole groups of [`BLOCKS`]; the rest is left. Returns how many blocks are done.
pub(in crate::aes) fn decrypt<const N: usize>(
    _: Vaes,
    keys: &RoundKeys<N>,
    powers: &Powers,
    y: &mut Block,
    counter: &Block,
    data: &mut [Block],
) -> usize {
    // SAFETY: the token proves the features.
    unsafe { decrypt_groups(keys, powers, y, counter, data) }
}

/// # Safety
/// The processor has the token's machine.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,vaes,vpclmulqdq,aes,pclmulqdq,ssse3,sse4.1")]
unsafe fn encrypt_groups<const N: usize>(
    keys: &RoundKeys<N>,
    powers: &Powers,
    y: &mut Block,
    counter: &Block,
    data: &mut [Block],
) -> usize {
    let (groups, _) = data.as_chunks_mut::<BLOCKS>();
    let Some((first, rest)) = groups.split_first_mut() else { return 0 };
    // SAFETY: the features are enabled here; the caller's proof.
    unsafe {
        let keys = broadcast(keys);
        let mut counters = <__m512i as Vector>::counting(counter);
        let mut sum = <__m128i as Clmul>::load(y);
        counters = counters_only(&keys, counters, first);
        let mut before = first.as_ptr();
        for group in rest.iter_mut() {
            (counters, sum) = both(&keys, powers, counters, group.as_mut_ptr(), before, sum);
            before = group.as_ptr();
        }
        let mut last = hash(None, before, powers, 1);
        for i in 2..GROUP {
            last = hash(Some(last), before, powers, i);
        }
        <__m512i as Clmul>::store(finish(last, before, powers, sum).reduce(), y);
    }
    BLOCKS * (1 + rest.len())
}

/// # Safety
/// The processor has the token's machine.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,vaes,vpclmulqdq,aes,pclmulqdq,ssse3,sse4.1")]
unsafe fn decrypt_groups<const N: usize>(
    keys: &RoundKeys<N>,
    powers: &Powers,
    y: &mut Block,
    counter: &Block,
    data: &mut [Block],
) -> usize {
    let (groups, _) = data.as_chunks_mut::<BLOCKS>();
    // SAFETY: the features are enabled here; the caller's proof.
    unsafe {
        let keys = broadcast(keys);
        let mut counters = <__m512i as Vector>::counting(counter);
        let mut sum = <__m128i as Clmul>::load(y);
        for group in groups.iter_mut() {
            let at = group.as_mut_ptr();
            (counters, sum) = both(&keys, powers, counters, at, at, sum);
        }
        <__m128i as Clmul>::store(sum, y);
    }
    BLOCKS * groups.len()
}

/// The next counters of a group, and the counters after it.
///
/// # Safety
/// The processor has the token's machine.
#[inline(always)]
unsafe fn next(mut counters: __m512i, key: __m512i) -> ([__m512i; GROUP], __m512i) {
    // SAFETY: the caller's proof.
    unsafe {
        let mut v = [counters; GROUP];
        for i in 0..GROUP {
            v[i] = Vector::xor(counters.to_blocks(), key);
            counters = counters.advance::<4>();
        }
        (v, counters)
    }
}

/// Xors the key stream of a group into it.
///
/// # Safety
/// The processor has the token's machine.
#[inline(always)]
unsafe fn counters_only<const N: usize>(
    keys: &Keys<N>,
    counters: __m512i,
    group: &mut [Block; BLOCKS],
) -> __m512i {
    // SAFETY: the group's blocks are read and written; the rest is the caller's proof.
    unsafe {
        let (mut v, counters) = next(counters, keys.encrypt[0]);
        for round in 1..N - 1 {
            for i in 0..GROUP {
                v[i] = _mm512_aesenc_epi128(v[i], keys.encrypt[round]);
            }
        }
        last_round(keys, &v, group.as_mut_ptr());
        counters
    }
}

/// The last round of the key stream, and its exclusive or with the group at `at`.
///
/// # Safety
/// `at` is valid for reads and writes of a group; the processor has the token's machine.
#[inline(always)]
unsafe fn last_round<const N: usize>(keys: &Keys<N>, v: &[__m512i; GROUP], at: *mut Block) {
    // SAFETY: the caller's proof.
    unsafe {
        for i in 0..GROUP {
            let at = at.add(4 * i);
            let stream = _mm512_aesenclast_epi128(v[i], keys.encrypt[N - 1]);
            Vector::xor(stream, <__m512i as Vector>::load(at)).store(at);
        }
    }
}

/// Adds the product of vector `i` of the group at `data`.
///
/// # Safety
/// `data` is valid for reads of a group; the processor has the token's machine.
#[inline(always)]
unsafe fn hash(
    sum: Option<Sum<__m512i>>,
    data: *const Block,
    powers: &Powers,
    i: usize,
) -> Sum<__m512i> {
    // SAFETY: the caller's proof, and a group has as many powers.
    unsafe {
        let x = <__m512i as Clmul>::load(data.add(4 * i));
        let power = __m512i::load_powers(powers.0.as_ptr().add(POWERS - BLOCKS + 4 * i));
        match sum {
            Some(sum) => sum.plus(x, power),
            None => Sum::of(x, power),
        }
    }
}

/// Adds the product of the group's first vector, with the hash so far.
///
/// # Safety
/// As of [`hash`].
#[inline(always)]
unsafe fn finish(
    sum: Sum<__m512i>,
    data: *const Block,
    powers: &Powers,
    y: __m128i,
) -> Sum<__m512i> {
    // SAFETY: the caller's proof.
    unsafe {
        let x = <__m512i as Clmul>::load(data).xor_first(y);
        sum.plus(x, __m512i::load_powers(powers.0.as_ptr().add(POWERS - BLOCKS)))
    }
}

/// Xors the key stream of `counters` into the group at `at`, and hashes the one at `hashed` as it was before:
/// the counters and the hash after that.
///
/// # Safety
/// `at` is valid for reads and writes of a group, `hashed` for reads; the processor has the token's machine.
#[inline(always)]
unsafe fn both<const N: usize>(
    keys: &Keys<N>,
    powers: &Powers,
    counters: __m512i,
    at: *mut Block,
    hashed: *const Block,
    y: __m128i,
) -> (__m512i, __m128i) {
    // SAFETY: the caller's proof.
    unsafe {
        let (mut v, counters) = next(counters, keys.encrypt[0]);
        macro_rules! round {
            ($round:expr) => {
                for i in 0..GROUP {
                    v[i] = _mm512_aesenc_epi128(v[i], keys.encrypt[$round]);
                }
            };
        }
        macro_rules! load {
            ($i:expr) => {
                (
                    <__m512i as Clmul>::load(hashed.add(4 * $i)),
                    __m512i::load_powers(powers.0.as_ptr().add(POWERS - BLOCKS + 4 * $i)),
                )
            };
        }
        round!(1);
        let (x, power) = load!(1);
        let mut sum = Sum::of(x, power);
        for i in [2, 4, 6] {
            hold(&mut v, &mut sum);
            round!(i);
            round!(i + 1);
            let ((x, power), (next_x, next_power)) = (load!(i), load!(i + 1));
            sum = sum.plus_two([x, next_x], [power, next_power]);
        }
        hold(&mut v, &mut sum);
        round!(GROUP);
        let mut sum = finish(sum, hashed, powers, y);
        hold(&mut v, &mut sum);
        for round in GROUP + 1..N - 1 {
            round!(round);
        }
        let y = sum.reduce();
        last_round(keys, &v, at);
        (counters, y)
    }
}

/// Keeps what is in front of it before what is behind it, without an instruction.
#[inline]
#[target_feature(enable = "avx512f")]
fn hold(v: &mut [__m512i; GROUP], sum: &mut Sum<__m512i>) {
    // SAFETY: no instruction.
    unsafe {
        asm!(
            "/* {} {} {} {} {} {} {} {} {} {} {} */",
            inout(zmm_reg) v[0],
            inout(zmm_reg) v[1],
            inout(zmm_reg) v[2],
            inout(zmm_reg) v[3],
            inout(zmm_reg) v[4],
            inout(zmm_reg) v[5],
            inout(zmm_reg) v[6],
            inout(zmm_reg) v[7],
            inout(zmm_reg) sum.low,
            inout(zmm_reg) sum.cross,
            inout(zmm_reg) sum.high,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
}

//! SM3 compression in plain Rust: one lane, any processor.

use super::{
    DIGEST_LEN, Kernel, Machine, T,
    counter::groups,
    dispatch::{Expanded, Portable, State, common_blocks},
};
use crate::ct::wipe_words;

/// Inputs that [`compress_lanes`] takes side by side.
pub(super) const LANES: usize = 1;

const KERNEL: Kernel = Kernel::new("sm3/portable", Machine::Portable);

/// FF_j of GB/T 32905-2016, clause 4.3.
#[inline(always)]
fn ff(j: usize, x: u32, y: u32, z: u32) -> u32 {
    if j < 16 { x ^ y ^ z } else { (x & y) | (z & (x | y)) }
}

/// GG_j of GB/T 32905-2016, clause 4.3.
#[inline(always)]
fn gg(j: usize, x: u32, y: u32, z: u32) -> u32 {
    if j < 16 { x ^ y ^ z } else { ((y ^ z) & x) ^ z }
}

/// P_0 of GB/T 32905-2016, clause 4.4.
#[inline(always)]
fn p0(x: u32) -> u32 {
    x ^ x.rotate_left(9) ^ x.rotate_left(17)
}

/// P_1 of GB/T 32905-2016, clause 4.4.
#[inline(always)]
const fn p1(x: u32) -> u32 {
    x ^ x.rotate_left(15) ^ x.rotate_left(23)
}

/// The message expansion of GB/T 32905-2016, clause 5.3.2: W_0 … W_67 of one block.
pub(super) fn expand(block: &[u8; 64]) -> [u32; 68] {
    let words = block.as_chunks::<4>().0;
    expand_words(::core::array::from_fn(|j| u32::from_be_bytes(words[j])))
}

/// [`expand`] from the block's sixteen words.
#[inline(always)]
pub(super) const fn expand_words(words: [u32; 16]) -> [u32; 68] {
    let mut w = [0; 68];
    let mut j = 0;
    while j < 68 {
        w[j] = if j < 16 {
            words[j]
        } else {
            p1(w[j - 16] ^ w[j - 9] ^ w[j - 3].rotate_left(15))
                ^ w[j - 13].rotate_left(7)
                ^ w[j - 6]
        };
        j += 1;
    }
    w
}

/// CF of GB/T 32905-2016, clause 5.3.3, over consecutive blocks of one stream.
pub(super) fn compress(v: &mut [u32; 8], blocks: &[[u8; 64]]) -> Kernel {
    for block in blocks {
        let Expanded { w, w_prime } = Expanded::of(block);
        round64(v, &w, &w_prime);
    }
    KERNEL
}

/// The 64 rounds and the feed-forward, from expanded words.
fn round64(v: &mut [u32; 8], w: &[u32; 64], w_prime: &[u32; 64]) {
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = *v;
    for j in 0..64 {
        let a12 = a.rotate_left(12);
        let ss1 = a12.wrapping_add(e).wrapping_add(T[j]).rotate_left(7);
        let ss2 = ss1 ^ a12;
        let tt1 = ff(j, a, b, c).wrapping_add(d).wrapping_add(ss2).wrapping_add(w_prime[j]);
        let tt2 = gg(j, e, f, g).wrapping_add(h).wrapping_add(ss1).wrapping_add(w[j]);
        (d, c, b, a) = (c, b.rotate_left(9), a, tt1);
        (h, g, f, e) = (g, f.rotate_left(19), e, p0(tt2));
    }
    for (v, x) in v.iter_mut().zip([a, b, c, d, e, f, g, h]) {
        *v ^= x;
    }
}

/// [`compress`] under the name and shape of the lane machines.
pub(super) fn compress_lanes(_: Portable, v: &mut State<LANES>, inputs: &[&[u8]; LANES]) -> Kernel {
    common_blocks(inputs);
    let mut lane = v.get(0);
    let kernel = compress(&mut lane, inputs[0].as_chunks().0);
    v.set(0, &lane);
    kernel
}

/// One block that is already expanded.
pub(super) fn compress_constant(_: Portable, v: &mut State<LANES>, block: &Expanded) -> Kernel {
    let mut lane = v.get(0);
    round64(&mut lane, &block.w, &block.w_prime);
    v.set(0, &lane);
    KERNEL
}

/// CF of counter blocks, xored into `data`.
pub(super) fn xor_counters(
    _: Portable,
    v: &[u32; 8],
    counter: u32,
    data: &mut [[u8; DIGEST_LEN]],
) -> Kernel {
    let mut lane = *v;
    groups::<LANES>(counter, data, |words, [data]| {
        lane = *v;
        let ([w, w_prime], []) = words.as_chunks() else { unreachable!("128 words") };
        round64(&mut lane, w, w_prime);
        for (bytes, word) in data.as_chunks_mut::<4>().0.iter_mut().zip(lane) {
            *bytes = (u32::from_be_bytes(*bytes) ^ word).to_be_bytes();
        }
    });
    wipe_words(&mut lane);
    KERNEL
}

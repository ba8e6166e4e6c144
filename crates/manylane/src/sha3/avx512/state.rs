//! Keccak-p\[1600\] of one stream with AVX-512: the state in five vectors of five words.
#![allow(unsafe_code)]

use ::core::arch::x86_64::*;

use super::super::{
    Kernel, Machine, RC,
    dispatch::{Rounds, common_blocks},
};
use crate::cpu::Avx512;

const KERNEL: Kernel = Kernel::new("sha3/avx512-state", Machine::Avx512);

/// Rounds after which all words are back in their places.
const PERIOD: usize = 12;

/// Where the words are when a round begins: word (x, y) in vector α x + β y, lane s x, all modulo 5.
#[derive(Clone, Copy)]
struct Layout {
    s: usize,
    alpha: usize,
    beta: usize,
}

/// The layout of [`load`] and [`store`].
const FIRST: Layout = Layout { s: 1, alpha: 2, beta: 1 };

/// What a round does that depends on the layout; lanes are turned by these numbers times the vector's.
#[derive(Clone, Copy)]
struct Step {
    /// x + 1 is so many lanes further on.
    s: usize,
    /// ρ's offsets.
    rho: [[u64; 8]; 5],
    /// Turns that bring the rows of χ each into a lane.
    rows: usize,
    /// x + 1 is so many vectors further on, after π.
    alpha: usize,
    /// Lane l's words go that many times l vectors further on.
    shear: usize,
    /// Turns that bring the columns of θ each into a lane.
    columns: usize,
}

/// The offsets of ρ (FIPS 202, table 2), modulo 64, of word x + 5 y.
const RHO: [u64; 25] =
    [0, 1, 62, 28, 27, 36, 44, 6, 55, 20, 3, 10, 43, 25, 39, 41, 45, 15, 21, 8, 18, 2, 61, 56, 14];

/// 1 / n modulo 5.
const fn inverse(n: usize) -> usize {
    n * n * n % 5
}

/// -n modulo 5.
const fn minus(n: usize) -> usize {
    (5 - n % 5) % 5
}

/// A round from a layout, and the layout that it ends in.
const fn step(Layout { s, alpha, beta }: Layout) -> (Step, Layout) {
    let mut rho = [[0; 8]; 5];
    let mut l = 0;
    while l < 5 {
        let x = l * inverse(s) % 5;
        let mut v = 0;
        while v < 5 {
            let y = (v + minus(alpha * x)) * inverse(beta) % 5;
            rho[v][l] = RHO[x + 5 * y];
            v += 1;
        }
        l += 1;
    }
    let next = (alpha + beta) % 5;
    let rows = minus(s * inverse(next));
    let c = 3 * s * beta * inverse(next) % 5;
    let across = 3 * alpha % 5;
    // Where next + across = 0 modulo 5, the next round could not bring its rows into lanes.
    let target = if (next + across) % 5 == 0 { next * inverse(2) % 5 } else { across };
    let shear = (target + minus(across)) * inverse(c) % 5;
    let columns = minus(c * inverse(target));
    let layout = Layout { s: columns * next % 5, alpha: next, beta: target };
    (Step { s, rho, rows, alpha: next, shear, columns }, layout)
}

static STEPS: [Step; PERIOD] = STEP;
const STEP: [Step; PERIOD] = {
    let mut steps = [step(FIRST).0; PERIOD];
    let mut layout = FIRST;
    let mut i = 0;
    while i < PERIOD {
        (steps[i], layout) = step(layout);
        i += 1;
    }
    assert!(layout.s == FIRST.s && layout.alpha == FIRST.alpha && layout.beta == FIRST.beta);
    steps
};

#[inline(always)]
unsafe fn xor3(a: __m512i, b: __m512i, c: __m512i) -> __m512i {
    unsafe { _mm512_ternarylogic_epi64::<0x96>(a, b, c) }
}

/// The lanes of `a` turned
#[inline(always)]
unsafe fn turn(a: __m512i, by: usize, turns: &[__m512i; 5]) -> __m512i {
    if by == 0 { a } else { unsafe { _mm512_permutexvar_epi64(turns[by], a) } }
}

/// Lane l's words `by` times l vectors further on.
#[inline(always)]
unsafe fn shear(mut a: [__m512i; 5], by: usize) -> [__m512i; 5] {
    for bit in [1, 2, 4] {
        let mut mask = 0;
        for l in 0..5 {
            if l * by % 5 & bit != 0 {
                mask |= 1 << l;
            }
        }
        let b = a;
        for v in 0..5 {
            a[v] = unsafe { _mm512_mask_blend_epi64(mask, b[v], b[(v + 5 - bit) % 5]) };
        }
    }
    a
}

#[inline(always)]
unsafe fn round<const R: usize>(a: [__m512i; 5], rc: u64, turns: &[__m512i; 5]) -> [__m512i; 5] {
    unsafe {
        let step = const { &STEP[R] };
        let c = xor3(xor3(a[1], a[2], a[3]), a[4], a[0]);
        let left = turn(c, step.s, turns);
        let right = turn(_mm512_rol_epi64::<1>(c), 5 - step.s, turns);
        let mut b = a;
        for v in [1, 2, 3, 4, 0] {
            let rho = _mm512_loadu_si512(STEPS[R].rho[v].as_ptr().cast());
            b[v] = _mm512_rolv_epi64(xor3(a[v], left, right), rho);
            b[v] = turn(b[v], step.rows * v % 5, turns);
        }
        let mut e = b;
        for v in [1, 2, 3, 4, 0] {
            let (y, z) = (b[(v + step.alpha) % 5], b[(v + 2 * step.alpha) % 5]);
            e[v] = _mm512_ternarylogic_epi64::<0xd2>(b[v], y, z);
        }
        e[0] = _mm512_xor_si512(
            e[0],
            _mm512_zextsi128_si512(_mm_cvtsi64_si128(rc.cast_signed())),
        );
        if step.shear != 0 {
            e = shear(e, step.shear);
        }
        for v in 1..5 {
            e[v] = turn(e[v], step.columns * v % 5, turns);
        }
        e
    }
}

#[inline(always)]
unsafe fn rounds(mut a: [__m512i; 5], n: Rounds, turns: &[__m512i; 5]) -> [__m512i; 5] {
    for rc in RC[n.first()..].as_chunks::<PERIOD>().0 {
        macro_rules! all {
            ($($r:literal)*) => {
                $(a = unsafe { round::<$r>(a, rc[$r], turns) };)*
            };
        }
        all!(0 1 2 3 4 5 6 7 8 9 10 11);
    }
    a
}

#[inline(always)]
unsafe fn turns() -> [__m512i; 5] {
    ::core::array::from_fn(|by| {
        let lane = |l: usize| ((l + 5 - by) % 5) as i64;
        unsafe {
            _mm512_setr_epi64(lane(0), lane(1), lane(2), lane(3), lane(4), 5, 6, 7)
        }
    })
}

/// The first `words` words at `bytes`
#[inline(always)]
unsafe fn load(from: *const u8, words: usize) -> [__m512i; 5] {
    unsafe {
        let present = (1_u32 << words) - 1;
        let row = |y: usize| {
            _mm512_maskz_loadu_epi64((present >> (5 * y)) as u8 & 0x1f, from.wrapping_add(40 * y).cast())
        };
        shear([row(0), row(1), row(2), row(3), row(4)], FIRST.alpha)
    }
}

#[inline(always)]
unsafe fn store(a: [__m512i; 5], to: &mut [u64; 25]) {
    unsafe {
        let rows = shear(a, 5 - FIRST.alpha);
        for y in 0..5 {
            _mm512_mask_storeu_epi64(to.as_mut_ptr().add(5 * y).cast(), 0x1f, rows[y]);
        }
    }
}

/// For each `rate` bytes of `blocks`: xors them into the state, and permutes it.
pub(in super::super) fn absorb(
    _: Avx512,
    a: &mut [u64; 25],
    rounds: Rounds,
    rate: usize,
    blocks: &[u8],
) -> Kernel {
    common_blocks(rate, &[blocks]);
    // SAFETY: the token proves the features; there are `count` blocks of `rate` bytes.
    unsafe { absorb_blocks(a, rounds, rate, blocks) };
    KERNEL
}

/// Permutes the state.
pub(in super::super) fn permute(_: Avx512, a: &mut [u64; 25], rounds: Rounds) -> Kernel {
    // SAFETY: the token proves the features.
    unsafe { permute_state(a, rounds) };
    KERNEL
}

#[target_feature(enable = "avx512f")]
fn permute_state(a: &mut [u64; 25], n: Rounds) {
    // SAFETY: the feature is enabled here.
    unsafe {
        let turns = turns();
        store(rounds(load(a.as_ptr().cast(), 25), n, &turns), a);
    }
}

#[target_feature(enable = "avx512f")]
fn absorb_blocks(a: &mut [u64; 25], n: Rounds, rate: usize, blocks: &[u8]) {
    // SAFETY: the feature is enabled here.
    unsafe {
        let turns = turns();
        let mut v = load(a.as_ptr().cast(), 25);
        for block in blocks.chunks_exact(rate) {
            let words = load(block.as_ptr(), rate / 8);
            for i in 0..5 {
                v[i] = _mm512_xor_si512(v[i], words[i]);
            }
            v = rounds(v, n, &turns);
        }
        store(v, a);
    }
}

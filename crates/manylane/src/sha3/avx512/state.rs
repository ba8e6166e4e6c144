//! Keccak-p\[1600\] of one stream with AVX-512: the state in five vectors of five words.
//!
//! θ adds up columns, χ combines words of a row: both are quick where these words are in the same
//! lane of different vectors. Let word (x, y) be in vector α x + β y, lane s x, modulo 5: each column
//! has its lane. π only renames (x, y) as (y, 2x + 3y); after it, turning the lanes of each vector v
//! by a certain multiple of v gives each row its lane, and after χ another multiple does so for the
//! columns. So nothing is transposed, but the layout changes from round to round: α / β goes from 2
//! to 3, 1 and then 4, from where no turning leads on. Therefore every third round moves the words of
//! each lane to other vectors, by a multiple of the lane's number, which leads back to 2. After
//! twelve rounds all words are where they were.
//!
//! Counted for Intel's cores, a round is a chain of θ's parities (2 clocks), their rotation (1) and
//! turning (3), the sum (1), ρ (1), turning (3), χ (1) and turning (3): 15 clocks, and 2 more in
//! every third. It has 10 turns, which only port 5 does, 6 rotations, only port 0, and 13 other
//! operations, on either: 29, and 11 more in every third. Each of the two counts by itself asks for 16
//! clocks a round; but vectors that are ready together wait for one port, and then for the other. A
//! model of both ports comes to 23 where the longest chain goes first, and to 26.3 where, as these
//! cores do, an operation gets its port before it is known when it can start. Measured on a Xeon of
//! the Emerald Rapids family: 26.5.
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

/// Where the words are when a round begins: word (x, y) in vector α x + β y, lane s x, modulo 5.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Layout {
    s: usize,
    alpha: usize,
    beta: usize,
}

/// The layout that a permutation begins and ends with.
const FIRST: Layout = Layout { s: 1, alpha: 2, beta: 1 };

/// What a round does that depends on its layout.
#[derive(Clone, Copy)]
struct Step {
    /// x + 1 is so many lanes further on, before π.
    s: usize,
    /// x + 1 is so many vectors further on, after π.
    alpha: usize,
    /// Vector v is turned by v times this, which brings the rows of χ into lanes.
    rows: usize,
    /// Lane l goes l times this many vectors further on.
    shear: usize,
    /// Vector v is turned by v times this, which brings the columns of θ into lanes.
    columns: usize,
    /// The layout that the round begins with.
    layout: Layout,
}

/// -n modulo 5.
const fn minus(n: usize) -> usize {
    (5 - n % 5) % 5
}

/// 1 / n modulo 5.
const fn inverse(n: usize) -> usize {
    n * n * n % 5
}

/// A round from a layout, and the layout that it ends with.
const fn step(layout: Layout) -> (Step, Layout) {
    let Layout { s, alpha, beta } = layout;
    // After π, x = x' + 3 y' and y = x': the word is in vector (α + β) x' + 3 α y', lane s (x' + 3 y').
    let (along, across) = ((alpha + beta) % 5, 3 * alpha % 5);
    let rows = minus(s * inverse(along));
    let lane = (3 * s + rows * across) % 5;
    // Where both coefficients add up to 0, the next round could not bring its rows into lanes. Half
    // of the first instead of the second makes their ratio 2.
    let stuck = (along + across).is_multiple_of(5);
    let beta = if stuck { along * inverse(2) % 5 } else { across };
    let shear = (beta + minus(across)) * inverse(lane) % 5;
    let columns = minus(lane * inverse(beta));
    let next = Layout { s: columns * along % 5, alpha: along, beta };
    (Step { s, alpha: along, rows, shear, columns, layout }, next)
}

const STEPS: [Step; PERIOD] = {
    let (mut steps, mut layout) = ([step(FIRST).0; PERIOD], FIRST);
    let mut round = 0;
    while round < PERIOD {
        (steps[round], layout) = step(layout);
        round += 1;
    }
    assert!(layout.s == FIRST.s && layout.alpha == FIRST.alpha && layout.beta == FIRST.beta);
    steps
};

/// ρ's offsets for each round's vectors.
#[repr(align(64))]
struct Offsets([[[u64; 8]; 5]; PERIOD]);

static OFFSETS: Offsets = {
    // FIPS 202, table 2, modulo 64, of word x + 5 y.
    let rho = [
        0, 1, 62, 28, 27, 36, 44, 6, 55, 20, 3, 10, 43, 25, 39, 41, 45, 15, 21, 8, 18, 2, 61, 56,
        14,
    ];
    let mut offsets = [[[0; 8]; 5]; PERIOD];
    let mut i = 0;
    while i < PERIOD * 25 {
        let (round, x, y) = (i / 25, i % 5, i / 5 % 5);
        let Layout { s, alpha, beta } = STEPS[round].layout;
        offsets[round][(alpha * x + beta * y) % 5][s * x % 5] = rho[x + 5 * y];
        i += 1;
    }
    Offsets(offsets)
};

/// For each `rate` bytes of `blocks`: xors them into the state, and permutes it.
pub(in super::super) fn absorb(
    _: Avx512,
    a: &mut [u64; 25],
    rounds: Rounds,
    rate: usize,
    blocks: &[u8],
) -> Kernel {
    common_blocks(rate, &[blocks]);
    // SAFETY: the token proves the features; `blocks` are whole blocks.
    unsafe { absorb_blocks(a, blocks.as_ptr(), rounds, rate, blocks.len()) };
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
    unsafe { store(rounds(load(a), n, &turns()), a) }
}

/// # Safety
/// `blocks` points to `len` bytes, a multiple of `rate`.
#[target_feature(enable = "avx512f")]
unsafe fn absorb_blocks(a: &mut [u64; 25], blocks: *const u8, n: Rounds, rate: usize, len: usize) {
    // SAFETY: the feature is enabled here; `rate` bytes follow each multiple of it below `len`.
    unsafe {
        let turns = turns();
        let mut state = load(a);
        let mut at = 0;
        while at < len {
            let words = load_block(blocks.add(at), rate / 8);
            for v in 0..5 {
                state[v] = _mm512_xor_si512(state[v], words[v]);
            }
            state = rounds(state, n, &turns);
            at += rate;
        }
        store(state, a);
    }
}

/// Keccak-p\[1600, `n`\] (FIPS 202, clause 3.3).
///
/// # Safety
/// The processor has AVX-512 F; `turns` are [`turns`]'s.
#[inline(always)]
unsafe fn rounds(mut a: [__m512i; 5], n: Rounds, turns: &[__m512i; 5]) -> [__m512i; 5] {
    for rc in RC[n.first()..].as_chunks::<PERIOD>().0 {
        macro_rules! each {
            ($($round:literal)*) => {
                // SAFETY: the caller's proof.
                $(a = unsafe { round::<$round>(a, rc[$round], turns) };)*
            };
        }
        each!(0 1 2 3 4 5 6 7 8 9 10 11);
    }
    a
}

/// Round `R` of a period (FIPS 202, clause 3.2): ι ∘ χ ∘ π ∘ ρ ∘ θ. Vector 0 is never turned, and
/// thus has time to come last.
///
/// # Safety
/// The processor has AVX-512 F; `turns` are [`turns`]'s.
#[inline(always)]
unsafe fn round<const R: usize>(a: [__m512i; 5], rc: u64, turns: &[__m512i; 5]) -> [__m512i; 5] {
    let step = const { &STEPS[R] };
    // SAFETY: the caller's proof; offsets are aligned to 64 bytes.
    unsafe {
        let parities = xor3(xor3(a[1], a[2], a[3]), a[4], a[0]);
        let left = turn(parities, step.s, turns);
        let right = turn(_mm512_rol_epi64::<1>(parities), 5 - step.s, turns);
        let mut b = a;
        for v in [1, 2, 3, 4, 0] {
            let offsets = _mm512_load_si512(OFFSETS.0[R][v].as_ptr().cast());
            let rotated = _mm512_rolv_epi64(xor3(a[v], left, right), offsets);
            b[v] = turn(rotated, v * step.rows % 5, turns);
        }
        let mut e = b;
        for v in [1, 2, 3, 4, 0] {
            let (y, z) = (b[(v + step.alpha) % 5], b[(v + 2 * step.alpha) % 5]);
            e[v] = _mm512_ternarylogic_epi64::<0xd2>(b[v], y, z);
        }
        // Word (0, 0) is in lane 0 of vector 0, whatever the layout.
        let rc = _mm512_zextsi128_si512(_mm_cvtsi64_si128(rc.cast_signed()));
        e[0] = _mm512_xor_si512(e[0], rc);
        e = shear(e, step.shear);
        for v in 1..5 {
            e[v] = turn(e[v], v * step.columns % 5, turns);
        }
        e
    }
}

/// Exclusive or of three.
///
/// # Safety
/// The processor has AVX-512 F.
#[inline(always)]
unsafe fn xor3(a: __m512i, b: __m512i, c: __m512i) -> __m512i {
    // SAFETY: the caller's proof.
    unsafe { _mm512_ternarylogic_epi64::<0x96>(a, b, c) }
}

/// The indices that [`turn`] takes for each distance.
///
/// # Safety
/// The processor has AVX-512 F.
#[inline(always)]
unsafe fn turns() -> [__m512i; 5] {
    ::core::array::from_fn(|by| {
        let lane = |l: i64| (l + 5 - by as i64) % 5;
        // SAFETY: the caller's proof.
        unsafe { _mm512_setr_epi64(lane(0), lane(1), lane(2), lane(3), lane(4), 5, 6, 7) }
    })
}

/// The first five lanes turned: what was in lane l is in lane l + `by`, modulo 5.
///
/// # Safety
/// The processor has AVX-512 F; `turns` are [`turns`]'s.
#[inline(always)]
unsafe fn turn(a: __m512i, by: usize, turns: &[__m512i; 5]) -> __m512i {
    // SAFETY: the caller's proof.
    if by == 0 { a } else { unsafe { _mm512_permutexvar_epi64(turns[by], a) } }
}

/// What was in lane l of vector v is then in vector v + `by` l, modulo 5; bit by bit of the distance.
///
/// # Safety
/// The processor has AVX-512 F.
#[inline(always)]
unsafe fn shear(mut a: [__m512i; 5], by: usize) -> [__m512i; 5] {
    if by == 0 {
        return a;
    }
    for bit in [1, 2, 4] {
        let mut lanes = 0;
        for l in 0..5 {
            if (by * l % 5) & bit != 0 {
                lanes |= 1 << l;
            }
        }
        let from = a;
        for v in 0..5 {
            // SAFETY: the caller's proof.
            a[v] = unsafe { _mm512_mask_blend_epi64(lanes, from[v], from[(v + 5 - bit) % 5]) };
        }
    }
    a
}

/// The words of a state, in [`FIRST`]'s layout.
///
/// # Safety
/// The processor has AVX-512 F.
#[inline(always)]
unsafe fn load(a: &[u64; 25]) -> [__m512i; 5] {
    // SAFETY: the caller's proof; a row has five words.
    unsafe {
        // In two loads, each from what one store of `store` has written: so they need not wait
        // until that is in the cache.
        let row = |y: usize| {
            let at = a.as_ptr().add(5 * y);
            let four = _mm512_castsi256_si512(_mm256_loadu_si256(at.cast()));
            _mm512_inserti32x4::<2>(four, _mm_loadl_epi64(at.add(4).cast()))
        };
        from_rows([row(0), row(1), row(2), row(3), row(4)])
    }
}

/// The first `words` words of a state, in [`FIRST`]'s layout, and zeros for the others.
///
/// # Safety
/// The processor has AVX-512 F, and `from` points to `words` words.
#[inline(always)]
unsafe fn load_block(from: *const u8, words: usize) -> [__m512i; 5] {
    let present = (1_u32 << words) - 1;
    // SAFETY: the caller's proof; words that are not present are not read.
    unsafe {
        let row = |y: usize| {
            let lanes = (present >> (5 * y) & 0x1f) as u8;
            _mm512_maskz_loadu_epi64(lanes, from.wrapping_add(40 * y).cast())
        };
        from_rows([row(0), row(1), row(2), row(3), row(4)])
    }
}

/// [`FIRST`]'s layout from rows: words are in their lanes, but each x by α times x further back in
/// vectors.
///
/// # Safety
/// The processor has AVX-512 F.
#[inline(always)]
unsafe fn from_rows(rows: [__m512i; 5]) -> [__m512i; 5] {
    const { assert!(FIRST.s == 1 && FIRST.beta == 1) };
    // SAFETY: the caller's proof.
    unsafe { shear(rows, FIRST.alpha) }
}

/// The inverse of [`load`].
///
/// # Safety
/// The processor has AVX-512 F.
#[inline(always)]
unsafe fn store(a: [__m512i; 5], to: &mut [u64; 25]) {
    // SAFETY: the caller's proof; there are eight words from each of the first four rows, and the
    // last has five.
    unsafe {
        let rows = shear(a, minus(FIRST.alpha));
        // What is too much is overwritten by the next row.
        for y in 0..4 {
            _mm512_storeu_si512(to.as_mut_ptr().add(5 * y).cast(), rows[y]);
        }
        _mm256_storeu_si256(to.as_mut_ptr().add(20).cast(), _mm512_castsi512_si256(rows[4]));
        let last = _mm512_extracti32x4_epi32::<2>(rows[4]);
        _mm_storel_epi64(to.as_mut_ptr().add(24).cast(), last);
    }
}

//! SM3's compression over any vector of 32-bit lanes, written once.
//!
//! A machine file names its vector type, implements [`Vector`] for it, and instantiates
//! [`compress`] and [`compress_constant`] inside a function with its `target_feature`; everything
//! here is inlined there. State and the rolling sixteen words are variables that are renamed from
//! round to round instead of moved.
#![allow(unsafe_code)]

use super::{
    T,
    counter::{LANE_WORDS, VARIES, WORDS},
    dispatch::{Expanded, State},
};

/// A vector of 32-bit lanes.
///
/// # Safety
/// Callers of every function prove that the processor has the machine's instructions.
pub(super) trait Vector: Copy {
    /// Every lane `x`.
    unsafe fn splat(x: u32) -> Self;
    /// Lane-wise sum modulo 2³².
    unsafe fn add(self, other: Self) -> Self;
    /// Lane-wise exclusive or.
    unsafe fn xor(self, other: Self) -> Self;
    /// Lane-wise rotation to the left by `N` bits.
    unsafe fn rol<const N: i32>(self) -> Self;
    /// FF_j for j ≥ 16: the majority of each bit.
    unsafe fn majority(self, y: Self, z: Self) -> Self;
    /// GG_j for j ≥ 16: each bit of `self` chooses from `y` or `z`.
    unsafe fn choose(self, y: Self, z: Self) -> Self;
    /// The words of `lanes`.
    unsafe fn load(lanes: *const u32) -> Self;
    /// Stores the words to `lanes`.
    unsafe fn store(self, lanes: *mut u32);
    /// Xors the words of `v`, lane by lane as big-endian bytes, into 32 bytes a lane at `data`.
    unsafe fn xor_digests(v: [Self; 8], data: *mut u8);

    /// Exclusive or of three.
    #[inline(always)]
    unsafe fn xor3(self, y: Self, z: Self) -> Self {
        // SAFETY: the caller's proof.
        unsafe { self.xor(y).xor(z) }
    }

    /// x ^ (x <<< 9) ^ (x <<< 17), as P_0.
    #[inline(always)]
    unsafe fn p0(self) -> Self {
        // SAFETY: the caller's proof.
        unsafe { self.xor3(self.rol::<9>(), self.rol::<17>()) }
    }

    /// x ^ (x <<< 15) ^ (x <<< 23), as P_1.
    #[inline(always)]
    unsafe fn p1(self) -> Self {
        // SAFETY: the caller's proof.
        unsafe { self.xor3(self.rol::<15>(), self.rol::<23>()) }
    }
}

/// One round: `$d` becomes the next A, `$h` the next E; `$b` and `$f` are rotated in place.
macro_rules! round {
    ($low:literal, $j:expr, [$a:ident $b:ident $c:ident $d:ident],
     [$e:ident $f:ident $g:ident $h:ident], $w:expr, $w_prime:expr) => {
        let a12 = $a.rol::<12>();
        let ss1 = a12.add(V::splat(T[$j])).add($e).rol::<7>();
        let ss2 = ss1.xor(a12);
        let (ff, gg) = if $low {
            ($a.xor3($b, $c), $e.xor3($f, $g))
        } else {
            ($a.majority($b, $c), $e.choose($f, $g))
        };
        let tt1 = ff.add($d.add($w_prime)).add(ss2);
        let tt2 = gg.add($h.add($w)).add(ss1);
        $b = $b.rol::<9>();
        $f = $f.rol::<19>();
        $d = tt1;
        $h = tt2.p0();
    };
}

/// Four rounds, after which the variables have their names back.
macro_rules! rounds4 {
    ($low:literal, $j:expr, $a:ident $b:ident $c:ident $d:ident $e:ident $f:ident $g:ident
     $h:ident, $words:ident) => {
        let (w, w_prime) = $words!($j);
        round!($low, $j, [$a $b $c $d], [$e $f $g $h], w, w_prime);
        let (w, w_prime) = $words!($j + 1);
        round!($low, $j + 1, [$d $a $b $c], [$h $e $f $g], w, w_prime);
        let (w, w_prime) = $words!($j + 2);
        round!($low, $j + 2, [$c $d $a $b], [$g $h $e $f], w, w_prime);
        let (w, w_prime) = $words!($j + 3);
        round!($low, $j + 3, [$b $c $d $a], [$f $g $h $e], w, w_prime);
    };
}

/// All 64 rounds and the feed-forward on `$v`, words from the macro `$words`.
macro_rules! rounds64 {
    ($v:ident, $words:ident) => {
        let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = *$v;
        rounds4!(true, 0, a b c d e f g h, $words);
        rounds4!(true, 4, a b c d e f g h, $words);
        rounds4!(true, 8, a b c d e f g h, $words);
        rounds4!(true, 12, a b c d e f g h, $words);
        rounds4!(false, 16, a b c d e f g h, $words);
        rounds4!(false, 20, a b c d e f g h, $words);
        rounds4!(false, 24, a b c d e f g h, $words);
        rounds4!(false, 28, a b c d e f g h, $words);
        rounds4!(false, 32, a b c d e f g h, $words);
        rounds4!(false, 36, a b c d e f g h, $words);
        rounds4!(false, 40, a b c d e f g h, $words);
        rounds4!(false, 44, a b c d e f g h, $words);
        rounds4!(false, 48, a b c d e f g h, $words);
        rounds4!(false, 52, a b c d e f g h, $words);
        rounds4!(false, 56, a b c d e f g h, $words);
        rounds4!(false, 60, a b c d e f g h, $words);
        let next = [a, b, c, d, e, f, g, h];
        for i in 0..8 {
            $v[i] = $v[i].xor(next[i]);
        }
    };
}

/// One block in every lane: `w` holds its sixteen words and is used up.
///
/// # Safety
/// The processor has `V`'s machine.
#[inline(always)]
pub(super) unsafe fn block<V: Vector>(v: &mut [V; 8], w: &mut [V; 16]) {
    // SAFETY: the caller's proof is all that `Vector` asks for.
    unsafe {
        macro_rules! words {
            ($j:expr) => {{
                // W_(j+4), into the slot of W_(j-12), which no later word needs.
                if $j + 4 >= 16 {
                    w[($j + 4) % 16] = w[($j + 4) % 16]
                        .xor3(w[($j + 11) % 16], w[($j + 1) % 16].rol::<15>())
                        .p1()
                        .xor3(w[($j + 7) % 16].rol::<7>(), w[($j + 14) % 16]);
                }
                (w[$j % 16], w[$j % 16].xor(w[($j + 4) % 16]))
            }};
        }
        rounds64!(v, words);
    }
}

/// Blocks in every lane; `words(k)` loads block `k`'s sixteen words.
///
/// # Safety
/// The processor has `V`'s machine, and `V` has `L` lanes.
#[inline(always)]
pub(super) unsafe fn compress<V: Vector, const L: usize>(
    state: &mut State<L>,
    blocks: usize,
    words: impl Fn(usize) -> [V; 16],
) {
    const { assert!(size_of::<V>() == 4 * L) };
    // SAFETY: each row of `state` has the `L` words that `V` loads and stores; the rest is the
    // caller's proof.
    unsafe {
        let mut v = [V::splat(0); 8];
        for i in 0..8 {
            v[i] = V::load(state.0[i].as_ptr());
        }
        for k in 0..blocks {
            block(&mut v, &mut words(k));
        }
        for i in 0..8 {
            v[i].store(state.0[i].as_mut_ptr());
        }
    }
}

/// One block that all lanes share, already expanded.
///
/// # Safety
/// The processor has `V`'s machine, and `V` has `L` lanes.
#[inline(always)]
pub(super) unsafe fn compress_constant<V: Vector, const L: usize>(
    state: &mut State<L>,
    expanded: &Expanded,
) {
    const { assert!(size_of::<V>() == 4 * L) };
    // SAFETY: as in `compress`.
    unsafe {
        let mut lanes = [V::splat(0); 8];
        for i in 0..8 {
            lanes[i] = V::load(state.0[i].as_ptr());
        }
        let v = &mut lanes;
        macro_rules! words {
            ($j:expr) => {
                (V::splat(expanded.w[$j]), V::splat(expanded.w_prime[$j]))
            };
        }
        rounds64!(v, words);
        for i in 0..8 {
            v[i].store(state.0[i].as_mut_ptr());
        }
    }
}

/// CF from the chaining value `v` of as many counter blocks as there are lanes, which share `words`,
/// xored into 32 bytes a lane at `data`.
///
/// # Safety
/// The processor has `V`'s machine, `V` has `L` lanes, and `data` is valid for reads and writes of
/// 32 `L` bytes.
#[inline(always)]
pub(super) unsafe fn xor_counters<V: Vector, const L: usize>(
    v: &[u32; 8],
    words: &[u32; WORDS],
    data: *mut u8,
) {
    const { assert!(size_of::<V>() == 4 * L && L <= 16) };
    // SAFETY: rows of the lanes' words have sixteen, of which `V` loads `L`; the rest is the
    // caller's proof.
    unsafe {
        let mut lanes = [V::splat(0); 8];
        for i in 0..8 {
            lanes[i] = V::splat(v[i]);
        }
        let v = &mut lanes;
        macro_rules! word {
            ($j:expr) => {{
                let shared = V::splat(words[$j]);
                if VARIES[$j] { shared.xor(V::load(LANE_WORDS.0[$j].as_ptr())) } else { shared }
            }};
        }
        macro_rules! words {
            ($j:expr) => {
                (word!($j), word!(64 + $j))
            };
        }
        rounds64!(v, words);
        V::xor_digests(lanes, data);
    }
}

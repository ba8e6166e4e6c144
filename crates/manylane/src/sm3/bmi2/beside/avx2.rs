//! Eight lanes with AVX2: sixteen rounds of theirs beside a block, one a part.
#![allow(unsafe_code)]

use ::core::arch::x86_64::*;

use super::{
    super::super::avx2::{self, U32x8},
    *,
};
use crate::cpu::{Avx2, Bmi2};

const KERNEL: Kernel = Kernel::new("sm3/avx2-beside", Machine::Avx2);

/// Blocks of the stream in a batch, which are expanded together.
pub(in super::super::super) const BATCH: usize = 8;

/// Rotation of `$x` to the left, in place, through `$t`.
#[rustfmt::skip]
macro_rules! rol {
    ($x:tt, $t:literal, $left:literal, $right:literal) => {
        concat!(
            "vpslld ", $t, ", ", $x, ", ", $left, "\n",
            "vpsrld ", $x, ", ", $x, ", ", $right, "\n",
            "vpor ", $x, ", ", $x, ", ", $t, "\n",
        )
    };
}

/// FF of a, b and c into ymm2; GG of e, f and g into ymm3.
#[rustfmt::skip]
macro_rules! ff_gg {
    (low, $a:tt $b:tt $c:tt $e:tt $f:tt $g:tt) => {
        concat!(
            "vpxor ymm2, ", $a, ", ", $b, "\n",
            "vpxor ymm3, ", $e, ", ", $f, "\n",
            "vpxor ymm2, ymm2, ", $c, "\n",
            "vpxor ymm3, ymm3, ", $g, "\n",
        )
    };
    // Where a and b differ, c decides; elsewhere b does. (f ^ g) & e ^ g.
    (high, $a:tt $b:tt $c:tt $e:tt $f:tt $g:tt) => {
        concat!(
            "vpxor ymm2, ", $a, ", ", $b, "\n",
            "vpxor ymm4, ", $b, ", ", $c, "\n",
            "vpxor ymm3, ", $f, ", ", $g, "\n",
            "vpand ymm2, ymm2, ymm4\n",
            "vpand ymm3, ymm3, ", $e, "\n",
            "vpxor ymm2, ymm2, ", $b, "\n",
            "vpxor ymm3, ymm3, ", $g, "\n",
        )
    };
}

/// Round `$i` of the sixteen beside a block. It leaves ymm0 and ymm1 alone, in which a part of the
/// expansion hands its work on to the next; ymm5 holds the byte shuffle of a rotation by 8.
#[rustfmt::skip]
macro_rules! lanes_round {
    ($kind:ident, $i:literal, $a:tt $b:tt $c:tt $d:tt $e:tt $f:tt $g:tt $h:tt) => {
        concat!(
            "mov r11, qword ptr [rsp + 24]\n",
            "mov r12, qword ptr [rsp + 32]\n",
            "vpbroadcastd ymm7, dword ptr [r11 + 512 + 4 * ", $i, "]\n",
            "vpslld ymm6, ", $a, ", 12\n",
            "vpsrld ymm4, ", $a, ", 20\n",
            "vpor ymm6, ymm6, ymm4\n",
            "vpbroadcastd ymm2, dword ptr [r11 + 4 * ", $i, "]\n",
            "vpbroadcastd ymm3, dword ptr [r11 + 256 + 4 * ", $i, "]\n",
            "vpaddd ymm7, ymm7, ", $e, "\n",
            "vpxor ymm2, ymm2, ymmword ptr [r12 + 64 * ", $i, "]\n",
            "vpaddd ymm4, ymm7, ymm6\n",
            "vpxor ymm3, ymm3, ymmword ptr [r12 + 4096 + 64 * ", $i, "]\n",
            "vpslld ymm7, ymm4, 7\n",
            "vpsrld ymm4, ymm4, 25\n",
            "vpaddd ", $h, ", ", $h, ", ymm2\n",
            "vpaddd ", $d, ", ", $d, ", ymm3\n",
            "vpor ymm7, ymm7, ymm4\n",
            ff_gg!($kind, $a $b $c $e $f $g),
            "vpxor ymm6, ymm6, ymm7\n",
            "vpaddd ", $h, ", ", $h, ", ymm7\n",
            "vpaddd ", $d, ", ", $d, ", ymm2\n",
            "vpaddd ", $h, ", ", $h, ", ymm3\n",
            "vpaddd ", $d, ", ", $d, ", ymm6\n",
            rol!($b, "ymm2", "9", "23"),
            "vpshufb ymm3, ", $h, ", ymm5\n",
            "vpxor ymm3, ymm3, ", $h, "\n",
            rol!($f, "ymm6", "19", "13"),
            "vpslld ymm2, ymm3, 9\n",
            "vpsrld ymm3, ymm3, 23\n",
            "vpxor ", $h, ", ", $h, ", ymm2\n",
            "vpxor ", $h, ", ", $h, ", ymm3\n",
        )
    };
}

/// Part `$n`: of the stream's expansion, and a round of the lanes.
#[rustfmt::skip]
macro_rules! avx2_beside {
    ($kind:ident, 0) => {
        concat!(avx2_part!(0), lanes_round!($kind, "0", "ymm8" "ymm9" "ymm10" "ymm11" "ymm12" "ymm13" "ymm14" "ymm15"))
    };
    ($kind:ident, 1) => {
        concat!(avx2_part!(1), lanes_round!($kind, "1", "ymm11" "ymm8" "ymm9" "ymm10" "ymm15" "ymm12" "ymm13" "ymm14"))
    };
    ($kind:ident, 2) => {
        concat!(avx2_part!(2), lanes_round!($kind, "2", "ymm10" "ymm11" "ymm8" "ymm9" "ymm14" "ymm15" "ymm12" "ymm13"))
    };
    ($kind:ident, 3) => {
        concat!(avx2_part!(3), lanes_round!($kind, "3", "ymm9" "ymm10" "ymm11" "ymm8" "ymm13" "ymm14" "ymm15" "ymm12"))
    };
    ($kind:ident, 4) => {
        concat!(avx2_part!(4), lanes_round!($kind, "4", "ymm8" "ymm9" "ymm10" "ymm11" "ymm12" "ymm13" "ymm14" "ymm15"))
    };
    ($kind:ident, 5) => {
        concat!(avx2_part!(5), lanes_round!($kind, "5", "ymm11" "ymm8" "ymm9" "ymm10" "ymm15" "ymm12" "ymm13" "ymm14"))
    };
    ($kind:ident, 6) => {
        concat!(avx2_part!(6), lanes_round!($kind, "6", "ymm10" "ymm11" "ymm8" "ymm9" "ymm14" "ymm15" "ymm12" "ymm13"))
    };
    ($kind:ident, 7) => {
        concat!(avx2_part!(7), lanes_round!($kind, "7", "ymm9" "ymm10" "ymm11" "ymm8" "ymm13" "ymm14" "ymm15" "ymm12"))
    };
    ($kind:ident, 8) => {
        concat!(avx2_part!(8), lanes_round!($kind, "8", "ymm8" "ymm9" "ymm10" "ymm11" "ymm12" "ymm13" "ymm14" "ymm15"))
    };
    ($kind:ident, 9) => {
        concat!(avx2_part!(9), lanes_round!($kind, "9", "ymm11" "ymm8" "ymm9" "ymm10" "ymm15" "ymm12" "ymm13" "ymm14"))
    };
    ($kind:ident, 10) => {
        concat!(avx2_part!(10), lanes_round!($kind, "10", "ymm10" "ymm11" "ymm8" "ymm9" "ymm14" "ymm15" "ymm12" "ymm13"))
    };
    ($kind:ident, 11) => {
        concat!(avx2_part!(11), lanes_round!($kind, "11", "ymm9" "ymm10" "ymm11" "ymm8" "ymm13" "ymm14" "ymm15" "ymm12"))
    };
    ($kind:ident, 12) => {
        concat!(avx2_part!(12), lanes_round!($kind, "12", "ymm8" "ymm9" "ymm10" "ymm11" "ymm12" "ymm13" "ymm14" "ymm15"))
    };
    ($kind:ident, 13) => {
        concat!(avx2_part!(13), lanes_round!($kind, "13", "ymm11" "ymm8" "ymm9" "ymm10" "ymm15" "ymm12" "ymm13" "ymm14"))
    };
    ($kind:ident, 14) => {
        concat!(avx2_part!(14), lanes_round!($kind, "14", "ymm10" "ymm11" "ymm8" "ymm9" "ymm14" "ymm15" "ymm12" "ymm13"))
    };
    ($kind:ident, 15) => {
        concat!(avx2_part!(15), lanes_round!($kind, "15", "ymm9" "ymm10" "ymm11" "ymm8" "ymm13" "ymm14" "ymm15" "ymm12"))
    };
}
/// For the first sixteen rounds of the lanes, where FF and GG are exclusive ors.
macro_rules! avx2_beside_low {
    ($n:tt) => {
        avx2_beside!(low, $n)
    };
}
/// For the others: majority and choice.
macro_rules! avx2_beside_high {
    ($n:tt) => {
        avx2_beside!(high, $n)
    };
}

/// A word of the lanes' chaining values at r11 into all lanes.
macro_rules! start {
    ($x:literal $i:literal) => {
        concat!("vpbroadcastd ", $x, ", dword ptr [r11 + 4 * ", $i, "]\n")
    };
}

/// A word of the lanes, xored with the one that they started from, to memory.
#[rustfmt::skip]
macro_rules! end {
    ($x:literal $i:literal) => {
        concat!(
            "vpbroadcastd ymm2, dword ptr [r11 + 4 * ", $i, "]\n",
            "vpxor ", $x, ", ", $x, ", ymm2\n",
            "vmovdqa ymmword ptr [r12 + 32 * ", $i, "], ", $x, "\n",
        )
    };
}

/// Hashes the blocks of `data` into `v` and xors the key stream that starts from `key` into it, from
/// `counter`.
///
/// # Panics
/// Unless `data` is of whole batches, and `counter` that of a first lane.
pub(in super::super::super) fn crypt(
    _: (Bmi2, Avx2),
    v: &mut [u32; 8],
    key: &[u32; 8],
    counter: u32,
    data: &mut [[u8; 64]],
    direction: Direction,
) -> Kernel {
    // SAFETY: the tokens prove the features.
    unsafe { crypt_ymm(v, key, counter, data, direction) };
    KERNEL
}

#[rustfmt::skip]
macro_rules! batch {
    ($rol8:ident, $($pointers:tt)*) => {
        batch_beside!(
            two_adds, "32", "256", "16",
            concat!(
                start!("ymm8" "0"), start!("ymm9" "1"), start!("ymm10" "2"), start!("ymm11" "3"),
                start!("ymm12" "4"), start!("ymm13" "5"), start!("ymm14" "6"), start!("ymm15" "7"),
            ),
            "1" avx2_beside_low, "3" avx2_beside_high,
            concat!(
                end!("ymm8" "0"), end!("ymm9" "1"), end!("ymm10" "2"), end!("ymm11" "3"),
                end!("ymm12" "4"), end!("ymm13" "5"), end!("ymm14" "6"), end!("ymm15" "7"),
            ),
            "256", [$($pointers)*],
            in("ymm5") $rol8,
            out("ymm0") _, out("ymm1") _, out("ymm2") _, out("ymm3") _, out("ymm4") _,
            out("ymm6") _, out("ymm7") _, out("ymm8") _, out("ymm9") _, out("ymm10") _,
            out("ymm11") _, out("ymm12") _, out("ymm13") _, out("ymm14") _, out("ymm15") _,
        )
    };
}

#[inline(never)]
#[target_feature(enable = "bmi2,avx2")]
fn crypt_ymm(
    v: &mut [u32; 8],
    key: &[u32; 8],
    counter: u32,
    data: &mut [[u8; 64]],
    direction: Direction,
) {
    // SAFETY: the features are enabled here; `rounds` gets two schedules, two groups with their
    // results, and only plain words in `next`, whatever they are.
    unsafe {
        batches::<U32x8, BATCH>(
            v,
            key,
            counter,
            data,
            lead(direction),
            |batch| {
                let rows = |half: usize| ::core::array::from_fn(|i| row(batch, i).add(32 * half));
                let [low, high] = [avx2::transpose(rows(0)), avx2::transpose(rows(1))];
                ::core::array::from_fn(|j| if j < 8 { low[j] } else { high[j - 8] })
            },
            |v, now, next, groups, lanes| {
                let rol8 = _mm256_broadcastsi128_si256(_mm_setr_epi8(
                    3, 0, 1, 2, 7, 4, 5, 6, 11, 8, 9, 10, 15, 12, 13, 14,
                ));
                batch!(rol8, v, now, next, groups, key.as_ptr(), lanes);
            },
        );
    }
}

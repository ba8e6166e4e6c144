//! One SM3 stream on x86-64: scalar rounds with BMI2, the message expansion in vectors beside them.
//!
//! The rounds are a dependency chain through E and, equally long, through A. GG would take two
//! steps of it after E; but E = u ^ v with u = TT2 ^ (TT2 <<< 9) and v = TT2 <<< 17, so
//! GG = (u & (F ^ G)) ^ ((v & (F ^ G)) ^ G) is complete one step after E, at the price of two
//! operations. That leaves six steps a round, and 26 scalar operations:
//!
//! ```text
//! TT2 -> <<< 9 -> u -> E -> + ((A <<< 12) + T_j) -> <<< 7 = SS1 -> + (H + W_j + GG) = next TT2
//! ```
//!
//! The expansion has no chain from block to block: of a long input, the next sixteen (AVX-512) or
//! eight (AVX2) blocks are expanded in lanes, a few words between the rounds of each block before
//! them, and W and W' stored for the rounds to read.
#![allow(unsafe_code)]

use ::core::{
    arch::{asm, x86_64::*},
    mem::MaybeUninit,
};

use super::{
    Kernel, Machine, T,
    avx2::{self, U32x8},
    avx512::{self, U32x16},
    body::Vector,
};
use crate::cpu::{Avx512, Bmi2};

const KERNEL: Kernel = Kernel::new("sm3/bmi2", Machine::Bmi2);
const KERNEL_AVX512: Kernel = Kernel::new("sm3/bmi2-avx512", Machine::Avx512);

#[macro_use]
mod parts;

/// Rows of W and of W'. The standard has 68 and 64; the expansion writes up to 80, because it
/// computes 64 words a batch beside the rounds where 52 are needed.
const ROWS: usize = 80;

/// W and W' of as many blocks as there are lanes: row j holds word j of every block.
#[repr(C, align(64))]
struct Schedule<const L: usize> {
    w: [[u32; L]; ROWS],
    w_prime: [[u32; L]; ROWS],
}

/// FF_j added to D (`$d`), for j < 16 and for j ≥ 16.
macro_rules! ff {
    (low, $a:tt $b:tt $c:tt $d:tt) => {
        concat!(
            "mov r13d, ",
            $a,
            "\n xor r13d, ",
            $b,
            "\n xor r13d, ",
            $c,
            "\n add ",
            $d,
            ", r13d\n",
        )
    };
    // The two halves of the majority have no common bit, so a sum is an or.
    (high, $a:tt $b:tt $c:tt $d:tt) => {
        concat!(
            "mov r13d, ",
            $b,
            "\n xor r13d, ",
            $c,
            "\n and r13d, ",
            $a,
            "\n add ",
            $d,
            ", r13d\n",
            "mov r13d, ",
            $b,
            "\n and r13d, ",
            $c,
            "\n add ",
            $d,
            ", r13d\n",
        )
    };
}

/// The next round's GG, into r14d: that holds its F ^ G; r13d is u, r12d v, `$e` its E, `$g` its G.
macro_rules! gg {
    (low, $e:tt $g:tt) => {
        concat!("xor r14d, ", $e, "\n")
    };
    (high, $e:tt $g:tt) => {
        concat!("and r12d, r14d\n and r14d, r13d\n xor r12d, ", $g, "\n xor r14d, r12d\n")
    };
}

/// r12d = (A <<< 12) + T_j + E, where r11d holds A <<< 12. An `lea` of three parts takes one clock on
/// Intel's cores since Ice Lake (measured: a round takes 7.35 clocks for 7.95), two on AMD's and three
/// on Intel's before, where it would lengthen the chain.
macro_rules! ss1_sum {
    (two_adds, $j:literal, $e:tt) => {
        concat!("lea r12d, [r11 + {T", $j, "}]\n add r12d, ", $e, "\n")
    };
    (lea, $j:literal, $e:tt) => {
        concat!("lea r12d, [r11 + ", r64!($e), " + {T", $j, "}]\n")
    };
}

/// The 64-bit register whose low half holds a word of E … H.
macro_rules! r64 {
    ("edi") => {
        "rdi"
    };
    ("r8d") => {
        "r8"
    };
    ("r9d") => {
        "r9"
    };
    ("r10d") => {
        "r10"
    };
}

/// Round j: r15 points to W_0 of this block, rows are `$row` bytes apart, W' follows 80 rows of W.
macro_rules! round {
    ($sum:ident, $row:literal, $j:literal, $ff:ident, $gg:ident,
     $a:tt $b:tt $c:tt $d:tt $e:tt $f:tt $g:tt $h:tt) => {
        concat!(
            "rorx r11d, ", $a, ", 20\n",
            "add ", $h, ", dword ptr [r15 + ", $row, " * ", $j, "]\n",
            "add ", $d, ", dword ptr [r15 + ", $row, " * (80 + ", $j, ")]\n",
            "add ", $h, ", r14d\n",
            ss1_sum!($sum, $j, $e),
            ff!($ff, $a $b $c $d),
            "rorx ", $f, ", ", $f, ", 13\n",
            "rorx r12d, r12d, 25\n",
            "rorx ", $b, ", ", $b, ", 23\n",
            "add ", $h, ", r12d\n",
            "xor r11d, r12d\n",
            "mov r14d, ", $e, "\n",
            "rorx r13d, ", $h, ", 23\n",
            "rorx r12d, ", $h, ", 15\n",
            "xor r14d, ", $f, "\n",
            "xor r13d, ", $h, "\n",
            "add ", $d, ", r11d\n",
            "mov ", $h, ", r13d\n",
            "xor ", $h, ", r12d\n",
            gg!($gg, $h $f),
        )
    };
}

/// Four rounds, after which the registers have their names back; then a part of the expansion.
macro_rules! rounds4 {
    ($sum:ident, $row:literal, $ff:ident, $gg:ident $last:ident, $j0:literal $j1:literal $j2:literal $j3:literal) => {
        concat!(
            round!($sum, $row, $j0, $ff, $gg, "eax" "ecx" "edx" "esi" "edi" "r8d" "r9d" "r10d"),
            round!($sum, $row, $j1, $ff, $gg, "esi" "eax" "ecx" "edx" "r10d" "edi" "r8d" "r9d"),
            round!($sum, $row, $j2, $ff, $gg, "edx" "esi" "eax" "ecx" "r9d" "r10d" "edi" "r8d"),
            round!($sum, $row, $j3, $ff, $last, "ecx" "edx" "esi" "eax" "r8d" "r9d" "r10d" "edi"),
        )
    };
}

/// The 64 rounds of a block, `$part!(n)` giving the vector instructions after round 4 n + 3.
macro_rules! rounds64 {
    ($sum:ident, $row:literal, $part:ident) => {
        concat!(
            rounds4!($sum, $row, low, low low, 0 1 2 3), $part!(0),
            rounds4!($sum, $row, low, low low, 4 5 6 7), $part!(1),
            rounds4!($sum, $row, low, low low, 8 9 10 11), $part!(2),
            rounds4!($sum, $row, low, low high, 12 13 14 15), $part!(3),
            rounds4!($sum, $row, high, high high, 16 17 18 19), $part!(4),
            rounds4!($sum, $row, high, high high, 20 21 22 23), $part!(5),
            rounds4!($sum, $row, high, high high, 24 25 26 27), $part!(6),
            rounds4!($sum, $row, high, high high, 28 29 30 31), $part!(7),
            rounds4!($sum, $row, high, high high, 32 33 34 35), $part!(8),
            rounds4!($sum, $row, high, high high, 36 37 38 39), $part!(9),
            rounds4!($sum, $row, high, high high, 40 41 42 43), $part!(10),
            rounds4!($sum, $row, high, high high, 44 45 46 47), $part!(11),
            rounds4!($sum, $row, high, high high, 48 49 50 51), $part!(12),
            rounds4!($sum, $row, high, high high, 52 53 54 55), $part!(13),
            rounds4!($sum, $row, high, high high, 56 57 58 59), $part!(14),
            rounds4!($sum, $row, high, high high, 60 61 62 63), $part!(15),
        )
    };
}

/// `asm!` with T_j as the constant operands T0 … T63.
macro_rules! asm_with_t {
    ($template:expr, $($operands:tt)*) => {
        asm!(
            $template,
            T0 = const T[0].cast_signed(), T1 = const T[1].cast_signed(),
            T2 = const T[2].cast_signed(), T3 = const T[3].cast_signed(),
            T4 = const T[4].cast_signed(), T5 = const T[5].cast_signed(),
            T6 = const T[6].cast_signed(), T7 = const T[7].cast_signed(),
            T8 = const T[8].cast_signed(), T9 = const T[9].cast_signed(),
            T10 = const T[10].cast_signed(), T11 = const T[11].cast_signed(),
            T12 = const T[12].cast_signed(), T13 = const T[13].cast_signed(),
            T14 = const T[14].cast_signed(), T15 = const T[15].cast_signed(),
            T16 = const T[16].cast_signed(), T17 = const T[17].cast_signed(),
            T18 = const T[18].cast_signed(), T19 = const T[19].cast_signed(),
            T20 = const T[20].cast_signed(), T21 = const T[21].cast_signed(),
            T22 = const T[22].cast_signed(), T23 = const T[23].cast_signed(),
            T24 = const T[24].cast_signed(), T25 = const T[25].cast_signed(),
            T26 = const T[26].cast_signed(), T27 = const T[27].cast_signed(),
            T28 = const T[28].cast_signed(), T29 = const T[29].cast_signed(),
            T30 = const T[30].cast_signed(), T31 = const T[31].cast_signed(),
            T32 = const T[32].cast_signed(), T33 = const T[33].cast_signed(),
            T34 = const T[34].cast_signed(), T35 = const T[35].cast_signed(),
            T36 = const T[36].cast_signed(), T37 = const T[37].cast_signed(),
            T38 = const T[38].cast_signed(), T39 = const T[39].cast_signed(),
            T40 = const T[40].cast_signed(), T41 = const T[41].cast_signed(),
            T42 = const T[42].cast_signed(), T43 = const T[43].cast_signed(),
            T44 = const T[44].cast_signed(), T45 = const T[45].cast_signed(),
            T46 = const T[46].cast_signed(), T47 = const T[47].cast_signed(),
            T48 = const T[48].cast_signed(), T49 = const T[49].cast_signed(),
            T50 = const T[50].cast_signed(), T51 = const T[51].cast_signed(),
            T52 = const T[52].cast_signed(), T53 = const T[53].cast_signed(),
            T54 = const T[54].cast_signed(), T55 = const T[55].cast_signed(),
            T56 = const T[56].cast_signed(), T57 = const T[57].cast_signed(),
            T58 = const T[58].cast_signed(), T59 = const T[59].cast_signed(),
            T60 = const T[60].cast_signed(), T61 = const T[61].cast_signed(),
            T62 = const T[62].cast_signed(), T63 = const T[63].cast_signed(),
            $($operands)*
        )
    };
}

/// Three words of one block's expansion, W_(16+3k) … W_(18+3k), and three of W'. Vectors overlap:
/// R_k is W_(15+3k) … W_(18+3k) and D_k is W_(11+3k) … W_(14+3k), so that one shuffle makes D_k of
/// R_(k-1) and R_(k-2), and every word that the formula asks for is in a register.
macro_rules! three_words {
    (avx, $first:literal, $r:literal $r1:literal $r2:literal $r3:literal,
     $d:literal $d3:literal $d4:literal, $fix:expr) => {
        concat!(
            "vshufps ", $d, ", ", $r2, ", ", $r1, ", 0x9e\n",
            "vpslld xmm9, ", $r1, ", 15\n",
            "vpsrld xmm10, ", $r1, ", 17\n",
            "vpxor ", $r, ", ", $d4, ", ", $r3, "\n",
            "vpxor xmm9, xmm9, xmm10\n",
            "vpxor ", $r, ", ", $r, ", xmm9\n",
            "vpshufb xmm9, ", $r, ", xmm12\n",
            "vpslld xmm11, ", $d3, ", 7\n",
            "vpxor xmm9, xmm9, ", $r, "\n",
            "vpsrld xmm10, ", $d3, ", 25\n",
            "vpxor ", $r, ", ", $r, ", ", $r2, "\n",
            "vpxor xmm10, xmm10, xmm11\n",
            "vpslld xmm11, xmm9, 15\n",
            "vpsrld xmm9, xmm9, 17\n",
            "vpxor ", $r, ", ", $r, ", xmm10\n",
            "vpxor xmm9, xmm9, xmm11\n",
            "vpxor ", $r, ", ", $r, ", xmm9\n",
            three_words!(@store $first, $r, $d, $fix),
        )
    };
    (avx512vl, $first:literal, $r:literal $r1:literal $r2:literal $r3:literal,
     $d:literal $d3:literal $d4:literal, $fix:expr) => {
        concat!(
            "vshufps ", $d, ", ", $r2, ", ", $r1, ", 0x9e\n",
            "vprold ", $r, ", ", $r1, ", 15\n",
            "vpternlogd ", $r, ", ", $d4, ", ", $r3, ", 0x96\n",
            "vprold xmm9, ", $r, ", 15\n",
            "vprold xmm10, ", $r, ", 23\n",
            "vpternlogd ", $r, ", xmm9, xmm10, 0x96\n",
            "vprold xmm9, ", $d3, ", 7\n",
            "vpternlogd ", $r, ", xmm9, ", $r2, ", 0x96\n",
            three_words!(@store $first, $r, $d, $fix),
        )
    };
    (@store $first:literal, $r:literal, $d:literal, $fix:expr) => {
        concat!(
            $fix,
            "vmovdqu xmmword ptr [r15 + 4 * (15 + ", $first, ")], ", $r, "\n",
            "vpxor xmm9, ", $r, ", ", $d, "\n",
            "vmovdqu xmmword ptr [r15 + 4 * (80 + 11 + ", $first, ")], xmm9\n",
        )
    };
}

/// The expansion of one block beside its own rounds: the first nine words before them, then three
/// words in every part.
macro_rules! three_word_part {
    ($set:ident, before) => {
        concat!(
            three_words!($set, "0", "xmm0" "xmm3" "xmm2" "xmm1", "xmm4" "xmm6" "xmm5",
            // Nothing is left of W_15 in the first vector: W_(-1) does not exist.
            "vpshufd xmm9, xmm3, 0xff\n vpblendd xmm0, xmm0, xmm9, 1\n"),
            three_words!($set, "3", "xmm1" "xmm0" "xmm3" "xmm2", "xmm5" "xmm7" "xmm6", ""),
            three_words!($set, "6", "xmm2" "xmm1" "xmm0" "xmm3", "xmm6" "xmm8" "xmm7", ""),
        )
    };
    ($set:ident, 0) => { three_words!($set, "9", "xmm3" "xmm2" "xmm1" "xmm0", "xmm7" "xmm4" "xmm8", "") };
    ($set:ident, 1) => { three_words!($set, "12", "xmm0" "xmm3" "xmm2" "xmm1", "xmm8" "xmm5" "xmm4", "") };
    ($set:ident, 2) => { three_words!($set, "15", "xmm1" "xmm0" "xmm3" "xmm2", "xmm4" "xmm6" "xmm5", "") };
    ($set:ident, 3) => { three_words!($set, "18", "xmm2" "xmm1" "xmm0" "xmm3", "xmm5" "xmm7" "xmm6", "") };
    ($set:ident, 4) => { three_words!($set, "21", "xmm3" "xmm2" "xmm1" "xmm0", "xmm6" "xmm8" "xmm7", "") };
    ($set:ident, 5) => { three_words!($set, "24", "xmm0" "xmm3" "xmm2" "xmm1", "xmm7" "xmm4" "xmm8", "") };
    ($set:ident, 6) => { three_words!($set, "27", "xmm1" "xmm0" "xmm3" "xmm2", "xmm8" "xmm5" "xmm4", "") };
    ($set:ident, 7) => { three_words!($set, "30", "xmm2" "xmm1" "xmm0" "xmm3", "xmm4" "xmm6" "xmm5", "") };
    ($set:ident, 8) => { three_words!($set, "33", "xmm3" "xmm2" "xmm1" "xmm0", "xmm5" "xmm7" "xmm6", "") };
    ($set:ident, 9) => { three_words!($set, "36", "xmm0" "xmm3" "xmm2" "xmm1", "xmm6" "xmm8" "xmm7", "") };
    ($set:ident, 10) => { three_words!($set, "39", "xmm1" "xmm0" "xmm3" "xmm2", "xmm7" "xmm4" "xmm8", "") };
    ($set:ident, 11) => { three_words!($set, "42", "xmm2" "xmm1" "xmm0" "xmm3", "xmm8" "xmm5" "xmm4", "") };
    ($set:ident, 12) => { three_words!($set, "45", "xmm3" "xmm2" "xmm1" "xmm0", "xmm4" "xmm6" "xmm5", "") };
    ($set:ident, 13) => { three_words!($set, "48", "xmm0" "xmm3" "xmm2" "xmm1", "xmm5" "xmm7" "xmm6", "") };
    ($set:ident, 14) => { three_words!($set, "51", "xmm1" "xmm0" "xmm3" "xmm2", "xmm6" "xmm8" "xmm7", "") };
    ($set:ident, 15) => { "" };
}
macro_rules! three_word_part_avx {
    ($n:tt) => {
        three_word_part!(avx, $n)
    };
}
macro_rules! three_word_part_avx512vl {
    ($n:tt) => {
        three_word_part!(avx512vl, $n)
    };
}

/// The chaining value at r11 into the registers.
macro_rules! load_state {
    () => {
        concat!(
            "mov eax, dword ptr [r11]\n mov ecx, dword ptr [r11 + 4]\n",
            "mov edx, dword ptr [r11 + 8]\n mov esi, dword ptr [r11 + 12]\n",
            "mov edi, dword ptr [r11 + 16]\n mov r8d, dword ptr [r11 + 20]\n",
            "mov r9d, dword ptr [r11 + 24]\n mov r10d, dword ptr [r11 + 28]\n",
        )
    };
}

/// One block, and on to the next: the stack holds, from 8 bytes on, the row that `$part` expands,
/// which moves `$step` bytes, and the address of V.
macro_rules! block {
    ($sum:ident, $row:literal, $step:literal, $before:expr, $part:ident) => {
        concat!(
            "mov r14d, edi\n xor r14d, r8d\n xor r14d, r9d\n",
            $before,
            rounds64!($sum, $row, $part),
            "mov r11, qword ptr [rsp + 16]\n",
            "xor eax, dword ptr [r11]\n mov dword ptr [r11], eax\n",
            "xor ecx, dword ptr [r11 + 4]\n mov dword ptr [r11 + 4], ecx\n",
            "xor edx, dword ptr [r11 + 8]\n mov dword ptr [r11 + 8], edx\n",
            "xor esi, dword ptr [r11 + 12]\n mov dword ptr [r11 + 12], esi\n",
            "xor edi, dword ptr [r11 + 16]\n mov dword ptr [r11 + 16], edi\n",
            "xor r8d, dword ptr [r11 + 20]\n mov dword ptr [r11 + 20], r8d\n",
            "xor r9d, dword ptr [r11 + 24]\n mov dword ptr [r11 + 24], r9d\n",
            "xor r10d, dword ptr [r11 + 28]\n mov dword ptr [r11 + 28], r10d\n",
            "add r15, 4\n",
            "add qword ptr [rsp + 8], ",
            $step,
            "\n",
        )
    };
}

/// The rounds of `$count` blocks whose W begin at `$w`, chaining value at `$v`. `$next` is the first
/// row of the schedule that `$part` expands; it moves `$step` bytes a block. On the stack: the count,
/// the row, the address of V.
macro_rules! blocks_loop {
    ($sum:ident, $row:literal, $step:literal, $before:expr, $part:ident, $v:expr, $w:expr, $next:expr, $count:expr, $($clobber:tt)*) => {
        asm_with_t!(
            concat!(
                "push r11\n push r12\n push r13\n",
                load_state!(),
                ".p2align 5\n",
                "2:\n",
                block!($sum, $row, $step, $before, $part),
                "dec qword ptr [rsp]\n",
                "jnz 2b\n",
                "add rsp, 24\n",
            ),
            inout("r11") $v => _,
            inout("r12") $next => _,
            inout("r13") $count => _,
            inout("r15") $w => _,
            out("rax") _, out("rcx") _, out("rdx") _, out("rsi") _, out("rdi") _,
            out("r8") _, out("r9") _, out("r10") _, out("r14") _,
            $($clobber)*
        )
    };
}

pub(super) mod beside;

/// Fewer blocks than this are expanded each on its own: expanding in lanes takes as long for two
/// blocks as for sixteen, and before the first batch there are no rounds to hide it. Measured, in
/// clocks a block of whole messages, whose padding is a block alone: 501 with all blocks alone; 580
/// with a batch of four, 522 of eight, 486 of sixteen.
const MIN_BATCH: usize = 8;

/// CF over consecutive blocks of one stream.
pub(super) fn compress(_: Bmi2, v: &mut [u32; 8], blocks: &[[u8; 64]]) -> Kernel {
    // SAFETY: the token proves the features.
    unsafe {
        if blocks.len() < MIN_BATCH {
            blocks.iter().for_each(|block| single_avx(v, block));
        } else {
            compress_avx2(v, blocks);
        }
    }
    KERNEL
}

/// [`compress`] with the expansion in AVX-512.
pub(super) fn compress_avx512(token: Avx512, v: &mut [u32; 8], blocks: &[[u8; 64]]) -> Kernel {
    let quick_lea = token.quick_lea();
    // SAFETY: the token proves the features.
    unsafe {
        if blocks.len() >= MIN_BATCH {
            compress_zmm(v, blocks, quick_lea);
        } else if quick_lea {
            blocks.iter().for_each(|block| single_avx512vl(v, block));
        } else {
            blocks.iter().for_each(|block| single_avx(v, block));
        }
    }
    KERNEL_AVX512
}

/// Not inlined, so that a short input does not pay for the frame of two schedules.
#[inline(never)]
#[target_feature(enable = "bmi2,avx2")]
fn compress_avx2(v: &mut [u32; 8], blocks: &[[u8; 64]]) {
    // SAFETY: the features are enabled here; `rounds` gets two schedules, at most eight blocks,
    // and only plain words in `next`, whatever they are.
    unsafe {
        stream::<U32x8, 8>(
            v,
            blocks,
            |batch| {
                let rows = |half: usize| ::core::array::from_fn(|i| row(batch, i).add(32 * half));
                let [low, high] = [avx2::transpose(rows(0)), avx2::transpose(rows(1))];
                ::core::array::from_fn(|j| if j < 8 { low[j] } else { high[j - 8] })
            },
            |v, now, next, count| {
                let rol8 = _mm256_broadcastsi128_si256(_mm_setr_epi8(
                    3, 0, 1, 2, 7, 4, 5, 6, 11, 8, 9, 10, 15, 12, 13, 14,
                ));
                blocks_loop!(
                    two_adds, "32", "256", "", avx2_part, v, now, next, count,
                    in("ymm5") rol8,
                    out("ymm0") _, out("ymm1") _, out("ymm2") _, out("ymm3") _,
                );
            },
        );
    }
}

/// As `compress_avx2`.
#[inline(never)]
#[target_feature(enable = "bmi2,avx2,avx512f,avx512bw,avx512vl")]
fn compress_zmm(v: &mut [u32; 8], blocks: &[[u8; 64]], quick_lea: bool) {
    // SAFETY: the features are enabled here; `rounds` gets two schedules, at most sixteen blocks,
    // and only plain words in `next`, whatever they are.
    unsafe {
        stream::<U32x16, 16>(
            v,
            blocks,
            |batch| avx512::transpose(|i| row(batch, i)),
            |v, now, next, count| {
                if quick_lea {
                    blocks_loop!(
                        lea, "64", "256", "", avx512_part, v, now, next, count,
                        out("zmm16") _, out("zmm17") _, out("zmm18") _,
                    );
                } else {
                    blocks_loop!(
                        two_adds, "64", "256", "", avx512_part, v, now, next, count,
                        out("zmm16") _, out("zmm17") _, out("zmm18") _,
                    );
                }
            },
        );
    }
}

/// Block `i` of a batch; the last one again for lanes that the batch does not fill.
#[inline(always)]
fn row(batch: &[[u8; 64]], i: usize) -> *const u8 {
    batch[i.min(batch.len() - 1)].as_ptr()
}

/// A stream in batches of `L` blocks: the rounds of one beside the expansion of the next.
///
/// Every argument is called at one place, so that it is inlined there with the caller's features.
///
/// # Safety
/// The processor has `V`'s machine.
#[inline(always)]
unsafe fn stream<V: Vector, const L: usize>(
    v: &mut [u32; 8],
    blocks: &[[u8; 64]],
    transpose: impl Fn(&[[u8; 64]]) -> [V; 16],
    rounds: impl Fn(*mut u32, *const Schedule<L>, *mut Schedule<L>, usize),
) {
    let mut schedules = [const { MaybeUninit::<Schedule<L>>::uninit() }; 2];
    let [now, next] = &mut schedules;
    let (mut now, mut next) = (now.as_mut_ptr(), next.as_mut_ptr());
    let mut batches = blocks.chunks(L);
    let mut current: Option<&[[u8; 64]]> = None;
    loop {
        let following = batches.next();
        // SAFETY: the schedules live until the end. Rows that decide anything are written before
        // they are read: the first 16 of W and 12 of W' here, the others by `expand` or beside the
        // rounds. Beside the last batch, the assembly expands whatever `next` holds, and nobody
        // reads the result: leaving that out would take a second copy of the rounds.
        unsafe {
            if let Some(batch) = following {
                first_rows(next, transpose(batch));
            }
            match current {
                Some(batch) => rounds(v.as_mut_ptr(), now, next, batch.len()),
                None => expand::<V, L>(next),
            }
        }
        if following.is_none() {
            return;
        }
        (now, next) = (next, now);
        current = following;
    }
}

/// The first rows of a schedule: sixteen of W, twelve of W'.
///
/// # Safety
/// The processor has `V`'s machine; `schedule` is valid for writes.
#[inline(always)]
unsafe fn first_rows<V: Vector, const L: usize>(schedule: *mut Schedule<L>, w: [V; 16]) {
    // SAFETY: the caller's proof.
    unsafe {
        for j in 0..16 {
            w[j].store((&raw mut (*schedule).w[j]).cast());
        }
        for j in 0..12 {
            w[j].xor(w[j + 4]).store((&raw mut (*schedule).w_prime[j]).cast());
        }
    }
}

/// All rows of a schedule that has its first sixteen.
///
/// # Safety
/// The processor has `V`'s machine; `schedule` is valid for reads and writes.
#[inline(always)]
unsafe fn expand<V: Vector, const L: usize>(schedule: *mut Schedule<L>) {
    for j in 16..68 {
        // SAFETY: the rows before j are written.
        unsafe {
            macro_rules! w {
                ($k:literal) => {
                    V::load((&raw const (*schedule).w[j - $k]).cast())
                };
            }
            let x = w!(16).xor3(w!(9), w!(3).rol::<15>());
            let word = x.p1().xor3(w!(13).rol::<7>(), w!(6));
            word.store((&raw mut (*schedule).w[j]).cast());
            word.xor(w!(4)).store((&raw mut (*schedule).w_prime[j - 4]).cast());
        }
    }
}

/// One block, expanded three words at a time beside its own rounds.
macro_rules! single {
    ($name:ident, $features:literal, $sum:ident, $part:ident) => {
        #[target_feature(enable = $features)]
        fn $name(v: &mut [u32; 8], block: &[u8; 64]) {
            let mut schedule = MaybeUninit::<Schedule<1>>::uninit();
            let w = schedule.as_mut_ptr();
            // SAFETY: the features are enabled here; loads stay inside the block; the rounds read
            // rows that were written here or beside them.
            unsafe {
                let words = |i: usize| {
                    let swap = _mm_setr_epi8(3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12);
                    _mm_shuffle_epi8(_mm_loadu_si128(block.as_ptr().add(4 * i).cast()), swap)
                };
                let [w0, w4, w8, w12] = [words(0), words(4), words(8), words(12)];
                for (i, four) in [w0, w4, w8, w12].into_iter().enumerate() {
                    _mm_storeu_si128((&raw mut (*w).w[4 * i]).cast(), four);
                }
                for (i, (four, next)) in [(w0, w4), (w4, w8), (w8, w12)].into_iter().enumerate() {
                    let four = _mm_xor_si128(four, next);
                    _mm_storeu_si128((&raw mut (*w).w_prime[4 * i]).cast(), four);
                }
                let rol8 = _mm_setr_epi8(3, 0, 1, 2, 7, 4, 5, 6, 11, 8, 9, 10, 15, 12, 13, 14);
                blocks_loop!(
                    $sum, "4", "0", $part!(before), $part, v.as_mut_ptr(), w, w, 1usize,
                    inout("xmm3") w12 => _, inout("xmm2") words(9) => _,
                    inout("xmm1") words(6) => _, inout("xmm8") w8 => _,
                    inout("xmm7") words(5) => _, inout("xmm6") words(2) => _,
                    inout("xmm5") _mm_slli_si128::<4>(w0) => _, out("xmm0") _, out("xmm4") _,
                    out("xmm9") _, out("xmm10") _, out("xmm11") _, in("xmm12") rol8,
                );
            }
        }
    };
}
single!(single_avx, "bmi2,avx2", two_adds, three_word_part_avx);
single!(single_avx512vl, "bmi2,avx2,avx512f,avx512vl", lea, three_word_part_avx512vl);

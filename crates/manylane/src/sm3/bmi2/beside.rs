//! One SM3 stream in the scalar unit, counter blocks beside it in the vector unit.
//!
//! SM2 hashes x_2 || M || y_2, one stream, and xors M with the key stream of counter blocks: on their
//! common grid (`counter.rs`), two counter blocks to a block of the stream. The stream's rounds are a
//! chain that leaves more than half of the core idle. A group of lanes, sixteen counter blocks, is
//! spread over eight blocks of the stream: eight rounds of the lanes to each block, half a round after
//! every fourth of the stream's, behind the part of the stream's own expansion that goes there.
//!
//! Per block of the stream that is 20 vector operations for each of eight rounds, 36 for the
//! expansion, and 1664 scalar operations: 1860 in the 470 clocks of the chain, on five ports.

#![allow(unsafe_code)]

use ::core::{arch::asm, mem::MaybeUninit};

use super::{
    super::{
        T,
        avx512::{self, U32x16},
        beside::Direction,
        body::{self, Vector},
        counter::{LANE_WORDS, Shared, WORDS},
    },
    Schedule, expand, first_rows, row,
};
use crate::{cpu::Avx512, ct::wipe_words};

/// What the vector unit reads of a group: the words that its lanes share, and T_j.
#[repr(C, align(64))]
struct Group {
    words: [u32; WORDS],
    t: [u32; 64],
}

/// Chaining values of a group's lanes.
#[repr(C, align(64))]
struct Lanes<const L: usize>([[u32; L]; 8]);

/// Blocks of the stream in a batch, which are expanded together.
pub(in super::super) const BATCH: usize = 16;

/// Two groups of lanes are beside a batch of the stream's blocks.
const GROUPS: usize = 2;

/// The first half of round `$i` of the eight beside a block. zmm8 and zmm9, SS2 and SS1, live on to
/// the second half.
macro_rules! lanes_first {
    ($i:literal, $a:tt $d:tt $e:tt $h:tt) => {
        concat!(
            "mov r11, qword ptr [rsp + 24]\n",
            "mov r12, qword ptr [rsp + 32]\n",
            "vprold zmm8, ",
            $a,
            ", 12\n",
            "vpaddd zmm9, ",
            $e,
            ", dword ptr [r11 + 512 + 4 * ",
            $i,
            "]{{1to16}}\n",
            "vmovdqa64 zmm10, zmmword ptr [r12 + 64 * ",
            $i,
            "]\n",
            "vmovdqa64 zmm11, zmmword ptr [r12 + 4096 + 64 * ",
            $i,
            "]\n",
            "vpaddd zmm9, zmm9, zmm8\n",
            "vpxord zmm10, zmm10, dword ptr [r11 + 4 * ",
            $i,
            "]{{1to16}}\n",
            "vpxord zmm11, zmm11, dword ptr [r11 + 256 + 4 * ",
            $i,
            "]{{1to16}}\n",
            "vprold zmm9, zmm9, 7\n",
            "vpaddd ",
            $h,
            ", ",
            $h,
            ", zmm10\n",
            "vpaddd ",
            $d,
            ", ",
            $d,
            ", zmm11\n",
            "vpxord zmm8, zmm8, zmm9\n",
        )
    };
}

/// The second half; `$ff` and `$gg` are FF's and GG's truth tables.
macro_rules! lanes_second {
    ($ff:literal $gg:literal, $a:tt $b:tt $c:tt $d:tt $e:tt $f:tt $g:tt $h:tt) => {
        concat!(
            "vmovdqa64 zmm11, ",
            $e,
            "\n",
            "vmovdqa64 zmm10, ",
            $a,
            "\n",
            "vpternlogd zmm11, ",
            $f,
            ", ",
            $g,
            ", ",
            $gg,
            "\n",
            "vpaddd ",
            $h,
            ", ",
            $h,
            ", zmm9\n",
            "vpternlogd zmm10, ",
            $b,
            ", ",
            $c,
            ", ",
            $ff,
            "\n",
            "vpaddd ",
            $d,
            ", ",
            $d,
            ", zmm8\n",
            "vpaddd ",
            $h,
            ", ",
            $h,
            ", zmm11\n",
            "vprold ",
            $b,
            ", ",
            $b,
            ", 9\n",
            "vpaddd ",
            $d,
            ", ",
            $d,
            ", zmm10\n",
            "vprold zmm8, ",
            $h,
            ", 9\n",
            "vprold zmm9, ",
            $h,
            ", 17\n",
            "vprold ",
            $f,
            ", ",
            $f,
            ", 19\n",
            "vpternlogd ",
            $h,
            ", zmm8, zmm9, 0x96\n",
        )
    };
}

/// Part `$n`: of the stream's expansion, and of the lanes' rounds.
macro_rules! avx512_beside {
    ($ff:literal $gg:literal, 0) => { concat!(avx512_part!(0), lanes_first!("0", "zmm0" "zmm3" "zmm4" "zmm7")) };
    ($ff:literal $gg:literal, 1) => { concat!(avx512_part!(1), lanes_second!($ff $gg, "zmm0" "zmm1" "zmm2" "zmm3" "zmm4" "zmm5" "zmm6" "zmm7")) };
    ($ff:literal $gg:literal, 2) => { concat!(avx512_part!(2), lanes_first!("1", "zmm3" "zmm2" "zmm7" "zmm6")) };
    ($ff:literal $gg:literal, 3) => { concat!(avx512_part!(3), lanes_second!($ff $gg, "zmm3" "zmm0" "zmm1" "zmm2" "zmm7" "zmm4" "zmm5" "zmm6")) };
    ($ff:literal $gg:literal, 4) => { concat!(avx512_part!(4), lanes_first!("2", "zmm2" "zmm1" "zmm6" "zmm5")) };
    ($ff:literal $gg:literal, 5) => { concat!(avx512_part!(5), lanes_second!($ff $gg, "zmm2" "zmm3" "zmm0" "zmm1" "zmm6" "zmm7" "zmm4" "zmm5")) };
    ($ff:literal $gg:literal, 6) => { concat!(avx512_part!(6), lanes_first!("3", "zmm1" "zmm0" "zmm5" "zmm4")) };
    ($ff:literal $gg:literal, 7) => { concat!(avx512_part!(7), lanes_second!($ff $gg, "zmm1" "zmm2" "zmm3" "zmm0" "zmm5" "zmm6" "zmm7" "zmm4")) };
    ($ff:literal $gg:literal, 8) => { concat!(avx512_part!(8), lanes_first!("4", "zmm0" "zmm3" "zmm4" "zmm7")) };
    ($ff:literal $gg:literal, 9) => { concat!(avx512_part!(9), lanes_second!($ff $gg, "zmm0" "zmm1" "zmm2" "zmm3" "zmm4" "zmm5" "zmm6" "zmm7")) };
    ($ff:literal $gg:literal, 10) => { concat!(avx512_part!(10), lanes_first!("5", "zmm3" "zmm2" "zmm7" "zmm6")) };
    ($ff:literal $gg:literal, 11) => { concat!(avx512_part!(11), lanes_second!($ff $gg, "zmm3" "zmm0" "zmm1" "zmm2" "zmm7" "zmm4" "zmm5" "zmm6")) };
    ($ff:literal $gg:literal, 12) => { concat!(avx512_part!(12), lanes_first!("6", "zmm2" "zmm1" "zmm6" "zmm5")) };
    ($ff:literal $gg:literal, 13) => { concat!(avx512_part!(13), lanes_second!($ff $gg, "zmm2" "zmm3" "zmm0" "zmm1" "zmm6" "zmm7" "zmm4" "zmm5")) };
    ($ff:literal $gg:literal, 14) => { concat!(avx512_part!(14), lanes_first!("7", "zmm1" "zmm0" "zmm5" "zmm4")) };
    ($ff:literal $gg:literal, 15) => { concat!(avx512_part!(15), lanes_second!($ff $gg, "zmm1" "zmm2" "zmm3" "zmm0" "zmm5" "zmm6" "zmm7" "zmm4")) };
}
/// For the first sixteen rounds of the lanes, where FF and GG are exclusive ors.
macro_rules! avx512_beside_low {
    ($n:tt) => { avx512_beside!("0x96" "0x96", $n) };
}
/// For the others: majority and choice.
macro_rules! avx512_beside_high {
    ($n:tt) => { avx512_beside!("0xe8" "0xca", $n) };
}

/// Blocks of the stream with a part of the lanes' rounds beside each, until the count at the top of
/// the stack is used up. The stack below that: the row to expand, the addresses of V, of the group's
/// words and of the rows of the lanes' words, both at the next round; of the group's results, and of
/// the chaining value that its lanes start from; the number of groups left.
macro_rules! blocks_beside {
    ($sum:ident, $row:literal, $step:literal, $label:literal, $part:ident, $rounds:literal) => {
        concat!(
            ".p2align 5\n",
            $label,
            ":\n",
            block!($sum, $row, $step, "", $part),
            "add qword ptr [rsp + 24], 4 * ",
            $rounds,
            "\n",
            "add qword ptr [rsp + 32], 64 * ",
            $rounds,
            "\n",
            "dec qword ptr [rsp]\n",
            "jnz ",
            $label,
            "b\n",
        )
    };
}

/// The rounds of a batch beside two groups of lanes.
macro_rules! batch_beside {
    ($sum:ident, $v:expr, $w:expr, $next:expr, $groups:expr, $key:expr, $lanes:expr) => {
        asm_with_t!(
            concat!(
                "push r13\n push rsi\n push rdx\n push rcx\n push rax\n",
                "push r11\n push r12\n push 0\n",
                load_state!(),
                "4:\n",
                "mov r11, qword ptr [rsp + 48]\n",
                "vpbroadcastd zmm0, dword ptr [r11]\n vpbroadcastd zmm1, dword ptr [r11 + 4]\n",
                "vpbroadcastd zmm2, dword ptr [r11 + 8]\n vpbroadcastd zmm3, dword ptr [r11 + 12]\n",
                "vpbroadcastd zmm4, dword ptr [r11 + 16]\n vpbroadcastd zmm5, dword ptr [r11 + 20]\n",
                "vpbroadcastd zmm6, dword ptr [r11 + 24]\n vpbroadcastd zmm7, dword ptr [r11 + 28]\n",
                "mov qword ptr [rsp], 2\n",
                blocks_beside!($sum, "64", "256", "2", avx512_beside_low, "8"),
                "mov qword ptr [rsp], 6\n",
                blocks_beside!($sum, "64", "256", "3", avx512_beside_high, "8"),
                "mov r11, qword ptr [rsp + 48]\n",
                "mov r12, qword ptr [rsp + 40]\n",
                feed_forward!("zmm0" "0"), feed_forward!("zmm1" "1"),
                feed_forward!("zmm2" "2"), feed_forward!("zmm3" "3"),
                feed_forward!("zmm4" "4"), feed_forward!("zmm5" "5"),
                feed_forward!("zmm6" "6"), feed_forward!("zmm7" "7"),
                // To the next group's words, 768 bytes from this one's, and the rows' beginning.
                "add qword ptr [rsp + 24], 512\n",
                "sub qword ptr [rsp + 32], 4096\n",
                "add qword ptr [rsp + 40], 512\n",
                "dec qword ptr [rsp + 56]\n",
                "jnz 4b\n",
                "add rsp, 64\n",
            ),
            inout("r11") $v => _,
            inout("r12") $next => _,
            inout("r13") GROUPS => _,
            inout("r15") $w => _,
            inout("rax") $groups => _,
            inout("rcx") LANE_WORDS.0.as_ptr() => _,
            inout("rdx") $lanes => _,
            inout("rsi") $key => _,
            out("rdi") _, out("r8") _, out("r9") _, out("r10") _, out("r14") _,
            out("zmm0") _, out("zmm1") _, out("zmm2") _, out("zmm3") _, out("zmm4") _,
            out("zmm5") _, out("zmm6") _, out("zmm7") _, out("zmm8") _, out("zmm9") _,
            out("zmm10") _, out("zmm11") _, out("zmm16") _, out("zmm17") _, out("zmm18") _,
        )
    };
}

/// One word of the lanes' chaining values, xored with the one that they started from, to memory.
macro_rules! feed_forward {
    ($x:literal $i:literal) => {
        concat!(
            "vpxord ",
            $x,
            ", ",
            $x,
            ", dword ptr [r11 + 4 * ",
            $i,
            "]{{1to16}}\n",
            "vmovdqa64 zmmword ptr [r12 + 64 * ",
            $i,
            "], ",
            $x,
            "\n",
        )
    };
}

/// Hashes the blocks of `data` into `v` and xors the key stream that starts from `key` into it, from
/// `counter`.
///
/// # Panics
/// Unless `data` is of whole batches, and `counter` that of a first lane.
pub(in super::super) fn crypt_avx512(
    token: Avx512,
    v: &mut [u32; 8],
    key: &[u32; 8],
    counter: u32,
    data: &mut [[u8; 64]],
    direction: Direction,
) {
    let quick_lea = token.quick_lea();
    // SAFETY: the token proves the features.
    unsafe { crypt_zmm(v, key, counter, data, direction, quick_lea) }
}

#[inline(never)]
#[target_feature(enable = "bmi2,avx2,avx512f,avx512bw,avx512vl")]
fn crypt_zmm(
    v: &mut [u32; 8],
    key: &[u32; 8],
    counter: u32,
    data: &mut [[u8; 64]],
    direction: Direction,
    quick_lea: bool,
) {
    // SAFETY: the features are enabled here; `rounds` gets two schedules, two groups with their
    // results, and only plain words in `next`, whatever they are.
    unsafe {
        crypt::<U32x16, 16>(
            v,
            key,
            counter,
            data,
            lead(direction),
            |batch| avx512::transpose(|i| row(batch, i)),
            |v, now, next, groups, lanes| {
                if quick_lea {
                    batch_beside!(lea, v, now, next, groups, key.as_ptr(), lanes);
                } else {
                    batch_beside!(two_adds, v, now, next, groups, key.as_ptr(), lanes);
                }
            },
        );
    }
}

/// By how many batches the key stream is ahead of the hash. What is encrypted is hashed before the key
/// stream changes it; what is decrypted, after it, and beside the rounds of one batch the next is
/// expanded, so that it is the one after that which is changed.
fn lead(direction: Direction) -> usize {
    match direction {
        Direction::Encrypt => 0,
        Direction::Decrypt => 2,
    }
}

/// Batches of `L` blocks, beside each two groups of `L` lanes.
///
/// # Safety
/// The processor has `V`'s machine, and `V` has `L` lanes.
#[inline(always)]
unsafe fn crypt<V: Vector, const L: usize>(
    v: &mut [u32; 8],
    key: &[u32; 8],
    counter: u32,
    data: &mut [[u8; 64]],
    lead: usize,
    transpose: impl Fn(&[[u8; 64]]) -> [V; 16],
    rounds: impl Fn(*mut u32, *const Schedule<L>, *mut Schedule<L>, *const Group, *mut Lanes<L>),
) {
    let (batches, []) = data.as_chunks_mut::<L>() else { panic!("incomplete batch") };
    assert!(counter.is_multiple_of(L as u32), "counter {counter} is not that of a first lane");
    if batches.is_empty() {
        return;
    }
    let mut shared = Shared::of(counter);
    let counter_of = |group: usize| counter + (L * group) as u32;
    let mut groups = [const { Group { words: [0; WORDS], t: T } }; GROUPS];
    let mut lanes = [const { Lanes([[0; L]; 8]) }; GROUPS];
    let mut schedules = [const { MaybeUninit::<Schedule<L>>::uninit() }; 2];
    let [now, next] = &mut schedules;
    let (mut now, mut next) = (now.as_mut_ptr(), next.as_mut_ptr());
    // SAFETY: the schedules live until the end, and the rows that decide anything are written before
    // they are read, as in `stream`. A batch has 64 bytes for each of two groups' lanes.
    unsafe {
        for (b, batch) in batches.iter_mut().take(lead).enumerate() {
            for group in 0..GROUPS {
                shared.move_to(counter_of(GROUPS * b + group));
                let data = batch.as_mut_ptr().cast::<u8>().add(32 * L * group);
                body::xor_counters::<V, L>(key, shared.words(), data);
            }
        }
        first_rows(next, transpose(&batches[0]));
        expand::<V, L>(next);
        for b in 0..batches.len() {
            (now, next) = (next, now);
            if let Some(following) = batches.get(b + 1) {
                first_rows(next, transpose(following));
            }
            if b + lead < batches.len() {
                for (group, words) in groups.iter_mut().enumerate() {
                    shared.move_to(counter_of(GROUPS * (b + lead) + group));
                    words.words = *shared.words();
                }
            }
            rounds(v.as_mut_ptr(), now, next, groups.as_ptr(), lanes.as_mut_ptr());
            if let Some(batch) = batches.get_mut(b + lead) {
                for (group, lanes) in lanes.iter().enumerate() {
                    let mut words = [V::splat(0); 8];
                    for i in 0..8 {
                        words[i] = V::load(lanes.0[i].as_ptr());
                    }
                    V::xor_digests(words, batch.as_mut_ptr().cast::<u8>().add(32 * L * group));
                }
            }
        }
    }
    for lanes in &mut lanes {
        wipe_words(lanes.0.as_flattened_mut());
    }
}

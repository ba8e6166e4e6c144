//! One SM3 stream in the scalar unit, counter blocks beside it in the vector unit.
//!
//! SM2 hashes x_2 || M || y_2, one stream, and xors M with the key stream of counter blocks: on their
//! common grid (`counter.rs`), two counter blocks to a block of the stream. The stream's rounds are a
//! chain that leaves more than half of the core idle. A group of lanes is spread over half as many
//! blocks of the stream, behind the parts of the stream's own expansion that go between its rounds.
//!
//! | beside a block, counted | AVX-512 | AVX2 |
//! |---|---|---|
//! | rounds of the lanes, operations of each | 8 of 20 | 16 of 37 |
//! | expansion | 36 | 91 |
//! | scalar operations | 1664 | 1664 |
//! | clocks on five ports, at least | 372 | 469 |
//!
//! The chain alone takes about 470 clocks.
#![allow(unsafe_code)]

use ::core::{arch::asm, mem::MaybeUninit};

use super::{
    super::{
        Kernel, Machine, T,
        beside::Direction,
        body::{self, Vector},
        counter::{LANE_WORDS, Shared, WORDS},
    },
    Schedule, expand, first_rows, row,
};
use crate::ct::wipe_words;

/// What the vector unit reads of a group: the words that its lanes share, and T_j.
#[repr(C, align(64))]
struct Group {
    words: [u32; WORDS],
    t: [u32; 64],
}

/// Chaining values of a group's lanes.
#[repr(C, align(64))]
struct Lanes<const L: usize>([[u32; L]; 8]);

/// Groups of lanes beside a batch of the stream's blocks, as many blocks as a group has lanes.
const GROUPS: usize = 2;

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

/// The rounds of a batch beside two groups of lanes. `$start` fills the lanes' registers from the
/// chaining value at r11; the first `$low` blocks are beside the parts `$low_part`, the other `$high`
/// beside `$high_part`, each with `$rounds` rounds of the lanes; `$end` stores the lanes xored with
/// what they started from, at r11, to r12, `$result` bytes.
macro_rules! batch_beside {
    ($sum:ident, $row:literal, $step:literal, $rounds:literal, $start:expr,
     $low:literal $low_part:ident, $high:literal $high_part:ident, $end:expr, $result:literal,
     [$v:expr, $w:expr, $next:expr, $groups:expr, $key:expr, $lanes:expr], $($clobber:tt)*) => {
        asm_with_t!(
            concat!(
                "push r13\n push rsi\n push rdx\n push rcx\n push rax\n",
                "push r11\n push r12\n push r14\n",
                load_state!(),
                "4:\n",
                "mov r11, qword ptr [rsp + 48]\n",
                $start,
                "mov r11d, ", $low, "\n mov qword ptr [rsp], r11\n",
                blocks_beside!($sum, $row, $step, "2", $low_part, $rounds),
                "mov r11d, ", $high, "\n mov qword ptr [rsp], r11\n",
                blocks_beside!($sum, $row, $step, "3", $high_part, $rounds),
                "mov r11, qword ptr [rsp + 48]\n",
                "mov r12, qword ptr [rsp + 40]\n",
                $end,
                // To the next group's words, 768 bytes from this one's, and the rows' beginning.
                "add qword ptr [rsp + 24], 512\n",
                "sub qword ptr [rsp + 32], 4096\n",
                "add qword ptr [rsp + 40], ", $result, "\n",
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
            $($clobber)*
        )
    };
}

pub(in super::super) mod avx2;
pub(in super::super) mod avx512;

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
unsafe fn batches<V: Vector, const L: usize>(
    v: &mut [u32; 8],
    key: &[u32; 8],
    counter: u32,
    data: &mut [[u8; 64]],
    lead: usize,
    transpose: impl Fn(&[[u8; 64]]) -> [V; 16],
    rounds: impl Fn(*mut u32, *const Schedule<L>, *mut Schedule<L>, *const Group, *mut Lanes<L>),
) {
    let (all, []) = data.as_chunks_mut::<L>() else { panic!("incomplete batch") };
    assert!(counter.is_multiple_of(L as u32), "counter {counter} is not that of a first lane");
    if all.is_empty() {
        return;
    }
    let mut shared = Shared::of(counter);
    let counter_of = |group: usize| counter + (L * group) as u32;
    let mut groups = [const { MaybeUninit::<Group>::uninit() }; GROUPS];
    let groups = groups.as_mut_ptr().cast::<Group>();
    let mut lanes = [const { Lanes([[0; L]; 8]) }; GROUPS];
    let mut schedules = [const { MaybeUninit::<Schedule<L>>::uninit() }; 2];
    let [now, next] = &mut schedules;
    let (mut now, mut next) = (now.as_mut_ptr(), next.as_mut_ptr());
    // SAFETY: schedules and groups live until the end. The rows of schedules that decide anything are
    // written before they are read, as in `stream`; all of the groups is. A batch has 32 bytes for each
    // lane of two groups.
    unsafe {
        for i in 0..GROUPS {
            let group = groups.add(i);
            copy::<V, L>(&T, (&raw mut (*group).t).cast());
            copy::<V, L>(shared.words(), (&raw mut (*group).words).cast());
        }
        for group in 0..GROUPS * lead.min(all.len()) {
            shared.move_to(counter_of(group));
            let data = all.as_mut_ptr().cast::<u8>().add(32 * L * group);
            body::xor_counters::<V, L>(key, shared.words(), data);
        }
        first_rows(next, transpose(&all[0]));
        expand::<V, L>(next);
        for b in 0..all.len() {
            (now, next) = (next, now);
            if let Some(following) = all.get(b + 1) {
                first_rows(next, transpose(following));
            }
            if b + lead < all.len() {
                for i in 0..GROUPS {
                    let group = groups.add(i);
                    shared.move_to(counter_of(GROUPS * (b + lead) + i));
                    copy::<V, L>(shared.words(), (&raw mut (*group).words).cast());
                }
            }
            rounds(v.as_mut_ptr(), now, next, groups, lanes.as_mut_ptr());
            if let Some(batch) = all.get_mut(b + lead) {
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

/// Copies words by vectors of `L`: beside them, a call that copies would be the only one.
///
/// # Safety
/// The processor has `V`'s machine, and `to` is valid for writes of as many words as there are in
/// `from`, a multiple of `L`.
#[inline(always)]
unsafe fn copy<V: Vector, const L: usize>(from: &[u32], to: *mut u32) {
    for (i, words) in from.as_chunks::<L>().0.iter().enumerate() {
        // SAFETY: the caller's proof.
        unsafe { V::load(words.as_ptr()).store(to.add(L * i)) };
    }
}

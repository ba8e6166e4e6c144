//! SM3 of one stream with the Armv8.2 SM3 instructions (FEAT_SM3).
//!
//! Written in assembly, because the intrinsics are unstable. The instructions hold the words
//! A, B, C, D of GB/T 32905-2016, clause 5.3.3, in lanes 3, 2, 1, 0 of one register, E, F, G, H
//! likewise in another, and words W_j … W_(j+3) of the schedule in lanes 0 … 3 of a third.
#![allow(unsafe_code)]

use ::core::arch::{aarch64::*, asm};

use super::{Kernel, Machine, T};
use crate::cpu::ArmCrypto;

const KERNEL: Kernel = Kernel::new("sm3/armcrypto", Machine::ArmCrypto);

/// T_j <<< (j mod 32) as word j + 3: `sm3ss1` takes its constant from lane 3 and ignores the
/// others, so that a load of four words from word j brings it there.
#[repr(align(64))]
struct Constants([u32; 67]);

static CONSTANTS: Constants = {
    let mut words = [0; 67];
    let mut j = 0;
    while j < 64 {
        words[j + 3] = T[j];
        j += 1;
    }
    Constants(words)
};

/// Round `$j + $lane` of clause 5.3.3: `sm3ss1` makes SS1, `sm3tt1` SS2 and TT1, `sm3tt2` TT2 and
/// its P_0; the latter two also rotate and rename the other words. `$half` is "a" for FF_j and
/// GG_j of j < 16, "b" for the others.
#[rustfmt::skip] // An instruction a line.
macro_rules! round {
    ($half:literal, $lane:literal, $w:literal) => {
        concat!(
            "sm3ss1 {ss1:v}.4s, {abcd:v}.4s, {efgh:v}.4s, {t", $lane, ":v}.4s\n",
            "sm3tt1", $half, " {abcd:v}.4s, {ss1:v}.4s, {w_prime:v}.s[", $lane, "]\n",
            "sm3tt2", $half, " {efgh:v}.4s, {ss1:v}.4s, {", $w, ":v}.s[", $lane, "]\n",
        )
    };
}

/// Rounds `$j` … `$j + 3`, from W_j … in `$w0` and W_(j+4) … in `$w1`. The constants' base is in
/// their middle, from where unscaled offsets reach them all.
#[rustfmt::skip] // An instruction a line.
macro_rules! rounds4 {
    ($half:literal, $j:literal, $w0:literal, $w1:literal) => {
        concat!(
            "ldur {t0:q}, [{t}, #4*(", $j, "+0)-128]\n",
            "ldur {t1:q}, [{t}, #4*(", $j, "+1)-128]\n",
            "ldur {t2:q}, [{t}, #4*(", $j, "+2)-128]\n",
            "ldur {t3:q}, [{t}, #4*(", $j, "+3)-128]\n",
            "eor {w_prime:v}.16b, {", $w0, ":v}.16b, {", $w1, ":v}.16b\n",
            round!($half, 0, $w0),
            round!($half, 1, $w0),
            round!($half, 2, $w0),
            round!($half, 3, $w0),
        )
    };
}

/// [`rounds4`], and beside them clause 5.3.2 for W_(j+16) … W_(j+19) into `$next`, from the
/// sixteen words in `$w0` … `$w3`. `sm3partw1` takes W_j and W_(j+7) only xored, so that the
/// register it replaces may be the latter's and no word need be copied.
#[rustfmt::skip] // An instruction a line.
macro_rules! expand4_rounds4 {
    ($half:literal, $j:literal, $w0:literal, $w1:literal, $w2:literal, $w3:literal,
     $next:literal) => {
        concat!(
            "ext {", $next, ":v}.16b, {", $w1, ":v}.16b, {", $w2, ":v}.16b, #12\n",
            "ext {w_3:v}.16b, {", $w0, ":v}.16b, {", $w1, ":v}.16b, #12\n",
            "ext {w_10:v}.16b, {", $w2, ":v}.16b, {", $w3, ":v}.16b, #8\n",
            "sm3partw1 {", $next, ":v}.4s, {", $w0, ":v}.4s, {", $w3, ":v}.4s\n",
            "sm3partw2 {", $next, ":v}.4s, {w_10:v}.4s, {w_3:v}.4s\n",
            rounds4!($half, $j, $w0, $w1),
        )
    };
}

/// CF of clause 5.3.3 over consecutive blocks of one stream.
#[inline(never)]
pub(super) fn compress(_: ArmCrypto, v: &mut [u32; 8], blocks: &[[u8; 64]]) -> Kernel {
    if blocks.is_empty() {
        return KERNEL;
    }
    // SAFETY: the token proves FEAT_SM3. `v` has the eight words loaded and stored. The assembly
    // reads the blocks, of which there is at least one, and the constants' first 67 words; it
    // changes its operands only.
    unsafe {
        let mut abcd = reverse(vld1q_u32(v.as_ptr()));
        let mut efgh = reverse(vld1q_u32(v.as_ptr().add(4)));
        asm!(
            ".arch_extension sm4",
            "2:",
            "ldp {w0:q}, {w1:q}, [{block}], #32",
            "ldp {w2:q}, {w3:q}, [{block}], #32",
            "mov {v_abcd:v}.16b, {abcd:v}.16b",
            "mov {v_efgh:v}.16b, {efgh:v}.16b",
            "rev32 {w0:v}.16b, {w0:v}.16b",
            "rev32 {w1:v}.16b, {w1:v}.16b",
            "rev32 {w2:v}.16b, {w2:v}.16b",
            "rev32 {w3:v}.16b, {w3:v}.16b",
            "sub {blocks}, {blocks}, #1",
            expand4_rounds4!("a", 0, "w0", "w1", "w2", "w3", "w4"),
            expand4_rounds4!("a", 4, "w1", "w2", "w3", "w4", "w0"),
            expand4_rounds4!("a", 8, "w2", "w3", "w4", "w0", "w1"),
            expand4_rounds4!("a", 12, "w3", "w4", "w0", "w1", "w2"),
            expand4_rounds4!("b", 16, "w4", "w0", "w1", "w2", "w3"),
            expand4_rounds4!("b", 20, "w0", "w1", "w2", "w3", "w4"),
            expand4_rounds4!("b", 24, "w1", "w2", "w3", "w4", "w0"),
            expand4_rounds4!("b", 28, "w2", "w3", "w4", "w0", "w1"),
            expand4_rounds4!("b", 32, "w3", "w4", "w0", "w1", "w2"),
            expand4_rounds4!("b", 36, "w4", "w0", "w1", "w2", "w3"),
            expand4_rounds4!("b", 40, "w0", "w1", "w2", "w3", "w4"),
            expand4_rounds4!("b", 44, "w1", "w2", "w3", "w4", "w0"),
            expand4_rounds4!("b", 48, "w2", "w3", "w4", "w0", "w1"),
            rounds4!("b", 52, "w3", "w4"),
            rounds4!("b", 56, "w4", "w0"),
            rounds4!("b", 60, "w0", "w1"),
            "eor {abcd:v}.16b, {abcd:v}.16b, {v_abcd:v}.16b",
            "eor {efgh:v}.16b, {efgh:v}.16b, {v_efgh:v}.16b",
            "cbnz {blocks}, 2b",
            block = inout(reg) blocks.as_ptr() => _,
            blocks = inout(reg) blocks.len() => _,
            t = in(reg) CONSTANTS.0.as_ptr().add(32),
            abcd = inout(vreg) abcd,
            efgh = inout(vreg) efgh,
            v_abcd = out(vreg) _,
            v_efgh = out(vreg) _,
            w0 = out(vreg) _,
            w1 = out(vreg) _,
            w2 = out(vreg) _,
            w3 = out(vreg) _,
            w4 = out(vreg) _,
            w_3 = out(vreg) _,
            w_10 = out(vreg) _,
            w_prime = out(vreg) _,
            ss1 = out(vreg) _,
            t0 = out(vreg) _,
            t1 = out(vreg) _,
            t2 = out(vreg) _,
            t3 = out(vreg) _,
            options(nostack, readonly, preserves_flags),
        );
        vst1q_u32(v.as_mut_ptr(), reverse(abcd));
        vst1q_u32(v.as_mut_ptr().add(4), reverse(efgh));
    }
    KERNEL
}

/// Four words in the order of the standard from that of the instructions, or the reverse.
#[inline]
#[target_feature(enable = "neon")]
fn reverse(words: uint32x4_t) -> uint32x4_t {
    let pairs = vrev64q_u32(words);
    vextq_u32::<2>(pairs, pairs)
}

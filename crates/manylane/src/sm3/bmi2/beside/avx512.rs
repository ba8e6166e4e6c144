//! Sixteen lanes with AVX-512: eight rounds of theirs beside a block, half a round a part.
#![allow(unsafe_code)]

use super::{
    super::super::avx512::{self, U32x16},
    *,
};
use crate::cpu::Avx512;

const KERNEL: Kernel = Kernel::new("sm3/avx512-beside", Machine::Avx512);

/// Blocks of the stream in a batch, which are expanded together.
pub(in super::super::super) const BATCH: usize = 16;

/// The first half of round `$i` of the eight beside a block. zmm8 and zmm9, SS2 and SS1, live on to
/// the second half.
#[rustfmt::skip]
macro_rules! lanes_first {
    ($i:literal, $a:tt $d:tt $e:tt $h:tt) => {
        concat!(
            "mov r11, qword ptr [rsp + 24]\n",
            "mov r12, qword ptr [rsp + 32]\n",
            "vprold zmm8, ", $a, ", 12\n",
            "vpaddd zmm9, ", $e, ", dword ptr [r11 + 512 + 4 * ", $i, "]{{1to16}}\n",
            "vmovdqa64 zmm10, zmmword ptr [r12 + 64 * ", $i, "]\n",
            "vmovdqa64 zmm11, zmmword ptr [r12 + 4096 + 64 * ", $i, "]\n",
            "vpaddd zmm9, zmm9, zmm8\n",
            "vpxord zmm10, zmm10, dword ptr [r11 + 4 * ", $i, "]{{1to16}}\n",
            "vpxord zmm11, zmm11, dword ptr [r11 + 256 + 4 * ", $i, "]{{1to16}}\n",
            "vprold zmm9, zmm9, 7\n",
            "vpaddd ", $h, ", ", $h, ", zmm10\n",
            "vpaddd ", $d, ", ", $d, ", zmm11\n",
            "vpxord zmm8, zmm8, zmm9\n",
        )
    };
}

/// The second half; `$ff` and `$gg` are FF's and GG's truth tables.
#[rustfmt::skip]
macro_rules! lanes_second {
    ($ff:literal $gg:literal, $a:tt $b:tt $c:tt $d:tt $e:tt $f:tt $g:tt $h:tt) => {
        concat!(
            "vmovdqa64 zmm11, ", $e, "\n",
            "vmovdqa64 zmm10, ", $a, "\n",
            "vpternlogd zmm11, ", $f, ", ", $g, ", ", $gg, "\n",
            "vpaddd ", $h, ", ", $h, ", zmm9\n",
            "vpternlogd zmm10, ", $b, ", ", $c, ", ", $ff, "\n",
            "vpaddd ", $d, ", ", $d, ", zmm8\n",
            "vpaddd ", $h, ", ", $h, ", zmm11\n",
            "vprold ", $b, ", ", $b, ", 9\n",
            "vpaddd ", $d, ", ", $d, ", zmm10\n",
            "vprold zmm8, ", $h, ", 9\n",
            "vprold zmm9, ", $h, ", 17\n",
            "vprold ", $f, ", ", $f, ", 19\n",
            "vpternlogd ", $h, ", zmm8, zmm9, 0x96\n",
        )
    };
}

/// Part `$n`: of the stream's expansion, and of the lanes' rounds.
#[rustfmt::skip]
macro_rules! avx512_beside {
    ($ff:literal $gg:literal, 0) => { concat!(avx512_part!(0), lanes_first!("0", "zmm0" "zmm3" "zmm4" "zmm7")) };
    ($ff:literal $gg:literal, 1) => {
        concat!(avx512_part!(1), lanes_second!($ff $gg, "zmm0" "zmm1" "zmm2" "zmm3" "zmm4" "zmm5" "zmm6" "zmm7"))
    };
    ($ff:literal $gg:literal, 2) => { concat!(avx512_part!(2), lanes_first!("1", "zmm3" "zmm2" "zmm7" "zmm6")) };
    ($ff:literal $gg:literal, 3) => {
        concat!(avx512_part!(3), lanes_second!($ff $gg, "zmm3" "zmm0" "zmm1" "zmm2" "zmm7" "zmm4" "zmm5" "zmm6"))
    };
    ($ff:literal $gg:literal, 4) => { concat!(avx512_part!(4), lanes_first!("2", "zmm2" "zmm1" "zmm6" "zmm5")) };
    ($ff:literal $gg:literal, 5) => {
        concat!(avx512_part!(5), lanes_second!($ff $gg, "zmm2" "zmm3" "zmm0" "zmm1" "zmm6" "zmm7" "zmm4" "zmm5"))
    };
    ($ff:literal $gg:literal, 6) => { concat!(avx512_part!(6), lanes_first!("3", "zmm1" "zmm0" "zmm5" "zmm4")) };
    ($ff:literal $gg:literal, 7) => {
        concat!(avx512_part!(7), lanes_second!($ff $gg, "zmm1" "zmm2" "zmm3" "zmm0" "zmm5" "zmm6" "zmm7" "zmm4"))
    };
    ($ff:literal $gg:literal, 8) => { concat!(avx512_part!(8), lanes_first!("4", "zmm0" "zmm3" "zmm4" "zmm7")) };
    ($ff:literal $gg:literal, 9) => {
        concat!(avx512_part!(9), lanes_second!($ff $gg, "zmm0" "zmm1" "zmm2" "zmm3" "zmm4" "zmm5" "zmm6" "zmm7"))
    };
    ($ff:literal $gg:literal, 10) => { concat!(avx512_part!(10), lanes_first!("5", "zmm3" "zmm2" "zmm7" "zmm6")) };
    ($ff:literal $gg:literal, 11) => {
        concat!(avx512_part!(11), lanes_second!($ff $gg, "zmm3" "zmm0" "zmm1" "zmm2" "zmm7" "zmm4" "zmm5" "zmm6"))
    };
    ($ff:literal $gg:literal, 12) => { concat!(avx512_part!(12), lanes_first!("6", "zmm2" "zmm1" "zmm6" "zmm5")) };
    ($ff:literal $gg:literal, 13) => {
        concat!(avx512_part!(13), lanes_second!($ff $gg, "zmm2" "zmm3" "zmm0" "zmm1" "zmm6" "zmm7" "zmm4" "zmm5"))
    };
    ($ff:literal $gg:literal, 14) => { concat!(avx512_part!(14), lanes_first!("7", "zmm1" "zmm0" "zmm5" "zmm4")) };
    ($ff:literal $gg:literal, 15) => {
        concat!(avx512_part!(15), lanes_second!($ff $gg, "zmm1" "zmm2" "zmm3" "zmm0" "zmm5" "zmm6" "zmm7" "zmm4"))
    };
}
/// For the first sixteen rounds of the lanes, where FF and GG are exclusive ors.
macro_rules! avx512_beside_low {
    ($n:tt) => {
        avx512_beside!("0x96" "0x96", $n)
    };
}
/// For the others: majority and choice.
macro_rules! avx512_beside_high {
    ($n:tt) => {
        avx512_beside!("0xe8" "0xca", $n)
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
            "vpxord ", $x, ", ", $x, ", dword ptr [r11 + 4 * ", $i, "]{{1to16}}\n",
            "vmovdqa64 zmmword ptr [r12 + 64 * ", $i, "], ", $x, "\n",
        )
    };
}

#[rustfmt::skip]
macro_rules! batch {
    ($sum:ident, $($pointers:tt)*) => {
        batch_beside!(
            $sum, "64", "256", "8",
            concat!(
                start!("zmm0" "0"), start!("zmm1" "1"), start!("zmm2" "2"), start!("zmm3" "3"),
                start!("zmm4" "4"), start!("zmm5" "5"), start!("zmm6" "6"), start!("zmm7" "7"),
            ),
            "2" avx512_beside_low, "6" avx512_beside_high,
            concat!(
                end!("zmm0" "0"), end!("zmm1" "1"), end!("zmm2" "2"), end!("zmm3" "3"),
                end!("zmm4" "4"), end!("zmm5" "5"), end!("zmm6" "6"), end!("zmm7" "7"),
            ),
            "512", [$($pointers)*],
            out("zmm0") _, out("zmm1") _, out("zmm2") _, out("zmm3") _, out("zmm4") _,
            out("zmm5") _, out("zmm6") _, out("zmm7") _, out("zmm8") _, out("zmm9") _,
            out("zmm10") _, out("zmm11") _, out("zmm16") _, out("zmm17") _, out("zmm18") _,
        )
    };
}

/// Hashes the blocks of `data` into `v` and xors the key stream that starts from `key` into it, from
/// `counter`.
///
/// # Panics
/// Unless `data` is of whole batches, and `counter` that of a first lane.
pub(in super::super::super) fn crypt(
    token: Avx512,
    v: &mut [u32; 8],
    key: &[u32; 8],
    counter: u32,
    data: &mut [[u8; 64]],
    direction: Direction,
) -> Kernel {
    let crypt = if token.quick_lea() { crypt_zmm } else { crypt_zmm_two_adds };
    // SAFETY: the token proves the features.
    unsafe { crypt(v, key, counter, data, direction) };
    KERNEL
}

macro_rules! crypt {
    ($name:ident, $sum:ident) => {
        #[inline(never)]
        #[target_feature(enable = "bmi2,avx2,avx512f,avx512bw,avx512vl")]
        fn $name(
            v: &mut [u32; 8],
            key: &[u32; 8],
            counter: u32,
            data: &mut [[u8; 64]],
            direction: Direction,
        ) {
            // SAFETY: the features are enabled here; `rounds` gets two schedules, two groups with
            // their results, and only plain words in `next`, whatever they are.
            unsafe {
                batches::<U32x16, BATCH>(
                    v,
                    key,
                    counter,
                    data,
                    lead(direction),
                    |batch| avx512::transpose(|i| row(batch, i)),
                    |v, now, next, groups, lanes| {
                        batch!($sum, v, now, next, groups, key.as_ptr(), lanes);
                    },
                );
            }
        }
    };
}
crypt!(crypt_zmm, lea);
crypt!(crypt_zmm_two_adds, two_adds);

//! One SM3 stream on x86-64.
use super::{Kernel, Machine, portable};
use crate::cpu::{Avx512, Bmi2};

const KERNEL: Kernel = Kernel::new("sm3/bmi2", Machine::Bmi2);
const KERNEL_AVX512: Kernel = Kernel::new("sm3/bmi2-avx512", Machine::Avx512);

pub(super) fn compress(_: Bmi2, v: &mut [u32; 8], blocks: &[[u8; 64]]) -> Kernel {
    portable::compress(v, blocks);
    KERNEL
}
pub(super) fn compress_avx512(_: Avx512, v: &mut [u32; 8], blocks: &[[u8; 64]]) -> Kernel {
    portable::compress(v, blocks);
    KERNEL_AVX512
}

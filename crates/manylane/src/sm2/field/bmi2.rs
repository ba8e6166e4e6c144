//! F_p on x86-64 with BMI2 and ADX: MULX, and two chains of carries; tables are scanned with AVX2 or
//! AVX-512.
//!
//! A product is 16 MULX in rows, the reduction 48 additions and shifts (see [`portable`] for what it
//! computes), and all of it lives in thirteen registers.
//!
//! [`portable`]: super::portable
#![allow(unsafe_code)]

use ::core::arch::{asm, x86_64::*};

use super::{Fe, Field, P};
use crate::cpu;

/// Proof of BMI2, ADX and AVX2.
#[derive(Clone, Copy)]
pub(in crate::sm2) struct Bmi2(pub(super) cpu::Adx);

/// Proof of BMI2 and ADX, and of AVX-512 for tables.
#[derive(Clone, Copy)]
pub(in crate::sm2) struct Avx512(pub(super) cpu::Adx, pub(super) cpu::Avx512);

impl Field for Bmi2 {
    #[inline(always)]
    fn mul(self, a: &Fe, b: &Fe) -> Fe {
        mul(self.0, a, b)
    }

    #[inline(always)]
    fn sqr(self, a: &Fe) -> Fe {
        sqr(self.0, a)
    }

    #[inline]
    fn lookup<const W: usize>(self, table: &[[u64; W]], index: u64) -> [u64; W] {
        // SAFETY: the token proves AVX2.
        unsafe { lookup_avx2(table, index) }
    }
}

impl Field for Avx512 {
    #[inline(always)]
    fn mul(self, a: &Fe, b: &Fe) -> Fe {
        mul(self.0, a, b)
    }

    #[inline(always)]
    fn sqr(self, a: &Fe) -> Fe {
        sqr(self.0, a)
    }

    #[inline]
    fn lookup<const W: usize>(self, table: &[[u64; W]], index: u64) -> [u64; W] {
        let Avx512(_, _) = self;
        // SAFETY: the tokens prove AVX-512.
        unsafe { lookup_avx512(table, index) }
    }
}

/// r8 … r11 become the number in them plus m·p, less its lowest limb m, which must be in `$t0`: the
/// top limb is then in `$t0`.
macro_rules! reduce_limb {
    ($t0:literal, $t1:literal, $t2:literal, $t3:literal) => {
        concat!(
            "mov rax, ",
            $t0,
            "\n mov rcx, ",
            $t0,
            "\n shl rax, 32\n shr rcx, 32\n",
            "add ",
            $t1,
            ", ",
            $t0,
            "\n adc ",
            $t2,
            ", 0\n adc ",
            $t3,
            ", 0\n adc ",
            $t0,
            ", 0\n",
            "sub ",
            $t1,
            ", rax\n sbb ",
            $t2,
            ", rcx\n sbb ",
            $t3,
            ", rax\n sbb ",
            $t0,
            ", rcx\n",
        )
    };
}

/// r8 … r11 = (r8 … r15) / 2²⁵⁶ mod p. Changes r12 … r15, rax, rcx, rdx, rsi and rdi.
macro_rules! reduce {
    () => {
        concat!(
            reduce_limb!("r8", "r9", "r10", "r11"),
            reduce_limb!("r9", "r10", "r11", "r8"),
            reduce_limb!("r10", "r11", "r8", "r9"),
            reduce_limb!("r11", "r8", "r9", "r10"),
            "add r8, r12\n adc r9, r13\n adc r10, r14\n adc r11, r15\n",
            subtract_p!(),
        )
    };
}

/// r8 … r11 = (carry, r8 … r11) mod p, for a number below 2p. Changes r12 … r14, rax, rcx, rdx.
macro_rules! subtract_p {
    () => {
        concat!(
            "sbb rdx, rdx\n",
            "mov r12, r8\n mov r13, r9\n mov r14, r10\n mov rcx, r11\n",
            "mov rax, 0xffffffff00000000\n",
            "sub r8, -1\n sbb r9, rax\n sbb r10, -1\n",
            "mov rax, 0xfffffffeffffffff\n",
            "sbb r11, rax\n",
            "sbb rdx, 0\n",
            // The difference, unless it borrows more than the carry.
            "cmovc r8, r12\n cmovc r9, r13\n cmovc r10, r14\n cmovc r11, rcx\n",
        )
    };
}

/// Adds a·b_i, b_i at `$b`, to the product: `$t0` … `$t3` hold limbs, `$t4` is a new one.
macro_rules! row {
    ($b:literal, $t0:literal, $t1:literal, $t2:literal, $t3:literal, $t4:literal) => {
        concat!(
            "mov rdx, ",
            $b,
            "\n xor eax, eax\n",
            "mulx rcx, rax, [rsi]\n adcx ",
            $t0,
            ", rax\n adox ",
            $t1,
            ", rcx\n",
            "mulx rcx, rax, [rsi + 8]\n adcx ",
            $t1,
            ", rax\n adox ",
            $t2,
            ", rcx\n",
            "mulx rcx, rax, [rsi + 16]\n adcx ",
            $t2,
            ", rax\n adox ",
            $t3,
            ", rcx\n",
            "mulx ",
            $t4,
            ", rax, [rsi + 24]\n adcx ",
            $t3,
            ", rax\n",
            "mov eax, 0\n adcx ",
            $t4,
            ", rax\n adox ",
            $t4,
            ", rax\n",
        )
    };
}

/// a·b. One copy in a program: inlined, a point's addition would not fit the cache of decoded
/// instructions.
#[inline(never)]
fn mul(_: cpu::Adx, a: &Fe, b: &Fe) -> Fe {
    let [r0, r1, r2, r3]: [u64; 4];
    // SAFETY: the token proves BMI2 and ADX; a and b are four limbs each, which are only read.
    unsafe {
        asm!(
            "mov rdx, [rdi]",
            "mulx r9, r8, [rsi]",
            "mulx r10, rax, [rsi + 8]",
            "add r9, rax",
            "mulx r11, rax, [rsi + 16]",
            "adc r10, rax",
            "mulx r12, rax, [rsi + 24]",
            "adc r11, rax",
            "adc r12, 0",
            row!("[rdi + 8]", "r9", "r10", "r11", "r12", "r13"),
            row!("[rdi + 16]", "r10", "r11", "r12", "r13", "r14"),
            row!("[rdi + 24]", "r11", "r12", "r13", "r14", "r15"),
            reduce!(),
            in("rsi") a.0.as_ptr(),
            in("rdi") b.0.as_ptr(),
            out("r8") r0,
            out("r9") r1,
            out("r10") r2,
            out("r11") r3,
            out("r12") _,
            out("r13") _,
            out("r14") _,
            out("r15") _,
            out("rax") _,
            out("rcx") _,
            out("rdx") _,
            options(pure, readonly, nostack),
        );
    }
    Fe([r0, r1, r2, r3])
}

/// a².
#[inline(never)]
fn sqr(_: cpu::Adx, a: &Fe) -> Fe {
    let [r0, r1, r2, r3]: [u64; 4];
    // SAFETY: as above.
    unsafe {
        asm!(
            // The products of different limbs, once: r9 … r14.
            "mov rdx, [rsi]",
            "mulx r10, r9, [rsi + 8]",
            "mulx r11, rax, [rsi + 16]",
            "add r10, rax",
            "mulx r12, rax, [rsi + 24]",
            "adc r11, rax",
            "adc r12, 0",
            "mov rdx, [rsi + 8]",
            "xor eax, eax",
            "mulx rcx, rax, [rsi + 16]",
            "adcx r11, rax",
            "adox r12, rcx",
            "mulx r13, rax, [rsi + 24]",
            "adcx r12, rax",
            "mov edi, 0",
            "adox r13, rdi",
            "adcx r13, rdi",
            "mov rdx, [rsi + 16]",
            "mulx r14, rax, [rsi + 24]",
            "add r13, rax",
            "adc r14, 0",
            // Twice that, and the squares.
            "xor edi, edi",
            "mov rdx, [rsi]",
            "mulx rcx, r8, rdx",
            "adcx r9, r9",
            "adox r9, rcx",
            "mov rdx, [rsi + 8]",
            "mulx rcx, rax, rdx",
            "adcx r10, r10",
            "adox r10, rax",
            "adcx r11, r11",
            "adox r11, rcx",
            "mov rdx, [rsi + 16]",
            "mulx rcx, rax, rdx",
            "adcx r12, r12",
            "adox r12, rax",
            "adcx r13, r13",
            "adox r13, rcx",
            "mov rdx, [rsi + 24]",
            "mulx r15, rax, rdx",
            "adcx r14, r14",
            "adox r14, rax",
            "adcx r15, rdi",
            "adox r15, rdi",
            reduce!(),
            in("rsi") a.0.as_ptr(),
            out("rdi") _,
            out("r8") r0,
            out("r9") r1,
            out("r10") r2,
            out("r11") r3,
            out("r12") _,
            out("r13") _,
            out("r14") _,
            out("r15") _,
            out("rax") _,
            out("rcx") _,
            out("rdx") _,
            options(pure, readonly, nostack),
        );
    }
    Fe([r0, r1, r2, r3])
}

/// See [`Field::lookup`].
#[target_feature(enable = "avx2")]
fn lookup_avx2<const W: usize>(table: &[[u64; W]], index: u64) -> [u64; W] {
    const { assert!(W.is_multiple_of(4)) };
    let wanted = _mm256_set1_epi64x(index.cast_signed());
    let mut entry = [0; W];
    let mut at = _mm256_setzero_si256();
    let mut words = [_mm256_setzero_si256(); 5];
    let words = &mut words[..W / 4];
    for candidate in table {
        at = _mm256_add_epi64(at, _mm256_set1_epi64x(1));
        let mask = _mm256_cmpeq_epi64(at, wanted);
        for (word, candidate) in words.iter_mut().zip(candidate.as_chunks::<4>().0) {
            // SAFETY: four words are read.
            let candidate = unsafe { _mm256_loadu_si256(candidate.as_ptr().cast()) };
            *word = _mm256_or_si256(*word, _mm256_and_si256(candidate, mask));
        }
    }
    for (out, word) in entry.as_chunks_mut::<4>().0.iter_mut().zip(words) {
        // SAFETY: four words are written.
        unsafe { _mm256_storeu_si256(out.as_mut_ptr().cast(), *word) };
    }
    entry
}

/// See [`Field::lookup`].
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx2,bmi2")]
fn lookup_avx512<const W: usize>(table: &[[u64; W]], index: u64) -> [u64; W] {
    if W != 8 {
        return lookup_avx2(table, index);
    }
    let wanted = _mm512_set1_epi64(index.cast_signed());
    let mut at = _mm512_setzero_si512();
    let mut words = _mm512_setzero_si512();
    for candidate in table {
        at = _mm512_add_epi64(at, _mm512_set1_epi64(1));
        // In assembly, because the compiler would make one masked load of a load and a choice, and
        // nobody promises that a load that is masked out touches its cache line.
        // SAFETY: the features are enabled; eight words are read.
        unsafe {
            asm!(
                "vpcmpeqq {chosen}, {at}, {wanted}",
                "vmovdqu64 {candidate}, [{address}]",
                "vmovdqa64 {words} {{{chosen}}}, {candidate}",
                chosen = out(kreg) _,
                at = in(zmm_reg) at,
                wanted = in(zmm_reg) wanted,
                candidate = out(zmm_reg) _,
                address = in(reg) candidate.as_ptr(),
                words = inout(zmm_reg) words,
                options(pure, readonly, nostack, preserves_flags),
            );
        }
    }
    let mut entry = [0; W];
    // SAFETY: eight words are written.
    unsafe { _mm512_storeu_si512(entry.as_mut_ptr().cast(), words) };
    entry
}

const _: () = assert!(P[1] == 0xffff_ffff_0000_0000 && P[3] == 0xffff_fffe_ffff_ffff);

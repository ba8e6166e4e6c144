//! F_p on x86-64 with BMI2's MULX; tables are scanned with AVX2 or AVX-512.
//!
//! A product is 16 MULX in rows and a reduction of two limbs at a time, all in registers. On Intel's
//! cores its bound are the two ports that add with carry, choose and shift: 58 operations, 29 clocks
//! (33 measured), and 54 for a result that may be a little over p. That is why a row adds its products up
//! before it adds them to the others, 7 such operations, instead of by the two chains of ADX, 9.
#![allow(unsafe_code)]

use ::core::arch::{asm, x86_64::*};

use subtle::Choice;

use super::{Fe, Field, Near, Number, P};
use crate::{cpu, sm2::limbs::Limbs};

/// Proof of BMI2 and AVX2; of AVX-512 for tables, and of IFMA for multiples of G, where these are to be used.
#[derive(Clone, Copy)]
pub(in crate::sm2) struct Mulx {
    pub(super) bmi2: cpu::Bmi2,
    pub(super) avx512: Option<cpu::Avx512>,
    pub(super) ifma: Option<cpu::Ifma>,
}

impl Field for Mulx {
    #[inline(always)]
    fn mul(self, a: &impl Number, b: &impl Number) -> Fe {
        mul(self.bmi2, a, b)
    }

    #[inline(always)]
    fn mul_near(self, a: &impl Number, b: &impl Number) -> Near {
        mul_near(self.bmi2, a, b)
    }

    #[inline(always)]
    fn sqr(self, a: &impl Number) -> Fe {
        sqr(self.bmi2, a)
    }

    #[inline(always)]
    fn sqr_near(self, a: &impl Number) -> Near {
        sqr_near(self.bmi2, a)
    }

    #[inline(always)]
    fn mul_sub_near(
        self,
        a: &impl Number,
        b: &impl Number,
        c: &impl Number,
        d: &impl Number,
    ) -> Near {
        mul_sub_near(self.bmi2, a, b, c, d)
    }

    #[inline(always)]
    fn mul_sub_sqr_near(self, a: &impl Number, b: &impl Number, c: &impl Number) -> Near {
        mul_sub_sqr_near(self.bmi2, a, b, c)
    }

    #[inline(always)]
    fn add(self, a: &Fe, b: &Fe) -> Fe {
        add(a, b)
    }

    #[inline(always)]
    fn add_near(self, a: &impl Number, b: &Fe) -> Near {
        add_near(a.limbs(), b)
    }

    #[inline(always)]
    fn sub(self, a: &Fe, b: &Fe) -> Fe {
        Fe(sub(&a.0, b))
    }

    #[inline(always)]
    fn sub_near(self, a: &impl Number, b: &Fe) -> Near {
        Near(sub(a.limbs(), b))
    }

    #[inline(always)]
    fn select<T: Number>(self, a: &T, b: &T, choice: Choice) -> T {
        T::same(select(a.limbs(), b.limbs(), choice))
    }

    #[inline(always)]
    fn half(self, a: &Fe) -> Fe {
        half(self.bmi2, a)
    }

    #[inline]
    fn ifma(self) -> Option<cpu::Ifma> {
        self.ifma
    }

    #[inline]
    fn lookup<const W: usize, const N: usize>(self, table: &[[u64; W]; N], index: u64) -> [u64; W] {
        match self.avx512 {
            // SAFETY: the token proves AVX-512.
            Some(_) if W == 8 => unsafe { lookup_avx512(table, index) },
            // SAFETY: the token for BMI2 proves AVX2 too.
            _ => unsafe { lookup_avx2(table, index) },
        }
    }
}

/// Two limbs of the Montgomery reduction. Of the number in `$t0` … `$t3`, adds the multiple q·p that
/// clears `$t0` and `$t1`; the four limbs above them are then in `$t2`, `$t3`, `$t0`, `$t1`.
///
/// −p⁻¹ mod 2¹²⁸ = 1 + 2⁶⁴ − 2⁹⁶, so q₀ = t₀ and q₁ = t₁ + t₀ − (t₀ <<< 32 bits), whose carry and borrow
/// go on to the limbs above. There q·p leaves q₁, 0, q₀, q₁ less A, B + D, A, B, where
/// A = ⌊q / 2³²⌋ mod 2⁶⁴, B = ⌊q / 2⁹⁶⌋ and D = 2³²·q₀ mod 2⁶⁴. Two limbs at once take 11 operations of
/// the two ports that know carries and shifts, one by one 16.
#[rustfmt::skip]
macro_rules! reduce_two {
    ($t0:literal, $t1:literal, $t2:literal, $t3:literal) => {
        concat!(
            // rbx = ⌊q₀ / 2³²⌋, rax = D, rcx = q₀ − D with its borrow in rbp.
            "rorx rax, ", $t0, ", 32\n mov ebx, eax\n sub rax, rbx\n",
            "mov rcx, ", $t0, "\n sub rcx, rax\n sbb rbp, rbp\n",
            // rdx = A, rsi = B, rax = B + D.
            "lea rdx, [", $t1, " + rcx]\n rorx rdx, rdx, 32\n mov esi, edx\n",
            "sub rdx, rsi\n add rdx, rbx\n add rax, rsi\n",
            "add ", $t1, ", rcx\n",
            "adc ", $t2, ", ", $t1, "\n adc ", $t3, ", 0\n adc ", $t0, ", 0\n adc ", $t1, ", 0\n",
            "add rbp, rbp\n",
            "sbb ", $t2, ", rdx\n sbb ", $t3, ", rax\n sbb ", $t0, ", rdx\n sbb ", $t1, ", rsi\n",
        )
    };
}

/// r8 … r11 and a carry = (r8 … r15) / 2²⁵⁶, up to a multiple of p: below 2p, for a number below 2²⁵⁶·p.
/// Changes rax, rbx, rcx, rdx, rsi and rbp.
#[rustfmt::skip]
macro_rules! divide {
    () => {
        concat!(
            reduce_two!("r8", "r9", "r10", "r11"),
            reduce_two!("r10", "r11", "r8", "r9"),
            "add r8, r12\n adc r9, r13\n adc r10, r14\n adc r11, r15\n",
            "sbb rdx, rdx\n",
        )
    };
}

/// r8 … r11 = (r8 … r15) / 2²⁵⁶ mod p. Changes all other registers but rdi.
#[rustfmt::skip]
macro_rules! reduce {
    () => {
        concat!(
            divide!(),
            "mov r12, r8\n mov r13, r9\n mov r14, r10\n mov r15, r11\n",
            "mov rax, 0xffffffff00000000\n mov rcx, 0xfffffffeffffffff\n",
            "sub r8, -1\n sbb r9, rax\n sbb r10, -1\n sbb r11, rcx\n sbb rdx, 0\n",
            // The difference, unless it borrows more than the sum's carry.
            "cmovc r8, r12\n cmovc r9, r13\n cmovc r10, r14\n cmovc r11, r15\n",
        )
    };
}

/// The same as a [`Near`]: p is subtracted if there is a carry, or if the top limb alone tells that the
/// number is above p. Those two exclude each other. Changes the same registers.
#[rustfmt::skip]
macro_rules! reduce_near {
    () => {
        concat!(
            divide!(),
            "mov rax, 0xffffffff00000000\n mov rcx, 0xfffffffeffffffff\n",
            "cmp rcx, r11\n sbb rdx, 0\n and rax, rdx\n and rcx, rdx\n",
            "sub r8, rdx\n sbb r9, rax\n sbb r10, rdx\n sbb r11, rcx\n",
        )
    };
}

/// Adds a·b_i, b_i at `$b`, to the product: `$t0` … `$t3` hold limbs, `$t4` is a new one.
#[rustfmt::skip]
macro_rules! row {
    ($b:literal, $t0:literal, $t1:literal, $t2:literal, $t3:literal, $t4:literal) => {
        concat!(
            "mov rdx, ", $b, "\n",
            "mulx ", $t4, ", rax, [rsi]\n",
            "mulx rbp, rcx, [rsi + 8]\n add rcx, ", $t4, "\n",
            "mulx ", $t4, ", rbx, [rsi + 16]\n adc rbx, rbp\n",
            "mulx rdx, rbp, [rsi + 24]\n adc rbp, ", $t4, "\n adc rdx, 0\n",
            "add ", $t0, ", rax\n adc ", $t1, ", rcx\n adc ", $t2, ", rbx\n adc ", $t3, ", rbp\n",
            "adc rdx, 0\n mov ", $t4, ", rdx\n",
        )
    };
}

/// r8 … r15 = a·b, for a at rsi and b at rdi. Changes all other registers but these two.
#[rustfmt::skip]
macro_rules! product {
    () => {
        concat!(
            "mov rdx, [rdi]\n mulx r9, r8, [rsi]\n mulx r10, rax, [rsi + 8]\n add r9, rax\n",
            "mulx r11, rax, [rsi + 16]\n adc r10, rax\n mulx r12, rax, [rsi + 24]\n adc r11, rax\n",
            "adc r12, 0\n",
            row!("[rdi + 8]", "r9", "r10", "r11", "r12", "r13"),
            row!("[rdi + 16]", "r10", "r11", "r12", "r13", "r14"),
            row!("[rdi + 24]", "r11", "r12", "r13", "r14", "r15"),
        )
    };
}

/// r8 … r15 = a², for a at rsi. Changes all other registers but this.
#[rustfmt::skip]
macro_rules! square {
    () => {
        concat!(
            // The products of different limbs, once: r9 … r14.
            "mov rdx, [rsi]\n mulx r10, r9, [rsi + 8]\n mulx r11, rax, [rsi + 16]\n",
            "mulx r12, rcx, [rsi + 24]\n mov rdx, [rsi + 8]\n add r10, rax\n",
            "adc r11, rcx\n adc r12, 0\n mulx rbx, rax, [rsi + 16]\n mulx r13, rcx, [rsi + 24]\n",
            "mov rdx, [rsi + 16]\n mulx r14, rdi, [rsi + 24]\n add rcx, rbx\n",
            "adc r13, rdi\n adc r14, 0\n add r11, rax\n adc r12, rcx\n adc r13, 0\n",
            "adc r14, 0\n",
            // Twice that.
            "xor r15d, r15d\n add r9, r9\n adc r10, r10\n adc r11, r11\n adc r12, r12\n",
            "adc r13, r13\n adc r14, r14\n adc r15, 0\n",
            // The squares of the limbs.
            "mov rdx, [rsi]\n mulx rcx, r8, rdx\n mov rdx, [rsi + 8]\n mulx rbp, rbx, rdx\n",
            "add r9, rcx\n adc r10, rbx\n adc r11, rbp\n mov rdx, [rsi + 16]\n",
            "mulx rcx, rax, rdx\n adc r12, rax\n adc r13, rcx\n mov rdx, [rsi + 24]\n",
            "mulx rcx, rax, rdx\n adc r14, rax\n adc r15, rcx\n",
        )
    };
}

/// r8 … r15 = a·b − (r8 … r15), plus 2²⁵⁶·p if that is negative: below 2²⁵⁶·p, as the reduction wants. The
/// addresses of a and b have been pushed; they are popped. Changes all other registers.
#[rustfmt::skip]
macro_rules! product_less {
    () => {
        concat!(
            "sub rsp, 64\n",
            "mov [rsp], r8\n mov [rsp + 8], r9\n mov [rsp + 16], r10\n mov [rsp + 24], r11\n",
            "mov [rsp + 32], r12\n mov [rsp + 40], r13\n mov [rsp + 48], r14\n mov [rsp + 56], r15\n",
            "mov rsi, [rsp + 72]\n mov rdi, [rsp + 64]\n",
            product!(),
            "sub r8, [rsp]\n sbb r9, [rsp + 8]\n sbb r10, [rsp + 16]\n sbb r11, [rsp + 24]\n",
            "sbb r12, [rsp + 32]\n sbb r13, [rsp + 40]\n sbb r14, [rsp + 48]\n sbb r15, [rsp + 56]\n",
            "sbb rdx, rdx\n",
            "mov rax, 0xffffffff00000000\n mov rcx, 0xfffffffeffffffff\n",
            "and rax, rdx\n and rcx, rdx\n",
            "add r12, rdx\n adc r13, rax\n adc r14, rdx\n adc r15, rcx\n",
            "add rsp, 80\n",
        )
    };
}

/// A function that computes a product, or a difference of two, in assembly, and reduces it: `$reduce`.
///
/// Inlined, and the result comes in registers: of limbs that went through memory the compiler copies
/// two by two, and such a load waits until both stores before it are done. A call to one copy of the product
/// took 8 % more for a multiple of a point (measured on Intel's Golden Cove).
macro_rules! products {
    ($(#[$doc:meta])* $name:ident($($element:ident: $register:tt),*) -> $result:ident,
     $($code:expr),*; $($changed:tt),*) => {
        $(#[$doc])*
        #[inline(always)]
        fn $name(_: cpu::Bmi2, $($element: &impl Number),*) -> $result {
            let [r0, r1, r2, r3]: [u64; 4];
            // SAFETY: the token proves BMI2; all elements are four limbs, which are only read; at most 112
            // bytes of the stack are used and given back.
            unsafe {
                asm!(
                    "push rbx",
                    "push rbp",
                    $($code,)*
                    "pop rbp",
                    "pop rbx",
                    $(inout($register) $element.limbs().as_ptr() => _,)*
                    $(out($changed) _,)*
                    out("r8") r0,
                    out("r9") r1,
                    out("r10") r2,
                    out("r11") r3,
                    out("r12") _,
                    out("r13") _,
                    out("r14") _,
                    out("r15") _,
                    out("rdx") _,
                    options(pure, readonly),
                );
            }
            $result([r0, r1, r2, r3])
        }
    };
}

products!(
    /// a·b.
    mul(a: "rsi", b: "rdi") -> Fe, product!(), reduce!(); "rax", "rcx"
);
products!(
    /// a·b.
    mul_near(a: "rsi", b: "rdi") -> Near, product!(), reduce_near!(); "rax", "rcx"
);
products!(
    /// a².
    sqr(a: "rsi") -> Fe, square!(), reduce!(); "rax", "rcx", "rdi"
);
products!(
    /// a².
    sqr_near(a: "rsi") -> Near, square!(), reduce_near!(); "rax", "rcx", "rdi"
);
products!(
    /// a·b − c·d, with one reduction for both.
    mul_sub_near(a: "rax", b: "rcx", c: "rsi", d: "rdi") -> Near,
    "push rax", "push rcx", product!(), product_less!(), reduce_near!();
);
products!(
    /// a·b − c², with one reduction for both.
    mul_sub_sqr_near(a: "rax", b: "rcx", c: "rsi") -> Near,
    "push rax", "push rcx", square!(), product_less!(), reduce_near!(); "rdi"
);

/// a + b. In assembly like what follows, because the compiler takes chains of borrows apart where it
/// knows one of the numbers, and needs three times the instructions.
///
/// This and the next two take eleven registers. AddressSanitizer aligns the frame of a function that has arrays;
/// that takes the frame and the base pointer, and among products, which name all thirteen others, the compiler
/// finds no place for these: "inline assembly requires more registers than available". Fuzzing therefore
/// calls the same code: in a function of its own, it has no arrays beside it.
#[cfg_attr(not(fuzzing), inline(always))]
#[cfg_attr(fuzzing, inline(never))]
fn add(a: &Fe, b: &Fe) -> Fe {
    let Fe([mut r0, mut r1, mut r2, mut r3]) = *a;
    let carry: u64;
    // SAFETY: arithmetic on registers.
    unsafe {
        asm!(
            "add {r0}, {b0}",
            "adc {r1}, {b1}",
            "adc {r2}, {b2}",
            "adc {r3}, {b3}",
            "sbb {carry}, {carry}",
            r0 = inout(reg) r0,
            r1 = inout(reg) r1,
            r2 = inout(reg) r2,
            r3 = inout(reg) r3,
            b0 = in(reg) b.0[0],
            b1 = in(reg) b.0[1],
            b2 = in(reg) b.0[2],
            b3 = in(reg) b.0[3],
            carry = out(reg) carry,
            options(pure, nomem, nostack),
        );
        asm!(
            "mov {t0}, {r0}",
            "mov {t1}, {r1}",
            "mov {t2}, {r2}",
            "mov {t3}, {r3}",
            "mov {p1}, {P1}",
            "mov {p3}, {P3}",
            "sub {r0}, -1",
            "sbb {r1}, {p1}",
            "sbb {r2}, -1",
            "sbb {r3}, {p3}",
            "sbb {carry}, 0",
            "cmovc {r0}, {t0}",
            "cmovc {r1}, {t1}",
            "cmovc {r2}, {t2}",
            "cmovc {r3}, {t3}",
            r0 = inout(reg) r0,
            r1 = inout(reg) r1,
            r2 = inout(reg) r2,
            r3 = inout(reg) r3,
            carry = inout(reg) carry => _,
            t0 = out(reg) _,
            t1 = out(reg) _,
            t2 = out(reg) _,
            t3 = out(reg) _,
            p1 = out(reg) _,
            p3 = out(reg) _,
            P1 = const P[1],
            P3 = const P[3],
            options(pure, nomem, nostack),
        );
    }
    Fe([r0, r1, r2, r3])
}

/// a + b, reduced as a product's [`Near`].
#[cfg_attr(not(fuzzing), inline(always))]
#[cfg_attr(fuzzing, inline(never))]
fn add_near(a: &Limbs, b: &Fe) -> Near {
    let [mut r0, mut r1, mut r2, mut r3] = *a;
    // SAFETY: arithmetic on registers.
    unsafe {
        asm!(
            "add {r0}, {b0}",
            "adc {r1}, {b1}",
            "adc {r2}, {b2}",
            "adc {r3}, {b3}",
            "mov {p1}, {P1}",
            "mov {p3}, {P3}",
            "sbb {mask}, {mask}",
            "cmp {p3}, {r3}",
            "sbb {mask}, 0",
            "and {p1}, {mask}",
            "and {p3}, {mask}",
            "sub {r0}, {mask}",
            "sbb {r1}, {p1}",
            "sbb {r2}, {mask}",
            "sbb {r3}, {p3}",
            r0 = inout(reg) r0,
            r1 = inout(reg) r1,
            r2 = inout(reg) r2,
            r3 = inout(reg) r3,
            b0 = in(reg) b.0[0],
            b1 = in(reg) b.0[1],
            b2 = in(reg) b.0[2],
            b3 = in(reg) b.0[3],
            mask = out(reg) _,
            p1 = out(reg) _,
            p3 = out(reg) _,
            P1 = const P[1],
            P3 = const P[3],
            options(pure, nomem, nostack),
        );
    }
    Near([r0, r1, r2, r3])
}

/// a − b, and p more if that is negative.
#[cfg_attr(not(fuzzing), inline(always))]
#[cfg_attr(fuzzing, inline(never))]
fn sub(a: &Limbs, b: &Fe) -> Limbs {
    let [mut r0, mut r1, mut r2, mut r3] = *a;
    // SAFETY: arithmetic on registers.
    unsafe {
        asm!(
            "sub {r0}, {b0}",
            "sbb {r1}, {b1}",
            "sbb {r2}, {b2}",
            "sbb {r3}, {b3}",
            "mov {p1}, {P1}",
            "mov {p3}, {P3}",
            "sbb {mask}, {mask}",
            "and {p1}, {mask}",
            "and {p3}, {mask}",
            "add {r0}, {mask}",
            "adc {r1}, {p1}",
            "adc {r2}, {mask}",
            "adc {r3}, {p3}",
            r0 = inout(reg) r0,
            r1 = inout(reg) r1,
            r2 = inout(reg) r2,
            r3 = inout(reg) r3,
            b0 = in(reg) b.0[0],
            b1 = in(reg) b.0[1],
            b2 = in(reg) b.0[2],
            b3 = in(reg) b.0[3],
            mask = out(reg) _,
            p1 = out(reg) _,
            p3 = out(reg) _,
            P1 = const P[1],
            P3 = const P[3],
            options(pure, nomem, nostack),
        );
    }
    [r0, r1, r2, r3]
}

/// b if `choice`, else a. In assembly because the compiler would take vectors for it, which cannot load
/// limbs that have just been stored.
#[inline(always)]
fn select(a: &Limbs, b: &Limbs, choice: Choice) -> Limbs {
    let [mut r0, mut r1, mut r2, mut r3] = *a;
    // SAFETY: arithmetic on registers.
    unsafe {
        asm!(
            "test {choice}, {choice}",
            "cmovnz {r0}, {b0}",
            "cmovnz {r1}, {b1}",
            "cmovnz {r2}, {b2}",
            "cmovnz {r3}, {b3}",
            r0 = inout(reg) r0,
            r1 = inout(reg) r1,
            r2 = inout(reg) r2,
            r3 = inout(reg) r3,
            b0 = in(reg) b[0],
            b1 = in(reg) b[1],
            b2 = in(reg) b[2],
            b3 = in(reg) b[3],
            choice = in(reg_byte) choice.unwrap_u8(),
            options(pure, nomem, nostack),
        );
    }
    [r0, r1, r2, r3]
}

/// a / 2. MULX shifts: a product with 2⁶³ has the bits of a limb that stay in one half, and in the other
/// half the one that goes to the next limb; shifts would take eight operations of the two ports.
#[inline(always)]
fn half(_: cpu::Bmi2, a: &Fe) -> Fe {
    let Fe([mut r0, mut r1, mut r2, mut r3]) = *a;
    // SAFETY: the token proves BMI2; arithmetic on registers.
    unsafe {
        asm!(
            "mov {mask}, {r0}",
            "and {mask}, 1",
            "neg {mask}",
            "mov {p1}, {P1}",
            "mov {p3}, {P3}",
            "and {p1}, {mask}",
            "and {p3}, {mask}",
            "add {r0}, {mask}",
            "adc {r1}, {p1}",
            "adc {r2}, {mask}",
            "adc {r3}, {p3}",
            "sbb {mask}, {mask}",
            "and {mask}, rdx",
            "mulx {r0}, {p1}, {r0}",
            "mulx {r1}, {p1}, {r1}",
            "lea {r0}, [{r0} + {p1}]",
            "mulx {r2}, {p1}, {r2}",
            "lea {r1}, [{r1} + {p1}]",
            "mulx {r3}, {p1}, {r3}",
            "lea {r2}, [{r2} + {p1}]",
            "lea {r3}, [{r3} + {mask}]",
            r0 = inout(reg) r0,
            r1 = inout(reg) r1,
            r2 = inout(reg) r2,
            r3 = inout(reg) r3,
            mask = out(reg) _,
            p1 = out(reg) _,
            p3 = out(reg) _,
            P1 = const P[1],
            P3 = const P[3],
            in("rdx") 1_u64 << 63,
            options(pure, nomem, nostack),
        );
    }
    Fe([r0, r1, r2, r3])
}

/// See [`Field::lookup`].
#[target_feature(enable = "avx2")]
fn lookup_avx2<const W: usize, const N: usize>(table: &[[u64; W]; N], index: u64) -> [u64; W] {
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

/// See [`Field::lookup`]; for entries of eight words.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx2,bmi2")]
fn lookup_avx512<const W: usize, const N: usize>(table: &[[u64; W]; N], index: u64) -> [u64; W] {
    assert_eq!(W, 8, "words of an entry");
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

// The limbs that the assembly above knows.
const _: () = assert!(P[0] == u64::MAX && P[2] == u64::MAX);
const _: () = assert!(P[1] == 0xffff_ffff_0000_0000 && P[3] == 0xffff_fffe_ffff_ffff);

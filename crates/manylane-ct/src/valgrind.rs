//! Client requests: what a program may ask of the valgrind that runs it.
//!
//! The encoding is valgrind's ABI for programs, fixed in its `valgrind.h`: a pointer to six words
//! in rax, a default answer in rdx, and a sequence of instructions that does nothing on a real
//! processor.
#![allow(unsafe_code)]

use std::ffi::c_void;

const RUNNING_ON_VALGRIND: usize = 0x1001;
const COUNT_ERRORS: usize = 0x1201;
/// Requests of memcheck are numbered from the letters MC.
const MEMCHECK: usize = (b'M' as usize) << 24 | (b'C' as usize) << 16;
const MAKE_MEM_UNDEFINED: usize = MEMCHECK + 1;
const MAKE_MEM_DEFINED: usize = MEMCHECK + 2;

/// Whether valgrind runs this program.
pub fn is_running() -> bool {
    request(RUNNING_ON_VALGRIND, std::ptr::null(), 0) != 0
}

/// Errors that valgrind has reported so far.
pub fn errors() -> usize {
    request(COUNT_ERRORS, std::ptr::null(), 0)
}

/// Marks bytes secret: valgrind then reports every branch and address that depends on them.
pub fn mark_secret<T: Copy>(values: &mut [T]) {
    request(MAKE_MEM_UNDEFINED, values.as_ptr().cast(), size_of_val(values));
}

/// Marks bytes public, such as a digest that goes to the outside.
pub fn mark_public<T: Copy>(values: &mut [T]) {
    request(MAKE_MEM_DEFINED, values.as_ptr().cast(), size_of_val(values));
}

#[cfg(target_arch = "x86_64")]
fn request(code: usize, start: *const c_void, len: usize) -> usize {
    let words = [code, start as usize, len, 0, 0, 0];
    let mut answer = 0;
    // SAFETY: rotations of rdi by 64 + 64 bits in all and an exchange of rbx with itself change
    // nothing but flags; valgrind reads the six words and answers in rdx.
    unsafe {
        std::arch::asm!(
            "rol rdi, 3",
            "rol rdi, 13",
            "rol rdi, 61",
            "rol rdi, 51",
            "xchg rbx, rbx",
            in("rax") words.as_ptr(),
            inout("rdx") answer,
            out("rdi") _,
            options(nostack),
        );
    }
    answer
}

/// No other processor's encoding is needed: what these programs find out by valgrind, they find
/// out on x86-64.
#[cfg(not(target_arch = "x86_64"))]
fn request(_: usize, _: *const c_void, _: usize) -> usize {
    0
}

/// A planted leak; see [`leaks`](crate::leaks).
///
/// # Panics
/// If the processor has no AVX2.
#[cfg(target_arch = "x86_64")]
#[inline(never)]
pub fn gather(secret: &[u8; 32]) -> [u8; 32] {
    use std::arch::x86_64::*;

    #[target_feature(enable = "avx2")]
    fn gather_avx2(secret: &[u8; 32], table: &[i32; 256]) -> [u8; 32] {
        // SAFETY: each index is below 256; 32 bytes are read and written.
        unsafe {
            let indices = _mm256_loadu_si256(secret.as_ptr().cast());
            let indices = _mm256_and_si256(indices, _mm256_set1_epi32(255));
            let entries = _mm256_i32gather_epi32::<4>(table.as_ptr(), indices);
            let mut out = [0; 32];
            _mm256_storeu_si256(out.as_mut_ptr().cast(), entries);
            out
        }
    }

    assert!(is_x86_feature_detected!("avx2"), "a gather needs AVX2");
    let table = std::array::from_fn(|i| (i as i32).wrapping_mul(0x0101_0101));
    // SAFETY: the feature was just detected.
    unsafe { gather_avx2(secret, std::hint::black_box(&table)) }
}

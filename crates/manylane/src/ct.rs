//! Wiping of secrets, and the one way from a secret to a branch.

use core::hint::black_box;

use subtle::Choice;
use zeroize::optimization_barrier;

/// Makes a choice public that was computed from secrets, so that the caller may branch on it: that a
/// key is in its range, that a signature is none of those to throw away, that a tag is right, how long padding is.
///
/// The check of constant time knows this function by its name and excuses the branch in it, and none
/// elsewhere. The barriers keep the branch here: without them it would be the caller's.
#[inline(never)]
pub(crate) fn reveal(choice: Choice) -> bool {
    if choice.unwrap_u8() == 1 { black_box(true) } else { black_box(false) }
}

/// Overwrites bytes. `zeroize` does the same byte by byte (4.7 µs for 32 KiB, measured, against
/// 0.2 µs), which short batches would feel.
#[inline]
pub(crate) fn wipe_bytes(bytes: &mut [u8]) {
    bytes.fill(0);
    optimization_barrier(bytes);
}

/// Overwrites as many values as the type says, once the work of a kernel is done: a few stores, where a slice of any
/// length may be a call.
#[inline(always)]
pub(crate) fn wipe_array<T: Copy, const N: usize>(array: &mut [T; N], zero: T) {
    *array = [zero; N];
    optimization_barrier(array);
}

/// Overwrites words.
#[inline]
pub(crate) fn wipe_words(words: &mut [u32]) {
    words.fill(0);
    optimization_barrier(words);
}

/// Overwrites 64-bit words.
#[inline]
pub(crate) fn wipe_long_words(words: &mut [u64]) {
    words.fill(0);
    optimization_barrier(words);
}

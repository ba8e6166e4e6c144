//! The domain's bits and the padding pad10*1 of FIPS 202, clauses 5.1 and 6.

use super::Function;

/// Writes the last block of a message into the first bytes of `out`: `tail` (what follows the
/// last full block), the function's [`suffix`](Function::suffix), zeros, and the final 1 as 0x80.
/// Returns the block's length, [`rate`](Function::rate) bytes.
///
/// # Panics
/// Unless `tail.len() < function.rate()`.
pub fn pad(function: Function, tail: &[u8], out: &mut [u8; 168]) -> usize {
    let rate = function.rate();
    assert!(tail.len() < rate, "a tail of {} bytes is a block of {rate}", tail.len());
    let block = &mut out[..rate];
    block[..tail.len()].copy_from_slice(tail);
    block[tail.len()..].fill(0);
    block[tail.len()] = function.suffix();
    block[rate - 1] |= 0x80;
    rate
}

//! The domain's bits and the padding pad10*1 of FIPS 202, clauses 5.1 and 6.

use super::{Function, midstate::MAX_RATE};

/// Bytes that may follow every message of a batch.
pub(super) const MAX_FOOT: usize = 32;

/// Writes the last block of a message into the first bytes of `out`: `tail` (what follows the
/// last full block), the function's [`suffix`](Function::suffix), zeros, and the final 1 as 0x80.
/// Returns the block's length, [`rate`](Function::rate) bytes.
///
/// # Panics
/// Unless `tail.len() < function.rate()`.
pub fn pad(function: Function, tail: &[u8], out: &mut [u8; 168]) -> usize {
    let rate = function.rate();
    assert!(tail.len() < rate, "a tail of {} bytes is a block of {rate}", tail.len());
    out[..tail.len()].copy_from_slice(tail);
    close(function, tail.len(), &mut out[..rate]);
    rate
}

/// The last blocks of a message, one or two, of which `len` bytes stand there: the padding after
/// them.
#[inline]
pub(super) fn close(function: Function, len: usize, blocks: &mut [u8]) {
    blocks[len..].fill(0);
    blocks[len] = function.suffix();
    blocks[blocks.len() - 1] |= 0x80;
}

/// [`pad`] of parts: fewer bytes than a block, and [`MAX_FOOT`] more. How many blocks they make.
pub(super) fn pad_parts(
    function: Function,
    parts: [&[u8]; 3],
    out: &mut [u8; 2 * MAX_RATE],
) -> usize {
    let rate = function.rate();
    let mut len = 0;
    for part in parts {
        out[len..len + part.len()].copy_from_slice(part);
        len += part.len();
    }
    let blocks = 1 + usize::from(len >= rate);
    close(function, len, &mut out[..blocks * rate]);
    blocks
}

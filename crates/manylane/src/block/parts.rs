//! Data that comes in parts of any length: the bytes of a begun block, whole blocks, and the rest.

use super::Block;

/// The first bytes of `data`, which go on a block of which `used` bytes (0…15) were used, whole blocks,
/// and the bytes that begin another one.
pub(super) fn split(used: usize, data: &mut [u8]) -> (&mut [u8], &mut [Block], &mut [u8]) {
    let left = (16 - used) % 16;
    let (head, rest) = data.split_at_mut(left.min(data.len()));
    let (whole, tail) = rest.as_chunks_mut();
    (head, whole, tail)
}

/// Xors as many bytes of `stream` into `data` as this has.
pub(super) fn xor(data: &mut [u8], stream: &[u8]) {
    for (byte, stream) in data.iter_mut().zip(stream) {
        *byte ^= stream;
    }
}

//! The padding of GB/T 32905-2016, clause 5.2.

/// Writes the last block or two of a message of `total_len` bytes into `out`: `tail` (the
/// `total_len % 64` bytes after its last full block), the bit 1, zeros, and the length in bits.
/// Returns how many of `out`'s two blocks are used. The length in bits is taken modulo 2⁶⁴; the
/// standard defines no longer message.
///
/// # Panics
/// If `tail.len() != total_len % 64`.
pub fn pad(tail: &[u8], total_len: u64, out: &mut [u8; 128]) -> usize {
    assert_eq!(tail.len() as u64, total_len % 64, "tail of a message of {total_len} bytes");
    let blocks = if tail.len() < 56 { 1 } else { 2 };
    out[..tail.len()].copy_from_slice(tail);
    out[tail.len()] = 0x80;
    out[tail.len() + 1..blocks * 64 - 8].fill(0);
    out[blocks * 64 - 8..blocks * 64].copy_from_slice(&(total_len << 3).to_be_bytes());
    blocks
}

/// Whether the last block of a message of `total_len` bytes holds no byte of it, so that all
/// messages of that length share it.
pub(super) fn last_block_is_constant(total_len: u64) -> bool {
    total_len.is_multiple_of(64) || total_len % 64 >= 56
}

/// That shared last block.
pub(super) fn constant_block(total_len: u64) -> [u8; 64] {
    let mut block = [0; 64];
    if total_len.is_multiple_of(64) {
        block[0] = 0x80;
    }
    block[56..].copy_from_slice(&(total_len << 3).to_be_bytes());
    block
}

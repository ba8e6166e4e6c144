//! Numbers and strings as SP 800-185, clause 2.3, puts them into a sponge.

use super::{Midstate, dispatch::Stream};

/// left_encode or right_encode of a number: at most nine bytes.
pub(super) struct Encoded {
    bytes: [u8; 9],
    /// The first and past the last of `bytes` that are used.
    ends: (usize, usize),
}

impl Encoded {
    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.bytes[self.ends.0..self.ends.1]
    }
}

/// How many bytes a number takes, at least one.
fn byte_len(x: u64) -> usize {
    (8 - x.leading_zeros() as usize / 8).max(1)
}

/// The number's bytes after their count.
pub(super) fn left_encode(x: u64) -> Encoded {
    let mut bytes = [0; 9];
    let first = 8 - byte_len(x);
    bytes[1..].copy_from_slice(&x.to_be_bytes());
    bytes[first] = byte_len(x) as u8;
    Encoded { bytes, ends: (first, 9) }
}

/// A string's length in bits, and the string.
pub(super) fn absorb_string(state: &mut Midstate, string: &[u8], stream: Stream) {
    state.absorb(left_encode(8 * string.len() as u64).as_bytes(), stream);
    state.absorb(string, stream);
}

/// bytepad of the encoded strings to whole blocks.
pub(super) fn absorb_bytepad(state: &mut Midstate, strings: &[&[u8]], stream: Stream) {
    let rate = state.function().rate();
    state.absorb(left_encode(rate as u64).as_bytes(), stream);
    for string in strings {
        absorb_string(state, string, stream);
    }
    if !state.rest().is_empty() {
        let zeros = [0; super::midstate::MAX_RATE];
        state.absorb(&zeros[..rate - state.rest().len()], stream);
    }
}

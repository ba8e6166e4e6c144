//! Numbers and strings as SP 800-185, clause 2.3, and RFC 9861, clause 3.3, put them into a sponge.

use super::{Midstate, dispatch::Stream};

/// left_encode, right_encode or length_encode of a number: at most nine bytes.
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

/// How many bytes a number takes, none for zero.
fn byte_len(x: u64) -> usize {
    8 - x.leading_zeros() as usize / 8
}

/// The number's bytes after their count.
pub(super) fn left_encode(x: u64) -> Encoded {
    let mut bytes = [0; 9];
    let len = byte_len(x).max(1);
    bytes[1..].copy_from_slice(&x.to_be_bytes());
    bytes[8 - len] = len as u8;
    Encoded { bytes, ends: (8 - len, 9) }
}

/// The number's bytes, at least one, before their count.
pub(super) fn right_encode(x: u64) -> Encoded {
    before_count(x, byte_len(x).max(1))
}

/// The number's bytes, none for zero, before their count.
pub(super) fn length_encode(x: u64) -> Encoded {
    before_count(x, byte_len(x))
}

fn before_count(x: u64, len: usize) -> Encoded {
    let mut bytes = [0; 9];
    bytes[..8].copy_from_slice(&x.to_be_bytes());
    bytes[8] = len as u8;
    Encoded { bytes, ends: (8 - len, 9) }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_all_lengths() {
        let numbers: [(u64, &[u8]); 7] = [
            (0, &[]),
            (1, &[1]),
            (255, &[255]),
            (256, &[1, 0]),
            (65_538, &[1, 0, 2]),
            (1 << 56, &[1, 0, 0, 0, 0, 0, 0, 0]),
            (u64::MAX, &[255; 8]),
        ];
        for (x, digits) in numbers {
            let at_least_one = if x == 0 { &[0] } else { digits };
            let count = |digits: &[u8]| [digits.len() as u8];
            let left = [&count(at_least_one), at_least_one].concat();
            assert_eq!(left_encode(x).as_bytes(), left);
            assert_eq!(right_encode(x).as_bytes(), [at_least_one, &count(at_least_one)].concat());
            assert_eq!(length_encode(x).as_bytes(), [digits, &count(digits)].concat());
        }
    }
}

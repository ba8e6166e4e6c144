//! The kernels' parameters, laid out as `kernels/` declares them.

use manylane::sm3::{IV, Midstate};
use zeroize::Zeroize;

/// What all messages start from.
#[repr(C)]
#[derive(Clone, Debug)]
pub(super) struct Start {
    v: [u32; 8],
    rest: [u8; 64],
    pub(super) prefix_len: u64,
    pub(super) rest_len: u32,
    reserved: u32,
}

impl Start {
    pub(super) fn of(midstate: &Midstate) -> Self {
        let rest = midstate.rest();
        let mut start = Start {
            v: *midstate.chaining_value(),
            rest: [0; 64],
            prefix_len: midstate.prefix_len(),
            rest_len: rest.len() as u32,
            reserved: 0,
        };
        start.rest[..rest.len()].copy_from_slice(rest);
        start
    }

    /// Whether nothing comes before the messages.
    pub(super) fn is_initial(&self) -> bool {
        self.v == IV && self.prefix_len == 0
    }
}

/// A midstate can be a key's.
impl Drop for Start {
    fn drop(&mut self) {
        self.v.zeroize();
        self.rest.zeroize();
    }
}

/// The expanded words of the block that pads every message whose length is a given multiple of 64:
/// one expansion on the host instead of one a message.
#[repr(C)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PaddingBlock {
    w: [u32; 64],
    w_prime: [u32; 64],
}

impl PaddingBlock {
    /// For messages of `total_len` bytes, prefix included, which is a multiple of 64.
    pub(super) fn of(total_len: u64) -> Self {
        let bits = total_len << 3;
        let mut block = [0; 16];
        block[0] = 0x8000_0000;
        block[14] = (bits >> 32) as u32;
        block[15] = bits as u32;
        expand(&block)
    }
}

/// Clause 5.3.2 of GB/T 32905-2016.
fn expand(block: &[u32; 16]) -> PaddingBlock {
    let mut w = [0u32; 68];
    w[..16].copy_from_slice(block);
    for j in 16..68 {
        let x = w[j - 16] ^ w[j - 9] ^ w[j - 3].rotate_left(15);
        let p1 = x ^ x.rotate_left(15) ^ x.rotate_left(23);
        w[j] = p1 ^ w[j - 13].rotate_left(7) ^ w[j - 6];
    }
    PaddingBlock {
        w: std::array::from_fn(|j| w[j]),
        w_prime: std::array::from_fn(|j| w[j] ^ w[j + 4]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_the_kernels() {
        assert_eq!(size_of::<Start>(), 112);
        assert_eq!(size_of::<PaddingBlock>(), 512);
    }

    #[test]
    fn expansion_is_the_standards() {
        for example in manylane_vectors::sm3().examples {
            let mut last = [0; 128];
            let message = &example.message;
            // The vectors have the words of the first block.
            let full = message.len() >= 64;
            let rest = if full { &message[..0] } else { &message[..] };
            manylane::sm3::pad(rest, message.len() as u64, &mut last);
            let first = if full { &message[..64] } else { &last[..64] };
            let words = std::array::from_fn(|i| u32::from_be_bytes(first.as_chunks().0[i]));
            let PaddingBlock { w, w_prime } = expand(&words);
            assert_eq!(w, example.w[..64], "{}", example.source);
            assert_eq!(w_prime, example.w_prime, "{}", example.source);
        }
    }

    #[test]
    fn padding_is_the_librarys() {
        for total_len in [0, 64, 8192, 1 << 29, (1 << 61) - 64] {
            let mut last = [0; 128];
            assert_eq!(manylane::sm3::pad(&[], total_len, &mut last), 1);
            let words = std::array::from_fn(|i| u32::from_be_bytes(last.as_chunks().0[i]));
            assert_eq!(PaddingBlock::of(total_len), expand(&words), "{total_len}");
        }
    }

    #[test]
    fn a_start_has_all_of_the_midstate() {
        let midstate = Midstate::after(&[7; 64 + 5]);
        let start = Start::of(&midstate);
        assert_eq!(&start.v, midstate.chaining_value());
        assert_eq!((&start.rest[..5], start.rest[5]), (&[7; 5][..], 0));
        assert_eq!((start.prefix_len, start.rest_len), (69, 5));
        assert!(!start.is_initial() && Start::of(&Midstate::default()).is_initial());
        assert!(!Start::of(&Midstate::from_parts(&[1; 8], 0)).is_initial());
        assert!(!Start::of(&Midstate::after(b"a")).is_initial());
    }
}

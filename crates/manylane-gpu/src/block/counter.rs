//! Counters of counter mode, and where their words carry.

use super::{BLOCK_LEN, shape};
use crate::Error;

/// How many of a counter block's last bits count; the others stay as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CounterWidth {
    /// As in GCM (SP 800-38D, 6.2).
    Bits32,
    /// As where a nonce is of 64 bits.
    Bits64,
    /// As OpenSSL's and libgcrypt's counter modes have it.
    Bits128,
}

/// The first counter block of counter mode (SP 800-38A, 6.5): blocks count on from there, big-endian,
/// modulo 2 to the power of the width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counter {
    block: u128,
    width: CounterWidth,
}

/// Blocks of one launch at most: the kernels number them with 31 bits.
const MOST: u64 = 1 << 30;

/// What one launch takes: in it only the last word of the counter changes, and it does not wrap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    /// The counter block as four numbers.
    pub(super) words: [u32; 4],
    /// Bytes before it.
    pub(super) at: u64,
    pub(super) len: u64,
}

impl Counter {
    /// A counter that begins with this block.
    pub fn new(block: [u8; 16], width: CounterWidth) -> Self {
        Counter { block: u128::from_be_bytes(block), width }
    }

    /// The counter so many blocks on: data may be taken in parts, or from the middle.
    #[must_use]
    pub fn after(&self, blocks: u64) -> Self {
        let mask = match self.width {
            CounterWidth::Bits32 => u128::from(u32::MAX),
            CounterWidth::Bits64 => u128::from(u64::MAX),
            CounterWidth::Bits128 => u128::MAX,
        };
        let counted = self.block.wrapping_add(u128::from(blocks)) & mask;
        Counter { block: self.block & !mask | counted, width: self.width }
    }

    /// How many of the block's bits count.
    pub fn width(&self) -> CounterWidth {
        self.width
    }

    /// The block.
    pub fn block(&self) -> [u8; 16] {
        self.block.to_be_bytes()
    }

    /// The block as the numbers of its four words.
    pub(crate) fn words(&self) -> [u32; 4] {
        std::array::from_fn(|i| (self.block >> (96 - 32 * i)) as u32)
    }

    /// The launches for so many bytes.
    ///
    /// # Errors
    /// [`Error::Input`] if a counter would occur twice.
    pub(super) fn runs(&self, len: u64) -> Result<impl Iterator<Item = Run> + use<>, Error> {
        let blocks = len.div_ceil(BLOCK_LEN as u64);
        if self.width == CounterWidth::Bits32 && blocks > 1 << 32 {
            return Err(shape("more blocks than a 32-bit counter has values"));
        }
        let (first, mut done) = (*self, 0);
        Ok(std::iter::from_fn(move || {
            if done == blocks {
                return None;
            }
            let counter = first.after(done);
            let words = counter.words();
            let until_wrap = (1 << 32) - u64::from(counter.block as u32);
            let count = (blocks - done).min(MOST).min(until_wrap);
            let at = done * BLOCK_LEN as u64;
            done += count;
            Some(Run { words, at, len: (len - at).min(count * BLOCK_LEN as u64) })
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counter(block: u128, width: CounterWidth) -> Counter {
        Counter::new(block.to_be_bytes(), width)
    }

    #[test]
    fn only_the_width_counts() {
        let all_ones = counter(u128::MAX, CounterWidth::Bits32);
        assert_eq!(all_ones.after(3).block, u128::MAX << 32 | 2);
        let all_ones = counter(u128::MAX, CounterWidth::Bits64);
        assert_eq!(all_ones.after(3).block, u128::MAX << 64 | 2);
        assert_eq!(counter(u128::MAX, CounterWidth::Bits128).after(3).block, 2);
        let carry = counter(7 << 64 | u128::from(u64::MAX), CounterWidth::Bits128);
        assert_eq!(carry.after(1).block, 8 << 64);
        assert_eq!(carry.after(u64::MAX).after(1).block, 8 << 64 | u128::from(u64::MAX));
    }

    #[test]
    fn runs_end_where_the_last_word_wraps() {
        let low = u32::MAX - 4;
        let start = counter(5 << 32 | u128::from(low), CounterWidth::Bits64);
        let runs: Vec<Run> = start.runs(16 * 7 + 3).unwrap().collect();
        let first = Run { words: [0, 0, 5, low], at: 0, len: 16 * 5 };
        let second = Run { words: [0, 0, 6, 0], at: 16 * 5, len: 16 * 2 + 3 };
        assert_eq!(runs, [first, second]);
        let narrow = counter(5 << 32 | u128::from(low), CounterWidth::Bits32);
        let words: Vec<_> = narrow.runs(16 * 7).unwrap().map(|run| run.words).collect();
        assert_eq!(words, [[0, 0, 5, low], [0, 0, 5, 0]]);
    }

    #[test]
    fn long_data_takes_several_launches() {
        let start = counter(1, CounterWidth::Bits32);
        let len = (1u64 << 32) * 16;
        let runs: Vec<Run> = start.runs(len).unwrap().collect();
        assert_eq!(runs.iter().map(|run| run.len).sum::<u64>(), len);
        assert!(runs.iter().all(|run| run.len <= MOST * 16));
        assert_eq!(runs.last().unwrap(), &Run { words: [0; 4], at: len - 16, len: 16 });
        assert!(start.runs(len + 1).is_err() && start.runs(0).unwrap().next().is_none());
        assert!(counter(1, CounterWidth::Bits64).runs(len + 1).is_ok());
    }
}

//! Blocks that hold a counter, padding, and nothing else: what the key derivation function of
//! GB/T 32918.4, clause 5.4.3, hashes after its shared point.
//!
//! Z = x_2 || y_2 fills one block, so that the second one is the counter, 0x80000000, zeros, and the
//! length of 544 bits, for every key. The message expansion is linear over GF(2): the words of the
//! block with counter c ^ d are those of c, xor the image of d. With lane l at counter c + l and c a
//! multiple of the number of lanes, c + l = c ^ l: the words of all lanes are one word that they
//! share, xor a table. That takes one operation a word where the expansion takes seven (AVX-512) or
//! more, and none for the 27 of 68 words that depend on no counter: their images are zero. From one
//! group of lanes to the next, the shared words change by the images of the bits that change.

use ::core::hint::black_box;

use subtle::ConstantTimeEq as _;
use zeroize::Zeroizing;

use super::{
    IV, Kernel,
    dispatch::{Cell, Lanes, Stream, with_lanes},
    portable::expand_words,
    write_bytes,
};
use crate::{
    Error,
    cpu::Machine,
    ct::{reveal, wipe_bytes, wipe_words},
};

/// The words of the block with counter 0: Z || counter has 544 bits.
const BLOCK: [u32; 16] = [0, 0x8000_0000, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 544];

/// Words of one block: W_0 … W_63, then W'_0 … W'_63.
pub(super) const WORDS: usize = 128;

/// The image of `x` under the expansion, as [`WORDS`].
const fn image(x: u32) -> [u32; WORDS] {
    let mut block = [0; 16];
    block[0] = x;
    words(block)
}

/// A block's words.
const fn words(block: [u32; 16]) -> [u32; WORDS] {
    let w = expand_words(block);
    let mut words = [0; WORDS];
    let mut j = 0;
    while j < 64 {
        words[j] = w[j];
        words[64 + j] = w[j] ^ w[j + 4];
        j += 1;
    }
    words
}

/// The images of the lanes' numbers: row j holds word j of every lane.
#[repr(align(64))]
pub(super) struct LaneWords(pub(super) [[u32; 16]; WORDS]);

pub(super) static LANE_WORDS: LaneWords = {
    let mut rows = [[0; 16]; WORDS];
    let mut lane = 0;
    while lane < 16 {
        let words = image(lane as u32);
        let mut j = 0;
        while j < WORDS {
            rows[j][lane] = words[j];
            j += 1;
        }
        lane += 1;
    }
    LaneWords(rows)
};

/// The words of the block with counter 0.
const ZERO: [u32; WORDS] = words(BLOCK);

/// The images of 1, 2, 4, … 2³¹.
static BITS: [[u32; WORDS]; 32] = {
    let mut images = [[0; WORDS]; 32];
    let mut bit = 0;
    while bit < 32 {
        images[bit] = image(1 << bit);
        bit += 1;
    }
    images
};

/// Which words depend on the counter. Of W_0 … W_67, the standard's 68, 41 do.
pub(super) const VARIES: [bool; WORDS] = {
    let mut varies = [false; WORDS];
    let mut bit = 0;
    while bit < 32 {
        let words = image(1 << bit);
        let mut j = 0;
        while j < WORDS {
            varies[j] |= words[j] != 0;
            j += 1;
        }
        bit += 1;
    }
    varies
};

/// The words that a group of lanes shares: those of its first counter's block.
pub(super) struct Shared {
    words: [u32; WORDS],
    counter: u32,
}

impl Shared {
    /// The words of the block with `counter`.
    #[inline(always)]
    pub(super) fn of(counter: u32) -> Self {
        let mut shared = Shared { words: ZERO, counter: 0 };
        shared.move_to(counter);
        shared
    }

    /// Goes on to `counter`: one operation a vector of words for each bit that changes.
    #[inline(always)]
    pub(super) fn move_to(&mut self, counter: u32) {
        let mut changed = self.counter ^ counter;
        while changed != 0 {
            let image = &BITS[changed.trailing_zeros() as usize];
            for (word, change) in self.words.iter_mut().zip(image) {
                *word ^= change;
            }
            changed &= changed - 1;
        }
        self.counter = counter;
    }

    /// The words. Read one by one right after they were computed they would stay in registers, from
    /// which it takes two shuffles to fill a vector with one of them; from memory, none.
    #[inline(always)]
    pub(super) fn words(&self) -> &[u32; WORDS] {
        black_box(&self.words)
    }
}

/// Calls `xor` for each group of `L` times 32 bytes in `data` with the words that the group shares.
///
/// # Panics
/// Unless `counter` and `data.len()` are multiples of `L`.
#[inline(always)]
pub(super) fn groups<const L: usize>(
    counter: u32,
    data: &mut [[u8; 32]],
    mut xor: impl FnMut(&[u32; WORDS], &mut [[u8; 32]; L]),
) {
    let (groups, []) = data.as_chunks_mut::<L>() else { panic!("incomplete group of lanes") };
    assert!(counter.is_multiple_of(L as u32), "counter {counter} is not that of a first lane");
    let mut shared = Shared::of(counter);
    for (i, data) in groups.iter_mut().enumerate() {
        shared.move_to(counter + (i * L) as u32);
        xor(shared.words(), data);
    }
}

/// A key stream of counter blocks after one block: H(Z || 1), H(Z || 2), …
///
/// Positions are bytes of a grid in which counter c has the bytes from 32 c, so that groups of lanes
/// have positions that are multiples of their size. H(Z || 0), the grid's first 32 bytes, is no part
/// of the key stream: C_3's input, x_2 || M || y_2, has x_2 there, and so the two share a grid.
pub(crate) struct Counters {
    v: [u32; 8],
    cell: Cell,
    /// For groups that would be nearly empty; none if the machine was chosen by a test.
    stream: Option<Stream>,
}

impl Counters {
    /// Key stream after the block `z`.
    pub(crate) fn after(z: &[u8; 64]) -> Self {
        Counters::of(z, Cell::best(), Some(Stream::best()))
    }

    /// [`after`](Self::after) on one machine's lanes.
    pub(crate) fn after_on(machine: Machine, z: &[u8; 64]) -> Result<Self, Error> {
        Ok(Counters::of(z, Cell::on(machine)?, None))
    }

    fn of(z: &[u8; 64], cell: Cell, stream: Option<Stream>) -> Self {
        let mut counters = Counters { v: IV, cell, stream };
        Stream::best().compress(&mut counters.v, &[*z]);
        counters
    }

    /// The counter at `position`.
    ///
    /// # Panics
    /// If one of `len` bytes from there has none: counters have 32 bits.
    pub(super) fn counter(&self, position: u64, len: usize) -> u32 {
        assert!(position + len as u64 <= 32 << 32, "counter past 32 bits");
        (position / 32) as u32
    }

    /// The chaining value that counter blocks start from.
    pub(super) fn chaining_value(&self) -> &[u32; 8] {
        &self.v
    }

    /// The lanes.
    pub(super) fn cell(&self) -> Cell {
        self.cell
    }

    /// Xors the key stream from `position` into `data`: which kernel did.
    ///
    /// # Panics
    /// If a position is 2³⁷ or more: counters have 32 bits.
    pub(crate) fn xor(&self, position: u64, data: &mut [u8]) -> Option<Kernel> {
        self.counter(position, data.len());
        with_lanes!(self.cell, lanes => self.xor_lanes(lanes, position, data))
    }

    /// Whether the first `len` bytes of the key stream, from counter 1, are all zero. Takes time by the
    /// result, which decides whether there is a message at all, and by no other secret.
    pub(crate) fn is_zero(&self, len: u64) -> bool {
        let mut position = 32;
        while position < 32 + len {
            let mut block = Zeroizing::new([0; 32]);
            let block = &mut block[..(32 + len - position).min(32) as usize];
            self.xor(position, block);
            if !reveal(block.iter().fold(0, |any, byte| any | byte).ct_eq(&0)) {
                return false;
            }
            position += 32;
        }
        true
    }

    fn xor_lanes<const L: usize>(
        &self,
        lanes: impl Lanes<L>,
        position: u64,
        data: &mut [u8],
    ) -> Option<Kernel> {
        let size = 32 * L as u64;
        let head = (position.next_multiple_of(size) - position).min(data.len() as u64) as usize;
        let (head, rest) = data.split_at_mut(head);
        let (body, tail) = rest.split_at_mut(rest.len() / (32 * L) * (32 * L));
        let after_head = position + head.len() as u64;
        let mut kernel = self.xor_part(lanes, position, head);
        if !body.is_empty() {
            let counter = (after_head / 32) as u32;
            kernel = Some(lanes.xor_counters(&self.v, counter, body.as_chunks_mut().0));
        }
        self.xor_part(lanes, after_head + body.len() as u64, tail).or(kernel)
    }

    /// Bytes of one group of lanes, fewer than all.
    fn xor_part<const L: usize>(
        &self,
        lanes: impl Lanes<L>,
        position: u64,
        data: &mut [u8],
    ) -> Option<Kernel> {
        if data.is_empty() {
            return None;
        }
        let size = 32 * L;
        let (group, from) = (position / size as u64, (position % size as u64) as usize);
        let mut bytes = [[0; 32]; L];
        let counters = from / 32..(from + data.len()).div_ceil(32);
        let first = group as u32 * L as u32;
        let mut kernel = None;
        match self.stream {
            Some(stream) if is_faster_alone::<L>(counters.len()) => {
                for lane in counters {
                    let ran = self.digest(stream, first + lane as u32, &mut bytes[lane]);
                    kernel = Some(ran);
                }
            }
            _ => kernel = Some(lanes.xor_counters(&self.v, first, &mut bytes)),
        }
        for (byte, key) in data.iter_mut().zip(&bytes.as_flattened()[from..]) {
            *byte ^= key;
        }
        wipe_bytes(bytes.as_flattened_mut());
        kernel
    }

    /// One block of the key stream.
    fn digest(&self, stream: Stream, counter: u32, out: &mut [u8; 32]) -> Kernel {
        let mut block = [0; 64];
        block[..4].copy_from_slice(&counter.to_be_bytes());
        for (bytes, word) in block.as_chunks_mut::<4>().0.iter_mut().zip(BLOCK).skip(1) {
            *bytes = word.to_be_bytes();
        }
        let mut v = self.v;
        let kernel = stream.compress(&mut v, &[block]);
        write_bytes(&v, out);
        wipe_words(&mut v);
        kernel
    }
}

impl Drop for Counters {
    fn drop(&mut self) {
        wipe_words(&mut self.v);
    }
}

/// Whether `count` blocks are done sooner one after another than in `L` lanes, whose shared words
/// must be made first.
fn is_faster_alone<const L: usize>(count: usize) -> bool {
    L > 1 && count * 6 <= L
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sm3;

    fn block(seed: u8) -> [u8; 64] {
        std::array::from_fn(|i| (i as u8).wrapping_mul(37).wrapping_add(seed))
    }

    /// The key stream by the definition.
    fn plain(z: &[u8; 64], position: u64, len: usize) -> Vec<u8> {
        let counters = position / 32..(position + len as u64).div_ceil(32);
        let blocks =
            counters.flat_map(|c| sm3::hash(&[&z[..], &(c as u32).to_be_bytes()].concat()));
        blocks.skip((position % 32) as usize).take(len).collect()
    }

    fn check(counters: &Counters, z: &[u8; 64], position: u64, len: usize) -> Option<Kernel> {
        let mut data = vec![0xa5; len + 1];
        let kernel = counters.xor(position, &mut data[..len]);
        let expected: Vec<u8> = plain(z, position, len).iter().map(|byte| byte ^ 0xa5).collect();
        assert_eq!(data[..len], expected, "{len} bytes from {position}");
        assert_eq!(data[len], 0xa5, "{len} bytes from {position}: written past the end");
        kernel
    }

    fn all(z: &[u8; 64]) -> Vec<(Option<Machine>, Counters)> {
        let on = |machine| Some((Some(machine), Counters::after_on(machine, z).ok()?));
        let mut all: Vec<_> = Machine::ALL.into_iter().filter_map(on).collect();
        assert!(all.iter().any(|(machine, _)| *machine == Some(Machine::Portable)));
        all.push((None, Counters::after(z)));
        all
    }

    #[test]
    fn every_length_from_every_place() {
        let z = block(1);
        for (machine, counters) in all(&z) {
            for position in [32, 33, 63, 64, 480, 511, 512, 513, 1000] {
                for len in 0..=200 {
                    let kernel = check(&counters, &z, position, len);
                    assert_eq!(kernel.is_some(), len > 0);
                    if let (Some(machine), Some(kernel)) = (machine, kernel) {
                        assert_eq!(kernel.machine(), machine);
                    }
                }
            }
        }
    }

    /// Around whole groups of lanes, and around sixteen of them, whose shared words are computed
    /// together; and the last counters that there are.
    #[test]
    fn around_batches() {
        let z = block(2);
        for (_, counters) in all(&z) {
            for group in [128, 256, 512, 2048, 4096, 8192] {
                for len in [group - 33, group - 32, group - 31, group, group + 1, 2 * group + 40] {
                    check(&counters, &z, 32, len);
                    check(&counters, &z, 8192 - 64, len);
                }
            }
            for len in [1, 32, 512, 9000] {
                check(&counters, &z, (32 << 32) - len as u64, len);
            }
            check(&counters, &z, (32 << 32) - 20_000, 9001);
            check(&counters, &z, (0x7fff_ffff * 32) - 4000, 9001);
        }
    }

    #[test]
    #[should_panic(expected = "counter past 32 bits")]
    fn counters_end() {
        Counters::after(&block(3)).xor((32 << 32) - 31, &mut [0; 32]);
    }
}

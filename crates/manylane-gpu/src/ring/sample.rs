//! Which message of a batch is checked against the CPU.

use std::hash::{BuildHasher as _, RandomState};

use manylane::hash::Midstate;
use zeroize::Zeroize as _;

/// A check takes about this part of the CPU's time for the batch.
const PART: usize = 4096;

/// Bytes that are hashed in about a microsecond.
const ALWAYS_CHEAP: usize = 512;

/// What the CPU made of one message of a batch.
pub(super) struct Sample {
    pub(super) index: usize,
    pub(super) digest: Vec<u8>,
}

impl Sample {
    /// Message `index` after the midstate's prefix.
    pub(super) fn of(index: usize, start: &Midstate, message: &[u8]) -> Self {
        let mut digest = vec![0; start.digest_len()];
        start.finish(message, &mut digest);
        Sample { index, digest }
    }
}

impl Drop for Sample {
    fn drop(&mut self) {
        self.digest.zeroize();
    }
}

/// Bytes of a message of nobody's that is checked where all others are long.
pub(super) const CANARY_LEN: usize = 32;

/// Content for it.
pub(super) fn canary() -> [u8; CANARY_LEN] {
    let random = RandomState::new();
    let mut canary = [0; CANARY_LEN];
    for (i, part) in canary.chunks_exact_mut(size_of::<u64>()).enumerate() {
        part.copy_from_slice(&random.hash_one(i).to_ne_bytes());
    }
    canary
}

/// Chooses one of `count` messages, at least one, of a batch of so many bytes: any, but long ones
/// seldom. If all are long, mostly none, and then the shortest of some is in the error's place.
pub(super) fn choose(
    count: usize,
    bytes: usize,
    len: impl Fn(usize) -> usize,
) -> Result<usize, usize> {
    let random = RandomState::new();
    let cheap = (bytes / PART).max(ALWAYS_CHEAP);
    pick(count, cheap, len, |try_| random.hash_one(try_))
}

/// Chooses a message to be checked: each is as likely as any, but one longer than `cheap` the less so
/// the longer it is. So long ones have their turn, and yet a check takes no longer on average than
/// hashing a few times `cheap` bytes.
fn pick(
    count: usize,
    cheap: usize,
    len: impl Fn(usize) -> usize,
    random: impl Fn(u64) -> u64,
) -> Result<usize, usize> {
    let mut shortest = None;
    for try_ in 0..4 {
        let index = (random(2 * try_) % count as u64) as usize;
        let len = len(index);
        if len <= cheap || random(2 * try_ + 1) % (len as u64) < cheap as u64 {
            return Ok(index);
        }
        if shortest.is_none_or(|(least, _)| len < least) {
            shortest = Some((len, index));
        }
    }
    Err(shortest.expect("one try at least").1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How often each of these lengths is picked in so many tries, and bytes that are hashed for it.
    fn picked(lengths: &[usize], cheap: usize, times: usize) -> (Vec<usize>, usize) {
        let random = RandomState::new();
        let (mut counts, mut bytes) = (vec![0; lengths.len()], 0);
        for time in 0..times {
            let len = |i: usize| lengths[i];
            let index = pick(lengths.len(), cheap, len, |try_| random.hash_one((time, try_)));
            let index = index.unwrap_or_else(|shortest| shortest);
            counts[index] += 1;
            bytes += lengths[index];
        }
        (counts, bytes)
    }

    #[test]
    fn messages_of_any_length_are_checked_at_a_bounded_cost() {
        let mut lengths = vec![100; 100];
        let (counts, _) = picked(&lengths, 1000, 20_000);
        assert!(counts.iter().all(|&count| (100..400).contains(&count)), "{counts:?}");
        // One message has nearly all bytes of its batch.
        lengths[70] = 1 << 20;
        let cheap = (1 << 20) / 256;
        let (counts, bytes) = picked(&lengths, cheap, 200_000);
        assert!((1..50).contains(&counts[70]), "once in 25,600 tries: {}", counts[70]);
        assert!(bytes / 200_000 < cheap, "{bytes}");
        let (counts, _) = picked(&[1 << 20; 3], 1, 3000);
        assert!(counts.iter().all(|&count| count > 700), "long ones only: {counts:?}");
    }
}

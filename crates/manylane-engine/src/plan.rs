//! How a batch in memory is cut into parts for threads.

use std::ops::Range;

use manylane::Messages;

/// Least work, in bytes hashed in lanes, that is worth a thread's attention: some 30 µs, several
/// times what it takes to wake one.
const MIN_PART: u64 = 128 << 10;

/// Least length of a message that may become a part of its own, whatever the batch.
const MIN_LONG: u64 = 64 << 10;

/// Number of messages up to which each one's length is looked at. Beyond, that would take a
/// noticeable part of the time that many threads need for the whole batch; there, parts are made
/// so small that only in one with far more bytes than the average a message can be too long.
const LOOK_AT_EACH: usize = 1 << 16;

/// Parts that cover the batch, those that take longest first. One part means that threads do not
/// pay.
///
/// `extra` is what a message costs beyond its length, in bytes.
pub(crate) fn parts(
    messages: &Messages,
    extra: u64,
    threads: usize,
    lanes: usize,
) -> Vec<Range<usize>> {
    let count = messages.len();
    let cost = |range: &Range<usize>| {
        messages.range(range.start, range.end).total_bytes() + extra * range.len() as u64
    };
    let all = 0..count;
    let total = cost(&all);
    if threads < 2 || total < 2 * MIN_PART && (count > threads || total < MIN_LONG) {
        return vec![all];
    }
    let most = if count > LOOK_AT_EACH { threads * lanes * 2 } else { threads * 4 };
    let number = usize::try_from(total / MIN_PART).unwrap_or(most).clamp(1, most);
    let step = count.div_ceil(number).next_multiple_of(lanes);

    // A message takes a lane as long as `lanes` times its bytes take a thread.
    let long = (total / (lanes * threads) as u64).max(MIN_LONG);
    let mut weighed = Vec::with_capacity(number + 2 * threads);
    let mut alone = Vec::new();
    for start in (0..count).step_by(step) {
        let range = start..count.min(start + step);
        let cost = cost(&range);
        if cost >= long {
            alone.extend(range.clone().filter(|&i| messages.get(i).len() as u64 >= long));
        }
        weighed.push((cost, range));
    }
    // With more of them than threads, they do better side by side.
    if alone.len() <= threads {
        for i in alone {
            let at = weighed.partition_point(|(_, range)| range.end <= i);
            let (_, range) = weighed.remove(at);
            let len = messages.get(i).len() as u64;
            for piece in [i + 1..range.end, i..i + 1, range.start..i] {
                if !piece.is_empty() {
                    // A stream runs at about the rate of two lanes (sixteen: 3.9 GB/s, one
                    // stream: 0.46 GB/s), so it keeps a thread as long as half the lanes would.
                    let factor = if piece == (i..i + 1) { lanes.div_ceil(2) as u64 } else { 1 };
                    let cost = if factor > 1 { len * factor } else { cost(&piece) };
                    weighed.insert(at, (cost, piece));
                }
            }
        }
    }
    weighed.sort_by_key(|(cost, _)| std::cmp::Reverse(*cost));
    weighed.into_iter().map(|(_, range)| range).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of_lengths(lengths: &[usize], threads: usize) -> Vec<Range<usize>> {
        let data = vec![0; lengths.iter().copied().max().unwrap_or(0)];
        let slices: Vec<&[u8]> = lengths.iter().map(|&len| &data[..len]).collect();
        parts(&Messages::slices(&slices), 64, threads, 16)
    }

    #[test]
    fn small_batches_stay_whole() {
        assert_eq!(of_lengths(&[], 8).len(), 1);
        assert_eq!(of_lengths(&[1 << 20; 100], 1).len(), 1);
        assert_eq!(of_lengths(&[64; 1000], 8).len(), 1);
    }

    #[test]
    fn few_long_messages_get_a_thread_each() {
        assert_eq!(of_lengths(&[1 << 20; 2], 2), [0..1, 1..2]);
        assert_eq!(of_lengths(&[1 << 20; 12], 2).len(), 1, "lanes are as fast as two streams");
    }

    #[test]
    fn a_long_message_goes_first() {
        let mut lengths = [1000; 5000];
        lengths[4321] = 8 << 20;
        assert_eq!(of_lengths(&lengths, 2)[0], 4321..4322);
    }

    proptest! {
        #[test]
        fn parts_cover_everything_once(
            lengths in prop::collection::vec(
                prop_oneof![20 => 0..5000usize, 1 => 0..400_000usize], 0..600),
            threads in 1..20usize,
        ) {
            let mut parts = of_lengths(&lengths, threads);
            parts.sort_by_key(|range| range.start);
            let mut end = 0;
            for range in parts {
                prop_assert_eq!(range.start, end);
                end = range.end;
            }
            prop_assert_eq!(end, lengths.len());
        }
    }
}

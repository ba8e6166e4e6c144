//! Every machine's lanes against the portable stream: lengths, counts, layouts, prefixes, keys.

mod common;

use std::{
    collections::BTreeSet,
    panic::{AssertUnwindSafe, catch_unwind},
};

use common::{Many, Output, Presence, each_shape, hmac_oracle, oracle, presence};
use manylane::{
    Error, Messages,
    cpu::Machine,
    sm3::{self, Lanes, Midstate, Sm3},
};
use manylane_vectors::painted;

/// `count` messages of `len` bytes, no two alike unless they are empty.
fn equal(count: usize, len: usize) -> Vec<Vec<u8>> {
    (0..count).map(|i| painted(len, 7 * i + len)).collect()
}

/// `count` messages of lengths that follow no order, some of them empty, no two alike in one place.
fn unequal(count: usize, max: usize) -> Vec<Vec<u8>> {
    (0..count).map(|i| painted(i * 37 % (max + 1), 5 * i)).collect()
}

/// Counts around a whole number of the machine's lanes, and none.
fn counts(many: Many) -> [usize; 8] {
    let lanes = many.lanes();
    [0, 1, 2, lanes - 1, lanes, lanes + 1, 31, 2 * lanes + 3]
}

/// Every machine, every shape: the digests of `messages` after `prefix`.
fn check(prefix: &[u8], messages: &[Vec<u8>], skew: usize) {
    let start = Midstate::after(prefix);
    let expected: Vec<Output> = messages.iter().map(|m| oracle(&[prefix, m])).collect();
    each_shape(messages, skew, |shape, batch| {
        for many in Many::all() {
            check_digests(many, shape, prefix, batch, &many.hash(&start, batch), &expected);
        }
    });
}

/// The digests that `many` made of `batch` after `prefix`.
fn check_digests(
    many: Many,
    shape: &str,
    prefix: &[u8],
    batch: &Messages,
    out: &[Output],
    expected: &[Output],
) {
    assert_eq!(out.len(), expected.len());
    for (i, (digest, expected)) in out.iter().zip(expected).enumerate() {
        assert_eq!(
            digest,
            expected,
            "{many:?}, {shape}: message {i} of {}, {} bytes after {}",
            batch.len(),
            batch.get(i).len(),
            prefix.len()
        );
    }
}

/// All lengths of up to four blocks and the padding after them, in every count and shape.
#[test]
fn equal_lengths() {
    let start = Midstate::default();
    let most = Many::all().flat_map(counts).max().unwrap();
    for len in 0..=4 * 64 + 9 {
        let messages = equal(most, len);
        let expected: Vec<Output> = messages.iter().map(|m| oracle(&[m])).collect();
        for many in Many::all() {
            for count in counts(many) {
                each_shape(&messages[..count], len % 3, |shape, batch| {
                    let out = many.hash(&start, batch);
                    check_digests(many, shape, &[], batch, &out, &expected[..count]);
                });
            }
        }
    }
}

/// No count or place in the batch changes a message's digest where lanes are refilled.
#[test]
fn unequal_lengths() {
    let counts: BTreeSet<usize> = Many::all().flat_map(counts).collect();
    for max in [1, 56, 64, 130, 700] {
        let messages = unequal(counts.last().unwrap() + max % 7, max);
        for count in &counts {
            check(&[], &messages[messages.len() - count..], 1);
        }
    }
}

/// One long message among short ones: a lane that stays busy while all others are refilled, and
/// in the end alone.
#[test]
fn stragglers() {
    for place in [0, 1, 40, 79] {
        for long in [64 * 15, 64 * 40 + 1, 64 * 70 - 9] {
            let mut messages = unequal(80, 100);
            messages[place] = painted(long, 3);
            messages[79 - place] = painted(long - 64, 4);
            check(&[], &messages, 0);
        }
    }
}

/// Rows of several pages, as files and disk blocks are.
#[test]
fn long_equal_messages() {
    for len in [1024, 4096, 4097, 8192 - 9] {
        check(b"salt", &equal(19, len), 1);
        check(&[], &equal(19, len), 0);
    }
}

/// Every place in a cache line that a message can begin at.
#[test]
fn unaligned_messages() {
    for skew in 0..64 {
        for len in [1, 55, 64, 119, 128, 193] {
            check(&[], &equal(9, len), skew);
        }
        check(&painted(skew, 9), &unequal(9, 200), skew);
    }
}

/// More messages than are ordered by length at a time.
#[test]
fn many_messages() {
    check(&[], &unequal(2 * 1024 + 77, 300), 0);
    check(b"prefix", &unequal(1024 + 1, 90), 0);
    check(&[], &equal(1024 + 3, 65), 0);
    // Within one window all are equal, in the next they are not.
    let mut messages = equal(1024, 20);
    messages.extend(unequal(40, 150));
    check(&[], &messages, 0);
}

/// The first block of a message is made of the prefix's last bytes and the message's first.
#[test]
fn prefixes() {
    for prefix in [0, 1, 8, 31, 32, 55, 56, 63, 64, 65, 127, 128, 130, 200] {
        let prefix = painted(prefix, 77);
        for len in [0, 1, 31, 32, 33, 54, 55, 56, 62, 63, 64, 65, 119, 128, 130, 191, 192] {
            check(&prefix, &equal(17, len), 1);
        }
        check(&prefix, &unequal(41, 200), 0);
    }
}

/// Prefix and message together pass every boundary, whatever their shares.
#[test]
fn prefix_and_message_share_the_blocks() {
    for total in [54, 55, 56, 63, 64, 65, 119, 120, 127, 128, 129] {
        for prefix in 0..=total {
            check(&painted(prefix, 50), &equal(3, total - prefix), 0);
        }
    }
}

#[test]
fn a_midstate_continues_at_any_byte() {
    let message = painted(200, 1);
    let expected = oracle(&[&message]);
    for first in 0..=130 {
        let start = Midstate::after(&message[..first]);
        assert_eq!(start.prefix_len(), first as u64);
        assert_eq!(start.finish(&message[first..]), expected, "after {first}");
        for second in (first..=first + 66).step_by(3).chain([150, 200]) {
            let next = start.then(&message[first..second]);
            assert_eq!(next.prefix_len(), second as u64);
            assert_eq!(next.finish(&message[second..]), expected, "after {first}, {second}");
        }
    }
    for many in Many::all() {
        let start = Midstate::after(&message[..70]).then(&message[70..131]);
        let rest = vec![&message[131..]; many.lanes()];
        let out = many.hash(&start, &Messages::slices(&rest));
        assert!(out.iter().all(|digest| *digest == expected), "{many:?}");
    }
}

/// Parts of a batch, as threads take them, give the parts of its digests.
#[test]
fn ranges_of_a_batch() {
    for messages in [equal(40, 100), unequal(40, 150)] {
        let expected: Vec<Output> = messages.iter().map(|m| oracle(&[m])).collect();
        each_shape(&messages, 2, |shape, batch| {
            for many in Many::all() {
                for (from, to) in [(0, 0), (0, 17), (1, 40), (17, 33), (40, 40)] {
                    let part = batch.range(from, to);
                    let out = many.hash(&Midstate::default(), &part);
                    check_digests(many, shape, &[], &part, &out, &expected[from..to]);
                }
            }
        });
    }
}

/// Every machine, every shape of keys and of messages (in turn, not each with each).
fn check_hmac(keys: &[Vec<u8>], messages: &[Vec<u8>]) {
    let expected: Vec<Output> =
        keys.iter().zip(messages).map(|(key, message)| hmac_oracle(key, message)).collect();
    let slices: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
    each_shape(messages, 2, |shape, batch| {
        check_tags(shape, &Messages::slices(&slices), batch, &expected);
    });
    let slices: Vec<&[u8]> = messages.iter().map(Vec::as_slice).collect();
    each_shape(keys, 1, |shape, keys| {
        check_tags(shape, keys, &Messages::slices(&slices), &expected);
    });
}

fn check_tags(shape: &str, keys: &Messages, batch: &Messages, expected: &[Output]) {
    for many in Many::all() {
        let out = many.hmac(keys, batch);
        assert_eq!(out.len(), expected.len());
        for (i, (tag, expected)) in out.iter().zip(expected).enumerate() {
            let (key, message) = (keys.get(i).len(), batch.get(i).len());
            assert_eq!(
                tag, expected,
                "{many:?}, {shape}: key {i} of {key} bytes, message of {message}"
            );
        }
    }
}

/// Keys of all lengths through the block, and past it, where RFC 2104 hashes them first.
#[test]
fn hmac_keys() {
    let keys: Vec<Vec<u8>> = (0..=200).map(|len| painted(len, 3 * len)).collect();
    check_hmac(&keys, &unequal(keys.len(), 140));
    check_hmac(&keys, &equal(keys.len(), 64));
    for len in [0, 1, 63, 64, 65, 128, 200] {
        check_hmac(&equal(19, len), &equal(19, 13));
        check_hmac(&equal(19, len), &unequal(19, 200));
    }
}

#[test]
fn hmac_messages() {
    for len in (0..=130).chain([191, 192, 193, 1000]) {
        check_hmac(&equal(17, 32), &equal(17, len));
    }
    check_hmac(&unequal(1024 + 17, 100), &unequal(1024 + 17, 77));
}

#[test]
fn hmac_counts() {
    for count in Many::all().flat_map(counts).collect::<BTreeSet<usize>>() {
        check_hmac(&equal(count, 32), &equal(count, 55));
        check_hmac(&equal(count, 70), &unequal(count, 130));
    }
}

/// Lanes hold streams of their own, of any number of blocks at a time.
#[test]
fn lanes_block_by_block() {
    for machine in common::lane_machines() {
        let mut lanes = Lanes::new_on(machine).unwrap();
        let streams: Vec<Vec<u8>> = (0..lanes.count()).map(|i| painted(64 * 40, 9 * i)).collect();
        let mut at = 0;
        for blocks in [1, 2, 0, 16, 17, 3, 1] {
            let inputs: Vec<&[u8]> = streams.iter().map(|s| &s[at..at + 64 * blocks]).collect();
            common::assert_kernel(lanes.compress(&inputs), machine);
            at += 64 * blocks;
        }
        assert_eq!(at, 64 * 40);
        let untouched = lanes.clone();
        let mut last = [0; 128];
        let padding = sm3::pad(&[], at as u64, &mut last);
        lanes.compress(&vec![&last[..64 * padding]; streams.len()]);
        for (lane, stream) in streams.iter().enumerate() {
            assert_eq!(lanes.digest(lane), oracle(&[stream]), "{machine} lane {lane}");
            assert_ne!(lanes.get(lane), untouched.get(lane), "a copy has its own state");
        }

        // A lane starts anew while its neighbours keep what they have.
        let before: Vec<[u32; 8]> = (0..lanes.count()).map(|lane| lanes.get(lane)).collect();
        let restarted = lanes.count() / 2;
        lanes.set(restarted, &sm3::IV);
        for (lane, v) in before.iter().enumerate() {
            let expected = if lane == restarted { &sm3::IV } else { v };
            assert_eq!(lanes.get(lane), *expected, "{machine} lane {lane}");
        }
    }
}

#[test]
fn lanes_refuse_inputs_that_do_not_fit() {
    for machine in common::lane_machines() {
        let lanes = Lanes::new_on(machine).unwrap();
        let count = lanes.count();
        let block = [0; 128];
        let refuses = |inputs: &[&[u8]], why: &str| {
            let mut lanes = lanes.clone();
            let result = catch_unwind(AssertUnwindSafe(|| lanes.compress(inputs)));
            assert!(result.is_err(), "{machine} takes {why}");
        };
        refuses(&vec![&block[..64]; count - 1], "too few inputs");
        refuses(&vec![&block[..64]; count + 1], "too many inputs");
        refuses(&vec![&block[..63]; count], "a part of a block");
        refuses(&vec![&block[..65]; count], "a block and a byte");
        for lane in (0..count).filter(|_| count > 1) {
            let mut inputs = vec![&block[..128]; count];
            inputs[lane] = &block[..64];
            refuses(&inputs, "inputs of unequal length");
        }
    }
}

/// A refused call writes nothing.
#[test]
fn wrong_numbers_are_refused() {
    let rows = [1; 40];
    let three = Messages::strided(&rows, 10, 10, 3).unwrap();
    let four = Messages::strided(&rows, 10, 10, 4).unwrap();
    let start = Midstate::default();
    for len in [0, 2, 4] {
        let mut out = vec![[0xee; 32]; len];
        let error = Error::OutputLength { expected: 3, got: len };
        assert_eq!(sm3::hash_many(&three, &mut out), Err(error.clone()));
        assert_eq!(sm3::hash_many_after(&start, &three, &mut out), Err(error.clone()));
        assert_eq!(sm3::hmac_many(&three, &three, &mut out), Err(error.clone()));
        for machine in common::lane_machines() {
            let hashed = sm3::hash_many_on(machine, &start, &three, &mut out);
            assert_eq!(hashed, Err(error.clone()));
            let tagged = sm3::hmac_many_on(machine, &three, &three, &mut out);
            assert_eq!(tagged, Err(error.clone()));
        }
        assert_eq!(out, vec![[0xee; 32]; len]);
    }
    let mut out = [[0xee; 32]; 3];
    let error = Error::CountMismatch { keys: 4, messages: 3 };
    assert_eq!(sm3::hmac_many(&four, &three, &mut out), Err(error.clone()));
    for machine in common::lane_machines() {
        assert_eq!(sm3::hmac_many_on(machine, &four, &three, &mut out), Err(error.clone()));
    }
    assert_eq!(out, [[0xee; 32]; 3]);
}

/// No machine stands in for another.
#[test]
fn machines_that_cannot_run_are_refused() {
    let mut out = [[0xee; 32]; 3];
    let rows = Messages::strided(&[1; 30], 10, 10, 3).unwrap();
    for machine in Machine::ALL {
        let (start, error) = (Midstate::default(), Error::Unavailable(machine));
        if presence(machine) != Presence::Run || !common::has_lanes(machine) {
            let hashed = sm3::hash_many_on(machine, &start, &rows, &mut out);
            assert_eq!(hashed, Err(error.clone()));
            let tagged = sm3::hmac_many_on(machine, &rows, &rows, &mut out);
            assert_eq!(tagged, Err(error.clone()));
            assert_eq!(Lanes::new_on(machine).unwrap_err(), error);
        }
        if presence(machine) != Presence::Run || !common::has_stream(machine) {
            assert_eq!(Sm3::new_on(machine).unwrap_err(), error);
        }
    }
    assert_eq!(out, [[0xee; 32]; 3]);
}

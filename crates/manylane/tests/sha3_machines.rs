//! Every machine's lanes against the portable stream: functions, lengths, counts, layouts,
//! prefixes, feet, outputs.

mod common;

use std::{
    collections::BTreeSet,
    panic::{AssertUnwindSafe, catch_unwind},
};

use common::{
    Presence, each_shape, presence,
    sha3::{Around, FUNCTIONS, Many, assert_kernel, has_lanes, has_stream, lane_machines, oracle},
};
use manylane::{
    Error, Messages,
    cpu::Machine,
    sha3::{self, CShake128, Function, Lanes, Midstate, Sha3_256, Shake256},
};
use manylane_vectors::painted;

const SHORT: Function = Function::SHA3_512;
const LONG: Function = Function::turboshake128(0x1f);

/// `count` messages of `len` bytes, no two alike unless they are empty.
fn equal(count: usize, len: usize) -> Vec<Vec<u8>> {
    (0..count).map(|i| painted(len, 7 * i + len)).collect()
}

/// `count` messages of lengths that follow no order, some of them empty, no two alike in one place.
fn unequal(count: usize, max: usize) -> Vec<Vec<u8>> {
    (0..count).map(|i| painted(i * 37 % (max + 1), 5 * i)).collect()
}

fn slices(messages: &[Vec<u8>]) -> Vec<&[u8]> {
    messages.iter().map(Vec::as_slice).collect()
}

/// Every machine, one shape.
fn check(function: Function, prefix: &[u8], foot: &[u8], messages: &[Vec<u8>]) {
    let around = Around { function, prefix, foot };
    let expected = around.expected(messages);
    around.check("slices", &Messages::slices(&slices(messages)), &expected);
}

/// Every machine, every shape.
fn check_shapes(around: &Around, messages: &[Vec<u8>], skew: usize) {
    let expected = around.expected(messages);
    each_shape(messages, skew, |shape, batch| around.check(shape, batch, &expected));
}

/// Lengths around the words of a block, its last byte and its end.
fn lengths(rate: usize) -> impl Iterator<Item = usize> {
    let ends = [rate - 9, rate - 8, rate - 1, rate, rate + 1, rate + 8, 2 * rate - 1, 2 * rate];
    [0, 1, 7, 8, 9, 32, 33].into_iter().chain(ends).chain([3 * rate + 16])
}

#[test]
fn equal_lengths() {
    let most = Many::all().flat_map(Many::counts).max().unwrap();
    for function in FUNCTIONS {
        let (start, around) =
            (Midstate::new(function), Around { function, prefix: &[], foot: &[] });
        for len in lengths(function.rate()) {
            let messages = equal(most, len);
            let expected = around.expected(&messages);
            let messages = slices(&messages);
            for many in Many::all() {
                for count in many.counts() {
                    let batch = Messages::slices(&messages[..count]);
                    let expected = &expected[..count * function.output_len()];
                    around.check_of(many, &start, "slices", &batch, expected);
                }
            }
        }
    }
}

/// Every length of two blocks of the shortest and of the longest rate.
#[test]
fn all_lengths() {
    for function in [SHORT, LONG] {
        for len in 0..=2 * function.rate() + 1 {
            check(function, &[], &[], &equal(3, len));
        }
    }
}

#[test]
fn every_shape() {
    for (function, len) in [(SHORT, 72), (Function::KECCAK_256, 100), (LONG, 168), (LONG, 32)] {
        for skew in 0..3 {
            let around = Around { function, prefix: &[], foot: &[] };
            check_shapes(&around, &equal(19, len + skew), skew);
            let around = Around { function, prefix: b"salt", foot: b"end" };
            check_shapes(&around, &unequal(19, 2 * len), skew);
        }
    }
}

/// No count or place in the batch changes a message's output where lanes are refilled.
#[test]
fn unequal_lengths() {
    let counts: BTreeSet<usize> = Many::all().flat_map(Many::counts).collect();
    for function in FUNCTIONS {
        let rate = function.rate();
        for max in [1, rate - 1, 5 * rate] {
            let messages = unequal(counts.last().unwrap() + max % 7, max);
            for count in &counts {
                check(function, &[], &[], &messages[messages.len() - count..]);
            }
        }
    }
}

/// One long message among short ones: a lane that stays busy while all others are refilled, and
/// in the end alone.
#[test]
fn stragglers() {
    for place in [0, 1, 39] {
        for long in [168 * 15, 168 * 30 + 1, 168 * 50 - 9] {
            let mut messages = unequal(40, 200);
            messages[place] = painted(long, 3);
            messages[39 - place] = painted(long - 168, 4);
            check(LONG, &[], &[], &messages);
            check(LONG.with_output_len(500), &[], b"foot", &messages);
        }
    }
}

/// Rows of several pages, as files and disk blocks are.
#[test]
fn long_equal_messages() {
    for len in [1024, 4096, 4097, 8192 - 9] {
        check(LONG, b"salt", &[], &equal(11, len));
        check(LONG, &[], &[], &equal(11, len));
    }
}

/// Every place in a cache line that a message can begin at.
#[test]
fn unaligned_messages() {
    for skew in 0..64 {
        for len in [1, 32, 72, 80, 145] {
            let data = painted(skew + 9 * len, 3);
            let rows: Vec<&[u8]> = data[skew..].chunks(len).collect();
            let around = Around { function: SHORT, prefix: &[], foot: &[] };
            let batch = Messages::strided(&data[skew..], len, len, 9).unwrap();
            around.check("strided", &batch, &around.expected(&rows));
        }
    }
}

/// More messages than are ordered by length at a time.
#[test]
fn many_messages() {
    check(LONG, &[], &[], &unequal(2 * 1024 + 77, 300));
    check(LONG, b"prefix", b"foot", &unequal(1024 + 1, 90));
    check(LONG, &[], &[], &equal(1024 + 3, 65));
    check(LONG.with_output_len(170), &[], &[], &equal(1024 + 3, 8));
    // Within one window all are equal, in the next they are not.
    let mut messages = equal(1024, 20);
    messages.extend(unequal(40, 150));
    check(LONG, &[], &[], &messages);
}

/// The first block of a message is made of the prefix's last bytes and the message's first.
#[test]
fn prefixes() {
    for function in [SHORT, LONG] {
        let rate = function.rate();
        for prefix in [1, 8, rate - 32, rate - 1, rate, rate + 1, 2 * rate, 2 * rate + 5] {
            let prefix = painted(prefix, 77);
            for len in lengths(rate) {
                check(function, &prefix, &[], &equal(9, len));
            }
            check(function, &prefix, b"foot", &unequal(25, 3 * rate));
        }
    }
}

/// Prefix, message and foot together pass every boundary, whatever their shares.
#[test]
fn prefix_message_and_foot_share_the_blocks() {
    let rate = SHORT.rate();
    for total in [31, 32, 40, rate - 1, rate, rate + 1, rate + 31, 2 * rate - 1, 2 * rate] {
        for foot in [0, 1, 3, 31, 32].into_iter().filter(|&foot| foot <= total) {
            let foot = painted(foot, 9);
            for prefix in 0..=total - foot.len() {
                let len = total - foot.len() - prefix;
                if prefix == 0 || len == 0 || (prefix + foot.len()).is_multiple_of(5) {
                    check(SHORT, &painted(prefix, 50), &foot, &equal(3, len));
                }
            }
        }
    }
}

/// Outputs of less than a word and of many blocks, of lanes in step and of lanes that are refilled.
#[test]
fn lengths_of_output() {
    for function in [Function::SHAKE128, Function::turboshake256(0x0b)] {
        let rate = function.rate();
        for len in [0, 1, 7, 8, 33, rate - 1, rate, rate + 1, 2 * rate, 5 * rate + 3] {
            let function = function.with_output_len(len);
            check(function, &[], &[], &equal(11, 64));
            check(function, b"prefix", b"foot", &equal(3, 2 * rate));
            check(function, &[], &[], &unequal(21, 3 * rate));
        }
    }
}

#[test]
fn a_midstate_continues_at_any_byte() {
    for function in [SHORT, LONG] {
        let rate = function.rate();
        let message = painted(3 * rate + 10, 1);
        let expected = oracle(function, &[&message]);
        let finish = |midstate: &Midstate, message: &[u8]| {
            let mut out = vec![0; function.output_len()];
            midstate.finish(message, &mut out);
            out
        };
        for first in 0..=2 * rate + 2 {
            let start = Midstate::after(function, &message[..first]);
            assert_eq!(start.prefix_len(), first as u64);
            assert_eq!(start.rest(), &message[first / rate * rate..first]);
            assert_eq!(finish(&start, &message[first..]), expected, "after {first}");
            for second in [first, first + 1, first + rate - 1, first + rate, 3 * rate + 10] {
                let Some(middle) = message.get(first..second) else { continue };
                let next = start.then(middle);
                assert_eq!(next.prefix_len(), second as u64);
                assert_eq!(finish(&next, &message[second..]), expected, "{first}, {second}");
            }
            let whole = start.words();
            let parts = Midstate::from_parts(function, whole, (first / rate) as u64);
            assert_eq!(finish(&parts, &message[first / rate * rate..]), expected);
        }
    }
}

/// cSHAKE's customization is a prefix that many messages share, and none is SHAKE.
#[test]
fn customizations() {
    let messages = equal(11, 50);
    let batch = slices(&messages);
    for (name, customization) in [(&b""[..], &b"x"[..]), (b"KMAC", b""), (&[7; 300], &[8; 40])] {
        let start = Midstate::customized(Function::CSHAKE128, name, customization);
        let expected: Vec<u8> = messages
            .iter()
            .flat_map(|message| {
                use sha3::{ExtendableOutput, Update};
                let mut out = [0; 32];
                CShake128::new(name, customization).chain(message).finalize_xof_into(&mut out);
                out
            })
            .collect();
        for many in Many::all() {
            assert_eq!(many.hash(&start, &Messages::slices(&batch), &[]), expected, "{many:?}");
        }
        assert_ne!(expected[..32], oracle(Function::SHAKE128, &[&messages[0]]));
    }
    let plain = Midstate::customized(Function::CSHAKE256.with_output_len(20), b"", b"");
    assert_eq!(plain.function(), Function::SHAKE256.with_output_len(20));
    for function in [Function::SHAKE128, Function::SHA3_256, Function::turboshake128(0x04)] {
        assert!(catch_unwind(|| Midstate::customized(function, b"", b"x")).is_err());
    }
}

/// Parts of a batch, as threads take them, give the parts of its outputs.
#[test]
fn ranges_of_a_batch() {
    let around = Around { function: SHORT, prefix: &[], foot: &[] };
    for messages in [equal(40, 100), unequal(40, 150)] {
        let expected = around.expected(&messages);
        each_shape(&messages, 2, |shape, batch| {
            for (from, to) in [(0, 0), (0, 17), (1, 40), (17, 33), (40, 40)] {
                around.check(shape, &batch.range(from, to), &expected[64 * from..64 * to]);
            }
        });
    }
}

/// Lanes hold streams of their own, of any number of blocks at a time.
#[test]
fn lanes_block_by_block() {
    for machine in lane_machines() {
        for function in FUNCTIONS {
            let (rate, len) = (function.rate(), function.output_len());
            let mut lanes = Lanes::new_on(function, machine).unwrap();
            let streams: Vec<Vec<u8>> =
                (0..lanes.count()).map(|i| painted(rate * 8, 9 * i)).collect();
            let mut at = 0;
            for blocks in [1, 2, 0, 4, 1] {
                let end = at + rate * blocks;
                let inputs: Vec<&[u8]> = streams.iter().map(|s| &s[at..end]).collect();
                assert_kernel(lanes.absorb(&inputs), machine);
                at = end;
            }
            assert_eq!(at, 8 * rate);
            let untouched = lanes.clone();
            let mut last = [0; 168];
            assert_eq!(sha3::pad(function, &[], &mut last), rate);
            lanes.absorb(&vec![&last[..rate]; streams.len()]);
            let mut out = vec![0; len];
            for (lane, stream) in streams.iter().enumerate() {
                lanes.digest(lane, &mut out);
                assert_eq!(out, oracle(function, &[stream]), "{machine} lane {lane}");
                assert_ne!(lanes.get(lane), untouched.get(lane), "a copy has its own state");
            }
            if function.is_xof() {
                squeeze(&mut lanes, machine, &streams);
            }
            restart(&mut lanes, machine);
        }
    }
}

/// The second block of every lane's output.
fn squeeze(lanes: &mut Lanes, machine: Machine, streams: &[Vec<u8>]) {
    let rate = lanes.function().rate();
    assert_kernel(lanes.permute(), machine);
    let mut out = vec![0; rate];
    for (lane, stream) in streams.iter().enumerate() {
        let expected = oracle(lanes.function().with_output_len(2 * rate), &[stream]);
        lanes.digest(lane, &mut out);
        assert_eq!(out, expected[rate..], "{machine} lane {lane}");
    }
}

/// A lane starts anew while its neighbours keep what they have.
fn restart(lanes: &mut Lanes, machine: Machine) {
    let before: Vec<[u64; 25]> = (0..lanes.count()).map(|lane| lanes.get(lane)).collect();
    let restarted = lanes.count() / 2;
    lanes.set(restarted, &[0; 25]);
    for (lane, a) in before.iter().enumerate() {
        let expected = if lane == restarted { &[0; 25] } else { a };
        assert_eq!(lanes.get(lane), *expected, "{machine} lane {lane}");
    }
}

#[test]
fn lanes_refuse_inputs_that_do_not_fit() {
    for machine in lane_machines() {
        let lanes = Lanes::new_on(Function::SHA3_256, machine).unwrap();
        let count = lanes.count();
        let block = [0; 272];
        let refuses = |inputs: &[&[u8]], why: &str| {
            let mut lanes = lanes.clone();
            let result = catch_unwind(AssertUnwindSafe(|| lanes.absorb(inputs)));
            assert!(result.is_err(), "{machine} takes {why}");
        };
        refuses(&vec![&block[..136]; count - 1], "too few inputs");
        refuses(&vec![&block[..136]; count + 1], "too many inputs");
        refuses(&vec![&block[..135]; count], "a part of a block");
        refuses(&vec![&block[..168]; count], "another function's block");
        for lane in (0..count).filter(|_| count > 1) {
            let mut inputs = vec![&block[..272]; count];
            inputs[lane] = &block[..136];
            refuses(&inputs, "inputs of unequal length");
        }
        let mut out = [0; 137];
        assert!(catch_unwind(AssertUnwindSafe(|| lanes.digest(0, &mut out))).is_err());
    }
}

/// A refused call writes nothing.
#[test]
fn wrong_numbers_are_refused() {
    let rows = [1; 40];
    let three = Messages::strided(&rows, 10, 10, 3).unwrap();
    let start = Midstate::new(Function::SHA3_256);
    for len in [0, 3, 95, 97, 128] {
        let mut out = vec![0xee; len];
        let error = Error::OutputLength { expected: 96, got: len };
        assert_eq!(sha3::hash_many(Function::SHA3_256, &three, &mut out), Err(error.clone()));
        assert_eq!(sha3::hash_many_after(&start, &three, b"x", &mut out), Err(error.clone()));
        for machine in lane_machines() {
            let hashed = sha3::hash_many_on(machine, &start, &three, &[], &mut out);
            assert_eq!(hashed, Err(error.clone()));
        }
        assert_eq!(out, vec![0xee; len]);
    }
    // More output than any buffer has.
    let empty = Messages::strided(&[], 0, 0, usize::MAX).unwrap();
    let error = Error::OutputLength { expected: usize::MAX, got: 0 };
    assert_eq!(sha3::hash_many(Function::SHA3_256, &empty, &mut []), Err(error));

    let long_foot = || sha3::hash_many_after(&start, &three, &[0; 33], &mut [0; 96]);
    assert!(catch_unwind(long_foot).is_err(), "a foot of 33 bytes");
    assert!(catch_unwind(|| sha3::hash(Function::SHA3_256, b"", &mut [0; 31])).is_err());
    assert!(catch_unwind(|| Function::SHA3_256.with_output_len(32)).is_err());
    for domain in [0x00, 0x80, 0xff] {
        assert!(catch_unwind(|| Function::turboshake128(domain)).is_err(), "{domain:#x}");
        assert!(catch_unwind(|| Function::turboshake256(domain)).is_err(), "{domain:#x}");
    }
    assert!(catch_unwind(|| Midstate::from_parts(SHORT, &[0; 25], 1 << 56)).is_err());
    assert!(catch_unwind(|| sha3::pad(SHORT, &[0; 72], &mut [0; 168])).is_err());
}

/// No machine stands in for another.
#[test]
fn machines_that_cannot_run_are_refused() {
    let mut out = [0xee; 96];
    let rows = Messages::strided(&[1; 30], 10, 10, 3).unwrap();
    let start = Midstate::new(Function::SHA3_256);
    for machine in Machine::ALL {
        let error = Error::Unavailable(machine);
        if presence(machine) != Presence::Run || !has_lanes(machine) {
            let hashed = sha3::hash_many_on(machine, &start, &rows, &[], &mut out);
            assert_eq!(hashed, Err(error.clone()));
            assert_eq!(Lanes::new_on(Function::SHA3_256, machine).unwrap_err(), error);
        }
        if presence(machine) != Presence::Run || !has_stream(machine) {
            assert_eq!(Sha3_256::new_on(machine).unwrap_err(), error);
            assert_eq!(Shake256::new_on(machine).unwrap_err(), error);
        }
    }
    assert_eq!(out, [0xee; 96]);
}

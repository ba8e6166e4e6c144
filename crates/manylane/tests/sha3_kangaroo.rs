//! KT128 and KT256: known answers, and all ways to put a tree together.

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};

use common::{
    each_shape,
    sha3::{assert_kernel, lane_machines},
};
use digest::{CustomizedInit, ExtendableOutputReset, common::AlgorithmName};
use manylane::{
    Error, Messages,
    cpu::Machine,
    sha3::{
        self, ExtendableOutput, Function, KT_CHUNK_LEN, Kt, Kt128, Kt256, Lanes, Update, XofReader,
    },
};
use manylane_vectors::{
    painted,
    sha3::{Function as Name, Kt as Vector},
};

/// Longer messages take seconds for each machine without optimisation.
const LONG: usize = 150_000;

/// The machines whose lanes take the leaves, and `None` for the library's choice.
fn machines() -> impl Iterator<Item = Option<Machine>> {
    lane_machines().map(Some).chain([None])
}

fn kt<const RATE: usize>(machine: Option<Machine>, customization: &[u8]) -> Kt<RATE> {
    match machine {
        Some(machine) => Kt::new_on(machine, customization).unwrap(),
        None => Kt::new(customization),
    }
}

fn finish<const RATE: usize>(kt: Kt<RATE>, len: usize) -> Vec<u8> {
    let mut out = vec![0; len];
    kt.finalize(&mut out);
    out
}

/// RFC 9861, clause 3.2, by the functions that `sha3_known_answers` ties to the standard; lengths
/// encoded by hand.
fn oracle<const RATE: usize>(message: &[u8], customization: &[u8], len: usize) -> Vec<u8> {
    let length_encode = |x: usize| {
        let mut bytes = x.to_be_bytes().to_vec();
        bytes.drain(..x.leading_zeros() as usize / 8);
        bytes.push(bytes.len() as u8);
        bytes
    };
    let turboshake = |domain: u8, input: &[u8], len: usize| {
        let function = match RATE {
            168 => Function::turboshake128(domain),
            _ => Function::turboshake256(domain),
        };
        let mut out = vec![0; len];
        sha3::hash(function.with_output_len(len), input, &mut out);
        out
    };
    let s = [message, customization, &length_encode(customization.len())].concat();
    let Some((first, others)) = s.split_at_checked(8192).filter(|(_, others)| !others.is_empty())
    else {
        return turboshake(7, &s, len);
    };
    let values = others.chunks(8192).flat_map(|leaf| turboshake(11, leaf, 200 - RATE));
    let mut node = [first, &[3, 0, 0, 0, 0, 0, 0, 0]].concat();
    node.extend(values);
    node.extend(length_encode(others.len().div_ceil(8192)));
    turboshake(6, &[&node[..], &[255, 255]].concat(), len)
}

fn check_vector<const RATE: usize>(v: &Vector) {
    let (message, customization) = (v.message.get(), v.customization.get());
    let len = v.skip + v.output.len();
    let what = format!("{} {:?} {} {}", v.source, v.function, message.len(), customization.len());
    if message.len() > LONG {
        assert!(finish(Kt::<RATE>::new(&customization).chain(&message), len) == v.output, "{what}");
        return;
    }
    for machine in machines() {
        let mut hasher: Kt<RATE> = kt(machine, &customization);
        hasher.update(&message);
        assert!(finish(hasher, len)[v.skip..] == v.output, "{machine:?}: {what}");
    }
    let mut hasher = Kt::<RATE>::new_customized(&customization);
    message.chunks(1000).for_each(|piece| hasher.update(piece));
    let mut out = vec![0; len];
    hasher.finalize_xof().read(&mut out);
    assert!(out[v.skip..] == v.output, "in pieces: {what}");
    let mut outs = vec![0; 2 * len];
    let both = [&message[..]; 2];
    Kt::<RATE>::hash_many(&customization, &Messages::slices(&both), len, &mut outs).unwrap();
    assert!(outs.chunks(len).all(|out| out[v.skip..] == v.output), "twice: {what}");
    assert!(oracle::<RATE>(&message, &customization, len)[v.skip..] == v.output, "oracle: {what}");
}

fn check_vectors(is_due: impl Fn(usize) -> bool) -> usize {
    let vectors = manylane_vectors::sha3().kt;
    let due = vectors.iter().filter(|v| is_due(v.message.len()));
    due.map(|v| match v.function {
        Name::Kt128 => check_vector::<168>(v),
        Name::Kt256 => check_vector::<136>(v),
        other => panic!("{other:?}"),
    })
    .count()
}

#[test]
fn known_answers() {
    assert!(check_vectors(|len| len < 2_000_000) > 80);
}

#[test]
#[ignore = "24 MB each, by `cargo xtask long`"]
fn longest_known_answers() {
    assert_eq!(check_vectors(|len| len > 2_000_000), 2);
}

/// Lengths around the ends of chunks, and of as many chunks as a machine has lanes.
fn lengths(lanes: usize) -> Vec<usize> {
    let chunks = [1, 2, lanes + 1, lanes + 2];
    let mut lengths: Vec<usize> = chunks
        .iter()
        .flat_map(|chunks| [8192 * chunks - 1, 8192 * chunks, 8192 * chunks + 1])
        .collect();
    lengths.sort_unstable();
    lengths.dedup();
    lengths
}

fn lanes_of(machine: Option<Machine>) -> usize {
    match machine {
        Some(machine) => Lanes::new_on(Kt128::LEAF, machine).unwrap().count(),
        None => Lanes::new(Kt128::LEAF).count(),
    }
}

/// Cuts in front of, at and behind every edge: of the first chunk, of a group, within one.
fn check_cuts<const RATE: usize>(machines: impl Iterator<Item = Option<Machine>>) {
    let all = painted(8192 * 12, 3);
    for machine in machines {
        let lanes = lanes_of(machine);
        for len in lengths(lanes) {
            let message = &all[..len];
            let expected = oracle::<RATE>(message, b"c", 32);
            let group = 8192 * lanes;
            for first in [0, 8191, 8192, 8193, 8192 + group - 1, 8192 + group] {
                let (head, rest) = message.split_at(first.min(len));
                let (middle, tail) = rest.split_at(rest.len().min(8192 + 5));
                let mut hasher: Kt<RATE> = kt(machine, b"c");
                for piece in [head, middle, tail] {
                    hasher.update(piece);
                }
                if let (Some(machine), Some(kernel)) = (machine, hasher.kernel()) {
                    assert_kernel(kernel, machine);
                }
                let leaves_ran = len >= 8192 + group;
                assert!(!leaves_ran || hasher.kernel().is_some(), "{machine:?} {len} {first}");
                assert!(finish(hasher, 32) == expected, "{machine:?}: {len} at {first}");
            }
        }
    }
}

#[test]
fn cuts_around_every_edge() {
    check_cuts::<168>(machines());
    // The same code with longer chaining values.
    check_cuts::<136>([None].into_iter());
}

/// A tree put together from chaining values that were computed apart, and from data between them.
fn check_parts<const RATE: usize>() {
    let len = Kt::<RATE>::CHAINING_VALUE_LEN;
    let message = painted(8192 * 15 + 700, 9);
    let expected = oracle::<RATE>(&message, b"", 64);
    let (chunks, rest) = message.as_chunks::<KT_CHUNK_LEN>();
    let mut values = vec![0; 14 * len];
    // In two parts, the second first.
    for leaves in [5..14, 0..5] {
        let out = &mut values[leaves.start * len..leaves.end * len];
        let chunks = chunks[1 + leaves.start..1 + leaves.end].as_flattened();
        Kt::<RATE>::chaining_values(chunks, out).unwrap();
    }
    for data in [0..0, 0..1, 0..3, 2..5, 0..14, 13..14] {
        let mut hasher = Kt::<RATE>::default();
        hasher.update(&chunks[0]);
        hasher.push_chaining_values(&values[..data.start * len]);
        hasher.update(chunks[1 + data.start..1 + data.end].as_flattened());
        hasher.push_chaining_values(&values[data.end * len..]);
        hasher.push_chaining_values(&[]);
        hasher.update(rest);
        assert!(finish(hasher, 64) == expected, "{data:?}");
    }
    // Nothing pushed is nothing, also where there is no other leaf.
    let mut hasher = Kt::<RATE>::new(b"");
    hasher.update(&chunks[0]);
    hasher.push_chaining_values(&[]);
    assert!(finish(hasher, 64) == oracle::<RATE>(&chunks[0], b"", 64));
}

#[test]
fn parts_make_the_whole() {
    check_parts::<168>();
    check_parts::<136>();
}

#[test]
fn what_is_no_part_is_refused() {
    let mut out = [0; 64];
    let refused = |chunks: usize, out: &mut [u8]| Kt128::chaining_values(&vec![0; chunks], out);
    assert!(matches!(refused(8191, &mut out), Err(Error::DataLength(_))));
    assert_eq!(refused(8192, &mut out), Err(Error::OutputLength { expected: 32, got: 64 }));
    assert_eq!(refused(8192 * 2, &mut out), Ok(()));
    assert_eq!(refused(0, &mut []), Ok(()));

    let panics = |before: usize, values: usize| {
        let mut kt = Kt128::new(b"").chain(vec![0; before]);
        catch_unwind(AssertUnwindSafe(|| kt.push_chaining_values(&vec![0; values]))).is_err()
    };
    for before in [0, 1, 8191, 8193, 3 * 8192 - 1] {
        assert!(panics(before, 32), "{before}");
    }
    assert!(panics(8192, 31) && panics(8192, 33));
    assert!(!panics(8192, 32) && !panics(3 * 8192, 64));
    let mut out = [0; 10];
    let two: [&[u8]; 2] = [b"", b""];
    let refused = Kt256::hash_many(b"", &Messages::slices(&two), 4, &mut out);
    assert_eq!(refused, Err(Error::OutputLength { expected: 8, got: 10 }));
}

fn check_many<const RATE: usize>() {
    // Customizations that fit a block's foot, just do, and do not.
    for customization in [0, 1, 30, 31, 300] {
        let customization = painted(customization, 60);
        let lens = [0, 5, 168, 8192 - 32, 8192 - 1, 3, 8192, 3 * 8192, 100, 100, 9000, 1, 2, 3];
        let messages: Vec<Vec<u8>> =
            lens.iter().enumerate().map(|(i, &len)| painted(len, i)).collect();
        let expected: Vec<u8> =
            messages.iter().flat_map(|m| oracle::<RATE>(m, &customization, 40)).collect();
        each_shape(&messages, 3, |shape, messages| {
            let mut out = vec![0; expected.len()];
            Kt::<RATE>::hash_many(&customization, messages, 40, &mut out).unwrap();
            assert!(out == expected, "{shape}, {}", customization.len());
        });
    }
    Kt::<RATE>::hash_many(b"", &Messages::slices(&[]), 40, &mut []).unwrap();
    Kt::<RATE>::hash_many(b"", &Messages::slices(&[&[0; 9000], b""]), 0, &mut []).unwrap();
}

#[test]
fn many_messages() {
    check_many::<168>();
    check_many::<136>();
}

#[test]
fn a_reset_keeps_the_customization() {
    let message = painted(30_000, 1);
    for len in [100, 8191, 8192, 30_000] {
        let mut hasher = Kt256::new(b"customization").chain(&message[..20_000]);
        let mut out = [0; 50];
        hasher.finalize_xof_reset().read(&mut out);
        assert_eq!(out[..], oracle::<136>(&message[..20_000], b"customization", 50));
        hasher.update(&message[..len]);
        let copy = hasher.clone().chain(&message);
        assert_eq!(finish(hasher, 50), oracle::<136>(&message[..len], b"customization", 50));
        let longer = [&message[..len], &message].concat();
        assert_eq!(finish(copy, 50), oracle::<136>(&longer, b"customization", 50));
    }
}

#[test]
fn names() {
    struct Name<T>(std::marker::PhantomData<T>);
    impl<T: AlgorithmName> std::fmt::Display for Name<T> {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            T::write_alg_name(f)
        }
    }
    assert_eq!(Name::<Kt128>(std::marker::PhantomData).to_string(), "Kt128");
    assert_eq!(Name::<Kt256>(std::marker::PhantomData).to_string(), "Kt256");
    assert_eq!(Name::<sha3::Kmac128>(std::marker::PhantomData).to_string(), "Kmac128");
    assert_eq!(Name::<sha3::Kmac256>(std::marker::PhantomData).to_string(), "Kmac256");
    assert!(!format!("{:?}", Kt128::new(b"secret")).contains("secret"));
}

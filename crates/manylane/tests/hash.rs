//! Functions chosen by name: the same as those of their modules, whichever way the input comes.

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};

use common::each_shape;
use manylane::{
    Error, Messages,
    hash::{self, Algorithm, Hasher, Lanes, MAX_DIGEST_LEN, MAX_PADDING, Midstate, Tree},
    sha3::{self, Function, Kt128, Kt256, Update},
    sm3,
};
use manylane_vectors::painted;

/// What the algorithm's own module gives, with `len` bytes.
fn expected(algorithm: Algorithm, message: &[u8], len: usize) -> Vec<u8> {
    let mut out = vec![0; len];
    let function = match algorithm {
        Algorithm::Sm3 => {
            out.copy_from_slice(&sm3::hash(message));
            return out;
        }
        Algorithm::Kt128 => {
            Kt128::new(b"").chain(message).finalize(&mut out);
            return out;
        }
        Algorithm::Kt256 => {
            Kt256::new(b"").chain(message).finalize(&mut out);
            return out;
        }
        Algorithm::Sha3_224 => Function::SHA3_224,
        Algorithm::Sha3_256 => Function::SHA3_256,
        Algorithm::Sha3_384 => Function::SHA3_384,
        Algorithm::Sha3_512 => Function::SHA3_512,
        Algorithm::Keccak256 => Function::KECCAK_256,
        Algorithm::Shake128 => Function::SHAKE128,
        Algorithm::Shake256 => Function::SHAKE256,
        Algorithm::TurboShake128 => Function::turboshake128(0x1f),
        Algorithm::TurboShake256 => Function::turboshake256(0x1f),
        other => panic!("{other} has no function here"),
    };
    sha3::hash(function, message, &mut out);
    out
}

/// Around the ends of every block, and of KT's first chunk and of its first leaves.
const LENGTHS: [usize; 14] =
    [0, 1, 55, 56, 64, 71, 72, 135, 136, 168, 336, 8191, 8192, 2 * 8192 + 1];

#[test]
fn one_message() {
    for algorithm in Algorithm::ALL {
        for len in LENGTHS {
            let message = painted(len, 3);
            let expected = expected(algorithm, &message, algorithm.digest_len());
            assert_eq!(hash::hash(algorithm, &message)[..], expected, "{algorithm} of {len}");
            for cut in [0, 1, 64, 100, 168, 8192].into_iter().filter(|cut| *cut <= len) {
                let mut hasher = Hasher::new(algorithm);
                hasher.update(&message[..cut]);
                let copy = hasher.clone();
                hasher.update(b"x");
                for mut hasher in [copy.clone(), copy] {
                    hasher.update(&message[cut..]);
                    assert_eq!(hasher.finish()[..], expected, "{algorithm}: {cut} of {len}");
                }
            }
        }
    }
}

/// The longest that fits a [`hash::Digest`], and longer ones.
#[test]
fn digests_of_any_length() {
    let message = painted(300, 1);
    for algorithm in Algorithm::ALL {
        for len in [1, MAX_DIGEST_LEN, MAX_DIGEST_LEN + 1, 500] {
            let new = || Hasher::with_digest_len(algorithm, len);
            if !algorithm.is_xof() && len != algorithm.digest_len() {
                assert!(catch_unwind(new).is_err(), "{algorithm} has digests of {len} bytes");
                continue;
            }
            let mut hasher = new();
            assert_eq!(hasher.digest_len(), len);
            hasher.update(&message);
            let expected = expected(algorithm, &message, len);
            let mut out = vec![0; len];
            hasher.clone().finish_into(&mut out);
            assert_eq!(out, expected, "{algorithm}: {len} bytes");
            let finished = catch_unwind(AssertUnwindSafe(|| hasher.clone().finish()));
            if len <= MAX_DIGEST_LEN {
                assert_eq!(finished.unwrap()[..], expected, "{algorithm}: {len} bytes");
            } else {
                assert!(finished.is_err(), "{algorithm}: {len} bytes in place");
            }
            out.push(0);
            let wrong = catch_unwind(AssertUnwindSafe(|| hasher.finish_into(&mut out)));
            assert!(wrong.is_err(), "{algorithm}: room for more than {len} bytes");
        }
        assert!(catch_unwind(|| Hasher::with_digest_len(algorithm, 0)).is_err(), "{algorithm}");
    }
}

/// All but trees, which have no midstate.
fn chains() -> impl Iterator<Item = Algorithm> {
    Algorithm::ALL.into_iter().filter(|algorithm| !algorithm.is_tree())
}

#[test]
fn midstates() {
    let message = painted(500, 2);
    for algorithm in chains() {
        let digest_len = algorithm.digest_len();
        let all = expected(algorithm, &message, digest_len);
        for cut in [0, 1, 72, 144, 200, 500] {
            let (prefix, rest) = message.split_at(cut);
            let start = Midstate::new(algorithm).then(prefix);
            assert_eq!((start.prefix_len(), start.digest_len()), (cut as u64, digest_len));
            assert_eq!(start.block_len(), algorithm.block_len());
            assert_eq!(start.rest(), &prefix[cut / start.block_len() * start.block_len()..]);
            assert_eq!(start.digest(rest)[..], all, "{algorithm} after {cut}");
            let mut hasher = Hasher::from(start.clone());
            hasher.update(rest);
            assert_eq!(hasher.finish()[..], all, "{algorithm} after {cut}");

            let messages = [&rest[..rest.len() / 2], &[], rest, b"abc"];
            let expected: Vec<u8> = messages
                .iter()
                .flat_map(|m| expected(algorithm, &[prefix, m].concat(), digest_len))
                .collect();
            each_shape(&messages, 1, |shape, batch| {
                let mut out = vec![0; expected.len()];
                hash::hash_many(&start, batch, &mut out).unwrap();
                assert!(out == expected, "{algorithm} after {cut}: {shape}");
                let error = Error::OutputLength { expected: out.len(), got: out.len() - 1 };
                assert_eq!(hash::hash_many(&start, batch, &mut out[1..]), Err(error));
            });
        }
    }
    for algorithm in Algorithm::ALL.into_iter().filter(|algorithm| algorithm.is_tree()) {
        assert!(catch_unwind(|| Midstate::new(algorithm)).is_err(), "{algorithm}");
    }
}

/// Blocks, the padded end, and what goes on as a stream instead.
#[test]
fn lanes() {
    for algorithm in chains() {
        let start = Midstate::new(algorithm).then(&painted(1000, 9));
        let block = start.block_len();
        let mut lanes = Lanes::new(&start);
        let message = painted(3 * block + 5 - start.rest().len(), 4);
        let due = start.digest(&message);
        let input = [start.rest(), &message].concat();
        let (blocks, tail) = input.split_at(3 * block);
        (0..lanes.count()).for_each(|lane| lanes.begin(lane, &start));
        lanes.absorb(&vec![blocks; lanes.count()]);
        let total = start.prefix_len() + message.len() as u64;
        let last = lanes.count() - 1;
        let mut alone = Hasher::from(lanes.midstate(last, total / block as u64));
        alone.update(tail);
        assert_eq!(alone.finish(), due, "{algorithm}");
        let mut end = [0; MAX_PADDING];
        let len = start.pad(tail, total, &mut end);
        lanes.absorb(&vec![&end[..len]; lanes.count()]);
        (0..lanes.count()).for_each(|lane| assert_eq!(lanes.digest(lane), due, "{algorithm}"));

        assert!(catch_unwind(|| start.pad(tail, total + 1, &mut [0; MAX_PADDING])).is_err());
        let other = chains().find(|other| *other != algorithm).unwrap();
        let other = AssertUnwindSafe((lanes, Midstate::new(other)));
        let refused = catch_unwind(move || {
            let AssertUnwindSafe((mut lanes, other)) = { other };
            lanes.begin(0, &other);
        });
        assert!(refused.is_err(), "{algorithm}: lanes of another function");
    }
}

#[test]
fn chaining_values_are_of_trees_alone() {
    for algorithm in Algorithm::ALL {
        assert_eq!(Tree::of(algorithm).is_some(), algorithm.is_tree(), "{algorithm}");
        let mut hasher = Hasher::new(algorithm);
        hasher.update(&[7; Tree::CHUNK_LEN]);
        let pushed = catch_unwind(AssertUnwindSafe(|| hasher.push_chaining_values(&[0; 64])));
        assert_eq!(pushed.is_ok(), algorithm.is_tree(), "{algorithm}");
    }
    let messages: [&[u8]; 1] = [b"abc"];
    let tree = Tree::of(Algorithm::Kt128).unwrap();
    let mut out = [0; 200];
    let start = tree.short(out.len()).then(b"");
    let with_foot: Vec<u8> = [messages[0], &Tree::FOOT].concat();
    hash::hash_many(&start, &Messages::slices(&[&with_foot]), &mut out).unwrap();
    assert_eq!(out[..], expected(Algorithm::Kt128, b"abc", 200));
}

//! What others computed: the standard's examples, Wycheproof, and vectors that OpenSSL confirms.

mod common;

use common::{Many, stream_machines};
use digest::{KeyInit, Mac};
use manylane::{
    Messages,
    sm3::{self, Digest, HkdfSm3, HmacSm3, IV, Lanes, Midstate, Sm3},
};
use manylane_vectors::{Verdict, painted};

/// Every message through one stream at a time, then all together through the lanes.
fn check_digests(messages: &[Vec<u8>], digests: &[[u8; 32]]) {
    for (message, digest) in messages.iter().zip(digests) {
        let len = message.len();
        assert_eq!(sm3::hash(message), *digest, "hash of {len} bytes");
        assert_eq!(Sm3::digest(message)[..], *digest, "Sm3 of {len} bytes");
        for machine in stream_machines() {
            let sm3 = Sm3::new_on(machine).unwrap().chain_update(message);
            assert_eq!(sm3.finalize()[..], *digest, "{machine} stream of {len} bytes");
        }
    }
    let messages = slices(messages);
    for many in Many::all() {
        let out = many.hash(&Midstate::default(), &Messages::slices(&messages));
        assert_eq!(out.len(), digests.len());
        for ((message, out), digest) in messages.iter().zip(&out).zip(digests) {
            assert_eq!(out, digest, "{many:?}: {} bytes", message.len());
        }
    }
}

#[test]
fn examples_of_the_standard() {
    for example in manylane_vectors::sm3().examples {
        check_digests(&[example.message], &[example.digest]);
    }
}

/// The chaining value after each block, in each lane beside other messages in the others.
#[test]
fn chaining_values_of_the_standard() {
    for example in manylane_vectors::sm3().examples {
        let (blocks, tail) = example.message.as_chunks::<64>();
        let mut last = [0; 128];
        let padding = sm3::pad(tail, example.message.len() as u64, &mut last);
        let padded = [blocks.as_flattened(), &last[..64 * padding]].concat();
        assert_eq!(padded.len(), 64 * example.v.len());
        for machine in common::lane_machines() {
            let count = Lanes::new_on(machine).unwrap().count();
            for lane in 0..count {
                let mut lanes = Lanes::new_on(machine).unwrap();
                for (k, v) in example.v.iter().enumerate() {
                    let others: Vec<Vec<u8>> = (0..count).map(|i| painted(64, i + k)).collect();
                    let mut inputs: Vec<&[u8]> = others.iter().map(Vec::as_slice).collect();
                    inputs[lane] = &padded[64 * k..][..64];
                    common::assert_kernel(lanes.compress(&inputs), machine);
                    assert_eq!(lanes.get(lane), v.0, "{} {machine} lane {lane}", example.source);
                }
                assert_eq!(lanes.digest(lane), example.digest);
            }
        }
    }
}

#[test]
fn painted_messages() {
    let vectors = manylane_vectors::sm3().painted;
    let messages: Vec<Vec<u8>> = vectors.iter().map(|v| painted(v.length, 0)).collect();
    let digests: Vec<[u8; 32]> = vectors.iter().map(|v| v.digest).collect();
    check_digests(&messages, &digests);
}

/// The same vectors where all lanes hold messages of one length.
#[test]
fn painted_messages_in_equal_lanes() {
    for vector in manylane_vectors::sm3().painted.iter().filter(|v| v.length <= 8192) {
        let message = painted(vector.length, 0);
        for many in Many::all() {
            let copies = vec![&message[..]; many.lanes() + 1];
            let out = many.hash(&Midstate::default(), &Messages::slices(&copies));
            let right = out.iter().all(|digest| *digest == vector.digest);
            assert!(right, "{many:?}: {} bytes", vector.length);
        }
    }
}

/// Calls `check` with the tag of each message, made one at a time and together, and with who made it.
fn each_tag(keys: &[Vec<u8>], messages: &[Vec<u8>], check: impl Fn(usize, &[u8; 32], &str)) {
    for (i, (key, message)) in keys.iter().zip(messages).enumerate() {
        let hmac = HmacSm3::new_from_slice(key).unwrap().chain_update(message);
        check(i, &hmac.finalize().into_bytes().into(), "HmacSm3");
    }
    let (keys, messages) = (slices(keys), slices(messages));
    for many in Many::all() {
        let tags = many.hmac(&Messages::slices(&keys), &Messages::slices(&messages));
        assert_eq!(tags.len(), messages.len());
        for (i, tag) in tags.iter().enumerate() {
            check(i, tag, &format!("{many:?}"));
        }
    }
}

fn slices(messages: &[Vec<u8>]) -> Vec<&[u8]> {
    messages.iter().map(Vec::as_slice).collect()
}

#[test]
fn hmac_of_painted_messages() {
    let vectors = manylane_vectors::sm3().hmac;
    let keys: Vec<Vec<u8>> = vectors.iter().map(|v| v.key()).collect();
    let messages: Vec<Vec<u8>> = vectors.iter().map(|v| v.message()).collect();
    each_tag(&keys, &messages, |i, tag, who| {
        let v = &vectors[i];
        assert_eq!(*tag, v.tag, "{who}: key of {} bytes, message of {}", v.key_length, v.length);
    });
}

#[test]
fn wycheproof_hmac() {
    let groups = manylane_vectors::hmac_sm3_wycheproof();
    let tests: Vec<_> = groups.iter().flat_map(|g| g.tests.iter().map(move |t| (g, t))).collect();
    let keys: Vec<Vec<u8>> = tests.iter().map(|(_, test)| test.key.clone()).collect();
    let messages: Vec<Vec<u8>> = tests.iter().map(|(_, test)| test.msg.clone()).collect();
    each_tag(&keys, &messages, |i, tag, who| {
        let (group, test) = tests[i];
        assert_eq!(test.key.len() * 8, group.key_size, "test {}", test.tc_id);
        let equal = tag[..group.tag_size / 8] == test.tag[..];
        let valid = test.result == Verdict::Valid;
        assert_eq!(equal, valid, "{who}, test {}: {}", test.tc_id, test.comment);
    });
}

/// The comparison that users rely on, where a tag is cut to the size of its group.
#[test]
fn wycheproof_hmac_verified() {
    for group in manylane_vectors::hmac_sm3_wycheproof() {
        for test in &group.tests {
            let hmac = HmacSm3::new_from_slice(&test.key).unwrap().chain_update(&test.msg);
            let verified = match group.tag_size {
                256 => hmac.verify_slice(&test.tag),
                _ => hmac.verify_truncated_left(&test.tag),
            };
            assert_eq!(verified.is_ok(), test.result == Verdict::Valid, "test {}", test.tc_id);
        }
    }
}

#[test]
fn hkdf() {
    for (i, vector) in manylane_vectors::sm3().hkdf.iter().enumerate() {
        let salt = (!vector.salt.is_empty()).then_some(&vector.salt[..]);
        let mut okm = vec![0; vector.okm.len()];
        HkdfSm3::new(salt, &vector.ikm).expand(&vector.info, &mut okm).unwrap();
        assert_eq!(okm, vector.okm, "vector {i}");
    }
}

#[test]
fn pbkdf2() {
    for (i, vector) in manylane_vectors::sm3().pbkdf2.iter().enumerate() {
        let mut key = vec![0; vector.key.len()];
        sm3::pbkdf2(&vector.password, &vector.salt, vector.iterations, &mut key);
        assert_eq!(key, vector.key, "vector {i}");
    }
}

/// What the constructors promise; the digests above set or reach it in other ways.
#[test]
fn a_lane_starts_at_the_initial_value() {
    for machine in common::lane_machines() {
        let lanes = Lanes::new_on(machine).unwrap();
        assert!((0..lanes.count()).all(|lane| lanes.get(lane) == IV), "{machine}");
    }
}

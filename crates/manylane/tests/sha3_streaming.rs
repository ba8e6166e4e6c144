//! One stream, cut in every way, on every machine that has a kernel for it.

mod common;

use common::sha3::{FUNCTIONS, Hasher, assert_kernel, hasher, oracle, stream_machines};
use digest::{
    CustomizedInit, Reset,
    common::{AlgorithmName, hazmat::SerializableState},
    const_oid::AssociatedOid,
};
use manylane::sha3::{
    CShake128, CShake256, Digest, ExtendableOutput, Function, HmacSha3_256, Keccak256, Midstate,
    Sha3_224, Sha3_256, Sha3_384, Sha3_512, Shake128, Shake256, TurboShake128, Update, XofReader,
};
use manylane_vectors::painted;

/// The function's output of the length that it says.
fn finish(hasher: &dyn Hasher, function: Function) -> Vec<u8> {
    hasher.finish(function.output_len())
}

/// Places around every edge of a block, up to `blocks` of them.
fn edges(rate: usize, blocks: usize) -> impl Iterator<Item = usize> + Clone {
    (0..=blocks).flat_map(move |k| [(rate * k).wrapping_sub(1), rate * k, rate * k + 1]).skip(1)
}

#[test]
fn two_cuts_around_the_edges_of_blocks() {
    for function in FUNCTIONS {
        let rate = function.rate();
        let message = painted(rate * 3 + 20, 0);
        for len in [message.len(), rate * 3, rate * 2 - 1] {
            let message = &message[..len];
            let expected = oracle(function, &[message]);
            for machine in stream_machines() {
                for first in edges(rate, 3).filter(|&first| first <= len) {
                    let mut head = hasher(function, machine);
                    head.update(&message[..first]);
                    for second in edges(rate, 3).filter(|&s| first <= s && s <= len) {
                        let mut all = head.copy();
                        all.update(&message[first..second]);
                        all.update(&message[second..]);
                        let digest = finish(&*all, function);
                        assert_eq!(digest, expected, "{machine}: {first}, {second}, {len}");
                    }
                }
            }
        }
    }
}

#[test]
fn updates_of_one_size() {
    let message = painted(700, 8);
    for function in FUNCTIONS {
        let rate = function.rate();
        let expected = oracle(function, &[&message]);
        for machine in stream_machines() {
            for size in [1, 3, 8, 10, rate - 1, rate, rate + 1, 2 * rate, 699] {
                let mut hasher = hasher(function, machine);
                for part in message.chunks(size) {
                    hasher.update(part);
                    hasher.update(&[]);
                }
                let digest = finish(&*hasher, function);
                assert_eq!(digest, expected, "{machine}: updates of {size} bytes");
            }
        }
    }
}

/// Every number of blocks, with every kind of rest, wherever the input begins.
#[test]
fn numbers_of_blocks() {
    for function in FUNCTIONS {
        let rate = function.rate();
        let data = painted(rate * 10 + 64, 5);
        for blocks in 0..=8 {
            for rest in [0, 1, 8, rate - 8, rate - 1] {
                let skew = (blocks * 5 + rest) % 64;
                let message = &data[skew..][..rate * blocks + rest];
                let expected = oracle(function, &[message]);
                for machine in stream_machines() {
                    let mut hasher = hasher(function, machine);
                    hasher.update(message);
                    let digest = finish(&*hasher, function);
                    assert_eq!(digest, expected, "{machine}: {blocks} blocks and {rest} bytes");
                }
            }
        }
    }
}

#[test]
fn unaligned_input() {
    let function = Function::SHA3_256;
    let data = painted(136 * 4 + 64, 2);
    for skew in 0..64 {
        let message = &data[skew..skew + 136 * 3 + 5];
        let expected = oracle(function, &[message]);
        for machine in stream_machines() {
            let mut hasher = hasher(function, machine);
            hasher.update(message);
            assert_eq!(finish(&*hasher, function), expected, "{machine}: from {skew}");
        }
    }
}

/// Every place in two blocks: what is taken from a hasher there continues as the hasher does.
#[test]
fn copies_midstates_and_serialized_states() {
    for function in [Function::SHA3_512, Function::KECCAK_384, Function::turboshake128(0x1f)] {
        let rate = function.rate();
        let message = painted(rate * 2 + 30, 4);
        let expected = oracle(function, &[&message]);
        let mut out = vec![0; function.output_len()];
        for machine in stream_machines() {
            for cut in 0..=rate * 2 {
                let (head, tail) = message.split_at(cut);
                let mut original = hasher(function, machine);
                original.update(head);
                let mut copy = original.copy();
                let mut revived = original.revived();
                let midstate = original.midstate();
                // What happens to the original reaches none of them.
                original.update(b"x");
                assert_eq!(finish(&*original, function), oracle(function, &[head, b"x"]));

                copy.update(tail);
                assert_eq!(finish(&*copy, function), expected, "{machine}: copy at {cut}");
                revived.update(tail);
                assert_eq!(finish(&*revived, function), expected, "{machine}: state at {cut}");
                assert_eq!(midstate.prefix_len(), cut as u64);
                midstate.finish(tail, &mut out);
                assert_eq!(out, expected, "{machine}: midstate at {cut}");
            }
        }
    }
}

/// A state that a hasher cannot have been in is refused, not continued.
#[test]
fn serialized_states_are_checked() {
    let state = Sha3_256::new().chain_update([1; 140]).serialize();
    assert!(Sha3_256::deserialize(&state).is_ok());
    for (at, byte) in [(208, 136), (207, 0xff)] {
        let mut forged = state;
        forged[at] = byte;
        assert!(Sha3_256::deserialize(&forged).is_err(), "{byte} at {at}");
    }

    let state = Shake128::default().chain([1; 170]).serialize();
    assert!(Shake128::deserialize(&state).is_ok());
    assert_eq!((state[208], &state[209..212]), (2, &[1, 1, 0][..]));
    for (at, byte) in [(208, 168), (208, 255), (207, 1), (211, 1), (375, 1)] {
        let mut forged = state;
        forged[at] = byte;
        assert!(Shake128::deserialize(&forged).is_err(), "{byte} at {at}");
    }
}

#[test]
fn reset_leaves_nothing_behind() {
    for function in FUNCTIONS {
        let (rate, output_len) = (function.rate(), function.output_len());
        let expected = oracle(function, &[b"abc"]);
        for machine in stream_machines() {
            for len in [0, 1, rate - 1, rate, rate + 1, rate * 5 + 1] {
                let mut hasher = hasher(function, machine);
                hasher.update(&painted(len, 0));
                hasher.reset();
                hasher.update(b"abc");
                assert_eq!(finish(&*hasher, function), expected, "{machine}: reset at {len}");

                hasher.reset();
                hasher.update(&painted(len, 0));
                let digest = hasher.finish_reset(output_len);
                assert_eq!(digest, oracle(function, &[&painted(len, 0)]));
                assert!(hasher.kernel().is_none(), "a reset hasher has no kernel yet");
                hasher.update(b"abc");
                assert_eq!(finish(&*hasher, function), expected, "{machine}: finished at {len}");
            }
        }
    }
}

/// No stream stands in for another, however many blocks it is given at once.
#[test]
fn the_machine_that_was_asked_for_runs() {
    for function in FUNCTIONS {
        for machine in stream_machines() {
            for blocks in [1, 2, 7] {
                let mut hasher = hasher(function, machine);
                hasher.update(&painted(function.rate() - 1, 0));
                assert_eq!(hasher.kernel(), None, "{machine}: no block is full");
                hasher.update(&painted(function.rate() * blocks, 1));
                assert_kernel(hasher.kernel().unwrap(), machine);
            }
        }
    }
}

/// The output is one string of bytes, however it is read.
#[test]
fn outputs_in_pieces() {
    for machine in stream_machines() {
        let xof = Shake128::new_on(machine).unwrap().chain(b"message");
        let expected = oracle(Function::SHAKE128.with_output_len(700), &[b"message"]);
        for first in [0, 1, 7, 8, 9, 167, 168, 169, 336] {
            for size in [1, 5, 8, 16, 100, 167, 168, 169, 700] {
                let mut reader = xof.clone().finalize_xof();
                let mut out = vec![0; 700];
                reader.read(&mut out[..first]);
                let mut copy = reader.clone();
                for piece in out[first..].chunks_mut(size) {
                    reader.read(piece);
                    reader.read(&mut []);
                }
                assert_eq!(out, expected, "{machine}: {first} bytes, then {size} at a time");
                copy.read(&mut out[first..]);
                assert_eq!(out, expected, "{machine}: a copy after {first} bytes");
            }
        }
    }
}

#[test]
fn customized_streams() {
    let output = |xof: CShake128| {
        let mut out = [0; 32];
        xof.finalize_xof_into(&mut out);
        out
    };
    let mut xof = CShake128::new(b"name", b"customization").chain(painted(400, 1));
    let expected = output(xof.clone());
    xof.reset();
    assert_eq!(output(xof.clone().chain(painted(400, 1))), expected);
    assert_ne!(output(CShake128::new(b"namec", b"ustomization").chain(painted(400, 1))), expected);
    assert_eq!(xof.midstate().prefix_len(), 168);

    let shake = oracle(Function::SHAKE128, &[b"abc"]);
    assert_eq!(output(CShake128::new(b"", b"").chain(b"abc"))[..], shake);
    let customized = output(CShake128::new_customized(b"x").chain(b"abc"));
    assert_eq!(customized, output(CShake128::new(b"", b"x").chain(b"abc")));
    let mut out = [0; 64];
    CShake256::new(b"", b"").chain(b"abc").finalize_xof_into(&mut out);
    assert_eq!(out[..], oracle(Function::SHAKE256, &[b"abc"]));
}

/// RFC 2104 with SHA-3's blocks, by the oracle.
#[test]
fn hmac() {
    use ::hmac::{KeyInit, Mac};
    let function = Function::SHA3_256;
    for key_len in [0, 1, 32, 135, 136, 137, 300] {
        let key = painted(key_len, 3);
        let mut k0 = [0; 136];
        if key_len > 136 {
            k0[..32].copy_from_slice(&oracle(function, &[&key]));
        } else {
            k0[..key_len].copy_from_slice(&key);
        }
        let inner = oracle(function, &[&k0.map(|k| k ^ 0x36), b"message"]);
        let expected = oracle(function, &[&k0.map(|k| k ^ 0x5c), &inner]);
        let tag = HmacSha3_256::new_from_slice(&key).unwrap().chain_update(b"message").finalize();
        assert_eq!(tag.into_bytes()[..], expected, "a key of {key_len} bytes");
    }
}

#[test]
fn names_and_identifiers() {
    struct Name<T>(std::marker::PhantomData<T>);
    impl<T: AlgorithmName> std::fmt::Display for Name<T> {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            T::write_alg_name(f)
        }
    }
    fn name<T: AlgorithmName>() -> String {
        Name::<T>(std::marker::PhantomData).to_string()
    }
    assert_eq!(name::<Sha3_256>(), "Sha3_256");
    assert_eq!(name::<Keccak256>(), "Keccak256");
    assert_eq!(name::<Shake256>(), "Shake256");
    assert_eq!(name::<TurboShake128<7>>(), "TurboShake128");
    assert_eq!(name::<CShake256>(), "CShake256");
    let arcs =
        [Sha3_224::OID, Sha3_256::OID, Sha3_384::OID, Sha3_512::OID, Shake128::OID, Shake256::OID]
            .map(|oid| oid.to_string());
    for (arc, oid) in (7..).zip(arcs) {
        assert_eq!(oid, format!("2.16.840.1.101.3.4.2.{arc}"));
    }
}

/// What is shown of a hasher says nothing about what it holds.
#[test]
fn debug_shows_no_content() {
    for function in FUNCTIONS {
        let mut hasher = hasher(function, manylane::cpu::Machine::Portable);
        let empty = hasher.shown();
        hasher.update(&[0x5a; 200]);
        assert_eq!(hasher.shown(), empty);
        assert!(empty.ends_with(" { ... }"), "{empty}");
    }
    assert_eq!(format!("{:?}", Midstate::after(Function::SHA3_256, b"key")), "Midstate { ... }");
    let reader = Shake128::default().chain(b"key").finalize_xof();
    assert_eq!(format!("{reader:?}"), "XofOutput { ... }");
}

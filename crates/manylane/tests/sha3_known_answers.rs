//! What others computed: the standards' examples, NIST's CAVP, and vectors that other
//! implementations confirm.

mod common;

use std::collections::BTreeMap;

use common::sha3::{Many, assert_kernel, hasher, lane_machines, stream_machines};
use digest::{KeyInit, Mac};
use manylane::{
    Messages,
    sha3::{
        self, CShake128, CShake256, ExtendableOutput, Function, Kmac128, Kmac256, Lanes, Midstate,
        Update, XofReader,
    },
};
use manylane_vectors::sha3::{Function as Name, Hash, Monte};

/// Longer messages are hashed once, by the library's choice: they differ from others in nothing
/// that a machine sees.
const LONG: usize = 100_000;

/// Longer ones yet, but for those that take minutes without optimisation.
const LONGEST: usize = 2_000_000;

/// The function of a vector, for an output of `len` bytes.
fn function(name: Name, domain: Option<u8>, len: usize) -> Function {
    let function = match name {
        Name::Sha3_224 => Function::SHA3_224,
        Name::Sha3_256 => Function::SHA3_256,
        Name::Sha3_384 => Function::SHA3_384,
        Name::Sha3_512 => Function::SHA3_512,
        Name::Keccak224 => Function::KECCAK_224,
        Name::Keccak256 => Function::KECCAK_256,
        Name::Keccak384 => Function::KECCAK_384,
        Name::Keccak512 => Function::KECCAK_512,
        Name::Shake128 => Function::SHAKE128,
        Name::Shake256 => Function::SHAKE256,
        Name::TurboShake128 => Function::turboshake128(domain.unwrap()),
        Name::TurboShake256 => Function::turboshake256(domain.unwrap()),
        other => panic!("{other:?} is no function of a message alone"),
    };
    if function.is_xof() { function.with_output_len(len) } else { function }
}

fn function_of(v: &Hash) -> Function {
    function(v.function, v.domain, v.skip + v.output.len())
}

/// Whether there is a hasher of a type for it: domains are parameters of types.
fn has_hasher(function: Function) -> bool {
    function.rounds() == 24 || (function.rate(), function.suffix()) == (168, 0x1f)
}

/// Each vector through one stream of every machine, then all of a function together through lanes.
fn check_hashes(vectors: &[Hash]) {
    let mut batches: BTreeMap<_, Vec<&Hash>> = BTreeMap::new();
    for v in vectors.iter().filter(|v| v.message.len() <= LONG) {
        let (function, message) = (function_of(v), v.message.get());
        let due = function.output_len();
        batches.entry((v.function, v.domain, due)).or_default().push(v);
        let check = |out: &[u8], who: &str| {
            assert!(
                out[v.skip..] == v.output,
                "{who}: {} {function:?} {}",
                v.source,
                message.len()
            );
        };
        let mut out = vec![0; due];
        sha3::hash(function, &message, &mut out);
        check(&out, "hash");
        for machine in stream_machines().filter(|_| has_hasher(function)) {
            let mut hasher = hasher(function, machine);
            hasher.update(&message);
            check(&hasher.finish(due), machine.name());
        }
    }
    for ((name, domain, due), vectors) in batches {
        let function = function(name, domain, due);
        let messages: Vec<Vec<u8>> = vectors.iter().map(|v| v.message.get()).collect();
        let messages: Vec<&[u8]> = messages.iter().map(Vec::as_slice).collect();
        for many in Many::all() {
            let out = many.hash(&Midstate::new(function), &Messages::slices(&messages), &[]);
            for (v, out) in vectors.iter().zip(out.chunks(due)) {
                let len = v.message.len();
                assert!(out[v.skip..] == v.output, "{many:?}: {} {function:?} {len}", v.source);
            }
        }
    }
}

#[test]
fn standards_and_generated() {
    check_hashes(&manylane_vectors::sha3().hashes);
}

#[test]
fn cavp() {
    check_hashes(&manylane_vectors::sha3_cavp().hashes);
}

fn check_long(is_due: impl Fn(usize) -> bool) {
    let vectors = manylane_vectors::sha3().hashes;
    let long: Vec<&Hash> = vectors.iter().filter(|v| is_due(v.message.len())).collect();
    assert_eq!(long.len(), 2);
    for v in long {
        let mut out = vec![0; v.output.len()];
        sha3::hash(function_of(v), &v.message.get(), &mut out);
        assert_eq!(out, v.output, "{:?}", v.function);
    }
}

#[test]
fn long_messages() {
    check_long(|len| (LONG..=LONGEST).contains(&len));
}

#[test]
#[ignore = "24 MB each, by `cargo xtask long`"]
fn longest_messages() {
    check_long(|len| len > LONGEST);
}

/// The permutation in each lane, beside other states in the others.
#[test]
fn permutations() {
    for v in manylane_vectors::sha3().permutations {
        let words = |bytes: &[u8; 200]| -> [u64; 25] {
            let words = bytes.as_chunks::<8>().0;
            std::array::from_fn(|i| u64::from_le_bytes(words[i]))
        };
        let function = match v.rounds {
            24 => Function::SHA3_256,
            12 => Function::turboshake128(1),
            rounds => panic!("{rounds} rounds"),
        };
        assert_eq!(function.rounds(), v.rounds);
        for machine in lane_machines() {
            let count = Lanes::new_on(function, machine).unwrap().count();
            for lane in 0..count {
                let mut lanes = Lanes::new_on(function, machine).unwrap();
                for other in 0..count {
                    lanes.set(other, &[other as u64; 25]);
                }
                lanes.set(lane, &words(&v.input));
                assert_kernel(lanes.permute(), machine);
                assert_eq!(lanes.get(lane), words(&v.output), "{machine}, lane {lane}");
            }
        }
    }
}

/// The first `checkpoints` outputs of a chain (SHAVS, 6.2.3 and 6.3.3), a step of which is `hash`.
fn check_chain(v: &Monte, checkpoints: usize, mut hash: impl FnMut(Function, &[u8]) -> Vec<u8>) {
    let mut state = v.seed.clone();
    let mut len = v.maximum.unwrap_or(v.outputs[0].0.len());
    for (number, due) in v.outputs.iter().take(checkpoints).enumerate() {
        for _ in 0..1000 {
            if let (Some(minimum), Some(maximum)) = (v.minimum, v.maximum) {
                state.resize(16, 0);
                state = hash(function(v.function, None, len), &state);
                let last = u16::from_be_bytes(*state.last_chunk().unwrap());
                len = minimum + usize::from(last) % (maximum - minimum + 1);
            } else {
                state = hash(function(v.function, None, len), &state);
            }
        }
        assert_eq!(state, due.0, "{}, {number}", v.source);
    }
}

/// A few of each chain's checkpoints on every machine: what goes wrong once is wrong ever after.
#[test]
fn monte_carlo() {
    for v in manylane_vectors::sha3_cavp().monte {
        for machine in stream_machines() {
            check_chain(&v, 2, |function, message| {
                let mut hasher = hasher(function, machine);
                hasher.update(message);
                hasher.finish(function.output_len())
            });
        }
        for machine in lane_machines() {
            check_chain(&v, 1, |function, message| {
                Many::On(machine).hash(&Midstate::new(function), &Messages::slices(&[message]), &[])
            });
        }
    }
}

#[test]
#[ignore = "600,000 hashes, by `cargo xtask long`"]
fn whole_monte_carlo() {
    for v in manylane_vectors::sha3_cavp().monte {
        check_chain(&v, 100, |function, message| {
            let mut out = vec![0; function.output_len()];
            sha3::hash(function, message, &mut out);
            out
        });
    }
}

#[test]
fn cshake() {
    for v in manylane_vectors::sha3().cshake {
        let (name, customization, message) = (v.name.get(), v.customization.get(), v.message.get());
        let mut out = vec![0; v.output.len()];
        let function = match v.function {
            Name::CShake128 => {
                let xof = CShake128::new(&name, &customization).chain(&message);
                xof.finalize_xof().read(&mut out);
                Function::CSHAKE128
            }
            Name::CShake256 => {
                let xof = CShake256::new(&name, &customization).chain(&message);
                xof.finalize_xof().read(&mut out);
                Function::CSHAKE256
            }
            other => panic!("{other:?}"),
        };
        assert_eq!(out, v.output, "{} {function:?}", v.source);
        let start = Midstate::customized(function, &name, &customization);
        let start = start.with_output_len(v.output.len());
        for many in Many::all() {
            let copies = vec![&message[..]; many.lanes() + 1];
            let out = many.hash(&start, &Messages::slices(&copies), &[]);
            let right = out.chunks(v.output.len()).all(|out| out == v.output);
            assert!(right, "{many:?}: {} {function:?}", v.source);
        }
    }
}

/// A KMAC of the tests, for both strengths.
trait Code: Mac + Update + ExtendableOutput + Clone + KeyInit {
    fn with(key: &[u8], customization: &[u8]) -> Self;
    fn tag(self, out: &mut [u8]);
    fn verifies(self, tag: &[u8]) -> bool;
    fn tags(&self, many: Many, messages: &Messages, len: usize) -> Vec<u8>;
}

macro_rules! code {
    ($name:ty) => {
        impl Code for $name {
            fn with(key: &[u8], customization: &[u8]) -> Self {
                <$name>::new(key, customization)
            }

            fn tag(self, out: &mut [u8]) {
                self.tag(out);
            }

            fn verifies(self, tag: &[u8]) -> bool {
                self.verify_tag(tag).is_ok()
            }

            fn tags(&self, many: Many, messages: &Messages, len: usize) -> Vec<u8> {
                let mut out = vec![0; messages.len() * len];
                match many {
                    Many::Chosen => self.tag_many(messages, len, &mut out).unwrap(),
                    Many::On(machine) => {
                        let kernel = self.tag_many_on(machine, messages, len, &mut out).unwrap();
                        assert_kernel(kernel.unwrap(), machine);
                    }
                }
                out
            }
        }
    };
}
code!(Kmac128);
code!(Kmac256);

fn check_code<C: Code>(v: &manylane_vectors::sha3::Kmac) {
    let (key, customization, message) = (v.key.get(), v.customization.get(), v.message.get());
    let what = format!("{} {:?}, {} bytes", v.source, v.function, message.len());
    let code = C::with(&key, &customization);
    let mut out = vec![0; v.skip + v.output.len()];
    if matches!(v.function, Name::KmacXof128 | Name::KmacXof256) {
        code.chain(&message).finalize_xof().read(&mut out);
        assert!(out[v.skip..] == v.output, "{what}");
        return;
    }
    let (first, second) = message.split_at(message.len() / 3);
    code.clone().chain(first).chain(second).tag(&mut out);
    assert!(out[v.skip..] == v.output, "{what}");
    assert!(code.clone().chain(&message).verifies(&out), "{what}");
    *out.last_mut().unwrap() ^= 0x80;
    assert!(!code.clone().chain(&message).verifies(&out), "{what}");
    for many in Many::all() {
        let copies = vec![&message[..]; many.lanes() + 1];
        let tags = code.tags(many, &Messages::slices(&copies), out.len());
        let right = tags.chunks(out.len()).all(|tag| tag[v.skip..] == v.output);
        assert!(right, "{many:?}: {what}");
        let rests = vec![second; 2];
        let tags = code.clone().chain(first).tags(many, &Messages::slices(&rests), out.len());
        let right = tags.chunks(out.len()).all(|tag| tag[v.skip..] == v.output);
        assert!(right, "{many:?} after a part: {what}");
    }
    if customization.is_empty() && C::output_size() == out.len() {
        let mac = <C as KeyInit>::new_from_slice(&key).unwrap().chain_update(&message);
        mac.verify_slice(&v.output).unwrap();
    }
}

#[test]
fn kmac() {
    for v in manylane_vectors::sha3().kmac {
        match v.function {
            Name::Kmac128 | Name::KmacXof128 => check_code::<Kmac128>(&v),
            Name::Kmac256 | Name::KmacXof256 => check_code::<Kmac256>(&v),
            other => panic!("{other:?}"),
        }
    }
}

/// SP 800-185, clause 8.4.2, allows no tag under 32 bits, and an empty one would be right always.
#[test]
fn short_tags_are_never_right() {
    for len in 0..6 {
        let mut tag = vec![0; len];
        let kmac = Kmac128::new(&[1; 16], b"").chain(b"message");
        kmac.clone().tag(&mut tag);
        assert_eq!(kmac.verify_tag(&tag).is_ok(), len >= 4, "{len} bytes");
    }
}

#[test]
fn kmac_begins_again_under_the_same_key() {
    let mut kmac = Kmac256::new(&[1; 32], b"customization");
    let due = kmac.clone().chain(b"message").finalize();
    Update::update(&mut kmac, b"something else");
    assert!(Mac::finalize_reset(&mut kmac) != due);
    Update::update(&mut kmac, b"message");
    assert!(Mac::finalize_reset(&mut kmac) == due);
    let mut xof = [0; 10];
    Update::update(&mut kmac, b"message");
    digest::ExtendableOutputReset::finalize_xof_reset(&mut kmac).read(&mut xof);
    assert!(xof != due.as_bytes()[..10], "KMACXOF is not KMAC");
    Update::update(&mut kmac, b"message");
    assert!(kmac.finalize() == due);
}

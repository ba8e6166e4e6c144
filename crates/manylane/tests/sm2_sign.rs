//! Signatures of many keys and digests: what is signed holds, and nothing else does.

mod common;

use common::{Presence, presence};
use manylane::{
    Error,
    cpu::Machine,
    sm2::{self, PublicKey, SecretKey, Signature},
    sm3,
};

#[test]
fn the_most_capable_machine_is_used() {
    let with_arithmetic = [Machine::Ifma, Machine::Avx512, Machine::Bmi2, Machine::Portable];
    let best = with_arithmetic.into_iter().find(|machine| presence(*machine) == Presence::Run);
    assert_eq!(Some(sm2::machine()), best);
}

/// Where others failed are numbers with leading zeros: one in 256 has them. Without optimisation, the
/// portable arithmetic takes a millisecond for a case, and under an emulator much more.
fn cases() -> u32 {
    if sm2::machine() == Machine::Portable { 2_000 } else { 100_000 }
}

/// Cases of one key.
const CASES_OF_KEY: u32 = 50;

fn digest(case: u32) -> [u8; 32] {
    sm3::hash(&case.to_be_bytes())
}

/// A signature with one bit changed, if that is one.
fn altered(signature: &Signature, bit: usize) -> Option<Signature> {
    let mut bytes = signature.to_bytes();
    bytes[bit / 8] ^= 1 << (bit % 8);
    Signature::from_bytes(&bytes).ok()
}

#[test]
fn round_trips() {
    let mut leading_zeros = 0;
    let cases = cases();
    for start in (0..cases).step_by(CASES_OF_KEY as usize) {
        let key = SecretKey::generate().unwrap();
        // As the other side gets it.
        let public = PublicKey::from_sec1_bytes(&key.public_key().to_compressed()).unwrap();
        assert_eq!(public, *key.public_key());
        for case in start..start + CASES_OF_KEY {
            let e = digest(case);
            let signature = key.sign_digest(&e).unwrap();
            leading_zeros += u32::from(signature.r()[0] == 0) + u32::from(signature.s()[0] == 0);
            assert_eq!(
                public.verify_digest(&e, &signature),
                Ok(()),
                "{case}: {key:?} {signature:?}"
            );
        }
        let (e, other) = (digest(start), digest(start + 1));
        let signature = key.sign_digest(&e).unwrap();
        assert_eq!(public.verify_digest(&other, &signature), Err(Error::Signature), "{start}");
        if let Some(altered) = altered(&signature, start as usize / CASES_OF_KEY as usize % 512) {
            assert_eq!(public.verify_digest(&e, &altered), Err(Error::Signature), "{start}");
        }
    }
    let expected = 2 * cases / 256;
    assert!((expected / 3..2 * expected).contains(&leading_zeros), "{leading_zeros} of {expected}");
}

/// Two signatures of the same are made with different nonces, and so are those of a key's copy.
#[test]
fn no_nonce_comes_twice() {
    let key = SecretKey::generate().unwrap();
    let copy = SecretKey::from_bytes(&key.to_bytes()).unwrap();
    let e = digest(0);
    let mut r: Vec<[u8; 32]> = (0..1000)
        .map(|i| *if i % 2 == 0 { &key } else { &copy }.sign_digest(&e).unwrap().r())
        .collect();
    r.sort_unstable();
    r.dedup();
    assert_eq!(r.len(), 1000);
}

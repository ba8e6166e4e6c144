//! Encryption and decryption: known answers, every length, parts, and what must not decrypt.

mod common;

use common::{has_lanes, presence};
use manylane::{
    Error,
    cpu::Machine,
    sm2::{CiphertextForm, Decryptor, Encryptor, MAX_MESSAGE_LEN, PublicKey, Sealed, SecretKey},
    sm3,
};
use manylane_vectors::{painted, sm2::C2};

const FORMS: [CiphertextForm; 5] = [
    CiphertextForm::Asn1,
    CiphertextForm::C1C3C2 { prefix: true },
    CiphertextForm::C1C3C2 { prefix: false },
    CiphertextForm::C1C2C3 { prefix: true },
    CiphertextForm::C1C2C3 { prefix: false },
];

fn key(d: &[u8; 32]) -> SecretKey {
    SecretKey::from_bytes(d).unwrap()
}

fn machines() -> impl Iterator<Item = Machine> {
    let runs = |machine: &Machine| presence(*machine) == common::Presence::Run;
    Machine::ALL.into_iter().filter(runs).filter(|&machine| has_lanes(machine))
}

/// Decrypts on one machine.
fn decrypt_on(
    machine: Machine,
    key: &SecretKey,
    sealed: &Sealed,
    c2: &[u8],
) -> Result<Vec<u8>, Error> {
    let mut data = c2.to_vec();
    let mut decryptor = Decryptor::new_on(machine, key, &sealed.c1)?;
    decryptor.update(&mut data)?;
    decryptor.finalize(&sealed.c3)?;
    Ok(data)
}

/// Encrypts on one machine.
fn encrypt_on(machine: Machine, key: &PublicKey, message: &[u8]) -> (Sealed, Vec<u8>) {
    let mut data = message.to_vec();
    let mut encryptor = Encryptor::new_on(machine, key, message).unwrap();
    encryptor.update(&mut data).unwrap();
    let c1 = *encryptor.c1();
    (Sealed { c1, c3: encryptor.finalize().unwrap() }, data)
}

#[test]
fn known_answers() {
    for v in manylane_vectors::sm2().encrypt_examples {
        let sealed = Sealed { c1: v.c1, c3: v.c3 };
        let mut data = v.c2.clone();
        key(&v.d).decrypt_in_place(&sealed, &mut data).unwrap();
        assert_eq!(data, v.message, "{}", v.source);
        for machine in machines() {
            assert_eq!(decrypt_on(machine, &key(&v.d), &sealed, &v.c2).unwrap(), v.message);
        }
    }
    let mut whole = 0;
    for v in manylane_vectors::sm2().ciphertexts {
        let (key, message, sealed) = (key(&v.d), v.message(), Sealed { c1: v.c1, c3: v.c3 });
        // A C2 that is given as a digest is made from the message: the key stream is the same.
        let c2 = match &v.c2 {
            C2::Whole { c2, der } => {
                whole += 1;
                assert_eq!(
                    key.decrypt(CiphertextForm::Asn1, der).unwrap()[..],
                    message,
                    "{}",
                    v.what
                );
                c2.clone()
            }
            C2::Digests { c2_sm3, .. } => {
                let mut data = message.clone();
                let mut stream = Decryptor::new(&key, &v.c1).unwrap();
                stream.update(&mut data).unwrap();
                assert_eq!(sm3::hash(&data), *c2_sm3, "{}", v.what);
                data
            }
        };
        let mut data = c2.clone();
        key.decrypt_in_place(&sealed, &mut data).unwrap();
        assert_eq!(data, message, "{}", v.what);
        for machine in machines() {
            assert_eq!(decrypt_on(machine, &key, &sealed, &c2).unwrap(), message, "{}", v.what);
        }
    }
    assert!(whole > 20);
}

#[test]
fn bad_ciphertexts() {
    let mut count = 0;
    for v in manylane_vectors::sm2().bad_ciphertexts {
        let mut data = v.c2.clone();
        let sealed = Sealed { c1: v.c1, c3: v.c3 };
        assert_eq!(
            key(&v.d).decrypt_in_place(&sealed, &mut data),
            Err(Error::Decryption),
            "{}",
            v.what
        );
        assert!(data.iter().all(|&byte| byte == 0), "{}: something is left", v.what);
        for machine in machines() {
            let result = decrypt_on(machine, &key(&v.d), &sealed, &v.c2);
            assert_eq!(result, Err(Error::Decryption), "{}", v.what);
        }
        count += 1;
    }
    assert!(count > 10);
    for v in manylane_vectors::sm2().zero_kdf {
        let key = key(&v.d);
        let mut data = v.c2.clone();
        key.decrypt_in_place(&Sealed { c1: v.c1, c3: v.c3 }, &mut data).unwrap();
        assert_eq!(data, v.message);
        let refused = Sealed { c1: v.c1_refused, c3: v.c3_refused };
        assert_eq!(key.decrypt_in_place(&refused, &mut data), Err(Error::Decryption));
        assert!(data.iter().all(|&byte| byte == 0));
    }
}

/// One-byte messages meet a key stream of zero once in 256: the nonce is then drawn again, so that
/// every ciphertext differs from its message.
#[test]
fn no_message_stays_as_it_is() {
    let key = SecretKey::generate().unwrap();
    for i in 0..2000u32 {
        let message = [i as u8];
        let mut data = message;
        let sealed = key.public_key().encrypt_in_place(&mut data).unwrap();
        assert_ne!(data, message);
        key.decrypt_in_place(&sealed, &mut data).unwrap();
        assert_eq!(data, message);
    }
}

#[test]
fn every_length_in_every_form() {
    let key = SecretKey::generate().unwrap();
    let around = [1, 2, 4, 8].map(|n| 512 * n).into_iter().flat_map(|n| n - 34..n + 3);
    for len in (1..=200).chain(around) {
        let message = painted(len, len);
        let form = FORMS[len % FORMS.len()];
        let ciphertext = key.public_key().encrypt(form, &message).unwrap();
        assert_eq!(key.decrypt(form, &ciphertext).unwrap()[..], message, "{len} bytes, {form:?}");
        for cut in [0, 1, ciphertext.len() / 2, ciphertext.len() - 1] {
            assert_eq!(key.decrypt(form, &ciphertext[..cut]), Err(Error::Decryption));
        }
    }
}

/// What one machine encrypts, in parts, every other decrypts, in other parts.
#[test]
fn machines_and_parts() {
    let key = SecretKey::generate().unwrap();
    let message = painted(70_000, 3);
    for machine in machines() {
        let mut data = message.clone();
        let mut encryptor = Encryptor::new_on(machine, key.public_key(), &message[..32]).unwrap();
        for part in data.chunks_mut(9_973) {
            encryptor.update(part).unwrap();
        }
        let c1 = *encryptor.c1();
        let c3 = encryptor.finalize().unwrap();
        for other in machines() {
            let mut data = data.clone();
            let mut decryptor = Decryptor::new_on(other, &key, &c1).unwrap();
            for part in data.chunks_mut(16_411) {
                decryptor.update(part).unwrap();
            }
            decryptor.finalize(&c3).unwrap();
            assert!(data == message, "{machine}, {other}");
        }
    }
    let absent = Machine::ALL.into_iter().find(|machine| !machine.is_native()).unwrap();
    assert!(Encryptor::new_on(absent, key.public_key(), b"x").is_err());
}

/// The two halves on two threads, at offsets in any order.
#[test]
fn halves() {
    let key = SecretKey::generate().unwrap();
    let message = painted(50_000, 8);
    let encryptor = Encryptor::new(key.public_key(), &message).unwrap();
    let c1 = *encryptor.c1();
    let (key_stream, mut hash) = encryptor.into_halves();
    let mut c2 = message.clone();
    let c3 = std::thread::scope(|scope| {
        let parts = c2.chunks_mut(7001).enumerate().collect::<Vec<_>>();
        scope.spawn(|| {
            for (i, part) in parts.into_iter().rev() {
                key_stream.xor(7001 * i as u64, part).unwrap();
            }
        });
        message.chunks(999).for_each(|part| hash.update(part));
        hash.finalize().unwrap()
    });
    let sealed = Sealed { c1, c3 };
    for altered in [false, true] {
        let (key_stream, mut hash) = Decryptor::new(&key, &c1).unwrap().into_halves();
        let mut data = c2.clone();
        data[77] ^= u8::from(altered);
        key_stream.xor(0, &mut data).unwrap();
        hash.update(&data);
        assert_eq!(hash.verify(&key_stream, &c3).is_err(), altered);
    }
    key.decrypt_in_place(&sealed, &mut c2).unwrap();
    assert!(c2 == message);
    let (key_stream, hash) = Decryptor::new(&key, &c1).unwrap().into_halves();
    assert!(key_stream.xor(MAX_MESSAGE_LEN - 1, &mut [0]).is_ok());
    let past = Err(Error::MessageLength(MAX_MESSAGE_LEN + 1));
    assert_eq!(key_stream.xor(MAX_MESSAGE_LEN - 1, &mut [0; 2]), past);
    assert_eq!(hash.verify(&key_stream, &c3), Err(Error::Decryption));
}

/// Each altered byte of C1, C2 and C3 is found, and nothing is left of the message.
#[test]
fn altered() {
    let key = SecretKey::generate().unwrap();
    for len in [1, 31, 100, 5000] {
        let message = painted(len, 1);
        let mut c2 = message.clone();
        let sealed = key.public_key().encrypt_in_place(&mut c2).unwrap();
        let refused = |sealed: Sealed, c2: &[u8], what: &str| {
            let mut data = c2.to_vec();
            let result = key.decrypt_in_place(&sealed, &mut data);
            assert_eq!(result, Err(Error::Decryption), "{what} of {len} bytes");
            assert!(data.iter().all(|&byte| byte == 0), "{what} of {len} bytes: something is left");
        };
        for i in 0..65 {
            let mut c1 = sealed.c1;
            c1[i] ^= 1 << (i % 8);
            refused(Sealed { c1, ..sealed }, &c2, "C1");
        }
        for i in 0..32 {
            let mut c3 = sealed.c3;
            c3[i] ^= 1 << (i % 8);
            refused(Sealed { c3, ..sealed }, &c2, "C3");
        }
        for i in (0..len).step_by(len / 40 + 1) {
            let mut altered = c2.clone();
            altered[i] ^= 1 << (i % 8);
            refused(sealed, &altered, "C2");
        }
        refused(sealed, &c2[1..], "C2's end");
        refused(sealed, &c2[..len - 1], "C2's beginning");
        // C1 negated is a point too, with the same x2.
        let mut negated = key.public_key().to_compressed();
        negated[0] ^= 1;
        let c1 = PublicKey::from_sec1_bytes(&negated).unwrap().to_sec1_bytes();
        refused(Sealed { c1, ..sealed }, &c2, "another point");
        let other = SecretKey::generate().unwrap();
        assert_eq!(other.decrypt_in_place(&sealed, &mut c2.clone()), Err(Error::Decryption));
    }
}

#[test]
fn lengths_that_nobody_encrypts() {
    let key = SecretKey::generate().unwrap();
    let public = key.public_key();
    let empty = Some(Error::MessageLength(0));
    assert_eq!(public.encrypt(CiphertextForm::Asn1, b"").err(), empty);
    assert_eq!(public.encrypt_in_place(&mut []).err(), empty);
    assert_eq!(Encryptor::new(public, b"").err(), empty);
    assert_eq!(Encryptor::new(public, b"x").unwrap().finalize().err(), empty);
    let sealed = public.encrypt_in_place(&mut [1]).unwrap();
    assert_eq!(key.decrypt_in_place(&sealed, &mut []), Err(Error::Decryption));
}

/// Two encryptions of one message have nothing in common.
#[test]
fn nonces_differ() {
    let key = SecretKey::generate().unwrap();
    let message = painted(100, 0);
    let [(a, x), (b, y)] =
        [0, 1].map(|_| encrypt_on(Machine::Portable, key.public_key(), &message));
    assert!(a.c1 != b.c1 && a.c3 != b.c3 && x != y);
}

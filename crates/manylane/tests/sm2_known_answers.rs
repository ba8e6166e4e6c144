//! What others computed: the standard's examples, vectors that OpenSSL confirms, and files of GmSSL
//! and Tongsuo.

use manylane::{
    Error,
    sm2::{
        Ciphertext, CiphertextForm, DEFAULT_ID, Decryptor, MAX_HEAD_LEN, MAX_ID_LEN, PublicKey,
        Sealed, SecretKey, Signature, Signer, Verifier,
    },
    sm3::{self, Digest},
};
use manylane_vectors::{
    painted,
    sm2::{C2, INTEROP_ID, INTEROP_PASSWORD, interop},
};

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

/// Z_A is told by the digest of a message with and without one: nothing of it is public alone.
#[track_caller]
fn check_z(key: &SecretKey, id: &[u8], z: &[u8; 32], what: &str) {
    let verifier = Verifier::new(key.public_key(), id).unwrap();
    let signer = Signer::new(key, id).unwrap();
    for hasher in [verifier.hasher(), signer.hasher()] {
        assert_eq!(hasher.finalize()[..], sm3::hash(z), "{what}");
    }
}

#[test]
fn z_of_every_key_and_id() {
    let vectors = manylane_vectors::sm2();
    for v in &vectors.keys {
        check_z(&key(&v.d), DEFAULT_ID, &v.z, &v.what);
    }
    for v in &vectors.signatures {
        check_z(&key(&v.d), &v.id, &v.z, &v.what);
    }
    let key = key(&vectors.keys[0].d);
    for len in [MAX_ID_LEN + 1, 8192, 8193, 1 << 16] {
        let id = vec![b'a'; len];
        assert_eq!(Signer::new(&key, &id).unwrap_err(), Error::IdLength(len));
        assert_eq!(Verifier::new(key.public_key(), &id).unwrap_err(), Error::IdLength(len));
    }
}

#[test]
fn the_standards_signature() {
    for v in manylane_vectors::sm2().sign_examples {
        let key = key(&v.d);
        assert_eq!(key.public_key().to_sec1_bytes(), v.point);
        check_z(&key, &v.id, &v.z, &v.source);
        let e = Signer::new(&key, &v.id).unwrap().hasher().chain_update(&v.message).finalize();
        assert_eq!(e[..], v.e);
        let signature = Signature::new(v.r, v.s).unwrap();
        assert_eq!(key.public_key().verify(&v.id, &v.message, &signature), Ok(()));
        assert_eq!(key.public_key().verify_digest(&v.e, &signature), Ok(()));
    }
}

#[test]
fn signatures_hold() {
    for v in manylane_vectors::sm2().signatures {
        let (key, message) = (key(&v.d), v.message());
        let public = key.public_key();
        let signature = Signature::from_der(&v.der).unwrap();
        assert_eq!(public.verify(&v.id, &message, &signature), Ok(()), "{}", v.what);
        assert_eq!(public.verify_digest(&v.e, &signature), Ok(()), "{}", v.what);
        let longer = [&message[..], &[0]].concat();
        let refused = public.verify(&v.id, &longer, &signature);
        assert_eq!(refused, Err(Error::Signature), "{}", v.what);
        // What we sign of the same holds too.
        let ours = key.sign(&v.id, &message).unwrap();
        assert_eq!(public.verify(&v.id, &message, &ours), Ok(()), "{}", v.what);
        assert_ne!(ours, signature);
    }
}

#[test]
fn signatures_of_digests_hold() {
    for v in manylane_vectors::sm2().digest_signatures {
        let key = key(&v.d);
        let signature = Signature::from_der(&v.der).unwrap();
        assert_eq!(key.public_key().verify_digest(&v.e, &signature), Ok(()), "{}", v.what);
        let ours = key.sign_digest(&v.e).unwrap();
        assert_eq!(key.public_key().verify_digest(&v.e, &ours), Ok(()), "{}", v.what);
    }
}

#[test]
fn bad_signatures_are_refused() {
    for v in manylane_vectors::sm2().bad_signatures {
        let refused = Signature::new(v.r, v.s)
            .and_then(|signature| key(&v.d).public_key().verify_digest(&v.e, &signature));
        assert_eq!(refused, Err(Error::Signature), "{}", v.what);
    }
}

/// Decrypts in every form, in place, and in parts.
#[track_caller]
fn decrypts(key: &SecretKey, parts: &Ciphertext<'_>, message: &[u8], what: &str) {
    for form in FORMS {
        let whole = parts.to_vec(form).unwrap();
        let decrypted = key.decrypt(form, &whole);
        assert_eq!(decrypted.as_deref().map(Vec::as_slice), Ok(message), "{form:?} {what}");
        // Whoever does not know the form finds it by trying.
        let start = &whole[..whole.len().min(MAX_HEAD_LEN)];
        let found =
            CiphertextForm::candidates(start).find(|form| key.decrypt(*form, &whole).is_ok());
        assert_eq!(found, Some(form), "{what}");
    }
    let mut data = parts.c2.to_vec();
    key.decrypt_in_place(&Sealed { c1: parts.c1, c3: parts.c3 }, &mut data).unwrap();
    assert_eq!(data, message, "{what}");
    let mut data = parts.c2.to_vec();
    let mut decryptor = Decryptor::new(key, &parts.c1).unwrap();
    for part in data.chunks_mut(77) {
        decryptor.update(part).unwrap();
    }
    assert_eq!(decryptor.finalize(&parts.c3), Ok(()), "{what}");
    assert_eq!(data, message, "{what}");
}

/// Refused in every form that can say it, and nothing is left of the message.
#[track_caller]
fn refuses(key: &SecretKey, parts: &Ciphertext<'_>, what: &str) {
    for form in FORMS {
        // Not every form can be written of what is no ciphertext.
        let whole = match parts.to_vec(form) {
            Ok(whole) => whole,
            Err(why) => {
                assert!(parts.c2.is_empty(), "{what}: {why}");
                continue;
            }
        };
        // Without the prefix a wrong one cannot be told.
        let refused = key.decrypt(form, &whole).unwrap_err();
        assert_eq!(refused, Error::Decryption, "{form:?} {what}");
    }
    let mut data = parts.c2.to_vec();
    let refused = key.decrypt_in_place(&Sealed { c1: parts.c1, c3: parts.c3 }, &mut data);
    assert_eq!(refused, Err(Error::Decryption), "{what}");
    assert!(data.iter().all(|byte| *byte == 0), "{what}");
}

#[test]
fn the_standards_ciphertext() {
    for v in manylane_vectors::sm2().encrypt_examples {
        let parts = Ciphertext { c1: v.c1, c3: v.c3, c2: &v.c2 };
        decrypts(&key(&v.d), &parts, &v.message, &v.source);
    }
}

#[test]
fn ciphertexts_decrypt() {
    for v in manylane_vectors::sm2().ciphertexts {
        if let C2::Whole { c2, .. } = &v.c2 {
            let parts = Ciphertext { c1: v.c1, c3: v.c3, c2 };
            decrypts(&key(&v.d), &parts, &v.message(), &v.what);
        }
    }
}

#[test]
fn bad_ciphertexts_are_refused() {
    for v in manylane_vectors::sm2().bad_ciphertexts {
        let parts = Ciphertext { c1: v.c1, c3: v.c3, c2: &v.c2 };
        // A form that leaves out or rewrites the first byte would put the right one there.
        if v.c1[0] == 0x04 {
            refuses(&key(&v.d), &parts, &v.what);
        } else {
            let sealed = Sealed { c1: v.c1, c3: v.c3 };
            let refused = key(&v.d).decrypt_in_place(&sealed, &mut v.c2.clone());
            assert_eq!(refused, Err(Error::Decryption), "{}", v.what);
        }
    }
}

/// A key stream of zeros would send the message itself: neither sent nor read.
#[test]
fn key_streams_of_zeros_are_refused() {
    for v in manylane_vectors::sm2().zero_kdf {
        let key = key(&v.d);
        let parts = Ciphertext { c1: v.c1, c3: v.c3, c2: &v.c2 };
        decrypts(&key, &parts, &v.message, "the next nonce");
        let parts = Ciphertext { c1: v.c1_refused, c3: v.c3_refused, c2: &v.message };
        refuses(&key, &parts, "t = 0");
    }
    // One in 256 nonces would do it: a thousand messages of one byte would show it about four times.
    let key = SecretKey::generate().unwrap();
    for i in 0..1000u32 {
        let message = [i as u8];
        let ciphertext = key.public_key().encrypt(CiphertextForm::Asn1, &message).unwrap();
        let parts = Ciphertext::parse(CiphertextForm::Asn1, &ciphertext).unwrap();
        assert_ne!(parts.c2, message);
        assert_eq!(key.decrypt(CiphertextForm::Asn1, &ciphertext).unwrap()[..], message);
    }
}

#[test]
fn an_empty_message_is_an_error() {
    let key = SecretKey::generate().unwrap();
    for form in FORMS {
        assert_eq!(key.public_key().encrypt(form, b""), Err(Error::MessageLength(0)));
    }
}

#[test]
fn ciphertexts_of_others_decrypt() {
    for (folder, secret, lengths) in [
        ("gmssl", "key.pem", &[1, 31, 32, 33, 200, 255][..]),
        ("tongsuo", "key.plain.pem", &[1, 32, 1000, 5000]),
    ] {
        let text = interop(&format!("{folder}/{secret}"));
        let key = SecretKey::decode(&text, Some(INTEROP_PASSWORD.as_bytes())).unwrap();
        let public = PublicKey::decode(&interop(&format!("{folder}/pub.pem"))).unwrap();
        assert_eq!(public, *key.public_key());
        for len in lengths {
            let der = interop(&format!("{folder}/m{len}.sm2cipher.der"));
            let parts = Ciphertext::parse(CiphertextForm::Asn1, &der).unwrap();
            let message = interop(&format!("{folder}/m{len}.bin"));
            decrypts(&key, &parts, &message, &format!("{folder} m{len}"));
            let mut altered = der.clone();
            *altered.last_mut().unwrap() ^= 1;
            let refused = key.decrypt(CiphertextForm::Asn1, &altered).unwrap_err();
            assert_eq!(refused, Error::Decryption);
        }
    }
}

/// Lengths of the messages of gmsm, Bouncy Castle and sm-crypto.
const LENGTHS: [usize; 5] = [1, 31, 32, 33, 300];

/// Signatures of a folder in DER, under both IDs.
fn verifies_all(folder: &str, key: &PublicKey) {
    for len in LENGTHS {
        for (name, id) in [("sig", DEFAULT_ID), ("id.sig", INTEROP_ID)] {
            let der = interop(&format!("{folder}/m{len}.{name}.der"));
            let signature = Signature::from_der(&der).unwrap();
            assert_eq!(signature.to_der(), der);
            assert_eq!(key.verify(id, &painted(len, 0), &signature), Ok(()), "{folder} m{len}");
            let refused = key.verify(b"another", &painted(len, 0), &signature);
            assert_eq!(refused, Err(Error::Signature));
        }
    }
}

/// Ciphertexts of a folder in one form.
fn decrypts_all(folder: &str, name: &str, form: CiphertextForm, key: &SecretKey) {
    for len in LENGTHS {
        let whole = interop(&format!("{folder}/m{len}.{name}"));
        let parts = Ciphertext::parse(form, &whole).unwrap();
        assert_eq!(parts.to_vec(form).unwrap(), whole);
        decrypts(key, &parts, &painted(len, 0), &format!("{folder} m{len}.{name}"));
    }
}

#[test]
fn gmsm() {
    let key = SecretKey::decode(&interop("gmsm/key.pem"), None).unwrap();
    assert_eq!(PublicKey::decode(&interop("gmsm/pub.pem")).unwrap(), *key.public_key());
    let again = SecretKey::decode(&interop("gmsm/key.sec1.pem"), None).unwrap();
    assert_eq!(*again.to_bytes(), *key.to_bytes());
    for cipher in ["sm4", "aes128", "aes256"] {
        for prf in ["sm3", "sha256"] {
            let text = interop(&format!("gmsm/key.{cipher}.{prf}.pem"));
            let opened = SecretKey::decode(&text, Some(INTEROP_PASSWORD.as_bytes())).unwrap();
            assert_eq!(*opened.to_bytes(), *key.to_bytes(), "{cipher} {prf}");
            assert_eq!(SecretKey::decode(&text, Some(b"")).unwrap_err(), Error::Password);
        }
    }
    verifies_all("gmsm", key.public_key());
    decrypts_all("gmsm", "sm2cipher.der", CiphertextForm::Asn1, &key);
    decrypts_all("gmsm", "c1c3c2.bin", CiphertextForm::C1C3C2 { prefix: true }, &key);
    decrypts_all("gmsm", "c1c2c3.bin", CiphertextForm::C1C2C3 { prefix: true }, &key);
}

#[test]
fn bouncy_castle() {
    let key = SecretKey::decode(&interop("bouncycastle/key.der"), None).unwrap();
    assert_eq!(PublicKey::decode(&interop("bouncycastle/pub.der")).unwrap(), *key.public_key());
    verifies_all("bouncycastle", key.public_key());
    decrypts_all("bouncycastle", "c1c3c2.bin", CiphertextForm::C1C3C2 { prefix: true }, &key);
    decrypts_all("bouncycastle", "c1c2c3.bin", CiphertextForm::C1C2C3 { prefix: true }, &key);
}

#[test]
fn sm_crypto() {
    let key = SecretKey::decode(&interop("sm-crypto/key.hex"), None).unwrap();
    for name in ["pub.hex", "pub.compressed.hex"] {
        let public = PublicKey::decode(&interop(&format!("sm-crypto/{name}"))).unwrap();
        assert_eq!(public, *key.public_key());
    }
    verifies_all("sm-crypto", key.public_key());
    for len in LENGTHS {
        for (name, id) in [("sig", DEFAULT_ID), ("id.sig", INTEROP_ID)] {
            let raw = interop(&format!("sm-crypto/m{len}.{name}.bin"));
            let signature = Signature::from_bytes(raw[..].try_into().unwrap()).unwrap();
            assert_eq!(key.public_key().verify(id, &painted(len, 0), &signature), Ok(()));
        }
    }
    decrypts_all("sm-crypto", "c1c3c2.bin", CiphertextForm::C1C3C2 { prefix: false }, &key);
    decrypts_all("sm-crypto", "c1c2c3.bin", CiphertextForm::C1C2C3 { prefix: false }, &key);
}

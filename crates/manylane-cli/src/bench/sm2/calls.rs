//! One operation at a time, as a server does them.

use super::{
    Call, CiphertextForm, Contender, Cores, Group, OPENSSL, OURS, OpenSslSm2, Operation, Rc,
    SecretKey, Work, key,
};

/// What is signed: a digest.
const E: [u8; 32] = [0x5a; 32];

/// What is encrypted: as long as a symmetric key.
const MESSAGE: [u8; 32] = [0xa5; 32];

/// Bytes that a ciphertext of it, or a signature, has at most in DER.
const ROOM: usize = 200;

/// An operation by us and by OpenSSL, where there is one, with a key and another party's.
type Operations = fn(SecretKey, SecretKey, Option<&'static OpenSslSm2>) -> (Call, Option<Call>);

pub(super) fn groups() -> Vec<Group> {
    // Signatures, ciphertexts and keys are random; so they are no output to compare.
    vec![
        group("sign", "sign a digest", false, sign),
        group("verify", "verify a digest", true, verify),
        group("ecdh", "Diffie-Hellman", true, ecdh),
        group("keygen", "generate a key", false, keygen),
        group("encrypt-32", "encrypt 32 B", false, encrypt),
        group("decrypt-32", "decrypt 32 B", true, decrypt),
    ]
}

fn group(name: &str, parameter: &str, same_output: bool, operations: Operations) -> Group {
    Group {
        id: format!("sm2/call/{name}"),
        part: "One SM2 operation at a time",
        parameter: parameter.to_owned(),
        unit: "operations",
        working_set: 0,
        base: Some(OPENSSL),
        pairs: Vec::new(),
        cores: Cores::One,
        effort: None,
        same_output,
        build: Box::new(move |rng| {
            let (ours, theirs) = operations(key(rng)?, key(rng)?, OpenSslSm2::get().ok());
            let contender = |name: &str, call| Contender {
                name: name.to_owned(),
                kernel: None,
                peer: name == OPENSSL,
                work: Work { bytes: 0, units: 1, counted_clocks: None },
                output: vec![0; ROOM],
                call,
            };
            let theirs = theirs.map(|call| contender(OPENSSL, call));
            Ok([contender(OURS, ours)].into_iter().chain(theirs).collect())
        }),
    }
}

fn sign(
    key: SecretKey,
    _: SecretKey,
    openssl: Option<&'static OpenSslSm2>,
) -> (Call, Option<Call>) {
    let theirs = openssl.map(|openssl| {
        let mut context = openssl.context(Operation::Sign, &key);
        Call::here(move |out| {
            context.sign(&E, out);
        })
    });
    let ours = Call::here(move |out| {
        let signature = key.sign_digest(&E).expect("random bytes");
        out[..64].copy_from_slice(&signature.to_bytes());
    });
    (ours, theirs)
}

fn verify(
    key: SecretKey,
    _: SecretKey,
    openssl: Option<&'static OpenSslSm2>,
) -> (Call, Option<Call>) {
    let signature = key.sign_digest(&E).expect("random bytes");
    let theirs = openssl.map(|openssl| {
        let (mut context, der) = (openssl.context(Operation::Verify, &key), signature.to_der());
        Call::here(move |out| out[0] = u8::from(context.verify(&E, &der)))
    });
    let ours = Call::here(move |out| {
        out[0] = u8::from(key.public_key().verify_digest(&E, &signature).is_ok());
    });
    (ours, theirs)
}

fn ecdh(
    key: SecretKey,
    other: SecretKey,
    openssl: Option<&'static OpenSslSm2>,
) -> (Call, Option<Call>) {
    let theirs = openssl.map(|openssl| {
        let mut multiplication = openssl.multiplication(&key, other.public_key());
        Call::here(move |out| {
            multiplication.x(out.first_chunk_mut().expect("room for a number"));
        })
    });
    let peer = *other.public_key();
    let ours = Call::here(move |out| out[..32].copy_from_slice(&*key.diffie_hellman(&peer)));
    (ours, theirs)
}

fn keygen(
    _: SecretKey,
    _: SecretKey,
    openssl: Option<&'static OpenSslSm2>,
) -> (Call, Option<Call>) {
    let theirs = openssl.map(|openssl| {
        let mut generator = openssl.generator();
        Call::here(move |_| generator.generate())
    });
    let ours = Call::here(|out| {
        let key = SecretKey::generate().expect("random bytes");
        out[..65].copy_from_slice(&key.public_key().to_sec1_bytes());
    });
    (ours, theirs)
}

fn encrypt(
    key: SecretKey,
    _: SecretKey,
    openssl: Option<&'static OpenSslSm2>,
) -> (Call, Option<Call>) {
    let theirs = openssl.map(|openssl| {
        let mut context = openssl.context(Operation::Encrypt, &key);
        Call::here(move |out| {
            context.encrypt(&MESSAGE, out);
        })
    });
    let ours = Call::here(move |out| {
        let c = key.public_key().encrypt(CiphertextForm::Asn1, &MESSAGE).expect("random bytes");
        out[..c.len()].copy_from_slice(&c);
    });
    (ours, theirs)
}

fn decrypt(
    key: SecretKey,
    _: SecretKey,
    openssl: Option<&'static OpenSslSm2>,
) -> (Call, Option<Call>) {
    let c = key.public_key().encrypt(CiphertextForm::Asn1, &MESSAGE).expect("random bytes");
    let c: Rc<[u8]> = c.into();
    let theirs = openssl.map(|openssl| {
        let (mut context, c) = (openssl.context(Operation::Decrypt, &key), Rc::clone(&c));
        Call::here(move |out| {
            context.decrypt(&c, &mut out[..MESSAGE.len()]);
        })
    });
    let ours = Call::here(move |out| {
        let message = key.decrypt(CiphertextForm::Asn1, &c).expect("our own");
        out[..message.len()].copy_from_slice(&message);
    });
    (ours, theirs)
}

//! Many messages at once: the same as one by one, and a bad one fails alone.

use manylane::{
    Error,
    sm2::{PublicKey, Sealed, SecretKey, decrypt_many, encrypt_many},
};
use manylane_vectors::painted;

fn keys(count: usize) -> Vec<SecretKey> {
    (0..count).map(|_| SecretKey::generate().unwrap()).collect()
}

fn slices(messages: &mut [Vec<u8>]) -> Vec<&mut [u8]> {
    messages.iter_mut().map(Vec::as_mut_slice).collect()
}

/// Encrypts all of `messages`, each to its own key.
fn encrypt(keys: &[&SecretKey], messages: &mut [Vec<u8>]) -> Vec<Result<Sealed, Error>> {
    let public: Vec<&PublicKey> = keys.iter().map(|key| key.public_key()).collect();
    let mut out = vec![Err(Error::Key); messages.len()];
    encrypt_many(&public, &mut slices(messages), &mut out).unwrap();
    out
}

fn decrypt(keys: &[&SecretKey], sealed: &[Sealed], data: &mut [Vec<u8>]) -> Vec<Result<(), Error>> {
    let mut out = vec![Err(Error::Key); data.len()];
    decrypt_many(keys, sealed, &mut slices(data), &mut out).unwrap();
    out
}

/// Both ways, against one by one.
fn check(messages: &[Vec<u8>]) {
    let own = keys(3);
    let keys: Vec<&SecretKey> = own.iter().cycle().take(messages.len()).collect();
    let mut data = messages.to_vec();
    let sealed: Vec<Sealed> = encrypt(&keys, &mut data).into_iter().map(Result::unwrap).collect();
    let c2 = data.clone();
    for ((sealed, data), (key, message)) in
        sealed.iter().zip(&mut data).zip(keys.iter().zip(messages))
    {
        key.decrypt_in_place(sealed, data).unwrap();
        assert!(data == message, "{} bytes of {}", message.len(), messages.len());
    }
    let mut data = c2;
    assert!(decrypt(&keys, &sealed, &mut data).iter().all(Result::is_ok));
    assert!(data == messages);
}

#[test]
fn counts_and_lengths() {
    for count in [0, 1, 2, 3, 15, 16, 17, 63, 64, 65, 130] {
        check(&(0..count).map(|i| painted(100, i)).collect::<Vec<_>>());
    }
    for len in [1, 31, 32, 33, 64, 95, 96, 97, 1000, 5000] {
        check(&(0..20).map(|i| painted(len, i)).collect::<Vec<_>>());
    }
    check(&(1..=200).map(|len| painted(len, len)).collect::<Vec<_>>());
    check(&(0..70).map(|i| painted(i * 7919 % 30_000 + 1, i)).collect::<Vec<_>>());
}

#[test]
fn a_bad_one_fails_alone() {
    let own = keys(1);
    let messages: Vec<Vec<u8>> = (0..24).map(|i| painted(i * 90 + 1, i)).collect();
    let keys = vec![&own[0]; messages.len()];
    let mut c2 = messages.clone();
    let mut sealed: Vec<Sealed> = encrypt(&keys, &mut c2).into_iter().map(Result::unwrap).collect();
    sealed[1].c1[40] ^= 1;
    sealed[5].c3[31] ^= 0x80;
    c2[9][800] ^= 1;
    c2[13].pop();
    c2[17].clear();
    let bad = [1, 5, 9, 13, 17];
    let out = decrypt(&keys, &sealed, &mut c2);
    for (i, (result, data)) in out.iter().zip(&c2).enumerate() {
        if bad.contains(&i) {
            assert_eq!(*result, Err(Error::Decryption), "{i}");
            assert!(data.iter().all(|&byte| byte == 0), "{i}: something is left");
        } else {
            assert_eq!((result, data), (&Ok(()), &messages[i]), "{i}");
        }
    }
    let mut data = messages.clone();
    data[7].clear();
    let out = encrypt(&keys, &mut data);
    assert_eq!(out.iter().filter(|result| result.is_err()).count(), 1);
    assert_eq!(out[7], Err(Error::MessageLength(0)));
}

#[test]
fn zero_key_streams() {
    for v in manylane_vectors::sm2().zero_kdf {
        let key = SecretKey::from_bytes(&v.d).unwrap();
        let good = Sealed { c1: v.c1, c3: v.c3 };
        let refused = Sealed { c1: v.c1_refused, c3: v.c3_refused };
        let sealed = [good, refused, good, refused];
        let mut data = [&v.c2, &v.message, &v.c2, &v.message].map(Clone::clone);
        let out = decrypt(&[&key; 4], &sealed, &mut data);
        let bad = Err(Error::Decryption);
        assert_eq!(out, [Ok(()), bad.clone(), Ok(()), bad]);
        assert_eq!(data, [v.message.clone(), vec![0], v.message, vec![0]]);
    }
}

/// One-byte messages meet a key stream of zero once in 256.
#[test]
fn nonces_are_drawn_again() {
    let own = keys(1);
    let messages = vec![vec![7]; 1500];
    let mut data = messages.clone();
    assert!(encrypt(&vec![&own[0]; 1500], &mut data).iter().all(Result::is_ok));
    assert!(data.iter().zip(&messages).all(|(c2, message)| c2 != message));
}

#[test]
fn counts_that_differ() {
    let key = SecretKey::generate().unwrap();
    let public = key.public_key();
    let mut message = *b"message";
    let sealed = public.encrypt_in_place(&mut message).unwrap();
    let before = message;
    let mut none: [Result<Sealed, Error>; 0] = [];
    let mismatch = encrypt_many(&[public; 2], &mut [&mut message], &mut none);
    assert_eq!(mismatch, Err(Error::CountMismatch { keys: 2, messages: 1 }));
    let length = encrypt_many(&[public], &mut [&mut message], &mut none);
    assert_eq!(length, Err(Error::OutputLength { expected: 1, got: 0 }));
    let mut out = [Ok(())];
    let mismatch = decrypt_many(&[&key], &[sealed; 2], &mut [&mut message], &mut out);
    assert_eq!(mismatch, Err(Error::CountMismatch { keys: 2, messages: 1 }));
    assert_eq!(message, before);
}

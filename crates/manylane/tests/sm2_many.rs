//! Many messages at once: the same as one by one, and a bad one fails alone.

use manylane::{
    Error, Messages,
    sm2::{
        DEFAULT_ID, PublicKey, Sealed, SecretKey, Signature, Signer, Verifier, decrypt_many,
        diffie_hellman_many, encrypt_many, generate_many, sign_digest_many, sign_many,
        verify_digest_many, verify_many,
    },
    sm3,
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

/// Signs all, each as its own user, and verifies each by itself.
fn sign(signers: &[&Signer<'_>], messages: &Messages<'_>) -> Vec<Signature> {
    let mut out = vec![Err(Error::Key); messages.len()];
    sign_many(signers, messages, &mut out).unwrap();
    out.into_iter().map(Result::unwrap).collect()
}

#[test]
fn signatures_of_any_number_and_length() {
    let own = keys(5);
    let id = |i: usize| painted(i * 3, i);
    let signers: Vec<Signer> = (0..own.len())
        .map(|i| Signer::new(&own[i], &id(i)).unwrap().verifying(i % 2 == 0))
        .collect();
    let verifiers: Vec<Verifier> =
        (0..own.len()).map(|i| Verifier::new(own[i].public_key(), &id(i)).unwrap()).collect();
    for (count, most) in [(0, 0), (1, 9), (2, 0), (7, 31), (8, 32), (9, 64), (64, 500), (200, 90)] {
        let messages: Vec<Vec<u8>> =
            (0..count).map(|i| painted(i * 7919 % (most + 1), i)).collect();
        let slices: Vec<&[u8]> = messages.iter().map(Vec::as_slice).collect();
        let slices = Messages::slices(&slices);
        let whose = |i: usize| i * 7 % 5;
        let of_all: Vec<&Signer> = (0..count).map(|i| &signers[whose(i)]).collect();
        let signatures = sign(&of_all, &slices);
        for (i, signature) in signatures.iter().enumerate() {
            let verified = verifiers[whose(i)].verify(&messages[i], signature);
            assert_eq!(verified, Ok(()), "{i} of {count}");
        }
        let of_all: Vec<&Verifier> = (0..count).map(|i| &verifiers[whose(i)]).collect();
        let mut out = vec![Err(Error::Key); count];
        verify_many(&of_all, &slices, &signatures, &mut out).unwrap();
        assert_eq!(out, vec![Ok(()); count]);
        // Somebody else's, and a message that was not signed.
        let others: Vec<&Verifier> =
            (0..count).map(|i| &verifiers[(whose(i) + usize::from(i % 3 == 0)) % 5]).collect();
        verify_many(&others, &slices, &signatures, &mut out).unwrap();
        for (i, result) in out.iter().enumerate() {
            assert_eq!(result.is_err(), i % 3 == 0, "{i} of {count}: {result:?}");
        }
    }
}

/// Every bit of what is verified counts, and only for the signature that it belongs to.
#[test]
fn a_bad_signature_fails_alone() {
    let own = keys(3);
    let count = 100;
    let key = |i: usize| &own[i % 3];
    let e: Vec<[u8; 32]> = (0..count).map(|i| sm3::hash(&painted(i, i))).collect();
    let secret: Vec<&SecretKey> = (0..count).map(key).collect();
    let public: Vec<&PublicKey> = (0..count).map(|i| key(i).public_key()).collect();
    let mut out = vec![Err(Error::Key); count];
    sign_digest_many(&secret, &e, &mut out).unwrap();
    let good: Vec<Signature> = out.into_iter().map(Result::unwrap).collect();
    // A nonce is used once.
    let again = secret[0].sign_digest(&e[0]).unwrap();
    assert!(good[1..].iter().chain([&again]).all(|signature| signature.r() != good[0].r()));

    for bit in (0..512).step_by(11) {
        let mut signatures = good.clone();
        let mut digests = e.clone();
        let mut bytes = good[bit % count].to_bytes();
        bytes[bit / 8] ^= 1 << (bit % 8);
        // One out of range is none.
        let bad = Signature::from_bytes(&bytes);
        if let Ok(bad) = &bad {
            signatures[bit % count] = *bad;
        }
        digests[(bit + 1) % count][bit / 16] ^= 1 << (bit % 8);
        let mut out = vec![Err(Error::Key); count];
        verify_digest_many(&public, &digests, &signatures, &mut out).unwrap();
        for (i, out) in out.iter().enumerate() {
            let is_bad = i == (bit + 1) % count || i == bit % count && bad.is_ok();
            let expected = if is_bad { Err(Error::Signature) } else { Ok(()) };
            assert_eq!(*out, expected, "{i}, bit {bit}");
            assert_eq!(public[i].verify_digest(&digests[i], &signatures[i]), expected);
        }
    }
}

#[test]
fn signatures_of_the_vectors() {
    let vectors = manylane_vectors::sm2();
    let good = vectors.digest_signatures.iter().map(|v| (&v.what, v.d, v.e, v.r, v.s, true));
    let bad = vectors.bad_signatures.iter().map(|v| (&v.what, v.d, v.e, v.r, v.s, false));
    for (what, d, e, r, s, is_good) in good.chain(bad) {
        let key = SecretKey::from_bytes(&d).unwrap();
        // Out of range: there is no such signature.
        let Ok(signature) = Signature::new(r, s) else {
            assert!(!is_good, "{what}");
            continue;
        };
        let mut out = vec![Err(Error::Key); 9];
        verify_digest_many(&[key.public_key(); 9], &[e; 9], &vec![signature; 9], &mut out).unwrap();
        let expected = if is_good { Ok(()) } else { Err(Error::Signature) };
        assert_eq!(out, vec![expected; 9], "{what}");
    }
}

#[test]
fn counts_of_signatures_must_agree() {
    let own = keys(1);
    let signer = Signer::new(&own[0], DEFAULT_ID).unwrap();
    let verifier = Verifier::new(own[0].public_key(), DEFAULT_ID).unwrap();
    let messages = Messages::slices(&[b"one", b"two"]);
    let mut out = vec![Err(Error::Key); 2];
    let mismatch = |keys, messages| Err(Error::CountMismatch { keys, messages });
    assert_eq!(sign_many(&[&signer], &messages, &mut out), mismatch(1, 2));
    let short = sign_many(&[&signer; 2], &messages, &mut out[..1]);
    assert_eq!(short, Err(Error::OutputLength { expected: 2, got: 1 }));
    assert_eq!(out, vec![Err(Error::Key); 2]);
    let signature = own[0].sign(DEFAULT_ID, b"one").unwrap();
    let mut out = vec![Err(Error::Key); 2];
    let one = verify_many(&[&verifier; 2], &messages, &[signature], &mut out);
    assert_eq!(one, mismatch(1, 2));
    let digests = verify_digest_many(&[own[0].public_key(); 2], &[[0; 32]], &[signature], &mut out);
    assert_eq!(digests, mismatch(2, 1));
    assert_eq!(out, vec![Err(Error::Key); 2]);
}

#[test]
fn many_keys_are_made_and_agree() {
    for count in [0, 1, 2, 9, 64, 130] {
        let own = generate_many(count).unwrap();
        assert_eq!(own.len(), count);
        let keys: Vec<&SecretKey> = own.iter().collect();
        let peers: Vec<&PublicKey> = own.iter().rev().map(SecretKey::public_key).collect();
        let mut shared = vec![[0; 32]; count];
        diffie_hellman_many(&keys, &peers, &mut shared).unwrap();
        for (i, key) in own.iter().enumerate() {
            assert_eq!(shared[i], *key.diffie_hellman(peers[i]), "{i} of {count}");
            let signature = key.sign(DEFAULT_ID, b"message").unwrap();
            assert_eq!(key.public_key().verify(DEFAULT_ID, b"message", &signature), Ok(()));
            // No two are the same, and each agrees with its peer.
            assert!(own[..i].iter().all(|other| other.to_bytes() != key.to_bytes()));
            assert_eq!(shared[i], shared[count - 1 - i]);
        }
    }
    let mut out = [[7; 32]; 2];
    let key = SecretKey::generate().unwrap();
    let short = diffie_hellman_many(&[&key; 3], &[key.public_key(); 3], &mut out);
    assert_eq!((short, out), (Err(Error::OutputLength { expected: 3, got: 2 }), [[7; 32]; 2]));
    for v in manylane_vectors::sm2().ecdh {
        let [d, e] = [v.d, v.e].map(|number| SecretKey::from_bytes(&number).unwrap());
        diffie_hellman_many(&[&d, &e], &[e.public_key(), d.public_key()], &mut out).unwrap();
        assert_eq!(out, [v.x; 2]);
    }
}

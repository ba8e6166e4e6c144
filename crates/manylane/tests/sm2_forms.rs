//! Every form in which SM2 signatures and ciphertexts cross between implementations.

use manylane::{
    Error,
    sm2::{
        Ciphertext, CiphertextForm, DEFAULT_ID, MAX_HEAD_LEN, PublicKey, ReadHead, SecretKey,
        Signature,
    },
};
use manylane_vectors::sm2::{C2, INTEROP_ID, interop};
use proptest::prelude::*;

const FORMS: [CiphertextForm; 5] = [
    CiphertextForm::Asn1,
    CiphertextForm::C1C3C2 { prefix: true },
    CiphertextForm::C1C3C2 { prefix: false },
    CiphertextForm::C1C2C3 { prefix: true },
    CiphertextForm::C1C2C3 { prefix: false },
];

#[track_caller]
fn is_encoding<T: std::fmt::Debug>(result: Result<T, Error>, what: &str) {
    assert!(matches!(result, Err(Error::Encoding(_))), "{what}: {result:?}");
}

/// A signature in all its forms and back.
#[track_caller]
fn every_form(r: &[u8; 32], s: &[u8; 32], der: &[u8], what: &str) {
    let signature = Signature::new(*r, *s).unwrap();
    assert_eq!(signature.to_der(), der, "{what}");
    assert_eq!(Signature::from_der(der), Ok(signature), "{what}");
    let raw = [&r[..], s].concat();
    assert_eq!(signature.to_bytes()[..], raw, "{what}");
    assert_eq!(Signature::from_bytes(raw[..].try_into().unwrap()), Ok(signature), "{what}");
    let skf = [&[0; 32], &r[..], &[0; 32], s].concat();
    assert_eq!(signature.to_skf_bytes()[..], skf, "{what}");
    assert_eq!(Signature::from_skf_bytes(skf[..].try_into().unwrap()), Ok(signature), "{what}");
}

#[test]
fn signatures_in_every_form() {
    let vectors = manylane_vectors::sm2();
    for v in &vectors.signatures {
        every_form(&v.r, &v.s, &v.der, &v.what);
    }
    for v in &vectors.digest_signatures {
        every_form(&v.r, &v.s, &v.der, &v.what);
    }
}

#[test]
fn malformed_signatures_are_refused() {
    let n = manylane_vectors::sm2().curve.n;
    for bad in manylane_vectors::sm2().bad_signature_der {
        let refused = Signature::from_der(&bad.der).unwrap_err();
        // In DER, and yet no signature: 0 and n to 2^256 - 1.
        let range = ["r = 0", "s = 0", "r = n", "s = n", "s = 2^256 - 1"].contains(&&*bad.what);
        match refused {
            Error::Signature => assert!(range, "{}", bad.what),
            Error::Encoding(_) => assert!(!range, "{}", bad.what),
            other => panic!("{}: {other:?}", bad.what),
        }
    }
    let good = manylane_vectors::sm2().signatures.remove(0);
    let mut skf = Signature::new(good.r, good.s).unwrap().to_skf_bytes();
    for at in (0..32).chain(64..96) {
        skf[at] = 1;
        is_encoding(Signature::from_skf_bytes(&skf), "what fills is not zero");
        skf[at] = 0;
    }
    for (r, s) in [(n, good.s), (good.r, n), ([0; 32], good.s), (good.r, [0; 32])] {
        assert_eq!(Signature::new(r, s), Err(Error::Signature));
        assert_eq!(
            Signature::from_bytes([r, s].as_flattened().try_into().unwrap()),
            Err(Error::Signature)
        );
    }
    // r + s = n holds for no message.
    for bad in manylane_vectors::sm2().bad_signatures {
        if bad.what.starts_with("r + s = n") {
            assert_eq!(Signature::new(bad.r, bad.s), Err(Error::Signature), "{}", bad.what);
        }
    }
}

#[test]
fn damaged_signatures() {
    let good = manylane_vectors::sm2().signatures.remove(0);
    let signature = Signature::from_der(&good.der).unwrap();
    for len in 0..good.der.len() {
        is_encoding(Signature::from_der(&good.der[..len]), "cut off");
    }
    for at in 0..good.der.len() {
        for bit in 0..8 {
            let mut altered = good.der.clone();
            altered[at] ^= 1 << bit;
            if let Ok(other) = Signature::from_der(&altered) {
                assert_ne!(other, signature, "bit {bit} of byte {at}");
                assert_eq!(other.to_der(), altered, "one signature, one encoding");
            }
        }
    }
}

#[test]
fn signatures_of_others() {
    for (folder, public, message) in [("gmssl", "pub.pem", "m200"), ("tongsuo", "pub.pem", "m1000")]
    {
        let key = PublicKey::decode(&interop(&format!("{folder}/{public}"))).unwrap();
        let text = interop(&format!("{folder}/{message}.bin"));
        for (name, id) in [("sig", DEFAULT_ID), ("id.sig", INTEROP_ID)] {
            let der = interop(&format!("{folder}/{message}.{name}.der"));
            let signature = Signature::from_der(&der).unwrap();
            assert_eq!(signature.to_der(), der);
            assert_eq!(key.verify(id, &text, &signature), Ok(()), "{folder} {name}");
            let other = if id == INTEROP_ID { DEFAULT_ID } else { INTEROP_ID };
            for id in [other, b""] {
                assert_eq!(key.verify(id, &text, &signature), Err(Error::Signature));
            }
        }
    }
}

/// The parts of one form, read whole and as the beginning of a stream.
#[track_caller]
fn parse(form: CiphertextForm, bytes: &[u8]) -> Ciphertext<'_> {
    let whole = Ciphertext::parse(form, bytes).unwrap();
    let start = &bytes[..bytes.len().min(MAX_HEAD_LEN)];
    let head = form.read_head(start).unwrap();
    let ReadHead { c1, c3, c2_len, len } = head;
    assert_eq!(c1, whole.c1);
    assert!(c3.is_none_or(|c3| c3 == whole.c3));
    assert!(c2_len.is_none_or(|length| length == whole.c2.len() as u64));
    let tail = if c3.is_some() { 0 } else { 32 };
    assert_eq!(bytes[len..bytes.len() - tail], *whole.c2);
    whole
}

#[test]
fn ciphertexts_in_every_form() {
    let mut long = 0;
    for v in manylane_vectors::sm2().ciphertexts {
        let C2::Whole { c2, der } = &v.c2 else {
            long += 1;
            continue;
        };
        let parts = Ciphertext { c1: v.c1, c3: v.c3, c2 };
        let expected = [
            der.clone(),
            [&v.c1[..], &v.c3, c2].concat(),
            [&v.c1[1..], &v.c3, c2].concat(),
            [&v.c1[..], c2, &v.c3].concat(),
            [&v.c1[1..], c2, &v.c3].concat(),
        ];
        for (form, bytes) in FORMS.into_iter().zip(&expected) {
            assert_eq!(parts.to_vec(form).unwrap(), *bytes, "{form:?} {}", v.what);
            assert_eq!(parse(form, bytes), parts, "{form:?} {}", v.what);
            assert_eq!(form.encoded_len(&v.c1, c2.len() as u64), Ok(bytes.len() as u64));
        }
    }
    assert!(long >= 3);
}

/// Lengths that no test can hold in memory.
#[test]
fn heads_of_every_length() {
    let c1 = manylane_vectors::sm2().ciphertexts.remove(0).c1;
    let largest = 32 * u64::from(u32::MAX);
    let edges = (0..37).flat_map(|bits| [(1 << bits) - 1, 1 << bits, (1 << bits) + 1]);
    for length in edges.chain([largest - 1, largest]).filter(|length| *length > 0) {
        for form in FORMS {
            let mut head = form.head(&c1, length).unwrap();
            let zeros = head.as_bytes().to_vec();
            head.set_c3(&[0xc3; 32]);
            let bytes = head.as_bytes();
            assert!(bytes.len() <= MAX_HEAD_LEN);
            match head.c3_offset() {
                Some(at) => {
                    assert_eq!(bytes[at..at + 32], [0xc3; 32]);
                    assert_eq!(zeros[at..at + 32], [0; 32]);
                    assert_eq!(
                        (&zeros[..at], &zeros[at + 32..]),
                        (&bytes[..at], &bytes[at + 32..])
                    );
                }
                None => assert_eq!(bytes, zeros),
            }
            let tail = if head.c3_offset().is_some() { 0 } else { 32 };
            assert_eq!(form.encoded_len(&c1, length), Ok(bytes.len() as u64 + length + tail));
            // As a reader sees it, with the first bytes of what follows.
            let read = form.read_head(&[bytes, &[0xc2; 33]].concat()).unwrap();
            assert_eq!((read.c1, read.len), (c1, bytes.len()));
            let asn1 = form == CiphertextForm::Asn1;
            assert_eq!(read.c2_len, asn1.then_some(length));
            assert_eq!(read.c3, head.c3_offset().map(|_| [0xc3; 32]));
        }
    }
    for form in FORMS {
        for length in [0, largest + 1, u64::MAX] {
            assert_eq!(form.head(&c1, length).unwrap_err(), Error::MessageLength(length));
        }
    }
}

#[test]
fn malformed_ciphertexts_are_refused() {
    for bad in manylane_vectors::sm2().bad_ciphertext_der {
        match Ciphertext::parse(CiphertextForm::Asn1, &bad.der) {
            // DER, but of no point.
            Ok(parts) => {
                assert!(["X = p", "Y = p"].contains(&&*bad.what), "{}", bad.what);
                assert_eq!(PublicKey::from_sec1_bytes(&parts.c1), Err(Error::Key));
            }
            refused => is_encoding(refused, &bad.what),
        }
    }
    let C2::Whole { c2, der } = manylane_vectors::sm2().ciphertexts.remove(2).c2 else { panic!() };
    for len in 0..der.len() {
        is_encoding(Ciphertext::parse(CiphertextForm::Asn1, &der[..len]), "cut off");
    }
    for at in 0..der.len() - c2.len() {
        for bit in 0..8 {
            let mut altered = der.clone();
            altered[at] ^= 1 << bit;
            if let Ok(parts) = Ciphertext::parse(CiphertextForm::Asn1, &altered) {
                assert_eq!(parts.to_vec(CiphertextForm::Asn1).unwrap(), altered, "byte {at}");
            }
        }
    }
    for form in &FORMS[1..] {
        let whole = Ciphertext::parse(CiphertextForm::Asn1, &der).unwrap().to_vec(*form).unwrap();
        for len in 0..whole.len() - c2.len() + 1 {
            is_encoding(Ciphertext::parse(*form, &whole[..len]), "no C2 left");
        }
    }
    // The first byte says how the point is written.
    let raw = [&[0x02], &[1; 64][..], &[2; 32], &[3; 10]].concat();
    is_encoding(Ciphertext::parse(FORMS[1], &raw), "02 before 64 bytes");
    is_encoding(Ciphertext::parse(FORMS[3], &raw), "02 before 64 bytes");
}

#[test]
fn ciphertexts_of_others() {
    for (folder, lengths) in
        [("gmssl", &[1, 31, 32, 33, 200, 255][..]), ("tongsuo", &[1, 32, 1000, 5000])]
    {
        for &len in lengths {
            let message = interop(&format!("{folder}/m{len}.bin"));
            let der = interop(&format!("{folder}/m{len}.sm2cipher.der"));
            let parts = parse(CiphertextForm::Asn1, &der);
            assert_eq!(parts.c2.len(), len);
            assert_eq!(message.len(), len);
            assert!(PublicKey::from_sec1_bytes(&parts.c1).is_ok());
            assert_eq!(parts.to_vec(CiphertextForm::Asn1).unwrap(), der);
        }
    }
}

proptest! {
    #[test]
    fn any_bytes_to_any_parser(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        if let Ok(signature) = Signature::from_der(&bytes) {
            prop_assert_eq!(signature.to_der(), &bytes[..]);
        }
        for form in FORMS {
            if let Ok(parts) = Ciphertext::parse(form, &bytes) {
                prop_assert_eq!(parts.to_vec(form).unwrap(), &bytes[..]);
            }
        }
        let _ = SecretKey::decode(&bytes, Some(b"password"));
        let _ = PublicKey::decode(&bytes);
    }

    #[test]
    fn any_signature(r in any::<[u8; 32]>(), s in any::<[u8; 32]>(), zeros in 0..32usize) {
        let (mut r, mut s) = (r, s);
        r[..zeros].fill(0);
        s[..31 - zeros].fill(0);
        if let Ok(signature) = Signature::new(r, s) {
            prop_assert_eq!(Signature::from_der(&signature.to_der()), Ok(signature));
            prop_assert_eq!(Signature::from_bytes(&signature.to_bytes()), Ok(signature));
            prop_assert_eq!(Signature::from_skf_bytes(&signature.to_skf_bytes()), Ok(signature));
        }
    }
}

/// Numbers that look random and are the same every time.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// A number of 32 bytes; one in four begins with zeros, for that is where others failed.
    fn number(&mut self) -> [u8; 32] {
        let mut number = [0; 32];
        for word in number.as_chunks_mut().0 {
            *word = self.next().to_be_bytes();
        }
        let dice = self.next();
        if dice.is_multiple_of(4) {
            number[..1 + (dice >> 8) as usize % 31].fill(0);
        }
        number
    }
}

/// Cases of each form.
const CASES: usize = 100_000;

#[test]
fn random_signatures_in_every_form() {
    let mut random = Random(1);
    let mut cases = 0;
    while cases < CASES {
        let Ok(signature) = Signature::new(random.number(), random.number()) else { continue };
        cases += 1;
        let (der, skf) = (signature.to_der(), signature.to_skf_bytes());
        assert_eq!(Signature::from_der(&der), Ok(signature));
        assert_eq!(Signature::from_bytes(&signature.to_bytes()), Ok(signature));
        assert_eq!(Signature::from_skf_bytes(&skf), Ok(signature));
    }
}

#[test]
fn random_ciphertexts_in_every_form() {
    let mut random = Random(2);
    let text = manylane_vectors::painted(600, 7);
    for _ in 0..CASES {
        let mut c1 = [0x04; 65];
        c1[1..33].copy_from_slice(&random.number());
        c1[33..].copy_from_slice(&random.number());
        // C2's length moves what DER's lengths need.
        let most = if random.next().is_multiple_of(8) { 600 } else { 60 };
        let len = 1 + random.next() as usize % most;
        let parts = Ciphertext { c1, c3: random.number(), c2: &text[..len] };
        for form in FORMS {
            let bytes = parts.to_vec(form).unwrap();
            assert_eq!(Ciphertext::parse(form, &bytes).as_ref(), Ok(&parts), "{form:?}");
        }
    }
}

/// A key and its point through every form.
fn round_trips(key: &SecretKey) {
    let (number, public) = (key.to_bytes(), key.public_key());
    for again in [
        SecretKey::from_sec1_der(&key.to_sec1_der()),
        SecretKey::from_pkcs8_der(&key.to_pkcs8_der()),
        SecretKey::from_pem(key.to_sec1_pem().as_bytes(), None),
        SecretKey::from_pem(key.to_pkcs8_pem().as_bytes(), None),
        SecretKey::from_hex(key.to_hex().as_bytes()),
    ] {
        assert_eq!(*again.unwrap().to_bytes(), *number);
    }
    for again in [
        PublicKey::from_sec1_bytes(&public.to_sec1_bytes()),
        PublicKey::from_sec1_bytes(&public.to_sec1_bytes()[1..]),
        PublicKey::from_sec1_bytes(&public.to_compressed()),
        PublicKey::from_spki_der(&public.to_spki_der()),
        PublicKey::from_pem(public.to_pem().as_bytes()),
        PublicKey::from_hex(public.to_hex().as_bytes()),
    ] {
        assert_eq!(again.as_ref(), Ok(public));
    }
}

fn random_keys(count: usize) {
    let mut random = Random(3);
    let mut cases = 0;
    while cases < count {
        let Ok(key) = SecretKey::from_bytes(&random.number()) else { continue };
        round_trips(&key);
        cases += 1;
    }
}

#[test]
fn random_keys_in_every_form() {
    random_keys(2000);
}

/// Every key is a multiple of G, and every form that is read makes one more.
#[test]
#[ignore = "minutes without optimisation; half a minute with it, by `cargo xtask long`"]
fn a_hundred_thousand_random_keys_in_every_form() {
    random_keys(CASES);
}

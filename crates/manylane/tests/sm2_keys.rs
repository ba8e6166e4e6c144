//! Every form in which SM2 keys cross between implementations, read and written.

use std::fmt::Write as _;

use manylane::{
    Error,
    sm2::{KeyCipher, KeyEncryption, MAX_ITERATIONS, Prf, PublicKey, SecretKey},
};
use manylane_vectors::sm2::{INTEROP_PASSWORD, KeyPair, interop};

const PASSWORD: &[u8] = INTEROP_PASSWORD.as_bytes();

const EC_PUBLIC_KEY: &[u8] = &[0x06, 7, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01];
const CURVE: &[u8] = &[0x06, 8, 0x2a, 0x81, 0x1c, 0xcf, 0x55, 0x01, 0x82, 0x2d];
const P256: &[u8] = &[0x06, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07];
const NULL: &[u8] = &[0x05, 0];

fn tlv(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let content = parts.concat();
    let length: &[u8] = match content.len() {
        0..0x80 => &[content.len() as u8],
        0x80..0x100 => &[0x81, content.len() as u8],
        _ => &[0x82, (content.len() >> 8) as u8, content.len() as u8],
    };
    [&[tag], length, &content].concat()
}

fn bit_string(content: &[u8]) -> Vec<u8> {
    tlv(0x03, &[&[0], content])
}

/// ECPrivateKey of parts that may be missing.
fn sec1(d: &[u8], curve: Option<&[u8]>, point: Option<&[u8]>) -> Vec<u8> {
    let curve = curve.map_or(vec![], |curve| tlv(0xa0, &[curve]));
    let point = point.map_or(vec![], |point| tlv(0xa1, &[&bit_string(point)]));
    tlv(0x30, &[&[2, 1, 1], &tlv(4, &[d]), &curve, &point])
}

fn pkcs8(algorithm: &[&[u8]], key: &[u8]) -> Vec<u8> {
    tlv(0x30, &[&[2, 1, 0], &tlv(0x30, algorithm), &tlv(4, &[key])])
}

fn spki(algorithm: &[&[u8]], point: &[u8]) -> Vec<u8> {
    tlv(0x30, &[&tlv(0x30, algorithm), &bit_string(point)])
}

fn pem(label: &str, der: &[u8]) -> String {
    let digits = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut base64 = String::new();
    for three in der.chunks(3) {
        let word = (0..3).fold(0, |word, i| word << 8 | usize::from(*three.get(i).unwrap_or(&0)));
        for i in 0..4 {
            let digit = char::from(digits[word >> (18 - 6 * i) & 63]);
            base64.push(if i <= three.len() { digit } else { '=' });
        }
    }
    let mut text = format!("-----BEGIN {label}-----\n");
    for line in base64.as_bytes().chunks(64) {
        writeln!(text, "{}", str::from_utf8(line).unwrap()).unwrap();
    }
    text + &format!("-----END {label}-----\n")
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn pairs() -> impl Iterator<Item = (KeyPair, SecretKey)> {
    manylane_vectors::sm2().keys.into_iter().map(|pair| {
        let key = SecretKey::from_bytes(&pair.d).unwrap();
        (pair, key)
    })
}

fn one() -> (KeyPair, SecretKey) {
    pairs().find(|(pair, _)| pair.what == "seed 0").unwrap()
}

#[track_caller]
fn same(key: Result<SecretKey, Error>, pair: &KeyPair) {
    let key = key.unwrap_or_else(|why| panic!("{}: {why}", pair.what));
    assert_eq!(*key.to_bytes(), pair.d, "{}", pair.what);
    assert_eq!(key.public_key().to_sec1_bytes(), pair.point, "{}", pair.what);
}

#[track_caller]
fn same_public(key: Result<PublicKey, Error>, pair: &KeyPair) {
    let key = key.unwrap_or_else(|why| panic!("{}: {why}", pair.what));
    assert_eq!(key.to_sec1_bytes(), pair.point, "{}", pair.what);
    assert_eq!(key.to_compressed(), pair.compressed, "{}", pair.what);
}

#[track_caller]
fn is_encoding<T: std::fmt::Debug>(result: Result<T, Error>) {
    assert!(matches!(result, Err(Error::Encoding(_))), "{result:?}");
}

#[test]
fn public_keys_are_those_of_the_vectors() {
    for (pair, key) in pairs() {
        same(Ok(key), &pair);
    }
}

#[test]
fn points_in_every_form() {
    for (pair, key) in pairs() {
        for form in [&pair.point[..], &pair.compressed, &pair.point[1..]] {
            same_public(PublicKey::from_sec1_bytes(form), &pair);
            same_public(PublicKey::decode(form), &pair);
            for digits in [hex(form), hex(form).to_uppercase(), format!(" {}\r\n", hex(form))] {
                same_public(PublicKey::from_hex(digits.as_bytes()), &pair);
                same_public(PublicKey::decode(digits.as_bytes()), &pair);
            }
        }
        assert_eq!(key.public_key().to_hex(), hex(&pair.point));
    }
}

#[test]
fn bad_points_are_refused_in_every_form() {
    for bad in manylane_vectors::sm2().bad_points {
        let what = &bad.what;
        assert_eq!(PublicKey::from_sec1_bytes(&bad.bytes), Err(Error::Key), "{what}");
        assert!(PublicKey::from_hex(hex(&bad.bytes).as_bytes()).is_err(), "{what}");
        assert!(PublicKey::decode(&bad.bytes).is_err(), "{what}");
        let der = spki(&[EC_PUBLIC_KEY, CURVE], &bad.bytes);
        assert_eq!(PublicKey::from_spki_der(&der), Err(Error::Key), "{what}");
        let (pair, _) = one();
        let der = sec1(&pair.d, None, Some(&bad.bytes));
        assert_eq!(SecretKey::from_sec1_der(&der).unwrap_err(), Error::Key, "{what}");
    }
    for bad in ["", "0", &"0".repeat(127), &"g".repeat(128), &"0".repeat(132)] {
        is_encoding(PublicKey::from_hex(bad.as_bytes()));
    }
}

#[test]
fn spki_both_ways() {
    for (pair, key) in pairs() {
        let der = spki(&[EC_PUBLIC_KEY, CURVE], &pair.point);
        assert_eq!(key.public_key().to_spki_der(), der);
        assert_eq!(key.public_key().to_pem(), pem("PUBLIC KEY", &der));
        for point in [&pair.point[..], &pair.compressed] {
            for algorithm in
                [&[EC_PUBLIC_KEY, CURVE][..], &[CURVE], &[CURVE, NULL], &[CURVE, CURVE]]
            {
                let der = spki(algorithm, point);
                same_public(PublicKey::from_spki_der(&der), &pair);
                same_public(PublicKey::decode(&der), &pair);
                same_public(PublicKey::decode(pem("PUBLIC KEY", &der).as_bytes()), &pair);
            }
        }
    }
    let (pair, _) = one();
    for algorithm in [
        &[EC_PUBLIC_KEY, P256][..],
        &[EC_PUBLIC_KEY],
        &[EC_PUBLIC_KEY, NULL],
        &[P256, CURVE],
        &[CURVE, P256],
        &[],
        &[EC_PUBLIC_KEY, CURVE, CURVE],
    ] {
        is_encoding(PublicKey::from_spki_der(&spki(algorithm, &pair.point)));
    }
    // x ‖ y alone is no point there, and neither are bits that are no bytes.
    let short = spki(&[EC_PUBLIC_KEY, CURVE], &pair.point[1..]);
    assert_eq!(PublicKey::from_spki_der(&short), Err(Error::Key));
    let mut bits = spki(&[EC_PUBLIC_KEY, CURVE], &pair.point);
    let unused = bits.len() - 66;
    assert_eq!(bits[unused], 0);
    bits[unused] = 1;
    assert!(PublicKey::from_spki_der(&bits).is_err());
}

#[test]
fn secret_keys_in_every_form() {
    for (pair, key) in pairs() {
        let full = sec1(&pair.d, Some(CURVE), Some(&pair.point));
        assert_eq!(**key.to_sec1_der(), full);
        assert_eq!(**key.to_sec1_pem(), pem("EC PRIVATE KEY", &full));
        let info = pkcs8(&[EC_PUBLIC_KEY, CURVE], &full);
        assert_eq!(**key.to_pkcs8_der(), info);
        assert_eq!(**key.to_pkcs8_pem(), pem("PRIVATE KEY", &info));
        assert_eq!(**key.to_hex(), hex(&pair.d));

        for curve in [None, Some(CURVE)] {
            for point in [None, Some(&pair.point[..]), Some(&pair.compressed[..])] {
                let inner = sec1(&pair.d, curve, point);
                same(SecretKey::from_sec1_der(&inner), &pair);
                same(SecretKey::decode(&inner, None), &pair);
                same(SecretKey::decode(pem("EC PRIVATE KEY", &inner).as_bytes(), None), &pair);
                for algorithm in
                    [&[EC_PUBLIC_KEY, CURVE][..], &[CURVE], &[CURVE, NULL], &[CURVE, CURVE]]
                {
                    let der = pkcs8(algorithm, &inner);
                    same(SecretKey::from_pkcs8_der(&der), &pair);
                    same(SecretKey::decode(&der, Some(b"unused")), &pair);
                    same(SecretKey::decode(pem("PRIVATE KEY", &der).as_bytes(), None), &pair);
                }
            }
        }
        for digits in [hex(&pair.d), hex(&pair.d).to_uppercase(), format!("\t{}\n", hex(&pair.d))] {
            same(SecretKey::from_hex(digits.as_bytes()), &pair);
            same(SecretKey::decode(digits.as_bytes(), None), &pair);
        }
        // As some write it: without leading zeros, or with the zero of a positive INTEGER.
        let zeros = pair.d.iter().take_while(|byte| **byte == 0).count();
        same(SecretKey::from_sec1_der(&sec1(&pair.d[zeros..], None, None)), &pair);
        same(SecretKey::from_sec1_der(&sec1(&[&[0], &pair.d[..]].concat(), None, None)), &pair);
    }
}

#[test]
fn pkcs8_of_version_2() {
    let (pair, other) = (one().0, manylane_vectors::sm2().keys.remove(0));
    let info = |version: u8, point: Option<&[u8]>| {
        let algorithm = tlv(0x30, &[EC_PUBLIC_KEY, CURVE]);
        let key = tlv(4, &[&sec1(&pair.d, None, None)]);
        let attributes = tlv(0xa0, &[]);
        let point = point.map_or(vec![], |point| tlv(0x81, &[&[0], point]));
        tlv(0x30, &[&[2, 1, version], &algorithm, &key, &attributes, &point])
    };
    same(SecretKey::from_pkcs8_der(&info(0, None)), &pair);
    same(SecretKey::from_pkcs8_der(&info(1, Some(&pair.point))), &pair);
    is_encoding(SecretKey::from_pkcs8_der(&info(0, Some(&pair.point))));
    is_encoding(SecretKey::from_pkcs8_der(&info(2, Some(&pair.point))));
    let wrong = SecretKey::from_pkcs8_der(&info(1, Some(&other.point)));
    assert_eq!(wrong.unwrap_err(), Error::Key);
}

#[test]
fn numbers_out_of_range_are_refused_in_every_form() {
    let n = manylane_vectors::sm2().curve.n;
    let mut n_less_1 = n;
    n_less_1[31] -= 1;
    for d in [[0; 32], n_less_1, n, [0xff; 32]] {
        let inner = sec1(&d, None, None);
        for refused in [
            SecretKey::from_bytes(&d),
            SecretKey::from_hex(hex(&d).as_bytes()),
            SecretKey::from_sec1_der(&inner),
            SecretKey::from_pkcs8_der(&pkcs8(&[EC_PUBLIC_KEY, CURVE], &inner)),
            SecretKey::decode(hex(&d).as_bytes(), None),
        ] {
            assert_eq!(refused.unwrap_err(), Error::Key, "{}", hex(&d));
        }
    }
    let (pair, _) = one();
    for d in [&[][..], &[0], &[1; 33], &[[0; 2].as_slice(), &pair.d].concat()] {
        assert_eq!(SecretKey::from_sec1_der(&sec1(d, None, None)).unwrap_err(), Error::Key);
    }
    for digits in ["", " ", &"1".repeat(63), &"1".repeat(65), &"1".repeat(66), &"x".repeat(64)] {
        is_encoding(SecretKey::from_hex(digits.as_bytes()));
        is_encoding(SecretKey::decode(digits.as_bytes(), None));
    }
}

#[test]
fn a_public_key_must_be_the_secret_keys() {
    let (pair, _) = one();
    let other = manylane_vectors::sm2().keys.remove(0);
    for point in [&other.point[..], &other.compressed] {
        let refused = SecretKey::from_sec1_der(&sec1(&pair.d, Some(CURVE), Some(point)));
        assert_eq!(refused.unwrap_err(), Error::Key);
    }
}

#[test]
fn keys_of_other_curves_are_refused() {
    let (pair, _) = one();
    is_encoding(SecretKey::from_sec1_der(&sec1(&pair.d, Some(P256), None)));
    let inner = sec1(&pair.d, None, None);
    for algorithm in [&[EC_PUBLIC_KEY, P256][..], &[EC_PUBLIC_KEY], &[P256, CURVE], &[CURVE, P256]]
    {
        is_encoding(SecretKey::from_pkcs8_der(&pkcs8(algorithm, &inner)));
    }
    let inner = sec1(&pair.d, Some(P256), None);
    is_encoding(SecretKey::from_pkcs8_der(&pkcs8(&[EC_PUBLIC_KEY, CURVE], &inner)));
}

/// What stands around keys in files.
#[test]
fn pem_with_other_things_around() {
    let (pair, key) = one();
    let (sec1, info) = (key.to_sec1_pem(), key.to_pkcs8_pem());
    let public = key.public_key().to_pem();
    let sm2 = pem("SM2 PARAMETERS", CURVE);
    let ec = pem("EC PARAMETERS", CURVE);
    let note = "Bag Attributes\n    friendlyName: key\n\n";
    for text in [
        format!("{sm2}{}", *sec1),
        format!("{ec}{}", *sec1),
        format!("{ec}{}{public}", *info),
        format!("{public}{}", *info),
        format!("{note}{}\nand more -----", *info),
        format!("{}{}", *info, "-----BEGIN PRIVATE KEY-----\nnonsense\n"),
        info.replace('\n', "\r\n"),
        info.trim_end().to_owned(),
        sec1.replace("EC PRIVATE", "SM2 PRIVATE"),
        format!("\u{feff}{}", *info),
    ] {
        same(SecretKey::from_pem(text.as_bytes(), None), &pair);
        same(SecretKey::decode(text.as_bytes(), None), &pair);
    }
    for text in [
        format!("{ec}{public}"),
        format!("{}{public}", *info),
        format!("{note}{public}{note}"),
        public.replace('\n', "\r\n"),
    ] {
        same_public(PublicKey::from_pem(text.as_bytes()), &pair);
        same_public(PublicKey::decode(text.as_bytes()), &pair);
    }

    // Lines of another length, as some libraries write them.
    let base64 = info.lines().filter(|line| !line.starts_with('-')).collect::<String>();
    for width in [48, 72, 76, 4096] {
        let mut text = "-----BEGIN PRIVATE KEY-----\n".to_owned();
        for line in base64.as_bytes().chunks(width) {
            writeln!(text, "{}", str::from_utf8(line).unwrap()).unwrap();
        }
        text += "-----END PRIVATE KEY-----\n";
        same(SecretKey::from_pem(text.as_bytes(), None), &pair);
    }
}

/// A binary form may have any text inside.
#[test]
fn text_inside_other_forms_is_no_pem() {
    let begin = b"-----BEGIN K----";
    // An x with the text in it that is one of a point; such a thing came out of fuzzing.
    let found = (0..=u8::MAX).find_map(|last| {
        let compressed = [&[3][..], &begin[..], &[0; 15], &[last]].concat();
        PublicKey::from_sec1_bytes(&compressed).ok()
    });
    let public = found.unwrap();
    for form in [&public.to_compressed()[..], &public.to_sec1_bytes(), &public.to_sec1_bytes()[1..]]
    {
        assert_eq!(PublicKey::decode(form), Ok(public));
    }
    assert_eq!(PublicKey::decode(&public.to_spki_der()), Ok(public));
    let (mut d, x) = ([0; 32], &begin[..]);
    d[..16].copy_from_slice(x);
    let key = SecretKey::from_bytes(&d).unwrap();
    for der in [key.to_sec1_der(), key.to_pkcs8_der()] {
        assert_eq!(*SecretKey::decode(&der, None).unwrap().to_bytes(), d);
    }
}

#[test]
fn malformed_pem_is_refused() {
    let (_, key) = one();
    let info = key.to_pkcs8_pem();
    for text in [
        String::new(),
        "-----BEGIN PRIVATE KEY-----".into(),
        "-----BEGIN -----\n-----END -----\n".into(),
        pem("EC PARAMETERS", CURVE),
        key.public_key().to_pem(),
        info.replace("END PRIVATE", "END EC PRIVATE"),
        info.replace("PRIVATE KEY", "private key"),
        info.replace("-----BEGIN", "----BEGIN"),
        info.replace("KEY-----\nM", "KEY-----\n\u{e9}"),
        info.replace("KEY-----\nM", "KEY-----\n-"),
        info.replace("\n-----END", "A\n-----END"),
        info.replace("PRIVATE KEY", "EC PRIVATE KEY"),
        info.replace(
            "KEY-----\nM",
            "KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\nM",
        ),
        pem("PRIVATE KEY", &[]),
        pem("ENCRYPTED PRIVATE KEY", &key.to_pkcs8_der()),
        pem("PRIVATE KEY", &[&key.to_pkcs8_der()[..], &[0]].concat()),
    ] {
        is_encoding(SecretKey::from_pem(text.as_bytes(), Some(PASSWORD)));
    }
    is_encoding(PublicKey::from_pem(info.as_bytes()));
    is_encoding(PublicKey::decode(info.as_bytes()));
    is_encoding(PublicKey::decode(b"not a key"));
}

/// What was cut off or altered anywhere never gives a key without a reason, and never panics.
#[test]
fn damaged_der() {
    let (pair, key) = one();
    let sealed = KeyEncryption::default().with_iterations(1).unwrap();
    let sealed = key.to_encrypted_pkcs8_der(PASSWORD, &sealed).unwrap();
    for der in [&key.to_sec1_der()[..], &key.to_pkcs8_der(), &sealed] {
        for len in 0..der.len() {
            assert!(SecretKey::decode(&der[..len], Some(PASSWORD)).is_err(), "{len} bytes");
        }
        assert!(SecretKey::decode(&[der, &[0]].concat(), Some(PASSWORD)).is_err());
    }
    // The public key is there too, so no change of the number goes unnoticed.
    for der in [&key.to_sec1_der()[..], &key.to_pkcs8_der()] {
        for at in 0..der.len() {
            for bit in 0..8 {
                let mut altered = der.to_vec();
                altered[at] ^= 1 << bit;
                if let Ok(altered) = SecretKey::decode(&altered, None) {
                    assert_eq!(*altered.to_bytes(), pair.d, "bit {bit} of byte {at}");
                }
            }
        }
    }
    let der = key.public_key().to_spki_der();
    for len in 0..der.len() {
        assert!(PublicKey::decode(&der[..len]).is_err(), "{len} bytes");
    }
    for at in 0..der.len() {
        let mut altered = der.clone();
        altered[at] ^= 0x40;
        assert!(PublicKey::from_spki_der(&altered).is_err(), "byte {at}");
    }
}

#[test]
fn encrypted_keys_come_back() {
    let (pair, key) = one();
    for prf in [Prf::HmacSm3, Prf::HmacSha256] {
        for cipher in [KeyCipher::Sm4Cbc, KeyCipher::Aes128Cbc, KeyCipher::Aes256Cbc] {
            for password in [&b""[..], b"p", PASSWORD, &[0xff; 100]] {
                let how = KeyEncryption::new(prf, cipher).with_iterations(3).unwrap();
                let der = key.to_encrypted_pkcs8_der(password, &how).unwrap();
                same(SecretKey::from_encrypted_pkcs8_der(&der, password), &pair);
                same(SecretKey::decode(&der, Some(password)), &pair);
                let text = key.to_encrypted_pkcs8_pem(password, &how).unwrap();
                assert!(text.starts_with("-----BEGIN ENCRYPTED PRIVATE KEY-----\n"));
                same(SecretKey::decode(text.as_bytes(), Some(password)), &pair);
                for none in
                    [SecretKey::decode(&der, None), SecretKey::decode(text.as_bytes(), None)]
                {
                    assert_eq!(none.unwrap_err(), Error::PasswordNeeded);
                }
                let wrong = SecretKey::from_encrypted_pkcs8_der(&der, b"wrong");
                assert_eq!(wrong.unwrap_err(), Error::Password);
                // Salt and IV are new each time.
                assert_ne!(key.to_encrypted_pkcs8_der(password, &how).unwrap(), der);
            }
        }
    }
}

/// A wrong password is one error, whatever its garbage looks like.
#[test]
fn wrong_passwords_are_one_error() {
    let (_, key) = one();
    let how = KeyEncryption::default().with_iterations(1).unwrap();
    let der = key.to_encrypted_pkcs8_der(PASSWORD, &how).unwrap();
    // One in 256 wrong passwords gives valid padding.
    for i in 0..2000u32 {
        let wrong = SecretKey::from_encrypted_pkcs8_der(&der, &i.to_be_bytes());
        assert_eq!(wrong.unwrap_err(), Error::Password, "{i}");
    }
    for at in der.len() - 144..der.len() {
        let mut altered = der.clone();
        altered[at] ^= 1;
        if let Err(why) = SecretKey::from_encrypted_pkcs8_der(&altered, PASSWORD) {
            assert_eq!(why, Error::Password, "byte {at}");
        }
    }
}

#[test]
fn iterations_have_a_bound() {
    let (_, key) = one();
    for bad in [0, MAX_ITERATIONS + 1, u32::MAX] {
        is_encoding(KeyEncryption::default().with_iterations(bad));
    }
    let how = KeyEncryption::default().with_iterations(1000).unwrap();
    let der = key.to_encrypted_pkcs8_der(PASSWORD, &how).unwrap();
    let thousand = der.windows(4).position(|window| window == [2, 2, 0x03, 0xe8]).unwrap();
    let replaced = |integer: &[u8]| {
        // Every length around it is in one byte or the low byte of two.
        let grown = (integer.len() - 4) as u8;
        let mut der = [&der[..thousand], integer, &der[thousand + 4..]].concat();
        let headers: Vec<usize> =
            (0..thousand).filter(|&at| is_header(&der, at, thousand)).collect();
        assert!(headers.len() >= 4, "{headers:?}");
        for at in headers {
            der[at] += grown;
        }
        der
    };
    // The document is well-formed: with its own number in it the key opens.
    assert!(SecretKey::from_encrypted_pkcs8_der(&replaced(&[2, 2, 0x03, 0xe8]), PASSWORD).is_ok());
    for bad in [
        &[2, 4, 0x7f, 0xff, 0xff, 0xff][..],
        &[2, 5, 0, 0xff, 0xff, 0xff, 0xff],
        &[2, 2, 0xff, 0xff],
    ] {
        let started = std::time::Instant::now();
        is_encoding(SecretKey::from_encrypted_pkcs8_der(&replaced(bad), PASSWORD));
        assert!(started.elapsed().as_secs() < 2, "it was counted to");
    }
}

/// Whether the byte at `at` is the last length byte of a SEQUENCE that encloses `inside`.
fn is_header(der: &[u8], at: usize, inside: usize) -> bool {
    let end = at + 1 + usize::from(der[at]);
    let sequence = at >= 1 && der[at - 1] == 0x30 || at >= 2 && der[at - 2..at] == [0x30, 0x81];
    sequence && end > inside && end <= der.len() && der[at] != 0x81
}

#[test]
fn keys_of_gmssl() {
    for (secret, public) in [("key", "pub"), ("enc.key", "enc.pub"), ("sign.key", "sign.pub")] {
        let text = interop(&format!("gmssl/{secret}.pem"));
        let key = SecretKey::decode(&text, Some(PASSWORD)).unwrap();
        let text = interop(&format!("gmssl/{public}.pem"));
        assert_eq!(PublicKey::decode(&text).unwrap(), *key.public_key());
        assert_eq!(key.public_key().to_pem().as_bytes(), text);
    }
    for name in ["enc", "sign"] {
        let certificate = PublicKey::decode(&interop(&format!("gmssl/{name}.cert.pem"))).unwrap();
        assert_eq!(
            certificate,
            PublicKey::decode(&interop(&format!("gmssl/{name}.pub.pem"))).unwrap()
        );
    }
}

#[test]
fn keys_of_tongsuo() {
    let plain = SecretKey::decode(&interop("tongsuo/key.plain.pem"), None).unwrap();
    for name in ["sec1", "sm4.sm3prf", "sm4.sha256prf"] {
        let text = interop(&format!("tongsuo/key.{name}.pem"));
        let key = SecretKey::decode(&text, Some(PASSWORD)).unwrap();
        assert_eq!(*key.to_bytes(), *plain.to_bytes(), "{name}");
    }
    for name in ["pub.pem", "pub.compressed.pem", "cert.pem"] {
        let key = PublicKey::decode(&interop(&format!("tongsuo/{name}"))).unwrap();
        assert_eq!(key, *plain.public_key(), "{name}");
    }
    assert_eq!(plain.to_sec1_pem().as_bytes(), interop("tongsuo/key.sec1.pem"));
}

#[test]
fn fixtures_want_their_password() {
    for name in ["gmssl/key.pem", "tongsuo/key.sm4.sm3prf.pem", "tongsuo/key.sm4.sha256prf.pem"] {
        let text = interop(name);
        assert_eq!(SecretKey::decode(&text, None).unwrap_err(), Error::PasswordNeeded);
        assert_eq!(SecretKey::decode(&text, Some(b"wrong")).unwrap_err(), Error::Password);
    }
}

/// What we say of PBES2 is what GmSSL says, but for salt and IV.
#[test]
fn we_encrypt_keys_as_gmssl_does() {
    let theirs = interop("gmssl/key.pem");
    let key = SecretKey::decode(&theirs, Some(PASSWORD)).unwrap();
    let how = KeyEncryption::default().with_iterations(65536).unwrap();
    let ours = key.to_encrypted_pkcs8_der(PASSWORD, &how).unwrap();
    let theirs = der_of_pem(&theirs);
    // The whole is longer here: the key inside names its curve once more.
    assert_eq!((&ours[..2], &theirs[..2]), (&[0x30, 0x82][..], &[0x30, 0x81][..]));
    let masked = |scheme: &[u8]| {
        let mut scheme = scheme[..99].to_vec();
        for at in [32, 83] {
            assert_eq!(scheme[at - 2..at], [0x04, 16]);
            scheme[at..at + 16].fill(0);
        }
        hex(&scheme)
    };
    assert_eq!(masked(&ours[4..]), masked(&theirs[3..]));
}

fn der_of_pem(text: &[u8]) -> Vec<u8> {
    let digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let text = str::from_utf8(text).unwrap();
    let body = text.lines().filter(|line| !line.starts_with('-')).flat_map(str::chars);
    let (mut der, mut word, mut bits) = (Vec::new(), 0u32, 0);
    for digit in body.filter(|digit| *digit != '=') {
        word = word << 6 | digits.find(digit).unwrap() as u32;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            der.push((word >> bits) as u8);
        }
    }
    der
}

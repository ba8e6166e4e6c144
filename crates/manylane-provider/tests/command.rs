//! The `openssl` command with this provider against the same command without, in both directions.

mod support;

use manylane::sm2::{KeyCipher, KeyEncryption, Prf, SecretKey};
use support::{Place, SIDES, Side, newer, noise};

#[test]
fn the_provider_is_loaded_and_says_what_it_is() {
    let place = Place::new();
    let list = place.openssl_text(Side::Ours, "list -providers");
    assert!(list.contains("name: manylane: SM2") && list.contains("status: active"), "{list}");
    let list = place.openssl_text(
        Side::Theirs,
        "list -providers -provider-path . -provider manylane -provider default -propquery ?provider=manylane",
    );
    assert!(list.contains("name: manylane: SM2"), "{list}");
    for (kind, names) in [
        (
            "digest",
            &["SM3", "SHA3-224", "SHA3-256", "SHA3-384", "SHA3-512", "SHAKE-128", "SHAKE-256"][..],
        ),
        (
            "cipher",
            &[
                "SM4-ECB",
                "SM4-CBC",
                "SM4-CTR",
                "SM4-OFB",
                "SM4-CFB",
                "SM4-CFB8",
                "SM4-GCM",
                "SM4-CCM",
                "SM4-XTS",
                "AES-128-CTR",
                "AES-192-CTR",
                "AES-256-CTR",
            ],
        ),
    ] {
        let list = place.openssl_text(Side::Ours, &format!("list -{kind}-algorithms"));
        let ours: Vec<&str> = list.lines().filter(|line| line.ends_with("@ manylane")).collect();
        assert_eq!(ours.len(), names.len(), "{list}");
        assert!(names.iter().all(|name| ours.iter().any(|line| line.contains(name))), "{ours:?}");
    }
}

/// Newer versions have no default length.
const SHAKE: [&str; 2] = ["shake128 -xoflen 50", "shake256 -xoflen 50"];

#[test]
fn dgst() {
    let place = Place::new();
    for len in [0, 1, 1000, 100_001] {
        place.write("data", &noise(len));
        for name in ["sm3", "sha3-224", "sha3-256", "sha3-384", "sha3-512"].into_iter().chain(SHAKE)
        {
            // The required property makes sure whose it is.
            let only = "-provider-path . -provider manylane -provider default -propquery provider=manylane";
            let words = format!("dgst -{name} data");
            let ours = place.openssl_text(Side::Ours, &format!("dgst -{name} {only} data"));
            assert_eq!(ours, place.openssl_text(Side::Theirs, &words), "{name} of {len} bytes");
            assert_eq!(ours, place.openssl_text(Side::Ours, &words));
        }
    }
    place.write("data", b"abc");
    let keyed = "dgst -sm3 -hmac key data";
    assert_eq!(place.openssl(Side::Ours, keyed), place.openssl(Side::Theirs, keyed));
    let long = "dgst -shake256 -xoflen 1000 data";
    assert_eq!(place.openssl(Side::Ours, long), place.openssl(Side::Theirs, long));
}

#[test]
fn enc() {
    let place = Place::new();
    let key = |len: usize| (0..len).map(|i| format!("{i:02x}")).collect::<String>();
    // All counters come round within these.
    let iv = "fffffffffffffffffffffffffffffffe";
    for (name, key_len) in [
        ("sm4-ecb", 16),
        ("sm4-cbc", 16),
        ("sm4-ctr", 16),
        ("sm4-cfb", 16),
        ("sm4-ofb", 16),
        ("aes-128-ctr", 16),
        ("aes-192-ctr", 24),
        ("aes-256-ctr", 32),
    ] {
        let iv = if name.ends_with("ecb") { String::new() } else { format!("-iv {iv}") };
        let with = format!("-{name} -K {} {iv}", key(key_len));
        for len in [0, 1, 15, 16, 17, 100_003] {
            let data = noise(len);
            place.write("data", &data);
            place.openssl(
                Side::Ours,
                &format!("enc {with} -propquery provider=manylane -in data -out ours"),
            );
            place.openssl(Side::Theirs, &format!("enc {with} -in data -out theirs"));
            assert_eq!(place.read("ours"), place.read("theirs"), "{name} of {len} bytes");
            let back = place.openssl(
                Side::Ours,
                &format!("enc -d {with} -propquery provider=manylane -in theirs"),
            );
            assert_eq!(back, data, "{name} of {len} bytes");
        }
    }
    let words = format!("enc -sm4-cbc -K {} -iv {iv} -nopad -in data", key(16));
    place.write("data", &noise(32));
    assert_eq!(place.openssl(Side::Ours, &words), place.openssl(Side::Theirs, &words));
    place.write("data", &noise(33));
    let failed = place.try_openssl(Side::Ours, &words);
    assert!(!failed.status.success());
    let said = String::from_utf8_lossy(&failed.stderr);
    assert!(said.contains("manylane") && said.contains("the data are not whole blocks"), "{said}");
    let failed =
        place.try_openssl(Side::Ours, &format!("enc -d -sm4-cbc -K {} -iv {iv} -in data", key(16)));
    assert!(!failed.status.success());
    let passphrase =
        "-sm4-ctr -pbkdf2 -iter 10 -md sm3 -pass pass:secret -S 0102030405060708 -in data";
    assert_eq!(
        place.openssl(Side::Ours, &format!("enc {passphrase}")),
        place.openssl(Side::Theirs, &format!("enc {passphrase}"))
    );
}

/// A key made by that side, as `key.pem` with `public.pem`.
fn make_key(place: &Place, side: Side, name: &str) {
    place.openssl(side, &format!("genpkey -algorithm SM2 -out {name}.pem"));
    place.openssl(side, &format!("pkey -in {name}.pem -pubout -out {name}-public.pem"));
}

/// A key as text; with a newer OpenSSL, which has other lines, the digits alone.
fn text_of(place: &Place, side: Side, words: &str) -> String {
    let text = place.openssl_text(side, &format!("{words} -text -noout"));
    match newer() {
        None => text,
        Some(_) => {
            let digits = text.split_once('\n').expect("lines").1;
            digits.chars().filter(|c| !c.is_whitespace()).collect()
        }
    }
}

#[test]
fn keys_cross_in_all_their_forms() {
    let place = Place::new();
    for (maker, reader) in [(Side::Ours, Side::Theirs), (Side::Theirs, Side::Ours)] {
        make_key(&place, maker, "key");
        let text = text_of(&place, maker, "pkey -in key.pem");
        assert!(text.starts_with("Private-Key: (256 bit)\npriv:\n") || newer().is_some(), "{text}");
        assert_eq!(text, text_of(&place, reader, "pkey -in key.pem"));
        let public = text_of(&place, maker, "pkey -pubin -in key-public.pem");
        assert_eq!(public, text_of(&place, reader, "pkey -pubin -in key-public.pem"));
        assert_eq!(place.openssl(reader, "pkey -in key.pem -pubout"), place.read("key-public.pem"));
        let same = |words: &str| {
            assert_eq!(
                text_of(&place, reader, &format!("pkey {words}")),
                text,
                "{reader:?}: {words}"
            );
        };
        for words in [
            "-out again.pem",
            "-outform DER -out again.pem",
            "-aes-128-cbc -passout pass:secret -out again.pem",
            "-aes-256-cbc -passout pass:secret -out again.pem",
            "-sm4-cbc -passout pass:secret -out again.pem",
        ] {
            place.openssl(maker, &format!("pkey -in key.pem {words}"));
            same("-in again.pem -passin pass:secret");
        }
        place.openssl(maker, "ec -in key.pem -out again.pem");
        same("-in again.pem");
        let wrong = place.try_openssl(reader, "pkey -in again.pem -passin pass:wrong");
        assert!(wrong.status.success(), "not encrypted");
        place.openssl(maker, "pkey -in key.pem -aes-128-cbc -passout pass:secret -out again.pem");
        assert!(
            !place.try_openssl(reader, "pkey -in again.pem -passin pass:wrong").status.success()
        );
        place.openssl(maker, "pkey -pubin -in key-public.pem -outform DER -out again.pem");
        assert_eq!(text_of(&place, reader, "pkey -pubin -in again.pem"), public);
        for words in
            ["pkey -in key.pem -check -noout", "pkey -pubin -in key-public.pem -pubcheck -noout"]
        {
            assert!(place.openssl_text(reader, words).contains("Key is valid"));
        }
    }
    // What OpenSSL's default provider cannot read: SM3 in the derivation of the key from the password.
    let key = SecretKey::generate().unwrap();
    for cipher in [KeyCipher::Sm4Cbc, KeyCipher::Aes128Cbc, KeyCipher::Aes256Cbc] {
        let how = KeyEncryption::new(Prf::HmacSm3, cipher).with_iterations(100).unwrap();
        place.write("key.pem", key.to_encrypted_pkcs8_pem(b"secret", &how).unwrap().as_bytes());
        place.write("key.der", &key.to_encrypted_pkcs8_der(b"secret", &how).unwrap());
        // OpenSSL 4 opens PEM itself, and so fails before any provider is asked.
        for file in if newer().is_none() { &["key.der", "key.pem"][..] } else { &["key.der"] } {
            let words = format!("pkey -in {file} -passin pass:");
            let der = place.openssl(Side::Ours, &format!("{words}secret -outform DER"));
            assert_eq!(SecretKey::decode(&der, None).unwrap().public_key(), key.public_key());
            assert!(!place.try_openssl(Side::Ours, &format!("{words}wrong")).status.success());
        }
    }
}

/// The default provider writes our keys, so all of its ciphers and forms are there.
#[test]
fn keys_are_written_as_ever() {
    let place = Place::new();
    make_key(&place, Side::Ours, "key");
    let text = text_of(&place, Side::Ours, "pkey -in key.pem");
    for cipher in ["aes-128-cbc", "aes-192-cbc", "des3", "camellia256", "sm4-cbc"] {
        for words in [
            format!("ec -in key.pem -{cipher} -passout pass:secret -out again.pem"),
            format!("pkey -in key.pem -{cipher} -passout pass:secret -out again.pem"),
        ] {
            place.openssl(Side::Ours, &words);
            let again = place.read("again.pem");
            let first = String::from_utf8_lossy(&again);
            assert!(first.contains("ENCRYPTED"), "{words}: {first}");
            for side in SIDES {
                let read = "pkey -in again.pem -noout -passin pass:";
                assert!(!place.try_openssl(side, &format!("{read}wrong")).status.success());
            }
            assert_eq!(text_of(&place, Side::Ours, "pkey -in again.pem -passin pass:secret"), text);
        }
    }
    place.openssl(Side::Ours, "pkey -in key.pem -outform DER -out key.der");
    place.openssl(Side::Ours, "ec -inform DER -in key.der -aes128 -passout pass:x -out again.pem");
    assert!(String::from_utf8_lossy(&place.read("again.pem")).contains("ENCRYPTED"));
    // What 3.0's request takes unless it is told otherwise is DES-EDE3-CBC.
    place.openssl(
        Side::Ours,
        "req -config openssl.cnf -new -x509 -newkey sm2 -sm3 -passout pass:abcd -subj /CN=a -keyout new.pem -out cert.pem",
    );
    assert!(String::from_utf8_lossy(&place.read("new.pem")).contains("ENCRYPTED"));
    for words in ["-conv_form compressed", "-param_enc explicit", "-no_public"] {
        let words = format!("ec -in key.pem {words} -outform DER");
        assert_eq!(place.openssl(Side::Ours, &words), place.openssl(Side::Theirs, &words));
    }
}

#[test]
fn keys_of_other_algorithms_are_the_default_providers() {
    let place = Place::new();
    for words in [
        "-algorithm EC -pkeyopt ec_paramgen_curve:P-256",
        "-algorithm RSA -pkeyopt rsa_keygen_bits:2048",
        "-algorithm ED25519",
    ] {
        place.openssl(Side::Ours, &format!("genpkey {words} -out key.pem"));
        for form in ["", "-outform DER", "-aes-192-cbc -passout pass:secret"] {
            place.openssl(Side::Ours, &format!("pkey -in key.pem {form} -out again.pem"));
            let words = "pkey -in again.pem -passin pass:secret -text -noout";
            assert_eq!(place.openssl(Side::Ours, words), place.openssl(Side::Theirs, words));
        }
    }
    // An EC key without the name of its curve is nobody's to guess.
    place.write("key.der", b"\x30\x25\x02\x01\x01\x04\x20aaaaaaaabbbbbbbbccccccccdddddddd");
    assert!(!place.try_openssl(Side::Ours, "pkey -inform DER -in key.der").status.success());
}

#[test]
fn signatures_cross() {
    let place = Place::new();
    place.write("data", &noise(1000));
    place.openssl(Side::Theirs, "dgst -sm3 -binary -out digest data");
    place.write("other", &noise(1001));
    for (signer, verifier) in
        [(Side::Ours, Side::Theirs), (Side::Theirs, Side::Ours), (Side::Ours, Side::Ours)]
    {
        make_key(&place, signer, "key");
        let verify = |words: &str| {
            let words =
                format!("pkeyutl -verify -pubin -inkey key-public.pem -sigfile signature {words}");
            place.try_openssl(verifier, &words).status.success()
        };
        place.openssl(signer, "pkeyutl -sign -inkey key.pem -in digest -out signature");
        assert!(verify("-in digest"));
        let id = "-pkeyopt distid:1234567812345678";
        let other = "-pkeyopt distid:somebody";
        // Without one OpenSSL 3 has an empty identifier, and OpenSSL 4 this one.
        let none = if newer().is_none() { id } else { other };
        for (id, other) in [(id, other), ("", none), ("-pkeyopt hexdistid:00ff", id)] {
            let sign = "pkeyutl -sign -inkey key.pem -rawin -digest sm3 -in data -out signature";
            place.openssl(signer, &format!("{sign} {id}"));
            assert!(verify(&format!("-rawin -digest sm3 -in data {id}")), "{signer:?} {id}");
            assert!(!verify(&format!("-rawin -digest sm3 -in data {other}")), "{signer:?} {id}");
            assert!(!verify(&format!("-rawin -digest sm3 -in other {id}")), "{signer:?} {id}");
        }
        place.openssl(signer, "dgst -sm3 -sign key.pem -out signature data");
        let said = place
            .openssl_text(verifier, "dgst -sm3 -verify key-public.pem -signature signature data");
        assert_eq!(said, "Verified OK\n");
        let mut signature = place.read("signature");
        *signature.last_mut().unwrap() ^= 1;
        place.write("signature", &signature);
        let words = "dgst -sm3 -verify key-public.pem -signature signature data";
        assert!(!place.try_openssl(verifier, words).status.success());
    }
    let failed = place.try_openssl(Side::Ours, "dgst -sha256 -sign key.pem -out signature data");
    assert!(
        String::from_utf8_lossy(&failed.stderr).contains("SM2 signatures here are with SM3 only")
    );
}

#[test]
fn ciphertexts_cross() {
    let place = Place::new();
    for (sender, receiver) in
        [(Side::Ours, Side::Theirs), (Side::Theirs, Side::Ours), (Side::Ours, Side::Ours)]
    {
        make_key(&place, receiver, "key");
        for len in [1, 31, 32, 33, 1000] {
            let data = noise(len);
            place.write("data", &data);
            place.openssl(
                sender,
                "pkeyutl -encrypt -pubin -inkey key-public.pem -in data -out sealed",
            );
            assert_eq!(place.openssl(receiver, "pkeyutl -decrypt -inkey key.pem -in sealed"), data);
        }
        let mut sealed = place.read("sealed");
        *sealed.last_mut().unwrap() ^= 1;
        place.write("sealed", &sealed);
        let failed =
            place.try_openssl(receiver, "pkeyutl -decrypt -inkey key.pem -in sealed -out opened");
        assert!(!failed.status.success());
        assert!(place.path("opened").metadata().map_or(true, |file| file.len() == 0));
    }
}

/// OpenSSL's default provider has no exchange for SM2 keys, so the library says what comes out.
#[test]
fn derive() {
    let place = Place::new();
    for (maker, other) in SIDES.into_iter().flat_map(|maker| SIDES.map(|other| (maker, other))) {
        make_key(&place, maker, "a");
        make_key(&place, other, "b");
        let ours = place.openssl(Side::Ours, "pkeyutl -derive -inkey a.pem -peerkey b-public.pem");
        assert_eq!(
            ours,
            place.openssl(Side::Ours, "pkeyutl -derive -inkey b.pem -peerkey a-public.pem")
        );
        let [a, b] =
            ["a.pem", "b.pem"].map(|name| SecretKey::decode(&place.read(name), None).unwrap());
        assert_eq!(ours, a.diffie_hellman(b.public_key())[..]);
    }
}

#[test]
fn certificates() {
    let place = Place::new();
    for (maker, reader) in
        [(Side::Ours, Side::Theirs), (Side::Theirs, Side::Ours), (Side::Ours, Side::Ours)]
    {
        let config = if maker == Side::Ours { "openssl.cnf" } else { "theirs.cnf" };
        make_key(&place, maker, "ca");
        make_key(&place, maker, "leaf");
        place.openssl(
            maker,
            &format!("req -config {config} -new -x509 -sm3 -key ca.pem -subj /CN=ca -days 9 -extensions ca -out ca-cert.pem"),
        );
        place.openssl(
            maker,
            &format!("req -config {config} -new -sm3 -key leaf.pem -subj /CN=leaf -out leaf.csr"),
        );
        assert!(place.try_openssl(reader, "req -in leaf.csr -verify -noout").status.success());
        place.openssl(
            maker,
            &format!("x509 -req -in leaf.csr -sm3 -CA ca-cert.pem -CAkey ca.pem -CAcreateserial -days 9 -extfile {config} -extensions leaf -out leaf-cert.pem"),
        );
        let text = place.openssl_text(reader, "x509 -in leaf-cert.pem -noout -text");
        assert!(
            text.contains("Signature Algorithm: SM2-with-SM3") && text.contains("ASN1 OID: SM2"),
            "{text}"
        );
        if newer().is_none() {
            assert_eq!(text, place.openssl_text(maker, "x509 -in leaf-cert.pem -noout -text"));
        }
        assert!(
            place
                .openssl_text(reader, "verify -CAfile ca-cert.pem leaf-cert.pem")
                .ends_with(": OK\n")
        );
        assert!(
            !place.try_openssl(reader, "verify -CAfile leaf-cert.pem ca-cert.pem").status.success()
        );
        let public = place.openssl(reader, "x509 -in leaf-cert.pem -noout -pubkey");
        assert_eq!(public, place.read("leaf-public.pem"));
        // The identifier that GM/T 0009 wants, in all signatures of a request.
        let id = "-sigopt distid:1234567812345678 -vfyopt distid:1234567812345678";
        place.openssl(
            maker,
            &format!(
                "req -config {config} -new -sm3 -key leaf.pem -subj /CN=leaf {id} -out leaf.csr"
            ),
        );
        let verify = "req -in leaf.csr -verify -noout -vfyopt distid:";
        assert!(place.try_openssl(reader, &format!("{verify}1234567812345678")).status.success());
    }
}

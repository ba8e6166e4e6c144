//! Both ways with the `openssl` command, 3.0 or later. It must be there: nothing is skipped.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use manylane::{
    Error,
    sm2::{
        CiphertextForm, DEFAULT_ID, KeyCipher, KeyEncryption, Prf, PublicKey, SecretKey, Signature,
    },
};
use manylane_vectors::painted;

const PASSWORD: &str = "Tr0ub4dor&3";

/// A folder of its own for each test, gone with it.
struct Dir(PathBuf);

impl Dir {
    fn new(name: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("sm2-{name}"));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Dir(path)
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> &Self {
        fs::write(self.0.join(name), bytes).unwrap();
        self
    }

    fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.0.join(name)).unwrap()
    }

    /// Runs `openssl`, arguments separated by blanks: its output if it succeeds.
    fn try_openssl(&self, arguments: &str) -> Result<Vec<u8>, String> {
        let run = Command::new("openssl")
            .args(arguments.split_whitespace())
            .current_dir(&self.0)
            .output()
            .unwrap_or_else(|error| panic!("these tests need the openssl command: {error}"));
        match run.status.success() {
            true => Ok(run.stdout),
            false => Err(format!("openssl {arguments}: {}", String::from_utf8_lossy(&run.stderr))),
        }
    }

    #[track_caller]
    fn openssl(&self, arguments: &str) -> Vec<u8> {
        self.try_openssl(arguments).unwrap_or_else(|why| panic!("{why}"))
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Keys with something special about them, and some without.
fn keys() -> Vec<SecretKey> {
    let keys = manylane_vectors::sm2().keys;
    keys.iter().map(|pair| SecretKey::from_bytes(&pair.d).unwrap()).collect()
}

#[test]
fn the_command_is_openssl_3() {
    let version = Dir::new("version").openssl("version");
    let version = String::from_utf8(version).unwrap();
    let major = version.strip_prefix("OpenSSL ").and_then(|rest| rest.split('.').next());
    let major: u32 = major.unwrap().parse().unwrap();
    assert!(major >= 3, "{version}");
}

#[test]
fn openssl_reads_our_keys() {
    let dir = Dir::new("reads");
    for key in keys() {
        let public = key.public_key().to_pem();
        dir.write("info.pem", &*key.to_pkcs8_pem()).write("info.der", &*key.to_pkcs8_der());
        dir.write("sec1.pem", &*key.to_sec1_pem()).write("sec1.der", &*key.to_sec1_der());
        dir.write("pub.pem", &public).write("pub.der", key.public_key().to_spki_der());
        for from in ["info.pem", "sec1.pem", "info.der -inform DER", "sec1.der -inform DER"] {
            let read = dir.openssl(&format!("pkey -in {from} -pubout"));
            assert_eq!(read, public.as_bytes(), "{from}");
        }
        for from in ["pub.pem", "pub.der -inform DER"] {
            let read = dir.openssl(&format!("pkey -pubin -in {from} -pubout"));
            assert_eq!(read, public.as_bytes(), "{from}");
        }
    }
}

#[test]
fn we_read_keys_of_openssl() {
    let dir = Dir::new("writes");
    for _ in 0..4 {
        dir.openssl("genpkey -algorithm SM2 -out sm2.pem");
        dir.openssl("genpkey -algorithm EC -pkeyopt ec_paramgen_curve:SM2 -out ec.pem");
        dir.openssl("ecparam -name SM2 -out parameters.pem");
        for name in ["sm2.pem", "ec.pem"] {
            let key = SecretKey::decode(&dir.read(name), None).unwrap();
            for form in [
                format!("pkey -in {name} -outform DER"),
                format!("pkcs8 -topk8 -nocrypt -in {name} -outform DER"),
                format!("pkcs8 -topk8 -nocrypt -in {name}"),
                format!("ec -in {name}"),
                format!("ec -in {name} -outform DER"),
                format!("ec -in {name} -no_public"),
                format!("ec -in {name} -conv_form compressed"),
            ] {
                let read = SecretKey::decode(&dir.openssl(&form), None);
                assert_eq!(*read.expect(&form).to_bytes(), *key.to_bytes(), "{form}");
            }
            for form in [
                format!("pkey -in {name} -pubout"),
                format!("pkey -in {name} -pubout -outform DER"),
                format!("ec -in {name} -pubout -conv_form compressed"),
                format!("ec -in {name} -pubout -conv_form compressed -outform DER"),
            ] {
                let read = PublicKey::decode(&dir.openssl(&form));
                assert_eq!(read.expect(&form), *key.public_key(), "{form}");
            }
            // As in files that begin with the curve: `SM2 PARAMETERS`.
            let text =
                [dir.read("parameters.pem"), dir.openssl(&format!("ec -in {name}"))].concat();
            assert!(text.starts_with(b"-----BEGIN SM2 PARAMETERS-----"));
            assert!(SecretKey::decode(&text, None).is_ok());
        }
    }
}

#[test]
fn keys_of_other_curves_or_with_explicit_curves_are_refused() {
    let dir = Dir::new("others");
    dir.openssl("genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out p256.pem");
    dir.openssl("genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048 -out rsa.pem");
    dir.openssl(
        "genpkey -algorithm EC -pkeyopt ec_paramgen_curve:SM2 \
         -pkeyopt ec_param_enc:explicit -out explicit.pem",
    );
    for name in ["p256.pem", "rsa.pem", "explicit.pem"] {
        for form in ["", "-outform DER"] {
            let secret = dir.openssl(&format!("pkcs8 -topk8 -nocrypt -in {name} {form}"));
            let refused = SecretKey::decode(&secret, None).unwrap_err();
            assert!(matches!(refused, Error::Encoding(_)), "{name}: {refused:?}");
            let sealed = dir.openssl(&format!(
                "pkcs8 -topk8 -v2 aes-128-cbc -passout pass:{PASSWORD} -in {name} {form}"
            ));
            let refused = SecretKey::decode(&sealed, Some(PASSWORD.as_bytes())).unwrap_err();
            assert!(matches!(refused, Error::Encoding(_)), "{name}: {refused:?}");
            let wrong = SecretKey::decode(&sealed, Some(b"wrong")).unwrap_err();
            assert_eq!(wrong, Error::Password);
            let public = dir.openssl(&format!("pkey -in {name} -pubout {form}"));
            let refused = PublicKey::decode(&public).unwrap_err();
            assert!(matches!(refused, Error::Encoding(_)), "{name}: {refused:?}");
        }
    }
}

#[test]
fn openssl_opens_our_encrypted_keys() {
    let dir = Dir::new("opens");
    let key = SecretKey::generate().unwrap();
    for cipher in [KeyCipher::Sm4Cbc, KeyCipher::Aes128Cbc, KeyCipher::Aes256Cbc] {
        let how = KeyEncryption::new(Prf::HmacSha256, cipher).with_iterations(5000).unwrap();
        let text = key.to_encrypted_pkcs8_pem(PASSWORD.as_bytes(), &how).unwrap();
        dir.write("key.pem", text);
        let read = dir.openssl(&format!("pkey -in key.pem -passin pass:{PASSWORD} -pubout"));
        assert_eq!(read, key.public_key().to_pem().as_bytes(), "{cipher:?}");
        assert!(dir.try_openssl("pkey -in key.pem -passin pass:wrong").is_err());
    }
}

#[test]
fn we_open_encrypted_keys_of_openssl() {
    let dir = Dir::new("sealed");
    dir.openssl("genpkey -algorithm SM2 -out key.pem");
    let key = SecretKey::decode(&dir.read("key.pem"), None).unwrap();
    for cipher in ["sm4-cbc", "aes-128-cbc", "aes-256-cbc"] {
        for how in ["", "-iter 1", "-iter 10000"] {
            for form in ["PEM", "DER"] {
                let sealed = dir.openssl(&format!(
                    "pkcs8 -topk8 -in key.pem -v2 {cipher} -v2prf hmacWithSHA256 {how} \
                     -passout pass:{PASSWORD} -outform {form}"
                ));
                let opened = SecretKey::decode(&sealed, Some(PASSWORD.as_bytes())).unwrap();
                assert_eq!(*opened.to_bytes(), *key.to_bytes(), "{cipher} {how} {form}");
                assert_eq!(SecretKey::decode(&sealed, Some(b"x")).unwrap_err(), Error::Password);
                assert_eq!(SecretKey::decode(&sealed, None).unwrap_err(), Error::PasswordNeeded);
            }
        }
    }
    for other in
        ["-v2 aes-256-cbc -v2prf hmacWithSHA1", "-v2 des3 -v2prf hmacWithSHA256", "-scrypt"]
    {
        let sealed = dir.openssl(&format!(
            "pkcs8 -topk8 -in key.pem {other} -passout pass:{PASSWORD} -outform DER"
        ));
        let refused = SecretKey::decode(&sealed, Some(PASSWORD.as_bytes())).unwrap_err();
        assert!(matches!(refused, Error::Encoding(_)), "{other}: {refused:?}");
    }
    let old = dir.openssl(&format!("ec -in key.pem -aes128 -passout pass:{PASSWORD}"));
    let refused = SecretKey::decode(&old, Some(PASSWORD.as_bytes())).unwrap_err();
    assert!(matches!(refused, Error::Encoding(_)), "{refused:?}");
}

/// User IDs as the command takes them; OpenSSL's own default is the empty one.
fn ids() -> [(&'static [u8], &'static str); 4] {
    [
        (DEFAULT_ID, "-pkeyopt distid:1234567812345678"),
        (b"TLSv1.3+GM+Cipher+Suite", "-pkeyopt distid:TLSv1.3+GM+Cipher+Suite"),
        (b"", ""),
        (b"\x00\xff ", "-pkeyopt hexdistid:00ff20"),
    ]
}

#[test]
fn openssl_verifies_our_signatures() {
    let dir = Dir::new("verifies");
    for (i, key) in keys().iter().enumerate() {
        let message = painted(1 + 37 * i, i);
        dir.write("pub.pem", key.public_key().to_pem()).write("m", &message);
        for (id, option) in ids() {
            let signature = key.sign(id, &message).unwrap();
            dir.write("s", signature.to_der());
            let verify =
                "pkeyutl -verify -rawin -digest sm3 -pubin -inkey pub.pem -in m -sigfile s";
            dir.openssl(&format!("{verify} {option}"));
            let wrong = key.sign(b"somebody else", &message).unwrap();
            dir.write("s", wrong.to_der());
            assert!(dir.try_openssl(&format!("{verify} {option}")).is_err());
        }
    }
}

#[test]
fn we_verify_signatures_of_openssl() {
    let dir = Dir::new("signs");
    for (i, key) in keys().iter().enumerate() {
        let message = painted(1 + 41 * i, i);
        dir.write("key.pem", &*key.to_pkcs8_pem()).write("m", &message);
        for (id, option) in ids() {
            let der = dir.openssl(&format!(
                "pkeyutl -sign -rawin -digest sm3 -inkey key.pem -in m {option}"
            ));
            let signature = Signature::from_der(&der).unwrap();
            assert_eq!(signature.to_der(), der);
            assert_eq!(key.public_key().verify(id, &message, &signature), Ok(()));
            let other = key.public_key().verify(b"somebody else", &message, &signature);
            assert_eq!(other, Err(Error::Signature));
        }
    }
}

/// One byte, around a block of KDF, around every DER length that grows, and beyond.
const LENGTHS: [usize; 14] = [1, 2, 31, 32, 33, 64, 100, 127, 128, 255, 256, 1000, 5000, 70_000];

#[test]
fn openssl_decrypts_our_ciphertexts() {
    let dir = Dir::new("decrypts");
    for (i, key) in keys().iter().enumerate() {
        dir.write("key.pem", &*key.to_pkcs8_pem());
        // All lengths with the first key, then one with each.
        let lengths = if i == 0 { &LENGTHS[..] } else { &LENGTHS[i % LENGTHS.len()..][..1] };
        for &len in lengths {
            let message = painted(len, i);
            let ciphertext = key.public_key().encrypt(CiphertextForm::Asn1, &message).unwrap();
            dir.write("c", &ciphertext);
            let decrypted = dir.openssl("pkeyutl -decrypt -inkey key.pem -in c");
            assert_eq!(decrypted, message, "{len} bytes");
            let mut altered = ciphertext;
            *altered.last_mut().unwrap() ^= 1;
            dir.write("c", altered);
            assert!(dir.try_openssl("pkeyutl -decrypt -inkey key.pem -in c").is_err());
        }
    }
}

#[test]
fn we_decrypt_ciphertexts_of_openssl() {
    let dir = Dir::new("encrypts");
    for (i, key) in keys().iter().enumerate() {
        dir.write("pub.pem", key.public_key().to_pem());
        let lengths = if i == 0 { &LENGTHS[..] } else { &LENGTHS[i % LENGTHS.len()..][..1] };
        for &len in lengths {
            let message = painted(len, i);
            dir.write("m", &message);
            let ciphertext = dir.openssl("pkeyutl -encrypt -pubin -inkey pub.pem -in m");
            let decrypted = key.decrypt(CiphertextForm::Asn1, &ciphertext).unwrap();
            assert_eq!(decrypted[..], message, "{len} bytes");
            let mut altered = ciphertext;
            *altered.last_mut().unwrap() ^= 1;
            let refused = key.decrypt(CiphertextForm::Asn1, &altered).unwrap_err();
            assert_eq!(refused, Error::Decryption);
        }
    }
}

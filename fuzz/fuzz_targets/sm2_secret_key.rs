//! Secret keys in any form, under a password or not: whatever is read can be written and read again.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use manylane::sm2::{KeyEncryption, SecretKey};

const PASSWORD: &[u8] = b"password";

/// An encrypted key, to be altered: no fuzzer finds one by itself.
static SEALED: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let how = KeyEncryption::default().with_iterations(1).unwrap();
    SecretKey::from_bytes(&[7; 32]).unwrap().to_encrypted_pkcs8_der(PASSWORD, &how).unwrap()
});

fuzz_target!(|bytes: &[u8]| {
    let mut altered = SEALED.clone();
    for change in bytes.as_chunks::<2>().0 {
        let at = usize::from(change[0]) % altered.len();
        altered[at] ^= change[1];
    }
    let mut keys = vec![SecretKey::decode(bytes, None), SecretKey::from_hex(bytes)];
    keys.extend([SecretKey::from_pkcs8_der(bytes), SecretKey::from_sec1_der(bytes)]);
    for sealed in [bytes, &altered] {
        if !is_slow(sealed) {
            keys.push(SecretKey::from_encrypted_pkcs8_der(sealed, PASSWORD));
        }
    }
    for key in keys.into_iter().flatten() {
        let number = key.to_bytes();
        let again = [
            SecretKey::from_bytes(&number),
            SecretKey::from_hex(key.to_hex().as_bytes()),
            SecretKey::decode(&key.to_sec1_der(), None),
            SecretKey::decode(&key.to_pkcs8_der(), None),
            SecretKey::decode(key.to_pkcs8_pem().as_bytes(), None),
            SecretKey::decode(key.to_sec1_pem().as_bytes(), None),
        ];
        for again in again {
            assert_eq!(*again.unwrap().to_bytes(), *number);
        }
    }
});

/// Whether there is an INTEGER of three to five bytes, as a large number of iterations is. Those
/// would only slow the fuzzer down.
fn is_slow(bytes: &[u8]) -> bool {
    bytes.windows(2).any(|window| window[0] == 2 && (3..=5).contains(&window[1]))
}

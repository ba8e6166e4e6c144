//! Public keys in any form, certificates too: whatever is read can be written and read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use manylane::sm2::PublicKey;

fuzz_target!(|bytes: &[u8]| {
    let keys = [
        PublicKey::decode(bytes),
        PublicKey::from_sec1_bytes(bytes),
        PublicKey::from_spki_der(bytes),
        PublicKey::from_certificate_der(bytes),
        PublicKey::from_pem(bytes),
        PublicKey::from_hex(bytes),
    ];
    for key in keys.into_iter().flatten() {
        assert_eq!(PublicKey::decode(&key.to_sec1_bytes()), Ok(key));
        assert_eq!(PublicKey::decode(&key.to_compressed()), Ok(key));
        assert_eq!(PublicKey::decode(&key.to_spki_der()), Ok(key));
        assert_eq!(PublicKey::decode(key.to_pem().as_bytes()), Ok(key));
        assert_eq!(PublicKey::decode(key.to_hex().as_bytes()), Ok(key));
    }
});

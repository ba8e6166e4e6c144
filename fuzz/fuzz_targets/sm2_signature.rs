//! Signatures in DER: whatever is read has that one encoding, and survives the other forms.
#![no_main]

use libfuzzer_sys::fuzz_target;
use manylane::sm2::Signature;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(signature) = Signature::from_der(bytes) {
        assert_eq!(signature.to_der(), bytes);
        assert_eq!(Signature::from_bytes(&signature.to_bytes()), Ok(signature));
        assert_eq!(Signature::from_skf_bytes(&signature.to_skf_bytes()), Ok(signature));
    }
    if let Some(raw) = bytes.first_chunk() {
        if let Ok(signature) = Signature::from_bytes(raw) {
            assert_eq!(signature.to_bytes(), *raw);
            assert_eq!(Signature::from_der(&signature.to_der()), Ok(signature));
        }
    }
    if let Some(skf) = bytes.first_chunk() {
        if let Ok(signature) = Signature::from_skf_bytes(skf) {
            assert_eq!(signature.to_skf_bytes(), *skf);
        }
    }
});

//! Ciphertexts in every form: what is read is written the same, whole and by its head alone.
#![no_main]

use libfuzzer_sys::fuzz_target;
use manylane::sm2::{Ciphertext, CiphertextForm, MAX_HEAD_LEN};

const FORMS: [CiphertextForm; 5] = [
    CiphertextForm::Asn1,
    CiphertextForm::C1C3C2 { prefix: true },
    CiphertextForm::C1C3C2 { prefix: false },
    CiphertextForm::C1C2C3 { prefix: true },
    CiphertextForm::C1C2C3 { prefix: false },
];

fuzz_target!(|bytes: &[u8]| {
    for form in FORMS {
        let start = &bytes[..bytes.len().min(MAX_HEAD_LEN)];
        let head = form.read_head(start);
        assert_eq!(head, form.read_head(bytes), "a longer start tells no more");
        let Ok(head) = head else {
            assert!(Ciphertext::parse(form, bytes).is_err());
            continue;
        };
        if let Some(length) = head.c2_len {
            let mut written = form.head(&head.c1, length).unwrap();
            written.set_c3(&head.c3.unwrap());
            assert_eq!(written.as_bytes(), &bytes[..head.len]);
        }
        if let Ok(parts) = Ciphertext::parse(form, bytes) {
            assert_eq!(parts.to_vec(form).unwrap(), bytes);
            for other in FORMS {
                let moved = parts.to_vec(other).unwrap();
                assert_eq!(Ciphertext::parse(other, &moved), Ok(parts.clone()));
            }
        }
    }
});

//! Bytes and text of keys, signatures and ciphertexts.

mod ciphertext;
mod pbes2;
mod pem;
mod private;
mod public;
mod signature;
mod tlv;

use der::asn1::ObjectIdentifier;
use spki::AlgorithmIdentifierRef;
use zeroize::Zeroizing;

use crate::Error;

pub use self::{
    ciphertext::{Ciphertext, CiphertextForm, Head, MAX_HEAD_LEN, ReadHead},
    pbes2::{KeyCipher, KeyEncryption, MAX_ITERATIONS, Prf},
};

/// id-ecPublicKey (RFC 5480).
const EC_PUBLIC_KEY: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.2.1");

/// The curve of GB/T 32918.5; some write it as the algorithm itself.
const CURVE: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.156.10197.1.301");

/// Whether a key of this algorithm is a key on the curve.
fn check_algorithm(algorithm: &AlgorithmIdentifierRef<'_>) -> Result<(), Error> {
    let parameters = algorithm.parameters;
    let curve = || parameters.and_then(|any| any.decode_as::<ObjectIdentifier>().ok());
    let right = match algorithm.oid {
        EC_PUBLIC_KEY => curve() == Some(CURVE),
        CURVE => parameters.is_none_or(|any| any.is_null()) || curve() == Some(CURVE),
        _ => false,
    };
    if right { Ok(()) } else { Err(Error::Encoding("the key is not one of SM2's curve")) }
}

/// What a file looks like from outside.
enum Look {
    /// Hexadecimal digits and nothing else.
    Hex,
    /// One SEQUENCE and nothing else. This comes before PEM, for there may be any text inside.
    Der,
    /// Text with a block of PEM in it.
    Pem,
    /// Nothing of these.
    Other,
}

fn look(bytes: &[u8]) -> Look {
    let mut reader = tlv::Reader::new(bytes);
    if is_hex(bytes) {
        Look::Hex
    } else if reader.header(tlv::SEQUENCE) == Some(reader.rest().len() as u64) {
        Look::Der
    } else if pem::is_pem(bytes) {
        Look::Pem
    } else {
        Look::Other
    }
}

/// Whether there are hexadecimal digits and white space around them only. They may be a secret key's,
/// so they are decoded, which takes the same time for all digits, and not looked at.
fn is_hex(text: &[u8]) -> bool {
    let digits = text.trim_ascii();
    let mut bytes = Zeroizing::new(vec![0; digits.len() / 2]);
    !digits.is_empty() && base16ct::mixed::decode(digits, &mut bytes).is_ok()
}

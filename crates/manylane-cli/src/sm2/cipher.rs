//! What encryption and decryption of streams share.

use clap::ValueEnum;
use manylane::sm2::CiphertextForm;
use zeroize::Zeroizing;

use super::Stop;
pub(super) use crate::filter::{read_full, spool, spooling};

/// Bytes that are read and encrypted at once.
pub(super) const CHUNK: usize = 1 << 20;

/// Forms of ciphertexts, but for the byte 04.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Form {
    /// SM2Cipher of GM/T 0009 in DER, as OpenSSL and GmSSL have it
    Asn1,
    /// C1, C3, C2: the order of GB/T 32918.4-2016
    C1c3c2,
    /// C1, C2, C3: the order of old programs
    C1c2c3,
}

impl Form {
    pub(super) fn with_prefix(self, prefix: bool) -> Result<CiphertextForm, Stop> {
        match self {
            Form::Asn1 if !prefix => {
                Err(Stop::usage("--no-prefix is for --form c1c3c2 and --form c1c2c3"))
            }
            Form::Asn1 => Ok(CiphertextForm::Asn1),
            Form::C1c3c2 => Ok(CiphertextForm::C1C3C2 { prefix }),
            Form::C1c2c3 => Ok(CiphertextForm::C1C2C3 { prefix }),
        }
    }
}

/// Room for a chunk, which is wiped in the end.
pub(super) fn chunk() -> Zeroizing<Vec<u8>> {
    Zeroizing::new(vec![0; CHUNK])
}

//! What encryption and decryption of streams share.

use std::{
    fs::File,
    io::{self, Read},
};

use clap::ValueEnum;
use manylane::sm2::CiphertextForm;
use zeroize::Zeroizing;

use super::Stop;

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

/// Fills the buffer, or reads to the end: the number of bytes.
pub(super) fn read_full(reader: &mut dyn Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut len = 0;
    while len < buffer.len() {
        match reader.read(&mut buffer[len..]) {
            Ok(0) => break,
            Ok(read) => len += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(len)
}

/// A file without a name, in the folder for such files, that only this user may read.
pub(super) fn spool() -> Result<File, Stop> {
    tempfile::tempfile().map_err(|error| spooling(&error))
}

/// Why something could not be kept in a temporary file.
pub(super) fn spooling(error: &io::Error) -> Stop {
    Stop::Failed(format!("a temporary file in TMPDIR: {}", crate::show::Reason(error)))
}

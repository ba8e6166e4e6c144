//! Forms of signatures: DER (GM/T 0009), r ‖ s, and the 128 bytes of SKF (GM/T 0016).

use super::tlv::{Reader, SEQUENCE, integer_len, push_header, push_integer};
use crate::{Error, sm2::Signature};

impl Signature {
    /// Reads SM2Signature of GM/T 0009, strictly in DER: INTEGERs in as few bytes as can be, and
    /// nothing behind them. So no signature has two encodings.
    ///
    /// # Errors
    /// [`Error::Encoding`] if it is anything else; [`Error::Signature`] if r or s is out of range.
    pub fn from_der(der: &[u8]) -> Result<Self, Error> {
        let parse = || {
            let mut reader = Reader::new(der);
            let length = reader.header(SEQUENCE)?;
            if length != reader.rest().len() as u64 {
                return None;
            }
            let numbers = (reader.integer()?, reader.integer()?);
            reader.rest().is_empty().then_some(numbers)
        };
        let (r, s) = parse().ok_or(Error::Encoding("not a signature in DER"))?;
        Signature::new(r, s)
    }

    /// Writes SM2Signature of GM/T 0009 in DER: 8 to 72 bytes.
    pub fn to_der(&self) -> Vec<u8> {
        let length = integer_len(self.r()) + integer_len(self.s());
        let mut der = Vec::with_capacity(2 + length);
        push_header(&mut der, SEQUENCE, length as u64);
        push_integer(&mut der, self.r());
        push_integer(&mut der, self.s());
        der
    }

    /// Reads r and s as devices behind SKF (GM/T 0016) give them: each in 64 bytes, right-aligned
    /// and filled with zeros on the left.
    ///
    /// # Errors
    /// [`Error::Encoding`] if what fills is not zero; [`Error::Signature`] if r or s is out of range.
    pub fn from_skf_bytes(bytes: &[u8; 128]) -> Result<Self, Error> {
        let [zeros_r, r, zeros_s, s] = bytes.as_chunks::<32>().0 else { unreachable!() };
        if *zeros_r != [0; 32] || *zeros_s != [0; 32] {
            return Err(Error::Encoding("r or s of more than 32 bytes"));
        }
        Signature::new(*r, *s)
    }

    /// Writes r and s as devices behind SKF (GM/T 0016) take them: each in 64 bytes, filled with
    /// zeros on the left.
    pub fn to_skf_bytes(&self) -> [u8; 128] {
        let mut bytes = [0; 128];
        bytes[32..64].copy_from_slice(self.r());
        bytes[96..].copy_from_slice(self.s());
        bytes
    }
}

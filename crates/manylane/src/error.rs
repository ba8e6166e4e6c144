//! The one list of what can go wrong, with the status code of each.

use crate::cpu::Machine;

/// Why a call was refused. Nothing has been written to any output when one is returned, but for what proves false at its
/// end: data in place whose tag or padding is wrong ([`Error::Decryption`], and whatever else a decryption in place
/// returns) are then all zero, where the function says so.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The output holds `got` items where the call produces `expected`.
    OutputLength {
        /// Items the call produces.
        expected: usize,
        /// Items the caller's slice holds.
        got: usize,
    },
    /// Two inputs that go together, such as keys and messages, differ in number.
    CountMismatch {
        /// Number of keys.
        keys: usize,
        /// Number of messages.
        messages: usize,
    },
    /// A shape of [`Messages`](crate::Messages) reaches past its data or overlaps itself;
    /// the text says where.
    Shape(&'static str),
    /// An offset is smaller than the one before it, or points past the data.
    Offset {
        /// Index of the offending offset.
        index: usize,
    },
    /// This processor cannot run that machine, or the algorithm has no kernel for it.
    Unavailable(Machine),
    /// A secret key outside [1, n − 2], or a public key that is no point of the curve.
    Key,
    /// A signature that does not hold, for whatever reason.
    Signature,
    /// A user ID of 8192 bytes or more, whose length in bits has no place in Z_A.
    IdLength(usize),
    /// The operating system gave no random bytes.
    Random,
    /// A key exchange that failed: a bad point of the other side, or a confirmation that differs.
    Exchange,
    /// Bytes or text that should hold a key, a signature or a ciphertext do not; the text says why.
    Encoding(&'static str),
    /// An encrypted key does not open: the password is wrong or the key is damaged.
    Password,
    /// The key is encrypted, and no password was given.
    PasswordNeeded,
    /// A message that is empty, or longer than SM2 can encrypt; the number is its length in bytes.
    MessageLength(u64),
    /// A ciphertext that does not decrypt, for whatever reason.
    Decryption,
    /// An IV or nonce whose length the mode of operation does not have; the number is that length in bytes.
    IvLength(usize),
    /// A tag whose length is none of the mode's, or not the one that was agreed on; the number is that length in
    /// bytes.
    TagLength(usize),
    /// Data of a length that a block cipher's mode does not take; the text says which it takes.
    DataLength(&'static str),
    /// A key stream that would come round to its beginning, or a place past its end.
    CounterWrap,
    /// A key that is not as long as the cipher's.
    KeyLength,
    /// A key whose halves are the same, which makes XTS weak.
    WeakKey,
}

impl Error {
    /// A number for it, for interfaces that have no types: always negative, and never reused.
    pub fn code(&self) -> i32 {
        match self {
            Error::OutputLength { .. } => -1,
            Error::CountMismatch { .. } => -2,
            Error::Shape(_) => -3,
            Error::Offset { .. } => -4,
            Error::Unavailable(_) => -5,
            Error::Key => -6,
            Error::Signature => -7,
            Error::IdLength(_) => -8,
            Error::Random => -9,
            Error::Exchange => -10,
            Error::Encoding(_) => -11,
            Error::Password => -12,
            Error::PasswordNeeded => -13,
            Error::MessageLength(_) => -14,
            Error::Decryption => -15,
            Error::IvLength(_) => -16,
            Error::TagLength(_) => -17,
            Error::DataLength(_) => -18,
            Error::CounterWrap => -19,
            Error::KeyLength => -20,
            Error::WeakKey => -21,
        }
    }
}

impl core::fmt::Display for Error {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Error::OutputLength { expected, got } => {
                write!(f, "the output has room for {got} results, {expected} are due")
            }
            Error::CountMismatch { keys, messages } => {
                write!(f, "{keys} keys for {messages} messages")
            }
            Error::Shape(why) => write!(f, "bad shape of messages: {why}"),
            Error::Offset { index } => {
                write!(f, "offset {index} decreases or points past the data")
            }
            Error::Unavailable(machine) => {
                write!(f, "no kernel for machine {machine} on this processor")
            }
            Error::Encoding(why) | Error::DataLength(why) => f.write_str(why),
            Error::Password => f.write_str("the password is wrong, or the key is damaged"),
            Error::PasswordNeeded => f.write_str("the key is encrypted: it needs a password"),
            Error::MessageLength(0) => f.write_str("SM2 encrypts no empty message"),
            Error::MessageLength(len) => {
                write!(f, "a message of {len} bytes; SM2 encrypts at most 137438953440")
            }
            Error::Decryption => f.write_str("the ciphertext does not decrypt"),
            Error::IvLength(len) => {
                write!(f, "an IV of {len} bytes, which this mode does not have")
            }
            Error::TagLength(len) => write!(f, "a tag of {len} bytes where it has another length"),
            Error::CounterWrap => f.write_str("the counter would begin again"),
            Error::KeyLength => f.write_str("the key is not as long as the cipher's"),
            Error::WeakKey => f.write_str("the two halves of the key are the same"),
            Error::Key => f.write_str("not a valid SM2 key"),
            Error::Signature => f.write_str("the signature is not valid"),
            Error::IdLength(len) => {
                write!(f, "a user ID of {len} bytes; at most 8191 are possible")
            }
            Error::Random => f.write_str("the operating system gave no random bytes"),
            Error::Exchange => f.write_str("the key exchange failed"),
        }
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_error_has_a_number_and_words_of_its_own() {
        let all = [
            Error::OutputLength { expected: 1, got: 2 },
            Error::CountMismatch { keys: 1, messages: 2 },
            Error::Shape("why"),
            Error::Offset { index: 1 },
            Error::Unavailable(Machine::Portable),
            Error::Key,
            Error::Signature,
            Error::IdLength(8192),
            Error::Random,
            Error::Exchange,
            Error::Encoding("not a key"),
            Error::Password,
            Error::PasswordNeeded,
            Error::MessageLength(0),
            Error::Decryption,
            Error::IvLength(6),
            Error::TagLength(5),
            Error::DataLength("whole blocks"),
            Error::CounterWrap,
            Error::KeyLength,
            Error::WeakKey,
        ];
        // In the order of their numbers, without a gap: none is there twice, and none is missing here.
        for (error, code) in all.iter().zip(1..) {
            assert_eq!(error.code(), -code, "{error}");
        }
        let words: std::collections::BTreeSet<String> = all.iter().map(Error::to_string).collect();
        assert_eq!(words.len(), all.len());
    }
}

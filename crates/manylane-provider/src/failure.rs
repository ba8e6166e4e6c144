//! Why a call fails, with the numbers and texts that OpenSSL's list of errors shows.

use std::ffi::CStr;

use manylane::Error;

use crate::abi::Item;

/// Why a call fails.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The library says why.
    Library(Error),
    /// The call itself is not right.
    Call(Reason),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Library(error)
    }
}

impl From<Reason> for Failure {
    fn from(reason: Reason) -> Self {
        Failure::Call(reason)
    }
}

macro_rules! reasons {
    ($($name:ident = $number:literal, $text:literal;)+) => {
        /// What is not right with a call.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u32)]
        pub(crate) enum Reason {
            $(#[doc = $text] $name = $number,)+
        }

        const REASONS: &[Item] = &[$(Item { id: $number, text: concat_c!($text) },)+];
    };
}

macro_rules! concat_c {
    ($text:literal) => {
        match CStr::from_bytes_with_nul(concat!($text, "\0").as_bytes()) {
            Ok(text) => text.as_ptr(),
            Err(_) => panic!("a text with a zero byte"),
        }
    };
}

// Numbers below 100 are those of `manylane::Error`, without their signs.
reasons! {
    KeyMissing = 100, "no key has been set";
    IvMissing = 101, "no IV has been set";
    TagMissing = 102, "no tag has been set";
    Parameter = 103, "a parameter has another type or size than it should";
    OutputSize = 104, "the output buffer is too small";
    FinalBlock = 105, "the data are not whole blocks";
    Padding = 106, "bad decrypt: the padding is wrong";
    Finished = 107, "the message has been finished: set an IV first";
    Order = 108, "associated data after data, or a length that came too late";
    Digest = 109, "SM2 signatures here are with SM3 only";
    DigestLength = 110, "a digest to be signed or verified has 32 bytes";
    SecretMissing = 111, "the key is not a secret key";
    PublicMissing = 112, "the key has no public key";
    PeerMissing = 113, "the other side's public key has not been set";
    Group = 114, "the group is not SM2";
    Password = 116, "no password was given";
    LateIdentifier = 118, "the identifier must be set before data";
    Kdf = 119, "key exchange has no key derivation function here";
    Late = 120, "the output has begun";
    Length = 121, "a length that no memory has";
    Unsupported = 122, "this provider has no such setting";
    Memory = 123, "there is not enough memory for the associated data";
    Form = 124, "no such form of points or curves";
}

/// Texts of the library's errors, by their numbers; what differs from case to case is added to each.
const LIBRARY: &[Item] = &[
    Item { id: 1, text: c"bad length of output".as_ptr() },
    Item { id: 5, text: c"no kernel for this processor".as_ptr() },
    Item { id: 6, text: c"not a valid SM2 key".as_ptr() },
    Item { id: 7, text: c"the signature is not valid".as_ptr() },
    Item { id: 8, text: c"the identifier is too long".as_ptr() },
    Item { id: 9, text: c"the operating system gave no random bytes".as_ptr() },
    Item { id: 10, text: c"the key exchange failed".as_ptr() },
    Item { id: 11, text: c"bad encoding".as_ptr() },
    Item { id: 12, text: c"the password is wrong, or the key is damaged".as_ptr() },
    Item { id: 13, text: c"the key is encrypted".as_ptr() },
    Item { id: 14, text: c"a message that SM2 does not encrypt".as_ptr() },
    Item { id: 15, text: c"the ciphertext does not decrypt".as_ptr() },
    Item { id: 16, text: c"bad length of IV".as_ptr() },
    Item { id: 17, text: c"bad length of tag".as_ptr() },
    Item { id: 18, text: c"bad length of data".as_ptr() },
    Item { id: 19, text: c"the counter would begin again".as_ptr() },
    Item { id: 20, text: c"bad length of key".as_ptr() },
    Item { id: 21, text: c"the two halves of the key are the same".as_ptr() },
];

/// All of them, for OpenSSL.
pub(crate) static STRINGS: [Item; LIBRARY.len() + REASONS.len() + 1] = {
    let mut all =
        [const { Item { id: 0, text: std::ptr::null() } }; LIBRARY.len() + REASONS.len() + 1];
    let mut i = 0;
    while i < LIBRARY.len() {
        all[i] = Item { id: LIBRARY[i].id, text: LIBRARY[i].text };
        i += 1;
    }
    while i < LIBRARY.len() + REASONS.len() {
        let reason = &REASONS[i - LIBRARY.len()];
        all[i] = Item { id: reason.id, text: reason.text };
        i += 1;
    }
    all
};

impl Failure {
    /// Its number.
    pub(crate) fn number(&self) -> u32 {
        match self {
            Failure::Library(error) => error.code().unsigned_abs(),
            Failure::Call(reason) => *reason as u32,
        }
    }

    /// What to add to the number's text.
    pub(crate) fn detail(&self) -> Option<String> {
        match self {
            // The others say no more than the number's text does.
            Failure::Library(
                error @ (Error::Encoding(_)
                | Error::DataLength(_)
                | Error::IdLength(_)
                | Error::MessageLength(_)
                | Error::IvLength(_)
                | Error::TagLength(_)),
            ) => Some(error.to_string()),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_one_text_each() {
        let mut numbers: Vec<u32> = STRINGS.iter().map(|item| item.id).collect();
        assert_eq!(numbers.pop(), Some(0));
        assert!(numbers.is_sorted_by(|a, b| a < b));
        assert_eq!(Failure::from(Reason::Late).number(), 120);
        let failure = Failure::from(Error::Encoding("no key"));
        assert_eq!((failure.number(), failure.detail().as_deref()), (11, Some("no key")));
        assert_eq!(Failure::from(Error::Key).detail(), None);
    }
}

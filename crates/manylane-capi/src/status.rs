//! What functions return: zero, or a negative number that says what went wrong.
#![allow(unsafe_code)] // Functions with C's names.

use core::{
    cell::UnsafeCell,
    ffi::{CStr, c_char, c_int},
};
use std::{
    any::Any,
    fmt, io,
    panic::{AssertUnwindSafe, catch_unwind},
};

use manylane::Error;

/// What functions return, as an `int`: zero, or one of these negative numbers. Numbers are never reused; a newer
/// library may return further ones.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum manylane_status {
    /// All is done.
    MANYLANE_OK = 0,
    /// An output has not the room, or not the length, that is needed. Where the function was given a pointer to its
    /// length, that is now the room that is needed.
    MANYLANE_ERROR_OUTPUT_LENGTH = -1,
    /// Two inputs that go together, such as keys and messages, differ in number.
    MANYLANE_ERROR_COUNT_MISMATCH = -2,
    /// Many messages reach past their data, or overlap themselves.
    MANYLANE_ERROR_SHAPE = -3,
    /// An offset is smaller than the one before it, or points past the data.
    MANYLANE_ERROR_OFFSET = -4,
    /// This processor cannot run what was asked for.
    MANYLANE_ERROR_UNAVAILABLE = -5,
    /// A secret key outside [1, n - 2], or a public key that is no point of the curve.
    MANYLANE_ERROR_KEY = -6,
    /// A signature or an authentication code that does not hold, for whatever reason.
    MANYLANE_ERROR_SIGNATURE = -7,
    /// A user ID of 8192 bytes or more.
    MANYLANE_ERROR_ID_LENGTH = -8,
    /// The operating system gave no random bytes.
    MANYLANE_ERROR_RANDOM = -9,
    /// A key exchange that failed: the keys must not be used.
    MANYLANE_ERROR_EXCHANGE = -10,
    /// Bytes or text that should hold a key, a signature or a ciphertext do not.
    MANYLANE_ERROR_ENCODING = -11,
    /// An encrypted key does not open: the password is wrong, or the key is damaged.
    MANYLANE_ERROR_PASSWORD = -12,
    /// The key is encrypted, and no password was given.
    MANYLANE_ERROR_PASSWORD_NEEDED = -13,
    /// A message that is empty, or longer than SM2 can encrypt.
    MANYLANE_ERROR_MESSAGE_LENGTH = -14,
    /// A ciphertext that does not decrypt, for whatever reason.
    MANYLANE_ERROR_DECRYPTION = -15,
    /// An IV or nonce of a length that the mode does not have.
    MANYLANE_ERROR_IV_LENGTH = -16,
    /// A tag of a length that the mode does not have, or not of the one agreed on.
    MANYLANE_ERROR_TAG_LENGTH = -17,
    /// Data of a length that the mode does not take.
    MANYLANE_ERROR_DATA_LENGTH = -18,
    /// A key stream that would begin again.
    MANYLANE_ERROR_COUNTER_WRAP = -19,
    /// A key that is not as long as the cipher's.
    MANYLANE_ERROR_KEY_LENGTH = -20,
    /// A key of XTS whose halves are the same.
    MANYLANE_ERROR_WEAK_KEY = -21,
    /// A null pointer where there must be none.
    MANYLANE_ERROR_NULL = -100,
    /// A pointer that is no handle of this kind, or one that was freed.
    MANYLANE_ERROR_HANDLE = -101,
    /// The handle's work was finished before: it takes nothing more.
    MANYLANE_ERROR_FINISHED = -102,
    /// Another thread is using the handle at this moment.
    MANYLANE_ERROR_BUSY = -103,
    /// An earlier call failed inside the library and left the handle unusable: it can only be freed.
    MANYLANE_ERROR_POISONED = -104,
    /// The library failed: a defect of it. Nothing is known of the outputs.
    MANYLANE_ERROR_PANIC = -105,
    /// A number that is none of its enumeration, or outside the range that the function has.
    MANYLANE_ERROR_ARGUMENT = -106,
    /// A name of no algorithm that the function has.
    MANYLANE_ERROR_NAME = -107,
    /// A length that no object in memory has, or lengths whose product is none.
    MANYLANE_ERROR_LENGTH = -108,
    /// An output that overlaps an input or another output.
    MANYLANE_ERROR_OVERLAP = -109,
    /// The device that was asked for cannot be used.
    MANYLANE_ERROR_DEVICE = -110,
    /// A file could not be opened or read.
    MANYLANE_ERROR_IO = -111,
    /// There is not enough memory.
    MANYLANE_ERROR_MEMORY = -112,
    /// The handle has not come to the point where it does this, or goes another way.
    MANYLANE_ERROR_STATE = -113,
}

use manylane_status::*;

/// What can go wrong here, beside what the library itself says.
#[derive(Debug)]
pub(crate) enum Failure {
    Library(Error),
    Own(manylane_status),
    /// The same with what was wrong.
    Because(manylane_status, String),
}

/// What the work of an entry comes to.
pub(crate) type Result<T = ()> = std::result::Result<T, Failure>;

pub(crate) const NULL: Failure = Failure::Own(MANYLANE_ERROR_NULL);
pub(crate) const HANDLE: Failure = Failure::Own(MANYLANE_ERROR_HANDLE);
pub(crate) const FINISHED: Failure = Failure::Own(MANYLANE_ERROR_FINISHED);
pub(crate) const BUSY: Failure = Failure::Own(MANYLANE_ERROR_BUSY);
pub(crate) const POISONED: Failure = Failure::Own(MANYLANE_ERROR_POISONED);
pub(crate) const LENGTH: Failure = Failure::Own(MANYLANE_ERROR_LENGTH);
pub(crate) const OVERLAP: Failure = Failure::Own(MANYLANE_ERROR_OVERLAP);
pub(crate) const MEMORY: Failure = Failure::Own(MANYLANE_ERROR_MEMORY);

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Library(error)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Failure::Because(MANYLANE_ERROR_IO, error.to_string())
    }
}

impl Failure {
    /// A number that the function does not take.
    pub(crate) fn argument(what: impl fmt::Display) -> Self {
        Failure::Because(MANYLANE_ERROR_ARGUMENT, what.to_string())
    }

    /// What a handle does not do, or not yet.
    pub(crate) fn state(what: &str) -> Self {
        Failure::Because(MANYLANE_ERROR_STATE, what.to_owned())
    }

    /// A name of nothing.
    pub(crate) fn name(what: impl fmt::Display) -> Self {
        Failure::Because(MANYLANE_ERROR_NAME, what.to_string())
    }

    fn code(&self) -> c_int {
        match self {
            Failure::Library(error) => error.code(),
            Failure::Own(status) | Failure::Because(status, _) => *status as c_int,
        }
    }

    fn text(&self) -> String {
        match self {
            Failure::Library(error) => error.to_string(),
            Failure::Own(_) => text_of(self.code()).to_string_lossy().into_owned(),
            Failure::Because(_, why) => why.clone(),
        }
    }
}

/// Bytes of the text at most, and a zero byte.
const LAST_ROOM: usize = 512;

thread_local! {
    /// What went wrong in the calling thread's last call that failed.
    /// Always at the same place, so that a pointer to an older text shows a newer one, and nothing that was freed.
    static LAST: UnsafeCell<[u8; LAST_ROOM]> = const { UnsafeCell::new([0; LAST_ROOM]) };
}

/// Does the work of an entry: no panic leaves it.
pub(crate) fn guard(work: impl FnOnce() -> Result) -> c_int {
    let done = catch_unwind(AssertUnwindSafe(work));
    let failure = match done {
        Ok(Ok(())) => return MANYLANE_OK as c_int,
        Ok(Err(failure)) => failure,
        Err(payload) => Failure::Because(MANYLANE_ERROR_PANIC, panic_text(&*payload)),
    };
    // A thread that is ending has no place for the text any more.
    let _ = LAST.try_with(|last| {
        let text = failure.text().replace('\0', " ");
        let text = &text.as_bytes()[..text.floor_char_boundary(LAST_ROOM - 1)];
        // SAFETY: only this thread has it, and lends it to nobody but C.
        let last = unsafe { &mut *last.get() };
        last[..text.len()].copy_from_slice(text);
        last[text.len()] = 0;
    });
    failure.code()
}

/// Bytes of stack that are wiped after work with keys of ciphers and codes, which goes 22,000 deep (HMAC-SHA3), with
/// one of SM2, 39,000 deep (keys that are read), and with many at once, 141,000 (SM2). A test says when it goes deeper.
pub(crate) const SYMMETRIC: usize = 24 << 10;
pub(crate) const SM2: usize = 48 << 10;
pub(crate) const MANY: usize = 160 << 10;

/// The same for work with keys and what is computed of them. Rust moves values without wiping where they were, so the
/// stack that the work has used is wiped.
pub(crate) fn guard_secret<const WIPED: usize>(work: impl FnOnce() -> Result) -> c_int {
    /// In a frame of its own: what is below this one is wiped.
    #[inline(never)]
    fn deeper(work: impl FnOnce() -> Result) -> c_int {
        guard(work)
    }
    let code = deeper(work);
    zeroize::zeroize_stack::<WIPED>();
    code
}

/// The same for what returns nothing.
pub(crate) fn guard_free(work: impl FnOnce()) {
    let _ = catch_unwind(AssertUnwindSafe(work));
}

fn panic_text(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    format!("the library failed: {}", text.unwrap_or("for an unknown reason"))
}

/// One sentence for each status.
const TEXTS: [(manylane_status, &CStr); 36] = [
    (MANYLANE_OK, c"all is done"),
    (MANYLANE_ERROR_OUTPUT_LENGTH, c"the output has not the length that is needed"),
    (MANYLANE_ERROR_COUNT_MISMATCH, c"keys and messages differ in number"),
    (MANYLANE_ERROR_SHAPE, c"the messages reach past their data or overlap themselves"),
    (MANYLANE_ERROR_OFFSET, c"an offset decreases or points past the data"),
    (MANYLANE_ERROR_UNAVAILABLE, c"this processor cannot run what was asked for"),
    (MANYLANE_ERROR_KEY, c"not a valid SM2 key"),
    (MANYLANE_ERROR_SIGNATURE, c"the signature or authentication code is not valid"),
    (MANYLANE_ERROR_ID_LENGTH, c"the user ID has more than 8191 bytes"),
    (MANYLANE_ERROR_RANDOM, c"the operating system gave no random bytes"),
    (MANYLANE_ERROR_EXCHANGE, c"the key exchange failed"),
    (MANYLANE_ERROR_ENCODING, c"not a key, signature or ciphertext in the form expected"),
    (MANYLANE_ERROR_PASSWORD, c"the password is wrong, or the key is damaged"),
    (MANYLANE_ERROR_PASSWORD_NEEDED, c"the key is encrypted: it needs a password"),
    (MANYLANE_ERROR_MESSAGE_LENGTH, c"SM2 encrypts 1 to 137438953440 bytes"),
    (MANYLANE_ERROR_DECRYPTION, c"the ciphertext does not decrypt"),
    (MANYLANE_ERROR_IV_LENGTH, c"the IV has a length that this mode does not have"),
    (MANYLANE_ERROR_TAG_LENGTH, c"the tag has a length that is not expected"),
    (MANYLANE_ERROR_DATA_LENGTH, c"the data have a length that this mode does not take"),
    (MANYLANE_ERROR_COUNTER_WRAP, c"the counter would begin again"),
    (MANYLANE_ERROR_KEY_LENGTH, c"the key is not as long as the cipher's"),
    (MANYLANE_ERROR_WEAK_KEY, c"the two halves of the key are the same"),
    (MANYLANE_ERROR_NULL, c"a null pointer where there must be none"),
    (MANYLANE_ERROR_HANDLE, c"not a handle of this kind, or one that was freed"),
    (MANYLANE_ERROR_FINISHED, c"the handle's work was finished before"),
    (MANYLANE_ERROR_BUSY, c"another thread is using the handle"),
    (MANYLANE_ERROR_POISONED, c"an earlier failure left the handle unusable"),
    (MANYLANE_ERROR_PANIC, c"the library failed, which is a defect of it"),
    (MANYLANE_ERROR_ARGUMENT, c"a number that the function does not take"),
    (MANYLANE_ERROR_NAME, c"a name of no algorithm that the function has"),
    (MANYLANE_ERROR_LENGTH, c"a length that no object in memory has"),
    (MANYLANE_ERROR_OVERLAP, c"an output overlaps an input or another output"),
    (MANYLANE_ERROR_DEVICE, c"the device cannot be used"),
    (MANYLANE_ERROR_IO, c"a file could not be opened or read"),
    (MANYLANE_ERROR_MEMORY, c"there is not enough memory"),
    (MANYLANE_ERROR_STATE, c"the handle is not at the point where it does this"),
];

fn text_of(code: c_int) -> &'static CStr {
    let found = TEXTS.iter().find(|(status, _)| *status as c_int == code);
    found.map_or(c"unknown status", |(_, text)| text)
}

/// What a status means: a short text in English, without a full stop. It is static: not to be freed.
#[unsafe(no_mangle)]
pub extern "C" fn manylane_error_text(status: c_int) -> *const c_char {
    text_of(status).as_ptr()
}

/// What went wrong in the last call that failed on the calling thread, with details such as the length that was
/// expected or what is wrong with a key file; "" if none has failed. It is there until the thread ends, and is
/// overwritten by the next call that fails on this thread. For logs and people: programs look at the status.
#[unsafe(no_mangle)]
pub extern "C" fn manylane_last_error() -> *const c_char {
    LAST.try_with(|last| last.get().cast_const().cast()).unwrap_or(c"".as_ptr())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The library's numbers are `error.rs`'s: each of them is here, under the same number.
    #[test]
    fn every_error_of_the_library_has_a_status() {
        let all = [
            (Error::OutputLength { expected: 1, got: 2 }, MANYLANE_ERROR_OUTPUT_LENGTH),
            (Error::CountMismatch { keys: 1, messages: 2 }, MANYLANE_ERROR_COUNT_MISMATCH),
            (Error::Shape(""), MANYLANE_ERROR_SHAPE),
            (Error::Offset { index: 1 }, MANYLANE_ERROR_OFFSET),
            (Error::Unavailable(manylane::cpu::Machine::Portable), MANYLANE_ERROR_UNAVAILABLE),
            (Error::Key, MANYLANE_ERROR_KEY),
            (Error::Signature, MANYLANE_ERROR_SIGNATURE),
            (Error::IdLength(8192), MANYLANE_ERROR_ID_LENGTH),
            (Error::Random, MANYLANE_ERROR_RANDOM),
            (Error::Exchange, MANYLANE_ERROR_EXCHANGE),
            (Error::Encoding(""), MANYLANE_ERROR_ENCODING),
            (Error::Password, MANYLANE_ERROR_PASSWORD),
            (Error::PasswordNeeded, MANYLANE_ERROR_PASSWORD_NEEDED),
            (Error::MessageLength(0), MANYLANE_ERROR_MESSAGE_LENGTH),
            (Error::Decryption, MANYLANE_ERROR_DECRYPTION),
            (Error::IvLength(6), MANYLANE_ERROR_IV_LENGTH),
            (Error::TagLength(5), MANYLANE_ERROR_TAG_LENGTH),
            (Error::DataLength(""), MANYLANE_ERROR_DATA_LENGTH),
            (Error::CounterWrap, MANYLANE_ERROR_COUNTER_WRAP),
            (Error::KeyLength, MANYLANE_ERROR_KEY_LENGTH),
            (Error::WeakKey, MANYLANE_ERROR_WEAK_KEY),
        ];
        for (i, (error, status)) in all.into_iter().enumerate() {
            assert_eq!(error.code(), status as c_int);
            // In the order of the texts, behind the one for success.
            assert_eq!(TEXTS[i + 1].0, status);
        }
    }

    #[test]
    fn texts_are_there_and_differ() {
        let words: std::collections::BTreeSet<_> = TEXTS.iter().map(|(_, text)| text).collect();
        assert_eq!(words.len(), TEXTS.len());
        assert_eq!(text_of(-99), c"unknown status");
    }

    #[test]
    fn a_panic_becomes_a_status_with_its_words() {
        assert_eq!(guard(|| panic!("of {}", 2)), MANYLANE_ERROR_PANIC as c_int);
        // SAFETY: the text is the thread's, and no call has failed since.
        let text = unsafe { CStr::from_ptr(manylane_last_error()) };
        assert_eq!(text, c"the library failed: of 2");
        assert_eq!(guard(|| Err(Error::TagLength(5).into())), -17);
        // SAFETY: as above.
        let text = unsafe { CStr::from_ptr(manylane_last_error()) };
        assert_eq!(text, c"a tag of 5 bytes where it has another length");
    }
}

//! Many messages at once. Points are multiplied side by side, see `lanes.rs`, and messages hashed so.

mod encrypt;
mod key;
mod sign;

pub use self::{
    encrypt::{decrypt_many, encrypt_many},
    key::{diffie_hellman_many, generate_many},
    sign::{sign_digest_many, sign_many, verify_digest_many, verify_many},
};
use crate::Error;

/// Messages that are worked on together at most: as many as give lanes of unequal length something to
/// go on with, and inversions nothing to weigh.
const WINDOW: usize = 64;

fn check_counts(keys: usize, messages: usize, out: usize) -> Result<(), Error> {
    match (keys == messages, out == messages) {
        (false, _) => Err(Error::CountMismatch { keys, messages }),
        (true, false) => Err(Error::OutputLength { expected: messages, got: out }),
        (true, true) => Ok(()),
    }
}

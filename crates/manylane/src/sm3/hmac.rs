//! HMAC-SM3 (RFC 2104 with SM3), one message or many, and what is built on it.

use super::{
    DIGEST_LEN, Kernel, Sm3,
    dispatch::{Cell, Stream},
    hash, many,
};
use crate::{Error, Messages, cpu::Machine, ct::wipe_bytes};

/// HMAC-SM3 of one stream, by the RustCrypto `Mac` traits.
pub type HmacSm3 = ::hmac::Hmac<Sm3>;

/// HKDF (RFC 5869) with HMAC-SM3.
pub type HkdfSm3 = ::hkdf::Hkdf<Sm3>;

/// PBKDF2 (RFC 8018) with HMAC-SM3: fills `key` from the password.
///
/// # Panics
/// If `iterations` is zero, or `key` is longer than 2³² − 1 blocks of 32 bytes.
pub fn pbkdf2(password: &[u8], salt: &[u8], iterations: u32, key: &mut [u8]) {
    assert!(iterations > 0, "PBKDF2 needs at least one iteration");
    let blocks = key.len().div_ceil(DIGEST_LEN) as u64;
    assert!(blocks <= u64::from(u32::MAX), "PBKDF2 gives at most 2^32 - 1 blocks");
    ::pbkdf2::pbkdf2_hmac::<Sm3>(password, salt, iterations, key);
}

/// HMAC-SM3 of each message under its own key, in order, into `out`.
///
/// Keys may have any length; one longer than a block is hashed first, as RFC 2104 says. Takes
/// the time that lengths alone decide.
///
/// # Errors
/// [`Error::CountMismatch`] unless there are as many keys as messages;
/// [`Error::OutputLength`] unless `out.len() == messages.len()`.
pub fn hmac_many(
    keys: &Messages,
    messages: &Messages,
    out: &mut [[u8; DIGEST_LEN]],
) -> Result<(), Error> {
    many::hmac_many(Cell::best(), Some(Stream::best()), keys, messages, out)?;
    Ok(())
}

/// [`hmac_many`] on one machine, for tests and comparisons; says which kernel ran. Keys longer than
/// a block are hashed by the best stream all the same.
///
/// # Errors
/// As [`hmac_many`], and [`Error::Unavailable`] if the machine cannot be used.
pub fn hmac_many_on(
    machine: Machine,
    keys: &Messages,
    messages: &Messages,
    out: &mut [[u8; DIGEST_LEN]],
) -> Result<Option<Kernel>, Error> {
    many::hmac_many(Cell::on(machine)?, None, keys, messages, out)
}

/// K_0 xor `pad` of RFC 2104.
pub(super) fn key_block(key: &[u8], pad: u8, block: &mut [u8; 64]) {
    block.fill(pad);
    let mix = |block: &mut [u8; 64], key: &[u8]| {
        for (b, k) in block.iter_mut().zip(key) {
            *b ^= k;
        }
    };
    if key.len() > 64 {
        let mut digest = hash(key);
        mix(block, &digest);
        wipe_bytes(&mut digest);
    } else {
        mix(block, key);
    }
}

//! Many messages to encrypt and decrypt: C3's hashes of different messages side by side in lanes.
//!
//! The hash of one message is serial, those of different messages are not: sixteen of them side by
//! side take less time than two one after another. Key streams fill the lanes by themselves.

use subtle::ConstantTimeEq as _;
use zeroize::{Zeroize as _, Zeroizing};

use super::{
    super::{
        PublicKey, Sealed, SecretKey,
        encrypt::{self, MAX_MESSAGE_LEN},
        lanes::{ephemerals, shared_points},
        point::Affine,
        scalar::Scalar,
    },
    WINDOW, check_counts,
};
use crate::{
    Error, Messages,
    ct::{reveal, wipe_bytes},
    sm3::{
        counter::Counters,
        dispatch::{Cell, Stream},
        many::hash_many_between,
    },
};

/// Fewer messages than this are done one after another: a message's hash beside its own key stream
/// takes about half the time of a row of lanes, however few of these are filled.
const MIN_MANY: usize = 3;

/// As many messages as fill the lanes of any machine.
const LANES: usize = 16;

/// Bytes of messages that are worked on together, if these fill the lanes: hash and key stream pass
/// over them one after the other, the second time from the second cache.
const WINDOW_BYTES: usize = 1 << 20;

/// Encrypts each message where it lies, M into C2, to its key, on the calling thread.
///
/// A message that cannot be encrypted gets its error, as of [`PublicKey::encrypt_in_place`], and is
/// as it was; the others are not affected.
///
/// ```
/// use manylane::{Error, sm2};
///
/// let key = sm2::SecretKey::generate()?;
/// let (mut a, mut b) = (*b"a message", *b"another one");
/// let mut sealed = [Err(Error::Decryption), Err(Error::Decryption)];
/// sm2::encrypt_many(&[key.public_key(); 2], &mut [&mut a, &mut b], &mut sealed)?;
/// key.decrypt_in_place(&sealed[1].clone()?, &mut b)?;
/// assert_eq!(&b, b"another one");
/// # Ok::<(), Error>(())
/// ```
///
/// # Errors
/// [`Error::CountMismatch`] unless there are as many keys as messages, [`Error::OutputLength`] unless
/// `out` has as many places. Nothing is changed then.
pub fn encrypt_many(
    keys: &[&PublicKey],
    messages: &mut [&mut [u8]],
    out: &mut [Result<Sealed, Error>],
) -> Result<(), Error> {
    check_counts(keys.len(), messages.len(), out.len())?;
    let mut first = 0;
    for messages in windows(messages) {
        let range = first..first + messages.len();
        first = range.end;
        let (keys, out) = (&keys[range.clone()], &mut out[range]);
        if messages.len() < MIN_MANY {
            for (i, message) in messages.iter_mut().enumerate() {
                out[i] = keys[i].encrypt_in_place(message);
            }
        } else {
            encrypt_window(keys, messages, out);
        }
    }
    Ok(())
}

fn encrypt_window(
    keys: &[&PublicKey],
    messages: &mut [&mut [u8]],
    out: &mut [Result<Sealed, Error>],
) {
    let mut nonces = Zeroizing::new([Scalar::ONE; WINDOW]);
    let mut peers = [Affine::default(); WINDOW];
    for (i, (key, message)) in keys.iter().zip(messages.iter()).enumerate() {
        peers[i] = key.point;
        out[i] = encrypt::nonce(key, message, 0).map(|nonce| {
            nonces[i] = *nonce;
            Sealed { c1: [0; 65], c3: [0; 32] }
        });
    }
    let count = messages.len();
    let mut points = Zeroizing::new([[0; 64]; WINDOW]);
    let mut c1 = [[0; 65]; WINDOW];
    ephemerals(&nonces[..count], &peers[..count], &mut c1[..count], &mut points[..count]);
    for (i, message) in messages.iter().enumerate() {
        if out[i].is_err() {
            continue;
        }
        let is_zero = Counters::after(&points[i]).is_zero(message.len() as u64);
        let ephemeral = match is_zero {
            false => Ok((c1[i], Zeroizing::new(points[i]))),
            true => encrypt::ephemeral(keys[i], message, 1),
        };
        out[i] = ephemeral.map(|(c1, shared)| {
            points[i] = *shared;
            Sealed { c1, c3: [0; 32] }
        });
    }
    let digests = hash_window(&points[..messages.len()], messages, |i| out[i].is_ok());
    for (i, message) in messages.iter_mut().enumerate() {
        if let Ok(sealed) = &mut out[i] {
            sealed.c3 = digests[i];
            Counters::after(&points[i]).xor(32, message);
        }
    }
}

/// Decrypts each message where it lies, C2 into M, with its key, on the calling thread.
///
/// A message that does not decrypt gets [`Error::Decryption`], and nothing is left of it: all of it
/// is zero. The others are not affected.
///
/// # Errors
/// As [`encrypt_many`], where what was sealed counts as the keys do.
pub fn decrypt_many(
    keys: &[&SecretKey],
    sealed: &[Sealed],
    data: &mut [&mut [u8]],
    out: &mut [Result<(), Error>],
) -> Result<(), Error> {
    check_counts(keys.len(), data.len(), out.len())?;
    check_counts(sealed.len(), data.len(), out.len())?;
    let mut first = 0;
    for data in windows(data) {
        let range = first..first + data.len();
        first = range.end;
        let (keys, sealed, out) = (&keys[range.clone()], &sealed[range.clone()], &mut out[range]);
        if data.len() < MIN_MANY {
            for (i, data) in data.iter_mut().enumerate() {
                out[i] = keys[i].decrypt_in_place(&sealed[i], data);
            }
        } else {
            decrypt_window(keys, sealed, data, out);
        }
    }
    Ok(())
}

fn decrypt_window(
    keys: &[&SecretKey],
    sealed: &[Sealed],
    data: &mut [&mut [u8]],
    out: &mut [Result<(), Error>],
) {
    let mut numbers = Zeroizing::new([Scalar::ONE; WINDOW]);
    // In the place of a bad one, a good one, whose multiple is not used.
    let mut c1 = [keys[0].public_key().point; WINDOW];
    for (i, sealed) in sealed.iter().enumerate() {
        numbers[i] = keys[i].d;
        out[i] = encrypt::point_of(&sealed.c1).map(|point| c1[i] = point.point);
    }
    let count = data.len();
    let mut points = Zeroizing::new([[0; 64]; WINDOW]);
    shared_points(&numbers[..count], &c1[..count], &mut points[..count]);
    for (i, data) in data.iter_mut().enumerate() {
        if out[i].is_err() {
            continue;
        }
        let len = data.len() as u64;
        let counters = Counters::after(&points[i]);
        // Encryption makes neither: no empty message, and no key stream of zero.
        if !(1..=MAX_MESSAGE_LEN).contains(&len) || counters.is_zero(len) {
            out[i] = Err(Error::Decryption);
        } else {
            counters.xor(32, data);
        }
    }
    let mut digests = hash_window(&points[..data.len()], data, |i| out[i].is_ok());
    for (i, data) in data.iter_mut().enumerate() {
        if out[i].is_ok() && !reveal(digests[i].ct_eq(&sealed[i].c3)) {
            out[i] = Err(Error::Decryption);
        }
        if out[i].is_err() {
            wipe_bytes(data);
        }
    }
    digests.zeroize();
}

/// The messages that are worked on together, in order.
fn windows<'w, 'm>(
    mut messages: &'w mut [&'m mut [u8]],
) -> impl Iterator<Item = &'w mut [&'m mut [u8]]> {
    std::iter::from_fn(move || {
        let mut bytes = 0;
        let fits = |(i, message): &(usize, &&mut [u8])| {
            bytes += message.len();
            *i < LANES || *i < WINDOW && bytes <= WINDOW_BYTES
        };
        let count = messages.iter().enumerate().take_while(fits).count();
        let (window, left) = std::mem::take(&mut messages).split_at_mut(count);
        messages = left;
        (!window.is_empty()).then_some(window)
    })
}

/// C3 of each message that `takes_part`; of the others, of none.
fn hash_window(
    points: &[[u8; 64]],
    messages: &[&mut [u8]],
    takes_part: impl Fn(usize) -> bool,
) -> [[u8; 32]; WINDOW] {
    let mut inputs = [&[][..]; WINDOW];
    for (i, message) in messages.iter().enumerate().filter(|(i, _)| takes_part(*i)) {
        inputs[i] = message;
    }
    let inputs = Messages::slices(&inputs[..messages.len()]);
    let mut digests = [[0; 32]; WINDOW];
    let out = &mut digests[..messages.len()];
    hash_many_between(Cell::best(), Some(Stream::best()), points, &inputs, out);
    digests
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_are_all_messages_in_order() {
        let sizes = |lens: &[usize]| {
            let mut data: Vec<Vec<u8>> = lens.iter().map(|&len| vec![0; len]).collect();
            let mut messages: Vec<&mut [u8]> = data.iter_mut().map(Vec::as_mut_slice).collect();
            windows(&mut messages).map(|window| window.len()).collect::<Vec<_>>()
        };
        assert!(sizes(&[]).is_empty());
        assert_eq!(sizes(&[0; 130]), [64, 64, 2]);
        assert_eq!(sizes(&[WINDOW_BYTES; 20]), [16, 4]);
        assert_eq!(sizes(&[WINDOW_BYTES / 20; 45]), [20, 20, 5]);
    }
}

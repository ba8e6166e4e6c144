//! SM2 encryption of one long message on two threads: its hash is serial, its key stream is not.
//!
//! The caller hashes, part by part, and another thread does the key stream, which takes a fifth of that
//! time. So both together take as long as the hash alone.

use std::{
    collections::VecDeque,
    sync::{Condvar, Mutex, TryLockError},
};

use manylane::{
    Error,
    sm2::{Decryptor, Encryptor, MAX_MESSAGE_LEN, PublicKey, Sealed, SecretKey},
};
use zeroize::Zeroize;

use crate::runtime::{Pool, lock, wait};

/// Bytes that go from one thread to the other at a time.
const PART: usize = 64 << 10;

/// Bytes of the shortest message for two threads: a shorter one is done about when the other thread
/// would be awake.
const SHORTEST: u64 = 1 << 20;

/// Whether a message of that length is for two threads.
pub(crate) fn is_for_two(len: usize) -> bool {
    (SHORTEST..=MAX_MESSAGE_LEN).contains(&(len as u64))
}

/// Encrypts: this thread hashes a part of M, then another one turns it into C2.
pub(crate) fn encrypt(pool: &Pool, key: &PublicKey, message: &mut [u8]) -> Result<Sealed, Error> {
    let encryptor = Encryptor::new(key, message)?;
    let c1 = *encryptor.c1();
    let (key_stream, mut hash) = encryptor.into_halves();
    let hashed = Queue::default();
    let help = || {
        while let Some((offset, part)) = hashed.next() {
            key_stream.xor(offset, part).expect("the message is short enough");
        }
    };
    let c3 = pool.run(1, &help, || {
        let closing = Closing(&hashed);
        for (i, part) in message.chunks_mut(PART).enumerate() {
            hash.update(part);
            hashed.push(((i * PART) as u64, part));
        }
        drop(closing);
        help();
        hash.finalize()
    })?;
    Ok(Sealed { c1, c3 })
}

/// Decrypts: another thread turns parts of C2 into M, and this one hashes them.
pub(crate) fn decrypt(
    pool: &Pool,
    key: &SecretKey,
    sealed: &Sealed,
    data: &mut [u8],
) -> Result<(), Error> {
    let decrypted = decrypt_parts(pool, key, sealed, data);
    decrypted.inspect_err(|_| data.zeroize())
}

fn decrypt_parts(
    pool: &Pool,
    key: &SecretKey,
    sealed: &Sealed,
    data: &mut [u8],
) -> Result<(), Error> {
    let (key_stream, mut hash) = Decryptor::new(key, &sealed.c1)?.into_halves();
    let part = |(i, data)| Part { offset: (i * PART) as u64, data, is_message: false };
    let parts: Vec<Mutex<Part>> =
        data.chunks_mut(PART).enumerate().map(part).map(Mutex::new).collect();
    let decrypt = |part: &mut Part| {
        if !part.is_message {
            key_stream.xor(part.offset, part.data).expect("the message is short enough");
            part.is_message = true;
        }
    };
    let help = || {
        for part in &parts {
            // One that is locked has been reached by the other thread, which does it itself.
            match part.try_lock() {
                Ok(mut part) => decrypt(&mut part),
                Err(TryLockError::WouldBlock | TryLockError::Poisoned(_)) => {}
            }
        }
    };
    pool.run(1, &help, || {
        for part in &parts {
            let mut part = lock(part);
            decrypt(&mut part);
            hash.update(part.data);
        }
    });
    hash.verify(&key_stream, &sealed.c3)
}

/// A part of a message that is decrypted by whoever comes first.
struct Part<'m> {
    offset: u64,
    data: &'m mut [u8],
    is_message: bool,
}

/// Parts that have been hashed, with their places, until there are no more.
#[derive(Default)]
struct Queue<'m> {
    state: Mutex<State<'m>>,
    changed: Condvar,
}

#[derive(Default)]
struct State<'m> {
    parts: VecDeque<(u64, &'m mut [u8])>,
    closed: bool,
}

impl<'m> Queue<'m> {
    fn push(&self, part: (u64, &'m mut [u8])) {
        lock(&self.state).parts.push_back(part);
        self.changed.notify_one();
    }

    /// The next part, waited for; none if there will be no more.
    fn next(&self) -> Option<(u64, &'m mut [u8])> {
        let mut state = lock(&self.state);
        loop {
            match state.parts.pop_front() {
                None if !state.closed => state = wait(&self.changed, state),
                next => return next,
            }
        }
    }
}

/// Closes the queue when it is dropped, so that nobody waits for a thread that panicked.
struct Closing<'q, 'm>(&'q Queue<'m>);

impl Drop for Closing<'_, '_> {
    fn drop(&mut self) {
        lock(&self.0.state).closed = true;
        self.0.changed.notify_all();
    }
}

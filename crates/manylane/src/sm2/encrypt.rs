//! Public-key encryption (GB/T 32918.4-2016).
//!
//! C1 = k·G, C2 = M ⊕ KDF(x2 ‖ y2, klen), C3 = SM3(x2 ‖ M ‖ y2), with (x2, y2) = k·P = d·C1. The key
//! derivation function and C3's hash share the work as `sm3/beside.rs` says.

use subtle::ConstantTimeEq as _;
use zeroize::Zeroizing;

use super::{
    Ciphertext, CiphertextForm, PublicKey, SecretKey,
    key::{Ephemeral, nonce_of_ephemeral},
    scalar::Scalar,
};
use crate::{
    Error,
    cpu::Machine,
    ct::{reveal, wipe_bytes},
    sm3::{
        Midstate,
        beside::{Beside, Between, Direction},
        counter::Counters,
    },
};

/// Bytes of the longest message: KDF makes 32 for each of the counters 1 … 2³² − 1 (clause 5.4.3).
pub const MAX_MESSAGE_LEN: u64 = 32 * (u32::MAX as u64);

/// What a ciphertext has beside C2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Sealed {
    /// C1: 04 ‖ x ‖ y of a point.
    pub c1: [u8; 65],
    /// C3: the hash of the message between the coordinates of the shared point.
    pub c3: [u8; 32],
}

impl PublicKey {
    /// Encrypts a message into a ciphertext of the given form.
    ///
    /// ```
    /// use manylane::sm2::{CiphertextForm, SecretKey};
    ///
    /// let key = SecretKey::generate()?;
    /// let ciphertext = key.public_key().encrypt(CiphertextForm::Asn1, b"message")?;
    /// assert_eq!(key.decrypt(CiphertextForm::Asn1, &ciphertext)?[..], b"message"[..]);
    /// # Ok::<(), manylane::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`encrypt_in_place`](Self::encrypt_in_place).
    pub fn encrypt(&self, form: CiphertextForm, message: &[u8]) -> Result<Vec<u8>, Error> {
        let mut encryptor = Encryptor::of(self, message)?;
        let head = form.head(encryptor.c1(), message.len() as u64)?;
        let tail: &[u8] = if head.c3_offset().is_none() { &[0; 32] } else { &[] };
        let mut ciphertext = [head.as_bytes(), message, tail].concat();
        let start = head.as_bytes().len();
        encryptor.update(&mut ciphertext[start..start + message.len()])?;
        let c3 = encryptor.finalize()?;
        let at = head.c3_offset().unwrap_or(start + message.len());
        ciphertext[at..at + 32].copy_from_slice(&c3);
        Ok(ciphertext)
    }

    /// Encrypts a message where it lies, M into C2.
    ///
    /// # Errors
    /// [`Error::MessageLength`] if it is empty, or longer than [`MAX_MESSAGE_LEN`]; [`Error::Random`]
    /// if the operating system has no random bytes. The message is then as it was.
    pub fn encrypt_in_place(&self, message: &mut [u8]) -> Result<Sealed, Error> {
        let mut encryptor = Encryptor::of(self, message)?;
        encryptor.update(message)?;
        Ok(Sealed { c1: encryptor.c1, c3: encryptor.finalize()? })
    }
}

impl SecretKey {
    /// Decrypts a ciphertext of the given form.
    ///
    /// # Errors
    /// [`Error::Decryption`] if that fails, for whatever reason.
    pub fn decrypt(
        &self,
        form: CiphertextForm,
        ciphertext: &[u8],
    ) -> Result<Zeroizing<Vec<u8>>, Error> {
        let parts = Ciphertext::parse(form, ciphertext).map_err(|_| Error::Decryption)?;
        let mut message = Zeroizing::new(parts.c2.to_vec());
        self.decrypt_in_place(&Sealed { c1: parts.c1, c3: parts.c3 }, &mut message)?;
        Ok(message)
    }

    /// Decrypts a message where it lies, C2 into M. If that fails, nothing of M is left there: all of
    /// it is zero.
    ///
    /// # Errors
    /// [`Error::Decryption`] if that fails, for whatever reason.
    pub fn decrypt_in_place(&self, sealed: &Sealed, data: &mut [u8]) -> Result<(), Error> {
        let decrypt = |data: &mut [u8]| {
            let mut decryptor = Decryptor::new(self, &sealed.c1)?;
            decryptor.update(data)?;
            decryptor.finalize(&sealed.c3)
        };
        decrypt(data).inspect_err(|_| wipe_bytes(data))
    }
}

/// Encryption of a message that comes in parts, in bounded memory.
///
/// ```
/// use manylane::sm2::{Decryptor, Encryptor, SecretKey};
///
/// let key = SecretKey::generate()?;
/// let mut message = *b"a message of two parts";
/// let mut encryptor = Encryptor::new(key.public_key(), &message)?;
/// let c1 = *encryptor.c1();
/// encryptor.update(&mut message[..9])?;
/// encryptor.update(&mut message[9..])?;
/// let c3 = encryptor.finalize()?;
///
/// let mut decryptor = Decryptor::new(&key, &c1)?;
/// decryptor.update(&mut message)?;
/// decryptor.finalize(&c3)?;
/// assert_eq!(message, *b"a message of two parts");
/// # Ok::<(), manylane::Error>(())
/// ```
pub struct Encryptor {
    c1: [u8; 65],
    message: Message,
}

impl Encryptor {
    /// Begins a message whose first bytes are `start`: at least 32 bytes, or all of it if it is
    /// shorter. They are only looked at, to draw the nonce: it depends on them, besides the count of
    /// calls and the time, so that even a broken generator gives each message another nonce; and it
    /// is drawn again if the key stream would leave all of a message as it is.
    ///
    /// # Errors
    /// [`Error::MessageLength`] if `start` is empty; [`Error::Random`] if the operating system has no
    /// random bytes.
    pub fn new(key: &PublicKey, start: &[u8]) -> Result<Self, Error> {
        Encryptor::of(key, start)
    }

    /// [`new`](Self::new) on one machine's lanes, for tests and comparisons; the hash's stream is the
    /// best of the machines that are not more capable.
    ///
    /// # Errors
    /// As [`new`](Self::new), and [`Error::Unavailable`] if the machine has no kernel for lanes, or
    /// this processor lacks it.
    pub fn new_on(machine: Machine, key: &PublicKey, start: &[u8]) -> Result<Self, Error> {
        let (c1, shared) = ephemeral(key, start, 0)?;
        let beside = Beside::new_on(machine, &shared)?;
        Ok(Encryptor { c1, message: Message { beside, len: 0 } })
    }

    /// Begins a message that is all there, or begins as `message`.
    fn of(key: &PublicKey, message: &[u8]) -> Result<Self, Error> {
        let (c1, shared) = ephemeral(key, message, 0)?;
        Ok(Encryptor { c1, message: Message { beside: Beside::new(&shared), len: 0 } })
    }

    /// C1: 04 ‖ x ‖ y.
    pub fn c1(&self) -> &[u8; 65] {
        &self.c1
    }

    /// The next part of the message, M into C2.
    ///
    /// # Errors
    /// [`Error::MessageLength`] if the message becomes longer than [`MAX_MESSAGE_LEN`]. The part is
    /// then as it was.
    pub fn update(&mut self, data: &mut [u8]) -> Result<(), Error> {
        self.message.update(Direction::Encrypt, data)
    }

    /// The two halves of what is left to do, for two threads: the key stream, which has no order, and
    /// the hash of M, which is serial and takes longer. [`MessageHash::finalize`] is C3.
    pub fn into_halves(self) -> (KeyStream, MessageHash) {
        self.message.into_halves()
    }

    /// The end of the message: C3.
    ///
    /// # Errors
    /// [`Error::MessageLength`] if no byte of it came.
    pub fn finalize(self) -> Result<[u8; 32], Error> {
        self.into_halves().1.finalize()
    }
}

/// Decryption of a message that comes in parts, in bounded memory.
///
/// What [`update`](Self::update) makes is not to be used, shown or written anywhere before
/// [`finalize`](Self::finalize) says that it is the message: until then it may be anything that
/// somebody made of it. Where it does not fit in memory, two passes do: one whose results are thrown
/// away, and a second one once the first has come to a good end.
pub struct Decryptor {
    message: Message,
}

impl Decryptor {
    /// Begins a message that has C1, 04 ‖ x ‖ y.
    ///
    /// # Errors
    /// [`Error::Decryption`] unless C1 is a point of the curve.
    pub fn new(key: &SecretKey, c1: &[u8; 65]) -> Result<Self, Error> {
        let beside = Beside::new(&*shared_point(key, c1)?);
        Ok(Decryptor { message: Message { beside, len: 0 } })
    }

    /// [`new`](Self::new) on one machine's lanes, as [`Encryptor::new_on`].
    ///
    /// # Errors
    /// As [`new`](Self::new), and [`Error::Unavailable`] if the machine has no kernel for lanes, or
    /// this processor lacks it.
    pub fn new_on(machine: Machine, key: &SecretKey, c1: &[u8; 65]) -> Result<Self, Error> {
        let beside = Beside::new_on(machine, &*shared_point(key, c1)?)?;
        Ok(Decryptor { message: Message { beside, len: 0 } })
    }

    /// The next part, C2 into what may become M.
    ///
    /// # Errors
    /// [`Error::Decryption`] if the message becomes longer than [`MAX_MESSAGE_LEN`].
    pub fn update(&mut self, data: &mut [u8]) -> Result<(), Error> {
        self.message.update(Direction::Decrypt, data).map_err(|_| Error::Decryption)
    }

    /// The two halves of what is left to do, for two threads, as [`Encryptor::into_halves`];
    /// [`MessageHash::verify`] is the end.
    pub fn into_halves(self) -> (KeyStream, MessageHash) {
        self.message.into_halves()
    }

    /// Whether it is the message that was encrypted.
    ///
    /// # Errors
    /// [`Error::Decryption`] if not. All that was decrypted is then to be wiped.
    pub fn finalize(self, c3: &[u8; 32]) -> Result<(), Error> {
        let (key_stream, hash) = self.message.into_halves();
        hash.verify(&key_stream, c3)
    }
}

/// The key stream of one message: t of GB/T 32918.4, at any place.
pub struct KeyStream(Counters);

impl KeyStream {
    /// Xors the key stream from byte `offset` of the message into `data`: M into C2, and C2 into M,
    /// in any order and from any thread.
    ///
    /// # Errors
    /// [`Error::MessageLength`] if that reaches past [`MAX_MESSAGE_LEN`]. Nothing is changed then.
    pub fn xor(&self, offset: u64, data: &mut [u8]) -> Result<(), Error> {
        let end = offset.saturating_add(data.len() as u64);
        if end > MAX_MESSAGE_LEN {
            return Err(Error::MessageLength(end));
        }
        self.0.xor(32 + offset, data);
        Ok(())
    }
}

/// The hash of one message, M and not C2.
pub struct MessageHash {
    hash: Between,
    len: u64,
}

impl MessageHash {
    /// The next bytes of M.
    pub fn update(&mut self, message: &[u8]) {
        self.hash.update(message);
        self.len += message.len() as u64;
    }

    /// C3 of the message that was encrypted.
    ///
    /// # Errors
    /// [`Error::MessageLength`] if it was empty or too long.
    pub fn finalize(self) -> Result<[u8; 32], Error> {
        match self.len {
            1..=MAX_MESSAGE_LEN => Ok(self.hash.finish()),
            len => Err(Error::MessageLength(len)),
        }
    }

    /// Whether what was decrypted is the message.
    ///
    /// # Errors
    /// [`Error::Decryption`] if not.
    pub fn verify(self, key_stream: &KeyStream, c3: &[u8; 32]) -> Result<(), Error> {
        let is_message = reveal(self.hash.finish().ct_eq(c3));
        // Encryption makes neither: no message of these lengths, and no key stream of zero.
        let is_possible =
            (1..=MAX_MESSAGE_LEN).contains(&self.len) && !key_stream.0.is_zero(self.len);
        match is_message && is_possible {
            true => Ok(()),
            false => Err(Error::Decryption),
        }
    }
}

/// A message under a shared point.
struct Message {
    beside: Beside,
    len: u64,
}

/// C1 and x ‖ y of k·P for a message, by the first of its nonces from `attempt` on that leaves not
/// all of the message as it is (6.1, step A5).
pub(super) fn ephemeral(
    key: &PublicKey,
    message: &[u8],
    mut attempt: u32,
) -> Result<([u8; 65], Zeroizing<[u8; 64]>), Error> {
    loop {
        let Ephemeral { c1, shared } = Ephemeral::of(key, &*nonce(key, message, attempt)?);
        if !Counters::after(&shared).is_zero(message.len() as u64) {
            return Ok((c1, shared));
        }
        attempt += 1;
    }
}

/// A nonce that depends on the message: on its length and either end.
pub(super) fn nonce(
    key: &PublicKey,
    message: &[u8],
    attempt: u32,
) -> Result<Zeroizing<Scalar>, Error> {
    let len = message.len() as u64;
    if !(1..=MAX_MESSAGE_LEN).contains(&len) {
        return Err(Error::MessageLength(len));
    }
    let digest;
    let hedge = if message.len() <= HEDGE_LEN {
        message
    } else {
        digest = digest_of_ends(message);
        &digest[..]
    };
    nonce_of_ephemeral(key, hedge, len, attempt)
}

/// x ‖ y of d·C1.
fn shared_point(key: &SecretKey, c1: &[u8; 65]) -> Result<Zeroizing<[u8; 64]>, Error> {
    Ok(key.shared(&point_of(c1)?))
}

/// C1, if it is a point of the curve.
pub(super) fn point_of(c1: &[u8; 65]) -> Result<PublicKey, Error> {
    PublicKey::from_sec1_bytes(c1).map_err(|_| Error::Decryption)
}

impl Message {
    fn into_halves(self) -> (KeyStream, MessageHash) {
        let (hash, counters) = self.beside.into_halves();
        (KeyStream(counters), MessageHash { hash, len: self.len })
    }

    fn update(&mut self, direction: Direction, data: &mut [u8]) -> Result<(), Error> {
        let len = self.len + data.len() as u64;
        if len > MAX_MESSAGE_LEN {
            return Err(Error::MessageLength(len));
        }
        self.beside.update(direction, data);
        self.len = len;
        Ok(())
    }
}

/// Bytes that a nonce is hedged with at most.
const HEDGE_LEN: usize = 64;

/// Bytes at either end of a message that its nonce depends on: hashing all of a long one would take
/// as long as encrypting it. Messages that differ in between only are told apart by the generator or,
/// if that is broken, by the count of calls and the time.
const END_LEN: usize = 512;

/// A digest of a message's length, beginning and end.
fn digest_of_ends(message: &[u8]) -> Zeroizing<[u8; 32]> {
    let (first, rest) = message.split_at(message.len().min(END_LEN));
    let last = &rest[rest.len().saturating_sub(END_LEN)..];
    let start = Midstate::after(&(message.len() as u64).to_be_bytes());
    Zeroizing::new(start.then(first).finish(last))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sm3;
    use manylane_vectors::sm2::C2;

    /// The nonce's part is not ours to choose; from its point on, every machine makes the vectors'
    /// C2 and C3.
    #[test]
    fn known_answers() {
        let vectors = manylane_vectors::sm2();
        for v in &vectors.ciphertexts {
            let key = SecretKey::from_bytes(&v.d).unwrap();
            let shared = shared_point(&key, &v.c1).unwrap();
            let on = |machine| Beside::new_on(machine, &shared).ok();
            let machines = Machine::ALL.into_iter().filter_map(on);
            let mut count = 0;
            for mut beside in machines.chain([Beside::new(&shared)]) {
                let mut data = v.message();
                beside.update(Direction::Encrypt, &mut data);
                assert_eq!(beside.into_halves().0.finish(), v.c3, "{}", v.what);
                match &v.c2 {
                    C2::Whole { c2, .. } => assert_eq!(data, *c2, "{}", v.what),
                    C2::Digests { c2_sm3, .. } => {
                        assert_eq!(sm3::hash(&data), *c2_sm3, "{}", v.what)
                    }
                }
                count += 1;
            }
            assert!(count > 1);
        }
    }

    #[test]
    fn key_streams_of_zero() {
        for v in manylane_vectors::sm2().zero_kdf {
            let key = SecretKey::from_bytes(&v.d).unwrap();
            let is_zero = |c1, len| Counters::after(&shared_point(&key, c1).unwrap()).is_zero(len);
            assert!(is_zero(&v.c1_refused, 1) && !is_zero(&v.c1_refused, 32));
            assert!(!is_zero(&v.c1_refused, 1 << 30) && !is_zero(&v.c1, 1));
        }
    }

    /// The last byte that has a counter, and the first that has none.
    #[test]
    fn the_longest_message() {
        for direction in [Direction::Encrypt, Direction::Decrypt] {
            let mut message = Message { beside: Beside::new(&[7; 64]), len: MAX_MESSAGE_LEN - 1 };
            let mut data = [1, 2];
            let too_long = Err(Error::MessageLength(MAX_MESSAGE_LEN + 1));
            assert_eq!(message.update(direction, &mut data), too_long);
            assert_eq!(data, [1, 2]);
            assert_eq!(message.update(direction, &mut data[..1]), Ok(()));
            assert!(message.update(direction, &mut data).is_err());
        }
    }

    /// A nonce depends on the length and both ends of a message.
    #[test]
    fn ends() {
        let message: Vec<u8> = (0..3000u32).map(|i| (i * 7) as u8).collect();
        let digest = |message: &[u8]| *digest_of_ends(message);
        for i in [0, 511, 3000 - 512, 2999] {
            let mut altered = message.clone();
            altered[i] ^= 1;
            assert_ne!(digest(&altered), digest(&message), "byte {i}");
        }
        for len in [65, 512, 513, 1024, 1025] {
            let mut altered = message[..len].to_vec();
            altered[len / 2] ^= 1;
            assert_eq!(digest(&altered) == digest(&message[..len]), len > 1024, "{len} bytes");
            assert_ne!(digest(&message[..len]), digest(&message[..len + 1]));
        }
    }
}

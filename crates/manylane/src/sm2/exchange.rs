//! Key exchange (GB/T 32918.3-2016, the cofactor being 1), and plain Diffie-Hellman.

use std::borrow::Cow;

use subtle::ConstantTimeEq as _;
use zeroize::Zeroizing;

use super::{
    PublicKey, SecretKey, base,
    field::{Cell, with_field},
    id::z_a,
    key::multiple,
    limbs, mul,
    scalar::Scalar,
};
use crate::{Error, ct::reveal, sm3::Midstate};

/// Bytes of the longest key: KDF makes 32 for each of the counters 1 … 2³² − 1.
const MAX_KEY_LEN: u64 = 32 * (u32::MAX as u64);

impl SecretKey {
    /// x of d·P, 32 bytes big-endian: plain Diffie-Hellman, without any proof of who the other side is.
    /// It is no key by itself; derive one from it, for example with [`HkdfSm3`](crate::sm3::HkdfSm3).
    pub fn diffie_hellman(&self, peer: &PublicKey) -> Zeroizing<[u8; 32]> {
        let mut x = Zeroizing::new([0; 32]);
        x.copy_from_slice(&self.shared(peer)[..32]);
        x
    }
}

/// Who of the two begins: Z_A, x₁ and y₁ are the initiator's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Initiator,
    Responder,
}

/// One side's part of a key exchange: its keys, and an ephemeral key that serves once.
///
/// ```
/// use manylane::sm2::{DEFAULT_ID, Exchange, SecretKey};
///
/// let (a, b) = (SecretKey::generate()?, SecretKey::generate()?);
/// let of_a = Exchange::initiate(&a, DEFAULT_ID, b.public_key(), DEFAULT_ID)?;
/// let of_b = Exchange::respond(&b, DEFAULT_ID, a.public_key(), DEFAULT_ID)?;
/// let (r_a, r_b) = (*of_a.ephemeral(), *of_b.ephemeral()); // sent to the other side
///
/// let (mut key_of_a, mut key_of_b) = ([0; 16], [0; 16]);
/// let confirmation_of_b = of_b.agree(&r_a, &mut key_of_b)?;
/// let confirmation_of_a = of_a.agree(&r_b, &mut key_of_a)?;
/// confirmation_of_a.check(confirmation_of_b.to_send())?; // optional, either way
/// confirmation_of_b.check(confirmation_of_a.to_send())?;
/// assert_eq!(key_of_a, key_of_b);
/// # Ok::<(), manylane::Error>(())
/// ```
#[derive(Debug)]
pub struct Exchange<'k> {
    key: Cow<'k, SecretKey>,
    peer: PublicKey,
    role: Role,
    /// Z of this side and of the other.
    z: [u8; 32],
    z_of_peer: [u8; 32],
    ephemeral: EphemeralKey,
}

/// r, and R = r·G.
struct EphemeralKey {
    r: Zeroizing<Scalar>,
    public: PublicKey,
}

impl ::core::fmt::Debug for EphemeralKey {
    fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
        self.public.fmt(f)
    }
}

impl EphemeralKey {
    fn of(r: Zeroizing<Scalar>) -> Self {
        let point = with_field!(Cell::best(), f => base::mul(f, &r).to_affine(f));
        EphemeralKey { r, public: PublicKey { point } }
    }
}

impl<'k> Exchange<'k> {
    /// The part of the side that begins, A of the standard.
    ///
    /// # Errors
    /// [`Error::IdLength`] if an ID is too long; [`Error::Random`] if the operating system has no random
    /// bytes.
    pub fn initiate(
        key: &'k SecretKey,
        id: &[u8],
        peer: &PublicKey,
        peer_id: &[u8],
    ) -> Result<Self, Error> {
        Exchange::new(Role::Initiator, key, id, peer, peer_id)
    }

    /// The part of the side that answers, B of the standard.
    ///
    /// # Errors
    /// As [`initiate`](Self::initiate).
    pub fn respond(
        key: &'k SecretKey,
        id: &[u8],
        peer: &PublicKey,
        peer_id: &[u8],
    ) -> Result<Self, Error> {
        Exchange::new(Role::Responder, key, id, peer, peer_id)
    }

    fn new(
        role: Role,
        key: &'k SecretKey,
        id: &[u8],
        peer: &PublicKey,
        peer_id: &[u8],
    ) -> Result<Self, Error> {
        let ephemeral = EphemeralKey::of(key.hedge.nonces(&peer.to_compressed()).next()?);
        let (z, z_of_peer) = (z_a(id, key.public_key())?, z_a(peer_id, peer)?);
        Ok(Exchange { key: Cow::Borrowed(key), peer: *peer, role, z, z_of_peer, ephemeral })
    }

    /// The same part with a copy of the key, for owners that cannot borrow it. The copy is wiped with it.
    pub fn into_owned(self) -> Exchange<'static> {
        let Exchange { key, peer, role, z, z_of_peer, ephemeral } = self;
        Exchange { key: Cow::Owned(key.into_owned()), peer, role, z, z_of_peer, ephemeral }
    }

    /// R, which the other side needs.
    pub fn ephemeral(&self) -> &PublicKey {
        &self.ephemeral.public
    }

    /// Fills `key` with what both sides share, given the other side's R, and returns what each must send
    /// to confirm that it has the same (6.1, steps A4 to A10 and B3 to B9). This part's ephemeral key is
    /// used up and wiped.
    ///
    /// # Errors
    /// [`Error::Exchange`] if the shared point is infinity, which only a malicious other side brings
    /// about. Nothing is then written to `key`.
    ///
    /// # Panics
    /// If `key` is longer than 32·(2³² − 1) bytes.
    pub fn agree(self, peer_ephemeral: &PublicKey, key: &mut [u8]) -> Result<Confirmation, Error> {
        assert!(key.len() as u64 <= MAX_KEY_LEN, "a key of {} bytes", key.len());
        let u = self.shared(peer_ephemeral)?;
        let (ours, theirs) =
            (self.ephemeral.public.to_sec1_bytes(), peer_ephemeral.to_sec1_bytes());
        let (z_a, z_b, r_a, r_b) = match self.role {
            Role::Initiator => (&self.z, &self.z_of_peer, &ours, &theirs),
            Role::Responder => (&self.z_of_peer, &self.z, &theirs, &ours),
        };
        derive(&Midstate::after(&*u).then(z_a).then(z_b), key);
        let inner = Midstate::after(&u[..32]).then(z_a).then(z_b).then(&r_a[1..]);
        let inner = Zeroizing::new(inner.finish(&r_b[1..]));
        let outer = |tag| Midstate::after(&[tag]).then(&u[32..]).finish(&*inner);
        // S_B and S₁ have the tag 2, S_A and S₂ the tag 3.
        Ok(match self.role {
            Role::Initiator => Confirmation { ours: outer(3), theirs: outer(2) },
            Role::Responder => Confirmation { ours: outer(2), theirs: outer(3) },
        })
    }

    /// x ‖ y of t·(P + x̄·R) of the other side, with t = d + x̄·r of this one.
    fn shared(&self, peer_ephemeral: &PublicKey) -> Result<Zeroizing<[u8; 64]>, Error> {
        let own = Zeroizing::new(x_bar(&self.ephemeral.public).mul(&self.ephemeral.r.to_factor()));
        let t = Zeroizing::new(self.key.d.add(&own));
        let v = with_field!(Cell::best(), f => {
            let x_bar = x_bar(peer_ephemeral);
            let none = Scalar::default();
            let mut v = mul::mul_add_vartime(f, &none, &x_bar, &peer_ephemeral.point);
            v.add_affine_vartime(f, &self.peer.point);
            (!bool::from(v.is_infinity())).then(|| v.to_affine(f))
        });
        // Of a point that is not infinity, only the multiple by 0 is.
        match v {
            Some(point) if !reveal(t.is_zero()) => Ok(multiple(&t, &PublicKey { point })),
            _ => Err(Error::Exchange),
        }
    }
}

/// x̄ = 2ʷ + (x mod 2ʷ) for w = 127, half the bits of n less one (6.1, step A4).
fn x_bar(point: &PublicKey) -> Scalar {
    let bytes = point.to_sec1_bytes();
    let mut x = [0; 32];
    x[16..].copy_from_slice(&bytes[17..33]);
    x[16] |= 0x80;
    Scalar::reduced(&limbs::from_bytes(&x))
}

/// KDF (5.4.3): SM3 of Z and the counters 1, 2, ….
fn derive(z: &Midstate, key: &mut [u8]) {
    for (counter, part) in (1_u32..).zip(key.chunks_mut(32)) {
        let digest = Zeroizing::new(z.finish(&counter.to_be_bytes()));
        part.copy_from_slice(&digest[..part.len()]);
    }
}

/// The proofs that both sides have the same key. Checking them is optional. The `Debug` form shows
/// neither: whoever knew what the other side must send could send it.
#[derive(Clone)]
pub struct Confirmation {
    ours: [u8; 32],
    theirs: [u8; 32],
}

impl ::core::fmt::Debug for Confirmation {
    fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
        f.debug_struct("Confirmation").finish_non_exhaustive()
    }
}

impl Confirmation {
    /// What the other side checks: S_A or S_B.
    pub fn to_send(&self) -> &[u8; 32] {
        &self.ours
    }

    /// Whether what the other side sent is what it must send.
    ///
    /// # Errors
    /// [`Error::Exchange`] if not: the key must not be used.
    pub fn check(&self, received: &[u8; 32]) -> Result<(), Error> {
        match reveal(self.theirs.ct_eq(received)) {
            true => Ok(()),
            false => Err(Error::Exchange),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sm2::DEFAULT_ID;

    fn ephemeral(r: &[u8; 32]) -> EphemeralKey {
        EphemeralKey::of(Zeroizing::new(Scalar::from_bytes(r).0))
    }

    fn keys(d_a: &[u8; 32], d_b: &[u8; 32]) -> (SecretKey, SecretKey) {
        (SecretKey::from_bytes(d_a).unwrap(), SecretKey::from_bytes(d_b).unwrap())
    }

    #[test]
    fn known_answers() {
        for v in manylane_vectors::sm2().exchanges {
            let (a, b) = keys(&v.d_a, &v.d_b);
            let mut of_a = Exchange::initiate(&a, &v.id_a, b.public_key(), &v.id_b).unwrap();
            let mut of_b = Exchange::respond(&b, &v.id_b, a.public_key(), &v.id_a).unwrap();
            of_a.ephemeral = ephemeral(&v.r_a);
            of_b.ephemeral = ephemeral(&v.r_b);
            let (r_a, r_b) = (*of_a.ephemeral(), *of_b.ephemeral());
            let mut keys = [vec![0; v.key.len()], vec![0; v.key.len()]];
            let confirms_a = of_a.agree(&r_b, &mut keys[0]).unwrap();
            let confirms_b = of_b.agree(&r_a, &mut keys[1]).unwrap();
            assert_eq!(keys, [v.key.clone(), v.key], "{}", v.what);
            assert_eq!((confirms_a.to_send(), confirms_b.to_send()), (&v.s2, &v.s1), "{}", v.what);
            assert_eq!(confirms_a.check(&v.s1), Ok(()), "{}", v.what);
            assert_eq!(confirms_b.check(&v.s2), Ok(()), "{}", v.what);
            assert_eq!(confirms_a.check(&v.s2), Err(Error::Exchange), "{}", v.what);
        }
    }

    #[test]
    fn a_shared_point_at_infinity_is_refused() {
        for v in manylane_vectors::sm2().bad_exchanges {
            let (a, b) = keys(&v.d_a, &v.d_b);
            let mut of_b = Exchange::respond(&b, DEFAULT_ID, a.public_key(), DEFAULT_ID).unwrap();
            of_b.ephemeral = ephemeral(&v.r_b);
            let mut key = [7; 16];
            let refused = of_b.agree(&ephemeral(&v.r_a).public, &mut key);
            assert_eq!((refused.unwrap_err(), key), (Error::Exchange, [7; 16]), "{}", v.what);
            // A's own t is 0: the same at the other side.
            let mut of_a = Exchange::initiate(&a, DEFAULT_ID, b.public_key(), DEFAULT_ID).unwrap();
            of_a.ephemeral = ephemeral(&v.r_a);
            let refused = of_a.agree(&ephemeral(&v.r_b).public, &mut key);
            assert_eq!((refused.unwrap_err(), key), (Error::Exchange, [7; 16]), "{}", v.what);
        }
    }

    /// Each with fresh ephemeral keys; who is who, and as whom, matters.
    #[test]
    fn both_sides_agree() {
        let (a, b) = (SecretKey::generate().unwrap(), SecretKey::generate().unwrap());
        let (p_a, p_b) = (a.public_key(), b.public_key());
        for len in [0, 1, 31, 32, 33, 100] {
            let of_a = Exchange::initiate(&a, b"a", p_b, b"b").unwrap();
            // One side keeps a key of its own.
            let of_b = Exchange::respond(&b.clone(), b"b", p_a, b"a").unwrap().into_owned();
            let (r_a, r_b) = (*of_a.ephemeral(), *of_b.ephemeral());
            assert_ne!(r_a, r_b);
            let mut keys = [vec![0; len], vec![1; len]];
            let confirms_a = of_a.agree(&r_b, &mut keys[0]).unwrap();
            let confirms_b = of_b.agree(&r_a, &mut keys[1]).unwrap();
            assert_eq!(keys[0], keys[1]);
            assert_eq!(confirms_a.check(confirms_b.to_send()), Ok(()));
            assert_eq!(confirms_b.check(confirms_a.to_send()), Ok(()));
        }
        let of_a = Exchange::initiate(&a, b"a", p_b, b"b").unwrap();
        let of_b = Exchange::respond(&b, b"b", p_a, b"another").unwrap();
        let (r_a, r_b) = (*of_a.ephemeral(), *of_b.ephemeral());
        let mut keys = [[0; 32]; 2];
        let confirms_a = of_a.agree(&r_b, &mut keys[0]).unwrap();
        let confirms_b = of_b.agree(&r_a, &mut keys[1]).unwrap();
        assert_ne!(keys[0], keys[1]);
        assert_eq!(confirms_a.check(confirms_b.to_send()), Err(Error::Exchange));
    }

    #[test]
    fn diffie_hellman() {
        for v in manylane_vectors::sm2().ecdh {
            let (d, e) = keys(&v.d, &v.e);
            assert_eq!(*d.diffie_hellman(e.public_key()), v.x);
            assert_eq!(*e.diffie_hellman(d.public_key()), v.x);
            assert_eq!(d.shared(e.public_key())[32..], v.y);
        }
    }
}

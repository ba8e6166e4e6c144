//! Keys (GB/T 32918.1-2016, clause 6): a number d in [1, n − 2], and the point d·G.

use core::fmt;

use zeroize::{Zeroize as _, ZeroizeOnDrop, Zeroizing};

use super::{
    base,
    field::{Cell, with_field},
    mul,
    nonce::{self, Hedge},
    point::{Affine, to_affine_both},
    scalar::{Factor, Scalar},
};
use crate::{Error, ct::reveal};

/// A secret key. It is wiped when dropped, and its `Debug` form shows nothing of it.
#[derive(Clone)]
pub struct SecretKey {
    pub(super) d: Scalar,
    /// (1 + d)⁻¹, by which every signature multiplies.
    pub(super) inverse: Factor,
    pub(super) hedge: Hedge,
    public: PublicKey,
}

impl SecretKey {
    /// A new key from the operating system's generator.
    ///
    /// # Errors
    /// [`Error::Random`] if that gives nothing.
    pub fn generate() -> Result<Self, Error> {
        Ok(SecretKey::of(&*nonce::secret_key()?))
    }

    /// The key of a big-endian number.
    ///
    /// # Errors
    /// [`Error::Key`] unless it is in [1, n − 2].
    pub fn from_bytes(bytes: &[u8; 32]) -> Result<Self, Error> {
        let (d, below_n) = Scalar::from_bytes(bytes);
        let d = Zeroizing::new(d);
        if !reveal(below_n & nonce::is_secret_key(&d)) {
            return Err(Error::Key);
        }
        Ok(SecretKey::of(&d))
    }

    fn of(d: &Scalar) -> Self {
        let inverse = Zeroizing::new(d.add(&Scalar::ONE).invert());
        let point = with_field!(Cell::best(), f => base::mul(f, d).to_affine(f));
        SecretKey::of_parts(d, &inverse, PublicKey { point })
    }

    /// From d, (1 + d)⁻¹ and d·G.
    pub(super) fn of_parts(d: &Scalar, inverse: &Scalar, public: PublicKey) -> Self {
        let hedge = Hedge::new(&*Zeroizing::new(d.to_bytes()));
        SecretKey { d: *d, inverse: inverse.to_factor(), hedge, public }
    }

    /// The number, big-endian.
    pub fn to_bytes(&self) -> Zeroizing<[u8; 32]> {
        Zeroizing::new(self.d.to_bytes())
    }

    /// Its public key.
    pub fn public_key(&self) -> &PublicKey {
        &self.public
    }

    /// A key whose halves do not belong together.
    #[cfg(test)]
    pub(super) fn with_public_key(&self, public: &PublicKey) -> Self {
        let mut key = self.clone();
        key.public = *public;
        key
    }

    /// x ‖ y of d·P.
    pub(crate) fn shared(&self, peer: &PublicKey) -> Zeroizing<[u8; 64]> {
        multiple(&self.d, peer)
    }
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SecretKey").field("public", &self.public).finish_non_exhaustive()
    }
}

impl Drop for SecretKey {
    fn drop(&mut self) {
        self.d.zeroize();
        self.inverse.zeroize();
    }
}

impl ZeroizeOnDrop for SecretKey {}

/// A public key: a point of the curve, not infinity.
#[derive(Clone, Copy)]
pub struct PublicKey {
    pub(super) point: Affine,
}

impl PublicKey {
    /// The key of a point in one of the forms of GB/T 32918.1-2016, 4.2.9: 04 ‖ x ‖ y of 65 bytes, or
    /// compressed, 02 or 03 ‖ x of 33 bytes; or x ‖ y alone, 64 bytes, as some implementations write.
    ///
    /// # Errors
    /// [`Error::Key`] unless it is one of these and a point of the curve. The forms of infinity and
    /// the hybrid form, 06 or 07, are none of these.
    pub fn from_sec1_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let point = match bytes {
            [0x04, xy @ ..] if xy.len() == 64 => uncompressed(xy),
            [tag @ (0x02 | 0x03), x @ ..] if x.len() == 32 => {
                let x = x.try_into().map_err(|_| Error::Key)?;
                with_field!(Cell::best(), f => Affine::from_compressed(f, x, *tag == 0x03))
            }
            xy if xy.len() == 64 => uncompressed(xy),
            _ => None,
        };
        point.map(|point| PublicKey { point }).ok_or(Error::Key)
    }

    /// 04 ‖ x ‖ y.
    pub fn to_sec1_bytes(&self) -> [u8; 65] {
        let mut bytes = [0x04; 65];
        bytes[1..].copy_from_slice(&coordinates(&self.point));
        bytes
    }

    /// 02 ‖ x for an even y, 03 ‖ x for an odd one.
    pub fn to_compressed(&self) -> [u8; 33] {
        let xy = coordinates(&self.point);
        let mut bytes = [0x02 | xy[63] & 1; 33];
        bytes[1..].copy_from_slice(&xy[..32]);
        bytes
    }
}

impl PartialEq for PublicKey {
    fn eq(&self, other: &Self) -> bool {
        (self.point.x.0, self.point.y.0) == (other.point.x.0, other.point.y.0)
    }
}

impl Eq for PublicKey {}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PublicKey(")?;
        for byte in self.to_compressed() {
            write!(f, "{byte:02x}")?;
        }
        f.write_str(")")
    }
}

/// The point of x ‖ y.
fn uncompressed(xy: &[u8]) -> Option<Affine> {
    let [x, y] = xy.as_chunks::<32>().0 else { return None };
    with_field!(Cell::best(), f => Affine::from_bytes(f, x, y))
}

/// x ‖ y.
pub(super) fn coordinates(point: &Affine) -> [u8; 64] {
    let mut xy = [0; 64];
    with_field!(Cell::best(), f => {
        xy[..32].copy_from_slice(&point.x.to_bytes(f));
        xy[32..].copy_from_slice(&point.y.to_bytes(f));
    });
    xy
}

/// x ‖ y of k·P, for k in [1, n − 1]: never infinity, as P has the order n.
pub(super) fn multiple(k: &Scalar, point: &PublicKey) -> Zeroizing<[u8; 64]> {
    let cell = Cell::best();
    let product = with_field!(cell, f => Zeroizing::new(mul::mul(f, k, &point.point).to_affine(f)));
    Zeroizing::new(coordinates(&product))
}

/// What one encryption to a public key P starts from: C1 = k·G, and k·P (GB/T 32918.4-2016, 6.1,
/// steps A1 to A4).
pub(crate) struct Ephemeral {
    /// 04 ‖ x ‖ y of k·G.
    pub(crate) c1: [u8; 65],
    /// x ‖ y of k·P.
    pub(crate) shared: Zeroizing<[u8; 64]>,
}

impl Ephemeral {
    /// By a nonce of [`nonce_of_ephemeral`].
    pub(crate) fn of(peer: &PublicKey, k: &Scalar) -> Self {
        let (c1, shared) = with_field!(Cell::best(), f => {
            let multiples =
                Zeroizing::new((base::mul(f, k), mul::mul(f, k, &peer.point)));
            let (c1, shared) = to_affine_both(f, &multiples.0, &multiples.1);
            (c1, Zeroizing::new(shared))
        });
        let c1 = PublicKey { point: c1 }.to_sec1_bytes();
        Ephemeral { c1, shared: Zeroizing::new(coordinates(&shared)) }
    }
}

/// The nonce of an ephemeral, hedged by at most 64 secret bytes of or from a message of `len` bytes.
/// `attempt` counts the ephemerals drawn for one message.
///
/// # Errors
/// [`Error::Random`] if the operating system has no random bytes.
pub(super) fn nonce_of_ephemeral(
    peer: &PublicKey,
    hedge: &[u8],
    len: u64,
    attempt: u32,
) -> Result<Zeroizing<Scalar>, Error> {
    Hedge::new(hedge).nonces(&purpose(peer, len, attempt)).next()
}

/// What the nonce of an ephemeral is for. HMAC fills its key up with zeros, so it is the length that
/// tells a short message from the same with zeros behind it.
fn purpose(peer: &PublicKey, len: u64, attempt: u32) -> [u8; 45] {
    let mut purpose = [0; 45];
    purpose[..33].copy_from_slice(&peer.to_compressed());
    purpose[33..41].copy_from_slice(&len.to_be_bytes());
    purpose[41..].copy_from_slice(&attempt.to_be_bytes());
    purpose
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Even from a generator that repeats itself, and at the same time.
    #[test]
    fn messages_and_peers_have_nonces_of_their_own() {
        let peers = [1, 2].map(|_| *SecretKey::generate().unwrap().public_key());
        let candidate = |peer: usize, message: &[u8], attempt| {
            let purpose = purpose(&peers[peer], message.len() as u64, attempt);
            Hedge::new(message).nonces(&purpose).candidate(&[7; 32], &[0; 16])
        };
        let nonce = candidate(0, b"message", 0);
        assert_eq!(candidate(0, b"message", 0), nonce);
        assert_ne!(candidate(0, b"messagf", 0), nonce);
        assert_ne!(candidate(0, b"message\0", 0), nonce);
        assert_ne!(candidate(0, b"message", 1), nonce);
        assert_ne!(candidate(1, b"message", 0), nonce);
    }
}

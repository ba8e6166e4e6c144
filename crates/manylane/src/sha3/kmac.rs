//! KMAC (SP 800-185, clause 4): one message, or many under one key.

use ::core::fmt;

use digest::{
    ExtendableOutput, ExtendableOutputReset, FixedOutput, FixedOutputReset, InvalidLength, Key,
    KeyInit, MacError, MacMarker, Output, OutputSizeUser, Reset, Update,
    common::{AlgorithmName, BlockSizeUser, KeySizeUser},
    typenum::{U16, U32, U64, U136, U168},
};
use subtle::ConstantTimeEq;
use zeroize::{ZeroizeOnDrop, Zeroizing};

use super::{
    CShake, Kernel, Midstate, XofOutput,
    dispatch::{Cell, Stream},
    encoding::{absorb_bytepad, right_encode},
    many,
};
use crate::{Error, Messages, cpu::Machine, ct};

/// Bytes of the shortest tag that SP 800-185, clause 8.4.2, allows.
const MIN_TAG_LEN: usize = 4;

/// KMAC or KMACXOF of one stream: [`Kmac128`] and [`Kmac256`] are its names.
///
/// The tag depends on the length that it is asked for: a shorter one is not the beginning of a
/// longer one. KMACXOF, whose outputs of all lengths begin alike, is what the
/// [`ExtendableOutput`] traits give.
///
/// By the RustCrypto `Mac` traits, tags have 32 bytes (KMAC128) or 64 (KMAC256), there is no
/// customization, and what these traits call truncated is the beginning of such a tag.
///
/// ```
/// use manylane::sha3::{Kmac128, Update};
///
/// let kmac = Kmac128::new(b"a key of at least 16 bytes", b"My Tagged Application").chain(b"data");
/// let mut tag = [0; 16];
/// kmac.clone().tag(&mut tag);
/// assert!(kmac.clone().verify_tag(&tag).is_ok());
/// tag[0] ^= 1;
/// assert!(kmac.verify_tag(&tag).is_err());
/// ```
#[derive(Clone)]
pub struct Kmac<const RATE: usize> {
    state: Midstate,
    /// What a reset returns to: the sponge after the key.
    start: Midstate,
}

/// KMAC128 of one stream: 128 bits of security, under a key of at least 16 bytes.
pub type Kmac128 = Kmac<168>;
/// KMAC256 of one stream: 256 bits of security, under a key of at least 32 bytes.
pub type Kmac256 = Kmac<136>;

impl<const RATE: usize> Kmac<RATE> {
    /// KMAC under a key and with a customization string, which may be empty. Any length of key is
    /// taken; the security is at most that of guessing the key.
    pub fn new(key: &[u8], customization: &[u8]) -> Self {
        let mut start = Midstate::customized(CShake::<RATE>::FUNCTION, b"KMAC", customization);
        absorb_bytepad(&mut start, &[key], Stream::best());
        Kmac { state: start.clone(), start }
    }

    /// Fills `out` with the tag of all that was absorbed, which is also a function of its length.
    pub fn tag(self, out: &mut [u8]) {
        self.finish(out);
    }

    /// Whether `tag` is the tag of its length of all that was absorbed: in a time that lengths alone
    /// decide.
    ///
    /// Every length from 4 bytes on is taken, and a tag of n bytes is guessed with probability
    /// 2⁻⁸ⁿ. So where a stranger sends the tag, compare its length with the one agreed upon first;
    /// `Mac::verify_slice` takes the traits' length alone.
    ///
    /// # Errors
    /// [`MacError`] if it is not, or has fewer than 4 bytes, the least that SP 800-185, clause
    /// 8.4.2, allows.
    pub fn verify_tag(self, tag: &[u8]) -> Result<(), MacError> {
        if tag.len() < MIN_TAG_LEN {
            return Err(MacError);
        }
        let mut due = Zeroizing::new(vec![0; tag.len()]);
        self.finish(&mut due);
        if ct::reveal(due.ct_eq(tag)) { Ok(()) } else { Err(MacError) }
    }

    /// The tags of `tag_len` bytes of many messages, one after another into `out`, each as if the
    /// message came after all that was absorbed. Works on the calling thread, in the lanes of the
    /// widest machine there is.
    ///
    /// ```
    /// use manylane::{Messages, sha3::{Kmac256, Update}};
    ///
    /// let kmac = Kmac256::new(&[7; 32], b"");
    /// let messages: [&[u8]; 2] = [b"one", b"another"];
    /// let mut tags = [[0; 32]; 2];
    /// kmac.tag_many(&Messages::slices(&messages), 32, tags.as_flattened_mut())?;
    /// assert!(kmac.chain(b"another").verify_tag(&tags[1]).is_ok());
    /// # Ok::<(), manylane::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::OutputLength`] unless `out.len() == messages.len() * tag_len`.
    pub fn tag_many(
        &self,
        messages: &Messages,
        tag_len: usize,
        out: &mut [u8],
    ) -> Result<(), Error> {
        self.many(Cell::best(), Some(Stream::best()), messages, tag_len, out)?;
        Ok(())
    }

    /// [`tag_many`](Self::tag_many) on one machine, for tests and comparisons. Says which kernel
    /// ran, if there was any output to run it for.
    ///
    /// # Errors
    /// As [`tag_many`](Self::tag_many), and [`Error::Unavailable`] if the machine has no kernel for
    /// lanes, or this processor lacks it.
    pub fn tag_many_on(
        &self,
        machine: Machine,
        messages: &Messages,
        tag_len: usize,
        out: &mut [u8],
    ) -> Result<Option<Kernel>, Error> {
        self.many(Cell::on(machine)?, None, messages, tag_len, out)
    }

    fn many(
        &self,
        cell: Cell,
        stream: Option<Stream>,
        messages: &Messages,
        tag_len: usize,
        out: &mut [u8],
    ) -> Result<Option<Kernel>, Error> {
        let mut start = self.state.clone();
        start.function = start.function.with_output_len(tag_len);
        // As many bits as 64 do not hold are asked for in vain, or of no messages.
        let foot = right_encode((tag_len as u64).saturating_mul(8));
        many::run(cell, stream, &start, messages, foot.as_bytes(), out)
    }

    /// KMAC of the length of `out`, of a message that ends here.
    fn finish(&self, out: &mut [u8]) {
        self.state.finish(right_encode(8 * out.len() as u64).as_bytes(), out);
    }

    /// KMACXOF of a message that ends here.
    fn squeeze(&mut self) -> XofOutput {
        let stream = Stream::best();
        self.state.absorb(right_encode(0).as_bytes(), stream);
        XofOutput::new(&mut self.state, stream)
    }
}

impl<const RATE: usize> Update for Kmac<RATE> {
    #[inline]
    fn update(&mut self, data: &[u8]) {
        self.state.absorb(data, Stream::best());
    }
}

impl<const RATE: usize> ExtendableOutput for Kmac<RATE> {
    type Reader = XofOutput;

    /// KMACXOF.
    fn finalize_xof(mut self) -> XofOutput {
        self.squeeze()
    }
}

impl<const RATE: usize> ExtendableOutputReset for Kmac<RATE> {
    /// KMACXOF.
    fn finalize_xof_reset(&mut self) -> XofOutput {
        let output = self.squeeze();
        self.reset();
        output
    }
}

impl<const RATE: usize> Reset for Kmac<RATE> {
    /// Back to the beginning of a message, under the same key.
    fn reset(&mut self) {
        self.state = self.start.clone();
    }
}

impl<const RATE: usize> MacMarker for Kmac<RATE> {}

impl<const RATE: usize> AlgorithmName for Kmac<RATE> {
    fn write_alg_name(f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Kmac{}", 4 * (200 - RATE))
    }
}

impl<const RATE: usize> fmt::Debug for Kmac<RATE> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Kmac { ... }")
    }
}

impl<const RATE: usize> ZeroizeOnDrop for Kmac<RATE> {}

/// What the `digest` traits state in types.
macro_rules! of_rate {
    ($name:ty, block $block:ty, key $key:ty, tag $tag:ty, oid $oid:literal) => {
        impl BlockSizeUser for $name {
            type BlockSize = $block;
        }

        impl KeySizeUser for $name {
            type KeySize = $key;
        }

        impl KeyInit for $name {
            fn new(key: &Key<Self>) -> Self {
                Kmac::new(key, b"")
            }

            /// A key of any length.
            fn new_from_slice(key: &[u8]) -> Result<Self, InvalidLength> {
                Ok(Kmac::new(key, b""))
            }
        }

        impl OutputSizeUser for $name {
            type OutputSize = $tag;
        }

        impl FixedOutput for $name {
            fn finalize_into(self, out: &mut Output<Self>) {
                self.finish(out);
            }
        }

        impl FixedOutputReset for $name {
            fn finalize_into_reset(&mut self, out: &mut Output<Self>) {
                self.finish(out);
                self.reset();
            }
        }

        /// The object identifier of NIST's Computer Security Objects Register.
        impl digest::const_oid::AssociatedOid for $name {
            const OID: digest::const_oid::ObjectIdentifier =
                digest::const_oid::ObjectIdentifier::new_unwrap($oid);
        }
    };
}
of_rate!(Kmac128, block U168, key U16, tag U32, oid "2.16.840.1.101.3.4.2.19");
of_rate!(Kmac256, block U136, key U32, tag U64, oid "2.16.840.1.101.3.4.2.20");

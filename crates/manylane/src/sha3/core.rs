//! One stream of the functions of fixed output: the RustCrypto `digest` traits, and HMAC.

use ::core::{fmt, marker::PhantomData};

use digest::{
    CollisionResistance, HashMarker, Output, OutputSizeUser, Reset,
    block_api::{
        AlgorithmName, Block, BlockSizeUser, Buffer, BufferKindUser, CoreProxy, Eager,
        FixedOutputCore, UpdateCore,
    },
    block_buffer::BlockSizes,
    common::hazmat::{DeserializeStateError, SerializableState, SerializedState},
    typenum::{U14, U16, U24, U28, U32, U48, U64, U72, U104, U136, U144, U208},
};
use zeroize::ZeroizeOnDrop;

use super::{
    Function, Kernel, Midstate,
    dispatch::Stream,
    midstate::{MAX_BLOCKS, MAX_RATE},
    pad, write_bytes,
};
use crate::{
    Error,
    cpu::Machine,
    ct::{wipe_bytes, wipe_long_words},
};

/// Lengths of output that SHA-3 has, with the rate that each leaves.
pub trait FixedLen: sealed::Sealed + digest::array::ArraySize {
    /// Bytes of a block: 200 less twice the output.
    type Rate: BlockSizes;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! lengths {
    ($($len:ty: $rate:ty),+) => {$(
        impl sealed::Sealed for $len {}
        impl FixedLen for $len {
            type Rate = $rate;
        }
    )+};
}
lengths!(U28: U144, U32: U136, U48: U104, U64: U72);

/// The block-level state of a function of fixed output: the sponge's, and the number of blocks
/// absorbed. The domain's `SUFFIX` tells SHA-3 from Keccak.
pub struct FixedCore<Len: FixedLen, const SUFFIX: u8> {
    a: [u64; 25],
    blocks: u64,
    stream: Stream,
    kernel: Option<Kernel>,
    len: PhantomData<Len>,
}

impl<Len: FixedLen, const SUFFIX: u8> FixedCore<Len, SUFFIX> {
    const FUNCTION: Function = Function::fixed(Len::USIZE, SUFFIX);

    fn on(stream: Stream) -> Self {
        FixedCore { a: [0; 25], blocks: 0, stream, kernel: None, len: PhantomData }
    }
}

impl<Len: FixedLen, const SUFFIX: u8> HashMarker for FixedCore<Len, SUFFIX> {}

impl<Len: FixedLen, const SUFFIX: u8> BlockSizeUser for FixedCore<Len, SUFFIX> {
    type BlockSize = Len::Rate;
}

impl<Len: FixedLen, const SUFFIX: u8> BufferKindUser for FixedCore<Len, SUFFIX> {
    type BufferKind = Eager;
}

impl<Len: FixedLen, const SUFFIX: u8> OutputSizeUser for FixedCore<Len, SUFFIX> {
    type OutputSize = Len;
}

impl<Len: FixedLen, const SUFFIX: u8> UpdateCore for FixedCore<Len, SUFFIX> {
    #[inline]
    fn update_blocks(&mut self, blocks: &[Block<Self>]) {
        let (rate, rounds) = (Self::FUNCTION.rate(), Self::FUNCTION.permutation());
        self.blocks += blocks.len() as u64;
        let bytes = digest::array::Array::slice_as_flattened(blocks);
        self.kernel = Some(self.stream.absorb(&mut self.a, rounds, rate, bytes));
    }
}

impl<Len: FixedLen, const SUFFIX: u8> FixedOutputCore for FixedCore<Len, SUFFIX> {
    #[inline]
    fn finalize_fixed_core(&mut self, buffer: &mut Buffer<Self>, out: &mut Output<Self>) {
        let mut last = [0; MAX_RATE];
        let rate = pad(Self::FUNCTION, buffer.get_data(), &mut last);
        let rounds = Self::FUNCTION.permutation();
        self.kernel = Some(self.stream.absorb(&mut self.a, rounds, rate, &last[..rate]));
        write_bytes(&self.a, out);
        wipe_bytes(&mut last);
    }
}

impl<Len: FixedLen, const SUFFIX: u8> Default for FixedCore<Len, SUFFIX> {
    #[inline]
    fn default() -> Self {
        Self::on(Stream::best())
    }
}

impl<Len: FixedLen, const SUFFIX: u8> Clone for FixedCore<Len, SUFFIX> {
    #[inline]
    fn clone(&self) -> Self {
        FixedCore { ..*self }
    }
}

impl<Len: FixedLen, const SUFFIX: u8> Reset for FixedCore<Len, SUFFIX> {
    #[inline]
    fn reset(&mut self) {
        self.a = [0; 25];
        self.blocks = 0;
        self.kernel = None;
    }
}

impl<Len: FixedLen, const SUFFIX: u8> AlgorithmName for FixedCore<Len, SUFFIX> {
    fn write_alg_name(f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let family = if Self::FUNCTION.is_keccak() { "Keccak" } else { "Sha3_" };
        write!(f, "{family}{}", 8 * Len::USIZE)
    }
}

impl<Len: FixedLen, const SUFFIX: u8> fmt::Debug for FixedCore<Len, SUFFIX> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FixedCore { ... }")
    }
}

impl<Len: FixedLen, const SUFFIX: u8> Drop for FixedCore<Len, SUFFIX> {
    fn drop(&mut self) {
        wipe_long_words(&mut self.a);
        self.blocks = 0;
    }
}

impl<Len: FixedLen, const SUFFIX: u8> ZeroizeOnDrop for FixedCore<Len, SUFFIX> {}

impl<Len: FixedLen, const SUFFIX: u8> SerializableState for FixedCore<Len, SUFFIX> {
    type SerializedStateSize = U208;

    fn serialize(&self) -> SerializedState<Self> {
        let mut state = SerializedState::<Self>::default();
        write_bytes(&self.a, &mut state[..200]);
        state[200..].copy_from_slice(&self.blocks.to_le_bytes());
        state
    }

    fn deserialize(state: &SerializedState<Self>) -> Result<Self, DeserializeStateError> {
        let (a, blocks) = read_state(state.as_ref())?;
        Ok(FixedCore { a, blocks, ..Self::default() })
    }
}

/// The words of a serialized state and the number of blocks after them.
pub(super) fn read_state(bytes: &[u8; 208]) -> Result<([u64; 25], u64), DeserializeStateError> {
    let words = bytes.as_chunks::<8>().0;
    let a = ::core::array::from_fn(|i| u64::from_le_bytes(words[i]));
    let blocks = u64::from_le_bytes(words[25]);
    if blocks < MAX_BLOCKS { Ok((a, blocks)) } else { Err(DeserializeStateError) }
}

/// A hasher with the block-level state of its function.
macro_rules! fixed {
    (
        $(#[$attr:meta])*
        $name:ident($len:ty, $suffix:literal), resists $resistance:ty $(, oid $oid:literal)?
    ) => {
        digest::buffer_fixed!(
            $(#[$attr])*
            pub struct $name(FixedCore<$len, $suffix>);
            impl: FixedHashTraits;
        );

        $(
            /// The object identifier of NIST's Computer Security Objects Register.
            impl digest::const_oid::AssociatedOid for $name {
                const OID: digest::const_oid::ObjectIdentifier =
                    digest::const_oid::ObjectIdentifier::new_unwrap($oid);
            }
        )?

        impl CollisionResistance for $name {
            type CollisionResistance = $resistance;
        }

        impl ZeroizeOnDrop for $name {}

        impl $name {
            /// The function that it computes.
            pub const FUNCTION: Function = FixedCore::<$len, $suffix>::FUNCTION;

            /// A hasher on one machine, for tests and comparisons.
            ///
            /// # Errors
            /// [`Error::Unavailable`] if the machine has no kernel for one stream, or this
            /// processor lacks it.
            pub fn new_on(machine: Machine) -> Result<Self, Error> {
                Ok(Self::compose(FixedCore::on(Stream::on(machine)?), Default::default()))
            }

            /// The kernel that absorbed the last blocks, as it named itself; none before the
            /// first.
            pub fn kernel(&self) -> Option<Kernel> {
                self.clone().decompose().0.kernel
            }

            /// What has been absorbed so far, to continue many messages from.
            pub fn midstate(&self) -> Midstate {
                let (core, buffer) = self.clone().decompose();
                let mut midstate = Midstate::from_parts(Self::FUNCTION, &core.a, core.blocks);
                midstate.set_rest(buffer.get_data());
                midstate
            }
        }
    };
}

fixed!(
    /// SHA3-224 of one stream, by the RustCrypto [`Digest`](digest::Digest) traits.
    Sha3_224(U28, 0x06), resists U14, oid "2.16.840.1.101.3.4.2.7"
);
fixed!(
    /// SHA3-256 of one stream, by the RustCrypto [`Digest`](digest::Digest) traits.
    ///
    /// ```
    /// use manylane::sha3::{self, Digest, Function, Sha3_256};
    ///
    /// let mut sha3 = Sha3_256::new();
    /// sha3.update(b"a");
    /// sha3.update(b"bc");
    /// let mut expected = [0; 32];
    /// sha3::hash(Function::SHA3_256, b"abc", &mut expected);
    /// assert_eq!(sha3.finalize()[..], expected);
    /// ```
    Sha3_256(U32, 0x06), resists U16, oid "2.16.840.1.101.3.4.2.8"
);
fixed!(
    /// SHA3-384 of one stream, by the RustCrypto [`Digest`](digest::Digest) traits.
    Sha3_384(U48, 0x06), resists U24, oid "2.16.840.1.101.3.4.2.9"
);
fixed!(
    /// SHA3-512 of one stream, by the RustCrypto [`Digest`](digest::Digest) traits.
    Sha3_512(U64, 0x06), resists U32, oid "2.16.840.1.101.3.4.2.10"
);
fixed!(
    /// Keccak-224 of one stream, by the RustCrypto [`Digest`](digest::Digest) traits.
    Keccak224(U28, 0x01), resists U14
);
fixed!(
    /// Keccak-256, as Ethereum has it, of one stream, by the RustCrypto
    /// [`Digest`](digest::Digest) traits.
    Keccak256(U32, 0x01), resists U16
);
fixed!(
    /// Keccak-384 of one stream, by the RustCrypto [`Digest`](digest::Digest) traits.
    Keccak384(U48, 0x01), resists U24
);
fixed!(
    /// Keccak-512 of one stream, by the RustCrypto [`Digest`](digest::Digest) traits.
    Keccak512(U64, 0x01), resists U32
);

/// HMAC-SHA3-224 of one stream, by the RustCrypto `Mac` traits.
pub type HmacSha3_224 = ::hmac::Hmac<Sha3_224>;
/// HMAC-SHA3-256 of one stream, by the RustCrypto `Mac` traits.
pub type HmacSha3_256 = ::hmac::Hmac<Sha3_256>;
/// HMAC-SHA3-384 of one stream, by the RustCrypto `Mac` traits.
pub type HmacSha3_384 = ::hmac::Hmac<Sha3_384>;
/// HMAC-SHA3-512 of one stream, by the RustCrypto `Mac` traits.
pub type HmacSha3_512 = ::hmac::Hmac<Sha3_512>;

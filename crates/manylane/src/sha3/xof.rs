//! One stream of the extendable-output functions: the RustCrypto `digest` traits.

use ::core::fmt;

use digest::{
    CollisionResistance, CustomizedInit, ExtendableOutput, ExtendableOutputReset, HashMarker,
    Reset, Update,
    common::{
        AlgorithmName, BlockSizeUser,
        hazmat::{DeserializeStateError, SerializableState, SerializedState},
    },
    typenum::{Sum, U16, U32, U136, U168, U208},
};
use zeroize::ZeroizeOnDrop;

use super::{Function, Kernel, Midstate, core::read_state, dispatch::Stream, write_bytes};
use crate::{Error, cpu::Machine, ct::wipe_long_words};

/// A stream of one XOF before its output.
#[derive(Clone)]
struct Hasher {
    state: Midstate,
    stream: Stream,
    kernel: Option<Kernel>,
}

impl Hasher {
    fn new(state: Midstate) -> Self {
        Hasher { state, stream: Stream::best(), kernel: None }
    }

    fn update(&mut self, data: &[u8]) {
        self.kernel = self.state.absorb(data, self.stream).or(self.kernel);
    }

    fn reset(&mut self, start: Midstate) {
        (self.state, self.kernel) = (start, None);
    }

    fn finish(&mut self) -> XofOutput {
        self.kernel = Some(self.state.pad(self.stream));
        XofOutput::squeeze(&self.state, self.stream)
    }
}

/// The output of an XOF, read in pieces of any length.
///
/// ```
/// use manylane::sha3::{self, ExtendableOutput, Function, Shake128, Update, XofReader};
///
/// let mut reader = Shake128::default().chain(b"abc").finalize_xof();
/// let (mut first, mut second) = ([0; 3], [0; 500]);
/// reader.read(&mut first);
/// reader.read(&mut second);
///
/// let mut whole = [0; 503];
/// sha3::hash(Function::SHAKE128, b"abc", &mut whole);
/// assert_eq!((&whole[..3], &whole[3..]), (&first[..], &second[..]));
/// ```
#[derive(Clone)]
pub struct XofOutput {
    function: Function,
    a: [u64; 25],
    /// Bytes of the state's block that have been read.
    at: usize,
    stream: Stream,
}

impl XofOutput {
    /// The output after all that `state` absorbed.
    pub(super) fn new(state: &mut Midstate, stream: Stream) -> Self {
        state.pad(stream);
        XofOutput::squeeze(state, stream)
    }

    /// The output of a state that was padded.
    fn squeeze(state: &Midstate, stream: Stream) -> Self {
        XofOutput { function: state.function, a: state.a, at: 0, stream }
    }
}

impl digest::XofReader for XofOutput {
    fn read(&mut self, mut out: &mut [u8]) {
        let rate = self.function.rate();
        while !out.is_empty() {
            if self.at == rate {
                self.stream.permute(&mut self.a, self.function.permutation());
                self.at = 0;
            }
            let (now, later) = out.split_at_mut(out.len().min(rate - self.at));
            read_bytes(&self.a, self.at, now);
            self.at += now.len();
            out = later;
        }
    }
}

/// The bytes of a state from the one at `from`.
fn read_bytes(a: &[u64; 25], from: usize, out: &mut [u8]) {
    let (words, skip) = (&a[from / 8..], from % 8);
    if skip == 0 {
        return write_bytes(words, out);
    }
    let (first, others) = out.split_at_mut(out.len().min(8 - skip));
    first.copy_from_slice(&words[0].to_le_bytes()[skip..skip + first.len()]);
    write_bytes(&words[1..], others);
}

impl fmt::Debug for XofOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("XofOutput { ... }")
    }
}

impl Drop for XofOutput {
    fn drop(&mut self) {
        wipe_long_words(&mut self.a);
        self.at = 0;
    }
}

impl ZeroizeOnDrop for XofOutput {}

/// What all hashers of XOFs have, but for where they start.
macro_rules! hasher {
    ($name:ident[$($parameter:ident: $type:ty),+]) => {
        impl<$(const $parameter: $type),+> $name<$($parameter),+> {
            /// The kernel that absorbed the last blocks, as it named itself; none before the
            /// first.
            pub fn kernel(&self) -> Option<Kernel> {
                self.hasher.kernel
            }

            /// What has been absorbed so far, to continue many messages from.
            pub fn midstate(&self) -> Midstate {
                self.hasher.state.clone()
            }
        }

        impl<$(const $parameter: $type),+> HashMarker for $name<$($parameter),+> {}

        impl<$(const $parameter: $type),+> Update for $name<$($parameter),+> {
            #[inline]
            fn update(&mut self, data: &[u8]) {
                self.hasher.update(data);
            }
        }

        impl<$(const $parameter: $type),+> ExtendableOutput for $name<$($parameter),+> {
            type Reader = XofOutput;

            #[inline]
            fn finalize_xof(mut self) -> XofOutput {
                self.hasher.finish()
            }
        }

        impl<$(const $parameter: $type),+> ExtendableOutputReset for $name<$($parameter),+> {
            #[inline]
            fn finalize_xof_reset(&mut self) -> XofOutput {
                let reader = self.hasher.finish();
                self.reset();
                reader
            }
        }

        impl<$(const $parameter: $type),+> fmt::Debug for $name<$($parameter),+> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(concat!(stringify!($name), " { ... }"))
            }
        }

        impl<$(const $parameter: $type),+> ZeroizeOnDrop for $name<$($parameter),+> {}
    };
}

/// SHAKE or TurboSHAKE of one stream: [`Shake128`], [`Shake256`], [`TurboShake128`] and
/// [`TurboShake256`] are its names.
#[derive(Clone)]
pub struct Xof<const RATE: usize, const SUFFIX: u8, const ROUNDS: u32> {
    hasher: Hasher,
}

hasher!(Xof[RATE: usize, SUFFIX: u8, ROUNDS: u32]);

/// SHAKE128 of one stream, by the RustCrypto [`ExtendableOutput`] trait.
pub type Shake128 = Xof<168, 0x1f, 24>;
/// SHAKE256 of one stream, by the RustCrypto [`ExtendableOutput`] trait.
pub type Shake256 = Xof<136, 0x1f, 24>;
/// TurboSHAKE128 (RFC 9861) of one stream, by the RustCrypto [`ExtendableOutput`] trait. A
/// `DOMAIN` outside 0x01 … 0x7f does not compile.
pub type TurboShake128<const DOMAIN: u8> = Xof<168, DOMAIN, 12>;
/// TurboSHAKE256 (RFC 9861) of one stream, by the RustCrypto [`ExtendableOutput`] trait. A
/// `DOMAIN` outside 0x01 … 0x7f does not compile.
pub type TurboShake256<const DOMAIN: u8> = Xof<136, DOMAIN, 12>;

impl<const RATE: usize, const SUFFIX: u8, const ROUNDS: u32> Xof<RATE, SUFFIX, ROUNDS> {
    /// The function that it computes.
    pub const FUNCTION: Function = match (RATE, SUFFIX, ROUNDS) {
        (168, 0x1f, 24) => Function::SHAKE128,
        (136, 0x1f, 24) => Function::SHAKE256,
        (168, domain, 12) => Function::turboshake128(domain),
        (136, domain, 12) => Function::turboshake256(domain),
        _ => panic!("no XOF has these parameters"),
    };

    /// A hasher on one machine, for tests and comparisons.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if the machine has no kernel for one stream, or this processor
    /// lacks it.
    pub fn new_on(machine: Machine) -> Result<Self, Error> {
        let (stream, state) = (Stream::on(machine)?, Midstate::new(Self::FUNCTION));
        Ok(Xof { hasher: Hasher { stream, ..Hasher::new(state) } })
    }
}

impl<const RATE: usize, const SUFFIX: u8, const ROUNDS: u32> Default for Xof<RATE, SUFFIX, ROUNDS> {
    #[inline]
    fn default() -> Self {
        Xof { hasher: Hasher::new(Midstate::new(Self::FUNCTION)) }
    }
}

impl<const RATE: usize, const SUFFIX: u8, const ROUNDS: u32> Reset for Xof<RATE, SUFFIX, ROUNDS> {
    #[inline]
    fn reset(&mut self) {
        self.hasher.reset(Midstate::new(Self::FUNCTION));
    }
}

impl<const RATE: usize, const SUFFIX: u8, const ROUNDS: u32> AlgorithmName
    for Xof<RATE, SUFFIX, ROUNDS>
{
    fn write_alg_name(f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let family = if ROUNDS == 24 { "Shake" } else { "TurboShake" };
        write!(f, "{family}{}", strength(RATE))
    }
}

/// The object identifier of NIST's Computer Security Objects Register.
impl digest::const_oid::AssociatedOid for Shake128 {
    const OID: digest::const_oid::ObjectIdentifier =
        digest::const_oid::ObjectIdentifier::new_unwrap("2.16.840.1.101.3.4.2.11");
}

/// The object identifier of NIST's Computer Security Objects Register.
impl digest::const_oid::AssociatedOid for Shake256 {
    const OID: digest::const_oid::ObjectIdentifier =
        digest::const_oid::ObjectIdentifier::new_unwrap("2.16.840.1.101.3.4.2.12");
}

/// cSHAKE (SP 800-185, clause 3) of one stream: [`CShake128`] and [`CShake256`] are its names.
///
/// ```
/// use manylane::sha3::{CShake128, ExtendableOutput, Update};
///
/// let mut tag = [0; 32];
/// CShake128::new(b"", b"Email Signature").chain(b"\x00\x01\x02\x03").finalize_xof_into(&mut tag);
/// assert_eq!(tag[..4], [0xc1, 0xc3, 0x69, 0x25]);
/// ```
#[derive(Clone)]
pub struct CShake<const RATE: usize> {
    hasher: Hasher,
    /// What a reset returns to: the sponge after the name and the customization.
    start: Midstate,
}

hasher!(CShake[RATE: usize]);

/// cSHAKE128 of one stream, by the RustCrypto [`ExtendableOutput`] trait.
pub type CShake128 = CShake<168>;
/// cSHAKE256 of one stream, by the RustCrypto [`ExtendableOutput`] trait.
pub type CShake256 = CShake<136>;

impl<const RATE: usize> CShake<RATE> {
    pub(super) const FUNCTION: Function = match RATE {
        168 => Function::CSHAKE128,
        136 => Function::CSHAKE256,
        _ => panic!("no XOF has this rate"),
    };

    /// A hasher for one use: the function's `name`, which NIST defines, and the user's
    /// `customization`. Without either it is SHAKE.
    pub fn new(name: &[u8], customization: &[u8]) -> Self {
        let start = Midstate::customized(Self::FUNCTION, name, customization);
        CShake { hasher: Hasher::new(start.clone()), start }
    }
}

impl<const RATE: usize> CustomizedInit for CShake<RATE> {
    fn new_customized(customization: &[u8]) -> Self {
        CShake::new(b"", customization)
    }
}

impl<const RATE: usize> Reset for CShake<RATE> {
    #[inline]
    fn reset(&mut self) {
        self.hasher.reset(self.start.clone());
    }
}

impl<const RATE: usize> AlgorithmName for CShake<RATE> {
    fn write_alg_name(f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CShake{}", strength(RATE))
    }
}

/// Bits of security that a rate leaves an XOF.
const fn strength(rate: usize) -> usize {
    4 * (200 - rate)
}

/// What the `digest` traits state in types.
macro_rules! of_rate {
    ($rate:literal, $size:ty, resists $resistance:ty) => {
        impl<const SUFFIX: u8, const ROUNDS: u32> BlockSizeUser for Xof<$rate, SUFFIX, ROUNDS> {
            type BlockSize = $size;
        }

        impl BlockSizeUser for CShake<$rate> {
            type BlockSize = $size;
        }

        impl<const SUFFIX: u8, const ROUNDS: u32> CollisionResistance
            for Xof<$rate, SUFFIX, ROUNDS>
        {
            type CollisionResistance = $resistance;
        }

        impl CollisionResistance for CShake<$rate> {
            type CollisionResistance = $resistance;
        }

        impl<const SUFFIX: u8, const ROUNDS: u32> SerializableState for Xof<$rate, SUFFIX, ROUNDS> {
            /// The state, the number of blocks, and the incomplete block after its length.
            type SerializedStateSize = Sum<U208, $size>;

            fn serialize(&self) -> SerializedState<Self> {
                let mut bytes = SerializedState::<Self>::default();
                write_midstate(&self.hasher.state, &mut bytes);
                bytes
            }

            fn deserialize(bytes: &SerializedState<Self>) -> Result<Self, DeserializeStateError> {
                let state = read_midstate(Self::FUNCTION, bytes)?;
                Ok(Xof { hasher: Hasher::new(state) })
            }
        }
    };
}
of_rate!(168, U168, resists U16);
of_rate!(136, U136, resists U32);

fn write_midstate(state: &Midstate, bytes: &mut [u8]) {
    write_bytes(&state.a, &mut bytes[..200]);
    bytes[200..208].copy_from_slice(&state.blocks.to_le_bytes());
    bytes[208] = state.rest_len as u8;
    bytes[209..209 + state.rest_len].copy_from_slice(state.rest());
}

/// The state that [`write_midstate`] wrote, if it can have.
fn read_midstate(function: Function, bytes: &[u8]) -> Result<Midstate, DeserializeStateError> {
    let (state, buffer) = bytes.split_first_chunk().ok_or(DeserializeStateError)?;
    let (a, blocks) = read_state(state)?;
    let (rest, unused) =
        buffer[1..].split_at_checked(buffer[0].into()).ok_or(DeserializeStateError)?;
    if unused.iter().any(|byte| *byte != 0) {
        return Err(DeserializeStateError);
    }
    let mut state = Midstate::from_parts(function, &a, blocks);
    state.set_rest(rest);
    Ok(state)
}

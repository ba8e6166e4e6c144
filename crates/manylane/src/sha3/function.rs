//! Which sponge: its rate, its domain, its rounds and the length of its output.

use super::dispatch::Rounds;

/// A sponge on Keccak-p\[1600\] with its parameters: which hash function or XOF it is.
///
/// FIPS 202, clause 6, and RFC 9861 differ in no more than these. Those of fixed output are
/// written into buffers of exactly [`output_len`](Self::output_len) bytes; an extendable-output
/// function (XOF) fills any buffer, and `output_len` is what [`hash_many`](super::hash_many)
/// gives each message.
///
/// ```
/// use manylane::sha3::Function;
///
/// assert_eq!((Function::SHA3_256.rate(), Function::SHA3_256.output_len()), (136, 32));
/// let function = Function::SHAKE128.with_output_len(64);
/// assert_eq!((function.rate(), function.output_len()), (168, 64));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Function {
    rate: usize,
    suffix: u8,
    rounds: Rounds,
    is_xof: bool,
    output_len: usize,
}

impl Function {
    /// SHA3-224 (FIPS 202, clause 6.1): 28 bytes.
    pub const SHA3_224: Function = Function::fixed(28, 0x06);
    /// SHA3-256 (FIPS 202, clause 6.1): 32 bytes.
    pub const SHA3_256: Function = Function::fixed(32, 0x06);
    /// SHA3-384 (FIPS 202, clause 6.1): 48 bytes.
    pub const SHA3_384: Function = Function::fixed(48, 0x06);
    /// SHA3-512 (FIPS 202, clause 6.1): 64 bytes.
    pub const SHA3_512: Function = Function::fixed(64, 0x06);
    /// Keccak-224: 28 bytes, by the padding of the submission to the competition.
    pub const KECCAK_224: Function = Function::fixed(28, 0x01);
    /// Keccak-256, as Ethereum has it: 32 bytes, by the padding of the submission.
    pub const KECCAK_256: Function = Function::fixed(32, 0x01);
    /// Keccak-384: 48 bytes, by the padding of the submission.
    pub const KECCAK_384: Function = Function::fixed(48, 0x01);
    /// Keccak-512: 64 bytes, by the padding of the submission.
    pub const KECCAK_512: Function = Function::fixed(64, 0x01);
    /// SHAKE128 (FIPS 202, clause 6.2): 32 bytes unless told otherwise.
    pub const SHAKE128: Function = Function::xof(168, 0x1f, Rounds::TwentyFour, 32);
    /// SHAKE256 (FIPS 202, clause 6.2): 64 bytes unless told otherwise.
    pub const SHAKE256: Function = Function::xof(136, 0x1f, Rounds::TwentyFour, 64);
    /// The sponge of cSHAKE128 (SP 800-185, clause 3.3) with a name or a customization, whose
    /// encoding is the prefix of every message: 32 bytes unless told otherwise. Nothing but
    /// [`Midstate::customized`](super::Midstate::customized) puts that prefix there.
    pub const CSHAKE128: Function = Function::xof(168, 0x04, Rounds::TwentyFour, 32);
    /// The sponge of cSHAKE256 (SP 800-185, clause 3.3) with a name or a customization, whose
    /// encoding is the prefix of every message: 64 bytes unless told otherwise. Nothing but
    /// [`Midstate::customized`](super::Midstate::customized) puts that prefix there.
    pub const CSHAKE256: Function = Function::xof(136, 0x04, Rounds::TwentyFour, 64);

    /// TurboSHAKE128 (RFC 9861, clause 2) with a domain separation byte: 32 bytes unless told
    /// otherwise.
    ///
    /// # Panics
    /// Unless `domain` is in 0x01 … 0x7f.
    pub const fn turboshake128(domain: u8) -> Function {
        assert!(0x01 <= domain && domain <= 0x7f, "TurboSHAKE's domain byte is in 0x01 ... 0x7f");
        Function::xof(168, domain, Rounds::Twelve, 32)
    }

    /// TurboSHAKE256 (RFC 9861, clause 2) with a domain separation byte: 64 bytes unless told
    /// otherwise.
    ///
    /// # Panics
    /// Unless `domain` is in 0x01 … 0x7f.
    pub const fn turboshake256(domain: u8) -> Function {
        assert!(0x01 <= domain && domain <= 0x7f, "TurboSHAKE's domain byte is in 0x01 ... 0x7f");
        Function::xof(136, domain, Rounds::Twelve, 64)
    }

    pub(super) const fn fixed(output_len: usize, suffix: u8) -> Function {
        let rate = 200 - 2 * output_len;
        Function { rate, suffix, rounds: Rounds::TwentyFour, is_xof: false, output_len }
    }

    const fn xof(rate: usize, suffix: u8, rounds: Rounds, output_len: usize) -> Function {
        Function { rate, suffix, rounds, is_xof: true, output_len }
    }

    /// The same XOF with another length of output, in bytes.
    ///
    /// # Panics
    /// If the function is no XOF.
    pub const fn with_output_len(self, output_len: usize) -> Function {
        assert!(self.is_xof, "only an XOF's output has any length");
        Function { output_len, ..self }
    }

    /// Bytes of a block: 168, 144, 136, 104 or 72.
    pub const fn rate(self) -> usize {
        self.rate
    }

    /// Bytes of output.
    pub const fn output_len(self) -> usize {
        self.output_len
    }

    /// The byte after the message: the domain's bits and the first 1 of the padding.
    pub const fn suffix(self) -> u8 {
        self.suffix
    }

    /// Rounds of the permutation: 24, or TurboSHAKE's 12.
    pub const fn rounds(self) -> u32 {
        self.rounds.count() as u32
    }

    /// Whether its output may have any length.
    pub const fn is_xof(self) -> bool {
        self.is_xof
    }

    /// Whether it has the submission's padding.
    pub(super) const fn is_keccak(self) -> bool {
        self.suffix == 0x01 && !self.is_xof
    }

    /// What cSHAKE is without name and customization: SHAKE.
    ///
    /// # Panics
    /// If it is not cSHAKE.
    pub(super) fn without_customization(self) -> Function {
        let is_cshake = self.with_suffix(0x04) == self && self.rounds == Rounds::TwentyFour;
        assert!(is_cshake && self.is_xof, "only cSHAKE takes a name and a customization");
        self.with_suffix(0x1f)
    }

    const fn with_suffix(self, suffix: u8) -> Function {
        Function { suffix, ..self }
    }

    /// How kernels take [`rounds`](Self::rounds).
    pub(super) const fn permutation(self) -> Rounds {
        self.rounds
    }

    /// Refuses an output that the function does not have.
    ///
    /// # Panics
    /// If the function is no XOF and has another length of output.
    #[inline]
    pub(super) fn check_output(self, len: usize) {
        let due = self.output_len;
        assert!(self.is_xof || len == due, "an output of {len} bytes, {due} are due");
    }
}

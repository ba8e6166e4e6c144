//! The sponge as `kernels/sha3.cu` declares it.

use manylane::sha3::Midstate;
use zeroize::Zeroize;

/// Rounds of Keccak-p\[1600\] with all round constants.
const ALL_ROUNDS: u32 = 24;

/// What all messages start from, and how they end.
#[repr(C)]
#[derive(Clone, Debug)]
pub(super) struct Sponge {
    /// With the rest of the prefix in it: absorbing is exclusive or.
    a: [u64; 25],
    pub(super) rest_len: u32,
    pub(super) suffix: u32,
    pub(super) first_round: u32,
    pub(super) output_len: u32,
}

impl Sponge {
    /// `None` if the output is longer than a kernel can count.
    pub(super) fn of(midstate: &Midstate) -> Option<Self> {
        let (function, rest) = (midstate.function(), midstate.rest());
        let output_len = u32::try_from(function.output_len()).ok()?;
        let mut sponge = Sponge {
            a: *midstate.words(),
            rest_len: rest.len() as u32,
            suffix: function.suffix().into(),
            first_round: ALL_ROUNDS - function.rounds(),
            output_len,
        };
        for (i, byte) in rest.iter().enumerate() {
            sponge.a[i / 8] ^= u64::from(*byte) << (8 * (i % 8));
        }
        Some(sponge)
    }

    /// Whether nothing comes before the messages.
    pub(super) fn is_initial(&self) -> bool {
        self.rest_len == 0 && self.a == [0; 25]
    }

    /// Whether a permutation has all rounds.
    pub(super) fn has_all_rounds(&self) -> bool {
        self.first_round == 0
    }
}

/// A midstate can be a key's.
impl Drop for Sponge {
    fn drop(&mut self) {
        self.a.zeroize();
    }
}

#[cfg(test)]
mod tests {
    use manylane::sha3::Function;

    use super::*;

    #[test]
    fn a_sponge_has_all_of_the_midstate() {
        assert_eq!(size_of::<Sponge>(), 216);
        let function = Function::turboshake128(0x1f).with_output_len(200);
        let midstate = Midstate::after(function, &[7; 168 + 9]);
        let sponge = Sponge::of(&midstate).unwrap();
        assert_eq!(sponge.a[0], midstate.words()[0] ^ 0x0707_0707_0707_0707);
        assert_eq!(sponge.a[1], midstate.words()[1] ^ 7);
        assert_eq!(sponge.a[2..], midstate.words()[2..]);
        let numbers = (sponge.rest_len, sponge.suffix, sponge.first_round, sponge.output_len);
        assert_eq!(numbers, (9, 0x1f, 12, 200));
        assert!(!sponge.is_initial() && !sponge.has_all_rounds());
    }

    #[test]
    fn a_sponge_after_nothing_is_initial() {
        let of = |prefix: &[u8]| Sponge::of(&Midstate::after(Function::SHA3_256, prefix)).unwrap();
        assert!(of(&[]).is_initial() && of(&[]).has_all_rounds());
        // Of this one the state is all zeros too.
        assert!(!of(&[0]).is_initial());
        let long = Midstate::new(Function::SHAKE128).with_output_len(1 << 32);
        assert!(Sponge::of(&long).is_none());
    }
}

//! SHA-3's part: its functions, the oracle, and who computes many.

use std::fmt;

use super::{Presence, presence};
use digest::{
    ExtendableOutput, ExtendableOutputReset, FixedOutput, FixedOutputReset, Reset, Update,
    common::hazmat::SerializableState,
};
use manylane::{
    Messages,
    cpu::Machine,
    sha3::{
        self, Function, Keccak224, Keccak256, Keccak384, Keccak512, Kernel, Lanes, Midstate,
        Sha3_224, Sha3_256, Sha3_384, Sha3_512, Shake128, Shake256, TurboShake128, TurboShake256,
        XofReader,
    },
};

/// One function of each rate and each number of rounds.
pub(crate) const FUNCTIONS: [Function; 7] = [
    Function::SHA3_224,
    Function::SHA3_256,
    Function::SHA3_384,
    Function::SHA3_512,
    Function::SHAKE128,
    Function::turboshake128(0x1f),
    Function::turboshake256(0x0b),
];

/// Whether SHA-3 has a kernel for many lanes on this machine.
pub(crate) fn has_lanes(machine: Machine) -> bool {
    matches!(
        machine,
        Machine::Portable | Machine::Avx2 | Machine::Avx512 | Machine::Neon | Machine::ArmSha3
    )
}

/// Whether SHA-3 has a kernel for one stream on this machine.
pub(crate) fn has_stream(machine: Machine) -> bool {
    matches!(machine, Machine::Portable | Machine::Bmi2 | Machine::Avx512 | Machine::ArmSha3)
}

fn running(has: fn(Machine) -> bool) -> impl Iterator<Item = Machine> {
    Machine::ALL.into_iter().filter(move |&m| presence(m) == Presence::Run && has(m))
}

/// The machines whose lanes must run here, the least capable first.
pub(crate) fn lane_machines() -> impl Iterator<Item = Machine> {
    running(has_lanes)
}

/// The machine whose lanes are fastest here: among Arm cores, the SHA3 instructions win on Apple's alone.
pub(crate) fn best_lanes() -> Machine {
    let is_slow = |m: &Machine| *m == Machine::ArmSha3 && !cfg!(target_vendor = "apple");
    lane_machines().filter(|m| !is_slow(m)).last().unwrap()
}

/// The machines whose streams must run here, the least capable first.
pub(crate) fn stream_machines() -> impl Iterator<Item = Machine> {
    running(has_stream)
}

/// A kernel's id must be that of the machine that was asked for.
#[track_caller]
pub(crate) fn assert_kernel(kernel: Kernel, machine: Machine) {
    assert_eq!(kernel.machine(), machine, "{}", kernel.name());
    assert!(kernel.name().starts_with(&format!("sha3/{machine}")), "{}", kernel.name());
}

/// A hasher of any function.
pub(crate) trait Hasher {
    fn update(&mut self, data: &[u8]);
    /// The output, of `len` bytes.
    fn finish(&self, len: usize) -> Vec<u8>;
    /// The output, and a new beginning.
    fn finish_reset(&mut self, len: usize) -> Vec<u8>;
    fn reset(&mut self);
    fn kernel(&self) -> Option<Kernel>;
    fn midstate(&self) -> Midstate;
    fn copy(&self) -> Box<dyn Hasher>;
    /// One made of the serialized state, on the best machine.
    fn revived(&self) -> Box<dyn Hasher>;
    fn shown(&self) -> String;
}

/// What hashers of both kinds do in one way.
macro_rules! alike {
    ($name:ty) => {
        fn update(&mut self, data: &[u8]) {
            Update::update(self, data);
        }

        fn reset(&mut self) {
            Reset::reset(self);
        }

        fn kernel(&self) -> Option<Kernel> {
            self.kernel()
        }

        fn midstate(&self) -> Midstate {
            self.midstate()
        }

        fn copy(&self) -> Box<dyn Hasher> {
            Box::new(self.clone())
        }

        fn revived(&self) -> Box<dyn Hasher> {
            Box::new(<$name>::deserialize(&self.serialize()).unwrap())
        }

        fn shown(&self) -> String {
            format!("{self:?}")
        }
    };
}

macro_rules! fixed {
    ($($name:ty),+) => {$(
        impl Hasher for $name {
            alike!($name);

            fn finish(&self, len: usize) -> Vec<u8> {
                let digest = self.clone().finalize_fixed();
                assert_eq!(digest.len(), len);
                digest.to_vec()
            }

            fn finish_reset(&mut self, len: usize) -> Vec<u8> {
                let digest = self.finalize_fixed_reset();
                assert_eq!(digest.len(), len);
                digest.to_vec()
            }
        }
    )+};
}
fixed!(Sha3_224, Sha3_256, Sha3_384, Sha3_512, Keccak224, Keccak256, Keccak384, Keccak512);

macro_rules! xof {
    ($($name:ty),+) => {$(
        impl Hasher for $name {
            alike!($name);

            fn finish(&self, len: usize) -> Vec<u8> {
                let mut out = vec![0; len];
                self.clone().finalize_xof().read(&mut out);
                out
            }

            fn finish_reset(&mut self, len: usize) -> Vec<u8> {
                let mut out = vec![0; len];
                self.finalize_xof_reset().read(&mut out);
                out
            }
        }
    )+};
}
xof!(Shake128, Shake256, TurboShake128<0x1f>, TurboShake256<0x0b>);

/// A hasher on one machine.
pub(crate) fn hasher(function: Function, machine: Machine) -> Box<dyn Hasher> {
    macro_rules! first_of {
        ($($name:ty),+) => {$(
            if <$name>::FUNCTION.with_len_of(function) == function {
                return Box::new(<$name>::new_on(machine).unwrap());
            }
        )+};
    }
    first_of!(
        Sha3_224,
        Sha3_256,
        Sha3_384,
        Sha3_512,
        Keccak224,
        Keccak256,
        Keccak384,
        Keccak512,
        Shake128,
        Shake256,
        TurboShake128<0x1f>,
        TurboShake256<0x0b>
    );
    panic!("no hasher of {function:?}");
}

trait WithLenOf {
    /// The same function with the other's length of output, if it takes one.
    fn with_len_of(self, other: Function) -> Function;
}

impl WithLenOf for Function {
    fn with_len_of(self, other: Function) -> Function {
        if self.is_xof() { self.with_output_len(other.output_len()) } else { self }
    }
}

/// The function's output for the concatenation of `parts` by the portable stream.
/// `sha3_known_answers` ties it to the standards.
pub(crate) fn oracle(function: Function, parts: &[&[u8]]) -> Vec<u8> {
    let mut hasher = hasher(function, Machine::Portable);
    for part in parts {
        hasher.update(part);
    }
    hasher.finish(function.output_len())
}

/// Who takes many messages.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Many {
    /// The lanes of one machine.
    On(Machine),
    /// Whatever the library chooses: the widest lanes, and streams where few are busy.
    Chosen,
}

impl Many {
    /// All that must work here.
    pub(crate) fn all() -> impl Iterator<Item = Many> {
        lane_machines().map(Many::On).chain([Many::Chosen])
    }

    /// Messages side by side.
    pub(crate) fn lanes(self) -> usize {
        match self {
            Many::On(machine) => Lanes::new_on(Function::SHA3_256, machine).unwrap().count(),
            Many::Chosen => Lanes::new(Function::SHA3_256).count(),
        }
    }

    /// Counts around a whole number of the lanes, and none.
    pub(crate) fn counts(self) -> [usize; 7] {
        let lanes = self.lanes();
        [0, 1, 2, lanes - 1, lanes, lanes + 1, 2 * lanes + 3]
    }

    /// The outputs for `messages` after `start` and before `foot`; asserts that the machine's own
    /// kernel made them.
    #[track_caller]
    pub(crate) fn hash(self, start: &Midstate, messages: &Messages, foot: &[u8]) -> Vec<u8> {
        let mut out = vec![0xee; messages.len() * start.function().output_len()];
        match self {
            Many::On(machine) => {
                match sha3::hash_many_on(machine, start, messages, foot, &mut out).unwrap() {
                    Some(kernel) => assert_kernel(kernel, machine),
                    None => assert!(out.is_empty(), "no kernel ran"),
                }
            }
            Many::Chosen => sha3::hash_many_after(start, messages, foot, &mut out).unwrap(),
        }
        out
    }
}

/// A batch and what is around its messages.
pub(crate) struct Around<'a> {
    pub(crate) function: Function,
    pub(crate) prefix: &'a [u8],
    pub(crate) foot: &'a [u8],
}

impl fmt::Debug for Around<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (prefix, foot) = (self.prefix.len(), self.foot.len());
        write!(f, "{:?} after {prefix} bytes, before {foot}", self.function)
    }
}

impl Around<'_> {
    /// The portable stream's outputs, one after another.
    pub(crate) fn expected(&self, messages: &[impl AsRef<[u8]>]) -> Vec<u8> {
        let one = |m: &[u8]| oracle(self.function, &[self.prefix, m, self.foot]);
        messages.iter().flat_map(|m| one(m.as_ref())).collect()
    }

    /// Asserts that everyone gives `expected` for `batch`.
    #[track_caller]
    pub(crate) fn check(&self, shape: &str, batch: &Messages, expected: &[u8]) {
        let start = Midstate::after(self.function, self.prefix);
        for many in Many::all() {
            self.check_of(many, &start, shape, batch, expected);
        }
    }

    /// Asserts that `many` gives `expected` for `batch`.
    #[track_caller]
    pub(crate) fn check_of(
        &self,
        many: Many,
        start: &Midstate,
        shape: &str,
        batch: &Messages,
        expected: &[u8],
    ) {
        let out = many.hash(start, batch, self.foot);
        let len = self.function.output_len();
        assert_eq!(out.len(), expected.len());
        for i in 0..batch.len() {
            let at = i * len..(i + 1) * len;
            assert!(
                out[at.clone()] == expected[at],
                "{many:?}, {self:?}, {shape}: message {i} of {}, {} bytes",
                batch.len(),
                batch.get(i).len()
            );
        }
    }
}

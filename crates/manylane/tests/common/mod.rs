//! What the test files share: which machines run here, the oracle, and the checkers that every
//! machine passes through.
#![allow(dead_code, reason = "each test file uses its part")]

pub(crate) mod sha3;

use std::fmt;

use manylane::{
    Error, Messages,
    cpu::{self, Machine},
    sm3::{self, Digest, Kernel, Lanes, Midstate, Sm3},
};

pub(crate) type Output = [u8; sm3::DIGEST_LEN];

/// What becomes of a machine in this run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Presence {
    /// Its kernels must run.
    Run,
    /// The processor has it, `MANYLANE_MACHINE` rules it out.
    Capped,
    /// The processor lacks it.
    Absent,
    /// It belongs to another architecture.
    Foreign,
}

impl fmt::Display for Presence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Presence::Run => f.write_str("run"),
            Presence::Capped => {
                write!(f, "capped by {}={}", cpu::FORCE, cap().unwrap_or(Machine::Portable))
            }
            Presence::Absent => f.write_str("not on this processor"),
            Presence::Foreign => f.write_str("not of this architecture"),
        }
    }
}

/// What becomes of `machine`, by this processor's own report and not by the library's word: a
/// mistake in the library's detection must not make its kernels' tests disappear.
pub(crate) fn presence(machine: Machine) -> Presence {
    match reported(machine) {
        None => Presence::Foreign,
        Some(false) => Presence::Absent,
        Some(true) if cap().is_some_and(|cap| machine > cap) => Presence::Capped,
        Some(true) => Presence::Run,
    }
}

/// The machine that the environment caps the library at.
fn cap() -> Option<Machine> {
    Machine::from_name(&std::env::var(cpu::FORCE).ok()?)
}

#[cfg(target_arch = "x86_64")]
fn reported(machine: Machine) -> Option<bool> {
    use std::arch::is_x86_feature_detected as has;
    let bmi2 = has!("bmi1") && has!("bmi2") && has!("avx2");
    let avx512 = has!("avx512f") && has!("avx512bw") && has!("avx512dq") && has!("avx512vl");
    let aesni = has!("aes") && has!("pclmulqdq") && has!("sse4.1");
    let vaes = aesni && avx512 && has!("vaes") && has!("vpclmulqdq");
    match machine {
        Machine::Portable => Some(true),
        Machine::Sse => Some(has!("ssse3") && has!("sse4.1")),
        Machine::Aesni => Some(aesni),
        Machine::Bmi2 => Some(bmi2),
        Machine::Avx2 => Some(has!("avx2")),
        Machine::Avx512 => Some(avx512 && bmi2),
        Machine::Vaes => Some(vaes),
        Machine::Gfni => Some(vaes && has!("gfni")),
        Machine::Ifma => Some(has!("avx512ifma") && avx512 && bmi2),
        _ => None,
    }
}

#[cfg(target_arch = "aarch64")]
fn reported(machine: Machine) -> Option<bool> {
    use std::arch::is_aarch64_feature_detected as has;
    match machine {
        Machine::Portable => Some(true),
        Machine::Neon => Some(has!("neon")),
        Machine::Armaes => Some(has!("neon") && has!("aes") && has!("pmull")),
        Machine::ArmSha3 => Some(has!("neon") && has!("sha3")),
        Machine::ArmCrypto => Some(has!("neon") && has!("sm4")),
        _ => None,
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn reported(machine: Machine) -> Option<bool> {
    (machine == Machine::Portable).then_some(true)
}

/// Whether SM3 has a kernel for many lanes on this machine.
pub(crate) fn has_lanes(machine: Machine) -> bool {
    matches!(
        machine,
        Machine::Portable | Machine::Sse | Machine::Avx2 | Machine::Avx512 | Machine::Neon
    )
}

/// Whether SM3 has a kernel for one stream on this machine.
pub(crate) fn has_stream(machine: Machine) -> bool {
    matches!(machine, Machine::Portable | Machine::Bmi2 | Machine::Avx512 | Machine::ArmCrypto)
}

fn running(has: fn(Machine) -> bool) -> impl Iterator<Item = Machine> {
    Machine::ALL.into_iter().filter(move |&m| presence(m) == Presence::Run && has(m))
}

/// The machines whose lanes must run here, the least capable first.
pub(crate) fn lane_machines() -> impl Iterator<Item = Machine> {
    running(has_lanes)
}

/// The machines whose streams must run here, the least capable first.
pub(crate) fn stream_machines() -> impl Iterator<Item = Machine> {
    running(has_stream)
}

/// A kernel's id must be that of the machine that was asked for.
#[track_caller]
pub(crate) fn assert_kernel(kernel: Kernel, machine: Machine) {
    assert_eq!(kernel.machine(), machine, "{}", kernel.name());
    assert!(kernel.name().starts_with(&format!("sm3/{machine}")), "{}", kernel.name());
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
            Many::On(machine) => Lanes::new_on(machine).unwrap().count(),
            Many::Chosen => Lanes::new().count(),
        }
    }

    /// The digests of `messages` after `start`; asserts that the machine's own kernel made them.
    #[track_caller]
    pub(crate) fn hash(self, start: &Midstate, messages: &Messages) -> Vec<Output> {
        self.assert_ran(messages.len(), |out| match self {
            Many::On(machine) => sm3::hash_many_on(machine, start, messages, out),
            Many::Chosen => sm3::hash_many_after(start, messages, out).map(|()| None),
        })
    }

    /// HMAC-SM3 of `messages`, each under its own key; asserts as [`hash`](Self::hash).
    #[track_caller]
    pub(crate) fn hmac(self, keys: &Messages, messages: &Messages) -> Vec<Output> {
        self.assert_ran(messages.len(), |out| match self {
            Many::On(machine) => sm3::hmac_many_on(machine, keys, messages, out),
            Many::Chosen => sm3::hmac_many(keys, messages, out).map(|()| None),
        })
    }

    #[track_caller]
    fn assert_ran(
        self,
        count: usize,
        call: impl FnOnce(&mut [Output]) -> Result<Option<Kernel>, Error>,
    ) -> Vec<Output> {
        let mut out = vec![[0xee; 32]; count];
        let kernel = call(&mut out).unwrap();
        match (self, kernel) {
            (Many::On(machine), Some(kernel)) => assert_kernel(kernel, machine),
            (Many::On(_), None) => assert!(out.is_empty(), "no kernel ran"),
            (Many::Chosen, _) => {}
        }
        out
    }
}

/// SM3 of the concatenation of `parts` by the portable stream. `known_answers` ties it to the
/// standard.
pub(crate) fn oracle(parts: &[&[u8]]) -> Output {
    let mut sm3 = Sm3::new_on(Machine::Portable).unwrap();
    for part in parts {
        sm3.update(part);
    }
    sm3.finalize().into()
}

/// HMAC-SM3 as RFC 2104 defines it, by the [`oracle`].
pub(crate) fn hmac_oracle(key: &[u8], message: &[u8]) -> Output {
    let mut k0 = [0; 64];
    if key.len() > 64 {
        k0[..32].copy_from_slice(&oracle(&[key]));
    } else {
        k0[..key.len()].copy_from_slice(key);
    }
    let inner = oracle(&[&k0.map(|k| k ^ 0x36), message]);
    oracle(&[&k0.map(|k| k ^ 0x5c), &inner])
}

/// Calls `check` with the name of each shape of [`Messages`] that can hold `messages`, and them
/// in that shape. The first message begins `skew` bytes into its buffer.
pub(crate) fn each_shape(
    messages: &[impl AsRef<[u8]>],
    skew: usize,
    mut check: impl FnMut(&str, &Messages),
) {
    let mut data = vec![0xa5; skew];
    let mut offsets = vec![skew as u32];
    for message in messages {
        data.extend_from_slice(message.as_ref());
        offsets.push(data.len() as u32);
    }
    let offsets64: Vec<u64> = offsets.iter().copied().map(u64::from).collect();
    let slices: Vec<&[u8]> =
        offsets.windows(2).map(|ends| &data[ends[0] as usize..ends[1] as usize]).collect();
    check("slices", &Messages::slices(&slices));
    check("offsets32", &Messages::offsets32(&data, &offsets).unwrap());
    check("offsets64", &Messages::offsets64(&data, &offsets64).unwrap());

    let len = messages.first().map_or(0, |message| message.as_ref().len());
    if messages.iter().all(|message| message.as_ref().len() == len) {
        let count = messages.len();
        // Rows without a gap, and rows whose gap holds what no digest may depend on.
        check("strided", &Messages::strided(&data[skew..], len, len, count).unwrap());
        let rows: Vec<u8> = messages.iter().fold(vec![0xa5; skew], |mut rows, message| {
            rows.extend_from_slice(message.as_ref());
            rows.extend_from_slice(&[0x5a; 5]);
            rows
        });
        check("padded rows", &Messages::strided(&rows[skew..], len, len + 5, count).unwrap());
    }
}

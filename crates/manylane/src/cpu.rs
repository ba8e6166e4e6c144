//! Which machines this processor has.
//!
//! A *machine* is an instruction set that some kernel is written for. Kernels take a token that
//! only this module can build, so holding one proves that the processor was asked.
//!
//! The environment variable [`FORCE`] (`MANYLANE_MACHINE`) names the most capable machine that may
//! be used, for tests and comparisons: with `MANYLANE_MACHINE=avx2`, neither AVX-512 lanes nor the
//! AVX-512 message expansion of a single stream run.

use std::sync::OnceLock;

/// Name of the environment variable that caps the machines used.
pub const FORCE: &str = "MANYLANE_MACHINE";

/// An instruction set that some kernel is written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Machine {
    /// Plain Rust; runs everywhere.
    Portable,
    /// x86-64 with SSSE3 and SSE4.1: four 32-bit lanes.
    Sse,
    /// x86-64 with AES and PCLMULQDQ beside that: one AES block a register.
    Aesni,
    /// x86-64 with BMI1, BMI2 and AVX2: scalar rounds of one stream, message expansion in
    /// vectors; SHA-3's stream with RORX and ANDN; SM2's arithmetic with MULX.
    Bmi2,
    /// x86-64 with AVX2: eight 32-bit or four 64-bit lanes.
    Avx2,
    /// x86-64 with AVX-512 F, BW and VL, AVX2 and BMI2: sixteen 32-bit or eight 64-bit lanes.
    Avx512,
    /// x86-64 with VAES and VPCLMULQDQ beside AVX-512 F, BW and VL: four AES blocks a register.
    Vaes,
    /// x86-64 with GFNI beside that: an affine map of each of 64 bytes, for SM4's S-box.
    Gfni,
    /// x86-64 with AVX-512 IFMA beside that: eight 52-bit lanes of SM2's field.
    Ifma,
    /// AArch64 with Advanced SIMD: two groups of four 32-bit lanes, or two 64-bit lanes.
    Neon,
    /// AArch64 with the AES and PMULL instructions: one AES block a register.
    Armaes,
    /// AArch64 with the Armv8.2 SHA3 instructions: two 64-bit lanes.
    ArmSha3,
    /// AArch64 with the Armv8.2 SM3 and SM4 instructions.
    ArmCrypto,
}

impl Machine {
    /// Every machine, the least capable first.
    pub const ALL: [Machine; 13] = [
        Machine::Portable,
        Machine::Sse,
        Machine::Aesni,
        Machine::Bmi2,
        Machine::Avx2,
        Machine::Avx512,
        Machine::Vaes,
        Machine::Gfni,
        Machine::Ifma,
        Machine::Neon,
        Machine::Armaes,
        Machine::ArmSha3,
        Machine::ArmCrypto,
    ];

    /// The name used in file names, in [`FORCE`] and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Machine::Portable => "portable",
            Machine::Sse => "sse",
            Machine::Aesni => "aesni",
            Machine::Bmi2 => "bmi2",
            Machine::Avx2 => "avx2",
            Machine::Avx512 => "avx512",
            Machine::Vaes => "vaes",
            Machine::Gfni => "gfni",
            Machine::Ifma => "ifma",
            Machine::Neon => "neon",
            Machine::Armaes => "armaes",
            Machine::ArmSha3 => "armsha3",
            Machine::ArmCrypto => "armcrypto",
        }
    }

    /// The machine of that name, if there is one.
    pub fn from_name(name: &str) -> Option<Machine> {
        Machine::ALL.into_iter().find(|machine| machine.name() == name)
    }

    /// Whether this build has kernels for the machine's architecture at all.
    pub fn is_native(self) -> bool {
        match self {
            Machine::Portable => true,
            Machine::Sse
            | Machine::Aesni
            | Machine::Bmi2
            | Machine::Avx2
            | Machine::Avx512
            | Machine::Vaes
            | Machine::Gfni
            | Machine::Ifma => cfg!(target_arch = "x86_64"),
            Machine::Neon | Machine::Armaes | Machine::ArmSha3 | Machine::ArmCrypto => {
                cfg!(target_arch = "aarch64")
            }
        }
    }

    /// Whether this processor has the machine, whatever [`FORCE`] says.
    pub fn is_detected(self) -> bool {
        match self {
            Machine::Portable => true,
            #[cfg(target_arch = "x86_64")]
            Machine::Sse => has_sse(),
            #[cfg(target_arch = "x86_64")]
            Machine::Aesni => has_aesni(),
            #[cfg(target_arch = "x86_64")]
            Machine::Bmi2 => has_bmi2(),
            #[cfg(target_arch = "x86_64")]
            Machine::Avx2 => has_avx2(),
            #[cfg(target_arch = "x86_64")]
            Machine::Avx512 => has_avx512(),
            #[cfg(target_arch = "x86_64")]
            Machine::Vaes => has_vaes(),
            #[cfg(target_arch = "x86_64")]
            Machine::Gfni => has_gfni(),
            #[cfg(target_arch = "x86_64")]
            Machine::Ifma => has_ifma(),
            #[cfg(target_arch = "aarch64")]
            Machine::Neon => has_neon(),
            #[cfg(target_arch = "aarch64")]
            Machine::Armaes => has_armaes(),
            #[cfg(target_arch = "aarch64")]
            Machine::ArmSha3 => has_armsha3(),
            #[cfg(target_arch = "aarch64")]
            Machine::ArmCrypto => has_armcrypto(),
            _ => false,
        }
    }

    /// Whether the machine is detected and not ruled out by [`FORCE`].
    pub fn is_available(self) -> bool {
        self.is_detected() && self <= *cap()
    }
}

impl core::fmt::Display for Machine {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.pad(self.name())
    }
}

/// What [`FORCE`] asks for: nothing, a machine, or a word that names none this processor has.
///
/// The library treats that word as if the variable were unset (it must work in any process); a
/// command should report it.
pub fn forced() -> Result<Option<Machine>, String> {
    let Some(name) = std::env::var_os(FORCE) else { return Ok(None) };
    match name.to_str().and_then(Machine::from_name) {
        Some(machine) if machine.is_detected() => Ok(Some(machine)),
        _ => Err(name.to_string_lossy().into_owned()),
    }
}

fn cap() -> &'static Machine {
    static CAP: OnceLock<Machine> = OnceLock::new();
    CAP.get_or_init(|| forced().ok().flatten().unwrap_or(Machine::ArmCrypto))
}

macro_rules! token {
    ($arch:tt, $name:ident, $has:ident, [$($feature:tt),+]) => {
        #[doc = concat!("Proof of [`Machine::", stringify!($name), "`].")]
        #[cfg(target_arch = $arch)]
        #[derive(Clone, Copy, Debug)]
        pub(crate) struct $name(());

        #[cfg(target_arch = $arch)]
        impl $name {
            /// The token, if the machine is available.
            pub(crate) fn get() -> Option<Self> {
                Machine::$name.is_available().then_some($name(()))
            }
        }

        #[cfg(target_arch = $arch)]
        fn $has() -> bool {
            // The inline assembly addresses with 64-bit pointers and loads little-endian vectors.
            cfg!(all(target_pointer_width = "64", target_endian = "little"))
                $(&& token!(@has $arch, $feature))+
        }
    };
    (@has "x86_64", $feature:tt) => { std::arch::is_x86_feature_detected!($feature) };
    (@has "aarch64", $feature:tt) => { std::arch::is_aarch64_feature_detected!($feature) };
}

token!("x86_64", Sse, has_sse, ["ssse3", "sse4.1"]);
token!("x86_64", Aesni, has_aesni, ["aes", "pclmulqdq", "ssse3", "sse4.1"]);
token!("x86_64", Bmi2, has_bmi2, ["bmi1", "bmi2", "avx2"]);
token!("x86_64", Avx2, has_avx2, ["avx2"]);
token!("x86_64", Avx512, has_avx512, ["avx512f", "avx512bw", "avx512vl", "bmi2", "avx2"]);
token!(
    "x86_64",
    Vaes,
    has_vaes,
    [
        "avx512f",
        "avx512bw",
        "avx512vl",
        "vaes",
        "vpclmulqdq",
        "avx2",
        "aes",
        "pclmulqdq",
        "ssse3",
        "sse4.1"
    ]
);
token!(
    "x86_64",
    Gfni,
    has_gfni,
    [
        "avx512f",
        "avx512bw",
        "avx512vl",
        "gfni",
        "vaes",
        "vpclmulqdq",
        "avx2",
        "aes",
        "pclmulqdq",
        "ssse3",
        "sse4.1"
    ]
);
token!("x86_64", Ifma, has_ifma, ["avx512f", "avx512ifma", "avx512bw", "avx512vl", "bmi2", "avx2"]);
token!("aarch64", Neon, has_neon, ["neon"]);
// The standard library reports FEAT_AES and FEAT_PMULL together, as `aes`.
token!("aarch64", Armaes, has_armaes, ["neon", "aes"]);
// The standard library reports FEAT_SHA512 and FEAT_SHA3 together, as `sha3`.
token!("aarch64", ArmSha3, has_armsha3, ["neon", "sha3"]);
// The standard library reports FEAT_SM3 and FEAT_SM4 together, as `sm4`.
token!("aarch64", ArmCrypto, has_armcrypto, ["neon", "sm4"]);

#[cfg(target_arch = "x86_64")]
impl Vaes {
    /// What this machine includes.
    pub(crate) fn aesni(self) -> Aesni {
        Aesni(())
    }
}

#[cfg(target_arch = "x86_64")]
impl Gfni {
    /// What this machine includes.
    pub(crate) fn aesni(self) -> Aesni {
        Aesni(())
    }
}

#[cfg(target_arch = "x86_64")]
impl Avx512 {
    /// Whether an `lea` of three parts takes one clock: on Intel's cores since Ice Lake, known by
    /// their AVX-512 VBMI2.
    #[inline]
    pub(crate) fn quick_lea(self) -> bool {
        static QUICK: OnceLock<bool> = OnceLock::new();
        *QUICK.get_or_init(|| {
            let vendor = core::arch::x86_64::__cpuid(0);
            let is_intel = (vendor.ebx, vendor.edx, vendor.ecx)
                == (
                    u32::from_le_bytes(*b"Genu"),
                    u32::from_le_bytes(*b"ineI"),
                    u32::from_le_bytes(*b"ntel"),
                );
            is_intel && std::arch::is_x86_feature_detected!("avx512vbmi2")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_round_trip() {
        for machine in Machine::ALL {
            assert_eq!(Machine::from_name(machine.name()), Some(machine));
        }
        assert_eq!(Machine::from_name("avx1024"), None);
    }

    #[test]
    fn portable_is_always_there() {
        assert!(Machine::Portable.is_native() && Machine::Portable.is_available());
    }
}

//! Counted operations: what the instruction counts of an algorithm allow on a known core.
//!
//! A ceiling is given only where the count and what the core does per clock are both known; it
//! leaves out loads, transposition and everything around the kernel, so that no implementation
//! of the same method can pass it.

/// A core whose vector units are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Core {
    /// AMD Zen 4.
    Zen4,
    /// Intel's server cores with two 512-bit units: Ice Lake, Sapphire, Emerald and Granite
    /// Rapids.
    IntelServer,
}

impl Core {
    /// The core of that vendor, family and model, in the numbers that `cpuid` displays.
    pub(super) fn known(vendor: &str, family: u32, model: u32) -> Option<Core> {
        match (vendor, family, model) {
            ("AuthenticAMD", 0x19, 0x10..=0x1f | 0x60..=0x7f | 0xa0..=0xaf) => Some(Core::Zen4),
            ("GenuineIntel", 6, 0x6a | 0x6c | 0x8f | 0xcf | 0xad | 0xae) => Some(Core::IntelServer),
            _ => None,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Core::Zen4 => "AMD Zen 4",
            Core::IntelServer => "Intel server core with two 512-bit units",
        }
    }

    /// Vector operations a clock, for vectors of that many 32-bit lanes.
    fn operations_per_clock(self, lanes: u32) -> f64 {
        match (self, lanes) {
            (_, 16) => 2.0,
            (Core::Zen4, _) => 4.0,
            (Core::IntelServer, _) => 3.0,
        }
    }
}

/// Vector operations of SM3 on one block in every lane.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sm3Lanes {
    lanes: u32,
    /// The 64 rounds, without W'_j.
    rounds: f64,
    /// The 52 expanded words and 64 W'_j.
    expansion: f64,
}

/// With AVX-512: 18 operations a round, and 7 a word (four rotations, three ternary logic).
pub(super) const SM3_AVX512: Sm3Lanes =
    Sm3Lanes { lanes: 16, rounds: 18.0 * 64.0, expansion: 7.0 * 52.0 + 64.0 };

/// With AVX2: logic has two operands, and a rotation is three operations, but one by eight bits,
/// which half of P_0 and of P_1 reduces to, is a byte shuffle. So 31 operations a round, 34 from
/// the sixteenth on (FF and GG are four and three instead of two and two), and 16 a word.
pub(super) const SM3_AVX2: Sm3Lanes =
    Sm3Lanes { lanes: 8, rounds: 31.0 * 16.0 + 34.0 * 48.0, expansion: 16.0 * 52.0 + 64.0 };

impl Sm3Lanes {
    /// Clocks for so many blocks, of which `constant` need no expansion.
    pub(super) fn clocks(self, core: Core, blocks: u64, constant: u64) -> f64 {
        let rounds = self.rounds * blocks as f64;
        let expansion = self.expansion * (blocks - constant) as f64;
        (rounds + expansion) / f64::from(self.lanes) / core.operations_per_clock(self.lanes)
    }
}

/// Clocks of one SM3 stream in scalar registers: the chain through E is seven operations a round
/// (GG, two additions, P0), on any x86-64.
pub(super) fn sm3_stream_clocks(blocks: u64) -> f64 {
    (7 * 64 * blocks) as f64
}

/// Vector operations of Keccak-p[1600] on one state in every lane of 64 bits.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeccakLanes {
    lanes: u32,
    /// Those of a round.
    round: f64,
    /// Those among them that rotate by a number of bits.
    rotates: f64,
}

/// With AVX-512: the parities of θ are two ternary operations each, a third adds two of them to each of the 25
/// words; 5 + 24 rotations; χ is one ternary operation a word, ι one.
pub(super) const KECCAK_AVX512: KeccakLanes =
    KeccakLanes { lanes: 8, round: 10.0 + 25.0 + 29.0 + 25.0 + 1.0, rotates: 29.0 };

/// With AVX2: logic has two operands, and a rotation is three operations, but those by 8 and 56 bits are
/// byte shuffles. Parities 20, their differences 5 and rotations 15, words 25; ρ 2 + 66; χ 50; ι 1.
pub(super) const KECCAK_AVX2: KeccakLanes =
    KeccakLanes { lanes: 4, round: 20.0 + 20.0 + 25.0 + 68.0 + 50.0 + 1.0, rotates: 0.0 };

impl KeccakLanes {
    /// Clocks for so many permutations of 24 rounds. Of vectors of 512 bits, every core known here rotates
    /// one a clock.
    pub(super) fn clocks(self, core: Core, permutations: u64) -> f64 {
        let all = self.round / core.operations_per_clock(2 * self.lanes);
        24.0 * permutations as f64 / f64::from(self.lanes) * all.max(self.rotates)
    }
}

/// Clocks of so many permutations, one after another, of one state in five vectors (`sha3/avx512/state.rs`): three
/// rounds are 98 operations on the two ports that Intel's cores have for 512 bits. The chain through them, 47 clocks,
/// is shorter.
pub(super) fn keccak_state_clocks(core: Core, permutations: u64) -> Option<f64> {
    let each = f64::from(24 / 3 * 98) / 2.0;
    (core == Core::IntelServer).then_some(each * permutations as f64)
}

/// Clocks of AES's rounds in vectors of 512 bits, of which every core known here starts one instruction a
/// clock, for so many blocks side by side.
pub(super) fn vaes_clocks(rounds: u64, blocks: u64) -> f64 {
    (rounds * blocks.div_ceil(4)) as f64
}

/// Blocks of a padded SM3 message.
pub(super) fn sm3_blocks(len: u64) -> u64 {
    (len + 1 + 8).div_ceil(64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ceilings_are_those_of_the_design() {
        let per_block = |count: Sm3Lanes, core| 64.0 / count.clocks(core, 1, 0);
        assert!((per_block(SM3_AVX512, Core::Zen4) - 1.296).abs() < 1e-3);
        assert!((per_block(SM3_AVX2, Core::Zen4) - 0.677).abs() < 1e-3);
        assert!((per_block(SM3_AVX2, Core::IntelServer) - 0.508).abs() < 1e-3);
        let constant = SM3_AVX512.clocks(Core::Zen4, 2, 1) - SM3_AVX512.clocks(Core::Zen4, 1, 0);
        assert!((constant - 1152.0 / 32.0).abs() < 1e-9);
        assert!((64.0 / sm3_stream_clocks(1) - 1.0 / 7.0).abs() < 1e-9);
        // 3.01 GB/s at 2.99 GHz; both units have as much to do as the rotates leave.
        let clocks = KECCAK_AVX512.clocks(Core::IntelServer, 8);
        assert!((8.0 * 136.0 / clocks - 1.007).abs() < 1e-3);
        assert!((4.0 * 136.0 / KECCAK_AVX2.clocks(Core::IntelServer, 4) - 0.370).abs() < 1e-3);
        assert_eq!(keccak_state_clocks(Core::IntelServer, 2), Some(2.0 * 392.0));
        // 23.4 GB/s at 3.66 GHz; and a block alone takes a vector.
        assert!((8192.0 / vaes_clocks(10, 512) * 3.66 - 23.42).abs() < 0.01);
        assert!((vaes_clocks(14, 1) - 14.0).abs() < 1e-9);
    }

    #[test]
    fn padding_takes_nine_bytes() {
        let lengths = [(0, 1), (55, 1), (56, 2), (64, 2), (119, 2), (120, 3), (8192, 129)];
        for (len, blocks) in lengths {
            assert_eq!(sm3_blocks(len), blocks, "{len} bytes");
        }
    }

    #[test]
    fn unknown_cores_have_no_ceiling() {
        assert_eq!(Core::known("GenuineIntel", 6, 207), Some(Core::IntelServer));
        assert_eq!(Core::known("AuthenticAMD", 0x19, 0x11), Some(Core::Zen4));
        assert_eq!(Core::known("AuthenticAMD", 0x19, 0x01), None, "Zen 3");
        assert_eq!(Core::known("GenuineIntel", 6, 151), None, "Alder Lake");
    }
}

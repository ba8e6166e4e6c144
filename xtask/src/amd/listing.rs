//! Machine code of kernels for AMD's GPUs, as clang or a disassembler writes it.

use std::collections::BTreeMap;

/// The kernels of `sm3.cu` that compute digests; the others order messages.
pub(super) const PRODUCTS: &[&str] =
    &["sm3_hash_many", "sm3_hash_rows", "sm3_hash_short", "sm3_hmac_many"];

/// The kernels of `comparators.cu` that are unrolled.
pub(super) const COMPARATORS: &[&str] = &[
    "comparator_interleaved_4",
    "comparator_interleaved_8",
    "comparator_interleaved_16",
    "comparator_padded",
];

/// The kernels of `sha3.cu` that compute digests in a loop of two rounds.
pub(super) const SHA3: &[&str] = &[
    "sha3_hash_many_168",
    "sha3_hash_many_144",
    "sha3_hash_many_136",
    "sha3_hash_many_104",
    "sha3_hash_many_72",
    "sha3_hash_rows_168",
    "sha3_hash_rows_144",
    "sha3_hash_rows_136",
    "sha3_hash_rows_104",
    "sha3_hash_rows_72",
];

/// Rotations of two rounds of Keccak-p: two halves of 24 words in rho and of 5 in theta.
const SHA3_ROTATIONS: u64 = 2 * 2 * (24 + 5);

/// Of its chi: two halves of 25 words, by a choice where there is no exclusive or of three.
const SHA3_CHOICES: u64 = 2 * 2 * 25;

/// Its exclusive ors of three, where there are: theta's columns, its sums and chi. Eight of them, in the kernel of 72
/// bytes a block, clang 19 makes of two others.
const SHA3_XORS: u64 = 2 * 2 * (2 * 5 + 25 + 25) - 8;

/// A kernel that keeps words in memory of the thread, and how many bytes at least: the plain
/// comparator's `W[68]` and `W′[64]`, without which it would be another design.
const IN_MEMORY: (&str, u64) = ("comparator_plain", (68 + 64) * 4);

/// How the kernels' names begin that look up in the shared memory that a launch asks for. `load_shared` takes that to begin
/// at address 0, as it does where a kernel has no other.
const LAUNCH_SHARED: [&str; 2] = ["aes", "sm4_"];

/// Rotations of one compression: four in each of 64 rounds and two in each P0 there (the one of
/// A by 12 is SS1's and SS2's alike), four for each of 52 words of the expansion.
const ROTATIONS: u64 = 6 * 64 + 4 * 52;

/// FF and GG of rounds 16 to 63: one choice between bits each, for the majority is a choice too.
const CHOICES: u64 = 2 * 48;

/// Sums of three: at least two in each round (SS1; TT1 and TT2 together have two more).
const SUMS: u64 = 2 * 64;

/// Exclusive ors of three, on machines that have them: two for P0 and P1 each and one more for the
/// argument of P1 are 64 + 52 + 52 that no other instruction can stand for; in the first 16 rounds
/// FF and GG.
const XORS: u64 = 64 + 52 + 52 + 32;

/// Waves that a SIMD must hold at least, so that one computes while others wait for memory.
const WAVES: u64 = 3;

/// Of SHA-3's, whose state is 50 registers, and which computes over 6,000 instructions between loads.
const SHA3_WAVES: u64 = 2;

/// What matters of an architecture.
pub(super) struct Architecture {
    pub(super) name: &'static str,
    /// Threads of a wave.
    pub(super) wave: u64,
    /// Vector registers of a lane of a SIMD, for all its waves together.
    pub(super) registers: u64,
    /// Registers are given to a wave in multiples of this.
    pub(super) granule: u64,
    /// Whether it has `v_xor3_b32`.
    pub(super) xor3: bool,
}

/// A kernel's instructions and resources.
#[derive(Debug, Default)]
pub(super) struct Kernel {
    name: String,
    /// How often each instruction occurs, by its name without the encoding.
    instructions: BTreeMap<String, u64>,
    /// Numbers of the code object's metadata: `vgpr_count` and so on.
    metadata: BTreeMap<String, u64>,
}

/// All kernels of a code object.
#[derive(Debug, Default)]
pub(super) struct Listing {
    kernels: BTreeMap<String, Kernel>,
    /// Those whose instructions are counted.
    hashing: &'static [&'static str],
}

impl Listing {
    /// Reads assembly or a disassembly, and the metadata that follow it. The instructions of the
    /// `hashing` kernels are counted.
    pub(super) fn parse(text: &str, hashing: &'static [&'static str]) -> Self {
        let mut kernels: BTreeMap<String, Kernel> = BTreeMap::new();
        let mut function = String::new();
        // A kernel's metadata are in alphabetical order, so that its name comes behind some of them.
        let mut entries: Vec<BTreeMap<&str, &str>> = Vec::new();
        for line in text.lines() {
            if line.starts_with("  - .") {
                entries.push(BTreeMap::new());
            }
            if let Some(label) = label(line) {
                function = label.to_string();
            } else if let Some((key, value)) = metadata(line) {
                if let Some(entry) = entries.last_mut() {
                    entry.insert(key, value);
                }
            } else if let Some(instruction) = instruction(line) {
                let kernel = kernels.entry(function.clone()).or_default();
                kernel.name.clone_from(&function);
                *kernel.instructions.entry(instruction.to_string()).or_default() += 1;
            }
        }
        for entry in entries {
            let Some(kernel) = entry.get("name").and_then(|name| kernels.get_mut(*name)) else {
                continue;
            };
            let numbers = entry
                .iter()
                .filter_map(|(key, value)| Some((key.to_string(), value.parse().ok()?)));
            kernel.metadata.extend(numbers);
        }
        Listing { kernels, hashing }
    }

    /// Those of the kernels whose instructions are counted that there are.
    pub(super) fn hashing(&self) -> impl Iterator<Item = &Kernel> {
        self.hashing.iter().filter_map(|name| self.kernels.get(*name))
    }

    /// What is not as it must be.
    pub(super) fn errors(&self, architecture: &Architecture) -> Vec<String> {
        let missing = self.hashing.iter().filter(|name| !self.kernels.contains_key(**name));
        let mut errors: Vec<String> = missing.map(|name| format!("no {name}")).collect();
        for kernel in self.kernels.values() {
            let errors_here = kernel.resources(architecture);
            errors.extend(errors_here.into_iter().map(|error| format!("{}: {error}", kernel.name)));
        }
        for kernel in self.hashing() {
            let errors_here = kernel.selection(architecture);
            errors.extend(errors_here.into_iter().map(|error| format!("{}: {error}", kernel.name)));
        }
        errors
    }
}

impl Kernel {
    fn count(&self, instruction: &str) -> u64 {
        self.instructions.get(instruction).copied().unwrap_or(0)
    }

    fn waves(&self, architecture: &Architecture) -> u64 {
        let registers = self.metadata.get("vgpr_count").copied().unwrap_or(u64::MAX);
        architecture.registers
            / registers.max(1).checked_next_multiple_of(architecture.granule).unwrap_or(u64::MAX)
    }

    /// Whether it runs in registers, and enough of it side by side.
    fn resources(&self, architecture: &Architecture) -> Vec<String> {
        let mut errors = Vec::new();
        let in_memory = self.name == IN_MEMORY.0;
        let mut wanted = vec![("vgpr_spill_count", 0), ("wavefront_size", architecture.wave)];
        if LAUNCH_SHARED.iter().any(|begin| self.name.starts_with(begin)) {
            wanted.push(("group_segment_fixed_size", 0));
        }
        if in_memory {
            let bytes = self.metadata.get("private_segment_fixed_size");
            if bytes.is_none_or(|bytes| *bytes < IN_MEMORY.1) {
                errors.push(format!("keeps {bytes:?} bytes in memory, not {}", IN_MEMORY.1));
            }
        } else {
            wanted.push(("private_segment_fixed_size", 0));
            let scratch = self.instructions.keys().filter(|name| name.starts_with("scratch_"));
            errors.extend(scratch.map(|name| format!("has {name}")));
        }
        for (key, expected) in wanted {
            match self.metadata.get(key) {
                Some(&value) if value == expected => {}
                value => errors.push(format!("{key} is {value:?}, not {expected}")),
            }
        }
        let waves = self.waves(architecture);
        let least = if self.is_sha3() { SHA3_WAVES } else { WAVES };
        if waves < least {
            errors.push(format!("has registers for {waves} waves, not {least}"));
        }
        errors
    }

    fn is_sha3(&self) -> bool {
        self.name.starts_with("sha3_")
    }

    /// Whether the compiler found the instructions that the hash function is counted with.
    fn selection(&self, architecture: &Architecture) -> Vec<String> {
        let xor3 = architecture.xor3;
        let (rotations, choices, sums, xors) = match self.is_sha3() {
            true if xor3 => (SHA3_ROTATIONS, 0, 0, SHA3_XORS),
            true => (SHA3_ROTATIONS, SHA3_CHOICES, 0, 0),
            false => (ROTATIONS, CHOICES, SUMS, if xor3 { XORS } else { 0 }),
        };
        let wanted = [
            ("v_alignbit_b32", rotations),
            ("v_bfi_b32", choices),
            ("v_add3_u32", sums),
            ("v_xor3_b32", xors),
        ];
        let lacking = wanted.into_iter().filter(|&(name, least)| self.count(name) < least);
        lacking
            .map(|(name, least)| format!("{} {name}, not {least} or more", self.count(name)))
            .collect()
    }

    /// One line of figures.
    pub(super) fn describe(&self, architecture: &Architecture) -> String {
        let vector =
            |(name, count): (&String, &u64)| if name.starts_with("v_") { *count } else { 0 };
        let number = |key| self.metadata.get(key).copied().unwrap_or(0);
        format!(
            "{:<25} {:>3} registers ({} waves), {:>2} scalars kept in lanes; {:>4} vector \
             instructions: {} alignbit, {} bfi, {} add3, {} xor3",
            self.name,
            number("vgpr_count"),
            self.waves(architecture),
            number("sgpr_spill_count"),
            self.instructions.iter().map(vector).sum::<u64>(),
            self.count("v_alignbit_b32"),
            self.count("v_bfi_b32"),
            self.count("v_add3_u32"),
            self.count("v_xor3_b32"),
        )
    }
}

/// The function that begins here: `name:` in assembly, `0000 <name>:` in a disassembly.
fn label(line: &str) -> Option<&str> {
    let head = line.split(';').next()?.trim_end();
    let name = head.strip_suffix(':')?;
    let name = match name.split_once(" <") {
        Some((address, name)) if address.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
            name.strip_suffix('>')?
        }
        _ => name,
    };
    let first = name.bytes().next()?;
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    ((first.is_ascii_alphabetic() || first == b'_') && name.bytes().all(plain)).then_some(name)
}

/// Name and value of a kernel's metadata, which are indented by four, or by a dash at the first; their arguments' by more.
fn metadata(line: &str) -> Option<(&str, &str)> {
    let line = line.strip_prefix("    .").or_else(|| line.strip_prefix("  - ."))?;
    let (key, value) = line.split_once(':')?;
    key.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_').then_some((key, value.trim()))
}

/// The instruction of a line, without the suffix that says how it is encoded.
fn instruction(line: &str) -> Option<&str> {
    let word = line.strip_prefix([' ', '\t'])?.split_whitespace().next()?;
    let units = ["v_", "s_", "ds_", "global_", "flat_", "buffer_", "scratch_"];
    let known = units.iter().any(|unit| word.starts_with(unit));
    let encodings = ["_e32", "_e64", "_sdwa", "_dpp"];
    let name = encodings.iter().find_map(|encoding| word.strip_suffix(encoding)).unwrap_or(word);
    known.then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GFX: Architecture =
        Architecture { name: "gfx906", wave: 64, registers: 256, granule: 4, xor3: false };

    /// Assembly of all product kernels, each with so many of each instruction, and these metadata.
    fn assembly(instructions: &[(&str, u64)], metadata: &[(&str, u64)]) -> String {
        let mut text = "\t.text\n".to_string();
        for name in PRODUCTS {
            text += &format!("{name}:                          ; @{name}\n; %bb.0:\n");
            for (instruction, count) in instructions {
                let line = format!("\t{instruction} v1, v2, v3\n.LBB0_1:\n");
                text += &line.repeat(*count as usize);
            }
            text += "\ts_endpgm\n\t.amdhsa_next_free_vgpr 40\n";
        }
        text += "amdhsa.kernels:\n";
        for name in PRODUCTS {
            text += "  - .args:\n      - .offset:         0\n        .name:           data\n";
            let mut lines = vec![format!("    .name:           {name}\n")];
            lines.extend(metadata.iter().map(|(key, value)| format!("    .{key}:     {value}\n")));
            lines.sort();
            text += &lines.concat();
        }
        text
    }

    const CODE: [(&str, u64); 4] = [
        ("v_alignbit_b32", ROTATIONS),
        ("v_bfi_b32", CHOICES),
        ("v_add3_u32", SUMS),
        ("v_xor_b32_e32", 600),
    ];
    const METADATA: [(&str, u64); 4] = [
        ("private_segment_fixed_size", 0),
        ("vgpr_count", 64),
        ("vgpr_spill_count", 0),
        ("wavefront_size", 64),
    ];

    /// What is found if one number is another.
    fn with(name: &str, value: u64, architecture: &Architecture) -> String {
        let change = |list: [(&'static str, u64); 4]| {
            list.map(|(key, old)| if key == name { (key, value) } else { (key, old) })
        };
        Listing::parse(&assembly(&change(CODE), &change(METADATA)), PRODUCTS)
            .errors(architecture)
            .join("; ")
    }

    #[test]
    fn good_code_has_no_errors() {
        let listing = Listing::parse(&assembly(&CODE, &METADATA), PRODUCTS);
        assert_eq!(listing.errors(&GFX), [""; 0]);
        let kernel = listing.hashing().next().unwrap();
        assert_eq!((kernel.count("v_xor_b32"), kernel.waves(&GFX)), (600, 4));
    }

    #[test]
    fn what_the_compiler_missed_is_named() {
        let found = with("v_alignbit_b32", ROTATIONS - 1, &GFX);
        assert!(found.contains("sm3_hash_rows: 591 v_alignbit_b32, not 592"), "{found}");
        assert!(with("v_bfi_b32", CHOICES - 1, &GFX).contains("v_bfi_b32"));
        assert!(with("v_add3_u32", SUMS - 1, &GFX).contains("v_add3_u32"));
        let gfx11 = Architecture { xor3: true, ..GFX };
        assert!(with("", 0, &gfx11).contains("0 v_xor3_b32"));
    }

    #[test]
    fn what_does_not_stay_in_registers_is_named() {
        assert!(with("private_segment_fixed_size", 16, &GFX).contains("private_segment"));
        assert!(with("vgpr_spill_count", 1, &GFX).contains("vgpr_spill_count"));
        assert!(with("wavefront_size", 32, &GFX).contains("wavefront_size"));
        assert_eq!(with("vgpr_count", 84, &GFX), "");
        assert!(with("vgpr_count", 85, &GFX).contains("for 2 waves"));
        let code = [&CODE[..], &[("scratch_load_dword", 1)]].concat();
        let found = Listing::parse(&assembly(&code, &METADATA), PRODUCTS).errors(&GFX).join("; ");
        assert!(found.contains("has scratch_load_dword"), "{found}");
        // A number that is not there is not zero.
        let found =
            Listing::parse(&assembly(&CODE, &METADATA[1..]), PRODUCTS).errors(&GFX).join("; ");
        assert!(found.contains("private_segment_fixed_size is None"), "{found}");
    }

    #[test]
    fn other_shared_memory_beside_the_launchs_is_named() {
        let found = |bytes, name| {
            let metadata = [&METADATA[..], &[("group_segment_fixed_size", bytes)]].concat();
            let text = assembly(&[], &metadata).replace(PRODUCTS[0], name);
            Listing::parse(&text, &[]).kernels[name].resources(&GFX)
        };
        let wrong = ["group_segment_fixed_size is Some(16), not 0"];
        for name in ["aes128_ctr_4", "sm4_ecb_1"] {
            assert_eq!(found(0, name), [""; 0]);
            assert_eq!(found(16, name), wrong);
        }
        assert_eq!(found(16, "comparator_aes128_bits"), [""; 0]);
    }

    #[test]
    fn the_plain_comparator_has_its_words_in_memory() {
        let plain = |bytes| {
            let metadata = [&METADATA[1..], &[("private_segment_fixed_size", bytes)]].concat();
            let text = assembly(&[("scratch_load_dword", 1)], &metadata);
            let text = text.replace(PRODUCTS[0], IN_MEMORY.0);
            Listing::parse(&text, &[]).kernels[IN_MEMORY.0].resources(&GFX)
        };
        assert_eq!(plain(544), [""; 0]);
        assert_eq!(plain(0), ["keeps Some(0) bytes in memory, not 528"]);
    }

    #[test]
    fn what_the_compiler_missed_of_sha3_is_named() {
        let found = |code: &[(&str, u64)], registers, architecture| {
            let metadata = [&METADATA[..1], &[("vgpr_count", registers)], &METADATA[2..]].concat();
            let text = assembly(code, &metadata).replace(PRODUCTS[0], SHA3[0]);
            Listing::parse(&text, &SHA3[..1]).errors(architecture).join("; ")
        };
        let code = [("v_alignbit_b32", 116), ("v_bfi_b32", 100)];
        let of_sha3 = |text: String| text.split("; ").any(|error| error.starts_with(SHA3[0]));
        assert!(!of_sha3(found(&code, 128, &GFX)));
        assert!(found(&code, 132, &GFX).contains("for 1 waves, not 2"));
        assert!(found(&code[1..], 64, &GFX).contains("0 v_alignbit_b32, not 116"));
        assert!(found(&code[..1], 64, &GFX).contains("0 v_bfi_b32, not 100"));
        let gfx11 = Architecture { xor3: true, ..GFX };
        assert!(found(&code, 64, &gfx11).contains("0 v_xor3_b32, not 232"));
    }

    #[test]
    fn a_kernel_that_is_not_there_is_named() {
        let text = assembly(&CODE, &METADATA).replace("sm3_hmac_many", "sm3_other");
        assert_eq!(Listing::parse(&text, PRODUCTS).errors(&GFX), ["no sm3_hmac_many"]);
    }

    #[test]
    fn a_disassembly_is_read_alike() {
        let text = concat!(
            "0000000000003700 <sm3_hash_rows>:\n",
            "\tv_alignbit_b32 v1, v2, v2, 20   // 000000003700: D1CE0001 02520502\n",
            "\ts_endpgm                        // 000000003708: BF810000\n",
            "  - .args:           []\n",
            "    .name:           sm3_hash_rows\n",
            "    .vgpr_count:     44\n",
        );
        let listing = Listing::parse(text, PRODUCTS);
        let kernel = listing.hashing().next().unwrap();
        assert_eq!(kernel.count("v_alignbit_b32"), 1);
        assert_eq!(kernel.waves(&GFX), 5);
    }
}

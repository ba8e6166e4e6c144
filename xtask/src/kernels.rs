//! The GPU kernels as PTX: made by a pinned NVRTC, committed compressed, and assembled for every
//! architecture by `ptxas`, which says what they need.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use miniz_oxide::{deflate::compress_to_vec, inflate::decompress_to_vec};

use crate::{Result, root, run_command, target_dir};

const FOLDER: &str = "crates/manylane-gpu";

/// A file under `ptx/`: how it is compiled, and which architectures are given it, as
/// `src/tuning.rs` says.
struct Image {
    name: &'static str,
    source: &'static str,
    options: &'static [&'static str],
    /// Compute capabilities for `ptxas` 12.9, and for 13.0.
    capabilities: [&'static [&'static str]; 2],
}

/// Which have shared memory for four tables of a block cipher, for two, and for one.
const TABLES_4: [&[&str]; 2] = [&[], &["80", "87", "90", "100", "103", "110"]];
const TABLES_2: [&[&str]; 2] =
    [&["70", "72", "75"], &["75", "80", "86", "87", "89", "90", "100", "103", "110", "120", "121"]];
const TABLES_1: [&[&str]; 2] = [
    &["60", "61", "62", "70", "72", "75"],
    &["75", "80", "86", "87", "89", "90", "100", "103", "110", "120", "121"],
];

const IMAGES: [Image; 14] = [
    Image {
        name: "sm3-plain",
        source: "sm3.cu",
        options: &["-DLOAD_BYTES=16"],
        capabilities: [&["60", "61", "62"], &[]],
    },
    Image {
        name: "sm3-multiplier",
        source: "sm3.cu",
        options: &["-DBY_MULTIPLIER"],
        capabilities: [
            &["70", "72", "75"],
            &["75", "80", "86", "87", "89", "90", "100", "103", "110", "120", "121"],
        ],
    },
    Image {
        name: "sha3-plain",
        source: "sha3.cu",
        options: &[],
        capabilities: [&["60", "61", "62"], &[]],
    },
    Image {
        name: "sha3-multiplier",
        source: "sha3.cu",
        options: &["-DBY_MULTIPLIER"],
        capabilities: [
            &["70", "72", "75"],
            &["75", "80", "86", "87", "89", "100", "103", "110", "120", "121"],
        ],
    },
    Image {
        name: "sha3-doubles",
        source: "sha3.cu",
        options: &["-DBY_MULTIPLIER", "-DBY_DOUBLES"],
        capabilities: [&[], &["90"]],
    },
    Image {
        name: "aes-4",
        source: "aes.cu",
        options: &["-DONLY_TABLES=4"],
        capabilities: TABLES_4,
    },
    Image {
        name: "aes-2",
        source: "aes.cu",
        options: &["-DONLY_TABLES=2"],
        capabilities: TABLES_2,
    },
    Image {
        name: "aes-1",
        source: "aes.cu",
        options: &["-DONLY_TABLES=1"],
        capabilities: TABLES_1,
    },
    Image {
        name: "sm4-4",
        source: "sm4.cu",
        options: &["-DONLY_TABLES=4"],
        capabilities: TABLES_4,
    },
    Image {
        name: "sm4-2",
        source: "sm4.cu",
        options: &["-DONLY_TABLES=2"],
        capabilities: TABLES_2,
    },
    Image {
        name: "sm4-1",
        source: "sm4.cu",
        options: &["-DONLY_TABLES=1"],
        capabilities: TABLES_1,
    },
    Image {
        name: "comparators",
        source: "comparators.cu",
        options: &[],
        // Not 6.2: a block of 1024 threads leaves each 32 registers there.
        capabilities: [
            &["60", "61", "70", "72", "75"],
            &["75", "80", "86", "87", "89", "90", "100", "103", "110", "120", "121"],
        ],
    },
    Image {
        name: "sha3-comparators",
        source: "sha3_comparators.cu",
        options: &[],
        capabilities: [
            &["60", "61", "62", "70", "72", "75"],
            &["75", "80", "86", "87", "89", "90", "100", "103", "110", "120", "121"],
        ],
    },
    Image {
        name: "block-comparators",
        source: "block_comparators.cu",
        options: &[],
        // As above.
        capabilities: [
            &["60", "61", "70", "72", "75"],
            &["75", "80", "86", "87", "89", "90", "100", "103", "110", "120", "121"],
        ],
    },
];

/// What both compilers are given: the oldest architecture served.
const OPTIONS: [&str; 2] = ["-arch=compute_60", "-std=c++17"];

/// Most registers of a thread: four blocks of 256 threads stay on a multiprocessor.
const MAX_REGISTERS: u32 = 64;

/// Kernels that hold a state of 50 words and the ten of theta's columns, and how many registers that takes:
/// five blocks of 128 threads stay on a multiprocessor.
const SHA3: (&str, u32) = ("sha3_", 96);

/// The architecture whose image has pairs of registers for doubles too, and how many that takes: four blocks stay.
const DOUBLES: (&str, u32) = ("90", 128);

/// A kernel of one thread, which leaves room for as many registers as it likes.
const SERIAL: (&str, u32) = ("comparator_sha3_serial", 128);

/// Where a kernel may have more, and how many: the assembler for Volta does not find the
/// allocation that it finds for all later ones, and a bound would make it spill.
const MORE_REGISTERS: [(&str, &str, u32); 2] =
    [("70", "sm3_hash_short", 80), ("72", "sm3_hash_short", 80)];

/// Kernels that hold the state of 32 blocks in registers: registers of a thread, and bytes that it may
/// spill outside its loop, at most. Assemblers for Pascal find no other way.
const SLICED: (&str, u32, u32) = ("_bits", 255, 8);

/// A kernel that keeps words in memory of the thread, and how many bytes: the plain comparator's
/// `W[68]` and `W′[64]`, without which it would be another design.
const STACK: (&str, u32) = ("comparator_plain", (68 + 64) * 4);

/// Installs the compilers and gives their folder.
fn compilers() -> Result<PathBuf> {
    let pins = root().join("xtask/nvidia.txt");
    let folder = target_dir().join("nvidia");
    let wanted = fs::read(&pins).map_err(|error| format!("{}: {error}", pins.display()))?;
    let stamp = folder.join("installed.txt");
    if fs::read(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(folder);
    }
    run_command(
        Command::new("python3")
            .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"])
            .args(["--root-user-action=ignore", "--no-deps", "--require-hashes", "--upgrade"])
            .args(["--only-binary=:all:", "--target"])
            .arg(&folder)
            .arg("--requirement")
            .arg(&pins),
    )?;
    fs::write(&stamp, wanted).map_err(|error| format!("{}: {error}", stamp.display()))?;
    Ok(folder)
}

/// Compiles one image, and gives the PTX.
fn ptx(image: &Image, compilers: &Path) -> Result<Vec<u8>> {
    let output = target_dir().join("nvidia").join(format!("{}.ptx", image.name));
    run_command(
        Command::new("python3")
            .arg(root().join("xtask/nvrtc.py"))
            .arg(compilers.join("nvidia/cuda_nvrtc/lib"))
            .arg(root().join(FOLDER).join("kernels").join(image.source))
            .arg(&output)
            .args(OPTIONS)
            .args(image.options),
    )?;
    fs::read(&output).map_err(|error| format!("{}: {error}", output.display()))
}

/// Writes the committed images anew, or with `check` fails where one is not what the sources give.
pub(crate) fn generate(check: bool) -> Result {
    let compilers = compilers()?;
    let mut stale = Vec::new();
    for image in &IMAGES {
        let path = root().join(FOLDER).join("ptx").join(format!("{}.ptx.deflate", image.name));
        let made = ptx(image, &compilers)?;
        let committed = fs::read(&path).ok().and_then(|old| decompress_to_vec(&old).ok());
        if committed.is_some_and(|committed| committed == made) {
            continue;
        }
        if check {
            stale.push(image.name);
        } else {
            let write = || -> std::io::Result<()> {
                fs::create_dir_all(path.parent().expect("in ptx"))?;
                fs::write(&path, compress_to_vec(&made, 10))
            };
            write().map_err(|error| format!("{}: {error}", path.display()))?;
            println!("{}: compiled anew", path.display());
        }
    }
    match stale[..] {
        [] => Ok(()),
        _ => Err(format!("{}: not what the kernels give; `cargo xtask gen`", stale.join(", "))),
    }
}

/// Assembles every image for every architecture that is given it: no spill, few registers.
pub(crate) fn assemble() -> Result {
    let compilers = compilers()?;
    let assemblers = ["nvidia/cuda_nvcc/bin/ptxas", "nvidia/cu13/bin/ptxas"];
    let mut errors = Vec::new();
    for image in &IMAGES {
        ptx(image, &compilers)?;
        let source = target_dir().join("nvidia").join(format!("{}.ptx", image.name));
        for (assembler, capabilities) in assemblers.iter().zip(image.capabilities) {
            for capability in capabilities {
                let report = report(&compilers.join(assembler), capability, &source)?;
                let kernels = parse(&report)?;
                let most = kernels.iter().map(|kernel| kernel.registers).max().unwrap_or_default();
                println!("{} for sm_{capability}: at most {most} registers", image.name);
                errors.extend(faults(capability, &kernels));
            }
        }
    }
    planted(&compilers.join(assemblers[1]))?;
    if errors.is_empty() { Ok(()) } else { Err(errors.join("\n")) }
}

/// What `ptxas -v` says.
fn report(ptxas: &Path, capability: &str, source: &Path) -> Result<String> {
    let output = target_dir().join("nvidia/out.cubin");
    let mut command = Command::new(ptxas);
    command.arg("-v").arg(format!("-arch=sm_{capability}")).arg(source).arg("-o").arg(output);
    let done = command
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("{}: {error}", ptxas.display()))?;
    let text = String::from_utf8_lossy(&done.stderr).into_owned();
    if done.status.success() { Ok(text) } else { Err(format!("ptxas for sm_{capability}: {text}")) }
}

/// A kernel as assembled.
#[derive(Debug, PartialEq, Eq)]
struct Assembled {
    name: String,
    registers: u32,
    /// Bytes of stack, spilled ones among them.
    stack: u32,
    spilled: u32,
}

fn parse(report: &str) -> Result<Vec<Assembled>> {
    let before = |text: &str, unit: &str| -> Option<u32> {
        text.split_once(unit)?.0.rsplit([' ', ',']).next()?.parse().ok()
    };
    let mut kernels: Vec<Assembled> = Vec::new();
    for line in report.lines() {
        if let Some((_, rest)) = line.split_once("Compiling entry function '") {
            let name = rest.split('\'').next().unwrap_or_default().to_string();
            kernels.push(Assembled { name, registers: 0, stack: 0, spilled: 0 });
        } else if let Some(kernel) = kernels.last_mut() {
            if let Some(stack) = before(line, " bytes stack frame") {
                kernel.spilled = before(line, " bytes spill stores").unwrap_or_default();
                kernel.stack = stack.max(kernel.spilled);
            }
            if let Some(registers) = before(line, " registers") {
                kernel.registers = registers;
            }
        }
    }
    match kernels.iter().find(|kernel| kernel.registers == 0) {
        None if !kernels.is_empty() => Ok(kernels),
        _ => Err(format!("ptxas's report is not understood:\n{report}")),
    }
}

fn faults(capability: &str, kernels: &[Assembled]) -> Vec<String> {
    let mut errors = Vec::new();
    for Assembled { name, registers, stack, spilled } in kernels {
        let more = MORE_REGISTERS.iter().find(|more| (more.0, more.1) == (capability, name));
        let sliced = name.ends_with(SLICED.0);
        let usual = match () {
            () if sliced => SLICED.1,
            () if name == SERIAL.0 => SERIAL.1,
            () if name.starts_with(SHA3.0) && capability == DOUBLES.0 => DOUBLES.1,
            () if name.starts_with(SHA3.0) => SHA3.1,
            () => MAX_REGISTERS,
        };
        let most = more.map_or(usual, |more| more.2);
        if *registers > most {
            errors.push(format!("{name} for sm_{capability}: {registers} registers, over {most}"));
        }
        let wanted = if name == STACK.0 { STACK.1 } else { 0 };
        let spills = sliced && *stack == *spilled && *spilled <= SLICED.2;
        if (*stack, *spilled) != (wanted, 0) && !spills {
            errors.push(format!(
                "{name} for sm_{capability}: {stack} bytes of stack, not {wanted}; {spilled} spilled"
            ));
        }
    }
    errors
}

/// A kernel that must spill, as its registers are bounded to too few, is found to.
fn planted(ptxas: &Path) -> Result {
    let folder = target_dir().join("nvidia");
    let source = folder.join("sm3-multiplier.ptx");
    let text = fs::read_to_string(&source).map_err(|e| format!("{}: {e}", source.display()))?;
    let bounded = text.replace(".minnctapersm 4", ".minnctapersm 8");
    let path = folder.join("planted.ptx");
    fs::write(&path, bounded).map_err(|error| format!("{}: {error}", path.display()))?;
    match faults("90", &parse(&report(ptxas, "90", &path)?)?)[..] {
        [] => Err("a planted spill was not found".into()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = "\
ptxas info    : Compiling entry function 'a' for 'sm_90'
ptxas info    : Function properties for a
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 64 registers, used 0 barriers
ptxas info    : Compiling entry function 'sm3_hash_short' for 'sm_90'
    8 bytes stack frame, 8 bytes spill stores, 4 bytes spill loads
ptxas info    : Used 79 registers
";

    fn assembled(name: &str, registers: u32, stack: u32, spilled: u32) -> Assembled {
        Assembled { name: name.into(), registers, stack, spilled }
    }

    #[test]
    fn spills_and_registers_are_found() {
        let kernels = parse(REPORT).unwrap();
        assert_eq!(kernels[0], assembled("a", 64, 0, 0));
        assert_eq!((kernels[1].registers, kernels[1].stack), (79, 8));
        assert_eq!(faults("90", &kernels[..1]), [""; 0]);
        assert_eq!(faults("90", &kernels).len(), 2);
        assert_eq!(faults("70", &kernels).len(), 1);
        assert!(parse("nothing").is_err());
    }

    #[test]
    fn a_state_of_sha3_may_take_more_and_most_beside_doubles() {
        let of = |capability, registers| {
            faults(capability, &[assembled("sha3_hash_rows_136", registers, 0, 0)]).len()
        };
        assert_eq!((of("80", 96), of("80", 97), of("90", 128), of("90", 129)), (0, 1, 0, 1));
        assert_eq!(faults("80", &[assembled("sha3_hash_32", 80, 8, 8)]).len(), 1);
    }

    #[test]
    fn bitsliced_kernels_may_take_all_registers_and_spill_one_address() {
        let of = |registers, spilled| {
            faults("61", &[assembled("comparator_aes128_bits", registers, spilled, spilled)]).len()
        };
        assert_eq!((of(255, 0), of(255, 8), of(256, 0), of(255, 16)), (0, 0, 1, 1));
        assert_eq!(faults("61", &[assembled("aes128_ctr_1", 65, 8, 8)]).len(), 2);
    }

    #[test]
    fn the_plain_comparator_has_its_words_in_memory_and_nothing_else() {
        let of = |name, stack, spilled| faults("90", &[assembled(name, 36, stack, spilled)]).len();
        assert_eq!(of(STACK.0, 528, 0), 0);
        assert_eq!(of(STACK.0, 0, 0), 1);
        assert_eq!(of(STACK.0, 536, 8), 1);
        assert_eq!(of(STACK.0, 528, 8), 1);
        assert_eq!(of("comparator_padded", 528, 0), 1);
    }
}

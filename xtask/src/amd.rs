//! `cargo xtask amd`: what can be known of the kernels on AMD's and Hygon's GPUs without one.
//!
//! Two compilers make code for them: hipRTC of HIP 5.2.3, Debian's, called by manylane's own code
//! as on a machine with a GPU; and a current clang, for architectures that HIP 5.2.3 does not
//! know. [`listing`] reads what either made and says where the processor's instructions for SM3
//! are not used, or where registers do not suffice. A planted fault must be found.
//!
//! The table of HIP's functions and numbers is compared with the headers of HIP 5.2.3.

mod listing;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use self::listing::{Architecture, COMPARATORS, Listing, PRODUCTS};
use crate::{Result, cargo, output_of, root, run_command, target_dir};

pub(crate) const CLANG: &str = "clang-19";
pub(crate) const OBJDUMP: &str = "llvm-objdump-19";
pub(crate) const READELF: &str = "llvm-readelf-19";

/// Hygon's DCU descends from gfx906; MI200; MI300; Radeon RX 7900.
const ARCHITECTURES: [Architecture; 4] = [
    Architecture { name: "gfx906", wave: 64, registers: 256, granule: 4, xor3: false },
    Architecture { name: "gfx90a", wave: 64, registers: 512, granule: 8, xor3: false },
    Architecture { name: "gfx942", wave: 64, registers: 512, granule: 8, xor3: false },
    Architecture { name: "gfx1100", wave: 32, registers: 1536, granule: 24, xor3: true },
];

/// How a rotation is written for LLVM, and a way in which it is not recognised.
const ROTATION: [&str; 2] =
    ["return x << (N & 31) | x >> (-N & 31);", "return x << (N & 31) | opaque(x >> (-N & 31));"];
/// Before that, `opaque` must be known.
const COMMON: [&str; 2] = [
    "#if defined(MANYLANE_HIP) || defined(MANYLANE_HOST)\n",
    "#if defined(MANYLANE_HIP) || defined(MANYLANE_HOST)\nDEVICE u32 opaque(u32 x);\n",
];

pub(crate) fn run() -> Result {
    let folder = target_dir().join("amd");
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    headers(&folder)?;
    let kernels = root().join("crates/manylane-gpu/kernels");
    let mut errors = Vec::new();
    for architecture in &ARCHITECTURES {
        // What a block cipher must have is that it stays in registers; SHA-3 has its rotations besides.
        let sources = [
            ("sm3.cu", PRODUCTS),
            ("comparators.cu", COMPARATORS),
            ("sha3.cu", listing::SHA3),
            ("aes.cu", &[]),
            ("sm4.cu", &[]),
        ];
        for (source, names) in sources {
            let listing = Listing::parse(&compile(&kernels, source, architecture, &folder)?, names);
            errors.extend(report(CLANG, architecture, &listing));
        }
    }
    let listing = Listing::parse(&hiprtc(&folder)?, PRODUCTS);
    errors.extend(report("hipRTC 5.2.3", &ARCHITECTURES[0], &listing));
    planted(&kernels, &folder)?;
    if errors.is_empty() { Ok(()) } else { Err(errors.join("\n")) }
}

/// Prints what was counted, and gives what is wrong.
fn report(compiler: &str, architecture: &Architecture, listing: &Listing) -> Vec<String> {
    println!("{}, {compiler}:", architecture.name);
    for kernel in listing.hashing() {
        println!("  {}", kernel.describe(architecture));
    }
    let at = |error| format!("{}, {compiler}: {error}", architecture.name);
    listing.errors(architecture).into_iter().map(at).collect()
}

/// The kernels in clang's assembly, which has the metadata of the code object too.
fn compile(
    kernels: &Path,
    source: &str,
    architecture: &Architecture,
    folder: &Path,
) -> Result<String> {
    let out = folder.join(format!("{}.s", architecture.name));
    run_command(
        Command::new(CLANG)
            .args(["-x", "hip", "--offload-device-only", "-nogpulib", "-nogpuinc"])
            .arg(format!("--offload-arch={}", architecture.name))
            .args(["-std=c++17", "-O3", "-Werror", "-S", "-o"])
            .arg(&out)
            .arg(kernels.join(source)),
    )?;
    read(&out)
}

/// The kernels as manylane itself has them compiled, disassembled.
fn hiprtc(folder: &Path) -> Result<String> {
    let object = folder.join("hiprtc.co");
    // Of an earlier run.
    let _ = fs::remove_file(&object);
    let tests = [
        "compile::tests::the_machines_compiler_takes_the_kernels",
        "runtime::hip::tests::the_machines_library_answers",
    ];
    run_command(
        cargo()
            .args(["test", "--quiet", "--locked", "--package", "manylane-gpu", "--lib", "--"])
            .args(["--ignored", "--exact"])
            .args(tests)
            .env("MANYLANE_CODE_OBJECT", &object),
    )?;
    if !object.exists() {
        return Err(format!("{tests:?} did not run"));
    }
    let code = output_of(Command::new(OBJDUMP).arg("--disassemble").arg(&object))?;
    let notes = output_of(Command::new(READELF).arg("--notes").arg(&object))?;
    Ok(code + &notes)
}

/// The check must find rotations that are not one instruction.
fn planted(kernels: &Path, folder: &Path) -> Result {
    let copy = folder.join("planted");
    fs::create_dir_all(&copy).map_err(|error| format!("{}: {error}", copy.display()))?;
    let entries = fs::read_dir(kernels).map_err(|error| format!("kernels: {error}"))?;
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| path.is_file()) {
        let mut text = read(&path)?;
        if path.ends_with("device.h") {
            for [right, wrong] in [ROTATION, COMMON] {
                if text.matches(right).count() != 1 {
                    return Err(format!("device.h does not have once: {right}"));
                }
                text = text.replace(right, wrong);
            }
        }
        let to = copy.join(path.file_name().expect("a file"));
        fs::write(&to, text).map_err(|error| format!("{}: {error}", to.display()))?;
    }
    let architecture = &ARCHITECTURES[0];
    let listing = Listing::parse(&compile(&copy, "sm3.cu", architecture, &copy)?, PRODUCTS);
    let errors = listing.errors(architecture);
    if errors.iter().any(|error| error.contains("v_alignbit_b32")) {
        println!("planted: rotations of two shifts are found");
        Ok(())
    } else {
        Err(format!("a planted fault is not found: {errors:?}"))
    }
}

/// Numbers of `library.rs` and what the vendor's headers call them.
const NUMBERS: [(&str, &str); 21] = [
    ("SUCCESS", "hipSuccess"),
    ("ERROR_OUT_OF_MEMORY", "hipErrorOutOfMemory"),
    ("ERROR_NO_DEVICE", "hipErrorNoDevice"),
    ("ERROR_INVALID_DEVICE", "hipErrorInvalidDevice"),
    ("ERROR_NOT_READY", "hipErrorNotReady"),
    ("ATTRIBUTE_CLOCK_RATE", "hipDeviceAttributeClockRate"),
    ("ATTRIBUTE_INTEGRATED", "hipDeviceAttributeIntegrated"),
    ("ATTRIBUTE_MULTIPROCESSOR_COUNT", "hipDeviceAttributeMultiprocessorCount"),
    ("ATTRIBUTE_WARP_SIZE", "hipDeviceAttributeWarpSize"),
    ("FUNCTION_MAX_THREADS_PER_BLOCK", "HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK"),
    ("FUNCTION_LOCAL_SIZE_BYTES", "HIP_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES"),
    ("FUNCTION_NUM_REGS", "HIP_FUNC_ATTRIBUTE_NUM_REGS"),
    ("HOST_TO_DEVICE", "hipMemcpyHostToDevice"),
    ("DEVICE_TO_HOST", "hipMemcpyDeviceToHost"),
    ("STREAM_NON_BLOCKING", "hipStreamNonBlocking"),
    ("EVENT_DISABLE_TIMING", "hipEventDisableTiming"),
    ("EVENT_RELEASE_TO_SYSTEM", "hipEventReleaseToSystem"),
    ("HOST_PORTABLE", "hipHostMallocPortable"),
    ("HOST_MAPPED", "hipHostMallocMapped"),
    ("HIP_5.architecture", "offsetof(hipDeviceProp_t, gcnArchName)"),
    ("HIP_5.memory_type_host", "hipMemoryTypeHost"),
];

/// Compares manylane's table with the headers: numbers by value, functions by their parameters.
fn headers(folder: &Path) -> Result {
    let sources = root().join("crates/manylane-gpu/src/runtime/hip");
    let library = read(&sources.join("library.rs"))?;
    let compiler = read(&sources.join("compiler.rs"))?;
    let mut lines = vec![
        "#define __HIP_PLATFORM_AMD__".to_string(),
        // No templates beside the functions of the library.
        "#define __HIP_DISABLE_CPP_FUNCTIONS__".into(),
        "#include <cstddef>".into(),
        "#include <hip/hip_runtime_api.h>".into(),
        "#include <hip/hiprtc.h>".into(),
        "template <class F> struct Count;".into(),
        "template <class R, class... A> struct Count<R (*)(A...)> {".into(),
        "    static constexpr int value = sizeof...(A);".into(),
        "};".into(),
        "static_assert(sizeof(hipPointerAttribute_t) == 32, \"\");".into(),
        "static_assert(sizeof(hipDeviceProp_t) <= 4096, \"\");".into(),
    ];
    for (ours, theirs) in NUMBERS {
        let value = number(&library, ours).ok_or_else(|| format!("library.rs has no {ours}"))?;
        lines.push(format!("static_assert({theirs} == {value}, \"{ours}\");"));
    }
    let functions = [&library, &compiler].map(|text| functions(text));
    if functions.iter().any(|functions| functions.len() < 8) {
        return Err("the tables of HIP's functions are not found".into());
    }
    for (name, parameters) in functions.concat() {
        lines.push(format!(
            "static_assert(Count<decltype(&{name})>::value == {parameters}, \"{name}\");"
        ));
    }
    let source = folder.join("headers.cpp");
    fs::write(&source, lines.join("\n") + "\n").map_err(|error| error.to_string())?;
    run_command(Command::new("g++").args(["-std=c++17", "-fsyntax-only"]).arg(&source))?;
    println!("{} numbers and functions are those of the headers", lines.len() - 9);
    Ok(())
}

/// The value of a constant, or of a field of one (`CONSTANT.field`), in Rust source.
fn number(source: &str, name: &str) -> Option<String> {
    let (constant, field) = name.split_once('.').map_or((name, None), |(c, f)| (c, Some(f)));
    let rest = source.split_once(&format!("const {constant}: "))?.1;
    let value = rest.split_once(" = ")?.1.split_once(';')?.0;
    let value = match field {
        None => value,
        Some(field) => value.split_once(&format!("{field}: "))?.1.split([',', ' ']).next()?,
    };
    Some(value.replace('_', ""))
}

/// Names of the functions in a `functions!` table, each with the number of its parameters.
fn functions(source: &str) -> Vec<(String, usize)> {
    let Some((_, table)) = source.split_once("    Functions {\n") else { return Vec::new() };
    let table = table.split_once("\n    }\n").map_or("", |(table, _)| table);
    let entry = |entry: &str| {
        let (name, rest) = entry.trim().split_once('(')?;
        let parameters = rest.rsplit_once(") ->")?.0;
        let count = parameters.split(',').filter(|parameter| !parameter.trim().is_empty()).count();
        Some((name.to_string(), count))
    };
    table.split(';').filter_map(entry).collect()
}

fn read(path: &PathBuf) -> Result<String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "\
pub(super) const FLAG: c_uint = 0x8000_0000;
pub(super) const HIP_5: Layout = Layout { architecture: 396, memory_type_host: 0 };
functions! {
    /// Functions.
    Functions {
        hipInit(c_uint) -> c_int;
        hipGetLastError() -> c_int;
        hipMemcpy2DAsync(
            Pointer, usize, *const c_void, usize
        ) -> c_int;
    }
}
";

    #[test]
    fn numbers_and_functions_are_read_from_the_source() {
        assert_eq!(number(SOURCE, "FLAG").unwrap(), "0x80000000");
        assert_eq!(number(SOURCE, "HIP_5.architecture").unwrap(), "396");
        assert_eq!(number(SOURCE, "HIP_5.memory_type_host").unwrap(), "0");
        assert_eq!(number(SOURCE, "NONE"), None);
        let expected = [("hipInit", 1), ("hipGetLastError", 0), ("hipMemcpy2DAsync", 4)];
        assert_eq!(functions(SOURCE), expected.map(|(name, count)| (name.to_string(), count)));
    }
}

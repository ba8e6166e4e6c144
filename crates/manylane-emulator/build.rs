//! Compiles the stand-ins for the drivers, and manylane's kernels into them, with the C++ compiler.

use std::{env, fs, path::Path, process::Command};

/// Sources of both stand-ins.
const COMMON: [&str; 3] = ["core.cpp", "streams.cpp", "kernels.cpp"];

/// Folder and file name of each stand-in, and its own source. A program that finds the one by its
/// folder does not find the other.
const LIBRARIES: [(&str, &str, &str); 2] =
    [("cuda", "libcuda.so.1", "cuda.cpp"), ("hip", "libamdhip64.so.7", "hip.cpp")];

const KERNELS: &str = "../manylane-gpu/kernels";

/// Other kernels instead, in the environment: with a fault that the sanitizers must find.
const OTHER_KERNELS: &str = "MANYLANE_EMULATOR_KERNELS";

/// What [`build`] is told by, in the environment: address and undefined-behaviour sanitizers.
const SANITIZE: &str = "MANYLANE_EMULATOR_SANITIZE";

fn main() {
    println!("cargo::rerun-if-changed=src");
    println!("cargo::rerun-if-changed={KERNELS}");
    println!("cargo::rerun-if-env-changed={SANITIZE}");
    println!("cargo::rerun-if-env-changed={OTHER_KERNELS}");
    let out = env::var("OUT_DIR").expect("set by cargo");
    let drivers = Path::new(&out).join("drivers");
    println!("cargo::rustc-env=MANYLANE_EMULATOR_DRIVERS={}", drivers.display());
    write_kernel_sources(&Path::new(&out).join("kernel_sources.inc"));
    let sanitize = env::var(SANITIZE).is_ok_and(|value| value == "1");
    let objects: Vec<String> = COMMON.iter().map(|source| compile(source, sanitize)).collect();
    for (folder, file, source) in LIBRARIES {
        let folder = drivers.join(folder);
        fs::create_dir_all(&folder).expect("the output folder can be written");
        let mut link = compiler(sanitize);
        link.args(["-shared", "-pthread"]).arg(format!("-Wl,-soname,{file}"));
        link.args(&objects).arg(compile(source, sanitize)).arg("-o").arg(folder.join(file));
        run(link);
    }
}

/// The kernels' sources as initialisers of a map, for the compiler's stand-in to compare.
fn write_kernel_sources(to: &Path) {
    let entries = fs::read_dir(KERNELS).expect("the kernels are there");
    let paths = entries.map(|entry| entry.expect("the folder can be read").path());
    let mut lines = String::new();
    for path in paths.filter(|path| path.extension().is_some_and(|e| e != "md")) {
        let name = path.file_name().expect("a file").to_string_lossy().into_owned();
        let text = fs::read_to_string(&path).expect("sources are UTF-8");
        lines += &format!("{{\"{name}\", R\"source({text})source\"}},\n");
    }
    fs::write(to, lines).expect("the output folder can be written");
}

fn compiler(sanitize: bool) -> Command {
    let mut command = cc::Build::new().cpp(true).warnings(false).get_compiler().to_command();
    command.args(["-std=c++17", "-O2", "-fPIC"]);
    if sanitize {
        command.args(["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-g1"]);
    }
    command
}

fn compile(source: &str, sanitize: bool) -> String {
    let object = format!("{}/{source}.o", env::var("OUT_DIR").expect("set by cargo"));
    let mut command = compiler(sanitize);
    command.args(["-Wall", "-Wextra", "-Werror", "-c"]);
    let kernels = env::var(OTHER_KERNELS).unwrap_or_else(|_| KERNELS.into());
    command.arg(format!("-I{kernels}")).args(["-I", &env::var("OUT_DIR").expect("set by cargo")]);
    command.arg(format!("src/{source}")).args(["-o", &object]);
    run(command);
    object
}

fn run(mut command: Command) {
    let status = command.status().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(status.success(), "{command:?}: {status}");
}

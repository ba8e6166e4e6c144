//! Compiles the stand-ins for the drivers, and manylane's kernels into them, with the C++ compiler.

use std::{env, fs, path::Path, process::Command};

/// Sources of both stand-ins.
const COMMON: [&str; 3] = ["core.cpp", "streams.cpp", "kernels.cpp"];

/// File name and soname of each stand-in, and its own source.
const LIBRARIES: [(&str, &str, &str); 1] = [("libcuda.so", "libcuda.so", "cuda.cpp")];

/// What [`build`] is told by, in the environment: address and undefined-behaviour sanitizers.
const SANITIZE: &str = "MANYLANE_EMULATOR_SANITIZE";

fn main() {
    println!("cargo::rerun-if-changed=src");
    println!("cargo::rerun-if-changed=../manylane-gpu/kernels");
    println!("cargo::rerun-if-env-changed={SANITIZE}");
    let folder = Path::new(&env::var("OUT_DIR").expect("set by cargo")).join("drivers");
    fs::create_dir_all(&folder).expect("the output folder can be written");
    println!("cargo::rustc-env=MANYLANE_EMULATOR_DRIVERS={}", folder.display());
    let sanitize = env::var(SANITIZE).is_ok_and(|value| value == "1");
    let objects: Vec<String> = COMMON.iter().map(|source| compile(source, sanitize)).collect();
    for (file, soname, source) in LIBRARIES {
        let mut link = compiler(sanitize);
        link.args(["-shared", "-pthread"]).arg(format!("-Wl,-soname,{soname}"));
        link.args(&objects).arg(compile(source, sanitize)).arg("-o").arg(folder.join(file));
        run(link);
    }
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
    command.args(["-Wall", "-Wextra", "-Werror", "-I../manylane-gpu/kernels", "-c"]);
    command.arg(format!("src/{source}")).args(["-o", &object]);
    run(command);
    object
}

fn run(mut command: Command) {
    let status = command.status().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(status.success(), "{command:?}: {status}");
}

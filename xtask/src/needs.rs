//! What the tests need from the system, and how to get it on Debian.

use std::{
    path::Path,
    process::{Command, Stdio},
};

use crate::{Result, run_command};

/// Something that a test needs: how to see that it is there, and what brings it.
struct Need {
    probe: Probe,
    packages: &'static [&'static str],
}

enum Probe {
    /// A program in PATH.
    Program(&'static str),
    /// A shared library that the loader finds.
    Library(&'static str),
    /// A file.
    File(&'static str),
    /// A module of Python's.
    Module(&'static str),
}

const fn program(name: &'static str, packages: &'static [&'static str]) -> Need {
    Need { probe: Probe::Program(name), packages }
}

/// For the tests of the OpenSSL provider: programs are compiled with libcrypto, and a server loads it.
const OPENSSL_HEADERS: Need =
    Need { probe: Probe::File("/usr/include/openssl/core_dispatch.h"), packages: &["libssl-dev"] };
const NGINX: Need = program("/usr/sbin/nginx", &["nginx-light"]);

/// For the provider alone, and to build another OpenSSL.
const PROVIDER: [Need; 6] = [
    program("gcc", &["gcc", "libc6-dev"]),
    program("openssl", &["openssl"]),
    program("make", &["make"]),
    program("perl", &["perl"]),
    OPENSSL_HEADERS,
    NGINX,
];

/// For the tests on any machine: a linker, the peers that digests are compared with, and what
/// runs the reference and the constant-time checks.
const NATIVE: [Need; 11] = [
    program("gcc", &["gcc", "libc6-dev"]),
    program("git", &["git"]),
    // What programs find the C library by.
    program("pkg-config", &["pkg-config"]),
    program("cksum", &["coreutils"]),
    program("openssl", &["openssl"]),
    OPENSSL_HEADERS,
    NGINX,
    program("python3", &["python3"]),
    Need {
        probe: Probe::File("/usr/lib/python3/dist-packages/cryptography/__init__.py"),
        packages: &["python3-cryptography"],
    },
    Need { probe: Probe::Library("libgcrypt.so.20"), packages: &["libgcrypt20"] },
    #[cfg(target_arch = "x86_64")]
    program("valgrind", &["valgrind"]),
    #[cfg(not(target_arch = "x86_64"))]
    program("sh", &["dash"]),
];

/// For the AArch64 kernels on a processor of another kind: Debian's compiler, because its
/// standard library for AArch64 comes as a package, and an emulator.
const ARM: [Need; 5] = [
    program(super::arm::RUSTC, &["rustc-web"]),
    Need {
        probe: Probe::File("/usr/lib/rustlib/aarch64-unknown-linux-gnu/lib"),
        packages: &["libstd-rust-web-dev:arm64"],
    },
    program("aarch64-linux-gnu-gcc", &["gcc-aarch64-linux-gnu"]),
    Need {
        probe: Probe::File("/usr/aarch64-linux-gnu/lib/libc.a"),
        packages: &["libc6-dev-arm64-cross"],
    },
    program("qemu-aarch64", &["qemu-user"]),
];

/// For the machine code of AMD's GPUs: two compilers, and the headers of HIP.
const AMD: [Need; 7] = [
    program("g++", &["g++"]),
    program(super::amd::CLANG, &["clang-19"]),
    program(super::amd::OBJDUMP, &["llvm-19"]),
    program(super::amd::READELF, &["llvm-19"]),
    Need { probe: Probe::Library("libamdhip64.so.5"), packages: &["libamdhip64-5"] },
    Need { probe: Probe::Library("libhiprtc-builtins.so"), packages: &["libhiprtc-builtins5"] },
    Need {
        probe: Probe::File("/usr/include/hip/hip_runtime_api.h"),
        packages: &["libamdhip64-dev"],
    },
];

/// For the hardware: simulators and assemblers of a flow whose other tools come from Python's
/// registry (`rtl/sm3/requirements.txt`), a compiler for the RV32 system, a 180 nm library.
const RTL: [Need; 12] = [
    program("python3", &["python3"]),
    Need { probe: Probe::Module("ensurepip"), packages: &["python3-venv"] },
    program("gcc", &["gcc", "libc6-dev"]),
    program("g++", &["g++"]),
    program("clang", &["clang"]),
    program("make", &["make"]),
    program("perl", &["perl"]),
    program("iverilog", &["iverilog"]),
    program("sta", &["opensta"]),
    program("riscv64-unknown-elf-gcc", &["gcc-riscv64-unknown-elf"]),
    Need {
        probe: Probe::File("/usr/lib/picolibc/riscv64-unknown-elf/include/stdint.h"),
        packages: &["picolibc-riscv64-unknown-elf"],
    },
    Need {
        probe: Probe::File("/usr/share/qflow/tech/osu018/osu018_stdcells.lib"),
        packages: &["qflow-tech-osu018"],
    },
];

/// For the Python package: its tools come from Python's registry (`crates/manylane-py/requirements.txt`).
const PYTHON: [Need; 3] = [
    program("python3", &["python3"]),
    Need { probe: Probe::Module("ensurepip"), packages: &["python3-venv"] },
    program("openssl", &["openssl"]),
];

/// Sees to it that everything is there that the tests need.
pub(crate) fn provide(install: bool) -> Result {
    let arm: &[Need] = if cfg!(target_arch = "aarch64") { &[] } else { &ARM };
    let needs: Vec<&Need> = NATIVE.iter().chain(&AMD).chain(arm).collect();
    provide_all(&needs, install)?;
    components()
}

/// Sees to it that everything is there that the hardware's flow needs from the system.
pub(crate) fn provide_rtl(install: bool) -> Result {
    provide_all(&RTL.iter().collect::<Vec<_>>(), install)
}

/// Sees to it that everything is there that the provider's tests need from the system.
pub(crate) fn provide_provider(install: bool) -> Result {
    let native = NATIVE.iter().filter(|need| matches!(need.probe, Probe::Program("valgrind")));
    provide_all(&PROVIDER.iter().chain(native).collect::<Vec<_>>(), install)
}

/// Sees to it that everything is there that the Python package's tests need from the system.
pub(crate) fn provide_python(install: bool) -> Result {
    provide_all(&PYTHON.iter().collect::<Vec<_>>(), install)
}

/// Installs what is missing if that is allowed and possible.
fn provide_all(all: &[&Need], install: bool) -> Result {
    let needs = || all.iter().copied();
    let missing: Vec<&Need> = needs().filter(|need| !need.probe.is_there()).collect();
    if !missing.is_empty() && install {
        let packages: Vec<_> = missing.iter().flat_map(|need| need.packages).copied().collect();
        apt(&packages).map_err(|why| format!("{why}\n{}", list(&missing)))?;
    }
    let still: Vec<&Need> = needs().filter(|need| !need.probe.is_there()).collect();
    if !still.is_empty() {
        return Err(list(&still));
    }
    Ok(())
}

/// rustfmt and clippy belong to the compiler's own distribution.
fn components() -> Result {
    for (component, command) in [("rustfmt", "fmt"), ("clippy", "clippy")] {
        let there = crate::cargo().args([command, "--version"]).stdout(Stdio::null()).status();
        if !there.is_ok_and(|status| status.success()) {
            return Err(format!("cargo {command} is missing: rustup component add {component}"));
        }
    }
    Ok(())
}

fn list(missing: &[&Need]) -> String {
    let mut lines = vec!["the tests need what is not there:".to_string()];
    for need in missing {
        let what = match need.probe {
            Probe::Program(name) => format!("the program {name}"),
            Probe::Library(name) => format!("the library {name}"),
            Probe::File(path) => path.into(),
            Probe::Module(name) => format!("Python's module {name}"),
        };
        lines.push(format!("  {what} (Debian: {})", need.packages.join(" ")));
    }
    lines.join("\n")
}

fn apt(packages: &[&str]) -> Result {
    if !Probe::Program("apt-get").is_there() {
        return Err("no apt-get here to install packages with".into());
    }
    // SAFETY of a password prompt in a run without a terminal: -n makes sudo fail instead.
    let id = crate::output_of(Command::new("id").arg("-u"))?;
    let sudo: &[&str] = match id.trim() {
        "0" => &[],
        _ if Probe::Program("sudo").is_there() => &["sudo", "-n"],
        _ => return Err("only root, or a user with sudo, can install packages".into()),
    };
    let root = |words: &[&str]| {
        let mut words = sudo.iter().chain(words);
        let mut command = Command::new(words.next().expect("a program"));
        command.args(words).env("DEBIAN_FRONTEND", "noninteractive").stdin(Stdio::null());
        println!("$ {}", crate::steps::show(&command));
        run_command(&mut command)
    };
    println!("installing {}", packages.join(" "));
    if packages.iter().any(|package| package.ends_with(":arm64")) {
        root(&["dpkg", "--add-architecture", "arm64"])?;
    }
    // Another package manager may be at work on a fresh machine: wait for its lock.
    let apt = ["apt-get", "-q", "-o", "DPkg::Lock::Timeout=600"];
    root(&[&apt[..], &["update"]].concat())?;
    root(&[&apt[..], &["install", "-y", "--no-install-recommends"], packages].concat())
}

impl Probe {
    fn is_there(&self) -> bool {
        match *self {
            Probe::Program(name) if name.starts_with('/') => Path::new(name).exists(),
            Probe::Program(name) => std::env::var_os("PATH").is_some_and(|path| {
                std::env::split_paths(&path).any(|dir| dir.join(name).is_file())
            }),
            Probe::Library(name) => {
                let cache = Command::new("/sbin/ldconfig").arg("-p").output();
                cache.is_ok_and(|out| String::from_utf8_lossy(&out.stdout).contains(name))
            }
            Probe::File(path) => Path::new(path).exists(),
            Probe::Module(name) => {
                let import = format!("import {name}");
                let out = Command::new("python3").args(["-c", &import]).output();
                out.is_ok_and(|out| out.status.success())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named_with_its_package() {
        let need = program("no-such-program", &["no-such-package"]);
        assert!(!need.probe.is_there());
        let list = list(&[&need]);
        assert!(list.contains("no-such-program") && list.contains("no-such-package"), "{list}");
    }

    #[test]
    fn what_is_there_is_seen() {
        assert!(Probe::Program("sh").is_there());
        assert!(Probe::Program("/bin/sh").is_there());
        assert!(Probe::Library("libc.so.6").is_there());
        assert!(!Probe::Library("libnosuchthing.so.1").is_there());
        assert!(!Probe::File("/no/such/file").is_there());
        assert!(Probe::Module("json").is_there());
        assert!(!Probe::Module("no_such_module").is_there());
    }
}

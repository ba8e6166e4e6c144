//! The AArch64 kernels on a processor of another kind: built by Debian's compiler, run by qemu.

use std::process::Command;

use crate::{cargo, target_dir};

/// Debian's compiler, beside whatever compiles the rest.
pub(crate) const RUSTC: &str = "/usr/bin/rustc";

const TARGET: &str = "aarch64-unknown-linux-gnu";

/// A processor that qemu imitates.
pub(crate) struct Processor {
    pub(crate) name: &'static str,
    /// The machines of manylane that it has beside portable.
    pub(crate) machines: &'static [&'static str],
}

/// One with the SHA3, SM3 and SM4 instructions, and one without them, where detection must say so.
pub(crate) const PROCESSORS: [Processor; 2] = [
    Processor { name: "max", machines: &["neon", "armaes", "armsha3", "armcrypto"] },
    Processor { name: "cortex-a57", machines: &["neon", "armaes"] },
];

/// Tests that the emulator cannot run, and why.
pub(crate) const SKIPPED: [(&str, &str); 2] = [
    (
        "a_child_has_threads_of_its_own",
        "qemu 7.2 itself stops at its assertion in qemu_plugin_vcpu_init_hook when a forked child \
     starts a thread",
    ),
    ("gpus", "a static program cannot load the stand-in for a driver"),
];

/// A cargo command for AArch64.
pub(crate) fn cargo_for(processor: &Processor, command: &str) -> Command {
    let variable =
        |what| format!("CARGO_TARGET_{}_{what}", TARGET.to_uppercase().replace('-', "_"));
    let mut cargo = cargo();
    cargo
        .args([command, "--locked", "--target", TARGET])
        .env("RUSTC", RUSTC)
        // Another compiler than the host's, so another folder.
        .env("CARGO_TARGET_DIR", target_dir().join("arm"))
        .env(variable("LINKER"), "aarch64-linux-gnu-gcc")
        // Static programs need no AArch64 libraries on the host.
        .env(variable("RUSTFLAGS"), "-C target-feature=+crt-static")
        .env(variable("RUNNER"), format!("qemu-aarch64 -cpu {}", processor.name))
        // Optimised, because each instruction costs many here; but not as a program that is shipped,
        // which takes twice as long to build.
        .args(["--release", "--config", "profile.release.lto='off'"])
        .args([
            "--config",
            "profile.release.codegen-units=16",
            "--config",
            "profile.release.debug=0",
        ])
        // A compiler wrapper or flags meant for the host's compiler would not fit.
        .env_remove("RUSTC_WRAPPER")
        .env_remove("RUSTC_WORKSPACE_WRAPPER")
        .env_remove("RUSTFLAGS");
    cargo
}

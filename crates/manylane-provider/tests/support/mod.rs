//! A folder with the provider in it and a configuration that makes OpenSSL use it.
#![allow(dead_code, unreachable_pub, reason = "each test uses some of it")]

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use tempfile::TempDir;

/// Which implementations a command gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// This provider's where it has them, the default provider's else.
    Ours,
    /// OpenSSL's own.
    Theirs,
}

/// Ours, and theirs.
pub const SIDES: [Side; 2] = [Side::Ours, Side::Theirs];

/// A folder for a test.
pub struct Place {
    dir: TempDir,
}

impl Place {
    /// A folder with `manylane.so`, `openssl.cnf` that loads it, and `theirs.cnf` that does not.
    pub fn new() -> Self {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let place = Place { dir };
        std::os::unix::fs::symlink(library(), place.path("manylane.so")).expect("a link");
        let config = CONFIG.replace("DIR", place.dir.path().to_str().expect("UTF-8"));
        place.write("openssl.cnf", config.as_bytes());
        place.write("theirs.cnf", REQUESTS.as_bytes());
        place
    }

    /// A path in it.
    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Writes a file in it.
    pub fn write(&self, name: &str, data: &[u8]) {
        fs::write(self.path(name), data).expect("a file");
    }

    /// Reads one.
    pub fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// A command in it.
    pub fn command(&self, side: Side, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new(program.as_ref());
        let config = match side {
            Side::Ours => "openssl.cnf",
            Side::Theirs => "theirs.cnf",
        };
        command.current_dir(self.dir.path()).env("OPENSSL_CONF", self.path(config));
        // OpenSSL's list of errors keeps words of its own language.
        command.env("LC_ALL", "C");
        command
    }

    /// Runs `openssl` with these words, whatever comes of it.
    pub fn try_openssl(&self, side: Side, words: &str) -> Output {
        let mut command = self.command(side, program());
        command.args(words.split_whitespace()).output().expect("openssl runs")
    }

    /// Runs `openssl` with these words, and gives its output.
    pub fn openssl(&self, side: Side, words: &str) -> Vec<u8> {
        let output = self.try_openssl(side, words);
        succeeded(&format!("{side:?}: openssl {words}"), &output);
        output.stdout
    }

    /// The same as text.
    pub fn openssl_text(&self, side: Side, words: &str) -> String {
        String::from_utf8(self.openssl(side, words)).expect("text")
    }

    /// Compiles a program of this folder with libcrypto.
    pub fn compile(&self, source: &str) -> PathBuf {
        let program = self.path(source.trim_end_matches(".c"));
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(source);
        let mut command = Command::new("cc");
        command.args([
            "-std=c11",
            "-D_GNU_SOURCE",
            "-O1",
            "-g",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-o",
        ]);
        command.arg(&program).arg(source);
        if let Some(dir) = newer() {
            command.arg("-I").arg(dir.join("include")).arg("-L").arg(dir.join("lib"));
        }
        command.args(["-lcrypto", "-lpthread", "-ldl"]);
        succeeded("cc", &command.output().expect("a C compiler"));
        program
    }
}

/// Where another OpenSSL than the system's is installed, if the tests are to be with that.
pub fn newer() -> Option<PathBuf> {
    std::env::var_os("MANYLANE_OPENSSL").map(PathBuf::from)
}

/// The `openssl` command.
pub fn program() -> PathBuf {
    newer().map_or_else(|| "openssl".into(), |dir| dir.join("bin/openssl"))
}

/// Fails with everything the command said unless it succeeded.
pub fn succeeded(what: &str, output: &Output) {
    assert!(
        output.status.success(),
        "{what}: {}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
}

/// The provider: the one that cargo has built together with this test, or another that the environment names.
pub fn library() -> PathBuf {
    if let Some(path) = std::env::var_os("MANYLANE_PROVIDER") {
        return path.into();
    }
    let test = std::env::current_exe().expect("this program's path");
    let path = test.with_file_name("libmanylane_provider.so");
    assert!(path.exists(), "{} is missing", path.display());
    path
}

/// Bytes that look random, always the same.
pub fn noise(len: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    };
    (0..len).map(|_| next()).collect()
}

const CONFIG: &str = "\
openssl_conf = manylane_init

[manylane_init]
providers = manylane_providers
alg_section = manylane_algorithms

[manylane_providers]
default = manylane_default
manylane = manylane_module

[manylane_default]
activate = 1

[manylane_module]
module = DIR/manylane.so
activate = 1

[manylane_algorithms]
default_properties = ?provider=manylane

[req]
distinguished_name = req_name

[req_name]

[ca]
basicConstraints = critical, CA:true

[leaf]
basicConstraints = CA:false
keyUsage = digitalSignature
";

const REQUESTS: &str = "\
[req]
distinguished_name = req_name

[req_name]

[ca]
basicConstraints = critical, CA:true

[leaf]
basicConstraints = CA:false
keyUsage = digitalSignature
";

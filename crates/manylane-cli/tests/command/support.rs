//! Folders to work in, and processes with what they said.

use std::{
    ffi::OsStr,
    fs,
    io::Write as _,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
};

use manylane::sm3;

/// A folder that goes away.
pub(crate) struct Dir(tempfile::TempDir);

impl Dir {
    pub(crate) fn new() -> Self {
        Dir(tempfile::tempdir().expect("a folder for the test"))
    }

    pub(crate) fn path(&self, name: impl AsRef<[u8]>) -> PathBuf {
        self.0.path().join(OsStr::from_bytes(name.as_ref()))
    }

    pub(crate) fn write(&self, name: impl AsRef<[u8]>, content: impl AsRef<[u8]>) -> &Self {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("its folder");
        fs::write(path, content).expect("a file for the test");
        self
    }

    pub(crate) fn symlink(&self, to: &str, name: &str) -> &Self {
        std::os::unix::fs::symlink(to, self.path(name)).expect("a symbolic link");
        self
    }

    pub(crate) fn fifo(&self, name: &str) -> &Self {
        let made = tool("mkfifo").arg(self.path(name)).status().expect("mkfifo runs");
        assert!(made.success(), "mkfifo {name}");
        self
    }

    /// Names in the folder, in order.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).expect("the folder");
        let name = |entry: std::io::Result<fs::DirEntry>| {
            entry.expect("an entry").file_name().to_string_lossy().into_owned()
        };
        let mut names: Vec<_> = entries.map(name).collect();
        names.sort();
        names
    }

    /// The command, to be run in the folder.
    pub(crate) fn manylane<I: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = I>) -> Ran {
        self.run(command().args(args), b"")
    }

    /// The command with something on its standard input.
    pub(crate) fn manylane_reading<I: AsRef<OsStr>>(
        &self,
        stdin: impl AsRef<[u8]>,
        args: impl IntoIterator<Item = I>,
    ) -> Ran {
        self.run(command().args(args), stdin.as_ref())
    }

    /// Any command, in the folder.
    pub(crate) fn run(&self, command: &mut Command, stdin: &[u8]) -> Ran {
        command.current_dir(self.0.path());
        run(command, stdin)
    }
}

/// The `manylane` command that was built with this test.
pub(crate) fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_manylane"));
    command.env_remove(manylane::cpu::FORCE);
    command
}

/// Another program. A test that cannot compare with it fails: to pass without would be to skip in
/// silence.
pub(crate) fn tool(name: &str) -> Command {
    let found = std::env::var_os("PATH")
        .is_some_and(|path| std::env::split_paths(&path).any(|dir| dir.join(name).is_file()));
    assert!(found, "this test needs the program {name}: install it (coreutils, openssl)");
    let mut command = Command::new(name);
    command.env("LC_ALL", "C");
    command
}

/// What a process left behind.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) out: Vec<u8>,
    pub(crate) err: String,
}

impl Ran {
    /// Asserts the exit status, and that nothing was said on standard error.
    #[track_caller]
    pub(crate) fn is_fine(&self) -> &Self {
        assert_eq!((self.code, &self.err[..]), (Some(0), ""), "{}", self.text());
        self
    }

    #[track_caller]
    pub(crate) fn exits(&self, code: i32) -> &Self {
        assert_eq!(self.code, Some(code), "{}\n{}", self.text(), self.err);
        self
    }

    #[track_caller]
    pub(crate) fn prints(&self, text: &str) -> &Self {
        assert_eq!(self.text(), text);
        self
    }

    #[track_caller]
    pub(crate) fn says(&self, line: &str) -> &Self {
        let found = self.err.lines().any(|said| said == format!("manylane: {line}"));
        assert!(found, "no line {line:?} in\n{}", self.err);
        self
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.out).into_owned()
    }

    /// Each line as JSON.
    #[track_caller]
    pub(crate) fn json(&self) -> Vec<serde_json::Value> {
        let parse = |line: &str| serde_json::from_str(line).expect("valid JSON");
        self.text().lines().map(parse).collect()
    }
}

pub(crate) fn run(command: &mut Command, stdin: &[u8]) -> Ran {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the process starts");
    let mut to = child.stdin.take().expect("a pipe");
    let stdin = stdin.to_vec();
    // A process need not read its input, so a failure to write is no failure of the test.
    let feed = thread::spawn(move || to.write_all(&stdin).is_ok());
    let output = child.wait_with_output().expect("the process ends");
    let _ = feed.join();
    Ran {
        code: output.status.code(),
        out: output.stdout,
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// The digits of a digest.
pub(crate) fn sm3_hex(content: impl AsRef<[u8]>) -> String {
    sm3::hash(content.as_ref()).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A tagged line.
pub(crate) fn line(name: &str, content: impl AsRef<[u8]>) -> String {
    format!("SM3 ({name}) = {}\n", sm3_hex(content))
}

/// Names that try whoever splits lines, with contents that differ.
pub(crate) fn odd_names() -> Vec<Vec<u8>> {
    let mut names: Vec<Vec<u8>> = [
        &b"plain"[..],
        b" leading and trailing ",
        b"*star",
        b"-dash",
        b"--help",
        b"#hash",
        b"back\\slash",
        b"new\nline",
        b"both\\\nof\nthem\\n",
        b"carriage\r",
        b"tab\t",
        b"bell\x07",
        b"a) = 00",
        b"SM3 (plain) = 00",
        b"(",
        b")",
        b"()",
        b"'quoted'",
        b"$HOME",
        b"\xff\xfe",
        b"half \xe4\xb8 character",
        "全角".as_bytes(),
    ]
    .map(<[u8]>::to_vec)
    .into();
    names.push(format!("{}  inner", sm3_hex("x")).into_bytes());
    names
}

/// A folder with a file of each odd name.
pub(crate) fn odd_files() -> Dir {
    let dir = Dir::new();
    for (i, name) in odd_names().iter().enumerate() {
        dir.write(name, format!("content {i}").repeat(i * 40));
    }
    dir
}

/// The odd names as arguments that no option parser takes for options.
pub(crate) fn odd_operands() -> Vec<PathBuf> {
    odd_names().iter().map(|name| Path::new(OsStr::from_bytes(name)).to_owned()).collect()
}

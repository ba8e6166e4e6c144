//! Where the results go, and what happens when they cannot.

use std::{
    fs::{self, File},
    io::Read as _,
    os::unix::fs::PermissionsExt as _,
    process::Stdio,
};

use crate::support::{Dir, Ran, command, line, run, tool};

#[test]
fn a_file_appears_complete_with_the_usual_permissions() {
    let dir = Dir::new();
    dir.write("a", "1");
    dir.manylane(["sum", "-o", "out", "a"]).is_fine().prints("");
    assert_eq!(fs::read_to_string(dir.path("out")).unwrap(), line("a", "1"));
    File::create(dir.path("usual")).unwrap();
    let mode = |name: &str| fs::metadata(dir.path(name)).unwrap().permissions().mode();
    assert_eq!(mode("out"), mode("usual"));
    // An error of one file is no reason to lose the digests of the others.
    dir.manylane(["sum", "-o", "out", "gone", "a", "a"]).exits(1);
    assert_eq!(fs::read_to_string(dir.path("out")).unwrap(), line("a", "1").repeat(2));
    assert_eq!(dir.names(), ["a", "out", "usual"], "nothing else is left");
}

#[test]
fn what_is_replaced_keeps_its_permissions_and_its_links() {
    let dir = Dir::new();
    dir.write("a", "1").write("d/real", "old").symlink("d/real", "out");
    fs::set_permissions(dir.path("d/real"), fs::Permissions::from_mode(0o640)).unwrap();
    dir.manylane(["sum", "-o", "out", "a"]).is_fine();
    assert!(fs::symlink_metadata(dir.path("out")).unwrap().is_symlink());
    assert_eq!(fs::read_to_string(dir.path("d/real")).unwrap(), line("a", "1"));
    assert_eq!(fs::metadata(dir.path("d/real")).unwrap().permissions().mode() & 0o777, 0o640);
}

#[test]
fn a_link_to_what_is_missing_stays_and_its_file_appears() {
    let dir = Dir::new();
    dir.write("a", "1").write("d/other", "").symlink("d/link", "out").symlink("new", "d/link");
    dir.manylane(["sum", "-o", "out", "a"]).is_fine();
    for name in ["out", "d/link"] {
        assert!(fs::symlink_metadata(dir.path(name)).unwrap().is_symlink());
    }
    assert!(fs::symlink_metadata(dir.path("d/new")).unwrap().is_file());
    assert_eq!(fs::read_to_string(dir.path("out")).unwrap(), line("a", "1"));
    dir.symlink("gone/out", "far");
    dir.manylane(["sum", "-o", "far", "a"]).exits(2).says("far: No such file or directory");
}

#[test]
fn a_file_does_not_appear_before_the_end_or_after_a_mistake() {
    let dir = Dir::new();
    dir.fifo("pipe").write("out", "old");
    let mut child = command();
    child.args(["sum", "-o", "out", "pipe"]).current_dir(dir.path(""));
    let mut child = child.spawn().unwrap();
    // Opening waits for the command, which has opened its output by then.
    let pipe = File::options().write(true).open(dir.path("pipe")).unwrap();
    assert_eq!(fs::read_to_string(dir.path("out")).unwrap(), "old");
    drop(pipe);
    assert!(child.wait().unwrap().success());
    assert_eq!(fs::read_to_string(dir.path("out")).unwrap(), line("pipe", ""));

    dir.manylane(["sum", "-o", "gone/out", "pipe"]).exits(2);
    dir.manylane(["sum", "-o", ".", "pipe"]).exits(2).says(".: Is a directory");
    dir.manylane(["sum", "-o", "gone/out", "pipe"]).says("gone/out: No such file or directory");
    for name in ["new/", "new/."] {
        let ran = dir.manylane(["sum", "-o", name, "pipe"]);
        ran.exits(2).says(&format!("{name}: Is a directory"));
    }
    dir.manylane(["sum", "-o", "new", "--hmac-key-file", "gone", "out"]).exits(2);
    assert_eq!(dir.names(), ["out", "pipe"]);
}

#[test]
fn an_interrupted_command_leaves_nothing_behind() {
    for signal in ["-INT", "-TERM", "-HUP"] {
        let dir = Dir::new();
        dir.fifo("pipe");
        // Whoever runs the tests may ignore these signals, as a shell does for what it puts into
        // the background, and a child would inherit that.
        let mut child = crate::support::tool("env");
        child.arg("--default-signal=INT,TERM,HUP").arg(command().get_program());
        child.args(["sum", "-o", "out", "pipe"]).current_dir(dir.path(""));
        let mut child = child.spawn().unwrap();
        let pipe = File::options().write(true).open(dir.path("pipe")).unwrap();
        let kill = crate::support::tool("kill").args([signal, &child.id().to_string()]).status();
        assert!(kill.unwrap().success());
        let status = child.wait().unwrap();
        assert_eq!(status.code(), None, "it ends by the signal: {status}");
        drop(pipe);
        assert_eq!(dir.names(), ["pipe"]);
    }
}

#[test]
fn special_files_are_written_to() {
    let dir = Dir::new();
    dir.write("a", "1");
    dir.manylane(["sum", "-o", "/dev/null", "a"]).is_fine().prints("");
    dir.manylane(["sum", "-o", "/dev/stdout", "a"]).is_fine().prints(&line("a", "1"));
}

#[test]
fn a_closed_pipe_ends_the_command_quietly() {
    let dir = Dir::new();
    for i in 0..3000 {
        dir.write(format!("{i}-{}", "x".repeat(100)), "");
    }
    let mut child = command();
    child.args(["sum", "-r", "."]).current_dir(dir.path(""));
    let mut child = child.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut first = [0; 1];
    let mut stdout = child.stdout.take().unwrap();
    stdout.read_exact(&mut first).unwrap();
    drop(stdout);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(141));
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
}

#[test]
fn a_full_device_is_an_error() {
    let dir = Dir::new();
    dir.write("a", "1");
    let mut command = command();
    command.args(["sum", "a"]).current_dir(dir.path(""));
    command.stdout(File::options().write(true).open("/dev/full").unwrap());
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(err, "manylane: write error: No space left on device\n");
}

#[test]
fn answers_that_cannot_be_written_are_errors() {
    for args in [
        &["--help"][..],
        &["--version"],
        &["help", "sum"],
        &["sum", "--help"],
        &["info"],
        &["completions", "bash"],
        &["man"],
    ] {
        let mut command = command();
        command.args(args).stdout(File::options().write(true).open("/dev/full").unwrap());
        let output = command.output().unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        let said = "manylane: write error: No space left on device\n";
        assert_eq!((output.status.code(), &err[..]), (Some(1), said), "{args:?}");
    }
}

/// Runs the command from a shell that redirects its streams.
fn redirected(dir: &Dir, how: &str, args: &[&str]) -> Ran {
    let script = format!("exec \"$0\" \"$@\" {how}");
    dir.run(tool("sh").args(["-c", &script, env!("CARGO_BIN_EXE_manylane")]).args(args), b"")
}

#[test]
fn a_closed_output_is_an_error() {
    let dir = Dir::new();
    dir.write("a", "1").write("list", line("a", "1"));
    for args in [
        &["sum", "a"][..],
        &["sum", "-c", "list"],
        &["info"],
        &["completions", "bash"],
        &["man"],
        &["--version"],
    ] {
        redirected(&dir, ">&-", args).exits(1).says("write error: Bad file descriptor");
        redirected(&dir, ">/dev/null", args).is_fine();
    }
    // Nothing is to be written.
    redirected(&dir, ">&-", &["sum", "-c", "--status", "list"]).is_fine();
    redirected(&dir, ">&-", &["sum", "-o", "out", "a"]).is_fine();
}

#[test]
fn a_closed_input_is_an_error() {
    let dir = Dir::new();
    for args in [&["sum"][..], &["sum", "-"], &["sum", "-c"], &["sum", "--files0-from", "-"]] {
        let ran = redirected(&dir, "<&-", args);
        ran.exits(1).prints("").says("standard input: Bad file descriptor");
    }
    redirected(&dir, "</dev/null", &["sum"]).is_fine().prints(&line("-", ""));
    dir.write("a", "1");
    redirected(&dir, "<&-", &["sum", "a"]).is_fine().prints(&line("a", "1"));
}

#[test]
fn progress_is_for_terminals_unless_asked_for() {
    let dir = Dir::new();
    dir.fifo("pipe");
    for (when, shown) in [("auto", false), ("never", false), ("always", true)] {
        let path = dir.path("pipe");
        let slow = std::thread::spawn(move || {
            let pipe = File::options().write(true).open(path).unwrap();
            std::thread::sleep(std::time::Duration::from_millis(1500));
            drop(pipe);
        });
        let ran = dir.manylane(["sum", "--progress", when, "pipe"]);
        slow.join().unwrap();
        ran.exits(0).prints(&line("pipe", ""));
        assert_eq!(ran.err.contains("files"), shown, "{when}: {}", ran.err);
    }
    let ran = run(command().args(["sum", "--progress", "always"]), b"");
    assert_eq!(ran.err, "", "short work shows nothing");
}

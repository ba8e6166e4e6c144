//! Digests of files that are named.

use std::{
    fs::{self, File},
    io::Write as _,
    os::unix::fs::FileExt as _,
    process::Stdio,
    thread,
    time::Duration,
};

use crate::support::{Dir, command, line, run, sm3_hex};

#[test]
fn files_come_in_the_order_of_the_arguments() {
    let dir = Dir::new();
    dir.write("b", "1").write("a", vec![2; 1 << 20]).write("c", "");
    let lines = line("b", "1") + &line("a", vec![2; 1 << 20]) + &line("c", "") + &line("b", "1");
    for jobs in ["1", "2", "7"] {
        dir.manylane(["sum", "-j", jobs, "b", "a", "c", "b"]).is_fine().prints(&lines);
    }
}

#[test]
fn standard_input_is_the_default_and_dash() {
    let dir = Dir::new();
    dir.write("a", "1");
    dir.manylane_reading("abc", ["sum"]).is_fine().prints(&line("-", "abc"));
    let both = line("a", "1") + &line("-", "abc");
    dir.manylane_reading("abc", ["sum", "a", "-"]).is_fine().prints(&both);
    // Its second reading finds it at its end.
    let twice = line("-", "abc") + &line("-", "");
    dir.manylane_reading("abc", ["sum", "-", "-"]).is_fine().prints(&twice);
}

#[test]
fn what_cannot_be_read_stops_nothing_else() {
    let dir = Dir::new();
    dir.write("a", "1").write("z", "2").write("d/e", "").symlink("nowhere", "dangling");
    dir.symlink("loop", "loop");
    let args = ["sum", "a", "gone", "d", "dangling", "/proc/self/mem", "a/b", "loop", "z"];
    let ran = dir.manylane(args);
    ran.exits(1).prints(&(line("a", "1") + &line("z", "2")));
    ran.says("gone: No such file or directory")
        .says("d: Is a directory")
        .says("dangling: No such file or directory")
        .says("/proc/self/mem: Input/output error")
        .says("a/b: Not a directory")
        .says("loop: Too many levels of symbolic links");
    assert_eq!(ran.err.lines().count(), 6);
}

#[test]
fn messages_stay_on_one_line_whatever_the_name() {
    let dir = Dir::new();
    let ran = dir.manylane(["sum", "--", "a\nb", "-x", ""]);
    ran.exits(1).prints("").says("$'a\\nb': No such file or directory");
    ran.says("-x: No such file or directory").says("'': No such file or directory");
}

#[test]
fn a_file_that_is_written_to_meanwhile_gets_no_digest() {
    let dir = Dir::new();
    dir.write("grows", "1").write("still", "2");
    let mut file = File::options().append(true).open(dir.path("grows")).unwrap();
    // Long enough to be at work for many of the pauses below.
    file.set_len(if cfg!(debug_assertions) { 32 << 20 } else { 512 << 20 }).unwrap();
    for operand in ["grows", "-"] {
        let mut command = command();
        command.args(["sum", operand, "still"]).current_dir(dir.path(""));
        command.stdin(File::open(dir.path("grows")).unwrap());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        while child.try_wait().unwrap().is_none() {
            file.write_all(b"more").unwrap();
            thread::sleep(Duration::from_millis(10));
        }
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        let name = operand.replace('-', "standard input");
        let said = format!("manylane: {name}: changed while it was read\n");
        assert_eq!(String::from_utf8(output.stderr).unwrap(), said);
        assert_eq!(String::from_utf8(output.stdout).unwrap(), line("still", "2"));
    }
}

#[test]
fn a_pipe_that_is_named_is_read() {
    let dir = Dir::new();
    dir.fifo("pipe").write("a", "1");
    let path = dir.path("pipe");
    let writer = thread::spawn(move || fs::write(path, "through the pipe").unwrap());
    let lines = line("a", "1") + &line("pipe", "through the pipe");
    dir.manylane(["sum", "a", "pipe"]).is_fine().prints(&lines);
    writer.join().unwrap();
}

#[test]
fn files_that_the_kernel_makes_up_and_sparse_files_are_read() {
    let dir = Dir::new();
    let version = fs::read("/proc/version").unwrap();
    dir.manylane(["sum", "/proc/version", "/dev/null"])
        .is_fine()
        .prints(&(line("/proc/version", version) + &line("/dev/null", "")));
    let sparse = File::create(dir.path("sparse")).unwrap();
    sparse.write_all_at(b"x", 3 << 20).unwrap();
    let content = [vec![0; 3 << 20], b"x".to_vec()].concat();
    dir.manylane(["sum", "--no-mmap", "sparse"]).is_fine().prints(&line("sparse", content));
}

#[test]
fn names_come_from_a_list() {
    let dir = Dir::new();
    dir.write("a", "1").write("new\nline", "2").write("-", "3");
    dir.write("list", "a\0new\nline\0./-\0").write("open", "a\0a").write("gaps", "\0a\0\0");
    let lines = line("a", "1") + &format!("\\{}", line("new\\nline", "2")) + &line("./-", "3");
    dir.manylane(["sum", "--files0-from", "list"]).is_fine().prints(&lines);
    let list = fs::read(dir.path("list")).unwrap();
    dir.manylane_reading(&list, ["sum", "--files0-from", "-"]).is_fine().prints(&lines);
    dir.manylane(["sum", "--files0-from", "open"]).is_fine().prints(&line("a", "1").repeat(2));
    dir.manylane_reading("", ["sum", "--files0-from", "-"]).is_fine().prints("");
    let ran = dir.manylane(["sum", "--files0-from", "gaps"]);
    ran.exits(1).prints(&line("a", "1")).says("gaps: name 1: empty").says("gaps: name 3: empty");
    let ran = dir.manylane_reading("-\0a\0", ["sum", "--files0-from", "-"]);
    ran.exits(1).prints(&line("a", "1"));
    ran.says("standard input: name 1: standard input holds the names already");
    let ran = dir.manylane(["sum", "--files0-from", "gone"]);
    ran.exits(1).prints("").says("gone: No such file or directory");
    dir.manylane(["sum", "--files0-from", "."]).exits(1).says(".: Is a directory");
    let long = "x".repeat(1 << 20) + "\0a\0";
    let ran = dir.manylane_reading(long, ["sum", "--files0-from", "-"]);
    ran.exits(1).prints(&line("a", "1")).says("standard input: name 1: too long");
}

#[test]
fn json_has_an_object_for_each_file() {
    let dir = Dir::new();
    dir.write("a", "abc").write(b"\xff\n", "");
    let args: Vec<std::ffi::OsString> =
        ["sum", "--json", ".", "a"].iter().map(Into::into).chain([not_utf8()]).collect();
    let ran = dir.manylane(args);
    ran.exits(1).says(".: Is a directory");
    let objects = ran.json();
    assert_eq!(objects.len(), 3);
    assert_eq!(objects[0], serde_json::json!({"name": ".", "error": "Is a directory"}));
    let a = serde_json::json!(
        {"name": "a", "algorithm": "sm3", "digest": sm3_hex("abc"), "size": 3}
    );
    assert_eq!(objects[1], a);
    assert_eq!(
        (&objects[2]["name"], &objects[2]["name_hex"]),
        (&"\u{fffd}\n".into(), &"ff0a".into())
    );
}

fn not_utf8() -> std::ffi::OsString {
    std::os::unix::ffi::OsStringExt::from_vec(b"\xff\n".to_vec())
}

#[test]
fn keys_have_to_make_sense() {
    let dir = Dir::new();
    dir.write("empty", "").write("odd", "abc").write("a", "1");
    for (file, why) in [
        ("gone", "key file gone: No such file or directory"),
        ("empty", "key file empty: empty"),
        ("hex:odd", "key file odd: not an even number of hexadecimal digits"),
        ("hex:empty", "key file empty: empty"),
        ("/dev/zero", "key file /dev/zero: longer than 1048576 bytes"),
    ] {
        dir.manylane(["sum", "--hmac-key-file", file, "a"]).exits(2).prints("").says(why);
    }
}

#[test]
fn wrong_usage_exits_with_2() {
    let dir = Dir::new();
    dir.write("a", "1");
    for args in [
        &["sum", "-a", "md5", "a"][..],
        &["sum", "--device", "cuda", "a"],
        &["sum", "--device", "hip:1", "a"],
        &["sum", "--device", "gpu", "a"],
        &["sum", "-j", "0", "a"],
        &["sum", "-j", "1025", "a"],
        &["sum", "-j", "99999999999999999999", "a"],
        &["sum", "-j", "-1", "a"],
        &["sum", "--strict", "a"],
        &["sum", "--exclude", "x", "a"],
        &["sum", "-r", "--exclude", "[", "a"],
        &["sum", "--tag", "--untagged", "a"],
        &["sum", "-c", "-z", "a"],
        &["sum", "-z", "--json", "a"],
        &["sum", "--files0-from", "a", "a"],
        &["sum", "--no-such-option"],
        &["no-such-command"],
        &[],
    ] {
        let ran = dir.manylane(args);
        ran.exits(2).prints("");
        assert!(!ran.err.is_empty(), "{args:?}");
    }
    for device in ["auto", "cpu", "all"] {
        dir.manylane(["sum", "--device", device, "a"]).is_fine().prints(&line("a", "1"));
    }
}

#[test]
fn an_unknown_machine_is_a_wrong_configuration() {
    for machine in ["avx1024", "", "neon"] {
        if manylane::cpu::Machine::from_name(machine).is_some_and(|m| m.is_detected()) {
            continue;
        }
        let ran = run(command().env(manylane::cpu::FORCE, machine).args(["sum"]), b"");
        ran.exits(2).prints("");
        assert!(ran.err.contains("MANYLANE_MACHINE"), "{}", ran.err);
    }
    for machine in manylane::cpu::Machine::ALL.into_iter().filter(|m| m.is_detected()) {
        let ran = run(command().env(manylane::cpu::FORCE, machine.name()).args(["sum"]), b"abc");
        ran.is_fine().prints(&line("-", "abc"));
    }
}

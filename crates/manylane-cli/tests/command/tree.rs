//! Trees: their order, and what is left out of them.

use std::{fs, os::unix::net::UnixListener};

use crate::support::{Dir, line, tool};

fn tree() -> Dir {
    let dir = Dir::new();
    for name in ["t/b", "t/a/z", "t/a/b/c", "t/a-b", "t/a0", "t/.hidden/x", "t/é", "t/Z"] {
        dir.write(name, name);
    }
    dir.write("t/.gitignore", "b\n");
    fs::create_dir(dir.path("t/empty")).unwrap();
    dir
}

/// Names of tagged lines.
fn names(text: &str) -> Vec<String> {
    let name = |line: &str| line[line.find('(').unwrap() + 1..line.rfind(')').unwrap()].to_owned();
    text.lines().map(name).collect()
}

#[test]
fn a_tree_comes_in_byte_order_of_the_paths_for_any_number_of_threads() {
    let dir = tree();
    for i in 0..300 {
        dir.write(format!("t/many/{i}"), vec![i as u8; i * 37]);
    }
    let found = dir.run(tool("find").args(["t", "-type", "f"]), b"");
    let mut expected: Vec<_> = found.is_fine().text().lines().map(str::to_owned).collect();
    expected.sort();
    let one = dir.manylane(["sum", "-r", "-j", "1", "t"]);
    assert_eq!(names(&one.is_fine().text()), expected);
    for jobs in ["2", "5", "16"] {
        dir.manylane(["sum", "-r", "-j", jobs, "t"]).is_fine().prints(&one.text());
    }
    dir.run(tool("cksum").args(["-a", "sm3", "-c", "--quiet"]), &one.out).is_fine();
}

#[test]
fn operands_keep_their_order_and_may_be_files() {
    let dir = tree();
    let ran = dir.manylane(["sum", "-r", "t/b", "t/a", "t/a/"]);
    let expected = ["t/b", "t/a/b/c", "t/a/z", "t/a/b/c", "t/a/z"];
    assert_eq!(names(&ran.is_fine().text()), expected);
    dir.manylane(["sum", "-r", "t/empty"]).is_fine().prints("");
    let ran = dir.manylane_reading("1", ["sum", "-r", "t/b", "-", "gone"]);
    ran.exits(1).prints(&(line("t/b", "t/b") + &line("-", "1")));
    ran.says("gone: No such file or directory");
    let ran = dir.manylane_reading("t/a\0t/Z\0", ["sum", "-r", "--files0-from", "-"]);
    assert_eq!(names(&ran.is_fine().text()), ["t/a/b/c", "t/a/z", "t/Z"]);
}

#[test]
fn globs_leave_out_names_paths_and_directories() {
    let dir = tree();
    let without = |globs: &[&str]| {
        let exclude = globs.iter().flat_map(|glob| ["--exclude", glob]);
        names(&dir.manylane(["sum", "-r"].into_iter().chain(exclude).chain(["t"])).is_fine().text())
    };
    assert_eq!(without(&[".*", "a", "é"]), ["t/Z", "t/a-b", "t/a0", "t/b"]);
    assert_eq!(without(&[".*", "a?*", "[!abc]", "b/", "é"]), ["t/b"]);
    assert_eq!(without(&[".*", "/b", "a/z", "é", "Z", "a?*"]), ["t/a/b/c"]);
    assert_eq!(without(&["**"]), [""; 0]);
    assert_eq!(without(&["t"]).len(), 9, "what is named is not left out");
}

#[test]
fn symbolic_links_are_followed_when_named_or_asked_for() {
    let dir = tree();
    dir.symlink("t", "link").symlink("t/b", "file").symlink("../b", "t/a/link");
    dir.symlink("../a", "t/empty/up");
    let plain = dir.manylane(["sum", "-r", "link", "file"]);
    let found = names(&plain.is_fine().text());
    assert_eq!((found.len(), &found[9][..]), (10, "file"));
    assert!(!found.contains(&"link/a/link".to_owned()));
    let ran = dir.manylane(["sum", "-r", "-v", "t/a"]);
    ran.exits(0).says("t/a/link: skipped: a symbolic link (--follow follows)");
    let ran = dir.manylane(["sum", "-r", "--follow", "t/a", "t/empty"]);
    let expected =
        ["t/a/b/c", "t/a/link", "t/a/z", "t/empty/up/b/c", "t/empty/up/link", "t/empty/up/z"];
    assert_eq!(names(&ran.is_fine().text()), expected);
}

#[test]
fn loops_and_dangling_links_are_errors_of_their_own() {
    let dir = tree();
    dir.symlink("..", "t/a/loop").symlink("nowhere", "t/a/dangling");
    let ran = dir.manylane(["sum", "-r", "--follow", "t/a", "t"]);
    ran.exits(1).says("t/a/dangling: No such file or directory");
    ran.says("t/a/loop: a loop: the same directory as t");
    assert!(names(&ran.text()).contains(&"t/é".to_owned()));
    dir.manylane(["sum", "-r", "t"]).is_fine();
}

#[test]
fn pipes_sockets_and_devices_are_passed_over() {
    let dir = tree();
    dir.fifo("t/pipe");
    let _socket = UnixListener::bind(dir.path("t/socket")).unwrap();
    assert_eq!(names(&dir.manylane(["sum", "-r", "t"]).is_fine().text()).len(), 9);
    let ran = dir.manylane(["sum", "-rv", "t"]);
    ran.exits(0).says("t/pipe: skipped: a named pipe").says("t/socket: skipped: a socket");
    let ran = dir.manylane(["sum", "-rv", "--exclude", "[!n]*", "/dev"]);
    ran.exits(0).says("/dev/null: skipped: a device");
}

#[test]
fn other_file_systems_are_not_entered_when_so_asked() {
    let dir = Dir::new();
    // /proc is a file system of its own wherever these tests can run.
    let ran = dir.manylane(["sum", "-r", "--one-file-system", "--exclude", "[!p]*", "/"]);
    assert!(!ran.text().contains("(/proc/"), "{}", ran.text());
    tree().manylane(["sum", "-r", "--one-file-system", "t"]).is_fine();
}

#[test]
fn the_output_is_left_out_of_the_tree_it_lies_in() {
    let dir = tree();
    let sums = fs::File::create(dir.path("t/SM3SUMS")).unwrap();
    let mut command = crate::support::command();
    command.args(["sum", "-r", "t"]).current_dir(dir.path("")).stdout(sums);
    let output = command.output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(
        (output.status.code(), &err[..]),
        (Some(0), "manylane: t/SM3SUMS: skipped: it is the output\n")
    );
    let sums = fs::read_to_string(dir.path("t/SM3SUMS")).unwrap();
    assert_eq!(names(&sums).len(), 9);
    // Named, it is a mistake.
    let sums = fs::File::options().append(true).open(dir.path("t/SM3SUMS")).unwrap();
    let mut command = crate::support::command();
    command.args(["sum", "t/SM3SUMS"]).current_dir(dir.path("")).stdout(sums);
    let output = command.output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(
        (output.status.code(), &err[..]),
        (Some(1), "manylane: t/SM3SUMS: input file is output file\n")
    );
    // With -o neither the old file nor the temporary one is read.
    let ran = dir.manylane(["sum", "-r", "-o", "t/SM3SUMS", "t"]);
    ran.exits(0).prints("").says("t/SM3SUMS: skipped: it is the output");
    assert_eq!(names(&fs::read_to_string(dir.path("t/SM3SUMS")).unwrap()).len(), 9);
    fs::remove_file(dir.path("t/SM3SUMS")).unwrap();
    let ran = dir.manylane(["sum", "-r", "-o", "t/SM3SUMS", "t"]);
    ran.exits(0);
    assert_eq!(names(&fs::read_to_string(dir.path("t/SM3SUMS")).unwrap()).len(), 9);
}

#[test]
fn deep_trees_are_walked() {
    let dir = Dir::new();
    let deep = vec!["d"; 600].join("/");
    dir.write(format!("{deep}/file"), "deep");
    let ran = dir.manylane(["sum", "-r", "."]);
    ran.is_fine().prints(&line(&format!("./{deep}/file"), "deep"));
}

#[test]
fn few_descriptors_lose_no_directory() {
    let dir = Dir::new();
    for i in 0..60 {
        dir.write(format!("t/{i}/deep/file"), "1").write(format!("t/{i}/file"), "2");
    }
    let limited = |limit: &str, jobs| {
        let script = format!("ulimit {limit} && exec \"$0\" sum -r -j {jobs} t");
        dir.run(tool("sh").args(["-c", &script, env!("CARGO_BIN_EXE_manylane")]), b"")
    };
    // The soft limit is no limit.
    for jobs in [1, 4] {
        assert_eq!(names(&limited("-S -n 12", jobs).is_fine().text()).len(), 120);
    }
    // The hard one may leave files unread, but each is named.
    for jobs in [1, 4] {
        let ran = limited("-n 14", jobs);
        assert!(ran.code.is_some_and(|code| code < 2), "{}", ran.err);
        assert_eq!(names(&ran.text()).len() + ran.err.lines().count(), 120, "{}", ran.err);
        assert!(ran.err.lines().all(|line| line.contains("file: ")), "{}", ran.err);
    }
}

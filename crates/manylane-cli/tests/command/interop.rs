//! Both ways with `cksum -a sm3` and `openssl dgst -sm3`.

use std::{ffi::OsString, os::unix::ffi::OsStrExt as _};

use crate::support::{Dir, odd_files, odd_operands, tool};

fn args<'a>(options: &[&'a str], files: &'a [std::path::PathBuf]) -> Vec<OsString> {
    let files = files.iter().map(|file| file.into());
    options.iter().map(|option| (*option).into()).chain(["--".into()]).chain(files).collect()
}

#[test]
fn our_lines_are_those_of_cksum() {
    let dir = odd_files();
    let names = odd_operands();
    for options in [&[][..], &["--untagged"], &["-z"], &["-z", "--untagged"]] {
        let ours = dir.manylane(args(&[&["sum"], options].concat(), &names));
        let theirs =
            dir.run(tool("cksum").args(args(&[&["-a", "sm3"], options].concat(), &names)), b"");
        theirs.is_fine();
        ours.is_fine().prints(&theirs.text());
        assert_eq!(ours.out, theirs.out, "{options:?}");
    }
    let ours = dir.manylane_reading("content", ["sum"]);
    let theirs = dir.run(tool("cksum").args(["-a", "sm3"]), b"content");
    assert_eq!(ours.is_fine().out, theirs.is_fine().out);
}

#[test]
fn cksum_checks_our_lists() {
    let dir = odd_files();
    for options in [&["sum"][..], &["sum", "--untagged"]] {
        let list = dir.manylane(args(options, &odd_operands())).out;
        let checked = dir.run(tool("cksum").args(["-a", "sm3", "--check", "--strict"]), &list);
        checked.is_fine();
        assert_eq!(checked.text().matches(": OK\n").count(), odd_operands().len());
    }
}

#[test]
fn we_check_lists_of_cksum() {
    let dir = odd_files();
    for options in [&["-a", "sm3"][..], &["-a", "sm3", "--untagged"]] {
        let list = dir.run(tool("cksum").args(args(options, &odd_operands())), b"").out;
        let ours = dir.manylane_reading(&list, ["sum", "--check", "--strict"]);
        let theirs = dir.run(tool("cksum").args(["-a", "sm3", "-c", "--strict"]), &list);
        // Older versions of cksum escape names in their results only for a newline.
        let same = |line: &&[u8]| !line.contains(&b'\\') && !line.contains(&b'\r');
        let lines = |out: &'_ [u8]| -> Vec<Vec<u8>> {
            out.split(|byte| *byte == b'\n').filter(same).map(<[u8]>::to_vec).collect()
        };
        assert_eq!(lines(&ours.is_fine().out), lines(&theirs.is_fine().out));
        assert_eq!(ours.text().matches(": OK\n").count(), odd_operands().len());
    }
}

#[test]
fn failures_are_reported_as_cksum_does() {
    let dir = Dir::new();
    dir.write("good", "1").write("bad", "2").write("d/x", "").write("new\nline", "3");
    let list = dir.manylane(["sum", "good", "bad", "new\nline"]).text();
    dir.write("bad", "other").write("new\nline", "other");
    let gone = "SM3 (gone) = 1ab21d8355cfa17f8e61194831e81a8f22bec8c728fefb747ed035eb5082aa2b\n";
    let lists = [
        list.clone(),
        format!("{list}{gone}"),
        format!("{gone}{list}nonsense\n"),
        format!("{list}{}", gone.replace("gone", "d")),
        gone.repeat(2),
        "nonsense\n# comment\n\n".to_owned(),
        String::new(),
        format!("# comment\n\n{}", list.lines().next().unwrap()),
        list.replace('\n', "\r\n"),
        format!("MD5 (good) = c4ca4238a0b923820dcc509a6f75849b\n{list}"),
        "SM3 (-) = 1ab21d8355cfa17f8e61194831e81a8f22bec8c728fefb747ed035eb5082aa2b\n".into(),
    ];
    for (i, list) in lists.iter().enumerate() {
        dir.write("list", list);
        for options in [
            &[][..],
            &["--strict"],
            &["--quiet"],
            &["--status"],
            &["--ignore-missing"],
            &["--ignore-missing", "--quiet", "--strict"],
        ] {
            let ours = dir.manylane([&["sum", "-c"], options, &["list"]].concat());
            let theirs =
                dir.run(tool("cksum").args(["-a", "sm3", "-c"]).args(options).arg("list"), b"");
            assert_eq!(ours.out, theirs.out, "list {i} {options:?}: standard output");
            assert_eq!(ours.code, theirs.code, "list {i} {options:?}: exit status");
            let theirs = theirs.err.replace("cksum: ", "manylane: ");
            assert_eq!(ours.err, theirs, "list {i} {options:?}: standard error");
        }
    }
}

#[test]
fn we_check_lists_of_openssl() {
    let dir = odd_files();
    // OpenSSL escapes newlines only, and those only with -r: CHECK.md says what follows from it.
    let is_plain = |path: &&std::path::PathBuf| !path.as_os_str().as_bytes().contains(&b'\n');
    let plain: Vec<_> = odd_operands().iter().filter(is_plain).cloned().collect();
    let with_newline = vec!["new\nline".into()];
    let lists = [
        (&["-r"][..], &with_newline, None),
        (&[][..], &plain, None),
        (&["-r"][..], &without_final_return(&plain), None),
        (&["-hmac", "the key"][..], &plain, Some("key")),
        (&["-r", "-hmac", "the key"][..], &without_final_return(&plain), Some("key")),
    ];
    dir.write("key", "the key");
    for (options, names, key) in lists {
        // OpenSSL takes no `--`.
        let names: Vec<_> = names.iter().map(|name| std::path::Path::new(".").join(name)).collect();
        let mut openssl = tool("openssl");
        let list = dir.run(openssl.args(["dgst", "-sm3"]).args(options).args(&names), b"");
        list.is_fine();
        let key = key.map(|key| ["--hmac-key-file", key]);
        let ours = [&["sum", "-c", "--strict"][..], key.as_ref().map_or(&[], |key| &key[..])];
        let ours = dir.manylane_reading(&list.out, ours.concat());
        ours.is_fine();
        assert_eq!(ours.text().matches(": OK\n").count(), names.len(), "{options:?}");
    }
}

/// A carriage return at the end of a name that is not escaped would be taken for the line's.
fn without_final_return(names: &[std::path::PathBuf]) -> Vec<std::path::PathBuf> {
    names.iter().filter(|name| !name.as_os_str().as_bytes().ends_with(b"\r")).cloned().collect()
}

#[test]
fn our_hmacs_are_those_of_openssl() {
    let dir = Dir::new();
    dir.write("a", "abc").write("b", vec![7; 100_000]);
    for key in [&b"k"[..], &[0; 64], &[1; 65], b"newline\n"] {
        let hex: String = key.iter().map(|byte| format!("{byte:02X}")).collect();
        dir.write("key", key).write("key.hex", format!("{}\n{}\n", &hex[..1], &hex[1..]));
        let mac = ["-mac", "hmac", "-macopt", &format!("hexkey:{hex}")];
        let theirs =
            dir.run(tool("openssl").args(["dgst", "-sm3"]).args(mac).args(["a", "b"]), b"");
        let theirs = theirs.is_fine().text().replace("(", " (").replace(")= ", ") = ");
        for file in ["key", "hex:key.hex"] {
            dir.manylane(["sum", "--hmac-key-file", file, "a", "b"]).is_fine().prints(&theirs);
        }
    }
}

//! Files that one command reads and writes: standard input is read once, and what is read is not replaced.

use std::fs;

use crate::support::{Dir, Ran, tool};

/// A folder with keys, with what is authenticated, and with the message `m`.
fn dir() -> Dir {
    let dir = Dir::new();
    dir.write("k", [7; 16]).write("aad", "what goes with it").write("m", "the message\n");
    dir.manylane(["sm2", "keygen", "-o", "key", "--pub-out", "pub"]).is_fine();
    dir.manylane(["sm2", "sign", "-k", "key", "-o", "sig", "m"]).is_fine();
    dir.manylane(["sm2", "encrypt", "-k", "pub", "-o", "c", "m"]).is_fine();
    dir
}

fn sh(dir: &Dir, script: &str) -> Ran {
    dir.run(tool("sh").args(["-c", script, env!("CARGO_BIN_EXE_manylane")]), b"")
}

#[test]
fn standard_input_is_read_once() {
    let dir = dir();
    // Each under one of its names, and the names in turns.
    let mut names = ["-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"].into_iter().cycle();
    for (args, which) in [
        ("aes encrypt --key-file STDIN", "the key and FILE"),
        ("aes encrypt --key-file STDIN --aad aad -", "the key, --aad and FILE"),
        ("aes encrypt --key-file k --aad STDIN", "the key, --aad and FILE"),
        ("aes encrypt --key-file - --aad STDIN m", "the key, --aad and FILE"),
        ("sm4 decrypt --key-file STDIN --aad - m", "the key, --aad and FILE"),
        ("sm4 encrypt --key-file k --aad - STDIN", "the key, --aad and FILE"),
        ("sm4 encrypt -m ctr --iv 00 --key-file STDIN -", "the key and FILE"),
        ("sm2 encrypt -k STDIN", "the key and FILE"),
        ("sm2 decrypt -k STDIN -", "the key and FILE"),
        ("sm2 sign -k STDIN", "the key and FILE"),
        ("sm2 sign -k - STDIN", "the key and FILE"),
        ("sm2 verify -k STDIN -s sig", "the key, the signature and FILE"),
        ("sm2 verify -k pub -s STDIN", "the key, the signature and FILE"),
        ("sm2 verify -k - -s STDIN m", "the key, the signature and FILE"),
    ] {
        let args = args.replace("--iv 00", "--iv 00000000000000000000000000000000");
        let args = args.replace("STDIN", names.next().unwrap());
        let why = format!("standard input can be only one of {which}");
        for script in [format!("\"$0\" {args} <k"), format!("cat k | \"$0\" {args}")] {
            sh(&dir, &script).exits(2).prints("").says(&why);
        }
    }
    // So is any other pipe, whatever it is called.
    dir.fifo("pipe").symlink("pipe", "link");
    for args in ["--key-file pipe --aad link m", "--key-file k --aad pipe link"] {
        let ran = sh(&dir, &format!("timeout 10 \"$0\" aes encrypt {args}"));
        ran.exits(2).prints("").says("a pipe can be only one of the key, --aad and FILE");
    }
    let ran = sh(&dir, "cat k | timeout 10 \"$0\" sm4 encrypt --key-file - --aad /dev/fd/3 m 3<&0");
    ran.exits(2).prints("").says("a pipe can be only one of the key, --aad and FILE");
    // What can be read again may be.
    sh(&dir, "\"$0\" aes encrypt --key-file k --aad m m >out").is_fine();
    sh(&dir, "cat k | \"$0\" aes decrypt --key-file /dev/stdin --aad m out")
        .is_fine()
        .prints("the message\n");
    sh(&dir, "cat m | \"$0\" aes encrypt --key-file k --aad /dev/null >out").is_fine();
    sh(&dir, "\"$0\" aes decrypt --key-file k out </dev/null").is_fine().prints("the message\n");
}

#[test]
fn what_is_read_is_not_replaced() {
    let dir = dir();
    dir.symlink("k", "key-link").symlink("aad", "aad-link");
    fs::hard_link(dir.path("k"), dir.path("key-name")).unwrap();
    let files = ["aad", "k", "m", "key", "pub", "sig", "c"];
    let contents = || files.map(|name| fs::read(dir.path(name)).unwrap());
    let before = (dir.names(), contents());
    for (args, why) in [
        ("aes encrypt --key-file k -o k m", "k: the output file holds the key"),
        ("aes encrypt --key-file k -o ./k m", "k: the output file holds the key"),
        ("aes encrypt --key-file k -o key-link m", "k: the output file holds the key"),
        ("aes encrypt --key-file key-link -o k m", "key-link: the output file holds the key"),
        ("aes decrypt --key-file key-name -o k m", "key-name: the output file holds the key"),
        ("sm4 encrypt --key-file k m >>k", "k: the output file holds the key"),
        ("sm4 encrypt --key-file - -o k m <k", "standard input: the output file holds the key"),
        ("sm4 encrypt --key-file k --aad aad -o aad m", "aad: the output file holds --aad"),
        ("aes encrypt --key-file k --aad aad -o aad-link m", "aad: the output file holds --aad"),
        ("aes encrypt -m ecb -q --key-file k -o k m", "k: the output file holds the key"),
        ("sm2 encrypt -k pub -o pub m", "pub: the output file holds the key"),
        ("sm2 decrypt -k key -o key c", "key: the output file holds the key"),
        ("sm2 decrypt -k key --pass file:aad -o aad c", "aad: the output file holds the password"),
        ("sm2 sign -k key -o key m", "key: the output file holds the key"),
        (
            "sm2 sign -k key --pass file:aad -o aad-link m",
            "aad: the output file holds the password",
        ),
    ] {
        sh(&dir, &format!("\"$0\" {args}")).exits(2).prints("").says(why);
        assert!((dir.names(), contents()) == before, "{args}");
    }
}

//! `manylane aes` and `manylane sm4`: files in chunks and raw, with the `openssl` command and `ref/frame.py` both
//! ways, and what happens when something is wrong.

use std::{
    fs,
    io::Write as _,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use crate::support::{Dir, Ran, command, tool};

/// Bytes of a header, of a chunk of a message, and of a tag.
const HEADER: usize = 76;
const CHUNK: usize = 1 << 20;
const TAG: usize = 16;

const IV: &str = "000102030405060708090a0b0c0dfffe";

/// A folder with keys of each length as bytes and as digits, the message `m`, and `long` of three chunks and a half.
fn dir() -> Dir {
    let dir = Dir::new();
    for len in [16, 24, 32, 64] {
        let key = &noise(len)[..];
        let digits: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
        dir.write(format!("k{len}"), key).write(format!("h{len}"), digits + "\n");
    }
    dir.write("m", "the message\n").write("long", noise(3 * CHUNK + CHUNK / 2));
    dir
}

/// Bytes without a pattern.
fn noise(len: usize) -> Vec<u8> {
    let mut state = 1_u64;
    let next = |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) as u8
    };
    (0..len).map(next).collect()
}

fn sh(dir: &Dir, script: &str) -> Ran {
    dir.run(tool("sh").args(["-c", script, env!("CARGO_BIN_EXE_manylane")]), b"")
}

/// Splits words at blanks: no name here has any.
fn run(dir: &Dir, args: &str) -> Ran {
    dir.manylane(args.split_whitespace())
}

fn run_reading(dir: &Dir, stdin: impl AsRef<[u8]>, args: &str) -> Ran {
    dir.manylane_reading(stdin, args.split_whitespace())
}

#[test]
fn files_of_all_lengths_come_back() {
    let dir = dir();
    for (cipher, key) in [("aes", "k16"), ("aes", "h24"), ("aes", "k32"), ("sm4", "h16")] {
        for len in [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK + CHUNK / 2] {
            let message = noise(len);
            dir.write("in", &message);
            run(&dir, &format!("{cipher} encrypt --key-file {key} -o c in")).is_fine().prints("");
            let frame = fs::read(dir.path("c")).unwrap();
            assert_eq!(frame.len(), HEADER + len + TAG * len.div_ceil(CHUNK).max(1));
            run(&dir, &format!("{cipher} decrypt --key-file {key} -o out c")).is_fine().prints("");
            assert!(fs::read(dir.path("out")).unwrap() == message, "{cipher} {key} {len}");
            for jobs in ["1", "3"] {
                let args = format!("{cipher} decrypt -j {jobs} --key-file {key}");
                let ran = run_reading(&dir, &frame, &args);
                assert!(ran.is_fine().out == message, "{cipher} {key} {len}");
            }
            let ran =
                run_reading(&dir, &message, &format!("{cipher} encrypt -j1 --key-file {key}"));
            let ran = run_reading(
                &dir,
                &ran.is_fine().out,
                &format!("{cipher} decrypt --key-file {key} -"),
            );
            assert!(ran.is_fine().out == message, "{cipher} {key} {len}");
        }
    }
    // The digits of a key are the key, and what replaces a file keeps its permissions.
    run(&dir, "aes encrypt --key-file k32 -o c m").is_fine();
    run(&dir, "aes decrypt --key-file h32 -o new c").is_fine();
    let mode = |name| fs::metadata(dir.path(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode("new"), 0o600);
    fs::set_permissions(dir.path("new"), fs::Permissions::from_mode(0o640)).unwrap();
    run(&dir, "aes decrypt --key-file h32 -o new c").is_fine();
    assert_eq!(
        (mode("new"), &fs::read(dir.path("new")).unwrap()[..]),
        (0o640, &b"the message\n"[..])
    );
    run_reading(&dir, noise(32), "aes decrypt --key-file - c").is_fine().prints("the message\n");
}

/// Asserts that `bad` does not decrypt: to a file nothing comes out, and to a pipe the chunks before the bad one.
#[track_caller]
fn is_refused(dir: &Dir, args: &str, bad: &[u8], chunks: usize, why: &str) {
    dir.write("bad", bad).write("old", "old");
    let before = dir.names();
    for output in ["out", "old"] {
        let ran = run(dir, &format!("{args} -o {output} bad"));
        ran.exits(1).prints("");
        assert_eq!(ran.err, format!("manylane: bad: {why}\n"));
    }
    assert_eq!(dir.names(), before);
    assert_eq!(fs::read(dir.path("old")).unwrap(), b"old");
    for ran in [run(dir, &format!("{args} bad")), run_reading(dir, bad, args)] {
        ran.exits(1);
        let long = fs::read(dir.path("long")).unwrap();
        assert!(ran.out == long[..chunks * CHUNK], "{} bytes", ran.out.len());
    }
}

#[test]
fn whatever_happened_to_a_file_is_found() {
    let dir = dir();
    run(&dir, "aes encrypt --key-file k16 --aad m -o c long").is_fine();
    let good = fs::read(dir.path("c")).unwrap();
    let decrypt = "aes decrypt --key-file k16 --aad m";
    let altered = "the encrypted file was altered or is not complete";
    let key = "the key or the additional data are not those that it was encrypted with";
    let none =
        "not encrypted by `manylane` in chunks; what other programs encrypt needs -m and --iv";
    let written = CHUNK + TAG;
    for (at, chunks, why) in [
        (0, 0, none),
        (7, 0, "encrypted in a version of the format that is not known"),
        (9, 0, key),
        (10, 0, "the header of the encrypted file is malformed"),
        (12, 0, key),
        (44, 0, key),
        (75, 0, key),
        (HEADER, 0, altered),
        (HEADER + CHUNK, 0, altered),
        (HEADER + written - 1, 0, altered),
        (HEADER + written, 1, altered),
        (HEADER + 3 * written + 5, 3, altered),
        (good.len() - 1, 3, altered),
    ] {
        let mut bad = good.clone();
        bad[at] ^= 1;
        is_refused(&dir, decrypt, &bad, chunks, why);
    }
    let chunk = |i: usize| &good[HEADER + i * written..good.len().min(HEADER + (i + 1) * written)];
    let head = &good[..HEADER];
    for (bad, chunks) in [
        (vec![head], 0),
        (vec![&good[..30]], 0),
        // What is cut off at the end of a chunk, and elsewhere.
        (vec![head, chunk(0), chunk(1)], 1),
        (vec![head, chunk(0), chunk(1), chunk(2)], 2),
        (vec![&good[..good.len() - 1]], 3),
        (vec![head, chunk(1), chunk(0), chunk(2), chunk(3)], 0),
        (vec![head, chunk(0), chunk(2), chunk(1), chunk(3)], 1),
        (vec![head, chunk(0), chunk(2), chunk(3)], 1),
        (vec![head, chunk(0), chunk(0), chunk(1), chunk(2), chunk(3)], 1),
        (vec![&good, b"x"], 3),
        (vec![&good, chunk(3)], 3),
    ] {
        is_refused(&dir, decrypt, &bad.concat(), chunks, altered);
    }
    is_refused(&dir, decrypt, b"", 0, none);
    is_refused(&dir, decrypt, b"the message", 0, none);
    dir.write("wrong", [&noise(15)[..], b"x"].concat());
    is_refused(&dir, "aes decrypt --key-file wrong --aad m", &good, 0, key);
    is_refused(&dir, "aes decrypt --key-file k16", &good, 0, key);
    is_refused(&dir, "aes decrypt --key-file k16 --aad k16", &good, 0, key);
    let why = "encrypted with AES-128-GCM: `manylane aes decrypt` with a key of 16 bytes reads it";
    is_refused(&dir, "sm4 decrypt --key-file k16 --aad m", &good, 0, why);
    is_refused(&dir, "aes decrypt --key-file k24 --aad m", &good, 0, why);
    assert!(
        run(&dir, &format!("{decrypt} c")).is_fine().out == fs::read(dir.path("long")).unwrap()
    );
}

/// The command `openssl enc`, without the digest of a password.
fn openssl(dir: &Dir, cipher: &str, key: &str, args: &str) -> Ran {
    let key = fs::read_to_string(dir.path(key)).unwrap();
    let iv = if cipher.ends_with("ecb") { String::new() } else { format!("-iv {IV}") };
    let line = format!("enc -{cipher} -K {} {iv} -nosalt {args}", key.trim());
    dir.run(tool("openssl").args(line.split_whitespace()), b"")
}

#[test]
fn openssl_and_we_read_each_other() {
    let dir = dir();
    for (name, key) in [("aes-128", "h16"), ("aes-192", "h24"), ("aes-256", "h32"), ("sm4", "h16")]
    {
        let cipher = &name[..3];
        for mode in ["ctr", "cbc", "ecb", "cfb", "ofb"] {
            let iv = if mode == "ecb" { String::new() } else { format!("--iv {IV}") };
            let padded = matches!(mode, "cbc" | "ecb");
            for len in [0, 1, 15, 16, 17, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK + CHUNK / 2] {
                let message = noise(len);
                dir.write("in", &message);
                let args = format!("-q -m {mode} {iv} --key-file {key}");
                run(&dir, &format!("{cipher} encrypt {args} -o ours in")).is_fine();
                openssl(&dir, &format!("{name}-{mode}"), key, "-in in -out theirs").exits(0);
                let theirs = fs::read(dir.path("theirs")).unwrap();
                let what = format!("{name} {mode} {len}");
                assert!(fs::read(dir.path("ours")).unwrap() == theirs, "{what}");
                let ran = run(&dir, &format!("{cipher} decrypt {args} theirs"));
                assert!(ran.is_fine().out == message, "{what}");
                if padded && len % 16 == 0 {
                    let args = format!("{args} --no-padding");
                    let ran = run(&dir, &format!("{cipher} encrypt {args} in"));
                    assert!(ran.is_fine().out == theirs[..len], "{what}");
                    dir.write("theirs", &theirs[..len]);
                    let ran = run(&dir, &format!("{cipher} decrypt {args} theirs"));
                    assert!(ran.is_fine().out == message, "{what}");
                }
            }
        }
    }
}

fn reference(dir: &Dir, verb: &str, cipher: &str, key: &str, aad: &str, stdin: &[u8]) -> Ran {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ref/frame.py");
    let key = fs::read_to_string(dir.path(key)).unwrap();
    let args = [PathBuf::from(verb), cipher.into(), key.trim().into(), aad.into()];
    dir.run(tool("python3").arg(script).args(args), stdin)
}

#[test]
fn the_reference_and_we_read_each_other() {
    let dir = dir();
    dir.write("aad", [1, 2, 3]).write("none", "");
    for (cipher, key) in [("aes", "h16"), ("aes", "h24"), ("aes", "h32"), ("sm4", "h16")] {
        for (len, aad, digits) in [(0, "none", ""), (100, "aad", "010203"), (9000, "none", "")] {
            let message = noise(len);
            let args = format!("--key-file {key} --aad {aad}");
            let ours = run_reading(&dir, &message, &format!("{cipher} encrypt {args}"));
            let read = reference(&dir, "decrypt", cipher, key, digits, &ours.is_fine().out);
            assert!(read.is_fine().out == message, "{cipher} {key} {len}");
            // Its chunks have 4 KiB.
            let theirs = reference(&dir, "encrypt", cipher, key, digits, &message);
            let read =
                run_reading(&dir, &theirs.is_fine().out, &format!("{cipher} decrypt {args}"));
            assert!(read.is_fine().out == message, "{cipher} {key} {len}");
        }
    }
}

#[test]
fn raw_ciphertexts_with_tags_are_verified_before_anything_is_written() {
    let dir = dir();
    let text = fs::read(dir.path("long")).unwrap()[..CHUNK + CHUNK / 2].to_vec();
    for (cipher, key) in [("aes", "k32"), ("sm4", "k16")] {
        for (mode, iv) in
            [("gcm", "00112233445566778899aabb"), ("gcm", IV), ("ccm", "00112233445566")]
        {
            let args = format!("-m {mode} --iv {iv} --key-file {key} --aad m");
            for len in [0, 5, CHUNK, text.len()] {
                dir.write("in", &text[..len]);
                run(&dir, &format!("{cipher} encrypt {args} -o c in")).is_fine();
                let good = fs::read(dir.path("c")).unwrap();
                assert_eq!(good.len(), len + TAG);
                let ran = run_reading(&dir, &text[..len], &format!("{cipher} encrypt {args}"));
                assert!(ran.is_fine().out == good, "{cipher} {mode} {len}");
                let ran = run(&dir, &format!("{cipher} decrypt {args} c"));
                assert!(ran.is_fine().out == text[..len], "{cipher} {mode} {len}");
                let ran = run_reading(&dir, &good, &format!("{cipher} decrypt {args}"));
                assert!(ran.is_fine().out == text[..len], "{cipher} {mode} {len}");
                run(&dir, &format!("{cipher} decrypt {args} -o out c")).is_fine();
                assert!(fs::read(dir.path("out")).unwrap() == text[..len]);
                fs::remove_file(dir.path("out")).unwrap();
            }
            let good = fs::read(dir.path("c")).unwrap();
            let decrypt = format!("{cipher} decrypt {args}");
            let why = "the ciphertext does not decrypt";
            for at in [0, CHUNK, good.len() - 17, good.len() - 16, good.len() - 1] {
                let mut bad = good.clone();
                bad[at] ^= 1;
                is_refused(&dir, &decrypt, &bad, 0, why);
            }
            is_refused(&dir, &decrypt, &good[..good.len() - 1], 0, why);
            is_refused(&dir, &decrypt, &good[..15], 0, why);
            is_refused(&dir, &decrypt, &good[..16], 0, why);
            is_refused(&dir, &decrypt, b"", 0, why);
            is_refused(&dir, &decrypt.replace("--aad m", ""), &good, 0, why);
        }
    }
    // Where CCM is told a length by nobody, it finds out up to a limit.
    let ran = sh(
        &dir,
        &format!(
            "head -c 17000000 /dev/zero | \"$0\" aes encrypt -m ccm --iv {} --key-file k16",
            "00112233445566"
        ),
    );
    ran.exits(1).prints("").says(
        "standard input: CCM must know the length before it begins: of a pipe, up to 16 MiB are kept for that",
    );
    let file = fs::File::create(dir.path("sparse")).unwrap();
    file.set_len((1 << 36) - 31).unwrap();
    let ran = run(&dir, "aes encrypt -m gcm --iv 00112233445566778899aabb --key-file k16 sparse");
    ran.exits(1)
        .prints("")
        .says("sparse: GCM takes at most 64 GiB under one IV; without --iv there is no limit");
    let ran = run(&dir, "aes encrypt -m ccm --iv 00112233445566778899aabbcc --key-file k16 long");
    ran.exits(1).prints("");
}

#[test]
fn xts_has_two_standards_and_sectors() {
    let dir = dir();
    let long = fs::read(dir.path("long")).unwrap();
    let zero = "00000000000000000000000000000000";
    let one = "01000000000000000000000000000000";
    for (cipher, key, standards) in [
        ("aes", "k32", &["", "--xts ieee"][..]),
        ("aes", "k64", &[""]),
        ("sm4", "k32", &["--xts ieee", "--xts gb"]),
    ] {
        let mut results = Vec::new();
        for standard in standards {
            let args = format!("-q -m xts {standard} --key-file {key}");
            for sector in
                ["", "--sector 512", "--sector 4096", "--sector 4000", "--sector 16777216"]
            {
                let args = format!("{args} {sector} --iv {one}");
                let ours = run(&dir, &format!("{cipher} encrypt {args} long"));
                assert_eq!(ours.is_fine().out.len(), long.len());
                let back = run_reading(&dir, &ours.out, &format!("{cipher} decrypt {args}"));
                assert!(back.is_fine().out == long, "{cipher} {args}");
                if sector == "--sector 4096" {
                    // The second sector of a disk is the first from number one on.
                    dir.write("part", &long[4096..8192]);
                    let disk =
                        run(&dir, &format!("{cipher} encrypt {} long", args.replace(one, zero)));
                    let part = run(&dir, &format!("{cipher} encrypt {args} part"));
                    assert!(disk.is_fine().out[4096..8192] == part.is_fine().out);
                }
                results.push(ours.out);
            }
        }
        // AES has IEEE's by default; SM4's two differ but for the first block of a data unit.
        match cipher {
            "aes" => assert!(results.chunks(5).all(|five| five == &results[..5])),
            _ => assert!(
                results[0][..16] == results[5][..16] && results[0][..32] != results[5][..32]
            ),
        }
    }
    let args = format!("-q -m xts --iv {zero} --key-file k32");
    let ran = sh(&dir, &format!("head -c 16777217 /dev/zero | \"$0\" aes encrypt {args}"));
    ran.exits(1).prints("").says(
        "standard input: longer than 2^20 blocks, as much as XTS takes in one data unit: --sector cuts it into many",
    );
    run_reading(&dir, [1; 15], &format!("aes encrypt {args}")).exits(1).prints("");
    // An empty file is no data unit.
    for sector in ["", "--sector 512"] {
        for verb in ["encrypt", "decrypt"] {
            run_reading(&dir, "", &format!("aes {verb} {args} {sector}")).is_fine().prints("");
        }
    }
    dir.write("weak", [7; 32]);
    let ran = run(&dir, &format!("aes encrypt {} m", args.replace("k32", "weak")));
    ran.exits(2).prints("").says("the two halves of the key are the same");
}

#[test]
fn what_does_not_authenticate_is_said() {
    let dir = dir();
    for mode in ["ctr", "cbc", "cfb", "ofb"] {
        for verb in ["encrypt", "decrypt"] {
            let ran =
                run(&dir, &format!("aes {verb} -m {mode} --iv {IV} --key-file k16 -o out k16"));
            assert!(
                ran.err.starts_with("manylane: warning: unauthenticated: nobody can tell"),
                "{}",
                ran.err
            );
        }
    }
    let ran = run(&dir, "sm4 encrypt -m ecb --key-file k16 -o out m");
    let warning =
        "manylane: warning: unauthenticated, and ECB shows which blocks of a file are equal";
    assert!(ran.exits(0).err.starts_with(warning), "{}", ran.err);
    run(&dir, "sm4 encrypt -q -m ecb --key-file k16 -o out m").is_fine();
    // Nor is padding that is none, which is all that tells of a wrong key.
    dir.write("bad", noise(32));
    for mode in ["cbc --iv 00000000000000000000000000000000", "ecb"] {
        let ran = run(&dir, &format!("aes decrypt -q -m {mode} --key-file k16 bad"));
        ran.exits(1).prints("").says("bad: the ciphertext does not decrypt");
        let ran = run(&dir, &format!("aes decrypt -q -m {mode} --key-file k16 m"));
        ran.exits(1).prints("");
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    let dir = dir();
    dir.write("short", "x").write("huge", noise(2000));
    for (args, why) in [
        ("aes encrypt -m ctr --key-file k16 m", "this mode needs --iv"),
        ("aes encrypt -m ccm --key-file k16 m", "this mode needs --iv"),
        ("aes encrypt -m ecb --iv 00 --key-file k16 m", "ECB has no IV"),
        ("aes encrypt -m cbc --iv 00 --key-file k16 m", "--iv: this mode has 16 bytes, 32 digits"),
        ("aes encrypt -m ccm --iv 00 --key-file k16 m", "--iv: CCM has 7 to 13 bytes"),
        ("aes encrypt --no-padding --key-file k16 m", "--no-padding is for -m cbc and -m ecb"),
        ("aes encrypt --sector 512 --key-file k16 m", "--sector is for -m xts"),
        ("aes encrypt --xts gb --key-file k16 m", "--xts is for -m xts"),
        (
            "aes encrypt -m ecb --aad m --key-file k16 m",
            "--aad is for -m gcm and -m ccm: the other modes do not authenticate",
        ),
        (
            "aes encrypt -m xts --xts gb --iv IV --key-file k32 m",
            "AES has the XTS of IEEE 1619: --xts gb is for SM4",
        ),
        (
            "sm4 encrypt -m xts --iv IV --key-file k32 m",
            "SM4 has two kinds of XTS: --xts gb (GB/T 17964-2021) or --xts ieee",
        ),
        (
            "aes encrypt -m xts --sector 8 --iv IV --key-file k32 m",
            "--sector: a data unit has 16 to 16777216 bytes",
        ),
        (
            "aes encrypt --key-file short m",
            "short: a key of AES has 16 or 24 or 32 bytes here, as they are or as hexadecimal digits",
        ),
        (
            "sm4 encrypt --key-file k32 m",
            "k32: a key of SM4 has 16 bytes here, as they are or as hexadecimal digits",
        ),
        (
            "aes encrypt -m xts --iv IV --key-file k24 m",
            "k24: a key of AES has 32 or 64 bytes here, as they are or as hexadecimal digits",
        ),
        ("aes encrypt --key-file huge m", "huge: longer than 1024 bytes"),
        ("aes encrypt --key-file gone m", "gone: No such file or directory"),
        ("aes encrypt --key-file k16 --aad gone m", "gone: No such file or directory"),
        ("aes encrypt --key-file -", "standard input can be only one of the key and FILE"),
    ] {
        run(&dir, &args.replace("IV", IV)).exits(2).prints("").says(why);
    }
    for args in [
        "aes encrypt m",
        "aes encrypt --iv 0 --key-file k16 m",
        "aes encrypt --iv xy --key-file k16 m",
        "aes encrypt --json --key-file k16 m",
        "aes encrypt -j 0 --key-file k16 m",
    ] {
        run(&dir, args).exits(2).prints("");
    }
    run(&dir, "aes encrypt --key-file k16 gone").exits(1).says("gone: No such file or directory");
    let ran = run(&dir, "aes encrypt --key-file k16 -o m m");
    ran.exits(1).says("m: input file is output file");
    sh(&dir, "\"$0\" aes encrypt --key-file k16 long >/dev/full")
        .exits(1)
        .says("write error: No space left on device");
}

#[test]
fn what_was_done_is_told() {
    let dir = dir();
    let ran = run(&dir, "aes encrypt --key-file k32 --json -o c long");
    let record = &ran.is_fine().json()[0];
    assert_eq!(record["name"], "long");
    assert_eq!(record["output"], "c");
    assert_eq!((&record["cipher"], &record["mode"]), (&"AES-256".into(), &"gcm".into()));
    assert_eq!(
        (&record["framed"], &record["bytes_read"]),
        (&true.into(), &(3 * CHUNK + CHUNK / 2).into())
    );
    // What there is of the file, however often it is read.
    let decrypted = |args: &str, len: usize| {
        run(&dir, &format!("aes encrypt --key-file k32 {args} -o c long")).is_fine();
        for to in ["-o new", ">/dev/null"] {
            let ran = sh(&dir, &format!("\"$0\" aes decrypt -v --key-file k32 {args} {to} c"));
            let said = format!(", {len} bytes read in ");
            assert!(ran.exits(0).err.contains(&said), "{}", ran.err);
        }
        run(&dir, &format!("aes decrypt -v --key-file k32 {args} -o new c")).err
    };
    let said = decrypted("", HEADER + 3 * CHUNK + CHUNK / 2 + 4 * TAG);
    assert!(said.contains(" by up to "), "{said}");
    for mode in ["gcm --iv 000102030405060708090a0b", "ccm --iv 00010203040506"] {
        let said = decrypted(&format!("-m {mode}"), 3 * CHUNK + CHUNK / 2 + TAG);
        assert!(said.ends_with(" s, computed by one thread\n"), "{said}");
    }
    let ran = run(&dir, &format!("aes encrypt -qv -m xts --iv {IV} --key-file k64 -o c long"));
    assert!(
        ran.exits(0).err.starts_with("manylane: long: AES-256, xts, 3670016 bytes read in "),
        "{}",
        ran.err
    );
}

#[test]
fn terminals_get_text_only() {
    let dir = dir();
    let line = |args: &str| format!("'{}' {args}", env!("CARGO_BIN_EXE_manylane"));
    let terminal =
        |args: &str| dir.run(tool("script").args(["-qec", &line(args), "/dev/null"]), b"");
    let ran = terminal("aes encrypt --key-file k16 m");
    assert!(ran.exits(2).text().contains("no binary data to a terminal"), "{}", ran.text());
    for args in ["", "-m gcm --iv 000102030405060708090a0b", &format!("-q -m cbc --iv {IV}")] {
        for (message, is_shown) in [("m", true), ("k24", false), ("long", false)] {
            run(&dir, &format!("aes encrypt {args} --key-file k16 -o c {message}")).is_fine();
            let ran = terminal(&format!("aes decrypt {args} --key-file k16 c"));
            match is_shown {
                true => assert_eq!(ran.exits(0).text(), "the message\r\n"),
                false => assert!(ran.exits(2).text().contains("nor a long message, to a terminal")),
            }
        }
    }
}

/// Four hundred MiB with room for less than that, libraries and stacks included. Two threads, for each reserves address
/// space of its own; that pieces are bounded with many is a test of the engine.
#[test]
fn memory_is_bounded() {
    let dir = dir();
    sh(&dir, "head -c 419430400 /dev/zero >huge").is_fine();
    let limited = |script: &str| sh(&dir, &format!("ulimit -v 262144; {script}"));
    limited("\"$0\" aes encrypt -j 2 --key-file k16 -o c huge").is_fine();
    limited("\"$0\" aes decrypt -j 2 --key-file k16 -o out c").is_fine();
    sh(&dir, "cmp out huge").is_fine();
    limited(
        "cat huge | \"$0\" aes encrypt -j 2 --key-file k16 | \"$0\" aes decrypt -j 2 --key-file k16 | cmp - huge",
    )
    .is_fine();
}

#[test]
fn an_interrupted_command_leaves_nothing_behind() {
    let dir = dir();
    run(&dir, "sm4 encrypt --key-file k16 -o c long").is_fine();
    let frame = fs::read(dir.path("c")).unwrap();
    dir.fifo("pipe");
    let before = dir.names();
    for verb in ["encrypt", "decrypt"] {
        let mut child = command();
        child
            .args(["sm4", verb, "--key-file", "k16", "-o", "out", "pipe"])
            .current_dir(dir.path(""));
        let mut child = child.spawn().unwrap();
        let mut pipe = fs::File::options().write(true).open(dir.path("pipe")).unwrap();
        // More than a pipe holds, so the command has taken what came first.
        pipe.write_all(&frame[..2 << 20]).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(dir.names(), before, "{verb}");
    }
}

//! `-a` and `--length`: every algorithm against OpenSSL, Python's hashlib or RFC 9861, and lists of all of them.

use std::{
    fs::File,
    io::{Seek as _, SeekFrom},
    process::Command,
};

use manylane::hash::{self, Algorithm};
use manylane_cli::lines::Kind;

use crate::support::{Dir, Ran, command, tool};

/// Files of lengths around blocks, chunks and pieces.
const LENGTHS: [usize; 12] = [0, 1, 71, 72, 135, 136, 168, 8191, 8192, 8193, 70_000, 300_000];

fn dir() -> Dir {
    let dir = Dir::new();
    for len in LENGTHS {
        dir.write(len.to_string(), content(len));
    }
    dir
}

/// The painted bytes of the vectors.
fn content(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i % 251) as u8).collect()
}

fn names() -> Vec<String> {
    LENGTHS.map(|len| len.to_string()).into()
}

/// A line for each file.
fn list(tag: &str, hex: impl Fn(usize) -> String) -> String {
    LENGTHS.map(|len| format!("{tag} ({len}) = {}\n", hex(len))).concat()
}

fn all_ok() -> String {
    LENGTHS.map(|len| format!("{len}: OK\n")).concat()
}

fn openssl(dir: &Dir, options: &[&str]) -> Ran {
    let ran = dir.run(tool("openssl").arg("dgst").args(options).args(names()), b"");
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    ran
}

fn sum(dir: &Dir, options: &[&str]) -> Ran {
    dir.run(command().arg("sum").args(options).args(names()), b"")
}

#[test]
fn digests_are_openssls_in_its_forms_and_ours() {
    let dir = dir();
    dir.write("key", "secret");
    for name in ["sm3", "sha3-224", "sha3-256", "sha3-384", "sha3-512"] {
        let ours = sum(&dir, &["-a", name]);
        let theirs = openssl(&dir, &[&format!("-{name}")]);
        assert_eq!(ours.is_fine().text().replace(" (", "(").replace(") =", ")="), theirs.text());
        // Lines say of themselves what they are.
        for list in [&ours.out, &theirs.out] {
            dir.manylane_reading(list, ["sum", "-c", "--strict"]).is_fine().prints(&all_ok());
        }
        let untagged = openssl(&dir, &[&format!("-{name}"), "-r"]);
        let check = ["sum", "-c", "--strict", "-a", name];
        dir.manylane_reading(&untagged.out, check).is_fine().prints(&all_ok());
        let ours = sum(&dir, &["-a", name, "--untagged"]);
        assert_eq!(ours.is_fine().text().replace("  ", " *"), untagged.text());

        let keyed = openssl(&dir, &[&format!("-{name}"), "-hmac", "secret"]);
        let ours = sum(&dir, &["-a", name, "--hmac-key-file", "key"]);
        assert_eq!(ours.is_fine().text().replace(" (", "(").replace(") =", ")="), keyed.text());
        let check = ["sum", "-c", "--strict", "--hmac-key-file", "key"];
        dir.manylane_reading(&keyed.out, check).is_fine().prints(&all_ok());
        let ran = dir.manylane_reading(&keyed.out, ["sum", "-c"]);
        ran.exits(1).prints("").says("WARNING: 12 lines are HMACs without --hmac-key-file");
    }
    for (name, bits) in [("shake128", 256), ("shake256", 512), ("shake128", 8), ("shake256", 120)] {
        let len = (bits / 8).to_string();
        let theirs = openssl(&dir, &[&format!("-{name}"), "-xoflen", &len]);
        let ours = sum(&dir, &["-a", name, "-l", &bits.to_string()]);
        let as_theirs = ours.is_fine().text().replace("SHAKE", "SHAKE-").replace(" (", "(");
        assert_eq!(as_theirs.replace(") =", ")="), theirs.text());
        for list in [&ours.out, &theirs.out] {
            dir.manylane_reading(list, ["sum", "-c", "--strict"]).is_fine().prints(&all_ok());
        }
    }
}

#[test]
fn digests_are_hashlibs() {
    let dir = dir();
    let script = "import hashlib, sys\n\
        name, size, *files = sys.argv[1:]\n\
        for f in files:\n    \
            h = hashlib.new(name, open(f, 'rb').read())\n    \
            print((h.hexdigest(int(size)) if size != '0' else h.hexdigest()) + '  ' + f)";
    for (name, size) in
        [("sha3_224", 0), ("sha3_512", 0), ("shake_128", 32), ("shake_256", 64), ("shake_256", 33)]
    {
        let args =
            [&["-c", script, name, &size.to_string()].map(str::to_owned)[..], &names()].concat();
        let theirs = dir.run(tool("python3").args(args), b"");
        let length = (8 * size).to_string();
        let length: &[&str] = if size > 0 { &["-l", &length] } else { &[] };
        let ours = sum(&dir, &[&["-a", name, "--untagged"], length].concat());
        assert_eq!(ours.is_fine().text(), theirs.is_fine().text());
    }
}

/// Those of RFC 9861, section 5, and of Keccak-256 that `vectors/sha3.json` has, without customization.
#[test]
fn digests_are_those_of_the_vectors() {
    let vectors = include_str!("../../../../vectors/sha3.json");
    let vectors: serde_json::Value = serde_json::from_str(vectors).unwrap();
    let dir = dir();
    let mut seen = Vec::new();
    let lists = ["hashes", "kt"].map(|list| vectors[list].as_array().unwrap());
    for vector in lists.into_iter().flatten() {
        let tag = vector["function"].as_str().unwrap();
        let is_plain = vector.get("customization").is_none_or(|text| text == "")
            && vector.get("domain").is_none_or(|domain| domain == 0x1f)
            && vector.get("skip").is_none_or(|skip| skip == 0);
        let option = match tag {
            "KT128" => "k12",
            "KT256" => "kt256",
            "TurboSHAKE128" => "turboshake128",
            "TurboSHAKE256" => "turboshake256",
            "Keccak-256" => "keccak-256",
            _ => continue,
        };
        let output = vector["output"].as_str().unwrap();
        let painted = vector["message"]["painted"].as_u64().unwrap_or(u64::MAX);
        if !is_plain || output.len() > 128 || painted > 100_000 {
            continue;
        }
        dir.write("message", content(painted as usize));
        let bits = (4 * output.len()).to_string();
        let ran = dir.manylane(["sum", "-a", option, "-l", &bits, "message"]);
        let tag = tag.replace("Keccak", "KECCAK");
        ran.is_fine().prints(&format!("{tag} (message) = {output}\n"));
        seen.push(option);
    }
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen, ["k12", "keccak-256", "kt256", "turboshake128", "turboshake256"]);
}

/// One file that several workers share, and many that each has of its own.
#[test]
fn a_long_tree_is_the_same_on_any_number_of_threads() {
    let dir = dir();
    let long = content(6_000_001);
    dir.write("long", &long);
    for algorithm in [Algorithm::Kt128, Algorithm::Kt256] {
        let digest = hash::hash(algorithm, &long);
        let line = format!("{} (long) = {digest:?}\n", Kind::of(algorithm));
        for jobs in ["1", "2", "5"] {
            let args = ["sum", "-a", algorithm.name(), "-j", jobs, "long"];
            dir.manylane(args).is_fine().prints(&line);
            let args = [&args[..], &["300000", "1", "long"]].concat();
            let ran = dir.manylane(args);
            assert_eq!(ran.is_fine().text().matches(&line).count(), 2);
        }
        // A pipe, whose length nobody knows.
        let ran = dir.manylane_reading(&long, ["sum", "-a", algorithm.name()]);
        ran.is_fine().prints(&line.replace("long", "-"));
    }
}

/// Several threads take part in it here too.
#[test]
fn a_long_tree_begins_where_its_standard_input_stands() {
    let dir = Dir::new();
    let long = content(5_000_001);
    dir.write("long", &long);
    let mut stdin = File::open(dir.path("long")).unwrap();
    stdin.seek(SeekFrom::Start(100)).unwrap();
    let mut command = command();
    command.args(["sum", "-a", "k12", "-j", "3"]).stdin(stdin.try_clone().unwrap());
    let output = command.output().unwrap();
    let due = format!("KT128 (-) = {:?}\n", hash::hash(Algorithm::Kt128, &long[100..]));
    assert_eq!(String::from_utf8(output.stdout).unwrap(), due);
    assert_eq!(stdin.stream_position().unwrap(), long.len() as u64, "it is left at its end");
}

#[test]
fn lists_may_mix_algorithms_and_lengths() {
    let dir = dir();
    let mut mixed = String::new();
    for algorithm in Algorithm::ALL {
        mixed += &sum(&dir, &["-a", algorithm.name()]).is_fine().text();
    }
    mixed += &sum(&dir, &["-a", "shake128", "-l", "136"]).is_fine().text();
    let ran = dir.manylane_reading(&mixed, ["sum", "-c", "--strict"]);
    ran.is_fine().prints(&all_ok().repeat(Algorithm::ALL.len() + 1));
    // One algorithm that is asked for is the only one.
    let ran = dir.manylane_reading(&mixed, ["sum", "-c", "-a", "sha3-256", "--warn"]);
    ran.exits(0).prints(&all_ok()).says("WARNING: 144 lines are improperly formatted");
    ran.says("standard input: 1: improperly formatted checksum line: no such algorithm here: SM3");
    let ran = dir.manylane_reading(&mixed, ["sum", "-c", "-a", "shake128", "-l", "136", "--quiet"]);
    ran.exits(0).prints("");
    let ran = dir.manylane_reading(&mixed, ["sum", "-c", "-a", "shake128", "--json"]);
    let records = ran.exits(0).json();
    assert_eq!(records.len(), 24);
    assert!(records.iter().all(|r| r["algorithm"] == "shake128" && r["status"] == "ok"));
}

#[test]
fn wrong_lengths_are_no_digests() {
    let dir = dir();
    let zeros = |len: usize| "0".repeat(2 * len);
    let wrong = list("SHA3-512", |_| zeros(32)) + &list("SHA3-224", |_| zeros(32));
    let ran = dir.manylane_reading(&wrong, ["sum", "-c", "--warn"]);
    ran.exits(1).prints("").says("standard input: no properly formatted checksum lines found");
    let reason = "standard input: 1: improperly formatted checksum line: the digest is not 128 hexadecimal digits";
    ran.says(reason);
    // Untagged lines are of the algorithm that is asked for, and as long as its digests.
    let untagged = format!("{}  1\n", zeros(32));
    for (algorithm, fits) in [("sha3-256", true), ("sha3-224", false), ("shake256", false)] {
        let ran = dir.manylane_reading(&untagged, ["sum", "-c", "-a", algorithm]);
        ran.exits(1).prints(if fits { "1: FAILED\n" } else { "" });
    }
    let args = ["sum", "-c", "-a", "shake256", "-l", "256"];
    dir.manylane_reading(&untagged, args).exits(1).prints("1: FAILED\n");
    let args = ["sum", "-c", "-a", "shake256", "-l", "256", "--warn"];
    let ran = dir.manylane_reading(list("SHAKE256", |_| zeros(16)), args);
    ran.exits(1).prints("").says(&reason.replace("128", "64"));
}

#[test]
fn what_there_is_not_is_wrong_usage() {
    let dir = dir();
    for (options, said) in [
        (&["-a", "sm3", "-l", "512"][..], "--length: digests of sm3 have 256 bits, not 512"),
        (&["-a", "shake128", "-l", "12"], "--length: 12 is no multiple of 8 from 8 to 512"),
        (&["-a", "kt128", "-l", "520"], "--length: 520 is no multiple of 8 from 8 to 512"),
        (&["-a", "k12", "--hmac-key-file", "1"], "--hmac-key-file: there is no HMAC with kt128"),
    ] {
        dir.manylane([&["sum"], options, &["1"]].concat()).exits(2).prints("").says(said);
    }
    dir.manylane(["sum", "-a", "md5", "1"]).exits(2).prints("");
    dir.manylane(["sum", "-a", "sha3-512", "-l", "512", "1"]).is_fine();
}

/// The command with an emulated CUDA driver.
fn with_gpu() -> Command {
    let mut command = command();
    command.env("LD_LIBRARY_PATH", manylane_emulator::library_dir());
    command.env("MANYLANE_EMULATOR", "devices=2");
    command
}

#[test]
fn digests_do_not_depend_on_the_device() {
    let dir = Dir::new();
    for i in 0..200_usize {
        dir.write(format!("tree/{i}"), vec![i as u8; i * 37 % 5000]);
    }
    for (options, device) in [
        (&["-a", "sha3-256"][..], "cuda:1"),
        (&["-a", "sha3-512"], "all"),
        (&["-a", "shake128", "-l", "504"], "cuda:0"),
        (&["-a", "kt128"], "cuda:0"),
    ] {
        let args = [&["sum", "-r", "tree"], options].concat();
        let expected = dir.manylane([&args[..], &["--device", "cpu"]].concat());
        let args = [&args[..], &["-v", "--device", device]].concat();
        let ran = dir.run(with_gpu().args(&args), b"");
        assert_eq!(ran.exits(0).text(), expected.text(), "{args:?}");
        // Trees are no functions of GPUs.
        let by = if options.contains(&"kt128") { "cpu" } else { device };
        let all = device == "all" || ran.err.contains(&format!("{by}: 200 messages"));
        assert!(all, "{args:?}: {}", ran.err);
    }
}

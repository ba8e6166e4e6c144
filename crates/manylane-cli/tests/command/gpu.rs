//! The command on emulated GPUs, and where there are none.

use std::{process::Command, thread};

use manylane_gpu::{BlockComparator, Comparator, Sha3Comparator};

use crate::support::{Dir, command, run, tool};

/// The command with an emulated CUDA driver of these settings.
fn with_gpu(settings: &str) -> Command {
    let mut command = command();
    command.env("LD_LIBRARY_PATH", manylane_emulator::library_dir());
    command.env("MANYLANE_EMULATOR", settings);
    command
}

/// A tree with files of many lengths.
fn tree() -> Dir {
    let dir = Dir::new();
    for i in 0..300_usize {
        dir.write(format!("tree/{}/{i}", i % 7), vec![i as u8; i * 37 % 9000]);
    }
    dir
}

#[test]
fn digests_do_not_depend_on_the_device() {
    let dir = tree();
    let sum = "cd tree && find . -type f -print0 | sort -z | xargs -0 cksum -a sm3 --tag";
    let expected = dir.run(tool("sh").args(["-c", sum]), b"");
    let sorted = |text: String| {
        let mut lines: Vec<String> = text.lines().map(|line| line.replace("./", "")).collect();
        lines.sort();
        lines
    };
    for device in ["auto", "cpu", "cuda", "cuda:1", "all"] {
        let args = ["sum", "-r", "--device", device, "tree"];
        let ran = dir.run(with_gpu("devices=2").args(args), b"");
        ran.exits(0);
        assert_eq!(ran.err, "", "{device}");
        let got = sorted(ran.text().replace("(tree/", "("));
        assert_eq!(got, sorted(expected.text()), "{device}");
        assert_eq!(got.len(), 300);
    }
}

#[test]
fn a_device_that_is_not_there_is_wrong_usage() {
    let dir = tree();
    let args = ["sum", "--device", "cuda:7", "tree/0/0"];
    let ran = dir.run(with_gpu("devices=2").args(args), b"");
    ran.exits(2).prints("");
    assert!(ran.err.contains("cuda:7"), "{}", ran.err);
    let ran = dir.run(with_gpu("devices=0").args(["sum", "--device", "cuda", "tree/0/0"]), b"");
    ran.exits(2).prints("");
    let ran = dir
        .run(with_gpu("driver_version=11080").args(["bench", "sm3-gpu", "--device", "cuda"]), b"");
    ran.exits(2).prints("");
    assert!(ran.err.contains("driver"), "{}", ran.err);
}

#[test]
fn verbose_says_which_devices_there_are() {
    let dir = tree();
    let args = ["sum", "-v", "--device", "all", "tree/0/0"];
    let ran = dir.run(with_gpu("devices=2").args(args), b"");
    ran.exits(0);
    for words in ["many messages:", "cuda:0: manylane", "cuda:1: manylane", "why:"] {
        assert_eq!(ran.err.matches(words).count(), 1, "{words} in {}", ran.err);
    }
    // What did which part: 300 short files on the GPU, one that is too long for it.
    let bytes: usize = (0..300).map(|i| i * 37 % 9000).sum();
    dir.write("long", vec![7; 300_000]);
    let args = ["sum", "-r", "-v", "--device", "cuda", "tree", "long"];
    let ran = dir.run(with_gpu("devices=1").args(args), b"");
    ran.exits(0);
    for line in ["cpu: 1 messages, 300000 bytes", &format!("cuda:0: 300 messages, {bytes} bytes")] {
        assert!(ran.err.contains(line), "{line} in {}", ran.err);
    }
}

/// A compiler's log has several lines.
#[test]
fn each_line_of_what_verbose_says_is_marked() {
    let dir = tree();
    let args = ["sum", "-v", "--device", "all", "tree/0/0"];
    let ran = dir.run(with_gpu("devices=2,fail_compile=1").args(args), b"");
    ran.exits(0);
    let why = ran.err.lines().find(|line| line.contains("why: ")).expect("a line that says why");
    assert!(why.contains("ptxas fatal"), "{why}");
    assert!(ran.err.lines().all(|line| line.starts_with("manylane: ")), "{}", ran.err);
}

/// Kernels of the first test never end: nobody waits for ever, and the processor does the work.
#[test]
fn a_gpu_that_hangs_when_it_is_opened_is_left_behind() {
    let dir = tree();
    thread::scope(|scope| {
        let spawn = |args: &'static [&'static str]| {
            let dir = &dir;
            scope.spawn(move || dir.run(with_gpu("devices=1,hang_launch=1").args(args), b""))
        };
        let all = spawn(&["sum", "--device", "all", "tree/0/0"]);
        let cuda = spawn(&["sum", "--device", "cuda", "tree/0/0"]);
        let info = spawn(&["info"]);
        let all = all.join().unwrap();
        all.exits(0);
        assert!(all.text().starts_with("SM3 (tree/0/0) = "), "{}", all.text());
        let said = "warning: cuda:0 is not used: no answer from the GPU after 10";
        assert!(all.err.contains(said), "{}", all.err);
        let cuda = cuda.join().unwrap();
        cuda.exits(2).prints("");
        assert!(cuda.err.contains("no answer from the GPU"), "{}", cuda.err);
        let info = info.join().unwrap();
        let text = info.exits(0).text();
        assert!(text.contains("cannot be used: no answer from the GPU"), "{text}");
    });
}

#[test]
fn info_lists_and_tests_gpus() {
    let ran = run(with_gpu("devices=2").args(["info", "--json", "--self-test=50"]), b"");
    let info: serde_json::Value = serde_json::from_slice(&ran.is_fine().out).unwrap();
    let gpus = info["gpus"].as_array().unwrap();
    assert_eq!((gpus.len(), &gpus[1]["id"]), (2, &"cuda:1".into()));
    for gpu in gpus {
        assert_eq!(gpu["architecture"], "sm_90");
        assert!(!gpu["kernels"].as_array().unwrap().is_empty());
        for work in ["messages", "random"] {
            let tests = info["self_test"].as_array().unwrap();
            let test = tests.iter().find(|t| t["machine"] == gpu["id"] && t["work"] == work);
            let test = test.expect("each GPU is tested");
            assert!(test["failure"].is_null() && test["answers"].as_u64() > Some(50), "{test}");
        }
        // Nine kernels of AES and two of SM4, with each number of tables.
        for (work, answers) in [("blocks", 3 * (9 + 2)), ("random blocks", 50)] {
            let tests = info["self_test"].as_array().unwrap();
            let test = tests.iter().find(|t| t["machine"] == gpu["id"] && t["work"] == work);
            let test = test.expect("each GPU's block ciphers are tested");
            assert!(test["failure"].is_null() && test["answers"] == answers, "{test}");
        }
    }
    let text = run(with_gpu("devices=1").arg("info"), b"").is_fine().text();
    assert!(text.contains("\n  cuda:0 ") && text.contains("sm3_hash_many: "), "{text}");
}

#[test]
fn wrong_digests_fail_the_self_test() {
    // The first launches are the kernels' own test before their first use.
    let ran = run(with_gpu("devices=1,flip_launch=1").args(["info", "--json", "--self-test"]), b"");
    let info: serde_json::Value = serde_json::from_slice(&ran.exits(1).out).unwrap();
    assert!(info["gpus"][0]["unusable"].as_str().unwrap().contains("wrong"), "{info}");
}

#[test]
fn the_gpu_suite_leaves_records() {
    let dir = Dir::new();
    let args = ["bench", "sm3-gpu", "--quick", "--only", "blocks-64", "-o", "run"];
    let ran = dir.run(with_gpu("devices=1").args(args), b"");
    ran.exits(0);
    let summary = std::fs::read(dir.path("run/summary.json")).expect("a summary");
    let summary: serde_json::Value = serde_json::from_slice(&summary).unwrap();
    assert_eq!(summary["setup"]["gpus"][0]["id"], "cuda:0");
    let results = summary["results"].as_array().unwrap();
    assert!(results.len() >= 3 && results.iter().all(|r| r["group"] == "sm3-gpu/cuda:0/blocks-64"));
    assert!(results.iter().all(|r| r["metrics"]["us_per_call"]["median"].as_f64() > Some(0.0)));
    for launch in ["64", "256", "HI-SM3: 256", "HI-SM3: 512", "HI-SM3: 768", "HI-SM3: 1024"] {
        let name = format!("{launch} × 1 blocks");
        assert!(results.iter().any(|r| r["contender"] == name), "{name} in {results:?}");
    }
    let png = std::fs::read(dir.path("run/blocks-cuda0.png")).expect("a plot");
    assert!(png::Decoder::new(std::io::Cursor::new(png)).read_info().is_ok());
    dir.manylane(["bench", "compare", "run", "run"]).exits(0);
}

#[test]
fn the_methods_of_others_are_measured_beside_ours() {
    let dir = Dir::new();
    let mut compared = Vec::new();
    for group in ["kernel-64", "kernel-1-8192-200000"] {
        let args = ["bench", "sm3-gpu", "--quick", "--only", group, "-o", group];
        let ran = dir.run(with_gpu("devices=1").args(args), b"");
        ran.exits(0);
        let (table, summary) = (ran.text(), dir.path(format!("{group}/summary.json")));
        let summary = std::fs::read(summary).expect("a summary");
        let summary: serde_json::Value = serde_json::from_slice(&summary).unwrap();
        for result in summary["results"].as_array().unwrap() {
            let name = result["contender"].as_str().unwrap();
            assert!(table.contains(name), "{name} in {table}");
            assert!(result["metrics"]["gb_per_s"]["median"].as_f64() > Some(0.0), "{result}");
            if result["peer"] == true {
                let ratios = summary["ratios"].as_array().unwrap();
                assert!(ratios.iter().any(|ratio| ratio["contender"] == name), "{name}");
                compared.push(name.to_owned());
            }
        }
        let png = std::fs::read(dir.path(format!("{group}/methods-cuda0.png"))).expect("a plot");
        assert!(png::Decoder::new(std::io::Cursor::new(png)).read_info().is_ok());
    }
    for which in Comparator::ALL {
        let names = compared.iter().filter(|name| name.starts_with(which.name()));
        // With and without the CPU's part of the work.
        let wanted = if which == Comparator::Padded { 2 } else { 1 };
        assert_eq!(names.count(), wanted, "{which:?} in {compared:?}");
    }
}

/// A record's summary.
fn summary(dir: &Dir, run: &str) -> serde_json::Value {
    let summary = std::fs::read(dir.path(format!("{run}/summary.json"))).expect("a summary");
    serde_json::from_slice(&summary).unwrap()
}

#[test]
fn the_block_cipher_suites_leave_records() {
    let dir = Dir::new();
    let ours = ["manylane", "manylane, two tables", "manylane, one table"];
    let others = BlockComparator::ALL.map(BlockComparator::name);
    for (suite, group, peers) in
        [("aes-gpu", "/ctr-192", &others[..]), ("sm4-gpu", "/decrypt", &[])]
    {
        let args = ["bench", suite, "--quick", "--only", group, "-o", suite];
        let ran = dir.run(with_gpu("devices=1").args(args), b"");
        ran.exits(0);
        let summary = summary(&dir, suite);
        let results = summary["results"].as_array().unwrap();
        let names: Vec<&str> = results.iter().map(|r| r["contender"].as_str().unwrap()).collect();
        assert_eq!(names, [&ours[..], peers].concat(), "{suite}");
        for result in results {
            assert_eq!(result["group"], format!("{suite}/cuda:0{group}"));
            assert!(result["metrics"]["gb_per_s"]["median"].as_f64() > Some(0.0), "{result}");
        }
        let kernels = summary["setup"]["gpus"][0]["kernels"].as_array().unwrap();
        assert_eq!(kernels.len(), if suite == "aes-gpu" { 3 * 9 + 9 } else { 3 * 2 }, "{suite}");
    }
}

/// Through the ring and by the copy engines; and seconds of work on all cores and on the device.
#[test]
fn block_ciphers_are_measured_from_the_hosts_memory_and_for_energy() {
    let dir = Dir::new();
    let only = ["--only", "pinned", "--only", "pageable", "--only", "energy"];
    let args = [&["bench", "sm4-gpu", "--quick", "-o", "run"], &only[..]].concat();
    let ran = dir.run(with_gpu("devices=1").args(args), b"");
    ran.exits(0);
    let summary = summary(&dir, "run");
    let copies = "copies both ways at once, page-locked, nothing else";
    for place in ["pinned", "pageable"] {
        let ratios = summary["ratios"].as_array().unwrap();
        let of_copies = |r: &&serde_json::Value| {
            r["group"] == format!("sm4-gpu/cuda:0/{place}") && r["base"] == copies
        };
        let ratio = ratios.iter().find(of_copies).expect("a ratio to the copies");
        assert_eq!(ratio["contender"], "SM4");
    }
    let text = ran.text();
    for words in ["beside published figures NOT measured here", "CPU without AES instructions"] {
        assert!(text.contains(words), "{words} in {text}");
    }
}

/// The first nine launches are known answers; then come pairs that tell how fast the device is, one or a
/// few of them, and the checks of three contenders.
#[test]
fn a_wrong_kernel_is_not_measured() {
    let dir = Dir::new();
    let is_found = |launch: u32| {
        let settings = format!("devices=1,flip_launch={launch}");
        let args = ["bench", "sm4-gpu", "--quick", "--only", "/decrypt"];
        let ran = dir.run(with_gpu(&settings).args(args), b"");
        ran.code == Some(1) && ran.err.contains("bytes 0 to 256 are not the CPU's")
    };
    assert!([14, 16, 18, 20].into_iter().any(is_found));
}

#[test]
fn every_kernel_is_launched_for_a_profiler() {
    let dir = Dir::new();
    for suite in ["aes-gpu", "sm4-gpu", "sha3-gpu"] {
        let args = ["bench", "launch", suite, "--device", "cuda:0", "--bytes", "131072"];
        dir.run(with_gpu("devices=1").args(args), b"").is_fine().prints("");
    }
}

/// By the kernel alone, and the slides' two experiments: beside processors, and drawn.
#[test]
fn the_suite_of_sha3_leaves_records() {
    let dir = Dir::new();
    let groups = ["kernel-sha3-256-512", "kernel-shake128-64", "file-1024", "volume-32"];
    let only = groups.map(|group| ["--only", group]);
    let args = [&["bench", "sha3-gpu", "--quick", "-o", "run"], only.as_flattened()].concat();
    let ran = dir.run(with_gpu("devices=1").args(args), b"");
    ran.exits(0);
    let summary = summary(&dir, "run");
    let results = summary["results"].as_array().unwrap();
    let contenders = |group: &str| -> Vec<&str> {
        let of_group = results.iter().filter(|r| r["group"] == format!("sha3-gpu/cuda:0/{group}"));
        of_group.map(|result| result["contender"].as_str().unwrap()).collect()
    };
    let slides = Sha3Comparator::BlockPerMessage.name();
    assert_eq!(contenders(groups[0]), ["hash_many", slides]);
    assert_eq!(contenders(groups[1]), ["hash_many"]);
    for (group, names) in [
        (groups[2], &["plain, one core", slides, Sha3Comparator::Serial.name(), "hash_many"][..]),
        (groups[3], &["plain, one core", slides, "manylane, GPU", "hash_many, kernel alone"]),
    ] {
        let measured = contenders(group);
        assert!(names.iter().all(|name| measured.contains(name)), "{measured:?}");
    }
    for plot in ["sha3-files-cuda0.png", "sha3-volume-cuda0.png"] {
        let png = std::fs::read(dir.path(format!("run/{plot}"))).expect("a plot");
        assert!(png::Decoder::new(std::io::Cursor::new(png)).read_info().is_ok());
    }
    for words in ["As in the slides, cuda0: one file at a time", "NOT measured here"] {
        assert!(ran.text().contains(words), "{words} in {}", ran.text());
    }
}

#[test]
fn sha3_is_measured_from_the_hosts_memory_and_for_energy() {
    let dir = Dir::new();
    let only = ["pinned-1-8192", "batch-256x64", "energy"].map(|group| ["--only", group]);
    let args = [&["bench", "sha3-gpu", "--quick", "-o", "run"], only.as_flattened()].concat();
    dir.run(with_gpu("devices=1").args(args), b"").exits(0);
    let summary = summary(&dir, "run");
    let results = summary["results"].as_array().unwrap();
    let measured = |group: &str, contender: &str| {
        let is = |r: &&serde_json::Value| {
            r["group"] == format!("sha3-gpu/cuda:0/{group}") && r["contender"] == contender
        };
        results.iter().any(|r| is(&r) && r["metrics"]["gb_per_s"]["median"].as_f64() > Some(0.0))
    };
    for engine in ["cpu", "cuda:0", "all", "auto"] {
        assert!(measured("pinned-1-8192", engine), "{engine}");
    }
    assert!(measured("batch-256x64", "auto") && measured("energy", "cpu, all cores"));
}

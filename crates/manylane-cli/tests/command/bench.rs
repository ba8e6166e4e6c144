//! `manylane bench`, as far as it is about processors.

use crate::support::Dir;

/// Contenders that agree in what they compute, one of which is a library that does without some
/// instructions; on all cores, where nothing is put aside however busy the machine is.
#[test]
fn block_ciphers_are_measured_beside_others() {
    let dir = Dir::new();
    for (suite, group) in [("aes", "aes/cores-192"), ("sm4", "sm4/cores")] {
        let ran = dir.manylane(["bench", suite, "--quick", "--only", group, "-o", suite]);
        ran.exits(0);
        let summary = std::fs::read(dir.path(format!("{suite}/summary.json"))).expect("a summary");
        let summary: serde_json::Value = serde_json::from_slice(&summary).unwrap();
        let measured: Vec<_> = summary["results"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|result| result["metrics"]["gb_per_s"]["median"].as_f64() > Some(0.0))
            .map(|result| result["contender"].as_str().unwrap())
            .collect();
        assert!(measured.contains(&"portable"), "{measured:?}");
        let peers = summary["setup"]["peers"].as_array().unwrap();
        let there = |name: &str| {
            peers.iter().any(|peer| peer["name"] == name && !peer["version"].is_null())
        };
        for name in ["OpenSSL", "libgcrypt"] {
            assert_eq!(there(name), measured.contains(&name), "{name} in {measured:?}");
        }
        let slow = "OpenSSL without AES instructions";
        let is_told = suite == "aes" && cfg!(target_arch = "x86_64") && there("OpenSSL");
        assert_eq!((there(slow), measured.contains(&slow)), (is_told, is_told), "{peers:?}");
        let slides = ran.text().contains("beside the tables of the slides");
        assert_eq!(slides, suite == "aes", "{}", ran.text());
        dir.manylane(["bench", "compare", suite, suite]).exits(0);
    }
}

/// The slides' experiments on processors, in tables and pictures.
#[test]
fn sha3_is_measured_as_in_the_slides() {
    let dir = Dir::new();
    let args =
        ["bench", "sha3", "--quick", "--only", "file/1024", "--only", "volume/32", "-o", "run"];
    let ran = dir.manylane(args);
    ran.exits(0);
    let summary = std::fs::read(dir.path("run/summary.json")).expect("a summary");
    let summary: serde_json::Value = serde_json::from_slice(&summary).unwrap();
    let results = summary["results"].as_array().unwrap();
    for (group, contender) in [
        ("file/1024", "plain, one core"),
        ("file/1024", "manylane, one core"),
        ("file/1024", "manylane KT128, all cores"),
        ("volume/32", "plain, one core"),
        ("volume/32", "manylane, all cores"),
    ] {
        let is = |r: &&serde_json::Value| {
            r["group"] == format!("sha3/{group}") && r["contender"] == contender
        };
        let result = results.iter().find(is).expect(contender);
        assert!(result["metrics"]["gb_per_s"]["median"].as_f64() > Some(0.0), "{result}");
    }
    let peers = summary["setup"]["peers"].as_array().unwrap();
    assert!(peers.iter().any(|peer| peer["name"] == "Nettle"), "{peers:?}");
    for words in ["one file at a time", "a million messages", "× plain"] {
        assert!(ran.text().contains(words), "{words} in {}", ran.text());
    }
    for plot in ["sha3-files-cpu.png", "sha3-volume-cpu.png"] {
        assert!(dir.path(format!("run/{plot}")).exists(), "{plot}");
    }
}

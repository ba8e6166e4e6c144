//! `manylane bench`, as far as it is about processors.

use crate::support::Dir;

/// Contenders that agree in what they compute, one of which is a library that does without some
/// instructions.
#[test]
fn block_ciphers_are_measured_beside_others() {
    let dir = Dir::new();
    for (suite, group, machine) in
        [("aes", "aes/ctr-192/1024", "aesni"), ("sm4", "sm4/gcm-many/256", "avx2")]
    {
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
        let peers = summary["setup"]["peers"].as_array().unwrap();
        let there = |name: &str| {
            peers.iter().any(|peer| peer["name"] == name && !peer["version"].is_null())
        };
        assert!(measured.contains(&"manylane") && measured.contains(&"portable"), "{measured:?}");
        if manylane::cpu::Machine::from_name(machine).is_some_and(|m| m.is_detected()) {
            assert!(measured.contains(&machine), "{measured:?}");
        }
        for name in ["libgcrypt", "libgcrypt without GFNI"] {
            assert!(!there(name) || measured.contains(&name), "{name} in {measured:?}");
        }
        let slow = "OpenSSL without AES instructions";
        if suite == "aes" && cfg!(target_arch = "x86_64") && there("OpenSSL") {
            assert!(there(slow), "{peers:?}");
            assert!(measured.contains(&slow) && measured.contains(&"OpenSSL"), "{measured:?}");
        }
        dir.manylane(["bench", "compare", suite, suite]).exits(0);
    }
}

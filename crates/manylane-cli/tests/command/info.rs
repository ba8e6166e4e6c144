//! `manylane info`.

use manylane::cpu::{FORCE, Machine};

use crate::support::{command, run};

#[test]
fn it_says_what_there_is_and_what_is_chosen() {
    let text = run(command().arg("info"), b"").is_fine().text();
    assert!(text.starts_with(&format!("manylane {}\n", env!("CARGO_PKG_VERSION"))));
    for machine in Machine::ALL {
        assert!(text.contains(&format!("\n  {machine:<14} ")), "{machine}: {text}");
    }
    for word in ["many messages", "one stream", "threads", "OpenSSL", "libgcrypt"] {
        assert!(text.contains(word), "{word}: {text}");
    }
    assert!(text.contains("\nGPUs\n  "), "{text}");
}

#[test]
fn json_agrees_with_the_library() {
    let ran = run(command().args(["info", "--json", "--self-test"]), b"");
    let info: serde_json::Value = serde_json::from_slice(&ran.is_fine().out).unwrap();
    let machines = info["machines"].as_array().unwrap();
    assert_eq!(machines.len(), Machine::ALL.len());
    let mut available = Vec::new();
    for (machine, said) in Machine::ALL.into_iter().zip(machines) {
        assert_eq!(said["name"], machine.name());
        assert_eq!(said["status"] == "available", machine.is_detected());
        if machine.is_detected() {
            available.push(machine.name());
        }
    }
    let tests = info["self_test"].as_array().unwrap();
    for name in available {
        assert!(tests.iter().any(|test| test["machine"] == name), "{name} was not tested");
    }
    assert!(tests.iter().all(|test| test["failure"].is_null()));
    let drivers = info["gpu_drivers"].as_array().unwrap();
    assert_eq!(drivers.iter().map(|d| &d["vendor"]).collect::<Vec<_>>(), ["cuda", "hip"]);
}

#[test]
fn the_environment_caps_the_machines() {
    let ran = run(command().env(FORCE, "portable").args(["info", "--json", "--self-test"]), b"");
    let info: serde_json::Value = serde_json::from_slice(&ran.is_fine().out).unwrap();
    for function in ["sm3", "sha3"] {
        assert_eq!(
            (&info[function]["many_messages"], &info[function]["one_stream"]),
            (&"portable".into(), &"portable".into())
        );
    }
    let tests = info["self_test"].as_array().unwrap();
    let of_machines =
        tests.iter().filter(|test| Machine::ALL.iter().any(|m| test["machine"] == m.name()));
    let works: Vec<_> = of_machines
        .map(|test| {
            assert_eq!(test["machine"], "portable");
            test["work"].as_str().unwrap()
        })
        .collect();
    assert_eq!(works, ["lanes", "stream", "sha3 lanes", "sha3 stream", "aes", "sm4", "sm2"]);
    for (machine, said) in Machine::ALL.into_iter().zip(info["machines"].as_array().unwrap()) {
        let capped = machine.is_detected() && machine != Machine::Portable;
        assert_eq!(said["status"] == "capped", capped, "{machine}");
    }
    run(command().env(FORCE, "nonsense").arg("info"), b"").exits(2).prints("");
}

//! The README's commands, run one block after another as somebody would who reads it.

mod support;

use std::process::Command;

use support::{Place, succeeded};

/// Blocks of a language.
fn blocks<'a>(text: &'a str, language: &str) -> Vec<&'a str> {
    let mut blocks = Vec::new();
    let mut rest = text;
    while let Some((_, after)) = rest.split_once(&format!("```{language}\n")) {
        let (block, after) = after.split_once("```").expect("an end");
        blocks.push(block);
        rest = after;
    }
    blocks
}

#[test]
fn the_readmes_commands_run() {
    let text = include_str!("../README.md");
    let place = Place::new();
    std::fs::remove_file(place.path("manylane.so")).expect("the link");
    std::fs::create_dir_all(place.path("target/release")).expect("a folder");
    std::os::unix::fs::symlink(
        support::library(),
        place.path("target/release/libmanylane_provider.so"),
    )
    .expect("a link");
    let [config] = blocks(text, "ini")[..] else { panic!("one configuration") };
    place.write("manylane.cnf", config.as_bytes());
    place.write("manylane-req.cnf", b"[req]\ndistinguished_name = name\n[name]\n");
    let blocks = blocks(text, "sh");
    assert_eq!(blocks.len(), 3);
    // What cargo is asked to build has been built for this test.
    let built = "cargo build --release --package manylane-provider\n";
    assert!(blocks[0].starts_with(built));
    let script = blocks.concat().replace(built, "");
    let mut shell = Command::new("sh");
    shell.current_dir(place.path("")).env_remove("OPENSSL_CONF").args(["-eux", "-c", &script]);
    let output = shell.output().expect("a shell");
    succeeded("the README's commands", &output);
    let said = String::from_utf8_lossy(&output.stdout);
    for word in ["name: manylane", "Signature Verified Successfully", "cert.pem: OK"] {
        assert!(said.contains(word), "{said}");
    }
}

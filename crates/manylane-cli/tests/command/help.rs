//! Help, manual pages and completions, all from one definition.

use crate::support::{Dir, command, run};

#[test]
fn help_says_what_matters() {
    let help = run(command().args(["help", "sum"]), b"").is_fine().text();
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in [
        "With most algorithms one file is one serial stream",
        "KT128 (k12) and KT256 are trees",
        "no number of cores, lanes or GPUs makes a single file faster",
        "manylane sum -r /usr/share > SM3SUMS",
        "--files0-from <F>",
        "Exit status:",
        "name_hex",
    ] {
        assert!(help.contains(words), "{words}");
    }
    let all = run(command().arg("--help"), b"").is_fine().text();
    for verb in ["sum", "sm2", "aes", "sm4", "bench", "info", "completions", "man"] {
        assert!(all.contains(&format!("\n  {verb} ")), "{verb}: {all}");
    }
    assert_eq!(
        run(command().args(["sum", "--help"]), b"").out,
        run(command().args(["help", "sum"]), b"").out
    );
    let version = run(command().arg("--version"), b"");
    version.is_fine().prints(&format!("manylane {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn help_says_what_others_can_decrypt() {
    let help = run(command().args(["help", "sm2", "encrypt"]), b"").is_fine().text();
    assert!(help.contains("GmSSL decrypts messages of at most 255 bytes"), "{help}");
    for verb in ["keygen", "pub", "convert", "sign", "verify", "encrypt", "decrypt"] {
        let help = run(command().args(["help", "sm2", verb]), b"").is_fine().text();
        for words in ["Examples:", "Exit status:", &format!("  manylane sm2 {verb} ")] {
            assert!(help.contains(words), "{verb}: {words}");
        }
    }
}

#[test]
fn help_says_what_pipes_get_and_what_is_raw() {
    for cipher in ["aes", "sm4"] {
        for (verb, words) in [
            ("encrypt", "With --iv (or -m ecb), what comes out is raw"),
            ("decrypt", "whoever reads the pipe must look at that"),
        ] {
            let help = run(command().args(["help", cipher, verb]), b"").is_fine().text();
            let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
            for words in
                [words, "Examples:", "Exit status:", &format!("manylane {cipher} {verb} -")]
            {
                assert!(help.contains(words), "{cipher} {verb}: {words}");
            }
        }
    }
}

#[test]
fn completions_know_the_options() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = run(command().args(["completions", shell]), b"").is_fine().text();
        assert!(script.contains("ignore-missing"), "{shell}");
    }
    run(command().args(["completions", "csh"]), b"").exits(2);
}

#[test]
fn runs_that_cannot_be_read_are_named() {
    let dir = Dir::new();
    dir.write("file", "{}");
    for (name, why) in [
        ("file", "file: a file, not the folder of a run"),
        ("gone", "gone/summary.json: No such file or directory"),
    ] {
        let ran = dir.manylane(["bench", "compare", name, name]);
        ran.exits(2).says(&format!("cannot compare: {why}"));
    }
}

#[test]
fn every_verb_has_a_manual_page() {
    let dir = Dir::new();
    dir.manylane(["man", "."]).is_fine();
    for page in [
        "manylane.1",
        "manylane-sum.1",
        "manylane-info.1",
        "manylane-bench.1",
        "manylane-sm2-verify.1",
        "manylane-aes-encrypt.1",
        "manylane-sm4-decrypt.1",
    ] {
        assert!(dir.names().contains(&page.to_owned()), "{page} of {:?}", dir.names());
    }
    let page = std::fs::read_to_string(dir.path("manylane-sum.1")).unwrap();
    assert!(page.contains("hmac") && page.contains("Examples") && page.contains(".TH"));
    assert!(run(command().arg("man"), b"").is_fine().text().contains(".TH manylane 1"));
    dir.manylane(["man", "gone"]).exits(1).says("gone: No such file or directory");
}

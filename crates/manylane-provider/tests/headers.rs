//! The numbers and structures of `src/abi.rs` against OpenSSL's headers, and rules of these sources that no compiler checks.

mod support;

use std::{fs, path::Path, process::Command};

use support::Place;

fn source(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(name))
        .expect("a source")
}

/// `module::NAME = number` of each constant.
fn constants(source: &str) -> Vec<String> {
    let mut module = "";
    let mut found = Vec::new();
    for line in source.lines() {
        if let Some(rest) = line.strip_prefix("pub(crate) mod ") {
            module = rest.trim_end_matches(" {");
        } else if line == "}" {
            module = "";
        } else if let Some((name, rest)) =
            line.trim().strip_prefix("pub(crate) const ").and_then(|rest| rest.split_once(": c_"))
            && let Some((_, value)) = rest.split_once("= ")
        {
            let value = value.trim_end_matches(';');
            let value = value
                .strip_prefix("0x")
                .map_or_else(|| value.parse().ok(), |digits| i64::from_str_radix(digits, 16).ok());
            found.extend(value.map(|value| format!("{module}::{name} = {value}")));
        }
    }
    found
}

#[test]
fn numbers_and_structures_are_the_headers() {
    let place = Place::new();
    let output = Command::new(place.compile("headers.c")).output().expect("it runs");
    let headers = String::from_utf8(output.stdout).expect("text");
    let ours = constants(&source("abi.rs"));
    assert!(ours.len() > 110, "{} constants", ours.len());
    for line in &ours {
        assert!(headers.lines().any(|header| header == line), "not in the headers: {line}");
    }
    let numbers = headers.lines().filter(|line| line.contains("::")).count();
    assert_eq!(numbers, ours.len(), "the headers' program has others");
    for line in [
        "Param = 40: 0 8 16 24 32",
        "Dispatch = 16: 0 8",
        "Item = 16: 0 8",
        "Algorithm = 32: 0 8 16 24",
    ] {
        assert!(headers.contains(line), "{line}");
    }
    assert!(headers.contains("modes = 1 2 3 4 5 6 7 10001"), "{headers}");
}

/// `entries!` puts a guard around every function; the provider's first one has its own.
#[test]
fn every_function_that_openssl_calls_is_guarded() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut count = 0;
    for dir in [dir.clone(), dir.join("cipher")] {
        for file in fs::read_dir(dir).expect("a folder") {
            let path = file.expect("a file").path();
            if path.extension().is_none_or(|extension| extension != "rs")
                || path.ends_with("abi.rs")
            {
                continue;
            }
            let text = fs::read_to_string(&path).expect("a source");
            for (i, line) in text.lines().enumerate() {
                let line = line.trim();
                let is_function = line.contains("extern \"C\" fn") && !line.starts_with("//");
                if is_function && !line.starts_with("type ") {
                    let guarded = path.ends_with("entry.rs") || line.contains("OSSL_provider_init");
                    assert!(guarded, "{}:{}: {line}", path.display(), i + 1);
                    count += 1;
                }
            }
        }
    }
    assert_eq!(count, 2);
}

/// Nothing of libcrypto is linked, and nothing is exported but what OpenSSL looks for.
#[test]
fn one_symbol_goes_out_and_none_of_openssl_comes_in() {
    let output = Command::new("nm").arg("-D").arg(support::library()).output().expect("nm runs");
    let symbols = String::from_utf8(output.stdout).expect("text");
    let out: Vec<&str> = symbols.lines().filter(|line| line.contains(" T ")).collect();
    assert!(out.len() == 1 && out[0].ends_with(" OSSL_provider_init"), "{out:?}");
    for prefix in [" EVP_", " OSSL_", " OPENSSL_", " CRYPTO_", " BIO_", " ERR_"] {
        let comes_in = |line: &&str| line.contains(" U ") && line.contains(prefix);
        assert_eq!(symbols.lines().find(comes_in), None);
    }
}

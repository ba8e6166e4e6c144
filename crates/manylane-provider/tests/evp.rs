//! Programs that use the provider by EVP: `evp.c`, with vectors that are written out here.

mod support;

use std::{fmt::Write as _, io::Write as _, process::Stdio};

use manylane_vectors::block::{self, Case, Ciphertext, Mode};
use support::{Place, Side, succeeded};

/// A line of `evp.c`'s for a case, if OpenSSL has the mode.
fn line(case: &Case, cipher: &str) -> Option<String> {
    let (mode, how) = match case.mode {
        Mode::Ecb => ("ECB", "0"),
        Mode::Cbc => ("CBC", "0"),
        Mode::CbcPkcs7 => ("CBC", "1"),
        Mode::Cfb => ("CFB", "0"),
        Mode::Cfb8 => ("CFB8", "0"),
        Mode::Ofb => ("OFB", "0"),
        Mode::Ctr128 => ("CTR", "0"),
        Mode::Xts => ("XTS", "IEEE"),
        Mode::XtsGb => ("XTS", "GB"),
        Mode::Gcm => ("GCM", "0"),
        Mode::Ccm => ("CCM", "0"),
        _ => return None,
    };
    let cipher = match (cipher, mode) {
        ("SM4", _) => format!("SM4-{mode}"),
        (_, "CTR") => format!("AES-{}-CTR", 8 * case.key.len()),
        _ => return None,
    };
    let Ciphertext::Bytes(ciphertext) = &case.ciphertext else { return None };
    let hex = |bytes: &[u8]| match bytes {
        [] => "-".to_owned(),
        bytes => bytes.iter().fold(String::new(), |mut text, byte| {
            write!(text, "{byte:02x}").expect("text");
            text
        }),
    };
    let iv = if mode == "ECB" { "-".to_owned() } else { hex(&case.iv) };
    let key = hex(&case.key);
    let aad = hex(&case.aad);
    let valid = u8::from(case.is_valid);
    // Of a message that is not valid, the plaintext says nothing.
    let plaintext = if case.is_valid { hex(&case.plaintext) } else { "-".to_owned() };
    let ciphertext = hex(ciphertext);
    Some(format!(
        "{cipher} {how} {key} {iv} {aad} {plaintext} {ciphertext} {} {valid}\n",
        hex(&case.tag)
    ))
}

/// Whether OpenSSL's interface can say it at all: IVs of up to 128 bytes that are not empty, and messages of XTS with a block.
fn can_be_said(case: &Case) -> bool {
    let is_short = case.aad.len() <= 4096 && case.plaintext.len() <= 60_000;
    is_short && (case.mode != Mode::Gcm || (1..=128).contains(&case.iv.len()))
}

fn vectors() -> String {
    let mut lines = String::new();
    let mut modes = std::collections::BTreeSet::new();
    let sm4 = block::sm4().cases.into_iter().chain(block::sm4_wycheproof());
    let aes = block::aes().cases.into_iter();
    for (case, cipher) in sm4.map(|case| (case, "SM4")).chain(aes.map(|case| (case, "AES"))) {
        if let Some(line) = line(&case, cipher).filter(|_| can_be_said(&case)) {
            lines.push_str(&line);
            modes.insert(line.split(' ').next().expect("a cipher").to_owned());
        }
    }
    assert_eq!(modes.len(), 12, "{modes:?}");
    lines
}

fn run(program: &mut std::process::Command, input: &str) -> String {
    let mut child = program
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    // A program that fails early reads no more; its own words say why.
    let _ = stdin.write_all(input.as_bytes());
    drop(stdin);
    let output = child.wait_with_output().expect("it ends");
    succeeded(&format!("{program:?}"), &output);
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn vectors_in_all_chunks() {
    let place = Place::new();
    let program = place.compile("evp.c");
    let lines = vectors();
    let said = run(place.command(Side::Ours, &program).arg("vectors"), &lines);
    assert_eq!(said, format!("{} vectors\n", lines.lines().count()));
}

#[test]
fn contexts_digests_and_keys() {
    let place = Place::new();
    let program = place.compile("evp.c");
    for test in ["differential", "refused", "copies", "digests", "sm2", "fork", "unload"] {
        run(place.command(Side::Ours, &program).arg(test), "");
    }
}

#[test]
fn corners() {
    const TESTS: [&str; 11] = [
        "ivs",
        "failures",
        "settings",
        "tags",
        "associated",
        "finals",
        "digests",
        "signatures",
        "encryption",
        "keys",
        "passwords",
    ];
    let place = Place::new();
    let program = place.compile("corners.c");
    let said = run(place.command(Side::Ours, &program).args(TESTS), "");
    assert!(said.lines().eq(TESTS), "{said}");
    #[cfg(target_arch = "x86_64")]
    run(
        place
            .command(Side::Ours, "valgrind")
            .args(["--quiet", "--error-exitcode=9"])
            .arg(&program)
            .args(["ivs", "failures", "settings", "tags", "finals"]),
        "",
    );
}

#[test]
#[ignore = "needs OpenSSL 4, which `cargo xtask provider --newer` builds"]
fn tagged_modes_against_openssls_own() {
    assert!(support::newer().is_some(), "MANYLANE_OPENSSL says where it is");
    let place = Place::new();
    let program = place.compile("evp.c");
    run(place.command(Side::Ours, &program).arg("tagged"), "");
}

#[test]
fn threads() {
    let place = Place::new();
    let program = place.compile("evp.c");
    run(place.command(Side::Ours, &program).arg("threads"), "");
}

/// Under valgrind: nothing is read that was never written, nothing used after it was freed, nothing lost.
#[test]
#[cfg(target_arch = "x86_64")]
fn memory() {
    let place = Place::new();
    let program = place.compile("evp.c");
    let lines: String = vectors().lines().step_by(150).map(|line| format!("{line}\n")).collect();
    let mut command = place.command(Side::Ours, "valgrind");
    command
        .args([
            "--quiet",
            "--error-exitcode=9",
            "--leak-check=full",
            "--errors-for-leak-kinds=definite",
        ])
        .arg(&program)
        .args(["vectors", "differential", "refused", "copies", "digests", "sm2", "unload"])
        .env("COUNT", "2");
    run(&mut command, &lines);
}

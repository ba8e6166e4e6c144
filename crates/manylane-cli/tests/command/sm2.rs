//! `manylane sm2`: every verb and form, with the `openssl` command both ways, and what happens when
//! something is wrong.

use std::{
    fs::{self, File},
    io::{Read as _, Write as _},
    os::unix::fs::PermissionsExt as _,
    process::{Child, Command, Stdio},
};

use manylane::{
    sm2::{PublicKey, SecretKey, Signer},
    sm3::Digest as _,
};

use crate::support::{Dir, Ran, command, tool};

const FORMS: [&[&str]; 5] = [
    &["--form", "asn1"],
    &["--form", "c1c3c2"],
    &["--form", "c1c3c2", "--no-prefix"],
    &["--form", "c1c2c3"],
    &["--form", "c1c2c3", "--no-prefix"],
];

/// A folder with a key pair, the message `m` and the long message `long`.
fn dir() -> Dir {
    let dir = Dir::new();
    dir.write("m", "the message\n").write("long", noise(1 << 20));
    dir.manylane(["sm2", "keygen", "-o", "key", "--pub-out", "pub"]).is_fine().prints("");
    dir
}

/// Bytes without a pattern: more than are read at once, and no multiple of that.
fn noise(len: usize) -> Vec<u8> {
    let mut state = 1_u64;
    let next = |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) as u8
    };
    (0..len + 12_345).map(next).collect()
}

fn mode(dir: &Dir, name: &str) -> u32 {
    fs::metadata(dir.path(name)).unwrap().permissions().mode() & 0o777
}

fn sm2(dir: &Dir, args: &[&str]) -> Ran {
    dir.manylane([&["sm2"], args].concat())
}

fn sm2_reading(dir: &Dir, stdin: impl AsRef<[u8]>, args: &[&str]) -> Ran {
    dir.manylane_reading(stdin, [&["sm2"], args].concat())
}

fn openssl(dir: &Dir, args: &[&str]) -> Ran {
    dir.run(tool("openssl").args(args), b"")
}

fn sh(dir: &Dir, script: &str) -> Ran {
    dir.run(tool("sh").args(["-c", script, env!("CARGO_BIN_EXE_manylane")]), b"")
}

#[test]
fn keys_are_their_owners_and_are_not_replaced() {
    let dir = dir();
    assert_eq!(mode(&dir, "key"), 0o600);
    File::create(dir.path("usual")).unwrap();
    assert_eq!(mode(&dir, "pub"), mode(&dir, "usual"));
    let key = fs::read(dir.path("key")).unwrap();
    let public = SecretKey::decode(&key, None).unwrap().public_key().to_pem();
    assert_eq!(fs::read_to_string(dir.path("pub")).unwrap(), public);
    for args in [
        &["keygen", "-o", "key"][..],
        &["keygen", "-o", "new", "--pub-out", "key"],
        &["convert", "-k", "key", "-o", "key"],
        &["pub", "-k", "key", "-o", "key"],
    ] {
        sm2(&dir, args).exits(2).prints("").says("key: exists already; --force replaces it");
    }
    sm2(&dir, &["keygen", "-o", "same", "--pub-out", "same"]).exits(2);
    assert_eq!(fs::read(dir.path("key")).unwrap(), key);
    assert_eq!(dir.names(), ["key", "long", "m", "pub", "usual"]);
    // A secret key never keeps the permissions of what was there.
    fs::set_permissions(dir.path("key"), fs::Permissions::from_mode(0o644)).unwrap();
    sm2(&dir, &["keygen", "-o", "key", "--force"]).is_fine();
    assert_eq!(mode(&dir, "key"), 0o600);
    assert_ne!(fs::read(dir.path("key")).unwrap(), key);
    sm2(&dir, &["convert", "-k", "key", "--form", "hex", "-o", "hex"]).is_fine();
    assert_eq!((mode(&dir, "hex"), dir.names().len()), (0o600, 6));
}

#[test]
fn keys_have_many_forms() {
    let dir = dir();
    let key = SecretKey::decode(&fs::read(dir.path("key")).unwrap(), None).unwrap();
    let public = key.public_key();
    let pem = public.to_pem();
    for (form, der) in [("pkcs8", false), ("pkcs8", true), ("sec1", false), ("sec1", true)] {
        let der = if der { &["--der"][..] } else { &[] };
        let ran = sm2(&dir, &[&["convert", "-k", "key", "--form", form], der].concat());
        assert_eq!(SecretKey::decode(&ran.is_fine().out, None).unwrap().to_hex(), key.to_hex());
        dir.write("other", &ran.out);
        sm2(&dir, &["pub", "-k", "other"]).is_fine().prints(&pem);
        let form = if der.is_empty() { "PEM" } else { "DER" };
        openssl(&dir, &["pkey", "-inform", form, "-in", "other", "-pubout"]).exits(0).prints(&pem);
    }
    let hex = sm2(&dir, &["convert", "-k", "key", "--form", "hex"]);
    hex.is_fine().prints(&format!("{}\n", *key.to_hex()));
    sm2_reading(&dir, &hex.out, &["pub", "-k", "-"]).is_fine().prints(&pem);
    sm2(&dir, &["convert", "-k", "key", "--form", "spki"]).is_fine().prints(&pem);
    sm2(&dir, &["convert", "-k", "pub"]).is_fine().prints(&pem);
    for verb in ["pub", "convert"] {
        for key in ["key", "pub"].iter().skip(usize::from(verb == "convert")) {
            let ran = sm2(&dir, &[verb, "-k", key, "--form", "hex"]);
            ran.is_fine().prints(&(public.to_hex() + "\n"));
            sm2(&dir, &[verb, "-k", key, "--form", "hex", "--der"]).exits(2);
        }
        let ran = sm2(&dir, &[verb, "-k", "pub", "--der"]);
        assert_eq!(PublicKey::from_spki_der(&ran.is_fine().out).unwrap(), *public);
    }
    for form in ["pkcs8", "sec1"] {
        let ran = sm2(&dir, &["convert", "-k", "pub", "--form", form]);
        ran.exits(2).prints("").says("pub: a public key, which has no such form");
    }
}

#[test]
fn keys_that_cannot_be_used_are_named() {
    let dir = dir();
    for (key, why) in [
        ("gone", "gone: No such file or directory"),
        (".", ".: Is a directory"),
        ("m", "m: not a private key in any known form"),
        ("pub", "pub: no private key in PEM"),
        ("long", "long: longer than 1048576 bytes"),
    ] {
        for verb in ["sign", "decrypt"] {
            sm2(&dir, &[verb, "-k", key, "m"]).exits(2).prints("").says(why);
        }
    }
    let why = "key: a secret key; `manylane sm2 pub` makes its public key";
    sm2(&dir, &["encrypt", "-k", "key", "m"]).exits(2).prints("").says(why);
    sm2(&dir, &["verify", "-k", "key", "-s", "m", "m"]).exits(2).prints("").says(why);
    let p256 = ["genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", "p"];
    openssl(&dir, &p256).exits(0);
    sm2(&dir, &["sign", "-k", "p", "m"]).exits(2).says("p: the key is not one of SM2's curve");
    for args in [&["sign", "-k", "-"][..], &["decrypt", "-k", "-"], &["encrypt", "-k", "-", "-"]] {
        sm2(&dir, args).exits(2).says("standard input can be only one of the key and FILE");
    }
}

#[test]
fn certificates_have_public_keys() {
    let dir = dir();
    let args = ["req", "-x509", "-key", "key", "-sm3", "-subj", "/CN=x", "-out", "cert"];
    openssl(&dir, &args).exits(0);
    let pem = fs::read_to_string(dir.path("pub")).unwrap();
    sm2(&dir, &["pub", "-k", "cert"]).is_fine().prints(&pem);
    let ran = sm2(&dir, &["encrypt", "-k", "cert", "m"]);
    let ran = sm2_reading(&dir, &ran.is_fine().out, &["decrypt", "-k", "key"]);
    ran.is_fine().prints("the message\n");
}

/// The key as OpenSSL encrypts it, with few iterations, under the first line of `pass`.
fn encrypt_key(dir: &Dir, cipher: &str, name: &str) {
    let with =
        ["-v2", cipher, "-v2prf", "hmacWithSHA256", "-iter", "1000", "-passout", "file:pass"];
    let args = [&["pkcs8", "-topk8", "-in", "key", "-out", name], &with[..]].concat();
    openssl(dir, &args).exits(0);
}

#[test]
fn passwords_come_from_four_places() {
    let dir = dir();
    dir.write("pass", "secret words\nnot this\n");
    encrypt_key(&dir, "sm4-cbc", "locked");
    let pem = fs::read_to_string(dir.path("pub")).unwrap();
    for how in ["--pass file:pass", "--pass env:PASS", "--pass fd:5 5<pass"] {
        let script = format!("PASS='secret words' \"$0\" sm2 pub -k locked {how}");
        sh(&dir, &script).is_fine().prints(&pem);
    }
    let why = "locked: the key is encrypted: give --pass file:F|env:V|fd:N|prompt";
    sm2(&dir, &["sign", "-k", "locked", "m"]).exits(2).prints("").says(why);
    for (pass, why) in [
        ("file:m", "locked: the password is wrong, or the key is damaged"),
        ("file:gone", "password from gone: No such file or directory"),
        ("env:NO_SUCH_VARIABLE", "NO_SUCH_VARIABLE: no such variable"),
        ("fd:77", "password from descriptor 77: No such file or directory"),
    ] {
        sm2(&dir, &["sign", "-k", "locked", "--pass", pass, "m"]).exits(2).prints("").says(why);
    }
    sm2(&dir, &["sign", "-k", "locked", "--pass", "secret words", "m"]).exits(2).prints("");
    // What is not needed is not asked for.
    sm2(&dir, &["pub", "-k", "key", "--pass", "file:gone"]).is_fine().prints(&pem);
}

#[test]
fn keys_change_their_passwords() {
    let dir = dir();
    dir.write("pass", "secret").write("empty", "");
    encrypt_key(&dir, "aes-256-cbc", "locked");
    let pem = fs::read_to_string(dir.path("pub")).unwrap();
    let convert = ["convert", "-k", "locked", "--pass", "file:pass"];
    sm2(&dir, &[&convert[..], &["--out-pass", "file:m", "-o", "new"]].concat()).is_fine();
    let text = fs::read_to_string(dir.path("new")).unwrap();
    assert!(text.starts_with("-----BEGIN ENCRYPTED PRIVATE KEY-----\n"), "{text}");
    sm2(&dir, &["pub", "-k", "new", "--pass", "file:m"]).is_fine().prints(&pem);
    let plain = sm2(&dir, &convert);
    assert!(plain.is_fine().text().starts_with("-----BEGIN PRIVATE KEY-----\n"));
    for args in [
        &["keygen", "-o", "other", "--pass", "file:empty"][..],
        &["keygen", "-o", "other", "--kdf", "sha256"],
        &["convert", "-k", "key", "--out-pass", "file:empty"],
        &["convert", "-k", "key", "--form", "sec1", "--out-pass", "file:m"],
        &["convert", "-k", "pub", "--out-pass", "file:m"],
    ] {
        sm2(&dir, args).exits(2).prints("");
    }
    assert!(!dir.path("other").exists());
}

#[test]
fn openssl_and_we_read_encrypted_keys() {
    let dir = dir();
    dir.write("pass", "secret");
    let args = ["keygen", "-o", "new", "--pub-out", "new.pub", "--kdf", "sha256"];
    sm2(&dir, &[&args[..], &["--pass", "file:pass"]].concat()).is_fine();
    let public = fs::read_to_string(dir.path("new.pub")).unwrap();
    let args = ["pkey", "-in", "new", "-passin", "file:pass", "-pubout"];
    openssl(&dir, &args).exits(0).prints(&public);
    let public = fs::read_to_string(dir.path("pub")).unwrap();
    for cipher in ["sm4-cbc", "aes-256-cbc", "aes-128-cbc"] {
        encrypt_key(&dir, cipher, "theirs");
        sm2(&dir, &["pub", "-k", "theirs", "--pass", "file:pass"]).is_fine().prints(&public);
    }
}

/// The command at a terminal, as `script` makes one.
struct Terminal {
    child: Child,
    seen: String,
}

impl Terminal {
    fn new(dir: &Dir, args: &str) -> Self {
        let line = format!("'{}' sm2 {args}", env!("CARGO_BIN_EXE_manylane"));
        let mut child: Command = tool("script");
        child.args(["-qec", &line, "/dev/null"]).current_dir(dir.path(""));
        child.stdin(Stdio::piped()).stdout(Stdio::piped());
        Terminal { child: child.spawn().unwrap(), seen: String::new() }
    }

    /// Waits for a prompt and answers it.
    fn answer(&mut self, prompt: &str, answer: &[u8]) {
        let mut byte = [0];
        let before = self.seen.len();
        while !self.seen[before..].ends_with(prompt) {
            let read = self.child.stdout.as_mut().unwrap().read(&mut byte).unwrap();
            assert_eq!(read, 1, "{prompt:?} does not follow {:?}", self.seen);
            self.seen.push(byte[0].into());
        }
        self.child.stdin.as_mut().unwrap().write_all(answer).unwrap();
    }

    fn end(mut self) -> (Option<i32>, String) {
        self.child.stdout.take().unwrap().read_to_string(&mut self.seen).unwrap();
        (self.child.wait().unwrap().code(), self.seen)
    }
}

#[test]
fn passwords_are_typed_unseen() {
    let dir = dir();
    let mut terminal = Terminal::new(&dir, "keygen -o new --pub-out new.pub --pass prompt");
    terminal.answer("Password: ", b"wrong\x15secrey\x7ft\n");
    terminal.answer("The same again: ", b"secret\n");
    let (code, seen) = terminal.end();
    assert_eq!((code, seen.contains("sec")), (Some(0), false), "{seen}");
    dir.write("pass", "secret");
    let public = fs::read_to_string(dir.path("new.pub")).unwrap();
    sm2(&dir, &["pub", "-k", "new", "--pass", "file:pass"]).is_fine().prints(&public);
    let mut terminal = Terminal::new(&dir, "keygen -o other --pass prompt");
    terminal.answer("Password: ", b"secret\n");
    terminal.answer("The same again: ", b"Secret\n");
    let (code, seen) = terminal.end();
    assert!(code == Some(2) && seen.contains("the passwords differ"), "{seen}");
    // The terminal is as before after an interruption.
    let mut terminal = Terminal::new(&dir, "pub -k new --pass prompt; stty -a");
    terminal.answer("Password: ", b"sec\x03");
    let (_, seen) = terminal.end();
    assert!(seen.contains("interrupted") && seen.contains(" echo ") && seen.contains(" icanon "));
    assert!(!dir.path("other").exists());
}

#[test]
fn terminals_get_no_binary_data() {
    let dir = dir();
    let refused = |args: &str| {
        let (code, seen) = Terminal::new(&dir, args).end();
        assert!(code == Some(2) && seen.contains("no binary data"), "{args}: {seen}");
    };
    refused("sign -k key m");
    refused("encrypt -k pub m");
    refused("convert -k key --der");
    refused("pub -k key --der");
    dir.write("zero", [0; 9]);
    for (message, shown) in [("m", true), ("zero", false), ("long", false)] {
        sm2(&dir, &["encrypt", "-k", "pub", "-o", "c", message]).is_fine();
        if shown {
            let (code, seen) = Terminal::new(&dir, "decrypt -k key c").end();
            assert_eq!((code, &seen[..]), (Some(0), "the message\r\n"));
        } else {
            refused("decrypt -k key c");
        }
    }
}

#[test]
fn signatures_hold_for_what_was_signed() {
    let dir = dir();
    dir.write("empty", "");
    let ids: [&[&str]; 4] = [&[], &["--id", ""], &["--id", "alice"], &["--id-hex", "00fF7e"]];
    for message in ["m", "long", "empty"] {
        for id in ids {
            for form in ["der", "raw"] {
                let how = [id, &["--form", form]].concat();
                sm2(&dir, &[&["sign", "-k", "key", "-o", "sig", message], &how[..]].concat())
                    .is_fine();
                let verify = ["verify", "-k", "pub", "-s", "sig"];
                let ran = sm2(&dir, &[&verify[..], &how[..], &[message]].concat());
                ran.is_fine().prints("");
                let content = fs::read(dir.path(message)).unwrap();
                sm2_reading(&dir, content, &[&verify[..], &how[..]].concat()).is_fine();
                let ran = sm2(&dir, &[&verify[..], &how[..], &["key"]].concat());
                ran.exits(1).prints("");
                assert_eq!(ran.err, "manylane: key: the signature is not valid\n");
            }
        }
    }
    let sig = fs::read(dir.path("sig")).unwrap();
    let verify = |sig: &[u8], how: &[&str]| {
        dir.write("bad", sig);
        sm2(&dir, &[&["verify", "-k", "pub", "-s", "bad", "m"], how].concat())
    };
    let der = sm2(&dir, &["sign", "-k", "key", "m"]).out;
    verify(&der, &[]).is_fine();
    for bad in [&der[1..], &[&der[..], b"\0"].concat(), &sig, b"", &noise(0)] {
        let ran = verify(bad, &[]);
        ran.exits(1).prints("");
        assert_eq!(ran.err, "manylane: m: the signature is not valid\n");
    }
    verify(&der, &["--id", "other"]).exits(1);
    verify(&der, &["--form", "raw"]).exits(1);
    let ran = sm2(&dir, &["verify", "-k", "pub", "-s", "gone", "m"]);
    ran.exits(1).says("gone: No such file or directory");
    let ran = sm2(&dir, &["sign", "-k", "key", "gone"]);
    ran.exits(1).prints("").says("gone: No such file or directory");
    let long = "x".repeat(8192);
    sm2(&dir, &["sign", "-k", "key", "--id", &long, "m"]).exits(2).prints("");
    sm2(&dir, &["sign", "-k", "key", "--id", "x", "--id-hex", "00", "m"]).exits(2);
    sm2(&dir, &["sign", "-k", "key", "--id-hex", "0", "m"]).exits(2);
}

#[test]
fn digests_can_be_signed() {
    let dir = dir();
    let key = SecretKey::decode(&fs::read(dir.path("key")).unwrap(), None).unwrap();
    let hasher = Signer::new(&key, b"alice").unwrap().hasher();
    let e: [u8; 32] = hasher.chain_update("the message\n").finalize().into();
    let digits: String = e.iter().map(|byte| format!("{byte:02X}")).collect();
    dir.write("e", e).write("hex", digits.clone() + "\n");
    for (signed, verified) in [("e", "hex"), ("hex", "e")] {
        sm2(&dir, &["sign", "-k", "key", "--digest", "-o", "sig", signed]).is_fine();
        sm2(&dir, &["verify", "-k", "pub", "--digest", "-s", "sig", verified]).is_fine();
        sm2(&dir, &["verify", "-k", "pub", "--id", "alice", "-s", "sig", "m"]).is_fine();
        sm2(&dir, &["verify", "-k", "pub", "-s", "sig", "m"]).exits(1);
    }
    let ran = sm2(&dir, &["sign", "-k", "key", "--digest", "m"]);
    ran.exits(1).says("m: not a digest of 32 bytes or 64 hexadecimal digits");
    sm2(&dir, &["sign", "-k", "key", "--digest", "--id", "alice", "e"]).exits(2);
}

#[test]
fn openssl_and_we_verify_each_other() {
    let dir = dir();
    for (ours, theirs) in [("", None), ("alice", Some("distid:alice"))] {
        let theirs = theirs.map_or(vec![], |id| vec!["-pkeyopt", id]);
        for message in ["m", "long"] {
            sm2(&dir, &["sign", "-k", "key", "--id", ours, "-o", "sig", message]).is_fine();
            let verify = ["pkeyutl", "-verify", "-pubin", "-inkey", "pub", "-sigfile", "sig"];
            let with = ["-rawin", "-digest", "sm3", "-in", message];
            openssl(&dir, &[&verify[..], &with[..], &theirs[..]].concat()).exits(0);
            let sign = ["pkeyutl", "-sign", "-inkey", "key", "-out", "sig"];
            openssl(&dir, &[&sign[..], &with[..], &theirs[..]].concat()).exits(0);
            sm2(&dir, &["verify", "-k", "pub", "--id", ours, "-s", "sig", message]).is_fine();
            sm2(&dir, &["verify", "-k", "pub", "-s", "sig", message]).exits(1);
        }
    }
}

#[test]
fn openssl_and_we_decrypt_each_other() {
    let dir = dir();
    for message in ["m", "long"] {
        let content = fs::read(dir.path(message)).unwrap();
        sm2(&dir, &["encrypt", "-k", "pub", "-o", "ours", message]).is_fine();
        let ran = openssl(&dir, &["pkeyutl", "-decrypt", "-inkey", "key", "-in", "ours"]);
        assert!(ran.exits(0).out == content, "{message}");
        let args = ["pkeyutl", "-encrypt", "-pubin", "-inkey", "pub", "-in", message];
        let ran = openssl(&dir, &args);
        let ran = sm2_reading(&dir, &ran.exits(0).out, &["decrypt", "-k", "key"]);
        assert!(ran.is_fine().out == content, "{message}");
    }
}

/// From and to files, pipes, and files that the shell has opened.
#[test]
fn messages_come_back_in_every_form_and_every_way() {
    let dir = dir();
    for message in ["m", "long"] {
        let content = fs::read(dir.path(message)).unwrap();
        for form in FORMS {
            let form = form.join(" ");
            let decrypts = |how: &str, decrypt: &str| {
                let ran = sh(&dir, &decrypt.replace("SM2", "\"$0\" sm2 decrypt -k key"));
                assert!(ran.is_fine().out == content, "{form}, {how}, {decrypt}");
            };
            for encrypt in [
                "SM2 -o c MESSAGE",
                "SM2 -j 1 -o c MESSAGE",
                "SM2 MESSAGE >c",
                "SM2 MESSAGE >>c",
                "SM2 <MESSAGE >c",
                "SM2 - <MESSAGE | cat >c",
                "cat MESSAGE | SM2 -o c",
                "cat MESSAGE | SM2 >c",
            ] {
                let script = encrypt.replace("MESSAGE", message);
                let script = script.replace("SM2", &format!("\"$0\" sm2 encrypt -k pub {form}"));
                sh(&dir, &format!("rm -f c; {script}")).is_fine();
                decrypts(encrypt, "cat c | SM2 --form auto");
            }
            for decrypt in [
                "-o out c; cat out",
                "-j 1 -o out c; cat out",
                "c | cat",
                "<c | cat",
                "-o out <c; cat out",
            ] {
                decrypts("to a file", &format!("SM2 {form} {decrypt}"));
            }
        }
    }
    // Where the output already has something, and the input has been read from.
    for form in FORMS {
        let form = form.join(" ");
        let script = format!(
            "head -c 999 long >in; cat long >>in
             {{ echo first; {{ head -c 999 >/dev/null; \"$0\" sm2 encrypt -k pub {form}; }} <in; }} >c
             {{ read -r first; \"$0\" sm2 decrypt -k key {form}; }} <c | cmp - long"
        );
        // Not every `head` gives back what it has read too much.
        sh(&dir, &script.replace("head -c 999 >/dev/null", "dd bs=999 count=1 2>/dev/null >&2"))
            .exits(0);
    }
}

#[test]
fn whatever_is_wrong_there_is_one_message_and_no_output() {
    let dir = dir();
    sm2(&dir, &["keygen", "-o", "other"]).is_fine();
    let names = ["bad", "c", "key", "long", "m", "other", "pub"];
    for message in ["m", "long"] {
        for form in FORMS {
            sm2(&dir, &[&["encrypt", "-k", "pub", "-o", "c", message], form].concat()).is_fine();
            let good = fs::read(dir.path("c")).unwrap();
            let altered = |at: usize| {
                let mut bad = good.clone();
                bad[at] ^= 1;
                bad
            };
            let mut bad = vec![vec![], good[2..].to_vec(), [&good[..], b"x"].concat()];
            bad.extend([0, 1, 50, 100, good.len() - 1].map(altered));
            bad.extend([1, 33, 97, good.len() - 1].map(|len| good[..len].to_vec()));
            let check = |key: &str| {
                let decrypt = ["decrypt", "-k", key];
                for to in [&["bad"][..], &["-o", "out", "bad"]] {
                    let ran = sm2(&dir, &[&decrypt[..], form, to].concat());
                    ran.exits(1).prints("");
                    assert_eq!(ran.err, "manylane: bad: the ciphertext does not decrypt\n");
                }
                let ran = sm2(&dir, &[&decrypt[..], &["--form", "auto", "bad"]].concat());
                ran.exits(1).prints("");
                assert_eq!(ran.err, "manylane: bad: the ciphertext does not decrypt\n");
                assert_eq!(dir.names(), names);
            };
            for bad in bad {
                dir.write("bad", bad);
                check("key");
            }
            dir.write("bad", &good);
            check("other");
        }
    }
    // What was there before stays.
    dir.write("out", "old");
    sm2(&dir, &["decrypt", "-k", "other", "-o", "out", "c"]).exits(1);
    assert_eq!(fs::read(dir.path("out")).unwrap(), b"old");
}

#[test]
fn messages_that_are_decrypted_are_their_owners() {
    let dir = dir();
    sm2(&dir, &["encrypt", "-k", "pub", "-o", "c", "m"]).is_fine();
    sm2(&dir, &["decrypt", "-k", "key", "-o", "out", "c"]).is_fine();
    assert_eq!(mode(&dir, "out"), 0o600);
    fs::set_permissions(dir.path("out"), fs::Permissions::from_mode(0o640)).unwrap();
    sm2(&dir, &["decrypt", "-k", "key", "-o", "out", "c"]).is_fine();
    assert_eq!(mode(&dir, "out"), 0o640);
}

#[test]
fn what_cannot_be_encrypted_is_said() {
    let dir = dir();
    dir.write("empty", "");
    for to in [&["empty"][..], &["-o", "out", "empty"]] {
        let ran = sm2(&dir, &[&["encrypt", "-k", "pub"], to].concat());
        ran.exits(1).prints("").says("SM2 encrypts no empty message");
    }
    for verb in ["encrypt", "decrypt"] {
        let key = if verb == "encrypt" { "pub" } else { "key" };
        sm2(&dir, &[verb, "-k", key, "gone"]).exits(1).says("gone: No such file or directory");
        sm2(&dir, &[verb, "-k", key, "--no-prefix", "m"]).exits(2).prints("");
        let ran = sm2(&dir, &[verb, "-k", key, "-o", "m", "m"]);
        ran.exits(1).says("m: input file is output file");
    }
    sm2(&dir, &["decrypt", "-k", "key", "--form", "auto", "--no-prefix", "m"]).exits(2);
    sm2(&dir, &["encrypt", "-k", "pub", "--form", "auto", "m"]).exits(2);
    assert!(!dir.path("out").exists());
    // A temporary file that there cannot be.
    let spool = |script: &str| sh(&dir, &format!("export TMPDIR=gone; {script}"));
    let why = "a temporary file in TMPDIR: No such file or directory";
    spool("\"$0\" sm2 encrypt -k pub long | cat").prints("").says(why);
    sm2(&dir, &["encrypt", "-k", "pub", "-o", "c", "long"]).is_fine();
    spool("cat c | \"$0\" sm2 decrypt -k key").exits(1).prints("").says(why);
    for full in ["decrypt -k key c", "encrypt -k pub --form c1c2c3 long"] {
        for threads in ["", " -j 1", " -j 2"] {
            let script = format!("\"$0\" sm2 {full}{threads} >/dev/full");
            sh(&dir, &script).exits(1).says("write error: No space left on device");
        }
    }
}

#[test]
fn an_interrupted_command_leaves_nothing_behind() {
    let dir = dir();
    sm2(&dir, &["encrypt", "-k", "pub", "-o", "c", "long"]).is_fine();
    let ciphertext = fs::read(dir.path("c")).unwrap();
    dir.fifo("pipe");
    let before = dir.names();
    for args in [&["encrypt", "-k", "pub"], &["decrypt", "-k", "key"]] {
        let mut child = command();
        child.arg("sm2").args(args).args(["-o", "out", "pipe"]).current_dir(dir.path(""));
        let mut child = child.spawn().unwrap();
        let mut pipe = File::options().write(true).open(dir.path("pipe")).unwrap();
        // More than a pipe holds, so the command has taken what came first.
        pipe.write_all(&ciphertext[..1 << 20]).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(dir.names(), before, "{args:?}");
    }
}

/// Ninety-six MiB with room for less than that, libraries and stacks included.
#[test]
fn memory_is_bounded() {
    let dir = dir();
    sh(&dir, "head -c 100663296 /dev/zero >huge").is_fine();
    let limited = |script: &str| sh(&dir, &format!("ulimit -v 81920; {script}"));
    limited("\"$0\" sm2 encrypt -k pub -o c huge").is_fine();
    limited("\"$0\" sm2 decrypt -k key -o out c").is_fine();
    sh(&dir, "cmp out huge").is_fine();
    limited("cat huge | \"$0\" sm2 encrypt -k pub | \"$0\" sm2 decrypt -k key | cmp - huge")
        .is_fine();
    limited("\"$0\" sm2 sign -k key -o sig huge && \"$0\" sm2 verify -k pub -s sig huge").is_fine();
}

#[test]
fn long_work_shows_progress_if_asked_to() {
    let dir = dir();
    dir.fifo("pipe");
    let path = dir.path("pipe");
    let slow = std::thread::spawn(move || {
        let mut pipe = File::options().write(true).open(path).unwrap();
        pipe.write_all(&noise(1 << 20)).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(1500));
    });
    let ran = sm2(&dir, &["encrypt", "-k", "pub", "--progress", "always", "-o", "c", "pipe"]);
    slow.join().unwrap();
    assert!(ran.exits(0).err.contains("B/s"), "{}", ran.err);
}

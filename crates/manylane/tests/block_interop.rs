//! Both ways with the `openssl` command, 3.0 or later, and with Debian's pyca/cryptography. They must be
//! there: nothing is skipped.

use std::{
    io::Write as _,
    process::{Command, Stdio},
};

use cipher::KeyInit;
use manylane::{
    Error,
    aes::{Aes128, Aes192, Aes256},
    block::{
        Block, BlockCipher, Ccm, Ctr128, Gcm, Ofb, TweakOrder, Xts, cbc, cfb, cfb8, ecb, pkcs7,
    },
    sm4::Sm4,
};
use manylane_vectors::painted;

const LENGTHS: [usize; 9] = [0, 1, 15, 16, 17, 64, 1000, 4096, 70_001];

/// What a program prints, given its standard input.
fn run(program: &str, arguments: &[&str], input: &[u8]) -> Vec<u8> {
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("these tests need {program}: {error}"));
    let mut stdin = child.stdin.take().unwrap();
    let output = std::thread::scope(|scope| {
        scope.spawn(move || stdin.write_all(input).unwrap());
        child.wait_with_output().unwrap()
    });
    assert!(output.status.success(), "{program} {arguments:?}");
    output.stdout
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn openssl(cipher: &str, key: &[u8], iv: &[u8], decrypt: bool, input: &[u8]) -> Vec<u8> {
    let (cipher, key, iv) = (format!("-{cipher}"), hex(key), hex(iv));
    let mut arguments = vec!["enc", &cipher, "-K", &key];
    if !cipher.ends_with("ecb") {
        arguments.extend(["-iv", &iv]);
    }
    if decrypt {
        arguments.push("-d");
    }
    run("openssl", &arguments, input)
}

/// Our encryption and decryption in a mode as OpenSSL's command has it: with padding where blocks are whole.
fn ours<C: BlockCipher>(mode: &str, c: C, iv: &Block, decrypt: bool, input: &[u8]) -> Vec<u8> {
    let mut data = input.to_vec();
    let unpadded = |unpadded: Result<&mut [u8], Error>| unpadded.unwrap().to_vec();
    match (mode, decrypt) {
        ("ecb", false) => return pkcs7::encrypt(ecb::Encryptor::new(c), input),
        ("ecb", true) => {
            return unpadded(pkcs7::decrypt_in_place(ecb::Decryptor::new(c), &mut data));
        }
        ("cbc", false) => return pkcs7::encrypt(cbc::Encryptor::new(c, iv), input),
        ("cbc", true) => {
            return unpadded(pkcs7::decrypt_in_place(cbc::Decryptor::new(c, iv), &mut data));
        }
        ("cfb", false) => cfb::Encryptor::new(c, iv).update(&mut data),
        ("cfb", true) => cfb::Decryptor::new(c, iv).update(&mut data),
        ("cfb8", false) => cfb8::Encryptor::new(c, iv).update(&mut data),
        ("cfb8", true) => cfb8::Decryptor::new(c, iv).update(&mut data),
        ("ofb", _) => Ofb::new(c, iv).update(&mut data),
        ("ctr", _) => Ctr128::new(c, iv).update(&mut data).unwrap(),
        _ => panic!("no mode {mode}"),
    }
    data
}

fn with_openssl<C: BlockCipher + KeyInit>(name: &str, key_len: usize, modes: &[&str]) {
    let key = painted(key_len, 7);
    let cipher = C::new_from_slice(&key).unwrap();
    // The counter's last 32 bits come to their end within the first blocks.
    let mut iv: Block = painted(16, 90).try_into().unwrap();
    iv[12..].copy_from_slice(&[0xff, 0xff, 0xff, 0xfe]);
    for mode in modes {
        for len in LENGTHS {
            let plain = painted(len, 11);
            let full = format!("{name}-{mode}");
            let by_openssl = openssl(&full, &key, &iv, false, &plain);
            let by_us = ours(mode, cipher.clone(), &iv, false, &plain);
            assert!(by_us == by_openssl, "{full} {len}");
            assert!(ours(mode, cipher.clone(), &iv, true, &by_openssl) == plain, "{full} {len}");
            assert!(openssl(&full, &key, &iv, true, &by_us) == plain, "{full} {len}");
        }
    }
}

#[test]
fn openssl_and_we_read_each_other() {
    let modes = ["ecb", "cbc", "cfb", "cfb8", "ofb", "ctr"];
    with_openssl::<Aes128>("aes-128", 16, &modes);
    with_openssl::<Aes192>("aes-192", 24, &modes);
    with_openssl::<Aes256>("aes-256", 32, &modes);
    // It has no CFB of one byte for SM4.
    with_openssl::<Sm4>("sm4", 16, &["ecb", "cbc", "cfb", "ofb", "ctr"]);
}

/// One line a message: algorithm, mode, what to do, key, IV, associated data and data; the answer is what
/// comes out, with the tag.
const PEER: &str = r"
import sys
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESCCM, AESGCM
for line in sys.stdin:
    algorithm, mode, verb, *fields = line.rstrip('\n').split(',')
    key, iv, aad, data = map(bytes.fromhex, fields)
    if mode in ('gcm', 'ccm'):
        aead = AESGCM(key) if mode == 'gcm' else AESCCM(key, tag_length=16)
        out = getattr(aead, verb)(iv, data, aad)
    else:
        kind = {'xts': modes.XTS, 'ctr': modes.CTR, 'cbc': modes.CBC}[mode]
        cipher = Cipher(getattr(algorithms, algorithm)(key), kind(iv))
        way = cipher.encryptor() if verb == 'encrypt' else cipher.decryptor()
        out = way.update(data) + way.finalize()
    print(out.hex())
";

/// What pyca/cryptography makes of these lines. Debian's Python has it as a package.
fn pyca(lines: &[String]) -> Vec<String> {
    let out = run("/usr/bin/python3", &["-c", PEER], (lines.join("\n") + "\n").as_bytes());
    let out = String::from_utf8(out).unwrap();
    let out: Vec<String> = out.lines().map(str::to_owned).collect();
    assert_eq!(out.len(), lines.len());
    out
}

/// A message that we encrypted.
struct Message {
    algorithm: &'static str,
    mode: &'static str,
    key: Vec<u8>,
    iv: Vec<u8>,
    aad: Vec<u8>,
    plain: Vec<u8>,
    sealed: Vec<u8>,
}

impl Message {
    fn line(&self, verb: &str, data: &[u8]) -> String {
        let fields = [&self.key, &self.iv, &self.aad, data].map(hex).join(",");
        format!("{},{},{verb},{fields}", self.algorithm, self.mode)
    }
}

fn messages<C: BlockCipher + KeyInit>(
    algorithm: &'static str,
    key_len: usize,
    modes: &[&'static str],
) -> Vec<Message> {
    let mut messages = Vec::new();
    for &mode in modes {
        for len in LENGTHS {
            let key = painted(if mode == "xts" { 2 * key_len } else { key_len }, 7);
            let iv_len = match mode {
                "gcm" if len % 2 == 0 => 12,
                "gcm" => 20,
                "ccm" => 11,
                _ => 16,
            };
            let aad = if ["gcm", "ccm"].contains(&mode) { painted(len % 60, 3) } else { vec![] };
            let (iv, plain) = (painted(iv_len, len), painted(len, 11));
            let mut sealed = plain.clone();
            let cipher = || C::new_from_slice(&key).unwrap();
            match mode {
                "xts" | "cbc" if len < 16 || mode == "cbc" && len % 16 != 0 => continue,
                "gcm" => {
                    let tag = Gcm::new(cipher()).encrypt_detached(&iv, &aad, &mut sealed).unwrap();
                    sealed.extend_from_slice(tag.as_ref());
                }
                "ccm" => {
                    let tag = Ccm::new(cipher()).encrypt_detached(&iv, &aad, &mut sealed).unwrap();
                    sealed.extend_from_slice(tag.as_ref());
                }
                "xts" => {
                    let xts = Xts::<C>::new(&key, TweakOrder::Ieee).unwrap();
                    xts.encrypt(iv.as_array().unwrap(), &mut sealed).unwrap();
                }
                "cbc" => {
                    let iv = iv.as_array().unwrap();
                    cbc::Encryptor::new(cipher(), iv).update(&mut sealed).unwrap();
                }
                _ => Ctr128::new(cipher(), iv.as_array().unwrap()).update(&mut sealed).unwrap(),
            }
            messages.push(Message { algorithm, mode, key, iv, aad, plain, sealed });
        }
    }
    messages
}

#[test]
fn pyca_and_we_read_each_other() {
    let mut all = messages::<Aes128>("AES", 16, &["gcm", "ccm", "xts"]);
    all.extend(messages::<Aes192>("AES", 24, &["gcm", "ccm"]));
    all.extend(messages::<Aes256>("AES", 32, &["gcm", "ccm", "xts"]));
    all.extend(messages::<Sm4>("SM4", 16, &["ctr", "cbc"]));
    let encrypt: Vec<String> = all.iter().map(|m| m.line("encrypt", &m.plain)).collect();
    let decrypt: Vec<String> = all.iter().map(|m| m.line("decrypt", &m.sealed)).collect();
    // What is the same as ours, we read.
    for (message, sealed) in all.iter().zip(pyca(&encrypt)) {
        let what = (message.algorithm, message.mode, message.key.len(), message.plain.len());
        assert!(sealed == hex(&message.sealed), "{what:?}");
    }
    for (message, plain) in all.iter().zip(pyca(&decrypt)) {
        let what = (message.algorithm, message.mode, message.key.len(), message.plain.len());
        assert!(plain == hex(&message.plain), "{what:?}");
    }
}

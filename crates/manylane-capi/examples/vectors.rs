//! Writes `vectors/` as a header for the tests in C, as far as its strings are not too long for C.

use std::fmt::Write as _;

use manylane_vectors::{
    block::{self, Mode},
    painted, sha3, sm2,
};

/// Bytes of a string at most: ISO C promises 4095 characters of a literal.
const LONGEST: usize = 2000;

/// A table of rows of strings.
struct Table {
    name: &'static str,
    columns: &'static [&'static str],
    rows: Vec<Vec<String>>,
    /// Rows with a text that is too long for C.
    left_out: usize,
}

impl Table {
    fn new(name: &'static str, columns: &'static [&'static str]) -> Self {
        Table { name, columns, rows: Vec::new(), left_out: 0 }
    }

    /// A row, unless C cannot have it.
    fn push(&mut self, row: Vec<String>) {
        assert_eq!(row.len(), self.columns.len());
        if row.iter().all(|text| text.len() <= 2 * LONGEST) {
            self.rows.push(row);
        } else {
            self.left_out += 1;
        }
    }

    fn print(&self, out: &mut String) -> std::fmt::Result {
        let (rows, left_out) = (self.rows.len(), self.left_out);
        assert!(rows > left_out, "{}: {rows} rows, {left_out} too long", self.name);
        writeln!(out, "/* {rows} rows; {left_out} are too long for a string of C. */")?;
        writeln!(
            out,
            "static const struct {{ const char *{}; }} {}[] = {{",
            self.columns.join(", *"),
            self.name
        )?;
        for row in &self.rows {
            writeln!(out, "  {{\"{}\"}},", row.join("\", \""))?;
        }
        writeln!(out, "}};\n")
    }
}

fn hex(bytes: impl AsRef<[u8]>) -> String {
    bytes.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn hashes() -> Table {
    let mut table = Table::new("hash_vectors", &["algorithm", "message", "digest"]);
    let sm3 = manylane_vectors::sm3();
    for v in sm3.examples {
        table.push(vec!["sm3".into(), hex(v.message), hex(v.digest)]);
    }
    for v in sm3.painted {
        table.push(vec!["sm3".into(), hex(painted(v.length, 0)), hex(v.digest)]);
    }
    for v in manylane_vectors::sha3().hashes {
        let name = match v.function {
            sha3::Function::Sha3_224 => "sha3-224",
            sha3::Function::Sha3_256 => "sha3-256",
            sha3::Function::Sha3_384 => "sha3-384",
            sha3::Function::Sha3_512 => "sha3-512",
            sha3::Function::Keccak256 => "keccak-256",
            sha3::Function::Shake128 => "shake128",
            sha3::Function::Shake256 => "shake256",
            sha3::Function::TurboShake128 if v.domain == Some(0x1f) => "turboshake128",
            sha3::Function::TurboShake256 if v.domain == Some(0x1f) => "turboshake256",
            _ => continue,
        };
        if v.skip == 0 {
            table.push(vec![name.into(), hex(v.message.get()), hex(v.output)]);
        }
    }
    for v in manylane_vectors::sha3().kt {
        let name = match v.function {
            sha3::Function::Kt128 => "kt128",
            sha3::Function::Kt256 => "kt256",
            _ => continue,
        };
        if v.skip == 0 && v.customization.is_empty() {
            table.push(vec![name.into(), hex(v.message.get()), hex(v.output)]);
        }
    }
    table
}

fn macs(out: &mut String) -> std::fmt::Result {
    let sm3 = manylane_vectors::sm3();
    let mut table = Table::new("hmac_vectors", &["key", "message", "code"]);
    for v in &sm3.hmac {
        table.push(vec![hex(v.key()), hex(v.message()), hex(v.tag)]);
    }
    table.print(out)?;
    let mut table = Table::new("hkdf_vectors", &["ikm", "salt", "info", "okm"]);
    for v in sm3.hkdf {
        table.push(vec![hex(v.ikm), hex(v.salt), hex(v.info), hex(v.okm)]);
    }
    table.print(out)?;
    let mut table = Table::new("pbkdf2_vectors", &["password", "salt", "iterations", "key"]);
    for v in sm3.pbkdf2.into_iter().filter(|v| v.iterations <= 10_000) {
        table.push(vec![hex(v.password), hex(v.salt), v.iterations.to_string(), hex(v.key)]);
    }
    table.print(out)
}

fn ciphers(out: &mut String) -> std::fmt::Result {
    let mut plain = Table::new(
        "cipher_vectors",
        &["algorithm", "padding", "key", "iv", "message", "ciphertext"],
    );
    let mut aead = Table::new(
        "aead_vectors",
        &["algorithm", "key", "nonce", "aad", "message", "ciphertext", "tag", "valid"],
    );
    let mut xts =
        Table::new("xts_vectors", &["algorithm", "gb", "key", "tweak", "message", "ciphertext"]);
    for set in [block::sm4(), block::aes()] {
        for case in set.cases {
            let block::Ciphertext::Bytes(ciphertext) = &case.ciphertext else { continue };
            let keys = if matches!(case.mode, Mode::Xts | Mode::XtsGb) { 2 } else { 1 };
            let cipher = match set.algorithm.as_str() {
                "SM4" => "sm4".to_owned(),
                _ => format!("aes-{}", 8 * case.key.len() / keys),
            };
            let (mode, padding) = match case.mode {
                Mode::Ecb => ("ecb", "0"),
                Mode::Cbc => ("cbc", "0"),
                Mode::CbcPkcs7 => ("cbc", "1"),
                Mode::Cfb => ("cfb", "0"),
                Mode::Cfb8 => ("cfb8", "0"),
                Mode::Ofb => ("ofb", "0"),
                Mode::Ctr128 => ("ctr", "0"),
                Mode::Gcm => ("gcm", ""),
                Mode::Ccm => ("ccm", ""),
                Mode::Xts => ("xts", "0"),
                Mode::XtsGb => ("xts", "1"),
                Mode::Ctr32 | Mode::Ctr64 => continue,
            };
            let name = format!("{cipher}-{mode}");
            let (key, iv) = (hex(&case.key), hex(&case.iv));
            let (message, ciphertext) = (hex(&case.plaintext), hex(ciphertext));
            match case.mode {
                Mode::Gcm | Mode::Ccm => aead.push(vec![
                    name,
                    key,
                    iv,
                    hex(&case.aad),
                    message,
                    ciphertext,
                    hex(&case.tag),
                    u8::from(case.is_valid).to_string(),
                ]),
                Mode::Xts | Mode::XtsGb => {
                    xts.push(vec![name, padding.into(), key, iv, message, ciphertext]);
                }
                Mode::Ecb => {
                    plain.push(vec![name, padding.into(), key, String::new(), message, ciphertext]);
                }
                _ => plain.push(vec![name, padding.into(), key, iv, message, ciphertext]),
            }
        }
    }
    plain.print(out)?;
    aead.print(out)?;
    xts.print(out)
}

fn curve(out: &mut String) -> std::fmt::Result {
    let sm2 = manylane_vectors::sm2();
    let mut table = Table::new("key_vectors", &["d", "point", "compressed"]);
    for v in &sm2.keys {
        table.push(vec![hex(v.d), hex(v.point), hex(v.compressed)]);
    }
    table.print(out)?;
    let mut table = Table::new("bad_point_vectors", &["point"]);
    for v in &sm2.bad_points {
        table.push(vec![hex(&v.bytes)]);
    }
    table.print(out)?;
    let mut table = Table::new("signature_vectors", &["d", "id", "message", "r", "s", "der"]);
    for v in &sm2.signatures {
        table.push(vec![hex(v.d), hex(&v.id), hex(v.message()), hex(v.r), hex(v.s), hex(&v.der)]);
    }
    table.print(out)?;
    let mut table = Table::new("bad_signature_vectors", &["d", "e", "r", "s"]);
    for v in &sm2.bad_signatures {
        table.push(vec![hex(v.d), hex(v.e), hex(v.r), hex(v.s)]);
    }
    table.print(out)?;
    let mut table = Table::new("ciphertext_vectors", &["d", "message", "c1", "c3", "c2", "der"]);
    for v in &sm2.ciphertexts {
        if let sm2::C2::Whole { c2, der } = &v.c2 {
            let parts = [hex(v.d), hex(v.message()), hex(v.c1), hex(v.c3), hex(c2), hex(der)];
            table.push(parts.into());
        }
    }
    table.print(out)?;
    let mut table = Table::new("bad_ciphertext_vectors", &["d", "c1", "c3", "c2"]);
    for v in &sm2.bad_ciphertexts {
        table.push(vec![hex(v.d), hex(v.c1), hex(v.c3), hex(&v.c2)]);
    }
    table.print(out)?;
    let mut table = Table::new("ecdh_vectors", &["d", "e", "x"]);
    for v in &sm2.ecdh {
        table.push(vec![hex(v.d), hex(v.e), hex(v.x)]);
    }
    table.print(out)
}

fn main() -> std::fmt::Result {
    let mut out = String::from("/* Of vectors/, by the example `vectors`. */\n");
    hashes().print(&mut out)?;
    macs(&mut out)?;
    ciphers(&mut out)?;
    curve(&mut out)?;
    print!("{out}");
    Ok(())
}

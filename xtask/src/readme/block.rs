//! The tables of runs of `bench aes` and `bench sm4`.

use serde_json::Value;

use super::{median, provenance, ratio};
use crate::Result;

/// A row: its words, and the group that holds its figures.
type Row = (&'static str, &'static str);

const AES: [Row; 19] = [
    ("AES-128-CTR", "aes/ctr-128/8192"),
    ("AES-192-CTR", "aes/ctr-192/8192"),
    ("AES-256-CTR", "aes/ctr-256/8192"),
    ("AES-128-GCM, encrypt", "aes/gcm-128/8192"),
    ("AES-128-GCM, decrypt", "aes/gcm-decrypt-128/8192"),
    ("AES-256-GCM, encrypt", "aes/gcm-256/8192"),
    ("AES-256-GCM, decrypt", "aes/gcm-decrypt-256/8192"),
    ("AES-128-XTS, encrypt", "aes/xts-128/8192"),
    ("AES-256-XTS, encrypt", "aes/xts-256/8192"),
    ("AES-128-CBC, decrypt", "aes/cbc-decrypt-128/8192"),
    ("AES-128-CBC, encrypt", "aes/cbc-encrypt-128/8192"),
    ("AES-128-CBC, 16 encryptions", "aes/cbc-encrypt-many-128/8192"),
    ("AES-128-CCM, encrypt", "aes/ccm-128/8192"),
    ("AES-128-CFB, decrypt", "aes/cfb-decrypt-128/8192"),
    ("AES-128-OFB", "aes/ofb-128/8192"),
    ("AES-128-ECB, encrypt", "aes/ecb-128/8192"),
    ("AES-128-GCM, 64 × 256 B", "aes/gcm-many-128/256"),
    ("AES-128-CTR, 256 B", "aes/ctr-128/256"),
    ("AES-128-CTR, 1 MiB", "aes/ctr-128/1048576"),
];

const SM4: [Row; 15] = [
    ("SM4-CTR", "sm4/ctr/8192"),
    ("SM4-GCM, encrypt", "sm4/gcm/8192"),
    ("SM4-GCM, decrypt", "sm4/gcm-decrypt/8192"),
    ("SM4-XTS of GB/T 17964, encrypt", "sm4/xts-gb/8192"),
    ("SM4-XTS of IEEE 1619, encrypt", "sm4/xts/8192"),
    ("SM4-CBC, decrypt", "sm4/cbc-decrypt/8192"),
    ("SM4-CBC, encrypt", "sm4/cbc-encrypt/8192"),
    ("SM4-CBC, 16 encryptions", "sm4/cbc-encrypt-many/8192"),
    ("SM4-CCM, encrypt", "sm4/ccm/8192"),
    ("SM4-CFB, decrypt", "sm4/cfb-decrypt/8192"),
    ("SM4-OFB", "sm4/ofb/8192"),
    ("SM4-ECB, encrypt", "sm4/ecb/8192"),
    ("SM4-GCM, 64 × 256 B", "sm4/gcm-many/256"),
    ("SM4-CTR, 256 B", "sm4/ctr/256"),
    ("SM4-CTR, 1 MiB", "sm4/ctr/1048576"),
];

const OURS: &str = "manylane";
const PORTABLE: &str = "portable";
const PEERS: [&str; 2] = ["OpenSSL", "libgcrypt"];

pub(super) fn aes(summary: &Value) -> Result<String> {
    table(summary, "AES", &AES)
}

pub(super) fn sm4(summary: &Value) -> Result<String> {
    table(summary, "SM4", &SM4)
}

/// Rates of ours without instructions for the cipher and with the best there are, and of the others.
fn table(summary: &Value, cipher: &str, rows: &[Row]) -> Result<String> {
    let best = kernel(summary, rows[0].1)?;
    let mut out = format!("| {cipher} on one core, GB/s, 8 KiB | manylane: {best} | portable |");
    out += &format!(" {} |\n|---|---|---|{}\n", PEERS.join(" | "), "---|".repeat(PEERS.len()));
    for (words, group) in rows {
        let rate = |name: &str| median(summary, group, name, "gb_per_s");
        let ours = rate(OURS).ok_or_else(|| format!("{group}: ours was not measured"))?;
        let portable = rate(PORTABLE).map_or_else(|| "–".to_owned(), figure);
        out += &format!("| {words} | **{}** | {portable} |", figure(ours));
        for peer in PEERS {
            out += &match (rate(peer), ratio(summary, group, OURS, peer)) {
                (Some(theirs), Some(ratio)) => {
                    format!(" {}: manylane is {ratio:.2} × |", figure(theirs))
                }
                _ => " – |".to_owned(),
            };
        }
        out += "\n";
    }
    Ok(out + &format!("\n{}. {}", versions(summary), provenance(summary).trim_start()))
}

/// The machine that was the best.
fn kernel(summary: &Value, group: &str) -> Result<String> {
    let mut results = summary["results"].as_array().ok_or("no results")?.iter();
    let ours = results.find(|r| r["group"] == group && r["contender"] == OURS);
    let kernel = ours.and_then(|ours| ours["kernel"].as_str());
    kernel.map(str::to_owned).ok_or_else(|| format!("{group}: ours was not measured"))
}

/// What the peers say of themselves.
fn versions(summary: &Value) -> String {
    let peers = summary["setup"]["peers"].as_array().map(Vec::as_slice).unwrap_or_default();
    let version = |name: &&str| {
        let peer = peers.iter().find(|peer| peer["name"] == *name)?;
        peer["version"].as_str()
    };
    PEERS.iter().filter_map(version).collect::<Vec<_>>().join("; ")
}

/// With as many digits as a reader needs.
fn figure(value: f64) -> String {
    match value {
        v if v >= 10.0 => format!("{v:.1}"),
        v if v >= 1.0 => format!("{v:.2}"),
        v => format!("{v:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn rows_have_their_figures() {
        let result = |group: &str, contender: &str, rate: f64| {
            json!({
                "group": group, "contender": contender, "kernel": "vaes",
                "metrics": {"gb_per_s": {"median": rate}},
            })
        };
        let mut results = AES.map(|(_, group)| result(group, OURS, 18.25)).to_vec();
        results.push(result("aes/ctr-128/8192", PORTABLE, 0.25));
        results.push(result("aes/ctr-128/8192", "OpenSSL", 7.5));
        let mut summary = json!({
            "setup": {"peers": [{"name": "OpenSSL", "version": "OpenSSL 3"}]},
            "results": results,
            "ratios": [{
                "group": "aes/ctr-128/8192", "contender": OURS, "base": "OpenSSL", "median": 2.436,
            }],
        });
        let table = aes(&summary).unwrap();
        let row = "| AES-128-CTR | **18.2** | 0.250 | 7.50: manylane is 2.44 × | – |\n";
        assert!(table.contains(row) && table.contains("manylane: vaes"), "{table}");
        assert!(table.contains("| AES-128-OFB | **18.2** | – | – | – |\n"), "{table}");
        assert!(table.contains("\nOpenSSL 3. "), "{table}");
        assert!(sm4(&summary).is_err(), "none of SM4 was measured");
        summary["results"].as_array_mut().unwrap().remove(5);
        assert!(aes(&summary).is_err(), "ours is missing");
    }
}

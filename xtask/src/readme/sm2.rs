//! The tables of a run of `bench sm2`.

use serde_json::Value;

use super::{median, provenance, ratio};
use crate::Result;

/// Rows of single operations: the words of the row, and the end of the group's name.
const CALLS: [(&str, &str); 6] = [
    ("sign a digest", "sign"),
    ("verify a digest", "verify"),
    ("Diffie-Hellman", "ecdh"),
    ("generate a key", "keygen"),
    ("encrypt 32 bytes", "encrypt-32"),
    ("decrypt 32 bytes", "decrypt-32"),
];

const OURS: &str = "manylane";
const OPENSSL: &str = "OpenSSL";
const OPENSSL_SM3: &str = "OpenSSL, SM3 alone";

/// Operations a second, one at a time.
pub(super) fn calls(summary: &Value) -> Result<String> {
    let mut out = "| SM2 on one core | manylane | OpenSSL |\n|---|---|---|\n".to_owned();
    for (row, group) in CALLS {
        let group = format!("sm2/call/{group}");
        let rate = |name: &str| median(summary, &group, name, "units_per_s");
        let ours = rate(OURS).ok_or_else(|| format!("{group}: ours was not measured"))?;
        out += &format!("| {row} | **{}/s** |", thousands(ours));
        out += &match (rate(OPENSSL), ratio(summary, &group, OURS, OPENSSL)) {
            (Some(theirs), Some(ratio)) => {
                format!(" {}/s: manylane is {ratio:.1} × |\n", thousands(theirs))
            }
            _ => " – |\n".to_owned(),
        };
    }
    Ok(out + &provenance(summary))
}

/// Rows of messages: the words of the row, the group, and our contender's name in it.
const MESSAGES: [(&str, &str, &str); 9] = [
    ("encrypt 64 KiB", "encrypt/65536", OURS),
    ("encrypt 1 MiB", "encrypt/1048576", OURS),
    ("encrypt 16 MiB", "encrypt/16777216", OURS),
    ("encrypt 64 MiB", "encrypt/67108864", OURS),
    ("encrypt 64 MiB, two cores", "cores-encrypt/67108864", "Engine"),
    ("decrypt 64 MiB", "decrypt/67108864", OURS),
    ("decrypt 64 MiB, two cores", "cores-decrypt/67108864", "Engine"),
    ("encrypt 64 messages of 64 KiB", "encrypt-many/65536", "encrypt_many"),
    ("decrypt 64 messages of 64 KiB", "decrypt-many/65536", "decrypt_many"),
];

/// What they are set in relation to: the words, and how its contenders' names begin.
const OTHERS: [(&str, &str); 4] = [
    ("OpenSSL's SM3 alone", OPENSSL_SM3),
    ("OpenSSL", OPENSSL),
    ("ParaSM2's bundles", "ParaSM2's bundles"),
    ("one after another", "one after another"),
];

/// Long messages and many.
pub(super) fn messages(summary: &Value) -> Result<String> {
    let heads: Vec<String> = OTHERS.iter().map(|(head, _)| format!("× {head}")).collect();
    let mut out = format!("| SM2 in memory | manylane | {} |\n", heads.join(" | "));
    out += &format!("|---|---|{}\n", "---|".repeat(heads.len()));
    for (row, group, name) in MESSAGES {
        let group = format!("sm2/{group}");
        let rate = median(summary, &group, name, "gb_per_s");
        let rate = rate.ok_or_else(|| format!("{group}: ours was not measured"))?;
        let seconds = call_bytes(summary, &group, name)? / rate / 1e9;
        out += &format!("| {row} | **{rate:.3} GB/s**, {} ms |", milliseconds(seconds));
        for (_, other) in OTHERS {
            out += &match times(summary, &group, name, other) {
                Some(times) => format!(" {times:.2} |"),
                None => " – |".to_owned(),
            };
        }
        out += "\n";
    }
    Ok(out + &provenance(summary))
}

/// How many times as fast as the contender whose name is `other`, or begins so with a machine's after it.
fn times(summary: &Value, group: &str, name: &str, other: &str) -> Option<f64> {
    let machine = format!("{other}, ");
    let mut ratios = summary["ratios"].as_array()?.iter();
    let is_other = |base: &str| base == other || base != OPENSSL_SM3 && base.starts_with(&machine);
    let found = |r: &&Value| {
        r["group"] == group && r["contender"] == name && r["base"].as_str().is_some_and(is_other)
    };
    ratios.find(found)?["median"].as_f64()
}

fn call_bytes(summary: &Value, group: &str, name: &str) -> Result<f64> {
    let mut results = summary["results"].as_array().ok_or("no results")?.iter();
    let result = results.find(|r| r["group"] == group && r["contender"] == name);
    let bytes = result.and_then(|result| result["bytes_per_call"].as_f64());
    bytes.ok_or_else(|| format!("{group}: {name} has no bytes"))
}

fn milliseconds(seconds: f64) -> String {
    match seconds * 1e3 {
        ms if ms < 10.0 => format!("{ms:.2}"),
        ms => format!("{ms:.1}"),
    }
}

/// `12,300`: three digits that count, and thousands apart.
fn thousands(value: f64) -> String {
    let unit = 10f64.powf((value.log10().floor() - 2.0).max(0.0));
    let digits = ((value / unit).round() * unit).to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn digits() {
        let shown = [7.4, 512.3, 3291.0, 88_049.0, 1_234_567.0].map(thousands);
        assert_eq!(shown, ["7", "512", "3,290", "88,000", "1,230,000"]);
        assert_eq!([0.0002, 0.0153].map(milliseconds), ["0.20", "15.3"]);
    }

    #[test]
    fn rows_have_their_figures() {
        let result = |group: &str, contender: &str| {
            json!({
                "group": group, "contender": contender, "bytes_per_call": 1_000_000,
                "metrics": {"units_per_s": {"median": 2000.0}, "gb_per_s": {"median": 0.5}},
            })
        };
        let ratio = |group: &str, contender: &str, base: &str, median: f64| json!({"group": group, "contender": contender, "base": base, "median": median});
        let calls_of = |name| CALLS.map(|(_, group)| result(&format!("sm2/call/{group}"), name));
        let messages_of = MESSAGES.map(|(_, group, name)| result(&format!("sm2/{group}"), name));
        let results = [&calls_of(OURS)[..], &calls_of(OPENSSL), &messages_of].concat();
        let summary = json!({"results": results, "ratios": [
            ratio("sm2/call/sign", OURS, OPENSSL, 20.0),
            ratio("sm2/encrypt/65536", OURS, OPENSSL_SM3, 1.25),
            ratio("sm2/encrypt/65536", OURS, "ParaSM2's bundles, sse", 2.5),
        ]});
        let table = calls(&summary).unwrap();
        assert!(table.contains("| sign a digest | **2,000/s** | 2,000/s: manylane is 20.0 × |\n"));
        assert!(table.contains("| verify a digest | **2,000/s** | – |\n"));
        let table = messages(&summary).unwrap();
        let row = "| encrypt 64 KiB | **0.500 GB/s**, 2.00 ms | 1.25 | – | 2.50 | – |\n";
        assert!(table.contains(row), "{table}");
        assert!(messages(&json!({"results": [], "ratios": []})).is_err());
    }
}

//! ParaSM2's Tables 3 and 4 and its Figures 5 to 7: milliseconds of this run, with what it published beside
//! them. Of SM4 by itself it has curves and no numbers; its envelopes are SM4 under a key that SM2 encrypts.

use super::{
    OPENSSL, OURS, bundle_machine, bytes_label,
    messages::{LENGTHS, bundles},
    sm4::{CBC, CBC_OF_OPENSSL, GCM},
};
use crate::bench::{
    model::{Metric, Summary},
    published::{ARM, TABLE_3, TABLE_4, X86},
    report::{Table, number},
};

/// Machines of its Figure 6, and Arm's.
const MACHINES: [&str; 4] = ["sse", "avx2", "avx512", "neon"];

/// A table for encryption, and one for decryption, of what was measured of them.
pub(in crate::bench) fn tables(summary: &Summary) -> [Table; 2] {
    [
        table(
            summary,
            "encrypt",
            TABLE_3,
            "Encryption, ms: ParaSM2's Table 3, Figures 5A, 6A and 7A",
        ),
        table(
            summary,
            "decrypt",
            TABLE_4,
            "Decryption, ms: ParaSM2's Table 4, Figures 5B, 6B and 7B",
        ),
    ]
}

fn table(summary: &Summary, what: &str, source: &str, title: &str) -> Table {
    let bundles = bundle_machine().map(bundles).unwrap_or_default();
    let others = [&bundles[..], OPENSSL, GCM, CBC, CBC_OF_OPENSSL];
    let contenders = [OURS].into_iter().chain(MACHINES).chain(others);
    let contenders: Vec<&str> = contenders.collect();
    let row = |len: usize| {
        let group = format!("sm2/{what}/{len}");
        let ms = |contender: &&str| {
            let mut results = summary.results.iter();
            let found = results.find(|r| r.group == group && r.contender == *contender)?;
            found.metrics.get(&Metric::UnitsPerS).map(|figure| number(1e3 / figure.median))
        };
        let measured: Vec<Option<String>> = contenders.iter().map(ms).collect();
        let size = bytes_label(len as u64);
        let schemes = ["ParaSM2", "SM2 digital envelope"];
        let theirs = schemes.into_iter().flat_map(|scheme| [(scheme, X86), (scheme, ARM)]);
        let published = theirs.map(|(scheme, device)| {
            let work = format!("{scheme}, {what} {size}");
            let mut published = summary.published.iter();
            let theirs = published
                .find(|p| (&p.source[..], &p.device[..], &p.work) == (source, device, &work));
            theirs.and_then(|p| p.latency_ms).map(number)
        });
        let is_measured = measured.iter().any(Option::is_some);
        let cells = measured.into_iter().chain(published).map(Option::unwrap_or_default);
        is_measured.then(|| [size.clone()].into_iter().chain(cells).collect())
    };
    Table {
        title: format!("{title}, with its figures, which are NOT measured here"),
        columns: vec![
            "message",
            "manylane",
            "sse",
            "avx2",
            "avx512",
            "neon",
            "its bundles, rebuilt",
            "OpenSSL",
            "SM4-GCM",
            "SM4-CBC, SM3",
            "OpenSSL, SM4-CBC, SM3",
            "ParaSM2, i7-11700",
            "ParaSM2, Kunpeng 920",
            "its SM2 envelope, i7-11700",
            "its SM2 envelope, Kunpeng 920",
        ],
        rows: LENGTHS.into_iter().filter_map(row).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::{example, model::Figure, published};

    #[test]
    fn published_figures_stand_beside_those_of_the_run() {
        let mut summary = example::summary();
        assert!(tables(&summary).iter().all(|table| table.rows.is_empty()));
        let mut result = summary.results[0].clone();
        result.group = "sm2/encrypt/67108864".into();
        result.contender = "avx512".into();
        let figure = Figure { median: 5.0, low: None, high: None };
        result.metrics.insert(Metric::UnitsPerS, figure);
        summary.results.push(result);
        summary.published = published::figures("sm2");
        let [encrypt, decrypt] = tables(&summary);
        let row = "64 MiB,,,,200.0,,,,,,,301.1,271.1,518.5,482.9";
        let row: Vec<&str> = row.split(',').collect();
        assert_eq!(encrypt.rows[..], [&row[..]]);
        assert_eq!(encrypt.columns.len(), row.len());
        assert!(decrypt.rows.is_empty());
    }
}

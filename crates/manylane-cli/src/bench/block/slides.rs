//! The tables of the slides "AES and SHA-3" by C. Di Iorio and P. Costanzi Fantini, as far as they are about
//! processors: throughput and efficiency without and with AES instructions, for three lengths of key.

use super::{Cipher, LIBGCRYPT, Machine, OPENSSL, OPENSSL_WITHOUT_AES, cores, id, machines_of};
use crate::bench::{
    model::{Measured, Metric, Published, Summary},
    report::{Table, number},
};

const SOURCE: &str = "AES and SHA-3, slides";
const THEIRS: &str = "Ryzen 5 2600";
/// What they quote of C. Tezcan's paper, to set beside.
const REFERENCE: &str = "Core i7-10700F";

const WITHOUT: &str = "CPU without AES instructions";
const WITH: &str = "CPU with AES instructions";

/// Device, implementation, cipher, Gbit/s, and Gbit/s per W.
type Row = (&'static str, &'static str, Cipher, f64, f64);

const FIGURES: [Row; 7] = [
    (THEIRS, WITHOUT, Cipher::Aes128, 5.58, 0.21),
    (THEIRS, WITH, Cipher::Aes128, 50.56, 1.69),
    (REFERENCE, WITH, Cipher::Aes128, 134.7, 2.07),
    (THEIRS, WITHOUT, Cipher::Aes192, 4.70, 0.17),
    (THEIRS, WITH, Cipher::Aes192, 47.79, 1.59),
    (THEIRS, WITHOUT, Cipher::Aes256, 3.94, 0.14),
    (THEIRS, WITH, Cipher::Aes256, 45.37, 1.51),
];

/// For the record.
pub(in crate::bench) fn published() -> Vec<Published> {
    let figure = |(device, work, cipher, gbit_per_s, per_watt): Row| Published {
        source: SOURCE.to_owned(),
        device: device.to_owned(),
        work: format!("{}-CTR, {work}", cipher.name()),
        gb_per_s: gbit_per_s / 8.0,
        latency_ms: None,
        bytes_per_sm_clock: None,
        gbit_per_s_per_watt: Some(per_watt),
    };
    FIGURES.map(figure).into()
}

/// What was measured of the implementations in their tables, beside what is there.
pub(in crate::bench) fn table(summary: &Summary) -> Table {
    let mut rows = Vec::new();
    for cipher in super::AES_KEYS {
        let best = machines_of(cipher).next_back().filter(|&best| best != Machine::Portable);
        let implementations = [(WITHOUT, vec![Machine::Portable.name(), OPENSSL_WITHOUT_AES]), {
            let ours = best.map(Machine::name);
            (WITH, ours.into_iter().chain([OPENSSL, LIBGCRYPT]).collect())
        }];
        for (implementation, contenders) in implementations {
            let measured =
                contenders.into_iter().filter_map(|name| measured(summary, cipher, name));
            for (i, cells) in measured.enumerate() {
                // Theirs stand once.
                let theirs = match i {
                    0 => [THEIRS, REFERENCE].map(|device| quoted(device, implementation, cipher)),
                    _ => [const { [const { String::new() }; 2] }; 2],
                };
                let heads = [cipher.name().to_owned(), implementation.to_owned()];
                rows.push(
                    heads.into_iter().chain(cells).chain(theirs.into_iter().flatten()).collect(),
                );
            }
        }
    }
    Table {
        title:
            "Counter mode beside the tables of the slides \"AES and SHA-3\", whose figures are NOT \
                measured here and do not say how many cores"
                .to_owned(),
        columns: vec![
            "cipher",
            "implementation",
            "measured here",
            "one core, Gbit/s",
            "all cores, Gbit/s",
            "Gbit/s per W",
            "Ryzen 5 2600, Gbit/s",
            "Gbit/s per W",
            "i7-10700F, Gbit/s",
            "Gbit/s per W",
        ],
        rows,
    }
}

/// Name, and figures on one core and all; none if it was not measured.
fn measured(summary: &Summary, cipher: Cipher, contender: &str) -> Option<[String; 4]> {
    let find = |group: String| -> Option<&Measured> {
        let mut results = summary.results.iter();
        results.find(|r| (&r.group, &r.contender[..]) == (&group, contender))
    };
    let (one, all) = (find(id(cipher, "ctr", 1 << 20)), find(cores::name(cipher)));
    one.or(all)?;
    let median = |result: Option<&Measured>, metric| Some(result?.metrics.get(&metric)?.median);
    let gbit = |rate: Option<f64>| rate.map_or_else(String::new, |rate| number(rate * 8.0));
    let efficiency = median(all, Metric::JoulesPerGb).map(|joules| number(8.0 / joules));
    Some([
        contender.to_owned(),
        gbit(median(one, Metric::GbPerS)),
        gbit(median(all, Metric::GbPerS)),
        efficiency.unwrap_or_else(|| "not readable".to_owned()),
    ])
}

/// Their Gbit/s, and per W.
fn quoted(device: &str, implementation: &str, cipher: Cipher) -> [String; 2] {
    let is = |row: &&Row| (row.0, row.1, row.2) == (device, implementation, cipher);
    match FIGURES.iter().find(is) {
        Some(row) => [number(row.3), number(row.4)],
        None => Default::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::{example, model::Figure};

    #[test]
    fn their_figures_stand_beside_those_of_the_run() {
        let mut summary = example::summary();
        assert!(table(&summary).rows.is_empty());
        let figure = |median| Figure { median, low: None, high: None };
        for (group, rate, joules) in
            [("ctr-128/1048576", 2.0, None), ("cores-128/262144", 3.5, Some(4.0))]
        {
            let mut result = summary.results[0].clone();
            result.group = format!("aes/{group}");
            result.contender = "portable".into();
            result.metrics = [(Metric::GbPerS, figure(rate))].into();
            result.metrics.extend(joules.map(|joules| (Metric::JoulesPerGb, figure(joules))));
            summary.results.push(result);
        }
        let table = table(&summary);
        let row =
            ["AES-128", WITHOUT, "portable", "16.00", "28.00", "2.000", "5.580", "0.210", "", ""];
        assert_eq!(table.rows, [row.map(str::to_owned)]);
        assert_eq!(table.columns.len(), row.len());
        assert_eq!(published().len(), FIGURES.len());
    }
}

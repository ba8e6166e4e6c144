//! The energy groups in the shape of the tables of Di Iorio and Costanzi Fantini's slides on AES, with
//! what these say beside.

use super::{
    Cipher,
    energy::{GROUP, Way},
};
use crate::bench::{
    model::{Metric, Summary},
    report::{Table, number},
};

/// Gbit/s and Gbit/s per W.
type Rate = (f64, Option<f64>);

/// Of a cipher in the order of [`Way::ALL`]: the slides' own rate, and the one that they quote.
type Rates = [(Rate, Option<Rate>); 4];

/// Theirs are of a Ryzen 5 2600 and a GTX 1650, with OpenSSL on the CPU; those that they
/// quote are Tezcan's of an i7-10700F and an RTX 2070 Super, and Li's of a GPU that is not named.
const SLIDES: [(Cipher, Rates); 3] = [
    (
        Cipher::Aes128,
        [
            ((5.58, Some(0.21)), None),
            ((50.56, Some(1.69)), Some((134.7, Some(2.07)))),
            ((9.0, Some(0.57)), Some((14.6, None))),
            ((317.78, Some(5.43)), Some((878.6, Some(4.087)))),
        ],
    ),
    (
        Cipher::Aes192,
        [
            ((4.70, Some(0.17)), None),
            ((47.79, Some(1.59)), None),
            ((8.61, Some(0.54)), None),
            ((259.44, Some(4.40)), Some((718.3, Some(3.34)))),
        ],
    ),
    (
        Cipher::Aes256,
        [
            ((3.94, Some(0.14)), None),
            ((45.37, Some(1.51)), None),
            ((8.1, Some(0.50)), None),
            ((219.9, Some(3.75)), Some((606.9, Some(2.82)))),
        ],
    ),
];

const CIPHERS: [Cipher; 4] = [Cipher::Aes128, Cipher::Aes192, Cipher::Aes256, Cipher::Sm4];

fn published(cipher: Cipher, way: Way) -> [Option<Rate>; 2] {
    let row = SLIDES.iter().find(|(of, _)| *of == cipher);
    let at = Way::ALL.iter().position(|one| *one == way).expect("ALL has each");
    row.map_or([None, None], |(_, ways)| [Some(ways[at].0), ways[at].1])
}

/// What the slides call it.
fn words(way: Way) -> &'static str {
    match way {
        Way::Portable => "CPU without AES instructions",
        Way::Best => "CPU, best machine",
        Way::Naive => "naive kernel",
        Way::Ours => "manylane on the GPU",
    }
}

/// One table for each GPU and suite.
pub(super) fn tables(summary: &Summary) -> Vec<Table> {
    let mut groups: Vec<&str> = summary.results.iter().map(|result| &result.group[..]).collect();
    groups.dedup();
    let is_energy = |group: &&str| {
        let suite = group.split('/').next();
        suite.is_some_and(|suite| [super::super::AES_GPU, super::super::SM4_GPU].contains(&suite))
            && group.ends_with(GROUP)
    };
    groups.into_iter().filter(is_energy).map(|group| table(summary, group)).collect()
}

fn table(summary: &Summary, group: &str) -> Table {
    let mut rows = Vec::new();
    for cipher in CIPHERS {
        for way in Way::ALL {
            let name = way.contender(cipher);
            let mut results = summary.results.iter();
            let result = results.find(|r| r.group == group && r.contender == name);
            let Some(result) = result else { continue };
            let median = |metric| result.metrics.get(&metric).map(|figure| figure.median);
            let cell = |value: Option<f64>| value.map_or_else(String::new, number);
            let mut row = vec![
                cipher.name().to_owned(),
                words(way).to_owned(),
                cell(median(Metric::GbPerS).map(|rate| 8.0 * rate)),
                cell(median(Metric::JoulesPerGb).map(|joules| 8.0 / joules)),
            ];
            for rate in published(cipher, way) {
                row.push(cell(rate.map(|(speed, _)| speed)));
                row.push(cell(rate.and_then(|(_, efficiency)| efficiency)));
            }
            rows.push(row);
        }
    }
    Table {
        title: format!("{group}: CTR in Gbit/s, beside published figures NOT measured here"),
        columns: vec![
            "cipher",
            "implementation",
            "Gbit/s",
            "Gbit/s per W",
            "slides: Gbit/s",
            "per W",
            "quoted there: Gbit/s",
            "per W",
        ],
        rows,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::bench::{example, model::Figure};

    #[test]
    fn measured_and_published_stand_in_one_row() {
        let mut summary = example::summary();
        let figure = |median| Figure { median, low: None, high: None };
        let rates =
            BTreeMap::from([(Metric::GbPerS, figure(900.0)), (Metric::JoulesPerGb, figure(0.5))]);
        let mut result = summary.results[0].clone();
        result.group = "aes-gpu/cuda:0/energy".into();
        result.contender = Way::Ours.contender(Cipher::Aes192);
        result.metrics = rates;
        summary.results.push(result.clone());
        result.contender = Way::Naive.contender(Cipher::Aes192);
        result.metrics.remove(&Metric::JoulesPerGb);
        summary.results.push(result);
        let [table] = &tables(&summary)[..] else { panic!("one table") };
        let naive = ["AES-192", "naive kernel", "7200", "", "8.610", "0.540", "", ""];
        let ours =
            ["AES-192", "manylane on the GPU", "7200", "16.00", "259.4", "4.400", "718.3", "3.340"];
        assert_eq!(table.rows, [naive, ours]);
    }
}

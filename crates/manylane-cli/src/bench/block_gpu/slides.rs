//! The energy groups in the shape of the tables of Di Iorio and Costanzi Fantini's slides on AES, with
//! what these say beside.

use super::{
    Cipher,
    energy::{GROUP, Way},
};
use crate::bench::{
    model::{Metric, Summary},
    published::{
        self, NAIVE, OPTIMIZED, QUOTED_CPU, QUOTED_GPU, QUOTED_NAIVE, SLIDES_CPU, SLIDES_GPU,
        WITH_AES, WITHOUT_AES,
    },
    report::{Table, number},
};

const CIPHERS: [Cipher; 4] = [Cipher::Aes128, Cipher::Aes192, Cipher::Aes256, Cipher::Sm4];

/// The slides' own rate, and the one that they quote.
fn published(cipher: Cipher, way: Way) -> [Option<(f64, Option<f64>)>; 2] {
    let (implementation, devices) = match way {
        Way::Portable => (WITHOUT_AES, [SLIDES_CPU, QUOTED_CPU]),
        Way::Best => (WITH_AES, [SLIDES_CPU, QUOTED_CPU]),
        Way::Naive => (NAIVE, [SLIDES_GPU, QUOTED_NAIVE]),
        Way::Ours => (OPTIMIZED, [SLIDES_GPU, QUOTED_GPU]),
    };
    devices.map(|device| published::slides(device, implementation, cipher.name()))
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

//! The tables of the slides "AES and SHA-3" by C. Di Iorio and P. Costanzi Fantini, as far as they are about
//! processors: throughput and efficiency without and with AES instructions, for three lengths of key.

use super::{Cipher, LIBGCRYPT, Machine, OPENSSL, OPENSSL_WITHOUT_AES, cores, id, machines_of};
use crate::bench::{
    model::{Measured, Metric, Summary},
    published::{self, QUOTED_CPU, SLIDES_CPU, WITH_AES, WITHOUT_AES},
    report::{Table, number},
};

/// What was measured of the implementations in their tables, beside what is there.
pub(in crate::bench) fn table(summary: &Summary) -> Table {
    let mut rows = Vec::new();
    for cipher in super::AES_KEYS {
        let best = machines_of(cipher).next_back().filter(|&best| best != Machine::Portable);
        let implementations =
            [(WITHOUT_AES, vec![Machine::Portable.name(), OPENSSL_WITHOUT_AES]), {
                let ours = best.map(Machine::name);
                (WITH_AES, ours.into_iter().chain([OPENSSL, LIBGCRYPT]).collect())
            }];
        for (implementation, contenders) in implementations {
            let measured =
                contenders.into_iter().filter_map(|name| measured(summary, cipher, name));
            for (i, cells) in measured.enumerate() {
                // Theirs stand once.
                let theirs = match i {
                    0 => [SLIDES_CPU, QUOTED_CPU]
                        .map(|device| quoted(device, implementation, cipher)),
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
    let found = published::slides(device, implementation, cipher.name());
    found.map_or_else(Default::default, |(gbit, per_watt)| {
        [number(gbit), per_watt.map_or_else(String::new, number)]
    })
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
        let row = [
            "AES-128",
            WITHOUT_AES,
            "portable",
            "16.00",
            "28.00",
            "2.000",
            "5.580",
            "0.210",
            "",
            "",
        ];
        assert_eq!(table.rows, [row.map(str::to_owned)]);
        assert_eq!(table.columns.len(), row.len());
    }
}

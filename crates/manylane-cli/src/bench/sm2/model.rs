//! ParaSM2's cost model: the times of CF that it is made of, and what it predicts beside what was
//! measured.

use manylane::{
    sm2::comparators::Model,
    sm3::{Digest as _, Lanes, Sm3},
};

use super::{
    Bytes, Call, Contender, Cores, Group, Machine, Work, bundle_machine, bytes_label,
    lane_machines,
    messages::{LENGTHS, bundles},
};
use crate::bench::{
    model::{Metric, Summary},
    report::{Table, number},
};

/// Blocks in a call, of each lane: enough for what surrounds CF to vanish, and in the second cache.
const BLOCKS: usize = 1024;

const GROUP: &str = "sm2/cf/1024";

/// T_1: our stream, whose expansion is done in vectors as T'_3 has it, but of more words.
const ONE: &str = "T1";

/// T_p.
fn side_by_side(lanes: usize) -> String {
    format!("T{lanes}")
}

/// One group: the times of CF.
pub(super) fn groups() -> [Group; 1] {
    [Group {
        id: GROUP.into(),
        part: "CF of SM3, of a block and of blocks side by side",
        parameter: format!("{BLOCKS} rows"),
        unit: "rows",
        working_set: (64 * BLOCKS) as u64,
        base: Some(ONE),
        pairs: Vec::new(),
        cores: Cores::One,
        effort: None,
        same_output: false,
        build: Box::new(|rng| {
            let data = std::rc::Rc::new(Bytes::random(64 * BLOCKS, rng));
            let contender = |name, lanes: usize, call| Contender {
                name,
                kernel: None,
                peer: false,
                work: Work {
                    bytes: (64 * BLOCKS * lanes) as u64,
                    units: BLOCKS as u64,
                    counted_clocks: None,
                },
                output: vec![0; 32],
                call,
            };
            let message = std::rc::Rc::clone(&data);
            let one = Call::here(move |out| {
                let digest = Sm3::new().chain_update(message.get()).finalize();
                out.copy_from_slice(&digest);
            });
            let mut contenders = vec![contender(ONE.to_owned(), 1, one)];
            for machine in lane_machines() {
                let mut lanes = Lanes::new_on(machine).map_err(|why| why.to_string())?;
                let (count, data) = (lanes.count(), std::rc::Rc::clone(&data));
                let all = Call::here(move |out| {
                    lanes.compress(&[data.get(); 16][..count]);
                    out.copy_from_slice(&lanes.digest(0));
                });
                contenders.push(contender(side_by_side(count), count, all));
            }
            Ok(contenders)
        }),
    }]
}

/// What the model predicts of the lengths and machines that were measured, from the times of CF of the
/// same run. None if they were not measured.
pub(in crate::bench) fn table(summary: &Summary) -> Option<Table> {
    let ns = |group: &str, contender: &str| {
        let mut results = summary.results.iter();
        let found = results.find(|r| (&r.group[..], &r.contender[..]) == (group, contender))?;
        found.metrics.get(&Metric::UnitsPerS).map(|figure| 1e9 / figure.median)
    };
    let mut rows = Vec::new();
    for len in LENGTHS {
        let mut work = bytes_label(len as u64);
        let mut push = |what: String, predicted: f64, measured: Option<f64>| {
            let Some(measured) = measured else { return };
            rows.push(vec![
                std::mem::take(&mut work),
                what,
                number(predicted / 1e6),
                number(measured / 1e6),
                number(measured / predicted),
            ]);
        };
        let model = |machine: Machine| {
            let lanes = Lanes::new_on(machine).ok()?.count();
            let one = ns(GROUP, ONE)?;
            let side_by_side = ns(GROUP, &side_by_side(lanes))?;
            Some(Model { one, one_expanded_by_three: one, lanes: lanes as u64, side_by_side })
        };
        if let Some((machine, model)) = bundle_machine().and_then(|m| Some((m, model(m)?))) {
            let measured = ns(&format!("sm2/encrypt/{len}"), &bundles(machine));
            push(format!("bundles, {machine}"), model.bundles(len as u64), measured);
        }
        for machine in lane_machines() {
            let Some(model) = model(machine) else { continue };
            let measured = ns(&format!("sm2/decrypt/{len}"), machine.name());
            push(format!("decrypt, {machine}"), model.key_stream_then_hash(len as u64), measured);
        }
    }
    let title = "ParaSM2's cost model, from the times of CF above, beside what was measured".into();
    let columns = vec!["work", "method", "predicted ms", "measured ms", "measured / predicted"];
    (!rows.is_empty()).then_some(Table { title, columns, rows })
}

//! The two experiments of the slides "AES and SHA-3" by C. Di Iorio and P. Costanzi Fantini: one file after
//! another, of lengths from 1 KB to 100 MB, and a million short messages. Their implementations, ours, and
//! the tree hash that a standard has for long files.

use std::{cell::Cell, thread};

use manylane::sha3::comparators::textbook;

use super::{
    Contender, Cores, Group, Hash, OneByOne, OpenSslSha3, Packages, Rc, Rows, Work, bytes_label,
    cores, function, sha3, steadily, steady_effort, tree,
};
use crate::bench::{
    gpu::amount,
    model::{Measured, Metric, Summary},
    report::{Table, number},
};

/// Lengths of files: what the slides call 1 KB to 100 MB.
pub(in crate::bench) const FILES: [usize; 8] =
    [1 << 10, 10 << 10, 50 << 10, 500 << 10, 1 << 20, 10 << 20, 50 << 20, 100 << 20];

/// Lengths of short messages, and how many there are.
pub(in crate::bench) const SHORT: [usize; 5] = [32, 64, 128, 256, 512];
const MESSAGES: usize = 1_000_000;
const QUICK_MESSAGES: usize = 10_000;

/// Contenders that take one message after another take one of so many: their speed does not depend on how
/// many there are.
const FEWER: usize = 10;

/// What both experiments hash with.
pub(in crate::bench) const HASH: Hash = Hash::Sha3_256;

/// Names of the contenders; of the plain one, on the integers that the processor has, in the slides too.
pub(in crate::bench) const PLAIN: &str = "plain, one core";
const OPENSSL_ONE: &str = "OpenSSL, one core";
const OPENSSL_ALL: &str = "OpenSSL, all cores";
const ONE: &str = "manylane, one core";
const ALL: &str = "manylane, all cores";
const KT128_ONE: &str = "manylane KT128, one core";
const KT128_ALL: &str = "manylane KT128, all cores";

/// Ends of the groups' names: `sha3/file/1024`, and `sha3-gpu/cuda:0/file-1024`.
pub(in crate::bench) const FILE: &str = "file";
pub(in crate::bench) const VOLUME: &str = "volume";

/// How many short messages there are.
pub(in crate::bench) fn messages(quick: bool) -> usize {
    if quick { QUICK_MESSAGES } else { MESSAGES }
}

pub(super) fn groups(quick: bool) -> impl Iterator<Item = Group> {
    let files = FILES.into_iter().map(move |len| file(len, quick));
    files.chain(SHORT.into_iter().map(move |len| volume(len, quick)))
}

/// One file in memory, as a serial chain of blocks; and as a tree, which is another function.
fn file(len: usize, quick: bool) -> Group {
    let checked = Cell::new(false);
    Group {
        id: format!("sha3/{FILE}/{len}"),
        part: "One file at a time",
        parameter: bytes_label(len as u64),
        unit: "files",
        working_set: len as u64,
        base: Some(PLAIN),
        pairs: Vec::new(),
        cores: Cores::All,
        effort: Some(steady_effort(quick)),
        // The tree is another function: see `check`.
        same_output: false,
        build: Box::new(move |rng| {
            let rows = Rc::new(Rows::equal(len, 1, rng));
            let packages = Rc::new(Packages::find().ok());
            let mut serial = of_a_file(&rows, &packages);
            let mut tree = vec![
                alone(KT128_ONE, &rows, 1, &packages, Box::new(tree::kt128)),
                alone(KT128_ALL, &rows, 1, &packages, Box::new(tree::kt128_on_all_cores)),
            ];
            if !checked.replace(true) {
                check(&mut serial)?;
                check(&mut tree)?;
            }
            serial.extend(tree);
            Ok(serial)
        }),
    }
}

/// Whether all of them compute the same.
fn check(contenders: &mut [Contender]) -> Result<(), String> {
    for contender in &mut *contenders {
        contender.call.once(&mut contender.output)?;
    }
    crate::bench::measure::check_agreement(contenders)
}

/// A chain of blocks on one core: the slides' plain code, their optimized, and ours.
pub(in crate::bench) fn of_a_file(
    rows: &Rc<Rows>,
    packages: &Rc<Option<Packages>>,
) -> Vec<Contender> {
    let function = function(HASH);
    let ours: OneByOne = Box::new(move |message, out| sha3::hash(function, message, out));
    let mut contenders = theirs(rows, 1, packages);
    contenders.push(alone(ONE, rows, 1, packages, ours));
    contenders
}

/// What the slides have on processors: plain code, and OpenSSL.
fn theirs(rows: &Rc<Rows>, count: usize, packages: &Rc<Option<Packages>>) -> Vec<Contender> {
    let function = function(HASH);
    let plain: OneByOne = Box::new(move |message, out| textbook(function, message, out));
    let mut contenders = vec![alone(PLAIN, rows, count, packages, plain)];
    if let Ok(openssl) = OpenSslSha3::get() {
        let mut context = openssl.context(HASH);
        let hash: OneByOne = Box::new(move |message, out| context.hash(message, out));
        contenders.push(alone(OPENSSL_ONE, rows, count, packages, hash));
    }
    contenders.into_iter().map(|contender| Contender { peer: true, ..contender }).collect()
}

/// A contender that takes the first so many messages one after another, on the calling thread.
fn alone(
    name: &str,
    rows: &Rc<Rows>,
    count: usize,
    packages: &Rc<Option<Packages>>,
    mut hash: OneByOne,
) -> Contender {
    let output_len = function(HASH).output_len();
    let bytes = rows.messages().range(0, count).total_bytes();
    let rows = Rc::clone(rows);
    Contender {
        name: name.to_owned(),
        kernel: None,
        peer: false,
        work: Work { bytes, units: count as u64, counted_clocks: None },
        output: vec![0; count * output_len],
        call: steadily(packages, move |calls, out| {
            let messages = rows.messages();
            for _ in 0..calls {
                let digests = out.chunks_exact_mut(output_len).enumerate();
                digests.for_each(|(i, out)| hash(messages.get(i), out));
            }
        }),
    }
}

/// A million messages.
fn volume(len: usize, quick: bool) -> Group {
    let count = messages(quick);
    Group {
        id: format!("sha3/{VOLUME}/{len}"),
        part: "A million short messages",
        parameter: amount(count, len),
        unit: "messages",
        working_set: (count * (len + function(HASH).output_len())) as u64,
        base: Some(PLAIN),
        pairs: Vec::new(),
        cores: Cores::All,
        effort: Some(steady_effort(quick)),
        same_output: true,
        build: Box::new(move |rng| {
            let rows = Rc::new(Rows::equal(len, count, rng));
            let packages = Rc::new(Packages::find().ok());
            Ok(of_messages(&rows, &packages))
        }),
    }
}

/// All ways of processors to hash many messages.
pub(in crate::bench) fn of_messages(
    rows: &Rc<Rows>,
    packages: &Rc<Option<Packages>>,
) -> Vec<Contender> {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let (count, fewer) = (rows.count(), rows.count().div_ceil(FEWER));
    let mut contenders = theirs(rows, fewer, packages);
    contenders.extend(cores::openssl(OPENSSL_ALL, HASH, rows, (count, threads), packages));
    let work = Work { bytes: rows.total_bytes(), units: count as u64, counted_clocks: None };
    let all = Rc::clone(rows);
    contenders.push(Contender {
        name: ONE.to_owned(),
        kernel: None,
        peer: false,
        work,
        output: vec![0; count * function(HASH).output_len()],
        call: steadily(packages, move |calls, out| {
            for _ in 0..calls {
                let done = sha3::hash_many(function(HASH), &all.messages(), out);
                done.expect("room for each digest");
            }
        }),
    });
    contenders.push(cores::engine(ALL, HASH, rows, packages));
    contenders
}

/// One experiment of one suite: groups that differ in the length.
pub(in crate::bench) struct Experiment<'a> {
    /// Where it was made: `cpu`, or the GPU's name.
    place: String,
    /// What the group's names begin with, up to the length.
    prefix: String,
    /// Lengths, in the order of the run.
    pub(in crate::bench) lengths: Vec<usize>,
    summary: &'a Summary,
}

impl<'a> Experiment<'a> {
    /// All that a run has of one kind, on the processor and on each GPU.
    pub(in crate::bench) fn all(summary: &'a Summary, kind: &str) -> Vec<Self> {
        let on_gpus = summary.setup.gpus.iter().map(|gpu| {
            let prefix = format!("{}/{}/{kind}-", crate::bench::SHA3_GPU, gpu.id);
            (gpu.id.replace(':', ""), prefix)
        });
        let places = [("cpu".to_owned(), format!("sha3/{kind}/"))].into_iter().chain(on_gpus);
        let of = |(place, prefix): (String, String)| {
            let length = |result: &Measured| result.group.strip_prefix(&prefix)?.parse().ok();
            let mut lengths: Vec<usize> = summary.results.iter().filter_map(length).collect();
            lengths.dedup();
            (!lengths.is_empty()).then_some(Experiment { place, prefix, lengths, summary })
        };
        places.filter_map(of).collect()
    }

    /// For the name of a file.
    pub(in crate::bench) fn place(&self) -> &str {
        &self.place
    }

    fn of_length(&self, len: usize) -> impl Iterator<Item = &'a Measured> {
        let group = format!("{}{len}", self.prefix);
        self.summary.results.iter().filter(move |result| result.group == group)
    }

    /// Names of the contenders in the order of the run.
    pub(in crate::bench) fn contenders(&self) -> Vec<&'a str> {
        let mut names: Vec<&str> = Vec::new();
        for result in self.lengths.iter().flat_map(|len| self.of_length(*len)) {
            if !names.contains(&&result.contender[..]) {
                names.push(&result.contender);
            }
        }
        names
    }

    /// Bytes a second of a contender, length by length; a gap where it was not measured.
    pub(in crate::bench) fn rates(&self, contender: &str) -> Vec<Option<f64>> {
        let rate = |len: &usize| {
            let mut results = self.of_length(*len);
            let result = results.find(|result| result.contender == contender)?;
            Some(result.metrics.get(&Metric::GbPerS)?.median * 1e9)
        };
        self.lengths.iter().map(rate).collect()
    }
}

/// Both experiments in the slides' metrics: time, throughput, how many times as fast as plain code; and energy.
pub(in crate::bench) fn tables(summary: &Summary) -> Vec<Table> {
    let files = Experiment::all(summary, FILE).into_iter().map(|files| {
        let title =
            format!("As in the slides, {}: one file at a time in memory, SHA3-256", files.place);
        table(title, &files, |len| (bytes_label(len as u64), len as f64))
    });
    let volumes = Experiment::all(summary, VOLUME).into_iter().map(|volume| {
        let title = format!(
            "As in the slides, {}: a million messages, SHA3-256; times are at the measured rate",
            volume.place
        );
        table(title, &volume, |len| (amount(MESSAGES, len), (MESSAGES * len) as f64))
    });
    files.chain(volumes).collect()
}

/// `work` names what a length stands for, and says how many bytes that are.
fn table(title: String, of: &Experiment, work: impl Fn(usize) -> (String, f64)) -> Table {
    let mut rows = Vec::new();
    for &len in &of.lengths {
        let (name, bytes) = work(len);
        for (i, result) in of.of_length(len).enumerate() {
            let median = |metric| result.metrics.get(&metric).map(|figure| figure.median);
            let cell = |value: Option<f64>| value.map_or_else(String::new, number);
            let rate = median(Metric::GbPerS).map(|rate| rate * 1e9);
            let mut ratios = of.summary.ratios.iter();
            let times = ratios.find(|ratio| {
                (&ratio.group, &ratio.contender) == (&result.group, &result.contender)
                    && ratio.base == PLAIN
            });
            rows.push(vec![
                if i == 0 { name.clone() } else { String::new() },
                result.contender.clone(),
                cell(rate.map(|rate| bytes / rate * 1e3)),
                cell(rate.map(|rate| rate / 1e6)),
                match times {
                    Some(times) => number(times.figure.median),
                    None if result.contender == PLAIN => "base".to_owned(),
                    None => String::new(),
                },
                median(Metric::JoulesPerGb).map_or_else(|| "not read".to_owned(), number),
            ]);
        }
    }
    let columns = vec!["work", "implementation", "time ms", "MB/s", "× plain", "J/GB"];
    Table { title, columns, rows }
}

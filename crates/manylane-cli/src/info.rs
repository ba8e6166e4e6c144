//! `manylane info`: what there is to compute with, and what `auto` would choose.

mod blocks;
mod gpus;
mod self_test;
mod sha3;
mod sm2;

use std::fmt;

use manylane::{
    cpu::{self, Machine},
    hash::Algorithm,
};
use manylane_engine::{Config, Engine, Explanation};
use serde::Serialize;

use self::{
    gpus::{Driver, GpuInfo},
    self_test::Tested,
};
use crate::{bench::peers, complain, exit, output::print};

/// Say which machines and libraries there are, and what `auto` chooses
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Write one JSON document instead of text
    #[arg(long)]
    json: bool,

    /// Compute known answers on every machine and GPU there is; exit status 1 if one is wrong
    ///
    /// With a number, every GPU also computes so many random batches, which are compared with the
    /// CPU.
    #[arg(long, value_name = "BATCHES", num_args = 0..=1, require_equals = true, default_missing_value = "0")]
    self_test: Option<u64>,
}

/// Everything that is said.
#[derive(Serialize)]
struct Info {
    version: &'static str,
    architecture: &'static str,
    /// Cores that this process may use.
    cores: usize,
    machines: Vec<MachineInfo>,
    sm3: Choice,
    sha3: Choice,
    libraries: Vec<Library>,
    gpus: Vec<GpuInfo>,
    /// The vendors' drivers that were looked for.
    gpu_drivers: Vec<Driver>,
    #[serde(skip_serializing_if = "Option::is_none")]
    self_test: Option<Vec<Tested>>,
}

#[derive(Serialize)]
struct MachineInfo {
    name: &'static str,
    status: Status,
}

/// Whether a machine can be used.
#[derive(Clone, Copy, Serialize)]
#[serde(rename_all = "snake_case")]
enum Status {
    Available,
    /// The processor has it, but the environment variable rules it out.
    Capped,
    /// The processor lacks it.
    NotDetected,
    /// It belongs to another architecture than this build's.
    Foreign,
}

/// What `auto` chooses, and why.
#[derive(Serialize)]
struct Choice {
    many_messages: &'static str,
    lanes: usize,
    one_stream: &'static str,
    threads: usize,
    why: Vec<String>,
}

/// A library that is looked for, to compare with.
#[derive(Serialize)]
struct Library {
    name: &'static str,
    version: Option<String>,
    missing: Option<String>,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> u8 {
    let explanations = match Engine::new(Config::default()) {
        Ok(engine) => [Algorithm::Sm3, Algorithm::Sha3_256].map(|of| engine.explain(of)),
        Err(error) => {
            complain!("{error}");
            return exit::USAGE;
        }
    };
    let info = Info::gather(explanations, args.self_test);
    let failed = info.self_test.iter().flatten().filter(|tested| tested.failure.is_some());
    let status = match failed.count() {
        0 => exit::OK,
        _ => exit::FAILED,
    };
    let text = match args.json {
        true => serde_json::to_string_pretty(&info).expect("maps with text for keys"),
        false => info.to_string(),
    };
    match print(format!("{text}\n").as_bytes()) {
        exit::OK => status,
        failed => failed,
    }
}

impl Choice {
    fn of(explanation: Explanation) -> Self {
        let Explanation { lanes, lane_count, stream, threads, why, .. } = explanation;
        Choice {
            many_messages: lanes.name(),
            lanes: lane_count,
            one_stream: stream.name(),
            threads,
            why,
        }
    }
}

impl Info {
    /// With what there is for SM3 and for SHA-3.
    fn gather(explanations: [Explanation; 2], self_test: Option<u64>) -> Self {
        let [sm3, sha3] = explanations.map(Choice::of);
        let library = |found: peers::Found| match found.version {
            Ok(version) => Library { name: found.name, version: Some(version), missing: None },
            Err(why) => Library { name: found.name, version: None, missing: Some(why) },
        };
        let machine =
            |machine: Machine| MachineInfo { name: machine.name(), status: status(machine) };
        let (gpu_drivers, gpus) = gpus::gather();
        let self_test = self_test.map(|random| self_test::run(&gpus, random));
        Info {
            version: env!("CARGO_PKG_VERSION"),
            architecture: std::env::consts::ARCH,
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            machines: Machine::ALL.map(machine).into(),
            sm3,
            sha3,
            libraries: peers::looked_for().map(library).into(),
            gpus,
            gpu_drivers,
            self_test,
        }
    }
}

fn status(machine: Machine) -> Status {
    if machine.is_available() {
        Status::Available
    } else if machine.is_detected() {
        Status::Capped
    } else if machine.is_native() {
        Status::NotDetected
    } else {
        Status::Foreign
    }
}

impl fmt::Display for Info {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "manylane {}", self.version)?;
        writeln!(f, "\nProcessor: {}, {} cores for this process", self.architecture, self.cores)?;
        for MachineInfo { name, status } in &self.machines {
            let status = match status {
                Status::Available => "available".to_owned(),
                Status::Capped => format!("detected, but ruled out by {}", cpu::FORCE),
                Status::NotDetected => "not detected".to_owned(),
                Status::Foreign => "of another architecture".to_owned(),
            };
            writeln!(f, "  {name:<14} {status}")?;
        }
        for (name, choice) in [("SM3", &self.sm3), ("SHA-3", &self.sha3)] {
            let Choice { many_messages, lanes, one_stream, threads, why } = choice;
            writeln!(f, "\n{name}, as `auto` chooses")?;
            writeln!(f, "  many messages  {many_messages}, {lanes} lanes on each thread")?;
            writeln!(f, "  one stream     {one_stream}")?;
            writeln!(f, "  threads        {threads}")?;
            for (i, why) in why.iter().enumerate() {
                writeln!(f, "  {:<14} {why}", if i == 0 { "why" } else { "" })?;
            }
        }
        writeln!(f, "\nLibraries to compare with")?;
        for Library { name, version, missing } in &self.libraries {
            let found = version.as_deref().or(missing.as_deref()).unwrap_or_default();
            let not = if version.is_none() { "none: " } else { "" };
            writeln!(f, "  {name:<14} {not}{found}")?;
        }
        write!(f, "\nGPUs")?;
        for gpu in &self.gpus {
            write!(f, "\n  {:<14} {gpu}", gpu.id)?;
        }
        for Driver { vendor, missing } in &self.gpu_drivers {
            if let Some(why) = missing {
                write!(f, "\n  {vendor:<14} none: {why}")?;
            }
        }
        if let Some(tests) = &self.self_test {
            f.write_str("\n\nSelf-test")?;
            for Tested { machine, work, answers, failure } in tests {
                let name = format!("{machine}, {work}");
                match failure {
                    None => write!(f, "\n  {name:<22} {answers} answers: ok")?,
                    Some(why) => write!(f, "\n  {name:<22} FAILED: {why}")?,
                }
            }
        }
        Ok(())
    }
}

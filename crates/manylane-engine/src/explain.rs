//! What an engine would use, and why.

use std::fmt;

use manylane::{
    cpu::{self, Machine},
    hash::{Algorithm, Machines},
};

use crate::fleet::{Fleet, Member};

/// What an [`Engine`](crate::Engine) uses for what; made by
/// [`Engine::explain`](crate::Engine::explain).
///
/// Prints as one line an item, without a newline at the end.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Explanation {
    /// Machine that many messages run on, side by side.
    pub lanes: Machine,
    /// Messages that it takes at a time, on each thread.
    pub lane_count: usize,
    /// Machine that one stream runs on.
    pub stream: Machine,
    /// Threads that compute, the caller's among them.
    pub threads: usize,
    /// GPUs that have been opened.
    pub gpus: Vec<GpuExplanation>,
    /// Reasons for these choices, each one clause.
    pub why: Vec<String>,
}

/// A GPU of an engine.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct GpuExplanation {
    /// `cuda:0` and so on.
    pub id: String,
    /// The vendor's name for it.
    pub name: String,
    /// `sm_90`, `gfx90a` and so on.
    pub architecture: String,
    /// Rate at which it takes in and hashes, in millions of bytes a second, blocks of padding
    /// included; as last measured, if it has had enough to do for that.
    pub rate: Option<u64>,
    /// Why it was given up, if it was.
    pub given_up: Option<String>,
}

impl GpuExplanation {
    fn new(member: &Member) -> Self {
        let info = member.ring().gpu().info();
        GpuExplanation {
            id: info.id.to_string(),
            name: info.name.clone(),
            architecture: info.architecture.clone(),
            rate: member.measured().map(|rate| (rate / 1e6) as u64),
            given_up: member.lost().map(ToString::to_string),
        }
    }
}

impl Explanation {
    pub(crate) fn new(
        algorithm: Algorithm,
        threads: usize,
        threads_asked: bool,
        fleet: &Fleet,
    ) -> Self {
        let Machines { lanes, lane_count, stream } = algorithm.machines();
        let mut why = Vec::new();
        match cpu::forced() {
            Ok(None) => why.push("the widest machine that this processor has".to_owned()),
            Ok(Some(machine)) => why.push(format!("{} allows at most {machine}", cpu::FORCE)),
            Err(name) => why.push(format!(
                "{}={name} names no machine of this processor and is ignored",
                cpu::FORCE
            )),
        }
        why.push(if threads_asked {
            "as many threads as asked for".to_owned()
        } else {
            "one thread for each core that this process may use".to_owned()
        });
        let (members, gpu_why) = fleet.describe();
        why.extend(gpu_why);
        let gpus = members.iter().map(|member| GpuExplanation::new(member)).collect();
        Explanation { lanes, lane_count, stream, threads, gpus, why }
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Explanation { lanes, lane_count, stream, threads, gpus, why } = self;
        writeln!(f, "many messages: {lanes}, {lane_count} lanes on each thread")?;
        writeln!(f, "one stream: {stream}")?;
        writeln!(f, "threads: {threads}")?;
        for GpuExplanation { id, name, architecture, rate, given_up } in gpus {
            write!(f, "{id}: {name} ({architecture})")?;
            if let Some(rate) = rate {
                write!(f, ", {}.{} GB/s", rate / 1000, rate % 1000 / 100)?;
            }
            match given_up {
                Some(why) => writeln!(f, ", given up: {why}")?,
                None => writeln!(f)?,
            }
        }
        write!(f, "why: {}", why.join("; "))
    }
}

//! What an engine would use, and why.

use std::fmt;

use manylane::{
    cpu::{self, Machine},
    sm3::{Lanes, Sm3},
};

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
    /// Reasons for these choices, each one clause.
    pub why: Vec<String>,
}

impl Explanation {
    pub(crate) fn new(threads: usize, threads_asked: bool) -> Self {
        // The order in which the library itself chooses: the last available one.
        let best = |can: &dyn Fn(Machine) -> bool| {
            Machine::ALL.into_iter().rev().find(|m| can(*m)).unwrap_or(Machine::Portable)
        };
        let lanes = best(&|machine| Lanes::new_on(machine).is_ok());
        let stream = best(&|machine| Sm3::new_on(machine).is_ok());
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
        why.push("this build has no code for graphics processors".to_owned());
        Explanation { lanes, lane_count: Lanes::new().count(), stream, threads, why }
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Explanation { lanes, lane_count, stream, threads, why } = self;
        writeln!(f, "many messages: {lanes}, {lane_count} lanes on each thread")?;
        writeln!(f, "one stream: {stream}")?;
        writeln!(f, "threads: {threads}")?;
        write!(f, "why: {}", why.join("; "))
    }
}

//! Instructions that AArch64 executes for a call, counted under an emulator, where there is no such
//! processor. This is NOT a timing.
//!
//! qemu runs an AArch64 build of this program that makes a call once, and once more three times. Told to
//! have one instruction in a block and to say which block it executes, it writes a line for each
//! instruction; half of the difference is what a call takes.

use std::{
    io::{self, BufReader},
    path::Path,
    process::{Command, Stdio},
};

use super::{
    measure::{Group, Plan, SEED},
    model::{ArmCounts, Counted},
    sm2,
};

const QEMU: &str = "qemu-aarch64";

/// Processors that it imitates: one with all extensions, which has instructions for SM3, and one without.
const PROCESSORS: [&str; 2] = ["max", "cortex-a57"];

/// What is counted, of what users call.
const WORK: [&str; 8] = [
    "sm2/call/sign",
    "sm2/call/verify",
    "sm2/call/ecdh",
    "sm2/call/keygen",
    "sm2/call/encrypt-32",
    "sm2/call/decrypt-32",
    "sm2/encrypt/65536",
    "sm2/decrypt/65536",
];

/// Counts what is in the plan, with that build of this program.
pub(super) fn count(program: Option<&Path>, plan: &Plan) -> ArmCounts {
    let groups: Vec<&Group> =
        plan.groups.iter().filter(|group| WORK.contains(&&group.id[..])).collect();
    let named = program.ok_or_else(|| "no AArch64 build was named (--arm)".to_owned());
    let counts = named.and_then(|program| counted(program, &groups));
    counts.unwrap_or_else(|why| ArmCounts { missing: Some(why), ..ArmCounts::default() })
}

fn counted(program: &Path, groups: &[&Group]) -> Result<ArmCounts, String> {
    let qemu = Qemu::find()?;
    let mut counts = Vec::new();
    for processor in PROCESSORS {
        for group in groups {
            let run = |calls: u32| {
                let counted = qemu.instructions(program, processor, &group.id, calls);
                counted.map_err(|why| format!("{} on {processor}: {why}", group.id))
            };
            let (once, thrice) = (run(1)?, run(3)?);
            let instructions = thrice.saturating_sub(once) / 2;
            counts.push(Counted {
                group: group.id.clone(),
                contender: sm2::OURS.to_owned(),
                processor: processor.to_owned(),
                bytes_per_call: group.working_set,
                instructions,
            });
        }
    }
    Ok(ArmCounts { emulator: Some(qemu.version), missing: None, counts })
}

struct Qemu {
    version: String,
    /// The option for blocks of one instruction, whose name has changed.
    one_by_one: &'static str,
}

impl Qemu {
    fn find() -> Result<Self, String> {
        let ask = |what: &str| {
            let answer = Command::new(QEMU).arg(what).stdin(Stdio::null()).output();
            let answer = answer.map_err(|error| format!("{QEMU}: {error}"))?;
            Ok::<_, String>(String::from_utf8_lossy(&answer.stdout).into_owned())
        };
        let version = ask("--version")?.lines().next().unwrap_or_default().to_owned();
        let is_new = ask("--help")?.contains("-one-insn-per-tb");
        let one_by_one = if is_new { "-one-insn-per-tb" } else { "-singlestep" };
        Ok(Qemu { version, one_by_one })
    }

    /// All that the program executes, from its start on, to make so many calls.
    fn instructions(
        &self,
        program: &Path,
        processor: &str,
        group: &str,
        calls: u32,
    ) -> Result<u64, String> {
        let mut qemu = Command::new(QEMU)
            .args(["-cpu", processor, self.one_by_one, "-d", "nochain,exec"])
            .arg(program)
            .args(["bench", "repeat", group, sm2::OURS, &calls.to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| format!("{QEMU}: {error}"))?;
        let log = BufReader::with_capacity(1 << 20, qemu.stderr.take().expect("piped"));
        let (count, said) = lines(log).map_err(|error| format!("{QEMU}: {error}"))?;
        let status = qemu.wait().map_err(|error| format!("{QEMU}: {error}"))?;
        match status.success() {
            true => Ok(count),
            false => Err(format!("{status}: {said}")),
        }
    }
}

/// The number of instructions in a log, and the last line that is none.
fn lines(mut log: impl io::BufRead) -> io::Result<(u64, String)> {
    let (mut count, mut said, mut line) = (0, String::new(), Vec::new());
    while log.read_until(b'\n', &mut line)? > 0 {
        match line.starts_with(b"Trace ") {
            true => count += 1,
            false => said = String::from_utf8_lossy(&line).trim_end().to_owned(),
        }
        line.clear();
    }
    Ok((count, said))
}

/// Makes so many calls of a contender of suite `sm2`, and nothing else.
pub(super) fn repeat(group: &str, contender: &str, calls: u32) -> Result<(), String> {
    let plan = sm2::plan(true);
    let found = plan.groups.iter().find(|one| one.id == group);
    let mut contenders =
        (found.ok_or("no such group")?.build)(&mut fastrand::Rng::with_seed(SEED))?;
    let contender = contenders.iter_mut().find(|one| one.name == contender);
    let contender = contender.ok_or("no such contender")?;
    (0..calls).try_for_each(|_| contender.call.once(&mut contender.output))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_are_lines_of_the_log() {
        let log = "Trace 0: 0x7f [0/4/8] main\nmanylane: no such group\nTrace 0: 0x80 [0/4/8] \n";
        let (count, said) = lines(log.as_bytes()).unwrap();
        assert_eq!((count, &said[..]), (2, "manylane: no such group"));
    }

    #[test]
    fn what_is_not_counted_is_said() {
        let plan = sm2::plan(true);
        let none = count(None, &plan);
        assert!(none.counts.is_empty() && none.missing.unwrap().contains("--arm"));
        // With qemu or without it, a program that there is not.
        let none = count(Some(Path::new("/nonexistent")), &plan);
        assert!(none.counts.is_empty() && none.missing.is_some());
    }

    #[test]
    fn all_that_is_to_be_counted_can_be_called() {
        for group in WORK {
            assert_eq!(repeat(group, sm2::OURS, 2), Ok(()), "{group}");
        }
        assert!(repeat("sm2/none", sm2::OURS, 1).is_err());
        assert!(repeat(WORK[0], "none", 1).is_err());
    }
}

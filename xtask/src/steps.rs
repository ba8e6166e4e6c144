//! Steps of the test suite: run one after another, timed, and their tests counted.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    process::{Command, ExitCode, Stdio},
    time::{Duration, Instant},
};

use crate::Result;

/// Tests that passed, failed, or were skipped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Count {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) skipped: u64,
}

impl Count {
    /// Of one check that is a test itself.
    fn one(ok: bool) -> Self {
        Count { passed: u64::from(ok), failed: u64::from(!ok), skipped: 0 }
    }

    fn add(&mut self, other: Count) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }

    /// What a closing line of libtest or of a program of this repository says:
    /// `test result: ok. 3 passed; 0 failed; 1 ignored; …` or `3 passed, 0 failed`.
    fn of_line(line: &str) -> Option<Self> {
        let rest = match line.strip_prefix("test result: ") {
            Some(rest) => rest.split_once(". ")?.1,
            None => line,
        };
        let mut count = Count::default();
        let mut fields = 0;
        for part in rest.split([',', ';']) {
            let Some((number, word)) = part.trim().split_once(' ') else { continue };
            let Ok(number) = number.parse() else { continue };
            match word {
                "passed" => count.passed = number,
                "failed" => count.failed = number,
                "ignored" | "skipped" => count.skipped = number,
                _ => continue,
            }
            fields += 1;
        }
        (fields >= 2).then_some(count)
    }
}

struct Step {
    name: String,
    time: Duration,
    count: Count,
    error: Option<String>,
}

/// The steps so far.
#[derive(Default)]
pub(crate) struct Steps {
    done: Vec<Step>,
    /// Tests left out on purpose, and why.
    skipped: Vec<String>,
}

impl Steps {
    /// A check that counts as one test.
    pub(crate) fn check(&mut self, name: &str, check: impl FnOnce() -> Result) {
        self.step(name, || {
            let done = check();
            (Count::one(done.is_ok()), done)
        });
    }

    /// A command that counts as one test.
    pub(crate) fn command(&mut self, name: &str, command: &mut Command) {
        self.check(name, || {
            println!("$ {}", show(command));
            crate::run_command(command)
        });
    }

    /// A command whose closing lines count its tests.
    ///
    /// To end with a failure, or without a single test, is a failure whatever was counted. Says
    /// whether any test ran.
    pub(crate) fn tests(&mut self, name: &str, command: &mut Command) -> bool {
        let mut ran = false;
        self.step(name, || {
            println!("$ {}", show(command));
            let mut count = Count::default();
            let done = each_line(command, |line| {
                if let Some(more) = Count::of_line(line) {
                    count.add(more);
                }
            });
            ran = count.passed > 0;
            let done = match done {
                Ok(()) if count.failed > 0 => Err(format!("{} tests failed", count.failed)),
                Ok(()) if count.passed == 0 => Err("no test ran".into()),
                done => done,
            };
            if done.is_err() {
                count.failed = count.failed.max(1);
            }
            (count, done)
        });
        ran
    }

    /// Records a test that is left out on purpose.
    pub(crate) fn skip(&mut self, test: &str, why: &str) {
        self.skipped.push(format!("{test}: {why}"));
    }

    fn step(&mut self, name: &str, work: impl FnOnce() -> (Count, Result)) {
        println!("\n=== {name}");
        // Standard output and error are different pipes; what was printed should stay in order.
        let _ = std::io::stdout().flush();
        let start = Instant::now();
        let (count, done) = work();
        let time = start.elapsed();
        if let Err(why) = &done {
            println!("{name} FAILED: {why}");
        }
        println!("--- {name}: {:.1} s", time.as_secs_f64());
        self.done.push(Step { name: name.into(), time, count, error: done.err() });
    }

    /// Prints all steps, the machines that were not run, and last the line that counts.
    pub(crate) fn close(self, not_run: &[String]) -> ExitCode {
        let machines = match not_run {
            [] => "none".to_owned(),
            _ => not_run.join(", "),
        };
        self.close_with(Some(&machines))
    }

    /// The same for steps that know nothing of machines.
    pub(crate) fn close_alone(self) -> ExitCode {
        self.close_with(None)
    }

    fn close_with(self, not_run: Option<&str>) -> ExitCode {
        let mut total = Count::default();
        println!("\n  seconds   passed   failed  step");
        for step in &self.done {
            let Count { passed, failed, .. } = step.count;
            println!("{:9.1} {passed:8} {failed:8}  {}", step.time.as_secs_f64(), step.name);
            total.add(step.count);
        }
        let all: Duration = self.done.iter().map(|step| step.time).sum();
        println!("{:9.1}                    all\n", all.as_secs_f64());
        for step in &self.done {
            if let Some(why) = &step.error {
                let first = why.lines().next().unwrap_or_default();
                println!("failed: {}: {first}", step.name);
            }
        }
        for skipped in &self.skipped {
            println!("skipped: {skipped}");
        }
        total.skipped += self.skipped.len() as u64;
        if let Some(machines) = not_run {
            println!("machines not run: {machines}");
        }
        let skipped = match total.skipped {
            0 => String::new(),
            n => format!(", {n} skipped"),
        };
        println!("{} passed, {} failed{skipped}", total.passed, total.failed);
        if total.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}

/// Runs a command, passes its standard output on, and shows each line of it to `look`.
fn each_line(command: &mut Command, mut look: impl FnMut(&str)) -> Result {
    let shown = show(command);
    let fail = |error: std::io::Error| format!("`{shown}`: {error}");
    let mut child = command.stdout(Stdio::piped()).spawn().map_err(fail)?;
    let stdout = BufReader::new(child.stdout.take().expect("piped"));
    for line in stdout.split(b'\n') {
        let line = line.map_err(fail)?;
        let line = String::from_utf8_lossy(&line);
        println!("{line}");
        look(&line);
    }
    let status = child.wait().map_err(fail)?;
    if status.success() { Ok(()) } else { Err(format!("`{shown}`: {status}")) }
}

/// A command as one would type it, with the environment variables set for it.
pub(crate) fn show(command: &Command) -> String {
    let mut words: Vec<String> = command
        .get_envs()
        .filter_map(|(key, value)| {
            Some(format!("{}={}", key.to_string_lossy(), quote(&value?.to_string_lossy())))
        })
        .collect();
    let program = std::path::Path::new(command.get_program());
    words.push(program.file_name().unwrap_or_default().to_string_lossy().into_owned());
    words.extend(command.get_args().map(|arg| quote(&arg.to_string_lossy())));
    words.join(" ")
}

fn quote(word: &str) -> String {
    if word.contains(char::is_whitespace) { format!("'{word}'") } else { word.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closing_lines_are_counted() {
        let count = |passed, failed, skipped| Some(Count { passed, failed, skipped });
        let libtest = "test result: FAILED. 3 passed; 2 failed; 1 ignored; 0 measured; \
                       0 filtered out; finished in 0.10s";
        assert_eq!(Count::of_line(libtest), count(3, 2, 1));
        assert_eq!(Count::of_line("12 passed, 0 failed"), count(12, 0, 0));
        assert_eq!(Count::of_line("12 passed, 0 failed, 4 skipped"), count(12, 0, 4));
        assert_eq!(Count::of_line("test sm3::tests::all ... ok"), None);
        assert_eq!(Count::of_line("running 3 tests"), None);
    }

    #[test]
    fn a_failing_command_counts_even_if_its_tests_do_not_say_so() {
        let shell = |script: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", script]);
            command
        };
        let mut steps = Steps::default();
        assert!(steps.tests("passes", &mut shell("echo '2 passed, 0 failed'")));
        steps.tests("crashes later", &mut shell("echo '2 passed, 0 failed'; exit 3"));
        steps.tests("fails with success", &mut shell("echo '2 passed, 1 failed'"));
        assert!(!steps.tests("tests nothing", &mut shell("echo '0 passed, 0 failed'")));
        steps.command("false", &mut shell("exit 1"));
        let failed: Vec<u64> = steps.done.iter().map(|step| step.count.failed).collect();
        assert_eq!(failed, [0, 1, 1, 1, 1]);
        assert!(steps.done[1..].iter().all(|step| step.error.is_some()));
    }

    #[test]
    fn commands_are_shown_as_typed() {
        let mut command = Command::new("/usr/bin/cargo");
        command.args(["test", "--", "a b"]).env("MANYLANE_MACHINE", "sse");
        assert_eq!(show(&command), "MANYLANE_MACHINE=sse cargo test -- 'a b'");
    }
}

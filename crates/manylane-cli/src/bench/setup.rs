//! What a run was made with: the machine, the build, the libraries.

use std::{
    collections::BTreeMap,
    env, fs,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use manylane::cpu::{self, Machine};

use super::{
    clock::{self, Reading},
    counts::Core,
    measure::{Effort, Runner, SEED},
    model::{
        Build, ClockSetup, GpuSetup, Hardware, Machines, Peer, SCHEMA_VERSION, Setup, SetupKind,
    },
    os::{self, Scope},
    peers,
    stats::median,
};

/// Describes the run about to be made.
pub(super) fn describe(
    suites: &[String],
    quick: bool,
    runner: &Runner,
    gpus: Vec<GpuSetup>,
) -> Setup {
    let Effort { visits, samples, sample } = runner.effort;
    Setup {
        schema_version: SCHEMA_VERSION,
        kind: SetupKind::Kind,
        date: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |t| t.as_secs()).to_date(),
        suites: suites.to_vec(),
        quick,
        visits,
        samples_per_visit: samples,
        sample_us: sample.as_micros() as u64,
        seed: SEED,
        hardware: hardware(),
        build: build(),
        clock: runner.read_clock(201).and_then(|readings| clock_setup(&readings)),
        machines: machines(),
        gpus,
        peers: peers::looked_for()
            .into_iter()
            .chain(suites.iter().filter_map(|suite| peers::looked_for_apart(suite)))
            .map(peer)
            .collect(),
    }
}

/// The medians of each chain, which are to agree; a disturbed reading moves neither.
fn clock_setup(readings: &[Reading]) -> Option<ClockSetup> {
    let by =
        |chain: fn(&Reading) -> f64| median(&mut readings.iter().map(chain).collect::<Vec<_>>());
    let (hz_by_add, hz_by_other) = (by(|reading| reading.by_add)?, by(|reading| reading.by_other)?);
    Some(ClockSetup {
        hz_by_add,
        hz_by_other,
        agree: clock::agreed(hz_by_add, hz_by_other).is_some(),
        readings: readings.len(),
        disturbed: readings.iter().filter(|reading| reading.hz().is_none()).count(),
    })
}

fn peer(found: peers::Found) -> Peer {
    let (version, missing) = match found.version {
        Ok(version) => (Some(version), None),
        Err(why) => (None, Some(why)),
    };
    Peer { name: found.name.into(), version, missing }
}

fn build() -> Build {
    let known = |value: Option<&str>| value.unwrap_or("unknown").to_owned();
    Build {
        version: env!("CARGO_PKG_VERSION").into(),
        commit: option_env!("MANYLANE_COMMIT").map(str::to_owned),
        compiler: known(option_env!("MANYLANE_COMPILER")),
        target: known(option_env!("MANYLANE_TARGET")),
        profile: known(option_env!("MANYLANE_PROFILE")),
    }
}

fn machines() -> Machines {
    let (run, not_run): (Vec<_>, Vec<_>) =
        Machine::ALL.into_iter().partition(|machine| machine.is_available());
    let why = |machine: Machine| match (machine.is_native(), machine.is_detected()) {
        (false, _) => "of another architecture",
        (true, false) => "this processor lacks it",
        (true, true) => "ruled out by MANYLANE_MACHINE",
    };
    Machines {
        run: run.iter().map(ToString::to_string).collect(),
        not_run: not_run.into_iter().map(|m| (m.to_string(), why(m).to_owned())).collect(),
        forced: env::var(cpu::FORCE).ok(),
    }
}

fn hardware() -> Hardware {
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let cpu = Processor::from_cpuinfo(&cpuinfo);
    let meminfo = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kernel = |file| {
        fs::read_to_string(format!("/proc/sys/kernel/{file}"))
            .map_or_else(|_| env::consts::OS.to_owned(), |text| text.trim().to_owned())
    };
    Hardware {
        arch: env::consts::ARCH.into(),
        cpu: cpu.name,
        cpu_id: cpu.id,
        core: cpu.core.map(|core| core.name().to_owned()),
        processors: std::thread::available_parallelism().map_or(1, Into::into),
        caches: caches(),
        memory_bytes: field(&meminfo, "MemTotal")
            .and_then(|size| size.split_whitespace().next()?.parse::<u64>().ok())
            .map(|kib| kib * 1024),
        kernel: format!("{} {}", kernel("ostype"), kernel("osrelease")),
        virtual_machine: cpu.virtual_machine,
    }
}

/// What all processors have done, to find what others do during a run.
pub(super) struct Load {
    busy: Option<f64>,
    own: Duration,
    now: Instant,
}

impl Load {
    pub(super) fn now() -> Self {
        let stat = fs::read_to_string("/proc/stat").ok();
        let busy = stat.and_then(|stat| busy_seconds(&stat));
        Load { busy, own: os::processor_time(Scope::Process), now: Instant::now() }
    }

    /// Share of the processors' time that others have used since.
    pub(super) fn of_others(&self, processors: usize) -> Option<f64> {
        let now = Load::now();
        let own = (now.own - self.own).as_secs_f64();
        let elapsed = (now.now - self.now).as_secs_f64() * processors as f64;
        Some(((now.busy? - self.busy? - own) / elapsed).clamp(0.0, 1.0))
    }
}

/// Processor time of the whole system that was not idle, from `/proc/stat`, whose unit is a
/// hundredth of a second on every architecture served.
fn busy_seconds(stat: &str) -> Option<f64> {
    let cpu = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let times: Vec<f64> = cpu.split_whitespace().map(str::parse).collect::<Result<_, _>>().ok()?;
    // user, nice, system, idle, iowait, irq, softirq, steal; guests are part of user.
    let busy = [0, 1, 2, 5, 6, 7].iter().filter_map(|&i| times.get(i)).sum::<f64>();
    Some(busy / 100.0)
}

/// The first processor of `/proc/cpuinfo`.
#[derive(Debug, PartialEq)]
struct Processor {
    name: String,
    id: String,
    core: Option<Core>,
    virtual_machine: Option<bool>,
}

/// The core that this program runs on, if its ceilings are known.
pub(super) fn core() -> Option<Core> {
    Processor::from_cpuinfo(&fs::read_to_string("/proc/cpuinfo").ok()?).core
}

impl Processor {
    fn from_cpuinfo(text: &str) -> Self {
        let number = |name| field(text, name)?.parse::<u32>().ok();
        let unknown = || "unknown".to_owned();
        if let (Some(vendor), Some(family), Some(model)) =
            (field(text, "vendor_id"), number("cpu family"), number("model"))
        {
            let stepping = field(text, "stepping").unwrap_or("?");
            let flags = field(text, "flags").unwrap_or_default();
            return Processor {
                name: field(text, "model name").map_or_else(unknown, str::to_owned),
                id: format!("{vendor} family {family} model {model} stepping {stepping}"),
                core: Core::known(vendor, family, model),
                virtual_machine: Some(flags.split(' ').any(|flag| flag == "hypervisor")),
            };
        }
        let id = ["CPU implementer", "CPU part", "CPU variant", "CPU revision"]
            .map(|name| field(text, name).map(|value| format!("{} {value}", &name[4..])));
        let id: Vec<String> = id.into_iter().flatten().collect();
        Processor {
            name: field(text, "model name").map_or_else(unknown, str::to_owned),
            id: if id.is_empty() { unknown() } else { id.join(" ") },
            core: None,
            virtual_machine: None,
        }
    }
}

/// The first value of that name in lines of `name : value`.
fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let of = |line: &'a str| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then_some(value.trim())
    };
    text.lines().find_map(of)
}

fn caches() -> BTreeMap<String, String> {
    let cache = |index: u32| {
        let read = |file| {
            let path = format!("/sys/devices/system/cpu/cpu0/cache/index{index}/{file}");
            Some(fs::read_to_string(path).ok()?.trim().to_owned())
        };
        Some((format!("L{} {}", read("level")?, read("type")?), read("size")?))
    };
    (0..8).map_while(cache).collect()
}

/// Seconds since 1970 as a date.
trait ToDate {
    fn to_date(self) -> String;
}

impl ToDate for u64 {
    /// By H. Hinnant's algorithm for the proleptic Gregorian calendar, from 1970 on: years begin
    /// in March, so that the leap day is the last, and 400 of them have 146,097 days.
    fn to_date(self) -> String {
        let (days, second) = (self / 86_400 + 719_468, self % 86_400);
        let (era, day_of_era) = (days / 146_097, days % 146_097);
        let year_of_era =
            (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let from_march = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * from_march + 2) / 5 + 1;
        let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
        let year = era * 400 + year_of_era + u64::from(month <= 2);
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates() {
        assert_eq!(0.to_date(), "1970-01-01T00:00:00Z");
        assert_eq!(951_782_399.to_date(), "2000-02-28T23:59:59Z");
        assert_eq!(951_782_400.to_date(), "2000-02-29T00:00:00Z");
        assert_eq!(1_735_689_599.to_date(), "2024-12-31T23:59:59Z");
        assert_eq!(4_107_542_400.to_date(), "2100-03-01T00:00:00Z");
    }

    #[test]
    fn load_is_what_is_not_idle() {
        let stat = "cpu  100 10 20 5000 300 1 2 4 50 0\ncpu0 1 1 1 1 1 1 1 1 1 1\n";
        assert_eq!(busy_seconds(stat), Some(1.37));
        assert_eq!(busy_seconds(""), None);
        assert!(Load::now().of_others(1).is_none_or(|share| (0.0..=1.0).contains(&share)));
    }

    #[test]
    fn processors_are_told_apart() {
        let text = "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 17\n\
                    model name\t: AMD EPYC 9R14\nstepping\t: 1\nflags\t\t: fpu hypervisor avx2\n";
        let cpu = Processor::from_cpuinfo(text);
        assert_eq!((&cpu.name[..], cpu.core), ("AMD EPYC 9R14", Some(Core::Zen4)));
        assert_eq!(cpu.id, "AuthenticAMD family 25 model 17 stepping 1");
        assert_eq!(cpu.virtual_machine, Some(true));
        let arm = Processor::from_cpuinfo("CPU implementer\t: 0x41\nCPU part\t: 0xd40\n");
        assert_eq!(arm.id, "implementer 0x41 part 0xd40");
        assert_eq!(Processor::from_cpuinfo("").name, "unknown");
    }
}

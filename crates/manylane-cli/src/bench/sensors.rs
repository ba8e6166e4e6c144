//! The clock and the energy of a device while it works: NVIDIA's from NVML, which comes with the
//! driver, processors' from the powercap interface of Linux.
//!
//! Neither is needed to measure speed. What is missing is said, and figures that need it are left
//! out.

use std::{
    collections::VecDeque,
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use nvml_wrapper::{Device, Nvml, enum_wrappers::device::Clock, error::NvmlError};

use super::stats::median;

/// How often the clock is read.
const INTERVAL: Duration = Duration::from_millis(2);

/// Readings that are kept: half a minute of them.
const KEPT: usize = 1 << 14;

/// A reading this long before or after a sample that had none of its own still speaks for it:
/// power management changes clocks more slowly than this.
const NEAR: Duration = Duration::from_millis(50);

/// Reads one GPU's clock again and again, on a thread of its own.
pub(super) struct Sensor {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
    counts_energy: bool,
}

struct Shared {
    nvml: Nvml,
    /// The device's PCI address: its number in NVML is another than in CUDA.
    pci: String,
    closing: AtomicBool,
    readings: Mutex<Readings>,
}

#[derive(Default)]
struct Readings {
    hz: VecDeque<(Instant, f64)>,
    /// Power summed up since the first reading, where the device does not count energy itself.
    joules: f64,
    last: Option<Instant>,
}

impl Sensor {
    /// A sensor of the GPU at that PCI address.
    ///
    /// # Errors
    /// Why NVML says nothing of it.
    pub(super) fn new(pci: &str) -> Result<Self, String> {
        let nvml = Nvml::init().map_err(|why| format!("no NVML: {why}"))?;
        let of = |why: NvmlError| format!("NVML does not know {pci}: {why}");
        let device = nvml.device_by_pci_bus_id(pci).map_err(of)?;
        device.clock_info(Clock::SM).map_err(|why| format!("NVML reads no clock: {why}"))?;
        let counts_energy = device.total_energy_consumption().is_ok();
        let shared = Arc::new(Shared {
            nvml,
            pci: pci.to_owned(),
            closing: AtomicBool::new(false),
            readings: Mutex::default(),
        });
        let reader = Arc::clone(&shared);
        let thread = thread::Builder::new()
            .name("gpu clock".into())
            .spawn(move || reader.read(counts_energy))
            .map_err(|why| format!("no thread to read the clock: {why}"))?;
        Ok(Sensor { shared, thread: Some(thread), counts_energy })
    }

    /// What it reads, for the record.
    pub(super) fn describe(&self) -> String {
        let energy = if self.counts_energy { "its energy counter" } else { "its power" };
        format!("SM clock from NVML every {} ms, energy from {energy}", INTERVAL.as_millis())
    }

    /// Median of the multiprocessors' clock between two moments, in Hz.
    pub(super) fn hz(&self, from: Instant, to: Instant) -> Option<f64> {
        let readings = self.shared.readings.lock().unwrap_or_else(PoisonError::into_inner);
        clock_between(&readings.hz, from, to)
    }

    /// Joules that the device has used up to now, from some moment on.
    pub(super) fn joules(&self) -> Option<f64> {
        if self.counts_energy {
            let device = self.shared.device().ok()?;
            return Some(device.total_energy_consumption().ok()? as f64 / 1e3);
        }
        let readings = self.shared.readings.lock().unwrap_or_else(PoisonError::into_inner);
        (readings.joules > 0.0).then_some(readings.joules)
    }
}

impl Drop for Sensor {
    fn drop(&mut self) {
        self.shared.closing.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // Had it panicked, it would have said so.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn device(&self) -> Result<Device<'_>, NvmlError> {
        self.nvml.device_by_pci_bus_id(&self.pci[..])
    }

    fn read(&self, counts_energy: bool) {
        let Ok(device) = self.device() else { return };
        while !self.closing.load(Ordering::Relaxed) {
            // A reading that fails is one reading less.
            let hz = device.clock_info(Clock::SM).ok().map(|mhz| f64::from(mhz) * 1e6);
            let watts = if counts_energy { None } else { device.power_usage().ok().map(f64::from) };
            let now = Instant::now();
            let mut readings = self.readings.lock().unwrap_or_else(PoisonError::into_inner);
            readings.add(now, hz, watts.map(|milliwatts| milliwatts / 1e3));
            drop(readings);
            thread::sleep(INTERVAL);
        }
    }
}

impl Readings {
    fn add(&mut self, now: Instant, hz: Option<f64>, watts: Option<f64>) {
        if self.hz.len() == KEPT {
            self.hz.pop_front();
        }
        self.hz.extend(hz.map(|hz| (now, hz)));
        if let Some(watts) = watts {
            let since = self.last.replace(now).map_or(0.0, |last| (now - last).as_secs_f64());
            self.joules += watts * since;
        }
    }
}

/// Median of the readings between two moments, or the one nearest to them.
fn clock_between(readings: &VecDeque<(Instant, f64)>, from: Instant, to: Instant) -> Option<f64> {
    let first = readings.partition_point(|&(when, _)| when < from);
    let past = readings.partition_point(|&(when, _)| when <= to);
    let mut within: Vec<f64> = readings.range(first..past).map(|&(_, hz)| hz).collect();
    median(&mut within).or_else(|| {
        let before = first.checked_sub(1).and_then(|i| readings.get(i));
        let before = before.map(|&(when, hz)| (from - when, hz));
        let after = readings.get(past).map(|&(when, hz)| (when - to, hz));
        let nearest = before.into_iter().chain(after).min_by_key(|&(away, _)| away)?;
        (nearest.0 <= NEAR).then_some(nearest.1)
    })
}

/// The energy counters of the processors' packages.
pub(super) struct Packages(Vec<Package>);

struct Package {
    counter: PathBuf,
    /// Microjoules after which the counter begins anew.
    range: u64,
}

impl Packages {
    /// Those of this machine.
    ///
    /// # Errors
    /// Why none can be read.
    pub(super) fn find() -> Result<Self, String> {
        Packages::below(Path::new("/sys/class/powercap"))
    }

    fn below(root: &Path) -> Result<Self, String> {
        let none = |why: &dyn std::fmt::Display| {
            format!("the processor's energy is not to be read ({}: {why})", root.display())
        };
        let mut packages = Vec::new();
        for entry in fs::read_dir(root).map_err(|why| none(&why))?.flatten() {
            let name = entry.file_name();
            // Zones with two numbers are parts of packages.
            let is_package = name.to_str().is_some_and(|name| {
                name.strip_prefix("intel-rapl:").is_some_and(|zone| zone.parse::<u32>().is_ok())
            });
            if is_package {
                let counter = entry.path().join("energy_uj");
                number(&counter).map_err(|why| none(&why))?;
                let range = number(&entry.path().join("max_energy_range_uj"));
                packages.push(Package { counter, range: range.map_err(|why| none(&why))? });
            }
        }
        if packages.is_empty() { Err(none(&"no package there")) } else { Ok(Packages(packages)) }
    }

    /// Microjoules that each counter shows.
    pub(super) fn now(&self) -> Vec<Option<u64>> {
        self.0.iter().map(|package| number(&package.counter).ok()).collect()
    }

    /// Joules between two showings, of all packages, none of which has turned over twice.
    pub(super) fn joules(&self, before: &[Option<u64>], after: &[Option<u64>]) -> Option<f64> {
        let of = |((package, before), after): ((&Package, &Option<u64>), &Option<u64>)| {
            let (before, after) = ((*before)?, (*after)?);
            Some(after.checked_sub(before).unwrap_or_else(|| after + (package.range - before)))
        };
        let each: Option<Vec<u64>> = self.0.iter().zip(before).zip(after).map(of).collect();
        Some(each?.into_iter().sum::<u64>() as f64 / 1e6)
    }
}

fn number(file: &Path) -> Result<u64, String> {
    let text = fs::read_to_string(file).map_err(|why| why.to_string())?;
    text.trim().parse().map_err(|_| "no number".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_are_those_of_the_sample() {
        let start = Instant::now();
        let at = |ms: u64| start + Duration::from_millis(ms);
        let readings: VecDeque<_> = [(0, 1.0), (10, 2.0), (12, 4.0), (14, 6.0), (300, 9.0)]
            .map(|(t, hz)| (at(t), hz))
            .into();
        assert_eq!(clock_between(&readings, at(9), at(15)), Some(4.0));
        assert_eq!(clock_between(&readings, at(15), at(16)), Some(6.0), "the nearest");
        assert_eq!(clock_between(&readings, at(290), at(295)), Some(9.0), "the nearest, later");
        assert_eq!(clock_between(&readings, at(100), at(200)), None, "all far away");
        assert_eq!(clock_between(&VecDeque::new(), at(0), at(1)), None);
    }

    #[test]
    fn power_adds_up_to_energy() {
        let start = Instant::now();
        let mut readings = Readings::default();
        for tenth in 0..=10 {
            readings.add(start + Duration::from_millis(100 * tenth), Some(1e9), Some(200.0));
        }
        assert!((readings.joules - 200.0).abs() < 1e-9, "{}", readings.joules);
        for _ in 0..2 * KEPT {
            readings.add(start, Some(1e9), None);
        }
        assert_eq!(readings.hz.len(), KEPT);
    }

    #[test]
    fn packages_count_and_turn_over() {
        let root = tempfile::tempdir().unwrap();
        assert!(Packages::below(root.path()).err().unwrap().contains("no package"));
        assert!(Packages::below(&root.path().join("gone")).is_err());
        for (zone, energy) in [("intel-rapl:0", 900), ("intel-rapl:1", 5), ("intel-rapl:0:0", 1)] {
            let zone = root.path().join(zone);
            fs::create_dir(&zone).unwrap();
            fs::write(zone.join("energy_uj"), format!("{energy}\n")).unwrap();
            fs::write(zone.join("max_energy_range_uj"), "1000\n").unwrap();
        }
        let packages = Packages::below(root.path()).unwrap();
        let before = packages.now();
        assert_eq!(before.iter().flatten().sum::<u64>(), 905);
        for (zone, energy) in [("intel-rapl:0", 100), ("intel-rapl:1", 25)] {
            fs::write(root.path().join(zone).join("energy_uj"), energy.to_string()).unwrap();
        }
        let joules = packages.joules(&before, &packages.now()).unwrap();
        assert!((joules - 220e-6).abs() < 1e-12, "{joules}");
    }

    #[test]
    fn a_gpu_that_is_not_there_has_no_sensor() {
        assert!(Sensor::new("ffff:ff:1f.0").is_err());
    }
}

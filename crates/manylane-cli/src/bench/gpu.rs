//! What the suites of GPUs have in common: which devices are measured, by whose clock, for how long.

pub(super) mod energy;

use std::time::{Duration, Instant};

use manylane_engine::Device as Choice;
use manylane_gpu::{DeviceId, Error, Event, Gpu, KernelInfo, Stream, Vendor, devices};

use super::{
    data::bytes_label,
    measure::{Contender, Cores, Effort, Group, Plan, Timing},
    model::{GpuSetup, KernelSetup},
    sensors::Sensor,
};

/// What is measured, and on what.
pub(super) struct Suite {
    pub(super) plan: Plan,
    pub(super) gpus: Vec<GpuSetup>,
}

/// How much is measured of everything here. A visit is short: what differs between visits of a
/// kernel is the device's clock, and data stays where it is.
pub(super) fn effort(quick: bool) -> Effort {
    match quick {
        false => Effort { visits: 9, samples: 2, sample: Duration::from_millis(10) },
        true => Effort { visits: 6, samples: 1, sample: Duration::from_millis(2) },
    }
}

/// Longest call of a kernel.
pub(super) fn longest(quick: bool) -> Duration {
    Duration::from_millis(if quick { 10 } else { 60 })
}

/// The GPUs of a choice.
///
/// # Errors
/// If it names none, or there is none.
pub(super) fn chosen(choice: Choice) -> Result<Vec<DeviceId>, String> {
    let all_of = |vendor: Vendor| -> Result<Vec<DeviceId>, String> {
        let found = devices(vendor).map_err(|why| why.to_string())?;
        Ok(found.into_iter().map(|info| info.id).collect())
    };
    let one =
        |vendor, ordinal: Option<u32>| Ok(vec![DeviceId { vendor, ordinal: ordinal.unwrap_or(0) }]);
    match choice {
        Choice::Cuda(ordinal) => one(Vendor::Cuda, ordinal),
        Choice::Hip(ordinal) => one(Vendor::Hip, ordinal),
        Choice::Auto | Choice::All => {
            let (found, why): (Vec<_>, Vec<_>) =
                Vendor::ALL.into_iter().map(all_of).partition(Result::is_ok);
            let found: Vec<DeviceId> = found.into_iter().flatten().flatten().collect();
            let why: Vec<String> = why.into_iter().filter_map(Result::err).collect();
            match (found.is_empty(), why.is_empty()) {
                (false, _) => Ok(found),
                (true, false) => Err(why.join("; ")),
                (true, true) => Err("the drivers find no GPU".into()),
            }
        }
        other => Err(format!("{other} is no GPU")),
    }
}

/// A GPU for the record, with the kernels that are measured on it.
pub(super) fn setup(gpu: &Gpu, timer: &Timer, kernels: &[KernelInfo]) -> GpuSetup {
    let info = gpu.info();
    GpuSetup {
        id: info.id.to_string(),
        name: info.name.clone(),
        architecture: info.architecture.clone(),
        driver: info.driver.clone(),
        multiprocessors: info.multiprocessors,
        clock_hz: f64::from(info.clock_khz) * 1e3,
        memory_bytes: info.memory,
        integrated: info.integrated,
        pci: info.pci.clone(),
        sensors: match timer.sensor() {
            Ok(sensor) => sensor.describe(),
            Err(why) => format!("clock and energy unknown: {why}"),
        },
        kernels: kernels.iter().map(kernel).collect(),
    }
}

/// A kernel for the record.
pub(crate) fn kernel(kernel: &KernelInfo) -> KernelSetup {
    KernelSetup {
        name: kernel.name.to_owned(),
        block: kernel.block,
        registers: kernel.registers,
        local_bytes: kernel.local_bytes,
    }
}

/// Adds the GPUs of a further suite to those of a run: one that is there already has its kernels too.
pub(super) fn join(all: &mut Vec<GpuSetup>, more: Vec<GpuSetup>) {
    for gpu in more {
        match all.iter_mut().find(|known| known.id == gpu.id) {
            Some(known) => known.kernels.extend(gpu.kernels),
            None => all.push(gpu),
        }
    }
}

/// A group of contenders on a device.
pub(super) fn group(
    suite: &str,
    gpu: &Gpu,
    name: &str,
    part: &'static str,
    parameter: String,
    quick: bool,
    build: impl Fn(&mut fastrand::Rng) -> Result<Vec<Contender>, String> + 'static,
) -> Group {
    let info = gpu.info();
    Group {
        id: format!("{suite}/{}/{name}", info.id),
        part,
        parameter: format!("{}: {parameter}", info.id),
        unit: "messages",
        working_set: 0,
        base: None,
        pairs: Vec::new(),
        cores: Cores::Gpu { multiprocessors: info.multiprocessors },
        effort: Some(effort(quick)),
        same_output: false,
        build: Box::new(build),
    }
}

/// Times work on a device by the device's own events, and reads its clock meanwhile.
pub(super) struct Timer {
    stream: Stream,
    start: Event,
    end: Event,
    sensor: Result<Sensor, String>,
}

impl Timer {
    pub(super) fn new(gpu: &Gpu) -> Result<Self, Error> {
        Ok(Timer {
            stream: Stream::new(gpu)?,
            start: Event::timed(gpu)?,
            end: Event::timed(gpu)?,
            sensor: Sensor::new(&gpu.info().pci),
        })
    }

    /// The stream that is timed.
    pub(super) fn stream(&self) -> &Stream {
        &self.stream
    }

    pub(super) fn sensor(&self) -> Result<&Sensor, &str> {
        self.sensor.as_ref().map_err(String::as_str)
    }

    /// Launches the work so many times and waits; how long the device took from the first to the
    /// last, and its clock meanwhile. Before them it is launched once more: while that runs, the
    /// host enqueues the others, and the device finds out where its pages are, as in the midst of
    /// other work.
    pub(super) fn time(
        &self,
        calls: u32,
        launch: impl FnMut(&Stream) -> Result<(), Error>,
    ) -> Result<Timing, Error> {
        let from = Instant::now();
        let seconds = self.seconds(calls, launch)?;
        let hz = self.sensor.as_ref().ok().and_then(|sensor| sensor.hz(from, Instant::now()));
        Ok(Timing { seconds, hz, joules: None })
    }

    /// The same without a look at the clock.
    pub(super) fn seconds(
        &self,
        calls: u32,
        mut launch: impl FnMut(&Stream) -> Result<(), Error>,
    ) -> Result<f64, Error> {
        launch(&self.stream)?;
        self.between(|stream| (0..calls).try_for_each(|_| launch(stream)))
    }

    /// Seconds that the device takes for what is enqueued here.
    pub(super) fn between(
        &self,
        enqueue: impl FnOnce(&Stream) -> Result<(), Error>,
    ) -> Result<f64, Error> {
        self.start.record(&self.stream)?;
        enqueue(&self.stream)?;
        self.end.record(&self.stream)?;
        self.stream.synchronize()?;
        Ok(f64::from(self.end.since(&self.start)?) / 1e3)
    }
}

/// Does the work so many times, by the wall's clock.
pub(super) fn by_wall(
    calls: u32,
    mut work: impl FnMut() -> Result<(), String>,
) -> Result<Timing, String> {
    let start = Instant::now();
    for _ in 0..calls {
        work()?;
    }
    Ok(Timing { seconds: start.elapsed().as_secs_f64(), hz: None, joules: None })
}

/// `33,792 × 8 KiB`.
pub(super) fn amount(count: usize, len: usize) -> String {
    format!("{} × {}", thousands(count), bytes_label(len as u64))
}

/// Digits in groups of three.
pub(super) fn thousands(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::example;

    #[test]
    fn amounts_are_readable() {
        assert_eq!(amount(33_792, 8192), "33,792 × 8 KiB");
        assert_eq!([0, 999, 1000, 1_000_000].map(thousands), ["0", "999", "1,000", "1,000,000"]);
    }

    #[test]
    fn the_cpu_is_no_gpu() {
        assert_eq!(chosen(Choice::Cpu), Err("cpu is no GPU".into()));
        let one = DeviceId { vendor: Vendor::Hip, ordinal: 3 };
        assert_eq!(chosen(Choice::Hip(Some(3))), Ok(vec![one]));
    }

    #[test]
    fn a_gpu_of_two_suites_is_one() {
        let mut all = example::setup().gpus;
        let kernels = all[0].kernels.len();
        let other = GpuSetup { id: "hip:0".into(), ..all[0].clone() };
        let more = vec![all[0].clone(), other];
        join(&mut all, more);
        assert_eq!((all.len(), all[0].kernels.len()), (2, 2 * kernels));
    }
}

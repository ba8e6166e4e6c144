//! Suite `sm3-gpu`: SM3 on graphics processors, by the kernel alone and from the host's memory,
//! beside the methods of others.

use std::{rc::Rc, time::Duration};

use manylane_engine::Device as Choice;
use manylane_gpu::{DeviceId, Vendor, devices};

use self::device::Device;
use super::{
    data::bytes_label,
    measure::{Call, Contender, Cores, Effort, Group, Plan, SEED, Timing},
    model::{GpuSetup, KernelSetup},
    peers::OpenSsl,
};

mod device;
mod energy;
mod host;
mod kernels;
mod padded;
mod sweep;

pub(super) use sweep::Launch;

/// Name of OpenSSL as a contender.
const OPENSSL: &str = "OpenSSL";

/// What is measured, and on what.
pub(super) struct Suite {
    pub(super) plan: Plan,
    pub(super) gpus: Vec<GpuSetup>,
}

/// How much is measured of everything here. A visit is short: what differs between visits of a
/// kernel is the device's clock, and data stays where it is.
fn effort(quick: bool) -> Effort {
    match quick {
        false => Effort { visits: 9, samples: 2, sample: Duration::from_millis(10) },
        true => Effort { visits: 6, samples: 1, sample: Duration::from_millis(2) },
    }
}

/// Longest call of a kernel.
fn longest(quick: bool) -> Duration {
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

/// Opens the GPUs and says what there is to measure on them.
///
/// # Errors
/// What kept a GPU from being opened.
pub(super) fn suite(ids: &[DeviceId], quick: bool) -> Result<Suite, String> {
    let mut rng = fastrand::Rng::with_seed(SEED);
    let open = |&id: &DeviceId| {
        let device = Device::open(id, longest(quick), &mut rng);
        device.map(Rc::new).map_err(|why| format!("{id}: {why}"))
    };
    let devices: Vec<Rc<Device>> = ids.iter().map(open).collect::<Result<_, _>>()?;
    let mut suite = Suite { plan: Plan::default(), gpus: Vec::new() };
    for device in &devices {
        suite.gpus.push(setup(device)?);
        suite.plan.groups.extend(kernels::groups(device, quick));
        suite.plan.groups.extend(sweep::groups(device, quick));
    }
    suite.plan.groups.extend(host::groups(&devices, quick)?);
    for device in &devices {
        suite.plan.groups.push(energy::group(device, quick));
    }
    Ok(suite)
}

fn setup(device: &Device) -> Result<GpuSetup, String> {
    let info = device.gpu().info();
    let failed = |why: manylane_gpu::Error| why.to_string();
    let ours = device.sm3().kernels().map_err(failed)?;
    let others = device.comparators().kernels().map_err(failed)?;
    Ok(GpuSetup {
        id: info.id.to_string(),
        name: info.name.clone(),
        architecture: info.architecture.clone(),
        driver: info.driver.clone(),
        multiprocessors: info.multiprocessors,
        clock_hz: f64::from(info.clock_khz) * 1e3,
        memory_bytes: info.memory,
        integrated: info.integrated,
        pci: info.pci.clone(),
        sensors: match device.sensor() {
            Ok(sensor) => sensor.describe(),
            Err(why) => format!("clock and energy unknown: {why}"),
        },
        kernels: ours.iter().chain(&others).map(kernel).collect(),
    })
}

/// A kernel for the record.
pub(crate) fn kernel(kernel: &manylane_gpu::KernelInfo) -> KernelSetup {
    KernelSetup {
        name: kernel.name.to_owned(),
        block: kernel.block,
        registers: kernel.registers,
        local_bytes: kernel.local_bytes,
    }
}

/// A group of contenders on a device.
fn group(
    device: &Device,
    name: &str,
    part: &'static str,
    parameter: String,
    quick: bool,
    build: impl Fn(&mut fastrand::Rng) -> Result<Vec<Contender>, String> + 'static,
) -> Group {
    Group {
        id: format!("sm3-gpu/{}/{name}", device.gpu().info().id),
        part,
        parameter: format!("{}: {parameter}", device.gpu().info().id),
        unit: "messages",
        working_set: 0,
        base: None,
        pairs: Vec::new(),
        cores: Cores::Gpu { multiprocessors: device.multiprocessors() },
        effort: Some(effort(quick)),
        same_output: false,
        build: Box::new(build),
    }
}

/// A contender that runs a kernel on messages in the device's memory; it has been found right.
fn contender(
    device: &Rc<Device>,
    name: String,
    peer: bool,
    work: Rc<device::Work>,
    rng: &mut fastrand::Rng,
) -> Result<Contender, String> {
    device.check(&work, rng).map_err(|why| format!("{name}: {why}"))?;
    let device = Rc::clone(device);
    let (bytes, units) = (work.bytes(), work.count as u64);
    Ok(Contender {
        name,
        kernel: None,
        work: super::measure::Work { bytes, units, counted_clocks: None },
        peer,
        output: Vec::new(),
        call: Call::elsewhere(move |calls, _| {
            device.time(&work, calls).map_err(|why| why.to_string())
        }),
    })
}

/// `33,792 × 8 KiB`.
fn amount(count: usize, len: usize) -> String {
    format!("{} × {}", thousands(count), bytes_label(len as u64))
}

/// Digits in groups of three.
fn thousands(number: usize) -> String {
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
}

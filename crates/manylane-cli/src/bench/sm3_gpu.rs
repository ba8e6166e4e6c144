//! Suite `sm3-gpu`: SM3 on graphics processors, by the kernel alone and from the host's memory,
//! beside the methods of others.

use std::rc::Rc;

use manylane_gpu::{DeviceId, KernelInfo};

use self::device::Device;
use super::{
    data::bytes_label,
    gpu::{self, Suite, amount, by_wall, longest, thousands},
    measure::{Call, Contender, Group, Plan, SEED, Timing},
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
        suite.gpus.push(gpu::setup(device.gpu(), device.timer(), &kernel_infos(device)?));
        suite.plan.groups.extend(kernels::groups(device, quick));
        suite.plan.groups.extend(sweep::groups(device, quick));
    }
    suite.plan.groups.extend(host::groups(&devices, quick)?);
    for device in &devices {
        suite.plan.groups.push(energy::group(device, quick));
    }
    Ok(suite)
}

fn kernel_infos(device: &Device) -> Result<Vec<KernelInfo>, String> {
    let failed = |why: manylane_gpu::Error| why.to_string();
    let ours = device.sm3().kernels().map_err(failed)?;
    let others = device.comparators().kernels().map_err(failed)?;
    Ok([ours, others].concat())
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
    gpu::group(super::SM3_GPU, device.gpu(), name, part, parameter, quick, build)
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

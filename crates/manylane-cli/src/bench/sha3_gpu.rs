//! Suite `sha3-gpu`: SHA-3 on graphics processors, by the kernel alone and from the host's memory, beside
//! the methods of others.

use std::{rc::Rc, time::Duration};

use manylane_gpu::DeviceId;

use self::device::{Device, Program, Work};
use super::{
    data::bytes_label,
    gpu::{self, Suite, amount, by_wall, longest, thousands},
    measure::{Call, Contender, Group, Plan, SEED, Timing},
};

mod device;
mod energy;
mod host;
mod kernels;
mod slides;

/// Opens the GPUs and says what there is to measure on them.
///
/// # Errors
/// What kept a GPU from being opened.
pub(super) fn suite(ids: &[DeviceId], quick: bool) -> Result<Suite, String> {
    let devices = ids.iter().map(|&id| open(id, longest(quick)));
    let devices: Vec<Rc<Device>> = devices.collect::<Result<_, _>>()?;
    let mut suite = Suite { plan: Plan::default(), gpus: Vec::new() };
    for device in &devices {
        let kernels = device.kernels().map_err(|why| why.to_string())?;
        suite.gpus.push(gpu::setup(device.gpu(), device.timer(), &kernels));
        suite.plan.groups.extend(kernels::groups(device, quick));
        suite.plan.groups.extend(host::groups(device, quick));
        suite.plan.groups.extend(slides::groups(device, quick));
        suite.plan.groups.push(energy::group(device, quick));
    }
    Ok(suite)
}

fn open(id: DeviceId, longest: Duration) -> Result<Rc<Device>, String> {
    let mut rng = fastrand::Rng::with_seed(SEED);
    let device = Device::open(id, longest, &mut rng);
    device.map(Rc::new).map_err(|why| format!("{id}: {why}"))
}

/// Launches every kernel that the suite measures once, on so many bytes at most, for a profiler or a
/// sanitizer to look at.
///
/// # Errors
/// What kept a GPU from that.
pub(super) fn launch_all(id: DeviceId, bytes: usize) -> Result<(), String> {
    // How fast the device is does not matter: under a sanitizer it is slow.
    let device = open(id, Duration::ZERO)?;
    for work in kernels::each(&device, bytes) {
        let launched = device.timer().between(|stream| device.launch(&work, stream));
        launched.map_err(|why| format!("{:?} of {:?}: {why}", work.program, work.function))?;
    }
    Ok(())
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
    gpu::group(super::SHA3_GPU, device.gpu(), name, part, parameter, quick, build)
}

/// A contender that runs a kernel on messages in the device's memory; it has been found right.
fn contender(
    device: &Rc<Device>,
    name: String,
    work: Rc<Work>,
    rng: &mut fastrand::Rng,
) -> Result<Contender, String> {
    device.check(&work, rng).map_err(|why| format!("{name}: {why}"))?;
    let device = Rc::clone(device);
    Ok(Contender {
        name,
        kernel: None,
        work: work.measured(),
        peer: matches!(work.program, Program::Other(_)),
        output: Vec::new(),
        call: Call::elsewhere(move |calls, _| {
            device.time(&work, calls).map_err(|why| why.to_string())
        }),
    })
}

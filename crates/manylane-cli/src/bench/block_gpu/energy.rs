//! Energy of steady counter mode: on all cores by portable code and by the best machine, on the device by
//! the naive kernel and by the library's.

use std::{rc::Rc, thread};

use manylane::cpu::Machine;
use manylane_gpu::BlockComparator;

use super::{Cipher, Contender, Device, Family, Group, Mode, OURS, Program, Work, bytes_label};
use crate::bench::{
    gpu::energy::{self, Named, PART},
    sensors::Packages,
};

/// End of the group's name.
pub(super) const GROUP: &str = "energy";

/// Ways to do it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Portable,
    Best,
    Naive,
    Ours,
}

impl Way {
    /// From the slowest to the fastest, as in the slides.
    pub(super) const ALL: [Way; 4] = [Way::Portable, Way::Best, Way::Naive, Way::Ours];

    /// Name of the contender that does it with a cipher.
    pub(super) fn contender(self, cipher: Cipher) -> String {
        let way = match self {
            Way::Portable => "all cores, portable code",
            Way::Best => "all cores",
            Way::Naive => BlockComparator::Steps.name(),
            Way::Ours => OURS,
        };
        format!("{}, {way}", cipher.name())
    }

    fn is_there(self, family: Family) -> bool {
        self != Way::Naive || family == Family::Aes
    }
}

/// Bytes of a call on the device, where it does them in a short time.
const BYTES: usize = 4 << 30;

/// Bytes of a call for each core: in its caches, as there is nothing else to be said of them.
const PER_CORE: usize = 256 << 10;

pub(super) fn group(device: &Rc<Device>, quick: bool) -> Group {
    let effort = energy::effort(quick);
    let bytes = device.affords(BYTES);
    let on = Rc::clone(device);
    let build = move |rng: &mut fastrand::Rng| {
        let joules = || {
            let device = Rc::clone(&on);
            move || device.joules()
        };
        let packages = Rc::new(Packages::find());
        let mut contenders = vec![energy::idle(joules())];
        for &cipher in on.family().ciphers() {
            let program = Program::Ours(on.tables()[0]);
            let ours = Work { cipher, mode: Mode::CTR, program, bytes };
            for way in Way::ALL.into_iter().filter(|way| way.is_there(on.family())) {
                let name = way.contender(cipher);
                contenders.push(match way {
                    Way::Portable => by_cpu(name, cipher, Some(Machine::Portable), &packages)?,
                    Way::Best => by_cpu(name, cipher, None, &packages)?,
                    Way::Ours => by_device(&on, name, ours, joules(), rng)?,
                    Way::Naive => {
                        let work = Work::of_others(cipher, BlockComparator::Steps, bytes);
                        by_device(&on, name, work, joules(), rng)?
                    }
                });
            }
        }
        Ok(contenders)
    };
    let seconds = effort.sample.as_secs();
    let parameter = format!("CTR, {}, {seconds} s each", bytes_label(bytes as u64));
    Group { effort: Some(effort), ..super::group(device, GROUP, PART, parameter, quick, build) }
}

/// A kernel alone, again and again; it has been found right.
fn by_device(
    device: &Rc<Device>,
    name: String,
    work: Work,
    joules: impl Fn() -> Option<f64> + 'static,
    rng: &mut fastrand::Rng,
) -> Result<Contender, String> {
    device.check(&work, rng).map_err(|why| format!("{name}: {why}"))?;
    let peer = matches!(work.program, Program::Other(_));
    let named = Named { name, peer, bytes: work.bytes, units: work.bytes / 16 };
    let device = Rc::clone(device);
    Ok(energy::by_device(named, joules, move |calls| {
        device.time(&work, calls).map_err(|why| why.to_string())
    }))
}

/// All cores of the processor, each with data of its own.
fn by_cpu(
    name: String,
    cipher: Cipher,
    machine: Option<Machine>,
    packages: &Rc<Result<Packages, String>>,
) -> Result<Contender, String> {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let mut data = vec![0x5a; threads * PER_CORE];
    let first = cipher.on_cpu(machine, Mode::CTR, 0, &mut data[..16]);
    first.map_err(|why| why.to_string())?;
    let named = Named { name, peer: false, bytes: data.len(), units: data.len() / 16 };
    Ok(energy::by_cpu(named, packages, move |calls| {
        thread::scope(|scope| {
            for part in data.chunks_mut(PER_CORE) {
                scope.spawn(move || {
                    for _ in 0..calls {
                        let done = cipher.on_cpu(machine, Mode::CTR, 0, part);
                        done.expect("it ran before, and the counter does not wrap");
                    }
                });
            }
        });
    }))
}

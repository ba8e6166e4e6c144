//! Energy of steady work on messages.

use std::{rc::Rc, thread};

use manylane::{
    Messages,
    hash::{Algorithm, Midstate},
};
use manylane_engine::{Config, Device as Choice, Engine};

use super::{
    Contender, Device, Group, OPENSSL, OpenSsl, amount,
    device::{Program, Shape, Work},
    host::hash_on_threads,
};
use crate::bench::{
    gpu::energy::{self, Named, PART},
    sensors::Packages,
};

/// Length of the messages.
const LEN: usize = 8 << 10;

/// Messages on the device: many times its threads.
const COUNT: usize = 540_672;

/// Messages for each of the processor's cores: small enough for its caches, as there is nothing
/// else to be said of them.
const PER_CORE: usize = 64;

pub(super) fn group(device: &Rc<Device>, quick: bool) -> Group {
    let effort = energy::effort(quick);
    let count = device.affords(COUNT, LEN);
    let on = Rc::clone(device);
    let build = move |rng: &mut fastrand::Rng| {
        let shape = Shape::Rows { len: LEN, stride: LEN };
        let work = Rc::new(Work { program: Program::Hash(None), count, shape });
        on.check(&work, rng)?;
        let joules = || {
            let device = Rc::clone(&on);
            move || device.joules()
        };
        let mut contenders = vec![energy::idle(joules()), kernel(&on, work, joules())];
        let packages = Rc::new(Packages::find());
        let threads = thread::available_parallelism().map_or(1, usize::from);
        contenders.push(by_cpu("cpu, all cores", false, threads, &packages, {
            let device = Choice::Cpu;
            let engine = Engine::new(Config { device, ..Config::default() });
            let engine = engine.map_err(|why| why.to_string())?;
            move |bytes, out| {
                let count = out.len();
                let messages = Messages::strided(bytes, LEN, LEN, count);
                let messages = messages.expect("as many bytes as messages");
                let start = Midstate::new(Algorithm::Sm3);
                let done = engine.hash_many(&start, &messages, out.as_flattened_mut());
                done.expect("as many digests");
            }
        }));
        if let Ok(openssl) = OpenSsl::get() {
            let name = format!("{OPENSSL}, all cores");
            contenders.push(by_cpu(&name, true, threads, &packages, move |bytes, out| {
                hash_on_threads(openssl, bytes, threads, out);
            }));
        }
        Ok(contenders)
    };
    let parameter = format!("{}, {} s each", amount(count, LEN), effort.sample.as_secs());
    Group {
        effort: Some(effort),
        ..super::group(device, "energy-8192", PART, parameter, quick, build)
    }
}

/// The kernel alone, again and again.
fn kernel(
    device: &Rc<Device>,
    work: Rc<Work>,
    joules: impl Fn() -> Option<f64> + 'static,
) -> Contender {
    let device = Rc::clone(device);
    let name = "hash_many, kernel alone".to_owned();
    let named = Named { name, peer: false, bytes: work.bytes() as usize, units: work.count };
    energy::by_device(named, joules, move |calls| {
        device.time(&work, calls).map_err(|why| why.to_string())
    })
}

/// All cores of the processor, again and again.
fn by_cpu(
    name: &str,
    peer: bool,
    threads: usize,
    packages: &Rc<Result<Packages, String>>,
    mut hash: impl FnMut(&[u8], &mut [[u8; 32]]) + 'static,
) -> Contender {
    let count = PER_CORE * threads;
    let bytes = vec![0x5a; count * LEN];
    let mut digests = vec![[0; 32]; count];
    let named = Named { name: name.to_owned(), peer, bytes: bytes.len(), units: count };
    energy::by_cpu(named, packages, move |calls| {
        (0..calls).for_each(|_| hash(&bytes, &mut digests));
    })
}

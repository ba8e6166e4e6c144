//! Energy of steady work, seconds of it, with idle power beside.

use std::{
    rc::Rc,
    thread,
    time::{Duration, Instant},
};

use manylane::{Messages, sm3::Midstate};
use manylane_engine::{Config, Device as Choice, Engine};

use super::{
    Call, Contender, Device, Group, OPENSSL, OpenSsl, Timing, amount,
    device::{Program, Shape, Work},
    host::hash_on_threads,
};
use crate::bench::{
    measure::{self, Effort},
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
    let steady = Duration::from_secs(if quick { 1 } else { 5 });
    let count = device.affords(COUNT, LEN);
    let on = Rc::clone(device);
    let build = move |rng: &mut fastrand::Rng| {
        let shape = Shape::Rows { len: LEN, stride: LEN };
        let work = Rc::new(Work { program: Program::Hash(None), count, shape });
        on.check(&work, rng)?;
        let mut contenders = vec![idle(&on), kernel(&on, work)];
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
                engine.hash_many(&Midstate::default(), &messages, out).expect("as many digests");
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
    let parameter = format!("{}, {} s each", amount(count, LEN), steady.as_secs());
    let part = "Energy of steady work (a device's by its sensor, a processor's by its counters)";
    Group {
        effort: Some(Effort { visits: 1, samples: 1, sample: steady }),
        ..super::group(device, "energy-8192", part, parameter, quick, build)
    }
}

fn contender(name: &str, peer: bool, bytes: usize, units: usize, call: Call) -> Contender {
    Contender {
        name: name.to_owned(),
        kernel: None,
        peer,
        work: measure::Work { bytes: bytes as u64, units: units as u64, counted_clocks: None },
        output: Vec::new(),
        call,
    }
}

/// The device with nothing to do.
fn idle(device: &Rc<Device>) -> Contender {
    const CALL: Duration = Duration::from_millis(50);
    let device = Rc::clone(device);
    let call = Call::elsewhere(move |calls, _| {
        let joules = || device.sensor().ok().and_then(|sensor| sensor.joules());
        let (start, before) = (Instant::now(), joules());
        thread::sleep(CALL * calls);
        let seconds = start.elapsed().as_secs_f64();
        let used = joules().zip(before).map(|(after, before)| after - before);
        Ok(Timing { seconds, hz: None, joules: used })
    });
    contender("idle, with a context", false, 0, 0, call)
}

/// The kernel alone, again and again.
fn kernel(device: &Rc<Device>, work: Rc<Work>) -> Contender {
    let device = Rc::clone(device);
    let (bytes, units) = (work.bytes() as usize, work.count);
    let call = Call::elsewhere(move |calls, _| {
        let joules = || device.sensor().ok().and_then(|sensor| sensor.joules());
        let before = joules();
        let timing = device.time(&work, calls).map_err(|why| why.to_string())?;
        let used = joules().zip(before).map(|(after, before)| after - before);
        Ok(Timing { joules: used, ..timing })
    });
    contender("hash_many, kernel alone", false, bytes, units, call)
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
    let packages = Rc::clone(packages);
    let call = Call::elsewhere(move |calls, _| {
        let now = || packages.as_ref().as_ref().ok().map(Packages::now);
        let (start, before) = (Instant::now(), now());
        for _ in 0..calls {
            hash(&bytes, &mut digests);
        }
        let seconds = start.elapsed().as_secs_f64();
        let used = match (&*packages, before, now()) {
            (Ok(packages), Some(before), Some(after)) => packages.joules(&before, &after),
            _ => None,
        };
        Ok(Timing { seconds, hz: None, joules: used })
    });
    contender(name, peer, count * LEN, count, call)
}

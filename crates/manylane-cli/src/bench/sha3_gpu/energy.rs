//! Energy of steady work on messages.

use std::{rc::Rc, thread};

use manylane::{Messages, hash, sha3::Midstate};
use manylane_engine::{Config, Device as Choice, Engine};
use manylane_gpu::Sha3Comparator;

use super::{
    Contender, Device, Group, bytes_label,
    device::{Program, Shape, Work},
};
use crate::bench::{
    gpu::energy::{self, Named, PART},
    peers::sha3::OpenSslSha3,
    sensors::Packages,
    sha3::{OPENSSL, function, slides::HASH},
};

/// Length of the messages, and of those of the slides' kernel beside.
const LEN: usize = 8 << 10;
const SHORT: usize = 512;

/// Bytes of a call on the device: many times as many messages as it has threads.
const BYTES: usize = 4 << 30;

/// Messages for each of the processor's cores: small enough for its caches, as there is nothing
/// else to be said of them.
const PER_CORE: usize = 64;

pub(super) fn group(device: &Rc<Device>, quick: bool) -> Group {
    let effort = energy::effort(quick);
    let on = Rc::clone(device);
    let build = move |rng: &mut fastrand::Rng| {
        let joules = || {
            let device = Rc::clone(&on);
            move || device.joules()
        };
        let mut contenders = vec![energy::idle(joules())];
        let slides = Program::Other(Sha3Comparator::BlockPerMessage);
        for (name, program, len) in [
            ("hash_many, 8 KiB, kernel alone", Program::Ours, LEN),
            ("hash_many, 512 B, kernel alone", Program::Ours, SHORT),
            ("the slides' kernel, 512 B, alone", slides, SHORT),
        ] {
            let function = function(HASH);
            let most = if program == Program::Ours { BYTES } else { BYTES / 64 };
            let count = on.affords(most / len, len, function.output_len());
            let work = Rc::new(Work { program, function, count, shape: Shape::Rows(len) });
            contenders.push(by_device(&on, name, work, joules(), rng)?);
        }
        let packages = Rc::new(Packages::find());
        let threads = thread::available_parallelism().map_or(1, usize::from);
        contenders.push(by_cpu("cpu, all cores", false, threads, &packages, {
            let device = Choice::Cpu;
            let engine = Engine::new(Config { device, ..Config::default() });
            let engine = engine.map_err(|why| why.to_string())?;
            let start = hash::Midstate::from(Midstate::new(function(HASH)));
            move |bytes, out| {
                let messages = Messages::strided(bytes, LEN, LEN, bytes.len() / LEN);
                let messages = messages.expect("as many bytes as messages");
                engine.hash_many(&start, &messages, out).expect("as many digests");
            }
        }));
        if let Ok(openssl) = OpenSslSha3::get() {
            let name = format!("{OPENSSL}, all cores");
            contenders.push(by_cpu(&name, true, threads, &packages, move |bytes, out| {
                hash_on_threads(openssl, bytes, threads, out);
            }));
        }
        Ok(contenders)
    };
    let seconds = effort.sample.as_secs();
    let parameter = format!("{}, {}, {seconds} s each", HASH.name(), bytes_label(LEN as u64));
    Group { effort: Some(effort), ..super::group(device, "energy", PART, parameter, quick, build) }
}

/// A kernel alone, again and again; it has been found right.
fn by_device(
    device: &Rc<Device>,
    name: &str,
    work: Rc<Work>,
    joules: impl Fn() -> Option<f64> + 'static,
    rng: &mut fastrand::Rng,
) -> Result<Contender, String> {
    device.check(&work, rng).map_err(|why| format!("{name}: {why}"))?;
    let peer = matches!(work.program, Program::Other(_));
    let named = Named { name: name.to_owned(), peer, bytes: work.bytes(), units: work.count };
    let device = Rc::clone(device);
    Ok(energy::by_device(named, joules, move |calls| {
        device.time(&work, calls).map_err(|why| why.to_string())
    }))
}

/// All cores of the processor, again and again.
fn by_cpu(
    name: &str,
    peer: bool,
    threads: usize,
    packages: &Rc<Result<Packages, String>>,
    mut hash: impl FnMut(&[u8], &mut [u8]) + 'static,
) -> Contender {
    let count = PER_CORE * threads;
    let bytes = vec![0x5a; count * LEN];
    let mut digests = vec![0; count * function(HASH).output_len()];
    let named = Named { name: name.to_owned(), peer, bytes: bytes.len(), units: count };
    energy::by_cpu(named, packages, move |calls| {
        (0..calls).for_each(|_| hash(&bytes, &mut digests));
    })
}

/// OpenSSL's digests of messages of [`LEN`] bytes.
pub(super) fn hash_on_threads(
    openssl: &'static OpenSslSha3,
    bytes: &[u8],
    threads: usize,
    out: &mut [u8],
) {
    let output_len = function(HASH).output_len();
    let share = (bytes.len() / LEN).div_ceil(threads).max(1);
    thread::scope(|scope| {
        for (bytes, out) in bytes.chunks(share * LEN).zip(out.chunks_mut(share * output_len)) {
            scope.spawn(move || {
                let mut context = openssl.context(HASH);
                let digests = bytes.chunks(LEN).zip(out.chunks_mut(output_len));
                digests.for_each(|(message, out)| context.hash(message, out));
            });
        }
    });
}

//! From the host's memory to digests there: page-locked and pageable buffers, unequal lengths, small
//! batches. Beside them the rate at which the device's copy engine alone fetches the same bytes, and
//! OpenSSL on all cores.

use std::{
    cell::{OnceCell, RefCell},
    rc::Rc,
    thread,
};

use manylane::{Messages, hash, sha3::Midstate};
use manylane_engine::{Config, Device as Choice, Engine};
use manylane_gpu::{DeviceId, PinnedBuffer, Vendor};

use super::{
    Call, Contender, Device, Group, Timing, amount, by_wall, energy::hash_on_threads, group,
    thousands,
};
use crate::bench::{
    measure,
    peers::sha3::OpenSslSha3,
    sha3::{OPENSSL, function, slides::HASH},
};

/// Bytes of messages in a call, where the machine does them in a short time.
const BATCH: usize = 2 << 30;
const QUICK_BATCH: usize = 256 << 20;

/// Calls of the kernel that an end-to-end call may take the time of.
const KERNELS: usize = 8;

/// Length of the messages of large batches, and of the longest where lengths differ.
const LEN: usize = 8 << 10;

/// Bytes for each core that OpenSSL takes of a batch: its speed does not depend on their number.
const OPENSSL_SHARE: usize = 4 << 20;

/// Small batches, by number and length of messages.
const SMALL: [(usize, usize); 4] = [(256, 64), (33_792, 64), (256, 8192), (33_792, 8192)];

const COPY: &str = "copy to the device alone, page-locked";

/// Where a batch lies, and what it consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Batch {
    Pinned,
    Pageable,
    /// Page-locked, of lengths uniform in 1…8192.
    Unequal,
}

/// What the groups share, made when it is first used.
struct Host {
    device: Rc<Device>,
    bytes: usize,
    pinned: OnceCell<PinnedBuffer>,
    pageable: OnceCell<Vec<u8>>,
    offsets: OnceCell<Vec<u64>>,
}

pub(super) fn groups(device: &Rc<Device>, quick: bool) -> Vec<Group> {
    let most = if quick { QUICK_BATCH } else { BATCH };
    let count = KERNELS * device.affords(most / LEN, LEN, function(HASH).output_len());
    let host = Rc::new(Host {
        device: Rc::clone(device),
        bytes: (count * LEN).min(most),
        pinned: OnceCell::new(),
        pageable: OnceCell::new(),
        offsets: OnceCell::new(),
    });
    let large = [Batch::Pinned, Batch::Pageable, Batch::Unequal];
    let large = large.map(|batch| large_group(&host, batch, quick));
    let small = SMALL.map(|(count, len)| small_group(&host, count, len, quick));
    large.into_iter().chain(small).collect()
}

/// An engine for a choice of devices: one for the whole run, as page-locking its buffers takes longer than
/// most samples.
pub(super) fn engine(device: Choice) -> Result<Rc<Engine>, String> {
    thread_local! {
        static ENGINES: RefCell<Vec<(Choice, Rc<Engine>)>> = RefCell::default();
    }
    ENGINES.with_borrow_mut(|engines| {
        if let Some((_, engine)) = engines.iter().find(|(choice, _)| *choice == device) {
            return Ok(Rc::clone(engine));
        }
        let engine = Engine::new(Config { device, ..Config::default() });
        let engine = Rc::new(engine.map_err(|why| why.to_string())?);
        engines.push((device, Rc::clone(&engine)));
        Ok(engine)
    })
}

/// The engine's name for a GPU.
pub(super) fn choice(id: DeviceId) -> Choice {
    match id.vendor {
        Vendor::Hip => Choice::Hip(Some(id.ordinal)),
        _ => Choice::Cuda(Some(id.ordinal)),
    }
}

/// An engine that had to give up a device says nothing of that device's speed.
pub(super) fn no_warning(engine: &Engine) -> Result<(), String> {
    match &engine.warnings()[..] {
        [] => Ok(()),
        warnings => Err(warnings.join("; ")),
    }
}

impl Host {
    fn bytes(&self, batch: Batch) -> Result<&[u8], String> {
        if batch == Batch::Pageable {
            return Ok(self.pageable.get_or_init(|| {
                let mut bytes = vec![0; self.bytes];
                self.device.fill_host(&mut bytes);
                bytes
            }));
        }
        if self.pinned.get().is_none() {
            let buffer = PinnedBuffer::new(self.device.gpu(), self.bytes);
            let mut buffer = buffer.map_err(|why| why.to_string())?;
            self.device.fill_host(&mut buffer);
            let _ = self.pinned.set(buffer);
        }
        Ok(self.pinned.get().expect("just set"))
    }

    /// Lengths uniform in 1…8192, as many as the batch has bytes for.
    fn offsets(&self) -> &[u64] {
        self.offsets.get_or_init(|| {
            let mut rng = fastrand::Rng::with_seed(LEN as u64);
            let mut offsets = vec![0];
            let mut end = 0;
            loop {
                end += rng.u64(1..=LEN as u64);
                if end > self.bytes as u64 {
                    return offsets;
                }
                offsets.push(end);
            }
        })
    }

    fn messages(&self, batch: Batch) -> Result<Messages<'_>, String> {
        let bytes = self.bytes(batch)?;
        match batch {
            Batch::Unequal => Messages::offsets64(bytes, self.offsets()),
            _ => Messages::strided(bytes, LEN, LEN, self.bytes / LEN),
        }
        .map_err(|why| why.to_string())
    }
}

fn contender(name: &str, peer: bool, bytes: u64, units: usize, call: Call) -> Contender {
    Contender {
        name: name.to_owned(),
        kernel: None,
        peer,
        work: measure::Work { bytes, units: units as u64, counted_clocks: None },
        output: vec![0; units * function(HASH).output_len()],
        call,
    }
}

/// An engine's digests of messages.
fn by_engine(
    on: Choice,
    (bytes, units): (u64, usize),
    hash: impl Fn(&Engine, &hash::Midstate, &mut [u8]) -> Result<(), String> + 'static,
) -> Result<Contender, String> {
    let engine = engine(on)?;
    let start = hash::Midstate::from(Midstate::new(function(HASH)));
    let call = Call::elsewhere(move |calls, out| {
        let timing = by_wall(calls, || hash(&engine, &start, out));
        no_warning(&engine)?;
        timing
    });
    Ok(contender(&on.to_string(), false, bytes, units, call))
}

fn large_group(host: &Rc<Host>, batch: Batch, quick: bool) -> Group {
    let (name, part) = match batch {
        Batch::Pinned => ("pinned", "From page-locked memory of the host"),
        Batch::Pageable => ("pageable", "From pageable memory of the host"),
        Batch::Unequal => ("pinned-1-8192", "From page-locked memory of the host, unequal lengths"),
    };
    let parameter = match batch {
        Batch::Unequal => format!("{} × 1…8 KiB, uniform", thousands(host.offsets().len() - 1)),
        _ => amount(host.bytes / LEN, LEN),
    };
    let (device, working_set) = (Rc::clone(&host.device), host.bytes as u64);
    let host = Rc::clone(host);
    let build = move |_: &mut fastrand::Rng| {
        let gpu = choice(host.device.gpu().info().id);
        let messages = host.messages(batch)?;
        let amount = (messages.total_bytes(), messages.len());
        let mut contenders = Vec::new();
        for device in [Choice::Cpu, gpu, Choice::All, Choice::Auto] {
            let host = Rc::clone(&host);
            contenders.push(by_engine(device, amount, move |engine, start, out| {
                let done = engine.hash_many(start, &host.messages(batch)?, out);
                done.map_err(|why| why.to_string())
            })?);
        }
        contenders.push(copy(&host)?);
        if batch != Batch::Unequal {
            contenders.extend(openssl(&host, batch)?);
        }
        Ok(contenders)
    };
    Group {
        base: Some(COPY),
        same_output: true,
        working_set,
        ..group(&device, name, part, format!("{}, {parameter}", HASH.name()), quick, build)
    }
}

/// The copy engine alone.
fn copy(host: &Rc<Host>) -> Result<Contender, String> {
    let bytes = host.bytes(Batch::Pinned)?.len() as u64;
    let host = Rc::clone(host);
    let call = Call::elsewhere(move |calls, _| {
        let bytes = host.bytes(Batch::Pinned)?;
        let fetch = |_| host.device.fetch(bytes).map_err(|why| why.to_string());
        let seconds = (0..calls).map(fetch).sum::<Result<f64, String>>()?;
        Ok(Timing { seconds, hz: None, joules: None })
    });
    Ok(contender(COPY, true, bytes, 0, call))
}

/// OpenSSL on all cores.
fn openssl(host: &Rc<Host>, batch: Batch) -> Result<Option<Contender>, String> {
    let Ok(openssl) = OpenSslSha3::get() else { return Ok(None) };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let count = (threads * OPENSSL_SHARE / LEN).min(host.bytes / LEN).max(1);
    host.bytes(batch)?;
    let host = Rc::clone(host);
    let call = Call::elsewhere(move |calls, out| {
        let bytes = &host.bytes(batch)?[..count * LEN];
        by_wall(calls, || {
            hash_on_threads(openssl, bytes, threads, out);
            Ok(())
        })
    });
    let name = format!("{OPENSSL}, {threads} threads");
    Ok(Some(contender(&name, true, (count * LEN) as u64, count, call)))
}

/// One batch after the other, each waited for: what a caller waits for its digests.
fn small_group(host: &Rc<Host>, count: usize, len: usize, quick: bool) -> Group {
    let name = format!("batch-{count}x{len}");
    let count = count.min(host.bytes / len);
    let (host, device) = (Rc::clone(host), Rc::clone(&host.device));
    let build = move |_: &mut fastrand::Rng| {
        let gpu = choice(host.device.gpu().info().id);
        let mut contenders = Vec::new();
        for device in [Choice::Cpu, gpu, Choice::Auto] {
            host.bytes(Batch::Pageable)?;
            let host = Rc::clone(&host);
            let amount = ((count * len) as u64, count);
            contenders.push(by_engine(device, amount, move |engine, start, out| {
                let messages = Messages::strided(host.bytes(Batch::Pageable)?, len, len, count);
                let messages = messages.map_err(|why| why.to_string())?;
                engine.hash_many(start, &messages, out).map_err(|why| why.to_string())
            })?);
        }
        Ok(contenders)
    };
    let part = "Latency of single batches from pageable memory, copies included";
    let parameter = format!("{}, {}", HASH.name(), amount(count, len));
    Group {
        same_output: true,
        working_set: (count * len) as u64,
        ..group(&device, &name, part, parameter, quick, build)
    }
}

//! From the host's memory to digests in the host's memory: page-locked and pageable buffers, files
//! in the page cache, small batches, several GPUs together. Beside them the rate at which the
//! device's copy engine alone fetches the same bytes, and OpenSSL on all cores.

use std::{
    cell::{OnceCell, RefCell},
    fs::{self, File},
    io,
    ops::ControlFlow,
    path::PathBuf,
    rc::Rc,
    thread,
};

use manylane::{
    Messages,
    hash::{Algorithm, Midstate},
};
use manylane_engine::{Config, Device as Choice, Engine, Function, Progress, Source};
use manylane_gpu::{DeviceId, PinnedBuffer, Vendor};

use super::{
    Call, Contender, Device, Group, OPENSSL, OpenSsl, Timing, amount, by_wall, group, thousands,
};
use crate::bench::measure;

/// Bytes of messages in a call, where the machine does them in a short time.
const BATCH: usize = 4 << 30;
const QUICK_BATCH: usize = 1 << 30;

/// Calls of the kernel that an end-to-end call may take the time of.
const KERNELS: usize = 8;

/// Length of the messages of large batches, and of the longest where lengths differ.
const LEN: usize = 8 << 10;

/// Bytes for each core that OpenSSL takes of a batch: its speed does not depend on their number.
const OPENSSL_SHARE: usize = 4 << 20;

/// Lengths of files, and how many there are at most.
const FILES: [usize; 2] = [16 << 10, 128 << 10];
const MOST_FILES: usize = 65_536;

/// Small batches, by number and length of messages.
const SMALL: [(usize, usize); 8] = [
    (1, 64),
    (256, 64),
    (4096, 64),
    (33_792, 64),
    (1, 8192),
    (256, 8192),
    (4096, 8192),
    (33_792, 8192),
];

/// Where a batch lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Pinned,
    Pageable,
}

/// What the groups share: buffers and engines, made when they are first used.
struct Host {
    devices: Vec<Rc<Device>>,
    bytes: usize,
    pinned: OnceCell<PinnedBuffer>,
    pageable: OnceCell<Vec<u8>>,
    /// Offsets of messages of unequal lengths in a batch.
    offsets: OnceCell<Vec<u64>>,
    /// Kept for the whole run: page-locking an engine's buffers takes longer than most samples.
    engines: RefCell<Vec<(Choice, Rc<Engine>)>>,
}

pub(super) fn groups(devices: &[Rc<Device>], quick: bool) -> Result<Vec<Group>, String> {
    let Some(first) = devices.first() else { return Ok(Vec::new()) };
    let most = if quick { QUICK_BATCH } else { BATCH };
    // The first device's rate stands for all: they are of one machine.
    let count = KERNELS * first.affords(most / LEN, LEN);
    let host = Rc::new(Host {
        devices: devices.to_vec(),
        bytes: (count * LEN).min(most),
        pinned: OnceCell::new(),
        pageable: OnceCell::new(),
        offsets: OnceCell::new(),
        engines: RefCell::default(),
    });
    let mut groups = Vec::new();
    for device in devices {
        groups.push(large(&host, device, Place::Pinned, quick));
        groups.push(large(&host, device, Place::Pageable, quick));
        groups.push(unequal(&host, device, quick));
        for len in FILES {
            groups.push(files(&host, device, len, quick));
        }
        groups.extend(SMALL.map(|(count, len)| small(&host, device, count, len, quick)));
    }
    if devices.len() > 1 {
        groups.push(together(&host, quick));
    }
    Ok(groups)
}

impl Host {
    fn get(&self, place: Place) -> Result<&[u8], String> {
        let fill = |bytes: &mut [u8]| self.devices[0].fill_host(bytes);
        match place {
            Place::Pinned => {
                if self.pinned.get().is_none() {
                    let buffer = PinnedBuffer::new(self.devices[0].gpu(), self.bytes);
                    let mut buffer = buffer.map_err(|why| why.to_string())?;
                    fill(&mut buffer);
                    let _ = self.pinned.set(buffer);
                }
                Ok(self.pinned.get().expect("just set"))
            }
            Place::Pageable => Ok(self.pageable.get_or_init(|| {
                let mut bytes = vec![0; self.bytes];
                fill(&mut bytes);
                bytes
            })),
        }
    }

    /// The engine for a choice of devices.
    fn engine(&self, device: Choice) -> Result<Rc<Engine>, String> {
        let mut engines = self.engines.borrow_mut();
        if let Some((_, engine)) = engines.iter().find(|(choice, _)| *choice == device) {
            return Ok(Rc::clone(engine));
        }
        let engine = Engine::new(Config { device, ..Config::default() });
        let engine = Rc::new(engine.map_err(|why| why.to_string())?);
        engines.push((device, Rc::clone(&engine)));
        Ok(engine)
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

    /// All messages of a batch: equal ones or not.
    fn messages(&self, place: Place, equal: bool) -> Result<Messages<'_>, String> {
        let bytes = self.get(place)?;
        match equal {
            true => Messages::strided(bytes, LEN, LEN, self.bytes / LEN),
            false => Messages::offsets64(bytes, self.offsets()),
        }
        .map_err(|why| why.to_string())
    }
}

/// The engine's name for a GPU.
fn choice(id: DeviceId) -> Choice {
    match id.vendor {
        Vendor::Hip => Choice::Hip(Some(id.ordinal)),
        _ => Choice::Cuda(Some(id.ordinal)),
    }
}

/// An engine that had to give up a device says nothing of that device's speed.
fn no_warning(engine: &Engine) -> Result<(), String> {
    match &engine.warnings()[..] {
        [] => Ok(()),
        warnings => Err(warnings.join("; ")),
    }
}

fn contender(
    name: &str,
    peer: bool,
    bytes: u64,
    units: usize,
    output: usize,
    call: Call,
) -> Contender {
    Contender {
        name: name.to_owned(),
        kernel: None,
        peer,
        work: measure::Work { bytes, units: units as u64, counted_clocks: None },
        output: vec![0; output * 32],
        call,
    }
}

/// An engine's digests of a batch.
fn by_engine(
    host: &Rc<Host>,
    on: Choice,
    place: Place,
    equal: bool,
    count: usize,
) -> Result<Contender, String> {
    let engine = host.engine(on)?;
    let messages = host.messages(place, equal)?;
    let bytes = messages.range(0, count).total_bytes();
    let host = Rc::clone(host);
    let start = Midstate::new(Algorithm::Sm3);
    let call = Call::elsewhere(move |calls, out| {
        let messages = host.messages(place, equal)?.range(0, count);
        let timing = by_wall(calls, || {
            let done = engine.hash_many(&start, &messages, out);
            done.map_err(|why| why.to_string())
        });
        no_warning(&engine)?;
        timing
    });
    Ok(contender(&on.to_string(), false, bytes, count, count, call))
}

/// The copy engine alone.
fn copy(host: &Rc<Host>, device: &Rc<Device>) -> Result<Contender, String> {
    let bytes = host.get(Place::Pinned)?.len() as u64;
    let (host, device) = (Rc::clone(host), Rc::clone(device));
    let call = Call::elsewhere(move |calls, _| {
        let bytes = host.get(Place::Pinned)?;
        let mut seconds = 0.0;
        for _ in 0..calls {
            seconds += device.fetch(bytes).map_err(|why| why.to_string())?;
        }
        Ok(Timing { seconds, hz: None, joules: None })
    });
    Ok(contender(COPY, true, bytes, 0, 0, call))
}

const COPY: &str = "copy to the device alone, page-locked";

/// OpenSSL on all cores.
fn openssl(host: &Rc<Host>, place: Place) -> Result<Option<Contender>, String> {
    let Ok(openssl) = OpenSsl::get() else { return Ok(None) };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let count = (threads * OPENSSL_SHARE / LEN).min(host.bytes / LEN).max(1);
    host.get(place)?;
    let host = Rc::clone(host);
    let call = Call::elsewhere(move |calls, out| {
        let bytes = host.get(place)?;
        by_wall(calls, || {
            hash_on_threads(openssl, &bytes[..count * LEN], threads, out.as_chunks_mut().0);
            Ok(())
        })
    });
    let bytes = (count * LEN) as u64;
    Ok(Some(contender(&format!("{OPENSSL}, {threads} threads"), true, bytes, count, count, call)))
}

/// OpenSSL's digests of messages of [`LEN`] bytes.
pub(super) fn hash_on_threads(
    openssl: &'static OpenSsl,
    bytes: &[u8],
    threads: usize,
    out: &mut [[u8; 32]],
) {
    let share = out.len().div_ceil(threads).max(1);
    thread::scope(|scope| {
        for (bytes, out) in bytes.chunks(share * LEN).zip(out.chunks_mut(share)) {
            scope.spawn(move || {
                let mut context = openssl.digest();
                bytes.chunks(LEN).zip(out).for_each(|(message, out)| context.hash(message, out));
            });
        }
    });
}

fn large(host: &Rc<Host>, device: &Rc<Device>, place: Place, quick: bool) -> Group {
    let host = Rc::clone(host);
    let (name, part) = match place {
        Place::Pinned => ("pinned", "From page-locked memory of the host"),
        Place::Pageable => ("pageable", "From pageable memory of the host"),
    };
    let parameter = amount(host.bytes / LEN, LEN);
    let on = Rc::clone(device);
    let working_set = host.bytes as u64;
    let build = move |_: &mut fastrand::Rng| {
        let count = host.bytes / LEN;
        let gpu = choice(on.gpu().info().id);
        let mut contenders = Vec::new();
        for device in [Choice::Cpu, gpu, Choice::All, Choice::Auto] {
            contenders.push(by_engine(&host, device, place, true, count)?);
        }
        contenders.push(copy(&host, &on)?);
        contenders.extend(openssl(&host, place)?);
        Ok(contenders)
    };
    Group {
        base: Some(COPY),
        same_output: true,
        working_set,
        ..group(device, name, part, parameter, quick, build)
    }
}

fn unequal(host: &Rc<Host>, device: &Rc<Device>, quick: bool) -> Group {
    let count = host.offsets().len() - 1;
    let parameter = format!("{} × 1…8 KiB, uniform", thousands(count));
    let (host, on) = (Rc::clone(host), Rc::clone(device));
    let working_set = host.bytes as u64;
    let build = move |_: &mut fastrand::Rng| {
        let gpu = choice(on.gpu().info().id);
        let mut contenders = Vec::new();
        for device in [Choice::Cpu, gpu, Choice::All] {
            contenders.push(by_engine(&host, device, Place::Pinned, false, count)?);
        }
        contenders.push(copy(&host, &on)?);
        Ok(contenders)
    };
    let part = "From page-locked memory of the host, unequal lengths";
    Group {
        base: Some(COPY),
        same_output: true,
        working_set,
        ..group(device, "pinned-1-8192", part, parameter, quick, build)
    }
}

/// One batch after the other, each waited for: what a caller waits for its digests.
fn small(host: &Rc<Host>, device: &Rc<Device>, count: usize, len: usize, quick: bool) -> Group {
    let name = format!("batch-{count}x{len}");
    let count = count.min(host.bytes / len);
    let (host, on) = (Rc::clone(host), Rc::clone(device));
    let build = move |_: &mut fastrand::Rng| {
        let gpu = choice(on.gpu().info().id);
        let mut contenders = Vec::new();
        for device in [Choice::Cpu, gpu, Choice::Auto] {
            let engine = host.engine(device)?;
            host.get(Place::Pageable)?;
            let host = Rc::clone(&host);
            let start = Midstate::new(Algorithm::Sm3);
            let call = Call::elsewhere(move |calls, out| {
                let bytes = host.get(Place::Pageable)?;
                let messages = Messages::strided(bytes, len, len, count);
                let messages = messages.map_err(|why| why.to_string())?;
                let timing = by_wall(calls, || {
                    let done = engine.hash_many(&start, &messages, out);
                    done.map_err(|why| why.to_string())
                });
                no_warning(&engine)?;
                timing
            });
            let bytes = (count * len) as u64;
            contenders.push(contender(&device.to_string(), false, bytes, count, count, call));
        }
        Ok(contenders)
    };
    let part = "Latency of single batches from pageable memory, copies included";
    Group {
        same_output: true,
        working_set: (count * len) as u64,
        ..group(device, &name, part, amount(count, len), quick, build)
    }
}

/// A file of the page cache.
struct OneFile(PathBuf);

impl Source for OneFile {
    type Reader = File;

    fn open(&mut self) -> io::Result<File> {
        File::open(&self.0)
    }

    fn open_len(&self, file: &File) -> Option<u64> {
        file.metadata().ok().map(|metadata| metadata.len())
    }

    fn opens_again(&self) -> bool {
        true
    }
}

/// Files that have just been written, so that they are in the page cache.
struct Files {
    folder: tempfile::TempDir,
    count: usize,
}

impl Files {
    fn write(host: &Host, len: usize) -> Result<Self, String> {
        let failed = |why: io::Error| format!("files to measure with: {why}");
        let folder = tempfile::tempdir().map_err(failed)?;
        let count = (host.bytes / len).clamp(1, MOST_FILES);
        for (i, content) in host.get(Place::Pageable)?.chunks_exact(len).take(count).enumerate() {
            fs::write(folder.path().join(i.to_string()), content).map_err(failed)?;
        }
        Ok(Files { folder, count })
    }

    fn sources(&self) -> impl Iterator<Item = OneFile> + Send {
        let folder = self.folder.path().to_owned();
        (0..self.count).map(move |i| OneFile(folder.join(i.to_string())))
    }
}

fn files(host: &Rc<Host>, device: &Rc<Device>, len: usize, quick: bool) -> Group {
    let count = (host.bytes / len).clamp(1, MOST_FILES);
    let (host, on) = (Rc::clone(host), Rc::clone(device));
    let written: Rc<OnceCell<Files>> = Rc::default();
    let build = move |_: &mut fastrand::Rng| {
        if written.get().is_none() {
            let _ = written.set(Files::write(&host, len)?);
        }
        let gpu = choice(on.gpu().info().id);
        let mut contenders = Vec::new();
        for device in [Choice::Cpu, gpu, Choice::All] {
            let engine = host.engine(device)?;
            let written = Rc::clone(&written);
            let call = Call::elsewhere(move |calls, out| {
                let files = written.get().expect("written above");
                let timing = by_wall(calls, || hash_files(&engine, files, out.as_chunks_mut().0));
                no_warning(&engine)?;
                timing
            });
            let bytes = (count * len) as u64;
            contenders.push(contender(&device.to_string(), false, bytes, count, count, call));
        }
        Ok(contenders)
    };
    Group {
        same_output: true,
        working_set: (count * len) as u64,
        unit: "files",
        ..group(
            device,
            &format!("files-{len}"),
            "From files in the page cache",
            amount(count, len),
            quick,
            build,
        )
    }
}

fn hash_files(engine: &Engine, files: &Files, out: &mut [[u8; 32]]) -> Result<(), String> {
    let mut out = out.iter_mut();
    let function = Function::hash(Algorithm::Sm3);
    let all = engine.hash_sources(&function, &Progress::new(), files.sources(), |done| {
        match (done.result, out.next()) {
            (Ok(summary), Some(out)) => {
                out.copy_from_slice(&summary.digest);
                ControlFlow::Continue(())
            }
            (Err(why), _) => ControlFlow::Break(why.to_string()),
            (_, None) => ControlFlow::Break("more files than were written".to_owned()),
        }
    });
    match all {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(why) => Err(why),
    }
}

/// One, two and more GPUs, each with an engine and its share of a page-locked batch.
fn together(host: &Rc<Host>, quick: bool) -> Group {
    let device = Rc::clone(&host.devices[0]);
    let parameter = amount(host.bytes / LEN, LEN);
    let host = Rc::clone(host);
    let build = move |_: &mut fastrand::Rng| {
        let mut contenders = Vec::new();
        for gpus in 1..=host.devices.len() {
            let ids = host.devices[..gpus].iter().map(|device| choice(device.gpu().info().id));
            let engines: Vec<Rc<Engine>> =
                ids.map(|id| host.engine(id)).collect::<Result<_, _>>()?;
            let count = host.bytes / LEN;
            host.messages(Place::Pinned, true)?;
            let host = Rc::clone(&host);
            let call = Call::elsewhere(move |calls, out| {
                let messages = host.messages(Place::Pinned, true)?;
                let engines: Vec<&Engine> = engines.iter().map(|engine| &**engine).collect();
                let timing =
                    by_wall(calls, || share_out(&engines, &messages, out.as_chunks_mut().0));
                engines.iter().try_for_each(|engine| no_warning(engine))?;
                timing
            });
            let bytes = (count * LEN) as u64;
            let name = if gpus == 1 { ONE.to_owned() } else { format!("{gpus} GPUs") };
            contenders.push(contender(&name, false, bytes, count, count, call));
        }
        Ok(contenders)
    };
    Group {
        id: "sm3-gpu/all/pinned".into(),
        base: Some(ONE),
        same_output: true,
        ..group(&device, "", "Several GPUs, from page-locked memory", parameter, quick, build)
    }
}

const ONE: &str = "1 GPU";

fn share_out(engines: &[&Engine], messages: &Messages, out: &mut [[u8; 32]]) -> Result<(), String> {
    let share = messages.len().div_ceil(engines.len()).max(1);
    thread::scope(|scope| {
        let parts = engines.iter().zip(out.chunks_mut(share)).enumerate();
        let started: Vec<_> = parts
            .map(|(i, (engine, out))| {
                let messages = messages.range(i * share, i * share + out.len());
                scope.spawn(move || {
                    let start = Midstate::new(Algorithm::Sm3);
                    engine.hash_many(&start, &messages, out.as_flattened_mut())
                })
            })
            .collect();
        started.into_iter().try_for_each(|part| {
            let done = part.join().map_err(|_| "a thread panicked".to_owned())?;
            done.map_err(|why| why.to_string())
        })
    })
}

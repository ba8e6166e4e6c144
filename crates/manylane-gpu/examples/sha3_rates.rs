//! Rates of SHA-3 on a GPU, with messages in its memory: every kernel, in the shapes that it is for.
//!
//! `sha3_rates [DEVICE] [GIB] [REPEATS]`, by default `cuda:0 4.13 7`. Times are medians, by the device's
//! events. Before a shape is timed, outputs of some of its messages are compared with the CPU's.
#![allow(unsafe_code, reason = "addresses of the device's memory")]

use std::{env, error::Error};

use manylane::sha3::{Function, Midstate};
use manylane_gpu::{
    DeviceBuffer, DeviceId, DeviceMessages, Event, Gpu, Layout, Sha3, Sha3Comparator,
    Sha3Comparators, Stream, Workspace,
};

type Result<T = ()> = std::result::Result<T, Box<dyn Error>>;

/// Bytes after which the messages' bytes begin again.
const PERIOD: usize = 64 << 20;

/// Most messages of a shape.
const MOST: usize = 1 << 26;

/// Messages of one length, or of lengths up to it.
struct Shape {
    name: &'static str,
    function: Function,
    len: usize,
    stride: usize,
    skip: usize,
    unlike: bool,
}

const fn rows(name: &'static str, function: Function, len: usize) -> Shape {
    Shape { name, function, len, stride: len, skip: 0, unlike: false }
}

const SHAPES: [Shape; 20] = [
    rows("SHA3-224", Function::SHA3_224, 8192),
    rows("SHA3-256", Function::SHA3_256, 8192),
    rows("SHA3-384", Function::SHA3_384, 8192),
    rows("SHA3-512", Function::SHA3_512, 8192),
    rows("SHAKE128", Function::SHAKE128, 8192),
    rows("SHAKE256", Function::SHAKE256, 8192),
    rows("TurboSHAKE128", Function::turboshake128(0x1f), 8192),
    rows("SHA3-256", Function::SHA3_256, 512),
    rows("SHA3-256", Function::SHA3_256, 256),
    rows("SHA3-256", Function::SHA3_256, 128),
    rows("SHA3-256", Function::SHA3_256, 64),
    rows("SHA3-256", Function::SHA3_256, 32),
    rows("Keccak-256", Function::KECCAK_256, 32),
    rows("SHA3-512", Function::SHA3_512, 64),
    rows("SHAKE128", Function::SHAKE128, 32),
    rows("SHAKE128, 1024 bytes of output", Function::SHAKE128.with_output_len(1024), 32),
    Shape { stride: 100, ..rows("SHA3-256, packed", Function::SHA3_256, 100) },
    Shape { stride: 4097, skip: 1, ..rows("SHA3-256, packed", Function::SHA3_256, 4097) },
    Shape { unlike: true, ..rows("SHA3-256, up to", Function::SHA3_256, 8192) },
    Shape { unlike: true, ..rows("SHA3-256, up to", Function::SHA3_256, 1024) },
];

/// Messages of a shape on the device.
struct Batch {
    messages: DeviceMessages,
    /// Where each begins in the data and how long it is.
    places: Vec<(usize, usize)>,
    bytes: usize,
    /// Kept for the addresses in it.
    _offsets: Option<DeviceBuffer>,
}

struct Bench {
    gpu: Gpu,
    stream: Stream,
    /// One period, and the first bytes of the next.
    host: Vec<u8>,
    data: DeviceBuffer,
    out: DeviceBuffer,
    repeats: usize,
}

impl Bench {
    fn new(gpu: &Gpu, len: usize, repeats: usize) -> Result<Self> {
        let stream = Stream::new(gpu)?;
        let mut random = fastrand::Rng::with_seed(3);
        let mut host = vec![0; PERIOD];
        random.fill(&mut host);
        let mut data = DeviceBuffer::new(gpu, len + 16)?;
        for at in (0..len).step_by(PERIOD) {
            data.write(at, &host[..PERIOD.min(len - at)], &stream)?;
        }
        host.extend_from_within(..1 << 16);
        let out = DeviceBuffer::new(gpu, MOST * 32)?;
        Ok(Bench { gpu: gpu.clone(), stream, host, data, out, repeats })
    }

    fn batch(&self, shape: &Shape) -> Result<Batch> {
        let room = (self.data.len() - 16 - shape.skip) / shape.stride;
        let room = room.min(self.out.len() / shape.function.output_len()).min(MOST);
        // As many for each multiprocessor.
        let step = 256 * self.gpu.info().multiprocessors as usize;
        let data = self.data.pointer().add(shape.skip);
        if !shape.unlike {
            let count = if room < step { room } else { room / step * step };
            let (len, stride) = (shape.len as u64, shape.stride as u64);
            let layout = Layout::Strided { data, len, stride };
            let place = |i| (shape.skip + i * shape.stride, shape.len);
            let places = (0..count).map(place).collect();
            let messages = DeviceMessages { count, layout };
            return Ok(Batch { messages, places, bytes: count * shape.len, _offsets: None });
        }
        let mut random = fastrand::Rng::with_seed(4);
        let count = room.min(200_000);
        let mut places = Vec::new();
        let (mut ends, mut at) = (vec![0], 0);
        for _ in 0..count {
            let len = random.usize(1..=shape.len);
            places.push((shape.skip + at, len));
            at += len;
            ends.push(at as u64);
        }
        let bytes: Vec<u8> = ends.iter().flat_map(|end| end.to_ne_bytes()).collect();
        let mut offsets = DeviceBuffer::new(&self.gpu, bytes.len())?;
        offsets.write(0, &bytes, &self.stream)?;
        let layout = Layout::Offsets64 { data, offsets: offsets.pointer(), base: 0 };
        let messages = DeviceMessages { count, layout };
        Ok(Batch { messages, places, bytes: at, _offsets: Some(offsets) })
    }

    /// Compares some outputs with the CPU's.
    fn check(&self, start: &Midstate, batch: &Batch) -> Result {
        let output_len = start.function().output_len();
        let count = batch.places.len();
        let mut random = fastrand::Rng::with_seed(5);
        let some = (0..30).map(|_| random.usize(0..count));
        for i in [0, count - 1].into_iter().chain(some) {
            let (at, len) = batch.places[i];
            let (mut want, mut got) = (vec![0; output_len], vec![0; output_len]);
            start.finish(&self.host[at % PERIOD..][..len], &mut want);
            self.out.read(i * output_len, &mut got, &self.stream)?;
            if got != want {
                return Err(format!("message {i} of {count}: {got:02x?}, not {want:02x?}").into());
            }
        }
        Ok(())
    }

    /// SHA3-256 as others compute it.
    fn comparator(&mut self, which: Sha3Comparator, len: usize, count: usize) -> Result {
        let comparators = Sha3Comparators::new(&self.gpu)?;
        let shape = rows("SHA3-256", Function::SHA3_256, len);
        let mut batch = self.batch(&shape)?;
        batch.places.truncate(count);
        batch.messages.count = batch.places.len();
        let (begin, end) = (Event::timed(&self.gpu)?, Event::timed(&self.gpu)?);
        let mut times = Vec::new();
        for _ in 0..self.repeats {
            for event in [&begin, &end] {
                event.record(&self.stream)?;
                let out = self.out.pointer();
                // SAFETY: data and output are on the device, and synchronised below.
                unsafe { comparators.hash_many(which, &self.stream, &batch.messages, out)? };
            }
            self.stream.synchronize()?;
            times.push(f64::from(end.since(&begin)?) / 1e3);
        }
        self.check(&Midstate::new(shape.function), &batch)?;
        times.sort_by(f64::total_cmp);
        let (seconds, count) = (times[times.len() / 2], batch.places.len());
        println!(
            "{}: {len} B, {count} messages: {:9.3} ms, {:8.4} GB/s, {:8.5} G/s",
            which.name(),
            seconds * 1e3,
            (count * len) as f64 / seconds / 1e9,
            count as f64 / seconds / 1e9,
        );
        Ok(())
    }

    fn time(&mut self, sha3: &Sha3, shape: &Shape, threads: Option<u32>) -> Result {
        let batch = self.batch(shape)?;
        let start = Midstate::new(shape.function);
        let sha3 = threads.map_or_else(|| sha3.clone(), |threads| sha3.with_block(threads));
        let mut workspace = Workspace::new(&self.gpu, batch.messages.count)?;
        let (begin, end) = (Event::timed(&self.gpu)?, Event::timed(&self.gpu)?);
        self.out.fill(0, &self.stream)?;
        let mut times = Vec::new();
        for _ in 0..self.repeats {
            // The first launch is not timed: while it runs, the rest is enqueued.
            for timed in [false, true] {
                if timed {
                    begin.record(&self.stream)?;
                }
                let (out, workspace) = (self.out.pointer(), Some(&mut workspace));
                // SAFETY: data, offsets and output are on the device, and synchronised below.
                unsafe { sha3.hash_many(&self.stream, &start, &batch.messages, workspace, out)? };
            }
            end.record(&self.stream)?;
            self.stream.synchronize()?;
            times.push(f64::from(end.since(&begin)?) / 1e3);
        }
        self.check(&start, &batch)?;
        times.sort_by(f64::total_cmp);
        let seconds = times[times.len() / 2];
        let count = batch.messages.count;
        println!(
            "{:31} {:5} B {count:9} messages, {}: {:9.3} ms, {:7.1} GB/s, {:8.5} G/s",
            shape.name,
            shape.len,
            threads.map_or("as tuned".into(), |threads| format!("{threads:3} threads")),
            seconds * 1e3,
            batch.bytes as f64 / seconds / 1e9,
            count as f64 / seconds / 1e9,
        );
        Ok(())
    }
}

fn main() -> Result {
    let mut arguments = env::args().skip(1);
    let device = arguments.next().unwrap_or_else(|| "cuda:0".into());
    let gib: f64 = arguments.next().map_or(Ok(4.13), |text| text.parse())?;
    let repeats = arguments.next().map_or(Ok(7), |text| text.parse())?;
    let id: DeviceId = device.parse().map_err(|()| format!("{device} is no device's name"))?;
    let gpu = Gpu::open(id)?;
    println!("{:?}", gpu.info());
    let sha3 = Sha3::new(&gpu)?;
    for kernel in sha3.kernels()? {
        println!(
            "{}: {} registers, {} bytes of local memory",
            kernel.name, kernel.registers, kernel.local_bytes
        );
    }
    let mut bench = Bench::new(&gpu, (gib * f64::from(1 << 30)) as usize, repeats)?;
    for shape in &SHAPES {
        bench.time(&sha3, shape, None)?;
        for threads in [64, 128] {
            bench.time(&sha3, shape, Some(threads))?;
        }
    }
    for (which, len, count) in [
        (Sha3Comparator::BlockPerMessage, 8192, 1 << 16),
        (Sha3Comparator::BlockPerMessage, 512, 1 << 20),
        (Sha3Comparator::BlockPerMessage, 32, 1 << 22),
        (Sha3Comparator::BlockPerMessage, 1 << 15, 1),
        (Sha3Comparator::Serial, 1 << 15, 1),
    ] {
        bench.comparator(which, len, count)?;
    }
    Ok(())
}

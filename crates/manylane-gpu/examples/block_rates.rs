//! Rates of AES and SM4 on a GPU, with data in its memory and in the host's, each kernel with every
//! number of tables that the card has room for.
//!
//! `block_rates [DEVICE] [GIB] [REPEATS]`, by default `cuda:0 4 7`. Times are medians, of kernels by the
//! device's events; all kernels have computed known answers before. The host's data is page-locked, and
//! beside it stands the rate of plain copies in both directions at once, in turns with it.
#![allow(unsafe_code, reason = "addresses of the device's memory")]

use std::{env, error::Error, thread, time::Instant};

use manylane_gpu::{
    Aes, AesKeys, BlockCipher, BlockComparator, BlockComparators, BlockMode, BlockRing,
    BlockRingConfig, Counter, CounterWidth, DeviceBuffer, DeviceId, Event, Gpu, PinnedBuffer, Sm4,
    Sm4Keys, Stream, Tables,
};

type Result<T = ()> = std::result::Result<T, Box<dyn Error>>;

/// Names of what is timed: for each length of AES's keys, then for SM4.
const NAMES: [&str; 4] = ["AES-128", "AES-192", "AES-256", "SM4"];

/// Ciphers with so many tables, and keys.
struct Ciphers {
    aes: Aes,
    sm4: Sm4,
    aes_keys: [AesKeys; 3],
    sm4_keys: Sm4Keys,
}

impl Ciphers {
    fn new(gpu: &Gpu, tables: Tables, threads: u32) -> Result<Self> {
        Ok(Ciphers {
            aes: Aes::with_tables(gpu, tables)?.with_block(threads),
            sm4: Sm4::with_tables(gpu, tables)?.with_block(threads),
            aes_keys: [AesKeys::new(&[1; 16])?, AesKeys::new(&[1; 24])?, AesKeys::new(&[1; 32])?],
            sm4_keys: Sm4Keys::new(&[1; 16]),
        })
    }

    fn get(&self, number: usize) -> BlockCipher<'_> {
        match self.aes_keys.get(number) {
            Some(keys) => BlockCipher::Aes(&self.aes, keys),
            None => BlockCipher::Sm4(&self.sm4, &self.sm4_keys),
        }
    }
}

struct Bench {
    gpu: Gpu,
    stream: Stream,
    from: DeviceBuffer,
    to: DeviceBuffer,
    repeats: usize,
}

fn counter() -> Counter {
    Counter::new([7; 16], CounterWidth::Bits128)
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

impl Bench {
    /// # Safety
    /// The stream is waited for before the bench goes.
    unsafe fn enqueue(&self, cipher: BlockCipher, mode: &str) -> Result {
        let (stream, from, to) = (&self.stream, self.from.pointer(), self.to.pointer());
        let len = self.from.len() as u64;
        // SAFETY: both buffers have so many bytes.
        unsafe {
            match (cipher, mode) {
                (BlockCipher::Aes(aes, keys), "CTR") => {
                    aes.apply_ctr(stream, keys, &counter(), from, to, len)?;
                }
                (BlockCipher::Aes(aes, keys), "ECB") => {
                    aes.encrypt_blocks(stream, keys, from, to, len / 16)?;
                }
                (BlockCipher::Aes(aes, keys), _) => {
                    aes.decrypt_blocks(stream, keys, from, to, len / 16)?;
                }
                (BlockCipher::Sm4(sm4, keys), "CTR") => {
                    sm4.apply_ctr(stream, keys, &counter(), from, to, len)?;
                }
                (BlockCipher::Sm4(sm4, keys), "ECB") => {
                    sm4.encrypt_blocks(stream, keys, from, to, len / 16)?;
                }
                (BlockCipher::Sm4(sm4, keys), _) => {
                    sm4.decrypt_blocks(stream, keys, from, to, len / 16)?;
                }
            }
        }
        Ok(())
    }

    fn in_device_memory(&self, ciphers: &Ciphers, threads: u32) -> Result {
        let info = self.gpu.info();
        let (begin, end) = (Event::timed(&self.gpu)?, Event::timed(&self.gpu)?);
        for (number, name) in NAMES.iter().enumerate() {
            for mode in ["CTR", "ECB", "ECB decrypt"] {
                let mut times = Vec::new();
                for _ in 0..self.repeats {
                    // SAFETY: synchronised below. The first launch is not timed: while it runs, the
                    // rest is enqueued.
                    unsafe {
                        self.enqueue(ciphers.get(number), mode)?;
                        begin.record(&self.stream)?;
                        self.enqueue(ciphers.get(number), mode)?;
                    }
                    end.record(&self.stream)?;
                    self.stream.synchronize()?;
                    times.push(f64::from(end.since(&begin)?) / 1e3);
                }
                let seconds = median(times);
                let rate = self.from.len() as f64 / seconds;
                let clock = f64::from(info.clock_khz) * 1e3 * f64::from(info.multiprocessors);
                println!(
                    "{name:8} {mode:12} {:?} tables, {threads:4} threads: {:8.3} ms, {:7.1} GB/s, \
                     {:6.3} Tbit/s, {:.3} bytes/SM/clock",
                    ciphers.aes.tables(),
                    seconds * 1e3,
                    rate / 1e9,
                    rate * 8e-12,
                    rate / clock,
                );
            }
        }
        Ok(())
    }

    /// AES in counter mode as others have published it.
    fn comparators(&self, ciphers: &Ciphers) -> Result {
        let comparators = BlockComparators::new(&self.gpu)?;
        let (begin, end) = (Event::timed(&self.gpu)?, Event::timed(&self.gpu)?);
        let len = self.from.len() / (16 << 10) * (16 << 10);
        let start = Counter::new([0; 16], CounterWidth::Bits32);
        for which in BlockComparator::ALL {
            for (keys, name) in ciphers.aes_keys.iter().zip(NAMES) {
                let mut times = Vec::new();
                for _ in 0..self.repeats {
                    for event in [&begin, &end] {
                        event.record(&self.stream)?;
                        let (from, to) = (self.from.pointer(), self.to.pointer());
                        let stream = &self.stream;
                        // SAFETY: both buffers have so many bytes; synchronised below.
                        unsafe {
                            comparators
                                .apply_ctr(which, stream, keys, &start, from, to, len as u64)?;
                        }
                    }
                    self.stream.synchronize()?;
                    times.push(f64::from(end.since(&begin)?) / 1e3);
                }
                let rate = len as f64 / median(times);
                let (gigabytes, terabits) = (rate / 1e9, rate * 8e-12);
                println!("{name:8} {}: {gigabytes:.1} GB/s, {terabits:.3} Tbit/s", which.name());
            }
        }
        Ok(())
    }

    /// Seconds of copying that much in and out at once, without any work on it.
    fn plain_copies(&mut self, from: &PinnedBuffer, out: &mut PinnedBuffer) -> Result<f64> {
        let streams = [Stream::new(&self.gpu)?, Stream::new(&self.gpu)?];
        let (device, to) = (&self.from, &mut self.to);
        let since = Instant::now();
        thread::scope(|scope| {
            let copied_in = scope.spawn(|| to.write(0, from, &streams[0]));
            device.read(0, out, &streams[1])?;
            copied_in.join().expect("copies do not panic")
        })?;
        Ok(since.elapsed().as_secs_f64())
    }

    fn in_host_memory(&mut self, ciphers: &Ciphers) -> Result {
        let len = self.from.len().min(2 << 30);
        let mut data = PinnedBuffer::new(&self.gpu, len)?;
        let mut other = PinnedBuffer::new(&self.gpu, len)?;
        for (i, byte) in data.iter_mut().enumerate() {
            *byte = i as u8;
        }
        for slot_bytes in [4 << 20, 8 << 20, 16 << 20] {
            let config = BlockRingConfig { slot_bytes, ..BlockRingConfig::default() };
            let mut ring = BlockRing::new(&self.gpu, config)?;
            let mode = BlockMode::Ctr(counter());
            let (mut plain, mut times) = (Vec::new(), vec![Vec::new(); NAMES.len()]);
            for _ in 0..self.repeats {
                plain.push(self.plain_copies(&data, &mut other)?);
                for (number, times) in times.iter_mut().enumerate() {
                    let since = Instant::now();
                    data = ring.apply_pinned(ciphers.get(number), &mode, data)?;
                    times.push(since.elapsed().as_secs_f64());
                }
            }
            let plain = median(plain);
            let rate = |seconds: f64| len as f64 / seconds / 1e9;
            println!("plain copies both ways at once: {:.2} GB/s each way", rate(plain));
            for (name, times) in NAMES.iter().zip(times) {
                let seconds = median(times);
                println!(
                    "{name:8} CTR, page-locked, {} MiB a piece: {:.2} GB/s, {:.1} % of the copies",
                    slot_bytes >> 20,
                    rate(seconds),
                    100.0 * plain / seconds,
                );
            }
        }
        Ok(())
    }
}

fn main() -> Result {
    let mut arguments = env::args().skip(1);
    let device = arguments.next().unwrap_or_else(|| "cuda:0".into());
    let gib: f64 = arguments.next().map_or(Ok(4.0), |text| text.parse())?;
    let repeats = arguments.next().map_or(Ok(7), |text| text.parse())?;
    let id: DeviceId = device.parse().map_err(|()| format!("{device} is no device's name"))?;
    let gpu = Gpu::open(id)?;
    println!("{:?}", gpu.info());
    let len = (gib * f64::from(1 << 30)) as usize / 16 * 16;
    let (mut from, to) = (DeviceBuffer::new(&gpu, len)?, DeviceBuffer::new(&gpu, len)?);
    let stream = Stream::new(&gpu)?;
    from.fill(0x3c, &stream)?;
    let mut bench = Bench { gpu: gpu.clone(), stream, from, to, repeats };
    let best = Aes::new(&gpu)?.tables();
    for tables in Tables::ALL.into_iter().filter(|tables| *tables >= best) {
        for threads in [1024, 512] {
            bench.in_device_memory(&Ciphers::new(&gpu, tables, threads)?, threads)?;
        }
    }
    bench.comparators(&Ciphers::new(&gpu, best, 1024)?)?;
    for kernel in [Aes::new(&gpu)?.kernels()?, Sm4::new(&gpu)?.kernels()?].concat() {
        println!(
            "{}: {} registers, {} bytes spilled",
            kernel.name, kernel.registers, kernel.local_bytes
        );
    }
    bench.in_host_memory(&Ciphers::new(&gpu, best, 1024)?)
}

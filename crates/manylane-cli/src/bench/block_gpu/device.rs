//! One GPU with data in its memory: launches kernels on them and checks what they compute.
#![allow(unsafe_code)]

use std::{
    cell::{Ref, RefCell},
    thread,
    time::{Duration, Instant},
};

use manylane_gpu::{
    Aes, AesKeys, BlockCipher, BlockComparator, BlockComparators, DeviceBuffer, DeviceId, Error,
    Gpu, KernelInfo, PinnedBuffer, Sm4, Sm4Keys, Stream, Tables,
};

use super::{Cipher, Family, Mode};
use crate::bench::{
    gpu::Timer,
    measure::{self, Timing},
};

/// Random bytes that the data consists of, again and again: the host knows every block, and
/// caches of devices, which go by address, gain nothing from the repetition.
const SLAB: usize = 64 << 20;

/// Data at most: far more than any cache.
const MOST_DATA: usize = 4 << 30;

/// Lengths are multiples of this, for every method takes such.
pub(super) const STEP: usize = 64 << 10;

/// Byte that the output is covered with before a check.
const COVER: u8 = 0xa5;

/// Bytes that a check compares in one place.
const SPAN: usize = 256;

/// How many times less data the four functions a round take: they are so many times slower than the
/// others, and a sample should not last for seconds.
const LESS: usize = 16;

/// What runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Program {
    /// The library's kernels with so many tables.
    Ours(Tables),
    /// A method of others, of AES in counter mode.
    Other(BlockComparator),
}

/// Data, and what to do with them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Work {
    pub(super) cipher: Cipher,
    pub(super) mode: Mode,
    pub(super) program: Program,
    pub(super) bytes: usize,
}

impl Work {
    /// Counter mode by a method of others, on as much of the data as it is fast enough for.
    pub(super) fn of_others(cipher: Cipher, which: BlockComparator, bytes: usize) -> Self {
        let bytes = match which {
            BlockComparator::Steps => (bytes / LESS / STEP * STEP).max(STEP),
            _ => bytes,
        };
        Work { cipher, mode: Mode::CTR, program: Program::Other(which), bytes }
    }

    pub(super) fn measured(&self) -> measure::Work {
        let units = (self.bytes / 16) as u64;
        measure::Work { bytes: self.bytes as u64, units, counted_clocks: None }
    }
}

/// A family's kernels with so many tables.
enum Kernels {
    Aes(Aes),
    Sm4(Sm4),
}

impl Kernels {
    /// With as many tables as there is room for.
    fn choose(family: Family, gpu: &Gpu) -> Result<(Tables, Self), Error> {
        Ok(match family {
            Family::Aes => {
                let aes = Aes::new(gpu)?;
                (aes.tables(), Kernels::Aes(aes))
            }
            Family::Sm4 => {
                let sm4 = Sm4::new(gpu)?;
                (sm4.tables(), Kernels::Sm4(sm4))
            }
        })
    }

    fn load(family: Family, gpu: &Gpu, tables: Tables) -> Result<Self, Error> {
        Ok(match family {
            Family::Aes => Kernels::Aes(Aes::with_tables(gpu, tables)?),
            Family::Sm4 => Kernels::Sm4(Sm4::with_tables(gpu, tables)?),
        })
    }

    fn describe(&self) -> Result<Vec<KernelInfo>, Error> {
        match self {
            Kernels::Aes(aes) => aes.kernels(),
            Kernels::Sm4(sm4) => sm4.kernels(),
        }
    }
}

/// A GPU that is measured.
pub(super) struct Device {
    family: Family,
    gpu: Gpu,
    timer: Timer,
    /// With as many tables as there is room for first.
    kernels: Vec<(Tables, Kernels)>,
    /// Of AES-128, 192 and 256.
    aes_keys: [AesKeys; 3],
    sm4_keys: Sm4Keys,
    /// There are none of SM4.
    comparators: Option<BlockComparators>,
    slab: Vec<u8>,
    from: DeviceBuffer,
    to: RefCell<DeviceBuffer>,
    /// Bytes that a call may have, by what the device can do in the time of one.
    limit: usize,
}

impl Device {
    /// Opens a device, fills its memory with data, and looks how fast it is: a call of counter mode is to
    /// take no longer than `longest`.
    pub(super) fn open(
        family: Family,
        id: DeviceId,
        longest: Duration,
        rng: &mut fastrand::Rng,
    ) -> Result<Self, Error> {
        let gpu = Gpu::open(id)?;
        let timer = Timer::new(&gpu)?;
        let (best, kernels) = Kernels::choose(family, &gpu)?;
        let mut kernels = vec![(best, kernels)];
        for tables in Tables::ALL.into_iter().filter(|tables| *tables > best) {
            kernels.push((tables, Kernels::load(family, &gpu, tables)?));
        }
        let (free, _) = gpu.memory()?;
        let len = ((free / 3).min(MOST_DATA as u64) as usize / STEP * STEP).max(STEP);
        let mut slab = PinnedBuffer::new(&gpu, len.min(SLAB))?;
        rng.fill(&mut slab);
        let mut from = DeviceBuffer::new(&gpu, len)?;
        for at in (0..len).step_by(slab.len()) {
            let part = slab.len().min(len - at);
            from.write(at, &slab[..part], timer.stream())?;
        }
        let comparators = match family {
            Family::Aes => Some(BlockComparators::new(&gpu)?),
            Family::Sm4 => None,
        };
        let aes_keys = |cipher: Cipher| AesKeys::new(cipher.key());
        let mut device = Device {
            family,
            kernels,
            aes_keys: [
                aes_keys(Cipher::Aes128)?,
                aes_keys(Cipher::Aes192)?,
                aes_keys(Cipher::Aes256)?,
            ],
            sm4_keys: Sm4Keys::new(Cipher::Sm4.key().try_into().expect("16 bytes")),
            comparators,
            slab: slab.to_vec(),
            from,
            to: RefCell::new(DeviceBuffer::new(&gpu, len)?),
            limit: len,
            timer,
            gpu,
        };
        device.limit = device.affordable(longest)?;
        Ok(device)
    }

    /// Bytes that are done in that time, by a first look.
    fn affordable(&self, longest: Duration) -> Result<usize, Error> {
        let most = self.from.len();
        let (cipher, target) = (self.family.ciphers()[0], longest.as_secs_f64());
        let mut bytes = STEP;
        loop {
            let program = Program::Ours(self.tables()[0]);
            let work = Work { cipher, mode: Mode::CTR, program, bytes };
            let seconds = self.timer.seconds(1, |stream| self.launch(&work, stream))?;
            // Slow data will not become faster by being more.
            if bytes == most || seconds > target / 4.0 {
                let affordable = bytes as f64 / seconds * target;
                return Ok((affordable as usize).clamp(STEP, most));
            }
            bytes = (8 * bytes).min(most);
        }
    }

    pub(super) fn family(&self) -> Family {
        self.family
    }

    pub(super) fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    pub(super) fn timer(&self) -> &Timer {
        &self.timer
    }

    /// Joules that the device has used up to now, where it says so.
    pub(super) fn joules(&self) -> Option<f64> {
        self.timer.sensor().ok()?.joules()
    }

    /// As many as there is room for first.
    pub(super) fn tables(&self) -> Vec<Tables> {
        self.kernels.iter().map(|(tables, _)| *tables).collect()
    }

    /// What the driver compiled.
    pub(super) fn kernels(&self) -> Result<Vec<KernelInfo>, Error> {
        let mut infos = Vec::new();
        for (_, kernels) in &self.kernels {
            infos.extend(kernels.describe()?);
        }
        if let Some(comparators) = &self.comparators {
            infos.extend(comparators.kernels()?);
        }
        Ok(infos)
    }

    /// As many of so many bytes as a call may have.
    pub(super) fn affords(&self, bytes: usize) -> usize {
        (bytes.min(self.limit) / STEP * STEP).max(STEP)
    }

    fn keys(&self, cipher: Cipher) -> &AesKeys {
        match cipher {
            Cipher::Aes192 => &self.aes_keys[1],
            Cipher::Aes256 => &self.aes_keys[2],
            _ => &self.aes_keys[0],
        }
    }

    /// A cipher as the library offers it.
    pub(super) fn cipher(&self, cipher: Cipher) -> BlockCipher<'_> {
        self.with_tables(cipher, self.kernels[0].0)
    }

    fn with_tables(&self, cipher: Cipher, tables: Tables) -> BlockCipher<'_> {
        let loaded = self.kernels.iter().find(|(loaded, _)| *loaded == tables);
        match &loaded.expect("tables that are loaded").1 {
            Kernels::Aes(aes) => BlockCipher::Aes(aes, self.keys(cipher)),
            Kernels::Sm4(sm4) => BlockCipher::Sm4(sm4, &self.sm4_keys),
        }
    }

    /// Launches the work so many times and waits: the device's time for it.
    pub(super) fn time(&self, work: &Work, calls: u32) -> Result<Timing, Error> {
        self.timer.time(calls, |stream| self.launch(work, stream))
    }

    /// Enqueues the work.
    pub(super) fn launch(&self, work: &Work, stream: &Stream) -> Result<(), Error> {
        let to = self.to.borrow();
        assert!(work.bytes <= self.from.len().min(to.len()), "room");
        let (from, to) = (self.from.pointer(), to.pointer());
        let (len, blocks) = (work.bytes as u64, (work.bytes / 16) as u64);
        let tables = match work.program {
            Program::Ours(tables) => tables,
            Program::Other(which) => {
                let Mode::Ctr(low) = work.mode else { panic!("others have counter mode only") };
                let others = self.comparators.as_ref().expect("there are some of AES");
                let (keys, counter) = (self.keys(work.cipher), Mode::counter(low));
                // SAFETY: both buffers have so many bytes, by the assertion. They live as long as `self`,
                // and whoever launches waits for the stream, the only one that uses them.
                return unsafe { others.apply_ctr(which, stream, keys, &counter, from, to, len) };
            }
        };
        // SAFETY: as above.
        unsafe {
            match (self.with_tables(work.cipher, tables), work.mode) {
                (BlockCipher::Aes(aes, keys), Mode::Ctr(low)) => {
                    aes.apply_ctr(stream, keys, &Mode::counter(low), from, to, len)
                }
                (BlockCipher::Aes(aes, keys), Mode::Encrypt) => {
                    aes.encrypt_blocks(stream, keys, from, to, blocks)
                }
                (BlockCipher::Aes(aes, keys), Mode::Decrypt) => {
                    aes.decrypt_blocks(stream, keys, from, to, blocks)
                }
                (BlockCipher::Sm4(sm4, keys), Mode::Ctr(low)) => {
                    sm4.apply_ctr(stream, keys, &Mode::counter(low), from, to, len)
                }
                (BlockCipher::Sm4(sm4, keys), Mode::Encrypt) => {
                    sm4.encrypt_blocks(stream, keys, from, to, blocks)
                }
                (BlockCipher::Sm4(sm4, keys), Mode::Decrypt) => {
                    sm4.decrypt_blocks(stream, keys, from, to, blocks)
                }
            }
        }
    }

    /// Launches the work once on covered ground, and compares samples of the output, the first and the
    /// last blocks among them, with the CPU's.
    pub(super) fn check(&self, work: &Work, rng: &mut fastrand::Rng) -> Result<(), String> {
        let failed = |why: Error| why.to_string();
        self.to.borrow_mut().fill(COVER, self.timer.stream()).map_err(failed)?;
        self.launch(work, self.timer.stream()).map_err(failed)?;
        for at in spans(work.bytes, rng) {
            let mut wanted = self.data(at, SPAN);
            let computed = work.cipher.on_cpu(None, work.mode, (at / 16) as u64, &mut wanted);
            computed.map_err(|why| why.to_string())?;
            let mut got = [0; SPAN];
            self.output().read(at, &mut got, self.timer.stream()).map_err(failed)?;
            if got[..] != wanted[..] {
                return Err(format!("bytes {at} to {} are not the CPU's", at + SPAN));
            }
        }
        Ok(())
    }

    fn output(&self) -> Ref<'_, DeviceBuffer> {
        self.to.borrow()
    }

    /// So many bytes of the data on the host, from a place on.
    fn data(&self, at: usize, len: usize) -> Vec<u8> {
        (at..at + len).map(|i| self.slab[i % self.slab.len()]).collect()
    }

    /// Bytes of data in host memory.
    pub(super) fn fill_host(&self, host: &mut [u8]) {
        for part in host.chunks_mut(self.slab.len()) {
            let len = part.len();
            part.copy_from_slice(&self.slab[..len]);
        }
    }

    /// Seconds in which as many bytes are copied to the device and from it, both at once, by its copy
    /// engines alone.
    pub(super) fn copy_both_ways(&self, from: &[u8], out: &mut [u8]) -> Result<f64, Error> {
        let streams = [Stream::new(&self.gpu)?, Stream::new(&self.gpu)?];
        let mut to = self.to.borrow_mut();
        let (device, to) = (&self.from, &mut *to);
        let since = Instant::now();
        thread::scope(|scope| {
            let copied_in = scope.spawn(|| to.write(0, from, &streams[0]));
            device.read(0, out, &streams[1])?;
            copied_in.join().expect("copies do not panic")
        })?;
        Ok(since.elapsed().as_secs_f64())
    }

    /// Bytes of the data.
    pub(super) fn room(&self) -> usize {
        self.from.len()
    }
}

/// Where a check looks in so many bytes.
pub(super) fn spans(bytes: usize, rng: &mut fastrand::Rng) -> Vec<usize> {
    let mut spans = vec![0, bytes - SPAN];
    spans.extend((0..30).map(|_| 16 * rng.usize(..=(bytes - SPAN) / 16)));
    spans
}

/// So many bytes of the host's data in each of these places.
pub(super) fn samples(data: &[u8], spans: &[usize]) -> Vec<Vec<u8>> {
    spans.iter().map(|at| data[*at..at + SPAN].to_vec()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_look_at_both_ends() {
        let mut rng = fastrand::Rng::with_seed(3);
        for bytes in [SPAN, STEP, 10 * STEP] {
            let spans = spans(bytes, &mut rng);
            assert!(spans.iter().all(|at| at % 16 == 0 && at + SPAN <= bytes));
            assert!(spans.contains(&0) && spans.contains(&(bytes - SPAN)));
        }
    }

    #[test]
    fn the_slow_method_takes_less() {
        let of = |which, bytes| Work::of_others(Cipher::Aes128, which, bytes).bytes;
        assert_eq!(of(BlockComparator::Steps, 64 * STEP), 4 * STEP);
        assert_eq!(of(BlockComparator::Steps, STEP), STEP);
        assert_eq!(of(BlockComparator::Bits, 64 * STEP), 64 * STEP);
    }
}

//! One GPU with messages in its memory: launches kernels on them, times them by the device's own
//! events, and checks what they compute.
#![allow(unsafe_code)]

use std::{cell::RefCell, ops::Range, time::Duration};

use manylane::{
    Messages,
    sha3::{self, Function, Midstate},
};
use manylane_gpu::{
    DeviceBuffer, DeviceId, DeviceMessages, Error, Gpu, KernelInfo, Layout, PinnedBuffer, Sha3,
    Sha3Comparator, Sha3Comparators, Stream, Workspace,
};

use crate::bench::{
    gpu::Timer,
    measure::{self, Timing},
};

/// Random bytes that the data consists of, again and again: the host knows every message, and
/// caches of devices, which go by address, gain nothing from the repetition.
const SLAB: usize = 64 << 20;

/// Data at most: far more than any cache.
const MOST_DATA: usize = 8 << 30;

/// Messages at most: 2 GiB of digests of 32 bytes.
const MOST_MESSAGES: usize = 1 << 26;

/// Messages that are ordered by length at most.
const MOST_ORDERED: usize = 1 << 20;

/// Byte that digests are covered with before a check.
const COVER: u8 = 0xa5;

/// What runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Program {
    /// `Sha3::hash_many`.
    Ours,
    /// A method of others, of SHA3-256.
    Other(Sha3Comparator),
}

/// Where the messages of some work lie in the data.
pub(super) enum Shape {
    /// One after another.
    Rows(usize),
    /// One after another, of any lengths.
    Offsets(Offsets),
}

/// Offsets on the host and on the device.
pub(super) struct Offsets {
    host: Vec<u64>,
    device: DeviceBuffer,
}

/// Messages, and what to do with them.
pub(super) struct Work {
    pub(super) program: Program,
    pub(super) function: Function,
    pub(super) count: usize,
    pub(super) shape: Shape,
}

impl Work {
    /// Message `i` in the data.
    fn range(&self, i: usize) -> Range<usize> {
        match &self.shape {
            Shape::Rows(len) => i * len..(i + 1) * len,
            Shape::Offsets(offsets) => offsets.host[i] as usize..offsets.host[i + 1] as usize,
        }
    }

    /// Bytes of messages, which begin with the data.
    pub(super) fn bytes(&self) -> usize {
        self.range(self.count - 1).end
    }

    pub(super) fn measured(&self) -> measure::Work {
        let (bytes, units) = (self.bytes() as u64, self.count as u64);
        measure::Work { bytes, units, counted_clocks: None }
    }

    fn output_len(&self) -> usize {
        self.function.output_len()
    }
}

/// A GPU that is measured.
pub(super) struct Device {
    gpu: Gpu,
    sha3: Sha3,
    comparators: Sha3Comparators,
    timer: Timer,
    slab: Vec<u8>,
    data: RefCell<DeviceBuffer>,
    out: RefCell<DeviceBuffer>,
    workspace: RefCell<Workspace>,
    /// Bytes that a call may have, by what the device can do in the time of one.
    limit: usize,
}

impl Device {
    /// Opens a device, fills its memory with data, and looks how fast it is. A call for a few
    /// messages of 8 KiB a thread is to take no longer than `longest`.
    pub(super) fn open(
        id: DeviceId,
        longest: Duration,
        rng: &mut fastrand::Rng,
    ) -> Result<Self, Error> {
        let gpu = Gpu::open(id)?;
        let sha3 = Sha3::new(&gpu)?;
        let (free, _) = gpu.memory()?;
        let room = (free / 3).min(MOST_DATA as u64) as usize;
        let len = if room > SLAB { room / SLAB * SLAB } else { room / 4096 * 4096 };
        let mut slab = PinnedBuffer::new(&gpu, len.min(SLAB))?;
        rng.fill(&mut slab);
        let timer = Timer::new(&gpu)?;
        let mut data = DeviceBuffer::new(&gpu, len)?;
        for at in (0..len).step_by(slab.len().max(1)) {
            let part = slab.len().min(len - at);
            data.write(at, &slab[..part], timer.stream())?;
        }
        let messages = (len / 32).min(MOST_MESSAGES);
        let mut device = Device {
            sha3,
            comparators: Sha3Comparators::new(&gpu)?,
            slab: slab.to_vec(),
            data: RefCell::new(data),
            out: RefCell::new(DeviceBuffer::new(&gpu, messages * 32)?),
            workspace: RefCell::new(Workspace::new(&gpu, messages.min(MOST_ORDERED))?),
            limit: len,
            timer,
            gpu,
        };
        device.limit = device.affordable(longest)?.min(len);
        Ok(device)
    }

    /// Bytes that are done in that time, by a first look.
    fn affordable(&self, longest: Duration) -> Result<usize, Error> {
        const LEN: usize = 8 << 10;
        let threads = 256 * self.gpu.info().multiprocessors as usize;
        let most = (self.data.borrow().len() / LEN).max(1);
        let mut count = 64.min(most);
        loop {
            let (program, function) = (Program::Ours, Function::SHA3_256);
            let work = Work { program, function, count, shape: Shape::Rows(LEN) };
            let seconds = self.timer.seconds(1, |stream| self.launch(&work, stream))?;
            let target = longest.as_secs_f64();
            // More messages than threads tell the rate; few and slow ones will not become faster.
            if count >= 2 * threads || count == most || seconds > target / 4.0 {
                return Ok(((LEN * count) as f64 / seconds * target) as usize);
            }
            count = (8 * count).min(most);
        }
    }

    pub(super) fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    pub(super) fn timer(&self) -> &Timer {
        &self.timer
    }

    /// What the driver compiled.
    pub(super) fn kernels(&self) -> Result<Vec<KernelInfo>, Error> {
        Ok([self.sha3.kernels()?, self.comparators.kernels()?].concat())
    }

    /// Joules that the device has used up to now, where it says so.
    pub(super) fn joules(&self) -> Option<f64> {
        self.timer.sensor().ok()?.joules()
    }

    /// As many of `count` messages of `len` bytes with digests of `output_len` as a call may have.
    pub(super) fn affords(&self, count: usize, len: usize, output_len: usize) -> usize {
        self.fits(count.min(self.limit / len.max(1)), output_len)
    }

    /// As many of `count` messages as there is room for digests of `output_len` bytes, at least one.
    pub(super) fn fits(&self, count: usize, output_len: usize) -> usize {
        count.min(self.out.borrow().len() / output_len).max(1)
    }

    /// Bytes of the data.
    pub(super) fn room(&self) -> usize {
        self.data.borrow().len()
    }

    /// Offsets of messages of these lengths, from the beginning of the data on.
    pub(super) fn offsets(&self, lengths: &[usize]) -> Result<Offsets, Error> {
        let mut host = vec![0_u64];
        let mut end = 0;
        host.extend(lengths.iter().map(|len| {
            end += *len as u64;
            end
        }));
        let bytes: Vec<u8> = host.iter().flat_map(|offset| offset.to_ne_bytes()).collect();
        let mut device = DeviceBuffer::new(&self.gpu, bytes.len())?;
        device.write(0, &bytes, self.timer.stream())?;
        Ok(Offsets { host, device })
    }

    /// Launches the work so many times and waits: the device's time for it.
    pub(super) fn time(&self, work: &Work, calls: u32) -> Result<Timing, Error> {
        self.timer.time(calls, |stream| self.launch(work, stream))
    }

    /// Enqueues the work.
    pub(super) fn launch(&self, work: &Work, stream: &Stream) -> Result<(), Error> {
        let (data, out) = (self.data.borrow(), self.out.borrow());
        let fits = work.count * work.output_len() <= out.len();
        assert!(work.bytes() <= data.len() && fits, "room");
        let data = data.pointer();
        let layout = match &work.shape {
            Shape::Rows(len) => Layout::Strided { data, len: *len as u64, stride: *len as u64 },
            Shape::Offsets(offsets) => {
                Layout::Offsets64 { data, offsets: offsets.device.pointer(), base: 0 }
            }
        };
        let messages = DeviceMessages { count: work.count, layout };
        let out = out.pointer();
        match work.program {
            Program::Ours => {
                let start = Midstate::new(work.function);
                let mut workspace = self.workspace.borrow_mut();
                let workspace = Some(&mut *workspace);
                // SAFETY: the messages lie in the data, by the assertion, as do the offsets in memory of
                // `work`'s, which do not decrease and end with that; the digests fit. These buffers live
                // as long as `self` or `work`, and whoever launches waits for the stream, the only one
                // that uses them.
                unsafe { self.sha3.hash_many(stream, &start, &messages, workspace, out) }
            }
            Program::Other(which) => {
                assert_eq!(work.function, Function::SHA3_256, "what others have");
                // SAFETY: as above.
                unsafe { self.comparators.hash_many(which, stream, &messages, out) }
            }
        }
    }

    /// Launches the work once on covered ground, and compares a sample of the digests, the first
    /// and the last among them, with the CPU's.
    pub(super) fn check(&self, work: &Work, rng: &mut fastrand::Rng) -> Result<(), String> {
        let failed = |why: Error| why.to_string();
        self.out.borrow_mut().fill(COVER, self.timer.stream()).map_err(failed)?;
        self.launch(work, self.timer.stream()).map_err(failed)?;
        let sample = ((1 << 20) / (work.bytes() / work.count).max(1)).clamp(4, 64);
        let mut chosen: Vec<usize> = (2..sample).map(|_| rng.usize(..work.count)).collect();
        chosen.extend([0, work.count - 1]);
        let data = |i: &usize| self.data(work.range(*i));
        let messages: Vec<Vec<u8>> = chosen.iter().map(data).collect();
        let slices: Vec<&[u8]> = messages.iter().map(Vec::as_slice).collect();
        let mut expected = vec![0; chosen.len() * work.output_len()];
        let computed = sha3::hash_many(work.function, &Messages::slices(&slices), &mut expected);
        computed.map_err(|why| why.to_string())?;
        for (i, expected) in chosen.into_iter().zip(expected.chunks_exact(work.output_len())) {
            let mut digest = vec![0; work.output_len()];
            let at = i * work.output_len();
            self.out.borrow().read(at, &mut digest, self.timer.stream()).map_err(failed)?;
            if digest != expected {
                let count = work.count;
                return Err(format!("the digest of message {i} of {count} is not the CPU's"));
            }
        }
        Ok(())
    }

    /// Bytes of the data on the host.
    fn data(&self, range: Range<usize>) -> Vec<u8> {
        range.map(|i| self.slab[i % self.slab.len()]).collect()
    }

    /// Bytes of messages in host memory: data that is the device's own, so that copying it there
    /// changes nothing.
    pub(super) fn fill_host(&self, host: &mut [u8]) {
        for part in host.chunks_mut(self.slab.len()) {
            let len = part.len();
            part.copy_from_slice(&self.slab[..len]);
        }
    }

    /// Seconds in which the device's copy engine fetches page-locked memory, into the data, which
    /// it replaces; to be put back by the same bytes.
    pub(super) fn fetch(&self, bytes: &[u8]) -> Result<f64, Error> {
        let mut data = self.data.borrow_mut();
        let all = data.len().max(1);
        self.timer
            .between(|stream| bytes.chunks(all).try_for_each(|part| data.write(0, part, stream)))
    }

    /// Copies the bytes to the device, launches the work on them, and copies its digests back.
    ///
    /// The data is replaced by these bytes: the host's own, of [`fill_host`](Self::fill_host).
    pub(super) fn there_and_back(
        &self,
        bytes: &[u8],
        work: &Work,
        out: &mut [u8],
    ) -> Result<(), Error> {
        let stream = self.timer.stream();
        self.data.borrow_mut().write(0, bytes, stream)?;
        self.launch(work, stream)?;
        self.out.borrow().read(0, out, stream)
    }
}

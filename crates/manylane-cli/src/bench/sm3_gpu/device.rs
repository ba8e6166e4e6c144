//! One GPU with messages in its memory: launches kernels on them, times them by the device's own
//! events, and checks what they compute.
#![allow(unsafe_code)]

use std::{cell::RefCell, ops::Range, time::Duration};

use manylane::{
    Messages,
    sm3::{self, DIGEST_LEN, Midstate},
};
use manylane_gpu::{
    Comparator, Comparators, DeviceBuffer, DeviceId, DeviceMessages, DevicePointer, Error, Gpu,
    Layout, PinnedBuffer, Sm3, Stream, Workspace,
};

use crate::bench::{gpu::Timer, measure::Timing};

/// Random bytes that the data consists of, again and again: the host knows every message, and
/// caches of devices, which go by address, gain nothing from the repetition.
const SLAB: usize = 64 << 20;

/// Data at most: far more than any cache, and room for messages of 128 KiB on every thread of the
/// largest devices.
const MOST_DATA: usize = 24 << 30;

/// Messages at most: 2 GiB of digests.
const MOST_MESSAGES: usize = 1 << 26;

/// Messages that are ordered by length at most.
const MOST_ORDERED: usize = 1 << 20;

/// Length of HMAC keys, which lie one after another.
pub(super) const KEY_LEN: usize = 32;

/// Byte that digests are covered with before a check.
const COVER: u8 = 0xa5;

/// What runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Program {
    /// `Sm3::hash_many`, with so many threads per block, or as many as it chooses.
    Hash(Option<u32>),
    /// `Sm3::hmac_many`, the keys being the first bytes of the data.
    Hmac,
    /// A method of others.
    Comparator(Comparator, Option<u32>),
}

/// Where the messages of some work lie in the data.
pub(super) enum Shape {
    /// One after another, `stride` apart.
    Rows { len: usize, stride: usize },
    /// In elements of 16 bytes: element `e` of message `i` is element `e * count + i`.
    Interleaved { len: usize },
    /// One after another, of any lengths.
    Offsets(Offsets),
    /// Padded before, in memory of their own, with the offsets of the padded messages there; and
    /// the offsets of the messages themselves in the data.
    Padded { data: DeviceBuffer, offsets: Offsets, from: Vec<usize> },
}

/// Offsets on the host and on the device.
pub(super) struct Offsets {
    host: Vec<u64>,
    device: DeviceBuffer,
}

/// Messages, and what to do with them.
pub(super) struct Work {
    pub(super) program: Program,
    pub(super) count: usize,
    pub(super) shape: Shape,
}

impl Work {
    /// Bytes of messages.
    pub(super) fn bytes(&self) -> u64 {
        match &self.shape {
            Shape::Rows { len, .. } | Shape::Interleaved { len } => (*len * self.count) as u64,
            Shape::Offsets(offsets) => offsets.host[self.count],
            Shape::Padded { from, .. } => from[self.count] as u64,
        }
    }

    /// Bytes of the data that they lie in.
    fn span(&self) -> usize {
        match &self.shape {
            Shape::Rows { len, stride } => self.count.saturating_sub(1) * stride + len,
            Shape::Interleaved { len } => len * self.count,
            Shape::Offsets(offsets) => offsets.host[self.count] as usize,
            Shape::Padded { from, .. } => from[self.count],
        }
    }

    /// Gives the pieces of the data that message `i` consists of, one after the other.
    fn pieces(&self, i: usize, mut give: impl FnMut(Range<usize>)) {
        match &self.shape {
            Shape::Rows { len, stride } => give(i * stride..i * stride + len),
            Shape::Interleaved { len } => {
                let elements = (0..len / 16).map(|e| 16 * (e * self.count + i));
                elements.for_each(|at| give(at..at + 16));
            }
            Shape::Offsets(offsets) => {
                give(offsets.host[i] as usize..offsets.host[i + 1] as usize);
            }
            Shape::Padded { from, .. } => give(from[i]..from[i + 1]),
        }
    }
}

/// A GPU that is measured.
pub(super) struct Device {
    gpu: Gpu,
    sm3: Sm3,
    comparators: Comparators,
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
        let sm3 = Sm3::new(&gpu)?;
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
        let messages = (len / 64).min(MOST_MESSAGES);
        let mut device = Device {
            sm3,
            comparators: Comparators::new(&gpu)?,
            slab: slab.to_vec(),
            data: RefCell::new(data),
            out: RefCell::new(DeviceBuffer::new(&gpu, messages * DIGEST_LEN)?),
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
            let shape = Shape::Rows { len: LEN, stride: LEN };
            let work = Work { program: Program::Hash(None), count, shape };
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

    pub(super) fn sm3(&self) -> &Sm3 {
        &self.sm3
    }

    pub(super) fn comparators(&self) -> &Comparators {
        &self.comparators
    }

    pub(super) fn timer(&self) -> &Timer {
        &self.timer
    }

    /// Joules that the device has used up to now, where it says so.
    pub(super) fn joules(&self) -> Option<f64> {
        self.timer.sensor().ok()?.joules()
    }

    pub(super) fn multiprocessors(&self) -> u32 {
        self.gpu.info().multiprocessors
    }

    /// As many of `count` messages, `each` bytes apart, as a call may have.
    pub(super) fn affords(&self, count: usize, each: usize) -> usize {
        let digests = self.out.borrow().len() / DIGEST_LEN;
        count.min(self.limit / each.max(1)).min(digests).max(1)
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

    /// A copy of the bytes in memory of the device.
    pub(super) fn resident(&self, bytes: &[u8]) -> Result<DeviceBuffer, Error> {
        let mut buffer = DeviceBuffer::new(&self.gpu, bytes.len())?;
        buffer.write(0, bytes, self.timer.stream())?;
        Ok(buffer)
    }

    /// Bytes of the data on the host.
    pub(super) fn copy_data(&self, range: Range<usize>, to: &mut Vec<u8>) {
        let mut at = range.start;
        while at < range.end {
            let from = at % self.slab.len();
            let part = (self.slab.len() - from).min(range.end - at);
            to.extend_from_slice(&self.slab[from..from + part]);
            at += part;
        }
    }

    /// Launches the work so many times and waits: the device's time for it.
    pub(super) fn time(&self, work: &Work, calls: u32) -> Result<Timing, Error> {
        self.timer.time(calls, |stream| self.launch(work, stream))
    }

    /// Enqueues the work.
    fn launch(&self, work: &Work, stream: &Stream) -> Result<(), Error> {
        let (data, out) = (self.data.borrow(), self.out.borrow());
        assert!(work.span() <= data.len() && work.count * DIGEST_LEN <= out.len(), "room");
        let messages = messages(work, data.pointer());
        let mut workspace = self.workspace.borrow_mut();
        let workspace = Some(&mut *workspace);
        let start = Midstate::default();
        match work.program {
            Program::Hash(block) => {
                let sm3 = block.map_or_else(|| self.sm3.clone(), |b| self.sm3.with_block(b));
                // SAFETY: the messages lie in the data, by the assertion, or in memory of `work`'s,
                // as do the offsets, which do not decrease and end with that; the digests fit. These
                // buffers live as long as `self` or `work`, and whoever launches waits for the
                // stream, the only one that uses them.
                unsafe { sm3.hash_many(stream, &start, &messages, workspace, out.pointer()) }
            }
            Program::Hmac => {
                assert!(work.count * KEY_LEN <= data.len(), "room for keys");
                let (data, len) = (data.pointer(), KEY_LEN as u64);
                let layout = Layout::Strided { data, len, stride: len };
                let keys = DeviceMessages { count: work.count, layout };
                // SAFETY: as above, and the keys lie in the data too.
                unsafe { self.sm3.hmac_many(stream, &keys, &messages, workspace, out.pointer()) }
            }
            Program::Comparator(which, block) => {
                let (comparators, out) = (&self.comparators, out.pointer());
                // SAFETY: as for `Hash`; who pads messages has their blocks follow each other.
                unsafe { comparators.hash_many(which, block, stream, &messages, out) }
            }
        }
    }

    /// Launches the work once on covered ground, and compares a sample of the digests, the first
    /// and the last among them, with the CPU's.
    pub(super) fn check(&self, work: &Work, rng: &mut fastrand::Rng) -> Result<(), String> {
        let failed = |why: Error| why.to_string();
        self.out.borrow_mut().fill(COVER, self.timer.stream()).map_err(failed)?;
        self.launch(work, self.timer.stream()).map_err(failed)?;
        let mean = (work.bytes() / work.count as u64).max(1) as usize;
        let sample = ((1 << 20) / mean).clamp(4, 64);
        let mut chosen: Vec<usize> = (2..sample).map(|_| rng.usize(..work.count)).collect();
        chosen.extend([0, work.count - 1]);
        let expected = self.expected(work, &chosen);
        for (i, expected) in chosen.into_iter().zip(expected) {
            let mut digest = [0; DIGEST_LEN];
            let out = self.out.borrow();
            out.read(i * DIGEST_LEN, &mut digest, self.timer.stream()).map_err(failed)?;
            if digest != expected {
                let count = work.count;
                return Err(format!("the digest of message {i} of {count} is not the CPU's"));
            }
        }
        Ok(())
    }

    /// What the CPU computes of some of the messages.
    fn expected(&self, work: &Work, chosen: &[usize]) -> Vec<[u8; DIGEST_LEN]> {
        let message = |&i: &usize| {
            let mut message = Vec::new();
            work.pieces(i, |piece| self.copy_data(piece, &mut message));
            message
        };
        let messages: Vec<Vec<u8>> = chosen.iter().map(message).collect();
        let slices: Vec<&[u8]> = messages.iter().map(Vec::as_slice).collect();
        let messages = Messages::slices(&slices);
        let mut digests = vec![[0; DIGEST_LEN]; chosen.len()];
        if work.program == Program::Hmac {
            let mut keys = Vec::new();
            chosen.iter().for_each(|i| self.copy_data(i * KEY_LEN..(i + 1) * KEY_LEN, &mut keys));
            let keys = Messages::strided(&keys, KEY_LEN, KEY_LEN, chosen.len());
            let keys = keys.expect("as many keys as were copied");
            sm3::hmac_many(&keys, &messages, &mut digests).expect("as many digests");
        } else {
            sm3::hash_many(&messages, &mut digests).expect("as many digests");
        }
        digests
    }

    /// Seconds in which the device's copy engine fetches page-locked memory, into the data, which
    /// it replaces; to be put back by the same bytes.
    pub(super) fn fetch(&self, bytes: &[u8]) -> Result<f64, Error> {
        let mut data = self.data.borrow_mut();
        let all = data.len().max(1);
        self.timer
            .between(|stream| bytes.chunks(all).try_for_each(|part| data.write(0, part, stream)))
    }

    /// Bytes of messages in host memory: data that is the device's own, so that copying it there
    /// changes nothing.
    pub(super) fn fill_host(&self, host: &mut [u8]) {
        for part in host.chunks_mut(self.slab.len()) {
            let len = part.len();
            part.copy_from_slice(&self.slab[..len]);
        }
    }
}

/// The messages of some work in data that begins there.
fn messages(work: &Work, data: DevicePointer) -> DeviceMessages {
    let layout = match &work.shape {
        Shape::Rows { len, stride } => {
            Layout::Strided { data, len: *len as u64, stride: *stride as u64 }
        }
        Shape::Interleaved { len } => {
            Layout::Strided { data, len: *len as u64, stride: *len as u64 }
        }
        Shape::Offsets(offsets) => {
            Layout::Offsets64 { data, offsets: offsets.device.pointer(), base: 0 }
        }
        Shape::Padded { data, offsets, .. } => {
            let (data, offsets) = (data.pointer(), offsets.device.pointer());
            Layout::Offsets64 { data, offsets, base: 0 }
        }
    };
    DeviceMessages { count: work.count, layout }
}

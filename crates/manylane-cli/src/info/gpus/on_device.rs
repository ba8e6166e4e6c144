//! Random batches in a device's memory, by the calls that take messages there.
#![allow(unsafe_code)]

use manylane::{
    Messages,
    sm3::{self, DIGEST_LEN, Midstate},
};
use manylane_gpu::{DeviceBuffer, DeviceMessages, Error, Gpu, Layout, Sm3, Stream, Workspace};

/// How the messages of a batch lie in the data.
enum Shape {
    Rows { at: usize, len: usize, stride: usize, count: usize },
    Offsets32(Vec<u32>),
    Offsets64(Vec<u64>),
}

/// What is asked of a device.
pub(super) struct Batch {
    shape: Shape,
    prefix: Vec<u8>,
    /// Where keys begin, their length, and from one to the next; then it is HMACs that are asked.
    keys: Option<(usize, usize, usize)>,
    /// Whether messages may be ordered by length.
    ordered: bool,
}

impl Batch {
    /// One of any kind, of messages within the first `data` bytes.
    pub(super) fn random(data: usize, most: usize, rng: &mut fastrand::Rng) -> Self {
        // Now and then as many as fill more than a warp.
        let most = if rng.u8(..) < 32 { most } else { 8 };
        let count = rng.usize(0..=most);
        let mut lengths = || match rng.u8(..4) {
            0 => rng.usize(..64),
            1 => 64 * rng.usize(..5),
            2 => rng.usize(..512),
            _ => rng.usize(..130),
        };
        let shape = if lengths().is_multiple_of(2) {
            let len = lengths();
            let stride = len + if rng.bool() { 0 } else { rng.usize(..40) };
            Shape::Rows { at: rng.usize(..data / 4), len, stride, count }
        } else {
            let mut end = rng.usize(..data / 4);
            let mut offsets = vec![end as u64];
            for _ in 0..count {
                end += rng.usize(..300);
                offsets.push(end as u64);
            }
            match rng.bool() {
                true => Shape::Offsets64(offsets),
                false => Shape::Offsets32(offsets.into_iter().map(|o| o as u32).collect()),
            }
        };
        let ordered = rng.bool();
        Self::of(shape, ordered, 100, data, rng)
    }

    /// One of more messages than a device of so many multiprocessors takes as they come, all
    /// unlike: they are ordered by length, and fewer are at work at a time than could be.
    pub(super) fn unlike(data: usize, multiprocessors: u32, rng: &mut fastrand::Rng) -> Self {
        let few = few(multiprocessors);
        let count = few + 1 + rng.usize(..few / 4);
        let longest = (data / 2 / count).min(300);
        let ends = (0..=count).scan(rng.usize(..data / 4), |end, _| {
            *end += rng.usize(..=longest);
            Some(*end as u64)
        });
        let shape = Shape::Offsets64(ends.collect());
        Self::of(shape, true, longest.min(100), data, rng)
    }

    /// With keys of less than `key_len` bytes, or after a prefix, or neither.
    fn of(
        shape: Shape,
        ordered: bool,
        key_len: usize,
        data: usize,
        rng: &mut fastrand::Rng,
    ) -> Self {
        let keys = (rng.u8(..4) == 0).then(|| {
            let len = rng.usize(..key_len);
            (rng.usize(..data / 4), len, len + rng.usize(..9))
        });
        let prefix = match (&keys, rng.bool()) {
            (None, true) => {
                let mut prefix = vec![0; rng.usize(..200)];
                rng.fill(&mut prefix);
                prefix
            }
            _ => Vec::new(),
        };
        Batch { shape, prefix, keys, ordered }
    }

    fn count(&self) -> usize {
        match &self.shape {
            Shape::Rows { count, .. } => *count,
            Shape::Offsets32(offsets) => offsets.len() - 1,
            Shape::Offsets64(offsets) => offsets.len() - 1,
        }
    }

    /// For the message of a failure.
    pub(super) fn describe(&self) -> String {
        let shape = match &self.shape {
            Shape::Rows { at, len, stride, .. } => {
                format!("{len} bytes each, {stride} apart from byte {at}")
            }
            Shape::Offsets32(offsets) => format!("32-bit offsets {offsets:?}"),
            Shape::Offsets64(offsets) => format!("64-bit offsets {offsets:?}"),
        };
        let (count, prefix, keys) = (self.count(), self.prefix.len(), self.keys);
        format!("{count} messages, {shape}, after a prefix of {prefix}, keys {keys:?}")
    }

    /// The first digest that is not the CPU's.
    pub(super) fn first_difference(
        &self,
        data: &[u8],
        digests: &[[u8; DIGEST_LEN]],
    ) -> Option<usize> {
        let rows = |at: usize, len, stride, count| {
            Messages::strided(&data[at..], len, stride, count).expect("within the data")
        };
        let messages = match &self.shape {
            Shape::Rows { at, len, stride, count } => rows(*at, *len, *stride, *count),
            Shape::Offsets32(offsets) => Messages::offsets32(data, offsets).expect("in order"),
            Shape::Offsets64(offsets) => Messages::offsets64(data, offsets).expect("in order"),
        };
        let mut expected = vec![[0; DIGEST_LEN]; self.count()];
        match self.keys {
            Some((at, len, stride)) => {
                let keys = rows(at, len, stride, self.count());
                sm3::hmac_many(&keys, &messages, &mut expected)
            }
            None => sm3::hash_many_after(&Midstate::after(&self.prefix), &messages, &mut expected),
        }
        .expect("as many keys and digests as messages");
        (0..expected.len()).find(|&i| digests[i] != expected[i])
    }
}

/// Messages that a device of so many multiprocessors takes as they come, without ordering them.
fn few(multiprocessors: u32) -> usize {
    multiprocessors.max(1) as usize * 128
}

/// Messages of a batch at most, for a device of so many multiprocessors.
pub(super) fn most(multiprocessors: u32) -> usize {
    few(multiprocessors) * 5 / 4
}

/// A device's memory with data to take messages from.
pub(super) struct Memory {
    sm3: Sm3,
    stream: Stream,
    workspace: Workspace,
    host: Vec<u8>,
    data: DeviceBuffer,
    offsets: DeviceBuffer,
    out: DeviceBuffer,
}

impl Memory {
    pub(super) fn new(
        gpu: &Gpu,
        data: usize,
        most: usize,
        rng: &mut fastrand::Rng,
    ) -> Result<Self, Error> {
        let stream = Stream::new(gpu)?;
        let mut host = vec![0; data];
        rng.fill(&mut host);
        let mut buffer = DeviceBuffer::new(gpu, data)?;
        buffer.write(0, &host, &stream)?;
        Ok(Memory {
            sm3: Sm3::new(gpu)?,
            workspace: Workspace::new(gpu, most)?,
            host,
            data: buffer,
            offsets: DeviceBuffer::new(gpu, (most + 1) * size_of::<u64>())?,
            out: DeviceBuffer::new(gpu, most * DIGEST_LEN)?,
            stream,
        })
    }

    pub(super) fn data(&self) -> &[u8] {
        &self.host
    }

    /// The device's digests of a batch.
    pub(super) fn run(&mut self, batch: &Batch) -> Result<Vec<[u8; DIGEST_LEN]>, Error> {
        let data = self.data.pointer();
        let rows = |at: usize, len: usize, stride: usize, count: usize| {
            assert!(at + count * stride.max(len) <= self.host.len(), "within the data");
            let layout =
                Layout::Strided { data: data.add(at), len: len as u64, stride: stride as u64 };
            DeviceMessages { count, layout }
        };
        let count = batch.count();
        let keys = batch.keys.map(|(at, len, stride)| rows(at, len, stride, count));
        let messages = match &batch.shape {
            Shape::Rows { at, len, stride, count } => rows(*at, *len, *stride, *count),
            Shape::Offsets32(list) => {
                assert!(list[count] as usize <= self.host.len(), "within the data");
                let bytes: Vec<u8> = list.iter().flat_map(|o| o.to_ne_bytes()).collect();
                self.offsets.write(0, &bytes, &self.stream)?;
                let offsets = self.offsets.pointer();
                DeviceMessages { count, layout: Layout::Offsets32 { data, offsets, base: 0 } }
            }
            Shape::Offsets64(list) => {
                assert!(list[count] as usize <= self.host.len(), "within the data");
                let bytes: Vec<u8> = list.iter().flat_map(|o| o.to_ne_bytes()).collect();
                self.offsets.write(0, &bytes, &self.stream)?;
                let offsets = self.offsets.pointer();
                DeviceMessages { count, layout: Layout::Offsets64 { data, offsets, base: 0 } }
            }
        };
        assert!(count * DIGEST_LEN <= self.out.len(), "room for the digests");
        // What an earlier batch left must not pass for this one's.
        self.out.fill(0xa5, &self.stream)?;
        let workspace = batch.ordered.then_some(&mut self.workspace);
        let (stream, out) = (&self.stream, self.out.pointer());
        let start = Midstate::after(&batch.prefix);
        // SAFETY: messages, keys and offsets lie in buffers of `self`, as asserted, and the
        // digests fit; the stream has passed the work when `read` returns.
        unsafe {
            match keys {
                Some(keys) => self.sm3.hmac_many(stream, &keys, &messages, workspace, out)?,
                None => self.sm3.hash_many(stream, &start, &messages, workspace, out)?,
            }
        }
        let mut digests = vec![[0; DIGEST_LEN]; count];
        self.out.read(0, digests.as_flattened_mut(), &self.stream)?;
        Ok(digests)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unlike_messages_are_more_than_are_taken_as_they_come() {
        let mut rng = fastrand::Rng::with_seed(7);
        for multiprocessors in [1, 132, 304] {
            for _ in 0..40 {
                let data = 4 << 20;
                let batch = Batch::unlike(data, multiprocessors, &mut rng);
                let (few, count) = (few(multiprocessors), batch.count());
                assert!(batch.ordered && few < count && count <= most(multiprocessors));
                let Shape::Offsets64(ends) = &batch.shape else { panic!("no offsets") };
                assert!(ends[count] <= data as u64);
                let (at, len, stride) = batch.keys.unwrap_or_default();
                assert!(at + count * stride.max(len) <= data);
            }
        }
    }
}

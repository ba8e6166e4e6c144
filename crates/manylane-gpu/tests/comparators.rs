//! The comparators on emulated devices, of both vendors: digests against the CPU's, and what they
//! refuse.
#![allow(unsafe_code)]

use manylane::{
    Messages,
    sm3::{self, pad},
};
use manylane_emulator::{Driver, install};
use manylane_gpu::{
    Comparator, Comparators, DeviceBuffer, DeviceId, DeviceMessages, DevicePointer, Error, Gpu,
    Layout, Stream, Vendor,
};
use manylane_vectors::painted;

type Digest = [u8; 32];

/// An emulated device with the comparators.
struct Bench {
    gpu: Gpu,
    comparators: Comparators,
    stream: Stream,
}

impl Bench {
    fn of_each_vendor() -> [Self; 2] {
        [(Driver::Cuda, Vendor::Cuda), (Driver::Hip, Vendor::Hip)].map(|(driver, vendor)| {
            install(driver, "");
            let gpu = Gpu::open(DeviceId { vendor, ordinal: 0 }).unwrap();
            let comparators = Comparators::new(&gpu).unwrap();
            let stream = Stream::new(&gpu).unwrap();
            Bench { gpu, comparators, stream }
        })
    }

    fn upload(&self, bytes: &[u8]) -> DeviceBuffer {
        let mut buffer = DeviceBuffer::new(&self.gpu, bytes.len()).unwrap();
        buffer.write(0, bytes, &self.stream).unwrap();
        buffer
    }

    fn digests(
        &self,
        which: Comparator,
        block: Option<u32>,
        messages: &DeviceMessages,
    ) -> Vec<Digest> {
        let mut out = DeviceBuffer::new(&self.gpu, messages.count * 32).unwrap();
        out.fill(0x5a, &self.stream).unwrap();
        let Bench { comparators, stream, .. } = self;
        // SAFETY: the messages were uploaded, and the caller keeps them until this returns.
        unsafe { comparators.hash_many(which, block, stream, messages, out.pointer()) }.unwrap();
        let mut digests = vec![[0; 32]; messages.count];
        out.read(0, digests.as_flattened_mut(), stream).unwrap();
        digests
    }

    /// Messages `stride` apart, by a comparator that takes them as they lie or interleaved.
    fn rows(
        &self,
        which: Comparator,
        block: Option<u32>,
        rows: &[u8],
        (len, stride, count): (usize, usize, usize),
    ) -> Vec<Digest> {
        let bytes = match which {
            Comparator::Plain => rows.to_vec(),
            _ => interleaved(rows, len, stride, count),
        };
        let buffer = self.upload(&bytes);
        let (len, stride) = (len as u64, stride as u64);
        let layout = Layout::Strided { data: buffer.pointer(), len, stride };
        self.digests(which, block, &DeviceMessages { count, layout })
    }
}

/// Element `e` of 16 bytes of message `i` at `16 * (e * count + i)`.
fn interleaved(rows: &[u8], len: usize, stride: usize, count: usize) -> Vec<u8> {
    let mut bytes = vec![0; len * count];
    for i in 0..count {
        for e in 0..len / 16 {
            let from = i * stride + 16 * e;
            let to = 16 * (e * count + i);
            bytes[to..to + 16].copy_from_slice(&rows[from..from + 16]);
        }
    }
    bytes
}

fn expected(messages: &Messages) -> Vec<Digest> {
    let mut digests = vec![[0; 32]; messages.len()];
    sm3::hash_many(messages, &mut digests).unwrap();
    digests
}

/// All but the one for messages that were padded.
const OF_ONE_LENGTH: [Comparator; 4] = [
    Comparator::Interleaved4,
    Comparator::Interleaved8,
    Comparator::Interleaved16,
    Comparator::Plain,
];

#[test]
fn messages_of_one_length_are_hashed_as_on_the_cpu() {
    for bench in Bench::of_each_vendor() {
        for (len, count, block) in [
            (64, 1, None),
            (64, 2500, None),
            (0, 3, None),
            (128, 257, Some(64)),
            (192, 1024, Some(1024)),
            (4096, 100, Some(768)),
            (8192, 33, Some(512)),
        ] {
            for more in [0, 4, 60] {
                let stride = len + more;
                let rows = painted(stride * count, 3);
                let want = expected(&Messages::strided(&rows, len, stride, count).unwrap());
                for which in OF_ONE_LENGTH {
                    let got = bench.rows(which, block, &rows, (len, stride, count));
                    assert_eq!(got, want, "{which:?}: {count} × {len} bytes, {stride} apart");
                }
            }
        }
    }
}

#[test]
fn padded_messages_are_hashed_as_on_the_cpu() {
    let mut random = fastrand::Rng::with_seed(0x5113);
    for bench in Bench::of_each_vendor() {
        for (count, longest, block) in
            [(1, 0, None), (300, 130, None), (1025, 600, Some(1024)), (64, 9000, Some(96))]
        {
            let lengths: Vec<usize> = (0..count).map(|_| random.usize(0..=longest)).collect();
            // After padded messages that are not there.
            let base = 64 * 7;
            let (mut text, mut ends) = (Vec::new(), vec![0]);
            let (mut padded, mut padded_ends) = (Vec::new(), vec![base]);
            for (i, len) in lengths.into_iter().enumerate() {
                let message = painted(len, i);
                let (whole, rest) = message.split_at(len / 64 * 64);
                let mut last = [0; 128];
                let blocks = pad(rest, len as u64, &mut last);
                padded.extend_from_slice(whole);
                padded.extend_from_slice(&last[..64 * blocks]);
                padded_ends.push(base + padded.len() as u64);
                text.extend_from_slice(&message);
                ends.push(text.len() as u64);
            }
            let want = expected(&Messages::offsets64(&text, &ends).unwrap());
            let offsets: Vec<u8> = padded_ends.iter().flat_map(|at| at.to_ne_bytes()).collect();
            let (data, offsets) = (bench.upload(&padded), bench.upload(&offsets));
            let (data, offsets) = (data.pointer(), offsets.pointer());
            let layout = Layout::Offsets64 { data, offsets, base };
            let got = bench.digests(Comparator::Padded, block, &DeviceMessages { count, layout });
            assert_eq!(got, want, "{count} messages of up to {longest} bytes");
        }
    }
}

#[test]
fn layouts_that_were_not_published_are_refused() {
    for bench in Bench::of_each_vendor() {
        let Bench { gpu, comparators, stream } = &bench;
        let buffer = DeviceBuffer::new(gpu, 4096).unwrap();
        let at = buffer.pointer();
        let run = |which, layout, out| {
            let messages = DeviceMessages { count: 2, layout };
            // SAFETY: what is not refused finds two messages and two digests in the buffer.
            unsafe { comparators.hash_many(which, None, stream, &messages, out) }
        };
        let strided = |data, len, stride| Layout::Strided { data, len, stride };
        let offsets64 = |offsets| Layout::Offsets64 { data: at, offsets, base: 0 };
        let out = at.add(2048);
        for which in Comparator::ALL {
            let by_offsets = which == Comparator::Padded;
            let layout = if by_offsets { offsets64(at.add(1024)) } else { strided(at, 64, 64) };
            let wrong: &[(Layout, DevicePointer)] = match which {
                Comparator::Padded => &[
                    (offsets64(at.add(1028)), out),
                    (Layout::Offsets32 { data: at, offsets: at, base: 0 }, out),
                    (strided(at, 64, 64), out),
                ],
                Comparator::Plain => &[
                    (strided(at.add(2), 64, 64), out),
                    (strided(at, 64, 66), out),
                    (strided(at, 60, 64), out),
                    (offsets64(at), out),
                ],
                _ => &[
                    (strided(at.add(8), 64, 64), out),
                    (strided(at, 80, 80), out),
                    (offsets64(at), out),
                ],
            };
            for &(layout, out) in wrong.iter().chain(&[(layout, out.add(8))]) {
                let refused = run(which, layout, out);
                assert!(matches!(refused, Err(Error::Input(_))), "{which:?}: {layout:?}");
            }
            let nothing = DeviceMessages { count: 0, layout };
            // SAFETY: there is no message.
            unsafe { comparators.hash_many(which, None, stream, &nothing, out) }.unwrap();
        }
    }
}

#[test]
fn each_has_a_kernel_and_a_name_of_its_own() {
    for bench in Bench::of_each_vendor() {
        let kernels = bench.comparators.kernels().unwrap();
        assert_eq!(kernels.len(), Comparator::ALL.len());
        assert!(kernels.iter().all(|kernel| kernel.block <= kernel.max_block));
        assert!(kernels.iter().all(|kernel| kernel.max_block == 1024));
        let mut names: Vec<&str> = kernels.iter().map(|kernel| kernel.name).collect();
        names.extend(Comparator::ALL.map(Comparator::name));
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), 2 * Comparator::ALL.len());
    }
}

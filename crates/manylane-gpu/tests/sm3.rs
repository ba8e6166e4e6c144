//! SM3 in device memory, on emulated devices: vectors, all layouts, random shapes, against the CPU.
#![allow(unsafe_code)]

use manylane::{
    Messages,
    sm3::{self, Midstate},
};
use manylane_emulator::{Driver, install};
use manylane_gpu::{
    DeviceBuffer, DeviceId, DeviceMessages, DevicePointer, Gpu, Layout, Sm3, Stream, Vendor,
    Workspace,
};
use manylane_vectors::painted;

/// Readable behind what is uploaded, as `Sm3::hash_many` asks.
const READABLE: usize = 16;

type Digest = [u8; 32];

/// An emulated device with SM3.
struct Bench {
    gpu: Gpu,
    sm3: Sm3,
    stream: Stream,
}

impl Bench {
    fn new() -> Self {
        // `sm3_hip.rs` is this file under another name.
        let (driver, vendor) = match env!("CARGO_CRATE_NAME") {
            "sm3_hip" => (Driver::Hip, Vendor::Hip),
            _ => (Driver::Cuda, Vendor::Cuda),
        };
        install(driver, "");
        let gpu = Gpu::open(DeviceId { vendor, ordinal: 0 }).unwrap();
        let sm3 = Sm3::new(&gpu).unwrap();
        let stream = Stream::new(&gpu).unwrap();
        Bench { gpu, sm3, stream }
    }

    /// A copy on the device, `skip` bytes after a 256-byte boundary.
    fn upload(&self, bytes: &[u8], skip: usize) -> (DeviceBuffer, DevicePointer) {
        let mut buffer = DeviceBuffer::new(&self.gpu, skip + bytes.len() + READABLE).unwrap();
        buffer.write(skip, bytes, &self.stream).unwrap();
        let pointer = buffer.pointer().add(skip);
        (buffer, pointer)
    }

    fn digests(&self, count: usize, run: impl FnOnce(DevicePointer)) -> Vec<Digest> {
        let mut out = DeviceBuffer::new(&self.gpu, count * 32).unwrap();
        out.fill(0x5a, &self.stream).unwrap();
        run(out.pointer());
        let mut digests = vec![[0; 32]; count];
        out.read(0, digests.as_flattened_mut(), &self.stream).unwrap();
        digests
    }

    fn hash(
        &self,
        start: &Midstate,
        messages: &DeviceMessages,
        workspace: Option<&mut Workspace>,
    ) -> Vec<Digest> {
        self.digests(messages.count, |out| {
            // SAFETY: the messages were uploaded, and the caller keeps them until this returns.
            unsafe { self.sm3.hash_many(&self.stream, start, messages, workspace, out) }.unwrap();
        })
    }

    /// Offsets of 32 or 64 bits on the device.
    fn offsets(&self, offsets: &[u64], wide: bool) -> (DeviceBuffer, DevicePointer) {
        let bytes: Vec<u8> = match wide {
            true => offsets.iter().flat_map(|at| at.to_ne_bytes()).collect(),
            false => offsets.iter().flat_map(|&at| (at as u32).to_ne_bytes()).collect(),
        };
        self.upload(&bytes, 0)
    }
}

fn layout(wide: bool, data: DevicePointer, offsets: DevicePointer, base: u64) -> Layout {
    match wide {
        true => Layout::Offsets64 { data, offsets, base },
        false => Layout::Offsets32 { data, offsets, base },
    }
}

fn expected(start: &Midstate, messages: &Messages) -> Vec<Digest> {
    let mut digests = vec![[0; 32]; messages.len()];
    sm3::hash_many_after(start, messages, &mut digests).unwrap();
    digests
}

#[test]
fn vectors_in_every_layout() {
    let bench = Bench::new();
    let vectors = manylane_vectors::sm3();
    let examples = vectors.examples.into_iter().map(|e| (e.message, e.digest));
    let painted = vectors.painted.iter().map(|p| (painted(p.length, 0), p.digest));
    let start = Midstate::default();
    let (mut text, mut ends, mut digests) = (Vec::new(), vec![0], Vec::new());
    for (message, digest) in examples.chain(painted) {
        text.extend_from_slice(&message);
        ends.push(text.len() as u64);
        digests.push(digest);
        for skip in [0, 1, 7] {
            let (_kept, data) = bench.upload(&message, skip);
            let (len, stride) = (message.len() as u64, message.len() as u64);
            let one = DeviceMessages { count: 1, layout: Layout::Strided { data, len, stride } };
            assert_eq!(bench.hash(&start, &one, None), [digest], "{len} bytes, {skip} skipped");
        }
    }
    let (_text, data) = bench.upload(&text, 3);
    let mut workspace = Workspace::new(&bench.gpu, digests.len()).unwrap();
    for wide in [false, true] {
        let (_offsets, offsets) = bench.offsets(&ends, wide);
        let layout = layout(wide, data, offsets, 0);
        let messages = DeviceMessages { count: digests.len(), layout };
        assert_eq!(bench.hash(&start, &messages, None), digests);
        assert_eq!(bench.hash(&start, &messages, Some(&mut workspace)), digests);
    }
}

#[test]
fn hmac_vectors() {
    let bench = Bench::new();
    let vectors = manylane_vectors::sm3().hmac;
    let wycheproof = manylane_vectors::hmac_sm3_wycheproof();
    let (mut keys, mut text, mut key_ends, mut ends) = (vec![], vec![], vec![0], vec![0]);
    let mut tags: Vec<Vec<u8>> = Vec::new();
    let mut add = |key: &[u8], message: &[u8], tag: Vec<u8>| {
        keys.extend_from_slice(key);
        text.extend_from_slice(message);
        key_ends.push(keys.len() as u64);
        ends.push(text.len() as u64);
        tags.push(tag);
    };
    for v in &vectors {
        add(&v.key(), &v.message(), v.tag.to_vec());
    }
    for test in wycheproof.iter().flat_map(|group| &group.tests) {
        if test.result == manylane_vectors::Verdict::Valid {
            add(&test.key, &test.msg, test.tag.clone());
        }
    }
    let ((_k, key_data), (_t, data)) = (bench.upload(&keys, 5), bench.upload(&text, 2));
    let (_ko, key_offsets) = bench.offsets(&key_ends, false);
    let (_o, offsets) = bench.offsets(&ends, true);
    let count = tags.len();
    let keys = DeviceMessages { count, layout: layout(false, key_data, key_offsets, 0) };
    let messages = DeviceMessages { count, layout: layout(true, data, offsets, 0) };
    let mut workspace = Workspace::new(&bench.gpu, count / 3).unwrap();
    for workspace in [None, Some(&mut workspace)] {
        let got = bench.digests(count, |out| {
            let Bench { sm3, stream, .. } = &bench;
            // SAFETY: all was uploaded and is kept.
            unsafe { sm3.hmac_many(stream, &keys, &messages, workspace, out) }.unwrap();
        });
        for (got, tag) in got.iter().zip(&tags) {
            assert_eq!(got[..tag.len()], tag[..]);
        }
    }
}

#[test]
fn rows_of_any_length_stride_and_alignment() {
    let bench = Bench::new();
    let text = painted(40 * 400, 0);
    for prefix_len in [0, 64, 64 + 17] {
        let start = Midstate::after(&painted(prefix_len, 9));
        for len in (0..=72).chain([119, 120, 128, 192, 256, 320]) {
            for (more, skip) in [(0, 0), (0, 3), (16 - len % 16, 0), (1, 16)] {
                let (stride, count) = (len + more, 37);
                let (_kept, data) = bench.upload(&text[..stride * count], skip);
                let layout = Layout::Strided { data, len: len as u64, stride: stride as u64 };
                let got = bench.hash(&start, &DeviceMessages { count, layout }, None);
                let rows = Messages::strided(&text, len, stride, count).unwrap();
                assert_eq!(got, expected(&start, &rows), "{len} + {more} bytes, {skip} skipped");
            }
        }
    }
}

#[test]
fn random_messages_are_hashed_as_on_the_cpu() {
    let bench = Bench::new();
    let mut random = fastrand::Rng::with_seed(0x5113);
    for round in 0..60 {
        let count = random.usize(1..1500);
        let longest = [3, 70, 300, 3000][round % 4];
        let from = random.usize(0..100);
        let mut ends = vec![from as u64];
        for _ in 0..count {
            ends.push(ends[ends.len() - 1] + random.u64(0..=longest));
        }
        let text: Vec<u8> =
            std::iter::repeat_with(|| random.u8(..)).take(ends[count] as usize).collect();
        let start = Midstate::after(&painted(random.usize(0..200), round));
        let want = expected(&start, &Messages::offsets64(&text, &ends).unwrap());
        let (_text, data) = bench.upload(&text[from..], random.usize(0..16));
        // Larger than the batch, or so small that it takes several parts.
        let room = if round % 3 == 0 { 200 } else { 2000 };
        let mut workspace = Workspace::new(&bench.gpu, room).unwrap();
        for wide in [false, true] {
            let (_offsets, offsets) = bench.offsets(&ends, wide);
            let messages =
                DeviceMessages { count, layout: layout(wide, data, offsets, from as u64) };
            assert_eq!(bench.hash(&start, &messages, None), want, "round {round}");
            assert_eq!(bench.hash(&start, &messages, Some(&mut workspace)), want, "{round}");
        }
    }
}

#[test]
fn what_cannot_be_right_is_refused() {
    let bench = Bench::new();
    let Bench { gpu, sm3, stream } = &bench;
    let buffer = DeviceBuffer::new(gpu, 4096).unwrap();
    let at = buffer.pointer();
    let rows = DeviceMessages { count: 2, layout: Layout::Strided { data: at, len: 1, stride: 1 } };
    let odd = DeviceMessages {
        count: 1,
        layout: Layout::Offsets64 { data: at, offsets: at.add(4), base: 0 },
    };
    let start = Midstate::default();
    // SAFETY: refused before anything is enqueued.
    unsafe {
        assert!(sm3.hash_many(stream, &start, &rows, None, at.add(8)).is_err());
        assert!(sm3.hash_many(stream, &start, &odd, None, at).is_err());
        assert!(sm3.hmac_many(stream, &odd, &rows, None, at).is_err());
        let none = DeviceMessages { count: 0, ..rows };
        assert!(sm3.hash_many(stream, &start, &none, None, at).is_ok());
    }
}

#[test]
fn kernels_are_described() {
    let kernels = Bench::new().sm3.kernels().unwrap();
    assert_eq!(kernels.len(), 5);
    for kernel in kernels {
        assert!(kernel.registers > 0 && kernel.block <= kernel.max_block, "{kernel:?}");
    }
}

//! SHA-3 in device memory, on emulated devices: all functions, all layouts, random shapes, against
//! the CPU.
#![allow(unsafe_code)]

use manylane::{
    Messages,
    sha3::{self, Function, Midstate},
};
use manylane_emulator::{Driver, install};
use manylane_gpu::{
    DeviceBuffer, DeviceId, DeviceMessages, DevicePointer, Error, Gpu, Layout, Sha3, Stream,
    Vendor, Workspace,
};
use manylane_vectors::{
    painted,
    sha3::{Function as Name, Hash},
};

/// Readable behind what is uploaded, as `Sha3::hash_many` asks.
const READABLE: usize = 16;

/// Every length of block, domain and number of rounds.
const FUNCTIONS: [Function; 10] = [
    Function::SHA3_224,
    Function::SHA3_256,
    Function::SHA3_384,
    Function::SHA3_512,
    Function::SHAKE128,
    Function::SHAKE256,
    Function::KECCAK_256,
    Function::CSHAKE256,
    Function::turboshake128(0x1f),
    Function::turboshake256(0x01),
];

/// An emulated device with SHA-3.
struct Bench {
    gpu: Gpu,
    sha3: Sha3,
    stream: Stream,
}

/// The second of the emulated devices is for faults.
const FAULTY: u32 = 1;

fn device(ordinal: u32) -> (Driver, Gpu) {
    // `sha3_hip.rs` is this file under another name.
    let (driver, vendor) = match env!("CARGO_CRATE_NAME") {
        "sha3_hip" => (Driver::Hip, Vendor::Hip),
        _ => (Driver::Cuda, Vendor::Cuda),
    };
    install(driver, "devices=2");
    (driver, Gpu::open(DeviceId { vendor, ordinal }).unwrap())
}

impl Bench {
    fn new() -> Self {
        let (_, gpu) = device(0);
        let sha3 = Sha3::new(&gpu).unwrap();
        let stream = Stream::new(&gpu).unwrap();
        Bench { gpu, sha3, stream }
    }

    /// A copy on the device, `skip` bytes after a 256-byte boundary.
    fn upload(&self, bytes: &[u8], skip: usize) -> (DeviceBuffer, DevicePointer) {
        let mut buffer = DeviceBuffer::new(&self.gpu, skip + bytes.len() + READABLE).unwrap();
        buffer.write(skip, bytes, &self.stream).unwrap();
        let pointer = buffer.pointer().add(skip);
        (buffer, pointer)
    }

    /// Outputs, with a byte behind them that is not the kernels'.
    fn hash(
        &self,
        start: &Midstate,
        messages: &DeviceMessages,
        workspace: Option<&mut Workspace>,
    ) -> Vec<u8> {
        let len = messages.count * start.function().output_len();
        let mut out = DeviceBuffer::new(&self.gpu, len + 1).unwrap();
        out.fill(0x5a, &self.stream).unwrap();
        let Bench { sha3, stream, .. } = self;
        // SAFETY: the messages were uploaded, and the caller keeps them until this returns.
        unsafe { sha3.hash_many(stream, start, messages, workspace, out.pointer()) }.unwrap();
        let mut got = vec![0; len + 1];
        out.read(0, &mut got, stream).unwrap();
        assert_eq!(got.pop(), Some(0x5a));
        got
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

fn expected(start: &Midstate, messages: &Messages) -> Vec<u8> {
    let mut out = vec![0; messages.len() * start.function().output_len()];
    sha3::hash_many_after(start, messages, &[], &mut out).unwrap();
    out
}

/// The function of a vector, with as much output as it has.
fn function(v: &Hash) -> Function {
    let domain = || v.domain.unwrap();
    let function = match v.function {
        Name::Sha3_224 => Function::SHA3_224,
        Name::Sha3_256 => Function::SHA3_256,
        Name::Sha3_384 => Function::SHA3_384,
        Name::Sha3_512 => Function::SHA3_512,
        Name::Keccak224 => Function::KECCAK_224,
        Name::Keccak256 => Function::KECCAK_256,
        Name::Keccak384 => Function::KECCAK_384,
        Name::Keccak512 => Function::KECCAK_512,
        Name::Shake128 => Function::SHAKE128,
        Name::Shake256 => Function::SHAKE256,
        Name::TurboShake128 => Function::turboshake128(domain()),
        Name::TurboShake256 => Function::turboshake256(domain()),
        other => panic!("{other:?} is no function of a message alone"),
    };
    let len = v.skip + v.output.len();
    if function.is_xof() { function.with_output_len(len) } else { function }
}

#[test]
fn vectors_at_any_alignment() {
    let bench = Bench::new();
    let vectors = manylane_vectors::sha3().hashes;
    let short = vectors.iter().filter(|v| v.message.len() <= 1 << 16);
    let mut count = 0;
    for v in short {
        let (message, start) = (v.message.get(), Midstate::new(function(v)));
        for skip in [0, 5] {
            let (_kept, data) = bench.upload(&message, skip);
            let (len, stride) = (message.len() as u64, message.len() as u64);
            let one = DeviceMessages { count: 1, layout: Layout::Strided { data, len, stride } };
            let got = bench.hash(&start, &one, None);
            assert_eq!(got[v.skip..], v.output, "{}, {len} bytes, {skip} skipped", v.source);
        }
        count += 1;
    }
    assert!(count > 20, "{count} vectors");
}

#[test]
fn rows_of_any_length_stride_and_alignment() {
    let bench = Bench::new();
    let text = painted(20 * 400, 0);
    for function in FUNCTIONS {
        let rate = function.rate();
        for prefix_len in [0, rate, 17] {
            let start = Midstate::after(function, &painted(prefix_len, 9));
            for len in [0, 1, 4, 7, 8, 31, 32, 33, rate - 9, rate - 4, rate - 1, rate]
                .into_iter()
                .chain([rate + 1, 2 * rate - 8, 2 * rate + 8])
            {
                for (more, skip) in [(0, 0), (0, 3), (16 - len % 16, 0), (8 - len % 8, 8), (1, 6)] {
                    let (stride, count) = (len + more, 19);
                    let (_kept, data) = bench.upload(&text[..stride * count], skip);
                    let layout = Layout::Strided { data, len: len as u64, stride: stride as u64 };
                    let got = bench.hash(&start, &DeviceMessages { count, layout }, None);
                    let rows = Messages::strided(&text, len, stride, count).unwrap();
                    let at = (function, prefix_len, len, more, skip);
                    assert_eq!(got, expected(&start, &rows), "{at:?}");
                }
            }
        }
    }
}

#[test]
fn outputs_of_any_length() {
    let bench = Bench::new();
    let text = painted(5 * 208, 0);
    for function in [Function::SHAKE128, Function::SHAKE256, Function::turboshake256(0x3c)] {
        let rate = function.rate();
        for output_len in [0, 1, 3, 4, 16, 31, 33, 48, 64, rate - 1, rate, rate + 4, 3 * rate + 2] {
            let start = Midstate::new(function.with_output_len(output_len));
            for (len, skip) in [(32, 0), (rate - 1, 1), (rate + 40, 0), (rate + 39, 5)] {
                let (_kept, data) = bench.upload(&text, skip);
                let layout = Layout::Strided { data, len: len as u64, stride: 208 };
                let got = bench.hash(&start, &DeviceMessages { count: 5, layout }, None);
                let rows = Messages::strided(&text, len, 208, 5).unwrap();
                assert_eq!(got, expected(&start, &rows), "{output_len} bytes for {len}");
            }
        }
    }
}

#[test]
fn random_messages_are_hashed_as_on_the_cpu() {
    let bench = Bench::new();
    let mut random = fastrand::Rng::with_seed(0x5a3);
    for round in 0..30 {
        let function = FUNCTIONS[round % FUNCTIONS.len()];
        let count = random.usize(1..900);
        let longest = [3, 150, 300, 2000][round % 4];
        let from = random.usize(0..100);
        let mut ends = vec![from as u64];
        for _ in 0..count {
            ends.push(ends[ends.len() - 1] + random.u64(0..=longest));
        }
        let text: Vec<u8> =
            std::iter::repeat_with(|| random.u8(..)).take(ends[count] as usize).collect();
        let start = Midstate::after(function, &painted(random.usize(0..400), round));
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
fn wrong_kernels_are_found_before_their_first_use() {
    let (driver, gpu) = device(FAULTY);
    for launch in [1, 8, 40] {
        install(driver, &format!("flip_launch={launch}@{FAULTY}"));
        let error = Sha3::new(&gpu).unwrap_err();
        assert!(matches!(error, Error::WrongResult { .. }), "{launch}: {error}");
    }
    install(driver, &format!("flip_launch=0@{FAULTY}"));
    Sha3::new(&gpu).unwrap();
}

#[test]
fn what_cannot_be_right_is_refused() {
    let bench = Bench::new();
    let Bench { gpu, sha3, stream } = &bench;
    let buffer = DeviceBuffer::new(gpu, 4096).unwrap();
    let at = buffer.pointer();
    let rows = DeviceMessages { count: 2, layout: Layout::Strided { data: at, len: 1, stride: 1 } };
    let odd = DeviceMessages {
        count: 1,
        layout: Layout::Offsets64 { data: at, offsets: at.add(4), base: 0 },
    };
    let start = Midstate::new(Function::SHA3_256);
    let long = Midstate::new(Function::SHAKE256).with_output_len(1 << 32);
    // SAFETY: refused before anything is enqueued.
    unsafe {
        assert!(sha3.hash_many(stream, &start, &rows, None, at.add(8)).is_err());
        assert!(sha3.hash_many(stream, &start, &odd, None, at).is_err());
        assert!(sha3.hash_many(stream, &long, &rows, None, at).is_err());
        let none = DeviceMessages { count: 0, ..rows };
        assert!(sha3.hash_many(stream, &start, &none, None, at).is_ok());
    }
}

#[test]
fn kernels_are_described() {
    let kernels = Bench::new().sha3.kernels().unwrap();
    assert_eq!(kernels.len(), 16);
    for kernel in kernels {
        assert!(kernel.registers > 0 && kernel.block <= kernel.max_block, "{kernel:?}");
    }
}

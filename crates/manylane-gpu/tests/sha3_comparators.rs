//! SHA3-256's comparators on emulated devices, of both vendors: digests against the CPU's, and what
//! they refuse.
#![allow(unsafe_code)]

use manylane::{
    Messages,
    sha3::{self, Function},
};
use manylane_emulator::{Driver, install};
use manylane_gpu::{
    DeviceBuffer, DeviceId, DeviceMessages, DevicePointer, Error, Gpu, Layout, Sha3Comparator,
    Sha3Comparators, Stream, Vendor,
};
use manylane_vectors::painted;

/// An emulated device with the comparators.
struct Bench {
    gpu: Gpu,
    comparators: Sha3Comparators,
    stream: Stream,
}

impl Bench {
    fn of_each_vendor() -> [Self; 2] {
        [(Driver::Cuda, Vendor::Cuda), (Driver::Hip, Vendor::Hip)].map(|(driver, vendor)| {
            install(driver, "");
            let gpu = Gpu::open(DeviceId { vendor, ordinal: 0 }).unwrap();
            let comparators = Sha3Comparators::new(&gpu).unwrap();
            let stream = Stream::new(&gpu).unwrap();
            Bench { gpu, comparators, stream }
        })
    }
}

#[test]
fn messages_are_hashed_as_on_the_cpu() {
    for bench in Bench::of_each_vendor() {
        let Bench { gpu, comparators, stream } = &bench;
        for (len, more, count) in
            [(0, 0, 1), (8, 8, 70), (128, 0, 33), (136, 16, 40), (272, 8, 5), (10_000, 0, 1)]
        {
            let stride = len + more;
            let rows = painted(stride * count, 3);
            let mut want = vec![0; 32 * count];
            let messages = Messages::strided(&rows, len, stride, count).unwrap();
            sha3::hash_many(Function::SHA3_256, &messages, &mut want).unwrap();
            let mut buffer = DeviceBuffer::new(gpu, rows.len() + 16).unwrap();
            buffer.write(0, &rows, stream).unwrap();
            let mut out = DeviceBuffer::new(gpu, 32 * count).unwrap();
            for which in Sha3Comparator::ALL {
                out.fill(0x5a, stream).unwrap();
                let (data, len, stride_) = (buffer.pointer(), len as u64, stride as u64);
                let layout = Layout::Strided { data, len, stride: stride_ };
                let messages = DeviceMessages { count, layout };
                // SAFETY: all was uploaded and is kept.
                unsafe { comparators.hash_many(which, stream, &messages, out.pointer()) }.unwrap();
                let mut got = vec![0; 32 * count];
                out.read(0, &mut got, stream).unwrap();
                assert_eq!(got, want, "{which:?}: {count} × {len} bytes, {stride} apart");
            }
        }
    }
}

#[test]
fn other_layouts_are_refused() {
    for bench in Bench::of_each_vendor() {
        let Bench { gpu, comparators, stream } = &bench;
        let buffer = DeviceBuffer::new(gpu, 4096).unwrap();
        let at = buffer.pointer();
        let run = |which, layout, count, out: DevicePointer| {
            let messages = DeviceMessages { count, layout };
            // SAFETY: what is not refused has no message.
            unsafe { comparators.hash_many(which, stream, &messages, out) }
        };
        let strided = |data, len, stride| Layout::Strided { data, len, stride };
        for which in Sha3Comparator::ALL {
            for (layout, count, out) in [
                (strided(at.add(4), 8, 8), 2, at),
                (strided(at, 12, 16), 2, at),
                (strided(at, 8, 12), 2, at),
                (strided(at, 8, 8), 2, at.add(8)),
                (strided(at, 8, 8), 1 << 27, at),
                (Layout::Offsets64 { data: at, offsets: at, base: 0 }, 1, at),
            ] {
                let refused = run(which, layout, count, out);
                assert!(matches!(refused, Err(Error::Input(_))), "{which:?}: {layout:?}");
            }
            run(which, strided(at, 8, 8), 0, at).unwrap();
        }
    }
}

#[test]
fn each_has_a_kernel_and_a_name_of_its_own() {
    for bench in Bench::of_each_vendor() {
        let kernels = bench.comparators.kernels().unwrap();
        assert_eq!(kernels.len(), Sha3Comparator::ALL.len());
        assert!(kernels.iter().all(|kernel| kernel.block <= kernel.max_block));
        let mut names: Vec<&str> = kernels.iter().map(|kernel| kernel.name).collect();
        names.extend(Sha3Comparator::ALL.map(Sha3Comparator::name));
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), 2 * Sha3Comparator::ALL.len());
    }
}

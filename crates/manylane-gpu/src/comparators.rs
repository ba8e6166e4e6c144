//! SM3 on GPUs as others have published it, for `manylane bench` to measure beside [`Sm3`].
//!
//! Not for use: nothing else in manylane calls them. They take only the shapes that were published,
//! are not checked before their first use, and are slower than [`Sm3`], which needs no layout of
//! its own.
//!
//! [`Sm3`]: crate::Sm3
#![allow(unsafe_code)]

use std::{ffi::c_void, fmt, ptr};

use crate::{
    DeviceMessages, DevicePointer, Error, Gpu, KernelInfo, Layout, Stream, compile,
    runtime::{Kernel, Module},
};

/// A published way to hash many messages on a GPU: one thread a message, additions as the compiler
/// makes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Comparator {
    /// J.-K. Dong et al., “HI-SM3: High-Performance Implementation of SM3 Hash Function on
    /// Heterogeneous GPUs”, Journal of Computer Science and Technology, 2025: messages of one
    /// length cut into elements of 16 bytes, element `e` of message `i` at `data + 16 * (e * count +
    /// i)`; words expanded on the way. With their `INT` loads, of 4 bytes.
    ///
    /// On AMD's GPUs the compilers join the loads of an element, so that all three sizes are one.
    Interleaved4,
    /// The same with their `INT2` loads, of 8 bytes.
    Interleaved8,
    /// The same with their `INT4` loads, of 16 bytes, which they found the fastest.
    Interleaved16,
    /// S. Sun, R. Zhang and H. Ma, “Hashing multiple messages with SM3 on GPU platforms”, Science
    /// China Information Sciences 64 (2021) 199103: messages of arbitrary lengths, which threads of
    /// the CPU have padded; the device only compresses.
    Padded,
    /// What both papers compare with: `W[68]` and `W′[64]` of a block first, then its rounds, as
    /// GB/T 32905-2016 writes them, from messages in natural layout.
    Plain,
}

impl Comparator {
    /// All of them.
    pub const ALL: [Comparator; 5] = [
        Comparator::Interleaved4,
        Comparator::Interleaved8,
        Comparator::Interleaved16,
        Comparator::Padded,
        Comparator::Plain,
    ];

    /// What it is called in tables.
    pub fn name(self) -> &'static str {
        match self {
            Comparator::Interleaved4 => "HI-SM3, 4-byte loads",
            Comparator::Interleaved8 => "HI-SM3, 8-byte loads",
            Comparator::Interleaved16 => "HI-SM3, 16-byte loads",
            Comparator::Padded => "padded on the CPU (Sun et al.)",
            Comparator::Plain => "plain, W[68] and W'[64] precomputed",
        }
    }

    fn kernel(self) -> &'static str {
        match self {
            Comparator::Interleaved4 => "comparator_interleaved_4",
            Comparator::Interleaved8 => "comparator_interleaved_8",
            Comparator::Interleaved16 => "comparator_interleaved_16",
            Comparator::Padded => "comparator_padded",
            Comparator::Plain => "comparator_plain",
        }
    }
}

/// The kernels for CUDA: the same on all cards, as they take nothing from the tuning.
pub(crate) const PTX: &[u8] = include_bytes!("../ptx/comparators.ptx.deflate");

/// Threads of a block where the caller does not say: the fewest that HI-SM3 measures.
const BLOCK: u32 = 256;

/// The comparators on one device.
pub struct Comparators {
    gpu: Gpu,
    /// In the order of [`Comparator::ALL`].
    kernels: [Kernel; Comparator::ALL.len()],
    /// What the kernels are part of.
    _module: Module,
}

impl Comparators {
    /// Compiles and loads them. They are not checked: whoever measures them compares digests.
    ///
    /// # Errors
    /// [`Error::Compile`], [`Error::Forked`], or what the driver says.
    pub fn new(gpu: &Gpu) -> Result<Self, Error> {
        let module = Module::new(gpu, &compile::comparators_image(gpu)?)?;
        let [a, b, c, d, e] = Comparator::ALL.map(|which| module.kernel(which.kernel()));
        Ok(Comparators { gpu: gpu.clone(), kernels: [a?, b?, c?, d?, e?], _module: module })
    }

    /// The kernels, as the driver compiled them, in the order of [`Comparator::ALL`].
    ///
    /// # Errors
    /// What the driver says.
    pub fn kernels(&self) -> Result<Vec<KernelInfo>, Error> {
        self.kernels.iter().map(|kernel| KernelInfo::of(kernel, &self.gpu, BLOCK)).collect()
    }

    /// Enqueues the digest of each message: digest `i` goes to `out + 32 * i`. `out` is 16-byte
    /// aligned. Blocks have `block` threads, up to 1024, or 256.
    ///
    /// Layouts: [`Strided`](Layout::Strided) for all but [`Padded`](Comparator::Padded), with
    /// messages of whole blocks of 64 bytes. The interleaved ones have no use for its `stride`;
    /// their `data` is 16-byte aligned, [`Plain`](Comparator::Plain)'s data and stride are 4-byte
    /// aligned. `Padded` takes [`Offsets64`](Layout::Offsets64) of messages that have been padded.
    ///
    /// # Errors
    /// [`Error::Input`] if the layout is another, the stream is another device's, or there are more
    /// than 2³¹ messages; what the driver says. Errors of the work itself are reported by the
    /// stream.
    ///
    /// # Safety
    /// All addresses are of memory that the device can access: the messages, the offsets, which do
    /// not decrease, and `out` for all digests. They stay so, and nobody writes to the messages or
    /// reads the digests, until the stream has passed this work. `out` overlaps none of the rest.
    /// Padded messages begin and end at multiples of 64 bytes from a 16-byte boundary on.
    pub unsafe fn hash_many(
        &self,
        which: Comparator,
        block: Option<u32>,
        stream: &Stream,
        messages: &DeviceMessages,
        out: DevicePointer,
    ) -> Result<(), Error> {
        let (shape, count) = self.check(which, stream, messages, out)?;
        let at = Comparator::ALL.iter().position(|one| *one == which).expect("ALL has each");
        let (kernel, block) = (&self.kernels[at], block.unwrap_or(BLOCK));
        // SAFETY: the arguments are those of `kernels/comparators.cu`, the addresses as the caller
        // promises.
        let launch = |arguments: &mut [*mut c_void]| unsafe {
            kernel.launch(stream, count, block, arguments)
        };
        let (count, out) = (argument(&count), argument(&out));
        match shape {
            Shape::Interleaved { data, len } => {
                launch(&mut [argument(&data), argument(&len), count, out])
            }
            Shape::Padded { data, offsets, base } => {
                launch(&mut [argument(&data), argument(&offsets), argument(&base), count, out])
            }
            Shape::Plain { data, stride, len } => {
                launch(&mut [argument(&data), argument(&stride), argument(&len), count, out])
            }
        }
    }

    fn check(
        &self,
        which: Comparator,
        stream: &Stream,
        messages: &DeviceMessages,
        out: DevicePointer,
    ) -> Result<(Shape, u32), Error> {
        let refused = |why| Error::Input(manylane::Error::Shape(why));
        if stream.gpu() != &self.gpu {
            return Err(refused("a stream of another device"));
        }
        if !out.0.is_multiple_of(16) {
            return Err(refused("the output is not 16-byte aligned"));
        }
        let count = u32::try_from(messages.count).ok().filter(|count| *count <= MAX_COUNT);
        let count = count.ok_or_else(|| refused("more messages than a comparator takes"))?;
        let shape = Shape::of(which, messages.layout);
        Ok((shape.ok_or_else(|| refused("not a layout that this comparator takes"))?, count))
    }
}

/// What a kernel is given, beside the number of messages and the output.
enum Shape {
    Interleaved { data: DevicePointer, len: u64 },
    Padded { data: DevicePointer, offsets: DevicePointer, base: u64 },
    Plain { data: DevicePointer, stride: u64, len: u64 },
}

impl Shape {
    /// `None` if the comparator does not take that.
    fn of(which: Comparator, layout: Layout) -> Option<Self> {
        let (shape, taken) = match (which, layout) {
            (Comparator::Padded, Layout::Offsets64 { data, offsets, base }) => {
                (Shape::Padded { data, offsets, base }, offsets.0.is_multiple_of(8))
            }
            (Comparator::Padded, _) | (_, Layout::Offsets32 { .. } | Layout::Offsets64 { .. }) => {
                return None;
            }
            (Comparator::Plain, Layout::Strided { data, len, stride }) => {
                let words = data.0.is_multiple_of(4) && stride.is_multiple_of(4);
                (Shape::Plain { data, stride, len }, words && len.is_multiple_of(64))
            }
            (_, Layout::Strided { data, len, .. }) => {
                let elements = data.0.is_multiple_of(16) && len.is_multiple_of(64);
                (Shape::Interleaved { data, len }, elements)
            }
        };
        taken.then_some(shape)
    }
}

/// Messages of one launch at most.
const MAX_COUNT: u32 = 1 << 31;

/// A kernel's argument, as the driver takes it.
fn argument<T>(value: &T) -> *mut c_void {
    ptr::from_ref(value).cast_mut().cast()
}

impl fmt::Debug for Comparators {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Comparators({})", self.gpu.info().id)
    }
}

//! SM3 of messages in a device's memory.
#![allow(unsafe_code)]

mod abi;
mod known_answers;

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, Weak},
};

use manylane::sm3::{DIGEST_LEN, Midstate};

use self::abi::argument;
use crate::{
    DeviceBuffer, DeviceId, DevicePointer, Error, Gpu, Stream, compile,
    runtime::{Kernel, Module, lock},
    tuning::{self, Tuning},
};

/// Where messages are in a device's memory.
///
/// Rows of an array, or the buffers of an Arrow `binary` or `large_binary` array that was copied
/// to the device. Messages may begin at any byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Message `i` is the `len` bytes at `data + i * stride`.
    Strided {
        /// The first message.
        data: DevicePointer,
        /// Bytes of each message.
        len: u64,
        /// Bytes from one message to the next.
        stride: u64,
    },
    /// Message `i` is the bytes `offsets[i]..offsets[i + 1]` of an array whose byte `base` is at
    /// `data`.
    Offsets32 {
        /// Byte `base` of the array.
        data: DevicePointer,
        /// One more 32-bit number than there are messages, never decreasing, from `base` on.
        offsets: DevicePointer,
        /// How much of the array is not there.
        base: u64,
    },
    /// As `Offsets32`, with 64-bit offsets.
    Offsets64 {
        /// Byte `base` of the array.
        data: DevicePointer,
        /// One more 64-bit number than there are messages, never decreasing, from `base` on.
        offsets: DevicePointer,
        /// How much of the array is not there.
        base: u64,
    },
}

/// Messages in a device's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceMessages {
    /// How many.
    pub count: usize,
    /// Where.
    pub layout: Layout,
}

impl DeviceMessages {
    /// Messages from `start` on, `count` of them.
    fn part(&self, start: usize, count: usize) -> Self {
        let layout = match self.layout {
            Layout::Strided { data, len, stride } => {
                Layout::Strided { data: data.add(start * stride as usize), len, stride }
            }
            Layout::Offsets32 { data, offsets, base } => {
                Layout::Offsets32 { data, offsets: offsets.add(start * 4), base }
            }
            Layout::Offsets64 { data, offsets, base } => {
                Layout::Offsets64 { data, offsets: offsets.add(start * 8), base }
            }
        };
        DeviceMessages { count, layout }
    }

    /// Offsets are read as numbers of their size.
    fn check(&self) -> Result<(), Error> {
        let aligned = match self.layout {
            Layout::Strided { .. } => true,
            Layout::Offsets32 { offsets, .. } => offsets.0.is_multiple_of(4),
            Layout::Offsets64 { offsets, .. } => offsets.0.is_multiple_of(8),
        };
        if aligned { Ok(()) } else { Err(shape("offsets are not aligned to their size")) }
    }
}

fn shape(why: &'static str) -> Error {
    Error::Input(manylane::Error::Shape(why))
}

/// Which kernel takes messages of a layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Choice {
    /// Whole blocks at 16-byte boundaries: no byte is moved, and the padding is a constant.
    Rows { data: DevicePointer, stride: u64, blocks: u32, total_len: u64 },
    /// 32 bytes at 16-byte boundaries, such as digests, after nothing: the state and half of the
    /// block are constant.
    Hash32 { data: DevicePointer, stride: u64 },
    /// One block with its padding.
    Short,
    /// Anything.
    Many,
}

impl Choice {
    fn of(messages: &DeviceMessages, start: &abi::Start) -> Self {
        let Layout::Strided { data, len, mut stride } = messages.layout else {
            return Choice::Many;
        };
        if start.rest_len != 0 {
            return Choice::Many;
        }
        if messages.count <= 1 {
            stride = 0;
        }
        let aligned = data.0.is_multiple_of(16) && stride.is_multiple_of(16);
        match u32::try_from(len / 64) {
            Ok(blocks) if aligned && len % 64 == 0 => {
                Choice::Rows { data, stride, blocks, total_len: start.prefix_len + len }
            }
            _ if aligned && len == 32 && start.is_initial() => Choice::Hash32 { data, stride },
            _ if len <= MAX_SHORT => Choice::Short,
            _ => Choice::Many,
        }
    }
}

/// Messages one launch takes at most: the kernels number them with 32 bits.
const MAX_COUNT: usize = 1 << 31;

/// Longest message that fits into one block with its padding.
const MAX_SHORT: u64 = 55;

/// Bytes of the ordering kernels' bins (`BINS` in `kernels/bins.cuh`).
const BINS_LEN: usize = 1024 * size_of::<u32>();

/// Messages that each thread of the ordering kernels takes.
const MESSAGES_PER_BIN_THREAD: u32 = 4;

/// The kernels' argument that no compiler can know to be 1.
const ONE: u32 = 1;

/// SM3 on one device.
///
/// All calls are asynchronous: they enqueue work on a stream and return. Clones share the kernels,
/// which stay loaded as long as one of them lives; the last to be dropped waits for the device.
#[derive(Clone)]
pub struct Sm3 {
    kernels: Arc<Kernels>,
    /// Threads per block, where not those of the tuning.
    block: Option<u32>,
}

/// What this process knows of a device.
#[derive(Default)]
struct Loaded {
    kernels: Weak<Kernels>,
    /// That it did not end its first work, which is still there: to free memory would wait for it.
    hangs: Option<Error>,
}

/// The kernels, loaded and found right on a device.
struct Kernels {
    gpu: Gpu,
    tuning: &'static Tuning,
    many: Kernel,
    rows: Kernel,
    short: Kernel,
    hash_32: Kernel,
    hmac: Kernel,
    bin_count: Kernel,
    bin_offsets: Kernel,
    bin_scatter: Kernel,
    /// Thread blocks of `many` on a multiprocessor, and bytes of shared memory with which there
    /// are no more.
    few: Vec<(u32, u32)>,
    /// What the kernels are part of.
    _module: Module,
}

/// What the driver says of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KernelInfo {
    /// Its name.
    pub name: &'static str,
    /// Registers of a thread.
    pub registers: u32,
    /// Bytes a thread spills.
    pub local_bytes: u32,
    /// Threads of a block that it is launched with.
    pub block: u32,
    /// Threads of a block that it can be launched with.
    pub max_block: u32,
}

impl Sm3 {
    /// The kernels for a device: compiled, loaded, and checked against known answers by the first
    /// call for the device, shared by later ones. That first call takes tens of milliseconds, and
    /// some seconds where the vendor's compiler runs and has kept nothing from an earlier time.
    ///
    /// # Errors
    /// [`Error::Compile`]; [`Error::WrongResult`] if a kernel computes a wrong digest;
    /// [`Error::Deadline`] if the device has not done that after 10 seconds, and at once if it had
    /// not before; [`Error::Forked`]; or what the driver says.
    pub fn new(gpu: &Gpu) -> Result<Self, Error> {
        static LOADED: Mutex<BTreeMap<DeviceId, Arc<Mutex<Loaded>>>> = Mutex::new(BTreeMap::new());
        // A forked child could find the locks held for ever.
        drop(gpu.bound()?);
        let of_device = lock(&LOADED).entry(gpu.info().id).or_default().clone();
        let mut loaded = lock(&of_device);
        if let Some(kernels) = loaded.kernels.upgrade() {
            return Ok(Sm3 { kernels, block: None });
        }
        if let Some(error) = &loaded.hangs {
            return Err(error.clone());
        }
        let distrust = || compile::distrust_kept(gpu);
        let sm3 = compile::first_use(|| Self::checked(gpu), distrust, &mut loaded.hangs)?;
        loaded.kernels = Arc::downgrade(&sm3.kernels);
        Ok(sm3)
    }

    fn checked(gpu: &Gpu) -> Result<Self, Error> {
        let sm3 = Sm3 { kernels: Arc::new(Kernels::load(gpu)?), block: None };
        known_answers::check(&sm3)?;
        Ok(sm3)
    }

    /// The same kernels, launched with so many threads per block: for measurements. A launch with
    /// more than a kernel's [`max_block`](KernelInfo::max_block) is refused by the driver.
    ///
    /// # Panics
    /// If there are none.
    pub fn with_block(&self, threads: u32) -> Self {
        assert!(threads > 0, "a block has threads");
        Sm3 { kernels: self.kernels.clone(), block: Some(threads) }
    }

    /// The device.
    pub fn gpu(&self) -> &Gpu {
        &self.kernels.gpu
    }

    /// The kernels that hash, as the driver compiled them.
    ///
    /// # Errors
    /// What the driver says.
    pub fn kernels(&self) -> Result<Vec<KernelInfo>, Error> {
        let Kernels { gpu, tuning, many, rows, short, hash_32, hmac, .. } = &*self.kernels;
        let blocks = &tuning.blocks;
        [
            (many, blocks.many),
            (rows, blocks.rows),
            (short, blocks.short),
            (hash_32, blocks.short),
            (hmac, blocks.hmac),
        ]
        .into_iter()
        .map(|(kernel, block)| {
            let info = kernel.info(gpu)?;
            Ok(KernelInfo {
                name: kernel.name,
                registers: info.registers,
                local_bytes: info.local_bytes,
                block: self.block.unwrap_or(block),
                max_block: info.max_threads_per_block,
            })
        })
        .collect()
    }

    /// Enqueues the digest of each message, continued from `start`: digest `i` goes to
    /// `out + 32 * i`. `out` is 16-byte aligned.
    ///
    /// With a workspace, messages of unlike lengths are taken in order of their length, longest
    /// first, so that the threads of a warp finish together; the digests are in the messages'
    /// order all the same. Without one, or for few messages, they are taken as they come.
    ///
    /// # Errors
    /// [`Error::Input`] if `out` or the offsets are not aligned, or the stream or the workspace is
    /// another device's; what the driver says. Errors of the work itself are reported by the
    /// stream.
    ///
    /// # Safety
    /// All addresses are of memory that the device can access: the messages up to the 16-byte
    /// boundaries around them, since they are read in aligned pieces, the offsets, which do not
    /// decrease, and `out` for all digests. They stay so, and nobody writes to the messages or reads
    /// the digests, until the stream has passed this work. `out` overlaps none of the rest. A
    /// workspace is used by one stream until that has passed the work. The kernels need not be kept
    /// until then: the last clone of them to be dropped waits for the device.
    pub unsafe fn hash_many(
        &self,
        stream: &Stream,
        start: &Midstate,
        messages: &DeviceMessages,
        mut workspace: Option<&mut Workspace>,
        out: DevicePointer,
    ) -> Result<(), Error> {
        self.check(stream, workspace.as_deref(), messages, out)?;
        let start = abi::Start::of(start);
        for (messages, out) in parts(messages, workspace.as_deref(), out) {
            match Choice::of(&messages, &start) {
                Choice::Many => {
                    let extra = start.rest_len + MIN_PADDING;
                    let order = self.order(stream, &messages, extra, workspace.as_deref_mut())?;
                    // SAFETY: the caller's.
                    unsafe { self.launch_many(stream, &start, &messages, order, out)? };
                }
                // SAFETY: the caller's.
                Choice::Short => unsafe { self.launch_short(stream, &start, &messages, out)? },
                Choice::Hash32 { data, stride } => {
                    // SAFETY: the caller's.
                    unsafe { self.launch_32(stream, data, stride, messages.count, out)? };
                }
                Choice::Rows { data, stride, blocks, total_len } => {
                    let padding = abi::PaddingBlock::of(total_len);
                    let count = messages.count;
                    // SAFETY: the caller's.
                    unsafe {
                        self.launch_rows(
                            stream, &start, data, stride, blocks, &padding, count, out,
                        )?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Enqueues HMAC-SM3 of each message under its own key: tag `i` goes to `out + 32 * i`. Keys
    /// may have any length. The rest is as in [`hash_many`](Self::hash_many).
    ///
    /// # Errors
    /// [`Error::Input`] if there are not as many keys as messages, or as in
    /// [`hash_many`](Self::hash_many).
    ///
    /// # Safety
    /// As [`hash_many`](Self::hash_many), for the keys too.
    pub unsafe fn hmac_many(
        &self,
        stream: &Stream,
        keys: &DeviceMessages,
        messages: &DeviceMessages,
        mut workspace: Option<&mut Workspace>,
        out: DevicePointer,
    ) -> Result<(), Error> {
        if keys.count != messages.count {
            let (keys, messages) = (keys.count, messages.count);
            return Err(Error::Input(manylane::Error::CountMismatch { keys, messages }));
        }
        keys.check()?;
        self.check(stream, workspace.as_deref(), messages, out)?;
        let mut done = 0;
        for (messages, out) in parts(messages, workspace.as_deref(), out) {
            let order = self.order(stream, &messages, MIN_PADDING, workspace.as_deref_mut())?;
            let keys = keys.part(done, messages.count);
            // SAFETY: the caller's.
            unsafe { self.launch_hmac(stream, &keys, &messages, order, out)? };
            done += messages.count;
        }
        Ok(())
    }

    fn check(
        &self,
        stream: &Stream,
        workspace: Option<&Workspace>,
        messages: &DeviceMessages,
        out: DevicePointer,
    ) -> Result<(), Error> {
        let gpu = &self.kernels.gpu;
        if stream.gpu() != gpu || workspace.is_some_and(|workspace| workspace.gpu != *gpu) {
            return Err(shape("a stream or workspace of another device"));
        }
        if !out.0.is_multiple_of(16) {
            return Err(shape("the output is not 16-byte aligned"));
        }
        messages.check()
    }

    /// Enqueues the ordering of messages by their number of blocks, where that pays; gives the
    /// address of the order, or null. `extra` bytes are counted with each message.
    fn order(
        &self,
        stream: &Stream,
        messages: &DeviceMessages,
        extra: u32,
        workspace: Option<&mut Workspace>,
    ) -> Result<DevicePointer, Error> {
        let Some(workspace) = workspace else { return Ok(DevicePointer(0)) };
        // Fewer than a warp for each of a multiprocessor's four schedulers all run at once, and
        // the longest decides, in whatever order.
        let few = self.kernels.gpu.info().multiprocessors as usize * 128;
        if matches!(messages.layout, Layout::Strided { .. }) || messages.count <= few {
            return Ok(DevicePointer(0));
        }
        self.launch_binning(stream, messages, extra, workspace)
    }

    fn launch_binning(
        &self,
        stream: &Stream,
        messages: &DeviceMessages,
        extra: u32,
        workspace: &mut Workspace,
    ) -> Result<DevicePointer, Error> {
        workspace.bins.fill(0, stream)?;
        let Kernels { tuning, bin_count, bin_offsets, bin_scatter, .. } = &*self.kernels;
        let (bins, order) = (workspace.bins.pointer(), workspace.order.pointer());
        let (count, messages) = (messages.count as u32, abi::Messages::of(messages));
        let block = tuning.blocks.bin;
        let threads = count.div_ceil(MESSAGES_PER_BIN_THREAD);
        // SAFETY: the arguments are the kernels'; `bins` and `order` are large enough, and what
        // the messages name is as the callers of this function were promised.
        unsafe {
            let mut arguments =
                [argument(&messages), argument(&extra), argument(&count), argument(&bins)];
            bin_count.launch(stream, threads, block, &mut arguments)?;
            bin_offsets.launch(stream, block, block, &mut [argument(&bins)])?;
            let mut arguments = [
                argument(&messages),
                argument(&extra),
                argument(&count),
                argument(&bins),
                argument(&order),
            ];
            bin_scatter.launch(stream, threads, block, &mut arguments)?;
        }
        Ok(order)
    }

    unsafe fn launch_many(
        &self,
        stream: &Stream,
        start: &abi::Start,
        messages: &DeviceMessages,
        order: DevicePointer,
        out: DevicePointer,
    ) -> Result<(), Error> {
        let (count, messages) = (messages.count as u32, abi::Messages::of(messages));
        let mut arguments = [
            argument(&messages),
            argument(start),
            argument(&order),
            argument(&count),
            argument(&ONE),
            argument(&out),
        ];
        let block = self.block.unwrap_or(self.kernels.tuning.blocks.many);
        let shared = if order.0 == 0 { 0 } else { self.shared_for(count, block) };
        // SAFETY: the arguments are the kernel's, the addresses as the caller promises.
        unsafe { self.kernels.many.launch_sharing(stream, count, block, shared, &mut arguments) }
    }

    /// Bytes of shared memory to ask for, so that of unlike messages the longest end when all the
    /// others do. Let the longest be twice as long as the mean, as where lengths are uniform. If
    /// `t` of `count` are at work at a time and get on alike, the longest takes as long as all of
    /// them together where `t` is half of `count`.
    fn shared_for(&self, count: u32, block: u32) -> u32 {
        let Kernels { gpu, tuning, few, .. } = &*self.kernels;
        let Some(limits) = &tuning.few else { return 0 };
        let blocks = count / 2 / block / gpu.info().multiprocessors.max(1);
        let blocks = blocks.max(*limits.start());
        few.iter().find(|(limit, _)| *limit == blocks).map_or(0, |(_, shared)| *shared)
    }

    unsafe fn launch_short(
        &self,
        stream: &Stream,
        start: &abi::Start,
        messages: &DeviceMessages,
        out: DevicePointer,
    ) -> Result<(), Error> {
        let (count, messages) = (messages.count as u32, abi::Messages::of(messages));
        let mut arguments = [
            argument(&messages),
            argument(start),
            argument(&count),
            argument(&ONE),
            argument(&out),
        ];
        let block = self.block.unwrap_or(self.kernels.tuning.blocks.short);
        let threads = count.div_ceil(self.kernels.tuning.each);
        // SAFETY: the arguments are the kernel's, the addresses as the caller promises.
        unsafe { self.kernels.short.launch(stream, threads, block, &mut arguments) }
    }

    unsafe fn launch_32(
        &self,
        stream: &Stream,
        data: DevicePointer,
        stride: u64,
        count: usize,
        out: DevicePointer,
    ) -> Result<(), Error> {
        let count = count as u32;
        let mut arguments =
            [argument(&data), argument(&stride), argument(&count), argument(&ONE), argument(&out)];
        let block = self.block.unwrap_or(self.kernels.tuning.blocks.short);
        let threads = count.div_ceil(self.kernels.tuning.each);
        // SAFETY: the arguments are the kernel's, the addresses as the caller promises.
        unsafe { self.kernels.hash_32.launch(stream, threads, block, &mut arguments) }
    }

    #[expect(clippy::too_many_arguments, reason = "the kernel's own")]
    unsafe fn launch_rows(
        &self,
        stream: &Stream,
        start: &abi::Start,
        data: DevicePointer,
        stride: u64,
        blocks: u32,
        padding: &abi::PaddingBlock,
        count: usize,
        out: DevicePointer,
    ) -> Result<(), Error> {
        let count = count as u32;
        let mut arguments = [
            argument(&data),
            argument(&stride),
            argument(&blocks),
            argument(start),
            argument(padding),
            argument(&count),
            argument(&ONE),
            argument(&out),
        ];
        let block = self.block.unwrap_or(self.kernels.tuning.blocks.rows);
        // SAFETY: the arguments are the kernel's, the addresses as the caller promises.
        unsafe { self.kernels.rows.launch(stream, count, block, &mut arguments) }
    }

    unsafe fn launch_hmac(
        &self,
        stream: &Stream,
        keys: &DeviceMessages,
        messages: &DeviceMessages,
        order: DevicePointer,
        out: DevicePointer,
    ) -> Result<(), Error> {
        let count = messages.count as u32;
        let (keys, messages) = (abi::Messages::of(keys), abi::Messages::of(messages));
        let mut arguments = [
            argument(&keys),
            argument(&messages),
            argument(&order),
            argument(&count),
            argument(&ONE),
            argument(&out),
        ];
        let block = self.block.unwrap_or(self.kernels.tuning.blocks.hmac);
        // SAFETY: the arguments are the kernel's, the addresses as the caller promises.
        unsafe { self.kernels.hmac.launch(stream, count, block, &mut arguments) }
    }
}

/// Bytes that padding adds at least.
const MIN_PADDING: u32 = 9;

/// The messages in parts of which each is one launch, and where the digests of each go.
fn parts(
    messages: &DeviceMessages,
    workspace: Option<&Workspace>,
    out: DevicePointer,
) -> impl Iterator<Item = (DeviceMessages, DevicePointer)> + use<> {
    let messages = *messages;
    // Rows are not ordered, and need no room for it.
    let ordered = workspace.filter(|_| !matches!(messages.layout, Layout::Strided { .. }));
    let most = ordered.map_or(MAX_COUNT, |workspace| workspace.max_count.min(MAX_COUNT));
    (0..messages.count).step_by(most).map(move |start| {
        let part = messages.part(start, most.min(messages.count - start));
        (part, out.add(start * DIGEST_LEN))
    })
}

impl Kernels {
    fn load(gpu: &Gpu) -> Result<Self, Error> {
        let module = Module::new(gpu, &compile::sm3_image(gpu)?)?;
        let tuning = tuning::tuning(gpu.info());
        let many = module.kernel("sm3_hash_many")?;
        let mut few = Vec::new();
        for blocks in tuning.few.clone().into_iter().flatten() {
            // It is a matter of speed alone: a driver that refuses this still computes.
            let shared = many.shared_to_limit(gpu, blocks).ok().flatten();
            few.extend(shared.map(|shared| (blocks, shared)));
        }
        Ok(Kernels {
            gpu: gpu.clone(),
            tuning,
            many,
            few,
            rows: module.kernel("sm3_hash_rows")?,
            short: module.kernel("sm3_hash_short")?,
            hash_32: module.kernel("sm3_hash_32")?,
            hmac: module.kernel("sm3_hmac_many")?,
            bin_count: module.kernel("bin_count")?,
            bin_offsets: module.kernel("bin_offsets")?,
            bin_scatter: module.kernel("bin_scatter")?,
            _module: module,
        })
    }
}

impl fmt::Debug for Sm3 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sm3({})", self.kernels.gpu.info().id)
    }
}

/// Memory of a device in which messages are ordered by their length.
pub struct Workspace {
    gpu: Gpu,
    max_count: usize,
    order: DeviceBuffer,
    bins: DeviceBuffer,
}

impl Workspace {
    /// For `max_count` messages, 4 bytes each; more than that are taken in several parts.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], or what the driver says.
    pub fn new(gpu: &Gpu, max_count: usize) -> Result<Self, Error> {
        let [order, bins] = Self::sizes(max_count);
        let buffers = [DeviceBuffer::new(gpu, order)?, DeviceBuffer::new(gpu, bins)?];
        Ok(Self::of(gpu, max_count, buffers))
    }

    /// Bytes of its buffers.
    pub(crate) fn sizes(max_count: usize) -> [usize; 2] {
        [max_count.clamp(1, MAX_COUNT) * size_of::<u32>(), BINS_LEN]
    }

    /// For `max_count` messages, of buffers that have the [sizes](Self::sizes).
    pub(crate) fn of(gpu: &Gpu, max_count: usize, [order, bins]: [DeviceBuffer; 2]) -> Self {
        Workspace { gpu: gpu.clone(), max_count: max_count.clamp(1, MAX_COUNT), order, bins }
    }
}

impl fmt::Debug for Workspace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Workspace({} messages on {})", self.max_count, self.gpu.info().id)
    }
}

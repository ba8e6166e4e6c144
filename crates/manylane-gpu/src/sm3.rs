//! SM3 of messages in a device's memory.
#![allow(unsafe_code)]

mod abi;
mod known_answers;

use std::{fmt, sync::Arc};

use manylane::sm3::{BLOCK_LEN, DIGEST_LEN, Midstate};

use crate::{
    DeviceId, DeviceMessages, DevicePointer, Error, Gpu, KernelInfo, Layout, Stream, Workspace,
    compile::{self, Loaded},
    messages::{Place, argument, check, parts},
    order::{Blocks, Few, Order},
    runtime::{Kernel, Module},
    tuning::{self, Tuning},
};

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

/// Longest message that fits into one block with its padding.
const MAX_SHORT: u64 = 55;

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

/// The kernels, loaded and found right on a device.
struct Kernels {
    gpu: Gpu,
    tuning: &'static Tuning,
    many: Kernel,
    rows: Kernel,
    short: Kernel,
    hash_32: Kernel,
    hmac: Kernel,
    order: Order,
    few: Few,
    /// What the kernels are part of.
    _module: Module,
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
        static LOADED: Loaded<DeviceId, Kernels> = Loaded::new();
        // A forked child could find the locks held for ever.
        drop(gpu.bound()?);
        let checked = || Ok(Self::checked(gpu)?.kernels);
        let kernels = LOADED.get(gpu.info().id, checked, || compile::distrust_kept_sm3(gpu))?;
        Ok(Sm3 { kernels, block: None })
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
        .map(|(kernel, block)| KernelInfo::of(kernel, gpu, self.block.unwrap_or(block)))
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
        check(self.gpu(), stream, workspace.as_deref(), messages, out)?;
        let start = abi::Start::of(start);
        for (messages, out) in parts(messages, workspace.as_deref(), DIGEST_LEN, out) {
            match Choice::of(&messages, &start) {
                Choice::Many => {
                    let blocks = blocks(start.rest_len);
                    let workspace = workspace.as_deref_mut();
                    // SAFETY: the caller's.
                    unsafe {
                        let order =
                            self.kernels.order.enqueue(stream, &messages, blocks, workspace)?;
                        self.launch_many(stream, &start, &messages, order, out)?;
                    }
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
        check(self.gpu(), stream, workspace.as_deref(), messages, out)?;
        let mut done = 0;
        for (messages, out) in parts(messages, workspace.as_deref(), DIGEST_LEN, out) {
            let keys = keys.part(done, messages.count);
            let workspace = workspace.as_deref_mut();
            // SAFETY: the caller's.
            unsafe {
                let order = self.kernels.order.enqueue(stream, &messages, blocks(0), workspace)?;
                self.launch_hmac(stream, &keys, &messages, order, out)?;
            }
            done += messages.count;
        }
        Ok(())
    }

    unsafe fn launch_many(
        &self,
        stream: &Stream,
        start: &abi::Start,
        messages: &DeviceMessages,
        order: DevicePointer,
        out: DevicePointer,
    ) -> Result<(), Error> {
        let (count, messages) = (messages.count as u32, Place::of(messages));
        let mut arguments = [
            argument(&messages),
            argument(start),
            argument(&order),
            argument(&count),
            argument(&ONE),
            argument(&out),
        ];
        let block = self.block.unwrap_or(self.kernels.tuning.blocks.many);
        let shared = if order.0 == 0 { 0 } else { self.kernels.few.shared_for(count, block) };
        // SAFETY: the arguments are the kernel's, the addresses as the caller promises.
        unsafe { self.kernels.many.launch_sharing(stream, count, block, shared, &mut arguments) }
    }

    unsafe fn launch_short(
        &self,
        stream: &Stream,
        start: &abi::Start,
        messages: &DeviceMessages,
        out: DevicePointer,
    ) -> Result<(), Error> {
        let (count, messages) = (messages.count as u32, Place::of(messages));
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
        let (keys, messages) = (Place::of(keys), Place::of(messages));
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

/// Bytes that padding adds at least: a bit, and the length.
const MIN_PADDING: u32 = 9;

/// What of messages' lengths decides how many blocks they have, after `rest_len` bytes. With no more than the
/// length in the last block, that is padding alone.
fn blocks(rest_len: u32) -> Blocks {
    Blocks { extra: rest_len + MIN_PADDING, len: BLOCK_LEN as u32, padding: MIN_PADDING - 1 }
}

impl Kernels {
    fn load(gpu: &Gpu) -> Result<Self, Error> {
        let module = Module::new(gpu, &compile::sm3_image(gpu)?)?;
        let tuning = tuning::tuning(gpu.info());
        let many = module.kernel("sm3_hash_many")?;
        Ok(Kernels {
            gpu: gpu.clone(),
            tuning,
            few: Few::of(&many, gpu, tuning.few.clone()),
            many,
            rows: module.kernel("sm3_hash_rows")?,
            short: module.kernel("sm3_hash_short")?,
            hash_32: module.kernel("sm3_hash_32")?,
            hmac: module.kernel("sm3_hmac_many")?,
            order: Order::new(&module, tuning.blocks.bin)?,
            _module: module,
        })
    }
}

impl fmt::Debug for Sm3 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sm3({})", self.kernels.gpu.info().id)
    }
}

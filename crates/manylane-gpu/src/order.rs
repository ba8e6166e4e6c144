//! Messages of unlike lengths in order of their length, by kernels of `kernels/bins.cuh`.
#![allow(unsafe_code)]

use std::{fmt, ops::RangeInclusive};

use crate::{
    DeviceBuffer, DeviceMessages, DevicePointer, Error, Gpu, Layout, Stream,
    messages::{MAX_COUNT, Place, argument},
    runtime::{Kernel, Module},
};

/// Bytes of the ordering kernels' bins (`BINS` in `kernels/bins.cuh`).
const BINS_LEN: usize = 1024 * size_of::<u32>();

/// Messages that each thread of the ordering kernels takes.
const MESSAGES_PER_BIN_THREAD: u32 = 4;

/// How a message's length makes its number of blocks.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Blocks {
    /// Bytes beside the message, at least one: a prefix's rest and the least padding.
    pub(crate) extra: u32,
    /// Bytes of a block.
    pub(crate) len: u32,
    /// Bytes of the last block up to which it is padding alone, 0 if that does not matter.
    pub(crate) padding: u32,
}

/// The kernels that order, which every module of a hash function has.
pub(crate) struct Order {
    /// Threads of a block.
    block: u32,
    count: Kernel,
    offsets: Kernel,
    scatter: Kernel,
}

impl Order {
    pub(crate) fn new(module: &Module, block: u32) -> Result<Self, Error> {
        Ok(Order {
            block,
            count: module.kernel("bin_count")?,
            offsets: module.kernel("bin_offsets")?,
            scatter: module.kernel("bin_scatter")?,
        })
    }

    /// Enqueues the ordering of messages by their number of blocks, where that pays; gives the
    /// address of the order, or null.
    ///
    /// # Safety
    /// The device can access the messages' offsets, until the stream has passed this work.
    pub(crate) unsafe fn enqueue(
        &self,
        stream: &Stream,
        messages: &DeviceMessages,
        blocks: Blocks,
        workspace: Option<&mut Workspace>,
    ) -> Result<DevicePointer, Error> {
        let Some(workspace) = workspace else { return Ok(DevicePointer(0)) };
        // Fewer than a warp for each of a multiprocessor's four schedulers all run at once, and
        // the longest decides, in whatever order.
        let few = stream.gpu().info().multiprocessors as usize * 128;
        if matches!(messages.layout, Layout::Strided { .. }) || messages.count <= few {
            return Ok(DevicePointer(0));
        }
        // SAFETY: the caller's.
        unsafe { self.launch(stream, messages, blocks, workspace) }
    }

    /// Enqueues the ordering of any messages.
    ///
    /// # Safety
    /// As [`enqueue`](Self::enqueue).
    pub(crate) unsafe fn launch(
        &self,
        stream: &Stream,
        messages: &DeviceMessages,
        blocks: Blocks,
        workspace: &mut Workspace,
    ) -> Result<DevicePointer, Error> {
        assert!(messages.count <= workspace.max_count, "the messages were taken in parts");
        workspace.bins.fill(0, stream)?;
        let (bins, order) = (workspace.bins.pointer(), workspace.order.pointer());
        let (count, messages) = (messages.count as u32, Place::of(messages));
        let threads = count.div_ceil(MESSAGES_PER_BIN_THREAD);
        // SAFETY: the arguments are the kernels'; `bins` and `order` are large enough, and the
        // offsets are as the caller promises.
        unsafe {
            let mut arguments =
                [argument(&messages), argument(&blocks), argument(&count), argument(&bins)];
            self.count.launch(stream, threads, self.block, &mut arguments)?;
            self.offsets.launch(stream, self.block, self.block, &mut [argument(&bins)])?;
            let mut arguments = [
                argument(&messages),
                argument(&blocks),
                argument(&count),
                argument(&bins),
                argument(&order),
            ];
            self.scatter.launch(stream, threads, self.block, &mut arguments)?;
        }
        Ok(order)
    }
}

/// How a kernel of ordered messages is kept to few thread blocks on a multiprocessor at a time.
pub(crate) struct Few {
    multiprocessors: u32,
    /// The fewest.
    least: u32,
    /// Thread blocks, and bytes of shared memory with which there are no more.
    limits: Vec<(u32, u32)>,
}

impl Few {
    /// Of a kernel, to numbers to which that pays.
    pub(crate) fn of(kernel: &Kernel, gpu: &Gpu, limits: Option<RangeInclusive<u32>>) -> Self {
        let least = limits.as_ref().map_or(0, |limits| *limits.start());
        let shared = |blocks| {
            // It is a matter of speed alone: a driver that refuses this still computes.
            let shared = kernel.shared_to_limit(gpu, blocks).ok().flatten();
            shared.map(|shared| (blocks, shared))
        };
        let limits = limits.into_iter().flatten().filter_map(shared).collect();
        Few { multiprocessors: gpu.info().multiprocessors.max(1), least, limits }
    }

    /// Bytes of shared memory to ask for, so that of unlike messages the longest end when all the
    /// others do. Let the longest be twice as long as the mean, as where lengths are uniform. If
    /// `t` of `count` are at work at a time and get on alike, the longest takes as long as all of
    /// them together where `t` is half of `count`.
    pub(crate) fn shared_for(&self, count: u32, block: u32) -> u32 {
        let blocks = (count / 2 / block / self.multiprocessors).max(self.least);
        self.limits.iter().find(|(limit, _)| *limit == blocks).map_or(0, |(_, shared)| *shared)
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

    /// The device.
    pub(crate) fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    /// Messages of which it has the order at a time.
    pub(crate) fn max_count(&self) -> usize {
        self.max_count
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

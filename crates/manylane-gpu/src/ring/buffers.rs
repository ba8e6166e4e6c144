//! A slot's memory on both sides of the bus, and what is enqueued for it.
#![allow(unsafe_code)]

use manylane::{Messages, Shape, hash::Midstate, sm3};
use zeroize::Zeroize as _;

use super::{
    RingConfig, Start,
    kernels::Kernels,
    layout::Rows,
    pieces::{Complete, Pieces, table_bytes},
};
use crate::{
    DeviceBuffer, DeviceMessages, DevicePointer, Error, Event, Gpu, Layout, PinnedBuffer, Stream,
    Workspace,
};

/// What kernels may read past the end of the messages: up to the next multiple of 16 bytes.
pub(super) const READABLE: usize = 16;

/// Where the messages, or the keys, of a slot lie in its memory.
#[derive(Clone, Copy, Debug)]
pub(super) enum Loaded {
    Rows {
        rows: Rows,
        count: usize,
    },
    /// By the slot's table of offsets.
    Offsets {
        count: usize,
    },
}

impl Loaded {
    pub(super) const NONE: Loaded = Loaded::Offsets { count: 0 };

    pub(super) fn count(self) -> usize {
        match self {
            Loaded::Rows { count, .. } | Loaded::Offsets { count } => count,
        }
    }
}

/// Byte offsets, from the start of what they count in.
pub(super) struct Table {
    host: PinnedBuffer,
    device: Option<DeviceBuffer>,
}

impl Table {
    pub(super) fn get(&self, index: usize) -> usize {
        u32::from_ne_bytes(self.host.as_chunks().0[index]) as usize
    }

    pub(super) fn set(&mut self, index: usize, offset: usize) {
        // Slots are smaller than 2 GiB.
        self.host.as_chunks_mut().0[index] = (offset as u32).to_ne_bytes();
    }

    pub(super) fn set_all(&mut self, offsets: impl Iterator<Item = usize>) {
        for (bytes, offset) in self.host.as_chunks_mut().0.iter_mut().zip(offsets) {
            *bytes = (offset as u32).to_ne_bytes();
        }
    }
}

/// A slot's memory, kept from batch to batch.
pub(super) struct Buffers {
    // In the order in which they must go: the stream has to end before its memory does.
    pub(super) done: Event,
    /// When what was copied in is there.
    copied: Event,
    stream: Stream,
    /// Messages, then keys. Allocated when something is first copied in through it.
    pub(super) staging: Option<PinnedBuffer>,
    data: Option<DeviceBuffer>,
    pub(super) messages: Table,
    /// For HMAC only.
    keys: Option<Table>,
    /// The device's part of `keys`, while there was no memory for the host's.
    keys_on_device: Option<DeviceBuffer>,
    pub(super) digests: PinnedBuffer,
    device_digests: Option<DeviceBuffer>,
    workspace: Workspace,
    /// Bytes of the batch.
    pub(super) used: usize,
    /// Bytes of the staging memory that this batch, or a try of it, has left something in.
    pub(super) written: usize,
    pub(super) loaded: Loaded,
    pub(super) loaded_keys: Loaded,
    /// Where the keys begin.
    pub(super) keys_at: usize,
    pub(super) capacity: usize,
    max_messages: usize,
    /// Bytes of each digest of this batch.
    pub(super) digest_len: usize,
}

impl Buffers {
    /// # Errors
    /// What the driver says, with the memory that it had given before.
    pub(super) fn new(gpu: &Gpu, config: &RingConfig) -> Result<Box<Self>, (Error, Pieces)> {
        let without_memory = |error| (error, Pieces::default());
        let done = Event::new(gpu).map_err(without_memory)?;
        let copied = Event::new(gpu).map_err(without_memory)?;
        let stream = Stream::new(gpu).map_err(without_memory)?;
        let Complete { copies, pinned, workspace } = Pieces::take(gpu, config)?;
        let ([data, offsets, device_digests], [host, digests]) = (copies, pinned);
        Ok(Box::new(Buffers {
            done,
            copied,
            stream,
            staging: None,
            data,
            messages: Table { host, device: offsets },
            keys: None,
            keys_on_device: None,
            digests,
            device_digests,
            workspace,
            used: 0,
            written: 0,
            loaded: Loaded::NONE,
            loaded_keys: Loaded::NONE,
            keys_at: 0,
            capacity: config.slot_bytes,
            max_messages: config.max_messages,
            digest_len: sm3::DIGEST_LEN,
        }))
    }

    /// Whether the device reads the host's memory in place.
    pub(super) fn in_place(&self) -> bool {
        self.data.is_none()
    }

    /// Messages that it has room for: for their digests too, of which there is that for short ones.
    pub(super) fn most(&self) -> usize {
        self.max_messages.min(self.digests.len() / self.digest_len)
    }

    /// The digests of the batch, when they are there.
    pub(super) fn digests(&self) -> &[u8] {
        &self.digests[..self.loaded.count() * self.digest_len]
    }

    pub(super) fn clear(&mut self) {
        self.used = 0;
        self.loaded = Loaded::NONE;
        self.loaded_keys = Loaded::NONE;
    }

    /// Wipes what of it is in the host's memory.
    pub(super) fn wipe_host(&mut self) {
        for buffer in self.staging.iter_mut().chain([&mut self.digests]) {
            buffer.zeroize();
        }
    }

    /// Wipes what the batch has left in the staging memory.
    pub(super) fn wipe_written(&mut self) {
        if let Some(staging) = &mut self.staging {
            staging[..self.written].zeroize();
        }
        self.written = 0;
    }

    /// The table of the keys' offsets, made when it is first needed.
    fn make_keys(&mut self) -> Result<(), Error> {
        if self.keys.is_none() {
            let (gpu, bytes) = (self.stream.gpu(), table_bytes(self.max_messages));
            if !self.in_place() && self.keys_on_device.is_none() {
                self.keys_on_device = Some(DeviceBuffer::new(gpu, bytes)?);
            }
            let host = PinnedBuffer::new(gpu, bytes)?;
            self.keys = Some(Table { host, device: self.keys_on_device.take() });
        }
        Ok(())
    }

    pub(super) fn staging(&mut self) -> Result<&mut PinnedBuffer, Error> {
        if self.staging.is_none() {
            self.staging = Some(PinnedBuffer::new(self.stream.gpu(), self.capacity + READABLE)?);
        }
        Ok(self.staging.as_mut().expect("just made"))
    }

    /// Copies as many leading messages as fit to `at` of the staging memory, and says where they
    /// lie and what they take.
    pub(super) fn stage(
        &mut self,
        messages: &Messages,
        at: usize,
        keys: bool,
    ) -> Result<(Loaded, usize), Error> {
        let room = self.capacity.saturating_sub(at);
        let max = self.most();
        self.staging()?;
        if keys {
            self.make_keys()?;
        }
        let table = if keys { self.keys.as_mut().expect("just made") } else { &mut self.messages };
        let staging = &mut self.staging.as_mut().expect("just made")[at..][..room];
        let (loaded, bytes) = match messages.shape() {
            Shape::Strided { data, len, stride, count } => {
                let rows = Rows::of(len, stride, count);
                let count = rows.fitting(room).min(count).min(max);
                let bytes = rows.bytes(count);
                if !rows.is_one_by_one() {
                    staging[..bytes].copy_from_slice(&data[..bytes]);
                } else if bytes > 0 {
                    let to = staging[..bytes].chunks_mut(rows.pitch());
                    for (to, from) in to.zip(data.chunks(stride)) {
                        to[..len].copy_from_slice(&from[..len]);
                    }
                }
                (Loaded::Rows { rows, count }, bytes)
            }
            Shape::Offsets32 { data, offsets } => {
                let (count, start, end) = fitting(offsets, room, max);
                let relative = offsets.iter().map(|&offset| offset as usize - start);
                table.set_all(relative.take(count + 1));
                staging[..end - start].copy_from_slice(&data[start..end]);
                (Loaded::Offsets { count }, end - start)
            }
            Shape::Offsets64 { data, offsets } => {
                let (count, start, end) = fitting(offsets, room, max);
                let relative = offsets.iter().map(|&offset| offset as usize - start);
                table.set_all(relative.take(count + 1));
                staging[..end - start].copy_from_slice(&data[start..end]);
                (Loaded::Offsets { count }, end - start)
            }
            _ => {
                let mut used = 0;
                let mut count = 0;
                table.set(0, 0);
                for i in 0..messages.len().min(max) {
                    let message = messages.get(i);
                    let Some(to) = staging.get_mut(used..used + message.len()) else { break };
                    to.copy_from_slice(message);
                    used += message.len();
                    count += 1;
                    table.set(count, used);
                }
                (Loaded::Offsets { count }, used)
            }
        };
        self.written = self.written.max(at + bytes);
        Ok((loaded, bytes))
    }

    /// Message `index` of the staging memory; or key `index`, if `keys`.
    pub(super) fn staged(&self, index: usize, keys: bool) -> &[u8] {
        let staging = self.staging.as_deref().unwrap_or_default();
        let (loaded, at) = if keys { (self.loaded_keys, self.keys_at) } else { (self.loaded, 0) };
        match loaded {
            Loaded::Rows { rows, .. } => &staging[at + index * rows.pitch()..][..rows.len()],
            Loaded::Offsets { .. } => {
                let table = if keys { self.keys.as_ref() } else { Some(&self.messages) };
                let table = table.expect("filled with the keys");
                &staging[at + table.get(index)..at + table.get(index + 1)]
            }
        }
    }

    /// Enqueues the copy of a table, if there is one to copy, and says where the device finds it.
    fn send_table(
        &self,
        table: &Table,
        count: usize,
        copies: &Stream,
    ) -> Result<DevicePointer, Error> {
        let Some(device) = &table.device else { return table.host.on_device() };
        let bytes = (count + 1) * size_of::<u32>();
        // SAFETY: both hold `max_messages + 1` offsets, and neither is touched before the slot's
        // event has been seen.
        unsafe {
            let driver = self.stream.gpu().bound()?;
            let from = table.host.as_ptr();
            driver.copy_in(device.pointer(), from, bytes, copies.handle())?;
        }
        Ok(device.pointer())
    }

    /// The messages, or the keys, as the kernels want them; `data` is where they begin.
    fn on_device(
        &self,
        data: DevicePointer,
        keys: bool,
        copies: &Stream,
    ) -> Result<DeviceMessages, Error> {
        let loaded = if keys { self.loaded_keys } else { self.loaded };
        let count = loaded.count();
        let layout = match loaded {
            Loaded::Rows { rows, .. } => {
                Layout::Strided { data, len: rows.len() as u64, stride: rows.pitch() as u64 }
            }
            Loaded::Offsets { .. } => {
                let table = if keys { self.keys.as_ref() } else { Some(&self.messages) };
                let offsets =
                    self.send_table(table.expect("filled with the keys"), count, copies)?;
                Layout::Offsets32 { data, offsets, base: 0 }
            }
        };
        Ok(DeviceMessages { count, layout })
    }

    /// Enqueues the copy of what is staged, and says where the device finds it.
    pub(super) fn send_staged(&mut self, copies: &Stream) -> Result<DevicePointer, Error> {
        let used = self.used;
        self.staging()?;
        let staging = self.staging.as_ref().expect("just made");
        let Some(data) = &self.data else { return staging.on_device() };
        // SAFETY: both hold `capacity` bytes, and neither is touched before the slot's event has
        // been seen.
        unsafe {
            let driver = self.stream.gpu().bound()?;
            driver.copy_in(data.pointer(), staging.as_ptr(), used, copies.handle())?;
        }
        Ok(data.pointer())
    }

    /// Enqueues the copy of page-locked memory to byte `at` of the messages.
    ///
    /// # Panics
    /// If it does not fit, or the device reads the host's memory in place.
    pub(super) fn send_tray(&self, from: &[u8], at: usize, copies: &Stream) -> Result<(), Error> {
        let to = self.data.as_ref().expect("no trays where memory is read in place");
        assert!(at <= self.capacity && from.len() <= self.capacity - at);
        if from.is_empty() {
            return Ok(());
        }
        // SAFETY: the slot holds `capacity` bytes. A tray is not touched before its event has been
        // seen, and what kernels read follows on streams that wait for the copy.
        unsafe {
            let driver = self.stream.gpu().bound()?;
            driver.copy_in(to.pointer().add(at), from.as_ptr(), from.len(), copies.handle())
        }
    }

    /// Where messages are that were sent by trays.
    pub(super) fn messages_on_device(&self) -> Result<DevicePointer, Error> {
        Ok(self.data.as_ref().expect("no trays where memory is read in place").pointer())
    }

    /// Length of message `index`, in bytes.
    pub(super) fn message_len(&self, index: usize) -> usize {
        match self.loaded {
            Loaded::Rows { rows, .. } => rows.len(),
            Loaded::Offsets { .. } => self.messages.get(index + 1) - self.messages.get(index),
        }
    }

    /// Enqueues the copy of `used` bytes of the caller's page-locked memory, or of its rows.
    ///
    /// # Safety
    /// The memory must stay as it is until the slot's event has been seen.
    pub(super) unsafe fn send_pinned(
        &self,
        from: &[u8],
        stride: usize,
        copies: &Stream,
    ) -> Result<DevicePointer, Error> {
        let driver = self.stream.gpu().bound()?;
        let stream = copies.handle();
        let Some(data) = &self.data else {
            if self.used == 0 {
                // Nothing is read, and what is behind the end of the memory may be no address.
                return self.digests.on_device();
            }
            // SAFETY: page-locked, as the caller found.
            return unsafe { driver.host_as_device(from.as_ptr()) };
        };
        let to = data.pointer();
        // SAFETY: the slot holds `capacity` bytes, of which `used` were found to fit; the rest is
        // this function's contract.
        unsafe {
            match self.loaded {
                Loaded::Rows { rows, count } if rows.is_one_by_one() => driver.copy_in_rows(
                    to,
                    rows.pitch(),
                    from.as_ptr(),
                    stride,
                    rows.len(),
                    count,
                    stream,
                )?,
                _ => driver.copy_in(to, from.as_ptr(), self.used, stream)?,
            }
        }
        Ok(to)
    }

    /// Enqueues all that follows the copy of the messages, up to the event.
    pub(super) fn enqueue(
        &mut self,
        kernels: &Kernels,
        start: Start,
        data: DevicePointer,
        copies: &Stream,
    ) -> Result<(), Error> {
        let messages = self.on_device(data, false, copies)?;
        let keys = match start {
            Start::Hash(_) => None,
            Start::Hmac => Some(self.on_device(data.add(self.keys_at), true, copies)?),
        };
        if !self.in_place() {
            self.copied.record(copies)?;
            self.stream.wait(&self.copied)?;
        }
        let driver = self.stream.gpu().bound()?;
        let stream = self.stream.handle();
        let out = match &self.device_digests {
            Some(buffer) => buffer.pointer(),
            None => self.digests.on_device()?,
        };
        let workspace = Some(&mut self.workspace);
        // SAFETY: all addresses are this slot's, which is not touched before its event has been
        // seen; or the caller's, who promised the same.
        unsafe {
            match (start, keys) {
                (Start::Hash(Midstate::Sm3(start)), _) => {
                    kernels.sm3.hash_many(&self.stream, start, &messages, workspace, out)?;
                }
                (Start::Hash(Midstate::Sha3(start)), _) => {
                    let sha3 = kernels.sha3()?;
                    sha3.hash_many(&self.stream, start, &messages, workspace, out)?;
                }
                (Start::Hmac, keys) => {
                    let keys = keys.expect("made for it");
                    kernels.sm3.hmac_many(&self.stream, &keys, &messages, workspace, out)?;
                }
            }
        }
        let bytes = messages.count * self.digest_len;
        // SAFETY: as above.
        unsafe {
            if self.device_digests.is_some() {
                driver.copy_out(self.digests.as_mut_ptr(), out, bytes, stream)?;
            }
            if is_secret(start) {
                if let Some(data) = &self.data {
                    driver.fill(data.pointer(), 0, self.used, stream)?;
                }
                if let Some(digests) = &self.device_digests {
                    driver.fill(digests.pointer(), 0, bytes, stream)?;
                }
            }
        }
        self.done.record(&self.stream)
    }
}

/// Whether what the batch leaves behind must be wiped at once: keys, or what follows a prefix that
/// may be one.
fn is_secret(start: Start) -> bool {
    match start {
        Start::Hash(start) => start.prefix_len() > 0,
        Start::Hmac => true,
    }
}

/// How many leading messages of a table of offsets fit into `room` bytes; where their bytes start
/// and end.
pub(super) fn fitting<T: Copy + TryInto<usize>>(
    offsets: &[T],
    room: usize,
    max: usize,
) -> (usize, usize, usize) {
    // They are offsets into a slice.
    let at = |index: usize| offsets[index].try_into().ok().expect("fits the address space");
    if offsets.is_empty() {
        return (0, 0, 0);
    }
    let start = at(0);
    let within = offsets.partition_point(|&offset| {
        offset.try_into().ok().is_some_and(|offset: usize| offset - start <= room)
    });
    let count = (within - 1).min(max);
    (count, start, at(count))
}

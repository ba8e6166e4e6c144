//! One batch under way: filled, submitted, waited for.
#![allow(unsafe_code)]

use std::{
    fmt,
    hint::spin_loop,
    marker::PhantomData,
    thread,
    time::{Duration, Instant},
};

use manylane::{
    Messages, Shape,
    sm3::{self, Midstate},
};
use zeroize::Zeroize as _;

use super::{Ring, RingConfig, Start, layout::Rows};
use crate::{
    DeviceBuffer, DeviceMessages, DevicePointer, Error, Event, Gpu, Layout, PinnedBuffer, Stream,
    Workspace,
};

/// What kernels may read past the end of the messages: up to the next multiple of 16 bytes.
const READABLE: usize = 16;

/// Keys start at a multiple of this, after the messages.
const KEY_ALIGN: usize = 16;

/// How long a wait spins before it sleeps: about as long as a small batch takes.
const SPIN: Duration = Duration::from_micros(20);

/// How long it sleeps between looks.
const NAP: Duration = Duration::from_micros(30);

/// Where the messages, or the keys, of a slot lie in its memory.
#[derive(Clone, Copy, Debug)]
enum Loaded {
    Rows { rows: Rows, count: usize },
    /// By the slot's table of offsets.
    Offsets { count: usize },
}

impl Loaded {
    const NONE: Loaded = Loaded::Offsets { count: 0 };

    fn count(self) -> usize {
        match self {
            Loaded::Rows { count, .. } | Loaded::Offsets { count } => count,
        }
    }
}

/// Byte offsets, from the start of what they count in.
struct Table {
    host: PinnedBuffer,
    device: Option<DeviceBuffer>,
}

impl Table {
    fn new(gpu: &Gpu, max_messages: usize) -> Result<Self, Error> {
        let bytes = (max_messages + 1) * size_of::<u32>();
        let device = device_buffer(gpu, bytes)?;
        Ok(Table { host: PinnedBuffer::new(gpu, bytes)?, device })
    }

    fn get(&self, index: usize) -> usize {
        u32::from_ne_bytes(self.host.as_chunks().0[index]) as usize
    }

    fn set(&mut self, index: usize, offset: usize) {
        // Slots are smaller than 2 GiB.
        self.host.as_chunks_mut().0[index] = (offset as u32).to_ne_bytes();
    }

    fn set_all(&mut self, offsets: impl Iterator<Item = usize>) {
        for (bytes, offset) in self.host.as_chunks_mut().0.iter_mut().zip(offsets) {
            *bytes = (offset as u32).to_ne_bytes();
        }
    }
}

/// Memory on the device; none if it reads the host's in place.
fn device_buffer(gpu: &Gpu, bytes: usize) -> Result<Option<DeviceBuffer>, Error> {
    (!gpu.info().integrated).then(|| DeviceBuffer::new(gpu, bytes)).transpose()
}

/// A slot's memory, kept from batch to batch.
pub(super) struct Buffers {
    // In the order in which they must go: the stream has to end before its memory does.
    done: Event,
    stream: Stream,
    /// Messages, then keys. Allocated when something is first copied in through it.
    staging: Option<PinnedBuffer>,
    data: Option<DeviceBuffer>,
    messages: Table,
    /// For HMAC only.
    keys: Option<Table>,
    digests: PinnedBuffer,
    device_digests: Option<DeviceBuffer>,
    workspace: Workspace,
    /// Bytes of the batch.
    used: usize,
    loaded: Loaded,
    loaded_keys: Loaded,
    /// Where the keys begin.
    keys_at: usize,
    capacity: usize,
    max_messages: usize,
}

impl Buffers {
    pub(super) fn new(gpu: &Gpu, config: &RingConfig) -> Result<Box<Self>, Error> {
        let RingConfig { slot_bytes, max_messages, .. } = *config;
        let digest_bytes = max_messages * sm3::DIGEST_LEN;
        Ok(Box::new(Buffers {
            done: Event::new(gpu)?,
            stream: Stream::new(gpu)?,
            staging: None,
            data: device_buffer(gpu, slot_bytes + READABLE)?,
            messages: Table::new(gpu, max_messages)?,
            keys: None,
            digests: PinnedBuffer::new(gpu, digest_bytes)?,
            device_digests: device_buffer(gpu, digest_bytes)?,
            workspace: Workspace::new(gpu, max_messages)?,
            used: 0,
            loaded: Loaded::NONE,
            loaded_keys: Loaded::NONE,
            keys_at: 0,
            capacity: slot_bytes,
            max_messages,
        }))
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

    fn staging(&mut self) -> Result<&mut PinnedBuffer, Error> {
        if self.staging.is_none() {
            self.staging = Some(PinnedBuffer::new(self.stream.gpu(), self.capacity + READABLE)?);
        }
        Ok(self.staging.as_mut().expect("just made"))
    }

    /// Copies as many leading messages as fit to `at` of the staging memory, and says where they
    /// lie and what they take.
    fn stage(
        &mut self,
        messages: &Messages,
        at: usize,
        keys: bool,
    ) -> Result<(Loaded, usize), Error> {
        let room = self.capacity.saturating_sub(at);
        let max = self.max_messages;
        self.staging()?;
        if keys && self.keys.is_none() {
            self.keys = Some(Table::new(self.stream.gpu(), max)?);
        }
        let table = if keys { self.keys.as_mut().expect("just made") } else { &mut self.messages };
        let staging = &mut self.staging.as_mut().expect("just made")[at..][..room];
        Ok(match messages.shape() {
            Shape::Strided { data, len, stride, count } => {
                let rows = Rows::of(len, stride, count);
                let count = rows.fitting(room).min(count).min(max);
                let bytes = rows.bytes(count);
                if rows.is_as_it_lies() {
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
        })
    }

    /// Message `index` of the staging memory; or key `index`, if `keys`.
    fn staged(&self, index: usize, keys: bool) -> &[u8] {
        let staging = self.staging.as_deref().unwrap_or_default();
        let (loaded, at) =
            if keys { (self.loaded_keys, self.keys_at) } else { (self.loaded, 0) };
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
    fn send_table(&self, table: &Table, count: usize) -> Result<DevicePointer, Error> {
        let Some(device) = &table.device else { return table.host.on_device() };
        let bytes = (count + 1) * size_of::<u32>();
        // SAFETY: both hold `max_messages + 1` offsets, and neither is touched before the slot's
        // event has been seen.
        unsafe {
            let driver = self.stream.gpu().bound()?;
            let from = table.host.as_ptr();
            driver.copy_in(device.pointer(), from, bytes, self.stream.handle())?;
        }
        Ok(device.pointer())
    }

    /// The messages, or the keys, as the kernels want them; `data` is where they begin.
    fn on_device(&self, data: DevicePointer, keys: bool) -> Result<DeviceMessages, Error> {
        let loaded = if keys { self.loaded_keys } else { self.loaded };
        let count = loaded.count();
        let layout = match loaded {
            Loaded::Rows { rows, .. } => {
                Layout::Strided { data, len: rows.len() as u64, stride: rows.pitch() as u64 }
            }
            Loaded::Offsets { .. } => {
                let table = if keys { self.keys.as_ref() } else { Some(&self.messages) };
                let offsets = self.send_table(table.expect("filled with the keys"), count)?;
                Layout::Offsets32 { data, offsets, base: 0 }
            }
        };
        Ok(DeviceMessages { count, layout })
    }

    /// Enqueues the copy of what is staged, and says where the device finds it.
    fn send_staged(&mut self) -> Result<DevicePointer, Error> {
        let used = self.used;
        self.staging()?;
        let staging = self.staging.as_ref().expect("just made");
        let Some(data) = &self.data else { return staging.on_device() };
        // SAFETY: both hold `capacity` bytes, and neither is touched before the slot's event has
        // been seen.
        unsafe {
            let driver = self.stream.gpu().bound()?;
            driver.copy_in(data.pointer(), staging.as_ptr(), used, self.stream.handle())?;
        }
        Ok(data.pointer())
    }

    /// Enqueues the copy of `used` bytes of the caller's page-locked memory, or of its rows.
    ///
    /// # Safety
    /// The memory must stay as it is until the slot's event has been seen.
    unsafe fn send_pinned(&self, from: &[u8], stride: usize) -> Result<DevicePointer, Error> {
        let driver = self.stream.gpu().bound()?;
        let stream = self.stream.handle();
        let Some(data) = &self.data else {
            // SAFETY: page-locked, as the caller found.
            return unsafe { driver.host_as_device(from.as_ptr()) };
        };
        let to = data.pointer();
        // SAFETY: the slot holds `capacity` bytes, of which `used` were found to fit; the rest is
        // this function's contract.
        unsafe {
            match self.loaded {
                Loaded::Rows { rows, count } if !rows.is_as_it_lies() => driver.copy_in_rows(
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
    fn enqueue(&mut self, sm3: &crate::Sm3, start: Start, data: DevicePointer) -> Result<(), Error> {
        let messages = self.on_device(data, false)?;
        let driver = self.stream.gpu().bound()?;
        let stream = self.stream.handle();
        let out = match &self.device_digests {
            Some(buffer) => buffer.pointer(),
            None => self.digests.on_device()?,
        };
        let workspace = Some(&mut self.workspace);
        match start {
            // SAFETY: all addresses are this slot's, which is not touched before its event has
            // been seen; or the caller's, who promised the same.
            Start::Hash(start) => unsafe {
                sm3.hash_many(&self.stream, start, &messages, workspace, out)?;
            },
            Start::Hmac => {
                let keys = self.on_device(data.add(self.keys_at), true)?;
                let workspace = Some(&mut self.workspace);
                // SAFETY: as above.
                unsafe { sm3.hmac_many(&self.stream, &keys, &messages, workspace, out)? }
            }
        }
        let bytes = messages.count * sm3::DIGEST_LEN;
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
fn fitting<T: Copy + TryInto<usize>>(
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

/// A slot that nobody else has: to be filled and submitted. Dropped, it goes back as it is.
pub struct Slot {
    ring: Ring,
    /// `None` once it is handed on.
    buffers: Option<Box<Buffers>>,
}

impl Slot {
    pub(super) fn of(ring: Ring, buffers: Box<Buffers>) -> Self {
        Slot { ring, buffers: Some(buffers) }
    }

    fn buffers(&self) -> &Buffers {
        self.buffers.as_ref().expect("taken only by value")
    }

    fn buffers_mut(&mut self) -> &mut Buffers {
        self.buffers.as_mut().expect("taken only by value")
    }

    /// Fills it with copies of as many of the first messages as fit, instead of what it holds, and
    /// says how many. None fit if the first is longer than the slot.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] when the staging memory is first allocated, or what the driver says.
    pub fn load(&mut self, messages: &Messages) -> Result<usize, Error> {
        let buffers = self.buffers_mut();
        buffers.clear();
        (buffers.loaded, buffers.used) = buffers.stage(messages, 0, false)?;
        Ok(buffers.loaded.count())
    }

    /// The same with a key for each message, for [`Start::Hmac`].
    ///
    /// # Errors
    /// As for [`load`](Self::load); [`Error::Input`] unless there are as many keys as messages.
    pub fn load_hmac(&mut self, keys: &Messages, messages: &Messages) -> Result<usize, Error> {
        if keys.len() != messages.len() {
            let (keys, messages) = (keys.len(), messages.len());
            return Err(manylane::Error::CountMismatch { keys, messages }.into());
        }
        let buffers = self.buffers_mut();
        buffers.clear();
        // Fewer messages until their keys fit too; each try takes at most half as many.
        let mut some = *messages;
        loop {
            let (loaded, used) = buffers.stage(&some, 0, false)?;
            let count = loaded.count();
            let at = used.next_multiple_of(KEY_ALIGN);
            let (loaded_keys, used_keys) = buffers.stage(&keys.range(0, count), at, true)?;
            if loaded_keys.count() == count {
                buffers.loaded = loaded;
                buffers.loaded_keys = loaded_keys;
                buffers.keys_at = at;
                buffers.used = if count == 0 { 0 } else { at + used_keys };
                return Ok(count);
            }
            some = messages.range(0, loaded_keys.count().min(count / 2));
        }
    }

    /// Staging memory that is free, for the next message. Not to be mixed with `load`.
    ///
    /// # Errors
    /// As for [`load`](Self::load).
    pub fn space(&mut self) -> Result<&mut [u8], Error> {
        let buffers = self.buffers_mut();
        let (used, capacity) = (buffers.used, buffers.capacity);
        Ok(&mut buffers.staging()?[used..capacity])
    }

    /// Takes the first `len` bytes of [`space`](Self::space) for the next message.
    ///
    /// # Panics
    /// If there are not so many, or [the slot is full](Self::is_full).
    pub fn push(&mut self, len: usize) {
        assert!(!self.is_full(), "the slot is full");
        let buffers = self.buffers_mut();
        assert!(len <= buffers.capacity - buffers.used, "{len} bytes do not fit");
        let count = buffers.loaded.count();
        if count == 0 {
            buffers.messages.set(0, 0);
        }
        buffers.used += len;
        buffers.messages.set(count + 1, buffers.used);
        buffers.loaded = Loaded::Offsets { count: count + 1 };
    }

    /// Messages in it.
    pub fn len(&self) -> usize {
        self.buffers().loaded.count()
    }

    /// Whether there are no messages in it.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of messages and keys in it.
    pub fn bytes(&self) -> usize {
        self.buffers().used
    }

    /// Whether it holds as many messages as it can.
    pub fn is_full(&self) -> bool {
        self.len() == self.buffers().max_messages
    }

    /// Sends it on its way: copy in, compute, copy out. Returns without waiting.
    ///
    /// # Errors
    /// What the driver says; then the ring is lost.
    ///
    /// # Panics
    /// On [`Start::Hmac`] unless filled by [`load_hmac`](Self::load_hmac).
    pub fn submit(mut self, start: Start) -> Result<Pending<'static>, Error> {
        let keys = self.buffers().loaded_keys.count();
        let with_keys = matches!(start, Start::Hmac);
        assert!(!with_keys || keys == self.len(), "{keys} keys for {} messages", self.len());
        self.send(start, None, |buffers| buffers.send_staged())
    }

    /// Sends as many of the first messages as fit on their way, straight from the caller's
    /// memory, which has to be page-locked ([`Gpu::is_pinned`]), and says how many. Slices, and
    /// messages whose keys are their own, are staged instead.
    ///
    /// # Errors
    /// What the driver says; then the ring is lost. After that, and if the returned value is
    /// leaked, the device may go on reading the memory: it must not be unmapped before the
    /// process ends.
    ///
    /// # Panics
    /// On [`Start::Hmac`].
    pub fn submit_pinned<'a>(
        mut self,
        start: Start,
        messages: &Messages<'a>,
    ) -> Result<(Pending<'a>, usize), Error> {
        assert!(matches!(start, Start::Hash(_)), "keys are staged");
        let buffers = self.buffers_mut();
        buffers.clear();
        let (room, max) = (buffers.capacity, buffers.max_messages);
        let (from, stride) = match messages.shape() {
            Shape::Strided { data, len, stride, count } => {
                let rows = Rows::of(len, stride, count);
                let count = rows.fitting(room).min(count).min(max);
                buffers.loaded = Loaded::Rows { rows, count };
                buffers.used = rows.bytes(count);
                (data, stride)
            }
            Shape::Offsets32 { data, offsets } => {
                let (count, start, end) = fitting(offsets, room, max);
                let relative = offsets.iter().map(|&offset| offset as usize - start);
                buffers.messages.set_all(relative.take(count + 1));
                buffers.loaded = Loaded::Offsets { count };
                buffers.used = end - start;
                (&data[start..end], 0)
            }
            Shape::Offsets64 { data, offsets } => {
                let (count, start, end) = fitting(offsets, room, max);
                let relative = offsets.iter().map(|&offset| offset as usize - start);
                buffers.messages.set_all(relative.take(count + 1));
                buffers.loaded = Loaded::Offsets { count };
                buffers.used = end - start;
                (&data[start..end], 0)
            }
            _ => {
                let count = self.load(messages)?;
                return Ok((self.submit(start)?, count));
            }
        };
        let count = self.len();
        let source = messages.range(0, count);
        // SAFETY: the result borrows the messages, and waits for the device when it is dropped.
        let pending = self.send(start, Some(source), |buffers| unsafe {
            buffers.send_pinned(from, stride)
        })?;
        Ok((pending, count))
    }

    fn send<'a>(
        &mut self,
        start: Start,
        source: Option<Messages<'a>>,
        send: impl FnOnce(&mut Buffers) -> Result<DevicePointer, Error>,
    ) -> Result<Pending<'a>, Error> {
        let ring = self.ring.clone();
        if ring.is_lost() {
            return Err(ring.lost_error());
        }
        let sm3 = &ring.0.sm3;
        let buffers = self.buffers_mut();
        if buffers.loaded.count() > 0 {
            let sent = send(buffers).and_then(|data| buffers.enqueue(sm3, start, data));
            sent.inspect_err(|_| ring.lose())?;
        }
        Ok(Pending {
            buffers: self.buffers.take(),
            start: match start {
                Start::Hash(start) => Some(start.clone()),
                Start::Hmac => None,
            },
            source,
            since: Instant::now(),
            ring,
            lifetime: PhantomData,
        })
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if let Some(buffers) = self.buffers.take() {
            self.ring.put_back(buffers);
        }
    }
}

impl fmt::Debug for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Slot({} messages of {} bytes in all)", self.len(), self.bytes())
    }
}

/// A batch under way. Dropped, it is waited for and its digests are discarded.
pub struct Pending<'a> {
    ring: Ring,
    /// `None` once it is handed on.
    buffers: Option<Box<Buffers>>,
    /// `None` for HMAC.
    start: Option<Midstate>,
    /// The messages, if they are not in the staging memory.
    source: Option<Messages<'a>>,
    since: Instant,
    lifetime: PhantomData<&'a [u8]>,
}

impl Pending<'_> {
    fn buffers(&self) -> &Buffers {
        self.buffers.as_ref().expect("taken only by value")
    }

    /// Messages in it.
    pub fn len(&self) -> usize {
        self.buffers().loaded.count()
    }

    /// Whether there are no messages in it.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether its digests are there.
    ///
    /// # Errors
    /// What the driver says, of this batch or of another: the ring is lost then.
    /// [`Error::Deadline`] likewise, if it is not done in time.
    pub fn is_done(&self) -> Result<bool, Error> {
        if self.ring.is_lost() {
            return Err(self.ring.lost_error());
        }
        if self.is_empty() {
            return Ok(true);
        }
        let done = match self.buffers().done.is_done() {
            Ok(false) if self.since.elapsed() > self.ring.0.config.deadline => {
                Err(Error::Deadline(self.since.elapsed()))
            }
            done => done,
        };
        done.inspect_err(|_| self.ring.lose())
    }

    /// Waits for the digests.
    ///
    /// # Errors
    /// As for [`is_done`](Self::is_done).
    pub fn wait(&self) -> Result<(), Error> {
        let start = Instant::now();
        while !self.is_done()? {
            if start.elapsed() < SPIN {
                spin_loop();
            } else {
                thread::sleep(NAP);
            }
        }
        Ok(())
    }

    /// Waits for the digests, checks one against the CPU, and shows them in order.
    ///
    /// # Errors
    /// As for [`is_done`](Self::is_done); [`Error::WrongResult`] if the device computed wrongly,
    /// and then the ring is lost too.
    pub fn digests(&self) -> Result<&[[u8; sm3::DIGEST_LEN]], Error> {
        self.wait()?;
        if !self.sample_is_right() {
            self.ring.lose();
            let device = self.ring.gpu().info().id.to_string();
            return Err(Error::WrongResult { kernel: "of a batch", device });
        }
        Ok(&self.buffers().digests.as_chunks().0[..self.len()])
    }

    /// Message `index`, where it was put or where the caller has it: to compute it elsewhere, also
    /// after an error.
    ///
    /// # Panics
    /// If there are not so many.
    pub fn message(&self, index: usize) -> &[u8] {
        assert!(index < self.len(), "message {index} of {}", self.len());
        match &self.source {
            Some(messages) => messages.get(index),
            None => self.buffers().staged(index, false),
        }
    }

    /// Waits for the digests, checks one against the CPU, and writes them in order; gives the slot
    /// back, empty.
    ///
    /// # Errors
    /// As for [`digests`](Self::digests). Nothing was written.
    ///
    /// # Panics
    /// Unless `out.len() == self.len()`.
    pub fn finish(mut self, out: &mut [[u8; sm3::DIGEST_LEN]]) -> Result<Slot, Error> {
        assert_eq!(out.len(), self.len(), "room for each digest");
        out.copy_from_slice(self.digests()?);
        let mut buffers = self.buffers.take().expect("taken only by value");
        self.clean(&mut buffers);
        buffers.clear();
        Ok(Slot::of(self.ring.clone(), buffers))
    }

    /// Compares the digest of one message with the CPU's: the shortest of a few, lest a check take
    /// longer than the batch.
    fn sample_is_right(&self) -> bool {
        let count = self.len();
        if count == 0 {
            return true;
        }
        let buffers = self.buffers();
        // Nanoseconds are as good as random here.
        let seed = self.since.elapsed().as_nanos() as usize;
        let picks = [seed, seed / 7, seed / 61, seed / 997].map(|number| number % count);
        let index = picks.into_iter().min_by_key(|&index| self.message(index).len()).expect("four");
        let mut expected = [[0; sm3::DIGEST_LEN]];
        match &self.start {
            Some(start) => expected[0] = start.finish(self.message(index)),
            None => {
                let key = [buffers.staged(index, true)];
                let message = [self.message(index)];
                let keys = Messages::slices(&key);
                sm3::hmac_many(&keys, &Messages::slices(&message), &mut expected)
                    .expect("one of each");
            }
        }
        let got = &buffers.digests.as_chunks().0[index];
        let right = *got == expected[0];
        expected[0].zeroize();
        right
    }

    /// Wipes what a secret batch left behind in the host's memory.
    fn clean(&self, buffers: &mut Buffers) {
        if self.start.as_ref().is_some_and(|start| start.prefix_len() == 0) {
            return;
        }
        let (used, count) = (buffers.used, buffers.loaded.count());
        if let Some(staging) = &mut buffers.staging {
            staging[..used.min(self.ring.0.config.slot_bytes)].zeroize();
        }
        buffers.digests[..count * sm3::DIGEST_LEN].zeroize();
    }
}

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        if let Some(mut buffers) = self.buffers.take() {
            // On a lost ring it may never be done, and its memory stays out of use anyway.
            if !self.ring.is_lost() && !buffers_are_idle(&buffers, self.since, &self.ring) {
                self.ring.lose();
            }
            self.clean(&mut buffers);
            self.ring.put_back(buffers);
        }
    }
}

/// Waits until the device is done with them, up to the deadline; says whether it is.
fn buffers_are_idle(buffers: &Buffers, since: Instant, ring: &Ring) -> bool {
    if buffers.loaded.count() == 0 {
        return true;
    }
    loop {
        match buffers.done.is_done() {
            Ok(true) => return true,
            Err(_) => return false,
            Ok(false) if since.elapsed() > ring.0.config.deadline => return false,
            Ok(false) => thread::sleep(NAP),
        }
    }
}

impl fmt::Debug for Pending<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pending({} messages)", self.len())
    }
}

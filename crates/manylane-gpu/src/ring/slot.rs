//! One batch being filled.
#![allow(unsafe_code)]

use std::{fmt, ops::Range};

use manylane::{Messages, Shape, sm3};

use super::{
    KernelSet, Pending, Ring, Shared, Start,
    buffers::{Buffers, Loaded, fitting},
    layout::Rows,
    trays::Tray,
};
use crate::{DevicePointer, Error, Stream};

/// Keys start at a multiple of this, after the messages.
const KEY_ALIGN: usize = 16;

/// A slot that nobody else has: to be filled and submitted. Dropped, it goes back, and what was
/// staged in it is wiped.
pub struct Slot {
    ring: Ring,
    /// `None` once it is handed on.
    buffers: Option<Box<Buffers>>,
}

impl Slot {
    pub(super) fn of(ring: Ring, mut buffers: Box<Buffers>) -> Self {
        buffers.digest_len = sm3::DIGEST_LEN;
        Slot { ring, buffers: Some(buffers) }
    }

    fn buffers(&self) -> &Buffers {
        self.buffers.as_ref().expect("taken only by value")
    }

    fn buffers_mut(&mut self) -> &mut Buffers {
        self.buffers.as_mut().expect("taken only by value")
    }

    /// Keeps room for digests of so many bytes, before messages are [loaded](Self::load): as many as
    /// SM3's have is what it keeps otherwise, and fewer messages fit with longer ones.
    ///
    /// # Panics
    /// If that is zero.
    pub fn with_digest_len(mut self, len: usize) -> Self {
        self.set_digest_len(len);
        self
    }

    pub(super) fn set_digest_len(&mut self, len: usize) {
        assert!(len > 0, "digests of no bytes");
        self.buffers_mut().digest_len = len;
    }

    /// Fills it with copies of as many of the first messages as fit, instead of what it holds, and
    /// says how many. None fit if the first is longer than the slot.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] when the staging memory is first allocated, or what the driver says.
    pub fn load(&mut self, messages: &Messages) -> Result<usize, Error> {
        self.ring.check_process()?;
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
        self.ring.check_process()?;
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

    /// Its staging memory, all of it, which [`load`](Self::load) fills: allocated on first use, which
    /// takes milliseconds. What else is written there is wiped with the ring, not with the batch.
    ///
    /// # Errors
    /// As for [`load`](Self::load).
    pub fn staging(&mut self) -> Result<&mut [u8], Error> {
        self.ring.check_process()?;
        let buffers = self.buffers_mut();
        let capacity = buffers.capacity;
        Ok(&mut buffers.staging()?[..capacity])
    }

    /// Makes it empty.
    pub(super) fn clear(&mut self) -> Result<(), Error> {
        self.ring.check_usable()?;
        let buffers = self.buffers_mut();
        buffers.wipe_written();
        buffers.clear();
        Ok(())
    }

    pub(super) fn ring(&self) -> &Ring {
        &self.ring
    }

    /// Whether the device reads the staging memory in place.
    pub(super) fn in_place(&self) -> bool {
        self.buffers().in_place()
    }

    /// Bytes of messages that still fit.
    pub(super) fn room(&self) -> usize {
        self.buffers().capacity - self.buffers().used
    }

    /// Messages that still fit.
    pub(super) fn left(&self) -> usize {
        self.buffers().most() - self.len()
    }

    /// Adds a message of so many bytes, which follows the others.
    ///
    /// # Panics
    /// If there is no room for it.
    pub(super) fn push(&mut self, len: usize) {
        assert!(!self.is_full(), "the slot is full");
        assert!(len <= self.room(), "{len} bytes do not fit");
        let buffers = self.buffers_mut();
        let count = buffers.loaded.count();
        if count == 0 {
            buffers.messages.set(0, 0);
        }
        buffers.used += len;
        buffers.messages.set(count + 1, buffers.used);
        buffers.loaded = Loaded::Offsets { count: count + 1 };
        if buffers.in_place() {
            buffers.written = buffers.written.max(buffers.used);
        }
    }

    /// Sends a tray on its way, to byte `at` of the batch.
    pub(super) fn send_tray(&self, tray: Tray, at: usize, secret: bool) -> Result<(), Error> {
        self.ring.send_tray(tray, self.buffers(), at, secret)
    }

    /// Where a message that was [pushed](Self::push) lies, in bytes of the batch.
    pub(super) fn message_range(&self, index: usize) -> Range<usize> {
        let table = &self.buffers().messages;
        table.get(index)..table.get(index + 1)
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
        self.len() == self.buffers().most()
    }

    /// Sends it on its way: copy in, compute, copy out. Returns without waiting.
    ///
    /// # Errors
    /// As for [`Ring::load`]; what the driver says, and then the ring is lost.
    ///
    /// # Panics
    /// On [`Start::Hmac`] unless filled by [`load_hmac`](Self::load_hmac); if digests have another
    /// length than [it keeps room for](Self::with_digest_len).
    pub fn submit(mut self, start: Start) -> Result<Pending<'static>, Error> {
        let keys = self.buffers().loaded_keys.count();
        let with_keys = matches!(start, Start::Hmac);
        assert!(!with_keys || keys == self.len(), "{keys} keys for {} messages", self.len());
        self.send_staged(start)
    }

    pub(super) fn send_staged(&mut self, start: Start) -> Result<Pending<'static>, Error> {
        self.send(start, None, |buffers, copies| buffers.send_staged(copies))
    }

    /// The same where the messages were sent before, by trays.
    pub(super) fn send_sent(&mut self, start: Start) -> Result<Pending<'static>, Error> {
        self.send(start, None, |buffers, _| buffers.messages_on_device())
    }

    /// [Loads](Self::load) as many of the first messages as fit, [sends](Self::submit) them on their
    /// way, and says how many. The digest that is checked is then of the caller's message itself: a
    /// copy that went wrong on the host is found too.
    ///
    /// # Errors
    /// As for [`load`](Self::load) and [`submit`](Self::submit).
    ///
    /// # Panics
    /// On [`Start::Hmac`].
    pub fn submit_copies<'a>(
        mut self,
        start: Start,
        messages: &Messages<'a>,
    ) -> Result<(Pending<'a>, usize), Error> {
        self.set_digest_len(start.digest_len());
        assert!(matches!(start, Start::Hash(_)), "keys are loaded too");
        let count = self.load(messages)?;
        let source = Some(messages.range(0, count));
        Ok((self.send(start, source, |buffers, copies| buffers.send_staged(copies))?, count))
    }

    /// Sends as many of the first messages as fit on their way, straight from the caller's
    /// memory, which has to be page-locked ([`Gpu::is_pinned`](crate::Gpu::is_pinned)), and says how many. Slices, and
    /// messages that the driver refuses to copy from where they are, are copied by this thread instead.
    ///
    /// # Errors
    /// As for [`Ring::load`]; what the driver says, and then the ring is lost. After that, and if the returned value is
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
        self.ring.check_usable()?;
        self.set_digest_len(start.digest_len());
        let buffers = self.buffers_mut();
        buffers.clear();
        let (room, max) = (buffers.capacity, buffers.most());
        let (from, stride) = match messages.shape() {
            Shape::Strided { data, len, stride, count } => {
                let rows = match buffers.in_place() {
                    true => Rows::in_place(len, stride),
                    false => Rows::of(len, stride, count),
                };
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
            _ => return self.submit_copies(start, messages),
        };
        let count = self.len();
        let data = match count {
            0 => Ok(DevicePointer(0)),
            // SAFETY: the result borrows the messages, and waits for the device when it is dropped;
            // an error was the call's, and nothing is under way.
            _ => unsafe { self.buffers().send_pinned(from, stride, &self.ring.0.copies) },
        };
        // Only in part page-locked, or further apart than the driver copies.
        if data.as_ref().is_err_and(Error::is_refusal) {
            return self.submit_copies(start, messages);
        }
        let source = messages.range(0, count);
        Ok((self.send(start, Some(source), |_, _| data)?, count))
    }

    fn send<'a>(
        &mut self,
        start: Start,
        source: Option<Messages<'a>>,
        send: impl FnOnce(&mut Buffers, &Stream) -> Result<DevicePointer, Error>,
    ) -> Result<Pending<'a>, Error> {
        let ring = self.ring.clone();
        ring.check_usable()?;
        assert_eq!(start.digest_len(), self.buffers().digest_len, "room for each digest");
        let Shared { kernels, copies, .. } = &*ring.0;
        if let Start::Hash(start) = start {
            ring.load(KernelSet::of(start))?;
        }
        let buffers = self.buffers_mut();
        if buffers.loaded.count() > 0 {
            let sent = send(buffers, copies);
            let sent = sent.and_then(|data| buffers.enqueue(kernels, start, data, copies));
            sent.inspect_err(|_| ring.lose())?;
        }
        let buffers = self.buffers.take().expect("taken only by value");
        Ok(Pending::new(ring, buffers, start, source))
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

//! A batch that is filled message by message.

use std::{
    fmt,
    hash::{BuildHasher as _, RandomState},
};

use manylane::hash::Midstate;

use super::{
    Pending, Slot, Start,
    sample::{self, CANARY_LEN, Sample},
    trays::Tray,
};
use crate::Error;

/// A slot that messages are put into one after another, as they are read: each is where the device
/// copies it from, and soon on its way there, so that little of the host's memory is in use.
///
/// What a device fails to do must be read again: nothing is kept of messages that were sent, but the
/// digest of one to check the device's by. Dropped, the slot goes back.
pub struct Filling<'s> {
    slot: Slot,
    start: &'s Midstate,
    /// Where the next messages are put; not used where the device reads the host's memory in place.
    part: Option<Part>,
    /// The one before, until there is a message after it: so the last to be sent is never empty, and
    /// one of its messages can be checked, if none before was.
    full: Option<Part>,
    /// From how many bytes on one is to be checked.
    check_from: usize,
    sample: Option<Sample>,
}

/// Messages of a batch that are in one tray.
struct Part {
    tray: Tray,
    /// The first of them, and the byte of the batch where it begins.
    first: usize,
    at: usize,
    count: usize,
}

impl Slot {
    /// Makes it a batch to be filled one by one, of about so many bytes in all: of each message, the
    /// midstate's function of its prefix followed by it is computed. What the slot holds is lost.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if there is no page-locked memory for messages, or what the driver
    /// says: the ring is lost. [`Error::Forked`] in a child of the process that made the ring.
    pub fn fill(mut self, start: &Midstate, about: usize) -> Result<Filling<'_>, Error> {
        self.clear()?;
        self.set_digest_len(start.digest_len());
        if self.in_place() {
            self.staging()?;
        }
        let random = RandomState::new().hash_one(about);
        // Any message may be the one, and a batch that ends early has one too.
        let check_from = (random % (about as u64).max(1)) as usize;
        let mut filling =
            Filling { slot: self, start, part: None, full: None, check_from, sample: None };
        filling.have_tray()?;
        Ok(filling)
    }
}

impl Filling<'_> {
    /// Makes sure of a tray, if the slot needs one and there is one.
    fn have_tray(&mut self) -> Result<(), Error> {
        if self.part.is_none() && !self.slot.in_place() {
            let (first, at) = (self.slot.len(), self.slot.bytes());
            let tray = self.slot.ring().take_tray()?;
            self.part = tray.map(|tray| Part { tray, first, at, count: 0 });
        }
        Ok(())
    }

    /// Memory for the next message, `least` bytes or more; `None` if the batch is full, or
    /// others are filling all memory that there is. What is written there and not
    /// [pushed](Self::push) is wiped with the ring, not with the batch.
    ///
    /// # Errors
    /// What the driver says: the ring is lost. [`Error::Forked`] in a child of the process that made the
    /// ring.
    ///
    /// # Panics
    /// If `least` is more than [`RingConfig::tray_bytes`](super::RingConfig::tray_bytes).
    pub fn space(&mut self, least: usize) -> Result<Option<&mut [u8]>, Error> {
        let most = self.slot.ring().config().tray_bytes;
        assert!(least <= most, "{least} bytes at a time, of {most}");
        let room = self.slot.room().saturating_sub(CANARY_LEN);
        if self.slot.left() <= 1 || room < least {
            return Ok(None);
        }
        if self.slot.in_place() {
            let used = self.slot.bytes();
            return Ok(Some(&mut self.slot.staging()?[used..]));
        }
        if self.part.as_ref().is_some_and(|part| part.count > 0) {
            self.send_full()?;
            self.full = self.part.take_if(|part| part.tray.room() < least);
        }
        self.have_tray()?;
        Ok(self.part.as_mut().map(|Part { tray, .. }| {
            let len = tray.room().min(room);
            &mut tray.memory[tray.used..][..len]
        }))
    }

    /// Takes the first `len` bytes of [`space`](Self::space) for the next message.
    ///
    /// # Panics
    /// If there are not so many, or the batch is full.
    pub fn push(&mut self, len: usize) {
        self.slot.push(len);
        if let Some(Part { tray, count, .. }) = &mut self.part {
            assert!(len <= tray.room(), "{len} bytes do not fit");
            tray.used += len;
            *count += 1;
        }
    }

    /// Messages in it.
    pub fn len(&self) -> usize {
        self.slot.len()
    }

    /// Whether there are no messages in it.
    pub fn is_empty(&self) -> bool {
        self.slot.is_empty()
    }

    /// Bytes of messages in it.
    pub fn bytes(&self) -> usize {
        self.slot.bytes()
    }

    /// Sends the one before on its way. If that fails the other stays here, to be put back: to free
    /// memory of a device that hangs would wait for ever.
    fn send_full(&mut self) -> Result<(), Error> {
        self.full.take().map_or(Ok(()), |full| self.send(full))
    }

    /// Sends what is in a tray on its way.
    fn send(&mut self, part: Part) -> Result<(), Error> {
        let end = part.at + part.tray.used;
        if self.sample.is_none() && end >= self.check_from {
            self.sample = self.choose(&part);
        }
        self.slot.send_tray(part.tray, part.at, self.start.prefix_len() > 0)
    }

    /// Computes the digest of one of the messages, unless all are long.
    fn choose(&self, part: &Part) -> Option<Sample> {
        let range = |index| self.slot.message_range(part.first + index);
        let index =
            sample::choose(part.count, self.slot.bytes(), |index| range(index).len()).ok()?;
        let range = range(index);
        let message = &part.tray.memory[range.start - part.at..range.end - part.at];
        Some(Sample::of(part.first + index, self.start, message))
    }

    /// Sends the rest on its way, and lets the device compute. Returns without waiting.
    ///
    /// # Errors
    /// As for [`Ring::load`](super::Ring::load); what the driver says, and then the ring is lost.
    pub fn submit(mut self) -> Result<Pending<'static>, Error> {
        if self.slot.in_place() {
            return self.slot.send_staged(Start::Hash(self.start));
        }
        if self.part.as_ref().is_some_and(|part| part.count > 0) {
            self.send_full()?;
            self.full = self.part.take();
        }
        let mut last = self.full.take();
        let mut has_canary = false;
        if let Some(last) = &mut last {
            if self.sample.is_none() {
                self.sample = self.choose(last);
            }
            if self.sample.is_none() {
                self.sample = Some(self.add_canary(last));
                has_canary = true;
            }
        }
        if let Some(last) = last {
            self.send(last)?;
        }
        let pending = self.slot.send_sent(Start::Hash(self.start))?;
        Ok(pending.sampled(self.sample.take(), has_canary))
    }

    /// Adds a message of nobody's: what goes wrong with a whole batch goes wrong with it too.
    fn add_canary(&mut self, part: &mut Part) -> Sample {
        let (index, canary) = (self.slot.len(), sample::canary());
        part.tray.memory[part.tray.used..][..CANARY_LEN].copy_from_slice(&canary);
        part.tray.used += CANARY_LEN;
        part.count += 1;
        self.slot.push(CANARY_LEN);
        Sample::of(index, self.start, &canary)
    }
}

impl Drop for Filling<'_> {
    fn drop(&mut self) {
        for part in [self.full.take(), self.part.take()].into_iter().flatten() {
            self.slot.ring().put_back_tray(part.tray);
        }
    }
}

impl fmt::Debug for Filling<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Filling({} messages of {} bytes in all)", self.len(), self.bytes())
    }
}

//! Small page-locked memory through which messages go to the device while a batch is being filled.
//!
//! What is staged in slots is written and read once a batch, and with dozens of slots under way it
//! goes to the host's memory and comes back from there for the bus. A tray is free again as soon as
//! the device has its copy, so a few are used again and again and stay in the cache. Measured where
//! sixteen threads read files of 128 KiB beside an H100: 37 to 42 GB/s through slots, 50 through
//! trays of 2 MiB, of 54 that the bus carries; through trays of half or twice that size less.

use std::{
    collections::VecDeque,
    mem, thread,
    time::{Duration, Instant},
};

use zeroize::Zeroize as _;

use super::{Ring, buffers::Buffers, sample::CANARY_LEN};
use crate::{Error, Event, PinnedBuffer, runtime::lock};

/// How long to wait between looks for one that is copied: half of what the copy takes.
const NAP: Duration = Duration::from_micros(20);

/// How many trays are asked for at a time.
const ASK_FOR: usize = 4;

/// Memory that messages are put into, one after another.
pub(super) struct Tray {
    // In the order in which they must go.
    copied: Event,
    pub(super) memory: PinnedBuffer,
    /// Bytes of messages in it.
    pub(super) used: usize,
    /// Whether these must be wiped as soon as they are copied.
    secret: bool,
    /// When it was sent.
    since: Instant,
}

impl Tray {
    /// Bytes of messages that still fit.
    pub(super) fn room(&self) -> usize {
        self.memory.len() - CANARY_LEN - self.used
    }

    fn wipe(&mut self) {
        self.memory[..mem::take(&mut self.used)].zeroize();
    }
}

/// All trays of a ring but those that are being filled.
#[derive(Default)]
pub(super) struct Trays {
    /// The last is the one most likely to be in a cache.
    free: Vec<Tray>,
    /// On their way to the device, in order.
    sent: VecDeque<Tray>,
    /// Trays that exist.
    made: usize,
    /// Whether there is no memory for more.
    memory_ended: bool,
}

impl Ring {
    /// A tray that is free, empty; waits for one that is on its way. `None` if others are filling
    /// all that there are.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if there is no memory for a single one, or what the driver says:
    /// the ring is lost.
    pub(super) fn take_tray(&self) -> Result<Option<Tray>, Error> {
        loop {
            self.check_usable()?;
            let mut trays = lock(&self.0.trays);
            if let Some(tray) = trays.free.pop() {
                return Ok(Some(tray));
            }
            if trays.made < self.0.config.trays && !trays.memory_ended {
                trays.made += 1;
                drop(trays);
                match self.make_tray() {
                    Ok(tray) => return Ok(Some(tray)),
                    Err(error) => self.do_with_fewer(error)?,
                }
                continue;
            }
            if trays.sent.is_empty() {
                return Ok(None);
            }
            drop(trays);
            if !self.take_back_trays()? {
                thread::sleep(NAP);
            }
        }
    }

    /// Page-locking takes milliseconds: not to be done under the lock.
    fn make_tray(&self) -> Result<Tray, Error> {
        let gpu = self.gpu();
        let copied = Event::new(gpu)?;
        let memory = PinnedBuffer::new(gpu, self.0.config.tray_bytes + CANARY_LEN)?;
        Ok(Tray { copied, memory, used: 0, secret: false, since: Instant::now() })
    }

    /// Makes do with the trays that there are, if that is the error and there are any.
    fn do_with_fewer(&self, error: Error) -> Result<(), Error> {
        let mut trays = lock(&self.0.trays);
        trays.made -= 1;
        trays.memory_ended = true;
        if trays.made > 0 && matches!(error, Error::OutOfMemory { .. }) {
            return Ok(());
        }
        self.lose();
        Err(error)
    }

    /// Enqueues the copy of what is in the tray to byte `at` of the slot's messages.
    ///
    /// # Errors
    /// What the driver says: the ring is lost.
    pub(super) fn send_tray(
        &self,
        mut tray: Tray,
        buffers: &Buffers,
        at: usize,
        secret: bool,
    ) -> Result<(), Error> {
        if let Err(error) = self.check_usable() {
            self.put_back_tray(tray);
            return Err(error);
        }
        let copies = &self.0.copies;
        // Held so that they stay in the order of their copies.
        let mut trays = lock(&self.0.trays);
        tray.secret = secret;
        tray.since = Instant::now();
        let sent = buffers.send_tray(&tray.memory[..tray.used], at, copies);
        let sent = sent.and_then(|()| tray.copied.record(copies));
        if sent.is_err() {
            self.lose();
        }
        trays.sent.push_back(tray);
        sent
    }

    /// Takes back the trays of which the device has a copy, and wipes those that had secrets.
    /// Whether there were any.
    ///
    /// # Errors
    /// What the driver says, or [`Error::Deadline`]: the ring is lost.
    pub(super) fn take_back_trays(&self) -> Result<bool, Error> {
        let mut any = false;
        while let Some(copied) = self.copied_trays()? {
            any = true;
            for mut tray in copied {
                if tray.secret {
                    tray.wipe();
                }
                tray.used = 0;
                lock(&self.0.trays).free.push(tray);
            }
        }
        Ok(any)
    }

    /// The first of those sent, if they are copied.
    fn copied_trays(&self) -> Result<Option<Vec<Tray>>, Error> {
        let mut trays = lock(&self.0.trays);
        // They are copied in order, and to ask the driver takes as long as a small copy: if a later
        // one is done, so are all before it.
        for count in [ASK_FOR, 1] {
            let Some(tray) = trays.sent.get(count - 1) else { continue };
            let waited = tray.since.elapsed();
            match tray.copied.is_done() {
                Ok(true) => return Ok(Some(trays.sent.drain(..count).collect())),
                Ok(false) if waited <= self.0.config.deadline => {}
                Ok(false) => {
                    self.lose();
                    return Err(Error::Deadline(waited));
                }
                Err(error) => {
                    self.lose();
                    return Err(error);
                }
            }
        }
        Ok(None)
    }

    /// Takes back one that was not sent, and wipes what is in it.
    pub(super) fn put_back_tray(&self, mut tray: Tray) {
        if self.check_process().is_err() {
            return mem::forget(tray);
        }
        tray.wipe();
        lock(&self.0.trays).free.push(tray);
    }
}

impl Trays {
    /// When the ring goes: waits for those that are on their way. Those that the device may have
    /// under way for ever, as `lost` says or the deadline, stay as they are but for their content.
    pub(super) fn end(&mut self, lost: bool, is_here: bool, deadline: Duration) {
        for mut tray in self.sent.drain(..).chain(self.free.drain(..)) {
            if is_here && !lost && is_copied(&tray, deadline) {
                continue;
            }
            if is_here {
                tray.memory.zeroize();
            }
            mem::forget(tray);
        }
    }
}

/// Waits until the device has its copy, up to the deadline; says whether it has.
fn is_copied(tray: &Tray, deadline: Duration) -> bool {
    loop {
        match tray.copied.is_done() {
            Ok(true) => return true,
            Ok(false) if tray.since.elapsed() <= deadline => thread::sleep(NAP),
            _ => return false,
        }
    }
}

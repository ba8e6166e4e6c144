//! The host path: slots of staging memory through which batches flow to a device and digests back.
//!
//! A slot has device memory and a stream of its own. While one is copied in, others are computed and
//! copied out, so with a few of them the copy engine never waits. Any thread may fill a slot, several
//! at a time: all at once from messages in memory, through staging memory or from where they are, or
//! [one by one](Filling) through trays.

mod buffers;
mod filling;
mod kernels;
mod layout;
mod pending;
mod pieces;
mod sample;
mod slot;
mod trays;

use std::{
    fmt,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    time::Duration,
};

use manylane::{hash::Midstate, sm3};

use self::{buffers::Buffers, kernels::Kernels, pieces::Pieces, trays::Trays};
pub use self::{filling::Filling, kernels::KernelSet, pending::Pending, slot::Slot};
use crate::{Error, Gpu, Stream, runtime::lock};

/// How large a [`Ring`] is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RingConfig {
    /// Batches that may be under way at a time, at least one. Each has a stream. CUDA has queues for
    /// eight unless the environment says otherwise when a process first uses it
    /// (`CUDA_DEVICE_MAX_CONNECTIONS`, at most 32, which the command sets); beyond these, copies of
    /// one batch can wait for kernels of others: measured on an H100, 2 to 3 % of the rate.
    pub slots: usize,
    /// Bytes of messages (and keys) a batch may have, at least 4096 and less than 2 GiB.
    pub slot_bytes: usize,
    /// Messages a batch may have, at least one and at most 2³¹ (on 32-bit machines 2²⁴).
    pub max_messages: usize,
    /// Bytes of the page-locked memory that batches are [filled](Filling) through, at least one.
    pub tray_bytes: usize,
    /// Pieces of such memory, at least one. Two for each thread that fills batches let it go on
    /// while the device copies.
    pub trays: usize,
    /// How long a batch may take before the device is given up.
    pub deadline: Duration,
}

impl Default for RingConfig {
    /// 6 slots of 32 MiB and 262,144 messages, 12 trays of 2 MiB, 10 seconds.
    fn default() -> Self {
        RingConfig {
            slots: 6,
            slot_bytes: 32 << 20,
            max_messages: 1 << 18,
            tray_bytes: 2 << 20,
            trays: 12,
            deadline: Duration::from_secs(10),
        }
    }
}

/// Messages of a batch at most: their digests are in one piece of memory.
const MAX_MESSAGES: usize = if usize::BITS < 64 { 1 << 24 } else { 1 << 31 };

/// What is computed of each message of a slot.
#[derive(Clone, Copy)]
pub enum Start<'a> {
    /// The midstate's function of its prefix followed by the message.
    Hash(&'a Midstate),
    /// HMAC-SM3 under the message's own key; for slots filled by [`Slot::load_hmac`].
    Hmac,
}

impl Start<'_> {
    fn digest_len(self) -> usize {
        match self {
            Start::Hash(start) => start.digest_len(),
            Start::Hmac => sm3::DIGEST_LEN,
        }
    }
}

/// The slots of one device. Clones are the same ring.
///
/// Slots are allocated when they are first needed and kept; their memory is wiped when the ring
/// goes. After [`Start::Hmac`] it is wiped at once, before the digests are handed out.
#[derive(Clone)]
pub struct Ring(Arc<Shared>);

struct Shared {
    gpu: Gpu,
    kernels: Kernels,
    config: RingConfig,
    /// What all slots' messages are copied in on: one after another on one stream, copies follow each
    /// other at once, while the device takes some 20 µs to turn from one stream to the next.
    copies: Stream,
    slots: Mutex<Slots>,
    trays: Mutex<Trays>,
    /// Whether the device is given up.
    lost: AtomicBool,
}

#[derive(Default)]
struct Slots {
    /// Boxed: they travel between threads, and the device knows their addresses.
    #[expect(clippy::vec_box, reason = "a slot takes the box, not what is in it")]
    free: Vec<Box<Buffers>>,
    /// Slots that exist.
    made: usize,
    /// Whether there is no memory for more.
    memory_ended: bool,
    /// What there was for one more.
    incomplete: Vec<Pieces>,
}

impl Ring {
    /// A ring of a device, with no slots yet. Loads SM3's kernels and lets them compute known
    /// answers, if the process has not done that yet; others are [loaded](Self::load) when they are needed.
    ///
    /// # Errors
    /// As for [`Sm3::new`](crate::Sm3::new).
    ///
    /// # Panics
    /// If the configuration is outside its bounds.
    pub fn new(gpu: &Gpu, config: RingConfig) -> Result<Self, Error> {
        assert!(config.slots > 0, "{config:?}");
        assert!(config.tray_bytes > 0 && config.trays > 0, "{config:?}");
        assert!((1..=MAX_MESSAGES).contains(&config.max_messages), "{config:?}");
        assert!((4096..1 << 31).contains(&config.slot_bytes), "{config:?}");
        Ok(Ring(Arc::new(Shared {
            gpu: gpu.clone(),
            kernels: Kernels::new(gpu)?,
            config,
            copies: Stream::new(gpu)?,
            slots: Mutex::default(),
            trays: Mutex::default(),
            lost: AtomicBool::new(false),
        })))
    }

    /// Whose it is.
    pub fn gpu(&self) -> &Gpu {
        &self.0.gpu
    }

    /// As it was made.
    pub fn config(&self) -> &RingConfig {
        &self.0.config
    }

    /// Messages a batch may have where each digest has so many bytes: with longer ones than SM3's, fewer than
    /// [`RingConfig::max_messages`].
    ///
    /// # Panics
    /// If that is zero.
    pub fn max_messages(&self, digest_len: usize) -> usize {
        let most = self.0.config.max_messages;
        most.min(most * sm3::DIGEST_LEN / digest_len)
    }

    /// Whether the device has been given up, after an error or for a missed deadline. Nothing
    /// more goes there; memory it may still write to is kept out of use, and was wiped.
    pub fn is_lost(&self) -> bool {
        self.0.lost.load(SeqCst)
    }

    /// A slot that is free, empty; `None` if all are filled or under way. Where there is no memory
    /// for one more, the ring makes do with those that there are.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if there is no memory for a single slot, or what the driver says: the
    /// ring is lost. [`Error::Forked`] in a child of the process that made the ring.
    pub fn try_slot(&self) -> Result<Option<Slot>, Error> {
        self.check_usable()?;
        {
            let mut slots = lock(&self.0.slots);
            if let Some(buffers) = slots.free.pop() {
                return Ok(Some(Slot::of(self.clone(), buffers)));
            }
            if slots.made == self.0.config.slots || slots.memory_ended {
                return Ok(None);
            }
            slots.made += 1;
        }
        // Outside the lock: page-locking takes milliseconds.
        let Shared { gpu, config, .. } = &*self.0;
        let (error, pieces) = match Buffers::new(gpu, config) {
            Ok(buffers) => return Ok(Some(Slot::of(self.clone(), buffers))),
            Err(incomplete) => incomplete,
        };
        let mut slots = lock(&self.0.slots);
        slots.made -= 1;
        slots.memory_ended = true;
        slots.incomplete.push(pieces);
        if slots.made > 0 && matches!(error, Error::OutOfMemory { .. }) {
            return Ok(None);
        }
        self.lose();
        Err(error)
    }

    fn lost_error(&self) -> Error {
        Error::Lost(self.0.gpu.info().id)
    }

    /// Whether this is the process that made it. In a forked child locks may be held for ever, and
    /// page-locked memory may not be there.
    fn check_process(&self) -> Result<(), Error> {
        let gpu = &self.0.gpu;
        let forked = || Error::Forked(gpu.info().id.vendor);
        gpu.is_of_this_process().then_some(()).ok_or_else(forked)
    }

    fn check_usable(&self) -> Result<(), Error> {
        self.check_process()?;
        if self.is_lost() { Err(self.lost_error()) } else { Ok(()) }
    }

    /// Takes a slot's memory back. On a lost ring the device may still be at work with it: it is
    /// wiped as far as this process can, and never freed, which could wait for ever.
    fn put_back(&self, mut buffers: Box<Buffers>) {
        if self.check_process().is_err() {
            return std::mem::forget(buffers);
        }
        if self.is_lost() {
            buffers.wipe_host();
            std::mem::forget(buffers);
            return;
        }
        // What was filled in and not sent may be secret.
        buffers.wipe_written();
        buffers.clear();
        lock(&self.0.slots).free.push(buffers);
    }

    fn lose(&self) {
        self.0.lost.store(true, SeqCst);
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let lost = *self.lost.get_mut();
        let trays = self.trays.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner);
        trays.end(lost, self.gpu.is_of_this_process(), self.config.deadline);
        if lost {
            // As in `put_back`; nor can kernels be unloaded that may be at work.
            let slots = self.slots.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner);
            for mut buffers in slots.free.drain(..) {
                if self.gpu.is_of_this_process() {
                    buffers.wipe_host();
                }
                std::mem::forget(buffers);
            }
            std::mem::forget(std::mem::take(&mut slots.incomplete));
            std::mem::forget(self.kernels.clone());
        }
    }
}

impl fmt::Debug for Ring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shared { gpu, config, .. } = &*self.0;
        write!(f, "Ring({}, {} slots of {} bytes)", gpu.info().id, config.slots, config.slot_bytes)
    }
}

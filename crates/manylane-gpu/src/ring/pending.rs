//! One batch under way.

use std::{
    fmt,
    hint::spin_loop,
    marker::PhantomData,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    thread,
    time::{Duration, Instant},
};

use manylane::{Messages, hash::Midstate, sm3};
use zeroize::Zeroize as _;

use super::{
    Ring, Slot, Start,
    buffers::Buffers,
    sample::{self, Sample},
};
use crate::Error;

/// How long a wait spins before it sleeps: about as long as a small batch takes.
const SPIN: Duration = Duration::from_micros(20);

/// How long it sleeps between looks.
const NAP: Duration = Duration::from_micros(30);

/// A batch under way. Dropped, it is waited for and its digests are discarded.
pub struct Pending<'a> {
    ring: Ring,
    /// `None` once it is handed on.
    buffers: Option<Box<Buffers>>,
    /// `None` for HMAC.
    start: Option<Midstate>,
    /// The messages, if they are not in the staging memory.
    source: Option<Messages<'a>>,
    /// One whose digest is known, if the messages are nowhere in the host's memory any more.
    sample: Option<Sample>,
    /// Whether the last message is nobody's.
    has_canary: bool,
    since: Instant,
    /// Whether the device was seen to be done. It is not asked again: it could have failed since, at
    /// another's batch, and that is for whoever looks after that to learn.
    seen: AtomicBool,
    lifetime: PhantomData<&'a [u8]>,
}

impl<'a> Pending<'a> {
    pub(super) fn new(
        ring: Ring,
        buffers: Box<Buffers>,
        start: Start,
        source: Option<Messages<'a>>,
    ) -> Self {
        let start = match start {
            Start::Hash(start) => Some(start.clone()),
            Start::Hmac => None,
        };
        Pending {
            ring,
            buffers: Some(buffers),
            start,
            source,
            sample: None,
            has_canary: false,
            since: Instant::now(),
            seen: AtomicBool::new(false),
            lifetime: PhantomData,
        }
    }

    /// The same, of messages that are in the device's memory alone.
    pub(super) fn sampled(mut self, sample: Option<Sample>, has_canary: bool) -> Self {
        self.sample = sample;
        self.has_canary = has_canary;
        self
    }

    fn buffers(&self) -> &Buffers {
        self.buffers.as_ref().expect("taken only by value")
    }

    /// Messages in it.
    pub fn len(&self) -> usize {
        self.buffers().loaded.count() - usize::from(self.has_canary)
    }

    /// Whether there are no messages in it.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of each digest.
    pub fn digest_len(&self) -> usize {
        self.buffers().digest_len
    }

    /// Whether its digests are there.
    ///
    /// # Errors
    /// What the driver says, of this batch or of another: the ring is lost then.
    /// [`Error::Deadline`] likewise, if it is not done in time.
    pub fn is_done(&self) -> Result<bool, Error> {
        self.ring.check_usable()?;
        if self.is_empty() || self.seen.load(Relaxed) {
            return Ok(true);
        }
        let done = match self.buffers().done.is_done() {
            Ok(false) if self.since.elapsed() > self.ring.0.config.deadline => {
                Err(Error::Deadline(self.since.elapsed()))
            }
            done => done,
        };
        if done == Ok(true) {
            self.seen.store(true, Relaxed);
        }
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

    /// Waits for the digests, checks one against the CPU, and shows them in order, one after another.
    ///
    /// # Errors
    /// As for [`is_done`](Self::is_done); [`Error::WrongResult`] if the device computed wrongly,
    /// and then the ring is lost too.
    pub fn digests(&self) -> Result<&[u8], Error> {
        self.wait()?;
        if !self.sample_is_right() {
            self.ring.lose();
            let device = self.ring.gpu().info().id.to_string();
            return Err(Error::WrongResult { kernel: "of a batch", device });
        }
        Ok(&self.buffers().digests()[..self.len() * self.digest_len()])
    }

    /// Message `index`, where it was put or where the caller has it: to compute it elsewhere, also
    /// after an error.
    ///
    /// # Panics
    /// If there are not so many, or in a batch that was [filled](super::Filling) one by one.
    pub fn message(&self, index: usize) -> &[u8] {
        assert!(index < self.len(), "message {index} of {}", self.len());
        match &self.source {
            Some(messages) => messages.get(index),
            None => self.buffers().staged(index, false),
        }
    }

    /// Length of message `index`, in bytes.
    ///
    /// # Panics
    /// If there are not so many.
    pub fn message_len(&self, index: usize) -> usize {
        assert!(index < self.len(), "message {index} of {}", self.len());
        match &self.source {
            Some(messages) => messages.get(index).len(),
            None => self.buffers().message_len(index),
        }
    }

    /// Waits for the digests, checks one against the CPU, and writes them in order; gives the slot
    /// back, empty.
    ///
    /// # Errors
    /// As for [`digests`](Self::digests). Nothing was written.
    ///
    /// # Panics
    /// Unless `out.len() == self.len() * self.digest_len()`.
    pub fn finish(mut self, out: &mut [u8]) -> Result<Slot, Error> {
        assert_eq!(out.len(), self.len() * self.digest_len(), "room for each digest");
        out.copy_from_slice(self.digests()?);
        let mut buffers = self.buffers.take().expect("taken only by value");
        self.clean(&mut buffers);
        buffers.clear();
        Ok(Slot::of(self.ring.clone(), buffers))
    }

    /// Compares the digest of one message with the CPU's.
    fn sample_is_right(&self) -> bool {
        let count = self.len();
        if count == 0 {
            return true;
        }
        let buffers = self.buffers();
        let digest = |index| &buffers.digests()[index * buffers.digest_len..][..buffers.digest_len];
        if let Some(sample) = &self.sample {
            return *digest(sample.index) == *sample.digest;
        }
        let index = sample::choose(count, buffers.used, |index| self.message(index).len())
            .unwrap_or_else(|shortest| shortest);
        let mut expected = vec![0; buffers.digest_len];
        match &self.start {
            Some(start) => start.finish(self.message(index), &mut expected),
            None => {
                let key = [buffers.staged(index, true)];
                let message = [self.message(index)];
                let keys = Messages::slices(&key);
                let mac = expected.as_chunks_mut().0;
                sm3::hmac_many(&keys, &Messages::slices(&message), mac).expect("one of each");
            }
        }
        let right = *digest(index) == *expected;
        expected.zeroize();
        right
    }

    /// Wipes what a secret batch left behind in the host's memory.
    fn clean(&self, buffers: &mut Buffers) {
        if self.start.as_ref().is_some_and(|start| start.prefix_len() == 0) {
            buffers.written = 0;
            return;
        }
        buffers.wipe_written();
        // Those that this batch went through have been copied.
        let _ = self.ring.take_back_trays();
        let count = buffers.loaded.count();
        let bytes = count * buffers.digest_len;
        buffers.digests[..bytes].zeroize();
    }
}

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        if let Some(mut buffers) = self.buffers.take() {
            if self.ring.check_process().is_err() {
                return std::mem::forget(buffers);
            }
            // On a lost ring it may never be done, and its memory stays out of use anyway.
            let seen = *self.seen.get_mut() || self.ring.is_lost();
            if !seen && !buffers_are_idle(&buffers, self.since, &self.ring) {
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

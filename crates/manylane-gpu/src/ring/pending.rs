//! One batch under way.

use std::{
    fmt,
    hash::{BuildHasher as _, RandomState},
    hint::spin_loop,
    marker::PhantomData,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    thread,
    time::{Duration, Instant},
};

use manylane::{
    Messages,
    sm3::{self, Midstate},
};
use zeroize::Zeroize as _;

use super::{Ring, Slot, Start, buffers::Buffers};
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
            since: Instant::now(),
            seen: AtomicBool::new(false),
            lifetime: PhantomData,
        }
    }

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

    /// Compares the digest of one message with the CPU's.
    fn sample_is_right(&self) -> bool {
        let count = self.len();
        if count == 0 {
            return true;
        }
        let buffers = self.buffers();
        let random = RandomState::new();
        let cheap = (buffers.used / PART).max(ALWAYS_CHEAP);
        let len = |index| self.message(index).len();
        let index = pick(count, cheap, len, |try_| random.hash_one(try_));
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
            buffers.written = 0;
            return;
        }
        buffers.wipe_written();
        let count = buffers.loaded.count();
        buffers.digests[..count * sm3::DIGEST_LEN].zeroize();
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

/// A check takes about this part of the CPU's time for the batch.
const PART: usize = 4096;

/// Bytes that are hashed in about a microsecond.
const ALWAYS_CHEAP: usize = 512;

/// Chooses a message to be checked: each is as likely as any, but one longer than `cheap` the less so
/// the longer it is. So long ones have their turn, and yet a check seldom takes longer than hashing
/// `cheap` bytes; unless there are long ones only.
fn pick(
    count: usize,
    cheap: usize,
    len: impl Fn(usize) -> usize,
    random: impl Fn(u64) -> u64,
) -> usize {
    let mut shortest = None;
    for try_ in 0..4 {
        let index = (random(2 * try_) % count as u64) as usize;
        let len = len(index);
        if len <= cheap || random(2 * try_ + 1) % (len as u64) < cheap as u64 {
            return index;
        }
        if shortest.is_none_or(|(least, _)| len < least) {
            shortest = Some((len, index));
        }
    }
    shortest.expect("one try at least").1
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

#[cfg(test)]
mod tests {
    use super::*;

    /// How often each of these lengths is picked in so many tries, and bytes that are hashed for it.
    fn picked(lengths: &[usize], cheap: usize, times: usize) -> (Vec<usize>, usize) {
        let random = RandomState::new();
        let (mut counts, mut bytes) = (vec![0; lengths.len()], 0);
        for time in 0..times {
            let index =
                pick(lengths.len(), cheap, |i| lengths[i], |try_| random.hash_one((time, try_)));
            counts[index] += 1;
            bytes += lengths[index];
        }
        (counts, bytes)
    }

    #[test]
    fn messages_of_any_length_are_checked_at_a_bounded_cost() {
        let mut lengths = vec![100; 100];
        let (counts, _) = picked(&lengths, 1000, 20_000);
        assert!(counts.iter().all(|&count| (100..400).contains(&count)), "{counts:?}");
        // One message has nearly all bytes of its batch.
        lengths[70] = 1 << 20;
        let cheap = (1 << 20) / 256;
        let (counts, bytes) = picked(&lengths, cheap, 200_000);
        assert!((1..50).contains(&counts[70]), "once in 25,600 tries: {}", counts[70]);
        assert!(bytes / 200_000 < cheap, "{bytes}");
        let (counts, _) = picked(&[1 << 20; 3], 1, 3000);
        assert!(counts.iter().all(|&count| count > 700), "long ones only: {counts:?}");
    }
}

//! The host path: data that is in the host's memory, by way of a device.
//!
//! A slot is device memory for one piece of the data. Pieces are copied in, computed in place and copied
//! out on a stream each, so that with a few slots the bus is busy in both directions all the time.
#![allow(unsafe_code)]

#[cfg(test)]
mod tests;

use std::{
    error, fmt, mem, thread,
    time::{Duration, Instant},
};

use super::{BLOCK_LEN, Counter, shape};
use crate::{
    Aes, AesKeys, DeviceBuffer, DevicePointer, Error, Event, Gpu, PinnedBuffer, Sm4, Sm4Keys,
    Stream,
};

/// How large a [`BlockRing`] is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockRingConfig {
    /// Pieces that may be under way at a time, at least one.
    pub slots: usize,
    /// Bytes of a piece at most, a multiple of 16, at least 16.
    pub slot_bytes: usize,
    /// How long a piece may take before the device is given up.
    pub deadline: Duration,
}

impl Default for BlockRingConfig {
    /// 6 slots of 8 MiB, 10 seconds.
    fn default() -> Self {
        BlockRingConfig { slots: 6, slot_bytes: 8 << 20, deadline: Duration::from_secs(10) }
    }
}

/// What is done with each block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockMode {
    /// The cipher, each block for itself (ECB): whole blocks only.
    Encrypt,
    /// The inverse cipher, likewise.
    Decrypt,
    /// Counter mode from this counter on; the last block may be a part of one.
    Ctr(Counter),
}

/// A cipher with its keys.
#[derive(Clone, Copy, Debug)]
pub enum BlockCipher<'a> {
    /// AES.
    Aes(&'a Aes, &'a AesKeys),
    /// SM4.
    Sm4(&'a Sm4, &'a Sm4Keys),
}

impl BlockCipher<'_> {
    fn gpu(&self) -> &Gpu {
        match self {
            BlockCipher::Aes(aes, _) => aes.gpu(),
            BlockCipher::Sm4(sm4, _) => sm4.gpu(),
        }
    }

    /// Keeps the kernels loaded for ever: to unload them would wait for the device.
    fn leak(&self) {
        match *self {
            BlockCipher::Aes(aes, _) => mem::forget(aes.clone()),
            BlockCipher::Sm4(sm4, _) => mem::forget(sm4.clone()),
        }
    }

    /// Enqueues the work on a piece, in place.
    ///
    /// # Safety
    /// There are so many bytes, which nothing else uses until the stream has passed this.
    unsafe fn enqueue(
        &self,
        mode: &BlockMode,
        stream: &Stream,
        at: DevicePointer,
        len: u64,
    ) -> Result<(), Error> {
        let blocks = len / BLOCK_LEN as u64;
        // SAFETY: the caller's.
        unsafe {
            match (*self, mode) {
                (BlockCipher::Aes(aes, keys), BlockMode::Encrypt) => {
                    aes.encrypt_blocks(stream, keys, at, at, blocks)
                }
                (BlockCipher::Aes(aes, keys), BlockMode::Decrypt) => {
                    aes.decrypt_blocks(stream, keys, at, at, blocks)
                }
                (BlockCipher::Aes(aes, keys), BlockMode::Ctr(counter)) => {
                    aes.apply_ctr(stream, keys, counter, at, at, len)
                }
                (BlockCipher::Sm4(sm4, keys), BlockMode::Encrypt) => {
                    sm4.encrypt_blocks(stream, keys, at, at, blocks)
                }
                (BlockCipher::Sm4(sm4, keys), BlockMode::Decrypt) => {
                    sm4.decrypt_blocks(stream, keys, at, at, blocks)
                }
                (BlockCipher::Sm4(sm4, keys), BlockMode::Ctr(counter)) => {
                    sm4.apply_ctr(stream, keys, counter, at, at, len)
                }
            }
        }
    }
}

impl BlockMode {
    /// The mode for data that begins so many bytes, a multiple of a block, further on.
    fn after(&self, bytes: usize) -> Self {
        match self {
            BlockMode::Ctr(counter) => BlockMode::Ctr(counter.after((bytes / BLOCK_LEN) as u64)),
            mode => *mode,
        }
    }

    fn check(&self, len: usize) -> Result<(), Error> {
        match self {
            BlockMode::Ctr(counter) => counter.runs(len as u64).map(|_| ()),
            _ if len.is_multiple_of(BLOCK_LEN) => Ok(()),
            _ => Err(shape("a part of a block without counter mode")),
        }
    }
}

/// Memory and streams of a device through which data of the host flows. One call at a time.
///
/// Device and staging memory are wiped before a call returns.
pub struct BlockRing {
    gpu: Gpu,
    config: BlockRingConfig,
    /// None once the device is given up: what it may still write to is never freed.
    ring: Option<Ring>,
}

struct Ring {
    inward: Stream,
    compute: Stream,
    outward: Stream,
    slots: Vec<Slot>,
}

struct Slot {
    copied_in: Event,
    computed: Event,
    copied_out: Event,
    data: DeviceBuffer,
    /// Page-locked; made when data that is not comes by.
    staging: Option<PinnedBuffer>,
    /// Bytes of the longest piece of this call: what is to be wiped of the device's memory.
    used: usize,
    /// The same of the staging memory, none of which page-locked data uses: to wipe 48 MiB for nothing took as
    /// long as a third of 2 GiB.
    staged: usize,
    /// Bytes of the piece under way, and where in the data it begins.
    piece: Option<(usize, usize)>,
}

/// Why page-locked data was not encrypted or decrypted, and the data.
#[derive(Debug)]
pub struct Unapplied {
    /// What is wrong.
    pub error: Error,
    /// The data as it was, unless the ring was lost with it.
    pub data: Option<PinnedBuffer>,
}

impl fmt::Display for Unapplied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl error::Error for Unapplied {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        self.error.source()
    }
}

impl From<Unapplied> for Error {
    fn from(unapplied: Unapplied) -> Self {
        unapplied.error
    }
}

/// Where the host's data is.
enum Host<'a> {
    /// Page-locked: copied by the device from and to where it is.
    Pinned(&'a mut PinnedBuffer),
    /// Copied by the caller's thread through staging memory.
    Apart(&'a [u8], &'a mut [u8]),
}

impl Host<'_> {
    fn len(&self) -> usize {
        match self {
            Host::Pinned(data) => data.len(),
            Host::Apart(from, _) => from.len(),
        }
    }
}

impl BlockRing {
    /// A ring of a device.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], [`Error::Forked`], or what the driver says.
    ///
    /// # Panics
    /// If the configuration is outside its bounds.
    pub fn new(gpu: &Gpu, config: BlockRingConfig) -> Result<Self, Error> {
        let whole = config.slot_bytes > 0 && config.slot_bytes.is_multiple_of(BLOCK_LEN);
        assert!(config.slots > 0 && whole, "{config:?}");
        let slot = |_| {
            Ok(Slot {
                copied_in: Event::new(gpu)?,
                computed: Event::new(gpu)?,
                copied_out: Event::new(gpu)?,
                data: DeviceBuffer::new(gpu, config.slot_bytes)?,
                staging: None,
                used: 0,
                staged: 0,
                piece: None,
            })
        };
        let ring = Ring {
            inward: Stream::new(gpu)?,
            compute: Stream::new(gpu)?,
            outward: Stream::new(gpu)?,
            slots: (0..config.slots).map(slot).collect::<Result<_, Error>>()?,
        };
        Ok(BlockRing { gpu: gpu.clone(), config, ring: Some(ring) })
    }

    /// Whose it is.
    pub fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    /// Whether the device has been given up, after an error or for a missed deadline.
    pub fn is_lost(&self) -> bool {
        self.ring.is_none()
    }

    /// Does it to page-locked data, in place: at the bus's rate in both directions.
    ///
    /// # Errors
    /// [`Error::Input`] if the cipher is another device's, in ECB also for a part of a block, in counter
    /// mode if a counter would occur twice; [`Error::Lost`] after an earlier error; [`Error::Forked`]. The data is given
    /// back as it was. [`Error::Deadline`], or what the driver says: the ring is lost and the data with it, for what the
    /// device may still write to is never freed; it is wiped.
    pub fn apply_pinned(
        &mut self,
        cipher: BlockCipher,
        mode: &BlockMode,
        mut data: PinnedBuffer,
    ) -> Result<PinnedBuffer, Unapplied> {
        let was_lost = self.is_lost();
        match self.apply_to(cipher, mode, &mut Host::Pinned(&mut data)) {
            Ok(()) => Ok(data),
            Err(error) if self.is_lost() && !was_lost => {
                data.wipe(data.len());
                mem::forget(data);
                Err(Unapplied { error, data: None })
            }
            Err(error) => Err(Unapplied { error, data: Some(data) }),
        }
    }

    /// Does it to data in any memory, through staging memory; `to` is as long as `from`. The calling
    /// thread copies both, which is what decides the rate.
    ///
    /// # Errors
    /// As [`apply_pinned`](Self::apply_pinned); [`Error::Input`] if the lengths differ. If the ring is lost, what is in
    /// `to` is of no use.
    pub fn apply(
        &mut self,
        cipher: BlockCipher,
        mode: &BlockMode,
        from: &[u8],
        to: &mut [u8],
    ) -> Result<(), Error> {
        if from.len() != to.len() {
            return Err(shape("input and output are not of one length"));
        }
        self.apply_to(cipher, mode, &mut Host::Apart(from, to))
    }

    fn apply_to(
        &mut self,
        cipher: BlockCipher,
        mode: &BlockMode,
        host: &mut Host,
    ) -> Result<(), Error> {
        drop(self.gpu.bound()?);
        if cipher.gpu() != &self.gpu {
            return Err(shape("a cipher of another device"));
        }
        mode.check(host.len())?;
        let id = self.gpu.info().id;
        let Some(mut ring) = self.ring.take() else { return Err(Error::Lost(id)) };
        if let Err(error) = ring.run(cipher, mode, host, &self.config) {
            // Whatever is still under way may use all of it.
            ring.wipe_staging();
            mem::forget(ring);
            cipher.leak();
            return Err(error);
        }
        self.ring = Some(ring);
        Ok(())
    }
}

impl Ring {
    fn run(
        &mut self,
        cipher: BlockCipher,
        mode: &BlockMode,
        host: &mut Host,
        config: &BlockRingConfig,
    ) -> Result<(), Error> {
        let (len, count) = (host.len(), self.slots.len());
        for slot in &mut self.slots {
            (slot.used, slot.staged) = (0, 0);
        }
        for (number, at) in (0..len).step_by(config.slot_bytes).enumerate() {
            let slot = number % count;
            self.finish(slot, host, config.deadline)?;
            let piece = config.slot_bytes.min(len - at);
            self.begin(slot, (at, piece), cipher, &mode.after(at), host)?;
        }
        for slot in 0..count {
            self.finish(slot, host, config.deadline)?;
        }
        self.wipe(config.deadline)
    }

    /// Enqueues everything for a piece in a slot that is free.
    fn begin(
        &mut self,
        number: usize,
        (at, len): (usize, usize),
        cipher: BlockCipher,
        mode: &BlockMode,
        host: &mut Host,
    ) -> Result<(), Error> {
        let Ring { inward, compute, outward, slots } = self;
        let slot = &mut slots[number];
        slot.used = slot.used.max(len);
        let memory = match host {
            Host::Pinned(data) => &mut data[at..at + len],
            Host::Apart(from, _) => {
                if slot.staging.is_none() {
                    slot.staging = Some(PinnedBuffer::new(inward.gpu(), slot.data.len())?);
                }
                slot.staged = slot.staged.max(len);
                let staging = slot.staging.as_mut().expect("just made");
                staging[..len].copy_from_slice(&from[at..at + len]);
                &mut staging[..len]
            }
        };
        slot.piece = Some((at, len));
        let driver = inward.gpu().bound()?;
        let device = slot.data.pointer();
        // SAFETY: the piece fits into the slot, whose earlier piece is done; both memories stay as
        // they are until `copied_out` has been passed, and are never freed if that does not come.
        unsafe {
            driver.copy_in(device, memory.as_ptr(), len, inward.handle())?;
            slot.copied_in.record(inward)?;
            compute.wait(&slot.copied_in)?;
            cipher.enqueue(mode, compute, device, len as u64)?;
            slot.computed.record(compute)?;
            outward.wait(&slot.computed)?;
            driver.copy_out(memory.as_mut_ptr(), device, len, outward.handle())?;
        }
        slot.copied_out.record(outward)
    }

    /// Waits for the piece of a slot, if there is one, and hands it over.
    fn finish(&mut self, number: usize, host: &mut Host, deadline: Duration) -> Result<(), Error> {
        let slot = &mut self.slots[number];
        let Some((at, len)) = slot.piece.take() else { return Ok(()) };
        wait(&slot.copied_out, deadline)?;
        if let Host::Apart(_, to) = host {
            let staging = slot.staging.as_ref().expect("the piece came through it");
            to[at..at + len].copy_from_slice(&staging[..len]);
        }
        Ok(())
    }

    /// Wipes what the data has left.
    fn wipe(&mut self, deadline: Duration) -> Result<(), Error> {
        self.wipe_staging();
        for slot in self.slots.iter_mut().filter(|slot| slot.used > 0) {
            slot.data.wipe(slot.used, &self.outward)?;
        }
        let last = &self.slots[0].copied_out;
        last.record(&self.outward)?;
        wait(last, deadline)
    }

    fn wipe_staging(&mut self) {
        for slot in &mut self.slots {
            if let Some(staging) = &mut slot.staging {
                staging.wipe(slot.staged);
            }
        }
    }
}

fn wait(event: &Event, deadline: Duration) -> Result<(), Error> {
    let since = Instant::now();
    while !event.is_done()? {
        if since.elapsed() > deadline {
            return Err(Error::Deadline(since.elapsed()));
        }
        // A piece of the default size is on the bus for about 170 µs.
        thread::sleep(Duration::from_micros(20));
    }
    Ok(())
}

impl fmt::Debug for BlockRing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let BlockRingConfig { slots, slot_bytes, .. } = self.config;
        write!(f, "BlockRing({}, {slots} slots of {slot_bytes} bytes)", self.gpu.info().id)
    }
}

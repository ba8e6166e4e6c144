//! What the block ciphers have in common: their kernels on a device, modes of operation, counters.
//!
//! A kernel looks tables up in shared memory, where every lane has a copy in a bank of its own; the
//! more shared memory a card has, the more [`Tables`] there are and the fewer rotations.
#![allow(unsafe_code)]

mod counter;
mod known_answers;
mod ring;

use std::{ffi::c_void, ptr, sync::Arc};

use zeroize::Zeroize as _;

pub use self::{
    counter::{Counter, CounterWidth},
    ring::{BlockCipher, BlockMode, BlockRing, BlockRingConfig, Unapplied},
};
use crate::{
    DeviceId, DevicePointer, Error, Gpu, KernelInfo, Stream,
    compile::{self, Loaded},
    runtime::{Kernel, Module},
};

/// Bytes of a block, of both ciphers.
pub(crate) const BLOCK_LEN: usize = 16;

/// How many of a cipher's four tables are in shared memory; the others are rotations of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Tables {
    /// 128 KiB, and 4 KiB more in AES's counter mode: no rotation.
    Four,
    /// 64 KiB: a rotation for each word of a round.
    Two,
    /// 32 KiB: three rotations for each word of a round.
    One,
}

impl Tables {
    /// All of them, the fastest first.
    pub const ALL: [Tables; 3] = [Tables::Four, Tables::Two, Tables::One];

    /// Bytes of shared memory that a thread block takes.
    fn bytes(self, rows: bool) -> u32 {
        match self {
            // AES's counter mode has what the rows of counters add, besides.
            Tables::Four => (128 << 10) + if rows { 256 * 16 } else { 0 },
            Tables::Two => 64 << 10,
            Tables::One => 32 << 10,
        }
    }

    /// The fastest that a card with so many bytes of shared memory for a block has room for.
    fn of(shared: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|tables| tables.bytes(true) <= shared)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Cipher {
    Aes,
    Sm4,
}

macro_rules! names {
    ($($name:literal),*) => {
        [[$(concat!($name, "_4")),*], [$(concat!($name, "_2")),*], [$(concat!($name, "_1")),*]]
    };
}

impl Cipher {
    /// The names of its kernels. Where a mode has one for each length of keys, 128, 192 and 256
    /// bits come one after the other.
    fn kernels(self, tables: Tables) -> &'static [&'static str] {
        const AES: [[&str; 9]; 3] = names!(
            "aes128_encrypt",
            "aes192_encrypt",
            "aes256_encrypt",
            "aes128_decrypt",
            "aes192_decrypt",
            "aes256_decrypt",
            "aes128_ctr",
            "aes192_ctr",
            "aes256_ctr"
        );
        const SM4: [[&str; 2]; 3] = names!("sm4_ecb", "sm4_ctr");
        let tables = tables as usize;
        match self {
            Cipher::Aes => &AES[tables],
            Cipher::Sm4 => &SM4[tables],
        }
    }
}

/// PTX, deflated; one image has all kernels of a cipher with so many tables.
pub(crate) fn ptx(cipher: Cipher, tables: Tables) -> &'static [u8] {
    match (cipher, tables) {
        (Cipher::Aes, Tables::Four) => include_bytes!("../ptx/aes-4.ptx.deflate"),
        (Cipher::Aes, Tables::Two) => include_bytes!("../ptx/aes-2.ptx.deflate"),
        (Cipher::Aes, Tables::One) => include_bytes!("../ptx/aes-1.ptx.deflate"),
        (Cipher::Sm4, Tables::Four) => include_bytes!("../ptx/sm4-4.ptx.deflate"),
        (Cipher::Sm4, Tables::Two) => include_bytes!("../ptx/sm4-2.ptx.deflate"),
        (Cipher::Sm4, Tables::One) => include_bytes!("../ptx/sm4-1.ptx.deflate"),
    }
}

/// Words of a key schedule as a kernel takes them, in the order of use. Wiped when dropped.
#[derive(Clone)]
pub(crate) struct Schedule([u32; Self::WORDS]);

impl Schedule {
    /// As many as AES-256 has, which has the most.
    const WORDS: usize = 60;

    /// # Panics
    /// If there are more than any cipher has.
    pub(crate) fn new(words: impl Iterator<Item = u32>) -> Self {
        let mut schedule = Schedule([0; Self::WORDS]);
        for (at, word) in words.enumerate() {
            schedule.0[at] = word;
        }
        schedule
    }
}

impl Schedule {
    /// As a kernel's argument.
    pub(crate) fn argument(&self) -> *mut c_void {
        argument(&self.0)
    }
}

impl Drop for Schedule {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

/// Where data is in a device's memory, and where it goes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) from: DevicePointer,
    pub(crate) to: DevicePointer,
}

impl Place {
    pub(crate) fn check(self) -> Result<(), Error> {
        let aligned = |at: DevicePointer| at.0.is_multiple_of(BLOCK_LEN as u64);
        if aligned(self.from) && aligned(self.to) {
            Ok(())
        } else {
            Err(shape("data is not 16-byte aligned"))
        }
    }

    fn add(self, bytes: u64) -> Self {
        let further = |at: DevicePointer| DevicePointer(at.0 + bytes);
        Place { from: further(self.from), to: further(self.to) }
    }
}

pub(crate) fn shape(why: &'static str) -> Error {
    Error::Input(manylane::Error::Shape(why))
}

/// Threads of a block. Reasoned for all cards: four tables leave room for one block on a
/// multiprocessor, and look-ups wait for each other in a round, so it should be a large one.
const THREADS: u32 = 1024;

/// A cipher's kernels on a device, loaded and found right.
pub(crate) struct Kernels {
    gpu: Gpu,
    cipher: Cipher,
    tables: Tables,
    kernels: Vec<Kernel>,
    /// What the kernels are part of.
    _module: Module,
}

impl Kernels {
    /// The kernels, with as many tables as the card has room for unless the caller says how many:
    /// loaded and checked against known answers by the first call, shared by later ones.
    pub(crate) fn get(
        gpu: &Gpu,
        cipher: Cipher,
        tables: Option<Tables>,
    ) -> Result<Arc<Self>, Error> {
        static LOADED: Loaded<(DeviceId, Cipher, Tables), Kernels> = Loaded::new();
        // A forked child learns that here, before it could find the locks held for ever.
        let shared = gpu.shared_of_block()?;
        let room = || shape("no tables fit into the device's shared memory");
        let tables = match tables {
            Some(tables) if tables.bytes(true) > shared => return Err(room()),
            Some(tables) => tables,
            None => Tables::of(shared).ok_or_else(room)?,
        };
        let key = (gpu.info().id, cipher, tables);
        let checked = || Self::checked(gpu, cipher, tables);
        LOADED.get(key, checked, || compile::distrust_kept_block(gpu, cipher, tables))
    }

    fn checked(gpu: &Gpu, cipher: Cipher, tables: Tables) -> Result<Arc<Self>, Error> {
        let module = Module::new(gpu, &compile::block_image(gpu, cipher, tables)?)?;
        let mut kernels = Vec::new();
        for name in cipher.kernels(tables) {
            let kernel = module.kernel(name)?;
            kernel.allow_shared(gpu, tables.bytes(true))?;
            kernels.push(kernel);
        }
        let kernels =
            Arc::new(Kernels { gpu: gpu.clone(), cipher, tables, kernels, _module: module });
        known_answers::check(&kernels)?;
        Ok(kernels)
    }

    pub(crate) fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    pub(crate) fn tables(&self) -> Tables {
        self.tables
    }

    /// The kernels, as the driver compiled them.
    pub(crate) fn describe(&self, threads: Option<u32>) -> Result<Vec<KernelInfo>, Error> {
        let of = |kernel| KernelInfo::of(kernel, &self.gpu, threads.unwrap_or(THREADS));
        self.kernels.iter().map(of).collect()
    }

    fn check(&self, stream: &Stream, place: Place) -> Result<(), Error> {
        if stream.gpu() != &self.gpu {
            return Err(shape("a stream of another device"));
        }
        place.check()
    }

    /// Enqueues a kernel of [`Cipher::kernels`], by its number, over blocks each for itself.
    ///
    /// # Safety
    /// `place` names so many blocks of memory that the device can access until the stream has passed
    /// this, either the same or apart; the schedule is one that the kernel takes.
    pub(crate) unsafe fn each_block(
        &self,
        number: usize,
        stream: &Stream,
        schedule: &Schedule,
        place: Place,
        blocks: u64,
        threads: Option<u32>,
    ) -> Result<(), Error> {
        self.check(stream, place)?;
        let (shared, keys) = (self.tables.bytes(false), schedule.argument());
        let mut arguments = [argument(&place.from), argument(&place.to), argument(&blocks), keys];
        let kernel = &self.kernels[number];
        // SAFETY: the arguments are the kernel's, the addresses as the caller promises.
        unsafe { self.launch(kernel, stream, blocks, threads, shared, &mut arguments) }
    }

    /// Enqueues a kernel of counter mode over `len` bytes, in as many launches as the counter's
    /// words need.
    ///
    /// # Errors
    /// What is wrong with the arguments, before anything is enqueued; or what the driver says: some launches may be under way
    /// then.
    ///
    /// # Safety
    /// As [`each_block`](Self::each_block), for bytes, also on an error.
    #[expect(clippy::too_many_arguments, reason = "the caller's own, and two more")]
    pub(crate) unsafe fn counter_mode(
        &self,
        number: usize,
        stream: &Stream,
        schedule: &Schedule,
        counter: &Counter,
        place: Place,
        len: u64,
        threads: Option<u32>,
    ) -> Result<(), Error> {
        self.check(stream, place)?;
        let shared = self.tables.bytes(self.cipher == Cipher::Aes);
        let size = u64::from(threads.unwrap_or(THREADS));
        for run in counter.runs(len)? {
            let at = place.add(run.at);
            let mut arguments = [
                argument(&at.from),
                argument(&at.to),
                argument(&run.len),
                argument(&run.words),
                schedule.argument(),
            ];
            // Lines begin where the counter is a multiple of their length.
            let before = u64::from(run.words[3]) % size;
            let work = before + run.len.div_ceil(BLOCK_LEN as u64);
            let kernel = &self.kernels[number];
            // SAFETY: the arguments are the kernel's, the addresses as the caller promises.
            unsafe { self.launch(kernel, stream, work, threads, shared, &mut arguments)? };
        }
        Ok(())
    }

    /// # Safety
    /// As [`Kernel::launch_sharing`].
    unsafe fn launch(
        &self,
        kernel: &Kernel,
        stream: &Stream,
        work: u64,
        threads: Option<u32>,
        shared: u32,
        arguments: &mut [*mut c_void],
    ) -> Result<(), Error> {
        let threads = threads.unwrap_or(THREADS);
        // A thread block on each multiprocessor goes through its share of the work.
        let most = u64::from(self.gpu.info().multiprocessors.max(1));
        let blocks = work.div_ceil(u64::from(threads)).min(most) as u32;
        // SAFETY: the caller's.
        unsafe { kernel.launch_sharing(stream, blocks * threads, threads, shared, arguments) }
    }
}

/// Whether kernels may be launched with so many threads a block.
pub(crate) fn assert_threads(threads: u32) {
    assert!([256, 512, 1024].contains(&threads), "{threads} threads of a block");
}

/// A kernel's argument, as the driver takes it.
pub(crate) fn argument<T>(value: &T) -> *mut c_void {
    ptr::from_ref(value).cast_mut().cast()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cards_get_the_tables_that_fit() {
        for (kib, tables) in [
            (227, Some(Tables::Four)),
            (163, Some(Tables::Four)),
            (99, Some(Tables::Two)),
            (64, Some(Tables::Two)),
            (48, Some(Tables::One)),
            (16, None),
        ] {
            assert_eq!(Tables::of(kib << 10), tables, "{kib} KiB");
        }
    }

    #[test]
    fn kernels_are_named_for_their_tables() {
        for (tables, suffix) in Tables::ALL.into_iter().zip(["_4", "_2", "_1"]) {
            for cipher in [Cipher::Aes, Cipher::Sm4] {
                assert!(cipher.kernels(tables).iter().all(|name| name.ends_with(suffix)));
            }
        }
    }
}

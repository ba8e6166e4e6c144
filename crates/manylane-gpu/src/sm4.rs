//! SM4 (GB/T 32907-2016) on data in a device's memory.
#![allow(unsafe_code)]

use std::{fmt, sync::Arc};

use crate::{
    Counter, DevicePointer, Error, Gpu, KernelInfo, Stream, Tables,
    block::{Cipher, Kernels, Place, Schedule, assert_threads},
};

/// An expanded SM4 key. Wiped when dropped.
#[derive(Clone)]
pub struct Sm4Keys {
    encrypt: Schedule,
    decrypt: Schedule,
}

impl Sm4Keys {
    /// Of a key.
    pub fn new(key: &[u8; 16]) -> Self {
        let round_keys = manylane::sm4::Sm4::round_keys(key);
        let encrypt = Schedule::new(round_keys.iter().copied());
        Sm4Keys { encrypt, decrypt: Schedule::new(round_keys.iter().rev().copied()) }
    }

    /// For the kernels of the cipher and of counter mode.
    pub(crate) fn encrypting(&self) -> &Schedule {
        &self.encrypt
    }

    /// For those of the inverse cipher.
    pub(crate) fn decrypting(&self) -> &Schedule {
        &self.decrypt
    }
}

/// Nothing of the key.
impl fmt::Debug for Sm4Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sm4Keys")
    }
}

/// SM4 on one device.
///
/// All calls are asynchronous: they enqueue work on a stream and return. Clones share the kernels,
/// which stay loaded as long as one of them lives; the last to be dropped waits for the device.
///
/// Nothing is authenticated here, and ECB hides nothing that repeats: these are the parts that
/// modes and formats are made of.
#[derive(Clone)]
pub struct Sm4 {
    kernels: Arc<Kernels>,
    threads: Option<u32>,
}

impl Sm4 {
    /// The kernels for a device, with as many tables as it has room for: compiled, loaded, and
    /// checked against known answers by the first call for the device, shared by later ones.
    ///
    /// # Errors
    /// [`Error::Compile`]; [`Error::WrongResult`] if a kernel computes a wrong block;
    /// [`Error::Deadline`] if the device has not done that after 10 seconds, and at once if it had
    /// not before; [`Error::Forked`]; or what the driver says.
    pub fn new(gpu: &Gpu) -> Result<Self, Error> {
        Ok(Sm4 { kernels: Kernels::get(gpu, Cipher::Sm4, None)?, threads: None })
    }

    /// The same with so many tables: for measurements.
    ///
    /// # Errors
    /// As [`new`](Self::new); [`Error::Input`] if the device has no room for them.
    pub fn with_tables(gpu: &Gpu, tables: Tables) -> Result<Self, Error> {
        Ok(Sm4 { kernels: Kernels::get(gpu, Cipher::Sm4, Some(tables))?, threads: None })
    }

    /// The same kernels, launched with 256, 512 or 1024 threads a block: for measurements.
    ///
    /// # Panics
    /// If it is another number.
    #[must_use]
    pub fn with_block(&self, threads: u32) -> Self {
        assert_threads(threads);
        Sm4 { kernels: self.kernels.clone(), threads: Some(threads) }
    }

    /// The device.
    pub fn gpu(&self) -> &Gpu {
        self.kernels.gpu()
    }

    /// How many tables are looked up.
    pub fn tables(&self) -> Tables {
        self.kernels.tables()
    }

    /// The kernels, as the driver compiled them.
    ///
    /// # Errors
    /// What the driver says.
    pub fn kernels(&self) -> Result<Vec<KernelInfo>, Error> {
        self.kernels.describe(self.threads)
    }

    /// Enqueues the cipher for each of `blocks` blocks of 16 bytes (ECB, GB/T 17964-2021). Addresses
    /// are 16-byte aligned.
    ///
    /// # Errors
    /// [`Error::Input`] if an address is not aligned or the stream is another device's; what the
    /// driver says. Errors of the work itself are reported by the stream.
    ///
    /// # Safety
    /// Both addresses are of so much memory that the device can access, the same or apart. It stays
    /// so, and nobody else writes to it or reads the output, until the stream has passed this work.
    pub unsafe fn encrypt_blocks(
        &self,
        stream: &Stream,
        keys: &Sm4Keys,
        from: DevicePointer,
        to: DevicePointer,
        blocks: u64,
    ) -> Result<(), Error> {
        let Sm4 { kernels, threads } = self;
        // SAFETY: the caller's.
        unsafe {
            kernels.each_block(0, stream, &keys.encrypt, Place { from, to }, blocks, *threads)
        }
    }

    /// Enqueues the inverse cipher for each of `blocks` blocks.
    ///
    /// # Errors
    /// As [`encrypt_blocks`](Self::encrypt_blocks).
    ///
    /// # Safety
    /// As [`encrypt_blocks`](Self::encrypt_blocks).
    pub unsafe fn decrypt_blocks(
        &self,
        stream: &Stream,
        keys: &Sm4Keys,
        from: DevicePointer,
        to: DevicePointer,
        blocks: u64,
    ) -> Result<(), Error> {
        let Sm4 { kernels, threads } = self;
        // SAFETY: the caller's. Decryption is encryption with the keys in reverse order.
        unsafe {
            kernels.each_block(0, stream, &keys.decrypt, Place { from, to }, blocks, *threads)
        }
    }

    /// Enqueues counter mode over `len` bytes (GB/T 17964-2021), which encrypts and decrypts. The
    /// last block may be a part of one. Addresses are 16-byte aligned.
    ///
    /// # Errors
    /// As [`encrypt_blocks`](Self::encrypt_blocks); [`Error::Input`] if a counter would occur twice.
    ///
    /// # Safety
    /// As [`encrypt_blocks`](Self::encrypt_blocks), for `len` bytes.
    pub unsafe fn apply_ctr(
        &self,
        stream: &Stream,
        keys: &Sm4Keys,
        counter: &Counter,
        from: DevicePointer,
        to: DevicePointer,
        len: u64,
    ) -> Result<(), Error> {
        let (schedule, place) = (&keys.encrypt, Place { from, to });
        let Sm4 { kernels, threads } = self;
        // SAFETY: the caller's.
        unsafe { kernels.counter_mode(1, stream, schedule, counter, place, len, *threads) }
    }
}

impl fmt::Debug for Sm4 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sm4({}, {:?})", self.gpu().info().id, self.tables())
    }
}

//! AES (FIPS 197) on data in a device's memory.
#![allow(unsafe_code)]

use std::{fmt, sync::Arc};

use manylane::aes::{Aes128, Aes192, Aes256};

use crate::{
    Counter, DevicePointer, Error, Gpu, KernelInfo, Stream, Tables,
    block::{self, Cipher, Kernels, Place, Schedule, assert_threads},
};

/// An expanded AES key. Wiped when dropped.
///
/// The expansion is the CPU's part; the keys of the inverse cipher are made here, in constant time.
#[derive(Clone)]
pub struct AesKeys {
    encrypt: Schedule,
    decrypt: Schedule,
    size: KeySize,
}

/// In the order of the kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KeySize {
    Bits128,
    Bits192,
    Bits256,
}

impl AesKeys {
    /// Of a key of 16, 24 or 32 bytes.
    ///
    /// # Errors
    /// [`Error::Input`] if it has another length.
    pub fn new(key: &[u8]) -> Result<Self, Error> {
        if let Ok(key) = key.try_into() {
            Ok(Self::expanded(KeySize::Bits128, &Aes128::round_keys(key)[..]))
        } else if let Ok(key) = key.try_into() {
            Ok(Self::expanded(KeySize::Bits192, &Aes192::round_keys(key)[..]))
        } else if let Ok(key) = key.try_into() {
            Ok(Self::expanded(KeySize::Bits256, &Aes256::round_keys(key)[..]))
        } else {
            Err(block::shape("an AES key has 16, 24 or 32 bytes"))
        }
    }

    fn expanded(size: KeySize, round_keys: &[[u8; 16]]) -> Self {
        let last = round_keys.len() - 1;
        let words = |key: &[u8; 16]| -> [u32; 4] {
            std::array::from_fn(|i| u32::from_le_bytes(key.as_chunks().0[i]))
        };
        let encrypt = Schedule::new(round_keys.iter().flat_map(words));
        // The equivalent inverse cipher, 5.3.5.
        let decrypt = Schedule::new((0..=last).rev().flat_map(|round| {
            let inner = (1..last).contains(&round);
            words(&round_keys[round]).map(|w| if inner { inverse_mix_column(w) } else { w })
        }));
        AesKeys { encrypt, decrypt, size }
    }

    /// For the kernels of the cipher and of counter mode.
    pub(crate) fn encrypting(&self) -> &Schedule {
        &self.encrypt
    }

    /// 0, 1 or 2 for keys of 128, 192 or 256 bits.
    pub(crate) fn size(&self) -> usize {
        self.size as usize
    }

    /// For those of the inverse cipher.
    pub(crate) fn decrypting(&self) -> &Schedule {
        &self.decrypt
    }
}

/// Bits of the key, nothing of it.
impl fmt::Debug for AesKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AesKeys({:?})", self.size)
    }
}

/// Doubles each byte in GF(2⁸).
fn double(w: u32) -> u32 {
    let high = w & 0x8080_8080;
    // No product with a secret: 0x1b is spread by shifts.
    let carry = high >> 7;
    (w ^ high) << 1 ^ carry ^ carry << 1 ^ carry << 3 ^ carry << 4
}

/// `InvMixColumns` of one column, row 0 in the lowest byte.
fn inverse_mix_column(w: u32) -> u32 {
    // The matrix is MixColumns' after the one with 5, 0, 4, 0 in its first row.
    let fourth = double(double(w));
    let w = w ^ fourth ^ fourth.rotate_left(16);
    double(w) ^ (double(w) ^ w).rotate_right(8) ^ w.rotate_right(16) ^ w.rotate_right(24)
}

/// AES on one device.
///
/// All calls are asynchronous: they enqueue work on a stream and return. Clones share the kernels,
/// which stay loaded as long as one of them lives; the last to be dropped waits for the device.
///
/// Nothing is authenticated here, and ECB hides nothing that repeats: these are the parts that
/// modes and formats are made of.
#[derive(Clone)]
pub struct Aes {
    kernels: Arc<Kernels>,
    threads: Option<u32>,
}

impl Aes {
    /// The kernels for a device, with as many tables as it has room for: compiled, loaded, and
    /// checked against known answers by the first call for the device, shared by later ones.
    ///
    /// # Errors
    /// [`Error::Compile`]; [`Error::WrongResult`] if a kernel computes a wrong block;
    /// [`Error::Deadline`] if the device has not done that after 10 seconds, and at once if it had
    /// not before; [`Error::Forked`]; or what the driver says.
    pub fn new(gpu: &Gpu) -> Result<Self, Error> {
        Ok(Aes { kernels: Kernels::get(gpu, Cipher::Aes, None)?, threads: None })
    }

    /// The same with so many tables: for measurements.
    ///
    /// # Errors
    /// As [`new`](Self::new); [`Error::Input`] if the device has no room for them.
    pub fn with_tables(gpu: &Gpu, tables: Tables) -> Result<Self, Error> {
        Ok(Aes { kernels: Kernels::get(gpu, Cipher::Aes, Some(tables))?, threads: None })
    }

    /// The same kernels, launched with 256, 512 or 1024 threads a block: for measurements.
    ///
    /// # Panics
    /// If it is another number.
    #[must_use]
    pub fn with_block(&self, threads: u32) -> Self {
        assert_threads(threads);
        Aes { kernels: self.kernels.clone(), threads: Some(threads) }
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

    /// Enqueues the cipher for each of `blocks` blocks of 16 bytes (ECB, SP 800-38A, 6.1). Addresses are
    /// 16-byte aligned.
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
        keys: &AesKeys,
        from: DevicePointer,
        to: DevicePointer,
        blocks: u64,
    ) -> Result<(), Error> {
        let (number, place) = (keys.size(), Place { from, to });
        let Aes { kernels, threads } = self;
        // SAFETY: the caller's, and the kernel is that of the key's size.
        unsafe { kernels.each_block(number, stream, &keys.encrypt, place, blocks, *threads) }
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
        keys: &AesKeys,
        from: DevicePointer,
        to: DevicePointer,
        blocks: u64,
    ) -> Result<(), Error> {
        let (number, place) = (3 + keys.size(), Place { from, to });
        let Aes { kernels, threads } = self;
        // SAFETY: the caller's, and the kernel is that of the key's size.
        unsafe { kernels.each_block(number, stream, &keys.decrypt, place, blocks, *threads) }
    }

    /// Enqueues counter mode over `len` bytes (SP 800-38A, 6.5), which encrypts and decrypts. The last
    /// block may be a part of one. Addresses are 16-byte aligned.
    ///
    /// # Errors
    /// As [`encrypt_blocks`](Self::encrypt_blocks); [`Error::Input`] if a counter would occur twice.
    ///
    /// # Safety
    /// As [`encrypt_blocks`](Self::encrypt_blocks), for `len` bytes.
    pub unsafe fn apply_ctr(
        &self,
        stream: &Stream,
        keys: &AesKeys,
        counter: &Counter,
        from: DevicePointer,
        to: DevicePointer,
        len: u64,
    ) -> Result<(), Error> {
        let (number, place) = (6 + keys.size(), Place { from, to });
        let Aes { kernels, threads } = self;
        let schedule = &keys.encrypt;
        // SAFETY: the caller's, and the kernel is that of the key's size.
        unsafe { kernels.counter_mode(number, stream, schedule, counter, place, len, *threads) }
    }
}

impl fmt::Debug for Aes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Aes({}, {:?})", self.gpu().info().id, self.tables())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_inverse_of_mix_columns_undoes_it() {
        // FIPS 197, B, round 1: after ShiftRows and after MixColumns.
        let (before, after) = (0x305d_bfd4, 0xe581_6604);
        assert_eq!(inverse_mix_column(after), before);
        assert_eq!(double(0x8001_ff1b), 0x1b02_e536);
    }

    #[test]
    fn keys_of_other_lengths_are_refused() {
        assert!([0, 15, 17, 33].iter().all(|len| AesKeys::new(&[0; 33][..*len]).is_err()));
        let keys = AesKeys::new(&[7; 24]).unwrap();
        assert_eq!(format!("{keys:?}"), "AesKeys(Bits192)");
    }
}

//! AES (FIPS 197): the cipher with keys of 128, 192 and 256 bits.
//!
//! A key is expanded when it is made, for the best machine there is. Nothing here looks anything up at a
//! place that a secret decides: without AES instructions, the S-box is computed bit by bit.

#[cfg(target_arch = "x86_64")]
mod aesni;
#[cfg(target_arch = "aarch64")]
mod armaes;
mod portable;
mod schedule;
#[cfg(target_arch = "x86_64")]
mod vaes;

#[cfg(test)]
mod tests;

#[cfg(target_arch = "aarch64")]
use crate::cpu::Armaes;
#[cfg(target_arch = "x86_64")]
use crate::cpu::{Aesni, Vaes};
use zeroize::Zeroizing;

use crate::{
    Error,
    block::{
        Block, BlockCipher, TweakOrder,
        kernels::{self, Chains, Kernels},
    },
    cpu::Machine,
    ct::wipe_bytes,
    ghash::Ghash,
};

use self::{
    portable::Portable,
    schedule::{RoundKeys, StreamKeys},
};

/// AES with a key of 128 bits.
pub type Aes128 = Aes<11>;

/// AES with a key of 192 bits.
pub type Aes192 = Aes<13>;

/// AES with a key of 256 bits.
pub type Aes256 = Aes<15>;

/// AES with a key of `N` round keys, on the machine that it was made for: [`Aes128`], [`Aes192`] or
/// [`Aes256`]. The key is wiped when it is dropped.
#[derive(Clone)]
pub struct Aes<const N: usize> {
    cell: Cell,
    keys: RoundKeys<N>,
}

/// Whose kernels run.
#[derive(Clone, Copy)]
enum Cell {
    Portable(Portable),
    #[cfg(target_arch = "x86_64")]
    Aesni(Aesni),
    #[cfg(target_arch = "x86_64")]
    Vaes(Vaes),
    #[cfg(target_arch = "aarch64")]
    Armaes(Armaes),
}

impl Cell {
    const MACHINES: [Machine; 4] =
        [Machine::Portable, Machine::Aesni, Machine::Vaes, Machine::Armaes];

    /// The most capable one there is.
    fn best() -> Self {
        let on = |machine| Cell::on(machine).ok();
        Cell::MACHINES.into_iter().rev().find_map(on).unwrap_or(Cell::Portable(Portable))
    }

    fn on(machine: Machine) -> Result<Self, Error> {
        match machine {
            Machine::Portable => Some(Cell::Portable(Portable)),
            #[cfg(target_arch = "x86_64")]
            Machine::Aesni => Aesni::get().map(Cell::Aesni),
            #[cfg(target_arch = "x86_64")]
            Machine::Vaes => Vaes::get().map(Cell::Vaes),
            #[cfg(target_arch = "aarch64")]
            Machine::Armaes => Armaes::get().map(Cell::Armaes),
            _ => None,
        }
        .ok_or(Error::Unavailable(machine))
    }

    fn machine(self) -> Machine {
        match self {
            Cell::Portable(_) => Machine::Portable,
            #[cfg(target_arch = "x86_64")]
            Cell::Aesni(_) => Machine::Aesni,
            #[cfg(target_arch = "x86_64")]
            Cell::Vaes(_) => Machine::Vaes,
            #[cfg(target_arch = "aarch64")]
            Cell::Armaes(_) => Machine::Armaes,
        }
    }
}

macro_rules! of_length {
    ($bytes:literal, $rounds:literal) => {
        impl Aes<$rounds> {
            /// Bytes of a key.
            pub const KEY_LEN: usize = $bytes;

            /// The cipher with `key`, on the most capable machine.
            pub fn new(key: &[u8; $bytes]) -> Self {
                Self::with(Cell::best(), key)
            }

            /// The cipher with `key` on one machine, for tests and comparisons.
            ///
            /// # Errors
            /// [`Error::Unavailable`] if the processor lacks the machine, [`FORCE`](crate::cpu::FORCE)
            /// rules it out, or AES has no kernel for it.
            pub fn new_on(machine: Machine, key: &[u8; $bytes]) -> Result<Self, Error> {
                Ok(Self::with(Cell::on(machine)?, key))
            }

            /// The round keys of `key` (FIPS 197, 5.2), in the order in which encryption adds them: for
            /// kernels elsewhere, such as those of GPUs. Wiped when dropped.
            pub fn round_keys(key: &[u8; $bytes]) -> Zeroizing<[Block; $rounds]> {
                let mut keys = Zeroizing::new([[0; 16]; $rounds]);
                schedule::expand(key, &mut keys, portable::sub_word);
                keys
            }
        }
    };
}
of_length!(16, 11);
of_length!(24, 13);
of_length!(32, 15);

impl<const N: usize> Aes<N> {
    /// `key` has `N` − 7 words.
    fn with(cell: Cell, key: &[u8]) -> Self {
        let keys = match cell {
            Cell::Portable(token) => portable::expand_key(token, key),
            #[cfg(target_arch = "x86_64")]
            Cell::Aesni(token) => aesni::expand_key(token, key),
            #[cfg(target_arch = "x86_64")]
            Cell::Vaes(token) => aesni::expand_key(token.aesni(), key),
            #[cfg(target_arch = "aarch64")]
            Cell::Armaes(token) => armaes::expand_key(token, key),
        };
        Aes { cell, keys }
    }
}

impl<const N: usize> core::fmt::Debug for Aes<N> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Aes").field("machine", &self.cell.machine()).finish_non_exhaustive()
    }
}

/// Calls the function of the machine's file: one match a call.
macro_rules! dispatch {
    ($self:ident, $function:ident($($argument:expr),*)) => {
        match $self.cell {
            Cell::Portable(token) => portable::$function(token, &$self.keys, $($argument),*),
            #[cfg(target_arch = "x86_64")]
            Cell::Aesni(token) => aesni::$function(token, &$self.keys, $($argument),*),
            #[cfg(target_arch = "x86_64")]
            Cell::Vaes(token) => vaes::$function(token, &$self.keys, $($argument),*),
            #[cfg(target_arch = "aarch64")]
            Cell::Armaes(token) => armaes::$function(token, &$self.keys, $($argument),*),
        }
    };
    // A chain of blocks gains nothing by vectors of many.
    (serial $self:ident, $function:ident($($argument:expr),*)) => {
        match $self.cell {
            Cell::Portable(token) => portable::$function(token, &$self.keys, $($argument),*),
            #[cfg(target_arch = "x86_64")]
            Cell::Aesni(token) => aesni::$function(token, &$self.keys, $($argument),*),
            #[cfg(target_arch = "x86_64")]
            Cell::Vaes(token) => aesni::$function(token.aesni(), &$self.keys, $($argument),*),
            #[cfg(target_arch = "aarch64")]
            Cell::Armaes(token) => armaes::$function(token, &$self.keys, $($argument),*),
        }
    };
}

/// CBC messages side by side, each with its own key.
#[doc(hidden)]
pub struct Streams<const N: usize> {
    cell: Cell,
    keys: StreamKeys<N>,
    iv: [Block; 16],
}

/// The kernels of one key length. A macro and not generic: what is generic is compiled again, with all its kernels, in
/// every crate that uses it.
macro_rules! kernels_of {
    ($rounds:literal) => {
        impl BlockCipher for Aes<$rounds> {
            fn machine(&self) -> Machine {
                self.cell.machine()
            }
        }

        impl Kernels for Aes<$rounds> {
            type Chains = Streams<$rounds>;

            fn encrypt_one(&self, block: &mut Block) {
                dispatch!(serial self, encrypt_block(block));
            }

            fn encrypt_each(&self, data: &mut [Block]) {
                dispatch!(self, encrypt_blocks(data));
            }

            fn decrypt_each(&self, data: &mut [Block]) {
                dispatch!(self, decrypt_blocks(data));
            }

            fn xor_counters(&self, counter: &Block, data: &mut [Block]) {
                dispatch!(self, xor_counters(counter, data));
            }

            fn cbc_decrypt(&self, iv: &mut Block, data: &mut [Block]) {
                dispatch!(self, cbc_decrypt(iv, data));
            }

            fn cfb_decrypt(&self, iv: &mut Block, data: &mut [Block]) {
                dispatch!(self, cfb_decrypt(iv, data));
            }

            fn xts_encrypt(&self, order: TweakOrder, tweak: &mut Block, data: &mut [Block]) {
                dispatch!(self, xts_encrypt(order, tweak, data));
            }

            fn xts_decrypt(&self, order: TweakOrder, tweak: &mut Block, data: &mut [Block]) {
                dispatch!(self, xts_decrypt(order, tweak, data));
            }

            fn cbc_encrypt(&self, iv: &mut Block, data: &mut [Block]) {
                dispatch!(serial self, cbc_encrypt(iv, data));
            }

            fn cbc_mac(&self, mac: &mut Block, data: &[Block]) {
                dispatch!(serial self, cbc_mac(mac, data));
            }

            fn cfb_encrypt(&self, iv: &mut Block, data: &mut [Block]) {
                dispatch!(serial self, cfb_encrypt(iv, data));
            }

            fn ofb_xor(&self, iv: &mut Block, data: &mut [Block]) {
                dispatch!(serial self, ofb_xor(iv, data));
            }

            fn gcm_encrypt(&self, ghash: &mut Ghash<'_>, counter: &Block, data: &mut [Block]) {
                #[cfg(target_arch = "x86_64")]
                if let (Cell::Vaes(token), Some((powers, y))) = (self.cell, ghash.vpclmul()) {
                    let done = vaes::gcm::encrypt(token, &self.keys, powers, y, counter, data);
                    let counter = kernels::plus(counter, done);
                    return kernels::gcm_encrypt_in_turns(self, ghash, &counter, &mut data[done..]);
                }
                kernels::gcm_encrypt_in_turns(self, ghash, counter, data);
            }

            fn gcm_decrypt(&self, ghash: &mut Ghash<'_>, counter: &Block, data: &mut [Block]) {
                #[cfg(target_arch = "x86_64")]
                if let (Cell::Vaes(token), Some((powers, y))) = (self.cell, ghash.vpclmul()) {
                    let done = vaes::gcm::decrypt(token, &self.keys, powers, y, counter, data);
                    let counter = kernels::plus(counter, done);
                    return kernels::gcm_decrypt_in_turns(self, ghash, &counter, &mut data[done..]);
                }
                kernels::gcm_decrypt_in_turns(self, ghash, counter, data);
            }
        }

        impl Chains<Aes<$rounds>> for Streams<$rounds> {
            fn new(cipher: &Aes<$rounds>) -> Self {
                Streams { cell: cipher.cell, keys: StreamKeys::zero(), iv: [[0; 16]; 16] }
            }

            fn count(&self) -> usize {
                match self.cell {
                    Cell::Portable(_) => portable::LANES,
                    #[cfg(target_arch = "x86_64")]
                    Cell::Aesni(_) => aesni::LANES,
                    #[cfg(target_arch = "x86_64")]
                    Cell::Vaes(_) => vaes::LANES,
                    #[cfg(target_arch = "aarch64")]
                    Cell::Armaes(_) => armaes::LANES,
                }
            }

            fn takes(&self, cipher: &Aes<$rounds>) -> bool {
                core::mem::discriminant(&self.cell) == core::mem::discriminant(&cipher.cell)
            }

            fn set(&mut self, lane: usize, cipher: &Aes<$rounds>, iv: &Block) {
                debug_assert!(self.takes(cipher));
                assert!(lane < self.count());
                self.keys.set(lane, &cipher.keys);
                self.iv[lane] = *iv;
            }

            fn encrypt(&mut self, data: &mut [&mut [Block]]) {
                let Streams { cell, keys, iv } = self;
                let (eight, _) = iv.split_first_chunk_mut::<8>().expect("sixteen");
                match *cell {
                    Cell::Portable(token) => portable::cbc_streams(token, keys, eight, data),
                    #[cfg(target_arch = "x86_64")]
                    Cell::Aesni(token) => aesni::cbc_streams(token, keys, eight, data),
                    #[cfg(target_arch = "x86_64")]
                    Cell::Vaes(token) => vaes::cbc_streams(token, keys, iv, data),
                    #[cfg(target_arch = "aarch64")]
                    Cell::Armaes(token) => armaes::cbc_streams(token, keys, eight, data),
                }
            }
        }
    };
}
kernels_of!(11);
kernels_of!(13);
kernels_of!(15);

impl<const N: usize> Drop for Streams<N> {
    fn drop(&mut self) {
        // In GCM, key stream or the mask of a tag.
        wipe_bytes(self.iv.as_flattened_mut());
    }
}

impl<const N: usize> core::fmt::Debug for Streams<N> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Streams").finish_non_exhaustive()
    }
}

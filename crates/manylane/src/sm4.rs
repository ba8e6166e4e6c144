//! SM4 (GB/T 32907-2016): blocks and keys of 128 bits.
//!
//! A key is expanded when it is made, for the best machine there is. Nothing here looks anything up in
//! memory at a place that a secret decides: the S-box is an inversion in GF(2⁸) between affine maps, which AES's
//! instructions, GFNI and plain logic can compute.

#[cfg(target_arch = "x86_64")]
mod aesni;
mod affine;
#[cfg(target_arch = "aarch64")]
mod armaes;
#[cfg(target_arch = "aarch64")]
mod armcrypto;
#[cfg(target_arch = "x86_64")]
mod avx2;
mod body;
#[cfg(target_arch = "x86_64")]
mod gfni;
#[cfg(target_arch = "aarch64")]
mod neon;
mod portable;
mod schedule;

#[cfg(test)]
mod tests;

#[cfg(target_arch = "x86_64")]
use crate::cpu::{Aesni, Avx2, Gfni};
#[cfg(target_arch = "aarch64")]
use crate::cpu::{ArmCrypto, Armaes, Neon};
use zeroize::Zeroizing;

use crate::{
    Error,
    block::{
        Block, BlockCipher, TweakOrder,
        kernels::{Chains, Kernels},
    },
    cpu::Machine,
    ct::wipe_bytes,
};

use self::{
    portable::Portable,
    schedule::{Keys, MAX_LANES, StreamKeys},
};

/// SM4 with a key, on the machine that it was made for. The key is wiped when it is dropped.
#[derive(Clone)]
pub struct Sm4 {
    cell: Cell,
    keys: Keys,
}

/// Whose kernels run.
#[derive(Clone, Copy)]
enum Cell {
    Portable(Portable),
    #[cfg(target_arch = "x86_64")]
    Aesni(Aesni),
    #[cfg(target_arch = "x86_64")]
    Avx2((Avx2, Aesni)),
    #[cfg(target_arch = "x86_64")]
    Gfni(Gfni),
    #[cfg(target_arch = "aarch64")]
    Neon(Neon),
    #[cfg(target_arch = "aarch64")]
    Armaes(Armaes),
    #[cfg(target_arch = "aarch64")]
    ArmCrypto(ArmCrypto),
}

impl Cell {
    const MACHINES: [Machine; 7] = [
        Machine::Portable,
        Machine::Aesni,
        Machine::Avx2,
        Machine::Gfni,
        Machine::Neon,
        Machine::Armaes,
        Machine::ArmCrypto,
    ];

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
            Machine::Avx2 => Avx2::get().zip(Aesni::get()).map(Cell::Avx2),
            #[cfg(target_arch = "x86_64")]
            Machine::Gfni => Gfni::get().map(Cell::Gfni),
            #[cfg(target_arch = "aarch64")]
            Machine::Neon => Neon::get().map(Cell::Neon),
            #[cfg(target_arch = "aarch64")]
            Machine::Armaes => Armaes::get().map(Cell::Armaes),
            #[cfg(target_arch = "aarch64")]
            Machine::ArmCrypto => ArmCrypto::get().map(Cell::ArmCrypto),
            _ => None,
        }
        .ok_or(Error::Unavailable(machine))
    }
}

impl Sm4 {
    /// Bytes of a key.
    pub const KEY_LEN: usize = 16;

    /// The cipher with `key`, on the most capable machine.
    pub fn new(key: &[u8; 16]) -> Self {
        Self::with(Cell::best(), key)
    }

    /// The cipher with `key` on one machine, for tests and comparisons.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if the processor lacks the machine, [`FORCE`](crate::cpu::FORCE)
    /// rules it out, or SM4 has no kernel for it.
    pub fn new_on(machine: Machine, key: &[u8; 16]) -> Result<Self, Error> {
        Ok(Self::with(Cell::on(machine)?, key))
    }

    /// The round keys rk₀ to rk₃₁ of `key` (GB/T 32907-2016, 7.3): for kernels elsewhere, such as those
    /// of GPUs. Wiped when dropped.
    pub fn round_keys(key: &[u8; 16]) -> Zeroizing<[u32; 32]> {
        schedule::expand(key, portable::tau)
    }

    fn with(cell: Cell, key: &[u8; 16]) -> Self {
        let keys = match cell {
            Cell::Portable(token) => portable::expand_key(token, key),
            #[cfg(target_arch = "x86_64")]
            Cell::Aesni(token) | Cell::Avx2((_, token)) => aesni::expand_key(token, key),
            #[cfg(target_arch = "x86_64")]
            Cell::Gfni(token) => aesni::expand_key(token.aesni(), key),
            #[cfg(target_arch = "aarch64")]
            Cell::Neon(token) => neon::expand_key(token, key),
            #[cfg(target_arch = "aarch64")]
            Cell::Armaes(token) => armaes::expand_key(token, key),
            #[cfg(target_arch = "aarch64")]
            Cell::ArmCrypto(token) => armcrypto::expand_key(token, key),
        };
        Sm4 { cell, keys }
    }
}

impl core::fmt::Debug for Sm4 {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Sm4").field("machine", &self.machine()).finish_non_exhaustive()
    }
}

impl BlockCipher for Sm4 {
    fn machine(&self) -> Machine {
        match self.cell {
            Cell::Portable(_) => Machine::Portable,
            #[cfg(target_arch = "x86_64")]
            Cell::Aesni(_) => Machine::Aesni,
            #[cfg(target_arch = "x86_64")]
            Cell::Avx2(_) => Machine::Avx2,
            #[cfg(target_arch = "x86_64")]
            Cell::Gfni(_) => Machine::Gfni,
            #[cfg(target_arch = "aarch64")]
            Cell::Neon(_) => Machine::Neon,
            #[cfg(target_arch = "aarch64")]
            Cell::Armaes(_) => Machine::Armaes,
            #[cfg(target_arch = "aarch64")]
            Cell::ArmCrypto(_) => Machine::ArmCrypto,
        }
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
            Cell::Avx2(tokens) => avx2::$function(tokens, &$self.keys, $($argument),*),
            #[cfg(target_arch = "x86_64")]
            Cell::Gfni(token) => gfni::$function(token, &$self.keys, $($argument),*),
            #[cfg(target_arch = "aarch64")]
            Cell::Neon(token) => neon::$function(token, &$self.keys, $($argument),*),
            #[cfg(target_arch = "aarch64")]
            Cell::Armaes(token) => armaes::$function(token, &$self.keys, $($argument),*),
            #[cfg(target_arch = "aarch64")]
            Cell::ArmCrypto(token) => armcrypto::$function(token, &$self.keys, $($argument),*),
        }
    };
}

impl Kernels for Sm4 {
    type Chains = Streams;

    fn encrypt_one(&self, block: &mut Block) {
        dispatch!(self, encrypt_block(block));
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
        dispatch!(self, cbc_encrypt(iv, data));
    }

    fn cbc_mac(&self, mac: &mut Block, data: &[Block]) {
        dispatch!(self, cbc_mac(mac, data));
    }

    fn cfb_encrypt(&self, iv: &mut Block, data: &mut [Block]) {
        dispatch!(self, cfb_encrypt(iv, data));
    }

    fn ofb_xor(&self, iv: &mut Block, data: &mut [Block]) {
        dispatch!(self, ofb_xor(iv, data));
    }
}

/// CBC messages side by side, each with its own key.
#[doc(hidden)]
pub struct Streams {
    cell: Cell,
    keys: StreamKeys,
    iv: [Block; MAX_LANES],
}

impl Streams {
    /// Lanes, and the blocks that a vector holds.
    fn shape(&self) -> (usize, usize) {
        match self.cell {
            Cell::Portable(_) => (portable::LANES, 1),
            #[cfg(target_arch = "x86_64")]
            Cell::Aesni(_) => (aesni::LANES, 1),
            #[cfg(target_arch = "x86_64")]
            Cell::Avx2(_) => (avx2::LANES, 2),
            #[cfg(target_arch = "x86_64")]
            Cell::Gfni(_) => (gfni::LANES, 4),
            #[cfg(target_arch = "aarch64")]
            Cell::Neon(_) => (neon::LANES, 1),
            #[cfg(target_arch = "aarch64")]
            Cell::Armaes(_) => (armaes::LANES, 1),
            #[cfg(target_arch = "aarch64")]
            Cell::ArmCrypto(_) => (armcrypto::LANES, 1),
        }
    }
}

/// Of machines that have eight lanes.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
fn first_eight(iv: &mut [Block; MAX_LANES]) -> &mut [Block; 8] {
    iv.first_chunk_mut().expect("sixteen are more")
}

impl Chains<Sm4> for Streams {
    fn new(cipher: &Sm4) -> Self {
        Streams { cell: cipher.cell, keys: StreamKeys::zero(), iv: [[0; 16]; MAX_LANES] }
    }

    fn count(&self) -> usize {
        self.shape().0
    }

    fn takes(&self, cipher: &Sm4) -> bool {
        core::mem::discriminant(&self.cell) == core::mem::discriminant(&cipher.cell)
    }

    fn set(&mut self, lane: usize, cipher: &Sm4, iv: &Block) {
        debug_assert!(self.takes(cipher));
        let (lanes, blocks) = self.shape();
        assert!(lane < lanes);
        match self.cell {
            #[cfg(target_arch = "aarch64")]
            Cell::ArmCrypto(_) => self.keys.set_fours(lane, &cipher.keys.encrypt),
            _ => self.keys.set(lane, blocks, &cipher.keys.encrypt),
        }
        self.iv[lane] = *iv;
    }

    fn encrypt(&mut self, data: &mut [&mut [Block]]) {
        let Streams { cell, keys, iv } = self;
        match *cell {
            Cell::Portable(token) => portable::cbc_streams(token, keys, iv, data),
            #[cfg(target_arch = "x86_64")]
            Cell::Aesni(token) => aesni::cbc_streams(token, keys, first_eight(iv), data),
            #[cfg(target_arch = "x86_64")]
            Cell::Avx2(tokens) => avx2::cbc_streams(tokens, keys, iv, data),
            #[cfg(target_arch = "x86_64")]
            Cell::Gfni(token) => gfni::cbc_streams(token, keys, iv, data),
            #[cfg(target_arch = "aarch64")]
            Cell::Neon(token) => neon::cbc_streams(token, keys, first_eight(iv), data),
            #[cfg(target_arch = "aarch64")]
            Cell::Armaes(token) => armaes::cbc_streams(token, keys, first_eight(iv), data),
            #[cfg(target_arch = "aarch64")]
            Cell::ArmCrypto(token) => armcrypto::cbc_streams(token, keys, first_eight(iv), data),
        }
    }
}

impl Drop for Streams {
    fn drop(&mut self) {
        // In GCM, key stream or the mask of a tag.
        wipe_bytes(self.iv.as_flattened_mut());
    }
}

impl core::fmt::Debug for Streams {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Streams").finish_non_exhaustive()
    }
}

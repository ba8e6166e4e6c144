//! What a cipher offers to the modes, whichever machine it runs on.

use super::{Block, TweakOrder};
use crate::ghash::Ghash;

/// Blocks of a turn: 4 KiB stay in the first cache until the other's.
const TURN: usize = 256;

/// The kernels of a keyed cipher: a choice of machine per call, not per block.
///
/// Public in a private module, so that only this crate implements it. Whoever is generic over [`BlockCipher`] could call
/// it, though, for it is that trait's bound: it is hidden and no promise, and its names are none of those that the
/// traits of the `cipher` crate have, which would become ambiguous. All slices may be empty.
///
/// [`BlockCipher`]: super::BlockCipher
#[doc(hidden)]
pub trait Kernels: Clone + Send + Sync + Sized {
    /// Chains of blocks side by side; see [`Chains`].
    type Chains: Chains<Self>;

    /// Encrypts one block with the lowest latency, for modes that chain.
    fn encrypt_one(&self, block: &mut Block);

    /// Encrypts every block by itself.
    fn encrypt_each(&self, data: &mut [Block]);

    /// Decrypts every block by itself.
    fn decrypt_each(&self, data: &mut [Block]);

    /// Xors the key stream of `counter`, `counter` + 1, … into `data`. The last four bytes count, as a
    /// big-endian number modulo 2³²; the others stay.
    fn xor_counters(&self, counter: &Block, data: &mut [Block]);

    /// Decrypts a part of a CBC message; `iv` becomes that of the next part.
    fn cbc_decrypt(&self, iv: &mut Block, data: &mut [Block]);

    /// Decrypts a part of a CFB message of whole blocks; `iv` becomes that of the next part.
    fn cfb_decrypt(&self, iv: &mut Block, data: &mut [Block]);

    /// Encrypts blocks of an XTS data unit; `tweak` is that of the first, already encrypted, and becomes
    /// that of the block after the last.
    fn xts_encrypt(&self, order: TweakOrder, tweak: &mut Block, data: &mut [Block]);

    /// Decrypts such blocks.
    fn xts_decrypt(&self, order: TweakOrder, tweak: &mut Block, data: &mut [Block]);

    /// Encrypts a part of one CBC message: a chain, block after block. `iv` becomes that of the next part.
    fn cbc_encrypt(&self, iv: &mut Block, data: &mut [Block]) {
        for block in data {
            xor(iv, block);
            self.encrypt_one(iv);
            *block = *iv;
        }
    }

    /// The CBC-MAC chain over `data`, from and into `mac`.
    fn cbc_mac(&self, mac: &mut Block, data: &[Block]) {
        for block in data {
            xor(mac, block);
            self.encrypt_one(mac);
        }
    }

    /// Encrypts a part of a CFB message of whole blocks; `iv` becomes that of the next part.
    fn cfb_encrypt(&self, iv: &mut Block, data: &mut [Block]) {
        for block in data {
            self.encrypt_one(iv);
            xor(iv, block);
            *block = *iv;
        }
    }

    /// Xors a part of OFB's key stream into `data`; `iv` becomes that of the next part.
    fn ofb_xor(&self, iv: &mut Block, data: &mut [Block]) {
        for block in data {
            self.encrypt_one(iv);
            xor(block, iv);
        }
    }

    /// [`xor_counters`](Kernels::xor_counters), and the hash of the result.
    fn gcm_encrypt(&self, ghash: &mut Ghash<'_>, counter: &Block, data: &mut [Block]) {
        gcm_encrypt_in_turns(self, ghash, counter, data);
    }

    /// The hash of `data`, and [`xor_counters`](Kernels::xor_counters).
    fn gcm_decrypt(&self, ghash: &mut Ghash<'_>, counter: &Block, data: &mut [Block]) {
        gcm_decrypt_in_turns(self, ghash, counter, data);
    }
}

/// Key stream and hash by turns, for machines without a loop for both.
pub(crate) fn gcm_encrypt_in_turns(
    cipher: &impl Kernels,
    ghash: &mut Ghash<'_>,
    counter: &Block,
    data: &mut [Block],
) {
    for (turn, data) in data.chunks_mut(TURN).enumerate() {
        cipher.xor_counters(&plus(counter, turn * TURN), data);
        ghash.update(data);
    }
}

/// Hash and key stream by turns.
pub(crate) fn gcm_decrypt_in_turns(
    cipher: &impl Kernels,
    ghash: &mut Ghash<'_>,
    counter: &Block,
    data: &mut [Block],
) {
    for (turn, data) in data.chunks_mut(TURN).enumerate() {
        ghash.update(data);
        cipher.xor_counters(&plus(counter, turn * TURN), data);
    }
}

/// Independent CBC messages side by side, each with its own key: what a chain alone leaves idle.
///
/// A lane keeps its key and the block that the next one is chained to, until it is set anew or rests: a lane that
/// has rested must be set anew.
#[doc(hidden)]
pub trait Chains<C: Kernels>: Sized {
    /// Lanes of `cipher`'s machine, at least two of which are worth filling: no lane is set yet.
    fn new(cipher: &C) -> Self;

    /// How many lanes there are.
    fn count(&self) -> usize;

    /// Whether a lane takes messages under that key: it is of these lanes' machine, and of their cipher where there are
    /// several.
    fn takes(&self, cipher: &C) -> bool;

    /// Starts a message in a lane, which [takes](Self::takes) it.
    ///
    /// # Panics
    /// If there is no such lane.
    fn set(&mut self, lane: usize, cipher: &C, iv: &Block);

    /// Encrypts the next blocks of every lane's message in place. A lane whose slice is empty rests; all
    /// others have slices of one length.
    ///
    /// # Panics
    /// Unless there are as many slices as lanes, and those not empty of one length.
    fn encrypt(&mut self, data: &mut [&mut [Block]]);
}

/// The counter after `blocks` blocks, modulo 2³² in the last four bytes.
pub(crate) fn plus(counter: &Block, blocks: usize) -> Block {
    let [.., a, b, c, d] = *counter;
    let mut sum = *counter;
    let low = u32::from_be_bytes([a, b, c, d]).wrapping_add(blocks as u32);
    sum[12..].copy_from_slice(&low.to_be_bytes());
    sum
}

/// Xors a block into another.
pub(crate) fn xor(into: &mut Block, other: &Block) {
    *into = (u128::from_ne_bytes(*into) ^ u128::from_ne_bytes(*other)).to_ne_bytes();
}

//! Round keys: clause 7.3 of GB/T 32907-2016, and the forms that kernels take them in.

use zeroize::Zeroizing;

use super::affine::Maps;
use crate::ct::wipe_words;

/// FK of clause 7.3.
pub(super) const FK: [u32; 4] = [0xa3b1_bac6, 0x56aa_3350, 0x677d_9197, 0xb270_22dc];

/// CK of clause 7.3: byte j of CK_i is 7 (4 i + j) modulo 256.
pub(super) const CK: [u32; 32] = {
    let mut ck = [0; 32];
    let mut byte = 0;
    while byte < 128 {
        ck[byte / 4] = ck[byte / 4] << 8 | ((7 * byte as u32) & 0xff);
        byte += 1;
    }
    ck
};

/// rk₀ … rk₃₁ of the key `mk`; `tau` is τ of clause 6.2, in constant time.
pub(super) fn expand(mk: &[u8; 16], tau: impl Fn(u32) -> u32) -> Zeroizing<[u32; 32]> {
    let mut rk = Zeroizing::new([0; 32]);
    let mut k = Zeroizing::new(FK);
    for (k, bytes) in k.iter_mut().zip(mk.as_chunks().0) {
        *k ^= u32::from_be_bytes(*bytes);
    }
    for i in 0..32 {
        let b = tau(k[(i + 1) % 4] ^ k[(i + 2) % 4] ^ k[(i + 3) % 4] ^ CK[i]);
        k[i % 4] ^= b ^ b.rotate_left(13) ^ b.rotate_left(23);
        rk[i] = k[i % 4];
    }
    rk
}

/// The keys of 32 rounds, and what is added to words before and after these.
///
/// A word that stays in the form of [`Maps`] may also have any constant added, and the kernels save a
/// step with constants dᵢ on words Xᵢ for which dᵢ₊₁ + dᵢ₊₂ + dᵢ₊₃ is the key of round i: then three
/// words add up to what goes into the S-box. Instead, dᵢ₊₄ + dᵢ is added to the result of the round,
/// together with other constants.
#[derive(Clone)]
pub(super) struct RoundKeys {
    /// What a round adds: after its S-boxes if in the form of [`Maps`], before them if plain.
    pub(super) k: [u32; 32],
    /// For X₃.
    pub(super) before: u32,
    /// For X₃₂, X₃₃ and X₃₄.
    pub(super) after: [u32; 3],
}

impl Drop for RoundKeys {
    fn drop(&mut self) {
        wipe_words(&mut self.k);
        wipe_words(core::slice::from_mut(&mut self.before));
        wipe_words(&mut self.after);
    }
}

/// The round keys of both directions.
#[derive(Clone)]
pub(super) struct Keys {
    pub(super) encrypt: RoundKeys,
    pub(super) decrypt: RoundKeys,
}

impl Keys {
    /// Plain round keys, as numbers.
    #[cfg(target_arch = "aarch64")]
    pub(super) fn plain(rk: &[u32; 32]) -> Keys {
        let keys = |rk| RoundKeys { k: rk, before: 0, after: [0; 3] };
        let mut reversed = *rk;
        reversed.reverse();
        Keys { encrypt: keys(*rk), decrypt: keys(reversed) }
    }

    /// Round keys in the form of `maps`; a word's first byte is its lowest.
    #[inline]
    pub(super) fn mapped(maps: &Maps, rk: &[u32; 32]) -> Keys {
        let c1 = u32::from_ne_bytes([maps.c1; 4]);
        let mapped = Zeroizing::new(rk.map(|rk| maps.enter.apply_word(rk.swap_bytes()) ^ c1));
        Keys {
            encrypt: RoundKeys::summed(maps.c2, |i| mapped[i]),
            decrypt: RoundKeys::summed(maps.c2, |i| mapped[31 - i]),
        }
    }
}

impl RoundKeys {
    /// The constants for keys that are already mapped; a round also adds `c2` to each byte.
    fn summed(c2: u8, key: impl Fn(usize) -> u32) -> RoundKeys {
        // d₀ = d₁ = d₂ = 0, the sums of three tell the others, and d₃₅ = 0.
        let mut d = Zeroizing::new([0; 36]);
        for i in 0..32 {
            d[i + 3] = key(i) ^ d[i + 1] ^ d[i + 2];
        }
        let (before, after) = (d[3], [d[32], d[33], d[34]]);
        let c2 = u32::from_ne_bytes([c2; 4]);
        let k = core::array::from_fn(|i| d[i] ^ d[i + 4] ^ c2);
        RoundKeys { k, before, after }
    }
}

/// Messages side by side, at most.
pub(super) const MAX_LANES: usize = 16;

/// The round keys of messages side by side, in the order of the words in vectors.
#[derive(Clone)]
pub(super) struct StreamKeys {
    pub(super) k: [[u32; MAX_LANES]; 32],
    pub(super) before: [u32; MAX_LANES],
    pub(super) after: [[u32; MAX_LANES]; 3],
}

impl StreamKeys {
    /// All zero.
    pub(super) fn zero() -> Self {
        let zero = [0; MAX_LANES];
        StreamKeys { k: [zero; 32], before: zero, after: [zero; 3] }
    }

    /// Gives a lane its keys. Vectors hold `blocks` blocks each, and four of them are turned around at once.
    pub(super) fn set(&mut self, lane: usize, blocks: usize, keys: &RoundKeys) {
        let (group, vector, block) = (lane / (4 * blocks), lane / blocks % 4, lane % blocks);
        let place = 4 * (blocks * group + block) + vector;
        for (lanes, k) in self.k.iter_mut().zip(&keys.k) {
            lanes[place] = *k;
        }
        self.before[place] = keys.before;
        for (lanes, after) in self.after.iter_mut().zip(&keys.after) {
            lanes[place] = *after;
        }
    }

    /// Gives a lane its plain keys, those of four rounds side by side.
    #[cfg(target_arch = "aarch64")]
    pub(super) fn set_fours(&mut self, lane: usize, keys: &RoundKeys) {
        let (fours, _) = self.k.as_flattened_mut().as_chunks_mut::<4>();
        for (i, k) in keys.k.as_chunks().0.iter().enumerate() {
            fours[MAX_LANES * i + lane] = *k;
        }
    }
}

impl Drop for StreamKeys {
    fn drop(&mut self) {
        wipe_words(self.k.as_flattened_mut());
        wipe_words(&mut self.before);
        wipe_words(self.after.as_flattened_mut());
    }
}

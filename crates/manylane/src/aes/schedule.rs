//! The key expansion (FIPS 197, clause 5.2), over any machine's SubWord.

use super::Block;
use crate::ct::wipe_bytes;

/// The round keys of both directions, as AES instructions take them: those of decryption are in the
/// order of use, all but the first and last through InvMixColumns.
///
/// As aligned as vectors that are read in place must be.
#[derive(Clone)]
#[repr(C, align(64))]
pub(super) struct RoundKeys<const N: usize> {
    pub(super) encrypt: [Block; N],
    pub(super) decrypt: [Block; N],
}

impl<const N: usize> RoundKeys<N> {
    /// All zero.
    pub(super) fn zero() -> Self {
        RoundKeys { encrypt: [[0; 16]; N], decrypt: [[0; 16]; N] }
    }
}

impl<const N: usize> Drop for RoundKeys<N> {
    fn drop(&mut self) {
        wipe_bytes(self.encrypt.as_flattened_mut());
        wipe_bytes(self.decrypt.as_flattened_mut());
    }
}

/// The round keys of `key`, which has `N` − 7 words; a word's first byte is its lowest.
#[inline(always)]
pub(super) fn expand<const N: usize>(
    key: &[u8],
    round_keys: &mut [Block; N],
    sub_word: impl Fn(u32) -> u32,
) {
    let nk = N - 7;
    let (words, rest) = round_keys.as_flattened_mut().as_chunks_mut::<4>();
    let (key, rest_of_key) = key.as_chunks::<4>();
    assert!(key.len() == nk && rest_of_key.is_empty() && rest.is_empty());
    words[..nk].copy_from_slice(key);
    let mut temp = u32::from_le_bytes(words[nk - 1]);
    let mut rcon: u32 = 1;
    for i in nk..4 * N {
        if i % nk == 0 {
            temp = sub_word(temp.rotate_right(8)) ^ rcon;
            rcon = (rcon << 1) ^ ((rcon >> 7) * 0x11b);
        } else if nk == 8 && i % nk == 4 {
            temp = sub_word(temp);
        }
        temp ^= u32::from_le_bytes(words[i - nk]);
        words[i] = temp.to_le_bytes();
    }
}

/// The round keys of sixteen (or fewer) messages side by side: of a round, those of all lanes.
#[derive(Clone)]
#[repr(C, align(64))]
pub(super) struct StreamKeys<const N: usize> {
    pub(super) rounds: [[Block; 16]; N],
}

impl<const N: usize> StreamKeys<N> {
    /// All zero.
    pub(super) fn zero() -> Self {
        StreamKeys { rounds: [[[0; 16]; 16]; N] }
    }

    /// Gives a lane its keys.
    pub(super) fn set(&mut self, lane: usize, keys: &RoundKeys<N>) {
        for (lanes, key) in self.rounds.iter_mut().zip(&keys.encrypt) {
            lanes[lane] = *key;
        }
    }
}

impl<const N: usize> Drop for StreamKeys<N> {
    fn drop(&mut self) {
        wipe_bytes(self.rounds.as_flattened_mut().as_flattened_mut());
    }
}

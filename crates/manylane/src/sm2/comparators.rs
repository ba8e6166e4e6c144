//! The methods of ParaSM2 (Cryptography 2026, 10, 42), rebuilt for the benchmark alone, and its model
//! of their costs.

use crate::{
    Error,
    cpu::Machine,
    ct::{wipe_bytes, wipe_words},
    sm3::{DIGEST_LEN, IV, Lanes, Midstate, counter::Counters},
};

/// Counters of 32 bits after Z, padded: the second block of the key derivation function's hashes.
fn counter_block(counter: u32) -> [u8; 64] {
    let mut block = [0; 64];
    block[..4].copy_from_slice(&counter.to_be_bytes());
    block[4] = 0x80;
    block[62..].copy_from_slice(&544u16.to_be_bytes());
    block
}

/// Encryption as in its section 3.1, C_2 in place and C_3: bundles of two counter blocks and one block
/// of x_2 || M || y_2 in three lanes, the last blocks of the hash by themselves.
///
/// # Errors
/// [`Error::Unavailable`] if the machine has no kernel for lanes, or this processor lacks it.
///
/// # Panics
/// If the machine has fewer than three lanes, or the message has 2³⁶ bytes or more.
pub fn encrypt_in_bundles(
    machine: Machine,
    shared: &[u8; 64],
    data: &mut [u8],
) -> Result<[u8; DIGEST_LEN], Error> {
    let mut lanes = Lanes::new_on(machine)?;
    assert!(lanes.count() >= 3, "a bundle has three lanes");
    let blocks = (32 + data.len()) / 64;
    let mut start = *Midstate::after(shared).chaining_value();
    let (mut first, mut counters) = ([0; 64], [[0; 64]; 2]);
    lanes.set(0, &IV);
    for block in 0..blocks {
        // Block 0 is x_2 and 32 bytes of the message; block i has its bytes from 64 i - 32. By the
        // time that they are hashed, only those before them have been changed.
        let from = (64 * block).saturating_sub(32);
        let to = 64 * block + 32;
        let input = if block == 0 {
            first[..32].copy_from_slice(&shared[..32]);
            first[32..].copy_from_slice(&data[..32]);
            &first[..]
        } else {
            &data[from..to]
        };
        for (i, counter) in counters.iter_mut().enumerate() {
            *counter = counter_block((2 * block + i) as u32);
            lanes.set(1 + i, &start);
        }
        let mut inputs = [&counters[1][..]; 16];
        (inputs[0], inputs[1]) = (input, &counters[0]);
        lanes.compress(&inputs[..lanes.count()]);
        // H(Z || 0) is no part of the key stream.
        for (lane, part) in data[from..to].chunks_mut(32).enumerate() {
            let lane = if block == 0 { 2 } else { 1 + lane };
            xor(part, &lanes.digest(lane));
        }
    }
    let (head, from) = match blocks {
        0 => (&shared[..32], 0),
        _ => (&[][..], 64 * blocks - 32),
    };
    let mut last = [head, &data[from..], &shared[32..]].concat();
    let mut hash = lanes.get(0);
    let c3 = Midstate::from_parts(&hash, blocks as u64).finish(&last);
    Counters::after_on(machine, shared)?.xor(32 + from as u64, &mut data[from..]);
    wipe_bytes(&mut last);
    wipe_words(&mut hash);
    wipe_words(&mut start);
    wipe_bytes(&mut first);
    Ok(c3)
}

fn xor(data: &mut [u8], key: &[u8; DIGEST_LEN]) {
    for (byte, key) in data.iter_mut().zip(key) {
        *byte ^= key;
    }
}

/// The key stream alone on one machine's lanes, xored into `data`.
///
/// # Errors
/// [`Error::Unavailable`] if the machine has no kernel for lanes, or this processor lacks it.
pub fn key_stream(machine: Machine, shared: &[u8; 64], data: &mut [u8]) -> Result<(), Error> {
    Counters::after_on(machine, shared)?.xor(32, data);
    Ok(())
}

/// The cost model of its section 4.2: how long a message takes if nothing but CF takes time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Model {
    /// T_1: CF of one block.
    pub one: f64,
    /// T'_3: CF of one block whose expansion is done three words at a time.
    pub one_expanded_by_three: f64,
    /// p: blocks side by side.
    pub lanes: u64,
    /// T_p: CF of p blocks side by side.
    pub side_by_side: f64,
}

impl Model {
    /// ⌈klen / 256⌉: blocks of the key stream of `len` bytes.
    fn key_blocks(len: u64) -> u64 {
        len.div_ceil(32)
    }

    /// 1 + ⌈(klen + 65) / 512⌉: blocks of C_3's hash.
    fn hash_blocks(len: u64) -> u64 {
        1 + (8 * len + 65).div_ceil(512)
    }

    /// Nothing side by side, no block of the key derivation function used twice.
    pub fn original(&self, len: u64) -> f64 {
        (Model::hash_blocks(len) + 2 * Model::key_blocks(len)) as f64 * self.one
    }

    /// Encryption in bundles of two counter blocks and one of the hash.
    pub fn bundles(&self, len: u64) -> f64 {
        let bundles = Model::key_blocks(len).div_ceil(2);
        let alone = 1 + Model::hash_blocks(len).saturating_sub(bundles);
        bundles as f64 * self.side_by_side + alone as f64 * self.one
    }

    /// Decryption: counter blocks side by side, then the hash.
    pub fn key_stream_then_hash(&self, len: u64) -> f64 {
        let groups = Model::key_blocks(len).div_ceil(self.lanes);
        self.one
            + groups as f64 * self.side_by_side
            + Model::hash_blocks(len) as f64 * self.one_expanded_by_three
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sm3::beside::{Beside, Direction};

    #[test]
    fn bundles_encrypt() {
        let shared = std::array::from_fn(|i| (i * 5 + 1) as u8);
        let with_three = |&machine: &Machine| Lanes::new_on(machine).is_ok_and(|l| l.count() >= 3);
        for machine in Machine::ALL.into_iter().filter(with_three) {
            for len in (1..=200).chain([1000, 1024, 4097]) {
                let message: Vec<u8> = (0..len as u32).map(|i| (i * 13) as u8).collect();
                let (mut data, mut expected) = (message.clone(), message);
                let mut beside = Beside::new(&shared);
                beside.update(Direction::Encrypt, &mut expected);
                let c3 = encrypt_in_bundles(machine, &shared, &mut data).unwrap();
                assert_eq!(
                    (data, c3),
                    (expected, beside.into_halves().0.finish()),
                    "{machine}: {len} bytes"
                );
            }
        }
    }

    #[test]
    fn key_streams() {
        let (mut data, mut expected) = ([0; 5000], [0; 5000]);
        key_stream(Machine::Portable, &[7; 64], &mut data).unwrap();
        Counters::after(&[7; 64]).xor(32, &mut expected);
        assert_eq!(data, expected);
    }

    /// Its section 4.2 in numbers: 64 bytes are two blocks of the key stream and three of the hash.
    #[test]
    fn model() {
        let model = Model { one: 1.0, one_expanded_by_three: 0.5, lanes: 4, side_by_side: 10.0 };
        assert_eq!(model.original(64), 3.0 + 4.0);
        assert_eq!(model.bundles(64), 10.0 + 3.0);
        assert_eq!(model.key_stream_then_hash(64), 1.0 + 10.0 + 1.5);
        assert_eq!(model.key_stream_then_hash(129), 1.0 + 2.0 * 10.0 + 2.0);
    }
}

//! One stream's hash beside a key stream that is xored into it: SM2's C_3 and C_2.
//!
//! C_3 hashes x_2 || M || y_2, and C_2 = M ^ H(x_2 || y_2 || 1) || H(x_2 || y_2 || 2) …: on a common grid
//! (see [`Counters`]), two counter blocks to each block of the hash. The hash is serial, the key
//! stream is not, so where there is a kernel for both together the key stream's lanes run in the
//! vector unit while the hash's rounds wait for each other in the scalar unit. Elsewhere they take
//! turns, in pieces that stay in the first cache.

use super::{
    DIGEST_LEN, Kernel, Midstate,
    counter::Counters,
    dispatch::{Cell, Stream},
};
#[cfg(target_arch = "x86_64")]
use crate::cpu;
use crate::{Error, cpu::Machine, ct::wipe_bytes};

#[cfg(target_arch = "x86_64")]
use super::bmi2;

/// Which side of the key stream the hash is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// It hashes the data as they come.
    Encrypt,
    /// It hashes the data as they leave.
    Decrypt,
}

/// Bytes that hash and key stream take in turns, where they take turns.
const PIECE: usize = 4096;

/// A kernel for both together, with the proof that it can run.
#[derive(Clone, Copy)]
enum Both {
    #[cfg(target_arch = "x86_64")]
    Avx2(cpu::Bmi2, cpu::Avx2),
    #[cfg(target_arch = "x86_64")]
    Avx512(cpu::Avx512),
}

impl Both {
    /// That of the same machine as stream and lanes, if there is one.
    fn of(stream: Stream, cell: Cell) -> Option<Self> {
        match (stream, cell) {
            #[cfg(target_arch = "x86_64")]
            (Stream::Bmi2(bmi2), Cell::Avx2(avx2)) => Some(Both::Avx2(bmi2, avx2)),
            #[cfg(target_arch = "x86_64")]
            (Stream::Avx512(token), Cell::Avx512(_)) => Some(Both::Avx512(token)),
            _ => None,
        }
    }

    /// Blocks of a batch.
    fn batch(self) -> usize {
        match self {
            #[cfg(target_arch = "x86_64")]
            Both::Avx2(..) => bmi2::beside::avx2::BATCH,
            #[cfg(target_arch = "x86_64")]
            Both::Avx512(_) => bmi2::beside::avx512::BATCH,
        }
    }

    /// Hashes the blocks of `data` into `v` and xors the key stream that starts from `key` into it,
    /// from `counter`.
    ///
    /// # Panics
    /// Unless `data` is of whole batches, and `counter` that of a first lane.
    #[cfg_attr(not(target_arch = "x86_64"), expect(unused_variables, reason = "no kernel"))]
    fn crypt(
        self,
        v: &mut [u32; 8],
        key: &[u32; 8],
        counter: u32,
        data: &mut [[u8; 64]],
        direction: Direction,
    ) -> Kernel {
        match self {
            #[cfg(target_arch = "x86_64")]
            Both::Avx2(bmi2, avx2) => {
                bmi2::beside::avx2::crypt((bmi2, avx2), v, key, counter, data, direction)
            }
            #[cfg(target_arch = "x86_64")]
            Both::Avx512(token) => {
                bmi2::beside::avx512::crypt(token, v, key, counter, data, direction)
            }
        }
    }
}

/// The hash of x_2 || M || y_2 and the key stream from x_2 || y_2, over an M that comes in parts.
pub(crate) struct Beside {
    hash: Between,
    counters: Counters,
}

/// The hash of x_2 || M || y_2.
pub(crate) struct Between {
    midstate: Midstate,
    stream: Stream,
    y2: [u8; 32],
}

impl Between {
    fn new(shared: &[u8; 64], stream: Stream) -> Self {
        let ([x2, y2], []) = shared.as_chunks() else { unreachable!("64 bytes") };
        Between { midstate: Midstate::after(x2), stream, y2: *y2 }
    }

    /// The next bytes of M.
    pub(crate) fn update(&mut self, data: &[u8]) {
        self.midstate.absorb(data, self.stream);
    }

    /// The hash, if all of M was there.
    pub(crate) fn finish(&self) -> [u8; DIGEST_LEN] {
        self.midstate.finish_on(&self.y2, self.stream).0
    }
}

impl Drop for Between {
    fn drop(&mut self) {
        wipe_bytes(&mut self.y2);
    }
}

impl Beside {
    /// From x_2 || y_2.
    pub(crate) fn new(shared: &[u8; 64]) -> Self {
        Beside::of(shared, Stream::best(), Counters::after(shared))
    }

    /// [`new`](Self::new) on the lanes of one machine, and a stream of none that is more capable.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if the machine has no kernel for lanes, or this processor lacks it.
    pub(crate) fn new_on(machine: Machine, shared: &[u8; 64]) -> Result<Self, Error> {
        let counters = Counters::after_on(machine, shared)?;
        Ok(Beside::of(shared, Stream::best_up_to(machine), counters))
    }

    fn of(shared: &[u8; 64], stream: Stream, counters: Counters) -> Self {
        Beside { hash: Between::new(shared, stream), counters }
    }

    /// The two, to be used side by side on different threads.
    pub(crate) fn into_halves(self) -> (Between, Counters) {
        (self.hash, self.counters)
    }

    /// The next bytes of the message. Says which kernel did both together, if one did for a part.
    ///
    /// # Panics
    /// If there are more than the key stream has: 32 (2³² − 1).
    pub(crate) fn update(&mut self, direction: Direction, data: &mut [u8]) -> Option<Kernel> {
        let (first, data) = self.split_to_batch(data);
        self.take_turns(direction, first);
        let (kernel, rest) = self.together(direction, data);
        self.take_turns(direction, rest);
        kernel
    }

    /// Splits off what comes before the first whole batch of [`together`](Self::together); all, if
    /// there are too few of them to pay.
    fn split_to_batch<'a>(&self, data: &'a mut [u8]) -> (&'a mut [u8], &'a mut [u8]) {
        let first = self.both().and_then(|both| {
            let (position, batch) = (self.hash.midstate.prefix_len(), 64 * both.batch());
            let first = (position.next_multiple_of(batch as u64) - position) as usize;
            (data.len() >= first + 2 * batch).then_some(first)
        });
        data.split_at_mut(first.unwrap_or(data.len()))
    }

    fn both(&self) -> Option<Both> {
        Both::of(self.hash.stream, self.counters.cell())
    }

    /// Whole batches, hash and key stream together. Returns what is left.
    fn together<'a>(
        &mut self,
        direction: Direction,
        data: &'a mut [u8],
    ) -> (Option<Kernel>, &'a mut [u8]) {
        let Some(both) = self.both().filter(|both| data.len() >= 64 * both.batch()) else {
            return (None, data);
        };
        let batch = 64 * both.batch();
        let (body, rest) = data.split_at_mut(data.len() / batch * batch);
        let blocks = body.as_chunks_mut::<64>().0;
        let midstate = &mut self.hash.midstate;
        let counter = self.counters.counter(midstate.prefix_len(), 64 * blocks.len());
        let key = self.counters.chaining_value();
        let kernel = both.crypt(&mut midstate.v, key, counter, blocks, direction);
        midstate.blocks += blocks.len() as u64;
        (Some(kernel), rest)
    }

    fn take_turns(&mut self, direction: Direction, mut data: &mut [u8]) {
        while !data.is_empty() {
            let position = self.hash.midstate.prefix_len();
            let len = (PIECE - position as usize % PIECE).min(data.len());
            let (piece, rest) = data.split_at_mut(len);
            if direction == Direction::Encrypt {
                self.hash.update(piece);
            }
            self.counters.xor(position, piece);
            if direction == Direction::Decrypt {
                self.hash.update(piece);
            }
            data = rest;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sm3;

    fn shared(seed: u8) -> [u8; 64] {
        std::array::from_fn(|i| (i as u8).wrapping_mul(41).wrapping_add(seed))
    }

    fn message(len: usize) -> Vec<u8> {
        (0..len as u32).map(|i| (i.wrapping_mul(0x9e37_79b1) >> 24) as u8).collect()
    }

    /// C_2 and C_3 by the definition.
    fn plain(z: &[u8; 64], message: &[u8]) -> (Vec<u8>, [u8; 32]) {
        let key = (1u32..).flat_map(|i| sm3::hash(&[&z[..], &i.to_be_bytes()].concat()));
        let c2 = message.iter().zip(key).map(|(byte, key)| byte ^ key).collect();
        (c2, sm3::hash(&[&z[..32], message, &z[32..]].concat()))
    }

    /// Every machine with lanes, and the library's own choice.
    fn all(z: &[u8; 64]) -> Vec<(String, Beside)> {
        let on = |machine: Machine| Some((machine.to_string(), Beside::new_on(machine, z).ok()?));
        let mut all: Vec<_> = Machine::ALL.into_iter().filter_map(on).collect();
        assert!(all.iter().any(|(machine, _)| machine == "portable"));
        all.push(("chosen".into(), Beside::new(z)));
        all
    }

    /// Encrypts and decrypts in parts that end where `cuts` say.
    fn check(z: &[u8; 64], message: &[u8], cuts: &[usize]) {
        let (c2, c3) = plain(z, message);
        let parts = |mut beside: Beside, direction, data: &mut [u8]| {
            let mut done = 0;
            for &cut in cuts.iter().filter(|&&cut| cut < message.len()) {
                beside.update(direction, &mut data[done..cut]);
                done = cut;
            }
            beside.update(direction, &mut data[done..]);
            beside.into_halves().0.finish()
        };
        for (name, beside) in all(z) {
            let mut data = message.to_vec();
            assert_eq!(
                parts(beside, Direction::Encrypt, &mut data),
                c3,
                "{name}: {}",
                message.len()
            );
            assert!(data == c2, "{name}: {} bytes in {cuts:?}", message.len());
        }
        for (name, beside) in all(z) {
            let mut data = c2.clone();
            assert_eq!(
                parts(beside, Direction::Decrypt, &mut data),
                c3,
                "{name}: {}",
                message.len()
            );
            assert!(data == message, "{name}: {} bytes in {cuts:?}", message.len());
        }
    }

    #[test]
    fn every_short_length() {
        for len in 0..=200 {
            check(&shared(len as u8), &message(len), &[]);
        }
    }

    /// Around batches of the kernels for both together, and groups of lanes.
    #[test]
    fn around_batches() {
        let z = shared(7);
        for batches in [1, 2, 3, 4, 5, 8, 9] {
            for unit in [256, 512, 1024] {
                for off in [-65, -64, -33, -32, -31, -1, 0, 1, 31, 32, 33, 64, 480, 992] {
                    check(&z, &message((batches * unit + off) as usize), &[]);
                }
            }
        }
    }

    /// Where there is a kernel for both together, long messages come to it.
    #[test]
    fn kernels() {
        for (machine, name) in
            [(Machine::Avx2, "sm3/avx2-beside"), (Machine::Avx512, "sm3/avx512-beside")]
        {
            let Ok(beside) = Beside::new_on(machine, &shared(3)) else {
                assert!(!machine.is_available());
                continue;
            };
            let (mut beside, mut data) = (beside, message(5000));
            let kernel = beside.update(Direction::Encrypt, &mut data).unwrap();
            assert_eq!((kernel.name(), kernel.machine()), (name, machine));
            assert_eq!(beside.update(Direction::Encrypt, &mut data[..100]), None);
        }
        let mut portable = Beside::new_on(Machine::Portable, &shared(3)).unwrap();
        assert_eq!(portable.update(Direction::Encrypt, &mut message(5000)), None);
    }

    #[test]
    fn in_parts() {
        let z = shared(9);
        let message = message(40_000);
        check(&z, &message, &[0, 1, 2, 33, 97, 992, 993, 4096, 4097, 12_000, 12_000, 39_999]);
        check(&z, &message, &[992, 992 + 2048, 992 + 4096, 992 + 5 * 1024, 30_000]);
        check(&z, &message, &[10_000, 10_001, 30_000]);
    }
}

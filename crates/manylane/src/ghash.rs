//! GHASH (NIST SP 800-38D, clause 6.4): what authenticates in GCM.

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub(crate) mod lanes;
#[cfg(target_arch = "x86_64")]
mod pclmul;
#[cfg(target_arch = "aarch64")]
mod pmull;
mod portable;
#[cfg(target_arch = "x86_64")]
mod vpclmul;

use zeroize::Zeroize as _;

#[cfg(target_arch = "aarch64")]
use crate::cpu::Armaes;
#[cfg(target_arch = "x86_64")]
use crate::cpu::{Aesni, Vaes};
use crate::{Error, block::Block, cpu::Machine, ct::wipe_bytes};

/// Powers of H that a key has room for: blocks that a machine multiplies before it reduces, at most.
pub(crate) const POWERS: usize = 32;

/// A hash key H, prepared for one machine.
#[derive(Clone)]
pub(crate) struct Key {
    cell: Cell,
    powers: Powers,
}

/// Powers of H in the machine's form, H itself the last. As aligned as vectors that are read in place
/// must be.
#[derive(Clone)]
#[repr(C, align(64))]
pub(crate) struct Powers(pub(crate) [Block; POWERS]);

impl Drop for Powers {
    fn drop(&mut self) {
        wipe_bytes(self.0.as_flattened_mut());
    }
}

/// Whose kernels run.
#[derive(Clone, Copy)]
enum Cell {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Pclmul(Aesni),
    #[cfg(target_arch = "x86_64")]
    Vpclmul(Vaes),
    #[cfg(target_arch = "aarch64")]
    Pmull(Armaes),
}

impl Cell {
    const MACHINES: [Machine; 4] =
        [Machine::Portable, Machine::Aesni, Machine::Vaes, Machine::Armaes];

    /// The most capable one there is that is no more capable than `machine`.
    fn up_to(machine: Machine) -> Self {
        let mut machines = Cell::MACHINES.into_iter().rev().filter(|&m| m <= machine);
        machines.find_map(|machine| Cell::on(machine).ok()).unwrap_or(Cell::Portable)
    }

    fn on(machine: Machine) -> Result<Self, Error> {
        match machine {
            Machine::Portable => Some(Cell::Portable),
            #[cfg(target_arch = "x86_64")]
            Machine::Aesni => Aesni::get().map(Cell::Pclmul),
            #[cfg(target_arch = "x86_64")]
            Machine::Vaes => Vaes::get().map(Cell::Vpclmul),
            #[cfg(target_arch = "aarch64")]
            Machine::Armaes => Armaes::get().map(Cell::Pmull),
            _ => None,
        }
        .ok_or(Error::Unavailable(machine))
    }
}

impl Key {
    /// H for a cipher on `machine`: on the best that is no more capable, so that a cipher on a machine of
    /// choice has a hash there too.
    pub(crate) fn up_to(machine: Machine, h: &Block) -> Self {
        Key::with(Cell::up_to(machine), h)
    }

    /// H on one machine.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if the processor cannot run it, or there is no kernel for it.
    #[cfg(test)]
    pub(crate) fn new_on(machine: Machine, h: &Block) -> Result<Self, Error> {
        Ok(Key::with(Cell::on(machine)?, h))
    }

    fn with(cell: Cell, h: &Block) -> Self {
        let mut powers = Powers([[0; 16]; POWERS]);
        match cell {
            Cell::Portable => powers.0[POWERS - 1] = *h,
            #[cfg(target_arch = "x86_64")]
            Cell::Pclmul(token) => pclmul::prepare(token, h, &mut powers),
            #[cfg(target_arch = "x86_64")]
            Cell::Vpclmul(token) => vpclmul::prepare(token, h, &mut powers),
            #[cfg(target_arch = "aarch64")]
            Cell::Pmull(token) => pmull::prepare(token, h, &mut powers),
        }
        Key { cell, powers }
    }

    /// The machine whose kernel runs.
    pub(crate) fn machine(&self) -> Machine {
        match self.cell {
            Cell::Portable => Machine::Portable,
            #[cfg(target_arch = "x86_64")]
            Cell::Pclmul(_) => Machine::Aesni,
            #[cfg(target_arch = "x86_64")]
            Cell::Vpclmul(_) => Machine::Vaes,
            #[cfg(target_arch = "aarch64")]
            Cell::Pmull(_) => Machine::Armaes,
        }
    }
}

impl core::fmt::Debug for Key {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Key").field("machine", &self.machine()).finish_non_exhaustive()
    }
}

/// A hash that goes on.
#[derive(Clone)]
pub struct Ghash<'k> {
    key: &'k Key,
    /// Y_i of the standard.
    y: Block,
}

impl<'k> Ghash<'k> {
    /// The hash of nothing yet.
    pub(crate) fn new(key: &'k Key) -> Self {
        Ghash { key, y: [0; 16] }
    }

    /// The hash whose value so far is `y`.
    pub(crate) fn resume(key: &'k Key, y: &Block) -> Self {
        Ghash { key, y: *y }
    }

    /// Takes in whole blocks.
    pub(crate) fn update(&mut self, blocks: &[Block]) {
        let (powers, y) = (&self.key.powers, &mut self.y);
        match self.key.cell {
            Cell::Portable => portable::update(&powers.0[POWERS - 1], y, blocks),
            #[cfg(target_arch = "x86_64")]
            Cell::Pclmul(token) => pclmul::update(token, powers, y, blocks),
            #[cfg(target_arch = "x86_64")]
            Cell::Vpclmul(token) => vpclmul::update(token, powers, y, blocks),
            #[cfg(target_arch = "aarch64")]
            Cell::Pmull(token) => pmull::update(token, powers, y, blocks),
        }
    }

    /// Takes in bytes, the last block filled up with zeros.
    pub(crate) fn update_padded(&mut self, bytes: &[u8]) {
        let (blocks, rest) = bytes.as_chunks();
        self.update(blocks);
        if !rest.is_empty() {
            let mut block = [0; 16];
            block[..rest.len()].copy_from_slice(rest);
            self.update(&[block]);
            block.zeroize();
        }
    }

    /// The powers of H and Y_i, if they are in the form of `vpclmul`.
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn vpclmul(&mut self) -> Option<(&'k Powers, &mut Block)> {
        match self.key.cell {
            Cell::Vpclmul(_) => Some((&self.key.powers, &mut self.y)),
            _ => None,
        }
    }

    /// The hash of what was taken in.
    pub(crate) fn value(&self) -> Block {
        self.y
    }
}

impl core::fmt::Debug for Ghash<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Ghash").finish_non_exhaustive()
    }
}

impl Drop for Ghash<'_> {
    fn drop(&mut self) {
        self.y.zeroize();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The product as SP 800-38D, clause 6.3, defines it, bit by bit.
    fn product(x: u128, y: u128) -> u128 {
        let (mut z, mut v) = (0, y);
        for i in 0..128 {
            z ^= (x >> (127 - i) & 1).wrapping_neg() & v;
            v = v >> 1 ^ (v & 1).wrapping_neg() & 0xe1 << 120;
        }
        z
    }

    /// Blocks without a pattern.
    fn blocks(count: usize, seed: u128) -> Vec<Block> {
        let next =
            |x: &u128| Some(x.wrapping_mul(0x2545_f491_4f6c_dd1d_9e37_79b9_7f4a_7c15) ^ *x >> 61);
        let numbers = core::iter::successors(Some(seed), next).skip(3);
        numbers.take(count).map(u128::to_be_bytes).collect()
    }

    fn machines() -> impl Iterator<Item = Machine> {
        Machine::ALL.into_iter().filter(|&machine| Cell::on(machine).is_ok())
    }

    #[test]
    fn every_machine_hashes_as_the_definition() {
        for h in blocks(3, 0x1234_5678).into_iter().chain([[0xff; 16], [0; 16]]) {
            let number = u128::from_be_bytes(h);
            for count in (0..=70).chain([95, 96, 97, 127, 128, 129, 159, 160, 161]) {
                let data = blocks(count, 0x9abc_def1);
                let add = |y: u128, block: &Block| product(y ^ u128::from_be_bytes(*block), number);
                let expected = data.iter().fold(0, add);
                for machine in machines() {
                    let key = Key::new_on(machine, &h).unwrap();
                    assert_eq!(key.machine(), machine);
                    let mut hash = Ghash::new(&key);
                    let (head, tail) = data.split_at(count / 3);
                    hash.update(head);
                    hash.update(tail);
                    assert_eq!(u128::from_be_bytes(hash.value()), expected, "{machine}, {count}");
                }
            }
        }
    }

    #[test]
    fn a_part_of_a_block_is_filled_up() {
        for machine in machines() {
            let key = Key::new_on(machine, &[0x42; 16]).unwrap();
            for len in 0..=40 {
                let mut padded = vec![0xa5; len];
                let mut bytes = Ghash::new(&key);
                bytes.update_padded(&padded);
                padded.resize(len.next_multiple_of(16), 0);
                let mut whole = Ghash::new(&key);
                whole.update(padded.as_chunks().0);
                assert_eq!(bytes.value(), whole.value(), "{machine}, {len} bytes");
            }
        }
    }
}

//! GHASH (NIST SP 800-38D, clause 6.4): what authenticates in GCM.

mod portable;

use zeroize::Zeroize as _;

use crate::{Error, block::Block, cpu::Machine};

/// Powers of H that a key holds for the machines that multiply many blocks before they reduce.
const POWERS: usize = 32;

/// A hash key H, prepared for one machine.
#[derive(Clone)]
pub struct Key {
    cell: Cell,
    powers: Powers,
}

/// Powers of H in the form of the machine.
#[derive(Clone)]
#[repr(C, align(64))]
struct Powers([Block; POWERS]);

impl Drop for Powers {
    fn drop(&mut self) {
        crate::ct::wipe_bytes(self.0.as_flattened_mut());
    }
}

#[derive(Clone, Copy)]
enum Cell {
    Portable,
}

impl Key {
    /// H on the best machine.
    pub(crate) fn new(h: &Block) -> Self {
        Key::on(Cell::Portable, h)
    }

    /// H on one machine.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if the processor cannot run it, or there is no kernel for it.
    pub(crate) fn new_on(machine: Machine, h: &Block) -> Result<Self, Error> {
        let cell = match machine {
            Machine::Portable => Cell::Portable,
            _ => return Err(Error::Unavailable(machine)),
        };
        Ok(Key::on(cell, h))
    }

    fn on(cell: Cell, h: &Block) -> Self {
        let mut powers = Powers([[0; 16]; POWERS]);
        match cell {
            Cell::Portable => powers.0[0] = *h,
        }
        Key { cell, powers }
    }

    /// The machine whose kernel runs.
    pub(crate) fn machine(&self) -> Machine {
        match self.cell {
            Cell::Portable => Machine::Portable,
        }
    }
}

impl core::fmt::Debug for Key {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Key").finish_non_exhaustive()
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

    /// Takes in whole blocks.
    pub(crate) fn update(&mut self, blocks: &[Block]) {
        match self.key.cell {
            Cell::Portable => portable::update(&self.key.powers.0[0], &mut self.y, blocks),
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

    /// The hash of what was taken in.
    pub(crate) fn value(&self) -> Block {
        self.y
    }
}

impl Drop for Ghash<'_> {
    fn drop(&mut self) {
        self.y.zeroize();
    }
}

//! The memory that a slot has from its beginning, taken piece by piece.

use manylane::sm3::DIGEST_LEN;

use super::{RingConfig, buffers::READABLE};
use crate::{DeviceBuffer, Error, Gpu, PinnedBuffer, Workspace};

/// Memory for a slot, as far as there was some.
///
/// To free any of it waits for all that the device has under way, without end if that hangs. So
/// where memory ends before a slot is complete, its pieces are kept as long as the ring.
#[derive(Default)]
pub(super) struct Pieces {
    device: Vec<DeviceBuffer>,
    pinned: Vec<PinnedBuffer>,
}

/// The memory of a complete slot.
pub(super) struct Complete {
    /// Messages, offsets and digests on the device; none if it reads the host's in place.
    pub(super) copies: [Option<DeviceBuffer>; 3],
    /// Offsets and digests.
    pub(super) pinned: [PinnedBuffer; 2],
    pub(super) workspace: Workspace,
}

/// Bytes of a table of offsets.
pub(super) fn table_bytes(max_messages: usize) -> usize {
    (max_messages + 1) * size_of::<u32>()
}

impl Pieces {
    /// Takes all that a slot needs.
    ///
    /// # Errors
    /// What the driver says, with what it had given before.
    pub(super) fn take(gpu: &Gpu, config: &RingConfig) -> Result<Complete, (Error, Self)> {
        let mut pieces = Pieces::default();
        match pieces.fill(gpu, config) {
            Ok(()) => Ok(pieces.complete(gpu, config)),
            Err(error) => Err((error, pieces)),
        }
    }

    fn fill(&mut self, gpu: &Gpu, config: &RingConfig) -> Result<(), Error> {
        let RingConfig { slot_bytes, max_messages, .. } = *config;
        let (table, digests) = (table_bytes(max_messages), max_messages * DIGEST_LEN);
        if !gpu.info().integrated {
            for bytes in [slot_bytes + READABLE, table, digests] {
                self.device.push(DeviceBuffer::new(gpu, bytes)?);
            }
        }
        for bytes in Workspace::sizes(max_messages) {
            self.device.push(DeviceBuffer::new(gpu, bytes)?);
        }
        for bytes in [table, digests] {
            self.pinned.push(PinnedBuffer::new(gpu, bytes)?);
        }
        Ok(())
    }

    fn complete(self, gpu: &Gpu, config: &RingConfig) -> Complete {
        let (mut device, mut pinned) = (self.device.into_iter(), self.pinned.into_iter());
        let mut copy = || if gpu.info().integrated { None } else { device.next() };
        let copies = [copy(), copy(), copy()];
        let mut next = || device.next().expect("taken by `fill`");
        let workspace = Workspace::of(gpu, config.max_messages, [next(), next()]);
        let mut next = || pinned.next().expect("taken by `fill`");
        Complete { copies, pinned: [next(), next()], workspace }
    }
}

//! What padding is put around.

use super::Block;

/// A mode that works on whole blocks, in order.
///
/// It is public in a private module, so only this crate implements or calls it.
pub trait BlockMode {
    /// The next blocks of the message, in place.
    fn blocks(&mut self, data: &mut [Block]);
}

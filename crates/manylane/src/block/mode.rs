//! What padding is put around.

use super::Block;

/// A mode that works on whole blocks, in order.
///
/// Public in a private module, and the bound of no public trait: only this crate implements or calls it.
#[doc(hidden)]
pub trait BlockMode {
    /// The next blocks of the message, in place.
    fn blocks(&mut self, data: &mut [Block]);
}

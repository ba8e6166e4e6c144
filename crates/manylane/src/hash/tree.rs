//! What several threads need to hash one message.

use super::{Algorithm, Midstate};
use crate::{
    Error,
    sha3::{self, Function, KT_CHUNK_LEN, Kt128, Kt256},
};

/// How messages of a [tree](Algorithm::is_tree) are cut: for those who compute chaining values of chunks apart, and
/// [push](super::Hasher::push_chaining_values) them in order.
///
/// ```
/// use manylane::hash::{self, Algorithm, Hasher, Tree};
///
/// let tree = Tree::of(Algorithm::Kt256).expect("KT256 is one");
/// let message = vec![7; 5 * Tree::CHUNK_LEN + 1];
/// let (first, others) = message.split_at(Tree::CHUNK_LEN);
/// let (chunks, rest) = others.split_at(4 * Tree::CHUNK_LEN);
/// let mut values = vec![0; 4 * tree.value_len()];
/// tree.chaining_values(chunks, &mut values)?;
///
/// let mut hasher = Hasher::new(Algorithm::Kt256);
/// hasher.update(first);
/// hasher.push_chaining_values(&values);
/// hasher.update(rest);
/// assert_eq!(hasher.finish(), hash::hash(Algorithm::Kt256, &message));
/// # Ok::<(), manylane::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tree(Which);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Which {
    Kt128,
    Kt256,
}

impl Tree {
    /// Bytes of a chunk.
    pub const CHUNK_LEN: usize = KT_CHUNK_LEN;

    /// Bytes of the longest message that is no tree but one chain, [that](Self::short) of it and [`FOOT`](Self::FOOT).
    pub const SHORT: usize = KT_CHUNK_LEN - Self::FOOT.len();

    /// What follows a message: the length of the customization, which is empty.
    pub const FOOT: [u8; 1] = [0];

    /// That of the algorithm, if it is one.
    pub fn of(algorithm: Algorithm) -> Option<Self> {
        match algorithm {
            Algorithm::Kt128 => Some(Tree(Which::Kt128)),
            Algorithm::Kt256 => Some(Tree(Which::Kt256)),
            _ => None,
        }
    }

    /// Bytes of a chaining value.
    pub fn value_len(self) -> usize {
        match self.0 {
            Which::Kt128 => Kt128::CHAINING_VALUE_LEN,
            Which::Kt256 => Kt256::CHAINING_VALUE_LEN,
        }
    }

    /// The chaining values of whole chunks, none of them the first of the message, one after another, on the calling
    /// thread.
    ///
    /// # Errors
    /// As [`Kt::chaining_values`](sha3::Kt::chaining_values).
    pub fn chaining_values(self, chunks: &[u8], out: &mut [u8]) -> Result<(), Error> {
        match self.0 {
            Which::Kt128 => Kt128::chaining_values(chunks, out),
            Which::Kt256 => Kt256::chaining_values(chunks, out),
        }
    }

    /// The function of chunks, each a message by itself, whose digests are their chaining values: for
    /// [`hash_many`](super::hash_many) and its like.
    pub fn leaf(self) -> Midstate {
        let leaf = match self.0 {
            Which::Kt128 => Kt128::LEAF,
            Which::Kt256 => Kt256::LEAF,
        };
        sha3::Midstate::new(leaf).into()
    }

    /// The function of messages of at most [`SHORT`](Self::SHORT) bytes, each with [`FOOT`](Self::FOOT) behind it: RFC
    /// 9861, clause 3.2, where there is one chunk. Digests have `len` bytes.
    pub fn short(self, len: usize) -> Midstate {
        let function = match self.0 {
            Which::Kt128 => Function::turboshake128(0x07),
            Which::Kt256 => Function::turboshake256(0x07),
        };
        sha3::Midstate::new(function.with_output_len(len)).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash;

    #[test]
    fn short_messages_are_chains() {
        for algorithm in [Algorithm::Kt128, Algorithm::Kt256] {
            let tree = Tree::of(algorithm).unwrap();
            let start = tree.short(algorithm.digest_len());
            for len in [0, 1, 167, 168, Tree::SHORT - 1, Tree::SHORT] {
                let message = vec![3; len];
                let digest = start.then(&message).digest(&Tree::FOOT);
                assert_eq!(digest, hash::hash(algorithm, &message), "{algorithm} of {len} bytes");
            }
            let message = vec![3; Tree::SHORT + 1];
            let digest = start.then(&message).digest(&Tree::FOOT);
            assert_ne!(digest, hash::hash(algorithm, &message));
        }
    }
}

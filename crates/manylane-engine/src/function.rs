//! What is computed of each input.

use std::fmt;

use manylane::hash::{Algorithm, Digest, Hasher, MAX_BLOCK_LEN, MAX_DIGEST_LEN, Midstate, Tree};
use zeroize::Zeroize;

/// What [`Engine::hash_sources`](crate::Engine::hash_sources) computes of each source: a hash function, the
/// same after a common prefix, or HMAC under one key.
///
/// ```
/// use manylane::hash::{self, Algorithm};
/// use manylane_engine::Function;
///
/// let digest = Function::hash(Algorithm::Sha3_256).of(b"message");
/// assert_eq!(digest, hash::hash(Algorithm::Sha3_256, b"message"));
///
/// let mac = Function::hmac(Algorithm::Sm3, b"key").of(b"message");
/// # use manylane::{Messages, sm3};
/// # let (keys, messages): ([&[u8]; 1], [&[u8]; 1]) = ([b"key"], [b"message"]);
/// # let mut macs = [[0; 32]];
/// # sm3::hmac_many(&Messages::slices(&keys), &Messages::slices(&messages), &mut macs)?;
/// assert_eq!(mac, macs[0]);
/// # Ok::<(), manylane::Error>(())
/// ```
#[derive(Clone)]
pub struct Function {
    /// What every input continues; of a tree, every short one.
    pub(crate) start: Midstate,
    /// The tree that it is, by its name too.
    tree: Option<(Tree, Algorithm)>,
    /// What the digest of the input continues, if that is not the result itself.
    outer: Option<Midstate>,
}

impl Function {
    /// A hash function.
    pub fn hash(algorithm: Algorithm) -> Self {
        Function::with_digest_len(algorithm, algorithm.digest_len())
    }

    /// The same with digests of `len` bytes.
    ///
    /// # Panics
    /// If it has no digests of that length, or they are longer than
    /// [`MAX_DIGEST_LEN`].
    pub fn with_digest_len(algorithm: Algorithm, len: usize) -> Self {
        match Tree::of(algorithm) {
            None => Function::hash_after(&Midstate::with_digest_len(algorithm, len)),
            Some(tree) => {
                Function { tree: Some((tree, algorithm)), ..Function::hash_after(&tree.short(len)) }
            }
        }
    }

    /// A hash function of the midstate's prefix followed by the input.
    ///
    /// # Panics
    /// If its digests are longer than [`MAX_DIGEST_LEN`].
    pub fn hash_after(start: &Midstate) -> Self {
        let len = start.digest_len();
        assert!(len <= MAX_DIGEST_LEN, "digests of sources have at most {MAX_DIGEST_LEN} bytes");
        Function { start: start.clone(), tree: None, outer: None }
    }

    /// HMAC (RFC 2104) with that function under `key`, of any length. Only the two midstates that HMAC needs
    /// are kept of it, and they are wiped on drop.
    ///
    /// # Panics
    /// If there is [none](Algorithm::has_hmac) with that function.
    pub fn hmac(algorithm: Algorithm, key: &[u8]) -> Self {
        assert!(algorithm.has_hmac(), "no HMAC with {algorithm}");
        let start = Midstate::new(algorithm);
        let block_len = start.block_len();
        let mut digest = [0; MAX_DIGEST_LEN];
        let key = if key.len() > block_len {
            let digest = &mut digest[..start.digest_len()];
            start.finish(key, digest);
            digest
        } else {
            key
        };
        let mut block = [0; MAX_BLOCK_LEN];
        let block = &mut block[..block_len];
        let mut after = |pad: u8| {
            block.fill(pad);
            block.iter_mut().zip(key).for_each(|(b, k)| *b ^= k);
            start.then(block)
        };
        let function = Function { start: after(0x36), tree: None, outer: Some(after(0x5c)) };
        block.zeroize();
        digest.zeroize();
        function
    }

    /// The result for one input that is in memory, on the calling thread.
    pub fn of(&self, input: &[u8]) -> Digest {
        let mut hasher = self.hasher();
        hasher.update(input);
        self.finish(hasher.finish())
    }

    /// A stream for one input, whose digest is to be [finished](Self::finish).
    pub fn hasher(&self) -> Hasher {
        match self.tree {
            None => self.start.clone().into(),
            Some((_, algorithm)) => Hasher::with_digest_len(algorithm, self.start.digest_len()),
        }
    }

    /// The tree that it is, if it is one.
    pub(crate) fn tree(&self) -> Option<Tree> {
        self.tree.map(|(tree, _)| tree)
    }

    /// The result, from the digest that such a [stream](Self::hasher) came to.
    pub fn finish(&self, mut digest: Digest) -> Digest {
        match &self.outer {
            None => digest,
            Some(outer) => {
                let result = outer.digest(&digest);
                digest.zeroize();
                result
            }
        }
    }
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Function { ... }")
    }
}

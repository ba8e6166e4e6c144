//! What is computed of each input.

use std::fmt;

use manylane::sm3::{self, Midstate};
use zeroize::Zeroize;

/// What [`Engine::hash_sources`](crate::Engine::hash_sources) computes of each source: SM3, SM3
/// after a common prefix, or HMAC-SM3 under one key.
///
/// ```
/// use manylane_engine::Function;
///
/// let mac = Function::hmac(b"key").of(b"message");
/// # use manylane::{Messages, sm3};
/// # let (keys, messages): ([&[u8]; 1], [&[u8]; 1]) = ([b"key"], [b"message"]);
/// # let mut macs = [[0; 32]];
/// # sm3::hmac_many(&Messages::slices(&keys), &Messages::slices(&messages), &mut macs)?;
/// assert_eq!(mac, macs[0]);
/// # Ok::<(), manylane::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct Function {
    /// What every input continues.
    pub(crate) start: Midstate,
    /// What the digest of the input continues, if that is not the result itself.
    outer: Option<Midstate>,
}

impl Function {
    /// SM3.
    pub fn hash() -> Self {
        Function::default()
    }

    /// SM3 of the midstate's prefix followed by the input.
    pub fn hash_after(start: &Midstate) -> Self {
        Function { start: start.clone(), outer: None }
    }

    /// HMAC-SM3 (RFC 2104) under `key`, of any length. Only the two midstates that HMAC needs are
    /// kept of it, and they are wiped on drop.
    pub fn hmac(key: &[u8]) -> Self {
        let mut digest = [0; sm3::DIGEST_LEN];
        let key = if key.len() > sm3::BLOCK_LEN {
            digest = sm3::hash(key);
            &digest
        } else {
            key
        };
        let mut block = [0; sm3::BLOCK_LEN];
        let mut after = |pad: u8| {
            block.fill(pad);
            block.iter_mut().zip(key).for_each(|(b, k)| *b ^= k);
            Midstate::after(&block)
        };
        let function = Function { start: after(0x36), outer: Some(after(0x5c)) };
        block.zeroize();
        digest.zeroize();
        function
    }

    /// The result for one input that is in memory, on the calling thread.
    pub fn of(&self, input: &[u8]) -> [u8; sm3::DIGEST_LEN] {
        self.finish(self.start.finish(input))
    }

    /// The result, from the digest of the start's prefix and the input.
    pub(crate) fn finish(&self, mut digest: [u8; sm3::DIGEST_LEN]) -> [u8; sm3::DIGEST_LEN] {
        match &self.outer {
            None => digest,
            Some(outer) => {
                let result = outer.finish(&digest);
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

//! Names of the functions, and what they differ in.

use std::{fmt, str::FromStr};

/// A hash function of this library.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Algorithm {
    /// SM3 (GB/T 32905-2016).
    Sm3,
    /// SHA3-224 (FIPS 202).
    Sha3_224,
    /// SHA3-256 (FIPS 202).
    Sha3_256,
    /// SHA3-384 (FIPS 202).
    Sha3_384,
    /// SHA3-512 (FIPS 202).
    Sha3_512,
    /// Keccak-256 as Ethereum has it: SHA3-256 with the padding from before FIPS 202.
    Keccak256,
    /// SHAKE128 (FIPS 202), of 32 bytes unless another length is asked for.
    Shake128,
    /// SHAKE256 (FIPS 202), of 64 bytes unless another length is asked for.
    Shake256,
    /// TurboSHAKE128 (RFC 9861) with the domain byte 0x1F, of 32 bytes unless another length is asked for.
    TurboShake128,
    /// TurboSHAKE256 (RFC 9861) with the domain byte 0x1F, of 64 bytes unless another length is asked for.
    TurboShake256,
    /// KT128, KangarooTwelve (RFC 9861) without customization, of 32 bytes unless another length is asked for.
    Kt128,
    /// KT256 (RFC 9861) without customization, of 64 bytes unless another length is asked for.
    Kt256,
}

/// What is known of an algorithm beside what it computes.
struct Facts {
    name: &'static str,
    aliases: &'static [&'static str],
    digest_len: usize,
    block_len: usize,
}

impl Algorithm {
    /// All of them.
    pub const ALL: [Algorithm; 12] = [
        Algorithm::Sm3,
        Algorithm::Sha3_224,
        Algorithm::Sha3_256,
        Algorithm::Sha3_384,
        Algorithm::Sha3_512,
        Algorithm::Keccak256,
        Algorithm::Shake128,
        Algorithm::Shake256,
        Algorithm::TurboShake128,
        Algorithm::TurboShake256,
        Algorithm::Kt128,
        Algorithm::Kt256,
    ];

    const fn facts(self) -> Facts {
        const fn facts(
            name: &'static str,
            aliases: &'static [&'static str],
            digest_len: usize,
            block_len: usize,
        ) -> Facts {
            Facts { name, aliases, digest_len, block_len }
        }
        match self {
            Algorithm::Sm3 => facts("sm3", &[], 32, 64),
            Algorithm::Sha3_224 => facts("sha3-224", &["sha3_224"], 28, 144),
            Algorithm::Sha3_256 => facts("sha3-256", &["sha3_256"], 32, 136),
            Algorithm::Sha3_384 => facts("sha3-384", &["sha3_384"], 48, 104),
            Algorithm::Sha3_512 => facts("sha3-512", &["sha3_512"], 64, 72),
            Algorithm::Keccak256 => facts("keccak-256", &["keccak256", "keccak_256"], 32, 136),
            Algorithm::Shake128 => facts("shake128", &["shake-128", "shake_128"], 32, 168),
            Algorithm::Shake256 => facts("shake256", &["shake-256", "shake_256"], 64, 136),
            Algorithm::TurboShake128 => facts("turboshake128", &["turboshake-128"], 32, 168),
            Algorithm::TurboShake256 => facts("turboshake256", &["turboshake-256"], 64, 136),
            Algorithm::Kt128 => facts("kt128", &["k12", "kangarootwelve"], 32, 168),
            Algorithm::Kt256 => facts("kt256", &[], 64, 136),
        }
    }

    /// Its name: `sm3`, `sha3-256`, `kt128` and so on.
    pub const fn name(self) -> &'static str {
        self.facts().name
    }

    /// Other names that it is read by.
    pub const fn aliases(self) -> &'static [&'static str] {
        self.facts().aliases
    }

    /// Bytes of a digest; of one that has [any length](Self::is_xof), as many as its strength against
    /// collisions needs.
    pub const fn digest_len(self) -> usize {
        self.facts().digest_len
    }

    /// Bytes that it takes at a time.
    pub const fn block_len(self) -> usize {
        self.facts().block_len
    }

    /// Whether digests have whatever length is asked for.
    pub const fn is_xof(self) -> bool {
        use Algorithm::{Kt128, Kt256, Shake128, Shake256, TurboShake128, TurboShake256};
        matches!(self, Shake128 | Shake256 | TurboShake128 | TurboShake256 | Kt128 | Kt256)
    }

    /// Whether a long message is a tree, so that many threads can take part in one. Such a function has
    /// no [`Midstate`](super::Midstate).
    pub const fn is_tree(self) -> bool {
        matches!(self, Algorithm::Kt128 | Algorithm::Kt256)
    }

    /// Whether there is HMAC (RFC 2104) with it: with every function of one digest length. The key's block is the
    /// [function's](Self::block_len), as FIPS 202, section 7, has it.
    pub const fn has_hmac(self) -> bool {
        !self.is_xof()
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A word that is no algorithm's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownAlgorithm(String);

impl fmt::Display for UnknownAlgorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown algorithm '{}'", self.0)
    }
}

impl std::error::Error for UnknownAlgorithm {}

impl FromStr for Algorithm {
    type Err = UnknownAlgorithm;

    /// Reads a [name](Algorithm::name) or an [alias](Algorithm::aliases).
    ///
    /// # Errors
    /// [`UnknownAlgorithm`] for any other word.
    fn from_str(name: &str) -> Result<Self, UnknownAlgorithm> {
        Algorithm::ALL
            .into_iter()
            .find(|algorithm| algorithm.name() == name || algorithm.aliases().contains(&name))
            .ok_or_else(|| UnknownAlgorithm(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back_and_are_nobody_elses() {
        let mut names = Vec::new();
        for algorithm in Algorithm::ALL {
            assert_eq!(algorithm.to_string().parse(), Ok(algorithm));
            for alias in algorithm.aliases() {
                assert_eq!(alias.parse(), Ok(algorithm));
            }
            names.push(algorithm.name());
            names.extend(algorithm.aliases());
        }
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        assert_eq!("md5".parse::<Algorithm>().unwrap_err().to_string(), "unknown algorithm 'md5'");
    }
}

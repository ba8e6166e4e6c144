//! Any cipher in any mode, chosen at run time.
//!
//! The other modules are for those who know which cipher they want. Here the choice is a value, as in
//! [`hash`](crate::hash): an [`Algorithm`] by its name, an [`AnyCipher`] with its key, which all modes take as they take
//! any other, and an [`AnyMode`] for those modes that are alike in their use. [`Gcm`], [`Ccm`] and [`Xts`] are not alike:
//! they are `Gcm<AnyCipher>` and so on.
//!
//! ```
//! use manylane::block::any::{Algorithm, AnyCipher, AnyMode, Direction, Mode};
//!
//! let (cipher, mode): (Algorithm, Mode) = ("sm4".parse()?, "ctr".parse()?);
//! let key = AnyCipher::new(cipher, &[1; 16])?;
//! let mut data = *b"a message";
//! AnyMode::new(key.clone(), mode, Direction::Encrypt, &[2; 16])?.update(&mut data)?;
//! AnyMode::new(key, mode, Direction::Decrypt, &[2; 16])?.update(&mut data)?;
//! assert_eq!(&data, b"a message");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`Gcm`]: super::Gcm
//! [`Ccm`]: super::Ccm
//! [`Xts`]: super::Xts

mod cipher;
mod mode;

pub use self::{
    cipher::{Algorithm, AnyChains, AnyCipher},
    mode::{AnyMode, Direction, Mode},
};

/// A word that names no cipher, or no mode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownName(String);

impl core::fmt::Display for UnknownName {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "no cipher or mode of operation is called '{}'", self.0)
    }
}

impl std::error::Error for UnknownName {}

/// `Display` and `FromStr` by `ALL` and `name`.
macro_rules! by_name {
    ($type:ident) => {
        impl core::fmt::Display for $type {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.pad(self.name())
            }
        }

        impl core::str::FromStr for $type {
            type Err = super::UnknownName;

            /// Reads a name, in letters of either case.
            ///
            /// # Errors
            /// [`UnknownName`](super::UnknownName) for any other word.
            fn from_str(name: &str) -> Result<Self, super::UnknownName> {
                let mut all = $type::ALL.into_iter();
                all.find(|one| one.name().eq_ignore_ascii_case(name))
                    .ok_or_else(|| super::UnknownName(name.to_owned()))
            }
        }
    };
}
use by_name;

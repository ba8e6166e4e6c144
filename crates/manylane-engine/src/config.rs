//! What the caller may ask of an engine.

use std::{fmt, num::NonZeroUsize, str::FromStr};

/// What an [`Engine`](crate::Engine) may use. The default is everything: [`Device::Auto`] and all
/// cores.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// Devices that work may go to.
    pub device: Device,
    /// Threads that compute, the caller's among them; `None` means one for each core that the
    /// process may use ([`std::thread::available_parallelism`]). At most four for each of these
    /// cores, or 256 if that is more, whatever is asked for; and no more than the system lets the
    /// process start.
    pub threads: Option<NonZeroUsize>,
}

/// The devices that work may go to, as `--device` names them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Device {
    /// Whatever is fastest for the work at hand.
    #[default]
    Auto,
    /// Processor cores only.
    Cpu,
    /// Every device there is, together.
    All,
}

impl FromStr for Device {
    type Err = Error;

    /// Reads `auto`, `cpu` or `all`.
    ///
    /// # Errors
    /// [`Error::NotBuilt`] for `cuda`, `cuda:N`, `hip` and `hip:N`, which this build cannot drive;
    /// [`Error::UnknownDevice`] for any other word.
    fn from_str(name: &str) -> Result<Self, Error> {
        let (kind, number) = match name.split_once(':') {
            Some((kind, number)) => (kind, Some(number)),
            None => (name, None),
        };
        match (kind, number) {
            ("auto", None) => Ok(Device::Auto),
            ("cpu", None) => Ok(Device::Cpu),
            ("all", None) => Ok(Device::All),
            ("cuda" | "hip", number) if number.is_none_or(|n| n.parse::<u16>().is_ok()) => {
                Err(Error::NotBuilt(name.to_owned()))
            }
            _ => Err(Error::UnknownDevice(name.to_owned())),
        }
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Device::Auto => "auto",
            Device::Cpu => "cpu",
            Device::All => "all",
        })
    }
}

/// Why a configuration was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The word names no kind of device.
    UnknownDevice(String),
    /// The device is of a kind that this build has no code for.
    NotBuilt(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::UnknownDevice(name) => {
                write!(f, "unknown device '{name}': expected auto, cpu, cuda[:N], hip[:N] or all")
            }
            Error::NotBuilt(name) => {
                write!(f, "no device '{name}': this build computes on processor cores only")
            }
        }
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_read_back_what_they_print() {
        for device in [Device::Auto, Device::Cpu, Device::All] {
            assert_eq!(device.to_string().parse(), Ok(device));
        }
    }

    #[test]
    fn devices_that_are_not_there_are_told_from_nonsense() {
        for name in ["cuda", "cuda:0", "hip", "hip:12"] {
            assert_eq!(name.parse::<Device>(), Err(Error::NotBuilt(name.to_owned())));
        }
        for name in ["", "CPU", "cpu:0", "cuda:", "cuda:x", "cuda:-1", "gpu", "all:1"] {
            assert_eq!(name.parse::<Device>(), Err(Error::UnknownDevice(name.to_owned())));
        }
    }
}

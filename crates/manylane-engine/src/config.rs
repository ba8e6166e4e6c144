//! What the caller may ask of an engine.

use std::{fmt, num::NonZeroUsize, str::FromStr};

use manylane_gpu::{DeviceId, RingConfig, Vendor};

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
    /// Sizes and deadline of each GPU's ring, for tests: the default suits all work.
    #[doc(hidden)]
    pub ring: Option<RingConfig>,
}

/// The devices that work may go to, as `--device` names them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Device {
    /// Whatever is fastest for the work at hand. GPUs are opened beside the work, once there is
    /// enough of it: that takes some tenths of a second.
    #[default]
    Auto,
    /// Processor cores only.
    Cpu,
    /// Every device there is, together: the cores, and every GPU that can be opened.
    All,
    /// One NVIDIA GPU, the first if no number says otherwise. Cores feed it, and compute only what
    /// it cannot take.
    Cuda(Option<u32>),
    /// The same with an AMD or Hygon GPU.
    Hip(Option<u32>),
}

impl Device {
    /// The one GPU that is meant, if one is.
    pub(crate) fn gpu(self) -> Option<DeviceId> {
        let (vendor, number) = match self {
            Device::Auto | Device::Cpu | Device::All => return None,
            Device::Cuda(number) => (Vendor::Cuda, number),
            Device::Hip(number) => (Vendor::Hip, number),
        };
        Some(DeviceId { vendor, ordinal: number.unwrap_or(0) })
    }
}

impl FromStr for Device {
    type Err = Error;

    /// Reads `auto`, `cpu`, `all`, `cuda`, `cuda:N`, `hip` or `hip:N`.
    ///
    /// # Errors
    /// [`Error::UnknownDevice`] for any other word.
    fn from_str(name: &str) -> Result<Self, Error> {
        Ok(match name {
            "auto" => Device::Auto,
            "cpu" => Device::Cpu,
            "all" => Device::All,
            "cuda" => Device::Cuda(None),
            "hip" => Device::Hip(None),
            _ => match name.parse() {
                Ok(DeviceId { vendor: Vendor::Cuda, ordinal }) => Device::Cuda(Some(ordinal)),
                Ok(DeviceId { vendor: Vendor::Hip, ordinal }) => Device::Hip(Some(ordinal)),
                _ => return Err(Error::UnknownDevice(name.to_owned())),
            },
        })
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Device::Auto => f.pad("auto"),
            Device::Cpu => f.pad("cpu"),
            Device::All => f.pad("all"),
            Device::Cuda(None) => f.pad("cuda"),
            Device::Hip(None) => f.pad("hip"),
            Device::Cuda(Some(_)) | Device::Hip(Some(_)) => {
                self.gpu().expect("a GPU's name").fmt(f)
            }
        }
    }
}

/// Why a configuration was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The word names no kind of device.
    UnknownDevice(String),
    /// The GPU that was asked for cannot be used.
    Gpu {
        /// Its name.
        id: DeviceId,
        /// Why.
        error: manylane_gpu::Error,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::UnknownDevice(name) => {
                write!(f, "unknown device '{name}': expected auto, cpu, cuda[:N], hip[:N] or all")
            }
            Error::Gpu { error: error @ manylane_gpu::Error::NoDevice { .. }, .. } => error.fmt(f),
            Error::Gpu { id, error } => write!(f, "cannot use device '{id}': {error}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::UnknownDevice(_) => None,
            Error::Gpu { error, .. } => Some(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_read_back_what_they_print() {
        for name in ["auto", "cpu", "all", "cuda", "cuda:0", "hip", "hip:12"] {
            assert_eq!(name.parse::<Device>().unwrap().to_string(), name);
        }
        let first = Device::Cuda(None).gpu();
        assert_eq!(first, Device::Cuda(Some(0)).gpu());
        assert_eq!(Device::All.gpu(), None);
    }

    #[test]
    fn nonsense_is_refused() {
        for name in ["", "CPU", "cpu:0", "cuda:", "cuda:x", "cuda:-1", "cuda:+1", "gpu", "all:1"] {
            assert_eq!(name.parse::<Device>(), Err(Error::UnknownDevice(name.to_owned())));
        }
    }
}

//! What can go wrong between this process and a GPU.

use std::{fmt, time::Duration};

use crate::{DeviceId, Vendor};

/// Why a GPU did not do what was asked of it.
///
/// Nothing is written to a caller's output by a call that fails.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The vendor's driver library is not on this machine, or is too old.
    NoDriver {
        /// Whose.
        vendor: Vendor,
        /// What was looked for, and what the loader said.
        why: String,
    },
    /// There is a driver, but no such device.
    NoDevice {
        /// The device asked for.
        id: DeviceId,
        /// Devices of that vendor that there are.
        count: u32,
    },
    /// This process was forked from one that had begun to use the vendor's driver, which does not
    /// survive that.
    Forked(Vendor),
    /// A function of the driver failed.
    Call {
        /// The device's vendor.
        vendor: Vendor,
        /// The function, by the vendor's name.
        call: &'static str,
        /// The vendor's code.
        code: i32,
        /// The vendor's name or description of the code.
        text: String,
    },
    /// No memory left, on the device or page-locked on the host.
    OutOfMemory {
        /// The function of the driver that said so.
        call: &'static str,
        /// Bytes asked for.
        bytes: usize,
    },
    /// A kernel could not be compiled for the device.
    Compile {
        /// What was compiled, and for what.
        what: String,
        /// The compiler's log, or the reason why there was no compiler.
        log: String,
    },
    /// A kernel gave a wrong result for a message whose digest is known.
    WrongResult {
        /// The kernel.
        kernel: &'static str,
        /// The device.
        device: String,
    },
    /// The device did not finish in time.
    Deadline(Duration),
    /// The device has been given up after an earlier error.
    Lost(DeviceId),
    /// The call itself was wrong.
    Input(manylane::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::NoDriver { vendor, why } => write!(f, "no {vendor} driver: {why}"),
            Error::NoDevice { id, count: 0 } => {
                write!(f, "no device '{id}': the {} driver finds no GPU", id.vendor)
            }
            Error::NoDevice { id, count } => {
                write!(f, "no device '{id}': there are {count}, from {}:0", id.vendor.name())
            }
            Error::Forked(vendor) => {
                write!(f, "the {vendor} driver was in use when this process was forked")
            }
            Error::Call { vendor: _, call, code, text } => {
                write!(f, "{call} failed: {text} ({code})")
            }
            Error::OutOfMemory { call, bytes } => {
                write!(f, "out of GPU memory: {call} could not give {bytes} bytes")
            }
            Error::Compile { what, log } => write!(f, "cannot compile {what}: {}", log.trim_end()),
            Error::WrongResult { kernel, device } => {
                write!(f, "kernel {kernel} computes wrong digests on {device}")
            }
            Error::Deadline(after) => {
                write!(f, "no answer from the GPU after {:.1} s", after.as_secs_f64())
            }
            Error::Lost(id) => write!(f, "{id} has been given up after an earlier error"),
            Error::Input(error) => error.fmt(f),
        }
    }
}

impl Error {
    /// Whether a driver refused a call for its arguments; then it did nothing. Both vendors number
    /// that alike.
    pub(crate) fn is_refusal(&self) -> bool {
        const INVALID_VALUE: i32 = 1;
        matches!(self, Error::Call { code: INVALID_VALUE, .. })
    }
}

impl std::error::Error for Error {}

impl From<manylane::Error> for Error {
    fn from(error: manylane::Error) -> Self {
        Error::Input(error)
    }
}

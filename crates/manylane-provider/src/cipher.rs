//! Ciphers.
use crate::abi::Algorithm;
pub(crate) static ALGORITHMS: [Algorithm; 1] = [Algorithm::END];

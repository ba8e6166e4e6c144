//! The C interface: what `manylane.h` declares.
//!
//! Each function here is an entry of `libmanylane`; its documentation is the header's, which `cargo xtask gen` writes
//! from these sources. All of them look alike: `status::guard` catches panics and makes a status of the result, the
//! functions of `memory` make slices of pointers and lengths, and those of `handle` look after handles.
//!
//! Names are C's, so types are in lower case.
#![allow(non_camel_case_types)]
// What a caller in C guarantees is said once, at the head of the header (see `xtask/src/capi`).
#![allow(clippy::missing_safety_doc)]

mod handle;
mod memory;
mod status;

pub mod aead;
pub mod cipher;
pub mod engine;
pub mod hash;
pub mod hmac;
pub mod messages;
pub mod sm2;
pub mod version;
pub mod xts;

pub use status::{manylane_error_text, manylane_last_error, manylane_status};

//! The tests of `sha3.rs` on emulated HIP: kernels come from hipRTC.

#[path = "sha3.rs"]
mod sha3;

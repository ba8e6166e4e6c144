//! The tests of `sm3.rs` on emulated HIP: kernels come from hipRTC.

#[path = "sm3.rs"]
mod sm3;

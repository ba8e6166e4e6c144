//! The tests of `block.rs` on emulated HIP: kernels come from hipRTC.

#[path = "block.rs"]
mod block;

//! Constant-time checks of manylane. `cargo xtask ct`, `objcode` and `dudect` run them.
//!
//! The programs of this package call everything of manylane that takes a secret, on the machine
//! that `MANYLANE_MACHINE` names:
//!
//! - `ctgrind`, under valgrind, with the secrets marked undefined: valgrind's memcheck then
//!   reports every branch and every address that depends on one. (Adam Langley's ctgrind.)
//! - `dudect`, on the bare processor: times classes of keys against each other. (Reparaz, Balasch
//!   and Verbauwhede, "Dude, is my code constant time?", 2016.)
//!
//! `cargo xtask objcode` reads the machine code of the kernels in these programs, which are built
//! as a user's program is.
//!
//! Each method is also shown a planted leak ([`leaks`]) and fails if it does not see it.

pub mod leaks;
pub mod valgrind;

/// Bytes that look arbitrary and are the same in every run (splitmix64).
pub fn bytes(seed: u64, len: usize) -> Vec<u8> {
    let mut state = seed;
    let mut next = move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)).to_le_bytes()
    };
    let mut bytes = Vec::with_capacity(len + 8);
    while bytes.len() < len {
        bytes.extend(next());
    }
    bytes.truncate(len);
    bytes
}

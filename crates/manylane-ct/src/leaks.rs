//! Planted leaks: what every method must see, or it sees nothing.

use std::hint::black_box;

/// Branches on each bit of the secret.
#[inline(never)]
pub fn branch(secret: &[u8]) -> u32 {
    let mut ones = 0;
    for byte in secret {
        for bit in 0..8 {
            // The call keeps the compiler from computing both sides and choosing.
            if byte >> bit & 1 == 1 {
                ones = step(ones);
            }
        }
    }
    ones
}

/// A table indexed by each byte of the secret.
#[inline(never)]
pub fn index(secret: &[u8]) -> u32 {
    static TABLE: [u8; 256] = {
        let mut table = [0; 256];
        let mut i = 0;
        while i < 256 {
            table[i] = (i as u8).wrapping_mul(167) ^ 0x5a;
            i += 1;
        }
        table
    };
    let table = black_box(&TABLE);
    secret.iter().fold(0, |sum, byte| sum.wrapping_mul(31) + u32::from(table[usize::from(*byte)]))
}

/// A division by a secret, which takes longer for some numbers than for others. Valgrind does not
/// see it.
#[inline(never)]
pub fn division(secret: &[u8]) -> u32 {
    secret.iter().fold(u32::MAX, |sum, byte| sum / (u32::from(*byte) + 1))
}

/// Whether two secrets are the same, by a loop that ends at the first difference.
#[inline(never)]
pub fn comparison(secret: &[u8], other: &[u8]) -> bool {
    secret.len() == other.len() && secret.iter().zip(other).all(|(a, b)| black_box(*a) == *b)
}

/// Eight table entries fetched by one instruction, at indices that are secret.
#[cfg(target_arch = "x86_64")]
pub use crate::valgrind::gather;

#[inline(never)]
fn step(ones: u32) -> u32 {
    black_box(ones) + 1
}

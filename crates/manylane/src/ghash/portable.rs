//! GHASH with integer multiplication: products without carries, in constant time.

use super::Block;

/// Every fifth bit, from the lowest.
const FIFTH: u128 = 0x21084210842108421084210842108421;

/// y = (y + block) · H for every block.
pub(super) fn update(h: &Block, y: &mut Block, blocks: &[Block]) {
    let h = u128::from_be_bytes(*h);
    let mut sum = u128::from_be_bytes(*y);
    for block in blocks {
        sum = multiply(sum ^ u128::from_be_bytes(*block), h);
    }
    *y = sum.to_be_bytes();
}

/// The product in GHASH's field, where the highest bit is the coefficient of x⁰.
pub(super) fn multiply(a: u128, b: u128) -> u128 {
    let (a1, a0) = ((a >> 64) as u64, a as u64);
    let (b1, b0) = ((b >> 64) as u64, b as u64);
    let (high, low) = (without_carries(a1, b1), without_carries(a0, b0));
    let middle = without_carries(a1 ^ a0, b1 ^ b0) ^ high ^ low;
    let (high, low) = (high ^ middle >> 64, low ^ middle << 64);
    // 255 bits, of which the highest is x⁰: a place further up it is the highest of 256.
    let (high, low) = (high << 1 | low >> 127, low << 1);
    // x¹²⁸ = x⁷ + x² + x + 1; first for what would overflow again.
    let low = low ^ low << 127 ^ low << 126 ^ low << 121;
    high ^ low ^ low >> 1 ^ low >> 2 ^ low >> 7
}

/// The product of two polynomials: of bits five places apart, at most 13 meet in a sum, so no carry
/// reaches the next.
fn without_carries(a: u64, b: u64) -> u128 {
    let mut product = 0;
    for k in 0..5 {
        let mut sum = 0;
        for i in 0..5 {
            let j = (5 + k - i) % 5;
            let (a, b) = (a & (FIFTH << i) as u64, b & (FIFTH << j) as u64);
            sum ^= u128::from(a) * u128::from(b);
        }
        product ^= sum & FIFTH << k;
    }
    product
}

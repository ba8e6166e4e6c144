//! Numbers of 256 bits: four 64-bit limbs, the lowest first. No operation branches on a number.

use ::core::hint::black_box;

use subtle::{Choice, ConstantTimeEq as _};

/// A number below 2²⁵⁶.
pub(super) type Limbs = [u64; 4];

/// The number of big-endian bytes.
#[inline]
pub(super) fn from_bytes(bytes: &[u8; 32]) -> Limbs {
    let words = bytes.as_chunks::<8>().0;
    ::core::array::from_fn(|i| u64::from_be_bytes(words[3 - i]))
}

/// The number as big-endian bytes.
#[inline]
pub(super) fn to_bytes(number: &Limbs) -> [u8; 32] {
    let mut bytes = [0; 32];
    for (word, limb) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(number.iter().rev()) {
        *word = limb.to_be_bytes();
    }
    bytes
}

/// a + b, and whether it carries.
#[inline(always)]
pub(super) fn add(a: &Limbs, b: &Limbs) -> (Limbs, bool) {
    let (s0, c) = a[0].overflowing_add(b[0]);
    let (s1, c) = a[1].carrying_add(b[1], c);
    let (s2, c) = a[2].carrying_add(b[2], c);
    let (s3, c) = a[3].carrying_add(b[3], c);
    ([s0, s1, s2, s3], c)
}

/// a − b, and whether it borrows.
#[inline(always)]
pub(super) fn sub(a: &Limbs, b: &Limbs) -> (Limbs, bool) {
    let (d0, c) = a[0].overflowing_sub(b[0]);
    let (d1, c) = a[1].borrowing_sub(b[1], c);
    let (d2, c) = a[2].borrowing_sub(b[2], c);
    let (d3, c) = a[3].borrowing_sub(b[3], c);
    ([d0, d1, d2, d3], c)
}

/// a where `mask` is zero, b where it is all ones.
#[inline(always)]
fn select(mask: u64, a: &Limbs, b: &Limbs) -> Limbs {
    ::core::array::from_fn(|i| a[i] ^ (mask & (a[i] ^ b[i])))
}

/// All ones if `bit`, else zero. The barrier keeps the compiler from making a branch of it, as it does
/// without (the check under valgrind tells).
#[inline(always)]
pub(super) fn mask(bit: bool) -> u64 {
    black_box(u64::from(bit)).wrapping_neg()
}

/// (a + 2²⁵⁶·carry) mod m, for a number below 2m.
#[inline(always)]
pub(super) fn reduce_once(a: &Limbs, carry: bool, m: &Limbs) -> Limbs {
    let (reduced, borrow) = sub(a, m);
    select(mask(borrow) & !mask(carry), &reduced, a)
}

/// a + b mod m, for a and b below m.
#[inline(always)]
pub(super) fn add_mod(a: &Limbs, b: &Limbs, m: &Limbs) -> Limbs {
    let (sum, carry) = add(a, b);
    reduce_once(&sum, carry, m)
}

/// a − b mod m, for a and b below m.
#[inline(always)]
pub(super) fn sub_mod(a: &Limbs, b: &Limbs, m: &Limbs) -> Limbs {
    let (difference, borrow) = sub(a, b);
    let mask = mask(borrow);
    add(&difference, &m.map(|limb| limb & mask)).0
}

/// a / 2 mod m, for a below m, and m odd.
#[inline(always)]
pub(super) fn half_mod(a: &Limbs, m: &Limbs) -> Limbs {
    let odd = mask(a[0] & 1 == 1);
    let (sum, carry) = add(a, &m.map(|limb| limb & odd));
    let top = u64::from(carry);
    ::core::array::from_fn(|i| sum[i] >> 1 | sum.get(i + 1).copied().unwrap_or(top) << 63)
}

/// a·b.
#[inline(always)]
pub(super) fn mul_wide(a: &Limbs, b: &Limbs) -> [u64; 8] {
    let mut product = [0; 8];
    for i in 0..4 {
        let mut carry = 0;
        for j in 0..4 {
            (product[i + j], carry) = a[j].carrying_mul_add(b[i], product[i + j], carry);
        }
        product[i + 4] = carry;
    }
    product
}

#[inline(always)]
pub(super) fn is_zero(a: &Limbs) -> Choice {
    (a[0] | a[1] | a[2] | a[3]).ct_eq(&0)
}

/// `count` ≤ 57 bits of `a` from bit `at` on; those before bit 0 and past bit 255 are zero.
#[inline(always)]
pub(super) fn bits(a: &Limbs, at: i32, count: u32) -> u64 {
    let limb = |i: i32| usize::try_from(i).ok().and_then(|i| a.get(i)).copied().unwrap_or(0);
    let (index, shift) = (at.div_euclid(64), at.rem_euclid(64).cast_unsigned());
    let pair = u128::from(limb(index)) | u128::from(limb(index + 1)) << 64;
    (pair >> shift) as u64 & ((1 << count) - 1)
}

/// The signed digit of a window of `w` bits, given with the bit below it (`window` has w + 1 bits):
/// window/2 rounded up, less 2^w if its top bit is set. Returns the sign and |digit| ≤ 2^(w − 1).
/// The digits times 2^(w·i) sum up to the number that the windows are cut from, which is why a
/// number of 256 bits needs a window that reaches past its top bit.
#[inline(always)]
pub(super) fn signed_digit(w: u32, window: u64) -> (Choice, u64) {
    let negative = window >> w & 1;
    let magnitude = (window ^ mask(negative == 1)) & ((1 << (w + 1)) - 1);
    (Choice::from(negative as u8), (magnitude >> 1) + (magnitude & 1))
}

/// b if `choice`, else a.
#[inline(always)]
pub(super) fn choose(a: &Limbs, b: &Limbs, choice: Choice) -> Limbs {
    select(u64::from(choice.unwrap_u8()).wrapping_neg(), a, b)
}

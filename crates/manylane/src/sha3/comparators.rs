//! What others measure SHA-3 against, rebuilt for the benchmark alone: nothing else in manylane calls it.

use super::{Function, RC, pad};

/// Offsets of ρ (FIPS 202, clause 3.2.2) for the word (x, y).
const R: [[u32; 5]; 5] = {
    let mut r = [[0; 5]; 5];
    let (mut x, mut y, mut t) = (1, 0, 0);
    while t < 24 {
        r[x][y] = (t + 1) * (t + 2) / 2 % 64;
        (x, y) = (y, (2 * x + 3 * y) % 5);
        t += 1;
    }
    r
};

/// The plain implementation that the slides “AES and SHA-3” by C. Di Iorio and P. Costanzi Fantini take as
/// their baseline, written from scratch on 64-bit integers: the four steps of a round one after another, as
/// equations over `A[x, y]`, in loops, without vectors. What a compiler makes of them is what is measured.
///
/// # Panics
/// If the function is no XOF, and `out` is not as long as its output.
pub fn textbook(function: Function, message: &[u8], out: &mut [u8]) {
    function.check_output(out.len());
    let rate = function.rate();
    let mut a = [[0; 5]; 5];
    let mut blocks = message.chunks_exact(rate);
    for block in &mut blocks {
        absorb(&mut a, function, block);
    }
    let mut last = [0; 168];
    pad(function, blocks.remainder(), &mut last);
    absorb(&mut a, function, &last[..rate]);
    for (i, out) in out.chunks_mut(rate).enumerate() {
        if i > 0 {
            permute(&mut a, function.rounds());
        }
        for (i, byte) in out.iter_mut().enumerate() {
            *byte = (a[i / 8 % 5][i / 40] >> (8 * (i % 8))) as u8;
        }
    }
}

fn absorb(a: &mut [[u64; 5]; 5], function: Function, block: &[u8]) {
    for (i, byte) in block.iter().enumerate() {
        a[i / 8 % 5][i / 40] ^= u64::from(*byte) << (8 * (i % 8));
    }
    permute(a, function.rounds());
}

/// The last so many rounds.
#[inline(never)]
fn permute(a: &mut [[u64; 5]; 5], rounds: u32) {
    for rc in &RC[RC.len() - rounds as usize..] {
        // θ
        let mut c = [0; 5];
        for x in 0..5 {
            c[x] = a[x][0] ^ a[x][1] ^ a[x][2] ^ a[x][3] ^ a[x][4];
        }
        for x in 0..5 {
            let d = c[(x + 4) % 5] ^ c[(x + 1) % 5].rotate_left(1);
            for y in 0..5 {
                a[x][y] ^= d;
            }
        }
        // ρ and π
        let mut b = [[0; 5]; 5];
        for x in 0..5 {
            for y in 0..5 {
                b[y][(2 * x + 3 * y) % 5] = a[x][y].rotate_left(R[x][y]);
            }
        }
        // χ
        for x in 0..5 {
            for y in 0..5 {
                a[x][y] = b[x][y] ^ (!b[(x + 1) % 5][y] & b[(x + 2) % 5][y]);
            }
        }
        // ι
        a[0][0] ^= rc;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sha3::hash;

    #[test]
    fn it_is_the_same_function() {
        let functions = [
            Function::SHA3_224,
            Function::SHA3_256,
            Function::SHA3_384,
            Function::SHA3_512,
            Function::SHAKE128.with_output_len(400),
            Function::turboshake256(0x1f),
        ];
        let message: Vec<u8> = (0..500_u32).map(|i| ((i * i) >> 3) as u8).collect();
        for function in functions {
            let rate = function.rate();
            for len in [0, 1, 40, rate - 1, rate, rate + 1, 2 * rate, 500] {
                let mut ours = vec![0; function.output_len()];
                let mut plain = ours.clone();
                hash(function, &message[..len], &mut ours);
                textbook(function, &message[..len], &mut plain);
                assert_eq!(plain, ours, "{function:?}, {len} bytes");
            }
        }
    }
}

//! Key schedules of AES and SM4 as the standards write them, for keys that are no secrets.

/// Product of two polynomials over GF(2), modulo a third of degree eight.
fn product(mut x: u32, mut y: u32, modulus: u32) -> u32 {
    let mut out = 0;
    while y != 0 {
        out ^= x * (y & 1);
        y >>= 1;
        x <<= 1;
        x ^= modulus * (x >> 8);
    }
    out
}

fn inverse(x: u8, modulus: u32) -> u8 {
    (0..=255).find(|&y| product(x.into(), u32::from(y), modulus) == 1).unwrap_or(0)
}

fn aes_s_box() -> [u8; 256] {
    std::array::from_fn(|x| {
        let y = inverse(x as u8, 0x11b);
        (0..5).fold(0x63, |s, turn| s ^ y.rotate_left(turn))
    })
}

fn sm4_s_box() -> [u8; 256] {
    let affine = |x: u8| {
        let bit = |row: u32| ((x & 0xa7u8.rotate_left(row)).count_ones() as u8 & 1) << row;
        (0..8).map(bit).sum::<u8>() ^ 0xd3
    };
    std::array::from_fn(|x| affine(inverse(affine(x as u8), 0x1f5)))
}

/// FIPS 197, 5.2.
pub(crate) fn aes(key: &[u8]) -> Vec<[u8; 16]> {
    let s_box = aes_s_box();
    let of_key = key.len() / 4;
    let mut words: Vec<[u8; 4]> = key.as_chunks().0.to_vec();
    let mut constant = 1;
    for i in of_key..4 * (of_key + 7) {
        let mut word = words[i - 1];
        if i % of_key == 0 {
            word.rotate_left(1);
            word = word.map(|x| s_box[usize::from(x)]);
            word[0] ^= constant;
            constant = product(constant.into(), 2, 0x11b) as u8;
        } else if of_key > 6 && i % of_key == 4 {
            word = word.map(|x| s_box[usize::from(x)]);
        }
        let before = words[i - of_key];
        words.push(std::array::from_fn(|k| word[k] ^ before[k]));
    }
    words.as_flattened().as_chunks().0.to_vec()
}

/// GB/T 32907-2016, 7.3.
pub(crate) fn sm4(key: &[u8; 16]) -> [u32; 32] {
    let s_box = sm4_s_box();
    let fixed = [0xa3b1_bac6, 0x56aa_3350, 0x677d_9197, 0xb270_22dc];
    let mut k: Vec<u32> =
        key.as_chunks().0.iter().zip(fixed).map(|(w, fk)| u32::from_be_bytes(*w) ^ fk).collect();
    for i in 0..32 {
        let constant: [u8; 4] = std::array::from_fn(|j| ((4 * i + j) * 7 % 256) as u8);
        let sum = k[i + 1] ^ k[i + 2] ^ k[i + 3] ^ u32::from_be_bytes(constant);
        let s = u32::from_be_bytes(sum.to_be_bytes().map(|x| s_box[usize::from(x)]));
        k.push(k[i] ^ s ^ s.rotate_left(13) ^ s.rotate_left(23));
    }
    std::array::from_fn(|i| k[i + 4])
}

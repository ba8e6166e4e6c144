//! The S-box as an inversion between affine maps, and all maps around it, computed by the compiler.
//!
//! GB/T 32907-2016 prints the S-box as a table. It is S(x) = A (A x + c)⁻¹ + c in GF(2⁸) modulo
//! x⁸ + x⁷ + x⁶ + x⁵ + x⁴ + x² + 1 (Liu et al., "Analysis of the SMS4 block cipher", 2007). All
//! fields of 256 elements are isomorphic, so with another field's inversion, S(x) = A₂ (A₁ x + c₁)⁻¹ + c.
//!
//! A kernel keeps every byte of the state multiplied by A₁ from the first round to the last. This
//! saves A₁ in every round: the words are only added up before the inversion, and after it comes a
//! linear map in any case. L turns words by 2, 10, 18 and 24 bits; for the bytes b₀ … b₃ of a word it is
//!
//! L(b)ᵢ = P bᵢ + Q bᵢ₊₁ + Q bᵢ₊₂ + R bᵢ₊₃, P x = x + (x << 2), R x = x + (x >> 6), Q = P + R,
//!
//! so A₁ P A₂ and A₁ R A₂ are the only maps in a round.

/// A linear map of bytes: bit i of the result is the parity of row i and the argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Matrix(pub(super) [u8; 8]);

impl Matrix {
    /// The map that takes bit i to `images[i]`.
    pub(super) const fn of_images(images: [u8; 8]) -> Matrix {
        let mut rows = [0; 8];
        let mut i = 0;
        while i < 64 {
            rows[i / 8] |= (images[i % 8] >> (i / 8) & 1) << (i % 8);
            i += 1;
        }
        Matrix(rows)
    }

    /// The image of `x`.
    pub(super) const fn apply(&self, x: u8) -> u8 {
        let (mut y, mut i) = (0, 0);
        while i < 8 {
            y |= ((self.0[i] & x).count_ones() as u8 & 1) << i;
            i += 1;
        }
        y
    }

    /// `self` after `first`.
    pub(super) const fn after(&self, first: &Matrix) -> Matrix {
        let mut images = [0; 8];
        let mut i = 0;
        while i < 8 {
            images[i] = self.apply(first.apply(1 << i));
            i += 1;
        }
        Matrix::of_images(images)
    }

    /// The sum of two maps.
    pub(super) const fn plus(&self, other: &Matrix) -> Matrix {
        let mut rows = self.0;
        let mut i = 0;
        while i < 8 {
            rows[i] ^= other.0[i];
            i += 1;
        }
        Matrix(rows)
    }

    /// The inverse of an invertible map: where each unit comes from.
    pub(super) const fn inverse(&self) -> Matrix {
        let mut images = [0; 8];
        let mut x = 1;
        while x < 256 {
            let y = self.apply(x as u8);
            if y.is_power_of_two() {
                images[y.trailing_zeros() as usize] = x as u8;
            }
            x += 1;
        }
        Matrix::of_images(images)
    }

    /// The map as GF2P8AFFINEQB takes it.
    pub(super) const fn gfni(&self) -> i64 {
        u64::from_be_bytes(self.0).cast_signed()
    }

    /// Tables of the images of low and high halves of a byte, the first with `constant` added.
    pub(super) const fn nibbles(&self, constant: u8) -> [[u8; 16]; 2] {
        let mut tables = [[0; 16]; 2];
        let mut x = 0;
        while x < 16 {
            tables[0][x as usize] = self.apply(x) ^ constant;
            tables[1][x as usize] = self.apply(x << 4);
            x += 1;
        }
        tables
    }

    /// The images of the four bytes of a word; no memory is indexed, nothing branches.
    pub(super) fn apply_word(&self, x: u32) -> u32 {
        let mut y = 0;
        for i in 0..8 {
            // What bit i of any byte adds to that byte.
            y ^= (x >> i & 0x0101_0101) * u32::from(self.apply(1 << i));
        }
        y
    }
}

/// x y modulo `polynomial`.
const fn product(mut x: u16, y: u16, polynomial: u16) -> u16 {
    let (mut sum, mut i) = (0, 0);
    while i < 8 {
        if y >> i & 1 != 0 {
            sum ^= x;
        }
        x <<= 1;
        if x & 0x100 != 0 {
            x ^= polynomial;
        }
        i += 1;
    }
    sum
}

/// The field that the S-box is defined in.
const SM4_FIELD: u16 = 0x1f5;

/// AES's field, whose inversion the processors have.
const AES_FIELD: u16 = 0x11b;

/// A of S(x) = A (A x + c)⁻¹ + c: row i is row 0 turned by i.
const A: Matrix = {
    let mut rows = [0; 8];
    let mut i = 0;
    while i < 8 {
        rows[i] = 0xa7_u8.rotate_left(i as u32);
        i += 1;
    }
    Matrix(rows)
};

/// c of the same.
const C: u8 = 0xd3;

/// P of the head of this file.
const P: Matrix = Matrix([1, 2, 4 | 1, 8 | 2, 16 | 4, 32 | 8, 64 | 16, 128 | 32]);

/// R of the head of this file.
const R: Matrix = Matrix([1 | 64, 2 | 128, 4, 8, 16, 32, 64, 128]);

/// S's constant c.
pub(super) const S_CONSTANT: u8 = C;

/// The maps for one way of inverting.
#[derive(Clone, Copy, Debug)]
pub(super) struct Maps {
    /// A₁, by which the state is multiplied.
    pub(super) enter: Matrix,
    /// Its inverse.
    pub(super) leave: Matrix,
    /// c₁.
    pub(super) c1: u8,
    /// A₂.
    pub(super) a2: Matrix,
    /// A₁ P A₂.
    pub(super) p: Matrix,
    /// A₁ R A₂.
    pub(super) r: Matrix,
    /// What S's constant c adds to every byte of the state in a round: A₁ (P + Q + Q + R) c.
    pub(super) c2: u8,
}

impl Maps {
    /// The maps around an inversion elsewhere: that of [`SM4_FIELD`] is `back` after it after `into`.
    const fn around(into: &Matrix, back: &Matrix) -> Maps {
        let enter = into.after(&A);
        let a2 = A.after(back);
        Maps {
            enter,
            leave: enter.inverse(),
            c1: into.apply(C),
            a2,
            p: enter.after(&P).after(&a2),
            r: enter.after(&R).after(&a2),
            c2: enter.after(&P.plus(&R)).apply(C),
        }
    }
}

/// The field isomorphism that takes x to `root`, a root of the polynomial of [`SM4_FIELD`].
const fn isomorphism(root: u16, polynomial: u16) -> Matrix {
    let mut images = [1; 8];
    let mut i = 1;
    while i < 8 {
        images[i] = product(images[i - 1] as u16, root, polynomial) as u8;
        i += 1;
    }
    Matrix::of_images(images)
}

/// The maps around an inversion in AES's field.
pub(super) const AES: Maps = {
    // The eight roots serve alike; this finds the smallest.
    let mut root = 2;
    loop {
        let powers = isomorphism(root, AES_FIELD);
        let eighth = product(powers.apply(0x80) as u16, root, AES_FIELD) as u8;
        if powers.apply(SM4_FIELD as u8) == eighth {
            break Maps::around(&powers, &powers.inverse());
        }
        root += 1;
    }
};

/// The maps around the inversion in the tower of fields of `portable`: of the ways into that field, which
/// differ in a root and in a factor μ, (μ x)⁻¹ = μ⁻¹ x⁻¹, the one whose P and R have the fewest ones, 45.
pub(super) const TOWER: Maps = Maps::around(
    &Matrix::of_images([0x9f, 0x7f, 0xa7, 0xc9, 0x17, 0x8a, 0x9c, 0xc1]),
    &Matrix::of_images([0x16, 0x36, 0xfe, 0xab, 0x93, 0xb7, 0x66, 0x07]),
);

/// The linear map and the constant of AES's S-box, FIPS 197, section 5.1.1.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub(super) const AES_SUB_BYTES: (Matrix, u8) = {
    let mut rows = [0; 8];
    let mut i = 0;
    while i < 8 {
        rows[i] = 0xf1_u8.rotate_left(i as u32);
        i += 1;
    }
    (Matrix(rows), 0x63)
};

/// What `map` is after AES's S-box without its constant, instead of the inversion alone.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub(super) const fn after_sub_bytes(map: &Matrix) -> Matrix {
    map.after(&AES_SUB_BYTES.0.inverse())
}

/// What undoes AES's ShiftRows and turns words to the left, by 0 … 3 bytes: for each byte, which byte to
/// take.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub(super) static TURNED: [[u8; 16]; 4] = {
    let mut from = [[0; 16]; 4];
    let mut i = 0;
    while i < 64 {
        let (by, to) = (i / 16, i % 16);
        let source = to & !3 | (to + by) & 3;
        // ShiftRows moved row r of the four-byte columns by r columns.
        from[by][to] = ((source + 12 * (source & 3)) & 15) as u8;
        i += 1;
    }
    from
};

/// The S-box as a table: for kernels that keep all of it in registers.
#[cfg(target_arch = "aarch64")]
pub(super) static S: [u8; 256] = {
    let mut table = [0; 256];
    let mut x = 0;
    while x < 256 {
        let y = (A.apply(x as u8) ^ C) as u16;
        // y²⁵⁴ = (y¹²⁷)², the inverse.
        let (mut power, mut i) = (y, 0);
        while i < 6 {
            power = product(product(power, power, SM4_FIELD), y, SM4_FIELD);
            i += 1;
        }
        table[x] = A.apply(product(power, power, SM4_FIELD) as u8) ^ C;
        x += 1;
    }
    table
};

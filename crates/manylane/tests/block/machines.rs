//! Every machine against portable: all lengths of 0…5 blocks and around lanes and groups of these.

use manylane::{
    Error,
    block::{Block, TweakOrder, Xts},
    cpu::Machine,
};
use manylane_vectors::{block::Mode, painted};

use crate::{
    ciphers::{Aead, Direction, Keyed, MODES, crypt, for_each_cipher},
    common::{Presence, presence},
};

/// Every length to 5 blocks and a byte, and each number of blocks to twice the largest group, with a byte
/// more and less.
fn lengths() -> impl Iterator<Item = usize> {
    let around = (6..=66).chain([95, 96, 97, 127, 128, 129, 255, 256, 257, 300]);
    (0..=81).chain(around.flat_map(|blocks| [16 * blocks - 1, 16 * blocks, 16 * blocks + 1]))
}

/// Counters that come to the end of 32 bits within the first, the second and the twentieth block.
fn ivs() -> impl Iterator<Item = Block> {
    let low = [1, 2, 20, u32::MAX / 3];
    low.into_iter().map(|left| {
        let mut iv = [0xff; 16];
        iv[3] = 0x5a;
        iv[12..].copy_from_slice(&0u32.wrapping_sub(left).to_be_bytes());
        iv
    })
}

#[test]
fn cells_are_where_they_are_said_to_be() {
    fn check<C: Keyed>() {
        for machine in Machine::ALL {
            let key = vec![7; C::KEY_LEN];
            let expected = C::has(machine) && presence(machine) == Presence::Run;
            match C::on(machine, &key) {
                Ok(_) => assert!(expected, "{} has {machine}", C::NAME),
                Err(error) => {
                    assert_eq!(error, Error::Unavailable(machine));
                    assert!(!expected, "{} lacks {machine}", C::NAME);
                }
            }
        }
    }
    for_each_cipher!(check);
}

#[test]
fn modes_without_a_tag() {
    fn check<C: Keyed>() {
        let keys = [painted(C::KEY_LEN, 3), painted(C::KEY_LEN, 33)];
        let of = |machine| keys.each_ref().map(|key| C::with(machine, key));
        let oracle = of(Some(Machine::Portable));
        let data = painted(300 * 16 + 1, 17);
        for machine in C::machines().filter(|m| *m != Some(Machine::Portable)) {
            let ciphers = of(machine);
            for mode in MODES {
                // The other modes do not count.
                let counts = matches!(mode, Mode::Ctr32 | Mode::Ctr64 | Mode::Ctr128);
                for iv in ivs().take(if counts { 4 } else { 1 }) {
                    for len in lengths() {
                        // These are a block of the cipher for each byte.
                        if mode == Mode::Cfb8 && len > 200 {
                            continue;
                        }
                        for direction in [Direction::Encrypt, Direction::Decrypt] {
                            let crypt =
                                |[a, b]: &[C; 2]| crypt(mode, direction, [a, b], &iv, &data[..len]);
                            let what = format!("{} {machine:?} {mode:?} {direction:?}", C::NAME);
                            assert!(crypt(&ciphers) == crypt(&oracle), "{what}, {len} bytes");
                        }
                    }
                }
            }
        }
    }
    for_each_cipher!(check);
}

#[test]
fn modes_with_a_tag() {
    fn check<C: Keyed>() {
        let key = painted(C::KEY_LEN, 3);
        let (data, aad) = (painted(300 * 16 + 1, 17), painted(600, 5));
        for mode in [Mode::Gcm, Mode::Ccm] {
            let of = |machine| Aead::new(mode, C::with(machine, &key), 16).unwrap();
            let oracle = of(Some(Machine::Portable));
            for machine in C::machines().filter(|m| *m != Some(Machine::Portable)) {
                let aead = of(machine);
                for (i, len) in lengths().enumerate() {
                    let what = format!("{} {machine:?} {mode:?}, {len} bytes", C::NAME);
                    let iv = &painted(16, i)[..if i % 3 == 0 { 13 } else { 12 }];
                    let aad = &aad[..(i * 7) % 600];
                    let encrypt = |aead: &Aead<C>| {
                        let mut data = data[..len].to_vec();
                        (aead.encrypt(iv, aad, &mut data), data)
                    };
                    let (tag, mut sealed) = encrypt(&aead);
                    assert!((tag.clone(), sealed.clone()) == encrypt(&oracle), "{what}");
                    aead.decrypt(iv, aad, &mut sealed, &tag.unwrap()).expect(&what);
                    assert!(sealed == data[..len], "{what}");
                }
            }
        }
    }
    for_each_cipher!(check);
}

/// Many data units are the same as each by itself, across the tweaks that are encrypted together.
#[test]
fn data_units() {
    fn check<C: Keyed>() {
        for (order, unit_len, last) in
            [(TweakOrder::Ieee, 512, 512), (TweakOrder::Gb, 35, 17), (TweakOrder::Ieee, 16, 16)]
        {
            let xts = |machine| {
                let keys = [painted(C::KEY_LEN, 3), painted(C::KEY_LEN, 33)];
                let [data, tweak] = keys.map(|key| C::with(machine, &key));
                Xts::from_ciphers(data, tweak, order)
            };
            let oracle = xts(Some(Machine::Portable));
            // Numbers that pass 2^64.
            let first = (1 << 64) - 20;
            let plain = painted(67 * unit_len + last, 9);
            for machine in C::machines() {
                let mut data = plain.clone();
                xts(machine).encrypt_units(first, unit_len, &mut data).unwrap();
                let mut one_by_one = plain.clone();
                for (i, unit) in one_by_one.chunks_mut(unit_len).enumerate() {
                    oracle.encrypt(&(first + i as u128).to_le_bytes(), unit).unwrap();
                }
                assert!(data == one_by_one, "{} {machine:?} {order:?}", C::NAME);
                xts(machine).decrypt_units(first, unit_len, &mut data).unwrap();
                assert!(data == plain, "{} {machine:?} {order:?}", C::NAME);
            }
        }
    }
    for_each_cipher!(check);
}

//! Every machine against another implementation, at every number of blocks that matters; known answers are in
//! `tests/`.

use ::sm4::cipher::{BlockCipherDecrypt as _, BlockCipherEncrypt as _, KeyInit as _};

use super::Sm4;
use crate::{
    block::{
        Block, BlockCipher as _, TweakOrder, differential,
        kernels::{Chains as _, Kernels, plus},
    },
    cpu::Machine,
};

/// A key without a pattern.
fn key(seed: u8) -> [u8; 16] {
    core::array::from_fn(|i| (i as u8).wrapping_mul(0x9d).wrapping_add(seed) ^ 0x35)
}

#[test]
fn kernels() {
    for machine in Machine::ALL {
        let Ok(cipher) = Sm4::new_on(machine, &key(7)) else { continue };
        assert_eq!(cipher.machine(), machine);
        let other = ::sm4::Sm4::new(&key(7).into());
        let encrypt = |block: Block| {
            let mut block = block.into();
            other.encrypt_block(&mut block);
            block.into()
        };
        let decrypt = |block: Block| {
            let mut block = block.into();
            other.decrypt_block(&mut block);
            block.into()
        };
        differential::check(&cipher, &encrypt, &decrypt);
    }
}

/// As many keys as bytes have values, so that the S-boxes of every machine's schedule see them all.
#[test]
fn keys_of_many_values() {
    for machine in Machine::ALL {
        for seed in 0..=255 {
            let Ok(cipher) = Sm4::new_on(machine, &key(seed)) else { break };
            let (mut ours, mut theirs) = ([seed; 16], [seed; 16].into());
            Kernels::encrypt_one(&cipher, &mut ours);
            ::sm4::Sm4::new(&key(seed).into()).encrypt_block(&mut theirs);
            assert_eq!(ours, <Block>::from(theirs), "{machine}");
        }
    }
}

#[test]
fn lanes_have_keys_of_their_own() {
    for machine in Machine::ALL {
        let Ok(first) = Sm4::new_on(machine, &key(0)) else { continue };
        let mut streams = super::Streams::new(&first);
        let count = streams.count();
        let ciphers: Vec<_> =
            (0..count).map(|i| Sm4::new_on(machine, &key(i as u8)).unwrap()).collect();
        let mut expected = vec![[[0x11; 16]; 3]; count];
        for (lane, cipher) in ciphers.iter().enumerate() {
            streams.set(lane, cipher, &[lane as u8; 16]);
            cipher.cbc_encrypt(&mut [lane as u8; 16], &mut expected[lane]);
        }
        let mut data = vec![[[0x11; 16]; 3]; count];
        let mut slices: Vec<&mut [Block]> = data.iter_mut().map(|d| &mut d[..]).collect();
        streams.encrypt(&mut slices);
        assert_eq!(data, expected, "{machine}");
    }
}

/// Groups larger than those of the differential test, and what is passed on from one to the next.
#[test]
fn whole_as_in_parts() {
    for machine in Machine::ALL {
        let Ok(cipher) = Sm4::new_on(machine, &key(3)) else { continue };
        let portable = Sm4::new_on(Machine::Portable, &key(3)).unwrap();
        for count in [255, 256, 257, 400, 640, 641] {
            let data: Vec<Block> =
                (0..count).map(|i| core::array::from_fn(|j| (i * 37 + j * 11) as u8)).collect();
            let check = |work: &dyn Fn(&Sm4, &mut Block, &mut [Block])| {
                let (mut iv, mut whole) = ([0xfe; 16], data.clone());
                work(&cipher, &mut iv, &mut whole);
                let (mut other, mut parts) = ([0xfe; 16], data.clone());
                parts.chunks_mut(48).for_each(|part| work(&portable, &mut other, part));
                assert!(whole == parts && iv == other, "{machine}, {count} blocks");
            };
            check(&|cipher, _, data| Kernels::encrypt_each(cipher, data));
            check(&|cipher, _, data| Kernels::decrypt_each(cipher, data));
            check(&|cipher, counter, data| {
                cipher.xor_counters(counter, data);
                *counter = plus(counter, data.len());
            });
            check(&|cipher, iv, data| cipher.cbc_decrypt(iv, data));
            check(&|cipher, iv, data| cipher.cfb_decrypt(iv, data));
            for order in [TweakOrder::Ieee, TweakOrder::Gb] {
                check(&|cipher, tweak, data| cipher.xts_encrypt(order, tweak, data));
                check(&|cipher, tweak, data| cipher.xts_decrypt(order, tweak, data));
            }
        }
    }
}

//! Every machine against another implementation, at every number of blocks that matters; known answers are in
//! `tests/`.

use aes::cipher::{BlockCipherDecrypt as _, BlockCipherEncrypt as _, KeyInit as _};

use super::{Aes128, Aes192, Aes256};
use crate::{
    block::{
        Block, BlockCipher as _, differential,
        kernels::{Chains as _, Kernels},
    },
    cpu::Machine,
};

/// A key without a pattern.
fn key<const L: usize>(seed: u8) -> [u8; L] {
    core::array::from_fn(|i| (i as u8).wrapping_mul(0x9d).wrapping_add(seed) ^ 0x35)
}

macro_rules! against {
    ($ours:ty, $theirs:ty) => {
        for machine in Machine::ALL {
            let Ok(cipher) = <$ours>::new_on(machine, &key(7)) else { continue };
            assert_eq!(cipher.machine(), machine);
            let other = <$theirs>::new(&key(7).into());
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
    };
}

#[test]
fn kernels_with_keys_of_128_bits() {
    against!(Aes128, aes::Aes128);
}

#[test]
fn kernels_with_keys_of_192_bits() {
    against!(Aes192, aes::Aes192);
}

#[test]
fn kernels_with_keys_of_256_bits() {
    against!(Aes256, aes::Aes256);
}

#[test]
fn keys_of_many_values() {
    for machine in Machine::ALL {
        for seed in 0..=255 {
            let Ok(cipher) = Aes192::new_on(machine, &key(seed)) else { break };
            let (mut ours, mut theirs) = ([seed; 16], [seed; 16].into());
            Kernels::encrypt_one(&cipher, &mut ours);
            aes::Aes192::new(&key(seed).into()).encrypt_block(&mut theirs);
            assert_eq!(ours, <Block>::from(theirs), "{machine}");
        }
    }
}

#[test]
fn lanes_have_keys_of_their_own() {
    for machine in Machine::ALL {
        let Ok(first) = Aes256::new_on(machine, &key(0)) else { continue };
        let mut streams = super::Streams::new(&first);
        let count = streams.count();
        let ciphers: Vec<_> =
            (0..count).map(|i| Aes256::new_on(machine, &key(i as u8)).unwrap()).collect();
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

//! SM2 encryption of long messages on two threads.

use std::num::NonZeroUsize;

use manylane::{
    Error,
    sm2::{Sealed, SecretKey},
};
use manylane_engine::{Config, Device, Engine};

/// Lengths around those from which two threads work, and around where a part ends.
const LENGTHS: [usize; 6] = [1, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, (3 << 19) + 17, 5 << 20];

fn engine(threads: usize) -> Engine {
    let config =
        Config { threads: NonZeroUsize::new(threads), device: Device::Cpu, ..<_>::default() };
    Engine::new(config).unwrap()
}

fn message(len: usize) -> Vec<u8> {
    (0..len as u32).map(|i| (i.wrapping_mul(0x9e37_79b1) >> 24) as u8).collect()
}

#[test]
fn any_number_of_threads_makes_what_one_makes() {
    let key = SecretKey::generate().unwrap();
    for engine in [1, 2, 3].map(engine) {
        for len in LENGTHS {
            let message = message(len);
            let mut data = message.clone();
            let sealed = engine.encrypt_in_place(key.public_key(), &mut data).unwrap();
            let mut again = data.clone();
            key.decrypt_in_place(&sealed, &mut again).unwrap();
            assert!(again == message, "{len} bytes, {} threads", engine.threads());
            engine.decrypt_in_place(&key, &sealed, &mut data).unwrap();
            assert!(data == message, "{len} bytes, {} threads", engine.threads());
        }
    }
}

#[test]
fn nothing_is_left_of_what_does_not_decrypt() {
    let (key, other) = (SecretKey::generate().unwrap(), SecretKey::generate().unwrap());
    let engine = engine(2);
    let mut c2 = message(3 << 20);
    let sealed = engine.encrypt_in_place(key.public_key(), &mut c2).unwrap();
    let fails = |key: &SecretKey, sealed: &Sealed, c2: &[u8]| {
        let mut data = c2.to_vec();
        assert_eq!(engine.decrypt_in_place(key, sealed, &mut data), Err(Error::Decryption));
        assert!(data.iter().all(|&byte| byte == 0));
    };
    fails(&other, &sealed, &c2);
    fails(&key, &Sealed { c3: [0; 32], ..sealed }, &c2);
    fails(&key, &Sealed { c1: [4; 65], ..sealed }, &c2);
    fails(&key, &sealed, &c2[..c2.len() - 1]);
    for at in [0, 1 << 20, c2.len() - 1] {
        c2[at] ^= 1;
        fails(&key, &sealed, &c2);
        c2[at] ^= 1;
    }
    engine.decrypt_in_place(&key, &sealed, &mut c2).unwrap();
}

#[test]
fn empty_messages_are_none() {
    let key = SecretKey::generate().unwrap();
    let engine = engine(2);
    let empty = engine.encrypt_in_place(key.public_key(), &mut []);
    assert_eq!(empty, Err(Error::MessageLength(0)));
}

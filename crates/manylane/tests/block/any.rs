//! A cipher and a mode that are chosen at run time do what those do that are chosen before.

use cipher::KeyInit;
use manylane::{
    Error,
    aes::{Aes128, Aes192, Aes256},
    block::{
        Block, BlockCipher, Ccm, Ctr32, Gcm, GcmMessage, Tag, TweakOrder, Xts,
        any::{Algorithm, AnyCipher, AnyMode, Direction, Mode},
        cbc_encrypt_many, gcm_encrypt_many,
    },
    sm4::Sm4,
};
use manylane_vectors::{block, painted};

use crate::ciphers::{self, Keyed, crypt};

fn key(algorithm: Algorithm, start: usize) -> Vec<u8> {
    painted(algorithm.key_len(), start)
}

fn any(algorithm: Algorithm, start: usize) -> AnyCipher {
    AnyCipher::new(algorithm, &key(algorithm, start)).unwrap()
}

fn bytes(tag: Result<Tag, Error>) -> Vec<u8> {
    tag.unwrap().as_ref().to_vec()
}

/// Calls a generic function with each cipher's name and type.
macro_rules! for_each_algorithm {
    ($function:ident) => {
        $function::<Aes128>(Algorithm::Aes128);
        $function::<Aes192>(Algorithm::Aes192);
        $function::<Aes256>(Algorithm::Aes256);
        $function::<Sm4>(Algorithm::Sm4);
    };
}

#[test]
fn names_are_read_as_they_are_written() {
    for algorithm in Algorithm::ALL {
        assert_eq!(algorithm.to_string().parse(), Ok(algorithm));
        assert_eq!(algorithm.name().to_uppercase().parse(), Ok(algorithm));
        assert_eq!(any(algorithm, 0).algorithm(), algorithm);
    }
    for mode in Mode::ALL {
        assert_eq!(mode.to_string().parse(), Ok(mode));
    }
    let unknown = "aes".parse::<Algorithm>().unwrap_err();
    assert_eq!(unknown.to_string(), "no cipher or mode of operation is called 'aes'");
    assert!("".parse::<Mode>().is_err());
    assert_eq!(Algorithm::aes(24), Ok(Algorithm::Aes192));
    assert_eq!(Algorithm::aes(17), Err(Error::KeyLength));
}

#[test]
fn every_mode_is_that_of_the_cipher() {
    fn check<C: Keyed>(algorithm: Algorithm) {
        let own = C::new_from_slice(&key(algorithm, 1)).unwrap();
        assert_eq!(any(algorithm, 1).machine(), own.machine());
        let iv = painted(16, 7);
        for mode in Mode::ALL {
            let as_vectors = match mode {
                Mode::Ecb => block::Mode::Ecb,
                Mode::Cbc => block::Mode::Cbc,
                Mode::Cfb => block::Mode::Cfb,
                Mode::Cfb8 => block::Mode::Cfb8,
                Mode::Ofb => block::Mode::Ofb,
                _ => block::Mode::Ctr128,
            };
            let len = if mode.takes_blocks() { 1600 } else { 1603 };
            let message = painted(len, 3);
            for (direction, as_ciphers) in [
                (Direction::Encrypt, ciphers::Direction::Encrypt),
                (Direction::Decrypt, ciphers::Direction::Decrypt),
            ] {
                let expected = crypt(as_vectors, as_ciphers, [&own, &own], &iv, &message).unwrap();
                let iv = &iv[..mode.iv_len()];
                let mut under_way = AnyMode::new(any(algorithm, 1), mode, direction, iv).unwrap();
                assert_eq!((under_way.mode(), under_way.direction()), (mode, direction));
                let mut data = message.clone();
                let cut = if mode.takes_blocks() { 48 } else { 77 };
                let (first, rest) = data.split_at_mut(cut);
                under_way.update(first).unwrap();
                // A clone goes on as the original does.
                let mut again = rest.to_vec();
                under_way.clone().update(&mut again).unwrap();
                under_way.update(rest).unwrap();
                assert!(rest == again && data == expected, "{algorithm} {mode} {direction:?}");
            }
        }
    }
    for_each_algorithm!(check);
}

#[test]
fn authenticated_modes_and_xts_are_those_of_the_cipher() {
    fn check<C: Keyed>(algorithm: Algorithm) {
        let own = C::new_from_slice(&key(algorithm, 1)).unwrap();
        let message = painted(1000, 3);
        let (mut expected, mut data) = (message.clone(), message.clone());
        let tag = Gcm::new(own.clone()).encrypt_detached(&[2; 12], b"aad", &mut expected);
        let tag_of_any = Gcm::new(any(algorithm, 1)).encrypt_detached(&[2; 12], b"aad", &mut data);
        assert_eq!(bytes(tag_of_any), bytes(tag), "{algorithm}, GCM");
        assert!(data == expected, "{algorithm}, GCM");

        let (mut expected, mut data) = (message.clone(), message.clone());
        let tag = Ccm::new(own).encrypt_detached(&[2; 12], b"aad", &mut expected);
        let tag_of_any = Ccm::new(any(algorithm, 1)).encrypt_detached(&[2; 12], b"aad", &mut data);
        assert_eq!(bytes(tag_of_any), bytes(tag), "{algorithm}, CCM");
        assert!(data == expected, "{algorithm}, CCM");

        let keys = [key(algorithm, 1), key(algorithm, 99)].concat();
        for order in [TweakOrder::Ieee, TweakOrder::Gb] {
            let (mut expected, mut data) = (message.clone(), message.clone());
            Xts::<C>::new(&keys, order).unwrap().encrypt(&[3; 16], &mut expected).unwrap();
            let xts = AnyCipher::xts(algorithm, &keys, order).unwrap();
            xts.encrypt(&[3; 16], &mut data).unwrap();
            assert!(data == expected, "{algorithm}, XTS {order:?}");
        }
        let equal = [key(algorithm, 1), key(algorithm, 1)].concat();
        let refused = |keys: &[u8]| AnyCipher::xts(algorithm, keys, TweakOrder::Gb).unwrap_err();
        assert_eq!(refused(&equal), Error::WeakKey);
        assert_eq!(refused(&keys[1..]), Error::KeyLength);
    }
    for_each_algorithm!(check);
}

#[test]
fn lengths_are_checked() {
    for algorithm in Algorithm::ALL {
        for len in (0..80).filter(|&len| len != algorithm.key_len()) {
            let refused = AnyCipher::new(algorithm, &vec![1; len]).unwrap_err();
            assert_eq!(refused, Error::KeyLength, "{algorithm} {len}");
        }
    }
    for mode in Mode::ALL {
        let key = any(Algorithm::Sm4, 0);
        let new = |len| AnyMode::new(key.clone(), mode, Direction::Encrypt, &vec![1; len]);
        for len in (0..40).filter(|&len| len != mode.iv_len()) {
            assert_eq!(new(len).unwrap_err(), Error::IvLength(len), "{mode}");
        }
        let mut data = [7; 17];
        let done = new(mode.iv_len()).unwrap().update(&mut data);
        assert_eq!(matches!(done, Err(Error::DataLength(_))), mode.takes_blocks());
        assert_eq!(data == [7; 17], mode.takes_blocks(), "{mode}");
    }
}

/// Lanes are of one cipher; the others' messages go beside them.
#[test]
fn many_messages_under_keys_of_all_ciphers() {
    let keys: Vec<AnyCipher> = (0..50).map(|i| any(Algorithm::ALL[i * 7 % 11 % 4], i)).collect();
    let len = |i: usize| 16 * (i * 5 % 9);
    let iv: Block = [5; 16];
    let mut data: Vec<Vec<u8>> = (0..50).map(|i| painted(len(i), i)).collect();
    let mut expected = data.clone();
    for (key, data) in keys.iter().zip(&mut expected) {
        let cbc = AnyMode::new(key.clone(), Mode::Cbc, Direction::Encrypt, &iv);
        cbc.unwrap().update(data).unwrap();
    }
    let starts: Vec<_> = keys.iter().map(|key| (key, iv)).collect();
    let mut slices: Vec<&mut [u8]> = data.iter_mut().map(Vec::as_mut_slice).collect();
    cbc_encrypt_many(&starts, &mut slices).unwrap();
    assert_eq!(data, expected);

    let keys: Vec<_> = keys.into_iter().map(Gcm::new).collect();
    let mut data: Vec<Vec<u8>> = (0..50).map(|i| painted(len(i), i)).collect();
    let mut expected = data.clone();
    let tags: Vec<_> = keys
        .iter()
        .zip(&mut expected)
        .map(|(key, data)| bytes(key.encrypt_detached(&[6; 12], b"", data)))
        .collect();
    let messages: Vec<_> =
        keys.iter().map(|gcm| GcmMessage { gcm, iv: &[6; 12], aad: b"" }).collect();
    let mut slices: Vec<&mut [u8]> = data.iter_mut().map(Vec::as_mut_slice).collect();
    let mut tags_of_many = [const { Err(Error::Decryption) }; 50];
    gcm_encrypt_many(&messages, &mut slices, &mut tags_of_many).unwrap();
    assert!(data == expected && tags_of_many.map(bytes)[..] == tags);
}

/// Wherever a message is put aside, it goes on as if it had not been.
#[test]
fn gcm_goes_on_after_it_was_suspended() {
    let gcm = Gcm::new(any(Algorithm::Sm4, 1));
    let message = painted(300, 5);
    let mut expected = message.clone();
    let tag = gcm.encrypt_detached(b"an IV of another length", b"aad", &mut expected).unwrap();
    for cuts in [[0, 0], [0, 16], [1, 17], [15, 16], [16, 299], [77, 300], [300, 300]] {
        let mut data = message.clone();
        let (mut encryptor, mut decryptor) = (
            gcm.encryptor(b"an IV of another length", b"aad").unwrap().suspend(),
            gcm.decryptor(b"an IV of another length", b"aad").unwrap().suspend(),
        );
        let parts = [0..cuts[0], cuts[0]..cuts[1], cuts[1]..300];
        for part in parts.clone() {
            let mut resumed = gcm.resume_encryptor(encryptor.clone());
            resumed.update(&mut data[part]).unwrap();
            encryptor = resumed.suspend();
        }
        let tag_after = gcm.resume_encryptor(encryptor).finalize();
        assert!(data == expected && tag_after.as_ref() == tag.as_ref(), "{cuts:?}");
        for part in parts {
            let mut resumed = gcm.resume_decryptor(decryptor);
            resumed.update(&mut data[part]).unwrap();
            decryptor = resumed.suspend();
        }
        assert_eq!(data, message);
        let again = decryptor.clone();
        assert_eq!(gcm.resume_decryptor(decryptor).finalize(tag.as_ref()), Ok(()));
        let mut wrong = gcm.resume_decryptor(again);
        wrong.update(&mut [0]).unwrap();
        assert_eq!(wrong.finalize(tag.as_ref()), Err(Error::Decryption));
    }
}

/// A counter that comes to its end does so under any cipher.
#[test]
fn counters_of_32_bits_are_those_of_the_cipher() {
    let first = [0xff; 16];
    let (mut data, mut expected) = ([0; 80], [0; 80]);
    Ctr32::new(any(Algorithm::Aes256, 4), &first).update(&mut data).unwrap();
    let own = Aes256::new_from_slice(&key(Algorithm::Aes256, 4)).unwrap();
    Ctr32::new(own, &first).update(&mut expected).unwrap();
    assert_eq!(data, expected);
}

//! The traits of the `cipher` and `aead` crates, against modes of others over our ciphers and ours by
//! themselves.

use ::aead::{AeadInOut as _, Payload};
use cipher::{
    Array, BlockCipherDecrypt, BlockCipherEncrypt, BlockModeDecrypt as _, BlockModeEncrypt as _,
    KeyInit, KeyIvInit as _, StreamCipher as _, StreamCipherSeek as _,
};
use manylane::{
    aes::{Aes128, Aes256},
    block::{BlockCipher, Ccm, Ctr32, Ctr128, Gcm, Ofb, cbc, cfb, ecb},
    sm4::Sm4,
};
use manylane_vectors::painted;

#[test]
fn ciphers() {
    let key = painted(32, 1);
    let cipher = <Aes256 as KeyInit>::new_from_slice(&key).unwrap();
    assert!(<Aes256 as KeyInit>::new_from_slice(&key[1..]).is_err());
    for count in [0, 1, 31, 32, 33, 70] {
        let mut whole = painted(16 * count, 2);
        let plain: Vec<Array<u8, _>> =
            whole.chunks(16).map(|b| Array::try_from(b).unwrap()).collect();
        ecb::Encryptor::new(cipher.clone()).update(&mut whole).unwrap();
        let mut blocks = plain.clone();
        cipher.encrypt_blocks(&mut blocks);
        assert_eq!(Array::slice_as_flattened(&blocks), whole);
        cipher.decrypt_blocks(&mut blocks);
        assert_eq!(blocks, plain);
        let mut out = plain.clone();
        cipher.encrypt_blocks_b2b(&plain, &mut out).unwrap();
        assert_eq!(Array::slice_as_flattened(&out), whole);
        blocks.iter_mut().for_each(|block| cipher.encrypt_block(block));
        assert_eq!(blocks, out);
        blocks.iter_mut().for_each(|block| cipher.decrypt_block(block));
        assert_eq!(blocks, plain);
    }
}

/// What is generic over both our trait and those of the `cipher` crate says `encrypt_block` and means the latter's.
#[test]
fn bounds_do_not_collide() {
    fn there_and_back<C: BlockCipher + BlockCipherEncrypt + BlockCipherDecrypt>(cipher: &C) {
        let mut blocks: [cipher::Block<C>; 3] = Default::default();
        cipher.encrypt_block(&mut blocks[0]);
        cipher.encrypt_blocks(&mut blocks[1..]);
        assert_eq!(blocks[0], blocks[2]);
        cipher.decrypt_block(&mut blocks[0]);
        cipher.decrypt_blocks(&mut blocks[1..]);
        assert_eq!(blocks, <[cipher::Block<C>; 3]>::default());
        assert_eq!(cipher.machine(), Sm4::new(&[1; 16]).machine());
    }
    there_and_back(&Sm4::new(&[1; 16]));
}

/// The `cbc` crate's mode over our cipher, and ours through its traits.
#[test]
fn block_modes() {
    let (key, iv) = (painted(16, 1), painted(16, 2));
    for count in [1, 31, 32, 33, 70] {
        let mut whole = painted(16 * count, 2);
        let plain: Vec<Array<u8, _>> =
            whole.chunks(16).map(|b| Array::try_from(b).unwrap()).collect();
        let mut of_others = plain.clone();
        ::cbc::Encryptor::<Sm4>::new_from_slices(&key, &iv).unwrap().encrypt_blocks(&mut of_others);
        let mut ours = plain.clone();
        cbc::Encryptor::<Sm4>::new_from_slices(&key, &iv).unwrap().encrypt_blocks(&mut ours);
        let iv = iv.as_slice().try_into().unwrap();
        let cipher = <Sm4 as KeyInit>::new_from_slice(&key).unwrap();
        cbc::Encryptor::new(cipher, iv).update(&mut whole).unwrap();
        assert_eq!(Array::slice_as_flattened(&ours), whole);
        assert_eq!(ours, of_others);
        ::cbc::Decryptor::<Sm4>::new_from_slices(&key, iv).unwrap().decrypt_blocks(&mut of_others);
        cbc::Decryptor::<Sm4>::new_from_slices(&key, iv).unwrap().decrypt_blocks(&mut ours);
        assert_eq!((&ours, &of_others), (&plain, &plain));
    }
}

#[test]
fn streams() {
    let (key, iv) = (painted(16, 1), painted(16, 2));
    let plain = painted(100, 3);
    let mut data = plain.clone();
    let mut ctr = Ctr128::<Aes128>::new_from_slices(&key, &iv).unwrap();
    for (at, position) in [(0, 0u32), (1, 1), (16, 16), (33, 33), (48, 48)] {
        ctr.seek(position);
        assert_eq!(ctr.current_pos::<u64>(), u64::from(position));
        data.copy_from_slice(&plain);
        ctr.apply_keystream(&mut data[at..]);
        let mut expected = plain.clone();
        let ours = Ctr128::<Aes128>::new_from_slices(&key, &iv).unwrap();
        ours.xor(at as u64, &mut expected[at..]).unwrap();
        assert_eq!(data, expected);
        assert_eq!(ctr.current_pos::<u32>(), 100);
    }
    let mut stream = vec![9; 100];
    Ctr128::<Aes128>::new_from_slices(&key, &iv).unwrap().write_keystream(&mut stream);
    let mut out = vec![0; 100];
    Ctr128::<Aes128>::new_from_slices(&key, &iv).unwrap().apply_keystream_b2b(&plain, &mut out);
    assert!(out.iter().zip(&stream).zip(&plain).all(|((o, s), p)| o == &(s ^ p)));

    let mut ctr = Ctr32::<Aes128>::new_from_slices(&key, &iv).unwrap();
    assert!(ctr.try_seek((1u64 << 36) + 1).is_err() && ctr.try_seek(u128::MAX).is_err());
    ctr.seek((1u64 << 36) - 5);
    assert!(ctr.try_apply_keystream(&mut data[..6]).is_err());
    assert!(ctr.try_apply_keystream(&mut data[..5]).is_ok());
    assert!(ctr.try_current_pos::<u32>().is_err());
    assert_eq!(ctr.current_pos::<u64>(), 1 << 36);

    let mut data = plain.clone();
    Ofb::<Sm4>::new_from_slices(&key, &iv).unwrap().apply_keystream(&mut data);
    assert_ne!(data, plain);
    Ofb::<Sm4>::new_from_slices(&key, &iv).unwrap().apply_keystream(&mut data);
    assert_eq!(data, plain);
    cfb::Encryptor::<Sm4>::new_from_slices(&key, &iv).unwrap().update(&mut data);
    cfb::Decryptor::<Sm4>::new_from_slices(&key, &iv).unwrap().update(&mut data);
    assert_eq!(data, plain);
}

#[test]
fn aeads() {
    fn check<A: ::aead::Aead + ::aead::AeadInOut + KeyInit>(
        detached: impl Fn(&mut [u8]) -> Vec<u8>,
    ) {
        let aead = A::new_from_slice(&[1; 16]).unwrap();
        let nonce = ::aead::Nonce::<A>::try_from(&[2; 12][..]).unwrap();
        fn payload(msg: &[u8]) -> Payload<'_, 'static> {
            Payload { msg, aad: b"associated" }
        }
        let sealed = aead.encrypt(&nonce, payload(b"a message")).unwrap();
        let mut data = *b"a message";
        let tag = detached(&mut data);
        assert_eq!(sealed, [&data[..], &tag].concat());
        assert_eq!(aead.decrypt(&nonce, payload(&sealed)).unwrap(), b"a message");
        let mut altered = sealed.clone();
        altered[3] ^= 4;
        assert!(aead.decrypt(&nonce, payload(&altered)).is_err());
        assert!(aead.decrypt_in_place(&nonce, b"associated", &mut altered).is_err());
        assert_eq!(altered[..9], [0; 9], "nothing is left");
        assert!(aead.decrypt(&nonce, payload(&sealed[..15])).is_err());
    }
    let gcm = Gcm::new(Aes128::new(&[1; 16]));
    check::<Gcm<Aes128>>(|data| {
        gcm.encrypt_detached(&[2; 12], b"associated", data).unwrap().as_ref().to_vec()
    });
    let ccm = Ccm::new(Sm4::new(&[1; 16]));
    check::<Ccm<Sm4>>(|data| {
        ccm.encrypt_detached(&[2; 12], b"associated", data).unwrap().as_ref().to_vec()
    });
    let short = gcm.with_tag_len(12).unwrap();
    assert!(short.encrypt_in_place(&[2; 12].into(), b"", &mut Vec::new()).is_err());
}

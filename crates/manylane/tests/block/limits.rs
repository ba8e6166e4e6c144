//! Lengths that the standards do not have, and the ends of counters.

use manylane::{
    Error,
    aes::{Aes128, Aes256},
    block::{Ccm, Ctr, Ctr32, Ctr64, Ctr128, Gcm, TweakOrder, Xts, cbc, gcm, pkcs7, xts},
    sm4::Sm4,
};

fn aes() -> Aes128 {
    Aes128::new(&[1; 16])
}

#[test]
fn tags() {
    for len in 0..20 {
        let gcm = [4, 8, 12, 13, 14, 15, 16].contains(&len);
        let ccm = [4, 6, 8, 10, 12, 14, 16].contains(&len);
        let refused = Some(Error::TagLength(len));
        let gcm = if gcm { None } else { refused.clone() };
        let ccm = if ccm { None } else { refused };
        assert_eq!(Gcm::new(aes()).with_tag_len(len).err(), gcm);
        assert_eq!(Ccm::new(aes()).with_tag_len(len).err(), ccm);
    }
    // A tag of another length than the key's, even if the mode has it: a cut one proves less.
    let (gcm, ccm) = (Gcm::new(aes()), Ccm::new(aes()));
    let (mut sealed, mut by_ccm) = ([7; 20], [7; 20]);
    let tag = gcm.encrypt_detached(&[2; 12], b"", &mut sealed).unwrap();
    let ccm_tag = ccm.encrypt_detached(&[2; 12], b"", &mut by_ccm).unwrap();
    let refused = Err(Error::TagLength(12));
    assert_eq!(gcm.verifier(&[2; 12], b"").unwrap().finalize(&tag.as_ref()[..12]), refused);
    assert_eq!(gcm.decryptor(&[2; 12], b"").unwrap().finalize(&tag.as_ref()[..12]), refused);
    assert_eq!(ccm.verifier(&[2; 12], b"", 20).unwrap().finalize(&ccm_tag.as_ref()[..12]), refused);
    assert_eq!(gcm.decrypt_detached(&[2; 12], b"", &mut sealed, &tag.as_ref()[..12]), refused);
    assert_eq!(ccm.decrypt_detached(&[2; 12], b"", &mut by_ccm, &ccm_tag.as_ref()[..12]), refused);
    assert_eq!((sealed, by_ccm), ([0; 20], [0; 20]));
}

#[test]
fn ivs() {
    let (gcm, ccm) = (Gcm::new(aes()), Ccm::new(aes()));
    for len in 0..40 {
        let iv = vec![9; len];
        let refused = Some(Error::IvLength(len));
        let mut data = [7; 5];
        let of_gcm = gcm.encrypt_detached(&iv, b"", &mut data).err();
        assert_eq!(of_gcm, if len > 0 { None } else { refused.clone() }, "{len}");
        let of_ccm = ccm.encrypt_detached(&iv, b"", &mut data).err();
        assert_eq!(of_ccm, if (7..=13).contains(&len) { None } else { refused }, "{len}");
    }
    let mut data = [7; 5];
    assert_eq!(gcm.decrypt_detached(b"", b"", &mut data, &[0; 16]), Err(Error::IvLength(0)));
    assert_eq!(data, [0; 5]);
}

#[test]
fn the_longest_messages() {
    // 64 KiB do not fit a length of two bytes, and a byte less does.
    let ccm = Ccm::new(aes());
    let mut data = vec![7; 1 << 16];
    let too_long = ccm.encrypt_detached(&[2; 13], b"", &mut data).unwrap_err();
    assert!(matches!(too_long, Error::DataLength(_)));
    assert!(data.iter().all(|&byte| byte == 7), "nothing is done");
    let tag = ccm.encrypt_detached(&[2; 13], b"", &mut data[1..]).unwrap();
    let mut verifier = ccm.verifier(&[2; 13], b"", (1 << 16) - 1).unwrap();
    verifier.update(&data[1..4100]).unwrap();
    verifier.update(&data[4100..]).unwrap();
    verifier.finalize(tag.as_ref()).unwrap();
    ccm.decrypt_detached(&[2; 13], b"", &mut data[1..], tag.as_ref()).unwrap();
    for (n, longest) in [(12, (1 << 24) - 1), (11, (1 << 32) - 1), (8, (1 << 56) - 1)] {
        let nonce = &[2; 13][..n];
        assert!(ccm.encryptor(nonce, b"", longest).is_ok());
        assert!(ccm.decryptor(nonce, b"", longest + 1).is_err());
    }
    assert!(ccm.encryptor(&[2; 7], b"", u64::MAX).is_ok());

    // A message of another length than was said.
    let mut encryptor = ccm.encryptor(&[2; 12], b"", 10).unwrap();
    encryptor.update(&mut data[..9]).unwrap();
    let before = data[9..11].to_vec();
    assert!(matches!(encryptor.update(&mut data[9..11]), Err(Error::DataLength(_))));
    assert_eq!(data[9..11], before);
    assert!(matches!(encryptor.finalize(), Err(Error::DataLength(_))));
    let mut verifier = ccm.verifier(&[2; 12], b"", 10).unwrap();
    verifier.update(&data[..9]).unwrap();
    assert!(matches!(verifier.update(&data[9..11]), Err(Error::DataLength(_))));
    assert!(matches!(verifier.finalize(&[0; 16]), Err(Error::DataLength(_))));
    // That GCM refuses more is a test beside it: no message is so long here.
    assert_eq!(gcm::MAX_MESSAGE_LEN, 68_719_476_704);
}

#[test]
fn counters_do_not_come_round() {
    let end = 1 << 36;
    let mut ctr = Ctr32::new(aes(), &[0xff; 16]);
    ctr.set_position(end - 20).unwrap();
    let mut data = [1; 21];
    assert_eq!(ctr.update(&mut data), Err(Error::CounterWrap));
    assert_eq!(ctr.xor(end - 20, &mut data), Err(Error::CounterWrap));
    assert_eq!(data, [1; 21]);
    ctr.update(&mut data[..20]).unwrap();
    assert_eq!(ctr.position(), end);
    assert_eq!(ctr.update(&mut []), Ok(()));
    assert_eq!(ctr.update(&mut data[..1]), Err(Error::CounterWrap));
    assert_eq!(ctr.set_position(end), Ok(()));
    assert_eq!(ctr.set_position(end + 1), Err(Error::CounterWrap));

    // The last block is that of the counter before the first.
    let mut last = [0; 16];
    ctr.xor(end - 16, &mut last).unwrap();
    let mut before = [0xff; 16];
    before[15] = 0xfe;
    let mut expected = [0; 16];
    Ctr32::new(aes(), &before).update(&mut expected).unwrap();
    assert_eq!(last, expected);

    fn far<const BITS: u32>() {
        let ctr = Ctr::<_, BITS>::new(aes(), &[0xff; 16]);
        assert_eq!(ctr.xor(u64::MAX - 3, &mut [0; 3]), Ok(()));
        assert_eq!(ctr.xor(u64::MAX - 3, &mut [0; 4]), Err(Error::CounterWrap));
    }
    far::<64>();
    far::<128>();
}

/// Where a counter of 64 bits begins again, one of 128 goes on.
#[test]
fn carries() {
    let first = [0xff; 16];
    let second = |high: u8| {
        let mut block = [high; 16];
        block[8..].fill(0);
        let mut data = [0; 16];
        Ctr128::new(aes(), &block).update(&mut data).unwrap();
        data
    };
    let mut data = [[0; 16]; 2];
    Ctr64::new(aes(), &first).update(data.as_flattened_mut()).unwrap();
    assert_eq!(data[1], second(0xff));
    let mut data = [[0; 16]; 2];
    Ctr128::new(aes(), &first).update(data.as_flattened_mut()).unwrap();
    assert_eq!(data[1], second(0));
}

#[test]
fn xts() {
    let mut key = [5; 32];
    assert_eq!(Xts::<Aes128>::new(&key, TweakOrder::Ieee).err(), Some(Error::WeakKey));
    assert_eq!(Xts::<Sm4>::new(&key, TweakOrder::Gb).err(), Some(Error::WeakKey));
    key[31] ^= 1;
    assert_eq!(Xts::<Aes256>::new(&key, TweakOrder::Ieee).err(), Some(Error::KeyLength));
    assert_eq!(Xts::<Aes128>::new(&key[1..], TweakOrder::Ieee).err(), Some(Error::KeyLength));
    assert_eq!(Xts::<Aes128>::new(&[], TweakOrder::Ieee).err(), Some(Error::KeyLength));
    let xts = Xts::<Aes128>::new(&key, TweakOrder::Ieee).unwrap();
    let mut data = vec![3; xts::MAX_UNIT_LEN + 1];
    for len in [0, 1, 15, xts::MAX_UNIT_LEN + 1] {
        assert!(matches!(xts.encrypt(&[0; 16], &mut data[..len]), Err(Error::DataLength(_))));
        assert!(matches!(xts.decrypt_units(0, len, &mut data), Err(Error::DataLength(_))));
    }
    // A last data unit that is too short.
    assert!(matches!(xts.encrypt_units(0, 64, &mut data[..143]), Err(Error::DataLength(_))));
    assert!(data.iter().all(|&byte| byte == 3), "nothing is done");
    xts.encrypt(&[0; 16], &mut data[..xts::MAX_UNIT_LEN]).unwrap();
    xts.decrypt(&[0; 16], &mut data[..xts::MAX_UNIT_LEN]).unwrap();
    assert!(data.iter().all(|&byte| byte == 3));
}

#[test]
fn padding() {
    let decrypt = |data: &mut [u8]| {
        pkcs7::decrypt_in_place(cbc::Decryptor::new(aes(), &[2; 16]), data).map(|data| data.len())
    };
    for len in [0, 1, 15, 17, 31] {
        let mut data = vec![7; len];
        assert!(matches!(decrypt(&mut data), Err(Error::DataLength(_))), "{len}");
        assert_eq!(data, vec![7; len]);
        let mut decryptor = pkcs7::Decryptor::new(cbc::Decryptor::new(aes(), &[2; 16]));
        decryptor.update(&data, &mut [0; 32]).unwrap();
        assert!(matches!(decryptor.finalize(), Err(Error::DataLength(_))), "{len}");
    }
    // Plaintexts that end with no padding.
    for last in [0, 17, 255] {
        let mut data = [last; 32];
        cbc::Encryptor::new(aes(), &[2; 16]).update(&mut data).unwrap();
        let mut decryptor = pkcs7::Decryptor::new(cbc::Decryptor::new(aes(), &[2; 16]));
        assert_eq!(decryptor.update(&data, &mut [0; 32]), Ok(16));
        assert_eq!(decryptor.finalize().err(), Some(Error::Decryption));
        assert_eq!(decrypt(&mut data), Err(Error::Decryption));
        assert_eq!(data, [0; 32], "nothing is left");
    }
    let mut encryptor = pkcs7::Encryptor::new(cbc::Encryptor::new(aes(), &[2; 16]));
    assert_eq!(encryptor.update(&[1; 15], &mut []), Ok(0));
    let no_room = Err(Error::OutputLength { expected: 32, got: 31 });
    assert_eq!(encryptor.update(&[1; 20], &mut [0; 31]), no_room);
    assert_eq!(encryptor.update(&[1; 20], &mut [0; 32]), Ok(32), "nothing was done");
}

#[test]
fn debug_shows_no_content() {
    let shown = [
        format!("{:?}", Gcm::new(Sm4::new(&[0x5a; 16]))),
        format!("{:?}", Ctr128::new(Aes128::new(&[0x5a; 16]), &[0x5a; 16])),
        format!("{:?}", cbc::Encryptor::new(Aes128::new(&[0x5a; 16]), &[0x5a; 16])),
    ];
    for shown in shown {
        assert!(!shown.contains("90") && !shown.to_lowercase().contains("5a"), "{shown}");
    }
}

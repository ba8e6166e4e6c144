//! Every case of `vectors/`, on every machine.

use manylane::{
    Error,
    aes::{Aes128, Aes192, Aes256},
    block::ecb,
    sm3,
    sm4::Sm4,
};
use manylane_vectors::block::{self, Case, Ciphertext, Mode};

use crate::ciphers::{Aead, Direction, Keyed, crypt};

/// Both directions of all cases whose keys are this cipher's; says how many.
#[track_caller]
fn check<C: Keyed>(cases: &[Case]) -> usize {
    let is_xts = |case: &Case| matches!(case.mode, Mode::Xts | Mode::XtsGb);
    let own = |case: &&Case| case.key.len() == C::KEY_LEN * if is_xts(case) { 2 } else { 1 };
    let mut count = 0;
    for machine in C::machines() {
        for case in cases.iter().filter(own) {
            let with = |key| C::with(machine, key);
            let what = format!("{} on {machine:?}: {:?}, {}", C::NAME, case.mode, case.source);
            match case.mode {
                Mode::Gcm | Mode::Ccm => aead(with(&case.key), case, &what),
                _ if is_xts(case) => {
                    let (data, tweak) = case.key.split_at(C::KEY_LEN);
                    confidential([&with(data), &with(tweak)], case, &what);
                }
                _ => confidential([&with(&case.key), &with(&case.key)], case, &what),
            }
            count += 1;
        }
    }
    count
}

fn confidential<C: Keyed>(ciphers: [&C; 2], case: &Case, what: &str) {
    let crypt = |direction, data| crypt(case.mode, direction, ciphers, &case.iv, data).unwrap();
    let ciphertext = crypt(Direction::Encrypt, &case.plaintext);
    assert_ciphertext(&ciphertext, case, what);
    assert_eq!(crypt(Direction::Decrypt, &ciphertext), case.plaintext, "{what}");
}

#[track_caller]
fn assert_ciphertext(ciphertext: &[u8], case: &Case, what: &str) {
    match &case.ciphertext {
        Ciphertext::Bytes(expected) => assert_eq!(ciphertext, expected, "{what}"),
        Ciphertext::Sm3(expected) => assert_eq!(&sm3::hash(ciphertext), expected, "{what}"),
    }
}

fn aead<C: Keyed>(cipher: C, case: &Case, what: &str) {
    let aead = match Aead::new(case.mode, cipher, case.tag.len()) {
        Ok(aead) => aead,
        Err(error) => {
            assert_eq!((error, case.is_valid), (Error::TagLength(case.tag.len()), false), "{what}");
            return;
        }
    };
    let mut data = case.plaintext.clone();
    let tag = aead.encrypt(&case.iv, &case.aad, &mut data);
    if case.is_valid {
        assert_eq!(tag, Ok(case.tag.clone()), "{what}");
        assert_ciphertext(&data, case, what);
        aead.decrypt(&case.iv, &case.aad, &mut data, &case.tag).expect(what);
        assert_eq!(data, case.plaintext, "{what}");
        return;
    }
    let Ciphertext::Bytes(ciphertext) = &case.ciphertext else { panic!("{what}: a digest") };
    let mut data = ciphertext.clone();
    let refused = aead.decrypt(&case.iv, &case.aad, &mut data, &case.tag).unwrap_err();
    let is_length = refused == Error::IvLength(case.iv.len());
    assert!(refused == Error::Decryption || is_length && tag.is_err(), "{what}: {refused}");
    assert!(data.iter().all(|&byte| byte == 0), "{what}: something is left");
}

#[test]
fn aes() {
    let cases = block::aes().cases;
    let counts = [check::<Aes128>(&cases), check::<Aes192>(&cases), check::<Aes256>(&cases)];
    assert!(counts.iter().all(|&count| count > 400), "{counts:?}");
}

#[test]
fn aes_cavp() {
    let cases = block::aes_cavp();
    let counts = [check::<Aes128>(&cases), check::<Aes192>(&cases), check::<Aes256>(&cases)];
    assert!(counts.iter().all(|&count| count > 400), "{counts:?}");
}

#[test]
fn sm4() {
    assert!(check::<Sm4>(&block::sm4().cases) > 600);
}

#[test]
fn sm4_of_others() {
    let machines = Sm4::machines().count();
    assert_eq!(check::<Sm4>(&block::sm4_wycheproof()), (104 + 184) * machines);
    assert_eq!(check::<Sm4>(&block::sm4_gmssl()), 8 * machines);
}

#[test]
fn blocks() {
    fn check<C: Keyed>(block: &block::Block) {
        for machine in C::machines() {
            let cipher = C::with(machine, &block.key);
            let mut data = block.plaintext;
            ecb::Encryptor::new(cipher.clone()).update(&mut data).unwrap();
            assert_eq!(data, block.ciphertext, "{} on {machine:?}", block.source);
            ecb::Decryptor::new(cipher).update(&mut data).unwrap();
            assert_eq!(data, block.plaintext, "{} on {machine:?}", block.source);
        }
    }
    for block in &block::aes().blocks {
        match block.key.len() {
            16 => check::<Aes128>(block),
            24 => check::<Aes192>(block),
            _ => check::<Aes256>(block),
        }
    }
    block::sm4().blocks.iter().for_each(check::<Sm4>);
}

#[test]
fn round_keys() {
    for block in &block::aes().blocks {
        let round_keys = match &block.key[..] {
            key if key.len() == 16 => Aes128::round_keys(key.try_into().unwrap()).concat(),
            key if key.len() == 24 => Aes192::round_keys(key.try_into().unwrap()).concat(),
            key => Aes256::round_keys(key.try_into().unwrap()).concat(),
        };
        assert_eq!(round_keys, block.round_keys, "{}", block.source);
    }
    for block in &block::sm4().blocks {
        let round_keys = Sm4::round_keys(block.key[..].try_into().unwrap());
        let bytes: Vec<u8> = round_keys.iter().flat_map(|rk| rk.to_be_bytes()).collect();
        assert_eq!(bytes, block.round_keys, "{}", block.source);
    }
}

/// GB/T 32907-2016, A.2, on the library's choice of machine; other machines take seconds, so they take a
/// thousandth of the way and must agree with it.
#[test]
fn a_million_blocks_one_after_another() {
    let iterate = |machine, key: &[u8], mut block: [u8; 16], times| {
        let mut encryptor = ecb::Encryptor::new(Sm4::with(machine, key));
        for _ in 0..times {
            encryptor.update(&mut block).unwrap();
        }
        block
    };
    for v in block::sm4().iterated {
        assert_eq!(iterate(None, &v.key, v.plaintext, v.iterations), v.ciphertext, "{}", v.source);
        let expected = iterate(None, &v.key, v.plaintext, v.iterations / 1000);
        for machine in Sm4::machines() {
            let got = iterate(machine, &v.key, v.plaintext, v.iterations / 1000);
            assert_eq!(got, expected, "{machine:?}");
        }
    }
}

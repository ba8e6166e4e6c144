//! Messages in parts are the same as whole, wherever they are cut.

use manylane::{
    Error,
    aes::Aes128,
    block::{Ctr, Ctr32, Ctr64, Ctr128, Ofb, cbc, cfb, cfb8, ecb, pkcs7},
    sm4::Sm4,
};
use manylane_vectors::{block::Mode, painted};
use proptest::prelude::*;

use crate::ciphers::{Aead, Counting, Direction, Keyed, crypt, parts};

/// A length, places within it in order, and something to choose from.
fn cut() -> impl Strategy<Value = (usize, Vec<usize>)> {
    (0..700usize).prop_flat_map(|len| {
        let cuts = prop::collection::vec(0..=len, 0..6).prop_map(|mut cuts| {
            cuts.sort_unstable();
            cuts
        });
        (Just(len), cuts)
    })
}

/// A mode on its way, which takes the next part.
type Update = Box<dyn FnMut(&mut [u8])>;

/// A mode that changes nothing about the length, in parts.
fn in_parts<C: Keyed + 'static>(
    mode: Mode,
    direction: Direction,
    cipher: C,
    data: &mut [u8],
    cuts: &[usize],
) {
    let iv = IV;
    let update: Update = match (mode, direction) {
        (Mode::Cfb, Direction::Encrypt) => {
            let mut mode = cfb::Encryptor::new(cipher, &iv);
            Box::new(move |data| mode.update(data))
        }
        (Mode::Cfb, Direction::Decrypt) => {
            let mut mode = cfb::Decryptor::new(cipher, &iv);
            Box::new(move |data| mode.update(data))
        }
        (Mode::Cfb8, Direction::Encrypt) => {
            let mut mode = cfb8::Encryptor::new(cipher, &iv);
            Box::new(move |data| mode.update(data))
        }
        (Mode::Cfb8, Direction::Decrypt) => {
            let mut mode = cfb8::Decryptor::new(cipher, &iv);
            Box::new(move |data| mode.update(data))
        }
        (Mode::Ofb, _) => {
            let mut mode = Ofb::new(cipher, &iv);
            Box::new(move |data| mode.update(data))
        }
        (Mode::Ctr32, _) => counted(Ctr32::new(cipher, &iv)),
        (Mode::Ctr64, _) => counted(Ctr64::new(cipher, &iv)),
        (Mode::Ctr128, _) => counted(Ctr128::new(cipher, &iv)),
        _ => panic!("{mode:?} takes whole blocks"),
    };
    parts(data, cuts).into_iter().for_each(update);
}

fn counted<C: Keyed + 'static, const BITS: u32>(mut ctr: Ctr<C, BITS>) -> Update {
    Box::new(move |data| ctr.update(data).unwrap())
}

/// Its last 32 and 64 bits come to their end in the third block.
const IV: [u8; 16] = [9, 8, 7, 6, 5, 4, 3, 2, 255, 255, 255, 255, 255, 255, 255, 253];

fn streams<C: Keyed + 'static>((len, cuts): (usize, Vec<usize>)) {
    let cipher = C::with(None, &painted(C::KEY_LEN, 1));
    let plain = painted(len, 21);
    for mode in [Mode::Cfb, Mode::Cfb8, Mode::Ofb, Mode::Ctr32, Mode::Ctr64, Mode::Ctr128] {
        let whole = crypt(mode, Direction::Encrypt, [&cipher, &cipher], &IV, &plain).unwrap();
        let mut data = plain.clone();
        in_parts(mode, Direction::Encrypt, cipher.clone(), &mut data, &cuts);
        assert!(data == whole, "{mode:?} {len} {cuts:?}");
        in_parts(mode, Direction::Decrypt, cipher.clone(), &mut data, &cuts);
        assert!(data == plain, "{mode:?} {len} {cuts:?}");
    }
}

fn padded<C: Keyed>((len, cuts): (usize, Vec<usize>)) {
    let cipher = C::with(None, &painted(C::KEY_LEN, 1));
    let mut plain = painted(len, 21);
    let mut encryptor = pkcs7::Encryptor::new(cbc::Encryptor::new(cipher.clone(), &IV));
    let mut sealed = vec![0; len + 16];
    let mut n = 0;
    for part in parts(&mut plain, &cuts) {
        n += encryptor.update(part, &mut sealed[n..]).unwrap();
    }
    assert_eq!(n, len / 16 * 16);
    sealed.truncate(n);
    sealed.extend(encryptor.finalize());
    assert_eq!(sealed, pkcs7::encrypt(cbc::Encryptor::new(cipher.clone(), &IV), &plain));

    let mut decryptor = pkcs7::Decryptor::new(cbc::Decryptor::new(cipher, &IV));
    let mut opened = vec![0; sealed.len()];
    let mut n = 0;
    for part in parts(&mut sealed, &cuts) {
        n += decryptor.update(part, &mut opened[n..]).unwrap();
    }
    opened.truncate(n);
    opened.extend_from_slice(&decryptor.finalize().unwrap());
    assert_eq!(opened, plain);
}

fn tagged<C: Keyed>((len, cuts): (usize, Vec<usize>)) {
    let (iv, aad) = (&IV[..12], &painted(len % 40, 2)[..]);
    for mode in [Mode::Gcm, Mode::Ccm] {
        let aead = Aead::new(mode, C::with(None, &painted(C::KEY_LEN, 1)), 16).unwrap();
        let plain = painted(len, 21);
        let (mut whole, mut data) = (plain.clone(), plain.clone());
        let tag = aead.encrypt(iv, aad, &mut whole).unwrap();
        assert_eq!(aead.encrypt_parts(iv, aad, &mut data, &cuts), Ok(tag.clone()), "{mode:?}");
        assert!(data == whole, "{mode:?} {len} {cuts:?}");
        aead.decrypt_parts(iv, aad, &mut data, &cuts, &tag).unwrap();
        assert!(data == plain, "{mode:?} {len} {cuts:?}");
        let mut altered = tag.clone();
        altered[len % 16] ^= 1;
        let refused = aead.decrypt_parts(iv, aad, &mut whole, &cuts, &altered);
        assert_eq!(refused, Err(Error::Decryption), "{mode:?}");
    }
}

fn seeks<const BITS: u32>(len: usize, cuts: &[usize]) {
    let whole = {
        let mut data = vec![0; len];
        Ctr::<_, BITS>::new(Aes128::new(&[3; 16]), &IV).update(&mut data).unwrap();
        data
    };
    let mut ctr = Ctr::<_, BITS>::new(Aes128::new(&[3; 16]), &IV);
    for &cut in cuts.iter().rev() {
        let ctr: &mut dyn Counting = &mut ctr;
        let (mut data, mut more) = (vec![0; len - cut], vec![0; len - cut]);
        ctr.set_position(cut as u64).unwrap();
        assert_eq!(ctr.position(), cut as u64);
        ctr.xor(cut as u64, &mut more).unwrap();
        ctr.update(&mut data).unwrap();
        assert!(data == whole[cut..] && more == whole[cut..], "{BITS} {len} {cut}");
        assert_eq!(ctr.position(), len as u64);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn streams_in_parts(cut in cut()) {
        streams::<Aes128>(cut.clone());
        streams::<Sm4>(cut);
    }

    #[test]
    fn padding_in_parts(cut in cut()) {
        padded::<Aes128>(cut.clone());
        padded::<Sm4>(cut);
    }

    #[test]
    fn tagged_in_parts(cut in cut()) {
        tagged::<Aes128>(cut.clone());
        tagged::<Sm4>(cut);
    }

    #[test]
    fn counters_at_any_place((len, cuts) in cut()) {
        seeks::<32>(len, &cuts);
        seeks::<64>(len, &cuts);
        seeks::<128>(len, &cuts);
    }
}

/// CBC goes on where the part before ended; ECB has nothing to go on with.
#[test]
fn whole_blocks_in_parts() {
    let mut plain = painted(160, 4);
    let cipher = Aes128::new(&[3; 16]);
    for mode in [Mode::Ecb, Mode::Cbc] {
        for direction in [Direction::Encrypt, Direction::Decrypt] {
            let whole = crypt(mode, direction, [&cipher, &cipher], &IV, &plain).unwrap();
            let mut data = plain.clone();
            let mut cbc_in = cbc::Encryptor::new(cipher.clone(), &IV);
            let mut cbc_out = cbc::Decryptor::new(cipher.clone(), &IV);
            let mut ecb_in = ecb::Encryptor::new(cipher.clone());
            let mut ecb_out = ecb::Decryptor::new(cipher.clone());
            for part in parts(&mut data, &[16, 16, 80]) {
                match (mode, direction) {
                    (Mode::Cbc, Direction::Encrypt) => cbc_in.update(part),
                    (Mode::Cbc, Direction::Decrypt) => cbc_out.update(part),
                    (_, Direction::Encrypt) => ecb_in.update(part),
                    (_, Direction::Decrypt) => ecb_out.update(part),
                }
                .unwrap();
            }
            assert_eq!(data, whole, "{mode:?} {direction:?}");
        }
    }
    let length = Err(Error::DataLength("the data are not whole blocks of 16 bytes"));
    assert_eq!(cbc::Encryptor::new(cipher.clone(), &IV).update(&mut plain[..17]), length);
    assert_eq!(ecb::Decryptor::new(cipher).update(&mut plain[..15]), length);
}

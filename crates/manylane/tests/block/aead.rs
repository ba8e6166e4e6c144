//! GCM and CCM: whatever is altered is refused, and nothing is left of it.

use manylane::Error;
use manylane_vectors::{block::Mode, painted};

use crate::ciphers::{Aead, Keyed, for_each_cipher};

#[test]
fn every_altered_bit_is_refused() {
    fn check<C: Keyed>() {
        for (mode, tag_len) in [(Mode::Gcm, 16), (Mode::Gcm, 12), (Mode::Ccm, 16), (Mode::Ccm, 6)] {
            let key = painted(C::KEY_LEN, 1);
            let aead = Aead::new(mode, C::with(None, &key), tag_len).unwrap();
            let (iv, aad, plain) = (painted(12, 2), painted(21, 3), painted(53, 4));
            let mut sealed = plain.clone();
            let tag = aead.encrypt(&iv, &aad, &mut sealed).unwrap();
            let whole = [&iv[..], &aad, &sealed, &tag].concat();
            for bit in 0..8 * whole.len() {
                let mut altered = whole.clone();
                altered[bit / 8] ^= 1 << (bit % 8);
                let (iv, rest) = altered.split_at_mut(iv.len());
                let (aad, rest) = rest.split_at_mut(aad.len());
                let (data, tag) = rest.split_at_mut(plain.len());
                let refused = aead.decrypt(iv, aad, data, tag);
                assert_eq!(refused, Err(Error::Decryption), "{} {mode:?} bit {bit}", C::NAME);
                assert_eq!(data, [0; 53], "{} {mode:?} bit {bit}", C::NAME);
            }
        }
    }
    for_each_cipher!(check);
}

/// Bytes that move from the associated data to the message, or to the next key, are altered too.
#[test]
fn lengths_are_authenticated() {
    fn check<C: Keyed>() {
        for mode in [Mode::Gcm, Mode::Ccm] {
            let aead = Aead::new(mode, C::with(None, &painted(C::KEY_LEN, 1)), 16).unwrap();
            let other = Aead::new(mode, C::with(None, &painted(C::KEY_LEN, 2)), 16).unwrap();
            let iv = [5; 12];
            let mut data = [0; 32];
            let tag = aead.encrypt(&iv, &[0; 16], &mut data).unwrap();
            let refused = Err(Error::Decryption);
            for (aad, len) in [(0, 32), (15, 32), (17, 32), (32, 32), (16, 31), (16, 16), (16, 0)] {
                let mut data = data[..len].to_vec();
                assert_eq!(aead.decrypt(&iv, &vec![0; aad], &mut data, &tag), refused);
            }
            assert_eq!(other.decrypt(&iv, &[0; 16], &mut data.clone(), &tag), refused);
            assert_eq!(aead.decrypt(&iv, &[0; 16], &mut data, &tag), Ok(()));
            assert_eq!(data, [0; 32]);
        }
    }
    for_each_cipher!(check);
}

//! What block ciphers and modes are asked of libraries.

use manylane::block::TweakOrder;

mod gcrypt;
mod openssl;

pub(in crate::bench) use self::{gcrypt::GcryptCiphers, openssl::OpenSslCiphers};

/// Bytes of a tag, as they are asked for.
pub(in crate::bench) type Tag = [u8; 16];

/// A block cipher with keys of one length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::bench) enum Cipher {
    Aes128,
    Aes192,
    Aes256,
    Sm4,
}

impl Cipher {
    /// As OpenSSL names it.
    pub(in crate::bench) fn name(self) -> &'static str {
        match self {
            Cipher::Aes128 => "AES-128",
            Cipher::Aes192 => "AES-192",
            Cipher::Aes256 => "AES-256",
            Cipher::Sm4 => "SM4",
        }
    }

    /// Bytes of a key.
    pub(in crate::bench) fn key_len(self) -> usize {
        match self {
            Cipher::Aes128 | Cipher::Sm4 => 16,
            Cipher::Aes192 => 24,
            Cipher::Aes256 => 32,
        }
    }
}

/// A mode of operation and its direction, where directions differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::bench) enum Mode {
    Ecb,
    CbcEncrypt,
    CbcDecrypt,
    Ctr,
    GcmEncrypt,
    GcmDecrypt,
    Ccm,
    Xts(TweakOrder),
    CfbDecrypt,
    Ofb,
}

impl Mode {
    /// Keys of the cipher in a key of the mode.
    pub(in crate::bench) fn keys(self) -> usize {
        if matches!(self, Mode::Xts(_)) { 2 } else { 1 }
    }

    /// Bytes of an IV: RFC 5116 and RFC 8998 have twelve of a nonce.
    pub(in crate::bench) fn iv_len(self) -> usize {
        match self {
            Mode::Ecb => 0,
            Mode::GcmEncrypt | Mode::GcmDecrypt | Mode::Ccm => 12,
            _ => 16,
        }
    }

    fn encrypts(self) -> bool {
        !matches!(self, Mode::CbcDecrypt | Mode::GcmDecrypt | Mode::CfbDecrypt)
    }
}

#[cfg(test)]
mod tests {
    use manylane::{
        block::{Ccm, Gcm},
        sm4::Sm4,
    };

    use super::*;

    /// Whether it is told to is settled before there are threads, which tests have: tests/command/bench.rs
    /// has it run.
    #[test]
    fn openssl_is_not_told_anything_among_threads() {
        let why = OpenSslCiphers::without_aes().err().unwrap();
        assert!(OpenSslCiphers::get().is_err() || why.contains("threads"), "{why}");
    }

    #[test]
    fn libgcrypt_does_without_what_it_is_told_to() {
        let Ok(all) = GcryptCiphers::get() else { return };
        let Some(feature) = all.features().first().cloned() else { return };
        let without = GcryptCiphers::load_without(&feature).unwrap();
        assert!(all.features().contains(&feature) && !without.features().contains(&feature));
        let (key, iv) = ([7; 16], [9; 16]);
        for gcrypt in [all, Box::leak(Box::new(without))] {
            let mut data = [3; 100];
            let mut tag = [0; 16];
            let mut context = gcrypt.context(Cipher::Sm4, Mode::GcmEncrypt, &key).unwrap();
            context.crypt(&iv, &mut data, &mut tag);
            let mut expected = [3; 100];
            let gcm = Gcm::new(Sm4::new(&key));
            let ours = gcm.encrypt_detached(&iv[..12], &[], &mut expected).unwrap();
            assert_eq!((data, &tag[..]), (expected, ours.as_ref()));
        }
        assert!(GcryptCiphers::load_without("no such feature").is_err());
    }

    /// Contexts are used again and again: nothing of a message is left for the next.
    #[test]
    fn contexts_begin_anew() {
        let (key, iv) = ([7; 16], [9; 16]);
        let mut expected = [3; 80];
        let ours = Ccm::new(Sm4::new(&key)).encrypt_detached(&iv[..12], &[], &mut expected);
        let ours = ours.unwrap();
        if let Ok(gcrypt) = GcryptCiphers::get() {
            let mut context = gcrypt.context(Cipher::Sm4, Mode::Ccm, &key).unwrap();
            for _ in 0..2 {
                let (mut data, mut tag) = ([3; 80], [0; 16]);
                context.crypt(&iv, &mut data, &mut tag);
                assert_eq!((data, &tag[..]), (expected, ours.as_ref()));
            }
            assert!(gcrypt.context(Cipher::Sm4, Mode::Xts(TweakOrder::Gb), &[7; 32]).is_none());
        }
        if let Ok(openssl) = OpenSslCiphers::get() {
            assert!(openssl.has(Cipher::Sm4, Mode::Ctr) && openssl.has(Cipher::Aes128, Mode::Ccm));
            assert!(!openssl.has(Cipher::Sm4, Mode::Xts(TweakOrder::Ieee)));
        }
    }
}

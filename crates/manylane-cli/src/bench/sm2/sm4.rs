//! What ParaSM2 is compared with: SM4-GCM, and SM4-CBC with SM3 of the message, under a key that is ready.

use manylane::{block::cbc, sm3, sm4::Sm4};

use super::{Bytes, Call, Contender, OPENSSL, OpenSsl, Work};
use crate::bench::{
    block,
    peers::cipher::{Cipher, Mode, OpenSslCiphers},
};

pub(super) const GCM: &str = "SM4-GCM";
pub(super) const CBC: &str = "SM4-CBC, SM3";
pub(super) const CBC_OF_OPENSSL: &str = "OpenSSL, SM4-CBC, SM3";

/// Theirs encrypt or decrypt a message of their own in place; OpenSSL's no longer one than `openssl`.
pub(super) fn contenders(
    encrypts: bool,
    len: usize,
    openssl: usize,
    rng: &mut fastrand::Rng,
) -> Vec<Contender> {
    let (gcm, cbc) = match encrypts {
        true => (Mode::GcmEncrypt, Mode::CbcEncrypt),
        false => (Mode::GcmDecrypt, Mode::CbcDecrypt),
    };
    let gcm = block::ours_alone(Cipher::Sm4, gcm, len, rng);
    let mut contenders = vec![Contender { name: GCM.to_owned(), output: Vec::new(), ..gcm }];
    let contender = |name: &str, call| Contender {
        name: name.to_owned(),
        kernel: None,
        peer: name.starts_with(OPENSSL),
        work: Work { bytes: len as u64, units: 1, counted_clocks: None },
        output: vec![0; 32],
        call,
    };
    let (mut key, mut iv) = ([0; 16], [0; 16]);
    rng.fill(&mut key);
    rng.fill(&mut iv);
    let sm4 = Sm4::new(&key);
    let mut data = Bytes::random(len, rng);
    contenders.push(contender(
        CBC,
        Call::here(move |out| {
            let data = data.get_mut();
            if encrypts {
                out.copy_from_slice(&sm3::hash(data));
                cbc::Encryptor::new(sm4.clone(), &iv).update(data).expect("whole blocks");
            } else {
                cbc::Decryptor::new(sm4.clone(), &iv).update(data).expect("whole blocks");
                out.copy_from_slice(&sm3::hash(data));
            }
        }),
    ));
    let context = OpenSslCiphers::get().ok().filter(|_| len <= openssl);
    let context = context.and_then(|openssl| openssl.context(Cipher::Sm4, cbc, &key));
    if let (Some(mut context), Ok(openssl)) = (context, OpenSsl::get()) {
        let (mut digest, mut data) = (openssl.digest(), Bytes::random(len, rng));
        contenders.push(contender(
            CBC_OF_OPENSSL,
            Call::here(move |out| {
                let (out, _) = out.split_first_chunk_mut().expect("room for a digest");
                let data = data.get_mut();
                if encrypts {
                    digest.hash(data, out);
                }
                context.crypt(&iv, data, &mut [0; 16]);
                if !encrypts {
                    digest.hash(data, out);
                }
            }),
        ));
    }
    contenders
}

//! The block ciphers: secret messages under secret keys in every mode.

use hmac::KeyInit;
use manylane::{
    Error,
    block::{
        Block, BlockCipher, Ccm, Ctr32, Ctr64, Ctr128, Gcm, GcmMessage, Ofb, Tag, TweakOrder, Xts,
        cbc, cbc_encrypt_many, cfb, cfb8, ecb, gcm_decrypt_many, gcm_encrypt_many, pkcs7,
    },
    cpu::Machine,
};
use manylane_ct::{bytes, valgrind::mark_public};

use super::Checks;

const IV: Block = [1; 16];
const NONCE: &[u8] = &[1; 12];

/// Lengths with one block, with every loop, and with a part of a block.
const LENGTHS: [usize; 3] = [16, 80 * 16, 80 * 16 + 5];

/// What is done with a message under a key: what comes out.
struct Mode<C> {
    name: &'static str,
    /// Whether it takes whole blocks alone.
    is_of_blocks: bool,
    work: fn(C, Vec<u8>) -> Vec<u8>,
}

impl<C> Mode<C> {
    const fn blocks(name: &'static str, work: fn(C, Vec<u8>) -> Vec<u8>) -> Self {
        Mode { name, is_of_blocks: true, work }
    }

    const fn bytes(name: &'static str, work: fn(C, Vec<u8>) -> Vec<u8>) -> Self {
        Mode { name, is_of_blocks: false, work }
    }
}

impl Checks {
    /// Every mode of one cipher, on a machine that may not have it.
    pub(super) fn blocks<C: BlockCipher + KeyInit, const KEY: usize>(
        &mut self,
        machine: Machine,
        name: &str,
        new: impl Fn(&[u8; KEY]) -> Result<C, Error>,
    ) {
        if new(&[0; KEY]).is_err() {
            println!("        {machine} has no kernel for {name}");
            return;
        }
        let modes = chained().into_iter().chain(parallel()).chain(padded()).chain(tagged());
        for Mode { name: mode, is_of_blocks, work } in modes.chain(tagged_many()) {
            for len in LENGTHS.into_iter().filter(|len| !is_of_blocks || len % 16 == 0) {
                let about = format!("{machine}: {name}-{mode}, {len} bytes");
                self.constant_time(&about, &bytes(22, KEY + len), |secret| {
                    let (key, data) = secret.split_first_chunk().expect("a key is in front");
                    work(new(key).expect("found above"), data.to_vec())
                });
            }
        }
        let about = format!("{machine}: {name}-XTS, a pair of keys");
        self.constant_time(&about, &bytes(23, 2 * KEY + 16), |secret| {
            let (keys, data) = secret.split_at(2 * KEY);
            let xts = Xts::<C>::new(keys, TweakOrder::Ieee).expect("halves that differ");
            let mut data = data.to_vec();
            xts.encrypt(&IV, &mut data).expect("a block");
            data
        });
    }
}

fn chained<C: BlockCipher>() -> Vec<Mode<C>> {
    vec![
        Mode::blocks("CBC", |cipher, mut data| {
            cbc::Encryptor::new(cipher, &IV).update(&mut data).expect("whole blocks");
            data
        }),
        Mode::blocks("CBC, decryption", |cipher, mut data| {
            cbc::Decryptor::new(cipher, &IV).update(&mut data).expect("whole blocks");
            data
        }),
        Mode::blocks("CBC, many", |cipher, mut data| {
            let mut messages: Vec<&mut [u8]> = data.chunks_mut(64).collect();
            let keys = vec![(&cipher, IV); messages.len()];
            cbc_encrypt_many(&keys, &mut messages).expect("whole blocks");
            data
        }),
        Mode::bytes("CFB", |cipher, mut data| {
            cfb::Encryptor::new(cipher, &IV).update(&mut data);
            data
        }),
        Mode::bytes("CFB, decryption", |cipher, mut data| {
            cfb::Decryptor::new(cipher, &IV).update(&mut data);
            data
        }),
        Mode::bytes("CFB-8", |cipher, mut data| {
            data.truncate(101);
            cfb8::Encryptor::new(cipher, &IV).update(&mut data);
            data
        }),
        Mode::bytes("CFB-8, decryption", |cipher, mut data| {
            data.truncate(101);
            cfb8::Decryptor::new(cipher, &IV).update(&mut data);
            data
        }),
        Mode::bytes("OFB", |cipher, mut data| {
            Ofb::new(cipher, &IV).update(&mut data);
            data
        }),
    ]
}

fn parallel<C: BlockCipher>() -> Vec<Mode<C>> {
    fn xts<C: BlockCipher>(cipher: C, order: TweakOrder) -> Xts<C> {
        Xts::from_ciphers(cipher.clone(), cipher, order)
    }
    vec![
        Mode::blocks("ECB", |cipher, mut data| {
            ecb::Encryptor::new(cipher).update(&mut data).expect("whole blocks");
            data
        }),
        Mode::blocks("ECB, decryption", |cipher, mut data| {
            ecb::Decryptor::new(cipher).update(&mut data).expect("whole blocks");
            data
        }),
        Mode::bytes("CTR of 32 bits", |cipher, mut data| {
            Ctr32::new(cipher, &[0xff; 16]).update(&mut data).expect("short enough");
            data
        }),
        Mode::bytes("CTR of 64 bits", |cipher, mut data| {
            Ctr64::new(cipher, &[0xff; 16]).update(&mut data).expect("short enough");
            data
        }),
        Mode::bytes("CTR of 128 bits, in parts", |cipher, mut data| {
            let mut ctr = Ctr128::new(cipher, &[0xff; 16]);
            let (head, tail) = data.split_at_mut(9);
            ctr.update(head).expect("short enough");
            ctr.update(tail).expect("short enough");
            data
        }),
        Mode::bytes("CTR at a place", |cipher, mut data| {
            Ctr128::new(cipher, &[0xff; 16]).xor(7, &mut data).expect("short enough");
            data
        }),
        Mode::bytes("XTS", |cipher, mut data| {
            xts(cipher, TweakOrder::Ieee).encrypt(&IV, &mut data).expect("a block or more");
            data
        }),
        Mode::bytes("XTS, decryption", |cipher, mut data| {
            xts(cipher, TweakOrder::Ieee).decrypt(&IV, &mut data).expect("a block or more");
            data
        }),
        Mode::bytes("XTS of GB/T 17964", |cipher, mut data| {
            xts(cipher, TweakOrder::Gb).encrypt(&IV, &mut data).expect("a block or more");
            data
        }),
        Mode::bytes("XTS of GB/T 17964, decryption", |cipher, mut data| {
            xts(cipher, TweakOrder::Gb).decrypt(&IV, &mut data).expect("a block or more");
            data
        }),
        Mode::blocks("XTS, many units", |cipher, mut data| {
            let xts = xts(cipher, TweakOrder::Ieee);
            xts.encrypt_units(7, 32, &mut data).expect("a block or more each");
            data
        }),
    ]
}

fn padded<C: BlockCipher>() -> Vec<Mode<C>> {
    vec![
        Mode::bytes("CBC with padding", |cipher, data| {
            pkcs7::encrypt(cbc::Encryptor::new(cipher, &IV), &data)
        }),
        Mode::bytes("CBC with padding, decryption", |cipher, data| {
            let mut data = pkcs7::encrypt(cbc::Encryptor::new(cipher.clone(), &IV), &data);
            let decryptor = cbc::Decryptor::new(cipher, &IV);
            pkcs7::decrypt_in_place(decryptor, &mut data).expect("its own padding").to_vec()
        }),
        Mode::bytes("ECB with padding, in parts and back", |cipher, data| {
            let mut sealed = vec![0; data.len() + 16];
            let mut encryptor = pkcs7::Encryptor::new(ecb::Encryptor::new(cipher.clone()));
            let mut n = encryptor.update(&data[..9], &mut sealed).expect("fits");
            n += encryptor.update(&data[9..], &mut sealed[n..]).expect("fits");
            sealed[n..n + 16].copy_from_slice(&encryptor.finalize());
            let mut opened = vec![0; sealed.len()];
            let mut decryptor = pkcs7::Decryptor::new(ecb::Decryptor::new(cipher));
            let n = decryptor.update(&sealed[..n + 16], &mut opened).expect("fits");
            opened.truncate(n);
            opened.extend_from_slice(&decryptor.finalize().expect("its own padding"));
            opened
        }),
    ]
}

/// The message, and the tag after it.
fn with_tag(mut data: Vec<u8>, tag: &Tag) -> Vec<u8> {
    data.extend_from_slice(tag.as_ref());
    data
}

/// A tag that was published.
fn published(tag: &Tag) -> Vec<u8> {
    let mut tag = tag.as_ref().to_vec();
    mark_public(&mut tag);
    tag
}

fn tagged<C: BlockCipher>() -> Vec<Mode<C>> {
    vec![
        Mode::bytes("GCM", |cipher, mut data| {
            let tag = Gcm::new(cipher).encrypt_detached(NONCE, b"aad", &mut data).expect("fits");
            with_tag(data, &tag)
        }),
        Mode::bytes("GCM, an IV of 16 bytes", |cipher, mut data| {
            let tag = Gcm::new(cipher).encrypt_detached(&IV, b"", &mut data).expect("fits");
            with_tag(data, &tag)
        }),
        Mode::bytes("GCM, decryption", |cipher, mut data| {
            let gcm = Gcm::new(cipher);
            let tag = published(&gcm.encrypt_detached(NONCE, b"", &mut data).expect("fits"));
            gcm.decrypt_detached(NONCE, b"", &mut data, &tag).expect("its own tag");
            data
        }),
        Mode::bytes("GCM, verification in parts", |cipher, mut data| {
            let gcm = Gcm::new(cipher);
            let tag = published(&gcm.encrypt_detached(NONCE, b"", &mut data).expect("fits"));
            let mut verifier = gcm.verifier(NONCE, b"").expect("an IV");
            verifier.update(&data[..9]).expect("fits");
            verifier.update(&data[9..]).expect("fits");
            verifier.finalize(&tag).expect("its own tag");
            data
        }),
        Mode::bytes("CCM", |cipher, mut data| {
            let tag = Ccm::new(cipher).encrypt_detached(NONCE, b"aad", &mut data).expect("fits");
            with_tag(data, &tag)
        }),
        Mode::bytes("CCM, decryption", |cipher, mut data| {
            let ccm = Ccm::new(cipher);
            let tag = published(&ccm.encrypt_detached(NONCE, b"", &mut data).expect("fits"));
            ccm.decrypt_detached(NONCE, b"", &mut data, &tag).expect("its own tag");
            data
        }),
        Mode::bytes("CCM, verification in parts", |cipher, mut data| {
            let ccm = Ccm::new(cipher);
            let tag = published(&ccm.encrypt_detached(NONCE, b"", &mut data).expect("fits"));
            let mut verifier = ccm.verifier(NONCE, b"", data.len() as u64).expect("a nonce");
            verifier.update(&data[..9]).expect("fits");
            verifier.update(&data[9..]).expect("fits");
            verifier.finalize(&tag).expect("its own tag");
            data
        }),
    ]
}

/// Messages of 40 bytes and what is left: under keys of their own, so that they are in lanes, or all under one.
fn tagged_many<C: BlockCipher>() -> Vec<Mode<C>> {
    fn there_and_back<C: BlockCipher>(keys: &[Gcm<C>], data: &mut [u8]) -> Vec<u8> {
        let mut slices: Vec<&mut [u8]> = data.chunks_mut(40).collect();
        let message = |i: usize| GcmMessage { gcm: &keys[i % keys.len()], iv: NONCE, aad: b"" };
        let messages: Vec<_> = (0..slices.len()).map(message).collect();
        let mut tags = vec![Err(Error::Decryption); slices.len()];
        gcm_encrypt_many(&messages, &mut slices, &mut tags).expect("counts agree");
        let sealed: Vec<u8> = slices.iter().flat_map(|data| data.to_vec()).collect();
        let tags: Vec<_> = tags.iter().map(|tag| published(tag.as_ref().expect("fits"))).collect();
        let tags: Vec<&[u8]> = tags.iter().map(Vec::as_slice).collect();
        let mut out = vec![Err(Error::Decryption); slices.len()];
        gcm_decrypt_many(&messages, &mut slices, &tags, &mut out).expect("counts agree");
        assert!(out.iter().all(Result::is_ok), "their own tags");
        sealed
    }
    vec![
        Mode::bytes("GCM, many under their own keys", |cipher, mut data| {
            let keys = vec![Gcm::new(cipher); data.len().div_ceil(40)];
            let sealed = there_and_back(&keys, &mut data);
            [sealed, data].concat()
        }),
        Mode::bytes("GCM, many under one key", |cipher, mut data| {
            let sealed = there_and_back(&[Gcm::new(cipher)], &mut data);
            [sealed, data].concat()
        }),
    ]
}

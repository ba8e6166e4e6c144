//! GCM and CCM of anything: opened as it was sealed on any machine, whole or in parts; refused if anything is
//! altered, with nothing left of it.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use manylane::{
    Error,
    aes::{Aes128, Aes192, Aes256},
    block::{BlockCipher, Ccm, Gcm},
    cpu::Machine,
    sm4::Sm4,
};

#[derive(Arbitrary, Debug)]
struct Input {
    cipher: u8,
    key: [u8; 32],
    is_ccm: bool,
    machine: u8,
    tag_len: u8,
    iv: Vec<u8>,
    aad: Vec<u8>,
    data: Vec<u8>,
    tag: Vec<u8>,
    cut: u16,
    altered: u16,
}

fuzz_target!(|input: Input| {
    let machine = Machine::ALL[usize::from(input.machine) % Machine::ALL.len()];
    macro_rules! check {
        ($cipher:ty) => {{
            let key = input.key.first_chunk().expect("32 are enough");
            let other = <$cipher>::new_on(machine, key).unwrap_or_else(|_| <$cipher>::new(key));
            check(<$cipher>::new_on(Machine::Portable, key).unwrap(), other, &input);
        }};
    }
    match input.cipher % 4 {
        0 => check!(Aes128),
        1 => check!(Aes192),
        2 => check!(Aes256),
        _ => check!(Sm4),
    }
});

fn check<C: BlockCipher>(oracle: C, cipher: C, input: &Input) {
    let Input { iv, aad, data, tag, .. } = input;
    let len = usize::from(input.tag_len % 20);
    let cut = usize::from(input.cut) % (data.len() + 1);
    macro_rules! check {
        ($mode:ident, $parts:ident) => {{
            let (Ok(oracle), Ok(mode)) =
                ($mode::new(oracle).with_tag_len(len), $mode::new(cipher).with_tag_len(len))
            else {
                return;
            };
            // What the fuzzer says is a ciphertext.
            let mut opened = data.clone();
            if mode.decrypt_detached(iv, aad, &mut opened, tag).is_err() {
                assert!(opened.iter().all(|&byte| byte == 0));
            } else {
                let again = oracle.encrypt_detached(iv, aad, &mut opened).unwrap();
                assert!((&opened, again.as_ref()) == (data, &tag[..]));
            }
            // And a message.
            let (mut sealed, mut in_parts) = (data.clone(), data.clone());
            let Ok(tag) = oracle.encrypt_detached(iv, aad, &mut sealed) else { return };
            let tag = tag.as_ref();
            let (head, tail) = in_parts.split_at_mut(cut);
            let by_parts = $parts(&mode, iv, aad, head, tail, &sealed);
            // In parts there and back again.
            assert!((data, tag) == (&in_parts, &by_parts[..]));
            let mut altered = [&sealed[..], tag].concat();
            let bit = usize::from(input.altered) % (8 * altered.len());
            altered[bit / 8] ^= 1 << (bit % 8);
            let (bad, bad_tag) = altered.split_at_mut(sealed.len());
            assert_eq!(mode.decrypt_detached(iv, aad, bad, bad_tag), Err(Error::Decryption));
            assert!(bad.iter().all(|&byte| byte == 0));
            mode.decrypt_detached(iv, aad, &mut sealed, tag).unwrap();
            assert!(&sealed == data);
        }};
    }
    if input.is_ccm { check!(Ccm, ccm_parts) } else { check!(Gcm, gcm_parts) }
}

fn gcm_parts<C: BlockCipher>(
    gcm: &Gcm<C>,
    iv: &[u8],
    aad: &[u8],
    head: &mut [u8],
    tail: &mut [u8],
    sealed: &[u8],
) -> Vec<u8> {
    let mut encryptor = gcm.encryptor(iv, aad).unwrap();
    encryptor.update(head).unwrap();
    encryptor.update(tail).unwrap();
    let tag = encryptor.finalize().as_ref().to_vec();
    assert!([&*head, &*tail].concat() == sealed);
    let mut verifier = gcm.verifier(iv, aad).unwrap();
    verifier.update(head).unwrap();
    verifier.update(tail).unwrap();
    verifier.finalize(&tag).unwrap();
    let mut decryptor = gcm.decryptor(iv, aad).unwrap();
    decryptor.update(head).unwrap();
    decryptor.update(tail).unwrap();
    decryptor.finalize(&tag).unwrap();
    tag
}

fn ccm_parts<C: BlockCipher>(
    ccm: &Ccm<C>,
    iv: &[u8],
    aad: &[u8],
    head: &mut [u8],
    tail: &mut [u8],
    sealed: &[u8],
) -> Vec<u8> {
    let len = (head.len() + tail.len()) as u64;
    let mut encryptor = ccm.encryptor(iv, aad, len).unwrap();
    encryptor.update(head).unwrap();
    encryptor.update(tail).unwrap();
    let tag = encryptor.finalize().unwrap().as_ref().to_vec();
    assert!([&*head, &*tail].concat() == sealed);
    let mut verifier = ccm.verifier(iv, aad, len).unwrap();
    verifier.update(head).unwrap();
    verifier.update(tail).unwrap();
    verifier.finalize(&tag).unwrap();
    let mut decryptor = ccm.decryptor(iv, aad, len).unwrap();
    decryptor.update(head).unwrap();
    decryptor.update(tail).unwrap();
    decryptor.finalize(&tag).unwrap();
    tag
}

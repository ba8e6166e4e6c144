//! Many messages of GCM and CBC, under any keys on any machines: the same as each by itself on portable.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use manylane::{
    Error,
    aes::{Aes128, Aes192, Aes256},
    block::{
        Block, BlockCipher, Gcm, GcmMessage, cbc, cbc_encrypt_many, gcm_decrypt_many,
        gcm_encrypt_many,
    },
    cpu::Machine,
    sm4::Sm4,
};

#[derive(Arbitrary, Debug)]
struct Input {
    cipher: u8,
    machine: u8,
    keys: Vec<Key>,
    messages: Vec<Message>,
}

#[derive(Arbitrary, Debug)]
struct Key {
    key: [u8; 32],
    /// Not on the machine of the others.
    is_elsewhere: bool,
}

#[derive(Arbitrary, Debug)]
struct Message {
    key: u8,
    iv: Vec<u8>,
    aad: Vec<u8>,
    data: Vec<u8>,
    /// What is altered before decryption: a bit of the data or the tag, if there is such a bit.
    altered: Option<u16>,
}

fuzz_target!(|input: Input| {
    let machine = Machine::ALL[usize::from(input.machine) % Machine::ALL.len()];
    macro_rules! check {
        ($cipher:ty) => {{
            let on = |machine, key: &[u8; 32]| {
                <$cipher>::new_on(machine, key.first_chunk().expect("32 are enough"))
            };
            let portable = |key: &Key| on(Machine::Portable, &key.key).unwrap();
            let here = |key: &Key| match key.is_elsewhere {
                true => portable(key),
                false => on(machine, &key.key).unwrap_or_else(|_| portable(key)),
            };
            let keys: Vec<_> = input.keys.iter().map(|key| (portable(key), here(key))).collect();
            if !keys.is_empty() {
                cbc_messages(&keys, &input.messages);
                gcm_messages(&keys, &input.messages);
            }
        }};
    }
    match input.cipher % 4 {
        0 => check!(Aes128),
        1 => check!(Aes192),
        2 => check!(Aes256),
        _ => check!(Sm4),
    }
});

fn cbc_messages<C: BlockCipher>(keys: &[(C, C)], messages: &[Message]) {
    let key = |message: &Message| &keys[usize::from(message.key) % keys.len()];
    let iv = |message: &Message| -> Block {
        std::array::from_fn(|i| message.iv.get(i).copied().unwrap_or_default())
    };
    let whole = |message: &Message| message.data[..message.data.len() / 16 * 16].to_vec();
    let mut data: Vec<Vec<u8>> = messages.iter().map(whole).collect();
    let mut expected = data.clone();
    for (message, data) in messages.iter().zip(&mut expected) {
        cbc::Encryptor::new(key(message).0.clone(), &iv(message)).update(data).unwrap();
    }
    let starts: Vec<_> = messages.iter().map(|m| (&key(m).1, iv(m))).collect();
    let mut slices: Vec<&mut [u8]> = data.iter_mut().map(Vec::as_mut_slice).collect();
    cbc_encrypt_many(&starts, &mut slices).unwrap();
    assert!(data == expected);
}

fn gcm_messages<C: BlockCipher>(keys: &[(C, C)], messages: &[Message]) {
    let keys: Vec<_> =
        keys.iter().map(|(a, b)| (Gcm::new(a.clone()), Gcm::new(b.clone()))).collect();
    let key = |message: &Message| &keys[usize::from(message.key) % keys.len()];
    let plain = || messages.iter().map(|message| message.data.clone());
    let mut expected: Vec<Vec<u8>> = plain().collect();
    let by_itself = |(m, data): (&Message, &mut Vec<u8>)| {
        key(m).0.encrypt_detached(&m.iv, &m.aad, data).map(|tag| tag.as_ref().to_vec())
    };
    let mut tags: Vec<_> = messages.iter().zip(&mut expected).map(by_itself).collect();

    let of = |m| -> GcmMessage<'_, C> {
        let m: &Message = m;
        GcmMessage { gcm: &key(m).1, iv: &m.iv, aad: &m.aad }
    };
    let many: Vec<_> = messages.iter().map(of).collect();
    let mut data: Vec<Vec<u8>> = plain().collect();
    let mut slices: Vec<&mut [u8]> = data.iter_mut().map(Vec::as_mut_slice).collect();
    let mut out = vec![Err(Error::Random); messages.len()];
    gcm_encrypt_many(&many, &mut slices, &mut out).unwrap();
    assert!(data == expected);
    let out: Vec<_> = out.into_iter().map(|tag| tag.map(|tag| tag.as_ref().to_vec())).collect();
    assert_eq!(out, tags);

    let mut is_altered = vec![false; messages.len()];
    for (i, message) in messages.iter().enumerate() {
        let (Some(bit), Ok(tag)) = (message.altered, &mut tags[i]) else { continue };
        let place = usize::from(bit) / 8 % (data[i].len() + tag.len());
        let byte = data[i].iter_mut().chain(tag).nth(place).expect("within both");
        *byte ^= 1 << (bit % 8);
        is_altered[i] = true;
    }
    let slices_of_tags: Vec<&[u8]> =
        tags.iter().map(|tag| tag.as_deref().unwrap_or_default()).collect();
    let mut slices: Vec<&mut [u8]> = data.iter_mut().map(Vec::as_mut_slice).collect();
    let mut out = vec![Err(Error::Random); messages.len()];
    gcm_decrypt_many(&many, &mut slices, &slices_of_tags, &mut out).unwrap();
    for (i, message) in messages.iter().enumerate() {
        if tags[i].is_ok() && !is_altered[i] {
            assert_eq!((&out[i], &data[i]), (&Ok(()), &message.data));
        } else {
            assert!(out[i].is_err() && data[i].iter().all(|&byte| byte == 0));
        }
    }
}

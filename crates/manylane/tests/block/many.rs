//! Many messages side by side are the same as each by itself.

use manylane::{
    Error,
    block::{
        Block, Gcm, GcmMessage, Tag, cbc, cbc_encrypt_many, gcm_decrypt_many, gcm_encrypt_many,
    },
    cpu::Machine,
};
use manylane_vectors::painted;

use crate::ciphers::{Keyed, for_each_cipher};

/// Around the number of lanes of every machine, and more than are ordered together.
const COUNTS: [usize; 11] = [0, 1, 2, 3, 7, 8, 9, 16, 17, 33, 300];

/// Lengths that differ as much as they can: seeded by `i`.
fn len(i: usize, most: usize) -> usize {
    let x = (i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (x >> 40) as usize % (most + 1)
}

#[test]
fn cbc() {
    fn check<C: Keyed>() {
        for machine in C::machines().skip(1) {
            for count in COUNTS {
                for most in [0, 1, 20] {
                    // Some keys of another machine among them.
                    let on = |i| if i % 7 == 5 { Some(Machine::Portable) } else { machine };
                    let keys: Vec<C> =
                        (0..count).map(|i| C::with(on(i), &painted(C::KEY_LEN, i))).collect();
                    let iv = |i: usize| -> Block { painted(16, 3 * i).try_into().unwrap() };
                    let mut data: Vec<Vec<u8>> =
                        (0..count).map(|i| painted(16 * len(i, most), i)).collect();
                    let mut expected = data.clone();
                    for (i, data) in expected.iter_mut().enumerate() {
                        cbc::Encryptor::new(keys[i].clone(), &iv(i)).update(data).unwrap();
                    }
                    let starts: Vec<_> =
                        keys.iter().enumerate().map(|(i, key)| (key, iv(i))).collect();
                    let mut slices: Vec<&mut [u8]> =
                        data.iter_mut().map(Vec::as_mut_slice).collect();
                    cbc_encrypt_many(&starts, &mut slices).unwrap();
                    assert!(data == expected, "{} {machine:?} {count} {most}", C::NAME);
                }
            }
        }
    }
    for_each_cipher!(check);
}

#[test]
fn gcm() {
    fn check<C: Keyed>() {
        for machine in C::machines().skip(1) {
            // Keys of every message's own, one for all, and one for each three.
            for (count, share) in COUNTS.iter().flat_map(|&n| [(n, 1), (n, 1000), (n, 3)]) {
                for most in [0, 40, 300] {
                    one_by_one::<C>(&|_| machine, count, share, most);
                }
            }
            // A key of another machine among them, which keeps its neighbours out of the lanes: not all.
            let mixed = |i| if i % 40 == 5 { Some(Machine::Portable) } else { machine };
            for most in [40, 300] {
                one_by_one::<C>(&mixed, 300, 1, most);
            }
        }
    }
    for_each_cipher!(check);
}

/// `on` says on which machine a key is.
fn one_by_one<C: Keyed>(
    on: &dyn Fn(usize) -> Option<Machine>,
    count: usize,
    share: usize,
    most: usize,
) {
    let what = format!("{} {:?} {count} messages, {share} a key, {most} bytes", C::NAME, on(0));
    let key = |i| Gcm::new(C::with(on(i), &painted(C::KEY_LEN, i)));
    let keys: Vec<Gcm<C>> = (0..count.div_ceil(share)).map(key).collect();
    // One IV in twenty is of another length, and one is empty.
    let ivs: Vec<Vec<u8>> = (0..count)
        .map(|i| {
            painted(
                if i == 13 {
                    0
                } else if i % 20 == 9 {
                    17
                } else {
                    12
                },
                7 * i,
            )
        })
        .collect();
    let aads: Vec<Vec<u8>> = (0..count).map(|i| painted(len(i, 30), i)).collect();
    let message = |i: usize| GcmMessage { gcm: &keys[i / share], iv: &ivs[i], aad: &aads[i] };
    let messages: Vec<_> = (0..count).map(message).collect();
    let plain: Vec<Vec<u8>> = (0..count).map(|i| painted(len(i, most), i)).collect();

    let mut expected = plain.clone();
    let by_itself =
        |(i, data): (usize, &mut Vec<u8>)| message(i).gcm.encrypt_detached(&ivs[i], &aads[i], data);
    let tags: Vec<_> = expected.iter_mut().enumerate().map(by_itself).collect();
    let mut data = plain.clone();
    let mut out: Vec<_> = vec![Err(Error::Random); count];
    let mut slices: Vec<&mut [u8]> = data.iter_mut().map(Vec::as_mut_slice).collect();
    gcm_encrypt_many(&messages, &mut slices, &mut out).unwrap();
    assert!(data == expected, "{what}");
    for (tag, out) in tags.iter().zip(&out) {
        let bytes = |tag: &Result<Tag, Error>| tag.clone().map(|tag| tag.as_ref().to_vec());
        assert_eq!(bytes(tag), bytes(out), "{what}");
    }

    // Every fifth has something altered: its data, its tag, or its tag's length.
    let mut tags: Vec<Vec<u8>> =
        tags.iter().map(|tag| tag.as_ref().map_or(vec![], |tag| tag.as_ref().to_vec())).collect();
    for i in (4..count).step_by(5) {
        match (i / 5) % 3 {
            0 if !data[i].is_empty() => data[i][0] ^= 1,
            1 if !tags[i].is_empty() => tags[i].truncate(12),
            _ if !tags[i].is_empty() => tags[i][3] ^= 8,
            _ => {}
        }
    }
    let mut expected = data.clone();
    let by_itself = |(i, data): (usize, &mut Vec<u8>)| {
        message(i).gcm.decrypt_detached(&ivs[i], &aads[i], data, &tags[i])
    };
    let verdicts: Vec<_> = expected.iter_mut().enumerate().map(by_itself).collect();
    let mut out = vec![Err(Error::Random); count];
    let mut slices: Vec<&mut [u8]> = data.iter_mut().map(Vec::as_mut_slice).collect();
    let tags: Vec<&[u8]> = tags.iter().map(Vec::as_slice).collect();
    gcm_decrypt_many(&messages, &mut slices, &tags, &mut out).unwrap();
    assert!(data == expected && out == verdicts, "{what}");
    for (i, verdict) in verdicts.iter().enumerate() {
        match verdict {
            Ok(()) => assert!(data[i] == plain[i] && i % 5 != 4, "{what}, {i}"),
            Err(_) => assert!(data[i].iter().all(|&byte| byte == 0), "{what}, {i}"),
        }
    }
}

#[test]
fn counts_must_be_the_same() {
    let key = manylane::aes::Aes128::new(&[1; 16]);
    let (mut a, mut b) = ([7; 16], [7; 17]);
    let differ = Err(Error::CountMismatch { keys: 1, messages: 2 });
    assert_eq!(cbc_encrypt_many(&[(&key, [0; 16])], &mut [&mut a, &mut b]), differ);
    let keys = [(&key, [0; 16]); 2];
    let refused = cbc_encrypt_many(&keys, &mut [&mut a, &mut b]);
    assert!(matches!(refused, Err(Error::DataLength(_))));
    let gcm = Gcm::new(key.clone());
    let message = [GcmMessage { gcm: &gcm, iv: &[0; 12], aad: b"" }];
    let mut tags = [const { Err(Error::Random) }; 2];
    assert_eq!(gcm_encrypt_many(&message, &mut [&mut a, &mut b], &mut tags).err(), differ.err());
    let no_room = Err(Error::OutputLength { expected: 1, got: 2 });
    assert_eq!(gcm_encrypt_many(&message, &mut [&mut a], &mut tags), no_room);
    let mut out = [const { Err(Error::Random) }; 1];
    let differ = Err(Error::CountMismatch { keys: 1, messages: 0 });
    assert_eq!(gcm_decrypt_many(&message, &mut [&mut a], &[], &mut out), differ);
    assert_eq!((a, b), ([7; 16], [7; 17]), "nothing is done");
}

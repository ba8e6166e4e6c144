//! One long message on one thread and on two: the engine's key stream beside the hash.

use manylane_engine::Engine;

use super::{
    Bytes, Call, Contender, Cores, Group, OPENSSL_SM3, Rc, RefCell, Work, bytes_label, effort, key,
    openssl_sm3,
};

/// Lengths of the message.
const LENGTHS: [usize; 3] = [1 << 20, 16 << 20, 64 << 20];

pub(super) fn groups(quick: bool) -> impl Iterator<Item = Group> {
    let encrypt = LENGTHS.into_iter().map(move |len| group(true, len, quick));
    encrypt.chain(LENGTHS.into_iter().map(move |len| group(false, len, quick)))
}

const ONE: &str = "one thread";
const ENGINE: &str = "Engine";

fn group(encrypts: bool, len: usize, quick: bool) -> Group {
    let (what, part) = match encrypts {
        true => ("cores-encrypt", "SM2 encryption of one message on two cores"),
        false => ("cores-decrypt", "SM2 decryption of one message on two cores"),
    };
    Group {
        id: format!("sm2/{what}/{len}"),
        part,
        parameter: format!("{}, {} threads", bytes_label(len as u64), Engine::global().threads()),
        unit: "messages",
        working_set: len as u64,
        base: Some(OPENSSL_SM3),
        pairs: vec![(ENGINE.to_owned(), ONE.to_owned())],
        cores: Cores::All,
        effort: effort(len, quick),
        // Every ciphertext has a nonce of its own, and what is decrypted is checked by its hash.
        same_output: false,
        build: Box::new(move |rng| {
            let [one, engine] = if encrypts { encrypt(len, rng)? } else { decrypt(len, rng)? };
            let contender = |name: &str, call| Contender {
                name: name.to_owned(),
                kernel: None,
                peer: false,
                work: Work { bytes: len as u64, units: 1, counted_clocks: None },
                output: Vec::new(),
                call,
            };
            let ours = [contender(ENGINE, engine), contender(ONE, one)];
            Ok(ours.into_iter().chain(openssl_sm3(len, rng)).collect())
        }),
    }
}

fn encrypt(len: usize, rng: &mut fastrand::Rng) -> Result<[Call; 2], String> {
    let key = Rc::new(key(rng)?);
    let data = Rc::new(RefCell::new(Bytes::random(len, rng).get().to_vec()));
    let (again, shared) = (Rc::clone(&key), Rc::clone(&data));
    let one = Call::here(move |_| {
        key.public_key().encrypt_in_place(&mut data.borrow_mut()).expect("random bytes");
    });
    let engine = Call::here(move |_| {
        let data = &mut shared.borrow_mut()[..];
        Engine::global().encrypt_in_place(again.public_key(), data).expect("random bytes");
    });
    Ok([one, engine])
}

/// In place, so each call needs the ciphertext anew.
fn decrypt(len: usize, rng: &mut fastrand::Rng) -> Result<[Call; 2], String> {
    let key = Rc::new(key(rng)?);
    let mut c2 = Bytes::random(len, rng).get().to_vec();
    let sealed = key.public_key().encrypt_in_place(&mut c2).map_err(|why| why.to_string())?;
    let data = Rc::new(RefCell::new(c2.clone()));
    let c2: Rc<[u8]> = c2.into();
    let anew = || {
        let (c2, data) = (Rc::clone(&c2), Rc::clone(&data));
        move || data.borrow_mut().copy_from_slice(&c2)
    };
    let (again, shared) = (Rc::clone(&key), Rc::clone(&data));
    let one = Call::prepared(anew(), move |_| {
        again.decrypt_in_place(&sealed, &mut shared.borrow_mut()).expect("our own");
    });
    let shared = Rc::clone(&data);
    let engine = Call::prepared(anew(), move |_| {
        let data = &mut shared.borrow_mut()[..];
        Engine::global().decrypt_in_place(&key, &sealed, data).expect("our own");
    });
    Ok([one, engine])
}

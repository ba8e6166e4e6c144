//! Many messages on one core: their hashes side by side, or one after another.

use manylane::{
    Error,
    sm2::{self, PublicKey, Sealed},
};

use super::{
    Call, Contender, Cores, Group, OPENSSL_SM3, Rc, RefCell, SecretKey, Work, bytes_label, key,
    openssl_sm3,
};

/// Number of messages, and their lengths.
const COUNT: usize = 64;
const LENGTHS: [usize; 3] = [1 << 10, 4 << 10, 64 << 10];

const ALONE: &str = "one after another";

pub(super) fn groups() -> impl Iterator<Item = Group> {
    let encrypt = LENGTHS.into_iter().map(|len| group("encrypt-many", len));
    encrypt.chain(LENGTHS.into_iter().map(|len| group("decrypt-many", len)))
}

fn group(what: &'static str, len: usize) -> Group {
    let encrypts = what == "encrypt-many";
    let many = if encrypts { "encrypt_many" } else { "decrypt_many" };
    Group {
        id: format!("sm2/{what}/{len}"),
        part: if encrypts {
            "SM2 encryption of many messages"
        } else {
            "SM2 decryption of many messages"
        },
        parameter: format!("{COUNT} × {}", bytes_label(len as u64)),
        unit: "messages",
        working_set: (COUNT * len) as u64,
        base: Some(ALONE),
        pairs: vec![(many.to_owned(), OPENSSL_SM3.to_owned())],
        cores: Cores::One,
        effort: None,
        // Every ciphertext has a nonce of its own, and what is decrypted is checked by its hash.
        same_output: false,
        build: Box::new(move |rng| {
            let messages = Messages::new(len, rng)?;
            let (alone, together) =
                if encrypts { messages.encrypt() } else { messages.decrypt()? };
            let contender = |name: &str, call| Contender {
                name: name.to_owned(),
                kernel: None,
                peer: false,
                work: Work {
                    bytes: (COUNT * len) as u64,
                    units: COUNT as u64,
                    counted_clocks: None,
                },
                output: Vec::new(),
                call,
            };
            let ours = [contender(many, together), contender(ALONE, alone)];
            // A stream's rate depends on its length only if it is short.
            Ok(ours.into_iter().chain(openssl_sm3(64 << 10, rng)).collect())
        }),
    }
}

/// Messages that both contenders work on in place.
struct Messages {
    key: Rc<SecretKey>,
    data: Rc<RefCell<Vec<Vec<u8>>>>,
}

impl Messages {
    fn new(len: usize, rng: &mut fastrand::Rng) -> Result<Self, String> {
        let message = |_| {
            let mut message = vec![0; len];
            rng.fill(&mut message);
            message
        };
        let data: Vec<_> = (0..COUNT).map(message).collect();
        Ok(Messages { key: Rc::new(key(rng)?), data: Rc::new(RefCell::new(data)) })
    }

    /// One after another, and together.
    fn encrypt(&self) -> (Call, Call) {
        let (key, data) = (Rc::clone(&self.key), Rc::clone(&self.data));
        let alone = move |_: &mut [u8]| {
            for message in data.borrow_mut().iter_mut() {
                key.public_key().encrypt_in_place(message).expect("random bytes");
            }
        };
        let (key, data) = (Rc::clone(&self.key), Rc::clone(&self.data));
        let together = move |_: &mut [u8]| {
            let keys: [&PublicKey; COUNT] = [key.public_key(); COUNT];
            let mut out = [const { Err(Error::Decryption) }; COUNT];
            let mut data = data.borrow_mut();
            let mut messages: Vec<&mut [u8]> = data.iter_mut().map(Vec::as_mut_slice).collect();
            sm2::encrypt_many(&keys, &mut messages, &mut out).expect("counts agree");
            assert!(out.iter().all(Result::is_ok));
        };
        (Call::here(alone), Call::here(together))
    }

    /// The same; each call needs the ciphertexts anew.
    fn decrypt(&self) -> Result<(Call, Call), String> {
        let mut c2 = self.data.borrow().clone();
        let seal = |message: &mut Vec<u8>| self.key.public_key().encrypt_in_place(message);
        let sealed: Result<Vec<Sealed>, Error> = c2.iter_mut().map(seal).collect();
        let sealed: Rc<[Sealed]> = sealed.map_err(|why| why.to_string())?.into();
        let c2 = Rc::new(c2);
        let anew = || {
            let (c2, data) = (Rc::clone(&c2), Rc::clone(&self.data));
            move || {
                for (data, c2) in data.borrow_mut().iter_mut().zip(c2.iter()) {
                    data.copy_from_slice(c2);
                }
            }
        };
        let (key, data, seals) = (Rc::clone(&self.key), Rc::clone(&self.data), Rc::clone(&sealed));
        let alone = move |_: &mut [u8]| {
            for (data, sealed) in data.borrow_mut().iter_mut().zip(seals.iter()) {
                key.decrypt_in_place(sealed, data).expect("as it was encrypted");
            }
        };
        let (key, data) = (Rc::clone(&self.key), Rc::clone(&self.data));
        let together = move |_: &mut [u8]| {
            let keys: [&SecretKey; COUNT] = [&key; COUNT];
            let mut out = [const { Err(Error::Decryption) }; COUNT];
            let mut data = data.borrow_mut();
            let mut parts: Vec<&mut [u8]> = data.iter_mut().map(Vec::as_mut_slice).collect();
            sm2::decrypt_many(&keys, &sealed, &mut parts, &mut out).expect("counts agree");
            assert!(out.iter().all(Result::is_ok));
        };
        Ok((Call::prepared(anew(), alone), Call::prepared(anew(), together)))
    }
}

//! Encryption and decryption of one message on one core, by its length and machine, beside SM4: the paper's
//! Tables 3 and 4 and its Figures 5 to 7.

use manylane::sm2::{Decryptor, Encryptor, Sealed, comparators};

use super::{
    Bytes, Call, CiphertextForm, Contender, Cores, Group, Machine, OPENSSL, OPENSSL_SM3, OURS,
    OpenSslSm2, Operation, Rc, RefCell, SecretKey, Work, bundle_machine, bytes_label, effort, key,
    lane_machines, openssl_sm3, sm4,
};

/// The paper's lengths.
pub(super) const LENGTHS: [usize; 6] = [64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20];

/// The longest that OpenSSL encrypts and decrypts here: its samples of longer ones would take over a
/// second, of which hardly any is undisturbed.
const LONGEST_OF_OPENSSL: usize = 16 << 20;

/// Bytes that ASN.1 adds to a long message at most.
const ROOM: usize = 150;

pub(super) fn groups(quick: bool) -> Vec<Group> {
    let encrypt = LENGTHS.map(|len| group("encrypt", len, quick));
    let decrypt = LENGTHS.map(|len| group("decrypt", len, quick));
    let streams = [LENGTHS[0], LENGTHS[2], LENGTHS[4]].map(|len| group("key-stream", len, quick));
    encrypt.into_iter().chain(decrypt).chain(streams).collect()
}

/// Name of the paper's method on that machine.
pub(super) fn bundles(machine: Machine) -> String {
    format!("ParaSM2's bundles, {machine}")
}

fn group(what: &'static str, len: usize, quick: bool) -> Group {
    let pair = |other: String| (OURS.to_owned(), other);
    let (part, mut pairs) = match what {
        "encrypt" => {
            let bundles = bundle_machine().map(|machine| pair(bundles(machine)));
            ("SM2 encryption of one message", Vec::from_iter(bundles))
        }
        "decrypt" => ("SM2 decryption of one message", Vec::new()),
        _ => ("SM2's key stream alone", Vec::new()),
    };
    if what != "key-stream" {
        pairs.extend([sm4::GCM, sm4::CBC].map(|sm4| pair(sm4.to_owned())));
        if len <= LONGEST_OF_OPENSSL {
            pairs.push(pair(OPENSSL.to_owned()));
        }
    }
    Group {
        id: format!("sm2/{what}/{len}"),
        part,
        parameter: bytes_label(len as u64),
        unit: "messages",
        working_set: len as u64,
        base: Some(OPENSSL_SM3),
        pairs,
        cores: Cores::One,
        effort: effort(len, quick),
        // Every ciphertext has a nonce of its own.
        same_output: false,
        build: Box::new(move |rng| {
            let bench = Bench::new(len, rng)?;
            let mut contenders = match what {
                "encrypt" => bench.encrypt()?,
                "decrypt" => bench.decrypt()?,
                _ => bench.key_stream(),
            };
            contenders.extend(openssl_sm3(len, rng));
            if what != "key-stream" {
                let longest = LONGEST_OF_OPENSSL;
                contenders.extend(sm4::contenders(what == "encrypt", len, longest, rng));
            }
            Ok(contenders)
        }),
    }
}

/// A key, and a message that contenders share: each changes it in place.
struct Bench {
    key: Rc<SecretKey>,
    len: usize,
    message: Bytes,
}

type Shared = Rc<RefCell<Vec<u8>>>;

impl Bench {
    fn new(len: usize, rng: &mut fastrand::Rng) -> Result<Self, String> {
        Ok(Bench { key: Rc::new(key(rng)?), len, message: Bytes::random(len, rng) })
    }

    fn contender(&self, name: &str, call: Call) -> Contender {
        Contender {
            name: name.to_owned(),
            kernel: None,
            peer: name == OPENSSL,
            work: Work { bytes: self.len as u64, units: 1, counted_clocks: None },
            output: Vec::new(),
            call,
        }
    }

    fn encrypt(&self) -> Result<Vec<Contender>, String> {
        let data: Shared = Rc::new(RefCell::new(self.message.get().to_vec()));
        let (key, shared) = (Rc::clone(&self.key), Rc::clone(&data));
        let ours = Call::here(move |_| {
            key.public_key().encrypt_in_place(&mut shared.borrow_mut()).expect("random bytes");
        });
        let mut contenders = vec![self.contender(OURS, ours)];
        for machine in lane_machines() {
            let (key, shared) = (Rc::clone(&self.key), Rc::clone(&data));
            let call = Call::here(move |_| {
                let data = &mut shared.borrow_mut()[..];
                encrypt_on(machine, &key, data);
            });
            contenders.push(self.contender(machine.name(), call));
        }
        if let Some(machine) = bundle_machine() {
            let shared = Rc::clone(&data);
            let call = Call::here(move |_| {
                let data = &mut shared.borrow_mut()[..];
                comparators::encrypt_in_bundles(machine, &POINT, data).expect("it has lanes");
            });
            contenders.push(self.contender(&bundles(machine), call));
        }
        if let Some(openssl) = self.openssl() {
            let mut context = openssl.context(Operation::Encrypt, &self.key);
            let message = data.borrow().clone();
            let mut out = vec![0; self.len + ROOM];
            let call = Call::here(move |_| {
                context.encrypt(&message, &mut out);
            });
            contenders.push(self.contender(OPENSSL, call));
        }
        Ok(contenders)
    }

    /// In place, so each call needs the ciphertext anew.
    fn decrypt(&self) -> Result<Vec<Contender>, String> {
        let mut c2 = self.message.get().to_vec();
        let sealed = self.key.public_key().encrypt_in_place(&mut c2);
        let sealed = sealed.map_err(|why| why.to_string())?;
        let data: Shared = Rc::new(RefCell::new(c2.clone()));
        let c2: Rc<[u8]> = c2.into();
        let anew = || {
            let (c2, data) = (Rc::clone(&c2), Rc::clone(&data));
            move || data.borrow_mut().copy_from_slice(&c2)
        };
        let (key, shared) = (Rc::clone(&self.key), Rc::clone(&data));
        let ours = Call::prepared(anew(), move |_| {
            key.decrypt_in_place(&sealed, &mut shared.borrow_mut()).expect("our own");
        });
        let mut contenders = vec![self.contender(OURS, ours)];
        for machine in lane_machines() {
            let (key, shared) = (Rc::clone(&self.key), Rc::clone(&data));
            let call = Call::prepared(anew(), move |_| {
                decrypt_on(machine, &key, &sealed, &mut shared.borrow_mut());
            });
            contenders.push(self.contender(machine.name(), call));
        }
        if let Some(openssl) = self.openssl() {
            let mut context = openssl.context(Operation::Decrypt, &self.key);
            let c = self.key.public_key().encrypt(CiphertextForm::Asn1, self.message.get());
            let c = c.map_err(|why| why.to_string())?;
            let mut out = vec![0; self.len];
            let call = Call::here(move |_| {
                context.decrypt(&c, &mut out);
            });
            contenders.push(self.contender(OPENSSL, call));
        }
        Ok(contenders)
    }

    fn key_stream(&self) -> Vec<Contender> {
        let data: Shared = Rc::new(RefCell::new(self.message.get().to_vec()));
        let on = |machine: Machine| {
            let shared = Rc::clone(&data);
            let call = Call::here(move |_| {
                let data = &mut shared.borrow_mut()[..];
                comparators::key_stream(machine, &POINT, data).expect("it has lanes");
            });
            self.contender(machine.name(), call)
        };
        lane_machines().map(on).collect()
    }

    fn openssl(&self) -> Option<&'static OpenSslSm2> {
        OpenSslSm2::get().ok().filter(|_| self.len <= LONGEST_OF_OPENSSL)
    }
}

/// A shared point for what begins with one: what is in it does not matter to the time.
const POINT: [u8; 64] = [0x5a; 64];

pub(super) fn encrypt_on(machine: Machine, key: &SecretKey, data: &mut [u8]) -> Sealed {
    let mut encryptor =
        Encryptor::new_on(machine, key.public_key(), data).expect("random bytes, and lanes");
    encryptor.update(data).expect("short enough");
    Sealed { c1: *encryptor.c1(), c3: encryptor.finalize().expect("not empty") }
}

pub(super) fn decrypt_on(machine: Machine, key: &SecretKey, sealed: &Sealed, data: &mut [u8]) {
    let mut decryptor = Decryptor::new_on(machine, key, &sealed.c1).expect("a point, and lanes");
    decryptor.update(data).expect("short enough");
    decryptor.finalize(&sealed.c3).expect("as it was encrypted");
}

//! Calls everything that takes a secret, with the secret marked undefined, under valgrind.
//!
//! `MANYLANE_MACHINE` names the machine; `ctgrind machines` lists all, and whether this
//! processor has them.

mod blocks;
mod sha3;

use std::{
    hint::black_box,
    process::ExitCode,
    sync::atomic::{AtomicU32, Ordering},
};

use hmac::{KeyInit as _, Mac as _};
use manylane::{
    Error, Messages,
    aes::{Aes128, Aes192, Aes256},
    cpu::{self, Machine},
    sm2::{
        self, DEFAULT_ID, Decryptor, Encryptor, Exchange, PublicKey, Sealed, SecretKey, Signature,
        Signer,
    },
    sm3::{self, Digest, HkdfSm3, HmacSm3, Lanes, Midstate, Sm3},
    sm4::Sm4,
};
use manylane_ct::{
    bytes, leaks,
    valgrind::{self, mark_public, mark_secret},
};

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some("machines") => {
            for machine in Machine::ALL {
                let place = match (machine.is_detected(), machine.is_native()) {
                    (true, _) => "here",
                    (false, true) => "lacking",
                    (false, false) => "foreign",
                };
                println!("{machine} {place}");
            }
            ExitCode::SUCCESS
        }
        Some(other) => {
            eprintln!("error: nothing is called {other}; machines, or no argument");
            ExitCode::from(2)
        }
        None => check_all(),
    }
}

fn check_all() -> ExitCode {
    if !valgrind::is_running() {
        eprintln!("error: no valgrind runs this program: use cargo xtask ct");
        return ExitCode::from(2);
    }
    let machine = match cpu::forced() {
        Ok(Some(machine)) => machine,
        Ok(None) => {
            eprintln!("error: {} names no machine", cpu::FORCE);
            return ExitCode::from(2);
        }
        Err(name) => {
            eprintln!("error: valgrind's processor has no {name}");
            return ExitCode::from(2);
        }
    };
    let mut checks = Checks::default();
    checks.leaks();
    checks.many(machine);
    checks.stream(machine);
    checks.sha3_many(machine);
    checks.sha3_stream(machine);
    checks.sm2(machine);
    checks.sm2_encryption(machine);
    checks.blocks::<Aes128, 16>(machine, "AES-128", |key| Aes128::new_on(machine, key));
    checks.blocks::<Aes192, 24>(machine, "AES-192", |key| Aes192::new_on(machine, key));
    checks.blocks::<Aes256, 32>(machine, "AES-256", |key| Aes256::new_on(machine, key));
    checks.blocks::<Sm4, 16>(machine, "SM4", |key| Sm4::new_on(machine, key));
    println!("{} passed, {} failed", checks.passed, checks.failed);
    if checks.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Messages of a batch; odd, and more than any machine has lanes.
const COUNT: usize = 37;

#[derive(Default)]
struct Checks {
    passed: u32,
    failed: u32,
}

impl Checks {
    fn verdict(&mut self, name: &str, good: bool, why: &str) {
        if good {
            self.passed += 1;
            println!("ok      {name}");
        } else {
            self.failed += 1;
            println!("FAILED  {name}: {why}");
        }
    }

    /// Runs `work` on a secret: valgrind must not report anything, and the result must be that
    /// of the same work on the same bytes when they are no secret.
    fn constant_time<T: Copy + PartialEq>(
        &mut self,
        name: &str,
        secret: &[u8],
        work: impl Fn(&[u8]) -> Vec<T>,
    ) {
        let expected = work(secret);
        let mut marked = secret.to_vec();
        mark_secret(&mut marked);
        let before = valgrind::errors();
        let mut result = work(&marked);
        let errors = valgrind::errors() - before;
        mark_public(&mut result);
        self.verdict(name, errors == 0, &format!("{errors} branches or addresses by a secret"));
        self.verdict(&format!("{name}: result"), result == expected, "differs");
    }

    /// Every planted leak must be reported.
    fn leaks(&mut self) {
        type Leak = (&'static str, fn(&[u8]) -> u32);
        let leaks: [Leak; 3] = [
            ("planted branch", leaks::branch),
            ("planted index", leaks::index),
            #[cfg(target_arch = "x86_64")]
            ("planted gather", |secret| {
                let secret = secret.try_into().expect("32 bytes");
                leaks::gather(secret).iter().map(|&byte| u32::from(byte)).sum()
            }),
        ];
        // Valgrind cannot see this one; it is here for the check of the object code to see.
        black_box(leaks::division(black_box(&[1])));
        for (name, leak) in leaks {
            let mut secret = bytes(1, 32);
            mark_secret(&mut secret);
            let before = valgrind::errors();
            static SINK: AtomicU32 = AtomicU32::new(0);
            SINK.store(black_box(leak(&secret)), Ordering::Relaxed);
            self.verdict(name, valgrind::errors() > before, "not reported, so nothing would be");
        }
    }

    /// Many messages in the lanes of the machine, if it has lanes.
    fn many(&mut self, machine: Machine) {
        if Lanes::new_on(machine).is_err() {
            println!("        {machine} has no kernel for lanes");
            return;
        }
        let messages = bytes(2, 4096);
        for (key_len, message_len) in [(32, 0), (32, 64), (16, 200), (64, 55), (100, 120)] {
            let name = format!("{machine}: hmac_many, keys of {key_len}, messages {message_len}");
            let secret = bytes(3, COUNT * (key_len + message_len));
            self.constant_time(&name, &secret, |secret| {
                let (keys, messages) = secret.split_at(COUNT * key_len);
                let keys = Messages::strided(keys, key_len, key_len, COUNT).expect("fits");
                let messages =
                    Messages::strided(messages, message_len, message_len, COUNT).expect("fits");
                let mut out = vec![[0; 32]; COUNT];
                let ran = sm3::hmac_many_on(machine, &keys, &messages, &mut out).expect("runs");
                assert_eq!(ran.map(sm3::Kernel::machine), Some(machine), "another kernel ran");
                out
            });
        }
        let name = format!("{machine}: hmac_many, messages of all lengths");
        self.constant_time(&name, &bytes(4, COUNT * 32), |keys| {
            let keys = Messages::strided(keys, 32, 32, COUNT).expect("fits");
            let slices: Vec<&[u8]> = (0..COUNT).map(|i| &messages[i..i + 9 * i]).collect();
            let mut out = vec![[0; 32]; COUNT];
            let messages = Messages::slices(&slices);
            let ran = sm3::hmac_many_on(machine, &keys, &messages, &mut out).expect("runs");
            assert_eq!(ran.map(sm3::Kernel::machine), Some(machine), "another kernel ran");
            out
        });
        let name = format!("{machine}: hash_many after a secret prefix");
        self.constant_time(&name, &bytes(5, 80), |prefix| {
            let messages = Messages::strided(&messages, 100, 100, COUNT).expect("fits");
            let mut out = vec![[0; 32]; COUNT];
            let start = Midstate::after(prefix);
            let ran = sm3::hash_many_on(machine, &start, &messages, &mut out).expect("runs");
            assert_eq!(ran.map(sm3::Kernel::machine), Some(machine), "another kernel ran");
            out
        });
        let name = format!("{machine}: hmac_many, the kernel chosen");
        self.constant_time(&name, &bytes(6, COUNT * 32), |keys| {
            let keys = Messages::strided(keys, 32, 32, COUNT).expect("fits");
            let messages = Messages::strided(&messages, 100, 100, COUNT).expect("fits");
            let mut out = vec![[0; 32]; COUNT];
            sm3::hmac_many(&keys, &messages, &mut out).expect("counts agree");
            out
        });
    }

    /// One stream, on the machine that `MANYLANE_MACHINE` leaves: the machine itself if it has a
    /// kernel for one, else the best below it.
    fn stream(&mut self, machine: Machine) {
        let below = |m: &Machine| *m <= machine && Sm3::new_on(*m).is_ok();
        let stream = Machine::ALL.into_iter().rev().find(below).expect("portable has one");
        for len in [0, 1, 55, 64, 1000] {
            let name = format!("{machine}: stream on {stream}, secret message of {len}");
            self.constant_time(&name, &bytes(7, len), |message| {
                let mut sm3 = Sm3::new_on(stream).expect("found above");
                sm3.update(message);
                sm3.finalize().to_vec()
            });
        }
        for (key_len, message_len) in [(16, 0), (32, 100), (64, 64), (100, 1000)] {
            let name = format!("{machine}: HmacSm3, key of {key_len}, message of {message_len}");
            self.constant_time(&name, &bytes(8, key_len + message_len), |secret| {
                let (key, message) = secret.split_at(key_len);
                let mut hmac = HmacSm3::new_from_slice(key).expect("any length");
                hmac.update(message);
                hmac.finalize().into_bytes().to_vec()
            });
        }
        let name = format!("{machine}: Midstate");
        self.constant_time(&name, &bytes(9, 150), |secret| {
            let (prefix, message) = secret.split_at(50);
            Midstate::after(prefix).then(&message[..10]).finish(&message[10..]).to_vec()
        });
        let name = format!("{machine}: PBKDF2");
        self.constant_time(&name, &bytes(10, 20), |password| {
            let mut key = vec![0; 40];
            sm3::pbkdf2(password, b"salt", 20, &mut key);
            key
        });
        let name = format!("{machine}: HKDF");
        self.constant_time(&name, &bytes(11, 32), |secret| {
            let mut key = vec![0; 70];
            HkdfSm3::new(Some(b"salt"), secret).expand(b"info", &mut key).expect("short enough");
            key
        });
    }

    /// SM2 with a secret key, on the arithmetic that `MANYLANE_MACHINE` leaves.
    fn sm2(&mut self, machine: Machine) {
        let peer = key(&bytes(12, 32));
        self.constant_time(&format!("{machine}: SM2 key"), &bytes(13, 32), |d| {
            key(d).public_key().to_sec1_bytes().to_vec()
        });
        let name = format!("{machine}: SM2 Diffie-Hellman");
        self.constant_time(&name, &bytes(14, 32), |d| {
            key(d).diffie_hellman(peer.public_key()).to_vec()
        });
        // What follows differs from run to run, as nonces do; that it is right does not.
        let name = format!("{machine}: SM2 signature");
        self.constant_time(&name, &bytes(15, 32), |d| {
            let key = key(d);
            let mut signature = key.sign(DEFAULT_ID, b"message").expect("random bytes").to_bytes();
            mark_public(&mut signature);
            let signature = Signature::from_bytes(&signature).expect("in range");
            vec![published(&key).verify(DEFAULT_ID, b"message", &signature).is_ok()]
        });
        let name = format!("{machine}: SM2 signatures of many");
        self.constant_time(&name, &bytes(22, 32), |d| {
            let key = key(d);
            let signer = Signer::new(&key, DEFAULT_ID).expect("short enough");
            let messages = [&b"message"[..]; 5];
            let messages = Messages::slices(&messages);
            let mut out = vec![Err(Error::Signature); 5];
            sm2::sign_many(&[&signer; 5], &messages, &mut out).expect("counts agree");
            let public = published(&key);
            out.into_iter()
                .map(|signature| {
                    let mut signature = signature.expect("random bytes").to_bytes();
                    mark_public(&mut signature);
                    let signature = Signature::from_bytes(&signature).expect("in range");
                    public.verify(DEFAULT_ID, b"message", &signature).is_ok()
                })
                .collect()
        });
        let name = format!("{machine}: SM2 Diffie-Hellman of many");
        self.constant_time(&name, &bytes(23, 32), |d| {
            let key = key(d);
            let mut shared = [[0; 32]; 5];
            let peers = [peer.public_key(); 5];
            sm2::diffie_hellman_many(&[&key; 5], &peers, &mut shared).expect("counts agree");
            shared.as_flattened().to_vec()
        });
        let name = format!("{machine}: SM2 key exchange");
        self.constant_time(&name, &bytes(16, 32), |d| {
            let own = key(d);
            let (own_public, peer_public) = (published(&own), peer.public_key());
            let a = Exchange::initiate(&own, b"a", peer_public, b"b").expect("random bytes");
            let b = Exchange::respond(&peer, b"b", &own_public, b"a").expect("random bytes");
            let (r_a, r_b) = (public(a.ephemeral()), *b.ephemeral());
            let mut keys = [[0; 40]; 2];
            let confirms_a = a.agree(&r_b, &mut keys[0]).expect("honest");
            let confirms_b = b.agree(&r_a, &mut keys[1]).expect("honest");
            let confirmed = confirms_a.check(confirms_b.to_send()).is_ok();
            mark_public(&mut keys);
            vec![confirmed, keys[0] == keys[1]]
        });
    }

    /// Encryption of secret messages and decryption with secret keys, on the machine's lanes and what
    /// `MANYLANE_MACHINE` leaves for the stream.
    fn sm2_encryption(&mut self, machine: Machine) {
        if Lanes::new_on(machine).is_err() {
            println!("        {machine} has no kernel for lanes");
            return;
        }
        let peer = key(&bytes(17, 32));
        for len in [1, 100, 6000] {
            let name = format!("{machine}: SM2 encryption of {len} bytes");
            self.constant_time(&name, &bytes(18, len), |message| {
                let mut data = message.to_vec();
                let mut encryptor =
                    Encryptor::new_on(machine, peer.public_key(), message).expect("random bytes");
                encryptor.update(&mut data).expect("short enough");
                let mut c1 = *encryptor.c1();
                let mut c3 = encryptor.finalize().expect("not empty");
                mark_public(&mut c1);
                mark_public(&mut c3);
                mark_public(&mut data);
                peer.decrypt_in_place(&Sealed { c1, c3 }, &mut data).expect("as it was encrypted");
                data
            });
            let name = format!("{machine}: SM2 decryption of {len} bytes");
            self.constant_time(&name, &bytes(19, 32), |d| {
                let key = key(d);
                let mut data = bytes(20, len);
                let sealed = published(&key).encrypt_in_place(&mut data).expect("random bytes");
                let mut decryptor = Decryptor::new_on(machine, &key, &sealed.c1).expect("a point");
                decryptor.update(&mut data).expect("short enough");
                decryptor.finalize(&sealed.c3).expect("as it was encrypted");
                data
            });
        }
        let name = format!("{machine}: SM2 encryption and decryption of many");
        self.constant_time(&name, &bytes(21, 32 + 5 * 300), |secret| {
            let (d, messages) = secret.split_at(32);
            let key = key(d);
            let public = published(&key);
            let mut data = messages.to_vec();
            let mut parts: Vec<&mut [u8]> = data.chunks_mut(300).collect();
            let mut sealed = vec![Err(Error::Decryption); 5];
            sm2::encrypt_many(&[&public; 5], &mut parts, &mut sealed).expect("counts agree");
            let sealed: Vec<Sealed> = sealed
                .into_iter()
                .map(|sealed| {
                    let mut sealed = sealed.expect("random bytes");
                    mark_public(&mut sealed.c1);
                    mark_public(&mut sealed.c3);
                    sealed
                })
                .collect();
            let mut out = vec![Err(Error::Decryption); 5];
            sm2::decrypt_many(&[&key; 5], &sealed, &mut parts, &mut out).expect("counts agree");
            assert!(out.iter().all(Result::is_ok), "as it was encrypted");
            data
        });
    }
}

fn key(d: &[u8]) -> SecretKey {
    SecretKey::from_bytes(d.try_into().expect("32 bytes")).expect("in range")
}

/// The public key of a key that is secret, after it went to the outside.
fn published(key: &SecretKey) -> PublicKey {
    public(key.public_key())
}

fn public(point: &PublicKey) -> PublicKey {
    let mut bytes = point.to_sec1_bytes();
    mark_public(&mut bytes);
    PublicKey::from_sec1_bytes(&bytes).expect("a point")
}

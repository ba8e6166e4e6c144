//! HMAC-SM3, each message under its own key, and PBKDF2.

use manylane::{Messages, sm3::HmacSm3};

use super::{
    Call, Contender, Cores, Gcrypt, Group, LIBGCRYPT, OPENSSL, OpenSsl, Rc, Rows, Work,
    bytes_label, lane_machines, sm3,
};

/// Lengths of messages, their number, and the length of the keys.
const LENGTHS: [usize; 3] = [64, 256, 1 << 10];
const COUNT: usize = 512;
const KEY_LEN: usize = 32;

/// Iterations of PBKDF2 in a call.
const ITERATIONS: u32 = 500;

pub(super) fn groups() -> impl Iterator<Item = Group> {
    LENGTHS.into_iter().map(mac).chain([pbkdf2()])
}

/// Keys and messages in pairs.
struct Pairs {
    keys: Rows,
    messages: Rows,
}

fn mac(len: usize) -> Group {
    Group {
        id: format!("sm3/hmac/{len}"),
        part: "HMAC, each message under its own key",
        parameter: format!("{COUNT} × {}", bytes_label(len as u64)),
        unit: "messages",
        working_set: (COUNT * (KEY_LEN + len + sm3::DIGEST_LEN)) as u64,
        base: Some(OPENSSL),
        pairs: Vec::new(),
        cores: Cores::One,
        effort: None,
        same_output: true,
        build: Box::new(move |rng| {
            let keys = Rows::equal(KEY_LEN, COUNT, rng);
            let pairs = Rc::new(Pairs { keys, messages: Rows::equal(len, COUNT, rng) });
            let mut contenders = Vec::new();
            for machine in lane_machines() {
                let name = format!("hmac_many, {machine}");
                contenders.push(contender(&name, &pairs, move |keys, messages, out| {
                    sm3::hmac_many_on(machine, &keys, &messages, out).expect("a pair a digest");
                }));
            }
            contenders.push(contender("HmacSm3", &pairs, |keys, messages, out| {
                use ::hmac::{KeyInit as _, Mac as _};
                for (i, out) in out.iter_mut().enumerate() {
                    let mut mac = HmacSm3::new_from_slice(keys.get(i)).expect("any length does");
                    mac.update(messages.get(i));
                    *out = mac.finalize().into_bytes().into();
                }
            }));
            if let Ok(openssl) = OpenSsl::get() {
                let mut context = openssl.hmac();
                contenders.push(contender(OPENSSL, &pairs, move |keys, messages, out| {
                    for (i, out) in out.iter_mut().enumerate() {
                        context.mac(keys.get(i), messages.get(i), out);
                    }
                }));
            }
            Ok(contenders)
        }),
    }
}

fn contender(
    name: &str,
    pairs: &Rc<Pairs>,
    mut mac: impl FnMut(Messages, Messages, &mut [[u8; sm3::DIGEST_LEN]]) + 'static,
) -> Contender {
    let pairs = Rc::clone(pairs);
    let work =
        Work { bytes: pairs.messages.total_bytes(), units: COUNT as u64, counted_clocks: None };
    Contender {
        name: name.to_owned(),
        kernel: None,
        peer: name == OPENSSL,
        work,
        output: vec![0; COUNT * sm3::DIGEST_LEN],
        call: Call::here(move |out| {
            mac(pairs.keys.messages(), pairs.messages.messages(), out.as_chunks_mut().0);
        }),
    }
}

/// One key of 32 bytes derived from a password.
fn pbkdf2() -> Group {
    Group {
        id: format!("sm3/pbkdf2/{ITERATIONS}"),
        part: "PBKDF2 of one password",
        parameter: format!("{ITERATIONS} iterations"),
        unit: "iterations",
        working_set: 1024,
        base: Some(OPENSSL),
        pairs: Vec::new(),
        cores: Cores::One,
        effort: None,
        same_output: true,
        build: Box::new(|_| {
            let work = Work { bytes: 0, units: u64::from(ITERATIONS), counted_clocks: None };
            type Derive = fn(&[u8], &[u8], u32, &mut [u8]);
            let contender = |name: &str, derive: Derive| Contender {
                name: name.to_owned(),
                kernel: None,
                peer: matches!(name, OPENSSL | LIBGCRYPT),
                work,
                output: vec![0; sm3::DIGEST_LEN],
                call: Call::here(move |out| {
                    derive(b"password", b"salt of 16 bytes", ITERATIONS, out)
                }),
            };
            let mut contenders = vec![contender("sm3::pbkdf2", sm3::pbkdf2)];
            if OpenSsl::get().is_ok() {
                contenders.push(contender(OPENSSL, |password, salt, iterations, key| {
                    let openssl = OpenSsl::get().expect("it was there");
                    openssl.pbkdf2(password, salt, iterations, key);
                }));
            }
            if Gcrypt::get().is_ok() {
                contenders.push(contender(LIBGCRYPT, |password, salt, iterations, key| {
                    let gcrypt = Gcrypt::get().expect("it was there");
                    gcrypt.pbkdf2(password, salt, iterations, key);
                }));
            }
            Ok(contenders)
        }),
    }
}

//! Suites `aes` and `sm4`: every machine's kernels in every mode, and what other libraries do with the same
//! messages.

use std::{cell::RefCell, rc::Rc, time::Duration};

use manylane::{
    aes::{Aes128, Aes192, Aes256},
    block::{BlockCipher, TweakOrder},
    cpu::Machine,
    sm4::Sm4,
};

use super::{
    AES, SM4, counts,
    data::{Bytes, bytes_label},
    measure::{Call, Contender, Cores, Effort, Group, Plan, Work},
    peers::{
        GCRYPT_WITHOUT_GFNI, OPENSSL_WITHOUT_AES,
        cipher::{Cipher, GcryptCiphers, Mode, OpenSslCiphers, Tag},
    },
    setup,
};

mod cores;
mod many;
mod message;
mod slides;

pub(super) use self::{message::ours_alone, slides::table as beside_the_slides};

/// Name of OpenSSL as a contender.
const OPENSSL: &str = "OpenSSL";
const LIBGCRYPT: &str = "libgcrypt";

/// Name of what users call.
const OURS: &str = "manylane";

/// Lengths of a message, where its length is the question.
const LENGTHS: [usize; 6] = [64, 256, 1 << 10, 8 << 10, 16 << 10, 1 << 20];

/// Length of a message, where the mode is: a large record of TLS, and in the first cache.
const LENGTH: usize = 8 << 10;

/// Key lengths of AES.
const AES_KEYS: [Cipher; 3] = [Cipher::Aes128, Cipher::Aes192, Cipher::Aes256];

/// What suite `aes` measures, in the order of the report.
pub(super) fn aes(quick: bool) -> Plan {
    let mut groups = Vec::new();
    groups.extend(message::by_length(&AES_KEYS, Mode::Ctr, quick));
    groups.extend(message::by_length(&[Cipher::Aes128, Cipher::Aes256], Mode::GcmEncrypt, quick));
    let at_8_kib = |mode| (Cipher::Aes128, mode);
    groups.extend(message::by_mode(
        quick,
        &[
            at_8_kib(Mode::GcmDecrypt),
            (Cipher::Aes256, Mode::GcmDecrypt),
            at_8_kib(Mode::Ecb),
            at_8_kib(Mode::CbcDecrypt),
            at_8_kib(Mode::CbcEncrypt),
            at_8_kib(Mode::Xts(TweakOrder::Ieee)),
            (Cipher::Aes256, Mode::Xts(TweakOrder::Ieee)),
            at_8_kib(Mode::Ccm),
            at_8_kib(Mode::CfbDecrypt),
            at_8_kib(Mode::Ofb),
        ],
    ));
    groups.extend(many::groups(Cipher::Aes128, quick));
    groups.extend(AES_KEYS.map(|cipher| cores::group(cipher, quick)));
    Plan { groups, latencies: Vec::new() }
}

/// What suite `sm4` measures.
pub(super) fn sm4(quick: bool) -> Plan {
    let mut groups = Vec::new();
    groups.extend(message::by_length(&[Cipher::Sm4], Mode::Ctr, quick));
    groups.extend(message::by_length(&[Cipher::Sm4], Mode::GcmEncrypt, quick));
    let modes = [
        Mode::GcmDecrypt,
        Mode::Ecb,
        Mode::CbcDecrypt,
        Mode::CbcEncrypt,
        Mode::Xts(TweakOrder::Gb),
        Mode::Xts(TweakOrder::Ieee),
        Mode::Ccm,
        Mode::CfbDecrypt,
        Mode::Ofb,
    ];
    groups.extend(message::by_mode(quick, &modes.map(|mode| (Cipher::Sm4, mode))));
    groups.extend(many::groups(Cipher::Sm4, quick));
    groups.push(cores::group(Cipher::Sm4, quick));
    Plan { groups, latencies: Vec::new() }
}

/// There are so many groups that each is measured less often than in other suites.
fn effort(quick: bool) -> Option<Effort> {
    let sample = Duration::from_millis(1);
    (!quick).then_some(Effort { visits: 16, samples: 8, sample })
}

/// Suite of a cipher.
fn suite(cipher: Cipher) -> &'static str {
    if cipher == Cipher::Sm4 { SM4 } else { AES }
}

/// `aes/ctr-128/8192`, `sm4/ctr/8192`.
fn id(cipher: Cipher, work: &str, parameter: usize) -> String {
    let bits = match cipher {
        Cipher::Aes128 => "-128",
        Cipher::Aes192 => "-192",
        Cipher::Aes256 => "-256",
        Cipher::Sm4 => "",
    };
    format!("{}/{work}{bits}/{parameter}", suite(cipher))
}

/// What the others are set in relation to: OpenSSL where it has the mode, else libgcrypt.
fn base(cipher: Cipher, mode: Mode) -> &'static str {
    let has = |openssl: &OpenSslCiphers| openssl.has(cipher, mode);
    if OpenSslCiphers::get().is_ok_and(has) { OPENSSL } else { LIBGCRYPT }
}

/// Ours in relation to those that are not the base; and without GFNI, both sides.
fn pairs(cipher: Cipher, mode: Mode) -> Vec<(String, String)> {
    let gcrypt = GcryptCiphers::get().is_ok() && mode != Mode::Xts(TweakOrder::Gb);
    let pair = |ours: &str, theirs: &str| (ours.to_owned(), theirs.to_owned());
    let mut pairs = Vec::new();
    if gcrypt && base(cipher, mode) != LIBGCRYPT {
        pairs.push(pair(OURS, LIBGCRYPT));
    }
    if gcrypt && cipher == Cipher::Sm4 {
        let theirs =
            if GcryptCiphers::without_gfni().is_ok() { GCRYPT_WITHOUT_GFNI } else { LIBGCRYPT };
        let best = machines_of(cipher).rfind(|&machine| machine != Machine::Gfni);
        pairs.extend(best.map(|machine| pair(machine.name(), theirs)));
    }
    if mode == Mode::Ctr && cipher != Cipher::Sm4 && OpenSslCiphers::without_aes().is_ok() {
        pairs.push(pair(Machine::Portable.name(), OPENSSL_WITHOUT_AES));
    }
    pairs
}

/// A cipher of ours that a key and a machine make.
trait Keyed: BlockCipher + 'static {
    /// With the key, on that machine or on the best one; none if it cannot run here.
    fn keyed(machine: Option<Machine>, key: &[u8]) -> Option<Self>;
}

macro_rules! keyed {
    ($($cipher:ident),+) => {$(
        impl Keyed for $cipher {
            fn keyed(machine: Option<Machine>, key: &[u8]) -> Option<Self> {
                let key = key.try_into().expect("as long as a key");
                match machine {
                    Some(machine) => $cipher::new_on(machine, key).ok(),
                    None => Some($cipher::new(key)),
                }
            }
        }
    )+};
}
keyed!(Aes128, Aes192, Aes256, Sm4);

/// Calls a function or method that is generic over [`Keyed`] for a [`Cipher`].
macro_rules! of_cipher {
    ($cipher:expr, $object:ident.$method:ident($($argument:expr),*)) => {
        match $cipher {
            Cipher::Aes128 => $object.$method::<manylane::aes::Aes128>($($argument),*),
            Cipher::Aes192 => $object.$method::<manylane::aes::Aes192>($($argument),*),
            Cipher::Aes256 => $object.$method::<manylane::aes::Aes256>($($argument),*),
            Cipher::Sm4 => $object.$method::<manylane::sm4::Sm4>($($argument),*),
        }
    };
    ($cipher:expr, $function:ident($($argument:expr),*)) => {
        match $cipher {
            Cipher::Aes128 => $function::<manylane::aes::Aes128>($($argument),*),
            Cipher::Aes192 => $function::<manylane::aes::Aes192>($($argument),*),
            Cipher::Aes256 => $function::<manylane::aes::Aes256>($($argument),*),
            Cipher::Sm4 => $function::<manylane::sm4::Sm4>($($argument),*),
        }
    };
}
use of_cipher;

/// Machines that run here and have kernels for the cipher, the best last.
fn machines<C: Keyed>(key_len: usize) -> Vec<Machine> {
    let runs = |machine: &Machine| C::keyed(Some(*machine), &vec![0; key_len]).is_some();
    Machine::ALL.into_iter().filter(runs).collect()
}

fn machines_of(cipher: Cipher) -> std::vec::IntoIter<Machine> {
    of_cipher!(cipher, machines(cipher.key_len())).into_iter()
}

/// What users call, then each machine by its name.
fn choices(cipher: Cipher) -> impl Iterator<Item = (&'static str, Option<Machine>)> {
    let named = machines_of(cipher).map(|machine| (machine.name(), Some(machine)));
    [(OURS, None)].into_iter().chain(named)
}

/// A key of random bytes, and an IV.
fn random<const N: usize>(rng: &mut fastrand::Rng) -> [u8; N] {
    let mut bytes = [0; N];
    rng.fill(&mut bytes);
    bytes
}

#[cfg(test)]
mod tests;

//! One message at a time under a key that is ready, with an IV of its own: what a record or a sector costs.

use manylane::block::{Ccm, Ctr128, Gcm, Ofb, Xts, cbc, cfb, ecb};

use super::{
    Bytes, Call, Cipher, Contender, Cores, GCRYPT_WITHOUT_GFNI, GcryptCiphers, Group, Keyed,
    LENGTH, LENGTHS, LIBGCRYPT, Machine, Mode, OPENSSL, OPENSSL_WITHOUT_AES, OURS, OpenSslCiphers,
    Rc, RefCell, Tag, TweakOrder, Work, base, bytes_label, choices, counts, effort, id, of_cipher,
    pairs, random, setup,
};

/// A mode by the length of the message.
pub(super) fn by_length(ciphers: &[Cipher], mode: Mode, quick: bool) -> Vec<Group> {
    let group = |&cipher: &Cipher| {
        LENGTHS.map(|len| group(cipher, mode, len, (title(cipher, mode), quick)))
    };
    ciphers.iter().flat_map(group).collect()
}

/// Modes at one length: first those that OpenSSL has.
pub(super) fn by_mode(quick: bool, modes: &[(Cipher, Mode)]) -> Vec<Group> {
    let (openssl, others): (Vec<_>, Vec<_>) =
        modes.iter().partition(|&&(cipher, mode)| base(cipher, mode) == OPENSSL);
    let groups = |modes: Vec<(Cipher, Mode)>, title: &'static str| {
        modes.into_iter().map(move |(cipher, mode)| {
            let name = format!("{}, {}", words(cipher, mode), bytes_label(LENGTH as u64));
            Group { parameter: name, ..group(cipher, mode, LENGTH, (title, quick)) }
        })
    };
    let lacking = "Modes that OpenSSL lacks";
    groups(openssl, "Other modes").chain(groups(others, lacking)).collect()
}

fn title(cipher: Cipher, mode: Mode) -> &'static str {
    match (cipher, mode) {
        (Cipher::Aes128, Mode::Ctr) => "AES-128 in counter mode",
        (Cipher::Aes192, Mode::Ctr) => "AES-192 in counter mode",
        (Cipher::Aes256, Mode::Ctr) => "AES-256 in counter mode",
        (Cipher::Sm4, Mode::Ctr) => "SM4 in counter mode",
        (Cipher::Aes128, _) => "AES-128-GCM, encryption",
        (Cipher::Aes192, _) => "AES-192-GCM, encryption",
        (Cipher::Aes256, _) => "AES-256-GCM, encryption",
        (Cipher::Sm4, _) => "SM4-GCM, encryption",
    }
}

fn words(cipher: Cipher, mode: Mode) -> String {
    let name = cipher.name();
    match mode {
        Mode::Ecb => format!("{name}-ECB, encrypt"),
        Mode::CbcEncrypt => format!("{name}-CBC, encrypt"),
        Mode::CbcDecrypt => format!("{name}-CBC, decrypt"),
        Mode::Ctr => format!("{name}-CTR"),
        Mode::GcmEncrypt => format!("{name}-GCM, encrypt"),
        Mode::GcmDecrypt => format!("{name}-GCM, decrypt"),
        Mode::Ccm => format!("{name}-CCM, encrypt"),
        Mode::Xts(TweakOrder::Gb) => format!("{name}-XTS of GB/T 17964, encrypt"),
        Mode::Xts(TweakOrder::Ieee) if cipher == Cipher::Sm4 => {
            format!("{name}-XTS of IEEE 1619, encrypt")
        }
        Mode::Xts(TweakOrder::Ieee) => {
            format!("{name}-XTS, key of {} bits, encrypt", 16 * cipher.key_len())
        }
        Mode::CfbDecrypt => format!("{name}-CFB, decrypt"),
        Mode::Ofb => format!("{name}-OFB"),
    }
}

/// As the group's name has it.
fn slug(mode: Mode) -> &'static str {
    match mode {
        Mode::Ecb => "ecb",
        Mode::CbcEncrypt => "cbc-encrypt",
        Mode::CbcDecrypt => "cbc-decrypt",
        Mode::Ctr => "ctr",
        Mode::GcmEncrypt => "gcm",
        Mode::GcmDecrypt => "gcm-decrypt",
        Mode::Ccm => "ccm",
        Mode::Xts(TweakOrder::Ieee) => "xts",
        Mode::Xts(TweakOrder::Gb) => "xts-gb",
        Mode::CfbDecrypt => "cfb-decrypt",
        Mode::Ofb => "ofb",
    }
}

fn group(cipher: Cipher, mode: Mode, len: usize, (part, quick): (&'static str, bool)) -> Group {
    Group {
        id: id(cipher, slug(mode), len),
        part,
        parameter: bytes_label(len as u64),
        unit: "messages",
        working_set: len as u64,
        base: Some(base(cipher, mode)),
        pairs: pairs(cipher, mode),
        cores: Cores::One,
        effort: effort(quick),
        same_output: true,
        build: Box::new(move |rng| {
            let bench = Bench::new(cipher, mode, len, rng);
            let ours = choices(cipher)
                .filter_map(|(name, machine)| of_cipher!(cipher, ours(&bench, name, machine)));
            Ok(ours.chain(bench.peers()).collect())
        }),
    }
}

/// What users call, for another suite.
pub(in crate::bench) fn ours_alone(
    cipher: Cipher,
    mode: Mode,
    len: usize,
    rng: &mut fastrand::Rng,
) -> Contender {
    let bench = Bench::new(cipher, mode, len, rng);
    of_cipher!(cipher, ours(&bench, OURS, None)).expect("the best machine runs")
}

/// A message that contenders share, each changing it in place: so it lies where it lies for all.
struct Message {
    bytes: Bytes,
    /// Tag of what the bytes are now; where they are decrypted, also of what they become, which decrypts to
    /// what they were.
    tags: [Tag; 2],
}

struct Bench {
    cipher: Cipher,
    mode: Mode,
    key: Vec<u8>,
    iv: [u8; 16],
    message: Rc<RefCell<Message>>,
}

impl Bench {
    fn new(cipher: Cipher, mode: Mode, len: usize, rng: &mut fastrand::Rng) -> Self {
        let mut key = vec![0; cipher.key_len() * mode.keys()];
        rng.fill(&mut key);
        let (iv, bytes) = (random(rng), Bytes::random(len, rng));
        let tags = match mode {
            Mode::GcmDecrypt => of_cipher!(cipher, both_tags(&key, &iv, bytes.get())),
            _ => [[0; 16]; 2],
        };
        let message = Rc::new(RefCell::new(Message { bytes, tags }));
        Bench { cipher, mode, key, iv, message }
    }

    /// What it makes of the message the first time is what is compared.
    fn contender(
        &self,
        name: &str,
        kernel: Option<Machine>,
        mut crypt: impl FnMut(&mut [u8], &mut Tag) + 'static,
    ) -> Contender {
        let mut output = self.message.borrow().bytes.get().to_vec();
        let bytes = output.len() as u64;
        let mut tag = self.message.borrow().tags[0];
        crypt(&mut output, &mut tag);
        output.extend(tag);
        let shared = Rc::clone(&self.message);
        let decrypts = self.mode == Mode::GcmDecrypt;
        Contender {
            name: name.to_owned(),
            kernel: kernel.map(Machine::name),
            peer: kernel.is_none(),
            work: Work { bytes, units: 1, counted_clocks: self.counted(kernel, bytes) },
            output,
            call: Call::here(move |_| {
                let Message { bytes, tags } = &mut *shared.borrow_mut();
                crypt(bytes.get_mut(), &mut tags[0]);
                if decrypts {
                    tags.swap(0, 1);
                }
            }),
        }
    }

    /// Clocks that AES's rounds take where they are all that one port does.
    fn counted(&self, kernel: Option<Machine>, bytes: u64) -> Option<f64> {
        let rounds = match self.cipher {
            Cipher::Aes128 => 10,
            Cipher::Aes192 => 12,
            Cipher::Aes256 => 14,
            Cipher::Sm4 => return None,
        };
        let side_by_side = !matches!(self.mode, Mode::CbcEncrypt | Mode::Ccm | Mode::Ofb);
        let counted = side_by_side && kernel == Some(Machine::Vaes) && setup::core().is_some();
        counted.then(|| counts::vaes_clocks(rounds, bytes.div_ceil(16)))
    }

    fn peers(&self) -> Vec<Contender> {
        let (cipher, mode, iv) = (self.cipher, self.mode, self.iv);
        let mut peers = Vec::new();
        let without_aes = (mode == Mode::Ctr && cipher != Cipher::Sm4)
            .then(|| (OPENSSL_WITHOUT_AES, OpenSslCiphers::without_aes()));
        for (name, openssl) in [(OPENSSL, OpenSslCiphers::get())].into_iter().chain(without_aes) {
            let Ok(openssl) = openssl else { continue };
            if let Some(mut context) = openssl.context(cipher, mode, &self.key) {
                let crypt = move |data: &mut [u8], tag: &mut Tag| context.crypt(&iv, data, tag);
                peers.push(self.contender(name, None, crypt));
            }
        }
        let without_gfni =
            (cipher == Cipher::Sm4).then(|| (GCRYPT_WITHOUT_GFNI, GcryptCiphers::without_gfni()));
        for (name, gcrypt) in [(LIBGCRYPT, GcryptCiphers::get())].into_iter().chain(without_gfni) {
            let Ok(gcrypt) = gcrypt else { continue };
            if let Some(mut context) = gcrypt.context(cipher, mode, &self.key) {
                let crypt = move |data: &mut [u8], tag: &mut Tag| context.crypt(&iv, data, tag);
                peers.push(self.contender(name, None, crypt));
            }
        }
        peers
    }
}

/// Tags for a message that is decrypted again and again: counter mode twice is nothing, so what a ciphertext
/// decrypts to is, taken as a ciphertext, decrypted to the first.
fn both_tags<C: Keyed>(key: &[u8], iv: &[u8; 16], data: &[u8]) -> [Tag; 2] {
    let gcm = Gcm::new(C::keyed(None, key).expect("the best machine runs"));
    let mut data = data.to_vec();
    let mut tag = || -> Tag {
        let tag = gcm.encrypt_detached(&iv[..12], &[], &mut data).expect("short");
        tag.as_ref().try_into().expect("16 bytes")
    };
    let [next, first] = [tag(), tag()];
    [first, next]
}

/// Ours on one machine, by the call that the mode has.
fn ours<C: Keyed>(bench: &Bench, name: &str, machine: Option<Machine>) -> Option<Contender> {
    let (first, second) = bench.key.split_at(bench.cipher.key_len());
    let c = C::keyed(machine, first)?;
    let kernel = Some(c.machine());
    let iv = bench.iv;
    Some(match bench.mode {
        Mode::Ecb => {
            let mut ecb = ecb::Encryptor::new(c);
            bench.contender(name, kernel, move |data, _| ecb.update(data).expect(WHOLE))
        }
        Mode::CbcEncrypt => bench.contender(name, kernel, move |data, _| {
            cbc::Encryptor::new(&c, &iv).update(data).expect(WHOLE);
        }),
        Mode::CbcDecrypt => bench.contender(name, kernel, move |data, _| {
            cbc::Decryptor::new(&c, &iv).update(data).expect(WHOLE);
        }),
        Mode::Ctr => bench.contender(name, kernel, move |data, _| {
            Ctr128::new(&c, &iv).update(data).expect("short");
        }),
        Mode::GcmEncrypt => {
            let gcm = Gcm::new(c);
            bench.contender(name, kernel, move |data, tag| {
                let ours = gcm.encrypt_detached(&iv[..12], &[], data).expect("short");
                tag.copy_from_slice(ours.as_ref());
            })
        }
        Mode::GcmDecrypt => {
            let gcm = Gcm::new(c);
            bench.contender(name, kernel, move |data, tag| {
                gcm.decrypt_detached(&iv[..12], &[], data, tag).expect("its tag");
            })
        }
        Mode::Ccm => {
            let ccm = Ccm::new(c);
            bench.contender(name, kernel, move |data, tag| {
                let ours = ccm.encrypt_detached(&iv[..12], &[], data).expect("short");
                tag.copy_from_slice(ours.as_ref());
            })
        }
        Mode::Xts(order) => {
            let xts = Xts::from_ciphers(c, C::keyed(machine, second)?, order);
            bench.contender(name, kernel, move |data, _| xts.encrypt(&iv, data).expect(WHOLE))
        }
        Mode::CfbDecrypt => bench.contender(name, kernel, move |data, _| {
            cfb::Decryptor::new(&c, &iv).update(data);
        }),
        Mode::Ofb => bench.contender(name, kernel, move |data, _| Ofb::new(&c, &iv).update(data)),
    })
}

const WHOLE: &str = "whole blocks, of a length that the mode takes";

//! Many messages, each under a key of its own: in lanes, or one after another.

use manylane::{
    Error,
    block::{Gcm, GcmMessage, cbc, cbc_encrypt_many, gcm_encrypt_many},
};

use super::{
    Bytes, Call, Cipher, Contender, Cores, GCRYPT_WITHOUT_GFNI, GcryptCiphers, Group, Keyed,
    LIBGCRYPT, Machine, Mode, OPENSSL, OpenSslCiphers, Rc, RefCell, Tag, Work, base, bytes_label,
    choices, effort, id, of_cipher, pairs, random,
};

/// CBC encryptions side by side: as many as a machine has lanes at most.
const CHAINS: usize = 16;
const CHAIN_LEN: usize = 8 << 10;

/// Messages of GCM: short ones, of which one alone leaves most lanes empty.
const SHORT: usize = 64;
const SHORT_LEN: usize = 256;

const ALONE: &str = "one after another";

pub(super) fn groups(cipher: Cipher, quick: bool) -> [Group; 2] {
    [
        group::<CHAINS>(cipher, Mode::CbcEncrypt, CHAIN_LEN, quick),
        group::<SHORT>(cipher, Mode::GcmEncrypt, SHORT_LEN, quick),
    ]
}

fn group<const N: usize>(cipher: Cipher, mode: Mode, len: usize, quick: bool) -> Group {
    let (part, work) = match mode {
        Mode::CbcEncrypt => ("CBC encryptions side by side", "cbc-encrypt-many"),
        _ => ("Short messages in GCM", "gcm-many"),
    };
    let mut pairs = pairs(cipher, mode);
    pairs.push((OURS_MANY.to_owned(), ALONE.to_owned()));
    Group {
        id: id(cipher, work, len),
        part,
        parameter: format!("{}, {N} × {}", cipher.name(), bytes_label(len as u64)),
        unit: "messages",
        working_set: (N * len) as u64,
        base: Some(base(cipher, mode)),
        pairs,
        cores: Cores::One,
        effort: effort(quick),
        same_output: true,
        build: Box::new(move |rng| {
            let bench = Bench::<N>::new(cipher, mode, len, rng);
            let many = |(name, machine)| of_cipher!(cipher, bench.many(name, machine));
            let mut contenders: Vec<_> = choices(cipher).filter_map(many).collect();
            contenders.extend(of_cipher!(cipher, bench.alone()));
            contenders.extend(bench.peers());
            Ok(contenders)
        }),
    }
}

const OURS_MANY: &str = super::OURS;

struct Messages<const N: usize> {
    bytes: Bytes,
    tags: [Tag; N],
}

/// Keys, IVs and messages that contenders share, each changing them in place.
struct Bench<const N: usize> {
    cipher: Cipher,
    mode: Mode,
    len: usize,
    keys: Vec<Vec<u8>>,
    ivs: [[u8; 16]; N],
    messages: Rc<RefCell<Messages<N>>>,
}

impl<const N: usize> Bench<N> {
    fn new(cipher: Cipher, mode: Mode, len: usize, rng: &mut fastrand::Rng) -> Self {
        let mut keys = vec![vec![0; cipher.key_len()]; N];
        keys.iter_mut().for_each(|key| rng.fill(key));
        let ivs = std::array::from_fn(|_| random(rng));
        let messages = Messages { bytes: Bytes::random(N * len, rng), tags: [[0; 16]; N] };
        Bench { cipher, mode, len, keys, ivs, messages: Rc::new(RefCell::new(messages)) }
    }

    /// What it makes of the messages the first time is what is compared.
    fn contender(
        &self,
        name: &str,
        kernel: Option<Machine>,
        mut crypt: impl FnMut(&mut [&mut [u8]; N], &mut [Tag; N]) + 'static,
    ) -> Contender {
        let len = self.len;
        let mut all = move |bytes: &mut [u8], tags: &mut [Tag; N]| {
            let mut rest = bytes.chunks_exact_mut(len);
            let mut messages = std::array::from_fn(|_| rest.next().expect("as many messages"));
            crypt(&mut messages, tags);
        };
        let mut output = self.messages.borrow().bytes.get().to_vec();
        let bytes = output.len() as u64;
        let mut tags = [[0; 16]; N];
        all(&mut output, &mut tags);
        output.extend(tags.as_flattened());
        let shared = Rc::clone(&self.messages);
        Contender {
            name: name.to_owned(),
            kernel: kernel.map(Machine::name),
            peer: kernel.is_none(),
            work: Work { bytes, units: N as u64, counted_clocks: None },
            output,
            call: Call::here(move |_| {
                let Messages { bytes, tags } = &mut *shared.borrow_mut();
                all(bytes.get_mut(), tags);
            }),
        }
    }

    /// Ours with every key.
    fn ciphers<C: Keyed>(&self, machine: Option<Machine>) -> Option<Vec<C>> {
        self.keys.iter().map(|key| C::keyed(machine, key)).collect()
    }

    /// Other libraries, one message after another, each with a context of its own.
    fn peers(&self) -> Vec<Contender> {
        let (cipher, mode, ivs) = (self.cipher, self.mode, self.ivs);
        let mut peers = Vec::new();
        if let Ok(openssl) = OpenSslCiphers::get() {
            let contexts = self.keys.iter().map(|key| openssl.context(cipher, mode, key));
            if let Some(mut contexts) = contexts.collect::<Option<Vec<_>>>() {
                peers.push(self.contender(OPENSSL, None, move |messages, tags| {
                    let work = contexts.iter_mut().zip(&ivs).zip(messages).zip(tags);
                    work.for_each(|(((context, iv), data), tag)| context.crypt(iv, data, tag));
                }));
            }
        }
        let without_gfni =
            (cipher == Cipher::Sm4).then(|| (GCRYPT_WITHOUT_GFNI, GcryptCiphers::without_gfni()));
        for (name, gcrypt) in [(LIBGCRYPT, GcryptCiphers::get())].into_iter().chain(without_gfni) {
            let Ok(gcrypt) = gcrypt else { continue };
            let contexts = self.keys.iter().map(|key| gcrypt.context(cipher, mode, key));
            if let Some(mut contexts) = contexts.collect::<Option<Vec<_>>>() {
                peers.push(self.contender(name, None, move |messages, tags| {
                    let work = contexts.iter_mut().zip(&ivs).zip(messages).zip(tags);
                    work.for_each(|(((context, iv), data), tag)| context.crypt(iv, data, tag));
                }));
            }
        }
        peers
    }

    /// Ours in lanes.
    fn many<C: Keyed>(&self, name: &str, machine: Option<Machine>) -> Option<Contender> {
        let ciphers: Vec<C> = self.ciphers(machine)?;
        let (kernel, ivs) = (Some(ciphers[0].machine()), self.ivs);
        Some(match self.mode {
            Mode::CbcEncrypt => self.contender(name, kernel, move |messages, _| {
                let keys: [_; N] = std::array::from_fn(|i| (&ciphers[i], ivs[i]));
                cbc_encrypt_many(&keys, messages).expect("whole blocks");
            }),
            _ => {
                let keys: Vec<_> = ciphers.into_iter().map(Gcm::new).collect();
                self.contender(name, kernel, move |messages, tags| {
                    let all: [_; N] = std::array::from_fn(|i| GcmMessage {
                        gcm: &keys[i],
                        iv: &ivs[i][..12],
                        aad: &[],
                    });
                    let mut out = [const { Err(Error::Decryption) }; N];
                    gcm_encrypt_many(&all, messages, &mut out).expect("as many of each");
                    for (tag, out) in tags.iter_mut().zip(out) {
                        tag.copy_from_slice(out.expect("short").as_ref());
                    }
                })
            }
        })
    }

    /// Ours on the best machine, without lanes.
    fn alone<C: Keyed>(&self) -> Option<Contender> {
        let ciphers: Vec<C> = self.ciphers(None)?;
        let (kernel, ivs) = (Some(ciphers[0].machine()), self.ivs);
        Some(match self.mode {
            Mode::CbcEncrypt => self.contender(ALONE, kernel, move |messages, _| {
                for ((cipher, iv), data) in ciphers.iter().zip(&ivs).zip(messages) {
                    cbc::Encryptor::new(cipher, iv).update(data).expect("whole blocks");
                }
            }),
            _ => {
                let keys: Vec<_> = ciphers.into_iter().map(Gcm::new).collect();
                self.contender(ALONE, kernel, move |messages, tags| {
                    for (((gcm, iv), data), tag) in keys.iter().zip(&ivs).zip(messages).zip(tags) {
                        let ours = gcm.encrypt_detached(&iv[..12], &[], data).expect("short");
                        tag.copy_from_slice(ours.as_ref());
                    }
                })
            }
        })
    }
}

//! Counter mode on all cores, steadily, with the energy that the processor's packages use meanwhile.

use std::{
    thread,
    time::{Duration, Instant},
};

use manylane::block::Ctr128;

use super::{
    Bytes, Call, Cipher, Contender, Cores, GcryptCiphers, Group, Keyed, LIBGCRYPT, Machine, Mode,
    OPENSSL, OPENSSL_WITHOUT_AES, OpenSslCiphers, Rc, Work, base, bytes_label, id, machines_of,
    of_cipher, random,
};
use crate::bench::{
    measure::{Effort, Timing},
    sensors::Packages,
};

/// Bytes that each thread works on again and again: they stay in its core's second cache.
const LEN: usize = 256 << 10;

/// Counters of energy are brought up to date every millisecond, so samples are long.
fn effort(quick: bool) -> Effort {
    let (visits, sample) = if quick { (2, 20) } else { (7, 100) };
    Effort { visits, samples: 1, sample: Duration::from_millis(sample) }
}

/// Name of the group of a cipher.
pub(super) fn name(cipher: Cipher) -> String {
    id(cipher, "cores", LEN)
}

pub(super) fn group(cipher: Cipher, quick: bool) -> Group {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    Group {
        id: name(cipher),
        part: "Counter mode on all cores",
        parameter: format!("{}, {threads} × {}", cipher.name(), bytes_label(LEN as u64)),
        unit: "messages",
        working_set: (threads * LEN) as u64,
        base: Some(base(cipher, Mode::Ctr)),
        pairs: Vec::new(),
        cores: Cores::All,
        effort: Some(effort(quick)),
        same_output: true,
        build: Box::new(move |rng| Ok(contenders(cipher, threads, rng))),
    }
}

fn contenders(cipher: Cipher, threads: usize, rng: &mut fastrand::Rng) -> Vec<Contender> {
    let mut key = vec![0; cipher.key_len()];
    rng.fill(&mut key);
    let team = Team {
        key,
        iv: random(rng),
        parts: (0..threads).map(|_| Bytes::random(LEN, rng)).collect(),
        packages: Rc::new(Packages::find().ok()),
    };
    let mut machines: Vec<Machine> = machines_of(cipher).collect();
    // The first has no instructions of the cipher's, the last has the most.
    if machines.len() > 2 {
        machines.drain(1..machines.len() - 1);
    }
    let ours = |machine| of_cipher!(cipher, ours(&team, machine));
    let mut contenders: Vec<Contender> = machines.into_iter().map(ours).collect();
    let without_aes =
        (cipher != Cipher::Sm4).then(|| (OPENSSL_WITHOUT_AES, OpenSslCiphers::without_aes()));
    for (name, openssl) in [(OPENSSL, OpenSslCiphers::get())].into_iter().chain(without_aes) {
        let Ok(openssl) = openssl else { continue };
        let (key, iv) = (team.key.clone(), team.iv);
        if openssl.has(cipher, Mode::Ctr) {
            contenders.push(team.contender(name, None, move || {
                let mut context = openssl.context(cipher, Mode::Ctr, &key).expect("it has it");
                move |data: &mut [u8]| context.crypt(&iv, data, &mut [0; 16])
            }));
        }
    }
    if let Ok(gcrypt) = GcryptCiphers::get() {
        let (key, iv) = (team.key.clone(), team.iv);
        contenders.push(team.contender(LIBGCRYPT, None, move || {
            let mut context =
                gcrypt.context(cipher, Mode::Ctr, &key).expect("every version has it");
            move |data: &mut [u8]| context.crypt(&iv, data, &mut [0; 16])
        }));
    }
    contenders
}

fn ours<C: Keyed>(team: &Team, machine: Machine) -> Contender {
    let (key, iv) = (team.key.clone(), team.iv);
    team.contender(machine.name(), Some(machine), move || {
        let cipher = C::keyed(Some(machine), &key).expect("it ran before");
        move |data: &mut [u8]| {
            Ctr128::new(&cipher, &iv).update(data).expect("short");
        }
    })
}

/// What all contenders share.
struct Team {
    key: Vec<u8>,
    iv: [u8; 16],
    /// One for each thread.
    parts: Vec<Bytes>,
    packages: Rc<Option<Packages>>,
}

impl Team {
    /// A contender whose threads each make what they need, once for all calls of a sample.
    fn contender<F: FnMut(&mut [u8])>(
        &self,
        name: &str,
        kernel: Option<Machine>,
        make: impl Fn() -> F + Sync + 'static,
    ) -> Contender {
        let mut output = self.parts[0].get().to_vec();
        make()(&mut output);
        let mut parts: Vec<Bytes> = self.parts.iter().map(Bytes::again).collect();
        let packages = Rc::clone(&self.packages);
        Contender {
            name: name.to_owned(),
            kernel: kernel.map(Machine::name),
            peer: kernel.is_none(),
            work: Work {
                bytes: (LEN * parts.len()) as u64,
                units: parts.len() as u64,
                counted_clocks: None,
            },
            output,
            call: Call::elsewhere(move |calls, _| {
                let now = || packages.as_ref().as_ref().map(Packages::now);
                let (start, before) = (Instant::now(), now());
                thread::scope(|scope| {
                    for part in &mut parts {
                        let make = &make;
                        scope.spawn(move || {
                            let mut crypt = make();
                            (0..calls).for_each(|_| crypt(part.get_mut()));
                        });
                    }
                });
                let seconds = start.elapsed().as_secs_f64();
                let both = before.zip(now());
                let joules = packages.as_ref().as_ref().zip(both);
                let joules = joules.and_then(|(all, (from, to))| all.joules(&from, &to));
                Ok(Timing { seconds, hz: None, joules })
            }),
        }
    }
}

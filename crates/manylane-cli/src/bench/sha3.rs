//! Suite `sha3`: SHA-3 on every machine, and what other libraries do with the same messages.

use std::{
    rc::Rc,
    thread,
    time::{Duration, Instant},
};

use manylane::{
    Messages,
    cpu::Machine,
    sha3::{self, Function, Lanes, Midstate},
};

use super::{
    counts::{self, Core},
    data::{Rows, bytes_label},
    measure::{Call, Contender, Cores, Effort, Group, Plan, Timing, Work},
    peers::sha3::{GcryptSha3, Hash, Nettle, OpenSslSha3},
    sensors::Packages,
    setup,
};

mod cores;
mod many;
pub(super) mod slides;
mod stream;
mod tree;

/// Names of others as contenders; the first is what ours are set in relation to.
pub(super) const OPENSSL: &str = "OpenSSL";
const OPENSSL_SHA3: &str = "OpenSSL, SHA3-256";
const LIBGCRYPT: &str = "libgcrypt";
const NETTLE: &str = "Nettle";

/// Name of what users call.
const OURS: &str = "manylane";

/// What it measures, in the order of the report.
pub(super) fn plan(quick: bool) -> Plan {
    let core = setup::core();
    let mut groups = Vec::new();
    groups.extend(stream::groups(core, quick));
    groups.extend(many::groups(core, quick));
    groups.extend(tree::groups(quick));
    groups.extend(cores::groups(quick));
    groups.extend(slides::groups(quick));
    Plan { groups, latencies: Vec::new() }
}

/// There are so many groups that each is measured less often than in other suites.
fn effort(quick: bool) -> Option<Effort> {
    let sample = Duration::from_millis(1);
    (!quick).then_some(Effort { visits: 16, samples: 8, sample })
}

/// Work that is timed with the energy that it takes: counters of that are brought up to date every
/// millisecond, so samples are long.
fn steady_effort(quick: bool) -> Effort {
    let (visits, sample) = if quick { (2, 10) } else { (7, 50) };
    Effort { visits, samples: 1, sample: Duration::from_millis(sample) }
}

/// Work that is done so many times, by the wall's clock and with the energy of the processor's packages.
fn steadily(
    packages: &Rc<Option<Packages>>,
    mut work: impl FnMut(u32, &mut [u8]) + 'static,
) -> Call {
    let packages = Rc::clone(packages);
    Call::elsewhere(move |calls, out| {
        let now = || packages.as_ref().as_ref().map(Packages::now);
        let (start, before) = (Instant::now(), now());
        work(calls, out);
        let seconds = start.elapsed().as_secs_f64();
        let joules = packages.as_ref().as_ref().zip(before.zip(now()));
        let joules = joules.and_then(|(all, (from, to))| all.joules(&from, &to));
        Ok(Timing { seconds, hz: None, joules })
    })
}

/// Ours of the same name.
pub(super) fn function(hash: Hash) -> Function {
    match hash {
        Hash::Sha3_224 => Function::SHA3_224,
        Hash::Sha3_256 => Function::SHA3_256,
        Hash::Sha3_384 => Function::SHA3_384,
        Hash::Sha3_512 => Function::SHA3_512,
        Hash::Shake128 => Function::SHAKE128,
        Hash::Shake256 => Function::SHAKE256,
    }
}

/// `sha3/many-sha3-256/8192`.
fn id(part: &str, hash: Hash, parameter: impl std::fmt::Display) -> String {
    format!("sha3/{part}-{}/{parameter}", hash.name().to_lowercase())
}

/// Ours in relation to other libraries than OpenSSL, which is in the table itself.
fn pairs(hash: Hash) -> Vec<(String, String)> {
    let gcrypt = GcryptSha3::get().ok().and_then(|gcrypt| gcrypt.context(hash));
    let nettle = Nettle::get().ok().and_then(|nettle| nettle.context(hash));
    let there = [(LIBGCRYPT, gcrypt.is_some()), (NETTLE, nettle.is_some())];
    let there = there.into_iter().filter(|(_, there)| *there);
    there.map(|(name, _)| (OURS.to_owned(), name.to_owned())).collect()
}

/// Machines that run here and have kernels for lanes.
fn lane_machines() -> impl Iterator<Item = Machine> {
    let has = |&machine: &Machine| Lanes::new_on(Function::SHA3_256, machine).is_ok();
    Machine::ALL.into_iter().filter(has)
}

/// Digests of one message after another.
type OneByOne = Box<dyn FnMut(&[u8], &mut [u8])>;

/// Other libraries with a context that is ready, by name.
fn peers(hash: Hash) -> Vec<(&'static str, OneByOne)> {
    let mut peers: Vec<(&'static str, OneByOne)> = Vec::new();
    if let Ok(openssl) = OpenSslSha3::get() {
        let mut context = openssl.context(hash);
        peers.push((OPENSSL, Box::new(move |message, out| context.hash(message, out))));
    }
    if let Some(mut context) = GcryptSha3::get().ok().and_then(|gcrypt| gcrypt.context(hash)) {
        peers.push((LIBGCRYPT, Box::new(move |message, out| context.hash(message, out))));
    }
    if let Some(mut context) = Nettle::get().ok().and_then(|nettle| nettle.context(hash)) {
        peers.push((NETTLE, Box::new(move |message, out| context.hash(message, out))));
    }
    peers
}

/// A contender that shares the first so many messages out among so many threads, each of which makes itself
/// what it hashes one message after another with.
fn on_threads(
    name: &str,
    hash: Hash,
    rows: &Rc<Rows>,
    (count, threads): (usize, usize),
    packages: &Rc<Option<Packages>>,
    make: impl Fn() -> OneByOne + Sync + 'static,
) -> Contender {
    let output_len = function(hash).output_len();
    let share = count.div_ceil(threads).max(1);
    let bytes = rows.messages().range(0, count).total_bytes();
    let rows = Rc::clone(rows);
    Contender {
        name: name.to_owned(),
        kernel: None,
        peer: false,
        work: Work { bytes, units: count as u64, counted_clocks: None },
        output: vec![0; count * output_len],
        call: steadily(packages, move |calls, out| {
            let (messages, make) = (rows.messages(), &make);
            thread::scope(|scope| {
                for (i, out) in out.chunks_mut(share * output_len).enumerate() {
                    let messages = messages.range(i * share, i * share + out.len() / output_len);
                    scope.spawn(move || {
                        let mut hash = make();
                        for _ in 0..calls {
                            let digests = out.chunks_exact_mut(output_len).enumerate();
                            digests.for_each(|(i, out)| hash(messages.get(i), out));
                        }
                    });
                }
            });
        }),
    }
}

/// Permutations that absorb a message.
fn permutations(function: Function, len: u64) -> u64 {
    len / function.rate() as u64 + 1
}

#[cfg(test)]
mod tests;

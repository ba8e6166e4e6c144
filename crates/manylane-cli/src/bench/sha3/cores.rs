//! Many messages on all cores: the engine, and OpenSSL on as many threads.

use manylane_engine::Engine;

use super::{
    Contender, Cores, Group, Hash, Midstate, OPENSSL, OneByOne, OpenSslSha3, Packages, Rc, Rows,
    Work, bytes_label, function, id, steadily, steady_effort,
};

/// Lengths of messages.
const LENGTHS: [usize; 3] = [64, 1 << 10, 8 << 10];

/// Bytes of messages in a call for each thread: several times what a part of the engine's is.
const BATCH: usize = 2 << 20;

/// Name of the engine's call.
const ENGINE: &str = "Engine::hash_many";

pub(super) fn groups(quick: bool) -> impl Iterator<Item = Group> {
    LENGTHS.into_iter().map(move |len| group(Hash::Sha3_256, len, quick))
}

fn group(hash: Hash, len: usize, quick: bool) -> Group {
    let threads = Engine::global().threads();
    let count = BATCH / len * threads;
    let output_len = function(hash).output_len();
    let name = hash.name();
    Group {
        id: id("cores", hash, len),
        part: "Many messages on all cores",
        parameter: format!("{name}, {count} × {}, {threads} threads", bytes_label(len as u64)),
        unit: "messages",
        working_set: (count * (len + output_len)) as u64,
        base: Some(OPENSSL),
        pairs: Vec::new(),
        cores: Cores::All,
        effort: Some(steady_effort(quick)),
        same_output: true,
        build: Box::new(move |rng| {
            let rows = Rc::new(Rows::equal(len, count, rng));
            let packages = Rc::new(Packages::find().ok());
            let mut contenders = vec![engine(ENGINE, hash, &rows, &packages)];
            contenders.extend(openssl(OPENSSL, hash, &rows, (count, threads), &packages));
            Ok(contenders)
        }),
    }
}

/// Digests of all messages, by the engine on all cores.
pub(super) fn engine(
    name: &str,
    hash: Hash,
    rows: &Rc<Rows>,
    packages: &Rc<Option<Packages>>,
) -> Contender {
    let start = Midstate::new(function(hash)).into();
    let work = Work { bytes: rows.total_bytes(), units: rows.count() as u64, counted_clocks: None };
    let output = vec![0; rows.count() * function(hash).output_len()];
    let rows = Rc::clone(rows);
    let call = steadily(packages, move |calls, out| {
        for _ in 0..calls {
            let done = Engine::global().hash_many(&start, &rows.messages(), out);
            done.expect("room for each digest");
        }
    });
    Contender { name: name.to_owned(), kernel: None, peer: false, work, output, call }
}

/// Digests of so many messages by OpenSSL on so many threads.
pub(super) fn openssl(
    name: &str,
    hash: Hash,
    rows: &Rc<Rows>,
    (count, threads): (usize, usize),
    packages: &Rc<Option<Packages>>,
) -> Option<Contender> {
    let openssl = OpenSslSha3::get().ok()?;
    let make = move || -> OneByOne {
        let mut context = openssl.context(hash);
        Box::new(move |message, out| context.hash(message, out))
    };
    let theirs = super::on_threads(name, hash, rows, (count, threads), packages, make);
    Some(Contender { peer: true, ..theirs })
}

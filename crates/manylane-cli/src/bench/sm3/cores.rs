//! Many messages on all cores: the engine, and OpenSSL on as many threads.

use std::{
    ops::Range,
    sync::{
        Arc, Barrier, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
};

use manylane::hash;
use manylane_engine::Engine;

use super::{
    Call, Contender, Cores, Group, Midstate, OPENSSL, OpenSsl, Rows, Work, bytes_label, sm3,
};

/// Lengths of messages.
const LENGTHS: [usize; 3] = [64, 1 << 10, 8 << 10];

/// Bytes of messages in a call for each thread: several times what a part of the engine's is.
const BATCH: usize = 2 << 20;

/// Bytes that OpenSSL takes of them for each thread, for a sample to stay short.
const BATCH_ALONE: usize = 256 << 10;

pub(super) fn groups() -> impl Iterator<Item = Group> {
    LENGTHS.into_iter().map(group)
}

fn group(len: usize) -> Group {
    let threads = Engine::global().threads();
    let count = BATCH / len * threads;
    Group {
        id: format!("sm3/cores/{len}"),
        part: "Many messages on all cores",
        parameter: format!("{count} × {}, {threads} threads", bytes_label(len as u64)),
        unit: "messages",
        working_set: (count * (len + sm3::DIGEST_LEN)) as u64,
        base: Some(OPENSSL),
        pairs: Vec::new(),
        cores: Cores::All,
        effort: None,
        same_output: true,
        build: Box::new(move |rng| {
            let rows = Arc::new(Rows::equal(len, count, rng));
            let mut contenders = vec![engine(&rows)];
            if let Ok(openssl) = OpenSsl::get() {
                contenders.push(on_threads(&rows, BATCH_ALONE / len, threads, openssl));
            }
            Ok(contenders)
        }),
    }
}

fn engine(rows: &Arc<Rows>) -> Contender {
    let rows = Arc::clone(rows);
    let start = hash::Midstate::from(Midstate::default());
    Contender {
        name: "Engine::hash_many".into(),
        kernel: None,
        peer: false,
        work: Work { bytes: rows.total_bytes(), units: rows.count() as u64, counted_clocks: None },
        output: vec![0; rows.count() * sm3::DIGEST_LEN],
        call: Call::here(move |out| {
            Engine::global().hash_many(&start, &rows.messages(), out).expect("a digest a message");
        }),
    }
}

/// OpenSSL on threads that stand ready, each with `share` messages of its own.
fn on_threads(
    rows: &Arc<Rows>,
    share: usize,
    threads: usize,
    openssl: &'static OpenSsl,
) -> Contender {
    let count = share * threads;
    let team = Team::new((0..threads).map(|i| i * share..(i + 1) * share), rows, openssl);
    let bytes = rows.messages().range(0, count).total_bytes();
    Contender {
        name: OPENSSL.into(),
        kernel: None,
        peer: true,
        work: Work { bytes, units: count as u64, counted_clocks: None },
        output: vec![0; count * sm3::DIGEST_LEN],
        call: Call::here(move |out| team.run(out.as_chunks_mut().0)),
    }
}

/// Digests of a thread's messages, where the caller finds them.
type Part = Arc<Mutex<Vec<[u8; sm3::DIGEST_LEN]>>>;

/// Threads that wait for a call, so that starting them is no part of a sample.
struct Team {
    /// Passed by all at the beginning and at the end of a call.
    gate: Arc<Barrier>,
    closing: Arc<AtomicBool>,
    parts: Vec<Part>,
    threads: Vec<JoinHandle<()>>,
}

impl Team {
    fn new(
        ranges: impl ExactSizeIterator<Item = Range<usize>>,
        rows: &Arc<Rows>,
        openssl: &'static OpenSsl,
    ) -> Self {
        let gate = Arc::new(Barrier::new(ranges.len() + 1));
        let closing = Arc::new(AtomicBool::new(false));
        let mut team = Team { gate, closing, parts: Vec::new(), threads: Vec::new() };
        for range in ranges {
            let part = Part::new(Mutex::new(vec![[0; sm3::DIGEST_LEN]; range.len()]));
            team.parts.push(Arc::clone(&part));
            let (rows, gate) = (Arc::clone(rows), Arc::clone(&team.gate));
            let closing = Arc::clone(&team.closing);
            team.threads.push(thread::spawn(move || {
                let mut context = openssl.digest();
                let messages = rows.messages();
                loop {
                    gate.wait();
                    if closing.load(Ordering::Relaxed) {
                        return;
                    }
                    let mut part = part.lock().expect("the caller does not panic with it");
                    for (i, out) in range.clone().zip(part.iter_mut()) {
                        context.hash(messages.get(i), out);
                    }
                    drop(part);
                    gate.wait();
                }
            }));
        }
        team
    }

    fn run(&self, out: &mut [[u8; sm3::DIGEST_LEN]]) {
        self.gate.wait();
        self.gate.wait();
        let mut out = out.iter_mut();
        for part in &self.parts {
            let part = part.lock().expect("a thread's panic would have ended in the gate");
            out.by_ref().zip(part.iter()).for_each(|(out, digest)| *out = *digest);
        }
    }
}

impl Drop for Team {
    fn drop(&mut self) {
        self.closing.store(true, Ordering::Relaxed);
        self.gate.wait();
        for thread in self.threads.drain(..) {
            // One that panicked has said so.
            let _ = thread.join();
        }
    }
}

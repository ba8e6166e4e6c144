//! Sources that misbehave in every way that files, pipes and callers do.

use std::{
    collections::VecDeque,
    io::{self, Read},
    num::NonZeroUsize,
    ops::ControlFlow,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
        mpsc,
    },
    time::Duration,
};

use manylane::{
    hash::{Algorithm, Lanes, Midstate},
    sm3,
};
use manylane_engine::{Config, Done, Engine, Function, Progress, ReadAt, Source};
use proptest::prelude::*;

/// Counts what is open.
#[derive(Debug, Default)]
struct Open {
    now: AtomicUsize,
    most: AtomicUsize,
}

/// Bytes that depend on a seed, given out in pieces of changing size.
#[derive(Clone, Debug)]
struct Noise {
    seed: u64,
    len: usize,
    /// Where reading fails; past the end, opening does.
    fails_at: Option<usize>,
    hint: Option<u64>,
    open_len: Option<u64>,
    may_wait: bool,
    /// Whether several threads may read at a time.
    at_any_offset: bool,
    open: Arc<Open>,
}

struct NoiseReader {
    seed: u64,
    at: usize,
    len: usize,
    fails_at: Option<usize>,
    step: u64,
    open: Arc<Open>,
}

fn noise(seed: u64, at: usize, buffer: &mut [u8]) {
    for (i, byte) in buffer.iter_mut().enumerate() {
        *byte = ((seed ^ (at + i) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8;
    }
}

impl Noise {
    fn new(seed: u64, len: usize) -> Self {
        let open = Arc::default();
        Noise {
            seed,
            len,
            fails_at: None,
            hint: None,
            open_len: None,
            may_wait: false,
            at_any_offset: false,
            open,
        }
    }

    fn bytes(&self) -> Vec<u8> {
        let mut bytes = vec![0; self.len];
        noise(self.seed, 0, &mut bytes);
        bytes
    }
}

impl Source for Noise {
    type Reader = NoiseReader;

    fn open(&mut self) -> io::Result<NoiseReader> {
        if self.fails_at.is_some_and(|at| at > self.len) {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        let now = self.open.now.fetch_add(1, SeqCst) + 1;
        self.open.most.fetch_max(now, SeqCst);
        let Noise { seed, len, fails_at, .. } = *self;
        Ok(NoiseReader { seed, at: 0, len, fails_at, step: seed, open: Arc::clone(&self.open) })
    }

    fn len_hint(&self) -> Option<u64> {
        self.hint
    }

    fn open_len(&self, _: &NoiseReader) -> Option<u64> {
        self.open_len
    }

    fn may_wait(&self) -> bool {
        self.may_wait
    }

    fn at_any_offset(&self, _: &NoiseReader) -> Option<Arc<dyn ReadAt>> {
        self.at_any_offset.then(|| Arc::new(self.clone()) as Arc<dyn ReadAt>)
    }
}

impl ReadAt for Noise {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let end = self.fails_at.unwrap_or(self.len);
        let at = usize::try_from(offset).unwrap();
        if at >= end && self.fails_at.is_some() {
            return Err(io::Error::other("bad sector"));
        }
        let len = buffer.len().min(end.saturating_sub(at)).min(300_000);
        noise(self.seed, at, &mut buffer[..len]);
        Ok(len)
    }
}

impl Read for NoiseReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.step = self.step.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        let len = match self.step >> 61 {
            0 => return Err(io::ErrorKind::Interrupted.into()),
            1 => 1 + (self.step >> 40) as usize % 200,
            2 => 64,
            _ => usize::MAX,
        };
        let end = self.fails_at.unwrap_or(self.len);
        if self.at == end && self.fails_at.is_some() {
            return Err(io::Error::other("bad sector"));
        }
        let len = len.min(buffer.len()).min(end - self.at);
        noise(self.seed, self.at, &mut buffer[..len]);
        self.at += len;
        Ok(len)
    }
}

impl Drop for NoiseReader {
    fn drop(&mut self) {
        self.open.now.fetch_sub(1, SeqCst);
    }
}

fn engine(threads: usize) -> Engine {
    let threads = NonZeroUsize::new(threads);
    Engine::new(Config { threads, ..Config::default() }).unwrap()
}

fn collect<S: Source>(
    engine: &Engine,
    function: &Function,
    sources: impl IntoIterator<Item = S, IntoIter: Send>,
) -> Vec<Done<S>> {
    let mut all = Vec::new();
    let progress = Progress::new();
    let end = engine.hash_sources(function, &progress, sources, |done| {
        all.push(done);
        ControlFlow::<()>::Continue(())
    });
    assert!(end.is_continue());
    assert_eq!(progress.sources(), all.len() as u64);
    let read: u64 = all.iter().filter_map(|d| d.result.as_ref().ok()).map(|s| s.len).sum();
    assert!(progress.bytes() >= read);
    all
}

fn check(function: &Function, all: &[Done<Noise>]) {
    for (i, done) in all.iter().enumerate() {
        assert_eq!(done.index, i);
        let source = &done.source;
        match (&done.result, source.fails_at) {
            (Ok(summary), None) => {
                assert_eq!(summary.len, source.len as u64);
                assert_eq!(summary.digest, function.of(&source.bytes()), "length {}", source.len);
            }
            (Err(error), Some(at)) => {
                let opens = at <= source.len;
                assert_eq!(error.kind() == io::ErrorKind::PermissionDenied, !opens, "{error}");
            }
            (result, fails_at) => panic!("{result:?} of a source that fails at {fails_at:?}"),
        }
        assert_eq!(source.open.now.load(SeqCst), 0, "all readers are dropped");
    }
}

fn any_source() -> impl Strategy<Value = Noise> {
    let len = prop_oneof![
        4 => 0..300usize,
        2 => (0..5usize).prop_map(|n| n * 64),
        3 => 0..20_000usize,
        2 => 65_000..66_000usize,
        1 => 0..600_000usize,
    ];
    let hint = prop_oneof![Just(None), Just(Some(0)), Just(Some(1)), Just(Some(1 << 14))];
    (any::<u64>(), len, 0..20u8, hint.clone(), hint, 0..20u8, any::<usize>()).prop_map(
        |(seed, len, kind, hint, open_len, wait, at)| {
            let mut source = Noise::new(seed, len);
            source.fails_at = match kind {
                0 => Some(len + 1),
                1 => Some(at % (len + 1)),
                _ => None,
            };
            // Right, or wrong by any factor.
            source.hint = hint.map(|factor| factor * len as u64);
            source.open_len = open_len.map(|factor| factor * len as u64);
            source.may_wait = wait == 0;
            source
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 12 } else { 200 }))]

    #[test]
    fn any_sources_in_any_number(
        sources in prop::collection::vec(any_source(), 0..120),
        threads in 1..5usize,
        prefix in prop_oneof![Just(0), 0..200usize],
        key in prop::option::of(0..300usize),
        algorithm in prop::sample::select(&Algorithm::ALL[..]),
    ) {
        let function = match key {
            Some(len) if algorithm.has_hmac() => Function::hmac(algorithm, &vec![7; len]),
            _ if algorithm.is_tree() => Function::with_digest_len(algorithm, 1 + prefix % 64),
            _ => Function::hash_after(&Midstate::new(algorithm).then(&vec![9; prefix])),
        };
        check(&function, &collect(&engine(threads), &function, sources));
    }
}

#[test]
fn every_length_around_blocks_and_buffers() {
    let around = |len: usize| {
        [65, 64, 63, 57, 56, 55, 9, 8, 1]
            .into_iter()
            .map(move |less| len - less)
            .chain([0, 1, 8, 9, 55, 56, 57, 63, 64, 65].into_iter().map(move |more| len + more))
    };
    let lengths = (0..=200).chain(around(8 << 10)).chain(around(64 << 10)).chain(around(128 << 10));
    let sources: Vec<_> = lengths.enumerate().map(|(i, len)| Noise::new(i as u64, len)).collect();
    for (algorithm, threads) in [
        (Algorithm::Sm3, 1),
        (Algorithm::Sm3, 3),
        (Algorithm::Sha3_256, 3),
        (Algorithm::Sha3_512, 1),
        (Algorithm::Shake128, 3),
        (Algorithm::TurboShake256, 1),
        (Algorithm::Kt128, 3),
        (Algorithm::Kt256, 1),
    ] {
        let function = Function::hash(algorithm);
        check(&function, &collect(&engine(threads), &function, sources.iter().cloned()));
    }
}

#[test]
fn long_ones_alone_and_beside_others() {
    let sm3 = Algorithm::Sm3;
    for (algorithm, long, short) in [
        (sm3, 1, 0),
        (sm3, 2, 0),
        (sm3, 3, 0),
        (sm3, 1, 500),
        (sm3, 3, 500),
        (Algorithm::Sha3_256, 3, 500),
    ] {
        let function = Function::hash(algorithm);
        let mut sources: Vec<_> = (0..short).map(|i| Noise::new(i, i as usize * 7)).collect();
        for i in 0..long {
            let mut source = Noise::new(1000 + i, 5_000_000 + i as usize);
            // Huge by its own account, before or after it is opened, or unknown.
            source.hint = [None, Some(1 << 40), None][i as usize];
            source.open_len = [Some(1 << 40), None, None][i as usize];
            sources.insert(sources.len() / 2, source);
        }
        for threads in [1, 2, 4] {
            check(&function, &collect(&engine(threads), &function, sources.iter().cloned()));
        }
    }
}

/// Lengths around those of chunks, pieces, and sources for several threads; all that a source says of itself.
#[test]
fn long_trees_are_hashed_together() {
    let (chunk, piece, long) = (8 << 10, 1 << 20, 4 << 20);
    for (algorithm, threads) in [(Algorithm::Kt128, 5), (Algorithm::Kt256, 2)] {
        let function = Function::hash(algorithm);
        let lengths = [long + piece, long + chunk + 1, long + piece - 1, long];
        let sources = lengths.into_iter().enumerate().map(|(i, len)| {
            // Lengths are no more than hints: one is wrong. One fails on its way.
            let open_len = Some(if i == 1 { 1 << 40 } else { len as u64 });
            let fails_at = (i == 3).then_some(len - 3 * piece / 2);
            let hint = open_len.filter(|_| i != 2);
            let source = Noise::new(i as u64, len);
            Noise { at_any_offset: i % 2 == 0, hint, open_len, fails_at, ..source }
        });
        let sources: Vec<_> = sources.collect();
        let engine = engine(threads);
        check(&function, &collect(&engine, &function, sources.iter().cloned()));
        // The only one; and after short ones.
        check(&function, &collect(&engine, &function, vec![sources[2].clone()]));
        let short = (0..100).map(|i| Noise::new(i, 200 * i as usize));
        check(&function, &collect(&engine, &function, short.chain([sources[1].clone()])));
    }
}

#[test]
fn absurd_numbers_of_threads_are_not_started() {
    let engine = engine(1_000_000);
    let cores = std::thread::available_parallelism().unwrap().get();
    assert_eq!(engine.threads(), (4 * cores).max(256));
    assert_eq!(
        collect(&engine, &Function::hash(Algorithm::Sm3), vec![&b"a"[..]; 1000]).len(),
        1000
    );
}

#[test]
fn no_more_are_open_than_there_are_lanes() {
    let open = Arc::new(Open::default());
    for threads in [1, 2, 4] {
        let sources = (0..3000).map(|i| Noise {
            open: Arc::clone(&open),
            ..Noise::new(i, (i as usize * 7919) % 100_000)
        });
        let engine = engine(threads);
        open.most.store(0, SeqCst);
        assert_eq!(collect(&engine, &Function::hash(Algorithm::Sm3), sources).len(), 3000);
        let lanes = threads * Lanes::new(&Midstate::new(Algorithm::Sm3)).count();
        let most = open.most.load(SeqCst);
        assert!(most <= lanes, "{most} open in {lanes} lanes");
    }
}

/// Can be open together with only so many others; counts opens that failed.
#[cfg(unix)]
#[derive(Clone)]
struct Scarce(Noise, usize, Arc<AtomicUsize>);

#[cfg(unix)]
impl Source for Scarce {
    type Reader = NoiseReader;

    fn open(&mut self) -> io::Result<NoiseReader> {
        let reader = self.0.open()?;
        if self.0.open.now.load(SeqCst) > self.1 {
            drop(reader);
            self.2.fetch_add(1, SeqCst);
            let code = if self.0.seed.is_multiple_of(2) { libc::EMFILE } else { libc::ENFILE };
            return Err(io::Error::from_raw_os_error(code));
        }
        Ok(reader)
    }

    fn len_hint(&self) -> Option<u64> {
        self.0.hint
    }

    fn open_len(&self, reader: &NoiseReader) -> Option<u64> {
        self.0.open_len(reader)
    }

    fn may_wait(&self) -> bool {
        self.0.may_wait
    }
}

#[cfg(unix)]
#[test]
fn sources_wait_for_files_to_be_closed() {
    for (threads, most) in [(1, 1), (1, 3), (2, 1), (4, 1), (4, 3), (4, 20)] {
        let (open, failed) = (Arc::new(Open::default()), Arc::new(AtomicUsize::new(0)));
        let sources: Vec<_> = (0..400)
            .map(|i| {
                let mut source = Noise::new(i, (i as usize * 7919) % 20_000);
                source.open = Arc::clone(&open);
                source.may_wait = i % 10 == 7;
                source.hint = [None, Some(2 << 20), Some(1 << 40)][i as usize % 3];
                source.open_len = source.hint.filter(|_| i % 2 == 0);
                Scarce(source, most, Arc::clone(&failed))
            })
            .collect();
        let function = Function::hash(Algorithm::Sm3);
        let all = collect(&engine(threads), &function, sources);
        assert_eq!(all.len(), 400);
        for (i, done) in all.iter().enumerate() {
            assert_eq!(done.index, i);
            let result = done.result.as_ref();
            let digest = result.map(|s| s.digest).unwrap_or_else(|e| panic!("{i}: {e}"));
            assert_eq!(digest, function.of(&done.source.0.bytes()));
        }
        // Tried again when a file has been closed, not over and over.
        assert!(failed.load(SeqCst) < 2000, "{} opens failed", failed.load(SeqCst));
    }
}

#[cfg(unix)]
#[test]
fn where_no_file_can_be_opened_each_source_fails() {
    for threads in [1, 4] {
        let failed = Arc::new(AtomicUsize::new(0));
        let sources = (0..400).map(|i| Scarce(Noise::new(i, 10), 0, Arc::clone(&failed)));
        for done in collect(&engine(threads), &Function::hash(Algorithm::Sm3), sources) {
            let code = done.result.unwrap_err().raw_os_error();
            assert!(code == Some(libc::EMFILE) || code == Some(libc::ENFILE));
        }
    }
}

#[test]
fn sources_are_taken_only_as_results_are_handed_back() {
    // The first takes until all others that may be taken are done: the iterator stops there.
    let taken = AtomicUsize::new(0);
    let (release, gate) = mpsc::channel::<()>();
    struct Gated(Option<mpsc::Receiver<()>>);
    impl Source for Gated {
        type Reader = io::Empty;
        fn open(&mut self) -> io::Result<io::Empty> {
            if let Some(gate) = &self.0 {
                gate.recv().map_err(io::Error::other)?;
            }
            Ok(io::empty())
        }
    }
    let first = std::iter::once(Gated(Some(gate)));
    let sources = first.chain((1..1_000_000).map(|i| {
        taken.store(i, SeqCst);
        Gated(None)
    }));
    let progress = Progress::new();
    let watched = progress.clone();
    let mut count = 0;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut last = 0;
            loop {
                std::thread::sleep(Duration::from_millis(100));
                if last > 0 && watched.sources() == last {
                    break;
                }
                last = watched.sources();
            }
            assert!(taken.load(SeqCst) < 100_000, "bounded: {}", taken.load(SeqCst));
            release.send(()).unwrap();
        });
        let _ =
            engine(3).hash_sources(&Function::hash(Algorithm::Sm3), &progress, sources, |done| {
                assert_eq!(done.index, count);
                count += 1;
                ControlFlow::<()>::Continue(())
            });
    });
    assert_eq!(count, 1_000_000);
}

#[test]
fn breaking_ends_the_run_and_closes_everything() {
    let open = Arc::new(Open::default());
    for threads in [1, 2, 4] {
        let sources =
            (0..100_000).map(|i| Noise { open: Arc::clone(&open), ..Noise::new(i, 3000) });
        let mut count = 0;
        let end = engine(threads).hash_sources(
            &Function::hash(Algorithm::Sm3),
            &Progress::new(),
            sources,
            |_| {
                count += 1;
                if count == 500 {
                    ControlFlow::Break("broken pipe")
                } else {
                    ControlFlow::Continue(())
                }
            },
        );
        assert_eq!((end, count), (ControlFlow::Break("broken pipe"), 500));
        assert_eq!(open.now.load(SeqCst), 0);
    }
}

#[test]
fn a_panic_anywhere_reaches_the_caller() {
    #[derive(Clone, Copy, PartialEq)]
    enum At {
        Iterator,
        Open,
        Read,
        Callback,
    }
    struct Bomb(bool, At);
    struct BombReader(bool);
    impl Source for Bomb {
        type Reader = BombReader;
        fn open(&mut self) -> io::Result<BombReader> {
            assert!(!(self.0 && self.1 == At::Open), "boom");
            Ok(BombReader(self.0 && self.1 == At::Read))
        }
    }
    impl Read for BombReader {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            assert!(!self.0, "boom");
            Ok(0)
        }
    }
    for at in [At::Iterator, At::Open, At::Read, At::Callback] {
        for threads in [1, 2, 4] {
            let engine = engine(threads);
            for i in [0, 1, 50, 3000] {
                let sources = (0..5000).map(|k| {
                    assert!(!(k == i && at == At::Iterator), "boom");
                    Bomb(k == i, at)
                });
                let panic = catch_unwind(AssertUnwindSafe(|| {
                    engine.hash_sources(
                        &Function::hash(Algorithm::Sm3),
                        &Progress::new(),
                        sources,
                        |done| {
                            assert!(!(done.source.0 && at == At::Callback), "boom");
                            ControlFlow::<()>::Continue(())
                        },
                    )
                }));
                assert_eq!(panic.unwrap_err().downcast_ref::<&str>(), Some(&"boom"));
            }
            // Of use as before.
            assert_eq!(
                collect(&engine, &Function::hash(Algorithm::Sm3), vec![&b"a"[..]; 100]).len(),
                100
            );
        }
    }
}

#[test]
fn a_waiting_source_keeps_no_other() {
    // A pipe whose writer waits for the results of all others.
    struct Pipe(VecDeque<u8>, Option<mpsc::Receiver<()>>);
    impl Source for Pipe {
        type Reader = Self;
        fn open(&mut self) -> io::Result<Self> {
            Ok(Pipe(self.0.clone(), self.1.take()))
        }
        fn may_wait(&self) -> bool {
            self.1.is_some()
        }
    }
    impl Read for Pipe {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            if let Some(writer) = self.1.take() {
                writer.recv().map_err(io::Error::other)?;
            }
            self.0.read(buffer)
        }
    }
    let (write, writer) = mpsc::channel();
    let others = (0..1000).map(|i| Pipe(vec![i as u8; i].into(), None));
    let sources = others.chain([Pipe((*b"abc").into(), Some(writer))]);
    let mut last = None;
    let _ = engine(2).hash_sources(
        &Function::hash(Algorithm::Sm3),
        &Progress::new(),
        sources,
        |done| {
            if done.index == 999 {
                write.send(()).unwrap();
            }
            last = done.result.ok();
            ControlFlow::<()>::Continue(())
        },
    );
    assert_eq!(last.expect("a result").digest, sm3::hash(b"abc"));
}

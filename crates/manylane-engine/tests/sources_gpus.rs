//! Sources read into batches for emulated GPUs: right results whatever sources and GPUs do wrong.
#![cfg(not(target_feature = "crt-static"))]

use std::{
    io::{self, Read},
    num::NonZeroUsize,
    ops::ControlFlow,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{
            AtomicBool, AtomicU32, AtomicUsize,
            Ordering::{Relaxed, SeqCst},
        },
    },
    time::{Duration, Instant},
};

use manylane::hash::{Algorithm, Midstate};
use manylane_emulator::{Driver, install};
use manylane_engine::{Config, Device, Done, Engine, Function, Progress, Source};
use manylane_gpu::RingConfig;

/// Length up to which sources go to GPUs with the ring of these tests.
const LIMIT: usize = 64 << 10;

/// The emulator belongs to the whole process, so one test at a time has it.
fn emulator(settings: &str) -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    let guard = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let none = "fail_alloc=0,fail_copy=0,fail_launch=0,hang_launch=0,flip_launch=0";
    install(Driver::Cuda, &format!("devices=3,{none},{settings}"));
    guard
}

fn ring() -> RingConfig {
    let deadline = Duration::from_secs(20);
    // Two or three trays a batch.
    let tray_bytes = LIMIT + 30_000;
    let (slot_bytes, max_messages) = (256 << 10, 1 << 8);
    RingConfig { slots: 3, slot_bytes, max_messages, tray_bytes, trays: 5, deadline }
}

fn engine_with(device: Device, threads: usize, ring: RingConfig) -> Engine {
    let threads = NonZeroUsize::new(threads);
    Engine::new(Config { device, threads, ring: Some(ring) }).unwrap()
}

fn engine(device: &str) -> Engine {
    engine_with(device.parse().unwrap(), 3, ring())
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        self.0 ^ self.0 >> 29
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() >> 8) as usize % end
    }
}

/// What all texts are parts of.
fn noise() -> Arc<[u8]> {
    let mut random = Random(1);
    (0..1 << 20).map(|_| (random.next() >> 40) as u8).collect()
}

/// Counts what is open.
#[derive(Debug, Default)]
struct Open {
    now: AtomicUsize,
    most: AtomicUsize,
    refused: AtomicUsize,
}

/// Part of the noise from `from` on, given out in pieces of changing size.
#[derive(Clone, Debug)]
struct Text {
    noise: Arc<[u8]>,
    from: usize,
    len: usize,
    hint: Option<u64>,
    open_len: Option<u64>,
    /// Where reading fails; past the end, opening does.
    fails_at: Option<usize>,
    panics: bool,
    opens_again: bool,
    may_wait: bool,
    /// How many may be open at a time.
    open_at_most: usize,
    open: Arc<Open>,
}

struct Reader {
    text: Text,
    at: usize,
    random: Random,
}

impl Text {
    /// One that says how long it is.
    fn new(noise: &Arc<[u8]>, from: usize, len: usize) -> Self {
        Text {
            noise: Arc::clone(noise),
            from,
            len,
            hint: Some(len as u64),
            open_len: Some(len as u64),
            fails_at: None,
            panics: false,
            opens_again: true,
            may_wait: false,
            open_at_most: usize::MAX,
            open: Arc::default(),
        }
    }

    fn bytes(&self) -> &[u8] {
        &self.noise[self.from..][..self.len]
    }
}

impl Source for Text {
    type Reader = Reader;

    fn open(&mut self) -> io::Result<Reader> {
        if self.fails_at.is_some_and(|at| at > self.len) {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        let now = self.open.now.fetch_add(1, SeqCst) + 1;
        if now > self.open_at_most {
            self.open.now.fetch_sub(1, SeqCst);
            self.open.refused.fetch_add(1, SeqCst);
            return Err(io::Error::from_raw_os_error(24)); // EMFILE
        }
        self.open.most.fetch_max(now, SeqCst);
        Ok(Reader { text: self.clone(), at: 0, random: Random(self.from as u64) })
    }

    fn len_hint(&self) -> Option<u64> {
        self.hint
    }

    fn open_len(&self, _: &Reader) -> Option<u64> {
        self.open_len
    }

    fn opens_again(&self) -> bool {
        self.opens_again
    }

    fn may_wait(&self) -> bool {
        self.may_wait
    }
}

impl Read for Reader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        assert!(!self.text.panics, "boom");
        let len = match self.random.below(8) {
            0 => return Err(io::ErrorKind::Interrupted.into()),
            1 => 1 + self.random.below(200),
            _ => usize::MAX,
        };
        let end = self.text.fails_at.unwrap_or(self.text.len);
        if self.at == end && self.text.fails_at.is_some() {
            return Err(io::Error::other("bad sector"));
        }
        let len = len.min(buffer.len()).min(end - self.at);
        buffer[..len].copy_from_slice(&self.text.bytes()[self.at..][..len]);
        self.at += len;
        Ok(len)
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.text.open.now.fetch_sub(1, SeqCst);
    }
}

fn collect(
    engine: &Engine,
    function: &Function,
    sources: impl IntoIterator<Item = Text, IntoIter: Send>,
) -> Vec<Done<Text>> {
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

fn check(function: &Function, all: &[Done<Text>]) {
    for (i, done) in all.iter().enumerate() {
        assert_eq!(done.index, i);
        let text = &done.source;
        match (&done.result, text.fails_at) {
            (Ok(summary), None) => {
                assert_eq!(summary.len, text.len as u64);
                assert_eq!(summary.digest, function.of(text.bytes()), "{i}: length {}", text.len);
            }
            (Err(error), Some(at)) => {
                let opens = at <= text.len;
                assert_eq!(error.kind() == io::ErrorKind::PermissionDenied, !opens, "{error}");
            }
            (result, fails_at) => panic!("{result:?} of a source that fails at {fails_at:?}"),
        }
        assert_eq!(text.open.now.load(SeqCst), 0, "all readers are dropped");
    }
}

fn messages_of(engine: &Engine, device: &str) -> u64 {
    let shares = engine.shares();
    shares.iter().find(|share| share.device == device).map_or(0, |share| share.messages)
}

fn messages_of_gpus(engine: &Engine) -> u64 {
    engine.shares().iter().skip(1).map(|share| share.messages).sum()
}

/// Texts that do everything that sources do.
fn any_texts(random: &mut Random, noise: &Arc<[u8]>, count: usize) -> Vec<Text> {
    let any = |_| {
        let len = match random.below(20) {
            0..8 => random.below(300),
            8..15 => random.below(20_000),
            15..17 => LIMIT - 2 + random.below(5),
            17..19 => random.below(100_000),
            _ => random.below(600_000),
        };
        let mut text = Text::new(noise, random.below(noise.len() - len), len);
        // Right, missing, or wrong by any factor.
        let mut length = || match random.below(8) {
            0 => None,
            1 => Some(0),
            2 => Some(1 << 14),
            3 => Some(1 << 40),
            _ => Some(len as u64),
        };
        (text.hint, text.open_len) = (length(), length());
        text.fails_at = match random.below(20) {
            0 => Some(len + 1),
            1 => Some(random.below(len + 1)),
            _ => None,
        };
        text.may_wait = random.below(20) == 0;
        text.opens_again = random.below(20) > 0;
        text
    };
    (0..count).map(any).collect()
}

#[test]
fn any_sources_give_the_cpus_digests() {
    let _emulator = emulator("");
    let (mut random, noise) = (Random(2), noise());
    let prefix = &noise[..100];
    for device in ["all", "cuda:1"] {
        for (function, count) in [
            (Function::hash(Algorithm::Sm3), 1500),
            (Function::hash_after(&Midstate::new(Algorithm::Sm3).then(prefix)), 1500),
            (Function::hmac(Algorithm::Sm3, b"key"), 1500),
            (Function::hash(Algorithm::Sha3_384), 400),
            (Function::hmac(Algorithm::Sha3_512, b"key"), 400),
        ] {
            let engine = engine(device);
            let texts = any_texts(&mut random, &noise, count);
            let all = collect(&engine, &function, texts);
            assert_eq!(all.len(), count);
            check(&function, &all);
            let fine = all.iter().filter(|done| done.result.is_ok()).count() as u64;
            assert_eq!(messages_of(&engine, "cpu") + messages_of_gpus(&engine), fine);
            assert!(messages_of_gpus(&engine) > 0, "{device}: {:?}", engine.shares());
            assert_eq!(engine.warnings(), [""; 0]);
        }
    }
}

#[test]
fn one_gpu_alone_takes_all_that_is_short() {
    let _emulator = emulator("");
    let (mut random, noise) = (Random(3), noise());
    for hinted in [true, false] {
        for count in [1, 2, 3, 40, 2000] {
            let engine = engine("cuda");
            let texts: Vec<_> = (0..count)
                .map(|i| {
                    let longest = if i % 50 == 49 { 2 * LIMIT } else { 9000 };
                    let len = random.below(longest);
                    let mut text = Text::new(&noise, random.below(9000), len);
                    text.hint = text.hint.filter(|_| hinted);
                    text
                })
                .collect();
            let long = texts.iter().filter(|text| text.len > LIMIT).count() as u64;
            let function = Function::hash(Algorithm::Sm3);
            check(&function, &collect(&engine, &function, texts));
            assert_eq!(messages_of(&engine, "cpu"), long, "of {count}");
            assert_eq!(messages_of(&engine, "cuda:0"), count as u64 - long);
            let cpu = &engine.shares()[0];
            assert!(cpu.bytes >= long * LIMIT as u64, "{cpu:?}");
        }
    }
}

#[test]
fn sources_of_unknown_length_stay_on_the_cpu() {
    let _emulator = emulator("");
    let noise = noise();
    for device in ["all", "cuda"] {
        let engine = engine(device);
        let texts = (0..500).map(|i| Text {
            hint: None,
            open_len: None,
            ..Text::new(&noise, i, i * 97 % 9000)
        });
        let function = Function::hash(Algorithm::Sm3);
        check(&function, &collect(&engine, &function, texts));
        assert_eq!(messages_of(&engine, "cpu"), 500);
    }
}

/// What a GPU fails to do must be read again.
#[test]
fn sources_that_open_only_once_stay_on_the_cpu() {
    let _emulator = emulator("");
    let noise = noise();
    for device in ["all", "cuda"] {
        let engine = engine(device);
        let texts =
            (0..500).map(|i| Text { opens_again: false, ..Text::new(&noise, i, i * 97 % 9000) });
        let function = Function::hash(Algorithm::Sm3);
        check(&function, &collect(&engine, &function, texts));
        assert_eq!(messages_of(&engine, "cpu"), 500);
    }
}

#[test]
fn the_longest_for_a_gpu_and_the_next() {
    let _emulator = emulator("");
    let noise = noise();
    let engine = engine("cuda");
    for (len, said, on_gpu) in [
        (LIMIT, LIMIT, true),
        (LIMIT + 1, LIMIT + 1, false),
        // Found out when it does not end.
        (LIMIT + 1, LIMIT, false),
        (LIMIT + 1, 0, false),
        (3 * LIMIT, LIMIT, false),
        // What it says counts, though less is there.
        (LIMIT, LIMIT + 1, false),
        (0, LIMIT, true),
    ] {
        let before = messages_of(&engine, "cuda:0");
        let text = Text { hint: Some(said as u64), ..Text::new(&noise, 7, len) };
        for function in [
            Function::hash_after(&Midstate::new(Algorithm::Sm3).then(b"prefix")),
            Function::hmac(Algorithm::Sm3, b"k"),
        ] {
            check(&function, &collect(&engine, &function, vec![text.clone(); 5]));
        }
        let sent = messages_of(&engine, "cuda:0") - before;
        assert_eq!(sent, if on_gpu { 10 } else { 0 }, "{len} bytes that say {said}");
    }
}

#[test]
fn breaking_ends_the_run_and_closes_everything() {
    let _emulator = emulator("");
    let noise = noise();
    let open = Arc::new(Open::default());
    for device in ["all", "cuda"] {
        for threads in [1, 3] {
            let engine = engine_with(device.parse().unwrap(), threads, ring());
            let texts = (0..1_000_000)
                .map(|i| Text { open: Arc::clone(&open), ..Text::new(&noise, i % 999, 3000) });
            let mut count = 0;
            let end = engine.hash_sources(
                &Function::hash(Algorithm::Sm3),
                &Progress::new(),
                texts,
                |done| {
                    assert_eq!(done.index, count);
                    count += 1;
                    if count == 700 {
                        ControlFlow::Break("enough")
                    } else {
                        ControlFlow::Continue(())
                    }
                },
            );
            assert_eq!((end, count), (ControlFlow::Break("enough"), 700));
            assert_eq!(open.now.load(SeqCst), 0);
            assert!(open.most.load(SeqCst) < 200, "{open:?}");
            // All slots are back.
            let texts: Vec<_> = (0..200).map(|i| Text::new(&noise, i, 4 * i)).collect();
            check(
                &Function::hash(Algorithm::Sm3),
                &collect(&engine, &Function::hash(Algorithm::Sm3), texts),
            );
        }
    }
}

#[test]
fn a_panic_while_a_slot_is_filled_reaches_the_caller() {
    let _emulator = emulator("");
    let noise = noise();
    for threads in [1, 3] {
        let engine = engine_with(Device::Cuda(None), threads, ring());
        for bad in [0, 5, 1000] {
            let texts = (0..2000).map(|i| Text { panics: i == bad, ..Text::new(&noise, i, 2000) });
            let run = || collect(&engine, &Function::hash(Algorithm::Sm3), texts);
            let panic = catch_unwind(AssertUnwindSafe(run)).unwrap_err();
            assert_eq!(panic.downcast_ref::<&str>(), Some(&"boom"));
        }
        let texts = (0..2000).map(|i| Text::new(&noise, i, 2000));
        check(
            &Function::hash(Algorithm::Sm3),
            &collect(&engine, &Function::hash(Algorithm::Sm3), texts),
        );
        assert!(messages_of(&engine, "cuda:0") >= 2000);
    }
}

#[cfg(unix)]
#[test]
fn sources_wait_for_files_to_be_closed() {
    let _emulator = emulator("");
    let noise = noise();
    for device in ["all", "cuda"] {
        for (threads, open_at_most) in [(1, 1), (3, 1), (3, 4), (4, 20)] {
            let engine = engine_with(device.parse().unwrap(), threads, ring());
            let open = Arc::new(Open::default());
            let texts = (0..600).map(|i| {
                let mut text = Text::new(&noise, i, i * 7919 % (LIMIT + 9000));
                text.open = Arc::clone(&open);
                text.open_at_most = open_at_most;
                text.may_wait = i % 50 == 7;
                text.hint = text.hint.filter(|_| i % 3 == 0);
                text
            });
            let function = Function::hash(Algorithm::Sm3);
            let all = collect(&engine, &function, texts);
            assert_eq!(all.len(), 600);
            check(&function, &all);
            assert!(open.refused.load(SeqCst) < 3000, "{open:?}");
        }
    }
    // Where none can be opened, each fails.
    let engine = engine("cuda");
    let texts = (0..400).map(|i| Text { open_at_most: 0, ..Text::new(&noise, i, 10) });
    for done in collect(&engine, &Function::hash(Algorithm::Sm3), texts) {
        assert_eq!(done.result.unwrap_err().raw_os_error(), Some(24));
    }
}

/// A GPU does wrong what `fault` says: everything is right all the same, and one warning names the
/// GPU and says `text`.
fn fault_midway(fault: &str, text: &str, ring: RingConfig) {
    // One that has failed stays so, for the whole process; one that hangs lets nobody open it.
    static NEXT: AtomicU32 = AtomicU32::new(3);
    let ordinal = NEXT.fetch_add(1, SeqCst);
    let id = format!("cuda:{ordinal}");
    let noise = noise();
    let _emulator = emulator("");
    install(Driver::Cuda, &format!("devices={}", ordinal + 1));
    let engine = engine_with(Device::Cuda(Some(ordinal)), 3, ring);
    engine.warnings();
    // The self-test of an opened GPU is over: what follows are the batches.
    let fault: Vec<_> = fault.split(',').map(|fault| format!("{fault}@{ordinal}")).collect();
    install(Driver::Cuda, &fault.join(","));
    let function = Function::hmac(Algorithm::Sm3, b"secret");
    // A busy machine's CPU threads may take most of a run: what the fault waits for comes in a later
    // one.
    let mut warnings = Vec::new();
    for round in 1..=100 {
        let texts = (0..3000).map(|i| Text::new(&noise, i, i * 31 % 4000));
        let all = collect(&engine, &function, texts);
        assert_eq!(all.len(), 3000);
        check(&function, &all);
        assert_eq!(messages_of(&engine, "cpu") + messages_of(&engine, &id), round * 3000);
        warnings = engine.warnings();
        if !warnings.is_empty() {
            break;
        }
    }
    assert_eq!(warnings.len(), 1, "{fault:?}: {warnings:?}");
    assert!(warnings[0].starts_with(&format!("{id} is given up")), "{warnings:?}");
    assert!(warnings[0].contains(text), "{warnings:?}");
    assert!(messages_of(&engine, "cpu") > 0, "someone else did its part");
    // The next run knows.
    let texts = (0..100).map(|i| Text::new(&noise, i, i));
    check(&function, &collect(&engine, &function, texts));
    assert_eq!(engine.warnings(), [""; 0], "told once");
}

#[test]
fn a_launch_that_fails_is_done_elsewhere() {
    fault_midway("fail_launch=9,fail_at_call=1", "(719)", ring());
    fault_midway("fail_launch=9,fail_at_call=0", "(719)", ring());
}

#[test]
fn a_copy_that_fails_is_done_elsewhere() {
    fault_midway("fail_copy=9", "(719)", ring());
}

#[test]
fn a_gpu_that_hangs_is_left_behind() {
    let short = RingConfig { deadline: Duration::from_millis(300), ..ring() };
    fault_midway("hang_launch=9", "no answer", short);
}

#[test]
fn a_wrong_digest_is_not_handed_out() {
    // Every digest of the batch is wrong, so the sample is.
    fault_midway("flip_launch=3", "wrong digests", ring());
}

#[test]
fn a_gpu_without_memory_is_given_up() {
    // With several slots, it would make do with those that it gets.
    fault_midway("fail_alloc=1", "out of GPU memory", RingConfig { slots: 1, ..ring() });
}

#[test]
fn auto_opens_gpus_beside_the_work() {
    let _emulator = emulator("");
    let noise = noise();
    let engine = engine("auto");
    let joined = AtomicBool::new(false);
    let texts =
        (0..).map(|i| Text::new(&noise, i % 1000, 30_000)).take_while(|_| !joined.load(SeqCst));
    let begun = Instant::now();
    let function = Function::hash(Algorithm::Sm3);
    let mut count = 0;
    let end = engine.hash_sources(&function, &Progress::new(), texts, |done| {
        assert_eq!(done.index, count);
        assert!(begun.elapsed() < Duration::from_secs(60), "no GPU joins");
        if count % 64 == 0 || joined.load(Relaxed) {
            let summary = done.result.expect("readable");
            assert_eq!(summary.digest, function.of(done.source.bytes()));
        }
        joined.store(messages_of_gpus(&engine) > 0, SeqCst);
        count += 1;
        ControlFlow::<()>::Continue(())
    });
    assert!(end.is_continue() && joined.load(SeqCst));
    assert_eq!(messages_of(&engine, "cpu") + messages_of_gpus(&engine), count as u64);
}

#[test]
fn little_work_wakes_no_gpu() {
    let _emulator = emulator("");
    let noise = noise();
    let launches = || manylane_emulator::count(Driver::Cuda, 0, "launches");
    let before = launches();
    for device in ["auto", "cpu"] {
        let engine = engine(device);
        let texts = (0..300).map(|i| Text::new(&noise, i, 3000));
        check(
            &Function::hash(Algorithm::Sm3),
            &collect(&engine, &Function::hash(Algorithm::Sm3), texts),
        );
        assert!(engine.explain(Algorithm::Sm3).gpus.is_empty());
        assert_eq!(messages_of(&engine, "cpu"), 300);
    }
    assert_eq!(launches(), before);
}

#[test]
fn several_callers_share_the_gpus() {
    let _emulator = emulator("");
    let noise = noise();
    let engine = engine("all");
    std::thread::scope(|scope| {
        for seed in 10..14 {
            let (engine, noise) = (&engine, &noise);
            scope.spawn(move || {
                for round in 0..3 {
                    let texts = any_texts(&mut Random(seed + 100 * round), noise, 300);
                    check(
                        &Function::hash(Algorithm::Sm3),
                        &collect(engine, &Function::hash(Algorithm::Sm3), texts),
                    );
                }
            });
        }
    });
    assert_eq!(engine.warnings(), [""; 0]);
}

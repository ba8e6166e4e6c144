//! A forked child has none of its parent's threads, and still hashes.
#![cfg(unix)]
#![allow(unsafe_code)]

use std::{
    num::NonZeroUsize,
    ops::ControlFlow,
    sync::{
        OnceLock,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    thread,
    time::{Duration, Instant},
};

use manylane::{
    Messages,
    sm3::{self, Midstate},
};
use manylane_engine::{Batcher, BatcherConfig, Closed, Config, Engine, Function, Progress};

fn engine() -> &'static Engine {
    static ENGINE: OnceLock<Engine> = OnceLock::new();
    // Threads whatever the number of cores; where there are several, the global engine too.
    ENGINE.get_or_init(|| {
        Engine::new(Config { threads: NonZeroUsize::new(4), ..Config::default() }).unwrap()
    })
}

fn uses_threads(data: &[u8]) -> bool {
    let messages = Messages::strided(data, 4096, 4096, data.len() / 4096).unwrap();
    let mut out = vec![[0; 32]; messages.len()];
    let mut good = true;
    for engine in [engine(), Engine::global()] {
        engine.hash_many(&Midstate::default(), &messages, &mut out).unwrap();
        good &= (0..messages.len()).all(|i| out[i] == sm3::hash(messages.get(i)));
        let sources: Vec<&[u8]> = data.chunks(10_000).collect();
        let function = Function::hash();
        let _ = engine.hash_sources(&function, &Progress::new(), sources, |done| {
            good &= done.result.unwrap().digest == sm3::hash(done.source);
            ControlFlow::<()>::Continue(())
        });
    }
    good
}

/// Runs `child` in a forked process; whether it returned true within a minute.
fn in_child(child: impl FnOnce() -> bool) -> bool {
    // SAFETY: the child calls nothing that waits for a thread of the parent, which is what this
    // tests, and leaves by `_exit`.
    let pid = unsafe { libc::fork() };
    assert!(pid >= 0, "fork");
    if pid == 0 {
        let good = child();
        // SAFETY: ends the process without running the parent's handlers.
        unsafe { libc::_exit(i32::from(!good)) };
    }
    let start = Instant::now();
    loop {
        let mut status = -1;
        // SAFETY: `status` is where the status goes.
        let ended = unsafe { libc::waitpid(pid, &raw mut status, libc::WNOHANG) };
        if ended == pid {
            return status == 0;
        }
        if start.elapsed() > Duration::from_secs(60) {
            // SAFETY: a child of this process that has not been waited for.
            unsafe { libc::kill(pid, libc::SIGKILL) };
            return false;
        }
        thread::sleep(Duration::from_millis(1));
    }
}

// One test: forks while another test runs would be another experiment.
#[test]
fn a_child_has_threads_of_its_own() {
    let data: Vec<u8> = (0..400_000u32).map(|i| (i.wrapping_mul(i) >> 7) as u8).collect();
    let batcher = Batcher::new(BatcherConfig::default());
    assert!(uses_threads(&data));
    assert_eq!(batcher.submit(*b"abc").wait(), Ok(sm3::hash(b"abc")));
    let slow = BatcherConfig { max_delay: Duration::from_secs(3600), ..BatcherConfig::default() };
    let slow = Batcher::new(slow);
    let pending = slow.submit(*b"parent's");

    // With idle threads, then with busy ones that hold locks at any time.
    let stop = AtomicBool::new(false);
    let rounds = thread::scope(|scope| {
        assert!(in_child(|| {
            uses_threads(&data)
                && batcher.submit(*b"abc").wait() == Ok(sm3::hash(b"abc"))
                && pending.wait() == Err(Closed)
                // A grandchild likewise.
                && in_child(|| uses_threads(&data))
        }));
        scope.spawn(|| {
            while !stop.load(SeqCst) {
                assert!(uses_threads(&data));
            }
        });
        let rounds = (0..8).take_while(|_| in_child(|| uses_threads(&data))).count();
        stop.store(true, SeqCst);
        rounds
    });
    assert_eq!(rounds, 8);
    assert!(uses_threads(&data));
}

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
    hash::{Algorithm, Midstate},
    sm3,
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
        engine
            .hash_many(&Midstate::new(Algorithm::Sm3), &messages, out.as_flattened_mut())
            .unwrap();
        good &= (0..messages.len()).all(|i| out[i] == sm3::hash(messages.get(i)));
        let sources: Vec<&[u8]> = data.chunks(10_000).collect();
        let function = Function::hash(Algorithm::Sm3);
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
    ended_well(pid)
}

/// Whether a child ended with success within a minute.
fn ended_well(pid: i32) -> bool {
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

/// Forks while a GPU is at work; whether parent and child end well, the child by breaking off.
#[cfg(not(target_feature = "crt-static"))]
fn a_child_breaks_off_what_a_gpu_is_at(data: &[u8]) -> bool {
    use manylane_emulator::{Driver, install};
    use manylane_engine::Device;
    use manylane_gpu::RingConfig;

    // So slow that it is always at work.
    install(Driver::Cuda, "devices=1,kernel_rate=20000000");
    let ring = RingConfig { slots: 3, slot_bytes: 64 << 10, ..RingConfig::default() };
    let device = Device::Cuda(None);
    let config = Config { device, threads: NonZeroUsize::new(1), ring: Some(ring) };
    let engine = Engine::new(config).unwrap();
    let function = Function::hash(Algorithm::Sm3);
    let sources: Vec<&[u8]> = data.chunks(1000).collect();
    let mut child = None;
    let end = engine.hash_sources(&function, &Progress::new(), sources, |done| {
        assert_eq!(done.result.unwrap().digest, sm3::hash(done.source));
        if done.index == 100 {
            // SAFETY: as in `in_child`.
            let pid = unsafe { libc::fork() };
            assert!(pid >= 0, "fork");
            if pid == 0 {
                return ControlFlow::Break(());
            }
            child = Some(pid);
        }
        ControlFlow::Continue(())
    });
    if end.is_break() {
        let mut good = true;
        let _ = engine.hash_sources(&function, &Progress::new(), data.chunks(999), |done| {
            good &= done.result.unwrap().digest == sm3::hash(done.source);
            ControlFlow::<()>::Continue(())
        });
        drop(engine);
        // SAFETY: as in `in_child`.
        unsafe { libc::_exit(i32::from(!good)) };
    }
    let of_gpu = engine.shares().iter().find(|share| share.device == "cuda:0").unwrap().messages;
    of_gpu == data.chunks(1000).len() as u64
        && engine.warnings().is_empty()
        && child.is_some_and(ended_well)
}

// One test: forks while another test runs would be another experiment.
#[test]
fn a_child_has_threads_of_its_own() {
    // Before an engine looks for GPUs, as it does after some work: whether there are is found out
    // once.
    #[cfg(not(target_feature = "crt-static"))]
    manylane_emulator::install(manylane_emulator::Driver::Cuda, "devices=1");
    let data: Vec<u8> = (0..400_000u32).map(|i| (i.wrapping_mul(i) >> 7) as u8).collect();
    let batcher = Batcher::new(BatcherConfig::default());
    assert!(uses_threads(&data));
    assert_eq!(batcher.submit(*b"abc").wait().unwrap(), sm3::hash(b"abc"));
    let slow = BatcherConfig { max_delay: Duration::from_secs(3600), ..BatcherConfig::default() };
    let slow = Batcher::new(slow);
    let pending = slow.submit(*b"parent's");

    // With idle threads, then with busy ones that hold locks at any time.
    let stop = AtomicBool::new(false);
    let rounds = thread::scope(|scope| {
        assert!(in_child(|| {
            uses_threads(&data)
                && batcher.submit(*b"abc").wait().is_ok_and(|digest| digest == sm3::hash(b"abc"))
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
    #[cfg(not(target_feature = "crt-static"))]
    assert!(a_child_breaks_off_what_a_gpu_is_at(&data));
}

//! What goes wrong outside of a batch, on emulated devices: a fork, a device that hangs from the
//! beginning, one that is not described, kernels that go while they are at work.
//!
//! Each test has a device of its own; one that needs a process of its own starts this program again.
#![allow(unsafe_code)]

use std::{
    env,
    process::Command,
    time::{Duration, Instant},
};

use manylane::{
    Messages,
    hash::{self, Algorithm, Midstate},
    sm3,
};
use manylane_emulator::{Driver, install};
use manylane_gpu::{
    DeviceBuffer, DeviceId, DeviceMessages, Error, Event, Gpu, KernelSet, Layout, Pending,
    PinnedBuffer, Ring, RingConfig, Slot, Sm3, Start, Stream, Vendor, devices,
};

const DEVICES: usize = 9;

fn device(ordinal: u32) -> Gpu {
    install(Driver::Cuda, &format!("devices={DEVICES}"));
    Gpu::open(DeviceId { vendor: Vendor::Cuda, ordinal }).unwrap()
}

/// Runs this in a forked child, which must end as it should.
fn in_child(child: impl FnOnce() -> bool) {
    // SAFETY: the child touches only what is its own, takes no lock that could be held, and ends.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        let code = if child() { 0 } else { 1 };
        // SAFETY: ends the child at once.
        unsafe { libc::_exit(code) };
    }
    let mut status = -1;
    // SAFETY: waits for the child above.
    assert_eq!(unsafe { libc::waitpid(pid, &mut status, 0) }, pid);
    assert_eq!(status, 0, "11 is a touch of memory that the child does not have");
}

/// Everything that has page-locked memory.
type All<'a> = (PinnedBuffer, Ring, Slot, Pending<'a>);

/// The emulated driver's page-locked memory is not in a child: to touch it there is a fault.
#[test]
fn a_forked_child_leaves_page_locked_memory_alone() {
    let gpu = device(0);
    let config =
        RingConfig { slots: 4, slot_bytes: 1 << 16, max_messages: 4096, ..RingConfig::default() };
    let ring = Ring::new(&gpu, config).unwrap();
    let (data, keys) = ([7; 6400], [1; 1600]);
    let messages = Messages::strided(&data, 64, 64, 100).unwrap();
    let keys = Messages::strided(&keys, 16, 16, 100).unwrap();
    let start = Midstate::new(Algorithm::Sm3).then(b"secret");
    let mut slot = ring.try_slot().unwrap().unwrap();
    slot.load(&messages).unwrap();
    let mut loaded = ring.try_slot().unwrap().unwrap();
    loaded.load_hmac(&keys, &messages).unwrap();
    drop(ring.try_slot().unwrap());
    let pending = slot.submit(Start::Hash(&start)).unwrap();
    pending.wait().unwrap();
    let mut all: Option<All> =
        Some((PinnedBuffer::new(&gpu, 5000).unwrap(), ring, loaded, pending));
    in_child(|| {
        let forked = Error::Forked(Vendor::Cuda);
        let (pinned, ring, mut loaded, pending) = all.take().unwrap();
        let told = loaded.load(&messages) == Err(forked.clone())
            && loaded.staging().err() == Some(forked.clone())
            && ring.try_slot().err() == Some(forked.clone())
            && pending.is_done() == Err(forked);
        drop((pinned, loaded, pending, ring));
        told
    });
    let (_pinned, _ring, loaded, pending) = all.take().unwrap();
    drop(loaded.submit(Start::Hmac).unwrap());
    let (mut digests, mut want) = (vec![0; 3200], vec![1; 3200]);
    pending.finish(&mut digests).unwrap();
    hash::hash_many(&start, &messages, &mut want).unwrap();
    assert_eq!(digests, want);
}

#[test]
fn a_forked_child_leaves_a_ring_alone_that_was_given_up() {
    let gpu = device(1);
    let deadline = Duration::from_millis(100);
    let config = RingConfig {
        slots: 2,
        slot_bytes: 1 << 16,
        max_messages: 4096,
        deadline,
        ..RingConfig::default()
    };
    let ring = Ring::new(&gpu, config).unwrap();
    let (mut slot, spare) = (ring.try_slot().unwrap().unwrap(), ring.try_slot().unwrap().unwrap());
    drop(spare);
    install(Driver::Cuda, "hang_launch=1@1");
    slot.load(&Messages::slices(&[b"abc"])).unwrap();
    let pending = slot.submit(Start::Hash(&Midstate::new(Algorithm::Sm3).then(b"secret"))).unwrap();
    assert!(matches!(pending.wait(), Err(Error::Deadline(_))) && ring.is_lost());
    let mut all = Some((pending, ring));
    in_child(|| {
        drop(all.take());
        true
    });
}

#[test]
#[ignore = "run by the other tests, in processes of their own"]
fn child() {
    install(Driver::Cuda, "");
    let gpu = Gpu::open(DeviceId { vendor: Vendor::Cuda, ordinal: 0 }).unwrap();
    let since = Instant::now();
    let error = Sm3::new(&gpu).unwrap_err();
    println!("after {} s: {error}", since.elapsed().as_secs());
    // What hangs is not tried again.
    assert_eq!(Sm3::new(&gpu).unwrap_err(), error);
    assert!(since.elapsed() < Duration::from_secs(15));
}

/// The first answers are waited for so long, and nothing after them.
#[test]
fn a_device_that_hangs_from_the_beginning_is_told() {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", "child", "--ignored", "--nocapture", "--test-threads=1"]);
    let output = command.env("MANYLANE_EMULATOR", "hang_launch=3").output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("after 10 s: no answer from the GPU after 10."), "{said}");
}

/// Another function's first use finds a device that has come to hang: nothing of it is waited for any more.
#[test]
fn a_ring_is_lost_with_a_device_that_hangs_at_further_kernels() {
    let gpu = device(7);
    let ring = Ring::new(&gpu, RingConfig { slots: 2, ..RingConfig::default() }).unwrap();
    drop(ring.try_slot().unwrap());
    install(Driver::Cuda, "hang_launch=1@7");
    let error = ring.load(KernelSet::Sha3).unwrap_err();
    assert!(matches!(error, Error::Deadline(_)), "{error}");
    assert!(ring.is_lost() && !ring.has(KernelSet::Sha3));
    assert!(matches!(ring.load(KernelSet::Sha3), Err(Error::Lost(_))));
    // What hangs is not tried again.
    let since = Instant::now();
    let other = Ring::new(&gpu, RingConfig::default()).unwrap();
    assert_eq!(other.load(KernelSet::Sha3), Err(error));
    assert!(other.is_lost() && since.elapsed() < Duration::from_secs(5));
}

#[test]
fn a_device_that_is_not_described_hides_no_other() {
    drop(device(2));
    install(Driver::Cuda, "fail_info=1@3");
    let found = devices(Vendor::Cuda).unwrap();
    assert_eq!((found.len(), &found[2].name[..]), (DEVICES, "manylane emulated GPU"));
    assert_eq!((found[3].id.ordinal, &found[3].name[..], found[3].memory), (3, "", 0));
    let error = Gpu::open(found[3].id).unwrap_err();
    assert!(matches!(error, Error::Call { call: "cuDeviceGetAttribute", .. }), "{error}");
    assert!(Gpu::open(found[4].id).is_ok());
}

/// The emulated driver aborts if kernels go that are at work.
/// Whoever looks after a batch learns why it failed, though others are dropped that had been done.
#[test]
fn a_finished_batch_does_not_hide_why_another_fails() {
    let gpu = device(8);
    let ring = Ring::new(&gpu, RingConfig { slots: 2, ..RingConfig::default() }).unwrap();
    let start = Midstate::new(Algorithm::Sm3);
    let messages = Messages::slices(&[b"abc"]);
    let submit = || {
        let mut slot = ring.try_slot().unwrap().unwrap();
        slot.load(&messages).unwrap();
        slot.submit(Start::Hash(&start)).unwrap()
    };
    let finished = submit();
    finished.wait().unwrap();
    install(Driver::Cuda, "fail_launch=1@8,fail_at_call=0@8");
    let failing = submit();
    // The device's own failure, seen without asking for either batch.
    let event = Event::new(&gpu).unwrap();
    let begun = Instant::now();
    while event.is_done().is_ok() && gpu.memory().is_ok() {
        assert!(begun.elapsed() < Duration::from_secs(10), "nothing fails");
        std::thread::sleep(Duration::from_millis(1));
    }
    drop(finished);
    assert!(!ring.is_lost(), "by one that had been done");
    let error = failing.wait().unwrap_err();
    assert!(matches!(error, Error::Call { code: 719, .. }), "{error}");
    assert!(ring.is_lost());
}

#[test]
fn kernels_outlive_their_work() {
    let gpu = device(5);
    let (stream, buffer) = (Stream::new(&gpu).unwrap(), DeviceBuffer::new(&gpu, 4096).unwrap());
    let sm3 = Sm3::new(&gpu).unwrap();
    let data = buffer.pointer();
    let layout = Layout::Strided { data, len: 64, stride: 64 };
    install(Driver::Cuda, "launch_ns=200000000@5");
    let (start, messages) = (sm3::Midstate::default(), DeviceMessages { count: 3, layout });
    // SAFETY: all of it is in the buffer, which is kept.
    unsafe { sm3.hash_many(&stream, &start, &messages, None, data.add(1024)) }.unwrap();
    drop(sm3);
    stream.synchronize().unwrap();
}

#[test]
#[should_panic(expected = "a block has threads")]
fn blocks_without_threads_are_refused() {
    Sm3::new(&device(6)).unwrap().with_block(0);
}

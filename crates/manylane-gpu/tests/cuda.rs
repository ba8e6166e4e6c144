//! The CUDA back end on emulated devices: what is said of devices, errors, faults, wiping, fork.
//!
//! Each test has a device of its own, for a device that has failed stays so. What lasts as long as
//! a process is tested in processes of their own: this program starts itself again.
#![allow(unsafe_code)]

use std::{
    env,
    process::{Command, Output},
};

use manylane::{
    Messages,
    sm3::{self, Midstate},
};
use manylane_emulator::{Driver, count, install};
use manylane_gpu::{
    DeviceBuffer, DeviceId, DeviceMessages, Error, Event, Gpu, Layout, PinnedBuffer, Sm3, Stream,
    Vendor, Workspace, devices,
};

fn device(ordinal: u32) -> Gpu {
    install(Driver::Cuda, "devices=12");
    Gpu::open(DeviceId { vendor: Vendor::Cuda, ordinal }).unwrap()
}

/// In a child: opens the first device, tests the kernels, and says what happened.
#[test]
#[ignore = "run by the other tests, in processes of their own"]
fn child() {
    install(Driver::Cuda, "");
    let gpu = Gpu::open(DeviceId { vendor: Vendor::Cuda, ordinal: 0 });
    match gpu.and_then(|gpu| Sm3::new(&gpu)) {
        Ok(_) => println!("ready"),
        Err(error) => println!("error: {error}"),
    }
}

/// What [`child`] says with settings of the emulator.
fn said_with(settings: &str) -> String {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", "child", "--ignored", "--nocapture", "--test-threads=1"]);
    let Output { status, stdout, stderr } =
        command.env("MANYLANE_EMULATOR", settings).output().unwrap();
    let stdout = String::from_utf8(stdout).unwrap();
    assert!(status.success(), "{stdout}{}", String::from_utf8_lossy(&stderr));
    let at = stdout.find("ready").or_else(|| stdout.find("error: "));
    stdout[at.unwrap_or_else(|| panic!("the child says neither: {stdout}"))..].to_string()
}

#[test]
fn a_device_is_described() {
    let gpu = device(1);
    let info = gpu.info();
    assert_eq!(info, &devices(Vendor::Cuda).unwrap()[1]);
    assert_eq!((info.id.to_string(), &info.name[..]), ("cuda:1".into(), "manylane emulated GPU"));
    assert_eq!((&info.architecture[..], &info.driver[..]), ("sm_90", "12.2"));
    assert_eq!((info.multiprocessors, info.warp, info.integrated), (1, 32, false));
    assert_eq!((info.memory, &info.pci[..]), (1 << 30, "0000:1b:00.0"));
    assert!(gpu.memory().unwrap().0 <= 1 << 30);
}

#[test]
fn memory_of_others_is_known_by_its_address_and_read() {
    let (gpu, other) = (device(10), device(11));
    let stream = Stream::new(&gpu).unwrap();
    let mut buffer = DeviceBuffer::new(&gpu, 100).unwrap();
    buffer.write(0, &[7; 100], &stream).unwrap();
    let at = buffer.pointer();
    // Whichever device of the vendor is asked.
    for asked in [&gpu, &other] {
        assert_eq!(asked.device_of(at).unwrap(), Some(gpu.info().id));
        assert_eq!(asked.device_of(at.add(99)).unwrap(), Some(gpu.info().id));
        assert_eq!(asked.device_of(at.add(1 << 40)).unwrap(), None);
        let on_host = manylane_gpu::DevicePointer(std::ptr::from_ref(&stream).addr() as u64);
        assert_eq!(asked.device_of(on_host).unwrap(), None);
    }
    let mut bytes = [0; 10];
    // SAFETY: the buffer has so many bytes there, and is alive.
    unsafe { stream.read(at.add(90), &mut bytes).unwrap() };
    assert_eq!(bytes, [7; 10]);
}

#[test]
fn what_is_wrong_with_the_driver_is_said() {
    assert!(said_with("").starts_with("ready"));
    let old = said_with("driver_version=11080");
    assert!(
        old.contains("no CUDA driver") && old.contains("11.8") && old.contains("12.2"),
        "{old}"
    );
    let none = said_with("devices=0");
    assert!(none.contains("no device 'cuda:0'") && none.contains("finds no GPU"), "{none}");
    let broken = said_with("init_code=999");
    assert!(broken.contains("cuInit failed") && broken.contains("999"), "{broken}");
    let log = said_with("fail_compile=1");
    assert!(log.contains("cannot compile") && log.contains("ptxas fatal"), "{log}");
    let memory = said_with("memory=1000");
    assert!(memory.contains("out of GPU memory: cuMemAlloc"), "{memory}");
    let wrong = said_with("flip_launch=1");
    assert!(wrong.contains("kernel sm3_hash_many computes wrong digests"), "{wrong}");
}

#[test]
fn a_device_that_is_not_there_is_told_from_those_that_are() {
    drop(device(0));
    let id = DeviceId { vendor: Vendor::Cuda, ordinal: 12 };
    assert_eq!(Gpu::open(id).unwrap_err(), Error::NoDevice { id, count: 12 });
}

#[test]
fn no_memory_left_says_how_much_was_asked_for() {
    let gpu = device(2);
    install(Driver::Cuda, "memory=100000@2");
    let bytes = 1 << 20;
    let error = DeviceBuffer::new(&gpu, bytes).unwrap_err();
    assert_eq!(error, Error::OutOfMemory { call: "cuMemAlloc", bytes });
    install(Driver::Cuda, "fail_alloc=1@2");
    let error = PinnedBuffer::new(&gpu, bytes).unwrap_err();
    assert_eq!(error, Error::OutOfMemory { call: "cuMemHostAlloc", bytes });
    PinnedBuffer::new(&gpu, bytes).unwrap();
}

#[test]
fn a_launch_that_fails_says_so_at_the_call_or_later() {
    for (ordinal, at_call) in [(3, false), (4, true)] {
        let gpu = device(ordinal);
        let (sm3, stream) = (Sm3::new(&gpu).unwrap(), Stream::new(&gpu).unwrap());
        let buffer = DeviceBuffer::new(&gpu, 4096).unwrap();
        let data = buffer.pointer();
        let messages =
            DeviceMessages { count: 3, layout: Layout::Strided { data, len: 5, stride: 5 } };
        let settings = format!("fail_launch=1@{ordinal},fail_at_call={}@{ordinal}", at_call as u8);
        install(Driver::Cuda, &settings);
        let start = Midstate::default();
        // SAFETY: all of it is in the buffer, which is kept.
        let called = unsafe { sm3.hash_many(&stream, &start, &messages, None, data.add(1024)) };
        let (error, name) = match at_call {
            true => (called.unwrap_err(), "cuLaunchKernel"),
            false => {
                (called.and_then(|()| stream.synchronize()).unwrap_err(), "cuStreamSynchronize")
            }
        };
        let Error::Call { vendor: Vendor::Cuda, call, code: 719, text } = error else {
            panic!("{error:?}");
        };
        assert_eq!((call, &text[..]), (name, "CUDA_ERROR_LAUNCH_FAILED: of an emulated GPU"));
        assert_eq!(Event::new(&gpu).is_err(), !at_call, "a device that has failed stays so");
    }
}

#[test]
fn memory_is_wiped_before_it_goes_back() {
    let gpu = device(5);
    let stream = Stream::new(&gpu).unwrap();
    let unwiped = || count(Driver::Cuda, 5, "unwiped");
    let mut buffer = DeviceBuffer::new(&gpu, 1 << 20).unwrap();
    buffer.fill(0x77, &stream).unwrap();
    // Still on its way when the buffer goes.
    drop(buffer);
    let mut pinned = PinnedBuffer::new(&gpu, 5000).unwrap();
    pinned.fill(0x77);
    drop(pinned);
    assert_eq!(unwiped(), 0);
    // On a device that has failed nothing can be wiped: the count sees that.
    let mut buffer = DeviceBuffer::new(&gpu, 100).unwrap();
    buffer.write(0, &[0x77; 100], &stream).unwrap();
    install(Driver::Cuda, "fail_copy=1@5");
    assert!(buffer.read(0, &mut [0; 1], &stream).is_err());
    drop(buffer);
    assert_eq!(unwiped(), 1);
}

#[test]
fn page_locked_memory_is_told_from_other() {
    let gpu = device(6);
    let pinned = PinnedBuffer::new(&gpu, 100).unwrap();
    assert!(gpu.is_pinned(&pinned) && gpu.is_pinned(&pinned[99..]));
    assert!(!gpu.is_pinned(&[0; 100]) && !gpu.is_pinned(&[]));
}

#[test]
fn a_forked_child_is_told_and_touches_nothing() {
    let gpu = device(7);
    let buffer = DeviceBuffer::new(&gpu, 100).unwrap();
    // SAFETY: the child only asks for devices, which takes no lock that could be held, and ends.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        let id = DeviceId { vendor: Vendor::Cuda, ordinal: 7 };
        let told = matches!(Gpu::open(id), Err(Error::Forked(Vendor::Cuda)))
            && matches!(gpu.memory(), Err(Error::Forked(Vendor::Cuda)))
            && matches!(Sm3::new(&gpu), Err(Error::Forked(Vendor::Cuda)));
        drop(buffer);
        // SAFETY: ends the child at once.
        unsafe { libc::_exit(if told { 0 } else { 1 }) };
    }
    let mut status = -1;
    // SAFETY: waits for the child above.
    assert_eq!(unsafe { libc::waitpid(pid, &mut status, 0) }, pid);
    assert_eq!(status, 0);
}

#[test]
fn only_what_is_ordered_is_taken_in_parts() {
    let gpu = device(9);
    let (sm3, stream) = (Sm3::new(&gpu).unwrap(), Stream::new(&gpu).unwrap());
    let (count, launches) = (1000, || count(Driver::Cuda, 9, "launches"));
    let mut data = DeviceBuffer::new(&gpu, 8 * (count + 1)).unwrap();
    let out = DeviceBuffer::new(&gpu, 32 * count).unwrap();
    let mut workspace = Workspace::new(&gpu, 100).unwrap();
    data.fill(0, &stream).unwrap();
    let data = data.pointer();
    let rows = Layout::Strided { data, len: 8, stride: 8 };
    let offsets = Layout::Offsets64 { data, offsets: data, base: 0 };
    for (layout, expected) in [(rows, 1), (offsets, 10)] {
        let (messages, start) = (DeviceMessages { count, layout }, Midstate::default());
        let before = launches();
        // SAFETY: the messages are the data, or empty, and all is kept until the wait is over.
        unsafe {
            sm3.hash_many(&stream, &start, &messages, Some(&mut workspace), out.pointer()).unwrap();
        }
        stream.synchronize().unwrap();
        assert_eq!(launches() - before, expected, "{layout:?}");
    }
}

/// Of unlike messages that are hardly more than fit on the device at once (the emulated one has one
/// multiprocessor), fewer are at work at a time: by shared memory that is asked for.
#[test]
fn few_unlike_messages_are_kept_fewer_at_a_time() {
    let gpu = device(8);
    let (sm3, stream) = (Sm3::new(&gpu).unwrap(), Stream::new(&gpu).unwrap());
    let sharing = || count(Driver::Cuda, 8, "sharing");
    for (count, limited) in [(128, 0), (129, 1), (1000, 1), (1791, 1), (1792, 0)] {
        let ends: Vec<u64> = (0..=count as u64).map(|i| i * i % 64 + i * 64).collect();
        let text = vec![7; ends[count] as usize + 16];
        let mut data = DeviceBuffer::new(&gpu, text.len()).unwrap();
        data.write(0, &text, &stream).unwrap();
        let bytes: Vec<u8> = ends.iter().flat_map(|end| end.to_ne_bytes()).collect();
        let mut offsets = DeviceBuffer::new(&gpu, bytes.len()).unwrap();
        offsets.write(0, &bytes, &stream).unwrap();
        let out = DeviceBuffer::new(&gpu, 32 * count).unwrap();
        let (data, offsets) = (data.pointer(), offsets.pointer());
        let messages =
            DeviceMessages { count, layout: Layout::Offsets64 { data, offsets, base: 0 } };
        let mut workspace = Workspace::new(&gpu, count).unwrap();
        let (start, before) = (Midstate::default(), sharing());
        // SAFETY: all was uploaded, and is kept until the digests are read.
        unsafe {
            sm3.hash_many(&stream, &start, &messages, Some(&mut workspace), out.pointer()).unwrap();
        }
        let mut digests = vec![[0; 32]; count];
        out.read(0, digests.as_flattened_mut(), &stream).unwrap();
        assert_eq!(sharing() - before, limited, "{count} messages");
        let mut want = vec![[0; 32]; count];
        sm3::hash_many(&Messages::offsets64(&text, &ends).unwrap(), &mut want).unwrap();
        assert_eq!(digests, want, "{count} messages");
    }
}

//! CPU and emulated GPUs together: right results whatever the shape of the batch, whoever computes
//! it, and whatever a GPU does wrong.
#![cfg(not(target_feature = "crt-static"))]

use std::{
    num::NonZeroUsize,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU32, Ordering::SeqCst},
    },
    time::{Duration, Instant},
};

use manylane::{
    Messages,
    hash::{self, Algorithm, Midstate},
    sm3,
};
use manylane_emulator::{Driver, install};
use manylane_engine::{Batcher, BatcherConfig, Config, Device, Engine, Error};
use manylane_gpu::RingConfig;

/// What `out` holds before: no digest.
const POISON: [u8; 32] = [0x5a; 32];

/// The emulator belongs to the whole process, so one test at a time has it.
fn emulator(settings: &str) -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    let guard = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let none =
        "fail_alloc=0,fail_copy=0,fail_launch=0,hang_launch=0,flip_launch=0,memory=1073741824";
    let usual = "devices=3,copy_rate=0,integrated=0,fail_compile=0,fail_info=0";
    install(Driver::Cuda, &format!("{usual},{none},{settings}"));
    guard
}

fn ring() -> RingConfig {
    let deadline = Duration::from_secs(20);
    RingConfig {
        slots: 3,
        slot_bytes: 256 << 10,
        max_messages: 1 << 12,
        deadline,
        ..RingConfig::default()
    }
}

fn engine_with(device: Device, ring: RingConfig) -> Engine {
    let threads = NonZeroUsize::new(3);
    Engine::new(Config { device, threads, ring: Some(ring) }).unwrap()
}

fn engine(device: Device) -> Engine {
    engine_with(device, ring())
}

struct Noise(u64);

impl Noise {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        self.0 ^ self.0 >> 29
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() >> 8) as usize % end
    }

    fn bytes(&mut self, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        bytes.iter_mut().for_each(|byte| *byte = (self.next() >> 40) as u8);
        bytes
    }
}

/// Offsets of random lengths up to `longest`, in data of `len` bytes.
fn offsets(noise: &mut Noise, len: usize, longest: usize) -> Vec<u64> {
    let mut offsets = vec![noise.below(100) as u64];
    loop {
        let next = offsets[offsets.len() - 1] + noise.below(longest) as u64;
        if next > len as u64 {
            return offsets;
        }
        offsets.push(next);
    }
}

fn expected(start: &Midstate, messages: &Messages) -> Vec<u8> {
    let mut out = room(start, messages);
    hash::hash_many(start, messages, &mut out).unwrap();
    out
}

fn room(start: &Midstate, messages: &Messages) -> Vec<u8> {
    POISON[0..1].repeat(start.digest_len() * messages.len())
}

fn check(engine: &Engine, start: &Midstate, messages: &Messages) {
    let mut out = room(start, messages);
    engine.hash_many(start, messages, &mut out).unwrap();
    assert!(out == expected(start, messages), "{messages:?} on {engine:?}");
}

fn messages_of_gpus(engine: &Engine) -> u64 {
    engine.shares().iter().skip(1).map(|share| share.messages).sum()
}

fn messages_of(engine: &Engine, device: &str) -> u64 {
    let shares = engine.shares();
    shares.iter().find(|share| share.device == device).map_or(0, |share| share.messages)
}

#[test]
fn every_shape_gives_the_cpus_digests() {
    let _emulator = emulator("integrated=1@1");
    let mut noise = Noise(1);
    let data = noise.bytes(3 << 20);
    for device in ["all", "cuda:1"] {
        let engine = engine(device.parse().unwrap());
        for round in 0..6 {
            let start = match round {
                0 => Midstate::new(Algorithm::Sm3),
                1 => Midstate::new(Algorithm::Sm3).then(&data[..noise.below(200)]),
                2 => Midstate::new(Algorithm::Sha3_256),
                3 => Midstate::new(Algorithm::Sha3_224).then(&data[..noise.below(500)]),
                4 => Midstate::new(Algorithm::Sha3_512),
                _ => Midstate::with_digest_len(Algorithm::Shake128, 1 + noise.below(400)),
            };
            let len = noise.below(3000);
            let stride = (len + noise.below(90)).max(1);
            let count = (data.len() / stride).min(30_000);
            check(&engine, &start, &Messages::strided(&data, len, stride, count).unwrap());
            let longest = [200, 3000, 40_000][round % 3];
            let offsets = offsets(&mut noise, data.len(), longest);
            check(&engine, &start, &Messages::offsets64(&data, &offsets).unwrap());
            let offsets: Vec<u32> = offsets.iter().map(|&offset| offset as u32).collect();
            let messages = Messages::offsets32(&data, &offsets).unwrap();
            check(&engine, &start, &messages);
            let slices: Vec<&[u8]> = (0..messages.len()).map(|i| messages.get(i)).collect();
            check(&engine, &start, &Messages::slices(&slices));
        }
        if device == "all" {
            // Of which GPUs take their part however fast the processor is.
            let much = noise.bytes(32 << 20);
            let messages = Messages::strided(&much, 1000, 1000, much.len() / 1000).unwrap();
            check(&engine, &Midstate::new(Algorithm::Sm3), &messages);
        }
        assert!(messages_of_gpus(&engine) > 0, "{:?}", engine.shares());
        if device != "all" {
            assert_eq!(messages_of(&engine, "cpu"), 0);
            assert_eq!(engine.shares().len(), 2);
        }
        assert_eq!(engine.warnings(), [""; 0]);
    }
}

#[test]
fn macs_are_the_cpus() {
    let _emulator = emulator("integrated=1@0");
    let mut noise = Noise(2);
    let data = noise.bytes(4 << 20);
    for device in [Device::All, Device::Cuda(None)] {
        let engine = engine(device);
        for key_len in [1, 32, 64, 65, 200] {
            let offsets = offsets(&mut noise, data.len(), 2000);
            let messages = Messages::offsets64(&data, &offsets).unwrap();
            let keys = Messages::strided(&data, key_len, key_len, messages.len()).unwrap();
            let mut right = vec![POISON; messages.len()];
            sm3::hmac_many(&keys, &messages, &mut right).unwrap();
            let mut out = vec![POISON; messages.len()];
            engine.hmac_many(&keys, &messages, &mut out).unwrap();
            assert!(out == right, "{key_len} bytes of key");
        }
        assert!(device == Device::All || messages_of_gpus(&engine) > 0);
    }
}

#[test]
fn data_that_is_page_locked_is_read_in_place() {
    // By the first the memory itself, by others in copies that no thread makes.
    let _emulator = emulator("integrated=1@0");
    let gpu = manylane_gpu::Gpu::open("cuda:0".parse().unwrap()).unwrap();
    let mut data = manylane_gpu::PinnedBuffer::new(&gpu, 2 << 20).unwrap();
    let mut noise = Noise(3);
    data.copy_from_slice(&noise.bytes(2 << 20));
    for device in [Device::All, Device::Cuda(Some(0)), Device::Cuda(Some(1))] {
        let engine = engine(device);
        for (len, stride) in [(512, 512), (512, 520), (55, 55), (55, 64), (0, 1)] {
            let count = (data.len() / stride).min(50_000);
            let messages = Messages::strided(&data, len, stride, count).unwrap();
            check(&engine, &Midstate::new(Algorithm::Sm3), &messages);
        }
        let offsets = offsets(&mut noise, data.len(), 900);
        check(
            &engine,
            &Midstate::new(Algorithm::Sm3),
            &Messages::offsets64(&data, &offsets).unwrap(),
        );
        assert!(messages_of_gpus(&engine) > 0);
        assert_eq!(engine.warnings(), [""; 0]);
    }
}

#[test]
fn what_is_longer_than_a_slot_stays_on_the_cpu() {
    let _emulator = emulator("");
    let mut noise = Noise(4);
    let data = noise.bytes(4 << 20);
    let mut slices: Vec<&[u8]> = data.chunks(1000).collect();
    slices.insert(17, &data[..300 << 10]);
    slices.push(&data[5..][..1 << 20]);
    for device in [Device::All, Device::Cuda(Some(0))] {
        let engine = engine(device);
        check(&engine, &Midstate::new(Algorithm::Sm3), &Messages::slices(&slices));
        assert!(messages_of(&engine, "cpu") >= 2);
        assert!(device == Device::All || messages_of_gpus(&engine) > 0);
    }
    // With its key, a message may be too long for a slot that it fits alone.
    let engine = engine(Device::Cuda(Some(0)));
    let messages: Vec<&[u8]> = data.chunks((256 << 10) - 10).collect();
    let keys = Messages::strided(&data, 40, 40, messages.len()).unwrap();
    let messages = Messages::slices(&messages);
    let mut right = vec![POISON; messages.len()];
    sm3::hmac_many(&keys, &messages, &mut right).unwrap();
    let mut out = vec![POISON; messages.len()];
    engine.hmac_many(&keys, &messages, &mut out).unwrap();
    assert_eq!(out, right);
}

#[test]
fn digests_longer_than_a_rings_room_stay_on_the_cpu() {
    let _emulator = emulator("");
    let data = Noise(7).bytes(100_000);
    let messages = Messages::strided(&data, 1000, 1000, 20).unwrap();
    let ring = RingConfig { max_messages: 4, ..ring() };
    for device in [Device::All, Device::Cuda(Some(0))] {
        let engine = engine_with(device, ring.clone());
        // Room for one at a time, and for none.
        for digest_len in [128, 129] {
            let start = Midstate::with_digest_len(Algorithm::Shake256, digest_len);
            check(&engine, &start, &messages);
        }
        assert!(device == Device::All || messages_of_gpus(&engine) == 20);
    }
}

/// A GPU does wrong what `fault` says, once or for ever: everything is right all the same, and one
/// warning names the GPU and says `text`. `with_others` is whether others take part.
fn fault_midway(fault: &str, text: &str, ring: RingConfig, with_others: bool) {
    // One that has failed stays so, for the whole process; one that hangs lets nobody open it.
    static NEXT: AtomicU32 = AtomicU32::new(4);
    let ordinal = if with_others { 3 } else { NEXT.fetch_add(1, SeqCst) };
    let id = format!("cuda:{ordinal}");
    let mut noise = Noise(5);
    let data = noise.bytes(3 << 20);
    let offsets = offsets(&mut noise, data.len(), if with_others { 200 } else { 2000 });
    let messages = Messages::offsets64(&data, &offsets).unwrap();
    let right = expected(&Midstate::new(Algorithm::Sm3), &messages);
    let _emulator = emulator("");
    install(Driver::Cuda, &format!("devices={}", ordinal + 1));
    let device = if with_others { Device::All } else { Device::Cuda(Some(ordinal)) };
    let engine = engine_with(device, ring);
    engine.warnings();
    // The self-test of an opened GPU is over: what follows is the batch.
    let fault: Vec<_> = fault.split(',').map(|fault| format!("{fault}@{ordinal}")).collect();
    install(Driver::Cuda, &fault.join(","));
    let mut out = room(&Midstate::new(Algorithm::Sm3), &messages);
    let mut warnings = Vec::new();
    // Where there are others, its turn may take some batches to come.
    for round in 0.. {
        out.fill(POISON[0]);
        engine.hash_many(&Midstate::new(Algorithm::Sm3), &messages, &mut out).unwrap();
        assert!(out == right, "{fault:?} on {device}");
        warnings.extend(engine.warnings());
        if round >= 2 && !(warnings.is_empty() && with_others && round < 300) {
            break;
        }
    }
    assert_eq!(warnings.len(), 1, "{fault:?} on {device}: {warnings:?}");
    assert!(warnings[0].starts_with(&format!("{id} is given up")), "{warnings:?}");
    assert!(warnings[0].contains(text), "{warnings:?}");
    assert_eq!(engine.warnings(), [""; 0], "told once");
    let explained = engine.explain(Algorithm::Sm3);
    let lost = explained.gpus.iter().find(|gpu| gpu.id == id).unwrap();
    assert!(lost.given_up.as_ref().is_some_and(|why| why.contains(text)), "{explained}");
    assert!(explained.to_string().contains("given up"), "{explained}");
    assert!(messages_of(&engine, "cpu") > 0, "someone else did its part");
}

#[test]
fn a_launch_that_fails_is_done_elsewhere() {
    fault_midway("fail_launch=4,fail_at_call=1", "(719)", ring(), false);
    fault_midway("fail_launch=4,fail_at_call=0", "(719)", ring(), false);
    fault_midway("fail_launch=1,fail_at_call=0", "(719)", ring(), true);
}

#[test]
fn a_copy_that_fails_is_done_elsewhere() {
    fault_midway("fail_copy=5", "(719)", ring(), false);
}

#[test]
fn a_gpu_that_hangs_is_left_behind() {
    let short = RingConfig { deadline: Duration::from_millis(300), ..ring() };
    fault_midway("hang_launch=4", "no answer", short, false);
}

#[test]
fn a_wrong_digest_is_not_handed_out() {
    // Every digest of the batch is wrong, so the sample is.
    fault_midway("flip_launch=2", "wrong digests", ring(), false);
}

#[test]
fn a_gpu_without_memory_is_given_up() {
    // Not for a single slot, whichever thread makes it.
    fault_midway("memory=100000", "out of GPU memory", ring(), false);
}

#[test]
fn a_gpu_with_little_memory_works_with_what_there_is() {
    let _emulator = emulator("");
    let engine = engine(Device::Cuda(Some(0)));
    // Some slots, not all: a slot allocates several times.
    install(Driver::Cuda, "memory=1900000@0");
    let mut noise = Noise(6);
    let data = noise.bytes(4 << 20);
    check(
        &engine,
        &Midstate::new(Algorithm::Sm3),
        &Messages::strided(&data, 500, 500, 8000).unwrap(),
    );
    assert_eq!(engine.warnings(), [""; 0]);
    assert_eq!(messages_of(&engine, "cuda:0"), 8000);
}

#[test]
fn devices_that_are_not_there_are_said_so() {
    let _emulator = emulator("");
    let absent = Engine::new(Config { device: Device::Cuda(Some(7)), ..Config::default() });
    let error = absent.unwrap_err();
    assert!(matches!(error, Error::Gpu { .. }), "{error:?}");
    assert_eq!(error.to_string(), "no device 'cuda:7': there are 3, from cuda:0");
    install(Driver::Cuda, "devices=0");
    let engine = engine(Device::All);
    assert!(engine.explain(Algorithm::Sm3).to_string().contains("the CUDA driver finds no GPU"));
    let mut noise = Noise(7);
    let data = noise.bytes(3 << 20);
    check(
        &engine,
        &Midstate::new(Algorithm::Sm3),
        &Messages::strided(&data, 300, 300, 10_000).unwrap(),
    );
}

#[test]
fn small_batches_and_the_cpu_alone_wake_no_gpu() {
    let _emulator = emulator("");
    let launches = || manylane_emulator::count(Driver::Cuda, 0, "launches");
    let data = vec![7; 1 << 20];
    let before = launches();
    for device in [Device::Auto, Device::Cpu] {
        let engine = engine(device);
        check(
            &engine,
            &Midstate::new(Algorithm::Sm3),
            &Messages::strided(&data, 100, 100, 10_000).unwrap(),
        );
        assert!(engine.explain(Algorithm::Sm3).gpus.is_empty());
        assert_eq!(messages_of(&engine, "cpu"), 10_000);
    }
    assert_eq!(launches(), before);
    let engine = engine(Device::All);
    let opened = launches();
    check(
        &engine,
        &Midstate::new(Algorithm::Sm3),
        &Messages::strided(&data, 100, 100, 100).unwrap(),
    );
    assert_eq!(launches(), opened);
}

#[test]
fn auto_opens_gpus_beside_the_work() {
    let _emulator = emulator("");
    let engine = engine(Device::Auto);
    let data = Noise(8).bytes(16 << 20);
    let messages = Messages::strided(&data, 1024, 1024, 1 << 14).unwrap();
    let right = expected(&Midstate::new(Algorithm::Sm3), &messages);
    let mut out = room(&Midstate::new(Algorithm::Sm3), &messages);
    let begun = Instant::now();
    while engine.explain(Algorithm::Sm3).gpus.is_empty() {
        assert!(begun.elapsed() < Duration::from_secs(60), "no GPU joins");
        engine.hash_many(&Midstate::new(Algorithm::Sm3), &messages, &mut out).unwrap();
        assert!(out == right);
    }
}

/// An engine that goes while a GPU hangs at its opening does not wait for that.
#[test]
fn a_gpu_that_hangs_as_it_is_opened_keeps_nobody() {
    // One that no other test has: it hangs for good.
    let _emulator = emulator("devices=64,fail_info=1,fail_info=0@63,hang_launch=1@63");
    let launches = || manylane_emulator::count(Driver::Cuda, 63, "launches");
    let engine = engine(Device::Auto);
    let data = Noise(8).bytes(8 << 20);
    let messages = Messages::strided(&data, 1024, 1024, 1 << 13).unwrap();
    let mut out = room(&Midstate::new(Algorithm::Sm3), &messages);
    let (begun, before) = (Instant::now(), launches());
    while launches() == before {
        assert!(begun.elapsed() < Duration::from_secs(60), "no GPU is opened");
        engine.hash_many(&Midstate::new(Algorithm::Sm3), &messages, &mut out).unwrap();
    }
    let begun = Instant::now();
    drop(engine);
    assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());
}

#[test]
fn a_compilers_log_is_one_clause() {
    let _emulator = emulator("fail_compile=1");
    let engine = engine(Device::All);
    let explained = engine.explain(Algorithm::Sm3).to_string();
    let why = explained.lines().last().unwrap();
    assert!(why.starts_with("why: ") && why.contains("/ ptxas fatal"), "{explained}");
    assert!(engine.warnings().iter().all(|warning| warning.lines().count() == 1));
}

#[test]
fn a_batcher_uses_gpus() {
    let _emulator = emulator("");
    let engine = std::sync::Arc::new(engine(Device::Cuda(Some(0))));
    let config = BatcherConfig {
        max_batch: 3000,
        max_delay: Duration::from_millis(50),
        max_queue: 9000,
        ..BatcherConfig::default()
    };
    let batcher = Batcher::on(std::sync::Arc::clone(&engine), config);
    let message = |i: usize| vec![i as u8; i % 700];
    let futures: Vec<_> = (0..6000).map(|i| batcher.submit(message(i))).collect();
    for (i, future) in futures.into_iter().enumerate() {
        assert_eq!(future.wait().unwrap(), sm3::hash(&message(i)));
    }
    assert!(messages_of(&engine, "cuda:0") > 0);
}

#[test]
fn several_callers_share_the_gpus() {
    let _emulator = emulator("");
    let engine = engine(Device::All);
    std::thread::scope(|scope| {
        for seed in 10..14 {
            let engine = &engine;
            scope.spawn(move || {
                let mut noise = Noise(seed);
                let data = noise.bytes(2 << 20);
                for _ in 0..5 {
                    let offsets = offsets(&mut noise, data.len(), 1000);
                    let messages = Messages::offsets64(&data, &offsets).unwrap();
                    check(engine, &Midstate::new(Algorithm::Sm3), &messages);
                }
            });
        }
    });
    assert_eq!(engine.warnings(), [""; 0]);
}

//! AMD's GPUs through the engine, alone and beside NVIDIA's; both emulated.
#![cfg(not(target_feature = "crt-static"))]

use std::{num::NonZeroUsize, time::Duration};

use manylane::{
    Messages,
    hash::{self, Algorithm, Midstate},
};
use manylane_emulator::{Driver, install};
use manylane_engine::{Config, Device, Engine};
use manylane_gpu::RingConfig;

fn engine(device: &str) -> Engine {
    let deadline = Duration::from_secs(20);
    let ring = RingConfig {
        slots: 3,
        slot_bytes: 256 << 10,
        max_messages: 1 << 12,
        deadline,
        ..RingConfig::default()
    };
    let device: Device = device.parse().unwrap();
    Engine::new(Config { device, threads: NonZeroUsize::new(3), ring: Some(ring) }).unwrap()
}

fn check(engine: &Engine, messages: &Messages) {
    let start = Midstate::new(Algorithm::Sm3).then(b"prefix");
    let len = start.digest_len() * messages.len();
    let (mut out, mut want) = (vec![0; len], vec![1; len]);
    engine.hash_many(&start, messages, &mut out).unwrap();
    hash::hash_many(&start, messages, &mut want).unwrap();
    assert!(out == want, "on {engine:?}");
}

/// One test, as what drivers do belongs to the whole process.
#[test]
fn amds_gpus_work_alone_and_beside_nvidias() {
    install(Driver::Hip, "devices=2");
    install(Driver::Cuda, "devices=1");
    let data: Vec<u8> = (0..4 << 20).map(|i: u32| (i ^ i >> 7) as u8).collect();
    let rows = Messages::strided(&data, 500, 512, data.len() / 512).unwrap();
    let ends: Vec<u64> = (0..=5000).map(|i| i * i % 512 + i * 512).collect();
    let unlike = Messages::offsets64(&data, &ends).unwrap();

    let one = engine("hip:1");
    check(&one, &rows);
    check(&one, &unlike);
    let shares = one.shares();
    let names: Vec<&str> = shares.iter().map(|share| &share.device[..]).collect();
    assert_eq!(names, ["cpu", "hip:1"]);
    assert_eq!(shares[1].messages as usize, rows.len() + unlike.len(), "{shares:?}");

    let all = engine("all");
    let names: Vec<_> =
        all.explain(Algorithm::Sm3).gpus.into_iter().map(|gpu| gpu.id.to_string()).collect();
    assert_eq!(names, ["cuda:0", "hip:0", "hip:1"]);
    let mut rounds = 0;
    while all.shares().iter().any(|share| share.messages == 0) {
        assert!(rounds < 30, "one had no part: {:?}", all.shares());
        check(&all, &rows);
        check(&all, &unlike);
        rounds += 1;
    }
    let messages: u64 = all.shares().iter().map(|share| share.messages).sum();
    assert_eq!(messages as usize, rounds * (rows.len() + unlike.len()), "{:?}", all.shares());
    assert_eq!(all.warnings(), [""; 0]);

    // One that fails is left behind; the others and the CPU do its part.
    install(Driver::Hip, "fail_launch=2@0");
    let mut warnings = all.warnings();
    for _ in 0..30 {
        check(&all, &rows);
        warnings.extend(all.warnings());
        if !warnings.is_empty() {
            break;
        }
    }
    check(&all, &rows);
    warnings.extend(all.warnings());
    assert!(warnings.len() == 1 && warnings[0].contains("hip:0"), "{warnings:?}");
}

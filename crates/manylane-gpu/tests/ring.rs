//! Rings on emulated devices: digests in place and copied, what stays behind, too little memory,
//! hanging devices.
//!
//! Each test has a device of its own.

use std::{
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use manylane::{
    Messages,
    hash::{self, Algorithm, Midstate},
    sm3,
};
use manylane_emulator::{Driver, count, install};
use manylane_gpu::{
    DeviceId, Error, Filling, Gpu, PinnedBuffer, Ring, RingConfig, Slot, Start, Vendor,
};

const SLOT_BYTES: usize = 64 << 10;

const TRAY_BYTES: usize = 10_000;

fn device(ordinal: u32, settings: &str) -> Gpu {
    let settings: String =
        settings.split_terminator(',').map(|one| format!(",{one}@{ordinal}")).collect();
    install(Driver::Cuda, &format!("devices=20{settings}"));
    Gpu::open(DeviceId { vendor: Vendor::Cuda, ordinal }).unwrap()
}

fn config(slots: usize) -> RingConfig {
    let deadline = Duration::from_secs(20);
    RingConfig {
        slots,
        slot_bytes: SLOT_BYTES,
        max_messages: 4096,
        tray_bytes: TRAY_BYTES,
        trays: 3,
        deadline,
    }
}

fn slot(ring: &Ring) -> Slot {
    ring.try_slot().unwrap().expect("a free one")
}

/// Page-locked, and different everywhere.
fn painted(gpu: &Gpu, len: usize) -> PinnedBuffer {
    let mut data = PinnedBuffer::new(gpu, len).unwrap();
    for (i, byte) in data.iter_mut().enumerate() {
        *byte = (i * 7 + i / 251) as u8;
    }
    data
}

/// Digests of all of them through a ring, from the caller's memory; and the number of batches.
fn through(ring: &Ring, start: &Midstate, messages: &Messages) -> (Vec<u8>, usize) {
    let (mut digests, mut done, mut batches) = (Vec::new(), 0, 0);
    while done < messages.len() {
        let rest = messages.range(done, messages.len());
        let (pending, count) = slot(ring).submit_pinned(Start::Hash(start), &rest).unwrap();
        assert!(count > 0, "{rest:?}");
        let mut out = vec![0x5a; count * start.digest_len()];
        pending.finish(&mut out).unwrap();
        digests.append(&mut out);
        done += count;
        batches += 1;
    }
    (digests, batches)
}

fn expected(start: &Midstate, messages: &Messages) -> Vec<u8> {
    let mut digests = vec![0; messages.len() * start.digest_len()];
    hash::hash_many(start, messages, &mut digests).unwrap();
    digests
}

/// As copied, or in place: of rows that are close, or far apart, or begin anywhere.
fn page_locked_messages(ordinal: u32, settings: &str) {
    let gpu = device(ordinal, settings);
    let data = painted(&gpu, 1 << 18);
    let ring = Ring::new(&gpu, config(2)).unwrap();
    for start in [
        Midstate::new(Algorithm::Sm3),
        Midstate::new(Algorithm::Sm3).then(&[3; 77]),
        Midstate::new(Algorithm::Sha3_224),
        Midstate::with_digest_len(Algorithm::Shake128, 100).then(&[3; 177]),
    ] {
        let at_a_time = ring.max_messages(start.digest_len());
        for (len, stride) in [
            (512, 520),
            (55, 64),
            (100, 128),
            (64, 64),
            (32, 4096),
            (0, 64),
            (8192, 8208),
            (64, 77),
        ] {
            for skip in [0, 3] {
                let count = (data.len() - skip) / stride.max(1) - 1;
                let rows = Messages::strided(&data[skip..], len, stride, count).unwrap();
                let (digests, batches) = through(&ring, &start, &rows);
                assert!(digests == expected(&start, &rows), "{len}/{stride} + {skip}");
                // Slots are filled, whatever lies between the rows.
                let most = (count * (len + 16)).div_ceil(SLOT_BYTES).max(count.div_ceil(at_a_time));
                assert!(batches <= most * 5 / 4, "{batches} of {len}/{stride}, not {most}");
            }
        }
        let mut offsets = vec![5_u32];
        for i in 0..3000 {
            offsets.push(offsets[i] + (i * i % 150) as u32);
        }
        let messages = Messages::offsets32(&data, &offsets).unwrap();
        assert!(through(&ring, &start, &messages).0 == expected(&start, &messages));
        // All empty, at the very end of the memory.
        let end = vec![data.len() as u64; 50];
        let messages = Messages::offsets64(&data, &end).unwrap();
        assert!(through(&ring, &start, &messages).0 == expected(&start, &messages));
    }
}

#[test]
fn page_locked_messages_are_copied_as_they_are_read() {
    page_locked_messages(0, "");
}

#[test]
fn page_locked_messages_are_read_in_place_where_memory_is_shared() {
    page_locked_messages(1, "integrated=1");
}

#[test]
fn loaded_messages_and_keys_are_right_also_where_memory_is_shared() {
    for (ordinal, settings) in [(2, ""), (3, "integrated=1")] {
        let gpu = device(ordinal, settings);
        let ring = Ring::new(&gpu, config(1)).unwrap();
        let data = painted(&gpu, 40_000);
        let start = Midstate::new(Algorithm::Sm3).then(&[9; 64]);
        for (len, stride) in [(55, 64), (64, 64), (100, 333)] {
            let rows = Messages::strided(&data, len, stride, 100).unwrap();
            let keys = Messages::strided(&data[7..], 20, 31, 100).unwrap();
            let (pending, count) = slot(&ring).submit_copies(Start::Hash(&start), &rows).unwrap();
            let mut out = vec![0; 32 * count];
            pending.finish(&mut out).unwrap();
            assert_eq!(out, expected(&start, &rows));
            let mut slot = slot(&ring);
            assert_eq!(slot.load_hmac(&keys, &rows).unwrap(), 100);
            slot.submit(Start::Hmac).unwrap().finish(&mut out).unwrap();
            let mut tags = vec![[0; 32]; 100];
            sm3::hmac_many(&keys, &rows, &mut tags).unwrap();
            assert_eq!(out, tags.as_flattened());
        }
    }
}

/// Copies that the driver refuses: of memory that is page-locked in part, of rows that are further
/// apart than it takes.
#[test]
fn what_the_driver_does_not_copy_is_staged() {
    let gpu = device(4, "max_pitch=1000");
    let ring = Ring::new(&gpu, config(1)).unwrap();
    let (data, start) = (painted(&gpu, 200_000), Midstate::new(Algorithm::Sm3));
    let rows = Messages::strided(&data, 100, 1001, 100).unwrap();
    assert!(through(&ring, &start, &rows).0 == expected(&start, &rows));
    let half = PinnedHalf::new(&gpu);
    let offsets: Vec<u64> = (0..=200).map(|i| i * 100).collect();
    let messages = Messages::offsets64(&half.0, &offsets).unwrap();
    assert!(through(&ring, &start, &messages).0 == expected(&start, &messages));
    assert!(!ring.is_lost());
}

/// Memory whose first pages alone are page-locked.
struct PinnedHalf(Vec<u8>);

impl PinnedHalf {
    fn new(gpu: &Gpu) -> Self {
        let data: Vec<u8> = (0..20_000).map(|i| (i % 253) as u8).collect();
        manylane_emulator::register(Driver::Cuda, gpu.info().id.ordinal, &data[..8192]);
        PinnedHalf(data)
    }
}

impl Drop for PinnedHalf {
    fn drop(&mut self) {
        manylane_emulator::unregister(Driver::Cuda, &self.0);
    }
}

/// Of keys that did not fit at the first try, and of what was filled in and never sent.
#[test]
fn nothing_secret_stays_in_the_staging_memory() {
    let ring = Ring::new(&device(5, ""), config(1)).unwrap();
    let (texts, keys) = (vec![0x11; 60_000], vec![0xee; 60_000]);
    let messages = Messages::strided(&texts, 60, 60, 1000).unwrap();
    let keys = Messages::strided(&keys, 16, 16, 1000).unwrap();
    let left = |slot: &mut Slot| slot.staging().unwrap().iter().filter(|&&byte| byte != 0).count();
    let mut slot_ = slot(&ring);
    let count = slot_.load_hmac(&keys, &messages).unwrap();
    assert!((1..1000).contains(&count), "not all keys fit");
    let mut out = vec![0; 32 * count];
    let mut free = slot_.submit(Start::Hmac).unwrap().finish(&mut out).unwrap();
    assert_eq!(left(&mut free), 0, "after a batch");
    free.load_hmac(&keys, &messages).unwrap();
    drop(free);
    assert_eq!(left(&mut slot(&ring)), 0, "never sent");
    // A digest after nothing is no secret, and its message stays.
    let mut plain = slot(&ring);
    plain.load(&messages).unwrap();
    let pending = plain.submit(Start::Hash(&Midstate::new(Algorithm::Sm3))).unwrap();
    let mut out = vec![0; 32 * pending.len()];
    let mut free = pending.finish(&mut out).unwrap();
    assert_eq!(left(&mut free), 60_000);
}

/// Fills a batch with these, as far as they fit; says how many.
fn filled<'s>(ring: &Ring, start: &'s Midstate, messages: &[&[u8]]) -> (Filling<'s>, usize) {
    let about = messages.iter().map(|message| message.len()).sum();
    let mut filling = slot(ring).fill(start, about).unwrap();
    for (i, message) in messages.iter().enumerate() {
        let Some(space) = filling.space(message.len()).unwrap() else { return (filling, i) };
        space[..message.len()].copy_from_slice(message);
        filling.push(message.len());
    }
    (filling, messages.len())
}

#[test]
fn batches_filled_one_by_one_give_the_cpus_digests() {
    for (ordinal, settings) in [(9, ""), (10, "integrated=1")] {
        let ring = Ring::new(&device(ordinal, settings), config(2)).unwrap();
        let data: Vec<u8> = (0..TRAY_BYTES).map(|i| (i * 31 + i / 200) as u8).collect();
        for (lengths, fit) in [
            (vec![], 0),
            (vec![0], 1),
            (vec![0; 50], 50),
            (vec![TRAY_BYTES, 0, 0], 3),
            (vec![TRAY_BYTES, 1, TRAY_BYTES, TRAY_BYTES - 1, 1, 0], 6),
            (vec![TRAY_BYTES; 10], SLOT_BYTES / TRAY_BYTES),
            (vec![1; 5000], 5000),
            ((0..300).collect(), 300),
        ] {
            let messages: Vec<&[u8]> = lengths.iter().map(|&len| &data[..len]).collect();
            for start in [
                Midstate::new(Algorithm::Sm3),
                Midstate::new(Algorithm::Sm3).then(b"secret"),
                Midstate::new(Algorithm::Sha3_512),
            ] {
                let (filling, count) = filled(&ring, &start, &messages);
                let fit = fit.min(ring.max_messages(start.digest_len()) - 1);
                assert_eq!((count, filling.len()), (fit, fit));
                assert_eq!(filling.bytes(), lengths[..count].iter().sum::<usize>());
                let pending = filling.submit().unwrap();
                let want = expected(&start, &Messages::slices(&messages[..count]));
                assert!(pending.digests().unwrap() == want);
                assert!((0..count).all(|i| pending.message_len(i) == lengths[i]));
            }
        }
    }
}

#[test]
fn secrets_do_not_stay_in_trays() {
    let ring = Ring::new(&device(11, ""), config(3)).unwrap();
    let data = [7; TRAY_BYTES];
    let messages = [&data[..TRAY_BYTES - 1], &data[..TRAY_BYTES - 2], &data[..9000]];
    // Bytes left in all trays; each batch that is begun has one.
    let left = || {
        let start = Midstate::new(Algorithm::Sm3);
        let mut all = [(); 3].map(|()| slot(&ring).fill(&start, 1).unwrap());
        let trays = all.iter_mut().map(|filling| filling.space(TRAY_BYTES).unwrap().expect("room"));
        trays
            .map(|tray| {
                let left = tray.iter().filter(|&&byte| byte != 0).count();
                tray.fill(0);
                left
            })
            .sum::<usize>()
    };
    let (secret, plain) =
        (Midstate::new(Algorithm::Sm3).then(b"key"), Midstate::new(Algorithm::Sm3));
    for (start, stays) in [(&secret, false), (&plain, true)] {
        let pending = filled(&ring, start, &messages).0.submit().unwrap();
        pending.digests().unwrap();
        drop(pending);
        assert_eq!(left() > 0, stays);
        drop(filled(&ring, start, &messages[2..]).0);
        assert_eq!(left(), 0, "never sent");
    }
}

#[test]
fn one_digest_of_each_batch_is_checked() {
    let gpu = device(12, "");
    let data = [7; TRAY_BYTES];
    // Whatever the batch ends with.
    for lengths in [&[9000, 10][..], &[9000, 9000, 0], &[0, 0], &[9000; 5]] {
        for _ in 0..4 {
            let ring = Ring::new(&gpu, config(1)).unwrap();
            let start = Midstate::new(Algorithm::Sm3);
            let messages: Vec<&[u8]> = lengths.iter().map(|&len| &data[..len]).collect();
            let pending = filled(&ring, &start, &messages).0;
            install(Driver::Cuda, "flip_launch=1@12");
            let pending = pending.submit().unwrap();
            assert!(matches!(pending.digests(), Err(Error::WrongResult { .. })), "{lengths:?}");
            assert!(ring.is_lost());
        }
    }
}

#[test]
fn a_copy_that_fails_gives_the_ring_up() {
    let (start, data) = (Midstate::new(Algorithm::Sm3), [7; TRAY_BYTES]);
    let gpu = device(13, "");
    let ring = Ring::new(&gpu, config(1)).unwrap();
    let mut filling = slot(&ring).fill(&start, 1 << 16).unwrap();
    install(Driver::Cuda, "fail_copy=2@13");
    let mut fill = || -> Result<(), Error> {
        for _ in 0..6 {
            let space = filling.space(TRAY_BYTES)?.expect("room");
            space[..TRAY_BYTES].copy_from_slice(&data);
            filling.push(TRAY_BYTES);
        }
        Ok(())
    };
    assert!(matches!(fill(), Err(Error::Call { .. })));
    assert!(ring.is_lost());
    assert!(matches!(filling.submit(), Err(Error::Lost(_))));
}

#[test]
fn a_ring_works_on_with_the_trays_that_there_is_memory_for() {
    let gpu = device(14, "");
    let start = Midstate::new(Algorithm::Sm3);
    let ring = Ring::new(&gpu, config(2)).unwrap();
    let first = slot(&ring).fill(&start, 1).unwrap();
    let second = slot(&ring);
    install(Driver::Cuda, "fail_alloc=1@14");
    let mut second = second.fill(&start, 1).unwrap();
    assert!(second.space(1).unwrap().is_none(), "another fills the only one");
    drop(first);
    assert!(second.space(1).unwrap().is_some());
}

#[test]
fn too_little_memory_for_another_slot_waits_for_nothing() {
    let gpu = device(6, "");
    let deadline = Duration::from_millis(500);
    let ring = Ring::new(&gpu, RingConfig { deadline, ..config(3) }).unwrap();
    let mut first = slot(&ring);
    // Enough for a part of the second slot.
    let live = count(Driver::Cuda, 6, "live_bytes");
    install(Driver::Cuda, &format!("hang_launch=1@6,memory={}@6", live + 100_000));
    first.load(&Messages::strided(&[1; 640], 64, 64, 10).unwrap()).unwrap();
    let pending = first.submit(Start::Hash(&Midstate::new(Algorithm::Sm3))).unwrap();
    let (sender, receiver) = mpsc::channel();
    let other = ring.clone();
    thread::spawn(move || sender.send((other.try_slot().map(|slot| slot.is_some()), other)));
    let (second, other) = receiver.recv_timeout(Duration::from_secs(20)).expect("waits for ever");
    assert_eq!(second, Ok(false));
    assert!(!ring.is_lost() && count(Driver::Cuda, 6, "live_bytes") > live);
    let since = Instant::now();
    assert!(matches!(pending.wait(), Err(Error::Deadline(_))));
    // A lost ring leaves all behind, also kernels that may be at work.
    drop((pending, ring, other));
    assert!(since.elapsed() < Duration::from_secs(10));
}

#[test]
fn a_ring_works_on_with_the_slots_that_there_is_memory_for() {
    let gpu = device(7, "");
    let ring = Ring::new(&gpu, config(3)).unwrap();
    let first = slot(&ring);
    let live = count(Driver::Cuda, 7, "live_bytes");
    install(Driver::Cuda, &format!("memory={}@7", live + 100_000));
    assert_eq!(ring.try_slot().map(|slot| slot.is_some()), Ok(false));
    install(Driver::Cuda, &format!("memory={}@7", 1 << 30));
    assert_eq!(ring.try_slot().map(|slot| slot.is_some()), Ok(false), "not tried again");
    drop(first);
    let data = painted(&gpu, 1 << 18);
    let rows = Messages::strided(&data, 64, 64, 4096).unwrap();
    let start = Midstate::new(Algorithm::Sm3);
    assert!(through(&ring, &start, &rows).0 == expected(&start, &rows));
    drop(ring);
    drop(data);
    assert_eq!(count(Driver::Cuda, 7, "live_bytes"), 0, "incomplete slots go with the ring");
    assert_eq!(count(Driver::Cuda, 7, "unwiped"), 0);
    let ring = Ring::new(&gpu, config(1)).unwrap();
    install(Driver::Cuda, "memory=100000@7");
    assert!(matches!(ring.try_slot(), Err(Error::OutOfMemory { .. })));
    assert!(ring.is_lost());
}

#[test]
#[should_panic(expected = "max_messages")]
fn as_many_messages_as_no_memory_holds_are_refused() {
    let max_messages = (1 << 31) + 1;
    let _ = Ring::new(&device(8, ""), RingConfig { max_messages, ..config(1) });
}

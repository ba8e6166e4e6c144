//! What a call leaves behind in memory that stays.

use manylane_emulator::{Driver, count, install};
use manylane_vectors::painted;

use super::*;
use crate::{CounterWidth, DeviceId, Vendor};

/// What the emulator has in memory that nobody has written.
const UNWRITTEN: u8 = 0xa5;

const SLOT: usize = 16_000;

/// A device of its own for each test, and any keys.
fn bench(ordinal: u32, deadline: Duration) -> (Gpu, Sm4, Sm4Keys, BlockRing) {
    install(Driver::Cuda, "devices=3");
    let gpu = Gpu::open(DeviceId { vendor: Vendor::Cuda, ordinal }).unwrap();
    let sm4 = Sm4::new(&gpu).unwrap();
    let config = BlockRingConfig { slots: 3, slot_bytes: SLOT, deadline };
    let ring = BlockRing::new(&gpu, config).unwrap();
    (gpu, sm4, Sm4Keys::new(&[7; 16]), ring)
}

fn counter() -> BlockMode {
    BlockMode::Ctr(Counter::new([1; 16], CounterWidth::Bits128))
}

/// A slot's memory on the device.
fn on_device(ring: &Ring, slot: usize) -> Vec<u8> {
    let mut bytes = vec![1; SLOT];
    ring.slots[slot].data.read(0, &mut bytes, &ring.outward).unwrap();
    bytes
}

#[test]
fn a_call_wipes_what_it_has_used() {
    let (gpu, sm4, keys, mut ring) = bench(0, Duration::from_secs(20));
    let cipher = BlockCipher::Sm4(&sm4, &keys);
    let data = painted(2 * SLOT + 8000, 1);
    for mode in [BlockMode::Encrypt, BlockMode::Decrypt, counter()] {
        ring.apply(cipher, &mode, &data, &mut vec![0; data.len()]).unwrap();
        let mut pinned = PinnedBuffer::new(&gpu, data.len()).unwrap();
        pinned.copy_from_slice(&data);
        ring.apply_pinned(cipher, &mode, pinned).unwrap();
        let ring = ring.ring.as_ref().unwrap();
        for (number, used) in [SLOT, SLOT, 8000].into_iter().enumerate() {
            let staging = ring.slots[number].staging.as_ref().unwrap();
            assert!(staging.iter().all(|byte| *byte == 0), "{mode:?}, staging {number}");
            let (wiped, rest) = (on_device(ring, number), vec![UNWRITTEN; SLOT - used]);
            assert!(wiped == [vec![0; used], rest].concat(), "{mode:?}, slot {number}");
        }
    }
}

#[test]
fn a_call_wipes_no_more_than_it_has_used() {
    let (_, sm4, keys, mut ring) = bench(1, Duration::from_secs(20));
    let cipher = BlockCipher::Sm4(&sm4, &keys);
    let mut out = vec![0; 3 * SLOT];
    ring.apply(cipher, &counter(), &painted(3 * SLOT, 1), &mut out).unwrap();
    // Marks, in place of what there never is.
    let marked = ring.ring.as_mut().unwrap();
    for slot in &mut marked.slots {
        slot.data.fill(2, &marked.outward).unwrap();
        slot.staging.as_mut().unwrap().fill(2);
    }
    ring.apply(cipher, &counter(), &painted(33, 2), &mut out[..33]).unwrap();
    let ring = ring.ring.as_ref().unwrap();
    for (number, used) in [33, 0, 0].into_iter().enumerate() {
        let expected = [vec![0; used], vec![2; SLOT - used]].concat();
        assert!(ring.slots[number].staging.as_ref().unwrap()[..] == expected, "{number}");
        assert!(on_device(ring, number) == expected, "{number}");
    }
}

#[test]
fn page_locked_data_leaves_staging_memory_alone() {
    let (gpu, sm4, keys, mut ring) = bench(1, Duration::from_secs(20));
    let cipher = BlockCipher::Sm4(&sm4, &keys);
    ring.apply(cipher, &counter(), &painted(3 * SLOT, 1), &mut vec![0; 3 * SLOT]).unwrap();
    for slot in &mut ring.ring.as_mut().unwrap().slots {
        slot.staging.as_mut().unwrap().fill(2);
    }
    ring.apply_pinned(cipher, &counter(), PinnedBuffer::new(&gpu, 3 * SLOT).unwrap()).unwrap();
    for slot in &ring.ring.as_ref().unwrap().slots {
        assert!(slot.staging.as_ref().unwrap().iter().all(|byte| *byte == 2));
    }
}

#[test]
fn what_is_lost_with_the_device_is_wiped() {
    let deadline = Duration::from_millis(300);
    let (gpu, sm4, keys, mut ring) = bench(2, deadline);
    let cipher = BlockCipher::Sm4(&sm4, &keys);
    let data = painted(5 * SLOT, 3);
    let mut pinned = PinnedBuffer::new(&gpu, data.len()).unwrap();
    pinned.copy_from_slice(&data);
    let config = BlockRingConfig { slots: 3, slot_bytes: SLOT, deadline };
    // To drop it, if this test fails, would wait for the device.
    let mut other = mem::ManuallyDrop::new(BlockRing::new(&gpu, config).unwrap());
    install(Driver::Cuda, "hang_launch=2@2");
    let late = ring.apply(cipher, &counter(), &data, &mut vec![0; data.len()]).unwrap_err();
    assert!(matches!(late, Error::Deadline(_)) && ring.is_lost(), "{late}");
    assert_eq!(count(Driver::Cuda, 2, "dirty_host"), 1, "the staging memory, beside the data");
    install(Driver::Cuda, "hang_launch=2@2");
    let late = other.apply_pinned(cipher, &counter(), pinned).unwrap_err();
    assert!(matches!(late.error, Error::Deadline(_)) && late.data.is_none(), "{late}");
    assert_eq!(count(Driver::Cuda, 2, "dirty_host"), 0, "the data");
    // To unload the kernels would wait for the device.
    mem::forget(sm4);
}

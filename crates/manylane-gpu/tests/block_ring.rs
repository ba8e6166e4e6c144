//! AES and SM4 of data in the host's memory, on an emulated device: what comes back, and what is left
//! when the device fails.

use std::time::Duration;

use ctr::{
    Ctr128BE,
    cipher::{KeyIvInit, StreamCipher},
};
use manylane_emulator::{Driver, count, install};
use manylane_gpu::{
    Aes, AesKeys, BlockCipher, BlockMode, BlockRing, BlockRingConfig, Counter, CounterWidth,
    DeviceId, Error, Gpu, PinnedBuffer, Sm4, Sm4Keys, Vendor,
};
use manylane_vectors::painted;

const KEY: [u8; 16] = [0x3c; 16];

/// A device of its own for each test: one that fails fails for good.
fn gpu(ordinal: u32) -> Gpu {
    install(Driver::Cuda, "devices=4");
    Gpu::open(DeviceId { vendor: Vendor::Cuda, ordinal }).unwrap()
}

fn config() -> BlockRingConfig {
    BlockRingConfig { slots: 3, slot_bytes: 16 * 1000, deadline: Duration::from_secs(5) }
}

fn pinned(gpu: &Gpu, bytes: &[u8]) -> PinnedBuffer {
    let mut buffer = PinnedBuffer::new(gpu, bytes.len()).unwrap();
    buffer.copy_from_slice(bytes);
    buffer
}

#[test]
fn pieces_come_back_as_one() {
    let gpu = gpu(0);
    let (aes, sm4) = (Aes::new(&gpu).unwrap(), Sm4::new(&gpu).unwrap());
    let aes_keys = AesKeys::new(&KEY).unwrap();
    let sm4_keys = Sm4Keys::new(&KEY);
    let mut ring = BlockRing::new(&gpu, config()).unwrap();
    // A carry out of the last word in the second piece.
    let mut iv = [0xff; 16];
    iv[14] = 0xf9;
    let mode = BlockMode::Ctr(Counter::new(iv, CounterWidth::Bits128));
    for len in [0, 1, 15, 16, 16_000, 16_001, 100_003, 160_000] {
        let data = painted(len, len);
        let (mut by_aes, mut by_sm4) = (data.clone(), data.clone());
        Ctr128BE::<aes::Aes128>::new(&KEY.into(), &iv.into()).apply_keystream(&mut by_aes);
        Ctr128BE::<sm4::Sm4>::new(&KEY.into(), &iv.into()).apply_keystream(&mut by_sm4);
        let ciphers = [BlockCipher::Aes(&aes, &aes_keys), BlockCipher::Sm4(&sm4, &sm4_keys)];
        for (cipher, want) in ciphers.into_iter().zip([by_aes, by_sm4]) {
            let mut got = vec![0; len];
            ring.apply(cipher, &mode, &data, &mut got).unwrap();
            assert!(got == want, "{len} bytes through staging memory");
            if len == 0 {
                // Of no bytes one is allocated, and that is nobody's to wipe.
                continue;
            }
            let got = ring.apply_pinned(cipher, &mode, pinned(&gpu, &data)).unwrap();
            assert!(*got == *want, "{len} bytes in place");
            if len % 16 == 0 {
                let middle =
                    ring.apply_pinned(cipher, &BlockMode::Encrypt, pinned(&gpu, &data)).unwrap();
                assert!(*middle != *data);
                let back = ring.apply_pinned(cipher, &BlockMode::Decrypt, middle).unwrap();
                assert!(*back == *data, "{len} bytes there and back");
            } else {
                let refused = ring.apply(cipher, &BlockMode::Encrypt, &data, &mut vec![0; len]);
                assert!(matches!(refused, Err(Error::Input(_))));
            }
        }
    }
    let refused = ring.apply(BlockCipher::Aes(&aes, &aes_keys), &mode, &[0; 16], &mut [0; 17]);
    assert!(matches!(refused, Err(Error::Input(_))) && !ring.is_lost());
    drop(ring);
    assert_eq!(count(Driver::Cuda, 0, "unwiped"), 0);
}

#[test]
fn a_failing_copy_loses_the_ring_and_nothing_else() {
    let gpu = gpu(1);
    let aes = Aes::new(&gpu).unwrap();
    let keys = AesKeys::new(&KEY).unwrap();
    let mut ring = BlockRing::new(&gpu, config()).unwrap();
    let cipher = BlockCipher::Aes(&aes, &keys);
    install(Driver::Cuda, "fail_copy=4@1");
    let data = painted(100_000, 1);
    let mut out = vec![0; data.len()];
    assert!(ring.apply(cipher, &BlockMode::Encrypt, &data, &mut out).is_err());
    assert!(ring.is_lost());
    let lost = ring.apply(cipher, &BlockMode::Encrypt, &data, &mut out);
    assert!(matches!(lost, Err(Error::Lost(_))), "{lost:?}");
}

#[test]
fn a_device_that_hangs_is_given_up() {
    let gpu = gpu(2);
    let sm4 = Sm4::new(&gpu).unwrap();
    let keys = Sm4Keys::new(&KEY);
    let deadline = Duration::from_millis(300);
    let mut ring = BlockRing::new(&gpu, BlockRingConfig { deadline, ..config() }).unwrap();
    install(Driver::Cuda, "hang_launch=2@2");
    let data = pinned(&gpu, &painted(64_000, 2));
    let cipher = BlockCipher::Sm4(&sm4, &keys);
    let late = ring.apply_pinned(cipher, &BlockMode::Encrypt, data).unwrap_err();
    assert!(matches!(late, Error::Deadline(_)) && ring.is_lost(), "{late}");
    // To unload the kernels would wait for the device.
    std::mem::forget(sm4);
}

#[test]
fn a_kernel_that_is_wrong_is_not_used() {
    let gpu = gpu(3);
    // The first launch of AES is known answers' of blocks.
    install(Driver::Cuda, "flip_launch=1@3");
    let wrong = Aes::new(&gpu).unwrap_err();
    assert!(matches!(wrong, Error::WrongResult { kernel: "aes128_encrypt_4", .. }), "{wrong}");
    assert!(Aes::new(&gpu).is_ok());
}

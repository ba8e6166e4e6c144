//! AES and SM4 in device memory, on emulated devices: with every number of tables, against other
//! implementations.
#![allow(unsafe_code)]

use aes::{Aes128, Aes192, Aes256};
use ctr::{
    Ctr32BE, Ctr64BE, Ctr128BE,
    cipher::{
        BlockCipherDecrypt, BlockCipherEncrypt, BlockSizeUser, KeyInit, KeyIvInit, StreamCipher,
        consts::U16,
    },
};
use manylane::sm3;
use manylane_emulator::{Driver, install};
use manylane_gpu::{
    Aes, AesKeys, BlockComparator, BlockComparators, Counter, CounterWidth, DeviceBuffer, DeviceId,
    DevicePointer, Error, Gpu, Sm4, Sm4Keys, Stream, Tables, Vendor,
};
use manylane_vectors::block::{Ciphertext, Mode};

/// An emulated device.
struct Bench {
    gpu: Gpu,
    stream: Stream,
}

/// A cipher of manylane under a key.
enum Keyed {
    Aes(Aes, AesKeys),
    Sm4(Sm4, Sm4Keys),
}

#[derive(Clone, Copy, Debug)]
enum What<'a> {
    Encrypt,
    Decrypt,
    Ctr(&'a Counter),
}

impl Bench {
    fn new() -> Self {
        // `block_hip.rs` is this file under another name.
        let (driver, vendor) = match env!("CARGO_CRATE_NAME") {
            "block_hip" => (Driver::Hip, Vendor::Hip),
            _ => (Driver::Cuda, Vendor::Cuda),
        };
        install(driver, "");
        let gpu = Gpu::open(DeviceId { vendor, ordinal: 0 }).unwrap();
        let stream = Stream::new(&gpu).unwrap();
        Bench { gpu, stream }
    }

    /// As many tables as the device has room for: a compute unit of AMD's has no room for four.
    fn tables(&self) -> &'static [Tables] {
        match self.gpu.info().id.vendor {
            Vendor::Hip => &Tables::ALL[1..],
            _ => &Tables::ALL,
        }
    }

    fn aes(&self, tables: Tables, key: &[u8]) -> Keyed {
        let keys = AesKeys::new(key).unwrap();
        Keyed::Aes(Aes::with_tables(&self.gpu, tables).unwrap(), keys)
    }

    fn sm4(&self, tables: Tables, key: &[u8]) -> Keyed {
        let keys = Sm4Keys::new(key.try_into().unwrap());
        Keyed::Sm4(Sm4::with_tables(&self.gpu, tables).unwrap(), keys)
    }

    /// The output for data `skip` blocks into a buffer, in place or not. What is behind the output must
    /// stay as it was.
    fn run(&self, keyed: &Keyed, what: What, data: &[u8], skip: usize, in_place: bool) -> Vec<u8> {
        let (at, room) = (16 * skip, data.len() + 32);
        let mut from = DeviceBuffer::new(&self.gpu, at + room).unwrap();
        let mut apart = DeviceBuffer::new(&self.gpu, at + room).unwrap();
        from.fill(0x5a, &self.stream).unwrap();
        apart.fill(0x5a, &self.stream).unwrap();
        from.write(at, data, &self.stream).unwrap();
        let to = if in_place { &from } else { &apart };
        let (place, len) = ([from.pointer().add(at), to.pointer().add(at)], data.len() as u64);
        self.enqueue(keyed, what, place, len).unwrap();
        let mut got = vec![0; room];
        to.read(at, &mut got, &self.stream).unwrap();
        assert_eq!(got[data.len()..], [0x5a; 32], "{what:?}: {len} bytes");
        got.truncate(data.len());
        got
    }

    fn enqueue(
        &self,
        keyed: &Keyed,
        what: What,
        [from, to]: [DevicePointer; 2],
        len: u64,
    ) -> Result<(), Error> {
        let (stream, blocks) = (&self.stream, len / 16);
        // SAFETY: the caller's buffers have so many bytes, and are read before they are dropped.
        unsafe {
            match (keyed, what) {
                (Keyed::Aes(aes, keys), What::Encrypt) => {
                    aes.encrypt_blocks(stream, keys, from, to, blocks)
                }
                (Keyed::Aes(aes, keys), What::Decrypt) => {
                    aes.decrypt_blocks(stream, keys, from, to, blocks)
                }
                (Keyed::Aes(aes, keys), What::Ctr(counter)) => {
                    aes.apply_ctr(stream, keys, counter, from, to, len)
                }
                (Keyed::Sm4(sm4, keys), What::Encrypt) => {
                    sm4.encrypt_blocks(stream, keys, from, to, blocks)
                }
                (Keyed::Sm4(sm4, keys), What::Decrypt) => {
                    sm4.decrypt_blocks(stream, keys, from, to, blocks)
                }
                (Keyed::Sm4(sm4, keys), What::Ctr(counter)) => {
                    sm4.apply_ctr(stream, keys, counter, from, to, len)
                }
            }
        }
    }
}

/// Another implementation's output.
fn blocks<C>(key: &[u8], decrypt: bool, data: &[u8]) -> Vec<u8>
where
    C: BlockCipherEncrypt + BlockCipherDecrypt + BlockSizeUser<BlockSize = U16> + KeyInit,
{
    let cipher = C::new_from_slice(key).unwrap();
    let mut data = data.to_vec();
    for block in data.as_chunks_mut::<16>().0 {
        match decrypt {
            true => cipher.decrypt_block(block.into()),
            false => cipher.encrypt_block(block.into()),
        }
    }
    data
}

fn key_stream<C>(key: &[u8], iv: [u8; 16], width: CounterWidth, data: &[u8]) -> Vec<u8>
where
    C: BlockCipherEncrypt + BlockSizeUser<BlockSize = U16> + KeyInit,
    Ctr32BE<C>: KeyIvInit + StreamCipher,
    Ctr64BE<C>: KeyIvInit + StreamCipher,
    Ctr128BE<C>: KeyIvInit + StreamCipher,
{
    let mut data = data.to_vec();
    match width {
        CounterWidth::Bits32 => {
            Ctr32BE::<C>::new_from_slices(key, &iv).unwrap().apply_keystream(&mut data);
        }
        CounterWidth::Bits64 => {
            Ctr64BE::<C>::new_from_slices(key, &iv).unwrap().apply_keystream(&mut data);
        }
        CounterWidth::Bits128 => {
            Ctr128BE::<C>::new_from_slices(key, &iv).unwrap().apply_keystream(&mut data);
        }
    }
    data
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cipher {
    Aes128,
    Aes192,
    Aes256,
    Sm4,
}

impl Cipher {
    const ALL: [Cipher; 4] = [Cipher::Aes128, Cipher::Aes192, Cipher::Aes256, Cipher::Sm4];

    fn key_len(self) -> usize {
        match self {
            Cipher::Aes128 | Cipher::Sm4 => 16,
            Cipher::Aes192 => 24,
            Cipher::Aes256 => 32,
        }
    }

    fn keyed(self, bench: &Bench, tables: Tables, key: &[u8]) -> Keyed {
        match self {
            Cipher::Sm4 => bench.sm4(tables, key),
            _ => bench.aes(tables, key),
        }
    }

    fn blocks(self, key: &[u8], decrypt: bool, data: &[u8]) -> Vec<u8> {
        match self {
            Cipher::Aes128 => blocks::<Aes128>(key, decrypt, data),
            Cipher::Aes192 => blocks::<Aes192>(key, decrypt, data),
            Cipher::Aes256 => blocks::<Aes256>(key, decrypt, data),
            Cipher::Sm4 => blocks::<sm4::Sm4>(key, decrypt, data),
        }
    }

    fn key_stream(self, key: &[u8], iv: [u8; 16], width: CounterWidth, data: &[u8]) -> Vec<u8> {
        match self {
            Cipher::Aes128 => key_stream::<Aes128>(key, iv, width, data),
            Cipher::Aes192 => key_stream::<Aes192>(key, iv, width, data),
            Cipher::Aes256 => key_stream::<Aes256>(key, iv, width, data),
            Cipher::Sm4 => key_stream::<sm4::Sm4>(key, iv, width, data),
        }
    }
}

fn random_bytes(random: &mut fastrand::Rng, len: usize) -> Vec<u8> {
    std::iter::repeat_with(|| random.u8(..)).take(len).collect()
}

/// The standards' examples, and generated: of the modes that there are kernels for.
#[test]
fn known_answers() {
    let bench = Bench::new();
    for file in [manylane_vectors::block::aes(), manylane_vectors::block::sm4()] {
        let keyed = |tables, key: &[u8]| match &file.algorithm[..] {
            "AES" => bench.aes(tables, key),
            _ => bench.sm4(tables, key),
        };
        for &tables in bench.tables() {
            // Loaded once, not for each key.
            let _loaded = keyed(tables, &[0; 16]);
            for block in &file.blocks {
                let keyed = keyed(tables, &block.key);
                let got = bench.run(&keyed, What::Encrypt, &block.plaintext, 0, false);
                assert_eq!(got, block.ciphertext, "{tables:?}: {}", block.source);
                let got = bench.run(&keyed, What::Decrypt, &block.ciphertext, 0, false);
                assert_eq!(got, block.plaintext, "{tables:?}: {}", block.source);
            }
            let mut answers = 0;
            for case in &file.cases {
                let counter = |width| {
                    let iv = case.iv[..].try_into().expect("a counter block");
                    Some(Counter::new(iv, width))
                };
                let counter = match case.mode {
                    Mode::Ecb => None,
                    Mode::Ctr32 => counter(CounterWidth::Bits32),
                    Mode::Ctr64 => counter(CounterWidth::Bits64),
                    Mode::Ctr128 => counter(CounterWidth::Bits128),
                    _ => continue,
                };
                let keyed = keyed(tables, &case.key);
                let what = counter.as_ref().map_or(What::Encrypt, What::Ctr);
                let got = bench.run(&keyed, what, &case.plaintext, answers % 3, answers % 2 == 0);
                match &case.ciphertext {
                    Ciphertext::Bytes(wanted) => assert_eq!(&got, wanted, "{}", case.source),
                    Ciphertext::Sm3(wanted) => {
                        assert_eq!(sm3::hash(&got), *wanted, "{}", case.source)
                    }
                }
                answers += 1;
            }
            assert!(answers > 100, "{answers} answers of {}", file.algorithm);
        }
    }
}

#[test]
fn blocks_are_those_of_another_implementation() {
    let bench = Bench::new();
    let mut random = fastrand::Rng::with_seed(0xae5);
    for cipher in Cipher::ALL {
        for &tables in bench.tables() {
            let key = random_bytes(&mut random, cipher.key_len());
            let keyed = cipher.keyed(&bench, tables, &key);
            for count in [0, 1, 2, 5, 31, 33, 1023, 1024, 1025, 2600] {
                let data = random_bytes(&mut random, 16 * count);
                for (what, decrypt) in [(What::Encrypt, false), (What::Decrypt, true)] {
                    let want = cipher.blocks(&key, decrypt, &data);
                    let skip = random.usize(0..20);
                    let got = bench.run(&keyed, what, &data, skip, random.bool());
                    assert!(got == want, "{cipher:?} {tables:?} {what:?}: {count} blocks");
                }
            }
        }
    }
}

#[test]
fn counters_carry_as_in_another_implementation() {
    let bench = Bench::new();
    let mut random = fastrand::Rng::with_seed(0xc7a);
    // The last words that counters begin with: rows, all rows and the word end after some blocks.
    let lows = [0, 1, 0xff, 0xfe_fd85, 0xffff_fffe, 0xffff_f000, 0x7fff_fff0];
    for cipher in Cipher::ALL {
        for &tables in bench.tables() {
            let key = random_bytes(&mut random, cipher.key_len());
            let keyed = cipher.keyed(&bench, tables, &key);
            for (i, low) in lows.into_iter().enumerate() {
                let mut iv: [u8; 16] = random_bytes(&mut random, 16).try_into().unwrap();
                if i % 2 == 0 {
                    // So that carries go as far as they may.
                    iv[..12].fill(0xff);
                }
                iv[12..].copy_from_slice(&u32::to_be_bytes(low));
                for width in [CounterWidth::Bits32, CounterWidth::Bits64, CounterWidth::Bits128] {
                    let len = [random.usize(0..40), random.usize(0..100_000)][random.usize(0..2)];
                    let data = random_bytes(&mut random, len);
                    let want = cipher.key_stream(&key, iv, width, &data);
                    let counter = Counter::new(iv, width);
                    let (what, skip) = (What::Ctr(&counter), random.usize(0..20));
                    let got = bench.run(&keyed, what, &data, skip, random.bool());
                    assert!(got == want, "{cipher:?} {tables:?} {low:x} {width:?}: {len} bytes");
                }
            }
        }
    }
}

#[test]
fn all_lengths_up_to_five_blocks() {
    let bench = Bench::new();
    let mut random = fastrand::Rng::with_seed(5);
    for cipher in [Cipher::Aes128, Cipher::Sm4] {
        for &tables in bench.tables() {
            let key = random_bytes(&mut random, cipher.key_len());
            let keyed = cipher.keyed(&bench, tables, &key);
            for len in 0..=80 {
                let iv: [u8; 16] = random_bytes(&mut random, 16).try_into().unwrap();
                let data = random_bytes(&mut random, len);
                let want = cipher.key_stream(&key, iv, CounterWidth::Bits128, &data);
                let counter = Counter::new(iv, CounterWidth::Bits128);
                let got = bench.run(&keyed, What::Ctr(&counter), &data, 0, len % 2 == 0);
                assert!(got == want, "{cipher:?} {tables:?}: {len} bytes");
            }
        }
    }
}

#[test]
fn thread_blocks_of_other_sizes() {
    let bench = Bench::new();
    let mut random = fastrand::Rng::with_seed(6);
    let (key, data) = (random_bytes(&mut random, 16), random_bytes(&mut random, 16 * 3000 + 9));
    let iv: [u8; 16] = random_bytes(&mut random, 16).try_into().unwrap();
    let counter = Counter::new(iv, CounterWidth::Bits64);
    let want = Cipher::Aes128.key_stream(&key, iv, CounterWidth::Bits64, &data);
    for &tables in bench.tables() {
        let Keyed::Aes(aes, keys) = bench.aes(tables, &key) else { unreachable!() };
        for threads in [256, 512, 1024] {
            let keyed = Keyed::Aes(aes.with_block(threads), keys.clone());
            let got = bench.run(&keyed, What::Ctr(&counter), &data, 1, false);
            assert!(got == want, "{tables:?}, {threads} threads");
        }
    }
}

#[test]
fn comparators_compute_the_same() {
    let bench = Bench::new();
    let comparators = BlockComparators::new(&bench.gpu).unwrap();
    let mut random = fastrand::Rng::with_seed(7);
    for cipher in [Cipher::Aes128, Cipher::Aes192, Cipher::Aes256] {
        let key = random_bytes(&mut random, cipher.key_len());
        let keys = AesKeys::new(&key).unwrap();
        let mut iv: [u8; 16] = random_bytes(&mut random, 16).try_into().unwrap();
        iv[12..].copy_from_slice(&[0x80, 0x03, 0xfc, 0]);
        let counter = Counter::new(iv, CounterWidth::Bits32);
        for (which, count) in BlockComparator::ALL.into_iter().zip([2500, 2500, 5 * 1024]) {
            let data = random_bytes(&mut random, 16 * count);
            let want = cipher.key_stream(&key, iv, CounterWidth::Bits32, &data);
            let mut from = DeviceBuffer::new(&bench.gpu, data.len()).unwrap();
            let mut to = DeviceBuffer::new(&bench.gpu, data.len()).unwrap();
            from.write(0, &data, &bench.stream).unwrap();
            to.fill(0x5a, &bench.stream).unwrap();
            let (at, len) = (from.pointer(), data.len() as u64);
            let run = |at: DevicePointer, len| {
                // SAFETY: both buffers have so many bytes, and are read before they are dropped.
                unsafe {
                    let (stream, to) = (&bench.stream, to.pointer());
                    comparators.apply_ctr(which, stream, &keys, &counter, at, to, len)
                }
            };
            run(at, len).unwrap();
            let mut got = vec![0; data.len()];
            to.read(0, &mut got, &bench.stream).unwrap();
            assert!(got == want, "{cipher:?} {which:?}");
            for (at, len) in [(at.add(8), len - 16), (at, len - 8)] {
                assert!(matches!(run(at, len), Err(Error::Input(_))), "{which:?}");
            }
            let sliced = matches!(run(at, len - 16), Err(Error::Input(_)));
            assert_eq!(sliced, which == BlockComparator::Bits);
        }
    }
    let kernels = comparators.kernels().unwrap();
    assert!(kernels.len() == 9 && kernels.iter().all(|kernel| kernel.block <= kernel.max_block));
}

#[test]
fn what_cannot_be_right_is_refused() {
    let bench = Bench::new();
    let buffer = DeviceBuffer::new(&bench.gpu, 4096).unwrap();
    let (at, odd) = (buffer.pointer(), buffer.pointer().add(8));
    let counter = Counter::new([0; 16], CounterWidth::Bits32);
    for keyed in [bench.aes(bench.tables()[0], &[0; 16]), bench.sm4(bench.tables()[0], &[0; 16])] {
        for what in [What::Encrypt, What::Decrypt, What::Ctr(&counter)] {
            for place in [[odd, at], [at, odd]] {
                let refused = bench.enqueue(&keyed, what, place, 16);
                assert!(matches!(refused, Err(Error::Input(_))), "{what:?}");
            }
            bench.enqueue(&keyed, what, [at, at], 0).unwrap();
        }
        // Refused before anything is enqueued.
        let twice = bench.enqueue(&keyed, What::Ctr(&counter), [at, at], (1 << 36) + 1);
        assert!(matches!(twice, Err(Error::Input(_))));
    }
    if bench.tables().len() < Tables::ALL.len() {
        assert!(matches!(Aes::with_tables(&bench.gpu, Tables::Four), Err(Error::Input(_))));
    }
}

#[test]
fn kernels_are_described() {
    let bench = Bench::new();
    let aes = Aes::new(&bench.gpu).unwrap();
    let sm4 = Sm4::new(&bench.gpu).unwrap();
    assert_eq!((aes.tables(), sm4.tables()), (bench.tables()[0], bench.tables()[0]));
    let kernels = [aes.kernels().unwrap(), sm4.kernels().unwrap()].concat();
    assert_eq!(kernels.len(), 9 + 2);
    for kernel in kernels {
        assert!(kernel.registers > 0 && kernel.block <= kernel.max_block, "{kernel:?}");
    }
}

//! Block ciphers on a GPU: random data under random keys, each byte compared with the CPU.

use manylane::{
    aes::{Aes128, Aes192, Aes256},
    block::{self, Ctr32, Ctr64, Ctr128, ecb},
    sm4,
};
use manylane_gpu::{
    Aes, AesKeys, BlockCipher, BlockMode, BlockRing, BlockRingConfig, Counter, CounterWidth, Error,
    Gpu, Sm4, Sm4Keys, Tables,
};

/// Bytes of usual data at most, and of those that are long.
const USUAL: usize = 20 << 10;
const LONG: usize = 1 << 20;

/// One in so many is long.
const ONE_IN: u32 = 50;

/// Of pieces that go through the device's memory at a time: usual data have several, that begin at any
/// counter.
const SLOT: usize = 4096 + 16;

/// The ciphers with every number of tables that a device has room for.
pub(super) struct Blocks {
    aes: Vec<Aes>,
    sm4: Vec<Sm4>,
    ring: BlockRing,
}

impl Blocks {
    /// Loads them, which asks each kernel for known answers.
    pub(super) fn load(gpu: &Gpu) -> Result<Self, Error> {
        let (mut aes, mut sm4) = (vec![Aes::new(gpu)?], vec![Sm4::new(gpu)?]);
        let best = aes[0].tables();
        for tables in Tables::ALL.into_iter().filter(|tables| *tables > best) {
            aes.push(Aes::with_tables(gpu, tables)?);
            sm4.push(Sm4::with_tables(gpu, tables)?);
        }
        let config = BlockRingConfig { slot_bytes: SLOT, ..BlockRingConfig::default() };
        Ok(Blocks { aes, sm4, ring: BlockRing::new(gpu, config)? })
    }

    /// How many kernels have given their known answers.
    pub(super) fn kernels(&self) -> Result<usize, Error> {
        let mut count = 0;
        for aes in &self.aes {
            count += aes.kernels()?.len();
        }
        for sm4 in &self.sm4 {
            count += sm4.kernels()?.len();
        }
        Ok(count)
    }

    /// Random data in a random mode under a random key; says what was wrong.
    pub(super) fn random(&mut self, rng: &mut fastrand::Rng) -> Result<(), String> {
        let bits = [128, 192, 256][rng.usize(..3)];
        let is_sm4 = rng.u8(..3) == 0;
        let mut key = vec![0; if is_sm4 { 16 } else { bits / 8 }];
        rng.fill(&mut key);
        let mode = mode(rng);
        let most = if rng.u32(..ONE_IN) == 0 { LONG } else { USUAL };
        let mut len = rng.usize(..=most);
        if !matches!(mode, BlockMode::Ctr(_)) {
            len -= len % 16;
        }
        let mut data = vec![0; len];
        rng.fill(&mut data);
        let mut got = vec![0xa5; len];
        let (aes_keys, sm4_keys);
        let cipher = if is_sm4 {
            sm4_keys = Sm4Keys::new(key[..].try_into().expect("16 bytes"));
            BlockCipher::Sm4(&self.sm4[rng.usize(..self.sm4.len())], &sm4_keys)
        } else {
            aes_keys = AesKeys::new(&key).map_err(super::failed)?;
            BlockCipher::Aes(&self.aes[rng.usize(..self.aes.len())], &aes_keys)
        };
        let what = format!("{cipher:?}, {mode:?}, {len} bytes");
        self.ring.apply(cipher, &mode, &data, &mut got).map_err(super::failed)?;
        let computed = match bits {
            _ if is_sm4 => on_cpu(sm4::Sm4::new(of_length(&key)), &mode, &mut data),
            128 => on_cpu(Aes128::new(of_length(&key)), &mode, &mut data),
            192 => on_cpu(Aes192::new(of_length(&key)), &mode, &mut data),
            _ => on_cpu(Aes256::new(of_length(&key)), &mode, &mut data),
        };
        computed.map_err(|why| why.to_string())?;
        match data.iter().zip(&got).position(|(wanted, got)| wanted != got) {
            Some(at) => Err(format!("byte {at} of {what}")),
            None => Ok(()),
        }
    }
}

fn of_length<const N: usize>(key: &[u8]) -> &[u8; N] {
    key.try_into().expect("as long as the cipher's")
}

/// Counters carry out of their last words as often as not.
fn mode(rng: &mut fastrand::Rng) -> BlockMode {
    match rng.u8(..5) {
        0 => BlockMode::Encrypt,
        1 => BlockMode::Decrypt,
        at => {
            let mut block = [0; 16];
            rng.fill(&mut block);
            let carries = rng.usize(..=15);
            block[carries..15].fill(0xff);
            let width = [CounterWidth::Bits32, CounterWidth::Bits64, CounterWidth::Bits128];
            BlockMode::Ctr(Counter::new(block, width[usize::from(at) - 2]))
        }
    }
}

/// What the CPU makes of the data.
fn on_cpu<C: block::BlockCipher>(
    cipher: C,
    mode: &BlockMode,
    data: &mut [u8],
) -> Result<(), manylane::Error> {
    match mode {
        BlockMode::Encrypt => ecb::Encryptor::new(cipher).update(data),
        BlockMode::Decrypt => ecb::Decryptor::new(cipher).update(data),
        BlockMode::Ctr(counter) => match counter.width() {
            CounterWidth::Bits32 => Ctr32::new(cipher, &counter.block()).update(data),
            CounterWidth::Bits64 => Ctr64::new(cipher, &counter.block()).update(data),
            CounterWidth::Bits128 => Ctr128::new(cipher, &counter.block()).update(data),
        },
    }
}

//! GPUs: which there are, their kernels, and known and random answers on each.

mod blocks;
mod on_device;

use std::fmt;

use manylane::{
    Messages,
    hash::{Algorithm, Midstate},
    sm3,
};
use manylane_gpu::{
    DeviceId, Error, Gpu, Info, Ring, RingConfig, Slot, Sm3, Start, Vendor, devices,
};
use serde::Serialize;

use self::blocks::Blocks;
use super::{
    self_test::{Known, Tested, compare, slices},
    sha3,
};
use crate::bench::{KernelSetup, kernel_setup};

/// What there is of a vendor.
#[derive(Serialize)]
pub(super) struct Driver {
    pub(super) vendor: &'static str,
    /// Why there are no GPUs of it.
    pub(super) missing: Option<String>,
}

/// A GPU.
#[derive(Serialize)]
pub(super) struct GpuInfo {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) architecture: String,
    pub(super) driver: String,
    pub(super) multiprocessors: u32,
    pub(super) clock_mhz: u32,
    pub(super) memory_bytes: u64,
    /// Whether its memory is the host's.
    pub(super) integrated: bool,
    /// PCI address, or empty.
    pub(super) pci: String,
    pub(super) kernels: Vec<KernelSetup>,
    /// Why it cannot be used.
    pub(super) unusable: Option<String>,
    #[serde(skip)]
    device: DeviceId,
}

impl fmt::Display for GpuInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let gib = self.memory_bytes as f64 / f64::from(1 << 30);
        write!(
            f,
            "{}, {}, {} multiprocessors up to {} MHz, {gib:.1} GiB{}, driver {}",
            self.name,
            self.architecture,
            self.multiprocessors,
            self.clock_mhz,
            if self.integrated { " shared with the host" } else { "" },
            self.driver
        )?;
        if !self.pci.is_empty() {
            write!(f, ", PCI {}", self.pci)?;
        }
        for KernelSetup { name, block, registers, local_bytes } in &self.kernels {
            write!(f, "\n    {name}: {registers} registers, {block} threads per block")?;
            if *local_bytes > 0 {
                write!(f, ", {local_bytes} bytes spilled")?;
            }
        }
        match &self.unusable {
            Some(why) => write!(f, "\n    cannot be used: {why}"),
            None => Ok(()),
        }
    }
}

/// Asks both vendors' drivers. Opens each GPU, to load the kernels.
pub(super) fn gather() -> (Vec<Driver>, Vec<GpuInfo>) {
    let (mut drivers, mut gpus) = (Vec::new(), Vec::new());
    for vendor in Vendor::ALL {
        let missing = match devices(vendor) {
            Ok(found) if found.is_empty() => Some("the driver finds no GPU".to_owned()),
            Ok(found) => {
                gpus.extend(found.iter().map(gpu));
                None
            }
            Err(why) => Some(why.to_string()),
        };
        drivers.push(Driver { vendor: vendor.name(), missing });
    }
    (drivers, gpus)
}

fn gpu(info: &Info) -> GpuInfo {
    let opened = Gpu::open(info.id).and_then(|gpu| Sm3::new(&gpu)?.kernels());
    let (kernels, unusable) = match opened {
        Ok(kernels) => (kernels.iter().map(kernel_setup).collect(), None),
        Err(why) => (Vec::new(), Some(why.to_string())),
    };
    GpuInfo {
        id: info.id.to_string(),
        name: info.name.clone(),
        architecture: info.architecture.clone(),
        driver: info.driver.clone(),
        multiprocessors: info.multiprocessors,
        clock_mhz: info.clock_khz / 1000,
        memory_bytes: info.memory,
        integrated: info.integrated,
        pci: info.pci.clone(),
        kernels,
        unusable,
        device: info.id,
    }
}

/// Known answers on each GPU, and `random` batches of random messages compared with the CPU.
pub(super) fn test(gpus: &[GpuInfo], known: Result<&Known, &String>, random: u64) -> Vec<Tested> {
    let mut tests = Vec::new();
    for gpu in gpus {
        let mut add = |work, result: Result<usize, String>| {
            let (answers, failure) = match result {
                Ok(answers) => (answers, None),
                Err(why) => (0, Some(why)),
            };
            tests.push(Tested { machine: gpu.id.clone(), work, answers, failure });
        };
        // One wrong digest is enough, also if the next try would be right.
        if let Some(why) = &gpu.unusable {
            add("messages", Err(why.clone()));
            continue;
        }
        add("messages", known.map_err(Clone::clone).and_then(|known| on_gpu(gpu.device, known)));
        add("sha3 messages", sha3_on_gpu(gpu.device));
        if random > 0 {
            add("random", batches(gpu.device, random));
        }
        match Gpu::open(gpu.device).and_then(|gpu| Blocks::load(&gpu)) {
            Ok(mut blocks) => {
                add("blocks", blocks.kernels().map_err(failed));
                if random > 0 {
                    add("random blocks", random_blocks(&mut blocks, random));
                }
            }
            Err(why) => add("blocks", Err(failed(why))),
        }
    }
    tests
}

/// So many random data through the block ciphers.
fn random_blocks(blocks: &mut Blocks, batches: u64) -> Result<usize, String> {
    let mut rng = fastrand::Rng::with_seed(batches);
    for batch in 0..batches {
        blocks.random(&mut rng).map_err(|why| format!("batch {batch}: {why}"))?;
    }
    Ok(batches as usize)
}

fn failed(why: Error) -> String {
    why.to_string()
}

/// The vectors, through the ring that the engine uses.
fn on_gpu(id: DeviceId, known: &Known) -> Result<usize, String> {
    let ring = Ring::new(&Gpu::open(id).map_err(failed)?, RingConfig::default()).map_err(failed)?;
    let messages = slices(&known.messages);
    let start = Midstate::new(Algorithm::Sm3);
    let all = Messages::slices(&messages);
    let digests = through(&ring, all.len(), Start::Hash(&start), |slot| slot.load(&all))?;
    let answers = digests.len() / sm3::DIGEST_LEN;
    compare("the digest", &messages, digests.as_chunks().0, &known.digests)?;
    let (keys, messages) = (slices(&known.mac_keys), slices(&known.mac_messages));
    let (keys, all) = (Messages::slices(&keys), Messages::slices(&messages));
    let tags = through(&ring, all.len(), Start::Hmac, |slot| slot.load_hmac(&keys, &all))?;
    compare("the HMAC", &messages, tags.as_chunks().0, &known.macs)?;
    Ok(answers + tags.len() / sm3::DIGEST_LEN)
}

/// The same for SHA-3's.
fn sha3_on_gpu(id: DeviceId) -> Result<usize, String> {
    let ring = Ring::new(&Gpu::open(id).map_err(failed)?, RingConfig::default()).map_err(failed)?;
    sha3::Known::read()?.ask(|start, messages| {
        let all = Messages::slices(messages);
        let start = Midstate::from(start.clone());
        through(&ring, all.len(), Start::Hash(&start), |slot| slot.load(&all))
    })
}

/// One batch through the ring: all digests, one after another.
fn through(
    ring: &Ring,
    count: usize,
    start: Start,
    load: impl FnOnce(&mut Slot) -> Result<usize, Error>,
) -> Result<Vec<u8>, String> {
    let digest_len = match start {
        Start::Hash(start) => start.digest_len(),
        Start::Hmac => sm3::DIGEST_LEN,
    };
    let slot = ring.try_slot().map_err(failed)?.ok_or("no slot is free")?;
    let mut slot = slot.with_digest_len(digest_len);
    let loaded = load(&mut slot).map_err(failed)?;
    if loaded != count {
        return Err(format!("{loaded} of {count} messages fit into a slot"));
    }
    let mut digests = vec![0; count * digest_len];
    slot.submit(start).and_then(|pending| pending.finish(&mut digests)).map_err(failed)?;
    Ok(digests)
}

/// Bytes of data that random messages are taken from.
const DATA: usize = 4 << 20;

/// Messages of a usual batch at most. More are only now and then worth the time: each is compared.
const MOST: usize = 64;

/// Of so many batches one has as many messages as the device orders by length.
const ONE_IN: u64 = 500;

/// Batches of random shapes, numbers, lengths, alignments, prefixes and keys, each compared with
/// the CPU in every digest.
fn batches(id: DeviceId, batches: u64) -> Result<usize, String> {
    let gpu = Gpu::open(id).map_err(failed)?;
    let mut rng = fastrand::Rng::with_seed(batches);
    let multiprocessors = gpu.info().multiprocessors;
    let most = on_device::most(multiprocessors).max(MOST);
    let mut device = on_device::Memory::new(&gpu, DATA, most, &mut rng).map_err(failed)?;
    let mut answers = 0;
    for batch in 0..batches {
        let asked = match batch % ONE_IN {
            0 => on_device::Batch::unlike(DATA, multiprocessors, &mut rng),
            _ => on_device::Batch::random(DATA, MOST, &mut rng),
        };
        let digests = device.run(&asked).map_err(failed)?;
        if let Some(i) = asked.first_difference(device.data(), &digests) {
            return Err(format!("batch {batch}, digest {i} of {}", asked.describe()));
        }
        answers += digests.len();
    }
    Ok(answers)
}

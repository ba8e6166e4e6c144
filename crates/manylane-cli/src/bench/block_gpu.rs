//! Suites `aes-gpu` and `sm4-gpu`: AES and SM4 on graphics processors, by the kernel alone and from the
//! host's memory, beside the methods of others.

use std::{fmt, rc::Rc, time::Duration};

use manylane::{
    aes::{Aes128, Aes192, Aes256},
    block::{BlockCipher, Ctr128, ecb},
    cpu::Machine,
    sm4::Sm4,
};
use manylane_gpu::{Counter, CounterWidth, DeviceId};

use self::device::{Device, Program, Work};
use super::{
    data::bytes_label,
    gpu::{self, Suite, by_wall, longest},
    measure::{Call, Contender, Group, Plan, SEED, Timing},
    model::Summary,
    report::Table,
};

mod device;
mod energy;
mod host;
mod kernels;
mod slides;

/// Name of what users call, with as many tables as the device has room for.
const OURS: &str = "manylane";

/// The ciphers of a suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    Aes,
    Sm4,
}

impl Family {
    pub(super) fn suite(self) -> &'static str {
        match self {
            Family::Aes => super::AES_GPU,
            Family::Sm4 => super::SM4_GPU,
        }
    }

    fn ciphers(self) -> &'static [Cipher] {
        match self {
            Family::Aes => &[Cipher::Aes128, Cipher::Aes192, Cipher::Aes256],
            Family::Sm4 => &[Cipher::Sm4],
        }
    }
}

/// A cipher with the length of its keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cipher {
    Aes128,
    Aes192,
    Aes256,
    Sm4,
}

/// Of which each cipher takes as much as it needs: speed does not depend on it.
const KEY: [u8; 32] = *b"not a secret, but 32 bytes long.";

impl Cipher {
    fn name(self) -> &'static str {
        match self {
            Cipher::Aes128 => "AES-128",
            Cipher::Aes192 => "AES-192",
            Cipher::Aes256 => "AES-256",
            Cipher::Sm4 => "SM4",
        }
    }

    /// A group's name: the suite names the family already.
    fn group(self, part: &str) -> String {
        match self {
            Cipher::Aes128 => format!("{part}-128"),
            Cipher::Aes192 => format!("{part}-192"),
            Cipher::Aes256 => format!("{part}-256"),
            Cipher::Sm4 => part.to_owned(),
        }
    }

    fn key(self) -> &'static [u8] {
        match self {
            Cipher::Aes128 | Cipher::Sm4 => &KEY[..16],
            Cipher::Aes192 => &KEY[..24],
            Cipher::Aes256 => &KEY,
        }
    }

    /// What the CPU makes of the data, which begin so many blocks into the whole.
    ///
    /// # Errors
    /// If the machine cannot run here, or the data are not what the mode takes.
    fn on_cpu(
        self,
        machine: Option<Machine>,
        mode: Mode,
        at: u64,
        data: &mut [u8],
    ) -> Result<(), manylane::Error> {
        macro_rules! with {
            ($cipher:ty) => {{
                let key = self.key().try_into().expect("as long as the cipher's");
                let cipher = match machine {
                    Some(machine) => <$cipher>::new_on(machine, key)?,
                    None => <$cipher>::new(key),
                };
                mode.on_cpu(cipher, at, data)
            }};
        }
        match self {
            Cipher::Aes128 => with!(Aes128),
            Cipher::Aes192 => with!(Aes192),
            Cipher::Aes256 => with!(Aes256),
            Cipher::Sm4 => with!(Sm4),
        }
    }
}

/// What is done with the blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// Counter mode from a block that ends with this word.
    Ctr(u32),
    /// Each block for itself.
    Encrypt,
    Decrypt,
}

impl Mode {
    /// Counter mode as all take it, the methods of others too.
    const CTR: Mode = Mode::Ctr(0);

    /// From where the first rows of counters are parts of rows.
    const CTR_ODD: Mode = Mode::Ctr(0x0707_0707);

    fn first_block(low: u32) -> [u8; 16] {
        let mut block = [7; 16];
        block[12..].copy_from_slice(&low.to_be_bytes());
        block
    }

    fn counter(low: u32) -> Counter {
        Counter::new(Self::first_block(low), CounterWidth::Bits128)
    }

    fn on_cpu<C: BlockCipher>(
        self,
        cipher: C,
        at: u64,
        data: &mut [u8],
    ) -> Result<(), manylane::Error> {
        match self {
            Mode::Ctr(low) => Ctr128::new(cipher, &Self::first_block(low)).xor(16 * at, data),
            Mode::Encrypt => ecb::Encryptor::new(cipher).update(data),
            Mode::Decrypt => ecb::Decryptor::new(cipher).update(data),
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Mode::Ctr(_) => "CTR",
            Mode::Encrypt => "ECB, encrypt",
            Mode::Decrypt => "ECB, decrypt",
        })
    }
}

/// Opens the GPUs and says what there is to measure on them.
///
/// # Errors
/// What kept a GPU from being opened.
pub(super) fn suite(family: Family, ids: &[DeviceId], quick: bool) -> Result<Suite, String> {
    let devices = ids.iter().map(|&id| open(family, id, longest(quick)));
    let devices: Vec<Rc<Device>> = devices.collect::<Result<_, _>>()?;
    let mut suite = Suite { plan: Plan::default(), gpus: Vec::new() };
    for device in &devices {
        let kernels = device.kernels().map_err(|why| why.to_string())?;
        suite.gpus.push(gpu::setup(device.gpu(), device.timer(), &kernels));
        suite.plan.groups.extend(kernels::groups(device, quick));
        suite.plan.groups.extend(host::groups(device, quick));
        suite.plan.groups.push(energy::group(device, quick));
    }
    Ok(suite)
}

fn open(family: Family, id: DeviceId, longest: Duration) -> Result<Rc<Device>, String> {
    let mut rng = fastrand::Rng::with_seed(SEED);
    let device = Device::open(family, id, longest, &mut rng);
    device.map(Rc::new).map_err(|why| format!("{id}: {why}"))
}

/// Launches every kernel that the suite measures once, on so many bytes at most, for a profiler or a
/// sanitizer to look at.
///
/// # Errors
/// What kept a GPU from that.
pub(super) fn launch_all(family: Family, id: DeviceId, bytes: usize) -> Result<(), String> {
    // How fast the device is does not matter: under a sanitizer it is slow.
    let device = open(family, id, Duration::ZERO)?;
    for work in kernels::each(&device, bytes) {
        let launched = device.timer().between(|stream| device.launch(&work, stream));
        launched.map_err(|why| format!("{work:?}: {why}"))?;
    }
    Ok(())
}

/// The tables that set the energy groups of a run beside the slides.
pub(super) fn beside_the_slides(summary: &Summary) -> Vec<Table> {
    slides::tables(summary)
}

/// A group of contenders on a device.
fn group(
    device: &Device,
    name: &str,
    part: &'static str,
    parameter: String,
    quick: bool,
    build: impl Fn(&mut fastrand::Rng) -> Result<Vec<Contender>, String> + 'static,
) -> Group {
    let suite = device.family().suite();
    let group = gpu::group(suite, device.gpu(), name, part, parameter, quick, build);
    Group { unit: "blocks", ..group }
}

/// A contender that runs a kernel on data in the device's memory; it has been found right.
fn contender(
    device: &Rc<Device>,
    name: String,
    work: Work,
    rng: &mut fastrand::Rng,
) -> Result<Contender, String> {
    device.check(&work, rng).map_err(|why| format!("{name}: {why}"))?;
    let device = Rc::clone(device);
    Ok(Contender {
        name,
        kernel: None,
        work: work.measured(),
        peer: matches!(work.program, Program::Other(_)),
        output: Vec::new(),
        call: Call::elsewhere(move |calls, _| {
            device.time(&work, calls).map_err(|why| why.to_string())
        }),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpu_computes_any_part() {
        for cipher in [Cipher::Aes128, Cipher::Aes192, Cipher::Aes256, Cipher::Sm4] {
            for mode in [Mode::CTR, Mode::CTR_ODD, Mode::Encrypt] {
                let mut whole = [0x5a; 160];
                cipher.on_cpu(None, mode, 0, &mut whole).unwrap();
                let mut part = [0x5a; 64];
                cipher.on_cpu(Some(Machine::Portable), mode, 6, &mut part).unwrap();
                assert_eq!(part, whole[96..], "{cipher:?} {mode}");
                assert_ne!(part, [0x5a; 64]);
            }
            let mut data = [0x5a; 32];
            for mode in [Mode::Encrypt, Mode::Decrypt] {
                cipher.on_cpu(None, mode, 0, &mut data).unwrap();
            }
            assert_eq!(data, [0x5a; 32], "{cipher:?}");
        }
    }
}

//! Kernels as a driver loads them.
//!
//! For CUDA that is PTX, made by `cargo xtask gen` and embedded compressed; the driver compiles it
//! for its card and keeps the result. For HIP there is no such form that every card takes, so the
//! sources are embedded, hipRTC compiles them for the card that is there, and [`cache`] keeps the
//! result.

#[cfg(unix)]
mod cache;
#[cfg(not(unix))]
#[path = "compile/no_cache.rs"]
mod cache;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, Weak},
};

use manylane::sm3::{DIGEST_LEN, Digest as _, Sm3};
use miniz_oxide::inflate::decompress_to_vec_with_limit;

use self::cache::Cache;
use crate::{
    Error, Gpu, Vendor,
    block::{self, Cipher, Tables},
    block_comparators, comparators,
    runtime::{Compiler, Sources, lock},
    sha3_comparators,
    tuning::tuning,
};

/// The digest of all that decides what a code object is: compiler, options, sources, and this
/// crate's version.
type Key = [u8; DIGEST_LEN];

/// Code objects of this process.
static MADE: Mutex<BTreeMap<Key, Made>> = Mutex::new(BTreeMap::new());

enum Made {
    /// Compiled now.
    Compiled(Vec<u8>),
    /// By an earlier process.
    Kept(Vec<u8>),
    /// Kept by an earlier process, and of no use.
    Distrusted,
}

/// PTX is a few hundred KiB of text; more than this is no PTX of ours.
const PTX_LIMIT: usize = 16 << 20;

/// The kernels of [`Sm3`](crate::Sm3), for [`Module`](crate::runtime::Module).
///
/// # Errors
/// [`Error::Compile`] if the machine's compiler fails, or has none.
pub(crate) fn sm3_image(gpu: &Gpu) -> Result<Vec<u8>, Error> {
    image(gpu, tuning(gpu.info()).sm3_ptx, &SM3)
}

/// The kernels of [`Sha3`](crate::Sha3), likewise.
///
/// # Errors
/// As [`sm3_image`].
pub(crate) fn sha3_image(gpu: &Gpu) -> Result<Vec<u8>, Error> {
    image_with(gpu, tuning(gpu.info()).sha3_ptx, &SHA3, &[])
}

/// As [`distrust_kept_sm3`], of [`sha3_image`].
pub(crate) fn distrust_kept_sha3(gpu: &Gpu) -> bool {
    distrust(gpu, &SHA3, &[])
}

/// The kernels of [`Comparators`](crate::Comparators), likewise.
///
/// # Errors
/// As [`sm3_image`].
pub(crate) fn comparators_image(gpu: &Gpu) -> Result<Vec<u8>, Error> {
    image(gpu, comparators::PTX, &COMPARATORS)
}

/// The kernels of a block cipher with so many tables, likewise.
///
/// # Errors
/// As [`sm3_image`].
pub(crate) fn block_image(gpu: &Gpu, cipher: Cipher, tables: Tables) -> Result<Vec<u8>, Error> {
    let (unit, defines) = block_unit(cipher, tables);
    image_with(gpu, block::ptx(cipher, tables), unit, defines)
}

/// As [`distrust_kept_sm3`], of [`block_image`].
pub(crate) fn distrust_kept_block(gpu: &Gpu, cipher: Cipher, tables: Tables) -> bool {
    let (unit, defines) = block_unit(cipher, tables);
    distrust(gpu, unit, defines)
}

/// The kernels of [`BlockComparators`](crate::BlockComparators), likewise.
///
/// # Errors
/// As [`sm3_image`].
pub(crate) fn block_comparators_image(gpu: &Gpu) -> Result<Vec<u8>, Error> {
    image_with(gpu, block_comparators::PTX, &BLOCK_COMPARATORS, &[])
}

/// The kernels of [`Sha3Comparators`](crate::Sha3Comparators), likewise.
///
/// # Errors
/// As [`sm3_image`].
pub(crate) fn sha3_comparators_image(gpu: &Gpu) -> Result<Vec<u8>, Error> {
    image_with(gpu, sha3_comparators::PTX, &SHA3_COMPARATORS, &[])
}

fn block_unit(cipher: Cipher, tables: Tables) -> (&'static Unit, &'static [&'static str]) {
    let unit = match cipher {
        Cipher::Aes => &AES,
        Cipher::Sm4 => &SM4,
    };
    let defines: &[&str] = match tables {
        Tables::Four => &["ONLY_TABLES=4"],
        Tables::Two => &["ONLY_TABLES=2"],
        Tables::One => &["ONLY_TABLES=1"],
    };
    (unit, defines)
}

/// What is compiled as one, and all that it includes, by name.
struct Unit {
    name: &'static str,
    source: &'static str,
    headers: &'static [(&'static str, &'static str)],
}

macro_rules! kernel {
    ($name:literal) => {
        include_str!(concat!("../kernels/", $name))
    };
}

const SM3: Unit = Unit {
    name: "sm3.cu",
    source: kernel!("sm3.cu"),
    headers: &[
        ("bins.cuh", kernel!("bins.cuh")),
        ("device.h", kernel!("device.h")),
        ("messages.cuh", kernel!("messages.cuh")),
        ("sm3.cuh", kernel!("sm3.cuh")),
        ("words.cuh", kernel!("words.cuh")),
    ],
};

const SHA3: Unit = Unit {
    name: "sha3.cu",
    source: kernel!("sha3.cu"),
    headers: &[
        ("bins.cuh", kernel!("bins.cuh")),
        ("device.h", kernel!("device.h")),
        ("keccak.cuh", kernel!("keccak.cuh")),
        ("messages.cuh", kernel!("messages.cuh")),
    ],
};

const AES: Unit = Unit {
    name: "aes.cu",
    source: kernel!("aes.cu"),
    headers: &[
        ("aes.cuh", kernel!("aes.cuh")),
        ("device.h", kernel!("device.h")),
        ("modes.cuh", kernel!("modes.cuh")),
        ("tables.cuh", kernel!("tables.cuh")),
    ],
};

const SM4: Unit = Unit {
    name: "sm4.cu",
    source: kernel!("sm4.cu"),
    headers: &[
        ("device.h", kernel!("device.h")),
        ("modes.cuh", kernel!("modes.cuh")),
        ("sm4.cuh", kernel!("sm4.cuh")),
        ("tables.cuh", kernel!("tables.cuh")),
    ],
};

const BLOCK_COMPARATORS: Unit = Unit {
    name: "block_comparators.cu",
    source: kernel!("block_comparators.cu"),
    headers: &[
        ("aes.cuh", kernel!("aes.cuh")),
        ("bitsliced.cuh", kernel!("bitsliced.cuh")),
        ("device.h", kernel!("device.h")),
        ("modes.cuh", kernel!("modes.cuh")),
        ("tables.cuh", kernel!("tables.cuh")),
    ],
};

const SHA3_COMPARATORS: Unit = Unit {
    name: "sha3_comparators.cu",
    source: kernel!("sha3_comparators.cu"),
    headers: &[("device.h", kernel!("device.h")), ("keccak.cuh", kernel!("keccak.cuh"))],
};

const COMPARATORS: Unit = Unit {
    name: "comparators.cu",
    source: kernel!("comparators.cu"),
    headers: &[("device.h", kernel!("device.h")), ("sm3.cuh", kernel!("sm3.cuh"))],
};

fn image(gpu: &Gpu, ptx: &[u8], unit: &Unit) -> Result<Vec<u8>, Error> {
    image_with(gpu, ptx, unit, tuning(gpu.info()).hip_defines)
}

fn image_with(gpu: &Gpu, ptx: &[u8], unit: &Unit, hip_defines: &[&str]) -> Result<Vec<u8>, Error> {
    let info = gpu.info();
    match info.id.vendor {
        Vendor::Cuda => inflate(unit, ptx),
        Vendor::Hip => {
            // A forked child learns here that it has no driver, before it waits for a lock that
            // its parent may have held.
            drop(gpu.bound()?);
            code_object(unit, &info.architecture, hip_defines, Cache::open)
        }
    }
}

/// PTX with the final zero that the driver wants.
fn inflate(unit: &Unit, compressed: &[u8]) -> Result<Vec<u8>, Error> {
    match decompress_to_vec_with_limit(compressed, PTX_LIMIT) {
        Ok(mut ptx) => {
            ptx.push(0);
            Ok(ptx)
        }
        Err(error) => Err(Error::Compile {
            what: unit.name.into(),
            log: format!("the embedded PTX is damaged: {error}"),
        }),
    }
}

/// The unit compiled for an architecture: by this process before, by another before, or now.
fn code_object(
    unit: &Unit,
    architecture: &str,
    defines: &[&str],
    cache: impl FnOnce() -> Option<Cache>,
) -> Result<Vec<u8>, Error> {
    let failed = |log| Error::Compile { what: format!("{} for {architecture}", unit.name), log };
    let compiler = Compiler::get().map_err(|why| {
        failed(format!(
            "hipRTC is needed: {why} (AMD's package hip-runtime-amd, Debian's libamdhip64-5 with \
             libhiprtc-builtins5, or Hygon's DTK)"
        ))
    })?;
    let options = options(architecture, defines);
    let key = key(&compiler.identity(), unit, &options);
    // Held while compiling: several devices of one architecture want the same.
    let mut made = lock(&MADE);
    let distrusted = match made.get(&key) {
        Some(Made::Compiled(object) | Made::Kept(object)) => return Ok(object.clone()),
        Some(Made::Distrusted) => true,
        None => false,
    };
    let cache = cache();
    if let Some(cache) = cache.as_ref().filter(|_| !distrusted)
        && let Some(object) = cache.load(&key)
    {
        made.insert(key, Made::Kept(object.clone()));
        return Ok(object);
    }
    let sources = Sources { name: unit.name, source: unit.source, headers: unit.headers };
    let object = compiler.compile(sources, &options).map_err(failed)?;
    // What cannot be kept is compiled again next time.
    let _ = cache.map(|cache| cache.store(&key, &object));
    made.insert(key, Made::Compiled(object.clone()));
    Ok(object)
}

/// Whether the kernels that [`sm3_image`] gave were kept from an earlier process. From now on they
/// are compiled anew, and replace what was kept.
pub(crate) fn distrust_kept_sm3(gpu: &Gpu) -> bool {
    distrust(gpu, &SM3, tuning(gpu.info()).hip_defines)
}

/// What this process knows of kernels, by device and what else tells them apart.
pub(crate) struct Loaded<Key, Kernels>(Mutex<BTreeMap<Key, Arc<Mutex<OfKey<Kernels>>>>>);

struct OfKey<Kernels> {
    kernels: Weak<Kernels>,
    /// That the device did not end its first work, which is still there: to free memory would wait
    /// for it.
    hangs: Option<Error>,
}

impl<Key: Ord, Kernels> Loaded<Key, Kernels> {
    pub(crate) const fn new() -> Self {
        Loaded(Mutex::new(BTreeMap::new()))
    }

    /// The kernels that there are, or else those of [`first_use`].
    ///
    /// # Errors
    /// As [`first_use`]; at once that the device hangs, if it did at the first use.
    pub(crate) fn get(
        &self,
        key: Key,
        checked: impl FnMut() -> Result<Arc<Kernels>, Error>,
        distrust: impl FnOnce() -> bool,
    ) -> Result<Arc<Kernels>, Error> {
        let nothing = || Arc::new(Mutex::new(OfKey { kernels: Weak::new(), hangs: None }));
        let of_key = lock(&self.0).entry(key).or_insert_with(nothing).clone();
        let mut of_key = lock(&of_key);
        if let Some(kernels) = of_key.kernels.upgrade() {
            return Ok(kernels);
        }
        if let Some(error) = &of_key.hangs {
            return Err(error.clone());
        }
        let kernels = first_use(checked, distrust, &mut of_key.hangs)?;
        of_key.kernels = Arc::downgrade(&kernels);
        Ok(kernels)
    }
}

/// What `checked` loads and finds right. If what an earlier process kept may be at fault, `distrust` has it made anew, and
/// it is loaded and checked again. That the device does not end its work is put into `hangs`.
///
/// # Errors
/// The last of `checked`.
fn first_use<T>(
    mut checked: impl FnMut() -> Result<T, Error>,
    distrust: impl FnOnce() -> bool,
    hangs: &mut Option<Error>,
) -> Result<T, Error> {
    let mut result = checked();
    if matches!(result, Err(Error::Call { .. } | Error::WrongResult { .. })) && distrust() {
        result = checked();
    }
    if let Err(error @ Error::Deadline(_)) = &result {
        *hangs = Some(error.clone());
    }
    result
}

fn distrust(gpu: &Gpu, unit: &Unit, hip_defines: &[&str]) -> bool {
    let info = gpu.info();
    let Some(compiler) = (info.id.vendor == Vendor::Hip).then(Compiler::get).and_then(Result::ok)
    else {
        return false;
    };
    let options = options(&info.architecture, hip_defines);
    let mut made = lock(&MADE);
    match made.get_mut(&key(&compiler.identity(), unit, &options)) {
        Some(object @ Made::Kept(_)) => {
            *object = Made::Distrusted;
            true
        }
        _ => false,
    }
}

/// The compiler's options. The architecture's name alone, without the device's settings of
/// `sramecc` and `xnack`, gives code that runs with any of them.
fn options(architecture: &str, defines: &[&str]) -> Vec<String> {
    let fixed = [format!("--offload-arch={architecture}"), "-O3".into(), "-std=c++17".into()];
    fixed.into_iter().chain(defines.iter().map(|define| format!("-D{define}"))).collect()
}

fn key(compiler: &str, unit: &Unit, options: &[String]) -> Key {
    let mut hash = Sm3::new();
    // With its length in front, no part can be taken for the end of another.
    let mut part = |text: &str| {
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(text);
    };
    part(env!("CARGO_PKG_VERSION"));
    part(compiler);
    part(&options.len().to_string());
    options.iter().for_each(|option| part(option));
    part(unit.name);
    part(unit.source);
    for (name, text) in unit.headers {
        part(name);
        part(text);
    }
    hash.finalize().into()
}

#[cfg(test)]
mod tests;

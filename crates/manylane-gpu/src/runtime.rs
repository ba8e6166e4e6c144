//! GPUs, their memory and their streams, alike for both vendors.
//!
//! [`mod@driver`] says what a vendor's library must be able to do; [`cuda`] and [`hip`] do it. The
//! types here own what they name, keep the context alive and bind it to the calling thread.
#![allow(unsafe_code)]

mod cuda;
mod driver;
mod hip;
mod library;
mod memory;
mod stream;

use std::{
    fmt,
    marker::PhantomData,
    ops::Deref,
    process,
    str::FromStr,
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicU32, Ordering::SeqCst},
    },
};

pub use self::{
    driver::DevicePointer,
    memory::{DeviceBuffer, PinnedBuffer},
    stream::{Event, Stream},
};
pub(crate) use self::{
    driver::{Driver, FunctionInfo, Grid, Handle},
    hip::{Compiler, Sources},
    stream::{Kernel, Module},
};
use crate::Error;

/// Whose GPU, and through which driver interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Vendor {
    /// NVIDIA, through the CUDA driver.
    Cuda,
    /// AMD and Hygon, through HIP.
    Hip,
}

impl Vendor {
    /// All of them.
    pub const ALL: [Vendor; 2] = [Vendor::Cuda, Vendor::Hip];

    /// The word in a device's name.
    pub fn name(self) -> &'static str {
        match self {
            Vendor::Cuda => "cuda",
            Vendor::Hip => "hip",
        }
    }
}

/// `CUDA` or `HIP`.
impl fmt::Display for Vendor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Vendor::Cuda => "CUDA",
            Vendor::Hip => "HIP",
        })
    }
}

/// A device's name: `cuda:0`, `hip:1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DeviceId {
    /// Whose.
    pub vendor: Vendor,
    /// Its number in the driver's order.
    pub ordinal: u32,
}

impl fmt::Display for DeviceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}:{}", self.vendor.name(), self.ordinal))
    }
}

impl FromStr for DeviceId {
    type Err = ();

    fn from_str(name: &str) -> Result<Self, ()> {
        let (vendor, ordinal) = name.split_once(':').ok_or(())?;
        let vendor = Vendor::ALL.into_iter().find(|v| v.name() == vendor).ok_or(())?;
        // `parse` alone would take a plus sign.
        if !ordinal.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(());
        }
        Ok(DeviceId { vendor, ordinal: ordinal.parse().map_err(|_| ())? })
    }
}

/// What a driver says of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Info {
    /// Its name in manylane.
    pub id: DeviceId,
    /// The vendor's name for it.
    pub name: String,
    /// `sm_90`, `gfx90a` and so on.
    pub architecture: String,
    /// The driver's version, as the vendor writes it.
    pub driver: String,
    /// Streaming multiprocessors or compute units.
    pub multiprocessors: u32,
    /// Threads that step together.
    pub warp: u32,
    /// Highest clock of the multiprocessors, in kHz.
    pub clock_khz: u32,
    /// Bytes of device memory.
    pub memory: u64,
    /// Whether device memory is the host's, so that nothing need be copied.
    pub integrated: bool,
    /// PCI address, `0000:1b:00.0`, or empty.
    pub pci: String,
}

impl Info {
    fn nothing_of(id: DeviceId) -> Self {
        Info {
            id,
            name: String::new(),
            architecture: String::new(),
            driver: String::new(),
            multiprocessors: 0,
            warp: 0,
            clock_khz: 0,
            memory: 0,
            integrated: false,
            pci: String::new(),
        }
    }
}

/// One vendor's driver: loaded and initialised by the process that first asks.
struct Loaded {
    /// The process that began to; a forked child must not touch the driver's state.
    pid: AtomicU32,
    driver: OnceLock<Result<Box<dyn Driver>, Error>>,
}

impl Loaded {
    const fn new() -> Self {
        Loaded { pid: AtomicU32::new(0), driver: OnceLock::new() }
    }

    fn get(&'static self, vendor: Vendor) -> Result<&'static dyn Driver, Error> {
        let pid = process::id();
        // Before the lock, which a forked child could find held for ever.
        match self.pid.compare_exchange(0, pid, SeqCst, SeqCst) {
            Err(owner) if owner != pid => return Err(Error::Forked(vendor)),
            _ => {}
        }
        let driver = self.driver.get_or_init(|| match vendor {
            Vendor::Cuda => Ok(Box::new(cuda::Cuda::new()?)),
            Vendor::Hip => Ok(Box::new(hip::Hip::new()?)),
        });
        driver.as_deref().map_err(Clone::clone)
    }
}

/// The vendor's driver.
///
/// # Errors
/// [`Error::NoDriver`]; [`Error::Forked`] in a child of a process that had asked before.
pub(crate) fn driver(vendor: Vendor) -> Result<&'static dyn Driver, Error> {
    static CUDA: Loaded = Loaded::new();
    static HIP: Loaded = Loaded::new();
    match vendor {
        Vendor::Cuda => CUDA.get(vendor),
        Vendor::Hip => HIP.get(vendor),
    }
}

/// The vendor's devices. Loads and initialises its driver, which can take tens of milliseconds,
/// but creates no context. One that the driver does not describe is among them with its number
/// alone, everything else being empty or zero: [`Gpu::open`] says what is wrong with it.
///
/// # Errors
/// [`Error::NoDriver`] if there is none, [`Error::Forked`], or what the driver says.
pub fn devices(vendor: Vendor) -> Result<Vec<Info>, Error> {
    let driver = driver(vendor)?;
    let info = |ordinal| {
        let nothing = Info::nothing_of(DeviceId { vendor, ordinal });
        driver.info(ordinal).unwrap_or(nothing)
    };
    Ok((0..driver.count()?).map(info).collect())
}

/// A device with its primary context, which is shared with everything else in the process that
/// uses the device. Clones are the same device; the last one to go releases the context.
#[derive(Clone)]
pub struct Gpu(Arc<Opened>);

struct Opened {
    driver: &'static dyn Driver,
    context: Handle,
    info: Info,
    pid: u32,
}

impl Gpu {
    /// Opens a device, which takes some tenths of a second the first time in a process.
    ///
    /// # Errors
    /// [`Error::NoDriver`], [`Error::NoDevice`], [`Error::Forked`], or what the driver says.
    pub fn open(id: DeviceId) -> Result<Self, Error> {
        let driver = driver(id.vendor)?;
        let count = driver.count()?;
        if id.ordinal >= count {
            return Err(Error::NoDevice { id, count });
        }
        let info = driver.info(id.ordinal)?;
        let context = driver.retain(id.ordinal)?;
        Ok(Gpu(Arc::new(Opened { driver, context, info, pid: process::id() })))
    }

    /// What the driver says of it.
    pub fn info(&self) -> &Info {
        &self.0.info
    }

    /// Free and total bytes of its memory at the moment.
    ///
    /// # Errors
    /// What the driver says.
    pub fn memory(&self) -> Result<(u64, u64), Error> {
        self.bound()?.memory()
    }

    /// Bytes of shared memory that a thread block may have at most.
    pub(crate) fn shared_of_block(&self) -> Result<u32, Error> {
        self.bound()?.shared_of_block(self.info().id.ordinal)
    }

    /// Whether the driver has page-locked the first and the last of these bytes, so that the
    /// device can copy them without help of a core. `false` where that cannot be told.
    pub fn is_pinned(&self, bytes: &[u8]) -> bool {
        match (bytes.first(), bytes.last(), self.bound()) {
            (Some(first), Some(last), Ok(driver)) => {
                driver.is_pinned(first) && driver.is_pinned(last)
            }
            _ => false,
        }
    }

    /// The device, of this vendor, whose memory an address is in; none if it is in no device's, or that cannot be
    /// told. For addresses that come from others.
    ///
    /// # Errors
    /// [`Error::Forked`], or what the driver says of the context.
    pub fn device_of(&self, pointer: DevicePointer) -> Result<Option<DeviceId>, Error> {
        let ordinal = self.bound()?.device_of(pointer);
        Ok(ordinal.map(|ordinal| DeviceId { vendor: self.info().id.vendor, ordinal }))
    }

    /// The driver, with the context current on the calling thread as long as the value lives.
    pub(crate) fn bound(&self) -> Result<Bound<'_>, Error> {
        let Opened { driver, context, ref info, .. } = *self.0;
        if !self.is_of_this_process() {
            return Err(Error::Forked(info.id.vendor));
        }
        // SAFETY: the context is retained as long as `self` is.
        let previous = unsafe { driver.bind(context, info.id.ordinal)? };
        Ok(Bound { driver, previous, of_this_thread: PhantomData })
    }

    /// Whether it was opened by this process, and not by one that this was forked from.
    pub(crate) fn is_of_this_process(&self) -> bool {
        self.0.pid == process::id()
    }

    /// Does something with the driver when its owner is dropped; nothing in a forked child, where
    /// the handle means nothing.
    pub(crate) fn on_drop(&self, release: impl FnOnce(&dyn Driver)) {
        if let Ok(driver) = self.bound() {
            release(&*driver);
        }
    }
}

/// A driver with a device's context current on this thread. What was current before is so again
/// when this is dropped: a thread is the caller's, and so is its current device.
pub(crate) struct Bound<'a> {
    driver: &'static dyn Driver,
    previous: Option<Handle>,
    of_this_thread: PhantomData<(&'a Gpu, *const ())>,
}

impl Deref for Bound<'_> {
    type Target = dyn Driver;

    fn deref(&self) -> &Self::Target {
        self.driver
    }
}

impl Drop for Bound<'_> {
    fn drop(&mut self) {
        if let Some(previous) = self.previous {
            // SAFETY: it was current on this thread before `bind`.
            unsafe { self.driver.restore(previous) };
        }
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        if self.pid == process::id() {
            // SAFETY: retained by `open`, released once; everything made in it held a `Gpu`.
            unsafe { self.driver.release(self.info.id.ordinal) };
        }
    }
}

impl PartialEq for Gpu {
    /// Whether both are the same device.
    fn eq(&self, other: &Self) -> bool {
        self.0.info.id == other.0.info.id
    }
}

impl fmt::Debug for Gpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Gpu({}: {})", self.0.info.id, self.0.info.name)
    }
}

/// Locks a mutex whatever happened to those who held it: what this crate guards is consistent at
/// every point where it could panic.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_devices_read_back() {
        for name in ["cuda:0", "hip:12"] {
            assert_eq!(name.parse::<DeviceId>().unwrap().to_string(), name);
        }
        for name in
            ["cuda", "cuda:", "cuda:+1", "cuda:-1", "CUDA:0", "cuda:0:0", ":0", "cuda:99999999999"]
        {
            assert!(name.parse::<DeviceId>().is_err(), "{name}");
        }
    }
}

//! SHA-3, SHAKE and their relatives of messages in a device's memory.
#![allow(unsafe_code)]

mod abi;
mod known_answers;

use std::{fmt, sync::Arc};

use manylane::sha3::{Function, Midstate};

use self::abi::Sponge;
use crate::{
    DeviceId, DeviceMessages, DevicePointer, Error, Gpu, KernelInfo, Layout, Stream, Workspace,
    compile::{self, Loaded},
    messages::{Place, argument, check, parts, shape},
    order::{Blocks, Few, Order},
    runtime::{Kernel, Module},
    tuning::{self, Tuning},
};

/// Which kernel takes messages of a layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Choice {
    /// Rows of one length at 8-byte boundaries: no byte is moved.
    Rows { data: DevicePointer, stride: u64, blocks: u32, rest: u32 },
    /// 32 bytes at 16-byte boundaries, such as digests, after nothing, in blocks of 136 bytes: most
    /// of the block is constant.
    Hash32 { data: DevicePointer, stride: u64 },
    /// One block with its padding, after nothing, and few words of output.
    Short { data: DevicePointer, stride: u64, len: u32 },
    /// Anything.
    Many,
}

impl Choice {
    fn of(messages: &DeviceMessages, sponge: &Sponge, rate: usize) -> Self {
        let Layout::Strided { data, len, mut stride } = messages.layout else {
            return Choice::Many;
        };
        if messages.count <= 1 {
            stride = 0;
        }
        let aligned = |to| data.0.is_multiple_of(to) && stride.is_multiple_of(to);
        let (initial, output_len) = (sponge.is_initial(), sponge.output_len);
        if initial && len < rate as u64 {
            let all = sponge.has_all_rounds();
            if (rate, len, output_len) == (136, 32, 32) && all && aligned(16) {
                return Choice::Hash32 { data, stride };
            }
            if output_len <= short_output(rate) && output_len.is_multiple_of(4) {
                return Choice::Short { data, stride, len: len as u32 };
            }
        }
        match i32::try_from(len / rate as u64) {
            Ok(blocks) if aligned(8) && sponge.rest_len == 0 => {
                let rest = (len % rate as u64) as u32;
                Choice::Rows { data, stride, blocks: blocks as u32, rest }
            }
            _ => Choice::Many,
        }
    }
}

/// Bytes of output that the kernel of short messages can give: the digest of the hash function that
/// has this rate, of SHAKE128 32.
fn short_output(rate: usize) -> u32 {
    match rate {
        72 => 64,
        104 => 48,
        _ => 32,
    }
}

/// Bytes of blocks, with the names of their kernels: for any messages, rows, and short messages.
const NAMES: [(usize, [&str; 3]); 5] = [
    (168, ["sha3_hash_many_168", "sha3_hash_rows_168", "sha3_hash_short_168"]),
    (144, ["sha3_hash_many_144", "sha3_hash_rows_144", "sha3_hash_short_144"]),
    (136, ["sha3_hash_many_136", "sha3_hash_rows_136", "sha3_hash_short_136"]),
    (104, ["sha3_hash_many_104", "sha3_hash_rows_104", "sha3_hash_short_104"]),
    (72, ["sha3_hash_many_72", "sha3_hash_rows_72", "sha3_hash_short_72"]),
];

/// SHA3-224 to SHA3-512, SHAKE, cSHAKE, the Keccak submission's functions and TurboSHAKE on one
/// device: every [`Function`].
///
/// All calls are asynchronous: they enqueue work on a stream and return. Clones share the kernels,
/// which stay loaded as long as one of them lives; the last to be dropped waits for the device.
#[derive(Clone)]
pub struct Sha3 {
    kernels: Arc<Kernels>,
    /// Threads per block, where not those of the tuning.
    block: Option<u32>,
}

/// The kernels, loaded and found right on a device.
struct Kernels {
    gpu: Gpu,
    tuning: &'static Tuning,
    /// In the order of [`NAMES`].
    of_rates: [OfRate; NAMES.len()],
    hash_32: Kernel,
    order: Order,
    /// What the kernels are part of.
    _module: Module,
}

/// The kernels for blocks of one length.
struct OfRate {
    many: Kernel,
    rows: Kernel,
    short: Kernel,
    few: Few,
}

impl Sha3 {
    /// The kernels for a device: compiled, loaded, and checked against known answers by the first
    /// call for the device, shared by later ones. That first call takes tens of milliseconds, and
    /// some seconds where the vendor's compiler runs and has kept nothing from an earlier time.
    ///
    /// # Errors
    /// [`Error::Compile`]; [`Error::WrongResult`] if a kernel computes a wrong digest;
    /// [`Error::Deadline`] if the device has not done that after 10 seconds, and at once if it had
    /// not before; [`Error::Forked`]; or what the driver says.
    pub fn new(gpu: &Gpu) -> Result<Self, Error> {
        static LOADED: Loaded<DeviceId, Kernels> = Loaded::new();
        // A forked child could find the locks held for ever.
        drop(gpu.bound()?);
        let checked = || Ok(Self::checked(gpu)?.kernels);
        let kernels = LOADED.get(gpu.info().id, checked, || compile::distrust_kept_sha3(gpu))?;
        Ok(Sha3 { kernels, block: None })
    }

    fn checked(gpu: &Gpu) -> Result<Self, Error> {
        let sha3 = Sha3 { kernels: Arc::new(Kernels::load(gpu)?), block: None };
        known_answers::check(&sha3)?;
        Ok(sha3)
    }

    /// The same kernels, launched with so many threads per block: for measurements. A launch with
    /// more than a kernel's [`max_block`](KernelInfo::max_block) is refused by the driver.
    ///
    /// # Panics
    /// If there are none.
    pub fn with_block(&self, threads: u32) -> Self {
        assert!(threads > 0, "a block has threads");
        Sha3 { kernels: self.kernels.clone(), block: Some(threads) }
    }

    /// The device.
    pub fn gpu(&self) -> &Gpu {
        &self.kernels.gpu
    }

    /// The kernels that hash, as the driver compiled them.
    ///
    /// # Errors
    /// What the driver says.
    pub fn kernels(&self) -> Result<Vec<KernelInfo>, Error> {
        let Kernels { gpu, tuning, of_rates, hash_32, .. } = &*self.kernels;
        let blocks = &tuning.sha3_blocks;
        let of_rates = of_rates.iter().flat_map(|OfRate { many, rows, short, .. }| {
            [(many, blocks.many), (rows, blocks.rows), (short, blocks.short)]
        });
        of_rates
            .chain([(hash_32, blocks.short)])
            .map(|(kernel, block)| KernelInfo::of(kernel, gpu, self.block.unwrap_or(block)))
            .collect()
    }

    /// Enqueues the output of `start`'s function for each message, continued from `start`: with `len`
    /// the function's [`output_len`](Function::output_len), output `i` goes to `out + len * i`, one
    /// close behind the other. `out` is 16-byte aligned.
    ///
    /// With a workspace, messages of unlike lengths are taken in order of their length, longest
    /// first, so that the threads of a warp finish together; the outputs are in the messages'
    /// order all the same. Without one, or for few messages, they are taken as they come.
    ///
    /// # Errors
    /// [`Error::Input`] if `out` or the offsets are not aligned, an output is 4 GiB or more, or the
    /// stream or the workspace is another device's; what the driver says. Errors of the work itself
    /// are reported by the stream.
    ///
    /// # Safety
    /// All addresses are of memory that the device can access: the messages up to the 16-byte
    /// boundaries around them, since they are read in aligned pieces, the offsets, which do not
    /// decrease, and `out` for all outputs. They stay so, and nobody writes to the messages or reads
    /// the outputs, until the stream has passed this work. `out` overlaps none of the rest. A
    /// workspace is used by one stream until that has passed the work. The kernels need not be kept
    /// until then: the last clone of them to be dropped waits for the device.
    pub unsafe fn hash_many(
        &self,
        stream: &Stream,
        start: &Midstate,
        messages: &DeviceMessages,
        mut workspace: Option<&mut Workspace>,
        out: DevicePointer,
    ) -> Result<(), Error> {
        check(self.gpu(), stream, workspace.as_deref(), messages, out)?;
        let function = start.function();
        let too_long = || shape("an output of 4 GiB or more");
        let sponge = Sponge::of(start).ok_or_else(too_long)?;
        let output_len = function.output_len();
        if output_len == 0 {
            return Ok(());
        }
        for (messages, out) in parts(messages, workspace.as_deref(), output_len, out) {
            let choice = Choice::of(&messages, &sponge, function.rate());
            let mut order = DevicePointer(0);
            if choice == Choice::Many {
                let (blocks, workspace) = (blocks(&sponge, function), workspace.as_deref_mut());
                // SAFETY: the caller's.
                order =
                    unsafe { self.kernels.order.enqueue(stream, &messages, blocks, workspace)? };
            }
            let work =
                Work { choice, sponge: &sponge, rate: function.rate(), messages, order, out };
            // SAFETY: the caller's.
            unsafe { self.launch(stream, &work)? };
        }
        Ok(())
    }

    /// # Safety
    /// As [`hash_many`](Self::hash_many); the choice is one that these messages allow.
    unsafe fn launch(&self, stream: &Stream, work: &Work) -> Result<(), Error> {
        let Kernels { tuning, hash_32, .. } = &*self.kernels;
        let kernels = self.kernels.of_rate(work.rate);
        let block = |of_tuning| self.block.unwrap_or(of_tuning);
        let (count, out) = (work.messages.count as u32, argument(&work.out));
        let (blocks, threads) = (&tuning.sha3_blocks, count.div_ceil(tuning.each));
        let Sponge { suffix, first_round, output_len, .. } = work.sponge;
        let numbers = [argument(suffix), argument(first_round), argument(output_len)];
        let (sponge, count_) = (argument(work.sponge), argument(&count));
        // SAFETY: the arguments are the kernels', the addresses as the caller promises.
        unsafe {
            match work.choice {
                Choice::Many => {
                    let (block, messages) = (block(blocks.many), Place::of(&work.messages));
                    let ordered = work.order.0 != 0;
                    let shared = if ordered { kernels.few.shared_for(count, block) } else { 0 };
                    let mut arguments =
                        [argument(&messages), sponge, argument(&work.order), count_, out];
                    kernels.many.launch_sharing(stream, count, block, shared, &mut arguments)
                }
                Choice::Rows { data, stride, blocks: whole, rest } => {
                    let (data, stride) = (argument(&data), argument(&stride));
                    let (whole, rest) = (argument(&whole), argument(&rest));
                    let mut arguments = [data, stride, whole, rest, sponge, count_, out];
                    kernels.rows.launch(stream, count, block(blocks.rows), &mut arguments)
                }
                Choice::Short { data, stride, len } => {
                    let (data, stride, len) = (argument(&data), argument(&stride), argument(&len));
                    let [suffix, first_round, output_len] = numbers;
                    let mut arguments =
                        [data, stride, len, suffix, first_round, output_len, count_, out];
                    kernels.short.launch(stream, threads, block(blocks.short), &mut arguments)
                }
                Choice::Hash32 { data, stride } => {
                    let (data, stride) = (argument(&data), argument(&stride));
                    let mut arguments = [data, stride, count_, numbers[0], out];
                    hash_32.launch(stream, threads, block(blocks.short), &mut arguments)
                }
            }
        }
    }
}

/// What one launch does.
struct Work<'a> {
    choice: Choice,
    sponge: &'a Sponge,
    rate: usize,
    messages: DeviceMessages,
    /// Address of the messages' order, or null.
    order: DevicePointer,
    out: DevicePointer,
}

/// What of messages' lengths decides how many blocks they have: one byte of padding at least, and the last
/// block is never less work than the others.
fn blocks(sponge: &Sponge, function: Function) -> Blocks {
    Blocks { extra: sponge.rest_len + 1, len: function.rate() as u32, padding: 0 }
}

impl Kernels {
    fn load(gpu: &Gpu) -> Result<Self, Error> {
        let module = Module::new(gpu, &compile::sha3_image(gpu)?)?;
        let tuning = tuning::tuning(gpu.info());
        let [a, b, c, d, e] = NAMES.map(|(_, [many, rows, short])| -> Result<OfRate, Error> {
            let many = module.kernel(many)?;
            Ok(OfRate {
                few: Few::of(&many, gpu, tuning.few.clone()),
                many,
                rows: module.kernel(rows)?,
                short: module.kernel(short)?,
            })
        });
        Ok(Kernels {
            gpu: gpu.clone(),
            tuning,
            of_rates: [a?, b?, c?, d?, e?],
            hash_32: module.kernel("sha3_hash_32")?,
            order: Order::new(&module, tuning.blocks.bin)?,
            _module: module,
        })
    }

    fn of_rate(&self, rate: usize) -> &OfRate {
        let number = NAMES.iter().position(|(of, _)| *of == rate);
        &self.of_rates[number.expect("every function has one of these rates")]
    }
}

impl fmt::Debug for Sha3 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sha3({})", self.kernels.gpu.info().id)
    }
}

//! AES on GPUs as others have published it, for measurements beside [`Aes`](crate::Aes).
//!
//! Not for use: nothing else in manylane calls them. They take only what was published, are not checked
//! before their first use, and are slower. [`BlockComparator::Steps`] looks up in constant memory, which is cached, at
//! secret indices: what it takes tells of keys and data.
#![allow(unsafe_code)]

use std::fmt;

use crate::{
    AesKeys, Counter, DevicePointer, Error, Gpu, KernelInfo, Stream,
    block::{BLOCK_LEN, Place, argument, shape},
    compile,
    runtime::{Kernel, Module},
};

/// A published way to encrypt by AES on a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum BlockComparator {
    /// SubBytes, ShiftRows, MixColumns and AddRoundKey as four functions on sixteen bytes, the S-box in
    /// constant memory, a thread a block: as in the report by Li et al.
    Steps,
    /// C. Tezcan, “Optimization of Advanced Encryption Standard on Graphics Processing Units”, IEEE
    /// Access 9 (2021): one table with a copy for each bank, entries rotated by byte permutations; for the
    /// last round the S-box, four values a word, likewise.
    OneTable,
    /// O. Hajihassani et al., “Fast AES Implementation: A High-Throughput Bitsliced Approach”, IEEE
    /// Transactions on Parallel and Distributed Systems 30 (2019): the bits of 32 blocks in 128
    /// registers of a thread. Takes multiples of 1024 blocks, from counters that are such multiples.
    Bits,
}

impl BlockComparator {
    /// All of them.
    pub const ALL: [BlockComparator; 3] =
        [BlockComparator::Steps, BlockComparator::OneTable, BlockComparator::Bits];

    /// What it is called in tables.
    pub fn name(self) -> &'static str {
        match self {
            BlockComparator::Steps => "four functions a round (Li et al.)",
            BlockComparator::OneTable => "one table and an S-box (Tezcan)",
            BlockComparator::Bits => "bitsliced, 32 blocks a thread (Hajihassani et al.)",
        }
    }

    fn kernels(self) -> [&'static str; 3] {
        match self {
            BlockComparator::Steps => {
                ["comparator_aes128_steps", "comparator_aes192_steps", "comparator_aes256_steps"]
            }
            BlockComparator::OneTable => [
                "comparator_aes128_one_table",
                "comparator_aes192_one_table",
                "comparator_aes256_one_table",
            ],
            BlockComparator::Bits => {
                ["comparator_aes128_bits", "comparator_aes192_bits", "comparator_aes256_bits"]
            }
        }
    }

    /// Threads of a block where the caller does not say.
    fn block(self) -> u32 {
        match self {
            BlockComparator::Steps => 256,
            // The paper's.
            BlockComparator::OneTable => 1024,
            // As many as registers are left for.
            BlockComparator::Bits => 128,
        }
    }
}

/// The kernels for CUDA: the same on all cards.
pub(crate) const PTX: &[u8] = include_bytes!("../ptx/block-comparators.ptx.deflate");

/// Blocks of 16 bytes of one call at most.
const MOST: u64 = 1 << 31;

/// Blocks of the data and of the counter that bitslicing takes at a time.
const SLICED: u64 = 1024;

/// The comparators on one device.
pub struct BlockComparators {
    gpu: Gpu,
    /// In the order of [`BlockComparator::ALL`], for each of AES's keys.
    kernels: Vec<[Kernel; 3]>,
    /// What the kernels are part of.
    _module: Module,
}

impl BlockComparators {
    /// Compiles and loads them. They are not checked: whoever measures them compares the output.
    ///
    /// # Errors
    /// [`Error::Compile`], [`Error::Forked`], or what the driver says.
    pub fn new(gpu: &Gpu) -> Result<Self, Error> {
        let module = Module::new(gpu, &compile::block_comparators_image(gpu)?)?;
        let mut kernels = Vec::new();
        for which in BlockComparator::ALL {
            let [a, b, c] = which.kernels().map(|name| module.kernel(name));
            kernels.push([a?, b?, c?]);
        }
        Ok(BlockComparators { gpu: gpu.clone(), kernels, _module: module })
    }

    /// The kernels, as the driver compiled them, for each of AES's keys.
    ///
    /// # Errors
    /// What the driver says.
    pub fn kernels(&self) -> Result<Vec<KernelInfo>, Error> {
        let of = |which: BlockComparator| self.of(which).iter().map(move |kernel| (which, kernel));
        let describe = |(which, kernel): (BlockComparator, &Kernel)| {
            KernelInfo::of(kernel, &self.gpu, which.block())
        };
        BlockComparator::ALL.into_iter().flat_map(of).map(describe).collect()
    }

    fn of(&self, which: BlockComparator) -> &[Kernel; 3] {
        let at = BlockComparator::ALL.iter().position(|one| *one == which);
        &self.kernels[at.expect("ALL has each")]
    }

    /// Enqueues counter mode over `len` bytes, whole blocks. Addresses are 16-byte aligned; the counter's
    /// last word must not wrap.
    ///
    /// # Errors
    /// [`Error::Input`] if an address is not aligned, the stream is another device's, or it is not what
    /// the comparator takes; what the driver says.
    ///
    /// # Safety
    /// As for [`Aes::apply_ctr`](crate::Aes::apply_ctr).
    #[expect(clippy::too_many_arguments, reason = "those of the product, and which comparator")]
    pub unsafe fn apply_ctr(
        &self,
        which: BlockComparator,
        stream: &Stream,
        keys: &AesKeys,
        counter: &Counter,
        from: DevicePointer,
        to: DevicePointer,
        len: u64,
    ) -> Result<(), Error> {
        if stream.gpu() != &self.gpu {
            return Err(shape("a stream of another device"));
        }
        Place { from, to }.check()?;
        let (words, blocks) = (counter.words(), len / BLOCK_LEN as u64);
        let low = u64::from(words[3]);
        if !len.is_multiple_of(BLOCK_LEN as u64) || blocks > MOST || low + blocks > 1 << 32 {
            return Err(shape("not a length that a comparator takes"));
        }
        let sliced = which == BlockComparator::Bits;
        if sliced && !(blocks.is_multiple_of(SLICED) && low.is_multiple_of(SLICED)) {
            return Err(shape("not a multiple of 1024 blocks, or such a counter"));
        }
        let threads = match which {
            BlockComparator::Steps => blocks,
            BlockComparator::Bits => blocks / 32,
            // Tezcan's threads go on to further blocks.
            BlockComparator::OneTable => {
                blocks.min(u64::from(self.gpu.info().multiprocessors.max(1) * which.block()))
            }
        };
        let mut arguments = [
            argument(&from),
            argument(&to),
            argument(&len),
            argument(&words),
            keys.encrypting().argument(),
        ];
        let kernel = &self.of(which)[keys.size()];
        // SAFETY: the arguments are those of `kernels/block_comparators.cu`, the addresses as the
        // caller promises.
        unsafe { kernel.launch(stream, threads as u32, which.block(), &mut arguments) }
    }
}

impl fmt::Debug for BlockComparators {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BlockComparators({})", self.gpu.info().id)
    }
}

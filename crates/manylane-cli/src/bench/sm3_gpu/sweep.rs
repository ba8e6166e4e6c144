//! Throughput and latency over threads per block and numbers of blocks, as HI-SM3 shows them in
//! its Table 3 and its Figures 9 and 10: each thread has one message.

use std::rc::Rc;

use super::{
    Device, Group, bytes_label, contender,
    device::{Program, Shape, Work},
    group,
};

const PART: &str = "Kernel alone, by threads per block and number of blocks";

/// Lengths of the messages.
const LENGTHS: [usize; 6] = [64, 4 << 10, 8 << 10, 32 << 10, 64 << 10, 128 << 10];

/// Threads per block: HI-SM3's, as far as the kernel can be launched with them, and fewer.
const THREADS: [u32; 7] = [64, 128, 192, 256, 512, 768, 1024];

/// Blocks, in multiples of the multiprocessors.
const WAVES: [u32; 5] = [1, 2, 4, 8, 16];

pub(super) fn groups(device: &Rc<Device>, quick: bool) -> impl Iterator<Item = Group> {
    let lengths: &[usize] = if quick { &[64, 8 << 10] } else { &LENGTHS };
    lengths.iter().map(move |&len| of_length(device, len, quick))
}

fn of_length(device: &Rc<Device>, len: usize, quick: bool) -> Group {
    let device = Rc::clone(device);
    let on = Rc::clone(&device);
    let build = move |rng: &mut fastrand::Rng| {
        let kernels = on.sm3().kernels().map_err(|why| why.to_string())?;
        let most = kernels.iter().map(|kernel| kernel.max_block).min().unwrap_or(0);
        let waves = if quick { &WAVES[..3] } else { &WAVES[..] };
        let mut contenders = Vec::new();
        for threads in THREADS.into_iter().filter(|&threads| threads <= most) {
            for wave in waves {
                let blocks = wave * on.multiprocessors();
                let count = (threads * blocks) as usize;
                // As far as the device's memory goes.
                if on.affords(count, len) < count {
                    break;
                }
                let shape = Shape::Rows { len, stride: len };
                let work = Rc::new(Work { program: Program::Hash(Some(threads)), count, shape });
                contenders.push(contender(&on, name(threads, blocks), work, rng)?);
            }
        }
        Ok(contenders)
    };
    let parameter = bytes_label(len as u64);
    group(&device, &format!("blocks-{len}"), PART, parameter, quick, build)
}

fn name(threads: u32, blocks: u32) -> String {
    format!("{threads} × {blocks} blocks")
}

/// How a contender was launched, from its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::bench) struct Launch {
    /// Threads per block.
    pub(in crate::bench) threads: u32,
    pub(in crate::bench) blocks: u32,
}

impl Launch {
    pub(in crate::bench) fn of(name: &str) -> Option<Self> {
        let (threads, blocks) = name.strip_suffix(" blocks")?.split_once(" × ")?;
        Some(Launch { threads: threads.parse().ok()?, blocks: blocks.parse().ok()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_how_a_kernel_was_launched() {
        assert_eq!(Launch::of(&name(256, 132)), Some(Launch { threads: 256, blocks: 132 }));
        assert_eq!(Launch::of("hash_many"), None);
    }
}

//! Throughput and latency over threads per block and numbers of blocks, as HI-SM3 shows them in
//! its Table 3 and its Figures 9 and 10: each thread has one message.

use std::rc::Rc;

use manylane_gpu::{Comparator, KernelInfo};

use super::{
    Device, Group, bytes_label, contender,
    device::{Program, Shape, Work},
    group,
};

const PART: &str = "Kernel alone, by threads per block and number of blocks";

/// Lengths of the messages.
const LENGTHS: [usize; 6] = [64, 4 << 10, 8 << 10, 32 << 10, 64 << 10, 128 << 10];

/// Threads per block: those that HI-SM3 compares, and fewer; of each kernel as many as it can be
/// launched with.
const THREADS: [u32; 7] = [64, 128, 192, 256, 512, 768, 1024];

/// The fewest that HI-SM3 compares, and that its own method is measured with.
const FEWEST_OF_HI_SM3: u32 = 256;

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
        let failed = |why: manylane_gpu::Error| why.to_string();
        let ours = on.sm3().kernels().map_err(failed)?;
        let others = on.comparators().kernels().map_err(failed)?;
        let waves = if quick { &WAVES[..3] } else { &WAVES[..] };
        let mut contenders = Vec::new();
        for (peer, kernels, fewest) in [(false, ours, 0), (true, others, FEWEST_OF_HI_SM3)] {
            for threads in threads(&kernels).filter(|threads| *threads >= fewest) {
                for wave in waves {
                    let blocks = wave * on.multiprocessors();
                    let count = (threads * blocks) as usize;
                    // As far as the device's memory goes.
                    if on.affords(count, len) < count {
                        break;
                    }
                    let launch = Launch { peer, threads, blocks };
                    let work = Rc::new(work(launch, count, len));
                    contenders.push(contender(&on, launch.name(), peer, work, rng)?);
                }
            }
        }
        Ok(contenders)
    };
    let parameter = bytes_label(len as u64);
    group(&device, &format!("blocks-{len}"), PART, parameter, quick, build)
}

/// Threads per block that all of the kernels can be launched with.
fn threads(kernels: &[KernelInfo]) -> impl Iterator<Item = u32> + use<> {
    let most = kernels.iter().map(|kernel| kernel.max_block).min().unwrap_or(0);
    THREADS.into_iter().filter(move |threads| *threads <= most)
}

fn work(launch: Launch, count: usize, len: usize) -> Work {
    let threads = Some(launch.threads);
    if launch.peer {
        let program = Program::Comparator(Comparator::Interleaved16, threads);
        Work { program, count, shape: Shape::Interleaved { len } }
    } else {
        Work { program: Program::Hash(threads), count, shape: Shape::Rows { len, stride: len } }
    }
}

/// In front of the names of launches of HI-SM3's method.
const HI_SM3: &str = "HI-SM3: ";

/// How a contender was launched, and its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::bench) struct Launch {
    /// Whether by HI-SM3's method.
    pub(in crate::bench) peer: bool,
    /// Threads per block.
    pub(in crate::bench) threads: u32,
    pub(in crate::bench) blocks: u32,
}

impl Launch {
    fn name(self) -> String {
        let Launch { peer, threads, blocks } = self;
        format!("{}{threads} × {blocks} blocks", if peer { HI_SM3 } else { "" })
    }

    /// The launch of that name.
    pub(in crate::bench) fn of(name: &str) -> Option<Self> {
        let (peer, launch) = name.strip_prefix(HI_SM3).map_or((false, name), |rest| (true, rest));
        let (threads, blocks) = launch.strip_suffix(" blocks")?.split_once(" × ")?;
        Some(Launch { peer, threads: threads.parse().ok()?, blocks: blocks.parse().ok()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_how_a_kernel_was_launched() {
        for peer in [false, true] {
            let launch = Launch { peer, threads: 256, blocks: 132 };
            assert_eq!(Launch::of(&launch.name()), Some(launch));
        }
        assert_eq!(Launch::of("hash_many"), None);
    }
}

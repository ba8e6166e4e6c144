//! Throughput and latency over threads per block and numbers of blocks, as HI-SM3 shows them in
//! its Table 3 and its Figures 9 and 10: each thread has one message.

use std::rc::Rc;

use manylane_gpu::Comparator;

use super::{
    Device, Group, bytes_label, contender,
    device::{Program, Shape, Work},
    group,
};

const PART: &str = "Kernel alone, by threads per block and number of blocks";

/// Lengths of the messages.
const LENGTHS: [usize; 6] = [64, 4 << 10, 8 << 10, 32 << 10, 64 << 10, 128 << 10];

/// Threads per block of our kernels, which are compiled for 256 at most: more share no more of a
/// multiprocessor's registers.
const OURS: [u32; 4] = [64, 128, 192, 256];

/// Threads per block that HI-SM3 compares, here with its own layout and loads.
const THEIRS: [u32; 4] = [256, 512, 768, 1024];

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
        let waves = if quick { &WAVES[..3] } else { &WAVES[..] };
        let mut contenders = Vec::new();
        let mut add = |peer, threads: u32, launch: fn(u32) -> Program| {
            for wave in waves {
                let blocks = wave * on.multiprocessors();
                let count = (threads * blocks) as usize;
                // As far as the device's memory goes.
                if on.affords(count, len) < count {
                    break;
                }
                let shape = match peer {
                    false => Shape::Rows { len, stride: len },
                    true => Shape::Interleaved { len },
                };
                let work = Rc::new(Work { program: launch(threads), count, shape });
                let name = name(peer, threads, blocks);
                contenders.push(contender(&on, name, peer, work, rng)?);
            }
            Ok::<(), String>(())
        };
        for threads in OURS {
            add(false, threads, |threads| Program::Hash(Some(threads)))?;
        }
        if on.no_comparators().is_none() {
            for threads in THEIRS {
                add(true, threads, |threads| {
                    Program::Comparator(Comparator::Interleaved16, Some(threads))
                })?;
            }
        }
        Ok(contenders)
    };
    let parameter = bytes_label(len as u64);
    group(&device, &format!("blocks-{len}"), PART, parameter, quick, build)
}

/// Prefix of the names of launches of HI-SM3's method.
const HI_SM3: &str = "HI-SM3: ";

fn name(peer: bool, threads: u32, blocks: u32) -> String {
    format!("{}{threads} × {blocks} blocks", if peer { HI_SM3 } else { "" })
}

/// How a contender was launched, from its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::bench) struct Launch {
    /// Whether by HI-SM3's method.
    pub(in crate::bench) peer: bool,
    /// Threads per block.
    pub(in crate::bench) threads: u32,
    pub(in crate::bench) blocks: u32,
}

impl Launch {
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
            assert_eq!(Launch::of(&name(peer, 256, 132)), Some(launch));
        }
        assert_eq!(Launch::of("hash_many"), None);
    }
}

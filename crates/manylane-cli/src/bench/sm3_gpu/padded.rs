//! The mode of Sun, Zhang and Ma for messages of any lengths: threads of the CPU pad them, the
//! device only compresses. A comparator: ours pads on the device.

use std::{rc::Rc, thread, time::Instant};

use manylane_gpu::{Comparator, PinnedBuffer};

use super::{
    Call, Contender, Device, Timing,
    device::{Program, Shape, Work},
};
use crate::bench::measure;

/// Messages with room for their padded forms in page-locked memory.
struct Padding {
    messages: Vec<u8>,
    /// Where each message begins, and the last ends; and the same of the padded ones.
    from: Vec<usize>,
    to: Vec<usize>,
    padded: PinnedBuffer,
}

/// Bytes with which SM3 pads a message at least: the bit 1, and the length.
const LEAST: usize = 9;

/// Bytes of messages that are padded at most: they are twice in the host's memory.
const MOST_BYTES: usize = 1 << 30;

/// Whether messages of these lengths are padded.
pub(super) fn affords(lengths: &[usize]) -> bool {
    lengths.iter().sum::<usize>() <= MOST_BYTES
}

impl Padding {
    fn new(device: &Device, lengths: &[usize]) -> Result<Self, String> {
        let sum = |each: fn(usize) -> usize| {
            let mut offsets = vec![0];
            let mut end = 0;
            offsets.extend(lengths.iter().map(|&len| {
                end += each(len);
                end
            }));
            offsets
        };
        let (from, to) = (sum(|len| len), sum(|len| (len + LEAST).next_multiple_of(64)));
        let mut messages = Vec::new();
        device.copy_data(0..from[lengths.len()], &mut messages);
        let padded = PinnedBuffer::new(device.gpu(), to[lengths.len()]);
        Ok(Padding { messages, from, to, padded: padded.map_err(|why| why.to_string())? })
    }

    /// Pads all messages, on all threads.
    fn pad(&mut self) {
        let count = self.from.len() - 1;
        let threads = thread::available_parallelism().map_or(1, usize::from);
        let share = count.div_ceil(threads).max(1);
        let (from, to, messages) = (&self.from, &self.to, &self.messages);
        let mut rest = &mut self.padded[..];
        thread::scope(|scope| {
            for first in (0..count).step_by(share) {
                let last = (first + share).min(count);
                let (part, after) = rest.split_at_mut(to[last] - to[first]);
                rest = after;
                scope.spawn(move || {
                    for i in first..last {
                        let message = &messages[from[i]..from[i + 1]];
                        let out = &mut part[to[i] - to[first]..to[i + 1] - to[first]];
                        let (body, end) = out.split_at_mut(message.len());
                        body.copy_from_slice(message);
                        let (zeros, length) = end.split_at_mut(end.len() - 8);
                        zeros.fill(0);
                        zeros[0] = 0x80;
                        length.copy_from_slice(&(message.len() as u64 * 8).to_be_bytes());
                    }
                });
            }
        });
    }
}

/// The kernel alone on messages that were padded before, and with the padding.
pub(super) fn contenders(
    device: &Rc<Device>,
    lengths: &[usize],
    rng: &mut fastrand::Rng,
) -> Result<Vec<Contender>, String> {
    let failed = |why: manylane_gpu::Error| why.to_string();
    let mut padding = Padding::new(device, lengths)?;
    padding.pad();
    let padded_lengths: Vec<usize> = padding.to.windows(2).map(|two| two[1] - two[0]).collect();
    let offsets = device.offsets(&padded_lengths).map_err(failed)?;
    let data = device.resident(&padding.padded).map_err(failed)?;
    let shape = Shape::Padded { data, offsets, from: padding.from.clone() };
    let program = Program::Comparator(Comparator::Padded, None);
    let work = Rc::new(Work { program, count: lengths.len(), shape });
    let name = Comparator::Padded.name();
    device.check(&work, rng).map_err(|why| format!("{name}: {why}"))?;
    let made = |what: &str, call| Contender {
        name: format!("{name}, {what}"),
        kernel: None,
        peer: true,
        work: measure::Work { bytes: work.bytes(), units: work.count as u64, counted_clocks: None },
        output: Vec::new(),
        call,
    };
    let (on, padded) = (Rc::clone(device), Rc::clone(&work));
    let alone = Call::elsewhere(move |calls, _| on.time(&padded, calls).map_err(failed));
    let (on, padded) = (Rc::clone(device), Rc::clone(&work));
    let with_padding = Call::elsewhere(move |calls, _| {
        let mut seconds = 0.0;
        for _ in 0..calls {
            let start = Instant::now();
            padding.pad();
            seconds += start.elapsed().as_secs_f64();
            seconds += on.time(&padded, 1).map_err(failed)?.seconds;
        }
        Ok(Timing { seconds, hz: None, joules: None })
    });
    Ok(vec![made("kernel alone", alone), made("padding included", with_padding)])
}

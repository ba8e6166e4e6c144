//! Each kernel's outputs for messages whose outputs are known, before a device is used.
//!
//! A driver's compiler is part of every kernel, and it is newer than this code. What it made is
//! therefore checked where it will run: all lengths around the ends of words and blocks, all
//! alignments, prefixes, lengths of output, numbers of rounds and orders. The answers are the portable
//! code's, whose own come from the standards.

use manylane::{
    Messages,
    cpu::Machine,
    sha3::{self, Function, Midstate},
};

use super::{Choice, NAMES, Sha3, Work, abi::Sponge, blocks, short_output};
use crate::{
    DeviceMessages, DevicePointer, Error, Layout, Stream, Workspace, known_answers::Bench,
};

/// One function for each length of block, and more where rounds, domain or output differ.
const FUNCTIONS: [Function; 9] = [
    Function::SHA3_224,
    Function::SHA3_256,
    Function::SHA3_384,
    Function::SHA3_512,
    Function::SHAKE128,
    Function::KECCAK_256,
    // Three blocks of output, to its last byte.
    Function::SHAKE128.with_output_len(337),
    Function::SHAKE256,
    Function::turboshake128(0x07),
];

/// Messages of one length: more than a warp, no multiple of one.
const ROWS: usize = 67;

/// Bytes of memory for inputs and digests.
const MEMORY: usize = 4 << 20;

/// Bytes that differ from block to block, row to row and page to page.
fn painted(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i % 251) as u8).collect()
}

/// Lengths of messages: everything up to a block and a bit, and some longer ones. More messages than a
/// thread block has threads.
fn lengths(rate: usize) -> impl Iterator<Item = usize> + Clone {
    let long = [2 * rate - 1, 2 * rate, 3 * rate + 5, 500, 1023];
    (0..=rate + 9).chain(long).chain((0..=rate).rev())
}

/// Outputs by the portable code of messages that follow a prefix.
fn portable(start: &Midstate, messages: &Messages) -> Vec<u8> {
    let mut out = vec![0; messages.len() * start.function().output_len()];
    sha3::hash_many_on(Machine::Portable, start, messages, &[], &mut out)
        .expect("every processor runs the portable code, and the output is as long as it must be");
    out
}

/// A launch, for when its inputs are on the device.
struct Launch {
    choice: Choice,
    function: Function,
    sponge: Sponge,
    messages: DeviceMessages,
    ordered: bool,
    out: DevicePointer,
}

impl Launch {
    fn enqueue(
        &self,
        sha3: &Sha3,
        stream: &Stream,
        workspace: &mut Workspace,
    ) -> Result<(), Error> {
        let Launch { choice, function, sponge, messages, ordered, out } = self;
        let mut order = DevicePointer(0);
        // SAFETY: all addresses are of the bench's buffer, which lives until the stream is done and
        // has more than 16 bytes after the inputs.
        unsafe {
            if *ordered {
                let (launches, blocks) = (&sha3.kernels.order, blocks(sponge, *function));
                order = launches.launch(stream, messages, blocks, workspace)?;
            }
            let (rate, messages) = (function.rate(), *messages);
            sha3.launch(stream, &Work { choice: *choice, sponge, rate, messages, order, out: *out })
        }
    }
}

/// Checks every kernel.
///
/// # Errors
/// [`Error::WrongResult`]; [`Error::Deadline`] if they do not end; or what the driver says.
pub(super) fn check(sha3: &Sha3) -> Result<(), Error> {
    let mut plan = Plan { bench: Bench::new(sha3.gpu(), MEMORY)?, launches: Vec::new() };
    for function in FUNCTIONS {
        plan.by_offsets(function);
        plan.rows(function);
    }
    let Plan { bench, launches } = plan;
    let workspace = Workspace::new(sha3.gpu(), lengths(168).count())?;
    bench.check((sha3.clone(), workspace), |stream, (sha3, workspace)| {
        launches.iter().try_for_each(|launch| launch.enqueue(sha3, stream, workspace))
    })
}

fn names(rate: usize) -> [&'static str; 3] {
    NAMES.into_iter().find(|(of, _)| *of == rate).expect("a rate that there is").1
}

/// The launches are made first and enqueued after the data that they read has been copied.
struct Plan {
    bench: Bench,
    launches: Vec<Launch>,
}

impl Plan {
    fn push(
        &mut self,
        kernel: &'static str,
        choice: Choice,
        start: &Midstate,
        messages: DeviceMessages,
        digests: Vec<u8>,
    ) {
        let out = self.bench.expect(kernel, digests);
        let sponge = Sponge::of(start).expect("a short output");
        let (function, ordered) = (start.function(), kernel == "bin_scatter");
        self.launches.push(Launch { choice, function, sponge, messages, ordered, out });
    }

    /// The kernel for anything, and the kernels that order.
    fn by_offsets(&mut self, function: Function) {
        let rate = function.rate();
        let [many, ..] = names(rate);
        let text = painted(lengths(rate).sum::<usize>() + 16);
        // One after the other, so that they begin at all alignments; with a rest of the prefix of 0,
        // 7 and one byte less than a block, and a base.
        for (from, prefix_len, wide, kernel) in [
            (0, 0, false, many),
            (5, rate, true, "bin_scatter"),
            (3, 7, false, many),
            (2, 2 * rate - 1, true, many),
        ] {
            let ends = lengths(rate).scan(from, |at, len| {
                *at += len;
                Some(*at as u64)
            });
            let offsets: Vec<u64> = std::iter::once(from as u64).chain(ends).collect();
            let start = Midstate::after(function, &painted(prefix_len));
            let want = portable(&start, &Messages::offsets64(&text, &offsets).expect("in order"));
            let bytes: Vec<u8> = match wide {
                true => offsets.iter().flat_map(|at| at.to_ne_bytes()).collect(),
                false => offsets.iter().flat_map(|&at| (at as u32).to_ne_bytes()).collect(),
            };
            let (at, data) = (self.bench.put(&bytes, 0), self.bench.put(&text[from..], from));
            let (offsets, data) = (self.bench.device(at), self.bench.device(data));
            let base = from as u64;
            let layout = match wide {
                true => Layout::Offsets64 { data, offsets, base },
                false => Layout::Offsets32 { data, offsets, base },
            };
            let messages = DeviceMessages { count: lengths(rate).count(), layout };
            self.push(kernel, Choice::Many, &start, messages, want);
        }
    }

    /// The kernels for messages of one length.
    fn rows(&mut self, function: Function) {
        let rate = function.rate();
        let [_, rows, short] = names(rate);
        for (len, stride, skip, prefix_len) in [
            (0, 0, 0, 0),
            (rate, rate, 8, 0),
            (2 * rate + 13, 2 * rate + 24, 0, rate),
            (rate - 1, rate + 8 - rate % 8, 0, 0),
            (rate - 1, rate - 1, 3, 0),
            (rate - 4, rate - 3, 0, 0),
            (5, 5, 1, 0),
            (32, 32, 0, 0),
            (32, 48, 16, 0),
        ] {
            let text = painted(ROWS * stride.max(1) + len);
            let at = self.bench.put(&text, skip);
            let start = Midstate::after(function, &painted(prefix_len));
            let messages = Messages::strided(self.bench.host(at), len, stride.max(1), ROWS);
            let want = portable(&start, &messages.expect("put there"));
            let (data, stride, count) = (self.bench.device(at), stride as u64, ROWS);
            let layout = Layout::Strided { data, len: len as u64, stride };
            let messages = DeviceMessages { count, layout };
            if skip % 8 == 0 && stride % 8 == 0 {
                let (blocks, rest) = ((len / rate) as u32, (len % rate) as u32);
                let choice = Choice::Rows { data, stride, blocks, rest };
                self.push(rows, choice, &start, messages, want.clone());
            }
            let initial = prefix_len == 0 && len < rate;
            let output_len = function.output_len();
            if initial && output_len.is_multiple_of(4) && output_len as u32 <= short_output(rate) {
                let choice = Choice::Short { data, stride, len: len as u32 };
                self.push(short, choice, &start, messages, want.clone());
            }
            let all_rounds = function.rounds() == 24;
            if (rate, len, output_len, skip % 16) == (136, 32, 32, 0) && all_rounds {
                let choice = Choice::Hash32 { data, stride };
                self.push("sha3_hash_32", choice, &start, messages, want);
            }
        }
    }
}

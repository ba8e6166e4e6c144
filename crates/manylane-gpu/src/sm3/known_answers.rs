//! Each kernel's digests of messages whose digests are known, before a device is used.
//!
//! A driver's compiler is part of every kernel, and it is newer than this code. What it made is
//! therefore checked where it will run: all lengths around the ends of words and blocks, all
//! alignments, prefixes, keys and orders. The answers are the portable code's, whose own come from
//! the standard, and the standard's two examples.

use manylane::{
    Messages,
    cpu::Machine,
    sm3::{self, DIGEST_LEN, Midstate},
};

use super::{Sm3, abi, blocks};
use crate::{
    DeviceMessages, DevicePointer, Error, Layout, Stream, Workspace, known_answers::Bench,
};

/// Message and digest of GB/T 32905-2016, A.1. The tests compare both examples with the vectors.
const A_1: (&[u8], [u8; DIGEST_LEN]) = (
    b"abc",
    [
        0x66, 0xc7, 0xf0, 0xf4, 0x62, 0xee, 0xed, 0xd9, 0xd1, 0xf2, 0xd4, 0x6b, 0xdc, 0x10, 0xe4,
        0xe2, 0x41, 0x67, 0xc4, 0x87, 0x5c, 0xf2, 0xf7, 0xa2, 0x29, 0x7d, 0xa0, 0x2b, 0x8f, 0x4b,
        0xa8, 0xe0,
    ],
);

/// Message and digest of A.2.
const A_2: (&[u8], [u8; DIGEST_LEN]) = (
    b"abcdabcdabcdabcdabcdabcdabcdabcdabcdabcdabcdabcdabcdabcdabcdabcd",
    [
        0xde, 0xbe, 0x9f, 0xf9, 0x22, 0x75, 0xb8, 0xa1, 0x38, 0x60, 0x48, 0x89, 0xc1, 0x8e, 0x5a,
        0x4d, 0x6f, 0xdb, 0x70, 0xe5, 0x38, 0x7e, 0x57, 0x65, 0x29, 0x3d, 0xcb, 0xa3, 0x9c, 0x0c,
        0x57, 0x32,
    ],
);

/// Bytes that differ from block to block, row to row and page to page.
fn painted(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i % 251) as u8).collect()
}

/// Lengths of messages: everything up to two blocks and a bit, and some longer ones. More messages
/// than a thread block has threads.
fn lengths() -> impl Iterator<Item = usize> + Clone {
    (0..=136).chain([183, 184, 192, 247, 250, 256, 500, 1000, 1023]).chain((0..=136).rev())
}

/// Lengths of keys, as many as there are messages.
fn key_lengths() -> impl Iterator<Item = usize> + Clone {
    [32, 0, 1, 63, 64, 65, 16, 100, 128, 130].into_iter().cycle().take(lengths().count())
}

/// What the lengths add up to.
fn offsets(lengths: impl Iterator<Item = usize>, from: usize) -> Vec<u64> {
    let ends = lengths.scan(from, |at, len| {
        *at += len;
        Some(*at as u64)
    });
    std::iter::once(from as u64).chain(ends).collect()
}

/// Digests by the portable code of messages that follow a prefix.
fn portable(prefix: &[u8], messages: &Messages) -> Vec<u8> {
    let mut digests = vec![[0; DIGEST_LEN]; messages.len()];
    sm3::hash_many_on(Machine::Portable, &Midstate::after(prefix), messages, &mut digests)
        .expect("every processor runs the portable code, and the output is as long as it must be");
    digests.into_flattened()
}

fn strided(host: &[u8], len: usize, stride: usize, count: usize) -> Messages<'_> {
    Messages::strided(host, len, stride, count).expect("put there")
}

/// Bytes of memory for inputs and digests.
const MEMORY: usize = 640 << 10;

/// Checks every kernel.
///
/// # Errors
/// [`Error::WrongResult`]; [`Error::Deadline`] if they do not end; or what the driver says.
pub(super) fn check(sm3: &Sm3) -> Result<(), Error> {
    let mut bench = Bench::new(sm3.gpu(), MEMORY)?;
    // The launches are made first and enqueued after the data that they read has been copied.
    let mut launches: Vec<Launch> = Vec::new();
    examples(&mut bench, &mut launches);
    by_offsets(&mut bench, &mut launches);
    rows(&mut bench, &mut launches);
    hmac(&mut bench, &mut launches);
    let workspace = Workspace::new(sm3.gpu(), lengths().count())?;
    bench.check((sm3.clone(), workspace), |stream, (sm3, workspace)| {
        launches.iter().try_for_each(|launch| launch.enqueue(sm3, stream, workspace))
    })
}

/// A kernel with its arguments.
enum Launch {
    Many {
        start: abi::Start,
        messages: DeviceMessages,
        ordered: bool,
        out: DevicePointer,
    },
    Short {
        start: abi::Start,
        messages: DeviceMessages,
        out: DevicePointer,
    },
    Hash32 {
        data: DevicePointer,
        stride: u64,
        count: usize,
        out: DevicePointer,
    },
    Rows {
        start: abi::Start,
        data: DevicePointer,
        stride: u64,
        blocks: u32,
        count: usize,
        out: DevicePointer,
    },
    Hmac {
        keys: DeviceMessages,
        messages: DeviceMessages,
        ordered: bool,
        out: DevicePointer,
    },
}

impl Launch {
    fn enqueue(&self, sm3: &Sm3, stream: &Stream, workspace: &mut Workspace) -> Result<(), Error> {
        let mut order = |messages, rest_len, ordered| match ordered {
            // SAFETY: as below.
            true => unsafe {
                sm3.kernels.order.launch(stream, messages, blocks(rest_len), workspace)
            },
            false => Ok(DevicePointer(0)),
        };
        // SAFETY: all addresses are of the bench's buffer, which lives until the stream is done and
        // has more than 16 bytes after the inputs.
        unsafe {
            match self {
                Launch::Many { start, messages, ordered, out } => {
                    let order = order(messages, start.rest_len, *ordered)?;
                    sm3.launch_many(stream, start, messages, order, *out)
                }
                Launch::Short { start, messages, out } => {
                    sm3.launch_short(stream, start, messages, *out)
                }
                Launch::Hash32 { data, stride, count, out } => {
                    sm3.launch_32(stream, *data, *stride, *count, *out)
                }
                Launch::Rows { start, data, stride, blocks, count, out } => {
                    let total_len = start.prefix_len + 64 * u64::from(*blocks);
                    let padding = abi::PaddingBlock::of(total_len);
                    sm3.launch_rows(stream, start, *data, *stride, *blocks, &padding, *count, *out)
                }
                Launch::Hmac { keys, messages, ordered, out } => {
                    let order = order(messages, 0, *ordered)?;
                    sm3.launch_hmac(stream, keys, messages, order, *out)
                }
            }
        }
    }
}

fn start(prefix: &[u8]) -> abi::Start {
    abi::Start::of(&Midstate::after(prefix))
}

/// The standard's, by each kernel that takes them.
fn examples(bench: &mut Bench, launches: &mut Vec<Launch>) {
    for (message, digest) in [A_1, A_2] {
        let at = bench.put(message, 0);
        let (data, len) = (bench.device(at), message.len() as u64);
        let layout = Layout::Strided { data, len, stride: len };
        let messages = DeviceMessages { count: 1, layout };
        let out = bench.expect("sm3_hash_many", digest.to_vec());
        launches.push(Launch::Many { start: start(&[]), messages, ordered: false, out });
        if len < 64 {
            let out = bench.expect("sm3_hash_short", digest.to_vec());
            launches.push(Launch::Short { start: start(&[]), messages, out });
        } else {
            let out = bench.expect("sm3_hash_rows", digest.to_vec());
            let (stride, blocks, count) = (len, 1, 1);
            launches.push(Launch::Rows { start: start(&[]), data, stride, blocks, count, out });
        }
    }
}

/// The kernel for anything, and the kernels that order.
fn by_offsets(bench: &mut Bench, launches: &mut Vec<Launch>) {
    let prefix = painted(200);
    let text = painted(lengths().sum::<usize>() + 64);
    // One after the other, so that they begin at all alignments; with a rest of the prefix of 0,
    // 7 and 63 bytes, and a base.
    for (from, prefix_len, ordered) in
        [(0, 0, false), (0, 0, true), (5, 64, true), (3, 7, false), (2, 64 + 63, false)]
    {
        let offsets = offsets(lengths(), from);
        let prefix = &prefix[..prefix_len];
        let expected = portable(prefix, &Messages::offsets64(&text, &offsets).expect("in order"));
        let narrow: Vec<u8> = offsets.iter().flat_map(|&at| (at as u32).to_ne_bytes()).collect();
        let wide: Vec<u8> = offsets.iter().flat_map(|at| at.to_ne_bytes()).collect();
        let (narrow, wide) = (bench.put(&narrow, 0), bench.put(&wide, 0));
        let (narrow, wide) = (bench.device(narrow), bench.device(wide));
        let base = from as u64;
        let data = bench.put(&text[from..], from);
        let data = bench.device(data);
        for layout in [
            Layout::Offsets32 { data, offsets: narrow, base },
            Layout::Offsets64 { data, offsets: wide, base },
        ] {
            let kernel = if ordered { "bin_scatter" } else { "sm3_hash_many" };
            let out = bench.expect(kernel, expected.clone());
            let messages = DeviceMessages { count: lengths().count(), layout };
            launches.push(Launch::Many { start: start(prefix), messages, ordered, out });
        }
    }
}

/// The kernels for messages of one length.
fn rows(bench: &mut Bench, launches: &mut Vec<Launch>) {
    let count = 67;
    // Enough for the longest stride, and the message after the last.
    let text = painted(count * 272);
    for (blocks, stride, prefix_len) in [(0, 0, 0), (1, 64, 0), (3, 208, 0), (4, 256, 128)] {
        let at = bench.put(&text, 0);
        let prefix = &text[..prefix_len];
        let expected =
            portable(prefix, &strided(bench.host(at), 64 * blocks, stride.max(1), count));
        let out = bench.expect("sm3_hash_rows", expected);
        let (data, stride, blocks) = (bench.device(at), stride as u64, blocks as u32);
        launches.push(Launch::Rows { start: start(prefix), data, stride, blocks, count, out });
    }
    for (len, stride, skip, prefix_len) in [
        (32, 32, 0, 0),
        (32, 48, 16, 0),
        (32, 33, 1, 64),
        (55, 55, 3, 0),
        (55, 64, 0, 0),
        (20, 20, 4, 0),
        (1, 1, 9, 0),
        (0, 0, 0, 0),
        (77, 81, 3, 5),
    ] {
        let at = bench.put(&text[..count * stride.max(1) + len], skip);
        let prefix = &text[..prefix_len];
        let expected = portable(prefix, &strided(bench.host(at), len, stride.max(1), count));
        let (data, len, stride) = (bench.device(at), len as u64, stride as u64);
        let messages = DeviceMessages { count, layout: Layout::Strided { data, len, stride } };
        let out = bench.expect("sm3_hash_many", expected.clone());
        launches.push(Launch::Many { start: start(prefix), messages, ordered: false, out });
        if len <= 55 {
            let out = bench.expect("sm3_hash_short", expected.clone());
            launches.push(Launch::Short { start: start(prefix), messages, out });
        }
        if len == 32 && stride % 16 == 0 && prefix_len == 0 {
            let out = bench.expect("sm3_hash_32", expected);
            launches.push(Launch::Hash32 { data, stride, count, out });
        }
    }
}

fn hmac(bench: &mut Bench, launches: &mut Vec<Launch>) {
    let text = painted(lengths().sum());
    let (messages, keys) = (offsets(lengths(), 0), offsets(key_lengths(), 0));
    let key_text = &text[..key_lengths().sum()];
    let count = lengths().count();
    let mut tags = vec![[0; DIGEST_LEN]; count];
    sm3::hmac_many_on(
        Machine::Portable,
        &Messages::offsets64(key_text, &keys).expect("in order"),
        &Messages::offsets64(&text, &messages).expect("in order"),
        &mut tags,
    )
    .expect("every processor runs the portable code, and there are as many keys as messages");
    let mut put = |text: &[u8], offsets: &[u64], skip| {
        let offsets: Vec<u8> = offsets.iter().flat_map(|at| at.to_ne_bytes()).collect();
        let (data, offsets) = (bench.put(text, skip), bench.put(&offsets, 0));
        let (data, offsets) = (bench.device(data), bench.device(offsets));
        DeviceMessages { count, layout: Layout::Offsets64 { data, offsets, base: 0 } }
    };
    let (messages, keys) = (put(&text, &messages, 1), put(key_text, &keys, 2));
    for ordered in [false, true] {
        let out = bench.expect("sm3_hmac_many", tags.as_flattened().to_vec());
        launches.push(Launch::Hmac { keys, messages, ordered, out });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_are_the_vectors() {
        for (example, (message, digest)) in manylane_vectors::sm3().examples.iter().zip([A_1, A_2])
        {
            assert_eq!((&example.message[..], example.digest), (message, digest));
        }
    }
}

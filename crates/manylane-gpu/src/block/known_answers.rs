//! What each kernel must give for painted data, before a device is used.
//!
//! A driver's compiler is part of every kernel, and it is newer than this code. What it made is
//! therefore checked where it will run: every entry of the tables by every lane and in every
//! place, a last block that is a part of one, counters that begin in the middle of a row and go over
//! the end of all rows. The answers are digests of the output of other implementations, by the
//! portable SM3; the tests make them anew.

use std::{
    mem, thread,
    time::{Duration, Instant},
};

use manylane::{
    Messages,
    cpu::Machine,
    sm3::{self, DIGEST_LEN, Midstate},
};

use super::{BLOCK_LEN, Cipher, Counter, CounterWidth, Kernels, Place, Schedule};
use crate::{AesKeys, DeviceBuffer, Error, Event, Sm4Keys, Stream};

/// Blocks of the data that are encrypted each for itself.
const BLOCKS: usize = 4099;

/// Bytes of the data in counter mode.
const CTR_LEN: usize = 2600 * BLOCK_LEN + 7;

/// Less than a row before the end of the rows that differ in the two lowest bytes.
const CTR_LOW: u32 = 0x00fe_fd85;

/// Digests of what the data becomes under a painted key.
struct Answers {
    /// Bytes of the key.
    key_len: usize,
    blocks: [u8; DIGEST_LEN],
    ctr: [u8; DIGEST_LEN],
}

/// Of keys of 128, 192 and 256 bits.
const AES: [Answers; 3] = [
    Answers {
        key_len: 16,
        blocks: [
            0x6b, 0x3e, 0xe7, 0x89, 0x4d, 0x9d, 0x26, 0x23, 0x03, 0xfb, 0x5f, 0x80, 0xad, 0x7f,
            0xb8, 0xe4, 0x57, 0x6d, 0x47, 0xab, 0xfe, 0x87, 0xf3, 0x4d, 0xa9, 0x2e, 0x41, 0x78,
            0x05, 0xd0, 0xdb, 0x38,
        ],
        ctr: [
            0x2d, 0xb6, 0x4d, 0x88, 0x17, 0x93, 0x42, 0x2d, 0x03, 0x8a, 0x7f, 0x7e, 0x5c, 0xd7,
            0x4a, 0x93, 0x12, 0x01, 0xc1, 0x4d, 0x57, 0xeb, 0x2d, 0x40, 0xe5, 0x43, 0xe6, 0x5d,
            0xa0, 0xea, 0x0d, 0x44,
        ],
    },
    Answers {
        key_len: 24,
        blocks: [
            0x9c, 0xf6, 0x52, 0x6d, 0x5e, 0x46, 0xc1, 0xda, 0x36, 0x6c, 0x9e, 0xbe, 0xad, 0x96,
            0xb7, 0x71, 0x0c, 0x57, 0x95, 0x04, 0xd3, 0x46, 0x08, 0xef, 0xa1, 0x01, 0xf3, 0xab,
            0xbc, 0x83, 0x21, 0x56,
        ],
        ctr: [
            0xe9, 0xa0, 0xde, 0xf4, 0xc6, 0x23, 0x17, 0xcb, 0x74, 0x4d, 0x96, 0x2b, 0x18, 0x44,
            0x81, 0x44, 0x6f, 0x4d, 0xea, 0x6b, 0x88, 0xd3, 0xa7, 0xe8, 0xf2, 0x3e, 0x75, 0x4e,
            0xc1, 0xdc, 0x73, 0x23,
        ],
    },
    Answers {
        key_len: 32,
        blocks: [
            0xca, 0x59, 0x6e, 0xbf, 0xaf, 0xb3, 0x93, 0x34, 0x87, 0x0b, 0x97, 0x7f, 0xb5, 0x58,
            0x23, 0xc5, 0xb0, 0xd8, 0x17, 0x5c, 0x66, 0x0e, 0x77, 0x40, 0xba, 0xc8, 0x11, 0xe4,
            0x1d, 0x90, 0x22, 0x05,
        ],
        ctr: [
            0xdf, 0xbb, 0xc6, 0x42, 0x89, 0xd2, 0x3b, 0x00, 0x8f, 0x14, 0xac, 0x89, 0x02, 0xbf,
            0xe7, 0x72, 0x7e, 0x0c, 0x40, 0x13, 0x55, 0x5d, 0x76, 0x6f, 0xd2, 0x01, 0xf2, 0x89,
            0x94, 0x3b, 0x72, 0x3b,
        ],
    },
];

const SM4_BLOCKS: [u8; DIGEST_LEN] = [
    0x77, 0x7e, 0x4c, 0x93, 0x3c, 0xe2, 0x4c, 0x88, 0xe6, 0xc5, 0x28, 0xf5, 0x8b, 0x7e, 0x58, 0x59,
    0xbd, 0x79, 0x17, 0xbf, 0x4f, 0x56, 0xd1, 0x14, 0x67, 0xa8, 0xba, 0x37, 0xb6, 0xa4, 0x32, 0x7c,
];
const SM4_CTR: [u8; DIGEST_LEN] = [
    0xaf, 0xc7, 0xd9, 0x81, 0xf4, 0x5f, 0x32, 0x8d, 0x59, 0xe9, 0xb3, 0xe6, 0x4a, 0x83, 0x0a, 0x92,
    0x59, 0xac, 0x41, 0xba, 0x03, 0x76, 0xf8, 0xa7, 0xce, 0x85, 0x46, 0x45, 0xdc, 0x54, 0x7d, 0x3b,
];

/// Bytes that differ from block to block.
fn painted(len: usize, from: usize) -> Vec<u8> {
    (from..from + len).map(|i| (i % 251) as u8).collect()
}

fn counter() -> Counter {
    let mut block = [0; BLOCK_LEN];
    block[..12].copy_from_slice(&painted(12, 50));
    block[12..].copy_from_slice(&CTR_LOW.to_be_bytes());
    Counter::new(block, CounterWidth::Bits32)
}

/// What a kernel does with the data.
struct Case {
    /// Of the kernel.
    number: usize,
    schedule: Schedule,
    ctr: bool,
    /// Of the output; if there is none, the output is the data again.
    digest: Option<[u8; DIGEST_LEN]>,
}

/// Encryptions come before the decryptions that undo them.
fn cases(cipher: Cipher) -> Result<Vec<Case>, Error> {
    let case = |number, schedule: &Schedule, ctr, digest| Case {
        number,
        schedule: schedule.clone(),
        ctr,
        digest,
    };
    let mut cases = Vec::new();
    match cipher {
        Cipher::Aes => {
            for (size, answers) in AES.iter().enumerate() {
                let keys = AesKeys::new(&painted(answers.key_len, 100))?;
                cases.push(case(size, keys.encrypting(), false, Some(answers.blocks)));
                cases.push(case(3 + size, keys.decrypting(), false, None));
                cases.push(case(6 + size, keys.encrypting(), true, Some(answers.ctr)));
            }
        }
        Cipher::Sm4 => {
            let keys = Sm4Keys::new(painted(16, 100)[..].try_into().expect("16 bytes"));
            cases.push(case(0, keys.encrypting(), false, Some(SM4_BLOCKS)));
            cases.push(case(0, keys.decrypting(), false, None));
            cases.push(case(1, keys.encrypting(), true, Some(SM4_CTR)));
        }
    }
    Ok(cases)
}

/// How long the kernels may take: a slow GPU that others use needs some tenths of a second.
const DEADLINE: Duration = Duration::from_secs(10);

/// Checks every kernel.
///
/// # Errors
/// [`Error::WrongResult`]; [`Error::Deadline`] if they do not end; or what the driver says.
pub(super) fn check(kernels: &std::sync::Arc<Kernels>) -> Result<(), Error> {
    let cases = cases(kernels.cipher)?;
    let data = painted(BLOCKS * BLOCK_LEN, 0);
    let stream = Stream::new(&kernels.gpu)?;
    let done = Event::new(&kernels.gpu)?;
    // The data, and each case's output.
    let memory = DeviceBuffer::new(&kernels.gpu, (1 + cases.len()) * data.len())?;
    let checked =
        enqueue(kernels, &cases, &data, &memory, &stream, &done).and_then(|()| wait(&done));
    if let Err(error) = checked {
        // To free what may be in use would wait for that, perhaps without end.
        mem::forget((memory, stream, done, data, kernels.clone()));
        return Err(error);
    }
    compare(kernels, &cases, &data, &memory, &stream)
}

fn enqueue(
    kernels: &Kernels,
    cases: &[Case],
    data: &[u8],
    memory: &DeviceBuffer,
    stream: &Stream,
    done: &Event,
) -> Result<(), Error> {
    let (all, from) = (memory.len(), memory.pointer());
    let driver = kernels.gpu.bound()?;
    // SAFETY: the buffer is longer than the data; both stay as they are until `done` has been
    // passed, and for ever if it is not.
    unsafe {
        driver.fill(from, 0, all, stream.handle())?;
        driver.copy_in(from, data.as_ptr(), data.len(), stream.handle())?;
    }
    for (at, case) in cases.iter().enumerate() {
        let to = memory.pointer().add((1 + at) * data.len());
        let undone = from.add(at * data.len());
        let (number, schedule) = (case.number, &case.schedule);
        // SAFETY: both places are of the buffer, and of the kernel's length.
        unsafe {
            if case.ctr {
                let (place, len) = (Place { from, to }, CTR_LEN as u64);
                kernels.counter_mode(number, stream, schedule, &counter(), place, len, None)?;
            } else {
                let from = if case.digest.is_some() { from } else { undone };
                let (place, blocks) = (Place { from, to }, BLOCKS as u64);
                kernels.each_block(number, stream, schedule, place, blocks, None)?;
            }
        }
    }
    done.record(stream)
}

fn wait(done: &Event) -> Result<(), Error> {
    let since = Instant::now();
    while !done.is_done()? {
        if since.elapsed() > DEADLINE {
            return Err(Error::Deadline(since.elapsed()));
        }
        thread::sleep(Duration::from_micros(50));
    }
    Ok(())
}

fn compare(
    kernels: &Kernels,
    cases: &[Case],
    data: &[u8],
    memory: &DeviceBuffer,
    stream: &Stream,
) -> Result<(), Error> {
    let mut got = vec![0; data.len()];
    for (at, case) in cases.iter().enumerate() {
        memory.read((1 + at) * data.len(), &mut got, stream)?;
        let right = match case.digest {
            None => got == data,
            Some(wanted) => {
                let (text, behind) = got.split_at(if case.ctr { CTR_LEN } else { data.len() });
                digest(text) == wanted && behind.iter().all(|byte| *byte == 0)
            }
        };
        if !right {
            let info = kernels.gpu.info();
            let (kernel, device) = (kernels.kernels[case.number].name, &info.id);
            return Err(Error::WrongResult { kernel, device: format!("{} ({device})", info.name) });
        }
    }
    Ok(())
}

/// By the portable code.
fn digest(text: &[u8]) -> [u8; DIGEST_LEN] {
    let mut digests = [[0; DIGEST_LEN]];
    let messages = Messages::strided(text, text.len(), text.len(), 1).expect("one message");
    sm3::hash_many_on(Machine::Portable, &Midstate::default(), &messages, &mut digests)
        .expect("every processor runs the portable code, and there is room for the digest");
    digests[0]
}

#[cfg(test)]
mod tests;

//! What the fuzz targets share: the machines of this processor, the oracle, and messages.

use std::sync::LazyLock;

use arbitrary::{Arbitrary, Result, Unstructured};
use manylane::{
    Messages,
    cpu::Machine,
    sha3,
    sm3::{Digest, Lanes, Sm3},
};

/// The machines with lanes here; the library's own choice comes beside them.
pub fn lane_machines() -> impl Iterator<Item = Machine> {
    Machine::ALL.into_iter().filter(|&machine| Lanes::new_on(machine).is_ok())
}

/// The machines with lanes for SHA-3 here.
pub fn sha3_lane_machines() -> impl Iterator<Item = Machine> {
    let function = sha3::Function::SHA3_256;
    Machine::ALL.into_iter().filter(move |&machine| sha3::Lanes::new_on(function, machine).is_ok())
}

/// The machines with a stream here.
pub fn stream_machines() -> impl Iterator<Item = Machine> {
    Machine::ALL.into_iter().filter(|&machine| Sm3::new_on(machine).is_ok())
}

/// SM3 of the concatenation of `parts` by the portable stream.
pub fn oracle(parts: &[&[u8]]) -> [u8; 32] {
    let mut sm3 = Sm3::new_on(Machine::Portable).unwrap();
    for part in parts {
        sm3.update(part);
    }
    sm3.finalize().into()
}

/// HMAC-SM3 as RFC 2104 defines it, by the [`oracle`].
pub fn hmac_oracle(key: &[u8], message: &[u8]) -> [u8; 32] {
    let mut k0 = [0; 64];
    if key.len() > 64 {
        k0[..32].copy_from_slice(&oracle(&[key]));
    } else {
        k0[..key.len()].copy_from_slice(key);
    }
    let inner = oracle(&[&k0.map(|k| k ^ 0x36), message]);
    oracle(&[&k0.map(|k| k ^ 0x5c), &inner])
}

/// A batch in one of the shapes of [`Messages`]. Every buffer is allocated to its exact length, so
/// that the address sanitizer sees a kernel that reads a byte too many.
#[derive(Debug)]
pub enum Batch {
    Strided { data: Box<[u8]>, len: usize, stride: usize, count: usize },
    Offsets32 { data: Box<[u8]>, offsets: Box<[u32]> },
    Offsets64 { data: Box<[u8]>, offsets: Box<[u64]> },
    Slices(Vec<Box<[u8]>>),
}

/// Messages in a batch at most; beyond a window of 1024, and few enough to be fast.
const MAX_COUNT: usize = 1100;

/// Bytes in a batch or a stream at most.
pub const MAX_BYTES: usize = 1 << 18;

impl<'a> Arbitrary<'a> for Batch {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        let seed = u.arbitrary()?;
        match u.int_in_range(0..=4)? {
            // Anything a caller may say, for the constructors to judge.
            0 => Ok(Batch::Strided {
                data: bytes(u.int_in_range(0..=4096)?, seed),
                len: u.int_in_range(0..=300)?,
                stride: u.int_in_range(0..=300)?,
                count: u.int_in_range(0..=MAX_COUNT)?,
            }),
            1 => {
                let offsets: Vec<u16> = u.arbitrary()?;
                let data = bytes(u.int_in_range(0..=usize::from(u16::MAX))?, seed);
                Ok(Batch::Offsets32 { data, offsets: offsets.into_iter().map(u32::from).collect() })
            }
            // Messages that there are for sure.
            2 => {
                let (data, offsets) = packed(&lens(u)?, seed);
                Ok(Batch::Offsets32 {
                    data,
                    offsets: offsets.into_iter().map(|end| end as u32).collect(),
                })
            }
            3 => {
                let (data, offsets) = packed(&lens(u)?, seed);
                Ok(Batch::Offsets64 {
                    data,
                    offsets: offsets.into_iter().map(|end| end as u64).collect(),
                })
            }
            _ => {
                let lens = lens(u)?;
                Ok(Batch::Slices((0..).zip(lens).map(|(i, len)| bytes(len, seed ^ i)).collect()))
            }
        }
    }
}

impl Batch {
    /// Calls `check` with the messages, unless they are refused.
    pub fn with(&self, check: impl FnOnce(&Messages)) {
        let slices: Vec<&[u8]>;
        let messages = match self {
            Batch::Strided { data, len, stride, count } => {
                Messages::strided(data, *len, *stride, *count)
            }
            Batch::Offsets32 { data, offsets } => Messages::offsets32(data, offsets),
            Batch::Offsets64 { data, offsets } => Messages::offsets64(data, offsets),
            Batch::Slices(boxes) => {
                slices = boxes.iter().map(|message| &message[..]).collect();
                Ok(Messages::slices(&slices))
            }
        };
        if let Ok(messages) = messages {
            check(&messages);
        }
    }
}

/// Lengths of messages: all alike, or short ones with some long ones among them.
fn lens(u: &mut Unstructured) -> Result<Vec<usize>> {
    let mut lens = Vec::new();
    if u.ratio(1, 4)? {
        let len = u.int_in_range(0..=400)?;
        lens.resize(u.int_in_range(0..=MAX_COUNT)?, len);
    } else {
        let times = u.int_in_range(1..=40)?;
        for len in u.arbitrary_iter::<u8>()? {
            let len = usize::from(len?);
            let len = if len < 224 { len } else { (len - 223) * 137 };
            lens.push(len);
        }
        lens = lens.repeat(times);
    }
    lens.truncate(MAX_COUNT);
    let mut left = MAX_BYTES;
    lens.retain(|&len| left.checked_sub(len).inspect(|&rest| left = rest).is_some());
    Ok(lens)
}

/// Messages one after another, and where each begins and the last ends.
fn packed(lens: &[usize], seed: u64) -> (Box<[u8]>, Vec<usize>) {
    let mut offsets = vec![0];
    offsets.extend(lens.iter().scan(0, |end, len| {
        *end += len;
        Some(*end)
    }));
    (bytes(offsets[lens.len()], seed), offsets)
}

/// Bytes that differ from place to place, in an allocation of their own. Making them up from the
/// fuzzer's input would cost more and find no more: no kernel branches on them.
pub fn bytes(len: usize, seed: u64) -> Box<[u8]> {
    static POOL: LazyLock<Vec<u8>> = LazyLock::new(|| {
        let digests = (0..(MAX_BYTES as u32 + 0x1_0000) / 32).map(|i| oracle(&[&i.to_be_bytes()]));
        digests.flatten().collect()
    });
    let at = usize::from(seed as u16);
    POOL[at..at + len].into()
}

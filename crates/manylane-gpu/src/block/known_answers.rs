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

/// Painted keys expanded, and digests of what the data becomes under them.
struct Answers {
    round_keys: &'static [u128],
    blocks: [u8; DIGEST_LEN],
    ctr: [u8; DIGEST_LEN],
}

/// Of keys of 128, 192 and 256 bits.
const AES: [Answers; 3] = [
    Answers {
        round_keys: &[
            0x6465_6667_6869_6a6b_6c6d_6e6f_7071_7273,
            0xc625_e936_ae4c_835d_c221_ed32_b250_9f41,
            0x97fe_6a01_39b2_e95c_fb93_046e_49c3_9b2f,
            0xbdea_7f3a_8458_9666_7fcb_9208_3608_0927,
            0x85eb_b33f_01b3_2559_7e78_b751_4870_be76,
            0xc445_8b6d_c5f6_ae34_bb8e_1965_f3fe_a713,
            0x5f19_f660_9aef_5854_2161_4131_d29f_e622,
            0xc497_65d5_5e78_3d81_7f19_7cb0_ad86_9a92,
            0x002f_2a40_5e57_17c1_214e_6b71_8cc8_f1e3,
            0xf38e_3b24_add9_2ce5_8c97_4794_005f_b677,
            0x0ac0_ce47_a719_e2a2_2b8e_a536_2bd1_1341,
        ],
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
        round_keys: &[
            0x6465_6667_6869_6a6b_6c6d_6e6f_7071_7273,
            0x7475_7677_7879_7a7b_d3bf_47db_bbd6_2db0,
            0xd7bb_43df_a7ca_31ac_d3bf_47db_abc6_3da0,
            0x6598_a7b9_de4e_8a09_09f5_c9d6_ae3f_f87a,
            0x7d80_bfa1_d646_8201_3b8b_db4f_e5c5_5146,
            0xec30_9890_420f_60ea_3f8f_df4b_e9c9_5d4a,
            0xeec7_0d51_0b02_5c17_e732_c487_a53d_a46d,
            0x9ab2_7b26_737b_266c_df30_5dde_d432_01c9,
            0x3300_c54e_963d_6123_0c8f_1a05_7ff4_3c69,
            0x40db_a40c_94e9_a5c5_a7e9_608b_31d4_01a8,
            0x3d5b_1bad_42af_27c4_7917_b820_edfe_1de5,
            0x4a17_7d6e_7bc3_7cc6_4698_676b_0437_40af,
            0x631e_c1d2_8ee0_dc37_c4f7_a159_bf34_dd9f,
        ],
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
        round_keys: &[
            0x6465_6667_6869_6a6b_6c6d_6e6f_7071_7273,
            0x7475_7677_7879_7a7b_7c7d_7e7f_8081_8283,
            0x6976_8aaa_011f_e0c1_6d72_8eae_1d03_fcdd,
            0xd00e_c6b6_a877_bccd_d40a_c2b2_548b_4031,
            0x567f_4d8a_5760_ad4b_3a12_23e5_2711_df38,
            0x1c8c_58b1_b4fb_e47c_60f1_26ce_347a_66ff,
            0x884c_5b92_df2c_f6d9_e53e_d53c_c22f_0a04,
            0x3999_3f43_8d62_db3f_ed93_fdf1_d9e9_9b0e,
            0x9e58_f0a7_4174_067e_a44a_d342_6665_d946,
            0x0ad4_0a19_87b6_d126_6a25_2cd7_b3cc_b7d9,
            0xc5f1_c5ca_8485_c3b4_20cf_10f6_46aa_c9b0,
            0x5078_d7fe_d7ce_06d8_bdeb_2a0f_0e27_9dd6,
            0x29af_3361_ad2a_f0d5_8de5_e023_cb4f_2993,
            0x4ffc_7222_9832_74fa_25d9_5ef5_2bfe_c323,
            0xd281_1590_7fab_e545_f24e_0566_3901_2cf5,
        ],
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

const SM4_ROUND_KEYS: [u32; 32] = [
    0xd32f_0732,
    0xea95_37bf,
    0xc989_b57b,
    0x9e39_4cb7,
    0x5f8f_3085,
    0x2e74_2b02,
    0xee59_fbea,
    0xf9a5_0803,
    0xd532_55e7,
    0xdc48_897f,
    0xe357_8c6b,
    0xebb6_c6a4,
    0xc232_6deb,
    0x8ffc_08f1,
    0x343f_011f,
    0x5726_86d5,
    0xccec_1f84,
    0x7899_e663,
    0xe7f5_f5e3,
    0x9f52_c50a,
    0x0893_3df8,
    0xb67b_3246,
    0xff2f_55b5,
    0x2e71_9ce3,
    0x08aa_535d,
    0x2bd8_1b30,
    0x1e7a_4c52,
    0x844c_4c28,
    0xe18f_3b77,
    0x8173_a3e0,
    0x49e6_8329,
    0x3ac1_1ee6,
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
                let round_keys: Vec<_> =
                    answers.round_keys.iter().map(|key| key.to_be_bytes()).collect();
                let keys = AesKeys::new(&round_keys)?;
                cases.push(case(size, keys.encrypting(), false, Some(answers.blocks)));
                cases.push(case(3 + size, keys.decrypting(), false, None));
                cases.push(case(6 + size, keys.encrypting(), true, Some(answers.ctr)));
            }
        }
        Cipher::Sm4 => {
            let keys = Sm4Keys::new(&SM4_ROUND_KEYS);
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

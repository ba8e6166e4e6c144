//! Tags of messages of any shape after a common part, on every machine, against SP 800-185's
//! definition by cSHAKE.
#![no_main]

use arbitrary::Arbitrary;
use digest::{ExtendableOutput, Update, XofReader};
use libfuzzer_sys::fuzz_target;
use manylane::sha3::{CShake128, CShake256, Kmac128, Kmac256};
use manylane_fuzz::{Batch, bytes, sha3_lane_machines};

#[derive(Debug, Arbitrary)]
struct Input {
    seed: u64,
    key: u16,
    customization: u16,
    common: u16,
    tag: u8,
    batch: Batch,
}

/// The bytes of a number, at least one.
fn digits(x: usize) -> Vec<u8> {
    let bytes = x.to_be_bytes();
    bytes[(x.leading_zeros() as usize / 8).min(7)..].to_vec()
}

fn left_encode(x: usize) -> Vec<u8> {
    [&[digits(x).len() as u8], &digits(x)[..]].concat()
}

/// SP 800-185, clause 4.3, before the message.
fn padded_key(key: &[u8], rate: usize) -> Vec<u8> {
    let mut padded = [left_encode(rate), left_encode(8 * key.len()), key.to_vec()].concat();
    padded.resize(padded.len().next_multiple_of(rate), 0);
    padded
}

fuzz_target!(|input: Input| {
    let part = |len: u16, seed: u64| bytes(usize::from(len) % 700, input.seed ^ seed);
    let (key, customization) = (part(input.key, 1), part(input.customization, 2));
    let common = part(input.common, 3);
    let len = usize::from(input.tag);
    input.batch.with(|messages| {
        macro_rules! check {
            ($kmac:ty, $cshake:ty, $rate:literal) => {
                let kmac = <$kmac>::new(&key, &customization).chain(&common);
                let right_encode = [digits(8 * len), vec![digits(8 * len).len() as u8]].concat();
                let mut expected = vec![0; messages.len() * len];
                for i in 0..messages.len() {
                    <$cshake>::new(b"KMAC", &customization)
                        .chain(padded_key(&key, $rate))
                        .chain(&common)
                        .chain(messages.get(i))
                        .chain(&right_encode)
                        .finalize_xof()
                        .read(&mut expected[i * len..][..len]);
                }
                let mut out = vec![0xee; expected.len()];
                for machine in sha3_lane_machines() {
                    let kernel = kmac.tag_many_on(machine, messages, len, &mut out).unwrap();
                    assert!(out.is_empty() || kernel.unwrap().machine() == machine);
                    assert_eq!(out, expected, "{machine}");
                    out.fill(0xee);
                }
                kmac.tag_many(messages, len, &mut out).unwrap();
                assert_eq!(out, expected);
                if let (false, Some(tag)) = (messages.is_empty(), expected.get(..len)) {
                    let kmac = kmac.chain(messages.get(0));
                    assert_eq!(kmac.clone().verify_tag(tag).is_ok(), len >= 4);
                    let mut wrong = tag.to_vec();
                    if let Some(last) = wrong.last_mut() {
                        *last ^= 1;
                        assert!(kmac.verify_tag(&wrong).is_err());
                    }
                }
            };
        }
        check!(Kmac128, CShake128, 168);
        check!(Kmac256, CShake256, 136);
    });
});

//! Random batches and streams against the portable stream.

mod common;

use std::sync::LazyLock;

use common::{Many, Output, each_shape, hmac_oracle, oracle, stream_machines};
use manylane::{
    Messages,
    sm3::{Digest, Midstate, Sm3},
};
use proptest::{collection::vec, prelude::*, sample::Index};

/// Bytes that messages are parts of: a digest a step, so that no mistake cancels out.
static POOL: LazyLock<Vec<u8>> =
    LazyLock::new(|| (0..256u32).flat_map(|step| oracle(&[&step.to_be_bytes()])).collect());

/// A part of the pool, of a length among `lens`.
fn message(lens: impl Strategy<Value = usize>) -> impl Strategy<Value = &'static [u8]> {
    (lens, any::<Index>()).prop_map(|(len, at)| &POOL[at.index(POOL.len() - len)..][..len])
}

/// Messages of lengths near each other and far apart, or all of one length.
fn messages(max_count: usize) -> impl Strategy<Value = Vec<&'static [u8]>> {
    let lens = prop_oneof![4 => 0..=200usize, 1 => 0..=1500usize];
    let unequal = vec(message(lens), 0..=max_count);
    let equal = (0..=300usize).prop_flat_map(move |len| vec(message(Just(len)), 0..=max_count));
    prop_oneof![2 => unequal, 1 => equal]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn batches(
        messages in messages(70),
        prefix in message(0..=200usize),
        skew in 0..64usize,
        ends in any::<[Index; 2]>(),
    ) {
        let start = Midstate::after(prefix);
        let expected: Vec<Output> = messages.iter().map(|m| oracle(&[prefix, m])).collect();
        let ends = ends.map(|end| end.index(messages.len() + 1));
        let (from, to) = (ends[0].min(ends[1]), ends[0].max(ends[1]));
        each_shape(&messages, skew, |shape, batch| {
            for many in Many::all() {
                assert_eq!(many.hash(&start, batch), expected, "{many:?} {shape}");
                let part = many.hash(&start, &batch.range(from, to));
                assert_eq!(part, expected[from..to], "{many:?} {shape} {from}..{to}");
            }
        });
    }

    #[test]
    fn tags(messages in messages(40), keys in messages(40)) {
        let count = messages.len().min(keys.len());
        let (keys, messages) = (&keys[..count], &messages[..count]);
        let expected: Vec<Output> =
            keys.iter().zip(messages).map(|(key, message)| hmac_oracle(key, message)).collect();
        each_shape(messages, 0, |shape, batch| {
            for many in Many::all() {
                let out = many.hmac(&Messages::slices(keys), batch);
                assert_eq!(out, expected, "{many:?} {shape}");
            }
        });
    }

    #[test]
    fn streams(
        message in message(0..=4000usize),
        cuts in vec(any::<Index>(), 0..=6),
        skew in 0..64usize,
    ) {
        let expected = oracle(&[message]);
        let data = [&vec![0; skew][..], message].concat();
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(message.len() + 1)).collect();
        cuts.extend([0, message.len()]);
        cuts.sort_unstable();
        for machine in stream_machines() {
            let mut sm3 = Sm3::new_on(machine).unwrap();
            for ends in cuts.windows(2) {
                sm3.update(&data[skew..][ends[0]..ends[1]]);
            }
            assert_eq!(sm3.finalize()[..], expected, "{machine} cut at {cuts:?}");
        }
    }
}

//! Random batches and streams against the portable stream.

mod common;

use std::sync::LazyLock;

use common::{
    each_shape,
    sha3::{Around, FUNCTIONS, hasher, oracle, stream_machines},
};
use manylane::sha3::Function;
use proptest::{collection::vec, prelude::*, sample::Index};

/// Bytes that messages are parts of: an output of SHAKE, so that no mistake cancels out.
static POOL: LazyLock<Vec<u8>> =
    LazyLock::new(|| oracle(Function::SHAKE128.with_output_len(8192), &[b"pool"]));

/// A part of the pool, of a length among `lens`.
fn message(lens: impl Strategy<Value = usize>) -> impl Strategy<Value = &'static [u8]> {
    (lens, any::<Index>()).prop_map(|(len, at)| &POOL[at.index(POOL.len() - len)..][..len])
}

/// Messages of lengths near each other and far apart, or all of one length.
fn messages(max_count: usize) -> impl Strategy<Value = Vec<&'static [u8]>> {
    let lens = prop_oneof![4 => 0..=300usize, 1 => 0..=1500usize];
    let unequal = vec(message(lens), 0..=max_count);
    let equal = (0..=400usize).prop_flat_map(move |len| vec(message(Just(len)), 0..=max_count));
    prop_oneof![2 => unequal, 1 => equal]
}

/// Any function, an XOF with any length of output.
fn function() -> impl Strategy<Value = Function> {
    (0..FUNCTIONS.len(), 0..=400usize).prop_map(|(i, len)| {
        let function = FUNCTIONS[i];
        if function.is_xof() { function.with_output_len(len) } else { function }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn batches(
        function in function(),
        messages in messages(35),
        prefix in message(0..=400usize),
        foot in message(0..=32usize),
        skew in 0..64usize,
        ends in any::<[Index; 2]>(),
    ) {
        let around = Around { function, prefix, foot };
        let expected = around.expected(&messages);
        let ends = ends.map(|end| end.index(messages.len() + 1));
        let (from, to) = (ends[0].min(ends[1]), ends[0].max(ends[1]));
        let len = function.output_len();
        each_shape(&messages, skew, |shape, batch| {
            around.check(shape, batch, &expected);
            around.check(shape, &batch.range(from, to), &expected[from * len..to * len]);
        });
    }

    #[test]
    fn streams(
        function in function(),
        message in message(0..=4000usize),
        cuts in vec(any::<Index>(), 0..=6),
        skew in 0..64usize,
    ) {
        let expected = oracle(function, &[message]);
        let data = [&vec![0; skew][..], message].concat();
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(message.len() + 1)).collect();
        cuts.extend([0, message.len()]);
        cuts.sort_unstable();
        for machine in stream_machines() {
            let mut hasher = hasher(function, machine);
            for ends in cuts.windows(2) {
                hasher.update(&data[skew..][ends[0]..ends[1]]);
            }
            let output = hasher.finish(function.output_len());
            prop_assert_eq!(output, &expected[..], "{} cut at {:?}", machine, cuts);
        }
    }
}

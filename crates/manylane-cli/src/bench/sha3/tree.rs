//! One long message on one core: the tree hash of RFC 9861 beside sponges, which are chains.

use manylane::{
    hash::Algorithm,
    sha3::{Kt128, Update as _},
};
use manylane_engine::Engine;

use super::{
    Call, Contender, Cores, Function, Group, Hash, OPENSSL_SHA3, OpenSslSha3, Rc, Rows, Work,
    bytes_label, effort, sha3,
};

/// Lengths of the message: one leaf of the tree, eight and 128.
const LENGTHS: [usize; 3] = [8 << 10, 64 << 10, 1 << 20];

/// Name of the tree hash as a contender.
const KT128: &str = "KT128";

/// Bytes of each digest: what 128 bits of security take.
const OUTPUT_LEN: usize = 32;

pub(super) fn groups(quick: bool) -> impl Iterator<Item = Group> {
    LENGTHS.into_iter().map(move |len| group(len, quick))
}

fn group(len: usize, quick: bool) -> Group {
    Group {
        id: format!("sha3/tree/{len}"),
        part: "One long message: KangarooTwelve beside sponges",
        parameter: bytes_label(len as u64),
        unit: "messages",
        working_set: (len + OUTPUT_LEN) as u64,
        base: Some(OPENSSL_SHA3),
        pairs: Vec::new(),
        cores: Cores::One,
        effort: effort(quick),
        // They are different functions.
        same_output: false,
        build: Box::new(move |rng| {
            let rows = Rc::new(Rows::equal(len, 1, rng));
            let mut contenders = vec![contender(KT128, &rows, kt128)];
            let turboshake = Function::turboshake128(0x1f);
            for (name, function) in [
                ("TurboSHAKE128", turboshake),
                ("SHAKE128", Function::SHAKE128),
                ("SHA3-256", Function::SHA3_256),
            ] {
                let hash = move |message: &[u8], out: &mut [u8]| sha3::hash(function, message, out);
                contenders.push(contender(name, &rows, hash));
            }
            if let Ok(openssl) = OpenSslSha3::get() {
                let mut context = openssl.context(Hash::Sha3_256);
                let hash = move |message: &[u8], out: &mut [u8]| context.hash(message, out);
                let theirs = contender(OPENSSL_SHA3, &rows, hash);
                contenders.push(Contender { peer: true, ..theirs });
            }
            Ok(contenders)
        }),
    }
}

/// KT128 on the calling thread, without a customization.
pub(super) fn kt128(message: &[u8], out: &mut [u8]) {
    let mut hasher = Kt128::new(&[]);
    hasher.update(message);
    hasher.finalize(out);
}

/// KT128 by the engine, whose threads share the leaves of the tree.
pub(super) fn kt128_on_all_cores(message: &[u8], out: &mut [u8]) {
    out.copy_from_slice(&Engine::global().hash(Algorithm::Kt128, message));
}

fn contender(
    name: &str,
    rows: &Rc<Rows>,
    mut hash: impl FnMut(&[u8], &mut [u8]) + 'static,
) -> Contender {
    let rows = Rc::clone(rows);
    Contender {
        name: name.to_owned(),
        kernel: None,
        peer: false,
        work: Work { bytes: rows.total_bytes(), units: 1, counted_clocks: None },
        output: vec![0; OUTPUT_LEN],
        call: Call::here(move |out| hash(rows.messages().get(0), out)),
    }
}

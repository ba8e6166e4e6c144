//! One message after another, each as one stream: what one file or one request costs.

use super::{
    Call, Contender, Core, Cores, Group, Hash, Machine, OPENSSL, OURS, OneByOne, Rc, Rows, Work,
    bytes_label, counts, effort, function, id, pairs, peers, permutations, sha3,
};

/// Lengths of the stream: of SHA3-256, and of the others.
const LENGTHS: [usize; 6] = [32, 128, 1 << 10, 8 << 10, 16 << 10, 1 << 20];
const FEW_LENGTHS: [usize; 2] = [64, 16 << 10];

pub(super) fn groups(core: Option<Core>, quick: bool) -> Vec<Group> {
    let mut groups: Vec<Group> = LENGTHS.map(|len| group(Hash::Sha3_256, len, core, quick)).into();
    for hash in Hash::ALL.into_iter().filter(|hash| *hash != Hash::Sha3_256) {
        groups.extend(FEW_LENGTHS.map(|len| group(hash, len, core, quick)));
    }
    groups
}

fn group(hash: Hash, len: usize, core: Option<Core>, quick: bool) -> Group {
    Group {
        id: id("stream", hash, len),
        part: "One stream",
        parameter: format!("{}, {}", hash.name(), bytes_label(len as u64)),
        unit: "messages",
        working_set: (len + function(hash).output_len()) as u64,
        base: Some(OPENSSL),
        pairs: pairs(hash),
        cores: Cores::One,
        effort: effort(quick),
        same_output: true,
        build: Box::new(move |rng| {
            let rows = Rc::new(Rows::equal(len, 1, rng));
            let function = function(hash);
            let ours: OneByOne = Box::new(move |message, out| sha3::hash(function, message, out));
            let mut contenders = vec![contender(OURS, &rows, function.output_len(), ours)];
            for (machine, run) in machines(hash) {
                let mut ours = contender(machine.name(), &rows, function.output_len(), run);
                let all = permutations(function, len as u64);
                ours.work.counted_clocks = counted(machine, core, all);
                contenders.push(ours);
            }
            for (name, run) in peers(hash) {
                let theirs = contender(name, &rows, function.output_len(), run);
                contenders.push(Contender { peer: true, ..theirs });
            }
            Ok(contenders)
        }),
    }
}

fn contender(name: &str, rows: &Rc<Rows>, output_len: usize, mut hash: OneByOne) -> Contender {
    let rows = Rc::clone(rows);
    Contender {
        name: name.to_owned(),
        kernel: None,
        peer: false,
        work: Work { bytes: rows.total_bytes(), units: 1, counted_clocks: None },
        output: vec![0; output_len],
        call: Call::here(move |out| hash(rows.messages().get(0), out)),
    }
}

/// The function on each machine that runs here and has a kernel for one stream.
fn machines(hash: Hash) -> impl Iterator<Item = (Machine, OneByOne)> {
    Machine::ALL.into_iter().filter_map(move |machine| Some((machine, on(machine, hash)?)))
}

/// The function on one machine; none if it cannot run here.
fn on(machine: Machine, hash: Hash) -> Option<OneByOne> {
    use sha3::{
        Sha3_224, Sha3_256, Sha3_384, Sha3_512, Shake128, Shake256,
        digest::{ExtendableOutput as _, FixedOutput as _, Update as _},
    };
    macro_rules! fixed {
        ($type:ident) => {{
            let fresh = $type::new_on(machine).ok()?;
            Box::new(move |message: &[u8], out: &mut [u8]| {
                let mut hasher = fresh.clone();
                hasher.update(message);
                hasher.finalize_into(out.try_into().expect("room for a digest"));
            })
        }};
    }
    macro_rules! xof {
        ($type:ident) => {{
            let fresh = $type::new_on(machine).ok()?;
            Box::new(move |message: &[u8], out: &mut [u8]| {
                let mut hasher = fresh.clone();
                hasher.update(message);
                hasher.finalize_xof_into(out);
            })
        }};
    }
    Some(match hash {
        Hash::Sha3_224 => fixed!(Sha3_224),
        Hash::Sha3_256 => fixed!(Sha3_256),
        Hash::Sha3_384 => fixed!(Sha3_384),
        Hash::Sha3_512 => fixed!(Sha3_512),
        Hash::Shake128 => xof!(Shake128),
        Hash::Shake256 => xof!(Shake256),
    })
}

/// Clocks of the machine that keeps one state in vectors, where they are counted.
fn counted(machine: Machine, core: Option<Core>, permutations: u64) -> Option<f64> {
    match machine {
        Machine::Avx512 => counts::keccak_state_clocks(core?, permutations),
        _ => None,
    }
}

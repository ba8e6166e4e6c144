//! Many messages on one core: lanes of each machine, equal and mixed lengths.

use super::{
    Call, Contender, Core, Cores, Function, Group, Hash, Machine, Messages, Midstate, OPENSSL,
    OURS, Rc, Rows, Work, bytes_label, counts, effort, function, id, lane_machines, pairs, peers,
    permutations, sha3,
};

/// Lengths of messages: of SHA3-256, and of the others.
const LENGTHS: [usize; 8] = [32, 64, 128, 256, 512, 1 << 10, 8 << 10, 16 << 10];
const FEW_LENGTHS: [usize; 2] = [64, 8 << 10];

/// Bytes of messages in a call, more or less: they stay in the second-level cache of most
/// processors, and exceed the first.
const BATCH: usize = 512 << 10;

/// Bytes that contenders without lanes take of a batch: their speed does not depend on how many
/// messages there are, and a sample should be over before the scheduler looks for others to run.
const BATCH_ALONE: u64 = 128 << 10;

/// Mixed lengths are uniform in 0…`LONGEST`; there are `MIXED` messages.
const LONGEST: usize = 4096;
const MIXED: usize = 1024;

pub(super) fn groups(core: Option<Core>, quick: bool) -> Vec<Group> {
    let mut groups: Vec<Group> = LENGTHS.map(|len| equal(Hash::Sha3_256, len, core, quick)).into();
    for hash in Hash::ALL.into_iter().filter(|hash| *hash != Hash::Sha3_256) {
        groups.extend(FEW_LENGTHS.map(|len| equal(hash, len, core, quick)));
    }
    groups.push(mixed(core, quick));
    groups
}

/// Messages of one length.
fn equal(hash: Hash, len: usize, core: Option<Core>, quick: bool) -> Group {
    // Twice the lanes of the widest machine at least.
    let count = (BATCH / len).clamp(16, 4096);
    Group {
        id: id("many", hash, len),
        part: "Many messages of one length",
        parameter: format!("{}, {count} × {}", hash.name(), bytes_label(len as u64)),
        unit: "messages",
        working_set: (count * (len + function(hash).output_len())) as u64,
        base: Some(OPENSSL),
        pairs: pairs(hash),
        cores: Cores::One,
        effort: effort(quick),
        same_output: true,
        build: Box::new(move |rng| {
            let rows = Rc::new(Rows::equal(len, count, rng));
            let mut contenders = vec![auto(function(hash), &rows)];
            for machine in lane_machines() {
                let ours = (machine.name(), machine);
                contenders.push(on_machine(function(hash), ours, &rows, core)?);
            }
            contenders.extend(one_by_one(hash, &rows));
            Ok(contenders)
        }),
    }
}

/// Lengths uniform in 0…4096 beside as many messages of the mean length.
fn mixed(core: Option<Core>, quick: bool) -> Group {
    let mut rng = fastrand::Rng::with_seed(LONGEST as u64);
    let lengths: Vec<usize> = (0..MIXED).map(|_| rng.usize(0..=LONGEST)).collect();
    let hash = Hash::Sha3_256;
    let function = function(hash);
    let each = LONGEST / 2 + 2 * function.output_len();
    let working_set = lengths.iter().sum::<usize>() + MIXED * each;
    let to_fixed = lane_machines().map(|m| (m.name().to_owned(), fixed(m)));
    Group {
        id: id("many", hash, format_args!("0-{LONGEST}")),
        part: "Many messages of mixed lengths",
        parameter: format!("{}, {MIXED} × 0…4 KiB, uniform", hash.name()),
        unit: "messages",
        working_set: working_set as u64,
        base: Some(OPENSSL),
        pairs: pairs(hash).into_iter().chain(to_fixed).collect(),
        cores: Cores::One,
        effort: effort(quick),
        // The fixed lengths are other messages.
        same_output: false,
        build: Box::new(move |rng| {
            let rows = Rc::new(Rows::unequal(&lengths, rng));
            let equal = Rc::new(Rows::equal(LONGEST / 2, MIXED, rng));
            let mut contenders = vec![auto(function, &rows)];
            for machine in lane_machines() {
                contenders.push(on_machine(function, (machine.name(), machine), &rows, core)?);
                contenders.push(on_machine(function, (&fixed(machine), machine), &equal, core)?);
            }
            contenders.extend(one_by_one(hash, &rows));
            Ok(contenders)
        }),
    }
}

/// Name of a machine's contender for messages of the mean length.
fn fixed(machine: Machine) -> String {
    format!("{machine}, fixed {}", bytes_label(LONGEST as u64 / 2))
}

/// Lanes of one machine, by the name that its contender has.
fn on_machine(
    function: Function,
    (name, machine): (&str, Machine),
    rows: &Rc<Rows>,
    core: Option<Core>,
) -> Result<Contender, String> {
    let rows = Rc::clone(rows);
    let start = Midstate::new(function);
    let take = if machine == Machine::Portable { BATCH_ALONE } else { u64::MAX };
    let work =
        work(&rows.first_messages(take), |messages| counted(function, machine, core, messages));
    let mut output = vec![0; work.units as usize * function.output_len()];
    let run = move |rows: &Rows, out: &mut [u8]| {
        sha3::hash_many_on(machine, &start, &rows.first_messages(take), &[], out)
            .map_err(|why| why.to_string())
    };
    let kernel = run(&rows, &mut output)?.ok_or("no kernel ran")?;
    if kernel.machine() != machine {
        return Err(format!("{machine} was asked for and {} ran", kernel.name()));
    }
    Ok(Contender {
        name: name.to_owned(),
        kernel: Some(kernel.name()),
        peer: false,
        work,
        output,
        call: Call::here(move |out| {
            run(&rows, out).expect("it ran before");
        }),
    })
}

/// What a caller gets who names no machine.
fn auto(function: Function, rows: &Rc<Rows>) -> Contender {
    let rows = Rc::clone(rows);
    Contender {
        name: OURS.into(),
        kernel: None,
        peer: false,
        work: work(&rows.messages(), |_| None),
        output: vec![0; rows.count() * function.output_len()],
        call: Call::here(move |out| {
            sha3::hash_many(function, &rows.messages(), out).expect("room for each digest");
        }),
    }
}

/// Other libraries, one message after another in one context.
fn one_by_one(hash: Hash, rows: &Rc<Rows>) -> Vec<Contender> {
    let output_len = function(hash).output_len();
    let contender = |(name, mut run): (&str, super::OneByOne)| {
        let rows = Rc::clone(rows);
        let work = work(&rows.first_messages(BATCH_ALONE), |_| None);
        Contender {
            name: name.to_owned(),
            kernel: None,
            peer: true,
            work,
            output: vec![0; work.units as usize * output_len],
            call: Call::here(move |out| {
                let messages = rows.first_messages(BATCH_ALONE);
                let digests = out.chunks_exact_mut(output_len).enumerate();
                digests.for_each(|(i, out)| run(messages.get(i), out));
            }),
        }
    };
    peers(hash).into_iter().map(contender).collect()
}

fn work(messages: &Messages, counted: impl Fn(&Messages) -> Option<f64>) -> Work {
    let (bytes, units) = (messages.total_bytes(), messages.len() as u64);
    Work { bytes, units, counted_clocks: counted(messages) }
}

/// Counted clocks of the messages on a machine, where the counts are known.
fn counted(
    function: Function,
    machine: Machine,
    core: Option<Core>,
    messages: &Messages,
) -> Option<f64> {
    let count = match machine {
        Machine::Avx512 => counts::KECCAK_AVX512,
        Machine::Avx2 => counts::KECCAK_AVX2,
        _ => return None,
    };
    let lengths = (0..messages.len()).map(|i| messages.get(i).len() as u64);
    let all = lengths.map(|len| permutations(function, len)).sum();
    Some(count.clocks(core?, all))
}

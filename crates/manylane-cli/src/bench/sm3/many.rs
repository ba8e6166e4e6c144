//! Many messages on one core: lanes of each machine, equal and mixed lengths.

use super::{
    Call, Contender, Core, Cores, Group, Machine, Messages, Midstate, OPENSSL, OpenSsl, Rc, Rows,
    Work, bytes_label, counts, lane_machines, sm3,
};

/// Lengths of messages.
const LENGTHS: [usize; 8] = [64, 256, 1 << 10, 2 << 10, 4 << 10, 8 << 10, 16 << 10, 64 << 10];

/// Bytes of messages in a call, more or less: they stay in the second-level cache of most
/// processors, and exceed the first.
const BATCH: usize = 512 << 10;

/// Bytes that contenders without lanes take of a batch: their speed does not depend on how many
/// messages there are, and a sample should be over before the scheduler looks for others to run.
const BATCH_ALONE: u64 = 128 << 10;

/// Mixed lengths are uniform in 0…`LONGEST`; there are `MIXED` messages.
const LONGEST: usize = 4096;
const MIXED: usize = 1024;

pub(super) fn groups(core: Option<Core>) -> impl Iterator<Item = Group> {
    LENGTHS.into_iter().map(move |len| equal(len, core)).chain([mixed(core)])
}

/// Messages of one length.
fn equal(len: usize, core: Option<Core>) -> Group {
    // Twice the lanes of the widest machine at least.
    let count = (BATCH / len).clamp(32, 4096);
    Group {
        id: format!("sm3/many/{len}"),
        part: "Many messages of one length",
        parameter: format!("{count} × {}", bytes_label(len as u64)),
        unit: "messages",
        working_set: (count * (len + sm3::DIGEST_LEN)) as u64,
        base: Some(OPENSSL),
        pairs: Vec::new(),
        cores: Cores::One,
        effort: None,
        same_output: true,
        build: Box::new(move |rng| {
            let rows = Rc::new(Rows::equal(len, count, rng));
            let mut contenders = Vec::new();
            for machine in lane_machines() {
                contenders.push(on_machine(machine.name(), machine, &rows, core)?);
            }
            contenders.extend(openssl(&rows));
            Ok(contenders)
        }),
    }
}

/// Lengths uniform in 0…4096 beside as many messages of the mean length.
fn mixed(core: Option<Core>) -> Group {
    let mut rng = fastrand::Rng::with_seed(LONGEST as u64);
    let lengths: Vec<usize> = (0..MIXED).map(|_| rng.usize(0..=LONGEST)).collect();
    let working_set = lengths.iter().sum::<usize>() + MIXED * (LONGEST / 2 + 2 * sm3::DIGEST_LEN);
    Group {
        id: format!("sm3/many/0-{LONGEST}"),
        part: "Many messages of mixed lengths",
        parameter: format!("{MIXED} × 0…4 KiB, uniform"),
        unit: "messages",
        working_set: working_set as u64,
        base: Some(OPENSSL),
        pairs: lane_machines().map(|m| (m.name().to_owned(), fixed(m))).collect(),
        cores: Cores::One,
        effort: None,
        // The fixed lengths are other messages.
        same_output: false,
        build: Box::new(move |rng| {
            let rows = Rc::new(Rows::unequal(&lengths, rng));
            let equal = Rc::new(Rows::equal(LONGEST / 2, MIXED, rng));
            let mut contenders = Vec::new();
            for machine in lane_machines() {
                contenders.push(on_machine(machine.name(), machine, &rows, core)?);
                contenders.push(on_machine(&fixed(machine), machine, &equal, core)?);
            }
            contenders.push(auto(&rows));
            contenders.extend(openssl(&rows));
            Ok(contenders)
        }),
    }
}

/// Name of a machine's contender for messages of the mean length.
fn fixed(machine: Machine) -> String {
    format!("{machine}, fixed {}", bytes_label(LONGEST as u64 / 2))
}

fn on_machine(
    name: &str,
    machine: Machine,
    rows: &Rc<Rows>,
    core: Option<Core>,
) -> Result<Contender, String> {
    let rows = Rc::clone(rows);
    let start = Midstate::default();
    let take = if machine == Machine::Portable { BATCH_ALONE } else { u64::MAX };
    let work = work(&rows.first_messages(take), |messages| counted(machine, core, messages));
    let mut output = vec![0; work.units as usize * sm3::DIGEST_LEN];
    let run = move |rows: &Rows, out: &mut [u8]| {
        let messages = rows.first_messages(take);
        sm3::hash_many_on(machine, &start, &messages, out.as_chunks_mut().0)
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
fn auto(rows: &Rc<Rows>) -> Contender {
    let rows = Rc::clone(rows);
    Contender {
        name: "hash_many".into(),
        kernel: None,
        peer: false,
        work: work(&rows.messages(), |_| None),
        output: vec![0; rows.count() * sm3::DIGEST_LEN],
        call: Call::here(move |out| {
            sm3::hash_many(&rows.messages(), out.as_chunks_mut().0).expect("a digest a message");
        }),
    }
}

/// OpenSSL, one message after another in one context.
fn openssl(rows: &Rc<Rows>) -> Option<Contender> {
    let rows = Rc::clone(rows);
    let mut openssl = OpenSsl::get().ok()?.digest();
    let work = work(&rows.first_messages(BATCH_ALONE), |_| None);
    Some(Contender {
        name: OPENSSL.into(),
        kernel: None,
        peer: true,
        work,
        output: vec![0; work.units as usize * sm3::DIGEST_LEN],
        call: Call::here(move |out| {
            let messages = rows.first_messages(BATCH_ALONE);
            for (i, out) in out.as_chunks_mut().0.iter_mut().enumerate() {
                openssl.hash(messages.get(i), out);
            }
        }),
    })
}

fn work(messages: &Messages, counted: impl Fn(&Messages) -> Option<f64>) -> Work {
    let (bytes, units) = (messages.total_bytes(), messages.len() as u64);
    Work { bytes, units, counted_clocks: counted(messages) }
}

/// Counted clocks of the messages on a machine, where the counts are known.
fn counted(machine: Machine, core: Option<Core>, messages: &Messages) -> Option<f64> {
    let count = match machine {
        Machine::Avx512 => counts::SM3_AVX512,
        Machine::Avx2 => counts::SM3_AVX2,
        _ => return None,
    };
    let lengths = (0..messages.len()).map(|i| messages.get(i).len() as u64);
    let blocks = lengths.clone().map(counts::sm3_blocks).sum();
    // The padding of equal lengths in whole blocks is one block, the same for all.
    let first = messages.get(0).len() as u64;
    let constant = first.is_multiple_of(64) && lengths.clone().all(|len| len == first);
    Some(count.clocks(core?, blocks, if constant { messages.len() as u64 } else { 0 }))
}

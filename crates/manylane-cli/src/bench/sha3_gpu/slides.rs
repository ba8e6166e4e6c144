//! The two experiments of Di Iorio and Costanzi Fantini's slides with their GPU columns, transfers
//! included: one file after another, and a million short messages.

use std::{rc::Rc, time::Duration};

use manylane::{hash, sha3::Midstate};
use manylane_gpu::Sha3Comparator;

use super::{
    Call, Contender, Device, Group, Timing, amount, by_wall, bytes_label, contender,
    device::{Program, Shape, Work},
    group, host,
    kernels::OURS,
};
use crate::bench::{
    data::Rows,
    measure::{self, Effort},
    sensors::Packages,
    sha3::{
        function,
        slides::{FILE, FILES, HASH, PLAIN, SHORT, VOLUME, messages, of_a_file, of_messages},
    },
};

/// Files from this length on are looked at once: one thread of a GPU takes seconds for the longest.
const LONG: usize = 10 << 20;

/// A call of a million messages, most of which are done by one core, takes as long as many samples.
const CALLS: Effort = Effort { visits: 6, samples: 1, sample: Duration::from_millis(1) };

/// Name of what is launched on data that is on the device already.
const ALONE: &str = "kernel alone";

pub(super) fn groups(device: &Rc<Device>, quick: bool) -> Vec<Group> {
    let fits = |len: &usize| *len <= device.room() && (!quick || *len < LONG);
    let files = FILES.into_iter().filter(fits).map(|len| file(device, len, quick));
    files.chain(SHORT.into_iter().map(|len| volume(device, len, quick))).collect()
}

fn work(program: Program, count: usize, len: usize) -> Work {
    Work { program, function: function(HASH), count, shape: Shape::Rows(len) }
}

/// Messages whose bytes are the device's own, so that copying them there changes nothing.
fn rows(device: &Device, len: usize, count: usize, rng: &mut fastrand::Rng) -> Rc<Rows> {
    let mut rows = Rows::equal(len, count, rng);
    device.fill_host(rows.bytes_mut());
    Rc::new(rows)
}

/// A call from ordinary memory of the host to digests there.
fn transferred(device: &Rc<Device>, name: &str, rows: &Rc<Rows>, work: Work) -> Contender {
    let (device, rows) = (Rc::clone(device), Rc::clone(rows));
    Contender {
        name: name.to_owned(),
        kernel: None,
        peer: matches!(work.program, Program::Other(_)),
        work: work.measured(),
        output: vec![0; work.count * work.function.output_len()],
        call: Call::elsewhere(move |calls, out| {
            by_wall(calls, || {
                let done = device.there_and_back(&rows.bytes()[..work.bytes()], &work, out);
                done.map_err(|why| why.to_string())
            })
        }),
    }
}

/// A serial chain on one thread of the GPU, and on a block of threads with the state in shared memory.
fn file(device: &Rc<Device>, len: usize, quick: bool) -> Group {
    let on = Rc::clone(device);
    let build = move |rng: &mut fastrand::Rng| {
        let rows = rows(&on, len, 1, rng);
        let packages = Rc::new(Packages::find().ok());
        let mut contenders = of_a_file(&rows, &packages);
        for which in Sha3Comparator::ALL {
            let work = work(Program::Other(which), 1, len);
            contenders.push(transferred(&on, which.name(), &rows, work));
        }
        contenders.push(transferred(&on, OURS, &rows, work(Program::Ours, 1, len)));
        Ok(contenders)
    };
    let part = "One file at a time, transfers included";
    let once = Effort { visits: 1, ..CALLS };
    let group =
        group(device, &format!("{FILE}-{len}"), part, bytes_label(len as u64), quick, build);
    let effort = if len < LONG { group.effort } else { Some(once) };
    Group {
        base: Some(PLAIN),
        unit: "files",
        same_output: true,
        working_set: len as u64,
        effort,
        ..group
    }
}

/// The slides' kernel and ours, from ordinary memory of the host and alone.
fn volume(device: &Rc<Device>, len: usize, quick: bool) -> Group {
    let on = Rc::clone(device);
    let count = device.affords(messages(quick), len, function(HASH).output_len());
    let build = move |rng: &mut fastrand::Rng| {
        let rows = rows(&on, len, count, rng);
        let packages = Rc::new(Packages::find().ok());
        let mut contenders = of_messages(&rows, &packages);
        let which = Sha3Comparator::BlockPerMessage;
        let theirs = || work(Program::Other(which), count, len);
        contenders.push(transferred(&on, which.name(), &rows, theirs()));
        let name = format!("{}, {ALONE}", which.name());
        contenders.push(contender(&on, name, Rc::new(theirs()), rng)?);
        contenders.push(by_engine(&on, &rows)?);
        let ours = Rc::new(work(Program::Ours, count, len));
        contenders.push(contender(&on, format!("{OURS}, {ALONE}"), ours, rng)?);
        Ok(contenders)
    };
    let part = "A million short messages, transfers included";
    Group {
        base: Some(PLAIN),
        effort: Some(CALLS),
        same_output: true,
        working_set: (count * len) as u64,
        ..group(device, &format!("{VOLUME}-{len}"), part, amount(count, len), quick, build)
    }
}

/// The engine on the GPU alone.
fn by_engine(device: &Device, rows: &Rc<Rows>) -> Result<Contender, String> {
    let engine = host::engine(host::choice(device.gpu().info().id))?;
    let start = hash::Midstate::from(Midstate::new(function(HASH)));
    let output = vec![0; rows.count() * start.digest_len()];
    let (bytes, units) = (rows.total_bytes(), rows.count() as u64);
    let rows = Rc::clone(rows);
    Ok(Contender {
        name: "manylane, GPU".to_owned(),
        kernel: None,
        peer: false,
        work: measure::Work { bytes, units, counted_clocks: None },
        output,
        call: Call::elsewhere(move |calls, out| -> Result<Timing, String> {
            let timing = by_wall(calls, || {
                let done = engine.hash_many(&start, &rows.messages(), out);
                done.map_err(|why| why.to_string())
            });
            host::no_warning(&engine)?;
            timing
        }),
    })
}

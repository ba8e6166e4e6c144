//! The kernel alone: data in the device's memory, read and stored.

use std::rc::Rc;

use manylane_gpu::{BlockComparator, Tables};

use super::{
    Cipher, Device, Family, Group, Mode, OURS, Program, Work, bytes_label, contender, device::STEP,
    group,
};

const PART: &str = "Kernel alone, data in device memory, read and stored";
const STARTS: &str = "Kernel alone, counters from a multiple of 1024 and from an odd number on";
const SIZES: &str = "Kernel alone, CTR, by the bytes of a call";

/// Bytes of a call, where the device does them in a short time.
const BYTES: usize = 4 << 30;

/// Lengths of single calls.
const LENGTHS: [usize; 7] = [1 << 20, 4 << 20, 16 << 20, 64 << 20, 256 << 20, 1 << 30, 4 << 30];

/// Name of counter mode from an odd number on.
const ODD: &str = "manylane, from an odd number";

pub(super) fn groups(device: &Rc<Device>, quick: bool) -> Vec<Group> {
    let ciphers = device.family().ciphers();
    let mut groups = Vec::new();
    for (name, mode) in [("ctr", Mode::CTR), ("encrypt", Mode::Encrypt), ("decrypt", Mode::Decrypt)]
    {
        groups.extend(ciphers.iter().map(|cipher| of_mode(device, *cipher, name, mode, quick)));
    }
    groups.extend(ciphers.iter().map(|cipher| starts(device, *cipher, quick)));
    groups.extend(sizes(device, quick));
    groups
}

/// Every kernel once, on so many bytes at most.
pub(super) fn each(device: &Device, bytes: usize) -> Vec<Work> {
    let bytes = (bytes.min(device.room()) / STEP * STEP).max(STEP);
    let mut all = Vec::new();
    for &cipher in device.family().ciphers() {
        for tables in device.tables() {
            let program = Program::Ours(tables);
            let work = |mode| Work { cipher, mode, program, bytes };
            all.extend([Mode::CTR, Mode::Encrypt, Mode::Decrypt].map(work));
        }
        all.extend(others(device.family()).iter().map(|&o| Work::of_others(cipher, o, bytes)));
    }
    all
}

/// Published methods of a family.
fn others(family: Family) -> &'static [BlockComparator] {
    match family {
        Family::Aes => &BlockComparator::ALL,
        Family::Sm4 => &[],
    }
}

/// How the kernels with so many tables are called where they are not what the library chooses.
fn variant(tables: Tables) -> &'static str {
    match tables {
        Tables::Four => "manylane, four tables",
        Tables::Two => "manylane, two tables",
        Tables::One => "manylane, one table",
    }
}

/// What is done with how much.
fn parameter(cipher: Cipher, what: impl std::fmt::Display, bytes: usize) -> String {
    format!("{}, {what}, {}", cipher.name(), bytes_label(bytes as u64))
}

fn of_mode(device: &Rc<Device>, cipher: Cipher, name: &str, mode: Mode, quick: bool) -> Group {
    let bytes = device.affords(BYTES);
    let on = Rc::clone(device);
    let build = move |rng: &mut fastrand::Rng| {
        let mut contenders = Vec::new();
        for (i, tables) in on.tables().into_iter().enumerate() {
            let name = if i == 0 { OURS } else { variant(tables) };
            let work = Work { cipher, mode, program: Program::Ours(tables), bytes };
            contenders.push(contender(&on, name.to_owned(), work, rng)?);
        }
        if mode == Mode::CTR {
            for &which in others(on.family()) {
                let work = Work::of_others(cipher, which, bytes);
                contenders.push(contender(&on, which.name().to_owned(), work, rng)?);
            }
        }
        Ok(contenders)
    };
    let tables = format!("{:?}", device.tables()[0]).to_lowercase();
    let parameter = format!("{} (manylane: {tables})", parameter(cipher, mode, bytes));
    Group {
        base: Some(OURS),
        working_set: 2 * bytes as u64,
        ..group(device, &cipher.group(name), PART, parameter, quick, build)
    }
}

fn starts(device: &Rc<Device>, cipher: Cipher, quick: bool) -> Group {
    let bytes = device.affords(BYTES);
    let on = Rc::clone(device);
    let build = move |rng: &mut fastrand::Rng| {
        let program = Program::Ours(on.tables()[0]);
        let of = |mode| Work { cipher, mode, program, bytes };
        Ok(vec![
            contender(&on, OURS.to_owned(), of(Mode::CTR), rng)?,
            contender(&on, ODD.to_owned(), of(Mode::CTR_ODD), rng)?,
        ])
    };
    let parameter = parameter(cipher, Mode::CTR, bytes);
    Group {
        base: Some(OURS),
        working_set: 2 * bytes as u64,
        ..group(device, &cipher.group("ctr-start"), STARTS, parameter, quick, build)
    }
}

/// Of the family's first cipher.
fn sizes(device: &Rc<Device>, quick: bool) -> Vec<Group> {
    let cipher = device.family().ciphers()[0];
    // On a slow device the longest are all the same.
    let affordable = |bytes: &usize| device.affords(*bytes) == *bytes;
    let of = |bytes: usize| {
        let on = Rc::clone(device);
        let build = move |rng: &mut fastrand::Rng| {
            let program = Program::Ours(on.tables()[0]);
            let work = Work { cipher, mode: Mode::CTR, program, bytes };
            Ok(vec![contender(&on, OURS.to_owned(), work, rng)?])
        };
        let (name, parameter) = (format!("size-{bytes}"), parameter(cipher, Mode::CTR, bytes));
        Group {
            working_set: 2 * bytes as u64,
            ..group(device, &name, SIZES, parameter, quick, build)
        }
    };
    LENGTHS.into_iter().filter(affordable).map(of).collect()
}

//! The kernel alone: messages in the device's memory, digests stored, whole devices busy.

use std::rc::Rc;

use manylane_gpu::Comparator;

use super::{
    Contender, Device, Group, amount, contender,
    device::{Program, Shape, Work},
    group, padded, thousands,
};

/// Name of the call that is measured, and that others are set in relation to.
const OURS: &str = "hash_many";

const PART: &str = "Kernel alone, data in device memory, digests stored";

/// Messages of one length: how they are called in the records, their number, their length, and
/// from one to the next. The first numbers fill an H100 many times over with data far larger than its cache;
/// 33,792 messages are 256 on each of its multiprocessors.
const EQUAL: [(&str, usize, usize, usize); 7] = [
    ("8192", 540_672, 8192, 8192),
    ("8192-short-batch", 33_792, 8192, 8192),
    ("4096", 1_081_344, 4096, 4096),
    ("64", 1 << 26, 64, 64),
    ("55", 1 << 26, 55, 55),
    ("55-stride-64", 1 << 26, 55, 64),
    ("32", 1 << 26, 32, 32),
];

/// Numbers of messages with lengths uniform in 1…[`LONGEST`].
const UNEQUAL: [usize; 2] = [200_000, 1_000_000];
const LONGEST: usize = 8192;

/// Messages under a key each.
const KEYED: (usize, usize) = (1 << 22, 256);

pub(super) fn groups(device: &Rc<Device>, quick: bool) -> Vec<Group> {
    let mut groups: Vec<Group> = EQUAL
        .into_iter()
        .map(|(name, count, len, stride)| equal(device, name, count, (len, stride), quick))
        .collect();
    groups.extend(UNEQUAL.map(|count| unequal(device, count, quick)));
    groups.push(keyed(device, quick));
    groups
}

fn equal(
    device: &Rc<Device>,
    name: &str,
    count: usize,
    (len, stride): (usize, usize),
    quick: bool,
) -> Group {
    let device = Rc::clone(device);
    let count = device.affords(count, stride);
    let mut parameter = amount(count, len);
    if stride != len {
        parameter += &format!(", {stride} apart");
    }
    let on = Rc::clone(&device);
    let build = move |rng: &mut fastrand::Rng| {
        let shape = Shape::Rows { len, stride };
        let ours = Rc::new(Work { program: Program::Hash(None), count, shape });
        let mut contenders = vec![contender(&on, OURS.to_owned(), false, ours, rng)?];
        if len.is_multiple_of(64) {
            contenders.extend(comparators(&on, count, len, rng)?);
        }
        Ok(contenders)
    };
    Group {
        base: Some(OURS),
        working_set: (count * stride) as u64,
        ..group(&device, &format!("kernel-{name}"), PART, parameter, quick, build)
    }
}

/// The comparators that take messages of one length, which they need to be whole blocks.
fn comparators(
    device: &Rc<Device>,
    count: usize,
    len: usize,
    rng: &mut fastrand::Rng,
) -> Result<Vec<Contender>, String> {
    let mut contenders = Vec::new();
    for which in Comparator::ALL {
        let shape = match which {
            Comparator::Padded => continue,
            Comparator::Plain => Shape::Rows { len, stride: len },
            _ => Shape::Interleaved { len },
        };
        let work = Rc::new(Work { program: Program::Comparator(which, None), count, shape });
        contenders.push(contender(device, which.name().to_owned(), true, work, rng)?);
    }
    Ok(contenders)
}

/// Lengths uniform in 1…8192 at any byte, ordering included; beside as many of the mean length.
fn unequal(device: &Rc<Device>, count: usize, quick: bool) -> Group {
    let device = Rc::clone(device);
    let mean = LONGEST / 2;
    let name = format!("kernel-1-{LONGEST}-{count}");
    let count = device.affords(count, mean + mean / 8);
    let mut rng = fastrand::Rng::with_seed(LONGEST as u64);
    let lengths: Rc<[usize]> = (0..count).map(|_| rng.usize(1..=LONGEST)).collect();
    let on = Rc::clone(&device);
    let build = move |rng: &mut fastrand::Rng| {
        let failed = |why: manylane_gpu::Error| why.to_string();
        let shape = Shape::Offsets(on.offsets(&lengths).map_err(failed)?);
        let ours = Rc::new(Work { program: Program::Hash(None), count, shape });
        let shape = Shape::Rows { len: mean, stride: mean };
        let fixed = Rc::new(Work { program: Program::Hash(None), count, shape });
        let mut contenders = vec![
            contender(&on, OURS.to_owned(), false, ours, rng)?,
            contender(&on, FIXED.to_owned(), false, fixed, rng)?,
        ];
        if padded::affords(&lengths) {
            contenders.extend(padded::contenders(&on, &lengths, rng)?);
        }
        Ok(contenders)
    };
    let parameter = format!("{} × 1…8 KiB, uniform, at any byte", thousands(count));
    Group {
        base: Some(FIXED),
        working_set: (count * mean) as u64,
        ..group(&device, &name, PART, parameter, quick, build)
    }
}

const FIXED: &str = "hash_many, 4 KiB each";

fn keyed(device: &Rc<Device>, quick: bool) -> Group {
    let device = Rc::clone(device);
    let (count, len) = KEYED;
    let count = device.affords(count, len);
    let on = Rc::clone(&device);
    let build = move |rng: &mut fastrand::Rng| {
        let shape = Shape::Rows { len, stride: len };
        let work = Rc::new(Work { program: Program::Hmac, count, shape });
        Ok(vec![contender(&on, "hmac_many".to_owned(), false, work, rng)?])
    };
    let parameter = format!("{}, each under a key of 32 B", amount(count, len));
    group(&device, &format!("hmac-{len}"), PART, parameter, quick, build)
}

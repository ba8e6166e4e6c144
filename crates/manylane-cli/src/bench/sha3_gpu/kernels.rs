//! The kernel alone: messages in the device's memory, digests stored, whole devices busy.

use std::rc::Rc;

use manylane::sha3::Function;
use manylane_gpu::Sha3Comparator;

use super::{
    Contender, Device, Group, amount, contender,
    device::{Program, Shape, Work},
    group, thousands,
};

/// Name of the call that is measured, and that others are set in relation to.
pub(super) const OURS: &str = "hash_many";

const PART: &str = "Kernel alone, data in device memory, digests stored";

/// Lengths of SHA3-256's messages: eight blocks, one block but a byte, and what others publish.
const LENGTHS: [usize; 10] = [8192, 4096, 1088, 512, 256, 135, 128, 64, 55, 32];

/// Lengths at which the methods of others stand beside: those of the slides, and a long one.
const BESIDE_OTHERS: [usize; 6] = [8192, 512, 256, 128, 64, 32];

/// Lengths of the other functions' messages.
const FEW_LENGTHS: [usize; 2] = [8192, 64];

/// Bytes of a call: they fill an H100 many times over with data far larger than its cache.
const BYTES: usize = 4 << 30;

/// The methods of others take one message of so many: they are that much slower, and a sample should not
/// last for seconds.
const LESS: usize = 16;

/// Messages with lengths uniform in 1…[`LONGEST`].
const UNEQUAL: usize = 200_000;
const LONGEST: usize = 8192;

/// The other functions, by name.
fn functions() -> [(&'static str, Function); 7] {
    [
        ("SHA3-224", Function::SHA3_224),
        ("SHA3-384", Function::SHA3_384),
        ("SHA3-512", Function::SHA3_512),
        ("SHAKE128", Function::SHAKE128),
        ("SHAKE256", Function::SHAKE256),
        ("TurboSHAKE128", Function::turboshake128(0x1f)),
        ("TurboSHAKE256", Function::turboshake256(0x1f)),
    ]
}

const SHA3_256: (&str, Function) = ("SHA3-256", Function::SHA3_256);

pub(super) fn groups(device: &Rc<Device>, quick: bool) -> Vec<Group> {
    let mut groups = Vec::from(LENGTHS.map(|len| equal(device, SHA3_256, len, quick)));
    for named in functions() {
        groups.extend(FEW_LENGTHS.map(|len| equal(device, named, len, quick)));
    }
    groups.push(unequal(device, quick));
    groups
}

/// Every kernel once, on so many bytes at most.
pub(super) fn each(device: &Device, bytes: usize) -> Vec<Work> {
    let room = bytes.min(device.room());
    let work = |program, function: Function, len: usize| {
        let count = device.fits(room / len, function.output_len());
        Work { program, function, count, shape: Shape::Rows(len) }
    };
    let mut all = Vec::new();
    for (_, function) in [SHA3_256].into_iter().chain(functions()) {
        // Rows at 8-byte boundaries and at any byte, and one block alone.
        all.extend([8192, 8191, 55, 32].map(|len| work(Program::Ours, function, len)));
    }
    for which in Sha3Comparator::ALL {
        let whole = work(Program::Other(which), Function::SHA3_256, 512);
        all.push(Work { count: others(which, whole.count), ..whole });
    }
    all
}

/// How many of the messages a method of others takes.
fn others(which: Sha3Comparator, count: usize) -> usize {
    match which {
        Sha3Comparator::Serial => 1,
        _ => (count / LESS).max(1),
    }
}

fn equal(
    device: &Rc<Device>,
    (name, function): (&'static str, Function),
    len: usize,
    quick: bool,
) -> Group {
    let count = device.affords(BYTES / len, len, function.output_len());
    let on = Rc::clone(device);
    let build = move |rng: &mut fastrand::Rng| {
        let of = |program, count| Work { program, function, count, shape: Shape::Rows(len) };
        let ours = Rc::new(of(Program::Ours, count));
        let mut contenders = vec![contender(&on, OURS.to_owned(), ours, rng)?];
        if function == Function::SHA3_256 && BESIDE_OTHERS.contains(&len) {
            // One thread is for one message: `file-N` has it.
            for which in Sha3Comparator::ALL.into_iter().filter(|w| *w != Sha3Comparator::Serial) {
                let work = Rc::new(of(Program::Other(which), others(which, count)));
                contenders.push(contender(&on, which.name().to_owned(), work, rng)?);
            }
        }
        Ok(contenders)
    };
    let parameter = format!("{name}, {}", amount(count, len));
    let group_name = format!("kernel-{}-{len}", name.to_lowercase());
    Group {
        base: Some(OURS),
        working_set: (count * (len + function.output_len())) as u64,
        ..group(device, &group_name, PART, parameter, quick, build)
    }
}

const FIXED: &str = "hash_many, 4 KiB each";

/// Lengths uniform in 1…8192 at any byte, ordering included; beside as many of the mean length.
fn unequal(device: &Rc<Device>, quick: bool) -> Group {
    let (name, function) = SHA3_256;
    let mean = LONGEST / 2;
    let count = device.affords(UNEQUAL, mean + mean / 8, function.output_len());
    let mut rng = fastrand::Rng::with_seed(LONGEST as u64);
    let lengths: Rc<[usize]> = (0..count).map(|_| rng.usize(1..=LONGEST)).collect();
    let on = Rc::clone(device);
    let build = move |rng: &mut fastrand::Rng| -> Result<Vec<Contender>, String> {
        let offsets = on.offsets(&lengths).map_err(|why| why.to_string())?;
        let of = |shape| Rc::new(Work { program: Program::Ours, function, count, shape });
        let (ours, fixed) = (of(Shape::Offsets(offsets)), of(Shape::Rows(mean)));
        Ok(vec![
            contender(&on, OURS.to_owned(), ours, rng)?,
            contender(&on, FIXED.to_owned(), fixed, rng)?,
        ])
    };
    let parameter = format!("{name}, {} × 1…8 KiB, uniform, at any byte", thousands(count));
    let group_name = format!("kernel-{}-1-{LONGEST}", name.to_lowercase());
    Group {
        base: Some(FIXED),
        working_set: (count * mean) as u64,
        ..group(device, &group_name, PART, parameter, quick, build)
    }
}

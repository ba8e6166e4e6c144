//! SHA-3 on one core, on every machine: `cargo bench -p manylane --bench sha3`.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use manylane::{
    Messages,
    cpu::Machine,
    sha3::{Digest, Function, Midstate, Sha3_256, hash_many_on},
};

/// As many messages as are ordered by length at a time.
const COUNT: usize = 1024;

fn stream(c: &mut Criterion) {
    let data = vec![0x5a; 16384];
    let mut group = c.benchmark_group("SHA3-256, one stream of 16 KiB");
    group.throughput(Throughput::Bytes(data.len() as u64));
    for machine in Machine::ALL {
        if let Ok(hasher) = Sha3_256::new_on(machine) {
            group.bench_function(machine.name(), |b| {
                b.iter(|| hasher.clone().chain_update(black_box(&data)).finalize());
            });
        }
    }
}

fn many(c: &mut Criterion) {
    for (name, function) in [
        ("SHA3-256", Function::SHA3_256),
        ("SHA3-512", Function::SHA3_512),
        ("SHAKE128", Function::SHAKE128),
        ("TurboSHAKE128", Function::turboshake128(0x1f)),
    ] {
        for len in [32, 33, 512, 8192] {
            let data = vec![0x5a; COUNT * len];
            let messages = Messages::strided(&data, len, len, COUNT).expect("fits");
            batch(c, &format!("{name}, {COUNT} messages of {len} bytes"), function, &messages);
        }
    }
    // Lengths without order, so that lanes are refilled one by one.
    let data = vec![0x5a; 700];
    let unequal: Vec<&[u8]> = (0..COUNT).map(|i| &data[..i * 389 % data.len()]).collect();
    let name = format!("SHA3-256, {COUNT} messages of up to 700 bytes");
    batch(c, &name, Function::SHA3_256, &Messages::slices(&unequal));
}

fn batch(c: &mut Criterion, name: &str, function: Function, messages: &Messages) {
    let start = Midstate::new(function);
    let mut out = vec![0; messages.len() * function.output_len()];
    let mut group = c.benchmark_group(name);
    group.throughput(Throughput::Bytes(messages.total_bytes()));
    for machine in Machine::ALL {
        if hash_many_on(machine, &start, messages, &[], &mut out).is_ok() {
            group.bench_function(machine.name(), |b| {
                b.iter(|| hash_many_on(machine, &start, black_box(messages), &[], &mut out));
            });
        }
    }
}

criterion_group!(benches, stream, many);
criterion_main!(benches);

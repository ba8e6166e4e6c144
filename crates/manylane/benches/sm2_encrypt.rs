//! Encryption in place: of one message by size and machine, beside its parts and ParaSM2's methods;
//! of many messages; and the times T_p of its cost model.

use criterion::{
    BatchSize, BenchmarkGroup, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main,
    measurement::WallTime,
};
use manylane::{
    Error,
    cpu::Machine,
    sm2::{self, Decryptor, Encryptor, Sealed, SecretKey, comparators},
    sm3::{self, Digest as _, Lanes, Sm3},
};

const SIZES: [usize; 6] = [64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20];

fn machines() -> impl Iterator<Item = Machine> {
    Machine::ALL.into_iter().filter(|&machine| Lanes::new_on(machine).is_ok())
}

/// One message, its parts, and the comparators, by size.
fn one(c: &mut Criterion) {
    let key = SecretKey::generate().expect("random bytes");
    let mut group = c.benchmark_group("one");
    for size in SIZES {
        let mut data = vec![0x5a; size];
        group.throughput(Throughput::Bytes(size as u64)).sample_size(10);
        encrypt(&mut group, &key, &mut data);
        decrypt(&mut group, &key, &mut data);
        group.bench_function(BenchmarkId::new("hash alone", size), |b| {
            b.iter(|| sm3::hash(&data));
        });
        for machine in machines() {
            let id = BenchmarkId::new(format!("key stream alone on {machine}"), size);
            group.bench_function(id, |b| {
                b.iter(|| {
                    comparators::key_stream(machine, &[7; 64], &mut data).expect("it has lanes")
                });
            });
        }
        let has_three = |&machine: &Machine| Lanes::new_on(machine).is_ok_and(|l| l.count() >= 3);
        if let Some(machine) = machines().find(has_three) {
            let id = BenchmarkId::new(format!("bundles of three on {machine}"), size);
            group.bench_function(id, |b| {
                b.iter(|| comparators::encrypt_in_bundles(machine, &[7; 64], &mut data));
            });
        }
    }
    group.finish();
}

fn encrypt(group: &mut BenchmarkGroup<WallTime>, key: &SecretKey, data: &mut [u8]) {
    let public = key.public_key();
    let size = data.len();
    group.bench_function(BenchmarkId::new("encrypt", size), |b| {
        b.iter(|| public.encrypt_in_place(data).expect("random bytes"));
    });
    for machine in machines() {
        group.bench_function(BenchmarkId::new(format!("encrypt on {machine}"), size), |b| {
            b.iter(|| {
                let mut encryptor = Encryptor::new_on(machine, public, data).expect("random bytes");
                encryptor.update(data).expect("short enough");
                encryptor.finalize().expect("not empty")
            });
        });
    }
}

/// A ciphertext that is decrypted again and again is none after the first time; that takes the same
/// time until its hash is compared.
fn decrypt(group: &mut BenchmarkGroup<WallTime>, key: &SecretKey, data: &mut [u8]) {
    let sealed = key.public_key().encrypt_in_place(data).expect("random bytes");
    let size = data.len();
    let mut run = |id, new: &dyn Fn() -> Decryptor| {
        group.bench_function(id, |b| {
            b.iter(|| {
                let mut decryptor = new();
                decryptor.update(data).expect("short enough");
                decryptor.finalize(&sealed.c3)
            });
        });
    };
    let chosen = || Decryptor::new(key, &sealed.c1).expect("a point");
    run(BenchmarkId::new("decrypt", size), &chosen);
    for machine in machines() {
        let on = || Decryptor::new_on(machine, key, &sealed.c1).expect("a point");
        run(BenchmarkId::new(format!("decrypt on {machine}"), size), &on);
    }
}

/// Messages one after another and side by side.
fn many(c: &mut Criterion) {
    let key = SecretKey::generate().expect("random bytes");
    let mut group = c.benchmark_group("many");
    for (count, len) in [(64, 64 << 10), (64, 4 << 10), (16, 1 << 20), (64, 32)] {
        let mut c2 = vec![vec![0x5a; len]; count];
        let seal =
            |data: &mut Vec<u8>| key.public_key().encrypt_in_place(data).expect("random bytes");
        let sealed: Vec<Sealed> = c2.iter_mut().map(seal).collect();
        let name = format!("{count} of {len} bytes");
        group.throughput(Throughput::Bytes((count * len) as u64)).sample_size(20);
        group.bench_function(BenchmarkId::new("decrypt one by one", &name), |b| {
            let decrypt = |mut data: Vec<Vec<u8>>| {
                for (data, sealed) in data.iter_mut().zip(&sealed) {
                    key.decrypt_in_place(sealed, data).expect("as it was encrypted");
                }
                data
            };
            b.iter_batched(|| c2.clone(), decrypt, BatchSize::PerIteration);
        });
        group.bench_function(BenchmarkId::new("decrypt_many", &name), |b| {
            let decrypt = |mut data: Vec<Vec<u8>>| {
                let mut out = vec![Err(Error::Decryption); count];
                let mut parts: Vec<&mut [u8]> = data.iter_mut().map(Vec::as_mut_slice).collect();
                sm2::decrypt_many(&vec![&key; count], &sealed, &mut parts, &mut out)
                    .expect("counts agree");
                assert!(out.iter().all(Result::is_ok));
                data
            };
            b.iter_batched(|| c2.clone(), decrypt, BatchSize::PerIteration);
        });
    }
    group.finish();
}

/// T_1 of each stream and T_p of each machine's lanes: CF of one row of blocks, which its model takes
/// for all that takes time.
fn model(c: &mut Criterion) {
    const BLOCKS: usize = 1024;
    let data = vec![0x5a; 64 * BLOCKS];
    let mut group = c.benchmark_group(format!("CF of {BLOCKS} rows"));
    for machine in Machine::ALL {
        if Sm3::new_on(machine).is_ok() {
            group.bench_function(format!("T1 of a stream on {machine}"), |b| {
                b.iter(|| {
                    Sm3::new_on(machine).expect("it has a stream").chain_update(&data).finalize()
                });
            });
        }
        if let Ok(mut lanes) = Lanes::new_on(machine) {
            let inputs = vec![&data[..]; lanes.count()];
            group.bench_function(format!("T{} on {machine}", lanes.count()), |b| {
                b.iter(|| lanes.compress(&inputs));
            });
        }
    }
    group.finish();
}

criterion_group!(benches, one, many, model);
criterion_main!(benches);

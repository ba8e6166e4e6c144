//! AES and SM4, 8 KiB on one core, on every machine: `cargo bench -p manylane --bench block`.

use std::hint::black_box;

use criterion::{
    BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main, measurement::WallTime,
};
use manylane::{
    Error,
    aes::{Aes128, Aes256},
    block::{BlockCipher, Ctr128, Gcm, TweakOrder, Xts, cbc},
    cpu::Machine,
    sm4::Sm4,
};

const LEN: usize = 8192;

fn modes<C: BlockCipher>(c: &mut Criterion, name: &str, new: impl Fn(Machine) -> Result<C, Error>) {
    let mut group = c.benchmark_group(name);
    group.throughput(Throughput::Bytes(LEN as u64));
    for machine in Machine::ALL {
        if let Ok(cipher) = new(machine) {
            on_machine(&mut group, machine, &cipher);
        }
    }
}

fn on_machine<C: BlockCipher>(
    group: &mut BenchmarkGroup<'_, WallTime>,
    machine: Machine,
    cipher: &C,
) {
    let mut data = vec![0x5a; LEN];
    let ctr = Ctr128::new(cipher.clone(), &[1; 16]);
    group.bench_function(format!("CTR, {machine}"), |b| {
        b.iter(|| ctr.xor(0, black_box(&mut data)).expect("short enough"));
    });
    let gcm = Gcm::new(cipher.clone());
    group.bench_function(format!("GCM, {machine}"), |b| {
        b.iter(|| gcm.encrypt_detached(&[1; 12], b"", black_box(&mut data)).expect("fits"));
    });
    let mut decryptor = cbc::Decryptor::new(cipher.clone(), &[1; 16]);
    group.bench_function(format!("CBC decryption, {machine}"), |b| {
        b.iter(|| decryptor.update(black_box(&mut data)).expect("whole blocks"));
    });
    let mut encryptor = cbc::Encryptor::new(cipher.clone(), &[1; 16]);
    group.bench_function(format!("CBC encryption, {machine}"), |b| {
        b.iter(|| encryptor.update(black_box(&mut data)).expect("whole blocks"));
    });
    let xts = Xts::from_ciphers(cipher.clone(), cipher.clone(), TweakOrder::Ieee);
    group.bench_function(format!("XTS, {machine}"), |b| {
        b.iter(|| xts.encrypt(&[1; 16], black_box(&mut data)).expect("one block or more"));
    });
}

fn ciphers(c: &mut Criterion) {
    modes(c, "AES-128", |machine| Aes128::new_on(machine, &[7; 16]));
    modes(c, "AES-256", |machine| Aes256::new_on(machine, &[7; 32]));
    modes(c, "SM4", |machine| Sm4::new_on(machine, &[7; 16]));
}

criterion_group!(benches, ciphers);
criterion_main!(benches);

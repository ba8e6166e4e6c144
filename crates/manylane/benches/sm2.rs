//! SM2, one call on one core: `cargo bench -p manylane --bench sm2`.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use manylane::sm2::{CiphertextForm, DEFAULT_ID, PublicKey, SecretKey, Signer, Verifier};

fn signatures(c: &mut Criterion) {
    let key = SecretKey::generate().expect("random bytes");
    let signer = Signer::new(&key, DEFAULT_ID).expect("short enough");
    let verifier = Verifier::new(key.public_key(), DEFAULT_ID).expect("short enough");
    let (message, e) = ([0x5a; 64], [0xa5; 32]);
    let mut group = c.benchmark_group("sm2");
    group.bench_function("sign", |b| b.iter(|| signer.sign(black_box(&message))));
    group.bench_function("sign a digest", |b| b.iter(|| signer.sign_digest(black_box(&e))));
    let signature = signer.sign(&message).expect("random bytes");
    group.bench_function("verify", |b| {
        b.iter(|| verifier.verify(black_box(&message), black_box(&signature)).expect("holds"));
    });
    let signature = signer.sign_digest(&e).expect("random bytes");
    group.bench_function("verify a digest", |b| {
        b.iter(|| verifier.verify_digest(black_box(&e), black_box(&signature)).expect("holds"));
    });
}

fn keys(c: &mut Criterion) {
    let key = SecretKey::generate().expect("random bytes");
    let peer = *SecretKey::generate().expect("random bytes").public_key();
    let (secret, compressed) = (key.to_bytes(), peer.to_compressed());
    let mut group = c.benchmark_group("sm2");
    group.bench_function("generate", |b| b.iter(SecretKey::generate));
    group.bench_function("from a number", |b| b.iter(|| SecretKey::from_bytes(black_box(&secret))));
    group.bench_function("from a compressed point", |b| {
        b.iter(|| PublicKey::from_sec1_bytes(black_box(&compressed)));
    });
    group.bench_function("Diffie-Hellman", |b| b.iter(|| key.diffie_hellman(black_box(&peer))));
}

fn encryption(c: &mut Criterion) {
    let key = SecretKey::generate().expect("random bytes");
    let form = CiphertextForm::Asn1;
    let message = [0x5a; 32];
    let mut group = c.benchmark_group("sm2");
    group.bench_function("encrypt 32 bytes", |b| {
        b.iter(|| key.public_key().encrypt(form, black_box(&message)));
    });
    let ciphertext = key.public_key().encrypt(form, &message).expect("not empty");
    group.bench_function("decrypt 32 bytes", |b| {
        b.iter(|| key.decrypt(form, black_box(&ciphertext)).expect("our own"));
    });
}

criterion_group!(benches, signatures, keys, encryption);
criterion_main!(benches);

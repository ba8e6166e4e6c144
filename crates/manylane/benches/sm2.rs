//! SM2, one call on one core: `cargo bench -p manylane --bench sm2`.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use manylane::{
    Error,
    sm2::{
        CiphertextForm, DEFAULT_ID, PublicKey, SecretKey, Signature, Signer, Verifier,
        sign_digest_many, verify_digest_many,
    },
};

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

/// What a thousand digests take, each under a key of its own among sixteen.
fn many(c: &mut Criterion) {
    const COUNT: usize = 1000;
    let own: Vec<SecretKey> =
        (0..16).map(|_| SecretKey::generate().expect("random bytes")).collect();
    let secret: Vec<&SecretKey> = own.iter().cycle().take(COUNT).collect();
    let public: Vec<&PublicKey> = secret.iter().map(|key| key.public_key()).collect();
    let e: Vec<[u8; 32]> = (0..COUNT).map(|i| [i as u8; 32]).collect();
    let mut out = vec![Err(Error::Signature); COUNT];
    let mut group = c.benchmark_group("sm2");
    group.throughput(Throughput::Elements(COUNT as u64));
    group.bench_function("sign many", |b| {
        b.iter(|| sign_digest_many(&secret, black_box(&e), &mut out));
    });
    let signatures: Vec<Signature> =
        out.into_iter().map(|one| one.expect("random bytes")).collect();
    let mut out = vec![Err(Error::Signature); COUNT];
    group.bench_function("verify many", |b| {
        b.iter(|| verify_digest_many(&public, black_box(&e), &signatures, &mut out));
    });
    assert!(out.iter().all(Result::is_ok), "our own");
}

criterion_group!(benches, signatures, keys, encryption, many);
criterion_main!(benches);

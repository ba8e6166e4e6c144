//! The same work as `overhead.c` does, in Rust: what the calls from C are compared with.

use std::{hint::black_box, time::Instant};

use manylane::{
    Messages,
    hash::{self, Algorithm, Hasher, Midstate},
};
use manylane_engine::{Config, Device, Engine};

const ROWS: usize = 100_000;
const ROW: usize = 1024;
const PIECE: usize = 64 << 10;
const PIECES: usize = 400;
const SMALL: usize = 200_000;
const RUNS: usize = 15;

/// The median of several runs in seconds, after one that counts for nothing.
fn report(name: &str, mut work: impl FnMut()) -> String {
    work();
    let mut runs: Vec<f64> = (0..RUNS)
        .map(|_| {
            let start = Instant::now();
            work();
            start.elapsed().as_secs_f64()
        })
        .collect();
    runs.sort_by(f64::total_cmp);
    format!("\"{name}\": {:.9}", runs[RUNS / 2])
}

fn main() {
    // `cargo test --benches` asks for nothing.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    let rows = vec![7; ROWS * ROW];
    let mut digests = vec![0; ROWS * 32];
    let all = Messages::strided(&rows, ROW, ROW, ROWS).expect("rows of a table");
    let start = Midstate::new(Algorithm::Sm3);
    let engine = Engine::new(Config { device: Device::Cpu, ..Config::default() }).expect("cores");
    let mut hasher = Hasher::new(Algorithm::Sm3);
    let results = [
        report("hash_many, 100000 rows of 1 KiB, one thread", || {
            hash::hash_many(&start, black_box(&all), &mut digests).expect("room for digests");
        }),
        report("hash_many, 100000 rows of 1 KiB, all cores", || {
            engine.hash_many(&start, black_box(&all), &mut digests).expect("room for digests");
        }),
        report("400 updates of 64 KiB", || {
            rows.chunks(PIECE).take(PIECES).for_each(|piece| hasher.update(black_box(piece)));
        }),
        report("200000 updates of 64 bytes", || {
            for _ in 0..SMALL {
                hasher.update(black_box(&rows[..64]));
            }
        }),
    ];
    println!("{{{}}}", results.join(", "));
}

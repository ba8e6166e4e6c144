//! Rates of the library, for whoever compares another interface with it: for each line of standard input one measurement,
//! whose seconds go to standard output.
//!
//! `many NAME COUNT LENGTH THREADS` hashes rows in memory; `update NAME LENGTH CALLS` feeds one stream.

use std::{
    collections::HashMap, error::Error, hint::black_box, io, num::NonZeroUsize, str::FromStr,
    time::Instant,
};

use manylane::{
    Messages,
    hash::{Algorithm, Hasher, Midstate},
};
use manylane_engine::{Config, Device, Engine};

/// Rows, and room for their digests: what the system gives anew takes time at its first use.
struct Memory {
    rows: Vec<u8>,
    out: Vec<u8>,
}

/// The word at a place.
fn word<T: FromStr<Err: Error + 'static>>(line: &str, place: usize) -> Result<T, Box<dyn Error>> {
    Ok(line.split(' ').nth(place).ok_or("too few words")?.parse()?)
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut engines: HashMap<usize, Engine> = HashMap::new();
    let mut memory: HashMap<[usize; 3], Memory> = HashMap::new();
    for line in io::stdin().lines() {
        let line = line?;
        let algorithm: Algorithm = word(&line, 1)?;
        let seconds = if line.starts_with("many ") {
            let (count, len): (usize, usize) = (word(&line, 2)?, word(&line, 3)?);
            let threads: NonZeroUsize = word(&line, 4)?;
            let config =
                Config { device: Device::Cpu, threads: Some(threads), ..Config::default() };
            let engine = match engines.remove(&threads.get()) {
                Some(engine) => engine,
                None => Engine::new(config)?,
            };
            let start = Midstate::new(algorithm);
            let size = start.digest_len();
            let Memory { rows, out } = memory.entry([count, len, size]).or_insert_with(|| {
                let rows = (0..count * len).map(|i| (i % 251) as u8).collect();
                Memory { rows, out: vec![0; count * size] }
            });
            let messages = Messages::strided(rows, len, len, count)?;
            let begun = Instant::now();
            engine.hash_many(&start, &messages, out)?;
            let elapsed = begun.elapsed();
            engines.insert(threads.get(), engine);
            elapsed
        } else {
            let (len, calls): (usize, usize) = (word(&line, 2)?, word(&line, 3)?);
            let data = vec![7; len];
            let mut hasher = Hasher::new(algorithm);
            let begun = Instant::now();
            for _ in 0..calls {
                hasher.update(black_box(&data));
            }
            let elapsed = begun.elapsed();
            black_box(hasher.finish());
            elapsed
        };
        println!("{:e}", seconds.as_secs_f64());
    }
    Ok(())
}

//! Times HMAC-SM3, KMAC and SM2 under a fixed key against random keys, as dudect does: for what no other
//! method looks at, such as AVX-512 on the processor itself.
//!
//! `dudect SECONDS`: for each case, classes in random order, their times cropped at many
//! percentiles, Welch's t of each crop; the largest |t| counts. Leaks planted on purpose must pass
//! the threshold, manylane must not. Noise can only hide a leak or, rarely, invent one: run it on a
//! quiet machine, and again before believing in a failure.

use std::{
    hint::black_box,
    process::ExitCode,
    time::{Duration, Instant},
};

use hmac::{KeyInit as _, Mac as _};
use manylane::{
    Error, Messages,
    cpu::Machine,
    sha3::Kmac128,
    sm2::{self, DEFAULT_ID, Sealed, SecretKey},
    sm3::{self, HmacSm3, Lanes, Sm3},
};
use manylane_ct::{bytes, leaks};

/// |t| above which the classes differ: the usual one of leakage tests. (dudect itself speaks of a
/// probable leak from 10.)
const THRESHOLD: f64 = 4.5;

/// Measurements of a batch, of which the crops are taken from the first one.
const BATCH: usize = 10_000;

/// Crops beside the uncropped times.
const CROPS: usize = 100;

/// Keys in a batch of lanes; as many as the widest machine has.
const LANES: usize = 16;
const KEY_LEN: usize = 32;

fn main() -> ExitCode {
    let seconds = std::env::args().nth(1).map(|word| word.parse());
    let Some(Ok(seconds)) = seconds else {
        eprintln!("error: how many seconds for each case?");
        return ExitCode::from(2);
    };
    if let Err(name) = manylane::cpu::forced() {
        eprintln!("error: this processor has no {name}");
        return ExitCode::from(2);
    }
    let best = |has: fn(Machine) -> bool| {
        Machine::ALL.into_iter().rev().find(|machine| has(*machine)).expect("portable has all")
    };
    let lanes = best(|machine| Lanes::new_on(machine).is_ok());
    let stream = best(|machine| Sm3::new_on(machine).is_ok());
    println!("lanes of {lanes}, stream of {stream}, {seconds} s a case, |t| at most {THRESHOLD}");

    let messages = bytes(1, LANES * 64);
    let peer = SecretKey::from_bytes(&[3; 32]).expect("in range");
    let sealed = peer.public_key().encrypt_in_place(&mut messages.clone()).expect("random bytes");
    let cases: [Case; 13] = [
        (
            "hmac_many",
            false,
            Box::new(|keys| {
                let keys = Messages::strided(keys, KEY_LEN, KEY_LEN, LANES).expect("fits");
                let messages = Messages::strided(&messages, 64, 64, LANES).expect("fits");
                let mut out = [[0; 32]; LANES];
                let ran = sm3::hmac_many_on(lanes, &keys, &messages, &mut out).expect("runs");
                assert_eq!(ran.map(sm3::Kernel::machine), Some(lanes), "another kernel ran");
                black_box(out);
            }),
        ),
        ("HmacSm3, one block", false, Box::new(|key| hmac(key, &messages[..32]))),
        // Long enough for the expansion in lanes.
        ("HmacSm3, sixteen blocks", false, Box::new(|key| hmac(key, &messages))),
        (
            "KMAC128, one message",
            false,
            Box::new(|key| {
                let mut tag = [0; 32];
                Kmac128::new(&key[..KEY_LEN], b"").chain_update(&messages).tag(&mut tag);
                black_box(tag);
            }),
        ),
        (
            "KMAC128, many messages",
            false,
            Box::new(|key| {
                let messages = Messages::strided(&messages, 64, 64, LANES).expect("fits");
                let mut tags = [[0; 32]; LANES];
                Kmac128::new(&key[..KEY_LEN], b"")
                    .tag_many(&messages, 32, tags.as_flattened_mut())
                    .expect("room for all");
                black_box(tags);
            }),
        ),
        (
            "SM2 key",
            false,
            Box::new(|key| {
                with_sm2_key(key, |key| {
                    black_box(key.public_key().to_sec1_bytes());
                });
            }),
        ),
        (
            "SM2 signature",
            false,
            Box::new(|key| {
                with_sm2_key(key, |key| {
                    black_box(key.sign(DEFAULT_ID, b"message").expect("random bytes"));
                });
            }),
        ),
        (
            "SM2 Diffie-Hellman",
            false,
            Box::new(|key| {
                with_sm2_key(key, |key| {
                    black_box(key.diffie_hellman(peer.public_key()));
                });
            }),
        ),
        (
            "SM2 decryption",
            false,
            Box::new(|key| with_sm2_key(key, |key| decrypt(key, &sealed, &messages))),
        ),
        // Points side by side; short messages, so that these are what takes the time.
        (
            "SM2 decryption of eight",
            false,
            Box::new(|key| {
                with_sm2_key(key, |key| {
                    let mut data = [[0x5a; 32]; 8];
                    let mut parts = data.each_mut().map(|data| &mut data[..]);
                    let mut out = [const { Err(Error::Decryption) }; 8];
                    sm2::decrypt_many(&[key; 8], &[sealed; 8], &mut parts, &mut out)
                        .expect("counts agree");
                    assert!(black_box(out).iter().all(Result::is_err));
                });
            }),
        ),
        // All of the message is the secret here.
        (
            "SM2 encryption",
            false,
            Box::new(|message| {
                let mut data = message.to_vec();
                black_box(peer.public_key().encrypt_in_place(&mut data).expect("random bytes"));
                black_box(data);
            }),
        ),
        (
            "planted branch",
            true,
            Box::new(|key| {
                hmac(key, &messages[..32]);
                black_box(leaks::branch(key));
            }),
        ),
        (
            "planted early return",
            true,
            Box::new(|key| {
                hmac(key, &messages[..32]);
                black_box(leaks::comparison(key, &[FIXED; LANES * KEY_LEN]));
            }),
        ),
    ];
    let mut failed = 0;
    for (case, (name, leaks, work)) in cases.iter().enumerate() {
        let t = largest_t(case as u64, Duration::from_secs(seconds), work);
        let good = (t.0 > THRESHOLD) == *leaks;
        let verdict = if good { "ok    " } else { "FAILED" };
        println!("{verdict}  {name}: |t| = {:.2} after {} measurements", t.0, t.1);
        failed += u32::from(!good);
    }
    println!("{} passed, {failed} failed", cases.len() as u32 - failed);
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// What is timed: its name, whether it leaks on purpose, and what it does with the keys.
type Case<'a> = (&'static str, bool, Box<dyn Fn(&[u8]) + 'a>);

/// Every byte of the fixed keys.
const FIXED: u8 = 0xa7;

fn hmac(key: &[u8], message: &[u8]) {
    let mut hmac = HmacSm3::new_from_slice(&key[..KEY_LEN]).expect("any length");
    hmac.update(message);
    black_box(hmac.finalize().into_bytes());
}

/// Calls `work` with a key of SM2; four billion to one, any bytes are one.
fn with_sm2_key(bytes: &[u8], work: impl Fn(&SecretKey)) {
    if let Ok(key) = SecretKey::from_bytes(bytes[..KEY_LEN].try_into().expect("32 bytes")) {
        work(&key);
    }
}

/// What is no ciphertext for any of the keys fails at its very end.
fn decrypt(key: &SecretKey, sealed: &Sealed, c2: &[u8]) {
    let mut data = c2.to_vec();
    assert!(black_box(key.decrypt_in_place(sealed, &mut data)).is_err());
}

/// The largest |t| of all crops, and the number of measurements.
fn largest_t(seed: u64, time: Duration, work: &dyn Fn(&[u8])) -> (f64, u64) {
    let end = Instant::now() + time;
    let mut crops = Vec::new();
    let mut tests = [Welch::default(); CROPS + 1];
    let mut count = 0;
    for batch in 0.. {
        let random = bytes(seed << 32 | batch, BATCH * (1 + LANES * KEY_LEN));
        let (classes, keys) = random.split_at(BATCH);
        let mut key = [0; LANES * KEY_LEN];
        let mut times = Vec::with_capacity(BATCH);
        for (class, random) in classes.iter().zip(keys.chunks_exact(LANES * KEY_LEN)) {
            let class = usize::from(class & 1);
            // Both classes are made by the same reads and writes, or what they leave in the caches
            // would be timed. The compiler must not know that there are but two.
            let keep = black_box((class as u8).wrapping_neg());
            for (byte, random) in key.iter_mut().zip(random) {
                *byte = random & keep | FIXED & !keep;
            }
            let key = black_box(&key);
            let start = Instant::now();
            work(key);
            times.push((class, start.elapsed().as_nanos() as f64));
        }
        if crops.is_empty() {
            // The first batch warms everything up, and says where to crop. dudect's percentiles:
            // dense where the times are.
            let mut sorted: Vec<f64> = times.iter().map(|(_, time)| *time).collect();
            sorted.sort_by(f64::total_cmp);
            crops = (1..=CROPS)
                .map(|i| 1.0 - 0.5_f64.powf(10.0 * i as f64 / CROPS as f64))
                .map(|share| sorted[((BATCH - 1) as f64 * share) as usize])
                .collect();
            continue;
        }
        for (class, time) in times {
            tests[CROPS].add(class, time);
            for (test, crop) in tests.iter_mut().zip(&crops) {
                if time < *crop {
                    test.add(class, time);
                }
            }
        }
        count += BATCH as u64;
        if Instant::now() > end {
            break;
        }
    }
    // A crop that left few times of a class tells nothing.
    let enough = |test: &&Welch| test.n.iter().all(|n| *n > BATCH as f64 / 10.0);
    (tests.iter().filter(enough).map(|test| test.t().abs()).fold(0.0, f64::max), count)
}

/// Welch's t-test, on line (Welford's recurrence).
#[derive(Clone, Copy, Default)]
struct Welch {
    n: [f64; 2],
    mean: [f64; 2],
    squares: [f64; 2],
}

impl Welch {
    fn add(&mut self, class: usize, value: f64) {
        self.n[class] += 1.0;
        let before = value - self.mean[class];
        self.mean[class] += before / self.n[class];
        self.squares[class] += before * (value - self.mean[class]);
    }

    fn t(&self) -> f64 {
        let variance = |class: usize| self.squares[class] / (self.n[class] - 1.0) / self.n[class];
        let deviation = (variance(0) + variance(1)).sqrt();
        if deviation > 0.0 { (self.mean[0] - self.mean[1]) / deviation } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t_is_welchs() {
        let mut test = Welch::default();
        for value in [27.5, 21.0, 19.0, 23.6, 17.0, 17.9] {
            test.add(0, value);
        }
        for value in [27.1, 22.0, 20.8, 23.4, 23.4, 23.5, 25.8, 22.0] {
            test.add(1, value);
        }
        // (21 - 23.5) / sqrt(s0^2 / 6 + s1^2 / 8), by Python's statistics module.
        assert!((test.t() - (-1.4069271288584282)).abs() < 1e-9, "{}", test.t());
    }
}

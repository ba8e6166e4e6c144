//! Latency of the batcher: what a server's task waits for the digest of one message.

use std::{collections::VecDeque, sync::mpsc, thread, time::Instant};

use manylane_engine::{BatchFuture, Batcher, BatcherConfig};

use super::bytes_label;
use crate::bench::latency::{LatencyGroup, Observed, at_percentiles, poisson, spin_until};

/// Length of the messages.
const LEN: usize = 256;

/// Requests of a visit, for the capacity and for each load.
const REQUESTS: usize = 10_000;

/// Loads, as shares of the capacity.
const LOADS: [(f64, &str); 2] = [(0.25, "25% of capacity"), (0.5, "50% of capacity")];

pub(in crate::bench) fn latency_groups() -> Vec<LatencyGroup> {
    let config = BatcherConfig::default();
    vec![LatencyGroup {
        id: format!("sm3/batcher/{LEN}"),
        part: "Batcher under Poisson arrivals",
        parameter: format!(
            "{}, {} messages or {:?}",
            bytes_label(LEN as u64),
            config.max_batch,
            config.max_delay
        ),
        unit: "messages",
        bytes_per_unit: LEN as u64,
        visit: Box::new(move |rng| visit(&config, rng)),
    }]
}

fn visit(config: &BatcherConfig, rng: &mut fastrand::Rng) -> Result<Vec<Observed>, String> {
    let batcher = Batcher::new(config.clone());
    let message: [u8; LEN] = std::array::from_fn(|_| rng.u8(..));
    // The first batch starts the batcher's threads.
    drain((0..config.max_batch).map(|_| batcher.submit(message)).collect())?;
    let capacity = capacity(&batcher, config, &message)?;
    let mut observed =
        vec![Observed { contender: "capacity".into(), rate: capacity, latencies: Vec::new() }];
    for (share, name) in LOADS {
        let rate = share * capacity;
        let latencies = at_percentiles(&mut open_loop(&batcher, &message, rate, rng)?);
        observed.push(Observed { contender: name.into(), rate, latencies });
    }
    Ok(observed)
}

/// Messages a second from one thread that always has half a queue of them in flight.
fn capacity(batcher: &Batcher, config: &BatcherConfig, message: &[u8]) -> Result<f64, String> {
    let in_flight = config.max_queue / 2;
    let mut futures: VecDeque<BatchFuture> = VecDeque::with_capacity(in_flight + 1);
    let start = Instant::now();
    for _ in 0..REQUESTS {
        futures.push_back(batcher.submit(message));
        if futures.len() > in_flight {
            drain(futures.drain(..1).collect())?;
        }
    }
    drain(futures)?;
    Ok(REQUESTS as f64 / start.elapsed().as_secs_f64())
}

fn drain(futures: VecDeque<BatchFuture>) -> Result<(), String> {
    futures
        .into_iter()
        .try_for_each(|future| future.wait().map(drop))
        .map_err(|why| why.to_string())
}

/// Seconds from each message's arrival to its digest. This thread submits; another waits for the
/// digests in the order of submission, in which the batcher hands them out.
fn open_loop(
    batcher: &Batcher,
    message: &[u8],
    rate: f64,
    rng: &mut fastrand::Rng,
) -> Result<Vec<f64>, String> {
    let arrivals = poisson(REQUESTS, rate, rng);
    let (send, receive) = mpsc::channel::<(Instant, BatchFuture)>();
    thread::scope(|scope| {
        let answers = scope.spawn(move || {
            let wait = |(arrival, future): (Instant, BatchFuture)| {
                future.wait().map(|_| arrival.elapsed().as_secs_f64())
            };
            receive.into_iter().map(wait).collect::<Result<Vec<f64>, _>>()
        });
        let start = Instant::now();
        for after in arrivals {
            let arrival = start + after;
            spin_until(arrival);
            if send.send((arrival, batcher.submit(message))).is_err() {
                break; // The other thread has met an error, and returns it.
            }
        }
        drop(send);
        answers.join().expect("waiting does not panic").map_err(|why| why.to_string())
    })
}

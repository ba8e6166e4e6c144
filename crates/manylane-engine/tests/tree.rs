//! One message in memory, on all threads.

use std::num::NonZeroUsize;

use manylane::hash::{self, Algorithm, Tree};
use manylane_engine::{Config, Device, Engine};

#[test]
fn a_message_has_the_digest_that_one_thread_computes() {
    let threads = NonZeroUsize::new(3);
    let engine = Engine::new(Config { threads, device: Device::Cpu, ..Config::default() }).unwrap();
    let chunk = Tree::CHUNK_LEN;
    let message: Vec<u8> = (0..200 * chunk as u32).map(|i| (i * 7 + (i >> 9)) as u8).collect();
    for algorithm in [Algorithm::Kt128, Algorithm::Kt256, Algorithm::Sha3_256, Algorithm::Sm3] {
        // One chunk, two, and as many as are worth more than one thread; whole, or with a part behind them.
        for len in [0, chunk - 1, chunk, 2 * chunk - 1, 2 * chunk, 2 * chunk + 1, 200 * chunk - 5] {
            let message = &message[..len];
            let digest = engine.hash(algorithm, message);
            assert_eq!(digest, hash::hash(algorithm, message), "{algorithm} of {len} bytes");
        }
    }
    let cpu = engine.shares().iter().map(|share| share.messages).sum::<u64>();
    assert!(cpu >= 2 * 198, "chunks were computed one by one: {cpu}");
}

//! The batcher under threads, executors, back-pressure and drop.

use std::{
    future::Future,
    pin::{Pin, pin},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    task::{Context, Poll, Wake, Waker},
    thread,
    time::{Duration, Instant},
};

use manylane::{
    hash::{self, Algorithm, Digest},
    sm3,
};
use manylane_engine::{BatchFuture, Batcher, BatcherConfig, Closed, Engine, Function};

const LONG: Duration = Duration::from_secs(3600);

fn batcher(max_batch: usize, max_delay: Duration, max_queue: usize) -> Batcher {
    Batcher::new(BatcherConfig { max_batch, max_delay, max_queue, ..BatcherConfig::default() })
}

fn message(i: usize) -> Vec<u8> {
    (0..i % 300).map(|k| (i * 31 + k) as u8).collect()
}

/// Counts wakes.
#[derive(Default)]
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

fn poll(future: &mut BatchFuture, count: &Arc<Count>) -> Poll<Result<Digest, Closed>> {
    let waker = Waker::from(Arc::clone(count));
    Pin::new(future).poll(&mut Context::from_waker(&waker))
}

#[test]
fn each_gets_its_own_digest_under_many_threads() {
    for (algorithm, max_batch, max_queue) in [
        (Algorithm::Sm3, 1, 1),
        (Algorithm::Sm3, 7, 7),
        (Algorithm::Sm3, 64, 4096),
        (Algorithm::Sha3_384, 64, 4096),
    ] {
        let max_delay = Duration::from_micros(50);
        let batcher = Batcher::new(BatcherConfig { algorithm, max_batch, max_delay, max_queue });
        thread::scope(|scope| {
            for t in 0..8 {
                let batcher = &batcher;
                scope.spawn(move || {
                    for round in 0..20 {
                        let ids: Vec<usize> = (0..10).map(|k| t * 1000 + round * 10 + k).collect();
                        let futures: Vec<_> = ids
                            .iter()
                            .map(|&i| match i % 3 {
                                0 => batcher.submit_hmac(message(i + 1), message(i)),
                                _ => batcher.submit(message(i)),
                            })
                            .collect();
                        for (future, i) in futures.into_iter().zip(ids) {
                            let expected = match i % 3 {
                                0 => Function::hmac(algorithm, &message(i + 1)).of(&message(i)),
                                _ => hash::hash(algorithm, &message(i)),
                            };
                            assert_eq!(future.wait().unwrap(), expected);
                        }
                    }
                });
            }
        });
    }
}

#[test]
fn a_full_batch_does_not_wait() {
    let batcher = batcher(4, LONG, 100);
    let futures: Vec<_> = (0..8).map(|i| batcher.submit(message(i))).collect();
    for (i, future) in futures.into_iter().enumerate() {
        assert_eq!(future.wait().unwrap(), sm3::hash(&message(i)));
    }
}

#[test]
fn a_lonely_message_waits_for_the_delay_only() {
    let batcher = batcher(1000, Duration::from_millis(30), 1000);
    for _ in 0..3 {
        let start = Instant::now();
        assert_eq!(batcher.submit(*b"abc").wait().unwrap(), sm3::hash(b"abc"));
        assert!(start.elapsed() >= Duration::from_millis(30));
    }
}

#[test]
fn drop_hashes_what_is_queued_and_closes_what_is_not() {
    let batcher = batcher(10, LONG, 10);
    // Nine are queued and wait for a tenth; the batcher is dropped meanwhile.
    let queued: Vec<_> = (0..9).map(|i| batcher.submit(message(i))).collect();
    drop(batcher);
    for (i, future) in queued.into_iter().enumerate() {
        assert_eq!(future.wait().unwrap(), sm3::hash(&message(i)));
    }
}

/// Keeps the batcher's thread busy until it is let go: a waker that blocks.
struct Block(std::sync::Mutex<std::sync::mpsc::Receiver<()>>);

impl Wake for Block {
    fn wake(self: Arc<Self>) {
        let _ = self.0.lock().unwrap().recv();
    }
}

#[test]
fn messages_beyond_the_queue_stay_in_their_futures() {
    let batcher = batcher(2, LONG, 2);
    let (release, gate) = std::sync::mpsc::channel();
    let waker = Waker::from(Arc::new(Block(gate.into())));
    // The thread takes these two and blocks in the waker of the first.
    let mut first = pin!(batcher.submit(message(0)));
    assert!(first.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    let second = batcher.submit(message(1));
    thread::sleep(Duration::from_millis(50));
    let mut rest: Vec<_> = (2..6).map(|i| batcher.submit(message(i))).collect();
    let count = Arc::new(Count::default());
    for future in &mut rest {
        assert!(poll(future, &count).is_pending());
        assert!(poll(future, &count).is_pending());
    }
    release.send(()).unwrap();
    assert_eq!(second.wait().unwrap(), sm3::hash(&message(1)));
    // Whoever waits for room is woken when there is some.
    let start = Instant::now();
    while !rest.is_empty() {
        rest.retain_mut(|future| poll(future, &count).is_pending());
        assert!(start.elapsed() < Duration::from_secs(30), "a wake was lost");
        thread::yield_now();
    }
    assert!(count.0.load(SeqCst) >= 4);
}

#[test]
fn futures_that_hold_their_message_close_with_the_batcher() {
    let batcher = batcher(2, LONG, 2);
    let (release, gate) = std::sync::mpsc::channel();
    let waker = Waker::from(Arc::new(Block(gate.into())));
    let mut first = pin!(batcher.submit(message(0)));
    assert!(first.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    let _second = batcher.submit(message(1));
    thread::sleep(Duration::from_millis(50));
    let queued = [batcher.submit(message(2)), batcher.submit(message(3))];
    let holding = batcher.submit(message(4));
    let waiting = thread::spawn(move || holding.wait());
    thread::sleep(Duration::from_millis(50));
    let late = batcher.submit(message(5));
    release.send(()).unwrap();
    drop(batcher);
    for (i, future) in queued.into_iter().enumerate() {
        assert_eq!(future.wait().unwrap(), sm3::hash(&message(i + 2)));
    }
    // Its waiter was woken when room came, so that it may have got in before the drop.
    let woken = waiting.join().unwrap();
    assert!(woken.is_err() || woken.is_ok_and(|digest| digest == sm3::hash(&message(4))));
    assert_eq!(late.wait(), Err(Closed));
}

/// A hand-written executor: one thread, a queue of ready tasks.
#[test]
fn futures_run_in_any_executor() {
    type Task = Pin<Box<dyn Future<Output = ()>>>;
    struct Ready(usize, std::sync::mpsc::Sender<usize>);
    impl Wake for Ready {
        fn wake(self: Arc<Self>) {
            let _ = self.1.send(self.0);
        }
    }
    let engine = Arc::new(Engine::new(Default::default()).unwrap());
    let config = BatcherConfig { max_batch: 16, max_queue: 20, ..BatcherConfig::default() };
    let batcher = Arc::new(Batcher::on(engine, config));
    let finished = Arc::new(AtomicUsize::new(0));
    let (send, ready) = std::sync::mpsc::channel();
    let mut tasks: Vec<Option<Task>> = (0..200)
        .map(|i| {
            let (batcher, finished) = (Arc::clone(&batcher), Arc::clone(&finished));
            send.send(i).unwrap();
            Some(Box::pin(async move {
                for k in 0..10 {
                    let digest = batcher.submit(message(i * 10 + k)).await;
                    assert_eq!(digest.unwrap(), sm3::hash(&message(i * 10 + k)));
                }
                finished.fetch_add(1, SeqCst);
            }) as Task)
        })
        .collect();
    while finished.load(SeqCst) < tasks.len() {
        let i = ready.recv_timeout(Duration::from_secs(30)).expect("a wake was lost");
        let waker = Waker::from(Arc::new(Ready(i, send.clone())));
        if let Some(task) = &mut tasks[i]
            && task.as_mut().poll(&mut Context::from_waker(&waker)).is_ready()
        {
            tasks[i] = None;
        }
    }
}

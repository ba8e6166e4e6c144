//! Work on single items, spread over threads.

use std::{
    num::NonZeroUsize,
    sync::{Mutex, PoisonError},
};

/// Does `work` with each item, on as many threads as there are turns for, the caller's among them. A thread takes `turn`
/// items at a time.
pub(crate) fn spread<T: Send>(
    threads: usize,
    turn: usize,
    items: impl ExactSizeIterator<Item = T> + Send,
    work: impl Fn(T) + Sync,
) {
    let helpers = threads.min(items.len().div_ceil(turn)).saturating_sub(1);
    let Some(helpers) = NonZeroUsize::new(helpers) else {
        return items.for_each(work);
    };
    let items = Mutex::new(items);
    let take = || {
        let mut mine = Vec::with_capacity(turn);
        loop {
            mine.extend(items.lock().unwrap_or_else(PoisonError::into_inner).by_ref().take(turn));
            if mine.is_empty() {
                return;
            }
            mine.drain(..).for_each(&work);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..helpers.get() {
            // A thread that cannot be had is done without.
            let _ = std::thread::Builder::new().spawn_scoped(scope, take);
        }
        take();
    });
}

//! How far long work has come, on standard error.

use std::{
    io::{IsTerminal as _, Write as _},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
        mpsc::{self, RecvTimeoutError},
    },
    thread,
    time::{Duration, Instant},
};

use indicatif::{DecimalBytes, HumanCount, ProgressBar, ProgressDrawTarget, ProgressStyle};
use manylane_engine::Progress;

use crate::cli::When;

/// Work that is done sooner shows nothing.
const PATIENCE: Duration = Duration::from_secs(1);

const REFRESH: Duration = Duration::from_millis(100);

/// The bar that is on the terminal.
static BAR: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// What has been done so far, as the thread that shows it sees it.
pub(crate) trait Counts: Sync {
    /// Bytes dealt with.
    fn bytes(&self) -> u64;
    /// Files dealt with, where there may be many.
    fn files(&self) -> Option<u64>;
}

impl Counts for Progress {
    fn bytes(&self) -> u64 {
        self.bytes()
    }

    fn files(&self) -> Option<u64> {
        Some(self.sources())
    }
}

/// Bytes of the one stream that an engine works on.
pub(crate) struct Stream<'a>(pub(crate) &'a Progress);

impl Counts for Stream<'_> {
    fn bytes(&self) -> u64 {
        self.0.bytes()
    }

    fn files(&self) -> Option<u64> {
        None
    }
}

/// Bytes of one stream.
#[derive(Debug, Default)]
pub(crate) struct Bytes(AtomicU64);

impl Bytes {
    /// Some more.
    pub(crate) fn add(&self, bytes: usize) {
        self.0.fetch_add(bytes as u64, Relaxed);
    }
}

impl Counts for Bytes {
    fn bytes(&self) -> u64 {
        self.0.load(Relaxed)
    }

    fn files(&self) -> Option<u64> {
        None
    }
}

/// Does the work, and meanwhile shows `counts` if asked to; `total` is what the bytes will come to,
/// where that is known.
pub(crate) fn during<T>(
    when: When,
    counts: &dyn Counts,
    total: Option<u64>,
    work: impl FnOnce() -> T,
) -> T {
    let terminal = std::io::stderr().is_terminal();
    if when == When::Never || when == When::Auto && !terminal {
        return work();
    }
    thread::scope(|scope| {
        // The channel closes when the work returns or panics.
        let (working, done) = mpsc::channel::<()>();
        scope.spawn(move || {
            let start = Instant::now();
            if done.recv_timeout(PATIENCE) != Err(RecvTimeoutError::Timeout) {
                return;
            }
            match terminal {
                true => draw(counts, total, start, &done),
                false => print(counts, start, &done),
            }
        });
        let result = work();
        drop(working);
        result
    })
}

/// Writes to the terminal beside the bar, if there is one.
pub(crate) fn aside<T>(write: impl FnOnce() -> T) -> T {
    let bar = BAR.lock().unwrap_or_else(PoisonError::into_inner).clone();
    match bar {
        Some(bar) => bar.suspend(write),
        None => write(),
    }
}

fn draw(counts: &dyn Counts, total: Option<u64>, start: Instant, done: &mpsc::Receiver<()>) {
    let (length, template) = match total {
        Some(total) => {
            (Some(total), "{wide_bar} {decimal_bytes}/{decimal_total_bytes}  {msg}  {eta}")
        }
        None => (None, "{spinner} {decimal_bytes}  {msg}"),
    };
    let bar = ProgressBar::with_draw_target(length, ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    *BAR.lock().unwrap_or_else(PoisonError::into_inner) = Some(bar.clone());
    loop {
        bar.set_position(counts.bytes());
        bar.set_message(summary(counts, start));
        bar.tick();
        if done.recv_timeout(REFRESH) != Err(RecvTimeoutError::Timeout) {
            break;
        }
    }
    *BAR.lock().unwrap_or_else(PoisonError::into_inner) = None;
    bar.finish_and_clear();
}

/// Where no bar can be drawn: a line each second.
fn print(counts: &dyn Counts, start: Instant, done: &mpsc::Receiver<()>) {
    loop {
        let bytes = DecimalBytes(counts.bytes());
        let _ = writeln!(std::io::stderr(), "manylane: {bytes}, {}", summary(counts, start));
        if done.recv_timeout(PATIENCE) != Err(RecvTimeoutError::Timeout) {
            break;
        }
    }
}

fn summary(counts: &dyn Counts, start: Instant) -> String {
    let rate = counts.bytes() as f64 / start.elapsed().as_secs_f64();
    let rate = DecimalBytes(rate as u64);
    match counts.files() {
        Some(files) => format!("{} files  {rate}/s", HumanCount(files)),
        None => format!("{rate}/s"),
    }
}

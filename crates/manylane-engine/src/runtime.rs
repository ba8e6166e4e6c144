//! The run-time module: the only place of this crate with `unsafe`.
//!
//! [`Pool`] lends threads to work that borrows from its caller. A dependency was weighed: rayon's
//! global pool does not survive `fork`, its own pools would need the same generation check as
//! here, and nothing here steals work, so two hundred lines of locks and condition variables do.
#![allow(unsafe_code)]

use std::{
    any::Any,
    collections::VecDeque,
    io,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    process,
    sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError},
    thread,
};

/// Locks a mutex whatever happened to those who held it: the data that this crate guards is
/// consistent at every point where it could panic.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits on a condition variable, with [`lock`]'s view of poisoning.
pub(crate) fn wait<'a, T>(condvar: &Condvar, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
    condvar.wait(guard).unwrap_or_else(PoisonError::into_inner)
}

/// Lets the calling thread's timed waits end within about a microsecond of their time instead of
/// Linux's usual 50 µs. Elsewhere, does nothing.
pub(crate) fn wake_on_time() {
    #[cfg(target_os = "linux")]
    // SAFETY: PR_SET_TIMERSLACK takes one integer, touches no memory, and concerns the calling
    // thread only. Its failure leaves the usual slack.
    unsafe {
        libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong);
    }
}

/// Whether a file could not be opened since too many are open: an error that passes.
pub(crate) fn is_out_of_files(error: &io::Error) -> bool {
    #[cfg(unix)]
    const ERRORS: [i32; 2] = [libc::EMFILE, libc::ENFILE];
    #[cfg(windows)]
    const ERRORS: [i32; 1] = [4]; // ERROR_TOO_MANY_OPEN_FILES
    #[cfg(not(any(unix, windows)))]
    const ERRORS: [i32; 0] = [];
    error.raw_os_error().is_some_and(|code| ERRORS.contains(&code))
}

/// A value that every process has of its own.
///
/// After a `fork`, the child has none of its parent's threads and may have some of its locks
/// held for ever. So what concerns threads is kept in here, and the child never touches its
/// parent's. (A process told apart by its number: one with the number of an ancestor that ended
/// would be mistaken for it.)
pub(crate) struct PerProcess<T> {
    pid: u32,
    value: T,
    /// That of a forked child.
    next: OnceLock<Box<PerProcess<T>>>,
}

impl<T: Default> PerProcess<T> {
    /// This process's, by default until it is used.
    pub(crate) fn get(&self) -> &T {
        let pid = process::id();
        let mut this = self;
        while this.pid != pid {
            this = this.next.get_or_init(Box::default);
        }
        &this.value
    }
}

impl<T: Default> Default for PerProcess<T> {
    fn default() -> Self {
        PerProcess { pid: process::id(), value: T::default(), next: OnceLock::new() }
    }
}

/// Threads that start when they are first needed.
pub(crate) struct Pool {
    limit: usize,
    shared: PerProcess<Arc<Shared>>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    /// Signalled when there is a job, or none will come.
    work: Condvar,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Posted>,
    /// Threads that exist.
    started: usize,
    /// Those of them that wait for a job.
    idle: usize,
    closed: bool,
}

/// A job and how many more threads it would take.
struct Posted {
    job: Arc<Job>,
    places: usize,
}

struct Job {
    /// What its threads call. Valid for a thread that counts in `running`.
    call: *const (dyn Fn() + Sync),
    threads: Mutex<Threads>,
    /// Signalled when the last of its threads leaves.
    left: Condvar,
}

#[derive(Default)]
struct Threads {
    running: usize,
    panic: Option<Box<dyn Any + Send>>,
}

// SAFETY: `call` points to a `Sync` closure, so any thread may call it, and is dereferenced only
// while `Pool::run` keeps it alive; the other fields are `Send` and `Sync`.
unsafe impl Send for Job {}
// SAFETY: as above.
unsafe impl Sync for Job {}

impl Pool {
    /// A pool of at most `limit` threads.
    pub(crate) fn new(limit: usize) -> Self {
        Pool { limit, shared: PerProcess::default() }
    }

    /// Calls `main` on this thread and, meanwhile, `help` on up to `helpers` others. Returns when
    /// `main` has, and with it every call of `help` that had begun; there may be none, when no
    /// thread is free or can be started. So `main` must be able to do all the work, and `help`
    /// must return once `main` has.
    ///
    /// # Panics
    /// If `main` or `help` does.
    pub(crate) fn run<R>(
        &self,
        helpers: usize,
        help: &(dyn Fn() + Sync),
        main: impl FnOnce() -> R,
    ) -> R {
        let helpers = helpers.min(self.limit);
        if helpers == 0 {
            return main();
        }
        let shared = self.shared.get();
        // SAFETY: only the lifetime changes, to one that this function enforces: `Open` takes the
        // job back before `help` goes out of scope, on unwinding too.
        let call = unsafe {
            std::mem::transmute::<*const (dyn Fn() + Sync), *const (dyn Fn() + Sync + 'static)>(
                help,
            )
        };
        let job = Arc::new(Job { call, threads: Mutex::default(), left: Condvar::new() });
        let open = Open { shared, job: &job, pid: process::id() };
        shared.post(&job, helpers, self.limit);
        let result = main();
        let pid = open.pid;
        drop(open);
        if pid == process::id()
            && let Some(panic) = lock(&job.threads).panic.take()
        {
            resume_unwind(panic);
        }
        result
    }
}

impl Drop for Pool {
    /// Lets the threads end; none is waited for.
    fn drop(&mut self) {
        let shared = self.shared.get();
        lock(&shared.state).closed = true;
        shared.work.notify_all();
    }
}

impl Shared {
    fn post(self: &Arc<Self>, job: &Arc<Job>, places: usize, limit: usize) {
        let mut state = lock(&self.state);
        state.jobs.push_back(Posted { job: Arc::clone(job), places });
        let more = places.saturating_sub(state.idle).min(limit - state.started);
        for _ in 0..more {
            let shared = Arc::clone(self);
            let name = format!("manylane-{}", state.started + 1);
            // Without another thread, those there are do the work, and be it the caller alone.
            if thread::Builder::new().name(name).spawn(move || shared.serve()).is_err() {
                break;
            }
            state.started += 1;
        }
        drop(state);
        for _ in 0..places {
            self.work.notify_one();
        }
    }

    /// What a thread does: takes part in jobs until the pool is dropped.
    fn serve(&self) {
        let mut state = lock(&self.state);
        while !state.closed {
            let Some(posted) = state.jobs.front_mut() else {
                state.idle += 1;
                state = wait(&self.work, state);
                state.idle -= 1;
                continue;
            };
            let job = Arc::clone(&posted.job);
            posted.places -= 1;
            if posted.places == 0 {
                state.jobs.pop_front();
            }
            // Counted before the lock is released, so that `Open` either finds the job in the
            // queue or this thread in the count.
            lock(&job.threads).running += 1;
            drop(state);
            // SAFETY: `run` has not returned, since this thread counts in `running`.
            let call = unsafe { &*job.call };
            let panic = catch_unwind(AssertUnwindSafe(call)).err();
            let mut threads = lock(&job.threads);
            threads.running -= 1;
            if panic.is_some() {
                threads.panic = panic;
            }
            if threads.running == 0 {
                job.left.notify_all();
            }
            drop(threads);
            state = lock(&self.state);
        }
    }
}

/// A job that threads may be working on.
struct Open<'a> {
    shared: &'a Shared,
    job: &'a Arc<Job>,
    pid: u32,
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        if self.pid != process::id() {
            // Forked by `main`: no thread of the parent is here to be waited for, and its locks
            // may be held for ever.
            return;
        }
        lock(&self.shared.state).jobs.retain(|posted| !Arc::ptr_eq(&posted.job, self.job));
        let mut threads = lock(&self.job.threads);
        while threads.running > 0 {
            threads = wait(&self.job.left, threads);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Barrier,
        atomic::{AtomicUsize, Ordering::SeqCst},
    };

    use super::*;

    #[test]
    fn all_threads_take_part() {
        let pool = Pool::new(3);
        let barrier = Barrier::new(4);
        for _ in 0..100 {
            let count = AtomicUsize::new(0);
            let help = || {
                barrier.wait();
                count.fetch_add(1, SeqCst);
            };
            pool.run(3, &help, help);
            assert_eq!(count.load(SeqCst), 4);
        }
    }

    #[test]
    fn a_panic_reaches_the_caller_and_the_pool_stays_of_use() {
        let pool = Pool::new(1);
        let met = Barrier::new(2);
        let help = || {
            met.wait();
            panic!("as planned");
        };
        let main = || {
            met.wait();
        };
        let panic = catch_unwind(AssertUnwindSafe(|| pool.run(1, &help, main))).unwrap_err();
        assert_eq!(panic.downcast_ref::<&str>(), Some(&"as planned"));
        let help = || {
            met.wait();
        };
        pool.run(1, &help, main);
    }

    #[cfg(unix)]
    #[test]
    fn a_child_forked_by_main_does_not_wait_for_the_parents_threads() {
        let pool = Pool::new(1);
        let (met, leave) = (Barrier::new(2), Barrier::new(2));
        let help = || {
            met.wait();
            leave.wait();
        };
        let ended = pool.run(1, &help, || {
            met.wait();
            // SAFETY: the child only leaves `run`, and ends by `_exit`.
            let child = unsafe { libc::fork() };
            if child == 0 {
                return None;
            }
            let mut ended = false;
            for _ in 0..10_000 {
                // SAFETY: no status is asked for.
                ended = unsafe { libc::waitpid(child, std::ptr::null_mut(), libc::WNOHANG) } != 0;
                if ended {
                    break;
                }
                thread::sleep(std::time::Duration::from_millis(1));
            }
            leave.wait();
            Some(ended)
        });
        match ended {
            Some(ended) => assert!(ended, "the child waits"),
            // SAFETY: ends the process without running the parent's handlers.
            None => unsafe { libc::_exit(0) },
        }
    }

    #[test]
    fn callers_at_the_same_time_and_within_each_other_get_their_results() {
        let pool = Pool::new(2);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        let inner = AtomicUsize::new(0);
                        let help = || {
                            pool.run(2, &|| {}, || inner.fetch_add(1, SeqCst));
                        };
                        pool.run(2, &help, help);
                        assert!(inner.load(SeqCst) >= 1);
                    }
                });
            }
        });
    }
}

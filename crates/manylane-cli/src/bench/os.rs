//! What the operating system knows of a thread: where it may run, and whether it was disturbed.
#![allow(unsafe_code)]

use std::{io, mem::MaybeUninit, time::Duration};

/// Whose time is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    /// The calling thread.
    Thread,
    /// All threads of the process.
    Process,
}

/// Times the scheduler took the processor away from the calling thread, which still wanted it; on
/// other systems than Linux from any of the process.
pub(super) fn preemptions() -> i64 {
    #[cfg(target_os = "linux")]
    let who = libc::RUSAGE_THREAD;
    #[cfg(not(target_os = "linux"))]
    let who = libc::RUSAGE_SELF;
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: `usage` is valid for writes of a `rusage`, which any bytes, zeros too, are.
    let usage = unsafe {
        libc::getrusage(who, usage.as_mut_ptr());
        usage.assume_init()
    };
    usage.ru_nivcsw
}

/// Processor time that has been used.
pub(super) fn processor_time(scope: Scope) -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    let clock = match scope {
        Scope::Thread => libc::CLOCK_THREAD_CPUTIME_ID,
        Scope::Process => libc::CLOCK_PROCESS_CPUTIME_ID,
    };
    // SAFETY: `time` is valid for writes of a `timespec`.
    unsafe { libc::clock_gettime(clock, &mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// The processors a thread may run on.
#[cfg(target_os = "linux")]
#[derive(Clone, Copy)]
pub(super) struct Affinity(libc::cpu_set_t);

#[cfg(target_os = "linux")]
impl Affinity {
    /// Those of the calling thread.
    pub(super) fn current() -> io::Result<Self> {
        let mut set = MaybeUninit::<libc::cpu_set_t>::zeroed();
        // SAFETY: `set` is valid for writes of the size given; a `cpu_set_t` may have any bytes.
        let (rc, set) = unsafe {
            let rc = libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), set.as_mut_ptr());
            (rc, set.assume_init())
        };
        if rc == 0 { Ok(Affinity(set)) } else { Err(io::Error::last_os_error()) }
    }

    /// One processor only.
    pub(super) fn one(cpu: usize) -> Self {
        let mut set = MaybeUninit::<libc::cpu_set_t>::zeroed();
        // SAFETY: all zeros is the empty set; `CPU_SET` checks `cpu` against the array's bounds.
        Affinity(unsafe {
            libc::CPU_SET(cpu, set.assume_init_mut());
            set.assume_init()
        })
    }

    /// Their numbers.
    pub(super) fn cpus(&self) -> Vec<usize> {
        // SAFETY: the set is initialised and every number asked for is within it.
        let has = |cpu: &usize| unsafe { libc::CPU_ISSET(*cpu, &self.0) };
        (0..libc::CPU_SETSIZE as usize).filter(has).collect()
    }

    /// Moves the calling thread to them. Threads it starts later inherit this.
    pub(super) fn apply(&self) -> io::Result<()> {
        // SAFETY: reads a set of the size given.
        let rc = unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &self.0) };
        if rc == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

/// The processors a thread may run on: not to be chosen on this system.
#[cfg(not(target_os = "linux"))]
#[derive(Clone, Copy)]
pub(super) struct Affinity(());

#[cfg(not(target_os = "linux"))]
impl Affinity {
    pub(super) fn current() -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(super) fn one(_: usize) -> Self {
        Affinity(())
    }

    pub(super) fn cpus(&self) -> Vec<usize> {
        Vec::new()
    }

    pub(super) fn apply(&self) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_run_forward() {
        let (switches, time) = (preemptions(), processor_time(Scope::Thread));
        assert!(preemptions() >= switches && processor_time(Scope::Process) >= time);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_thread_goes_where_it_is_told() {
        // A thread of its own, so that the other tests keep their processors.
        let moved = std::thread::spawn(|| {
            let all = Affinity::current().unwrap();
            let last = *all.cpus().last().unwrap();
            Affinity::one(last).apply().unwrap();
            let now = Affinity::current().unwrap().cpus();
            all.apply().unwrap();
            (now, last, Affinity::current().unwrap().cpus(), all.cpus())
        });
        let (now, last, again, all) = moved.join().unwrap();
        assert_eq!((now, again), (vec![last], all));
    }
}

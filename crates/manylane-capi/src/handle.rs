//! Handles: what a C program holds of a value that is the library's.
//!
//! A handle points to a [`Header`], and headers are never given back to the allocator: a freed one says that it was,
//! and is used again only after many others. So a handle that was freed, or is of another kind, is refused instead of
//! followed. The value itself is freed, and wiped, at once.
#![allow(unsafe_code)] // Handles are pointers.

use core::sync::atomic::{
    AtomicBool, AtomicPtr, AtomicU64,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
};
use std::{
    collections::VecDeque,
    process,
    sync::{Mutex, MutexGuard, PoisonError},
    thread,
};

use crate::status::{BUSY, HANDLE, NULL, POISONED, Result};

/// A kind of handle.
pub(crate) trait Opaque {
    /// What it stands for.
    type State: Send;
    /// A number of its own.
    const KIND: u64;
}

/// "manylane" in the first word of a live header, but for the kind.
const LIVE: u64 = u64::from_le_bytes(*b"manylan\0");

/// The first word of a freed one.
const FREED: u64 = u64::from_le_bytes(*b"freed\0\0\0");

/// So many freed headers wait before the first of them is used again: 160 KiB.
const RESTING: usize = 4096;

struct Header {
    mark: AtomicU64,
    busy: AtomicBool,
    poisoned: AtomicBool,
    /// A `Box` of the kind's state.
    value: AtomicPtr<()>,
}

/// Freed headers of one process. A child has its own: a thread that does not exist in it may hold its parent's lock.
struct Pool {
    process: u32,
    /// Those that rest longest first.
    freed: Mutex<VecDeque<&'static Header>>,
    /// The parent's, never touched again. Kept so that a search for leaks finds what is in it.
    _older: *const Pool,
}

static POOL: AtomicPtr<Pool> = AtomicPtr::new(core::ptr::null_mut());

/// This process's pool. Nobody waits here, for whoever would be waited for may be gone after a `fork`.
fn pool() -> &'static Pool {
    let process = process::id();
    loop {
        let current = POOL.load(Acquire);
        // SAFETY: null, or a pool that was leaked below.
        match unsafe { current.as_ref() } {
            Some(pool) if pool.process == process => return pool,
            _ => {}
        }
        let new =
            Box::into_raw(Box::new(Pool { process, freed: Mutex::default(), _older: current }));
        if POOL.compare_exchange(current, new, AcqRel, Relaxed).is_err() {
            // SAFETY: nobody else has seen it.
            drop(unsafe { Box::from_raw(new) });
        }
    }
}

fn freed() -> MutexGuard<'static, VecDeque<&'static Header>> {
    pool().freed.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A header that rested, or a new one.
fn header_to_use() -> &'static Header {
    let mut freed = freed();
    let rested = if freed.len() > RESTING { freed.pop_front() } else { None };
    drop(freed);
    rested.unwrap_or_else(|| {
        #[cfg(test)]
        tests::MADE.fetch_add(1, Relaxed);
        Box::leak(Box::new(Header {
            mark: AtomicU64::new(FREED),
            busy: AtomicBool::new(false),
            poisoned: AtomicBool::new(false),
            value: AtomicPtr::default(),
        }))
    })
}

/// A handle of a value.
pub(crate) fn make<H: Opaque>(state: H::State) -> *mut H {
    let value = Box::into_raw(Box::new(state)).cast();
    let header = header_to_use();
    header.poisoned.store(false, Relaxed);
    header.value.store(value, Relaxed);
    header.busy.store(false, Relaxed);
    header.mark.store(LIVE | H::KIND << 56, Release);
    core::ptr::from_ref(header).cast_mut().cast()
}

/// Writes a handle of a value.
///
/// # Safety
/// `out` is null or points to a handle that may be written.
pub(crate) unsafe fn put<H: Opaque>(out: *mut *mut H, state: H::State) -> Result {
    // Before there is anything that would have to be freed again.
    if out.is_null() {
        return Err(NULL);
    }
    // SAFETY: the caller's word.
    unsafe { out.write(make(state)) };
    Ok(())
}

/// Wipes a place for a handle, so that nobody takes what was there for a result.
///
/// # Safety
/// As [`put`].
pub(crate) unsafe fn clear<H: Opaque>(out: *mut *mut H) -> Result {
    // SAFETY: the caller's word.
    unsafe { crate::memory::put(out, core::ptr::null_mut()) }
}

/// The header of a live handle.
///
/// # Safety
/// `handle` is null, or points where a handle points or pointed to.
unsafe fn header<H: Opaque>(handle: *const H) -> Result<&'static Header> {
    let header = handle.cast::<Header>();
    if header.is_null() {
        return Err(NULL);
    }
    if !header.is_aligned() {
        return Err(HANDLE);
    }
    // SAFETY: headers stay as long as the process.
    let header = unsafe { &*header };
    match header.mark.load(Acquire) == LIVE | H::KIND << 56 {
        true => Ok(header),
        false => Err(HANDLE),
    }
}

/// Ends the use of a header; if by a panic, for good.
struct Using(&'static Header);

impl Drop for Using {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.poisoned.store(true, Relaxed);
        }
        self.0.busy.store(false, Release);
    }
}

/// Lets `work` change what a handle stands for, while no other thread uses it.
///
/// # Safety
/// As [`header`]; nobody frees it meanwhile.
pub(crate) unsafe fn exclusive<H: Opaque, R>(
    handle: *mut H,
    work: impl FnOnce(&mut H::State) -> Result<R>,
) -> Result<R> {
    // SAFETY: the caller's word.
    let header = unsafe { header(handle.cast_const()) }?;
    if header.busy.swap(true, Acquire) {
        return Err(BUSY);
    }
    let _using = Using(header);
    if header.poisoned.load(Relaxed) {
        return Err(POISONED);
    }
    // SAFETY: the mark says what it is, and `busy` that nobody else has it.
    work(unsafe { &mut *header.value.load(Relaxed).cast::<H::State>() })
}

/// What a handle stands for, for as many threads as like. Such a state is never changed.
///
/// # Safety
/// As [`header`]; nobody frees it during `'a`, nor uses it by [`exclusive`].
pub(crate) unsafe fn shared<'a, H: Opaque<State: Sync>>(handle: *const H) -> Result<&'a H::State> {
    // SAFETY: the caller's word.
    let header = unsafe { header(handle) }?;
    // SAFETY: the mark says what it is.
    Ok(unsafe { &*header.value.load(Relaxed).cast::<H::State>() })
}

/// Frees what a handle stands for. A null pointer, and a handle that was freed before, are left alone; so is one that
/// another thread is using, which leaks instead.
///
/// # Safety
/// As [`header`].
pub(crate) unsafe fn free<H: Opaque>(handle: *mut H) {
    // SAFETY: the caller's word.
    let Ok(header) = (unsafe { header(handle.cast_const()) }) else { return };
    if header.busy.swap(true, Acquire) {
        return;
    }
    // Of two threads that free it, one does.
    let mark = LIVE | H::KIND << 56;
    if header.mark.compare_exchange(mark, FREED, AcqRel, Relaxed).is_err() {
        return;
    }
    let value = header.value.swap(core::ptr::null_mut(), Relaxed);
    // SAFETY: made by `make` as a box of that type, and taken out of the header once.
    drop(unsafe { Box::from_raw(value.cast::<H::State>()) });
    freed().push_back(header);
}

#[cfg(test)]
mod tests {
    use core::sync::atomic::AtomicUsize;

    use super::*;
    use crate::status::{Failure, guard, manylane_status::*};

    struct Number;
    impl Opaque for Number {
        type State = u32;
        const KIND: u64 = 100;
    }

    struct Other;
    impl Opaque for Other {
        type State = String;
        const KIND: u64 = 101;
    }

    fn get(handle: *mut Number) -> core::result::Result<u32, manylane_status> {
        // SAFETY: a handle of this module, dead or alive.
        unsafe { exclusive(handle, |number| Ok(*number)) }.map_err(|failure| match failure {
            Failure::Own(status) => status,
            other => panic!("{other:?}"),
        })
    }

    use crate::status::manylane_status;

    #[test]
    fn dead_and_other_handles_are_refused() {
        let _alone = alone();
        let handle = make::<Number>(7);
        assert_eq!(get(handle), Ok(7));
        let other = make::<Other>("text".into());
        assert_eq!(get(other.cast()), Err(MANYLANE_ERROR_HANDLE));
        assert_eq!(get(core::ptr::null_mut()), Err(MANYLANE_ERROR_NULL));
        // SAFETY: handles of this module.
        unsafe {
            free(handle);
            assert_eq!(get(handle), Err(MANYLANE_ERROR_HANDLE));
            free(handle);
            free(core::ptr::null_mut::<Number>());
            // Freed by the wrong function: nothing happens.
            free(other.cast::<Number>());
            assert_eq!(shared(other).ok().map(String::as_str), Some("text"));
            free(other);
        }
    }

    /// Tests that look at freed handles, and at how many there were, run one at a time.
    fn alone() -> MutexGuard<'static, ()> {
        static ALONE: Mutex<()> = Mutex::new(());
        ALONE.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Headers that were made, by all tests of this process.
    pub(super) static MADE: AtomicUsize = AtomicUsize::new(0);

    fn make_and_free(count: u32) {
        for i in 0..count {
            // SAFETY: a handle of this module.
            unsafe { free(make::<Number>(i)) };
        }
    }

    /// However many threads make and free handles, headers are used again.
    #[test]
    fn threads_lose_no_headers() {
        let _alone = alone();
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| make_and_free(100_000));
            }
        });
        let made = MADE.load(Relaxed);
        // Those that rest, and one for each handle that there is at a time.
        assert!(made < RESTING + 100, "{made} headers");
    }

    /// A child goes on, and loses no headers, wherever the threads are that it does not have.
    #[test]
    fn children_lose_no_headers() {
        let _alone = alone();
        let ends = AtomicBool::new(false);
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while !ends.load(Relaxed) {
                        make_and_free(100);
                    }
                });
            }
            for _ in 0..30 {
                // SAFETY: the child calls nothing but what a child may: this module and the allocator, which is
                // glibc's and made for it.
                let child = unsafe { libc::fork() };
                if child == 0 {
                    let before = MADE.load(Relaxed);
                    make_and_free(3 * RESTING as u32);
                    let more = MADE.load(Relaxed) - before;
                    // SAFETY: ends the child.
                    unsafe { libc::_exit(i32::from(more > RESTING + 1)) };
                }
                let mut how = 0;
                // SAFETY: a child of this test, and a place for how it ended.
                assert_eq!(unsafe { libc::waitpid(child, &raw mut how, 0) }, child);
                assert_eq!(how, 0);
            }
            ends.store(true, Relaxed);
        });
    }

    #[test]
    fn headers_rest_before_they_are_used_again() {
        let _alone = alone();
        let first = make::<Number>(1);
        // SAFETY: handles of this module.
        unsafe { free(first) };
        for i in 0..RESTING as u32 / 2 {
            let handle = make::<Number>(i);
            assert_ne!(handle, first);
            // SAFETY: as above.
            unsafe { free(handle) };
        }
        assert_eq!(get(first), Err(MANYLANE_ERROR_HANDLE));
    }

    #[test]
    fn a_panic_poisons() {
        let _alone = alone();
        let handle = make::<Number>(7);
        // SAFETY: a handle of this module.
        let status = guard(|| unsafe {
            exclusive(handle, |number| {
                *number = 8;
                panic!("half way")
            })
        });
        assert_eq!(status, MANYLANE_ERROR_PANIC as i32);
        assert_eq!(get(handle), Err(MANYLANE_ERROR_POISONED));
        // SAFETY: as above.
        unsafe { free(handle) };
        assert_eq!(get(handle), Err(MANYLANE_ERROR_HANDLE));
    }

    #[test]
    fn two_threads_at_a_time_are_refused() {
        let _alone = alone();
        let handle = make::<Number>(7);
        // SAFETY: a handle of this module.
        let done = unsafe {
            exclusive(handle, |_| {
                assert_eq!(get(handle), Err(MANYLANE_ERROR_BUSY));
                Ok(())
            })
        };
        assert!(done.is_ok());
        assert_eq!(get(handle), Ok(7));
        // SAFETY: as above.
        unsafe { free(handle) };
    }
}

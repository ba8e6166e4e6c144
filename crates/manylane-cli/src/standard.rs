//! Which of the standard streams were closed when the process began.
//!
//! The runtime opens /dev/null in the place of one that is closed, before `main`. Input would then
//! seem to be empty, and output to have been written. So they are looked at before the runtime
//! does, in a constructor of the executable.
#![allow(unsafe_code)]

use std::{
    io,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
};

static INPUT_CLOSED: AtomicBool = AtomicBool::new(false);
static OUTPUT_CLOSED: AtomicBool = AtomicBool::new(false);

// SAFETY: the section holds pointers to functions of this type, which the C library calls once
// before `main`; `look` needs nothing that the runtime would have to set up first.
#[cfg(target_os = "linux")]
#[unsafe(link_section = ".init_array")]
#[used]
static LOOK: extern "C" fn() = look;

#[cfg(target_os = "linux")]
extern "C" fn look() {
    for (stream, closed) in
        [(libc::STDIN_FILENO, &INPUT_CLOSED), (libc::STDOUT_FILENO, &OUTPUT_CLOSED)]
    {
        // SAFETY: the call reads a number that the kernel has, and no memory. It fails only if
        // there is no such descriptor.
        let flags = unsafe { libc::fcntl(stream, libc::F_GETFD) };
        closed.store(flags == -1, Relaxed);
    }
}

/// An error if standard input was closed.
pub(crate) fn input() -> io::Result<()> {
    check(&INPUT_CLOSED)
}

/// An error if standard output was closed.
pub(crate) fn output() -> io::Result<()> {
    check(&OUTPUT_CLOSED)
}

fn check(closed: &AtomicBool) -> io::Result<()> {
    match closed.load(Relaxed) {
        true => Err(io::Error::from_raw_os_error(libc::EBADF)),
        false => Ok(()),
    }
}

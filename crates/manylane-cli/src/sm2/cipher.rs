//! What encryption and decryption of streams share.

use std::{mem, num::NonZeroUsize, panic::resume_unwind, sync::mpsc, thread};

use clap::ValueEnum;
use manylane::sm2::CiphertextForm;
use zeroize::Zeroizing;

use super::Stop;
use crate::cli;
pub(super) use crate::filter::{read_full, spool, spooling};

/// Bytes that are read and encrypted at once.
pub(super) const CHUNK: usize = 1 << 20;

/// Buffers of two threads: one that is filled, one that is written, and one between them.
const BUFFERS: usize = 3;

/// How many threads work.
#[derive(Debug, clap::Args)]
pub(super) struct Threads {
    /// Use N threads [default: one for each CPU this process may use]
    ///
    /// A second thread writes what the first has made; more find nothing to do.
    #[arg(short, long, value_name = "N", value_parser = cli::jobs())]
    jobs: Option<NonZeroUsize>,
}

impl Threads {
    pub(super) const ONE: Threads = Threads { jobs: Some(NonZeroUsize::MIN) };

    fn are_several(&self) -> bool {
        self.jobs.map_or_else(|| thread::available_parallelism().is_ok_and(several), several)
    }
}

fn several(threads: NonZeroUsize) -> bool {
    threads.get() > 1
}

/// Forms of ciphertexts, but for the byte 04.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Form {
    /// SM2Cipher of GM/T 0009 in DER, as OpenSSL and GmSSL have it
    Asn1,
    /// C1, C3, C2: the order of GB/T 32918.4-2016
    C1c3c2,
    /// C1, C2, C3: the order of old programs
    C1c2c3,
}

impl Form {
    pub(super) fn with_prefix(self, prefix: bool) -> Result<CiphertextForm, Stop> {
        match self {
            Form::Asn1 if !prefix => {
                Err(Stop::usage("--no-prefix is for --form c1c3c2 and --form c1c2c3"))
            }
            Form::Asn1 => Ok(CiphertextForm::Asn1),
            Form::C1c3c2 => Ok(CiphertextForm::C1C3C2 { prefix }),
            Form::C1c2c3 => Ok(CiphertextForm::C1C2C3 { prefix }),
        }
    }
}

/// Room for a chunk, which is wiped in the end.
pub(super) fn chunk() -> Zeroizing<Vec<u8>> {
    Zeroizing::new(vec![0; CHUNK])
}

/// Has `make` put one part after another into a buffer of [`CHUNK`] bytes, the first time into `first`,
/// until a part is empty, and `write` take each.
///
/// Where there are several threads another one writes, at most [`BUFFERS`] parts behind. On the Xeon of
/// `bench/runs`, 1 GiB from a tmpfs to a tmpfs, medians of three in turns: encrypted in 4.9 s by one thread
/// and 3.4 by two, decrypted in 4.9 and 3.4. The first thread cannot be faster than C3, a serial hash, which
/// takes 2.7; reading is a tenth of what writing takes, so it is left with the hash.
///
/// # Errors
/// The first, in the order of the parts, of `make` or `write`.
pub(super) fn each_part<E: Send>(
    threads: &Threads,
    first: Zeroizing<Vec<u8>>,
    mut make: impl FnMut(&mut [u8]) -> Result<usize, E>,
    mut write: impl FnMut(&[u8]) -> Result<(), E> + Send,
) -> Result<(), E> {
    let mut first = first;
    if threads.are_several()
        && let Some(result) = write_behind(&mut first, &mut make, &mut write)
    {
        return result;
    }
    loop {
        match make(&mut first)? {
            0 => return Ok(()),
            len => write(&first[..len])?,
        }
    }
}

/// [`each_part`] with a thread that writes; `None`, and nothing done, if there can be none.
fn write_behind<E: Send>(
    first: &mut Zeroizing<Vec<u8>>,
    make: &mut impl FnMut(&mut [u8]) -> Result<usize, E>,
    write: &mut (impl FnMut(&[u8]) -> Result<(), E> + Send),
) -> Option<Result<(), E>> {
    let (give, parts) = mpsc::sync_channel::<(Zeroizing<Vec<u8>>, usize)>(BUFFERS);
    let (give_back, empty) = mpsc::sync_channel(BUFFERS);
    let again = give_back.clone();
    thread::scope(|scope| {
        let writing = move || {
            for (buffer, len) in parts {
                write(&buffer[..len])?;
                // Nobody takes it where that was the last part.
                let _ = again.send(buffer);
            }
            Ok(())
        };
        let writer = thread::Builder::new().spawn_scoped(scope, writing).ok()?;
        for buffer in [mem::take(first), chunk(), chunk()] {
            give_back.send(buffer).expect("room for each, and its other end");
        }
        drop(give_back);
        let made = loop {
            // Without buffers the writer has ended early, and says why.
            let Ok(mut buffer) = empty.recv() else { break Ok(()) };
            match make(&mut buffer) {
                Ok(0) => break Ok(()),
                Ok(len) if give.send((buffer, len)).is_ok() => {}
                Ok(_) => break Ok(()),
                Err(why) => break Err(why),
            }
        };
        drop(give);
        let written = writer.join().unwrap_or_else(|panic| resume_unwind(panic));
        // What could not be written came before what could not be made.
        Some(written.and(made))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parts of one byte that count up to `parts`, of which that number `made` fails to be made, and
    /// that number `written` to be written: what was written, and the error.
    fn parts(threads: usize, parts: u8, made: u8, written: u8) -> (Vec<u8>, Result<(), String>) {
        let threads = Threads { jobs: NonZeroUsize::new(threads) };
        let (mut next, mut seen) = (0, Vec::new());
        let make = |buffer: &mut [u8]| {
            assert_eq!(buffer.len(), CHUNK);
            next += 1;
            match next {
                n if n == made => Err(format!("made {n}")),
                n if n > parts => Ok(0),
                n => {
                    buffer[0] = n;
                    Ok(1)
                }
            }
        };
        let result = each_part(&threads, chunk(), make, |part| match part[0] {
            n if n == written => Err(format!("written {n}")),
            n => {
                assert_eq!(part.len(), 1);
                seen.push(n);
                Ok(())
            }
        });
        (seen, result)
    }

    #[test]
    fn parts_are_written_in_their_order_and_the_first_error_is_told() {
        for threads in [1, 2, 3] {
            for count in [0, 1, 2, 3, 4, 50] {
                let (seen, result) = parts(threads, count, 0, 0);
                assert_eq!((seen, result), ((1..=count).collect(), Ok(())));
            }
            let fails = |made, written, at: u8, what: &str| {
                let (seen, result) = parts(threads, 50, made, written);
                assert_eq!((seen, result), ((1..at).collect(), Err(format!("{what} {at}"))));
            };
            for at in [1, 2, 3, 4, 50] {
                fails(at, 0, at, "made");
                fails(0, at, at, "written");
                fails(at, at, at, "made");
            }
            fails(3, 2, 2, "written");
            fails(50, 1, 1, "written");
        }
    }

    #[test]
    #[should_panic(expected = "of the writer")]
    fn a_panic_of_the_writer_is_the_callers() {
        let threads = Threads { jobs: NonZeroUsize::new(2) };
        let _ = each_part(&threads, chunk(), |_| Ok::<_, ()>(1), |_| panic!("of the writer"));
    }
}

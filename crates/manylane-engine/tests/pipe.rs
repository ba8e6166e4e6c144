//! Streams in pieces: their order, their ends, and what goes wrong with them.

use std::{
    collections::HashSet,
    io::{self, Read, Write},
    num::NonZeroUsize,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Mutex,
    thread,
    time::{Duration, Instant},
};

use manylane_engine::{Config, Device, Engine, Piece, PipeError, Progress};

fn engine(threads: usize) -> Engine {
    let threads = NonZeroUsize::new(threads);
    Engine::new(Config { device: Device::Cpu, threads, ..Config::default() }).unwrap()
}

fn bytes(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i % 251) as u8).collect()
}

/// Gives one byte, then two, three, and so on, and fails at the end if it is to.
struct Slow<'a> {
    bytes: &'a [u8],
    step: usize,
    fails: bool,
}

impl Read for Slow<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.step += 1;
        if self.step.is_multiple_of(3) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        if self.bytes.is_empty() && self.fails {
            return Err(io::Error::other("no more"));
        }
        let most = self.step.min(buffer.len());
        self.bytes.read(&mut buffer[..most])
    }
}

#[test]
fn pieces_are_computed_apart_and_written_in_order() {
    for threads in [1, 2, 5] {
        let engine = engine(threads);
        for len in [0, 1, 99, 100, 101, 200, 1000, 1050] {
            let message = bytes(len);
            let (mut written, progress) = (Vec::new(), Progress::new());
            let mut reader = Slow { bytes: &message, step: 0, fails: false };
            let mut next = 0;
            let in_order = |piece: &mut Piece| {
                assert_eq!(piece.index, next);
                assert_eq!(piece.data.len(), (len - 100 * next as usize).min(100));
                assert_eq!(piece.is_last, len <= 100 * (next as usize + 1));
                next += 1;
                Ok(piece.index)
            };
            let apart = |piece: &mut Piece, index: u64| {
                assert_eq!(piece.index, index);
                // Those that come first take longest.
                thread::sleep(Duration::from_micros(900 - 100 * (index % 8)));
                piece.data.iter_mut().for_each(|byte| *byte ^= 0xff);
                piece.data.push(index as u8);
                Ok::<_, ()>(())
            };
            engine.pipe(100, &progress, &mut reader, &mut written, in_order, apart).unwrap();
            let mut expected = Vec::new();
            for (i, chunk) in message.chunks(100).enumerate() {
                expected.extend(chunk.iter().map(|byte| byte ^ 0xff));
                expected.push(i as u8);
            }
            if len == 0 {
                expected.push(0);
            }
            assert!(written == expected, "{threads} threads, {len} bytes");
            assert_eq!(progress.bytes(), len as u64);
        }
    }
}

#[test]
fn all_threads_take_part() {
    let engine = engine(3);
    let threads = Mutex::new(HashSet::new());
    let apart = |_: &mut Piece, ()| {
        threads.lock().unwrap().insert(thread::current().id());
        thread::sleep(Duration::from_millis(5));
        Ok::<_, ()>(())
    };
    let (mut reader, mut writer) = (io::repeat(1).take(60 * 1000), io::sink());
    engine.pipe(1000, &Progress::new(), &mut reader, &mut writer, |_| Ok(()), apart).unwrap();
    assert_eq!(threads.into_inner().unwrap().len(), 3);
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum At {
    InOrder,
    Apart,
    Read,
    Write,
}

/// Takes so many bytes.
struct Full(Vec<u8>, usize);

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() == self.1 {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let some = bytes.len().min(7).min(self.1 - self.0.len());
        self.0.extend_from_slice(&bytes[..some]);
        Ok(some)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Waits at its second piece until as much was read as ever will be.
struct Stuck<'a> {
    progress: &'a Progress,
    expected: u64,
    pieces: u64,
}

impl Write for Stuck<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.pieces += 1;
        let since = Instant::now();
        while self.pieces == 2
            && self.progress.bytes() < self.expected
            && since.elapsed() < Duration::from_secs(60)
        {
            thread::sleep(Duration::from_millis(1));
        }
        if self.pieces == 2 {
            // For what would be one too many.
            thread::sleep(Duration::from_millis(500));
            assert_eq!(self.progress.bytes(), self.expected);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn pieces_under_way_are_bounded() {
    // Two for each thread, but not more than 256 MiB.
    for (threads, piece_len, most) in [(3, 1000, 6), (20, 16 << 20, 16), (1, 1000, 2)] {
        let progress = Progress::new();
        // The first piece is written before others are begun. One thread that writes does not read.
        let pieces = if threads == 1 { 2 } else { 1 + most };
        let expected = pieces * piece_len as u64;
        let mut reader = io::repeat(0).take((most + 4) * piece_len as u64);
        let mut writer = Stuck { progress: &progress, expected, pieces: 0 };
        let done = engine(threads).pipe(
            piece_len,
            &progress,
            &mut reader,
            &mut writer,
            |_| Ok::<(), ()>(()),
            |_, ()| Ok(()),
        );
        done.unwrap();
        assert_eq!(progress.bytes(), (most + 4) * piece_len as u64);
    }
}

#[test]
fn the_first_error_ends_the_stream() {
    for at in [At::InOrder, At::Apart, At::Read, At::Write] {
        for threads in [1, 4] {
            let engine = engine(threads);
            for bad in [0, 1, 7, 19] {
                let message = bytes(2000);
                let readable = if at == At::Read { 100 * bad + 50 } else { 2000 };
                let writable = if at == At::Write { 100 * bad + 50 } else { usize::MAX };
                let mut reader =
                    Slow { bytes: &message[..readable], step: 0, fails: at == At::Read };
                let mut writer = Full(Vec::new(), writable);
                // Later pieces fail sooner.
                let fails = |here, piece: &Piece| match at == here && piece.index >= bad as u64 {
                    true if piece.index > bad as u64 => Err(piece.index),
                    true => {
                        thread::sleep(Duration::from_millis(2));
                        Err(piece.index)
                    }
                    false => Ok(()),
                };
                let in_order = |piece: &mut Piece| fails(At::InOrder, piece);
                let apart = |piece: &mut Piece, ()| fails(At::Apart, piece);
                let progress = Progress::new();
                let done = engine.pipe(100, &progress, &mut reader, &mut writer, in_order, apart);
                match done.unwrap_err() {
                    PipeError::Compute(index) => assert_eq!(index, bad as u64),
                    PipeError::Read(error) => assert!(at == At::Read, "{error}"),
                    PipeError::Write(error) => assert!(at == At::Write, "{error}"),
                }
                let len = if at == At::Write { writable } else { 100 * bad };
                assert!(writer.0 == message[..len], "{at:?}, {threads} threads, piece {bad}");
            }
        }
    }
}

#[test]
fn a_panic_reaches_the_caller() {
    struct Bomb;
    impl Write for Bomb {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            panic!("boom");
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    for at in [At::InOrder, At::Apart, At::Write] {
        for threads in [1, 2, 4] {
            let engine = engine(threads);
            for bad in [0, 1, 9] {
                let explodes = |here, piece: &Piece| {
                    assert!(at != here || piece.index != bad, "boom");
                    Ok::<_, ()>(())
                };
                let in_order = |piece: &mut Piece| explodes(At::InOrder, piece);
                let apart = |piece: &mut Piece, ()| explodes(At::Apart, piece);
                let mut reader = io::repeat(1).take(20 * 100);
                let run = AssertUnwindSafe(|| match at {
                    At::Write => {
                        engine.pipe(100, &Progress::new(), &mut reader, &mut Bomb, in_order, apart)
                    }
                    _ => {
                        let mut sink = io::sink();
                        engine.pipe(100, &Progress::new(), &mut reader, &mut sink, in_order, apart)
                    }
                });
                let panic = catch_unwind(run).unwrap_err();
                assert_eq!(panic.downcast_ref::<&str>(), Some(&"boom"));
            }
            // Of use as before.
            let mut written = Vec::new();
            let (mut reader, progress) = (&b"more"[..], Progress::new());
            let done = engine.pipe(
                1,
                &progress,
                &mut reader,
                &mut written,
                |_| Ok::<_, ()>(()),
                |_, ()| Ok(()),
            );
            assert!(done.is_ok() && written == b"more");
        }
    }
}

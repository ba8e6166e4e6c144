//! The engine: one plan for all devices.

use std::{
    io::{self, Read},
    num::NonZeroUsize,
    ops::ControlFlow,
    sync::OnceLock,
    thread::available_parallelism,
};

use manylane::{
    Messages,
    sm3::{self, Midstate},
};

use crate::{Config, Done, Error, Explanation, Function, Progress, Source, Summary};

/// Spreads work over the devices of its [`Config`].
///
/// Making one is cheap: threads start when work first pays for them. [`Engine::global`] is for
/// everyone who needs no particular configuration.
#[derive(Debug)]
pub struct Engine {
    threads: NonZeroUsize,
    threads_asked: bool,
}

impl Engine {
    /// An engine of that configuration.
    ///
    /// # Errors
    /// None in this build, which has processor cores only; builds with other devices fail here
    /// when a device that was asked for is not there.
    pub fn new(config: Config) -> Result<Engine, Error> {
        let all = || available_parallelism().unwrap_or(NonZeroUsize::MIN);
        Ok(Engine {
            threads: config.threads.unwrap_or_else(all),
            threads_asked: config.threads.is_some(),
        })
    }

    /// The engine of the default configuration that the whole process shares.
    pub fn global() -> &'static Engine {
        static GLOBAL: OnceLock<Engine> = OnceLock::new();
        GLOBAL.get_or_init(|| Engine::new(Config::default()).expect("the default configuration"))
    }

    /// Threads that compute at most, the caller's among them.
    pub fn threads(&self) -> usize {
        self.threads.get()
    }

    /// What this engine uses for what, and why.
    pub fn explain(&self) -> Explanation {
        Explanation::new(self.threads(), self.threads_asked)
    }

    /// SM3 of each message after the midstate's prefix, in order, into `out`; as
    /// [`sm3::hash_many_after`], on all threads where that is faster.
    ///
    /// # Errors
    /// [`manylane::Error::OutputLength`] unless `out.len() == messages.len()`.
    pub fn hash_many(
        &self,
        start: &Midstate,
        messages: &Messages,
        out: &mut [[u8; 32]],
    ) -> Result<(), manylane::Error> {
        sm3::hash_many_after(start, messages, out)
    }

    /// HMAC-SM3 of each message under its own key, in order, into `out`; as [`sm3::hmac_many`], on
    /// all threads where that is faster.
    ///
    /// # Errors
    /// [`manylane::Error::CountMismatch`] unless there are as many keys as messages;
    /// [`manylane::Error::OutputLength`] unless `out.len() == messages.len()`.
    pub fn hmac_many(
        &self,
        keys: &Messages,
        messages: &Messages,
        out: &mut [[u8; 32]],
    ) -> Result<(), manylane::Error> {
        sm3::hmac_many(keys, messages, out)
    }

    /// Computes `function` of each source, in bounded memory, and hands each back through
    /// `on_done` in the order of the iterator.
    ///
    /// Sources are opened, read and closed by the threads that hash them, at most as many at a
    /// time as these have lanes. `on_done` runs on the calling thread, which hashes too. A source
    /// that cannot be opened, or fails while it is read, fails alone.
    ///
    /// When `on_done` breaks, sources at work are abandoned, and the value it broke with is
    /// returned.
    ///
    /// ```
    /// use std::ops::ControlFlow;
    /// use manylane_engine::{Engine, Function, Progress, Source};
    ///
    /// struct Text(&'static str);
    ///
    /// impl Source for Text {
    ///     type Reader = &'static [u8];
    ///     fn open(&mut self) -> std::io::Result<&'static [u8]> {
    ///         Ok(self.0.as_bytes())
    ///     }
    /// }
    ///
    /// let texts = ["a", "b", "abc"].map(Text);
    /// let all = Engine::global().hash_sources(&Function::hash(), &Progress::new(), texts, |done| {
    ///     let summary = done.result.expect("memory can be read");
    ///     assert_eq!(summary.digest, manylane::sm3::hash(done.source.0.as_bytes()));
    ///     ControlFlow::<()>::Continue(())
    /// });
    /// assert!(all.is_continue());
    /// ```
    ///
    /// # Panics
    /// If the iterator, a source or `on_done` does; the panic is handed on when all threads have
    /// left the work.
    pub fn hash_sources<S, I, B>(
        &self,
        function: &Function,
        progress: &Progress,
        sources: I,
        mut on_done: impl FnMut(Done<S>) -> ControlFlow<B>,
    ) -> ControlFlow<B>
    where
        S: Source,
        I: IntoIterator<Item = S>,
        I::IntoIter: Send,
    {
        let mut buffer = vec![0; 64 << 10];
        for (index, mut source) in sources.into_iter().enumerate() {
            let result = read_all(&mut source, function, progress, &mut buffer);
            progress.add(0, 1);
            on_done(Done { index, source, result })?;
        }
        ControlFlow::Continue(())
    }
}

fn read_all(
    source: &mut impl Source,
    function: &Function,
    progress: &Progress,
    buffer: &mut [u8],
) -> io::Result<Summary> {
    let mut reader = source.open()?;
    let mut state = function.start.clone();
    let mut len = 0;
    loop {
        match reader.read(buffer) {
            Ok(0) => break,
            Ok(n) => {
                state = state.then(&buffer[..n]);
                len += n as u64;
                progress.add(n as u64, 0);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(Summary { digest: function.finish(state.finish(b"")), len })
}

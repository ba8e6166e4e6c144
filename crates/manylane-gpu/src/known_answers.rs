//! A place in a device's memory where kernels of hash functions are checked before their first use.
#![allow(unsafe_code)]

use std::{
    mem, thread,
    time::{Duration, Instant},
};

use crate::{DeviceBuffer, DevicePointer, Error, Event, Gpu, Stream};

/// One buffer on the device, with all inputs and outputs.
pub(crate) struct Bench {
    gpu: Gpu,
    stream: Stream,
    /// Digests go to its second half.
    memory: DeviceBuffer,
    /// What the device has, so far.
    host: Vec<u8>,
    /// Digests that the kernels will have written, by kernel: where they begin, what they are.
    expected: Vec<(&'static str, usize, Vec<u8>)>,
}

/// How long the kernels may take: a slow GPU that others use needs some tenths of a second.
const DEADLINE: Duration = Duration::from_secs(10);

impl Bench {
    /// With so many bytes of memory, half of them for digests.
    pub(crate) fn new(gpu: &Gpu, memory: usize) -> Result<Self, Error> {
        Ok(Bench {
            gpu: gpu.clone(),
            stream: Stream::new(gpu)?,
            memory: DeviceBuffer::new(gpu, memory)?,
            host: Vec::new(),
            expected: Vec::new(),
        })
    }

    /// Puts bytes at the next 16-byte boundary and `skip` bytes on. Gives their place.
    pub(crate) fn put(&mut self, bytes: &[u8], skip: usize) -> usize {
        let at = self.host.len().next_multiple_of(16) + skip;
        self.host.resize(at, 0);
        self.host.extend_from_slice(bytes);
        at
    }

    /// What was put, from a place on.
    pub(crate) fn host(&self, at: usize) -> &[u8] {
        &self.host[at..]
    }

    /// The address of a place.
    pub(crate) fn device(&self, at: usize) -> DevicePointer {
        self.memory.pointer().add(at)
    }

    /// Where digests of a kernel go, given what they must be.
    pub(crate) fn expect(&mut self, kernel: &'static str, digests: Vec<u8>) -> DevicePointer {
        let first = self.memory.len() / 2;
        let last = self.expected.last();
        let at = last.map_or(first, |(_, at, digests)| (at + digests.len()).next_multiple_of(16));
        assert!(at + digests.len() <= self.memory.len(), "too many digests");
        self.expected.push((kernel, at, digests));
        self.device(at)
    }

    /// Lets `launches` enqueue the kernels after the inputs, and compares what they write. What a device that
    /// hangs may still use, `kept` and what was enqueued on, stays for ever.
    ///
    /// # Errors
    /// [`Error::WrongResult`]; [`Error::Deadline`] if they do not end; or what the driver says.
    pub(crate) fn check<K>(
        mut self,
        mut kept: K,
        launches: impl FnOnce(&Stream, &mut K) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let inputs = self.host.len();
        assert!(inputs <= self.memory.len() / 2, "inputs of {inputs} bytes");
        let done = Event::new(&self.gpu)?;
        let enqueued = self
            .enqueue_inputs()
            .and_then(|()| launches(&self.stream, &mut kept))
            .and_then(|()| done.record(&self.stream));
        if let Err(error) = enqueued.and_then(|()| wait(&done)) {
            // To free what may be in use would wait for that, perhaps without end.
            mem::forget((self, kept));
            return Err(error);
        }
        self.compare()
    }

    fn enqueue_inputs(&mut self) -> Result<(), Error> {
        self.memory.fill(0, &self.stream)?;
        let driver = self.gpu.bound()?;
        let (to, from, stream) = (self.memory.pointer(), self.host.as_ptr(), self.stream.handle());
        // SAFETY: the buffer is longer; both stay as they are until `done` has been passed, and
        // for ever if it is not.
        unsafe { driver.copy_in(to, from, self.host.len(), stream) }
    }

    /// Compares what the kernels wrote.
    fn compare(&self) -> Result<(), Error> {
        let first = self.memory.len() / 2;
        let mut got = vec![0; self.memory.len() - first];
        self.memory.read(first, &mut got, &self.stream)?;
        for (kernel, at, digests) in &self.expected {
            if got[at - first..][..digests.len()] != digests[..] {
                let info = self.gpu.info();
                let device = format!("{} ({})", info.name, info.id);
                return Err(Error::WrongResult { kernel, device });
            }
        }
        Ok(())
    }
}

fn wait(done: &Event) -> Result<(), Error> {
    let since = Instant::now();
    while !done.is_done()? {
        if since.elapsed() > DEADLINE {
            return Err(Error::Deadline(since.elapsed()));
        }
        thread::sleep(Duration::from_micros(50));
    }
    Ok(())
}

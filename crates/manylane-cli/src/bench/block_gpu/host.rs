//! Counter mode over data in the host's memory, page-locked and not, beside the rate at which the
//! device's copy engines alone move as many bytes both ways.

use std::{cell::RefCell, rc::Rc};

use manylane_gpu::{BlockMode, BlockRing, BlockRingConfig, PinnedBuffer};

use super::{
    Call, Cipher, Contender, Device, Group, Mode, Timing, by_wall, bytes_label,
    device::{samples, spans},
    group,
};
use crate::bench::measure;

/// Bytes of a call, where the machine does them in a short time: of page-locked memory, and of other,
/// which one thread copies.
const PINNED: usize = 2 << 30;
const PAGEABLE: usize = 512 << 20;
const QUICK: usize = 256 << 20;

/// Calls of the kernel that an end-to-end call may take the time of.
const KERNELS: usize = 8;

/// Name of the copies.
const COPIES: &str = "copies both ways at once, page-locked, nothing else";

/// What the groups share, made when it is first used.
struct Host {
    device: Rc<Device>,
    bytes: usize,
    ring: RefCell<Option<BlockRing>>,
    /// The data; a call takes it and gives it back.
    pinned: RefCell<Option<PinnedBuffer>>,
    /// Where copies from the device go.
    other: RefCell<Option<PinnedBuffer>>,
    pageable: RefCell<[Vec<u8>; 2]>,
}

pub(super) fn groups(device: &Rc<Device>, quick: bool) -> Vec<Group> {
    let most = if quick { QUICK } else { PINNED };
    let bytes = (KERNELS * device.affords(most)).min(most).min(device.room());
    let host = Rc::new(Host {
        device: Rc::clone(device),
        bytes,
        ring: RefCell::default(),
        pinned: RefCell::default(),
        other: RefCell::default(),
        pageable: RefCell::default(),
    });
    vec![pinned(&host, quick), pageable(&host, quick)]
}

impl Host {
    fn with_ring<T>(
        &self,
        work: impl FnOnce(&mut BlockRing) -> Result<T, manylane_gpu::Error>,
    ) -> Result<T, String> {
        let failed = |why: manylane_gpu::Error| why.to_string();
        let mut ring = self.ring.borrow_mut();
        if ring.is_none() {
            let made = BlockRing::new(self.device.gpu(), BlockRingConfig::default());
            *ring = Some(made.map_err(failed)?);
        }
        work(ring.as_mut().expect("just made")).map_err(failed)
    }

    /// Page-locked memory with data.
    fn lock(&self, place: &RefCell<Option<PinnedBuffer>>) -> Result<PinnedBuffer, String> {
        if let Some(buffer) = place.borrow_mut().take() {
            return Ok(buffer);
        }
        let buffer = PinnedBuffer::new(self.device.gpu(), self.bytes);
        let mut buffer = buffer.map_err(|why| why.to_string())?;
        self.device.fill_host(&mut buffer);
        Ok(buffer)
    }

    /// Counter mode over the page-locked data, in place.
    fn apply_pinned(&self, cipher: Cipher) -> Result<(), String> {
        let data = self.lock(&self.pinned)?;
        let mode = BlockMode::Ctr(Mode::counter(0));
        let cipher = self.device.cipher(cipher);
        let data = self.with_ring(|ring| ring.apply_pinned(cipher, &mode, data))?;
        *self.pinned.borrow_mut() = Some(data);
        Ok(())
    }

    fn apply_pageable(&self, cipher: Cipher) -> Result<(), String> {
        let mode = BlockMode::Ctr(Mode::counter(0));
        let cipher = self.device.cipher(cipher);
        let mut pageable = self.pageable.borrow_mut();
        let [from, to] = &mut *pageable;
        self.with_ring(|ring| ring.apply(cipher, &mode, from, to))
    }

    fn copy(&self) -> Result<f64, String> {
        let (from, mut out) = (self.lock(&self.pinned)?, self.lock(&self.other)?);
        let copied = self.device.copy_both_ways(&from, &mut out);
        *self.pinned.borrow_mut() = Some(from);
        *self.other.borrow_mut() = Some(out);
        copied.map_err(|why| why.to_string())
    }
}

/// Whether counter mode makes of the samples before what they are after.
fn compare(
    cipher: Cipher,
    spans: &[usize],
    before: Vec<Vec<u8>>,
    after: &[Vec<u8>],
) -> Result<(), String> {
    for ((at, mut wanted), got) in spans.iter().zip(before).zip(after) {
        let computed = cipher.on_cpu(None, Mode::CTR, (at / 16) as u64, &mut wanted);
        computed.map_err(|why| why.to_string())?;
        if wanted != *got {
            return Err(format!("{}: the bytes from {at} on are not the CPU's", cipher.name()));
        }
    }
    Ok(())
}

fn contender(name: &str, peer: bool, bytes: usize, call: Call) -> Contender {
    Contender {
        name: name.to_owned(),
        kernel: None,
        peer,
        work: measure::Work {
            bytes: bytes as u64,
            units: (bytes / 16) as u64,
            counted_clocks: None,
        },
        output: Vec::new(),
        call,
    }
}

fn copies(host: &Rc<Host>) -> Contender {
    let bytes = host.bytes;
    let host = Rc::clone(host);
    let call = Call::elsewhere(move |calls, _| {
        let seconds = (0..calls).try_fold(0.0, |sum, _| Ok::<_, String>(sum + host.copy()?))?;
        Ok(Timing { seconds, hz: None, joules: None })
    });
    contender(COPIES, true, bytes, call)
}

fn pinned(host: &Rc<Host>, quick: bool) -> Group {
    let (on, bytes) = (Rc::clone(host), host.bytes);
    let build = move |rng: &mut fastrand::Rng| {
        let mut contenders = Vec::new();
        for &cipher in on.device.family().ciphers() {
            let spans = spans(bytes, rng);
            let look = || -> Result<_, String> {
                let data = on.lock(&on.pinned)?;
                let samples = samples(&data, &spans);
                *on.pinned.borrow_mut() = Some(data);
                Ok(samples)
            };
            let before = look()?;
            on.apply_pinned(cipher)?;
            compare(cipher, &spans, before, &look()?)?;
            let host = Rc::clone(&on);
            let call =
                Call::elsewhere(move |calls, _| by_wall(calls, || host.apply_pinned(cipher)));
            contenders.push(contender(cipher.name(), false, bytes, call));
        }
        contenders.push(copies(&on));
        Ok(contenders)
    };
    let part = "CTR over page-locked memory of the host, in place";
    Group {
        base: Some(COPIES),
        working_set: bytes as u64,
        ..group(&host.device, "pinned", part, bytes_label(bytes as u64), quick, build)
    }
}

/// Of the family's first cipher: a thread's copies decide the rate.
fn pageable(host: &Rc<Host>, quick: bool) -> Group {
    let on = Rc::clone(host);
    let bytes = host.bytes.min(PAGEABLE);
    let cipher = host.device.family().ciphers()[0];
    let build = move |rng: &mut fastrand::Rng| {
        if on.pageable.borrow()[0].is_empty() {
            let mut data = vec![0; bytes];
            on.device.fill_host(&mut data);
            *on.pageable.borrow_mut() = [data, vec![0; bytes]];
        }
        let spans = spans(bytes, rng);
        let before = samples(&on.pageable.borrow()[0], &spans);
        on.pageable.borrow_mut()[1].fill(0xa5);
        on.apply_pageable(cipher)?;
        compare(cipher, &spans, before, &samples(&on.pageable.borrow()[1], &spans))?;
        let host = Rc::clone(&on);
        let call = Call::elsewhere(move |calls, _| by_wall(calls, || host.apply_pageable(cipher)));
        Ok(vec![contender(cipher.name(), false, bytes, call), copies(&on)])
    };
    let part = "CTR from pageable memory of the host to other such";
    Group {
        base: Some(COPIES),
        working_set: 2 * bytes as u64,
        ..group(&host.device, "pageable", part, bytes_label(bytes as u64), quick, build)
    }
}

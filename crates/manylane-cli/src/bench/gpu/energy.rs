//! Energy of steady work, seconds of it, with idle power beside.

use std::{
    rc::Rc,
    thread,
    time::{Duration, Instant},
};

use crate::bench::{
    measure::{Call, Contender, Effort, Timing, Work},
    sensors::Packages,
};

/// Heading of the groups.
pub(in crate::bench) const PART: &str =
    "Energy of steady work (a device's by its sensor, a processor's by its counters)";

/// How long each is at work.
pub(in crate::bench) fn effort(quick: bool) -> Effort {
    let sample = Duration::from_secs(if quick { 1 } else { 5 });
    Effort { visits: 1, samples: 1, sample }
}

/// What contenders differ in.
pub(in crate::bench) struct Named {
    pub(in crate::bench) name: String,
    pub(in crate::bench) peer: bool,
    /// Bytes and units of a call.
    pub(in crate::bench) bytes: usize,
    pub(in crate::bench) units: usize,
}

impl Named {
    fn contender(self, call: Call) -> Contender {
        let Named { name, peer, bytes, units } = self;
        let work = Work { bytes: bytes as u64, units: units as u64, counted_clocks: None };
        Contender { name, kernel: None, peer, work, output: Vec::new(), call }
    }
}

/// Name of the device with nothing to do.
pub(in crate::bench) const IDLE: &str = "idle, with a context";

/// The device with nothing to do; `joules` is its counter.
pub(in crate::bench) fn idle(joules: impl Fn() -> Option<f64> + 'static) -> Contender {
    const CALL: Duration = Duration::from_millis(50);
    let call = Call::elsewhere(move |calls, _| {
        let (start, before) = (Instant::now(), joules());
        thread::sleep(CALL * calls);
        let seconds = start.elapsed().as_secs_f64();
        let used = joules().zip(before).map(|(after, before)| after - before);
        Ok(Timing { seconds, hz: None, joules: used })
    });
    Named { name: IDLE.to_owned(), peer: false, bytes: 0, units: 0 }.contender(call)
}

/// Work of a device that times itself, again and again.
pub(in crate::bench) fn by_device(
    named: Named,
    joules: impl Fn() -> Option<f64> + 'static,
    time: impl Fn(u32) -> Result<Timing, String> + 'static,
) -> Contender {
    named.contender(Call::elsewhere(move |calls, _| {
        let before = joules();
        let timing = time(calls)?;
        let used = joules().zip(before).map(|(after, before)| after - before);
        Ok(Timing { joules: used, ..timing })
    }))
}

/// All cores of the processor, which do the work so many times.
pub(in crate::bench) fn by_cpu(
    named: Named,
    packages: &Rc<Result<Packages, String>>,
    mut work: impl FnMut(u32) + 'static,
) -> Contender {
    let packages = Rc::clone(packages);
    named.contender(Call::elsewhere(move |calls, _| {
        let now = || packages.as_ref().as_ref().ok().map(Packages::now);
        let (start, before) = (Instant::now(), now());
        work(calls);
        let seconds = start.elapsed().as_secs_f64();
        let used = match (&*packages, before, now()) {
            (Ok(packages), Some(before), Some(after)) => packages.joules(&before, &after),
            _ => None,
        };
        Ok(Timing { seconds, hz: None, joules: used })
    }))
}

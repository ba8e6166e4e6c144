//! Suite `sm3`: every machine's kernels, and what other libraries do with the same messages.

use std::rc::Rc;

use manylane::{
    Messages,
    cpu::Machine,
    sm3::{self, Digest, Lanes, Midstate, Sm3},
};

use super::{
    counts::{self, Core},
    data::{Rows, bytes_label},
    measure::{Contender, Cores, Group, Plan, Work},
    peers::{Gcrypt, OpenSsl},
    setup,
};

mod batcher;
mod cores;
mod hmac;
mod many;
mod stream;

/// Name of OpenSSL as a contender; the one that others are set in relation to.
const OPENSSL: &str = "OpenSSL";
const LIBGCRYPT: &str = "libgcrypt";

/// What it measures, in the order of the report.
pub(super) fn plan() -> Plan {
    let core = setup::core();
    let mut groups = Vec::new();
    groups.extend(many::groups(core));
    groups.extend(stream::groups(core));
    groups.extend(hmac::groups());
    groups.extend(cores::groups());
    Plan { groups, latencies: batcher::latency_groups() }
}

/// Machines that run here and have kernels for lanes.
fn lane_machines() -> impl Iterator<Item = Machine> {
    Machine::ALL.into_iter().filter(|&machine| Lanes::new_on(machine).is_ok())
}

/// Machines that run here and have a kernel for one stream.
fn stream_machines() -> impl Iterator<Item = Machine> {
    Machine::ALL.into_iter().filter(|&machine| Sm3::new_on(machine).is_ok())
}

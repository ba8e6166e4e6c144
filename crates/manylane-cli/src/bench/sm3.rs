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
    measure::{Call, Contender, Cores, Group, Plan, Work},
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The smallest group of each part: all its contenders can be built, run, and agree. How
    /// long they take is not looked at.
    #[test]
    fn contenders_compute_the_same() {
        let parts =
            ["sm3/many/64", "sm3/stream/64", "sm3/hmac/64", "sm3/pbkdf2/500", "sm3/cores/64"];
        let mut rng = fastrand::Rng::with_seed(1);
        let mut seen = 0;
        for group in plan().groups.iter().filter(|group| parts.contains(&&group.id[..])) {
            let mut contenders = (group.build)(&mut rng).unwrap();
            for contender in &mut contenders {
                contender.call.once(&mut contender.output).unwrap();
                assert!(contender.output.iter().any(|&byte| byte != 0), "{}", contender.name);
            }
            crate::bench::measure::check_agreement(&contenders).unwrap();
            assert!(contenders.iter().any(|contender| !contender.peer), "{}", group.id);
            seen += 1;
        }
        assert_eq!(seen, parts.len());
    }

    #[test]
    fn groups_have_names_of_their_own() {
        let plan = plan();
        let timed = plan.groups.iter().map(|group| &group.id);
        let ids: Vec<_> = timed.chain(plan.latencies.iter().map(|group| &group.id)).collect();
        let unique: std::collections::BTreeSet<_> = ids.iter().collect();
        assert_eq!(ids.len(), unique.len());
        assert!(ids.iter().all(|id| id.starts_with("sm3/") && id.split('/').count() == 3));
    }
}

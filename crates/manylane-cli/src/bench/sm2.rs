//! Suite `sm2`: single operations beside OpenSSL's, and encryption of long messages beside its parts, the
//! methods of ParaSM2 (Cryptography 2026, 10, 42), and what its cost model predicts.

use std::{cell::RefCell, rc::Rc, time::Duration};

use manylane::{
    cpu::Machine,
    sm2::{CiphertextForm, SecretKey},
    sm3::Lanes,
};

use super::{
    data::{Bytes, bytes_label},
    measure::{Call, Contender, Cores, Effort, Group, Plan, Work},
    peers::{
        OpenSsl,
        sm2::{OpenSslSm2, Operation},
    },
};

mod calls;
mod cores;
mod many;
mod messages;
mod model;
mod paper;
mod sm4;

pub(super) use self::{model::table as predictions, paper::tables as beside_the_paper};

/// Name of OpenSSL as a contender.
const OPENSSL: &str = "OpenSSL";

/// Name of OpenSSL's hash of as many bytes: what long messages are set in relation to, since no
/// encryption is faster than its hash.
const OPENSSL_SM3: &str = "OpenSSL, SM3 alone";

/// Name of what users call.
pub(super) const OURS: &str = "manylane";

/// What it measures, in the order of the report.
pub(super) fn plan(quick: bool) -> Plan {
    let mut groups = calls::groups();
    groups.extend(messages::groups(quick));
    groups.extend(many::groups());
    groups.extend(cores::groups(quick));
    groups.extend(model::groups());
    Plan { groups, latencies: Vec::new() }
}

/// How much is measured of messages of that length: long ones are samples of their own, of which a few
/// must do.
fn effort(len: usize, quick: bool) -> Option<Effort> {
    let sample = Duration::from_millis(1);
    match (len >= 4 << 20, quick) {
        (false, _) => None,
        (true, true) => Some(Effort { visits: 1, samples: 1, sample }),
        (true, false) => Some(Effort { visits: 9, samples: 1, sample }),
    }
}

/// Machines that run here and have kernels for lanes, more than one.
fn lane_machines() -> impl Iterator<Item = Machine> {
    Machine::ALL.into_iter().filter(|&machine| Lanes::new_on(machine).is_ok_and(|l| l.count() > 1))
}

/// The machine of the paper's bundles of three: the first with so many lanes.
fn bundle_machine() -> Option<Machine> {
    Machine::ALL.into_iter().find(|&machine| Lanes::new_on(machine).is_ok_and(|l| l.count() > 2))
}

/// A key drawn from the run's generator.
fn key(rng: &mut fastrand::Rng) -> Result<SecretKey, String> {
    let mut d = [0; 32];
    rng.fill(&mut d);
    // Below the order of the group, whose first byte is ff.
    d[0] &= 0x7f;
    SecretKey::from_bytes(&d).map_err(|why| why.to_string())
}

/// The digest of so many bytes by OpenSSL.
fn openssl_sm3(len: usize, rng: &mut fastrand::Rng) -> Option<Contender> {
    let openssl = OpenSsl::get().ok()?;
    let mut context = openssl.digest();
    let data = Bytes::random(len, rng);
    Some(Contender {
        name: OPENSSL_SM3.into(),
        kernel: None,
        peer: true,
        work: Work { bytes: len as u64, units: 1, counted_clocks: None },
        output: vec![0; 32],
        call: Call::here(move |out| {
            let (out, _) = out.split_first_chunk_mut().expect("room for a digest");
            context.hash(data.get(), out);
        }),
    })
}

#[cfg(test)]
mod tests;

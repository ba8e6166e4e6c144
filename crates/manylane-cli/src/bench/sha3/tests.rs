use std::collections::BTreeSet;

use super::*;
use crate::bench::measure::check_agreement;

/// The shortest group of each part and function: all its contenders can be built and run, and agree. How long
/// they take is not looked at.
#[test]
fn contenders_agree() {
    let mut rng = fastrand::Rng::with_seed(1);
    let mut parts = BTreeSet::new();
    let plan = plan(true);
    for group in &plan.groups {
        let part = group.id.rsplit_once('/').unwrap().0;
        let is_short = !["volume", "file"].iter().any(|long| part.ends_with(long));
        if !parts.insert(part) || !is_short {
            continue;
        }
        let mut contenders = (group.build)(&mut rng).unwrap();
        for contender in &mut contenders {
            contender.call.once(&mut contender.output).unwrap();
            assert!(contender.output.iter().any(|&byte| byte != 0), "{}", contender.name);
        }
        if group.same_output {
            assert_eq!(check_agreement(&contenders), Ok(()), "{}", group.id);
        }
        let names: Vec<_> = contenders.iter().map(|contender| &contender.name[..]).collect();
        let unique: BTreeSet<_> = names.iter().collect();
        assert_eq!(names.len(), unique.len(), "{}", group.id);
        for (one, other) in &group.pairs {
            let there = |name: &String| names.contains(&&name[..]);
            assert!(there(one) && there(other), "{}: {one}, {other}: {names:?}", group.id);
        }
        let base = group.base.is_some_and(|base| names.contains(&base));
        assert!(base || OpenSslSha3::get().is_err(), "{}: {names:?}", group.id);
    }
    assert_eq!(parts.len(), 2 * Hash::ALL.len() + 4, "{parts:?}");
}

#[test]
fn groups_have_names_of_their_own() {
    let plan = plan(false);
    let ids: BTreeSet<_> = plan.groups.iter().map(|group| &group.id).collect();
    assert_eq!(ids.len(), plan.groups.len());
    assert!(ids.iter().all(|id| id.starts_with("sha3/") && id.split('/').count() == 3));
}

/// Libraries that are there compute what we compute.
#[test]
fn peers_agree_with_us() {
    let message = [0x5a; 1000];
    let mut compared = 0;
    for hash in Hash::ALL {
        let mut ours = vec![0; function(hash).output_len()];
        for (name, mut theirs) in peers(hash) {
            // A context is used again and again: nothing of a message is left for the next.
            for len in [1000, 0, 200] {
                let mut out = vec![0; ours.len()];
                theirs(&message[..len], &mut out);
                sha3::hash(function(hash), &message[..len], &mut ours);
                assert_eq!(out, ours, "{name}'s {} of {len} bytes", hash.name());
                compared += 1;
            }
        }
    }
    let there = [OpenSslSha3::get().is_ok(), GcryptSha3::get().is_ok(), Nettle::get().is_ok()];
    assert!(compared >= 3 * 5 * there.iter().filter(|there| **there).count(), "{there:?}");
}

use std::collections::BTreeSet;

use super::*;
use crate::bench::measure::check_agreement;

/// Groups of one length in each mode: all their contenders can be built and run, again and again, and agree. How
/// long they take is not looked at.
fn contenders_agree(plan: &Plan, cipher: Cipher) {
    let mut rng = fastrand::Rng::with_seed(1);
    let mut seen = 0;
    for group in &plan.groups {
        let by_length = ["1024", "16384", "1048576"].iter().any(|len| group.id.ends_with(len));
        if by_length || group.cores == Cores::All && group.id.contains("192") {
            continue;
        }
        let mut contenders = (group.build)(&mut rng).unwrap();
        for contender in &mut contenders {
            for _ in 0..3 {
                contender.call.once(&mut contender.output).unwrap();
            }
            assert!(contender.output.iter().any(|&byte| byte != 0), "{}", contender.name);
        }
        assert_eq!(check_agreement(&contenders), Ok(()), "{}", group.id);
        let names: Vec<_> = contenders.iter().map(|contender| &contender.name[..]).collect();
        let unique: BTreeSet<_> = names.iter().collect();
        assert_eq!(names.len(), unique.len(), "{}", group.id);
        let there = |name: &str| names.contains(&name);
        for (one, other) in &group.pairs {
            assert!(there(one) && there(other), "{}: {one} and {other} in {names:?}", group.id);
        }
        let peers = OpenSslCiphers::get().is_ok() && GcryptCiphers::get().is_ok();
        let none_has_it = group.id.contains("xts-gb");
        assert!(group.base.is_some_and(there) || !peers || none_has_it, "{}", group.id);
        for machine in machines_of(cipher) {
            assert!(there(machine.name()) || group.cores == Cores::All, "{}", group.id);
        }
        let kernels = contenders.iter().filter(|c| Machine::from_name(&c.name).is_some());
        kernels.for_each(|c| assert_eq!(c.kernel, Some(&c.name[..]), "{}", group.id));
        seen += 1;
    }
    assert!(seen > 10, "{seen}");
}

#[test]
fn contenders_of_aes_agree() {
    contenders_agree(&aes(true), Cipher::Aes128);
}

#[test]
fn contenders_of_sm4_agree() {
    contenders_agree(&sm4(true), Cipher::Sm4);
}

#[test]
fn groups_have_names_of_their_own() {
    for (plan, name) in [(aes(true), "aes/"), (sm4(true), "sm4/")] {
        let ids: BTreeSet<_> = plan.groups.iter().map(|group| &group.id).collect();
        assert_eq!(ids.len(), plan.groups.len());
        assert!(ids.iter().all(|id| id.starts_with(name) && id.split('/').count() == 3));
        // A part is one table: its groups stand together, and have one base.
        let mut parts: Vec<_> = plan.groups.iter().map(|group| (group.part, group.base)).collect();
        parts.dedup();
        let titles: BTreeSet<_> = parts.iter().map(|(part, _)| part).collect();
        assert!(parts.len() <= titles.len() + 2, "{parts:?}");
    }
}

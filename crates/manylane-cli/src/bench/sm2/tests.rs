use super::*;

/// The shortest group of each part: all its contenders can be built and run, which checks what they
/// decrypt, and agree where their results are the same. How long they take is not looked at.
#[test]
fn contenders_run_and_agree() {
    let parts = [
        "sm2/call/sign",
        "sm2/call/verify",
        "sm2/call/ecdh",
        "sm2/call/keygen",
        "sm2/call/encrypt-32",
        "sm2/call/decrypt-32",
        "sm2/encrypt/65536",
        "sm2/decrypt/65536",
        "sm2/key-stream/65536",
        "sm2/encrypt-many/1024",
        "sm2/decrypt-many/1024",
        "sm2/cores-encrypt/1048576",
        "sm2/cores-decrypt/1048576",
        "sm2/cf/1024",
    ];
    let mut rng = fastrand::Rng::with_seed(1);
    let mut seen = 0;
    for group in plan(true).groups.iter().filter(|group| parts.contains(&&group.id[..])) {
        let mut contenders = (group.build)(&mut rng).unwrap();
        for contender in &mut contenders {
            // Twice: what a call uses up is there again.
            contender.call.once(&mut contender.output).unwrap();
            contender.call.once(&mut contender.output).unwrap();
        }
        if group.same_output {
            let agreement = crate::bench::measure::check_agreement(&contenders);
            assert_eq!(agreement, Ok(()), "{}", group.id);
            assert!(contenders[0].output.iter().any(|&byte| byte != 0), "{}", group.id);
        }
        let names: Vec<_> = contenders.iter().map(|contender| &contender.name[..]).collect();
        let has_base = group.base.is_some_and(|base| names.contains(&base));
        assert!(has_base || OpenSsl::get().is_err(), "{}", group.id);
        for (one, other) in &group.pairs {
            let there = |name: &String| names.contains(&&name[..]);
            assert!(there(one) && (there(other) || OpenSsl::get().is_err()), "{}", group.id);
        }
        seen += 1;
    }
    assert_eq!(seen, parts.len());
}

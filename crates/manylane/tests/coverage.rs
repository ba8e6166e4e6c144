//! Which machines this run covers, said aloud.
//!
//! The list of this architecture's machines: `cargo test -p manylane --test coverage -- --nocapture`.
//! A machine that is left out is also named when tests pass in silence. The environment variable
//! `MANYLANE_REQUIRE`, machines separated by commas or `all` of this architecture, makes leaving
//! one of them out a failure.

mod common;

use std::io::Write;

use common::{Presence, presence};
use manylane::{
    aes::Aes128,
    cpu::{self, Machine},
    sha3::{self, Sha3_256, Shake128},
    sm3::{IV, Lanes, Sm3},
    sm4::Sm4,
};

const REQUIRE: &str = "MANYLANE_REQUIRE";

#[test]
fn machines_of_this_architecture() {
    // Each list in one piece, so that the test harness writes nothing in between.
    let (mut all, mut not_run) = (String::from("\n"), String::from("\n"));
    for machine in Machine::ALL {
        let presence = presence(machine);
        if presence != Presence::Foreign {
            all += &format!("machine {machine}: {presence}\n");
        }
        match presence {
            Presence::Run | Presence::Foreign => {}
            Presence::Absent => not_run += &format!("not run on this processor: {machine}\n"),
            Presence::Capped => not_run += &format!("not run: {machine}, {presence}\n"),
        }
    }
    print!("{all}");
    if not_run != "\n" {
        // Past the test harness, which keeps to itself what a passing test prints.
        std::io::stderr().write_all(not_run.as_bytes()).unwrap();
    }
}

#[test]
fn required_machines_run() {
    let Ok(required) = std::env::var(REQUIRE) else { return };
    let missing: Vec<String> = parse(&required)
        .unwrap_or_else(|word| panic!("{REQUIRE} names no machine by {word:?}"))
        .into_iter()
        .filter(|&machine| presence(machine) != Presence::Run)
        .map(|machine| format!("{machine}: {}", presence(machine)))
        .collect();
    assert!(missing.is_empty(), "{REQUIRE}={required}, but {}", missing.join(", "));
}

/// The machines of a list, of which `all` are this architecture's; or the word that names none.
fn parse(list: &str) -> Result<Vec<Machine>, &str> {
    let mut machines = Vec::new();
    for word in list.split(',').map(str::trim).filter(|word| !word.is_empty()) {
        match (word, Machine::from_name(word)) {
            ("all", _) => machines
                .extend(Machine::ALL.into_iter().filter(|&m| presence(m) != Presence::Foreign)),
            (_, Some(machine)) => machines.push(machine),
            (_, None) => return Err(word),
        }
    }
    Ok(machines)
}

#[test]
fn required_machines_are_read_strictly() {
    assert_eq!(parse("portable, avx2,"), Ok(vec![Machine::Portable, Machine::Avx2]));
    assert!(parse("all").unwrap().contains(&Machine::Portable));
    assert_eq!(parse(""), Ok(vec![]));
    assert_eq!(parse("sse,avx1024"), Err("avx1024"));
}

/// A name that the library does not know would be ignored, and the tests then cover something else
/// than their caller believes.
#[test]
fn the_cap_names_a_machine_of_this_processor() {
    let forced = cpu::forced();
    assert!(forced.is_ok(), "{}={:?}", cpu::FORCE, forced);
}

#[test]
fn the_library_sees_what_the_processor_reports() {
    for machine in Machine::ALL {
        let presence = presence(machine);
        assert_eq!(machine.is_native(), presence != Presence::Foreign, "{machine}");
        let detected = matches!(presence, Presence::Run | Presence::Capped);
        assert_eq!(machine.is_detected(), detected, "{machine}");
        assert_eq!(machine.is_available(), presence == Presence::Run, "{machine}");
    }
}

#[test]
fn every_machine_that_runs_has_a_kernel_and_no_other_has() {
    for machine in Machine::ALL {
        let runs = presence(machine) == Presence::Run;
        let lanes = runs && common::has_lanes(machine);
        let stream = runs && common::has_stream(machine);
        assert_eq!(Lanes::new_on(machine).is_ok(), lanes, "lanes of {machine}");
        assert_eq!(Sm3::new_on(machine).is_ok(), stream, "stream of {machine}");
        let sha3_lanes = runs && common::sha3::has_lanes(machine);
        let sha3_stream = runs && common::sha3::has_stream(machine);
        let function = sha3::Function::SHA3_256;
        assert_eq!(sha3::Lanes::new_on(function, machine).is_ok(), sha3_lanes, "{machine}");
        assert_eq!(Sha3_256::new_on(machine).is_ok(), sha3_stream, "{machine}");
        assert_eq!(Shake128::new_on(machine).is_ok(), sha3_stream, "{machine}");
        let hashes = lanes || stream || sha3_lanes || sha3_stream;
        let blocks =
            Aes128::new_on(machine, &[0; 16]).is_ok() || Sm4::new_on(machine, &[0; 16]).is_ok();
        // IFMA multiplies for SM2 alone, whose tests are in the library.
        let runs = runs && machine != Machine::Ifma;
        assert!(hashes || blocks || !runs, "{machine} runs nothing");
    }
}

#[test]
fn the_most_capable_machine_is_chosen() {
    let mut lanes = Lanes::new();
    let block = [0; 64];
    lanes.set(0, &IV);
    let kernel = lanes.compress(&vec![&block[..]; lanes.count()]);
    common::assert_kernel(kernel, common::lane_machines().last().unwrap());
    let kernel = sha3::Lanes::new(sha3::Function::SHA3_256).permute();
    common::sha3::assert_kernel(kernel, common::sha3::best_lanes());
}

//! One stream, cut in every way, on every machine that has a kernel for it.

mod common;

use common::{oracle, stream_machines};
use digest::{FixedOutputReset, Reset, common::hazmat::SerializableState};
use manylane::{
    cpu::Machine,
    sm3::{Digest, Midstate, Sm3},
};
use manylane_vectors::painted;

fn on(machine: Machine) -> Sm3 {
    Sm3::new_on(machine).unwrap()
}

fn finish(sm3: Sm3) -> [u8; 32] {
    sm3.finalize().into()
}

/// Places around every edge of a block, up to `blocks` of them.
fn edges(blocks: usize) -> impl Iterator<Item = usize> + Clone {
    (0..=blocks).flat_map(|k| [(64 * k).wrapping_sub(1), 64 * k, 64 * k + 1]).skip(1)
}

#[test]
fn two_cuts_around_the_edges_of_blocks() {
    let message = painted(64 * 5 + 20, 0);
    for len in [message.len(), 64 * 5, 64 * 4 + 56, 64 * 3 + 55] {
        let message = &message[..len];
        let expected = oracle(&[message]);
        for machine in stream_machines() {
            for first in edges(5).filter(|&first| first <= len) {
                for second in edges(5).filter(|&second| first <= second && second <= len) {
                    let mut sm3 = on(machine);
                    sm3.update(&message[..first]);
                    sm3.update(&message[first..second]);
                    sm3.update(&message[second..]);
                    assert_eq!(finish(sm3), expected, "{machine}: {first}, {second}, {len}");
                }
            }
        }
    }
}

#[test]
fn updates_of_one_size() {
    let message = painted(700, 8);
    let expected = oracle(&[&message]);
    for machine in stream_machines() {
        for size in (1..=10).chain(edges(3).skip(3)).chain([100, 699]) {
            let mut sm3 = on(machine);
            for part in message.chunks(size) {
                sm3.update(part);
                sm3.update([]);
            }
            assert_eq!(finish(sm3), expected, "{machine}: updates of {size} bytes");
        }
    }
}

/// Streams expand the words of several blocks at once; every number of blocks from none to more
/// than two such batches, with every kind of rest, wherever the input begins.
#[test]
fn numbers_of_blocks() {
    let data = painted(64 * 42 + 64, 5);
    for blocks in 0..=40 {
        for rest in [0, 1, 55, 56, 63] {
            let skew = (blocks * 5 + rest) % 64;
            let message = &data[skew..][..64 * blocks + rest];
            let expected = oracle(&[message]);
            for machine in stream_machines() {
                let digest = finish(on(machine).chain_update(message));
                assert_eq!(digest, expected, "{machine}: {blocks} blocks and {rest} bytes");
            }
        }
    }
}

/// The chaining value is handed over between batches of blocks, in whatever numbers they come.
#[test]
fn numbers_of_blocks_one_after_another() {
    let message = painted(64 * 40, 6);
    let expected = oracle(&[&message]);
    for machine in stream_machines() {
        for first in 0..=40 {
            for second in [0, 1, 7, 8, 9, 15, 16, 17] {
                let (head, rest) = message.split_at(64 * first);
                let (middle, tail) = rest.split_at(rest.len().min(64 * second));
                let sm3 = on(machine).chain_update(head).chain_update(middle);
                let digest = finish(sm3.chain_update(tail));
                assert_eq!(digest, expected, "{machine}: {first}, then {second} blocks");
            }
        }
    }
}

#[test]
fn unaligned_input() {
    let data = painted(64 * 35 + 64, 2);
    for skew in 0..64 {
        for len in [64, 64 * 8, 64 * 16, 64 * 33 + 3] {
            let message = &data[skew..skew + len];
            let expected = oracle(&[message]);
            for machine in stream_machines() {
                let digest = finish(on(machine).chain_update(message));
                assert_eq!(digest, expected, "{machine}: {len} bytes from {skew}");
            }
        }
    }
}

/// Every place in three blocks: what is taken from a hasher there continues as the hasher does.
#[test]
fn copies_midstates_and_serialized_states() {
    let message = painted(64 * 3 + 30, 4);
    let expected = oracle(&[&message]);
    for machine in stream_machines() {
        for cut in 0..=64 * 3 {
            let (head, tail) = message.split_at(cut);
            let sm3 = on(machine).chain_update(head);
            let copy = sm3.clone();
            let state = sm3.serialize();
            let midstate = sm3.midstate();
            // What happens to the original reaches none of them.
            assert_eq!(finish(sm3.chain_update(b"x")), oracle(&[head, b"x"]), "{machine}");

            assert_eq!(finish(copy.chain_update(tail)), expected, "{machine}: copy at {cut}");
            let revived = Sm3::deserialize(&state).unwrap();
            assert_eq!(finish(revived.chain_update(tail)), expected, "{machine}: state at {cut}");
            assert_eq!(midstate.prefix_len(), cut as u64);
            assert_eq!(midstate.finish(tail), expected, "{machine}: midstate at {cut}");
            assert_eq!(Midstate::after(head).finish(tail), expected);
        }
    }
}

/// A state that a hasher cannot have been in is refused, not continued.
#[test]
fn serialized_states_are_checked() {
    let state = Sm3::new().chain_update([1; 70]).serialize();
    assert!(Sm3::deserialize(&state).is_ok());
    let mut forged = state;
    let buffer = forged.len() - 64; // the buffer's length, then its 63 bytes
    assert_eq!(forged[buffer], 6);
    forged[buffer] = 64;
    assert!(Sm3::deserialize(&forged).is_err());
}

#[test]
fn reset_leaves_nothing_behind() {
    let expected = oracle(&[b"abc"]);
    for machine in stream_machines() {
        for len in [0, 1, 63, 64, 65, 64 * 17 + 1] {
            let mut sm3 = on(machine).chain_update(painted(len, 0));
            Reset::reset(&mut sm3);
            assert_eq!(finish(sm3.chain_update(b"abc")), expected, "{machine}: reset at {len}");

            let mut sm3 = on(machine).chain_update(painted(len, 0));
            let digest: [u8; 32] = sm3.finalize_fixed_reset().into();
            assert_eq!(digest, oracle(&[&painted(len, 0)]));
            assert_eq!(finish(sm3.chain_update(b"abc")), expected, "{machine}: finished at {len}");
        }
    }
}

/// No stream stands in for another, however many blocks it is given at once.
#[test]
fn the_machine_that_was_asked_for_runs() {
    for machine in stream_machines() {
        for blocks in [1, 2, 7, 8, 9, 16, 17, 33] {
            let sm3 = on(machine).chain_update(painted(63, 0));
            assert_eq!(sm3.kernel(), None, "{machine}: no block is full");
            let sm3 = sm3.chain_update(painted(64 * blocks, 1));
            assert_eq!(sm3.kernel().unwrap().machine(), machine, "{blocks} blocks");
        }
    }
}

#[test]
fn a_reset_hasher_has_no_kernel_yet() {
    let mut sm3 = Sm3::new();
    sm3.update([0; 64]);
    assert!(sm3.kernel().is_some());
    let first = sm3.finalize_reset();
    assert_eq!(sm3.kernel(), None);
    sm3.update([0; 64]);
    assert_eq!(sm3.finalize(), first);
}

#[test]
fn a_state_of_too_many_blocks_is_refused() {
    let mut state = Sm3::new().serialize();
    state[32..40].fill(0xff);
    assert!(Sm3::deserialize(&state).is_err());
}

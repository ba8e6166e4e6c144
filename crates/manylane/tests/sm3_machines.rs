//! Every machine's kernels against `portable`.

use manylane::{
    Messages,
    cpu::Machine,
    sm3::{self, Digest, Midstate, Sm3},
};

fn lane_machines() -> impl Iterator<Item = Machine> {
    Machine::ALL.into_iter().filter(|&m| sm3::Lanes::new_on(m).is_ok())
}

fn data(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i % 251) as u8).collect()
}

fn expected(message: &[u8]) -> [u8; 32] {
    let mut sm3 = Sm3::new_on(Machine::Portable).unwrap();
    sm3.update(message);
    sm3.finalize().into()
}

#[test]
fn equal_lengths() {
    let data = data(40_000);
    for machine in lane_machines() {
        for len in 0..=260 {
            for count in [1, 3, 16, 17, 31] {
                let messages = Messages::strided(&data, len, len + 1, count).unwrap();
                let mut out = vec![[0; 32]; count];
                let kernel =
                    sm3::hash_many_on(machine, &Midstate::default(), &messages, &mut out).unwrap();
                assert_eq!(kernel.unwrap().machine(), machine);
                for (i, digest) in out.iter().enumerate() {
                    assert_eq!(*digest, expected(messages.get(i)), "{machine} {len} {count} {i}");
                }
            }
        }
    }
}

#[test]
fn unequal_lengths_with_prefixes() {
    let data = data(10_000);
    for prefix in [0, 1, 32, 63, 64, 65, 130] {
        let start = Midstate::after(&data[..prefix]);
        let slices: Vec<&[u8]> = (0..200).map(|i| &data[i..i + (i * 37) % 700]).collect();
        let messages = Messages::slices(&slices);
        for machine in lane_machines() {
            let mut out = vec![[0; 32]; slices.len()];
            let kernel = sm3::hash_many_on(machine, &start, &messages, &mut out).unwrap();
            assert_eq!(kernel.unwrap().machine(), machine);
            for (digest, slice) in out.iter().zip(&slices) {
                assert_eq!(*digest, expected(&[&data[..prefix], slice].concat()));
            }
            sm3::hash_many_after(&start, &messages, &mut out).unwrap();
            for (digest, slice) in out.iter().zip(&slices) {
                assert_eq!(*digest, expected(&[&data[..prefix], slice].concat()));
            }
        }
    }
}

//! XTS of anything: the same on every machine, one unit or many, and back again.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use manylane::{
    aes::Aes256,
    block::{BlockCipher, TweakOrder, Xts},
    cpu::Machine,
    sm4::Sm4,
};

#[derive(Arbitrary, Debug)]
struct Input {
    is_sm4: bool,
    is_gb: bool,
    machine: u8,
    first: u128,
    unit_len: u16,
    data: Vec<u8>,
}

fuzz_target!(|input: Input| {
    let machine = Machine::ALL[usize::from(input.machine) % Machine::ALL.len()];
    if input.is_sm4 {
        let of = |machine| Sm4::new_on(machine, &[3; 16]).ok().zip(Sm4::new_on(machine, &[4; 16]).ok());
        check(of(Machine::Portable), of(machine), &input);
    } else {
        let of =
            |machine| Aes256::new_on(machine, &[3; 32]).ok().zip(Aes256::new_on(machine, &[4; 32]).ok());
        check(of(Machine::Portable), of(machine), &input);
    }
});

fn check<C: BlockCipher>(oracle: Option<(C, C)>, ciphers: Option<(C, C)>, input: &Input) {
    let order = if input.is_gb { TweakOrder::Gb } else { TweakOrder::Ieee };
    let (Some((a, b)), Some((c, d))) = (oracle, ciphers) else { return };
    let oracle = Xts::from_ciphers(a, b, order);
    let xts = Xts::from_ciphers(c, d, order);
    let unit_len = usize::from(input.unit_len);
    let mut data = input.data.clone();
    if xts.encrypt_units(input.first, unit_len, &mut data).is_err() {
        assert_eq!(data, input.data);
        return;
    }
    let mut one_by_one = input.data.clone();
    for (i, unit) in (0..).zip(one_by_one.chunks_mut(unit_len)) {
        let tweak = input.first.wrapping_add(i).to_le_bytes();
        oracle.encrypt(&tweak, unit).unwrap();
    }
    assert!(data == one_by_one);
    xts.decrypt_units(input.first, unit_len, &mut data).unwrap();
    assert!(data == input.data);
}

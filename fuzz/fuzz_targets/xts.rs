//! XTS of anything: on every machine, one unit or many, what the standard's definition says, and back again.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use manylane::{
    aes::Aes256,
    block::{Block, BlockCipher, TweakOrder, Xts, ecb},
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
        let of =
            |machine| Sm4::new_on(machine, &[3; 16]).ok().zip(Sm4::new_on(machine, &[4; 16]).ok());
        check(of(Machine::Portable), of(machine), &input);
    } else {
        let of = |machine| {
            Aes256::new_on(machine, &[3; 32]).ok().zip(Aes256::new_on(machine, &[4; 32]).ok())
        };
        check(of(Machine::Portable), of(machine), &input);
    }
});

fn check<C: BlockCipher>(oracle: Option<(C, C)>, ciphers: Option<(C, C)>, input: &Input) {
    let order = if input.is_gb { TweakOrder::Gb } else { TweakOrder::Ieee };
    let (Some((a, b)), Some((c, d))) = (oracle, ciphers) else { return };
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
        by_definition([&a, &b], order, tweak, unit);
    }
    assert!(data == one_by_one);
    xts.decrypt_units(input.first, unit_len, &mut data).unwrap();
    assert!(data == input.data);
}

/// IEEE 1619-2018, clauses 5.3.1 and 5.3.2, a block and a bit at a time. `unit` has a block or more.
fn by_definition<C: BlockCipher>(
    [data, tweak]: [&C; 2],
    order: TweakOrder,
    mut t: Block,
    unit: &mut [u8],
) {
    let encrypt = |cipher: &C, block: &mut [u8]| {
        ecb::Encryptor::new(cipher.clone()).update(block).unwrap();
    };
    let xor = |block: &mut [u8], t: &Block| block.iter_mut().zip(t).for_each(|(b, t)| *b ^= t);
    encrypt(tweak, &mut t);
    let mut next = |block: &mut [u8]| {
        xor(block, &t);
        encrypt(data, block);
        xor(block, &t);
        t = times_alpha(order, t);
    };
    let whole = unit.len() / 16 * 16;
    unit[..whole].chunks_mut(16).for_each(&mut next);
    if whole < unit.len() {
        let (block, rest) = unit[whole - 16..].split_at_mut(16);
        block[..rest.len()].swap_with_slice(rest);
        next(block);
    }
}

/// Clause 5.2 of IEEE 1619-2018, byte after byte; in the order of GB/T 17964 the bits of each go the other way.
fn times_alpha(order: TweakOrder, t: Block) -> Block {
    let turn = |byte: u8| if order == TweakOrder::Gb { byte.reverse_bits() } else { byte };
    let mut carry = 0;
    let mut product = t.map(|byte| {
        let moved = turn(byte) << 1 | carry;
        carry = turn(byte) >> 7;
        turn(moved)
    });
    product[0] ^= turn(0x87 * carry);
    product
}

//! Counter mode at any place: the blocks that its definition gives, in parts, after a seek, and by `xor`; a counter that
//! would come round is refused, and nothing changed.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use manylane::{
    Error,
    aes::Aes128,
    block::{Block, BlockCipher, Ctr, ecb},
    cpu::Machine,
    sm4::Sm4,
};

#[derive(Arbitrary, Debug)]
struct Input {
    is_sm4: bool,
    bits: u8,
    machine: u8,
    key: [u8; 16],
    first: Block,
    /// Where to go, from the beginning or back from the end of the key stream of 32 bits.
    position: u64,
    is_near_end: bool,
    cut: u16,
    data: Vec<u8>,
}

fuzz_target!(|input: Input| {
    let machine = Machine::ALL[usize::from(input.machine) % Machine::ALL.len()];
    if input.is_sm4 {
        let cipher = Sm4::new_on(machine, &input.key).unwrap_or_else(|_| Sm4::new(&input.key));
        of_bits(&Sm4::new_on(Machine::Portable, &input.key).unwrap(), &cipher, &input);
    } else {
        let cipher = Aes128::new_on(machine, &input.key);
        let cipher = cipher.unwrap_or_else(|_| Aes128::new(&input.key));
        of_bits(&Aes128::new_on(Machine::Portable, &input.key).unwrap(), &cipher, &input);
    }
});

fn of_bits<C: BlockCipher>(oracle: &C, cipher: &C, input: &Input) {
    match input.bits % 3 {
        0 => check::<C, 32>(oracle, cipher, input),
        1 => check::<C, 64>(oracle, cipher, input),
        _ => check::<C, 128>(oracle, cipher, input),
    }
}

fn check<C: BlockCipher, const BITS: u32>(oracle: &C, cipher: &C, input: &Input) {
    let position = match input.is_near_end {
        true => (1 << 36) - input.position % 4096,
        false => input.position,
    };
    let end = if BITS == 32 { 1 << 36 } else { u64::MAX };
    let fits = position.checked_add(input.data.len() as u64).is_some_and(|last| last <= end);
    let ctr = Ctr::<C, BITS>::new(cipher.clone(), &input.first);
    let mut at_once = input.data.clone();
    let result = ctr.xor(position, &mut at_once);
    let mut in_parts = input.data.clone();
    let mut going = ctr.clone();
    let seek = going.set_position(position);
    assert_eq!(seek.is_ok(), position <= end);
    if !fits {
        assert_eq!((result, &at_once), (Err(Error::CounterWrap), &input.data));
        if seek.is_ok() {
            assert_eq!(going.update(&mut in_parts), Err(Error::CounterWrap));
            assert!(in_parts == input.data && going.position() == position);
        }
        return;
    }
    let mut expected = input.data.clone();
    by_definition::<C, BITS>(oracle, &input.first, position, &mut expected);
    assert!(result.is_ok() && at_once == expected);
    let (head, tail) = in_parts.split_at_mut(usize::from(input.cut) % (input.data.len() + 1));
    going.update(head).unwrap();
    going.update(tail).unwrap();
    assert!(in_parts == expected);
}

/// SP 800-38A, clause 6.5 and Appendix B.1, a byte at a time.
fn by_definition<C: BlockCipher, const BITS: u32>(
    cipher: &C,
    first: &Block,
    position: u64,
    data: &mut [u8],
) {
    let first = u128::from_be_bytes(*first);
    let mask = u128::MAX >> (128 - BITS);
    let mut stream = (u64::MAX, [0; 16]);
    for (byte, place) in data.iter_mut().zip(position..) {
        let block = place / 16;
        if stream.0 != block {
            let counter = first & !mask | first.wrapping_add(block.into()) & mask;
            stream = (block, counter.to_be_bytes());
            ecb::Encryptor::new(cipher.clone()).update(&mut stream.1).unwrap();
        }
        *byte ^= stream.1[(place % 16) as usize];
    }
}

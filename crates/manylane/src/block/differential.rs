//! Kernels of any cipher and machine against the modes' definitions, block by block, over another
//! implementation of the cipher.

use super::{
    Block, BlockCipher, TweakOrder,
    kernels::{Chains, Kernels, xor},
    lanes::times_alpha,
};
use crate::{
    cpu::Machine,
    ghash::{self, Ghash},
};

/// Numbers of blocks: all of a group of any machine and more, and both sides of five groups of the
/// largest.
fn lengths() -> impl Iterator<Item = usize> {
    (0..=34).chain([47, 48, 49, 63, 64, 65, 95, 96, 97, 127, 128, 129, 159, 160, 161])
}

/// Blocks without a pattern.
fn blocks(count: usize) -> Vec<Block> {
    let mut state = 0x243f_6a88_85a3_08d3_u64;
    let mut byte = || {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (state >> 56) as u8
    };
    (0..count).map(|_| core::array::from_fn(|_| byte())).collect()
}

/// Checks every kernel of `cipher`; `encrypt` and `decrypt` are one block of the other implementation.
pub(crate) fn check<C: BlockCipher>(
    cipher: &C,
    encrypt: &dyn Fn(Block) -> Block,
    decrypt: &dyn Fn(Block) -> Block,
) {
    let about = format!("{} on {}", core::any::type_name::<C>(), cipher.machine());
    for count in lengths() {
        let about = format!("{about}, {count} blocks");
        by_itself(cipher, encrypt, decrypt, count, &about);
        counters(cipher, encrypt, count, &about);
        hashed(cipher, count, &about);
        chained(cipher, encrypt, decrypt, count, &about);
        tweaked(cipher, encrypt, decrypt, count, &about);
    }
    side_by_side(cipher, &about);
}

fn by_itself<C: Kernels>(
    cipher: &C,
    encrypt: &dyn Fn(Block) -> Block,
    decrypt: &dyn Fn(Block) -> Block,
    count: usize,
    about: &str,
) {
    let data = blocks(count);
    let mut got = data.clone();
    cipher.encrypt_each(&mut got);
    assert_eq!(got, data.iter().map(|&b| encrypt(b)).collect::<Vec<_>>(), "encrypt {about}");
    let mut got = data.clone();
    cipher.decrypt_each(&mut got);
    assert_eq!(got, data.iter().map(|&b| decrypt(b)).collect::<Vec<_>>(), "decrypt {about}");
    let mut got = data.clone();
    got.iter_mut().for_each(|block| cipher.encrypt_one(block));
    assert_eq!(got, data.iter().map(|&b| encrypt(b)).collect::<Vec<_>>(), "one block {about}");
}

fn counters<C: Kernels>(cipher: &C, encrypt: &dyn Fn(Block) -> Block, count: usize, about: &str) {
    // From a small number, and over the end of what four bytes count.
    for low in [1, u32::MAX - 16] {
        let mut counter = blocks(1)[0];
        let mut expected = blocks(count);
        for (i, block) in (0..).zip(&mut expected) {
            counter[12..].copy_from_slice(&u32::to_be_bytes(low.wrapping_add(i)));
            xor(block, &encrypt(counter));
        }
        counter[12..].copy_from_slice(&low.to_be_bytes());
        let mut got = blocks(count);
        cipher.xor_counters(&counter, &mut got);
        assert_eq!(got, expected, "counters {about}");
    }
}

/// GCM's loops against counters and hash by themselves, both of which are checked elsewhere, with hashes of every
/// machine.
fn hashed<C: Kernels>(cipher: &C, count: usize, about: &str) {
    let counter = [0xff; 16];
    let (plain, mut encrypted) = (blocks(count), blocks(count));
    cipher.xor_counters(&counter, &mut encrypted);
    for machine in Machine::ALL {
        let Ok(key) = ghash::Key::new_on(machine, &[0x42; 16]) else { continue };
        let mut hash = Ghash::new(&key);
        hash.update(&[[0x11; 16]]);
        let (mut of_encryption, mut of_decryption) = (hash.clone(), hash.clone());
        hash.update(&encrypted);
        let mut data = plain.clone();
        cipher.gcm_encrypt(&mut of_encryption, &counter, &mut data);
        assert_eq!((&data, of_encryption.value()), (&encrypted, hash.value()), "GCM {about}");
        cipher.gcm_decrypt(&mut of_decryption, &counter, &mut data);
        assert_eq!((&data, of_decryption.value()), (&plain, hash.value()), "GCM {about}");
    }
}

fn chained<C: Kernels>(
    cipher: &C,
    encrypt: &dyn Fn(Block) -> Block,
    decrypt: &dyn Fn(Block) -> Block,
    count: usize,
    about: &str,
) {
    let (data, iv) = (blocks(count), [0x5a; 16]);
    type Step<'a> = &'a dyn Fn(&mut Block, &Block) -> Block;
    let run = |step: Step<'_>, kernel: &dyn Fn(&mut Block, &mut [Block]), name: &str| {
        let mut before = iv;
        let expected: Vec<Block> = data.iter().map(|block| step(&mut before, block)).collect();
        // In two parts, so that the vector between them counts.
        let (mut got, mut state) = (data.clone(), iv);
        let (head, tail) = got.split_at_mut(count / 3);
        kernel(&mut state, head);
        kernel(&mut state, tail);
        assert_eq!((got, state), (expected, before), "{name} {about}");
    };
    let sum = |mut a: Block, b: &Block| {
        xor(&mut a, b);
        a
    };
    run(
        &|before, block| {
            *before = encrypt(sum(*before, block));
            *before
        },
        &|iv, data| cipher.cbc_encrypt(iv, data),
        "CBC encryption",
    );
    run(
        &|before, block| sum(decrypt(*block), &core::mem::replace(before, *block)),
        &|iv, data| cipher.cbc_decrypt(iv, data),
        "CBC decryption",
    );
    run(
        &|before, block| {
            *before = sum(encrypt(*before), block);
            *before
        },
        &|iv, data| cipher.cfb_encrypt(iv, data),
        "CFB encryption",
    );
    run(
        &|before, block| sum(encrypt(core::mem::replace(before, *block)), block),
        &|iv, data| cipher.cfb_decrypt(iv, data),
        "CFB decryption",
    );
    run(
        &|before, block| {
            *before = encrypt(*before);
            sum(*before, block)
        },
        &|iv, data| cipher.ofb_xor(iv, data),
        "OFB",
    );
    run(
        &|before, block| {
            *before = encrypt(sum(*before, block));
            *block
        },
        &|mac, data| cipher.cbc_mac(mac, data),
        "CBC-MAC",
    );
}

fn tweaked<C: Kernels>(
    cipher: &C,
    encrypt: &dyn Fn(Block) -> Block,
    decrypt: &dyn Fn(Block) -> Block,
    count: usize,
    about: &str,
) {
    type Xts<C> = fn(&C, TweakOrder, &mut Block, &mut [Block]);
    for order in [TweakOrder::Ieee, TweakOrder::Gb] {
        for (kernel, one) in [(C::xts_encrypt as Xts<C>, encrypt), (C::xts_decrypt, decrypt)] {
            // Both ends of this tweak are ones, so that every product is reduced in either order.
            let first: Block = core::array::from_fn(|i| 0xff - i as u8);
            let (mut expected, mut tweak) = (blocks(count), first);
            for block in &mut expected {
                xor(block, &tweak);
                *block = one(*block);
                xor(block, &tweak);
                tweak = times_alpha(order, &tweak);
            }
            let (mut got, mut state) = (blocks(count), first);
            let (head, tail) = got.split_at_mut(count / 3);
            kernel(cipher, order, &mut state, head);
            kernel(cipher, order, &mut state, tail);
            assert_eq!((got, state), (expected, tweak), "XTS, {order:?}, {about}");
        }
    }
}

/// Messages in lanes, some of which rest, against the same messages one by one.
fn side_by_side<C: Kernels>(cipher: &C, about: &str) {
    let mut chains = C::Chains::new(cipher);
    let lanes = chains.count();
    let mut ivs = blocks(lanes);
    for (lane, iv) in ivs.iter().enumerate() {
        chains.set(lane, cipher, iv);
    }
    for (turn, count) in [0, 1, 5, 16].into_iter().enumerate() {
        let rests = |lane: usize| turn == 2 && lane % 3 == 1;
        let mut data: Vec<Vec<Block>> =
            (0..lanes).map(|lane| blocks(lane + count)[lane..].to_vec()).collect();
        for (lane, data) in data.iter_mut().enumerate().filter(|(lane, _)| rests(*lane)) {
            data.clear();
            // Its chain is cut off by then.
            ivs[lane] = [lane as u8; 16];
        }
        let mut expected = data.clone();
        for (iv, data) in ivs.iter_mut().zip(&mut expected) {
            cipher.cbc_encrypt(iv, data);
        }
        chains.encrypt(&mut data.iter_mut().map(Vec::as_mut_slice).collect::<Vec<_>>());
        assert_eq!(data, expected, "side by side, {count} blocks, {about}");
        for lane in (0..lanes).filter(|&lane| rests(lane)) {
            chains.set(lane, cipher, &ivs[lane]);
        }
    }
}

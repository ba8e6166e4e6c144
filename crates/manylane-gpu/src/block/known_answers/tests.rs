use ctr::{
    Ctr32BE,
    cipher::{BlockCipherEncrypt, BlockSizeUser, KeyInit, KeyIvInit, StreamCipher, consts::U16},
};

use super::*;

#[path = "../../../tests/expansion/mod.rs"]
mod expansion;

/// The digests under a key by another implementation.
fn answers<C>(key: &[u8]) -> [[u8; DIGEST_LEN]; 2]
where
    C: BlockCipherEncrypt + BlockSizeUser<BlockSize = U16> + KeyInit,
    Ctr32BE<C>: KeyIvInit + StreamCipher,
{
    let cipher = C::new_from_slice(key).unwrap();
    let mut blocks = painted(BLOCKS * BLOCK_LEN, 0);
    for block in blocks.as_chunks_mut::<BLOCK_LEN>().0 {
        cipher.encrypt_block(block.into());
    }
    let mut text = painted(CTR_LEN, 0);
    let mut stream = Ctr32BE::<C>::new_from_slices(key, &counter().block()).unwrap();
    stream.apply_keystream(&mut text);
    [digest(&blocks), digest(&text)]
}

#[test]
fn the_answers_are_other_implementations() {
    let bytes = |keys: &[u128]| keys.iter().map(|key| key.to_be_bytes()).collect::<Vec<_>>();
    let got = [
        answers::<aes::Aes128>(&painted(16, 100)),
        answers::<aes::Aes192>(&painted(24, 100)),
        answers::<aes::Aes256>(&painted(32, 100)),
    ];
    for ((len, answers), got) in [16, 24, 32].into_iter().zip(&AES).zip(got) {
        assert_eq!(bytes(answers.round_keys), expansion::aes(&painted(len, 100)), "{len}");
        assert_eq!([answers.blocks, answers.ctr], got, "{len}");
    }
    let key = painted(16, 100);
    assert_eq!(SM4_ROUND_KEYS, expansion::sm4(key[..].try_into().unwrap()));
    assert_eq!([SM4_BLOCKS, SM4_CTR], answers::<sm4::Sm4>(&key));
}

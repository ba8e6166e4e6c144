use ctr::{
    Ctr32BE,
    cipher::{BlockCipherEncrypt, BlockSizeUser, KeyInit, KeyIvInit, StreamCipher, consts::U16},
};

use super::*;

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
    let got = [
        answers::<aes::Aes128>(&painted(16, 100)),
        answers::<aes::Aes192>(&painted(24, 100)),
        answers::<aes::Aes256>(&painted(32, 100)),
    ];
    for (answers, got) in AES.iter().zip(got) {
        assert_eq!([answers.blocks, answers.ctr], got, "{}", answers.key_len);
    }
    assert_eq!([SM4_BLOCKS, SM4_CTR], answers::<sm4::Sm4>(&painted(16, 100)));
}

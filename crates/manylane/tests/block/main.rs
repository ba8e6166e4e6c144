//! AES and SM4 in their modes of operation, on every machine.

#[path = "../common/mod.rs"]
mod common;

mod aead;
mod any;
mod ciphers;
mod known_answers;
mod limits;
mod machines;
mod many;
mod parts;
mod traits;

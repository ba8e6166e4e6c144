//! manylane as a provider of OpenSSL 3 and later: `OSSL_provider_init`, and behind it tables of functions for SM3, SHA-3, SM4,
//! AES in counter mode and SM2. The README says how to configure and what is there.
//!
//! | file | operation |
//! |---|---|
//! | `digest.rs` | SM3, SHA-3, SHAKE |
//! | `cipher.rs` | SM4 and AES: modes that hide, and with a tag |
//! | `keymgmt.rs`, `key.rs` | SM2 keys |
//! | `signature.rs`, `asym_cipher.rs`, `keyexch.rs` | what is done with them |
//! | `decoder.rs` | their files, which the default provider's encoders write |
//! | `entry.rs`, `core.rs`, `params.rs`, `abi.rs` | the boundary: guards, calls of the core, parameters, OpenSSL's numbers |
//!
//! Nothing of libcrypto is linked: what is needed of it comes by the table that `OSSL_provider_init` is given. There are no
//! threads. What the library keeps for the process is which code is best for the processor, which is found out when the provider
//! is loaded. So providers can be unloaded, and processes can fork, at any time.

mod abi;
mod asym_cipher;
mod cipher;
mod core;
mod decoder;
mod digest;
mod entry;
mod failure;
mod key;
mod keyexch;
mod keymgmt;
mod params;
mod provider;
mod signature;

pub use abi::Dispatch;
pub use provider::OSSL_provider_init;

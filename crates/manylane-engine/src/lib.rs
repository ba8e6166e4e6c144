//! Which machine does which part.
//!
//! [`manylane`] computes on the calling thread, from memory. This crate spreads that over the
//! cores of the machine and its GPUs, and feeds it from files, pipes and servers:
//!
//! | want | call |
//! |---|---|
//! | digests of many messages in memory, on all cores | [`Engine::hash_many`], [`Engine::hmac_many`] |
//! | KT128 or KT256 of one long message in memory | [`Engine::hash`] |
//! | digests of many files or other readers, in bounded memory | [`Engine::hash_sources`] |
//! | the digest of one long file on all cores | the same, with a [tree](manylane::hash::Algorithm::is_tree) |
//! | SM2 encryption of long messages | [`Engine::encrypt_in_place`], [`Engine::decrypt_in_place`] |
//! | a file encrypted on all cores, of any length and in bounded memory | [`Engine::encrypt_frame`], [`Engine::decrypt_frame`] |
//! | a stream computed piece by piece on all cores | [`Engine::pipe`] |
//! | digests of single messages that arrive from many tasks of a server | [`Batcher`] |
//! | what would run where, and why | [`Engine::explain`] |
//! | what ran where | [`Engine::shares`], [`Engine::warnings`] |
//!
//! Loading this crate starts nothing. Threads start when work first pays for them, and a process
//! made by `fork` gets its own.

mod batcher;
mod class;
mod config;
mod cost;
mod engine;
mod explain;
mod fleet;
pub mod frame;
mod function;
mod pipe;
mod plan;
mod runtime;
mod share;
mod sm2;
mod source;
mod sources;
mod together;

pub use batcher::{BatchFuture, Batcher, BatcherConfig, Closed};
pub use config::{Config, Device, Error};
pub use engine::Engine;
pub use explain::{Explanation, GpuExplanation};
pub use fleet::Share;
pub use function::Function;
pub use pipe::{Piece, PipeError};
pub use source::{Done, Progress, ReadAt, Source, Summary};

//! The `manylane` command as a user meets it: run as a process, against `cksum` and `openssl`.

mod algorithms;
mod bench;
mod block;
mod check;
mod gpu;
mod help;
mod info;
mod interop;
mod operands;
mod output;
mod sm2;
mod sum;
mod support;
mod tree;

//! The parts of the `manylane` command that have no side effects, apart so that they can be
//! fuzzed and tested without running it.

pub mod lines;

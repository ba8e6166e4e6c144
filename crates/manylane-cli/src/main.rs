//! The `manylane` command.

fn main() {}

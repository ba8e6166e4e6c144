//! Reader of `vectors/`.

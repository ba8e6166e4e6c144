//! Which machine does which part.

//! Finding a vendor's library at run time.
#![allow(unsafe_code)]

use std::error::Error as _;

use libloading::Library;

/// Loads the first library that is there, or says why none could be.
pub(crate) fn open(names: &[&'static str]) -> Result<(&'static str, Library), String> {
    let mut broken = None;
    for &name in names {
        // SAFETY: a vendor's runtime library; its initialisers only register its own state.
        match unsafe { Library::new(name) } {
            Ok(library) => return Ok((name, library)),
            // Whatever else the loader says, the file is there; what it lacks is worth knowing.
            Err(error) => {
                let why = error.source().unwrap_or(&error).to_string();
                let absent = why.starts_with(&format!("{name}: cannot open shared object file"));
                if !absent && broken.is_none() {
                    broken = Some(format!("{name} does not load: {why}"));
                }
            }
        }
    }
    Err(broken.unwrap_or_else(|| format!("none of {} is there", names.join(", "))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_looked_for_is_named() {
        let why = open(&["libno-such-1.so", "/no/such/libno-such-2.so"]).map(|_| ()).unwrap_err();
        assert_eq!(why, "none of libno-such-1.so, /no/such/libno-such-2.so is there");
    }

    #[test]
    fn a_library_that_is_there_but_does_not_load_is_named_with_the_reason() {
        let path = std::env::temp_dir().join(format!("manylane-no-library-{}", std::process::id()));
        std::fs::write(&path, "no shared library").unwrap();
        let name: &'static str = path.to_str().unwrap().to_string().leak();
        let why = open(&["libno-such.so", name]).err();
        std::fs::remove_file(&path).unwrap();
        let why = why.expect("not a library");
        assert!(why.contains(name) && !why.contains("none of"), "{why}");
    }
}

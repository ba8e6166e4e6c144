//! The key of `--hmac-key-file`.

use std::{fs::File, io::Read as _, os::unix::ffi::OsStrExt as _, path::Path};

use manylane_cli::lines::hex_value;
use zeroize::Zeroizing;

use crate::{
    complain,
    show::{Name, Reason},
};

/// Bytes of the longest key file. It keeps a slip such as /dev/zero from filling the memory.
const LONGEST: usize = 1 << 20;

/// Reads the key that `argument` names: a file's bytes, or for `hex:FILE` what its digits say.
pub(super) fn read(argument: &Path, verbose: bool) -> Result<Zeroizing<Vec<u8>>, String> {
    let hex = argument.as_os_str().as_bytes().strip_prefix(b"hex:");
    let path = hex.map_or(argument, |path| Path::new(std::ffi::OsStr::from_bytes(path)));
    let fail = |why: &dyn std::fmt::Display| format!("key file {}: {why}", Name(path));
    // All the room at once: growing would leave copies behind.
    let mut key = Zeroizing::new(Vec::with_capacity(LONGEST + 1));
    File::open(path)
        .and_then(|file| file.take(LONGEST as u64 + 1).read_to_end(&mut key))
        .map_err(|error| fail(&Reason(&error)))?;
    if key.len() > LONGEST {
        return Err(fail(&format_args!("longer than {LONGEST} bytes")));
    }
    if hex.is_some() {
        key = parse_hex(&key).ok_or_else(|| fail(&"not an even number of hexadecimal digits"))?;
    } else if verbose && key.last() == Some(&b'\n') {
        complain!("key file {}: the newline at its end is part of the key", Name(path));
    }
    if key.is_empty() {
        return Err(fail(&"empty"));
    }
    Ok(key)
}

fn parse_hex(text: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
    let mut key = Zeroizing::new(Vec::with_capacity(text.len() / 2));
    let mut high = None;
    for byte in text.iter().filter(|byte| !byte.is_ascii_whitespace()) {
        let value = hex_value(*byte)?;
        match high.take() {
            None => high = Some(value),
            Some(high) => key.push(high << 4 | value),
        }
    }
    high.is_none().then_some(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hexadecimal_keys_may_have_blanks() {
        assert_eq!(parse_hex(b"00 fF\n1\t2\r\n").unwrap()[..], [0, 255, 0x12]);
        assert!(parse_hex(b"0").is_none());
        assert!(parse_hex(b"0x00").is_none());
        assert!(parse_hex(b"").unwrap().is_empty());
    }
}

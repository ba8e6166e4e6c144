//! Keys, IVs and associated data.

use std::path::Path;

use manylane_cli::lines::hex_value;
use zeroize::Zeroizing;

use super::Family;
use crate::{
    filter::{Stop, read_secret},
    show::Name,
};

/// Bytes of the longest file that could hold a key.
const LONGEST_KEY: usize = 1024;

/// Bytes of associated data at most. They are kept in memory.
const LONGEST_AAD: usize = 16 << 20;

/// Reads a key of one of these lengths, as bytes or as digits.
pub(super) fn read(
    path: &Path,
    family: Family,
    lens: &[usize],
) -> Result<Zeroizing<Vec<u8>>, Stop> {
    let bytes = read_secret(path, LONGEST_KEY)?;
    if let Some(key) = lens.iter().find_map(|len| digits(&bytes, *len)) {
        return Ok(key);
    }
    if lens.contains(&bytes.len()) {
        return Ok(bytes);
    }
    let lens: Vec<_> = lens.iter().map(usize::to_string).collect();
    Err(Stop::Usage(format!(
        "{}: a key of {} has {} bytes here, as they are or as hexadecimal digits",
        Name(path),
        family.name(),
        lens.join(" or ")
    )))
}

/// A key of `len` bytes, if the text is its digits, maybe with a line end. Neither their values nor those of a key that
/// is no digits decide anything but that.
fn digits(text: &[u8], len: usize) -> Option<Zeroizing<Vec<u8>>> {
    let (digits, end) = text.split_at_checked(2 * len)?;
    let mut key = Zeroizing::new(vec![0; len]);
    let is_line = matches!(end, b"" | b"\n" | b"\r\n");
    (is_line && base16ct::mixed::decode(digits, &mut key).is_ok()).then_some(key)
}

/// Reads associated data.
pub(super) fn read_aad(path: &Path) -> Result<Vec<u8>, Stop> {
    read_secret(path, LONGEST_AAD).map(|aad| aad.to_vec())
}

/// The bytes of an IV.
#[derive(Clone, Debug)]
pub(super) struct Iv(pub(super) Vec<u8>);

/// Reads the digits of `--iv`.
pub(super) fn parse_iv(digits: &str) -> Result<Iv, &'static str> {
    let (pairs, rest) = digits.as_bytes().as_chunks();
    let byte = |[high, low]: &[u8; 2]| Some(hex_value(*high)? << 4 | hex_value(*low)?);
    match pairs.iter().map(byte).collect::<Option<Vec<u8>>>() {
        Some(iv) if rest.is_empty() && !iv.is_empty() => Ok(Iv(iv)),
        _ => Err("not an even number of hexadecimal digits"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_told_from_bytes() {
        assert_eq!(digits(b"00fF12", 3).unwrap()[..], [0, 255, 0x12]);
        assert_eq!(digits(b"00fF12\n", 3).unwrap()[..], [0, 255, 0x12]);
        assert_eq!(digits(b"00fF12\r\n", 3).unwrap()[..], [0, 255, 0x12]);
        for text in ["00fF1", "00fF123", "00fF12\n\n", "00fF1g", "0x00fF", ""] {
            assert!(digits(text.as_bytes(), 3).is_none(), "{text:?}");
        }
    }

    #[test]
    fn ivs_are_digits_and_nothing_else() {
        assert_eq!(parse_iv("01aF").unwrap().0, [1, 0xaf]);
        for text in ["", "0", "0g", "01 02", "0x01"] {
            assert!(parse_iv(text).is_err(), "{text:?}");
        }
    }
}

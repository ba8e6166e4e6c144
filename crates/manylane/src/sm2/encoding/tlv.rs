//! The little DER that signatures and ciphertexts need. It is written here and not taken from `der`
//! because that ends at 4 GiB and wants the whole encoding in memory, and a ciphertext may have more
//! and come from a pipe.

/// Tags of X.690.
pub(super) const INTEGER: u8 = 0x02;
pub(super) const OCTET_STRING: u8 = 0x04;
pub(super) const SEQUENCE: u8 = 0x30;

/// Reads DER from the beginning of some bytes. `None` is anything but DER of what was asked for.
pub(super) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Reader { rest: bytes }
    }

    /// What has not been read yet.
    pub(super) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// The length in the header of an element with this tag: definite and as short as can be.
    pub(super) fn header(&mut self, tag: u8) -> Option<u64> {
        let (&[found, first], rest) = self.rest.split_first_chunk()?;
        if found != tag {
            return None;
        }
        self.rest = rest;
        let count = match first {
            0..=0x7f => return Some(u64::from(first)),
            0x81..=0x88 => usize::from(first - 0x80),
            _ => return None,
        };
        let bytes = self.take(count)?;
        let length = bytes.iter().fold(0, |length, byte| length << 8 | u64::from(*byte));
        (bytes[0] != 0 && length >= 0x80).then_some(length)
    }

    /// The content of an element with this tag and exactly `N` bytes.
    pub(super) fn array<const N: usize>(&mut self, tag: u8) -> Option<[u8; N]> {
        if self.header(tag)? != N as u64 {
            return None;
        }
        self.take(N)?.try_into().ok()
    }

    /// An INTEGER in [0, 2²⁵⁶ − 1], in as few bytes as can be.
    pub(super) fn integer(&mut self) -> Option<[u8; 32]> {
        let length = self.header(INTEGER)?;
        if length > 33 {
            return None;
        }
        let digits = match self.take(length as usize)? {
            [0] => &[],
            [0, digits @ ..] if digits[0] >= 0x80 => digits,
            digits @ [1..0x80, ..] => digits,
            _ => return None,
        };
        let mut number = [0; 32];
        number.get_mut(32usize.checked_sub(digits.len())?..)?.copy_from_slice(digits);
        Some(number)
    }

    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(taken)
    }
}

/// Bytes of a header for that many bytes of content.
pub(super) fn header_len(length: u64) -> usize {
    match length {
        0..0x80 => 2,
        _ => 2 + (8 - length.leading_zeros() as usize / 8),
    }
}

/// Appends the header of an element.
pub(super) fn push_header(out: &mut impl Extend<u8>, tag: u8, length: u64) {
    out.extend([tag]);
    if length < 0x80 {
        out.extend([length as u8]);
    } else {
        let bytes = length.to_be_bytes();
        let digits = &bytes[length.leading_zeros() as usize / 8..];
        out.extend([0x80 | digits.len() as u8]);
        out.extend(digits.iter().copied());
    }
}

/// The bytes of a big-endian number's INTEGER, less its header: without leading zeros, but for the
/// one that keeps it from being negative.
pub(super) fn integer_digits(number: &[u8; 32]) -> (bool, &[u8]) {
    let zeros = number.iter().take(31).take_while(|byte| **byte == 0).count();
    (number[zeros] >= 0x80, &number[zeros..])
}

/// Bytes of a number's INTEGER.
pub(super) fn integer_len(number: &[u8; 32]) -> usize {
    let (zero, digits) = integer_digits(number);
    2 + usize::from(zero) + digits.len()
}

/// Appends an INTEGER.
pub(super) fn push_integer(out: &mut impl Extend<u8>, number: &[u8; 32]) {
    let (zero, digits) = integer_digits(number);
    push_header(out, INTEGER, (usize::from(zero) + digits.len()) as u64);
    out.extend(zero.then_some(0));
    out.extend(digits.iter().copied());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_come_back() {
        let edges = (0..64).flat_map(|bits| [(1 << bits) - 1, 1 << bits, (1 << bits) + 1]);
        for length in edges.chain([u64::MAX]) {
            let mut bytes = Vec::new();
            push_header(&mut bytes, OCTET_STRING, length);
            assert_eq!(bytes.len(), header_len(length), "{length}");
            let mut reader = Reader::new(&bytes);
            assert_eq!(reader.header(OCTET_STRING), Some(length));
            assert!(reader.rest().is_empty());
            assert_eq!(Reader::new(&bytes).header(SEQUENCE), None);
            assert_eq!(Reader::new(&bytes[..bytes.len() - 1]).header(OCTET_STRING), None);
        }
    }

    #[test]
    fn integers_come_back() {
        for bit in 0..256 {
            for fill in [0, 0xff] {
                let mut number = [0; 32];
                number[31 - bit / 8] = 1 << (bit % 8);
                number[32 - bit / 8..].fill(fill);
                let mut bytes = Vec::new();
                push_integer(&mut bytes, &number);
                assert_eq!(bytes.len(), integer_len(&number));
                assert_eq!(Reader::new(&bytes).integer(), Some(number));
                // One zero more, and none where one is needed, are not DER.
                let longer = [&[INTEGER, bytes[1] + 1, 0], &bytes[2..]].concat();
                assert_eq!(Reader::new(&longer).integer(), None);
                if bytes[2] == 0 {
                    let negative = [&[INTEGER, bytes[1] - 1], &bytes[3..]].concat();
                    assert_eq!(Reader::new(&negative).integer(), None);
                }
            }
        }
        let mut zero = Vec::new();
        push_integer(&mut zero, &[0; 32]);
        assert_eq!(zero, [INTEGER, 1, 0]);
        assert_eq!(Reader::new(&zero).integer(), Some([0; 32]));
        assert_eq!(Reader::new(&[INTEGER, 0]).integer(), None);
        assert_eq!(Reader::new(&[&[INTEGER, 33, 1][..], &[0; 32]].concat()).integer(), None);
    }
}

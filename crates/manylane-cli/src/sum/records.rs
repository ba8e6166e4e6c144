//! Records of a stream that end with one byte, in bounded memory.

use std::io::{self, BufRead, Read as _};

/// Bytes of the longest record that is handed out. Names have 4096 bytes at most, 8192 with every
/// byte escaped.
const LONGEST: usize = 64 << 10;

/// Hands out the records of a stream, numbered from 1; the last one need not have its end.
pub(super) struct Records<R> {
    reader: R,
    end: u8,
    number: u64,
    record: Vec<u8>,
}

impl<R: BufRead> Records<R> {
    pub(super) fn new(reader: R, end: u8) -> Self {
        Records { reader, end, number: 0, record: Vec::new() }
    }

    /// The next record without its end, or `None` in its place if it is too long.
    #[expect(clippy::type_complexity)]
    pub(super) fn next(&mut self) -> Option<io::Result<(u64, Option<&[u8]>)>> {
        self.record.clear();
        match (&mut self.reader).take(LONGEST as u64 + 1).read_until(self.end, &mut self.record) {
            Ok(0) => return None,
            Ok(_) => {}
            Err(error) => return Some(Err(error)),
        }
        self.number += 1;
        if self.record.last() == Some(&self.end) {
            self.record.pop();
        } else if self.record.len() > LONGEST {
            return Some(self.reader.skip_until(self.end).map(|_| (self.number, None)));
        }
        Some(Ok((self.number, Some(&self.record))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_split_and_long_ones_passed_over() {
        let mut text = b"a\n\n".to_vec();
        text.extend([b'x'; 3 * LONGEST]);
        text.extend(b"\nb");
        let mut records = Records::new(&text[..], b'\n');
        let mut next =
            || records.next().map(|r| r.map(|(n, r)| (n, r.map(<[u8]>::to_vec))).unwrap());
        assert_eq!(next(), Some((1, Some(b"a".to_vec()))));
        assert_eq!(next(), Some((2, Some(b"".to_vec()))));
        assert_eq!(next(), Some((3, None)));
        assert_eq!(next(), Some((4, Some(b"b".to_vec()))));
        assert_eq!(next(), None);
    }
}

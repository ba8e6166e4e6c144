//! The one input shape for many messages.

use crate::Error;

/// Many independent byte strings, borrowed in the layout the caller already has.
///
/// [`strided`](Self::strided) is a C-contiguous two-dimensional byte array (rows may be padded);
/// [`offsets32`](Self::offsets32) and [`offsets64`](Self::offsets64) are the buffers of Apache
/// Arrow `binary` and `large_binary` arrays (whose non-negative signed offsets have the same
/// bits); [`slices`](Self::slices) is anything else. Constructors check every bound once, so the
/// kernels need not.
#[derive(Clone, Copy)]
pub struct Messages<'a>(pub(crate) Shape<'a>);

/// How messages lie in memory, for those who copy them elsewhere as they lie.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub enum Shape<'a> {
    /// See [`Messages::strided`]. `data` begins with the first message.
    Strided {
        /// All messages and what lies between them, maybe more.
        data: &'a [u8],
        /// Bytes of each message.
        len: usize,
        /// Bytes from the start of one to that of the next.
        stride: usize,
        /// Number of messages.
        count: usize,
    },
    /// See [`Messages::offsets32`].
    Offsets32 {
        /// What the offsets count in.
        data: &'a [u8],
        /// Where each message starts, and the last one ends.
        offsets: &'a [u32],
    },
    /// See [`Messages::offsets64`].
    Offsets64 {
        /// What the offsets count in.
        data: &'a [u8],
        /// Where each message starts, and the last one ends.
        offsets: &'a [u64],
    },
    /// See [`Messages::slices`].
    Slices(&'a [&'a [u8]]),
}

impl<'a> Messages<'a> {
    /// `count` messages of `len` bytes, message `i` starting at byte `i * stride` of `data`.
    ///
    /// # Errors
    /// [`Error::Shape`] if the last message ends past `data`, or the rows overlap
    /// (`stride < len` with more than one message).
    pub fn strided(data: &'a [u8], len: usize, stride: usize, count: usize) -> Result<Self, Error> {
        if count > 1 && stride < len {
            return Err(Error::Shape("stride is shorter than the messages"));
        }
        if count > 0 {
            let end = (count - 1).checked_mul(stride).and_then(|start| start.checked_add(len));
            if end.is_none_or(|end| end > data.len()) {
                return Err(Error::Shape("the last message ends past the data"));
            }
        }
        Ok(Messages(Shape::Strided { data, len, stride, count }))
    }

    /// `offsets.len() - 1` messages: message `i` is `data[offsets[i]..offsets[i + 1]]`.
    /// No offsets at all mean no messages.
    ///
    /// # Errors
    /// [`Error::Offset`] if the offsets decrease or point past `data`.
    pub fn offsets32(data: &'a [u8], offsets: &'a [u32]) -> Result<Self, Error> {
        check_offsets(data.len(), offsets, |&o| u64::from(o))?;
        Ok(Messages(Shape::Offsets32 { data, offsets }))
    }

    /// As [`offsets32`](Self::offsets32), with 64-bit offsets.
    ///
    /// # Errors
    /// [`Error::Offset`] if the offsets decrease or point past `data`.
    pub fn offsets64(data: &'a [u8], offsets: &'a [u64]) -> Result<Self, Error> {
        check_offsets(data.len(), offsets, |&o| o)?;
        Ok(Messages(Shape::Offsets64 { data, offsets }))
    }

    /// One message a slice.
    pub fn slices(slices: &'a [&'a [u8]]) -> Self {
        Messages(Shape::Slices(slices))
    }

    /// Number of messages.
    pub fn len(&self) -> usize {
        match self.0 {
            Shape::Strided { count, .. } => count,
            Shape::Offsets32 { offsets, .. } => offsets.len().saturating_sub(1),
            Shape::Offsets64 { offsets, .. } => offsets.len().saturating_sub(1),
            Shape::Slices(slices) => slices.len(),
        }
    }

    /// Whether there are no messages.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Message `index`.
    ///
    /// # Panics
    /// If `index >= self.len()`.
    #[inline]
    pub fn get(&self, index: usize) -> &'a [u8] {
        match self.0 {
            Shape::Strided { data, len, stride, count } => {
                assert!(index < count, "message {index} of {count}");
                &data[index * stride..][..len]
            }
            Shape::Offsets32 { data, offsets } => {
                &data[offsets[index] as usize..offsets[index + 1] as usize]
            }
            Shape::Offsets64 { data, offsets } => {
                &data[offsets[index] as usize..offsets[index + 1] as usize]
            }
            Shape::Slices(slices) => slices[index],
        }
    }

    /// How they lie in memory. Bounds and order of offsets are as the constructors checked them.
    pub fn shape(&self) -> Shape<'a> {
        self.0
    }

    /// Whether all messages have one length by their shape.
    pub(crate) fn is_strided(&self) -> bool {
        matches!(self.0, Shape::Strided { .. })
    }

    /// Sum of the lengths in bytes.
    pub fn total_bytes(&self) -> u64 {
        match self.0 {
            Shape::Strided { len, count, .. } => len as u64 * count as u64,
            Shape::Offsets32 { offsets: [first, .., last], .. } => u64::from(last - first),
            Shape::Offsets64 { offsets: [first, .., last], .. } => last - first,
            Shape::Offsets32 { .. } | Shape::Offsets64 { .. } => 0,
            Shape::Slices(slices) => slices.iter().map(|s| s.len() as u64).sum(),
        }
    }

    /// Messages `start..end`, in the same layout and without a copy. Splits a batch among
    /// threads.
    ///
    /// # Panics
    /// If `start > end` or `end > self.len()`.
    pub fn range(&self, start: usize, end: usize) -> Self {
        assert!(start <= end && end <= self.len(), "range {start}..{end} of {}", self.len());
        Messages(match self.0 {
            Shape::Strided { data, len, stride, .. } => {
                let data = if start < end { &data[start * stride..] } else { &[] };
                Shape::Strided { data, len, stride, count: end - start }
            }
            Shape::Offsets32 { data, offsets } => Shape::Offsets32 {
                data,
                offsets: if offsets.is_empty() { offsets } else { &offsets[start..=end] },
            },
            Shape::Offsets64 { data, offsets } => Shape::Offsets64 {
                data,
                offsets: if offsets.is_empty() { offsets } else { &offsets[start..=end] },
            },
            Shape::Slices(slices) => Shape::Slices(&slices[start..end]),
        })
    }
}

/// Only the shape: messages and keys may be secret.
impl core::fmt::Debug for Messages<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Messages {{ {} of {} bytes in all }}", self.len(), self.total_bytes())
    }
}

fn check_offsets<T>(len: usize, offsets: &[T], value: impl Fn(&T) -> u64) -> Result<(), Error> {
    let mut previous = 0;
    for (index, offset) in offsets.iter().enumerate() {
        let offset = value(offset);
        if offset < previous || offset > len as u64 {
            return Err(Error::Offset { index });
        }
        previous = offset;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_gives_the_same_messages() {
        let data = b"aabbccdd";
        let strided = Messages::strided(data, 2, 2, 4).unwrap();
        let offsets32 = Messages::offsets32(data, &[0, 2, 4, 6, 8]).unwrap();
        let offsets64 = Messages::offsets64(data, &[0, 2, 4, 6, 8]).unwrap();
        let slices: [&[u8]; 4] = [b"aa", b"bb", b"cc", b"dd"];
        let slices = Messages::slices(&slices);
        for messages in [strided, offsets32, offsets64, slices] {
            assert_eq!((messages.len(), messages.total_bytes()), (4, 8));
            assert_eq!(messages.get(2), b"cc");
            let middle = messages.range(1, 3);
            assert_eq!((middle.len(), middle.get(0), middle.get(1)), (2, &b"bb"[..], &b"cc"[..]));
            assert!(messages.range(4, 4).is_empty());
        }
    }

    #[test]
    fn debug_shows_no_content() {
        let shown = format!("{:?}", Messages::slices(&[b"secret", b"key"]));
        assert_eq!(shown, "Messages { 2 of 9 bytes in all }");
    }

    #[test]
    fn bounds_are_checked_once_at_construction() {
        assert!(Messages::strided(&[0; 10], 4, 6, 2).is_ok(), "the last row needs no padding");
        assert!(Messages::strided(&[0; 9], 4, 6, 2).is_err());
        assert!(Messages::strided(&[0; 9], 4, 3, 2).is_err());
        assert!(Messages::strided(&[0; 9], 1, usize::MAX, 3).is_err());
        assert!(Messages::strided(&[], 0, 0, usize::MAX).is_ok());
        assert_eq!(
            Messages::offsets32(&[0; 4], &[0, 3, 2]).unwrap_err(),
            Error::Offset { index: 2 }
        );
        assert_eq!(Messages::offsets64(&[0; 4], &[0, 5]).unwrap_err(), Error::Offset { index: 1 });
        assert!(Messages::offsets64(&[], &[]).unwrap().is_empty());
        assert_eq!(Messages::offsets32(b"xyz", &[1, 3]).unwrap().get(0), b"yz");
    }
}

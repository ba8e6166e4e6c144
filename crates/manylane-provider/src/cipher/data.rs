//! Data of a call: input and room for the output, which may be the same memory.
#![allow(
    unsafe_code,
    reason = "both are addresses that may overlap, so there cannot be references to both"
)]

use std::marker::PhantomData;

use crate::failure::{Failure, Reason};

/// Input, and where the output goes.
pub(super) struct Data<'a> {
    out: *mut u8,
    size: usize,
    input: *const u8,
    len: usize,
    lives: PhantomData<&'a mut [u8]>,
}

impl<'a> Data<'a> {
    /// # Safety
    /// For the time `'a`, addresses are null or have so many bytes, and nobody else uses them. They may overlap.
    pub(super) unsafe fn new(
        out: *mut u8,
        size: usize,
        input: *const u8,
        len: usize,
    ) -> Result<Self, Failure> {
        // SAFETY: as the caller says.
        unsafe { crate::entry::bytes(input, len)? };
        Ok(Data { out, size, input, len, lives: PhantomData })
    }

    /// Bytes of input.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no room for output, which makes the input associated data.
    pub(super) fn is_associated(&self) -> bool {
        self.out.is_null()
    }

    /// Whether there is no input, only its length.
    pub(super) fn is_length(&self) -> bool {
        self.input.is_null() && self.out.is_null()
    }

    /// Whether there is no input at all.
    pub(super) fn has_no_input(&self) -> bool {
        self.input.is_null()
    }

    /// Whether there is no input where there should be: the end of the message.
    pub(super) fn is_end(&self) -> bool {
        self.input.is_null() && !self.out.is_null()
    }

    /// The input.
    pub(super) fn input(&self) -> &[u8] {
        // SAFETY: there are so many bytes, and no reference to the output lives together with this one.
        unsafe { crate::entry::bytes(self.input, self.len) }.unwrap_or_default()
    }

    /// Moves the input to where the output goes, and works on it there; says how much it is.
    ///
    /// What can fail is best looked at before. If it fails yet, nothing that is still plaintext stays there, unless it was there.
    pub(super) fn through(
        self,
        work: impl FnOnce(&mut [u8]) -> Result<(), Failure>,
    ) -> Result<usize, Failure> {
        let len = self.len;
        self.through_after(&[], len, work)
    }

    /// The same with `before`, and as much of the input after it as makes `len` bytes.
    pub(super) fn through_after(
        self,
        before: &[u8],
        len: usize,
        work: impl FnOnce(&mut [u8]) -> Result<(), Failure>,
    ) -> Result<usize, Failure> {
        let is_in_place = before.is_empty() && self.out.cast_const() == self.input;
        let data = self.moved_after(before, len)?;
        work(&mut *data).inspect_err(|_| {
            if !is_in_place {
                data.fill(0);
            }
        })?;
        Ok(len)
    }

    /// Where the output goes: `before`, and as much of the input after it as makes `len` bytes.
    fn moved_after(self, before: &[u8], len: usize) -> Result<&'a mut [u8], Failure> {
        let from_input = len - before.len();
        if len == 0 {
            return Ok(&mut []);
        }
        if self.out.is_null() || len > self.size || from_input > self.input().len() {
            return Err(Reason::OutputSize.into());
        }
        // SAFETY: there is so much input and so much room. The input is moved first, whether they overlap or not.
        unsafe {
            let after = self.out.add(before.len());
            if after.cast_const() != self.input {
                after.copy_from(self.input, from_input);
            }
            self.out.copy_from(before.as_ptr(), before.len());
            Ok(crate::entry::room(self.out, len))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(memory: &mut [u8], out: usize, size: usize, input: usize, len: usize) -> Data<'_> {
        assert!(out + size <= memory.len() && input + len <= memory.len());
        let memory = memory.as_mut_ptr();
        // SAFETY: both lie in that memory, which is borrowed as long.
        unsafe { Data::new(memory.add(out), size, memory.add(input), len) }.unwrap()
    }

    #[test]
    fn input_is_moved_whatever_it_overlaps() {
        for (out, input) in [(0, 0), (0, 3), (3, 0), (0, 16), (16, 0)] {
            let mut memory: Vec<u8> = (0..40).collect();
            let expected = [b"abc", &memory[input..input + 9]].concat();
            let moved = data(&mut memory, out, 16, input, 12).moved_after(b"abc", 12).unwrap();
            assert_eq!(moved, expected);
            let mut memory: Vec<u8> = (0..40).collect();
            let expected = memory[input..input + 12].to_vec();
            assert_eq!(
                data(&mut memory, out, 16, input, 12).moved_after(&[], 12).unwrap(),
                expected
            );
        }
        assert!(data(&mut [0; 16], 0, 8, 0, 9).moved_after(&[], 9).is_err());
        assert!(data(&mut [0; 16], 0, 8, 0, 3).moved_after(b"ab", 6).is_err());
    }

    #[test]
    fn nothing_of_the_input_stays_after_a_failure() {
        let mut memory = [7; 32];
        let fail = |_: &mut [u8]| Err(Reason::Finished.into());
        assert!(data(&mut memory, 16, 16, 0, 16).through(fail).is_err());
        assert_eq!(memory, [[7; 16], [0; 16]].concat()[..]);
        let mut memory = [7; 16];
        assert!(data(&mut memory, 0, 16, 0, 16).through(fail).is_err());
        assert_eq!(memory, [7; 16]);
        let done = data(&mut memory, 0, 16, 0, 3).through(|data| {
            data.fill(1);
            Ok(())
        });
        assert_eq!((done.unwrap(), memory[..4].to_vec()), (3, vec![1, 1, 1, 7]));
    }
}

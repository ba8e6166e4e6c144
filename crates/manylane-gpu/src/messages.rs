//! Messages in a device's memory, whatever is computed of them.

use std::ffi::c_void;

use crate::{DevicePointer, Error, Gpu, Stream, Workspace};

/// Where messages are in a device's memory.
///
/// Rows of an array, or the buffers of an Arrow `binary` or `large_binary` array that was copied
/// to the device. Messages may begin at any byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Message `i` is the `len` bytes at `data + i * stride`.
    Strided {
        /// The first message.
        data: DevicePointer,
        /// Bytes of each message.
        len: u64,
        /// Bytes from one message to the next.
        stride: u64,
    },
    /// Message `i` is the bytes `offsets[i]..offsets[i + 1]` of an array whose byte `base` is at
    /// `data`.
    Offsets32 {
        /// Byte `base` of the array.
        data: DevicePointer,
        /// One more 32-bit number than there are messages, never decreasing, from `base` on.
        offsets: DevicePointer,
        /// How much of the array is not there.
        base: u64,
    },
    /// As `Offsets32`, with 64-bit offsets.
    Offsets64 {
        /// Byte `base` of the array.
        data: DevicePointer,
        /// One more 64-bit number than there are messages, never decreasing, from `base` on.
        offsets: DevicePointer,
        /// How much of the array is not there.
        base: u64,
    },
}

/// Messages in a device's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceMessages {
    /// How many.
    pub count: usize,
    /// Where.
    pub layout: Layout,
}

impl DeviceMessages {
    /// Messages from `start` on, `count` of them.
    pub(crate) fn part(&self, start: usize, count: usize) -> Self {
        let layout = match self.layout {
            Layout::Strided { data, len, stride } => {
                Layout::Strided { data: data.add(start * stride as usize), len, stride }
            }
            Layout::Offsets32 { data, offsets, base } => {
                Layout::Offsets32 { data, offsets: offsets.add(start * 4), base }
            }
            Layout::Offsets64 { data, offsets, base } => {
                Layout::Offsets64 { data, offsets: offsets.add(start * 8), base }
            }
        };
        DeviceMessages { count, layout }
    }

    /// Offsets are read as numbers of their size.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let aligned = match self.layout {
            Layout::Strided { .. } => true,
            Layout::Offsets32 { offsets, .. } => offsets.0.is_multiple_of(4),
            Layout::Offsets64 { offsets, .. } => offsets.0.is_multiple_of(8),
        };
        if aligned { Ok(()) } else { Err(shape("offsets are not aligned to their size")) }
    }
}

pub(crate) fn shape(why: &'static str) -> Error {
    Error::Input(manylane::Error::Shape(why))
}

/// Messages one launch takes at most: the kernels number them with 32 bits.
pub(crate) const MAX_COUNT: usize = 1 << 31;

/// The messages in parts of which each is one launch, and where the outputs of each go.
pub(crate) fn parts(
    messages: &DeviceMessages,
    workspace: Option<&Workspace>,
    output_len: usize,
    out: DevicePointer,
) -> impl Iterator<Item = (DeviceMessages, DevicePointer)> + use<> {
    let messages = *messages;
    // Rows are not ordered, and need no room for it.
    let ordered = workspace.filter(|_| !matches!(messages.layout, Layout::Strided { .. }));
    let most = ordered.map_or(MAX_COUNT, |workspace| workspace.max_count());
    (0..messages.count).step_by(most).map(move |start| {
        let part = messages.part(start, most.min(messages.count - start));
        (part, out.add(start * output_len))
    })
}

/// Where messages are, as the kernels take it: `Messages` of `kernels/messages.cuh`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    data: DevicePointer,
    offsets: DevicePointer,
    len: u64,
    stride: u64,
    base: u64,
    kind: u32,
    reserved: u32,
}

impl Place {
    pub(crate) fn of(messages: &DeviceMessages) -> Self {
        let by_offsets = |kind, data, offsets, base| Place {
            data,
            offsets,
            len: 0,
            stride: 0,
            base,
            kind,
            reserved: 0,
        };
        match messages.layout {
            Layout::Strided { data, len, stride } => {
                let offsets = DevicePointer(0);
                Place { data, offsets, len, stride, base: 0, kind: 0, reserved: 0 }
            }
            Layout::Offsets32 { data, offsets, base } => by_offsets(1, data, offsets, base),
            Layout::Offsets64 { data, offsets, base } => by_offsets(2, data, offsets, base),
        }
    }
}

/// Refuses what a hash function's kernels cannot take.
pub(crate) fn check(
    gpu: &Gpu,
    stream: &Stream,
    workspace: Option<&Workspace>,
    messages: &DeviceMessages,
    out: DevicePointer,
) -> Result<(), Error> {
    if stream.gpu() != gpu || workspace.is_some_and(|workspace| workspace.gpu() != gpu) {
        return Err(shape("a stream or workspace of another device"));
    }
    if !out.0.is_multiple_of(16) {
        return Err(shape("the output is not 16-byte aligned"));
    }
    messages.check()
}

/// A kernel's argument, as the driver takes it.
pub(crate) fn argument<T>(value: &T) -> *mut c_void {
    std::ptr::from_ref(value).cast_mut().cast()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_has_the_size_that_kernels_expect() {
        assert_eq!(size_of::<Place>(), 48);
    }
}

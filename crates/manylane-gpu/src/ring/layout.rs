//! How rows of equal length are laid out on a device.

/// Kernels are fastest on rows whose starts are multiples of this.
const ALIGN: usize = 16;

/// Messages of one length, a fixed distance apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rows {
    len: usize,
    pitch: usize,
    as_it_lies: bool,
}

impl Rows {
    /// For `count` rows of `len` bytes that lie `stride` apart on the host.
    ///
    /// They go over as they lie, gaps and all, where that is one copy of little more than the
    /// messages. Otherwise the gaps stay behind: copying rows one by one costs the host more, but
    /// less goes over the bus, and whole blocks come to lie where kernels load them fastest.
    pub(super) fn of(len: usize, stride: usize, count: usize) -> Self {
        let stride = if count > 1 { stride } else { len };
        let gap = stride - len;
        let blocks_misaligned = gap > 0 && len.is_multiple_of(64) && !stride.is_multiple_of(ALIGN);
        let as_it_lies = gap <= len / 8 && !blocks_misaligned;
        let pitch = if as_it_lies { stride } else { len.next_multiple_of(ALIGN) };
        Rows { len, pitch, as_it_lies }
    }

    pub(super) fn len(self) -> usize {
        self.len
    }

    pub(super) fn pitch(self) -> usize {
        self.pitch
    }

    /// Whether bytes go over as they lie.
    pub(super) fn is_as_it_lies(self) -> bool {
        self.as_it_lies
    }

    /// Bytes that `count` of them take.
    pub(super) fn bytes(self, count: usize) -> usize {
        if count == 0 { 0 } else { (count - 1) * self.pitch + self.len }
    }

    /// How many fit into `room` bytes.
    pub(super) fn fitting(self, room: usize) -> usize {
        match room.checked_sub(self.len) {
            None => 0,
            Some(_) if self.pitch == 0 => usize::MAX,
            Some(more) => more / self.pitch + 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_stay_behind_where_they_cost() {
        assert_eq!(Rows::of(4096, 4096, 9), Rows { len: 4096, pitch: 4096, as_it_lies: true });
        assert_eq!(Rows::of(8192, 8208, 9), Rows { len: 8192, pitch: 8208, as_it_lies: true });
        assert_eq!(Rows::of(8192, 8200, 9), Rows { len: 8192, pitch: 8192, as_it_lies: false });
        assert_eq!(Rows::of(55, 55, 9), Rows { len: 55, pitch: 55, as_it_lies: true });
        assert_eq!(Rows::of(55, 64, 9), Rows { len: 55, pitch: 64, as_it_lies: false });
        assert_eq!(Rows::of(100, 1 << 40, 1), Rows { len: 100, pitch: 100, as_it_lies: true });
        assert_eq!(Rows::of(0, 64, 9), Rows { len: 0, pitch: 0, as_it_lies: false });
    }

    #[test]
    fn as_many_rows_fit_as_their_bytes_say() {
        for (len, stride) in [(64, 64), (55, 64), (55, 60), (8192, 8200), (1, 1)] {
            let rows = Rows::of(len, stride, 1000);
            for room in [0, 1, 54, 55, 63, 64, 4096, 8191, 8192, 16_384, 16_400] {
                let count = rows.fitting(room);
                assert!(count == 0 || rows.bytes(count) <= room, "{rows:?} {room}");
                assert!(rows.bytes(count + 1) > room, "{rows:?} {room}");
            }
        }
        assert_eq!(Rows::of(0, 0, 5).fitting(0), usize::MAX);
    }
}

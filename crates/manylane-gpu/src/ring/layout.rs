//! How rows of equal length are laid out on a device.

/// Kernels are fastest on rows whose starts are multiples of this.
const ALIGN: usize = 16;

/// Messages of one length, a fixed distance apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rows {
    len: usize,
    pitch: usize,
    way: Way,
}

/// How rows come to the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// As they lie, gaps and all.
    AsTheyLie,
    /// Each by itself, without the gaps.
    OneByOne,
    /// Not at all: they are read where they are.
    InPlace,
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
        match as_it_lies {
            true => Rows { len, pitch: stride, way: Way::AsTheyLie },
            false => Rows { len, pitch: len.next_multiple_of(ALIGN), way: Way::OneByOne },
        }
    }

    /// For rows that a device reads in the host's memory. They take no room, but count as if their
    /// bytes did: that bounds the work of a batch.
    pub(super) fn in_place(len: usize, stride: usize) -> Self {
        Rows { len, pitch: stride, way: Way::InPlace }
    }

    pub(super) fn len(self) -> usize {
        self.len
    }

    pub(super) fn pitch(self) -> usize {
        self.pitch
    }

    /// Whether each is copied by itself.
    pub(super) fn is_one_by_one(self) -> bool {
        self.way == Way::OneByOne
    }

    /// Bytes that `count` of them take.
    pub(super) fn bytes(self, count: usize) -> usize {
        if count == 0 { 0 } else { (count - 1) * self.step() + self.len }
    }

    /// How many fit into `room` bytes.
    pub(super) fn fitting(self, room: usize) -> usize {
        match room.checked_sub(self.len) {
            None => 0,
            Some(_) if self.step() == 0 => usize::MAX,
            Some(more) => more / self.step() + 1,
        }
    }

    /// Bytes of room that each but the last takes.
    fn step(self) -> usize {
        if self.way == Way::InPlace { self.len } else { self.pitch }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_stay_behind_where_they_cost() {
        let rows = |len, pitch, way| Rows { len, pitch, way };
        assert_eq!(Rows::of(4096, 4096, 9), rows(4096, 4096, Way::AsTheyLie));
        assert_eq!(Rows::of(8192, 8208, 9), rows(8192, 8208, Way::AsTheyLie));
        assert_eq!(Rows::of(8192, 8200, 9), rows(8192, 8192, Way::OneByOne));
        assert_eq!(Rows::of(55, 55, 9), rows(55, 55, Way::AsTheyLie));
        assert_eq!(Rows::of(55, 64, 9), rows(55, 64, Way::OneByOne));
        assert_eq!(Rows::of(100, 1 << 40, 1), rows(100, 100, Way::AsTheyLie));
        assert_eq!(Rows::of(0, 64, 9), rows(0, 0, Way::OneByOne));
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
        // In place a gap takes nothing, whatever its size.
        let rows = Rows::in_place(100, 1 << 40);
        assert_eq!((rows.pitch(), rows.fitting(1000), rows.bytes(10)), (1 << 40, 10, 1000));
    }
}

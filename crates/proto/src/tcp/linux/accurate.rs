//! Accurate ECN (RFC 9768): the marks that arrive, as a counter in three bits of each packet, and what the peer's counter says of
//! packets of this end.
//!
//! The rules are those of the RFC and of a kernel of 2026. Linux 6.18.44 has most of the code and takes no value of `tcp_ecn` that
//! switches it on, so that no kernel has passed the scripts of these rules.
//!
//! # Left out
//! * The option with counters of bytes, as in a kernel with `tcp_ecn_option` 0.
//! * Acknowledgements for the sake of a counter that would run over: each second segment is acknowledged anyway.
//! * A path that changes the ECN field of the SYN or the SYN-ACK: the kernel is no longer capable of marks then.

use super::packet::bits;

/// The counter begins at five (RFC 9768), so that one that was cleared on the way is recognised.
const INITIAL: u32 = 5;
/// The largest value of the field.
const MOST: u32 = 7;
/// Segments for each acknowledgement above which acknowledgements count as thinned on the way.
const THINNED: u32 = 4;
/// Binary digits after the point of the mean of segments for each acknowledgement, and its weight.
const PRECISION: u32 = 6;

/// The field of a packet.
pub(super) fn field_of(flags: u16) -> u32 {
    let bit = |bit: u16, value: u32| if flags & bit == 0 { 0 } else { value };
    bit(bits::AE, 4) | bit(bits::CWR, 2) | bit(bits::ECE, 1)
}

/// The control bits of a field.
fn bits_of(field: u32) -> u16 {
    let bit = |value: u32, bit: u16| if field & value == 0 { 0 } else { bit };
    bit(4, bits::AE) | bit(2, bits::CWR) | bit(1, bits::ECE)
}

/// The bits that answer a SYN, or a SYN-ACK, with this ECN field in its IP header.
pub(super) fn echo_of(ecn: u8) -> u16 {
    bits_of([2, 3, 4, 6][usize::from(ecn & 3)])
}

/// The marks that this end receives.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Marks {
    /// Packets that arrived with a mark.
    packets: u32,
    /// The ECN field of the last packet.
    last: u8,
    /// The peer's first counter was cleared on the way: what this end sends is not capable of marks.
    pub(super) cleared: bool,
    /// The field has changed, so that what comes is to be acknowledged at once.
    pub(super) due: bool,
}

impl Marks {
    /// Begins with a peer whose SYN came with this ECN field, which counts if a SYN-ACK was marked.
    pub(super) fn new(ecn: u8, counts: bool) -> Self {
        Self { packets: u32::from(counts && ecn == 3), last: ecn, ..Self::default() }
    }

    /// Takes the ECN field of a packet.
    pub(super) fn note(&mut self, ecn: u8) {
        self.packets += u32::from(ecn == 3);
        self.due |= ecn != self.last;
        self.last = ecn;
    }

    /// The counter for a packet that leaves, which acknowledges what has come.
    pub(super) fn counter(&mut self) -> u16 {
        self.due = false;
        bits_of((self.packets + INITIAL) & MOST)
    }
}

/// What the peer reports.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reports {
    /// Packets of this end that have arrived there with a mark, as far as is known.
    pub(super) marks: u32,
    /// The mean of segments that an acknowledgement delivers, times 64.
    mean: u32,
}

impl Reports {
    /// Takes the counter of an acknowledgement that has delivered so many segments. Returns the number of new marks.
    ///
    /// Where more segments were delivered than the field can count, the largest number is assumed that fits; unless acknowledgements
    /// are usually thinned, where that would often be too much.
    pub(super) fn take(&mut self, flags: u16, delivered: u32) -> u32 {
        if delivered > 0 {
            let sample = delivered << PRECISION;
            let mean = ((self.mean << PRECISION) - self.mean + sample) >> PRECISION;
            self.mean = if self.mean == 0 { sample } else { mean }.min(0xffff);
        }
        let counted = field_of(flags).wrapping_sub(INITIAL);
        let least = counted.wrapping_sub(self.marks) & MOST;
        let is_thinned = self.mean > THINNED << PRECISION;
        let news = if delivered <= MOST || is_thinned {
            least
        } else {
            delivered - (delivered.wrapping_sub(least) & MOST)
        };
        self.marks += news;
        news
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The counter is three bits of one that runs from five on, in the order AE, CWR, ECE.
    #[test]
    fn the_counter_runs_over() {
        let mut marks = Marks::default();
        let seen: Vec<u32> = (0..9)
            .map(|_| {
                let field = field_of(marks.counter());
                marks.note(3);
                field
            })
            .collect();
        assert_eq!(seen, [5, 6, 7, 0, 1, 2, 3, 4, 5]);
    }

    /// Of twenty segments with one more mark in the field, 1, 9 or 17 may be marked; 17 are assumed, and 1 where acknowledgements are thinned.
    #[test]
    fn more_than_the_field_counts_is_assumed() {
        let mut reports = Reports { marks: 0, mean: 2 << PRECISION };
        assert_eq!(reports.take(bits_of(6), 20), 17);
        assert_eq!(reports.marks, 17);
        let mut thinned = Reports { marks: 0, mean: 9 << PRECISION };
        assert_eq!(thinned.take(bits_of(6), 20), 1);
        assert_eq!(Reports::default().take(bits_of(7), 2), 2);
    }
}

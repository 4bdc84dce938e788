//! Data that arrive out of order, of TCP and of E2TCP: ranges of positions, and bytes that were skipped before they came.

use super::buffer::ReceiveBuffer;
use crate::event::Event;
use crate::reliability::{ByteRange, Reliability};

/// Largest number of out-of-order ranges that are kept. A packet that would create one more is dropped like a lost
/// one, so that a hostile peer cannot exhaust memory; a window of 5.8 MB with every second segment lost needs as many.
pub(crate) const OUT_OF_ORDER_MAX: usize = 2048;

/// The text of a packet, by positions in the stream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Text {
    /// Position of the first byte, or of the FIN; negative or below the next expected position for repeated data.
    pub(crate) start: i64,
    pub(crate) len: u16,
    pub(crate) fin: bool,
}

/// Adds a range to others, which are in order of position and neither overlap nor touch. Returns false, and changes nothing, if it would
/// be one more than `most`.
pub(crate) fn join(ranges: &mut Vec<ByteRange>, range: ByteRange, most: usize) -> bool {
    let first = ranges.partition_point(|other| other.end < range.start);
    let behind = ranges.partition_point(|other| other.start <= range.end);
    if first == behind {
        if ranges.len() >= most {
            return false;
        }
        ranges.insert(first, range);
    } else {
        let (start, end) = (range.start.min(ranges[first].start), range.end.max(ranges[behind - 1].end));
        ranges[first] = ByteRange { start, end };
        ranges.drain(first + 1..behind);
    }
    true
}

/// How many bytes of a range are in none of the others.
pub(crate) fn count_new(ranges: &[ByteRange], range: ByteRange) -> u64 {
    let known = |other: &ByteRange| other.end.min(range.end).saturating_sub(other.start.max(range.start));
    range.len() - ranges.iter().map(known).sum::<u64>()
}

/// Stores bytes that were skipped before and arrive now. `next` is the next expected position, and the data in order end before
/// `data_end`. Returns the number of these bytes.
pub(crate) fn store_late<R: ReceiveBuffer>(
    (reliability, buffer): (&mut Reliability, &mut R),
    text: Text,
    payload: &R::Payload,
    [next, data_end]: [u64; 2],
    mut notify: impl FnMut(Event),
) -> u64 {
    let end = text.start + i64::from(text.len);
    if !reliability.has_gaps() || text.start >= next as i64 || end <= 0 {
        return 0;
    }
    let mut arrived = 0;
    for late in reliability.take_late(ByteRange { start: text.start.max(0) as u64, end: end as u64 }) {
        let from = (late.start as i64 - text.start) as usize;
        buffer.store_late(late.start - 1, data_end - late.start, payload, from, late.len() as usize);
        notify(Event::Late { at: late.start - 1, bytes: late.len() });
        arrived += late.len();
    }
    arrived
}

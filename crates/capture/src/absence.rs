//! Notices of absence: times at which the group owner of a Wi-Fi Direct group sleeps, by its beacons.
//!
//! Left out: the window after each target time in which a group owner with opportunistic power save is there, absences that a later notice
//! cancels, and attributes that go on in another element.

use std::ops::Range;

use airwatt_base::Span;
use airwatt_dot11::Elements;

/// A vendor's element, and the prefix of those of Wi-Fi Direct (Wi-Fi Direct 1.9, 4.1.1).
const ID_VENDOR: u8 = 221;
const P2P_PREFIX: [u8; 4] = [0x50, 0x6f, 0x9a, 0x09];
/// The attribute's identifier (4.1.14), and the bytes of its index, and of the window and opportunistic power save, before the descriptors.
pub(crate) const NOTICE_OF_ABSENCE: u8 = 12;
const HEADER_BYTES: usize = 2;
const DESCRIPTOR_BYTES: usize = 13;
/// A count of absences without an end.
const CONTINUOUS: u8 = 255;
/// The most absences that one descriptor gives: those of shorter intervals than a frame's time on the air are no schedule.
const MOST: u64 = 64;

/// The bytes of an attribute's identifier and length.
pub(crate) const ATTRIBUTE_HEADER: usize = 3;

/// The identifiers of the attributes of an element of Wi-Fi Direct, and where their contents are in that of the element.
pub(crate) fn attributes(contents: &[u8]) -> impl Iterator<Item = (u8, Range<usize>)> {
    let end = if contents.starts_with(&P2P_PREFIX) { contents.len() } else { 0 };
    let mut at = P2P_PREFIX.len();
    std::iter::from_fn(move || {
        let &[id, low, high] = contents.get(at..end)?.first_chunk()?;
        let from = at + ATTRIBUTE_HEADER;
        let body = from..from + usize::from(u16::from_le_bytes([low, high]));
        at = body.end;
        (at <= end).then_some((id, body))
    })
}

/// How many bytes of a notice of so many have a meaning: its head and whole descriptors.
pub(crate) const fn notice_bytes(length: usize) -> usize {
    match length.checked_sub(HEADER_BYTES) {
        Some(descriptors) => HEADER_BYTES + descriptors / DESCRIPTOR_BYTES * DESCRIPTOR_BYTES,
        None => length,
    }
}

/// Absences at regular times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Absences {
    /// How many there are; 255 for as many as until another notice.
    count: u8,
    /// How long each is.
    duration_us: u32,
    /// From the begin of one to that of the next.
    interval_us: u32,
    /// The begin of the first, in the lower half of the access point's clock.
    start_us: u32,
}

impl Absences {
    /// Those that a beacon announces.
    pub fn all(elements: Elements<'_>) -> Vec<Self> {
        let of_vendors = elements.filter(|(id, _)| *id == ID_VENDOR).map(|(_, contents)| contents);
        let notices = of_vendors.flat_map(|contents| {
            let own = attributes(contents).filter(|(id, _)| *id == NOTICE_OF_ABSENCE);
            own.map(move |(_, body)| &contents[body])
        });
        let descriptors = notices.filter_map(|body| body.get(HEADER_BYTES..));
        descriptors.flat_map(|all| all.chunks_exact(DESCRIPTOR_BYTES)).filter_map(Self::decode).collect()
    }

    fn decode(descriptor: &[u8]) -> Option<Self> {
        let (&[count], rest) = descriptor.split_first_chunk()?;
        let field = |at: usize| Some(u32::from_le_bytes(*rest.get(at..)?.first_chunk()?));
        Some(Self { count, duration_us: field(0)?, interval_us: field(4)?, start_us: field(8)? })
    }

    /// Those that are under way at a time of the access point's clock or begin within a time after it: each with the time to its begin, which
    /// is zero for the former, and its length from then on.
    pub fn after(&self, clock_us: u64, within: Span) -> Vec<(Span, Span)> {
        let first_us = i64::from(self.start_us.wrapping_sub(clock_us as u32).cast_signed());
        let (duration_us, interval_us) = (i64::from(self.duration_us), i64::from(self.interval_us));
        let horizon_us = i64::try_from(within.as_nanos() / 1_000).unwrap_or(i64::MAX);
        let past = match interval_us {
            0 => 0,
            _ => (-first_us - duration_us).max(0) / interval_us,
        };
        let last = match self.count {
            CONTINUOUS => i64::MAX,
            _ if interval_us == 0 => i64::from(self.count.min(1)),
            count => i64::from(count),
        };
        let begins_us = (past..last).take(MOST as usize).map(|number| first_us + number * interval_us);
        let spans = begins_us.take_while(|begin_us| *begin_us < horizon_us).filter_map(|begin_us| {
            let (from_us, until_us) = (begin_us.max(0), (begin_us + duration_us).min(horizon_us));
            let length_us = u64::try_from(until_us - from_us).ok().filter(|length_us| *length_us > 0)?;
            Some((Span::from_micros(from_us as u64), Span::from_micros(length_us)))
        });
        spans.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An element with a notice: absent for 40 ms each 100 ms, from a time of the clock on.
    fn element(count: u8, start_us: u32) -> Vec<u8> {
        let fields = [40_000_u32, 100_000, start_us].into_iter().flat_map(u32::to_le_bytes);
        let notice: Vec<u8> = [1, 0, count].into_iter().chain(fields).collect();
        let capability = [2, 2, 0, 0, 0];
        let contents = [&P2P_PREFIX[..], &capability, &[NOTICE_OF_ABSENCE, 15, 0], &notice].concat();
        [&[ID_VENDOR, contents.len() as u8], &contents[..]].concat()
    }

    fn spans(count: u8, start_us: u32, clock_us: u64) -> Vec<(u64, u64)> {
        let bytes = element(count, start_us);
        let [absences] = &Absences::all(Elements(&bytes))[..] else { panic!("one descriptor") };
        let ms = |span: Span| span.as_nanos() / 1_000_000;
        let found = absences.after(clock_us, Span::from_millis(200));
        found.into_iter().map(|(from, length)| (ms(from), ms(length))).collect()
    }

    #[test]
    fn absences_come_each_interval_as_often_as_the_count_says() {
        assert_eq!(spans(CONTINUOUS, 30_000, 0), [(30, 40), (130, 40)]);
        assert_eq!(spans(1, 30_000, 0), [(30, 40)]);
        // One is under way, and the clock has more bits than the field.
        assert_eq!(spans(CONTINUOUS, 30_000, (7 << 32) + 250_000), [(0, 20), (80, 40), (180, 20)]);
        assert_eq!(spans(2, 30_000, 250_000), []);
    }

    #[test]
    fn without_an_interval_there_is_one_absence() {
        let absences = Absences { count: 3, duration_us: 10_000, interval_us: 0, start_us: 5_000 };
        let once = [(Span::from_millis(5), Span::from_millis(10))];
        assert_eq!(absences.after(0, Span::from_millis(50)), once);
    }

    #[test]
    fn what_is_cut_off_announces_nothing() {
        let bytes = element(CONTINUOUS, 0);
        for end in 0..bytes.len() {
            assert_eq!(Absences::all(Elements(&bytes[..end])), []);
        }
    }
}

//! Quiet elements: times at which nobody in a cell transmits.

use airwatt_base::Span;

use super::elements::Elements;
use super::management::TIME_UNIT;

/// The identifier of a Quiet element (802.11-2020 table 9-92).
const ID_QUIET: u8 = 40;

/// Intervals in which no station of a cell transmits, its access point included (802.11-2020 9.4.2.22 and 11.8.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuietInterval {
    /// Target times of beacons until the one to which the first interval refers, at least 1.
    pub count: u8,
    /// Beacon intervals from one to the next; zero for a single one.
    pub period: u8,
    /// The length of each.
    pub duration: Span,
    /// Time from the target time to its begin.
    pub offset: Span,
}

impl QuietInterval {
    /// Those that a beacon announces.
    pub fn all(elements: Elements<'_>) -> impl Iterator<Item = Self> {
        elements.filter(|(id, _)| *id == ID_QUIET).filter_map(|(_, contents)| Self::decode(contents))
    }

    fn decode(contents: &[u8]) -> Option<Self> {
        let &[count, period, d0, d1, o0, o1] = contents.first_chunk()?;
        let units = |octets| TIME_UNIT * u64::from(u16::from_le_bytes(octets));
        // A count of 0 is reserved.
        (count > 0).then(|| Self { count, period, duration: units([d0, d1]), offset: units([o0, o1]) })
    }
}

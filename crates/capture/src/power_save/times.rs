//! The times and counts by which rules judge, and what a finding refers to.

use airwatt_base::{Instant, Span};

/// Time and number of a packet that a finding may refer to.
pub(super) type Mark = (Instant, u32);

/// The packets of those marks that there are.
pub(super) fn packets<const N: usize>(marks: [Option<Mark>; N]) -> Vec<u32> {
    marks.into_iter().flatten().map(|(_, packet)| packet).collect()
}

/// A frame may be in the access point's hardware when its station enters power save; for this long that is no fault.
pub(super) const IN_FLIGHT: Span = Span::from_millis(10);
/// A beacon says when it began by the access point's clock, and some monitors note when it ended: one of 143 bytes takes 1.3 ms at 1 Mb/s, and
/// one of 2,332 bytes 3.1 ms at 6 Mb/s. So near to the bounds of a service period the clock decides nothing.
pub(super) const CLOCK_MARGIN: Span = Span::from_millis(5);
/// An access point responds to a request within this time, several frames of contention included.
pub(super) const PROMPT: Span = Span::from_millis(50);
/// A frame that is not captured within two beacon intervals of the usual length counts as not sent.
pub(crate) const NEVER: Span = Span::from_millis(205);
/// Beacons from which on their usual offset from the target time, and the share that was captured, are known well enough.
pub(super) const ENOUGH_BEACONS: usize = 20;
/// A frame this soon after a station left power save was buffered before.
pub(super) const WAS_WAITING: Span = Span::from_millis(5);
/// PM changes that follow each other within a beacon interval of the usual length save almost nothing.
pub(super) const FLAP_INTERVAL: Span = Span::from_micros(102_400);
/// This many such changes in a row are flapping.
pub(super) const FLAP_CHANGES: u32 = 4;

//! Ranges that settings of several kinds share.

use airwatt_base::{Rate, Span};

/// A run of over a month is a mistake.
pub(crate) const MAX_SPAN: Span = Span::from_secs(32 * 24 * 3_600);
/// No link is faster.
pub(crate) const MAX_RATE: Rate = Rate::from_bps(1_000_000_000_000);
/// No link is slower.
pub(crate) const MIN_RATE: Rate = Rate::from_bps(100);

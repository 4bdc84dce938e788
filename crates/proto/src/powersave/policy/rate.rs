//! A rate of counted bits.

use airwatt_base::Span;

/// The rate in bit/s at which `bits` take `elapsed`; zero if no time elapsed.
pub(super) fn rate_bps(bits: u64, elapsed: Span) -> u64 {
    let nanos = u128::from(elapsed.as_nanos());
    let rate = (u128::from(bits) * 1_000_000_000).checked_div(nanos).unwrap_or(0);
    u64::try_from(rate).unwrap_or(u64::MAX)
}

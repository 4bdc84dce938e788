//! What Linux takes for the air time of a frame before it is sent: mac80211's `ieee80211_calc_expected_tx_airtime`.
//!
//! The estimate serves queue limits in air time (AQL) only; what stations are charged for is the time on the air. It assumes that
//! frames will be sent in aggregates, the longer the faster the rate is, so that a frame bears its share of a preamble.

use airwatt_dot11::{Format, TxVector};

use crate::media::cell::access::category::Category;

/// Bytes to which durations refer (`AVG_PKT_SIZE`).
const REFERENCE_BYTES: u64 = 1_024;
/// What mac80211 adds to the length of a frame without its FCS, less that FCS.
const ADDED_BYTES: u64 = 34;
/// The longest estimate that a packet can keep, and its unit (`IEEE80211_TX_TIME_EST_UNIT`).
const LONGEST_US: u64 = 4_095;
const UNIT_US: u64 = 4;

/// The estimate for frames in one transmit mode and category.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AirTimeEstimate {
    /// The data of 1,024 bytes, in 1024ths of a microsecond.
    reference: u64,
    /// A frame's share of the preamble, in microseconds.
    overhead_us: u64,
}

impl AirTimeEstimate {
    /// That of frames that no limit counts.
    pub(crate) const NONE: Self = Self { reference: 0, overhead_us: 0 };

    /// The estimate at this vector. Frames of voice are never aggregated.
    pub(crate) fn new(vector: &TxVector, category: Category) -> Self {
        let reference = 8 * REFERENCE_BYTES * 1_024 * 1_000_000 / vector.rate().as_bps();
        let overhead_us = match vector.format() {
            Format::Dsss { short: true } => 96 + 10,
            Format::Dsss { short: false } => 192 + 10,
            Format::Ofdm => 20 + 16,
            format => {
                let whole = 36 + 4 * u64::from(vector.streams());
                if category == Category::Voice { whole } else { whole >> shift(reference, format) }
            }
        };
        Self { reference, overhead_us }
    }

    /// The estimate for a frame of so many bytes, MAC header to FCS, in microseconds.
    pub(crate) fn micros(self, bytes: u32) -> u16 {
        let data = self.reference * (u64::from(bytes) + ADDED_BYTES) / REFERENCE_BYTES / 1_024;
        ((data + self.overhead_us).clamp(UNIT_US, LONGEST_US) / UNIT_US * UNIT_US) as u16
    }
}

/// The power of two that stands for the number of frames of an aggregate.
const fn shift(reference: u64, format: Format) -> u32 {
    match reference / 1_024 {
        400.. => 1,
        250.. => 2,
        150.. => 3,
        70.. => 4,
        20.. => 5,
        _ => match format {
            Format::He(_) => 6,
            Format::Dsss { .. }
            | Format::Ofdm
            | Format::HtMixed
            | Format::HtGreenfield
            | Format::Vht
            | Format::Eht(_) => 5,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand, for 1,538 bytes and 34 more: 12,576 bits at 130 Mbit/s are 96.7 us and 44 >> 5 more; at 6.5 Mbit/s 1,934.8 us and
    /// 40 >> 1; at 1,201 Mbit/s 10.5 us and nothing. Estimates are whole units of 4 us.
    #[test]
    fn estimates_by_hand() {
        let of = |mode: &str, category| AirTimeEstimate::new(&mode.parse().unwrap(), category).micros(1_538);
        assert_eq!(of("HT20 MCS 15", Category::BestEffort), 96);
        assert_eq!(of("HT20 MCS 15", Category::Voice), 140);
        assert_eq!(of("HT20 MCS 0", Category::BestEffort), 1_952);
        assert_eq!(of("HE80 MCS 11 x2", Category::BestEffort), 8);
    }
}

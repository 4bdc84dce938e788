//! How much is sent in one PPDU: what a cell is set to, and what the formats allow.

use airwatt_base::{Size, Span};
use airwatt_dot11::{Format, TxVector};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::media::cell::frame::DELIMITER_BYTES;

/// aPPDUMaxTime of 802.11n's mixed format and of all later ones (tables 19-25, 21-28; 802.11ax table 27-54).
pub const MAX_PPDU_TIME: Span = Span::from_micros(5_484);

/// Longest A-MPDU of a format: of HT 9.4.2.55.3, of VHT 9.4.2.157.2, and of HE the longest PSDU (802.11ax table 27-54).
pub const fn max_ampdu_bytes(format: Format) -> u32 {
    match format {
        Format::Vht => 1_048_575,
        Format::He(_) | Format::Eht(_) => 6_500_631,
        Format::Dsss { .. } | Format::Ofdm | Format::HtMixed | Format::HtGreenfield => 65_535,
    }
}

/// Longest A-MSDU of a format: of HT 9.4.2.55.2, of later ones what the longest MPDU leaves.
pub const fn max_amsdu_bytes(format: Format) -> u32 {
    match format {
        Format::Vht | Format::He(_) | Format::Eht(_) => 11_398,
        Format::Dsss { .. } | Format::Ofdm | Format::HtMixed | Format::HtGreenfield => 7_935,
    }
}

/// Longest MPDU: within an A-MPDU of HT (9.7.3), and of VHT and later formats (9.4.2.157.2).
pub(crate) const fn max_mpdu_bytes(format: Format, is_in_ampdu: bool) -> u32 {
    match format {
        Format::Vht | Format::He(_) | Format::Eht(_) => 11_454,
        Format::Dsss { .. } | Format::Ofdm | Format::HtMixed | Format::HtGreenfield if is_in_ampdu => 4_095,
        Format::Dsss { .. } | Format::Ofdm | Format::HtMixed | Format::HtGreenfield => u32::MAX,
    }
}

/// Largest window of a block-ack agreement, in frames (9.4.1.13).
pub const fn max_window(format: Format) -> u16 {
    match format {
        Format::He(_) | Format::Eht(_) => 256,
        Format::Dsss { .. } | Format::Ofdm | Format::HtMixed | Format::HtGreenfield | Format::Vht => 64,
    }
}

/// Whether a format has A-MPDUs, and A-MSDUs.
pub(crate) const fn has_ampdus(format: Format) -> bool {
    !matches!(format, Format::Dsss { .. } | Format::Ofdm)
}

/// The window that agreements with this window have: block acknowledgements have bits for 64 frames or for 256.
pub(crate) const fn agreed_window(window: u16) -> u16 {
    if window > 64 { 256 } else { 64 }
}

/// The bytes that go by in `spacing` at the rate of this vector, in whole delimiters (802.11-2020 10.12.3).
pub(crate) fn spacing_bytes(spacing: Span, vector: &TxVector) -> u32 {
    let bits = u128::from(spacing.as_nanos()) * u128::from(vector.rate().as_bps());
    (bits.div_ceil(8_000_000_000) as u32).next_multiple_of(DELIMITER_BYTES)
}

/// What a sender does when the block acknowledgement of an aggregate is missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MissedBlockAck {
    /// It sends all frames again, as ath9k and most drivers.
    #[default]
    Resend,
    /// It asks by a BlockAckReq what has arrived, and sends the others again, as ns-3.
    Request,
}

/// The largest A-MPDU. Stations and access point have the same.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Aggregation {
    /// Most frames, 1 to the largest window of the format: 64 with HT and VHT, 256 with HE. Default: that window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mpdus: Option<u16>,
    /// Longest A-MPDU. Default: the longest of the format, 65535 bytes with HT, 1048575 with VHT, and 6500631 with HE.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<Size>,
    /// Longest time on the air, up to 5.484 ms; with a TXOP limit an A-MPDU and its block acknowledgement are no longer than that either.
    pub time: Span,
    /// Longest A-MSDU: packets to one receiver share a frame of at most this length, as far as the longest MPDU allows (4095 bytes within an
    /// A-MPDU of HT, 11454 with VHT and HE). Where a frame is damaged all its packets are lost. Up to 7935 bytes with HT and 11398 with VHT and
    /// HE; devices often have 3839. Default: each packet has a frame of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub amsdu: Option<Size>,
    /// Least time from the start of one frame of an A-MPDU to the start of the next, 0 to 16 us: shorter frames are followed by empty delimiters. It
    /// is what the receiver asks for (Minimum MPDU Start Spacing, 802.11-2020 9.4.2.55.3); devices often ask for 4 or 8 us.
    pub start_spacing: Span,
    /// What follows if the block acknowledgement of an A-MPDU is missing: `resend`, all its frames are sent again, as by ath9k and most
    /// drivers, or `request`, a BlockAckReq asks what has arrived, as in ns-3.
    pub missed_block_ack: MissedBlockAck,
    /// Largest number of retransmissions of a data frame where A-MPDUs are sent, 0 to 255. Default: `wifi.retry_limit`. The receiver learns
    /// of a frame that is given up by a BlockAckReq; if that is lost as well, it waits for 100 ms, as Linux.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_limit: Option<u32>,
}

impl Aggregation {
    /// One frame in each PPDU.
    pub const NONE: Self = Self {
        mpdus: Some(1),
        bytes: None,
        time: MAX_PPDU_TIME,
        amsdu: None,
        start_spacing: Span::ZERO,
        missed_block_ack: MissedBlockAck::Resend,
        retry_limit: None,
    };

    /// Most frames of a PPDU in this format.
    pub fn most(&self, format: Format) -> u16 {
        if has_ampdus(format) { self.mpdus.unwrap_or(u16::MAX).min(max_window(format)) } else { 1 }
    }
}

impl Default for Aggregation {
    fn default() -> Self {
        Self { mpdus: None, time: MAX_PPDU_TIME, ..Self::NONE }
    }
}

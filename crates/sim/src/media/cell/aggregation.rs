//! How much is sent in one PPDU: what a cell is set to, and what the formats allow.

use airwatt_base::Span;
use airwatt_dot11::Format;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// aPPDUMaxTime of 802.11n's mixed format and of all later ones (tables 19-25, 21-28; 802.11ax table 27-54).
pub const MAX_PPDU_TIME: Span = Span::from_micros(5_484);

/// Longest A-MPDU of a format: of HT 9.4.2.55.3, of VHT 9.4.2.157.2, and of HE the longest PSDU (802.11ax table 27-54).
pub const fn max_ampdu_bytes(format: Format) -> u32 {
    match format {
        Format::Vht => 1_048_575,
        Format::He(_) | Format::Eht(_) => 6_500_631,
        _ => 65_535,
    }
}

/// Longest A-MSDU of a format: of HT 9.4.2.55.2, of later ones what the longest MPDU leaves.
pub const fn max_amsdu_bytes(format: Format) -> u32 {
    match format {
        Format::Vht | Format::He(_) | Format::Eht(_) => 11_398,
        _ => 7_935,
    }
}

/// Longest MPDU: within an A-MPDU of HT (9.7.3), and of VHT and later formats (9.4.2.157.2).
pub(super) const fn max_mpdu_bytes(format: Format, is_in_ampdu: bool) -> u32 {
    match format {
        Format::Vht | Format::He(_) | Format::Eht(_) => 11_454,
        _ if is_in_ampdu => 4_095,
        _ => u32::MAX,
    }
}

/// Largest window of a block-ack agreement, in frames (9.4.1.13).
pub const fn max_window(format: Format) -> u16 {
    match format {
        Format::He(_) | Format::Eht(_) => 256,
        _ => 64,
    }
}

/// Whether a format has A-MPDUs, and A-MSDUs.
pub(super) const fn has_ampdus(format: Format) -> bool {
    !matches!(format, Format::Dsss { .. } | Format::Ofdm)
}

/// The window that agreements with this window have: block acknowledgements have bits for 64 frames or for 256.
pub(super) const fn agreed_window(window: u16) -> u16 {
    if window > 64 { 256 } else { 64 }
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

/// How much is sent in one PPDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AggregationConfig {
    /// Most frames, or as many as the window has; with 1 there is no block-ack agreement.
    pub mpdus: Option<u16>,
    /// Longest A-MPDU, or that of the format.
    pub bytes: Option<u32>,
    /// Longest time on the air.
    pub time: Span,
    /// Longest A-MSDU, if packets share frames.
    pub amsdu: Option<u32>,
    /// What follows a missing block acknowledgement.
    pub missed: MissedBlockAck,
    /// Largest number of retransmissions of a frame under an agreement, or that of other frames.
    pub retry_limit: Option<u32>,
}

impl AggregationConfig {
    /// One frame in each PPDU.
    pub const NONE: Self = Self {
        mpdus: Some(1),
        bytes: None,
        time: MAX_PPDU_TIME,
        amsdu: None,
        missed: MissedBlockAck::Resend,
        retry_limit: None,
    };

    /// Most frames of a PPDU in this format.
    pub fn most(&self, format: Format) -> u16 {
        if has_ampdus(format) { self.mpdus.unwrap_or(u16::MAX).min(max_window(format)) } else { 1 }
    }
}

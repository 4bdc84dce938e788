//! What a QUIC end is set to.

use airwatt_base::settings::{SettingError, Settings, in_range};
use airwatt_base::{Size, Span, with_defaults};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cc::Algorithm;

/// The congestion controls of QUIC (RFC 9002 section 7).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum QuicCongestion {
    /// That of RFC 9002 itself.
    NewReno,
    /// CUBIC (RFC 9438).
    #[default]
    Cubic,
}

impl QuicCongestion {
    /// Our algorithm with this window rule. Which packets are lost is QUIC's to decide, as selective acknowledgements do for TCP.
    pub(super) const fn algorithm(self) -> Algorithm {
        match self {
            Self::NewReno => Algorithm::Sack,
            Self::Cubic => Algorithm::Cubic,
        }
    }
}

/// When a receiver acknowledges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum QuicAckRule {
    /// Once for a number of packets, and not later than a delay.
    #[default]
    Fixed,
    /// As Chrome: each second packet up to the hundredth, then each tenth.
    Chrome,
}

with_defaults! {
    /// Settings of both ends of a QUIC connection.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields, default)]
    pub struct QuicConfig {
        /// Congestion control. Default `cubic`.
        pub congestion: QuicCongestion = QuicCongestion::default(),
        /// The first window. Default 12000 bytes, ten packets of the first size (RFC 9002 section 7.2); Chrome has 32 packets.
        pub initial_window: Size = Size::from_bytes(12_000),
        /// When a receiver acknowledges. Default `fixed`: by `ack_every` and `ack_delay`. `chrome`: each second of the first hundred packets, then each
        /// tenth or after a quarter of the least round-trip time (25 ms at most), whichever is first, and gaps at once. No frame asks for it.
        pub ack_rule: QuicAckRule = QuicAckRule::default(),
        /// Packets that elicit an acknowledgement for each one that is sent. Default 2 (RFC 9000 section 13.2.2); another number is
        /// asked for by an ACK_FREQUENCY frame (draft-ietf-quic-ack-frequency).
        pub ack_every: u32 = ACK_EVERY,
        /// The longest time for which an acknowledgement waits. Default 25 ms (RFC 9000 section 18.2); a shorter time is asked for by
        /// an ACK_FREQUENCY frame, and a longer one holds up to a round trip.
        pub ack_delay: Span = ACK_DELAY,
        /// Largest UDP payload that path MTU discovery tries, in bytes; 1200 tries none. Default 1452, as quinn and Chrome.
        pub mtu: Size = Size::from_bytes(1452),
        /// The receive window of a stream. Default 1.25 MB, as quinn; there is none for all streams together.
        pub stream_window: Size = Size::from_bytes(1_250_000),
    }
}

/// The longest wait of an acknowledgement without an agreement.
pub(super) const ACK_DELAY: Span = Span::from_millis(25);
/// Packets for each acknowledgement without an agreement.
pub(super) const ACK_EVERY: u32 = 2;
/// The first, and least, UDP payload (RFC 9000 section 14).
pub(super) const FIRST_MTU: u16 = 1200;

impl QuicConfig {
    /// Whether acknowledgements follow an agreement.
    pub(super) fn asks_for_acks(&self) -> bool {
        (self.ack_every, self.ack_delay) != (ACK_EVERY, ACK_DELAY)
    }
}

impl Settings for QuicConfig {
    fn check(&self) -> Result<(), SettingError> {
        in_range("initial_window", self.initial_window, Size::from_bytes(2_400), Size::from_bytes(1 << 30))?;
        in_range("ack_every", self.ack_every, 1, 1_000)?;
        // The library's own least delay, its timer's granularity, is 1 ms.
        in_range("ack_delay", self.ack_delay, Span::from_millis(1), Span::from_secs(1))?;
        if self.ack_rule == QuicAckRule::Chrome && self.asks_for_acks() {
            let why = "the rule has numbers of its own; leave out ack_every and ack_delay";
            return Err(SettingError::conflict("ack_rule", "ack_every and ack_delay", why));
        }
        in_range("mtu", self.mtu, Size::from_bytes(1_200), Size::from_bytes(65_000))?;
        in_range("stream_window", self.stream_window, Size::from_bytes(1_500), Size::from_bytes(1 << 30))
    }
}

//! The settings of a tunnel.

use airwatt_base::settings::{SettingError, Settings, in_range};
use airwatt_base::{Size, Span, with_defaults};

use super::sctp::{Reliability, SctpConfig};

/// m without a setting and without a delay budget: the largest of figure 4.5, beyond which little is gained.
const BURST: u32 = 5;
/// The largest m. Larger bursts save nothing more and are longer than a transmission opportunity.
const BURST_MAX: u32 = 64;
/// The time-out without a delay budget; the thesis gives no value.
const HOLD: Span = Span::from_millis(20);
/// Bytes that a tunnel holds at most: some hundred packets, as much as a burst of each of many flows.
const QUEUE_BYTES: u64 = 512 * 1024;

/// What carries packets to the peer.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum AssociationKind {
    /// Numbered datagrams: the inner transports alone repeat what is lost and react to congestion.
    #[default]
    Datagrams,
    /// SCTP with a stream for each flow; messages are unordered and repeated once at most.
    Sctp,
    /// SCTP that repeats messages until they arrive, in the order of each flow.
    SctpReliable,
}

impl AssociationKind {
    /// How often SCTP repeats messages; `None` without SCTP.
    pub const fn reliability(self) -> Option<Reliability> {
        match self {
            Self::Datagrams => None,
            Self::Sctp => Some(Reliability::Limited),
            Self::SctpReliable => Some(Reliability::Full),
        }
    }
}

with_defaults! {
    /// Settings of a tunnel, at either end.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
    #[serde(deny_unknown_fields, default)]
    pub struct TunnelConfig {
        /// What carries packets to the peer; the same at both ends. Default: `datagrams`.
        pub association: AssociationKind = AssociationKind::Datagrams,
        /// Number of packets in a burst, 1 to 64; with a delay budget the largest. Default: 5, with a delay budget 64.
        pub burst: Option<u32> = None,
        /// Mean delay that the tunnel may add to a packet. Bursts are as large as this permits at the measured rate, and no
        /// packet is held for more than twice as long.
        pub delay_budget: Option<Span> = None,
        /// Time for which a packet is held at most. Default: 20 ms, with a delay budget twice the budget.
        pub hold: Option<Span> = None,
        /// Whether what is held is sent when the peer's burst has ended, since the radio is awake then.
        pub answer: bool = true,
        /// Whether a client fetches what the peer's bursts may have become, by empty datagrams where it has nothing to send. They open
        /// service periods of U-APSD; under any other power save they keep the radio awake for nothing.
        pub triggers: bool = true,
        /// Largest outer packet in which several inner packets share a datagram; `0B` for one inner packet in each.
        pub bundle: Size = Size::from_bytes(1_500),
        /// Whether a held TCP acknowledgement is dropped if a later one of the same flow makes it superfluous.
        pub thin_acks: bool = false,
        /// Whether datagrams are neither encrypted nor authenticated. For measurement.
        pub plain: bool = false,
        /// Time without a datagram after which an empty one is sent, so that mappings of addresses on the path stay. Each costs a
        /// wake-up of the radio. Default: never.
        pub keep_alive: Option<Span> = None,
    }
}

impl Settings for TunnelConfig {
    fn check(&self) -> Result<(), SettingError> {
        let millisecond = Span::from_millis(1);
        if let Some(burst) = self.burst {
            in_range("burst", burst, 1, BURST_MAX)?;
        }
        if let Some(budget) = self.delay_budget {
            in_range("delay_budget", budget, millisecond, Span::from_secs(1))?;
        }
        if let Some(hold) = self.hold {
            in_range("hold", hold, millisecond, Span::from_secs(2))?;
        }
        if let Some(keep_alive) = self.keep_alive {
            in_range("keep_alive", keep_alive, Span::from_secs(1), Span::from_secs(3_600))?;
        }
        in_range("bundle", self.bundle, Size::from_bytes(0), Size::from_bytes(65_535))
    }
}

impl TunnelConfig {
    /// The largest m.
    pub fn most_packets(&self) -> u32 {
        self.burst.unwrap_or(if self.delay_budget.is_some() { BURST_MAX } else { BURST })
    }

    /// The longest time for which a packet is held.
    pub fn hold_time(&self) -> Span {
        let of_budget = self.delay_budget.map(|budget| budget.saturating_mul(2));
        self.hold.or(of_budget).unwrap_or(HOLD)
    }

    /// Bytes that a tunnel holds at most.
    pub const fn queue_bytes(&self) -> u64 {
        QUEUE_BYTES
    }

    /// Bytes that the tunnel adds to the packets of a datagram, IP header included; with SCTP to one packet.
    pub const fn overhead_bytes(&self, outer: super::wire::OuterIp) -> u32 {
        match self.association {
            AssociationKind::Datagrams => super::wire::overhead_bytes(outer, self.plain),
            AssociationKind::Sctp | AssociationKind::SctpReliable => {
                super::wire::carrier_bytes(outer, self.plain) + super::sctp::OVERHEAD_BYTES
            }
        }
    }

    /// The settings of SCTP for inner packets of up to `packet_bytes`; `None` without SCTP.
    pub fn sctp(&self, packet_bytes: u32) -> Option<SctpConfig> {
        let reliability = self.association.reliability()?;
        // Messages are padded to whole words.
        let packet_bytes = (packet_bytes + super::sctp::OVERHEAD_BYTES).next_multiple_of(4) as usize;
        Some(SctpConfig { packet_bytes, bundle: self.bundle.as_bytes() > 0, reliability })
    }

    /// Bytes of inner packets that may share a datagram.
    pub fn bundle_bytes(&self, outer: super::wire::OuterIp) -> u32 {
        let bundle = u32::try_from(self.bundle.as_bytes()).unwrap_or(u32::MAX);
        bundle.saturating_sub(self.overhead_bytes(outer))
    }
}

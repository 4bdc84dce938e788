//! The transports of a scenario and their settings.

use airwatt_base::{QueueLimit, Size, Span};
use airwatt_proto::cc::{self, Algorithm};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Transport protocols.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Transport {
    /// TCP from end to end.
    Tcp {
        /// Its congestion control.
        congestion: Algorithm,
        /// Whether lost acknowledgements halve its window.
        ackloss: bool,
    },
    /// TCP whose receiver can do without a share of the data.
    Prtp,
    /// Two TCP connections that meet at the base station.
    Split,
    /// The energy-efficient TCP for the hop, behind a gateway where there is a wire.
    E2tcp,
    /// Datagrams without any control.
    Udp,
}

impl Default for Transport {
    fn default() -> Self {
        Self::tcp(Algorithm::NewReno)
    }
}

impl Transport {
    /// Names with a line each, for `airwatt transports`.
    pub const ALL: [(Self, &'static str, &'static str); 14] = [
        (
            Self::tcp(Algorithm::Tahoe),
            "tahoe",
            "TCP with fast retransmit and slow start after it (4.3BSD-Tahoe; RFC 6298)",
        ),
        (
            Self::tcp(Algorithm::Reno),
            "reno",
            "TCP with fast recovery until the first new acknowledgement (RFC 5681, 6298)",
        ),
        (
            Self::tcp(Algorithm::NewReno),
            "newreno",
            "TCP with NewReno congestion control and recovery (RFC 5681, 6582, 6298)",
        ),
        (
            Self::tcp(Algorithm::Sack),
            "sack",
            "TCP with selective acknowledgements (RFC 5681, 2018, 2883, 6675, 6298)",
        ),
        (
            Self::tcp(Algorithm::Cubic),
            "cubic",
            "TCP with CUBIC congestion control over selective acknowledgements (RFC 9438, 6675)",
        ),
        (Self::with_ackloss(Algorithm::Tahoe), "tahoe+ackloss", "the same, and lost ACKs halve its window"),
        (Self::with_ackloss(Algorithm::Reno), "reno+ackloss", "the same, and lost ACKs halve its window"),
        (
            Self::with_ackloss(Algorithm::NewReno),
            "newreno+ackloss",
            "the same, and lost ACKs halve its window",
        ),
        (Self::with_ackloss(Algorithm::Sack), "sack+ackloss", "the same, and lost ACKs halve its window"),
        (Self::with_ackloss(Algorithm::Cubic), "cubic+ackloss", "the same, and lost ACKs halve its window"),
        (Self::Prtp, "prtp", "NewReno whose receiver acknowledges past gaps down to its reliability (PRTP)"),
        (Self::Split, "split", "TCP to the base station, and TCP of its own from there (I-TCP)"),
        (Self::E2tcp, "e2tcp", "E2TCP over the last hop, behind a gateway where a wire comes before it"),
        (Self::Udp, "udp", "datagrams without any control"),
    ];

    const fn tcp(congestion: Algorithm) -> Self {
        Self::Tcp { congestion, ackloss: false }
    }

    const fn with_ackloss(congestion: Algorithm) -> Self {
        Self::Tcp { congestion, ackloss: true }
    }

    /// Whether its receiver can do without a share of the data.
    pub const fn is_partial(self) -> bool {
        matches!(self, Self::Prtp | Self::E2tcp)
    }

    /// The name in scenarios and results.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(transport, ..)| *transport == self).map_or("", |(_, name, _)| name)
    }
}

impl From<Transport> for String {
    fn from(transport: Transport) -> Self {
        transport.name().to_owned()
    }
}

impl TryFrom<String> for Transport {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        let found = Self::ALL.iter().find(|(_, known, _)| *known == name);
        found.map(|(transport, ..)| *transport).ok_or_else(|| {
            let names = Self::ALL.map(|(_, name, _)| name).join(", ");
            format!("{name:?} is not a transport; allowed are {names}")
        })
    }
}

impl JsonSchema for Transport {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Transport".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let names = Self::ALL.map(|(_, name, _)| name);
        schemars::json_schema!({
            "description": "Transport protocols.",
            "type": "string",
            "enum": names,
        })
    }
}

/// What senders do about acknowledgements that are lost (Hashimoto 2013, section 2.3), with the transports that have
/// `+ackloss` in their names.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AckLoss {
    /// Lost acknowledgements that halve the window.
    pub threshold: u32,
    /// Segments that an acknowledgement answers, where the sender knows. Default: it estimates them.
    pub segments_per_ack: Option<u32>,
    /// Weight of a sample in the estimate: one over two to the power of this.
    pub beta_shift: u8,
    /// What counts as a loss.
    pub rule: AckLossRule,
}

impl Default for AckLoss {
    fn default() -> Self {
        let machine = cc::AckLossConfig::default();
        Self {
            threshold: machine.threshold,
            segments_per_ack: None,
            beta_shift: machine.beta_shift,
            rule: AckLossRule::Published,
        }
    }
}

/// What counts as a lost acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AckLossRule {
    /// Every b segments beyond the first that one acknowledgement acknowledges.
    Published,
    /// The same with a receiver that acknowledges regularly; one that stretches its acknowledgements is let be.
    Stretch,
}

/// TCP at both ends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Tcp {
    /// Largest IP packet.
    pub mtu: Size,
    /// IP and TCP header: 40 bytes, 52 with timestamps.
    pub header: Size,
    /// Receive window, in bytes or in full-sized segments (`20packets`).
    pub receive_window: QueueLimit,
    /// Initial window in segments. Default: RFC 6928 (ten segments of 1448 bytes).
    pub initial_window: Option<u32>,
    /// Initial slow-start threshold. Default: none (as large as the receive window).
    pub initial_ssthresh: Option<Size>,
    /// What congestion avoidance of the classic algorithms counts (RFC 5681 section 3.1).
    pub window_growth: WindowGrowth,
    /// Limited Transmit (RFC 3042): the first two duplicate acknowledgements let a new segment out each.
    pub limited_transmit: bool,
    /// Delayed acknowledgements: one for every `delayed_ack_segments`, or after `delayed_ack_timeout`.
    pub delayed_ack: bool,
    /// How many segments a delayed acknowledgement answers. Default 2 (RFC 5681 section 4.2).
    pub delayed_ack_segments: u32,
    /// How long an acknowledgement is delayed at most.
    pub delayed_ack_timeout: Span,
    /// Which partial acknowledgements restart the retransmission timer in fast recovery (RFC 6582 section 4).
    pub partial_ack_timer: PartialAckTimer,
    /// How round-trip times are measured: `fine` as RFC 6298 with every segment timed, `coarse` in ticks and one segment at
    /// a time as in 4.4BSD and the simulators of its time.
    pub rto_clock: RtoClock,
    /// Tick of the coarse clock: 500 ms in 4.4BSD, 100 ms in simulators.
    pub rto_tick: Span,
    /// Smallest retransmission time-out of the coarse clock in ticks, where `min_rto` is not more.
    pub rto_min_ticks: u32,
    /// Smallest retransmission time-out.
    pub min_rto: Span,
    /// What `min_rto` bounds: the `timeout`, or its `variance` term alone, as Linux does.
    pub min_rto_of: MinRtoOf,
    /// Retransmission time-out before the first measurement (RFC 6298: 1 s).
    pub initial_rto: Span,
    /// Largest retransmission time-out.
    pub max_rto: Span,
    /// Whether connections begin with a SYN exchange.
    pub handshake: bool,
}

impl Default for Tcp {
    fn default() -> Self {
        Self {
            mtu: Size::from_bytes(1500),
            header: Size::from_bytes(52),
            receive_window: QueueLimit::Bytes(Size::from_bytes(1_500_000)),
            initial_window: None,
            initial_ssthresh: None,
            window_growth: WindowGrowth::Bytes,
            limited_transmit: false,
            delayed_ack: true,
            delayed_ack_segments: 2,
            delayed_ack_timeout: Span::from_millis(40),
            partial_ack_timer: PartialAckTimer::Impatient,
            rto_clock: RtoClock::Fine,
            rto_tick: Span::from_millis(100),
            rto_min_ticks: 2,
            min_rto: Span::from_millis(200),
            min_rto_of: MinRtoOf::Timeout,
            initial_rto: Span::from_secs(1),
            max_rto: Span::from_secs(60),
            handshake: true,
        }
    }
}

/// Which partial acknowledgements restart the retransmission timer in fast recovery (RFC 6582 section 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PartialAckTimer {
    /// The first one only: many losses in a window end in a time-out.
    Impatient,
    /// Each one: fast recovery lasts until all is acknowledged that was outstanding when it began.
    SlowButSteady,
}

/// What the smallest retransmission time-out bounds, with the `fine` clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum MinRtoOf {
    /// The time-out as a whole (RFC 6298 section 2.4).
    Timeout,
    /// What it has beyond the smoothed round-trip time (Linux).
    Variance,
}

/// What congestion avoidance counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum WindowGrowth {
    /// Bytes: a segment for each window acknowledged, however many acknowledgements carried them.
    Bytes,
    /// Acknowledgements: `mss * mss / cwnd` for each.
    Acks,
}

/// How round-trip times are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RtoClock {
    /// RFC 6298, every segment.
    Fine,
    /// In ticks of `rto_tick`, one segment at a time.
    Coarse,
}

/// E2TCP at both ends of its flows. Windows are in packets; a packet carries `tcp.mtu` less `tcp.header` bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct E2tcp {
    /// Window to begin with, and least window while losses look like noise.
    pub min_window: u32,
    /// Largest window.
    pub max_window: u32,
    /// Window after a time-out.
    pub after_timeout: u32,
    /// Packets newly lost in one acknowledgement up to which they are noise; more are a burst error.
    pub error_limit: u32,
    /// How the window grows while nothing is lost: by a packet with each acknowledgement, or with each window of them.
    pub increase: Increase,
    /// What fills the window: packets that travel, those that are missing too, or the span behind the acknowledgement.
    pub counted: Counted,
    /// Whether a packet sent again is found lost by acknowledgements of later ones; else by its timer alone.
    pub infer_relost: bool,
    /// The time-out is the largest of the last five round trips times so many per cent, and this margin.
    pub rto_percent: u32,
    /// Margin of the time-out.
    pub rto_margin: Span,
    /// Time-out before the first measurement.
    pub initial_rto: Span,
    /// Whether time-outs in a row double the next. The thesis describes none; without, a link whose queue takes longer than
    /// a time-out is filled with copies for ever.
    pub back_off: bool,
    /// Whether the receiver reports what it has behind gaps.
    pub selective: bool,
    /// What headers cost: E2TCP's own, or those that TCP would need.
    pub header: HeaderForm,
    /// How bursts of errors are met.
    pub burst_reaction: BurstReaction,
    /// What the receiver has room for. Above 65535 bytes only in simulation: the header's fields hold no more, unless they
    /// count packets, as those of the thesis did.
    pub receive_window: Size,
}

impl Default for E2tcp {
    fn default() -> Self {
        let machine = airwatt_proto::e2tcp::E2tcpConfig::default();
        Self {
            min_window: machine.min_window,
            max_window: machine.max_window,
            after_timeout: machine.after_timeout,
            error_limit: machine.error_limit,
            increase: Increase::Ack,
            counted: Counted::Travelling,
            infer_relost: machine.infer_relost,
            rto_percent: machine.rto_percent,
            rto_margin: machine.rto_margin,
            initial_rto: machine.initial_rto,
            back_off: true,
            selective: machine.selective,
            header: HeaderForm::E2tcp,
            burst_reaction: BurstReaction::Windows,
            receive_window: Size::from_bytes(u64::from(machine.receive_window)),
        }
    }
}

/// What the headers of E2TCP packets cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum HeaderForm {
    /// Their own: 8 bytes and what is optional.
    E2tcp,
    /// TCP's: 40 bytes, and 10 for each block.
    Tcp,
}

/// What fills E2TCP's window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Counted {
    /// Packets believed to be on their way.
    Travelling,
    /// Those, and the ones believed lost.
    Missing,
    /// Everything behind the acknowledgement: the window slides over sequence numbers.
    Span,
}

/// How E2TCP's window grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Increase {
    /// By a packet with each acknowledgement that tells of no loss.
    Ack,
    /// By a packet with each window's worth of them.
    Window,
}

/// How E2TCP meets bursts of errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum BurstReaction {
    /// By the window rules alone.
    Windows,
    /// By the earlier detector, which guesses how long a burst lasts.
    Detector,
}

/// The base station where connections of `split` and `e2tcp` meet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Gateway {
    /// TCP between server and base station, and on the hop of `split`: a name that `airwatt transports` lists.
    pub transport: Transport,
    /// What it holds for each connection at most, beside what it has not read yet.
    pub buffer: Size,
}

impl Default for Gateway {
    fn default() -> Self {
        Self { transport: Transport::default(), buffer: Size::from_bytes(65_536) }
    }
}

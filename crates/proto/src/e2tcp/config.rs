//! What an E2TCP end is set to. The defaults are those of the thesis (table 5.1) where it has any; each reading of what it
//! leaves open is a setting, and says so.

use airwatt_base::named_values;
use airwatt_base::settings::{self, SettingError, Settings, in_range};
use airwatt_base::{Seq, Size, Span, with_defaults};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::wire::E2tcpPacket;

/// How the window grows by acknowledgements that tell of no loss. The thesis does not say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub enum Increase {
    /// By `increase_step` packets with each, or with each `increase_every`-th: from 12 to 25 within one window.
    #[default]
    #[serde(rename = "ack")]
    PerAck,
    /// By `increase_step` packets with each window's worth of them.
    #[serde(rename = "window")]
    PerWindow,
}

/// What fills the window. The thesis draws a sliding window (figure 3.1) and does not say what loss does to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Counted {
    /// Packets believed to be on their way.
    #[default]
    Travelling,
    /// Those, and the ones believed lost that have not been sent again.
    Missing,
    /// Everything behind the acknowledgement, received ahead of a gap or not: the window slides over sequence numbers, as
    /// TCP's does.
    Span,
}

/// What an acknowledgement that repeats its number means to a sender whose peer reports no blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DuplicateAck {
    /// Nothing: the timers alone find losses.
    #[default]
    Ignored,
    /// Everything that was sent for the first time and is unacknowledged is lost, and is sent again (go-back-N). Further
    /// ones mean nothing until everything that had been sent by then is acknowledged, as with NewReno's recovery point.
    GoBack,
    /// The first missing packet is lost, and is sent again. If the acknowledgement of that packet leaves others missing that
    /// were sent before, there was a burst: everything is lost, as above. After a timeout duplicates mean nothing until
    /// everything that had been sent by then is acknowledged.
    OneThenAll,
}

/// What a window field does to the largest window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum WindowField {
    /// It becomes the largest window, above the configured one too: the thesis' rule, by which the receiver governs.
    #[default]
    Replaces,
    /// It only lowers the configured one.
    Caps,
}

/// How loss is met.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum BurstReaction {
    /// The window management of the thesis: the smallest window for many errors at once, another after a timeout.
    #[default]
    Windows,
    /// The earlier detector that the thesis compares it with: states, and a guess at how long the burst lasts.
    Detector(DetectorConfig),
}

named_values! {
    BurstReaction {
        "windows" => Self::Windows = Self::Windows;
        "detector" => Self::Detector(_) = Self::Detector(DetectorConfig::default());
    }
}

/// The headers whose length a simulation charges for each packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum HeaderForm {
    /// E2TCP's own: 8 bytes, and the optional fields.
    #[default]
    E2tcp,
    /// TCP's: 40 bytes, and 10 for each block.
    Tcp,
}

with_defaults! {
    /// Settings of the earlier burst-error detector; the thesis gives none of them.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct DetectorConfig {
        /// Window in a burst in packets. Default 1.
        pub tiny_window: u32 = 1,
        /// Bursts whose lengths are averaged to predict the next, and how many have to be known before one is predicted.
        /// 1 to 16, default 5.
        pub history: u8 = 5,
        /// A burst predicted to last at most so many round trips counts as short. Default 2.
        pub short_round_trips: u32 = 2,
    }
}

with_defaults! {
    /// One end's settings. Both ends are given the same [`E2tcpConfig::assumed_window`]. Windows are in packets. Fields that are
    /// no keys of files are derived ([`E2tcpConfig::derived`]) or belong to a device.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields, default)]
    pub struct E2tcpConfig {
        /// Payload of a full packet in bytes, 1 to 65000. Default 1000.
        #[serde(skip)]
        pub payload: u16 = 1000,
        /// Whether shorter packets are tried, and sent from then on, where those with `payload` never arrive: on a path that drops what
        /// is too long and does not report it. Default no: the hop of a simulation carries all.
        #[serde(skip)]
        pub searches_payload: bool = false,
        /// Window to begin with, and least window while losses look like static noise, in packets. Default 12.
        pub min_window: u32 = 12,
        /// Largest window in packets, until the peer's window field says otherwise. Default 25.
        pub max_window: u32 = 25,
        /// Window after a timeout in packets. Default 5.
        pub after_timeout: u32 = 5,
        /// Packets newly lost in one acknowledgement up to which they are static noise; more are a burst error. Default 5; the
        /// thesis writes both "below" and "exceeds", read as: equal is static.
        pub error_limit: u32 = 5,
        /// How the window grows. Default with each acknowledgement.
        pub increase: Increase = Increase::default(),
        /// With `increase = "ack"`, acknowledgements that show no loss for each growth. Default 1.
        pub increase_every: u32 = 1,
        /// Packets by which it grows. Default 1.
        #[serde(skip)]
        pub increase_step: u32 = 1,
        /// Packets by which it shrinks for each packet newly lost to static noise. Default 1.
        #[serde(skip)]
        pub decrease_step: u32 = 1,
        /// What keeps new data out of the window. Default what travels: packets believed lost have left the link.
        pub counted: Counted = Counted::default(),
        /// Whether a retransmission counts as lost when an acknowledgement reports a packet sent after it. Default no: only the
        /// retransmission timer finds such losses, as in the thesis.
        pub infer_relost: bool = false,
        /// The response to bursts of errors: `windows`, the window management of the thesis, or `detector`, the earlier detector
        /// that it is compared with. Default `windows`.
        pub burst_reaction: BurstReaction = BurstReaction::default(),
        /// The timeout in per cent of the largest of the last five round trips. Default 125: "slightly higher".
        pub rto_percent: u32 = 125,
        /// Added to the timeout, so that it stays above the round trip of a quiet link. Default 10 ms.
        pub rto_margin: Span = Span::from_millis(10),
        /// Timeout before the first sample. Default 1 s.
        pub initial_rto: Span = Span::from_secs(1),
        /// Largest timeout, and largest gap between probes of a closed window, which is at most a sixteenth of `give_up_after` too.
        /// Default 60 s.
        #[serde(skip)]
        pub max_rto: Span = Span::from_secs(60),
        /// Whether each timeout in a row doubles the next. Default yes, although the thesis describes no such rule: without it, a
        /// link whose queue takes longer than a timeout is filled with copies for ever.
        pub back_off: bool = true,
        /// Whether a timeout that came too early is undone, and later ones wait longer: hosts that have more to do than this delay packets
        /// and acknowledgements by tens of milliseconds. Default no, as in the thesis: the hosts of a simulation are never late.
        #[serde(skip)]
        pub undoes_timeouts: bool = false,
        /// Time of timeouts without a packet from the peer that ends the connection. Default 180 s, the longest that RFC 9293
        /// section 3.8.3 asks for.
        #[serde(skip)]
        pub give_up_after: Span = Span::from_secs(180),
        /// Whether the largest window is learned from the hop: twice what its rate delivers in its shortest round trip, at least
        /// `max_window` and at most what the peer offers. Default no: `max_window`, as in the thesis.
        pub learn_window: bool = false,
        /// Full packets in order that one acknowledgement answers while nothing is lost, 1 to `max_window`. Default 1, as in the thesis.
        pub ack_every: u32 = 1,
        /// Longest time for which an acknowledgement waits for more packets. Default 5 ms, half of `rto_margin`.
        #[serde(skip)]
        pub ack_delay: Span = Span::from_millis(5),
        /// Whether the receiver reports blocks. Default yes; without, loss is found by the timers alone.
        pub selective: bool = true,
        /// Without blocks, what an acknowledgement that repeats its number means. Default `ignored`.
        pub duplicate_ack: DuplicateAck = DuplicateAck::default(),
        /// What the headers of packets cost in a simulation. Default E2TCP's own.
        pub header: HeaderForm = HeaderForm::default(),
        /// Least share of the bytes that the application wants to have, in per cent. Default 100.
        #[serde(skip)]
        pub reliability: u8 = 100,
        /// The reliability in per cent that this end asks its peer to be content with, for the data that this end sends. Its SYN
        /// carries it. Default `None`: all data are to arrive.
        #[serde(skip)]
        pub asks: Option<u8> = None,
        /// Whether the peer's SYN, and not `reliability`, says how much must arrive here: all, unless it carries a number. Default
        /// no; a base station obeys, because it receives for somebody else.
        #[serde(skip)]
        pub obeys_peer: bool = false,
        /// Packets over which the share is counted. Default `None`: over the life of the connection.
        #[serde(skip)]
        pub reliability_window: Option<u32> = None,
        /// Largest window that is offered in bytes. Default 65535: blocks and the window field hold no more. A simulator that
        /// counts packets, as the thesis did, may set more, as no packet of it goes over a wire.
        #[serde(with = "settings::bytes")]
        #[schemars(with = "Size")]
        pub receive_window: u32 = 65_535,
        /// Space for received data in bytes, at least the window. Default twice the window: a backlog in the first half changes
        /// no window field.
        #[serde(skip)]
        pub receive_buffer: u32 = 2 * 65_535,
        /// What the peer's window is taken to be until it says otherwise, in bytes. Default 65535. An end whose own window
        /// differs says so in its SYN.
        #[serde(skip)]
        pub assumed_window: u32 = 65_535,
        /// What a window field does. Default: it replaces the largest window.
        #[serde(skip)]
        pub window_field: WindowField = WindowField::default(),
        /// Packets that carry the window field after a change. Default 2, so that one lost packet does not leave the peer with
        /// an old window; the thesis sends 1.
        #[serde(skip)]
        pub window_repeats: u8 = 2,
        /// Whether received data counts as read at once. Default true. Without effect on a buffer that keeps bytes.
        #[serde(skip)]
        pub read_at_once: bool = true,
        /// Sequence number of this end's SYN. Default 0; a device draws it.
        #[serde(skip)]
        pub initial_sequence: Seq = Seq::new(0),
        /// How long a connection that closed keeps its identifier and answers the peer's last packets. Default 5 s.
        #[serde(skip)]
        pub linger: Span = Span::from_secs(5),
    }
}

/// IP and TCP header without options in bytes.
const TCP_HEADERS: u32 = 40;
/// What a block costs in TCP, as the E2TCP thesis counts it (section 4.2.4): a SACK option of its own.
const TCP_BLOCK: u32 = 10;

impl E2tcpConfig {
    /// The length in bytes that a simulation charges for the IP packet around a packet.
    pub fn packet_bytes(&self, packet: &E2tcpPacket) -> u32 {
        match self.header {
            HeaderForm::E2tcp => packet.bytes() as u32,
            HeaderForm::Tcp => {
                let acknowledgement = packet.header.acknowledgement;
                let blocks = acknowledgement.map_or(0, |ack| ack.blocks.iter().flatten().count() as u32);
                TCP_HEADERS + TCP_BLOCK * blocks + u32::from(packet.len)
            }
        }
    }

    /// One end of a connection with these settings: packets carry `payload` bytes, the application needs `reliability` per
    /// cent of them, and the peer has the same receive window.
    #[must_use]
    pub fn derived(&self, payload: u16, reliability: u8) -> Self {
        Self {
            payload,
            reliability,
            receive_buffer: self.receive_window.saturating_mul(2),
            assumed_window: self.receive_window,
            ..self.clone()
        }
    }

    fn check_windows(&self) -> Result<(), SettingError> {
        in_range("max_window", self.max_window, 1, 1 << 20)?;
        let within = |key: &str, packets: u32, least: u32| {
            let allowed = || format!("{least} to max_window ({}) packets", self.max_window);
            in_range(key, packets, least, self.max_window)
                .map_err(|_| SettingError::out_of_range(key, packets, allowed()))
        };
        within("min_window", self.min_window, 1)?;
        within("after_timeout", self.after_timeout, 1)?;
        in_range("increase_every", self.increase_every, 1, 1_000)?;
        within("increase_step", self.increase_step, 1)?;
        within("ack_every", self.ack_every, 1)?;
        within("decrease_step", self.decrease_step, 0)
    }

    fn check_times(&self) -> Result<(), SettingError> {
        let (nanosecond, day) = (Span::from_nanos(1), Span::from_secs(86_400));
        in_range("rto_percent", self.rto_percent, 100, 1_000)?;
        in_range("rto_margin", self.rto_margin, nanosecond, self.max_rto)?;
        in_range("initial_rto", self.initial_rto, nanosecond, self.max_rto)?;
        in_range("max_rto", self.max_rto, nanosecond, day)?;
        in_range("give_up_after", self.give_up_after, nanosecond, Span::from_nanos(u64::MAX))
    }
}

impl Settings for E2tcpConfig {
    fn check(&self) -> Result<(), SettingError> {
        self.check_windows()?;
        self.check_times()?;
        in_range("payload", self.payload, 1, 65_000)?;
        in_range("reliability", self.reliability, 0, 100)?;
        in_range("asks", self.asks.unwrap_or(100), 0, 100)?;
        in_range("receive_window", self.receive_window, 1, 1 << 30)?;
        in_range("receive_buffer", self.receive_buffer, self.receive_window, 1 << 31)?;
        in_range("assumed_window", self.assumed_window, 1, 1 << 30)?;
        in_range("window_repeats", self.window_repeats, 1, u8::MAX)?;
        if let BurstReaction::Detector(detector) = self.burst_reaction {
            in_range("burst_reaction.history", detector.history, 1, 16)?;
            in_range("burst_reaction.tiny_window", detector.tiny_window, 1, self.min_window)?;
        }
        Ok(())
    }
}

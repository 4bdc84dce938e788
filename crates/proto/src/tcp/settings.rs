//! The TCP settings of files, from which both ends of a connection are made.

use airwatt_base::settings::{SettingError, Settings, in_range};
use airwatt_base::{QueueLimit, Size, Span, with_defaults};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::config::{
    DelayedAck, InitialWindow, MinRtoOf, PartialAckTimer, RepeatedTimeout, RtoClock, SackRecovery, TcpConfig,
    WindowRules,
};
use super::linux::{self, KeepAlive};
use super::timestamps::OPTION_BYTES;
use crate::cc::Growth;

/// The largest window that a header can offer (RFC 7323 section 2.3).
const MAX_WINDOW: Size = Size::from_bytes(1 << 30);

/// A stack whose settings lie under the table's own; `scenarios/tcp` has each as a file, with the source of each setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum TcpProfile {
    /// What the RFCs of today recommend.
    #[serde(rename = "rfc")]
    Rfc,
    /// Linux of 2024, with a sender and a receiver of its own ([`super::linux`]).
    #[serde(rename = "linux")]
    Linux,
    /// The settings of Linux since 2.6.39 for the sender and the receiver of the RFCs.
    #[serde(rename = "linux-settings")]
    LinuxSettings,
    /// Linux 2.6.28 of December 2008.
    #[serde(rename = "linux-2.6.28")]
    Linux2628,
    /// The one-way agents of ns-2 in 2001.
    #[serde(rename = "ns2-2001")]
    Ns22001,
    /// FreeBSD 4.3 of April 2001.
    #[serde(rename = "freebsd-4.3")]
    FreeBsd43,
    /// The TCP model of OPNET Modeler, about 2010.
    #[serde(rename = "opnet")]
    Opnet,
}

/// Which ends of a connection ask a silent peer whether it is still there (`SO_KEEPALIVE`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum KeepAliveEnds {
    /// The end that opens the connection.
    Client,
    /// The end that listens.
    Server,
    /// Both, each for itself.
    Both,
}

with_defaults! {
    /// TCP at both ends.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields, default)]
    pub struct TcpSettings {
        /// The stack whose settings apply to keys that are not given. `linux` has a sender and a receiver of its own, and of the
        /// other keys `mtu`, `receive_window`, `initial_window`, `min_rto` and `max_rto`. Default: each key's own default.
        pub profile: Option<TcpProfile> = None,
        /// Largest IP packet.
        pub mtu: Size = Size::from_bytes(1500),
        /// IP and TCP header: 40 bytes, 52 with timestamps.
        pub header: Size = Size::from_bytes(52),
        /// Whether both ends use the timestamps option (RFC 7323), the main evidence of `+ackloss` senders. Default: `header`
        /// has room for the option, and nothing reads it.
        pub timestamps: bool = false,
        /// Receive window, in bytes or in full-sized segments (`20packets`).
        pub receive_window: QueueLimit = QueueLimit::Bytes(Size::from_bytes(1_500_000)),
        /// Initial window in segments. Default: RFC 6928 (ten segments of 1448 bytes).
        pub initial_window: Option<u32> = None,
        /// Initial slow-start threshold. Default: none (as large as the receive window).
        pub initial_ssthresh: Option<Size> = None,
        /// What congestion avoidance counts, but for CUBIC, `bytes` or `acks` (RFC 5681 section 3.1).
        pub window_growth: Growth = Growth::Bytes,
        /// Limited Transmit (RFC 3042): each of the first two duplicate acknowledgements releases a new segment.
        pub limited_transmit: bool = false,
        /// Whether acknowledgements are delayed: one for every `delayed_ack_segments`, or after `delayed_ack_timeout`.
        pub delayed_ack: bool = true,
        /// Segments that a delayed acknowledgement covers. Default 2 (RFC 5681 section 4.2).
        pub delayed_ack_segments: u32 = 2,
        /// The longest delay of an acknowledgement.
        pub delayed_ack_timeout: Span = Span::from_millis(40),
        /// Duplicate acknowledgements that indicate a loss (RFC 5681 section 3.2: 3).
        pub dup_ack_threshold: u32 = 3,
        /// Which partial acknowledgements restart the retransmission timer in fast recovery (RFC 6582 section 4).
        pub partial_ack_timer: PartialAckTimer = PartialAckTimer::Impatient,
        /// How losses are recovered with selective acknowledgements: `rfc6675`, or the older `pipe`, a counter that falls with each
        /// duplicate acknowledgement, or `openbsd`, the pipe as OpenBSD 2.9 had it.
        pub sack_recovery: SackRecovery = SackRecovery::Rfc6675,
        /// How the window is computed where stacks differ: `rfc5681` halves the data in flight; `whole-segments` (ns-2) and `bsd` halve the window, in
        /// whole segments, and `bsd` also ends slow start and fast recovery as 4.4BSD does. For the classic algorithms.
        pub window_rules: WindowRules = WindowRules::Rfc5681,
        /// What a further timeout of the same segment does to the slow-start threshold: `keep` as RFC 5681 section 3.1 has it,
        /// or `reduce` to two segments as in 4.4BSD and ns-2.
        pub repeated_timeout: RepeatedTimeout = RepeatedTimeout::Keep,
        /// How round-trip times are measured: `fine` as RFC 6298 with every segment timed, `coarse` in ticks and one segment at
        /// a time as in 4.4BSD and the simulators of its time.
        pub rto_clock: RtoClock = RtoClock::Fine,
        /// Tick of the coarse clock: 500 ms in 4.4BSD, 100 ms in simulators.
        pub rto_tick: Span = Span::from_millis(100),
        /// Smallest retransmission timeout of the coarse clock in ticks, if `min_rto` is not more.
        pub rto_min_ticks: u32 = 2,
        /// Lower bound of the retransmission timeout, or of the part of it that `min_rto_of` names.
        pub min_rto: Span = Span::from_millis(200),
        /// What `min_rto` bounds: the `timeout`, or its `variance` term alone, as Linux does.
        pub min_rto_of: MinRtoOf = MinRtoOf::Timeout,
        /// Retransmission timeout before the first measurement (RFC 6298: 1 s).
        pub initial_rto: Span = Span::from_secs(1),
        /// Largest retransmission timeout.
        pub max_rto: Span = Span::from_secs(60),
        /// Whether packets leave at a pacing rate, as with the queueing discipline `fq`. For the profile `linux`; BBR always paces.
        pub paced: bool = false,
        /// Whether connections ask for ECN (RFC 3168, `tcp_ecn=1` of Linux): queues with CoDel mark their data instead of dropping them, and the
        /// sender reduces its window for a mark as for a loss, without a retransmission. For the profile `linux`.
        pub ecn: bool = false,
        /// Whether connections ask for AccECN instead (RFC 9768, `tcp_ecn=3` of Linux, without its option): acknowledgements count the marks, and what
        /// counts none is taken as with `ecn`. For the profile `linux`.
        pub accecn: bool = false,
        /// Which ends probe a peer that is silent (`SO_KEEPALIVE` of Linux): `client`, `server` or `both`. Default: none, as in the kernel. For
        /// the profile `linux`.
        pub keep_alive: Option<KeepAliveEnds> = None,
        /// The silence before the first probe (`tcp_keepalive_time`).
        pub keep_alive_time: Span = KeepAlive::default().time,
        /// The wait for an answer before the next probe (`tcp_keepalive_intvl`).
        pub keep_alive_interval: Span = KeepAlive::default().interval,
        /// Unanswered probes after which the connection is reset (`tcp_keepalive_probes`).
        pub keep_alive_probes: u32 = KeepAlive::default().probes,
        /// Whether connections begin with a SYN exchange.
        pub handshake: bool = true,
    }
}

impl TcpSettings {
    /// Payload of a full-sized segment in bytes.
    pub fn mss(&self) -> u32 {
        bytes(self.mtu).saturating_sub(bytes(self.header))
    }

    /// The parameters of an end with these settings under the profile `linux`. A receive window is half of the buffer, as in the
    /// kernel, of which a segment is in reserve; one that needs no scale is what the socket asks for, without it.
    pub fn linux(&self, control: linux::Control, sack: bool) -> linux::LinuxConfig {
        let window = match self.receive_window {
            QueueLimit::Bytes(window) => window.as_bytes(),
            QueueLimit::Packets(segments) => u64::from(segments * self.mss()),
        };
        let whole = 2 * (window + u64::from(self.mss()));
        let most = if whole < 1 << 16 { whole } else { 2 * window };
        let standard = linux::LinuxConfig::default();
        linux::LinuxConfig {
            mss: bytes(self.mtu).saturating_sub(40),
            control,
            sack,
            dsack: sack,
            paced: self.paced,
            ecn: match (self.accecn, self.ecn) {
                (true, _) => 3,
                (false, true) => 1,
                (false, false) => 2,
            },
            initial_window: self.initial_window.unwrap_or(standard.initial_window),
            rto_min: self.min_rto,
            rto_max: self.max_rto,
            receive_buffer: (standard.receive_buffer.0.min(most), most),
            ..standard
        }
    }

    /// The keep-alives of the end that opens a connection, or of the one that listens, if it has them.
    pub fn keep_alive_of(&self, is_client: bool) -> Option<KeepAlive> {
        let other = if is_client { KeepAliveEnds::Server } else { KeepAliveEnds::Client };
        self.keep_alive.filter(|ends| *ends != other).map(|_| KeepAlive {
            time: self.keep_alive_time,
            interval: self.keep_alive_interval,
            probes: self.keep_alive_probes,
        })
    }

    /// Whether connections begin with a handshake. Those of the profile `linux` always do.
    pub fn begins_with_handshake(&self) -> bool {
        self.handshake || self.profile == Some(TcpProfile::Linux)
    }

    /// The parameters of an end with these settings.
    pub fn config(&self) -> TcpConfig {
        let mss = self.mss();
        TcpConfig {
            mss,
            header_bytes: bytes(self.header) - if self.timestamps { OPTION_BYTES } else { 0 },
            timestamps: self.timestamps,
            receive_window: match self.receive_window {
                QueueLimit::Bytes(window) => bytes(window),
                QueueLimit::Packets(segments) => segments * mss,
            },
            growth: self.window_growth,
            limited_transmit: self.limited_transmit,
            rto_clock: self.rto_clock,
            rto_tick: self.rto_tick,
            rto_min_ticks: self.rto_min_ticks,
            initial_window: self.initial_window.map_or(InitialWindow::Rfc6928, InitialWindow::Segments),
            initial_ssthresh: self.initial_ssthresh.map(bytes),
            delayed_ack: self.delayed_ack.then_some(DelayedAck {
                every: self.delayed_ack_segments,
                timeout: self.delayed_ack_timeout,
            }),
            dup_ack_threshold: self.dup_ack_threshold,
            partial_ack_timer: self.partial_ack_timer,
            sack_recovery: self.sack_recovery,
            window_rules: self.window_rules,
            repeated_timeout: self.repeated_timeout,
            min_rto_of: self.min_rto_of,
            min_rto: self.min_rto,
            initial_rto: self.initial_rto,
            max_rto: self.max_rto,
            ..TcpConfig::default()
        }
    }
}

fn bytes(size: Size) -> u32 {
    u32::try_from(size.as_bytes()).unwrap_or(u32::MAX)
}

impl Settings for TcpSettings {
    fn check(&self) -> Result<(), SettingError> {
        let least = if self.timestamps { 40 + OPTION_BYTES } else { 40 };
        in_range("header", self.header, Size::from_bytes(u64::from(least)), Size::from_bytes(100))?;
        in_range("mtu", self.mtu, Size::from_bytes(self.header.as_bytes() + 1), Size::from_bytes(2_304))?;
        match self.receive_window {
            QueueLimit::Bytes(window) => in_range("receive_window", window, self.mtu, MAX_WINDOW)?,
            limit @ QueueLimit::Packets(segments) => {
                let most = (MAX_WINDOW.as_bytes() / self.mtu.as_bytes()) as u32;
                in_range("receive_window", segments, 1, most).map_err(|_| {
                    SettingError::out_of_range("receive_window", limit, format!("1packets to {most}packets"))
                })?;
            }
        }
        if let Some(window) = self.initial_window {
            in_range("initial_window", window, 1, 1_000)?;
        }
        if let Some(threshold) = self.initial_ssthresh {
            let two_packets = Size::from_bytes(2 * self.mtu.as_bytes());
            in_range("initial_ssthresh", threshold, two_packets, Size::from_bytes(1 << 30))?;
        }
        let millisecond = Span::from_millis(1);
        in_range("delayed_ack_timeout", self.delayed_ack_timeout, millisecond, Span::from_millis(500))?;
        in_range("delayed_ack_segments", self.delayed_ack_segments, 1, 1_000)?;
        in_range("dup_ack_threshold", self.dup_ack_threshold, 1, 100)?;
        in_range("rto_tick", self.rto_tick, millisecond, Span::from_secs(1))?;
        in_range("rto_min_ticks", self.rto_min_ticks, 1, 1_000)?;
        in_range("min_rto", self.min_rto, millisecond, Span::from_secs(60))?;
        in_range("initial_rto", self.initial_rto, self.min_rto, Span::from_secs(60))?;
        // The kernel's bounds (MAX_TCP_KEEPIDLE and the like).
        let (second, longest) = (Span::from_secs(1), Span::from_secs(32_767));
        in_range("keep_alive_time", self.keep_alive_time, second, longest)?;
        in_range("keep_alive_interval", self.keep_alive_interval, second, longest)?;
        in_range("keep_alive_probes", self.keep_alive_probes, 1, 127)?;
        in_range("max_rto", self.max_rto, self.initial_rto, Span::from_secs(3_600))
    }
}

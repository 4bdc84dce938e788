//! The parameters of one TCP end. Every default has its source beside it. What users set is [`TcpSettings`](super::TcpSettings).

use airwatt_base::settings::{SettingError, Settings, in_range};
use airwatt_base::{Seq, Span, with_defaults};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cc::{
    AckLossConfig, Algorithm, CongestionConfig, CongestionControl, Growth, OwnCongestionControl, Recovery,
    UNLIMITED,
};
use crate::tcp::Segment;
use crate::tcp::timestamps::OPTION_BYTES;

/// When a receiver may wait before it acknowledges (RFC 9293 section 3.8.6.3, RFC 5681 section 4.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DelayedAck {
    /// Every so many segments are acknowledged at once. RFC 5681 section 4.2: at least every second full-sized one.
    pub every: u32,
    /// The longest wait. RFC 9293 section 3.8.6.3: under 0.5 s.
    pub timeout: Span,
}

impl Default for DelayedAck {
    /// Every second segment, and 40 ms, the shortest that Linux waits (its `TCP_DELACK_MIN`).
    fn default() -> Self {
        Self { every: 2, timeout: Span::from_millis(40) }
    }
}

/// The first congestion window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum InitialWindow {
    /// min(10 MSS, max(2 MSS, 14600 bytes)): RFC 6928 section 2.
    #[default]
    Rfc6928,
    /// Two to four segments by their size: RFC 5681 section 3.1.
    Rfc5681,
    /// So many segments. Zero counts as one.
    Segments(u32),
}

impl InitialWindow {
    /// The window in bytes for segments of `mss` bytes.
    pub fn bytes(self, mss: u32) -> u32 {
        match self {
            Self::Rfc6928 => (10 * mss).min((2 * mss).max(14_600)),
            Self::Rfc5681 if mss > 2190 => 2 * mss,
            Self::Rfc5681 if mss > 1095 => 3 * mss,
            Self::Rfc5681 => 4 * mss,
            Self::Segments(count) => count.max(1).saturating_mul(mss),
        }
    }
}

/// Which partial ACKs restart the retransmission timer in fast recovery (RFC 6582 section 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PartialAckTimer {
    /// Only the first: with many losses in a window the timer ends a recovery that takes a round trip for each. The
    /// variant that RFC 6582 section 3.2 step 3 describes.
    #[default]
    Impatient,
    /// Every one: a recovery takes as long as it needs.
    SlowButSteady,
}

/// What a further timeout of the same segment does to the slow-start threshold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RepeatedTimeout {
    /// It stays: RFC 5681 section 3.1 reduces it once for each loss, as Linux does.
    #[default]
    Keep,
    /// It becomes half of the data in flight, which is one segment by then, and so its least value of two segments.
    /// 4.4BSD (`tcp_timers`) and ns-2 (`TcpAgent::timeout`) compute it anew at every timeout.
    Reduce,
}

/// How a stack computes the congestion window where RFC 5681 leaves a choice or came later. For the classic algorithms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum WindowRules {
    /// A loss sets the threshold to half of the data in flight, in bytes (equation (4)); the window grows by slow start below
    /// the threshold, and not at the acknowledgement that ends a fast recovery.
    #[default]
    Rfc5681,
    /// The one-way agents of ns-2 (`TcpAgent::slowdown`, `opencwnd`): half of the window, without its inflation, in whole
    /// segments, and two at least. The acknowledgement that ends a fast recovery also grows the window, and entering one
    /// restarts the retransmission timer.
    #[serde(rename = "whole-segments")]
    WholeSegments,
    /// 4.4BSD (`tcp_input`, `tcp_timer_rexmt`): the same, but the inflation of the window counts; slow start goes on at the
    /// threshold itself; with NewReno or selective acknowledgements the window after a recovery is at most what is in
    /// flight and a segment. A fast retransmit sends one segment, and new data waits for the next acknowledgement. A new recovery
    /// may begin at the first segment after the last one. Three duplicate
    /// acknowledgements that an earlier loss explains let a segment out, but with Reno they begin a recovery all the same.
    Bsd,
}

/// How a sender with selective acknowledgements detects a loss and counts what is in flight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SackRecovery {
    /// The scoreboard decides which data is lost and what is in flight (RFC 6675).
    #[default]
    Rfc6675,
    /// The rule of Fall and Floyd (1996), which the first implementations followed: recovery begins with the third duplicate
    /// ACK; the pipe is then a counter of segments that falls by one with each duplicate ACK, by two with each partial ACK,
    /// and rises by one with each transmission. Any hole may be retransmitted once.
    Pipe,
    /// The pipe as OpenBSD had it until 2.9 (`tcp_sack_option`, `tcp_sack_output`): each acknowledgement in recovery releases
    /// one retransmission, whatever the window, if three blocks or three segments were reported above the hole, and otherwise
    /// new data by the pipe. After a timeout, data that the peer reports anew is not sent again.
    OpenBsd,
}

/// What the least retransmission timeout bounds from below. Only for [`RtoClock::Fine`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum MinRtoOf {
    /// The timeout as a whole (RFC 6298 section 2.4).
    #[default]
    Timeout,
    /// What the timeout has beyond the smoothed round-trip time, which is the allowance for its variance: RTO = SRTT +
    /// max(4 RTTVAR, `min_rto`), as in Linux. A path whose round trips grow by less than the bound at once, as those over
    /// power save do, never times out for that.
    Variance,
}

/// How the round-trip time is measured and the retransmission timeout derived.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RtoClock {
    /// RFC 6298 with a sample from every segment, in nanoseconds.
    #[default]
    Fine,
    /// The arithmetic of 4.4BSD and of the simulators of its time: the round-trip time in whole ticks, one segment timed at
    /// once, SRTT in eighths and RTTVAR in quarters of a tick ([`TcpConfig::rto_tick`]). [`TcpConfig::clock_granularity`] has
    /// no meaning then, and [`TcpConfig::min_rto`] counts beside [`TcpConfig::rto_min_ticks`].
    Coarse,
}

with_defaults! {
    /// One end's settings.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct TcpConfig {
        /// Payload of a full-sized segment in bytes, 1 to 65535. Default 1460: a 1500-byte packet without options.
        pub mss: u32 = 1460,
        /// IP and TCP header of every segment in bytes, without options. Default 40.
        pub header_bytes: u32 = 40,
        /// Whether this end offers the timestamps option (RFC 7323), which adds 12 bytes to every segment if both ends do.
        /// Default off; with it, an `mss` of 1448 fills a 1500-byte packet.
        pub timestamps: bool = false,
        /// Space for received data in bytes. Default 4 MiB, over 20 Mbit/s at 1 s round trip: it does not limit by itself.
        pub receive_window: u32 = 4 << 20,
        /// Sequence number of this end's SYN. Default 0; a device draws it (RFC 6528).
        pub initial_sequence: Seq = Seq::new(0),
        /// Whether received data counts as read at once, so that the offered window never closes. Default true. Without effect
        /// on a buffer that keeps bytes.
        pub read_at_once: bool = true,
        /// Least share of the bytes that the application wants to have, in per cent. Default 100. Below it the receiver
        /// acknowledges past gaps as long as the share allows it (PRTP).
        pub reliability: u8 = 100,
        /// Packets over which the share is counted. Default `None`: over the life of the connection.
        pub reliability_window: Option<u32> = None,
        /// The congestion control. Default NewReno.
        pub congestion: Algorithm = Algorithm::default(),
        /// A congestion control from outside this crate, in place of `congestion`. Default none.
        pub own_congestion: Option<OwnCongestionControl> = None,
        /// Whether, and how, lost acknowledgements halve the window ([`crate::cc::AckLoss`]). Default not.
        pub ackloss: Option<AckLossConfig> = None,
        /// How congestion avoidance counts. Default by bytes.
        pub growth: Growth = Growth::default(),
        /// The first congestion window. Default RFC 6928's ten segments.
        pub initial_window: InitialWindow = InitialWindow::default(),
        /// The first slow-start threshold in bytes. Default none (RFC 5681 section 3.1).
        pub initial_ssthresh: Option<u32> = None,
        /// Whether a window that was not used for a retransmission timeout falls back to the initial one (RFC 5681
        /// section 4.1). Default true.
        pub slow_start_after_idle: bool = true,
        /// When the receiver may wait before it acknowledges; `None` acknowledges every segment at once.
        pub delayed_ack: Option<DelayedAck> = Some(DelayedAck::default()),
        /// Nagle's algorithm: no second small segment while one is in flight (RFC 9293 section 3.7.4). Default off, as
        /// applications that care about delay set it; bulk transfers do not notice.
        pub nagle: bool = false,
        /// Duplicate ACKs that tell of a loss. Default 3 (RFC 5681 section 3.2).
        pub dup_ack_threshold: u32 = 3,
        /// Limited Transmit (RFC 3042): each of the first two duplicate ACKs lets a new segment out, so that small windows
        /// reach the threshold. Default off, as the published experiments had it.
        pub limited_transmit: bool = false,
        /// How the retransmission timeout is derived. Default RFC 6298.
        pub rto_clock: RtoClock = RtoClock::default(),
        /// The tick of the coarse clock. Default 100 ms, as in simulators of the year 2000; 500 ms in 4.4BSD.
        pub rto_tick: Span = Span::from_millis(100),
        /// Least timeout of the coarse clock in ticks. Default 2, as in both.
        pub rto_min_ticks: u32 = 2,
        /// Which partial ACKs restart the retransmission timer. Default the first. Only for NewReno; with selective
        /// acknowledgements every one does.
        pub partial_ack_timer: PartialAckTimer = PartialAckTimer::default(),
        /// How losses are recovered with selective acknowledgements. Default RFC 6675.
        pub sack_recovery: SackRecovery = SackRecovery::default(),
        /// How the congestion window is computed where stacks differ, but for CUBIC and `own_congestion`. Default RFC 5681.
        pub window_rules: WindowRules = WindowRules::default(),
        /// What a further timeout of the same segment does to the slow-start threshold. Default it stays.
        pub repeated_timeout: RepeatedTimeout = RepeatedTimeout::default(),
        /// What `min_rto` bounds from below. Default the timeout.
        pub min_rto_of: MinRtoOf = MinRtoOf::default(),
        /// Least retransmission timeout. Default 200 ms, as Linux has it: RFC 6298 section 2.4 says SHOULD be 1 s, but the
        /// systems that were measured do not follow it.
        pub min_rto: Span = Span::from_millis(200),
        /// Retransmission timeout before the first RTT measurement. Default 1 s (RFC 6298 section 2.1).
        pub initial_rto: Span = Span::from_secs(1),
        /// Largest retransmission timeout, backed off or not. Default 60 s (RFC 6298 section 2.4).
        pub max_rto: Span = Span::from_secs(60),
        /// G of RFC 6298, the least allowance for variance. Default 1 ms (section 4: 100 ms or less has worked better).
        pub clock_granularity: Span = Span::from_millis(1),
        /// Timeouts in a row for one segment after which the connection is given up. Default 15, about a quarter of an hour:
        /// RFC 9293 section 3.8.3 wants 100 s at least.
        pub give_up_after: u32 = 15,
        /// The same for a SYN. Default 7, about four minutes: RFC 9293 section 3.8.3 wants 3 minutes at least.
        pub syn_give_up_after: u32 = 7,
        /// Stay in TIME-WAIT. Default 60 s as Linux has it; RFC 9293 section 3.4.2 says twice 2 minutes. Zero skips it.
        pub time_wait: Span = Span::from_secs(60),
    }
}

impl Settings for TcpConfig {
    fn check(&self) -> Result<(), SettingError> {
        let bad = |key: &str, value: &dyn std::fmt::Display, allowed: &str| {
            Err(SettingError::out_of_range(key, value, allowed))
        };
        in_range("mss", self.mss, 1, 65_535)?;
        in_range("receive_window", self.receive_window, 1, 1 << 30)?;
        in_range("reliability", self.reliability, 0, 100)?;
        if let Some(ssthresh) = self.initial_ssthresh.filter(|ssthresh| *ssthresh < self.mss) {
            return bad("initial_ssthresh", &ssthresh, "one segment or more");
        }
        if self.dup_ack_threshold == 0 {
            return bad("dup_ack_threshold", &0, "1 or more");
        }
        if self.min_rto.is_zero() || self.initial_rto.is_zero() || self.max_rto < self.min_rto {
            return bad("min_rto", &self.min_rto, "more than zero and at most max_rto");
        }
        if self.rto_clock == RtoClock::Coarse {
            in_range("rto_tick", self.rto_tick, Span::from_nanos(1), Span::from_secs(1))?;
            in_range("rto_min_ticks", self.rto_min_ticks, 1, 1_000)?;
        }
        self.ackloss.map_or(Ok(()), |ackloss| ackloss.check().map_err(|error| error.under("ackloss")))?;
        match self.delayed_ack {
            Some(DelayedAck { every: 0, .. }) => bad("delayed_ack.every", &0, "1 or more"),
            Some(DelayedAck { timeout, .. }) if timeout.is_zero() || timeout >= Span::from_millis(501) => {
                bad("delayed_ack.timeout", &timeout, "more than zero and at most 500ms (RFC 9293)")
            }
            _ => Ok(()),
        }
    }
}

impl TcpConfig {
    /// Size of the IP packet that carries `segment`, in bytes.
    pub fn packet_bytes(&self, segment: &Segment) -> u32 {
        self.header_bytes + segment.timestamp_bytes() + segment.sack.option_bytes() + u32::from(segment.len)
    }

    /// Size of the IP packet that carries a full-sized segment in bytes, with timestamps if this end offers them.
    pub fn full_packet_bytes(&self) -> u32 {
        self.mss + self.header_bytes + if self.timestamps { OPTION_BYTES } else { 0 }
    }

    /// Whether this end tells what arrived behind gaps: where its congestion control would read it from the peer.
    pub(super) fn reports_sack(&self) -> bool {
        self.recovery() == Recovery::Scoreboard
    }

    /// How losses are repaired.
    pub(super) fn recovery(&self) -> Recovery {
        self.own_congestion
            .as_ref()
            .map_or_else(|| self.congestion.recovery(), OwnCongestionControl::recovery)
    }

    /// The rules for the window of this congestion control: what does not halve it, and those from outside this crate, have their own.
    pub(super) fn rules(&self) -> WindowRules {
        let classic = self.congestion.halves() && self.own_congestion.is_none();
        if classic { self.window_rules } else { WindowRules::Rfc5681 }
    }

    /// The congestion control of a new connection.
    pub(super) fn congestion_control(&self) -> CongestionControl {
        let config = self.congestion_config();
        match &self.own_congestion {
            Some(own) => CongestionControl::own(own, &config),
            None => CongestionControl::new(&config),
        }
    }

    /// What the congestion control starts from.
    fn congestion_config(&self) -> CongestionConfig {
        CongestionConfig {
            algorithm: self.congestion,
            mss: self.mss,
            initial_window: self.initial_window.bytes(self.mss),
            initial_ssthresh: self.initial_ssthresh.unwrap_or(UNLIMITED),
            growth: self.growth,
            slow_start_at_threshold: self.rules() == WindowRules::Bsd,
        }
    }
}

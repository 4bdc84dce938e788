//! The settings of the profile: what Linux keeps in sysctl, in the routing table and on the socket.

use airwatt_base::{Seq, Span, with_defaults};

use crate::cc::AckLossConfig;

/// How a timer expires.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TimerRule {
    /// After exactly the whole jiffies for which it was set.
    Exact,
    /// At the end of its bucket of the kernel's timer wheel: never early, and up to an eighth late.
    #[default]
    Wheel,
}

/// The congestion control.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Control {
    /// CUBIC with HyStart.
    #[default]
    Cubic,
    /// Reno.
    Reno,
    /// BBR version 1, which paces.
    Bbr1,
    /// BBR version 3, which paces.
    Bbr3,
}

impl Control {
    /// Every congestion control, by the name that the kernel has for it; version 3 of BBR is `bbr` in the kernels that have it.
    pub const NAMED: [(&'static str, Self); 4] =
        [("cubic", Self::Cubic), ("reno", Self::Reno), ("bbr", Self::Bbr1), ("bbr3", Self::Bbr3)];
}

/// Headers of the largest packet that leaves at once, in bytes.
const HEADERS_MAX: u32 = 320;

with_defaults! {
    /// When an idle peer is probed, and how often. The defaults are the kernel's.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct KeepAlive {
        /// The peer's silence before the first probe (`tcp_keepalive_time`, `TCP_KEEPIDLE`). Default 7200 s.
        pub time: Span = Span::from_secs(7200),
        /// The wait for an answer before the next (`tcp_keepalive_intvl`, `TCP_KEEPINTVL`). Default 75 s.
        pub interval: Span = Span::from_secs(75),
        /// Probes without an answer after which the connection is reset (`tcp_keepalive_probes`, `TCP_KEEPCNT`). Default 9.
        pub probes: u32 = 9,
    }
}

with_defaults! {
    /// The settings of one end. The defaults are those of a kernel of 2024 (6.12), read in its documentation and source.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct LinuxConfig {
        /// Ticks a second of the kernel (`CONFIG_HZ`). Default 1000; Debian has 250.
        pub hz: u64 = 1000,
        /// How timers expire. Default the wheel.
        pub timers: TimerRule = TimerRule::default(),
        /// Payload of a full-sized segment in bytes, before options. Default 1460.
        pub mss: u32 = 1460,
        /// The sequence number of this end's SYN.
        pub initial_sequence: Seq = Seq::new(0),
        /// The congestion control. Default CUBIC.
        pub control: Control = Control::default(),
        /// Whether, and how, lost acknowledgements halve the window ([`crate::cc::AckLoss`]). Default not; BBR, which counts no losses, has
        /// no use for it.
        pub ackloss: Option<AckLossConfig> = None,
        /// The seed of what BBR does at random. Default 0.
        pub seed: u64 = 0,
        /// The first congestion window in segments. Default 10 (`TCP_INIT_CWND`).
        pub initial_window: u32 = 10,
        /// Whether time stamps are offered (`tcp_timestamps`). Default yes.
        pub timestamps: bool = true,
        /// Whether selective acknowledgements are offered (`tcp_sack`). Default yes.
        pub sack: bool = true,
        /// Whether duplicates are reported by the first block (`tcp_dsack`). Default yes.
        pub dsack: bool = true,
        /// Whether windows are scaled (`tcp_window_scaling`). Default yes.
        pub window_scaling: bool = true,
        /// ECN (`tcp_ecn`): 0 never, 1 ask and agree, 2 agree; 3 ask for AccECN and agree to either, 4 agree to either and ask for the ECN
        /// of RFC 3168, 5 agree to either. Default 2.
        pub ecn: u8 = 2,
        /// Whether an idle connection's window falls (`tcp_slow_start_after_idle`). Default yes.
        pub slow_start_after_idle: bool = true,
        /// Whether a tail is probed (`tcp_early_retrans` 3 or 4). Default yes.
        pub tail_loss_probe: bool = true,
        /// Whether a spurious timeout is detected by new data (`tcp_frto`). Default yes.
        pub frto: bool = true,
        /// Segments that may be reordered at first (`tcp_reordering`). Default 3.
        pub reordering: u32 = 3,
        /// The most (`tcp_max_reordering`). Default 300.
        pub reordering_max: u32 = 300,
        /// The share of the window that a burst waits for, as its divisor (`tcp_tso_win_divisor`). Default 3; zero does without.
        pub tso_win_divisor: u32 = 3,
        /// The least size of a burst in segments (`tcp_min_tso_segs`). Default 2.
        pub min_tso_segs: u32 = 2,
        /// The largest packet that the device takes in bytes; zero without segmentation offload. Default 65536.
        pub gso_max_size: u32 = 65_536,
        /// Pacing rate in per cent of the window a round trip in slow start, and otherwise (`tcp_pacing_ss_ratio`,
        /// `tcp_pacing_ca_ratio`). Default 200 and 120.
        pub pacing_ratios: (u64, u64) = (200, 120),
        /// Whether packets leave at the pacing rate (`fq`, `SO_MAX_PACING_RATE`). Default no.
        pub paced: bool = false,
        /// Which tests HyStart makes: 1 the train, 2 the delay. Default both.
        pub hystart: u32 = 3,
        /// The least allowance of the retransmission timeout for variance (`tcp_rto_min_us`). Default 200 ms.
        pub rto_min: Span = Span::from_millis(200),
        /// The longest retransmission timeout (`tcp_rto_max_ms`). Default 120 s.
        pub rto_max: Span = Span::from_secs(120),
        /// Retries of a SYN and of a SYN-ACK (`tcp_syn_retries`, `tcp_synack_retries`). Default 6 and 5.
        pub syn_retries: (u32, u32) = (6, 5),
        /// Timeouts of which the time is the limit of an established connection (`tcp_retries2`). Default 15.
        pub retries: u32 = 15,
        /// `TCP_USER_TIMEOUT`: how long data may stay unacknowledged. Default none.
        pub user_timeout: Option<Span> = None,
        /// `SO_KEEPALIVE`: when an idle peer is probed. Default never.
        pub keep_alive: Option<KeepAlive> = None,
        /// The receive buffer at first and at most in bytes (`tcp_rmem`). Default 131072 and 6 MiB.
        pub receive_buffer: (u64, u64) = (131_072, 6 << 20),
        /// The send buffer at first and at most in bytes (`tcp_wmem`). Default 16384 and 4 MiB.
        pub send_buffer: (u64, u64) = (16_384, 4 << 20),
        /// Whether the application reads at once. Default yes.
        pub read_at_once: bool = true,
        /// `TCP_NODELAY`. Default off.
        pub no_delay: bool = false,
        /// Whether TIME-WAIT and FIN-WAIT-2 last this long. Default 60 s.
        pub time_wait: Span = Span::from_secs(60),
    }
}

impl LinuxConfig {
    /// Payload of the largest packet that leaves at once, in bytes (`sk_gso_max_size`).
    pub(super) fn burst_max(&self) -> u32 {
        self.gso_max_size.saturating_sub(HEADERS_MAX)
    }
}

//! What an E2TCP end is set to. The defaults are those of the thesis (table 5.1) where it has any; each reading of what it
//! leaves open is a setting, and says so.

use airwatt_base::{Seq, Span};

/// How the window grows by acknowledgements that tell of no loss. The thesis does not say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Increase {
    /// By so many packets with each: from 12 to 25 within one window.
    #[default]
    PerAck,
    /// By so many packets with each window's worth of them.
    PerWindow,
}

/// What fills the window. The thesis draws a sliding window (figure 3.1) and does not say what loss does to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
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

/// Settings of the earlier burst-error detector; the thesis gives none of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DetectorConfig {
    /// Window in a burst in packets. Default 1.
    pub tiny_window: u32,
    /// Bursts whose lengths are averaged to predict the next, and how many have to be known before one is predicted.
    /// 1 to 16, default 5.
    pub history: u8,
    /// A burst predicted to last at most so many round trips counts as short. Default 2.
    pub short_round_trips: u32,
}

impl Default for DetectorConfig {
    fn default() -> Self {
        Self { tiny_window: 1, history: 5, short_round_trips: 2 }
    }
}

/// One end's settings. Both ends are given the same [`E2tcpConfig::assumed_window`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct E2tcpConfig {
    /// Payload of a full packet in bytes, 1 to 65000. Default 1000.
    pub payload: u16,
    /// Window to begin with, and least window while losses look like static noise, in packets. Default 12.
    pub min_window: u32,
    /// Largest window in packets, until the peer's window field says otherwise. Default 25.
    pub max_window: u32,
    /// Window after a timeout in packets. Default 5.
    pub after_timeout: u32,
    /// Up to so many packets newly lost in one acknowledgement are static noise, more are a burst error. Default 5; the
    /// thesis writes both "below" and "exceeds", read as: equal is static.
    pub error_limit: u32,
    /// How the window grows. Default with each acknowledgement.
    pub increase: Increase,
    /// Packets by which it grows. Default 1.
    pub increase_step: u32,
    /// Packets by which it shrinks for each packet newly lost to static noise. Default 1.
    pub decrease_step: u32,
    /// What keeps new data out of the window. Default what travels: packets believed lost have left the link.
    pub counted: Counted,
    /// Whether a retransmission counts as lost when an acknowledgement reports a packet sent after it. Default no: only the
    /// retransmission timer finds such losses, as in the thesis.
    pub infer_relost: bool,
    /// Window management, or the earlier detector. Default window management.
    pub burst_reaction: BurstReaction,
    /// The timeout is the largest of the last five round trips times so many per cent. Default 125: "slightly higher".
    pub rto_percent: u32,
    /// Added to the timeout, so that it stays above the round trip of a quiet link. Default 10 ms.
    pub rto_margin: Span,
    /// Timeout before the first sample. Default 1 s.
    pub initial_rto: Span,
    /// Largest timeout, and largest gap between probes of a closed window, which is at most a sixteenth of `give_up_after` too.
    /// Default 60 s.
    pub max_rto: Span,
    /// Whether each timeout in a row doubles the next. Default no: the thesis describes none.
    pub back_off: bool,
    /// Timeouts without a word from the peer for this long end the connection. Default 180 s, the longest that RFC 9293
    /// section 3.8.3 asks for.
    pub give_up_after: Span,
    /// Whether the receiver reports blocks. Default yes; without, loss is found by the timers alone.
    pub selective: bool,
    /// Least share of the bytes that the application wants to have, in per cent. Default 100.
    pub reliability: u8,
    /// Largest window that is offered in bytes. Default 65535: blocks and the window field hold no more. A simulator that
    /// counts packets, as the thesis did, may set more, as no packet of it goes over a wire.
    pub receive_window: u32,
    /// Space for received data in bytes, at least the window. Default twice the window: a backlog in the first half changes
    /// no window field.
    pub receive_buffer: u32,
    /// What the peer's window is taken to be until it says otherwise, in bytes. Default 65535. An end whose own window
    /// differs says so in its SYN.
    pub assumed_window: u32,
    /// What a window field does. Default: it replaces the largest window.
    pub window_field: WindowField,
    /// Packets that carry the window field after a change. Default 2, so that one lost packet does not leave the peer with
    /// an old window; the thesis sends 1.
    pub window_repeats: u8,
    /// Whether received data counts as read at once. Default true. Without effect on a buffer that keeps bytes.
    pub read_at_once: bool,
    /// Sequence number of this end's SYN. Default 0; a device draws it.
    pub initial_sequence: Seq,
    /// How long a connection that closed keeps its identifier and answers the peer's last packets. Default 5 s.
    pub linger: Span,
}

impl Default for E2tcpConfig {
    fn default() -> Self {
        Self {
            payload: 1000,
            min_window: 12,
            max_window: 25,
            after_timeout: 5,
            error_limit: 5,
            increase: Increase::default(),
            increase_step: 1,
            decrease_step: 1,
            counted: Counted::default(),
            infer_relost: false,
            burst_reaction: BurstReaction::default(),
            rto_percent: 125,
            rto_margin: Span::from_millis(10),
            initial_rto: Span::from_secs(1),
            max_rto: Span::from_secs(60),
            back_off: false,
            give_up_after: Span::from_secs(180),
            selective: true,
            reliability: 100,
            receive_window: 65_535,
            receive_buffer: 2 * 65_535,
            assumed_window: 65_535,
            window_field: WindowField::default(),
            window_repeats: 2,
            read_at_once: true,
            initial_sequence: Seq::new(0),
            linger: Span::from_secs(5),
        }
    }
}

impl E2tcpConfig {
    /// What is wrong with the settings, as "key = value: what is allowed".
    pub fn check(&self) -> Result<(), String> {
        self.check_windows()?;
        self.check_times()?;
        let bad = |key: &str, value: u64, allowed: &str| Err(format!("{key} = {value}: {allowed}"));
        if !(1..=65_000).contains(&self.payload) {
            return bad("payload", self.payload.into(), "allowed are 1 to 65000 bytes");
        }
        if self.reliability > 100 {
            return bad("reliability", self.reliability.into(), "allowed are 0 to 100 per cent");
        }
        if !(1..=1 << 30).contains(&self.receive_window) {
            return bad("receive_window", self.receive_window.into(), "allowed are 1 byte to 1 GiB");
        }
        if self.receive_buffer < self.receive_window || self.receive_buffer > 1 << 31 {
            let allowed = format!("allowed are receive_window ({}) to 2 GiB", self.receive_window);
            return bad("receive_buffer", self.receive_buffer.into(), &allowed);
        }
        if !(1..=1 << 30).contains(&self.assumed_window) {
            return bad("assumed_window", self.assumed_window.into(), "allowed are 1 byte to 1 GiB");
        }
        if self.window_repeats == 0 {
            return bad("window_repeats", 0, "allowed is 1 or more");
        }
        if let BurstReaction::Detector(detector) = self.burst_reaction {
            if !(1..=16).contains(&detector.history) {
                return bad("burst_reaction.history", detector.history.into(), "allowed are 1 to 16");
            }
            if !(1..=self.min_window).contains(&detector.tiny_window) {
                let allowed = format!("allowed are 1 to min_window ({})", self.min_window);
                return bad("burst_reaction.tiny_window", detector.tiny_window.into(), &allowed);
            }
        }
        Ok(())
    }

    fn check_windows(&self) -> Result<(), String> {
        let bad = |key: &str, value: u32, allowed: &str| Err(format!("{key} = {value}: {allowed}"));
        if !(1..=1 << 20).contains(&self.max_window) {
            return bad("max_window", self.max_window, "allowed are 1 to 1048576 packets");
        }
        let within = format!("allowed are 1 to max_window ({}) packets", self.max_window);
        if !(1..=self.max_window).contains(&self.min_window) {
            return bad("min_window", self.min_window, &within);
        }
        if !(1..=self.max_window).contains(&self.after_timeout) {
            return bad("after_timeout", self.after_timeout, &within);
        }
        if self.increase_step == 0 || self.increase_step > self.max_window {
            return bad("increase_step", self.increase_step, &within);
        }
        if self.decrease_step > self.max_window {
            let allowed = format!("allowed are 0 to max_window ({}) packets", self.max_window);
            return bad("decrease_step", self.decrease_step, &allowed);
        }
        Ok(())
    }

    fn check_times(&self) -> Result<(), String> {
        let bad = |key: &str, value: Span, allowed: &str| Err(format!("{key} = {value}: {allowed}"));
        if !(100..=1000).contains(&self.rto_percent) {
            return Err(format!("rto_percent = {}: allowed are 100 to 1000", self.rto_percent));
        }
        if self.rto_margin.is_zero() || self.rto_margin > self.max_rto {
            return bad("rto_margin", self.rto_margin, "allowed is more than zero and at most max_rto");
        }
        if self.initial_rto.is_zero() || self.initial_rto > self.max_rto {
            return bad("initial_rto", self.initial_rto, "allowed is more than zero and at most max_rto");
        }
        if self.max_rto > Span::from_secs(86_400) {
            return bad("max_rto", self.max_rto, "allowed is at most one day");
        }
        if self.give_up_after.is_zero() {
            return bad("give_up_after", self.give_up_after, "allowed is more than zero");
        }
        Ok(())
    }
}

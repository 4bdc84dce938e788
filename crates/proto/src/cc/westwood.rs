//! Westwood+: after a loss the window becomes what the path carried, not half of what was in flight (Grieco and Mascolo,
//! "Performance evaluation and comparison of Westwood+, New Reno, and Vegas TCP congestion control", ACM CCR 34(2), 2004).
//!
//! The sender counts what arrives at the receiver in each round trip, averages this rate B, and keeps the least round-trip time.
//! At a loss the threshold becomes B RTTmin, the data that fills the path without a queue, but at least two segments; three
//! duplicate ACKs also lower the window to it. A loss that has nothing to do with a queue then costs little. Growth is Reno's.
//!
//! Where the article leaves values open they are those of Linux (`tcp_westwood.c`): a sample is taken once in a round trip, and at
//! most once in 50 ms; it passes two filters of 7/8 one after the other, which the first sample fills; and a timeout resets the
//! least round-trip time. Losses are repaired by RFC 6675, as in Linux.
//!
//! Differences from Linux: what arrives is read from the scoreboard, where Linux counts a segment for each duplicate ACK; rates are
//! in bytes per second, and not per tick of a clock; and the window falls when a recovery begins, as published, and not at its end.

use airwatt_base::{Instant, Span};

use super::classic::{Algorithmic, Classic, WindowRule, over_classic};
use super::{Delivered, Recovery, carried};

/// The shortest time over which a rate is measured (`TCP_WESTWOOD_RTT_MIN`).
const ROUND_MIN: Span = Span::from_millis(50);

/// The window of Westwood+.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Westwood {
    pub(super) classic: Classic,
    /// Start of the round trip under way, and the bytes that have arrived in it; `None` before the first acknowledgement.
    round: Option<(Instant, u64)>,
    /// The latest and the least round-trip time; the least is `None` before the first sample and after a timeout.
    rtt: Span,
    rtt_min: Option<Span>,
    /// The rate after the first filter and after both, in bytes per second; `None` before the first sample.
    rate: Option<(u64, u64)>,
}

impl Westwood {
    /// B in bytes per second; `None` before the first sample.
    #[cfg(test)]
    pub(super) fn rate(&self) -> Option<u64> {
        self.rate.map(|(_, rate)| rate)
    }

    /// B RTTmin in bytes, at least two segments.
    fn target(&self) -> u32 {
        let rate = self.rate.map_or(0, |(_, rate)| rate);
        carried(rate, self.rtt_min.unwrap_or(Span::ZERO)).max(2 * self.classic.window.mss)
    }
}

/// One step of either filter.
fn filtered(average: u64, sample: u64) -> u64 {
    (7 * average + sample) / 8
}

impl Algorithmic for Westwood {
    const RECOVERY: Recovery = Recovery::Scoreboard;

    fn new(classic: Classic) -> Self {
        Self { classic, round: None, rtt: Span::ZERO, rtt_min: None, rate: None }
    }
}

impl WindowRule for Westwood {
    over_classic!();

    fn on_delivered(&mut self, delivered: Delivered) {
        let Delivered { bytes, rtt, now, .. } = delivered;
        if let Some(rtt) = rtt {
            self.rtt = rtt;
            self.rtt_min = Some(self.rtt_min.map_or(rtt, |least| least.min(rtt)));
        }
        // What the first acknowledgement covers was sent before the round began.
        let Some((start, arrived)) = self.round else {
            self.round = Some((now, 0));
            return;
        };
        let elapsed = now.saturating_since(start);
        if self.rtt == Span::ZERO || elapsed <= self.rtt.max(ROUND_MIN) {
            self.round = Some((start, arrived.saturating_add(u64::from(bytes))));
            return;
        }
        let sample = (u128::from(arrived) * 1_000_000_000 / u128::from(elapsed.as_nanos())) as u64;
        self.rate = Some(self.rate.map_or((sample, sample), |(first, second)| {
            let first = filtered(first, sample);
            (first, filtered(second, first))
        }));
        self.round = Some((now, u64::from(bytes)));
    }

    fn enter_recovery(&mut self, _flight: u32, _duplicates: u32) {
        let target = self.target();
        self.classic.fall_to(target);
    }

    /// The window has fallen already.
    fn leave_recovery(&mut self) {}

    fn on_timeout(&mut self, _flight: u32, reduces: bool, _recovering: bool) {
        let ssthresh = if reduces { self.target() } else { self.classic.window.ssthresh };
        self.rtt_min = None;
        self.classic.enter_loss(ssthresh);
    }
}

//! Veno: Reno that treats a loss without a queue as a random one (Fu and Liew, "TCP Veno: TCP enhancement for transmission over
//! wireless access networks", IEEE JSAC 21(2), 2003).
//!
//! The sender estimates its backlog, the data that it has in the queue of the bottleneck, as Vegas does: N = cwnd (RTT - BaseRTT) /
//! RTT, where BaseRTT is the least round-trip time. Below beta = 3 segments the path is not congested, and a loss takes a fifth of
//! the window; otherwise it takes half, and the window grows with every other acknowledgement only, by a segment in two round trips.
//!
//! As in Linux (`tcp_veno.c`), N is computed anew with the round-trip time of each acknowledgement, from the third sample on; a
//! timeout sets the threshold by the same rule, where the article halves the window; BaseRTT is reset after an idle period; and losses are
//! repaired by RFC 6675. Differences from Linux: N is in bytes, not in halves of a segment, and an acknowledgement without a
//! round-trip time (of retransmitted data) leaves N as it is, where Linux treats it as a sign of congestion. "Every other
//! acknowledgement" is the article's rule; Linux leaves out every other round trip.

use airwatt_base::Span;

use super::classic::{Algorithmic, Classic, WindowRule, over_classic};
use super::{Acknowledged, CongestionWindow, Delivered, Recovery};

/// The backlog in segments from which on the path counts as congested (section III-B).
const BETA: u32 = 3;
/// Samples of the round-trip time before the first estimate (`tcp_veno_cong_avoid`).
const SAMPLES_MIN: u32 = 3;

/// The window of Veno.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Veno {
    pub(super) classic: Classic,
    /// The least round-trip time; `None` before the first sample.
    base_rtt: Option<Span>,
    /// The number of samples so far, up to [`SAMPLES_MIN`].
    samples: u32,
    /// N: the backlog in bytes.
    backlog: u32,
    /// Whether the next acknowledgement in the congested state is one that does not count.
    skips: bool,
}

impl Veno {
    fn is_congested(&self) -> bool {
        self.backlog >= BETA * self.classic.window.mss
    }

    /// The threshold after a loss: four fifths of the window, or half of it if the path is congested.
    fn reduced(&self, flight: u32) -> u32 {
        let CongestionWindow { cwnd, mss, .. } = self.classic.window;
        let window = u64::from(flight.min(cwnd));
        let reduced = if self.is_congested() { window / 2 } else { window * 4 / 5 };
        (reduced as u32).max(2 * mss)
    }
}

impl Algorithmic for Veno {
    const RECOVERY: Recovery = Recovery::Scoreboard;

    fn new(classic: Classic) -> Self {
        Self { classic, base_rtt: None, samples: 0, backlog: 0, skips: false }
    }
}

impl WindowRule for Veno {
    over_classic!();

    fn on_delivered(&mut self, delivered: Delivered) {
        let Some(rtt) = delivered.rtt.filter(|rtt| *rtt > Span::ZERO) else { return };
        let base = self.base_rtt.map_or(rtt, |base| base.min(rtt));
        self.base_rtt = Some(base);
        self.samples = (self.samples + 1).min(SAMPLES_MIN);
        if self.samples == SAMPLES_MIN {
            let queued = u128::from((rtt - base).as_nanos());
            let cwnd = u128::from(self.classic.window.cwnd);
            self.backlog = (cwnd * queued / u128::from(rtt.as_nanos())) as u32;
        }
    }

    fn on_ack(&mut self, ack: Acknowledged) {
        if !self.classic.window.in_slow_start() && self.is_congested() {
            self.skips = !self.skips;
            if self.skips {
                return;
            }
        }
        self.classic.on_ack(ack);
    }

    fn enter_recovery(&mut self, flight: u32, _duplicates: u32) {
        let reduced = self.reduced(flight);
        self.classic.fall_to(reduced);
    }

    fn on_timeout(&mut self, flight: u32, reduces: bool, recovering: bool) {
        let CongestionWindow { ssthresh, .. } = self.classic.window;
        let reduced = self.reduced(flight);
        let lowered = if recovering { reduced.min(ssthresh) } else { reduced };
        self.classic.enter_loss(if reduces { lowered } else { ssthresh });
    }

    fn on_idle(&mut self, restart_window: u32) {
        (self.base_rtt, self.samples, self.backlog) = (None, 0, 0);
        self.classic.on_idle(restart_window);
    }
}

//! Timeouts that come too early, because a host did not get to its packets for a while.
//!
//! Without this everything in flight is sent again, although only the acknowledgements were late. As in F-RTO (RFC 5682), what a
//! timeout sends at once is all that is sent again until acknowledgements decide: new data follow it, and the rest waits. If the
//! rest, of which nothing was sent again, is reported, the timeout came too early: the rest is in flight still, the window is what
//! it was, and later timeouts have twice the margin. If an acknowledgement shows news and nothing of the rest after all that was
//! sent at once has been reported, or if nothing is left that could be sent, there was a loss: the rest is sent again, and the margin is halved.
//!
//! Left out: timeouts with so little in flight that all of it is sent again at once. They cost a few packets and decide nothing.

use airwatt_base::Instant;

use super::{PacketState, Record, Sender};
use crate::e2tcp::statistics::Statistics;
use crate::e2tcp::timer::{E2tcpTimer, Timers};
use crate::tcp::SendBuffer;

/// A timeout of which is not known whether it came too early.
#[derive(Clone, Copy, Debug)]
pub(super) struct Doubt {
    /// The window before it.
    window: u32,
    /// Whether anything was reported since.
    is_answered: bool,
    /// Whether all that was sent again is reported.
    is_passed: bool,
}

impl<S: SendBuffer> Sender<S> {
    /// The transmission timer has expired, before which the window was `window`, and packets are marked.
    pub(super) fn doubt_timeout(&mut self, window: u32) {
        let any = |matches: fn(&Record) -> bool| self.records.iter().any(matches);
        let may_decide = any(|record| record.at_once) && any(is_untouched);
        self.doubt = match self.doubt {
            Some(doubt) if !doubt.is_answered => Some(doubt),
            None if self.undoes_timeouts && may_decide => {
                Some(Doubt { window, is_answered: false, is_passed: false })
            }
            _ => None,
        };
    }

    /// Whether this packet waits until it is known whether the timeout came too early.
    pub(super) fn is_held(&self, record: &Record) -> bool {
        self.doubt.is_some() && record.state == PacketState::TimedOut && !record.at_once
    }

    /// Whether a packet is reported that no timeout has sent again. How long ago it was sent is no round-trip time: it may have arrived
    /// long before, and the acknowledgements that said so may have been lost. Taken for one, it lengthens timeouts without end.
    pub(super) fn proves_early(&self, reported: &[(u64, u64); 3]) -> bool {
        let covers = |record: &Record| {
            reported.iter().any(|(start, end)| *start <= record.start && record.end <= *end)
        };
        self.doubt.is_some() && self.records.iter().any(|record| is_untouched(record) && covers(record))
    }

    /// Draws the conclusion from an acknowledgement, after what it reports is marked.
    pub(super) fn resolve_doubt(
        &mut self,
        is_proved: bool,
        has_news: bool,
        now: Instant,
        timers: &mut Timers,
        statistics: &mut Statistics,
    ) {
        let Some(doubt) = self.doubt.filter(|_| has_news) else { return };
        if is_proved {
            self.doubt = None;
            self.undo_timeout(doubt.window, now, timers);
            statistics.timeouts_undone += 1;
            return;
        }
        if doubt.is_passed {
            return self.confirm_timeout();
        }
        let is_passed = !self
            .records
            .iter()
            .any(|record| record.at_once || record.state == PacketState::Sent && record.repeated);
        self.doubt = Some(Doubt { is_answered: true, is_passed, ..doubt });
    }

    fn undo_timeout(&mut self, window: u32, now: Instant, timers: &mut Timers) {
        for index in 0..self.records.len() {
            if is_untouched(&self.records[index]) {
                self.set_state(index, PacketState::Sent);
            }
        }
        self.window.restore(window);
        self.rtt.restore();
        self.rtt.widen();
        if self.counts[PacketState::Sent as usize] > 0 {
            timers.set(E2tcpTimer::Transmission, now.saturating_add(self.rtt.rto()));
        }
    }

    /// Nothing is on its way that could decide, and nothing new may be sent.
    pub(super) fn give_up_doubt(&mut self) {
        if self.doubt.is_some()
            && self.outstanding() == 0
            && self.permitted().is_none()
            && !self.records.iter().any(|record| record.at_once)
        {
            self.confirm_timeout();
        }
    }

    fn confirm_timeout(&mut self) {
        self.doubt = None;
        self.rtt.tighten();
    }
}

/// Whether a packet was sent once, and is to be sent again after a timeout.
fn is_untouched(record: &Record) -> bool {
    record.state == PacketState::TimedOut && !record.repeated && !record.at_once
}

//! What happens when a timer of the send half expires, and when a connection is given up.

use super::{Push, Sender};
use crate::tcp::linux::state::CaState;
use crate::tcp::linux::timers::{Reason, TailProbe};

/// Retry after the device has refused a packet, in microseconds.
const RESOURCE_RETRY: u64 = 500_000;

impl Sender {
    /// The next packet may leave: a lost segment before new data.
    pub(in crate::tcp::linux) fn depart(&mut self, now: u64) {
        self.pacing.timer = None;
        if self.congestion.state >= CaState::Recovery && self.queue.lost > self.queue.resent {
            self.retransmit_lost(now);
        }
        self.push_pending(Push::Nagle, now);
    }

    /// Serves the timer. Returns whether the connection is to be given up.
    pub(in crate::tcp::linux) fn expire(&mut self, now: u64) -> bool {
        let Some(timer) = self.timers.timer.filter(|timer| timer.at <= now) else { return false };
        match timer.reason {
            Reason::Timeout => {
                self.timers.timer = None;
                return self.time_out(now);
            }
            Reason::TailProbe => self.probe_tail(now),
            Reason::Reorder => self.reorder_timeout(now),
            Reason::WindowProbe => {
                self.timers.timer = None;
                return self.probe_window(now);
            }
        }
        false
    }

    fn reorder_timeout(&mut self, now: u64) {
        let before = self.queue.in_flight();
        let lost = self.queue.lost_ever;
        self.detect_late(now);
        if before != self.queue.in_flight() {
            if self.congestion.state != CaState::Recovery {
                self.enter_recovery(false);
                self.reduce(1, self.queue.lost_ever > lost, false);
            }
            self.retransmit_lost(now);
        }
        if self.timers.runs_for(Reason::Reorder) {
            self.rearm(now);
        }
    }

    /// Sends one segment of new data, or else the last one again, to get an acknowledgement of the tail.
    fn probe_tail(&mut self, now: u64) {
        if self.timers.tail_probe.is_none() && !self.queue.is_empty() {
            let packets = self.queue.packets();
            let len = u64::from(self.space.current_mss()).min(self.writes.end - self.space.nxt);
            let new = self.has_unsent() && self.space.nxt + len <= self.space.edge();
            let mut resent = false;
            if new {
                self.transmit(Push::Probe, now);
            } else if !self.blocked {
                resent = self.resend(self.queue.len() - 1, 1, true, now);
            }
            if resent || (new && self.queue.packets() > packets) {
                self.timers.tail_probe = Some(TailProbe { until: self.space.nxt, resent });
                // The timeout counts from now.
                self.timers.timer = None;
            }
        }
        self.rearm(now);
    }

    fn time_out(&mut self, now: u64) -> bool {
        if self.queue.is_empty() {
            return false;
        }
        let first = self.reduction.resent_at.filter(|_| self.timers.retransmits > 0);
        if first.is_some_and(|first| now - first >= self.patience()) {
            return true;
        }
        self.enter_loss(now);
        self.timers.timeouts += 1;
        if self.blocked {
            self.timers.set(Reason::Timeout, RESOURCE_RETRY.min(self.rtt.rto()), now);
            return false;
        }
        self.resend(0, 1, false, now);
        self.timers.backoff += 1;
        self.timers.retransmits += 1;
        self.rtt.back_off();
        self.set_timeout(now);
        false
    }

    /// The time that an answer is waited for: what the retries would take from the least timeout on, or what the user wants.
    fn patience(&self) -> u64 {
        if let Some(timeout) = self.config.user_timeout {
            return timeout.as_nanos() / 1000;
        }
        let (least, most) = (self.rtt.least, self.config.rto_max.as_nanos() / 1000);
        (0..=self.config.retries).map(|retry| least.saturating_mul(1 << retry.min(32)).min(most)).sum()
    }

    fn probe_window(&mut self, now: u64) -> bool {
        if !self.queue.is_empty() || !self.has_unsent() {
            return false;
        }
        let since = *self.timers.probing_since.get_or_insert(now);
        if now - since >= self.patience() && self.timers.probes > 0 {
            return true;
        }
        if self.blocked {
            self.timers.set(Reason::WindowProbe, RESOURCE_RETRY, now);
            return false;
        }
        self.send_window_probe(now);
        if self.queue.is_empty() {
            self.timers.probes += 1;
            self.timers.backoff += 1;
            self.set_window_probe(now);
        } else {
            self.timers.backoff = 0;
        }
        false
    }

    /// Asks a peer that has been silent whether it is there. Returns the time for its answer, which is `interval` if the device takes the
    /// probe. In microseconds.
    pub(in crate::tcp::linux) fn probe_idle(&mut self, interval: u64) -> u64 {
        if self.blocked {
            return RESOURCE_RETRY;
        }
        self.ask();
        self.timers.probes += 1;
        interval
    }
}

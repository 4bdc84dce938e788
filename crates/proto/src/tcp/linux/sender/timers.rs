//! The one timer of the send half, with the reason for which it runs: timeout, tail loss probe, reordering, probe of a closed window.

use super::rack::TIMEOUT_MIN;
use super::{Push, Sender};
use crate::tcp::linux::state::CaState;

/// The longest wait between probes of a closed window, and the least: as timeouts.
const PROBE_LEAST: u64 = 200_000;
/// Retry after the device has refused a packet.
const RESOURCE_RETRY: u64 = 500_000;

/// Why the timer runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::tcp::linux) enum Reason {
    /// To retransmit what was not acknowledged.
    Timeout,
    /// To probe the tail.
    TailProbe,
    /// To take for lost what was only late so far.
    Reorder,
    /// To probe a closed window.
    WindowProbe,
}

/// The timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::tcp::linux) struct Timer {
    pub(in crate::tcp::linux) reason: Reason,
    /// When it expires, in microseconds.
    pub(in crate::tcp::linux) at: u64,
}

impl Timer {
    pub(in crate::tcp::linux) fn is_probe(&self) -> bool {
        self.reason == Reason::TailProbe
    }

    pub(in crate::tcp::linux) fn is_reorder(&self) -> bool {
        self.reason == Reason::Reorder
    }
}

impl Sender {
    fn set(&mut self, reason: Reason, span: u64, now: u64) {
        self.timer = Some(Timer { reason, at: self.clock.expiry(now, span) });
    }

    /// Sets the retransmission timer to a whole timeout.
    pub(in crate::tcp::linux) fn set_timeout(&mut self, now: u64) {
        self.set(Reason::Timeout, self.rtt.rto(), now);
    }

    pub(in crate::tcp::linux) fn set_reorder_timer(&mut self, span: u64, now: u64) {
        self.set(Reason::Reorder, span, now);
    }

    /// What is left of the timeout of the oldest segment; zero if nothing is.
    fn timeout_left(&self, now: u64) -> u64 {
        let rto = self.clock.span(self.clock.covering(self.rtt.rto()));
        self.queue.head().map_or(rto, |head| (head.sent + rto).saturating_sub(now))
    }

    /// Sets the retransmission timer anew. If it replaces another, it counts from the transmission of the oldest segment.
    pub(in crate::tcp::linux) fn rearm(&mut self, now: u64) {
        if self.queue.is_empty() {
            self.timer = None;
            return;
        }
        let replaces = self.timer.is_some_and(|timer| timer.is_probe() || timer.is_reorder());
        let span = if replaces { self.timeout_left(now).max(1) } else { self.rtt.rto() };
        self.set(Reason::Timeout, span, now);
    }

    /// Sets the timer after an acknowledgement: to a probe of the tail, or to a timeout.
    pub(in crate::tcp::linux) fn set_ack_timer(&mut self, now: u64) {
        if !self.schedule_probe(true, now) {
            self.rearm(now);
        }
    }

    /// Schedules a tail loss probe if the state allows one.
    pub(in crate::tcp::linux) fn schedule_probe(&mut self, after_ack: bool, now: u64) -> bool {
        let allowed = self.config.tail_loss_probe
            && !self.queue.is_empty()
            && self.sack
            && matches!(self.state, CaState::Open | CaState::Cwr);
        if !allowed {
            return false;
        }
        let mut span = match self.rtt.srtt() {
            Some(srtt) => {
                let delayed = if self.queue.packets() == 1 { self.rtt.least } else { TIMEOUT_MIN };
                2 * srtt + delayed
            }
            None => 1_000_000,
        };
        let left = if after_ack { self.rtt.rto() } else { self.timeout_left(now) };
        if left > 0 {
            span = span.min(left);
        }
        self.set(Reason::TailProbe, span, now);
        true
    }

    /// Serves the timer. Returns whether the connection is to be given up.
    pub(in crate::tcp::linux) fn expire(&mut self, now: u64) -> bool {
        let Some(timer) = self.timer.filter(|timer| timer.at <= now) else { return false };
        match timer.reason {
            Reason::Timeout => {
                self.timer = None;
                return self.time_out(now);
            }
            Reason::TailProbe => self.probe_tail(now),
            Reason::Reorder => self.reorder_timeout(now),
            Reason::WindowProbe => {
                self.timer = None;
                return self.probe_window(now);
            }
        }
        false
    }

    fn reorder_timeout(&mut self, now: u64) {
        let before = self.queue.in_flight();
        let lost = self.queue.lost_ever;
        self.rack_detect(now);
        if before != self.queue.in_flight() {
            if self.state != CaState::Recovery {
                self.enter_recovery(false);
                self.reduce(1, self.queue.lost_ever > lost, false);
            }
            self.retransmit_lost(now);
        }
        if self.timer.is_some_and(|timer| timer.is_reorder()) {
            self.rearm(now);
        }
    }

    /// Sends one segment of new data, or else the last one again, to get an acknowledgement of the tail.
    fn probe_tail(&mut self, now: u64) {
        if self.probe_until.is_none() && !self.queue.is_empty() {
            self.probe_resent = false;
            let packets = self.queue.packets();
            let fits = self.nxt + u64::from(self.current_mss()).min(self.end - self.nxt) <= self.edge();
            let new = self.has_unsent() && fits;
            let mut sent = false;
            if new {
                self.transmit(Push::Probe, now);
                sent = self.queue.packets() > packets;
            } else if !self.blocked {
                self.probe_resent = self.resend(self.queue.len() - 1, 1, true, now);
                sent = self.probe_resent;
            }
            if sent {
                self.probe_until = Some(self.nxt);
                // The timeout counts from now.
                self.timer = None;
            }
        }
        self.rearm(now);
    }

    fn time_out(&mut self, now: u64) -> bool {
        if self.queue.is_empty() {
            return false;
        }
        if self.has_given_up(now) {
            return true;
        }
        self.enter_loss(now);
        self.timeouts += 1;
        if self.blocked {
            self.set(Reason::Timeout, RESOURCE_RETRY.min(self.rtt.rto()), now);
            return false;
        }
        self.resend(0, 1, false, now);
        self.backoff += 1;
        self.retransmits += 1;
        self.rtt.back_off();
        self.set_timeout(now);
        false
    }

    /// Whether what was retransmitted first is unanswered for too long.
    fn has_given_up(&self, now: u64) -> bool {
        let Some(first) = self.retransmit_stamp.filter(|_| self.retransmits > 0) else { return false };
        now - first >= self.patience()
    }

    /// How long an answer is waited for: what the retries would take from the least timeout on, or what the user wants.
    fn patience(&self) -> u64 {
        if let Some(timeout) = self.config.user_timeout {
            return timeout.as_nanos() / 1000;
        }
        let (least, most) = (self.rtt.least, self.config.rto_max.as_nanos() / 1000);
        (0..=self.config.retries).map(|retry| least.saturating_mul(1 << retry.min(32)).min(most)).sum()
    }

    // Probes of a closed window.

    /// The wait before the next probe.
    fn probe_span(&self) -> u64 {
        let most = self.config.rto_max.as_nanos() / 1000;
        self.rtt.base().max(PROBE_LEAST).saturating_mul(1 << self.backoff.min(9)).min(most)
    }

    pub(in crate::tcp::linux) fn start_probing(&mut self, now: u64) {
        self.set(Reason::WindowProbe, self.probe_span(), now);
    }

    /// An acknowledgement came while nothing was outstanding.
    pub(in crate::tcp::linux) fn check_probing(&mut self, now: u64) {
        if !self.has_unsent() {
            return;
        }
        let first = self.nxt + u64::from(self.current_mss()).min(self.end - self.nxt);
        if first <= self.edge() {
            self.backoff = 0;
            self.timer = self.timer.filter(|timer| timer.reason != Reason::WindowProbe);
        } else {
            self.set(Reason::WindowProbe, self.probe_span(), now);
        }
    }

    fn probe_window(&mut self, now: u64) -> bool {
        if !self.queue.is_empty() || !self.has_unsent() {
            return false;
        }
        let since = *self.probing_since.get_or_insert(now);
        if now - since >= self.patience() && self.probes > 0 {
            return true;
        }
        if self.blocked {
            self.set(Reason::WindowProbe, RESOURCE_RETRY, now);
            return false;
        }
        if self.nxt < self.edge() {
            self.send_into_window(now);
        } else {
            self.send_window_probe();
        }
        if self.queue.is_empty() {
            self.probes += 1;
            self.backoff += 1;
            self.set(Reason::WindowProbe, self.probe_span(), now);
        } else {
            self.backoff = 0;
        }
        false
    }
}

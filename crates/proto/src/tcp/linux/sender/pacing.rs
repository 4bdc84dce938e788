//! When packets may leave: the pacing rate, and what BBR makes of it.

use super::recovery::News;
use super::{Push, Sender};
use crate::tcp::linux::bbr::{Ack, Bbr, Decided};
use crate::tcp::linux::state::CaState;

/// Segments with data at the beginning of a connection that are not paced.
const UNPACED: u64 = 10;

impl Sender {
    /// Whether packets leave at the pacing rate.
    pub(in crate::tcp::linux) fn is_paced(&self) -> bool {
        self.config.paced || self.bbr.is_some()
    }

    /// Whether the next packet has to wait; the timer is set to its departure then.
    pub(in crate::tcp::linux) fn must_pace(&mut self, now: u64) -> bool {
        let waits = self.is_paced() && self.next_departure > now;
        if waits {
            self.pacing_timer = Some(self.next_departure);
        }
        waits
    }

    /// A packet with so many bytes of payload leaves.
    pub(in crate::tcp::linux) fn advance_pacing(&mut self, bytes: u32, now: u64) {
        let sent = self.delivered + u64::from(self.queue.packets());
        if self.is_paced() && self.pacing_rate > 0 && sent > UNPACED {
            let span = u64::from(bytes) * 1_000_000 / self.pacing_rate;
            let credit = now.saturating_sub(self.next_departure).min(span / 2);
            self.next_departure = now + span - credit;
        }
    }

    /// The next packet may leave: a lost segment before new data.
    pub(in crate::tcp::linux) fn depart(&mut self, now: u64) {
        self.pacing_timer = None;
        if self.state >= CaState::Recovery && self.queue.lost > self.queue.resent {
            self.retransmit_lost(now);
        }
        self.push_pending(Push::Nagle, now);
    }

    /// Another congestion control takes over.
    pub(in crate::tcp::linux) fn begin_control(&mut self) {
        self.bbr = Bbr::new(self.config.control, self.config.seed);
        self.begin_pacing();
    }

    /// The pacing rate of a connection that begins.
    pub(in crate::tcp::linux) fn begin_pacing(&mut self) {
        match &self.bbr {
            Some(bbr) => self.pacing_rate = bbr.first_rate(self.cwnd, self.rtt.srtt(), self.mss),
            None => self.update_pacing_rate(),
        }
    }

    /// The pacing rate without BBR: a multiple of the window a round trip.
    pub(in crate::tcp::linux) fn update_pacing_rate(&mut self) {
        let (slow_start, avoidance) = self.config.pacing_ratios;
        let share = if self.cwnd < self.ssthresh / 2 { slow_start } else { avoidance };
        let window = u64::from(self.cwnd.max(self.queue.packets()));
        let rate = u64::from(self.mss) * window * share * 10_000;
        self.pacing_rate = self.rtt.srtt().map_or(rate, |srtt| rate / srtt.max(1));
    }

    // BBR.

    /// Notes before a write whether the application has too little to send, so that the delivery rate says nothing of the path.
    pub(super) fn check_limited(&mut self) {
        let flight = self.queue.in_flight();
        let has_little = self.end - self.nxt < u64::from(self.mss);
        if has_little && flight < self.cwnd && self.queue.lost <= self.queue.resent {
            self.rate.limit(self.delivered + u64::from(flight));
        }
    }

    /// Sets window and rate as BBR decides after an acknowledgement.
    pub(in crate::tcp::linux) fn follow_bbr(&mut self, news: &News, acked: u32, lost: u32, now: u64) {
        let sample = self.rate.sample(self.delivered, self.queue.lost_ever, self.rtt.minimum(), now);
        let ack = Ack {
            now,
            sample,
            acked,
            delivered: self.delivered,
            lost,
            lost_ever: self.queue.lost_ever,
            excess: self.queue.excess.take(),
            rtt: news.rtt.map(|(rtt, _)| rtt),
            delayed: news.rtt.is_some_and(|(_, delayed)| delayed),
            srtt: self.rtt.srtt(),
            flight: self.queue.in_flight(),
            state: self.state,
            is_cwnd_limited: self.is_cwnd_limited,
            initial_window: self.config.initial_window,
            mss: self.mss,
            burst: self.burst_segments(self.mss),
        };
        self.decide(|bbr, decided| bbr.acknowledge(&ack, decided));
    }

    /// The first segment after an idle time is about to leave.
    pub(super) fn restart_bbr(&mut self, now: u64) {
        if self.rate.is_limited() {
            let mss = self.mss;
            self.decide(|bbr, decided| bbr.restart(now, mss, decided));
        }
    }

    fn decide(&mut self, decide: impl FnOnce(&mut Bbr, &mut Decided)) {
        let Some(bbr) = &mut self.bbr else { return };
        let mut decided = Decided { cwnd: self.cwnd, rate: self.pacing_rate, limits: false };
        decide(bbr, &mut decided);
        (self.cwnd, self.pacing_rate) = (decided.cwnd, decided.rate);
        if decided.limits {
            self.rate.limit(self.delivered + u64::from(self.queue.in_flight()));
        }
    }
}

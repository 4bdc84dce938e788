//! What the congestion control learns and decides: window and pacing rate, and the size of a burst.

use super::Sender;
use crate::tcp::linux::ackloss::Watch;
use crate::tcp::linux::bbr::{Ack, Bbr, Decided};
use crate::tcp::linux::congestion::ControlState;
use crate::tcp::linux::space::FIRST;

/// Segments with data at the beginning of a connection that are not paced.
const UNPACED: u64 = 10;

impl Sender {
    /// The connection stands.
    pub(in crate::tcp::linux) fn begin(&mut self, now: u64) {
        self.established = true;
        self.begin_pacing();
        if let Some(cubic) = self.congestion.control.cubic() {
            cubic.begin(now, self.space.nxt);
        }
        let (mss, una) = (self.space.mss, self.space.una.max(FIRST));
        self.ackloss = self.config.ackloss.map(|config| Box::new(Watch::new(config, mss, una)));
    }

    /// Another congestion control takes over.
    pub(in crate::tcp::linux) fn begin_control(&mut self) {
        self.congestion.control = ControlState::new(&self.config);
        self.begin_pacing();
    }

    /// The pacing rate of a connection that begins.
    fn begin_pacing(&mut self) {
        match &self.congestion.control {
            ControlState::Bbr(bbr) => {
                self.pacing.rate = bbr.first_rate(self.congestion.cwnd, self.rtt.srtt(), self.space.mss);
            }
            _ => self.update_pacing_rate(),
        }
    }

    /// The pacing rate without BBR: a multiple of the window a round trip.
    pub(super) fn update_pacing_rate(&mut self) {
        let (slow_start, avoidance) = self.config.pacing_ratios;
        let begins = self.congestion.cwnd < self.congestion.ssthresh / 2;
        let window = u64::from(self.space.mss) * u64::from(self.congestion.cwnd.max(self.queue.packets()));
        self.pacing.follow_window(window, if begins { slow_start } else { avoidance }, self.rtt.srtt());
    }

    fn is_paced(&self) -> bool {
        self.config.paced || self.congestion.is_bbr()
    }

    /// Whether the next packet has to wait for its departure.
    pub(super) fn must_pace(&mut self, now: u64) -> bool {
        self.is_paced() && self.pacing.must_wait(now)
    }

    /// A packet with this many bytes of payload leaves.
    pub(super) fn advance_pacing(&mut self, bytes: u32, now: u64) {
        if self.is_paced() && self.queue.delivered + u64::from(self.queue.packets()) > UNPACED {
            self.pacing.advance(bytes, now);
        }
    }

    /// The size of a burst: what the pacing rate sends in a millisecond, more on short paths.
    pub(super) fn burst_segments(&self, mss: u32) -> u32 {
        let most = u64::from(self.config.burst_max());
        if most == 0 {
            return 1;
        }
        let rate = self.pacing.rate;
        let mut bytes = if rate == 0 { most } else { rate >> 10 };
        let halvings = self.rtt.minimum() >> 9;
        if halvings < 32 {
            bytes += most >> halvings;
        }
        let least = match &self.congestion.control {
            ControlState::Bbr(bbr) => bbr.burst_min(rate, self.config.min_tso_segs),
            _ => self.config.min_tso_segs,
        };
        ((bytes.min(most) / u64::from(mss)) as u32).max(least)
    }

    /// Lowers a window that was idle for longer than a timeout.
    pub(super) fn slow_start_after_idle(&mut self, now: u64) {
        let Some(last) = self.last_sent else { return };
        if self.config.slow_start_after_idle && self.queue.is_empty() && !self.congestion.is_bbr() {
            let clock = self.timers.clock;
            let (idle, rto) = (clock.jiffy(now) - clock.jiffy(last), clock.covering(self.rtt.rto()));
            self.congestion.fall_idle(idle, rto, self.config.initial_window, now);
        }
    }

    /// Notes that a packet with data leaves. The congestion control learns of an idle time before it.
    pub(super) fn note_departure(&mut self, now: u64) {
        if let Some(last) = self.last_sent.filter(|_| self.queue.in_flight() == 0) {
            let clock = self.timers.clock;
            if let Some(cubic) = self.congestion.control.cubic() {
                cubic.restart(clock.jiffy(now), clock.jiffy(now) - clock.jiffy(last));
            }
            if self.rate.is_limited() {
                let mss = self.space.mss;
                self.decide(|bbr, decided| bbr.restart(now, mss, decided));
            }
        }
        self.last_sent = Some(now);
    }

    /// Notes before a write whether the application has too little to send, so that the delivery rate says nothing of the path.
    pub(super) fn check_limited(&mut self) {
        let has_little = self.writes.end - self.space.nxt < u64::from(self.space.mss);
        let fits = self.queue.in_flight() < self.congestion.cwnd;
        if has_little && fits && self.queue.lost <= self.queue.resent {
            self.limit_rate();
        }
    }

    /// What is delivered until everything in flight is does not count as what the path carries.
    fn limit_rate(&mut self) {
        self.rate.limit(self.queue.delivered + u64::from(self.queue.in_flight()));
    }

    /// Sets window and rate as BBR decides after an acknowledgement. `rtt` is the round trip of the newest segment, with whether
    /// it may contain the delay of an acknowledgement.
    pub(super) fn follow_bbr(&mut self, rtt: Option<(u64, bool)>, acked: u32, lost: u32, now: u64) {
        let (delivered, lost_ever) = (self.queue.delivered, self.queue.lost_ever);
        let ack = Ack {
            now,
            sample: self.rate.sample(delivered, lost_ever, self.rtt.minimum(), now),
            acked,
            delivered,
            lost,
            lost_ever,
            excess: self.queue.excess.take(),
            rtt: rtt.map(|(rtt, _)| rtt),
            delayed: rtt.is_some_and(|(_, delayed)| delayed),
            srtt: self.rtt.srtt(),
            flight: self.queue.in_flight(),
            state: self.congestion.state,
            is_cwnd_limited: self.congestion.is_limited,
            initial_window: self.config.initial_window,
            mss: self.space.mss,
            burst: self.burst_segments(self.space.mss),
        };
        self.decide(|bbr, decided| bbr.acknowledge(&ack, decided));
    }

    fn decide(&mut self, decide: impl FnOnce(&mut Bbr, &mut Decided)) {
        let mut decided = Decided { cwnd: self.congestion.cwnd, rate: self.pacing.rate, limits: false };
        let Some(bbr) = self.congestion.bbr() else { return };
        decide(bbr, &mut decided);
        (self.congestion.cwnd, self.pacing.rate) = (decided.cwnd, decided.rate);
        if decided.limits {
            self.limit_rate();
        }
    }
}

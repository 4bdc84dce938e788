//! Target wake time at the access point: which requests it accepts, and what it answers to others.
//!
//! It answers as Linux's driver mt7915 does (`mt7915_mac_add_twt_setup`, Linux 6.12): a request for a shorter duration than the hardware
//! has is answered by Dictate TWT with that duration, one for more agreements than it has by Reject TWT. A request that leaves the
//! times open gets the first gap between the periods of the others; one that demands a time gets that time. An agreement counts from
//! the answer on, which may wait in the queue while others ask, as that driver counts it.
//!
//! The driver searches gaps by the starts of periods modulo the interval that is asked for, which holds among equal intervals. This access point
//! searches them for all.

use std::fmt::Debug;

use airwatt_base::{Instant, Span, with_defaults};

use super::{AccessPointPowerSave, Downlink};
use crate::powersave::StationId;
use crate::powersave::wake_agreement::{WakeAgreement, WakeAnswer, WakeFrame, WakeProposal, WakeRequest};

/// The least time from a request to the first service period: the answer and its acknowledgement come first.
const LEAD: Span = Span::from_millis(20);
/// Places that it tries before it takes a time as full. Sixteen agreements have as many periods in an interval of theirs.
const PLACES: u32 = 4_096;

with_defaults! {
    /// The limits of an access point to target wake time agreements. The defaults are those of mt7915 and mt7996: 16 agreements
    /// (`MT7915_MAX_TWT_AGRT`), and 64 units of 256 us (`MT7915_MIN_TWT_DUR`).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct WakeLimits {
        /// Most agreements that hold at a time. With 0 every request is rejected.
        pub agreements: u32 = 16,
        /// The least duration of a service period.
        pub least_duration: Span = Span::from_micros(64 * 256),
        /// Whether it takes information frames, by which a station suspends its agreement. Linux's mac80211 and the drivers do not.
        pub information: bool = false,
        /// The service periods that beacons announce to all stations (broadcast TWT). Default: none.
        pub schedule: Option<WakeRequest> = None,
    }
}

impl<P: Copy + Debug> AccessPointPowerSave<P> {
    /// Handles an action frame of a station. A request that is repeated, since its acknowledgement was lost, is answered once.
    pub(super) fn negotiate(&mut self, station: StationId, frame: WakeFrame, now: Instant) {
        match frame {
            WakeFrame::Request { token, proposal } => {
                if self.peers[station as usize].token.replace(token) == Some(token) {
                    return;
                }
                // A station that asks has given its agreement up.
                self.end_agreement(station);
                let answer = self.answer(proposal, now);
                if let WakeAnswer::Accept(agreement) = answer {
                    self.peers[station as usize].offered = Some(agreement);
                }
                let information = self.config.wakes.information && !proposal.request.broadcast;
                self.transmit(station, Downlink::Wake(WakeFrame::Answer { token, information, answer }));
            }
            WakeFrame::Teardown { .. } => self.end_agreement(station),
            WakeFrame::Information { next } if self.config.wakes.information => {
                self.suspend_or_resume(station, next, now);
            }
            WakeFrame::Answer { .. } | WakeFrame::Information { .. } => {}
        }
    }

    fn answer(&self, proposal: WakeProposal, now: Instant) -> WakeAnswer {
        let WakeProposal { request, start } = proposal;
        let WakeLimits { agreements, least_duration, .. } = self.config.wakes;
        if request.broadcast {
            let Some(schedule) = self.config.schedule() else { return WakeAnswer::Reject(request) };
            return WakeAnswer::Accept(WakeAgreement { first: schedule.start_after(now), ..schedule });
        }
        let own = self.agreements().filter(|agreement| !agreement.request.broadcast);
        if own.count() >= agreements as usize || request.interval < request.duration {
            return WakeAnswer::Reject(request);
        }
        if request.duration < least_duration {
            let interval = request.interval.max(least_duration);
            let nearest = WakeRequest::nearest(interval, least_duration, request.announced);
            return WakeAnswer::Dictate(WakeRequest { trigger_enabled: request.trigger_enabled, ..nearest });
        }
        let soonest = now + LEAD;
        let first = match start {
            Some(start) => first_at_or_after(soonest, start, request.interval),
            None => self.place(request, soonest),
        };
        WakeAnswer::Accept(WakeAgreement { request, first })
    }

    /// The start of the first period: a time between two beacons, or the first one behind it at which no period ever meets one of another
    /// agreement. If there is none, periods are as far behind that time as the others last together.
    fn place(&self, request: WakeRequest, soonest: Instant) -> Instant {
        let WakeRequest { interval, .. } = request;
        let beacon_interval = self.config.beacon_interval;
        let between = self.config.first_beacon + beacon_interval / 2;
        let mut first = first_at_or_after(soonest, between, beacon_interval);
        let end = first + interval;
        for _ in 0..PLACES {
            let agreement = WakeAgreement { request, first };
            let mut taken = self.agreements().chain(self.config.schedule());
            match taken.find_map(|other| agreement.until_clear_of(&other)) {
                None => return first,
                Some(wait) if first + wait < end => first += wait,
                Some(_) => break,
            }
        }
        let taken: Span = self.agreements().map(|other| other.request.duration).sum();
        let behind = Span::from_nanos(taken.as_nanos() % interval.as_nanos());
        first_at_or_after(soonest, between + behind, beacon_interval)
    }
}

/// The first time not before `soonest` that is `start` or a number of intervals later.
fn first_at_or_after(soonest: Instant, start: Instant, interval: Span) -> Instant {
    let passed = soonest.saturating_since(start);
    start + interval * passed.as_nanos().div_ceil(interval.as_nanos())
}

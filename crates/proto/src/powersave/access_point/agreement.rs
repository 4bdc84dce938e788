//! Target wake time at the access point: which requests it accepts, and what it answers to others.
//!
//! It answers as Linux's driver mt7915 does (`mt7915_mac_add_twt_setup`, Linux 6.12): a request for a shorter duration than the hardware
//! has is answered by Dictate TWT with that duration, one for more agreements than it has by Reject TWT. A request that leaves the
//! times open gets periods behind those that are agreed on; one that demands a time gets that time.

use std::fmt::Debug;

use airwatt_base::{Instant, Span};

use super::{AccessPointPowerSave, Downlink};
use crate::powersave::StationId;
use crate::powersave::wake_agreement::{WakeAgreement, WakeAnswer, WakeFrame, WakeProposal, WakeRequest};

/// The least time from a request to the first service period: the answer and its acknowledgement come first.
const LEAD: Span = Span::from_millis(20);

/// The limits of an access point to target wake time agreements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WakeLimits {
    /// Most agreements that hold at a time. With 0 every request is rejected.
    pub agreements: u32,
    /// The least duration of a service period.
    pub least_duration: Span,
}

impl Default for WakeLimits {
    /// Those of mt7915 and mt7996: 16 agreements (`MT7915_MAX_TWT_AGRT`), and 64 units of 256 us (`MT7915_MIN_TWT_DUR`).
    fn default() -> Self {
        Self { agreements: 16, least_duration: Span::from_micros(64 * 256) }
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
                let answer = self.answer(station, proposal, now);
                self.transmit(station, Downlink::Wake(WakeFrame::Answer { token, answer }));
            }
            WakeFrame::Teardown => self.end_agreement(station),
            WakeFrame::Answer { .. } => {}
        }
    }

    fn answer(&self, station: StationId, proposal: WakeProposal, now: Instant) -> WakeAnswer {
        let WakeProposal { request, start } = proposal;
        let WakeLimits { agreements, least_duration } = self.config.wakes;
        if self.requests_of_others(station).count() >= agreements as usize
            || request.interval < request.duration
        {
            return WakeAnswer::Reject(request);
        }
        if request.duration < least_duration {
            let interval = request.interval.max(least_duration);
            return WakeAnswer::Dictate(WakeRequest::nearest(interval, least_duration, request.announced));
        }
        let soonest = now + LEAD;
        let first = match start {
            Some(start) => first_at_or_after(soonest, start, request.interval),
            None => first_at_or_after(soonest, self.packed(station, request), self.config.beacon_interval),
        };
        WakeAnswer::Accept(WakeAgreement { request, first })
    }

    /// A time between two beacons, behind the periods of earlier agreements.
    fn packed(&self, station: StationId, request: WakeRequest) -> Instant {
        let taken: Span = self.requests_of_others(station).map(|other| other.duration).sum();
        let behind = Span::from_nanos(taken.as_nanos() % request.interval.as_nanos());
        self.config.first_beacon + self.config.beacon_interval / 2 + behind
    }
}

/// The first time not before `soonest` that is `start` or a number of intervals later.
fn first_at_or_after(soonest: Instant, start: Instant, interval: Span) -> Instant {
    let passed = soonest.saturating_since(start);
    start + interval * passed.as_nanos().div_ceil(interval.as_nanos())
}

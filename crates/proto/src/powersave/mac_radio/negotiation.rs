//! Negotiation of a target wake time agreement at the station.
//!
//! The station is in active mode from its request to the answer: the request has PM = 0, since the access point would buffer the answer for a
//! station that sleeps. An agreement that holds is torn down first. A request without an answer is repeated, and so is one for what the
//! access point names instead. Parameters that are accepted hold until the station asks for others, or until the access
//! point has left [`UNSERVED`] periods in a row without a frame: it has then forgotten the agreement, because the acknowledgement of its
//! answer was lost, and the station asks again.

use airwatt_base::{Instant, Span};

use super::{ANNOUNCE_AGAIN, MacRadio};
use crate::powersave::PowerSaveFrame;
use crate::powersave::interface::StationTimer;
use crate::powersave::wake_agreement::{WakeAgreement, WakeAnswer, WakeFrame, WakeProposal};

/// How long the station waits for the answer to a request. ESP-IDF waits for 5 s, awake; a beacon interval is longer than an access point
/// that answers at once takes.
const ANSWER: Span = Span::from_millis(100);
/// Requests that the station sends before it gives up.
const ATTEMPTS: u32 = 4;
/// Periods in a row that the access point may leave unserved before the station asks again.
const UNSERVED: u32 = 3;

/// Where the negotiation of a station stands.
#[derive(Clone, Debug, Default)]
pub(super) struct Negotiation {
    /// What is asked for, or was agreed on.
    proposal: Option<WakeProposal>,
    /// An answer is awaited, or a request is about to be sent.
    open: bool,
    /// Requests sent since the policy asked.
    attempts: u32,
    /// The dialog token of the last request.
    token: u8,
    /// Periods in a row that the access point has not served.
    unserved: u32,
}

impl Negotiation {
    /// Whether an answer is awaited, or a request is about to be sent.
    pub(super) const fn is_open(&self) -> bool {
        self.open
    }
}

impl MacRadio {
    /// Asks for an agreement; at the start, as soon as frames may be sent.
    pub(super) fn propose(&mut self, proposal: WakeProposal) {
        let negotiation = &mut self.negotiation;
        (negotiation.proposal, negotiation.open, negotiation.attempts) = (Some(proposal), true, 0);
        if self.starting {
            self.timers.set(StationTimer::WakeRequest, self.config.start);
        } else {
            self.ask();
        }
    }

    /// Sends a request. The frames of the station say from now on that it is awake.
    fn ask(&mut self) {
        let Some(proposal) = self.negotiation.proposal else { return };
        let negotiation = &mut self.negotiation;
        negotiation.attempts += 1;
        negotiation.token = negotiation.token.wrapping_add(1);
        let token = negotiation.token;
        self.stop_power_save();
        if let Some(wakes) = self.wakes.take() {
            let teardown = WakeFrame::Teardown { broadcast: wakes.is_broadcast() };
            self.request(PowerSaveFrame::Wake(teardown), StationTimer::WakeRequest);
        }
        let request = WakeFrame::Request { token, proposal };
        self.request(PowerSaveFrame::Wake(request), StationTimer::WakeRequest);
    }

    /// Handles the end of an own request.
    pub(super) fn request_sent(&mut self, token: u8, delivered: bool, now: Instant) {
        if self.negotiation.open && token == self.negotiation.token {
            let wait = if delivered { ANSWER } else { ANNOUNCE_AGAIN };
            self.timers.set(StationTimer::WakeRequest, now + wait);
        }
    }

    /// Handles [`StationTimer::WakeRequest`]. Returns whether the station gives up.
    pub(in crate::powersave) fn wake_request_is_due(&mut self) -> bool {
        if self.negotiation.attempts < ATTEMPTS {
            self.ask();
            return false;
        }
        self.negotiation.open = false;
        true
    }

    /// Handles an action frame of the access point. Returns the outcome if the negotiation is over: the agreement, or `None` if it was
    /// refused.
    pub(in crate::powersave) fn answered(
        &mut self,
        frame: WakeFrame,
        now: Instant,
    ) -> Option<Option<WakeAgreement>> {
        let WakeFrame::Answer { token, information, answer } = frame else { return None };
        self.synchronized_at = now;
        if !self.negotiation.open || token != self.negotiation.token {
            // The access point takes an agreement for made that the station no longer waits for.
            if let (WakeAnswer::Accept(agreement), None) = (answer, &self.wakes) {
                let teardown = WakeFrame::Teardown { broadcast: agreement.request.broadcast };
                self.request(PowerSaveFrame::Wake(teardown), StationTimer::WakeRequest);
            }
            return None;
        }
        self.timers.stop(StationTimer::WakeRequest);
        match answer {
            WakeAnswer::Accept(agreement) => {
                self.negotiation.open = false;
                self.negotiation.unserved = 0;
                self.keep(agreement, information);
                Some(Some(agreement))
            }
            WakeAnswer::Alternate(request) | WakeAnswer::Dictate(request)
                if self.negotiation.attempts < ATTEMPTS =>
            {
                let start = self.negotiation.proposal.and_then(|proposal| proposal.start);
                self.negotiation.proposal = Some(WakeProposal { request, start });
                self.ask();
                None
            }
            WakeAnswer::Alternate(_) | WakeAnswer::Dictate(_) | WakeAnswer::Reject(_) => {
                self.negotiation.open = false;
                Some(None)
            }
        }
    }

    /// Notes that the access point has served a period.
    pub(super) const fn note_served(&mut self) {
        self.negotiation.unserved = 0;
    }

    /// Notes that the access point has not served a period, although the station announced itself, or frames wait for it.
    pub(super) fn note_unserved(&mut self) {
        self.negotiation.unserved += 1;
        if self.negotiation.unserved >= UNSERVED {
            self.negotiation.unserved = 0;
            if let Some(proposal) = self.negotiation.proposal {
                self.propose(proposal);
            }
        }
    }
}

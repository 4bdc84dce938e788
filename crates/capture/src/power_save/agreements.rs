//! Agreements on when a station is awake: target wake time and WNM sleep mode.
//!
//! A station with one does not wake up for each beacon, and its access point may hold frames until it does, or send them without a
//! request (802.11ax-2021 26.8.2, 802.11-2020 11.2.3.16). So rules of the legacy power save that depend on this accuse nobody while one
//! holds. Nor do those about sleep and beacons where both sides support target wake time and nothing shows that none was set up.

use airwatt_base::Instant;
use airwatt_dot11::{TwtSetup, WnmSleep};

use super::Mark;
use crate::packet::SleepChange;

/// What a station and its access point have agreed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SleepAgreement {
    /// An individual target wake time, with these parameters.
    TargetWakeTime(TwtSetup),
    /// WNM sleep mode.
    WnmSleep,
}

/// The time for which an agreement held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeldAgreement {
    /// What was agreed on.
    pub agreement: SleepAgreement,
    /// The time and the packet of the access point's answer, which made it.
    pub from: (Instant, u32),
    /// The time at which a frame ended it, or the association; `None` if it held up to the end of the capture.
    pub until: Option<Instant>,
    /// Information frames that suspended it. Rules about sleep take a suspended agreement for one that holds: the frame that resumes it
    /// may have been missed.
    pub suspensions: u32,
}

/// Why a rule accuses nobody while a target wake time holds.
pub(super) const TARGET_WAKE_TIME: &str = "the station has a target wake time, which the rule does not know";

/// The agreements of one station with its access point.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Agreements {
    /// All of them, in order of their beginnings.
    pub(super) held: Vec<HeldAgreement>,
    /// Whether an agreement may have been set up that was not captured.
    pub(super) may_have_twt: bool,
}

impl Agreements {
    /// A captured frame changes them; `setups` are those that the capture has.
    pub(super) fn change(&mut self, change: SleepChange, mark: Mark, setups: &[TwtSetup]) {
        match change {
            SleepChange::TwtAccepted(index) => {
                let Some(setup) = setups.get(index as usize) else { return };
                // A flow identifier has one agreement: another one with it replaces the first.
                self.end(mark.0, |held| flow_of(held) == Some(setup.flow));
                self.begin(SleepAgreement::TargetWakeTime(*setup), mark);
            }
            SleepChange::TwtEnded(Some(flow)) => self.end(mark.0, |held| flow_of(held) == Some(flow & 7)),
            SleepChange::TwtSuspended(flow) => {
                for held in self.held.iter_mut().filter(|held| held.until.is_none()) {
                    let own = flow_of(&held.agreement);
                    held.suspensions += u32::from(own.is_some() && (flow.is_none() || own == flow));
                }
            }
            SleepChange::TwtEnded(None) => self.end(mark.0, |held| flow_of(held).is_some()),
            SleepChange::Wnm(sleep) => {
                self.end(mark.0, |held| *held == SleepAgreement::WnmSleep);
                if sleep == WnmSleep::Entered {
                    self.begin(SleepAgreement::WnmSleep, mark);
                }
            }
            SleepChange::Unreadable => {}
        }
    }

    /// Ends all of them, as the end of an association does.
    pub(super) fn end_all(&mut self, at: Instant) {
        self.end(at, |_| true);
        self.may_have_twt = false;
    }

    fn begin(&mut self, agreement: SleepAgreement, from: Mark) {
        self.held.push(HeldAgreement { agreement, from, until: None, suspensions: 0 });
    }

    fn end(&mut self, at: Instant, which: impl Fn(&SleepAgreement) -> bool) {
        for held in self.held.iter_mut().filter(|held| held.until.is_none() && which(&held.agreement)) {
            held.until = Some(at);
        }
    }

    fn holds(&self, which: impl Fn(&SleepAgreement) -> bool) -> bool {
        self.held.iter().any(|held| held.until.is_none() && which(&held.agreement))
    }

    /// Why a rule about the station's sleep accuses nobody while they hold; `of_beacons` says that it is about sleep from beacon to beacon.
    pub(super) fn excuse(&self, of_beacons: bool) -> Option<&'static str> {
        if self.holds(|agreement| flow_of(agreement).is_some()) {
            Some(TARGET_WAKE_TIME)
        } else if self.holds(|agreement| *agreement == SleepAgreement::WnmSleep) {
            Some("the station is in WNM sleep mode, which the rule does not know")
        } else if of_beacons && self.may_have_twt {
            Some("both sides support target wake time, and its set-up may have been missed or was encrypted")
        } else {
            None
        }
    }
}

/// The flow identifier of a target wake time.
const fn flow_of(agreement: &SleepAgreement) -> Option<u8> {
    match agreement {
        SleepAgreement::TargetWakeTime(setup) => Some(setup.flow),
        SleepAgreement::WnmSleep => None,
    }
}

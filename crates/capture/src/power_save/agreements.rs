//! Agreements on when a station is awake: target wake time and WNM sleep mode.
//!
//! A station with one does not wake up for each beacon, and its access point may hold frames until it does, or send them without a
//! request (802.11ax-2021 26.8.2, 802.11-2020 11.2.3.16). So rules of the legacy power save that depend on this accuse nobody while one
//! holds. Nor do those about sleep and beacons where both sides support target wake time and nothing shows that none was set up.

use airwatt_dot11::WnmSleep;

use crate::packet::SleepChange;

/// The agreements of one station with its access point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Agreements {
    /// Flow identifiers of individual target wake time, one bit each.
    flows: u8,
    /// Whether it is in WNM sleep mode.
    in_wnm_sleep: bool,
    /// Whether an agreement may have been set up that was not captured.
    pub(super) may_have_twt: bool,
}

impl Agreements {
    /// A captured frame changes them.
    pub(super) fn change(&mut self, change: SleepChange) {
        match change {
            SleepChange::TwtAccepted(flow) => self.flows |= 1 << (flow & 7),
            SleepChange::TwtEnded(Some(flow)) => self.flows &= !(1 << (flow & 7)),
            SleepChange::TwtEnded(None) => self.flows = 0,
            SleepChange::Wnm(sleep) => self.in_wnm_sleep = sleep == WnmSleep::Entered,
            SleepChange::Unreadable => {}
        }
    }

    /// Why a rule about the station's sleep accuses nobody while they hold; `of_beacons` says that it is about sleep from beacon to beacon.
    pub(super) fn excuse(&self, of_beacons: bool) -> Option<&'static str> {
        if self.flows != 0 {
            Some("the station has a target wake time, which the rule does not know")
        } else if self.in_wnm_sleep {
            Some("the station is in WNM sleep mode, which the rule does not know")
        } else if of_beacons && self.may_have_twt {
            Some("both sides support target wake time, and its set-up may have been missed or was encrypted")
        } else {
            None
        }
    }
}

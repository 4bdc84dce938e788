//! Service periods (U-APSD, 802.11-2020 11.2.3.5): a trigger opens one, and a frame with EOSP ends it.

use airwatt_base::{Instant, Span};
use airwatt_dot11::MacAddress;

use crate::power_save::finding::{Excess, FindingKind, Findings, Verdict, find};
use crate::power_save::{Mark, NEVER};

/// A trigger that follows the last frame of an open service period within this time belongs to it: uplink frames of a burst
/// are triggers each, and the access point has not had its turn (802.11-2020 11.2.3.5.2).
const SAME_PERIOD: Span = Span::from_millis(20);
/// Service periods with frames of which none has EOSP: from here on no monitor missed them all.
const UNENDED: u32 = 5;

/// The service periods of a station.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::power_save) struct ServicePeriods {
    /// The one that is open.
    open: Option<Period>,
    /// Those with frames and without EOSP.
    unended: u32,
    /// Whether one had EOSP.
    has_ended: bool,
}

#[derive(Clone, Copy, Debug)]
struct Period {
    trigger: Mark,
    /// Whether the access point sent anything in it.
    is_answered: bool,
    /// Its last frame so far, in either direction.
    last: Mark,
}

impl ServicePeriods {
    /// Whether one is open.
    pub(super) const fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// The trigger of the open one, if the access point has sent nothing in it so far.
    pub(super) fn unanswered(&self) -> Option<Mark> {
        self.open.filter(|period| !period.is_answered).map(|period| period.trigger)
    }

    /// A trigger opens one, unless one is open in which frames are still being exchanged. Returns whether it did.
    pub(super) fn trigger(&mut self, station: MacAddress, mark: Mark, findings: &mut Findings) -> bool {
        if let Some(period) = &mut self.open
            && mark.0.saturating_since(period.last.0) <= SAME_PERIOD
        {
            period.last = mark;
            return false;
        }
        self.leave(station, mark.0, findings);
        self.open = Some(Period { trigger: mark, is_answered: false, last: mark });
        true
    }

    /// A frame to the station, and whether it has EOSP.
    pub(super) fn delivered(&mut self, station: MacAddress, mark: Mark, eosp: bool, findings: &mut Findings) {
        self.has_ended |= eosp;
        let Some(period) = &mut self.open else { return };
        (period.is_answered, period.last) = (true, mark);
        if eosp {
            let (key, trigger) = ((FindingKind::EospMissing, Verdict::Kept, station), period.trigger);
            find(findings, key, trigger, &[trigger.1, mark.1], || "EOSP ended it".to_owned());
            self.open = None;
        }
    }

    /// The station is in active mode, which has no service periods.
    pub(super) const fn close(&mut self) {
        self.open = None;
    }

    /// Ends the open one if it has lasted too long.
    pub(super) fn expire(&mut self, station: MacAddress, now: Instant, findings: &mut Findings) {
        if self.open.is_some_and(|period| now.saturating_since(period.trigger.0) > NEVER) {
            self.leave(station, now, findings);
        }
    }

    /// Ends the open one without EOSP. A monitor may have missed the frame that had it; if no frame of several periods has
    /// it, [`ServicePeriods::judge`] says so.
    fn leave(&mut self, station: MacAddress, until: Instant, findings: &mut Findings) {
        let Some(period) = self.open.take() else { return };
        self.unended += u32::from(period.is_answered);
        let what = match period.last {
            (_, last) if period.is_answered => {
                format!("frames were sent, the last exchange with packet {last}")
            }
            _ => "nothing was sent".to_owned(),
        };
        let deciding = [period.trigger.1, period.last.1];
        let key = (FindingKind::EospMissing, Verdict::Undecidable, station);
        find(findings, key, period.trigger, &deciding, || {
            format!("the station's trigger opened a service period, {what}, and no EOSP ended it")
        });
        let awake = until.min(period.trigger.0 + NEVER).saturating_since(period.last.0);
        if let Some(finding) = findings.get_mut(FindingKind::EospMissing, station) {
            finding.may_cost(Excess::awake(awake));
        }
    }

    /// An access point of which no service period has EOSP, out of several with frames, does not send it.
    pub(in crate::power_save) fn judge(&self, station: MacAddress, findings: &mut Findings) {
        let is_excused = findings.excuse(FindingKind::EospMissing, station).is_some();
        if self.has_ended || self.unended < UNENDED || is_excused {
            return;
        }
        if let Some(finding) = findings.get_mut(FindingKind::EospMissing, station) {
            finding.convict();
        }
    }
}

//! The service periods of a target wake time agreement at the station: when its radio wakes up for them, and how long it stays.
//!
//! A station with an agreement learns the access point's time from the frames of its periods, and wakes up earlier the longer ago that
//! was. It receives a beacon after a period without a frame, or as many after each as its [habits](WakeHabits) say.
//!
//! While traffic keeps the station in active mode the agreement may be suspended by an information frame; another one resumes it.

use airwatt_base::Instant;

use super::{ANNOUNCE_AGAIN, MacRadio, Power, Service};
use crate::powersave::PowerSaveFrame;
use crate::powersave::interface::{StationOutput, StationTimer};
use crate::powersave::radio::PowerSaveRadio;
use crate::powersave::wake_agreement::{WakeAgreement, WakeFrame};
use crate::powersave::wake_habits::OutsidePeriods;

/// The service periods of a station.
#[derive(Clone, Debug)]
pub(super) struct WakePeriods {
    agreement: WakeAgreement,
    /// Start of the next period.
    next: Instant,
    /// The radio has been woken for the next period.
    awaited: bool,
    /// Start of the period in progress.
    open: Option<Instant>,
    /// The radio stays awake for the rest of the period in progress.
    stays: bool,
    /// Whether the access point takes information frames.
    takes_information: bool,
    /// The agreement is suspended, or about to be.
    suspended: bool,
}

impl WakePeriods {
    pub(super) const fn new(agreement: WakeAgreement, takes_information: bool) -> Self {
        Self {
            agreement,
            next: agreement.first,
            awaited: false,
            open: None,
            stays: false,
            takes_information,
            suspended: false,
        }
    }

    /// Whether they are those of the access point's schedule.
    pub(super) const fn is_broadcast(&self) -> bool {
        self.agreement.request.broadcast
    }
}

impl MacRadio {
    /// Whether a service period keeps the radio awake.
    pub(super) fn stays_for_wake_period(&self) -> bool {
        self.wakes.as_ref().is_some_and(|wakes| wakes.awaited || wakes.stays)
    }

    /// Leaves power save, in which the agreement is suspended if the access point takes information frames. The information frame has
    /// PM = 0, so that no other frame announces the mode.
    pub(super) fn suspend_wake_periods(&mut self, why: StationTimer) {
        if !self.pm {
            return;
        }
        match &mut self.wakes {
            Some(wakes) if wakes.takes_information => {
                wakes.suspended = true;
                self.stop_power_save();
                self.request(PowerSaveFrame::Wake(WakeFrame::Information { next: None }), why);
            }
            _ => self.leave_power_save(why),
        }
    }

    /// Enters power save with the agreement that holds. If it is suspended, an information frame with PM = 1 names the next service period
    /// and announces the mode.
    pub(super) fn resume_wake_periods(&mut self, now: Instant) {
        // The answer of the access point would find the station asleep.
        if self.pm || self.negotiation.is_open() {
            return;
        }
        if !self.wakes.as_ref().is_some_and(|wakes| wakes.suspended) {
            return self.enter_power_save();
        }
        self.pm = true;
        let frame = self.announcement(now);
        self.request(frame, StationTimer::Announce);
    }

    /// Handles the end of an information frame. One that was lost is repeated while it says what holds.
    pub(super) fn information_sent(&mut self, next: Option<Instant>, delivered: bool, now: Instant) {
        let Some(wakes) = self.wakes.as_mut().filter(|_| next.is_some() == self.pm) else { return };
        if !delivered {
            return self.timers.set(StationTimer::Announce, now + ANNOUNCE_AGAIN);
        }
        if let Some(next) = next {
            wakes.suspended = false;
            wakes.agreement = wakes.agreement.going_on_at(next, now);
            self.announced = true;
            self.schedule_wake_period(now);
        }
    }

    /// The frame that announces the mode: of a suspended agreement the information frame.
    pub(super) fn announcement(&self, now: Instant) -> PowerSaveFrame {
        match self.wakes.as_ref().filter(|wakes| wakes.suspended) {
            Some(wakes) => {
                let next = self.pm.then(|| wakes.agreement.start_after(now));
                PowerSaveFrame::Wake(WakeFrame::Information { next })
            }
            None => PowerSaveFrame::PmNull { pm: self.pm },
        }
    }

    /// Whether the station sends a frame in each period of its agreement.
    pub(super) fn is_heard(&self) -> bool {
        self.wakes.as_ref().is_some_and(|wakes| wakes.agreement.request.hears_station())
    }

    /// Whether a frame that the station sends now asks for the frames of a service period in progress.
    pub(super) fn announces_itself(&self) -> bool {
        self.wakes
            .as_ref()
            .is_some_and(|wakes| wakes.open.is_some() && wakes.agreement.request.hears_station())
    }

    /// Whether frames are sent only in answer to Trigger frames: in power save with a trigger-enabled agreement.
    pub(in crate::powersave) fn awaits_trigger(&self) -> bool {
        self.announced && self.wakes.as_ref().is_some_and(|wakes| wakes.agreement.request.trigger_enabled)
    }

    /// Whether the user's frames wait: for a Trigger frame, or for a service period if that is the device's habit.
    pub(in crate::powersave) fn holds_frames(&self) -> bool {
        let waits = |wakes: &WakePeriods| {
            let outside = wakes.open.is_none() && self.habits.outside != OutsidePeriods::Sent;
            wakes.agreement.request.trigger_enabled || outside
        };
        self.announced && self.wakes.as_ref().is_some_and(waits)
    }

    /// Sets [`StationTimer::TargetWake`] for the first period that begins later than `now`.
    pub(super) fn schedule_wake_period(&mut self, now: Instant) {
        let Some(wakes) = &mut self.wakes else { return };
        wakes.next = wakes.agreement.start_after(now);
        self.time_wake_period(now);
    }

    /// Sets [`StationTimer::TargetWake`] for the next period, by what the station knows now of the access point's time. Where the period is
    /// nearer than the radio needs to wake up, that is at once.
    pub(super) fn time_wake_period(&mut self, now: Instant) {
        let Some(wakes) = self.wakes.as_ref().filter(|wakes| !wakes.awaited) else { return };
        let awake = self.config.wake_time.saturating_add(self.habits.overhead);
        let ahead = self.guard_before(wakes.next).saturating_add(awake);
        let at = self.when_shown(wakes.next).saturating_sub(ahead);
        self.timers.set(StationTimer::TargetWake, at.max(now));
    }

    /// When the next period begins for the station. A station whose clock may be fast announces itself a guard time after that, since a frame before the
    /// period would ask for nothing. One whose clock may be slow is ready for the access point's first frame a guard time before.
    fn wake_period_begins(&self, wakes: &WakePeriods) -> Instant {
        let request = wakes.agreement.request;
        let shown = self.when_shown(wakes.next);
        if self.config.clock_error_ppb.is_none() {
            return shown;
        }
        let guard = self.guard_before(wakes.next);
        let speaks_first = request.announced && !request.trigger_enabled;
        if speaks_first { shown.saturating_add(guard) } else { shown.saturating_sub(guard) }
    }

    /// Handles [`StationTimer::TargetWake`]: the radio wakes up for the next period, or the period begins.
    pub(in crate::powersave) fn wake_period_is_due(&mut self, now: Instant) {
        let Some(begins) = self.wakes.as_ref().map(|wakes| self.wake_period_begins(wakes)) else { return };
        let Some(wakes) = &mut self.wakes else { return };
        if self.power == Power::Away {
            // A radio that scans misses the period.
            wakes.awaited = false;
            wakes.next = wakes.agreement.start_after(now.max(wakes.next));
            return self.time_wake_period(now);
        }
        let start = wakes.next;
        if now < begins {
            wakes.awaited = true;
            self.wake(StationTimer::TargetWake);
            return self.timers.set(StationTimer::TargetWake, begins);
        }
        let request = wakes.agreement.request;
        let end = self.when_shown(start + request.duration).max(now);
        let Some(wakes) = &mut self.wakes else { return };
        wakes.next = start + request.interval;
        (wakes.awaited, wakes.open, wakes.stays) = (false, Some(start), true);
        self.wake(StationTimer::TargetWake);
        self.timers.set(StationTimer::TargetWakeEnd, end);
        self.time_wake_period(now);
        if request.hears_station() {
            self.trigger(StationTimer::TargetWake);
        }
        if !request.announced && self.service == Service::None {
            self.counts.periods += 1;
            self.service = Service::Period;
        }
    }

    /// Handles [`StationTimer::TargetWakeEnd`].
    pub(in crate::powersave) fn wake_period_is_over(&mut self, now: Instant) {
        let Some(wakes) = &mut self.wakes else { return };
        wakes.stays = false;
        let is_heard = wakes.agreement.request.hears_station();
        let silent = wakes.open.take().is_some_and(|start| self.synchronized_at < start);
        if !silent {
            self.note_served();
        }
        self.beacons_left = self.habits.beacons_after.max(u32::from(silent));
        if self.beacons_left > 0 && self.power != Power::Away {
            self.schedule_beacon(now, 1);
        }
        if self.habits.outside == OutsidePeriods::Discarded && self.backlog > 0 {
            self.outputs.push_back(StationOutput::Discard);
        }
        if self.service == Service::Period {
            self.service = Service::None;
            self.timers.stop(StationTimer::ServicePeriod);
        }
        // No answer to an announcement, or no Trigger frame: the access point has lost the agreement.
        if silent && is_heard && self.power != Power::Away {
            self.note_unserved();
        }
    }

    /// Lets the radio sleep before the end of the period in progress.
    pub(super) fn leave_wake_period(&mut self) {
        if let Some(wakes) = &mut self.wakes {
            wakes.stays = false;
        }
    }

    /// Forgets all periods: the station leaves power save.
    pub(super) fn forget_wake_periods(&mut self) {
        if let Some(wakes) = &mut self.wakes {
            (wakes.awaited, wakes.open, wakes.stays) = (false, None, false);
        }
        self.timers.stop(StationTimer::TargetWake);
        self.timers.stop(StationTimer::TargetWakeEnd);
    }

    /// Notes that the access point's time is known: a frame of a period has come.
    pub(super) fn synchronize_by_frame(&mut self, now: Instant) {
        if self.wakes.is_some() {
            self.synchronized_at = now;
        }
    }
}

//! Agreements on when a station is awake: target wake time and WNM sleep mode.
//!
//! A station with one does not wake up for each beacon, and its access point may hold frames until it does, or send them without a
//! request (802.11ax-2021 26.8.2, 802.11-2020 11.2.3.16). So rules of the legacy power save that depend on this accuse nobody while one
//! holds. Nor do those about sleep and beacons where both sides support target wake time and nothing shows that none was set up.
//!
//! A set-up whose answer the capture lacks is known by what the capture has: the station's request, or an information frame about an agreement
//! that no captured frame made. Such a station is accused of nothing that depends on its sleep, unless the access point's sequence numbers show that
//! it has not answered.
//!
//! When the service periods of individual target wake times are is known by the access point's clock, which beacons have ([`Place`]).
//! Left out: the later periods of explicit agreements, each of which a frame of the one before names.

use airwatt_base::{Instant, Span};
use airwatt_dot11::{TwtSetup, WnmSleep};

use super::{CLOCK_MARGIN, Mark, PROMPT};
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
    /// The start of one of its service periods by the access point's clock in microseconds; `None` if it is not known.
    pub(super) period_us: Option<u64>,
    /// Whether the last information frame suspended it.
    pub(super) is_suspended: bool,
}

/// A time with regard to the service periods of a station.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// It is in the one that begins then, by the access point's clock in microseconds.
    Inside(u64),
    /// It is so near to one that the clock does not decide, or follows the set-up.
    Near,
    /// It is in none.
    Outside,
    /// It is not known, for this reason.
    Unknown(&'static str),
}

/// Why a rule accuses nobody while a target wake time holds.
pub(super) const TARGET_WAKE_TIME: &str = "the station has a target wake time, which the rule does not know";

/// Service periods of one agreement that are named at each end of a time.
const MOST_SHOWN: u64 = 4;

/// A captured frame that belongs to a set-up which the capture lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sign {
    /// A request without an answer.
    Request,
    /// An information frame about an agreement that was not captured.
    Information,
}

/// The agreements of one station with its access point.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Agreements {
    /// All of them, in order of their beginnings.
    pub(super) held: Vec<HeldAgreement>,
    /// Whether an agreement may have been set up that was not captured.
    pub(super) may_have_twt: bool,
    /// The first sign of a target wake time whose set-up was not captured whole, since the last that was.
    sign: Option<(Sign, Instant)>,
    /// Whether numbers show that the access point has sent no answer since a request that is the sign.
    is_unanswered: bool,
    /// Whether the clock of the capture has jumped since the first of those that hold.
    has_jumped: bool,
}

impl Agreements {
    /// A captured frame changes them, at a time by the access point's clock, if that is known; `setups` are those that the capture has.
    pub(super) fn change(
        &mut self,
        change: SleepChange,
        (mark, clock_us): (Mark, Option<u64>),
        setups: &[TwtSetup],
    ) {
        match change {
            SleepChange::TwtAccepted(index) => {
                let Some(setup) = setups.get(index as usize) else { return };
                // A flow identifier has one agreement: another one with it replaces the first.
                self.end(mark.0, |held| flow_of(held) == Some(setup.flow));
                self.answered();
                self.has_jumped &= self.holds(|agreement| flow_of(agreement).is_some());
                self.begin(SleepAgreement::TargetWakeTime(*setup), mark);
            }
            SleepChange::TwtRequested => {
                // Later requests without an answer do not show that the first one had none.
                if self.sign.is_none() {
                    (self.sign, self.is_unanswered) = (Some((Sign::Request, mark.0)), false);
                }
            }
            SleepChange::TwtRefused => self.answered(),
            SleepChange::TwtEnded(Some(flow)) => {
                // It ends an agreement that was captured, or else one that was not.
                if self.of_flow(Some(flow & 7)).next().is_none() {
                    self.sign = None;
                }
                self.end(mark.0, |held| flow_of(held) == Some(flow & 7));
            }
            SleepChange::TwtSuspended(flow) => {
                self.informed(flow, mark.0);
                for held in self.of_flow(flow) {
                    held.suspensions += 1;
                    held.is_suspended = true;
                }
            }
            SleepChange::TwtResumed(flow, low_us) => {
                self.informed(flow, mark.0);
                // The time at or after the frame that has these low bits.
                let next_us =
                    clock_us.and_then(|now| now.checked_add(u64::from(low_us.wrapping_sub(now as u32))));
                for held in self.of_flow(flow) {
                    (held.is_suspended, held.period_us) = (false, next_us);
                }
            }
            SleepChange::TwtEnded(None) => {
                self.sign = None;
                self.end(mark.0, |held| flow_of(held).is_some());
            }
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
        self.sign = None;
    }

    /// The access point has answered what the station asked for.
    fn answered(&mut self) {
        self.sign.take_if(|(sign, _)| *sign == Sign::Request);
    }

    /// An information frame is about an agreement, which one or all.
    fn informed(&mut self, flow: Option<u8>, at: Instant) {
        if self.of_flow(flow).next().is_none() {
            self.sign = Some((Sign::Information, at));
        }
    }

    /// Reads whether all frames of the access point since a time were captured, and none was encrypted that may be an answer.
    pub(super) fn review(&mut self, has_all_since: impl Fn(Instant) -> bool) {
        self.is_unanswered = self.sign.is_some_and(|(_, at)| has_all_since(at));
    }

    fn begin(&mut self, agreement: SleepAgreement, from: Mark) {
        let period_us = match agreement {
            SleepAgreement::TargetWakeTime(setup) => setup.target_us,
            SleepAgreement::WnmSleep => None,
        };
        let held =
            HeldAgreement { agreement, from, until: None, suspensions: 0, period_us, is_suspended: false };
        self.held.push(held);
    }

    /// The target wake times of a flow identifier, or all, that hold.
    fn of_flow(&mut self, flow: Option<u8>) -> impl Iterator<Item = &mut HeldAgreement> {
        self.held.iter_mut().filter(move |held| {
            let own = flow_of(&held.agreement);
            held.until.is_none() && own.is_some() && (flow.is_none() || own == flow)
        })
    }

    /// The target wake times that hold and are not suspended.
    fn wake_times(&self) -> impl Iterator<Item = (&HeldAgreement, &TwtSetup)> {
        let active = self.held.iter().filter(|held| held.until.is_none() && !held.is_suspended);
        active.filter_map(|held| match &held.agreement {
            SleepAgreement::TargetWakeTime(setup) => Some((held, setup)),
            SleepAgreement::WnmSleep => None,
        })
    }

    /// The packet that made the last of the target wake times that hold; `None` if none does.
    pub(super) fn wake_times_since(&self) -> Option<Mark> {
        self.wake_times().map(|(held, _)| held.from).max()
    }

    /// Whether the station shows in each service period that it is awake, before it is sent anything.
    pub(super) fn are_announced(&self) -> bool {
        self.wake_times().all(|(_, setup)| !setup.unannounced)
    }

    /// Where a time is with regard to the service periods, which the access point's clock shows at that time; `None` if no target wake time
    /// holds, or all are suspended.
    pub(super) fn place(&self, at: Instant, clock_us: Option<u64>) -> Option<Place> {
        let since = self.wake_times_since()?;
        let places = self.wake_times().map(|(held, setup)| match (self.doubt(held, setup), clock_us) {
            (Some(why), _) => Place::Unknown(why),
            (None, None) => {
                Place::Unknown("no beacon right before shows the time by the access point's clock")
            }
            (None, Some(clock_us)) => Self::place_in(held, setup, clock_us),
        });
        // The one that says most: inside, near, unknown, outside.
        let rank = |place: &Place| match place {
            Place::Inside(_) => 0,
            Place::Near => 1,
            Place::Unknown(_) => 2,
            Place::Outside => 3,
        };
        let place = places.min_by_key(rank)?;
        let is_set_up = at.saturating_since(since.0) <= PROMPT;
        Some(if is_set_up && place == Place::Outside { Place::Near } else { place })
    }

    /// Why its service periods are not known.
    fn doubt(&self, held: &HeldAgreement, setup: &TwtSetup) -> Option<&'static str> {
        if self.has_jumped {
            Some("the clock of the capture jumped after the set-up")
        } else if !setup.implicit {
            Some("the agreement is explicit, so that each period names the next one, which is not read")
        } else if held.period_us.is_none() || setup.interval.mantissa == 0 {
            Some("no frame says when a service period begins")
        } else {
            None
        }
    }

    fn place_in(held: &HeldAgreement, setup: &TwtSetup, clock_us: u64) -> Place {
        let start_us = held.period_us.unwrap_or_default();
        let [interval, duration, margin] =
            [setup.interval.span(), setup.duration.span(), CLOCK_MARGIN].map(micros);
        // Before the first one the next start is that one.
        let (after, until_next) = match clock_us.checked_sub(start_us) {
            Some(gone) => (gone % interval, interval - gone % interval),
            None => (u64::MAX, start_us - clock_us),
        };
        if after <= duration {
            Place::Inside(clock_us - after)
        } else if until_next <= margin || after <= duration.saturating_add(margin) {
            Place::Near
        } else {
            Place::Outside
        }
    }

    /// The service periods that lie between two times by the access point's clock, with a margin: the beginning and the end of the first one by
    /// that clock in microseconds, and their number. `None` if there is none, or it is not known.
    pub(super) fn periods_between(&self, from_us: u64, until_us: u64) -> Option<((u64, u64), u64)> {
        let mut all = self.wake_times();
        let ((held, setup), None) = (all.next()?, all.next()) else { return None };
        if self.doubt(held, setup).is_some() {
            return None;
        }
        let [interval, duration, margin] =
            [setup.interval.span(), setup.duration.span(), CLOCK_MARGIN].map(micros);
        let (start_us, from_us) = (held.period_us?, from_us.checked_add(margin)?);
        let passed = from_us.saturating_sub(start_us).div_ceil(interval);
        let first_us = start_us.checked_add(interval.checked_mul(passed)?)?;
        let end_us = first_us.checked_add(duration)?;
        let room = until_us.checked_sub(end_us.checked_add(margin)?)?;
        Some(((first_us, end_us), 1 + room / interval))
    }

    /// The beginnings and ends of the service periods from the last one before a time to the first one after another, by the access point's
    /// clock in microseconds; of many the first and the last ones.
    pub(super) fn periods_around(&self, from_us: u64, until_us: u64) -> Vec<(u64, u64)> {
        let mut periods = Vec::new();
        for (held, setup) in self.wake_times().filter(|(held, setup)| self.doubt(held, setup).is_none()) {
            let [interval, duration] = [setup.interval.span(), setup.duration.span()].map(micros);
            let first_us = held.period_us.unwrap_or_default();
            let before = first_us + from_us.saturating_sub(first_us) / interval * interval;
            let count = until_us.saturating_sub(before) / interval + 2;
            let shown = (0..count).filter(|place| *place < MOST_SHOWN || *place + MOST_SHOWN >= count);
            let starts = shown.filter_map(|place| before.checked_add(interval.checked_mul(place)?));
            periods.extend(starts.map(|start| (start, start.saturating_add(duration))));
        }
        periods.sort_unstable();
        periods
    }

    /// The times of the next segment of the capture are not comparable with those so far.
    pub(super) fn end_segment(&mut self) {
        self.has_jumped = true;
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
        } else if let Some((sign, _)) = self.sign
            && !(sign == Sign::Request && self.is_unanswered)
        {
            Some(match sign {
                Sign::Request => {
                    "the station asked for a target wake time, and the answer may have been missed"
                }
                Sign::Information => {
                    "an information frame is about a target wake time whose set-up was not captured"
                }
            })
        } else if of_beacons && self.may_have_twt {
            Some("both sides support target wake time, and its set-up may have been missed or was encrypted")
        } else {
            None
        }
    }
}

fn micros(span: Span) -> u64 {
    span.as_nanos() / 1_000
}

/// The flow identifier of a target wake time.
const fn flow_of(agreement: &SleepAgreement) -> Option<u8> {
    match agreement {
        SleepAgreement::TargetWakeTime(setup) => Some(setup.flow),
        SleepAgreement::WnmSleep => None,
    }
}

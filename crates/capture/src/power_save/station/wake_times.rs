//! The service periods of a station's individual target wake times (802.11ax-2021 26.8.2): who sends outside them, and who is absent.
//!
//! A period has the agreed duration at least. The station and its access point may go on after that, so that frames which follow an exchange
//! of the period at once are part of it; and EOSP may end it early. Between periods the access point holds what it has for a station in
//! power save, unless that requests it. The station should send nothing then, and in a period that is announced it shows that it is awake.

use airwatt_base::{Instant, Span};

use super::{Delivery, StationState};
use crate::power_save::agreements::Place;
use crate::power_save::cell::{Cell, NOT_FREE};
use crate::power_save::finding::{Excess, FindingKind, Findings, Verdict, find, provided, seconds};
use crate::power_save::{IN_FLIGHT, Mark, PROMPT};

/// Frames that follow each other within this time belong together: a period that goes on, or one time awake outside.
const SAME_EXCHANGE: Span = Span::from_millis(20);

/// What a verdict assumes if numbers do not show it.
const ALL_CAPTURED: &str = "the station had no other agreement before, and sent no teardown that was missed and that no later number shows";
/// The same of a station that is absent, which frames that were not sent have to show.
const ANSWERS: &str = "the access point sends what it holds to a station that shows that it is awake, and the station had no other agreement \
                       before, and sent no teardown that was missed and that no later number shows";

/// Which rule a frame to a station in power save is about.
#[derive(Clone, Copy, Debug)]
pub(super) struct Agreed {
    pub(super) kind: FindingKind,
    /// The packet that made the agreement.
    pub(super) set_up: Option<u32>,
    /// Why the agreement may not have held, or not alone.
    pub(super) doubt: Option<&'static str>,
    /// What a verdict assumes.
    pub(super) assumption: Option<&'static str>,
}

/// What was exchanged with the station lately.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Periods {
    /// The last frame in a period, or right after one in a period.
    inside: Option<Instant>,
    /// The last frame of the station outside them.
    outside: Option<Instant>,
    /// Whether that violated the rule.
    is_violated: bool,
    /// The last period in which the station sent, by its beginning.
    seen: Option<u64>,
    /// The last period that EOSP ended.
    ended: Option<u64>,
}

impl Periods {
    const fn lately(last: Option<Instant>, at: Instant) -> bool {
        matches!(last, Some(last) if at.saturating_since(last).as_nanos() <= SAME_EXCHANGE.as_nanos())
    }

    /// Where a time is with regard to the periods, if an exchange that began in one is part of it.
    fn place(&mut self, at: Instant, place: Place) -> Place {
        let place = match place {
            Place::Outside if Self::lately(self.inside, at) => Place::Near,
            place => place,
        };
        if matches!(place, Place::Inside(_)) || place == Place::Near && Self::lately(self.inside, at) {
            self.inside = Some(at);
        }
        place
    }
}

impl StationState {
    /// Why the agreements that were captured may have ended, or others been made, before `at`; or else what is assumed.
    fn doubt_of_agreements(
        &self,
        since: Mark,
        at: Instant,
        cell: &Cell,
    ) -> Result<Option<&'static str>, &'static str> {
        let Some(bssid) = self.record.bssid else { return Err("its access point is not known") };
        let of_station = cell.numbers.has_all_management(self.record.mac, since.0, at);
        let of_access_point = cell.numbers.has_all_management(bssid, since.0, at);
        if self.has_unread_action {
            Err("an encrypted action frame may have changed the agreements")
        } else if cell.has_broadcast_twt {
            Err("the station may have joined a broadcast target wake time")
        } else if cell.restarted_at.is_some_and(|restarted| restarted >= since.0) {
            Err("the access point's clock began anew, and with it perhaps its agreements")
        } else if self.association.is_multi_link.unwrap_or(cell.is_multi_link) {
            Err("the station may be awake on another of its links (802.11be)")
        } else if of_access_point != Some(true) || of_station == Some(false) {
            Err("no sequence numbers before and after show that no other set-up and no teardown was missed")
        } else {
            let has_all_before = self
                .associated_at
                .is_some_and(|from| cell.numbers.has_all_management(bssid, from, at) == Some(true));
            let is_proven = has_all_before && of_station == Some(true);
            Ok((!is_proven).then_some(ALL_CAPTURED))
        }
    }

    /// The beginnings and ends of the service periods from the last one before a time to the first one after another.
    pub(super) fn periods_around(
        &self,
        (from, until): (Instant, Instant),
        cell: &Cell,
        findings: &mut Findings,
    ) -> Vec<(Instant, Instant)> {
        let Some(from_us) = cell.clock_us(from) else { return Vec::new() };
        let captured = |us: u64| match us.checked_sub(from_us) {
            Some(after) => from.saturating_add(Span::from_micros(after)),
            None => from.saturating_sub(Span::from_micros(from_us - us)),
        };
        let until_us = from_us.saturating_add(until.saturating_since(from).as_nanos() / 1_000);
        let periods = findings.agreements(self.record.mac).periods_around(from_us, until_us);
        periods.into_iter().map(|(start, end)| (captured(start), captured(end))).collect()
    }

    /// A frame of the station, which is in power save.
    pub(in crate::power_save) fn sent_in_wake_times(
        &mut self,
        mark: Mark,
        cell: &Cell,
        findings: &mut Findings,
    ) {
        let (at, mac) = (mark.0, self.record.mac);
        let is_asleep = self.modes.since(true).is_some_and(|(since, _)| since < at);
        if !is_asleep {
            return;
        }
        let agreements = findings.agreements(mac);
        let Some(set_up) = agreements.wake_times_since() else { return };
        let (place, are_announced) = (agreements.place(at, cell.clock_us(at)), agreements.are_announced());
        let Some(place) = place.map(|place| self.periods.place(at, place)) else { return };
        let mut note = |kind, verdict, detail: &str| {
            find(findings, (kind, verdict, mac), mark, &[mark.1], || detail.to_owned());
        };
        match place {
            Place::Inside(start) if self.periods.seen.replace(start) != Some(start) => {
                note(FindingKind::WokeOutsideWakeTime, Verdict::Kept, "sent in an agreed service period");
                if are_announced {
                    note(FindingKind::AbsentAtWakeTime, Verdict::Kept, "the station was there");
                }
            }
            Place::Inside(_) | Place::Near => {}
            Place::Unknown(why) => note(FindingKind::WokeOutsideWakeTime, Verdict::Undecidable, why),
            Place::Outside => self.sent_outside(set_up, mark, cell, findings),
        }
    }

    /// The station sends outside its periods. What follows at once belongs to the same occurrence.
    fn sent_outside(&mut self, set_up: Mark, mark: Mark, cell: &Cell, findings: &mut Findings) {
        let (kind, mac) = (FindingKind::WokeOutsideWakeTime, self.record.mac);
        if let Some(last) =
            self.periods.outside.replace(mark.0).filter(|last| Periods::lately(Some(*last), mark.0))
        {
            if let Some(finding) = findings.get_mut(kind, mac).filter(|_| self.periods.is_violated) {
                finding.cost(Excess::awake(mark.0.saturating_since(last)));
            }
            return;
        }
        let decided = self.doubt_of_agreements(set_up, mark.0, cell);
        self.periods.is_violated = decided.is_ok();
        let periods = self.periods_around((mark.0, mark.0), cell, findings);
        let verdict = if decided.is_ok() { Verdict::Violated } else { Verdict::Undecidable };
        let found = find(findings, (kind, verdict, mac), mark, &[mark.1], || {
            let why = match decided {
                Ok(assumption) => provided(assumption),
                Err(doubt) => format!("; {doubt}"),
            };
            format!("sent outside the service periods of the agreement of packet {}{why}", set_up.1)
        });
        if let Some(finding) = found {
            finding.cost(Excess { wake_ups: 1, ..Excess::default() });
            finding.assume(decided.ok().flatten());
            finding.between(periods);
        }
    }

    /// The rule that a frame to the station, which is in power save, is about; `None` if it is in a service period, or that is not known.
    /// `is_requested` says that the station had requested it.
    pub(super) fn sent_to_wake_times(
        &mut self,
        delivery: &Delivery<'_>,
        is_requested: bool,
        findings: &mut Findings,
    ) -> Option<Agreed> {
        let legacy = Agreed { kind: FindingKind::SentToSleeper, set_up: None, doubt: None, assumption: None };
        let (mark, Some(cell)) = (delivery.mark(), delivery.cell) else { return Some(legacy) };
        let agreements = findings.agreements(self.record.mac);
        let place = agreements.place(mark.0, cell.clock_us(mark.0));
        let (Some(place), Some(set_up)) = (place, agreements.wake_times_since()) else { return Some(legacy) };
        let place = self.periods.place(mark.0, place);
        let kind = FindingKind::SentOutsideWakeTime;
        let mut note = |verdict, detail: &str| {
            let deciding = [mark.1];
            find(findings, (kind, verdict, self.record.mac), mark, &deciding, || detail.to_owned());
        };
        match place {
            // EOSP has ended the period: whether the station listens on is not known.
            Place::Inside(start) if self.periods.ended == Some(start) => {}
            Place::Inside(start) => {
                note(Verdict::Kept, "sent in an agreed service period");
                self.periods.ended = Some(start).filter(|_| delivery.frame.eosp).or(self.periods.ended);
            }
            Place::Unknown(why) if !is_requested => note(Verdict::Undecidable, why),
            Place::Near | Place::Unknown(_) => {}
            Place::Outside => {
                let (doubt, assumption) = match self.doubt_of_agreements(set_up, mark.0, cell) {
                    Ok(assumption) => (None, assumption),
                    Err(doubt) => (Some(doubt), None),
                };
                return Some(Agreed { kind, set_up: Some(set_up.1), doubt, assumption });
            }
        }
        None
    }

    /// A QoS Null frame with EOSP ends the service period that it is in.
    pub(super) fn ends_wake_time(&mut self, delivery: &Delivery<'_>, findings: &mut Findings) {
        let (at, Some(cell)) = (delivery.packet.at, delivery.cell) else { return };
        if let Some(Place::Inside(start)) = findings.agreements(self.record.mac).place(at, cell.clock_us(at))
        {
            self.periods.ended = Some(start);
        }
    }

    /// The first and the last beacon with the station's TIM bit in a time in which neither side sent anything to the other. A station that was
    /// awake in an announced service period between them would have shown that, and been sent the frame.
    pub(super) fn was_absent(&self, (first, last): (Mark, Mark), cell: &Cell, findings: &mut Findings) {
        let (mac, kind) = (self.record.mac, FindingKind::AbsentAtWakeTime);
        let (Some(bssid), Some(aid)) = (self.record.bssid, self.record.aid) else { return };
        let agreements = findings.agreements(mac);
        let Some(set_up) = agreements.wake_times_since().filter(|_| agreements.are_announced()) else {
            return;
        };
        let (Some(from_us), Some(until_us)) = (cell.clock_us(first.0), cell.clock_us(last.0)) else { return };
        let Some(((start_us, end_us), count)) = agreements.periods_between(from_us, until_us) else { return };
        let (from, until) =
            (first.0 + Span::from_micros(start_us - from_us), first.0 + Span::from_micros(end_us - from_us));
        let is_composed_before = cell.due(first) <= self.last_before(first.0) + IN_FLIGHT;
        let free = findings.pauses.between(Some(bssid), from, until);
        let doubt = if is_composed_before {
            Some("the first beacon may be older than the last frame".to_owned())
        } else if cell.without_tim(first.0, last.0, aid).next().is_some()
            || cell.unknown_tims(first.0, last.0) > 0
        {
            Some("a beacon between does not show the bit".to_owned())
        } else if self.was_unseen_since(first.0) {
            Some("the access point acknowledged a frame of the station that was not captured".to_owned())
        } else if free <= PROMPT.min(until.saturating_since(from) / 2) {
            Some(NOT_FREE.to_owned())
        } else if let Err(missing) = cell.numbers.complete_until((bssid, &self.counters), first.0, last.0) {
            Some(missing.to_string())
        } else {
            self.doubt_of_agreements(set_up, last.0, cell).err().map(str::to_owned)
        };
        let verdict = if doubt.is_some() { Verdict::Undecidable } else { Verdict::Violated };
        let deciding = [first.1, last.1];
        let around = self.periods_around((first.0, last.0), cell, findings);
        let found = find(findings, (kind, verdict, mac), (from, first.1), &deciding, || {
            let periods = if count == 1 { "a period".to_owned() } else { format!("{count} periods") };
            let waited = seconds(last.0.saturating_since(from));
            let why = match &doubt {
                Some(doubt) => format!("; {doubt}"),
                None => provided(Some(ANSWERS)),
            };
            format!(
                "beacons announced a frame before and after {periods} of the agreement of packet {}, in which the station sent nothing, so that the frame waited for \
                 another {waited} at least{why}",
                set_up.1
            )
        });
        if let Some(finding) = found {
            finding.cost(Excess::late(last.0.saturating_since(from)));
            finding.assume(Some(ANSWERS));
            finding.between(around);
        }
    }
}

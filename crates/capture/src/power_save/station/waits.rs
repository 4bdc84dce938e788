//! Judges how late a frame came after the station's request for it, and the request after the beacon that announced it.
//!
//! A monitor that stalls writes what it received later than it received it. So a wait counts only as far as it cannot have been the
//! monitor's: by the clock of its radio where the frames have it (radiotap's TSFT), else without the longest silence in the wait; and the
//! beacons around it have to agree with the clock of the capture.

use std::collections::BTreeMap;

use super::announced::{Evidence, NOT_ANNOUNCED, evidence};
use super::{Announcement, Delivery, LATE, StationState};
use crate::power_save::cell::Cell;
use crate::power_save::finding::{Excess, FindingKind, Findings, Verdict, find, provided, seconds};
use crate::power_save::pauses::Pauses;
use crate::power_save::times::packets;
use crate::power_save::wait::{Delay, Doubt, Fetch, Request, Wait};
use crate::power_save::{IN_FLIGHT, Mark, NEVER, PROMPT};
use airwatt_base::{Instant, Span};
use airwatt_dot11::MacAddress;

/// What the verdict about a late request assumes: no monitor sees what the station received.
const RECEIVED: &str = "it received one of the beacons from then on";
/// Beacons after the one for which it had to wake up that a station may have lost as well. Of beacons, which nobody acknowledges, one in ten may be
/// lost: four in a row are one in 10,000.
const MAY_LOSE: u64 = 3;
/// The same for QoS data ([`StationState::assumption`]).
const RECEIVED_AND_NONE_MISSED: &str = "it received one of the beacons from then on, and no frame was missed of a traffic identifier, or of management, whose numbers the capture does not show";

/// What the verdict about a late frame assumes: a monitor does not receive all that an access point defers to.
const FREE: &str = "nothing held the channel that the monitor did not receive";
/// The same for QoS data ([`StationState::assumption`]).
const FREE_AND_NONE_MISSED: &str = "nothing held the channel that the monitor did not receive, and no frame was missed of a traffic identifier, or of management, whose numbers the capture does not show";

/// The same if the station asked again, and beacons announced a frame all the time.
const NOT_EMPTIED: &str = "nothing held the channel that the monitor did not receive, the access point did not discard the frame, say so in a QoS Null frame that was missed, and buffer another one, and no \
                           frame was missed of a traffic identifier, or of management, whose numbers the capture does not show";
/// All access categories of the WMM element.
const ALL_CATEGORIES: u8 = 0x0f;

/// Whether the monitor itself may be late, by its radio's clock or for lack of it.
fn doubt_of_monitor(request: &Request, delivery: &Delivery<'_>, pauses: &Pauses) -> Option<Doubt> {
    let at = delivery.packet.at;
    let waited = at.saturating_since(request.mark.0);
    if let (Some(before), Some(after)) = (request.received_us, delivery.frame.received_us) {
        let apart_us = i128::from(after) - i128::from(before);
        let written_us = i128::from(waited.as_nanos() / 1_000);
        let most_us = i128::from(IN_FLIGHT.as_nanos() / 1_000);
        return ((apart_us - written_us).abs() > most_us).then_some(Doubt::RadioDisagrees(apart_us));
    }
    let silence = pauses.longest(request.mark.0, at);
    (waited.saturating_sub(silence) <= PROMPT).then_some(Doubt::Stalled(silence))
}

impl StationState {
    /// Another explanation than the access point for a frame that came late after the request.
    fn doubt_of_wait(
        &self,
        request: &Request,
        delivery: &Delivery<'_>,
        (free, pauses): (Span, &Pauses),
        unannounced: Option<&'static str>,
    ) -> Option<Doubt> {
        let (from, until) = (request.mark.0, delivery.packet.at);
        let was_emptied = delivery.cell.is_some_and(|cell| {
            self.was_emptied(cell, from, until)
                || self.record.aid.is_some() && cell.unknown_tims(from, until) > 0
        });
        if !request.is_heard {
            Some(Doubt::Unheard)
        } else if (request.is_asked_again || self.was_unseen_since(from))
            && !self.is_still_announced(request, delivery)
        {
            Some(Doubt::Again)
        } else if self.was_called(from) {
            Some(Doubt::Called)
        } else if delivery.is_copy() {
            Some(Doubt::Copy)
        } else if !self.missed_none_since(delivery, from) || !self.missed_no_management_since(delivery, from)
        {
            // A frame in between, which the monitor missed, would have been the answer.
            Some(Doubt::Missed)
        } else if was_emptied {
            Some(Doubt::Emptied)
        } else if let Some(why) = unannounced {
            Some(Doubt::Unannounced(why))
        } else if free <= PROMPT {
            // On a full channel an access point waits as all others do.
            Some(Doubt::Busy)
        } else {
            doubt_of_monitor(request, delivery, pauses)
        }
    }

    /// Whether a beacon after the request still says that a frame waits which a service period has to deliver: one of a station all of whose
    /// access categories are delivered so, which the TIM is then about (802.11-2020 11.2.3.6).
    fn is_still_announced(&self, request: &Request, delivery: &Delivery<'_>) -> bool {
        let (from, until) = (request.mark.0, delivery.packet.at);
        let announced = || delivery.cell?.with_tim(from, until, self.record.aid?);
        self.record.uapsd_categories == Some(ALL_CATEGORIES) && announced().is_some()
    }

    /// What said that a frame was buffered when the station asked: of a PS-Poll as in [`evidence`], of others the beacon after which it came.
    fn announced_before(
        &self,
        request: &Request,
        announcement: Option<&Announcement>,
        delivery: &Delivery<'_>,
    ) -> Result<Mark, &'static str> {
        if self.polls.request.is_none() {
            return announcement.map(|announcement| announcement.beacon).ok_or(NOT_ANNOUNCED);
        }
        let (of, cell) = self.polls.unanswered.as_ref().zip(delivery.cell).ok_or(NOT_ANNOUNCED)?;
        let aid = self.record.aid.ok_or(NOT_ANNOUNCED)?;
        evidence((of, aid), cell, request.mark.0).map(Evidence::mark)
    }

    /// A frame to the station: whether it comes soon after the request for it, and the request soon after the announcement.
    pub(super) fn check_late(&mut self, delivery: &Delivery<'_>, findings: &mut Findings) {
        let mark = delivery.mark();
        let announced = self.announced.take();
        let requested = self.polls.request.or(announced.and_then(|announcement| announcement.requested));
        // Of PS-Polls that were repeated `ignored` decides.
        let was_asked_before = self.polls.asked_before(mark.0);
        if let Some(request) = requested.filter(|request| !request.is_unanswered && !was_asked_before) {
            if mark.0.saturating_since(request.mark.0) <= PROMPT {
                let key = (FindingKind::LateDelivery, Verdict::Kept, self.record.mac);
                find(findings, key, mark, &[], String::new);
            } else {
                let free = findings.pauses.between(self.record.bssid, request.mark.0, mark.0);
                let evidence = self.announced_before(&request, announced.as_ref(), delivery);
                let doubt = self.doubt_of_wait(&request, delivery, (free, &findings.pauses), evidence.err());
                let beacon = delivery.cell.and_then(|cell| cell.last_before(mark.0));
                let announced = [evidence.ok(), beacon.filter(|beacon| beacon.0 > request.mark.0)];
                let assumption = match self.assumption() {
                    _ if request.is_asked_again => NOT_EMPTIED,
                    Some(_) => FREE_AND_NONE_MISSED,
                    None => FREE,
                };
                let bssid = self.record.bssid;
                self.open.waits.push(Wait {
                    request: request.mark,
                    mark,
                    announced,
                    free,
                    doubt,
                    assumption,
                    bssid,
                });
            }
        }
        if let Some(announcement) = announced {
            self.check_fetch(delivery, &announcement, findings);
        }
    }

    /// Up to when a station has to wake up after a beacon: it was awake for that one at the latest, and sleeps for its listen interval from the
    /// last target time on for which it was (802.11-2020 11.2.3.7). Where its association was not captured that is one beacon at least.
    pub(super) fn wakes_by(&self, due: Instant, interval: Span) -> Instant {
        due + interval * u64::from(self.association.listen_interval.unwrap_or(1).max(1))
    }

    /// Whether a beacon without the bit in between says that the buffer was emptied, unseen or by ageing: what follows is another frame.
    pub(super) fn was_emptied(&self, cell: &Cell, since: Instant, until: Instant) -> bool {
        self.record.aid.is_some_and(|aid| cell.without_tim(since, until, aid).next().is_some())
    }

    /// How long the station took to request what a beacon announced.
    fn check_fetch(
        &mut self,
        delivery: &Delivery<'_>,
        Announcement { beacon, due, interval, requested }: &Announcement,
        findings: &mut Findings,
    ) {
        let mark = delivery.mark();
        if requested.is_some_and(|request| request.mark.0 < beacon.0) {
            // The station waits for the response to an earlier request.
            return;
        }
        let fetched = requested.map_or(mark, |request| request.mark);
        let wakes_by = self.wakes_by(*due, *interval);
        let woken_by = delivery.cell.and_then(|cell| cell.beacon_of(wakes_by));
        let may_ask_until = woken_by.map_or(wakes_by, |(at, _)| at.max(wakes_by)) + LATE;
        if fetched.0 <= may_ask_until {
            let key = (FindingKind::LateFetch, Verdict::Kept, self.record.mac);
            find(findings, key, *beacon, &[beacon.1, fetched.1, mark.1], || {
                let after = fetched.0.saturating_since(beacon.0);
                format!("announced by TIM, requested {} later", seconds(after))
            });
            return;
        }
        let was_emptied = delivery.cell.is_some_and(|cell| self.was_emptied(cell, beacon.0, fetched.0));
        let is_cut = delivery.cell.is_some_and(|cell| cell.unknown_tims(beacon.0, fetched.0) > 0);
        let doubt = if self.association.listen_interval.is_none() {
            Some("its association, which has the listen interval, was not captured")
        } else if was_emptied {
            Some("a beacon in between had no bit, so that it may be another frame")
        } else if delivery.cell.is_some_and(|cell| cell.misses_one(beacon.0, wakes_by.min(fetched.0))) {
            Some(
                "a beacon in between was not captured, for which it may have been awake, and which may have had no bit",
            )
        } else if !self.missed_none_since(delivery, beacon.0) {
            Some("the monitor may have missed that it was fetched before")
        } else if woken_by.is_none() || is_cut {
            Some("the beacon for which it had to wake up was not captured with a TIM that can be read")
        } else if findings.pauses.between(self.record.bssid, wakes_by, fetched.0) <= LATE {
            Some("the station may have waited for the channel")
        } else if fetched.0 <= self.wakes_by(*due, *interval * (1 + MAY_LOSE)) + LATE {
            Some("the station may have lost the beacons for which it was awake")
        } else {
            None
        };
        let assumption = if self.assumption().is_some() { RECEIVED_AND_NONE_MISSED } else { RECEIVED };
        let (woken_by, bssid) = (woken_by.unwrap_or(*beacon), self.record.bssid);
        self.open.fetches.push(Fetch { beacon: *beacon, woken_by, fetched, mark, doubt, assumption, bssid });
    }

    /// Decides about frames that were requested late: the beacons around both have to say that the clock of the capture did not jump.
    pub(super) fn judge_fetches(&mut self, cells: &BTreeMap<MacAddress, Cell>, findings: &mut Findings) {
        let mac = self.record.mac;
        for Fetch { beacon, woken_by, fetched, mark, doubt, assumption, bssid } in
            std::mem::take(&mut self.open.fetches)
        {
            let cell = bssid.and_then(|bssid| cells.get(&bssid));
            let has_jumped = cell.is_some_and(|cell| !cell.is_clock_steady(beacon.0, fetched.0));
            let jumped = has_jumped.then_some("by the beacons around it the clock of the capture jumped");
            let doubt = jumped.or(doubt);
            let verdict = if doubt.is_none() { Verdict::Violated } else { Verdict::Undecidable };
            let mut deciding = vec![beacon.1, woken_by.1, fetched.1, mark.1];
            deciding.dedup();
            let found = find(findings, (FindingKind::LateFetch, verdict, mac), beacon, &deciding, || {
                let after = seconds(fetched.0.saturating_since(beacon.0));
                let why = doubt.map_or_else(
                    || {
                        let assumed = provided(Some(assumption));
                        format!("by its listen interval the station had to wake up for the beacon of packet {}{assumed}", woken_by.1)
                    },
                    str::to_owned,
                );
                format!("announced by TIM, requested {after} later; {why}")
            });
            if let Some(finding) = found {
                finding.cost(Excess::late(fetched.0.saturating_since(woken_by.0)));
                finding.buffered(beacon.0, mark.0);
                finding.assume(Some(assumption));
            }
        }
    }

    /// A fault that violated a rule delayed what was due at one time to another.
    pub(super) fn delays_others(&mut self, kind: FindingKind, since: Instant, until: Instant) {
        self.open.delays.push(Delay { kind, since, until, bssid: self.record.bssid });
    }

    /// Adds the delays of the segment to what the findings cost.
    pub(super) fn add_delays(&mut self, cells: &BTreeMap<MacAddress, Cell>, findings: &mut Findings) {
        for Delay { kind, since, until, bssid } in std::mem::take(&mut self.open.delays) {
            let cell = bssid.and_then(|bssid| cells.get(&bssid));
            let late = cell.map_or_else(|| until.saturating_since(since), |cell| cell.elapsed(since, until));
            if let Some(finding) = findings.get_mut(kind, self.record.mac) {
                finding.cost(Excess::late(late));
            }
        }
    }

    /// Decides about frames that came late after a request: the beacons around them have to say that the clock of the capture did not jump.
    pub(super) fn judge_waits(&mut self, cells: &BTreeMap<MacAddress, Cell>, findings: &mut Findings) {
        let mac = self.record.mac;
        for Wait { request, mark, announced, free, doubt, assumption, bssid } in
            std::mem::take(&mut self.open.waits)
        {
            let cell = bssid.and_then(|bssid| cells.get(&bssid));
            let has_jumped = cell.is_some_and(|cell| !cell.is_clock_steady(request.0, mark.0));
            let doubt = if has_jumped { Some(Doubt::Jumped) } else { doubt };
            let verdict = if doubt.is_none() { Verdict::Violated } else { Verdict::Undecidable };
            let waited = mark.0.saturating_since(request.0);
            let key = (FindingKind::LateDelivery, verdict, mac);
            let [before, between] = announced;
            let deciding = packets([before, Some(request), between, Some(mark)]);
            let found = find(findings, key, mark, &deciding, || {
                let why = doubt.map_or_else(|| provided(Some(assumption)), |doubt| format!("; {doubt}"));
                format!(
                    "the frame came {:.3} s after the station requested it, and the channel was free for {:.3} s of that time{why}",
                    waited.as_secs_f64(),
                    free.as_secs_f64()
                )
            });
            if let Some(finding) = found {
                finding.cost(Excess { delay: waited, ..Excess::awake(waited.min(NEVER)) });
                finding.buffered(before.map_or(request.0, |(at, _)| at), mark.0);
                finding.assume(Some(assumption));
            }
        }
    }
}

//! What a frame for a station in power save says: whether it was announced, requested and in time.

use super::promises::TAKEN;
use super::wake_times::Agreed;
use super::{Delivery, StationState, Suspect};
use crate::packet::{AirFrame, CapturedPacket};
use crate::power_save::cell::Cell;
use crate::power_save::finding::{FindingKind, Findings, Verdict, find, provided, seconds};
use crate::power_save::{IN_FLIGHT, Mark, PROMPT, WAS_WAITING};
use airwatt_base::Instant;

/// Beacons without the bit before a frame of which no frame shows since when it was buffered: the packet from which on that is so, and a
/// description. `announced` is the first beacon since `from` that had the bit.
fn arrival_unknown(from: Mark, announced: Option<Mark>, without: &[Mark]) -> (u32, String) {
    let Some((since, beacon)) = announced else {
        let beacons = match without.len() {
            1 => "the beacon".to_owned(),
            count => format!("{count} beacons"),
        };
        let detail = format!(
            "{beacons} since packet {} had no TIM bit for the station: the frame arrived at an unknown time",
            from.1
        );
        return (from.1, detail);
    };
    let later = match without.iter().filter(|(at, _)| *at > since).count() {
        1 => "a later one".to_owned(),
        count => format!("{count} later ones"),
    };
    let detail = format!(
        "the beacon of packet {beacon} had the station's TIM bit and {later} had not: what it announced may have been fetched unseen or given \
         up, and this frame have arrived after that"
    );
    (beacon, detail)
}

impl StationState {
    /// A beacon without the bit, due at `due`, right before which the station requested what More Data had announced: the packet that had it, and
    /// a description.
    fn requested_before(&self, beacon: Mark, due: Instant) -> Option<(u32, String)> {
        let promise = self.promised.as_ref()?;
        let asked = promise.asked.filter(|asked| *asked <= due && due.saturating_since(*asked) <= TAKEN)?;
        let detail = format!(
            "More Data of packet {} announced a frame, and the station requested it {} before the beacon of packet {} was due, which has no TIM bit \
             for the station: the frame may have been on its way",
            promise.mark.1,
            seconds(due.saturating_since(asked)),
            beacon.1
        );
        Some((promise.mark.1, detail))
    }

    /// A retransmission of the last frame to the station, that of `from`, so long after it that beacons without the bit are in between.
    fn sent_again(&self, delivery: &Delivery<'_>, from: Mark, beacons: usize) -> Option<(u32, String)> {
        let same = |(counter, number, _): &(_, _, _)| {
            (*counter, *number) == (delivery.counter, delivery.frame.sequence_control)
        };
        self.last_data.as_ref().filter(|last| delivery.is_copy() && same(last))?;
        let beacons = match beacons {
            1 => "a beacon".to_owned(),
            count => format!("{count} beacons"),
        };
        let detail = format!(
            "packet {} is the same frame, which the access point sent again after {beacons} without the station's TIM bit: it kept the frame \
             meanwhile, but what waits in its transmit queue is not in the buffer that the TIM is about",
            from.1
        );
        Some((from.1, detail))
    }

    /// Data for a station in power save is allowed only as the response to a PS-Poll and in a service period.
    pub(super) fn check_asleep(&mut self, delivery: &Delivery<'_>, findings: &mut Findings) {
        let Some((since, _)) = self.modes.since(true) else { return };
        let (mark, acknowledged) = (delivery.mark(), delivery.acknowledged);
        // A station whose U-APSD is not known may have opened a service period by any QoS frame.
        // A frame that ends a service period was sent in one.
        let allowed = self.polls.request.is_some() || self.service.is_open() || delivery.frame.eosp;
        let may_serve =
            self.record.uapsd.is_none() && self.record.counts.ps_polls == 0 && acknowledged == Some(true);
        let asleep = mark.0.saturating_since(since);
        // What is in its hardware waits for the channel.
        let could_send = findings.pauses.between(self.record.bssid, since, mark.0);
        let Some(agreed) = self.sent_to_wake_times(delivery, allowed, findings) else { return };
        if allowed {
            let key = (agreed.kind, Verdict::Kept, self.record.mac);
            find(findings, key, mark, &[mark.1], || "the station had requested it".to_owned());
        }
        // No number shows that a PS-Poll was missed: a station has no reason for one if nothing was announced.
        let from = self.beacons_from.map_or(since, |(at, _)| at.max(since));
        let nothing = delivery
            .cell
            .zip(self.record.aid)
            .is_some_and(|(cell, aid)| self.promised.is_none() && cell.announces_nothing(from, mark.0, aid));
        if !allowed && !may_serve && could_send > IN_FLIGHT {
            let cell = delivery.cell.filter(|_| agreed.set_up.is_some());
            let periods = cell.map(|cell| self.periods_around((mark.0, mark.0), cell, findings));
            self.suspects.push(Suspect {
                mark,
                asleep,
                agreed,
                periods: periods.unwrap_or_default(),
                sequence_control: delivery.frame.sequence_control,
                may_have_asked: !nothing || self.was_unseen_since(since),
                is_copy: delivery.is_copy(),
                may_have_uapsd: delivery.cell.is_some_and(|cell| self.may_have_uapsd(cell)),
                // A station that acknowledges is awake, and the frame in which it said so was perhaps not captured.
                unheard: (acknowledged == Some(false)).then_some(1),
                beside: [
                    delivery.cell.and_then(|cell| cell.last_before(mark.0)).map(|(_, packet)| packet),
                    None,
                ],
            });
        }
    }

    /// Another transmission of a frame that was captured.
    pub(in crate::power_save) fn repeated_to_station(
        &mut self,
        (packet, frame): (&CapturedPacket, &AirFrame),
        acknowledged: Option<bool>,
    ) {
        self.is_unheard &= acknowledged != Some(true);
        // It may answer a PS-Poll that came after the first one.
        self.polls.unheard = None;
        self.end_polls(packet.at, Some((packet.at, packet.number)), true);
        let same = |suspect: &&mut Suspect| suspect.sequence_control == frame.sequence_control;
        if let Some(suspect) = self.suspects.last_mut().filter(same) {
            suspect.unheard = suspect.unheard.filter(|_| acknowledged == Some(false)).map(|count| count + 1);
            suspect.beside[1] = Some(packet.number);
        }
    }

    /// Decides what depends on whether the station was asleep, when its later frames show that too.
    pub(in crate::power_save) fn judge_sleep(&mut self, findings: &mut Findings) {
        self.judge_suspects(findings);
        self.judge_concealed(findings);
    }

    /// Decides about frames that the station had not requested. It was asleep if no transmission of the frame was acknowledged, and
    /// the frames before and after say so.
    fn judge_suspects(&mut self, findings: &mut Findings) {
        // How the access point serves the station has to be known, and that nothing the station sent can have been a request.
        // A station with U-APSD may have opened a service period by a QoS Null, which no number shows to be missed; and one that gets other
        // frames than those of QoS is served in another way.
        let is_known = self.record.uapsd.map_or(self.record.counts.ps_polls > 0, |uapsd| !uapsd);
        for suspect in std::mem::take(&mut self.suspects) {
            let last = self.uplink.last_up_to(suspect.mark.0);
            let is_silent = last.is_some_and(|last| suspect.mark.0.saturating_since(last) > PROMPT);
            let at = suspect.mark.0;
            let shows_sleep = match suspect.agreed.set_up {
                // It sleeps by an agreement, and sends no Null frames for that.
                Some(_) => self.uplink.shows_sleep_by_numbers(at),
                None => self.uplink.proves_sleep(at),
            };
            let asleep = shows_sleep.filter(|_| is_known && is_silent);
            let (verdict, why) = match (suspect.unheard, &asleep) {
                (None, _) => (
                    Verdict::Undecidable,
                    "it may have been awake, since an acknowledgement was captured or none is",
                ),
                (Some(_), _) if suspect.may_have_asked => (
                    Verdict::Undecidable,
                    "a frame may have been announced, and the station may have requested it unseen",
                ),
                (Some(1), _) => {
                    (Verdict::Undecidable, "one transmission alone may answer a request that was missed")
                }
                (Some(_), _) if suspect.is_copy => (
                    Verdict::Undecidable,
                    "an earlier transmission of it was missed, at which it may have been awake",
                ),
                (Some(_), _) if self.uplink.sends_qos_nulls || suspect.may_have_uapsd => (
                    Verdict::Undecidable,
                    "a QoS Null frame has no number, so that one may have been missed that left power save or opened a service period",
                ),
                (Some(_), None) => {
                    (Verdict::Undecidable, "it may have left power save or opened a service period unseen")
                }
                (Some(_), Some(_)) => (Verdict::Violated, "no transmission was acknowledged"),
            };
            let Agreed { kind, set_up, doubt, assumption } = suspect.agreed;
            let (verdict, why) = match doubt {
                Some(doubt) if verdict == Verdict::Violated => (Verdict::Undecidable, doubt),
                _ => (verdict, why),
            };
            let mut deciding = asleep.unwrap_or_default();
            deciding.push(suspect.mark.1);
            deciding.extend(suspect.beside.into_iter().flatten());
            deciding.sort_unstable();
            deciding.dedup();
            let found = find(findings, (kind, verdict, self.record.mac), suspect.mark, &deciding, || {
                let since = suspect.asleep.as_secs_f64();
                let outside = set_up.map_or_else(String::new, |packet| {
                    format!("outside the service periods of the agreement of packet {packet}, ")
                });
                let provided = provided(assumption.filter(|_| verdict == Verdict::Violated));
                format!("data {outside}{since:.3} s after the station set PM = 1; {why}{provided}")
            });
            if let Some(finding) = found {
                finding.assume(assumption);
                finding.between(suspect.periods);
            }
        }
    }

    /// A frame that was fetched from the buffer should have been announced by every beacon while it was there.
    ///
    /// It was there from a frame before it with the More Data bit, if it is the announced one ([`StationState::note_concealed`]).
    /// It was not there before the station sent what it answers. Without either, a beacon that announced it says that the bit was set,
    /// and beacons without the bit say nothing. Stations with U-APSD may have access categories that the TIM does not announce (802.11-2020 11.2.3.6).
    pub(super) fn check_announced(&mut self, delivery: &Delivery<'_>, findings: &mut Findings) {
        let mark = delivery.mark();
        let woke = self.woke.take().filter(|woke| mark.0.saturating_since(*woke) <= WAS_WAITING);
        let is_fetched =
            self.polls.request.is_some() || woke.is_some() || self.is_asleep() && self.promised.is_some();
        let (Some(aid), Some(cell), Some(from)) = (self.record.aid, delivery.cell, self.beacons_from) else {
            return;
        };
        let is_concealed = self.note_concealed(delivery, (cell, aid), woke.is_some(), findings);
        let has_flickered = is_fetched && self.note_flicker(delivery, (cell, aid), from);
        if is_concealed || has_flickered {
            return;
        }
        if is_fetched && self.note_relayed(delivery, (cell, aid), from, findings) {
            return;
        }
        if !is_fetched {
            return self.check_service_period(mark, cell, (from, aid), findings);
        }
        let without: Vec<Mark> = cell.without_tim(from.0, mark.0, aid).collect();
        let announced = cell.with_tim(from.0, mark.0, aid);
        self.judge_announcement(delivery, from, (announced, &without), findings);
    }

    /// What the first frame of a service period says of the TIM: that it announced the frame, if the last beacon since `from` had the bit.
    /// A beacon without it says nothing, since the TIM may not be about all access categories.
    fn check_service_period(
        &self,
        mark: Mark,
        cell: &Cell,
        (from, aid): (Mark, u16),
        findings: &mut Findings,
    ) {
        let Some(trigger) = self.service.unanswered() else { return };
        let last = cell.last_before(mark.0).filter(|beacon| beacon.0 > from.0);
        let Some(beacon) = last.filter(|beacon| {
            cell.unknown_tims(from.0, mark.0) == 0
                && cell.without_tim(from.0, mark.0, aid).last() != Some(*beacon)
        }) else {
            return;
        };
        let mut kept = |kind, deciding: &[u32], detail: String| {
            find(findings, (kind, Verdict::Kept, self.record.mac), mark, deciding, || detail);
        };
        let announced = format!("the beacon of packet {} announced it", beacon.1);
        kept(FindingKind::TimNeverSet, &[beacon.1, mark.1], announced);
        kept(FindingKind::TimStuck, &[trigger.1, mark.1], "there was a frame".to_owned());
    }

    /// The verdict about a frame that no beacon is proven to have concealed. `announced` is the first beacon since `from` that has the bit, and
    /// `without` are those that do not have it.
    fn judge_announcement(
        &self,
        delivery: &Delivery<'_>,
        from: Mark,
        (announced, without): (Option<Mark>, &[Mark]),
        findings: &mut Findings,
    ) {
        let mark = delivery.mark();
        let mut report = |verdict, deciding: &[u32], detail: String| {
            find(findings, (FindingKind::TimNeverSet, verdict, self.record.mac), mark, deciding, || detail);
        };
        let unknown = delivery.cell.map_or(0, |cell| cell.unknown_tims(from.0, mark.0));
        if unknown > 0 {
            let what = if unknown == 1 {
                "a beacon's TIM was".to_owned()
            } else {
                format!("the TIMs of {unknown} beacons were")
            };
            report(
                Verdict::Undecidable,
                &[from.1, mark.1],
                format!(
                    "{what} not readable between packet {} and the frame: the snap length cuts it off, or it is of several BSSIDs",
                    from.1
                ),
            );
            return;
        }
        let before =
            delivery.cell.and_then(|cell| cell.last_before(mark.0)).filter(|beacon| beacon.0 > from.0);
        if let Some((_, beacon)) = before.filter(|beacon| without.last() != Some(beacon)) {
            let open = match without.len() {
                0 => String::new(),
                1 => "; whether the one before it had to is not known".to_owned(),
                count => format!("; whether the {count} before it had to is not known"),
            };
            report(
                Verdict::Kept,
                &[beacon, mark.1],
                format!("the beacon of packet {beacon} announced it{open}"),
            );
            return;
        }
        let Some(last) = without.last() else {
            if delivery.cell.is_some_and(|cell| cell.was_due(from.0, mark.0)) {
                let detail = format!(
                    "no beacon was captured between packet {} and the frame, and one was due",
                    from.1
                );
                report(Verdict::Undecidable, &[from.1, mark.1], detail);
            }
            return;
        };
        let composed = delivery.cell.map_or(last.0, |cell| cell.due(*last));
        match delivery.not_before.filter(|(at, _)| *at > composed) {
            Some((_, request)) => report(
                Verdict::Kept,
                &[last.1, request, mark.1],
                format!(
                    "it answers packet {request}, so that it is younger than the last beacon without the TIM bit, packet {}",
                    last.1
                ),
            ),
            None => {
                let (first, detail) = self
                    .sent_again(delivery, from, without.len())
                    .or_else(|| self.requested_before(*last, composed))
                    .unwrap_or_else(|| arrival_unknown(from, announced, without));
                report(Verdict::Undecidable, &[first, last.1, mark.1], detail);
            }
        }
    }
}

//! Divides the frames of a capture among its cells and its stations.

use std::collections::{BTreeMap, BTreeSet};

use airwatt_base::Span;
use airwatt_dot11::{FrameKind, MacAddress};

use super::cell::Cell;
use super::finding::{FindingKind, Findings, Verdict, find, provided};
use super::record::{AirTotal, Observations};
use super::relays::Relays;
use super::requests::Requests;
use super::sequence::{Counter, Numbers, counted_apart, data_counters};
use super::station::{Association, Delivery, StationState};
use crate::capture::{Capture, SteadyPart};
use crate::packet::{AirFrame, CapturedPacket, ObservedCell, SleepChange};
use crate::stations::station_of;

/// A response follows its frame within this time.
const RESPONSE: Span = Span::from_millis(5);
/// An acknowledgement that follows the end of a frame within this time is not that of its retransmission, which takes longer.
const AT_ONCE: Span = Span::from_micros(300);
/// The response is one of this many packets after its frame: a monitor's timestamps may put others before it.
const RESPONSE_WITHIN: usize = 4;

/// Whether an acknowledgement of a frame, by its index, was captured.
pub(crate) fn is_acknowledged(capture: &Capture, packets: &[CapturedPacket], index: usize) -> bool {
    let Some((packet, frame)) = packets.get(index).and_then(|packet| Some((packet, capture.frame(packet)?)))
    else {
        return false;
    };
    packets.iter().skip(index + 1).take(RESPONSE_WITHIN).any(|next| {
        capture.frame(next).is_some_and(|response| {
            answers(capture, frame, response) && next.at.saturating_since(packet.at) < RESPONSE
        })
    })
}

/// Whether a frame is an acknowledgement that may be that of another: one to its transmitter, a block acknowledgement for data that it names.
fn answers(capture: &Capture, frame: &AirFrame, response: &AirFrame) -> bool {
    let is_about = match response.control.kind {
        FrameKind::Ack => true,
        FrameKind::BlockAck => {
            let said = response.block_ack.and_then(|place| capture.block_acks.get(place as usize));
            let of = frame.tid.zip(frame.sequence_control).filter(|_| frame.control.kind.has_payload());
            said.is_none_or(|said| of.is_some_and(|(tid, sequence)| said.has(tid, sequence >> 4)))
        }
        _ => false,
    };
    is_about && Some(response.receiver) == frame.transmitter
}

/// Whether the acknowledgement of a frame is its own, and not that of a retransmission that the monitor missed: it follows at once. A block
/// acknowledgement follows an aggregate, and says which of its frames it is about.
fn is_acknowledged_at_once(capture: &Capture, packets: &[CapturedPacket], index: usize) -> bool {
    let Some((packet, frame)) = packets.get(index).and_then(|packet| Some((packet, capture.frame(packet)?)))
    else {
        return false;
    };
    let ended = packet.at + frame.air_time().unwrap_or_default();
    packets.iter().skip(index + 1).take(RESPONSE_WITHIN).any(|next| {
        capture.frame(next).is_some_and(|response| {
            let limit = if response.control.kind == FrameKind::Ack { AT_ONCE } else { RESPONSE };
            answers(capture, frame, response) && next.at.saturating_since(ended) < limit
        })
    })
}

/// Whose frame an acknowledgement answers, by the index of the latter, and the receiver of that frame, if it was captured.
fn answered(
    capture: &Capture,
    packets: &[CapturedPacket],
    index: usize,
) -> Option<(MacAddress, Option<MacAddress>)> {
    let packet = packets.get(index)?;
    let response = capture.frame(packet)?;
    let is_response = |frame: &AirFrame| matches!(frame.control.kind, FrameKind::Ack | FrameKind::BlockAck);
    if !is_response(response) {
        return None;
    }
    let sender = response.receiver;
    let before = packets[..index].iter().rev().take(RESPONSE_WITHIN);
    for (earlier, frame) in before.filter_map(|earlier| Some((earlier, capture.frame(earlier)?))) {
        let ended = earlier.at + frame.air_time().unwrap_or_default();
        if packet.at.saturating_since(ended) >= RESPONSE || is_response(frame) && frame.receiver == sender {
            break;
        }
        // What is answered by a CTS, and what nobody answers, has no acknowledgement.
        let has_none = is_response(frame)
            || matches!(frame.control.kind, FrameKind::Rts | FrameKind::Cts | FrameKind::CfEnd);
        if frame.transmitter == Some(sender) && !frame.receiver.is_group() && !has_none {
            return Some((sender, Some(frame.receiver)));
        }
    }
    Some((sender, None))
}

#[derive(Default)]
pub(super) struct Observer {
    stations: BTreeMap<MacAddress, StationState>,
    cells: BTreeMap<MacAddress, Cell>,
    findings: Findings,
    /// The counters of data by access point and station.
    counters: BTreeMap<(MacAddress, MacAddress), Vec<Counter>>,
    /// Whether the capture has acknowledgements; one that was made on an access point often has none.
    hears_acks: bool,
    /// Stations with frames in the present segment.
    active: Vec<MacAddress>,
    /// The requests of stations to their peers: a frame that answers one is not older than it.
    requests: Requests,
    /// The frames of stations for other stations of their cells: one that an access point sends on was there since.
    relays: Relays,
    /// All frames of the capture.
    air: AirTotal,
}

impl Observer {
    pub(super) fn new(capture: &Capture, hears_acks: bool) -> Self {
        let findings = Findings::new(capture.target_wakes.clone());
        let frames = capture.packets.iter().filter_map(|packet| capture.frame(packet));
        let mut cells: BTreeMap<MacAddress, Cell> = BTreeMap::new();
        let counters = data_counters(frames.clone());
        for bssid in counted_apart(frames) {
            cells.entry(bssid).or_default().sequences.is_apart = true;
        }
        for beacon in &capture.beacons {
            let cell = cells.entry(beacon.bssid).or_default();
            cell.targets.note(beacon);
            cell.may_have_uapsd =
                capture.networks.get(&beacon.bssid).is_some_and(ObservedCell::may_have_uapsd);
        }
        cells.values_mut().for_each(|cell| cell.targets.settle());
        Self { hears_acks, findings, cells, counters, ..Self::default() }
    }

    pub(super) fn segment(&mut self, capture: &Capture, segment: &SteadyPart) {
        let packets = &capture.packets[segment.first..segment.end];
        self.read_numbers(capture, packets);
        for (index, packet) in packets.iter().enumerate() {
            // Also a damaged frame takes time on the channel.
            if let Some(any) = packet.frame.and_then(|at| capture.frames.get(at as usize)) {
                let cell = self.cell_of(any);
                let of = answered(capture, packets, index).filter(|_| !any.damaged);
                let answers_unseen = of.is_some_and(|(_, receiver)| receiver.is_none());
                self.findings.pauses.frame(packet.at, any, cell, answers_unseen);
                self.air.add(any);
            }
            let Some(frame) = capture.frame(packet) else { continue };
            if let Some((sender, receiver)) = answered(capture, packets, index) {
                self.response(packet, frame, sender, receiver);
            }
            if let Some(bssid) = frame.bssid.filter(|bssid| frame.transmitter == Some(*bssid)) {
                self.cells.entry(bssid).or_default().sequences.note(frame, (packet.at, packet.number));
            }
            if let Some(beacon) = frame.beacon.and_then(|at| capture.beacons.get(at as usize)) {
                self.cells.entry(beacon.bssid).or_default().beacon(packet, frame, beacon, &mut self.findings);
                continue;
            }
            let acknowledged = self.hears_acks.then(|| is_acknowledged(capture, packets, index));
            let at_once = self.hears_acks.then(|| is_acknowledged_at_once(capture, packets, index));
            self.frame(capture, packet, frame, (acknowledged, at_once));
            self.frame_of_access_point(packet, frame);
        }
        let goes_on = segment.end < capture.packets.len();
        let active = std::mem::take(&mut self.active);
        for mac in &active {
            let Some(state) = self.stations.get_mut(mac) else { continue };
            state.read_beacons(&self.cells, &mut self.findings);
            state.end_segment(segment.until, goes_on, &self.cells, &mut self.findings);
        }
        self.decide_doubts();
        // The times of two segments are not comparable.
        for mac in active.iter().filter(|_| goes_on) {
            if let Some(state) = self.stations.get_mut(mac) {
                state.uplink.end_segment();
            }
        }
        self.requests.clear();
        self.relays.clear();
        for (bssid, cell) in &mut self.cells {
            cell.end_segment(*bssid, &mut self.findings);
        }
        self.findings.end_segment();
    }

    /// The numbers of a segment: what was missed before a frame is shown by those after it too.
    fn read_numbers(&mut self, capture: &Capture, packets: &[CapturedPacket]) {
        for cell in self.cells.values_mut() {
            cell.numbers = Numbers::new(cell.sequences.is_apart);
        }
        for (index, packet) in packets.iter().enumerate() {
            let Some(frame) = capture.frame(packet) else { continue };
            if let Some((access_point, None)) = answered(capture, packets, index)
                && let Some(cell) = self.cells.get_mut(&access_point)
            {
                cell.numbers.note_unseen(packet.at);
            }
            let is_of_station = frame.transmitter.is_some() && frame.transmitter != frame.bssid;
            if is_of_station
                && !capture.wake_times.is_empty()
                && matches!(Counter::of(frame), Some(Counter::Plain(_)))
                && let Some(cell) = frame.bssid.and_then(|bssid| self.cells.get_mut(&bssid))
            {
                cell.numbers.note(frame, packet.at, false);
            }
            if let Some(bssid) = frame.bssid.filter(|bssid| frame.transmitter == Some(*bssid)) {
                let is_unheard = self.hears_acks
                    && frame.control.kind.is_qos()
                    && !frame.receiver.is_group()
                    && !is_acknowledged(capture, packets, index);
                self.cells.entry(bssid).or_default().numbers.note(frame, packet.at, is_unheard);
            }
        }
    }

    /// An acknowledgement of a frame of `sender` to `receiver`, if that frame was captured.
    fn response(
        &mut self,
        packet: &CapturedPacket,
        frame: &AirFrame,
        sender: MacAddress,
        receiver: Option<MacAddress>,
    ) {
        if receiver.is_none() {
            if let Some(cell) = self.cells.get_mut(&sender) {
                cell.unseen = Some(packet.at);
            }
            if let Some(state) = self.stations.get_mut(&sender) {
                state.uplink.was_unseen(packet.at);
            }
        }
        for (mac, is_sent) in [(Some(sender), false), (receiver, true)] {
            if let Some(state) = mac.and_then(|mac| self.stations.get_mut(&mac)) {
                state.count_air(frame, is_sent);
            }
        }
    }

    /// Decides what depends on whether a station of a cell was in power save: that is known when its next frame is.
    fn decide_doubts(&mut self) {
        for (bssid, cell) in &mut self.cells {
            for doubt in std::mem::take(&mut cell.doubts) {
                let of_cell = self.stations.values().filter(|state| state.record.bssid == Some(*bssid));
                let proves = |state: &StationState| {
                    Some((state.uplink.proves_sleep(doubt.mark.0)?, state.assumption()))
                };
                let asleep = of_cell.filter_map(proves).next();
                let (verdict, why) = match (doubt.unknown, &asleep) {
                    (Some(unknown), _) => (Verdict::Undecidable, unknown),
                    (None, Some(_)) => (Verdict::Violated, ""),
                    (None, None) => (Verdict::Undecidable, "the station may have left power save unseen"),
                };
                let mut deciding = doubt.deciding;
                deciding.extend(asleep.iter().flat_map(|(packets, _)| packets));
                deciding.sort_unstable();
                deciding.dedup();
                let assumption = asleep
                    .as_ref()
                    .and_then(|(_, assumption)| *assumption)
                    .filter(|_| verdict == Verdict::Violated);
                let key = (doubt.kind, verdict, *bssid);
                let found = find(&mut self.findings, key, doubt.mark, &deciding, || {
                    let because = if why.is_empty() { String::new() } else { format!("; {why}") };
                    format!("{}{because}{}", doubt.detail, provided(assumption))
                });
                if let Some(finding) = found {
                    finding.assume(assumption);
                }
            }
        }
    }

    pub(super) fn finish(mut self) -> Observations {
        for state in self.stations.values_mut() {
            state.read_beacons(&self.cells, &mut self.findings);
            state.service.judge(state.record.mac, &mut self.findings);
        }
        let (findings, agreements) = self.findings.into_all();
        let mut seen = Observations { findings, agreements, ..Observations::default() };
        for (mac, state) in self.stations {
            seen.stations.push(state.record.beside(self.air).in_modes(&state.modes.spans));
            seen.modes.insert(mac, state.modes.spans);
            seen.stays.insert(mac, state.stays);
        }
        for finding in &mut seen.findings {
            if let Some(stays) = seen.stays.get(&finding.station) {
                finding.name_access_points(|packet| stays.at(packet).map(|stay| (stay.bssid, stay.aid)));
            }
        }
        seen
    }

    /// `acknowledged` is `None` if the capture has no acknowledgements, and so is `at_once`.
    fn frame(
        &mut self,
        capture: &Capture,
        packet: &CapturedPacket,
        frame: &AirFrame,
        (acknowledged, at_once): (Option<bool>, Option<bool>),
    ) {
        let kind = frame.control.kind;
        if let Some(change) = frame.sleep_change {
            self.agreed(capture, packet, frame, change);
        }
        if let Some(station) = frame.transmitter.filter(|_| kind == FrameKind::PsPoll) {
            let (state, findings) = self.station(capture, station, packet, frame);
            state.expire(packet.at, findings);
            state.is_associated_anew((packet, frame), findings);
            self.stations.entry(station).or_default().learn_aid(packet, frame, &self.cells);
            let (state, findings) = (self.stations.entry(station).or_default(), &mut self.findings);
            state.ps_poll(packet, frame, acknowledged, findings);
            self.in_wake_times(station, packet);
        } else if frame.listen_interval.is_some() {
            self.asks_to_associate(capture, packet, frame);
        } else if let Some(aid) = frame.aid {
            self.associated(capture, packet, frame, aid);
        } else if matches!(kind, FrameKind::Deauthentication | FrameKind::Disassociation) {
            self.end_associations(packet, frame);
        } else if !kind.is_data() {
            self.beside_data(capture, packet, frame, (acknowledged, at_once));
        } else if let Some((station, up)) = station_of(frame) {
            let (state, findings) = self.station(capture, station, packet, frame);
            state.expire(packet.at, findings);
            state.count_air(frame, up);
            if up {
                state.sent_by_station(packet, frame, acknowledged, findings);
                self.in_wake_times(station, packet);
                let is_first = !frame.control.retry;
                self.requests.sent(
                    station,
                    packet,
                    is_first,
                    self.stations[&station].uplink.unbroken_since(),
                );
                if let Some(bssid) = frame.bssid.filter(|_| acknowledged == Some(true)) {
                    self.relays.sent(bssid, packet, frame, |mac| self.stations.contains_key(&mac));
                }
            } else if packet.repeated {
                state.promises_again((packet, frame), [acknowledged, at_once]);
                state.repeated_to_station((packet, frame), acknowledged);
            } else {
                let cell = state.record.bssid.and_then(|bssid| self.cells.get(&bssid));
                let not_before = self.requests.answered_by(station, packet);
                let brought_by = frame.bssid.and_then(|bssid| self.relays.brought_by(bssid, packet, frame));
                let since = [not_before, brought_by];
                let delivery = Delivery::new((packet, frame), (acknowledged, at_once), cell, since);
                let state = self.stations.entry(station).or_default();
                state.sent_to_station(&delivery, &mut self.findings);
            }
        }
    }

    /// A frame of a station, with regard to the service periods that it has agreed on.
    fn in_wake_times(&mut self, station: MacAddress, packet: &CapturedPacket) {
        let state = self.stations.entry(station).or_default();
        if let Some(cell) =
            state.record.bssid.and_then(|bssid| self.cells.get(&bssid)).filter(|_| !packet.repeated)
        {
            state.sent_in_wake_times((packet.at, packet.number), cell, &mut self.findings);
        }
    }

    /// A request for an association.
    fn asks_to_associate(&mut self, capture: &Capture, packet: &CapturedPacket, frame: &AirFrame) {
        let Some(station) = frame.transmitter else { return };
        let (state, findings) = self.station(capture, station, packet, frame);
        // What was buffered before an association is dropped with it.
        state.leave(packet.at, findings);
        state.record.uapsd = frame.requested_uapsd.map(|categories| categories != 0);
        state.record.uapsd_categories = frame.requested_uapsd;
        state.association_request = Some(packet.number);
        // Unless the response is captured, the next PS-Poll shows which one it has from now on.
        state.record.aid = None;
        state.association = Association {
            listen_interval: frame.listen_interval,
            is_multi_link: frame.is_multi_link,
            is_twt_requester: frame.supports_twt,
        };
    }

    /// A deauthentication or a disassociation: of one station, or of all of a cell.
    fn end_associations(&mut self, packet: &CapturedPacket, frame: &AirFrame) {
        let mut ended: BTreeSet<MacAddress> =
            [Some(frame.receiver), frame.transmitter].into_iter().flatten().collect();
        let of_all = frame.bssid.filter(|_| frame.receiver.is_group());
        if let Some(cell) = of_all.and_then(|bssid| self.cells.get_mut(&bssid)) {
            ended.append(&mut cell.members);
        }
        for mac in ended {
            if let Some(state) = self.stations.get_mut(&mac) {
                state.read_beacons(&self.cells, &mut self.findings);
                state.leave(packet.at, &mut self.findings);
            }
        }
    }

    /// A frame that is neither data nor a request nor about an association. One of which nothing else was captured is of no station that is
    /// followed.
    fn beside_data(
        &mut self,
        capture: &Capture,
        packet: &CapturedPacket,
        frame: &AirFrame,
        (acknowledged, at_once): (Option<bool>, Option<bool>),
    ) {
        let kind = frame.control.kind;
        // One with another access point, as about its services, is of none of these.
        let of_cell = |mac: MacAddress| self.stations.get(&mac).and_then(|state| state.record.bssid);
        let is_down = of_cell(frame.receiver).is_some_and(|bssid| frame.transmitter == Some(bssid));
        if is_down && kind == FrameKind::Action {
            let (state, findings) = self.station(capture, frame.receiver, packet, frame);
            state.expire(packet.at, findings);
            let cell = state.record.bssid.and_then(|bssid| self.cells.get(&bssid));
            let delivery = Delivery::new((packet, frame), (acknowledged, at_once), cell, [None; 2]);
            let state = self.stations.entry(frame.receiver).or_default();
            state.managed(&delivery, &mut self.findings);
        } else if is_down
            && (frame.mu_rts.is_some() || matches!(kind, FrameKind::Rts | FrameKind::BlockAckRequest))
        {
            let state = self.stations.entry(frame.receiver).or_default();
            state.is_called(packet);
        } else if let Some(aids) = frame.mu_rts.and_then(|place| capture.called.get(place as usize))
            && frame.receiver.is_group()
        {
            let of_cell = self.stations.values_mut().filter(|state| state.record.bssid == frame.transmitter);
            of_cell.filter(|state| state.may_be_among(aids)).for_each(|state| state.is_called(packet));
        } else if let Some(station) = frame.transmitter.filter(|mac| self.stations.contains_key(mac)) {
            let is_of_its_cell = of_cell(station) == frame.bssid;
            if kind == FrameKind::ProbeRequest {
                self.stations.entry(station).or_default().probed();
            }
            if frame.shows_mode() && is_of_its_cell {
                let (state, findings) = self.station(capture, station, packet, frame);
                state.expire(packet.at, findings);
                state.sent_by_station(packet, frame, acknowledged, findings);
            } else if kind.is_management() {
                self.stations.entry(station).or_default().uplink.sent_without_mode(packet, frame);
            }
        }
    }

    /// The access point that a frame is of or for, if its beacons or frames were captured.
    fn cell_of(&self, frame: &AirFrame) -> Option<MacAddress> {
        let is_known = |mac: &MacAddress| self.cells.contains_key(mac);
        let ends = [frame.bssid, frame.transmitter, Some(frame.receiver)];
        ends.into_iter().flatten().find(is_known)
    }

    /// An action frame about the times at which a station is awake. The access point accepts, and either side ends.
    fn agreed(&mut self, capture: &Capture, packet: &CapturedPacket, frame: &AirFrame, change: SleepChange) {
        let is_of_ap = frame.bssid.is_some() && frame.transmitter == frame.bssid;
        let answers =
            matches!(change, SleepChange::TwtAccepted(_) | SleepChange::TwtRefused | SleepChange::Wnm(_));
        let Some(station) = (if is_of_ap { Some(frame.receiver) } else { frame.transmitter }) else { return };
        if station.is_group() || answers && !is_of_ap || change == SleepChange::TwtRequested && is_of_ap {
            return;
        }
        let bssid = frame.bssid.unwrap_or(frame.receiver);
        let clock_us = self.cells.get(&bssid).and_then(|cell| cell.clock_us(packet.at));
        let (state, findings) = self.station(capture, station, packet, frame);
        // The frames before the change are judged by the agreements that held then.
        state.judge_sleep(findings);
        state.has_unread_action |= change == SleepChange::Unreadable;
        findings.agreements(station).change(
            change,
            ((packet.at, packet.number), clock_us),
            &capture.wake_times,
        );
    }

    /// An association response. An access point that announces U-APSD grants it to a station that requests it.
    fn associated(&mut self, capture: &Capture, packet: &CapturedPacket, frame: &AirFrame, aid: u16) {
        if let Some(bssid) = frame.bssid.filter(|_| frame.supports_twt == Some(true)) {
            self.cells.entry(bssid).or_default().is_twt_responder = true;
        }
        if let Some(bssid) = frame.bssid.filter(|_| frame.is_multi_link == Some(true)) {
            self.cells.entry(bssid).or_default().is_multi_link = true;
        }
        let (state, findings) = self.station(capture, frame.receiver, packet, frame);
        let request = state.association_request;
        state.leave(packet.at, findings);
        state.has_aid(aid, packet.number);
        (state.associated_at, state.emptied_at) = (Some(packet.at), Some(packet.at));
        let announces = frame.bssid.and_then(|bssid| capture.networks.get(&bssid)?.uapsd) == Some(true);
        if state.record.uapsd == Some(true) && announces {
            state.record.uapsd = frame.grants_uapsd;
            let Some(grants_uapsd) = frame.grants_uapsd else { return };
            let verdict = if grants_uapsd { Verdict::Kept } else { Verdict::Violated };
            let key = (FindingKind::UapsdNotGranted, verdict, frame.receiver);
            let deciding: Vec<u32> = request.into_iter().chain([packet.number]).collect();
            find(findings, key, (packet.at, packet.number), &deciding, || {
                "the access point announces U-APSD and the station requested it; the association response does not have it"
                    .to_owned()
            });
        }
    }

    /// A frame of an access point that is no beacon, as its cell sees it.
    fn frame_of_access_point(&mut self, packet: &CapturedPacket, frame: &AirFrame) {
        let control = &frame.control;
        let from_ap = match control.kind {
            FrameKind::Action | FrameKind::Deauthentication | FrameKind::Disassociation => true,
            _ => control.from_ds && !control.to_ds,
        };
        let Some(bssid) = frame.bssid.filter(|bssid| from_ap && frame.transmitter == Some(*bssid)) else {
            return;
        };
        // Its first beacon may come later.
        let cell = self.cells.entry(bssid).or_default();
        let stations = &self.stations;
        cell.frame(packet, frame, bssid, &mut self.findings, || {
            stations.values().any(|state| state.record.bssid == Some(bssid) && state.is_asleep())
        });
    }

    /// The state of the station of a frame, up to date with the beacons of its cell before the frame.
    fn station(
        &mut self,
        capture: &Capture,
        mac: MacAddress,
        packet: &CapturedPacket,
        frame: &AirFrame,
    ) -> (&mut StationState, &mut Findings) {
        let state = self.stations.entry(mac).or_default();
        state.read_beacons(&self.cells, &mut self.findings);
        state.record.mac = mac;
        if !std::mem::replace(&mut state.is_active, true) {
            self.active.push(mac);
        }
        if let Some(bssid) = frame.bssid.filter(|bssid| state.record.bssid != Some(*bssid)) {
            let joins = frame.control.kind == FrameKind::Authentication || frame.listen_interval.is_some();
            state.stays.arrive(bssid, packet.number, joins);
            // Another cell assigns another association identifier.
            if state.record.bssid.is_some() {
                state.leave(packet.at, &mut self.findings);
                state.record.forget_aid();
                (state.association.is_multi_link, state.association.is_twt_requester) = (None, None);
            } else {
                if let Some(aid) = capture.associations.get(&mac) {
                    state.has_aid(*aid, packet.number);
                }
                let is_without_uapsd = capture.without_uapsd.contains(&mac);
                state.record.uapsd = state.record.uapsd.or(is_without_uapsd.then_some(false));
            }
            state.record.bssid = Some(bssid);
            state.counters = self.counters.get(&(bssid, mac)).cloned().unwrap_or_default();
            state.beacons_read = self.cells.get(&bssid).map_or(0, |cell| cell.marks.len());
        }
        if let Some(cell) = state.record.bssid.and_then(|bssid| self.cells.get_mut(&bssid)) {
            cell.members.insert(mac);
        }
        (state, &mut self.findings)
    }
}

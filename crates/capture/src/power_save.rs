//! What stations and access points did about power save, as an 802.11 capture shows it.
//!
//! The analysis follows each station's PM bit, PS-Polls, triggers and TIM bits through the frames, and reports what the rules
//! of 802.11-2020 11.2.3 do not allow or what wastes energy. A monitor misses frames, and it does not see when a packet
//! reaches the access point. Therefore there are the grace periods below, each occurrence names its packet, and a finding
//! is [`Certainty::Found`] only if it follows from frames that were captured. What rests on the absence of a frame, or on
//! a time that no frame shows, is [`Certainty::Possible`]. `docs/findings.md` has a ladder for each kind.
//!
//! Left out: S-APSD, TWT, stations of ad hoc networks, and the times in beacons (late beacons).

use std::collections::BTreeMap;

use airwatt_base::{Instant, Span};
use airwatt_dot11::{FrameKind, MacAddress};
use airwatt_energy::{Ledger, State};

use crate::clock::Segment;
use crate::file::Capture;
use crate::packet::{AirFrame, Beacon, Packet};
use crate::stations::station_of;
use airwatt_dot11::airtime::frame_time;

/// A frame may be in the access point's hardware when its station enters power save; for this long that is no fault.
const IN_FLIGHT: Span = Span::from_millis(10);
/// An access point responds to a request within this time, several frames of contention included.
const PROMPT: Span = Span::from_millis(50);
/// A frame that is not captured within two beacon intervals of the usual length counts as not sent.
const NEVER: Span = Span::from_millis(205);
/// A frame this soon after a station left power save was buffered before.
const WAS_WAITING: Span = Span::from_millis(5);
/// PM changes that follow each other within a beacon interval of the usual length save almost nothing.
const FLAP_INTERVAL: Span = Span::from_micros(102_400);
/// This many such changes in a row are flapping.
const FLAP_CHANGES: u32 = 4;
/// Occurrences of a finding that are kept with a description; of all others time and packet are.
const EXAMPLES: usize = 5;
/// A time unit (802.11-2020 3.1).
const TU: Span = Span::from_micros(1_024);

/// The kind of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FindingKind {
    /// The access point sent data to a station in power save that had not requested it.
    SentToSleeper,
    /// A frame was buffered, and no beacon announced it.
    TimNeverSet,
    /// The More Data bit announced a frame, the station requested it, and none was sent.
    MoreDataThenNothing,
    /// No EOSP ended a service period.
    EospMissing,
    /// The station requested its frame and received it late.
    LateDelivery,
    /// A beacon announced a frame and the station requested it several beacons later.
    LateFetch,
    /// The station changed its PM bit repeatedly within beacon intervals.
    PmFlapping,
    /// The access point neither acknowledged a PS-Poll nor responded with data.
    PsPollUnanswered,
    /// A group-addressed frame was sent after a beacon that was no DTIM, while a station was in power save.
    GroupNotAfterDtim,
}

/// How sure a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Certainty {
    /// It follows from frames that were captured.
    Found,
    /// It rests on the absence of a frame that the monitor may have missed, or on a time that it cannot see.
    Possible,
}

impl Certainty {
    /// Its name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Found => "found",
            Self::Possible => "possible",
        }
    }
}

impl FindingKind {
    /// Every kind.
    pub const ALL: [Self; 9] = [
        Self::SentToSleeper,
        Self::TimNeverSet,
        Self::MoreDataThenNothing,
        Self::EospMissing,
        Self::LateDelivery,
        Self::LateFetch,
        Self::PmFlapping,
        Self::PsPollUnanswered,
        Self::GroupNotAfterDtim,
    ];

    /// The clause of 802.11-2020 that has the rule.
    pub const fn clause(self) -> &'static str {
        match self {
            Self::SentToSleeper | Self::TimNeverSet | Self::LateDelivery | Self::PsPollUnanswered => {
                "802.11-2020 11.2.3.6"
            }
            Self::MoreDataThenNothing => "802.11-2020 9.2.4.1.8",
            Self::EospMissing => "802.11-2020 9.2.4.5.3",
            Self::LateFetch => "802.11-2020 11.2.3.7",
            Self::PmFlapping => "802.11-2020 11.2.3.2",
            Self::GroupNotAfterDtim => "802.11-2020 11.2.3.4",
        }
    }

    /// `error` if the standard does not allow it, `warning` if it wastes energy or time.
    pub const fn severity(self) -> &'static str {
        match self {
            Self::LateDelivery | Self::LateFetch | Self::PmFlapping => "warning",
            _ => "error",
        }
    }

    /// Its name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SentToSleeper => "sent-to-sleeping-station",
            Self::TimNeverSet => "tim-never-set",
            Self::MoreDataThenNothing => "more-data-then-nothing",
            Self::EospMissing => "eosp-missing",
            Self::LateDelivery => "late-delivery",
            Self::LateFetch => "late-fetch",
            Self::PmFlapping => "pm-flapping",
            Self::PsPollUnanswered => "ps-poll-unanswered",
            Self::GroupNotAfterDtim => "group-not-after-dtim",
        }
    }

    /// The device that causes it.
    pub const fn cause(self) -> &'static str {
        match self {
            Self::LateFetch | Self::PmFlapping => "station",
            _ => "access point",
        }
    }
}

/// One occurrence of a finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Occurrence {
    /// Its time.
    pub at: Instant,
    /// The packet's number in the file.
    pub packet: u32,
    /// A description, of the first few occurrences.
    pub detail: Option<String>,
}

/// A finding about one station.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Its kind.
    pub kind: FindingKind,
    /// The station; the access point if the finding concerns all of its stations.
    pub station: MacAddress,
    /// How sure it is.
    pub certainty: Certainty,
    /// The occurrences in order of time.
    pub occurrences: Vec<Occurrence>,
    /// Time by which frames were late, over all occurrences.
    pub delay: Span,
    /// Of that, the time for which the station was awake and waited.
    pub awake: Span,
}

/// The power save of one station.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StationRecord {
    /// Its address.
    pub mac: MacAddress,
    /// Its cell.
    pub bssid: Option<MacAddress>,
    /// Its association identifier, from the association or a PS-Poll.
    pub aid: Option<u16>,
    /// Whether it uses U-APSD, from its association or from EOSP bits; `None` if neither was captured.
    pub uapsd: Option<bool>,
    /// Changes of the PM bit.
    pub pm_changes: u32,
    /// Time during which its mode was known.
    pub mode_known: Span,
    /// Of that, in power save (PM = 1).
    pub in_power_save: Span,
    /// PS-Polls.
    pub ps_polls: u32,
    /// Frames that opened a service period.
    pub triggers: u32,
    /// Null and QoS Null frames that it sent.
    pub nulls: u32,
    /// Data frames with a body that it sent, without retransmissions.
    pub data_up: u32,
    /// Data frames with a body that were sent to it, without retransmissions.
    pub data_down: u32,
    /// Beacons of its access point while its association identifier was known.
    pub beacons: u32,
    /// Of those, with its TIM bit set.
    pub tim_set: u32,
    /// Time on the air of what it sent, as far as rates are known.
    pub transmit: Span,
    /// Time on the air of what was sent to it, and of its access point's beacons.
    pub receive: Span,
    /// Of both, while in power save.
    pub awake_in_power_save: Span,
    /// Frames counted in both.
    pub timed_frames: u32,
    /// Frames to and from it whose rate is not known.
    pub untimed_frames: u32,
}

impl StationRecord {
    /// Two ledgers of the radio over `covered`: one of a radio that sleeps whenever the station is in power save and has no
    /// frame on the air, and one of a radio that never sleeps. Its energy lies between. `None` unless the rates of most
    /// frames are known, since nothing is measured otherwise.
    pub fn ledgers(&self, covered: Span) -> Option<(Ledger, Ledger)> {
        if self.timed_frames <= self.untimed_frames {
            return None;
        }
        let busy = self.transmit + self.receive;
        let asleep = self.in_power_save.saturating_sub(self.awake_in_power_save);
        let total = covered.max(busy + asleep);
        let ledger = |asleep: Span| {
            let mut ledger = Ledger::new(Instant::ZERO);
            let mut until = Instant::ZERO;
            let listening = total.saturating_sub(busy + asleep);
            for (state, span) in [
                (State::Transmit, self.transmit),
                (State::Receive, self.receive),
                (State::Sleep, asleep),
                (State::Listen, listening),
            ] {
                until += span;
                ledger.spend(state, until);
            }
            ledger
        };
        Some((ledger(asleep), ledger(Span::ZERO)))
    }
}

/// The power save of all stations of an 802.11 capture.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Observations {
    /// Stations in order of address.
    pub stations: Vec<StationRecord>,
    /// Findings by kind and station.
    pub findings: Vec<Finding>,
}

/// Follows the power save of all stations of a capture; empty for captures that are not of 802.11.
///
/// The work is linear in the packets, up to a logarithm: a beacon is entered in its cell's log, and a station reads the
/// totals of the beacons since its last frame when it has the next one.
pub fn observe(capture: &Capture) -> Observations {
    let is_ack = |frame: &AirFrame| frame.control.kind == FrameKind::Ack;
    let mut observer = Observer { hears_acks: capture.frames.iter().any(is_ack), ..Observer::default() };
    for segment in &capture.segments {
        observer.segment(capture, segment);
    }
    observer.finish()
}

type Findings = BTreeMap<(FindingKind, Certainty, MacAddress), Finding>;

/// Adds an occurrence. Returns its finding.
fn find(
    findings: &mut Findings,
    (kind, certainty, station): (FindingKind, Certainty, MacAddress),
    (at, packet): Mark,
    detail: impl FnOnce() -> String,
) -> &mut Finding {
    let finding = findings.entry((kind, certainty, station)).or_insert_with(|| Finding {
        kind,
        station,
        certainty,
        occurrences: Vec::new(),
        delay: Span::ZERO,
        awake: Span::ZERO,
    });
    let detail = (finding.occurrences.len() < EXAMPLES).then(detail);
    finding.occurrences.push(Occurrence { at, packet, detail });
    finding
}

/// Time and number of a packet that a finding may refer to.
type Mark = (Instant, u32);

/// Time on the air of a number of frames, as far as their rates are known.
#[derive(Clone, Copy, Debug, Default)]
struct AirTotal {
    span: Span,
    timed_frames: u32,
    untimed_frames: u32,
}

impl AirTotal {
    fn add(&mut self, frame: &AirFrame) {
        if let (Some(rate), Some(preamble)) = (frame.rate, frame.preamble) {
            self.span += frame_time(preamble, rate, frame.air_bytes);
            self.timed_frames += 1;
        } else {
            self.untimed_frames += 1;
        }
    }
}

/// The beacons of one cell, in order of time.
#[derive(Debug, Default)]
struct BeaconLog {
    marks: Vec<Mark>,
    /// The total up to each beacon, itself included.
    air: Vec<AirTotal>,
    /// By association identifier, the places in `marks` of the beacons that have its TIM bit set.
    tim: BTreeMap<u16, Vec<u32>>,
    /// Of the last beacon: the DTIM count, and the time between beacons.
    last: Option<(u8, Span)>,
}

impl BeaconLog {
    fn add(&mut self, packet: &Packet, frame: &AirFrame, beacon: &Beacon) {
        let place = self.marks.len() as u32;
        let mut air = self.air.last().copied().unwrap_or_default();
        air.add(frame);
        self.last = beacon.dtim.map(|(count, _)| (count, TU * u64::from(beacon.interval_tu)));
        self.marks.push((packet.at, packet.number));
        self.air.push(air);
        for aid in &beacon.aids {
            self.tim.entry(*aid).or_default().push(place);
        }
    }

    /// Time on the air of the beacons from `from` on.
    fn air_since(&self, from: usize) -> AirTotal {
        let before = from.checked_sub(1).map(|last| self.air[last]).unwrap_or_default();
        let all = self.air.last().copied().unwrap_or_default();
        AirTotal {
            span: all.span.saturating_sub(before.span),
            timed_frames: all.timed_frames - before.timed_frames,
            untimed_frames: all.untimed_frames - before.untimed_frames,
        }
    }

    /// The beacons after `since` and before `until` without the TIM bit of `aid`.
    fn without_tim(&self, since: Instant, until: Instant, aid: u16) -> impl Iterator<Item = Mark> {
        let first = self.marks.partition_point(|(at, _)| *at <= since);
        let end = self.marks.partition_point(|(at, _)| *at < until);
        let set = self.tim.get(&aid).map_or(&[][..], Vec::as_slice);
        let range = first..end.max(first);
        range.filter(|place| set.binary_search(&(*place as u32)).is_err()).map(|place| self.marks[place])
    }

    /// How many beacons from `from` on have the TIM bit of `aid`, and the first of them.
    fn tim_since(&self, from: usize, aid: u16) -> (u32, Option<Mark>) {
        let places = self.tim.get(&aid).map_or(&[][..], Vec::as_slice);
        let set = &places[places.partition_point(|place| (*place as usize) < from)..];
        (set.len() as u32, set.first().map(|place| self.marks[*place as usize]))
    }
}

#[derive(Default)]
struct Observer {
    stations: BTreeMap<MacAddress, StationState>,
    cells: BTreeMap<MacAddress, BeaconLog>,
    findings: Findings,
    /// Whether the capture has acknowledgements; one that was made on an access point often has none.
    hears_acks: bool,
    /// Stations with frames in the present segment.
    active: Vec<MacAddress>,
}

/// What is known of a station at one time.
#[derive(Clone, Debug, Default)]
struct StationState {
    record: StationRecord,
    /// Beacons of its cell that are accounted for.
    beacons_read: usize,
    /// Whether it has frames in the present segment.
    is_active: bool,
    /// PM bit and since when.
    mode: Option<(bool, Instant)>,
    /// Up to when the time in the mode is counted.
    counted: Instant,
    /// A PS-Poll without a response so far.
    polled: Option<Mark>,
    /// Whether that PS-Poll was acknowledged.
    poll_acknowledged: bool,
    /// When a frame with the More Data bit said that another one was buffered.
    buffered_since: Option<Instant>,
    /// A service period that is open, and whether there were frames in it.
    service: Option<(Mark, bool)>,
    /// A frame with the More Data bit; and when the station requested what it announced.
    promised: Option<(Mark, Option<Instant>)>,
    /// The first beacon with the TIM bit since the last delivery; and when the station requested the frames.
    announced: Option<(Mark, Option<Instant>)>,
    /// Beacons since the station entered power save, and whether one had its TIM bit.
    beacons_asleep: u32,
    announced_asleep: bool,
    /// When it left power save, with the two values above.
    woke: Option<(Instant, u32, bool)>,
    /// The last PM change, and the number of changes that followed each other closely.
    last_change: Option<Instant>,
    close_changes: u32,
}

impl Observer {
    fn segment(&mut self, capture: &Capture, segment: &Segment) {
        let packets = &capture.packets[segment.first..segment.end];
        for (index, packet) in packets.iter().enumerate() {
            let Some(frame) = capture.frame(packet) else { continue };
            if let Some(beacon) = frame.beacon.and_then(|at| capture.beacons.get(at as usize)) {
                self.cells.entry(beacon.bssid).or_default().add(packet, frame, beacon);
                continue;
            }
            let next = packets.get(index + 1);
            self.frame(packet, frame, next.and_then(|next| Some((next, capture.frame(next)?))));
            self.group_frame(packet, frame);
        }
        for mac in std::mem::take(&mut self.active) {
            let Some(state) = self.stations.get_mut(&mac) else { continue };
            state.read_beacons(&self.cells, &mut self.findings);
            state.expire(segment.until, &mut self.findings);
            state.count_mode(segment.until);
            // What happens between segments is not known.
            let (record, beacons_read) = (state.record, state.beacons_read);
            *state = StationState { record, beacons_read, ..StationState::default() };
        }
    }

    fn finish(mut self) -> Observations {
        for state in self.stations.values_mut() {
            state.read_beacons(&self.cells, &mut self.findings);
        }
        Observations {
            stations: self.stations.into_values().map(|state| state.record).collect(),
            findings: self.findings.into_values().collect(),
        }
    }

    fn frame(&mut self, packet: &Packet, frame: &AirFrame, next: Option<(&Packet, &AirFrame)>) {
        let kind = frame.control.kind;
        let has_response = next.is_some_and(|(next, response)| {
            matches!(response.control.kind, FrameKind::Ack | FrameKind::BlockAck)
                && Some(response.receiver) == frame.transmitter
                && next.at.saturating_since(packet.at) < Span::from_millis(5)
        });
        let acknowledged = self.hears_acks.then_some(has_response);
        if let Some(station) = frame.transmitter.filter(|_| kind == FrameKind::PsPoll) {
            let (state, findings) = self.station(station, frame);
            state.expire(packet.at, findings);
            state.ps_poll(packet, frame, acknowledged);
        } else if let Some(uapsd) = frame.requested_uapsd {
            if let Some(station) = frame.transmitter {
                self.station(station, frame).0.record.uapsd = Some(uapsd != 0);
            }
        } else if let Some(aid) = frame.aid {
            self.station(frame.receiver, frame).0.record.aid = Some(aid);
        } else if let Some((station, up)) = station_of(frame) {
            let (state, findings) = self.station(station, frame);
            state.expire(packet.at, findings);
            state.count_air(frame, up);
            if up {
                state.sent_by_station(packet, frame, findings);
            } else if !packet.repeated {
                let cell = state.record.bssid;
                let state = self.stations.entry(station).or_default();
                let cell = cell.and_then(|bssid| self.cells.get(&bssid));
                state.sent_to_station(packet, frame, acknowledged, cell, &mut self.findings);
            }
        }
    }

    /// A group-addressed data frame of an access point follows a DTIM beacon if a station of the cell is in power save. It is
    /// one of several if it follows later than the half of a beacon interval, and is then not reported.
    fn group_frame(&mut self, packet: &Packet, frame: &AirFrame) {
        let control = &frame.control;
        if !(control.from_ds && !control.to_ds && control.kind.has_payload() && frame.receiver.is_group()) {
            return;
        }
        let Some(bssid) = frame.bssid.filter(|_| !packet.repeated) else { return };
        let Some(cell) = self.cells.get(&bssid) else { return };
        let (Some((count, interval)), Some((at, _))) = (cell.last, cell.marks.last()) else { return };
        let after = packet.at.saturating_since(*at);
        let is_asleep = |state: &StationState| state.record.bssid == Some(bssid) && state.is_asleep();
        if count == 0 || after > interval || !self.stations.values().any(is_asleep) {
            return;
        }
        let key = (FindingKind::GroupNotAfterDtim, Certainty::Found, bssid);
        find(&mut self.findings, key, (packet.at, packet.number), || {
            format!("{after} after a beacon with DTIM count {count}, while a station was in power save")
        });
    }

    /// The state of the station of a frame, up to date with the beacons of its cell before the frame.
    fn station(&mut self, mac: MacAddress, frame: &AirFrame) -> (&mut StationState, &mut Findings) {
        let state = self.stations.entry(mac).or_default();
        state.read_beacons(&self.cells, &mut self.findings);
        state.record.mac = mac;
        if !std::mem::replace(&mut state.is_active, true) {
            self.active.push(mac);
        }
        if let Some(bssid) = frame.bssid.filter(|bssid| state.record.bssid != Some(*bssid)) {
            // Another cell assigns another association identifier.
            if state.record.bssid.is_some() {
                state.record.aid = None;
            }
            state.record.bssid = Some(bssid);
            state.beacons_read = self.cells.get(&bssid).map_or(0, |cell| cell.marks.len());
        }
        (state, &mut self.findings)
    }
}

impl StationState {
    /// Accounts for the beacons of the station's cell since its last frame. Its mode and identifiers did not change in
    /// between, so totals suffice. What expires does so at the last beacon, since the time of expiry is not reported.
    fn read_beacons(&mut self, cells: &BTreeMap<MacAddress, BeaconLog>, findings: &mut Findings) {
        let Some(cell) = self.record.bssid.and_then(|bssid| cells.get(&bssid)) else { return };
        let from = std::mem::replace(&mut self.beacons_read, cell.marks.len());
        let Some((last, _)) = cell.marks[from..].last() else { return };
        self.expire(*last, findings);
        let air = cell.air_since(from);
        self.add_air(air, false);
        let Some(aid) = self.record.aid else { return };
        let beacons = (cell.marks.len() - from) as u32;
        let (set, first) = cell.tim_since(from, aid);
        self.record.beacons += beacons;
        self.record.tim_set += set;
        if self.is_asleep() {
            self.beacons_asleep += beacons;
            self.announced_asleep |= set > 0;
            if let Some(first) = first {
                self.announced.get_or_insert((first, None));
            }
        }
    }

    const fn is_asleep(&self) -> bool {
        matches!(self.mode, Some((true, _)))
    }

    fn count_air(&mut self, frame: &AirFrame, up: bool) {
        let mut air = AirTotal::default();
        air.add(frame);
        self.add_air(air, up);
    }

    fn add_air(&mut self, air: AirTotal, up: bool) {
        self.record.timed_frames += air.timed_frames;
        self.record.untimed_frames += air.untimed_frames;
        *(if up { &mut self.record.transmit } else { &mut self.record.receive }) += air.span;
        if self.is_asleep() {
            self.record.awake_in_power_save += air.span;
        }
    }

    fn count_mode(&mut self, now: Instant) {
        if let Some((asleep, _)) = self.mode {
            let span = now.saturating_since(self.counted);
            self.record.mode_known += span;
            if asleep {
                self.record.in_power_save += span;
            }
        }
        self.counted = now;
    }

    /// Ends the waits that have lasted too long.
    fn expire(&mut self, now: Instant, findings: &mut Findings) {
        if let Some(mark) = self.polled.filter(|(at, _)| now.saturating_since(*at) > NEVER) {
            self.polled = None;
            // A frame that was promised is another finding.
            if !self.poll_acknowledged && self.promised.is_none() {
                let key = (FindingKind::PsPollUnanswered, Certainty::Possible, self.record.mac);
                find(findings, key, mark, || {
                    "neither an acknowledgement nor data followed the PS-Poll".to_owned()
                });
            }
        }
        if let Some((mark, Some(requested))) = self.promised
            && now.saturating_since(requested) > NEVER
        {
            self.promised = None;
            let key = (FindingKind::MoreDataThenNothing, Certainty::Possible, self.record.mac);
            find(findings, key, mark, || {
                "More Data was set, the station requested the frame, and none was captured".to_owned()
            });
        }
        if let Some((mark, _)) = self.service.filter(|((since, _), _)| now.saturating_since(*since) > NEVER) {
            self.end_service(mark, findings);
        }
    }

    /// Ends a service period without EOSP.
    fn end_service(&mut self, mark: Mark, findings: &mut Findings) {
        let Some((_, anything)) = self.service.take() else { return };
        let what = if anything { "frames were sent" } else { "nothing was sent" };
        let key = (FindingKind::EospMissing, Certainty::Possible, self.record.mac);
        find(findings, key, mark, || {
            format!("the station's trigger opened a service period, {what}, and no EOSP ended it")
        });
    }

    /// The station requests what is buffered: by PS-Poll, by trigger or by leaving power save.
    fn request_buffered(&mut self, at: Instant) {
        if let Some((_, requested)) = &mut self.promised {
            requested.get_or_insert(at);
        }
        if let Some((_, requested)) = &mut self.announced {
            requested.get_or_insert(at);
        }
    }

    /// `acknowledged` is `None` if the capture has no acknowledgements.
    fn ps_poll(&mut self, packet: &Packet, frame: &AirFrame, acknowledged: Option<bool>) {
        self.count_air(frame, true);
        if packet.repeated {
            self.poll_acknowledged |= acknowledged != Some(false);
            return;
        }
        self.record.ps_polls += 1;
        self.record.aid = frame.aid.or(self.record.aid);
        self.polled = Some((packet.at, packet.number));
        self.poll_acknowledged = acknowledged != Some(false);
        self.request_buffered(packet.at);
    }

    fn sent_by_station(&mut self, packet: &Packet, frame: &AirFrame, findings: &mut Findings) {
        let kind = frame.control.kind;
        let asleep = frame.control.power_management;
        if !packet.repeated {
            self.record.nulls += u32::from(matches!(kind, FrameKind::Null | FrameKind::QosNull));
            self.record.data_up += u32::from(kind.has_payload());
        }
        let before = self.mode.map(|(mode, _)| mode);
        if before != Some(asleep) {
            self.change_mode(packet, asleep, findings);
        } else if asleep && kind.is_qos() && self.record.uapsd == Some(true) && !packet.repeated {
            if let Some((mark, _)) = self.service {
                self.end_service(mark, findings);
            }
            self.record.triggers += 1;
            self.service = Some(((packet.at, packet.number), false));
            self.request_buffered(packet.at);
        }
    }

    fn change_mode(&mut self, packet: &Packet, asleep: bool, findings: &mut Findings) {
        let at = packet.at;
        self.count_mode(at);
        let known = self.mode.is_some();
        self.mode = Some((asleep, at));
        // A station in active mode has no service period and no PS-Poll open.
        (self.polled, self.service) = (None, None);
        if asleep {
            (self.beacons_asleep, self.announced_asleep, self.woke) = (0, false, None);
        } else {
            self.woke = known.then_some((at, self.beacons_asleep, self.announced_asleep));
            self.request_buffered(at);
        }
        if !known {
            return;
        }
        self.record.pm_changes += 1;
        let close = self.last_change.is_some_and(|last| at.saturating_since(last) <= FLAP_INTERVAL);
        self.close_changes = if close { self.close_changes + 1 } else { 1 };
        self.last_change = Some(at);
        if self.close_changes == FLAP_CHANGES {
            let key = (FindingKind::PmFlapping, Certainty::Found, self.record.mac);
            find(findings, key, (at, packet.number), || {
                format!("{FLAP_CHANGES} changes of PM or more, each within {FLAP_INTERVAL} of the last")
            });
        }
    }

    fn sent_to_station(
        &mut self,
        packet: &Packet,
        frame: &AirFrame,
        acknowledged: Option<bool>,
        cell: Option<&BeaconLog>,
        findings: &mut Findings,
    ) {
        let mark = (packet.at, packet.number);
        if frame.eosp {
            self.record.uapsd = Some(true);
        }
        if frame.control.kind.has_payload() {
            self.record.data_down += 1;
            self.check_announced(mark, cell, findings);
            self.check_waiting(mark, frame, findings);
            self.check_asleep(mark, acknowledged, findings);
            self.check_late(mark, findings);
            self.promised = None;
            self.buffered_since = None;
            if frame.control.more_data && self.is_asleep() {
                self.promised = Some((mark, None));
                self.buffered_since = Some(mark.0);
            }
        }
        self.polled = None;
        if let Some((_, anything)) = &mut self.service {
            *anything = true;
        }
        if frame.eosp {
            self.service = None;
        }
    }

    /// Data for a station in power save is allowed only as the response to a PS-Poll and in a service period.
    fn check_asleep(&self, mark: Mark, acknowledged: Option<bool>, findings: &mut Findings) {
        let Some((true, since)) = self.mode else { return };
        let allowed = self.polled.is_some() || self.service.is_some();
        // A station whose U-APSD is not known may have opened a service period by any QoS frame.
        if allowed || self.record.uapsd.is_none() && self.record.ps_polls == 0 && acknowledged == Some(true) {
            return;
        }
        let asleep = mark.0.saturating_since(since);
        if asleep > IN_FLIGHT {
            // A station that acknowledges is awake: the frame in which it said so may not have been captured.
            let (certainty, reception) = match acknowledged {
                Some(true) => (Certainty::Possible, "it acknowledged"),
                Some(false) => (Certainty::Found, "no acknowledgement was captured"),
                None => (Certainty::Possible, "the capture has no acknowledgements"),
            };
            find(findings, (FindingKind::SentToSleeper, certainty, self.record.mac), mark, || {
                format!("data {:.3} s after the station set PM = 1; {reception}", asleep.as_secs_f64())
            });
        }
    }

    /// A frame is known to be buffered from the time of a frame before it with the More Data bit until it is sent. Each
    /// beacon in between has to have the station's TIM bit. Stations with U-APSD may have access categories that the TIM
    /// does not announce (802.11-2020 11.2.3.6), so theirs is possible only.
    fn check_announced(&self, mark: Mark, cell: Option<&BeaconLog>, findings: &mut Findings) {
        let (Some(since), Some(aid), Some(cell)) = (self.buffered_since, self.record.aid, cell) else {
            return;
        };
        let certainty = if self.record.uapsd == Some(true) { Certainty::Possible } else { Certainty::Found };
        let key = (FindingKind::TimNeverSet, certainty, self.record.mac);
        let mut first = true;
        for beacon in cell.without_tim(since + IN_FLIGHT, mark.0, aid) {
            let waited = beacon.0.saturating_since(since);
            let finding = find(findings, key, beacon, || {
                format!(
                    "a beacon without the station's TIM bit, {:.3} s after More Data announced the frame of packet {}",
                    waited.as_secs_f64(),
                    mark.1
                )
            });
            if std::mem::take(&mut first) {
                finding.delay += mark.0.saturating_since(beacon.0);
            }
        }
    }

    /// A buffered frame whose arrival at the access point is not known was perhaps announced too late: enough beacons
    /// without the TIM bit were captured while the station slept.
    fn check_waiting(&mut self, mark: Mark, frame: &AirFrame, findings: &mut Findings) {
        let (beacons, announced) = match self.woke.take() {
            Some((woke, beacons, announced)) if mark.0.saturating_since(woke) <= WAS_WAITING => {
                (beacons, announced)
            }
            _ if self.polled.is_some() || self.is_asleep() && frame.control.more_data => {
                (self.beacons_asleep, self.announced_asleep)
            }
            _ => return,
        };
        if beacons >= 2 && !announced && self.record.aid.is_some() && self.buffered_since.is_none() {
            find(findings, (FindingKind::TimNeverSet, Certainty::Possible, self.record.mac), mark, || {
                format!(
                    "a frame was buffered since an unknown time, and none of the {beacons} beacons since the station's last \
                     frame had its TIM bit"
                )
            });
        }
        (self.beacons_asleep, self.announced_asleep) = (0, false);
    }

    fn check_late(&mut self, mark: Mark, findings: &mut Findings) {
        let requested = self.polled.map(|(at, _)| at).or(self.announced.and_then(|(_, requested)| requested));
        if let Some(waited) =
            requested.map(|at| mark.0.saturating_since(at)).filter(|waited| *waited > PROMPT)
        {
            let key = (FindingKind::LateDelivery, Certainty::Found, self.record.mac);
            let finding = find(findings, key, mark, || {
                format!("{:.3} s after the station requested it", waited.as_secs_f64())
            });
            finding.delay += waited;
            finding.awake += waited;
        }
        let Some((announcement, requested)) = self.announced.take() else { return };
        let fetched = requested.unwrap_or(mark.0).saturating_since(announcement.0);
        if fetched > TU * 210 {
            let key = (FindingKind::LateFetch, Certainty::Found, self.record.mac);
            let finding = find(findings, key, announcement, || {
                format!("announced by TIM, requested {:.3} s later", fetched.as_secs_f64())
            });
            finding.delay += fetched;
        }
    }
}

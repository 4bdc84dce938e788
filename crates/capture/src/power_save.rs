//! What stations and access points did about power save, as an 802.11 capture shows it.
//!
//! Follows each station's PM bit, PS-Polls, triggers and TIM bits through the frames, and reports what the rules of
//! 802.11-2020 11.2.3 do not allow or what wastes energy. A monitor misses frames: a station that is said to sleep
//! may have said otherwise in a frame that nobody captured. Hence the grace periods below, and hence each finding names
//! its packet, to be looked at.
//!
//! Left out: group-addressed delivery after DTIM beacons, S-APSD, TWT, and stations of ad hoc networks.

use std::collections::BTreeMap;

use airwatt_base::{Instant, Span};
use airwatt_dot11::{FrameKind, MacAddress};
use airwatt_energy::{Ledger, State};

use crate::clock::Segment;
use crate::file::Capture;
use crate::packet::{AirFrame, Beacon, Packet};
use crate::stations::station_of;
use airwatt_dot11::airtime::frame_time;

/// A frame may be in the access point's hardware when its station goes to sleep: so long it is nobody's fault.
const IN_FLIGHT: Span = Span::from_millis(10);
/// An access point that was asked answers within this, several frames of contention included.
const PROMPT: Span = Span::from_millis(50);
/// What has not come within two beacon intervals of the usual length does not come.
const NEVER: Span = Span::from_millis(205);
/// So soon after a station woke, a frame was waiting for it rather than on its way.
const WAS_WAITING: Span = Span::from_millis(5);
/// PM changes that follow each other within a beacon interval of the usual length save next to nothing.
const FLAP_INTERVAL: Span = Span::from_micros(102_400);
/// So many such changes in a row are flapping.
const FLAP_CHANGES: u32 = 4;
/// Occurrences of a finding that are kept with time and packet.
const EXAMPLES: usize = 5;
/// A time unit (802.11-2020 3.1).
const TU: Span = Span::from_micros(1_024);

/// What was found wrong or wasteful.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FindingKind {
    /// The access point sent data to a station in power save that had not asked for it.
    SentToSleeper,
    /// A frame had been waiting, and no beacon had said so.
    TimNeverSet,
    /// The More Data bit promised more, the station asked, and nothing came.
    MoreDataThenNothing,
    /// A service period was opened and not ended by EOSP.
    EospMissing,
    /// The station asked and its frame came late.
    LateDelivery,
    /// A beacon announced a frame and the station fetched it beacons later.
    LateFetch,
    /// The station changed its PM bit again and again within beacon intervals.
    PmFlapping,
}

impl FindingKind {
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
        }
    }

    /// Who did it.
    pub const fn whose(self) -> &'static str {
        match self {
            Self::LateFetch | Self::PmFlapping => "station",
            _ => "access point",
        }
    }
}

/// One time that it happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Occurrence {
    /// When.
    pub at: Instant,
    /// The packet's number in the file.
    pub packet: u32,
    /// What happened, in words.
    pub detail: String,
}

/// A finding about one station.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What.
    pub kind: FindingKind,
    /// The station.
    pub station: MacAddress,
    /// How often.
    pub count: u64,
    /// The first few occurrences.
    pub examples: Vec<Occurrence>,
}

/// What one station did.
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
    /// The radio's time over `covered`, twice: as if it slept whenever it was in power save and had nothing on the air,
    /// and as if it never slept. What it spent lies between. `None` unless the rates of most frames are known, for
    /// then nothing is measured.
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

/// What an 802.11 capture shows of power save.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Observations {
    /// Stations in order of address.
    pub stations: Vec<StationRecord>,
    /// Findings by kind and station.
    pub findings: Vec<Finding>,
}

/// Reads power save off a capture; empty for captures that are not of 802.11.
pub fn observe(capture: &Capture) -> Observations {
    let mut observer = Observer::default();
    for segment in &capture.segments {
        observer.segment(capture, segment);
    }
    Observations {
        stations: observer.watches.into_values().map(|watch| watch.record).collect(),
        findings: observer.findings.into_values().collect(),
    }
}

type Findings = BTreeMap<(FindingKind, MacAddress), Finding>;

#[derive(Default)]
struct Observer {
    watches: BTreeMap<MacAddress, Watch>,
    findings: Findings,
}

/// Something that a finding would point to: when, and the packet.
type Mark = (Instant, u32);

/// What is known of a station at one time.
#[derive(Clone, Debug, Default)]
struct Watch {
    record: StationRecord,
    /// PM bit and since when.
    mode: Option<(bool, Instant)>,
    /// Up to when the time in the mode is counted.
    counted: Instant,
    /// A PS-Poll that waits for its answer.
    polled: Option<Mark>,
    /// A service period that is open, and whether anything came in it.
    service: Option<(Mark, bool)>,
    /// The More Data bit was set; and when the station asked for what it promised.
    promised: Option<(Mark, Option<Instant>)>,
    /// The first beacon with the TIM bit since the last delivery; and when the station asked.
    announced: Option<(Mark, Option<Instant>)>,
    /// Beacons since the station went to sleep, and whether one had its TIM bit.
    beacons_asleep: u32,
    announced_asleep: bool,
    /// When it woke, with what was seen while it slept.
    woke: Option<(Instant, u32, bool)>,
    /// The last PM change and how many followed each other closely.
    last_change: Option<Instant>,
    close_changes: u32,
}

impl Observer {
    fn segment(&mut self, capture: &Capture, segment: &Segment) {
        let packets = &capture.packets[segment.first..segment.end];
        for (index, packet) in packets.iter().enumerate() {
            let Some(frame) = capture.frame(packet) else { continue };
            if let Some(beacon) = frame.beacon.and_then(|at| capture.beacons.get(at as usize)) {
                self.beacon(packet, frame, beacon);
                continue;
            }
            let next = packets.get(index + 1);
            self.frame(packet, frame, next.and_then(|next| Some((next, capture.frame(next)?))));
        }
        for watch in self.watches.values_mut() {
            watch.expire(segment.until, &mut self.findings);
            watch.count_mode(segment.until);
            // What happens between segments is not known.
            *watch = Watch { record: watch.record, ..Watch::default() };
        }
    }

    fn beacon(&mut self, packet: &Packet, frame: &AirFrame, beacon: &Beacon) {
        for watch in self.watches.values_mut().filter(|watch| watch.record.bssid == Some(beacon.bssid)) {
            watch.expire(packet.at, &mut self.findings);
            watch.spend_air(frame, false);
            let Some(aid) = watch.record.aid else { continue };
            let set = beacon.aids.contains(&aid);
            watch.record.beacons += 1;
            watch.record.tim_set += u32::from(set);
            if watch.is_asleep() {
                watch.beacons_asleep += 1;
                watch.announced_asleep |= set;
                if set {
                    watch.announced.get_or_insert(((packet.at, packet.number), None));
                }
            }
        }
    }

    fn frame(&mut self, packet: &Packet, frame: &AirFrame, next: Option<(&Packet, &AirFrame)>) {
        let kind = frame.control.kind;
        if let Some(station) = frame.transmitter.filter(|_| kind == FrameKind::PsPoll) {
            self.watch(station, frame).ps_poll(packet, frame);
        } else if let Some(uapsd) = frame.requested_uapsd {
            if let Some(station) = frame.transmitter {
                let watch = self.watch(station, frame);
                watch.record.uapsd = Some(uapsd != 0);
            }
        } else if let Some(aid) = frame.aid {
            let watch = self.watch(frame.receiver, frame);
            watch.record.aid = Some(aid);
        } else if let Some((station, up)) = station_of(frame) {
            self.watch(station, frame);
            let Some(watch) = self.watches.get_mut(&station) else { return };
            watch.expire(packet.at, &mut self.findings);
            watch.spend_air(frame, up);
            if up {
                watch.sent_by_station(packet, frame, &mut self.findings);
            } else if !packet.repeated {
                let acknowledged = next.is_some_and(|(next, answer)| {
                    matches!(answer.control.kind, FrameKind::Ack | FrameKind::BlockAck)
                        && Some(answer.receiver) == frame.transmitter
                        && next.at.saturating_since(packet.at) < Span::from_millis(5)
                });
                watch.sent_to_station(packet, frame, acknowledged, &mut self.findings);
            }
        }
    }

    fn watch(&mut self, station: MacAddress, frame: &AirFrame) -> &mut Watch {
        let watch = self.watches.entry(station).or_default();
        watch.record.mac = station;
        if let Some(bssid) = frame.bssid.filter(|bssid| watch.record.bssid != Some(*bssid)) {
            // Another cell gives another association identifier.
            if watch.record.bssid.is_some() {
                watch.record.aid = None;
            }
            watch.record.bssid = Some(bssid);
        }
        watch
    }
}

impl Watch {
    const fn is_asleep(&self) -> bool {
        matches!(self.mode, Some((true, _)))
    }

    fn find(&self, findings: &mut Findings, kind: FindingKind, mark: Mark, detail: String) {
        let station = self.record.mac;
        let finding = findings.entry((kind, station)).or_insert_with(|| Finding {
            kind,
            station,
            count: 0,
            examples: Vec::new(),
        });
        finding.count += 1;
        if finding.examples.len() < EXAMPLES {
            finding.examples.push(Occurrence { at: mark.0, packet: mark.1, detail });
        }
    }

    fn spend_air(&mut self, frame: &AirFrame, up: bool) {
        let (Some(rate), Some(preamble)) = (frame.rate, frame.preamble) else {
            self.record.untimed_frames += 1;
            return;
        };
        let span = frame_time(preamble, rate, frame.air_bytes);
        self.record.timed_frames += 1;
        if up {
            self.record.transmit += span;
        } else {
            self.record.receive += span;
        }
        if self.is_asleep() {
            self.record.awake_in_power_save += span;
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

    /// Closes what has waited too long.
    fn expire(&mut self, now: Instant, findings: &mut Findings) {
        if let Some((mark, Some(asked))) = self.promised
            && now.saturating_since(asked) > NEVER
        {
            self.promised = None;
            let detail = "More Data was set, the station asked, and nothing came".to_owned();
            self.find(findings, FindingKind::MoreDataThenNothing, mark, detail);
        }
        if let Some((mark, _)) = self.service.filter(|((since, _), _)| now.saturating_since(*since) > NEVER) {
            self.end_service(mark, findings);
        }
    }

    /// A service period that ends otherwise than by EOSP.
    fn end_service(&mut self, mark: Mark, findings: &mut Findings) {
        let Some((_, anything)) = self.service.take() else { return };
        let what = if anything { "frames came" } else { "nothing came" };
        let detail = format!("the station's trigger opened a service period, {what}, and no EOSP ended it");
        self.find(findings, FindingKind::EospMissing, mark, detail);
    }

    /// The station asks for what is buffered: by PS-Poll, by trigger or by waking up.
    fn asks(&mut self, at: Instant) {
        if let Some((_, asked)) = &mut self.promised {
            asked.get_or_insert(at);
        }
        if let Some((_, asked)) = &mut self.announced {
            asked.get_or_insert(at);
        }
    }

    fn ps_poll(&mut self, packet: &Packet, frame: &AirFrame) {
        self.spend_air(frame, true);
        if packet.repeated {
            return;
        }
        self.record.ps_polls += 1;
        self.record.aid = frame.aid.or(self.record.aid);
        self.polled = Some((packet.at, packet.number));
        self.asks(packet.at);
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
            self.asks(packet.at);
        }
    }

    fn change_mode(&mut self, packet: &Packet, asleep: bool, findings: &mut Findings) {
        let at = packet.at;
        self.count_mode(at);
        let known = self.mode.is_some();
        self.mode = Some((asleep, at));
        // Whoever is awake needs no service period and has no poll open.
        (self.polled, self.service) = (None, None);
        if asleep {
            (self.beacons_asleep, self.announced_asleep, self.woke) = (0, false, None);
        } else {
            self.woke = known.then_some((at, self.beacons_asleep, self.announced_asleep));
            self.asks(at);
        }
        if !known {
            return;
        }
        self.record.pm_changes += 1;
        let close = self.last_change.is_some_and(|last| at.saturating_since(last) <= FLAP_INTERVAL);
        self.close_changes = if close { self.close_changes + 1 } else { 1 };
        self.last_change = Some(at);
        if self.close_changes == FLAP_CHANGES {
            let detail =
                format!("{FLAP_CHANGES} changes of PM or more, each within {FLAP_INTERVAL} of the last");
            self.find(findings, FindingKind::PmFlapping, (at, packet.number), detail);
        }
    }

    fn sent_to_station(
        &mut self,
        packet: &Packet,
        frame: &AirFrame,
        acknowledged: bool,
        findings: &mut Findings,
    ) {
        let mark = (packet.at, packet.number);
        if frame.eosp {
            self.record.uapsd = Some(true);
        }
        if frame.control.kind.has_payload() {
            self.record.data_down += 1;
            self.check_waiting(mark, frame, findings);
            self.check_asleep(mark, acknowledged, findings);
            self.check_late(mark, findings);
            self.promised = None;
            if frame.control.more_data && self.is_asleep() {
                self.promised = Some((mark, None));
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

    /// Data for a station in power save is allowed as an answer to a PS-Poll and in a service period only.
    fn check_asleep(&self, mark: Mark, acknowledged: bool, findings: &mut Findings) {
        let Some((true, since)) = self.mode else { return };
        let allowed = self.polled.is_some() || self.service.is_some();
        // A station whose U-APSD is not known may have opened a service period by any QoS frame.
        if allowed || self.record.uapsd.is_none() && self.record.ps_polls == 0 && acknowledged {
            return;
        }
        let asleep = mark.0.saturating_since(since);
        if asleep > IN_FLIGHT {
            let heard = if acknowledged { "it acknowledged" } else { "no acknowledgement was captured" };
            let detail = format!("data {:.3} s after the station set PM = 1; {heard}", asleep.as_secs_f64());
            self.find(findings, FindingKind::SentToSleeper, mark, detail);
        }
    }

    /// A frame that was waiting has to have been announced, if beacons enough were seen to tell.
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
        if beacons >= 2 && !announced && self.record.aid.is_some() {
            let detail =
                format!("a frame was waiting, and none of {beacons} beacons had the station's TIM bit");
            self.find(findings, FindingKind::TimNeverSet, mark, detail);
        }
        (self.beacons_asleep, self.announced_asleep) = (0, false);
    }

    fn check_late(&mut self, mark: Mark, findings: &mut Findings) {
        let asked = self.polled.map(|(at, _)| at).or(self.announced.and_then(|(_, asked)| asked));
        if let Some(waited) = asked.map(|at| mark.0.saturating_since(at)).filter(|waited| *waited > PROMPT) {
            let detail = format!("{:.3} s after the station asked", waited.as_secs_f64());
            self.find(findings, FindingKind::LateDelivery, mark, detail);
        }
        let Some(((at, packet), asked)) = self.announced.take() else { return };
        let fetched = asked.unwrap_or(mark.0).saturating_since(at);
        if fetched > TU * 210 {
            let detail = format!("announced by TIM, fetched {:.3} s later", fetched.as_secs_f64());
            self.find(findings, FindingKind::LateFetch, (at, packet), detail);
        }
    }
}

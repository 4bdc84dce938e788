//! What the radio of a station did, as far as its captured frames show it.
//!
//! In power save the radio sleeps but for its own exchanges and for beacons, for which it wakes up as its profile says: DTIM beacons, or
//! those of a listen interval that the caller names, since no frame shows for which beacons a station wakes up. After a
//! request it stays awake until it is answered, and after a DTIM beacon that announces group-addressed frames until the last of them.

use airwatt_base::{Instant, Power, Span};
use airwatt_dot11::{FrameKind, MacAddress};
use airwatt_energy::{BeaconReception, Ledger, Radio, RadioState};
use airwatt_sim::replay::RadioPeriod;

use crate::capture::Capture;
use crate::packet::{AirFrame, Beacon};
use crate::power_save::{ModeSpan, NEVER, Observations, StationRecord, Stay, is_acknowledged};
use crate::stations::{Station, station_of};
use crate::timeline::is_of_group;

/// A pause in power save that a radio cannot sleep in with a profit.
const NAP: Span = Span::from_millis(10);
/// Time on the air of a frame whose rate is not known: some 200 bytes at 6 Mb/s.
const UNKNOWN_AIR: Span = Span::from_micros(300);
/// A share of the energy that a comparison of policies sees.
const SEEN: f64 = 0.02;
/// Frames of others for less than this are printed as 0.00 s.
const LEAST_HEARD: Span = Span::from_millis(5);
/// Bytes of a beacon with its TIM, as in a run.
const BYTES_TO_TIM: u32 = 65;

/// For which beacons a sleeping radio wakes up.
#[derive(Clone, Copy, Debug)]
pub(crate) enum BeaconsWanted {
    /// DTIM beacons.
    Dtims,
    /// One in so many, and DTIM beacons beside it if `dtims`.
    Each { beacons: u32, dtims: bool },
}

impl BeaconsWanted {
    /// Whether it is known which ones these are: of several that are no DTIM beacons no frame says which the station takes.
    pub(crate) const fn are_known(self) -> bool {
        matches!(self, Self::Dtims | Self::Each { beacons: 0 | 1, .. })
    }
}

/// The states that the radio of a station had as far as its frames show them. `None` for a station whose mode is never known.
pub(crate) fn as_captured(
    capture: &Capture,
    seen: &Observations,
    station: &Station,
    radio: &Radio,
    wanted: BeaconsWanted,
) -> Option<Vec<RadioPeriod>> {
    let Station::Mac(mac) = station else { return None };
    let spans = seen.modes.get(mac).filter(|spans| !spans.is_empty())?;
    let record = seen.stations.iter().find(|record| record.mac == *mac)?;
    let hears_acks = capture.frames.iter().any(|frame| frame.control.kind == FrameKind::Ack);
    let mut line = ObservedLine::new(radio, record, spans, wanted);
    for (index, packet) in capture.packets.iter().enumerate() {
        let Some(frame) = capture.frame(packet) else { continue };
        line.stay = seen.stays_of(*mac).at(packet.number);
        if let Some(beacon) = frame.beacon.and_then(|at| capture.beacons.get(at as usize)) {
            line.beacon(packet.at, frame, beacon);
            continue;
        }
        let own = state_of(frame, *mac, line.bssid(), line.before);
        // A radio that sleeps does not receive what is sent to it: nobody acknowledges that.
        let is_to_it = own == Some(RadioState::Receive) && frame.control.kind != FrameKind::Ack;
        let slept = is_to_it && hears_acks && line.sleeps_at(packet.at);
        let own = own.filter(|_| !slept || is_acknowledged(capture, &capture.packets, index));
        line.before = own.filter(|_| frame.control.kind != FrameKind::Ack);
        match own {
            Some(state) => line.own(packet.at, frame, state),
            None => line.group_frame(packet.at, frame),
        }
    }
    let end = capture.segments.iter().map(|segment| segment.until).max().unwrap_or(Instant::ZERO);
    line.fill(end, false);
    Some(line.periods)
}

/// What no replay has, since there the station is alone: while its radio was awake by its own frames, others had theirs on the air, which it
/// received. With that its energy as captured; `None` if it was so little that no comparison sees it.
pub(crate) fn note_of_others(
    capture: &Capture,
    periods: &[RadioPeriod],
    sent: &Radio,
    policy: Option<&str>,
) -> Option<String> {
    let mut ledger = Ledger::new(Instant::ZERO);
    let mut until = Instant::ZERO;
    let mut awake = Span::ZERO;
    for period in periods {
        until += period.duration;
        ledger.spend(period.state, until);
        awake += if period.state == RadioState::Sleep { Span::ZERO } else { period.duration };
    }
    let heard = time_with_others(capture, periods);
    let above_w = sent.receive.as_watts() - sent.listen.as_watts();
    let (own_j, others_j) = (ledger.energy(sent).as_joules(), above_w * heard.as_secs_f64());
    if heard < LEAST_HEARD || others_j < SEEN * (own_j + others_j) {
        return None;
    }
    let under = policy.map_or_else(String::new, |policy| format!(" under {policy}"));
    Some(format!(
        "replays have this station alone. By its frames its radio was awake for {:.2} s{under}, and received frames of others for {:.2} s \
         of that: with them it spent about {:.3} J",
        awake.as_secs_f64(),
        heard.as_secs_f64(),
        own_j + others_j
    ))
}

/// The time in which the radio listened and any frame was on the air: it was not the station's own, during which the radio does not listen.
fn time_with_others(capture: &Capture, periods: &[RadioPeriod]) -> Span {
    let mut heard = Span::ZERO;
    let mut until = Instant::ZERO;
    for packet in &capture.packets {
        // The clock of another segment may have gone back.
        until = if packet.at + NEVER < until { Instant::ZERO } else { until };
        // Also a damaged frame is received.
        let frame = packet.frame.and_then(|at| capture.frames.get(at as usize));
        let Some(end) = frame.and_then(AirFrame::air_time).map(|air| packet.at + air) else { continue };
        let from = packet.at.max(until);
        let first = periods.partition_point(|period| period.start + period.duration <= from);
        for period in periods[first..].iter().take_while(|period| period.start < end) {
            if period.state == RadioState::Listen {
                heard += (period.start + period.duration).min(end).saturating_since(period.start.max(from));
            }
        }
        until = until.max(end);
    }
    heard
}

/// What the radio of a station does during one of its own frames. `before` is what it did during the frame before, which an
/// acknowledgement, without a transmitter, answers.
fn state_of(
    frame: &AirFrame,
    mac: MacAddress,
    cell: Option<MacAddress>,
    before: Option<RadioState>,
) -> Option<RadioState> {
    match frame.control.kind {
        FrameKind::Ack if frame.receiver == mac => Some(RadioState::Receive),
        FrameKind::Ack => {
            let answers = Some(frame.receiver) == cell && before == Some(RadioState::Receive);
            answers.then_some(RadioState::Transmit)
        }
        FrameKind::PsPoll => (frame.transmitter == Some(mac)).then_some(RadioState::Transmit),
        _ => {
            let (_, is_sent) = station_of(frame).filter(|(of, _)| *of == mac)?;
            Some(if is_sent { RadioState::Transmit } else { RadioState::Receive })
        }
    }
}

/// The radio with the power of transmission of the station's frames: the mean by time on the air, as far as their rates are known.
pub(crate) fn radio_of_frames(capture: &Capture, station: &Station, radio: &Radio) -> Radio {
    let mut own = radio.clone();
    let Station::Mac(mac) = station else { return own };
    let (mut energy_j, mut time_s) = (0.0, 0.0);
    for frame in capture.packets.iter().filter_map(|packet| capture.frame(packet)) {
        let is_sent = state_of(frame, *mac, None, None) == Some(RadioState::Transmit);
        let Some((rate, on_air)) = frame.rate().zip(frame.air_time()).filter(|_| is_sent) else { continue };
        let on_air_s = on_air.as_secs_f64();
        energy_j += on_air_s * radio.clone().at_rate(rate).transmit.as_watts();
        time_s += on_air_s;
    }
    if time_s > 0.0 {
        own.transmit = Power::from_nanowatts((1e9 * energy_j / time_s).round() as u64);
    }
    own
}

/// The states of a radio under construction.
struct ObservedLine<'a> {
    periods: Vec<RadioPeriod>,
    until: Instant,
    radio: &'a Radio,
    record: &'a StationRecord,
    spans: &'a [ModeSpan],
    wanted: BeaconsWanted,
    /// With which access point the station is.
    stay: Option<&'a Stay>,
    /// What the station did during the frame before, which an acknowledgement, without a transmitter, answers.
    before: Option<RadioState>,
    /// The last beacon for which the radio woke up.
    beacon: Option<Instant>,
    /// Up to when it stays awake for the answer to a request, unless that comes earlier.
    answer_by: Instant,
    /// Whether that is a service period, which EOSP ends.
    in_service: bool,
    /// Up to when it stays awake for group-addressed frames, unless the last of them comes earlier.
    groups_by: Instant,
}

impl<'a> ObservedLine<'a> {
    fn new(
        radio: &'a Radio,
        record: &'a StationRecord,
        spans: &'a [ModeSpan],
        wanted: BeaconsWanted,
    ) -> Self {
        let (until, answer_by, groups_by) = (Instant::ZERO, Instant::ZERO, Instant::ZERO);
        let (periods, stay, before, beacon, in_service) = (Vec::new(), None, None, None, false);
        Self {
            periods,
            until,
            radio,
            record,
            spans,
            wanted,
            stay,
            before,
            beacon,
            answer_by,
            in_service,
            groups_by,
        }
    }

    fn bssid(&self) -> Option<MacAddress> {
        self.stay.map(|stay| stay.bssid)
    }

    fn in_power_save(&self, at: Instant) -> bool {
        let after = self.spans.partition_point(|span| span.from <= at);
        let span = after.checked_sub(1).and_then(|index| self.spans.get(index));
        span.is_some_and(|span| span.in_power_save && at < span.until)
    }

    fn awake_until(&self) -> Instant {
        self.answer_by.max(self.groups_by)
    }

    fn sleeps_at(&self, at: Instant) -> bool {
        self.in_power_save(at) && self.awake_until() < at
    }

    fn push(&mut self, start: Instant, end: Instant, state: RadioState) {
        let start = start.max(self.until);
        let duration = end.saturating_since(start);
        if duration.is_zero() {
            return;
        }
        match self.periods.last_mut() {
            Some(last) if last.state == state => last.duration += duration,
            _ => self.periods.push(RadioPeriod { start, duration, state, is_simulated: false }),
        }
        self.until = end;
    }

    /// A frame of the station, or to it.
    fn own(&mut self, at: Instant, frame: &AirFrame, state: RadioState) {
        self.fill(at, true);
        let end = at + frame.air_time().unwrap_or(UNKNOWN_AIR);
        self.push(at, end, state);
        let (control, is_sent) = (&frame.control, state == RadioState::Transmit);
        // The frame that enters power save is no trigger.
        let was_in_power_save =
            self.in_power_save(Instant::ZERO + (at - Instant::ZERO).saturating_sub(Span::from_nanos(1)));
        let is_trigger = was_in_power_save && self.record.is_trigger(frame);
        match control.kind {
            FrameKind::Ack => {}
            FrameKind::PsPoll if is_sent => (self.answer_by, self.in_service) = (at + NEVER, false),
            _ if is_sent && control.power_management && is_trigger => {
                (self.answer_by, self.in_service) = (at + NEVER, true);
            }
            _ if is_sent && !control.power_management => self.answer_by = end,
            _ if !is_sent && (frame.eosp || !self.in_service) => self.answer_by = end,
            _ => {}
        }
    }

    /// A frame of others: the radio receives it if it is one of its access point to a group.
    fn group_frame(&mut self, at: Instant, frame: &AirFrame) {
        if !is_of_group(frame) || frame.bssid != self.bssid() || self.sleeps_at(at) {
            return;
        }
        self.fill(at, false);
        let end = at + frame.air_time().unwrap_or(UNKNOWN_AIR);
        self.push(at, end, RadioState::Receive);
        if !frame.control.more_data {
            self.groups_by = self.groups_by.min(end);
        }
    }

    /// Whether a sleeping radio wakes up for a beacon at some time.
    fn wakes_for(&self, at: Instant, beacon: &Beacon) -> bool {
        let is_dtim = beacon.dtim.is_none_or(|(count, _)| count == 0);
        match self.wanted {
            BeaconsWanted::Dtims => is_dtim,
            BeaconsWanted::Each { beacons, dtims } => {
                // A beacon may be late, and its access point's clock another one.
                let least = beacon.interval * u64::from(beacons) - beacon.interval / 2;
                dtims && is_dtim || self.beacon.is_none_or(|last| at.saturating_since(last) >= least)
            }
        }
    }

    /// A beacon. A sleeping radio wakes up for those of its access point that it wants, and receives them up to the TIM unless they name
    /// it.
    fn beacon(&mut self, at: Instant, frame: &AirFrame, beacon: &Beacon) {
        self.before = None;
        if Some(beacon.bssid) != self.bssid() {
            return;
        }
        let is_dtim = beacon.dtim.is_none_or(|(count, _)| count == 0);
        let on_air = frame.air_time().unwrap_or(UNKNOWN_AIR);
        self.groups_by = self.groups_by.min(at);
        if !self.sleeps_at(at) {
            self.fill(at, false);
            self.push(at, at + on_air, RadioState::Receive);
            self.before = Some(RadioState::Receive);
        } else if self.wakes_for(at, beacon) {
            let aid = self.stay.and_then(|stay| stay.aid);
            let is_named =
                beacon.group || aid.map_or(!beacon.aids.is_empty(), |aid| beacon.aids.contains(&aid));
            let whole = is_named || self.radio.beacon_reception == BeaconReception::Whole;
            let to_tim = frame.air_time_of(BYTES_TO_TIM).unwrap_or(on_air);
            let wanted = if whole { on_air } else { to_tim };
            self.wake_for_beacon(at, self.radio.beacon_received(wanted, on_air));
            self.before = Some(RadioState::Receive);
        }
        if is_dtim && beacon.group && self.in_power_save(at) {
            self.groups_by = at + beacon.interval;
        }
    }

    /// A beacon that a sleeping radio wakes up for, of which it receives `received`: after its guard, and at least for its least time
    /// awake.
    fn wake_for_beacon(&mut self, at: Instant, received: Span) {
        let since = at.saturating_since(self.beacon.unwrap_or(Instant::ZERO));
        let guard = self.radio.sleep_clock.guard_after(since);
        self.fill(Instant::ZERO + (at - Instant::ZERO).saturating_sub(guard), false);
        self.push(self.until, at, RadioState::Listen);
        self.push(at, at + received, RadioState::Receive);
        self.push(at, at + self.radio.min_awake, RadioState::Listen);
        self.beacon = Some(at);
    }

    /// The time up to the next frame: asleep in power save unless something is waited for, with a wake-up at its end, otherwise
    /// listening.
    fn fill(&mut self, at: Instant, is_own: bool) {
        if is_own && at.saturating_since(self.until) <= NAP && !self.periods.is_empty() {
            self.push(self.until, at, RadioState::Listen);
            return;
        }
        let first = self.spans.partition_point(|span| span.until <= self.until);
        for span in self.spans[first..].iter().take_while(|span| span.from < at) {
            self.push(self.until, span.from, RadioState::Listen);
            let end = span.until.min(at);
            if !span.in_power_save {
                self.push(self.until, end, RadioState::Listen);
                continue;
            }
            self.push(self.until, self.awake_until().min(end), RadioState::Listen);
            let awake = Instant::ZERO + (end - Instant::ZERO).saturating_sub(self.radio.wake_up.time);
            self.push(self.until, awake.max(self.until), RadioState::Sleep);
            self.push(self.until, end, RadioState::WakeUp);
        }
        self.push(self.until, at, RadioState::Listen);
    }
}

//! The states of each radio and the outcome of each frame, derived from the frames and the decisions of the radios.
//!
//! A radio itself decides when to doze and when to wake. While it is awake, the air determines its state: it transmits
//! while it sends a frame, receives while another node does, and otherwise listens. These are the rules of the ledger,
//! so the durations of a state add up to those of the ledger, to the nanosecond; tests check this.

use std::collections::{BTreeMap, VecDeque};

use airwatt_base::{Instant, Span};
use airwatt_energy::RadioState;
use airwatt_proto::powersave::StationId;

use super::{RunTrace, StationSetting};
use crate::media::cell::RadioEvent;
use crate::media::cell::frame::{Node, TracedFrame};
use crate::route::MediumId;

#[cfg(test)]
mod tests;

/// A period that one radio spent in one state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RadioInterval {
    /// Start of the period.
    pub start: Instant,
    /// Duration of the period.
    pub duration: Span,
    /// The state.
    pub state: RadioState,
}

/// The outcome of a frame on the air.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// The receiver received it; a beacon was alone on the air.
    Received,
    /// Another node sent at the same time.
    Collision,
    /// Noise damaged it.
    Noise,
    /// The receiver was asleep.
    Asleep,
}

impl Outcome {
    /// All outcomes, in the order of the codes in tables.
    pub const ALL: [Self; 4] = [Self::Received, Self::Collision, Self::Noise, Self::Asleep];

    /// The name in traces.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Received => "received",
            Self::Collision => "collision",
            Self::Noise => "noise",
            Self::Asleep => "asleep",
        }
    }
}

/// A period during which a frame was on the air.
type Busy = (Instant, Instant);

impl RunTrace {
    /// The frames in the order of their start times.
    pub(super) fn frames_by_start(&self) -> Vec<&TracedFrame> {
        let mut frames: Vec<&TracedFrame> = self.frames.iter().collect();
        // The sort is stable: frames of one collision keep the order of their senders.
        frames.sort_by_key(|frame| frame.start);
        frames
    }

    /// The states of the radio of `station` from the beginning to the end of the run, without gaps; consecutive states
    /// differ. A station that does not exist has none.
    pub(crate) fn radio_intervals(&self, station: StationId) -> Vec<RadioInterval> {
        let frames = self.frames_by_start();
        self.intervals_of(station, &frames, &self.busy_of(station, &frames))
    }

    /// Returns [`RunTrace::radio_intervals`] for every station, in the order of their numbers.
    pub(super) fn all_radio_intervals(&self, frames: &[&TracedFrame]) -> Vec<Vec<RadioInterval>> {
        let mut channels: BTreeMap<MediumId, Vec<Busy>> = BTreeMap::new();
        let intervals = |(station, setting): (StationId, &StationSetting)| {
            let air = channels.entry(setting.medium).or_insert_with(|| self.busy_of(station, frames));
            self.intervals_of(station, frames, air)
        };
        (0..).zip(&self.setting.stations).map(intervals).collect()
    }

    /// The periods during which frames were on the channel of a station.
    fn busy_of(&self, station: StationId, frames: &[&TracedFrame]) -> Vec<Busy> {
        let medium = self.setting.stations.get(station as usize).map(|setting| setting.medium);
        let on_channel = frames.iter().copied().filter(|frame| Some(frame.medium) == medium);
        busy(&on_channel.collect::<Vec<_>>())
    }

    /// Whether a frame was sent by the radio of a station, as that or as an access point.
    fn is_sent_by(&self, station: StationId, frame: &TracedFrame) -> bool {
        match frame.from {
            Node::Station(other) => other == station,
            Node::AccessPoint => {
                self.setting.cell_of(frame).is_some_and(|cell| cell.shared_radio == Some(station))
            }
            Node::All => false,
        }
    }

    fn intervals_of(&self, station: StationId, frames: &[&TracedFrame], air: &[Busy]) -> Vec<RadioInterval> {
        let Some(setting) = self.setting.stations.get(station as usize) else { return Vec::new() };
        let of = |wanted: &dyn Fn(&TracedFrame) -> bool| {
            let frames: Vec<&TracedFrame> = frames.iter().copied().filter(|frame| wanted(frame)).collect();
            busy(&frames)
        };
        let own = of(&|frame| self.is_sent_by(station, frame));
        let mut line = Line { intervals: Vec::new(), end: self.end };
        let (mut since, mut decision) = (Instant::ZERO, RadioState::Listen);
        let decided = self.radios.iter().filter(|event| event.station == station);
        let decided = decided.map(|event| (event.at, event.state)).chain([(self.end, RadioState::Sleep)]);
        for (until, next) in decided {
            match decision {
                RadioState::Sleep => {
                    let asleep = (since + setting.to_sleep).min(until);
                    line.push(since, asleep, RadioState::ToSleep);
                    line.push(asleep, until, RadioState::Sleep);
                }
                RadioState::WakeUp => line.push(since, until, RadioState::WakeUp),
                _ => line.push_awake(since, until, air, &own),
            }
            (since, decision) = (until, next);
        }
        line.intervals
    }

    /// The outcome of each of `frames`, which are in the order of their start times.
    pub(super) fn outcomes(&self, frames: &[&TracedFrame]) -> Vec<Outcome> {
        let mut receivers = Receivers::new(self.setting.stations.len());
        receivers.add(&self.radios);
        receivers.outcomes(frames)
    }
}

/// The radios that can receive, at times that never decrease.
#[derive(Debug)]
pub(super) struct Receivers {
    awake: Vec<bool>,
    /// Changes that are still ahead, in order of time: `true` is awake.
    changes: VecDeque<(Instant, StationId, bool)>,
}

impl Receivers {
    /// Radios of `stations` stations, all of them awake as at the beginning of a run.
    pub(super) fn new(stations: usize) -> Self {
        Self { awake: vec![true; stations], changes: VecDeque::new() }
    }

    /// Adds state changes of radios, in order of time and after those that were added before.
    pub(super) fn add(&mut self, radios: &[RadioEvent]) {
        self.changes.extend(radios.iter().filter_map(|event| match event.state {
            RadioState::Sleep => Some((event.at, event.station, false)),
            RadioState::Listen => Some((event.at, event.station, true)),
            _ => None,
        }));
    }

    /// The outcome of each of `frames`. They are in the order of their start times, start after all frames of earlier calls,
    /// and include every frame that starts together with one of them.
    pub(super) fn outcomes(&mut self, frames: &[&TracedFrame]) -> Vec<Outcome> {
        let same_start = |index: usize| move |other: &&&TracedFrame| other.start == frames[index].start;
        let begins_with_another = |index: usize| {
            let before = frames[..index].iter().rev().take_while(same_start(index));
            let after = frames[index + 1..].iter().take_while(same_start(index));
            let aggregate = |frame: &TracedFrame| frame.aggregate.map(|aggregate| aggregate.reference);
            let own = aggregate(frames[index]);
            let is_other = |other: &TracedFrame| own.is_none() || aggregate(other) != own;
            before.chain(after).any(|other| other.medium == frames[index].medium && is_other(other))
        };
        let outcome = |(index, frame): (usize, &&TracedFrame)| {
            if frame.received {
                return Outcome::Received;
            }
            if begins_with_another(index) {
                return Outcome::Collision;
            }
            match frame.to {
                Node::Station(station) if !self.is_awake(station, frame.start) => Outcome::Asleep,
                _ => Outcome::Noise,
            }
        };
        frames.iter().enumerate().map(outcome).collect()
    }

    /// Whether the station's radio can receive a frame that starts at `at`, which is not before that of the last call.
    fn is_awake(&mut self, station: StationId, at: Instant) -> bool {
        while let Some(&(_, changed, awake)) = self.changes.front().filter(|(time, ..)| *time <= at) {
            self.awake[changed as usize] = awake;
            self.changes.pop_front();
        }
        self.awake[station as usize]
    }
}

/// The union of the periods of frames, which are in the order of their start times.
fn busy(frames: &[&TracedFrame]) -> Vec<Busy> {
    let mut periods: Vec<Busy> = Vec::with_capacity(frames.len());
    for frame in frames {
        let end = frame.start + frame.duration;
        match periods.last_mut() {
            Some(last) if frame.start < last.1 => last.1 = last.1.max(end),
            _ => periods.push((frame.start, end)),
        }
    }
    periods
}

/// The parts of `periods` that lie between `from` and `until`.
fn within(periods: &[Busy], from: Instant, until: Instant) -> impl Iterator<Item = Busy> + '_ {
    let first = periods.partition_point(|period| period.1 <= from);
    let inside = periods[first..].iter().take_while(move |period| period.0 < until);
    inside.map(move |&(start, end)| (start.max(from), end.min(until)))
}

/// A time line under construction.
struct Line {
    intervals: Vec<RadioInterval>,
    /// Time at which the run ends.
    end: Instant,
}

impl Line {
    /// Continues in `state`; drops periods after the end of the run and those without duration.
    fn push(&mut self, start: Instant, until: Instant, state: RadioState) {
        let duration = until.min(self.end).saturating_since(start);
        if duration.is_zero() {
            return;
        }
        match self.intervals.last_mut() {
            Some(last) if last.state == state => last.duration += duration,
            _ => self.intervals.push(RadioInterval { start, duration, state }),
        }
    }

    /// Appends an awake period, whose state depends on the frames on the air.
    fn push_awake(&mut self, since: Instant, until: Instant, air: &[Busy], own: &[Busy]) {
        let mut at = since;
        for (start, end) in within(air, since, until) {
            self.push(at, start, RadioState::Listen);
            at = start;
            for (send, sent) in within(own, start, end) {
                self.push(at, send, RadioState::Receive);
                self.push(send, sent, RadioState::Transmit);
                at = sent;
            }
            self.push(at, end, RadioState::Receive);
            at = end;
        }
        self.push(at, until, RadioState::Listen);
    }
}

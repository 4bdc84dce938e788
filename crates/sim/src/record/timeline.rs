//! What each radio did and what became of each frame, put together from the frames and the radios' decisions.
//!
//! A radio's own decisions are when to doze and when to wake. In between it is awake, and then what is on the air decides:
//! it transmits while it sends, receives while another node does, and listens else. These are the ledger's rules, so
//! the intervals of a state last together as long as the ledger charged it, to the nanosecond; tests hold them to it.

use airwatt_base::{Instant, Span};
use airwatt_energy::State;
use airwatt_proto::powersave::StationId;

use super::RunTrace;
use crate::media::cell::frame::{AirFrame, Node};

#[cfg(test)]
mod tests;

/// A time that one radio spent in one state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RadioInterval {
    /// When it began.
    pub start: Instant,
    /// How long it lasted.
    pub duration: Span,
    /// The state.
    pub state: State,
}

/// What became of a frame on the air.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// Its receiver got it; of a beacon: it was on the air alone.
    Received,
    /// Another node sent at the same time.
    Collision,
    /// Noise broke it.
    Noise,
    /// Its receiver slept.
    Asleep,
}

impl Outcome {
    /// Every outcome, in the order of the codes in tables.
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

/// A time during which something was on the air.
type Busy = (Instant, Instant);

impl RunTrace {
    /// Frames in the order of their beginnings.
    pub(super) fn frames_by_start(&self) -> Vec<&AirFrame> {
        let mut frames: Vec<&AirFrame> = self.frames.iter().collect();
        // Stable: frames of one collision stay in the order of their senders.
        frames.sort_by_key(|frame| frame.start);
        frames
    }

    /// What the radio of `station` did from the beginning to the end of the run, without gap; neighbours differ in
    /// state. A station that does not exist gives nothing.
    pub fn radio_intervals(&self, station: StationId) -> Vec<RadioInterval> {
        let frames = self.frames_by_start();
        self.intervals_of(station, &frames, &busy(&frames))
    }

    /// As [`RunTrace::radio_intervals`] for every station, in order of their numbers.
    pub(super) fn all_radio_intervals(&self, frames: &[&AirFrame]) -> Vec<Vec<RadioInterval>> {
        let air = busy(frames);
        (0..self.setting.stations.len())
            .map(|station| self.intervals_of(station as StationId, frames, &air))
            .collect()
    }

    fn intervals_of(&self, station: StationId, frames: &[&AirFrame], air: &[Busy]) -> Vec<RadioInterval> {
        let Some(setting) = self.setting.stations.get(station as usize) else { return Vec::new() };
        let me = Node::Station(station);
        let of = |wanted: &dyn Fn(&AirFrame) -> bool| {
            let frames: Vec<&AirFrame> = frames.iter().copied().filter(|frame| wanted(frame)).collect();
            busy(&frames)
        };
        let own = of(&|frame| frame.from == me);
        // Who knows its own traffic hears nothing else.
        let concerns;
        let air = if setting.own_frames_only {
            concerns = of(&|frame| frame.from == me || frame.to == me);
            &concerns
        } else {
            air
        };
        let mut line = Line { intervals: Vec::new(), end: self.end };
        let (mut since, mut decision) = (Instant::ZERO, State::Listen);
        let decided = self.radios.iter().filter(|event| event.station == station);
        let decided = decided.map(|event| (event.at, event.state)).chain([(self.end, State::Sleep)]);
        for (until, next) in decided {
            match decision {
                State::Sleep => {
                    let asleep = (since + setting.to_sleep).min(until);
                    line.push(since, asleep, State::ToSleep);
                    line.push(asleep, until, State::Sleep);
                }
                State::WakeUp => line.push(since, until, State::WakeUp),
                _ => line.push_awake(since, until, air, &own),
            }
            (since, decision) = (until, next);
        }
        line.intervals
    }

    /// What became of each of `frames`, which are in the order of their beginnings.
    pub(super) fn outcomes(&self, frames: &[&AirFrame]) -> Vec<Outcome> {
        let awake: Vec<Vec<Busy>> = (0..self.setting.stations.len())
            .map(|station| self.awake_periods(station as StationId))
            .collect();
        let begins_with = |index: usize, neighbour: Option<usize>| {
            neighbour
                .and_then(|neighbour| frames.get(neighbour))
                .is_some_and(|other| other.start == frames[index].start)
        };
        let outcome = |(index, frame): (usize, &&AirFrame)| {
            if frame.received {
                return Outcome::Received;
            }
            if begins_with(index, index.checked_sub(1)) || begins_with(index, Some(index + 1)) {
                return Outcome::Collision;
            }
            match frame.to {
                Node::Station(station) if !covers(&awake[station as usize], frame.start) => Outcome::Asleep,
                _ => Outcome::Noise,
            }
        };
        frames.iter().enumerate().map(outcome).collect()
    }

    /// When the station's radio could hear a frame that began.
    fn awake_periods(&self, station: StationId) -> Vec<Busy> {
        let mut periods = Vec::new();
        let mut since = Some(Instant::ZERO);
        for event in self.radios.iter().filter(|event| event.station == station) {
            match (event.state, since) {
                (State::Sleep, Some(from)) => {
                    periods.push((from, event.at));
                    since = None;
                }
                (State::Listen, None) => since = Some(event.at),
                _ => {}
            }
        }
        periods.extend(since.map(|from| (from, self.end)));
        periods
    }
}

/// Whether `at` lies in one of the periods, which are in order and apart.
fn covers(periods: &[Busy], at: Instant) -> bool {
    let next = periods.partition_point(|period| period.0 <= at);
    next.checked_sub(1).is_some_and(|last| at < periods[last].1)
}

/// The union of the times of frames that are in the order of their beginnings.
fn busy(frames: &[&AirFrame]) -> Vec<Busy> {
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
    /// The end of the run.
    end: Instant,
}

impl Line {
    /// Goes on in `state`; nothing is kept of what lies beyond the end, nor of what takes no time.
    fn push(&mut self, start: Instant, until: Instant, state: State) {
        let duration = until.min(self.end).saturating_since(start);
        if duration.is_zero() {
            return;
        }
        match self.intervals.last_mut() {
            Some(last) if last.state == state => last.duration += duration,
            _ => self.intervals.push(RadioInterval { start, duration, state }),
        }
    }

    /// A time awake: what is on the air decides.
    fn push_awake(&mut self, since: Instant, until: Instant, air: &[Busy], own: &[Busy]) {
        let mut at = since;
        for (start, end) in within(air, since, until) {
            self.push(at, start, State::Listen);
            at = start;
            for (send, sent) in within(own, start, end) {
                self.push(at, send, State::Receive);
                self.push(send, sent, State::Transmit);
                at = sent;
            }
            self.push(at, end, State::Receive);
            at = end;
        }
        self.push(at, until, State::Listen);
    }
}

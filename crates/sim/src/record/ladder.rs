//! A part of a run as text: a line for each frame on the air and for each state change of a radio.
//!
//! ```text
//!    152.130          sta0 is awake
//!    152.634   216us  AP -> all    beacon   dtim 0 tim sta0
//!    152.929    28us  AP <- sta0   qos-null pm
//!    152.973    28us  AP -> sta0   ack
//!    153.062   252us  AP -> sta0   data     1500 B eosp
//!    153.330    28us  AP <- sta0   ack
//!    153.358          sta0 sleeps
//! ```
//! Times are in milliseconds since the beginning of the run, to the microsecond; a frame's line gives its start and its
//! duration. Arrows show the direction of a frame, with the access point on the left, by its node's name if there are several. The format is for tests
//! and documents; the tables have the precision of a nanosecond.

use std::fmt::Write as _;

use airwatt_base::{Instant, Span};
use airwatt_energy::RadioState;

use super::RunTrace;
use super::timeline::Outcome;
use crate::media::cell::frame::{BeaconContent, Node, TracedFrame};

impl RunTrace {
    /// Formats the frames and radio state changes that begin in `from..to`, in order of time, one line each.
    pub fn ladder(&self, from: Instant, to: Instant) -> String {
        let frames = self.frames_by_start();
        let outcomes = self.outcomes(&frames);
        let inside = |at: Instant| at >= from && at < to;
        let mut lines: Vec<(Instant, String)> = Vec::new();
        for (frame, outcome) in frames.iter().zip(outcomes).filter(|(frame, _)| inside(frame.start)) {
            lines.push((frame.start, self.frame_line(frame, outcome)));
        }
        lines.extend(self.radio_lines().into_iter().filter(|(at, _)| inside(*at)));
        // The sort is stable: at one instant frames come first, as the cell serves its medium first.
        lines.sort_by_key(|(at, _)| *at);
        lines.into_iter().fold(String::new(), |mut text, (_, line)| {
            text.push_str(&line);
            text.push('\n');
            text
        })
    }

    /// The decisions of the radios. A transition that takes no time has no line.
    fn radio_lines(&self) -> Vec<(Instant, String)> {
        let mut lines = Vec::new();
        let mut line = |at: Instant, station: u32, what: &str| {
            lines.push((at, format!("{:>9}  {:>6}  sta{station} {what}", milliseconds(at), "")));
        };
        for (index, event) in self.radios.iter().enumerate() {
            match event.state {
                RadioState::Sleep => {
                    let to_sleep =
                        self.setting.stations.get(event.station as usize).map_or(Span::ZERO, |s| s.to_sleep);
                    if !to_sleep.is_zero() {
                        line(event.at, event.station, "falls asleep");
                    }
                    line(event.at + to_sleep, event.station, "sleeps");
                }
                RadioState::WakeUp => {
                    let next = self.radios[index + 1..].iter().find(|next| next.station == event.station);
                    if next.is_none_or(|next| next.at > event.at) {
                        line(event.at, event.station, "wakes up");
                    }
                }
                _ => line(event.at, event.station, "is awake"),
            }
        }
        lines
    }
}

/// Formats milliseconds rounded to the nearest microsecond, so that propagation delays of a few nanoseconds do not
/// change the text.
fn milliseconds(at: Instant) -> String {
    let micros = (at.as_nanos() + 500) / 1_000;
    format!("{}.{:03}", micros / 1_000, micros % 1_000)
}

impl RunTrace {
    fn frame_line(&self, frame: &TracedFrame, outcome: Outcome) -> String {
        let ap = match self.setting.access_point_of(frame) {
            Some(name) => format!("AP {name}"),
            None => "AP".to_owned(),
        };
        let arrow = match (frame.from, frame.to) {
            (Node::Station(from), Node::Station(to)) => format!("sta{from} -> sta{to}"),
            (Node::Station(station), _) => format!("{ap} <- sta{station}"),
            (_, Node::Station(station)) => format!("{ap} -> sta{station}"),
            _ => format!("{ap} -> all"),
        };
        let micros = (frame.duration.as_nanos() + 500) / 1_000;
        let start = milliseconds(frame.start);
        let mut line = format!("{start:>9}  {micros:>4}us  {arrow:<11}  {:<8}", frame.kind.name());
        if let Some(content) = frame.content() {
            let _ = write!(line, " {content}");
        }
        if let Some(BeaconContent { dtim_count, group, marked }) = &frame.beacon {
            let _ = write!(line, " dtim {dtim_count}{}", if *group { " group" } else { "" });
            let marked: Vec<String> = marked.iter().map(|station| format!("sta{station}")).collect();
            if !marked.is_empty() {
                let _ = write!(line, " tim {}", marked.join(" "));
            }
        }
        let flags = [
            (frame.retry, "retry"),
            (frame.pm, "pm"),
            (frame.flags.more_data, "more-data"),
            (frame.flags.eosp, "eosp"),
        ];
        for (_, name) in flags.iter().filter(|(set, _)| *set) {
            line.push(' ');
            line.push_str(name);
        }
        match outcome {
            Outcome::Received => {}
            Outcome::Collision | Outcome::Noise | Outcome::Asleep => {
                let _ = write!(line, " ({})", outcome.name());
            }
        }
        line.truncate(line.trim_end().len());
        line
    }
}

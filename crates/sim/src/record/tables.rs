//! The traces of a run as tables of columns, ready for Parquet.
//!
//! | table | a row is |
//! | --- | --- |
//! | `congestion_window` | a change of a sender's window, threshold or flight |
//! | `queues` | a change of a queue's length |
//! | `radio_states` | a change of a station's radio |
//! | `triggers` | a station's request for buffered frames: trigger, PS-Poll |
//! | `frames` | a frame on the air |
//!
//! Times are in nanoseconds since the run began, and rows are in their order; names carry their unit. The radio states
//! are put together from the frames and from what the radios decided, so they show what the ledger charges, with one
//! exception: the way to sleep, microseconds where a profile has it, counts here as sleep.

use airwatt_base::Instant;
use airwatt_energy::State;
use airwatt_proto::powersave::StationId;

use super::{QueueTrace, RunTrace};
use crate::air::frame::{AirFrame, Kind, Node};

#[cfg(test)]
mod tests;

/// States of a radio in `radio_states`, by code.
const STATES: [&str; 5] = ["transmit", "receive", "listen", "sleep", "transition"];
const TRANSMIT: u32 = 0;
const RECEIVE: u32 = 1;
const LISTEN: u32 = 2;
const SLEEP: u32 = 3;
const TRANSITION: u32 = 4;

/// A named table.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Its name, also of its file.
    pub name: &'static str,
    /// Columns of equal length.
    pub columns: Vec<Column>,
}

/// A named column.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Its name, with the unit last.
    pub name: &'static str,
    /// Its values.
    pub values: Values,
}

/// The values of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Signed numbers: times and durations.
    I64(Vec<i64>),
    /// Counts and numbers of stations and flows.
    U32(Vec<u32>),
    /// Yes or no.
    Bool(Vec<bool>),
    /// Indices into a list of names.
    Code(Vec<u32>, Vec<String>),
}

impl Values {
    /// How many there are.
    pub const fn len(&self) -> usize {
        match self {
            Self::I64(values) => values.len(),
            Self::U32(values) | Self::Code(values, _) => values.len(),
            Self::Bool(values) => values.len(),
        }
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The values one after the other, little-endian; a truth value is a byte.
    pub fn to_le_bytes(&self) -> Vec<u8> {
        match self {
            Self::I64(values) => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
            Self::U32(values) | Self::Code(values, _) => {
                values.iter().flat_map(|value| value.to_le_bytes()).collect()
            }
            Self::Bool(values) => values.iter().map(|value| u8::from(*value)).collect(),
        }
    }
}

impl RunTrace {
    /// Everything that was recorded, as tables.
    pub fn tables(&self) -> Vec<Table> {
        let mut frames: Vec<&AirFrame> = self.frames.iter().collect();
        // An exchange is recorded as a whole, so a beacon may be noted before an acknowledgement that precedes it.
        frames.sort_by_key(|frame| frame.start);
        vec![
            self.congestion_window(),
            self.queues(),
            self.radio_states(&frames),
            triggers(&frames),
            frame_table(&frames),
        ]
    }

    fn congestion_window(&self) -> Table {
        let windows = &self.windows;
        let numbers =
            |value: fn(&crate::world::WindowSample) -> u32| Values::U32(windows.iter().map(value).collect());
        table(
            "congestion_window",
            [
                ("time_ns", times(windows.iter().map(|sample| sample.at))),
                ("flow", numbers(|sample| sample.flow)),
                ("congestion_window_bytes", numbers(|sample| sample.cwnd)),
                ("slow_start_threshold_bytes", numbers(|sample| sample.ssthresh)),
                ("in_flight_bytes", numbers(|sample| sample.flight)),
            ],
        )
    }

    fn queues(&self) -> Table {
        let named: [(&str, &QueueTrace); 4] = [
            ("wired down", &self.down_queue),
            ("wired up", &self.up_queue),
            ("access point", &self.ap_queue),
            ("power save", &self.ap_power_save),
        ];
        let mut rows: Vec<(Instant, u32, u32)> = Vec::new();
        for (code, (_, trace)) in (0..).zip(named) {
            rows.extend(trace.iter().map(|&(at, packets)| (at, code, packets)));
        }
        // Stable: several changes of one queue at one instant stay in their order.
        rows.sort_by_key(|&(at, ..)| at);
        let names = named.iter().map(|(name, _)| (*name).to_owned()).collect();
        table(
            "queues",
            [
                ("time_ns", times(rows.iter().map(|row| row.0))),
                ("queue", Values::Code(rows.iter().map(|row| row.1).collect(), names)),
                ("packets", Values::U32(rows.iter().map(|row| row.2).collect())),
            ],
        )
    }

    fn radio_states(&self, frames: &[&AirFrame]) -> Table {
        let mut rows: Vec<(Instant, StationId, u32)> = Vec::new();
        for station in 0..self.stations {
            rows.extend(self.states_of(station, frames).into_iter().map(|(at, state)| (at, station, state)));
        }
        rows.sort_by_key(|&(at, ..)| at);
        let names = STATES.iter().map(|name| (*name).to_owned()).collect();
        table(
            "radio_states",
            [
                ("time_ns", times(rows.iter().map(|row| row.0))),
                ("station", Values::U32(rows.iter().map(|row| row.1).collect())),
                ("state", Values::Code(rows.iter().map(|row| row.2).collect(), names)),
            ],
        )
    }

    /// Changes of one radio: what it decided, and while it is awake what is on the air.
    fn states_of(&self, station: StationId, frames: &[&AirFrame]) -> Vec<(Instant, u32)> {
        // Beginning and end of each frame as +1 and -1 of a count, its own frames' and the others'.
        let mut edges: Vec<(Instant, Edge)> = Vec::with_capacity(2 * frames.len());
        for frame in frames {
            let own = frame.from == Node::Station(station);
            edges.push((frame.start, Edge::Air { own, begins: true }));
            edges.push((frame.start + frame.duration, Edge::Air { own, begins: false }));
        }
        let decided = self.radios.iter().filter(|event| event.station == station);
        edges.extend(decided.map(|event| (event.at, Edge::Radio(event.state))));
        edges.sort_by_key(|&(at, _)| at);
        let (mut own, mut others, mut decision) = (0_u32, 0_u32, State::Listen);
        let mut states: Vec<(Instant, u32)> = vec![(Instant::ZERO, LISTEN)];
        for (index, &(at, edge)) in edges.iter().enumerate() {
            match edge {
                Edge::Air { own: true, begins } => own = step(own, begins),
                Edge::Air { own: false, begins } => others = step(others, begins),
                Edge::Radio(state) => decision = state,
            }
            if at >= self.end || edges.get(index + 1).is_some_and(|next| next.0 == at) {
                continue;
            }
            let state = match decision {
                State::Sleep | State::ToSleep => SLEEP,
                State::WakeUp => TRANSITION,
                _ if own > 0 => TRANSMIT,
                _ if others > 0 => RECEIVE,
                _ => LISTEN,
            };
            match states.last_mut() {
                Some(last) if last.0 == at => last.1 = state,
                Some(last) if last.1 == state => {}
                _ => states.push((at, state)),
            }
        }
        states
    }
}

/// What may change a radio's state.
#[derive(Clone, Copy)]
enum Edge {
    Air { own: bool, begins: bool },
    Radio(State),
}

const fn step(count: u32, begins: bool) -> u32 {
    if begins { count + 1 } else { count - 1 }
}

fn triggers(frames: &[&AirFrame]) -> Table {
    let asked: Vec<(&AirFrame, StationId, u32)> = frames
        .iter()
        .filter_map(|frame| match (frame.from, frame.kind) {
            (Node::Station(station), Kind::QosNull) => Some((*frame, station, 0)),
            (Node::Station(station), Kind::PsPoll) => Some((*frame, station, 1)),
            _ => None,
        })
        .collect();
    let kinds = ["trigger", "ps-poll"].map(str::to_owned).to_vec();
    table(
        "triggers",
        [
            ("time_ns", times(asked.iter().map(|row| row.0.start))),
            ("station", Values::U32(asked.iter().map(|row| row.1).collect())),
            ("kind", Values::Code(asked.iter().map(|row| row.2).collect(), kinds)),
            ("received", Values::Bool(asked.iter().map(|row| row.0.received).collect())),
            ("retry", Values::Bool(asked.iter().map(|row| row.0.retry).collect())),
        ],
    )
}

fn frame_table(frames: &[&AirFrame]) -> Table {
    let flag = |value: fn(&AirFrame) -> bool| Values::Bool(frames.iter().map(|frame| value(frame)).collect());
    let node = |value: fn(&AirFrame) -> Node| coded(frames.iter().map(|frame| node_name(value(frame))));
    table(
        "frames",
        [
            ("time_ns", times(frames.iter().map(|frame| frame.start))),
            (
                "duration_ns",
                Values::I64(frames.iter().map(|frame| frame.duration.as_nanos() as i64).collect()),
            ),
            ("from", node(|frame| frame.from)),
            ("to", node(|frame| frame.to)),
            ("kind", coded(frames.iter().map(|frame| frame.kind.name().to_owned()))),
            ("rate_bps", Values::I64(frames.iter().map(|frame| frame.rate.as_bps() as i64).collect())),
            ("bytes", Values::U32(frames.iter().map(|frame| frame.bytes).collect())),
            ("received", flag(|frame| frame.received)),
            ("retry", flag(|frame| frame.retry)),
            ("pm", flag(|frame| frame.pm)),
            ("more_data", flag(|frame| frame.flags.more_data)),
            ("eosp", flag(|frame| frame.flags.eosp)),
            ("sequence", Values::U32(frames.iter().map(|frame| u32::from(frame.sequence)).collect())),
        ],
    )
}

fn node_name(node: Node) -> String {
    match node {
        Node::AccessPoint => "access point".to_owned(),
        Node::Station(station) => format!("station {station}"),
        Node::All => "all".to_owned(),
    }
}

/// Names as codes, in the order of their first appearance.
fn coded(names: impl Iterator<Item = String>) -> Values {
    let mut known = std::collections::BTreeMap::new();
    let mut labels = Vec::new();
    let codes = names
        .map(|name| {
            *known.entry(name).or_insert_with_key(|name| {
                labels.push(name.clone());
                labels.len() as u32 - 1
            })
        })
        .collect();
    Values::Code(codes, labels)
}

fn times(instants: impl Iterator<Item = Instant>) -> Values {
    Values::I64(instants.map(|instant| instant.as_nanos() as i64).collect())
}

fn table<const N: usize>(name: &'static str, columns: [(&'static str, Values); N]) -> Table {
    Table { name, columns: columns.into_iter().map(|(name, values)| Column { name, values }).collect() }
}

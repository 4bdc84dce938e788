//! The traces of a run as tables of columns, ready for Parquet.
//!
//! | table | a row is |
//! | --- | --- |
//! | `congestion_window` | a change of a sender's window, threshold or flight |
//! | `deliveries` | the bytes that a flow delivered in 100 ms, if any |
//! | `queues` | a change of a queue's length |
//! | `radio_states` | a period that a station's radio spent in one state |
//! | `triggers` | a station's frame that requests buffered frames or announces a power-management mode |
//! | `beacons` | a beacon, and the number of stations for which its TIM announces frames |
//! | `frames` | a frame on the air |
//! | `adaptations` | the state of an adaptive policy after each change |
//!
//! Times are in nanoseconds since the beginning of the run, and rows are ordered by time; names include their unit. The
//! radio states of a station have no gaps, and their total durations equal those of the ledger, to the nanosecond.

use airwatt_base::Instant;
use airwatt_energy::RadioState;
use airwatt_proto::powersave::{Adaptation, StationId};

use super::timeline::{Outcome, RadioInterval};
use super::{QueueTrace, RunTrace, Setting};
use crate::media::cell::frame::{CellFrameKind, Node, TracedFrame};
use crate::stack::flow::BIN;

#[cfg(test)]
mod tests;

/// A named table.
#[derive(Clone, Debug, PartialEq)]
pub struct ResultTable {
    /// The name of the table and of its file.
    pub name: &'static str,
    /// Columns of equal length.
    pub columns: Vec<Column>,
}

/// A named column.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// The name, with the unit last.
    pub name: &'static str,
    /// Its values.
    pub values: Values,
}

/// The values of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Signed numbers for times and durations.
    I64(Vec<i64>),
    /// Counts, and numbers of stations and flows.
    U32(Vec<u32>),
    /// Truth values.
    Bool(Vec<bool>),
    /// Indices into a list of names.
    Code(Vec<u32>, Vec<String>),
}

impl Values {
    /// The number of values.
    pub const fn len(&self) -> usize {
        match self {
            Self::I64(values) => values.len(),
            Self::U32(values) | Self::Code(values, _) => values.len(),
            Self::Bool(values) => values.len(),
        }
    }

    /// Whether there are no values.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The values in sequence, little-endian; a truth value takes a byte.
    pub fn to_le_bytes(&self) -> Vec<u8> {
        match self {
            // Concatenated, since a collected `flat_map` grows by doubling: traces may be large.
            Self::I64(values) => values.iter().map(|value| value.to_le_bytes()).collect::<Vec<_>>().concat(),
            Self::U32(values) | Self::Code(values, _) => {
                values.iter().map(|value| value.to_le_bytes()).collect::<Vec<_>>().concat()
            }
            Self::Bool(values) => values.iter().map(|value| u8::from(*value)).collect(),
        }
    }
}

impl RunTrace {
    /// Returns everything that was recorded, as tables.
    pub fn tables(&self) -> Vec<ResultTable> {
        let mut tables = Vec::new();
        self.each_table(|table| tables.push(table));
        tables
    }

    /// Makes the tables of everything that was recorded, one after the other: all at once may take gigabytes.
    pub fn each_table(&self, mut take: impl FnMut(ResultTable)) {
        take(self.congestion_window());
        take(self.deliveries());
        take(self.queues());
        let frames = self.frames_by_start();
        take(radio_states(&self.all_radio_intervals(&frames)));
        take(self.triggers(&frames));
        take(beacons(&self.setting, &frames));
        take(frame_table(&self.setting, &frames, &self.outcomes(&frames)));
        take(self.adaptation_table());
    }

    fn adaptation_table(&self) -> ResultTable {
        let rows = &self.adaptations;
        let numbers = |value: fn(&Adaptation) -> u64| {
            Values::I64(rows.iter().map(|(.., state)| value(state) as i64).collect())
        };
        table(
            "adaptations",
            [
                ("time_ns", times(rows.iter().map(|(at, ..)| *at))),
                ("station", Values::U32(rows.iter().map(|(_, station, _)| *station).collect())),
                ("interval_ns", numbers(|state| state.interval.as_nanos())),
                ("peak_rate_bps", numbers(|state| state.peak_bps)),
                // The rate is 0 while the traffic is not known to be limited by the application.
                ("application_rate_bps", numbers(|state| state.application_bps.unwrap_or(0))),
                ("throughput_bps", numbers(|state| state.throughput_bps)),
                ("active", Values::Bool(rows.iter().map(|(.., state)| state.active).collect())),
            ],
        )
    }

    fn congestion_window(&self) -> ResultTable {
        let windows = &self.windows;
        let numbers =
            |value: fn(&crate::net::WindowSample) -> u32| Values::U32(windows.iter().map(value).collect());
        table(
            "congestion_window",
            [
                ("time_ns", times(windows.iter().map(|sample| sample.at))),
                ("flow", numbers(|sample| sample.flow)),
                ("connection", numbers(|sample| sample.connection.into())),
                ("congestion_window_bytes", numbers(|sample| sample.cwnd)),
                ("slow_start_threshold_bytes", numbers(|sample| sample.ssthresh)),
                ("in_flight_bytes", numbers(|sample| sample.flight)),
            ],
        )
    }

    fn deliveries(&self) -> ResultTable {
        let (from, flows) = &self.deliveries;
        let bins = flows.iter().map(Vec::len).max().unwrap_or_default();
        let rows = || {
            let row = move |bin: usize| {
                (0..).zip(flows).filter_map(move |(flow, bins)| {
                    let bytes = bins.get(bin).copied().filter(|bytes| *bytes > 0)?;
                    Some((*from + BIN * bin as u64, flow, bytes))
                })
            };
            (0..bins).flat_map(row)
        };
        table(
            "deliveries",
            [
                ("time_ns", times(rows().map(|row| row.0))),
                ("flow", Values::U32(rows().map(|row| row.1).collect())),
                ("bytes", Values::I64(rows().map(|row| row.2 as i64).collect())),
            ],
        )
    }

    fn queues(&self) -> ResultTable {
        let mut named: Vec<(&str, &QueueTrace)> = vec![
            ("wired down", &self.down_queue),
            ("wired up", &self.up_queue),
            ("access point", &self.ap_queue),
            ("power save", &self.ap_power_save),
            ("link down", &self.link_down_queue),
            ("link up", &self.link_up_queue),
        ];
        named.extend(self.further_queues.iter().map(|(name, trace)| (name.as_str(), trace)));
        let mut rows: Vec<(Instant, u32, u32)> = Vec::new();
        for (code, (_, trace)) in (0..).zip(&named) {
            rows.extend(trace.iter().map(|&(at, packets)| (at, code, packets)));
        }
        // The sort is stable: several changes of one queue at one instant keep their order.
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

    fn triggers(&self, frames: &[&TracedFrame]) -> ResultTable {
        const KINDS: [&str; 4] = ["trigger", "ps-poll", "pm-null", "data"];
        let rows = frames.iter().filter_map(|frame| {
            let Node::Station(station) = frame.from else { return None };
            let code = match frame.kind {
                CellFrameKind::QosNull => 0,
                CellFrameKind::PsPoll => 1,
                CellFrameKind::Null => 2,
                CellFrameKind::Data if frame.pm && self.setting.stations[station as usize].uapsd => 3,
                _ => return None,
            };
            Some((*frame, station, code))
        });
        let rows: Vec<(&TracedFrame, StationId, u32)> = rows.collect();
        table(
            "triggers",
            [
                ("time_ns", times(rows.iter().map(|row| row.0.start))),
                ("station", Values::U32(rows.iter().map(|row| row.1).collect())),
                ("kind", Values::Code(rows.iter().map(|row| row.2).collect(), owned(&KINDS))),
                ("pm", Values::Bool(rows.iter().map(|row| row.0.pm).collect())),
                ("received", Values::Bool(rows.iter().map(|row| row.0.received).collect())),
                ("retry", Values::Bool(rows.iter().map(|row| row.0.retry).collect())),
            ],
        )
    }
}

fn radio_states(stations: &[Vec<RadioInterval>]) -> ResultTable {
    let numbered = (0..).zip(stations);
    let mut rows: Vec<(StationId, RadioInterval)> =
        numbered.flat_map(|(id, intervals)| intervals.iter().map(move |interval| (id, *interval))).collect();
    rows.sort_by_key(|row| row.1.start);
    let code = |state: RadioState| {
        RadioState::ALL.iter().position(|known| *known == state).expect("every state is among all") as u32
    };
    table(
        "radio_states",
        [
            ("time_ns", times(rows.iter().map(|row| row.1.start))),
            ("duration_ns", Values::I64(rows.iter().map(|row| row.1.duration.as_nanos() as i64).collect())),
            ("station", Values::U32(rows.iter().map(|row| row.0).collect())),
            (
                "state",
                Values::Code(
                    rows.iter().map(|row| code(row.1.state)).collect(),
                    owned(&RadioState::ALL.map(RadioState::name)),
                ),
            ),
        ],
    )
}

fn beacons(setting: &Setting, frames: &[&TracedFrame]) -> ResultTable {
    let rows: Vec<(&TracedFrame, u32, u32)> = frames
        .iter()
        .filter_map(|frame| {
            let content = frame.beacon.as_ref()?;
            Some((*frame, u32::from(content.dtim_count), content.marked.len() as u32))
        })
        .collect();
    table(
        "beacons",
        [
            ("time_ns", times(rows.iter().map(|row| row.0.start))),
            ("dtim_count", Values::U32(rows.iter().map(|row| row.1).collect())),
            ("tim_stations", Values::U32(rows.iter().map(|row| row.2).collect())),
            ("received", Values::Bool(rows.iter().map(|row| row.0.received).collect())),
            ("cell", coded(rows.iter().map(|row| cell_name(setting, row.0)))),
        ],
    )
}

fn frame_table(setting: &Setting, frames: &[&TracedFrame], outcomes: &[Outcome]) -> ResultTable {
    let flag =
        |value: fn(&TracedFrame) -> bool| Values::Bool(frames.iter().map(|frame| value(frame)).collect());
    let node = |value: fn(&TracedFrame) -> Node| {
        coded(frames.iter().map(|frame| node_name(setting, frame, value(frame))))
    };
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
            (
                "rate_bps",
                Values::I64(frames.iter().map(|frame| frame.vector.rate().as_bps() as i64).collect()),
            ),
            ("bytes", Values::U32(frames.iter().map(|frame| frame.bytes).collect())),
            (
                "packet_bytes",
                Values::U32(
                    frames.iter().map(|frame| frame.packets().map(|packet| packet.bytes).sum()).collect(),
                ),
            ),
            ("received", flag(|frame| frame.received)),
            (
                "outcome",
                Values::Code(
                    outcomes.iter().map(|outcome| *outcome as u32).collect(),
                    owned(&Outcome::ALL.map(Outcome::name)),
                ),
            ),
            ("retry", flag(|frame| frame.retry)),
            ("pm", flag(|frame| frame.pm)),
            ("more_data", flag(|frame| frame.flags.more_data)),
            ("eosp", flag(|frame| frame.flags.eosp)),
            ("sequence", Values::U32(frames.iter().map(|frame| u32::from(frame.sequence)).collect())),
            ("cell", coded(frames.iter().map(|frame| cell_name(setting, frame)))),
        ],
    )
}

fn cell_name(setting: &Setting, frame: &TracedFrame) -> String {
    setting.cell_of(frame).map_or_else(String::new, |cell| cell.name.clone())
}

/// The name of the sender or receiver of a frame.
fn node_name(setting: &Setting, frame: &TracedFrame, node: Node) -> String {
    match node {
        Node::AccessPoint => {
            let name = setting.access_point_of(frame).map_or_else(String::new, |name| format!(" {name}"));
            format!("access point{name}")
        }
        Node::Station(station) => format!("station {station}"),
        Node::All => "all".to_owned(),
    }
}

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// Encodes names as codes, in the order of their first appearance.
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

fn table<const N: usize>(name: &'static str, columns: [(&'static str, Values); N]) -> ResultTable {
    ResultTable { name, columns: columns.into_iter().map(|(name, values)| Column { name, values }).collect() }
}

//! A run in the format of the Perfetto viewer: radio states and power of each station, frames of each node, windows and
//! queues.
//!
//! The format is a sequence of protobuf messages (perfetto.dev, `trace_packet.proto`, `track_descriptor.proto`,
//! `track_event.proto`). This module writes descriptors of tracks, slices with a name, and counters; each message has
//! only a few fields, so the encoding is done here rather than by a generated library. Timestamps are nanoseconds since
//! the run began.

use std::io;

use airwatt_base::Instant;
use airwatt_proto::powersave::StationId;

use super::{QueueTrace, RunTrace};
use crate::media::cell::frame::{Node, TracedFrame};

/// Field numbers of the messages, by message.
mod field {
    pub(super) const TRACE_PACKET: u32 = 1;

    pub(super) const TIMESTAMP: u32 = 8;
    pub(super) const SEQUENCE_ID: u32 = 10;
    pub(super) const TRACK_EVENT: u32 = 11;
    pub(super) const TRACK_DESCRIPTOR: u32 = 60;

    pub(super) const DESCRIPTOR_UUID: u32 = 1;
    pub(super) const DESCRIPTOR_NAME: u32 = 2;
    pub(super) const DESCRIPTOR_PARENT: u32 = 5;
    pub(super) const DESCRIPTOR_COUNTER: u32 = 8;
    pub(super) const COUNTER_UNIT_NAME: u32 = 6;

    pub(super) const EVENT_TYPE: u32 = 9;
    pub(super) const EVENT_TRACK: u32 = 11;
    pub(super) const EVENT_NAME: u32 = 23;
    pub(super) const EVENT_COUNTER: u32 = 30;
}

/// Values of a track event's type.
const SLICE_BEGIN: u64 = 1;
const SLICE_END: u64 = 2;
const COUNTER: u64 = 4;

/// All packets have the same writer.
const SEQUENCE: u64 = 1;

/// A message under construction.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    /// Appends a number in base 128, the least significant group first.
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn number(mut self, field: u32, value: u64) -> Self {
        self.varint(u64::from(field) << 3);
        self.varint(value);
        self
    }

    fn bytes(mut self, field: u32, value: &[u8]) -> Self {
        self.varint(u64::from(field) << 3 | 2);
        self.varint(value.len() as u64);
        self.0.extend_from_slice(value);
        self
    }

    fn message(self, field: u32, value: Self) -> Self {
        self.bytes(field, &value.0)
    }
}

/// Writes packets, and assigns an identifier to each track.
struct Writer<'a> {
    out: &'a mut dyn io::Write,
    tracks: u64,
}

impl Writer<'_> {
    fn packet(&mut self, packet: Message) -> io::Result<()> {
        let packet = packet.number(field::SEQUENCE_ID, SEQUENCE);
        self.out.write_all(&Message::default().message(field::TRACE_PACKET, packet).0)
    }

    /// Adds a track; one with a unit is a counter.
    fn track(&mut self, name: &str, parent: Option<u64>, unit: Option<&str>) -> io::Result<u64> {
        self.tracks += 1;
        let mut track = Message::default()
            .number(field::DESCRIPTOR_UUID, self.tracks)
            .bytes(field::DESCRIPTOR_NAME, name.as_bytes());
        if let Some(parent) = parent {
            track = track.number(field::DESCRIPTOR_PARENT, parent);
        }
        if let Some(unit) = unit {
            let counter = Message::default().bytes(field::COUNTER_UNIT_NAME, unit.as_bytes());
            track = track.message(field::DESCRIPTOR_COUNTER, counter);
        }
        self.packet(Message::default().message(field::TRACK_DESCRIPTOR, track))?;
        Ok(self.tracks)
    }

    fn event(&mut self, at: Instant, event: Message) -> io::Result<()> {
        self.packet(
            Message::default().number(field::TIMESTAMP, at.as_nanos()).message(field::TRACK_EVENT, event),
        )
    }

    fn slice(&mut self, track: u64, name: &str, start: Instant, end: Instant) -> io::Result<()> {
        let begin = Message::default()
            .number(field::EVENT_TYPE, SLICE_BEGIN)
            .number(field::EVENT_TRACK, track)
            .bytes(field::EVENT_NAME, name.as_bytes());
        self.event(start, begin)?;
        let finish =
            Message::default().number(field::EVENT_TYPE, SLICE_END).number(field::EVENT_TRACK, track);
        self.event(end, finish)
    }

    fn count(&mut self, track: u64, at: Instant, value: u64) -> io::Result<()> {
        let event = Message::default()
            .number(field::EVENT_TYPE, COUNTER)
            .number(field::EVENT_TRACK, track)
            .number(field::EVENT_COUNTER, value);
        self.event(at, event)
    }

    fn queue(&mut self, name: &str, parent: u64, lengths: &QueueTrace) -> io::Result<()> {
        let track = self.track(name, Some(parent), Some("packets"))?;
        lengths.iter().try_for_each(|&(at, packets)| self.count(track, at, u64::from(packets)))
    }
}

impl RunTrace {
    /// Writes the run as a Perfetto trace.
    ///
    /// # Errors
    /// Returns the errors of `out`.
    pub fn write_perfetto(&self, out: &mut dyn io::Write) -> io::Result<()> {
        let mut writer = Writer { out, tracks: 0 };
        let frames = self.frames_by_start();
        for (id, setting) in self.setting.stations.iter().enumerate() {
            let station = writer.track(&format!("station {id}"), None, None)?;
            let states = writer.track("radio", Some(station), None)?;
            let power = writer.track("power", Some(station), Some("uW"))?;
            for interval in self.radio_intervals(id as u32) {
                let end = interval.start + interval.duration;
                writer.slice(states, interval.state.name(), interval.start, end)?;
                writer.count(power, interval.start, setting.power(interval.state).as_nanowatts() / 1_000)?;
            }
            let sent = writer.track("frames", Some(station), None)?;
            write_frames(&mut writer, sent, &frames, |frame| frame.from == Node::Station(id as u32))?;
            self.write_adaptations(&mut writer, station, id as u32)?;
        }
        let several = self.setting.cells.iter().filter(|cell| cell.access_point.is_some()).count() > 1;
        for (index, cell) in self.setting.cells.iter().enumerate() {
            let Some(name) = &cell.access_point else { continue };
            let name = if several { format!("access point {name}") } else { "access point".to_owned() };
            let access_point = writer.track(&name, None, None)?;
            let sent = writer.track("frames", Some(access_point), None)?;
            write_frames(&mut writer, sent, &frames, |frame| {
                frame.from == Node::AccessPoint && (frame.medium, frame.bss) == (cell.medium, cell.bss)
            })?;
            if index == 0 {
                writer.queue("transmission queue", access_point, &self.ap_queue)?;
                writer.queue("power-save buffers", access_point, &self.ap_power_save)?;
            }
        }
        if self.setting.cells.is_empty() {
            let link = writer.track("link", None, None)?;
            writer.queue("queue towards the station", link, &self.link_down_queue)?;
            writer.queue("queue away from the station", link, &self.link_up_queue)?;
        }
        for (name, lengths) in &self.further_queues {
            let parent = writer.track(name, None, None)?;
            writer.queue("queue", parent, lengths)?;
        }
        let wire = writer.track("wire", None, None)?;
        writer.queue("queue towards the stations", wire, &self.down_queue)?;
        writer.queue("queue towards the server", wire, &self.up_queue)?;
        self.write_windows(&mut writer)
    }

    /// Writes the tracks of the controller of a station with an adaptive policy.
    fn write_adaptations(&self, writer: &mut Writer, parent: u64, station: StationId) -> io::Result<()> {
        let own =
            || self.adaptations.iter().filter(|row| row.1 == station).map(|(at, _, state)| (*at, state));
        if own().next().is_none() {
            return Ok(());
        }
        let interval = writer.track("trigger interval", Some(parent), Some("us"))?;
        let peak = writer.track("estimated peak rate", Some(parent), Some("b/s"))?;
        let throughput = writer.track("throughput", Some(parent), Some("b/s"))?;
        for (at, state) in own() {
            writer.count(interval, at, state.interval.as_nanos() / 1_000)?;
            writer.count(peak, at, state.peak_bps)?;
            writer.count(throughput, at, state.throughput_bps)?;
        }
        Ok(())
    }

    fn write_windows(&self, writer: &mut Writer) -> io::Result<()> {
        let mut flows: Vec<u32> = self.windows.iter().map(|sample| sample.flow).collect();
        flows.sort_unstable();
        flows.dedup();
        for flow in flows {
            let parent = writer.track(&format!("flow {flow}"), None, None)?;
            let window = writer.track("congestion window", Some(parent), Some("B"))?;
            let flight = writer.track("in flight", Some(parent), Some("B"))?;
            for sample in self.windows.iter().filter(|sample| sample.flow == flow) {
                writer.count(window, sample.at, u64::from(sample.cwnd))?;
                writer.count(flight, sample.at, u64::from(sample.flight))?;
            }
        }
        Ok(())
    }
}

fn write_frames(
    writer: &mut Writer,
    track: u64,
    frames: &[&TracedFrame],
    is_own: impl Fn(&TracedFrame) -> bool,
) -> io::Result<()> {
    for frame in frames.iter().filter(|frame| is_own(frame)) {
        let mut name = frame.kind.name().to_owned();
        if let Some(packet) = frame.packet {
            name = format!("{name} {} B", packet.bytes);
        }
        if frame.flags.eosp {
            name.push_str(" eosp");
        }
        if !frame.received {
            name.push_str(" (lost)");
        }
        writer.slice(track, &name, frame.start, frame.start + frame.duration)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;

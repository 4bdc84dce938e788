//! Traces in the format of the Perfetto viewer.
//!
//! The format is a sequence of protobuf messages (perfetto.dev, `trace_packet.proto`, `track_descriptor.proto`,
//! `track_event.proto`). This module writes descriptors of tracks, slices with a name, and counters; each message has
//! only a few fields, so the encoding is done here rather than by a generated library. Timestamps are nanoseconds.

use std::io;

use airwatt_base::Instant;

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
pub struct Writer<'a> {
    out: &'a mut dyn io::Write,
    tracks: u64,
}

impl<'a> Writer<'a> {
    /// A writer without tracks.
    pub const fn new(out: &'a mut dyn io::Write) -> Self {
        Self { out, tracks: 0 }
    }

    fn packet(&mut self, packet: Message) -> io::Result<()> {
        let packet = packet.number(field::SEQUENCE_ID, SEQUENCE);
        self.out.write_all(&Message::default().message(field::TRACE_PACKET, packet).0)
    }

    /// Adds a track and returns its identifier; one with a unit is a counter.
    ///
    /// # Errors
    /// Returns the errors of the output.
    pub fn track(&mut self, name: &str, parent: Option<u64>, unit: Option<&str>) -> io::Result<u64> {
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

    /// Writes a slice with a name. Slices of one track must not overlap.
    ///
    /// # Errors
    /// Returns the errors of the output.
    pub fn slice(&mut self, track: u64, name: &str, start: Instant, end: Instant) -> io::Result<()> {
        let begin = Message::default()
            .number(field::EVENT_TYPE, SLICE_BEGIN)
            .number(field::EVENT_TRACK, track)
            .bytes(field::EVENT_NAME, name.as_bytes());
        self.event(start, begin)?;
        let finish =
            Message::default().number(field::EVENT_TYPE, SLICE_END).number(field::EVENT_TRACK, track);
        self.event(end, finish)
    }

    /// Writes the value of a counter from `at` on.
    ///
    /// # Errors
    /// Returns the errors of the output.
    pub fn count(&mut self, track: u64, at: Instant, value: u64) -> io::Result<()> {
        let event = Message::default()
            .number(field::EVENT_TYPE, COUNTER)
            .number(field::EVENT_TRACK, track)
            .number(field::EVENT_COUNTER, value);
        self.event(at, event)
    }
}

//! Who slept when: the modes, frames and beacons of an 802.11 capture, the packets of the station in question, and the states
//! of its radio under each policy.
//!
//! A time line is a set of tables in columns, which the document of an analysis has if it is asked for: pictures, Parquet
//! files and traces for the Perfetto viewer are made from it. Times are nanoseconds since the capture's earliest packet.
//! Modes and frames are what was captured; the states of a radio are simulated.

use std::borrow::Cow;
use std::ops::{Deref, DerefMut};

use airwatt_base::{Instant, Span};
use airwatt_dot11::{FrameKind, MacAddress};
use airwatt_energy::{Radio, RadioState};
use airwatt_sim::Direction;
use airwatt_sim::perfetto::Writer;
use airwatt_sim::replay::RadioPeriod;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::capture::Capture;
use crate::packet::{AirFrame, Beacon, CapturedPacket};
use crate::power_save::Observations;
use crate::stations::{Station, station_of};

/// The tables of a time line. A column crosses to Python as the base64 of its little-endian numbers: as decimal numbers it took ten times as
/// much memory there. Of several analyses of one capture the first alone has `modes`, `frames`,
/// `beacons` and `groups`, which are the same for all.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Timeline {
    /// Addresses of stations, to which `station` is an index elsewhere.
    pub stations: Vec<String>,
    /// Addresses of access points, to which `cell` is an index.
    pub cells: Vec<String>,
    /// Policies, to which `policy` is an index.
    pub policies: Vec<String>,
    /// Names of the radio's states, to which `state` is an index.
    pub states: Vec<String>,
    /// The radio's power in each state.
    pub powers_w: Vec<f64>,
    /// Kinds of frames, to which `kind` is an index.
    pub kinds: Vec<String>,
    /// Power-management modes that stations announced.
    pub modes: Modes,
    /// Frames to and from stations.
    pub frames: FrameCounts,
    /// Beacons.
    pub beacons: Beacons,
    /// Group-addressed frames.
    pub groups: GroupFrames,
    /// Packets of the station in question.
    pub packets: PacketCounts,
    /// States of its radio under each policy.
    pub radio_states: RadioStates,
    /// States of its radio as far as its captured frames show them; without a policy, and empty for captures that are not of 802.11.
    pub captured: RadioStates,
}

/// Times in which a station's mode was known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Modes {
    /// Index of the station.
    pub station: NumberColumn<u32>,
    /// Begin.
    pub time_ns: NumberColumn<u64>,
    /// Length.
    pub duration_ns: NumberColumn<u64>,
    /// Whether it was in power save.
    pub in_power_save: NumberColumn<bool>,
}

/// Frames to and from stations.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FrameCounts {
    /// Index of the station.
    pub station: NumberColumn<u32>,
    /// Time.
    pub time_ns: NumberColumn<u64>,
    /// Time on the air; 0 if the rate is not known.
    pub duration_ns: NumberColumn<u64>,
    /// Number of the packet.
    pub packet: NumberColumn<u32>,
    /// Whether the station sent it.
    pub up: NumberColumn<bool>,
    /// Index of the kind.
    pub kind: NumberColumn<u8>,
    /// Length of the frame.
    pub bytes: NumberColumn<u32>,
    /// The PM bit.
    pub power_management: NumberColumn<bool>,
    /// The More Data bit.
    pub more_data: NumberColumn<bool>,
    /// The EOSP bit.
    pub eosp: NumberColumn<bool>,
    /// Whether it repeats a frame that was captured.
    pub repeated: NumberColumn<bool>,
}

/// Beacons.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Beacons {
    /// Index of the access point.
    pub cell: NumberColumn<u32>,
    /// Time.
    pub time_ns: NumberColumn<u64>,
    /// Number of the packet.
    pub packet: NumberColumn<u32>,
    /// DTIM count; 255 without a TIM.
    pub dtim_count: NumberColumn<u8>,
    /// DTIM period in beacons; 0 without a TIM.
    pub dtim_period: NumberColumn<u8>,
    /// Whether its TIM was captured, or that it has none: a short snap length may cut it off.
    pub tim_known: NumberColumn<bool>,
    /// Whether group-addressed frames follow.
    pub group: NumberColumn<bool>,
    /// How many association identifiers have their TIM bit set.
    pub aid_count: NumberColumn<u16>,
    /// These identifiers, one beacon's after the other's. Empty where they would take more than the limit of memory.
    pub aids: NumberColumn<u16>,
}

/// Group-addressed data frames of access points.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GroupFrames {
    /// Index of the access point.
    pub cell: NumberColumn<u32>,
    /// Time.
    pub time_ns: NumberColumn<u64>,
    /// Time on the air; 0 if the rate is not known.
    pub duration_ns: NumberColumn<u64>,
    /// Number of the packet.
    pub packet: NumberColumn<u32>,
    /// The More Data bit.
    pub more_data: NumberColumn<bool>,
}

/// Packets of the station in question, of any link type, without 802.11 retransmissions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PacketCounts {
    /// Time.
    pub time_ns: NumberColumn<u64>,
    /// Number of the packet.
    pub packet: NumberColumn<u32>,
    /// Whether it was sent to the station.
    pub down: NumberColumn<bool>,
    /// Bytes on the link.
    pub bytes: NumberColumn<u32>,
}

/// States of a radio under policies. Their number does not follow from the size of the capture.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RadioStates {
    /// Index of the policy, 16 bits.
    pub policy: NumberColumn<u16>,
    /// Begin, 64 bits.
    pub time_ns: NumberColumn<u64>,
    /// Length, 64 bits.
    pub duration_ns: NumberColumn<u64>,
    /// Index of the state, 8 bits.
    pub state: NumberColumn<u8>,
    /// Whether it was simulated (1), rather than charged as other idle time was (0).
    pub simulated: NumberColumn<u8>,
}

impl RadioStates {
    fn push(&mut self, policy: u16, period: &RadioPeriod) {
        self.policy.push(policy);
        self.time_ns.push(nanos(period.start));
        self.duration_ns.push(period.duration.as_nanos());
        self.state.push(period.state as u8);
        self.simulated.push(u8::from(period.is_simulated));
    }
}

/// Memory that a period of a radio's states takes in all forms that exist at the same time, as measured: a [`RadioPeriod`], its columns with
/// their spare room, their base64 in Rust, in Python's text and in Python's document, and the tables that are written.
pub(crate) const PERIOD_BYTES: u64 = 170;
/// The same for a byte of any column: a period has 20 in its columns.
const FORMS: u64 = PERIOD_BYTES.div_ceil(20);

/// A column of numbers, which is base64 text outside.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NumberColumn<T>(Vec<T>);

impl<T> Deref for NumberColumn<T> {
    type Target = Vec<T>;
    fn deref(&self) -> &Vec<T> {
        &self.0
    }
}

impl<T> DerefMut for NumberColumn<T> {
    fn deref_mut(&mut self) -> &mut Vec<T> {
        &mut self.0
    }
}

impl<T: Number> Serialize for NumberColumn<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut bytes = Vec::with_capacity(size_of_val(&self.0[..]));
        self.iter().for_each(|number| number.put(&mut bytes));
        serializer.serialize_str(&BASE64_STANDARD.encode(bytes))
    }
}

impl<'de, T: Number> Deserialize<'de> for NumberColumn<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let bytes = BASE64_STANDARD.decode(String::deserialize(deserializer)?);
        let numbers = bytes.ok().and_then(|bytes| T::all(&bytes));
        numbers.map(Self).ok_or_else(|| serde::de::Error::custom("expected the base64 of numbers"))
    }
}

impl<T> JsonSchema for NumberColumn<T> {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        String::schema_name()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        String::json_schema(generator)
    }
}

/// A number of fixed width.
pub trait Number: Copy {
    /// Appends its bytes.
    fn put(self, out: &mut Vec<u8>);
    /// The numbers of these bytes; `None` if something is left over.
    fn all(bytes: &[u8]) -> Option<Vec<Self>>;
}

macro_rules! numbers {
    ($($type:ty),+) => { $(impl Number for $type {
        fn put(self, out: &mut Vec<u8>) {
            out.extend_from_slice(&self.to_le_bytes());
        }
        fn all(bytes: &[u8]) -> Option<Vec<Self>> {
            let (numbers, rest) = bytes.as_chunks();
            rest.is_empty().then(|| numbers.iter().map(|number| Self::from_le_bytes(*number)).collect())
        }
    })+ };
}
numbers!(u8, u16, u32, u64);

impl Number for bool {
    fn put(self, out: &mut Vec<u8>) {
        out.push(u8::from(self));
    }
    fn all(bytes: &[u8]) -> Option<Vec<Self>> {
        Some(bytes.iter().map(|byte| *byte != 0).collect())
    }
}

const fn nanos(at: Instant) -> u64 {
    at.as_nanos()
}

impl Timeline {
    /// Leaves out the tables of the capture, which are the same for each of its stations.
    pub(crate) fn keep_own(&mut self) {
        *self = Self {
            policies: std::mem::take(&mut self.policies),
            states: std::mem::take(&mut self.states),
            powers_w: std::mem::take(&mut self.powers_w),
            packets: std::mem::take(&mut self.packets),
            radio_states: std::mem::take(&mut self.radio_states),
            captured: std::mem::take(&mut self.captured),
            ..Self::default()
        };
    }

    /// The tables that follow from the capture alone.
    pub(crate) fn of(
        capture: &Capture,
        seen: &Observations,
        station: Option<&Station>,
        radio: &Radio,
    ) -> Self {
        let mut line = Self {
            stations: seen.modes.keys().map(MacAddress::to_string).collect(),
            cells: capture.networks.keys().map(MacAddress::to_string).collect(),
            states: RadioState::ALL.iter().map(|state| state.name().to_owned()).collect(),
            powers_w: RadioState::ALL.iter().map(|state| radio.power(*state).as_watts()).collect(),
            kinds: KINDS.map(str::to_owned).to_vec(),
            ..Self::default()
        };
        for (index, spans) in (0..).zip(seen.modes.values()) {
            for span in spans.iter().filter(|span| span.is_known) {
                line.modes.station.push(index);
                line.modes.time_ns.push(nanos(span.from));
                line.modes.duration_ns.push(span.until.saturating_since(span.from).as_nanos());
                line.modes.in_power_save.push(span.in_power_save);
            }
        }
        let stations: Vec<MacAddress> = seen.modes.keys().copied().collect();
        let cells: Vec<MacAddress> = capture.networks.keys().copied().collect();
        for packet in &capture.packets {
            if let Some(direction) = station.and_then(|station| station.direction(capture, packet))
                && !packet.repeated
            {
                line.packets.time_ns.push(nanos(packet.at));
                line.packets.packet.push(packet.number);
                line.packets.down.push(direction == Direction::Down);
                line.packets.bytes.push(packet.wire_bytes);
            }
            let Some(frame) = capture.frame(packet) else { continue };
            if let Some(beacon) = frame.beacon.and_then(|at| capture.beacons.get(at as usize)) {
                line.add_beacon(&cells, packet, beacon);
            } else if is_of_group(frame) {
                line.add_group_frame(&cells, packet, frame);
            } else if let Some((mac, up)) = station_of_any(frame)
                && let Ok(index) = stations.binary_search(&mac)
            {
                line.add_frame((index, up), packet, frame);
            }
        }
        line
    }

    fn add_beacon(&mut self, cells: &[MacAddress], packet: &CapturedPacket, beacon: &Beacon) {
        let Ok(cell) = cells.binary_search(&beacon.bssid) else { return };
        let beacons = &mut self.beacons;
        beacons.cell.push(cell as u32);
        beacons.time_ns.push(nanos(packet.at));
        beacons.packet.push(packet.number);
        beacons.dtim_count.push(beacon.dtim.map_or(u8::MAX, |(count, _)| count));
        beacons.dtim_period.push(beacon.dtim.map_or(0, |(_, period)| period));
        beacons.tim_known.push(beacon.shows_bits());
        beacons.group.push(beacon.group);
        beacons.aid_count.push(beacon.aids.len() as u16);
        beacons.aids.extend(&beacon.aids);
    }

    fn add_group_frame(&mut self, cells: &[MacAddress], packet: &CapturedPacket, frame: &AirFrame) {
        let cell = frame.bssid.and_then(|bssid| cells.binary_search(&bssid).ok());
        let Some(cell) = cell.filter(|_| !packet.repeated) else { return };
        let groups = &mut self.groups;
        groups.cell.push(cell as u32);
        groups.time_ns.push(nanos(packet.at));
        groups.duration_ns.push(frame.air_time().map_or(0, Span::as_nanos));
        groups.packet.push(packet.number);
        groups.more_data.push(frame.control.more_data);
    }

    fn add_frame(&mut self, (station, up): (usize, bool), packet: &CapturedPacket, frame: &AirFrame) {
        let frames = &mut self.frames;
        frames.station.push(station as u32);
        frames.time_ns.push(nanos(packet.at));
        frames.duration_ns.push(frame.air_time().map_or(0, Span::as_nanos));
        frames.packet.push(packet.number);
        frames.up.push(up);
        frames.kind.push(kind_code(frame.control.kind));
        frames.bytes.push(frame.air_bytes);
        frames.power_management.push(frame.control.power_management);
        frames.more_data.push(frame.control.more_data);
        frames.eosp.push(frame.eosp);
        frames.repeated.push(packet.repeated);
    }

    /// Memory that its tables take in all forms that exist at the same time, in bytes.
    pub(crate) fn memory_bytes(&self) -> u64 {
        let (modes, frames) = (21 * self.modes.station.len(), 34 * self.frames.station.len());
        let beacons = 22 * self.beacons.cell.len() + 2 * self.beacons.aids.len();
        let groups = 25 * self.groups.cell.len();
        let periods = self.radio_states.policy.len() + self.captured.policy.len();
        let (packets, states) = (17 * self.packets.packet.len(), 20 * periods);
        FORMS * (modes + frames + beacons + groups + packets + states) as u64
    }

    /// Leaves out which stations the beacons name if the tables take more than `limit_bytes` with them. Whether it did.
    pub(crate) fn fit(&mut self, limit_bytes: u64) -> bool {
        let is_too_much = self.memory_bytes() > limit_bytes && !self.beacons.aids.is_empty();
        if is_too_much {
            self.beacons.aids = NumberColumn::default();
        }
        is_too_much
    }

    /// Adds the states of the radio under policies.
    pub(crate) fn add_radio_states(&mut self, lines: Vec<(String, Vec<RadioPeriod>)>) {
        for (policy, periods) in lines {
            let index = self.policies.len() as u16;
            self.policies.push(policy);
            periods.iter().for_each(|period| self.radio_states.push(index, period));
        }
    }

    /// Adds the states of the radio as its frames show them.
    pub(crate) fn add_captured(&mut self, periods: &[RadioPeriod]) {
        periods.iter().for_each(|period| self.captured.push(0, period));
    }

    /// Writes the time line for the Perfetto viewer. `findings` are marks with a name, a time and a packet number.
    ///
    /// # Errors
    /// Returns the errors of `out`.
    pub fn write_perfetto(
        &self,
        findings: &[(String, u64, u32)],
        out: &mut dyn std::io::Write,
    ) -> std::io::Result<()> {
        let mut writer = Writer::new(out);
        let at = Instant::from_nanos;
        let span =
            |time_ns: &u64, duration_ns: &u64| (at(*time_ns), at(time_ns.saturating_add(*duration_ns)));
        // A frame whose rate is not known is drawn as long as a viewer shows at all.
        let visible = |duration_ns: &u64| *duration_ns.max(&1_000);
        for (index, station) in (0u32..).zip(&self.stations) {
            let parent = writer.track(&format!("station {station}, as captured"), None, None)?;
            let modes = writer.track("announced mode", Some(parent), None)?;
            for (row, _) in self.modes.station.iter().enumerate().filter(|(_, of)| **of == index) {
                let name = if self.modes.in_power_save[row] { "power save" } else { "active" };
                let (start, end) = span(&self.modes.time_ns[row], &self.modes.duration_ns[row]);
                writer.slice(modes, name, start, end)?;
            }
            let frames = &self.frames;
            for (name, up) in [("frames sent", true), ("frames received", false)] {
                let track = writer.track(name, Some(parent), None)?;
                let own = |row: &usize| frames.station[*row] == index && frames.up[*row] == up;
                let mut free_from = Instant::ZERO;
                for row in (0..frames.station.len()).filter(own) {
                    let (start, end) = span(&frames.time_ns[row], &visible(&frames.duration_ns[row]));
                    // Slices of one track must not overlap.
                    let (start, end) = (start.max(free_from), end.max(free_from));
                    free_from = end;
                    let kind = self.kinds.get(usize::from(frames.kind[row])).map_or("", String::as_str);
                    let (bytes, packet) = (frames.bytes[row], frames.packet[row]);
                    let more = if frames.more_data[row] { " more" } else { "" };
                    let eosp = if frames.eosp[row] { " eosp" } else { "" };
                    writer.slice(
                        track,
                        &format!("{kind} {bytes} B, packet {packet}{more}{eosp}"),
                        start,
                        end,
                    )?;
                }
            }
        }
        for (index, policy) in (0u32..).zip(&self.policies) {
            let parent = writer.track(&format!("policy {policy}, simulated"), None, None)?;
            let states = writer.track("radio", Some(parent), None)?;
            let power = writer.track("power", Some(parent), Some("uW"))?;
            let radio = &self.radio_states;
            for row in (0..radio.policy.len()).filter(|row| u32::from(radio.policy[*row]) == index) {
                let (start, end) = span(&radio.time_ns[row], &radio.duration_ns[row]);
                let state = usize::from(radio.state[row]);
                let Some(name) = self.states.get(state) else { continue };
                let watts = self.powers_w.get(state).copied().unwrap_or_default();
                writer.slice(states, name, start, end)?;
                writer.count(power, start, (watts * 1e6).round() as u64)?;
            }
        }
        let track = writer.track("findings", None, None)?;
        let mut free_from = Instant::ZERO;
        for (name, time_ns, packet) in findings {
            let (start, end) = span(time_ns, &1_000);
            let (start, end) = (start.max(free_from), end.max(free_from));
            free_from = end;
            writer.slice(track, &format!("{name}, packet {packet}"), start, end)?;
        }
        Ok(())
    }
}

/// Whether an access point sent a frame to a group of its stations.
pub(crate) fn is_of_group(frame: &AirFrame) -> bool {
    let control = &frame.control;
    control.kind.has_payload() && control.from_ds && !control.to_ds && frame.receiver.is_group()
}

/// The station of a frame that stations' lanes show, and whether it sent it: of data, PS-Polls, and what begins and ends an association.
fn station_of_any(frame: &AirFrame) -> Option<(MacAddress, bool)> {
    use FrameKind::{AssociationRequest, PsPoll, ReassociationRequest};
    use FrameKind::{AssociationResponse, Deauthentication, Disassociation, ReassociationResponse};
    match frame.control.kind {
        PsPoll | AssociationRequest | ReassociationRequest => Some((frame.transmitter?, true)),
        AssociationResponse | ReassociationResponse => Some((frame.receiver, false)),
        Deauthentication | Disassociation if frame.transmitter == frame.bssid => {
            Some((frame.receiver, false))
        }
        Deauthentication | Disassociation => Some((frame.transmitter?, true)),
        _ => station_of(frame),
    }
}

/// Kinds of frames by their codes.
const KINDS: [&str; 8] = [
    "data",
    "null",
    "ps-poll",
    "other",
    "association request",
    "association response",
    "disassociation",
    "deauthentication",
];

const fn kind_code(kind: FrameKind) -> u8 {
    match kind {
        FrameKind::Data | FrameKind::QosData => 0,
        FrameKind::Null | FrameKind::QosNull => 1,
        FrameKind::PsPoll => 2,
        FrameKind::AssociationRequest | FrameKind::ReassociationRequest => 4,
        FrameKind::AssociationResponse | FrameKind::ReassociationResponse => 5,
        FrameKind::Disassociation => 6,
        FrameKind::Deauthentication => 7,
        _ => 3,
    }
}

//! Who slept when: the modes, frames and beacons of an 802.11 capture, the packets of the station in question, and the states
//! of its radio under each policy.
//!
//! A time line is a set of tables in columns, which the document of an analysis has if it is asked for: pictures, Parquet
//! files and traces for the Perfetto viewer are made from it. Times are nanoseconds since the capture's earliest packet.
//! Modes and frames are what was captured; the states of a radio are simulated.

use airwatt_base::{Instant, Power, Span};
use airwatt_dot11::{FrameKind, MacAddress};
use airwatt_energy::{BeaconReception, Radio, RadioState};
use airwatt_sim::Direction;
use airwatt_sim::perfetto::Writer;
use airwatt_sim::replay::RadioPeriod;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::capture::Capture;
use crate::packet::AirFrame;
use crate::power_save::Observations;
use crate::stations::{Station, station_of};

/// The tables of a time line. A column crosses to Python as the base64 of its little-endian numbers: as decimal numbers it took ten times as
/// much memory there. Of several analyses of one capture the first alone has `modes`, `frames` and `beacons`, which are the same for all.
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
    #[serde(with = "column")]
    #[schemars(with = "String")]
    pub station: Vec<u32>,
    /// Begin.
    #[serde(with = "column")]
    #[schemars(with = "String")]
    pub time_ns: Vec<u64>,
    /// Length.
    #[serde(with = "column")]
    #[schemars(with = "String")]
    pub duration_ns: Vec<u64>,
    /// Whether it was in power save.
    #[serde(with = "column")]
    #[schemars(with = "String")]
    pub in_power_save: Vec<bool>,
}

/// Frames to and from stations.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FrameCounts {
    /// Index of the station.
    #[serde(with = "column")]
    #[schemars(with = "String")]
    pub station: Vec<u32>,
    /// Time.
    #[serde(with = "column")]
    #[schemars(with = "String")]
    pub time_ns: Vec<u64>,
    /// Time on the air; 0 if the rate is not known.
    #[serde(with = "column")]
    #[schemars(with = "String")]
    pub duration_ns: Vec<u64>,
    /// Number of the packet.
    #[serde(with = "column")]
    #[schemars(with = "String")]
    pub packet: Vec<u32>,
    /// Whether the station sent it.
    #[serde(with = "column")]
    #[schemars(with = "String")]
    pub up: Vec<bool>,
    /// Index of the kind.
    #[serde(with = "column")]
    #[schemars(with = "String")]
    pub kind: Vec<u8>,
    /// Length of the frame.
    #[serde(with = "column")]
    #[schemars(with = "String")]
    pub bytes: Vec<u32>,
    /// The PM bit.
    #[serde(with = "column")]
    #[schemars(with = "String")]
    pub power_management: Vec<bool>,
    /// The More Data bit.
    #[serde(with = "column")]
    #[schemars(with = "String")]
    pub more_data: Vec<bool>,
    /// The EOSP bit.
    #[serde(with = "column")]
    #[schemars(with = "String")]
    pub eosp: Vec<bool>,
    /// Whether it repeats a frame that was captured.
    #[serde(with = "column")]
    #[schemars(with = "String")]
    pub repeated: Vec<bool>,
}

/// Beacons.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Beacons {
    /// Index of the access point.
    #[serde(with = "column")]
    #[schemars(with = "String")]
    pub cell: Vec<u32>,
    /// Time.
    #[serde(with = "column")]
    #[schemars(with = "String")]
    pub time_ns: Vec<u64>,
    /// Number of the packet.
    #[serde(with = "column")]
    #[schemars(with = "String")]
    pub packet: Vec<u32>,
    /// DTIM count; 255 without a TIM.
    #[serde(with = "column")]
    #[schemars(with = "String")]
    pub dtim_count: Vec<u8>,
    /// Whether group-addressed frames follow.
    #[serde(with = "column")]
    #[schemars(with = "String")]
    pub group: Vec<bool>,
    /// How many association identifiers have their TIM bit set.
    #[serde(with = "column")]
    #[schemars(with = "String")]
    pub aid_count: Vec<u16>,
    /// These identifiers, one beacon's after the other's. Empty where they would take more than the limit of memory.
    #[serde(with = "column")]
    #[schemars(with = "String")]
    pub aids: Vec<u16>,
}

/// Packets of the station in question, of any link type, without 802.11 retransmissions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PacketCounts {
    /// Time.
    #[serde(with = "column")]
    #[schemars(with = "String")]
    pub time_ns: Vec<u64>,
    /// Number of the packet.
    #[serde(with = "column")]
    #[schemars(with = "String")]
    pub packet: Vec<u32>,
    /// Whether it was sent to the station.
    #[serde(with = "column")]
    #[schemars(with = "String")]
    pub down: Vec<bool>,
    /// Bytes on the link.
    #[serde(with = "column")]
    #[schemars(with = "String")]
    pub bytes: Vec<u32>,
}

/// States of a radio under policies. Their number does not follow from the size of the capture.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RadioStates {
    /// Index of the policy, 16 bits.
    #[serde(with = "column")]
    #[schemars(with = "String")]
    pub policy: Vec<u16>,
    /// Begin, 64 bits.
    #[serde(with = "column")]
    #[schemars(with = "String")]
    pub time_ns: Vec<u64>,
    /// Length, 64 bits.
    #[serde(with = "column")]
    #[schemars(with = "String")]
    pub duration_ns: Vec<u64>,
    /// Index of the state, 8 bits.
    #[serde(with = "column")]
    #[schemars(with = "String")]
    pub state: Vec<u8>,
    /// Whether it was simulated (1), rather than charged as other idle time was (0).
    #[serde(with = "column")]
    #[schemars(with = "String")]
    pub simulated: Vec<u8>,
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

/// Columns of numbers as base64 text.
mod column {
    use base64::Engine;
    use base64::prelude::BASE64_STANDARD;
    use serde::{Deserialize, Deserializer, Serializer};

    /// A number of fixed width.
    pub(super) trait Number: Copy {
        fn put(self, out: &mut Vec<u8>);
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

    pub(super) fn serialize<T: Number, S: Serializer>(
        numbers: &[T],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let mut bytes = Vec::with_capacity(size_of_val(numbers));
        numbers.iter().for_each(|number| number.put(&mut bytes));
        serializer.serialize_str(&BASE64_STANDARD.encode(bytes))
    }

    pub(super) fn deserialize<'de, T: Number, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<T>, D::Error> {
        let bytes = BASE64_STANDARD.decode(String::deserialize(deserializer)?);
        bytes
            .ok()
            .and_then(|bytes| T::all(&bytes))
            .ok_or_else(|| serde::de::Error::custom("expected the base64 of numbers"))
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
                let Ok(cell) = cells.binary_search(&beacon.bssid) else { continue };
                line.beacons.cell.push(cell as u32);
                line.beacons.time_ns.push(nanos(packet.at));
                line.beacons.packet.push(packet.number);
                line.beacons.dtim_count.push(beacon.dtim.map_or(u8::MAX, |(count, _)| count));
                line.beacons.group.push(beacon.group);
                line.beacons.aid_count.push(beacon.aids.len() as u16);
                line.beacons.aids.extend(&beacon.aids);
                continue;
            }
            let kind = frame.control.kind;
            let polled = frame.transmitter.filter(|_| kind == FrameKind::PsPoll).map(|mac| (mac, true));
            let Some((mac, up)) = polled.or_else(|| station_of(frame)) else { continue };
            let Ok(index) = stations.binary_search(&mac) else { continue };
            let frames = &mut line.frames;
            frames.station.push(index as u32);
            frames.time_ns.push(nanos(packet.at));
            frames.duration_ns.push(frame.air_time().map_or(0, Span::as_nanos));
            frames.packet.push(packet.number);
            frames.up.push(up);
            frames.kind.push(kind_code(kind));
            frames.bytes.push(frame.air_bytes);
            frames.power_management.push(frame.control.power_management);
            frames.more_data.push(frame.control.more_data);
            frames.eosp.push(frame.eosp);
            frames.repeated.push(packet.repeated);
        }
        line
    }

    /// Memory that its tables take in all forms that exist at the same time, in bytes.
    pub(crate) fn memory_bytes(&self) -> u64 {
        let (modes, frames) = (21 * self.modes.station.len(), 34 * self.frames.station.len());
        let beacons = 20 * self.beacons.cell.len() + 2 * self.beacons.aids.len();
        let periods = self.radio_states.policy.len() + self.captured.policy.len();
        let (packets, states) = (17 * self.packets.packet.len(), 20 * periods);
        FORMS * (modes + frames + beacons + packets + states) as u64
    }

    /// Leaves out which stations the beacons name if the tables take more than `limit_bytes` with them. Whether it did.
    pub(crate) fn fit(&mut self, limit_bytes: u64) -> bool {
        let is_too_much = self.memory_bytes() > limit_bytes && !self.beacons.aids.is_empty();
        if is_too_much {
            self.beacons.aids = Vec::new();
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

/// A pause in power save that a radio cannot sleep in with a profit.
const NAP: Span = Span::from_millis(10);
/// Time on the air of a frame whose rate is not known: some 200 bytes at 6 Mb/s.
const UNKNOWN_AIR: Span = Span::from_micros(300);
/// Bytes of a beacon with its TIM, as in a run.
const BYTES_TO_TIM: u32 = 65;

/// The states that the radio of a station had as far as its frames show: in power save it sleeps but for its own exchanges and
/// for DTIM beacons, for which it wakes up as its profile says, otherwise it listens. `None` for a station whose mode is never known.
pub(crate) fn as_captured(
    capture: &Capture,
    seen: &Observations,
    station: &Station,
    radio: &Radio,
) -> Option<Vec<RadioPeriod>> {
    let Station::Mac(mac) = station else { return None };
    let spans = seen.modes.get(mac).filter(|spans| !spans.is_empty())?;
    let record = seen.stations.iter().find(|record| record.mac == *mac)?;
    let cell = record.bssid;
    let asleep_at = |at: Instant| {
        let after = spans.partition_point(|span| span.from <= at);
        let span = after.checked_sub(1).and_then(|index| spans.get(index));
        span.is_some_and(|span| span.in_power_save && at < span.until)
    };
    let mut line = ObservedLine { periods: Vec::new(), until: Instant::ZERO, radio, beacon: None };
    let mut before = None;
    for packet in &capture.packets {
        let Some(frame) = capture.frame(packet) else { continue };
        let beacon = frame.beacon.and_then(|at| capture.beacons.get(at as usize));
        let is_heard = beacon.is_some_and(|beacon| {
            let is_dtim = beacon.dtim.is_none_or(|(count, _)| count == 0);
            Some(beacon.bssid) == cell && (is_dtim || !asleep_at(packet.at))
        });
        let state = state_of(frame, *mac, cell, before).or(is_heard.then_some(RadioState::Receive));
        before = state.filter(|_| frame.control.kind != FrameKind::Ack);
        let Some(state) = state else { continue };
        let on_air = frame.air_time().unwrap_or(UNKNOWN_AIR);
        match beacon.filter(|_| asleep_at(packet.at)) {
            Some(beacon) => {
                let is_named = beacon.group
                    || record.aid.map_or(!beacon.aids.is_empty(), |aid| beacon.aids.contains(&aid));
                let whole = is_named || radio.beacon_reception == BeaconReception::Whole;
                let to_tim = frame.air_time_of(BYTES_TO_TIM).unwrap_or(on_air);
                line.beacon(packet.at, if whole { on_air } else { to_tim.min(on_air) }, spans);
            }
            None => {
                line.fill(packet.at, spans, beacon.is_none());
                line.push(packet.at, packet.at + on_air, state);
            }
        }
    }
    let end = capture.segments.iter().map(|segment| segment.until).max().unwrap_or(Instant::ZERO);
    line.fill(end, spans, false);
    Some(line.periods)
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
    /// The last beacon for which the radio woke up.
    beacon: Option<Instant>,
}

impl ObservedLine<'_> {
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

    /// A beacon that a sleeping radio wakes up for, of which it receives `received`: after its guard, and at least for its least time
    /// awake.
    fn beacon(&mut self, at: Instant, received: Span, spans: &[crate::power_save::ModeSpan]) {
        let since = at.saturating_since(self.beacon.unwrap_or(Instant::ZERO));
        let guard = self.radio.sleep_clock.guard_after(since);
        self.fill(Instant::ZERO + (at - Instant::ZERO).saturating_sub(guard), spans, false);
        self.push(self.until, at, RadioState::Listen);
        self.push(at, at + received, RadioState::Receive);
        self.push(at, at + self.radio.min_awake, RadioState::Listen);
        self.beacon = Some(at);
    }

    /// The time up to the next frame: asleep in power save, with a wake-up at its end, otherwise listening.
    fn fill(&mut self, at: Instant, spans: &[crate::power_save::ModeSpan], is_own: bool) {
        if is_own && at.saturating_since(self.until) <= NAP && !self.periods.is_empty() {
            self.push(self.until, at, RadioState::Listen);
            return;
        }
        let first = spans.partition_point(|span| span.until <= self.until);
        for span in spans[first..].iter().take_while(|span| span.from < at) {
            self.push(self.until, span.from, RadioState::Listen);
            let end = span.until.min(at);
            if !span.in_power_save {
                self.push(self.until, end, RadioState::Listen);
                continue;
            }
            let awake = Instant::ZERO + (end - Instant::ZERO).saturating_sub(self.radio.wake_up.time);
            self.push(self.until, awake.max(self.until), RadioState::Sleep);
            self.push(self.until, end, RadioState::WakeUp);
        }
        self.push(self.until, at, RadioState::Listen);
    }
}

/// Kinds of frames by their codes.
const KINDS: [&str; 4] = ["data", "null", "ps-poll", "other"];

const fn kind_code(kind: FrameKind) -> u8 {
    match kind {
        FrameKind::Data | FrameKind::QosData => 0,
        FrameKind::Null | FrameKind::QosNull => 1,
        FrameKind::PsPoll => 2,
        _ => 3,
    }
}

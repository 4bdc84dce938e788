//! When frames that waited in the access point's buffer had come there.
//!
//! A monitor sees a frame for a station in power save when the station fetches it, and a replay needs the time at which it came to
//! the access point: taken for that, the frames of one fetch would come all at once, at the rate of the air, and a policy that
//! measures the path would see a faster one. The buffer was empty at the last frame without More Data and at each beacon without the
//! station's TIM bit. What is fetched afterwards came since then, not before what it answers, and not after it was sent. Within these
//! bounds the times are not known: the frames of a fetch are spread evenly.

use std::collections::{BTreeMap, VecDeque};

use airwatt_base::{Instant, Seq, Span};
use airwatt_dot11::{FrameKind, MacAddress};

use crate::capture::{Capture, SteadyPart};
use crate::flows::{FlowEndpoint, endpoints};
use crate::packet::{Beacon, CapturedPacket, TcpFields, TransportHeader};
use crate::power_save::{ModeSpan, Observations};
use crate::stations::station_of;

/// Frames this soon after a station left power save had waited for that.
const FLUSH: Span = Span::from_millis(5);

/// The times at which frames came to the access point, by the numbers of their packets; those that did not wait are left out.
pub(crate) fn arrivals(
    capture: &Capture,
    segment: &SteadyPart,
    station: MacAddress,
    seen: &Observations,
) -> BTreeMap<u32, Instant> {
    let record = seen.stations.iter().find(|record| record.mac == station);
    let (Some(record), Some(modes)) = (record, seen.modes.get(&station)) else { return BTreeMap::new() };
    // An access point need not announce what is delivered by U-APSD: only one that sets the bit says anything by not setting it.
    let stays = seen.stays_of(station);
    let is_clear = |packet: u32, beacon: &Beacon| {
        let stay = stays.at(packet).filter(|stay| record.counts.tim_set > 0 && stay.bssid == beacon.bssid);
        stay.and_then(|stay| stay.aid).is_some_and(|aid| !beacon.aids.contains(&aid))
    };
    let mut buffer = Buffer { modes, empty_at: segment.from, fetch: Vec::new(), came: BTreeMap::new() };
    let mut asked: BTreeMap<(FlowEndpoint, FlowEndpoint), Asked> = BTreeMap::new();
    for packet in &capture.packets[segment.first..segment.end] {
        let Some(frame) = capture.frame(packet) else { continue };
        if let Some(beacon) = frame.beacon.and_then(|at| capture.beacons.get(at as usize)) {
            if is_clear(packet.number, beacon) && buffer.fetch.is_empty() {
                buffer.empty_at = packet.at;
            }
            continue;
        }
        let Some((_, up)) = station_of(frame).filter(|(mac, _)| *mac == station) else { continue };
        if packet.repeated || frame.control.kind == FrameKind::PsPoll {
            continue;
        }
        if up {
            if let Some((key, tcp)) = connection(packet, true) {
                asked.entry(key).or_default().sent(&tcp, packet.at);
            }
            continue;
        }
        let answers = connection(packet, false).and_then(|(key, tcp)| asked.get_mut(&key)?.answered_by(&tcp));
        buffer.frame(packet, frame.control.kind.has_payload(), frame.control.more_data, answers);
    }
    buffer.came
}

/// The connection of a packet, the station's end first.
fn connection(packet: &CapturedPacket, up: bool) -> Option<((FlowEndpoint, FlowEndpoint), TcpFields)> {
    let ip = packet.ip.as_ref()?;
    let TransportHeader::Tcp(tcp) = ip.transport else { return None };
    let (_, source, destination) = endpoints(ip);
    Some((if up { (source, destination) } else { (destination, source) }, tcp))
}

/// What a station sent on one connection and the peer has not acknowledged, and when it sent the last that the peer has.
#[derive(Default)]
struct Asked {
    segments: VecDeque<(Seq, Instant)>,
    answered: Option<Instant>,
}

impl Asked {
    fn sent(&mut self, tcp: &TcpFields, at: Instant) {
        let end = tcp.sequence + tcp.sequence_length();
        let is_new = self.segments.back().is_none_or(|(last, _)| end.after(*last));
        if tcp.sequence_length() > 0 && is_new {
            self.segments.push_back((end, at));
        }
    }

    fn answered_by(&mut self, tcp: &TcpFields) -> Option<Instant> {
        if tcp.has(TcpFields::ACK) {
            while let Some((end, at)) = self.segments.front() {
                if end.after(tcp.acknowledgement) {
                    break;
                }
                self.answered = Some(*at);
                self.segments.pop_front();
            }
        }
        self.answered
    }
}

/// A frame of a fetch: its packet, when it was sent, and when what it answers was.
struct Fetched {
    packet: u32,
    at: Instant,
    answers: Option<Instant>,
}

/// The access point's buffer for one station.
struct Buffer<'a> {
    modes: &'a [ModeSpan],
    /// The last time at which it was empty.
    empty_at: Instant,
    /// The frames with More Data since then, of which the first had waited.
    fetch: Vec<Fetched>,
    came: BTreeMap<u32, Instant>,
}

impl Buffer<'_> {
    /// Whether a frame at `at` had waited: its station is in power save or has just left it.
    fn waits(&self, at: Instant) -> bool {
        let after = self.modes.partition_point(|span| span.from <= at);
        let Some(span) = after.checked_sub(1).and_then(|index| self.modes.get(index)) else { return false };
        let has_woken = after > 1 && self.modes[after - 2].in_power_save;
        span.in_power_save || has_woken && at.saturating_since(span.from) <= FLUSH
    }

    fn frame(&mut self, packet: &CapturedPacket, is_data: bool, more_data: bool, answers: Option<Instant>) {
        if self.fetch.is_empty() && !self.waits(packet.at) {
            self.empty_at = packet.at;
            return;
        }
        if is_data {
            self.fetch.push(Fetched { packet: packet.number, at: packet.at, answers });
        }
        if !more_data {
            self.end_fetch();
            self.empty_at = packet.at;
        }
    }

    /// Spreads the frames of a fetch over the time since the buffer was empty.
    fn end_fetch(&mut self) {
        let Some(last) = self.fetch.last().map(|frame| frame.at) else { return };
        let time = last.saturating_since(self.empty_at);
        let count = self.fetch.len() as u64;
        let mut before = self.empty_at;
        for (number, frame) in (1..).zip(self.fetch.drain(..)) {
            let even = self.empty_at + time * number / (count + 1);
            let came = even.max(frame.answers.unwrap_or(even)).min(frame.at).max(before);
            self.came.insert(frame.packet, came);
            before = came;
        }
    }
}

//! Captures made here, byte by byte, and captures damaged at random. Real ones are in `tests/`.

use std::ops::ControlFlow;

use airwatt_base::{Instant, Span};
use airwatt_dot11::{
    BeaconFields, Capability, FrameControl, FrameKind, MacAddress, MacHeader, QosControl, Radiotap,
    TIME_UNIT, TimFields,
};
use airwatt_sim::Direction;
use proptest::prelude::*;

use crate::power_save::{Excess, FindingKind, Verdict};
use crate::report::DelayReport;
use crate::stations::Station;
use crate::*;

mod costs;
mod files;
mod findings;
mod ladders;
mod legible;
mod missed_set_up;
mod outputs;
mod radio;
mod relays;
mod roams;
mod traffic;
mod whole;

const AP: MacAddress = MacAddress([2, 0, 0, 0, 0, 1]);
const STATION: MacAddress = MacAddress([2, 0, 0, 0, 0, 2]);

/// A classic capture file.
struct File(Vec<u8>);

impl File {
    fn new(link: u32) -> Self {
        let mut bytes = vec![0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0];
        bytes.extend_from_slice(&link.to_le_bytes());
        Self(bytes)
    }

    fn packet(mut self, micros: u64, bytes: &[u8]) -> Self {
        for word in [micros / 1_000_000, micros % 1_000_000, bytes.len() as u64, bytes.len() as u64] {
            self.0.extend_from_slice(&(word as u32).to_le_bytes());
        }
        self.0.extend_from_slice(bytes);
        self
    }

    fn read(&self) -> Capture {
        Capture::read("test", &self.0[..]).unwrap()
    }
}

/// A UDP packet between two hosts, with `payload` zero bytes.
fn udp(source: [u8; 4], destination: [u8; 4], ports: (u16, u16), payload: u16) -> Vec<u8> {
    let total = 28 + payload;
    let mut bytes = vec![0x45, 0];
    bytes.extend_from_slice(&total.to_be_bytes());
    bytes.extend_from_slice(&[0, 0, 0, 0, 64, 17, 0, 0]);
    bytes.extend_from_slice(&source);
    bytes.extend_from_slice(&destination);
    bytes.extend_from_slice(&ports.0.to_be_bytes());
    bytes.extend_from_slice(&ports.1.to_be_bytes());
    bytes.extend_from_slice(&(8 + payload).to_be_bytes());
    bytes.resize(usize::from(total), 0);
    bytes
}

fn ethernet(kind: u16, inside: &[u8]) -> Vec<u8> {
    let mut bytes = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];
    bytes.extend_from_slice(&kind.to_be_bytes());
    bytes.extend_from_slice(inside);
    bytes
}

/// A pcapng file with one interface of this link type and time resolution, and one packet at this tick.
fn pcapng(link: u16, resolution: Option<u8>, ticks: u64, packet: &[u8]) -> Vec<u8> {
    let block = |kind: u32, body: &[u8]| {
        let length = (12 + body.len()) as u32;
        [&kind.to_be_bytes()[..], &length.to_be_bytes(), body, &length.to_be_bytes()].concat()
    };
    let mut bytes =
        block(0x0a0d_0d0a, &[0x1a, 0x2b, 0x3c, 0x4d, 0, 1, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255]);
    let mut interface = [&link.to_be_bytes()[..], &[0; 6]].concat();
    if let Some(resolution) = resolution {
        interface.extend_from_slice(&[0, 9, 0, 1, resolution, 0, 0, 0, 0, 0, 0, 0]);
    }
    bytes.extend(block(1, &interface));
    let mut body = vec![0; 4];
    body.extend_from_slice(&ticks.to_be_bytes());
    body.extend_from_slice(&(packet.len() as u32).to_be_bytes());
    body.extend_from_slice(&(packet.len() as u32).to_be_bytes());
    body.extend_from_slice(packet);
    body.resize(body.len().next_multiple_of(4), 0);
    bytes.extend(block(6, &body));
    bytes
}

const A: [u8; 4] = [192, 168, 1, 2];
const B: [u8; 4] = [198, 51, 100, 1];

fn frame(kind: FrameKind, up: bool, set: impl Fn(&mut MacHeader)) -> Vec<u8> {
    frame_with(&Radiotap { rate_500kbps: Some(48), ..Radiotap::default() }, kind, up, set)
}

fn frame_with(radiotap: &Radiotap, kind: FrameKind, up: bool, set: impl Fn(&mut MacHeader)) -> Vec<u8> {
    let mut control = FrameControl::new(kind);
    if kind.is_data() {
        (control.to_ds, control.from_ds) = (up, !up);
    }
    let (receiver, transmitter) = if up { (AP, STATION) } else { (STATION, AP) };
    let mut header = MacHeader::new(control, receiver);
    header.address2 = Some(transmitter);
    header.address3 = Some(AP);
    set(&mut header);
    let mut bytes = Vec::new();
    radiotap.encode(&mut bytes);
    header.encode(&mut bytes);
    if kind.has_payload() {
        bytes.extend_from_slice(&[0xaa, 0xaa, 3, 0, 0, 0, 8, 0]);
        bytes.extend(udp(B, A, (443, 5000), 100));
    }
    bytes
}

fn null(pm: bool) -> Vec<u8> {
    frame(FrameKind::Null, true, |header| header.control.power_management = pm)
}

fn data(number: u16, more: bool) -> Vec<u8> {
    frame(FrameKind::Data, false, |header| {
        header.control.more_data = more;
        header.sequence_control = Some(number << 4);
    })
}

fn ack(to: MacAddress) -> Vec<u8> {
    frame(FrameKind::Ack, true, |header| {
        (header.address1, header.address2, header.address3) = (to, None, None);
    })
}

fn poll() -> Vec<u8> {
    frame(FrameKind::PsPoll, true, |header| header.duration_id = 0xc001)
}

fn beacon(aids: &[u16]) -> Vec<u8> {
    beacon_with(0, aids)
}

fn beacon_with(dtim_count: u8, aids: &[u16]) -> Vec<u8> {
    beacon_of(0, TimFields { dtim_count, dtim_period: dtim_count + 1, group: false, aids }, None)
}

fn beacon_of(timestamp_us: u64, tim: TimFields<'_>, wmm: Option<u8>) -> Vec<u8> {
    let mut bytes = frame(FrameKind::Beacon, false, |header| header.address1 = MacAddress::BROADCAST);
    BeaconFields {
        timestamp_us,
        interval: TIME_UNIT * 100,
        capability: Capability(1),
        ssid: b"t",
        rates: &[0x8c],
        ds_channel: None,
        tim,
        wmm,
        access: None,
    }
    .encode(&mut bytes);
    bytes
}

fn ladder(frames: &[(u64, Vec<u8>)]) -> Capture {
    frames.iter().fold(File::new(127), |file, (millis, bytes)| file.packet(millis * 1_000, bytes)).read()
}

fn findings(capture: &Capture) -> Vec<power_save::Finding> {
    power_save::observe(capture).findings
}

fn kinds(capture: &Capture) -> Vec<(FindingKind, u64)> {
    let reported = |finding: &power_save::Finding| {
        (finding.kind, finding.count(Verdict::Violated) + finding.count(Verdict::Undecidable))
    };
    findings(capture).iter().map(reported).filter(|(_, count)| *count > 0).collect()
}

/// What a finding cost a station that was there all the time, without the beacons that it waited for.
fn excess(finding: &power_save::Finding) -> Excess {
    finding.excess(Span::ZERO, |_, _| true)
}

/// The findings with an occurrence that did not keep the rule.
fn reported(capture: &Capture) -> Vec<power_save::Finding> {
    let all = findings(capture).into_iter();
    all.filter(|found| found.occurrences.iter().any(|one| one.verdict != Verdict::Kept)).collect()
}

/// The verdict of a capture's only finding that is reported.
fn verdict(capture: &Capture) -> Verdict {
    reported(capture)[0].occurrences.iter().map(|one| one.verdict).find(|one| *one != Verdict::Kept).unwrap()
}

/// The verdicts about TIM bits with their packets.
fn tim_never_set(frames: &[(u64, Vec<u8>)]) -> Vec<(Verdict, u32)> {
    let all = findings(&ladder(frames));
    let of_kind = all.iter().filter(|finding| finding.kind == FindingKind::TimNeverSet);
    of_kind.flat_map(|finding| &finding.occurrences).map(|one| (one.verdict, one.packet)).collect()
}

/// The station sleeps from 2 ms on and fetches at 102 ms a frame with More Data, so another one is buffered from then on.
fn buffered() -> Vec<(u64, Vec<u8>)> {
    vec![
        (0, poll()),
        (1, data(1, false)),
        (1, ack(AP)),
        (2, null(true)),
        (2, ack(STATION)),
        (100, beacon(&[1])),
        (101, poll()),
        (102, data(2, true)),
        (102, ack(AP)),
    ]
}

fn trigger() -> Vec<u8> {
    frame(FrameKind::QosNull, true, |header| {
        header.control.power_management = true;
        header.qos = Some(QosControl::new(6));
    })
}

/// QoS data in a service period.
fn reply(eosp: bool) -> Vec<u8> {
    frame(FrameKind::QosData, false, |header| header.qos = Some(QosControl::new(6).with_eosp(eosp)))
}

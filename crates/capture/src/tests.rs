//! Captures made here, byte by byte, and captures damaged at random. Real ones are in `tests/`.

use std::ops::ControlFlow;

use airwatt_base::{Instant, Span};
use airwatt_dot11::{
    BeaconFields, Capability, FrameControl, FrameKind, MacAddress, MacHeader, QosControl, Radiotap,
    TIME_UNIT, TimFields,
};
use airwatt_sim::Direction;
use proptest::prelude::*;

use crate::power_save::{FindingKind, Verdict};
use crate::report::DelayReport;
use crate::stations::Station;
use crate::*;

mod costs;
mod findings;
mod outputs;
mod radio;
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

#[test]
fn every_link_type_finds_the_ip_packet() {
    let ip = udp(A, B, (5000, 53), 20);
    let mut cooked = vec![0, 0, 0, 1, 0, 6, 2, 0, 0, 0, 0, 2, 0, 0, 8, 0];
    cooked.extend(&ip);
    let mut cooked2 = vec![8, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 6, 2, 0, 0, 0, 0, 2, 0, 0];
    cooked2.extend(&ip);
    let tagged = ethernet(0x8100, &[&[0, 7, 0x08, 0x00][..], &ip].concat());
    let pppoe = ethernet(0x8864, &[&[0x11, 0, 0, 1, 0, 50, 0, 0x21][..], &ip].concat());
    let loopback = [&[2, 0, 0, 0][..], &ip].concat();
    for (link, bytes) in [
        (1, ethernet(0x0800, &ip)),
        (1, tagged),
        (1, pppoe),
        (101, ip.clone()),
        (228, ip.clone()),
        (113, cooked),
        (276, cooked2),
        (0, loopback),
    ] {
        let capture = File::new(link).packet(1, &bytes).read();
        let found = capture.packets[0].ip.expect("an IP packet");
        assert_eq!(found.bytes, 48, "link type {link}");
        assert_eq!(found.transport, TransportHeader::Udp { source_port: 5000, destination_port: 53 });
    }
}

/// Nothing but damage: there is no station whose radio could be asked about, which is no fault of the question.
#[test]
fn a_capture_without_usable_packets_fails() {
    let capture = File::new(101).packet(1, &[0; 28]).read();
    let error =
        analyze_capture(&capture, &Question::default(), &mut |_| ControlFlow::Continue(())).unwrap_err();
    assert!(!error.is_wrong_input());
    let text = error.to_string();
    assert!(text.ends_with("of 1 packets none is an IP packet from one host to another"), "{text}");
}

#[test]
fn gre_is_looked_into() {
    let inner = ethernet(0x0800, &udp(A, B, (1, 443), 0));
    let mut outer = udp([10, 0, 0, 1], [10, 0, 0, 2], (0, 0), 0)[..20].to_vec();
    outer[9] = 47;
    outer[3] = (20 + 8 + inner.len()) as u8;
    outer.extend_from_slice(&[0x20, 0, 0x65, 0x58, 0, 0, 0, 9]); // with a key
    outer.extend_from_slice(&inner);
    let capture = File::new(101).packet(1, &outer).read();
    assert_eq!(capture.packets[0].ip.unwrap().source, std::net::IpAddr::from(A));
    assert_eq!(flows::flows(&capture, None).1.quic, 28);
}

#[test]
fn pcapng_has_its_own_clock() {
    let packet = ethernet(0x0800, &udp(A, B, (1, 2), 0));
    for (resolution, ticks, expected_ns) in [
        (None, 1_500_000, 1_500_000_000),
        (Some(9), 1_500_000_000, 1_500_000_000),
        (Some(0x80 | 10), 1536, 1_500_000_000),
    ] {
        let capture = Capture::read("test", &pcapng(1, resolution, ticks, &packet)[..]).unwrap();
        assert_eq!(capture.start_unix_ns, expected_ns);
        assert_eq!(capture.packets[0].ip.unwrap().bytes, 28);
    }
}

/// In seconds such a count is 584 years times 10^9; all packets together at the end of the clock would be a capture of no length.
#[test]
fn a_time_that_no_clock_shows_is_none() {
    let packet = ethernet(0x0800, &udp(A, B, (1, 2), 0));
    let capture = Capture::read("test", &pcapng(1, Some(0), u64::MAX, &packet)[..]).unwrap();
    assert_eq!((capture.notes.without_time, capture.packets.len()), (1, 1));
    let capture = Capture::read("test", &pcapng(1, Some(9), u64::MAX, &packet)[..]).unwrap();
    assert_eq!(capture.notes.without_time, 0);
}

/// Packets say what was dropped before them and statistics what was in all, which is more or the same.
#[test]
fn what_a_capture_says_that_it_lost_is_a_note() {
    let whole = |words: &[u32]| -> Vec<u8> {
        let length = 4 * (words.len() as u32 + 2);
        let body = words.iter().skip(1).copied();
        [words[0], length].into_iter().chain(body).chain([length]).flat_map(u32::to_be_bytes).collect()
    };
    let file = pcapng(1, None, 0, &ethernet(0x0800, &udp(A, B, (1, 2), 0)));
    let note = |blocks: &[Vec<u8>]| {
        let capture = Capture::read("test", &[file.clone(), blocks.concat()].concat()[..]).unwrap();
        capture.notes.dropped
    };
    let number = |code: u32, count: u64| [code << 16 | 8, (count >> 32) as u32, count as u32];
    let statistics = |index: u32, options: &[u32]| whole(&[&[5, index, 0, 0][..], options, &[0]].concat());
    let packet = |dropped: u64| whole(&[&[6, 0, 0, 9, 0, 0][..], &number(4, dropped)].concat());
    assert_eq!(note(&[]), 0);
    assert_eq!(note(&[packet(3), packet(2)]), 5);
    let both = [number(5, 7), number(7, 1 << 33)].concat();
    assert_eq!(note(&[packet(3), statistics(0, &both)]), (1 << 33) + 7);
    assert_eq!(
        note(&[statistics(0, &number(5, 4)), statistics(0, &number(5, 9)), packet(2)]),
        9,
        "from the beginning"
    );
    assert_eq!(
        note(&[statistics(1, &number(5, 4)), statistics(0, &number(4, 4))]),
        0,
        "of no interface; received"
    );
    assert_eq!(note(&[statistics(0, &number(5, 9)), file.clone(), packet(2)]), 11, "of two sections");
    assert_eq!(note(&[statistics(0, &number(5, u64::MAX)), file.clone(), packet(2)]), u64::MAX);
}

#[test]
fn what_cannot_be_read_says_so_in_one_line() {
    let error = |bytes: &[u8]| {
        let text = Capture::read("x.pcap", bytes).unwrap_err().to_string();
        assert!(text.starts_with("x.pcap: ") && !text.contains('\n'), "{text}");
        text
    };
    assert!(error(&[]).contains("empty"));
    assert!(error(b"hello, this is no capture at all").contains("not a pcap"));
    assert!(error(&[0x1f, 0x8b, 8, 0]).contains("compressed data"));
    assert!(error(&File::new(1).0[..20]).contains("cut short"));
    assert!(error(&File::new(1).0).ends_with("a capture without packets"));
    let first = File::new(1).packet(1, &[0; 60]).0;
    assert!(
        error(&first[..first.len() - 1]).ends_with("a capture without packets; its first one is cut short")
    );
    let foreign = error(&File::new(147).packet(1, &[0; 20]).0);
    assert!(foreign.contains("link type 147") && foreign.contains("radiotap (127)"), "{foreign}");
    let foreign = error(&pcapng(147, None, 0, &[0; 20]));
    assert!(foreign.contains("link type 147"), "{foreign}");
    let open = |path: &str| {
        let mut goes_on = |_| ControlFlow::Continue(());
        Capture::open(path.as_ref(), &Limits::default(), &mut goes_on).unwrap_err().to_string()
    };
    assert_eq!(open("no/such/file.pcap"), "no/such/file.pcap: cannot be read: No such file or directory");
    assert_eq!(open("no\nfile.pcap"), "no\\nfile.pcap: cannot be read: No such file or directory");
    assert!(open("src").contains("expected a folder with 1 to 900 files"), "{}", open("src"));
}

#[test]
fn privileges_can_be_given_up_between_opening_and_reading() {
    let open = |path: &str, opened: &mut dyn FnMut() -> std::io::Result<()>| {
        let mut goes_on = |_| ControlFlow::Continue(());
        Capture::open_then(path.as_ref(), &Limits::default(), &[], opened, &mut goes_on)
            .unwrap_err()
            .to_string()
    };
    let mut calls = 0;
    let mut refused = || {
        calls += 1;
        Err(std::io::Error::other("no"))
    };
    assert_eq!(
        open("no/such/file.pcap", &mut refused),
        "no/such/file.pcap: cannot be read: No such file or directory"
    );
    // It is not called without a file, and nothing is read if it fails.
    let program = std::env::current_exe().unwrap();
    assert!(open(program.to_str().unwrap(), &mut refused).contains("cannot be read: no"));
    assert_eq!(calls, 1);
    assert!(open(program.to_str().unwrap(), &mut || Ok(())).contains("not a pcap"));
}

#[test]
fn a_cut_packet_leaves_the_rest() {
    let mut file = File::new(101).packet(1, &udp(A, B, (1, 2), 0)).packet(2, &udp(A, B, (1, 2), 9));
    file.0.truncate(file.0.len() - 3);
    let capture = file.read();
    assert_eq!((capture.packets.len(), capture.notes.truncated), (1, true));
}

#[test]
fn what_a_compressed_file_has_before_its_damage_is_kept() {
    let file = File::new(101).packet(1, &udp(A, B, (1, 2), 0)).packet(2, &udp(A, B, (1, 2), 9));
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    std::io::Write::write_all(&mut encoder, &file.0).unwrap();
    let mut bytes = encoder.finish().unwrap();
    bytes.extend(b"junk behind it");
    let capture = Capture::read("x.pcap.gz", &bytes[..]).unwrap();
    assert_eq!(capture.packets.len(), 2);
    let (position, what) = capture.notes.damaged.unwrap();
    assert_eq!(position, file.0.len() as u64);
    assert!(what.contains("compressed data"), "{what}");
}

#[test]
fn jumps_of_the_clock_cut_the_capture() {
    let packet = udp(A, B, (1, 2), 0);
    let capture = File::new(101)
        .packet(5_000_000, &packet)
        .packet(5_400_000, &packet)
        .packet(5_300_000, &packet) // late, sorted
        .packet(4_000_000_000_000, &packet) // years ahead
        .packet(4_000_001_000_000, &packet)
        .packet(1_000_000, &packet) // set back
        .read();
    let spans: Vec<Span> = capture.segments.iter().map(SteadyPart::duration).collect();
    assert_eq!(spans, [Span::from_millis(400), Span::from_secs(1), Span::ZERO]);
    assert_eq!(clock::covered(&capture), Span::from_millis(1_400));
    assert_eq!(capture.notes.out_of_order, 1);
    let numbers: Vec<u32> = capture.packets.iter().map(|packet| packet.number).collect();
    assert_eq!(numbers, [1, 3, 2, 4, 5, 6]);
}

#[test]
fn the_private_end_is_meant_and_others_are_asked_for() {
    let capture = File::new(101).packet(1, &udp(A, B, (1, 2), 0)).packet(2, &udp(B, A, (2, 1), 0)).read();
    let station = stations::clear(&capture).unwrap();
    assert_eq!(station.to_string(), "192.168.1.2");
    let ways: Vec<_> = capture.packets.iter().map(|packet| station.direction(&capture, packet)).collect();
    assert_eq!(ways, [Some(Direction::Up), Some(Direction::Down)]);
    let doubtful = File::new(101).packet(1, &udp(A, [192, 168, 1, 3], (1, 2), 0)).read();
    assert_eq!(stations::clear(&doubtful), None);
    let missing = stations::named(&capture, "10.1.1.1").unwrap_err().to_string();
    assert!(missing.contains("10.1.1.1") && missing.contains("192.168.1.2"), "{missing}");
    assert!(stations::named(&capture, "phone").unwrap_err().to_string().contains("--station"));
}

#[test]
fn bundles_are_cut_to_packets() {
    let capture = File::new(101).packet(1, &udp(B, A, (1, 2), 4_000)).read();
    let station = Station::parse("192.168.1.2").unwrap();
    let list = &replay::arrivals(&capture, &station)[0].arrivals;
    let bytes: Vec<u32> = list.iter().map(|arrival| arrival.bytes).collect();
    assert_eq!(bytes, [1_500, 1_500, 1_132]);
    assert!(list.iter().all(
        |arrival| arrival.to == airwatt_sim::replay::Destination::Station && arrival.at == Instant::ZERO
    ));
}

#[test]
fn quantiles_are_samples() {
    let mut samples: Vec<Span> = (1..=100).rev().map(Span::from_millis).collect();
    let report = DelayReport::of(&mut samples).unwrap();
    assert_eq!((report.p50, report.p95, report.p99), (0.050, 0.095, 0.099));
    assert!((report.mean - 0.0505).abs() < 1e-12);
    assert_eq!(DelayReport::of(&mut []), None);
}

// --- 802.11 ---

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
        (2, null(true)),
        (100, beacon(&[1])),
        (101, poll()),
        (102, data(2, true)),
    ]
}

/// ```text
/// STA  PM=1                PS-Poll                                          PS-Poll
/// AP           beacon(TIM:1)       data(More Data)  beacon()  beacon()              data
/// ```
/// More Data says that the second frame is buffered from 102 ms on: the two beacons, packets 7 and 8, had to announce it.
#[test]
fn a_frame_that_is_known_to_wait_has_to_be_announced() {
    let later = [(202, beacon(&[])), (305, beacon(&[7])), (306, poll()), (307, data(3, false))];
    let frames = [&buffered()[..], &later].concat();
    assert_eq!(tim_never_set(&frames), [(Verdict::Kept, 6), (Verdict::Violated, 7), (Verdict::Violated, 8)]);
    let of_kind = |finding: &power_save::Finding| finding.kind == FindingKind::TimNeverSet;
    let found = findings(&ladder(&frames)).into_iter().find(of_kind).unwrap();
    // From the first of the beacons to the frame.
    assert_eq!(found.excess.delay, Span::from_millis(105));
    // That this frame is the announced one rests on what no frame can show, and says so.
    let assumed = found.occurrences[1].assumption.unwrap();
    assert!(assumed.contains("did not discard the frame"), "{assumed}");
    let detail = found.occurrences[1].detail.as_deref().unwrap();
    assert!(detail.ends_with(&format!("(provided that {assumed})")), "{detail}");
}

/// The capture begins after the station has entered power save: that the access point answered its PS-Poll, with More Data, says that it
/// takes the station to be in power save, and the next PS-Poll that it still was.
#[test]
fn a_capture_that_begins_late_shows_who_slept() {
    let frames = [
        (100, beacon(&[1])),
        (101, poll()),
        (101, data(2, true)),
        (101, ack(AP)),
        (202, beacon(&[])),
        (305, beacon(&[1])),
        (306, poll()),
        (306, data(3, false)),
        (306, ack(AP)),
    ];
    assert_eq!(tim_never_set(&frames), [(Verdict::Violated, 5)]);
}

/// The frame that More Data announced never comes: concealed and given up, or missed, or the capture ends too early. The first beacon
/// that had to announce it leaves that open, also as the last packet.
#[test]
fn a_frame_that_is_never_captured_is_not_passed_over() {
    let beacons = [(202, beacon(&[])), (305, beacon(&[])), (407, beacon(&[])), (408, poll())];
    let open = [(Verdict::Kept, 6), (Verdict::Undecidable, 7)];
    for count in 1..=beacons.len() {
        assert_eq!(tim_never_set(&[&buffered()[..], &beacons[..count]].concat()), open, "{count}");
    }
    let later = [(202, beacon(&[])), (305, beacon(&[1])), (407, beacon(&[1]))];
    assert_eq!(tim_never_set(&[&buffered()[..], &later].concat()), open);
    let announced = [(202, beacon(&[1])), (305, beacon(&[])), (407, beacon(&[]))];
    assert_eq!(tim_never_set(&[&buffered()[..], &announced].concat()), [(Verdict::Kept, 6)]);
    assert_eq!(tim_never_set(&buffered()), [(Verdict::Kept, 6)]);
    // The station leaves before.
    let leaves = [(202, beacon(&[])), (210, frame(FrameKind::Deauthentication, true, |_| ()))];
    assert_eq!(tim_never_set(&[&buffered()[..], &leaves].concat()), open);
}

/// The next frame has another traffic identifier, and a beacon announced it. That does not say what became of the frame that More Data
/// announced, nor of the beacon without the bit.
#[test]
fn a_frame_of_another_traffic_identifier_is_not_the_announced_one() {
    let qos = |tid: u8, number: u16, more: bool| {
        frame(FrameKind::QosData, false, |header| {
            header.qos = Some(QosControl::new(tid));
            header.control.more_data = more;
            header.sequence_control = Some(number << 4);
        })
    };
    let frames = [
        (0, poll()),
        (1, qos(0, 1, false)),
        (2, null(true)),
        (100, beacon(&[1])),
        (101, poll()),
        (102, qos(0, 2, true)),
        (202, beacon(&[])),
        (305, beacon(&[1])),
        (306, poll()),
        (307, qos(6, 1, false)),
    ];
    assert_eq!(tim_never_set(&frames), [(Verdict::Kept, 6), (Verdict::Undecidable, 7)]);
}

/// What was due at the end of a capture and had not come is undecidable, and what was still in time is not counted.
#[test]
fn a_capture_that_ends_early_leaves_open_what_was_due() {
    let asleep = [(0, poll()), (1, data(1, false)), (2, null(true)), (100, beacon(&[1]))];
    let open = |rest: &[(u64, Vec<u8>)]| kinds(&ladder(&[&asleep[..], rest].concat()));
    let beacons_until = |last: u64| (2..=last).map(|number| (102 * number, beacon(&[1]))).collect::<Vec<_>>();
    let asked = [(101, poll()), (101, ack(STATION))];
    assert_eq!(open(&[&asked[..], &[(140, ack(AP))]].concat()), []);
    assert_eq!(open(&[&asked[..], &[(160, ack(AP))]].concat()), [(FindingKind::LateDelivery, 1)]);
    let promised = [(101, poll()), (102, data(2, true)), (103, poll()), (103, ack(STATION))];
    assert_eq!(open(&[&promised[..], &[(140, ack(AP))]].concat()), []);
    assert_eq!(open(&[&promised[..], &[(160, ack(AP))]].concat()), [(FindingKind::MoreDataThenNothing, 1)]);
    // No association says how long the station may sleep: one interval is allowed to all.
    assert_eq!(open(&beacons_until(2)), []);
    assert_eq!(open(&beacons_until(3)), [(FindingKind::LateFetch, 1)]);
    // It was fetched unseen, or given up.
    let emptied = [beacons_until(2), vec![(306, beacon(&[])), (700, ack(AP))]].concat();
    assert_eq!(open(&emptied), []);
}

/// Nothing answers a PS-Poll that the station repeats each 60 ms, and nothing says that the access point received one.
#[test]
fn ps_polls_that_nobody_hears_are_not_passed_over() {
    let asleep = [(0, poll()), (1, data(1, false)), (1, ack(AP)), (2, null(true)), (2, ack(STATION))];
    let polls = (0..6).map(|number| (110 + 60 * number, poll())).collect::<Vec<_>>();
    let has_polls = |capture: &Capture| {
        let found = findings(capture).into_iter().find(|one| one.kind == FindingKind::PsPollUnanswered);
        found.map_or((0, 0), |one| (one.count(Verdict::Violated), one.count(Verdict::Undecidable)))
    };
    let open = |polls: &[(u64, Vec<u8>)], rest: &[(u64, Vec<u8>)]| {
        let mut frames = [&asleep[..], &[(100, beacon(&[1]))], polls, rest].concat();
        frames.extend((2..9).map(|number| (102 * number, beacon(&[1]))));
        frames.sort_by_key(|(at, _)| *at);
        has_polls(&ladder(&frames))
    };
    assert_eq!(open(&polls, &[]), (0, 1));
    assert_eq!(open(&polls[..1], &[]), (0, 0), "a single one had its answer unseen");
    assert_eq!(open(&polls, &[(415, data(2, false)), (415, ack(AP))]), (0, 1));
    // It asks twice within 60 ms, and is answered.
    assert_eq!(open(&polls[..2], &[(175, data(2, false)), (175, ack(AP))]), (0, 0));
}

/// The frame is announced, or the beacon follows More Data within milliseconds, so that it was composed before.
#[test]
fn an_access_point_that_announces_is_not_accused() {
    let announced = [(202, beacon(&[1])), (203, poll()), (204, data(3, false))];
    assert_eq!(
        tim_never_set(&[&buffered()[..], &announced].concat()),
        [(Verdict::Kept, 6), (Verdict::Kept, 9)]
    );
    let at_once = [(108, beacon(&[])), (112, poll()), (113, data(3, false))];
    let composed_before = [(Verdict::Kept, 6), (Verdict::Undecidable, 9)];
    assert_eq!(tim_never_set(&[&buffered()[..], &at_once].concat()), composed_before);
}

/// Beacons without the bit while the station slept prove nothing: the frame may have come after the last of them.
#[test]
fn a_frame_of_unknown_arrival_is_possible_only() {
    let slept = [(0, poll()), (1, data(1, false)), (2, null(true)), (100, beacon(&[])), (202, beacon(&[]))];
    let fetched = [(290, poll()), (291, data(2, false))];
    assert_eq!(tim_never_set(&[&slept[..], &fetched].concat()), [(Verdict::Undecidable, 7)]);
}

#[test]
fn a_poll_without_response_is_reported_unless_it_was_acknowledged() {
    // A station without a response repeats its PS-Poll.
    let polls = [(100, beacon(&[1])), (101, poll()), (103, poll())];
    let asleep = [&[(0, poll()), (1, data(1, false)), (2, null(true))][..], &polls].concat();
    let of_poll = |rest: &[(u64, Vec<u8>)]| kinds(&ladder(&[&asleep[..], rest].concat()));
    let unanswered = (FindingKind::PsPollUnanswered, 1);
    assert!(of_poll(&[(400, beacon(&[])), (401, null(true)), (402, ack(STATION))]).contains(&unanswered));
    // Timestamps of a monitor put another frame before the acknowledgement.
    let between = [(103, beacon(&[])), (103, ack(STATION)), (400, beacon(&[])), (401, null(true))];
    assert!(!of_poll(&between).contains(&unanswered));
    // A capture without any acknowledgement says nothing of this one.
    assert!(!of_poll(&[(400, beacon(&[])), (401, null(true))]).contains(&unanswered));
    assert!(!of_poll(&[(103, ack(STATION)), (400, beacon(&[])), (401, null(true))]).contains(&unanswered));
    // It did not repeat it: the monitor missed the acknowledgement.
    let once = [&asleep[..5], &[(400, beacon(&[])), (401, null(true)), (402, ack(STATION))]].concat();
    assert!(!kinds(&ladder(&once)).contains(&unanswered));
}

/// DTIM count 1: group-addressed frames wait for the next beacon while a station of the cell sleeps.
#[test]
fn group_frames_follow_dtim_beacons() {
    let group = || {
        frame(FrameKind::Data, false, |header| {
            header.address1 = MacAddress::BROADCAST;
            header.sequence_control = Some(9 << 4);
        })
    };
    let sleeping = |count| vec![(0, null(true)), (100, beacon_with(count, &[])), (103, group())];
    assert_eq!(kinds(&ladder(&sleeping(1))), [(FindingKind::GroupNotAfterDtim, 1)]);
    assert_eq!(kinds(&ladder(&sleeping(0))), []);
    let awake = [(0, null(false)), (100, beacon_with(1, &[])), (103, group())];
    assert_eq!(kinds(&ladder(&awake)), [], "nobody sleeps");
    // The access point's own capture has the time at which its driver handed the frame over.
    let own = Radiotap { tx_flags: Some(airwatt_dot11::TxFlags(0)), ..Radiotap::default() };
    let sent_here =
        frame_with(&own, FrameKind::Data, false, |header| header.address1 = MacAddress::BROADCAST);
    let judged = |sent| {
        verdict(&ladder(&[(0, null(true)), (100, beacon_with(1, &[])), (103, sent), (150, null(true))]))
    };
    assert_eq!(judged(group()), Verdict::Violated);
    assert_eq!(judged(sent_here), Verdict::Undecidable);
}

/// The kinds of the documentation are those of the code, and each has a section with a ladder.
#[test]
fn every_kind_has_its_page() {
    let page = include_str!("../../../docs/findings.md");
    for (kind, _) in report::finding_kinds() {
        let section = page.split(&format!("## `{kind}`")).nth(1).unwrap_or_else(|| panic!("{kind}"));
        let section = section.split("\n## ").next().unwrap();
        assert!(section.contains("```text"), "{kind} has no ladder");
    }
}

/// ```text
/// STA  Null(PM=1)                 PS-Poll           Null(PM=0)
/// AP             beacon(TIM:1)             data
/// ```
#[test]
fn a_ps_poll_exchange_is_in_order() {
    let capture = ladder(&[
        (0, poll()), // tells the AID
        (1, data(1, false)),
        (2, null(true)),
        (100, beacon(&[1])),
        (102, poll()),
        (103, data(2, false)),
        (110, null(false)),
    ]);
    assert_eq!(kinds(&capture), []);
    let record = power_save::observe(&capture).stations[0];
    assert_eq!(
        (record.aid, record.counts.ps_polls, record.counts.tim_set, record.counts.data_down),
        (Some(1), 2, 1, 2)
    );
    assert_eq!(record.in_power_save, Span::from_millis(108));
    assert_eq!(record.counts.pm_changes, 1);
    let (low, high) = record.ledgers(clock::covered(&capture)).unwrap();
    assert_eq!(low.elapsed(), clock::covered(&capture));
    assert_eq!(high.elapsed(), low.elapsed());
}

#[test]
fn what_an_access_point_does_wrong() {
    let asleep = [(0, poll()), (1, data(1, false)), (2, null(true))];
    let with = |rest: &[(u64, Vec<u8>)]| ladder(&[&asleep[..], rest].concat());
    assert_eq!(kinds(&with(&[(50, data(2, false))])), [(FindingKind::SentToSleeper, 1)]);
    let repeated = frame(FrameKind::Data, false, |header| {
        header.control.retry = true;
        header.sequence_control = Some(2 << 4);
    });
    // A retransmission is the same fault, not another.
    assert_eq!(kinds(&with(&[(50, data(2, false)), (51, repeated)])), [(FindingKind::SentToSleeper, 1)]);
    let unannounced = [(100, beacon(&[])), (202, beacon(&[7])), (203, poll()), (204, data(2, false))];
    // When the frame came to the access point is not known: possible only.
    assert_eq!(kinds(&with(&unannounced)), [(FindingKind::TimNeverSet, 1)]);
    assert_eq!(verdict(&with(&unannounced)), Verdict::Undecidable);
    let broken_promise =
        [(100, beacon(&[1])), (101, poll()), (102, data(2, true)), (103, poll()), (500, beacon(&[]))];
    assert_eq!(kinds(&with(&broken_promise)), [(FindingKind::MoreDataThenNothing, 1)]);
    // A Null frame says that the access point does not have it any more.
    let empty = frame(FrameKind::Null, false, |_| ());
    let withdrawn = [&broken_promise[..4], &[(104, empty), (500, beacon(&[]))]].concat();
    assert_eq!(kinds(&with(&withdrawn)), [(FindingKind::MoreDataThenNothing, 1)]);
    assert_eq!(verdict(&with(&withdrawn)), Verdict::Undecidable);
    let late = [(100, beacon(&[1])), (101, poll()), (180, data(2, false))];
    assert_eq!(kinds(&with(&late)), [(FindingKind::LateDelivery, 1)]);
    let late_fetch = [(100, beacon(&[1])), (700, poll()), (701, data(2, false))];
    assert_eq!(kinds(&with(&late_fetch)), [(FindingKind::LateFetch, 1)]);
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

/// With U-APSD the bit says that what a trigger fetches is there; a beacon without it may be about other access categories.
#[test]
fn a_tim_bit_before_a_service_period_was_right() {
    let kept = |bits: &[u16]| {
        let frames = [
            (0, poll()),
            (1, data(1, false)),
            (2, trigger()),
            (3, reply(true)),
            (100, beacon(bits)),
            (101, trigger()),
            (102, reply(false)),
            (103, reply(true)),
        ];
        let capture = ladder(&frames);
        assert_eq!(kinds(&capture), []);
        [FindingKind::TimNeverSet, FindingKind::TimStuck].map(|kind| {
            let of_kind = findings(&capture).into_iter().filter(move |found| found.kind == kind);
            of_kind.map(|found| found.count(Verdict::Kept)).sum::<u64>()
        })
    };
    let [announced, other] = [kept(&[1]), kept(&[9])];
    assert_eq!([announced[0] - other[0], announced[1] - other[1]], [1, 1]);
}

#[test]
fn a_service_period_ends_with_eosp() {
    // The first EOSP tells that the station uses U-APSD.
    let good = [(0, trigger()), (1, reply(true)), (50, trigger()), (51, reply(false)), (52, reply(true))];
    assert_eq!(kinds(&ladder(&good)), []);
    let missing = [(0, trigger()), (1, reply(true)), (50, trigger()), (51, reply(false)), (400, beacon(&[]))];
    assert_eq!(kinds(&ladder(&missing)), [(FindingKind::EospMissing, 1)]);
    // The frames of a burst are triggers each; the access point ends their one period when it has its turn.
    let burst = [
        (0, trigger()),
        (1, reply(true)),
        (50, trigger()),
        (51, trigger()),
        (52, trigger()),
        (53, reply(true)),
    ];
    assert_eq!(kinds(&ladder(&burst)), []);
    let unanswered = [(0, trigger()), (1, reply(true)), (50, trigger()), (80, trigger()), (81, reply(true))];
    assert_eq!(kinds(&ladder(&unanswered)), [(FindingKind::EospMissing, 1)]);
}

#[test]
fn flapping() {
    let frames: Vec<_> = (0..10).map(|step| (step * 20, null(step % 2 == 0))).collect();
    assert_eq!(kinds(&ladder(&frames)), [(FindingKind::PmFlapping, 1)]);
    // The first frame shows a mode, and the nine after it change it. By hand: of the 180 ms it was in active mode from 20, 60, 100
    // and 140 ms on, for 20 ms each; it left that mode again in each case but the last.
    let found =
        findings(&ladder(&frames)).into_iter().find(|one| one.kind == FindingKind::PmFlapping).unwrap();
    let [run] = &found.occurrences[..] else { panic!("{:?}", found.occurrences) };
    assert_eq!((run.packet, run.deciding.as_slice()), (2, &[2, 10][..]));
    assert_eq!(found.excess.awake, Span::from_millis(80));
    let text = run.detail.as_deref().unwrap();
    assert!(text.starts_with("9 changes of PM in 160 ms, up to packet 10"), "{text}");
    // With data it is of use to be awake.
    let with_data = [&frames[..2], &[(30, data(1, false))], &frames[2..]].concat();
    let found =
        findings(&ladder(&with_data)).into_iter().find(|one| one.kind == FindingKind::PmFlapping).unwrap();
    assert_eq!(found.excess.awake, Span::from_millis(60));
}

#[test]
fn an_open_frame_carries_its_ip_packet() {
    let capture = ladder(&[(0, data(1, false))]);
    assert_eq!(capture.packets[0].ip.unwrap().bytes, 128);
    let found = capture.frame(&capture.packets[0]).unwrap();
    assert_eq!(found.msdu_bytes, 128);
    assert_eq!(found.air_bytes, 24 + 8 + 128 + 4);
    assert_eq!(stations::clear(&capture), Some(Station::Mac(STATION)));
}

fn analyse(bytes: &[u8]) {
    let Ok(capture) = Capture::read("damaged", bytes) else { return };
    let station = stations::clear(&capture);
    let document = report::describe(&capture, station.as_ref(), None);
    assert!(serde_json::to_string(&document).is_ok());
    if let Some(station) = station {
        let _ = replay::arrivals(&capture, &station);
    }
}

proptest! {
    #[test]
    fn damaged_captures_are_read_or_refused(
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..12),
        cut in any::<prop::sample::Index>(),
        which in 0usize..3,
    ) {
        let air = [null(true), beacon(&[1, 9]), poll(), data(1, true), data(2, false)];
        let file = air.iter().zip(1..).fold(File::new(127), |file, (bytes, at)| file.packet(at * 90_000, bytes));
        let mut bytes = match which {
            0 => file.0,
            1 => pcapng(1, Some(9), 77, &ethernet(0x0800, &udp(A, B, (1, 2), 30))),
            _ => File::new(1).packet(1, &ethernet(0x8100, &[0; 40])).packet(2, &ethernet(0x0800, &udp(A, B, (1, 2), 9))).0,
        };
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        if cut.index(4) == 0 {
            bytes.truncate(cut.index(bytes.len()));
        }
        analyse(&bytes);
    }
}

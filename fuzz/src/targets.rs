//! What each target does with its input.

use std::ops::ControlFlow;

use airwatt_capture::{Capture, CaptureError, report, stations};
use airwatt_dot11::{Frame, MacHeader, ManagementBody, Radiotap, amsdu_subframes, check_fcs, snap_payload};
use airwatt_proto::e2tcp;
use airwatt_proto::tunnel::{Inner, IpPacket, wire};
use airwatt_sim::RunOptions;
use airwatt_sim::scenario::{Checked, Scenario};

use crate::{Feature, operations, proxies};

/// The order of magnitude of a count, so that features stay few.
fn magnitude(count: usize) -> u64 {
    u64::from(usize::BITS - count.leading_zeros())
}

/// Puts parts of up to 6 bits into one feature.
fn feature(parts: &[u64]) -> Feature {
    parts.iter().fold(1, |feature, part| feature << 6 | part & 0x3f)
}

/// A feature of a text: the words that do not depend on the input.
fn text_feature(text: &str) -> Feature {
    let letters = text.bytes().filter(|byte| byte.is_ascii_lowercase() || *byte == b' ');
    let hash = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    letters.take(40).fold(0xcbf2_9ce4_8422_2325, hash)
}

/// A capture of any format: read, described, and turned into arrivals.
pub(crate) fn capture(bytes: &[u8]) -> Feature {
    let capture = match Capture::read("fuzz", bytes) {
        Ok(capture) => capture,
        Err(CaptureError::NotACapture(_, why)) => return text_feature(&why),
        Err(CaptureError::Unreadable(_, why)) => panic!("bytes can be read: {why}"),
        Err(error) => return text_feature(&error.to_string()),
    };
    let station = stations::clear(&capture);
    let document = report::describe(&capture, station.as_ref(), None);
    let mut arrivals = 0;
    if let Some(station) = &station {
        let segments = airwatt_capture::replay::arrivals(&capture, station);
        arrivals = segments.iter().map(|segment| segment.arrivals.len()).sum();
    }
    let notes = &capture.notes;
    feature(&[
        magnitude(capture.packets.len()),
        magnitude(capture.frames.len()),
        magnitude(capture.segments.len()),
        magnitude(document.flow_count),
        magnitude(document.findings.len()),
        magnitude(arrivals),
        magnitude(capture.networks.len()),
        capture.link_types.iter().fold(0, |sum, link| sum + (*link as u64)),
        u64::from(notes.truncated)
            | u64::from(notes.damaged.is_some()) << 1
            | u64::from(notes.oversized.is_some()) << 2
            | u64::from(notes.without_time > 0) << 3
            | u64::from(notes.out_of_order > 0) << 4,
    ])
}

/// An 802.11 frame: decoded, its body parsed, and its header encoded again.
pub(crate) fn dot11(bytes: &[u8]) -> Feature {
    check_fcs(bytes);
    if let Ok((header, length)) = MacHeader::decode(bytes) {
        assert!(length <= bytes.len());
        let mut encoded = Vec::new();
        header.encode(&mut encoded);
        assert_eq!(
            MacHeader::decode(&encoded).map(|(header, _)| header),
            Ok(header),
            "a header has one meaning"
        );
    }
    let padded = Frame::decode_padded(bytes).is_ok();
    let frame = match Frame::decode(bytes) {
        Ok(frame) => frame,
        Err(error) => return text_feature(&error.to_string()),
    };
    assert!(frame.body().len() <= bytes.len());
    let subframes: usize = amsdu_subframes(frame.body()).map(|subframe| subframe.body.len()).sum();
    assert!(subframes <= bytes.len());
    let snap = snap_payload(frame.body()).is_some();
    let control = frame.header().control;
    let (management, elements) = match ManagementBody::decode(&frame) {
        Ok(Some(ManagementBody::Beacon { elements, .. })) => {
            let aids = elements.tim().map_or(0, |tim| tim.aids().count());
            assert!(aids <= 8 * bytes.len());
            (2, magnitude(aids) | u64::from(elements.wmm().is_some()) << 5)
        }
        Ok(Some(_)) => (1, 0),
        Ok(None) => (0, 0),
        Err(error) => (3, text_feature(&error.to_string())),
    };
    feature(&[
        text_feature(&format!("{:?}", control.kind)),
        u64::from(control.to_ds)
            | u64::from(control.from_ds) << 1
            | u64::from(padded) << 2
            | u64::from(snap) << 3,
        magnitude(subframes),
        management,
        elements,
    ])
}

/// A radiotap header.
pub(crate) fn radiotap(bytes: &[u8]) -> Feature {
    match Radiotap::decode(bytes) {
        Ok((radiotap, length)) => {
            assert!(length <= bytes.len());
            let vector = radiotap.vector();
            feature(&[
                magnitude(length),
                magnitude(vector.map_or(0, |vector| vector.rate().as_bps() as usize)),
                u64::from(radiotap.tx_flags.is_some()),
            ])
        }
        Err(error) => text_feature(&error.to_string()),
    }
}

/// Words of scenario files.
pub(crate) const SCENARIO_WORDS: &[&str] = &[
    "base = \"fast-dsl\"\n",
    "\n[wired]\n",
    "\n[wifi]\n",
    "\n[ap]\n",
    "\n[[station]]\n",
    "\n[[flow]]\n",
    "rtt = ",
    "rate = ",
    "count = ",
    "policy = ",
    "\"20ms\"",
    "\"0ms\"",
    "\"1Gbps\"",
    "\"1B\"",
    "\"100packets\"",
    "\"99999999999999999999s\"",
    "-1",
    "1e308",
    "nan",
    "true",
    "[]",
    "{}",
    "'''",
    "\u{fc}",
];

/// A scenario file, and the beginning of its run. Slashes are left out, since a scenario may name another file as its base.
pub(crate) fn scenario(bytes: &[u8]) -> Feature {
    let text = String::from_utf8_lossy(bytes).replace('/', "");
    match Scenario::from_text(&text, "fuzz", &[]) {
        Ok(scenario) => feature(&[
            magnitude(scenario.station.len()),
            magnitude(scenario.flow.len()),
            u64::from(scenario.wifi.is_some()),
            beginning_of_run(&scenario),
        ]),
        Err(error) => one_line_each(&error.to_string()),
    }
}

/// What a run of the scenario comes to until its first report of progress, at which it is broken off.
fn beginning_of_run(scenario: &Checked) -> Feature {
    let mut on_progress = |_| ControlFlow::Break(());
    match airwatt_sim::run(scenario, 1, &mut RunOptions { trace: false, on_progress: &mut on_progress }) {
        Ok(run) => magnitude(run.result.simulated_s as usize),
        Err(error) => one_line_each(&error.to_string()),
    }
}

/// An error's feature. Its text has no empty line.
fn one_line_each(text: &str) -> Feature {
    assert!(!text.is_empty() && text.lines().all(|line| !line.trim().is_empty()), "a line each: {text:?}");
    text_feature(text)
}

/// An E2TCP header: what decodes has exactly one encoding. The input is tried as it is and with a checksum that fits, since
/// mutations do not find checksums.
pub(crate) fn e2tcp_header(bytes: &[u8]) -> Feature {
    let mut outcome = check_e2tcp_header(bytes);
    if let Some(at) = checksum_at(bytes).filter(|at| at + 2 <= bytes.len()) {
        let mut sealed = bytes.to_vec();
        sealed[at..at + 2].fill(0);
        let sum = checksum(&sealed);
        sealed[at..at + 2].copy_from_slice(&sum.to_be_bytes());
        outcome ^= check_e2tcp_header(&sealed).rotate_left(20);
    }
    outcome
}

fn check_e2tcp_header(packet: &[u8]) -> Feature {
    match e2tcp::Header::decode(packet) {
        Ok((header, addresses, payload)) => {
            let mut again = Vec::new();
            header.encode(addresses, payload, &mut again);
            assert_eq!(again, packet, "a header has one encoding");
            assert_eq!(header.bytes() + payload.len(), packet.len());
            feature(&[u64::from(packet[0]), u64::from(packet[1]), magnitude(payload.len())])
        }
        Err(error) => text_feature(&error.to_string()),
    }
}

/// Where the flags put the checksum.
fn checksum_at(packet: &[u8]) -> Option<usize> {
    let flags = usize::from(*packet.first()?);
    let bit = |shift: usize| flags >> shift & 1;
    let addresses = bit(5) * (12 + 24 * bit(7));
    Some(2 + bit(6) + addresses + 4 * bit(4) + 2 * bit(3) + 4 * (flags >> 1 & 3) + 2 * bit(0))
}

fn checksum(packet: &[u8]) -> u16 {
    let word = |word: &[u8]| u64::from(word[0]) << 8 | u64::from(*word.get(1).unwrap_or(&0));
    let mut sum: u64 = packet.chunks(2).map(word).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// An established E2TCP connection: packets, calls and passing time, eight bytes each.
pub(crate) fn e2tcp_connection(bytes: &[u8]) -> Feature {
    operations::run(bytes);
    let kinds = bytes.chunks_exact(8).map(|operation| operation[0] % 6);
    kinds.fold(1, |feature: u64, kind| feature.wrapping_mul(7).wrapping_add(u64::from(kind))) & 0xfff
}

/// Two split-connection proxies: the path between them, their hosts, and time, eight bytes each.
pub(crate) fn split_proxy(bytes: &[u8]) -> Feature {
    let [mobile, base] = proxies::run(bytes);
    feature(&[
        magnitude((mobile.begun + base.begun) as usize),
        magnitude((mobile.relayed + base.relayed) as usize),
        magnitude((mobile.passed + base.passed) as usize),
        magnitude((mobile.dropped + base.dropped) as usize),
        magnitude((mobile.restarts + base.restarts) as usize),
        magnitude((mobile.undelivered + base.undelivered) as usize),
        magnitude((mobile.declined + base.declined) as usize),
    ])
}

/// A datagram of a tunnel: its packets read, and written again.
pub(crate) fn tunnel_datagram(bytes: &[u8]) -> Feature {
    let (header, packets) = match wire::parse(bytes) {
        Ok(read) => read,
        Err(error) => return text_feature(&error.to_string()),
    };
    let mut encoded = Vec::new();
    header.encode(&mut encoded);
    let (mut count, mut flows, mut acks) = (0, std::collections::BTreeSet::new(), 0);
    let mut previous: Option<IpPacket> = None;
    for packet in packets {
        encoded.extend_from_slice(packet);
        count += 1;
        let Ok(packet) = IpPacket::parse(packet.to_vec()) else { continue };
        assert!(!packet.supersedes(&packet), "no acknowledgement makes itself superfluous");
        acks += usize::from(previous.as_ref().is_some_and(|previous| packet.supersedes(previous)));
        flows.insert(packet.flow());
        previous = Some(packet);
    }
    assert_eq!(encoded, bytes, "a datagram has one meaning");
    let protocol = previous.map_or(0, |packet| u64::from(packet.flow().protocol));
    feature(&[magnitude(count), magnitude(flows.len()), magnitude(acks), protocol])
}

//! A capture without names: what an analysis says stays, and nothing of whose it was is left.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::net::Ipv6Addr;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use airwatt_capture::report::describe;
use airwatt_capture::stations::is_private;
use airwatt_capture::{Capture, CapturedPacket, Ip, TransportHeader, anonymize};
use airwatt_dot11::MacAddress;
use proptest::prelude::*;

fn captures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../captures")
}

fn anonymous(path: &Path) -> Vec<u8> {
    let mut out = Vec::new();
    anonymize(path, &mut out, || Ok(()), &mut |_| ControlFlow::Continue(())).unwrap();
    out
}

/// Every finding with its verdicts and costs, as far as it names no station.
fn said(capture: &Capture) -> Vec<(&'static str, u64, u64, u64, Vec<u32>)> {
    let found = describe(capture, None, None).findings;
    let packets = |occurrences: &[airwatt_capture::report::OccurrenceReport]| {
        occurrences.iter().flat_map(|one| one.packets.clone()).collect()
    };
    found
        .iter()
        .map(|one| (one.kind, one.count, one.undecidable, one.kept, packets(&one.occurrences)))
        .collect()
}

#[test]
fn findings_are_those_of_the_original() {
    let mut compared = 0;
    for entry in fs::read_dir(captures().join("findings")).unwrap() {
        let path = entry.unwrap().path();
        let original = Capture::read("x", &fs::read(&path).unwrap()[..]).unwrap();
        let masked = Capture::read("x", &anonymous(&path)[..]).unwrap();
        assert_eq!(masked.packets.len(), original.packets.len());
        for (one, other) in masked.packets.iter().zip(&original.packets) {
            assert_eq!((one.at, one.wire_bytes), (other.at, other.wire_bytes), "{}", path.display());
        }
        assert_eq!(said(&masked), said(&original), "{}", path.display());
        compared += said(&original).len();
    }
    assert!(compared > 30, "{compared}");
}

/// The parts of a packet that an analysis reads. Of its addresses only these are left: whether a translator may hide them, and whether they are one.
type Read = (Option<(u32, TransportHeader, [bool; 2], bool)>, Option<[bool; 2]>, u32);

fn read(capture: &Capture) -> Vec<Read> {
    let of_ip = |ip: Ip| {
        let hidden = [ip.source, ip.destination].map(is_private);
        (ip.bytes, ip.transport, hidden, ip.source == ip.destination)
    };
    let of_packet = |packet: &CapturedPacket| {
        let groups = packet.macs.map(|(source, destination)| [source.is_group(), destination.is_group()]);
        (packet.ip.map(of_ip), groups, packet.wire_bytes)
    };
    capture.packets.iter().map(of_packet).collect()
}

/// Also of packets in tags, in tunnels, and of any kind that the fuzzing of captures has found.
#[test]
fn what_is_read_is_that_of_the_original() {
    let mut compared = 0;
    for folder in ["../captures", "../captures/findings", "../fuzz/corpus/pcap", "../fuzz/corpus/pcapng"] {
        for entry in fs::read_dir(captures().join(folder)).unwrap() {
            let path = entry.unwrap().path();
            let Ok(bytes) = fs::read(&path) else { continue };
            let Ok(original) = Capture::read("x", &bytes[..]) else { continue };
            let masked = Capture::read("x", &anonymous(&path)[..]).unwrap();
            assert_eq!(masked.packets.len(), original.packets.len(), "{}", path.display());
            for (place, (one, other)) in read(&masked).iter().zip(read(&original)).enumerate() {
                assert_eq!(*one, other, "{}, packet {}", path.display(), place + 1);
                compared += usize::from(other.0.is_some());
            }
        }
    }
    assert!(compared > 1_000, "{compared}");
}

#[test]
fn no_address_name_or_content_is_left() {
    let contains = |bytes: &[u8], wanted: &[u8]| bytes.windows(wanted.len()).any(|part| part == wanted);
    let path = captures().join("tcp-download.pcapng");
    let (before, after) = (fs::read(&path).unwrap(), anonymous(&path));
    let original = Capture::read("x", &before[..]).unwrap();
    let masked = Capture::read("x", &after[..]).unwrap();
    let macs = |capture: &Capture| -> BTreeSet<MacAddress> {
        let all = capture.packets.iter().filter_map(|packet| packet.macs);
        all.flat_map(|(one, other)| [one, other]).filter(|mac| !mac.is_group()).collect()
    };
    assert!(macs(&original).len() > 1 && macs(&original).len() == macs(&masked).len());
    assert!(macs(&original).is_disjoint(&macs(&masked)));
    for host in [[192, 168, 7, 2], [198, 51, 100, 10]] {
        assert!(contains(&before, &host) && !contains(&after, &host), "{host:?}");
    }

    let path = captures().join("wpa2-ccmp.pcap");
    let (before, after) = (fs::read(&path).unwrap(), anonymous(&path));
    let air = Capture::read("x", &before[..]).unwrap();
    let bssid = air.beacons[0].bssid;
    assert!(contains(&before, &bssid.0));
    assert!(!contains(&after, &bssid.0));
    let longest_run = |bytes: &[u8]| {
        let mut runs = before.windows(16).filter(|part| part.iter().filter(|byte| **byte != 0).count() > 12);
        runs.any(|part| contains(bytes, part))
    };
    assert!(
        longest_run(&before) && !longest_run(&after),
        "no sixteen bytes of a key exchange or a body are left"
    );
}

#[test]
fn checksums_that_were_right_are_right() {
    let path = captures().join("tcp-download.pcapng");
    let masked = Capture::read("x", &anonymous(&path)[..]).unwrap();
    let original = Capture::read("x", &fs::read(&path).unwrap()[..]).unwrap();
    assert_eq!(masked.notes, original.notes);
    let tcp = |capture: &Capture| capture.packets.iter().filter(|packet| packet.ip.is_some()).count();
    assert_eq!(tcp(&masked), tcp(&original));
}

proptest! {
    /// Whatever bytes a packet has, its copy has the same length, and nothing panics.
    #[test]
    fn any_bytes_are_copied(link in prop::sample::select(vec![0_u32, 1, 101, 105, 113, 127, 276, 9]),
                            data in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut file = Vec::new();
        for word in [0xa1b2_c3d4, 0x0004_0002, 0, 0, 65_535, link, 1, 0, data.len() as u32, data.len() as u32] {
            file.extend_from_slice(&word.to_le_bytes());
        }
        file.extend_from_slice(&data);
        let path = std::env::temp_dir().join(format!("airwatt-anonymize-{}", std::process::id()));
        fs::File::create(&path).unwrap().write_all(&file).unwrap();
        let mut out = Vec::new();
        let answer = anonymize(&path, &mut out, || Ok(()), &mut |_| ControlFlow::Continue(()));
        fs::remove_file(&path).unwrap();
        let is_copied = answer.is_ok() && out.len() >= data.len();
        prop_assert!(is_copied || link == 9, "{answer:?}");
    }
}

/// The copy of one packet.
fn masked(link: u32, frame: &[u8]) -> Vec<u8> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let path = std::env::temp_dir().join(format!("airwatt-masked-{}-{number}", std::process::id()));
    let (bytes, mut file) = (frame.len() as u32, Vec::new());
    for word in [0xa1b2_c3d4, 0x0004_0002, 0, 0, 65_535, link, 1, 0, bytes, bytes] {
        file.extend_from_slice(&word.to_le_bytes());
    }
    file.extend_from_slice(frame);
    fs::write(&path, file).unwrap();
    let out = anonymous(&path);
    fs::remove_file(&path).unwrap();
    // In its block the data stands behind the captured and the original length.
    let lengths = [bytes.to_le_bytes(), bytes.to_le_bytes()].concat();
    let at = out.windows(8).rposition(|part| part == lengths).unwrap();
    out[at + 8..][..frame.len()].to_vec()
}

const STATION: [u8; 6] = [0x3c, 0x22, 0xfb, 1, 2, 3];
const AP: [u8; 6] = [0xf4, 0xf2, 0x6d, 10, 11, 12];
/// Bytes that no anonymized capture may have.
const SECRET: [u8; 8] = *b"SECRET!!";

/// A frame from the station to the access point, or to all.
fn frame(control: u16, sequence: u16, body: &[u8]) -> Vec<u8> {
    let (control, sequence) = (control.to_le_bytes(), sequence.to_le_bytes());
    [&control[..], &[0, 0], &AP, &STATION, &AP, &sequence, body].concat()
}

fn assert_body(frame: &[u8], body: &[u8], expected: &[u8]) {
    let from = frame.len() - body.len();
    assert_eq!(masked(105, frame)[from..], *expected, "{:?}", String::from_utf8_lossy(body));
}

#[test]
fn of_a_body_without_a_known_header_nothing_is_left() {
    let later_fragment = [&SECRET[..], b"more"].concat();
    assert_body(&frame(0x0108, 0x21, &later_fragment), &later_fragment, &[0; 12]);
    // One that looks like a header.
    let like_snap = [&[0xaa, 0xaa, 3, 0, 0, 0, 8, 6][..], &SECRET].concat();
    assert_body(&frame(0x0108, 0x21, &like_snap), &like_snap, &[0; 16]);
    let other_llc = [&[0xe0, 0xe0, 3][..], &SECRET, &SECRET].concat();
    assert_body(&frame(0x0108, 0x30, &other_llc), &other_llc, &[0; 19]);
    let of_a_vendor = [&[0xaa, 0xaa, 3, 0, 0, 12, 8, 6][..], &SECRET, &SECRET, &SECRET, &SECRET].concat();
    let kept = [&of_a_vendor[..8], &[0; 32]].concat();
    assert_body(&frame(0x0108, 0x30, &of_a_vendor), &of_a_vendor, &kept);
    // WEP has no packet number: behind the vector and the number of the key the secret begins.
    let wep = [&[1, 2, 3, 0][..], &SECRET].concat();
    assert_body(&frame(0x4108, 0x30, &wep), &wep, &[1, 2, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    let ccmp = [&[1, 2, 0, 0x20, 3, 4, 5, 6][..], &SECRET].concat();
    assert_body(&frame(0x4108, 0x30, &ccmp), &ccmp, &[&ccmp[..8], &[0; 8]].concat());
    // A key exchange is no elements.
    let sae = [&[3, 0, 1, 0, 0, 0, 19, 0, 3, 8][..], &SECRET].concat();
    assert_body(&frame(0x00b0, 0x30, &sae), &sae, &[&sae[..6], &[0; 12]].concat());
}

#[test]
fn a_damaged_header_of_ip_gives_no_address_back() {
    let mut packet =
        [&[0x40, 0, 0, 40, 0, 0, 0, 0, 64, 6, 0, 0][..], &[93, 184, 216, 34, 8, 8, 4, 4]].concat();
    packet.extend_from_slice(&[0; 20]);
    for first in [0x40, 0x41, 0x44] {
        packet[0] = first;
        let out = masked(101, &packet);
        assert!(!out.windows(4).any(|part| part == [93, 184, 216, 34]), "{out:?}");
    }
}

#[test]
fn of_control_frames_what_is_known_is_left() {
    let control = |kind: u16, body: &[u8]| [&kind.to_le_bytes()[..], &[0, 0], &STATION, &AP, body].concat();
    let answer = [&[4, 0, 0x10, 0, 1, 2, 3, 4, 5, 6, 7, 8][..], &SECRET].concat();
    assert_body(&control(0x94, &answer), &answer, &[&answer[..12], &[0; 8]].concat());
    let request = [&[4, 0, 0x10, 0][..], &SECRET].concat();
    assert_body(&control(0x84, &request), &request, &[&request[..4], &[0; 8]].concat());
    // To several stations: the address of one that is not associated stands inside.
    let several = [&[22, 0, 0xf5, 0x07][..], &STATION].concat();
    assert_body(&control(0x94, &several), &several, &[22, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    let trigger = [&[0x13, 0x20][..], &SECRET].concat();
    assert_body(&control(0x24, &trigger), &trigger, &[3, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
}

#[test]
fn of_action_frames_what_is_known_is_left() {
    let action = |known: &[u8], rest: &[u8]| {
        let body = [known, rest].concat();
        assert_body(&frame(0x00d0, 0x50, &body), &body, &[known, &vec![0; rest.len()]].concat());
    };
    let vendor = [&[221, 8][..], &SECRET].concat();
    action(&[3, 0, 1, 2, 0x10, 0, 0, 0x10, 0], &vendor);
    action(&[3, 1, 1, 0, 0, 2, 0x10, 0, 0], &vendor);
    action(&[3, 2, 0, 8, 37, 0], &vendor);
    action(&[3, 99], &STATION);
    for category in [22, 23] {
        let setup = [category, 6, 1, 216, 15, 0, 0x61, 0x28, 1, 2, 3, 4, 5, 6, 7, 8, 64, 0, 2, 0];
        action(&setup, &vendor);
        action(&setup[..8], &[]);
        // One of broadcast schedules is recognised and not read.
        action(&[category, 6, 1, 216, 16, 12, 0x61, 0x28], &SECRET);
        action(&[category, 7, 0x80], &STATION);
        action(&[category, 11, 0x20, 1, 2, 3, 4], &SECRET);
        action(&[category, 99], &[&SECRET[..], &STATION].concat());
    }
    // The group keys of WNM sleep mode.
    let (before, element) = ([10, 17, 5, 8, 0], [93, 6, 0, 0, 9, 0]);
    let body = [&before[..], &SECRET, &element, b"XY", &vendor].concat();
    let expected = [&before[..], &[0; 8], &element, &[0, 0], &[221, 8], b"SECR", &[0; 4]].concat();
    assert_body(&frame(0x00d0, 0x50, &body), &body, &expected);
}

#[test]
fn elements_are_kept_as_far_as_they_are_defined() {
    let fixed = [1, 2, 3, 4, 5, 6, 7, 8, 100, 0, 17, 0];
    let element = |id: u8, known: &[u8], rest: &[u8]| {
        let head = [id, (known.len() + rest.len()) as u8];
        // The known element behind it shows that its length still counts.
        let (behind, zero) = ([3, 1, 6], vec![0; rest.len()]);
        let body = [&fixed[..], &head, known, rest, &behind].concat();
        assert_body(&frame(0x0080, 0x70, &body), &body, &[&fixed[..], &head, known, &zero, &behind].concat());
    };
    element(0, &[], b"HOME-SSID");
    element(1, &[0x82, 0x84, 0x8b, 0x96], b"SECRET");
    element(50, &[0x30, 0x48, 0x60, 0x6c], b"SECRET");
    element(3, &[6], &SECRET);
    element(5, &[0, 3, 0xf6, 2, 0, 0, 0, 0], &SECRET);
    element(40, &[1, 0, 10, 0, 0, 0], &SECRET);
    element(42, &[4], b"ERP-HIDES-A-SECRET");
    for (id, bytes) in
        [(12, 18), (33, 2), (37, 3), (45, 26), (46, 1), (60, 4), (61, 22), (191, 12), (192, 5), (195, 5)]
    {
        element(id, &vec![7; bytes], &SECRET);
    }
    element(7, &[], b"DE country");
    element(255, &[&[35][..], &[7; 21]].concat(), &SECRET);
    element(255, &[&[36][..], &[7; 6]].concat(), &SECRET);
    element(255, &[99], &SECRET);
    element(221, &[0x00, 0x50, 0xf2, 2, 0, 1, 0x80], &SECRET);
    element(221, &[&[0x00, 0x50, 0xf2, 2, 1, 1, 0x80, 0][..], &[7; 16]].concat(), &SECRET);
    element(221, &[0x00, 0x50, 0xf2, 4], &SECRET);
    element(221, &[2, 0, 0, 1, 1, 2, 3, 4, 5, 6, 7, 8], &[]);
    element(221, &[2, 0, 0, 1], b"SECRET-OF-NINE");
    // A notice of absence with a whole descriptor and a part of one, and an attribute with a name.
    let notice = [&[0x50, 0x6f, 0x9a, 9, 12, 23, 0, 1, 0][..], &[7; 13]].concat();
    element(221, &notice, &SECRET);
    element(221, &[0x50, 0x6f, 0x9a, 9, 13, 8, 0], &SECRET);

    // One that runs past the end is damage.
    let body = [&fixed[..], &[3, 9], &SECRET].concat();
    assert_body(&frame(0x0080, 0x70, &body), &body, &[&fixed[..], &[3, 9], &[0; 8]].concat());
}

#[test]
fn groups_with_a_prefix_inside_are_numbered() {
    let packet = |destination: [u8; 16]| {
        let source = [&[0x20, 1, 0x0d, 0xb8, 0xaa, 0xaa, 0xbb, 0xbb][..], &[0; 7], &[5]].concat();
        [&[0x60, 0, 0, 0, 0, 0, 59, 1][..], &source, &destination].concat()
    };
    let group = |text: &str| masked(101, &packet(text.parse::<Ipv6Addr>().unwrap().octets()))[24..].to_vec();
    let masked_group = |text: &str| Ipv6Addr::from(<[u8; 16]>::try_from(group(text)).unwrap()).to_string();
    assert_eq!(masked_group("ff3e:30:2001:db8:aaaa:bbbb:0:1"), "ff1e::8000:2");
    assert_eq!(masked_group("ff75:130:2001:db8:aaaa:bbbb:0:1"), "ff15::8000:2");
    assert_eq!(masked_group("ff02:0:0:0:0:2:ff12:3456"), "ff12::8000:2");
    assert_eq!(masked_group("ff02::1:ff12:3456"), "ff02::1:ff00:0");
    for named in ["ff02::1", "ff02::fb", "ff05::c", "ff02::1:2"] {
        assert_eq!(masked_group(named), named);
    }
    let v4 = |destination: [u8; 4]| {
        let head = [0x45, 0, 0, 20, 0, 0, 0, 0, 1, 2, 0, 0, 192, 168, 1, 5];
        masked(101, &[&head[..], &destination].concat())[16..].to_vec()
    };
    assert_eq!(v4([234, 93, 184, 216]), [239, 0, 0, 2]);
    assert_eq!(v4([224, 0, 0, 251]), [224, 0, 0, 251]);
    assert_eq!(v4([239, 255, 255, 250]), [239, 255, 255, 250]);
}

#[test]
fn of_radiotap_the_fields_that_are_read_are_left() {
    let ack = [0xd4, 0, 0, 0, 1, 0, 0x5e, 0, 0, 1];
    let header = |present: u32, rest: &[u8]| {
        let length = (8 + rest.len()) as u16;
        [&[0, 0][..], &length.to_le_bytes(), &present.to_le_bytes(), rest, &ack].concat()
    };
    let kept = |present: u32, rest: &[u8], expected: &[u8]| {
        let out = masked(127, &header(present, rest));
        assert_eq!(out, header(present, expected));
    };
    // Behind the fields, and of a field that is not read: 1 flags, 2 rate, 5 signal, 11 antenna.
    kept(1 << 1 | 1 << 2 | 1 << 5 | 1 << 11, b"\x00\x0c\xd0ASECRET", &[0, 12, 0xd0, 0, 0, 0, 0, 0, 0, 0]);
    // A vendor's bytes; the rate before and their number stay.
    kept(1 << 2 | 1 << 30, b"\x0c\x00OUI\x01\x06\x00SECRET", b"\x0c\x00\0\0\0\0\x06\x00\0\0\0\0\0\0");
}

#[test]
fn of_options_of_tcp_those_of_their_length_are_left() {
    let ip = |length: u8| [0x45, 0, 0, length, 0, 0, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
    let tcp = [1, 187, 2, 0, 0, 0, 0, 1, 0, 0, 0, 2, 0x90, 16, 1, 0, 0, 0, 0, 0];
    for (options, expected) in [
        (
            [2, 4, 5, 180, 3, 3, 7, 1, 4, 2, 8, 6, b'A', b'B', b'C', b'D'],
            [2, 4, 5, 180, 3, 3, 7, 1, 4, 2, 8, 6, 0, 0, 0, 0],
        ),
        (*b"\x02\x10SECRET-SECRET-", [2, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
    ] {
        let packet = [&ip(56)[..], &tcp, &options].concat();
        assert_eq!(masked(101, &packet)[40..], expected);
    }
}

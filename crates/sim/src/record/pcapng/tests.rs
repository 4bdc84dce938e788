use std::ops::ControlFlow;

use airwatt_base::Rate;
use airwatt_dot11::{Frame, ManagementBody, TxVector, check_fcs, snap_payload};
use pcap_file::pcapng::PcapNgReader;

use super::*;
use crate::media::cell::frame::{BeaconContent, CellFrameKind, Node};
use crate::packet::{GroupKind, GroupPacket, Packet};
use crate::scenario::Scenario;

fn traced(scenario: &str, changes: &[(&str, &str)]) -> RunTrace {
    let changes: Vec<_> = changes.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
    let scenario = Scenario::load(scenario, &changes).unwrap();
    let mut watch = |_| ControlFlow::Continue(());
    let mut options = crate::RunOptions { trace: true, on_progress: &mut watch };
    crate::run(&scenario, 1, &mut options).unwrap().trace.unwrap()
}

/// The fields of each frame in the file: time, radiotap header, 802.11 bytes, original length without radiotap.
fn written(trace: &RunTrace) -> Vec<(u64, Radiotap, Vec<u8>, usize)> {
    let mut bytes = Vec::new();
    trace.write_pcapng(&mut bytes).unwrap();
    let mut reader = PcapNgReader::new(&bytes[..]).unwrap();
    let mut packets = Vec::new();
    while let Some(block) = reader.next_block() {
        let Block::EnhancedPacket(packet) = block.unwrap() else { continue };
        let (header, length) = Radiotap::decode(&packet.data).unwrap();
        let original = packet.original_len as usize - length;
        packets.push((packet.timestamp.as_nanos() as u64, header, packet.data[length..].to_vec(), original));
    }
    packets
}

#[test]
fn what_was_written_is_what_was_on_the_air() {
    let crowded = [("flow.application.size", "200kB"), ("station.count", "9"), ("policy", "psm")];
    let trace = traced("fast-dsl", &crowded);
    let frames = trace.frames_by_start();
    let outcomes = trace.outcomes(&frames);
    let packets = written(&trace);
    assert_eq!(packets.len(), frames.len());
    for (((time, radiotap, bytes, original), frame), outcome) in packets.iter().zip(frames).zip(outcomes) {
        assert_eq!(*time, frame.start.as_nanos());
        assert_eq!(radiotap.vector().map(|vector| vector.rate()), Some(frame.vector.rate()));
        assert_eq!(radiotap.flags.has(RadiotapFlags::BAD_FCS), is_broken(outcome));
        assert!(radiotap.flags.has(RadiotapFlags::FCS));
        assert_eq!(*original, frame.bytes as usize, "{frame:?}");
        let whole = bytes.len() == *original;
        assert_eq!(check_fcs(bytes), whole && !is_broken(outcome));
        let bytes = if whole { &bytes[..bytes.len() - FCS_BYTES] } else { bytes };
        let decoded = Frame::decode(bytes).unwrap();
        let header = decoded.header();
        assert_eq!(header.control.power_management, frame.pm);
        assert_eq!(header.control.retry, frame.retry);
        assert_eq!(header.control.more_data, frame.flags.more_data);
        assert_eq!(header.qos.is_some_and(|qos| qos.eosp()), frame.flags.eosp);
        match frame.packet {
            Some(packet) => {
                let (kind, ip) = snap_payload(decoded.body()).unwrap();
                assert_eq!((kind, ip[0] >> 4), (0x0800, 4));
                assert_eq!(u32::from(u16::from_be_bytes([ip[2], ip[3]])), packet.bytes);
                assert_eq!(original - bytes.len() - FCS_BYTES, packet.bytes as usize - 52);
            }
            None => assert!(whole),
        }
        if let Some(BeaconContent { dtim_count, marked, .. }) = &frame.beacon {
            let Ok(Some(ManagementBody::Beacon { elements, .. })) = ManagementBody::decode(&decoded) else {
                panic!("not a beacon");
            };
            let tim = elements.tim().unwrap();
            assert_eq!(tim.dtim_count, *dtim_count);
            let aids: Vec<u32> = tim.aids().map(|aid| u32::from(aid) - 1).collect();
            assert_eq!(aids, *marked);
        }
    }
}

#[test]
fn poll_frames_carry_the_station_s_number() {
    let trace = traced(
        "fast-dsl",
        &[("flow.application.size", "50kB"), ("policy", "psm-legacy"), ("station.count", "2")],
    );
    let frames = trace.frames_by_start();
    let mut polls = 0;
    for ((_, _, bytes, _), frame) in written(&trace).iter().zip(frames) {
        let (CellFrameKind::PsPoll, Node::Station(station)) = (frame.kind, frame.from) else { continue };
        let decoded = Frame::decode(bytes).unwrap();
        assert_eq!(decoded.header().ps_poll_aid().map(u32::from), Some(station + 1));
        polls += 1;
    }
    assert!(polls > 10);
}

/// A beacon longer than the elements that the simulator knows has further ones, none with more than 255 bytes.
#[test]
fn beacons_have_the_bytes_of_their_length() {
    for length in [143, 250, 400, 600, 2_332] {
        let bytes = format!("{length}B");
        let trace = traced("idle-6ghz", &[("duration", "300ms"), ("ap.beacon_length", bytes.as_str())]);
        let (_, _, beacon, original) =
            written(&trace).into_iter().find(|packet| packet.2[0] == 0x80).unwrap();
        assert_eq!((beacon.len(), original), (length, length));
        assert!(check_fcs(&beacon));
    }
    for length in 5..2_000 {
        let mut filled = Vec::new();
        mac::fill(&mut filled, length);
        let mut rest = &filled[..];
        while let [0xdd, bytes, contents @ ..] = rest {
            assert!(contents.starts_with(&[2, 0, 0]), "{length}");
            rest = &contents[usize::from(*bytes)..];
        }
        assert_eq!((filled.len(), rest.len()), (length, 0));
    }
}

/// The records of hostapd's beacons (`wmm_ac_*`): AIFSN 3, 7, 2, 2, windows 15 to 1023, 15 to 1023, 7 to 15 and 3 to 7, and limits of 94 and
/// 47 times 32 us for video and voice.
#[test]
fn beacons_have_the_parameters_of_each_category() {
    let hostapd = [0x03, 0xa4, 0, 0, 0x27, 0xa4, 0, 0, 0x42, 0x43, 94, 0, 0x62, 0x32, 47, 0];
    let one = [0x03, 0xa4, 0, 0, 0x23, 0xa4, 0, 0, 0x43, 0xa4, 0, 0, 0x63, 0xa4, 0, 0];
    for (scenario, records) in [("call-today", hostapd), ("wifi6", one)] {
        let trace = traced(scenario, &[("duration", "300ms")]);
        let (_, _, beacon, _) = written(&trace).into_iter().find(|packet| packet.2[0] == 0x80).unwrap();
        let wmm = [0, 0x50, 0xf2, 2, 1, 1];
        let at = beacon.windows(wmm.len()).position(|bytes| bytes == wmm).unwrap();
        assert_eq!(beacon[at + 8..at + 24], records, "{scenario}");
    }
}

#[test]
fn rates_beyond_54_megabits_are_an_index() {
    let n = traced("fast-dsl", &[("flow.application.size", "20kB")]);
    let data: Vec<Radiotap> =
        written(&n).iter().filter(|packet| packet.2[0] == 0x88).map(|packet| packet.1).collect();
    assert!(data.iter().all(|header| header.rate_500kbps.is_none() && header.mcs.unwrap().index == 15));
    let a = traced("reference-download", &[("flow.application.size", "20kB")]);
    let data = written(&a).into_iter().find(|packet| packet.2[0] == 0x08).unwrap();
    assert_eq!((data.1.rate_500kbps, data.1.mcs), (Some(108), None));
    assert_eq!(data.1.vector(), TxVector::ofdm(Rate::from_bps(54_000_000)));
}

#[test]
fn a_frame_that_its_receiver_slept_through_was_heard_well_by_the_sniffer() {
    let trace = traced("fast-dsl", &[("flow.application.size", "20kB")]);
    let mut frame = trace.frames[0].clone();
    frame.received = false;
    assert!(
        !radiotap(&trace.setting.cells[0], &frame, Outcome::Asleep, true).flags.has(RadiotapFlags::BAD_FCS)
    );
    assert!(
        radiotap(&trace.setting.cells[0], &frame, Outcome::Noise, true).flags.has(RadiotapFlags::BAD_FCS)
    );
}

#[test]
fn headers_shorter_than_the_standard_s_leave_no_place_for_an_fcs() {
    let changes = [("flow.application.size", "20kB"), ("wifi.mac_overhead", "28B")];
    let without = |changes| {
        let packets = written(&traced("reference-download", changes));
        let data = packets.into_iter().filter(|packet| packet.2[0] == 0x08);
        let (with, without): (Vec<_>, Vec<_>) =
            data.partition(|packet| packet.1.flags.has(RadiotapFlags::FCS));
        (with.len(), without.len())
    };
    let (with, short) = without(&changes);
    assert!(with == 0 && short > 10, "{with} with and {short} without");
    let (with, short) = without(&changes[..1]);
    assert!(with > 10 && short == 0, "{with} with and {short} without");
}

#[test]
fn a_full_disk_is_an_error() {
    struct Full;
    impl io::Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let trace = traced("fast-dsl", &[("flow.application.size", "20kB")]);
    assert_eq!(trace.write_pcapng(&mut Full).unwrap_err().kind(), io::ErrorKind::StorageFull);
}

/// The capture that is written while the run goes on.
fn streamed(scenario: &str, changes: &[(&str, &str)]) -> Vec<u8> {
    let changes: Vec<_> = changes.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
    let scenario = Scenario::load(scenario, &changes).unwrap();
    let mut bytes = Vec::new();
    crate::run_to_pcapng(&scenario, 1, &mut bytes, &mut |_| ControlFlow::Continue(())).unwrap();
    bytes
}

#[test]
fn a_capture_written_during_the_run_has_the_same_bytes() {
    let cases: [(&str, &[(&str, &str)]); 4] = [
        ("fast-dsl", &[("flow.application.size", "5MB"), ("station.count", "9"), ("policy", "psm")]),
        (
            "fast-dsl",
            &[("flow.application.size", "3MB"), ("wifi.frame_error_rate", "0.2"), ("policy", "psm-legacy")],
        ),
        ("saturation", &[("station.count", "12"), ("duration", "5s")]),
        ("fast-dsl", &[("flow.application.size", "10kB")]),
    ];
    for (scenario, changes) in cases {
        let mut whole = Vec::new();
        traced(scenario, changes).write_pcapng(&mut whole).unwrap();
        assert!(streamed(scenario, changes) == whole, "{scenario} {changes:?}");
    }
}

/// A disk that fails at its `n`-th byte.
struct FailsAt(usize);

impl io::Write for FailsAt {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0 == 0 {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let taken = bytes.len().min(self.0);
        self.0 -= taken;
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn writers_report_a_failure_at_any_byte() {
    let trace = traced("fast-dsl", &[("flow.application.size", "200kB"), ("policy", "ba-ta")]);
    type Form = fn(&RunTrace, &mut dyn io::Write) -> io::Result<()>;
    let forms: [Form; 2] = [|trace, out| trace.write_pcapng(out), |trace, out| trace.write_perfetto(out)];
    for form in forms {
        let mut whole = Vec::new();
        form(&trace, &mut whole).unwrap();
        let some = [0, 1, 27, 28, 100, 4096, whole.len() / 2, whole.len() - 1];
        for n in some.into_iter().chain((0..whole.len()).step_by(whole.len() / 200)) {
            let failed = form(&trace, &mut FailsAt(n)).unwrap_err();
            assert_eq!(failed.kind(), io::ErrorKind::StorageFull, "byte {n} of {}", whole.len());
        }
        form(&trace, &mut FailsAt(whole.len())).unwrap();
    }
}

#[test]
fn a_run_whose_capture_cannot_be_written_ends_with_the_reason() {
    let changes = [("flow.application.size", "5MB")].map(|(key, value)| (key.to_owned(), value.to_owned()));
    let scenario = Scenario::load("fast-dsl", &changes).unwrap();
    let mut go_on = |_| ControlFlow::Continue(());
    for n in [0, 100, 100_000] {
        match crate::run_to_pcapng(&scenario, 1, &mut FailsAt(n), &mut go_on) {
            Err(crate::StreamError::Output(error)) => assert_eq!(error.kind(), io::ErrorKind::StorageFull),
            other => panic!("{:?}", other.map(|run| run.result.events)),
        }
    }
}

#[test]
fn checksums_are_those_of_rfc_1071() {
    // This is the example of its section 3.
    let bytes = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
    assert_eq!(headers::checksum(0, &bytes), !0xddf2);
    assert_eq!(headers::checksum(0x0001, &bytes[2..]), !0xddf2);
}

/// One interface a channel, with the cell's name and frequency, and frames of both access points by addresses of their own.
#[test]
fn several_cells_are_several_interfaces_or_share_one() {
    let changes = [("duration", "300ms"), ("measure_from", "100ms")];
    for (name, interfaces, access_points) in [
        ("two-cells", vec![("air", 5180), ("extension", 5180)], 2),
        ("two-hops", vec![("air", 5180)], 2),
        ("four-in-a-row", vec![("air", 2412)], 0),
    ] {
        let trace = traced(name, &changes);
        let mut bytes = Vec::new();
        trace.write_pcapng(&mut bytes).unwrap();
        let mut reader = PcapNgReader::new(&bytes[..]).unwrap();
        let (mut found, mut used, mut beacons) =
            (Vec::new(), std::collections::BTreeSet::new(), std::collections::BTreeSet::new());
        while let Some(block) = reader.next_block() {
            match block.unwrap() {
                Block::InterfaceDescription(interface) => {
                    let name = interface.options.iter().find_map(|option| match option {
                        InterfaceDescriptionOption::IfName(name) => Some(name.to_string()),
                        _ => None,
                    });
                    found.push(name.unwrap());
                }
                Block::EnhancedPacket(packet) => {
                    used.insert(packet.interface_id as usize);
                    let (_, length) = Radiotap::decode(&packet.data).unwrap();
                    let frame = Frame::decode(&packet.data[length..]).unwrap();
                    if packet.data[length] == 0x80 {
                        beacons.insert(frame.header().address2.unwrap().0);
                    }
                }
                _ => {}
            }
        }
        assert_eq!(found, interfaces.iter().map(|(name, _)| *name).collect::<Vec<_>>(), "{name}");
        assert_eq!(used.into_iter().collect::<Vec<_>>(), (0..interfaces.len()).collect::<Vec<_>>(), "{name}");
        assert_eq!(beacons.len(), access_points, "{name}");
        let first = channel(&trace.setting.cells[0]).frequency_mhz;
        assert_eq!(i32::from(first), interfaces[0].1, "{name}");
    }
}

#[test]
fn a_stream_of_several_cells_is_the_whole_capture() {
    let changes = [("duration", "300ms"), ("measure_from", "100ms")]
        .map(|(key, value)| (key.to_owned(), value.to_owned()));
    for name in ["two-cells", "two-hops", "two-access-points", "four-in-a-row"] {
        let scenario = Scenario::load(name, &changes).unwrap();
        let mut streamed = Vec::new();
        crate::run_to_pcapng(&scenario, 1, &mut streamed, &mut |_| ControlFlow::Continue(())).unwrap();
        let mut whole = Vec::new();
        let trace = traced(name, &[("duration", "300ms"), ("measure_from", "100ms")]);
        trace.write_pcapng(&mut whole).unwrap();
        assert!(whole.len() > 10_000 && streamed == whole, "{name}");
        assert!(!trace.tables().is_empty() && trace.write_perfetto(&mut Vec::new()).is_ok());
    }
}

/// The checksum of a solicitation makes the sum over the pseudo-header and the message zero (RFC 4443 section 2.3), whoever sends it.
#[test]
fn a_solicitation_has_its_checksum() {
    for host in [0, 1, 0x1234, 0xff_ffff] {
        let group = GroupPacket { kind: GroupKind::NeighbourDiscovery, host };
        let packet = Packet::group(GroupKind::NeighbourDiscovery, host, 72, Instant::ZERO);
        let mut bytes = Vec::new();
        group::encode(group, &packet, &mut bytes);
        let (header, message) = bytes.split_at(40);
        let upper: Vec<u8> =
            [&header[8..40], &[0, 0, 0, message.len() as u8, 0, 0, 0, header[6]], message].concat();
        assert_eq!(headers::checksum(0, &upper), 0, "{host:#x}");
    }
}

//! A station that goes from one access point to another: each finding names the one with which it happened.

use super::outputs::{Folder, go_on};
use super::*;
use crate::annotate;
use crate::report::describe;

const OTHER_AP: MacAddress = MacAddress([2, 0, 0, 0, 0, 9]);

/// A frame of or to the other access point.
fn of_other(bytes: &[u8]) -> Vec<u8> {
    of_ap(bytes, OTHER_AP)
}

/// A frame of or to another access point than the one that it is of.
fn of_ap(bytes: &[u8], ap: MacAddress) -> Vec<u8> {
    let (mut bytes, len) = (bytes.to_vec(), AP.0.len());
    for at in 0..=bytes.len() - len {
        if bytes[at..at + len] == AP.0 {
            bytes[at..at + len].copy_from_slice(&ap.0);
        }
    }
    bytes
}

/// Each analysis of `--station all` has the list of cells, so that a megabyte with thousands of them became gigabytes.
#[test]
fn a_list_of_cells_is_bounded_and_has_that_of_the_station() {
    let others = (0..250u8).flat_map(|number| {
        let bytes = of_ap(&beacon(&[]), MacAddress([2, 0, 0, 0, 1, number]));
        [(u64::from(number), bytes.clone()), (300 + u64::from(number), bytes)]
    });
    let own =
        [(600, beacon(&[1])), (601, null(true)), (601, ack(STATION)), (700, poll()), (700, data(1, false))];
    let frames: Vec<_> = others.chain(own).collect();
    let networks = describe(&ladder(&frames), Some(&Station::Mac(STATION)), None).air.unwrap().networks;
    assert_eq!(networks.len(), 100);
    assert!(networks.iter().any(|network| network.bssid == AP.to_string()));
    assert!(networks.is_sorted_by_key(|network| &network.bssid));
}

/// The other access point conceals a frame in the beacons of packets 10 and 11; after it the station is with one that does all as it should.
fn roam() -> Vec<(u64, Vec<u8>)> {
    let later =
        [(202, beacon(&[])), (305, beacon(&[7])), (306, poll()), (307, data(3, false)), (308, null(true))];
    let guilty = [&buffered()[..], &later].concat();
    let guilty = guilty.iter().map(|(millis, bytes)| (*millis, of_other(bytes)));
    let aid_2 = || frame(FrameKind::PsPoll, true, |header| header.duration_id = 0xc002);
    let innocent = [
        (350, null(true)),
        (350, ack(STATION)),
        (420, beacon(&[2])),
        (421, aid_2()),
        (422, data(4, false)),
        (422, ack(AP)),
        (520, beacon(&[])),
    ];
    guilty.chain(innocent).collect()
}

#[test]
fn after_a_roam_a_finding_names_the_access_point_with_which_it_happened() {
    let capture = ladder(&roam());
    let station = Station::Mac(STATION);
    let analysis = describe(&capture, Some(&station), None);
    let found = analysis.findings.iter().find(|found| found.kind == "tim-never-set").unwrap();
    let other = Some(OTHER_AP.to_string());
    assert_eq!((found.count, &found.access_point), (2, &other));
    let named = found.occurrences.iter().map(|one| (one.packet, one.access_point.clone()));
    let ap = Some(AP.to_string());
    assert_eq!(
        named.collect::<Vec<_>>(),
        [(8, other.clone()), (10, other.clone()), (11, other.clone()), (19, ap.clone())]
    );
    // The last one is the cell of the station, and both are named.
    let seen = &analysis.air.unwrap().stations[0];
    assert_eq!(seen.bssid, ap);
    let with: Vec<_> = seen.access_points.iter().map(|one| (one.bssid.clone(), one.aid)).collect();
    assert_eq!(with, [(OTHER_AP.to_string(), Some(1)), (AP.to_string(), Some(2))]);
}

/// Beacons with these DTIM counts, each 102 ms, from a time on, of one of the access points.
fn beacons(from: u64, counts: &[u8], is_other: bool) -> Vec<(u64, Vec<u8>)> {
    let of = |count: u8| {
        let bytes =
            beacon_of(0, TimFields { dtim_count: count, dtim_period: 2, group: false, aids: &[] }, None);
        if is_other { of_other(&bytes) } else { bytes }
    };
    counts.iter().enumerate().map(|(place, count)| (from + place as u64 * 102, of(*count))).collect()
}

/// Both access points skip a DTIM beacon before the station goes from the other one to this one, and this one skips another one after that.
#[test]
fn the_rules_of_each_cell_are_checked_and_cost_a_station_while_it_is_there() {
    let roam = [(0, of_other(&null(true))), (999, of_other(&null(true))), (1_000, null(true))];
    let of_both = [beacons(10, &[1, 1, 0, 1], true), beacons(20, &[1, 1, 0, 1], false)].concat();
    let later = [beacons(1_010, &[1, 1, 0], false), vec![(1_300, null(true))]].concat();
    let mut frames = [roam.to_vec(), of_both, later].concat();
    frames.sort_by_key(|(millis, _)| *millis);
    let capture = ladder(&frames);
    let radio = airwatt_energy::Radio::find("esp32-c3").unwrap();
    let analysis = describe(&capture, Some(&Station::Mac(STATION)), Some(&radio));
    let checks = analysis.checks.iter().filter(|check| check.kind == "dtim-skipped");
    let checked: Vec<_> = checks.map(|check| (check.bssid.clone(), check.violated, check.kept)).collect();
    assert_eq!(checked, [(Some(OTHER_AP.to_string()), 1, 2), (Some(AP.to_string()), 2, 3)]);
    let cost = |bssid: MacAddress| {
        let skipped = analysis.findings.iter().filter(|found| found.kind == "dtim-skipped");
        let found = skipped.clone().find(|found| found.station == bssid.to_string()).unwrap();
        (found.count, found.cost_j.unwrap())
    };
    let ((_, of_other_j), (_, of_this_j)) = (cost(OTHER_AP), cost(AP));
    assert_eq!((cost(OTHER_AP).0, cost(AP).0), (1, 2));
    assert!(of_other_j > 0.0 && of_other_j.to_bits() == of_this_j.to_bits(), "{of_other_j} {of_this_j}");
    // A rule of one station stands once.
    assert_eq!(analysis.checks.iter().filter(|check| check.kind == "tim-never-set").count(), 1);
}

/// A forged capture in which each frame is of another access point takes no longer than others: all pairs of them would take minutes.
#[test]
fn of_ten_thousand_access_points_a_hundred_are_checked() {
    let forged = |number: u32| {
        let mut bytes = data(1, false);
        let (own, at) = (AP.0, bytes.len() - AP.0.len());
        let other = [[2, 17].as_slice(), &number.to_be_bytes()].concat();
        for place in 0..at {
            if bytes[place..place + own.len()] == own {
                bytes[place..place + own.len()].copy_from_slice(&other);
            }
        }
        (u64::from(number), bytes)
    };
    let capture = ladder(&(0..10_000).map(forged).collect::<Vec<_>>());
    let analysis = describe(&capture, Some(&Station::Mac(STATION)), None);
    let of_cells = analysis.checks.iter().filter(|check| check.bssid.is_some()).count();
    let kinds = FindingKind::ALL.into_iter().filter(|kind| kind.is_of_cell()).count();
    assert_eq!(of_cells, 100 * kinds);
    let notes = &analysis.capture.notes;
    assert!(notes.iter().any(|note| note.contains("9900 of them sent to their cells")), "{notes:?}");
}

#[test]
fn the_copy_names_the_access_point_with_which_it_happened() {
    let folder = Folder::new("roam");
    let file = roam().iter().fold(File::new(127), |file, (millis, bytes)| file.packet(millis * 1_000, bytes));
    let (path, mut copy) = (folder.write("x.pcap", &file.0), Vec::new());
    annotate(&path, &Limits::default(), &[], &[], &mut copy, || Ok(()), &mut go_on).unwrap();
    let text = String::from_utf8_lossy(&copy);
    assert!(text.contains(&format!("11.2.3.6], access point {OTHER_AP}: a beacon without")), "{text}");
}

/// A PS-Poll with another association identifier shows that an association was missed: the bit of beacons since then may have been the station's
/// own, by its new number.
#[test]
fn a_ps_poll_with_another_number_shows_an_association_that_was_missed() {
    let violated_with = |aid: u16| {
        let poll = frame(FrameKind::PsPoll, true, |header| header.duration_id = 0xc000 | aid);
        let number = |at_ms: u64, number: u16, aids| {
            let tim = TimFields { dtim_count: 0, dtim_period: 1, group: false, aids };
            let mut bytes = beacon_of(1_000 * at_ms, tim, None);
            let header = usize::from(u16::from_le_bytes([bytes[2], bytes[3]]));
            bytes[header + 22..header + 24].copy_from_slice(&(number << 4).to_le_bytes());
            (at_ms, bytes)
        };
        let capture = ladder(&[
            (0, super::poll()),
            (0, ack(STATION)),
            (1, data(1, false)),
            (1, ack(AP)),
            (2, null(true)),
            // An association with number 2, and a PS-Poll, were missed.
            (50, data(2, true)),
            (50, ack(AP)),
            number(100, 3, &[2]),
            number(202, 4, &[2]),
            (210, poll),
            (210, ack(STATION)),
            (211, data(5, false)),
            (211, ack(AP)),
            number(304, 6, &[]),
            (310, null(true)),
        ]);
        let seen = power_save::observe(&capture);
        let found = seen.findings.iter().filter(|one| one.kind == FindingKind::TimNeverSet);
        let violated: u64 = found.map(|one| one.count(Verdict::Violated)).sum();
        let packets = [1, 14].map(|packet| seen.stays_of(STATION).at(packet).and_then(|stay| stay.aid));
        (violated > 0, packets)
    };
    assert_eq!(violated_with(1), (true, [Some(1), Some(1)]));
    assert_eq!(violated_with(2), (false, [Some(1), Some(2)]));
}

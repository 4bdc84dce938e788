//! A station that goes from one access point to another: each finding names the one with which it happened.

use super::outputs::{Folder, go_on};
use super::*;
use crate::annotate;
use crate::report::describe;

const OTHER_AP: MacAddress = MacAddress([2, 0, 0, 0, 0, 9]);

/// A frame of or to the other access point.
fn of_other(bytes: &[u8]) -> Vec<u8> {
    let (mut bytes, len) = (bytes.to_vec(), AP.0.len());
    for at in 0..bytes.len() - len {
        if bytes[at..at + len] == AP.0 {
            bytes[at..at + len].copy_from_slice(&OTHER_AP.0);
        }
    }
    bytes
}

/// The other access point conceals a frame in the beacons of packets 7 and 8; after it the station is with one that does all as it should.
fn roam() -> Vec<(u64, Vec<u8>)> {
    let later = [(202, beacon(&[])), (305, beacon(&[7])), (306, poll()), (307, data(3, false))];
    let guilty = [&buffered()[..], &later].concat();
    let guilty = guilty.iter().map(|(millis, bytes)| (*millis, of_other(bytes)));
    let aid_2 = || frame(FrameKind::PsPoll, true, |header| header.duration_id = 0xc002);
    let innocent =
        [(350, null(true)), (420, beacon(&[2])), (421, aid_2()), (422, data(4, false)), (520, beacon(&[]))];
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
        [(6, other.clone()), (7, other.clone()), (8, other.clone()), (14, ap.clone())]
    );
    // The last one is the cell of the station, and both are named.
    let seen = &analysis.air.unwrap().stations[0];
    assert_eq!(seen.bssid, ap);
    let with: Vec<_> = seen.access_points.iter().map(|one| (one.bssid.clone(), one.aid)).collect();
    assert_eq!(with, [(OTHER_AP.to_string(), Some(1)), (AP.to_string(), Some(2))]);
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

//! A capture without names: what an analysis says stays, and nothing of whose it was is left.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use airwatt_capture::report::describe;
use airwatt_capture::{Capture, anonymize};
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

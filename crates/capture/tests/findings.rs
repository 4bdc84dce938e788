//! The shipped captures of `captures/findings`, whose truth is known: `KIND-guilty.pcap` breaks the rule of its name and no other, and
//! all others break none.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::Path;

use airwatt_capture::Capture;
use airwatt_capture::power_save::{FindingKind, Verdict, observe};

/// The rules that were violated.
fn accused(capture: &Capture) -> BTreeSet<&'static str> {
    let found = observe(capture).findings.into_iter();
    let violated = found.filter(|finding| finding.count(Verdict::Violated) > 0);
    violated.map(|finding| finding.kind.name()).collect()
}

#[test]
fn guilty_captures_alone_accuse() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../captures/findings");
    let mut wrong = Vec::new();
    let mut captures = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let capture = Capture::read(&name, File::open(&path).unwrap()).unwrap();
        let accused = accused(&capture);
        let expected: BTreeSet<&str> = name.strip_suffix("-guilty").into_iter().collect();
        if accused != expected {
            wrong.push(format!("{name}: {accused:?}"));
        }
        captures += 1;
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(captures > 50, "{captures}");
}

/// The packets of a pcap file of which those from a place on are later by so many microseconds.
fn shifted(file: &[u8], place: usize, by_us: i64) -> Vec<u8> {
    let mut bytes = file.to_vec();
    let word = |bytes: &[u8], at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    let (mut at, mut number) = (24, 0);
    while at < bytes.len() {
        // The captures begin at second 0, before which no clock goes back.
        let written = i64::from(word(&bytes, at)) * 1_000_000 + i64::from(word(&bytes, at + 4)) + 10_000_000;
        let shown = written + if number >= place { by_us } else { 0 };
        bytes[at..at + 4].copy_from_slice(&((shown / 1_000_000) as u32).to_le_bytes());
        bytes[at + 4..at + 8].copy_from_slice(&((shown % 1_000_000) as u32).to_le_bytes());
        (at, number) = (at + 16 + word(&bytes, at + 8) as usize, number + 1);
    }
    bytes
}

/// The clock of the monitor is set ahead or back somewhere. Beacons have the clock of their access point, which goes on.
#[test]
fn a_clock_that_is_set_accuses_nobody() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../captures/findings");
    for kind in ["dtim-skipped", "late-delivery", "tim-never-set", "group-announced-not-sent", "beacon-late"]
    {
        let file = fs::read(folder.join(format!("{kind}-innocent.pcap"))).unwrap();
        for by_us in [-150_000, -250_000, -720_000, -1_500_000, 250_000] {
            for place in 1..40 {
                let bytes = shifted(&file, place, by_us);
                let accused = accused(&Capture::read(kind, &bytes[..]).unwrap());
                assert!(accused.is_empty(), "{kind} by {by_us} us from packet {place} on: {accused:?}");
            }
        }
    }
}

/// Of a frame that a station fetched, a beacon that the monitor missed may have had the bit or not.
#[test]
fn a_delivery_whose_beacon_was_missed_is_undecidable() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../captures/findings");
    let file = File::open(folder.join("tim-never-set-missed.pcap")).unwrap();
    let found = observe(&Capture::read("missed", file).unwrap()).findings;
    let rule = found.iter().find(|finding| finding.kind == FindingKind::TimNeverSet).unwrap();
    let undecidable = rule.count(Verdict::Undecidable);
    assert_eq!((rule.count(Verdict::Violated), undecidable), (0, 3), "{:?}", rule.occurrences);
}

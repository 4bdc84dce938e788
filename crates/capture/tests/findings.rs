//! The shipped captures of `captures/findings`, whose truth is known: `KIND-guilty.pcap` breaks the rule of its name and no other, and
//! all others break none.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::Path;

use airwatt_capture::Capture;
use airwatt_capture::power_save::{Verdict, observe};

#[test]
fn guilty_captures_alone_accuse() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../captures/findings");
    let mut wrong = Vec::new();
    let mut captures = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let capture = Capture::read(&name, File::open(&path).unwrap()).unwrap();
        let seen = observe(&capture);
        let accused = seen.findings.iter().filter(|finding| finding.count(Verdict::Violated) > 0);
        let accused: BTreeSet<&str> = accused.map(|finding| finding.kind.name()).collect();
        let expected: BTreeSet<&str> = name.strip_suffix("-guilty").into_iter().collect();
        if accused != expected {
            wrong.push(format!("{name}: {accused:?}"));
        }
        captures += 1;
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(captures > 50, "{captures}");
}

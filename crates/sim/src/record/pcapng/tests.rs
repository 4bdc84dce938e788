use std::ops::ControlFlow;
use std::process::Command;

use super::*;
use crate::scenario::Scenario;

fn traced(policy: &str) -> RunTrace {
    let changes = [("flow.size", "1MB"), ("station.policy", policy), ("station.count", "2")];
    let changes: Vec<_> = changes.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
    let scenario = Scenario::load("fast-dsl", &changes).unwrap();
    let mut watch = |_| ControlFlow::Continue(());
    let mut options = crate::RunOptions { trace: true, on_progress: &mut watch };
    crate::run(&scenario, 1, &mut options).unwrap().trace.unwrap()
}

fn written(trace: &RunTrace) -> Vec<u8> {
    let mut bytes = Vec::new();
    trace.write_pcapng(&mut bytes).unwrap();
    bytes
}

/// What tshark prints for each frame, or None where it is not installed.
fn tshark(bytes: &[u8], name: &str, arguments: &[&str]) -> Option<String> {
    let path = std::env::temp_dir().join(format!("airwatt-{}-{name}.pcapng", std::process::id()));
    std::fs::write(&path, bytes).unwrap();
    let output = Command::new("tshark").arg("-r").arg(&path).args(arguments).output();
    std::fs::remove_file(&path).unwrap();
    let Ok(output) = output else {
        println!("skipped: tshark is not installed");
        return None;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).unwrap())
}

#[test]
fn tshark_reads_every_frame_without_complaint() {
    for policy in ["active", "timeout", "psm", "psm-legacy", "uapsd"] {
        let trace = traced(policy);
        let bytes = written(&trace);
        let Some(count) = tshark(&bytes, policy, &["-T", "fields", "-e", "frame.number"]) else { return };
        assert_eq!(count.lines().count(), trace.frames.len(), "{policy}");
        let complaints = "_ws.malformed || _ws.expert.severity >= 6291456 || ip.checksum.status == 0 || \
                          tcp.checksum.status == 0";
        let checked = ["-o", "ip.check_checksum:TRUE", "-Y", complaints];
        let found = tshark(&bytes, policy, &checked).unwrap();
        assert_eq!(found.lines().take(3).collect::<Vec<_>>(), [""; 0], "{policy}");
    }
}

#[test]
fn tshark_sees_the_fields_that_were_meant() {
    let trace = traced("psm");
    let fields = [
        "frame.time_epoch",
        "wlan.fc.type_subtype",
        "wlan.fc.pwrmgt",
        "wlan.fc.moredata",
        "wlan.qos.eosp",
        "wlan.fc.retry",
        "frame.len",
    ];
    let arguments: Vec<&str> =
        ["-T", "fields"].into_iter().chain(fields.iter().flat_map(|field| ["-e", field])).collect();
    let Some(lines) = tshark(&written(&trace), "fields", &arguments) else { return };
    let mut frames: Vec<&AirFrame> = trace.frames.iter().collect();
    frames.sort_by_key(|frame| frame.start);
    let subtype = |kind| match kind {
        Kind::Beacon => "0x0008",
        Kind::PsPoll => "0x001a",
        Kind::Rts => "0x001b",
        Kind::Cts => "0x001c",
        Kind::Ack => "0x001d",
        Kind::Null => "0x0024",
        Kind::Data => "0x0028",
        Kind::QosNull => "0x002c",
    };
    let truth = |flag: bool| if flag { ["1", "True"] } else { ["0", "False"] };
    for (line, frame) in lines.lines().zip(frames) {
        let found: Vec<&str> = line.split('\t').collect();
        let nanos = frame.start.as_nanos();
        assert_eq!(found[0], format!("{}.{:09}", nanos / 1_000_000_000, nanos % 1_000_000_000));
        assert_eq!(found[1], subtype(frame.kind), "{line}");
        assert!(truth(frame.pm).contains(&found[2]), "{line}");
        assert!(truth(frame.flags.more_data).contains(&found[3]), "{line}");
        if frame.kind == Kind::Data && frame.from == Node::AccessPoint {
            assert!(truth(frame.flags.eosp).contains(&found[4]), "{line}");
        }
        assert!(truth(frame.retry).contains(&found[5]), "{line}");
    }
}

#[test]
fn tshark_follows_the_connection() {
    let Some(lines) = tshark(&written(&traced("active")), "tcp", &["-q", "-z", "conv,tcp"]) else { return };
    assert!(lines.contains("10.0.0.1:49152"), "{lines}");
    assert!(lines.contains("192.168.0.1:5001"), "{lines}");
}

#[test]
fn rates_beyond_54_megabits_are_an_index() {
    let at = |mbps: u64| rate_fields(Rate::from_bps(mbps * 1_000_000));
    assert_eq!(at(54).rate_500kbps, Some(108));
    assert_eq!((at(130).rate_500kbps, at(130).mcs.map(|mcs| mcs.index)), (None, Some(15)));
    assert_eq!(at(130).rate(), Some(Rate::from_bps(130_000_000)));
}

#[test]
fn a_full_disk_is_an_error() {
    struct Full;
    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    assert_eq!(traced("psm").write_pcapng(&mut Full).unwrap_err().kind(), io::ErrorKind::StorageFull);
}

#[test]
fn checksums_are_those_of_rfc_1071() {
    // The example of its section 3.
    assert_eq!(checksum(&[&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]]), !0xddf2);
}

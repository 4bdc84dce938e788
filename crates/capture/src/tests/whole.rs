//! The whole analysis of a file: the order in which it opens and reads, what a measured current is laid beside, and which errors are whose fault.

use std::cell::Cell;
use std::io;

use super::outputs::{Folder, exchange, go_on};
use super::*;
use crate::{AnalysisProgress, CaptureError, Current, analyze_then};

/// Two packets of A, a second apart.
fn two_packets() -> File {
    File::new(101).packet(1, &udp(A, B, (1, 2), 400)).packet(1_000_000, &udp(B, A, (2, 1), 400))
}

#[test]
fn a_file_is_analysed_as_its_bytes_are_once_it_may_be_read() {
    let folder = Folder::new("whole");
    let path = folder.write("x.pcap", &two_packets().0);
    let policies = ["psm".to_owned(), "active".to_owned()];
    let question = Question { policies: &policies, ..Question::default() };
    let is_open = Cell::new(false);
    let opened = || {
        is_open.set(true);
        Ok(())
    };
    let mut progress = Vec::new();
    let mut watch = |of| {
        assert!(is_open.get(), "nothing is read before");
        progress.push(of);
        ControlFlow::Continue(())
    };
    let of_file = analyze_then(&path, &question, opened, &mut watch).unwrap();
    let of_bytes = analyze_capture(&two_packets().read(), &question, &mut go_on).unwrap();
    assert_eq!(of_file.station.as_deref(), Some("192.168.1.2"));
    assert_eq!((of_file.policies.len(), &of_file.policies), (2, &of_bytes.policies));
    assert!(matches!(progress.first(), Some(AnalysisProgress::Reading(_))), "{progress:?}");
    assert!(matches!(progress.last(), Some(AnalysisProgress::Replaying(_))), "{progress:?}");

    let refused = || Err(io::Error::other("not for you"));
    let error = analyze_then(&path, &question, refused, &mut go_on).unwrap_err();
    assert!(error.is_wrong_input() && error.to_string().contains("not for you"), "{error}");
}

/// The prediction is what was captured where frames say it and no policy is asked for, else the one policy that is, else the usual one.
/// Several are refused.
#[test]
fn a_measured_current_is_laid_beside_the_prediction_that_is_meant() {
    let folder = Folder::new("current");
    let (air, wired) = (folder.write("air.pcap", &exchange().0), folder.write("x.pcap", &two_packets().0));
    let samples = (0..1_500).map(|ms| format!("{ms},{}\n", 10_000 + ms % 7 * 1_000));
    let text: String = std::iter::once("Timestamp(ms),Current(uA)\n".to_owned()).chain(samples).collect();
    let csv = folder.write("x.csv", text.as_bytes());
    let current = Some(Current { path: &csv, offset_s: Some(0.0), load: Default::default() });
    for (path, policies, expected) in [
        (&air, &[][..], "as captured"),
        (&air, &["psm"], "psm"),
        (&wired, &[], "timeout"),
        (&wired, &["psm"], "psm"),
    ] {
        let policies: Vec<String> = policies.iter().map(|name| (*name).to_owned()).collect();
        let question = Question { radio: Some("esp32"), policies: &policies, current, ..Question::default() };
        let report = analyze(path, &question, &mut go_on).unwrap().current.expect("a comparison");
        assert_eq!(report.prediction, expected, "{policies:?}");
        assert_eq!((report.samples, report.offset_s), (1_500, Some(0.0)));
        assert!((report.mean_a - 0.013).abs() < 1e-4 && report.predicted_a > 0.0, "{report:?}");
    }
    let several = ["psm", "active"].map(str::to_owned);
    let question = Question { policies: &several, current, ..Question::default() };
    let error = analyze(&air, &question, &mut go_on).unwrap_err();
    assert!(error.is_wrong_input() && error.to_string().contains("expected one policy"), "{error}");
    let missing = Current { path: "no-such.csv".as_ref(), offset_s: None, load: Default::default() };
    let question = Question { current: Some(missing), ..Question::default() };
    let error = analyze(&wired, &question, &mut go_on).unwrap_err();
    assert!(error.is_wrong_input() && error.to_string().contains("--current no-such.csv"), "{error}");
}

/// Exit status 2 is for files and options that are wrong, 1 for an analysis that fails though both are in order.
#[test]
fn each_error_is_a_fault_of_the_input_or_of_the_analysis() {
    let text = String::new;
    let folder = CaptureError::Folder { folder: text(), files: 0, most: 1 };
    let no_station =
        CaptureError::NoStation { file: text(), station: text(), candidates: Vec::new(), locked: None };
    let memory = CaptureError::Memory { file: text(), packets: 1, memory_bytes: 2, limit_bytes: 1 };
    let no_packets = CaptureError::NoPackets { file: text(), oversized: None, is_cut: true };
    for wrong in [
        CaptureError::Unreadable(text(), text()),
        CaptureError::Empty(text()),
        CaptureError::NotACapture(text(), text()),
        CaptureError::LinkType(text(), 9),
        folder,
        CaptureError::Expanded(text()),
        CaptureError::Checksum(text()),
        no_station,
        CaptureError::StationText(text()),
    ] {
        assert!(wrong.is_wrong_input() && AnalyzeError::Capture(wrong.clone()).is_wrong_input(), "{wrong:?}");
    }
    for failed in [no_packets, memory, CaptureError::Interrupted] {
        assert!(
            !failed.is_wrong_input() && !AnalyzeError::Capture(failed.clone()).is_wrong_input(),
            "{failed:?}"
        );
    }
    assert!(AnalyzeError::Option(text()).is_wrong_input());
    for failed in [AnalyzeError::Nothing, AnalyzeError::Limit, AnalyzeError::Output].map(|of| of(text())) {
        assert!(!failed.is_wrong_input(), "{failed:?}");
    }
    assert!(!AnalyzeError::Interrupted.is_wrong_input());
}

/// The clock is set back by 50 ms between two beacons, which divides nothing, and their timestamps go on: that is noted. A beacon that
/// the monitor notes late alone is no step, nor is a clock that drifts.
#[test]
fn a_small_step_of_the_clock_is_a_note() {
    let steps = |at_ms: fn(u64) -> u64| {
        let each = |number: u64| {
            let tim = TimFields { dtim_count: 0, dtim_period: 1, group: false, aids: &[] };
            (at_ms(number), beacon_of(102_400 * number, tim, None))
        };
        let capture = ladder(&(1..12).map(each).collect::<Vec<_>>());
        assert_eq!(capture.segments.len(), 1);
        let near_ms = |size: Span| (size.as_secs_f64() * 100.0).round() * 10.0;
        capture.notes.steps.iter().map(|step| (step.packet, near_ms(step.size))).collect::<Vec<_>>()
    };
    assert_eq!(steps(|number| 1_000 + number * 1_024 / 10), []);
    assert_eq!(steps(|number| 1_000 + number * 1_024 / 10 + 40 * u64::from(number == 6)), []);
    assert_eq!(steps(|number| 1_000 + number * 1_026 / 10), []);
    assert_eq!(steps(|number| 1_000 + number * 1_024 / 10 - 50 * u64::from(number >= 6)), [(6, 50.0)]);
    assert_eq!(steps(|number| 1_000 + number * 1_024 / 10 + 30 * (number / 4)), [(4, 30.0), (8, 30.0)]);
}

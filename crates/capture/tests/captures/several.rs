//! Several stations of one capture, and a measured current beside one: progress, shared tables, and where a reader may stop it.

use std::fmt::Write as _;
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use airwatt_capture::{AnalysisProgress, AnalyzeError, Current, Question, analyze_stations, analyze_then};
use airwatt_sim::scenario::Scenario;
use airwatt_sim::{RunOptions, run};

/// A file that is removed at the end of its test.
struct File(PathBuf);

impl Drop for File {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn file(name: &str, bytes: &[u8]) -> File {
    let path = std::env::temp_dir().join(format!("airwatt-several-{}-{name}", std::process::id()));
    fs::write(&path, bytes).unwrap();
    File(path)
}

/// Ten stations of one cell, for a second.
fn ten_stations(name: &str) -> File {
    let keys = [("duration", "1s"), ("measure_from", "0s"), ("flow.start_spread", "100ms")];
    let keys: Vec<_> = keys.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
    let scenario = Scenario::load("ten-stations", &keys).unwrap();
    let mut go_on = |_| ControlFlow::Continue(());
    let done = run(&scenario, 1, &mut RunOptions { trace: true, on_progress: &mut go_on }).unwrap();
    let mut bytes = Vec::new();
    done.trace.unwrap().write_pcapng(&mut bytes).unwrap();
    file(name, &bytes)
}

#[test]
fn each_station_has_its_part_of_the_progress_and_the_first_the_tables_of_the_capture() {
    let capture = ten_stations("progress.pcapng");
    let policies = ["psm".to_owned()];
    let question = Question { policies: &policies, trace: true, seed: 1, ..Question::default() };
    let mut shares = Vec::new();
    let mut watch = |progress| {
        if let AnalysisProgress::Replaying(share) = progress {
            shares.push(share);
        }
        ControlFlow::Continue(())
    };
    let all = ["all".to_owned()];
    let analyses = analyze_stations(&capture.0, &question, &all, || Ok(()), &mut watch).unwrap();
    assert_eq!(analyses.len(), 10);
    assert!(shares.is_sorted(), "the share of what is done never falls: {shares:?}");
    assert!(shares.iter().all(|share| (0.0..=1.0).contains(share)), "{shares:?}");
    // The last station's begin after nine tenths.
    assert!(shares.last().is_some_and(|last| *last > 0.9), "{shares:?}");
    assert!(shares.iter().filter(|share| **share < 0.5).count() > 2, "{shares:?}");

    let lines: Vec<_> = analyses.iter().map(|analysis| analysis.timeline.as_ref().unwrap()).collect();
    assert!(!lines[0].beacons.time_ns.is_empty() && !lines[0].stations.is_empty());
    for line in &lines[1..] {
        assert!(line.beacons.time_ns.is_empty() && line.stations.is_empty(), "they stand once");
        assert!(!line.radio_states.time_ns.is_empty(), "what is a station's own stays");
    }
}

/// A meter's export of ten seconds: longer than the steps in which it is asked whether to go on.
fn current(name: &str) -> File {
    let mut text = "Timestamp(ms),Current(uA)\n".to_owned();
    for sample in 0..250_000 {
        writeln!(text, "{},{}", f64::from(sample) * 0.04, 20_000 + sample % 7).unwrap();
    }
    file(name, text.as_bytes())
}

#[test]
fn an_analysis_stops_while_a_current_is_read() {
    let capture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../captures/tcp-download.pcapng");
    let measured = current("current.csv");
    let question = Question {
        current: Some(Current { path: &measured.0, offset_s: Some(0.0), load: Default::default() }),
        seed: 1,
        ..Question::default()
    };
    let size = fs::metadata(&measured.0).unwrap().len();
    let mut of_current = 0;
    let mut stop = |progress| match progress {
        AnalysisProgress::Reading(reading) if reading.of == Some(size) => {
            of_current += 1;
            ControlFlow::Break(())
        }
        AnalysisProgress::Replaying(_) => panic!("it was stopped before"),
        AnalysisProgress::Reading(_) => ControlFlow::Continue(()),
    };
    let answer = analyze_then(&capture, &question, || Ok(()), &mut stop);
    assert_eq!(answer.unwrap_err(), AnalyzeError::Interrupted);
    assert_eq!(of_current, 1, "it is not asked again");
}

#[test]
fn a_file_that_is_no_current_is_not_an_interruption() {
    let capture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../captures/tcp-download.pcapng");
    let nothing = file("nothing.csv", b"no header\nno number\n");
    let question = Question {
        current: Some(Current { path: &nothing.0, offset_s: Some(0.0), load: Default::default() }),
        seed: 1,
        ..Question::default()
    };
    let mut watch = |_| ControlFlow::Continue(());
    let error = analyze_then(&capture, &question, || Ok(()), &mut watch).unwrap_err();
    assert!(matches!(&error, AnalyzeError::Option(text) if text.contains("nothing.csv")), "{error}");
}

//! Group-addressed frames of neighbours: when they are sent, who receives them, and what they cost. The scenario is `office`.

use std::ops::ControlFlow;

use airwatt_sim::media::cell::frame::{CellFrameKind, TracedFrame};
use airwatt_sim::record::RunResult;
use airwatt_sim::scenario::Scenario;
use airwatt_sim::{Run, RunOptions, run};

fn office(changes: &[(&str, &str)], trace: bool) -> Run {
    let changes: Vec<_> = changes.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
    let scenario = Scenario::load("office", &changes).unwrap();
    let mut go_on = |_| ControlFlow::Continue(());
    run(&scenario, 1, &mut RunOptions { trace, on_progress: &mut go_on }).unwrap()
}

fn group_j(result: &RunResult) -> f64 {
    result.stations[0].energy_by_cause_j.group
}

/// One frame of 46 bytes at 1 Mb/s: 36 bytes of headers and FCS, 82 bytes, 192 us + 656 us. With one host that sends each second for
/// 600 s, and a radio that receives at 84 mA and 3.3 V, these are 848 us x 277.2 mW for each of about 600 frames, and PIFS (19 us)
/// of listening before it.
#[test]
fn a_frame_costs_its_time_on_the_air() {
    let one = [("ap.group", "[{ kind = \"arp\", interval = \"1s\" }]"), ("station.radio", "esp32-c3")];
    let run = office(&one, true);
    let frames: Vec<&TracedFrame> = run
        .trace
        .as_ref()
        .unwrap()
        .frames
        .iter()
        .filter(|frame| frame.kind == CellFrameKind::Group)
        .collect();
    assert!(frames.len().abs_diff(600) < 75, "{}", frames.len());
    let sent_s: f64 = frames.iter().map(|frame| frame.duration.as_secs_f64()).sum();
    assert!((sent_s / frames.len() as f64 - 848e-6).abs() < 1e-12);
    let by_hand = 84e-3 * 3.3 * (848e-6 + 19e-6) * frames.len() as f64;
    let got = group_j(&run.result);
    assert!((got / by_hand - 1.0).abs() < 0.02, "{got} instead of {by_hand}");
}

/// Ten hosts with a packet each millisecond offer 10,000 packets a second, of which 1 Mb/s carries 1,100 or so of 848 us. What finds the
/// queue of ten full is dropped and counted, whether the station sleeps or not.
#[test]
fn more_packets_than_the_air_carries_are_dropped_and_counted() {
    for policy in ["active", "psm"] {
        let source = "[{ kind = \"arp\", interval = \"1ms\", hosts = 10 }]";
        let changes = [
            ("ap.group", source),
            ("ap.buffer", "10packets"),
            ("duration", "2s"),
            ("station.power_save.policy", policy),
        ];
        let run = office(&changes, true);
        let frames = &run.trace.as_ref().unwrap().frames;
        let sent = frames.iter().filter(|frame| frame.kind == CellFrameKind::Group).count() as u64;
        let accounted = sent + run.result.cell.air.ap_drops;
        // Ten wait, and the number of a Poisson process with a mean of 20,000 has a standard deviation of 141.
        assert!(
            accounted.abs_diff(20_000) < 5 * 141 + 10,
            "{policy}: {sent} sent, {accounted} accounted for"
        );
        assert!((100..=2_300).contains(&sent), "{policy}: {sent} sent");
    }
}

/// While the station sleeps, frames are sent after DTIM beacons that announce them, and only there; More Data is set in all but the
/// last of a burst.
#[test]
fn frames_follow_dtim_beacons_that_announce_them() {
    let run = office(&[("ap.dtim_period", "3"), ("duration", "60s")], true);
    let frames = &run.trace.as_ref().unwrap().frames;
    let mut announced = false;
    let mut more = false;
    let mut seen = 0;
    // The station has announced its power save within the first second.
    let asleep = frames.iter().filter(|frame| frame.start.as_nanos() > 1_000_000_000);
    for frame in asleep.filter(|frame| matches!(frame.kind, CellFrameKind::Beacon | CellFrameKind::Group)) {
        if let Some(beacon) = &frame.beacon {
            assert!(!more, "a burst ends before the next beacon");
            assert!(!beacon.group || beacon.dtim_count == 0);
            announced = beacon.group;
            more = beacon.group;
        } else {
            assert!(announced && more, "{frame:?}");
            more = frame.flags.more_data;
            seen += 1;
        }
    }
    assert!(seen > 300, "{seen}");
}

/// Sequence numbers of beacons and group-addressed frames follow one another.
#[test]
fn broadcast_frames_have_sequence_numbers_of_their_own() {
    let run = office(&[("duration", "10s")], true);
    let frames = &run.trace.as_ref().unwrap().frames;
    let numbers =
        frames.iter().filter(|frame| matches!(frame.kind, CellFrameKind::Beacon | CellFrameKind::Group));
    let numbers: Vec<u16> = numbers.map(|frame| frame.sequence).collect();
    assert!(numbers.windows(2).all(|pair| pair[1] == pair[0] + 1), "{numbers:?}");
}

/// A station that skips DTIM beacons skips the frames after them: a tenth of the beacons, about a tenth of the frames. One that
/// never sleeps receives all of them at once.
#[test]
fn skipped_dtim_beacons_skip_their_frames() {
    let every = office(&[], false).result;
    let tenth = office(&[("station.listen_interval", "10")], false).result;
    let share = group_j(&tenth) / group_j(&every);
    assert!((share - 0.1).abs() < 0.03, "{share}");
    let active = office(&[("policy", "active")], false).result;
    assert!((group_j(&active) / group_j(&every) - 1.0).abs() < 0.05);
    assert_eq!(office(&[("ap.group", "[]")], false).result.stations[0].energy_by_cause_j.group, 0.0);
}

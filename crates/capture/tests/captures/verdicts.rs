//! Verdicts about captures whose truth is known: runs of the simulator, whose access point keeps the rules, and the same runs
//! with a fault put into what it sent. Of each there are many mutants, of which a monitor missed frames, began late or had
//! another clock. A mutant may leave a rule undecided, but nothing may be called violated that was not.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use airwatt_base::{Instant, RandomStream, Span};
use airwatt_capture::Capture;
use airwatt_capture::power_save::{FindingKind, Verdict, observe};
use airwatt_sim::media::cell::frame::{CellFrameKind, Node, TracedFrame};
use airwatt_sim::record::RunTrace;
use airwatt_sim::scenario::{Checked, Scenario};
use airwatt_sim::{RunOptions, run};

pub(crate) const MUTANTS: u64 = 120;

/// Scenario, policy, and what else is set.
pub(crate) type Setting = (&'static str, &'static str, &'static [(&'static str, &'static str)]);

const RUNS: [Setting; 6] = [
    ("web", "psm-legacy", &[]),
    ("ssh", "psm-legacy", &[]),
    ("web", "psm", &[]),
    ("web", "timeout", &[]),
    ("office", "psm-legacy", &[]),
    ("ten-stations", "psm-legacy", &[("station.count", "3")]),
];

pub(crate) fn traced((name, policy, set): Setting) -> RunTrace {
    let keys = [("policy", policy), ("duration", "8s")];
    let keys: Vec<(String, String)> =
        keys.iter().chain(set).map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    traced_run(&Scenario::load(name, &keys).unwrap_or_else(|error| panic!("{name}: {error}")))
}

pub(crate) fn traced_run(scenario: &Checked) -> RunTrace {
    let mut go_on = |_| ControlFlow::Continue(());
    run(scenario, 1, &mut RunOptions { trace: true, on_progress: &mut go_on }).unwrap().trace.unwrap()
}

pub(crate) fn captured(trace: &RunTrace) -> Capture {
    captured_by(trace, |at_ns| at_ns)
}

/// The capture of a monitor with a clock of its own, which shows `clock` of the true time in nanoseconds.
pub(crate) fn captured_by(trace: &RunTrace, clock: impl Fn(u64) -> u64) -> Capture {
    const ENHANCED_PACKET: u32 = 6;
    let mut bytes = Vec::new();
    trace.write_pcapng(&mut bytes).unwrap();
    let mut at = 0;
    while at < bytes.len() {
        let word = |from: usize| u32::from_le_bytes(bytes[from..from + 4].try_into().unwrap());
        let (kind, length) = (word(at), word(at + 4) as usize);
        if kind == ENHANCED_PACKET {
            // Interface, then the upper and the lower half of the time.
            let shown = clock(u64::from(word(at + 12)) << 32 | u64::from(word(at + 16)));
            bytes[at + 12..at + 16].copy_from_slice(&((shown >> 32) as u32).to_le_bytes());
            bytes[at + 16..at + 20].copy_from_slice(&(shown as u32).to_le_bytes());
        }
        at += length;
    }
    Capture::read(&trace.setting.scenario, &bytes[..]).unwrap()
}

/// A clock that drifts by up to 0.1 %, as none does, and in some mutants is set at a time: back by two seconds, or ahead by 0.7.
pub(crate) fn clock_of(number: u64) -> impl Fn(u64) -> u64 {
    let drift = [0.0, 50e-6, -200e-6, 1e-3][(number % 4) as usize];
    let set_at = RandomStream::new(number, "clock").unit() * 8e9;
    let (is_set_back, is_set_ahead) = (number % 5 == 4, number.is_multiple_of(5) && number % 2 == 1);
    move |at_ns| {
        let shown = 10_000_000_000 + (at_ns as f64 * (1.0 + drift)) as u64;
        match at_ns as f64 > set_at {
            true if is_set_back => shown - 2_000_000_000,
            true if is_set_ahead => shown + 700_000_000,
            _ => shown,
        }
    }
}

/// The occurrences that a capture's verdicts call violated, by kind and time.
pub(crate) fn violated(capture: &Capture) -> Vec<(FindingKind, Instant)> {
    let mut list = Vec::new();
    for finding in observe(capture).findings {
        let of_finding = finding.occurrences.iter().filter(|one| one.verdict == Verdict::Violated);
        list.extend(of_finding.map(|one| (finding.kind, one.at)));
    }
    list
}

/// What no access point is to blame for.
const fn is_of_station(kind: FindingKind) -> bool {
    matches!(kind, FindingKind::PmFlapping | FindingKind::AwakeInPowerSave | FindingKind::LateFetch)
}

/// What a monitor may have made of a run: it missed single frames or stretches, and began late. Returns the time of its beginning.
pub(crate) fn mutate(trace: &RunTrace, number: u64) -> (RunTrace, Span) {
    let mut random = RandomStream::new(number, "mutant");
    let mut mutant = trace.clone();
    mutant.frames.sort_by_key(|frame| frame.start);
    let loss = [0.0, 0.002, 0.02, 0.1, 0.3][(number % 5) as usize];
    let from = if number.is_multiple_of(3) {
        Instant::ZERO
    } else {
        Instant::from_nanos((random.unit() * 4e9) as u64)
    };
    let stretch = Instant::from_nanos((random.unit() * 8e9) as u64);
    let until = stretch + Span::from_nanos((random.unit() * 3e8) as u64);
    mutant.frames.retain(|frame| {
        frame.start >= from
            && !(number.is_multiple_of(2) && stretch <= frame.start && frame.start < until)
            && random.unit() >= loss
    });
    let first = mutant.frames.first().map_or(Instant::ZERO, |frame| frame.start);
    (mutant, first - Instant::ZERO)
}

#[test]
fn no_innocent_is_accused() {
    for setting in RUNS {
        let trace = traced(setting);
        for number in 0..MUTANTS {
            let (mutant, _) = mutate(&trace, number);
            let capture = captured_by(&mutant, clock_of(number));
            let accused: Vec<_> =
                violated(&capture).into_iter().filter(|(kind, _)| !is_of_station(*kind)).collect();
            assert!(accused.is_empty(), "{setting:?}, mutant {number}: {accused:?}");
        }
    }
}

/// Numbers beacons and group-addressed frames anew, as an access point does that never sent what was removed.
fn renumber(trace: &mut RunTrace) {
    trace.frames.sort_by_key(|frame| frame.start);
    let shared = |kind| matches!(kind, CellFrameKind::Beacon | CellFrameKind::Group);
    for (number, frame) in (1..).zip(trace.frames.iter_mut().filter(|frame| shared(frame.kind))) {
        frame.sequence = number & 0xfff;
    }
}

/// The run of a station that sleeps on for some beacons after a frame with More Data, the `nth` in the run: everything from its
/// next PS-Poll on is so much later, and the beacons in between have its TIM bit or not. Returns the times of these beacons;
/// `None` if there is no such frame any more.
fn sleep_on(
    trace: &RunTrace,
    nth: usize,
    beacons: u64,
    announced: bool,
) -> Option<(RunTrace, BTreeSet<Instant>)> {
    let mut trace = trace.clone();
    trace.frames.sort_by_key(|frame| frame.start);
    let is_promise = |frame: &&TracedFrame| {
        frame.kind == CellFrameKind::Data
            && frame.from == Node::AccessPoint
            && frame.flags.more_data
            && frame.received
    };
    let promise = trace.frames.iter().filter(is_promise).nth(nth)?.clone();
    let Node::Station(station) = promise.to else { return None };
    let next = |frame: &&TracedFrame| {
        frame.start > promise.start && frame.kind == CellFrameKind::PsPoll && frame.from == promise.to
    };
    let poll = trace.frames.iter().find(next)?.start;
    let last = |frame: &&TracedFrame| frame.start < poll && frame.kind == CellFrameKind::Beacon;
    let beacon = trace.frames.iter().rev().find(last)?.clone();
    let interval = trace.setting.cells[0].beacon_interval;
    for frame in trace.frames.iter_mut().filter(|frame| frame.start >= poll) {
        frame.start += interval * beacons;
    }
    let mut times = BTreeSet::new();
    for number in 1..=beacons {
        let mut copy = beacon.clone();
        copy.start += interval * number;
        if let Some(content) = &mut copy.beacon {
            content.marked = if announced { vec![station] } else { Vec::new() };
        }
        times.insert(copy.start);
        trace.frames.push(copy);
    }
    renumber(&mut trace);
    Some((trace, times))
}

/// A frame that More Data promised waits for three beacons. Without the bit each of them violates the rule, and with it none does;
/// whatever a monitor missed, no other beacon is named.
#[test]
fn the_guilty_beacon_is_named_and_no_other() {
    let (mut named, mut captures) = (0, 0);
    for (setting, nth) in [(RUNS[0], 3), (RUNS[0], 40), (RUNS[0], 90)] {
        let run = traced(setting);
        let (innocent, _) = sleep_on(&run, nth, 3, true).unwrap();
        let (guilty, beacons) = sleep_on(&run, nth, 3, false).unwrap();
        let found = |trace: &RunTrace| -> BTreeSet<Instant> {
            let first = trace.frames.iter().map(|frame| frame.start).min().unwrap() - Instant::ZERO;
            let all = violated(&captured(trace)).into_iter();
            all.filter(|(kind, _)| *kind == FindingKind::TimNeverSet).map(|(_, at)| at + first).collect()
        };
        assert_eq!(found(&guilty), beacons, "{setting:?}");
        assert_eq!(found(&innocent), BTreeSet::new(), "{setting:?}");
        for number in 0..MUTANTS {
            let of_guilty = found(&mutate(&guilty, number).0);
            assert!(of_guilty.is_subset(&beacons), "{setting:?}, mutant {number}: {of_guilty:?}");
            named += of_guilty.len();
            captures += 1;
            let of_innocent = found(&mutate(&innocent, number).0);
            assert!(of_innocent.is_empty(), "{setting:?}, mutant {number}: {of_innocent:?}");
        }
    }
    // Losing few frames leaves most of them provable.
    assert!(named > captures, "{named} beacons in {captures} captures");
}

/// A fault in one place is found in that place, where the rest of the capture shows how this access point numbers its frames.
#[test]
fn faults_that_a_capture_proves_are_found() {
    let count = |trace: &RunTrace, kind| {
        violated(&captured(trace)).iter().filter(|(found, _)| *found == kind).count()
    };
    let beacons = |trace: &mut RunTrace, nth: usize, fault: fn(&mut TracedFrame)| {
        trace.frames.sort_by_key(|frame| frame.start);
        let beacon = trace.frames.iter_mut().filter(|frame| frame.kind == CellFrameKind::Beacon).nth(nth);
        fault(beacon.expect("a run of 8 s has as many beacons"));
    };
    let mut late = traced(RUNS[0]);
    // On a channel that is free: a full one excuses it.
    late.frames.sort_by_key(|frame| frame.start);
    let is_quiet = |pair: &[TracedFrame]| {
        pair[0].kind == CellFrameKind::Beacon && pair[1].start > pair[0].start + Span::from_millis(20)
    };
    let quiet = late.frames.windows(2).rposition(is_quiet).expect("the station reads for seconds");
    late.frames[quiet].start += Span::from_millis(17);
    assert_eq!(count(&late, FindingKind::BeaconLate), 1);
    let mut skipped = traced(("office", "psm-legacy", &[("ap.dtim_period", "3")]));
    beacons(&mut skipped, 31, |beacon| {
        let content = beacon.beacon.as_mut().expect("a beacon");
        content.dtim_count = (content.dtim_count + 1) % 3;
    });
    // The next one continues what it should have been.
    assert_eq!(count(&skipped, FindingKind::DtimSkipped), 1);
    // A beacon that was not sent, by its successor's number, and one that the monitor missed.
    let mut missing = traced(RUNS[0]);
    let mut missed = missing.clone();
    for trace in [&mut missing, &mut missed] {
        trace.frames.sort_by_key(|frame| frame.start);
        let place =
            trace.frames.iter().enumerate().filter(|(_, frame)| frame.kind == CellFrameKind::Beacon).nth(30);
        let place = place.expect("a run of 8 s has as many beacons").0;
        trace.frames.remove(place);
    }
    renumber(&mut missing);
    assert_eq!(count(&missing, FindingKind::BeaconMissing), 1);
    assert_eq!(count(&missed, FindingKind::BeaconMissing), 0);
    // The same of announced group-addressed frames.
    let mut silent = traced(RUNS[4]);
    silent.frames.sort_by_key(|frame| frame.start);
    let announces = |frame: &&TracedFrame| {
        frame.beacon.as_ref().is_some_and(|content| content.group && content.dtim_count == 0)
    };
    let at =
        silent.frames.iter().filter(announces).nth(10).expect("an office has group-addressed frames").start;
    let interval = silent.setting.cells[0].beacon_interval;
    silent.frames.retain(|frame| {
        frame.kind != CellFrameKind::Group || frame.start < at || frame.start > at + interval
    });
    assert_eq!(count(&silent, FindingKind::GroupNotSent), 0, "the monitor may have missed them");
    renumber(&mut silent);
    assert_eq!(count(&silent, FindingKind::GroupNotSent), 1);
}

//! Verdicts about service periods of target wake time, for runs of the simulator whose truth is known: its access point keeps the rules, its
//! stations come to each period, and a frame of the user is sent at once. The same runs with a fault, and mutants of all that a monitor with
//! losses would have captured.

use airwatt_base::{Instant, Span};
use airwatt_capture::Capture;
use airwatt_capture::power_save::{FindingKind, Verdict, observe};
use airwatt_proto::powersave::{ServiceFlags, WakeAgreement, WakeAnswer, WakeFrame};
use airwatt_sim::media::cell::frame::{CellFrameKind, Node, TracedFrame};
use airwatt_sim::record::RunTrace;
use airwatt_sim::scenario::Scenario;

use crate::verdicts::{
    MUTANTS, Setting, captured, captured_by, clock_of, mutate, traced, traced_run, violated,
};

const RUNS: [Setting; 6] = [
    ("web", "twt", &[("station.power_save.interval", "102.4ms")]),
    ("ssh", "twt", &[("station.power_save.announced", "false"), ("station.power_save.interval", "300ms")]),
    ("ssh", "twt", &[("station.power_save.resume_after", "100ms"), ("ap.twt_information", "true")]),
    ("streaming", "ba-ta-twt", &[("wifi", "wifi6")]),
    (
        "web",
        "twt",
        &[("station.power_save.trigger_enabled", "true"), ("station.power_save.interval", "200ms")],
    ),
    ("ten-stations", "twt", &[("station.count", "3"), ("station.power_save.interval", "250ms")]),
];

/// The times of what violates a rule.
fn times(trace: &RunTrace, capture: &Capture, kind: FindingKind) -> Vec<Instant> {
    let first = trace.frames.iter().map(|frame| frame.start).min().unwrap_or(Instant::ZERO) - Instant::ZERO;
    violated(capture).into_iter().filter(|(one, _)| *one == kind).map(|(_, at)| at + first).collect()
}

/// The agreement that a station has at a time: the last one that was accepted and not torn down.
fn agreement(trace: &RunTrace, station: Node, at: Instant) -> Option<WakeAgreement> {
    let before =
        trace.frames.iter().filter(|frame| frame.start < at && [frame.from, frame.to].contains(&station));
    let last = before.filter(|frame| {
        matches!(
            frame.action,
            Some(WakeFrame::Teardown { .. } | WakeFrame::Answer { answer: WakeAnswer::Accept(_), .. })
        )
    });
    match last.max_by_key(|frame| frame.start)?.action? {
        WakeFrame::Answer { answer: WakeAnswer::Accept(agreement), .. } => Some(agreement),
        _ => None,
    }
}

/// Whether a time is in a service period of an agreement.
fn is_inside(WakeAgreement { request, first }: WakeAgreement, at: Instant) -> bool {
    at >= first
        && at.saturating_since(first).as_nanos() % request.interval.as_nanos() <= request.duration.as_nanos()
}

/// Whatever a monitor missed: the access point and stations that come to their periods are not accused, and what is said to be sent outside the
/// periods was.
#[test]
fn no_innocent_is_accused_of_service_periods() {
    let mut outside = 0;
    let settings = ["announced = false", "interval = '300ms'", "resume_after = '200ms'"];
    let all = settings.map(|set| (("ssh beside groups", set, &[][..]), beside_groups(set)));
    for (setting, trace) in RUNS.map(|setting| (setting, traced(setting))).into_iter().chain(all) {
        for number in 0..MUTANTS {
            let (mutant, _) = mutate(&trace, number);
            let capture = captured_by(&mutant, clock_of(number));
            for kind in [FindingKind::SentOutsideWakeTime, FindingKind::AbsentAtWakeTime] {
                let accused = times(&mutant, &capture, kind);
                assert!(accused.is_empty(), "{setting:?}, mutant {number}: {kind:?} {accused:?}");
            }
            // The times of a clock that is right.
            let named = times(&mutant, &captured(&mutant), FindingKind::WokeOutsideWakeTime);
            outside += named.len();
            for at in named {
                let sender =
                    trace.frames.iter().find(|frame| frame.start == at).expect("a frame of the run").from;
                let held = agreement(&trace, sender, at);
                assert!(
                    held.is_some_and(|held| !is_inside(held, at)),
                    "{setting:?}, mutant {number}: {at}: {held:?}"
                );
            }
        }
    }
    assert!(outside > 100, "{outside}");
}

/// A station that comes to each period, or sends its frames in them alone, keeps the rules: what the captures of these runs decide is not nothing.
#[test]
fn service_periods_of_a_run_are_kept() {
    let trace = traced(("web", "twt", &[("station.power_save.trigger_enabled", "true")]));
    let found = observe(&captured(&trace)).findings;
    let count = |kind, verdict| {
        found.iter().filter(|one| one.kind == kind).map(|one| one.count(verdict)).sum::<u64>()
    };
    for kind in
        [FindingKind::SentOutsideWakeTime, FindingKind::WokeOutsideWakeTime, FindingKind::AbsentAtWakeTime]
    {
        assert!(count(kind, Verdict::Kept) > 0, "{kind:?}");
        assert_eq!(count(kind, Verdict::Violated), 0, "{kind:?}");
    }
}

/// Keys in a shell under a policy `twt`, beside group-addressed frames: they share a counter with beacons and the answer that made the agreement,
/// and so show that no other one was missed. In order of time.
fn beside_groups(settings: &str) -> RunTrace {
    let text = format!(
        r#"
        base = "ssh"
        duration = "8s"

        [[ap.group]]
        kind = "arp"
        hosts = 400
        interval = "40s"

        [[station]]
        power_save = {{ policy = "twt", {settings} }}
        "#
    );
    let scenario = Scenario::from_text(&text, "beside groups", &[]);
    let mut trace = traced_run(&scenario.unwrap_or_else(|error| panic!("{error}")));
    trace.frames.sort_by_key(|frame| frame.start);
    trace
}

/// The access point sends the frame of a period 0.2 s too early, three times in vain: it is accused of that frame alone, whatever the monitor missed,
/// and of none where the station acknowledged it.
#[test]
fn a_delivery_outside_the_periods_is_found() {
    let trace = beside_groups("announced = false");
    let is_delivery = |frame: &&TracedFrame| {
        frame.kind == CellFrameKind::Data && frame.from == Node::AccessPoint && frame.received
    };
    let (mut named, mut moved) = (0, 0);
    for frame in trace.frames.iter().filter(is_delivery) {
        let early = frame.start.saturating_sub(Span::from_millis(200));
        let is_near = |other: &TracedFrame| {
            other.kind != CellFrameKind::Beacon
                && other.start + Span::from_millis(60) > early
                && other.start < early + Span::from_millis(20)
        };
        // Other frames of the station or for it would come between its numbers.
        let is_own = |other: &TracedFrame| {
            other.start > early && other.start < frame.start && [other.from, other.to].contains(&frame.to)
        };
        let is_apart = !trace.frames.iter().any(|other| is_near(other) || is_own(other));
        if early < Instant::ZERO + Span::from_secs(2) || !is_apart || moved == 3 {
            continue;
        }
        moved += 1;
        for heard in [true, false] {
            let mut guilty = trace.clone();
            // It was not buffered since the station last sent or received, so that no beacon announced it.
            let is_of_station =
                |other: &&TracedFrame| other.start < early && [other.from, other.to].contains(&frame.to);
            let last = trace.frames.iter().rfind(is_of_station).map_or(Instant::ZERO, |other| other.start);
            let is_since = |other: &&mut TracedFrame| other.start > last && other.start < frame.start;
            for beacon in guilty.frames.iter_mut().filter(is_since) {
                if let Some(content) = &mut beacon.beacon {
                    content.marked.clear();
                }
            }
            guilty.frames.retain(|other| other.start != frame.start);
            for time in 0..if heard { 1 } else { 3 } {
                let start = early + Span::from_millis(time);
                let flags = ServiceFlags::default();
                guilty.frames.push(TracedFrame {
                    start,
                    received: heard,
                    retry: time > 0,
                    flags,
                    ..frame.clone()
                });
            }
            let mut is_ack = trace.frames.iter().filter(|other| {
                other.kind == CellFrameKind::Ack && other.start > frame.start && other.from == frame.to
            });
            guilty.frames.extend(is_ack.next().filter(|_| heard).map(|ack| TracedFrame {
                start: early + ack.start.saturating_since(frame.start),
                ..ack.clone()
            }));
            guilty.frames.sort_by_key(|other| other.start);
            let found = times(&guilty, &captured(&guilty), FindingKind::SentOutsideWakeTime);
            assert!(found.is_empty() || !heard && found == [early], "{heard}: {found:?}, sent at {early}");
            named += found.len();
            for number in 0..MUTANTS {
                let (mutant, _) = mutate(&guilty, number);
                let of_mutant = times(&mutant, &captured(&mutant), FindingKind::SentOutsideWakeTime);
                let is_right =
                    |at: &Instant| !heard && (0..3).any(|time| *at == early + Span::from_millis(time));
                assert!(of_mutant.iter().all(is_right), "{heard}, mutant {number}: {of_mutant:?}");
            }
        }
    }
    assert!(named > 0, "{moved} deliveries moved, and none found");
}

/// A station sleeps through a period of 1,024 ms and comes to the next one: everything from its announcement on is ten beacons later, and beacons
/// in between have its bit. Where they do not, nothing was buffered.
#[test]
fn a_station_that_is_absent_is_found() {
    const BEACONS: u64 = 10;
    let trace = beside_groups("interval = '1024ms'");
    let interval = trace.setting.cells[0].beacon_interval;
    assert_eq!(interval * BEACONS, Span::from_micros(1_024_000));
    let beacons: Vec<&TracedFrame> =
        trace.frames.iter().filter(|frame| frame.kind == CellFrameKind::Beacon).collect();
    let marks =
        |beacon: &TracedFrame| beacon.beacon.as_ref().map_or(Vec::new(), |content| content.marked.clone());
    // The last beacon before a period of the first station, which has its bit alone.
    let station = 0;
    let comes = trace.frames.iter().find(|frame| {
        let before = beacons.iter().rev().find(|beacon| beacon.start < frame.start);
        frame.kind == CellFrameKind::QosNull
            && frame.from == Node::Station(station)
            && frame.start > Instant::ZERO + Span::from_secs(2)
            && before.is_some_and(|beacon| marks(beacon).contains(&station))
    });
    let comes = comes.expect("a period for which a frame waits").start;
    let last = (*beacons.iter().rev().find(|beacon| beacon.start < comes).unwrap()).clone();
    let late = |is_announced: bool| {
        let mut late = trace.clone();
        for frame in late.frames.iter_mut().filter(|frame| frame.start >= comes) {
            frame.start += interval * BEACONS;
        }
        for number in 1..=BEACONS {
            let mut beacon = last.clone();
            beacon.start += interval * number;
            if let Some(content) = &mut beacon.beacon {
                content.marked.retain(|_| is_announced);
                content.group = false;
            }
            late.frames.push(beacon);
        }
        late.frames.sort_by_key(|frame| frame.start);
        renumber(&mut late);
        late
    };
    for is_announced in [true, false] {
        let guilty = late(is_announced);
        let found = times(&guilty, &captured(&guilty), FindingKind::AbsentAtWakeTime);
        assert_eq!(found.len(), usize::from(is_announced), "{found:?}");
        let is_right = |at: &Instant| {
            at.saturating_since(comes) < Span::from_millis(5)
                && comes.saturating_since(*at) < Span::from_millis(5)
        };
        assert!(found.iter().all(is_right), "{found:?}, it came at {comes}");
        for number in 0..MUTANTS {
            let (mutant, _) = mutate(&guilty, number);
            let of_mutant = times(&mutant, &captured(&mutant), FindingKind::AbsentAtWakeTime);
            assert!(
                of_mutant.len() <= found.len() && of_mutant.iter().all(is_right),
                "mutant {number}: {of_mutant:?}"
            );
        }
    }
}

/// Numbers what the access point sends without a QoS counter anew, in the order on the air.
fn renumber(trace: &mut RunTrace) {
    let is_shared = |frame: &&mut TracedFrame| {
        let is_of_all =
            matches!(frame.kind, CellFrameKind::Beacon | CellFrameKind::Group | CellFrameKind::Action);
        is_of_all && frame.from == Node::AccessPoint
    };
    for (number, frame) in (1..).zip(trace.frames.iter_mut().filter(is_shared)) {
        frame.sequence = number & 0xfff;
    }
}

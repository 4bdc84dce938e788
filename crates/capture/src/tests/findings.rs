//! A built capture for each kind of finding, and one that nearly has it.

use airwatt_dot11::{
    AssociationResponse, Elements, NextTwtBytes, TwtAction, TwtCommand, TwtSetup, WakeDuration, WakeInterval,
};

use super::*;
use crate::power_save::{Excess, HeldAgreement, SleepAgreement};

const BEACON_US: u64 = 102_400;

/// A group-addressed data frame of the access point.
fn group(number: u16, more: bool) -> Vec<u8> {
    frame(FrameKind::Data, false, |header| {
        header.address1 = MacAddress::BROADCAST;
        header.control.more_data = more;
        header.sequence_control = Some(number << 4);
    })
}

fn dtim(count: u8, period: u8, group: bool) -> Vec<u8> {
    beacon_of(0, TimFields { dtim_count: count, dtim_period: period, group, aids: &[] }, None)
}

fn has(frames: &[(u64, Vec<u8>)], kind: FindingKind) -> u64 {
    kinds(&ladder(frames)).iter().filter(|(found, _)| *found == kind).map(|(_, count)| count).sum()
}

/// ```text
/// STA  PM=1                    PS-Poll
/// AP          beacon(TIM bit)           Null(More Data=0)
/// ```
#[test]
fn a_tim_bit_without_a_frame_is_stuck() {
    let asleep = [(0, poll()), (1, data(1, false)), (2, null(true))];
    let empty = || frame(FrameKind::Null, false, |_| ());
    let with = |rest: &[(u64, Vec<u8>)]| [&asleep[..], rest].concat();
    let stuck = with(&[(100, beacon(&[1])), (101, poll()), (103, empty())]);
    assert_eq!(has(&stuck, FindingKind::TimStuck), 1);
    let found =
        findings(&ladder(&stuck)).into_iter().find(|found| found.kind == FindingKind::TimStuck).unwrap();
    assert_eq!((found.count(Verdict::Undecidable), excess(&found).awake), (1, Span::ZERO));
    // Without the bit the station asked in vain, which is no fault of the access point; and data is what it asks for.
    assert_eq!(has(&with(&[(100, beacon(&[])), (101, poll()), (103, empty())]), FindingKind::TimStuck), 0);
    assert_eq!(
        has(&with(&[(100, beacon(&[1])), (101, poll()), (103, data(2, false))]), FindingKind::TimStuck),
        0
    );
}

/// ```text
/// STA  PM=1                    PS-Poll                       PS-Poll
/// AP          beacon(TIM bit)           data(More Data=1)              beacon(-)   data
/// ```
#[test]
fn a_frame_that_was_requested_before_the_beacon_may_be_on_its_way() {
    let after_request = |at| {
        let frames = [
            (0, poll()),
            (1, data(1, false)),
            (2, null(true)),
            (100, beacon(&[1])),
            (103, poll()),
            (104, data(2, true)),
            (at, poll()),
            (202, beacon(&[])),
            (204, data(3, false)),
            (300, null(true)),
        ];
        findings(&ladder(&frames)).into_iter().find(|one| one.kind == FindingKind::TimNeverSet).unwrap()
    };
    let found = after_request(194);
    let (one, undecidable) = (found.occurrences.last().unwrap(), found.count(Verdict::Undecidable));
    assert_eq!((undecidable, &one.deciding[..]), (1, &[6, 8, 9][..]));
    let detail = one.detail.as_deref().unwrap();
    assert!(
        detail.contains("More Data of packet 6") && detail.contains("before the beacon of packet 8"),
        "{detail}"
    );
    assert!(detail.ends_with("the frame may have been on its way"), "{detail}");
}

/// A verdict about beacons waits until the station's next frames show that it slept. Others come before it.
#[test]
fn occurrences_are_in_order_of_time() {
    let frames = [
        (0, poll()),
        (1, data(1, false)),
        (2, null(true)),
        (100, beacon(&[1])),
        (103, poll()),
        (104, data(2, true)),
        (202, beacon(&[])),
        (205, poll()),
        (206, data(3, false)),
        (304, beacon(&[1])),
        (307, poll()),
        (308, data(4, false)),
        (350, null(false)),
    ];
    let all = findings(&ladder(&frames));
    let of = |kind| all.iter().find(|one| one.kind == kind).unwrap();
    let packets: Vec<u32> = of(FindingKind::TimNeverSet).occurrences.iter().map(|one| one.packet).collect();
    assert_eq!(packets, [6, 7, 12]);
    assert!(all.iter().all(|one| one.occurrences.is_sorted_by_key(|one| one.at)));
}

/// The station sleeps from the beacon that announces a frame for its listen interval at most, and asks `beacons` later.
fn fetched_after(listen_interval: u8, beacons: u64, late_ms: u64) -> Verdict {
    let mut request = frame(FrameKind::AssociationRequest, true, |_| ());
    request.extend_from_slice(&[1, 0, listen_interval, 0]);
    let mut frames = vec![(0, request), (1, poll()), (2, data(1, false)), (3, null(true))];
    frames.extend((1..=beacons + 1).map(|number| (102 * number, beacon(&[1]))));
    let at = 102 * (beacons + 1) + late_ms;
    frames.last_mut().unwrap().0 += late_ms;
    frames.extend([(at + 5, poll()), (at + 6, data(2, false)), (at + 90, null(true))]);
    let found =
        findings(&ladder(&frames)).into_iter().find(|one| one.kind == FindingKind::LateFetch).unwrap();
    found.occurrences.last().unwrap().verdict
}

#[test]
fn a_station_asks_within_its_listen_interval() {
    assert_eq!(fetched_after(1, 1, 0), Verdict::Kept);
    assert_eq!(fetched_after(3, 3, 0), Verdict::Kept);
    // A station loses up to three beacons more for which it was awake.
    assert_eq!(fetched_after(1, 2, 0), Verdict::Undecidable);
    assert_eq!(fetched_after(1, 4, 0), Verdict::Undecidable);
    assert_eq!(fetched_after(1, 5, 0), Verdict::Violated);
    assert_eq!(fetched_after(3, 12, 0), Verdict::Undecidable);
    assert_eq!(fetched_after(3, 13, 0), Verdict::Violated);
    // It wakes up in time, and the beacon is late.
    assert_eq!(fetched_after(3, 3, 40), Verdict::Kept);
}

#[test]
fn beacons_of_access_points_have_a_tim() {
    let bare = |capability: u16| {
        let mut bytes = frame(FrameKind::Beacon, false, |header| header.address1 = MacAddress::BROADCAST);
        bytes.extend_from_slice(&[0; 8]);
        bytes.extend_from_slice(&100u16.to_le_bytes());
        bytes.extend_from_slice(&capability.to_le_bytes());
        Elements::push_ssid(&mut bytes, b"t");
        bytes
    };
    assert_eq!(has(&[(0, bare(1)), (102, bare(1))], FindingKind::TimMissing), 2);
    // An ad hoc network has none (IBSS is bit 1).
    assert_eq!(has(&[(0, bare(2)), (102, bare(2))], FindingKind::TimMissing), 0);
    // The element may be in the part that was not captured.
    let mut cut = File::new(127).packet(0, &bare(1));
    let at = cut.0.len() - bare(1).len() - 4;
    let longer = (bare(1).len() as u32 + 20).to_le_bytes();
    cut.0[at..at + 4].copy_from_slice(&longer);
    assert_eq!(kinds(&cut.read()), []);
}

/// ```text
/// STA  PM=1 (asleep)
/// AP           beacon(DTIM)   group(More Data=0)   group
/// ```
#[test]
fn all_but_the_last_group_frame_have_more_data() {
    let after_dtim =
        |more| vec![(0, null(true)), (100, dtim(0, 1, true)), (101, group(1, more)), (102, group(2, false))];
    assert_eq!(kinds(&ladder(&after_dtim(false))), [(FindingKind::MoreDataMissing, 1)]);
    assert_eq!(kinds(&ladder(&after_dtim(true))), []);
    let mut nobody_sleeps = after_dtim(false);
    nobody_sleeps[0].1 = null(false);
    assert_eq!(kinds(&ladder(&nobody_sleeps)), []);
    // The next one follows the next DTIM beacon.
    let apart = [
        (0, null(true)),
        (100, dtim(0, 1, true)),
        (101, group(1, false)),
        (202, dtim(0, 1, true)),
        (203, group(2, false)),
    ];
    assert_eq!(kinds(&ladder(&apart)), []);
}

#[test]
fn an_access_point_that_announces_uapsd_grants_it() {
    let announced = |qos_info| {
        beacon_of(0, TimFields { dtim_count: 0, dtim_period: 1, group: false, aids: &[] }, Some(qos_info))
    };
    let request = |qos_info: Option<u8>| {
        let mut bytes = frame(FrameKind::AssociationRequest, true, |_| ());
        bytes.extend_from_slice(&[1, 0, 10, 0]);
        if let Some(qos_info) = qos_info {
            Elements::push_wmm(&mut bytes, qos_info);
        }
        bytes
    };
    let response = |qos_info: Option<u8>| {
        let mut bytes = frame(FrameKind::AssociationResponse, false, |_| ());
        AssociationResponse { capability: Capability(1), status: 0, aid: 1 }.encode(&mut bytes);
        if let Some(qos_info) = qos_info {
            Elements::push_wmm(&mut bytes, qos_info);
        }
        bytes
    };
    let asked = |ap, station, granted| {
        kinds(&ladder(&[(0, announced(ap)), (10, request(station)), (11, response(granted))]))
    };
    assert_eq!(asked(0x80, Some(0x0f), None), [(FindingKind::UapsdNotGranted, 1)]);
    assert_eq!(asked(0x80, Some(0x0f), Some(0)), [(FindingKind::UapsdNotGranted, 1)]);
    assert_eq!(asked(0x80, Some(0x0f), Some(0x80)), []);
    assert_eq!(asked(0x80, Some(0), None), [], "it did not ask");
    assert_eq!(asked(0, Some(0x0f), None), [], "it was not announced");
}

#[test]
fn a_station_that_sends_all_the_time_is_awake() {
    let sends = |every: u64| {
        let up = |number: u64| {
            frame(FrameKind::Data, true, |header| {
                header.control.power_management = true;
                header.sequence_control = Some((number as u16) << 4);
            })
        };
        let frames: Vec<_> = (0..30).map(|number| (20 + number * every, up(number))).collect();
        [&[(0, null(false)), (10, null(true))], &frames[..]].concat()
    };
    assert_eq!(kinds(&ladder(&sends(8))), [(FindingKind::AwakeInPowerSave, 1)]);
    assert_eq!(excess(&reported(&ladder(&sends(8)))[0]).awake, Span::from_millis(29 * 8));
    assert_eq!(kinds(&ladder(&sends(20))), [], "it may sleep for 20 ms");
}

/// ```text
/// AP  data   beacon(DTIM, group bit)   (nothing)   beacon
/// ```
#[test]
fn group_frames_that_are_announced_are_sent() {
    let first = (0, data(1, false));
    let nothing = [first.clone(), (100, dtim(0, 1, true)), (202, dtim(0, 1, false))];
    assert_eq!(kinds(&ladder(&nothing)), [(FindingKind::GroupNotSent, 1)]);
    assert_eq!(verdict(&ladder(&nothing)), Verdict::Undecidable);
    let sent = [first.clone(), (100, dtim(0, 1, true)), (103, group(1, false)), (202, dtim(0, 1, false))];
    assert_eq!(kinds(&ladder(&sent)), []);
    // The monitor was away, or captures beacons alone.
    assert_eq!(kinds(&ladder(&[first, (100, dtim(0, 1, true)), (900, dtim(0, 1, false))])), []);
    // Of beacons alone nothing else is expected. That is said of each, also where the bit is stuck.
    let beacons = [(100, dtim(0, 1, true)), (202, dtim(0, 1, true)), (305, dtim(0, 1, true))];
    assert_eq!(kinds(&ladder(&beacons)), [(FindingKind::GroupNotSent, 2)]);
    assert_eq!(verdict(&ladder(&beacons)), Verdict::Undecidable);
    let detail = reported(&ladder(&beacons))[0].occurrences[0].detail.clone().unwrap();
    assert!(detail.contains("no data of the access point had been captured"), "{detail}");
}

#[test]
fn dtim_counts_go_on() {
    let counts = |counts: &[(u64, u8)]| {
        let frames: Vec<_> = counts.iter().map(|(at, count)| (*at, dtim(*count, 3, false))).collect();
        has(&frames, FindingKind::DtimSkipped)
    };
    assert_eq!(counts(&[(0, 2), (102, 1), (205, 0), (307, 2), (410, 1)]), 0);
    assert_eq!(counts(&[(0, 2), (102, 1), (205, 2), (307, 1)]), 1);
    // The beacon after a wrong count continues what that should have been: one fault.
    assert_eq!(counts(&[(0, 2), (102, 1), (205, 2), (307, 2), (410, 1)]), 1);
    assert_eq!(counts(&[(0, 2), (102, 1), (205, 2), (307, 0), (410, 2)]), 2);
    // The beacon between them was not captured.
    assert_eq!(counts(&[(0, 2), (205, 0), (307, 2)]), 0);
}

/// A monitor that stands still for 60 ms shows a beacon so much later, and misses the next one: by its own clock the one after that follows,
/// and the access point's clock says that two intervals have gone by.
#[test]
fn a_monitor_that_stands_still_hides_no_beacon() {
    for stands_us in [0, 60_000] {
        let mut file = File::new(127);
        for number in (0..20).filter(|number| *number != 11) {
            let timestamp_us = number * BEACON_US;
            let captured_us = timestamp_us + if number == 10 { stands_us } else { 0 };
            let tim =
                TimFields { dtim_count: 2 - (number % 3) as u8, dtim_period: 3, group: false, aids: &[] };
            file = file.packet(captured_us, &beacon_of(timestamp_us, tim, None));
        }
        let capture = file.read();
        let skipped =
            kinds(&capture).into_iter().filter(|(kind, _)| *kind == FindingKind::DtimSkipped).count();
        assert_eq!(skipped, 0, "{stands_us}");
    }
}

/// Beacons at their target times plus `offset_us`, of which one is delayed; each beacon is captured when it is sent.
fn beacons(offset_us: u64, count: u64, delayed: (u64, u64), without: &[u64]) -> Capture {
    let mut file = File::new(127);
    for number in (0..count).filter(|number| !without.contains(number)) {
        let late = if number == delayed.0 { delayed.1 } else { 300 * (number % 3) };
        let timestamp_us = number * BEACON_US + offset_us + late;
        let tim = TimFields { dtim_count: 0, dtim_period: 1, group: false, aids: &[] };
        file = file.packet(timestamp_us, &beacon_of(timestamp_us, tim, None));
    }
    file.read()
}

#[test]
fn a_late_beacon_is_late_by_the_clock_of_its_access_point() {
    let capture = beacons(40_000, 30, (12, 15_000), &[]);
    assert_eq!(kinds(&capture), [(FindingKind::BeaconLate, 1)]);
    let found = &reported(&capture)[0];
    assert_eq!(found.occurrences.iter().find(|one| one.verdict == Verdict::Violated).unwrap().packet, 13);
    let patient = found.excess(Span::from_secs(1), |_, _| true);
    assert!(
        patient.delay > Span::from_millis(14) && patient.delay <= Span::from_millis(15),
        "{}",
        patient.delay
    );
    // A radio listens until it gives the beacon up, which this one does after 10 ms; a late beacon cost more than that before.
    let radio = airwatt_energy::Radio::find("broadcom-4311").unwrap();
    assert_eq!(found.excess(radio.beacon_wait, |_, _| true).awake, Span::from_millis(10));
    assert_eq!(patient.awake, patient.delay);
    assert_eq!(
        found.excess(radio.beacon_wait, |_, _| false),
        Excess::default(),
        "who is awake waits for none"
    );
    assert_eq!(kinds(&beacons(40_000, 30, (12, 8_000), &[])), [], "a busy channel");
    // It belongs to the slot before it, however late it is, also if it is the first one.
    for late_us in [45_000, 60_000, 90_000] {
        let capture = beacons(40_000, 30, (12, late_us), &[]);
        assert_eq!(kinds(&capture), [(FindingKind::BeaconLate, 1)], "{late_us}");
        let delay = reported(&capture)[0].excess(Span::from_secs(1), |_, _| true).delay;
        assert!(delay.abs_diff(Span::from_micros(late_us)) < Span::from_millis(1), "{delay} {late_us}");
    }
    let first = beacons(40_000, 30, (0, 60_000), &[]);
    assert_eq!(kinds(&first), [(FindingKind::BeaconLate, 1)]);
    assert_eq!(verdict(&first), Verdict::Undecidable, "what it may have waited for was not captured");
    assert_eq!(kinds(&beacons(102_300, 30, (0, 0), &[])), [], "offsets next to the interval");
}

/// The station was awake when a beacon came late, which costs it nothing, or asleep.
#[test]
fn who_is_awake_waits_for_no_beacon() {
    let delay_with = |asleep: bool| {
        let late = |number: u64| if number == 12 { 15_000 } else { 0 };
        let tim = TimFields { dtim_count: 0, dtim_period: 1, group: false, aids: &[] };
        let sent = (0..30).map(|number| number * BEACON_US + late(number));
        let mut frames: Vec<_> = sent.map(|at_us| (at_us, beacon_of(at_us, tim, None))).collect();
        frames.extend([(5_000, null(asleep)), (2_500_000, null(asleep)), (2_600_000, null(!asleep))]);
        frames.sort_by_key(|(at_us, _)| *at_us);
        let file = frames.iter().fold(File::new(127), |file, (at_us, bytes)| file.packet(*at_us, bytes));
        let document = report::describe(&file.read(), Some(&Station::Mac(STATION)), None);
        let found = document.findings.iter().find(|found| found.kind == "beacon-late").unwrap();
        (1e3 * found.delay_s.unwrap()).round()
    };
    assert_eq!(delay_with(false), 0.0);
    assert_eq!(delay_with(true), 15.0);
}

/// Of 40 beacons one was not captured: 40 were due.
#[test]
fn beacons_are_due_up_to_the_last_one() {
    for (without, expected) in [(&[][..], (40, 40)), (&[20], (39, 40))] {
        let air = report::describe(&beacons(0, 40, (0, 0), without), None, None).air.unwrap();
        assert_eq!((air.networks[0].beacons, air.networks[0].beacons_due), expected);
    }
}

#[test]
fn a_beacon_is_missing_if_nearly_all_others_were_captured() {
    let capture = beacons(0, 40, (0, 0), &[20]);
    assert_eq!(kinds(&capture), [(FindingKind::BeaconMissing, 1)]);
    assert_eq!(verdict(&capture), Verdict::Undecidable);
    let every_third: Vec<u64> = (0..40).filter(|number| number % 3 == 1).collect();
    assert_eq!(kinds(&beacons(0, 40, (0, 0), &every_third)), [], "a monitor that misses many");
    assert_eq!(kinds(&beacons(0, 40, (0, 0), &[])), []);
}

/// One frame shows the mode at its time alone: the next one shows how long it lasted. The document does not say that none does.
#[test]
fn what_one_frame_lacks_is_the_next_one() {
    let lacks = |frames: &[(u64, Vec<u8>)]| {
        let document = report::describe(&ladder(frames), Some(&Station::Mac(STATION)), None);
        document.checks.into_iter().find(|check| check.kind == "pm-flapping").unwrap().lacks
    };
    let first = (0, null(true));
    assert!(lacks(std::slice::from_ref(&first)).unwrap().starts_with("one frame of 02:00:00:00:00:02 alone"));
    let leaves = (50, frame(FrameKind::Deauthentication, true, |_| ()));
    let apart = [first.clone(), leaves, (100, null(true))];
    assert!(lacks(&apart).unwrap().starts_with("no two frames"));
    assert_eq!(lacks(&[first, (100, null(true))]), None);
}

/// After its deauthentication a station is not in power save any more.
#[test]
fn a_station_that_left_is_not_asleep() {
    let leave = || frame(FrameKind::Deauthentication, true, |_| ());
    let late = |frames: &[(u64, Vec<u8>)]| has(frames, FindingKind::SentToSleeper);
    let asleep =
        [(0, null(false)), (10, poll()), (11, data(1, false)), (12, null(true)), (100, data(2, false))];
    assert_eq!(late(&asleep), 1);
    let mut left = asleep.to_vec();
    left.insert(4, (50, leave()));
    assert_eq!(late(&left), 0);
}

/// What an access point does wrong concerns each of its stations, and not those of another cell.
#[test]
fn findings_of_an_access_point_concern_its_stations() {
    let frames = [(0, null(true)), (100, dtim(0, 1, true)), (101, group(1, false)), (102, group(2, false))];
    let capture = ladder(&frames);
    let of = |station: MacAddress| {
        let document = report::describe(&capture, Some(&Station::Mac(station)), None);
        document.findings.iter().map(|finding| finding.kind).collect::<Vec<_>>()
    };
    assert_eq!(of(STATION), ["more-data-missing"]);
    assert!(of(MacAddress([2, 0, 0, 0, 0, 9])).is_empty());
}

#[test]
fn a_cost_is_what_the_radio_spent_above_sleeping() {
    // 390 mW of listening, 20 mW of sleep and 2 W of sending: 0.37 W for 100 ms and 1.61 W for 1 ms of them.
    let radio = airwatt_energy::Radio::find("broadcom-4311").unwrap();
    let awake = Excess { awake: Span::from_millis(100), sent: Span::from_millis(1), ..Excess::default() };
    assert!((awake.energy_j(&radio) - 0.038_61).abs() < 1e-9, "{}", awake.energy_j(&radio));
    // A frame that is late costs a radio nothing that sleeps meanwhile.
    let late = Excess { delay: Span::from_secs(1), ..Excess::default() };
    assert_eq!(late.energy_j(&radio), 0.0);
}

/// The access point conceals a frame: the station sleeps on, and pays with delay alone. A radio that is not named has a band.
#[test]
fn a_finding_has_its_cost_under_the_policy_on_the_air() {
    let later =
        [(202, beacon(&[])), (305, beacon(&[7])), (306, poll()), (307, data(3, false)), (308, null(true))];
    let capture = ladder(&[&buffered()[..], &later].concat());
    let analyzed = |radio| {
        let question = Question { radio, ..Question::default() };
        let document = analyze_capture(&capture, &question, &mut |_| ControlFlow::Continue(())).unwrap();
        document.findings.into_iter().find(|finding| finding.kind == "tim-never-set").unwrap()
    };
    let named = analyzed(Some("broadcom-4311"));
    assert_eq!((named.cost_j, named.awake_s), (Some(0.0), Some(0.0)));
    assert!((named.delay_s.unwrap() - 0.103).abs() < 1e-9);
    assert_eq!((named.policy.as_deref(), named.cost_low_j), (Some("psm-legacy"), None));
    assert_eq!(analyzed(None).cost_high_j, Some(0.0));
    let of_beacon = named.occurrences.iter().find(|one| one.verdict == "violated").unwrap();
    // The Null frames before and after have the numbers that prove the sleep.
    assert!([4, 14].iter().all(|null| of_beacon.packets.contains(null)), "{:?}", of_beacon.packets);
    let (from, until) = of_beacon.buffered_s.unwrap();
    assert!((from - 0.102).abs() < 1e-9 && (until - 0.307).abs() < 1e-9, "{from} to {until}");
}

/// A clock that jumps by less than is seen in the times of packets: the beacons' own clock says that none is missing.
#[test]
fn a_jump_of_the_capture_s_clock_is_no_missing_beacon() {
    for jump_us in [60_000, 99_000] {
        let mut file = File::new(127);
        for number in 0..40 {
            let timestamp_us = number * BEACON_US;
            let tim = TimFields { dtim_count: 0, dtim_period: 1, group: false, aids: &[] };
            let at_us = timestamp_us + if number < 20 { 0 } else { jump_us };
            file = file.packet(at_us, &beacon_of(timestamp_us, tim, None));
        }
        assert_eq!(kinds(&file.read()), [], "{jump_us}");
    }
}

/// Two transmissions without an acknowledgement to a station that says before and after that it sleeps. Null frames are numbered, so that
/// one which the monitor missed leaves a gap. QoS Nulls are not: the station may have been awake in between.
#[test]
fn qos_nulls_prove_no_sleep() {
    let verdict_with = |kind: FrameKind, tid: Option<u8>| {
        let sleeps = frame(kind, true, |header| {
            header.control.power_management = true;
            header.sequence_control = Some(7 << 4);
            header.qos = tid.map(QosControl::new);
        });
        let ack = ack(STATION);
        let again = frame(FrameKind::Data, false, |header| {
            header.control.retry = true;
            header.sequence_control = Some(2 << 4);
        });
        let beacons = [100, 202, 304, 406, 508, 610].map(|at| (at, beacon(&[])));
        let mut frames = vec![
            (0, poll()),
            (1, data(1, false)),
            (10, sleeps.clone()),
            (10, ack.clone()),
            (350, data(2, false)),
            (351, again),
            (552, sleeps),
            (552, ack),
        ];
        frames.extend(beacons);
        frames.sort_by_key(|(at, _)| *at);
        verdict(&ladder(&frames))
    };
    assert_eq!(verdict_with(FrameKind::Null, None), Verdict::Violated);
    assert_eq!(verdict_with(FrameKind::QosNull, Some(0)), Verdict::Undecidable);
}

/// A frame 80 ms after its request is late, unless the beacons around it say that the clock of the capture jumped by 60 ms of them.
#[test]
fn a_jump_of_the_capture_s_clock_is_no_late_delivery() {
    let verdict_after = |jump_ms: u64| {
        let tim = TimFields { dtim_count: 0, dtim_period: 1, group: false, aids: &[1] };
        let beacon = |at_ms: u64| beacon_of(1_000 * at_ms, tim, None);
        let (heard, other) = (ack(STATION), ack(MacAddress([2, 0, 0, 0, 0, 9])));
        let answered = 121 + 80 - jump_ms;
        let frames = [
            (0, poll()),
            (1, data(1, false)),
            (1, ack(AP)),
            (2, null(true)),
            (102, beacon(102)),
            (120, poll()),
            (120, heard),
            // Frames in between say that the monitor did not stall.
            (140, other.clone()),
            (160, other.clone()),
            (180, other.clone()),
            (answered + jump_ms, data(2, false)),
            (205 + jump_ms, beacon(205)),
            (307 + jump_ms, beacon(307)),
        ];
        let found = findings(&ladder(&frames));
        let late =
            found.iter().find(|one| one.kind == FindingKind::LateDelivery).expect("it is late by the clock");
        late.occurrences.last().unwrap().verdict
    };
    assert_eq!(verdict_after(0), Verdict::Violated);
    assert_eq!(verdict_after(60), Verdict::Undecidable);
}

/// A frame 80 ms after its request is late if the monitor cannot have stalled: by the clock of its radio, or by frames in between.
#[test]
fn a_monitor_that_stalls_makes_no_late_delivery() {
    let at = |received_ms: Option<u64>, kind, up| {
        let tsft_us = received_ms.map(|ms| 5_000_000 + 1_000 * ms);
        let radiotap = Radiotap { rate_500kbps: Some(48), tsft_us, ..Radiotap::default() };
        frame_with(&radiotap, kind, up, |header: &mut MacHeader| match kind {
            FrameKind::PsPoll => header.duration_id = 0xc001,
            _ => header.sequence_control = Some(2 << 4),
        })
    };
    // By the capture the request is at 120 ms and the frame at 200 ms. `received` is what the radio's clock says of the frame, and
    // `between` are other frames meanwhile.
    let occurrence_with = |received: Option<[u64; 2]>, between: &[u64]| {
        let tim = TimFields { dtim_count: 0, dtim_period: 1, group: false, aids: &[1] };
        let beacon = |at_ms: u64| beacon_of(1_000 * at_ms, tim, None);
        let mut frames = vec![
            (0, poll()),
            (1, data(1, false)),
            (1, ack(AP)),
            (2, null(true)),
            (102, beacon(102)),
            (120, at(received.map(|of| of[0]), FrameKind::PsPoll, true)),
            (120, ack(STATION)),
        ];
        let other = ack(MacAddress([2, 0, 0, 0, 0, 99]));
        frames.extend(between.iter().map(|ms| (*ms, other.clone())));
        frames.push((200, at(received.map(|of| of[1]), FrameKind::Data, false)));
        frames.extend([(205, beacon(205)), (307, beacon(307))]);
        let found = findings(&ladder(&frames));
        let late =
            found.iter().find(|one| one.kind == FindingKind::LateDelivery).expect("it is late by the clock");
        let last = late.occurrences.last().unwrap();
        (last.verdict, last.detail.clone().unwrap())
    };
    let (verdict, _) = occurrence_with(Some([120, 200]), &[]);
    assert_eq!(verdict, Verdict::Violated);
    // The frame was received 3 ms after the request, and written 80 ms after it.
    let (verdict, detail) = occurrence_with(Some([120, 123]), &[]);
    assert_eq!(verdict, Verdict::Undecidable);
    assert!(
        detail.ends_with("by the clock of the monitor's radio (TSFT) it came 0.003 s after it"),
        "{detail}"
    );
    // Two radios have two clocks, which may be in any order.
    assert_eq!(occurrence_with(Some([120, 20]), &[]).0, Verdict::Undecidable);
    // Without that clock a silence may be the monitor's: 80 ms less one of 40 ms are not more than 50 ms, and less one of 20 ms are.
    let (verdict, detail) = occurrence_with(None, &[]);
    assert_eq!(verdict, Verdict::Undecidable);
    assert!(detail.contains("may have stalled in the 0.080 s"), "{detail}");
    assert_eq!(occurrence_with(None, &[160]).0, Verdict::Undecidable);
    assert_eq!(occurrence_with(None, &[140, 160, 180]).0, Verdict::Violated);
}

/// A late frame that is undecidable says what leaves it open.
#[test]
fn a_late_frame_says_what_else_explains_it() {
    let detail_with = |acked: bool, number: u16, aids: &[u16]| {
        let tim = TimFields { dtim_count: 0, dtim_period: 1, group: false, aids: &[1] };
        let after = TimFields { aids, ..tim };
        let heard = ack(STATION);
        let mut frames = vec![
            (0, poll()),
            (1, heard.clone()),
            (1, data(1, false)),
            (1, ack(AP)),
            (2, null(true)),
            (102, beacon_of(102_000, tim, None)),
            (120, poll()),
        ];
        frames.extend(acked.then_some((120, heard)));
        frames.push((204, beacon_of(204_000, after, None)));
        frames.push((270, data(number, false)));
        frames.push((306, beacon_of(306_000, tim, None)));
        let found = findings(&ladder(&frames));
        let late = found.iter().find(|one| one.kind == FindingKind::LateDelivery).unwrap();
        late.occurrences.last().unwrap().detail.clone().unwrap()
    };
    let ends = |detail: String, with: &str| assert!(detail.ends_with(with), "{detail}");
    ends(detail_with(false, 2, &[1]), "no acknowledgement of the request was captured");
    ends(
        detail_with(true, 3, &[1]),
        "no sequence number shows that the monitor did not miss the frame that answered",
    );
    ends(detail_with(true, 2, &[]), "so that it may be another frame");
    ends(
        detail_with(true, 2, &[1]),
        "(provided that nothing held the channel that the monitor did not receive)",
    );
}

/// A rule of the cell looks at its stations when the segment has ended: what they sent still counts then.
#[test]
fn qos_nulls_prove_no_sleep_to_rules_of_the_cell() {
    let verdict_with = |kind: FrameKind| {
        let sleeps = frame(kind, true, |header| {
            header.control.power_management = true;
            header.sequence_control = Some(7 << 4);
            header.qos = (kind == FrameKind::QosNull).then(|| QosControl::new(0));
        });
        let group = [(100, dtim(0, 1, true)), (101, group(1, false)), (102, group(2, false))];
        let frames = [&[(0, sleeps.clone())], &group[..], &[(300, sleeps)]].concat();
        verdict(&ladder(&frames))
    };
    assert_eq!(verdict_with(FrameKind::Null), Verdict::Violated);
    assert_eq!(verdict_with(FrameKind::QosNull), Verdict::Undecidable);
}

/// A frame that More Data announced, and beacons without its bit: the occurrence says what else explains them.
#[test]
fn a_frame_that_no_beacon_announced_says_what_else_explains_it() {
    let detail_with = |tx: bool, retry: bool, number: u16| {
        let radiotap = Radiotap {
            rate_500kbps: Some(48),
            tx_flags: tx.then_some(airwatt_dot11::TxFlags(0)),
            ..Radiotap::default()
        };
        let second = frame_with(&radiotap, FrameKind::Data, false, |header: &mut MacHeader| {
            header.control.retry = retry;
            header.sequence_control = Some(number << 4);
        });
        let begin = [(0, null(true)), (0, ack(STATION)), (1, poll()), (2, data(1, true)), (2, ack(AP))];
        let frames =
            [&begin[..], &[(102, beacon(&[])), (204, beacon(&[])), (210, poll()), (211, second)]].concat();
        let found = findings(&ladder(&frames));
        let open = found.iter().find(|one| one.kind == FindingKind::TimNeverSet).unwrap();
        open.occurrences.last().unwrap().detail.clone().unwrap()
    };
    let ends = |detail: String, with: &str| assert!(detail.ends_with(with), "{detail}");
    ends(detail_with(true, false, 2), "whose times are not those on the air");
    ends(detail_with(false, true, 2), "its first transmission was not captured");
    ends(detail_with(false, false, 3), "of the access point's numbers, 2 is missing between packets 4 and 9");
}

/// The TWT element of a request or an answer: an announced agreement of flow 2, 64 units of 256 us each second.
pub(super) fn twt_setup(command: TwtCommand, request: bool) -> TwtSetup {
    TwtSetup {
        dialog_token: 1,
        request,
        command,
        trigger: false,
        implicit: true,
        unannounced: false,
        flow: 2,
        protection: false,
        information_disabled: false,
        target_us: Some(0),
        duration: WakeDuration::Short(64),
        interval: WakeInterval::at_most(Span::from_secs(1)),
        channel: 0,
    }
}

/// While a station has an agreement on other times at which it is awake, it is not late for its frames, and says which agreement.
#[test]
fn agreements_on_sleep_excuse_who_follows_them() {
    let action = |up: bool, number: u16, body: &[u8]| {
        let mut bytes = frame(FrameKind::Action, up, |header| header.sequence_control = Some(number << 4));
        bytes.extend_from_slice(body);
        bytes
    };
    let twt = |action: TwtAction| {
        let mut body = Vec::new();
        action.encode(&mut body);
        body
    };
    let wnm = |kind: u8, status: u8| vec![10, 17, 1, 0, 0, 93, 4, kind, status, 0, 0];
    let beacon_numbered = |number: u16, aids: &[u16]| {
        let tim = TimFields { dtim_count: 0, dtim_period: 1, group: false, aids };
        let mut bytes = beacon_of(BEACON_US * u64::from(number), tim, None);
        // Behind radiotap, whose length is in its third octet, and the addresses.
        let at = usize::from(bytes[2]) + 22;
        bytes[at..at + 2].copy_from_slice(&(number << 4).to_le_bytes());
        bytes
    };
    // The access point's frames have the numbers 0 to 12; the station is to ask at each beacon and asks after the eighth.
    let occurrence_after = |bodies: &[Vec<u8>], supports: bool, secret: bool| {
        let he = |bits: u8| [255, 7, 35, if supports { bits } else { 0 }, 0, 0, 0, 0, 0];
        let mut request = frame(FrameKind::AssociationRequest, true, |_| ());
        request.extend_from_slice(&[0x31, 4, 1, 0]);
        request.extend_from_slice(&he(2));
        let mut response = frame(FrameKind::AssociationResponse, false, |header| {
            header.sequence_control = Some(0);
        });
        AssociationResponse { capability: Capability(1), status: 0, aid: 1 }.encode(&mut response);
        let mut frames = vec![(0, request), (0, response), (1, poll()), (2, data(1, false))];
        frames.extend(bodies.iter().zip(3..).map(|(body, at)| (at, action(false, at as u16 - 1, body))));
        frames.push((20, null(true)));
        if secret {
            let protected = frame(FrameKind::Action, true, |header| {
                header.control.protected = true;
                header.control.power_management = true;
            });
            frames.push((21, protected));
        }
        frames.extend((0..8).map(|count| {
            let mut beacon = beacon_numbered(count as u16 + 4, &[1]);
            beacon.extend_from_slice(&he(4));
            (102 * (count + 1), beacon)
        }));
        frames.extend([(820, poll()), (821, data(12, false))]);
        let found = findings(&ladder(&frames));
        let late = found.into_iter().find(|one| one.kind == FindingKind::LateFetch).unwrap();
        let last = late.occurrences.last().unwrap();
        (last.verdict, last.detail.clone().unwrap())
    };
    let nothing = vec![3, 0];
    let [accept, reject] = [TwtCommand::Accept, TwtCommand::Reject]
        .map(|command| twt(TwtAction::Setup(twt_setup(command, false))));
    let ended = |flow| twt(TwtAction::Teardown { flow });
    let plain = |bodies: [&Vec<u8>; 2]| occurrence_after(&bodies.map(Vec::clone), false, false);
    let (verdict, detail) = plain([&nothing, &nothing]);
    assert_eq!(verdict, Verdict::Violated, "{detail}");
    for (bodies, why) in [
        ([&nothing, &accept], Some("target wake time")),
        ([&nothing, &reject], None),
        ([&accept, &ended(Some(2))], None),
        ([&accept, &ended(Some(3))], Some("target wake time")),
        ([&accept, &ended(None)], None),
        ([&nothing, &wnm(0, 0)], Some("WNM sleep")),
        ([&nothing, &wnm(0, 2)], None),
        ([&wnm(0, 0), &wnm(1, 1)], None),
    ] {
        let (verdict, detail) = plain(bodies);
        assert_eq!(verdict == Verdict::Undecidable, why.is_some(), "{detail}");
        assert!(detail.contains(why.unwrap_or("requested")), "{detail}");
    }
    let information = |flow, resumes: bool| {
        let next = resumes.then_some((5_000_000, NextTwtBytes::Eight));
        twt(TwtAction::Information { flow, response_requested: false, next_requested: false, next })
    };
    // They are listed with the packets that made them; a flow that is accepted again replaces its agreement, and so ends it.
    let acts = |at: u64, number: u16, body: &[u8]| (at, action(false, number, body));
    let frames = [
        (0, poll()),
        acts(10, 1, &accept),
        acts(20, 2, &wnm(0, 0)),
        acts(30, 3, &reject),
        acts(40, 4, &accept),
        acts(50, 5, &wnm(1, 0)),
        acts(60, 6, &information(None, false)),
        acts(70, 7, &information(Some(3), false)),
        acts(80, 8, &information(Some(2), true)),
        acts(90, 9, &information(Some(2), false)),
        (95, null(true)),
    ];
    let seen = power_save::observe(&ladder(&frames));
    let listed = |held: &HeldAgreement| (held.from.1, held.until.map(|until| until.as_nanos() / 1_000_000));
    let held: Vec<_> = seen.agreements[&STATION].iter().map(listed).collect();
    assert_eq!(held, [(2, Some(40)), (3, Some(50)), (5, None)]);
    // Two of the four information frames do not count: the second is about another flow, and the third names the next period.
    let suspensions: Vec<_> = seen.agreements[&STATION].iter().map(|held| held.suspensions).collect();
    assert_eq!(suspensions, [0, 0, 2]);
    let SleepAgreement::TargetWakeTime(terms) = seen.agreements[&STATION][0].agreement else {
        panic!("{seen:?}")
    };
    assert_eq!(
        (terms.flow, terms.interval.span()),
        (2, twt_setup(TwtCommand::Accept, false).interval.span())
    );
    // Both support target wake time: the numbers say that no set-up was missed, unless an action frame was encrypted.
    let none = [nothing.clone(), nothing];
    for (supports, secret, expected) in [
        (true, false, Verdict::Violated),
        (true, true, Verdict::Undecidable),
        (false, true, Verdict::Violated),
    ] {
        let (verdict, detail) = occurrence_after(&none, supports, secret);
        assert_eq!(verdict, expected, "{detail}");
        assert_eq!(detail.contains("both sides support"), supports && secret, "{detail}");
    }
}

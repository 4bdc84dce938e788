//! What is charged for, and up to when it is known, by hand.

use airwatt_base::Rate;
use airwatt_dot11::Standard;
use airwatt_energy::Radio;

use super::outputs::go_on;
use super::*;

/// A station whose last frame was long ago may have left.
#[test]
fn a_mode_is_known_up_to_the_station_s_last_frame() {
    let group = frame(FrameKind::Data, false, |header| header.address1 = MacAddress::BROADCAST);
    let capture = ladder(&[(0, null(true)), (40, null(true)), (50, group.clone()), (90_000, group)]);
    let seen = power_save::observe(&capture);
    let [record] = seen.stations[..] else { panic!("{:?}", seen.stations) };
    assert_eq!((record.mode_known, record.in_power_save), (Span::from_millis(40), Span::from_millis(40)));
    let spans: Vec<_> = seen.modes[&STATION].iter().map(|span| (span.until, span.is_known)).collect();
    assert_eq!(spans.first(), Some(&(Instant::from_nanos(40_000_000), true)));
    assert!(spans[1..].iter().all(|(_, is_known)| !is_known), "{spans:?}");
    // So no frame of the group is known to have cost it anything, and it may have slept for the rest of the time.
    let station = Station::Mac(STATION);
    let radio = Radio::find("cc3130").unwrap();
    let phy = (Standard::N24, Rate::from_bps(1_000_000));
    assert_eq!(crate::group::report(&capture, &seen, &station, &radio, phy), None);
}

/// One beacon conceals the frame, the next announces it, and the station asks late: the wait until that beacon is the access
/// point's, and the rest the station's.
#[test]
fn each_wait_is_charged_once() {
    let rest = (2..15).map(|interval| (3 + interval * 102, beacon(&[1])));
    let mut request = frame(FrameKind::AssociationRequest, true, |_| ());
    // Capabilities, and a listen interval of two beacons.
    request.extend_from_slice(&[1, 0, 2, 0]);
    let mut frames = vec![
        (0, request),
        (0, null(true)),
        (0, ack(STATION)),
        (1, poll()),
        (2, data(1, true)),
        (2, ack(AP)),
        (105, beacon(&[])),
    ];
    frames.extend(rest);
    frames.extend([(1_500, poll()), (1_502, data(2, false)), (1_510, null(true))]);
    let found = findings(&ladder(&frames));
    let delay = |kind| {
        found.iter().find(|one| one.kind == kind).map(|one| (one.count(Verdict::Violated), excess(one).delay))
    };
    assert_eq!(delay(FindingKind::TimNeverSet), Some((1, Span::from_millis(102))));
    // It may sleep through one of the beacons that announce it.
    assert_eq!(delay(FindingKind::LateFetch), Some((1, Span::from_millis(1_500 - (207 + 204)))));
}

/// A beacon of `length` bytes with its FCS: elements of vendors fill it up.
fn long_beacon(at_us: u64, length: usize) -> Vec<u8> {
    let tim = TimFields { dtim_count: 0, dtim_period: 1, group: false, aids: &[] };
    let mut bytes = beacon_of(at_us, tim, None);
    // Radiotap says how long it is itself, and is no part of the frame.
    let before = usize::from(u16::from_le_bytes([bytes[2], bytes[3]]));
    while bytes.len() - before + 4 < length {
        let body = (length - 4 - (bytes.len() - before) - 2).min(255);
        bytes.extend([221, body as u8]);
        bytes.extend(std::iter::repeat_n(0, body));
    }
    bytes
}

/// Ten seconds of a sleeping station with beacons of this length, replayed with a setting or none: their length in the replay, and what the
/// replay spends under `psm-legacy` in seconds of receiving and in joules.
fn behind_beacons(length: usize, set: Option<(&str, &str)>) -> (u32, f64, f64) {
    let mut file = File::new(127).packet(0, &null(true));
    for at_us in (0..100).map(|number| number * 102_400) {
        file = file.packet(1_000 + at_us, &long_beacon(at_us, length));
    }
    let capture = file.packet(10_240_000, &data(1, false)).packet(10_241_000, &null(true)).read();
    let policies = ["psm-legacy".to_owned()];
    let station = STATION.to_string();
    let settings = [("wifi.standard", "802.11n-2.4GHz"), ("wifi.beacon_rate", "1Mbps")];
    let settings: Vec<_> =
        settings.into_iter().chain(set).map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
    let question =
        Question { station: Some(&station), policies: &policies, settings: &settings, ..Question::default() };
    let analysis = analyze_capture(&capture, &question, &mut go_on).unwrap();
    let spent = &analysis.policies[0];
    (analysis.cell.unwrap().beacon_bytes, spent.state_s.receive, spent.energy_j)
}

/// A beacon of 379 bytes has 315 more than one of 64, which take 2.52 ms at 1 Mbit/s; the radio receives for that time instead of
/// sleeping, at each of the 102 beacons of the capture and its tail.
#[test]
fn a_replay_has_beacons_of_the_captured_length() {
    let (short, long) = (behind_beacons(64, None), behind_beacons(379, None));
    assert_eq!((short.0, long.0), (64, 379));
    assert_eq!(behind_beacons(64, Some(("ap.beacon_length", "379B"))), long);
    let beacons = (long.1 - short.1) / 2.52e-3;
    assert!((101.0..=103.0).contains(&beacons), "{beacons}: {short:?} {long:?}");
    let radio = Radio::find(crate::DEFAULT_RADIO).unwrap();
    let above_w = radio.receive.as_watts() - radio.sleep.as_watts();
    let (spent_j, by_hand_j) = (long.2 - short.2, 102.0 * 2.52e-3 * above_w);
    assert!((spent_j / by_hand_j - 1.0).abs() < 0.02, "{spent_j} J, by hand {by_hand_j} J");
}

/// A station that flaps behind an access point that skips a DTIM beacon, and no station chosen: both cost what the radio spends that
/// the capture names, and the radio that is assumed otherwise has a band.
#[test]
fn findings_cost_what_the_radios_spend_that_the_capture_names() {
    let count =
        |count| beacon_of(0, TimFields { dtim_count: count, dtim_period: 2, group: false, aids: &[] }, None);
    let mut frames: Vec<_> = (0..9).map(|step| (step * 20, null(step % 2 == 0))).collect();
    frames.extend([(200, count(1)), (302, count(1)), (310, null(true))]);
    let mut capture = ladder(&frames);
    let assumed = Radio::find("broadcom-4311").unwrap();
    let costs = |capture: &Capture| {
        let document =
            report::describe_with((capture, &power_save::observe(capture)), None, Some(&assumed), true);
        ["pm-flapping", "dtim-skipped"].map(|kind| {
            let found = document.findings.iter().find(|found| found.kind == kind).unwrap();
            (found.radio.clone().unwrap(), found.cost_j.unwrap(), found.cost_high_j)
        })
    };
    for (radio, cost_j, high_j) in costs(&capture) {
        assert_eq!(radio, "broadcom-4311");
        assert!(high_j.unwrap() >= cost_j && cost_j > 0.0, "{cost_j} {high_j:?}");
    }
    capture.radios.insert(STATION, "esp32-c3".to_owned());
    let named = Radio::find("esp32-c3").unwrap();
    let spent = [FindingKind::PmFlapping, FindingKind::DtimSkipped].map(|kind| {
        excess(findings(&capture).iter().find(|found| found.kind == kind).unwrap()).energy_j(&named)
    });
    for ((radio, cost_j, high_j), spent_j) in costs(&capture).into_iter().zip(spent) {
        assert_eq!((radio.as_str(), cost_j, high_j), ("esp32-c3", spent_j, None));
    }
    // A beacon without need is received, and costs what the radio spends above its sleep and to wake up.
    let skipped =
        excess(findings(&capture).iter().find(|found| found.kind == FindingKind::DtimSkipped).unwrap());
    let transitions_j = (named.wake_up.energy() + named.to_sleep.energy()).as_joules();
    let above_w = named.receive.as_watts() - named.sleep.as_watts();
    let by_hand_j = above_w * skipped.awake.as_secs_f64() + transitions_j;
    assert!(!skipped.awake.is_zero() && (spent[1] / by_hand_j - 1.0).abs() < 1e-9, "{spent:?} {by_hand_j}");
    // What no profile ships for is not known.
    capture.radios.insert(STATION, "my.toml".to_owned());
    assert!(costs(&capture).iter().all(|(radio, ..)| radio == "broadcom-4311"));
}

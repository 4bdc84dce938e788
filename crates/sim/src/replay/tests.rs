use airwatt_base::Instant;
use airwatt_energy::RadioState;

use super::*;
use crate::scenario::Scenario;

/// The cell of `fast-dsl` with these settings, without the wire and the flow of that scenario.
fn cell(set: &[(String, String)]) -> Checked {
    let scenario = Scenario::load("fast-dsl", set).unwrap();
    let duration = Some(Span::from_secs(1));
    Checked::new(Scenario { wired: None, flow: Vec::new(), duration, ..Scenario::clone(&scenario) }).unwrap()
}

fn run(policy: &str, arrivals: &[Arrival]) -> Replayed {
    let set = [("policy".to_owned(), policy.to_owned())];
    let scenario = cell(&set);
    let cell = ReplayCell::new(&scenario).unwrap();
    let mut watch = |_: RunProgress| ControlFlow::Continue(());
    replay(&cell, 1, arrivals.to_vec(), Span::from_secs(3), ReplayOptions::default(), &mut watch).unwrap()
}

/// A packet of flow 0 down or up, without bytes.
fn arrival(at: Instant, down: bool) -> Arrival {
    let to = if down { Destination::Station } else { Destination::AccessPoint };
    Arrival { at, to, bytes: 0, after: None, flow: 0 }
}

#[test]
fn another_scenario_than_one_idle_station_is_refused() {
    let two = cell(&[("station.count".to_owned(), "2".to_owned())]);
    for scenario in [two, Scenario::load("fast-dsl", &[]).unwrap()] {
        let error = ReplayCell::new(&scenario).err().unwrap();
        assert_eq!(error, "fast-dsl: expected one station and no flows, for the packets of a capture");
    }
}

#[test]
fn a_sleeping_station_gets_its_packets_later_and_cheaper() {
    let arrivals: Vec<Arrival> = (0..20)
        .map(|step| Arrival { bytes: 500, ..arrival(Instant::from_millis(100 + 97 * step), step % 4 != 0) })
        .collect();
    let awake = run("active", &arrivals);
    let asleep = run("psm", &arrivals);
    for replayed in [&awake, &asleep] {
        assert_eq!((replayed.delays.len(), replayed.lost), (20, 0));
        assert_eq!(replayed.ledger.elapsed(), Span::from_secs(3));
    }
    let mean = |replayed: &Replayed| replayed.delays.iter().map(|delay| delay.delay).sum::<Span>() / 20;
    assert!(mean(&awake) < Span::from_millis(1), "{}", mean(&awake));
    assert!(mean(&asleep) > Span::from_millis(20), "{}", mean(&asleep));
    assert!(asleep.ledger.energy(&asleep.radio) < awake.ledger.energy(&awake.radio));
    assert!(asleep.wakeups.values().sum::<u64>() > 20);
    assert!(awake.wakeups.is_empty());
}

#[test]
fn nothing_is_acknowledged_before_it_is_received() {
    let at = Instant::from_millis(150);
    let data = Arrival { bytes: 1_500, ..arrival(at, true) };
    let ack = Arrival { bytes: 52, after: Some(0), ..arrival(at + Span::from_micros(100), false) };
    let delays = run("psm", &[data, ack]).delays;
    assert_eq!(delays.iter().map(|delay| delay.number).collect::<Vec<_>>(), [0, 1]);
    assert!(
        delays[0].delay > Span::from_millis(5) && delays[1].delay + Span::from_millis(1) > delays[0].delay
    );
}

/// Exchanges of some packets with gaps of these lengths before, between and after them, and the duration of it all.
fn exchanges(gaps_s: &[u64]) -> (Vec<Arrival>, Span) {
    let mut arrivals = Vec::new();
    let mut at = Instant::ZERO;
    for (number, gap) in gaps_s.iter().enumerate() {
        // Beacons are every 102.4 ms: the exchanges meet them at different times.
        at = at + Span::from_secs(*gap) + Span::from_micros(31_700 * number as u64);
        for packet in 0..6 {
            let bytes = if packet % 2 == 0 { 1_200 } else { 90 };
            arrivals.push(Arrival { bytes, ..arrival(at, packet % 3 != 1) });
            at += Span::from_millis(7);
        }
    }
    (arrivals, (at - Instant::ZERO) + Span::from_secs(700))
}

/// A replay with everything simulated, and one that skips long gaps.
fn replay_both(settings: &[(&str, &str)], arrivals: &[Arrival], duration: Span) -> [Replayed; 2] {
    replay_both_with(settings, arrivals, duration, ReplayOptions::default())
}

fn replay_both_with(
    settings: &[(&str, &str)],
    arrivals: &[Arrival],
    duration: Span,
    options: ReplayOptions,
) -> [Replayed; 2] {
    let settings: Vec<_> =
        settings.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let scenario = cell(&settings);
    let cell = ReplayCell::new(&scenario).unwrap();
    let mut watch = |_: RunProgress| ControlFlow::Continue(());
    [None, Some(Span::from_secs(1))].map(|skip_gaps| {
        let options = ReplayOptions { skip_gaps, ..options };
        replay(&cell, 1, arrivals.to_vec(), duration, options, &mut watch).unwrap()
    })
}

fn energy_j(replayed: &Replayed) -> f64 {
    replayed.ledger.energy(&replayed.radio).as_joules()
}

#[test]
fn skipped_idle_time_is_charged_as_simulated_idle_time_is() {
    let (arrivals, duration) = exchanges(&[600, 1_200, 3_600, 900]);
    for info in airwatt_proto::powersave::PowerSaveConfig::KINDS {
        for rate in ["6.5Mbps", "65Mbps"] {
            let settings = [("policy", info.name), ("wifi.data_rate", rate)];
            let options = ReplayOptions { trace: true, ..ReplayOptions::default() };
            let [simulated, skipped] = replay_both_with(&settings, &arrivals, duration, options);
            let name = format!("{} at {rate}", info.name);
            assert_eq!(simulated.skipped, Span::ZERO);
            assert!(skipped.skipped > Span::from_secs(6_800), "{name}: {}", skipped.skipped);
            assert!(skipped.events * 8 < simulated.events, "{name}: {} events", skipped.events);
            assert_eq!(skipped.ledger.elapsed(), simulated.ledger.elapsed(), "{name}");
            assert_eq!((skipped.delays.len(), skipped.lost), (24, 0), "{name}");
            assert_close(&skipped, &simulated, &name);
            for replayed in [&skipped, &simulated] {
                assert_states_cover(replayed);
            }
            if info.name != "uapsd" {
                assert_delays_differ_by_backoff(&skipped, &simulated, &name);
            }
        }
    }
}

/// The traced states have no gap, cover the ledger's time, and agree with it where everything was simulated.
fn assert_states_cover(replayed: &Replayed) {
    let periods = &replayed.radio_states;
    let mut until = Instant::ZERO;
    for period in periods {
        assert_eq!(period.start, until);
        until += period.duration;
    }
    assert_eq!(until, Instant::ZERO + replayed.ledger.elapsed());
    let of = |wanted: &dyn Fn(&RadioPeriod) -> bool| -> Span {
        periods.iter().filter(|period| wanted(period)).map(|period| period.duration).sum()
    };
    assert_eq!(of(&|period| !period.is_simulated), replayed.skipped);
    if replayed.skipped.is_zero() {
        for state in RadioState::ALL {
            assert_eq!(of(&|period| period.state == state), replayed.ledger.duration(state), "{state:?}");
        }
    }
}

/// Energy is the same within 0.1 %. The number of wake-ups is within 1 %: what `ba-ta` makes of the packets depends on
/// backoff, in the seconds in which it adapts.
fn assert_close(skipped: &Replayed, simulated: &Replayed, name: &str) {
    let error = energy_j(skipped) / energy_j(simulated) - 1.0;
    assert!(error.abs() < 1e-3, "{name}: {error} of the energy");
    let wakeups = |replayed: &Replayed| replayed.wakeups.values().sum::<u64>() as f64;
    let error = (wakeups(skipped) - wakeups(simulated)) / wakeups(simulated).max(1.0);
    assert!(error.abs() < 1e-2, "{name}: {error} of the wake-ups");
}

/// Each packet meets the same beacon: its delay differs by the backoff of a few frames, not by a beacon interval.
fn assert_delays_differ_by_backoff(skipped: &Replayed, simulated: &Replayed, name: &str) {
    let by_number = |replayed: &Replayed| {
        let mut delays = replayed.delays.clone();
        delays.sort_by_key(|delay| delay.number);
        delays
    };
    for (one, other) in by_number(skipped).iter().zip(&by_number(simulated)) {
        let difference = one.delay.max(other.delay) - one.delay.min(other.delay);
        assert!(difference < Span::from_millis(2), "{name}: {one:?} and {other:?}");
    }
}

#[test]
fn skipped_time_keeps_listen_intervals_and_dtims() {
    let (arrivals, duration) = exchanges(&[61, 602, 1_203]);
    for receive_dtims in ["false", "true"] {
        let mut settings = vec![
            ("policy", "psm-legacy"),
            ("station.listen_interval", "7"),
            ("station.receive_dtims", receive_dtims),
        ];
        if receive_dtims == "true" {
            settings.push(("ap.dtim_period", "3"));
        }
        let [simulated, skipped] = replay_both(&settings, &arrivals, duration);
        assert_close(&skipped, &simulated, receive_dtims);
        assert_delays_differ_by_backoff(&skipped, &simulated, receive_dtims);
    }
}

#[test]
fn triggers_in_skipped_time_leave_energy_and_delays_as_they_are() {
    check_triggers_in_skipped_time(&["20ms", "33ms", "1s"]);
}

#[test]
#[ignore = "nine million triggers take half a minute"]
fn frequent_triggers_in_skipped_time_leave_energy_and_delays_as_they_are() {
    check_triggers_in_skipped_time(&["1ms"]);
}

fn check_triggers_in_skipped_time(intervals: &[&str]) {
    // 300 exchanges, 20 to 39 s apart, at trigger intervals that no beacon interval is a multiple of.
    let gaps: Vec<u64> = (0..300).map(|number| 20 + number % 20).collect();
    let (arrivals, duration) = exchanges(&gaps);
    for interval in intervals {
        let policy = format!("uapsd:interval={interval}");
        let settings = [("policy", policy.as_str())];
        let [simulated, skipped] = replay_both(&settings, &arrivals, duration);
        let error = energy_j(&skipped) / energy_j(&simulated) - 1.0;
        assert!(error.abs() < 1e-3, "{interval}: {error}");
        let sorted = |replayed: &Replayed| {
            let mut delays: Vec<f64> =
                replayed.delays.iter().map(|delay| delay.delay.as_secs_f64()).collect();
            delays.sort_by(f64::total_cmp);
            delays
        };
        let (before, after) = (sorted(&simulated), sorted(&skipped));
        assert_eq!(before.len(), after.len());
        // The two-sample test of Kolmogorov and Smirnov, for packets as if they were independent: 1.95 is passed by
        // one pair of equal distributions in a thousand. Packets of one exchange are dependent, which divides by six.
        let count = before.len() as f64;
        let mut distance: f64 = 0.0;
        for (index, delay) in before.iter().enumerate() {
            let below = after.partition_point(|other| other <= delay) as f64;
            distance = distance.max((below - (index + 1) as f64).abs() / count);
        }
        assert!(distance < 1.95 * (2.0 / (count / 6.0)).sqrt(), "{interval}: distance {distance}");
    }
}

#[test]
fn a_replay_without_long_gaps_is_the_same_with_and_without_skipping() {
    let (arrivals, _) = exchanges(&[0; 40]);
    let duration = Span::from_secs(3);
    for info in airwatt_proto::powersave::PowerSaveConfig::KINDS {
        let [simulated, skipped] = replay_both(&[("policy", info.name)], &arrivals, duration);
        assert_eq!(skipped.skipped, Span::ZERO);
        assert_eq!((skipped.events, &skipped.delays), (simulated.events, &simulated.delays), "{}", info.name);
        assert_eq!(skipped.ledger, simulated.ledger, "{}", info.name);
    }
}

/// `count` group-addressed packets of an ARP request's length, 97 ms apart.
fn group_packets(count: u64) -> Vec<Arrival> {
    let packet = |step| Arrival {
        to: Destination::Group,
        bytes: 46,
        ..arrival(Instant::from_millis(50 + 97 * step), true)
    };
    (0..count).map(packet).collect()
}

#[test]
fn group_addressed_packets_are_received_after_the_beacons_that_the_station_receives() {
    let duration = Span::from_secs(10);
    let packets = group_packets(90);
    let group_s = |settings: &[(&str, &str)]| {
        let [simulated, _] = replay_both(settings, &packets, duration);
        assert!(simulated.delays.is_empty() && simulated.lost == 0);
        simulated.causes.check(&simulated.ledger);
        simulated.causes.duration(airwatt_energy::Cause::Group, RadioState::Receive).as_secs_f64()
    };
    // Each frame of 46 + 32 + 4 bytes takes the same time on the air, so the ratio is that of the frames received.
    let all = group_s(&[("policy", "active")]);
    assert!(all > 90.0 * 30e-6, "{all} s");
    assert!((group_s(&[("policy", "psm")]) / all - 1.0).abs() < 0.03);
    let tenth = group_s(&[("policy", "psm"), ("station.listen_interval", "10")]);
    assert!((0.05..0.2).contains(&(tenth / all)), "{} of all frames", tenth / all);
    let dtim = group_s(&[
        ("policy", "psm"),
        ("station.listen_interval", "10"),
        ("station.receive_dtims", "true"),
        ("ap.dtim_period", "3"),
    ]);
    assert!((dtim / all - 1.0).abs() < 0.05, "{} of all frames", dtim / all);
}

#[test]
fn idle_time_between_group_addressed_packets_is_skipped() {
    let mut packets = group_packets(4);
    packets.iter_mut().zip([60, 700, 1_500, 1_501]).for_each(|(packet, s)| packet.at += Span::from_secs(s));
    for policy in ["psm", "timeout", "ba-ta"] {
        let [simulated, skipped] = replay_both(&[("policy", policy)], &packets, Span::from_secs(2_000));
        assert!(skipped.skipped > Span::from_secs(1_900), "{policy}: {}", skipped.skipped);
        assert_close(&skipped, &simulated, policy);
        let group =
            |replayed: &Replayed| replayed.causes.duration(airwatt_energy::Cause::Group, RadioState::Receive);
        assert_eq!(group(&skipped), group(&simulated), "{policy}");
    }
}

#[test]
fn frames_are_charged_to_the_flows_of_their_packets() {
    let packets: Vec<Arrival> = (0..30_u32)
        .map(|step| Arrival {
            bytes: 200,
            flow: [7, 5_000, 3][step as usize % 3],
            ..arrival(Instant::from_millis(100 + 31 * u64::from(step)), step % 2 == 0)
        })
        .collect();
    let replayed = run("psm", &packets);
    assert_eq!((replayed.delays.len(), replayed.lost), (30, 0));
    let energies = replayed.causes.energies(&replayed.radio);
    let flows: Vec<u32> = energies
        .iter()
        .filter_map(|(cause, _)| match cause {
            airwatt_energy::Cause::Flow(flow) => Some(*flow),
            _ => None,
        })
        .collect();
    assert_eq!(flows, [3, 7, 5_000]);
    let sum: airwatt_base::Energy = energies.iter().map(|(_, energy)| *energy).sum();
    assert_eq!(sum, replayed.ledger.energy(&replayed.radio));
}

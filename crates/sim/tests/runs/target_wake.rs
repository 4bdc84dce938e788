//! Target wake time against closed forms: what a period costs, and what it delays.

use std::path::Path;

use airwatt_sim::media::cell::frame::CellFrameKind;
use airwatt_sim::record::{RunResult, StationResult};
use airwatt_sim::scenario::Scenario;

use crate::support::{in_parallel, scenario, simulate, simulate_traced};

/// An idle station for 1,000 periods of ten beacon intervals. The first period begins half a beacon interval behind a beacon, so that
/// none meets one. The profile's guard time is 0.5 ms whatever the time slept.
fn idle(announced: bool, early_end: bool) -> RunResult {
    let set = [
        ("policy", "twt"),
        ("station.radio", "ar5004"),
        ("station.power_save.interval", "1024ms"),
        ("station.power_save.duration", "16.384ms"),
        ("station.power_save.announced", &announced.to_string()),
        ("station.power_save.early_end", &early_end.to_string()),
        ("duration", "1024s"),
    ];
    simulate(&scenario("idle", &set), 1).result
}

#[track_caller]
fn assert_within(value: f64, expected: f64, tolerance: f64) {
    assert!((value - expected).abs() <= tolerance, "{value}, expected {expected} within {tolerance}");
}

/// Nothing is sent in a period: the radio listens from its guard time before the period to its end. The beacon behind it has 143
/// bytes at 1 Mb/s behind a preamble of 192 us; what it waits for is less than 20 us.
#[test]
fn an_unannounced_period_without_frames_costs_its_duration_and_a_beacon() {
    let result = idle(false, true);
    let station = &result.stations[0];
    assert_eq!((station.service_periods, station.triggers, station.wakeups), (1_000, 0, 2_000));
    // The request for the agreement and its answer, of 48 bytes at 1 Mb/s, cost less than 2 mJ.
    assert_within(station.energy_by_cause_j.service, 0.8 * (0.5 + 16.384) + 1e-3, 1e-3);
    assert_within(station.energy_by_cause_j.wake_up, 2.0 * (1.4 + 0.8e-3), 1e-4);
    let beacon_j = 0.9 * (0.192 + 143.0 * 8e-3) + 0.8 * 0.5;
    assert_within(station.energy_by_cause_j.beacon, beacon_j, 0.8 * 0.02);
    let awake_s = 0.5 + 16.384 + 0.5 + 0.192 + 143.0 * 8e-3;
    assert_within(station.state_s.listen + station.state_s.receive, awake_s, 0.02);
}

/// A trigger of 30 bytes and its acknowledgement, a QoS Null and its own: the station is awake for some tenths of a millisecond
/// behind its guard time, or for the whole duration where it does not honour EOSP.
#[test]
fn an_announced_period_without_frames_ends_with_its_first_answer() {
    let [early, whole] = [true, false].map(|early_end| idle(true, early_end).stations.remove(0));
    for station in [&early, &whole] {
        assert_eq!((station.service_periods, station.triggers, station.wakeups), (1_000, 1_000, 1_000));
        assert!(station.energy_by_cause_j.beacon == 0.0);
    }
    let awake_s =
        |station: &StationResult| station.state_s.listen + station.state_s.receive + station.state_s.transmit;
    // In the first milliseconds the station announces its mode.
    assert_within(awake_s(&whole), 0.5 + 16.384, 0.01);
    let exchange_s = awake_s(&early) - 0.5;
    assert!((0.15..0.6).contains(&exchange_s), "{exchange_s} ms a period");
}

/// A clock that errs by 20 ppm is off by 0.2, 1.2 and 12 ms after 10, 60 and 600 s, one of 100 ppm by 1, 6 and 60 ms. The radio listens for that time
/// before each period at 84 mA and 3.3 V: 0.0554 to 16.6 mJ. The first of the hundred periods comes soon after the agreement.
#[test]
fn the_error_of_the_clock_is_listened_for_before_each_period() {
    let shipped = include_str!("../../../../radios/esp32-c3.toml");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let idle = |accuracy_ppm: u32, interval_s: u32| {
        // The least time awake would hide a guard time below it.
        let profile = shipped
            .replace("wander_ppm = 765", &format!("accuracy_ppm = {accuracy_ppm}"))
            .replace("min_awake = \"1ms\"", "min_awake = \"0s\"");
        assert!(profile.contains("accuracy_ppm") && profile.contains("min_awake = \"0s\""));
        let file = folder.join(format!("clock-{accuracy_ppm}.toml"));
        std::fs::write(&file, profile).unwrap();
        let set = [
            ("policy", "twt"),
            ("station.radio", file.to_str().unwrap()),
            ("station.power_save.interval", &format!("{interval_s}s")),
            ("ap.beacon_interval", "1s"),
            ("duration", &format!("{}s", 100 * interval_s)),
        ];
        simulate(&scenario("idle", &set), 1).result.stations.remove(0)
    };
    for (interval_s, guards_ms) in [(10, [0.2, 1.0]), (60, [1.2, 6.0]), (600, [12.0, 60.0])] {
        let exact = idle(0, interval_s);
        for (accuracy_ppm, guard_ms) in [20, 100].into_iter().zip(guards_ms) {
            let station = idle(accuracy_ppm, interval_s);
            let periods = station.service_periods as f64;
            assert_within(periods, 100.0, 1.0);
            let listened_ms = (station.state_s.listen - exact.state_s.listen) * 1e3 / periods;
            assert_within(listened_ms, guard_ms, 0.015 * guard_ms);
            let spent_mj =
                (station.energy_by_cause_j.service - exact.energy_by_cause_j.service) * 1e3 / periods;
            assert_within(spent_mj, 84e-3 * 3.3 * guard_ms, 0.02 * 84e-3 * 3.3 * guard_ms);
        }
    }
}

/// Packets that come at random wait for the next period: from nothing to an interval, each wait as likely as another. Three standard
/// errors of the mean, two parts in a hundred of percentiles.
#[test]
fn the_delay_of_a_random_arrival_is_uniform() {
    for (announced, interval_s) in [(true, 0.5), (false, 2.0)] {
        let text = format!(
            r#"
            base = "idle"
            latency_percentiles = true
            duration = "20000s"
            [[station]]
            power_save = {{ policy = "twt", interval = "{interval_s}s", announced = {announced} }}
            radio = "ar5004"
            [[flow]]
            direction = "down"
            transport = "udp"
            application = {{ kind = "interactive", mean_gap = "3700ms", packet = "100B" }}
            "#
        );
        let scenario = Scenario::from_text(&text, "random", &[]).expect("it can run");
        let flow = &simulate(&scenario, 1).result.flows[0];
        // What comes in a period that the access point has not ended is sent at once.
        let at_once_s: f64 = if announced { 0.0 } else { 0.016384 };
        let mean_s = (interval_s - at_once_s).powi(2) / (2.0 * interval_s);
        let error_s = interval_s / 12.0_f64.sqrt() / f64::from(flow.segments_sent as u32).sqrt();
        assert!(flow.segments_sent > 5_000);
        assert_within(flow.latency_s_mean.expect("packets came"), mean_s, 3.0 * error_s);
        let found = flow.latencies.as_ref().expect("they were asked for");
        for (part, percentile_s) in
            [(0.5, found.latency_s_p50), (0.95, found.latency_s_p95), (0.99, found.latency_s_p99)]
        {
            assert_within(percentile_s, part * interval_s - at_once_s * part, 0.02 * interval_s);
        }
    }
}

/// What two makers document, over a thousand periods: 16.25 ms more awake before each, and two beacons behind each.
#[test]
fn a_device_by_name_costs_what_its_maker_documents() {
    let idle = |announced: &str, device: &str| {
        let set = [
            ("policy", "twt"),
            ("station.radio", "ar5004"),
            ("station.power_save.interval", "1024ms"),
            ("station.power_save.announced", announced),
            ("station.power_save.device", device),
            ("duration", "1024s"),
        ];
        simulate(&scenario("idle", &set), 1).result.stations.remove(0)
    };
    let slow = idle("false", "st67w611");
    assert_within(slow.energy_by_cause_j.service, 0.8 * (0.5 + 16.384 + 16.25) + 1e-3, 1e-3);
    let listening = idle("true", "siwx917");
    assert_eq!((listening.service_periods, listening.wakeups), (1_000, 3_000));
    let beacon_j = 0.9 * (0.192 + 143.0 * 8e-3) + 0.8 * 0.5;
    assert_within(listening.energy_by_cause_j.beacon, 2.0 * beacon_j, 0.8 * 0.04);
}

/// A device that holds its frames back sends what comes at random in the next period: half an interval later in the mean, and none later than
/// an interval. Of a hundred packets of 1,400 bytes a second those leave that fit in 16.384 ms, and the rest waits for ever longer, or is discarded at the
/// end of the period.
#[test]
fn frames_of_the_user_wait_for_the_period_or_are_discarded() {
    let up = |outside: &str, gap: &str, packet: &str| {
        let text = format!(
            r#"
            base = "idle"
            latency_percentiles = true
            duration = "5000s"
            [[station]]
            power_save = {{ policy = "twt", announced = false, early_end = false, outside = "{outside}" }}
            radio = "ar5004"
            [[flow]]
            direction = "up"
            transport = "udp"
            application = {{ kind = "interactive", mean_gap = "{gap}", packet = "{packet}" }}
            "#
        );
        let scenario = Scenario::from_text(&text, "held", &[]).expect("it can run");
        simulate(&scenario, 1).result.flows.remove(0)
    };
    let [sent, held] = ["sent", "held"].map(|outside| up(outside, "3700ms", "100B"));
    assert!(sent.latency_s_mean.expect("packets came") < 0.01);
    let error_s = 1.0 / 12.0_f64.sqrt() / f64::from(held.segments_sent as u32).sqrt();
    assert_within(held.latency_s_mean.expect("packets came"), 0.5, 3.0 * error_s + 0.01);
    assert!(held.latencies.expect("they were asked for").latency_s_p99 < 1.02);
    let [held, discarded] = ["held", "discarded"].map(|outside| up(outside, "10ms", "1400B"));
    // By hand, an exchange takes 385 us, so that 42.5 packets leave in a period. A queue of 1,000 is 23.5 s long, and of what has come in a
    // second the first 42.5 wait for 575 ms to a second.
    for flow in [&held, &discarded] {
        assert_within(flow.goodput_bps, 42.5 * 1_400.0 * 8.0, 5e3);
    }
    assert_within(held.latency_s_mean.expect("packets came"), 23.5, 0.5);
    assert_within(discarded.latency_s_mean.expect("packets came"), 0.788, 0.03);
}

/// Members of a schedule wake up at the same time and contend to announce themselves, and one is awake until its own answer. Ten idle
/// ones with agreements of their own do not wait for each other.
#[test]
fn members_of_a_schedule_wait_for_each_other() {
    let stations = |broadcast: &str| {
        let text = format!(
            r#"
            base = "idle"
            duration = "1024s"
            ap = {{ {schedule} }}
            [[station]]
            count = 10
            radio = "ar5004"
            power_save = {{ policy = "twt", interval = "1024ms", {broadcast} }}
            "#,
            schedule = if broadcast.is_empty() { "" } else { "twt_schedule = { interval = '1024ms' }" },
        );
        let scenario = Scenario::from_text(&text, "schedule", &[]).expect("it can run");
        simulate(&scenario, 1).result.stations
    };
    let [own, shared] = ["", "broadcast = true"].map(stations);
    let awake_ms = |stations: &[StationResult]| {
        let awake =
            stations.iter().map(|one| one.state_s.listen + one.state_s.receive + one.state_s.transmit);
        awake.sum::<f64>() / 10.0
    };
    for station in &shared {
        assert!((999..=1_000).contains(&station.service_periods), "{}", station.service_periods);
    }
    // By hand, 0.5 ms of guard time and 0.27 ms for a trigger, the access point's answer, and the contention before both. Of ten who contend a station
    // waits for four and a half others on average, and for its collisions; nobody waits for all ten and collides as well.
    assert_within(awake_ms(&own), 0.77, 0.02);
    assert!((0.5 + 5.5 * 0.27..0.5 + 10.0 * 0.27).contains(&awake_ms(&shared)), "{}", awake_ms(&shared));
}

/// Ten stations ask at once, and get periods one behind the other: none of 2.2 J, which a station spends for 2 MB, is for frames of others
/// but what an exchange that has begun takes beyond a period. Under U-APSD they listen to some of each other's frames and end eight times
/// earlier; under plain power save they receive them all, behind one beacon.
#[test]
fn stations_with_periods_of_their_own_do_not_receive_for_each_other() {
    let results = in_parallel(&["uapsd", "twt", "psm"], |policy| {
        simulate(&scenario("ten-stations", &[("policy", policy), ("flow.application.size", "2MB")]), 1).result
    });
    let energy_j = |result: &RunResult| result.stations.iter().map(|station| station.energy_j).sum::<f64>();
    let [uapsd, twt, psm] = [0, 1, 2].map(|policy| energy_j(&results[policy]));
    assert!(uapsd < twt && twt < psm, "{uapsd} {twt} {psm}");
    for station in &results[1].stations {
        assert_within(station.energy_j, twt / 10.0, 0.05);
        assert!(station.energy_by_cause_j.overhearing < 0.05, "{}", station.energy_by_cause_j.overhearing);
    }
}

/// An agreement that follows a path changes often, and its first period may be nearer than the radio needs to wake up.
#[test]
fn for_a_period_that_is_nearer_than_the_wake_up_the_radio_wakes_at_once() {
    let keys =
        [("policy", "ba-ta-twt"), ("tcp.profile", "linux"), ("tunnel.plain", "true"), ("duration", "1s")];
    let result = simulate(&scenario("bulk", &keys), 17).result;
    assert!((result.simulated_s - 1.0).abs() < 1e-9, "{}", result.simulated_s);
}

/// A packet of 100 bytes each 10 s suspends the agreement for 200 ms, in which the radio listens at 0.8 W, but for beacons of 1.336 ms each
/// 102.4 ms. The first packet comes before the agreement is made, and the last one at the end of the run. Whether information frames or the PM
/// bit suspend the agreement makes no difference to that.
#[test]
fn a_suspended_agreement_costs_its_time_without_packets() {
    for information in ["false", "true"] {
        let text = format!(
            r#"
            base = "idle"
            duration = "1000s"
            [ap]
            twt_information = {information}
            [[station]]
            power_save = {{ policy = "twt", interval = "1024ms", resume_after = "200ms" }}
            radio = "ar5004"
            [[flow]]
            direction = "up"
            transport = "udp"
            application = {{ kind = "cbr", rate = "80bps", packet = "100B" }}
            "#
        );
        let scenario = Scenario::from_text(&text, "suspended", &[]).expect("it can run");
        let result = simulate(&scenario, 1).result;
        let packets = result.flows[0].segments_sent as f64;
        assert_within(packets, 101.0, 0.0);
        let beacons_s = 0.2 / 0.1024 * (0.192e-3 + 143.0 * 8e-6);
        let tail_j = 0.8 * (0.2 - beacons_s) * (packets - 2.0);
        assert_within(result.stations[0].energy_by_cause_j.timeout_tail, tail_j, 0.03);
    }
}

/// Under an agreement of 1 s a download crosses the cell once in an interval. If it suspends the agreement, it is as fast as under
/// `timeout`; the first answer of the server waits for a period, at most for an interval, unless the request has suspended the agreement.
#[test]
fn a_download_that_suspends_the_agreement_is_as_fast_as_in_active_mode() {
    let seconds = |policy: &str| {
        simulate(&scenario("bulk", &[("policy", policy), ("flow.application.size", "3MB")]), 1)
            .result
            .simulated_s
    };
    let [timeout, held, suspended] = ["timeout", "twt", "twt:resume_after=100ms"].map(seconds);
    assert!(suspended - timeout < 1.1, "{suspended} {timeout}");
    assert!(held > 5.0 * timeout, "{held} {timeout}");
}

/// A Trigger frame of 34 bytes at 24 Mb/s has 20 us of preamble, 22 + 272 bits in four symbols of 4 us, and 6 us of signal extension: 42 us. The
/// station receives that more than if it contended for its announcement, in each period; it sends the same, and waits a SIFS of 10 us longer, but
/// for its own contention and the alignment to slots of 9 us.
#[test]
fn a_trigger_frame_costs_its_time_in_the_receive_state() {
    let idle = |trigger_enabled: &str| {
        let set = [
            ("policy", "twt"),
            ("station.radio", "ar5004"),
            ("station.power_save.interval", "1024ms"),
            ("station.power_save.trigger_enabled", trigger_enabled),
            ("duration", "1024s"),
        ];
        simulate(&scenario("idle", &set), 1).result.stations.remove(0)
    };
    let [contends, polled] = ["false", "true"].map(idle);
    for station in [&contends, &polled] {
        assert_eq!((station.service_periods, station.triggers, station.wakeups), (1_000, 1_000, 1_000));
    }
    assert_within(polled.state_s.receive - contends.state_s.receive, 42e-3, 1e-6);
    assert_within(polled.state_s.transmit, contends.state_s.transmit, 1e-6);
    assert_within(polled.state_s.listen - contends.state_s.listen, 10e-3, 20e-3);
}

/// Packets of the station that come at random wait for the next Trigger frame: half an interval in the mean, each wait as likely as another. Those
/// that come in a period before its end, which is 0.4 ms at most, are sent in it or wait for a whole interval.
#[test]
fn the_delay_of_a_random_packet_of_a_polled_station_is_uniform() {
    let text = r#"
        base = "idle"
        latency_percentiles = true
        duration = "20000s"
        [[station]]
        power_save = { policy = "twt", interval = "1s", trigger_enabled = true }
        radio = "ar5004"
        [[flow]]
        direction = "up"
        transport = "udp"
        application = { kind = "interactive", mean_gap = "3700ms", packet = "100B" }
        "#;
    let scenario = Scenario::from_text(text, "random", &[]).expect("it can run");
    let result = simulate(&scenario, 1).result;
    let flow = &result.flows[0];
    assert!(flow.segments_sent > 5_000);
    let error_s = 1.0 / 12.0_f64.sqrt() / f64::from(flow.segments_sent as u32).sqrt();
    assert_within(flow.latency_s_mean.expect("packets came"), 0.5, 3.0 * error_s);
    let found = flow.latencies.as_ref().expect("they were asked for");
    assert_within(found.latency_s_p50, 0.5, 0.02);
    assert_within(found.latency_s_p95, 0.95, 0.02);
    // No frame wakes the radio outside its periods.
    let station = &result.stations[0];
    assert!(station.wakeups.abs_diff(station.service_periods) <= 1, "{station:?}");
}

/// Of packets each 2.5 s the first one comes before the agreement, and three wait for the second period, at 8.3 s: three Trigger frames bring them, or
/// one where an answer is an aggregate. The first period has a Trigger frame of its own.
#[test]
fn a_trigger_frame_brings_one_ppdu() {
    for (wifi, triggers) in [("", 3), ("wifi = \"wifi6\"", 1)] {
        let text = format!(
            r#"
            base = "idle"
            {wifi}
            duration = "10s"
            [[station]]
            power_save = {{ policy = "twt", interval = "8192ms", trigger_enabled = true }}
            radio = "ar5004"
            [[flow]]
            direction = "up"
            transport = "udp"
            application = {{ kind = "cbr", rate = "320bps", packet = "100B" }}
            "#
        );
        let scenario = Scenario::from_text(&text, "three", &[]).expect("it can run");
        let trace = simulate_traced(&scenario, 1, true).trace.expect("it was asked for");
        let kinds = |kind: CellFrameKind| trace.frames.iter().filter(|frame| frame.kind == kind).count();
        assert_eq!((kinds(CellFrameKind::Trigger), kinds(CellFrameKind::Data)), (1 + triggers, 4), "{wifi}");
    }
}

/// An idle station under `twt` with the fixed guard time of 0.5 ms and a clock that errs, for 100 periods of 10.24 s.
fn idle_with_error(key: &str, error_ppm: &str) -> StationResult {
    let mut set = vec![
        ("policy", "twt"),
        ("station.radio", "ar5004"),
        ("station.power_save.interval", "10.24s"),
        (key, if key.ends_with("announced") { "false" } else { "true" }),
        ("duration", "1024s"),
    ];
    if !error_ppm.is_empty() {
        set.push(("station.clock_error_ppm", error_ppm));
    }
    simulate(&scenario("idle", &set), 1).result.stations.remove(0)
}

/// 20 ppm of 10.24 s are 204.8 us. A station whose clock is fast by that listens so much longer for the Trigger frame that begins its period, and
/// one whose clock is slow so much shorter. The first of the hundred periods comes at once, and the error is that of the time since the last one.
#[test]
fn the_error_of_the_clock_moves_the_time_for_which_the_station_listens() {
    let listened_s = |error_ppm| {
        let station = idle_with_error("station.power_save.trigger_enabled", error_ppm);
        assert_eq!((station.service_periods, station.beacons_missed), (100, 0), "{error_ppm}");
        station.state_s.listen
    };
    let [exact, right, fast, slow] = ["", "0", "20", "-20"].map(listened_s);
    assert_within(right, exact, 1e-9);
    // Periods are aligned to slots of 9 us.
    assert_within(fast - right, 99.0 * 204.8e-6, 0.2e-3);
    assert_within(right - slow, 99.0 * 204.8e-6, 0.2e-3);
}

/// A clock that is slow by 100 ppm is late by 1.0 ms after 10.1 s, twice the guard time of the profile. In an unannounced period without frames the station
/// does not notice that. It then misses the beacon, 51.2 ms after the start of the period, by 0.5 ms, and listens until the next one: for 102.4 ms and
/// the 1.336 ms of that beacon less these 0.5 ms, instead of for a guard time and a beacon.
#[test]
fn a_clock_that_errs_by_more_than_the_guard_time_costs_a_beacon_interval_of_listening() {
    let of = |error_ppm| idle_with_error("station.power_save.announced", error_ppm);
    let [right, slow] = ["0", "-100"].map(of);
    assert_eq!((right.beacons_missed, right.wakeups), (0, 200));
    assert_eq!(slow.wakeups, 200);
    // The last beacon was received 153.6 ms after the start of the period before, and took 1.336 ms.
    let since_s = 10.24 - (0.1536 + 1.336e-3) + 0.0512;
    let late_s = since_s * 100e-6 / (1.0 - 100e-6);
    assert_within(late_s, 1.014e-3, 1e-6);
    let awake_s = |station: &StationResult| station.state_s.listen + station.state_s.receive;
    // Each time but the first: from where the station wakes up, behind the beacon, instead of from a guard time before it.
    let longer_s = 99.0 * (0.1024 - late_s);
    assert_within(awake_s(&slow) - awake_s(&right), longer_s, 0.1024 + 99.0 * 20e-6);
}

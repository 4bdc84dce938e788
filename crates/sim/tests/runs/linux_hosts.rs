//! Hosts of the profile `linux`: the sender and the receiver that scripts hold to the kernel's rules, over paths and cells.

use airwatt_sim::scenario::{Checked, Scenario};

use crate::support::simulate;

fn load(name: &str, keys: &[(&str, &str)]) -> Result<Checked, String> {
    let profile = [("tcp.profile", "linux")];
    let keys: Vec<_> =
        profile.iter().chain(keys).map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    Scenario::load(name, &keys).map_err(|error| error.to_string())
}

/// Downloads and uploads come through whole, under each policy and congestion control, with losses and without, and the same
/// seed gives the same trajectory.
#[test]
fn transfers_are_complete_and_repeatable() {
    for transport in ["reno", "newreno", "sack", "cubic", "cubic+ackloss", "bbr1", "bbr3"] {
        for policy in ["active", "timeout", "psm", "uapsd", "ba-ta"] {
            for direction in ["down", "up"] {
                let keys = [
                    ("flow.application.size", "1500kB"),
                    ("flow.direction", direction),
                    ("transport", transport),
                    ("policy", policy),
                    ("wifi.frame_error_rate", "0.1"),
                    ("wifi.retry_limit", "1"),
                ];
                let scenario = load("fast-dsl", &keys).expect("it can run");
                let run = simulate(&scenario, 3);
                let flow = &run.result.flows[0];
                let what = format!("{transport} {policy} {direction}");
                assert_eq!(flow.bytes_delivered, 1_500_000, "{what}");
                assert!(flow.segments_retransmitted > 0, "{what}: frames were lost for good");
                // 1,036 segments of 1,448 bytes, and each retransmission.
                assert_eq!(flow.segments_sent, 1_036 + flow.segments_retransmitted, "{what}");
                assert!(flow.rtt_s_mean.is_some_and(|rtt| rtt > 0.020), "{what}: the line alone takes 20 ms");
                assert_eq!(run.fingerprints.events, simulate(&scenario, 3).fingerprints.events, "{what}");
            }
        }
    }
}

/// HyStart ends slow start before the queue of 50 packets overflows: the kernel retransmitted 8 segments of such a download (20 MB,
/// docs/emulation.md), and the sender of the RFCs 148.
#[test]
fn hystart_leaves_slow_start_before_the_queue_overflows() {
    let keys = [("flow.application.size", "20MB"), ("transport", "cubic"), ("policy", "active")];
    let flow = &simulate(&load("fast-dsl", &keys).expect("it can run"), 1).result.flows[0];
    assert!((15.40e6 * 0.98..15.40e6 * 1.02).contains(&flow.goodput_bps), "{}", flow.goodput_bps);
    assert!(flow.segments_retransmitted < 30, "{}", flow.segments_retransmitted);
    assert_eq!(flow.timeouts, 0);
}

/// A window of 30 kB, which loses nothing: twenty whole segments a round trip, as over the kernel (docs/emulation.md, "Twenty jobs"), where
/// nineteen and a piece would leave an acknowledgement to the timer.
#[test]
fn a_small_window_is_of_whole_segments() {
    for (policy, kernel) in [("active", 10.34e6), ("psm", 2.32e6), ("uapsd", 5.48e6)] {
        let keys = [
            ("flow.application.size", "4MB"),
            ("tcp.receive_window", "30kB"),
            ("transport", "cubic"),
            ("policy", policy),
        ];
        let result = simulate(&load("fast-dsl", &keys).expect("it can run"), 1).result;
        let flow = &result.flows[0];
        assert!((0.95 * kernel..1.05 * kernel).contains(&flow.goodput_bps), "{policy}: {}", flow.goodput_bps);
        assert_eq!(flow.segments_retransmitted, 0);
    }
}

/// The kernel came to 23.1 to 23.2 Mbit/s on this path (docs/validation.md), where slow start loses hundreds of packets at once:
/// recovery takes a second and no timeout.
#[test]
fn recovery_from_many_losses_is_near_the_kernels() {
    for seed in 1..=4 {
        let keys = [
            ("wired.rtt", "80ms"),
            ("ap.buffer", "200packets"),
            ("flow.application.size", "20MB"),
            ("transport", "sack"),
        ];
        let flow = &simulate(&load("reference-download", &keys).expect("it can run"), seed).result.flows[0];
        assert_eq!(flow.timeouts, 0, "seed {seed}");
        let goodput = flow.goodput_bps / 1e6;
        assert!((23.15 * 0.97..23.15 * 1.03).contains(&goodput), "seed {seed}: {goodput}");
    }
}

/// The receive window follows what the application takes: a long fat path is not held back by the 64 kB of its beginning.
#[test]
fn the_receive_window_grows_with_the_path() {
    let keys = [
        ("wired.rtt", "200ms"),
        ("wired.down.rate", "100Mbps"),
        ("wired.down.queue", "2000packets"),
        ("flow.application.size", "60MB"),
        ("transport", "cubic"),
    ];
    let free = &simulate(&load("fast-dsl", &keys).expect("it can run"), 1).result.flows[0];
    let bound = [&keys[..], &[("tcp.receive_window", "64kB")]].concat();
    let bound = &simulate(&load("fast-dsl", &bound).expect("it can run"), 1).result.flows[0];
    // 64 kB in 200 ms are 2.56 Mbit/s.
    assert!((2.2e6..2.56e6).contains(&bound.goodput_bps), "{}", bound.goodput_bps);
    assert!(free.goodput_bps > 5.0 * bound.goodput_bps, "{}", free.goodput_bps);
}

/// A scenario that stands for simulated agents of another time begins without handshakes; Linux has none of that.
#[test]
fn connections_open_where_the_scenario_has_no_handshake() {
    let keys = [
        ("duration", "20s"),
        ("measure_from", "12s"),
        ("fairness_windows", "[\"1s\"]"),
        ("transport", "cubic+ackloss"),
    ];
    let run = simulate(&load("ten-up", &keys).expect("it can run"), 1).result;
    assert_eq!(run.flows.len(), 10);
    assert!(run.flows.iter().all(|flow| flow.bytes_delivered > 100_000), "{:?}", run.flows);
}

#[test]
fn what_the_profile_has_not_is_one_line() {
    let refused = |keys: &[(&str, &str)]| load("fast-dsl", keys).expect_err("it is refused");
    let error = refused(&[("transport", "tahoe")]);
    assert!(error.contains("tcp.profile \"linux\"") && error.contains("\"cubic\""), "{error}");
    let error = refused(&[("transport", "tahoe+ackloss")]);
    assert!(error.contains("tahoe+ackloss") && error.contains("linux-settings"), "{error}");
    for key in ["tcp.delayed_ack", "tcp.limited_transmit"] {
        let error = refused(&[(key, "true")]);
        assert!(error.contains(key) && error.contains("profile \"linux\""), "{error}");
    }
    assert_eq!(refused(&[("tcp.rto_tick", "100ms")]).lines().count(), 1);
}

/// A player acknowledges the end of each block when it reads it, and its radio sleeps again after 100 ms: 247.6 mW over kernels (6.18,
/// docs/emulation.md), and 326 mW with acknowledgements that wait for 40 ms.
#[test]
fn the_end_of_a_block_keeps_no_radio_awake() {
    let keys = [("flow.application.media", "60s"), ("policy", "timeout")];
    let result = simulate(&load("streaming", &keys).expect("it can run"), 1).result;
    let power_w = result.stations[0].energy_j / result.simulated_s;
    assert!((0.98..1.02).contains(&(power_w / 0.2476)), "{power_w} W");
}

/// The station closes and opens the window of a stream, so that its server sends in bursts and the radio sleeps between them.
#[test]
fn a_stream_is_shaped_by_the_window() {
    let power_w = |policy| {
        let result = simulate(
            &load("streaming", &[("flow.application.media", "60s"), ("policy", policy)]).unwrap(),
            1,
        )
        .result;
        assert_eq!(result.flows[0].bytes_delivered, 15_000_000, "{policy}");
        result.stations[0].energy_j / result.simulated_s
    };
    assert!(power_w("psm-throttling") < 0.45 * power_w("active"));
}

/// BBR neither fills the queue nor loses a segment to it, and its seed is that of the run.
#[test]
fn bbr_keeps_the_queue_short() {
    let run = |transport, seed| {
        let keys = [("flow.application.size", "20MB"), ("transport", transport), ("policy", "active")];
        simulate(&load("fast-dsl", &keys).expect("it can run"), seed).result.flows.remove(0)
    };
    let cubic = run("cubic", 1);
    for transport in ["bbr1", "bbr3"] {
        let (first, second) = (run(transport, 1), run(transport, 2));
        assert!(first.goodput_bps > 0.85 * cubic.goodput_bps, "{transport}: {}", first.goodput_bps);
        assert!(
            first.rtt_s_mean < cubic.rtt_s_mean,
            "{transport}: {:?}, cubic {:?}",
            first.rtt_s_mean,
            cubic.rtt_s_mean
        );
        assert_ne!(first.completed_s, second.completed_s, "{transport}");
    }
}

#[test]
fn a_paced_sender_sends_as_much() {
    let keys = [("transport", "cubic"), ("policy", "active"), ("tcp.paced", "true")];
    let paced = &simulate(&load("fast-dsl", &keys).expect("it can run"), 1).result.flows[0];
    let plain = &simulate(&load("fast-dsl", &keys[..2]).expect("it can run"), 1).result.flows[0];
    assert!((0.95..1.05).contains(&(paced.goodput_bps / plain.goodput_bps)), "{}", paced.goodput_bps);
    assert_ne!(paced.completed_s, plain.completed_s);
}

#[test]
fn bbr_needs_hosts_that_have_it() {
    let set = [("transport".to_owned(), "bbr1".to_owned())];
    let error = Scenario::load("fast-dsl", &set).expect_err("it is refused").to_string();
    assert!(
        error.contains("tcp.profile") && error.contains("\"linux\"") && error.contains("bbr1"),
        "{error}"
    );
}

/// An idle connection of a station that sleeps from DTIM beacon to DTIM beacon: each keep-alive is a probe and an answer.
/// The side that has them decides who asks.
#[test]
fn an_idle_connection_is_probed_each_so_often() {
    let run = |ends: Option<&str>, time: &str| {
        let flow = "{ direction = \"up\", transport = \"cubic\", application = { kind = \"periodic\", interval = \"2h\" } }";
        let keys = [
            ("tcp.keep_alive", ends.unwrap_or("client")),
            ("tcp.keep_alive_time", time),
            ("tcp.profile", "linux"),
        ];
        let keys: Vec<_> = keys
            .iter()
            .filter(|(key, _)| ends.is_some() || *key == "tcp.profile")
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect();
        let text = format!(
            "base = \"idle\"\nduration = \"1h\"\nflow = [{flow}]\n[wired]\nrtt = \"20ms\"\nup = {{ rate = \"50Mbps\" }}\ndown = {{ rate = \"50Mbps\" }}\n"
        );
        let result = simulate(&Scenario::from_text(&text, "idle.toml", &keys).expect("it can run"), 1).result;
        let wire = &result.links[0];
        (wire.forward.packets, wire.reverse.packets, result.stations[0].energy_j)
    };
    let (down, up, alone) = run(None, "");
    // The message comes at once, so that the first probe follows a minute later. The timer of the next one runs for the interval, 75 s,
    // whether it is answered or not; the wheel of 1000 Hz has buckets of 4.096 s there: 61.4 s, then each 77.8 s, 46 in an hour.
    let (answers, probes, energy) = run(Some("client"), "60s");
    assert_eq!((probes - up, answers - down), (46, 46));
    let each = (energy - alone) / 46.0;
    assert!((0.1e-3..50e-3).contains(&each), "{each} J");
    let (probes, answers, _) = run(Some("server"), "60s");
    assert_eq!((probes - down, answers - up), (46, 46));
    let (_, probes, _) = run(Some("client"), "15min");
    assert_eq!(probes - up, 3);
    // Linux itself waits for two hours.
    assert_eq!(run(Some("both"), "7200s").0, down);
}

//! What crosses the last hop, in whole runs: a point-to-point link with errors, connections that end at the base station,
//! receivers that can do without, and applications that are not in a hurry.

use airwatt_sim::record::{FlowResult, RunResult};
use airwatt_sim::scenario::Scenario;

use crate::support::{scenario, simulate};

fn result(name: &str, changes: &[(&str, &str)]) -> RunResult {
    simulate(&scenario(name, changes), 1).result
}

fn flow(name: &str, changes: &[(&str, &str)]) -> FlowResult {
    result(name, changes).flows.remove(0)
}

fn refusal(name: &str, changes: &[(&str, &str)]) -> String {
    let changes: Vec<_> = changes.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
    Scenario::load(name, &changes).unwrap_err().to_string()
}

/// Without errors overheads are a matter of counting (Donckers 2001): 1000 bytes of data, 40 or 8 bytes of header and as much
/// for an acknowledgement of each packet.
#[test]
fn overheads_without_errors_are_those_of_the_headers() {
    for (transport, data, time) in [("tahoe", 0.08, 0.04), ("sack", 0.08, 0.04), ("e2tcp", 0.016, 0.008)] {
        let flow = flow("e2tcp", &[("link.errors.model", "none"), ("transport", transport)]);
        assert!((flow.data_overhead.unwrap() - data).abs() < 1e-9, "{transport}: {:?}", flow.data_overhead);
        // A window of 20 packets fills the link but for the first round trips.
        assert!((flow.time_overhead.unwrap() - time).abs() < 0.004, "{transport}: {:?}", flow.time_overhead);
        // Propagation alone, and with the packet's own time.
        let header = if transport == "e2tcp" { 8.0 } else { 40.0 };
        assert!((flow.delivery_s_mean.unwrap() - 0.05).abs() < 1e-9, "{transport}");
        let full = 0.05 + (1000.0 + header) * 8e-6;
        assert!((flow.delivery_full_s_mean.unwrap() - full).abs() < 1e-9, "{transport}");
    }
}

/// Without cut-through the last bit arrives later; the latency without a packet's own time stays what it was.
#[test]
fn serialization_is_told_apart() {
    let changes = [("link.errors.model", "none"), ("link.cut_through", "false")];
    let flow = flow("e2tcp", &changes);
    assert!((flow.delivery_s_mean.unwrap() - 0.05).abs() < 1e-9);
    assert!((flow.delivery_full_s_mean.unwrap() - 0.058_064).abs() < 1e-9);
}

#[test]
fn every_transport_carries_everything_through_bad_times() {
    for transport in ["tahoe", "reno", "newreno", "sack", "cubic", "e2tcp", "prtp"] {
        for direction in ["up", "down"] {
            let changes = [
                ("transport", transport),
                ("flow.direction", direction),
                ("flow.application.size", "2MB"),
                ("link.errors.good", "1s"),
            ];
            let run = result("e2tcp", &changes);
            let flow = &run.flows[0];
            assert_eq!(flow.transport, transport);
            assert_eq!((flow.bytes_delivered, flow.bytes_skipped), (2_000_000, 0), "{transport} {direction}");
            assert!(run.cell.damaged > 20 && flow.segments_retransmitted > 10, "{transport} {direction}");
            // The radio is charged for the whole run, and sends more than it receives or the other way round.
            let states = run.stations[0].state_s;
            let sum = states.transmit + states.receive + states.listen;
            assert!((sum - run.simulated_s).abs() < 1e-9, "{transport} {direction}");
            assert_eq!(states.transmit > states.receive, direction == "up", "{transport} {direction}");
        }
    }
}

#[test]
fn a_receiver_that_can_do_without_gets_at_least_its_share() {
    for transport in ["e2tcp", "prtp"] {
        let with = |reliability| {
            let changes =
                [("transport", transport), ("flow.reliability", reliability), ("link.errors.good", "1s")];
            flow("e2tcp", &changes)
        };
        let (whole, most) = (with("100"), with("90"));
        assert_eq!(most.bytes_delivered + most.bytes_skipped, 20_000_000, "{transport}");
        assert!(most.bytes_skipped > 0 && most.bytes_delivered >= 18_000_000, "{transport}");
        assert!(most.segments_retransmitted < whole.segments_retransmitted, "{transport}");
        assert!(most.completed_s < whole.completed_s, "{transport}");
    }
}

/// Over a wire, E2TCP stands behind a gateway, and so does TCP that is split there or has an agent there.
#[test]
fn connections_that_a_base_station_serves_carry_everything() {
    for transport in ["split", "snoop", "e2tcp", "e2tcp-base"] {
        for direction in ["down", "up"] {
            for policy in ["active", "psm"] {
                let changes = [
                    ("transport", transport),
                    ("flow.direction", direction),
                    ("flow.application.size", "2MB"),
                    ("policy", policy),
                ];
                let flow = flow("fast-dsl", &changes);
                assert_eq!(flow.bytes_delivered, 2_000_000, "{transport} {direction} {policy}");
                assert!(!flow.connection_lost);
            }
        }
    }
}

/// The point of I-TCP: losses on a wireless hop are mended over the hop, not over the whole path.
#[test]
fn splitting_hides_the_bad_hop_from_a_long_path() {
    let path = [
        ("wired.rtt", "200ms"),
        ("wired.down.rate", "10Mbps"),
        ("wired.up.rate", "10Mbps"),
        ("link.delay", "5ms"),
        ("link.errors.model", "uniform"),
        ("link.errors.error_rate", "0.02"),
        ("flow.direction", "down"),
        ("flow.application.size", "2MB"),
        ("tcp.rto_clock", "fine"),
        ("tcp.min_rto", "200ms"),
        ("tcp.receive_window", "100packets"),
        ("e2tcp.back_off", "true"),
    ];
    let goodput = |transport: &'static str| {
        // Only transports with E2TCP take its settings.
        let own = if transport.starts_with("e2tcp") { path.len() } else { path.len() - 1 };
        let changes = [&path[..own], &[("transport", transport)]].concat();
        flow("e2tcp", &changes).goodput_bps
    };
    let (whole, split, gateway) = (goodput("newreno"), goodput("split"), goodput("e2tcp"));
    assert!(split > 1.5 * whole, "split {split}, from end to end {whole}");
    assert!(gateway > split, "E2TCP on the hop {gateway}, TCP on it {split}");
    let (snoop, base_only) = (goodput("snoop"), goodput("e2tcp-base"));
    assert!(snoop > 1.5 * whole, "Snoop {snoop}, from end to end {whole}");
    assert!(base_only > 1.5 * whole, "E2TCP at the base station alone {base_only}, from end to end {whole}");
}

/// A gateway holds no more than its buffer for a hop, so that a long hop carries a buffer in each of its round trips.
#[test]
fn a_gateway_holds_its_buffer_and_no_more() {
    let changes = [
        ("transport", "split"),
        ("wired.rtt", "2ms"),
        ("wired.down.rate", "100Mbps"),
        ("wired.up.rate", "100Mbps"),
        ("link.rate", "10Mbps"),
        ("link.errors.model", "none"),
        ("flow.direction", "down"),
        ("flow.application.size", "5MB"),
        ("tcp.receive_window", "1MB"),
        ("gateway.buffer", "16KiB"),
    ];
    let bound = 16_384.0 * 8.0 / 0.1;
    let goodput = flow("e2tcp", &changes).goodput_bps;
    assert!(goodput < bound && goodput > 0.9 * bound, "{goodput} of {bound}");
}

/// A source that is slower than the link is compared with itself: nothing but the last round trip is added.
#[test]
fn a_slow_source_is_not_an_overhead() {
    let cbr = [
        ("flow.application.kind", "cbr"),
        ("flow.application.rate", "0.5Mbps"),
        ("flow.application.size", "1MB"),
    ];
    let quiet = [("link.errors.model", "none")];
    let flow = flow("e2tcp", &[&cbr[..], &quiet].concat());
    // 1,000 packets, 16 ms apart.
    assert!((flow.completed_s.unwrap() - (999.0 * 0.016 + 0.05)).abs() < 0.001, "{:?}", flow.completed_s);
    assert!(flow.time_overhead.unwrap() < 0.01, "{:?}", flow.time_overhead);
    assert_eq!(flow.segments_sent, 1_000);
}

#[test]
fn somebody_types() {
    let changes = [
        ("flow.application.kind", "interactive"),
        ("flow.application.mean_gap", "200ms"),
        ("flow.application.packet", "100B"),
        ("flow.application.size", "20kB"),
        ("link.errors.model", "none"),
        ("transport", "newreno"),
    ];
    let flow = flow("e2tcp", &changes);
    assert_eq!((flow.bytes_delivered, flow.segments_sent), (20_000, 200));
    // 200 gaps of 200 ms: the sum's standard deviation is 2.8 s.
    assert!((flow.completed_s.unwrap() - 40.0).abs() < 10.0, "{:?}", flow.completed_s);
}

#[test]
fn datagrams_cross_the_whole_path_and_are_never_sent_again() {
    let voice = [
        ("transport", "udp"),
        ("flow.application.kind", "cbr"),
        ("flow.application.rate", "64kbps"),
        ("flow.application.packet", "160B"),
        ("flow.application.size", "160kB"),
    ];
    let over_wifi = flow("fast-dsl", &voice);
    assert_eq!((over_wifi.bytes_delivered, over_wifi.segments_sent), (160_000, 1_000));
    assert!((over_wifi.latency_s_mean.unwrap() - 0.0105).abs() < 0.002, "{:?}", over_wifi.latency_s_mean);
    let over_link = flow("e2tcp", &[&voice[..], &[("link.errors.good", "1s")]].concat());
    assert_eq!(over_link.segments_sent, 1_000);
    let lost = 160_000 - over_link.bytes_delivered;
    assert!(lost > 160 * 20 && lost < 160 * 300, "{lost} bytes were lost");
}

#[test]
fn what_cannot_be_is_refused_with_what_is_allowed() {
    type Case<'a> = (&'a str, &'a [(&'a str, &'a str)], &'a str);
    let cases: [Case; 9] = [
        ("e2tcp", &[("flow.reliability", "101")], "expected 0 to 100, got 101"),
        (
            "e2tcp",
            &[("transport", "reno"), ("flow.reliability", "90")],
            "no effect with transport \"reno\"; hint: it belongs to \"e2tcp\" and \"prtp\"",
        ),
        ("e2tcp", &[("e2tcp.min_window", "30")], "expected 1 to max_window (25) packets, got 30"),
        ("e2tcp", &[("link.errors.bad_error_rate", "1.5")], "expected 0 to 1, got 1.5"),
        ("e2tcp", &[("link.errors.good", "5s"), ("link.errors.good_max", "4s")], "expected 5s to"),
        ("e2tcp", &[("policy", "psm")], "expected active on a [link], got \"psm\""),
        ("e2tcp", &[("transport", "split")], "\"split\" needs [wired]"),
        ("e2tcp", &[("station.count", "2")], "expected 1, since a [link] has one station, got 2"),
        ("fast-dsl", &[("gateway.transport", "udp")], "expected a TCP from end to end, got \"udp\""),
    ];
    for (name, changes, expected) in cases {
        let line = refusal(name, changes);
        assert!(line.contains(expected) && !line.contains('\n'), "{changes:?}: {line}");
    }
}

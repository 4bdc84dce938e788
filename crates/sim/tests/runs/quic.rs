//! QUIC in whole runs: over paths and cells, under policies, through a tunnel, and what its acknowledgements cost.

use airwatt_sim::scenario::{Checked, Scenario};

use crate::support::simulate;

fn load(name: &str, keys: &[(&str, &str)]) -> Result<Checked, String> {
    let transport = [("transport", "quic")];
    let keys: Vec<_> =
        transport.iter().chain(keys).map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    Scenario::load(name, &keys).map_err(|error| error.to_string())
}

/// Downloads and uploads come through whole, under each policy, although frames are lost for good, and the same seed gives the same
/// trajectory.
#[test]
fn transfers_are_complete_and_repeatable() {
    let mut timeouts = 0;
    for congestion in ["newreno", "cubic"] {
        for policy in ["active", "timeout", "psm", "uapsd", "ba-ta"] {
            for direction in ["down", "up"] {
                let keys = [
                    ("flow.application.size", "1500kB"),
                    ("flow.direction", direction),
                    ("policy", policy),
                    ("quic.congestion", congestion),
                    ("wifi.frame_error_rate", "0.1"),
                    ("wifi.retry_limit", "1"),
                ];
                let scenario = load("fast-dsl", &keys).expect("it can run");
                let run = simulate(&scenario, 3);
                let flow = &run.result.flows[0];
                let what = format!("{congestion} {policy} {direction}");
                assert_eq!(flow.bytes_delivered, 1_500_000, "{what}");
                assert!(!flow.connection_lost, "{what}");
                assert!(flow.segments_retransmitted > 0, "{what}: frames were lost for good");
                // A packet of 1452 bytes carries at most 1422 of data: 1 byte of flags, 8 of identifier, at least 1 of number,
                // at least 4 of a stream's frame, and 16 of the tag.
                assert!(flow.segments_sent >= 1_500_000 / 1_422, "{what}");
                timeouts += flow.timeouts;
                assert!(flow.rtt_s_mean.is_some_and(|rtt| rtt > 0.020), "{what}: the line alone takes 20 ms");
                assert_eq!(run.fingerprints.events, simulate(&scenario, 3).fingerprints.events, "{what}");
            }
        }
    }
    assert!(timeouts > 0, "of 20 transfers some lose their last packet");
}

/// Over a line of 16 Mbit/s each packet of 1480 bytes carries 1419 to 1422 of data: 15.35 Mbit/s, less a handshake and slow start from ten
/// packets, which together take 0.1 of 10.5 s.
#[test]
fn a_long_download_fills_the_line() {
    let keys = [("flow.application.size", "20MB"), ("policy", "active"), ("wired.down.queue", "1000packets")];
    let flow = &simulate(&load("fast-dsl", &keys).expect("it can run"), 1).result.flows[0];
    assert!((15.1e6..15.4e6).contains(&flow.goodput_bps), "{}", flow.goodput_bps);
    assert_eq!(flow.segments_retransmitted, 0);
}

/// Applications that ask and answer: pages, keys that somebody types, video in blocks.
#[test]
fn applications_run_over_it() {
    for (name, keys) in [
        ("web", &[("flow.application.count", "3")][..]),
        ("ssh", &[][..]),
        ("streaming", &[("flow.application.media", "20s")]),
    ] {
        let run = simulate(&load(name, keys).expect("it can run"), 1);
        let flow = &run.result.flows[0];
        assert!(!flow.connection_lost && flow.bytes_delivered > 0, "{name}");
        assert_eq!(flow.responses.is_some(), name != "streaming", "{name}");
    }
}

/// A page of HTTP/3 over a slow line is rendered before its images are there, by their urgencies, and it is a round trip faster than one of HTTP/2, whose
/// TCP and TLS take two before the first request.
#[test]
fn pages_of_http_3_are_rendered_first() {
    let page = |transport: &str, more: &[(&str, &str)]| {
        let fixed = [
            ("transport", transport),
            ("flow.application.kind", "page"),
            ("flow.application.count", "3"),
            ("flow.application.mean_gap", "1s"),
            ("tcp.handshake", "true"),
            ("policy", "active"),
            ("wired.down.queue", "1000packets"),
            ("wired.rtt", "100ms"),
        ];
        let keys: Vec<_> =
            fixed.iter().chain(more).map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        let scenario = Scenario::load("fast-dsl", &keys).expect("it can run");
        let run = simulate(&scenario, 1);
        assert_eq!(run.fingerprints.events, simulate(&scenario, 1).fingerprints.events, "{transport}");
        let flow = run.result.flows.into_iter().next().expect("a flow");
        let (pages, rendering) =
            (flow.responses.expect("pages came"), flow.rendering.expect("and were rendered"));
        assert_eq!(pages.responses, 3, "{transport}");
        (pages.response_s_mean, rendering.render_s_mean, flow.bytes_delivered)
    };
    let (http3, first3, bytes3) = page("quic", &[]);
    let (http2, first2, bytes2) = page("sack", &[]);
    // Half of a page is images.
    assert!((0.35..0.75).contains(&(first3 / http3)), "{first3} {http3}");
    assert!((0.35..0.75).contains(&(first2 / http2)), "{first2} {http2}");
    // Both had the same pages: HTTP/2 has the server's handshake beside.
    assert_eq!(bytes2, bytes3 + 3_000);
    let (http1, first1, bytes1) = page("sack", &[("flow.application.http", "http/1.1")]);
    assert_eq!(bytes1, bytes2 + 5 * 3_000);
    assert!(http1 > http2 && first1 > first2, "{http1} {http2}");
    let (.., shared) = page("sack", &[("flow.application.origins", "12")]);
    assert_eq!(shared, bytes2 + 11 * 3_000);
    let (.., shared) = page("quic", &[("flow.application.origins", "12")]);
    assert_eq!(shared, bytes3);
}

/// Its datagrams pass a tunnel as any packet does.
#[test]
fn a_tunnel_carries_it() {
    let run = simulate(&load("tunnel", &[]).expect("it can run"), 1);
    assert!(run.result.flows.iter().all(|flow| flow.bytes_delivered > 500_000 && !flow.connection_lost));
}

/// What it does not go with, and settings that mean nothing.
#[test]
fn what_has_no_effect_or_no_sense_is_refused() {
    for (keys, text) in [
        (&[("quic.mtu", "1000B")][..], "quic.mtu"),
        (&[("quic.ack_every", "0")], "quic.ack_every"),
        (&[("reliability", "50")], "reliability"),
        (&[("quic.ack_rule", "chrome"), ("quic.ack_every", "10")], "quic.ack_rule"),
        (&[("flow.application.kind", "page"), ("flow.application.http", "http/1.1")], "application.http"),
        (&[("quic.congestion", "bbr1")], "quic.congestion"),
    ] {
        let error = load("fast-dsl", keys).expect_err("it is refused");
        assert!(error.contains(text), "{error}");
    }
    let other = [("quic.ack_every".to_owned(), "10".to_owned())];
    let error = Scenario::load("fast-dsl", &other).expect_err("no flow is QUIC").to_string();
    assert!(error.contains("quic"), "{error}");
}

/// An acknowledgement of each tenth packet, or Chrome's rule: less of the air, and less energy for a radio that is awake anyway.
#[test]
fn thinner_acknowledgements_cost_a_radio_less() {
    let joules = |key: &str, value: &str| {
        let keys = [("flow.application.size", "10MB"), ("policy", "active"), (key, value)];
        let run = simulate(&load("fast-dsl", &keys).expect("it can run"), 1);
        let station = &run.result.stations[0];
        (station.state_s.transmit, station.energy_j)
    };
    let (many, more) = joules("quic.ack_every", "2");
    for (key, value) in [("quic.ack_every", "10"), ("quic.ack_rule", "chrome")] {
        let (few, less) = joules(key, value);
        // The station's own acknowledgements of frames are the same.
        assert!(few < many * 0.7, "{value}: {few} {many}");
        assert!(less < more, "{value}: {less} {more}");
    }
}

//! Table 2.3 of the PhD thesis and table 3 of the master's thesis: the same measurements, two readings.

use super::*;

/// Minimum RTT in s, throughput in bit/s, bytes at overflow; packets in the PhD's and in the master's table.
const ACCESS_POINTS: [(&str, f64, f64, f64, f64, f64); 3] = [
    ("Buffalo", 0.975e-3, 21.8e6, 118_003.0, 76.9, 78.9),
    ("NEC", 0.563e-3, 19.6e6, 76_719.0, 50.2, 51.5),
    ("Corega", 0.674e-3, 20.2e6, 366_826.0, 243.4, 250.0),
];

fn of(min_rtt_s: f64, throughput_bps: f64, overflow_bytes: f64) -> Params {
    Params { min_rtt_s, throughput_bps, overflow_bytes, ..Params::default() }
}

#[test]
fn s000_tab2_3() {
    for (name, rtt_s, rate, bytes, printed, _) in ACCESS_POINTS {
        let packets = solve(&of(rtt_s, rate, bytes)).unwrap().buffer_packets;
        assert!((packets - printed).abs() <= 0.05, "{name}: {packets}");
    }
}

#[test]
fn s003_tab3() {
    for (name, rtt_s, rate, bytes, _, printed) in ACCESS_POINTS {
        let master = Params {
            mss_bytes: 1460.0,
            megabit: Megabit::Binary,
            digits: Digits::Cut,
            ..of(rtt_s, rate, bytes)
        };
        let packets = solve(&master).unwrap().buffer_packets;
        assert!((packets - printed).abs() < 1e-9, "{name}: {packets}");
    }
}

#[test]
fn bad_parameters_are_named() {
    assert_eq!(solve(&of(0.0, 1e6, 1e5)).unwrap_err().parameter, "min_rtt_s");
    assert_eq!(solve(&of(1e-3, 1e9, 1e5)).unwrap_err().parameter, "overflow_bytes");
    assert_eq!(solve(&of(1e-3, f64::NAN, 1e5)).unwrap_err().parameter, "throughput_bps");
}

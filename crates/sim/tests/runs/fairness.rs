//! Who gets the bandwidth of a cell: the measured interval and its indices, the access point's options, the buffer estimate
//! against a buffer that is known, and many stations.

use crate::support::{in_parallel, scenario, simulate, simulate_traced};
use airwatt_models::ap_buffer;
use airwatt_sim::record::RunResult;

/// Ten stations for a time that suffices to tell fair from unfair.
const SHORT: [(&str, &str); 3] =
    [("duration", "60s"), ("measure_from", "20s"), ("fairness_windows", "[\"1s\"]")];

fn ten_up(set: &[(&str, &str)]) -> RunResult {
    simulate(&scenario("ten-up", &[&SHORT, set].concat()), 1).result
}

fn total_mbps(result: &RunResult) -> f64 {
    result.flows.iter().filter_map(|flow| flow.measured_bps).sum::<f64>() * 1e-6
}

/// Plain Reno starves flows; three remedies do not.
#[test]
fn what_starves_ten_up_flows_and_what_does_not() {
    let plain = ten_up(&[]);
    assert!(plain.fairness.jain < 0.6, "{}", plain.fairness.jain);
    for (name, set) in
        [("ackloss", ("flow.transport", "reno+ackloss")), ("priority", ("ap.priority", "true"))]
    {
        let cured = ten_up(&[set]);
        assert!(cured.fairness.jain > 0.9, "{name}: {}", cured.fairness.jain);
        assert!(total_mbps(&cured) < total_mbps(&plain), "{name}: fairness costs throughput");
    }
    // FQ-CoDel bounds what a flow's ACKs wait for, but cumulative ACKs make up for those that it drops.
    let fair_queue = ten_up(&[("ap.queue", "fq-codel")]);
    assert!(fair_queue.fairness.jain > plain.fairness.jain);
}

/// The page of docs/validation.md on ten up flows: what bounds an up flow's window decides, not the retry limit.
#[test]
fn the_stations_queue_decides_and_the_retry_limit_does_not() {
    let bounded = ten_up(&[("station.buffer", "50packets")]);
    assert!(bounded.fairness.jain > 0.7, "{}", bounded.fairness.jain);
    let patient = ten_up(&[("wifi.retry_limit", "255")]);
    assert!(patient.fairness.jain < 0.6, "{}", patient.fairness.jain);
}

/// `tcp.header` has all options, so that with timestamps it leaves room for the same payload: over the wire and over the air.
#[test]
fn timestamps_are_a_part_of_the_header_in_the_capacity() {
    for rate in ["16Mbps", "1Gbps"] {
        let capacity_bps = |timestamps| {
            let set = [
                ("tcp.header", "60B"),
                ("tcp.timestamps", timestamps),
                ("wired.down.rate", rate),
                ("flow.application.size", "100kB"),
            ];
            simulate(&scenario("fast-dsl", &set), 1).result.fairness.capacity_bps
        };
        assert_eq!(capacity_bps("true"), capacity_bps("false"), "{rate}");
    }
    let wire = [("tcp.header", "60B"), ("tcp.timestamps", "true"), ("flow.application.size", "100kB")];
    let capacity_bps = simulate(&scenario("fast-dsl", &wire), 1).result.fairness.capacity_bps;
    assert!((capacity_bps - 16e6 * 1440.0 / 1500.0).abs() < 1.0, "{capacity_bps}");
}

/// Two laptops with 300 and 15 Mbit/s. By hand, in microseconds: a PPDU of 43 frames at 300 Mbit/s takes 1,788, one of 6 at 15 Mbit/s
/// 4,904; AIFS, the mean backoff, SIFS and the block acknowledgement take 158.5, and 194.5 at the slow station, which answers at
/// 6 Mbit/s. Alone they have 260.9 and 13.9 Mbit/s of IP packets. In turns by frames both have 1 / (1 / 260.9 + 1 / 13.9) = 13.2; with
/// equal time of PPDUs 2.743 of the fast ones go with a slow one: 133.4 and 6.79.
#[test]
fn a_slow_station_takes_no_more_than_its_share_of_air_time() {
    let disciplines = ["drop-tail", "fq-codel", "mac80211", "ath9k"];
    let runs = in_parallel(&disciplines, |discipline| {
        let set = [("ap.queue", *discipline), ("duration", "10s"), ("measure_from", "4s")];
        let result = simulate(&scenario("slow-station", &set), 1).result;
        [0, 1].map(|flow| result.flows[flow].measured_bps.unwrap() * 1476.0 / 1448.0 * 1e-6)
    });
    let table: Vec<_> = disciplines.iter().zip(&runs).collect();
    show(&format!("{table:?}\n"));
    let [drop_tail, fq_codel, aql, fair] = runs[..] else { panic!("four runs") };
    let near = |[fast, slow]: [f64; 2], [by_hand, slow_by_hand]: [f64; 2], bound: f64| {
        let differences = [fast / by_hand - 1.0, slow / slow_by_hand - 1.0];
        assert!(differences.iter().all(|difference| difference.abs() < bound), "{table:?}");
    };
    near(drop_tail, [13.2, 13.2], 0.03);
    near(fq_codel, [13.2, 13.2], 0.03);
    near(fair, [133.4, 6.79], 0.02);
    // Linux's estimate of air time differs from the time, and so do the shares.
    near(aql, [133.4, 6.79], 0.15);
}

#[test]
fn measured_throughputs_are_those_of_the_interval() {
    let traced = simulate_traced(&scenario("ten-up", &SHORT), 3, true);
    let (from, bins) = &traced.trace.as_ref().unwrap().deliveries;
    assert_eq!(from.as_secs_f64(), 20.0);
    for (flow, bins) in traced.result.flows.iter().zip(bins) {
        assert_eq!(bins.len(), 400);
        let bits = bins.iter().sum::<u64>() as f64 * 8.0;
        assert!((bits / 40.0 - flow.measured_bps.unwrap()).abs() < 1e-6);
    }
    let fairness = &traced.result.fairness;
    assert_eq!((fairness.measured_from_s, fairness.windows.len()), (Some(20.0), 1));
    assert!(fairness.windows[0].jain <= fairness.jain, "long-term fairness is no worse than short-term");
}

/// A flow that begins only at the end counts as zero, and nothing is not a number.
#[test]
fn a_flow_that_never_sends_is_a_zero() {
    let result = ten_up(&[("flow.start", "60s"), ("flow.start_spread", "0s")]);
    assert!(result.flows.iter().all(|flow| flow.measured_bps == Some(0.0)));
    let fairness = &result.fairness;
    assert_eq!((fairness.jain, fairness.fair_utilization), (1.0, 0.5));
    assert_eq!((fairness.windows[0].jain, fairness.windows[0].fair_utilization_alpha1), (1.0, 0.0));
    let text = serde_json::to_string(&result).unwrap();
    assert!(!text.contains("NaN") && !text.contains("inf"));
}

/// Equation 2.11 against the simulated access point: one download, at its first loss of data, which a first threshold below
/// the buffer keeps out of slow start.
fn estimate(packets: u32, delayed_ack: &str) -> f64 {
    let limit = format!("{packets}packets");
    let threshold = format!("{}B", 1460 * packets / 2);
    let one = format!("{{ count = 1, buffer = {:?} }}", "2000packets");
    let flow = "[{ direction = \"down\", transport = \"reno\" }]";
    let set = [
        ("station", format!("[{one}]")),
        ("flow", flow.to_owned()),
        ("ap.buffer", limit),
        ("wired.rtt", "0.6ms".to_owned()),
        ("duration", "40s".to_owned()),
        ("measure_from", "0s".to_owned()),
        ("fairness_windows", "[]".to_owned()),
        ("tcp.initial_ssthresh", threshold),
        ("tcp.delayed_ack", delayed_ack.to_owned()),
    ];
    let set: Vec<(&str, &str)> = set.iter().map(|(key, value)| (*key, value.as_str())).collect();
    let run = simulate_traced(&scenario("ten-up", &set), 1, true);
    let trace = run.trace.unwrap();
    let loss = trace.windows.windows(2).find(|two| two[1].cwnd < two[0].cwnd).unwrap();
    // The throughput of the last second before it, in packets of the wire: the buffer holds those.
    let (from, bins) = &trace.deliveries;
    let before = (loss[1].at - *from).whole(airwatt_base::Span::from_millis(100)) as usize;
    let last = &bins[0][before.saturating_sub(10).max(1)..before];
    let throughput_bps = last.iter().sum::<u64>() as f64 * 80.0 / last.len() as f64;
    // The least round trip is that of a packet that is alone.
    let alone =
        [&set[..], &[("tcp.receive_window", "1packets"), ("duration", "2s"), ("tcp.delayed_ack", "false")]]
            .concat();
    let min_rtt_s = simulate(&scenario("ten-up", &alone), 1).result.flows[0].rtt_s_mean.unwrap();
    let buffer = ap_buffer::solve(&ap_buffer::Params {
        overflow_bytes: f64::from(loss[0].cwnd),
        throughput_bps,
        min_rtt_s,
        mss_bytes: 1460.0,
        ..ap_buffer::Params::default()
    })
    .unwrap()
    .buffer_packets;
    show(&format!(
        "buffer {packets}, delayed ACK {delayed_ack}: {buffer:.1}; window {}, {throughput_bps:.0} bit/s, {min_rtt_s:.6} s",
        loss[0].cwnd
    ));
    buffer
}

/// With delayed acknowledgements the estimate is right to a packet. Without, a station has as many frames to send as the
/// access point and as many turns: its queue of acknowledgements wanders far up, and what they acknowledge counts as in
/// flight, so that the estimate is too high. The theses measured without.
#[test]
fn the_estimate_finds_a_known_buffer_within_a_packet() {
    for packets in [50, 77, 243] {
        let off = |delayed_ack| estimate(packets, delayed_ack) - f64::from(packets);
        assert!(off("true").abs() <= 1.0, "buffer {packets}");
        assert!((5.0..60.0).contains(&off("false")), "buffer {packets}");
    }
}

/// The cost of an event hardly depends on the number of stations, and a thousand of them run.
#[test]
#[ignore = "takes seconds without optimisation; made for --release"]
fn a_thousand_stations() {
    for count in [1, 10, 100, 1000] {
        let text = count.to_string();
        let set = [
            ("station.count", text.as_str()),
            ("duration", "10s"),
            ("measure_from", "5s"),
            ("flow.start_spread", "2s"),
        ];
        let windows = ("fairness_windows", "[]");
        let scenario = scenario("ten-up", &[&set[..], &[windows]].concat());
        let result = simulate(&scenario, 1).result;
        assert_eq!(result.flows.len(), count as usize);
        show(&format!(
            "{count} stations: {} events, {} collisions",
            result.events, result.cell.air.collisions
        ));
    }
}

#[expect(clippy::print_stdout, reason = "figures to be read with --nocapture")]
fn show(figures: &str) {
    println!("{figures}");
}

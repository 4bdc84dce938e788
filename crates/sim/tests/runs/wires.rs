//! Flows that share a line with neighbours who have no radio, and flows on a line of their own.

use airwatt_sim::record::RunResult;
use airwatt_sim::scenario::Scenario;

use crate::support::simulate;

/// Fast DSL with Fast Wi-Fi, and these stations and flows.
fn run(policy: &str, stations: u32, flows: &str, more: &str) -> RunResult {
    let text = format!(
        r#"
        base = "fast-dsl"
        {more}
        [[station]]
        count = {stations}
        power_save = {{ policy = "{policy}" }}
        radio = "broadcom-4311"
        {flows}
        "#
    );
    simulate(&Scenario::from_text(&text, "wires", &[]).expect("it can run"), 1).result
}

/// A neighbour's download has the line to itself, and no frame on the air but beacons.
#[test]
fn a_neighbour_uses_the_line_and_not_the_air() {
    let flows =
        "[[flow]]\nneighbours = 1\ndirection = \"down\"\napplication = { kind = \"bulk\", size = \"10MB\" }";
    let result = run("psm", 1, flows, "");
    assert_eq!((result.flows[0].station, result.flows[0].bytes_delivered), (None, 10_000_000));
    // 16 Mbit/s less headers, and slow start.
    assert!((13.5e6..15.5e6).contains(&result.flows[0].goodput_bps), "{}", result.flows[0].goodput_bps);
    assert!((20e-3..80e-3).contains(&result.flows[0].rtt_s_mean.expect("it was measured")));
    assert!(result.cell.air.frames < 100, "{:?}", result.cell);
    assert!(result.stations[0].energy_per_bit_j.is_none());
    // What the flows could have is the line's, with no air in between.
    assert!((result.fairness.capacity_bps / (16e6 * 1448.0 / 1500.0) - 1.0).abs() < 1e-9);
}

/// Two downloads over one line get what one would have; with neighbours at it, a station's is the longer for it.
#[test]
fn neighbours_share_the_line_with_stations() {
    let own = "[[flow]]\ndirection = \"down\"\napplication = { kind = \"bulk\", size = \"5MB\" }\n";
    let alone = run("active", 1, own, "");
    let flows = format!(
        "{own}[[flow]]\nneighbours = 2\ndirection = \"down\"\napplication = {{ kind = \"bulk\", size = \"20MB\" }}"
    );
    let beside = run("active", 1, &flows, "");
    assert_eq!(beside.flows.iter().map(|flow| flow.station).collect::<Vec<_>>(), [Some(0), None, None]);
    let goodput = |result: &RunResult| result.flows[0].goodput_bps;
    assert!((0.15..0.7).contains(&(goodput(&beside) / goodput(&alone))), "{}", goodput(&beside));
    let last = beside.flows.iter().filter_map(|flow| flow.completed_s).fold(0.0, f64::max);
    let together = 8.0 * 45e6 / last;
    assert!((12.5e6..15.5e6).contains(&together), "{together}");
    assert!(beside.cell.down_queue_drops > 0, "the DSLAM's buffer is what they fight for");
}

/// A line of one's own is not shared: the Ethernet's flow is an order faster than the DSL's, and the DSL line is left alone.
#[test]
fn a_line_of_ones_own() {
    let flows = r#"
        [[flow]]
        stations = [0]
        direction = "down"
        application = { kind = "bulk", size = "5MB" }
        [[flow]]
        stations = [1]
        direction = "down"
        application = { kind = "bulk", size = "5MB" }
        wired = { rtt = "20ms", down = { rate = "100Mbps" }, up = { rate = "100Mbps" } }
    "#;
    let result = run("active", 2, flows, "");
    let [dsl, ethernet] = [&result.flows[0], &result.flows[1]];
    assert!((8e6..15.5e6).contains(&dsl.goodput_bps), "{}", dsl.goodput_bps);
    assert!(ethernet.goodput_bps > 2.5 * dsl.goodput_bps, "{}", ethernet.goodput_bps);
    // Overheads count against the slowest link of the flow's own way.
    assert!(ethernet.time_overhead.expect("it is complete") > dsl.time_overhead.expect("it is complete"));
}

/// A server at the base station for one flow, and one behind a line for another.
#[test]
fn a_line_for_some_and_none_for_others() {
    let text = r#"
        wifi = "fast-wifi"
        [[station]]
        count = 2
        [[flow]]
        stations = [0]
        direction = "up"
        application = { kind = "bulk", size = "2MB" }
        [[flow]]
        stations = [1]
        direction = "up"
        application = { kind = "bulk", size = "2MB" }
        wired = { rtt = "50ms", down = { rate = "8Mbps" }, up = { rate = "4Mbps" } }
    "#;
    let result = simulate(&Scenario::from_text(text, "mixed", &[]).expect("it can run"), 1).result;
    assert!(result.flows[0].goodput_bps > 15e6, "{}", result.flows[0].goodput_bps);
    assert!((2e6..4e6).contains(&result.flows[1].goodput_bps), "{}", result.flows[1].goodput_bps);
}

/// Three stations and two neighbours, each with a download and an upload over fast DSL: everything comes through under every
/// policy, the lines are full and never more than that, and the same seed gives the same document.
#[test]
fn bulk_both_ways_with_stations_and_neighbours() {
    let flows: String = [("stations = [0, 1, 2]", "down", "3MB"), ("stations = [0, 1, 2]", "up", "300kB")]
        .into_iter()
        .chain([("neighbours = 2", "down", "3MB"), ("neighbours = 2", "up", "300kB")])
        .map(|(whose, direction, size)| {
            format!("[[flow]]\n{whose}\ndirection = \"{direction}\"\napplication = {{ kind = \"bulk\", size = \"{size}\" }}\n")
        })
        .collect();
    for policy in ["active", "timeout", "psm", "psm-legacy", "uapsd", "ba-ta", "ba-ta+str", "psm-throttling"]
    {
        let result = run(policy, 3, &flows, "");
        assert_eq!(result.flows.len(), 10);
        for flow in &result.flows {
            let size = if flow.direction == "down" { 3_000_000 } else { 300_000 };
            assert_eq!(flow.bytes_delivered, size, "{policy}: flow {}", flow.id);
        }
        for (direction, rate, bytes) in [("down", 16e6, 15e6), ("up", 1e6, 1.5e6)] {
            let of = result.flows.iter().filter(|flow| flow.direction == direction);
            let last = of.filter_map(|flow| flow.completed_s).fold(0.0, f64::max);
            assert!(8.0 * bytes / last < rate, "{policy} {direction}: {last} s");
        }
        // The uplink also carries the downloads' acknowledgements; it is what all wait for.
        assert!(result.simulated_s < 60.0, "{policy}: {} s", result.simulated_s);
        assert_eq!(without_wall(result), without_wall(run(policy, 3, &flows, "")));
    }
}

fn without_wall(result: RunResult) -> RunResult {
    RunResult { wall_s: 0.0, ..result }
}

/// Packets of a call beside a download wait behind its packets in a drop-tail queue, and take turns with them in the others. With a filter fewer
/// acknowledgements of a download come over a way up that an upload fills.
#[test]
fn queues_that_choose_keep_a_call_from_waiting() {
    let flows = "flow = [{ direction = \"down\", transport = \"cubic\", application = { kind = \"bulk\" } }, { direction = \"up\", transport = \"cubic\", application = { kind = \"bulk\" } }, { direction = \"down\", transport = \"udp\", application = { kind = \"cbr\", rate = \"64kbps\", packet = \"160B\" } }]";
    let run = |discipline: &str| {
        let text = format!(
            "base = \"fast-dsl\"\nduration = \"20s\"\nlatency_percentiles = true\ntcp = {{ profile = \"linux\" }}\n{flows}\n[wired]\nrtt = \"20ms\"\ndown = {{ rate = \"16Mbps\", queue = \"1000packets\", discipline = \"{discipline}\" }}\nup = {{ rate = \"1Mbps\", queue = \"1000packets\", discipline = \"{discipline}\" }}\n"
        );
        let scenario = Scenario::from_text(&text, "line.toml", &[]).unwrap_or_else(|error| panic!("{error}"));
        let found = simulate(&scenario, 1);
        assert_eq!(found.fingerprints, simulate(&scenario, 1).fingerprints, "{discipline}");
        let result = found.result;
        let delay = result.flows[2].latencies.as_ref().expect("percentiles").latency_s_p99;
        (delay, result.flows[0].goodput_bps, result.links[0].reverse.queue_drops)
    };
    let (waits, ..) = run("drop-tail");
    assert!(waits > 0.1, "{waits}");
    for discipline in ["fq-codel", "fq", "cake"] {
        let (waits, ..) = run(discipline);
        assert!(waits < 0.03, "{discipline}: {waits}");
    }
    let (_, with_all, few) = run("cake");
    let (waits, with_few, many) = run("cake-ack-filter");
    assert!(waits < 0.03 && with_few > 0.98 * with_all, "{waits} {with_few} {with_all}");
    assert!(many > few + 1_000, "{many} {few}");
}

/// CoDel drops packets of a download that does not ask for ECN. Of one that asks it marks them: nothing is sent twice, and the window is
/// reduced all the same.
#[test]
fn a_queue_marks_what_asks_for_it() {
    let run = |ecn: &str, discipline: &str| {
        let text = format!(
            "base = \"fast-dsl\"\nduration = \"20s\"\ntcp = {{ profile = \"linux\", {ecn} }}\nflow = [{{ direction = \"down\", transport = \"cubic\", application = {{ kind = \"bulk\" }} }}]\n[wired]\nrtt = \"20ms\"\ndown = {{ rate = \"16Mbps\", queue = \"1000packets\", discipline = \"{discipline}\" }}\n"
        );
        let scenario = Scenario::from_text(&text, "line.toml", &[]).unwrap_or_else(|error| panic!("{error}"));
        simulate(&scenario, 1).result
    };
    let dropped = run("ecn = false", "fq-codel");
    let rtt = |result: &RunResult| result.flows[0].rtt_s_mean.expect("it was measured");
    assert!(dropped.flows[0].segments_retransmitted > 5, "{}", dropped.flows[0].segments_retransmitted);
    // Both kinds of ECN reduce the window for a mark.
    for ecn in ["ecn = true", "accecn = true"] {
        let (marked, waits) = (run(ecn, "fq-codel"), run(ecn, "drop-tail"));
        let sent_again = marked.flows[0].segments_retransmitted;
        assert_eq!((sent_again, marked.links[0].forward.queue_drops), (0, 0), "{ecn}");
        assert!(marked.flows[0].goodput_bps > 0.98 * dropped.flows[0].goodput_bps, "{ecn}");
        assert!(rtt(&marked) < 0.06 && rtt(&waits) > 0.2, "{ecn}: {} {}", rtt(&marked), rtt(&waits));
    }
}

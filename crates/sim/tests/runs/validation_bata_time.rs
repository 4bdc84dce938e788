//! What goes on in time in the same paper: figures 3 and 4, slow start and recovery, uploads, the numbers in its text.

use airwatt_base::{Instant, Seq, Span};
use airwatt_sim::media::cell::frame::{CellFrameKind, Node, TracedFrame};
use airwatt_sim::packet::Payload;
use airwatt_sim::record::RunTrace;

use crate::support::{Mean, in_parallel, scenario, simulate, simulate_traced};

fn traced(access: &str, wifi: &str, policy: &str) -> RunTrace {
    let set = [("wifi", wifi), ("policy", policy)];
    simulate_traced(&scenario(access, &set), 1, true).trace.expect("it was asked for")
}

/// Share of the time between `from` and `until` during which a queue was empty.
fn empty_share(queue: &[(Instant, u32)], from: Instant, until: Instant) -> f64 {
    let mut empty = Span::ZERO;
    let ends = queue.iter().skip(1).map(|(at, _)| *at).chain([until]);
    for ((at, length), end) in queue.iter().zip(ends) {
        if *length == 0 {
            empty += end.clamp(from, until).saturating_since((*at).clamp(from, until));
        }
    }
    empty.as_secs_f64() / until.saturating_since(from).as_secs_f64()
}

/// Beacon intervals (from each beacon to the next) in which `holds` is true of some entry of the queue.
fn intervals_with(trace: &RunTrace, queue: &[(Instant, u32)], holds: impl Fn(u32) -> bool) -> f64 {
    let beacons: Vec<Instant> = trace
        .frames
        .iter()
        .filter(|frame| frame.kind == CellFrameKind::Beacon)
        .map(|frame| frame.start)
        .collect();
    let found = beacons.windows(2).filter(|pair| {
        let begin = queue.partition_point(|(at, _)| *at < pair[0]);
        queue[begin..].iter().take_while(|(at, _)| *at < pair[1]).any(|(_, length)| holds(*length))
    });
    found.count() as f64 / (beacons.len() - 1) as f64
}

/// Figure 3a: on slow DSL the station empties the access point at each beacon, and the DSLAM always has the next packet.
/// Figure 3b: on fast DSL the DSLAM runs empty between bursts.
#[test]
fn the_dslam_runs_empty_on_fast_dsl_only() {
    for wifi in ["slow-wifi", "fast-wifi"] {
        let slow = traced("slow-dsl", wifi, "psm");
        let empty = empty_share(&slow.down_queue, Instant::from_secs(30), slow.end);
        assert!(empty < 0.02, "{wifi}: {empty}");
        let emptied = intervals_with(&slow, &slow.ap_queue, |length| length == 0);
        assert!(emptied > 0.99, "{wifi}: the access point is emptied in each interval, {emptied}");

        let fast = traced("fast-dsl", wifi, "psm");
        let returns = intervals_with(&fast, &fast.down_queue, |length| length == 0);
        let bursts = intervals_with(&fast, &fast.down_queue, |length| length > 10);
        show(&format!(
            "{wifi}: slow DSL empty {empty:.4}; fast DSL returns to zero {returns:.3}, bursts {bursts:.3}"
        ));
        assert!(returns > 0.5 && bursts > 0.3, "{wifi}: {returns} {bursts}");
    }
}

/// Figure 3b: with Slow Wi-Fi some service periods outlast the next beacon ("extended awake"). With Fast Wi-Fi none does:
/// figure 5 has the station asleep there when the next window arrives.
#[test]
fn slow_wifi_keeps_the_station_awake_beyond_the_next_beacon() {
    let [slow, fast] = ["slow-wifi", "fast-wifi"].map(|wifi| longest_awake(&traced("fast-dsl", wifi, "psm")));
    show(&format!("longest awake on fast DSL: slow Wi-Fi {slow}, fast Wi-Fi {fast}"));
    assert!(slow > Span::from_millis(100), "{slow}");
    assert!(fast < Span::from_millis(100), "{fast}");
}

/// The longest time without falling asleep.
fn longest_awake(trace: &RunTrace) -> Span {
    let changes = trace.radios.windows(2);
    let awake = changes.filter(|pair| pair[1].state == airwatt_energy::RadioState::Sleep);
    awake.map(|pair| pair[1].at.saturating_since(pair[0].at)).max().unwrap_or_default()
}

/// TCP ACKs that the station sends in a row, on average.
fn acks_in_a_row(frames: &[TracedFrame]) -> f64 {
    let data = frames.iter().filter(|frame| frame.kind == CellFrameKind::Data && frame.received);
    let (mut acks, mut rows, mut last) = (0_u32, 0_u32, Node::AccessPoint);
    for frame in data {
        if frame.from != Node::AccessPoint {
            acks += 1;
            rows += u32::from(last == Node::AccessPoint);
        }
        last = frame.from;
    }
    f64::from(acks) / f64::from(rows)
}

/// Section 2.1: with Slow Wi-Fi data and ACKs alternate fairly; with Fast Wi-Fi a transmission opportunity compresses
/// ACKs into bursts.
#[test]
fn transmission_opportunities_compress_acks() {
    let [slow, fast] = ["slow-wifi", "fast-wifi"]
        .map(|wifi| acks_in_a_row(&traced("wifi-bottleneck", wifi, "active").frames));
    show(&format!("TCP ACKs in a row: slow Wi-Fi {slow:.2}, fast Wi-Fi {fast:.2}"));
    assert!(slow < 2.5, "{slow}");
    assert!(fast > 2.0 * slow, "{fast}");
}

/// How long slow start and the recovery from it last, in seconds: until all is acknowledged that had been sent when the
/// first retransmission was on the air.
fn beginning_s(access: &str, policy: &str, timer: &str) -> f64 {
    let scenario = scenario(
        access,
        &[("policy", policy), ("flow.application.size", "10MB"), ("tcp.partial_ack_timer", timer)],
    );
    let phases = in_parallel(&[1, 2, 3, 4, 5], |seed| {
        let trace = simulate_traced(&scenario, *seed, true).trace.expect("it was asked for");
        let (mut highest, mut outstanding): (Option<Seq>, Option<Seq>) = (None, None);
        for frame in trace.frames.iter().filter(|frame| frame.received) {
            let Some(Payload::Tcp(segment)) = frame.packet.map(|packet| packet.payload) else { continue };
            if segment.len > 0 {
                let end = segment.seq + u32::from(segment.len);
                match highest {
                    Some(highest) if end.at_or_before(highest) => outstanding = outstanding.or(Some(highest)),
                    _ => highest = Some(end),
                }
            } else if outstanding.is_some_and(|outstanding| segment.ack.at_or_after(outstanding)) {
                return frame.start.as_secs_f64();
            }
        }
        panic!("{access} {policy}: slow start ends with a loss")
    });
    Mean::of(&phases).mean
}

/// Section 2.1: slow start and fast recovery take longer under PSM, most of all where Wi-Fi is the bottleneck. The latter
/// holds where recovery is left to partial acknowledgements, one in a beacon interval; with the timer that RFC 6582
/// recommends a timeout cuts it short, and the lines differ little.
#[test]
fn recovery_from_slow_start_takes_longer_asleep() {
    let longer = |timer| {
        let both = |access| ["active", "psm"].map(|policy| beginning_s(access, policy, timer));
        let all = ["wifi-bottleneck", "fast-dsl", "slow-dsl"].map(both);
        show(&format!(
            "slow start and recovery, {timer}, [active, psm] s: Wi-Fi, fast DSL, slow DSL {all:.2?}"
        ));
        assert!(all.iter().all(|[active, psm]| psm > active), "{all:?}");
        all.map(|[active, psm]| psm - active)
    };
    longer("impatient");
    let [wifi, fast, slow] = longer("slow-but-steady");
    assert!(wifi > fast && wifi > slow, "{wifi} {fast} {slow}");
}

/// Section 2: uploads over DSL do not suffer.
#[test]
fn uploads_over_dsl_do_not_suffer() {
    for access in ["slow-dsl", "fast-dsl"] {
        for wifi in ["slow-wifi", "fast-wifi"] {
            let [active, psm] = ["active", "psm"].map(|policy| {
                let set = [
                    ("wifi", wifi),
                    ("policy", policy),
                    ("flow.direction", "up"),
                    ("flow.application.size", "5MB"),
                ];
                simulate(&scenario(access, &set), 1).result
            });
            let goodput = psm.flows[0].goodput_bps / active.flows[0].goodput_bps;
            let energy = psm.stations[0].energy_j / active.stations[0].energy_j;
            show(&format!("upload {access} {wifi}: goodput {goodput:.3}, energy {energy:.3} of active"));
            assert!(goodput >= 0.9 && energy < 1.0, "{access} {wifi}: {goodput} {energy}");
        }
    }
}

/// Section 2.2.3: the round trip that TCP sees is rounded up to whole beacon intervals, so a packet is held for 90 ms at
/// an RTT of 110 ms, and for 50 ms at 150 ms.
#[test]
fn the_round_trip_is_a_whole_number_of_beacon_intervals() {
    for rtt in ["110ms", "150ms"] {
        let set = [("wifi", "fast-wifi"), ("policy", "psm"), ("wired.rtt", rtt)];
        let seen = simulate(&scenario("fast-dsl", &set), 1).result.flows[0].rtt_s_mean.expect("measured");
        assert!((seen - 0.2).abs() < 0.005, "{rtt}: {seen}");
    }
}

#[expect(clippy::print_stdout, reason = "figures to be read with --nocapture")]
fn show(figures: &str) {
    println!("{figures}");
}

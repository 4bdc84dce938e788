//! Paths that carry less than the settings say: one that drops long packets and says nothing, and one of which it is known.

use super::*;

fn searching() -> E2tcpConfig {
    E2tcpConfig { searches_payload: true, ..E2tcpConfig::default() }
}

/// A sends so many bytes to B.
fn transfer(
    config: &E2tcpConfig,
    bytes: usize,
    script: impl FnMut(usize, u64, &E2tcpPacket) -> Fate + 'static,
) -> Pair {
    let mut pair = Pair::apart(config, config).with(script);
    pair.input(A, Input::Open);
    pair.input(A, Input::Write(pattern(bytes)));
    pair
}

#[test]
fn a_path_that_drops_long_packets_gets_shorter_ones() {
    for carries in [999, 750, 600, 430, 250, 140] {
        let long = move |_, _, packet: &E2tcpPacket| {
            if packet.len > carries { Fate::Lose } else { Fate::Arrive }
        };
        let mut pair = transfer(&searching(), 200_000, long);
        pair.finish();
        assert!(pair.streams[B].bytes == pattern(200_000), "{carries}");
        let payload = pair.ends[A].payload_max();
        assert!(payload <= carries && payload >= carries * 5 / 9, "{payload} of {carries}");
        // Packets are as long as before until then, and none is lost after it.
        let last = pair.ladder.iter().rposition(|line| line.contains("/lost/")).expect("the first ones");
        assert!(last < pair.ladder.len() / 2, "{last} of {}", pair.ladder.len());
        let stalled =
            pair.ladder[last].split(' ').next().and_then(|time| time.parse::<u64>().ok()).expect("ms");
        assert!(stalled < 120_000, "{carries}: after {stalled} ms, of which a first timeout takes 1,000");
    }
}

#[test]
fn a_burst_of_losses_leaves_packets_as_they_are() {
    for lost in [20, 30, 40, 50] {
        let burst = move |who, sent, _: &E2tcpPacket| {
            if who == A && (10..10 + lost).contains(&sent) { Fate::Lose } else { Fate::Arrive }
        };
        let mut pair = transfer(&searching(), 400_000, burst);
        pair.finish();
        assert!(pair.streams[B].bytes == pattern(400_000), "after {lost}");
        assert_eq!(pair.ends[A].payload_max(), 1_000, "after {lost}");
    }
}

#[test]
fn a_path_that_becomes_narrower_loses_no_byte() {
    let carries = std::rc::Rc::new(std::cell::Cell::new(1_000));
    let limit = carries.clone();
    let long = move |_, _, packet: &E2tcpPacket| {
        if packet.len > limit.get() { Fate::Lose } else { Fate::Arrive }
    };
    let config = E2tcpConfig::default();
    let mut pair = transfer(&config, 200_000, long);
    pair.run(600);
    carries.set(300);
    pair.run(750);
    pair.ends[A].narrow(300, pair.now);
    pair.settle(A);
    let at = pair.ladder.len();
    pair.finish();
    assert!(pair.streams[B].bytes == pattern(200_000));
    assert!(pair.ladder[at..].iter().all(|line| !line.contains("/lost/")));
    assert!(pair.now < Instant::from_millis(60_000), "{:?}", pair.now);
}

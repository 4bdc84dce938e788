//! Hosts that do not get to their packets for a while: timers expire before acknowledgements are read that came in time.

use super::*;

const PACKETS: usize = 400;

/// A sends to B, and in every second reads nothing for a time that is longer than its timeouts.
fn busy(config: &E2tcpConfig, pauses: u64, pause: Span) -> Pair {
    let mut pair = Pair::established(config, config);
    let bytes = pauses as usize * 1_000 * PACKETS;
    pair.input(A, Input::Write(pattern(bytes)));
    for second in 0..pauses {
        let begins = Span::from_millis(700 + 1_000 * second);
        pair.run(begins.as_nanos() / 1_000_000);
        pair.stall(A, begins + pause);
    }
    pair.finish();
    assert!(pair.streams[B].bytes == pattern(bytes));
    pair
}

/// As a device is set, with windows that fill the thesis' hop.
fn device(ack_every: u32) -> E2tcpConfig {
    E2tcpConfig { undoes_timeouts: true, ack_every, ..E2tcpConfig::default() }
}

#[test]
fn what_was_only_read_late_is_not_sent_again() {
    for ack_every in [1, 4] {
        let config = device(ack_every);
        let before =
            busy(&E2tcpConfig { undoes_timeouts: false, ..config.clone() }, 1, Span::from_millis(160));
        assert!(before.ends[A].statistics().packets_resent >= 20, "{:?}", before.ends[A].statistics());
        let pair = busy(&config, 1, Span::from_millis(160));
        let statistics = pair.ends[A].statistics();
        assert_eq!((statistics.transmission_timeouts, statistics.timeouts_undone), (1, 1), "{ack_every}");
        assert_eq!(
            statistics.packets_resent,
            u64::from(config.after_timeout),
            "what a timeout sends at once"
        );
        // The window is what it was before.
        let at = pair.windows.iter().rposition(|window| *window == config.after_timeout).expect("a timeout");
        assert!(pair.windows.len() - at <= 8, "it does not grow again by ones: {:?}", pair.windows);
    }
}

#[test]
fn timeouts_that_come_too_early_become_longer() {
    let (pauses, pause) = (6, Span::from_millis(160));
    let pair = busy(&device(1), pauses, pause);
    let statistics = pair.ends[A].statistics();
    assert!(statistics.transmission_timeouts < pauses, "{statistics:?}");
    assert_eq!(statistics.timeouts_undone, statistics.transmission_timeouts);
    let before = busy(&E2tcpConfig { undoes_timeouts: false, ..device(1) }, pauses, pause);
    assert!(before.ends[A].statistics().transmission_timeouts >= pauses, "{:?}", before.ends[A].statistics());
}

/// Some more timeouts come while nothing is read: what is sent again does not grow with the flight.
#[test]
fn a_long_pause_costs_what_its_timeouts_send_at_once() {
    let pair = busy(&device(1), 1, Span::from_millis(900));
    let statistics = pair.ends[A].statistics();
    assert!(statistics.transmission_timeouts >= 2, "{statistics:?}");
    assert_eq!(statistics.timeouts_undone, 1);
    assert_eq!(statistics.packets_resent, 5 * statistics.transmission_timeouts);
}

/// A burst loses the last packets of a flight, a whole flight, or more, so that nothing but a timeout finds it.
#[test]
fn losses_that_a_timeout_finds_are_sent_again_as_before() {
    for (from, until) in [(101, 130), (110, 160), (PACKETS as u64 - 20, PACKETS as u64)] {
        let transfer = |config: &E2tcpConfig| {
            let burst = move |who, sent: u64, _: &E2tcpPacket| {
                if who == A && (from..=until).contains(&sent) { Fate::Lose } else { Fate::Arrive }
            };
            let mut pair = Pair::established(config, config).with(burst);
            pair.input(A, Input::Write(pattern(1_000 * PACKETS)));
            pair.finish();
            assert!(pair.streams[B].bytes == pattern(1_000 * PACKETS));
            let statistics = *pair.ends[A].statistics();
            assert_eq!(statistics.timeouts_undone, 0, "{from}");
            (statistics.packets_resent, pair.now)
        };
        for ack_every in [1, 4] {
            let config = device(ack_every);
            let (resent, done) = transfer(&config);
            let (before, done_before) = transfer(&E2tcpConfig { undoes_timeouts: false, ..config });
            assert!(resent <= before + 5, "{from}, {ack_every}: {resent} instead of {before}");
            let later = done.saturating_since(done_before);
            assert!(later <= Span::from_millis(200), "{from}, {ack_every}: {later:?} later");
        }
    }
}

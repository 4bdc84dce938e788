use super::*;

const MSS: u32 = 1_000;

fn newreno(initial_window: u32, initial_ssthresh: u32, growth: Growth) -> CongestionControl {
    CongestionControl::new(&CongestionConfig {
        algorithm: Algorithm::NewReno,
        mss: MSS,
        initial_window,
        initial_ssthresh,
        growth,
    })
}

fn acked(bytes: u32, flight: u32) -> Acknowledged {
    Acknowledged { bytes, flight, now: Instant::ZERO, srtt: Span::ZERO }
}

/// Acknowledges one segment of a window that is full.
fn ack_one(control: &mut CongestionControl) {
    let flight = control.cwnd();
    control.on_ack(acked(MSS, flight));
}

#[test]
fn slow_start_doubles_in_a_round_trip() {
    let mut control = newreno(2 * MSS, UNLIMITED, Growth::Bytes);
    for round in 1..=5 {
        for _ in 0..control.cwnd() / MSS {
            ack_one(&mut control);
        }
        assert_eq!(control.cwnd(), (2 << round) * MSS);
    }
}

#[test]
fn slow_start_grows_by_at_most_a_segment_an_ack() {
    let mut control = newreno(4 * MSS, UNLIMITED, Growth::Bytes);
    control.on_ack(acked(4 * MSS, 4 * MSS));
    assert_eq!(control.cwnd(), 5 * MSS);
    control.on_ack(acked(10, 5 * MSS));
    assert_eq!(control.cwnd(), 5 * MSS + 10);
}

#[test]
fn congestion_avoidance_grows_by_a_segment_a_round_trip() {
    let mut control = newreno(8 * MSS, 8 * MSS, Growth::Bytes);
    for round in 1..=20 {
        for _ in 0..control.cwnd() / MSS {
            ack_one(&mut control);
        }
        assert_eq!(control.cwnd(), (8 + round) * MSS);
    }
}

#[test]
fn counted_by_acks_a_stretch_ack_grows_as_little_as_any() {
    let mut control = newreno(10 * MSS, 10 * MSS, Growth::Acks);
    control.on_ack(acked(2 * MSS, 10 * MSS));
    assert_eq!(control.cwnd(), 10 * MSS + MSS / 10);
    let mut wide = newreno(1 << 29, 1 << 29, Growth::Acks);
    ack_one(&mut wide);
    assert_eq!(wide.cwnd(), (1 << 29) + 1, "at least one byte");
}

#[test]
fn a_window_that_is_not_used_does_not_grow() {
    let mut control = newreno(10 * MSS, UNLIMITED, Growth::Bytes);
    control.on_ack(acked(MSS, 9 * MSS));
    assert_eq!(control.cwnd(), 10 * MSS);
    control.on_ack(acked(MSS, 9 * MSS + 1));
    assert_eq!(control.cwnd(), 11 * MSS);
}

#[test]
fn recovery_inflates_deflates_and_ends_at_the_threshold() {
    let mut control = newreno(20 * MSS, UNLIMITED, Growth::Bytes);
    control.enter_recovery(20 * MSS, 3);
    assert_eq!((control.ssthresh(), control.cwnd()), (10 * MSS, 13 * MSS));
    for _ in 0..6 {
        control.on_duplicate_ack();
    }
    assert_eq!(control.cwnd(), 19 * MSS);
    control.on_partial_ack(acked(5 * MSS, 20 * MSS));
    assert_eq!(control.cwnd(), 15 * MSS);
    control.on_partial_ack(acked(400, 20 * MSS));
    assert_eq!(control.cwnd(), 15 * MSS - 400, "less than a segment adds nothing back");
    control.leave_recovery();
    assert_eq!((control.ssthresh(), control.cwnd()), (10 * MSS, 10 * MSS));
}

#[test]
fn a_timeout_falls_to_one_segment_and_repeated_ones_keep_the_threshold() {
    let mut control = newreno(20 * MSS, UNLIMITED, Growth::Bytes);
    control.on_timeout(20 * MSS, true, false);
    assert_eq!((control.ssthresh(), control.cwnd()), (10 * MSS, MSS));
    control.on_timeout(MSS, false, false);
    assert_eq!((control.ssthresh(), control.cwnd()), (10 * MSS, MSS));
    control.on_timeout(MSS, true, false);
    assert_eq!((control.ssthresh(), control.cwnd()), (2 * MSS, MSS), "never below two segments");
}

#[test]
fn idleness_and_a_lost_syn_shrink_the_window_only() {
    let mut control = newreno(20 * MSS, UNLIMITED, Growth::Bytes);
    control.on_idle(10 * MSS);
    assert_eq!((control.ssthresh(), control.cwnd()), (UNLIMITED, 10 * MSS));
    control.on_idle(15 * MSS);
    assert_eq!(control.cwnd(), 10 * MSS);
    control.on_lost_syn();
    assert_eq!((control.ssthresh(), control.cwnd()), (UNLIMITED, MSS));
}

#[test]
fn no_window_grows_without_bound() {
    let mut control = newreno(WINDOW_MAX - 1, UNLIMITED, Growth::Bytes);
    ack_one(&mut control);
    ack_one(&mut control);
    assert_eq!(control.cwnd(), WINDOW_MAX);
}

/// A timeout in fast recovery: the flight of 60 segments is the inflated window's, not the path's.
#[test]
fn a_timeout_in_recovery_does_not_raise_the_threshold() {
    let mut control = newreno(20 * MSS, UNLIMITED, Growth::Bytes);
    control.enter_recovery(20 * MSS, 3);
    control.on_timeout(60 * MSS, true, true);
    assert_eq!((control.ssthresh(), control.cwnd()), (10 * MSS, MSS));
    control.on_timeout(8 * MSS, true, true);
    assert_eq!(control.ssthresh(), 4 * MSS, "but lowers it where less is in flight");
}

//! Limits and worked values of the throughput formulas, and the blocks under them.

use proptest::prelude::*;

use super::*;
use crate::tcp_blocks::{fails, p_of_window};

fn near(value: f64, expected: f64, relative: f64) -> bool {
    (value - expected).abs() <= relative * expected.abs()
}

/// The specification's E(W) and Q, for b = 1.
#[test]
fn golden_blocks() {
    for (p, w, q) in [(1e-3, 52.6236, 0.06126), (1e-2, 17.2788, 0.21048), (1e-1, 6.0000, 0.69263)] {
        assert!((window(p, 1.0) - w).abs() < 6e-5);
        assert!((timeout_probability(window(p, 1.0), p) - q).abs() < 6e-6);
        assert!(near(p_of_window(w), p, 1e-4));
    }
    // 3/w for small p, not 6p.
    assert!(near(timeout_probability(1000.0, 1e-9), 3e-3, 1e-3));
    assert_eq!(timeout_probability(2.5, 0.01), 1.0);
    let p = 0.1_f64;
    let sum =
        1.0 + p + 2.0 * p.powi(2) + 4.0 * p.powi(3) + 8.0 * p.powi(4) + 16.0 * p.powi(5) + 32.0 * p.powi(6);
    assert!(near(backoff_factor(p), sum, 1e-15));
    assert!(near(fails(0.1, 3.0), 1.0 - 0.9_f64.powi(3), 1e-14));
}

/// Equation 32 by hand at p = 0.1, b = 1: W = 6, good = 9, Q as above.
#[test]
fn padhye_by_hand() {
    let q = 0.692_63;
    let wait_s = q * backoff_factor(0.1) * 1.0 / 0.9;
    let expected = 8.0 * 1460.0 * (9.0 + 6.0 + q / 0.9) / (0.1 * 4.0 + wait_s);
    let output = solve(&Params { p: 0.1, b: 1, ..Params::default() }).unwrap();
    assert!(near(output.throughput_bps, expected, 1e-5));
    assert!(near(output.goodput_bps, expected * (9.0 + 3.0 + q) / (15.0 + q / 0.9), 1e-5));
    assert!(near(output.timeout_time_share, wait_s / (0.4 + wait_s), 1e-5));
}

/// At small p everything is the square-root law, and sent is what arrives.
#[test]
fn small_p_is_the_square_root_law() {
    for b in [1, 2] {
        let output = solve(&Params { p: 1e-7, b, rto_s: 0.5, ..Params::default() }).unwrap();
        assert!(near(output.throughput_bps, output.mathis_bps, 0.01));
        assert!(near(output.approximate_bps, output.mathis_bps, 0.01));
        assert!(near(output.goodput_bps, output.mathis_bps, 0.01));
    }
    // Mathis et al.: C = 1.22 with an acknowledgement for each packet, 0.87 with delayed ones.
    let constant = |b| {
        solve(&Params { p: 1e-4, b, ..Params::default() }).unwrap().mathis_bps / (8.0 * 1460.0) * 0.1 * 0.01
    };
    assert!(near(constant(1), 1.22, 4e-3) && near(constant(2), 0.87, 6e-3));
}

#[test]
fn a_window_limits() {
    let output = solve(&Params { p: 1e-6, window_packets: 10.0, ..Params::default() }).unwrap();
    let limit = 8.0 * 1460.0 * 10.0 / 0.1;
    assert!(near(output.throughput_bps, limit, 0.01));
    assert_eq!((output.approximate_bps, output.mathis_bps), (limit, limit));
}

/// RFC 5348 section 3.1 has Padhye's approximation as X_Bps. By hand for s = 1460, R = 0.1 s, t_RTO = 4 R, b = 1, p = 0.01:
/// 1460 / (0.1 sqrt(0.02 / 3) + 0.4 * 3 sqrt(0.03 / 8) * 0.01 * 1.0032) bytes a second.
#[test]
fn rfc5348_equation_by_hand() {
    let output = solve(&Params { b: 1, rto_s: 0.4, ..Params::default() }).unwrap();
    assert!(near(output.approximate_bps, 8.0 * 164_005.0, 1e-5), "{}", output.approximate_bps);
}

/// Q as its source defines it before it is summed up: of w packets in the penultimate round the first k arrive, and k
/// acknowledgements let k packets into the last one, of which m arrive before the next loss. It is a timeout unless three
/// duplicates come back, from either round.
fn timeout_by_cases(w: i32, p: f64) -> f64 {
    let some_lost = 1.0 - (1.0 - p).powi(w);
    let first_lost = |k: i32| (1.0 - p).powi(k) * p / some_lost;
    let arrive = |k: i32, m: i32| (1.0 - p).powi(m) * if m < k { p } else { 1.0 };
    let last = |k: i32| (0..3.min(k + 1)).map(|m| arrive(k, m)).sum::<f64>();
    (0..w).map(|k| first_lost(k) * if k < 3 { 1.0 } else { last(k) }).sum()
}

#[test]
fn the_share_of_timeouts_is_the_sum_over_all_cases() {
    for w in [4, 5, 8, 13, 40, 200] {
        for p in [1e-4, 0.003, 0.03, 0.2, 0.6] {
            let (closed, summed) = (timeout_probability(f64::from(w), p), timeout_by_cases(w, p));
            assert!(near(closed, summed.min(1.0), 1e-9), "w {w}, p {p}: {closed} {summed}");
        }
    }
}

/// A row of k timeouts has probability p^(k-1) (1 - p) and lasts (2^k - 1) T0 up to six, 64 T0 more for each beyond.
#[test]
fn the_backoff_factor_is_the_mean_of_a_row_of_timeouts() {
    for p in [0.001_f64, 0.05, 0.3] {
        let lasts = |k: i32| if k <= 6 { 2_f64.powi(k) - 1.0 } else { 63.0 + 64.0 * f64::from(k - 6) };
        let mean: f64 = (1..400).map(|k| p.powi(k - 1) * (1.0 - p) * lasts(k)).sum();
        assert!(near(backoff_factor(p) / (1.0 - p), mean, 1e-12), "p {p}");
    }
}

/// E(W) balances a period: (1-p)/p + W packets are sent while the window grows from W/2 to W by one in b rounds, half a
/// window of them in the round of the loss (Padhye's equations 7, 11 and 12).
#[test]
fn the_window_balances_a_period() {
    for b in [1.0, 2.0, 3.0] {
        for p in [1e-4, 0.01, 0.2] {
            let w = window(p, b);
            let rounds = b * w / 2.0;
            let sent = rounds / 2.0 * (w / 2.0 + w - 1.0) + w / 2.0;
            assert!(near((1.0 - p) / p + w, sent, 1e-12), "b {b}, p {p}");
        }
    }
}

/// A generator for the chain below: Knuth's 64-bit congruence, its upper bits.
struct Chance(u64);

impl Chance {
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// Packets and seconds of the process that the formula is the mean of, played round by round: the window grows by one in b
/// rounds up to `limit`, each packet of a round is lost with probability p until one is, the packets behind it are lost too,
/// those before it let as many into the last round, and a timeout comes by the rule above.
fn played(p: f64, b: u32, limit: f64, rto_rtts: f64) -> f64 {
    let (mut chance, mut w, mut sent, mut rtts) = (Chance(7), window(p, f64::from(b)).min(limit), 0.0, 0.0);
    for _ in 0..40_000 {
        let mut round = 0;
        let first_lost = loop {
            let packets = w.floor().max(1.0);
            let lost = (0..packets as u32).find(|_| chance.unit() < p);
            rtts += 1.0;
            round += 1;
            if let Some(before) = lost {
                sent += packets;
                break before;
            }
            sent += packets;
            if round % b == 0 {
                w = (w + 1.0).min(limit);
            }
        };
        // The last round: what the arrived packets let out.
        let arrived = (0..first_lost).take_while(|_| chance.unit() >= p).count();
        sent += f64::from(first_lost);
        rtts += 1.0;
        if first_lost < 3 || arrived < 3 {
            let (mut length, mut row) = (1.0, 1);
            loop {
                sent += 1.0;
                rtts += rto_rtts * length;
                if chance.unit() >= p {
                    break;
                }
                row += 1;
                length = 2_f64.powi((row - 1).min(6));
            }
        }
        w = (w / 2.0).max(1.0);
    }
    sent / rtts
}

/// The formula takes means for the products of what varies. Of the process itself it is within 6 % at small p, and 19 to 21 %
/// above at p = 0.05: a part of what separates it from TCP there is not TCP's doing.
#[test]
fn equation_32_is_near_the_process_that_it_describes() {
    for (b, limit) in [(1, 1e6), (2, 1e6), (1, 12.0), (2, 12.0)] {
        for (p, above) in [(1e-3, 0.06), (0.01, 0.15), (0.05, 0.25)] {
            let rate = steady(p, 1.0, 4.0, f64::from(b), limit).sent;
            let here = played(p, b, limit, 4.0);
            assert!(
                (-0.06..above).contains(&(rate / here - 1.0)),
                "b {b}, at most {limit}, p {p}: {rate} {here}"
            );
        }
    }
}

#[test]
fn bad_parameters_are_named() {
    let error = |params: Params| solve(&params).unwrap_err().parameter;
    for p in [0.0, 1.0, f64::NAN] {
        assert_eq!(error(Params { p, ..Params::default() }), "p");
    }
    assert_eq!(error(Params { rtt_s: 0.0, ..Params::default() }), "rtt_s");
    assert_eq!(error(Params { b: 0, ..Params::default() }), "b");
    assert_eq!(error(Params { window_packets: 0.9, ..Params::default() }), "window_packets");
}

proptest! {
    #[test]
    fn more_loss_is_less_throughput(log_p in -6.0..-0.4_f64, rtt_s in 0.001..1.0_f64) {
        let solved = |p| solve(&Params { p, rtt_s, ..Params::default() }).unwrap();
        let (less, more) = (solved(10_f64.powf(log_p)), solved(10_f64.powf(log_p + 0.3)));
        prop_assert!(more.goodput_bps < less.goodput_bps);
        prop_assert!(less.goodput_bps <= less.throughput_bps * (1.0 + 1e-12));
    }
}

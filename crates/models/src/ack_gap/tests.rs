//! Table 3.1 of the source.

use super::*;

fn near(value: f64, expected: f64, relative: f64) -> bool {
    (value - expected).abs() <= relative * expected.abs()
}

fn gap_ms(cross: f64, averaging: GapAveraging) -> f64 {
    let params = Params { throughput_bps: (30.0 - cross) * 1e6, averaging, ..Params::default() };
    1e3 * solve(&params).unwrap().gap_s
}

/// s000.tab3.1.analysis: rows 12, 22, 25, 28 by the distribution, 20 and 29 by expectations.
#[test]
fn s000_tab3_1_analysis() {
    for (cross, printed) in [(12.0, 0.954), (22.0, 1.97), (25.0, 3.19), (28.0, 7.59)] {
        assert!(near(gap_ms(cross, GapAveraging::Distribution), printed, 0.0035), "{cross}");
    }
    for (cross, printed) in [(20.0, 1.66), (29.0, 21.6)] {
        assert!(near(gap_ms(cross, GapAveraging::Expectations), printed, 0.0055), "{cross}");
    }
}

/// The whole table as the specification computes it.
#[test]
fn both_averages() {
    let table = [
        (12.0, 0.957, 0.975),
        (20.0, 1.591, 1.652),
        (22.0, 1.974, 2.081),
        (25.0, 3.183, 3.408),
        (28.0, 7.588, 9.333),
        (29.0, 14.09, 21.57),
    ];
    for (cross, distribution, expectations) in table {
        assert!(near(gap_ms(cross, GapAveraging::Distribution), distribution, 6e-4), "{cross}");
        assert!(near(gap_ms(cross, GapAveraging::Expectations), expectations, 6e-4), "{cross}");
    }
}

/// s000.tab3.1.error: the printed errors are those of the printed rows.
#[test]
fn s000_tab3_1_error() {
    let rows = [
        (0.898, 0.954, 6.23),
        (1.57, 1.66, 5.26),
        (2.03, 1.97, 3.03),
        (3.50, 3.19, 8.92),
        (11.35, 7.59, 33.1),
        (54.7, 21.6, 60.6),
    ];
    for (index, (simulated, analysed, error)) in rows.into_iter().enumerate() {
        let recomputed = 100.0 * f64::abs(simulated - analysed) / simulated;
        assert!(near(recomputed, error, 0.10));
        assert_eq!(error <= 10.0, index < 4);
        assert_eq!(analysed < simulated, index >= 2);
    }
}

#[test]
fn the_distribution_has_the_mean() {
    for m in [1, 2, 5] {
        let params = Params { m, ..Params::default() };
        let output = solve(&params).unwrap();
        let gaps = distribution(&params).unwrap();
        let count: f64 = gaps.iter().map(|(_, weight)| weight).sum();
        let time: f64 = gaps.iter().map(|(gap_s, weight)| gap_s * weight).sum();
        assert!(near(time / count, output.gap_s, 1e-12));
        assert!(gaps.windows(2).all(|pair| pair[1].0 <= pair[0].0));
    }
}

#[test]
fn bad_parameters_are_named() {
    for throughput_bps in [0.0, 240e3, f64::NAN, f64::INFINITY] {
        let error = solve(&Params { throughput_bps, ..Params::default() }).unwrap_err();
        assert_eq!(error.parameter, "throughput_bps");
    }
    assert_eq!(
        solve(&Params { throughput_bps: 1e15, ..Params::default() }).unwrap_err().parameter,
        "throughput_bps"
    );
    assert_eq!(solve(&Params { m: 0, ..Params::default() }).unwrap_err().parameter, "m");
}

//! Tests against the tables of both theses, the limits that follow from the definitions, and inputs without an index.

use proptest::prelude::*;

use super::*;

/// Half of the last printed digit; both theses round 0.625 to 0.62.
const PRINTED: f64 = 0.005_01;

fn near(value: f64, printed: f64) -> bool {
    (value - printed).abs() <= PRINTED
}

/// PhD thesis, table 2.1: ten flows, C = 30: the throughputs, Jain's index, the proposed index.
#[test]
fn table_of_the_phd_thesis() {
    let nine = |x: f64, last: f64| [[x; 9].as_slice(), &[last]].concat();
    let cases = [
        (vec![3.0; 10], 1.0, 1.0),
        (vec![2.0; 10], 1.0, 0.9),
        (vec![1.0; 10], 1.0, 0.69),
        (nine(1.0, 6.0), 0.5, 0.67),
        ([[1.0; 8].as_slice(), &[6.0, 6.0]].concat(), 0.5, 0.64),
        (nine(2.0, 12.0), 0.5, 0.5),
        ([[1.0; 6].as_slice(), &[2.0, 3.0, 3.0, 6.0]].concat(), 0.62, 0.73),
        (vec![1.0, 1.0, 1.0, 3.0, 3.0, 3.0, 3.0, 4.0, 5.0, 6.0], 0.78, 0.78),
    ];
    for (case, (throughputs, expected_jain, expected)) in cases.iter().enumerate() {
        assert!(near(jain(throughputs).unwrap(), *expected_jain), "Jain, case {}", case + 1);
        assert!(near(fair_utilization(throughputs, 30.0).unwrap(), *expected), "index, case {}", case + 1);
    }
}

/// Master thesis, table 1: ten flows, C = 30, alpha = 1.
#[test]
fn table_of_the_master_thesis() {
    let alone = |x: f64| [[x].as_slice(), &[0.0; 9]].concat();
    let cases = [
        (vec![3.0; 10], 1.0, 1.0),
        (vec![2.0; 10], 1.0, 0.6),
        (vec![1.0; 10], 1.0, 0.23),
        (alone(30.0), 0.1, 0.1),
        (alone(15.0), 0.1, 0.14),
        (alone(1.0), 0.1, 0.02),
        (vec![0.0, 0.0, 1.0, 1.0, 2.0, 2.0, 2.0, 4.0, 4.0, 4.0], 0.65, 0.49),
        (vec![3.0, 3.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 1.0, 1.0], 0.91, 0.58),
        (vec![1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 3.0, 3.0, 3.0, 12.0], 0.48, 0.48),
        (vec![1.0, 1.0, 1.0, 3.0, 3.0, 3.0, 3.0, 4.0, 5.0, 6.0], 0.78, 0.78),
    ];
    for (case, (throughputs, expected_jain, expected)) in cases.iter().enumerate() {
        assert!(near(jain(throughputs).unwrap(), *expected_jain), "Jain, case {}", case + 1);
        let index = fair_utilization_alpha(throughputs, 30.0, 1.0).unwrap();
        assert!(near(index, *expected), "index, case {}", case + 1);
    }
}

/// Quoted in section 2.4.1 of the PhD thesis.
#[test]
fn jain_of_the_text() {
    assert!(near(jain(&[10.0, 30.0, 40.0]).unwrap(), 0.82));
}

#[test]
fn all_zero_is_defined() {
    assert_eq!(jain(&[0.0; 4]), Ok(1.0));
    assert_eq!(fair_utilization(&[0.0; 4], 10.0), Ok(0.5));
    assert_eq!(fair_utilization_alpha(&[0.0; 4], 10.0, 1.0), Ok(0.0));
    assert_eq!(fair_utilization_alpha(&[0.0; 4], 10.0, 0.0), Ok(0.5));
}

#[test]
fn errors_name_the_parameter_and_its_range() {
    let text = |error: FairnessError| error.to_string();
    assert_eq!(text(jain(&[]).unwrap_err()), "throughputs: expected one or more, got none");
    assert_eq!(
        text(jain(&[1.0, -2.0]).unwrap_err()),
        "throughputs[1]: expected a finite value of zero or more, got -2"
    );
    assert!(text(jain(&[f64::NAN]).unwrap_err()).ends_with("got NaN"));
    for capacity in [0.0, -1.0, f64::INFINITY, f64::NAN] {
        assert!(text(fair_utilization(&[1.0], capacity).unwrap_err()).starts_with("capacity: "));
    }
    for alpha in [-1.0, f64::INFINITY, f64::NAN] {
        assert!(text(fair_utilization_alpha(&[1.0], 1.0, alpha).unwrap_err()).starts_with("alpha: "));
    }
    assert_eq!(fair_utilization_alpha(&[1e300], 1.0, 4.0), Err(FairnessError::Overflow));
}

#[test]
fn a_total_above_the_capacity_can_be_refused() {
    assert_eq!(check_capacity_holds(&[1.0, 2.0], 3.0), Ok(()));
    let error = check_capacity_holds(&[1.0, 2.5], 3.0).unwrap_err();
    assert_eq!(error.to_string(), "capacity: expected the sum of the throughputs, 3.5, or more, got 3");
}

/// Two flows that alternate are fair in windows of both turns, and as unfair as possible in windows of one turn.
#[test]
fn short_and_long_windows_differ() {
    let turns = [vec![8.0, 0.0, 8.0, 0.0], vec![0.0, 8.0, 0.0, 8.0]];
    let swm = |window, index| sliding_window(&turns, 0.5, window, index).unwrap();
    assert!(near(swm(1, Index::Jain), 0.5) && near(swm(2, Index::Jain), 1.0));
    // In three bins, the flows carry 16 and 8 of 24 in both positions.
    assert!((swm(3, Index::Jain) - 0.9).abs() < 1e-12);
    assert!((swm(4, Index::FairUtilization(16.0)) - 1.0).abs() < 1e-12);
    assert!((swm(4, Index::FairUtilizationAlpha(32.0, 1.0)) - 0.8 * 0.5).abs() < 1e-12);
}

#[test]
fn sliding_windows_name_what_is_wrong() {
    let text = |amounts: &[Vec<f64>], bin, window| {
        sliding_window(amounts, bin, window, Index::Jain).unwrap_err().to_string()
    };
    assert_eq!(text(&[], 1.0, 1), "throughputs: expected one or more, got none");
    assert_eq!(
        text(&[vec![1.0; 3], vec![1.0; 2]], 1.0, 1),
        "amounts[1]: expected 3 bins, as of the first flow, got 2"
    );
    assert_eq!(text(&[vec![1.0; 3]], 1.0, 4), "window: expected 1 to 3 bins, the length of the trace, got 4");
    assert_eq!(text(&[vec![1.0; 3]], 1.0, 0), "window: expected 1 to 3 bins, the length of the trace, got 0");
    assert_eq!(text(&[vec![1.0; 3]], 0.0, 1), "bin: expected a finite value above zero, got 0");
    assert!(text(&[vec![-1.0; 3]], 1.0, 1).ends_with("got -1"));
}

fn flows() -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec(0.0..100.0_f64, 1..12)
}

proptest! {
    /// Rational form of the thesis: C^2 / (n sum x^2 - 2 C sum x + 2 C^2).
    #[test]
    fn the_rational_form_agrees(x in flows(), capacity in 0.1..200.0_f64) {
        let (sum, squares) = (x.iter().sum::<f64>(), x.iter().map(|x| x * x).sum::<f64>());
        let rational = capacity * capacity
            / (x.len() as f64 * squares - 2.0 * capacity * sum + 2.0 * capacity * capacity);
        let index = fair_utilization(&x, capacity).unwrap();
        prop_assert!((index - rational).abs() <= 1e-9, "{index} {rational}");
    }

    /// Property (3) of the thesis: if the flows fill the capacity, the index is Jain's, for any alpha.
    #[test]
    fn a_full_bottleneck_gives_jain(x in flows(), alpha in 0.0..4.0_f64) {
        let sum: f64 = x.iter().sum();
        prop_assume!(sum > 1e-6);
        let expected = jain(&x).unwrap();
        prop_assert!((fair_utilization(&x, sum).unwrap() - expected).abs() < 1e-9);
        prop_assert!((fair_utilization_alpha(&x, sum, alpha).unwrap() - expected).abs() < 1e-9);
    }

    /// Properties (1) and (2): at equal totals the index orders allocations as Jain's does.
    #[test]
    fn at_equal_totals_the_order_is_that_of_jain(x in flows(), y in flows(), capacity in 0.1..200.0_f64) {
        let n = x.len().min(y.len());
        let total = |v: &[f64]| v.iter().sum::<f64>();
        prop_assume!(total(&x[..n]) > 1e-3 && total(&y[..n]) > 1e-3);
        let scale = total(&x[..n]) / total(&y[..n]);
        let y: Vec<f64> = y[..n].iter().map(|v| v * scale).collect();
        let (jx, jy) = (jain(&x[..n]).unwrap(), jain(&y).unwrap());
        let (fx, fy) = (fair_utilization(&x[..n], capacity).unwrap(), fair_utilization(&y, capacity).unwrap());
        if jx < jy - 1e-9 {
            prop_assert!(fx <= fy + 1e-12, "{jx} {jy} {fx} {fy}");
        }
    }

    #[test]
    fn values_stay_in_range_and_are_numbers(x in flows(), capacity in 1e-300..1e300_f64) {
        let n = x.len() as f64;
        let index = jain(&x).unwrap();
        prop_assert!((1.0 / n - 1e-12..=1.0 + 1e-12).contains(&index));
        prop_assert!((0.0..=1.0).contains(&fair_utilization(&x, capacity).unwrap()));
        prop_assert!(fair_utilization_alpha(&x, capacity, 1.0).is_ok_and(f64::is_finite));
    }

    #[test]
    fn no_bits_give_nan(bits in prop::collection::vec(any::<u64>(), 0..6), capacity: u64, alpha: u64) {
        let x: Vec<f64> = bits.into_iter().map(f64::from_bits).collect();
        let (capacity, alpha) = (f64::from_bits(capacity), f64::from_bits(alpha));
        for value in [jain(&x), fair_utilization(&x, capacity), fair_utilization_alpha(&x, capacity, alpha)] {
            prop_assert!(!value.is_ok_and(f64::is_nan));
        }
    }
}

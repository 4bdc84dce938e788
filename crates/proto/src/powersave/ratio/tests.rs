use super::*;

#[test]
fn decimals_are_read_and_written_as_they_are() {
    for text in ["0", "1", "0.9", "-0.1", "10.000000001", "0.000000001", "999999999.999999999"] {
        assert_eq!(text.parse::<Ratio>().unwrap().to_string(), text);
    }
    assert_eq!("0.900".parse::<Ratio>().unwrap(), Ratio::from_permille(900));
    for text in
        ["", "-", ".5", "5.", "1e3", "+1", "0.0000000001", "1000000000", "0,9", "nan", "1.-1", "1.2.3"]
    {
        let error = text.parse::<Ratio>().unwrap_err().to_string();
        assert_eq!(error, format!("expected a number with at most nine decimals, such as 0.9, got {text:?}"));
    }
}

#[test]
fn arithmetic_is_exact_or_cut_off_towards_zero() {
    let ratio = Ratio::from_permille;
    assert_eq!(ratio(900) - ratio(1_000), -ratio(100));
    assert_eq!(ratio(900).times(ratio(-100)), ratio(-90));
    assert_eq!(ratio(-90).abs(), ratio(90));
    assert_eq!(ratio(900).of(7), 6);
    assert_eq!(ratio(900).of(-7), -6);
    assert_eq!(Ratio::share(1, 3).0, 333_333_333);
    assert_eq!(Ratio::share(u64::MAX, u64::MAX - 1), Ratio::ONE);
    assert_eq!(Ratio::share(5, 0), Ratio::ZERO);
    assert_eq!(ratio(900).smooth(1_000, 0), 900);
    assert_eq!(ratio(900).smooth(1, 0), 0, "what is smoothed away is gone at last");
    assert_eq!(ratio(750).smooth_ratio(ratio(1_000), ratio(-1_000)), ratio(500));
}

//! Tests against the worked examples of the E2TCP thesis, and of bounds.

use proptest::prelude::*;

use super::*;

fn bytes(count: u64) -> Size {
    Size::from_bytes(count)
}

fn near(value: f64, expected: f64) -> bool {
    (value - expected).abs() < 1e-12
}

/// Example 2.3: 1000 bytes with a 40-byte header and a 40-byte acknowledgement. Example 2.4: the packet is sent twice;
/// the thesis prints 212 %, its own definition gives 112 %.
#[test]
fn data_overheads_of_the_examples() {
    assert!(near(data_overhead(bytes(1080), bytes(1000)).unwrap(), 0.08));
    assert!(near(data_overhead(bytes(2120), bytes(1000)).unwrap(), 1.12));
    assert!(near(data_overhead(bytes(900), bytes(1000)).unwrap(), -0.1));
}

/// 1000 bytes take 8 ms at 1 Mb/s; 12 ms is an overhead of 50 % (example 2.5).
#[test]
fn time_overheads() {
    let rate = Rate::from_bps(1_000_000);
    assert!(near(time_overhead(Span::from_millis(12), bytes(1000), rate).unwrap(), 0.5));
    assert!(near(time_overhead(Span::from_millis(8), bytes(1000), rate).unwrap(), 0.0));
    assert!(near(time_overhead(Span::from_millis(4), bytes(1000), rate).unwrap(), -0.5));
    let extreme = time_overhead(Span::MAX, bytes(1), Rate::from_bps(u64::MAX)).unwrap();
    assert!(extreme.is_finite() && extreme > 0.0);
}

/// Overheads without errors, with one 1000-byte packet for each acknowledgement on a full-duplex link: TCP with 40-byte
/// headers 8, 4 and 6 %; E2TCP with 8-byte headers 1.6, 0.8 and 1.2 %.
#[test]
fn error_free_overheads_of_the_thesis() {
    let rate = Rate::from_bps(1_000_000);
    for (header, data, time, energy) in [(40, 0.08, 0.04, 0.06), (8, 0.016, 0.008, 0.012)] {
        let sent = data_overhead(bytes(1000 + 2 * header), bytes(1000)).unwrap();
        let took = time_overhead(rate.time_for(bytes(1000 + header)), bytes(1000), rate).unwrap();
        assert!(near(sent, data) && near(took, time));
        assert!(near(energy_overhead(sent, took, INTERMEDIATE), energy));
    }
}

#[test]
fn mixes_weigh_as_the_table_says() {
    assert_eq!(MIXES.map(|mix| mix.name), ["always-active", "intermediate", "ideal"]);
    assert!(MIXES.iter().all(|mix| near(mix.data + mix.time, 1.0)));
    assert!(near(energy_overhead(1.0, 3.0, ALWAYS_ACTIVE), 2.8));
    assert!(near(energy_overhead(1.0, 3.0, INTERMEDIATE), 2.0));
    assert!(near(energy_overhead(1.0, 3.0, IDEAL), 1.2));
}

/// (2.12) is not the inverse of (2.5) unless both overheads are equal.
#[test]
fn efficiencies() {
    assert!(near(efficiency(0.0), 1.0) && near(efficiency(1.0), 0.5));
    assert!(near(energy_efficiency(1.0, 3.0, INTERMEDIATE), 0.375));
    assert!(near(efficiency(energy_overhead(1.0, 3.0, INTERMEDIATE)), 1.0 / 3.0));
}

#[test]
fn nothing_to_compare_with_is_an_error() {
    assert_eq!(data_overhead(bytes(1), Size::ZERO), Err(OverheadError::NoPayload));
    assert_eq!(time_overhead(Span::ZERO, Size::ZERO, Rate::from_bps(1)), Err(OverheadError::NoPayload));
    assert_eq!(time_overhead(Span::ZERO, bytes(1), Rate::ZERO), Err(OverheadError::NoRate));
    assert_eq!(OverheadError::NoRate.to_string(), "rate: expected more than 0bps, got 0bps");
}

proptest! {
    #[test]
    fn never_nan(sent: u64, payload: u64, elapsed: u64, rate: u64) {
        let (payload, rate) = (bytes(payload), Rate::from_bps(rate));
        prop_assert!(data_overhead(bytes(sent), payload).is_ok_and(f64::is_finite) || payload == Size::ZERO);
        let time = time_overhead(Span::from_nanos(elapsed), payload, rate);
        prop_assert!(time.is_ok_and(f64::is_finite) || payload == Size::ZERO || rate == Rate::ZERO);
    }
}

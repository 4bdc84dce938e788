//! The capacity that the theses use, and times by hand.

use proptest::prelude::*;

use super::*;

fn near(value: f64, expected: f64, relative: f64) -> bool {
    (value - expected).abs() <= relative * expected.abs()
}

/// The capacity of both theses: 1460 bytes a frame at 54 Mb/s, 31.04 Mb/s (29.60 x 2^20 bit/s; claim s000, s003).
#[test]
fn capacity_of_the_theses() {
    let output = solve(&Params::jun_2003_ofdm(54e6, 1460.0)).unwrap();
    let cycle_us = 34.0 + 67.5 + (20.0 + (22.0 + 8.0 * 1494.0) / 54.0) + 9.0 + 24.0;
    assert!(near(output.cycle_s, cycle_us * 1e-6, 1e-12));
    assert!(near(output.throughput_bps, 31.04e6, 2e-4), "{output:?}");
    assert!(near(output.throughput_bps / f64::from(1 << 20), 29.60, 3e-4), "{output:?}");
}

/// The paper writes the cycle as a x + b microseconds for a payload of x bytes. Here a is 8 bits over the rate, and b the
/// sum of the fixed times, added up by hand: at 54 Mb/s 34 + 67.5 + 9 + 24 + 20 + 294/54, at 11 Mb/s 50 + 310 + 10 + 304 + 192
/// + 272/11.
#[test]
fn the_cycle_is_a_line_with_these_coefficients() {
    let dsss = |rate: f64| Params { overhead_bytes: 34.0, ..Params::hr_dsss(rate, 1e6, 1.0) };
    for (params, a, b) in [
        (Params::jun_2003_ofdm(6e6, 1.0), 1.33333, 223.50),
        (Params::jun_2003_ofdm(12e6, 1.0), 0.66667, 187.00),
        (Params::jun_2003_ofdm(24e6, 1.0), 0.33333, 170.75),
        (Params::jun_2003_ofdm(54e6, 1.0), 0.14815, 159.94),
        (dsss(1e6), 8.0, 1138.0),
        (dsss(2e6), 4.0, 1002.0),
        (dsss(5.5e6), 1.45455, 915.45),
        (dsss(11e6), 0.72727, 890.73),
    ] {
        let cycle_us = |payload_bytes: f64| solve(&Params { payload_bytes, ..params }).unwrap().cycle_s * 1e6;
        let slope = (cycle_us(1001.0) - cycle_us(1.0)) / 1000.0;
        assert!((slope - a).abs() < 6e-6, "{slope} {a}");
        assert!((cycle_us(1.0) - slope - b).abs() < 6e-3, "{} {b}", cycle_us(1.0) - slope);
    }
}

/// 802.11a at 54 Mb/s by hand: an ACK at 24 Mb/s is 134 bits in 2 symbols, 28 us; a 1500-byte packet is 12 310 bits in 57
/// symbols of 216, 248 us; with DIFS 34, backoff 67.5 and SIFS 16 the cycle is 393.5 us.
#[test]
fn standard_times_by_hand() {
    assert!(near(ofdm_frame_s(14.0, 24e6), 28e-6, 1e-12));
    assert!(near(ofdm_frame_s(14.0, 6e6), 44e-6, 1e-12));
    let output = solve(&Params::ofdm(54e6, 24e6, 1500.0)).unwrap();
    assert!(near(output.data_s, 248e-6, 1e-12));
    assert!(near(output.backoff_s, 67.5e-6, 1e-12));
    assert!(near(output.cycle_s, 393.5e-6, 1e-12));
    let reserved = Params {
        rts_cts_s: Some((ofdm_frame_s(20.0, 24e6), ofdm_frame_s(14.0, 24e6))),
        propagation_s: 1e-6,
        ..Params::ofdm(54e6, 24e6, 1500.0)
    };
    assert!(near(solve(&reserved).unwrap().cycle_s, (393.5 + 28.0 + 28.0 + 32.0 + 4.0) * 1e-6, 1e-12));
}

/// Frames that fill their symbols exactly take no symbol more, at every rate of 802.11a.
#[test]
fn whole_symbols_stay_whole() {
    for rate in [6e6, 9e6, 12e6, 18e6, 24e6, 36e6, 48e6, 54e6] {
        for symbols in 1..2000_u32 {
            let symbols = f64::from(symbols);
            let bytes = (symbols * rate * 4e-6 - 22.0) / 8.0;
            assert!(near(ofdm_frame_s(bytes, rate), 20e-6 + symbols * 4e-6, 1e-12));
        }
    }
}

#[test]
fn errors_name_parameter_value_and_range() {
    let good = Params::ofdm(54e6, 24e6, 1500.0);
    let error = |params: Params| solve(&params).unwrap_err().to_string();
    assert_eq!(
        error(Params { data_rate_bps: 0.0, ..good }),
        "data_rate_bps: expected a finite number above zero, got 0"
    );
    assert_eq!(
        error(Params { rts_cts_s: Some((1e-6, -1.0)), ..good }),
        "rts_cts_s: expected a finite number of zero or more, got -1"
    );
    let line = error(Params::ofdm(54e6, 0.0, 1500.0));
    assert!(line.starts_with("ack_s: expected ") && line.ends_with(", got inf"), "{line}");
    let line = error(Params { payload_bytes: f64::NAN, ..good });
    assert!(line.starts_with("payload_bytes: expected ") && line.ends_with(", got NaN"), "{line}");
}

proptest! {
    /// More payload is always more throughput without symbols, and never more than the data rate.
    #[test]
    fn throughput_grows_with_the_payload(rate in 1e6..1e9_f64, small in 1.0..5000.0_f64, more in 1.0..5000.0_f64) {
        let throughput = |bytes| solve(&Params::jun_2003_ofdm(rate, bytes)).unwrap().throughput_bps;
        prop_assert!(throughput(small) < throughput(small + more));
        prop_assert!(throughput(small + more) < rate);
    }
}

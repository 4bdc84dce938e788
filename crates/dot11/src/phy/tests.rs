use super::*;

fn mbps(rate: &str) -> Rate {
    rate.parse().unwrap()
}

fn time(standard: Standard, rate: &str, bytes: u32) -> Span {
    standard.format(mbps(rate)).unwrap().time(bytes)
}

#[test]
fn frame_times_by_hand() {
    // An ACK of 14 bytes: 134 bits at 24 Mbit/s are 2 symbols, at 6 Mbit/s 6 symbols.
    assert_eq!(time(Standard::A, "24Mbps", 14), micros(28));
    assert_eq!(time(Standard::A, "6Mbps", 14), micros(44));
    assert_eq!(time(Standard::G, "24Mbps", 14), micros(34));
    // 1536 bytes at 54 Mbit/s: 12310 bits, 57 symbols.
    assert_eq!(time(Standard::A, "54Mbps", 1536), micros(248));
    // 802.11b: 14 bytes at 2 Mbit/s are 56 us behind 192 us.
    assert_eq!(time(Standard::B, "2Mbps", 14), micros(248));
    assert_eq!(time(Standard::B, "11Mbps", 1536), micros(192 + 1118));
    // MCS 15: 12326 bits in 520-bit symbols are 24 symbols behind a 40 us preamble.
    assert_eq!(time(Standard::N, "130Mbps", 1538), micros(40 + 96));
}

/// A beacon of 143 bytes at 1 Mbit/s takes 192 us and 1144 us; its first 65 bytes, with the TIM, 192 us and 520 us.
#[test]
fn beacons_at_2_4_ghz_have_the_rates_of_802_11b() {
    for standard in [Standard::G, Standard::N24] {
        assert_eq!(time(standard, "1Mbps", 143), micros(1_336));
        assert_eq!(standard.format(mbps("1Mbps")).unwrap().time_of_first(65), micros(712));
        assert_eq!(time(standard, "11Mbps", 1536), time(Standard::B, "11Mbps", 1536));
        assert!(!standard.rates().contains(&mbps("1Mbps")), "data frames are OFDM");
    }
    assert_eq!(Standard::A.format(mbps("1Mbps")), None);
    assert_eq!(Standard::N.format(mbps("1Mbps")), None);
    // 22 + 520 bits in symbols of 24 bits: 23 symbols after 20 us, and 6 us of silence that are not waited for.
    assert_eq!(Standard::A.format(mbps("6Mbps")).unwrap().time_of_first(65), micros(112));
    assert_eq!(Standard::G.format(mbps("6Mbps")).unwrap().time_of_first(65), micros(112));
    // HT at 2.4 GHz ends with the signal extension of 6 us (19.3.2).
    assert_eq!(time(Standard::N24, "130Mbps", 1538), time(Standard::N, "130Mbps", 1538) + micros(6));
}

#[test]
fn every_rate_has_a_frame_time_and_higher_rates_are_not_slower() {
    for standard in [Standard::B, Standard::A, Standard::G, Standard::N, Standard::N24] {
        for rate in standard.control_rates() {
            let format = standard.format(rate).unwrap();
            assert!(format.time(1500) > format.time(14));
        }
        assert!(standard.rates().contains(&standard.control_rate(mbps("1Gbps"))));
    }
    assert_eq!(Standard::N.mcs(mbps("130Mbps")), Some(15));
    assert_eq!(Standard::N.mcs(mbps("65Mbps")), Some(7));
    assert_eq!(Standard::N.mcs(mbps("24Mbps")), None);
}

/// A beacon of 143 bytes at 2 Mb/s: 572 us behind a preamble of 192 us, or of 96 us. At 1 Mb/s the preamble is always long.
#[test]
fn the_short_preamble_takes_half_the_time_above_1_mbps() {
    let format = |rate| Standard::G.format(mbps(rate)).unwrap();
    let times = |rate| [format(rate).time(143), format(rate).with_short_preamble().time(143)];
    assert_eq!(times("2Mbps"), [764, 668].map(Span::from_micros));
    assert_eq!(times("1Mbps"), [1_336, 1_336].map(Span::from_micros));
    assert_eq!(times("6Mbps"), [format("6Mbps").time(143); 2]);
}

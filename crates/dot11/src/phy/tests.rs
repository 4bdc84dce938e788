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

#[test]
fn every_rate_has_a_frame_time_and_higher_rates_are_not_slower() {
    for standard in [Standard::B, Standard::A, Standard::G, Standard::N] {
        for rate in standard.rates() {
            let format = standard.format(rate).unwrap();
            assert!(format.time(1500) > format.time(14));
        }
        assert!(standard.rates().contains(&standard.control_rate(mbps("1Gbps"))));
    }
    assert_eq!(Standard::N.mcs(mbps("130Mbps")), Some(15));
    assert_eq!(Standard::N.mcs(mbps("65Mbps")), Some(7));
    assert_eq!(Standard::N.mcs(mbps("24Mbps")), None);
}

use super::*;

fn mbps(rate: &str) -> Rate {
    rate.parse().unwrap()
}

fn time(standard: Standard, rate: &str, bytes: u32) -> Span {
    standard.layout(mbps(rate)).unwrap().time(bytes)
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
        assert_eq!(standard.layout(mbps("1Mbps")).unwrap().time_of_first(65), micros(712));
        assert_eq!(time(standard, "11Mbps", 1536), time(Standard::B, "11Mbps", 1536));
        assert!(!standard.rates().contains(&mbps("1Mbps")), "data frames are OFDM");
    }
    assert_eq!(Standard::A.layout(mbps("1Mbps")), None);
    assert_eq!(Standard::N.layout(mbps("1Mbps")), None);
    // 22 + 520 bits in symbols of 24 bits: 23 symbols after 20 us, and 6 us of silence that are not waited for.
    assert_eq!(Standard::A.layout(mbps("6Mbps")).unwrap().time_of_first(65), micros(112));
    assert_eq!(Standard::G.layout(mbps("6Mbps")).unwrap().time_of_first(65), micros(112));
    // HT at 2.4 GHz ends with the signal extension of 6 us (19.3.2).
    assert_eq!(time(Standard::N24, "130Mbps", 1538), time(Standard::N, "130Mbps", 1538) + micros(6));
}

#[test]
fn every_rate_has_a_frame_time_and_higher_rates_are_not_slower() {
    for standard in [Standard::B, Standard::A, Standard::G, Standard::N, Standard::N24] {
        for rate in standard.control_rates() {
            let layout = standard.layout(rate).unwrap();
            assert!(layout.time(1500) > layout.time(14));
        }
        assert!(standard.rates().contains(&standard.control_rate(mbps("1Gbps"))));
    }
    let index = |rate| Standard::N.vector(mbps(rate)).unwrap().ht_index();
    assert_eq!([index("130Mbps"), index("65Mbps"), index("24Mbps")], [Some(15), Some(7), None]);
    // Two streams at MCS 8 have the rate of one at MCS 1, and three at MCS 17 that of one at MCS 4.
    assert_eq!([index("13Mbps"), index("39Mbps")], [Some(1), Some(4)]);
}

/// A beacon of 143 bytes at 2 Mb/s: 572 us behind a preamble of 192 us, or of 96 us. At 1 Mb/s the preamble is always long.
#[test]
fn the_short_preamble_takes_half_the_time_above_1_mbps() {
    let vector = |rate| Standard::G.vector(mbps(rate)).unwrap();
    let time = |vector: TxVector| vector.frame_time(Band::Ghz2, 143);
    let times = |rate| [time(vector(rate)), time(vector(rate).with_short_preamble())];
    assert_eq!(times("2Mbps"), [764, 668].map(Span::from_micros));
    assert_eq!(times("1Mbps"), [1_336, 1_336].map(Span::from_micros));
    assert_eq!(times("6Mbps"), [time(vector("6Mbps")); 2]);
}

/// Every rate in kbit/s with the times of 1,536 and of 14 bytes in microseconds, as the tables had them from which frames were timed
/// before there were transmit vectors.
#[test]
fn times_are_those_of_the_former_tables() {
    type Table<'a> = (Standard, &'a [(u64, u64, u64)]);
    let tables: [Table<'_>; 5] = [
        (Standard::B, &[(1000, 12480, 304), (2000, 6336, 248), (5500, 2427, 213), (11000, 1310, 203)]),
        (
            Standard::A,
            &[
                (6000, 2072, 44),
                (9000, 1388, 36),
                (12000, 1048, 32),
                (18000, 704, 28),
                (24000, 536, 28),
                (36000, 364, 24),
                (48000, 280, 24),
                (54000, 248, 24),
            ],
        ),
        (
            Standard::G,
            &[
                (1000, 12480, 304),
                (2000, 6336, 248),
                (5500, 2427, 213),
                (6000, 2078, 50),
                (9000, 1394, 42),
                (11000, 1310, 203),
                (12000, 1054, 38),
                (18000, 710, 34),
                (24000, 542, 34),
                (36000, 370, 30),
                (48000, 286, 30),
                (54000, 254, 30),
            ],
        ),
        (
            Standard::N,
            &[
                (6000, 2072, 44),
                (6500, 1932, 60),
                (9000, 1388, 36),
                (12000, 1048, 32),
                (13000, 984, 48),
                (18000, 704, 28),
                (19500, 668, 44),
                (24000, 536, 28),
                (26000, 512, 44),
                (36000, 364, 24),
                (39000, 352, 40),
                (48000, 280, 24),
                (52000, 276, 40),
                (54000, 248, 24),
                (58500, 248, 40),
                (65000, 228, 40),
                (78000, 200, 44),
                (104000, 160, 44),
                (117000, 148, 44),
                (130000, 136, 44),
                (156000, 128, 52),
                (175500, 120, 52),
                (195000, 112, 52),
                (208000, 108, 52),
                (234000, 104, 52),
                (260000, 96, 52),
            ],
        ),
        (
            Standard::N24,
            &[
                (1000, 12480, 304),
                (2000, 6336, 248),
                (5500, 2427, 213),
                (6000, 2078, 50),
                (6500, 1938, 66),
                (9000, 1394, 42),
                (11000, 1310, 203),
                (12000, 1054, 38),
                (13000, 990, 54),
                (18000, 710, 34),
                (19500, 674, 50),
                (24000, 542, 34),
                (26000, 518, 50),
                (36000, 370, 30),
                (39000, 358, 46),
                (48000, 286, 30),
                (52000, 282, 46),
                (54000, 254, 30),
                (58500, 254, 46),
                (65000, 234, 46),
                (78000, 206, 50),
                (104000, 166, 50),
                (117000, 154, 50),
                (130000, 142, 50),
                (156000, 134, 58),
                (175500, 126, 58),
                (195000, 118, 58),
                (208000, 114, 58),
                (234000, 110, 58),
                (260000, 102, 58),
            ],
        ),
    ];
    for (standard, table) in tables {
        let times = standard.control_rates().into_iter().map(|rate| {
            let layout = standard.layout(rate).unwrap();
            (rate.as_bps() / 1_000, layout.time(1_536), layout.time(14))
        });
        let table = table.iter().map(|(kbps, data, ack)| (*kbps, micros(*data), micros(*ack)));
        assert!(times.eq(table), "{}", standard.name());
    }
}

/// SIFS, a slot and the start of the response: what a sender waits.
#[test]
fn response_timeouts() {
    let timeout = |standard: Standard| {
        let Timing { sifs, slot, rx_start_delay, .. } = standard.timing();
        sifs + slot + rx_start_delay
    };
    assert_eq!([Standard::N, Standard::N24, Standard::B].map(timeout), [45, 39, 222].map(micros));
}

/// In the band at 2.4 GHz, channels of 802.11ax have 40 MHz at most.
#[test]
fn wide_channels_are_above_2_4_ghz() {
    let has = |standard: Standard, width| standard.has(&TxVector::he(7, 2, width, Guard::Long).unwrap());
    for (width, at_2_4_ghz) in [(Width::Mhz20, true), (Width::Mhz40, true), (Width::Mhz80, false)] {
        assert_eq!(has(Standard::Ax24, width), at_2_4_ghz, "{width:?}");
        assert!(has(Standard::Ax, width) && has(Standard::Ax6, width) && !has(Standard::Ac, width));
    }
}

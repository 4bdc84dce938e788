//! Rates and durations, computed apart from this code with exact fractions; times in microseconds.

use super::Guard::{Double, Long, Quadruple, Short};
use super::Width::{Mhz20, Mhz40, Mhz80, Mhz160, Mhz320, Tones26, Tones106};
use super::*;

fn ht(index: u8, width: Width, guard: Guard) -> TxVector {
    TxVector::ht(index, width, guard).unwrap()
}

fn vht(mcs: u8, streams: u8, width: Width, guard: Guard) -> TxVector {
    TxVector::vht(mcs, streams, width, guard).unwrap()
}

fn he(mcs: u8, streams: u8, width: Width, guard: Guard) -> TxVector {
    TxVector::he(mcs, streams, width, guard).unwrap()
}

fn eht(mcs: u8, streams: u8, width: Width) -> TxVector {
    TxVector::eht(mcs, streams, width, Long).unwrap()
}

fn ofdm(mbps: u64) -> TxVector {
    TxVector::ofdm(Rate::from_bps(mbps * 1_000_000)).unwrap()
}

fn dsss(kbps: u64) -> TxVector {
    TxVector::dsss(Rate::from_bps(kbps * 1_000), false).unwrap()
}

fn with(vector: TxVector, change: impl Fn(&mut HeFields)) -> TxVector {
    let (Format::He(mut fields) | Format::Eht(mut fields)) = vector.format() else { panic!("{vector:?}") };
    change(&mut fields);
    vector.with_he_fields(fields)
}

/// Microseconds of a PSDU at 5 GHz.
fn time(vector: TxVector, bytes: u32) -> f64 {
    vector.frame_time(Band::Ghz5, bytes).as_nanos() as f64 / 1e3
}

/// An A-MPDU of `count` MPDUs of `bytes`: delimiters of four bytes, and all but the last padded to four.
fn ampdu(count: u32, bytes: u32) -> u32 {
    (count - 1) * (4 + bytes.next_multiple_of(4)) + 4 + bytes
}

/// An IP packet of 1,500 bytes: 26 of QoS header, 8 of LLC and SNAP, 4 of FCS; and with CCMP.
const OPEN: u32 = 1_538;
const CCMP: u32 = 1_554;

#[test]
fn rates_and_bits_of_a_symbol() {
    let rows = [
        (ht(0, Mhz20, Long), 6.500, 26),
        (ht(7, Mhz20, Long), 65.000, 260),
        (ht(7, Mhz20, Short), 72.222, 260),
        (ht(15, Mhz20, Long), 130.000, 520),
        (ht(20, Mhz20, Long), 117.000, 468),
        (ht(0, Mhz40, Long), 13.500, 54),
        (ht(7, Mhz40, Short), 150.000, 540),
        (ht(15, Mhz40, Short), 300.000, 1080),
        (ht(23, Mhz40, Short), 450.000, 1620),
        (ht(31, Mhz40, Short), 600.000, 2160),
        (vht(8, 1, Mhz20, Long), 78.000, 312),
        (vht(9, 3, Mhz20, Long), 260.000, 1040),
        (vht(9, 1, Mhz40, Long), 180.000, 720),
        (vht(0, 1, Mhz80, Long), 29.250, 117),
        (vht(9, 1, Mhz80, Short), 433.333, 1560),
        (vht(9, 2, Mhz80, Short), 866.667, 3120),
        (vht(7, 3, Mhz80, Long), 877.500, 3510),
        (vht(9, 1, Mhz160, Short), 866.667, 3120),
        (vht(9, 2, Mhz160, Short), 1733.333, 6240),
        (vht(9, 4, Mhz160, Short), 3466.667, 12480),
        (he(0, 1, Mhz20, Long), 8.603, 117),
        (he(7, 1, Mhz20, Quadruple), 73.125, 1170),
        (he(11, 1, Mhz20, Long), 143.382, 1950),
        (he(11, 2, Mhz40, Long), 573.529, 7800),
        (he(9, 1, Mhz80, Double), 453.704, 6533),
        (he(11, 1, Mhz80, Long), 600.490, 8166),
        (he(11, 2, Mhz80, Long), 1200.980, 16333),
        (he(11, 2, Mhz160, Long), 2401.961, 32666),
        (he(11, 4, Mhz160, Long), 4803.922, 65333),
        (he(11, 1, Tones26, Long), 14.706, 200),
        (he(7, 1, Tones106, Double), 35.417, 510),
        (with(he(0, 1, Mhz20, Long), |fields| fields.dcm = true), 4.301, 58),
        (eht(13, 1, Mhz20), 172.059, 2340),
        (eht(13, 2, Mhz80), 1441.176, 19600),
        (eht(13, 2, Mhz160), 2882.353, 39200),
        (eht(13, 2, Mhz320), 5764.706, 78400),
        (eht(13, 4, Mhz320), 11529.412, 156_800),
        (eht(15, 1, Mhz20), 4.301, 58),
    ];
    for (vector, mbps, bits) in rows {
        let rate = vector.rate().as_bps() as f64 / 1e6;
        assert!((rate - mbps).abs() < 6e-4, "{vector:?}: {rate}");
        assert_eq!(vector.bits_per_kilosymbol(), bits * 1_000, "{vector:?}");
    }
    let bits = [6, 9, 12, 18, 24, 36, 48, 54].map(|mbps| ofdm(mbps).bits_per_kilosymbol() / 1_000);
    assert_eq!(bits, [24, 36, 48, 72, 96, 144, 192, 216]);
    assert_eq!(dsss(5_500).rate().to_string(), "5.5Mbps");
}

#[test]
fn vectors_that_do_not_exist() {
    for index in [32, 33, 76, 255] {
        assert_eq!(TxVector::ht(index, Mhz40, Long), None, "{index}");
    }
    assert_eq!(TxVector::ht(0, Mhz80, Long), None);
    assert_eq!(TxVector::ht(0, Mhz20, Double), None);
    assert_eq!(TxVector::vht(9, 0, Mhz80, Short), None);
    assert_eq!(TxVector::vht(9, 9, Mhz80, Short), None);
    assert_eq!(TxVector::vht(12, 1, Mhz80, Short), None);
    assert_eq!(TxVector::vht(0, 1, Tones26, Long), None);
    assert_eq!(TxVector::he(12, 1, Mhz80, Long), None);
    assert_eq!(TxVector::he(0, 1, Mhz80, Short), None);
    assert_eq!(TxVector::he(0, 1, Mhz320, Long), None);
    assert_eq!(TxVector::eht(14, 1, Mhz80, Long), None);
    assert_eq!(TxVector::ofdm(Rate::from_bps(11_000_000)), None);
    assert_eq!(TxVector::dsss(Rate::from_bps(6_000_000), false), None);
}

/// With one, two, three and four streams.
#[test]
fn preambles() {
    let streams = [1, 2, 3, 4];
    let of = |make: &dyn Fn(u8) -> TxVector| {
        streams.map(|streams| make(streams).layout(Band::Ghz5).training().as_nanos() as f64 / 1e3)
    };
    let formed =
        |guard, ltf, form| move |n| with(he(0, n, Mhz20, guard), |he| (he.ltf, he.form) = (ltf, form));
    let single = |guard, ltf| formed(guard, ltf, HeForm::SingleUser);
    let index = |streams| 8 * (streams - 1);
    assert_eq!(of(&|n| ht(index(n), Mhz20, Long)), [36.0, 40.0, 48.0, 48.0]);
    assert_eq!(of(&|n| ht(index(n), Mhz20, Long).greenfield()), [24.0, 28.0, 36.0, 36.0]);
    assert_eq!(of(&|n| vht(0, n, Mhz20, Long)), [40.0, 44.0, 52.0, 52.0]);
    assert_eq!(of(&single(Long, Ltf::Single)), [40.0, 44.0, 52.0, 52.0]);
    assert_eq!(of(&|n| he(0, n, Mhz20, Long)), [43.2, 50.4, 64.8, 64.8]);
    assert_eq!(of(&|n| he(0, n, Mhz20, Double)), [44.0, 52.0, 68.0, 68.0]);
    assert_eq!(of(&single(Long, Ltf::Quadruple)), [49.6, 63.2, 90.4, 90.4]);
    assert_eq!(of(&|n| he(0, n, Mhz20, Quadruple)), [52.0, 68.0, 100.0, 100.0]);
    assert_eq!(of(&formed(Long, Ltf::Double, HeForm::ExtendedRange)), [51.2, 58.4, 72.8, 72.8]);
    assert_eq!(of(&formed(Double, Ltf::Double, HeForm::TriggerBased)), [48.0, 56.0, 72.0, 72.0]);
    assert_eq!(of(&formed(Quadruple, Ltf::Quadruple, HeForm::TriggerBased))[0], 56.0);
    assert_eq!(of(&|n| eht(0, n, Mhz20)), [51.2, 58.4, 72.8, 72.8]);
    assert_eq!(ofdm(6).layout(Band::Ghz2).training(), Span::from_micros(20));
    assert_eq!(dsss(1_000).with_short_preamble(), dsss(1_000));
    assert_eq!(dsss(2_000).with_short_preamble().layout(Band::Ghz2).training(), Span::from_micros(96));
}

/// ACK and CTS; RTS, PS-Poll and CF-End; BlockAckReq; BlockAck of 64, 256, 512 and 1,024 MPDUs; QoS Null; Basic Trigger and MU-RTS to
/// one user: at 6, 12 and 24 Mbit/s, then at 1, 2 and 11 with the long preamble.
#[test]
fn control_frames() {
    let rows = [
        (14, [44, 32, 28], [304, 248, 203]),
        (20, [52, 36, 28], [352, 272, 207]),
        (24, [56, 40, 32], [384, 288, 210]),
        (32, [68, 44, 32], [448, 320, 216]),
        (56, [100, 60, 40], [640, 416, 233]),
        (88, [144, 84, 52], [896, 544, 256]),
        (152, [228, 124, 72], [1408, 800, 303]),
        (30, [64, 44, 32], [432, 312, 214]),
        (34, [72, 48, 36], [464, 328, 217]),
        (33, [68, 44, 32], [456, 324, 216]),
    ];
    for (bytes, of_ofdm, of_dsss) in rows {
        let times = |vectors: [TxVector; 3], band| {
            vectors.map(|vector| vector.frame_time(band, bytes).as_nanos() / 1_000)
        };
        assert_eq!(times([6, 12, 24].map(ofdm), Band::Ghz5), of_ofdm, "{bytes}");
        assert_eq!(times([6, 12, 24].map(ofdm), Band::Ghz2), of_ofdm.map(|time| time + 6), "{bytes}");
        assert_eq!(times([1_000, 2_000, 11_000].map(dsss), Band::Ghz2), of_dsss, "{bytes}");
    }
}

#[test]
fn data_frames() {
    let extended = with(he(0, 1, Mhz20, Long), |fields| fields.form = HeForm::ExtendedRange);
    let padded = |vector, micros| with(vector, |fields| fields.extension_us = micros);
    let rows = [
        (ht(7, Mhz20, Long), OPEN, 228.0),
        (ht(7, Mhz20, Short), OPEN, 212.0),
        (ht(15, Mhz40, Short), ampdu(42, OPEN), 1772.0),
        (vht(9, 1, Mhz80, Short), ampdu(64, OPEN), 1868.0),
        (vht(9, 1, Mhz80, Short).with_coding(Coding::Ldpc), ampdu(64, OPEN), 1868.0),
        (vht(9, 2, Mhz80, Long), ampdu(64, OPEN), 1060.0),
        (he(7, 1, Mhz20, Long), 1_542, 192.8),
        (he(11, 1, Mhz80, Long), ampdu(64, OPEN), 1362.4),
        (padded(he(11, 1, Mhz80, Long), 16).with_coding(Coding::Ldpc), ampdu(64, OPEN), 1378.4),
        (he(11, 2, Mhz80, Long), ampdu(256, OPEN), 2688.8),
        (padded(he(11, 2, Mhz160, Long), 16), ampdu(256, OPEN), 1385.6),
        (extended, 100, 160.0),
        (padded(eht(13, 2, Mhz320), 20), ampdu(1_024, OPEN), 2281.6),
        (ht(7, Mhz20, Long), ampdu(16, CCMP), 3112.0),
        (he(11, 1, Mhz80, Long), ampdu(64, 90), 138.4),
    ];
    for (vector, bytes, micros) in rows {
        assert_eq!(time(vector, bytes), micros, "{vector:?}");
    }
    // At 2.4 GHz a SIFS of 10 us and 6 us of signal extension take as long as the SIFS of 16 us at 5 GHz.
    let vector = ht(7, Mhz20, Long);
    let [low, high] = [Band::Ghz2, Band::Ghz5].map(|band| vector.frame_time(band, ampdu(16, OPEN)));
    assert_eq!((low, high), (Span::from_micros(3_086), Span::from_micros(3_080)));
}

/// As many MPDUs as the bytes of an A-MPDU, the window and 5.484 ms permit. The last row is a TXOP of 2.528 ms, whose block
/// acknowledgement of 56 bytes at 24 Mbit/s is in it.
#[test]
fn how_many_mpdus_fit() {
    let in_txop = 2_528.0 - 16.0 - time(ofdm(24), 56);
    let rows = [
        (ht(0, Mhz20, Long), OPEN, 65_535, 64, 5_484.0, (2, 3840.0)),
        (ht(7, Mhz20, Long), OPEN, 65_535, 64, 5_484.0, (28, 5360.0)),
        (ht(7, Mhz20, Long), CCMP, 65_535, 64, 5_484.0, (28, 5416.0)),
        (ht(15, Mhz40, Short), OPEN, 65_535, 64, 5_484.0, (42, 1772.0)),
        (vht(9, 1, Mhz80, Short), OPEN, 1_048_575, 64, 5_484.0, (64, 1868.0)),
        (vht(0, 1, Mhz20, Long), OPEN, 1_048_575, 64, 5_484.0, (2, 3844.0)),
        (he(0, 1, Mhz20, Long), OPEN, 6_500_631, 256, 5_484.0, (3, 4354.4)),
        (he(11, 1, Mhz20, Long), OPEN, 6_500_631, 256, 5_484.0, (63, 5483.2)),
        (he(11, 1, Mhz80, Long), OPEN, 6_500_631, 256, 5_484.0, (256, 5320.0)),
        (he(11, 2, Mhz160, Long), OPEN, 6_500_631, 256, 5_484.0, (256, 1369.6)),
        (eht(13, 2, Mhz320), OPEN, 15_523_200, 1_024, 5_484.0, (1_024, 2261.6)),
        (he(11, 2, Mhz80, Long), OPEN, 6_500_631, 256, in_txop, (235, 2471.2)),
    ];
    for (vector, mpdu, most_bytes, window, most_us, expected) in rows {
        let longest = Span::from_nanos((most_us * 1e3) as u64);
        let bytes = vector.layout(Band::Ghz5).bytes_within(longest).min(most_bytes);
        let count = (1..=window).take_while(|count| ampdu(*count, mpdu) <= bytes).count() as u32;
        assert_eq!((count, time(vector, ampdu(count, mpdu))), expected, "{vector:?}");
    }
}

#[test]
fn bytes_within_a_time_fit_and_one_more_does_not() {
    for vector in [
        dsss(5_500),
        dsss(1_000).with_short_preamble(),
        ofdm(54),
        ht(31, Mhz40, Short),
        vht(9, 3, Mhz160, Short),
        he(9, 1, Mhz80, Double),
        eht(13, 4, Mhz320),
    ] {
        for band in [Band::Ghz2, Band::Ghz5] {
            let layout = vector.layout(band);
            for micros in [0, 10, 200, 203, 1_000, 2_527, 5_484] {
                let most = Span::from_micros(micros);
                let bytes = layout.bytes_within(most);
                assert!(bytes == 0 || layout.time(bytes) <= most, "{vector:?} {micros}");
                assert!(layout.time(bytes + 1) > most, "{vector:?} {micros}");
            }
        }
    }
}

/// One saturated sender at 5 GHz with responses at 24 Mbit/s: `AIFS + CWmin / 2 slots + PPDU + SIFS + response`, with AIFSN 3 and
/// CWmin 15; Mbit/s of IP packets of 1,500 bytes, the cycle and the PPDU in microseconds.
#[test]
fn saturated_senders() {
    let rows = [
        (ht(7, Mhz20, Long), 1, 14, 31.373, 382.5, 228.0),
        (ht(7, Mhz20, Long), 16, 32, 59.287, 3238.5, 3080.0),
        (ht(7, Mhz20, Long), 28, 32, 60.886, 5518.5, 5360.0),
        (ht(15, Mhz20, Long), 42, 32, 120.272, 4190.5, 4032.0),
        (ht(15, Mhz40, Short), 42, 32, 261.072, 1930.5, 1772.0),
        (vht(9, 1, Mhz80, Short), 1, 14, 52.980, 226.5, 72.0),
        (vht(9, 1, Mhz80, Short), 32, 32, 344.549, 1114.5, 956.0),
        (vht(9, 1, Mhz80, Short), 64, 32, 378.979, 2026.5, 1868.0),
        (vht(9, 2, Mhz80, Short), 64, 32, 686.634, 1118.5, 960.0),
        (vht(9, 2, Mhz160, Short), 64, 32, 1159.245, 662.5, 504.0),
        (he(7, 1, Mhz20, Long), 1, 14, 34.552, 347.3, 192.8),
        (he(7, 1, Mhz20, Long), 32, 32, 80.025, 4798.5, 4640.0),
        (he(11, 1, Mhz20, Long), 60, 32, 133.747, 5383.3, 5224.8),
        (he(9, 1, Mhz40, Long), 64, 32, 210.060, 3656.1, 3497.6),
        (he(11, 1, Mhz80, Long), 64, 32, 504.964, 1520.9, 1362.4),
        (he(11, 2, Mhz80, Long), 64, 32, 877.413, 875.3, 716.8),
        (he(11, 2, Mhz80, Long), 256, 56, 1075.894, 2855.3, 2688.8),
        (he(11, 2, Mhz160, Long), 256, 56, 1999.870, 1536.1, 1369.6),
        (he(11, 2, Mhz160, Quadruple), 256, 56, 1719.563, 1786.5, 1620.0),
        (eht(13, 2, Mhz320), 1_024, 152, 4994.919, 2460.1, 2261.6),
    ];
    for (vector, count, response, mbps, cycle_us, ppdu_us) in rows {
        // A single MPDU of 802.11n goes without a delimiter; of later standards it is an A-MPDU of one.
        let is_bare = count == 1 && vector.format() == Format::HtMixed;
        let ppdu = time(vector, if is_bare { OPEN } else { ampdu(count, OPEN) });
        let cycle = 16.0 + 3.0 * 9.0 + 7.5 * 9.0 + ppdu + 16.0 + time(ofdm(24), response);
        assert!((ppdu - ppdu_us).abs() < 1e-6 && (cycle - cycle_us).abs() < 0.06, "{vector:?}: {cycle}");
        let throughput = f64::from(count) * 12_000.0 / cycle;
        assert!((throughput - mbps).abs() < 6e-4, "{vector:?}: {throughput}");
    }
}

/// The same with RTS/CTS, slow responses, CCMP, A-MSDUs of two packets, the parameters of video, short packets, and LDPC with packet extension.
#[test]
fn saturated_senders_in_other_settings() {
    let cycle = |aifs_and_backoff: f64, ppdu: f64, response: f64| aifs_and_backoff + ppdu + 16.0 + response;
    let (best_effort, video) = (16.0 + 27.0 + 67.5, 16.0 + 18.0 + 31.5);
    let [ack, block_ack] = [14, 32].map(|bytes| time(ofdm(24), bytes));
    let (slow, fast) = (ht(7, Mhz20, Long), he(11, 1, Mhz80, Long));
    let late = with(fast, |fields| fields.extension_us = 16).with_coding(Coding::Ldpc);
    let reserved = time(ofdm(24), 20) + ack + 2.0 * 16.0;
    let amsdu: u32 = 30 + (14 + 8 + 1_500u32).next_multiple_of(4) + 14 + 8 + 1_500;
    let rows = [
        (16.0, 1_500.0, cycle(best_effort + reserved, time(slow, ampdu(16, OPEN)), block_ack), 57.718),
        (16.0, 1_500.0, cycle(best_effort, time(slow, ampdu(16, OPEN)), time(ofdm(6), 32)), 58.635),
        (16.0, 1_500.0, cycle(best_effort, time(slow, ampdu(16, CCMP)), block_ack), 58.707),
        (16.0, 1_500.0, cycle(best_effort, time(slow, ampdu(8, amsdu)), block_ack), 59.434),
        (64.0, 1_500.0, cycle(video, time(fast, ampdu(64, OPEN)), block_ack), 520.360),
        (64.0, 52.0, cycle(best_effort, time(fast, ampdu(64, 90)), block_ack), 89.673),
        (64.0, 1_500.0, cycle(best_effort, time(late, ampdu(64, OPEN)), block_ack), 499.707),
    ];
    for (count, bytes, cycle, mbps) in rows {
        let throughput = count * bytes * 8.0 / cycle;
        assert!((throughput - mbps).abs() < 6e-4, "{throughput} {mbps}");
    }
}

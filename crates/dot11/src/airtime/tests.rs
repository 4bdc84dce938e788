use super::*;

#[test]
fn frame_times_by_hand() {
    let time = |preamble, rate: &str, bytes| frame_time(preamble, rate.parse().unwrap(), bytes);
    // 14 bytes: 134 bits, 6 symbols at 6 Mbit/s.
    assert_eq!(time(Preamble::Ofdm, "6Mbps", 14), Span::from_micros(44));
    // 1,534 bytes at 130 Mbit/s: 12,294 bits, 24 symbols of 520 bits, header 40.
    assert_eq!(time(Preamble::HtMixed(2), "130Mbps", 1_534), Span::from_micros(136));
    assert_eq!(time(Preamble::LongDsss, "1Mbps", 14), Span::from_micros(304));
}

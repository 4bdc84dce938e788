//! Numbers of BA-TA over target wake time, worked out by hand.

use super::*;

const MS: fn(u64) -> Span = Span::from_millis;

/// With intervals up to 200 ms.
fn config() -> BaTaTwtConfig {
    BaTaTwtConfig { int_max: MS(200), ..BaTaTwtConfig::default() }
}

fn harvest(bits: u64, filled: u64) -> Harvest {
    Harvest { bits, filled, ..Harvest::begin(Instant::ZERO) }
}

/// 32,768 bytes are 262,144 bits: 65.536 ms at 4 Mbit/s, which the element carries with an exponent of 1. With a quarter of the air twice
/// that is 32.768 ms, 128 units of 256 us. At 16 Mbit/s they are 16.4 ms, less than the shortest interval; at 1 Mbit/s 262 ms, more than
/// the longest.
#[test]
fn the_interval_is_what_the_bottleneck_takes_for_half_a_window() {
    let config = config();
    let four = plan(&config, 4_000_000, Ratio::from_permille(250));
    assert_eq!((four.interval, four.duration), (Span::from_micros(65_536), Span::from_micros(32_768)));
    let sixteen = plan(&config, 16_000_000, Ratio::from_permille(100));
    assert_eq!((sixteen.interval, sixteen.duration), (MS(20), Span::from_micros(16_384)));
    // 0.9 of the air: seven eighths of 20 ms are 17.5 ms, 69 units.
    assert_eq!(plan(&config, 16_000_000, Ratio::from_permille(900)).duration, Span::from_micros(17_664));
    let one = plan(&config, 1_000_000, Ratio::from_permille(50));
    assert_eq!((one.interval, one.duration), (MS(200), Span::from_micros(20_224)));
    assert_eq!(plan(&config, 0, Ratio::ZERO).interval, MS(200));
}

/// A window for each interval: at 100 ms it brings 3 Mbit/s of 4, so 75 ms bring 4. At 20 ms there is nothing shorter.
#[test]
fn throughput_below_the_aim_shortens_the_interval_in_proportion() {
    let config = config();
    let after = Instant::from_secs(5);
    let judged = |bits, filled, interval| judge(&config, &harvest(bits, filled), interval, 4_000_000, after);
    assert_eq!(judged(15_000_000, 50, MS(100)), Renegotiation::Change(MS(75)));
    assert_eq!(judged(15_000_000, 250, MS(20)), Renegotiation::StayAwake);
    // 0.9 is the aim, and 0.95 the middle between it and the whole.
    assert_eq!(judged(18_000_000, 50, MS(100)), Renegotiation::Keep);
    assert_eq!(judged(19_000_000, 50, MS(100)), Renegotiation::Change(MS(125)));
    assert_eq!(judged(20_000_000, 25, MS(200)), Renegotiation::Keep);
    // Of 50 periods 37 had a packet: the application has all it wants.
    assert_eq!(judged(2_000_000, 37, MS(100)), Renegotiation::Keep);
    assert_eq!(judged(2_000_000, 38, MS(40)), Renegotiation::Keep);
}

/// Two packets 1 ms apart every 33 ms: periods begin 3 ms after the beginning of a burst, every 33 ms, or every second burst if the shortest
/// interval is 40 ms. Nine bursts are needed.
#[test]
fn bursts_at_equal_distances_have_a_rhythm() {
    let mut rhythm = Rhythm::default();
    for burst in 0..9 {
        assert_eq!(rhythm.beats(MS(20), MS(200)), None, "{burst}");
        rhythm.received(Instant::from_millis(100 + 33 * burst));
        rhythm.received(Instant::from_millis(101 + 33 * burst));
    }
    let start = Instant::from_millis(100 + 33 * 8 + 1 + 2);
    assert_eq!(rhythm.beats(MS(20), MS(200)), Some((MS(33), start)));
    assert_eq!(rhythm.beats(MS(40), MS(200)), Some((MS(66), start)));
    assert_eq!(rhythm.beats(MS(40), MS(60)), None);
    // One frame sent for four received is too many.
    (0..4).for_each(|_| rhythm.sent());
    assert!(rhythm.beats(MS(20), MS(200)).is_some());
    rhythm.sent();
    assert_eq!(rhythm.beats(MS(20), MS(200)), None);
}

/// Distances of 30 and 38 ms differ by more than a quarter of their mean, 8.5 ms by less.
#[test]
fn irregular_bursts_have_none() {
    let of = |longer: u64| {
        let mut rhythm = Rhythm::default();
        let mut at = Instant::ZERO;
        for burst in 0..9 {
            rhythm.received(at);
            at += MS(if burst % 2 == 0 { 30 } else { longer });
        }
        rhythm.beats(MS(20), MS(200))
    };
    assert_eq!(of(39), None);
    assert_eq!(of(38).map(|(interval, _)| interval), Some(MS(34)));
}

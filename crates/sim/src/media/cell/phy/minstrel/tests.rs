//! The values of Linux by hand, and a link on which each rate has a success of its own.

use super::*;

/// HT20 with one and two streams at the long guard interval: the time of 153,600 bits, a sixteenth of it, in nanoseconds.
fn groups() -> Vec<RateGroup> {
    let bits = [26, 52, 78, 104, 156, 208, 234, 260_u64];
    let durations =
        |streams: u64| bits.map(|bits| Span::from_nanos(153_600_u64.div_ceil(bits * streams) * 250)).to_vec();
    [1, 2].map(|streams| RateGroup { streams: streams as u8, durations: durations(streams) }).to_vec()
}

fn minstrel() -> Minstrel {
    Minstrel::new(&groups(), &mut RandomStream::new(1, "rates"))
}

/// A perfect rate that begins to fail.
#[test]
fn the_filter_is_that_of_linux() {
    let (mut last, mut before) = filter(0, 0, ONE);
    let mut values = Vec::new();
    for _ in 0..4 {
        (last, before) = filter(last, before, 0);
        values.push((f64::from(last) / f64::from(ONE) * 1e3).round() as i32);
    }
    assert_eq!(values, [714, 345, 35, 0]);
}

/// MCS 7 alone: 147.75 us and 108 us of overhead for one frame; at nine tenths and less the throughput falls with the probability.
#[test]
fn throughput_by_hand() {
    let minstrel = minstrel();
    assert_eq!(minstrel.rates[0].duration_ns, 1_477_000);
    assert_eq!(minstrel.rates[7].duration_ns, 147_750);
    let of = |percent| minstrel.throughput_at(7, share(percent, 100));
    // In units of 1 / 4096: 100 * floor(3686 * 10^6 / 255750) >> 12.
    assert_eq!(of(95), 351);
    assert_eq!((of(95), of(9)), (of(90), 0));
    assert!(of(50) < of(90));
}

/// With aggregates of two frames a try takes 3,062 us at MCS 0, so that two take longer than 6 ms already. At MCS 15 it takes 256 us, and
/// with waits of 67, 139, 283, 567, 1,138 and 2,281 us the sixth would end at 6,011 us.
#[test]
fn tries_fit_a_segment() {
    let mut minstrel = minstrel();
    minstrel.rates[0].probability = ONE;
    minstrel.rates[15].probability = ONE;
    minstrel.mean_frames = 2 * ONE;
    assert_eq!((minstrel.tries_of(0, false), minstrel.tries_of(15, false)), (2, 5));
    assert_eq!(minstrel.tries_of(15, true), 5);
    minstrel.rates[15].probability = share(19, 100);
    assert_eq!(minstrel.tries_of(15, false), 2);
}

/// Frames that arrive at each rate with a probability of its own, for a time. Returns the share of the throughput of the best rate.
fn reached(probabilities: &[f64; 16], seconds: u64) -> f64 {
    let mut minstrel = minstrel();
    let mut random = RandomStream::new(2, "losses");
    let times: Vec<u64> =
        groups().iter().flat_map(|group| &group.durations).map(|time| time.as_nanos()).collect();
    let (mut now, mut arrived) = (Instant::ZERO, 0);
    let (overhead, frames) = (300_000, 16);
    while now < Instant::from_secs(seconds) {
        let rate = minstrel.rate();
        let sent = if minstrel.is_probe() { 1 } else { frames };
        let count = (0..sent).filter(|_| random.chance(probabilities[rate])).count() as u32;
        arrived += count;
        now += Span::from_nanos(overhead + times[rate] * u64::from(sent));
        minstrel.result(sent, (count > 0).then_some(count), now);
    }
    let best = (0..16)
        .map(|rate| {
            probabilities[rate] * f64::from(frames) / (overhead + times[rate] * u64::from(frames)) as f64
        })
        .fold(0.0, f64::max);
    f64::from(arrived) / (seconds as f64 * 1e9 * best)
}

/// What is missing goes into probes and into what follows those that fail.
#[test]
fn the_best_rate_is_found_and_kept() {
    let all = [1.0; 16];
    let mut half = [0.0; 16];
    half[..4].fill(1.0);
    half[8..10].fill(0.9);
    let mut falling = [0.0; 16];
    for (rate, probability) in falling.iter_mut().enumerate() {
        *probability = 1.0 / (1.0 + (rate as f64 % 8.0 - 4.5).exp());
    }
    for (name, probabilities, least) in [("all", all, 0.95), ("half", half, 0.85), ("falling", falling, 0.85)]
    {
        let share = reached(&probabilities, 20);
        assert!((least..=1.01).contains(&share), "{name}: {share}");
    }
}

/// Rates that die are left, some in each window.
#[test]
fn a_rate_that_dies_is_left() {
    let mut minstrel = minstrel();
    let mut now = Instant::ZERO;
    let mut step = |minstrel: &mut Minstrel, best: usize| {
        let rate = minstrel.rate();
        now += Span::from_millis(4);
        minstrel.result(16, (rate <= best).then_some(16), now);
        rate
    };
    for _ in 0..1_000 {
        step(&mut minstrel, 15);
    }
    assert_eq!(minstrel.best[0], 15);
    let used = (0..200).map(|_| step(&mut minstrel, 4)).collect::<Vec<_>>();
    assert!(minstrel.best[0] <= 4, "{:?} {used:?}", minstrel.best);
}

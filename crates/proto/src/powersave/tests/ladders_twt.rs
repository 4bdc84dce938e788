//! Frame ladders of target wake time. Times are those of the other [ladders](super::ladders); the first service period begins at
//! 150 ms, half a beacon interval behind the first beacon, and the others 200 ms after each other. They last 8.192 ms.

use airwatt_base::Span;

use super::air::Air;
use super::ladders::{expect, ms};
use crate::powersave::{PowerSaveConfig, TwtConfig};

const fn config(announced: bool, early_end: bool) -> TwtConfig {
    TwtConfig { interval: Span::from_millis(200), duration: Span::from_micros(8_192), announced, early_end }
}

const fn twt(announced: bool, early_end: bool) -> PowerSaveConfig {
    PowerSaveConfig::Twt(config(announced, early_end))
}

/// A cell at 140 ms, after a beacon that nobody has received. So many packets come 1 ms later.
fn asleep(policy: PowerSaveConfig, packets: u32) -> Air {
    let mut air = Air::new(10, 100, &[policy]);
    air.run_until(ms(140));
    assert!(!air.log.iter().any(|line| line.ends_with("beacon s0")), "{:?}", air.log);
    air.log.clear();
    for packet in 0..packets {
        air.down(141_000, 0, packet);
    }
    air
}

/// The station is awake 0.5 ms before the period, announces itself, and sleeps at EOSP.
#[test]
fn in_an_announced_period_the_station_speaks_first() {
    let mut air = asleep(twt(true, true), 2);
    air.run_until(ms(360));
    expect(
        &air,
        &[
            "149.2 s0 wakes",
            "150.5 s0>ap trigger pm=1",
            "151.0 ap>s0 0 more",
            "151.5 ap>s0 1 eosp",
            "151.5 s0 dozes",
            "200.2 beacon",
            "300.2 beacon",
            "349.2 s0 wakes",
            "350.5 s0>ap trigger pm=1",
            "351.0 ap>s0 null eosp",
            "351.0 s0 dozes",
        ],
    );
}

/// Nothing is sent before the period; the access point begins it. With nothing to send the station is awake to its end.
#[test]
fn in_an_unannounced_period_the_access_point_speaks_first() {
    let mut air = asleep(twt(false, true), 2);
    air.run_until(ms(360));
    expect(
        &air,
        &[
            "149.2 s0 wakes",
            "150.5 ap>s0 0 more",
            "151.0 ap>s0 1 eosp",
            "151.0 s0 dozes",
            "200.2 beacon",
            "300.2 beacon",
            "349.2 s0 wakes",
            "358.1 s0 dozes",
        ],
    );
}

/// A device that does not honour EOSP is awake for the whole duration.
#[test]
fn without_early_end_the_station_is_awake_to_the_end() {
    let mut air = asleep(twt(true, false), 1);
    air.run_until(ms(160));
    expect(&air, &["149.2 s0 wakes", "150.5 s0>ap trigger pm=1", "151.0 ap>s0 0 eosp", "158.1 s0 dozes"]);
}

/// Of ten frames that take 0.5 ms each, eight arrive within 4.096 ms. One more has begun when the station falls asleep, at the end of the
/// period, and is repeated in vain. It and the last one come in the next period, in their order.
#[test]
fn what_does_not_fit_waits_for_the_next_period() {
    let short = TwtConfig { duration: Span::from_micros(4_096), ..config(false, true) };
    let mut air = asleep(PowerSaveConfig::Twt(short), 10);
    air.run_until(ms(360));
    expect(
        &air,
        &[
            "149.2 s0 wakes",
            "150.5 ap>s0 0 more",
            "151.0 ap>s0 1 more",
            "151.5 ap>s0 2 more",
            "152.0 ap>s0 3 more",
            "152.5 ap>s0 4 more",
            "153.0 ap>s0 5 more",
            "153.5 ap>s0 6 more",
            "154.0 ap>s0 7 more",
            "154.0 s0 dozes",
            "154.5 ap>s0 8 more LOST",
            "155.0 ap>s0 8 more LOST",
            "155.5 ap>s0 8 more LOST",
            "156.0 ap>s0 8 more LOST",
            "200.2 beacon s0",
            "300.2 beacon s0",
            "349.2 s0 wakes",
            "350.5 ap>s0 8 more",
            "351.0 ap>s0 9 eosp",
            "351.0 s0 dozes",
        ],
    );
}

/// A frame of the user is sent at once and asks for nothing; what answers it waits for the period.
#[test]
fn a_frame_outside_periods_opens_none() {
    let mut air = asleep(twt(true, true), 0);
    air.up(142_000, 0, 7);
    air.down(142_100, 0, 8);
    air.run_until(ms(160));
    expect(
        &air,
        &[
            "142.0 s0 wakes",
            "142.8 s0>ap data pm=1",
            "142.8 s0 dozes",
            "149.2 s0 wakes",
            "150.5 s0>ap trigger pm=1",
            "151.0 ap>s0 8 eosp",
            "151.0 s0 dozes",
        ],
    );
}

//! Frame ladders of BA-TA, as those of [`super::ladders`]: the triggers, what is lost on the way, and the changes of mode.
//! Each ladder's machines also pass the conformance test with what they were fed.

use airwatt_base::{Instant, Span};

use super::ACTIVE;
use super::air::{Air, station_config};
use crate::powersave::{
    Abilities, Adaptation, BaTaConfig, PowerSaveConfig, Ratio, StationConfig, StationCounts, StationTimer,
};

const fn ms(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

/// Triggers every 20 ms from the beginning; the controller, which would have to know the path, leaves that alone.
fn every_20_ms() -> PowerSaveConfig {
    let (int_min, int_max) = (Span::from_millis(20), Span::from_millis(20));
    PowerSaveConfig::BaTa(BaTaConfig {
        int_min,
        int_max,
        t_update: Span::from_secs(10),
        ..BaTaConfig::default()
    })
}

/// As [`every_20_ms`], and every `n_max`-th update below the peak rate enters active mode. Updates come 10 ms apart, from the
/// first packet on.
fn impatient(n_max: u32) -> PowerSaveConfig {
    let (int_min, int_max) = (Span::from_millis(20), Span::from_millis(20));
    let t_update = Span::from_millis(10);
    PowerSaveConfig::BaTa(BaTaConfig {
        int_min,
        int_max,
        t_update,
        count_max: 1,
        n_max,
        ..BaTaConfig::default()
    })
}

/// A cell at 10 ms, where the first station sleeps. Power-save buffers of ten packets.
fn asleep(policies: &[PowerSaveConfig]) -> Air {
    let mut air = Air::new(10, 100, policies);
    air.run_until(ms(10));
    air.log.clear();
    air
}

#[track_caller]
fn expect(air: &Air, ladder: &[&str]) {
    assert_eq!(air.log, ladder, "\n{}", air.log.join("\n"));
    air.check_machines();
}

fn adaptation(air: &Air) -> Adaptation {
    air.clients[0].machine.adaptation().expect("a policy that adapts")
}

/// At the longest interval beacons do it all, as under `psm`.
/// ```text
/// AP   (holds 0)  --beacon tim--             0e    --beacon--
/// STA             ^              --trigger--    v  ^          v
/// ```
#[test]
fn at_the_longest_interval_there_are_no_triggers_of_its_own() {
    let mut air = asleep(&[PowerSaveConfig::BaTa(BaTaConfig::default())]);
    air.down(20_000, 0, 0);
    air.run_until(ms(205));
    expect(
        &air,
        &[
            "99.2 s0 wakes",
            "100.2 beacon s0",
            "100.7 s0>ap trigger pm=1",
            "101.2 ap>s0 0 eosp",
            "101.2 s0 dozes",
            "199.2 s0 wakes",
            "200.2 beacon",
            "200.2 s0 dozes",
        ],
    );
}

/// The interval runs from the end of the last period, whoever opened it: a trigger, a beacon or a frame of the user.
/// ```text
/// AP              null e         0e              0e
/// STA  --trigger--      | 20 ms | --trigger--  ...  --data--  null e | 20 ms | --trigger--
/// ```
#[test]
fn triggers_follow_the_end_of_the_last_period() {
    let mut air = asleep(&[every_20_ms()]);
    air.down(30_000, 0, 0);
    air.up(55_000, 0, 50);
    air.run_until(ms(80));
    expect(
        &air,
        &[
            "20.2 s0 wakes",
            "21.0 s0>ap trigger pm=1",
            "21.5 ap>s0 null eosp",
            "21.5 s0 dozes",
            "41.2 s0 wakes",
            "42.0 s0>ap trigger pm=1",
            "42.5 ap>s0 0 eosp",
            "42.5 s0 dozes",
            "55.0 s0 wakes",
            "55.8 s0>ap data pm=1",
            "56.3 ap>s0 null eosp",
            "56.3 s0 dozes",
            "76.0 s0 wakes",
            "76.8 s0>ap trigger pm=1",
            "77.3 ap>s0 null eosp",
            "77.3 s0 dozes",
        ],
    );
    assert_eq!(air.clients[0].machine.counts().wakeups_for(StationTimer::Trigger), 3);
}

/// A station that sees neither TIM nor service periods triggers at the interval, however long it is: the beacon that
/// announces packet 0 changes nothing. Packets 1 and 2, 5 ms apart, are one burst, so the next interval runs from packet 2.
/// ```text
/// AP   (holds 0)  --beacon tim--               0e              1e              2e
/// STA             ^              --trigger--      v  --data--     v  --data--     v  | 100 ms | --trigger--
/// ```
#[test]
fn without_tim_and_service_periods_own_frames_fetch_everything() {
    let hidden = Abilities::SEE_TIM | Abilities::SEE_SERVICE;
    let station = StationConfig { hidden, ..station_config() };
    let policy = PowerSaveConfig::BaTa(BaTaConfig { t_update: Span::from_secs(10), ..BaTaConfig::default() });
    let mut air = Air::with_stations(10, 100, vec![(station, policy)]);
    air.run_until(ms(10));
    air.log.clear();
    air.down(20_000, 0, 0);
    air.down(130_000, 0, 1);
    air.up(130_100, 0, 50);
    air.down(135_000, 0, 2);
    air.up(135_100, 0, 51);
    air.run_until(ms(260));
    expect(
        &air,
        &[
            "99.2 s0 wakes",
            "100.2 beacon s0",
            "101.0 s0>ap trigger pm=1",
            "101.5 ap>s0 0 eosp",
            "101.5 s0 dozes",
            "130.1 s0 wakes",
            "130.9 s0>ap data pm=1",
            "131.4 ap>s0 1 eosp",
            "131.4 s0 dozes",
            "135.1 s0 wakes",
            "135.9 s0>ap data pm=1",
            "136.4 ap>s0 2 eosp",
            "136.4 s0 dozes",
            "199.2 s0 wakes",
            "200.2 beacon",
            "200.2 s0 dozes",
            "236.1 s0 wakes",
            "236.9 s0>ap trigger pm=1",
            "237.4 ap>s0 null eosp",
            "237.4 s0 dozes",
        ],
    );
}

/// ```text
/// AP   (holds 0)                                                       0e
/// STA  --trigger x 4 (given up)--  v  |--- 20 ms ---|  ^  --trigger--     v
/// ```
#[test]
fn a_lost_trigger_is_tried_again_after_an_interval() {
    let mut air = asleep(&[every_20_ms()]);
    air.script = vec![("s0>ap trigger", 4)];
    air.down(15_000, 0, 0);
    air.run_until(ms(50));
    expect(
        &air,
        &[
            "20.2 s0 wakes",
            "21.0 s0>ap trigger pm=1 LOST",
            "21.5 s0>ap trigger pm=1 LOST",
            "22.0 s0>ap trigger pm=1 LOST",
            "22.5 s0>ap trigger pm=1 LOST",
            "22.5 s0 dozes",
            "42.2 s0 wakes",
            "43.0 s0>ap trigger pm=1",
            "43.5 ap>s0 0 eosp",
            "43.5 s0 dozes",
        ],
    );
}

/// The user's frame should have been the trigger, and is lost: the interval begins again.
#[test]
fn a_lost_frame_of_the_user_does_not_end_the_triggers() {
    let mut air = asleep(&[every_20_ms()]);
    air.script = vec![("s0>ap data", 4)];
    air.up(20_300, 0, 50);
    air.run_until(ms(50));
    expect(
        &air,
        &[
            "20.2 s0 wakes",
            "21.0 s0>ap data pm=1 LOST",
            "21.5 s0>ap data pm=1 LOST",
            "22.0 s0>ap data pm=1 LOST",
            "22.5 s0>ap data pm=1 LOST",
            "22.5 s0 dozes",
            "42.2 s0 wakes",
            "43.0 s0>ap trigger pm=1",
            "43.5 ap>s0 null eosp",
            "43.5 s0 dozes",
        ],
    );
}

/// The frame with EOSP is given up and stays at the access point. The station waits for it, through a beacon, until
/// the wait for a frame ends; an interval later the frame comes.
/// ```text
/// AP                0e x 4              --beacon tim--                      0e
/// STA  --trigger--  |------------ 50 ms ------------| v | 20 ms |  --trigger--
/// ```
#[test]
fn a_lost_end_of_period_costs_the_frame_wait() {
    let mut air = asleep(&[every_20_ms()]);
    air.script = vec![("ap>s0 0", 4)];
    air.down(15_000, 0, 0);
    air.run_until(ms(95));
    expect(
        &air,
        &[
            "20.2 s0 wakes",
            "21.0 s0>ap trigger pm=1",
            "21.5 ap>s0 0 eosp LOST",
            "22.0 ap>s0 0 eosp LOST",
            "22.5 ap>s0 0 eosp LOST",
            "23.0 ap>s0 0 eosp LOST",
            "71.0 s0 dozes",
            "90.7 s0 wakes",
            "91.5 s0>ap trigger pm=1",
            "92.0 ap>s0 0 eosp",
            "92.0 s0 dozes",
        ],
    );
}

/// A beacon is lost; its frame comes with the next trigger all the same.
#[test]
fn a_lost_beacon_costs_a_wait_but_no_data() {
    let mut air = asleep(&[every_20_ms()]);
    air.run_until(ms(90));
    air.log.clear();
    air.script = vec![("beacon", 1)];
    air.down(90_000, 0, 0);
    air.run_until(ms(130));
    expect(
        &air,
        &[
            "99.2 s0 wakes",
            "100.2 beacon s0 LOST",
            "105.0 s0>ap trigger pm=1",
            "105.5 ap>s0 0 eosp",
            "110.0 s0 dozes",
            "125.2 s0 wakes",
            "126.0 s0>ap trigger pm=1",
            "126.5 ap>s0 null eosp",
            "126.5 s0 dozes",
        ],
    );
    assert_eq!(air.clients[0].machine.counts().beacons_missed, 1);
}

/// A packet comes at 101.2 ms. By the timer the controller runs at 201.2 ms, and by setting at the beacon before.
#[test]
fn the_controller_runs_at_beacons_by_setting() {
    for update_on_beacons in [false, true] {
        let config = BaTaConfig { update_on_beacons, ..BaTaConfig::default() };
        let mut air = asleep(&[PowerSaveConfig::BaTa(config)]);
        air.down(20_000, 0, 0);
        air.run_until(ms(201));
        assert_eq!(adaptation(&air).throughput_bps > 0, update_on_beacons);
        air.run_until(ms(202));
        assert!(adaptation(&air).throughput_bps > 0);
        air.check_machines();
    }
}

/// Ten packets fit into the power-save buffer; two are lost as the standard would lose them, ten come.
#[test]
fn a_full_power_save_buffer_loses_what_is_beyond_it_and_nothing_else() {
    let mut air = asleep(&[every_20_ms()]);
    for packet in 0..12 {
        air.down(15_000, 0, packet);
    }
    air.run_until(ms(45));
    assert_eq!(air.dropped.iter().copied().collect::<Vec<_>>(), [10, 11]);
    assert_eq!(air.clients[0].got.len(), 10);
    assert_eq!(air.log.last().unwrap(), "26.0 s0 dozes");
    air.check_machines();
}

/// The transmission queue is full of another station's frames when the trigger comes: what is released is refused, and a QoS Null
/// carries EOSP.
#[test]
fn a_saturated_access_point_does_not_keep_the_station_awake() {
    let mut air = Air::new(10, 1, &[every_20_ms(), ACTIVE]);
    air.down(15_000, 0, 0);
    air.down(20_600, 1, 100);
    air.down(20_600, 1, 101);
    air.run_until(ms(30));
    expect(
        &air,
        &[
            "0.5 s0>ap null pm=1",
            "0.5 s0 dozes",
            "20.2 s0 wakes",
            "20.6 refused 101",
            "21.0 s0>ap trigger pm=1",
            "21.0 refused 0",
            "21.5 ap>s1 100",
            "22.0 ap>s0 null eosp",
            "22.0 s0 dozes",
        ],
    );
}

/// Traffic below what the path was seen to carry: the first update enters active mode with PM = 0. Nothing more comes, so
/// the ratio does not rise, and the next update, once it knows the air time, goes back to power save.
/// ```text
/// AP                0+ ... 7e           |- 10 ms -|
/// STA  --trigger--            v  ^ --null pm=0--   --null pm=1-- v  20 ms  ^ --trigger--
/// ```
#[test]
fn to_active_mode_and_back() {
    let mut air = asleep(&[impatient(1)]);
    for packet in 0..8 {
        air.down(15_000, 0, packet);
    }
    air.run_until(ms(24));
    air.log.clear();
    air.run_until(ms(40));
    assert!(adaptation(&air).active && !air.ap.asleep(0));
    air.run_until(ms(64));
    expect(
        &air,
        &[
            "24.5 ap>s0 6 more",
            "25.0 ap>s0 7 eosp",
            "25.0 s0 dozes",
            "31.5 s0 wakes",
            "32.3 s0>ap null pm=0",
            "42.0 s0>ap null pm=1",
            "42.0 s0 dozes",
            "61.7 s0 wakes",
            "62.5 s0>ap trigger pm=1",
            "63.0 ap>s0 null eosp",
            "63.0 s0 dozes",
        ],
    );
}

/// All attempts of the frame with PM = 0 are lost. The access point goes on buffering, for a station that is awake and does
/// not ask; the announcement of power save, ten milliseconds later, is heard, and the next trigger fetches the packet.
/// ```text
/// AP                          (holds 8)                                      8e
/// STA  ^ --null pm=0-- x 4                --null pm=1-- v 20 ms ^ --trigger--   v
/// ```
#[test]
fn an_active_mode_that_the_access_point_never_heard_of_ends_well() {
    let mut air = asleep(&[impatient(1)]);
    air.script = vec![("s0>ap null", 4)];
    for packet in 0..8 {
        air.down(15_000, 0, packet);
    }
    air.run_until(ms(27));
    air.log.clear();
    air.down(35_000, 0, 8);
    air.run_until(ms(64));
    expect(
        &air,
        &[
            "31.5 s0 wakes",
            "32.3 s0>ap null pm=0 LOST",
            "32.8 s0>ap null pm=0 LOST",
            "33.3 s0>ap null pm=0 LOST",
            "33.8 s0>ap null pm=0 LOST",
            "42.0 s0>ap null pm=1",
            "42.0 s0 dozes",
            "61.7 s0 wakes",
            "62.5 s0>ap trigger pm=1",
            "63.0 ap>s0 8 eosp",
            "63.0 s0 dozes",
        ],
    );
}

/// The station says PM = 0 while a service period is under way: the access point ends the period, nothing carries EOSP any
/// more, and everything comes, in order.
#[test]
fn leaving_power_save_within_a_service_period_loses_nothing() {
    let mut air = asleep(&[impatient(2)]);
    for packet in 0..8 {
        air.down(15_000, 0, packet);
    }
    air.run_until(ms(42));
    air.log.clear();
    for packet in 0..20 {
        air.down(44_000 + u64::from(packet) * 400, 0, 100 + packet);
    }
    air.run_until(ms(58));
    expect(
        &air,
        &[
            "44.7 s0 wakes",
            "45.5 s0>ap trigger pm=1",
            "46.0 ap>s0 100 more",
            "46.5 ap>s0 101 more",
            "47.0 ap>s0 102 more",
            "47.5 ap>s0 103 more",
            "48.0 ap>s0 104 more",
            "48.5 ap>s0 105 more",
            "49.0 ap>s0 106 more",
            "49.5 ap>s0 107 more",
            "50.0 ap>s0 108 more",
            "50.5 ap>s0 109 more",
            "51.0 ap>s0 110 more",
            "51.5 ap>s0 111 more",
            "52.0 s0>ap null pm=0",
            "52.5 ap>s0 112",
            "53.0 ap>s0 113",
            "53.5 ap>s0 114",
            "54.0 ap>s0 115",
            "54.5 ap>s0 116",
            "55.0 ap>s0 117",
            "55.5 ap>s0 118",
            "56.0 ap>s0 119",
        ],
    );
}

/// A frame of the user was about to be sent with PM = 1 when active mode is entered: its header is stamped when it
/// starts, so it says PM = 0 for the Null frame, which is left out.
#[test]
fn the_users_frame_announces_active_mode_as_well() {
    let mut air = asleep(&[impatient(1)]);
    for packet in 0..8 {
        air.down(15_000, 0, packet);
    }
    air.run_until(ms(27));
    air.log.clear();
    air.up(31_400, 0, 50);
    air.run_until(ms(41));
    expect(&air, &["31.4 s0 wakes", "32.2 s0>ap data pm=0"]);
}

/// Pages over a path with a round trip of 150 ms: a request, then a burst; the radio finds nothing for most of its
/// triggers. s001.fig10b.web: the interval settles between 25 ms and 43.3 ms.
#[test]
fn web_traffic_settles_where_its_triggers_are_not_in_vain() {
    let mut air = Air::new(100, 100, &[PowerSaveConfig::BaTa(BaTaConfig::default())]).quiet();
    let mut packet = 0;
    let mut intervals = Vec::new();
    for object in 0..200_u64 {
        let request = 50_000 + object * 170_000;
        air.up(request, 0, 1_000_000 + packet);
        for place in 0..6 {
            packet += 1;
            air.down(request + 150_000 + place * 750, 0, packet);
        }
        if object > 50 {
            intervals.push(adaptation(&air).interval.as_secs_f64() * 1e3);
        }
    }
    let mean = intervals.iter().sum::<f64>() / intervals.len() as f64;
    let (least, most) = intervals.iter().fold((f64::MAX, 0.0_f64), |(l, m), i| (l.min(*i), m.max(*i)));
    assert!(
        (25.0..=43.3).contains(&mean) && least >= 20.0 && most <= 43.4,
        "{least} {mean} {most} {intervals:?}"
    );
}

/// After traffic the interval is back at its longest within the time of forgetting and a few steps, and from then on the
/// machine wakes up for beacons alone.
#[test]
fn after_the_traffic_nothing_but_beacons() {
    let mut air = Air::new(100, 100, &[PowerSaveConfig::BaTa(BaTaConfig::default())]);
    for packet in 0..2_000 {
        air.down(50_000 + u64::from(packet) * 1_500, 0, packet);
    }
    assert!(adaptation(&air).peak_bps > 7_000_000);
    air.run_until(ms(15_000));
    assert_eq!(adaptation(&air).interval, Span::from_millis(100));
    assert_eq!((adaptation(&air).peak_bps, adaptation(&air).throughput_bps), (0, 0));
    let before = air.clients[0].machine.counts().clone();
    air.log.clear();
    air.run_until(ms(25_000));
    let after = air.clients[0].machine.counts();
    let total = |counts: &StationCounts| counts.wakeups().map(|(_, count)| count).sum::<u64>();
    assert_eq!(total(after) - total(&before), 100);
    assert_eq!(after.triggers, before.triggers);
    air.check_machines();
}

/// With a ratio of one as the aim and no tolerance the controller attempts all the time; the radio's modes and the access
/// point's agree in the end, whatever was lost in between (seen in [`super::property`] for random cells).
#[test]
fn a_station_that_never_has_enough_ends_in_power_save() {
    let config = BaTaConfig { ratio_min: Ratio::ONE, n_max: 1, count_max: 1, ..BaTaConfig::default() };
    let mut air = Air::new(100, 100, &[PowerSaveConfig::BaTa(config)]);
    air.script = vec![("s0>ap null pm=0", 4)];
    for packet in 0..3_000 {
        air.down(50_000 + u64::from(packet) * 1_000, 0, packet);
    }
    air.run_until(ms(20_000));
    assert!(air.ap.asleep(0) && air.clients[0].machine.pm());
    assert_eq!(air.clients[0].got.len() + air.dropped.len(), 3_000);
    air.check_machines();
}

//! Frame ladders: what is on the air, line by line, in milliseconds. Wake-ups take 0.3 ms, a frame with its
//! acknowledgement 0.5 ms, a beacon 0.2 ms; beacons are due at 100 ms, 200 ms, ...; four attempts are made of a frame.
//! Each ladder's machines also pass the conformance test with what they were fed.

use airwatt_base::{Instant, Span};

use super::air::Air;
use crate::powersave::{PowerSaveConfig, TimeoutConfig, UapsdConfig};

use super::{ACTIVE, PSM, PSM_LEGACY};
use crate::powersave::StationTimer;

pub(super) const fn ms(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

/// A cell at 10 ms: every station that starts in power save sleeps. Power-save buffers of ten packets.
fn asleep(policies: &[PowerSaveConfig]) -> Air {
    let mut air = Air::new(10, 100, policies);
    air.run_until(ms(10));
    air.log.clear();
    air
}

/// Compares the log, and holds the machines to their contract.
#[track_caller]
pub(super) fn expect(air: &Air, ladder: &[&str]) {
    assert_eq!(air.log, ladder, "\n{}", air.log.join("\n"));
    air.check_machines();
}

/// A beacon with TIM, one trigger, a service period of three frames.
/// ```text
/// AP   --beacon tim--            --ack--0+-1+-2e--            --beacon--
/// STA  ^ wakes        --trigger--                 v dozes     ^          v
/// ```
/// `+`: More Data, `e`: EOSP.
#[test]
fn beacon_with_tim_then_one_trigger_fetches_all() {
    let mut air = asleep(&[PSM]);
    for packet in 0..3 {
        air.down(20_000 + u64::from(packet), 0, packet);
    }
    assert!(air.ap.asleep(0) && air.ap.tim(0) && air.ap.buffered(0) == 3);
    air.run_until(ms(205));
    expect(
        &air,
        &[
            "99.2 s0 wakes",
            "100.2 beacon s0",
            "100.7 s0>ap trigger pm=1",
            "101.2 ap>s0 0 more",
            "101.7 ap>s0 1 more",
            "102.2 ap>s0 2 eosp",
            "102.2 s0 dozes",
            "199.2 s0 wakes",
            "200.2 beacon",
            "200.2 s0 dozes",
        ],
    );
}

/// Packet 1 comes while packet 0 is on its way, before EOSP was stamped on anything else: it joins the period. Packet 2
/// comes when the frame with EOSP has started: it waits for the next beacon.
/// ```text
/// net        0             1       2
/// AP   --beacon tim--  0+      1e     (buffered)  --beacon tim--  2e
/// ```
/// Packet 0 has a companion, 9, so that the period is still open when packet 1 comes.
#[test]
fn a_service_period_is_extended_by_what_comes_meanwhile() {
    let mut air = asleep(&[PSM]);
    air.down(20_000, 0, 0);
    air.down(20_000, 0, 9);
    air.down(101_000, 0, 1);
    air.down(102_000, 0, 2);
    air.run_until(ms(205));
    expect(
        &air,
        &[
            "99.2 s0 wakes",
            "100.2 beacon s0",
            "100.7 s0>ap trigger pm=1",
            "101.2 ap>s0 0 more",
            "101.7 ap>s0 9 more",
            "102.2 ap>s0 1 eosp",
            "102.2 s0 dozes",
            "199.2 s0 wakes",
            "200.2 beacon s0",
            "200.7 s0>ap trigger pm=1",
            "201.2 ap>s0 2 eosp",
            "201.2 s0 dozes",
        ],
    );
}

/// ```text
/// AP                        null e          null e
/// STA  ^ wakes --trigger--         v  20 ms ^ ...
/// ```
#[test]
fn a_trigger_that_finds_nothing_gets_a_null_with_eosp() {
    let mut air = asleep(&[PowerSaveConfig::Uapsd(UapsdConfig { interval: Span::from_millis(20) })]);
    air.run_until(ms(45));
    assert_eq!(air.clients[0].machine.counts().triggers, 2);
    assert_eq!(air.clients[0].machine.counts().wakeups_for(StationTimer::Trigger), 2);
    expect(
        &air,
        &[
            "20.2 s0 wakes",
            "21.0 s0>ap trigger pm=1",
            "21.5 ap>s0 null eosp",
            "21.5 s0 dozes",
            "40.7 s0 wakes",
            "41.5 s0>ap trigger pm=1",
            "42.0 ap>s0 null eosp",
            "42.0 s0 dozes",
        ],
    );
}

/// The frame of the user at 30 ms is a trigger; the next scheduled one comes 20 ms after it, not at 41 ms.
/// ```text
/// STA  trigger      data                trigger
///      |----20 ms---x
///                   |-------20 ms-------|
/// ```
#[test]
fn scheduled_triggers_wait_for_the_interval_after_an_uplink_frame() {
    let mut air = asleep(&[PowerSaveConfig::Uapsd(UapsdConfig { interval: Span::from_millis(20) })]);
    air.up(30_000, 0, 50);
    air.run_until(ms(55));
    expect(
        &air,
        &[
            "20.2 s0 wakes",
            "21.0 s0>ap trigger pm=1",
            "21.5 ap>s0 null eosp",
            "21.5 s0 dozes",
            "30.0 s0 wakes",
            "30.8 s0>ap data pm=1",
            "31.3 ap>s0 null eosp",
            "31.3 s0 dozes",
            "50.5 s0 wakes",
            "51.3 s0>ap trigger pm=1",
            "51.8 ap>s0 null eosp",
            "51.8 s0 dozes",
        ],
    );
}

/// ```text
/// AP   --beacon tim--         0+          1
/// STA  ^              --poll--    --poll--   v
/// ```
#[test]
fn ps_polls_fetch_one_frame_each() {
    let mut air = asleep(&[PSM_LEGACY]);
    air.down(20_000, 0, 0);
    air.down(21_000, 0, 1);
    air.run_until(ms(199));
    assert_eq!(air.clients[0].machine.counts().polls, 2);
    expect(
        &air,
        &[
            "99.2 s0 wakes",
            "100.2 beacon s0",
            "100.7 s0>ap poll pm=1",
            "101.2 ap>s0 0 more",
            "101.7 s0>ap poll pm=1",
            "102.2 ap>s0 1",
            "102.2 s0 dozes",
        ],
    );
}

/// With a frame of the user waiting at the beacon no QoS Null is spent.
/// ```text
/// AP   --beacon tim--          0e
/// STA  ^              --data--     v
/// ```
#[test]
fn a_frame_of_the_user_triggers_as_well() {
    let mut air = asleep(&[PSM]);
    air.down(20_000, 0, 0);
    air.up(100_100, 0, 50);
    air.run_until(ms(199));
    assert_eq!(air.clients[0].machine.counts().triggers, 0);
    expect(
        &air,
        &[
            "99.2 s0 wakes",
            "100.2 beacon s0",
            "100.7 s0>ap data pm=1",
            "101.2 ap>s0 0 eosp",
            "101.2 s0 dozes",
        ],
    );
}

/// ```text
/// AP   (holds 0)                       --beacon tim--         0
/// STA  ^ --data pm=1-- v               ^              --poll--   v
/// ```
#[test]
fn uplink_of_a_legacy_station_fetches_nothing() {
    let mut air = asleep(&[PSM_LEGACY]);
    air.down(20_000, 0, 0);
    air.up(30_000, 0, 50);
    air.run_until(ms(199));
    expect(
        &air,
        &[
            "30.0 s0 wakes",
            "30.8 s0>ap data pm=1",
            "30.8 s0 dozes",
            "99.2 s0 wakes",
            "100.2 beacon s0",
            "100.7 s0>ap poll pm=1",
            "101.2 ap>s0 0",
            "101.2 s0 dozes",
        ],
    );
}

/// Packet 1 for station 0 waits in the transmission queue behind those for station 1 when station 0 announces PM = 1.
/// It is recalled to the power-save buffer, and comes after the next beacon, when PM = 0.
/// ```text
/// AP   100+101+102          --beacon tim s0--               1
/// S0     --null pm=1-- v    ^                 --null pm=0--
/// ```
#[test]
fn frames_in_flight_when_the_station_falls_asleep_come_back() {
    let mut air = Air::new(
        10,
        100,
        &[PowerSaveConfig::Timeout(TimeoutConfig { timeout: Some(Span::from_millis(105)) }), ACTIVE],
    );
    for packet in 100..103 {
        air.down(104_100, 1, packet);
    }
    air.down(104_900, 0, 1);
    air.run_until(ms(205));
    assert!(!air.ap.asleep(0) && air.clients[0].got.contains(&1));
    expect(
        &air,
        &[
            "100.2 beacon",
            "104.6 ap>s1 100",
            "105.1 ap>s1 101",
            "105.6 s0>ap null pm=1",
            "105.6 s0 dozes",
            "106.1 ap>s1 102",
            "199.2 s0 wakes",
            "200.2 beacon s0",
            "200.7 s0>ap null pm=0",
            "201.2 ap>s0 1",
        ],
    );
}

/// Frames of the user leave power save with PM = 0 on themselves; what was buffered follows without polls.
/// ```text
/// AP   (holds 0 1)               0 1
/// STA  v dozes     ^ --data pm=0--            100 ms  --null pm=1-- v
/// ```
#[test]
fn waking_up_for_good_releases_everything_in_order() {
    let mut air = Air::new(
        10,
        100,
        &[PowerSaveConfig::Timeout(TimeoutConfig { timeout: Some(Span::from_millis(10)) })],
    );
    air.down(20_000, 0, 0);
    air.down(21_000, 0, 1);
    assert!(air.ap.asleep(0));
    air.up(30_000, 0, 50);
    air.run_until(ms(60));
    expect(
        &air,
        &[
            "10.5 s0>ap null pm=1",
            "10.5 s0 dozes",
            "30.0 s0 wakes",
            "30.8 s0>ap data pm=0",
            "31.3 ap>s0 0",
            "31.8 ap>s0 1",
            "42.3 s0>ap null pm=1",
            "42.3 s0 dozes",
        ],
    );
}

/// Ten packets fit; the eleventh and twelfth are lost, the first ten come in order.
#[test]
fn a_full_buffer_drops_at_the_tail() {
    let mut air = asleep(&[PSM]);
    for packet in 0..12 {
        air.down(20_000 + u64::from(packet), 0, packet);
    }
    air.run_until(ms(199));
    expect(
        &air,
        &[
            "20.0 dropped 10 BufferFull",
            "20.0 dropped 11 BufferFull",
            "99.2 s0 wakes",
            "100.2 beacon s0",
            "100.7 s0>ap trigger pm=1",
            "101.2 ap>s0 0 more",
            "101.7 ap>s0 1 more",
            "102.2 ap>s0 2 more",
            "102.7 ap>s0 3 more",
            "103.2 ap>s0 4 more",
            "103.7 ap>s0 5 more",
            "104.2 ap>s0 6 more",
            "104.7 ap>s0 7 more",
            "105.2 ap>s0 8 more",
            "105.7 ap>s0 9 eosp",
            "105.7 s0 dozes",
        ],
    );
}

/// ```text
/// AP   --beacon tim--                              --beacon tim--             0e
/// STA  ^              trigger x 4 (given up)  v    ^              --trigger--    v
/// ```
#[test]
fn a_lost_trigger_is_made_good_at_the_next_beacon() {
    let mut air = asleep(&[PSM]);
    air.script = vec![("s0>ap trigger", 4)];
    air.down(20_000, 0, 0);
    air.run_until(ms(205));
    expect(
        &air,
        &[
            "99.2 s0 wakes",
            "100.2 beacon s0",
            "100.7 s0>ap trigger pm=1 LOST",
            "101.2 s0>ap trigger pm=1 LOST",
            "101.7 s0>ap trigger pm=1 LOST",
            "102.2 s0>ap trigger pm=1 LOST",
            "102.2 s0 dozes",
            "199.2 s0 wakes",
            "200.2 beacon s0",
            "200.7 s0>ap trigger pm=1",
            "201.2 ap>s0 0 eosp",
            "201.2 s0 dozes",
        ],
    );
}

/// The frame with EOSP is given up: the access point keeps it and ends the period, the station sleeps after 50 ms.
/// ```text
/// AP   --beacon tim--             0e x 4             --beacon tim--             0e
/// STA  ^              --trigger--  |--- 50 ms ---| v ^              --trigger--    v
/// ```
#[test]
fn a_lost_end_of_period_costs_the_frame_wait() {
    let mut air = asleep(&[PSM]);
    air.script = vec![("ap>s0 0", 4)];
    air.down(20_000, 0, 0);
    air.run_until(ms(205));
    expect(
        &air,
        &[
            "99.2 s0 wakes",
            "100.2 beacon s0",
            "100.7 s0>ap trigger pm=1",
            "101.2 ap>s0 0 eosp LOST",
            "101.7 ap>s0 0 eosp LOST",
            "102.2 ap>s0 0 eosp LOST",
            "102.7 ap>s0 0 eosp LOST",
            "150.7 s0 dozes",
            "199.2 s0 wakes",
            "200.2 beacon s0",
            "200.7 s0>ap trigger pm=1",
            "201.2 ap>s0 0 eosp",
            "201.2 s0 dozes",
        ],
    );
}

/// Packet 0 is given up; packet 1 then ends the period, with More Data, so the station triggers again at once.
/// ```text
/// AP                  0+ x 4   1+e              0e
/// STA  --trigger--                  --trigger--    v
/// ```
#[test]
fn a_frame_lost_within_a_period_comes_back_before_later_ones() {
    let mut air = asleep(&[PSM]);
    air.script = vec![("ap>s0 0", 4)];
    air.down(20_000, 0, 0);
    air.down(20_000, 0, 1);
    air.run_until(ms(199));
    expect(
        &air,
        &[
            "99.2 s0 wakes",
            "100.2 beacon s0",
            "100.7 s0>ap trigger pm=1",
            "101.2 ap>s0 0 more LOST",
            "101.7 ap>s0 0 more LOST",
            "102.2 ap>s0 0 more LOST",
            "102.7 ap>s0 0 more LOST",
            "103.2 ap>s0 1 more eosp",
            "103.7 s0>ap trigger pm=1",
            "104.2 ap>s0 0 eosp",
            "104.2 s0 dozes",
        ],
    );
}

/// ```text
/// AP   --beacon tim LOST--                      --beacon tim--             0e
/// STA  ^ |------ 10 ms after its time ------| v ^              --trigger--    v
/// ```
#[test]
fn a_lost_beacon_is_given_up_and_the_next_one_heard() {
    let mut air = asleep(&[PSM]);
    air.script = vec![("beacon", 1)];
    air.down(20_000, 0, 0);
    air.run_until(ms(205));
    assert_eq!(air.clients[0].machine.counts().beacons_missed, 1);
    expect(
        &air,
        &[
            "99.2 s0 wakes",
            "100.2 beacon s0 LOST",
            "110.0 s0 dozes",
            "199.2 s0 wakes",
            "200.2 beacon s0",
            "200.7 s0>ap trigger pm=1",
            "201.2 ap>s0 0 eosp",
            "201.2 s0 dozes",
        ],
    );
}

#[test]
fn a_lost_poll_waits_for_the_next_beacon() {
    let mut air = asleep(&[PSM_LEGACY]);
    air.script = vec![("s0>ap poll", 4)];
    air.down(20_000, 0, 0);
    air.run_until(ms(205));
    expect(
        &air,
        &[
            "99.2 s0 wakes",
            "100.2 beacon s0",
            "100.7 s0>ap poll pm=1 LOST",
            "101.2 s0>ap poll pm=1 LOST",
            "101.7 s0>ap poll pm=1 LOST",
            "102.2 s0>ap poll pm=1 LOST",
            "102.2 s0 dozes",
            "199.2 s0 wakes",
            "200.2 beacon s0",
            "200.7 s0>ap poll pm=1",
            "201.2 ap>s0 0",
            "201.2 s0 dozes",
        ],
    );
}

/// The station stays awake until the access point knows that it sleeps.
/// ```text
/// STA  null pm=1 x 4 (given up) |-- 10 ms --| null pm=1 v
/// ```
#[test]
fn a_lost_announcement_is_repeated() {
    let mut air = Air::new(10, 100, &[PSM]);
    air.script = vec![("s0>ap null", 4)];
    air.run_until(ms(50));
    expect(
        &air,
        &[
            "0.5 s0>ap null pm=1 LOST",
            "1.0 s0>ap null pm=1 LOST",
            "1.5 s0>ap null pm=1 LOST",
            "2.0 s0>ap null pm=1 LOST",
            "12.5 s0>ap null pm=1",
            "12.5 s0 dozes",
        ],
    );
}

/// All attempts of the frame with PM = 0 are lost: the access point goes on buffering for a station that is awake, until
/// a TIM bit tells the station so.
/// ```text
/// AP   (holds 0)                                --beacon tim--               0
/// STA  ^ data pm=0 x 4 (given up)                              --null pm=0--
/// ```
#[test]
fn an_access_point_that_missed_the_awakening_is_told_again() {
    let mut air = Air::new(
        10,
        100,
        &[PowerSaveConfig::Timeout(TimeoutConfig { timeout: Some(Span::from_millis(90)) })],
    );
    air.script = vec![("s0>ap data", 4)];
    air.up(95_000, 0, 50);
    air.down(98_000, 0, 0);
    air.run_until(ms(105));
    assert!(!air.ap.asleep(0));
    expect(
        &air,
        &[
            "90.5 s0>ap null pm=1",
            "90.5 s0 dozes",
            "95.0 s0 wakes",
            "95.8 s0>ap data pm=0 LOST",
            "96.3 s0>ap data pm=0 LOST",
            "96.8 s0>ap data pm=0 LOST",
            "97.3 s0>ap data pm=0 LOST",
            "100.2 beacon s0",
            "100.7 s0>ap null pm=0",
            "101.2 ap>s0 0",
        ],
    );
}

/// The transmission queue holds three frames, two of them station 1's when station 0's four are released: one finds room,
/// three are refused, and the one that is left carries EOSP.
#[test]
fn released_frames_queue_behind_those_of_stations_that_are_awake() {
    let mut air = Air::new(10, 3, &[PSM, ACTIVE]);
    for packet in 0..4 {
        air.down(20_000, 0, packet);
    }
    for packet in 100..102 {
        air.down(100_300, 1, packet);
    }
    air.run_until(ms(199));
    assert_eq!(air.dropped.len(), 3);
    expect(
        &air,
        &[
            "0.5 s0>ap null pm=1",
            "0.5 s0 dozes",
            "99.2 s0 wakes",
            "100.2 beacon s0",
            "100.7 s0>ap trigger pm=1",
            "100.7 refused 1",
            "100.7 refused 2",
            "100.7 refused 3",
            "101.2 ap>s1 100",
            "101.7 ap>s1 101",
            "102.2 ap>s0 0 eosp",
            "102.2 s0 dozes",
        ],
    );
}

/// The queue is full of station 1's frames when the trigger comes. A QoS Null carries EOSP, and neither side waits for more.
#[test]
fn a_period_whose_frames_are_all_refused_ends_with_a_null() {
    let mut air = Air::new(10, 1, &[PSM, ACTIVE]);
    air.down(20_000, 0, 0);
    air.down(100_300, 1, 100);
    air.down(100_300, 1, 101);
    air.run_until(ms(205));
    expect(
        &air,
        &[
            "0.5 s0>ap null pm=1",
            "0.5 s0 dozes",
            "99.2 s0 wakes",
            "100.2 beacon s0",
            "100.3 refused 101",
            "100.7 s0>ap trigger pm=1",
            "100.7 refused 0",
            "101.2 ap>s1 100",
            "101.7 ap>s0 null eosp",
            "101.7 s0 dozes",
            "199.2 s0 wakes",
            "200.2 beacon",
            "200.2 s0 dozes",
        ],
    );
}

/// The same for a poll. The Null that answers it says that a second packet is buffered.
#[test]
fn a_poll_whose_answer_is_refused_is_answered_by_a_null() {
    let mut air = Air::new(10, 1, &[PSM_LEGACY, ACTIVE]);
    air.down(20_000, 0, 0);
    air.down(20_000, 0, 1);
    air.down(100_300, 1, 100);
    air.down(100_300, 1, 101);
    air.run_until(ms(199));
    expect(
        &air,
        &[
            "0.5 s0>ap null pm=1",
            "0.5 s0 dozes",
            "99.2 s0 wakes",
            "100.2 beacon s0",
            "100.3 refused 101",
            "100.7 s0>ap poll pm=1",
            "100.7 refused 0",
            "101.2 ap>s1 100",
            "101.7 ap>s0 null more",
            "102.2 s0>ap poll pm=1",
            "102.7 ap>s0 1",
            "102.7 s0 dozes",
        ],
    );
}

/// The station goes out of range within a service period: three frames are tried in vain, nobody acknowledges, two beacons pass
/// unheard. Nothing is released meanwhile; when the station is back it fetches all three, in their order.
/// ```text
/// AP   --beacon tim--             0+ | 1+ x 4  2+ x 4  3e x 4   tim LOST   tim LOST  | --beacon tim--       1+ 2+ 3e
/// STA  ^              --trigger--    | ..... away ................................. | ^              --trigger--      v
/// ```
#[test]
fn a_station_that_leaves_within_a_service_period_finds_its_frames_when_it_is_back() {
    let mut air = asleep(&[PSM]);
    air.script = vec![("ap>s0 1", 4), ("ap>s0 2", 4), ("ap>s0 3", 4)];
    for packet in 0..4 {
        air.down(20_000, 0, packet);
    }
    air.run_until(ms(150));
    air.script.push(("beacon", 2));
    air.down(160_000, 0, 4);
    assert_eq!(
        (air.ap.buffered(0), air.ap.released(0)),
        (4, 0),
        "nothing is lost, and nothing waits to be sent"
    );
    air.run_until(ms(390));
    assert_eq!(air.clients[0].machine.counts().beacons_missed, 2);
    air.log.clear();
    air.run_until(ms(410));
    expect(
        &air,
        &[
            "399.2 s0 wakes",
            "400.2 beacon s0",
            "400.7 s0>ap trigger pm=1",
            "401.2 ap>s0 1 more",
            "401.7 ap>s0 2 more",
            "402.2 ap>s0 3 more",
            "402.7 ap>s0 4 eosp",
            "402.7 s0 dozes",
        ],
    );
}

/// The same for a station that polls: the answer to its poll is given up, and it does not wait for it for ever.
/// ```text
/// AP   --beacon tim--          0 x 4                --beacon tim--          0+       1
/// STA  ^              --poll--  |--- 50 ms ---| v   ^              --poll--   --poll-- v
/// ```
#[test]
fn an_answer_to_a_poll_that_never_comes_is_waited_for_no_longer_than_a_period() {
    let mut air = asleep(&[PSM_LEGACY]);
    air.script = vec![("ap>s0 0", 4)];
    air.down(20_000, 0, 0);
    air.down(20_000, 0, 1);
    air.run_until(ms(210));
    expect(
        &air,
        &[
            "99.2 s0 wakes",
            "100.2 beacon s0",
            "100.7 s0>ap poll pm=1",
            "101.2 ap>s0 0 more LOST",
            "101.7 ap>s0 0 more LOST",
            "102.2 ap>s0 0 more LOST",
            "102.7 ap>s0 0 more LOST",
            "150.7 s0 dozes",
            "199.2 s0 wakes",
            "200.2 beacon s0",
            "200.7 s0>ap poll pm=1",
            "201.2 ap>s0 0 more",
            "201.7 s0>ap poll pm=1",
            "202.2 ap>s0 1",
            "202.2 s0 dozes",
        ],
    );
}

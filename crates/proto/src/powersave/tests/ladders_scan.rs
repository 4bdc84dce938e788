//! Frame ladders of scans, with the times of `ladders`.

use airwatt_base::Span;

use super::air::{Air, Radio, station_config};
use super::ladders::{expect, ms};
use super::{ACTIVE, PSM};
use crate::powersave::{PowerSaveConfig, ScanConfig, StationConfig, StationTimer};

/// A station under `policy` that leaves the channel for 30 ms at `first_ms`, and again 20 ms after it has returned if there are
/// two `absences`. The log begins at 10 ms.
fn scanning(policy: PowerSaveConfig, first_ms: u64, absences: u32) -> Air {
    let scan = ScanConfig {
        interval: Span::from_secs(1),
        time: Span::from_millis(30),
        absences,
        pause: Span::from_millis(20),
    };
    let config = StationConfig { scan: Some(scan), first_scan: ms(first_ms), ..station_config() };
    let mut air = Air::with_stations(10, 100, vec![(config, policy)]);
    air.run_until(ms(10));
    air.log.clear();
    air
}

/// The access point buffers what comes during an absence, and sends it when the station is back.
/// ```text
/// AP                        0 (buffered)                     --0-->
/// STA  --null pm=1--  leaves              returns --null pm=0--
/// ```
#[test]
fn an_active_station_announces_each_absence_and_its_end() {
    let mut air = scanning(ACTIVE, 20, 2);
    air.down(30_000, 0, 0);
    assert_eq!((air.ap.buffered(0), air.clients[0].radio), (1, Radio::Away));
    air.run_until(ms(110));
    expect(
        &air,
        &[
            "20.5 s0>ap null pm=1",
            "20.5 s0 leaves",
            "50.5 s0 returns",
            "51.0 s0>ap null pm=0",
            "51.5 ap>s0 0",
            "71.0 s0>ap null pm=1",
            "71.0 s0 leaves",
            "100.2 beacon",
            "101.0 s0 returns",
            "101.5 s0>ap null pm=0",
        ],
    );
    assert_eq!(air.clients[0].machine.counts().wakeups().count(), 0);
}

/// Scans begin an interval apart.
#[test]
fn the_next_scan_begins_an_interval_after_the_last() {
    let mut air = scanning(ACTIVE, 20, 2);
    air.run_until(ms(1_000));
    air.log.clear();
    air.run_until(ms(1_060));
    expect(
        &air,
        &[
            "1000.2 beacon",
            "1020.5 s0>ap null pm=1",
            "1020.5 s0 leaves",
            "1050.5 s0 returns",
            "1051.0 s0>ap null pm=0",
        ],
    );
}

/// The user's frames wait for the return, and announce active mode themselves.
#[test]
fn frames_of_the_user_wait_for_the_return() {
    let mut air = scanning(ACTIVE, 20, 1);
    air.up(30_000, 0, 7);
    air.run_until(ms(60));
    let ladder = ["20.5 s0>ap null pm=1", "20.5 s0 leaves", "50.5 s0 returns", "51.0 s0>ap data pm=0"];
    expect(&air, &ladder);
    assert!(!air.ap.asleep(0));
}

/// A station in power save has announced it. It wakes up for the scan, and sleeps after it.
#[test]
fn a_station_that_sleeps_leaves_without_a_frame() {
    let mut air = scanning(PSM, 150, 1);
    air.run_until(ms(205));
    expect(
        &air,
        &[
            "99.2 s0 wakes",
            "100.2 beacon",
            "100.2 s0 dozes",
            "150.0 s0 wakes",
            "150.3 s0 leaves",
            "180.3 s0 returns",
            "180.3 s0 dozes",
            "199.2 s0 wakes",
            "200.2 beacon",
            "200.2 s0 dozes",
        ],
    );
    assert_eq!(air.clients[0].machine.counts().wakeups_for(StationTimer::Scan), 1);
}

/// The beacon at 200 ms falls into an absence: that is no beacon that was lost. The packet that it announces is fetched after
/// the next one.
#[test]
fn a_beacon_during_an_absence_is_not_waited_for() {
    let mut air = scanning(PSM, 190, 1);
    air.down(150_000, 0, 0);
    air.run_until(ms(302));
    expect(
        &air,
        &[
            "99.2 s0 wakes",
            "100.2 beacon",
            "100.2 s0 dozes",
            "190.0 s0 wakes",
            "190.3 s0 leaves",
            "200.2 beacon s0",
            "220.3 s0 returns",
            "220.3 s0 dozes",
            "299.2 s0 wakes",
            "300.2 beacon s0",
            "300.7 s0>ap trigger pm=1",
            "301.2 ap>s0 0 eosp",
            "301.2 s0 dozes",
        ],
    );
    assert_eq!(air.clients[0].machine.counts().beacons_missed, 0);
}

/// The station leaves when the service period has ended.
#[test]
fn a_service_period_ends_before_the_station_leaves() {
    let mut air = scanning(PSM, 101, 1);
    air.down(20_000, 0, 0);
    air.down(20_000, 0, 1);
    air.run_until(ms(140));
    expect(
        &air,
        &[
            "99.2 s0 wakes",
            "100.2 beacon s0",
            "100.7 s0>ap trigger pm=1",
            "101.2 ap>s0 0 more",
            "101.7 ap>s0 1 eosp",
            "101.7 s0 leaves",
            "131.7 s0 returns",
            "131.7 s0 dozes",
        ],
    );
}

/// A period whose end is lost keeps the station for [`StationConfig::frame_wait`] at most. Its frame comes after the next
/// beacon.
#[test]
fn a_station_waits_for_the_end_of_a_service_period_for_a_limited_time() {
    let mut air = scanning(PSM, 101, 1);
    air.down(20_000, 0, 0);
    air.script = vec![("ap>s0 0", 4)];
    air.run_until(ms(204));
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
            "150.7 s0 leaves",
            "180.7 s0 returns",
            "180.7 s0 dozes",
            "199.2 s0 wakes",
            "200.2 beacon s0",
            "200.7 s0>ap trigger pm=1",
            "201.2 ap>s0 0 eosp",
            "201.2 s0 dozes",
        ],
    );
}

/// The announcement is lost, and the station leaves as Linux does: the access point sends in vain.
#[test]
fn a_station_whose_announcement_is_lost_leaves_nevertheless() {
    let mut air = scanning(ACTIVE, 20, 1);
    air.script = vec![("s0>ap null", 4)];
    air.down(30_000, 0, 0);
    air.run_until(ms(60));
    expect(
        &air,
        &[
            "20.5 s0>ap null pm=1 LOST",
            "21.0 s0>ap null pm=1 LOST",
            "21.5 s0>ap null pm=1 LOST",
            "22.0 s0>ap null pm=1 LOST",
            "22.0 s0 leaves",
            "30.5 ap>s0 0 LOST",
            "31.0 ap>s0 0 LOST",
            "31.5 ap>s0 0 LOST",
            "32.0 ap>s0 0 LOST",
            "32.0 dropped 0 RetryLimit",
            "52.0 s0 returns",
            "52.5 s0>ap null pm=0",
        ],
    );
}

#[test]
fn a_scan_is_refused_that_is_longer_than_its_interval() {
    let config = ScanConfig::every(Span::from_secs(30));
    assert_eq!(config.check(), Ok(()));
    let refused = ScanConfig { interval: Span::from_secs(2), ..config }.check().unwrap_err();
    assert_eq!(refused.to_string(), "interval: expected 2.275s to 1d, got 2s");
}

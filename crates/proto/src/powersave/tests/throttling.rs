//! PSM-Throttling: which traffic is shaped, and how. Times as in [`super::ladders`], the policy's a tenth of the usual ones.

use airwatt_base::{Instant, Span};

use super::air::{Air, Radio};
use crate::powersave::{PolicyConfig, PsmThrottling};

const fn ms(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

/// Measures for 100 ms, bursts every 100 ms, trains of four packets.
fn policy() -> PolicyConfig {
    PolicyConfig::PsmThrottling(PsmThrottling {
        measure: Span::from_millis(100),
        period: Span::from_millis(100),
        quiet: Span::from_millis(20),
        forget_after: Span::from_millis(500),
        train: 4,
        used_up_max: 3,
        ..PsmThrottling::default()
    })
}

/// A cell in which a server has a packet at each of these times, in microseconds. Those that the window does not allow wait,
/// and leave when it does, without any round trip.
fn stream(times: impl IntoIterator<Item = u64>, until: u64) -> Air {
    let mut air = Air::new(1_000, 1_000, &[policy()]);
    let mut times = times.into_iter().peekable();
    let (mut held, mut packet) = (0, 0);
    for at in (1_000..until * 1_000).step_by(500) {
        air.run_until(Instant::from_micros(at));
        while times.next_if(|time| *time <= at).is_some() {
            held += 1;
        }
        let client = &mut air.clients[0];
        let allowed = client.window.map_or(held, |window| held.min(window / 1_448));
        client.window = client.window.map(|window| window - allowed * 1_448);
        held -= allowed;
        for _ in 0..allowed {
            packet += 1;
            air.down(at, 0, packet);
        }
    }
    air
}

/// Lines of the log that are neither packets nor acknowledgements, with their times.
fn decisions(air: &Air, from_ms: u64) -> Vec<&str> {
    let time = |line: &str| line.split(' ').next().unwrap().parse::<f64>().unwrap();
    let lines = air.log.iter().filter(|line| time(line) >= from_ms as f64);
    lines.filter(|line| !line.contains("ap>s0") && !line.contains("beacon")).map(String::as_str).collect()
}

/// Sixteen packets at once, then one every 10 ms: the path carries twenty times what comes. From 301 ms on the stream is
/// shaped into bursts of ten packets, 100 ms apart. The fourth window is twice as large, in case there is more; there is
/// not, so its rest comes singly, and after a rest of three quarters of a period all is as before.
/// ```text
/// net  . . . . . . . . . . . . . . . . . . . . . .
/// AP              ::::::::::          ::::::::::
/// STA  v          ^ 15 kB   v         ^ 15 kB   v
/// ```
#[test]
fn a_throttled_stream_is_shaped_into_bursts() {
    let times = (0..16).map(|_| 102_000).chain((1..120).map(|place| 102_000 + place * 10_000));
    let air = stream(times, 890);
    expect(
        &air,
        300,
        &[
            "301.2 s0 window 0",
            "301.7 s0>ap null pm=1",
            "301.7 s0 dozes",
            "399.2 s0 wakes",
            "400.2 s0 dozes",
            "401.2 s0 wakes",
            "401.2 s0 window 15000",
            "402.0 s0>ap null pm=0",
            "407.0 s0 window 0",
            "407.5 s0>ap null pm=1",
            "407.5 s0 dozes",
            "499.2 s0 wakes",
            "500.2 s0 dozes",
            "501.2 s0 wakes",
            "501.2 s0 window 15000",
            "502.0 s0>ap null pm=0",
            "507.0 s0 window 0",
            "507.5 s0>ap null pm=1",
            "507.5 s0 dozes",
            "599.2 s0 wakes",
            "600.2 s0 dozes",
            "601.2 s0 wakes",
            "601.2 s0 window 15000",
            "602.0 s0>ap null pm=0",
            "607.0 s0 window 0",
            "607.5 s0>ap null pm=1",
            "607.5 s0 dozes",
            "699.2 s0 wakes",
            "700.2 s0 dozes",
            "701.2 s0 wakes",
            "701.2 s0 window 30000",
            "702.0 s0>ap null pm=0",
            "792.5 s0 window 0",
            "793.0 s0>ap null pm=1",
            "793.0 s0 dozes",
            "799.2 s0 wakes",
            "800.2 s0 dozes",
            "867.5 s0 wakes",
            "867.5 s0 window 11708",
            "868.3 s0>ap null pm=0",
            "872.5 s0 window 0",
            "873.0 s0>ap null pm=1",
            "873.0 s0 dozes",
        ],
    );
}

#[track_caller]
fn expect(air: &Air, from_ms: u64, ladder: &[&str]) {
    let log = decisions(air, from_ms);
    assert_eq!(log, ladder, "\n{}", log.join("\n"));
    air.check_machines();
}

/// As much as the path carries: active mode, until nothing has come for 500 ms.
#[test]
fn a_download_as_fast_as_the_path_stays_in_active_mode() {
    let air = stream((0..400).map(|place| 1_000 + place * 600), 890);
    expect(&air, 101, &["101.7 s0>ap null pm=0", "802.1 s0>ap null pm=1", "802.1 s0 dozes"]);
}

/// An upload, and the acknowledgements that come for it: no window of ours shapes that.
#[test]
fn an_upload_is_not_shaped() {
    let mut air = Air::new(1_000, 1_000, &[policy()]);
    for packet in 0..40 {
        let at = 5_000 + u64::from(packet) * 10_000;
        air.up(at, 0, packet);
        if packet % 4 == 0 {
            air.down(at + 5_000, 0, 100 + packet);
        }
    }
    assert!(!air.ap.asleep(0) && air.clients[0].radio == Radio::Awake);
    assert!(air.log.iter().all(|line| !line.contains("window")), "{:?}", air.log);
    air.run_until(ms(1_000));
    assert!(air.ap.asleep(0));
    air.check_machines();
}

/// The first tenth of a second of a download is slow, as a slow start over a long path is, with trains as fast as the path.
/// It is shaped, uses up its windows, and is let go when its rate has been doubled often enough.
#[test]
fn a_greedy_download_that_began_slowly_is_let_go() {
    let slow = (0..8).map(|_| 102_000).chain((1..10).map(|place| 202_000 + place * 10_000));
    let fast = (0..4_000).map(|place| 305_000 + place * 550);
    let air = stream(slow.chain(fast), 2_400);
    let last = air.log.iter().rfind(|line| line.contains("window")).unwrap();
    assert!(last.ends_with("window open"), "{last}");
    assert!(!air.ap.asleep(0));
    air.check_machines();
}

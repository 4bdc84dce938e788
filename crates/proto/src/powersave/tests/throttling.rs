//! PSM-Throttling: which traffic is shaped, and how. Times as in [`super::ladders`], the policy's a tenth of the usual ones.

use airwatt_base::{Instant, Span};

use super::air::{Air, Radio};
use crate::powersave::{PowerSaveConfig, PsmThrottlingConfig};

const fn ms(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

/// Measures for 100 ms, bursts every 100 ms. No station here begins, so that 20 ms without a packet are a silence.
fn policy() -> PowerSaveConfig {
    PowerSaveConfig::PsmThrottling(PsmThrottlingConfig {
        measure: Span::from_millis(100),
        period: Span::from_millis(100),
        quiet: Span::from_millis(20),
        forget_after: Span::from_millis(500),
        used_up_max: 3,
        ..PsmThrottlingConfig::default()
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

/// Four packets at once every 40 ms.
fn blocks(places: std::ops::Range<u64>) -> impl Iterator<Item = u64> {
    places.flat_map(|place| std::iter::repeat_n(102_000 + place * 40_000, 4))
}

/// Lines of the log that are neither packets nor acknowledgements, with their times.
fn decisions(air: &Air, from_ms: u64) -> Vec<&str> {
    let time = |line: &str| line.split(' ').next().unwrap().parse::<f64>().unwrap();
    let lines = air.log.iter().filter(|line| time(line) >= from_ms as f64);
    lines.filter(|line| !line.contains("ap>s0") && !line.contains("beacon")).map(String::as_str).collect()
}

/// Sixteen packets at once, then four every 40 ms, and silence in between: the path carries twenty times what comes. From
/// 301 ms on the stream is shaped into bursts of eight packets, 100 ms apart, with what waits at the server. From the
/// fourth on windows are twice as large, in case there is more; the fifth finds the server empty, and waits in vain.
/// ```text
/// net  ::    ::    ::    ::    ::    ::    ::
/// AP              ::::                ::::
/// STA  v          ^ 12 kB   v         ^ 12 kB   v
/// ```
#[test]
fn a_throttled_stream_is_shaped_into_bursts() {
    let times = (0..16).map(|_| 102_000).chain(blocks(1..30));
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
            "401.2 s0 window 12000",
            "402.0 s0>ap null pm=0",
            "406.0 s0 window 0",
            "406.5 s0>ap null pm=1",
            "406.5 s0 dozes",
            "499.2 s0 wakes",
            "500.2 s0 dozes",
            "501.2 s0 wakes",
            "501.2 s0 window 12000",
            "502.0 s0>ap null pm=0",
            "506.0 s0 window 0",
            "506.5 s0>ap null pm=1",
            "506.5 s0 dozes",
            "599.2 s0 wakes",
            "600.2 s0 dozes",
            "601.2 s0 wakes",
            "601.2 s0 window 12000",
            "602.0 s0>ap null pm=0",
            "606.0 s0 window 0",
            "606.5 s0>ap null pm=1",
            "606.5 s0 dozes",
            "699.2 s0 wakes",
            "700.2 s0 dozes",
            "701.2 s0 wakes",
            "701.2 s0 window 24000",
            "702.0 s0>ap null pm=0",
            "710.0 s0 window 0",
            "710.5 s0>ap null pm=1",
            "710.5 s0 dozes",
            "799.2 s0 wakes",
            "800.2 s0 dozes",
            "801.2 s0 wakes",
            "801.2 s0 window 48000",
            "802.0 s0>ap null pm=0",
            "844.0 s0 window 0",
            "844.5 s0>ap null pm=1",
            "844.5 s0 dozes",
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
    let slow = (0..8).map(|_| 102_000).chain(blocks(2..5));
    let fast = (0..4_000).map(|place| 305_000 + place * 550);
    let air = stream(slow.chain(fast), 2_400);
    let last = air.log.iter().rfind(|line| line.contains("window")).unwrap();
    assert!(last.ends_with("window open"), "{last}");
    assert!(!air.ap.asleep(0));
    air.check_machines();
}

/// A greedy download whose window is too small for its path: three packets as fast as the air once a round trip of 15 ms,
/// which the station's own request, answered after as long, has told. That it never has more is no throttling.
#[test]
fn a_download_with_a_small_window_is_not_shaped() {
    let mut air = Air::new(1_000, 1_000, &[policy()]);
    air.up(10_000, 0, 0);
    for trip in 1..40 {
        for packet in 0..3 {
            air.down(10_000 + trip * 15_000, 0, trip as u32 * 3 + packet);
        }
    }
    assert!(!air.ap.asleep(0) && air.clients[0].radio == Radio::Awake);
    assert!(air.log.iter().all(|line| !line.contains("window")), "{:?}", air.log);
}

/// Somebody asks, gets eight packets at once, and reads for 40 ms: not the server is silent, and nothing is shaped.
#[test]
fn a_dialogue_is_not_shaped() {
    let mut air = Air::new(1_000, 1_000, &[policy()]);
    for question in 0..20 {
        let at = 10_000 + question * 45_000;
        air.up(at, 0, 1_000 + question as u32);
        for packet in 0..8 {
            air.down(at + 5_000, 0, question as u32 * 8 + packet);
        }
    }
    assert!(!air.ap.asleep(0) && air.clients[0].radio == Radio::Awake);
    assert!(air.log.iter().all(|line| !line.contains("window")), "{:?}", air.log);
}

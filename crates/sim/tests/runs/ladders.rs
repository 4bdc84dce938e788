//! Frame ladders: what goes over the air when, checked by hand against IEEE 802.11-2020.
//!
//! All are 802.11a: slot 9 us, SIFS 16 us, DIFS 34 us, data at 54 Mbit/s (1,500 bytes 252 us, 52 bytes 36 us, a Null frame
//! 28 us), ACK at 24 Mbit/s 28 us, a beacon at 6 Mbit/s 216 us. Stations stand beside the access point, so
//! propagation takes no time and each gap is SIFS (16 us before an ACK) or DIFS and a whole number of slots.
#![expect(clippy::print_stdout, reason = "a ladder that differs is printed to be read")]

use std::ops::ControlFlow;

use airwatt_base::Instant;
use airwatt_sim::scenario::Scenario;
use airwatt_sim::{Run, RunOptions, run};

const COMMON: &str = r#"
duration = "400ms"

[wired]
rtt = "2ms"
down = { rate = "100Mbps" }
up = { rate = "100Mbps" }

[wifi]
standard = "802.11a"
data_rate = "54Mbps"
control_rate = "24Mbps"

[tcp]
handshake = false
delayed_ack = false
"#;

/// A run of the common scenario with these stations and flows, and changes to keys.
fn traced(rest: &str, changes: &[(&str, &str)]) -> Run {
    let changes: Vec<_> = changes.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
    let scenario = Scenario::from_text(&format!("{COMMON}\n{rest}"), "ladder", &changes).unwrap();
    let mut go_on = |_| ControlFlow::Continue(());
    run(&scenario, 1, &mut RunOptions { trace: true, on_progress: &mut go_on }).unwrap()
}

/// The ladder between two times, in microseconds, is `expected`; margins do not count.
#[track_caller]
fn check(run: &Run, from_us: u64, to_us: u64, expected: &str) {
    let trace = run.trace.as_ref().unwrap();
    let ladder = trace.ladder(Instant::from_micros(from_us), Instant::from_micros(to_us));
    assert!(ladder.lines().all(|line| line.len() <= 80));
    let lines = |text: &str| text.lines().map(|line| line.trim().to_owned()).collect::<Vec<_>>();
    if lines(ladder.trim()) != lines(expected.trim()) {
        println!("{ladder}");
        panic!("the ladder differs");
    }
}

/// 11.2.3.5: the TIM bit, a trigger, frames with More Data until EOSP, sleep. The trigger contends: the beacon ends at
/// 152.850, DIFS and 5 slots later it goes out. TCP's acknowledgements carry PM = 1; the one within the service period opens no
/// other, the one after EOSP opens one that a QoS Null ends at once. The radio dozes at EOSP and is called back in the same
/// instant for that acknowledgement: with this radio both are free.
#[test]
fn psm_fetches_at_the_beacon_and_sleeps_after_the_end_of_its_service_period() {
    let run = traced(
        r#"
[[station]]
power_save = { policy = "psm" }
distance = "0m"
[[flow]]
direction = "down"
application = { kind = "bulk", size = "2896B" }
start = "60ms"
"#,
        &[],
    );
    check(
        &run,
        49_000,
        155_000,
        "
               49.730          sta0 is awake
               50.234   216us  AP -> all    beacon   dtim 0
               50.450          sta0 sleeps
              152.130          sta0 is awake
              152.634   216us  AP -> all    beacon   dtim 0 tim sta0
              152.929    28us  AP <- sta0   qos-null pm
              152.973    28us  AP -> sta0   ack
              153.062   252us  AP -> sta0   data     1500 B more-data
              153.330    28us  AP <- sta0   ack
              153.419    36us  AP <- sta0   data     52 B pm
              153.471    28us  AP -> sta0   ack
              153.542   252us  AP -> sta0   data     1500 B eosp
              153.810    28us  AP <- sta0   ack
              153.962    36us  AP <- sta0   data     52 B pm
              154.014    28us  AP -> sta0   ack
              154.094    28us  AP -> sta0   qos-null eosp
              154.138    28us  AP <- sta0   ack
              154.166          sta0 sleeps
        ",
    );
}

/// 11.2.3.6: each PS-Poll fetches one frame, and More Data calls for the next. The access point acknowledges the poll and
/// sends the frame when it has won the air. Polls go ahead of the user's frames; those carry PM = 1 and open nothing.
#[test]
fn ps_poll_asks_for_one_frame_at_a_time() {
    let run = traced(
        r#"
[[station]]
power_save = { policy = "psm-legacy" }
distance = "0m"
[[flow]]
direction = "down"
application = { kind = "bulk", size = "2896B" }
start = "60ms"
"#,
        &[],
    );
    check(
        &run,
        152_000,
        155_000,
        "
              152.130          sta0 is awake
              152.634   216us  AP -> all    beacon   dtim 0 tim sta0
              152.929    28us  AP <- sta0   ps-poll  pm
              152.973    28us  AP -> sta0   ack
              153.062   252us  AP -> sta0   data     1500 B more-data
              153.330    28us  AP <- sta0   ack
              153.419    28us  AP <- sta0   ps-poll  pm
              153.463    28us  AP -> sta0   ack
              153.534   252us  AP -> sta0   data     1500 B
              153.802    28us  AP <- sta0   ack
              153.954    36us  AP <- sta0   data     52 B pm
              154.006    28us  AP -> sta0   ack
              154.176    36us  AP <- sta0   data     52 B pm
              154.228    28us  AP -> sta0   ack
              154.256          sta0 sleeps
        ",
    );
}

/// The trigger that found frames waiting: 40 ms after the one before was acknowledged, whether a TIM said so or not.
#[test]
fn uapsd_triggers_by_the_clock() {
    let run = traced(
        r#"
[[station]]
power_save = { policy = "uapsd", interval = "40ms" }
distance = "0m"
[[flow]]
direction = "down"
application = { kind = "bulk", size = "2896B" }
start = "60ms"
"#,
        &[],
    );
    check(
        &run,
        85_000,
        87_500,
        "
               85.149          sta0 is awake
               85.157    28us  AP <- sta0   qos-null pm
               85.201    28us  AP -> sta0   ack
               85.380   252us  AP -> sta0   data     1500 B more-data
               85.648    28us  AP <- sta0   ack
               85.728   252us  AP -> sta0   data     1500 B eosp
               85.996    28us  AP <- sta0   ack
               86.139    36us  AP <- sta0   data     52 B pm
               86.191    28us  AP -> sta0   ack
               86.271    28us  AP -> sta0   qos-null eosp
               86.315    28us  AP <- sta0   ack
               86.458    36us  AP <- sta0   data     52 B pm
               86.510    28us  AP -> sta0   ack
               86.599    28us  AP -> sta0   qos-null eosp
               86.643    28us  AP <- sta0   ack
               86.671          sta0 sleeps
        ",
    );
}

/// 11.2.3.2: PM = 1 in an acknowledged Null frame before the radio sleeps, 20 ms after the last frame; PM = 0 to get
/// what the TIM announced. The AR5004 takes 1 us to fall asleep and 1 ms to wake, so it begins to wake 1.5 ms before the beacon is due.
#[test]
fn timeout_announces_sleep_and_wakefulness_by_null_frames() {
    let run = traced(
        r#"
[[station]]
power_save = { policy = "timeout", timeout = "20ms" }
radio = "ar5004"
distance = "0m"
[[flow]]
direction = "down"
application = { kind = "bulk", size = "1448B" }
start = "60ms"
"#,
        &[],
    );
    check(
        &run,
        0,
        200_000,
        "
               25.000    28us  AP <- sta0   null     pm
               25.044    28us  AP -> sta0   ack
               25.072          sta0 falls asleep
               25.073          sta0 sleeps
               48.730          sta0 wakes up
               49.730          sta0 is awake
               50.234   216us  AP -> all    beacon   dtim 0
               50.450          sta0 falls asleep
               50.451          sta0 sleeps
              151.130          sta0 wakes up
              152.130          sta0 is awake
              152.634   216us  AP -> all    beacon   dtim 0 tim sta0
              152.929    28us  AP <- sta0   null
              152.973    28us  AP -> sta0   ack
              153.062   252us  AP -> sta0   data     1500 B
              153.330    28us  AP <- sta0   ack
              153.419    36us  AP <- sta0   data     52 B
              153.471    28us  AP -> sta0   ack
              173.504    28us  AP <- sta0   null     pm
              173.548    28us  AP -> sta0   ack
              173.576          sta0 falls asleep
              173.577          sta0 sleeps
        ",
    );
}

/// A listen interval of three beacons: two with the station's TIM bit pass while it sleeps, and nothing is sent to it.
#[test]
fn the_access_point_holds_frames_for_a_station_that_sleeps_through_beacons() {
    let run = traced(
        r#"
[[station]]
power_save = { policy = "psm" }
listen_interval = 3
distance = "0m"
[[flow]]
direction = "down"
application = { kind = "bulk", size = "1448B" }
start = "60ms"
"#,
        &[],
    );
    check(
        &run,
        150_000,
        360_000,
        "
              152.634   216us  AP -> all    beacon   dtim 0 tim sta0
              255.034   216us  AP -> all    beacon   dtim 0 tim sta0
              356.930          sta0 is awake
              357.434   216us  AP -> all    beacon   dtim 0 tim sta0
              357.729    28us  AP <- sta0   qos-null pm
              357.773    28us  AP -> sta0   ack
              357.862   252us  AP -> sta0   data     1500 B eosp
              358.130    28us  AP <- sta0   ack
              358.219    36us  AP <- sta0   data     52 B pm
              358.271    28us  AP -> sta0   ack
              358.342    28us  AP -> sta0   qos-null eosp
              358.386    28us  AP <- sta0   ack
              358.414          sta0 sleeps
        ",
    );
    let held: Vec<u32> = run.trace.as_ref().unwrap().ap_power_save.iter().map(|(_, held)| *held).collect();
    assert_eq!(held, [0, 1, 0]);
}

/// Both begin at the same slot boundary. Nobody gets an ACK: each waits for its ACKTimeout of SIFS, a slot and 20 us (45 us) and
/// for DIFS, then counts backoff from the window of 32 slots: 10.337 is its zeroth slot, 27 slots later station 1 sends.
/// Station 0 drew 28: it counted one at each boundary and has none left when DIFS is over after the ACK (EDCA).
#[test]
fn two_stations_that_begin_at_once_collide_and_back_off() {
    let run = traced(
        r#"
[[station]]
count = 2
distance = "0m"
[[flow]]
direction = "up"
application = { kind = "bulk", size = "1448B" }
start = "10ms"
"#,
        &[],
    );
    check(
        &run,
        10_000,
        14_000,
        "
               10.006   252us  AP <- sta0   data     1500 B (collision)
               10.006   252us  AP <- sta1   data     1500 B (collision)
               10.580   252us  AP <- sta1   data     1500 B retry
               10.848    28us  AP -> sta1   ack
               10.910   252us  AP <- sta0   data     1500 B retry
               11.178    28us  AP -> sta0   ack
               12.959    36us  AP -> sta1   data     52 B
               13.011    28us  AP <- sta1   ack
               13.289    36us  AP -> sta0   data     52 B
               13.341    28us  AP <- sta0   ack
        ",
    );
}

/// Three retries in doubled windows: from ACKTimeout and DIFS after each end 28 slots of 32, 23 of 64, 60 of 128. The next frame
/// is a new one, from the smallest window again: 12 slots of 16.
#[test]
fn a_frame_that_nobody_acknowledges_is_given_up_at_the_retry_limit() {
    let run = traced(
        r#"
[[station]]
distance = "0m"
[[flow]]
direction = "up"
transport = "udp"
application = { kind = "saturated" }
start = "10ms"
"#,
        &[("duration", "14ms"), ("wifi.frame_error_rate", "0.9999999"), ("wifi.retry_limit", "3")],
    );
    check(
        &run,
        10_000,
        13_000,
        "
               10.006   252us  AP <- sta0   data     1500 B (noise)
               10.589   252us  AP <- sta0   data     1500 B retry (noise)
               11.127   252us  AP <- sta0   data     1500 B retry (noise)
               11.998   252us  AP <- sta0   data     1500 B retry (noise)
               12.437   252us  AP <- sta0   data     1500 B (noise)
               12.993   252us  AP <- sta0   data     1500 B retry (noise)
        ",
    );
}

/// 10.3.2.9: RTS, CTS, data and ACK, SIFS apart; each announces how long the rest will take.
#[test]
fn rts_and_cts_come_before_long_frames() {
    let run = traced(
        r#"
[[station]]
distance = "0m"
[[flow]]
direction = "up"
application = { kind = "bulk", size = "1448B" }
start = "10ms"
"#,
        &[("wifi.station_rts_threshold", "1000B")],
    );
    check(
        &run,
        10_000,
        14_000,
        "
               10.006    28us  AP <- sta0   rts
               10.050    28us  AP -> sta0   cts
               10.094   252us  AP <- sta0   data     1500 B
               10.362    28us  AP -> sta0   ack
               12.476    36us  AP -> sta0   data     52 B
               12.528    28us  AP <- sta0   ack
        ",
    );
    let frames = run.trace.unwrap().frames;
    let announced: Vec<u64> = frames[..4].iter().map(|frame| frame.nav.as_nanos() / 1_000).collect();
    assert_eq!(announced, [28 + 252 + 28 + 3 * 16, 252 + 28 + 2 * 16, 28 + 16, 0]);
}

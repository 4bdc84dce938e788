//! Tests of what limits an attempt: lifetimes of packets, and when an RTS precedes it.

use airwatt_base::{Instant, Span};
use proptest::prelude::*;

use super::{AIR, CellMedium, drive, packet, sent, settings, us, with_access_point};
use crate::media::cell::frame::{CellFrameKind, TracedFrame};
use crate::media::cell::{CellInput, CellOutput};

/// A cell of 802.11a with one awake station and beacons far away.
fn cell(set: &[(&str, &str)]) -> CellMedium {
    let (mut config, stations) = settings(&["active"], &[AIR, set].concat());
    config.power_save.first_beacon = Instant::from_secs(9);
    with_access_point(config, stations)
}

/// So many packets at once in each direction.
fn at_once(packets: u32) -> Vec<(Instant, CellInput)> {
    let both = |number| [sent([0, 1], packet(2 * number)), sent([1, 0], packet(2 * number + 1))];
    (0..packets).flat_map(both).map(|input| (us(0), input)).collect()
}

fn counts(outputs: &[CellOutput]) -> (usize, usize) {
    let lost = outputs.iter().filter(|output| matches!(output, CellOutput::Lost(_))).count();
    (outputs.len() - lost, lost)
}

fn data_frames(frames: &[TracedFrame]) -> impl Iterator<Item = (usize, &TracedFrame)> {
    frames.iter().enumerate().filter(|(_, frame)| frame.kind == CellFrameKind::Data)
}

/// An exchange takes 322 us and a backoff: three or so begin within the first millisecond, the last of them ends behind it, and what waits
/// then is lost at that instant.
#[test]
fn packets_that_wait_longer_than_their_lifetime_are_lost() {
    let mut cell = cell(&[("wifi.msdu_lifetime.best_effort", "1ms")]);
    cell.trace();
    let outputs = drive(&mut cell, &at_once(20), Instant::from_millis(1), |_| None);
    let (arrived, lost) = counts(&outputs);
    assert!((1..=3).contains(&arrived) && arrived + lost >= 38, "{arrived} arrived and {lost} lost");
    let outputs = drive(&mut cell, &[], Instant::from_millis(50), |_| None);
    assert_eq!(outputs.len(), 40 - arrived - lost, "only what was on the air is left");
    assert_eq!(cell.statistics().expired, Some((lost + counts(&outputs).1) as u64));
    let frames = cell.take_trace().expect("the cell was traced").frames;
    assert!(data_frames(&frames).all(|(_, frame)| frame.start <= Instant::from_millis(1)));
}

/// Without a response a frame comes again until its lifetime is over, whatever the retry limit.
#[test]
fn a_frame_without_a_response_is_sent_until_its_lifetime_is_over() {
    let set = [("wifi.frame_error_rate", "0.999999"), ("wifi.retry_limit", "255")];
    let mut cell = cell(&[&set[..], &[("wifi.msdu_lifetime.best_effort", "20ms")]].concat());
    cell.trace();
    let outputs = drive(&mut cell, &[(us(0), sent([1, 0], packet(0)))], Instant::from_secs(5), |_| None);
    assert_eq!(outputs, [CellOutput::Lost(packet(0))]);
    let statistics = cell.statistics();
    assert_eq!((statistics.given_up, statistics.expired), (0, Some(1)));
    let frames = cell.take_trace().expect("the cell was traced").frames;
    let starts: Vec<Instant> = data_frames(&frames).map(|(_, frame)| frame.start).collect();
    assert!(starts.len() > 4 && starts.iter().all(|start| *start < Instant::from_millis(20)), "{starts:?}");
}

/// A packet of 1,464 bytes and its ACK take 244 + 16 + 28 us.
#[test]
fn an_rts_precedes_what_takes_longer_than_the_threshold() {
    for (threshold, expected) in [("287us", true), ("288us", false)] {
        let mut cell = cell(&[("wifi.txop_duration_rts_threshold", threshold)]);
        cell.trace();
        drive(&mut cell, &at_once(3), Instant::from_millis(20), |_| None);
        let frames = cell.take_trace().expect("the cell was traced").frames;
        let rts = frames.iter().filter(|frame| frame.kind == CellFrameKind::Rts).count();
        let data = data_frames(&frames).count();
        assert_eq!(rts > 0, expected, "{threshold}");
        assert!(!expected || data <= rts, "each has one");
    }
}

proptest! {
    /// An RTS precedes a frame if and only if as many attempts as the key says have failed before, each of which is one more retry.
    #[test]
    fn an_rts_follows_failures(failures in 1_u32..4, errors in 0.0_f64..0.9, packets in 1_u32..20) {
        let (failures_text, errors) = (failures.to_string(), errors.to_string());
        let set = [("wifi.rts_after_failures", failures_text.as_str()), ("wifi.frame_error_rate", &errors)];
        let mut cell = cell(&set);
        cell.trace();
        let inputs: Vec<_> = (0..packets).map(|number| (us(0), sent([1, 0], packet(number)))).collect();
        drive(&mut cell, &inputs, Instant::from_secs(3), |_| None);
        let frames = cell.take_trace().expect("the cell was traced").frames;
        let mut attempts = (0, u16::MAX);
        for (place, frame) in data_frames(&frames) {
            attempts = if attempts.1 == frame.sequence { (attempts.0 + 1, attempts.1) } else { (0, frame.sequence) };
            let before = place.checked_sub(1).map(|place| frames[place].kind);
            prop_assert_eq!(before == Some(CellFrameKind::Cts), attempts.0 >= failures, "attempt {:?}", attempts);
        }
    }
}

/// What a lifetime of 500 ms, the default of the standard and of ns-3, does to best effort beside a saturated voice queue: nothing of it is
/// older than that when it begins.
#[test]
fn each_category_has_its_lifetime() {
    let set =
        [("wifi.access", "edca"), ("wifi.categories", "linux"), ("wifi.msdu_lifetime.background", "5ms")];
    let mut cell = cell(&set);
    let marked = |number: u32| {
        let dscp = if number.is_multiple_of(2) { 8 } else { 0 };
        sent([1, 0], crate::packet::Packet { dscp, ..packet(number) })
    };
    let inputs: Vec<_> = (0..80).map(|number| (us(0), marked(number))).collect();
    let outputs = drive(&mut cell, &inputs, Instant::ZERO + Span::from_millis(500), |_| None);
    let lost = |output: &&CellOutput| matches!(output, CellOutput::Lost(packet) if packet.dscp == 8);
    let (arrived, all_lost) = counts(&outputs);
    assert_eq!(outputs.iter().filter(lost).count(), all_lost, "best effort loses none");
    assert!(all_lost > 20 && arrived >= 40, "{arrived} arrived and {all_lost} lost");
}

//! What a station of the cell sends to another one: the capture has it on both of its ways, and so the time at which the access point had it.

use super::*;

const OTHER: MacAddress = MacAddress([2, 0, 0, 0, 0, 3]);

/// A frame of the other station for the one that sleeps.
fn to_access_point(retry: bool) -> Vec<u8> {
    frame(FrameKind::Data, true, |header| {
        (header.address2, header.address3) = (Some(OTHER), Some(STATION));
        header.control.retry = retry;
    })
}

/// The same on its way from the access point.
fn from_access_point() -> Vec<u8> {
    frame(FrameKind::Data, false, |header| {
        header.address3 = Some(OTHER);
        header.sequence_control = Some(2 << 4);
    })
}

/// A station that sleeps from 2 ms on, what happens then, and a PS-Poll at 410 ms that brings the other station's frame.
fn fetched(meanwhile: &[(u64, Vec<u8>)]) -> Vec<(u64, Vec<u8>)> {
    let begin = [(0, poll()), (1, data(1, false)), (1, ack(AP)), (2, null(true)), (2, ack(STATION))];
    let end = [(410, poll()), (410, from_access_point()), (410, ack(AP)), (412, null(true))];
    [&begin[..], meanwhile, &end].concat()
}

fn sent(at: u64) -> [(u64, Vec<u8>); 2] {
    [(at, to_access_point(false)), (at, ack(OTHER))]
}

fn beacons(with_bit: [bool; 4]) -> [(u64, Vec<u8>); 4] {
    let mut number = 0;
    with_bit.map(|has_bit| {
        number += 1;
        (102 * number, beacon(if has_bit { &[1] } else { &[] }))
    })
}

fn after_the_first(with_bit: [bool; 4], middle: &[(u64, Vec<u8>)]) -> Vec<(u64, Vec<u8>)> {
    let beacons = beacons(with_bit);
    fetched(&[&beacons[..1], middle, &beacons[1..]].concat())
}

fn violated(frames: &[(u64, Vec<u8>)]) -> Vec<u32> {
    let all = tim_never_set(frames).into_iter();
    all.filter(|(verdict, _)| *verdict == Verdict::Violated).map(|(_, packet)| packet).collect()
}

/// ```text
/// STA    PM=1                                              PS-Poll
/// AP           beacon()          beacon()  beacon()  beacon(TIM:1)  data
/// other                 data
/// ```
#[test]
fn beacons_without_the_bit_conceal_a_frame_that_another_station_has_sent() {
    let late = after_the_first([false, false, false, true], &sent(110));
    assert_eq!(violated(&late), [9, 10]);
    let never = after_the_first([false; 4], &sent(110));
    assert_eq!(violated(&never), [9, 10, 11]);
    let of_kind = |finding: &power_save::Finding| finding.kind == FindingKind::TimNeverSet;
    let found = findings(&ladder(&late)).into_iter().find(of_kind).unwrap();
    let first = &found.occurrences[0];
    assert_eq!(excess(&found).delay, Span::from_millis(204));
    assert!(first.deciding.contains(&7) && first.deciding.contains(&13), "{:?}", first.deciding);
    let detail = first.detail.as_deref().unwrap();
    assert!(
        detail.contains("0.094 s after packet 7 brought the access point the frame of packet 13"),
        "{detail}"
    );
    assert!(first.assumption.unwrap().contains("forwards within its cell at once"));
}

#[test]
fn a_frame_that_the_next_beacon_announces_keeps_the_rule_from_its_arrival_on() {
    let frames = after_the_first([false, true, true, true], &sent(110));
    let found =
        findings(&ladder(&frames)).into_iter().find(|one| one.kind == FindingKind::TimNeverSet).unwrap();
    let [one] = &found.occurrences[..] else { panic!("{:?}", found.occurrences) };
    assert_eq!((one.verdict, &one.deciding[..]), (Verdict::Kept, &[7, 9, 13][..]));
}

/// Where something else explains the beacons, nothing is violated.
#[test]
fn no_access_point_is_accused_of_what_it_may_not_have_had() {
    let clear = [false; 4];
    // The access point did not acknowledge it, or the last transmission came later.
    let unheard = [(110, to_access_point(false))];
    assert!(violated(&after_the_first(clear, &unheard)).is_empty());
    let late = [
        &beacons(clear)[..3],
        &[(110, to_access_point(false)), (395, to_access_point(true)), (395, ack(OTHER))],
    ];
    let mut again = fetched(&[late.concat(), beacons(clear)[3..].to_vec()].concat());
    again.sort_by_key(|(at, _)| *at);
    assert!(violated(&again).is_empty());
    // It is another frame, by its length.
    let longer = [(110, [to_access_point(false), vec![0; 20]].concat()), (110, ack(OTHER))];
    assert!(violated(&after_the_first(clear, &longer)).is_empty());
    // It is the younger of two that are alike.
    let frames = after_the_first(clear, &sent(110));
    let mut two = [&frames[..], &sent(390)[..]].concat();
    two.sort_by_key(|(at, _)| *at);
    assert!(violated(&two).is_empty());
    // The station was awake when it came: it may have left the buffer at once.
    let awake = [
        &[(105, null(false)), (105, ack(STATION))][..],
        &sent(110),
        &[(115, null(true)), (115, ack(STATION))],
    ];
    assert!(violated(&after_the_first(clear, &awake.concat())).is_empty());
    // The beacon was composed right after it came.
    assert!(violated(&after_the_first([false, false, true, true], &sent(160))).is_empty());
    // The station had asked for it: it is not in the buffer any more.
    let asked = [&sent(110)[..], &[(120, poll()), (120, ack(STATION))]].concat();
    assert!(violated(&after_the_first(clear, &asked)).is_empty());
}

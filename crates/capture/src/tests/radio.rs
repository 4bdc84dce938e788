//! What is known of a station's radio: its states as captured, the mode of its frames, and its name.

use airwatt_dot11::{AmpduStatus, Channel, Guard, TxVector, Width};
use airwatt_energy::{Radio, RadioState};

use super::*;
use crate::captured_radio::{BeaconsWanted, as_captured};
use crate::phy::Phy;

/// Time in a state from one millisecond to another.
fn spent(capture: &Capture, state: RadioState, from_ms: u64, until_ms: u64) -> Span {
    spent_by(capture, BeaconsWanted::Dtims, state, from_ms, until_ms)
}

/// The same of a station that wakes up for some beacons.
fn spent_by(
    capture: &Capture,
    wanted: BeaconsWanted,
    state: RadioState,
    from_ms: u64,
    until_ms: u64,
) -> Span {
    let radio = Radio::find("broadcom-4311").unwrap();
    let periods =
        as_captured(capture, &power_save::observe(capture), &Station::Mac(STATION), &radio, wanted).unwrap();
    let at = |ms| Instant::ZERO + Span::from_millis(ms);
    let inside = periods.iter().filter(|period| period.state == state).map(|period| {
        let end = (period.start + period.duration).min(at(until_ms));
        end.saturating_since(period.start.max(at(from_ms)))
    });
    inside.sum()
}

fn dtim(group: bool) -> Vec<u8> {
    beacon_of(0, TimFields { dtim_count: 0, dtim_period: 1, group, aids: &[] }, None)
}

/// A frame of the access point to all stations.
fn group_frame(more: bool) -> Vec<u8> {
    frame(FrameKind::Data, false, |header| {
        header.address1 = MacAddress::BROADCAST;
        header.control.more_data = more;
    })
}

const LISTEN: RadioState = RadioState::Listen;
const SLEEP: RadioState = RadioState::Sleep;

#[test]
fn a_station_that_asked_waits_awake() {
    let asked = |rest: &[(u64, Vec<u8>)]| {
        let asleep = [(0, null(false)), (10, null(true)), (100, beacon(&[1])), (101, poll())];
        ladder(&[&asleep[..], rest, &[(600, null(true))]].concat())
    };
    let answered = asked(&[(181, data(1, false))]);
    assert!(spent(&answered, LISTEN, 102, 181) > Span::from_millis(78));
    assert!(spent(&answered, SLEEP, 182, 590) > Span::from_millis(400));
    // Without an answer it gives up after two beacon intervals.
    let ignored = asked(&[]);
    assert!(spent(&ignored, LISTEN, 102, 306) > Span::from_millis(203));
    assert!(spent(&ignored, SLEEP, 307, 590) > Span::from_millis(280));
}

/// A listen interval that the caller sets is that of the radio as captured, too: it wakes up for every third beacon instead of each.
#[test]
fn a_station_wakes_up_by_the_listen_interval_that_is_set() {
    let beacons = (0..12).map(|place| (100 + 102 * place, dtim(false)));
    let frames: Vec<_> = [(0, null(false)), (10, null(true))].into_iter().chain(beacons).collect();
    let capture = ladder(&[&frames[..], &[(1_400, null(true))]].concat());
    let received = |wanted| spent_by(&capture, wanted, RadioState::Receive, 50, 1_390);
    let each = received(BeaconsWanted::Dtims);
    for (beacons, dtims, of_twelve) in [(1, false, 12), (3, false, 4), (10, false, 2), (3, true, 12)] {
        assert_eq!(
            received(BeaconsWanted::Each { beacons, dtims }),
            each * of_twelve / 12,
            "{beacons}, {dtims}"
        );
    }
}

#[test]
fn a_station_waits_for_the_last_group_frame() {
    let with = |frames: &[(u64, Vec<u8>)]| {
        ladder(&[&[(0, null(false)), (10, null(true))], frames, &[(600, null(true))]].concat())
    };
    let two = with(&[(100, dtim(true)), (120, group_frame(true)), (140, group_frame(false))]);
    assert!(spent(&two, LISTEN, 101, 140) > Span::from_millis(38));
    assert!(spent(&two, RadioState::Receive, 119, 142) > Span::from_micros(100));
    assert!(spent(&two, SLEEP, 141, 590) > Span::from_millis(445));
    // Where the last one never comes it waits until the next beacon is due, and without the bit not at all.
    let none = with(&[(100, dtim(true))]);
    assert!(spent(&none, LISTEN, 101, 202) > Span::from_millis(100));
    assert!(spent(&none, SLEEP, 203, 590) > Span::from_millis(380));
    let unannounced = with(&[(100, dtim(false)), (120, group_frame(false))]);
    assert!(spent(&unannounced, SLEEP, 102, 590) > Span::from_millis(485));
}

#[test]
fn a_sleeping_radio_does_not_receive_what_nobody_acknowledges() {
    let sent = |rest: &[(u64, Vec<u8>)]| {
        let asleep = [(0, null(false)), (1, ack(STATION)), (10, null(true)), (11, ack(STATION))];
        ladder(&[&asleep[..], &[(200, data(1, false))], rest, &[(400, null(true))]].concat())
    };
    assert_eq!(spent(&sent(&[]), RadioState::Receive, 150, 250), Span::ZERO);
    assert!(spent(&sent(&[(201, ack(AP))]), RadioState::Receive, 150, 250) > Span::ZERO);
}

/// Data frames of the access point with this vector, and block acknowledgements of them or none.
fn sent_as(vector: TxVector, frequency_mhz: u16, has_block_acks: bool) -> Capture {
    let flags = if frequency_mhz < 3_000 { Channel::DYNAMIC_2GHZ } else { Channel::OFDM_5GHZ };
    let radiotap = Radiotap {
        channel: Some(Channel { frequency_mhz, flags }),
        mcs: airwatt_dot11::McsField::of(&vector),
        vht: Some(vector).filter(|vector| vector.format() == airwatt_dot11::Format::Vht),
        he: Some(vector).filter(|vector| matches!(vector.format(), airwatt_dot11::Format::He(_))),
        ..Radiotap::default()
    };
    let data = frame_with(&radiotap, FrameKind::QosData, false, |_| ());
    let answer =
        frame(FrameKind::BlockAck, true, |header| (header.address1, header.address2) = (AP, Some(STATION)));
    let mut frames = vec![(0, null(false)), (1, data.clone()), (2, data)];
    frames.extend(has_block_acks.then_some((3, answer)));
    ladder(&frames)
}

#[test]
fn a_replay_has_the_mode_of_the_capture() {
    let he = TxVector::he(11, 2, Width::Mhz80, Guard::Long).unwrap();
    let vht = TxVector::vht(9, 2, Width::Mhz80, Guard::Short).unwrap();
    let ht = TxVector::ht(7, Width::Mhz40, Guard::Short).unwrap();
    for (vector, frequency_mhz, expected) in [
        (he, 5_180, "802.11ax at HE80 MCS 11 x2 GI 0.8us, the mode of most of the station's bytes"),
        (he, 6_015, "802.11ax-6GHz at HE80 MCS 11 x2 GI 0.8us, the mode of most of the station's bytes"),
        (vht, 5_180, "802.11ac at VHT80 MCS 9 x2 GI 0.4us, the mode of most of the station's bytes"),
        (ht, 2_412, "802.11n-2.4GHz at HT40 MCS 7 GI 0.4us, the mode of most of the station's bytes"),
        // 2.4 GHz has no channel of 80 MHz, and no VHT.
        (vht, 2_412, "replayed at 260Mbps, the next rate of 802.11n-2.4GHz below"),
    ] {
        let capture = sent_as(vector, frequency_mhz, false);
        let text = Phy::of((&capture, &power_save::observe(&capture)), &Station::Mac(STATION)).to_string();
        assert!(text.contains(expected), "{text}");
        assert!(!text.contains("A-MPDU"), "{text}");
        let policies = ["psm".to_owned()];
        let question = Question { policies: &policies, ..Question::default() };
        let cell =
            analyze_capture(&capture, &question, &mut |_| ControlFlow::Continue(())).unwrap().cell.unwrap();
        if expected.contains("the mode of") {
            assert_eq!(cell.data_rate_bps, vector.rate().as_bps() as f64);
        }
    }
    let capture = sent_as(he, 5_180, true);
    let text = Phy::of((&capture, &power_save::observe(&capture)), &Station::Mac(STATION)).to_string();
    assert!(text.contains("in A-MPDUs, since block acknowledgements were captured"), "{text}");
}

/// Whatever the rates of data and of beacons are, and whether beacons were captured: what is assumed fits the standard.
#[test]
fn a_capture_at_every_rate_is_replayed() {
    let rates = [2, 4, 11, 22, 12, 13, 18, 48, 108];
    let policies = ["psm".to_owned(), "active".to_owned()];
    for (frequency_mhz, data) in
        [None, Some(2_412), Some(5_180), Some(6_115)].into_iter().flat_map(|at| rates.map(|rate| (at, rate)))
    {
        for beacons in [None].into_iter().chain(rates.map(Some)) {
            let at = |rate| {
                let is_2ghz = frequency_mhz.is_none_or(|frequency_mhz| frequency_mhz < 3_000);
                let flags = if is_2ghz { Channel::DYNAMIC_2GHZ } else { Channel::OFDM_5GHZ };
                let channel = frequency_mhz.map(|frequency_mhz| Channel { frequency_mhz, flags });
                Radiotap { rate_500kbps: Some(rate), channel, ..Radiotap::default() }
            };
            let mut frames: Vec<_> = (1..9)
                .map(|time| (time, frame_with(&at(data), FrameKind::Data, time % 2 == 0, |_| ())))
                .collect();
            if let Some(rate) = beacons {
                let mut bytes = frame_with(&at(rate), FrameKind::Beacon, false, |header| {
                    header.address1 = MacAddress::BROADCAST;
                });
                let plain = beacon(&[]);
                let length = usize::from(u16::from_le_bytes([plain[2], plain[3]])) + 24;
                bytes.extend_from_slice(&plain[length..]);
                frames.extend([(0, bytes.clone()), (102, bytes)]);
            }
            frames.sort_by_key(|(time, _)| *time);
            let question = Question { policies: &policies, ..Question::default() };
            let done = analyze_capture(&ladder(&frames), &question, &mut |_| ControlFlow::Continue(()));
            let analysis =
                done.unwrap_or_else(|error| panic!("{frequency_mhz:?} {data} {beacons:?}: {error}"));
            assert!(analysis.policies.iter().all(|policy| policy.energy_j > 0.0));
        }
    }
}

#[test]
fn a_rate_that_is_set_replaces_the_captured_mode() {
    let capture = sent_as(TxVector::he(11, 2, Width::Mhz80, Guard::Long).unwrap(), 5_180, true);
    let policies = ["psm".to_owned()];
    for (key, value, rate_bps) in [
        ("wifi.data_rate", "6Mbps", 6e6),
        ("wifi.mode", "HE20 MCS 0", 8_602_941.0),
        ("wifi.standard", "802.11n", 260e6),
    ] {
        let settings = [(key.to_owned(), value.to_owned())];
        let question = Question { policies: &policies, settings: &settings, ..Question::default() };
        let cell =
            analyze_capture(&capture, &question, &mut |_| ControlFlow::Continue(())).unwrap().cell.unwrap();
        assert_eq!(cell.data_rate_bps, rate_bps, "{key}");
    }
}

/// An A-MPDU has one preamble: its frames together take as long as one PPDU, but for a symbol each.
#[test]
fn frames_of_an_aggregate_take_the_time_of_one_ppdu() {
    let vector = TxVector::he(11, 2, Width::Mhz80, Guard::Long).unwrap();
    let subframe = |reference, flags| {
        let ampdu = Some(AmpduStatus { reference, flags });
        let radiotap = Radiotap { he: Some(vector), ampdu, ..Radiotap::default() };
        frame_with(&radiotap, FrameKind::QosData, false, |_| ())
    };
    let last = AmpduStatus::LAST_KNOWN | AmpduStatus::IS_LAST;
    let times = |frames: &[Vec<u8>]| {
        let marked: Vec<(u64, Vec<u8>)> = (0..).zip(frames.iter().cloned()).collect();
        let capture = ladder(&marked);
        capture.frames.iter().map(|frame| frame.air_time().unwrap()).collect::<Vec<_>>()
    };
    let bytes = ladder(&[(0, subframe(1, 0))]).frames[0].air_bytes;
    let padded = 4 + bytes.next_multiple_of(4);
    let of_three: Span = times(&[subframe(1, 0), subframe(1, 0), subframe(1, last)]).into_iter().sum();
    let whole = vector.frame_time(airwatt_dot11::Band::Ghz5, 3 * padded);
    assert!(of_three.max(whole) - of_three.min(whole) < Span::from_micros(28), "{of_three} {whole}");
    // The next A-MPDU has a preamble again, also with the same number after a last frame, and so has a frame alone.
    let alone = vector.frame_time(airwatt_dot11::Band::Ghz5, bytes);
    assert_eq!(times(&[subframe(1, 0), subframe(2, 0)]), [alone; 2]);
    assert_eq!(times(&[subframe(1, last), subframe(1, 0)]), [alone; 2]);
    let other =
        frame_with(&Radiotap { he: Some(vector), ..Radiotap::default() }, FrameKind::QosData, false, |_| ());
    assert_eq!(times(&[subframe(1, 0), other, subframe(1, 0)]), [alone; 3]);
}

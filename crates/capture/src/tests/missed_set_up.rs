//! Target wake times whose set-up the capture lacks in part.

use airwatt_dot11::{NextTwtBytes, TwtAction, TwtCommand};

use super::findings::twt_setup;
use super::*;

/// An action frame about target wake time, of the station or with a number of its access point.
fn action(number: Option<u16>, action: &TwtAction) -> Vec<u8> {
    let mut bytes = frame(FrameKind::Action, number.is_none(), |header| {
        header.sequence_control = Some(number.unwrap_or(1) << 4);
    });
    action.encode(&mut bytes);
    bytes
}

fn set_up(command: TwtCommand) -> TwtAction {
    TwtAction::Setup(twt_setup(command, command == TwtCommand::Suggest))
}

fn beacon_numbered(number: u16, aids: &[u16]) -> Vec<u8> {
    let mut bytes = beacon(aids);
    // Behind radiotap, whose length is in its third octet, and the addresses.
    let at = usize::from(bytes[2]) + 22;
    bytes[at..at + 2].copy_from_slice(&(number << 4).to_le_bytes());
    bytes
}

/// The verdict about a beacon that conceals what More Data announced, after these frames; `gap` is how many frames of the access point were missed
/// after them. Its beacons and the rest of its frames have one counter, which beacons show for ten intervals before.
fn verdict_after(actions: &[TwtAction], from_station: usize, gap: u16) -> (Verdict, String) {
    let mut frames = vec![(0, null(true))];
    frames.extend((0..10).flat_map(|count| {
        [(102 * (count + 1), beacon_numbered(count as u16, &[])), (102 * (count + 1) + 50, null(true))]
    }));
    for (at, one) in actions.iter().enumerate() {
        let number = at.checked_sub(from_station).map(|number| 10 + number as u16);
        frames.push((1_080 + at as u64, action(number, one)));
    }
    let next = 10 + actions.len().saturating_sub(from_station) as u16 + gap;
    frames.extend([
        (1_100, null(true)),
        (1_100, ack(STATION)),
        (1_122, beacon_numbered(next, &[1])),
        (1_125, poll()),
        (1_126, data(next + 1, true)),
        (1_126, ack(AP)),
        (1_224, beacon_numbered(next + 2, &[])),
        (1_227, poll()),
        (1_228, data(next + 3, false)),
        (1_326, beacon_numbered(next + 4, &[1])),
        (1_329, poll()),
        (1_330, data(next + 5, false)),
        (1_350, null(false)),
        (1_350, ack(STATION)),
    ]);
    let found = findings(&ladder(&frames)).into_iter().find(|one| one.kind == FindingKind::TimNeverSet);
    let found = found.expect("the beacon of 1,224 ms conceals the frame");
    let one = found.occurrences.iter().find(|one| one.at == Instant::ZERO + Span::from_millis(1_224));
    let one = one.expect("it is named");
    (one.verdict, one.detail.clone().unwrap_or_default())
}

/// A station whose request has no answer in the capture is accused of nothing, unless no frame of the access point was missed since.
#[test]
fn an_answer_that_was_missed_excuses() {
    let [ask, accept, reject] = [TwtCommand::Suggest, TwtCommand::Accept, TwtCommand::Reject].map(set_up);
    let ended = TwtAction::Teardown { flow: Some(2) };
    for (actions, from_station, gap, why) in [
        (&[][..], 0, 0, None),
        (&[], 0, 1, None),
        (&[ask], 1, 1, Some("asked for a target wake time")),
        // Each number of the access point is there: it has not answered.
        (&[ask], 1, 0, None),
        (&[ask, ask], 2, 1, Some("asked for a target wake time")),
        (&[ask, reject], 1, 1, None),
        (&[ask, accept], 1, 1, Some("has a target wake time")),
        (&[ask, accept, ended], 1, 1, None),
        // What was missed is an agreement that ends before the frames in question.
        (&[ask, ended], 2, 1, None),
    ] {
        let (verdict, detail) = verdict_after(actions, from_station, gap);
        let expected = if why.is_some() { Verdict::Undecidable } else { Verdict::Violated };
        assert_eq!(verdict, expected, "{actions:?}, {gap} missed: {detail}");
        assert!(detail.contains(why.unwrap_or("")), "{detail}");
    }
}

/// An information frame about an agreement that no captured frame made shows that there is one, whatever numbers say.
#[test]
fn an_information_frame_shows_a_set_up_before_the_capture() {
    let next = Some((5_000_000, NextTwtBytes::Eight));
    let [suspends, resumes] = [None, next].map(|next| TwtAction::Information {
        flow: Some(2),
        response_requested: false,
        next_requested: false,
        next,
    });
    for actions in [&[suspends][..], &[resumes], &[suspends, set_up(TwtCommand::Reject)]] {
        let (verdict, detail) = verdict_after(actions, 1, 0);
        assert_eq!(verdict, Verdict::Undecidable, "{detail}");
        assert!(detail.contains("set-up was not captured"), "{detail}");
    }
    let (verdict, detail) = verdict_after(&[suspends, TwtAction::Teardown { flow: Some(2) }], 2, 0);
    assert_eq!(verdict, Verdict::Violated, "{detail}");
}

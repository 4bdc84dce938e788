//! Findings of power save in ladders of frames that are written out by hand.

use super::*;

/// ```text
/// STA  PM=1                PS-Poll                                          PS-Poll
/// AP           beacon(TIM:1)       data(More Data)  beacon()  beacon()              data
/// ```
/// More Data says that the second frame is buffered from 102 ms on: the two beacons, packets 10 and 11, had to announce it.
#[test]
fn a_frame_that_is_known_to_wait_has_to_be_announced() {
    let later =
        [(202, beacon(&[])), (305, beacon(&[7])), (306, poll()), (307, data(3, false)), (308, null(true))];
    let frames = [&buffered()[..], &later].concat();
    assert_eq!(
        tim_never_set(&frames),
        [(Verdict::Kept, 8), (Verdict::Violated, 10), (Verdict::Violated, 11)]
    );
    let of_kind = |finding: &power_save::Finding| finding.kind == FindingKind::TimNeverSet;
    let found = findings(&ladder(&frames)).into_iter().find(of_kind).unwrap();
    // From the first of the beacons to the one that the frame follows: the station's own time to ask is not the access point's.
    assert_eq!(excess(&found).delay, Span::from_millis(103));
    // That this frame is the announced one rests on what no frame can show, and says so.
    let assumed = found.occurrences[1].assumption.unwrap();
    assert!(assumed.contains("did not discard the frame"), "{assumed}");
    let detail = found.occurrences[1].detail.as_deref().unwrap();
    assert!(detail.ends_with(&format!("(provided that {assumed})")), "{detail}");
    // Without acknowledgements the frame may have been sent again, without More Data.
    let bare: Vec<_> =
        frames.into_iter().filter(|(_, bytes)| *bytes != ack(AP) && *bytes != ack(STATION)).collect();
    assert_eq!(tim_never_set(&bare), [(Verdict::Kept, 6), (Verdict::Undecidable, 7)]);
}

/// PS-Polls on both sides of a beacon do not say that the station slept at it: no number of a Null frame says that none was missed by which
/// it left power save before the beacon and entered it again after it.
#[test]
fn polls_alone_do_not_show_who_slept_between_them() {
    let frames = [
        (99, null(true)),
        (99, ack(STATION)),
        (100, beacon(&[1])),
        (101, poll()),
        (101, data(2, true)),
        (101, ack(AP)),
        (202, beacon(&[])),
        (305, beacon(&[1])),
        (306, poll()),
        (306, data(3, false)),
        (306, ack(AP)),
        (400, null(false)),
        (400, ack(STATION)),
    ];
    assert_eq!(tim_never_set(&frames[2..11]), [(Verdict::Undecidable, 5)]);
    assert_eq!(tim_never_set(&frames[..11])[1], (Verdict::Undecidable, 7));
    assert_eq!(tim_never_set(&frames[2..])[0], (Verdict::Undecidable, 5));
    assert_eq!(tim_never_set(&frames)[1], (Verdict::Violated, 7));
}

/// The capture begins with the frame that announces another one: a later PS-Poll shows which bit is the station's, and the beacons before it
/// are not passed over. No frame before them shows that the station slept.
#[test]
fn a_capture_that_begins_with_more_data_is_not_passed_over() {
    let end = [(305, beacon(&[1])), (306, poll()), (306, data(3, false)), (306, ack(AP))];
    let begin = [(101, data(2, true)), (101, ack(AP))];
    let concealed = [(152, beacon(&[])), (202, beacon(&[])), (250, beacon(&[]))];
    let frames = [&begin[..], &concealed, &end].concat();
    assert_eq!(tim_never_set(&frames)[0], (Verdict::Undecidable, 3));
    let announced = [(202, beacon(&[1]))];
    let innocent = tim_never_set(&[&begin[..], &announced, &end].concat());
    assert!(innocent.iter().all(|(verdict, _)| *verdict == Verdict::Kept), "{innocent:?}");
}

/// The frame that More Data announced never comes: concealed and given up, or missed, or the capture ends too early. The first beacon
/// that had to announce it leaves that open, also as the last packet.
#[test]
fn a_frame_that_is_never_captured_is_not_passed_over() {
    let beacons = [(202, beacon(&[])), (305, beacon(&[])), (407, beacon(&[])), (408, poll())];
    let open = [(Verdict::Kept, 8), (Verdict::Undecidable, 10)];
    for count in 1..=beacons.len() {
        assert_eq!(tim_never_set(&[&buffered()[..], &beacons[..count]].concat()), open, "{count}");
    }
    let later = [(202, beacon(&[])), (305, beacon(&[1])), (407, beacon(&[1]))];
    assert_eq!(tim_never_set(&[&buffered()[..], &later].concat()), open);
    let announced = [(202, beacon(&[1])), (305, beacon(&[])), (407, beacon(&[]))];
    assert_eq!(tim_never_set(&[&buffered()[..], &announced].concat()), [(Verdict::Kept, 8)]);
    assert_eq!(tim_never_set(&buffered()), [(Verdict::Kept, 8)]);
    // The station leaves before.
    let leaves = [(202, beacon(&[])), (210, frame(FrameKind::Deauthentication, true, |_| ()))];
    assert_eq!(tim_never_set(&[&buffered()[..], &leaves].concat()), open);
}

/// The next frame has another traffic identifier, and a beacon announced it. That does not say what became of the frame that More Data
/// announced, nor of the beacon without the bit.
#[test]
fn a_frame_of_another_traffic_identifier_is_not_the_announced_one() {
    let qos = |tid: u8, number: u16, more: bool| {
        frame(FrameKind::QosData, false, |header| {
            header.qos = Some(QosControl::new(tid));
            header.control.more_data = more;
            header.sequence_control = Some(number << 4);
        })
    };
    let frames = [
        (0, poll()),
        (1, qos(0, 1, false)),
        (2, null(true)),
        (100, beacon(&[1])),
        (101, poll()),
        (102, qos(0, 2, true)),
        (202, beacon(&[])),
        (305, beacon(&[1])),
        (306, poll()),
        (307, qos(6, 1, false)),
    ];
    assert_eq!(tim_never_set(&frames), [(Verdict::Kept, 6), (Verdict::Undecidable, 7)]);
}

/// What was due at the end of a capture and had not come is undecidable, and what was still in time is not counted.
#[test]
fn a_capture_that_ends_early_leaves_open_what_was_due() {
    let asleep = [(0, poll()), (1, data(1, false)), (2, null(true)), (100, beacon(&[1]))];
    let open = |rest: &[(u64, Vec<u8>)]| kinds(&ladder(&[&asleep[..], rest].concat()));
    let beacons_until = |last: u64| (2..=last).map(|number| (102 * number, beacon(&[1]))).collect::<Vec<_>>();
    let asked = [(101, poll()), (101, ack(STATION))];
    assert_eq!(open(&[&asked[..], &[(140, ack(AP))]].concat()), []);
    assert_eq!(open(&[&asked[..], &[(160, ack(AP))]].concat()), [(FindingKind::LateDelivery, 1)]);
    let promised = [(101, poll()), (102, data(2, true)), (103, poll()), (103, ack(STATION))];
    assert_eq!(open(&[&promised[..], &[(140, ack(AP))]].concat()), []);
    assert_eq!(open(&[&promised[..], &[(160, ack(AP))]].concat()), [(FindingKind::MoreDataThenNothing, 1)]);
    // No association says how long the station may sleep: one interval is allowed to all.
    assert_eq!(open(&beacons_until(2)), []);
    assert_eq!(open(&beacons_until(3)), [(FindingKind::LateFetch, 1)]);
    // It was fetched unseen, or given up.
    let emptied = [beacons_until(2), vec![(306, beacon(&[])), (700, ack(AP))]].concat();
    assert_eq!(open(&emptied), []);
}

/// Nothing answers a PS-Poll that the station repeats each 60 ms, and nothing says that the access point received one.
#[test]
fn ps_polls_that_nobody_hears_are_not_passed_over() {
    let asleep = [(0, poll()), (1, data(1, false)), (1, ack(AP)), (2, null(true)), (2, ack(STATION))];
    let polls = (0..6).map(|number| (110 + 60 * number, poll())).collect::<Vec<_>>();
    let has_polls = |capture: &Capture| {
        let found = findings(capture).into_iter().find(|one| one.kind == FindingKind::PsPollUnanswered);
        found.map_or((0, 0), |one| (one.count(Verdict::Violated), one.count(Verdict::Undecidable)))
    };
    let open = |polls: &[(u64, Vec<u8>)], rest: &[(u64, Vec<u8>)]| {
        let mut frames = [&asleep[..], &[(100, beacon(&[1]))], polls, rest].concat();
        frames.extend((2..9).map(|number| (102 * number, beacon(&[1]))));
        frames.sort_by_key(|(at, _)| *at);
        has_polls(&ladder(&frames))
    };
    assert_eq!(open(&polls, &[]), (0, 1));
    assert_eq!(open(&polls[..1], &[]), (0, 0), "a single one had its answer unseen");
    assert_eq!(open(&polls, &[(415, data(2, false)), (415, ack(AP))]), (0, 1));
    // It asks twice within 60 ms, and is answered.
    assert_eq!(open(&polls[..2], &[(175, data(2, false)), (175, ack(AP))]), (0, 0));
}

/// The frame is announced, or the beacon follows More Data within milliseconds, so that it was composed before.
#[test]
fn an_access_point_that_announces_is_not_accused() {
    let announced = [(202, beacon(&[1])), (203, poll()), (204, data(3, false))];
    assert_eq!(
        tim_never_set(&[&buffered()[..], &announced].concat()),
        [(Verdict::Kept, 8), (Verdict::Kept, 12)]
    );
    let at_once = [(108, beacon(&[])), (112, poll()), (113, data(3, false))];
    let composed_before = [(Verdict::Kept, 8), (Verdict::Undecidable, 12)];
    assert_eq!(tim_never_set(&[&buffered()[..], &at_once].concat()), composed_before);
}

/// Beacons without the bit while the station slept prove nothing: the frame may have come after the last of them.
#[test]
fn a_frame_of_unknown_arrival_is_possible_only() {
    let slept = [(0, poll()), (1, data(1, false)), (2, null(true)), (100, beacon(&[])), (202, beacon(&[]))];
    let fetched = [(290, poll()), (291, data(2, false))];
    assert_eq!(tim_never_set(&[&slept[..], &fetched].concat()), [(Verdict::Undecidable, 7)]);
}

#[test]
fn a_poll_without_response_is_reported_unless_it_was_acknowledged() {
    // A station without a response repeats its PS-Poll.
    let polls = [(100, beacon(&[1])), (101, poll()), (103, poll())];
    let asleep = [&[(0, poll()), (1, data(1, false)), (2, null(true))][..], &polls].concat();
    let of_poll = |rest: &[(u64, Vec<u8>)]| kinds(&ladder(&[&asleep[..], rest].concat()));
    let unanswered = (FindingKind::PsPollUnanswered, 1);
    assert!(of_poll(&[(400, beacon(&[])), (401, null(true)), (402, ack(STATION))]).contains(&unanswered));
    // Timestamps of a monitor put another frame before the acknowledgement.
    let between = [(103, beacon(&[])), (103, ack(STATION)), (400, beacon(&[])), (401, null(true))];
    assert!(!of_poll(&between).contains(&unanswered));
    // A capture without any acknowledgement says nothing of this one.
    assert!(!of_poll(&[(400, beacon(&[])), (401, null(true))]).contains(&unanswered));
    assert!(!of_poll(&[(103, ack(STATION)), (400, beacon(&[])), (401, null(true))]).contains(&unanswered));
    // It did not repeat it: the monitor missed the acknowledgement.
    let once = [&asleep[..5], &[(400, beacon(&[])), (401, null(true)), (402, ack(STATION))]].concat();
    assert!(!kinds(&ladder(&once)).contains(&unanswered));
}

/// DTIM count 1: group-addressed frames wait for the next beacon while a station of the cell sleeps.
#[test]
fn group_frames_follow_dtim_beacons() {
    let group = || {
        frame(FrameKind::Data, false, |header| {
            header.address1 = MacAddress::BROADCAST;
            header.sequence_control = Some(9 << 4);
        })
    };
    let sleeping = |count| vec![(0, null(true)), (100, beacon_with(count, &[])), (103, group())];
    assert_eq!(kinds(&ladder(&sleeping(1))), [(FindingKind::GroupNotAfterDtim, 1)]);
    assert_eq!(kinds(&ladder(&sleeping(0))), []);
    let awake = [(0, null(false)), (100, beacon_with(1, &[])), (103, group())];
    assert_eq!(kinds(&ladder(&awake)), [], "nobody sleeps");
    // The access point's own capture has the time at which its driver handed the frame over.
    let own = Radiotap { tx_flags: Some(airwatt_dot11::TxFlags(0)), ..Radiotap::default() };
    let sent_here =
        frame_with(&own, FrameKind::Data, false, |header| header.address1 = MacAddress::BROADCAST);
    let judged = |sent| {
        verdict(&ladder(&[(0, null(true)), (100, beacon_with(1, &[])), (103, sent), (150, null(true))]))
    };
    assert_eq!(judged(group()), Verdict::Violated);
    assert_eq!(judged(sent_here), Verdict::Undecidable);
}

/// The kinds of the documentation are those of the code, and each has a section with a ladder.
#[test]
fn every_kind_has_its_page() {
    let page = include_str!("../../../../docs/findings.md");
    for (kind, _) in report::finding_kinds() {
        let section = page.split(&format!("## `{kind}`")).nth(1).unwrap_or_else(|| panic!("{kind}"));
        let section = section.split("\n## ").next().unwrap();
        assert!(section.contains("```text"), "{kind} has no ladder");
    }
}

/// ```text
/// STA  Null(PM=1)                 PS-Poll           Null(PM=0)
/// AP             beacon(TIM:1)             data
/// ```
#[test]
fn a_ps_poll_exchange_is_in_order() {
    let capture = ladder(&[
        (0, poll()), // tells the AID
        (1, data(1, false)),
        (2, null(true)),
        (100, beacon(&[1])),
        (102, poll()),
        (103, data(2, false)),
        (110, null(false)),
    ]);
    assert_eq!(kinds(&capture), []);
    let record = power_save::observe(&capture).stations[0];
    assert_eq!(
        (record.aid, record.counts.ps_polls, record.counts.tim_set, record.counts.data_down),
        (Some(1), 2, 1, 2)
    );
    assert_eq!(record.in_power_save, Span::from_millis(108));
    assert_eq!(record.counts.pm_changes, 1);
    let (low, high) = record.ledgers(clock::covered(&capture)).unwrap();
    assert_eq!(low.elapsed(), clock::covered(&capture));
    assert_eq!(high.elapsed(), low.elapsed());
}

/// A DTIM beacon that is sent at its target time.
fn beacon_at(ms: u64, aids: &[u16]) -> (u64, Vec<u8>) {
    let tim = TimFields { dtim_count: 0, dtim_period: 1, group: false, aids };
    (ms, beacon_of(1_000 * ms, tim, None))
}

/// A PS-Poll that nothing announced a frame for may have come before the frame did, which the next beacon then announces.
#[test]
fn what_nothing_announced_is_not_late() {
    let verdict_with = |aids: &[u16]| {
        let mut frames = vec![
            (0, poll()),
            (0, ack(STATION)),
            (1, data(1, false)),
            (1, ack(AP)),
            (2, null(true)),
            beacon_at(102, aids),
            (110, poll()),
            (110, ack(STATION)),
            beacon_at(204, &[1]),
            (209, data(2, false)),
            (209, ack(AP)),
            beacon_at(306, &[]),
        ];
        // Frames in between say that the monitor did not stall.
        frames.extend((120..200).step_by(20).map(|ms| (ms, ack(MacAddress([2, 0, 0, 0, 0, 99])))));
        frames.sort_by_key(|(ms, _)| *ms);
        let found = findings(&ladder(&frames));
        let late = found.into_iter().find(|one| one.kind == FindingKind::LateDelivery).unwrap();
        late.occurrences.last().unwrap().clone()
    };
    let announced = verdict_with(&[1]);
    // The beacon before it, the PS-Poll, the beacon that still has the bit, and the frame.
    assert_eq!((announced.verdict, announced.deciding), (Verdict::Violated, vec![6, 7, 13, 14]));
    assert_eq!(announced.buffered.map(|(since, _)| since), Some(Instant::from_millis(102)));
    let blind = verdict_with(&[]);
    assert_eq!(blind.verdict, Verdict::Undecidable);
    assert!(
        blind.detail.as_deref().unwrap().contains("nor More Data announced a frame"),
        "{:?}",
        blind.detail
    );
}

/// A station that asks again for what the access point has acknowledged has waited since its first PS-Poll, if a beacon still announces the
/// frame; without one in between a Null frame that said that there was nothing may have been missed.
#[test]
fn a_second_ps_poll_does_not_begin_the_wait_anew() {
    let verdict_with = |again: u64, data_at: u64, is_heard: bool, aids: &[u16]| {
        let other = ack(MacAddress([2, 0, 0, 0, 0, 99]));
        let mut frames = vec![
            (0, poll()),
            (0, ack(STATION)),
            (1, data(1, false)),
            (1, ack(AP)),
            (2, null(true)),
            beacon_at(102, &[1]),
            (110, poll()),
            beacon_at(204, aids),
            (again, poll()),
            (again, ack(STATION)),
            (data_at, data(2, false)),
            (data_at, ack(AP)),
            beacon_at(306, &[]),
            beacon_at(408, &[]),
        ];
        frames.extend(is_heard.then(|| (110, ack(STATION))));
        // Frames in between say that the monitor did not stall.
        frames.extend((120..data_at).step_by(20).map(|ms| (ms, other.clone())));
        frames.sort_by_key(|(ms, _)| *ms);
        let found = findings(&ladder(&frames));
        let late = found.into_iter().find(|one| one.kind == FindingKind::LateDelivery).unwrap();
        let last = late.occurrences.last().unwrap().clone();
        (last.verdict, last.deciding, last.excess.delay, last.detail)
    };
    let (verdict, deciding, delay, detail) = verdict_with(205, 206, true, &[1]);
    // The beacon that announced it, and the first PS-Poll.
    assert_eq!(
        (verdict, &deciding[..2], delay),
        (Verdict::Violated, &[6, 7][..], Span::from_millis(96)),
        "{detail:?}"
    );
    // The first one was not acknowledged, or a clear bit says that what it asked for is gone; or no beacon came in between.
    assert_eq!(verdict_with(205, 206, false, &[1]).0, Verdict::Kept);
    assert_eq!(verdict_with(205, 206, true, &[]).0, Verdict::Kept);
    assert_eq!(verdict_with(160, 170, true, &[1]).0, Verdict::Undecidable);
}

#[test]
fn what_an_access_point_does_wrong() {
    let asleep = [(0, poll()), (1, data(1, false)), (2, null(true))];
    let with = |rest: &[(u64, Vec<u8>)]| ladder(&[&asleep[..], rest].concat());
    assert_eq!(kinds(&with(&[(50, data(2, false))])), [(FindingKind::SentToSleeper, 1)]);
    let repeated = frame(FrameKind::Data, false, |header| {
        header.control.retry = true;
        header.sequence_control = Some(2 << 4);
    });
    // A retransmission is the same fault, not another.
    assert_eq!(kinds(&with(&[(50, data(2, false)), (51, repeated)])), [(FindingKind::SentToSleeper, 1)]);
    let unannounced = [(100, beacon(&[])), (202, beacon(&[7])), (203, poll()), (204, data(2, false))];
    // When the frame came to the access point is not known: possible only.
    assert_eq!(kinds(&with(&unannounced)), [(FindingKind::TimNeverSet, 1)]);
    assert_eq!(verdict(&with(&unannounced)), Verdict::Undecidable);
    let broken_promise =
        [(100, beacon(&[1])), (101, poll()), (102, data(2, true)), (103, poll()), (500, beacon(&[]))];
    assert_eq!(kinds(&with(&broken_promise)), [(FindingKind::MoreDataThenNothing, 1)]);
    // A Null frame says that the access point does not have it any more.
    let empty = frame(FrameKind::Null, false, |_| ());
    let withdrawn = [&broken_promise[..4], &[(104, empty), (500, beacon(&[]))]].concat();
    assert_eq!(kinds(&with(&withdrawn)), [(FindingKind::MoreDataThenNothing, 1)]);
    assert_eq!(verdict(&with(&withdrawn)), Verdict::Undecidable);
    let late = [(100, beacon(&[1])), (101, poll()), (180, data(2, false))];
    assert_eq!(kinds(&with(&late)), [(FindingKind::LateDelivery, 1)]);
    let late_fetch = [(100, beacon(&[1])), (700, poll()), (701, data(2, false))];
    assert_eq!(kinds(&with(&late_fetch)), [(FindingKind::LateFetch, 1)]);
}

/// With U-APSD the bit says that what a trigger fetches is there; a beacon without it may be about other access categories.
#[test]
fn a_tim_bit_before_a_service_period_was_right() {
    let kept = |bits: &[u16]| {
        let frames = [
            (0, poll()),
            (1, data(1, false)),
            (2, trigger()),
            (3, reply(true)),
            (100, beacon(bits)),
            (101, trigger()),
            (102, reply(false)),
            (103, reply(true)),
        ];
        let capture = ladder(&frames);
        assert_eq!(kinds(&capture), []);
        [FindingKind::TimNeverSet, FindingKind::TimStuck].map(|kind| {
            let of_kind = findings(&capture).into_iter().filter(move |found| found.kind == kind);
            of_kind.map(|found| found.count(Verdict::Kept)).sum::<u64>()
        })
    };
    let [announced, other] = [kept(&[1]), kept(&[9])];
    assert_eq!([announced[0] - other[0], announced[1] - other[1]], [1, 1]);
}

#[test]
fn a_service_period_ends_with_eosp() {
    // The first EOSP tells that the station uses U-APSD.
    let good = [(0, trigger()), (1, reply(true)), (50, trigger()), (51, reply(false)), (52, reply(true))];
    assert_eq!(kinds(&ladder(&good)), []);
    let missing = [(0, trigger()), (1, reply(true)), (50, trigger()), (51, reply(false)), (400, beacon(&[]))];
    assert_eq!(kinds(&ladder(&missing)), [(FindingKind::EospMissing, 1)]);
    // The frames of a burst are triggers each; the access point ends their one period when it has its turn.
    let burst = [
        (0, trigger()),
        (1, reply(true)),
        (50, trigger()),
        (51, trigger()),
        (52, trigger()),
        (53, reply(true)),
    ];
    assert_eq!(kinds(&ladder(&burst)), []);
    let unanswered = [(0, trigger()), (1, reply(true)), (50, trigger()), (80, trigger()), (81, reply(true))];
    assert_eq!(kinds(&ladder(&unanswered)), [(FindingKind::EospMissing, 1)]);
}

#[test]
fn flapping() {
    let frames: Vec<_> = (0..10).map(|step| (step * 20, null(step % 2 == 0))).collect();
    assert_eq!(kinds(&ladder(&frames)), [(FindingKind::PmFlapping, 1)]);
    // The first frame shows a mode, and the nine after it change it. By hand: of the 180 ms it was in active mode from 20, 60, 100
    // and 140 ms on, for 20 ms each; it left that mode again in each case but the last.
    let found =
        findings(&ladder(&frames)).into_iter().find(|one| one.kind == FindingKind::PmFlapping).unwrap();
    let [run] = &found.occurrences[..] else { panic!("{:?}", found.occurrences) };
    assert_eq!((run.packet, run.deciding.as_slice()), (2, &[2, 3, 4, 5, 6, 7, 8, 9, 10][..]));
    assert_eq!(excess(&found).awake, Span::from_millis(80));
    let text = run.detail.as_deref().unwrap();
    assert!(text.starts_with("9 changes of PM in 160 ms, up to packet 10"), "{text}");
    // A station that scans sets PM while it is on another channel: its probe requests say so, and numbers that this channel does not have.
    let decided = |frames: &[(u64, Vec<u8>)]| {
        let found =
            findings(&ladder(frames)).into_iter().find(|one| one.kind == FindingKind::PmFlapping).unwrap();
        (found.occurrences[0].verdict, found.occurrences[0].detail.clone().unwrap())
    };
    let numbered = |skipped: u16| {
        let null = |step: u16| {
            let number = step + if step > 4 { skipped } else { 0 };
            frame(FrameKind::Null, true, |header: &mut MacHeader| {
                header.control.power_management = step.is_multiple_of(2);
                header.sequence_control = Some(number << 4);
            })
        };
        (0..10).map(|step| (u64::from(step) * 20, null(step))).collect::<Vec<_>>()
    };
    assert_eq!(decided(&numbered(0)).0, Verdict::Violated);
    let (verdict, text) = decided(&numbered(6));
    assert_eq!(verdict, Verdict::Undecidable);
    assert!(text.ends_with("of its numbers some are missing between frames with and without PM"), "{text}");
    let probe = frame(FrameKind::ProbeRequest, true, |header: &mut MacHeader| {
        header.sequence_control = Some(100 << 4);
        header.control.power_management = true;
    });
    let (verdict, text) = decided(&[&frames[..5], &[(85, probe)], &frames[5..]].concat());
    assert_eq!(verdict, Verdict::Undecidable);
    assert!(text.ends_with("it sent probe requests in between"), "{text}");
    // With data it is of use to be awake.
    let with_data = [&frames[..2], &[(30, data(1, false))], &frames[2..]].concat();
    let found =
        findings(&ladder(&with_data)).into_iter().find(|one| one.kind == FindingKind::PmFlapping).unwrap();
    assert_eq!(excess(&found).awake, Span::from_millis(60));
}

//! Stations of one access point that do not hear each other.

use std::collections::BTreeMap;

use airwatt_energy::{Cause, Radio};

use super::*;
use crate::media::cell::frame::{CellFrameKind, TracedFrame};

/// A cell of which these pairs of stations do not hear each other.
fn hiding(policies: &[&str], set: &[(&str, &str)], pairs: &[[u32; 2]]) -> CellMedium {
    of_pairs(policies, set, pairs, 1)
}

fn of_pairs(policies: &[&str], set: &[(&str, &str)], pairs: &[[u32; 2]], seed: u64) -> CellMedium {
    let (config, stations) = settings(policies, set);
    let name = "access-point".to_owned();
    let bss = Bss { name, config, shared_radio: None, stations, hidden: pairs.to_vec() };
    CellMedium::with_access_points("air", &[bss], seed)
}

/// The same settings, served as if some did not hear each other, although all do.
fn served_apart(policies: &[&str], set: &[(&str, &str)], seed: u64) -> CellMedium {
    let mut cell = of_seed(policies, set, seed);
    let (config, _) = settings(policies, set);
    cell.hide(&[], &config);
    cell
}

/// A cell whose random numbers follow from this seed.
fn of_seed(policies: &[&str], set: &[(&str, &str)], seed: u64) -> CellMedium {
    of_pairs(policies, set, &[], seed)
}

/// 802.11n with 65 Mbit/s: 260 bits in a symbol of 4 us, and a preamble of 36 us.
const N65: &[(&str, &str)] = &[
    ("wifi.standard", "802.11n"),
    ("wifi.data_rate", "65Mbps"),
    ("wifi.control_rate", "24Mbps"),
    ("wifi.access", "dcf"),
    ("wifi.txop", "0ms"),
    ("wifi.aifsn", "2"),
    ("wifi.aggregation.mpdus", "64"),
    ("ap.beacon_interval", "60s"),
    ("station.distance", "0m"),
];

fn data(cell: &mut CellMedium) -> Vec<TracedFrame> {
    let mut frames = cell.take_trace().unwrap().frames;
    frames.retain(|frame| frame.kind == CellFrameKind::Data);
    frames
}

/// Packets of 1,500 bytes from station `from` at a time.
fn burst(from: Member, first: u32, count: u32, at: Instant) -> Vec<(Instant, CellInput)> {
    (first..first + count).map(|number| (at, sent([from, 0], Packet::datagram(number, 1_500, at)))).collect()
}

/// The machine contract, the ledgers, and that no packet is lost from sight, whoever hears whom.
#[test]
fn hidden_stations_keep_the_machine_contract_and_their_ledgers() {
    let every = ["active", "timeout", "psm", "psm-legacy", "uapsd"];
    let pairs: &[&[[u32; 2]]] = &[&[], &[[0, 1]], &[[0, 1], [0, 2], [0, 3], [0, 4], [1, 2], [3, 4]]];
    for set in [
        &[][..],
        &[("wifi.frame_error_rate", "0.3"), ("wifi.response_error_rate", "0.2"), ("wifi.txop", "3ms")],
        &[("wifi.aggregation.mpdus", "64"), ("wifi.txop", "0ms"), ("ap.queue", "mac80211")],
        &[("wifi.station_rts_threshold", "100B"), ("wifi.ap_rts_threshold", "500B"), ("wifi.access", "dcf")],
        &[("wifi.path_loss.capture_db", "3"), ("station.distance", "12m"), ("wifi.retry_limit", "2")],
        &[
            ("wifi.categories", "linux"),
            ("wifi.txop", "0ms"),
            ("wifi.aggregation.mpdus", "8"),
            ("wifi.msdu_lifetime.best_effort", "9ms"),
        ],
    ] {
        for pairs in pairs {
            let make = || {
                let mut cell = hiding(&every, set, pairs);
                if pairs.is_empty() {
                    cell.hide(pairs, &settings(&every, set).0);
                }
                cell
            };
            let inputs = traffic(&ways(every.len()), 300);
            let done = check_machine(make, &inputs, QUIET);
            assert_accounted(&done, inputs.len(), set);
            let mut cell = make();
            for (place, (at, input)) in inputs.into_iter().enumerate() {
                drive_to(&mut cell, at);
                cell.handle_input(input, at);
                if place % 20 != 0 {
                    continue;
                }
                let mut copy = cell.clone();
                let end = copy.finish(at);
                for id in 0..every.len() as u32 {
                    copy.ledger(id).check(end);
                    copy.causes(id).check(copy.ledger(id));
                }
            }
        }
    }
}

/// Serves what is due up to `end`, and returns what came out.
fn drive_to(cell: &mut CellMedium, end: Instant) -> Vec<CellOutput> {
    let mut outputs = Vec::new();
    while let Some(due) = cell.poll_timeout().map(|timeout| timeout.at).filter(|at| *at <= end) {
        cell.handle_timeout(due);
        outputs.extend(std::iter::from_fn(|| cell.poll_output()));
    }
    outputs
}

/// ```text
/// A  34 us|--36 us--|MPDU 0|MPDU 1|MPDU 2|MPDU 3|MPDU 4|MPDU 5|MPDU 6|MPDU 7|...      |
/// B                                         1,006 us|-------------|1,234 us
/// AP                                                                          | BlockAck
/// ```
/// An MPDU of 1,538 bytes is a subframe of 1,544, 47.5 symbols: MPDU i begins 36 + 190.03 i us behind the preamble's beginning.
/// B begins at slot boundary 108. It lies over MPDUs 4, 5 and 6, which the access point does not confirm. B's own frame has no response.
#[test]
fn mpdus_under_a_hidden_frame_are_lost_and_the_others_arrive() {
    let once: Vec<_> = N65.iter().copied().chain([("wifi.aggregation.retry_limit", "0")]).collect();
    let mut cell = hiding(&["active", "active"], &once, &[[0, 1]]);
    cell.trace();
    let mut outputs = Vec::new();
    for (at, input) in burst(1, 0, 20, us(0)).into_iter().chain(burst(2, 100, 1, us(1_000))) {
        drive_to(&mut cell, at);
        cell.handle_input(input, at);
    }
    outputs.extend(drive_to(&mut cell, us(3_900)));
    let arrived = outputs.iter().filter(|output| matches!(output, CellOutput::Arrived { at: 0, .. })).count();
    assert_eq!(arrived, 4, "reordering holds back what is behind the gap");
    drive_to(&mut cell, us(3_950));
    let frames = data(&mut cell);
    let lost: Vec<u16> =
        frames[..20].iter().filter(|frame| !frame.received).map(|frame| frame.sequence).collect();
    assert_eq!(lost, [5, 6, 7], "numbers begin with 1");
    assert_eq!((frames[0].start, frames[20].start, frames[20].received), (us(34), us(1_006), false));
    assert_eq!(frames.len(), 21, "B gives up after one attempt");
    assert_eq!(cell.statistics().collisions, 1);
}

/// A long frame of B lies over the end of A's: the tail of the aggregate is lost, its head is confirmed, and B goes on sending.
#[test]
fn the_tail_of_an_aggregate_is_lost() {
    let mut cell = hiding(&["active", "active"], N65, &[[0, 1]]);
    cell.trace();
    for (at, input) in burst(1, 0, 10, us(0)).into_iter().chain(burst(2, 100, 20, us(1_000))) {
        drive_to(&mut cell, at);
        cell.handle_input(input, at);
    }
    drive_to(&mut cell, us(2_100));
    let frames = cell.take_trace().unwrap().frames;
    let whole = frames.iter().filter(|frame| frame.kind == CellFrameKind::Data && frame.received);
    assert_eq!(whole.map(|frame| frame.sequence).collect::<Vec<_>>(), [1, 2, 3, 4]);
    let answer =
        frames.iter().find(|frame| frame.kind == CellFrameKind::BlockAck).expect("what arrived is confirmed");
    assert!(answer.received, "A does not hear B");
    assert_eq!(answer.bitmap.len(), 4);
}

/// Nothing of a single frame is left under another one. With at most 15 slots of backoff each silence of A and B (at most 45 + 34 + 135 us) is
/// shorter than their frames (228 us), so they never succeed. C, whom both hear, does.
#[test]
fn of_single_frames_both_are_lost() {
    let set: Vec<_> = N65.iter().copied().filter(|(key, _)| *key != "wifi.aggregation.mpdus").collect();
    let set = [&set[..], &[("wifi.retry_limit", "30")]].concat();
    let mut cell = hiding(&["active"; 3], &set, &[[0, 1]]);
    cell.trace();
    for (at, input) in [burst(1, 0, 1, us(0)), burst(2, 1, 1, us(150)), burst(3, 2, 1, us(160))].concat() {
        drive_to(&mut cell, at);
        cell.handle_input(input, at);
    }
    drive_to(&mut cell, us(500_000));
    let frames = data(&mut cell);
    let seen: Vec<_> = frames.iter().take(2).map(|frame| (frame.start, frame.received)).collect();
    // The next boundary of B behind 150 us is 34 + 13 slots.
    assert_eq!(seen, [(us(34), false), (us(151), false)]);
    assert_eq!(frames.iter().filter(|frame| frame.received).count(), 1);
}

/// The access point leaves the frame of the far station for that of the near one, which is 31 dB stronger. The other way round the near
/// station's frame is not harmed.
#[test]
fn the_stronger_of_two_hidden_stations_is_captured() {
    let set: Vec<_> = N65.iter().copied().chain([("wifi.path_loss.capture_db", "10")]).collect();
    for (first, second) in [(1, 2), (2, 1)] {
        let (config, mut stations) = settings(&["active", "active"], &set);
        (stations[0].signal_dbm, stations[1].signal_dbm) = (Some(-61.0), Some(-30.0));
        let name = "access-point".to_owned();
        let bss = Bss { name, config, shared_radio: None, stations, hidden: vec![[0, 1]] };
        let mut cell = CellMedium::with_access_points("air", &[bss], 1);
        cell.trace();
        for (at, input) in [burst(first, 0, 4, us(0)), burst(second, 10, 1, us(300))].concat() {
            drive_to(&mut cell, at);
            cell.handle_input(input, at);
        }
        drive_to(&mut cell, us(900));
        for frame in data(&mut cell) {
            let is_near = frame.from == Node::Station(1);
            assert_eq!(frame.received, is_near, "{first} first: {frame:?}");
        }
    }
}

/// Station C hears the access point alone: it stays silent from the CTS on, and the exchange behind the CTS is not disturbed.
#[test]
fn a_cts_silences_who_did_not_hear_the_rts() {
    let set: Vec<_> = N65.iter().copied().chain([("wifi.station_rts_threshold", "500B")]).collect();
    let mut cell = hiding(&["active", "active"], &set, &[[0, 1]]);
    cell.trace();
    for (at, input) in [burst(1, 0, 20, us(0)), burst(2, 100, 20, us(1_000))].concat() {
        drive_to(&mut cell, at);
        cell.handle_input(input, at);
    }
    drive_to(&mut cell, us(20_000));
    assert!(data(&mut cell).iter().all(|frame| frame.received));
    assert_eq!(cell.statistics().collisions, 0);
}

/// Served one by one, members that all hear each other do what one clock for all does, up to chance: all start with a collision of four.
#[test]
fn without_a_hidden_pair_the_outcome_is_that_of_the_shared_clock() {
    let plain: Vec<_> = N65.iter().copied().filter(|(key, _)| *key != "wifi.aggregation.mpdus").collect();
    let both = |number: u32| {
        let station = 1 + (number % 3) as Member;
        let packet = |number| Packet::datagram(number, 1_500, us(0));
        [sent([station, 0], packet(2 * number)), sent([0, station], packet(2 * number + 1))]
    };
    let play = |mut cell: CellMedium| {
        for input in (0..300).flat_map(both) {
            cell.handle_input(input, us(0));
        }
        let outputs = drive_to(&mut cell, Instant::from_secs(30));
        (outputs.len(), cell.statistics().frames as f64)
    };
    let policies = ["active"; 3];
    let [(apart, frames), (shared, same)] =
        [served_apart(&policies, &plain, 1), cell(&policies, &plain)].map(play);
    assert_eq!([apart, shared], [600, 600]);
    assert!((frames / same - 1.0).abs() < 0.05, "{frames} frames, {same} by the shared clock");
}

/// ```text
/// AP   |data|    |          DIFS    0 to 7 slots
/// A         |SIFS|-|ACK|----------|--|--|--|--|data|
///           | the host answers
/// ```
/// The medium is busy for who has just received a frame and is to acknowledge it, so that the host's answer backs off.
#[test]
fn an_answer_from_within_an_exchange_backs_off() {
    let plain: Vec<_> = N65.iter().copied().filter(|(key, _)| *key != "wifi.aggregation.mpdus").collect();
    for make in [served_apart, of_seed] {
        let mut cell = make(&["active"], &plain, 1);
        cell.trace();
        for number in 1..=200_u32 {
            let at = us(10_000 * u64::from(number));
            drive_to(&mut cell, at);
            cell.handle_input(sent([0, 1], Packet::datagram(number, 500, at)), at);
            let mut received = None;
            while received.is_none() {
                let due = cell.poll_timeout().expect("the packet is on its way").at;
                cell.handle_timeout(due);
                let mut outputs = std::iter::from_fn(|| cell.poll_output());
                received = outputs.any(|output| matches!(output, CellOutput::Arrived { .. })).then_some(due);
            }
            let now = received.unwrap_or(at);
            cell.handle_input(sent([1, 0], Packet::datagram(1_000 + number, 500, now)), now);
        }
        drive_to(&mut cell, us(2_010_000));
        let frames = cell.take_trace().expect("it is kept").frames;
        let silences = frames.windows(2).filter(|pair| {
            pair[0].kind == CellFrameKind::Ack
                && pair[0].from == Node::Station(0)
                && pair[1].from == pair[0].from
        });
        let slots: Vec<u64> = silences
            .map(|pair| (pair[1].start - (pair[0].start + pair[0].duration) - DIFS).whole(SLOT))
            .collect();
        let mean = slots.iter().sum::<u64>() as f64 / 200.0;
        assert_eq!((slots.len(), slots.iter().max()), (200, Some(&7)));
        // Three standard errors of 2.3 slots / sqrt(200).
        assert!((mean - 3.5).abs() < 0.5, "{mean} slots");
    }
}

/// Makes a cell of stations with these policies, with settings and a seed.
type MadeCell = fn(&[&str], &[(&str, &str)], u64) -> CellMedium;

/// Joules of two stations with this policy beside one that always sends, in all and by cause, over some seeds.
fn spent(policy: &str, make: MadeCell) -> BTreeMap<Option<Cause>, f64> {
    let set = [
        ("wifi.standard", "802.11a"),
        ("wifi.data_rate", "54Mbps"),
        ("wifi.cw_min", "15"),
        ("wifi.cw_max", "1023"),
        ("wifi.txop", "0ms"),
        ("station.buffer", "60000packets"),
    ];
    let end = Instant::from_secs(4);
    let mut joules = BTreeMap::new();
    for seed in 1..=4 {
        let mut cell = make(&["active", policy, policy], &set, seed);
        for (at, input) in burst(1, 100_000, 20_000, us(0)) {
            cell.handle_input(input, at);
        }
        let mut random = RandomStream::new(seed, "traffic");
        let mut at = Instant::ZERO;
        for number in 0.. {
            at += Span::from_secs_f64(random.exponential(0.03));
            if at >= end {
                break;
            }
            drive_to(&mut cell, at);
            let station = 2 + random.below(2) as Member;
            let way = if random.chance(0.7) { [0, station] } else { [station, 0] };
            cell.handle_input(sent(way, Packet::datagram(number, 500, at)), at);
        }
        drive_to(&mut cell, end);
        cell.finish(end);
        let radio = Radio::find("ar5004").unwrap();
        for id in [1, 2] {
            *joules.entry(None).or_default() += cell.ledger(id).energy(&radio).as_joules();
            for (cause, energy) in cell.causes(id).energies(&radio) {
                *joules.entry(Some(cause)).or_default() += energy.as_joules();
            }
        }
    }
    joules
}

/// Stations that sleep spend the same by both, in all and by cause, up to chance: each within 3 % of the total, over four seeds.
#[test]
fn without_a_hidden_pair_every_policy_spends_what_it_does_by_the_shared_clock() {
    for policy in ["timeout", "psm", "psm-legacy", "uapsd", "ba-ta"] {
        let [apart, shared] = [spent(policy, served_apart), spent(policy, of_seed)];
        for cause in shared.keys().chain(apart.keys()) {
            let [other, one] = [&apart, &shared].map(|joules| joules.get(cause).copied().unwrap_or_default());
            let off = (other - one) / shared[&None::<Cause>];
            assert!(off.abs() < 0.03, "{policy}, {cause:?}: {other} J, {one} J by the shared clock");
        }
    }
}

/// Two saturated stations with a constant contention window of `w` slots that do not hear each other, by a renewal argument.
///
/// Each alternates between a frame that lasts `v` (its data, or its RTS) and a silence `I`: the ACKTimeout or the rest of a successful exchange
/// (45 and 44 us before DIFS, nearly equal), DIFS, and a backoff of 0 to w - 1 slots. Time in which it is frozen by the access point does
/// not count, so that the phase of one is independent of the other's. A frame succeeds if the other is silent as it begins and stays so for
/// `v` + SIFS:
///
/// p = E[(I - v - SIFS)+] / (v + E[I])
///
/// Real time has the rest `s` of a successful exchange and the freezing `f` by the other's: a cycle takes v + E[I] + p (s - ACKTimeout) + p f.
fn renewal(w: u32, v: f64, s: f64, f: f64) -> (f64, f64) {
    let silences: Vec<f64> = (0..w).map(|slots| 45.0 + 34.0 + 9.0 * f64::from(slots)).collect();
    let mean = |each: &dyn Fn(f64) -> f64| silences.iter().map(|i| each(*i)).sum::<f64>() / f64::from(w);
    let success = mean(&|i| (i - v - 16.0).max(0.0)) / (v + mean(&|i| i));
    let cycle = v + mean(&|i| i) + success * (s - 45.0) + success * f;
    (success, 2.0 * success / cycle)
}

/// 802.11a at 6 Mbit/s, frames of 1,538 bytes: 20 + 4 x 514 = 2,076 us. ACK and CTS at 24 Mbit/s 28 us, RTS 28 us.
#[test]
fn two_saturated_hidden_stations_get_what_renewal_says() {
    const SECONDS: u64 = 60;
    let window = [("wifi.cw_min", "1023"), ("wifi.cw_max", "1023"), ("wifi.retry_limit", "200")];
    let plain = [("wifi.standard", "802.11a"), ("wifi.data_rate", "6Mbps"), ("wifi.control_rate", "24Mbps")];
    let other =
        [("wifi.access", "dcf"), ("wifi.txop", "0ms"), ("wifi.aifsn", "2"), ("station.distance", "0m")];
    let rts = [("wifi.station_rts_threshold", "500B")];
    let (data, sifs, difs, short) = (2_076.0, 16.0, 34.0, 28.0);
    let rest = 3.0 * sifs + short + data + short;
    for (rts, v, s, f) in
        [(&[][..], data, sifs + short, short + difs), (&rts[..], short, rest, rest - sifs + difs)]
    {
        let mut set = [&window[..], &plain, &other, rts].concat();
        set.extend([("ap.beacon_interval", "60s"), ("station.buffer", "60000packets")]);
        let mut cell = hiding(&["active", "active"], &set, &[[0, 1]]);
        for station in [1, 2] {
            for (at, input) in burst(station, u32::from(station) * 100_000, 40_000, us(0)) {
                cell.handle_input(input, at);
            }
        }
        let arrived = drive_to(&mut cell, Instant::from_secs(SECONDS)).len() as f64;
        let statistics = cell.statistics();
        let (success, rate) = renewal(1_024, v, s, f);
        let measured = [arrived / statistics.frames as f64, arrived / (SECONDS as f64 * 1e6)];
        for (measured, formula) in measured.into_iter().zip([success, rate]) {
            assert!((measured / formula - 1.0).abs() < 0.03, "{measured} measured, {formula} by the formula");
        }
    }
}

//! Tests that the cell keeps the machine contract, that contention gives the access times of the standard, and what goes over
//! the air where access points share a channel, MACs share a radio, and stations send to each other directly.

mod hidden;
mod limits;
mod two_queues;

use airwatt_base::testkit::check_machine;
use airwatt_base::{Instant, Machine, RandomStream, Span};
use airwatt_energy::RadioState;
use proptest::prelude::*;

use super::access::category::CategoryCounts;
use super::access::contention::{Access, AccessMethod, Contention};
use super::frame::Node;
use super::{Bss, CellConfig, CellInput, CellMedium, CellOutput, CellStation};
use crate::net::{MediumKind, NetworkPlan};
use crate::packet::{Packet, Payload};
use crate::route::Member;
use crate::scenario::Scenario;

const SLOT: Span = Span::from_micros(9);
const DIFS: Span = Span::from_micros(34);

fn access(cw_min: u32) -> Access {
    Access { aifs: DIFS, cw_min, cw_max: 1023 }
}

fn us(micros: u64) -> Instant {
    Instant::from_micros(micros)
}

fn winners(contention: &mut Contention) -> (Instant, Vec<u32>) {
    let at = contention.next_access().expect("somebody waits");
    let mut winners = Vec::new();
    contention.access(at, Span::ZERO, &mut winners);
    (at, winners)
}

/// ```text
/// idle since 0      frame arrives at 100 us
/// |----DIFS----|--|--|--|--|--|--|--|--X the next boundary: 34 + 8 slots = 106 us
/// ```
#[test]
fn a_frame_on_an_idle_medium_goes_out_at_the_next_slot_boundary() {
    let mut contention = Contention::new(SLOT, AccessMethod::Edca);
    let station = contention.add(access(15), RandomStream::new(1, "a"));
    contention.join(station, us(100));
    assert_eq!(winners(&mut contention), (us(106), vec![station]));
}

#[test]
fn a_frame_during_a_busy_medium_backs_off() {
    let mut contention = Contention::new(SLOT, AccessMethod::Edca);
    let sender = contention.add(access(15), RandomStream::new(1, "a"));
    let late = contention.add(access(15), RandomStream::new(1, "late"));
    contention.join(sender, us(0));
    winners(&mut contention);
    contention.join(late, us(50));
    contention.idle_from(us(1_000));
    let backoff = u64::from(RandomStream::new(1, "late").below(16));
    assert_eq!(winners(&mut contention), (us(1_034 + 9 * backoff), vec![late]));
}

/// The slot in which another station begins to send counts for EDCA and not for DCF.
#[test]
fn backoffs_freeze_while_the_medium_is_busy() {
    for (counting, left) in [(AccessMethod::Edca, 2), (AccessMethod::Dcf, 3)] {
        let mut contention = Contention::new(SLOT, counting);
        let frozen = contention.add(Access { cw_min: 0, ..access(0) }, RandomStream::new(1, "frozen"));
        let other = contention.add(access(15), RandomStream::new(1, "other"));
        // Boundary 5 for the one, boundary 2 for the other.
        contention.join(frozen, us(34 + 5 * 9));
        contention.join(other, us(34 + 2 * 9));
        assert_eq!(winners(&mut contention), (us(34 + 2 * 9), vec![other]));
        contention.idle_from(us(1_000));
        assert_eq!(winners(&mut contention), (us(1_034 + 9 * left), vec![frozen]), "{counting:?}");
    }
}

#[test]
fn equal_boundaries_collide() {
    let mut contention = Contention::new(SLOT, AccessMethod::Edca);
    let stations: Vec<u32> = (0..3).map(|n| contention.add(access(15), RandomStream::new(n, "s"))).collect();
    contention.join(stations[0], us(200));
    contention.join(stations[2], us(201));
    contention.join(stations[1], us(500));
    let (_, both) = winners(&mut contention);
    assert_eq!(both, [stations[0], stations[2]]);
}

/// A backoff that is drawn after a success runs although there is nothing to send, and costs no event.
#[test]
fn post_backoff_runs_without_a_frame() {
    let mut contention = Contention::new(SLOT, AccessMethod::Edca);
    let station = contention.add(access(15), RandomStream::new(3, "post"));
    contention.join(station, us(0));
    winners(&mut contention);
    contention.succeeded(station);
    contention.idle_from(us(1_000));
    assert_eq!(contention.next_access(), None);
    let backoff = u64::from(RandomStream::new(3, "post").below(16));
    let mut early = contention.clone();
    early.join(station, us(1_010));
    assert_eq!(winners(&mut early).0, us(1_034 + 9 * backoff), "before it is over it holds");
    contention.join(station, us(5_000));
    let (at, _) = winners(&mut contention);
    assert!(at >= us(5_000) && at < us(5_000) + SLOT, "after it is over it does not");
}

#[test]
fn windows_double_up_to_the_largest_and_a_success_resets_them() {
    let mut contention = Contention::new(SLOT, AccessMethod::Edca);
    let station = contention.add(Access { cw_max: 63, ..access(15) }, RandomStream::new(5, "w"));
    let mut longest = |failures: u32| {
        (0..300)
            .map(|_| {
                contention.succeeded(station);
                (0..failures).for_each(|_| contention.failed(station));
                contention.join(station, us(0));
                contention.idle_from(us(0));
                let at = contention.next_access().unwrap();
                contention.access(at, Span::ZERO, &mut Vec::new());
                (at - us(34)).whole(SLOT)
            })
            .max()
    };
    assert_eq!([longest(0), longest(1), longest(2), longest(5)], [Some(15), Some(31), Some(63), Some(63)]);
}

/// The settings of a cell with a station for each policy.
fn settings(policies: &[&str], set: &[(&str, &str)]) -> (CellConfig, Vec<CellStation>) {
    let stations: Vec<String> = policies
        .iter()
        .map(|policy| format!("[[station]]\npower_save = {{ policy = {policy:?} }}\nradio = \"ar5004\"\n"))
        .collect();
    let text = format!(
        "wifi = \"fast-wifi\"\nduration = \"1s\"\n[wired]\nrtt = \"0ms\"\ndown = {{ rate = \"1Gbps\" }}\n\
         up = {{ rate = \"1Gbps\" }}\n{}[[flow]]\ndirection = \"down\"\n",
        stations.concat()
    );
    let set: Vec<_> = set.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let scenario = Scenario::from_text(&text, "cell", &set).unwrap();
    let mut plan = NetworkPlan::new(&scenario.ready().unwrap(), 1);
    let MediumKind::Cell(mut bsss) = plan.media.swap_remove(0).kind else {
        unreachable!("the scenario has [wifi]")
    };
    let super::Bss { config, stations, .. } = bsss.swap_remove(0);
    (config, stations)
}

/// A cell with one access point.
fn with_access_point(config: CellConfig, stations: Vec<CellStation>) -> CellMedium {
    let name = "access-point".to_owned();
    CellMedium::with_access_points(
        "air",
        &[Bss { name, config, shared_radio: None, stations, hidden: Vec::new() }],
        1,
    )
}

fn cell(policies: &[&str], set: &[(&str, &str)]) -> CellMedium {
    let (config, stations) = settings(policies, set);
    with_access_point(config, stations)
}

/// A packet from one member to another.
const fn sent([from, to]: [Member; 2], packet: Packet) -> CellInput {
    CellInput::Packet { from, to, packet }
}

/// A packet that has arrived at a member.
const fn arrived(at: Member, packet: Packet) -> CellOutput {
    CellOutput::Arrived { at, packet }
}

/// The ways down to so many stations of one access point.
fn ways(stations: usize) -> Vec<[Member; 2]> {
    (1..=stations as Member).map(|station| [0, station]).collect()
}

/// Long after the last packet of [`traffic`]: some three hundred beacons, each as the one before. Nothing of a cell waits longer.
const QUIET: Instant = Instant::from_secs(30);

/// Packets in both directions of these ways at random times, several at once now and then.
fn traffic(ways: &[[Member; 2]], packets: u64) -> Vec<(Instant, CellInput)> {
    let mut random = RandomStream::new(9, "traffic");
    let mut at = Instant::ZERO;
    (0..packets as u32)
        .map(|number| {
            if !random.chance(0.4) {
                at += Span::from_secs_f64(random.exponential(0.003));
            }
            let [from, to] = ways[random.below(ways.len() as u32) as usize];
            let bytes = 40 + random.below(1_461);
            let packet =
                Packet { dscp: [0, 46, 34, 8][number as usize % 4], ..Packet::datagram(number, bytes, at) };
            let down = random.chance(0.6);
            (at, sent(if down { [from, to] } else { [to, from] }, packet))
        })
        .collect()
}

#[test]
fn the_cell_keeps_the_machine_contract() {
    let every = ["active", "timeout", "psm", "psm-legacy", "uapsd"];
    for set in [
        &[][..],
        &[("wifi.frame_error_rate", "0.3"), ("wifi.txop", "0ms")],
        &[("wifi.frame_error_rate", "0.7"), ("wifi.retry_limit", "1")],
        &[("wifi.response_error_rate", "0.4"), ("wifi.retry_limit", "2")],
        &[("wifi.response_error_rate", "0.3"), ("wifi.frame_error_rate", "0.3"), ("wifi.txop", "3ms")],
        &[("wifi.aggregation.mpdus", "64"), ("wifi.txop", "0ms")],
        &[
            ("wifi.aggregation.mpdus", "8"),
            ("wifi.frame_error_rate", "0.4"),
            ("wifi.response_error_rate", "0.3"),
            ("wifi.retry_limit", "3"),
        ],
        &[("wifi.aggregation.mpdus", "64"), ("ap.queue", "fq-codel"), ("ap.buffer", "30packets")],
        &[
            ("wifi.aggregation.bytes", "5kB"),
            ("station.distance", "12m"),
            ("wifi.path_loss.capture_db", "0"),
            ("ap.power_save_buffer", "9packets"),
        ],
        &[
            ("wifi.aggregation.missed_block_ack", "request"),
            ("wifi.aggregation.retry_limit", "1"),
            ("wifi.response_error_rate", "0.3"),
            ("wifi.frame_error_rate", "0.3"),
        ],
        &[("wifi.aggregation.retry_limit", "0"), ("wifi.frame_error_rate", "0.3"), ("wifi.txop", "3ms")],
        &[("wifi.response_error_rate", "0.3"), ("ap.queue", "fq-codel"), ("ap.buffer", "5packets")],
        &[("wifi.station_rts_threshold", "100B"), ("wifi.ap_rts_threshold", "500B"), ("wifi.access", "dcf")],
        &[("ap.buffer", "3packets"), ("ap.power_save_buffer", "2packets"), ("station.distance", "2km")],
        &[("ap.queue", "fq-codel"), ("ap.buffer", "5packets")],
        &[("ap.queue", "two-queues"), ("ap.buffer", "5packets"), ("wifi.aggregation.mpdus", "8")],
        &[("ap.queue", "mac80211"), ("ap.buffer", "9packets"), ("wifi.frame_error_rate", "0.3")],
        &[
            ("ap.queue", "ath9k"),
            ("ap.buffer", "30packets"),
            ("wifi.aggregation.mpdus", "64"),
            ("wifi.response_error_rate", "0.3"),
        ],
        &[
            ("ap.queue", "mac80211"),
            ("wifi.categories", "linux"),
            ("wifi.txop", "0ms"),
            ("wifi.aggregation.mpdus", "8"),
            ("wifi.frame_error_rate", "0.3"),
        ],
        &[("ap.buffer", "3packets"), ("ap.wait_for_room", "true"), ("wifi.frame_error_rate", "0.3")],
        &[("ap.buffer", "9packets"), ("ap.wait_for_room", "true"), ("wifi.aggregation.mpdus", "8")],
        &[("ap.queue", "fq-codel"), ("ap.buffer", "5packets"), ("ap.wait_for_room", "true")],
        &[("ap.priority", "true"), ("ap.queue", "fq-codel"), ("wifi.access", "dcf")],
        &[("wifi.msdu_lifetime.best_effort", "3ms"), ("wifi.response_error_rate", "0.3")],
        &[("wifi.aggregation.amsdu", "3839B"), ("wifi.txop", "0ms")],
        &[
            ("wifi.aggregation.mpdus", "1"),
            ("wifi.aggregation.amsdu", "7935B"),
            ("wifi.frame_error_rate", "0.3"),
            ("wifi.response_error_rate", "0.3"),
        ],
        &[
            ("wifi.aggregation.amsdu", "3839B"),
            ("wifi.aggregation.missed_block_ack", "request"),
            ("wifi.aggregation.retry_limit", "1"),
            ("wifi.frame_error_rate", "0.3"),
            ("wifi.response_error_rate", "0.3"),
            ("wifi.msdu_lifetime.best_effort", "9ms"),
        ],
        &[("wifi.aggregation.amsdu", "3839B"), ("ap.queue", "fq-codel"), ("ap.buffer", "30packets")],
        &[
            ("wifi.aggregation.amsdu", "3839B"),
            ("ap.queue", "ath9k"),
            ("wifi.categories", "linux"),
            ("wifi.txop", "0ms"),
            ("wifi.frame_error_rate", "0.3"),
        ],
        &[
            ("wifi.msdu_lifetime.best_effort", "4ms"),
            ("wifi.aggregation.missed_block_ack", "request"),
            ("wifi.frame_error_rate", "0.5"),
            ("wifi.response_error_rate", "0.3"),
            ("wifi.rts_after_failures", "1"),
        ],
        &[
            ("ap.queue", "mac80211"),
            ("wifi.categories", "linux"),
            ("wifi.txop", "0ms"),
            ("wifi.aggregation.mpdus", "8"),
            ("wifi.frame_error_rate", "0.6"),
            ("wifi.msdu_lifetime.best_effort", "2ms"),
            ("wifi.msdu_lifetime.voice", "1ms"),
            ("wifi.txop_duration_rts_threshold", "200us"),
        ],
        &[("wifi.path_loss.capture_db", "0"), ("station.distance", "12m"), ("wifi.data_rate", "65Mbps")],
        &[("wifi.categories", "linux"), ("wifi.txop", "0ms"), ("wifi.frame_error_rate", "0.3")],
        &[
            ("wifi.categories", "standard"),
            ("wifi.txop", "0ms"),
            ("wifi.aggregation.mpdus", "64"),
            ("wifi.response_error_rate", "0.3"),
            ("ap.queue", "fq-codel"),
            ("ap.buffer", "9packets"),
        ],
    ] {
        let inputs = traffic(&ways(every.len()), 800);
        let done = check_machine(|| cell(&every, set), &inputs, QUIET);
        assert_accounted(&done, inputs.len(), set);
    }
}

/// No packet is invented, doubled or forgotten: each one arrives or is reported lost, once.
fn assert_accounted(done: &[(Instant, CellOutput)], sent: usize, set: &[(&str, &str)]) {
    let mut seen = vec![0; sent];
    for (_, output) in done {
        let (CellOutput::Arrived { packet, .. } | CellOutput::Lost(packet)) = output else { continue };
        if let Payload::Datagram(number) = packet.payload {
            seen[number as usize] += 1;
        }
    }
    let wrong: Vec<_> = seen.iter().enumerate().filter(|(_, count)| **count != 1).collect();
    assert!(wrong.is_empty(), "packets seen other than once with {set:?}: {wrong:?}");
}

#[test]
fn ledgers_add_up_at_any_time() {
    let every = ["active", "timeout", "psm", "psm-legacy", "uapsd"];
    let mut cell = cell(&every, &[("wifi.frame_error_rate", "0.2")]);
    for (at, input) in traffic(&ways(every.len()), 500) {
        while cell.poll_timeout().is_some_and(|t| t.at <= at) {
            let due = cell.poll_timeout().unwrap().at;
            cell.handle_timeout(due);
            while cell.poll_output().is_some() {}
        }
        cell.handle_input(input, at);
        while cell.poll_output().is_some() {}
        let mut copy = cell.clone();
        let end = copy.finish(at);
        assert!(end - at < Span::from_millis(10), "a radio is never far ahead of the clock");
        (0..every.len() as u32).for_each(|id| copy.ledger(id).check(end));
    }
}

// Several MACs on one channel. 802.11a: slot 9 us, SIFS 16 us, DIFS 34 us; at 54 Mbit/s a packet of 1,464 bytes takes 244 us,
// an ACK at 24 Mbit/s 28 us. Stations stand beside their access points, and the first beacon is far away.

const AIR: &[(&str, &str)] = &[
    ("wifi.standard", "802.11a"),
    ("wifi.data_rate", "54Mbps"),
    ("wifi.control_rate", "24Mbps"),
    ("wifi.access", "dcf"),
    ("wifi.txop", "0ms"),
    ("station.distance", "0m"),
];

fn bss(name: &str, shared_radio: Option<u32>, policies: &[&str]) -> Bss {
    let (mut config, stations) = settings(policies, AIR);
    config.power_save.first_beacon = Instant::from_secs(1);
    Bss { name: name.to_owned(), config, shared_radio, stations, hidden: Vec::new() }
}

const fn packet(number: u32) -> Packet {
    Packet::datagram(number, 1_464, Instant::ZERO)
}

/// Runs the cell up to `end`. Each output becomes inputs at the same instant.
fn drive(
    cell: &mut CellMedium,
    inputs: &[(Instant, CellInput)],
    end: Instant,
    mut forward: impl FnMut(CellOutput) -> Option<CellInput>,
) -> Vec<CellOutput> {
    let mut outputs = Vec::new();
    let mut inputs = inputs.iter().copied().peekable();
    loop {
        let due = cell.poll_timeout().map(|timeout| timeout.at);
        let input = inputs.peek().map(|(at, _)| *at);
        let Some(now) = due.into_iter().chain(input).min().filter(|now| *now <= end) else {
            return outputs;
        };
        if due == Some(now) {
            cell.handle_timeout(now);
        } else if let Some((_, input)) = inputs.next() {
            cell.handle_input(input, now);
        }
        while let Some(output) = cell.poll_output() {
            outputs.push(output);
            if let Some(input) = forward(output) {
                cell.handle_input(input, now);
            }
        }
    }
}

/// The frames on the air, one a line: start, duration, BSS, sender, receiver, kind.
fn ladder(cell: &mut CellMedium) -> Vec<String> {
    let name = |node| match node {
        Node::AccessPoint => "AP".to_owned(),
        Node::Station(id) => format!("sta{id}"),
        Node::All => "all".to_owned(),
    };
    let frames = cell.take_trace().expect("the cell was traced").frames;
    let line = |frame: &super::frame::TracedFrame| {
        let (at, takes) = (frame.start.as_nanos() as f64 / 1e3, frame.duration.as_nanos() / 1_000);
        let (bss, from, to) = (frame.bss, name(frame.from), name(frame.to));
        format!("{at} {takes} bss{bss} {from} {to} {}", frame.kind.name())
    };
    frames.iter().map(line).collect()
}

/// The acknowledgement is over at 394 us and its receiver could not read it: it defers for EIFS, 60 us more than DIFS, and draws from
/// the doubled window. The frame comes again with its number, its packet not; after the last attempt it is not reported as lost.
#[test]
fn a_frame_whose_response_is_lost_comes_again_and_its_packet_does_not() {
    let mut bss = bss("access-point", None, &["active"]);
    (bss.config.response_error_rate, bss.config.retry_limit) = (0.999_999, 1);
    let cw_min = bss.config.ap_access.cw_min;
    let mut cell = CellMedium::with_access_points("air", &[bss], 1);
    cell.trace();
    let inputs = [(us(100), sent([0, 1], packet(0)))];
    let outputs = drive(&mut cell, &inputs, Instant::from_millis(5), |_| None);
    assert_eq!(outputs, [arrived(1, packet(0))]);
    assert_eq!(cell.statistics().given_up, 0, "the access point treats it as delivered");
    let slots = RandomStream::new(1, "access-point/backoff").below(2 * (cw_min + 1));
    let again = 394 + 60 + 34 + 9 * slots;
    let expected = [
        "106 244 bss0 AP sta0 data".to_owned(),
        "366 28 bss0 sta0 AP ack".to_owned(),
        format!("{again} 244 bss0 AP sta0 data"),
        format!("{} 28 bss0 sta0 AP ack", again + 260),
    ];
    assert_eq!(ladder(&mut cell), expected);
}

/// Three packets of 1,464 bytes: two subframes of 4 + 1,502 bytes and 2 of padding, and one without, 4,522 bytes, take 40 + 4 * 70 us at
/// 130 Mbit/s (520 bits a symbol), and the BlockAck of 32 bytes 32 us at 24 Mbit/s. Frames that fail alone come again alone.
#[test]
fn packets_for_one_station_go_out_together() {
    let set = [("wifi.aggregation.mpdus", "64"), ("wifi.access", "dcf"), ("wifi.txop", "0ms")];
    let set = [&set[..], &[("station.distance", "0m")]].concat();
    let (mut config, stations) = settings(&["active", "active"], &set);
    config.power_save.first_beacon = Instant::from_secs(1);
    let cw_min = config.ap_access.cw_min;
    let mut cell = with_access_point(config, stations);
    cell.trace();
    let to = [1, 1, 2, 1].into_iter().zip(0..);
    let inputs: Vec<_> = to.map(|(to, number)| (us(100), sent([0, to], packet(number)))).collect();
    let outputs = drive(&mut cell, &inputs, Instant::from_millis(3), |_| None);
    assert_eq!(outputs, [(1, 0), (1, 1), (1, 3), (2, 2)].map(|(at, number)| arrived(at, packet(number))));
    let slots = RandomStream::new(1, "access-point/backoff").below(cw_min + 1);
    let ack = 106 + 320 + 16;
    let second = ack + 32 + 34 + 9 * slots;
    let expected = [
        "106 320 bss0 AP sta0 data".to_owned(),
        "106 0 bss0 AP sta0 data".to_owned(),
        "106 0 bss0 AP sta0 data".to_owned(),
        format!("{ack} 32 bss0 sta0 AP block-ack"),
        format!("{second} 136 bss0 AP sta1 data"),
        format!("{} 28 bss0 sta1 AP ack", second + 136 + 16),
    ];
    assert_eq!(ladder(&mut cell), expected);
    assert_eq!(cell.statistics().mpdus, Some(4));
    let end = cell.finish(Instant::from_millis(3));
    (0..2).for_each(|id| cell.ledger(id).check(end));
}

/// The second access point has a packet while the first one sends. It defers to that exchange, ACK included, although it
/// belongs to another BSS, and draws a backoff. Every station receives what is on the air of both BSSs.
#[test]
fn access_points_on_one_channel_defer_to_each_other() {
    let bsss = [bss("access-point", None, &["active"]), bss("ap2", None, &["active"])];
    let mut cell = CellMedium::with_access_points("air", &bsss, 1);
    cell.trace();
    let inputs = [(us(100), sent([0, 1], packet(0))), (us(150), sent([2, 3], packet(1)))];
    let outputs = drive(&mut cell, &inputs, Instant::from_millis(2), |_| None);
    assert_eq!(outputs, [arrived(1, packet(0)), arrived(3, packet(1))]);
    // The exchange ends at 106 + 244 + 16 + 28 = 394; DIFS and the backoff follow.
    let slots = RandomStream::new(1, "ap2/backoff").below(bsss[1].config.ap_access.cw_min + 1);
    let second = 394 + 34 + 9 * slots;
    let expected = [
        "106 244 bss0 AP sta0 data".to_owned(),
        "366 28 bss0 sta0 AP ack".to_owned(),
        format!("{second} 244 bss1 AP sta1 data"),
        format!("{} 28 bss1 sta1 AP ack", second + 260),
    ];
    assert_eq!(ladder(&mut cell), expected);
    let end = cell.finish(Instant::from_millis(2));
    for station in 0..2 {
        let ledger = cell.ledger(station);
        ledger.check(end);
        assert_eq!(ledger.duration(RadioState::Transmit), Span::from_micros(28));
        assert_eq!(ledger.duration(RadioState::Receive), Span::from_micros(244 + 244 + 28));
    }
}

/// Station 0 is the access point of a second BSS, by the same radio. It passes packets on: two exchanges, one ledger.
#[test]
fn a_relay_sends_again_what_it_has_received() {
    let bsss = [bss("access-point", None, &["active"]), bss("relay", Some(0), &["active"])];
    let mut cell = CellMedium::with_access_points("air", &bsss, 1);
    cell.trace();
    let forward = |output| match output {
        CellOutput::Arrived { at: 1, packet } => Some(sent([2, 3], packet)),
        CellOutput::Arrived { at: 2, packet } => Some(sent([1, 0], packet)),
        _ => None,
    };
    let inputs = [(us(100), sent([0, 1], packet(0))), (us(2_000), sent([3, 2], packet(1)))];
    let end = Instant::from_millis(4);
    let outputs = drive(&mut cell, &inputs, end, forward);
    let [down, up] = [packet(0), packet(1)];
    assert_eq!(outputs, [arrived(1, down), arrived(3, down), arrived(2, up), arrived(0, up)]);
    let kinds: Vec<String> =
        ladder(&mut cell).iter().map(|line| line.split(' ').skip(2).collect::<Vec<_>>().join(" ")).collect();
    assert_eq!(
        kinds,
        [
            "bss0 AP sta0 data",
            "bss0 sta0 AP ack",
            "bss1 AP sta1 data",
            "bss1 sta1 AP ack",
            "bss1 sta1 AP data",
            "bss1 AP sta1 ack",
            "bss0 sta0 AP data",
            "bss0 AP sta0 ack",
        ]
    );
    let end = cell.finish(end);
    let relay = cell.ledger(0);
    relay.check(end);
    // It sends both packets once and acknowledges both once; it receives as much.
    assert_eq!(relay.duration(RadioState::Transmit), Span::from_micros(2 * (244 + 28)));
    assert_eq!(relay.duration(RadioState::Receive), Span::from_micros(2 * (244 + 28)));
    let phone = cell.ledger(1);
    assert_eq!(phone.duration(RadioState::Transmit), Span::from_micros(244 + 28));
    assert_eq!(phone.duration(RadioState::Receive), Span::from_micros(3 * (244 + 28)));
    // All frames are the relay's own, so it listens or sleeps in the rest of its bound.
    let bound = cell.lower_bound(0, end);
    assert_eq!(bound.duration(RadioState::Transmit), relay.duration(RadioState::Transmit));
    assert_eq!(bound.duration(RadioState::Receive), relay.duration(RadioState::Receive));
}

/// Both MACs of a radio have waited equally long. One of them sends, and the other backs off: no collision on the air.
#[test]
fn two_macs_of_one_radio_do_not_send_at_once() {
    let bsss = [bss("access-point", None, &["active"]), bss("relay", Some(0), &["active"])];
    let mut cell = CellMedium::with_access_points("air", &bsss, 1);
    cell.trace();
    let inputs = [(us(100), sent([1, 0], packet(0))), (us(101), sent([2, 3], packet(1)))];
    let outputs = drive(&mut cell, &inputs, Instant::from_millis(4), |_| None);
    assert_eq!(outputs.len(), 2);
    assert_eq!(cell.statistics().collisions, 0);
    let ladder = ladder(&mut cell);
    assert_eq!(ladder[0], "106 244 bss0 sta0 AP data");
    assert!(ladder[2].ends_with("bss1 AP sta1 data"), "{ladder:?}");
}

/// Four stations in a row pass a packet on. All of them receive every frame.
#[test]
fn ad_hoc_stations_pass_a_packet_on() {
    let (config, stations) = settings(&["active"; 4], AIR);
    let mut cell = CellMedium::ad_hoc("air", &config, &stations, 1);
    cell.trace();
    let forward = |output| match output {
        CellOutput::Arrived { at, packet } if at < 3 => Some(sent([at, at + 1], packet)),
        _ => None,
    };
    let inputs = [(us(100), sent([0, 1], packet(7)))];
    let end = Instant::from_millis(3);
    let outputs = drive(&mut cell, &inputs, end, forward);
    assert_eq!(outputs.last(), Some(&arrived(3, packet(7))));
    let ladder = ladder(&mut cell);
    assert_eq!(ladder[..2], ["106 244 bss0 sta0 sta1 data", "366 28 bss0 sta1 sta0 ack"]);
    let kinds: Vec<&str> =
        ladder[2..].iter().map(|line| line.split_once("bss0 ").map_or("", |(_, rest)| rest)).collect();
    assert_eq!(kinds, ["sta1 sta2 data", "sta2 sta1 ack", "sta2 sta3 data", "sta3 sta2 ack"]);
    let end = cell.finish(end);
    for (station, [sent, received]) in [[244, 572], [272, 544], [272, 544], [28, 788]].into_iter().enumerate()
    {
        let ledger = cell.ledger(station as u32);
        ledger.check(end);
        assert_eq!(ledger.duration(RadioState::Transmit), Span::from_micros(sent), "station {station}");
        assert_eq!(ledger.duration(RadioState::Receive), Span::from_micros(received), "station {station}");
    }
}

/// Two saturated access points share the channel about equally, and together carry nearly what one carries alone.
#[test]
fn saturated_access_points_share_the_channel() {
    let end = Instant::from_millis(500);
    let delivered = |bsss: &[Bss]| {
        let mut cell = CellMedium::with_access_points("air", bsss, 1);
        // Each BSS has one station. Two packets keep an access point busy.
        let stations = (0..bsss.len() as Member).map(|bss| 2 * bss + 1);
        let inputs: Vec<_> = stations.flat_map(|to| [(us(100), sent([to - 1, to], packet(0))); 2]).collect();
        let mut counts = vec![0_u32; bsss.len()];
        drive(&mut cell, &inputs, end, |output| {
            let CellOutput::Arrived { at, packet } = output else { return None };
            counts[usize::from(at / 2)] += 1;
            Some(sent([at - 1, at], packet))
        });
        counts
    };
    let alone = delivered(&[bss("access-point", None, &["active"])])[0];
    let both = delivered(&[bss("access-point", None, &["active"]), bss("ap2", None, &["active"])]);
    let together = both[0] + both[1];
    assert!(alone > 1_100, "one access point delivers {alone} packets");
    // A second contender shortens the mean backoff and adds collisions.
    assert!((0.8..1.1).contains(&(f64::from(together) / f64::from(alone))), "{together} against {alone}");
    assert!((0.85..1.18).contains(&(f64::from(both[0]) / f64::from(both[1]))), "{both:?}");
}

#[test]
fn cells_of_several_macs_keep_the_machine_contract() {
    let two = || {
        let bss = |name: &str, shared_radio, policies| {
            let (config, stations) = settings(policies, AIR);
            Bss { name: name.to_owned(), config, shared_radio, stations, hidden: Vec::new() }
        };
        let bsss = [bss("access-point", None, &["active", "psm"]), bss("relay", Some(0), &["uapsd"])];
        CellMedium::with_access_points("air", &bsss, 1)
    };
    let inputs = traffic(&[[0, 1], [0, 2], [3, 4]], 400);
    let done = check_machine(two, &inputs, Instant::from_secs(60));
    assert_accounted(&done, inputs.len(), &[("two access points", "")]);
    let ad_hoc = || {
        let (config, stations) = settings(&["active"; 3], &[("wifi.frame_error_rate", "0.3")]);
        CellMedium::ad_hoc("air", &config, &stations, 1)
    };
    let inputs = traffic(&[[0, 1], [1, 2], [2, 0]], 400);
    let done = check_machine(ad_hoc, &inputs, Instant::from_secs(60));
    assert_accounted(&done, inputs.len(), &[("ad hoc", "")]);
}

// Access categories. With 802.11a an access point of Linux waits 25 us for voice and video, 43 us for best effort; a station 34 us
// for voice.

/// A cell of one access point with the categories of Linux, and so many stations.
fn categories(stations: usize, set: &[(&str, &str)]) -> CellMedium {
    let of_linux = [("wifi.access", "edca"), ("wifi.categories", "linux")];
    let (mut config, stations) = settings(&vec!["active"; stations], &[AIR, &of_linux, set].concat());
    config.power_save.first_beacon = Instant::from_secs(1);
    with_access_point(config, stations)
}

const fn marked(number: u32, dscp: u8) -> Packet {
    Packet { dscp, ..packet(number) }
}

/// Both packets come at 100 us to an idle medium, and the next boundary of both is 106 us: 25 + 9 * 9 and 43 + 7 * 9. Voice is sent,
/// and best effort draws from the doubled window, from the end of the exchange at 394 us on; that is no retry.
#[test]
fn of_two_categories_of_one_mac_the_higher_one_sends_first() {
    let mut cell = categories(1, &[]);
    cell.trace();
    let inputs = [marked(0, 0), marked(1, 46)].map(|packet| (us(100), sent([0, 1], packet)));
    let outputs = drive(&mut cell, &inputs, Instant::from_millis(3), |_| None);
    assert_eq!(outputs, [arrived(1, marked(1, 46)), arrived(1, marked(0, 0))]);
    let slots = RandomStream::new(1, "access-point/backoff/best-effort").below(2 * 16);
    let second = 394 + 43 + 9 * slots;
    let expected = [
        "106 244 bss0 AP sta0 data".to_owned(),
        "366 28 bss0 sta0 AP ack".to_owned(),
        format!("{second} 244 bss0 AP sta0 data"),
        format!("{} 28 bss0 sta0 AP ack", second + 260),
    ];
    assert_eq!(ladder(&mut cell), expected);
    let [background, best_effort, video, voice] = *cell.category_counts().expect("they are told apart");
    assert_eq!((background, video), (CategoryCounts::default(), CategoryCounts::default()));
    assert_eq!(best_effort, CategoryCounts { frames: 1, retries: 0, internal_collisions: 1 });
    assert_eq!(voice, CategoryCounts { frames: 1, retries: 0, internal_collisions: 0 });
    assert_eq!((cell.statistics().collisions, cell.statistics().retries), (0, 0));
}

/// A saturated sender of voice: an exchange takes 244 + 16 + 28 us, so that 1,500 us hold four with a SIFS between them at the access
/// point, and 1,504 us exactly five at a station. Between bursts are AIFS and on average 1.5 slots of 9 us.
#[test]
fn bursts_of_voice_fill_its_txop_limit() {
    for (ends, burst, aifs_us) in [([0, 1], 4.0, 25.0), ([1, 0], 5.0, 34.0)] {
        let mut cell = categories(1, &[("ap.buffer", "4000packets"), ("station.buffer", "4000packets")]);
        let inputs: Vec<_> = (0..4_000).map(|number| (us(0), sent(ends, marked(number, 46)))).collect();
        let arrived = drive(&mut cell, &inputs, Instant::from_millis(900), |_| None).len();
        let cycle_us = burst * 288.0 + (burst - 1.0) * 16.0 + aifs_us + 1.5 * 9.0;
        let expected = 900_000.0 / cycle_us * burst;
        assert!((arrived as f64 / expected - 1.0).abs() < 0.005, "{arrived} packets, {expected} expected");
    }
}

/// Two stations that always have packets: best effort gets less than a twentieth of what goes over the air.
#[test]
fn voice_leaves_little_to_best_effort() {
    let mut cell = categories(2, &[("station.buffer", "4000packets")]);
    let of = |from, dscp| (0..4_000).map(move |number| (us(0), sent([from, 0], marked(number, dscp))));
    let inputs: Vec<_> = of(1, 46).chain(of(2, 0)).collect();
    let outputs = drive(&mut cell, &inputs, Instant::from_millis(900), |_| None);
    let is_voice =
        |output: &CellOutput| matches!(output, CellOutput::Arrived { packet, .. } if packet.dscp == 46);
    let voice = outputs.iter().filter(|output| is_voice(output)).count();
    let others = outputs.len() - voice;
    assert!(
        voice > 2_000 && others > 0 && others * 20 < outputs.len(),
        "{voice} of voice and {others} others"
    );
}

proptest! {
    /// The categories of one MAC never collide on the air, whenever their packets come: each frame is sent once, each packet arrives, and
    /// those of one category and station in order. What an internal collision costs is a wait.
    #[test]
    fn categories_of_one_mac_do_not_collide_on_the_air(
        packets in prop::collection::vec((0_u64..400, 0_usize..4, 1_u16..4), 1..120),
        parameters in prop_oneof![Just("linux"), Just("standard")],
    ) {
        let mut cell = categories(3, &[("wifi.categories", parameters)]);
        let mut at = us(0);
        let mut inputs = Vec::new();
        for (number, (gap, category, to)) in (0..).zip(&packets) {
            at += Span::from_micros(*gap);
            inputs.push((at, sent([0, *to], marked(number, [8, 0, 34, 46][*category]))));
        }
        let outputs = drive(&mut cell, &inputs, Instant::from_millis(999), |_| None);
        prop_assert_eq!(outputs.len(), packets.len());
        let mut last = std::collections::BTreeMap::new();
        for output in outputs {
            let CellOutput::Arrived { at, packet } = output else { panic!("{output:?}") };
            let Payload::Datagram(number) = packet.payload else { unreachable!() };
            let before = last.insert((at, packet.dscp), number);
            prop_assert!(before.is_none_or(|before| before < number));
        }
        let statistics = cell.statistics();
        prop_assert_eq!((statistics.collisions, statistics.retries), (0, 0));
        let counts = cell.category_counts().expect("they are told apart");
        let sent: u64 = counts.iter().map(|counts| counts.frames).sum();
        prop_assert_eq!(sent, packets.len() as u64);
        prop_assert_eq!(counts[3].internal_collisions, 0, "nothing precedes voice");
        let end = cell.finish(Instant::from_millis(999));
        (0..3).for_each(|id| cell.ledger(id).check(end));
    }
}

//! Bursts of one tunnel, two tunnels against each other, and the contract.

use airwatt_base::testkit::check_machine;
use airwatt_base::{Instant, Machine, Size, Span, Timeout};
use proptest::prelude::*;

use super::*;

const MS: Span = Span::from_millis(1);

/// A packet of a flow: data with a number, or an acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Packet {
    pub(super) flow: u16,
    pub(super) number: u32,
    pub(super) bytes: u32,
}

impl Inner for Packet {
    type Flow = u16;

    fn flow(&self) -> u16 {
        self.flow
    }

    fn bytes(&self) -> u32 {
        self.bytes
    }

    fn supersedes(&self, older: &Self) -> bool {
        self.bytes == 40 && older.bytes == 40 && self.number > older.number
    }
}

type Plainly = Tunnel<Plain<Packet>>;
type Inputs = Vec<(Instant, Input<Packet, Datagram<Packet>>)>;

fn data(flow: u16, number: u32) -> Packet {
    Packet { flow, number, bytes: 1_500 }
}

fn ack(flow: u16, number: u32) -> Packet {
    Packet { flow, number, bytes: 40 }
}

fn at(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

fn of_five() -> TunnelConfig {
    TunnelConfig { burst: Some(5), ..TunnelConfig::default() }
}

fn tunnel(config: TunnelConfig, end: TunnelEnd) -> Plainly {
    Tunnel::new(config, end, Plain::new(1_436))
}

/// Datagrams as their time in microseconds, the numbers of their packets, and whether they end a burst.
fn sent(config: TunnelConfig, end: TunnelEnd, inputs: &Inputs, until: u64) -> Vec<(u64, Vec<u32>, bool)> {
    let outputs = check_machine(|| tunnel(config, end), inputs, at(until));
    let transmitted = outputs.into_iter().filter_map(|(at, output)| match output {
        Output::Transmit(Datagram { header, packets }) => {
            let numbers = packets.iter().map(|packet| packet.number).collect();
            Some((at.as_nanos() / 1_000, numbers, header.ends_burst))
        }
        _ => None,
    });
    transmitted.collect()
}

fn each_ms(packets: impl IntoIterator<Item = Packet>) -> Inputs {
    (0..).zip(packets).map(|(time, packet)| (at(time), Input::Inner(packet))).collect()
}

fn from_peer(number: u32, ends_burst: bool, packets: Vec<Packet>) -> Input<Packet, Datagram<Packet>> {
    Input::Outer(Datagram { header: TunnelHeader { number, ends_burst }, packets })
}

#[test]
fn a_full_burst_leaves_at_its_last_packet() {
    let inputs = each_ms((0..10).map(|number| data(0, number)));
    let got = sent(of_five(), TunnelEnd::Client, &inputs, 1_000);
    let one = |millis: u64, number: u32| (millis * 1_000, vec![number], number % 5 == 4);
    assert_eq!(got, (0..10).map(|n| one(if n < 5 { 4 } else { 9 }, n)).collect::<Vec<_>>());
}

#[test]
fn what_fills_no_burst_leaves_at_the_time_out_of_the_first() {
    let inputs = each_ms([data(0, 0), data(0, 1)]);
    let got = sent(of_five(), TunnelEnd::Client, &inputs, 1_000);
    assert_eq!(got, [(20_000, vec![0], false), (20_000, vec![1], true)]);
    let hold = TunnelConfig { hold: Some(Span::from_millis(7)), ..of_five() };
    assert_eq!(sent(hold, TunnelEnd::Client, &inputs, 1_000)[0].0, 7_000);
    // With a budget of 3 ms no packet waits for longer than 6 ms, though the mean may be 3.
    let budget = TunnelConfig { delay_budget: Some(Span::from_millis(3)), ..of_five() };
    assert_eq!(tunnel(budget, TunnelEnd::Client).size.hold(), Span::from_millis(6));
}

#[test]
fn small_packets_share_a_datagram_and_are_not_behind_bulk() {
    let inputs = each_ms([data(0, 0), ack(1, 1), data(0, 2), ack(2, 3), ack(3, 4)]);
    let got = sent(of_five(), TunnelEnd::Client, &inputs, 1_000);
    assert_eq!(got, [(4_000, vec![1, 3, 4], false), (4_000, vec![0], false), (4_000, vec![2], true)]);
    let one_each = || Tunnel::new(of_five(), TunnelEnd::Client, Plain::new(0));
    let datagrams = check_machine(one_each, &inputs, at(100)).len();
    assert_eq!(datagrams, 5);
}

#[test]
fn flows_take_turns_by_bytes() {
    let mut queues = FlowQueues::new(1 << 20);
    (0..4).for_each(|number| assert_eq!(queues.push(data(0, number), at(0)), None));
    (0..10).for_each(|number| {
        assert_eq!(queues.push(Packet { flow: 1, number: 10 + number, bytes: 500 }, at(0)), None)
    });
    let order: Vec<_> = std::iter::from_fn(|| queues.pop()).map(|(packet, _)| packet).collect();
    assert_eq!(order.len(), 14);
    // While both have packets, neither is ahead by more than a packet and a quantum.
    let (mut bytes, mut ahead) = ([0_i64; 2], 0);
    for packet in &order[..12] {
        bytes[usize::from(packet.flow)] += i64::from(packet.bytes);
        ahead = ahead.max((bytes[0] - bytes[1]).abs());
    }
    assert!(ahead <= 1_500 + i64::from(queue::QUANTUM), "{ahead} bytes");
    assert!(queues.is_empty() && queues.pop().is_none());
}

#[test]
fn a_full_queue_drops_of_the_flow_with_the_most_bytes() {
    let mut queues = FlowQueues::new(4_000);
    assert_eq!(queues.push(data(0, 0), at(0)), None);
    assert_eq!(queues.push(data(0, 1), at(0)), None);
    assert_eq!(queues.push(ack(1, 2), at(0)), None);
    assert_eq!(queues.push(data(2, 3), at(0)), Some(data(0, 0)));
    assert_eq!(queues.len(), 3);
}

#[test]
fn an_acknowledgement_takes_the_place_of_an_earlier_one_if_asked_to() {
    let inputs = each_ms([ack(0, 1), ack(1, 2), ack(0, 3), data(0, 4), ack(0, 5), data(0, 6)]);
    let thin = TunnelConfig { thin_acks: true, ..of_five() };
    let got = sent(thin, TunnelEnd::Client, &inputs, 1_000);
    // 3 takes the place of 1; 5 does not overtake the data before it.
    let packets: Vec<_> = got.iter().map(|(_, packets, _)| packets.clone()).collect();
    assert_eq!(packets, [vec![3, 2], vec![4], vec![5], vec![6]]);
    let outputs = check_machine(|| tunnel(thin, TunnelEnd::Client), &inputs, at(100));
    assert!(outputs.contains(&(at(2), Output::Dropped(ack(0, 1), DropReason::Superseded))));
    let all = sent(of_five(), TunnelEnd::Client, &inputs, 1_000);
    assert_eq!(all.iter().map(|(_, packets, _)| packets.len()).sum::<usize>(), 6);
}

#[test]
fn the_end_of_the_peers_burst_releases_what_is_held() {
    let mut inputs = each_ms([data(0, 0)]);
    inputs.push((at(3), from_peer(0, false, vec![data(9, 100)])));
    inputs.push((at(4), from_peer(1, true, vec![data(9, 101)])));
    // The host acknowledges both at once.
    inputs.push((at(4), Input::Inner(ack(9, 1))));
    let got = sent(of_five(), TunnelEnd::Concentrator, &inputs, 1_000);
    assert_eq!(got, [(4_200, vec![1], false), (4_200, vec![0], true)]);
    let silent = TunnelConfig { answer: false, ..of_five() };
    assert_eq!(sent(silent, TunnelEnd::Concentrator, &inputs, 1_000)[0].0, 20_000);
}

#[test]
fn what_is_held_leaves_while_the_radio_is_awake() {
    let inputs = vec![(at(0), Input::Inner(data(0, 0))), (at(2), Input::Awake)];
    assert_eq!(sent(of_five(), TunnelEnd::Client, &inputs, 1_000)[0].0, 2_000);
}

/// 300 packets/s at a budget of 10 ms: 2RD is 6, so that bursts have 6 packets once the rate is known.
#[test]
fn bursts_grow_with_the_rate_as_the_delay_budget_permits() {
    let config = TunnelConfig { delay_budget: Some(Span::from_millis(10)), ..TunnelConfig::default() };
    let mut tunnel = tunnel(config, TunnelEnd::Concentrator);
    assert_eq!(tunnel.burst_packets(), 1);
    for number in 0..3_000 {
        let now = Instant::ZERO + Span::from_nanos(u64::from(number) * 10_000_000 / 3);
        while let Some(Timeout { at, .. }) = tunnel.poll_timeout().filter(|timeout| timeout.at <= now) {
            tunnel.handle_timeout(at);
        }
        tunnel.handle_input(Input::Inner(data(0, number)), now);
        while tunnel.poll_output().is_some() {}
    }
    assert_eq!(tunnel.burst_packets(), 6);
    let counts = tunnel.counts();
    assert_eq!(counts.packets + tunnel.held_packets() as u64, 3_000);
    let mean = counts.held.as_secs_f64() / counts.packets as f64;
    assert!(mean <= 0.010, "mean delay {mean} s");
    assert!(counts.held_longest <= Span::from_millis(20));
    // The stated number is an upper bound.
    let two = TunnelConfig { burst: Some(2), ..config };
    assert!(BurstSize::new(&two).packets() <= 2);
}

/// A download of 300 packets/s in bursts of 5: one trigger for each burst. A burst comes in answer to it.
#[test]
fn a_client_triggers_at_the_interval_of_the_peers_bursts_and_never_when_idle() {
    let mut inputs: Inputs = Vec::new();
    for burst in 0..300_u32 {
        let time = Instant::ZERO + Span::from_nanos(u64::from(burst) * 50_000_000 / 3);
        inputs.push((time, from_peer(burst, true, (0..5).map(|n| data(0, 5 * burst + n)).collect())));
    }
    let got = sent(of_five(), TunnelEnd::Client, &inputs, 3_600_000);
    assert!(got.iter().all(|(_, packets, _)| packets.is_empty()));
    let of_last_second = got.iter().filter(|(micros, ..)| (4_000_000..5_000_000).contains(micros)).count();
    assert!((58..=62).contains(&of_last_second), "{of_last_second} triggers");
    let last = got.last().unwrap().0;
    assert!(last < 7_000_000, "an hour passes in silence after the last packet; got a trigger at {last} us");
    assert_eq!(
        sent(of_five(), TunnelEnd::Concentrator, &inputs, 3_600_000),
        [],
        "the access point needs no triggers"
    );
    let without = TunnelConfig { triggers: false, ..of_five() };
    assert_eq!(sent(without, TunnelEnd::Client, &inputs, 3_600_000), [], "they can be turned off");
}

#[test]
fn an_uplink_that_is_as_fast_leaves_no_triggers() {
    let mut inputs: Inputs = Vec::new();
    for number in 0..1_000_u32 {
        let time = Instant::ZERO + Span::from_nanos(u64::from(number) * 10_000_000 / 3);
        inputs.push((time, Input::Inner(data(0, number))));
        if number % 5 == 4 {
            inputs.push((time, from_peer(number / 5, true, (0..5).map(|n| data(1, n)).collect())));
        }
    }
    let got = sent(TunnelConfig { answer: false, ..of_five() }, TunnelEnd::Client, &inputs, 3_333);
    assert!(got.iter().all(|(_, packets, _)| packets.len() == 1), "no trigger");
    let ends: Vec<bool> = got.iter().map(|(.., ends_burst)| *ends_burst).collect();
    assert_eq!(ends, (0..1_000).map(|number| number % 5 == 4).collect::<Vec<_>>(), "whole bursts");
}

/// A trickle of packets up beside a fast download: a packet that is held when a trigger is due leaves a quarter of the
/// interval later in place of it, and not at its time-out.
#[test]
fn a_held_packet_takes_the_place_of_a_trigger() {
    let mut inputs: Inputs = Vec::new();
    for burst in 0..300_u32 {
        let time = Instant::ZERO + Span::from_nanos(u64::from(burst) * 50_000_000 / 3);
        inputs.push((time, from_peer(burst, true, (0..5).map(|n| data(0, n)).collect())));
    }
    inputs.push((at(4_995), Input::Inner(data(1, 7))));
    let config = TunnelConfig { answer: false, hold: Some(Span::from_secs(2)), ..of_five() };
    let got = sent(config, TunnelEnd::Client, &inputs, 8_000);
    let of_packet = got.iter().find(|(_, packets, _)| packets == &[7]).unwrap().0;
    let before = got.iter().rfind(|(time, ..)| *time < of_packet).unwrap().0;
    // The interval is 16.7 ms.
    assert!((20_000..22_000).contains(&(of_packet - before)), "{before} and {of_packet} us");
}

#[test]
fn an_idle_tunnel_never_wakes_up_unless_it_keeps_mappings_alive() {
    for end in [TunnelEnd::Client, TunnelEnd::Concentrator] {
        assert_eq!(tunnel(TunnelConfig::default(), end).poll_timeout(), None);
        let after_one = each_ms([data(0, 0)]);
        assert_eq!(sent(of_five(), end, &after_one, 3_600_000).len(), 1);
    }
    let keep = TunnelConfig { keep_alive: Some(Span::from_secs(25)), ..of_five() };
    // The packet itself, and one each 25 s after it until 3,600 s: floor(3599.98 / 25).
    assert_eq!(sent(keep, TunnelEnd::Client, &each_ms([data(0, 0)]), 3_600_000).len(), 1 + 143);
    // A client that sends nothing can be reached all the same; a concentrator waits for its clients.
    assert_eq!(sent(keep, TunnelEnd::Client, &each_ms([]), 3_600_000).len(), 144);
    assert_eq!(tunnel(keep, TunnelEnd::Concentrator).poll_timeout(), None);
}

#[test]
fn numbers_count_what_was_lost() {
    let mut plain: Plain<Packet> = Plain::new(0);
    let receive = |plain: &mut Plain<Packet>, number: u32| {
        let datagram = Datagram { header: TunnelHeader { number, ends_burst: false }, packets: vec![] };
        plain.receive(datagram, at(0));
        plain.lost()
    };
    assert_eq!(receive(&mut plain, 7), 0, "the first one that is seen");
    assert_eq!(receive(&mut plain, 8), 0);
    assert_eq!(receive(&mut plain, 11), 2);
    assert_eq!(receive(&mut plain, 9), 1, "late, but not lost");
    assert_eq!(receive(&mut plain, 9), 1, "twice");
    assert_eq!(receive(&mut plain, wire::NUMBERS - 1), 1, "from before the first");
    assert_eq!(receive(&mut plain, 12), 1);
    assert_eq!(receive(&mut plain, 0), 1, "the peer began anew");
    assert_eq!(receive(&mut plain, 1), 1);
    assert_eq!(receive(&mut plain, 10), 9, "8 of the new beginning, beside the 10 of before");
}

/// A peer that begins anew after a long time, and whose first datagrams are lost.
#[test]
fn a_peer_that_begins_anew_has_lost_nothing() {
    for before in [100_000, wire::NUMBERS / 2 - 1, wire::NUMBERS / 2 + 1, wire::NUMBERS - 100_000] {
        let mut plain: Plain<Packet> = Plain::new(0);
        for number in [before, 0, 1, 3].into_iter().chain([before, 2, 4]) {
            let header = TunnelHeader { number, ends_burst: false };
            plain.receive(Datagram { header, packets: vec![] }, at(0));
        }
        assert_eq!(plain.lost(), 2, "one of each beginning, {before}");
    }
}

/// A path that reorders every datagram within 50 loses none of them.
#[test]
fn overtaken_datagrams_are_not_lost() {
    let mut plain: Plain<Packet> = Plain::new(0);
    let mut receive = |number: u32| {
        let header = TunnelHeader { number: number % wire::NUMBERS, ends_burst: false };
        plain.receive(Datagram { header, packets: vec![] }, at(0));
        plain.lost()
    };
    receive(0);
    for block in 0..wire::NUMBERS / 50 + 10 {
        let lost = (1..=50).rev().map(|place| receive(block * 50 + place)).last();
        assert_eq!(lost, Some(0), "block {block}");
    }
}

#[test]
fn settings_outside_their_range_are_refused() {
    use airwatt_base::settings::Settings;
    let refused = |config: TunnelConfig| config.check().unwrap_err().key().to_owned();
    let none = TunnelConfig::default();
    assert_eq!(none.check(), Ok(()));
    assert_eq!(refused(TunnelConfig { burst: Some(0), ..none }), "burst");
    assert_eq!(refused(TunnelConfig { burst: Some(65), ..none }), "burst");
    assert_eq!(refused(TunnelConfig { delay_budget: Some(Span::ZERO), ..none }), "delay_budget");
    assert_eq!(refused(TunnelConfig { hold: Some(Span::from_secs(3)), ..none }), "hold");
    assert_eq!(refused(TunnelConfig { keep_alive: Some(MS), ..none }), "keep_alive");
    assert_eq!(refused(TunnelConfig { bundle: Size::from_bytes(1 << 20), ..none }), "bundle");
}

proptest! {
    /// Whatever comes when, the machine keeps the contract, no packet is lost or doubled, none is held for longer than its
    /// time-out, and flows keep their order.
    #[test]
    fn packets_leave_once_in_order_and_in_time(
        steps in prop::collection::vec((0_u64..12_000, 0_u16..4, prop::bool::ANY, 0_u8..8), 1..120),
        burst in 1_u32..8,
        budget in prop::option::of(1_u64..20),
    ) {
        let config = TunnelConfig {
            burst: Some(burst),
            delay_budget: budget.map(Span::from_millis),
            ..TunnelConfig::default()
        };
        let (mut now, mut inputs, mut handed) = (Instant::ZERO, Inputs::new(), Vec::new());
        for (number, (micros, flow, small, kind)) in (0..).zip(steps) {
            now += Span::from_micros(micros);
            let packet = Packet { flow, number, bytes: if small { 40 } else { 1_500 } };
            inputs.push((now, match kind {
                0 => Input::Awake,
                1 => from_peer(number, small, vec![data(9, 0)]),
                _ => {
                    handed.push((now, packet));
                    Input::Inner(packet)
                }
            }));
        }
        let outputs = check_machine(|| tunnel(config, TunnelEnd::Client), &inputs, now + Span::from_secs(60));
        let mut left: Vec<(Instant, Packet)> = Vec::new();
        for (at, output) in &outputs {
            if let Output::Transmit(Datagram { packets, .. }) = output {
                prop_assert!(packets.len() <= 1 || packets.iter().map(|packet| packet.bytes).sum::<u32>() <= 1_436);
                left.extend(packets.iter().map(|packet| (*at, *packet)));
            }
        }
        prop_assert_eq!(left.len(), handed.len());
        for flow in 0..4 {
            let of = |list: &[(Instant, Packet)]| {
                list.iter().map(|(_, packet)| *packet).filter(|packet| packet.flow == flow).collect::<Vec<_>>()
            };
            prop_assert_eq!(of(&left), of(&handed));
        }
        for (at, packet) in &left {
            let (since, _) = handed.iter().find(|(_, other)| other == packet).unwrap();
            prop_assert!(*at <= *since + config.hold_time(), "{:?} held from {:?} to {:?}", packet, since, at);
        }
    }
}

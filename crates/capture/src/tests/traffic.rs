//! What a replay charges: each flow and each peer for its packets, and group-addressed packets.

use airwatt_energy::{Radio, RadioState};
use airwatt_sim::replay::Destination;

use super::*;

const NEIGHBOUR: [u8; 6] = [2, 0, 0, 0, 0, 9];

/// An ARP request from this MAC address to all.
fn arp(source: [u8; 6]) -> Vec<u8> {
    [&[0xff; 6][..], &source, &[0x08, 0x06], &[0; 46]].concat()
}

/// 20 s of a station's exchanges with two peers, one of which has two flows, with an ARP request of a neighbour every 100 ms and one of
/// the station each second.
fn mixed() -> Capture {
    let mut file = File::new(1);
    for step in 0..200_u64 {
        let at = 100_000 * step;
        file = file.packet(at, &arp(NEIGHBOUR));
        let up = |peer, port, bytes| ethernet(0x0800, &udp(A, peer, (port, 443), bytes));
        match step % 10 {
            0 => file = file.packet(at + 1_000, &arp(STATION.0)),
            2 => file = file.packet(at + 20_000, &up(B, 5_000, 1_000)),
            4 => file = file.packet(at + 30_000, &up(B, 5_001, 400)),
            6 => file = file.packet(at + 40_000, &up([198, 51, 100, 7], 5_000, 200)),
            _ => {}
        }
    }
    file.read()
}

fn analysed(capture: &Capture, settings: &[(&str, &str)]) -> report::Analysis {
    analysed_under(capture, ["active", "psm"], settings)
}

fn analysed_under(capture: &Capture, policies: [&str; 2], settings: &[(&str, &str)]) -> report::Analysis {
    let settings: Vec<(String, String)> =
        settings.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let policies = policies.map(str::to_owned);
    let question = Question {
        policies: &policies,
        settings: &settings,
        station: Some("192.168.1.2"),
        ..Question::default()
    };
    analyze_capture(capture, &question, &mut |_| ControlFlow::Continue(())).unwrap()
}

#[test]
fn energy_is_divided_by_flow_and_by_peer() {
    let document = analysed(&mixed(), &[]);
    let flows: Vec<_> = document.flows.iter().map(|flow| (flow.id, flow.peer.as_deref().unwrap())).collect();
    assert_eq!(flows, [(0, "198.51.100.1"), (1, "198.51.100.1"), (2, "198.51.100.7")]);
    for policy in &document.policies {
        let flow = &policy.energy_by_cause_j.flow;
        // The last one stands for the station's ARP requests.
        assert_eq!(flow.keys().copied().collect::<Vec<_>>(), [0, 1, 2, 3], "{}", policy.policy);
        assert!(flow[&0] > flow[&1] && flow[&1] > flow[&2], "{}: {flow:?}", policy.policy);
        assert!(policy.timeout_tail_by_flow_j.is_empty(), "{}", policy.policy);
        let peer = &policy.energy_by_peer_j;
        let share = |one: f64, other: f64| (one / other - 1.0).abs();
        assert!(share(peer["198.51.100.1"], flow[&0] + flow[&1]) < 1e-12);
        assert!(share(peer["198.51.100.7"], flow[&2]) < 1e-12);
        assert!(share(peer["others"], flow[&3]) < 1e-12);
        assert!(share(peer.values().sum(), policy.energy_j) < 1e-12);
    }
}

/// 10 packets each 20 ms, which cut the tails short, then one each second of another flow, to another peer.
#[test]
fn tails_are_divided_by_the_flow_and_the_peer_before_them() {
    let up = |peer| ethernet(0x0800, &udp(A, peer, (5_000, 443), 1_000));
    let mut file = File::new(1);
    for step in 0..10 {
        file = file.packet(20_000 * step, &up(B));
    }
    for step in 1..=10 {
        file = file.packet(1_000_000 * step, &up([198, 51, 100, 7]));
    }
    // One packet at the end, whose tail is whole too.
    let document =
        analysed_under(&file.packet(12_000_000, &up(B)).read(), ["timeout:timeout=50ms", "psm"], &[]);
    let [timeout, psm] = &document.policies[..] else { panic!("two policies") };
    let tails = &timeout.timeout_tail_by_flow_j;
    let radio = Radio::find(document.radio.as_deref().unwrap()).unwrap();
    let second = radio.power(RadioState::Listen) * Span::from_secs(1);
    let seconds = |flow: u32| tails[&flow] / second.as_joules();
    assert_eq!(tails.keys().copied().collect::<Vec<_>>(), [0, 1]);
    assert!((0.49..0.501).contains(&seconds(1)), "10 tails of 50 ms: {} s", seconds(1));
    assert!((0.26..0.281).contains(&seconds(0)), "9 gaps of 20 ms and two tails of 50 ms: {} s", seconds(0));
    assert!((tails.values().sum::<f64>() / timeout.energy_by_cause_j.timeout_tail - 1.0).abs() < 1e-12);
    let by_peer: Vec<_> = timeout.timeout_tail_by_peer_j.iter().collect();
    let [(first, first_j), (other, other_j)] = by_peer[..] else { panic!("{by_peer:?}") };
    assert_eq!((first.as_str(), other.as_str()), ("198.51.100.1", "198.51.100.7"));
    let equal = |one: f64, other: f64| (one / other - 1.0).abs() < 1e-12;
    assert!(equal(*first_j, tails[&0]) && equal(*other_j, tails[&1]), "{by_peer:?}");
    assert!(psm.timeout_tail_by_flow_j.is_empty() && psm.timeout_tail_by_peer_j.is_empty());
}

/// A TCP segment with ACK alone, as an IPv4 packet.
fn segment(
    source: [u8; 4],
    destination: [u8; 4],
    ports: (u16, u16),
    numbers: (u32, u32),
    payload: u16,
) -> Vec<u8> {
    let mut bytes = vec![0x45, 0];
    bytes.extend_from_slice(&(40 + payload).to_be_bytes());
    bytes.extend_from_slice(&[0, 0, 0, 0, 64, 6, 0, 0]);
    bytes.extend([source, destination].concat());
    bytes.extend([ports.0.to_be_bytes(), ports.1.to_be_bytes()].concat());
    bytes.extend([numbers.0.to_be_bytes(), numbers.1.to_be_bytes()].concat());
    bytes.extend_from_slice(&[0x50, 0x10, 0x20, 0, 0, 0, 0, 0]);
    bytes.resize(bytes.len() + usize::from(payload), 0);
    bytes
}

/// Reports up that are acknowledged: nobody waits for an acknowledgement alone, as of a flow of a scenario, and for an answer somebody does.
#[test]
fn a_delay_is_that_of_packets_with_data() {
    let mean_s = |answer: u16| {
        let mut file = File::new(1);
        for second in 0..20u32 {
            let (up, down) = (1_000 + 60 * second, 5_000 + u32::from(answer) * second);
            let (report, reply) = (
                segment(A, B, (51_000, 1_883), (up, down), 60),
                segment(B, A, (1_883, 51_000), (down, up + 60), answer),
            );
            let at = 1_000_000 * u64::from(second);
            file = file.packet(at, &ethernet(0x0800, &report)).packet(at + 30_000, &ethernet(0x0800, &reply));
        }
        analysed(&file.read(), &[]).policies[1].added_delay_s.unwrap().mean
    };
    assert!(mean_s(0) < 1e-3, "{} s", mean_s(0));
    assert!(mean_s(10) > 0.01, "{} s", mean_s(10));
}

#[test]
fn group_addressed_packets_are_part_of_the_replay() {
    let capture = mixed();
    let station = Station::parse("192.168.1.2").unwrap();
    let arrivals = &replay::arrivals(&capture, &station)[0].arrivals;
    let groups = arrivals.iter().filter(|arrival| arrival.to == Destination::Group);
    assert_eq!(groups.map(|arrival| arrival.bytes).collect::<Vec<_>>(), [46; 220]);
    let group_j = |settings: &[(&str, &str)]| {
        let document = analysed(&capture, settings);
        assert!(document.policies.iter().all(|policy| (policy.packets, policy.lost) == (80, 0)));
        let [active, psm] = &document.policies[..] else { panic!("two policies") };
        (active.energy_by_cause_j.group, psm.energy_by_cause_j.group)
    };
    let (awake_j, each_j) = group_j(&[]);
    assert!(awake_j > 0.0 && (each_j / awake_j - 1.0).abs() < 0.2, "{each_j} of {awake_j} J");
    let (_, tenth_j) = group_j(&[("station.listen_interval", "10")]);
    assert!((0.05..0.25).contains(&(tenth_j / each_j)), "{tenth_j} of {each_j} J");
    // The DTIM period has an effect, since the frames wait for DTIM beacons.
    let (_, third_j) = group_j(&[("ap.dtim_period", "3")]);
    assert!((0.7..1.2).contains(&(third_j / each_j)), "{third_j} of {each_j} J");
}

/// The station's own ARP request and mDNS query go to the access point, which relays them to the cell after it has received them.
#[test]
fn own_group_addressed_packets_go_up_and_are_relayed() {
    let mut query = ethernet(0x0800, &udp(A, [224, 0, 0, 251], (5353, 5353), 60));
    query[..6].copy_from_slice(&[1, 0, 0x5e, 0, 0, 0xfb]);
    query[6..12].copy_from_slice(&STATION.0);
    let up = ethernet(0x0800, &udp(A, B, (5_000, 443), 100));
    // Before it has an address, a host asks for one.
    let mut discover = ethernet(0x0800, &udp([0; 4], [255; 4], (68, 67), 250));
    discover[..6].fill(0xff);
    let capture = File::new(1)
        .packet(0, &up)
        .packet(1_000_000, &arp(STATION.0))
        .packet(2_000_000, &query)
        .packet(3_000_000, &discover)
        .read();
    let station = Station::parse("192.168.1.2").unwrap();
    let arrivals = &replay::arrivals(&capture, &station)[0].arrivals;
    let list: Vec<_> = arrivals.iter().map(|one| (one.to, one.bytes, one.after, one.flow)).collect();
    let query_bytes = 20 + 8 + 60;
    assert_eq!(
        list,
        [
            (Destination::AccessPoint, 20 + 8 + 100, None, 0),
            // An ARP packet belongs to none of the two flows.
            (Destination::AccessPoint, 46, None, 2),
            (Destination::Group, 46, Some(1), 0),
            (Destination::AccessPoint, query_bytes, None, 1),
            (Destination::Group, query_bytes, Some(3), 0),
            (Destination::AccessPoint, 278, None, 2),
            (Destination::Group, 278, Some(5), 0),
        ]
    );
    let (list, _) = flows::flows(&capture, Some(&station));
    assert_eq!(list[1].peer.unwrap().to_string(), "224.0.0.251:5353");
}

/// In an 802.11 capture the relayed frame is there, or the access point did not relay it.
#[test]
fn relayed_frames_are_those_that_were_captured() {
    let sent = frame(FrameKind::Data, true, |header| header.address3 = Some(MacAddress::BROADCAST));
    let relayed = frame(FrameKind::Data, false, |header| {
        (header.address1, header.address3) = (MacAddress::BROADCAST, Some(STATION));
    });
    let destinations = |frames: &[&Vec<u8>]| {
        let file = frames
            .iter()
            .zip(0..)
            .fold(File::new(127), |file, (frame, place): (_, u64)| file.packet(100_000 * place, frame));
        let arrivals = replay::arrivals(&file.read(), &Station::Mac(STATION));
        arrivals[0].arrivals.iter().map(|arrival| arrival.to).collect::<Vec<_>>()
    };
    assert_eq!(destinations(&[&sent]), [Destination::AccessPoint]);
    assert_eq!(destinations(&[&sent, &relayed]), [Destination::AccessPoint, Destination::Group]);
}

#[test]
fn frames_that_cannot_be_read_are_a_flow_for_each_pair_of_addresses() {
    let encrypted = frame(FrameKind::Data, true, |header| header.control.protected = true);
    let capture = File::new(127).packet(0, &encrypted).packet(100_000, &encrypted).read();
    let (list, bytes) = flows::flows(&capture, Some(&Station::Mac(STATION)));
    let [flow] = &list[..] else { panic!("{list:?}") };
    assert_eq!((flow.protocol_name().as_str(), flow.forward.packets), ("unread", 2));
    assert_eq!((flow.bytes(), flow.peer.unwrap().to_string()), (bytes.encrypted, AP.to_string()));
}

#[test]
fn the_cell_of_the_replays_follows_the_settings() {
    let settings = [
        ("ap.beacon_interval", "200ms"),
        ("ap.dtim_period", "4"),
        ("station.listen_interval", "\"dtim\""),
        ("wifi.beacon_rate", "6Mbps"),
    ];
    let cell = analysed(&mixed(), &settings).cell.unwrap();
    assert_eq!((cell.beacon_interval_s, cell.beacon_rate_bps), (0.2, 6e6));
    assert_eq!((cell.listen_interval, cell.dtim_period), (4, 4));
}

/// Two frames are fetched after a beacon with the bit; the beacon before it had none, so that they came between it and their fetch.
#[test]
fn frames_that_waited_came_before_they_were_fetched() {
    let frames = [
        (0, null(true)),
        // It tells the association identifier.
        (1, poll()),
        (100, beacon(&[])),
        (202, beacon(&[1])),
        (203, poll()),
        (204, data(1, true)),
        (205, poll()),
        (206, data(2, false)),
        (300, null(false)),
        (350, data(3, false)),
    ];
    let segments = replay::arrivals(&ladder(&frames), &Station::Mac(STATION));
    let times: Vec<u64> =
        segments[0].arrivals.iter().map(|arrival| arrival.at.as_nanos() / 1_000_000).collect();
    // A third and two thirds of the 106 ms; the third frame found the station in active mode.
    assert_eq!(times, [135, 170, 350]);
}

//! Networks beyond what the short form of a scenario describes.

use super::*;
use crate::media::cell::CellMedium;
use crate::packet::NO_FLOW;
use crate::route::Address;
use crate::scenario::Scenario;
use crate::stack::program::TunnelCounts;

fn plan(keys: &str) -> NetworkPlan {
    let text = format!("base = \"fast-dsl\"\n{keys}");
    let scenario = Scenario::from_text(&text, "network", &[]).unwrap_or_else(|error| panic!("{error}"));
    NetworkPlan::new(&scenario.ready().unwrap(), 1)
}

fn run(network: &mut Network) -> RunEnding {
    network.run(&mut |_| ControlFlow::Continue(()))
}

fn cell(network: &Network, medium: MediumId) -> &CellMedium {
    match &network.media[usize::from(medium)].medium {
        Medium::Cell(cell) => cell,
        other => panic!("{other:?}"),
    }
}

/// ```text
/// server ---- access-point ~~~~ station0 ~~~~ phone
///                        (a cell)    (another cell)
/// ```
/// Station 0 is a station of the first cell and the access point of the second; `ends` has the ends of the flow. `radio` is that of
/// station 0 as an access point, and `channel` that of both cells, if they have one.
fn relayed(ends: &str, channel: &str, radio: &str) -> NetworkPlan {
    plan(&format!(
        "wifi = {{ base = \"fast-wifi\"{channel} }}
        node = [{{ name = \"phone\" }}]
        cell = [{{ name = \"extension\", wifi = {{ base = \"fast-wifi\"{channel} }}, access_point = {{ node = \"station0\"{radio} }}, station = [{{ node = \"phone\" }}] }}]
        flow = [{{ {ends}, application = {{ kind = \"bulk\", size = \"300kB\" }} }}]"
    ))
}

const DOWN: &str = "from = \"server\", to = \"phone\"";
const UP: &str = "from = \"phone\", to = \"server\"";

fn node(plan: &NetworkPlan, name: &str) -> NodeId {
    plan.nodes.iter().position(|node| node.name == name).unwrap() as NodeId
}

#[test]
fn a_station_that_is_an_access_point_relays() {
    for ends in [DOWN, UP] {
        let mut network = Network::new(relayed(ends, "", ""), 1);
        assert_eq!(run(&mut network), RunEnding::Complete);
        assert_eq!(network.records[0].delivered(), 300_000, "{ends}");
        assert_eq!(network.plan.stations().count(), 2);
        let [first, second] = [0, 1].map(|medium| cell(&network, medium).statistics().frames);
        // 208 segments and at least half as many acknowledgements cross both cells.
        assert!(first > 300 && second > 300, "{ends}: {first} and {second} frames");
        assert!(first.abs_diff(second) < 60, "{ends}: {first} and {second} frames");
    }
}

#[test]
fn a_gateway_is_passed_on_the_way_to_another_cell() {
    let ends = format!("{DOWN}, transport = \"split\"");
    let mut network = Network::new(relayed(&ends, "", ""), 1);
    assert_eq!(run(&mut network), RunEnding::Complete);
    let record = &network.records[0];
    assert_eq!(record.delivered(), 300_000);
    // Bytes and latencies count from the gateway: without the 10 ms of the wire.
    assert!(record.latency / record.packets_arrived < Span::from_millis(10), "{record:?}");
}

/// External hosts in both cells reach each other by the routes of the nodes between them, and every ticket comes back.
#[test]
fn external_hosts_reach_each_other_over_two_cells() {
    let mut plan = relayed(DOWN, "", "");
    plan.flows.clear();
    let (server, phone) = (plan.server(), node(&plan, "phone"));
    plan.nodes[usize::from(server)].external = true;
    plan.nodes[usize::from(phone)].external = true;
    let mut network = Network::new(plan, 1);
    let down = network.inject(server, phone, &[1; 1_000]);
    let up = network.inject(phone, server, &[2; 100]);
    network.serve_until(Instant::from_millis(100));
    let mut arrived: Vec<_> = std::iter::from_fn(|| network.poll_delivery()).collect();
    arrived.sort_by_key(|delivery| delivery.node);
    let found: Vec<_> =
        arrived.iter().map(|delivery| (delivery.node, delivery.ticket, delivery.arrived)).collect();
    assert_eq!(found, [(server, up, true), (phone, down, true)]);
    assert_eq!(network.store.live(), 2);
    arrived.iter().for_each(|delivery| network.free(delivery.ticket));
    assert_eq!(network.store.live(), 0);
}

#[test]
fn a_lost_packet_frees_what_it_carries_and_counts_for_its_flows() {
    let mut network = Network::new(
        plan("flow = [{ direction = \"down\", application = { kind = \"bulk\", size = \"1kB\" } }]"),
        1,
    );
    let ack = Payload::Tcp(tcp::Segment {
        seq: airwatt_base::Seq::new(0),
        ack: airwatt_base::Seq::new(1),
        window: 1_000,
        len: 0,
        flags: tcp::Flags::ACK,
        ecn: tcp::Ecn::NONE,
        sack: tcp::SackBlocks::NONE,
        timestamps: None,
    });
    let inner = Packet { payload: ack, ..Packet::datagram(0, 40, Instant::ZERO) };
    let ticket = network.store.put_packets(vec![inner, inner]);
    let header = airwatt_proto::tunnel::TunnelHeader { number: 0, ends_burst: true };
    let payload = Payload::Carried(ticket, header);
    network.lose(&Packet { payload, flow: NO_FLOW, ..Packet::datagram(0, 120, Instant::ZERO) });
    assert_eq!(network.records[0].acks_lost, 2);
    assert_eq!(network.store.live(), 0);
}

#[test]
fn a_packet_to_a_closed_port_or_without_a_route_is_lost() {
    let mut network = Network::new(
        plan("flow = [{ direction = \"down\", application = { kind = \"bulk\", size = \"1kB\" } }]"),
        1,
    );
    let server = network.plan.server();
    // The flow of the socket that sent it counts the loss, not that of its label.
    let src = Address(server);
    let [sport, dport] = [network.sockets[0].local.port, network.sockets[0].remote.port];
    let closed = Packet { src, sport, dport, flow: 7, ..Packet::datagram(0, 40, Instant::ZERO) };
    network.arrive(server, &Packet { dst: Address(server), ..closed });
    assert_eq!(network.records[0].packets_lost, 1);
    let isolated = network.plan.nodes.len() as NodeId;
    let mut plan = network.plan.clone();
    plan.nodes.push(plan::NodePlan {
        name: "isolated".to_owned(),
        external: false,
        forwards: false,
        host: None,
    });
    let mut network = Network::new(plan, 1);
    network.forward(isolated, &closed);
    assert_eq!(network.records[0].packets_lost, 1);
}

/// ```text
/// server ---- access-point ~~~~ station0 ~~~~ phone      (one channel; station0 has one radio)
/// ```
#[test]
fn a_station_relays_on_one_channel() {
    let keys = "flow = [{ direction = \"down\", application = { kind = \"bulk\", size = \"300kB\" } }]";
    let mut direct = Network::new(plan(keys), 1);
    assert_eq!(run(&mut direct), RunEnding::Complete);
    let mut network = Network::new(relayed(DOWN, ", channel = \"1\"", ", radio = \"shared\""), 1);
    assert_eq!(run(&mut network), RunEnding::Complete);
    assert_eq!(network.records[0].delivered(), 300_000);
    // Each packet is on the air twice, and the relay transmits data while it has none of its own.
    let [once, twice] = [&direct, &network].map(|network| cell(network, 0).statistics().frames as f64);
    assert!((1.8..2.2).contains(&(twice / once)), "{once} and {twice} frames");
    let transmitted =
        |network: &Network| cell(network, 0).ledger(0).duration(airwatt_energy::RadioState::Transmit);
    assert!(transmitted(&network) > transmitted(&direct) * 3);
}

/// Two access points in range of each other: both downloads come to their end, in more time than one of them alone.
#[test]
fn two_access_points_share_a_channel() {
    let completed = |flows: &str| {
        let mut network = Network::new(
            plan(&format!(
                "wired = {{ rtt = \"2ms\", down = {{ rate = \"100Mbps\" }}, up = {{ rate = \"100Mbps\" }} }}
                wifi = {{ base = \"fast-wifi\", channel = \"1\" }}
                node = [{{ name = \"ap2\" }}, {{ name = \"neighbour\" }}]
                cell = [{{ name = \"next-door\", wifi = \"fast-wifi\", channel = \"1\", access_point = {{ node = \"ap2\" }}, station = [{{ node = \"neighbour\" }}] }}]
                flow = [{{ from = \"server\", to = \"station0\", application = {{ kind = \"bulk\", size = \"2MB\" }} }}{flows}]"
            )),
            1,
        );
        assert_eq!(run(&mut network), RunEnding::Complete);
        assert!(network.records.iter().all(|record| record.delivered() == 2_000_000));
        network.records[0].completed.unwrap()
    };
    let alone = completed("");
    let together = completed(
        ", { from = \"ap2\", to = \"neighbour\", application = { kind = \"bulk\", size = \"2MB\" } }",
    );
    assert!(together.as_secs_f64() > 1.4 * alone.as_secs_f64(), "{alone:?} and {together:?}");
}

/// ```text
/// a ~~~~ b ~~~~ c ~~~~ d
/// ```
/// Both ways: each node has one interface and one address.
#[test]
fn four_ad_hoc_stations_in_a_row_forward() {
    for [from, to] in [["a", "d"], ["d", "a"]] {
        let text = format!(
            "node = [{{ name = \"a\" }}, {{ name = \"b\", forward = true }}, {{ name = \"c\", forward = true }}, {{ name = \"d\" }}]
            cell = [{{ name = \"air\", wifi = \"fast-wifi\", mode = \"ad-hoc\", station = [{{ node = [\"a\", \"b\", \"c\", \"d\"] }}], links = [[\"a\", \"b\"], [\"b\", \"c\"], [\"c\", \"d\"]] }}]
            flow = [{{ from = \"{from}\", to = \"{to}\", application = {{ kind = \"bulk\", size = \"100kB\" }} }}]"
        );
        let scenario = Scenario::from_text(&text, "row", &[]).unwrap_or_else(|error| panic!("{error}"));
        let mut network = Network::new(NetworkPlan::new(&scenario.ready().unwrap(), 1), 1);
        assert_eq!(run(&mut network), RunEnding::Complete);
        assert_eq!(network.records[0].delivered(), 100_000);
        // 70 segments and as many acknowledgements cross three hops.
        let frames = cell(&network, 0).statistics().frames;
        assert!((3 * 70..3 * 150 + 100).contains(&frames), "{frames} frames");
    }
}

fn tunnels(network: &Network) -> Vec<TunnelCounts> {
    network.tunnel_counts().map(|(_, counts)| counts).collect()
}

/// A transfer in each direction through the tunnels of two stations: everything arrives, through the tunnel alone, and no
/// ticket stays.
#[test]
fn everything_between_a_station_and_the_access_point_passes_through_the_tunnel() {
    for policy in ["active", "psm", "uapsd"] {
        let keys = format!(
            "tunnel = {{ burst = 5, plain = true }}\nstation = [{{ count = 2, power_save = {{ policy = \"{policy}\" }} }}]\n\
             flow = [{{ direction = \"down\", application = {{ kind = \"bulk\", size = \"300kB\" }} }}, \
             {{ direction = \"up\", application = {{ kind = \"bulk\", size = \"300kB\" }} }}]"
        );
        let mut network = Network::new(plan(&keys), 1);
        assert_eq!(run(&mut network), RunEnding::Complete, "{policy}");
        network.records.iter().for_each(|record| assert_eq!(record.delivered(), 300_000, "{policy}"));
        let _ = network.run_until(network.now + Span::from_secs(1), &mut |_| ControlFlow::Continue(()));
        assert_eq!(network.store.live(), 0, "{policy}");
        let counts = tunnels(&network);
        assert_eq!(counts.len(), 4);
        for end in &counts {
            // 208 segments one way and acknowledgements of the others.
            assert!(end.machine.packets > 300, "{policy}: {end:?}");
            assert_eq!(end.outer_bytes, end.machine.packet_bytes + 32 * end.machine.datagrams, "{policy}");
            assert!(end.machine.held_longest <= Span::from_millis(20), "{policy}: {end:?}");
        }
        let sent: u64 = counts.iter().map(|end| end.machine.packets).sum();
        let delivered: u64 = counts.iter().map(|end| end.machine.delivered).sum();
        assert_eq!(sent, delivered, "{policy}: nothing is lost in this cell");
    }
}

/// Without a wire the server is at the access point, where the tunnel ends.
#[test]
fn a_tunnel_ends_at_the_access_point() {
    let text = "wifi = { standard = \"802.11a\", data_rate = \"54Mbps\" }\ntunnel = { delay_budget = \"5ms\" }\n\
                flow = [{ direction = \"up\", application = { kind = \"bulk\", size = \"100kB\" } }]";
    let scenario = Scenario::from_text(text, "network", &[]).unwrap();
    let mut network = Network::new(NetworkPlan::new(&scenario.ready().unwrap(), 1), 1);
    assert_eq!(run(&mut network), RunEnding::Complete);
    assert!(network.records[0].delivered() == 100_000);
    assert!(tunnels(&network).iter().all(|end| end.machine.packets > 0));
}

/// Outer packets that the air loses free what they carry, and TCP repairs the loss.
#[test]
fn what_an_outer_packet_carried_is_lost_with_it() {
    let keys = "tunnel = { burst = 5 }\nwifi = { base = \"fast-wifi\", frame_error_rate = 0.5, retry_limit = 3 }\n\
                flow = [{ direction = \"up\", application = { kind = \"bulk\", size = \"300kB\" } }]";
    let mut network = Network::new(plan(keys), 1);
    assert_eq!(run(&mut network), RunEnding::Complete);
    assert_eq!(network.records[0].delivered(), 300_000);
    let counts = tunnels(&network);
    let (lost, delivered, sent) =
        (counts[1].lost_from_peer, counts[1].machine.delivered, counts[0].machine.packets);
    assert!(lost > 0 && delivered < sent, "{lost} outer packets; {delivered} of {sent} packets");
    let _ = network.run_until(network.now + Span::from_secs(1), &mut |_| ControlFlow::Continue(()));
    assert_eq!(network.store.live(), 0);
}

/// An hour without traffic: no wake-up of a tunnel, and no outer packet.
#[test]
fn an_idle_tunnel_costs_nothing() {
    let with = |keys: &str| {
        let keys = format!(
            "{keys}duration = \"3600s\"\nflow = [{{ direction = \"up\", start = \"3600s\", application = {{ kind = \"bulk\", size = \"1kB\" }} }}]"
        );
        let mut network = Network::new(plan(&keys), 1);
        run(&mut network);
        network.events
    };
    assert_eq!(with("tunnel = { burst = 5 }\n"), with(""));
}

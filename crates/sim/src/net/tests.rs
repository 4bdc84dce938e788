//! Networks that are made in code, beyond what the short form of a scenario describes.

use super::*;
use crate::media::cell::Cell;
use crate::net::packet::NO_FLOW;
use crate::scenario::Scenario;

fn plan(keys: &str) -> Plan {
    let text = format!("base = \"fast-dsl\"\n{keys}");
    Plan::new(&Scenario::from_text(&text, "network", &[]).unwrap(), 1).unwrap()
}

fn run(network: &mut Network) -> Ending {
    network.run(&mut |_| ControlFlow::Continue(()))
}

fn cell(network: &Network, medium: MediumId) -> &Cell {
    match &network.media[usize::from(medium)].medium {
        Medium::Cell(cell) => cell,
        other => panic!("{other:?}"),
    }
}

/// ```text
/// server ---- access-point ~~~~ station0 ~~~~ phone
///                        (a cell)    (another cell, on another channel)
/// ```
/// Station 0 is a station of the first cell and the access point of the second.
fn two_cells(keys: &str) -> Plan {
    let mut plan = plan(keys);
    let relay = plan.media[0].members[1];
    let phone = plan.nodes.len() as NodeId;
    plan.nodes.push(plan::NodePlan { name: "phone".to_owned(), external: false });
    let kind = plan.media[0].kind.clone();
    // Cells come before wires.
    plan.media.insert(1, plan::MediumPlan { name: "second".to_owned(), kind, members: vec![relay, phone] });
    for flow in &mut plan.flows {
        flow.wire = flow.wire.map(|wire| wire + 1);
        flow.client = phone;
        flow.station = Some(1);
    }
    plan
}

#[test]
fn a_station_that_is_an_access_point_relays() {
    for direction in ["down", "up"] {
        let keys = format!(
            "flow = [{{ direction = \"{direction}\", application = {{ kind = \"bulk\", size = \"300kB\" }} }}]"
        );
        let mut network = Network::new(two_cells(&keys), 1);
        assert_eq!(run(&mut network), Ending::Complete);
        assert_eq!(network.records[0].delivered(), 300_000, "{direction}");
        assert_eq!(network.plan.stations().count(), 2);
        let [first, second] = [0, 1].map(|medium| cell(&network, medium).statistics().frames);
        // 208 segments and at least half as many acknowledgements cross both cells.
        assert!(first > 300 && second > 300, "{direction}: {first} and {second} frames");
        assert!(first.abs_diff(second) < 60, "{direction}: {first} and {second} frames");
    }
}

#[test]
fn a_gateway_is_passed_on_the_way_to_another_cell() {
    let keys = "flow = [{ direction = \"down\", application = { kind = \"bulk\", size = \"300kB\" }, transport = \"split\" }]";
    let mut network = Network::new(two_cells(keys), 1);
    assert_eq!(run(&mut network), Ending::Complete);
    let record = &network.records[0];
    assert_eq!(record.delivered(), 300_000);
    // Bytes and latencies count from the gateway: without the 10 ms of the wire.
    assert!(record.latency / record.packets_arrived < Span::from_millis(10), "{record:?}");
}

/// External hosts in both cells reach each other by the routes of the nodes between them, and every ticket comes back.
#[test]
fn external_hosts_reach_each_other_over_two_cells() {
    let mut plan =
        two_cells("flow = [{ direction = \"down\", application = { kind = \"bulk\", size = \"1kB\" } }]");
    plan.flows.clear();
    let (server, phone) = (plan.server(), plan.media[1].members[1]);
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
        sack: tcp::SackBlocks::NONE,
        timestamps: None,
    });
    let inner = Packet { payload: ack, ..Packet::datagram(0, 40, Instant::ZERO) };
    let ticket = network.store.put_packets(vec![inner, inner]);
    let payload = Payload::Carried(ticket);
    network.lose(Packet { payload, flow: NO_FLOW, ..Packet::datagram(0, 120, Instant::ZERO) });
    assert_eq!(network.records[0].acks_lost, 2);
    assert_eq!(network.store.live(), 0);
}

#[test]
fn a_packet_to_a_closed_port_or_without_a_route_is_lost() {
    let mut network = Network::new(
        plan("flow = [{ direction = \"down\", application = { kind = \"bulk\", size = \"1kB\" } }]"),
        1,
    );
    let closed = Packet { dport: 9, ..Packet::datagram(0, 40, Instant::ZERO) };
    let server = network.plan.server();
    network.arrive(server, Packet { dst: route::Address(server), ..closed });
    assert_eq!(network.records[0].packets_lost, 1);
    let isolated = network.plan.nodes.len() as NodeId;
    let mut plan = network.plan.clone();
    plan.nodes.push(plan::NodePlan { name: "isolated".to_owned(), external: false });
    let mut network = Network::new(plan, 1);
    network.forward(isolated, Packet { src: route::Address(isolated), ..closed });
    assert_eq!(network.records[0].packets_lost, 1);
}

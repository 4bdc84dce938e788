//! Networks that are made in code, beyond what the short form of a scenario describes.

use super::*;
use crate::media::cell::{Bss, Cell, StationConfig};
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

/// The settings of the only BSS of a plan, and of its first station.
fn bss(plan: &Plan) -> (Bss, StationConfig) {
    let MediumKind::Cell(bsss) = &plan.media[0].kind else { panic!("a cell") };
    (bsss[0].clone(), bsss[0].stations[0].clone())
}

/// Adds a BSS with one station to the channel of a plan's cell. Returns the node of the station.
fn add_bss(plan: &mut Plan, access_point: NodeId, shared_radio: Option<u32>) -> NodeId {
    let station = plan.nodes.len() as NodeId;
    plan.nodes.push(plan::NodePlan { name: "phone".to_owned(), external: false });
    let (bss, settings) = bss(plan);
    let added = Bss { name: "second".to_owned(), shared_radio, stations: vec![settings], ..bss };
    let MediumKind::Cell(bsss) = &mut plan.media[0].kind else { panic!("a cell") };
    bsss.push(added);
    plan.media[0].members.extend([access_point, station]);
    station
}

/// ```text
/// server ---- access-point ~~~~ station0 ~~~~ phone      (one channel; station0 has one radio)
/// ```
#[test]
fn a_station_relays_on_one_channel() {
    let keys = "flow = [{ direction = \"down\", application = { kind = \"bulk\", size = \"300kB\" } }]";
    let mut direct = Network::new(plan(keys), 1);
    assert_eq!(run(&mut direct), Ending::Complete);
    let mut plan = plan(keys);
    let relay = plan.media[0].members[1];
    let phone = add_bss(&mut plan, relay, Some(0));
    plan.flows[0].client = phone;
    plan.flows[0].station = Some(1);
    let mut network = Network::new(plan, 1);
    assert_eq!(run(&mut network), Ending::Complete);
    assert_eq!(network.records[0].delivered(), 300_000);
    // Each packet is on the air twice, and the relay transmits data while it has none of its own.
    let [once, twice] = [&direct, &network].map(|network| cell(network, 0).statistics().frames as f64);
    assert!((1.8..2.2).contains(&(twice / once)), "{once} and {twice} frames");
    let transmitted =
        |network: &Network| cell(network, 0).ledger(0).duration(airwatt_energy::State::Transmit);
    assert!(transmitted(&network) > transmitted(&direct) * 3);
}

/// Two access points in range of each other: both downloads come to their end, in more time than one of them alone.
#[test]
fn two_access_points_share_a_channel() {
    let keys = "flow = [{ direction = \"down\", application = { kind = \"bulk\", size = \"2MB\" } }, { direction = \"down\", application = { kind = \"bulk\", size = \"2MB\" } }]
        wired = { rtt = \"2ms\", down = { rate = \"100Mbps\" }, up = { rate = \"100Mbps\" } }";
    let mut together = plan(keys);
    let neighbours = together.nodes.len() as NodeId;
    together.nodes.push(plan::NodePlan { name: "ap2".to_owned(), external: false });
    let phone = add_bss(&mut together, neighbours, None);
    let flow = &mut together.flows[1];
    (flow.server, flow.client, flow.station, flow.wire) = (neighbours, phone, Some(1), None);
    let mut alone = together.clone();
    alone.flows.truncate(1);
    let completed = |plan: Plan| {
        let mut network = Network::new(plan, 1);
        assert_eq!(run(&mut network), Ending::Complete);
        assert!(network.records.iter().all(|record| record.delivered() == 2_000_000));
        network.records[0].completed.unwrap()
    };
    let (alone, together) = (completed(alone), completed(together));
    assert!(together.as_secs_f64() > 1.4 * alone.as_secs_f64(), "{alone:?} and {together:?}");
}

/// ```text
/// a ~~~~ b ~~~~ c ~~~~ d
/// ```
#[test]
fn four_ad_hoc_stations_in_a_row_forward() {
    let mut plan =
        plan("flow = [{ direction = \"down\", application = { kind = \"bulk\", size = \"100kB\" } }]");
    let (bss, station) = bss(&plan);
    plan.nodes =
        ["a", "b", "c", "d"].map(|name| plan::NodePlan { name: name.to_owned(), external: false }).to_vec();
    let stations = vec![station; 4];
    let links = Some(vec![[0, 1], [1, 2], [2, 3]]);
    let kind = MediumKind::AdHoc(Box::new(plan::AdHoc { channel: bss.config, stations, links }));
    plan.media = vec![plan::MediumPlan { name: "air".to_owned(), kind, members: vec![0, 1, 2, 3] }];
    plan.access_point = 0;
    let flow = &mut plan.flows[0];
    (flow.server, flow.client, flow.station, flow.wire) = (0, 3, Some(3), None);
    let mut network = Network::new(plan, 1);
    assert_eq!(run(&mut network), Ending::Complete);
    assert_eq!(network.records[0].delivered(), 100_000);
    // 70 segments and as many acknowledgements cross three hops.
    let frames = cell(&network, 0).statistics().frames;
    assert!((3 * 70..3 * 150 + 100).contains(&frames), "{frames} frames");
}

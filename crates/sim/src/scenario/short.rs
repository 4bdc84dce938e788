//! From the short form of a scenario to the general form.
//!
//! ```text
//!  server ---- wire ---- access-point ~~~~ air (or link) ~~~~ station0, station1, ...
//!  server-of-flowN ---- flow/N/wire ----
//! ```
//! Without a wire the server is the access point. A neighbour's flow ends at the access point, and so does a saturated flow,
//! since what is measured at the head of the air does not go on.

use super::topology::{
    Cell, CellMode, Link, LinkKind, NodeGroup, ProgramConfig, Topology, TunnelProgramConfig,
};
use super::{
    AccessPoint, Direction, FlowGroup, Names, PointToPointConfig, Scenario, StationGroup, Wifi, Wired,
};

const SERVER: &str = "server";
const ACCESS_POINT: &str = "access-point";
const STATION: &str = "station";
/// The name of the cell.
const AIR: &str = "air";
/// The name of the point-to-point link.
const LINK: &str = "link";
const WIRE: &str = "wire";

/// The general form of a short one, with the general tables that it has itself appended.
pub(super) fn expand(scenario: &Scenario) -> Topology {
    let mut topology = own_tables(scenario);
    let appended = Topology::of(scenario);
    topology.node.extend(appended.node);
    topology.link.extend(appended.link);
    topology.cell.extend(appended.cell);
    topology
}

/// How many nodes, links and cells come before those that the file itself has.
pub(super) fn offsets(scenario: &Scenario) -> [(&'static str, usize); 3] {
    let own = if scenario.is_short() { own_tables(scenario) } else { Topology::default() };
    [("node", own.node.len()), ("link", own.link.len()), ("cell", own.cell.len())]
}

/// What the short form stands for; flows are its own and the appended ones, in the order of the file.
fn own_tables(scenario: &Scenario) -> Topology {
    let mut topology = Topology::default();
    if scenario.wired.is_some() {
        topology.node.push(NodeGroup::named(SERVER));
    }
    let program = gateway(scenario).into_iter().chain(tunnel(scenario)).collect();
    topology.node.push(NodeGroup { program, ..NodeGroup::named(ACCESS_POINT) });
    let mut first = 0;
    for group in &scenario.station {
        let count = Some(group.count);
        topology.node.push(NodeGroup { count, first, ..NodeGroup::named(STATION) });
        first += group.count;
    }
    if let Some(wifi) = &scenario.wifi {
        topology.cell.push(air(scenario, wifi));
    }
    if let Some(hop) = scenario.point_to_point() {
        topology.link.push(point_to_point(scenario, hop));
    }
    if let Some(wired) = &scenario.wired {
        topology.link.push(wire(WIRE.to_owned(), SERVER, wired));
    }
    for (index, group) in scenario.flow.iter().enumerate() {
        let own = group.wired.as_ref().map(|wired| {
            let server = format!("server-of-flow{index}");
            topology.link.push(wire(format!("flow/{index}/wire"), &server, wired));
            topology.node.push(NodeGroup::named(server.clone()));
            server
        });
        topology.flow.push(flow(scenario, group, own));
    }
    topology
}

/// The gateway at the access point, if connections meet there.
fn gateway(scenario: &Scenario) -> Option<ProgramConfig> {
    let is_split = |group: &FlowGroup| group.transport.like().uses_gateway();
    let has_wire = |group: &FlowGroup| scenario.wired.is_some() || group.wired.is_some();
    let used = scenario.flow.iter().any(|group| is_split(group) && has_wire(group));
    let cell = if scenario.wifi.is_some() { AIR } else { LINK }.to_owned();
    used.then(|| {
        ProgramConfig::Gateway(super::GatewayConfig { cell: Some(cell), ..scenario.gateway.clone() })
    })
}

/// The tunnels between the access point and all stations.
fn tunnel(scenario: &Scenario) -> Option<ProgramConfig> {
    let settings = scenario.tunnel?;
    let stations = scenario.stations().count();
    let first = format!("{STATION}0");
    let peer =
        if stations == 1 { first } else { format!("{first}..{STATION}{}", stations.saturating_sub(1)) };
    Some(ProgramConfig::Tunnel(TunnelProgramConfig { peer: Some(Names::one(peer)), settings }))
}

fn wire(name: String, server: &str, wired: &Wired) -> Link {
    Link {
        name,
        kind: LinkKind::Wire,
        between: vec![server.to_owned(), ACCESS_POINT.to_owned()],
        delay: wired.rtt / 2,
        forward: Some(wired.down.clone()),
        reverse: Some(wired.up.clone()),
        rate: None,
        queue: None,
        cut_through: None,
        errors: None,
        radio: None,
    }
}

fn point_to_point(scenario: &Scenario, hop: &PointToPointConfig) -> Link {
    Link {
        name: LINK.to_owned(),
        kind: LinkKind::PointToPoint,
        between: vec![ACCESS_POINT.to_owned(), format!("{STATION}0")],
        delay: hop.delay,
        forward: None,
        reverse: None,
        rate: Some(hop.rate),
        queue: Some(hop.queue),
        cut_through: Some(hop.cut_through),
        errors: Some(hop.errors.clone()),
        radio: scenario.station.first().map(|group| group.radio.clone()),
    }
}

fn air(scenario: &Scenario, wifi: &Wifi) -> Cell {
    let mut first = 0;
    let station = scenario.station.iter().filter(|group| group.count > 0).map(|group| {
        let last = first + group.count - 1;
        let name = if scenario.station.len() == 1 {
            STATION.to_owned()
        } else if group.count == 1 {
            format!("{STATION}{first}")
        } else {
            format!("{STATION}{first}..{STATION}{last}")
        };
        first += group.count;
        StationGroup { node: Some(Names::one(name)), count: 1, ..group.clone() }
    });
    Cell {
        name: AIR.to_owned(),
        wifi: Wifi { channel: None, ..wifi.clone() },
        channel: wifi.channel.clone(),
        mode: CellMode::Infrastructure,
        station: station.collect(),
        access_point: Some(AccessPoint { node: Some(ACCESS_POINT.to_owned()), ..scenario.ap.clone() }),
        links: None,
    }
}

/// A flow of the short form between its nodes; one that names them stays as it is. `own` is the server of a wire of its own.
fn flow(scenario: &Scenario, group: &FlowGroup, own: Option<String>) -> FlowGroup {
    if group.is_general() {
        return group.clone();
    }
    let is_saturated = group.application.is_saturated();
    let shared = || if scenario.wired.is_some() { SERVER } else { ACCESS_POINT }.to_owned();
    let server = if is_saturated { ACCESS_POINT.to_owned() } else { own.unwrap_or_else(shared) };
    let near = match (group.neighbours, &group.stations) {
        (Some(_), _) => Names::one(ACCESS_POINT),
        (None, Some(numbers)) => Names(numbers.iter().map(|number| format!("{STATION}{number}")).collect()),
        (None, None) => Names::one(STATION),
    };
    let server = Names::one(server);
    let (from, to) = match group.direction {
        Some(Direction::Up) => (near, server),
        Some(Direction::Down) | None => (server, near),
    };
    FlowGroup {
        from: Some(from),
        to: Some(to),
        count: group.neighbours,
        stations: None,
        neighbours: None,
        wired: None,
        direction: None,
        ..group.clone()
    }
}

//! The ends of flows, and the paths between them.
//!
//! Which end opens a connection: the receiver if it is a station, or else the sender if it is one; between nodes that are no
//! stations an access point, or else the receiver. If each request has a connection of its own, the end that asks opens it. The other
//! end listens.

use airwatt_base::settings::{SettingError, in_range};
use airwatt_proto::powersave::StationId;

use super::{Directory, Resolved, Resolving, quoted};
use crate::direction::Direction;
use crate::route::{Graph, Interface, Member, NoPath, NodeId};
use crate::scenario::topology::{ProgramConfig, Topology};
use crate::scenario::{FlowGroup, Scenario, Transport, check};
use crate::stack::role::Role;

use super::carrier::{Carrier, FlowGateway};
use super::media::Contents;

/// Each flow has a port of its own.
pub(in crate::scenario) const MAX_FLOWS: usize = 10_000;

/// One flow.
#[derive(Clone, Debug)]
pub(crate) struct ResolvedFlow {
    /// The index of its table.
    pub(crate) group: usize,
    /// The node that waits for the connection.
    pub(crate) server: NodeId,
    /// The node that opens it.
    pub(crate) client: NodeId,
    /// The direction of its data: down, from the server to the client.
    pub(crate) data: Direction,
    /// Whether data goes to the station, or to the access point where there is none.
    pub(crate) is_download: bool,
    /// The station by whose number it is listed.
    pub(crate) station: Option<StationId>,
    /// The media that its data crosses.
    pub(crate) path: Vec<PathStep>,
    /// What carries its data.
    pub(crate) carrier: Carrier,
}

/// One hop of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PathStep {
    /// The index of the medium.
    pub(crate) medium: usize,
    /// The member that sends.
    pub(crate) from: Member,
    /// The member that receives.
    pub(crate) to: Member,
    /// The node that receives.
    pub(crate) node: NodeId,
}

impl Resolved {
    /// Adds the flows.
    pub(super) fn add_flows(
        &mut self,
        scenario: &Scenario,
        topology: &Topology,
        directory: &Directory,
        graph: &Graph,
    ) -> Resolving<()> {
        let interfaces = self.interfaces();
        let of = |(index, group): (usize, &FlowGroup)| {
            ends(group, directory).map_err(|error| error.under(index).under("flow"))
        };
        let ends = topology.flow.iter().enumerate().map(of).collect::<Resolving<Vec<_>>>()?;
        let repeated = |group: &FlowGroup| group.count.unwrap_or(1) as usize;
        let numbers = topology.flow.iter().zip(&ends);
        let total: usize = numbers.map(|(group, (from, to))| from.len() * to.len() * repeated(group)).sum();
        if total > MAX_FLOWS {
            return Err(SettingError::out_of_range("flow", total, format!("at most {MAX_FLOWS} flows")));
        }
        for ((index, group), (from, to)) in topology.flow.iter().enumerate().zip(ends) {
            let under = |error: SettingError| error.under(index).under("flow");
            for (from, to) in from.iter().flat_map(|from| to.iter().map(move |to| (*from, *to))) {
                let flow =
                    self.flow(scenario, topology, index, [from, to], graph, &interfaces).map_err(under)?;
                self.flows.extend(std::iter::repeat_n(flow, repeated(group)));
            }
        }
        Ok(())
    }

    fn flow(
        &self,
        scenario: &Scenario,
        topology: &Topology,
        group: usize,
        [from, to]: [NodeId; 2],
        graph: &Graph,
        interfaces: &[Interface],
    ) -> Resolving<ResolvedFlow> {
        let table = &topology.flow[group];
        if from == to {
            let allowed = "another node than the one that sends";
            return Err(SettingError::out_of_range("to", quoted(self.name(to)), allowed));
        }
        let path = self.path(graph, interfaces, from, to).map_err(|error| error.at("to"))?;
        self.path(graph, interfaces, to, from).map_err(|error| error.at("from"))?;
        let first = path.first().map(|step| (step.medium, step.from));
        let last = path.last().map(|step| (step.medium, step.to));
        let [sender, receiver] = [(from, first), (to, last)].map(|(node, by)| self.station_at(node, by));
        let is_access_point = |node| self.is_access_point(node);
        let is_download = if receiver.is_some() || sender.is_some() {
            receiver.is_some()
        } else {
            is_access_point(to) || !is_access_point(from)
        };
        let is_down = table.opener().map_or(is_download, |opener| opener == Role::Receiver);
        let data = if is_down { Direction::Down } else { Direction::Up };
        let (server, client) = if is_down { (from, to) } else { (to, from) };
        let gateway = self.gateway_on(topology, &path, data);
        self.check_carried(table, &path)?;
        let carrier = Carrier::new(scenario, table, gateway)?;
        check::ends(scenario, table)?;
        let station = receiver.or(sender);
        Ok(ResolvedFlow { group, server, client, data, is_download, station, path, carrier })
    }

    /// The path from one node to another.
    fn path(
        &self,
        graph: &Graph,
        interfaces: &[Interface],
        from: NodeId,
        to: NodeId,
    ) -> Resolving<Vec<PathStep>> {
        let hops = graph.path(from, to).map_err(|why| self.no_path(from, to, &why))?;
        let step = |hop: crate::route::Hop| {
            let Interface { medium, member, .. } = interfaces[usize::from(hop.route.interface)];
            PathStep { medium: usize::from(medium), from: member, to: hop.route.next, node: hop.node }
        };
        Ok(hops.into_iter().map(step).collect())
    }

    fn no_path(&self, from: NodeId, to: NodeId, why: &NoPath) -> SettingError {
        let name = |node: &NodeId| quoted(self.name(*node));
        let route = |at: &NodeId, via: &str| {
            format!("hint: give node {} route = [{{ to = {}, via = {via} }}]", name(at), name(&to))
        };
        let got = match why {
            NoPath::Unreachable(at) if *at == from => {
                format!("none; {}, or forward = true to nodes between", route(at, "NEIGHBOUR"))
            }
            NoPath::Unreachable(at) => format!("none from {} on; {}", name(at), route(at, "NEIGHBOUR")),
            NoPath::Ambiguous(at, several) => {
                let ways: Vec<String> = several.iter().map(name).collect();
                let mut distinct = ways.clone();
                distinct.dedup();
                let hint =
                    if distinct.len() == 1 { format!("{}, over = LINK", ways[0]) } else { ways[0].clone() };
                format!(
                    "{} of equal length at {}, by {}; {}",
                    ways.len(),
                    name(at),
                    ways.join(" and "),
                    route(at, &hint)
                )
            }
            NoPath::Loop(at) => format!("a loop over {}; {}", name(at), route(at, "ANOTHER NEIGHBOUR")),
            NoPath::NotForwarded(at) => format!(
                "a route to {}, which does not forward; hint: give it forward = true, or another route",
                name(at)
            ),
        };
        SettingError::out_of_range("to", got, format!("one path from {} to {}", name(&from), name(&to)))
    }

    /// The station through which the path enters or leaves this node; its first station if the path uses none.
    fn station_at(&self, node: NodeId, by: Option<(usize, Member)>) -> Option<StationId> {
        let of_node = || (0..).zip(&self.stations).filter(|(_, place)| place.node == node);
        let used = of_node().find(|(_, place)| by == Some((place.medium, place.member)));
        used.or_else(|| of_node().next()).map(|(id, _)| id)
    }

    fn is_access_point(&self, node: NodeId) -> bool {
        self.media.iter().any(|medium| match &medium.contents {
            Contents::Channel(bsss) => {
                let mut first = 0;
                bsss.iter().any(|bss| {
                    let member = medium.members[first];
                    first += 1 + bss.stations.len();
                    member == node
                })
            }
            Contents::PointToPoint(_) => medium.members[0] == node,
            Contents::AdHoc { .. } | Contents::Wire(..) => false,
        })
    }

    /// The gateway on a path, the one nearest to the client.
    fn gateway_on(&self, topology: &Topology, path: &[PathStep], data: Direction) -> Option<FlowGateway> {
        let between = path.windows(2).map(|pair| {
            // The medium on the client's side of the node.
            let (towards, member) = match data {
                Direction::Down => (pair[1].medium, pair[1].from),
                Direction::Up => (pair[0].medium, pair[0].to),
            };
            (pair[0].node, self.media[towards].name_of(member))
        });
        let serving = |(node, cell): (NodeId, Option<&str>)| {
            let programs = &topology.node[self.nodes[usize::from(node)].group].program;
            programs.iter().enumerate().find_map(|(place, program)| {
                let ProgramConfig::Gateway(gateway) = program else { return None };
                let serves = gateway.cell.as_deref().is_none_or(|wanted| Some(wanted) == cell);
                let (control, buffer) = (gateway.transport, gateway.buffer.as_bytes());
                serves.then_some(FlowGateway { node, place, control, buffer })
            })
        };
        let mut found = between.filter_map(serving);
        match data {
            Direction::Down => found.next_back(),
            Direction::Up => found.next(),
        }
    }

    /// The transport goes with the path.
    fn check_carried(&self, table: &FlowGroup, path: &[PathStep]) -> Resolving<()> {
        let is_wireless = |step: &PathStep| !matches!(self.media[step.medium].contents, Contents::Wire(..));
        let conflict = |key: &str, with: &str, why: &str| Err(SettingError::conflict(key, with, why));
        if table.application.is_saturated() {
            let in_cell = |step: &PathStep| {
                matches!(self.media[step.medium].contents, Contents::Channel(_) | Contents::AdHoc { .. })
            };
            if path.len() != 1 || !path.iter().all(in_cell) {
                return conflict(
                    "application.kind",
                    "this path",
                    "\"saturated\" needs both ends in one cell",
                );
            }
        }
        if table.transport.like() == Transport::E2tcp && !path.iter().any(is_wireless) {
            return conflict("transport", "this path", "\"e2tcp\" is for wireless hops");
        }
        Ok(())
    }
}

/// The nodes at both ends of a group of flows.
fn ends(group: &FlowGroup, directory: &Directory) -> Resolving<(Vec<NodeId>, Vec<NodeId>)> {
    let (Some(from), Some(to)) = (&group.from, &group.to) else {
        let key = if group.from.is_none() { "from" } else { "to" };
        return Err(SettingError::missing(key, "the name of a node"));
    };
    in_range("count", group.count.unwrap_or(1), 1, MAX_FLOWS as u32)?;
    let (from, to) = (directory.list("from", from)?, directory.list("to", to)?);
    if from.len() > 1 && to.len() > 1 {
        let got = format!("{} nodes, with {} in from", to.len(), from.len());
        return Err(SettingError::out_of_range("to", got, "a single node where from has several"));
    }
    Ok((from, to))
}

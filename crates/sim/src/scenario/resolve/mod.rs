//! From the names of the general form to numbers: nodes, members of media, stations, routes and the ends of flows.
//!
//! A name that does not exist, a duplicate, and a flow without a single path are errors with the key of the file. The tables of a
//! short file come after those of its expansion, so that their numbers are counted from there.

mod carrier;
mod flows;
mod media;
mod programs;

use std::collections::BTreeMap;
use std::fmt::Display;

use airwatt_base::settings::{SettingError, in_range};
use airwatt_energy::{Host, HostEnergyConfig};
use airwatt_proto::powersave::StationId;

use super::Names;
use super::names::check_name;
use super::topology::{NodeGroup, Topology};
use super::{Scenario, short};
use crate::route::{Adjacency, FixedRoute, Graph, Interface, Member, NodeId};

pub(crate) use carrier::{Carrier, Ends, FlowGateway};
pub(crate) use flows::ResolvedFlow;
pub(crate) use media::{BssPlace, Contents, MemberStation, ResolvedMedium};
pub(crate) use programs::ResolvedProgram;

/// Addresses have 16 bits.
const MAX_NODES: usize = 10_000;

/// A topology in numbers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Resolved {
    /// The nodes.
    pub(crate) nodes: Vec<ResolvedNode>,
    /// The media: channels with their cells, then point-to-point links, then wires.
    pub(crate) media: Vec<ResolvedMedium>,
    /// The stations in the order of cells and members, then those of point-to-point links.
    pub(crate) stations: Vec<StationPlace>,
    /// The programs of nodes, in the order of nodes and of their lists.
    pub(crate) programs: Vec<ResolvedProgram>,
    /// The flows.
    pub(crate) flows: Vec<ResolvedFlow>,
    /// The routes that the scenario fixes.
    pub(crate) fixed: Vec<FixedRoute>,
}

/// One node.
#[derive(Clone, Debug)]
pub(crate) struct ResolvedNode {
    /// Its name.
    pub(crate) name: String,
    /// Its name in random streams.
    pub(crate) stream: String,
    /// The index of its table.
    pub(crate) group: usize,
    /// Whether it forwards packets of others.
    pub(crate) forwards: bool,
    /// What its host draws beside the radio, if that is accounted for.
    pub(crate) host: Option<Host>,
}

/// Where a station is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StationPlace {
    /// Its node.
    pub(crate) node: NodeId,
    /// The index of its medium.
    pub(crate) medium: usize,
    /// Its number there.
    pub(crate) number: StationId,
    /// Its number among the members there.
    pub(crate) member: Member,
    /// The name of its cell or point-to-point link.
    pub(crate) cell: String,
}

type Resolving<T> = Result<T, SettingError>;

/// The nodes by name.
#[derive(Debug, Default)]
struct Directory {
    /// Names by number.
    names: Vec<String>,
    single: BTreeMap<String, NodeId>,
    groups: BTreeMap<String, Vec<NodeId>>,
}

impl Resolved {
    /// The topology of a scenario in numbers.
    ///
    /// # Errors
    /// The first name that cannot be resolved, with its key in the file.
    pub(crate) fn new(scenario: &Scenario, topology: &Topology) -> Resolving<Self> {
        let offsets = short::offsets(scenario);
        let in_file = |error: SettingError| {
            let key = key_in_file(error.key(), &offsets);
            error.at(key)
        };
        Self::of(scenario, topology).map_err(in_file)
    }

    fn of(scenario: &Scenario, topology: &Topology) -> Resolving<Self> {
        let mut resolved = Self::default();
        let directory = resolved.add_nodes(topology)?;
        resolved.add_media(topology, &directory)?;
        let mut graph = resolved.graph();
        resolved.fixed = resolved.fixed_routes(topology, &directory, &graph)?;
        graph.fix(resolved.fixed.iter().copied());
        resolved.add_programs(topology, &directory, &graph)?;
        resolved.add_flows(scenario, topology, &directory, &graph)?;
        Ok(resolved)
    }

    /// Adds the nodes.
    fn add_nodes(&mut self, topology: &Topology) -> Resolving<Directory> {
        let mut directory = Directory::default();
        for (index, group) in topology.node.iter().enumerate() {
            self.add_group(index, group, &mut directory).map_err(|error| error.under(index).under("node"))?;
        }
        Ok(directory)
    }

    fn add_group(&mut self, index: usize, group: &NodeGroup, directory: &mut Directory) -> Resolving<()> {
        check_name("name", &group.name)?;
        let forwards = group.forward;
        let host = group.host_energy.as_ref().map(HostEnergyConfig::host).transpose();
        let host = host.map_err(|error| error.under("host_energy"))?;
        let mut add = |name: String, stream: String| {
            let id = self.nodes.len() as NodeId;
            if directory.single.insert(name.clone(), id).is_some() || directory.groups.contains_key(&name) {
                return Err(duplicate("name", &name, "node"));
            }
            directory.names.push(name.clone());
            self.nodes.push(ResolvedNode { name, stream, group: index, forwards, host: host.clone() });
            Ok(id)
        };
        match group.count {
            None => {
                if group.first != 0 {
                    return Err(SettingError::no_effect("first", "a single node", "a group with count"));
                }
                add(group.name.clone(), group.name.clone())?;
            }
            Some(count) => {
                in_range("count", count, 1, MAX_NODES as u32)?;
                in_range("first", group.first, 0, MAX_NODES as u32)?;
                let mut members = Vec::new();
                for number in group.first..group.first + count {
                    members.push(add(format!("{}{number}", group.name), format!("{}/{number}", group.name))?);
                }
                if directory.single.contains_key(&group.name) {
                    return Err(duplicate("name", &group.name, "node"));
                }
                directory.groups.entry(group.name.clone()).or_default().extend(members);
            }
        }
        if self.nodes.len() > MAX_NODES {
            return Err(SettingError::out_of_range(
                "count",
                self.nodes.len(),
                format!("at most {MAX_NODES} nodes"),
            ));
        }
        Ok(())
    }

    /// The interfaces of all media, in their order.
    fn interfaces(&self) -> Vec<Interface> {
        let of = |(medium, resolved): (usize, &ResolvedMedium)| {
            let medium = medium as u16;
            let members = resolved.members.clone().into_iter();
            members.zip(0..).map(move |(node, member)| Interface { node, medium, member })
        };
        self.media.iter().enumerate().flat_map(of).collect()
    }

    fn graph(&self) -> Graph {
        let adjacency: Vec<Adjacency> = self.media.iter().map(ResolvedMedium::adjacency).collect();
        let forwards = self.nodes.iter().map(|node| node.forwards).collect();
        Graph::new(
            &self.interfaces(),
            |medium, from, to| adjacency[usize::from(medium)].allows(from, to),
            forwards,
        )
    }

    /// The routes of `[[node.route]]` tables.
    fn fixed_routes(
        &self,
        topology: &Topology,
        directory: &Directory,
        graph: &Graph,
    ) -> Resolving<Vec<FixedRoute>> {
        let interfaces = self.interfaces();
        let mut fixed = Vec::new();
        for (at, node) in (0..).zip(&self.nodes) {
            for (index, route) in topology.node[node.group].route.iter().enumerate() {
                let under =
                    |error: SettingError| error.under(index).under("route").under(node.group).under("node");
                let via = directory.one("via", &route.via).map_err(under)?;
                let by_name = |interface: u16| {
                    let Interface { medium, member, .. } = interfaces[usize::from(interface)];
                    self.media[usize::from(medium)].name_of(member)
                };
                let neighbours = graph.neighbours(at);
                let fits = |over: &str, interface| by_name(interface).is_some_and(|name| name == over);
                let hops: Vec<_> = neighbours
                    .iter()
                    .filter(|hop| hop.node == via)
                    .filter(|hop| route.over.as_ref().is_none_or(|over| fits(over, hop.route.interface)))
                    .collect();
                let [hop] = hops.as_slice() else {
                    let error = if hops.is_empty() {
                        let allowed =
                            neighbours.iter().map(|hop| self.nodes[usize::from(hop.node)].name.as_str());
                        let allowed = format!("a neighbour of {:?}: {}", node.name, listed(allowed));
                        let over =
                            route.over.as_ref().map_or_else(String::new, |over| format!(" over {over:?}"));
                        SettingError::out_of_range("via", format!("{:?}{over}", route.via), allowed)
                    } else {
                        SettingError::missing(
                            "over",
                            "the link or cell, since several lead to that neighbour",
                        )
                    };
                    return Err(under(error));
                };
                let to = directory.all("to", &route.to).map_err(under)?;
                fixed.extend(to.into_iter().filter(|to| *to != at).map(|to| FixedRoute {
                    at,
                    to,
                    hop: **hop,
                }));
            }
        }
        Ok(fixed)
    }

    fn name(&self, node: NodeId) -> &str {
        &self.nodes[usize::from(node)].name
    }
}

impl Directory {
    /// The nodes of one name: a node, a group or a range of one.
    fn all(&self, key: &str, name: &str) -> Resolving<Vec<NodeId>> {
        if let Some(node) = self.single.get(name) {
            return Ok(vec![*node]);
        }
        if let Some(group) = self.groups.get(name) {
            return Ok(group.clone());
        }
        let unknown =
            || SettingError::out_of_range(key, format!("{name:?}"), format!("a node: {}", self.known()));
        let Some((first, last)) = name.split_once("..") else { return Err(unknown()) };
        let ends = [first, last].map(|end| self.single.get(end).copied());
        let [Some(first), Some(last)] = ends else { return Err(unknown()) };
        if first > last {
            return Err(SettingError::out_of_range(key, format!("{name:?}"), "a range in ascending order"));
        }
        Ok((first..=last).collect())
    }

    /// The one node of a name.
    fn one(&self, key: &str, name: &str) -> Resolving<NodeId> {
        match self.all(key, name)?.as_slice() {
            [node] => Ok(*node),
            several => Err(SettingError::out_of_range(
                key,
                format!("the group {name:?} of {}", several.len()),
                "a single node",
            )),
        }
    }

    /// The nodes of a list of names, each once.
    fn list(&self, key: &str, names: &Names) -> Resolving<Vec<NodeId>> {
        if names.0.is_empty() {
            return Err(SettingError::out_of_range(key, "[]", "the name of a node"));
        }
        let mut nodes = Vec::new();
        for name in &names.0 {
            nodes.extend(self.all(key, name)?);
        }
        let mut sorted = nodes.clone();
        sorted.sort_unstable();
        if let Some(twice) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(duplicate(key, &self.names[usize::from(twice[0])], "node"));
        }
        Ok(nodes)
    }

    fn known(&self) -> String {
        if self.names.is_empty() {
            return "there is none; hint: add [[node]] tables".to_owned();
        }
        listed(self.names.iter().map(String::as_str))
    }
}

fn duplicate(key: &str, name: &str, what: &str) -> SettingError {
    SettingError::out_of_range(key, format!("{name:?} twice"), format!("a name that no other {what} has"))
}

/// Names as an enumeration, the first ones of many.
fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    const SHOWN: usize = 8;
    let names: Vec<&str> = names.collect();
    match names.len().checked_sub(SHOWN + 1) {
        Some(more) => format!("{} and {} more", names[..SHOWN].join(", "), more + 1),
        None => names.join(", "),
    }
}

/// A key of the general form as it stands in the file: tables of an expansion come before those of the file.
fn key_in_file(key: &str, offsets: &[(&'static str, usize)]) -> String {
    let mut parts: Vec<String> = key.split('.').map(str::to_owned).collect();
    let offset = offsets.iter().find(|(table, _)| parts.first().is_some_and(|first| first == table));
    if let (Some((_, offset)), Some(Ok(index))) = (offset, parts.get(1).map(|part| part.parse::<usize>())) {
        parts[1] = index.saturating_sub(*offset).to_string();
    }
    parts.join(".")
}

fn quoted(name: impl Display) -> String {
    format!("\"{name}\"")
}

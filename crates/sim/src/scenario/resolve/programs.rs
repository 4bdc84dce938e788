//! The programs of nodes, and the nodes that they name.

use airwatt_base::settings::SettingError;

use super::{Directory, Resolved, Resolving, duplicate, quoted};
use crate::route::{Graph, NodeId};
use crate::scenario::topology::{ProgramConfig, Topology};

/// One program of a node.
#[derive(Clone, Debug)]
pub(crate) struct ResolvedProgram {
    /// Its node.
    pub(crate) node: NodeId,
    /// Its place in the list of the node.
    pub(crate) place: usize,
    /// The nodes that it names: those towards which an impairment loses packets, `None` for all, and the peers of a tunnel.
    pub(crate) named: Option<Vec<NodeId>>,
}

impl Resolved {
    /// Adds the programs.
    pub(super) fn add_programs(
        &mut self,
        topology: &Topology,
        directory: &Directory,
        graph: &Graph,
    ) -> Resolving<()> {
        let mut programs: Vec<ResolvedProgram> = Vec::new();
        // Both ends of each tunnel.
        let mut tunnels = Vec::new();
        for (node, resolved) in (0..).zip(&self.nodes) {
            for (place, program) in topology.node[resolved.group].program.iter().enumerate() {
                let under = |error: SettingError| {
                    error.under(place).under("program").under(resolved.group).under("node")
                };
                let named = self.named(topology, directory, graph, node, program).map_err(under)?;
                if let (ProgramConfig::Tunnel(_), Some(peers)) = (program, &named) {
                    for peer in peers {
                        if tunnels.contains(&[node, *peer]) || tunnels.contains(&[*peer, node]) {
                            return Err(under(duplicate("peer", self.name(*peer), "tunnel of this node")));
                        }
                        tunnels.push([node, *peer]);
                    }
                }
                programs.push(ResolvedProgram { node, place, named });
            }
        }
        self.programs = programs;
        Ok(())
    }

    /// The nodes that a program names.
    fn named(
        &self,
        topology: &Topology,
        directory: &Directory,
        graph: &Graph,
        node: NodeId,
        program: &ProgramConfig,
    ) -> Resolving<Option<Vec<NodeId>>> {
        match program {
            ProgramConfig::Gateway(gateway) => {
                let Some(cell) = &gateway.cell else { return Ok(None) };
                let cells = topology.cell.iter().map(|cell| &cell.name);
                let mut known = cells.chain(topology.link.iter().map(|link| &link.name));
                if known.any(|name| name == cell) {
                    return Ok(None);
                }
                Err(SettingError::out_of_range("cell", quoted(cell), "the name of a cell or link"))
            }
            ProgramConfig::Impairment(impairment) => {
                if !self.nodes[usize::from(node)].forwards {
                    let belongs =
                        "access points, nodes with several interfaces, and others with forward = true";
                    return Err(SettingError::no_effect("", "a node that does not forward", belongs));
                }
                impairment.towards.as_ref().map(|names| directory.list("towards", names)).transpose()
            }
            ProgramConfig::Tunnel(tunnel) => {
                let peers = tunnel.peer.as_ref().map(|names| directory.list("peer", names)).transpose()?;
                for peer in peers.iter().flatten() {
                    self.check_peer(graph, node, *peer)?;
                }
                Ok(peers)
            }
        }
    }

    /// A tunnel begins at a station whose cell or link has the node as its access point or base station.
    fn check_peer(&self, graph: &Graph, node: NodeId, peer: NodeId) -> Resolving<()> {
        let is_neighbour = graph.neighbours(node).iter().any(|hop| hop.node == peer);
        let is_station = self
            .stations
            .iter()
            .any(|place| place.node == peer && self.media[place.medium].members.contains(&node));
        if is_neighbour && is_station {
            return Ok(());
        }
        let allowed = format!("a station of a cell or link of {}", self.name(node));
        Err(SettingError::out_of_range("peer", quoted(self.name(peer)), allowed))
    }
}

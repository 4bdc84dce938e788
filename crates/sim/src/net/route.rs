//! Addresses and routes.
//!
//! Routes are static: fewest hops, computed once. A leaf node has a default route only; a node that forwards has a row
//! with a route to every address, so that a lookup is one load.

use std::collections::VecDeque;

/// Index of a node in its network.
pub type NodeId = u16;
/// Index of an interface in its network.
pub type InterfaceId = u16;
/// Index of a medium in its network.
pub type MediumId = u16;
/// Index of an interface on its medium. On a cell, member 0 is the access point.
pub type Member = u16;

/// An address. Node n has address n.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address(pub u16);

/// The interface by which a packet leaves a node, and the member of the medium that receives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// The interface by which the packet leaves.
    pub interface: InterfaceId,
    /// The member of that interface's medium to which the packet is sent.
    pub next: Member,
}

/// The place of an interface: its node, its medium, and its number among the medium's members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interface {
    /// The node that has the interface.
    pub node: NodeId,
    /// The medium to which it is attached.
    pub medium: MediumId,
    /// Its number among the members of that medium.
    pub member: Member,
}

/// The routes of one node.
#[derive(Clone, Copy, Debug)]
enum Row {
    /// The node has no neighbour.
    None,
    /// The node has one neighbour, to which it sends everything.
    Default(Route),
    /// The node forwards: index of its route to address 0 in the table.
    Table(usize),
}

/// The routes of all nodes.
#[derive(Clone, Debug)]
pub struct Routes {
    rows: Vec<Row>,
    table: Vec<Option<Route>>,
}

impl Routes {
    /// Computes the routes of `nodes` nodes with these interfaces. `reaches` says whether the first member of a medium
    /// sends directly to the second.
    pub fn new(
        nodes: usize,
        interfaces: &[Interface],
        reaches: impl Fn(MediumId, Member, Member) -> bool,
    ) -> Self {
        let mut of_node: Vec<Vec<usize>> = vec![Vec::new(); nodes];
        let mut of_medium: Vec<Vec<usize>> = Vec::new();
        for (index, interface) in interfaces.iter().enumerate() {
            of_node[usize::from(interface.node)].push(index);
            let medium = usize::from(interface.medium);
            of_medium.resize(of_medium.len().max(medium + 1), Vec::new());
            of_medium[medium].push(index);
        }
        // The routes out of a node, each with the node that it leads to.
        let neighbours = |node: usize| {
            let (of_medium, reaches) = (&of_medium, &reaches);
            of_node[node].iter().flat_map(move |&own| {
                let from = interfaces[own];
                let others = of_medium[usize::from(from.medium)].iter();
                others.filter(move |other| **other != own).filter_map(move |&other| {
                    let to = interfaces[other];
                    let route = Route { interface: own as InterfaceId, next: to.member };
                    reaches(from.medium, from.member, to.member).then_some((usize::from(to.node), route))
                })
            })
        };
        let mut routes = Self { rows: Vec::with_capacity(nodes), table: Vec::new() };
        for node in 0..nodes {
            let mut first_hops = neighbours(node);
            let (first_hop, more) = (first_hops.next(), first_hops.next().is_some());
            let row = match first_hop {
                Some(_) if more => {
                    let first = routes.table.len();
                    routes.table.extend(to_all(node, nodes, &neighbours));
                    Row::Table(first)
                }
                Some((_, route)) => Row::Default(route),
                None => Row::None,
            };
            routes.rows.push(row);
        }
        routes
    }

    /// The route from a node to an address; `None` if there is none.
    #[inline]
    pub fn get(&self, node: NodeId, to: Address) -> Option<Route> {
        match self.rows[usize::from(node)] {
            Row::Default(route) => Some(route),
            Row::Table(first) => self.table[first + usize::from(to.0)],
            Row::None => None,
        }
    }
}

/// The routes from `node` to all nodes, by fewest hops. Among paths of equal length the first interface has priority.
fn to_all<I: Iterator<Item = (usize, Route)>>(
    node: usize,
    nodes: usize,
    neighbours: &impl Fn(usize) -> I,
) -> Vec<Option<Route>> {
    let mut routes = vec![None; nodes];
    let mut reached = vec![false; nodes];
    reached[node] = true;
    let mut queue: VecDeque<(usize, Option<Route>)> = VecDeque::from([(node, None)]);
    while let Some((at, first)) = queue.pop_front() {
        for (to, route) in neighbours(at) {
            if !std::mem::replace(&mut reached[to], true) {
                routes[to] = first.or(Some(route));
                queue.push_back((to, routes[to]));
            }
        }
    }
    routes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ```text
    /// 0 (alone)    1 --wire 0-- 2 ~~cell 1~~ 3, 4
    /// ```
    #[test]
    fn leaves_have_a_default_and_the_access_point_a_row() {
        let interface = |node, medium, member| Interface { node, medium, member };
        let interfaces = [(1, 0, 0), (2, 0, 1), (2, 1, 0), (3, 1, 1), (4, 1, 2)];
        let interfaces = interfaces.map(|(node, medium, member)| interface(node, medium, member));
        let routes = Routes::new(5, &interfaces, |_, from, to| from == 0 || to == 0);
        let route = |interface, next| Some(Route { interface, next });
        assert_eq!(routes.get(0, Address(3)), None, "a node without an interface");
        assert_eq!(routes.get(1, Address(3)), route(0, 1));
        assert_eq!(routes.get(2, Address(1)), route(1, 0));
        assert_eq!(routes.get(2, Address(3)), route(2, 1));
        assert_eq!(routes.get(2, Address(4)), route(2, 2));
        assert_eq!(routes.get(2, Address(0)), None);
        // A station reaches the other station through the access point.
        assert_eq!(routes.get(3, Address(4)), route(3, 0));
    }
}

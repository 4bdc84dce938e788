//! Addresses and routes.
//!
//! Routes are static: fewest hops, computed once, unless a scenario fixes one. A node with one neighbour has a default route only;
//! any other node has a row with a route to every address, so that a lookup is one load.

use std::collections::VecDeque;

/// Index of a node in its network.
pub type NodeId = u16;
/// Index of an interface in its network.
pub type InterfaceId = u16;
/// Index of a medium in its network.
pub type MediumId = u16;
/// Index of an interface on its medium. On a cell, member 0 is the access point.
pub type Member = u16;

/// The medium of a virtual interface, as a TUN device is: what it transmits enters the program whose index is the interface's
/// member number.
pub const VIRTUAL: MediumId = MediumId::MAX;

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

/// Which members of a medium send directly to each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Adjacency {
    /// All of them.
    All,
    /// BSS by BSS so many members: the access point and its stations, of which each sends to the access point.
    Bsss(Vec<Member>),
    /// These pairs.
    Pairs(Vec<[Member; 2]>),
}

impl Adjacency {
    /// Whether member `from` sends directly to member `to`.
    pub fn allows(&self, from: Member, to: Member) -> bool {
        match self {
            Self::All => true,
            Self::Bsss(sizes) => {
                let mut first = 0;
                sizes.iter().any(|size| {
                    let access_point = first;
                    first += size;
                    let own = access_point..first;
                    own.contains(&from) && own.contains(&to) && (from == access_point || to == access_point)
                })
            }
            Self::Pairs(pairs) => pairs.contains(&[from, to]) || pairs.contains(&[to, from]),
        }
    }
}

/// A neighbour of a node, and the route that leads to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    /// The neighbour.
    pub node: NodeId,
    /// The interface and the member of its medium.
    pub route: Route,
}

/// A route of a node that takes the place of the one with fewest hops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FixedRoute {
    /// The node that has it.
    pub at: NodeId,
    /// The destination.
    pub to: NodeId,
    /// Where packets go.
    pub hop: Hop,
}

/// The neighbours of all nodes, and which nodes forward.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// By node, in the order of interfaces.
    hops: Vec<Vec<Hop>>,
    forwards: Vec<bool>,
    fixed: Vec<FixedRoute>,
}

/// Why there is no path between two nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoPath {
    /// Nothing leads from this node to the destination.
    Unreachable(NodeId),
    /// Several paths of equal length begin at this node, with these neighbours.
    Ambiguous(NodeId, Vec<NodeId>),
    /// The routes lead to this node a second time.
    Loop(NodeId),
    /// A route leads to this node, which does not forward.
    NotForwarded(NodeId),
}

impl Graph {
    /// The graph of nodes with these interfaces. `reaches` says whether the first member of a medium sends directly to the
    /// second; `forwards` says of each node whether it sends on packets of others.
    pub fn new(
        interfaces: &[Interface],
        reaches: impl Fn(MediumId, Member, Member) -> bool,
        forwards: Vec<bool>,
    ) -> Self {
        let mut hops = vec![Vec::new(); forwards.len()];
        let mut of_medium: Vec<Vec<usize>> = Vec::new();
        for (index, interface) in interfaces.iter().enumerate() {
            let medium = usize::from(interface.medium);
            of_medium.resize(of_medium.len().max(medium + 1), Vec::new());
            of_medium[medium].push(index);
        }
        for (own, from) in interfaces.iter().enumerate() {
            let others = of_medium[usize::from(from.medium)].iter().filter(|other| **other != own);
            for to in others.map(|other| interfaces[*other]) {
                if reaches(from.medium, from.member, to.member) {
                    let route = Route { interface: own as InterfaceId, next: to.member };
                    hops[usize::from(from.node)].push(Hop { node: to.node, route });
                }
            }
        }
        Self { hops, forwards, fixed: Vec::new() }
    }

    /// Adds routes that take the place of those with fewest hops.
    pub(crate) fn fix(&mut self, routes: impl IntoIterator<Item = FixedRoute>) {
        self.fixed.extend(routes);
    }

    /// The neighbours of a node.
    pub fn neighbours(&self, node: NodeId) -> &[Hop] {
        &self.hops[usize::from(node)]
    }

    /// The hops from one node to another, by fixed routes and otherwise by fewest hops.
    ///
    /// # Errors
    /// No path, or no single one.
    pub fn path(&self, from: NodeId, to: NodeId) -> Result<Vec<Hop>, NoPath> {
        let (mut at, mut path, mut visited) = (from, Vec::new(), vec![from]);
        while at != to {
            let fixed = self.fixed.iter().find(|route| route.at == at && route.to == to);
            let hop = match fixed {
                Some(route) => route.hop,
                None => self.next_hop(at, to)?,
            };
            if hop.node != to && !self.forwards[usize::from(hop.node)] {
                return Err(NoPath::NotForwarded(hop.node));
            }
            if visited.contains(&hop.node) {
                return Err(NoPath::Loop(hop.node));
            }
            visited.push(hop.node);
            path.push(hop);
            at = hop.node;
        }
        Ok(path)
    }

    /// The first hop of the shortest path.
    fn next_hop(&self, at: NodeId, to: NodeId) -> Result<Hop, NoPath> {
        let direct = |hop: &&Hop| hop.node == to;
        let mut candidates: Vec<Hop> = self.neighbours(at).iter().filter(direct).copied().collect();
        if candidates.is_empty() {
            let distances = self.distances(to);
            let of =
                |hop: &Hop| distances[usize::from(hop.node)].filter(|_| self.forwards[usize::from(hop.node)]);
            let least = self.neighbours(at).iter().filter_map(of).min().ok_or(NoPath::Unreachable(at))?;
            candidates.extend(self.neighbours(at).iter().filter(|hop| of(hop) == Some(least)));
        }
        match candidates.as_slice() {
            [hop] => Ok(*hop),
            several => Err(NoPath::Ambiguous(at, several.iter().map(|hop| hop.node).collect())),
        }
    }

    /// Number of hops from each node to `to`, through nodes that forward.
    fn distances(&self, to: NodeId) -> Vec<Option<u32>> {
        let mut distances = vec![None; self.hops.len()];
        distances[usize::from(to)] = Some(0);
        let mut queue = VecDeque::from([(to, 0)]);
        while let Some((at, distance)) = queue.pop_front() {
            if at != to && !self.forwards[usize::from(at)] {
                continue;
            }
            for hop in self.neighbours(at) {
                let known = &mut distances[usize::from(hop.node)];
                if known.is_none() {
                    *known = Some(distance + 1);
                    queue.push_back((hop.node, distance + 1));
                }
            }
        }
        distances
    }

    /// The routes from `node` to all nodes, by fewest hops. Among paths of equal length the first interface has priority.
    fn to_all(&self, node: usize) -> Vec<Option<Route>> {
        let mut routes = vec![None; self.hops.len()];
        let mut reached = vec![false; self.hops.len()];
        reached[node] = true;
        let mut queue: VecDeque<(usize, Option<Route>)> = VecDeque::from([(node, None)]);
        while let Some((at, first)) = queue.pop_front() {
            if at != node && !self.forwards[at] {
                continue;
            }
            for hop in &self.hops[at] {
                let to = usize::from(hop.node);
                if !std::mem::replace(&mut reached[to], true) {
                    routes[to] = first.or(Some(hop.route));
                    queue.push_back((to, routes[to]));
                }
            }
        }
        for fixed in self.fixed.iter().filter(|fixed| usize::from(fixed.at) == node) {
            routes[usize::from(fixed.to)] = Some(fixed.hop.route);
        }
        routes
    }
}

/// The routes of one node.
#[derive(Clone, Copy, Debug)]
enum Row {
    /// The node has no neighbour.
    None,
    /// The node has one neighbour, to which it sends everything.
    Default(Route),
    /// The node has several neighbours: index of its route to address 0 in the table.
    Table(usize),
}

/// The routes of all nodes.
#[derive(Clone, Debug)]
pub struct Routes {
    rows: Vec<Row>,
    table: Vec<Option<Route>>,
}

impl Routes {
    /// The routes of all nodes of a graph.
    pub fn new(graph: &Graph) -> Self {
        let mut routes = Self { rows: Vec::with_capacity(graph.hops.len()), table: Vec::new() };
        for (node, hops) in graph.hops.iter().enumerate() {
            let row = match hops.as_slice() {
                [] => Row::None,
                [only] => Row::Default(only.route),
                _ => {
                    let first = routes.table.len();
                    routes.table.extend(graph.to_all(node));
                    Row::Table(first)
                }
            };
            routes.rows.push(row);
        }
        routes
    }

    /// Lets everything that a node sends by route `old` take route `new` instead.
    pub(crate) fn redirect(&mut self, node: NodeId, old: Route, new: Route) {
        match self.rows[usize::from(node)] {
            Row::Default(route) if route == old => self.rows[usize::from(node)] = Row::Default(new),
            Row::Table(first) => {
                let row = &mut self.table[first..first + self.rows.len()];
                row.iter_mut().filter(|route| **route == Some(old)).for_each(|route| *route = Some(new));
            }
            Row::Default(_) | Row::None => {}
        }
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
        let forwards = vec![false, false, true, false, false];
        let routes = Routes::new(&Graph::new(&interfaces, |_, from, to| from == 0 || to == 0, forwards));
        let route = |interface, next| Some(Route { interface, next });
        assert_eq!(routes.get(0, Address(3)), None, "a node without an interface");
        assert_eq!(routes.get(1, Address(3)), route(0, 1));
        assert_eq!(routes.get(2, Address(1)), route(1, 0));
        assert_eq!(routes.get(2, Address(3)), route(2, 1));
        assert_eq!(routes.get(2, Address(4)), route(2, 2));
        assert_eq!(routes.get(2, Address(0)), None);
        // A station reaches the other station through the access point.
        assert_eq!(routes.get(3, Address(4)), route(3, 0));
        // Station 3 behind a virtual interface, and the station itself.
        let mut routes = routes;
        let [behind, own] = [5, 6].map(|interface| Route { interface, next: 0 });
        routes.redirect(2, Route { interface: 2, next: 1 }, behind);
        routes.redirect(3, Route { interface: 3, next: 0 }, own);
        assert_eq!((routes.get(2, Address(3)), routes.get(2, Address(4))), (Some(behind), route(2, 2)));
        assert_eq!(routes.get(3, Address(1)), Some(own));
        assert_eq!(routes.get(4, Address(1)), route(4, 0));
    }

    /// ```text
    ///     1
    ///   /   \
    /// 0       3 -- 4
    ///   \   /
    ///     2
    /// ```
    fn diamond() -> Graph {
        let wires = [(0, 1), (0, 2), (1, 3), (2, 3), (3, 4)];
        let ends = (0..).zip(wires).flat_map(|(medium, (one, other))| {
            [(one, 0), (other, 1)].map(|(node, member)| Interface { node, medium, member })
        });
        Graph::new(&ends.collect::<Vec<_>>(), |_, _, _| true, vec![false, true, true, true, false])
    }

    #[test]
    fn two_equal_paths_need_a_route() {
        let mut graph = diamond();
        assert_eq!(graph.path(0, 4), Err(NoPath::Ambiguous(0, vec![1, 2])));
        let nodes =
            |path: Result<Vec<Hop>, NoPath>| path.unwrap().iter().map(|hop| hop.node).collect::<Vec<_>>();
        let hop = graph.neighbours(0)[1];
        graph.fix([FixedRoute { at: 0, to: 4, hop }]);
        assert_eq!(nodes(graph.path(0, 4)), [2, 3, 4]);
        assert_eq!(Routes::new(&graph).get(0, Address(4)), Some(hop.route));
        // The way back has the same choice, and no route.
        assert_eq!(graph.path(4, 0), Err(NoPath::Ambiguous(3, vec![1, 2])));
    }

    #[test]
    fn loops_and_ends_that_nothing_reaches_are_found() {
        let mut graph = diamond();
        let back = *graph.neighbours(1).iter().find(|hop| hop.node == 0).unwrap();
        let forth = *graph.neighbours(0).iter().find(|hop| hop.node == 1).unwrap();
        graph.fix([FixedRoute { at: 0, to: 4, hop: forth }]);
        graph.forwards[0] = true;
        graph.fix([FixedRoute { at: 1, to: 4, hop: back }]);
        assert_eq!(graph.path(0, 4), Err(NoPath::Loop(0)));
        let mut graph = diamond();
        graph.forwards[3] = false;
        assert_eq!(graph.path(0, 4), Err(NoPath::Unreachable(0)));
        graph.fix([FixedRoute { at: 1, to: 4, hop: Hop { node: 3, ..forth } }]);
        assert_eq!(graph.path(1, 4), Err(NoPath::NotForwarded(3)));
    }
}

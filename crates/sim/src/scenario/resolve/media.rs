//! The members of cells, point-to-point links and wires.
//!
//! Cells on one channel are one medium: every radio on it receives every frame.

use airwatt_base::Span;
use airwatt_base::settings::{SettingError, Settings, in_range};
use airwatt_dot11::TxVector;
use airwatt_proto::powersave::{PowerSaveConfig, StationId};

use super::{Directory, Resolved, Resolving, StationPlace, duplicate, quoted};
use crate::limits::{MAX_RATE, MIN_RATE};
use crate::media::cell::access::category::CategoryParameters;
use crate::route::{Adjacency, Member, NodeId};
use crate::scenario::names::check_name;
use crate::scenario::topology::{Cell, CellMode, Link, LinkKind, Topology};
use crate::scenario::{
    AccessPoint, AccessPointRadio, PointToPointConfig, RadioChoice, StationGroup, Wifi, WiredDirection,
    check, large_queue,
    modes::{self, CellModes},
};

/// One medium.
#[derive(Clone, Debug)]
pub(crate) struct ResolvedMedium {
    /// Its name: of a channel that of its first cell.
    pub(crate) name: String,
    /// What it is.
    pub(crate) contents: Contents,
    /// The nodes of its members.
    pub(crate) members: Vec<NodeId>,
    /// The cells of a channel by their first members, with their names.
    cells: Vec<(Member, String)>,
}

/// What a medium is made of, by the indices of tables.
#[derive(Clone, Debug)]
pub(crate) enum Contents {
    /// Cells with access points on one channel.
    Channel(Vec<BssPlace>),
    /// An ad-hoc cell.
    AdHoc {
        /// The index of the cell.
        cell: usize,
        /// How its frames are sent.
        modes: CellModes,
        /// Its stations.
        stations: Vec<MemberStation>,
        /// The pairs of members that send to each other.
        links: Option<Vec<[Member; 2]>>,
    },
    /// A point-to-point link, and the radio at its station.
    PointToPoint(Box<(PointToPointConfig, RadioChoice)>),
    /// A wire: propagation one way, and the directions from the first node and to it.
    Wire(Span, Box<[WiredDirection; 2]>),
}

/// One cell with an access point.
#[derive(Clone, Debug)]
pub(crate) struct BssPlace {
    /// The index of the cell.
    pub(crate) cell: usize,
    /// The access point.
    pub(crate) access_point: AccessPoint,
    /// How its frames are sent.
    pub(crate) modes: CellModes,
    /// The name of the access point in random streams.
    pub(crate) stream: String,
    /// The station whose radio the access point shares.
    pub(crate) shared: Option<StationId>,
    /// The stations.
    pub(crate) stations: Vec<MemberStation>,
    /// Pairs of them that do not hear each other.
    pub(crate) hidden: Vec<[StationId; 2]>,
}

/// One station of a cell.
#[derive(Clone, Debug)]
pub(crate) struct MemberStation {
    /// Index of the `[[station]]` table that this station was expanded from.
    pub(crate) group: usize,
    /// How data frames to and from it are sent.
    pub(crate) data: TxVector,
    /// Its name in random streams.
    pub(crate) stream: String,
}

impl ResolvedMedium {
    fn new(name: &str, contents: Contents, members: Vec<NodeId>) -> Self {
        Self { name: name.to_owned(), contents, members, cells: vec![(0, name.to_owned())] }
    }

    /// Which members send to each other.
    pub(crate) fn adjacency(&self) -> Adjacency {
        match &self.contents {
            Contents::Channel(bsss) => {
                Adjacency::Bsss(bsss.iter().map(|bss| 1 + bss.stations.len() as Member).collect())
            }
            Contents::AdHoc { links: Some(links), .. } => Adjacency::Pairs(links.clone()),
            Contents::AdHoc { links: None, .. } | Contents::PointToPoint(_) | Contents::Wire(..) => {
                Adjacency::All
            }
        }
    }

    /// The name of the cell or link to which a member belongs.
    pub(crate) fn name_of(&self, member: Member) -> Option<&str> {
        self.cells.iter().rev().find(|(first, _)| *first <= member).map(|(_, name)| name.as_str())
    }
}

impl Resolved {
    /// Adds the media in their order, and the stations.
    pub(super) fn add_media(&mut self, topology: &Topology, directory: &Directory) -> Resolving<()> {
        names_are_unique(topology)?;
        let mut wireless = vec![0_u32; self.nodes.len()];
        // The medium and the first station of each cell, in the order of cells.
        for (index, cell) in topology.cell.iter().enumerate() {
            let under = |error: SettingError| error.under(index).under("cell");
            let added = match cell.mode {
                CellMode::Infrastructure => self.add_bss(topology, index, cell, directory, &mut wireless),
                CellMode::AdHoc => self.add_ad_hoc(topology, index, cell, directory, &mut wireless),
            };
            added.map_err(under)?;
        }
        for wanted in [LinkKind::PointToPoint, LinkKind::Wire] {
            let links = topology.link.iter().enumerate().filter(|(_, link)| link.kind == wanted);
            for (index, link) in links {
                self.add_link(link, directory).map_err(|error| error.under(index).under("link"))?;
            }
        }
        let mut interfaces = vec![0; self.nodes.len()];
        self.media
            .iter()
            .flat_map(|medium| &medium.members)
            .for_each(|node| interfaces[usize::from(*node)] += 1);
        for (node, count) in self.nodes.iter_mut().zip(interfaces) {
            node.forwards |= count > 1;
        }
        Ok(())
    }

    fn add_bss(
        &mut self,
        topology: &Topology,
        index: usize,
        cell: &Cell,
        directory: &Directory,
        wireless: &mut [u32],
    ) -> Resolving<()> {
        let Some(access_point) = &cell.access_point else {
            return Err(SettingError::missing("access_point", "a node, or mode \"ad-hoc\""));
        };
        if cell.links.is_some() {
            return Err(SettingError::no_effect("links", "mode \"infrastructure\"", "\"ad-hoc\""));
        }
        let at_access_point = |error: SettingError| error.under("access_point");
        let Some(name) = &access_point.node else {
            return Err(at_access_point(SettingError::missing("node", "the name of a node")));
        };
        let node = directory.one("node", name).map_err(at_access_point)?;
        let shares = access_point.radio == Some(AccessPointRadio::Shared);
        let medium = self.channel_of(topology, index, cell)?;
        let shared = if shares { Some(self.shared_radio(topology, medium, node)) } else { None };
        let shared = shared.transpose().map_err(at_access_point)?;
        self.nodes[usize::from(node)].forwards = true;
        let stream = self.stream(node, wireless, &cell.name);
        let modes = CellModes::new(&cell.wifi).map_err(|error| error.under("wifi"))?;
        let (nodes, stations) = self.stations_of(cell, modes.data, directory, wireless, Some(node))?;
        let hidden = self.hidden_pairs(topology, index, directory, &nodes)?;
        let medium = medium.unwrap_or_else(|| {
            self.media.push(ResolvedMedium::new(&cell.name, Contents::Channel(Vec::new()), Vec::new()));
            self.media.len() - 1
        });
        let ResolvedMedium { contents: Contents::Channel(bsss), members, cells, .. } =
            &mut self.media[medium]
        else {
            unreachable!("only cells with access points share a channel")
        };
        let first = members.len() as Member;
        if first > 0 {
            cells.push((first, cell.name.clone()));
        }
        let number: usize = bsss.iter().map(|bss| bss.stations.len()).sum();
        let access_point = access_point.clone();
        bsss.push(BssPlace { cell: index, access_point, modes, stream, shared, stations, hidden });
        members.push(node);
        members.extend(&nodes);
        self.place(medium, number, first + 1, &nodes, &cell.name);
        Ok(())
    }

    fn add_ad_hoc(
        &mut self,
        topology: &Topology,
        index: usize,
        cell: &Cell,
        directory: &Directory,
        wireless: &mut [u32],
    ) -> Resolving<()> {
        if cell.access_point.is_some() {
            return Err(SettingError::no_effect("access_point", "mode \"ad-hoc\"", "\"infrastructure\""));
        }
        let others = topology.cell.iter().enumerate().filter(|(other, _)| *other != index);
        if let Some((_, other)) = others
            .into_iter()
            .find(|(_, other)| cell.channel().is_some() && other.channel() == cell.channel())
        {
            let allowed = format!(
                "a channel without another cell, since this one is ad hoc and {:?} is on it",
                other.name
            );
            return Err(SettingError::out_of_range(
                "channel",
                quoted(cell.channel().unwrap_or_default()),
                allowed,
            ));
        }
        for (group, table) in cell.station.iter().enumerate() {
            if !matches!(table.power_save.like(), PowerSaveConfig::Active(_)) {
                let allowed = "\"active\", since an ad-hoc cell has no access point that could buffer";
                let error = SettingError::out_of_range(
                    "power_save.policy",
                    format!("{:?}", table.power_save.name()),
                    allowed,
                );
                return Err(error.under(group).under("station"));
            }
        }
        let modes = CellModes::new(&cell.wifi).map_err(|error| error.under("wifi"))?;
        let (nodes, stations) = self.stations_of(cell, modes.data, directory, wireless, None)?;
        if nodes.len() < 2 {
            return Err(SettingError::out_of_range(
                "station",
                format!("{} stations", nodes.len()),
                "at least 2, since the cell is ad hoc",
            ));
        }
        let member = |name: &String| {
            let node = directory.one("", name)?;
            let place = nodes.iter().position(|other| *other == node).map(|place| place as Member);
            place.ok_or_else(|| SettingError::out_of_range("", quoted(name), "a station of this cell"))
        };
        let pair = |(number, names): (usize, &Vec<String>)| {
            let found = match names.as_slice() {
                [one, other] => member(one).and_then(|one| Ok([one, member(other)?])),
                _ => Err(SettingError::out_of_range("", format!("{names:?}"), "two names")),
            };
            found.map_err(|error| error.under(number).under("links"))
        };
        let links =
            cell.links.as_ref().map(|links| links.iter().enumerate().map(pair).collect::<Resolving<_>>());
        let contents = Contents::AdHoc { cell: index, modes, stations, links: links.transpose()? };
        self.media.push(ResolvedMedium::new(&cell.name, contents, nodes.clone()));
        self.place(self.media.len() - 1, 0, 0, &nodes, &cell.name);
        Ok(())
    }

    fn add_link(&mut self, link: &Link, directory: &Directory) -> Resolving<()> {
        let [one, other] = link.between.as_slice() else {
            let got = format!("{} names", link.between.len());
            return Err(SettingError::out_of_range("between", got, "the names of two nodes"));
        };
        let ends = [directory.one("between", one)?, directory.one("between", other)?];
        if ends[0] == ends[1] {
            return Err(SettingError::out_of_range(
                "between",
                format!("{one:?} twice"),
                "two different nodes",
            ));
        }
        self.media.push(ResolvedMedium::new(&link.name, contents(link)?, ends.to_vec()));
        if link.kind == LinkKind::PointToPoint {
            self.place(self.media.len() - 1, 0, 1, &ends[1..], &link.name);
        }
        Ok(())
    }

    /// The medium of the earlier cells on the same channel.
    fn channel_of(&self, topology: &Topology, index: usize, cell: &Cell) -> Resolving<Option<usize>> {
        let Some(channel) = cell.channel() else { return Ok(None) };
        let earlier = topology.cell[..index].iter().position(|other| other.channel() == Some(channel));
        let Some(earlier) = earlier else { return Ok(None) };
        let other = &topology.cell[earlier];
        if let Some((key, expected, got)) = difference(&other.wifi, &cell.wifi) {
            let allowed = format!("{expected}, as in cell {:?} on the same channel", other.name);
            return Err(SettingError::out_of_range(key, got, allowed).under("wifi"));
        }
        let has = |medium: &ResolvedMedium| match &medium.contents {
            Contents::Channel(bsss) => bsss.iter().any(|bss| bss.cell == earlier),
            _ => false,
        };
        Ok(self.media.iter().position(has))
    }

    /// The station of a node whose radio its access point shares.
    fn shared_radio(&self, topology: &Topology, medium: Option<usize>, node: NodeId) -> Resolving<StationId> {
        let place = self.stations.iter().find(|place| Some(place.medium) == medium && place.node == node);
        let (Some(StationPlace { number, .. }), Some(medium)) = (place, medium) else {
            let got = format!("\"shared\" at {}, which is no station there", quoted(self.name(node)));
            return Err(SettingError::out_of_range("radio", got, NO_SHARED));
        };
        let Some(group) = self.station_group(topology, medium, *number) else { return Ok(*number) };
        let refused = |what: &str, allowed: &str| {
            let got = format!("{what} of station {}", quoted(self.name(node)));
            Err(SettingError::out_of_range("radio", got, allowed))
        };
        match group.power_save.like() {
            PowerSaveConfig::Active(_) if group.scan.is_none() => Ok(*number),
            PowerSaveConfig::Active(_) => {
                refused("the scans", "no scans, since an access point's radio does not leave its channel")
            }
            _ => refused(
                &format!("{:?}", group.power_save.name()),
                "power_save policy \"active\", since an access point's radio does not sleep",
            ),
        }
    }

    /// The table of a station; `None` on a point-to-point link, where stations have none.
    pub(crate) fn station_group<'a>(
        &self,
        topology: &'a Topology,
        medium: usize,
        number: StationId,
    ) -> Option<&'a StationGroup> {
        let number = number as usize;
        let (cell, station) = match &self.media[medium].contents {
            Contents::Channel(bsss) => {
                let mut stations =
                    bsss.iter().flat_map(|bss| bss.stations.iter().map(|station| (bss.cell, station)));
                stations.nth(number)?
            }
            Contents::AdHoc { cell, stations, .. } => (*cell, stations.get(number)?),
            Contents::PointToPoint(_) | Contents::Wire(..) => return None,
        };
        Some(&topology.cell[cell].station[station.group])
    }

    /// The nodes of a cell's stations with their tables.
    fn stations_of(
        &self,
        cell: &Cell,
        data: TxVector,
        directory: &Directory,
        wireless: &mut [u32],
        access_point: Option<NodeId>,
    ) -> Resolving<(Vec<NodeId>, Vec<MemberStation>)> {
        let (mut nodes, mut stations) = (Vec::new(), Vec::new());
        for (group, table) in cell.station.iter().enumerate() {
            let under = |error: SettingError| error.under(group).under("station");
            if table.count != 1 {
                return Err(under(SettingError::no_effect("count", "a [[cell]]", "the [[node]]")));
            }
            let Some(names) = &table.node else {
                return Err(under(SettingError::missing("node", "the name of a node")));
            };
            let own = modes::of_station(table, cell.wifi.standard).map_err(under)?;
            for node in directory.list("node", names).map_err(under)? {
                if nodes.contains(&node) || access_point == Some(node) {
                    let got = format!("{} twice", quoted(self.name(node)));
                    return Err(under(SettingError::out_of_range("node", got, "each node once in a cell")));
                }
                nodes.push(node);
                let stream = self.stream(node, wireless, &cell.name);
                stations.push(MemberStation { group, data: own.unwrap_or(data), stream });
            }
        }
        Ok((nodes, stations))
    }

    /// The pairs of stations of a cell that do not hear each other. `nodes` are the stations in their order.
    fn hidden_pairs(
        &self,
        topology: &Topology,
        index: usize,
        directory: &Directory,
        nodes: &[NodeId],
    ) -> Resolving<Vec<[StationId; 2]>> {
        let cell = &topology.cell[index];
        let mut pairs = Vec::new();
        for (group, table) in cell.station.iter().enumerate() {
            let under = |error: SettingError| error.under(group).under("station");
            let (Some(others), Some(names)) = (&table.hidden_from, &table.node) else { continue };
            let triggered = |table: &StationGroup| {
                table.power_save.like().wake_request().is_some_and(|request| request.trigger_enabled)
            };
            if cell.station.iter().any(triggered) {
                return Err(under(SettingError::no_effect(
                    "hidden_from",
                    "a cell with trigger-enabled agreements",
                    "stations that contend",
                )));
            }
            let alone = topology.cell.iter().filter(|other| other.channel() == cell.channel()).count() == 1;
            if cell.channel().is_some() && !alone {
                let allowed = "a cell without another one on its channel";
                return Err(under(SettingError::no_effect(
                    "hidden_from",
                    "several cells of one channel",
                    allowed,
                )));
            }
            let place = |node: NodeId| {
                let place = nodes.iter().position(|other| *other == node).map(|place| place as StationId);
                place.ok_or_else(|| {
                    SettingError::out_of_range(
                        "hidden_from",
                        quoted(self.name(node)),
                        "a station of this cell",
                    )
                })
            };
            let before = pairs.len();
            for other in directory.list("hidden_from", others).map_err(under)? {
                let other = place(other).map_err(under)?;
                for own in directory.list("node", names).map_err(under)? {
                    let own = place(own).map_err(under)?;
                    if own != other {
                        pairs.push([own, other]);
                    }
                }
            }
            if pairs.len() == before {
                let allowed = "another station of this cell";
                return Err(under(SettingError::out_of_range("hidden_from", "the station itself", allowed)));
            }
        }
        Ok(pairs)
    }

    /// The name of a node's next wireless interface in random streams: no two interfaces share numbers.
    fn stream(&self, node: NodeId, wireless: &mut [u32], cell: &str) -> String {
        let name = &self.nodes[usize::from(node)].stream;
        let earlier = &mut wireless[usize::from(node)];
        *earlier += 1;
        if *earlier == 1 { name.clone() } else { format!("{name}/{cell}") }
    }

    fn place(&mut self, medium: usize, first: usize, first_member: Member, nodes: &[NodeId], cell: &str) {
        self.stations.extend((0..).zip(nodes).map(|(index, node)| StationPlace {
            node: *node,
            medium,
            number: first as StationId + index,
            member: first_member + index as Member,
            cell: cell.to_owned(),
        }));
    }
}

const NO_SHARED: &str = "a node that is a station of an earlier cell on the same channel";

/// Cells and links have names of their own.
fn names_are_unique(topology: &Topology) -> Resolving<()> {
    let links = topology.link.iter().enumerate().map(|(index, link)| ("link", index, &link.name));
    let cells = topology.cell.iter().enumerate().map(|(index, cell)| ("cell", index, &cell.name));
    let mut known = Vec::new();
    for (table, index, name) in links.chain(cells) {
        let under = |error: SettingError| error.under(index).under(table);
        check_name("name", name).map_err(under)?;
        if known.contains(&name) {
            return Err(under(duplicate("name", name, "link or cell")));
        }
        known.push(name);
    }
    Ok(())
}

/// The first setting of the channel in which two cells differ, with both values.
fn difference(one: &Wifi, other: &Wifi) -> Option<(&'static str, String, String)> {
    let shown = |wifi: &Wifi| {
        [
            ("standard", wifi.standard.name().to_owned()),
            ("data_rate", wifi.data_rate.map_or_else(|| "none".to_owned(), |rate| rate.to_string())),
            ("mode", wifi.mode.map_or_else(|| "none".to_owned(), |mode| mode.to_string())),
            ("rate_control", format!("{:?}", wifi.rate_control)),
            ("control_rate", wifi.control_rate.map_or_else(|| "none".to_owned(), |rate| rate.to_string())),
            ("beacon_rate", wifi.beacon_rate.map_or_else(|| "none".to_owned(), |rate| rate.to_string())),
            ("group_rate", wifi.group_rate.map_or_else(|| "none".to_owned(), |rate| rate.to_string())),
            ("short_preamble", wifi.short_preamble.to_string()),
            ("access", format!("{:?}", wifi.access).to_lowercase()),
            ("categories", wifi.categories.map_or("none", CategoryParameters::name).to_owned()),
            ("txop", wifi.txop.to_string()),
            ("mac_overhead", wifi.mac_overhead.to_string()),
            ("frame_error_rate", wifi.frame_error_rate.to_string()),
            ("response_error_rate", wifi.response_error_rate.to_string()),
            (
                "aggregation",
                wifi.aggregation.map_or_else(|| "none".to_owned(), |aggregation| format!("{aggregation:?}")),
            ),
            (
                "path_loss",
                wifi.path_loss.as_ref().map_or_else(|| "none".to_owned(), |loss| format!("{loss:?}")),
            ),
        ]
    };
    let pairs = shown(one).into_iter().zip(shown(other));
    pairs.into_iter().find(|(one, other)| one != other).map(|((key, one), (_, other))| (key, one, other))
}

/// What a link is, whose keys go together.
fn contents(link: &Link) -> Resolving<Contents> {
    in_range("delay", link.delay, Span::ZERO, check::MAX_ROUND_TRIP)?;
    let given = |key: &'static str, is: bool| is.then_some(key);
    let of_hop = [
        given("rate", link.rate.is_some()),
        given("queue", link.queue.is_some()),
        given("cut_through", link.cut_through.is_some()),
        given("errors", link.errors.is_some()),
        given("radio", link.radio.is_some()),
    ];
    let of_wire = [given("forward", link.forward.is_some()), given("reverse", link.reverse.is_some())];
    match link.kind {
        LinkKind::Wire => {
            if let Some(key) = of_hop.into_iter().flatten().next() {
                return Err(SettingError::no_effect(
                    key,
                    "kind \"wire\"",
                    "\"point-to-point\", or forward and reverse",
                ));
            }
            let direction = |key: &str, given: &Option<WiredDirection>| -> Resolving<WiredDirection> {
                let expected = "a table such as { rate = \"16Mbps\" }";
                let direction = given.clone().ok_or_else(|| SettingError::missing(key, expected))?;
                check::wired_direction(&direction).map_err(|error| error.under(key))?;
                Ok(direction)
            };
            let both = [direction("forward", &link.forward)?, direction("reverse", &link.reverse)?];
            Ok(Contents::Wire(link.delay, Box::new(both)))
        }
        LinkKind::PointToPoint => {
            if let Some(key) = of_wire.into_iter().flatten().next() {
                return Err(SettingError::no_effect(key, "kind \"point-to-point\"", "\"wire\""));
            }
            let Some(rate) = link.rate else {
                return Err(SettingError::missing("rate", "the rate of each direction, such as 1Mbps"));
            };
            in_range("rate", rate, MIN_RATE, MAX_RATE)?;
            let queue = link.queue.unwrap_or_else(large_queue);
            check::queue("queue", queue)?;
            let errors = link.errors.clone().unwrap_or_default();
            errors.check().map_err(|error| error.under("errors"))?;
            let (delay, cut_through) = (link.delay, link.cut_through.unwrap_or(false));
            let radio = link.radio.clone().unwrap_or_else(|| StationGroup::default().radio);
            Ok(Contents::PointToPoint(Box::new((
                PointToPointConfig { rate, delay, queue, cut_through, errors },
                radio,
            ))))
        }
    }
}

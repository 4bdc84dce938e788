//! Constructors of a cell: which members it has, and which contenders, radios, slots and random streams they use.

use std::ops::Range;

use airwatt_base::{Instant, RandomStream, Schedule, Slot, Span};
use airwatt_dot11::TxVector;
use airwatt_proto::powersave::{StationId, StationPolicy};

use super::access::category::{Category, CategoryCounts, DataAccess};
use super::access::contention::{Access, ContenderId, Contention};
use super::air::channel::Channel;
use super::air::hidden::Hidden;
use super::air::sniffer::Sniffer;
use super::config::{Bss, CellConfig, CellStation, MsduLifetime};
use super::frame::{ModeId, Node};
use super::group::GroupSources;
use super::mac::{AccessPointMac, ExternalMac, Mac, PeerMac, StationMac};
use super::phy::rates::{self, LinkPlan, LinkRates, RateControl};
use super::radio::{RadioId, Radios};
use super::{CellMedium, Contender};
use crate::route::Member;

/// The modes of data to and from a station.
struct StationModes {
    /// The configured one.
    own: ModeId,
    /// The vectors between which rate control chooses, in groups.
    groups: Vec<Vec<TxVector>>,
    /// The modes of these vectors.
    others: Vec<ModeId>,
}

impl CellMedium {
    /// Makes a cell with several access points in range of each other. Stations are numbered BSS by BSS. The random stream of
    /// its noise is called after `name`.
    ///
    /// Panics if there is none, if their settings of the channel differ, or if an access point shares the radio of a station
    /// that is not in an earlier BSS or whose policy lets it sleep.
    pub(crate) fn with_access_points(name: &str, bsss: &[Bss], seed: u64) -> Self {
        let first_bss = bsss.first().expect("a cell has an access point");
        let first = &first_bss.config;
        let of_channel = |config: &CellConfig| {
            let CellConfig { standard, data, control, beacon, group_data, .. } = *config;
            let CellConfig { short_preamble, access, txop, categories, .. } = *config;
            let access = (access, txop, categories);
            (standard, data, control, beacon, group_data, short_preamble, access)
        };
        let stations: usize = bsss.iter().map(|bss| bss.stations.len()).sum();
        let mut cell = Self::empty(name, first, bsss.len(), stations, seed);
        let mut policies = Vec::new();
        for bss in bsss {
            assert_eq!(of_channel(&bss.config), of_channel(first), "one channel has one PHY");
            if let Some(id) = bss.shared_radio {
                let policy: &StationPolicy =
                    policies.get(id as usize).expect("the station is in an earlier BSS");
                assert!(policy.never_sleeps(), "the radio of an access point does not sleep");
            }
            cell.add_access_point(bss, seed);
            for station in &bss.stations {
                cell.add_station(&bss.config, station, seed);
                policies.push(station.policy.clone());
            }
        }
        if bsss.iter().any(|bss| !bss.hidden.is_empty()) {
            assert!(
                bsss.len() == 1 && first_bss.shared_radio.is_none(),
                "one access point with a radio of its own"
            );
            cell.hide(&first_bss.hidden, first);
        }
        cell
    }

    /// Lets these pairs of stations not hear each other. All contenders are there, and none waits.
    pub(super) fn hide(&mut self, pairs: &[[StationId; 2]], config: &CellConfig) {
        let pairs: Vec<[Member; 2]> =
            pairs.iter().map(|pair| pair.map(|station| self.stations[station as usize])).collect();
        let owners = self.contenders.iter().map(|contender| contender.member).collect();
        let rules = (config.capture_ratio, self.channel.eifs_less_difs());
        self.hidden = Some(Box::new(Hidden::new(self.macs.len(), &pairs, &self.contention, owners, rules)));
        self.channel.overlap();
    }

    /// Makes a cell whose stations form an ad-hoc network. The settings of the access point have no effect.
    pub(crate) fn ad_hoc(name: &str, config: &CellConfig, stations: &[CellStation], seed: u64) -> Self {
        let mut cell = Self::empty(name, config, 0, stations.len(), seed);
        for station in stations {
            cell.add_peer(config, station, seed);
        }
        cell
    }

    /// Makes a cell of nodes outside the simulator, whose frames and whose sleep are decided there. Each may send beacons and have
    /// stations; of the settings of access points, of access categories and of power save none has an effect.
    pub fn external(name: &str, config: &CellConfig, nodes: &[CellStation], seed: u64) -> Self {
        let config = &CellConfig { categories: None, ..config.clone() };
        let mut cell = Self::empty(name, config, 0, nodes.len(), seed);
        for node in nodes {
            cell.add_external(config, node, seed);
        }
        cell
    }

    fn empty(name: &str, config: &CellConfig, access_points: usize, stations: usize, seed: u64) -> Self {
        let first_station_slot = access_points as Slot;
        Self {
            macs: Vec::with_capacity(access_points + stations),
            access_points: Vec::new(),
            stations: Vec::with_capacity(stations),
            contenders: Vec::new(),
            pairs: Vec::new(),
            channel: Channel::new(config, RandomStream::new(seed, &format!("{name}/noise"))),
            contention: Contention::new(config.standard.timing().slot, config.access),
            hidden: None,
            radios: Radios::default(),
            medium_due: Instant::FOREVER,
            schedule: Schedule::new(first_station_slot as usize + 2 * stations),
            first_station_slot,
            outputs: Vec::new(),
            sniffer: Sniffer::default(),
            categories: config.categories.map(|_| [CategoryCounts::default(); 4]),
            winners: Vec::new(),
            aggregates: config.aggregation.mpdus != Some(1),
            has_lifetimes: config.msdu_lifetime != MsduLifetime::default(),
            charges_air_time: false,
            shares: Vec::new(),
            lengths: Vec::new(),
        }
    }

    fn add_access_point(&mut self, bss: &Bss, seed: u64) {
        let Bss { config, name, .. } = bss;
        let radio = bss.shared_radio;
        self.charges_air_time |= config.ap_queue.charges_air_time();
        let member = self.macs.len() as Member;
        let data = self.add_data_contenders(&config.data_accesses(true), member, radio, name, seed);
        self.add_beacon_contender(config, member, radio, name, seed);
        if let Some(id) = radio {
            let station = &self.macs[self.stations[id as usize] as usize];
            self.pairs.push([station.contenders(), data.clone()]);
        }
        self.channel.add_access_point();
        self.sniffer.add(Node::AccessPoint, self.access_points.len());
        let slot = self.access_points.len() as Slot;
        let sources = GroupSources::new(&config.group, name, seed);
        let mac = AccessPointMac::new(config, member, data, radio, slot, sources);
        self.schedule.set(slot, mac.due());
        self.access_points.push(member);
        self.macs.push(Mac::AccessPoint(Box::new(mac)));
    }

    fn add_station(&mut self, config: &CellConfig, station: &CellStation, seed: u64) {
        let access_point = self.access_points.last().copied().expect("a station follows its access point");
        let (radio, member, contenders, modes) = self.add_radio(config, station, seed);
        let down = self.links(config, station, &modes, (true, seed));
        let up = self.links(config, station, &modes, (false, seed));
        let sender = self.macs[access_point as usize].contenders().start;
        if let Mac::AccessPoint(mac) = &mut self.macs[access_point as usize] {
            mac.add_station(&station.policy, &down);
        }
        let slot = self.first_station_slot + 2 * radio;
        let ends = [member, access_point];
        let mac = StationMac::new(config, station, radio, ends, (contenders, sender), &up, slot, seed);
        self.schedule.set(slot, mac.due());
        self.macs.push(Mac::Station(Box::new(mac)));
    }

    fn add_peer(&mut self, config: &CellConfig, station: &CellStation, seed: u64) {
        let (radio, member, contenders, modes) = self.add_radio(config, station, seed);
        let links = self.links(config, station, &modes, (false, seed));
        let slot = self.first_station_slot + 2 * radio;
        let mac = PeerMac::new(config, station.buffer, radio, member, contenders, &links, slot);
        self.macs.push(Mac::Peer(Box::new(mac)));
    }

    fn add_external(&mut self, config: &CellConfig, node: &CellStation, seed: u64) {
        let (radio, member, data, StationModes { own: mode, .. }) = self.add_radio(config, node, seed);
        let beacon = self.add_beacon_contender(config, member, Some(radio), &node.name, seed);
        let slot = self.first_station_slot + 2 * radio;
        let mac = ExternalMac::new(config, radio, member, [data.start, beacon], mode, slot);
        self.macs.push(Mac::External(Box::new(mac)));
    }

    /// Adds what every kind of station has. Returns its radio, its member, its contenders for data and the mode of data.
    fn add_radio(
        &mut self,
        config: &CellConfig,
        station: &CellStation,
        seed: u64,
    ) -> (RadioId, Member, Range<ContenderId>, StationModes) {
        let member = self.macs.len() as Member;
        let radio = self.radios.add(station.radio.clone());
        self.stations.push(member);
        let accesses = config.data_accesses(false);
        let contenders = self.add_data_contenders(&accesses, member, Some(radio), &station.name, seed);
        let groups = match config.rate_control {
            RateControl::Fixed => Vec::new(),
            RateControl::MinstrelHt => rates::groups(&station.data),
        };
        let (own, others) = self.channel.add_station(station, &groups);
        self.sniffer.add(Node::Station(radio), self.access_points.len().saturating_sub(1));
        (radio, member, contenders, StationModes { own, groups, others })
    }

    /// The links of each category to a station, or from it.
    fn links(
        &self,
        config: &CellConfig,
        station: &CellStation,
        modes: &StationModes,
        (down, seed): (bool, u64),
    ) -> Vec<LinkPlan> {
        let accesses = config.data_accesses(down);
        let categories: &[Category] =
            if accesses.len() == 1 { &[Category::BestEffort] } else { &Category::DATA };
        let of = |(access, category): (&DataAccess, &Category)| {
            let link = |mode| self.channel.link(config, station, mode, (*category, access.txop));
            let with_rates = |groups: &Vec<Vec<TxVector>>| {
                let direction = if down { "down" } else { "up" };
                let name = format!("{}/rates/{direction}/{}", station.name, category.name());
                let links = modes.others.iter().map(|mode| link(*mode)).collect();
                let band = config.standard.band();
                Box::new(LinkRates::new(groups, links, band, &mut RandomStream::new(seed, &name)))
            };
            let rates = (!modes.groups.is_empty()).then(|| with_rates(&modes.groups));
            LinkPlan { link: link(modes.own), rates }
        };
        accesses.iter().zip(categories).map(of).collect()
    }

    /// Adds a contender for each category of data, or one. Each has a random stream of its own.
    fn add_data_contenders(
        &mut self,
        accesses: &[DataAccess],
        member: Member,
        radio: Option<RadioId>,
        name: &str,
        seed: u64,
    ) -> Range<ContenderId> {
        let first = self.contenders.len() as ContenderId;
        for (category, DataAccess { access, txop }) in Category::DATA.iter().zip(accesses) {
            let (category, stream) = match accesses.len() {
                1 => (Category::BestEffort, format!("{name}/backoff")),
                _ => (*category, format!("{name}/backoff/{}", category.name())),
            };
            let contender = Contender { member, category, radio, txop: *txop };
            self.add_contender(contender, *access, RandomStream::new(seed, &stream));
        }
        first..self.contenders.len() as ContenderId
    }

    /// Adds the contender for beacons. They precede data: they wait for PIFS and have no backoff.
    fn add_beacon_contender(
        &mut self,
        config: &CellConfig,
        member: Member,
        radio: Option<RadioId>,
        name: &str,
        seed: u64,
    ) -> ContenderId {
        let timing = config.standard.timing();
        let access = Access { aifs: timing.sifs + timing.slot, cw_min: 0, cw_max: 0 };
        let contender = Contender { member, category: Category::Beacon, radio, txop: Span::ZERO };
        self.add_contender(contender, access, RandomStream::new(seed, &format!("{name}/beacon")))
    }

    fn add_contender(&mut self, contender: Contender, access: Access, backoff: RandomStream) -> ContenderId {
        self.contenders.push(contender);
        self.contention.add(access, backoff)
    }
}

//! What a reader of a trace must know of a network, and the results of its cells, access points and links.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use airwatt_base::{Instant, Span};
use airwatt_dot11::AccessParameters;
use airwatt_energy::{HostLedger, HostSeconds, Radio, RadioState};
use airwatt_proto::powersave::StationId;

use super::{
    AccessPointResult, AirResult, CategoryResult, CellSetting, HostResult, ImpairmentResult, LinkDirection,
    LinkResult, NamedCell, Setting, StationSetting,
};
use crate::engine::Fingerprint;
use crate::media::cell::access::category::{Category, CategoryCounts, DataAccess};
use crate::media::cell::{CellConfig, CellMedium};
use crate::media::{Medium, PipeStatistics};
use crate::net::plan::CellPlan;
use crate::net::{MediumKind, Network};
use crate::route::NodeId;
use crate::scenario::Scenario;
use crate::stack::impairment::ImpairmentCounts;
use crate::stack::program::Report;

impl Network {
    /// What a reader of this run's trace must know of it.
    pub(crate) fn setting(&self, scenario: &Scenario, seed: u64) -> Setting {
        let cells = self.cell_settings();
        // Without frames there is no telling what a radio did when.
        let stations = (0..).zip(self.plan.stations()).filter_map(|(id, (medium, _, station))| {
            let station = station.in_cell()?;
            Some(StationSetting {
                medium,
                aid: self.aid(id),
                to_sleep: station.radio.to_sleep.time,
                uapsd: station.policy.needs_uapsd(),
                powers: RadioState::ALL.map(|state| station.radio.power(state)),
            })
        });
        let stations: Vec<StationSetting> = stations.collect();
        let mut profiles = BTreeMap::new();
        let radios = self.plan.stations().map(|(.., station)| {
            let radio = station.radio();
            let name = &radio.name;
            let rate = station.in_cell().map(|station| station.data.rate());
            let shipped = Radio::find(name).ok().filter(|_| !Radio::is_file(name));
            let shipped = shipped.map(|shipped| rate.map_or(shipped.clone(), |rate| shipped.at_rate(rate)));
            if shipped.is_some_and(|shipped| shipped == *radio) {
                return name.clone();
            }
            // Two files may have one name: the hash tells them apart, also those of several captures.
            let text = radio.to_toml();
            let mut print = Fingerprint::default();
            print.add_text(&text);
            let name = format!("{name} #{:016x}", print.value());
            profiles.entry(name.clone()).or_insert(text);
            name
        });
        let radios = radios.collect();
        Setting {
            scenario: scenario.name.clone(),
            seed,
            stations,
            radios,
            profiles,
            cells,
            addresses: self.addresses(),
            mtu_bytes: self.plan.tcp.full_packet_bytes(),
            receive_window_bytes: self.plan.tcp.receive_window,
            packets: Vec::new(),
        }
    }

    fn cell_settings(&self) -> Vec<CellSetting> {
        let of = |cell: &CellPlan| {
            let medium = &self.plan.media[usize::from(cell.medium)];
            let (config, bss) = match &medium.kind {
                MediumKind::Cell(bsss) => {
                    let bss = &bsss[cell.bss?];
                    (&bss.config, Some(bss))
                }
                MediumKind::AdHoc(network) => (&network.channel, None),
                MediumKind::Wire(_) | MediumKind::PointToPoint(..) => return None,
            };
            let node = self.plan.access_point(cell);
            Some(CellSetting {
                name: cell.name.clone(),
                medium: cell.medium,
                channel: cell.channel.clone(),
                bss: cell.bss.unwrap_or_default() as u16,
                access_point: node.map(|node| self.plan.nodes[usize::from(node)].name.clone()),
                shared_radio: bss
                    .and_then(|bss| bss.shared_radio)
                    .and_then(|number| self.plan.station_of(cell.medium, number)),
                standard: config.standard,
                short_preamble: config.short_preamble,
                beacon_interval: config.power_save.beacon_interval,
                dtim_period: config.power_save.dtim_period,
                uapsd: cell.uapsd,
                schedule: config.power_save.schedule(),
                access: access_of(config),
            })
        };
        self.plan.cells.iter().filter_map(of).collect()
    }

    /// The association identifier of a station: its number in its cell, from 1.
    fn aid(&self, station: StationId) -> u16 {
        let place = &self.plan.stations[station as usize];
        let before = self.plan.stations[..station as usize].iter().filter(|other| other.cell == place.cell);
        before.count() as u16 + 1
    }

    /// An IP address for each node: stations by their numbers, and the others from the server on.
    fn addresses(&self) -> Vec<Ipv4Addr> {
        let server = self.plan.server();
        let mut further = 1_u16;
        let address = |node: NodeId| {
            let station = self.plan.stations.iter().position(|station| station.node == node);
            let (net, number) = match station {
                Some(station) => (1, station as u16 + 1),
                None if node == server => (0, 1),
                None => {
                    further += 1;
                    (0, further)
                }
            };
            let [high, low] = number.to_be_bytes();
            Ipv4Addr::new(10, net, high, low)
        };
        (0..self.plan.nodes.len() as NodeId).map(address).collect()
    }

    /// The cells in the order of the scenario. Cells on one channel share its counts of frames.
    pub(super) fn cell_results(&self, end: Instant) -> Vec<NamedCell> {
        let of = |plan: &CellPlan| {
            let Medium::Cell(cell) = &self.media[usize::from(plan.medium)].medium else { return None };
            let ap_drops = plan.bss.map_or(0, |bss| cell.access_point_drops(bss).0);
            Some(NamedCell {
                name: plan.name.clone(),
                channel: plan.channel.clone(),
                air: AirResult { ap_drops, ..air_of_cell(cell, end) },
                categories: cell.category_counts().map(category_results),
            })
        };
        self.plan.cells.iter().filter_map(of).collect()
    }

    /// The access points in the order of their cells.
    pub(super) fn access_point_results(&self) -> Vec<AccessPointResult> {
        let of = |plan: &CellPlan| {
            let Medium::Cell(cell) = &self.media[usize::from(plan.medium)].medium else { return None };
            let MediumKind::Cell(bsss) = &self.plan.media[usize::from(plan.medium)].kind else { return None };
            let (bss, node) = (plan.bss?, self.plan.access_point(plan)?);
            let (drops, retry_limit_drops) = cell.access_point_drops(bss);
            Some(AccessPointResult {
                node: self.plan.nodes[usize::from(node)].name.clone(),
                cell: plan.name.clone(),
                shares_radio_of: bsss[bss]
                    .shared_radio
                    .and_then(|number| self.plan.station_of(plan.medium, number)),
                drops,
                retry_limit_drops,
            })
        };
        self.plan.cells.iter().filter_map(of).collect()
    }

    /// The wires and point-to-point links, in the order of their tables and kinds.
    pub(super) fn link_results(&self) -> Vec<LinkResult> {
        let links = self.media.iter().zip(&self.plan.media).filter_map(|(entry, plan)| {
            let (kind, statistics, rates) = match (&entry.medium, &plan.kind) {
                (Medium::Wire(wire), MediumKind::Wire(pipes)) => (
                    "wire",
                    [wire.down(), wire.up()].map(|pipe| pipe.statistics()),
                    pipes.map(|pipe| pipe.rate),
                ),
                (Medium::PointToPoint(hop), MediumKind::PointToPoint(config, _)) => {
                    let statistics = [hop.down(), hop.up()].map(|pipe| pipe.statistics());
                    ("point-to-point", statistics, [Some(config.rate); 2])
                }
                _ => return None,
            };
            let direction = |index: usize| {
                let PipeStatistics { offered, dropped, damaged } = statistics[index];
                let rate_bps = rates[index].map_or(0.0, |rate| rate.as_bps() as f64);
                LinkDirection { rate_bps, packets: offered - dropped, queue_drops: dropped, damaged }
            };
            let between = [0, 1].map(|end| self.plan.nodes[usize::from(plan.members[end])].name.clone());
            Some(LinkResult {
                name: plan.name.clone(),
                kind,
                between,
                forward: direction(0),
                reverse: direction(1),
            })
        });
        links.collect()
    }

    /// What hosts drew beside their radios, in the order of their nodes.
    pub(super) fn host_results(&self) -> Vec<HostResult> {
        let of = |(name, ledger): (&str, &HostLedger)| HostResult {
            node: name.to_owned(),
            profile: ledger.host().name.clone(),
            energy_j: ledger.energy().as_joules(),
            idealized_energy_j: ledger.idealized_energy().as_joules(),
            marginal_energy_j: ledger.marginal_energy().as_joules(),
            time_s: HostSeconds::of(ledger),
        };
        self.hosts().map(of).collect()
    }

    /// What impairments did, in the order of their nodes.
    pub(super) fn impairment_results(&self) -> Vec<ImpairmentResult> {
        let of = |(node, report): (NodeId, Report)| {
            let Report::Impairment(counts) = report else { return None };
            let ImpairmentCounts { forwarded, lost, lost_in_bursts, lost_in_outages, queue_drops, reordered } =
                counts;
            let node = self.plan.nodes[usize::from(node)].name.clone();
            Some(ImpairmentResult {
                node,
                forwarded,
                lost,
                lost_in_bursts,
                lost_in_outages,
                queue_drops,
                reordered,
            })
        };
        self.reports().filter_map(of).collect()
    }
}

/// What was sent in each category.
fn category_results(counts: &[CategoryCounts; 4]) -> Vec<CategoryResult> {
    let of = |(category, counts): (&Category, &CategoryCounts)| {
        let CategoryCounts { frames, retries, internal_collisions } = *counts;
        CategoryResult { category: category.name(), frames, retries, internal_collisions }
    };
    Category::DATA.iter().zip(counts).map(of).collect()
}

/// The access parameters of a cell's stations, in the order in which beacons announce them.
fn access_of(config: &CellConfig) -> [AccessParameters; 4] {
    let (timing, accesses) = (config.standard.timing(), config.data_accesses(false));
    [Category::BestEffort, Category::Background, Category::Video, Category::Voice].map(|category| {
        let place = if accesses.len() == 1 { 0 } else { category as usize };
        let DataAccess { access, txop } = accesses[place];
        let aifsn = access.aifs.saturating_sub(timing.sifs).whole(timing.slot);
        let aifsn = u8::try_from(aifsn).unwrap_or(u8::MAX);
        AccessParameters { aifsn, cw_min: access.cw_min, cw_max: access.cw_max, txop }
    })
}

pub(super) fn share_of(busy: Span, end: Instant) -> f64 {
    if end == Instant::ZERO { 0.0 } else { busy.as_secs_f64() / end.as_secs_f64() }
}

pub(super) fn air_of_cell(cell: &CellMedium, end: Instant) -> AirResult {
    let statistics = cell.statistics();
    AirResult {
        airtime_utilization: share_of(cell.airborne(end), end),
        frames: statistics.frames,
        mpdus: statistics.mpdus,
        retries: statistics.retries,
        collisions: statistics.collisions,
        ap_drops: statistics.ap_drops,
        retry_limit_drops: statistics.given_up,
        lifetime_drops: statistics.expired,
    }
}

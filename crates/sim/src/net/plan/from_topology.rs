//! From a topology in names to a plan in numbers and settings of machines.

use airwatt_base::{Distance, Instant, RandomStream, Size, Span};
use airwatt_proto::powersave::{self, Abilities, AccessPointConfig, StationPolicy, WakeLimits};
use airwatt_proto::tunnel::TunnelEnd;

use super::{
    AdHoc, CellPlan, FlowPlan, MediumKind, MediumPlan, NetworkPlan, NodePlan, ProgramKind, ProgramPlan,
    StationPlan, Traffic,
};
use crate::direction::Direction;
use crate::media::cell::access::contention::Access;
use crate::media::cell::frame::{TWT_SCHEDULE_BYTES, beacon_bytes};
use crate::media::cell::phy::propagation;
use crate::media::cell::{Bss, CellConfig, CellStation, CodelChoice};
use crate::media::{CrossTraffic, PipeConfig};
use crate::net::transport;
use crate::route::MediumId;
use crate::scenario::modes::CellModes;
use crate::scenario::resolve::{
    BssPlace, Carrier, Contents, FlowGateway, MemberStation, Resolved, ResolvedFlow, ResolvedMedium,
    ResolvedNode, ResolvedProgram,
};
use crate::scenario::{
    AccessPoint, Aggregation, Cell, Checked, Mechanism, ProgramConfig, Ready, StationGroup, Topology,
    Transport, TunnelProgramConfig, Wifi, WiredDirection,
};
use crate::stack::impairment::ImpairmentConfig;

/// IP and UDP header in bytes.
const UDP_HEADER_BYTES: u32 = 28;
/// Stations enter power save within this time of the beginning: all at once they would only collide.
const POWER_SAVE_START_SPREAD_S: f64 = 0.01;

/// The plan of a scenario.
pub(super) fn plan(scenario: &Ready<'_>, seed: u64) -> NetworkPlan {
    let Checked { topology, resolved, .. } = &**scenario;
    let is_idle = resolved.flows.is_empty();
    let media = resolved.media.iter().map(|medium| {
        let kind = kind(scenario, medium, seed);
        let kind = if is_idle { rested(kind) } else { kind };
        MediumPlan { name: medium.name.clone(), kind, members: medium.members.clone() }
    });
    let nodes = resolved.nodes.iter().map(|node| NodePlan {
        name: node.name.clone(),
        external: false,
        forwards: node.forwards,
        host: node.host.clone(),
    });
    let mut programs = Vec::new();
    let flows = resolved.flows.iter();
    let flows = flows.map(|flow| self::flow(scenario, flow, &mut programs)).collect();
    programs.extend(self::programs(topology, resolved));
    NetworkPlan {
        media: media.collect(),
        nodes: nodes.collect(),
        cells: cells(topology, resolved),
        stations: stations(topology, resolved),
        routes: resolved.fixed.clone(),
        programs,
        tcp: scenario.tcp.config(),
        flows,
        duration: scenario.duration,
        time_limit: scenario.time_limit,
        measure_from: scenario.measure_from.unwrap_or_default(),
        latency_percentiles: scenario.latency_percentiles.unwrap_or(false),
        bins: !scenario.fairness_windows.is_empty(),
    }
}

/// The cells in the order of the scenario.
fn cells(topology: &Topology, resolved: &Resolved) -> Vec<CellPlan> {
    let plan = |(index, cell): (usize, &Cell)| {
        let places = (0..).zip(&resolved.media).find_map(|(medium, resolved)| match &resolved.contents {
            Contents::Channel(bsss) => Some((medium, Some(bsss.iter().position(|bss| bss.cell == index)?))),
            Contents::AdHoc { cell, .. } => (*cell == index).then_some((medium, None)),
            Contents::PointToPoint(_) | Contents::Wire(..) => None,
        });
        let (medium, bss) = places.expect("a cell has a medium");
        CellPlan {
            name: cell.name.clone(),
            channel: cell.channel().map(str::to_owned),
            medium,
            bss,
            uapsd: cell.access_point.as_ref().is_some_and(|access_point| access_point.uapsd),
        }
    };
    topology.cell.iter().enumerate().map(plan).collect()
}

fn stations(topology: &Topology, resolved: &Resolved) -> Vec<StationPlan> {
    let plan = |place: &crate::scenario::resolve::StationPlace| {
        let node = &resolved.nodes[usize::from(place.node)].name;
        let several = resolved.stations.iter().filter(|other| other.node == place.node).count() > 1;
        StationPlan {
            name: if several { format!("{node}/{}", place.cell) } else { node.clone() },
            node: place.node,
            cell: place.cell.clone(),
            medium: place.medium as MediumId,
            number: place.number,
            lower_bound: resolved
                .station_group(topology, place.medium, place.number)
                .is_some_and(|group| group.lower_bound),
        }
    };
    resolved.stations.iter().map(plan).collect()
}

/// The name of a node's program of a kind: the first has the bare name of its kind, others also their place.
fn program_name(list: &[ProgramConfig], place: usize, name: String) -> String {
    let is_first = list[..place].iter().all(|other| other.name() != list[place].name());
    if is_first { name } else { format!("{name}/{place}") }
}

/// The programs that nodes list, impairments first. A gateway is planned with the first flow that asks for it.
fn programs(topology: &Topology, resolved: &Resolved) -> impl Iterator<Item = ProgramPlan> {
    let (mut impairments, mut tunnels) = (Vec::new(), Vec::new());
    for program in &resolved.programs {
        let list = &topology.node[resolved.nodes[usize::from(program.node)].group].program[..];
        match &list[program.place] {
            ProgramConfig::Gateway(_) => {}
            ProgramConfig::Impairment(config) => {
                impairments.push(impairment(config, program, list, resolved));
            }
            ProgramConfig::Tunnel(tunnel) => tunnels.extend(ends_of(tunnel, program, topology, resolved)),
        }
    }
    impairments.into_iter().chain(tunnels)
}

fn impairment(
    config: &ImpairmentConfig,
    &ResolvedProgram { node, place, ref named }: &ResolvedProgram,
    list: &[ProgramConfig],
    resolved: &Resolved,
) -> ProgramPlan {
    let name = format!("{}/impairment", resolved.nodes[usize::from(node)].stream);
    let kind = ProgramKind::Impairment { config: config.clone(), towards: named.clone() };
    ProgramPlan { node, place, name: program_name(list, place, name), kind }
}

/// Both ends of tunnels, which begin at stations.
fn ends_of(
    tunnel: &TunnelProgramConfig,
    &ResolvedProgram { node, place, ref named }: &ResolvedProgram,
    topology: &Topology,
    resolved: &Resolved,
) -> Vec<ProgramPlan> {
    let mut ends = Vec::new();
    for client in named.iter().flatten().copied() {
        let ResolvedNode { name, group, .. } = &resolved.nodes[usize::from(client)];
        let behind = topology.node[*group].program.len();
        let both = [
            (TunnelEnd::Client, client, behind, node, "client"),
            (TunnelEnd::Concentrator, node, place, client, "concentrator"),
        ];
        ends.extend(both.map(|(end, node, place, peer, end_name)| ProgramPlan {
            node,
            place,
            name: format!("tunnel/{name}/{end_name}"),
            kind: ProgramKind::Tunnel { config: tunnel.settings, end, peer },
        }));
    }
    ends
}

/// The machines' settings of a medium.
fn kind(scenario: &Ready<'_>, medium: &ResolvedMedium, seed: u64) -> MediumKind {
    let topology = &scenario.topology;
    match &medium.contents {
        Contents::Channel(bsss) => {
            let bsss = bsss.iter().map(|place| bss(scenario, place, seed));
            MediumKind::Cell(bsss.collect())
        }
        Contents::AdHoc { cell: index, modes, stations, links } => {
            let cell = &topology.cell[*index];
            // Without an access point there are no beacons, and its settings have no effect.
            let beacons = Beacons { access_point: &AccessPoint::default(), first: Instant::ZERO };
            MediumKind::AdHoc(Box::new(AdHoc {
                channel: cell_config(cell, modes, &beacons),
                stations: members(cell, &scenario.policies[*index], stations, &beacons, seed),
                links: links.clone(),
            }))
        }
        Contents::PointToPoint(hop) => {
            let (config, radio) = &**hop;
            // It states no rate of a PHY: the profile's first figure for transmission holds.
            MediumKind::PointToPoint(config.clone(), Box::new(radio.profile().clone()))
        }
        Contents::Wire(delay, directions) => wire(&medium.name, *delay, directions, seed),
    }
}

/// The same with stations that have been idle for long: the time awake after traffic has no part in what they spend.
fn rested(mut kind: MediumKind) -> MediumKind {
    if let MediumKind::Cell(bsss) = &mut kind {
        for station in bsss.iter_mut().flat_map(|bss| &mut bss.stations) {
            station.mac_power_save.rested = true;
        }
    }
    kind
}

/// An access point and the time of its first beacon.
struct Beacons<'a> {
    access_point: &'a AccessPoint,
    first: Instant,
}

fn bss(scenario: &Ready<'_>, place: &BssPlace, seed: u64) -> Bss {
    let cell = &scenario.topology.cell[place.cell];
    let access_point = &place.access_point;
    // Beacons and traffic start with no fixed phase between them.
    let phase = RandomStream::new(seed, &format!("{}/beacon-phase", place.stream)).unit();
    let first = Instant::ZERO + Span::from_secs_f64(phase * access_point.beacon_interval.as_secs_f64());
    let beacons = Beacons { access_point, first };
    Bss {
        name: place.stream.clone(),
        config: cell_config(cell, &place.modes, &beacons),
        shared_radio: place.shared,
        hidden: place.hidden.clone(),
        stations: members(cell, &scenario.policies[place.cell], &place.stations, &beacons, seed),
    }
}

/// Both directions of a wire.
fn wire(name: &str, delay: Span, directions: &[WiredDirection; 2], seed: u64) -> MediumKind {
    let pipe = |way: &str, direction: &WiredDirection| PipeConfig {
        rate: Some(direction.rate),
        delay,
        queue: direction.queue,
        cut_through: false,
        cross: cross_traffic(direction, &format!("{name}/{way}"), seed),
        jitter: direction.jitter.unwrap_or_default(),
        discipline: direction.discipline.unwrap_or_default(),
    };
    let [forward, reverse] = directions;
    MediumKind::Wire([pipe("down", forward), pipe("up", reverse)])
}

/// The traffic of others on the wire, with no fixed phase to ours.
fn cross_traffic(direction: &WiredDirection, name: &str, seed: u64) -> Option<CrossTraffic> {
    let cross = direction.cross.as_ref()?;
    let interval = cross.rate.time_for(cross.packet);
    let phase = RandomStream::new(seed, &format!("{name}/cross-phase")).unit();
    let first = Instant::ZERO + Span::from_secs_f64(phase * interval.as_secs_f64());
    Some(CrossTraffic { first, interval, bytes: cross.packet.as_bytes() as u32 })
}

/// A packet of 1,500 bytes in an A-MSDU.
const LARGE_SUBFRAME_BYTES: u32 = 1_522;

/// Packets that a saturated sender keeps in its queue: three of the largest aggregates, as far as the queues hold them and one more, whose
/// packets are replaced when they arrive, and leave when they are acknowledged.
fn saturated_packets(Checked { topology, resolved, .. }: &Checked) -> u32 {
    let of = |index: usize, modes: &CellModes| {
        let cell = &topology.cell[index];
        let buffers = cell.station.iter().map(|group| group.buffer.0);
        let buffer = buffers.chain(cell.access_point.iter().map(|ap| ap.buffer.0)).min().unwrap_or(0);
        let limits = cell.wifi.aggregation.unwrap_or(Aggregation::NONE);
        // Of an A-MSDU as many as hold 1,500 bytes.
        let packets = limits.amsdu.map_or(1, |most| (most.as_bytes() as u32 / LARGE_SUBFRAME_BYTES).max(1));
        let most = packets * u32::from(limits.most(modes.data.format()));
        (3 * most).min(buffer.saturating_sub(most))
    };
    let kept = resolved.media.iter().map(|medium| match &medium.contents {
        Contents::Channel(bsss) => bsss.iter().map(|bss| of(bss.cell, &bss.modes)).max().unwrap_or(0),
        Contents::AdHoc { cell, modes, .. } => of(*cell, modes),
        Contents::PointToPoint(_) | Contents::Wire(..) => 0,
    });
    kept.max().unwrap_or(0)
}

fn cell_config(cell: &Cell, modes: &CellModes, beacons: &Beacons<'_>) -> CellConfig {
    let Beacons { access_point, first: first_beacon } = *beacons;
    let wifi = &cell.wifi;
    let timing = wifi.standard.timing();
    let access = Access {
        aifs: timing.sifs + timing.slot * u64::from(wifi.aifsn),
        cw_min: wifi.cw_min.unwrap_or(timing.cw_min),
        cw_max: wifi.cw_max.unwrap_or(timing.cw_max),
    };
    let bytes = |size: Size| u32::try_from(size.as_bytes()).unwrap_or(u32::MAX);
    let ap_buffer = access_point.buffer.0;
    let first = Access { aifs: timing.sifs + timing.slot, cw_min: 0, cw_max: 0 };
    let loss = wifi.path_loss.clone().unwrap_or_default();
    CellConfig {
        standard: wifi.standard,
        data: modes.data,
        control: modes.control,
        beacon: modes.beacon,
        beacon_bytes: access_point.beacon_length.map(bytes).or_else(|| {
            access_point.twt_schedule?;
            let stations = cell.station.iter().map(|group| group.count).sum();
            Some(beacon_bytes(stations) + TWT_SCHEDULE_BYTES)
        }),
        group_data: modes.group,
        short_preamble: wifi.short_preamble,
        access: wifi.access,
        categories: wifi.categories,
        ap_access: if access_point.priority { first } else { access },
        station_access: access,
        txop: wifi.txop,
        retry_limit: wifi.retry_limit,
        station_rts_threshold: wifi.station_rts_threshold.map(bytes),
        ap_rts_threshold: wifi.ap_rts_threshold.map(bytes),
        txop_duration_rts_threshold: wifi.txop_duration_rts_threshold,
        rts_after_failures: wifi.rts_after_failures.map(|failures| failures as u16),
        msdu_lifetime: wifi.msdu_lifetime.unwrap_or_default(),
        mac_overhead: bytes(wifi.mac_overhead),
        frame_error_rate: wifi.frame_error_rate,
        response_error_rate: wifi.response_error_rate,
        aggregation: wifi.aggregation.unwrap_or(Aggregation::NONE),
        ap_buffer,
        errors: loss.errors,
        noise_figure_db: loss.noise_figure_db,
        rate_control: wifi.rate_control,
        ap_queue: access_point.queue,
        ap_codel: CodelChoice {
            target: access_point.codel_target,
            interval: access_point.codel_interval,
            since: access_point.codel_since.unwrap_or_default(),
        },
        wait_for_room: access_point.wait_for_room,
        capture_ratio: wifi.path_loss.as_ref().map(|loss| propagation::milliwatts(loss.capture_db)),
        power_save: AccessPointConfig {
            power_save_buffer: access_point.power_save_buffer.map_or(ap_buffer, |limit| limit.0),
            beacon_interval: access_point.beacon_interval,
            dtim_period: access_point.dtim_period,
            first_beacon,
            wakes: WakeLimits {
                agreements: access_point.twt_agreements,
                least_duration: access_point.twt_least_duration,
                information: access_point.twt_information,
                schedule: access_point.twt_schedule.map(|schedule| schedule.request()),
            },
        },
        group: access_point.group.clone(),
    }
}

/// The stations of a cell, with the policies of their groups.
fn members(
    cell: &Cell,
    policies: &[StationPolicy],
    stations: &[MemberStation],
    beacons: &Beacons<'_>,
    seed: u64,
) -> Vec<CellStation> {
    let of = |place: &MemberStation| {
        let policy = policies[place.group].clone();
        station(&cell.station[place.group], policy, &cell.wifi, place, beacons, seed)
    };
    stations.iter().map(of).collect()
}

fn station(
    group: &StationGroup,
    policy: StationPolicy,
    wifi: &Wifi,
    place: &MemberStation,
    beacons: &Beacons<'_>,
    seed: u64,
) -> CellStation {
    let MemberStation { data, stream: name, .. } = place;
    let radio = group.radio.profile().clone().at_rate(data.rate());
    let AccessPoint { beacon_interval, dtim_period, .. } = *beacons.access_point;
    let drawn = RandomStream::new(seed, &format!("{name}/power-save-start")).unit();
    let first_scan = group.scan.map_or(Instant::ZERO, |scan| {
        let phase = RandomStream::new(seed, &format!("{name}/first-scan")).unit();
        Instant::ZERO + Span::from_secs_f64(phase * scan.interval.as_secs_f64())
    });
    CellStation {
        name: name.clone(),
        mac_power_save: powersave::StationConfig {
            beacon_interval,
            first_beacon: beacons.first,
            sleep_clock: radio.sleep_clock,
            clock_error_ppb: group.clock_error_ppm.map(|ppm| (ppm * 1e3).round() as i64),
            wake_time: radio.wake_up.time,
            min_awake: radio.min_awake,
            beacon_window: radio.beacon_wait,
            frame_wait: group.frame_wait,
            listen_interval: group.listening().beacons(dtim_period),
            dtim_period: group.receive_dtims.then_some(u32::from(dtim_period)),
            start: Instant::ZERO + Span::from_secs_f64(drawn * POWER_SAVE_START_SPREAD_S),
            scan: group.scan,
            first_scan,
            hidden: group.hide.iter().fold(Abilities::NONE, |hidden, fact| hidden | fact.ability()),
            ..powersave::StationConfig::default()
        },
        policy,
        radio,
        data: *data,
        buffer: group.buffer.0,
        propagation: Distance::propagation(group.distance),
        beacon_error_rate: group.beacon_error_rate,
        signal_dbm: signal_dbm(wifi, group.distance, name, seed),
    }
}

/// How strong a station's signal is at the access point, and the other way round.
fn signal_dbm(wifi: &Wifi, distance: Distance, name: &str, seed: u64) -> Option<f64> {
    let loss = wifi.path_loss.as_ref()?;
    let exponent = loss.exponent.unwrap_or_else(|| propagation::office_exponent(wifi.standard));
    let metres = distance.as_millimetres() as f64 * 1e-3;
    let mean = propagation::received_dbm(wifi.standard, loss.tx_power, exponent, metres);
    let shadowing = if loss.shadowing_db > 0.0 {
        loss.shadowing_db * RandomStream::new(seed, &format!("{name}/shadowing")).normal()
    } else {
        0.0
    };
    Some(mean + shadowing)
}

/// The index of a gateway among the programs so far, which it joins when the first flow asks for it.
fn gateway_at(
    Checked { topology, resolved, .. }: &Checked,
    FlowGateway { node, place, buffer, .. }: FlowGateway,
    handshake: bool,
    programs: &mut Vec<ProgramPlan>,
) -> usize {
    let ResolvedNode { name, group, .. } = &resolved.nodes[usize::from(node)];
    let known = programs.iter().position(|program| (program.node, program.place) == (node, place));
    known.unwrap_or_else(|| {
        let of_node = || program_name(&topology.node[*group].program, place, format!("{name}/gateway"));
        let name = if programs.is_empty() { "gateway".to_owned() } else { of_node() };
        programs.push(ProgramPlan { node, place, name, kind: ProgramKind::Gateway { buffer, handshake } });
        programs.len() - 1
    })
}

fn flow(scenario: &Ready<'_>, flow: &ResolvedFlow, programs: &mut Vec<ProgramPlan>) -> FlowPlan {
    let group = &scenario.topology.flow[flow.group];
    let transport = group.transport.like();
    let handshake = scenario.tcp.begins_with_handshake() || transport == Transport::Quic;
    let gateway = flow.carrier.gateway();
    let traffic = match flow.carrier {
        Carrier::Saturation => Traffic::Saturated {
            payload_bytes: scenario.tcp.config().full_packet_bytes().saturating_sub(UDP_HEADER_BYTES),
            header_bytes: UDP_HEADER_BYTES,
            kept: saturated_packets(scenario),
        },
        Carrier::Datagrams(source, answers) => {
            Traffic::Datagrams { source, answers, header_bytes: UDP_HEADER_BYTES }
        }
        Carrier::Connections(content, ends) => {
            let own = match &scenario.transports[flow.group] {
                Mechanism::Listed(_) => None,
                Mechanism::Own(own) => Some(own),
            };
            let connection = transport::connection(scenario, group, own, flow.data, ends);
            Traffic::Transfer { content, connection: Box::new(connection), handshake }
        }
    };
    let path = flow.path.iter().map(|step| (step.medium as MediumId, Direction::from_member(step.from)));
    FlowPlan {
        station: flow.station,
        path: path.collect(),
        gateway: gateway.map(|gateway| gateway_at(scenario, gateway, handshake, programs)),
        server: flow.server,
        client: flow.client,
        data: flow.data,
        is_download: flow.is_download,
        transport,
        dscp: group.dscp,
        traffic,
        start: group.start,
        start_spread: group.start_spread,
    }
}

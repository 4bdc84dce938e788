//! Values that can be read but cannot be: outside a range, or impossible together.

use airwatt_base::{Power, QueueLimit, Rate, Size, Span};
use airwatt_energy::Radio;
use airwatt_proto::powersave::{BaTa, PolicyConfig};

use super::load::Fault;
use super::{
    AckLoss, Application, E2tcp, Errors, FlowGroup, Gateway, PathLoss, PointToPoint, Scenario, StationGroup,
    Tcp, Transport, Wifi, Wired,
};
use crate::net::meter::BIN;

/// Association identifiers end here (802.11-2020 9.4.1.8).
const MAX_STATIONS: u32 = 2_007;
/// A run of over a month is a mistake.
const MAX_SPAN: Span = Span::from_secs(32 * 24 * 3_600);
const MAX_ROUND_TRIP: Span = Span::from_secs(100);
const MAX_RATE: Rate = Rate::from_bps(1_000_000_000_000);
const MIN_RATE: Rate = Rate::from_bps(100);
/// The largest window that a header can offer (RFC 7323 section 2.3).
const MAX_WINDOW: Size = Size::from_bytes(1 << 30);
const MAX_CW: u32 = 32_767;
const MAX_QUEUE: u32 = 10_000_000;
/// What a beacon's interval field holds: 2^16 time units (802.11-2020 9.4.1.3).
const MAX_BEACON_INTERVAL: Span = Span::from_micros(65_535 * 1_024);
/// Thirty kilometres: beyond that no ACK comes back in time.
const MAX_DISTANCE_MM: u64 = 30_000_000;

type Checked = Result<(), Fault>;

fn fault(key: impl Into<String>, message: impl Into<String>) -> Fault {
    Fault { key: key.into(), message: message.into() }
}

/// The value lies in `low..=high`.
fn within<T: PartialOrd + std::fmt::Display>(key: &str, value: T, low: T, high: T) -> Checked {
    if value >= low && value <= high {
        return Ok(());
    }
    Err(fault(key, format!("{value} is out of range; allowed are {low} to {high}")))
}

fn queue(key: &str, limit: QueueLimit) -> Checked {
    match limit {
        QueueLimit::Packets(count) => within(key, count, 1, MAX_QUEUE).map_err(|_| {
            fault(key, format!("{limit} is out of range; allowed are 1packets to {MAX_QUEUE}packets"))
        }),
        QueueLimit::Bytes(size) => within(key, size, Size::from_bytes(1), Size::from_bytes(1 << 40)),
    }
}

/// An access point counts packets.
fn packets_only(key: &str, limit: QueueLimit) -> Checked {
    match limit {
        QueueLimit::Packets(_) => queue(key, limit),
        QueueLimit::Bytes(_) => {
            Err(fault(key, format!("{limit} is in bytes; this queue counts packets, as in \"100packets\"")))
        }
    }
}

/// Whether the scenario can run.
pub(super) fn check(scenario: &Scenario) -> Checked {
    if let Some(duration) = scenario.duration {
        within("duration", duration, Span::from_millis(1), MAX_SPAN)?;
    }
    within("time_limit", scenario.time_limit, Span::from_millis(1), MAX_SPAN)?;
    measurement(scenario)?;
    scenario.wired.as_ref().map_or(Ok(()), |path| wired(path, "wired"))?;
    match (&scenario.wifi, &scenario.link) {
        (Some(air), None) => wifi(air)?,
        (None, Some(hop)) => link(scenario, hop)?,
        (None, None) => {
            let message = "there is no last hop; add [wifi], or [link] for a point-to-point one";
            return Err(fault("", message));
        }
        (Some(_), Some(_)) => {
            return Err(fault("link", "there is [wifi] too; allowed is one of them"));
        }
    }
    packets_only("ap.buffer", scenario.ap.buffer)?;
    if let Some(buffer) = scenario.ap.power_save_buffer {
        packets_only("ap.power_save_buffer", buffer)?;
    }
    within("ap.beacon_interval", scenario.ap.beacon_interval, Span::from_millis(10), MAX_BEACON_INTERVAL)?;
    within("ap.dtim_period", scenario.ap.dtim_period, 1, 255)?;
    tcp(&scenario.tcp)?;
    ackloss(&scenario.ackloss)?;
    e2tcp(&scenario.e2tcp, &scenario.tcp)?;
    gateway(&scenario.gateway)?;
    stations(scenario)?;
    flows(scenario)
}

/// The interval lies within the run, and windows within the interval.
fn measurement(scenario: &Scenario) -> Checked {
    let from = scenario.measure_from.unwrap_or_default();
    if let Some(capacity) = scenario.fairness_capacity {
        within("fairness_capacity", capacity, MIN_RATE, MAX_RATE)?;
    }
    let Some(end) = scenario.duration else {
        let message = "needs a duration, so that there is an interval to measure in";
        return match (scenario.measure_from, scenario.fairness_windows.first()) {
            (Some(_), _) => Err(fault("measure_from", message)),
            (None, Some(_)) => Err(fault("fairness_windows", message)),
            (None, None) => Ok(()),
        };
    };
    if scenario.measure_from.is_some() {
        within("measure_from", from, Span::ZERO, end.saturating_sub(Span::from_millis(1)))?;
    }
    for (index, window) in scenario.fairness_windows.iter().enumerate() {
        let key = format!("fairness_windows.{index}");
        within(&key, *window, BIN, end - from)?;
        if *window != BIN * window.whole(BIN) {
            return Err(fault(key, format!("{window} is not a multiple of {BIN}")));
        }
    }
    Ok(())
}

fn path_loss(path_loss: &PathLoss) -> Checked {
    let power = path_loss.tx_power;
    let key = |name: &str| format!("wifi.path_loss.{name}");
    within(&key("tx_power"), power, Power::from_nanowatts(1_000), Power::from_nanowatts(10_000_000_000))?;
    within(&key("exponent"), path_loss.exponent.unwrap_or(2.0), 1.0, 6.0)?;
    within(&key("capture_db"), path_loss.capture_db, 0.0, 100.0)
}

fn wired(wired: &Wired, table: &str) -> Checked {
    within(&format!("{table}.rtt"), wired.rtt, Span::ZERO, MAX_ROUND_TRIP)?;
    for (name, direction) in [("down", &wired.down), ("up", &wired.up)] {
        let key = |key: &str| format!("{table}.{name}.{key}");
        within(&key("rate"), direction.rate, MIN_RATE, MAX_RATE)?;
        queue(&key("queue"), direction.queue)?;
        if let Some(cross) = &direction.cross {
            within(&key("cross.rate"), cross.rate, MIN_RATE, direction.rate)?;
            let (least, most) = (Size::from_bytes(20), Size::from_bytes(65_535));
            within(&key("cross.packet"), cross.packet, least, most)?;
        }
    }
    Ok(())
}

fn link(scenario: &Scenario, link: &PointToPoint) -> Checked {
    within("link.rate", link.rate, MIN_RATE, MAX_RATE)?;
    within("link.delay", link.delay, Span::ZERO, MAX_ROUND_TRIP)?;
    queue("link.queue", link.queue)?;
    errors(&link.errors)?;
    let count: u64 = scenario.station.iter().map(|group| u64::from(group.count)).sum();
    if count != 1 {
        return Err(fault("station.0.count", format!("a [link] has one station, not {count}; allowed is 1")));
    }
    let sleeps = scenario.station.iter().enumerate().find(|(_, group)| group.policy != "active");
    sleeps.map_or(Ok(()), |(index, group)| {
        let message = format!("{:?} needs [wifi]; on a [link] allowed is \"active\"", group.policy);
        Err(fault(format!("station.{index}.policy"), message))
    })
}

fn errors(errors: &Errors) -> Checked {
    let rates = [
        ("error_rate", errors.error_rate),
        ("good_error_rate", errors.good_error_rate),
        ("bad_error_rate", errors.bad_error_rate),
        ("to_bad", errors.to_bad),
        ("to_good", errors.to_good),
    ];
    for (key, rate) in rates {
        if !(0.0..=1.0).contains(&rate) {
            let message = format!("{rate} is out of range; allowed are 0 to 1");
            return Err(fault(format!("link.errors.{key}"), message));
        }
    }
    for (key, least, most) in [("good", errors.good, errors.good_max), ("bad", errors.bad, errors.bad_max)] {
        within(&format!("link.errors.{key}"), least, Span::from_micros(1), MAX_SPAN)?;
        within(&format!("link.errors.{key}_max"), most.unwrap_or(least), least, MAX_SPAN)?;
    }
    for (key, numbers) in [("listed_down", &errors.listed_down), ("listed_up", &errors.listed_up)] {
        if numbers.first() == Some(&0) || !numbers.is_sorted_by(|a, b| a < b) {
            let message = format!("expected ascending numbers of packets from 1, got {numbers:?}");
            return Err(fault(format!("link.errors.{key}"), message));
        }
    }
    Ok(())
}

fn wifi(wifi: &Wifi) -> Checked {
    let rates = wifi.standard.rates();
    let given = [
        ("wifi.data_rate", Some(wifi.data_rate)),
        ("wifi.control_rate", wifi.control_rate),
        ("wifi.beacon_rate", wifi.beacon_rate),
    ];
    for (key, rate) in given {
        if let Some(rate) = rate.filter(|rate| !rates.contains(rate)) {
            let allowed = rates.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            return Err(fault(key, format!("{rate} is not a rate of this standard; allowed are {allowed}")));
        }
    }
    within("wifi.aifsn", wifi.aifsn, 1, 15)?;
    let timing = wifi.standard.timing();
    let (least, most) = (wifi.cw_min.unwrap_or(timing.cw_min), wifi.cw_max.unwrap_or(timing.cw_max));
    for (key, window) in [("wifi.cw_min", least), ("wifi.cw_max", most)] {
        within(key, window, 0, MAX_CW)?;
        if !(window + 1).is_power_of_two() {
            return Err(fault(
                key,
                format!("{window} is not a power of two less one; allowed are 0, 1, 3, 7, ... {MAX_CW}"),
            ));
        }
    }
    if most < least {
        return Err(fault(
            "wifi.cw_max",
            format!("{most} is below wifi.cw_min; allowed are {least} to {MAX_CW}"),
        ));
    }
    // TXOP limits are a 16-bit count of 32 us (802.11-2020 9.4.2.28).
    within("wifi.txop", wifi.txop, Span::ZERO, Span::from_micros(65_535 * 32))?;
    within("wifi.retry_limit", wifi.retry_limit, 0, 255)?;
    within("wifi.mac_overhead", wifi.mac_overhead, Size::from_bytes(28), Size::from_bytes(200))?;
    wifi.path_loss.as_ref().map_or(Ok(()), path_loss)?;
    if !(0.0..1.0).contains(&wifi.frame_error_rate) {
        return Err(fault(
            "wifi.frame_error_rate",
            format!("{} is out of range; allowed are 0 to below 1", wifi.frame_error_rate),
        ));
    }
    Ok(())
}

fn tcp(tcp: &Tcp) -> Checked {
    within("tcp.header", tcp.header, Size::from_bytes(40), Size::from_bytes(100))?;
    within("tcp.mtu", tcp.mtu, Size::from_bytes(tcp.header.as_bytes() + 1), Size::from_bytes(2_304))?;
    match tcp.receive_window {
        QueueLimit::Bytes(window) => within("tcp.receive_window", window, tcp.mtu, MAX_WINDOW)?,
        limit @ QueueLimit::Packets(segments) => {
            let most = (MAX_WINDOW.as_bytes() / tcp.mtu.as_bytes()) as u32;
            within("tcp.receive_window", segments, 1, most).map_err(|_| {
                let message = format!("{limit} is out of range; allowed are 1packets to {most}packets");
                fault("tcp.receive_window", message)
            })?;
        }
    }
    if let Some(window) = tcp.initial_window {
        within("tcp.initial_window", window, 1, 1_000)?;
    }
    if let Some(threshold) = tcp.initial_ssthresh {
        within(
            "tcp.initial_ssthresh",
            threshold,
            Size::from_bytes(2 * tcp.mtu.as_bytes()),
            Size::from_bytes(1 << 30),
        )?;
    }
    within("tcp.delayed_ack_timeout", tcp.delayed_ack_timeout, Span::from_millis(1), Span::from_millis(500))?;
    within("tcp.delayed_ack_segments", tcp.delayed_ack_segments, 1, 1_000)?;
    within("tcp.rto_tick", tcp.rto_tick, Span::from_millis(1), Span::from_secs(1))?;
    within("tcp.rto_min_ticks", tcp.rto_min_ticks, 1, 1_000)?;
    within("tcp.min_rto", tcp.min_rto, Span::from_millis(1), Span::from_secs(60))?;
    within("tcp.initial_rto", tcp.initial_rto, tcp.min_rto, Span::from_secs(60))?;
    within("tcp.max_rto", tcp.max_rto, tcp.initial_rto, Span::from_secs(3_600))
}

fn ackloss(ackloss: &AckLoss) -> Checked {
    machine_allows(crate::net::ackloss_config(ackloss).check(), "")
}

/// A machine's own verdict, as "key = value: what is allowed", on keys below `table`.
fn machine_allows(verdict: Result<(), String>, table: &str) -> Checked {
    verdict.map_err(|problem| {
        let (key, message) = problem.split_once(" = ").unwrap_or(("", &problem));
        fault(format!("{table}{key}"), message)
    })
}

/// The machine knows what it allows; its keys are called alike here.
fn e2tcp(e2tcp: &E2tcp, tcp: &Tcp) -> Checked {
    let config = crate::net::e2tcp_config(e2tcp, tcp, 100);
    machine_allows(config.check(), "e2tcp.")
}

fn gateway(gateway: &Gateway) -> Checked {
    if !matches!(gateway.transport, Transport::Tcp { .. }) {
        let name = gateway.transport.name();
        return Err(fault("gateway.transport", format!("{name:?} is not a TCP from end to end")));
    }
    within("gateway.buffer", gateway.buffer, Size::from_bytes(1_500), MAX_WINDOW)
}

/// The policy of a station of this group, with its parameters; `None` for an unknown name.
pub(super) fn policy(group: &StationGroup) -> Option<PolicyConfig> {
    let policy = PolicyConfig::parse(&group.policy).ok()?;
    Some(match policy {
        PolicyConfig::Timeout { .. } => PolicyConfig::Timeout { timeout: group.timeout },
        PolicyConfig::Uapsd { .. } => PolicyConfig::Uapsd { interval: group.interval },
        PolicyConfig::BaTa(_) => PolicyConfig::BaTa(group.ba_ta),
        PolicyConfig::BaTaStr(..) => PolicyConfig::BaTaStr(group.ba_ta, group.ba_ta_str),
        PolicyConfig::PsmThrottling(_) => PolicyConfig::PsmThrottling(group.psm_throttling),
        other => other,
    })
}

fn stations(scenario: &Scenario) -> Checked {
    let total: u64 = scenario.station.iter().map(|group| u64::from(group.count)).sum();
    if total == 0 || total > u64::from(MAX_STATIONS) {
        let largest = (0..scenario.station.len())
            .max_by_key(|index| scenario.station[*index].count)
            .unwrap_or_default();
        let message = format!("{total} stations are out of range; allowed are 1 to {MAX_STATIONS}");
        return Err(fault(format!("station.{largest}.count"), message));
    }
    for (index, group) in scenario.station.iter().enumerate() {
        let key = |name: &str| format!("station.{index}.{name}");
        let policy =
            PolicyConfig::parse(&group.policy).map_err(|error| fault(key("policy"), error.to_string()))?;
        if policy.needs_uapsd() && !scenario.ap.uapsd {
            let message = format!(
                "{:?} needs U-APSD, which this access point lacks; set ap.uapsd=true or choose another",
                group.policy
            );
            return Err(fault(key("policy"), message));
        }
        Radio::find(&group.radio).map_err(|error| fault(key("radio"), error.to_string()))?;
        within(&key("distance"), group.distance.as_millimetres(), 0, MAX_DISTANCE_MM).map_err(|_| {
            fault(key("distance"), format!("{} is out of range; allowed are 0m to 30km", group.distance))
        })?;
        packets_only(&key("buffer"), group.buffer)?;
        options(group, &key)?;
        within(&key("listen_interval"), group.listen_interval, 1, 65_535)?;
        within(&key("wake_guard"), group.wake_guard, Span::ZERO, scenario.ap.beacon_interval / 2)?;
    }
    Ok(())
}

/// The options of every policy, whichever is chosen: a comparison chooses others.
fn options(group: &StationGroup, key: &dyn Fn(&str) -> String) -> Checked {
    let all = [
        ("", PolicyConfig::Timeout { timeout: group.timeout }),
        ("", PolicyConfig::Uapsd { interval: group.interval }),
        ("ba_ta.", PolicyConfig::BaTa(group.ba_ta)),
        ("ba_ta_str.", PolicyConfig::BaTaStr(BaTa::default(), group.ba_ta_str)),
        ("psm_throttling.", PolicyConfig::PsmThrottling(group.psm_throttling)),
    ];
    all.iter().try_for_each(|(table, policy)| {
        policy.check().map_err(|bad| {
            let message = format!("{} is out of range; allowed are {}", bad.value, bad.allowed);
            fault(key(&format!("{table}{}", bad.key)), message)
        })
    })
}

/// Each flow has a port of its own.
const MAX_FLOWS: usize = 10_000;

fn flows(scenario: &Scenario) -> Checked {
    if scenario.flow.is_empty() {
        return Err(fault("flow", "there is no flow; add a [[flow]] table"));
    }
    let stations = scenario.stations().count() as u32;
    let number = |group: &FlowGroup| match (group.neighbours, &group.stations) {
        (Some(count), _) => count as usize,
        (None, Some(named)) => named.len(),
        (None, None) => stations as usize,
    };
    let total: usize = scenario.flow.iter().map(number).sum();
    if total > MAX_FLOWS {
        return Err(fault("flow", format!("expected at most {MAX_FLOWS} flows, got {total}")));
    }
    for (index, group) in scenario.flow.iter().enumerate() {
        flow(scenario, group, index, stations)?;
    }
    Ok(())
}

fn flow(scenario: &Scenario, group: &FlowGroup, index: usize, stations: u32) -> Checked {
    let key = |name: &str| format!("flow.{index}.{name}");
    if let Some(named) = &group.stations {
        if let Some(missing) = named.iter().find(|station| **station >= stations) {
            return Err(fault(
                key("stations"),
                format!("{missing} is not a station; allowed are 0 to {}", stations - 1),
            ));
        }
        if named.is_empty() {
            return Err(fault(key("stations"), "names no station; leave it out for all"));
        }
    }
    group.wired.as_ref().map_or(Ok(()), |path| wired(path, &key("wired")))?;
    neighbours(scenario, group, &key)?;
    if let Some(size) = group.size {
        within(&key("size"), size, Size::from_bytes(1), Size::from_bytes(1_000_000_000_000))?;
    }
    ends(scenario, group, &key)?;
    within(&key("startup"), group.startup, Span::ZERO, MAX_SPAN)?;
    within(&key("media"), group.media.unwrap_or(group.startup), Span::ZERO, MAX_SPAN)?;
    let (byte, most) = (Size::from_bytes(1), Size::from_bytes(1_000_000_000));
    within(&key("block"), group.block, byte, most)?;
    within(&key("count"), group.count.unwrap_or(1), 1, 10_000_000)?;
    within(&key("request"), group.request.unwrap_or(byte), byte, most)?;
    within(&key("response"), group.response.unwrap_or(byte), byte, most)?;
    within(&key("mean_gap"), group.mean_gap, Span::from_micros(1), MAX_SPAN)?;
    within(&key("rate"), group.rate, MIN_RATE, MAX_RATE)?;
    within(&key("packet"), group.packet, Size::from_bytes(1), Size::from_bytes(65_000))?;
    carried(scenario, group, &key)?;
    let last = group.start.saturating_add(group.start_spread);
    within(&key("start"), last, Span::ZERO, scenario.duration.unwrap_or(scenario.time_limit))
}

/// Hosts on the base station's wire have a server beyond it, and none of what a station's flows can have.
fn neighbours(scenario: &Scenario, group: &FlowGroup, key: &dyn Fn(&str) -> String) -> Checked {
    let Some(count) = group.neighbours else { return Ok(()) };
    within(&key("neighbours"), count, 1, MAX_STATIONS)?;
    if group.stations.is_some() {
        return Err(fault(key("neighbours"), "goes without stations; allowed is one of them"));
    }
    if scenario.wired.is_none() && group.wired.is_none() {
        return Err(fault(key("neighbours"), "neighbours share a wired path; add [wired]"));
    }
    if matches!(group.transport, Transport::Split | Transport::E2tcp) {
        let message = format!("{:?} is for the last hop, which neighbours lack", group.transport.name());
        return Err(fault(key("transport"), message));
    }
    if group.application == Application::Saturated {
        return Err(fault(key("application"), "\"saturated\" is for the air, which neighbours do not use"));
    }
    Ok(())
}

/// The flow, or else the run, comes to an end.
fn ends(scenario: &Scenario, group: &FlowGroup, key: &dyn Fn(&str) -> String) -> Checked {
    let (name, ends) = match group.application {
        Application::Web | Application::RequestResponse => ("count", group.count.is_some()),
        Application::Streaming => ("media", group.size.is_some() || group.media.is_some()),
        _ => ("size", group.size.is_some()),
    };
    if ends || scenario.duration.is_some() {
        return Ok(());
    }
    let message = "is missing, and so is duration: the run would never end; set one of them";
    Err(fault(key(name), message))
}

/// The application goes with the transport, and the transport with the path.
fn carried(scenario: &Scenario, group: &FlowGroup, key: &dyn Fn(&str) -> String) -> Checked {
    let name = group.transport.name();
    match (group.application, group.transport) {
        (Application::Saturated, Transport::Udp) if scenario.link.is_some() => {
            return Err(fault(key("application"), "\"saturated\" needs [wifi]"));
        }
        (Application::Saturated, Transport::Udp) => {}
        (Application::Saturated, _) => {
            let message = format!("\"saturated\" needs transport \"udp\", not {name:?}");
            return Err(fault(key("application"), message));
        }
        (Application::Web | Application::RequestResponse, transport)
            if !matches!(transport, Transport::Tcp { .. }) =>
        {
            let message = format!("{name:?} carries no requests; allowed is a TCP from end to end");
            return Err(fault(key("transport"), message));
        }
        (Application::Bulk | Application::Streaming, Transport::Udp) => {
            let message = "\"udp\" cannot carry this application; allowed is a TCP, or application \
                           \"interactive\", \"cbr\" or \"saturated\"";
            return Err(fault(key("transport"), message));
        }
        (_, Transport::Udp) => {
            let room = scenario.tcp.mtu.as_bytes() - scenario.tcp.header.as_bytes();
            within(&key("packet"), group.packet, Size::from_bytes(1), Size::from_bytes(room))?;
        }
        (_, Transport::Split) if scenario.wired.is_none() && group.wired.is_none() => {
            return Err(fault(
                key("transport"),
                "\"split\" needs [wired]: connections meet between two hops",
            ));
        }
        _ => {}
    }
    if group.reliability > 100 {
        let message = format!("{} is out of range; allowed are 0 to 100 per cent", group.reliability);
        return Err(fault(key("reliability"), message));
    }
    if group.reliability < 100 && !group.transport.is_partial() {
        let message = format!(
            "{} needs transport \"e2tcp\" or \"prtp\"; allowed with {name:?} is 100",
            group.reliability
        );
        return Err(fault(key("reliability"), message));
    }
    Ok(())
}

//! Values that can be read but cannot be: outside a range, or impossible together.

use airwatt_base::{QueueLimit, Rate, Size, Span};
use airwatt_energy::Radio;
use airwatt_proto::powersave::PolicyConfig;

use super::load::Fault;
use super::{Application, FlowGroup, Scenario, StationGroup, Tcp, Transport, Wifi};

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
    within("wired.rtt", scenario.wired.rtt, Span::ZERO, MAX_ROUND_TRIP)?;
    for (name, direction) in [("down", &scenario.wired.down), ("up", &scenario.wired.up)] {
        within(&format!("wired.{name}.rate"), direction.rate, MIN_RATE, MAX_RATE)?;
        queue(&format!("wired.{name}.queue"), direction.queue)?;
    }
    wifi(&scenario.wifi)?;
    packets_only("ap.buffer", scenario.ap.buffer)?;
    if let Some(buffer) = scenario.ap.power_save_buffer {
        packets_only("ap.power_save_buffer", buffer)?;
    }
    within("ap.beacon_interval", scenario.ap.beacon_interval, Span::from_millis(10), MAX_BEACON_INTERVAL)?;
    within("ap.dtim_period", scenario.ap.dtim_period, 1, 255)?;
    tcp(&scenario.tcp)?;
    stations(scenario)?;
    flows(scenario)
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

/// The policy of a station of this group, with its parameters; `None` for an unknown name.
pub(super) fn policy(group: &StationGroup) -> Option<PolicyConfig> {
    let policy = PolicyConfig::parse(&group.policy).ok()?;
    Some(match policy {
        PolicyConfig::Timeout { .. } => PolicyConfig::Timeout { timeout: group.timeout },
        PolicyConfig::Uapsd { .. } => PolicyConfig::Uapsd { interval: group.interval },
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
        within(&key("timeout"), group.timeout, Span::ZERO, Span::from_secs(3_600))?;
        within(&key("interval"), group.interval, Span::from_millis(1), Span::from_secs(10))?;
        within(&key("listen_interval"), group.listen_interval, 1, 65_535)?;
        within(&key("wake_guard"), group.wake_guard, Span::ZERO, scenario.ap.beacon_interval / 2)?;
    }
    Ok(())
}

fn flows(scenario: &Scenario) -> Checked {
    if scenario.flow.is_empty() {
        return Err(fault("flow", "there is no flow; add a [[flow]] table"));
    }
    let stations = scenario.stations().count() as u32;
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
    if let Some(size) = group.size {
        within(&key("size"), size, Size::from_bytes(1), Size::from_bytes(1_000_000_000_000))?;
    }
    if group.size.is_none() && scenario.duration.is_none() {
        return Err(fault(
            key("size"),
            "is missing, and so is duration: the run would never end; set one of them",
        ));
    }
    match (group.application, group.transport) {
        (Application::Saturated, Transport::Udp) => {}
        (Application::Saturated, other) => {
            let message = format!("\"saturated\" needs transport \"udp\", not {:?}", other.name());
            return Err(fault(key("application"), message));
        }
        (Application::Bulk, Transport::Udp) => {
            return Err(fault(
                key("transport"),
                "\"udp\" cannot carry application \"bulk\"; allowed is a TCP, or application \"saturated\"",
            ));
        }
        (Application::Bulk, _) => {}
    }
    let last = group.start.saturating_add(group.start_spread);
    within(&key("start"), last, Span::ZERO, scenario.duration.unwrap_or(scenario.time_limit))
}

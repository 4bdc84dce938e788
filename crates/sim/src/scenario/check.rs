//! Values that can be read but cannot be: outside a range, or impossible together.

use airwatt_base::settings::{SettingError, Settings, in_range};
use airwatt_base::{Power, QueueLimit, Size, Span};
use airwatt_dot11::Format;
use airwatt_proto::powersave::{PowerSaveConfig, WakeRequest};

use super::modes::{self, CellModes};
use super::{
    AccessPoint, Aggregation, FlowGroup, ListenInterval, PathLoss, PointToPointConfig, RateControl, Scenario,
    StationGroup, Transport, Wifi, Wired, WiredDirection,
};
use crate::limits::{MAX_RATE, MIN_RATE};
use crate::media::LinkDiscipline;
use crate::media::cell::access::contention::AccessMethod;
use crate::media::cell::frame::{QOS_OVERHEAD_BYTES, TWT_SCHEDULE_BYTES, beacon_bytes};
use crate::media::cell::{MAX_PPDU_TIME, max_ampdu_bytes, max_amsdu_bytes, max_window};
use crate::stack::flow::BIN;

/// Association identifiers end here (802.11-2020 9.4.1.8).
pub(super) const MAX_STATIONS: u32 = 2_007;
pub(super) const MAX_ROUND_TRIP: Span = Span::from_secs(100);
const MAX_CW: u32 = 32_767;
const MAX_QUEUE: u32 = 10_000_000;
/// What a beacon's interval field holds: 2^16 time units (802.11-2020 9.4.1.3).
const MAX_BEACON_INTERVAL: Span = Span::from_micros(65_535 * 1_024);
/// Thirty kilometres: beyond that no ACK comes back in time.
const MAX_DISTANCE_MM: u64 = 30_000_000;

/// Why the first key that is refused is, if one is.
pub(super) type Outcome = Result<(), SettingError>;

pub(super) fn queue(key: &str, limit: QueueLimit) -> Outcome {
    match limit {
        QueueLimit::Packets(count) => in_range(key, count, 1, MAX_QUEUE)
            .map_err(|_| SettingError::out_of_range(key, limit, format!("1packets to {MAX_QUEUE}packets"))),
        QueueLimit::Bytes(size) => in_range(key, size, Size::from_bytes(1), Size::from_bytes(1 << 40)),
    }
}

/// The tables of the short form. Their ranges are also checked in the general form, where most of them have no effect: the gateway and the
/// tunnel have one there, and a value out of range is refused as such wherever it stands.
pub(super) fn short_form(scenario: &Scenario) -> Outcome {
    scenario.wired.as_ref().map_or(Ok(()), |path| wired(path, "wired"))?;
    scenario.wifi.as_ref().map_or(Ok(()), wifi).map_err(|error| error.under("wifi"))?;
    access_point(&scenario.ap, &scenario.station).map_err(|error| error.under("ap"))?;
    scenario.gateway.check().map_err(|error| error.under("gateway"))?;
    scenario.tunnel.map_or(Ok(()), |tunnel| tunnel.check()).map_err(|error| error.under("tunnel"))?;
    if !scenario.is_short() {
        let has_media = !scenario.cell.is_empty() || !scenario.links().is_empty();
        let expected = "[wifi], or [link] for a point-to-point link; or the general form with [[node]], [[link]] and [[cell]]";
        return if has_media { Ok(()) } else { Err(SettingError::missing("wifi", expected)) };
    }
    if let Some(hop) = scenario.point_to_point() {
        if scenario.wifi.is_some() {
            return Err(SettingError::conflict("link", "wifi", "a scenario has one last hop"));
        }
        link(scenario, hop)?;
    }
    let belongs =
        |key: &str| Err(SettingError::no_effect(key, "the short form", "an access_point of a [[cell]]"));
    match &scenario.ap {
        AccessPoint { node: Some(_), .. } => belongs("ap.node")?,
        AccessPoint { radio: Some(_), .. } => belongs("ap.radio")?,
        _ => {}
    }
    stations(scenario)
}

/// An access point with its stations.
pub(super) fn access_point(ap: &AccessPoint, stations: &[StationGroup]) -> Outcome {
    queue("buffer", ap.buffer.into())?;
    if let Some(buffer) = ap.power_save_buffer {
        queue("power_save_buffer", buffer.into())?;
    }
    in_range("beacon_interval", ap.beacon_interval, Span::from_millis(10), MAX_BEACON_INTERVAL)?;
    if let Some(length) = ap.beacon_length {
        let count = stations.iter().fold(0u32, |sum, group| sum.saturating_add(group.count));
        // Up to the longest body of a management frame, with MAC header and FCS (802.11-2020 9.3.3.1).
        let schedule = ap.twt_schedule.map_or(0, |_| TWT_SCHEDULE_BYTES);
        let [least, most] = [beacon_bytes(count).saturating_add(schedule), 2_304 + 28]
            .map(|bytes| Size::from_bytes(bytes.into()));
        in_range("beacon_length", length, least, most)?;
    }
    in_range("dtim_period", ap.dtim_period, 1, 255)?;
    in_range("twt_least_duration", ap.twt_least_duration, Span::from_micros(256), WakeRequest::MAX_DURATION)?;
    if let Some(schedule) = ap.twt_schedule {
        schedule.check().map_err(|error| error.under("twt_schedule"))?;
    }
    let mut tables = ap.group.iter().enumerate();
    tables.try_for_each(|(index, table)| table.check().map_err(|error| error.under(index).under("group")))
}

/// The interval lies within the run, and windows within the interval.
pub(super) fn measurement(scenario: &Scenario) -> Outcome {
    let from = scenario.measure_from.unwrap_or_default();
    if let Some(capacity) = scenario.fairness_capacity {
        in_range("fairness_capacity", capacity, MIN_RATE, MAX_RATE)?;
    }
    let Some(end) = scenario.duration else {
        let open_ended = |key| Err(SettingError::no_effect(key, "a run without a duration", "duration"));
        return match (scenario.measure_from, scenario.fairness_windows.first()) {
            (Some(_), _) => open_ended("measure_from"),
            (None, Some(_)) => open_ended("fairness_windows"),
            (None, None) => Ok(()),
        };
    };
    if scenario.measure_from.is_some() {
        in_range("measure_from", from, Span::ZERO, end.saturating_sub(Span::from_millis(1)))?;
    }
    for (index, window) in scenario.fairness_windows.iter().enumerate() {
        let key = format!("fairness_windows.{index}");
        in_range(&key, *window, BIN, end - from)?;
        if *window != BIN * window.whole(BIN) {
            return Err(SettingError::out_of_range(&key, window, format!("a multiple of {BIN}")));
        }
    }
    Ok(())
}

fn path_loss(path_loss: &PathLoss) -> Outcome {
    let power = path_loss.tx_power;
    in_range("tx_power", power, Power::from_nanowatts(1_000), Power::from_nanowatts(10_000_000_000))?;
    in_range("exponent", path_loss.exponent.unwrap_or(2.0), 1.0, 6.0)?;
    in_range("capture_db", path_loss.capture_db, 0.0, 100.0)?;
    in_range("noise_figure_db", path_loss.noise_figure_db, 0.0, 30.0)?;
    in_range("shadowing_db", path_loss.shadowing_db, 0.0, 30.0)
}

fn wired(wired: &Wired, table: &str) -> Outcome {
    in_range(&format!("{table}.rtt"), wired.rtt, Span::ZERO, MAX_ROUND_TRIP)?;
    for (name, direction) in [("down", &wired.down), ("up", &wired.up)] {
        wired_direction(direction).map_err(|error| error.under(name).under(table))?;
    }
    Ok(())
}

/// One direction of a wire.
pub(super) fn wired_direction(direction: &WiredDirection) -> Outcome {
    in_range("rate", direction.rate, MIN_RATE, MAX_RATE)?;
    queue("queue", direction.queue)?;
    if direction.discipline.is_some_and(|discipline| discipline != LinkDiscipline::DropTail) {
        if matches!(direction.queue, QueueLimit::Bytes(_)) {
            return Err(SettingError::conflict("queue", "discipline", "queues that choose count packets"));
        }
        if direction.cross.is_some() {
            let why = "the traffic of others has no flows of its own; leave one of them out";
            return Err(SettingError::conflict("discipline", "cross", why));
        }
    }
    in_range("jitter", direction.jitter.unwrap_or_default(), Span::ZERO, MAX_ROUND_TRIP)?;
    if let Some(cross) = &direction.cross {
        in_range("cross.rate", cross.rate, MIN_RATE, direction.rate)?;
        let (least, most) = (Size::from_bytes(20), Size::from_bytes(65_535));
        in_range("cross.packet", cross.packet, least, most)?;
    }
    Ok(())
}

fn link(scenario: &Scenario, link: &PointToPointConfig) -> Outcome {
    in_range("link.rate", link.rate, MIN_RATE, MAX_RATE)?;
    in_range("link.delay", link.delay, Span::ZERO, MAX_ROUND_TRIP)?;
    queue("link.queue", link.queue)?;
    link.errors.check().map_err(|error| error.under("link.errors"))?;
    let count: u64 = scenario.station.iter().map(|group| u64::from(group.count)).sum();
    if count != 1 {
        return Err(SettingError::out_of_range(
            "station.0.count",
            count,
            "1, since a [link] has one station",
        ));
    }
    let sleeps = scenario.station.iter().enumerate().find(|(_, group)| group.policy_name() != "active");
    sleeps.map_or(Ok(()), |(index, group)| {
        let key = format!("station.{index}.power_save.policy");
        Err(SettingError::out_of_range(&key, format!("{:?}", group.policy_name()), "active on a [link]"))
    })
}

/// How the members of a cell use the air.
pub(super) fn wifi(wifi: &Wifi) -> Outcome {
    let modes = CellModes::new(wifi)?;
    if wifi.rate_control == RateControl::MinstrelHt && wifi.standard.modes().is_none() {
        let allowed = format!("\"fixed\" with {}; it chooses among MCS", wifi.standard.name());
        return Err(SettingError::out_of_range("rate_control", "\"minstrel-ht\"", allowed));
    }
    in_range("aifsn", wifi.aifsn, 1, 15)?;
    let timing = wifi.standard.timing();
    let (least, most) = (wifi.cw_min.unwrap_or(timing.cw_min), wifi.cw_max.unwrap_or(timing.cw_max));
    for (key, window) in [("cw_min", least), ("cw_max", most)] {
        in_range(key, window, 0, MAX_CW)?;
        if !(window + 1).is_power_of_two() {
            let allowed = format!("a power of two less one: 0, 1, 3, 7, ... {MAX_CW}");
            return Err(SettingError::out_of_range(key, window, allowed));
        }
    }
    if most < least {
        let allowed = format!("wifi.cw_min ({least}) to {MAX_CW}");
        return Err(SettingError::out_of_range("cw_max", most, allowed));
    }
    // TXOP limits are a 16-bit count of 32 us (802.11-2020 9.4.2.28).
    in_range("txop", wifi.txop, Span::ZERO, Span::from_micros(65_535 * 32))?;
    in_range("retry_limit", wifi.retry_limit, 0, 255)?;
    in_range("mac_overhead", wifi.mac_overhead, Size::from_bytes(28), Size::from_bytes(200))?;
    rts(wifi)?;
    categories(wifi)?;
    lifetimes(wifi).map_err(|error| error.under("msdu_lifetime"))?;
    aggregation(wifi, modes.data.format()).map_err(|error| error.under("aggregation"))?;
    wifi.path_loss.as_ref().map_or(Ok(()), path_loss).map_err(|error| error.under("path_loss"))?;
    probability("frame_error_rate", wifi.frame_error_rate)?;
    probability("response_error_rate", wifi.response_error_rate)
}

/// The probability of a loss, which something survives.
fn probability(key: &'static str, value: f64) -> Outcome {
    if (0.0..1.0).contains(&value) {
        Ok(())
    } else {
        Err(SettingError::out_of_range(key, value, "0 to below 1"))
    }
}

/// Categories are those of EDCA, and frames say by their QoS Control field to which one they belong.
fn categories(wifi: &Wifi) -> Outcome {
    let is_qos = wifi.mac_overhead.as_bytes() >= u64::from(QOS_OVERHEAD_BYTES);
    let (with, why) = match wifi.categories {
        Some(_) if wifi.access == AccessMethod::Dcf => ("wifi.access \"dcf\"", "they belong to \"edca\""),
        Some(_) if !is_qos => ("wifi.mac_overhead below 38B", "only QoS data has a category"),
        Some(_) if !wifi.txop.is_zero() => ("wifi.txop", "each category has its own limit"),
        _ => return Ok(()),
    };
    Err(SettingError::conflict("categories", with, why))
}

/// The threshold in time has ten bits that count 32 us, and all of them set for none (802.11ax 9.4.2.249).
fn rts(wifi: &Wifi) -> Outcome {
    let unit = Span::from_micros(32);
    let duration = wifi.txop_duration_rts_threshold.unwrap_or(unit);
    in_range("txop_duration_rts_threshold", duration, unit, unit * 1_022)?;
    in_range("rts_after_failures", wifi.rts_after_failures.unwrap_or(1), 1, 255)
}

/// Packets of one category have one lifetime.
fn lifetimes(wifi: &Wifi) -> Outcome {
    let lifetimes = wifi.msdu_lifetime.unwrap_or_default().by_category();
    for (key, lifetime) in ["background", "best_effort", "video", "voice"].into_iter().zip(lifetimes) {
        let Some(lifetime) = lifetime else { continue };
        if wifi.categories.is_none() && key != "best_effort" {
            return Err(SettingError::no_effect(key, "one category for all data", "wifi.categories"));
        }
        in_range(key, lifetime, Span::from_millis(1), Span::from_secs(60))?;
    }
    Ok(())
}

fn aggregation(wifi: &Wifi, format: Format) -> Outcome {
    let Some(aggregation) = wifi.aggregation else { return Ok(()) };
    let Aggregation { mpdus, bytes, time, amsdu, retry_limit, start_spacing, .. } = aggregation;
    if wifi.standard.modes().is_none() && mpdus != Some(1) {
        let allowed = format!("1 with {}, which has no A-MPDUs", wifi.standard.name());
        let given = mpdus.map_or_else(|| "none".to_owned(), |mpdus| mpdus.to_string());
        return Err(SettingError::out_of_range("mpdus", given, allowed));
    }
    let window = max_window(format);
    if let Some(mpdus) = mpdus.filter(|mpdus| window == 256 && *mpdus > window) {
        let allowed = "1 to 256 (windows of 1024 frames, as 802.11be has them, are not simulated)";
        return Err(SettingError::out_of_range("mpdus", mpdus, allowed));
    }
    in_range("mpdus", mpdus.unwrap_or(1), 1, window)?;
    let most = Size::from_bytes(max_ampdu_bytes(format).into());
    in_range("bytes", bytes.unwrap_or(most), Size::from_bytes(1), most)?;
    in_range("retry_limit", retry_limit.unwrap_or(0), 0, 255)?;
    in_range("start_spacing", start_spacing, Span::ZERO, Span::from_micros(16))?;
    if let Some(bytes) = amsdu {
        if wifi.standard.modes().is_none() {
            return Err(SettingError::no_effect("amsdu", wifi.standard.name(), "802.11n, ac and ax"));
        }
        if wifi.mac_overhead.as_bytes() < u64::from(QOS_OVERHEAD_BYTES) {
            let why = "QoS Control says that a frame is an A-MSDU";
            return Err(SettingError::conflict("amsdu", "wifi.mac_overhead below 38B", why));
        }
        let most = Size::from_bytes(max_amsdu_bytes(format).into());
        in_range("amsdu", bytes, Size::from_bytes(100), most)?;
    }
    in_range("time", time, Span::from_nanos(1), MAX_PPDU_TIME)
}

fn stations(scenario: &Scenario) -> Outcome {
    let total: u64 = scenario.station.iter().map(|group| u64::from(group.count)).sum();
    if total == 0 || total > u64::from(MAX_STATIONS) {
        let largest = (0..scenario.station.len())
            .max_by_key(|index| scenario.station[*index].count)
            .unwrap_or_default();
        let (key, allowed) = (format!("station.{largest}.count"), format!("1 to {MAX_STATIONS} stations"));
        return Err(SettingError::out_of_range(&key, total, allowed));
    }
    for (index, group) in scenario.station.iter().enumerate() {
        let under = |error: SettingError| error.under(index).under("station");
        if group.node.is_some() {
            return Err(under(SettingError::no_effect("node", "the short form", "a station of a [[cell]]")));
        }
        station(&scenario.ap, scenario.wifi.as_ref(), group).map_err(under)?;
    }
    Ok(())
}

/// A group of stations of an access point; `None` of a point-to-point link.
pub(super) fn station(ap: &AccessPoint, wifi: Option<&Wifi>, group: &StationGroup) -> Outcome {
    if let Some(wifi) = wifi {
        modes::of_station(group, wifi.standard)?;
    }
    if group.power_save.like().needs_uapsd() && !ap.uapsd {
        let name = format!("{:?}", group.power_save.name());
        let allowed = "a policy without U-APSD, which this access point lacks (ap.uapsd)";
        return Err(SettingError::out_of_range("power_save.policy", name, allowed));
    }
    group.power_save.like().check().map_err(|error| error.under("power_save"))?;
    if group.lower_bound && !matches!(group.power_save.like(), PowerSaveConfig::Active(_)) {
        let name = format!("{:?}", group.power_save.name());
        let allowed = "\"active\" with lower_bound, since the bound is that of a radio that never sleeps";
        return Err(SettingError::out_of_range("power_save.policy", name, allowed));
    }
    if let Some(missed) = group.power_save.misses(&group.hide) {
        let with = format!("power_save.policy {:?}", group.power_save.name());
        return Err(SettingError::conflict("hide", with, format!("it needs {:?}", missed.name())));
    }
    in_range("distance", group.distance.as_millimetres(), 0, MAX_DISTANCE_MM)
        .map_err(|_| SettingError::out_of_range("distance", group.distance, "0m to 30km"))?;
    queue("buffer", group.buffer.into())?;
    in_range("clock_error_ppm", group.clock_error_ppm.unwrap_or(0.0), -1e3, 1e3)?;
    probability("beacon_error_rate", group.beacon_error_rate)?;
    in_range("frame_wait", group.frame_wait, Span::from_millis(1), Span::from_secs(10))?;
    if let Some(scan) = &group.scan {
        scan.check().map_err(|error| error.under("scan"))?;
    }
    match group.listen_interval {
        Some(ListenInterval::Beacons(count)) => in_range("listen_interval", count, 1, 65_535),
        Some(ListenInterval::Dtim) | None => Ok(()),
    }
}

/// What holds for flows of either form.
pub(super) fn flow(scenario: &Scenario, group: &FlowGroup) -> Outcome {
    group.application.check().map_err(|error| error.under("application"))?;
    reliability(group)?;
    in_range("dscp", group.dscp, 0, 63)?;
    let last = group.start.saturating_add(group.start_spread);
    in_range("start", last, Span::ZERO, scenario.duration.unwrap_or(scenario.time_limit))
}

/// The ends of a flow of the short form.
pub(super) fn short_flow(scenario: &Scenario, group: &FlowGroup, stations: u32) -> Outcome {
    if !scenario.is_short() {
        return Err(SettingError::missing("from", "the name of a node, as the general form has it"));
    }
    if group.direction.is_none() {
        return Err(SettingError::missing("direction", "\"down\" or \"up\", or from and to"));
    }
    if group.count.is_some() {
        return Err(SettingError::no_effect("count", "a direction", "flows with from and to"));
    }
    if let Some(named) = &group.stations {
        if let Some(missing) = named.iter().find(|station| **station >= stations) {
            let allowed = format!("stations from 0 to {}", stations - 1);
            return Err(SettingError::out_of_range("stations", missing, allowed));
        }
        if named.is_empty() {
            return Err(SettingError::out_of_range(
                "stations",
                "[]",
                "a station, or no such key for all of them",
            ));
        }
    }
    group.wired.as_ref().map_or(Ok(()), |path| wired(path, "wired"))?;
    neighbours(scenario, group)?;
    match (&group.application, group.transport.like()) {
        (application, Transport::Udp) if application.is_saturated() && scenario.wifi.is_none() => {
            Err(SettingError::conflict("application.kind", "link", "\"saturated\" needs [wifi]"))
        }
        (_, transport) if transport.needs_gateway() && scenario.wired.is_none() && group.wired.is_none() => {
            let why = format!("{:?} needs [wired]: its gateway is between two hops", transport.name());
            Err(SettingError::conflict("transport", "no [wired]", why))
        }
        _ => Ok(()),
    }
}

/// Hosts on the access point's wire have a server beyond it, and no last hop.
fn neighbours(scenario: &Scenario, group: &FlowGroup) -> Outcome {
    let Some(count) = group.neighbours else { return Ok(()) };
    in_range("neighbours", count, 1, MAX_STATIONS)?;
    if group.stations.is_some() {
        return Err(SettingError::conflict("neighbours", "stations", "either says whose the flows are"));
    }
    if scenario.wired.is_none() && group.wired.is_none() {
        return Err(SettingError::no_effect("neighbours", "a server at the access point", "[wired]"));
    }
    if group.transport.like().uses_gateway() {
        let name = format!("{:?}", group.transport.name());
        return Err(SettingError::conflict("transport", "neighbours", format!("{name} is for the last hop")));
    }
    if group.application.is_saturated() {
        return Err(SettingError::conflict("application.kind", "neighbours", "\"saturated\" is for the air"));
    }
    Ok(())
}

/// The flow, or otherwise the run, comes to an end.
pub(super) fn ends(scenario: &Scenario, group: &FlowGroup) -> Outcome {
    match group.application.end() {
        Err(key) if scenario.duration.is_none() => {
            // Without a key of its own, such as "saturated", the application lasts for the whole run.
            if key.is_empty() {
                return Err(SettingError::missing(
                    "application.kind",
                    "a duration of the run, which never ends otherwise",
                ));
            }
            let expected = "a value, or a duration of the run, which never ends otherwise";
            Err(SettingError::missing(&format!("application.{key}"), expected))
        }
        _ => Ok(()),
    }
}

fn reliability(group: &FlowGroup) -> Outcome {
    in_range("reliability", group.reliability, 0, 100)?;
    if group.reliability < 100 && !group.transport.like().is_partial() {
        let because = format!("transport {:?}", group.transport.name());
        return Err(SettingError::no_effect("reliability", because, "\"e2tcp\" and \"prtp\""));
    }
    if let Some(window) = group.reliability_window {
        in_range("reliability_window", window, 1, 1_000_000)?;
        if group.reliability == 100 {
            let because = "reliability 100".to_owned();
            return Err(SettingError::no_effect("reliability_window", because, "a reliability below 100"));
        }
    }
    Ok(())
}

//! Keys that have no effect on what is configured, across tables: one rule each, for both forms of a scenario.
//!
//! A rule is applied to the keys that somebody wrote: those of the overrides, or without overrides those of the file itself.
//! Keys of a base are not held against the file that begins from it, and keys of a file not against an override, since
//! neither can be taken back; nor keys of a file that have their default, as in a file with every key. Keys within a tagged
//! table need no rule: each kind has its own settings. Rules name keys as the short form has them; a key of the general form is
//! translated ([`short_key`]).

use std::cell::OnceCell;

use airwatt_base::settings::SettingError;
use airwatt_proto::cc::{Algorithm, Recovery};
use airwatt_proto::tcp::{RtoClock, TcpProfile};
use toml::Value;

use super::keys::{Override, without_numbers};
use super::topology::{Cell, CellMode, ProgramConfig, Topology};
use super::typed::typed;
use super::{AccessPoint, Checked, ListenInterval, Scenario, StationGroup, TcpControl, Transport};

/// What a key belongs to.
struct Place<'a> {
    scenario: &'a Scenario,
    topology: &'a Topology,
    /// Its cell; for a key that belongs to no particular one, all cells.
    cells: Vec<&'a Cell>,
    /// Its group of stations.
    station: Option<&'a StationGroup>,
}

/// A key, or all keys of a table, and what they belong to.
#[derive(Clone, Copy)]
struct Rule {
    key: &'static str,
    /// Whether the scenario uses the key at this place.
    used: fn(&Place<'_>) -> bool,
    because: &'static str,
    belongs_to: &'static str,
    /// The rule leaves keys of files alone, and overrides beside a choice of transports, which a comparison makes: the use follows from
    /// the flows' transports, or shipped sets have the key.
    of_override: bool,
}

const fn rule(
    key: &'static str,
    used: fn(&Place<'_>) -> bool,
    because: &'static str,
    belongs_to: &'static str,
) -> Rule {
    Rule { key, used, because, belongs_to, of_override: false }
}

const fn of_override(
    key: &'static str,
    used: fn(&Place<'_>) -> bool,
    because: &'static str,
    belongs_to: &'static str,
) -> Rule {
    Rule { key, used, because, belongs_to, of_override: true }
}

const BEACONS: &str = "stations that receive every beacon";
const COUNTED: &str = "a listen interval that counts beacons";
const NO_TWT: &str = "stations without target wake time";
const NO_MEMBERS: &str = "stations that do not join it";
const NO_SCHEDULE: &str = "an access point without a schedule";
const AD_HOC: &str = "mode \"ad-hoc\"";
const NO_CODEL: &str = "ap.queue \"drop-tail\" and \"two-queues\"";
const BSS: &str = "\"infrastructure\"";
const LINUX: &str = "profile \"linux\", whose sender has its own rules";
const NO_KEEP_ALIVES: &str = "hosts without keep-alives";
const OTHERS: &str = "the other profiles";
const CLASSIC: &str = "\"tahoe\", \"reno\", \"newreno\" and \"sack\"";
const GROWING: &str = "\"tahoe\", \"reno\", \"newreno\", \"sack\", \"westwood\", \"veno\" and \"jersey\"";
const SCOREBOARD: &str = "\"sack\", \"cubic\", \"westwood\", \"veno\" and \"jersey\"";
const CATEGORIES: &str = "wifi.categories";
const ONE_CATEGORY: &str = "a cell whose data has one access category";

#[rustfmt::skip]
const RULES: &[Rule] = &[
    rule("ap", has_cell, "a [link]", "[wifi]"),
    rule("ap.dtim_period", receives_dtims, COUNTED, "station.listen_interval \"dtim\" or station.receive_dtims"),
    rule("ap.twt_agreements", has_target_wake, NO_TWT, "policies \"twt\" and \"ba-ta-twt\""),
    rule("ap.twt_least_duration", has_target_wake, NO_TWT, "policies \"twt\" and \"ba-ta-twt\""),
    rule("ap.twt_schedule", joins_schedule, NO_MEMBERS, "station.power_save.broadcast"),
    rule("station.power_save.broadcast", has_schedule, NO_SCHEDULE, "ap.twt_schedule"),
    rule("ap.twt_information", has_target_wake, NO_TWT, "policies \"twt\" and \"ba-ta-twt\""),
    of_override("wifi.aifsn", has_one_category, CATEGORIES, ONE_CATEGORY),
    of_override("wifi.cw_min", has_one_category, CATEGORIES, ONE_CATEGORY),
    of_override("wifi.cw_max", has_one_category, CATEGORIES, ONE_CATEGORY),
    rule("ap.priority", has_one_category, CATEGORIES, ONE_CATEGORY),
    rule("ap.codel_target", has_codel, NO_CODEL, "\"fq-codel\", \"mac80211\" and \"ath9k\""),
    rule("ap.codel_interval", has_codel, NO_CODEL, "\"fq-codel\", \"mac80211\" and \"ath9k\""),
    rule("ap.codel_since", has_codel, NO_CODEL, "\"fq-codel\", \"mac80211\" and \"ath9k\""),
    rule("wifi.group_rate", has_group_traffic, "an access point without group traffic", "ap.group"),
    rule("wifi.short_preamble", is_2_4_ghz, "a PHY of 5 or 6 GHz", "802.11b, 802.11g and 802.11n-2.4GHz"),
    rule("station.receive_dtims", skips_beacons, BEACONS, "a station.listen_interval above 1"),
    rule("station.listen_interval", has_cell, "a [link]", "[wifi]"),
    rule("station.listen_interval", has_access_point, AD_HOC, BSS),
    rule("station.clock_error_ppm", has_cell, "a [link]", "[wifi]"),
    rule("station.clock_error_ppm", has_access_point, AD_HOC, BSS),
    rule("station.beacon_error_rate", has_cell, "a [link]", "[wifi]"),
    rule("station.beacon_error_rate", has_access_point, AD_HOC, BSS),
    rule("station.frame_wait", has_cell, "a [link]", "[wifi]"),
    rule("station.frame_wait", has_access_point, AD_HOC, BSS),
    rule("station.hide", has_cell, "a [link]", "[wifi]"),
    rule("station.hide", has_access_point, AD_HOC, BSS),
    rule("station.scan", has_cell, "a [link]", "[wifi]"),
    rule("station.scan", has_access_point, AD_HOC, BSS),
    rule("station.distance", has_cell, "a [link]", "[wifi]"),
    rule("station.hidden_from", has_cell, "a [link]", "[wifi]"),
    rule("station.hidden_from", has_access_point, AD_HOC, BSS),
    rule("station.data_rate", has_cell, "a [link]", "[wifi]"),
    rule("station.data_rate", has_access_point, AD_HOC, BSS),
    rule("station.mode", has_cell, "a [link]", "[wifi]"),
    rule("station.mode", has_access_point, AD_HOC, BSS),
    rule("station.buffer", has_cell, "a [link]", "[wifi]"),
    rule("time_limit", |place| place.scenario.duration.is_none(), "a duration", "runs that end by themselves"),
    rule("tcp.rto_tick", has_ticks, "rto_clock \"fine\"", "\"coarse\""),
    rule("tcp.rto_min_ticks", has_ticks, "rto_clock \"fine\"", "\"coarse\""),
    rule("tcp.min_rto_of", |place| place.scenario.tcp.rto_clock == RtoClock::Fine, "rto_clock \"coarse\"", "\"fine\""),
    rule("tcp.paced", |place| !has_settings(place), "this profile", "\"linux\""),
    rule("tcp.ecn", |place| !has_settings(place), "this profile", "\"linux\""),
    rule("tcp.accecn", |place| !has_settings(place), "this profile", "\"linux\""),
    rule("tcp.keep_alive", |place| !has_settings(place), "this profile", "\"linux\""),
    rule("tcp.keep_alive_time", has_keep_alives, NO_KEEP_ALIVES, "the profile \"linux\" with tcp.keep_alive"),
    rule("tcp.keep_alive_interval", has_keep_alives, NO_KEEP_ALIVES, "the profile \"linux\" with tcp.keep_alive"),
    rule("tcp.keep_alive_probes", has_keep_alives, NO_KEEP_ALIVES, "the profile \"linux\" with tcp.keep_alive"),
    rule("tcp.header", has_settings, LINUX, OTHERS),
    rule("tcp.timestamps", has_settings, LINUX, OTHERS),
    rule("tcp.initial_ssthresh", has_settings, LINUX, OTHERS),
    rule("tcp.window_growth", has_settings, LINUX, OTHERS),
    rule("tcp.limited_transmit", has_settings, LINUX, OTHERS),
    rule("tcp.delayed_ack", has_settings, LINUX, OTHERS),
    rule("tcp.delayed_ack_segments", has_settings, LINUX, OTHERS),
    rule("tcp.delayed_ack_timeout", has_settings, LINUX, OTHERS),
    rule("tcp.dup_ack_threshold", has_settings, LINUX, OTHERS),
    rule("tcp.partial_ack_timer", has_settings, LINUX, OTHERS),
    rule("tcp.sack_recovery", has_settings, LINUX, OTHERS),
    rule("tcp.window_rules", has_settings, LINUX, OTHERS),
    rule("tcp.repeated_timeout", has_settings, LINUX, OTHERS),
    rule("tcp.rto_clock", has_settings, LINUX, OTHERS),
    rule("tcp.rto_tick", has_settings, LINUX, OTHERS),
    rule("tcp.rto_min_ticks", has_settings, LINUX, OTHERS),
    rule("tcp.min_rto_of", has_settings, LINUX, OTHERS),
    rule("tcp.initial_rto", has_settings, LINUX, OTHERS),
    rule("tcp.handshake", has_settings, LINUX, OTHERS),
    of_override("ackloss", |place| any(place, |transport| matches!(transport, Transport::Tcp(TcpControl { ackloss: true, .. }))), "these transports", "those with +ackloss"),
    of_override("tcp.sack_recovery", |place| any(place, uses_scoreboard), "these transports", SCOREBOARD),
    of_override("tcp.window_growth", |place| any(place, grows_classically), "these transports", GROWING),
    of_override("tcp.window_rules", |place| any(place, is_classic), "these transports", CLASSIC),
    of_override("tcp.partial_ack_timer", |place| any(place, sees_partial_acks), "these transports", "\"newreno\""),
    of_override("tcp.delayed_ack_segments", delays_acks, "acknowledgements that are not delayed", "tcp.delayed_ack"),
    of_override("tcp.delayed_ack_timeout", delays_acks, "acknowledgements that are not delayed", "tcp.delayed_ack"),
    of_override("e2tcp", |place| any(place, Transport::has_e2tcp), "these transports", "\"e2tcp\" and \"e2tcp-base\""),
    of_override("quic", |place| any(place, |transport| transport == Transport::Quic), "these transports", "\"quic\""),
    of_override("gateway", |place| any(place, Transport::uses_gateway), "these transports", "\"split\", \"snoop\", \"e2tcp\" and \"e2tcp-base\""),
];

/// Keys that only a connection of TCP reads. The sizes of packets and of the window are facts of the scenario for others too.
const OF_CONNECTIONS: &[&str] = &[
    "tcp.profile",
    "tcp.initial_window",
    "tcp.initial_ssthresh",
    "tcp.window_growth",
    "tcp.limited_transmit",
    "tcp.delayed_ack",
    "tcp.delayed_ack_segments",
    "tcp.delayed_ack_timeout",
    "tcp.dup_ack_threshold",
    "tcp.partial_ack_timer",
    "tcp.window_rules",
    "tcp.repeated_timeout",
    "tcp.rto_clock",
    "tcp.rto_tick",
    "tcp.rto_min_ticks",
    "tcp.min_rto",
    "tcp.min_rto_of",
    "tcp.initial_rto",
    "tcp.max_rto",
    "tcp.paced",
    "tcp.handshake",
];

/// All rules.
fn rules() -> impl Iterator<Item = Rule> {
    let of_connections = OF_CONNECTIONS.iter().copied();
    of_connections
        .map(|key| of_override(key, |place| any(place, is_tcp), "these transports", "those of TCP"))
        .chain(RULES.iter().copied())
}

fn has_cell(place: &Place<'_>) -> bool {
    !place.cells.is_empty()
}

fn has_access_point(place: &Place<'_>) -> bool {
    place.cells.iter().all(|cell| cell.mode == CellMode::Infrastructure)
}

fn has_one_category(place: &Place<'_>) -> bool {
    place.cells.iter().any(|cell| cell.wifi.categories.is_none())
}

fn has_codel(place: &Place<'_>) -> bool {
    let drops = |ap: &AccessPoint| ap.queue.has_codel();
    place.cells.iter().any(|cell| cell.access_point.as_ref().is_some_and(drops))
}

fn has_group_traffic(place: &Place<'_>) -> bool {
    place.cells.iter().any(|cell| cell.access_point.as_ref().is_some_and(|ap| !ap.group.is_empty()))
}

fn is_2_4_ghz(place: &Place<'_>) -> bool {
    place.cells.iter().any(|cell| cell.wifi.standard.is_2_4_ghz())
}

fn has_ticks(place: &Place<'_>) -> bool {
    place.scenario.tcp.rto_clock == RtoClock::Coarse
}

fn has_settings(place: &Place<'_>) -> bool {
    place.scenario.tcp.profile != Some(TcpProfile::Linux)
}

fn has_keep_alives(place: &Place<'_>) -> bool {
    !has_settings(place) && place.scenario.tcp.keep_alive.is_some()
}

fn skips_beacons(place: &Place<'_>) -> bool {
    place
        .station
        .map_or_else(|| place.cells.iter().flat_map(|cell| &cell.station).any(skips_some), skips_some)
}

/// Whether the listen interval skips beacons whatever they are.
fn skips_some(group: &StationGroup) -> bool {
    matches!(group.listening(), ListenInterval::Beacons(count) if count > 1)
}

fn receives_dtims(place: &Place<'_>) -> bool {
    let mut groups = place.cells.iter().flat_map(|cell| &cell.station);
    // Beside a listen interval of a chip that otherwise wakes up for DTIM beacons it stays a fact of the network: what the listen
    // interval saves is the difference from them.
    let receives = |group: &StationGroup| {
        group.listening() == ListenInterval::Dtim
            || group.radio.profile().wakes_for_dtims
            || (group.receive_dtims && skips_some(group))
    };
    has_group_traffic(place) || groups.any(receives)
}

fn has_target_wake(place: &Place<'_>) -> bool {
    place
        .cells
        .iter()
        .flat_map(|cell| &cell.station)
        .any(|group| group.power_save.like().wake_request().is_some())
}

fn joins_schedule(place: &Place<'_>) -> bool {
    let mut groups = place.cells.iter().flat_map(|cell| &cell.station);
    groups.any(|group| group.power_save.like().wake_request().is_some_and(|request| request.broadcast))
}

fn has_schedule(place: &Place<'_>) -> bool {
    place.cells.iter().filter_map(|cell| cell.access_point.as_ref()).any(|ap| ap.twt_schedule.is_some())
}

/// Whether a connection of the transport may have selective acknowledgements; that of a gateway is a choice of its own.
fn uses_scoreboard(transport: Transport) -> bool {
    match transport {
        Transport::Tcp(TcpControl { congestion, .. }) => congestion.recovery() == Recovery::Scoreboard,
        other => other.uses_gateway(),
    }
}

/// Whether a transport may have connections with the settings of TCP.
const fn is_tcp(transport: Transport) -> bool {
    !matches!(transport, Transport::Quic | Transport::Udp)
}

/// Whether a connection of the transport may have an algorithm whose window grows as RFC 5681 says.
fn grows_classically(transport: Transport) -> bool {
    match transport {
        Transport::Tcp(TcpControl { congestion, .. }) => congestion != Algorithm::Cubic,
        other => is_classic(other),
    }
}

/// Whether a connection of the transport may have one of the classic algorithms.
fn is_classic(transport: Transport) -> bool {
    match transport {
        Transport::Tcp(TcpControl { congestion, .. }) => congestion.halves(),
        Transport::Prtp => true,
        other => other.uses_gateway(),
    }
}

/// Whether partial acknowledgements may come to a sender of the transport that retransmits by them.
fn sees_partial_acks(transport: Transport) -> bool {
    match transport {
        Transport::Tcp(TcpControl { congestion, .. }) => congestion.recovery() == Recovery::PartialAcks,
        Transport::Prtp => true,
        other => other.uses_gateway(),
    }
}

fn delays_acks(place: &Place<'_>) -> bool {
    place.scenario.tcp.delayed_ack
}

fn any(place: &Place<'_>, is: fn(Transport) -> bool) -> bool {
    place.topology.flow.iter().any(|group| group.transport.is_own() || is(group.transport.like()))
}

/// A key of the general form as the short form has it: those of a cell's access point are below `ap`, those of its stations below
/// `station`, and those of a gateway below `gateway`.
fn short_key(scenario: &Scenario, key: &str) -> String {
    let parts: Vec<&str> = key.split('.').filter(|part| part.parse::<usize>().is_err()).collect();
    let numbers: Vec<usize> = key.split('.').filter_map(|part| part.parse().ok()).collect();
    let is_gateway = || {
        let [node, program, ..] = numbers[..] else { return false };
        let node = scenario.node.get(node);
        matches!(node.and_then(|node| node.program.get(program)), Some(ProgramConfig::Gateway(_)))
    };
    match parts.as_slice() {
        ["cell", "access_point", rest @ ..] => [&["ap"], rest].concat().join("."),
        ["cell", rest @ ..] => rest.join("."),
        ["node", "program", rest @ ..] if is_gateway() => [&["gateway"], rest].concat().join("."),
        parts => parts.join("."),
    }
}

/// The cell and the group of stations to which a key belongs.
fn place<'a>(scenario: &'a Scenario, topology: &'a Topology, key: &str) -> Place<'a> {
    let parts: Vec<&str> = key.split('.').collect();
    let number = |at: usize| parts.get(at).and_then(|part| part.parse::<usize>().ok());
    // The cells of the file come after those of its expansion.
    let own = topology.cell.len() - scenario.cell.len().min(topology.cell.len());
    let (cell, group) = match parts[0] {
        "cell" => {
            (number(1).map(|index| index + own), if number(1).is_some() { number(3) } else { number(2) })
        }
        "station" => ((own > 0).then_some(0), number(1)),
        "ap" => ((own > 0).then_some(0), None),
        _ => (None, None),
    };
    let cells: Vec<&Cell> = match (cell, parts[0]) {
        (Some(index), _) => topology.cell.get(index).into_iter().collect(),
        (None, "station" | "ap") => Vec::new(),
        (None, _) => topology.cell.iter().collect(),
    };
    let station = group.and_then(|index| cells.first()?.station.get(index));
    Place { scenario, topology, cells, station }
}

/// Tables that only the short form has.
const SHORT_TABLES: [&str; 4] = ["ap", "gateway", "station", "wired"];

/// A scenario in which every key that has a default has it.
const DEFAULTS: &str = "duration = \"1s\"\n[wifi]\nstandard = \"802.11a\"\ndata_rate = \"54Mbps\"\n[[flow]]\ndirection = \"down\"\n";

/// The rules over a scenario.
struct Rules<'a> {
    scenario: &'a Scenario,
    topology: &'a Topology,
    /// The scenario as a table, and [`DEFAULTS`] as one. Only a key that a rule refuses is compared with its default, which takes far
    /// longer than the rules.
    tables: OnceCell<Option<[Value; 2]>>,
}

impl<'a> Rules<'a> {
    const fn new(scenario: &'a Scenario, topology: &'a Topology) -> Self {
        Self { scenario, topology, tables: OnceCell::new() }
    }

    /// The value of a key, and the one that it would have anyway.
    fn values(&self, key: &str) -> [Option<&Value>; 2] {
        let tables = self.tables.get_or_init(|| {
            let defaults = typed(DEFAULTS.parse().ok()?).ok()?;
            Some([Value::try_from(self.scenario).ok()?, Value::try_from(defaults).ok()?])
        });
        let Some([own, defaults]) = tables else { return [None; 2] };
        let first = short_key(self.scenario, key);
        let like = first.strip_prefix("station.").map_or(first.clone(), |rest| format!("station.0.{rest}"));
        [value_of(own, key), value_of(defaults, &like)]
    }

    /// Why a key has no effect, if it has none. Keys that others wrote may have their defaults; the rules for overrides alone hold if
    /// `of_override`.
    fn refuse(&self, key: &str, may_be_default: bool, of_override: bool) -> Option<SettingError> {
        let is_default = |[own, default]: [Option<&Value>; 2]| own.is_some() && own == default;
        let stands = || may_be_default && is_default(self.values(key));
        let table = key.split('.').next().unwrap_or_default();
        if !self.scenario.is_short() && SHORT_TABLES.contains(&table) && !stands() {
            let form = ("the general form", "the short form, with [wifi] or [link]");
            return Some(SettingError::no_effect(key, form.0, form.1));
        }
        let plain = short_key(self.scenario, key);
        let mut concerned = rules().filter(|rule| {
            let below =
                plain.strip_prefix(rule.key).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
            below && (of_override || !rule.of_override)
        });
        let rule = concerned.find(|rule| !(rule.used)(&place(self.scenario, self.topology, key)))?;
        (!stands()).then(|| SettingError::no_effect(key, rule.because, rule.belongs_to))
    }
}

/// The value of a dotted key.
fn value_of<'a>(whole: &'a Value, key: &str) -> Option<&'a Value> {
    key.split('.').try_fold(whole, |value, part| match part.parse::<usize>() {
        Ok(number) => value.get(number),
        Err(_) => value.get(part),
    })
}

/// Those of these keys that have no effect and another value than their default, with that. A base or a profile may have left them, and
/// a file that had them would be refused.
pub(super) fn unused(scenario: &Scenario, keys: Vec<String>) -> Vec<(String, Option<Value>)> {
    let topology = scenario.topology();
    let rules = Rules::new(scenario, &topology);
    let unused = keys.into_iter().filter(|key| rules.refuse(key, true, false).is_some());
    unused.map(|key| (rules.values(&key)[1].cloned(), key)).map(|(default, key)| (key, default)).collect()
}

/// Checks the keys of the overrides, or without any those of the file.
pub(super) fn check(checked: &Checked, file: &[String], overrides: &[Override]) -> Result<(), SettingError> {
    let chooses_transports = overrides
        .iter()
        .any(|(key, _)| ["transport", "flow", "flow.transport"].contains(&without_numbers(key).as_str()));
    let rules = Rules::new(checked, &checked.topology);
    let of_file = file.iter().filter(|_| overrides.is_empty());
    let mut keys = overrides.iter().map(|(key, _)| key).chain(of_file);
    let is_override = !overrides.is_empty();
    keys.find_map(|key| rules.refuse(key, !is_override, is_override && !chooses_transports))
        .map_or(Ok(()), Err)
}

//! Keys that have no effect on what is configured, across tables: one rule each.
//!
//! A rule is applied to the keys that somebody wrote: those of the overrides, or without overrides those of the file itself.
//! Keys of a base are not held against the file that begins from it, and keys of a file not against an override, since
//! neither can be taken back; nor keys of a file that have their default, as in a file with every key. Keys within a tagged table need no rule: each kind has its own settings.

use airwatt_base::settings::SettingError;
use airwatt_proto::tcp::RtoClock;

use super::keys::{Override, without_numbers};
use super::{Scenario, StationGroup, Transport};

/// A key, or all keys of a table, and what they belong to.
struct Rule {
    key: &'static str,
    /// Whether the scenario uses the key; for a key of one group of stations, that group.
    used: fn(&Scenario, Option<&StationGroup>) -> bool,
    because: &'static str,
    belongs_to: &'static str,
    /// The use follows from the flows' transports: the rule leaves keys of files alone, and overrides beside a choice of
    /// transports, which a comparison makes.
    by_transport: bool,
}

const fn rule(
    key: &'static str,
    used: fn(&Scenario, Option<&StationGroup>) -> bool,
    because: &'static str,
    belongs_to: &'static str,
) -> Rule {
    Rule { key, used, because, belongs_to, by_transport: false }
}

const fn by_transport(
    key: &'static str,
    used: fn(&Scenario, Option<&StationGroup>) -> bool,
    because: &'static str,
    belongs_to: &'static str,
) -> Rule {
    Rule { key, used, because, belongs_to, by_transport: true }
}

const BEACONS: &str = "stations that receive every beacon";

#[rustfmt::skip]
const RULES: &[Rule] = &[
    rule("ap", has_cell, "a [link]", "[wifi]"),
    rule("ap.dtim_period", receives_dtims, BEACONS, "station.receive_dtims"),
    rule("station.receive_dtims", skips_beacons, BEACONS, "a station.listen_interval above 1"),
    rule("station.listen_interval", has_cell, "a [link]", "[wifi]"),
    rule("station.wake_guard", has_cell, "a [link]", "[wifi]"),
    rule("station.hide", has_cell, "a [link]", "[wifi]"),
    rule("station.distance", has_cell, "a [link]", "[wifi]"),
    rule("station.buffer", has_cell, "a [link]", "[wifi]"),
    rule("time_limit", |scenario, _| scenario.duration.is_none(), "a duration", "runs that end by themselves"),
    rule("tcp.rto_tick", has_ticks, "rto_clock \"fine\"", "\"coarse\""),
    rule("tcp.rto_min_ticks", has_ticks, "rto_clock \"fine\"", "\"coarse\""),
    rule("tcp.min_rto_of", |scenario, _| scenario.tcp.rto_clock == RtoClock::Fine, "rto_clock \"coarse\"", "\"fine\""),
    by_transport("ackloss", |scenario, _| any(scenario, |transport| matches!(transport, Transport::Tcp { ackloss: true, .. })), "these transports", "those with +ackloss"),
    by_transport("e2tcp", |scenario, _| any(scenario, |transport| transport == Transport::E2tcp), "these transports", "\"e2tcp\""),
    by_transport("gateway", |scenario, _| any(scenario, |transport| matches!(transport, Transport::E2tcp | Transport::Split)), "these transports", "\"e2tcp\" and \"split\""),
];

fn has_cell(scenario: &Scenario, _: Option<&StationGroup>) -> bool {
    scenario.wifi.is_some()
}

fn has_ticks(scenario: &Scenario, _: Option<&StationGroup>) -> bool {
    scenario.tcp.rto_clock == RtoClock::Coarse
}

fn skips_beacons(scenario: &Scenario, group: Option<&StationGroup>) -> bool {
    let skips = |group: &StationGroup| group.listen_interval > 1;
    group.map_or_else(|| scenario.station.iter().any(skips), skips)
}

fn receives_dtims(scenario: &Scenario, _: Option<&StationGroup>) -> bool {
    scenario.station.iter().any(|group| group.receive_dtims && group.listen_interval > 1)
}

fn any(scenario: &Scenario, is: fn(Transport) -> bool) -> bool {
    scenario.flow.iter().any(|group| is(group.transport))
}

/// A scenario in which every key that has a default has it.
const DEFAULTS: &str = "duration = \"1s\"\n[wifi]\nstandard = \"802.11a\"\ndata_rate = \"54Mbps\"\n[[flow]]\ndirection = \"down\"\n";

/// Whether a key of a file has the value that it would have anyway.
fn is_default(scenario: &Scenario, key: &str) -> bool {
    let value_of = |scenario: &Scenario, key: &str| {
        let whole = toml::Value::try_from(scenario).ok()?;
        let part = |value: toml::Value, part: &str| match part.parse::<usize>() {
            Ok(number) => value.get(number).cloned(),
            Err(_) => value.get(part).cloned(),
        };
        key.split('.').try_fold(whole, part)
    };
    let first = key.strip_prefix("station.").and_then(|rest| rest.split_once('.'));
    let like = first.map_or_else(|| key.to_owned(), |(_, rest)| format!("station.0.{rest}"));
    let Ok(defaults) = toml::from_str::<Scenario>(DEFAULTS) else { return false };
    value_of(scenario, key).is_some_and(|value| value_of(&defaults, &like) == Some(value))
}

/// Checks the keys of the overrides, or without any those of the file.
pub(super) fn check(
    scenario: &Scenario,
    file: &[String],
    overrides: &[Override],
) -> Result<(), SettingError> {
    let chooses_transports = overrides
        .iter()
        .any(|(key, _)| ["transport", "flow", "flow.transport"].contains(&without_numbers(key).as_str()));
    let of_file = file.iter().filter(|key| overrides.is_empty() && !is_default(scenario, key));
    let written = || overrides.iter().map(|(key, _)| key).chain(of_file.clone());
    for key in written() {
        let plain = without_numbers(key);
        let group =
            key.strip_prefix("station.").and_then(|rest| rest.split('.').next()?.parse::<usize>().ok());
        let group = group.and_then(|index| scenario.station.get(index));
        let concerned = RULES.iter().filter(|rule| {
            let below =
                plain.strip_prefix(rule.key).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
            below && !(rule.by_transport && (chooses_transports || overrides.is_empty()))
        });
        for rule in concerned {
            if !(rule.used)(scenario, group) {
                return Err(SettingError::no_effect(key, rule.because, rule.belongs_to));
            }
        }
    }
    Ok(())
}

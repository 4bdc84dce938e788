//! The configuration of the station daemon. Every key has a default, so that no file is needed.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use airwatt_base::settings::{Settings as _, fields_of, one_of};
use airwatt_base::{Span, read_text, reason_of, with_defaults};
use airwatt_energy::Radio;
use airwatt_linux::metrics;
use airwatt_proto::powersave::{BaTaConfig, BaTaStrConfig, LatencyGuardConfig, PowerSaveConfig, Reach};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, de};

use super::supply::Supply;
use super::{Interface, drivers, wifi};
use crate::failure::Failure;
use crate::settings;

/// The folder of the services' files.
const FOLDER: &str = "/etc/airwatt";

with_defaults! {
    /// The configuration.
    #[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields, default)]
    pub(super) struct Config {
        /// The Wi-Fi interface; without it the first that is connected, or the first.
        pub(super) interface: Option<String> = None,
        /// The policy with its settings, as in a scenario.
        pub(super) power_save: PowerSaveConfig = PowerSaveConfig::LatencyGuard(LatencyGuardConfig::default()),
        /// The time for which the daemon only counts, as something to compare with, the first time that it runs on an interface, and
        /// when it finds another setting of power save there than the time before.
        pub(super) observe: Span = Span::from_secs(300),
        /// The most that `power_save.worth` is while the host is on battery: the lesser of the two holds.
        pub(super) worth_on_battery: Span = Span::from_secs(2),
        /// Whether the daemon runs on a driver whose power save is known to hang the device.
        pub(super) despite_trouble: bool = false,
        /// The radio profile by which energy is estimated; without it that of this radio, if one ships, or else none.
        pub(super) radio: Option<String> = None,
        /// Where metrics for Prometheus are served: `unix:PATH`, or a loopback address with its port, as `127.0.0.1:9471`.
        #[serde(deserialize_with = "address")]
        #[schemars(with = "Option<String>")]
        pub(super) metrics: Option<metrics::MetricsAddress> = None,
    }
}

fn address<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<metrics::MetricsAddress>, D::Error> {
    let text = String::deserialize(deserializer)?;
    metrics::MetricsAddress::from_str(&text).map(Some).map_err(de::Error::custom)
}

impl Config {
    /// The configuration of a command: that of its file, or else the defaults; an interface that the command names comes first.
    pub(super) fn of_command(file: Option<&Path>, interface: &Interface) -> Result<Self, Failure> {
        let mut config = Self::read(Self::file(file, interface).as_deref())?;
        let from = if interface.interface.is_some() { "--interface" } else { "interface" };
        if interface.interface.is_some() {
            config.interface.clone_from(&interface.interface);
        }
        match config.interface.as_deref().filter(|name| wifi::is_something_else(name)) {
            Some(name) => Err(Failure::Input(format!("{from}: expected a Wi-Fi interface, got {name:?}"))),
            None => Ok(config),
        }
    }

    /// The file that a command reads: the one that it names, or that of the interface which it names, or that of the service, if one
    /// is there, or may be there for all that this user may see.
    pub(super) fn file(named: Option<&Path>, interface: &Interface) -> Option<PathBuf> {
        let folder = Path::new(FOLDER);
        let of_interface =
            interface.interface.as_ref().map(|name| folder.join(format!("station-{name}.toml")));
        let mut known = of_interface.into_iter().chain([folder.join("station.toml")]);
        named.map(Path::to_owned).or_else(|| known.find(|file| file.try_exists().unwrap_or(true)))
    }

    /// Reads and checks a file. Without one each key has its default.
    pub(super) fn read(path: Option<&Path>) -> Result<Self, Failure> {
        let Some(path) = path else { return Ok(Self::default()) };
        let name = path.display();
        let text =
            read_text(path).map_err(|error| Failure::Input(format!("{name}: {}", reason_of(&error))))?;
        Self::parse(&text).map_err(|line| Failure::Input(format!("{name}: {line}")))
    }

    /// The keys that differ in another configuration and are read by a daemon at its start alone.
    pub(super) fn changed_for_the_next_start(&self, other: &Self) -> Vec<&'static str> {
        let differs = [
            ("interface", other.interface.is_some() && self.interface != other.interface),
            ("observe", self.observe != other.observe),
            ("metrics", self.metrics != other.metrics),
        ];
        differs.into_iter().filter_map(|(key, differs)| differs.then_some(key)).collect()
    }

    fn parse(text: &str) -> Result<Self, String> {
        let mut parsed: toml::Table =
            text.parse().map_err(|error: toml::de::Error| settings::with_line(text, &error))?;
        if let Some(toml::Value::Table(power_save)) = parsed.get_mut("power_save") {
            if power_save.contains_key("timeout") {
                let hint = "the timeout is the driver's; scenarios alone set it";
                return Err(format!("power_save.timeout: unknown key; hint: {hint}"));
            }
            let default = || toml::Value::String(Self::default().power_save.name().to_owned());
            let policy = power_save.entry("policy").or_insert_with(default);
            if let Some(name) = policy.as_str().filter(|name| !policies().contains(name)) {
                let known = policies().join(", ");
                return Err(format!("power_save.policy: expected one of {known}, got {name:?}"));
            }
        }
        let config: Self = serde_path_to_error::deserialize(parsed).map_err(|error| {
            let (path, what) = (error.path().to_string(), without_timeout(error.inner().message()));
            if path == "." { what } else { format!("{path}: {what}") }
        })?;
        config.interface.as_deref().map_or(Ok(()), |name| {
            wifi::name_of(name).map(drop).map_err(|error| format!("interface: {error}"))
        })?;
        config.power_save.check().map_err(|error| format!("power_save.{error}"))?;
        if let PowerSaveConfig::LatencyGuard(guard) = &config.power_save
            && guard.hold < guard.bound
        {
            // A poll each bound would come after the hold: nothing would be kept within reach.
            let (bound, hold) = (guard.bound, guard.hold);
            return Err(format!("power_save.hold: expected at least the bound of {bound}, got {hold}"));
        }
        if config.observe > Span::from_secs(86_400) {
            return Err(format!("observe: expected at most 86400 s, got {}", config.observe));
        }
        if config.worth_on_battery > Span::from_secs(3_600) {
            return Err(format!(
                "worth_on_battery: expected at most 3600 s, got {}",
                config.worth_on_battery
            ));
        }
        let radio = config.radio.as_deref();
        radio
            .map_or(Ok(()), |name| Radio::find(name).map(drop).map_err(|error| format!("radio: {error}")))?;
        Ok(config)
    }

    /// The policy on an association. A policy with triggers is replaced by the guard if none can be sent. BA-TA's
    /// longest interval between triggers is that of the beacons unless the file has another one, as in the paper, whose access point
    /// has beacons every 100 ms.
    pub(super) fn policy_on(&self, beacon_interval: Span, has_triggers: bool) -> PowerSaveConfig {
        let ba_ta = |mut config: BaTaConfig| {
            if config.int_max == BaTaConfig::default().int_max {
                config.int_max = beacon_interval.max(config.int_min);
            }
            config
        };
        match self.power_save {
            PowerSaveConfig::BaTa(config) if has_triggers => PowerSaveConfig::BaTa(ba_ta(config)),
            PowerSaveConfig::BaTaStr(config) if has_triggers => {
                PowerSaveConfig::BaTaStr(BaTaStrConfig { ba_ta: ba_ta(config.ba_ta), ..config })
            }
            PowerSaveConfig::LatencyGuard(guard) if guard.reach == Reach::Triggers && !has_triggers => {
                PowerSaveConfig::LatencyGuard(LatencyGuardConfig { reach: Reach::Polls, ..guard })
            }
            other if other.needs_uapsd() && !has_triggers => {
                PowerSaveConfig::LatencyGuard(LatencyGuardConfig::default())
            }
            other => other,
        }
    }

    /// The time awake that a packet of a peer is worth on this supply; `None` for a policy that asks for no price.
    pub(super) fn worth(&self, supply: Supply) -> Option<Span> {
        let PowerSaveConfig::LatencyGuard(guard) = self.power_save else { return None };
        Some(if supply == Supply::Battery { guard.worth.min(self.worth_on_battery) } else { guard.worth })
    }

    /// The profile for this interface with its name: the one that the file names, or that of its radio. One that is a file may have gone
    /// since it was checked.
    pub(super) fn radio(&self, interface: &str) -> Option<(String, Radio)> {
        let own = || drivers::profile(interface).map(str::to_owned);
        let name = self.radio.clone().or_else(own)?;
        let radio = Radio::find(&name).ok()?;
        Some((name, radio))
    }
}

/// An error whose hint does not offer the timeout, which the guard has in scenarios alone.
fn without_timeout(what: &str) -> String {
    let mut keys = [&["policy"], fields_of::<LatencyGuardConfig>()].concat();
    let with = one_of(&keys);
    keys.retain(|key| *key != "timeout");
    what.replace(&with, &one_of(&keys))
}

/// The names of the policies that can run over a driver's power save, the default first.
pub(super) fn policies() -> Vec<&'static str> {
    let default = Config::default().power_save.name();
    let others = PowerSaveConfig::KINDS.iter().map(|kind| kind.name).filter(|name| *name != default);
    let runs = |name: &&str| PowerSaveConfig::named(name).is_ok_and(|policy| policy.runs_on_drivers());
    std::iter::once(default).chain(others.filter(runs)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_reload_does_not_apply_is_known() {
        let running = Config::parse("").unwrap();
        let changed =
            Config::parse("observe = \"20s\"\nradio = \"ar5004\"\nmetrics = \"127.0.0.1:9471\"").unwrap();
        assert_eq!(running.changed_for_the_next_start(&changed), ["observe", "metrics"]);
        let radio = Config::parse("radio = \"ar5004\"").unwrap();
        assert!(running.changed_for_the_next_start(&radio).is_empty());
        let other = Config::parse("interface = \"wlan1\"").unwrap();
        assert_eq!(running.changed_for_the_next_start(&other), ["interface"]);
        assert!(other.changed_for_the_next_start(&running).is_empty());
    }

    #[test]
    fn a_configuration_is_read() {
        let text = r#"
            interface = "wlan0"
            observe = "0s"
            radio = "cyw43439"
            metrics = "127.0.0.1:9471"
            [power_save]
            hold = "3s"
        "#;
        let config = Config::parse(text).unwrap();
        assert_eq!(config.interface.as_deref(), Some("wlan0"));
        assert_eq!(config.observe, Span::ZERO);
        let guard = LatencyGuardConfig { hold: Span::from_secs(3), ..Default::default() };
        assert_eq!(config.power_save, PowerSaveConfig::LatencyGuard(guard));
        assert_eq!(Config::parse("").unwrap(), Config::default());
    }

    #[test]
    fn an_interface_that_is_not_wi_fi_is_refused() {
        let of_option = |name: &str| {
            let file =
                std::env::temp_dir().join(format!("airwatt-station-{}-{name}.toml", std::process::id()));
            std::fs::write(&file, "[power_save]\nhold = '60s'\n").unwrap();
            let read = Config::of_command(Some(&file), &Interface { interface: Some(name.to_owned()) });
            std::fs::remove_file(&file).unwrap();
            read.map(|config| config.interface).map_err(|failure| failure.to_string())
        };
        assert_eq!(of_option("lo"), Err("--interface: expected a Wi-Fi interface, got \"lo\"".to_owned()));
        // It may be plugged in later.
        assert_eq!(of_option("absent0"), Ok(Some("absent0".to_owned())));
    }

    #[test]
    fn the_policy_follows_the_association() {
        let policy = |text: &str, has_triggers| {
            let config = Config::parse(text).unwrap();
            config.policy_on(Span::from_micros(102_400), has_triggers)
        };
        let reach = |text: &str, has_triggers| match policy(text, has_triggers) {
            PowerSaveConfig::LatencyGuard(guard) => guard.reach,
            other => panic!("{other:?}"),
        };
        assert_eq!(reach("[power_save]\nreach = 'triggers'", true), Reach::Triggers);
        assert_eq!(reach("[power_save]\nreach = 'triggers'", false), Reach::Polls, "no triggers here");
        assert_eq!(reach("[power_save]\npolicy = 'ba-ta'", false), Reach::Polls, "no triggers here");
        let longest = |text: &str| match policy(text, true) {
            PowerSaveConfig::BaTa(config) => config.int_max,
            PowerSaveConfig::BaTaStr(config) => config.ba_ta.int_max,
            other => panic!("{other:?}"),
        };
        for name in ["ba-ta", "ba-ta+str"] {
            let text = format!("[power_save]\npolicy = '{name}'");
            assert_eq!(longest(&text), Span::from_micros(102_400), "{name}");
            assert_eq!(longest(&format!("{text}\nint_max = '50ms'")), Span::from_millis(50), "{name}");
        }
        assert_eq!(policy("[power_save]\npolicy = 'active'", false).name(), "active");
    }

    #[test]
    fn a_packet_of_a_peer_is_worth_less_on_battery() {
        let worth =
            |text: &str, supply| Config::parse(text).unwrap().worth(supply).map(|worth| worth.to_string());
        let both = |text: &str| {
            [Supply::NoBattery, Supply::Mains, Supply::Battery].map(|supply| worth(text, supply))
        };
        let said = |texts: [&str; 3]| texts.map(|text| Some(text.to_owned()));
        assert_eq!(both(""), said(["20s", "20s", "2s"]));
        assert_eq!(both("worth_on_battery = '5s'\n[power_save]\nworth = '60s'"), said(["60s", "60s", "5s"]));
        let zero = Span::ZERO.to_string();
        assert_eq!(both("[power_save]\nworth = '0s'"), said([&zero, &zero, &zero]), "nothing stays nothing");
        assert_eq!(worth("[power_save]\npolicy = 'active'", Supply::Battery), None);
    }

    #[test]
    fn what_is_wrong_is_named_with_its_key() {
        let cases = [
            ("observe = 5", "observe: "),
            ("obsrve = '5s'", "unknown field `obsrve`, expected one of `interface`, `power_save`, `observe`"),
            (
                "[power_save]\nbund = '5ms'",
                "power_save: bund: unknown key; hint: expected policy, bound, worth, hold, answer or reach",
            ),
            ("radio = 'nothing'", "ar5004"),
            ("observe = '2d'", "observe"),
            ("worth_on_battery = '2h'", "worth_on_battery: expected at most 3600 s"),
            ("interface = 'a/b'", "interface: expected the name of a Wi-Fi interface"),
            ("interface = ''", "interface: expected the name of a Wi-Fi interface"),
            ("interface = '..'", "interface: expected the name of a Wi-Fi interface"),
            (
                "[power_save]\ntimeout = '5ms'",
                "power_save.timeout: unknown key; hint: the timeout is the driver's",
            ),
            ("metrics = '192.0.2.1:80'", "metrics: expected unix:PATH or a loopback address"),
            ("radio = 'nothing'", "radio: "),
            ("[power_save]\npolicy = 'latency-guard'\nhold = '2h'", "power_save.hold: expected"),
            (
                "[power_save]\nbound = '100ms'\nhold = '99ms'",
                "power_save.hold: expected at least the bound of 100ms, got 99ms",
            ),
            ("observe = '5s'\ninterface =\n", "line 2: "),
            (
                "[power_save]\npolicy = 'fast'",
                "power_save.policy: expected one of latency-guard, active, ba-ta, ba-ta+str, got",
            ),
            (
                "[power_save]\npolicy = 'psm'",
                "power_save.policy: expected one of latency-guard, active, ba-ta, ba-ta+str, got \"psm\"",
            ),
        ];
        for (text, expected) in cases {
            let line = Config::parse(text).unwrap_err();
            assert!(line.contains(expected) && line.lines().count() == 1, "{text}: {line}");
            assert!(!line.contains("or timeout"), "{text}: {line}");
        }
    }
}

use serde::{Deserialize, Serialize};

use super::*;
use crate::kinds;
use crate::units::Span;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct UapsdConfig {
    interval: Span,
}

impl Default for UapsdConfig {
    fn default() -> Self {
        Self { interval: Span::from_millis(20) }
    }
}

impl Settings for UapsdConfig {
    fn check(&self) -> Result<(), SettingError> {
        in_range("interval", self.interval, Span::from_millis(1), Span::from_secs(10))
    }
}

trait Policy {
    type Config: Settings;
    const NEEDS_UAPSD: bool;
    const WAITS: Option<&'static str> = None;
    fn new(config: Self::Config, start: u32) -> Self;
    fn start(&self) -> u32;
}

#[derive(Clone, Debug)]
struct Psm(u32);

impl Policy for Psm {
    type Config = NoSettings;
    const NEEDS_UAPSD: bool = false;
    fn new(_: NoSettings, start: u32) -> Self {
        Self(start)
    }
    fn start(&self) -> u32 {
        self.0
    }
}

#[derive(Clone, Debug)]
struct Uapsd(UapsdConfig, u32);

impl Policy for Uapsd {
    type Config = UapsdConfig;
    const NEEDS_UAPSD: bool = true;
    const WAITS: Option<&'static str> = Some("interval");
    fn new(config: UapsdConfig, start: u32) -> Self {
        Self(config, start)
    }
    fn start(&self) -> u32 {
        self.1 + u32::from(self.0.interval.is_zero())
    }
}

kinds! {
    /// A policy and its parameters.
    enum PowerSaveConfig by "policy" (needs_uapsd: bool = NEEDS_UAPSD, waits: Option<&'static str> = WAITS) =>
    /// A policy at work.
    enum Machine: Policy (start: u32), match by with_policy {
        "psm" => Psm(NoSettings) by Psm, "a poll at each beacon";
        "uapsd" => Uapsd(UapsdConfig) by Uapsd, "a trigger at a fixed interval";
    }
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Station {
    #[serde(default)]
    count: u32,
    power_save: PowerSaveConfig,
}

#[derive(Debug, PartialEq, Deserialize)]
struct Scenario {
    station: Vec<Station>,
}

fn value(json: &str) -> Value {
    serde_json::from_str(json).unwrap()
}

fn error(station: &str) -> String {
    read::<Scenario>(value(&format!(r#"{{ "station": [{station}] }}"#))).unwrap_err().to_string()
}

#[test]
fn each_wrong_setting_is_named_with_its_full_key() {
    let cases = [
        (
            r#"{ "power_save": { "policy": "psm", "interval": "20ms" } }"#,
            r#"station.0.power_save.interval: no effect with policy "psm"; hint: it belongs to "uapsd""#,
        ),
        (
            r#"{ "power_save": { "policy": "uapsd", "intervall": "20ms" } }"#,
            "station.0.power_save.intervall: unknown key; hint: expected policy or interval",
        ),
        (
            r#"{ "power_save": { "interval": "20", "policy": "uapsd" } }"#,
            r#"station.0.power_save.interval: expected a number with its unit, such as 20ms, got "20""#,
        ),
        (
            r#"{ "power_save": { "policy": "psmm" } }"#,
            r#"station.0.power_save.policy: expected psm or uapsd, got "psmm""#,
        ),
        (r#"{ "power_save": {} }"#, "station.0.power_save.policy: expected psm or uapsd, got nothing"),
        (
            r#"{ "power_save": "uapsd" }"#,
            r#"station.0.power_save: expected a table such as { policy = "uapsd" }, got "uapsd""#,
        ),
        (
            r#"{ "count": -1, "power_save": { "policy": "psm" } }"#,
            "station.0.count: expected a whole number from 0 to 4294967295, got -1",
        ),
        (
            r#"{ "coun": 1, "power_save": { "policy": "psm" } }"#,
            "station.0.coun: unknown key; hint: expected count or power_save",
        ),
        (r#"{ "count": 1 }"#, "station.0.power_save: expected a value, got nothing"),
    ];
    for (station, expected) in cases {
        assert_eq!(error(station), expected);
    }
}

#[test]
fn errors_stay_typed_through_serde() {
    let wrong = value(r#"{ "station": [{ "power_save": { "policy": "psm", "interval": "20ms" } }] }"#);
    assert_eq!(
        read::<Scenario>(wrong).unwrap_err(),
        SettingError::no_effect("station.0.power_save.interval", "policy \"psm\"", "\"uapsd\"")
    );
    let foreign = serde_json::from_str::<Station>(r#"{ "power_save": { "policy": "psm", "x": 1 } }"#);
    let text = foreign.unwrap_err().to_string();
    assert!(text.starts_with("x: unknown key; hint: expected policy"), "{text}");
    // A typed error that one deserializer made does not reach the next.
    assert_eq!(<SettingError as serde::de::Error>::custom("own").to_string(), "own");
}

/// A change of a scenario writes a number for a text as text, for which it asks what the error is about.
#[test]
fn an_error_says_whether_a_text_was_expected() {
    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "only whether it can be read is asked")]
    struct Named {
        name: String,
        count: u32,
    }
    let wants_text = |json: &str| read::<Named>(value(json)).unwrap_err().wants_text();
    assert!(wants_text(r#"{ "name": 6, "count": 1 }"#) && wants_text(r#"{ "name": true, "count": 1 }"#));
    assert!(!wants_text(r#"{ "name": "6", "count": "1" }"#) && !wants_text(r#"{ "count": 1 }"#));
}

#[test]
fn every_error_has_its_text() {
    let cases = [
        (
            SettingError::out_of_range("interval", "20s", "1ms to 10s"),
            "interval: expected 1ms to 10s, got 20s",
        ),
        // Zeros and long times are in the units that people use.
        (
            SettingError::out_of_range("interval", "7200s", "0ns to 60s"),
            "interval: expected 0s to 60s, got 2h",
        ),
        (
            SettingProblem::Renamed { new: "station.power_save.policy".into() }.at("station.policy"),
            "station.policy: renamed; hint: write station.power_save.policy",
        ),
        (
            SettingError::conflict("link", "wifi", "a scenario has one last hop"),
            "link: not with wifi: a scenario has one last hop",
        ),
    ];
    for (error, text) in cases {
        assert_eq!(error.to_string(), text);
    }
    assert_eq!(SettingError::missing("size", "a value").under(0).under("flow").key(), "flow.0.size");
    assert!(in_range("rate", f64::NAN, 0.0, 1.0).is_err());
    assert!(in_range("rate", 1.0, 0.0, 1.0).is_ok());
}

#[test]
fn what_is_written_is_read_again() {
    let uapsd = PowerSaveConfig::Uapsd(UapsdConfig { interval: Span::from_millis(40) });
    let text = serde_json::to_string(&uapsd).unwrap();
    assert_eq!(text, r#"{"policy":"uapsd","interval":"40ms"}"#);
    assert_eq!(serde_json::from_str::<PowerSaveConfig>(&text).unwrap(), uapsd);
    assert_eq!("uapsd:interval=40ms".parse::<PowerSaveConfig>().unwrap(), uapsd);
    assert_eq!("psm".parse::<PowerSaveConfig>().unwrap(), PowerSaveConfig::named("psm").unwrap());
    for (text, expected) in [
        ("uapsd:40ms", "expected uapsd:KEY=VALUE, for example uapsd:interval=40ms, got \"uapsd:40ms\""),
        ("uapsd:interval=20s", "interval: expected 1ms to 10s, got 20s"),
        ("psm:interval=20ms", "interval: no effect with policy \"psm\"; hint: it belongs to \"uapsd\""),
    ] {
        assert_eq!(text.parse::<PowerSaveConfig>().unwrap_err().to_string(), expected);
    }
}

#[test]
fn one_list_makes_names_machines_and_schema() {
    assert_eq!(PowerSaveConfig::KINDS.iter().map(|kind| kind.name).collect::<Vec<_>>(), ["psm", "uapsd"]);
    for (kind, uapsd) in PowerSaveConfig::KINDS.iter().zip([false, true]) {
        let config = PowerSaveConfig::named(kind.name).unwrap();
        assert_eq!((config.name(), config.needs_uapsd()), (kind.name, uapsd));
        assert_eq!(config.waits(), uapsd.then_some("interval"));
        config.check().unwrap();
        let machine = Machine::new(config, 3);
        assert_eq!(with_policy!(&machine, policy => policy.start()), 3);
    }
    let schema = schemars::schema_for!(PowerSaveConfig).to_value();
    let uapsd = &schema["oneOf"][1];
    assert_eq!(uapsd["properties"]["policy"]["const"], "uapsd");
    assert!(uapsd["properties"]["interval"].is_object(), "{uapsd}");
}

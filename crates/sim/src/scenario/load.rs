//! From a name or a file and changed keys to a checked [`Scenario`], or to one line that says what is wrong where.

use std::fmt;
use std::path::Path;

use airwatt_base::Span;
use serde::de::{DeserializeOwned, IntoDeserializer};
use toml::{Table, Value};

use super::shipped::{self, Shipped};
use super::{Scenario, check};

/// Deeper nesting than this is refused: no scenario needs it.
const BASE_DEPTH: usize = 8;

/// Why a scenario cannot run. Its display is one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioError {
    /// File and line, or the flag.
    place: String,
    message: String,
}

impl ScenarioError {
    fn new(place: impl Into<String>, message: impl Into<String>) -> Self {
        // One line, whatever a parser or a file name brings along.
        let message: String = message.into().split_whitespace().collect::<Vec<_>>().join(" ");
        Self {
            place: place.into().escape_default().to_string().replace("\\'", "'").replace("\\\"", "\""),
            message,
        }
    }
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.message)
    }
}

impl std::error::Error for ScenarioError {}

/// A value that cannot be: its key and what is allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) key: String,
    pub(super) message: String,
}

/// A text with its name, to find the line of a key in.
struct Source<'a> {
    name: &'a str,
    text: &'a str,
}

impl Scenario {
    /// The scenario called `name_or_path` (one that ships, else a file), with `overrides` of dotted keys: `wired.rtt`
    /// = `40ms`. A key into `station` or `flow` without a number (`station.policy`) means every one of them.
    ///
    /// # Errors
    /// One line that names the file and line or the flag, the key, the value and what is allowed.
    pub fn load(name_or_path: &str, overrides: &[(String, String)]) -> Result<Self, ScenarioError> {
        match shipped::shipped_text(name_or_path) {
            Some(text) => Self::from_text(text, name_or_path, overrides),
            None => Self::from_text(&read(name_or_path)?, name_or_path, overrides),
        }
    }

    /// A scenario from TOML text; `name` stands in errors, and for the scenario's own name where it has none.
    ///
    /// # Errors
    /// As [`Scenario::load`].
    pub fn from_text(text: &str, name: &str, overrides: &[(String, String)]) -> Result<Self, ScenarioError> {
        let source = Source { name, text };
        let table = parse_table(&source)?;
        Self::from_source(&source, table, overrides)
    }

    /// A scenario from a table of keys, as a TOML file would be read; `name` stands in errors, and for the scenario's own
    /// name where it has none. A file that `base` names is looked for in the current folder.
    ///
    /// # Errors
    /// As [`Scenario::load`].
    pub fn from_table(
        table: Table,
        name: &str,
        overrides: &[(String, String)],
    ) -> Result<Self, ScenarioError> {
        Self::from_source(&Source { name, text: "" }, table, overrides)
    }

    fn from_source(
        source: &Source,
        mut table: Table,
        overrides: &[(String, String)],
    ) -> Result<Self, ScenarioError> {
        resolve_base(&mut table, source, BASE_DEPTH)?;
        for (key, value) in overrides {
            set(&mut table, key, value)?;
        }
        resolve_wifi(&mut table, source, overrides)?;
        let mut scenario: Self =
            typed(Value::Table(table)).map_err(|fault| locate(fault, source, overrides))?;
        if scenario.name.is_empty() {
            scenario.name = Path::new(source.name)
                .file_stem()
                .map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
        }
        check::check(&scenario).map_err(|fault| locate(fault, source, overrides))?;
        Ok(scenario)
    }

    /// The changes that make a run of a given duration last `length`: it is measured over the same share of it, in the
    /// windows that fit. None where it is no longer than that, or ends by itself.
    pub fn shortened(&self, length: Span) -> Vec<(String, String)> {
        let Some(whole) = self.duration.filter(|whole| *whole > length) else { return Vec::new() };
        let mut changes = vec![("duration".to_owned(), length.to_string())];
        let share = length.as_secs_f64() / whole.as_secs_f64();
        let from = self.measure_from.map(|from| Span::from_secs_f64(from.as_secs_f64() * share));
        if let Some(from) = from {
            // To the bins of the sliding-window method.
            let from = Span::from_millis(100) * from.whole(Span::from_millis(100));
            changes.push(("measure_from".to_owned(), from.to_string()));
        }
        if !self.fairness_windows.is_empty() {
            let measured = length.saturating_sub(from.unwrap_or_default());
            let fitting = self.fairness_windows.iter().filter(|window| **window <= measured);
            let list: Vec<String> = fitting.map(|window| format!("{:?}", window.to_string())).collect();
            changes.push(("fairness_windows".to_owned(), format!("[{}]", list.join(", "))));
        }
        changes
    }

    /// The scenario as a table with every key.
    pub fn to_table(&self) -> Table {
        Table::try_from(self).expect("a scenario has a TOML form")
    }

    /// The scenario as a TOML file with every key.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("a scenario has a TOML form")
    }
}

fn read(path: &str) -> Result<String, ScenarioError> {
    let bytes = std::fs::read(path).map_err(|error| {
        let names = names(shipped::shipped());
        let reason = match error.kind() {
            std::io::ErrorKind::NotFound => "no such scenario or file".to_owned(),
            _ => error.to_string(),
        };
        ScenarioError::new(path, format!("{reason}; scenarios that ship are {names}"))
    })?;
    String::from_utf8(bytes)
        .map_err(|_| ScenarioError::new(path, "is not a text file; allowed is a TOML scenario"))
}

fn names(shipped: &[Shipped]) -> String {
    shipped.iter().map(|shipped| shipped.name).collect::<Vec<_>>().join(", ")
}

fn parse_table(source: &Source) -> Result<Table, ScenarioError> {
    source.text.parse::<Table>().map_err(|error| {
        let line = error.span().map_or(1, |span| line_of(source.text, span.start));
        ScenarioError::new(format!("{}:{line}", source.name), error.message())
    })
}

fn line_of(text: &str, offset: usize) -> usize {
    text.as_bytes()[..offset.min(text.len())].iter().filter(|byte| **byte == b'\n').count() + 1
}

/// Puts the scenario that `base` names under the table's own keys.
fn resolve_base(table: &mut Table, source: &Source, depth: usize) -> Result<(), ScenarioError> {
    let Some(base) = table.remove("base") else { return Ok(()) };
    let place = || format!("{}:{}", source.name, line_of_key(source.text, "base").unwrap_or(1));
    let Value::String(name) = base else {
        return Err(ScenarioError::new(
            place(),
            format!("base: {base} is not a name; allowed are {}", names(shipped::shipped())),
        ));
    };
    let beside = Path::new(source.name).with_file_name(&name);
    let text = match shipped::shipped_text(&name) {
        _ if depth == 0 => {
            return Err(ScenarioError::new(place(), format!("base: {name:?} leads in a circle")));
        }
        Some(text) => text.to_owned(),
        None => std::fs::read_to_string(&beside).map_err(|error| {
            let allowed = names(shipped::shipped());
            ScenarioError::new(place(), format!("base: {name:?}: {error}; allowed are a file or {allowed}"))
        })?,
    };
    let beside = beside.to_string_lossy();
    let below_source = Source { name: &beside, text: &text };
    let mut below = parse_table(&below_source)?;
    resolve_base(&mut below, &below_source, depth - 1)?;
    for described in ["name", "description", "source"] {
        below.remove(described);
    }
    merge(&mut below, std::mem::take(table));
    *table = below;
    Ok(())
}

/// Turns `wifi = "NAME"` and `wifi.base = "NAME"` into the shipped set's keys with the table's own on top.
fn resolve_wifi(
    table: &mut Table,
    source: &Source,
    overrides: &[(String, String)],
) -> Result<(), ScenarioError> {
    let Some(wifi) = table.get_mut("wifi") else { return Ok(()) };
    let (key, name) = match wifi {
        Value::String(name) => ("wifi", name.clone()),
        Value::Table(keys) => match keys.remove("base") {
            Some(Value::String(name)) => ("wifi.base", name),
            Some(other) => {
                let message = format!("{other} is not a name; allowed are {}", names(shipped::wifi_sets()));
                return Err(locate(Fault { key: "wifi.base".to_owned(), message }, source, overrides));
            }
            None => return Ok(()),
        },
        _ => return Ok(()),
    };
    let Some(set) = shipped::wifi_sets().iter().find(|set| set.name == name) else {
        let message = format!("{name:?} is not a Wi-Fi set; allowed are {}", names(shipped::wifi_sets()));
        return Err(locate(Fault { key: key.to_owned(), message }, source, overrides));
    };
    let mut keys = parse_table(&Source { name: set.name, text: set.text })?;
    for described in ["name", "description", "source"] {
        keys.remove(described);
    }
    if let Value::Table(own) = wifi {
        merge(&mut keys, std::mem::take(own));
    }
    *wifi = Value::Table(keys);
    Ok(())
}

/// Lays `over` on `under`: tables key by key, anything else whole.
fn merge(under: &mut Table, over: Table) {
    for (key, value) in over {
        match (under.get_mut(&key), value) {
            (Some(Value::Table(below)), Value::Table(above)) => merge(below, above),
            (_, value) => {
                under.insert(key, value);
            }
        }
    }
}

/// What a short key stands for: every station's policy, every flow's transport.
fn full_key(key: &str) -> &str {
    match key {
        "policy" => "station.policy",
        "transport" => "flow.transport",
        _ => key,
    }
}

/// The flag as it stands in errors: a short key has one of its own.
fn flag(key: &str, value: &str) -> String {
    if full_key(key) == key { format!("--set {key}={value}") } else { format!("--{key} {value}") }
}

/// Sets one dotted key. The text is taken as TOML if it is a number, a truth value, a list or quoted, else as a string.
fn set(table: &mut Table, key: &str, text: &str) -> Result<(), ScenarioError> {
    let place = flag(key, text);
    let parts: Vec<&str> = full_key(key).split('.').collect();
    if parts.iter().any(|part| part.is_empty()) {
        return Err(ScenarioError::new(
            place,
            "the key is empty or has an empty part; write for example wired.rtt=40ms",
        ));
    }
    let value = parse_value(text);
    set_in_table(table, &parts, &value).map_err(|message| ScenarioError::new(place, message))
}

fn parse_value(text: &str) -> Value {
    match format!("value = {text}").parse::<Table>() {
        Ok(mut table) if table.len() == 1 => match table.remove("value") {
            Some(Value::Datetime(_)) | None => Value::String(text.to_owned()),
            Some(value) => value,
        },
        _ => Value::String(text.to_owned()),
    }
}

fn set_in_table(table: &mut Table, parts: &[&str], value: &Value) -> Result<(), String> {
    let [first, rest @ ..] = parts else { return Ok(()) };
    if rest.is_empty() {
        table.insert((*first).to_owned(), value.clone());
        return Ok(());
    }
    if *first == "wifi"
        && let Some(set @ Value::String(_)) = table.get_mut("wifi")
    {
        // `wifi = "fast-wifi"` grows into a table so that one of its keys can be changed.
        *set = Value::Table(Table::from_iter([("base".to_owned(), set.clone())]));
    }
    // A group that the file leaves at its default has one member.
    let missing = if *first == "station" {
        Value::Array(vec![Value::Table(Table::new())])
    } else {
        Value::Table(Table::new())
    };
    match table.entry(*first).or_insert(missing) {
        Value::Table(below) => set_in_table(below, rest, value),
        Value::Array(items) => set_in_array(items, first, rest, value),
        _ => Err(format!("{first} is a single value and has no key {:?}", rest[0])),
    }
}

fn set_in_array(items: &mut [Value], name: &str, parts: &[&str], value: &Value) -> Result<(), String> {
    let (range, rest) = match parts[0].parse::<usize>() {
        Ok(index) if index < items.len() => (index..index + 1, &parts[1..]),
        Ok(index) => {
            return Err(format!(
                "{name}.{index} does not exist; allowed are 0 to {}",
                items.len().saturating_sub(1)
            ));
        }
        Err(_) => (0..items.len(), parts),
    };
    for item in &mut items[range] {
        match item {
            Value::Table(below) if !rest.is_empty() => set_in_table(below, rest, value)?,
            item => *item = value.clone(),
        }
    }
    Ok(())
}

/// A typed value, or the key at which it went wrong.
fn typed<T: DeserializeOwned>(value: Value) -> Result<T, Fault> {
    serde_path_to_error::deserialize(value.into_deserializer()).map_err(
        |error: serde_path_to_error::Error<toml::de::Error>| {
            let path = error.path().to_string();
            let key = if path == "." { String::new() } else { path.replace('[', ".").replace(']', "") };
            Fault { key, message: error.inner().message().to_owned() }
        },
    )
}

/// Says where a fault comes from: the last override of its key, else the file and the line.
fn locate(fault: Fault, source: &Source, overrides: &[(String, String)]) -> ScenarioError {
    let Fault { key, message } = fault;
    if let Some((set, value)) = overrides.iter().rev().find(|(set, _)| is_same_key(full_key(set), &key)) {
        return ScenarioError::new(flag(set, value), message);
    }
    let line = line_of_key(source.text, &key);
    let place = line.map_or_else(|| source.name.to_owned(), |line| format!("{}:{line}", source.name));
    let message = if key.is_empty() { message } else { format!("{key}: {message}") };
    ScenarioError::new(place, message)
}

/// Whether the flag's key is the faulty one or stands above it; a group's number may be left out of the flag.
fn is_same_key(flag: &str, key: &str) -> bool {
    let with_number = |key: &str| key.split('.').map(str::to_owned).collect::<Vec<_>>();
    let without = |key: &str| {
        key.split('.').filter(|part| part.parse::<usize>().is_err()).map(str::to_owned).collect::<Vec<_>>()
    };
    with_number(key).starts_with(&with_number(flag)) || without(key).starts_with(&with_number(flag))
}

/// The line of a key, or of the nearest table above it, in a TOML text.
fn line_of_key(text: &str, key: &str) -> Option<usize> {
    let document = toml::de::DeTable::parse(text).ok()?;
    let mut table = document.get_ref();
    let mut array: Option<&toml::de::DeArray> = None;
    let mut found = None;
    for part in key.split('.') {
        let value = match array {
            Some(items) => items.get(part.parse::<usize>().ok()?)?,
            None => {
                let Some((key, value)) = table.iter().find(|(name, _)| name.get_ref() == part) else { break };
                found = Some(line_of(text, key.span().start));
                value
            }
        };
        if array.is_some() {
            found = Some(line_of(text, value.span().start));
        }
        match value.get_ref() {
            toml::de::DeValue::Table(below) => {
                table = below;
                array = None;
            }
            toml::de::DeValue::Array(items) => array = Some(items),
            _ => break,
        }
    }
    found
}

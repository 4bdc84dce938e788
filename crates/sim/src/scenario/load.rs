//! From a name or a file and changed keys to a checked [`Scenario`], or to one line that says what is wrong where.

use std::fmt;
use std::path::Path;

use airwatt_base::settings::SettingError;
use airwatt_base::settings::SettingProblem::{Conflict, Missing, OutOfRange};
use airwatt_base::{Span, read_text, reason_of};
use airwatt_dot11::Standard;
use airwatt_energy::Radio;
use airwatt_proto::tcp::TcpProfile;
use toml::{Table, Value};

use super::choice::is_class;
use super::keys::{self, Override, Unnamed};
use super::names::name_of_file;
use super::shipped::{self, Shipped};
use super::typed::typed;
use super::{Checked, Links, OwnChoice, RadioChoice, Scenario, effect, lower_bound};

/// Deeper nesting than this is refused: no scenario needs it.
const BASE_DEPTH: usize = 8;

/// More tables of one kind are refused before anything is made of them: three bytes of text make a flow of a kilobyte.
const TABLES: usize = 10_000;

/// How many errors of a file are reported at once.
const ERRORS_AT_ONCE: usize = 20;

/// Why a scenario cannot run. Its display is one line, or one for each of several keys with the wrong form or a value out of range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioError {
    /// File and line, or the flag.
    place: String,
    message: String,
    /// Further errors of the same file.
    further: Vec<Self>,
}

impl ScenarioError {
    fn new(place: impl Into<String>, message: impl Into<String>) -> Self {
        // One line, whatever a parser or a file name brings along.
        let message: String = message.into().split_whitespace().collect::<Vec<_>>().join(" ");
        Self {
            place: place.into().escape_default().to_string().replace("\\'", "'").replace("\\\"", "\""),
            message,
            further: Vec::new(),
        }
    }

    /// The first of several errors, with the others behind it. There is at least one.
    fn with_all(errors: impl IntoIterator<Item = Self>) -> Self {
        let mut errors = errors.into_iter();
        let mut first = errors.next().expect("an error to report");
        for error in errors {
            if error.message != first.message && !first.further.contains(&error) {
                first.further.push(error);
            }
        }
        first
    }
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.message)?;
        self.further.iter().try_for_each(|error| write!(f, "\n{error}"))
    }
}

impl std::error::Error for ScenarioError {}

/// A text with its name, to find the line of a key in.
struct Source<'a> {
    name: &'a str,
    text: &'a str,
}

impl Scenario {
    /// The scenario called `name_or_path` (one that ships, else a file), with `overrides` of dotted keys: `wired.rtt`
    /// = `40ms`. A key into `station` or `flow` without a number (`station.radio`) means every one of them.
    ///
    /// # Errors
    /// One line that names the file and line or the flag, the key, the value and what is allowed.
    pub fn load(name_or_path: &str, overrides: &[Override]) -> Result<Checked, ScenarioError> {
        match shipped::shipped_text(name_or_path) {
            Some(text) => Self::from_text(text, name_or_path, overrides),
            None => Self::from_text(&read(name_or_path)?, name_or_path, overrides),
        }
    }

    /// A scenario from TOML text; `name` stands in errors, and for the scenario's own name where it has none.
    ///
    /// # Errors
    /// As [`Scenario::load`].
    pub fn from_text(text: &str, name: &str, overrides: &[Override]) -> Result<Checked, ScenarioError> {
        let source = Source { name, text };
        let table = parse_table(&source)?;
        Self::from_file(&source, table, overrides)
    }

    /// A scenario from a table of keys, as a TOML file would be read; `name` stands in errors, and for the scenario's own
    /// name where it has none. A file that `base` names is looked for in the current folder.
    ///
    /// # Errors
    /// As [`Scenario::load`].
    pub fn from_table(table: Table, name: &str, overrides: &[Override]) -> Result<Checked, ScenarioError> {
        Self::from_file(&Source { name, text: "" }, table, overrides)
    }

    /// An idle network of one station in a cell, in the short form: every other key has its default. How data is sent is not among them.
    pub fn idle_cell(standard: Standard) -> Self {
        let wifi = Table::from_iter([("standard".to_owned(), standard.name().into())]);
        let table = [("wifi".to_owned(), Value::Table(wifi)), ("duration".to_owned(), "1s".into())];
        typed(Table::from_iter(table)).expect("the other keys of a scenario have defaults")
    }

    /// The scenario with `overrides`, checked; `name` stands in errors about its own values. Its own keys may have no effect: a program
    /// has set them. So may overrides of the keys `in_use`, which a program uses beside the scenario.
    ///
    /// # Errors
    /// As [`Scenario::load`].
    pub fn changed(
        &self,
        name: &str,
        overrides: &[Override],
        in_use: &[&str],
    ) -> Result<Checked, ScenarioError> {
        Self::from_source(&Source { name, text: "" }, self.to_table(), overrides, |scenario, numbered| {
            let is_in_use = |(key, _): &&Override| in_use.contains(&keys::without_numbers(key).as_str());
            let held: Vec<Override> = numbered.iter().filter(|change| !is_in_use(change)).cloned().collect();
            effect::check(scenario, &[], &held)
        })
    }

    /// The scenario with `overrides`, unchecked: what a program reads of them before it completes the scenario. `None` where
    /// [`Scenario::changed`] has an error for them.
    pub fn with_unchecked(&self, overrides: &[Override]) -> Option<Self> {
        let mut table = self.to_table();
        keys::apply_all(&mut table, overrides).ok()?;
        typed(table).ok()
    }

    fn from_file(source: &Source, table: Table, overrides: &[Override]) -> Result<Checked, ScenarioError> {
        let written = keys::leaves(&table);
        Self::from_source(source, table, overrides, |scenario, numbered| {
            effect::check(scenario, &written, numbered)
        })
    }

    /// `has_effect` says of a valid scenario whether the keys that somebody wrote are used, given the overrides with numbers.
    fn from_source(
        source: &Source,
        mut table: Table,
        overrides: &[Override],
        has_effect: impl Fn(&Checked, &[Override]) -> Result<(), SettingError>,
    ) -> Result<Checked, ScenarioError> {
        find_files(&mut table, source);
        resolve_base(&mut table, source, BASE_DEPTH)?;
        keys::apply_all(&mut table, overrides)
            .map_err(|(change, error)| ScenarioError::new(keys::flag(change), shown(&error, Some(change))))?;
        check_numbers(&table, "").map_err(|error| locate(error, source, &[]))?;
        find_classes(&mut table, Path::new(""));
        let overrides: Vec<Change> = overrides.iter().map(|change| Change::new(&table, change)).collect();
        resolve_wifi(&mut table, source, &overrides)?;
        resolve_tcp_profile(&mut table, source, &overrides)?;
        lower_bound::expand(&mut table);
        let mut scenario = typed_with(&mut table, &overrides).map_err(|error| {
            let misnamed = |error: &SettingError| {
                overrides.iter().find_map(|change: &Change| {
                    let refused = change.unnamed.iter().find_map(|unnamed| unnamed.refused(error))?;
                    Some(ScenarioError::new(keys::flag(&change.written), refused.to_string()))
                })
            };
            let errors = all_errors(table.clone(), error).into_iter();
            ScenarioError::with_all(
                errors.map(|error| misnamed(&error).unwrap_or_else(|| locate(error, source, &overrides))),
            )
        })?;
        if scenario.name.is_empty() {
            scenario.name = name_of_file(source.name);
        }
        let numbered: Vec<Override> = overrides.iter().map(|change| change.numbered.clone()).collect();
        for own in scenario.own_choices() {
            let place =
                locate(SettingError::refused(&own.key, String::new()), source, &overrides).to_string();
            place.trim_end_matches([':', ' ']).clone_into(own.place);
        }
        let check = |scenario| {
            let checked = Checked::new(scenario)?;
            has_effect(&checked, &numbered).map(|()| checked)
        };
        let mut checked = check(scenario).map_err(|error| {
            let errors = all_range_errors(table, error, check).into_iter();
            ScenarioError::with_all(errors.map(|error| locate(error, source, &overrides)))
        })?;
        // The general form and the numbers have no part in what is forgotten.
        checked.scenario.forget_other_hosts();
        Ok(checked)
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

    /// The scenario as a table with every key of its form.
    pub fn to_table(&self) -> Table {
        let mut table = Table::try_from(self).expect("a scenario has a TOML form");
        if !self.is_short() {
            ["ap", "gateway", "station"].iter().for_each(|key| drop(table.remove(*key)));
        }
        // The number of a cell's stations follows from their nodes.
        for_each_table(table.get_mut("cell"), &mut |cell| {
            for_each_table(cell.get_mut("station"), &mut |station| drop(station.remove("count")));
        });
        table
    }

    /// The scenario as a TOML file with every key of its form. Keys without effect that a base or a profile has set have their defaults
    /// there: otherwise the file would be refused.
    pub fn to_toml(&self) -> String {
        let mut table = self.to_table();
        let keys = keys::leaves(&table);
        self.reset_unused(&mut table, keys);
        toml::to_string(&table).expect("a scenario has a TOML form")
    }

    /// Gives those of these keys that have no effect their defaults in the scenario's table.
    fn reset_unused(&self, table: &mut Table, keys: Vec<String>) {
        for (key, default) in effect::unused(self, keys) {
            match (entry(table, &key), default) {
                (Some(value), Some(default)) => *value = default,
                _ => drop(remove(table, &key)),
            }
        }
    }

    /// Hosts of the profile `linux` have rules of their own: settings that a base has for others are no part of the scenario, which
    /// otherwise would differ from the one that is read from its text.
    fn forget_other_hosts(&mut self) {
        if self.tcp.profile != Some(TcpProfile::Linux) {
            return;
        }
        let tcp = Value::try_from(&self.tcp).expect("settings have a TOML form");
        let mut table = Table::from_iter([("tcp".to_owned(), tcp)]);
        let keys = keys::leaves(&table);
        self.reset_unused(&mut table, keys);
        let tcp = table.remove("tcp").expect("what has been put there");
        self.tcp = tcp.try_into().expect("defaults are settings");
    }

    /// The text that decides a run together with its seed: every key of its form but those that only describe it, with the
    /// content of radio profiles from files in the place of their names. Scenarios with equal texts have equal results.
    ///
    /// It is not the general form, which has no place for the keys of a gateway that no node has.
    pub fn canonical(&self) -> String {
        let mut own = Self { description: String::new(), source: String::new(), ..self.clone() };
        let members = own.cell.iter_mut().flat_map(|cell| &mut cell.station);
        own.station.iter_mut().chain(members).for_each(|group| group.radio.name_by_content());
        if let Some(Links::List(links)) = &mut own.link {
            links.iter_mut().filter_map(|link| link.radio.as_mut()).for_each(RadioChoice::name_by_content);
        }
        for OwnChoice { name, source, .. } in own.own_choices() {
            let class = name.rsplit(':').next().unwrap_or_default();
            *name = format!("{class} {source}");
        }
        own.to_toml()
    }
}

/// An override as it was written, and with the numbers of the tables that it names.
struct Change {
    written: Override,
    numbered: Override,
    unnamed: Vec<Unnamed>,
}

impl Change {
    fn new(table: &Table, change: &Override) -> Self {
        let (key, unnamed) = keys::numbered(table, &change.0);
        Self { written: change.clone(), numbered: (key, change.1.clone()), unnamed }
    }
}

/// The typed scenario of a table. A number or a truth value that a change gives for a text (`cell.0.channel=6`) is the text that was
/// written: of an override nobody sees which keys are texts.
fn typed_with(table: &mut Table, changes: &[Change]) -> Result<Scenario, SettingError> {
    loop {
        let error = match typed(table.clone()) {
            Err(error) if error.wants_text() => error,
            other => return other,
        };
        let is_plain = |value: &&mut Value| !matches!(value, Value::Array(_) | Value::Table(_));
        let change = changes.iter().rev().find(|change| keys::sets(&change.numbered, error.key()));
        let (Some(change), Some(value)) = (change, entry(table, error.key()).filter(is_plain)) else {
            return Err(error);
        };
        *value = Value::String(change.written.1.clone());
    }
}

/// Calls `change` with each table of a list of tables.
fn for_each_table(list: Option<&mut Value>, change: &mut dyn FnMut(&mut Table)) {
    let items = list.and_then(Value::as_array_mut).into_iter().flatten();
    items.filter_map(Value::as_table_mut).for_each(change);
}

/// Makes the radio files and classes of a scenario's file those beside it, wherever the program runs.
fn find_files(table: &mut Table, source: &Source) {
    let Some(folder) = Path::new(source.name).parent().filter(|folder| !folder.as_os_str().is_empty()) else {
        return;
    };
    find_classes(table, folder);
    let Ok(folder) = std::path::absolute(folder) else { return };
    let mut find = |table: &mut Table| {
        if let Some(Value::String(radio)) = table.get_mut("radio")
            && Radio::is_file(radio)
        {
            *radio = folder.join(&*radio).to_string_lossy().into_owned();
        }
    };
    for_each_table(table.get_mut("station"), &mut find);
    for_each_table(table.get_mut("link"), &mut find);
    for_each_table(table.get_mut("cell"), &mut |cell| for_each_table(cell.get_mut("station"), &mut find));
}

/// Makes the files of classes those in a folder, by their absolute paths: other processes may run them elsewhere.
fn find_classes(table: &mut Table, folder: &Path) {
    let find = |value: Option<&mut Value>| {
        if let Some(Value::String(name)) = value
            && is_class(name)
            && let Ok(path) = std::path::absolute(folder.join(&*name))
        {
            *name = path.to_string_lossy().into_owned();
        }
    };
    let mut of_station = |station: &mut Table| {
        find(station.get_mut("power_save").and_then(|power_save| power_save.get_mut("policy")));
    };
    for_each_table(table.get_mut("station"), &mut of_station);
    for_each_table(table.get_mut("cell"), &mut |cell| {
        for_each_table(cell.get_mut("station"), &mut of_station)
    });
    for_each_table(table.get_mut("flow"), &mut |flow| find(flow.get_mut("transport")));
}

fn read(path: &str) -> Result<String, ScenarioError> {
    read_text(path).map_err(|error| {
        let names = names(shipped::shipped());
        let reason = match error.kind() {
            std::io::ErrorKind::NotFound => "no such scenario or file".to_owned(),
            _ => reason_of(&error),
        };
        ScenarioError::new(path, format!("{reason}; scenarios that ship are {names}"))
    })
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

/// Refuses lists of more tables than a scenario may have.
fn check_numbers(table: &Table, within: &str) -> Result<(), SettingError> {
    for (key, value) in table {
        let key = if within.is_empty() { key.clone() } else { format!("{within}.{key}") };
        match value {
            Value::Table(inner) => check_numbers(inner, &key)?,
            Value::Array(list) if list.len() > TABLES && list[0].is_table() => {
                return Err(SettingError::refused(
                    &key,
                    format!("expected at most {TABLES} tables, got {}", list.len()),
                ));
            }
            Value::Array(list) => {
                list.iter().filter_map(Value::as_table).try_for_each(|inner| check_numbers(inner, &key))?;
            }
            _ => {}
        }
    }
    Ok(())
}

/// Puts the scenario that `base` names under the table's own keys.
fn resolve_base(table: &mut Table, source: &Source, depth: usize) -> Result<(), ScenarioError> {
    let Some(base) = table.remove("base") else { return Ok(()) };
    let place = || format!("{}:{}", source.name, line_of_key(source.text, "base").unwrap_or(1));
    let Value::String(name) = base else {
        return Err(ScenarioError::new(
            place(),
            format!("base: expected {} or a file, got {base}", names(shipped::shipped())),
        ));
    };
    let beside = Path::new(source.name).with_file_name(&name);
    let text = match shipped::shipped_text(&name) {
        _ if depth == 0 => {
            return Err(ScenarioError::new(place(), format!("base: {name:?} leads in a circle")));
        }
        Some(text) => text.to_owned(),
        None => read_text(&beside).map_err(|error| {
            let (known, reason) = (names(shipped::shipped()), reason_of(&error));
            ScenarioError::new(place(), format!("base: expected {known} or a file, got {name:?}: {reason}"))
        })?,
    };
    let beside = beside.to_string_lossy();
    let below_source = Source { name: &beside, text: &text };
    let mut below = parse_table(&below_source)?;
    find_files(&mut below, &below_source);
    resolve_base(&mut below, &below_source, depth - 1)?;
    for described in ["name", "description", "source"] {
        below.remove(described);
    }
    merge(&mut below, std::mem::take(table));
    *table = below;
    Ok(())
}

/// Turns `wifi = "NAME"` and `wifi.base = "NAME"` into the shipped set's keys with the table's own on top, also in cells.
fn resolve_wifi(table: &mut Table, source: &Source, overrides: &[Change]) -> Result<(), ScenarioError> {
    let resolve = |wifi: Option<&mut Value>, prefix: String| {
        let Some(wifi) = wifi else { return Ok(()) };
        with_set(wifi).map_err(|error| locate(error.under(format!("{prefix}wifi")), source, overrides))
    };
    resolve(table.get_mut("wifi"), String::new())?;
    let cells = table.get_mut("cell").and_then(Value::as_array_mut).into_iter().flatten();
    for (index, cell) in cells.enumerate() {
        resolve(cell.as_table_mut().and_then(|cell| cell.get_mut("wifi")), format!("cell.{index}."))?;
    }
    Ok(())
}

/// Puts the keys of the shipped set that a Wi-Fi table names under its own.
fn with_set(wifi: &mut Value) -> Result<(), SettingError> {
    let (key, name) = match wifi {
        Value::String(name) => ("", name.clone()),
        Value::Table(keys) => match keys.remove("base") {
            Some(Value::String(name)) => ("base", name),
            Some(other) => {
                return Err(SettingError::refused(
                    "base",
                    format!("expected {}, got {other}", names(shipped::wifi_sets())),
                ));
            }
            None => return Ok(()),
        },
        _ => return Ok(()),
    };
    let Some(set) = shipped::wifi_sets().iter().find(|set| set.name == name) else {
        return Err(SettingError::refused(
            key,
            format!("expected {} or a table, got {name:?}", names(shipped::wifi_sets())),
        ));
    };
    let mut keys: Table =
        set.text.parse().map_err(|error: toml::de::Error| SettingError::refused(key, error.to_string()))?;
    for described in ["name", "description", "source"] {
        keys.remove(described);
    }
    if let Value::Table(own) = wifi {
        merge(&mut keys, std::mem::take(own));
    }
    *wifi = Value::Table(keys);
    Ok(())
}

/// Puts the keys of `tcp.profile` under the table's own.
fn resolve_tcp_profile(
    table: &mut Table,
    source: &Source,
    overrides: &[Change],
) -> Result<(), ScenarioError> {
    let Some(Value::Table(tcp)) = table.get_mut("tcp") else { return Ok(()) };
    let Some(name) = tcp.get("profile") else { return Ok(()) };
    let profiles = shipped::tcp_profiles();
    let Some(profile) = profiles.iter().find(|profile| name.as_str() == Some(profile.name)) else {
        let message = format!("expected {}, got {name}", names(profiles));
        return Err(locate(SettingError::refused("tcp.profile", message), source, overrides));
    };
    let mut keys = parse_table(&Source { name: profile.name, text: profile.text })?;
    for described in ["description", "source"] {
        keys.remove(described);
    }
    merge(&mut keys, std::mem::take(tcp));
    *tcp = keys;
    Ok(())
}

/// Lays `over` on `under`: tables key by key unless their tags differ, anything else whole.
fn merge(under: &mut Table, over: Table) {
    for (key, value) in over {
        match (under.get_mut(&key), value) {
            (Some(Value::Table(below)), Value::Table(above)) if !is_other_kind(&key, below, &above) => {
                merge(below, above);
            }
            (_, value) => {
                under.insert(key, value);
            }
        }
    }
}

/// Whether the upper table is one of another kind, so that the keys of the lower one have no place in it.
fn is_other_kind(table: &str, below: &Table, above: &Table) -> bool {
    let tag = keys::TAGS.iter().find(|(name, _)| *name == table).map(|(_, tag)| *tag);
    tag.is_some_and(|tag| above.get(tag).is_some_and(|kind| below.get(tag) != Some(kind)))
}

/// The error and those of further keys, which appear when the keys of the errors before are left out.
fn all_errors(mut table: Table, first: SettingError) -> Vec<SettingError> {
    let mut errors = vec![first];
    while errors.len() < ERRORS_AT_ONCE {
        let last = errors.last().map_or("", |error| error.key()).to_owned();
        // Without a key that something else needs, an error would be one of ours.
        if remove(&mut table, &last).is_none() {
            break;
        }
        match typed(table.clone()) {
            Err(next) if !matches!(next.problem, Missing { .. } | Conflict { .. }) => errors.push(next),
            _ => break,
        }
    }
    errors
}

/// The error and those of further values out of range, which appear when the keys of the errors before have other values: their
/// defaults, or where there is none the least value that is allowed.
fn all_range_errors(
    mut table: Table,
    first: SettingError,
    check: impl Fn(Scenario) -> Result<Checked, SettingError>,
) -> Vec<SettingError> {
    let mut errors = vec![first];
    while errors.len() < ERRORS_AT_ONCE {
        let Some(SettingError { key, problem: OutOfRange { allowed, .. } }) = errors.last() else { break };
        let mut without = table.clone();
        let Some(value) = remove(&mut without, key) else { break };
        if typed(without.clone()).is_ok() {
            table = without;
        } else if let Some(least) = least_of(allowed, &value) {
            *entry(&mut table, key).expect("a key that was removed from the copy") = least;
        }
        match typed(table.clone()).and_then(&check) {
            Err(next)
                if matches!(next.problem, OutOfRange { .. })
                    && errors.iter().all(|known| known.key != next.key) =>
            {
                errors.push(next);
            }
            _ => break,
        }
    }
    errors
}

/// The first value of a range such as `0s to 100s`, in the form that `value` has.
fn least_of(allowed: &str, value: &Value) -> Option<Value> {
    let (least, _) = allowed.split_once(" to ")?;
    match value {
        Value::String(_) => Some(Value::String(least.to_owned())),
        Value::Integer(_) => least.parse().ok().map(Value::Integer),
        Value::Float(_) => least.parse().ok().map(Value::Float),
        _ => None,
    }
}

/// The value of a dotted key.
fn entry<'a>(table: &'a mut Table, key: &str) -> Option<&'a mut Value> {
    match key.rsplit_once('.') {
        Some((above, last)) => table_of(table, above)?.get_mut(last),
        None => table.get_mut(key),
    }
}

/// Removes a dotted key; numbers are places in lists. Returns its value if it was there.
fn remove(table: &mut Table, key: &str) -> Option<Value> {
    match key.rsplit_once('.') {
        Some((above, last)) => table_of(table, above)?.remove(last),
        None => table.remove(key),
    }
}

/// The table of a dotted key.
fn table_of<'a>(table: &'a mut Table, above: &str) -> Option<&'a mut Table> {
    let mut parts = above.split('.');
    let mut value = parts.next().and_then(|part| table.get_mut(part));
    for part in parts {
        value = value.and_then(|value| match value {
            Value::Table(below) => below.get_mut(part),
            Value::Array(items) => part.parse::<usize>().ok().and_then(|place| items.get_mut(place)),
            _ => None,
        });
    }
    value.and_then(Value::as_table_mut)
}

/// The error's text at a place: with its key unless the place is a flag that names it.
fn shown(error: &SettingError, at: Option<&Override>) -> String {
    match at {
        Some(change) if keys::sets(change, error.key()) => error.message(),
        _ => error.to_string(),
    }
}

/// Adds where an error comes from: the last override of its key or of a table above it, or else the file and the line.
fn locate(error: SettingError, source: &Source, overrides: &[Change]) -> ScenarioError {
    let error = of_wired(error);
    let last = |found: fn(&Override, &str) -> bool| {
        overrides.iter().rev().find(|change| found(&change.numbered, error.key()))
    };
    if let Some(change) = last(keys::sets).or_else(|| last(keys::concerns)).or_else(|| last(keys::is_within))
    {
        return ScenarioError::new(keys::flag(&change.written), shown(&error, Some(&change.numbered)));
    }
    // A table that an override begins needs its other keys, too.
    let above = |key: &str| key.rsplit_once('.').map(|(table, _)| table.to_owned());
    let table = above(error.key()).filter(|_| matches!(error.problem, Missing { .. }));
    if let Some(table) = table
        && let Some(change) =
            overrides.iter().rev().find(|one| above(&one.numbered.0).as_ref() == Some(&table))
    {
        let message = format!("{error}; {} has no {table}, which needs all of its keys", source.name);
        return ScenarioError::new(keys::flag(&change.written), message);
    }
    let line = line_of_key(source.text, error.key());
    let place = line.map_or_else(|| source.name.to_owned(), |line| format!("{}:{line}", source.name));
    ScenarioError::new(place, error.to_string())
}

/// The error of a wired path that lacks a key, with what it needs: serde knows the key alone.
fn of_wired(error: SettingError) -> SettingError {
    let lacks =
        |name: &str| matches!(error.problem, Missing { .. }) && format!(".{}", error.key()).ends_with(name);
    let needs = if lacks(".wired.rtt") {
        "a time such as \"20ms\""
    } else if lacks(".wired.down") || lacks(".wired.up") {
        "a table such as { rate = \"50Mbps\" } beside the other direction and rtt"
    } else {
        return error;
    };
    SettingError::missing(error.key(), needs)
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

//! Changes of single keys (`--set`, `--policy`, `--transport`), and keys that had other names.

use airwatt_base::settings::{SettingError, SettingProblem, split_choice};
use toml::{Table, Value};

use super::choice::is_own;

/// A change of one key: the dotted key, or a shortcut, and the value as text.
pub(super) type Override = (String, String);

/// Keys of earlier versions and what they are called now. A key below one of these keeps its last part.
const RENAMED: [(&str, &str); 20] = [
    ("station.policy", "station.power_save.policy"),
    ("station.timeout", "station.power_save.timeout"),
    ("station.interval", "station.power_save.interval"),
    ("station.ba_ta_str", "station.power_save"),
    ("station.ba_ta", "station.power_save"),
    ("station.psm_throttling", "station.power_save"),
    ("station.wake_guard", "sleep_clock.guard in the radio's profile"),
    ("flow.size", "flow.application.size"),
    ("flow.mean_gap", "flow.application.mean_gap"),
    ("flow.rate", "flow.application.rate"),
    ("flow.packet", "flow.application.packet"),
    ("flow.media", "flow.application.media"),
    ("flow.startup", "flow.application.startup"),
    ("flow.block", "flow.application.block"),
    ("flow.request", "flow.application.request"),
    ("flow.response", "flow.application.response"),
    ("link.forth", "link.forward"),
    ("link.back", "link.reverse"),
    ("node.impairment", "node.program with kind \"impairment\""),
    ("node.middlebox", "node.program"),
];

/// Tables with a tag: a change of the tag begins the table anew, since the other keys belong to the kind.
pub(super) const TAGS: [(&str, &str); 3] =
    [("power_save", "policy"), ("application", "kind"), ("errors", "model")];

/// The error for a key that has another name now, if it is one; numbers of groups do not count.
pub(super) fn renamed(key: &str) -> Option<SettingError> {
    let plain = without_numbers(key);
    RENAMED.iter().find_map(|(old, new)| {
        let below = plain.strip_prefix(old).filter(|below| below.is_empty() || below.starts_with('.'))?;
        Some(SettingProblem::Renamed { new: format!("{new}{below}") }.at(key))
    })
}

/// The key without the numbers of tables in lists: `station.0.radio` is a `station.radio`.
pub fn without_numbers(key: &str) -> String {
    key.split('.').filter(|part| part.parse::<usize>().is_err()).collect::<Vec<_>>().join(".")
}

/// A part of an override's key that follows a list and is neither the number nor the name of one of its tables: a key of all of them,
/// or a name that does not exist.
pub(super) struct Unnamed {
    list: String,
    part: String,
    /// Names of the tables, and the range of their numbers.
    tables: Vec<String>,
}

impl Unnamed {
    fn new(list: String, part: &str, items: &[&Value]) -> Self {
        let name =
            |item: &&Value| Some(called_by(item).iter().find_map(|key| item.get(key)?.as_str())?.to_owned());
        let named: Vec<String> = items.iter().filter_map(name).collect();
        let numbers = format!("0 to {}", items.len().saturating_sub(1));
        let (shown, rest) = named.split_at(named.len().min(MAX_NAMES));
        let more = (!rest.is_empty()).then(|| "...".to_owned());
        let tables = shown.iter().cloned().chain(more).chain([numbers]).collect();
        Self { list, part: part.to_owned(), tables }
    }

    /// The error for a part that is no key either: the list, and what may follow it.
    pub(super) fn refused(&self, error: &SettingError) -> Option<SettingError> {
        let SettingError { key, problem: SettingProblem::Unknown { known } } = error else { return None };
        let (list, part) = key.rsplit_once('.')?;
        if part != self.part || without_numbers(list) != without_numbers(&self.list) {
            return None;
        }
        let (tables, keys) = (self.tables.join(", "), known.join(", "));
        let what = if self.tables.len() > 1 { "a name or number" } else { "a number" };
        let expected = format!("{what} ({tables}) or a key ({keys})");
        Some(SettingError::syntax(&self.list, expected, format!("{part:?}")))
    }
}

/// Names of tables that an error lists.
const MAX_NAMES: usize = 8;

/// The key with the numbers of the tables that it names, and the parts that name none: `link.wire.delay` is `link.0.delay` if that is
/// the wire. A name below a list of which all tables are meant is left out.
pub(super) fn numbered(table: &Table, key: &str) -> (String, Vec<Unnamed>) {
    let (mut parts, mut found, mut unnamed) = (key.split('.').peekable(), Vec::new(), Vec::new());
    let mut items: Vec<&Value> = Vec::new();
    let mut below = Some(table);
    while let Some(part) = parts.next() {
        found.push(part.to_owned());
        let value = match below {
            Some(table) => table.get(part).into_iter().collect(),
            None => items.iter().filter_map(|item| item.as_table()?.get(part)).collect::<Vec<_>>(),
        };
        below = None;
        let lists: Vec<&Vec<Value>> = value.iter().filter_map(|value| value.as_array()).collect();
        let is_single = lists.len() == 1 && value.len() == 1;
        items = if lists.is_empty() { value } else { lists.iter().flat_map(|list| list.iter()).collect() };
        let Some(next) = parts.peek().copied().filter(|_| !lists.is_empty()) else { continue };
        let named: Vec<usize> = (0..items.len()).filter(|index| is_called(items[*index], next)).collect();
        let place = next.parse::<usize>().ok().or_else(|| named.first().copied());
        let Some(place) = place else {
            // The last part is a key in any case.
            if parts.clone().nth(1).is_some() {
                unnamed.push(Unnamed::new(found.join("."), next, &items));
            }
            continue;
        };
        parts.next();
        if is_single {
            found.push(place.to_string());
        }
        items = items.get(place).copied().into_iter().collect();
    }
    (found.join("."), unnamed)
}

/// The keys by which a table of a list is called: `name`, in a cell `node`, and `kind` if it has neither.
fn called_by(item: &Value) -> &'static [&'static str] {
    let has_name = ["name", "node"].iter().any(|key| item.get(key).is_some());
    if has_name { &["name", "node"] } else { &["kind"] }
}

/// Whether a table of a list is called this.
fn is_called(item: &Value, name: &str) -> bool {
    let is = |value: &Value| match value {
        Value::String(text) => text == name,
        Value::Array(names) => names.iter().any(|one| one.as_str() == Some(name)),
        _ => false,
    };
    called_by(item).iter().any(|key| item.get(key).is_some_and(is))
}

/// The dotted keys of all values in a table, lists of tables by number.
pub(super) fn leaves(table: &Table) -> Vec<String> {
    let mut found = Vec::new();
    for (key, value) in table {
        let mut below = |prefix: String, table: &Table| {
            found.extend(leaves(table).into_iter().map(|rest| format!("{prefix}.{rest}")));
        };
        match value {
            Value::Table(table) => below(key.clone(), table),
            Value::Array(items) if items.iter().any(Value::is_table) => {
                let tables =
                    items.iter().enumerate().filter_map(|(index, item)| Some((index, item.as_table()?)));
                tables.for_each(|(index, table)| below(format!("{key}.{index}"), table));
            }
            _ => found.push(key.clone()),
        }
    }
    found
}

/// The key that a shortcut stands for: every station's policy, every flow's transport.
fn full_key(key: &str) -> &str {
    match key {
        "policy" => "station.power_save.policy",
        "transport" => "flow.transport",
        _ => key,
    }
}

/// The override as the command line has it: a shortcut has a flag of its own.
pub(super) fn flag((key, value): &Override) -> String {
    if full_key(key) == key { format!("--set {key}={value}") } else { format!("--{key} {value}") }
}

/// Whether the override sets the key, or a table above it; a group's number may be left out of the override.
pub(super) fn concerns((set, _): &Override, key: &str) -> bool {
    // A policy brings settings along.
    let set = if set == "policy" { "station.power_save" } else { full_key(set) };
    let below =
        |key: &str| key.strip_prefix(set).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
    below(key) || below(&without_numbers(key)) || below(&without_cell(key, set))
}

/// Whether the override sets a key of this table, which is not one of the whole scenario.
pub(super) fn is_within((set, _): &Override, key: &str) -> bool {
    key.contains('.') && full_key(set).strip_prefix(key).is_some_and(|rest| rest.starts_with('.'))
}

/// Whether the override sets exactly this key.
pub(super) fn sets((set, _): &Override, key: &str) -> bool {
    let set = full_key(set);
    set == key || set == without_numbers(key) || set == without_cell(key, set)
}

/// The key without numbers, and without the cell if a shortcut for all stations is compared with it.
fn without_cell(key: &str, set: &str) -> String {
    let plain = without_numbers(key);
    let is_shortcut = set.starts_with("station.power_save");
    plain.strip_prefix("cell.").filter(|_| is_shortcut).map_or(plain.clone(), str::to_owned)
}

/// Applies the overrides in order. A change of a tag begins its table anew; overrides of that table's keys hold all the same,
/// whether they come before or after it.
///
/// # Errors
/// The override that is wrong, and why.
pub(super) fn apply_all<'a>(
    table: &mut Table,
    changes: &'a [Override],
) -> Result<(), (&'a Override, SettingError)> {
    let mut apply = |change: &'a Override| apply(table, change).map_err(|error| (change, error));
    for (index, change) in changes.iter().enumerate() {
        apply(change)?;
        let Some(tagged) = tagged_table(&change.0) else { continue };
        let below =
            |key: &str| without_numbers(key).strip_prefix(&tagged).is_some_and(|rest| rest.starts_with('.'));
        for earlier in changes[..index].iter().filter(|(key, _)| below(key) && tagged_table(key).is_none()) {
            apply(earlier)?;
        }
    }
    Ok(())
}

/// The table whose tag the override changes, if it changes one.
fn tagged_table(key: &str) -> Option<String> {
    let plain = without_numbers(full_key(key));
    let (table, tag) = plain.rsplit_once('.')?;
    let name = table.rsplit_once('.').map_or(table, |(_, name)| name);
    TAGS.contains(&(name, tag)).then(|| table.to_owned())
}

/// Applies one override. The text is taken as TOML if it is a number, a truth value, a list, a table or quoted, otherwise as
/// a string.
fn apply(table: &mut Table, change: &Override) -> Result<(), SettingError> {
    let (key, text) = change;
    if let Some(renamed) = renamed(key) {
        return Err(renamed);
    }
    if key == "policy" {
        return set_policy(table, text);
    }
    set(table, full_key(key), parse_value(text))
}

/// Sets the power save of every station in every cell.
fn set_policy(table: &mut Table, text: &str) -> Result<(), SettingError> {
    let (name, settings) = if is_own(text) { (text, Vec::new()) } else { split_choice(text)? };
    let has_stations = |cell: &Value| cell.get("station").is_some_and(Value::is_array);
    let in_cells =
        table.get("cell").and_then(Value::as_array).is_some_and(|cells| cells.iter().any(has_stations));
    let is_general = !table.contains_key("wifi") && !table.get("link").is_some_and(Value::is_table);
    let is_general = is_general && ["node", "cell"].iter().any(|key| table.contains_key(*key));
    if is_general && !in_cells && name != "active" {
        return Err(SettingError::no_effect(
            "",
            "stations of point-to-point links alone",
            "stations of cells",
        ));
    }
    let mut tables = Vec::new();
    if !is_general {
        tables.push("station");
    }
    if in_cells {
        tables.push("cell.station");
    }
    for stations in tables {
        set(table, &format!("{stations}.power_save.policy"), Value::String(name.to_owned()))?;
        // A bound that the file asks for is not one of this policy.
        set(table, &format!("{stations}.lower_bound"), Value::Boolean(false))?;
        for (key, text) in &settings {
            set(table, &format!("{stations}.power_save.{key}"), parse_value(text))?;
        }
    }
    Ok(())
}

fn set(table: &mut Table, key: &str, value: Value) -> Result<(), SettingError> {
    let parts: Vec<&str> = key.split('.').collect();
    if parts.iter().any(|part| part.is_empty()) {
        return Err(SettingError::syntax("", "a dotted key such as wired.rtt", format!("{key:?}")));
    }
    set_in_table(table, &parts, &value)
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

fn set_in_table(table: &mut Table, parts: &[&str], value: &Value) -> Result<(), SettingError> {
    let [first, rest @ ..] = parts else { return Ok(()) };
    if rest.is_empty() {
        table.insert((*first).to_owned(), value.clone());
        return Ok(());
    }
    if *first == "wifi"
        && let Some(set @ Value::String(_)) = table.get_mut("wifi")
    {
        // `wifi = "fast-wifi"` becomes a table so that one of its keys can be changed.
        *set = Value::Table(Table::from_iter([("base".to_owned(), set.clone())]));
    }
    // A group that the file leaves at its default has one member.
    let missing = if *first == "station" {
        Value::Array(vec![Value::Table(Table::new())])
    } else {
        Value::Table(Table::new())
    };
    match table.entry(*first).or_insert(missing) {
        Value::Table(below) => {
            let begins_anew =
                rest.len() == 1 && TAGS.contains(&(*first, rest[0])) && below.get(rest[0]) != Some(value);
            if begins_anew {
                below.clear();
            }
            set_in_table(below, rest, value).map_err(|error| error.under(first))
        }
        Value::Array(items) => set_in_array(items, first, rest, value),
        other => {
            let expected = format!("a table, to set {:?} in it", rest[0]);
            Err(SettingError::syntax(first, expected, other.to_string()))
        }
    }
}

fn set_in_array(items: &mut [Value], name: &str, parts: &[&str], value: &Value) -> Result<(), SettingError> {
    let (range, rest) = match parts[0].parse::<usize>() {
        Ok(index) if index < items.len() => (index..index + 1, &parts[1..]),
        Ok(index) => {
            let allowed = format!("{name}.0 to {name}.{}", items.len().saturating_sub(1));
            return Err(SettingError::out_of_range("", format!("{name}.{index}"), allowed));
        }
        Err(_) => match items.iter().position(|item| is_called(item, parts[0])) {
            Some(index) => (index..index + 1, &parts[1..]),
            None => (0..items.len(), parts),
        },
    };
    for item in &mut items[range] {
        match item {
            // A cell may have no stations, and none are made up for it.
            Value::Table(below)
                if name == "cell" && rest[0] == "station" && !below.contains_key("station") => {}
            Value::Table(below) if !rest.is_empty() => set_in_table(below, rest, value)?,
            item => *item = value.clone(),
        }
    }
    Ok(())
}

//! Manual pages of section 5: the configuration files of the daemons. The keys with their meaning, kind and default come from
//! the types that read a file, and the examples are those that `example` prints.
//!
//! Left out: `airwattd cc`, which has options and no file.

use roff::{Roff, bold, italic, roman};
use schemars::{JsonSchema, Schema, schema_for};
use serde_json::{Map, Value};

/// The section of file formats.
pub(crate) const SECTION: &str = "5";

/// A configuration file.
pub(crate) struct Format {
    /// The command that reads it, as in `airwattd tunnel`.
    command: &'static str,
    /// What it is, in a few words.
    about: &'static str,
    /// Where it is, and what reads it, in sentences.
    text: &'static str,
    schema: Schema,
    /// Values of `policy` whose keys the file may have, of the kinds of a power save.
    policies: Vec<&'static str>,
    /// Keys of scenarios that the command refuses.
    without: Vec<&'static str>,
    /// What values of a key mean, where the key's own description does not say.
    values: Vec<(&'static str, &'static str)>,
    /// Commented files, each under its heading.
    examples: Vec<(&'static str, &'static str)>,
    /// Metrics of the daemon for Prometheus, with their meanings.
    metrics: Vec<(String, &'static str)>,
}

impl Format {
    pub(crate) fn new<T: JsonSchema>(command: &'static str, about: &'static str, text: &'static str) -> Self {
        Self {
            command,
            about,
            text,
            schema: schema_for!(T),
            policies: Vec::new(),
            without: Vec::new(),
            values: Vec::new(),
            examples: Vec::new(),
            metrics: Vec::new(),
        }
    }

    pub(crate) fn policies(self, policies: Vec<&'static str>) -> Self {
        Self { policies, ..self }
    }

    pub(crate) fn without(mut self, key: &'static str) -> Self {
        self.without.push(key);
        self
    }

    /// What is said of a key, or of a table, beside its description.
    pub(crate) fn values(mut self, key: &'static str, meaning: &'static str) -> Self {
        self.values.push((key, meaning));
        self
    }

    pub(crate) fn metrics(self, metrics: Vec<(String, &'static str)>) -> Self {
        Self { metrics, ..self }
    }

    pub(crate) fn example(mut self, heading: &'static str, text: &'static str) -> Self {
        self.examples.push((heading, text));
        self
    }

    /// The name of the page.
    pub(crate) fn name(&self) -> String {
        format!("airwattd-{}", self.command)
    }

    /// The page.
    pub(crate) fn page(&self, date: &str, source: &str) -> String {
        let name = self.name();
        let mut page = Roff::new();
        page.control("TH", [name.to_uppercase().as_str(), SECTION, date, source, "airwatt"]);
        page.control("SH", ["NAME"]);
        page.text([roman(format!("{name} - {}", self.about))]);
        page.control("SH", ["DESCRIPTION"]);
        page.text([roman(self.text)]);
        page.text([
            roman("The file is TOML. A key that is not listed here is an error, and "),
            bold(format!("airwattd {} ", self.command)),
            roman("checks a file as a whole before it changes anything."),
        ]);
        page.control("SH", ["KEYS"]);
        let mut rows = Rows { format: self, found: Vec::new() };
        rows.collect(self.schema.as_value(), "");
        rows.found.retain(|row| !self.without.contains(&&*row.path));
        // Keys of the file itself come before those of its tables.
        rows.found.sort_by_key(|row| row.path.contains('.') || row.is_table);
        for row in &mut rows.found {
            if let Some((_, values)) =
                self.values.iter().find(|(key, _)| *key == row.path.trim_matches(['[', ']']))
            {
                row.meaning = format!("{} {values}", row.meaning);
            }
            row.write(&mut page);
        }
        for (heading, text) in &self.examples {
            page.control("SH", [*heading]);
            page.control("EX", []);
            page.text([roman(narrowed(text))]);
            page.control("EE", []);
        }
        page.control("SH", ["METRICS"]);
        page.text([roman(
            "Served for Prometheus where the key metrics says, as text over HTTP at /metrics.",
        )]);
        for (name, meaning) in &self.metrics {
            page.control("TP", []);
            page.text([bold(name)]);
            page.text([roman(*meaning)]);
        }
        page.control("SH", ["SEE ALSO"]);
        page.text([bold(&name), roman(" (8), "), bold("airwattd"), roman(" (8)")]);
        page.render()
    }
}

/// Columns of an example: a terminal has 80, and man(1) indents by 8 at most.
const EXAMPLE_COLUMNS: usize = 72;

/// An example whose long lines have their comments above them, within the columns of a page.
fn narrowed(text: &str) -> String {
    let mut narrow = String::new();
    for line in text.lines() {
        let (code, comment) = match line.rsplit_once("  # ") {
            _ if line.chars().count() <= EXAMPLE_COLUMNS => (line, ""),
            Some((code, comment)) => (code.trim_end(), comment),
            None => ("", line.trim_start_matches("# ")),
        };
        let mut above = String::new();
        for word in comment.split(' ').filter(|word| !word.is_empty()) {
            let column = above.lines().last().map_or(EXAMPLE_COLUMNS, |line| line.chars().count());
            let is_full = column + 1 + word.chars().count() > EXAMPLE_COLUMNS;
            above += &format!("{}{word}", if is_full { "\n# " } else { " " });
        }
        for line in above.lines().skip(1).chain((!code.is_empty() || comment.is_empty()).then_some(code)) {
            narrow += line;
            narrow.push('\n');
        }
    }
    narrow
}

/// One key, or one table.
struct Row {
    path: String,
    is_table: bool,
    meaning: String,
    /// What values it has, with the default.
    kind: String,
}

impl Row {
    fn write(&self, page: &mut Roff) {
        page.control("TP", []);
        page.text([bold(&self.path)]);
        let mut inlines = vec![roman(self.meaning.as_str())];
        if !self.kind.is_empty() {
            inlines.extend([roman(" ("), italic(self.kind.as_str()), roman(")")]);
        }
        page.text(inlines);
    }
}

struct Rows<'a> {
    format: &'a Format,
    found: Vec<Row>,
}

impl Rows<'_> {
    /// Lists the keys of an object; `path` is that of its table, with a dot.
    fn collect(&mut self, object: &Value, path: &str) {
        let empty = Map::new();
        let properties = object.get("properties").and_then(Value::as_object).unwrap_or(&empty);
        let required = object.get("required").and_then(Value::as_array);
        for (key, node) in properties {
            let is_required = required.is_some_and(|names| names.iter().any(|name| name == key));
            self.add(&format!("{path}{key}"), node, is_required);
        }
    }

    fn add(&mut self, path: &str, node: &Value, is_required: bool) {
        let target = self.target(node);
        let items = target.get("items").map(|items| self.target(items));
        let is_list = items.as_ref().is_some_and(|items| items.get("properties").is_some());
        let inner = if is_list { items.clone().unwrap_or_default() } else { target.clone() };
        let kinds = self.kinds(&inner);
        if inner.get("properties").is_none() && kinds.is_empty() {
            let kind = self.values(node, &target, items.as_ref(), is_required);
            self.push(path.to_owned(), false, meaning(node), kind);
            return;
        }
        let name = if is_list { format!("[[{path}]]") } else { format!("[{path}]") };
        let about = [meaning(node), meaning(&inner)].into_iter().find(|text| !text.is_empty());
        let kind = if is_required { "required" } else { "" };
        self.push(name, true, about.unwrap_or_default(), kind.to_owned());
        self.collect(&inner, &format!("{path}."));
        for kind in kinds {
            let name = kind["properties"]["policy"]["const"].as_str().unwrap_or_default().to_owned();
            self.push(format!("{path}.policy = \"{name}\""), false, meaning(&kind), String::new());
            let keys = kind.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
            for (key, node) in keys.iter().filter(|(key, _)| *key != "policy") {
                self.add(&format!("{path}.{key}"), node, false);
            }
        }
    }

    fn push(&mut self, path: String, is_table: bool, meaning: String, kind: String) {
        self.found.push(Row { path, is_table, meaning, kind });
    }

    /// The kinds of a power save that a file may have.
    fn kinds(&self, node: &Value) -> Vec<Value> {
        let all = node.get("oneOf").and_then(Value::as_array).cloned().unwrap_or_default();
        let wanted = |kind: &Value| {
            kind["properties"]["policy"]["const"]
                .as_str()
                .is_some_and(|name| self.format.policies.contains(&name))
        };
        all.into_iter().filter(wanted).collect()
    }

    /// What a schema refers to, without the possibility of no value.
    fn target(&self, node: &Value) -> Value {
        if let Some(kinds) = node.get("anyOf").and_then(Value::as_array) {
            return kinds
                .iter()
                .find(|kind| kind["type"] != "null")
                .map_or(Value::Null, |kind| self.target(kind));
        }
        match node.get("$ref").and_then(Value::as_str) {
            Some(place) => {
                self.format.schema.pointer(place.trim_start_matches('#')).cloned().unwrap_or_default()
            }
            None => node.clone(),
        }
    }

    /// Which values a key has, and which without it.
    fn values(&self, node: &Value, target: &Value, items: Option<&Value>, is_required: bool) -> String {
        let kind = match items {
            Some(items) => format!("a list, each {}", kind(items)),
            None => kind(target),
        };
        match node.get("default") {
            _ if is_required => format!("{kind}; required"),
            None | Some(Value::Null) => kind,
            Some(Value::Array(values)) if values.is_empty() => kind,
            Some(value) => format!("{kind}; default {value}"),
        }
    }
}

/// The description of a schema, in one line and without the marks of documentation comments.
fn meaning(node: &Value) -> String {
    let text = node.get("description").and_then(Value::as_str).unwrap_or_default();
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace(['`', '[', ']'], "")
}

/// The kind of a value: a quantity by its description, names, or a type of TOML.
fn kind(node: &Value) -> String {
    if node["format"] == "quantity" {
        let example = node["examples"][0].as_str().unwrap_or_default();
        return format!("{}, as in \"{example}\"", meaning(node).split(": ").next().unwrap_or_default());
    }
    let of = |kinds: &Value| -> Vec<String> {
        let names = kinds.as_array().into_iter().flatten();
        names.filter(|name| name["const"].is_string()).map(|name| name["const"].to_string()).collect()
    };
    if let Some(names) = node.get("enum").and_then(Value::as_array) {
        return names.iter().map(Value::to_string).collect::<Vec<_>>().join(" or ");
    }
    let names = of(&node["oneOf"]);
    if !names.is_empty() {
        return names.join(" or ");
    }
    let kinds = match &node["type"] {
        Value::String(one) => vec![one.as_str()],
        Value::Array(several) => {
            several.iter().filter_map(Value::as_str).filter(|kind| *kind != "null").collect()
        }
        _ => Vec::new(),
    };
    match kinds.first() {
        Some(&"string") => "a text",
        Some(&"integer") => "a whole number",
        Some(&"number") => "a number",
        Some(&"boolean") => "true or false",
        _ => "a value",
    }
    .to_owned()
}

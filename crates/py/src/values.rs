//! Values of scenarios between Python and Rust: nested dicts and lists of plain values and quantities.
//!
//! A scenario's TOML form is what both sides share; its schema says which texts are quantities. Left out: `None`, which no
//! scenario has, and dates.

use airwatt_base::Quantity as Real;
use airwatt_sim::scenario::Scenario;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyMapping, PySequence, PyString};
use serde_json::Value as Schema;
use toml::{Table, Value};

use crate::errors::InputError;
use crate::quantity::Quantity;

/// Nesting beyond this is refused: it is a cycle, or no scenario.
const DEPTH: usize = 16;

/// A Python value as a scenario file writes it, for an override: `[{"direction": "up"}]` is `[{ direction = "up" }]`. A text
/// alone stays as it is. Raises `InputError`.
#[pyfunction]
pub(crate) fn toml_value(value: &Bound<'_, PyAny>) -> PyResult<String> {
    match to_toml("value", value, DEPTH)? {
        Value::String(text) => Ok(text),
        other => Ok(other.to_string()),
    }
}

/// A mapping from Python as a table of keys.
pub(crate) fn to_table(name: &str, mapping: &Bound<'_, PyAny>) -> PyResult<Table> {
    match to_toml(name, mapping, DEPTH)? {
        Value::Table(table) => Ok(table),
        other => Err(InputError::new_err(format!(
            "{name}: expected a mapping of keys, got a {}",
            other.type_str()
        ))),
    }
}

fn to_toml(key: &str, value: &Bound<'_, PyAny>, depth: usize) -> PyResult<Value> {
    let wrong = |got: String| {
        let expected = "a text, a number, a boolean, a Quantity, or a mapping or list of them";
        Err(InputError::new_err(format!("{key}: expected {expected}, got {got}")))
    };
    if depth == 0 {
        return wrong(format!("more than {DEPTH} levels"));
    }
    // A boolean is an integer in Python, so it comes first.
    if value.is_instance_of::<PyBool>() {
        return Ok(Value::Boolean(value.extract()?));
    }
    if value.is_instance_of::<PyInt>() {
        return match value.extract() {
            Ok(integer) => Ok(Value::Integer(integer)),
            Err(_) => wrong("an integer beyond 64 bits".to_owned()),
        };
    }
    if value.is_instance_of::<PyFloat>() {
        return Ok(Value::Float(value.extract()?));
    }
    if value.is_instance_of::<PyString>() {
        return Ok(Value::String(value.extract()?));
    }
    if value.is_instance_of::<Quantity>() {
        return Ok(Value::String(value.str()?.to_string()));
    }
    if let Ok(mapping) = value.cast::<PyMapping>() {
        let mut table = Table::new();
        for item in mapping.items()?.iter() {
            let (name, value): (String, Bound<'_, PyAny>) = item.extract()?;
            let below = to_toml(&format!("{key}.{name}"), &value, depth - 1)?;
            table.insert(name, below);
        }
        return Ok(Value::Table(table));
    }
    if let Ok(sequence) = value.cast::<PySequence>() {
        let items = sequence.try_iter()?.enumerate();
        let items = items.map(|(index, item)| to_toml(&format!("{key}.{index}"), &item?, depth - 1));
        return Ok(Value::Array(items.collect::<PyResult<_>>()?));
    }
    // Numbers of other libraries, and paths.
    if let Ok(integer) = value.extract() {
        return Ok(Value::Integer(integer));
    }
    if let Ok(float) = value.extract() {
        return Ok(Value::Float(float));
    }
    if let Ok(path) = value.extract::<std::path::PathBuf>() {
        return Ok(Value::String(path.to_string_lossy().into_owned()));
    }
    wrong(value.get_type().name()?.to_string())
}

/// The whole scenario as nested dicts, with its quantities as such.
pub(crate) fn to_dict<'py>(py: Python<'py>, scenario: &Scenario) -> PyResult<Bound<'py, PyAny>> {
    let root = Scenario::json_schema();
    from_toml(py, &Value::Table(scenario.to_table()), &[&root], &root)
}

/// `schemas` are those that describe the value; a key of a table is described by whichever of them has it.
fn from_toml<'py>(
    py: Python<'py>,
    value: &Value,
    schemas: &[&Schema],
    root: &Schema,
) -> PyResult<Bound<'py, PyAny>> {
    let mut resolved = Vec::new();
    schemas.iter().for_each(|schema| resolve(schema, root, &mut resolved, DEPTH));
    let below =
        |keyword: &str| -> Vec<&Schema> { resolved.iter().filter_map(|node| node.get(keyword)).collect() };
    Ok(match value {
        Value::String(text) => {
            let is_quantity = resolved.iter().any(|node| node["format"] == "quantity");
            match text.parse::<Real>() {
                Ok(real) if is_quantity => Quantity::from(real).into_pyobject(py)?.into_any(),
                _ => PyString::new(py, text).into_any(),
            }
        }
        Value::Integer(integer) => integer.into_pyobject(py)?.into_any(),
        Value::Float(float) => float.into_pyobject(py)?.into_any(),
        Value::Boolean(boolean) => PyBool::new(py, *boolean).to_owned().into_any(),
        Value::Datetime(time) => PyString::new(py, &time.to_string()).into_any(),
        Value::Array(items) => {
            let schemas = below("items");
            let items = items.iter().map(|item| from_toml(py, item, &schemas, root));
            PyList::new(py, items.collect::<PyResult<Vec<_>>>()?)?.into_any()
        }
        Value::Table(table) => {
            let properties = below("properties");
            let dict = PyDict::new(py);
            for (name, value) in table {
                let schemas: Vec<&Schema> = properties.iter().filter_map(|node| node.get(name)).collect();
                dict.set_item(name, from_toml(py, value, &schemas, root)?)?;
            }
            dict.into_any()
        }
    })
}

/// Adds a schema with all that it refers to and is made of.
fn resolve<'s>(schema: &'s Schema, root: &'s Schema, into: &mut Vec<&'s Schema>, depth: usize) {
    if depth == 0 {
        return;
    }
    into.push(schema);
    let reference = schema["$ref"].as_str().and_then(|reference| root.pointer(reference.strip_prefix('#')?));
    let parts = ["anyOf", "oneOf", "allOf"].into_iter().filter_map(|keyword| schema[keyword].as_array());
    for part in reference.into_iter().chain(parts.flatten()) {
        resolve(part, root, into, depth - 1);
    }
}

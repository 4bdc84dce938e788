//! Scenarios: read and checked by the simulator, handed around by Python.

use std::path::{Path, PathBuf};

use airwatt_base::{Span, reason_of};
use airwatt_sim::scenario::{Checked, OwnChoice, OwnKind, Scenario as Tables};
use pyo3::prelude::*;
use toml::Table;

use crate::errors::InputError;
use crate::values;

/// Where a scenario came from, to read it again.
#[derive(Clone)]
enum Source {
    /// A file, or one that ships.
    File(PathBuf),
    /// Keys from Python, and the name that errors give them.
    Keys(Table, String),
    /// A TOML text, and the name that errors give it.
    Text(String, String),
}

/// A scenario that was read and checked, and where it came from.
#[pyclass(frozen, module = "airwatt")]
pub(crate) struct Scenario {
    pub(crate) checked: Checked,
    source: Source,
    overrides: Vec<(String, String)>,
}

/// Reads a scenario, also from a file whose name is no UTF-8.
fn read(name_or_path: &Path, overrides: &[(String, String)]) -> Result<Checked, String> {
    let read = match name_or_path.to_str() {
        Some(text) => Tables::load(text, overrides),
        None => {
            let shown = name_or_path.to_string_lossy();
            let text = airwatt_base::read_text(name_or_path)
                .map_err(|error| format!("{shown}: {}", reason_of(&error)))?;
            Tables::from_text(&text, &shown, overrides)
        }
    };
    read.map_err(|error| error.to_string())
}

/// The text of a file that a user hands over: a regular file of up to 16 MB. Raises `InputError`.
#[pyfunction]
pub(crate) fn read_text(path: PathBuf) -> PyResult<String> {
    airwatt_base::read_text(&path)
        .map_err(|error| InputError::new_err(format!("{}: {}", path.display(), reason_of(&error))))
}

#[pymethods]
impl Scenario {
    /// Reads a file, or a scenario that ships, and applies `KEY=VALUE` pairs in order. Raises `InputError`.
    #[staticmethod]
    #[pyo3(signature = (name_or_path, overrides = Vec::new()))]
    fn load(py: Python<'_>, name_or_path: PathBuf, overrides: Vec<(String, String)>) -> PyResult<Self> {
        Self::read(py, Source::File(name_or_path), overrides)
    }

    /// A scenario of nested mappings, as a file has them; `base` names the scenario that it starts from. `name` stands in
    /// errors. Raises `InputError`.
    #[staticmethod]
    #[pyo3(signature = (values, overrides = Vec::new(), *, name = "scenario"))]
    fn of(values: &Bound<'_, PyAny>, overrides: Vec<(String, String)>, name: &str) -> PyResult<Self> {
        let table = values::to_table(name, values)?;
        Self::read(values.py(), Source::Keys(table, name.to_owned()), overrides)
    }

    /// A scenario of a TOML text, as a file has it. `name` stands in errors. Raises `InputError`.
    #[staticmethod]
    #[pyo3(signature = (text, overrides = Vec::new(), *, name = "scenario"))]
    fn from_toml(
        py: Python<'_>,
        text: String,
        overrides: Vec<(String, String)>,
        name: &str,
    ) -> PyResult<Self> {
        Self::read(py, Source::Text(text, name.to_owned()), overrides)
    }

    /// The same scenario with `KEY=VALUE` pairs applied in order. Raises `InputError`.
    ///
    /// It is read again, so that an override may also undo what an earlier one made impossible.
    fn replace(&self, py: Python<'_>, overrides: Vec<(String, String)>) -> PyResult<Self> {
        Self::read(py, self.source.clone(), [self.overrides.clone(), overrides].concat())
    }

    /// The same scenario, its run at most so long (`20s`), measured over the same share. Raises `InputError`.
    fn shortened(&self, py: Python<'_>, length: &str) -> PyResult<Self> {
        let length: Span =
            length.parse().map_err(|error| InputError::new_err(format!("length {length:?}: {error}")))?;
        self.replace(py, self.checked.shortened(length))
    }

    /// The name that result documents carry.
    #[getter]
    fn name(&self) -> &str {
        &self.checked.name
    }

    /// The whole scenario, defaults filled in, as it would stand in a file; with `expand` in the general form.
    #[pyo3(signature = (*, expand = false))]
    fn to_toml(&self, expand: bool) -> String {
        if expand { self.checked.expanded().to_toml() } else { self.checked.to_toml() }
    }

    /// The text that decides a run together with its seed: scenarios with equal texts have equal results.
    fn canonical(&self) -> String {
        self.checked.canonical()
    }

    /// The whole scenario, defaults filled in, as nested dicts of plain values and `Quantity`; with `expand` in the general
    /// form.
    #[pyo3(signature = (*, expand = false))]
    fn to_dict<'py>(&self, py: Python<'py>, expand: bool) -> PyResult<Bound<'py, PyAny>> {
        if expand {
            values::to_dict(py, &self.checked.expanded())
        } else {
            values::to_dict(py, &self.checked)
        }
    }

    /// The mechanisms from outside that it names: what an error about each begins with, its name, the text of its file, and whether it
    /// is a policy.
    fn own(&self) -> Vec<(String, String, String, bool)> {
        let mut tables = Tables::clone(&self.checked);
        let of = |OwnChoice { place, name, source, kind, .. }: OwnChoice<'_>| {
            (place.clone(), name.clone(), source.to_string(), matches!(kind, OwnKind::Policy(..)))
        };
        tables.own_choices().into_iter().map(of).collect()
    }

    fn __repr__(&self) -> String {
        format!("<Scenario {}>", self.checked.name)
    }
}

impl Scenario {
    fn read(py: Python<'_>, source: Source, overrides: Vec<(String, String)>) -> PyResult<Self> {
        let checked = py
            .detach(|| match &source {
                // The file may be a pipe: other threads run while this one waits for it.
                Source::File(name_or_path) => read(name_or_path, &overrides),
                Source::Keys(table, name) => {
                    Tables::from_table(table.clone(), name, &overrides).map_err(|error| error.to_string())
                }
                Source::Text(text, name) => {
                    Tables::from_text(text, name, &overrides).map_err(|error| error.to_string())
                }
            })
            .map_err(InputError::new_err)?;
        Ok(Self { checked, source, overrides })
    }
}

//! Scenarios: read and checked by the simulator, handed around by Python.

use airwatt_base::Span;
use airwatt_sim::scenario::Scenario as Checked;
use pyo3::prelude::*;

use crate::errors::InputError;

/// A scenario that was read and checked, and where it came from.
#[pyclass(frozen, module = "airwatt")]
pub(crate) struct Scenario {
    pub(crate) checked: Checked,
    source: String,
    overrides: Vec<(String, String)>,
}

#[pymethods]
impl Scenario {
    /// Reads a file, or a scenario that ships, and applies `KEY=VALUE` pairs in order. Raises `InputError`.
    #[staticmethod]
    #[pyo3(signature = (name_or_path, overrides = Vec::new()))]
    fn load(name_or_path: String, overrides: Vec<(String, String)>) -> PyResult<Self> {
        let checked = Checked::load(&name_or_path, &overrides)
            .map_err(|error| InputError::new_err(error.to_string()))?;
        Ok(Self { checked, source: name_or_path, overrides })
    }

    /// The same scenario with `KEY=VALUE` pairs applied in order. Raises `InputError`.
    ///
    /// It is read again, so that an override may also undo what an earlier one made impossible.
    fn replace(&self, overrides: Vec<(String, String)>) -> PyResult<Self> {
        Self::load(self.source.clone(), [self.overrides.clone(), overrides].concat())
    }

    /// The same scenario, its run at most so long (`20s`), measured over the same share. Raises `InputError`.
    fn shortened(&self, length: &str) -> PyResult<Self> {
        let length: Span =
            length.parse().map_err(|error| InputError::new_err(format!("length {length:?}: {error}")))?;
        self.replace(self.checked.shortened(length))
    }

    /// The name that result documents carry.
    #[getter]
    fn name(&self) -> &str {
        &self.checked.name
    }

    /// The whole scenario, defaults filled in, as it would stand in a file.
    fn to_toml(&self) -> String {
        self.checked.to_toml()
    }

    fn __repr__(&self) -> String {
        format!("<Scenario {}>", self.checked.name)
    }
}

//! Traces as Python sees them: named columns of raw bytes.

use airwatt_sim::record::{Column as Recorded, RunTrace, Values};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// One column of a trace.
#[pyclass(frozen, module = "airwatt")]
pub(crate) struct Column {
    name: &'static str,
    kind: &'static str,
    labels: Vec<String>,
    length: usize,
    data: Py<PyBytes>,
}

#[pymethods]
impl Column {
    /// Its name, with the unit last.
    #[getter]
    fn name(&self) -> &str {
        self.name
    }

    /// `i64`, `u32`, `bool` (a byte each), or `code`: `u32` indices into `labels`.
    #[getter]
    fn kind(&self) -> &str {
        self.kind
    }

    /// The names that codes stand for; empty for other kinds.
    #[getter]
    fn labels(&self) -> Vec<String> {
        self.labels.clone()
    }

    /// How many values there are.
    #[getter]
    fn length(&self) -> usize {
        self.length
    }

    /// The values, little-endian.
    #[getter]
    fn data(&self, py: Python<'_>) -> Py<PyBytes> {
        self.data.clone_ref(py)
    }
}

/// Every table of a trace, by name.
pub(crate) fn tables(py: Python<'_>, trace: &RunTrace) -> Vec<(&'static str, Vec<Column>)> {
    let mut tables = Vec::new();
    py.detach(|| {
        trace.each_table(|table| {
            let columns =
                Python::attach(|py| table.columns.into_iter().map(|values| column(py, values)).collect());
            tables.push((table.name, columns));
        });
    });
    tables
}

fn column(py: Python<'_>, recorded: Recorded) -> Column {
    let Recorded { name, values } = recorded;
    let (length, data) = (values.len(), PyBytes::new(py, &values.to_le_bytes()).unbind());
    let (kind, labels) = match values {
        Values::I64(_) => ("i64", Vec::new()),
        Values::U32(_) => ("u32", Vec::new()),
        Values::Bool(_) => ("bool", Vec::new()),
        Values::Code(_, labels) => ("code", labels),
    };
    Column { name, kind, labels, length, data }
}

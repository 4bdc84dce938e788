//! The analytical models: what there is as JSON, texts to numbers, and the loop over points.
//!
//! Arrays cross as buffers of doubles, copied on the way in and out. Python makes their shapes fit and hands over some
//! thousand points at a time; the loop over them is here, without the interpreter's lock.

use airwatt_models::ModelError;
use airwatt_models::catalogue::{self, MODELS, Model, Region};
use airwatt_models::fields::{Field, FieldKind};
use airwatt_models::{ack_gap, text};
use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::errors::InputError;
use crate::whole::Whole;

/// The analytical models with their parameters and results, as a JSON list.
#[pyfunction]
pub(crate) fn models() -> String {
    let fields = |fields: &[Field]| Value::Array(fields.iter().map(field).collect());
    let model = |model: &Model| {
        json!({
            "name": model.name,
            "summary": model.summary,
            "source": model.source,
            "columns": model.columns,
            "parameters": fields(&model.parameters()),
            "results": fields(&model.results()),
            "regions": model.regions.iter().map(region).collect::<Vec<_>>(),
        })
    };
    Value::Array(MODELS.iter().map(model).collect()).to_string()
}

fn field(field: &Field) -> Value {
    let (kind, choices) = match field.kind {
        FieldKind::Number => ("number", None),
        FieldKind::Whole => ("whole", None),
        FieldKind::WholeOrNone => ("whole-or-none", None),
        FieldKind::Choice(names) => ("choice", Some(names)),
    };
    let default = match choices {
        Some(names) => json!(names[field.default as usize]),
        // JSON has no infinity: no limit is null.
        None => json!(field.default),
    };
    json!({
        "name": field.name,
        "short_name": field.short_name(),
        "unit": field.unit,
        "text": field.text,
        "kind": kind,
        "choices": choices,
        "default": default,
    })
}

fn region(region: &Region) -> Value {
    json!({ "result": region.result, "least": region.least, "outside": region.outside })
}

fn find(model: &str) -> PyResult<&'static Model> {
    let unknown = || {
        let names: Vec<&str> = MODELS.iter().map(|model| model.name).collect();
        InputError::new_err(format!("model: expected one of {}, got {model:?}", names.join(", ")))
    };
    catalogue::find(model).ok_or_else(unknown)
}

/// Reads values of a parameter as a user writes them: one, a list, a range. Raises `InputError`.
#[pyfunction]
pub(crate) fn model_values(model: &str, parameter: &str, text: &str) -> PyResult<Vec<f64>> {
    let model = find(model)?;
    let field = model
        .parameters()
        .into_iter()
        .find(|field| field.name == parameter)
        .ok_or_else(|| InputError::new_err(format!("{}: no parameter {parameter}", model.name)))?;
    text::values(&field, text).map_err(|error| InputError::new_err(format!("{}: {error}", model.name)))
}

/// One parameter at every point.
enum Column {
    Same(f64),
    Each(Vec<f64>),
}

impl Column {
    fn of(parameter: &Bound<'_, PyAny>, points: usize) -> PyResult<Self> {
        if let Ok(value) = parameter.extract::<f64>() {
            return Ok(Self::Same(value));
        }
        let values = PyBuffer::<f64>::get(parameter)?.to_vec(parameter.py())?;
        if values.len() == points { Ok(Self::Each(values)) } else { Err(not_laid_out()) }
    }

    fn at(&self, point: usize) -> f64 {
        match self {
            Self::Same(value) => *value,
            Self::Each(values) => values[point],
        }
    }
}

fn not_laid_out() -> PyErr {
    InputError::new_err(
        "model_solve: expected a number or a double for each point, and a row for each result",
    )
}

/// Solves a model at every point: a number or a buffer of doubles for each parameter, in the order of `models()`; results
/// go into one buffer, one row a result. An error names its point, counted from `first`. Raises `InputError`.
#[pyfunction]
#[pyo3(signature = (model, parameters, results, first = None))]
pub(crate) fn model_solve(
    py: Python<'_>,
    model: &str,
    parameters: Vec<Bound<'_, PyAny>>,
    results: &Bound<'_, PyAny>,
    first: Option<Whole>,
) -> PyResult<()> {
    let model = find(model)?;
    let first = first.map(|first| first.within("first", 0, usize::MAX)).transpose()?;
    let (inputs, outputs) = (model.parameters().len(), model.results().len());
    let buffer = PyBuffer::<f64>::get(results)?;
    if parameters.len() != inputs || !buffer.item_count().is_multiple_of(outputs) {
        return Err(not_laid_out());
    }
    let points = buffer.item_count() / outputs;
    let columns: Vec<Column> =
        parameters.iter().map(|parameter| Column::of(parameter, points)).collect::<PyResult<_>>()?;
    let solved = py.detach(|| solve(model, &columns, points, outputs)).map_err(|(point, error)| {
        input_error(model, error, first.map(|first| first.saturating_add(point)))
    })?;
    buffer.copy_from_slice(py, &solved)
}

fn input_error(model: &Model, error: ModelError, point: Option<usize>) -> PyErr {
    let place = point.map_or_else(String::new, |point| format!(" (point {point})"));
    InputError::new_err(format!("{}: {error}{place}", model.name))
}

/// Solves every point; gives the results row by row, or the first point that is wrong.
fn solve(
    model: &Model,
    columns: &[Column],
    points: usize,
    outputs: usize,
) -> Result<Vec<f64>, (usize, ModelError)> {
    let mut solved = vec![0.0; outputs * points];
    let mut parameters = vec![0.0; columns.len()];
    let mut results = vec![0.0; outputs];
    for point in 0..points {
        for (parameter, column) in parameters.iter_mut().zip(columns) {
            *parameter = column.at(point);
        }
        model.solve(&parameters, &mut results).map_err(|error| (point, error))?;
        for (result, row) in results.iter().zip(solved.chunks_exact_mut(points)) {
            row[point] = *result;
        }
    }
    Ok(solved)
}

/// The distribution of the gaps between acknowledgements: `(gap_s, expected number)` pairs. Raises `InputError`.
#[pyfunction]
#[pyo3(signature = (throughput_bps, rtt_s, m, q))]
pub(crate) fn ack_gaps(throughput_bps: f64, rtt_s: f64, m: Whole, q: f64) -> PyResult<Vec<(f64, f64)>> {
    let m = m.within("ack-gap: m", 1, u32::MAX)?;
    let mut params = ack_gap::Params { throughput_bps, rtt_s, m, ..ack_gap::Params::default() };
    params.frames.q = q;
    ack_gap::distribution(&params).map_err(|error| InputError::new_err(format!("ack-gap: {error}")))
}

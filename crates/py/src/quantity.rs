//! `airwatt.Quantity`: a number with its unit, read and printed by `airwatt_base::units`.
//!
//! Whatever takes a text such as `20ms` takes a quantity too: its text is what the scenario parser reads. Left out: arrays,
//! which models take as plain numbers of SI units.

use std::hash::{DefaultHasher, Hash, Hasher};

use airwatt_base::units::{Dimension, Quantity as Real, QuantityError, Quotient};
use pyo3::basic::CompareOp;
use pyo3::exceptions::PyZeroDivisionError;
use pyo3::prelude::*;

use crate::errors::InputError;

fn wrong(error: QuantityError) -> PyErr {
    InputError::new_err(error.to_string())
}

/// A number with its unit.
#[pyclass(frozen, module = "airwatt", from_py_object)]
#[derive(Clone, Copy)]
pub(crate) struct Quantity(Real);

impl From<Real> for Quantity {
    fn from(real: Real) -> Self {
        Self(real)
    }
}

/// What is accepted beside a quantity: a text of one.
#[derive(FromPyObject)]
enum Operand {
    Quantity(Quantity),
    Text(String),
}

impl Operand {
    fn read(self) -> PyResult<Real> {
        match self {
            Self::Quantity(Quantity(real)) => Ok(real),
            Self::Text(text) => text.parse().map_err(wrong),
        }
    }
}

/// What a quantity is multiplied with or divided by.
#[derive(FromPyObject)]
enum Factor {
    Number(f64),
    Operand(Operand),
}

#[pymethods]
impl Quantity {
    /// Reads a text with a unit, as in `20ms`, or takes a quantity. With `dimension` only units of it. Raises `InputError`.
    #[new]
    #[pyo3(signature = (text, dimension = None))]
    fn new(text: Operand, dimension: Option<&str>) -> PyResult<Self> {
        let Some(name) = dimension else { return text.read().map(Self) };
        let found = Dimension::ALL.into_iter().find(|dimension| dimension.name() == name);
        let Some(dimension) = found else {
            let names = Dimension::ALL.map(Dimension::name).join(", ");
            return Err(InputError::new_err(format!("dimension: expected one of {names}, got {name:?}")));
        };
        let text = match text {
            Operand::Quantity(Self(real)) => real.to_string(),
            Operand::Text(text) => text,
        };
        Real::parse_as(dimension, &text).map(Self).map_err(wrong)
    }

    /// A number of SI units: s, b/s, B, b, W, J, A, V, m. Raises `InputError` for another unit.
    #[staticmethod]
    fn of(value: f64, unit: &str) -> PyResult<Self> {
        let unknown = || {
            let units = Dimension::ALL.map(Dimension::si_unit).join(", ");
            InputError::new_err(format!("unit: expected one of {units}, got {unit:?}"))
        };
        Ok(Self(Real::new(Dimension::of_si_unit(unit).ok_or_else(unknown)?, value)))
    }

    /// The number in SI units.
    #[getter]
    fn value(&self) -> f64 {
        self.0.value()
    }

    /// The SI unit of `value`.
    #[getter]
    fn unit(&self) -> &'static str {
        self.0.dimension().si_unit()
    }

    /// What it measures: `time`, `rate`, `size`, `bits`, `power`, `energy`, `current`, `voltage`, `distance`.
    #[getter]
    fn dimension(&self) -> &'static str {
        self.0.dimension().name()
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __repr__(&self) -> String {
        format!("Quantity('{}')", self.0)
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.0.dimension(), (self.0.value() + 0.0).to_bits()).hash(&mut hasher);
        hasher.finish()
    }

    fn __bool__(&self) -> bool {
        self.0.value() != 0.0
    }

    fn __richcmp__(&self, other: &Bound<'_, PyAny>, op: CompareOp) -> PyResult<bool> {
        let other = match (other.extract::<Operand>(), op) {
            (Ok(operand), _) => operand.read(),
            (Err(_), CompareOp::Eq) => return Ok(false),
            (Err(_), CompareOp::Ne) => return Ok(true),
            (Err(error), _) => return Err(error),
        };
        let order = other.and_then(|other| self.0.compare(other).map_err(wrong));
        match (order, op) {
            // Two dimensions, or a text that is no quantity, are unequal.
            (Err(_), CompareOp::Eq) => Ok(false),
            (Err(_), CompareOp::Ne) => Ok(true),
            (order, _) => Ok(op.matches(order?)),
        }
    }

    fn __add__(&self, other: Operand) -> PyResult<Self> {
        (self.0 + other.read()?).map(Self).map_err(wrong)
    }

    fn __radd__(&self, other: Operand) -> PyResult<Self> {
        (other.read()? + self.0).map(Self).map_err(wrong)
    }

    fn __sub__(&self, other: Operand) -> PyResult<Self> {
        (self.0 - other.read()?).map(Self).map_err(wrong)
    }

    fn __rsub__(&self, other: Operand) -> PyResult<Self> {
        (other.read()? - self.0).map(Self).map_err(wrong)
    }

    fn __neg__(&self) -> Self {
        Self(-self.0)
    }

    fn __mul__(&self, other: Factor) -> PyResult<Self> {
        match other {
            Factor::Number(factor) => Ok(Self(self.0 * factor)),
            Factor::Operand(other) => (self.0 * other.read()?).map(Self).map_err(wrong),
        }
    }

    fn __rmul__(&self, other: Factor) -> PyResult<Self> {
        self.__mul__(other)
    }

    /// A ratio if both have one dimension.
    fn __truediv__(&self, py: Python<'_>, other: Factor) -> PyResult<Py<PyAny>> {
        let zero = || PyZeroDivisionError::new_err("division of a quantity by zero");
        let quantity = |real| Ok(Self(real).into_pyobject(py)?.into_any().unbind());
        match other {
            Factor::Number(0.0) => Err(zero()),
            Factor::Number(divisor) => quantity(Real::new(self.0.dimension(), self.0.value() / divisor)),
            Factor::Operand(other) => {
                let other = other.read()?;
                if other.value() == 0.0 {
                    return Err(zero());
                }
                match (self.0 / other).map_err(wrong)? {
                    Quotient::Ratio(ratio) => Ok(ratio.into_pyobject(py)?.into_any().unbind()),
                    Quotient::Quantity(real) => quantity(real),
                }
            }
        }
    }
}

//! Integers from Python, which may be of any size and sign.

use std::fmt::Display;

use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;

use crate::errors::InputError;

/// An integer argument that is not checked yet. Anything that is no integer is refused as a `TypeError` before.
pub(crate) struct Whole {
    /// `None` if it is beyond 128 bits.
    value: Option<i128>,
    shown: String,
}

impl Whole {
    /// The argument `name` as a `T`. Raises `InputError` unless it is within `least` and `most`.
    pub(crate) fn within<T>(&self, name: &str, least: T, most: T) -> PyResult<T>
    where
        T: TryFrom<i128> + PartialOrd + Display + Copy,
    {
        let fits = self.value.and_then(|value| T::try_from(value).ok());
        fits.filter(|value| (least..=most).contains(value)).ok_or_else(|| {
            InputError::new_err(format!("{name}: expected {least} to {most}, got {}", self.shown))
        })
    }
}

impl<'a, 'py> FromPyObject<'a, 'py> for Whole {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let value = match object.extract::<i128>() {
            Ok(value) => Some(value),
            Err(error) if error.is_instance_of::<PyOverflowError>(object.py()) => None,
            Err(error) => return Err(error),
        };
        // Python refuses to print an integer of more than some thousand digits.
        let shown = value.map_or_else(|| "a number beyond 128 bits".to_owned(), |value| value.to_string());
        Ok(Self { value, shown })
    }
}

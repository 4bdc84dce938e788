//! Mechanisms written in Python: power-save policies and congestion controls.
//!
//! A run calls them in the thread that makes it, which keeps the interpreter until the run ends. The first exception that one
//! raises is kept, ends the run and is raised by it, with its traceback. After it the mechanisms are not called any more.
//!
//! Hooks that a class does not override are not called: the machines of `airwatt_proto` then do what they do without it.

mod congestion;
mod policy;
mod radio;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use airwatt_sim::scenario::{Checked, OwnChoice, OwnKind, OwnMechanism, Scenario, TcpControl, Transport};
use pyo3::prelude::*;
use pyo3::types::{PyString, PyType};

use crate::errors::InputError;
pub(crate) use congestion::{Acknowledged, CongestionWindow};
pub(crate) use radio::Radio;

/// The first exception of a run's mechanisms.
#[derive(Clone, Debug, Default)]
pub(crate) struct Failure(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    /// Whether there is one. It is read before each call, and so without a lock.
    happened: AtomicBool,
    error: Mutex<Option<PyErr>>,
}

impl Failure {
    fn note(&self, error: PyErr) {
        let mut kept = self.0.error.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.0.happened.swap(true, Ordering::Relaxed) {
            *kept = Some(error);
        }
    }

    /// Whether an exception was raised.
    pub(crate) fn happened(&self) -> bool {
        self.0.happened.load(Ordering::Relaxed)
    }

    /// The exception, once.
    pub(crate) fn take(&self) -> Option<PyErr> {
        self.0.error.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Checks the mechanisms that a scenario names before a run, with an instance of each. Raises `InputError` for what is no
/// mechanism, declares wrong attributes or does not go with the scenario, and what making an instance raises.
#[pyfunction]
pub(crate) fn check_mechanisms(
    scenario: &crate::scenario::Scenario,
    own: BTreeMap<String, Bound<'_, PyAny>>,
) -> PyResult<()> {
    with_mechanisms(&scenario.checked, &own, &Failure::default()).map(drop)
}

/// A scenario with the mechanisms that it names, made by these factories; the exceptions of its runs go to `failure`. Raises as
/// [`check_mechanisms`].
pub(crate) fn with_mechanisms(
    scenario: &Checked,
    factories: &BTreeMap<String, Bound<'_, PyAny>>,
    failure: &Failure,
) -> PyResult<Checked> {
    let mut scenario = Scenario::clone(scenario);
    for OwnChoice { name, kind, .. } in scenario.own_choices() {
        let Some(factory) = factories.get(name) else { continue };
        match kind {
            OwnKind::Policy(made, listed) => {
                let policy = policy::own(factory, failure)?;
                *listed = policy.stand_in();
                *made = Some(policy);
            }
            OwnKind::Congestion(made, listed) => {
                let (congestion, watches) = congestion::own(factory, failure)?;
                *listed = match congestion.stand_in() {
                    Transport::Tcp(control) => Transport::Tcp(TcpControl { ackloss: watches, ..control }),
                    other => other,
                };
                *made = Some(congestion);
            }
        }
    }
    scenario.with_own().map_err(InputError::new_err)
}

/// An instance that `factory` makes, if it is one of `airwatt.own.{base}`.
fn instance<'py>(factory: &Bound<'py, PyAny>, base: &str) -> PyResult<Bound<'py, PyAny>> {
    let made = factory.call0()?;
    if made.is_instance(base_class(factory.py(), base)?.as_any())? {
        return Ok(made);
    }
    Err(InputError::new_err(format!(
        "expected a class derived from airwatt.{base}, or a function that makes one, got {}",
        shown(factory)
    )))
}

/// A value as Python writes it; the name of its type if it cannot be written.
fn shown(value: &Bound<'_, PyAny>) -> String {
    value.repr().map_or_else(|_| value.get_type().to_string(), |text| text.to_string_lossy().into_owned())
}

fn base_class<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyType>> {
    Ok(py.import("airwatt.own")?.getattr(name)?.cast_into::<PyType>()?)
}

/// The name of an instance's class.
fn class_name(made: &Bound<'_, PyAny>) -> PyResult<String> {
    Ok(made.get_type().name()?.to_string())
}

/// The method of an instance that overrides the one of `base`; `None` if it does not. Raises `InputError` for what cannot be
/// called.
fn hook(
    made: &Bound<'_, PyAny>,
    base: &Bound<'_, PyType>,
    name: &Bound<'_, PyString>,
) -> PyResult<Option<Py<PyAny>>> {
    let inherited = made.get_type().getattr(name)?.is(&base.getattr(name)?);
    // An instance may have a function of its own in place of the method.
    let shadowed = made.getattr("__dict__").is_ok_and(|own| own.contains(name).unwrap_or(false));
    if inherited && !shadowed {
        return Ok(None);
    }
    let own = made.getattr(name)?;
    if own.is_callable() {
        return Ok(Some(own.unbind()));
    }
    let class = class_name(made)?;
    Err(InputError::new_err(format!("{class}.{name}: expected a method, got {}", shown(&own))))
}

/// The methods of an instance that override those of `base`, in the order of `names`.
fn hooks<const N: usize>(
    made: &Bound<'_, PyAny>,
    base: &str,
    names: [&str; N],
) -> PyResult<[Option<Py<PyAny>>; N]> {
    let base = base_class(made.py(), base)?;
    let mut found = [const { None }; N];
    for (place, name) in found.iter_mut().zip(names) {
        *place = hook(made, &base, &PyString::new(made.py(), name))?;
    }
    Ok(found)
}

/// A deep copy of an instance.
fn copied<'py>(made: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    made.py().import("copy")?.call_method1("deepcopy", (made,))
}

//! A window into one run, and its stop button, for another thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use pyo3::prelude::*;

/// What the thread of a run and its observers share. Each number stands alone, so relaxed order is enough.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    cancelled: AtomicBool,
    simulated_ns: AtomicU64,
    /// Simulated end of the run; zero while unknown.
    end_ns: AtomicU64,
    events: AtomicU64,
}

impl Shared {
    /// Publishes where the run is. Returns false when it was asked to stop.
    pub(crate) fn report(&self, simulated_ns: u64, end_ns: Option<u64>, events: u64) -> bool {
        self.simulated_ns.store(simulated_ns, Ordering::Relaxed);
        self.end_ns.store(end_ns.unwrap_or(0), Ordering::Relaxed);
        self.events.store(events, Ordering::Relaxed);
        !self.cancelled.load(Ordering::Relaxed)
    }
}

/// Watches and stops one run from another thread.
#[pyclass(frozen, module = "airwatt")]
#[derive(Debug, Default)]
pub(crate) struct Control {
    pub(crate) shared: Arc<Shared>,
}

#[pymethods]
impl Control {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Asks the run to stop; it raises `KeyboardInterrupt` in its own thread soon after.
    fn cancel(&self) {
        self.shared.cancelled.store(true, Ordering::Relaxed);
    }

    /// Share of the run that is done, from 0 to 1; None while it cannot be known.
    #[getter]
    fn fraction(&self) -> Option<f64> {
        let end = self.shared.end_ns.load(Ordering::Relaxed);
        let now = self.shared.simulated_ns.load(Ordering::Relaxed);
        (end > 0).then(|| (now as f64 / end as f64).min(1.0))
    }

    /// Simulated time so far, in seconds.
    #[getter]
    fn simulated_s(&self) -> f64 {
        self.shared.simulated_ns.load(Ordering::Relaxed) as f64 / 1e9
    }

    /// Events so far.
    #[getter]
    fn events(&self) -> u64 {
        self.shared.events.load(Ordering::Relaxed)
    }
}

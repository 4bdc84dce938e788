//! A window into one run, and its stop button, for another thread.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use airwatt_emulate::Stop;
use pyo3::prelude::*;

/// What the thread of a run and its observers share. Each number stands alone, so relaxed order is enough.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    cancelled: AtomicBool,
    simulated_ns: AtomicU64,
    /// Share of the run that is done, in millionths.
    done_ppm: AtomicU64,
    events: AtomicU64,
    /// Bytes of a file that have been read, and its size; 0 if that is not known.
    bytes_read: AtomicU64,
    bytes_total: AtomicU64,
    /// Wakes a run that sleeps.
    alarm: Mutex<Option<Stop>>,
}

impl Shared {
    /// Has a cancellation stop an emulation, which looks at nothing while it sleeps.
    pub(crate) fn wake_on_cancel(&self, stop: Stop) {
        let mut alarm = self.alarm.lock().unwrap_or_else(PoisonError::into_inner);
        if self.cancelled.load(Ordering::Relaxed) {
            stop.stop();
        }
        *alarm = Some(stop);
    }

    fn cancel(&self) {
        let alarm = self.alarm.lock().unwrap_or_else(PoisonError::into_inner);
        self.cancelled.store(true, Ordering::Relaxed);
        if let Some(stop) = &*alarm {
            stop.stop();
        }
    }

    /// Publishes where the run is. Returns false when it was asked to stop.
    pub(crate) fn report(&self, simulated_ns: u64, share: f64, events: u64) -> bool {
        self.simulated_ns.store(simulated_ns, Ordering::Relaxed);
        self.done_ppm.store((share.clamp(0.0, 1.0) * 1e6) as u64, Ordering::Relaxed);
        self.events.store(events, Ordering::Relaxed);
        !self.cancelled.load(Ordering::Relaxed)
    }
}

impl Shared {
    /// Publishes how much of a file has been read. Returns false when the work was asked to stop.
    pub(crate) fn report_bytes(&self, bytes: u64, total: Option<u64>) -> bool {
        self.bytes_read.store(bytes, Ordering::Relaxed);
        self.bytes_total.store(total.unwrap_or_default(), Ordering::Relaxed);
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
        self.shared.cancel();
    }

    /// Whether it was asked to stop.
    #[getter]
    fn cancelled(&self) -> bool {
        self.shared.cancelled.load(Ordering::Relaxed)
    }

    /// Share of the run that is done, from 0 to 1, as far as it can be known.
    #[getter]
    fn fraction(&self) -> f64 {
        self.shared.done_ppm.load(Ordering::Relaxed) as f64 / 1e6
    }

    /// Simulated time so far, in seconds.
    #[getter]
    fn simulated_s(&self) -> f64 {
        self.shared.simulated_ns.load(Ordering::Relaxed) as f64 / 1e9
    }

    /// Bytes of the file that have been read so far.
    #[getter]
    fn bytes_read(&self) -> u64 {
        self.shared.bytes_read.load(Ordering::Relaxed)
    }

    /// Size of the file in bytes; 0 if it is not known.
    #[getter]
    fn bytes_total(&self) -> u64 {
        self.shared.bytes_total.load(Ordering::Relaxed)
    }

    /// Events so far.
    #[getter]
    fn events(&self) -> u64 {
        self.shared.events.load(Ordering::Relaxed)
    }
}

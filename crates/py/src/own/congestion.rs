//! A congestion control written in Python, as the TCP sender uses it.

use airwatt_proto::cc::{
    self, Algorithmic, Classic, NewReno, OwnCongestionControl, Recovery, Reno, Sack, Tahoe, WindowRule,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::{Failure, class_name, copied, hooks, instance, shown};
use crate::errors::InputError;

/// The name of the base class in `airwatt.own`.
const BASE: &str = "CongestionControl";

/// The kinds of loss repair, by name.
const RECOVERIES: [(&str, Recovery); 4] = [
    ("go-back", Recovery::GoBack),
    ("first-ack", Recovery::FirstAck),
    ("partial-acks", Recovery::PartialAcks),
    ("scoreboard", Recovery::Scoreboard),
];

/// The rule that a congestion control has where it overrides nothing.
fn rule(recovery: Recovery, classic: Classic) -> Box<dyn WindowRule> {
    match recovery {
        Recovery::GoBack => Box::new(Tahoe::new(classic)),
        Recovery::FirstAck => Box::new(Reno::new(classic)),
        Recovery::PartialAcks => Box::new(NewReno::new(classic)),
        Recovery::Scoreboard => Box::new(Sack::new(classic)),
    }
}

/// Largest window in bytes (RFC 7323 section 2.3).
const WINDOW_MAX: u32 = 1 << 30;

/// The congestion control that `factory` makes for each sender, and whether the detector of lost acknowledgements stands beside it.
pub(super) fn own(factory: &Bound<'_, PyAny>, failure: &Failure) -> PyResult<(OwnCongestionControl, bool)> {
    let sample = instance(factory, BASE)?;
    let name = class_name(&sample)?;
    let recovery = sample.getattr("recovery")?;
    let found = recovery.extract::<String>().ok();
    let Some((_, recovery)) = RECOVERIES.iter().copied().find(|(known, _)| found.as_deref() == Some(known))
    else {
        let known = RECOVERIES.map(|(known, _)| known).join(", ");
        let text = format!("{name}.recovery: expected one of {known}, got {}", shown(&recovery));
        return Err(InputError::new_err(text));
    };
    Hooks::of(&sample)?;
    let watches = sample.getattr("ackloss")?.is_truthy()?;
    let (factory, failure) = (factory.clone().unbind(), failure.clone());
    let own = OwnCongestionControl::new(&name, recovery, move |classic| {
        Box::new(Python::attach(|py| {
            let made = instance(factory.bind(py), BASE);
            PythonRule::or_inert(py, made, rule(recovery, classic), &failure)
        }))
    });
    Ok((own, watches))
}

/// The congestion window of a sender, while its congestion control handles an event. Its `on_...` methods do what the algorithm
/// of this package does that repairs losses in the same way.
#[pyclass(module = "airwatt")]
#[derive(Debug)]
pub(crate) struct CongestionWindow {
    rule: Box<dyn WindowRule>,
}

impl CongestionWindow {
    fn window(&self) -> &cc::CongestionWindow {
        &self.rule.classic().window
    }
}

#[pymethods]
impl CongestionWindow {
    /// The congestion window in bytes.
    #[getter]
    fn cwnd(&self) -> u32 {
        self.window().cwnd
    }

    #[setter]
    fn set_cwnd(&mut self, nbytes: i64) -> PyResult<()> {
        let cwnd = within("cwnd", nbytes, self.window().mss, WINDOW_MAX)?;
        self.rule.classic_mut().window.cwnd = cwnd;
        Ok(())
    }

    /// The slow-start threshold in bytes; 2^32 - 1 before the first loss.
    #[getter]
    fn ssthresh(&self) -> u32 {
        self.window().ssthresh
    }

    #[setter]
    fn set_ssthresh(&mut self, nbytes: i64) -> PyResult<()> {
        self.rule.classic_mut().window.ssthresh = within("ssthresh", nbytes, 0, u32::MAX)?;
        Ok(())
    }

    /// The maximum segment size in bytes.
    #[getter]
    fn mss(&self) -> u32 {
        self.window().mss
    }

    /// Whether the window still grows exponentially: it is below the threshold.
    #[getter]
    fn in_slow_start(&self) -> bool {
        self.window().in_slow_start()
    }

    /// Whether less than a segment of the window was free with `flight` bytes in flight (RFC 7661 section 4).
    fn is_used_by(&self, flight: u32) -> bool {
        self.window().is_used_by(flight)
    }

    /// Half of the data in flight, but at least two segments, in bytes (RFC 5681 equation (4)).
    fn half_of(&self, flight: u32) -> u32 {
        self.window().half_of(flight)
    }

    /// Grows as RFC 5681 says, unless the sender did not use the window.
    fn on_ack(&mut self, ack: &Acknowledged) {
        self.rule.on_ack(ack.0);
    }

    /// Reduces window and threshold at the start of fast recovery.
    fn on_enter_recovery(&mut self, flight: u32, duplicates: u32) {
        self.rule.enter_recovery(flight, duplicates);
    }

    /// Inflates the window by a segment, if the algorithm does that.
    fn on_duplicate_ack(&mut self) {
        self.rule.on_duplicate_ack();
    }

    /// Deflates the window by what was acknowledged, if the algorithm does that.
    fn on_partial_ack(&mut self, ack: &Acknowledged) {
        self.rule.on_partial_ack(ack.0);
    }

    /// Sets the window to the threshold.
    fn on_leave_recovery(&mut self) {
        self.rule.leave_recovery();
    }

    /// Sets the threshold, if the timeout `reduces` it, and the loss window of one segment.
    fn on_timeout(&mut self, flight: u32, reduces: bool, recovering: bool) {
        self.rule.on_timeout(flight, reduces, recovering);
    }

    /// Halves the window after lost acknowledgements.
    fn on_ack_loss(&mut self) {
        self.rule.on_ack_loss();
    }

    /// Reduces the window to at most `restart_window` bytes.
    fn on_idle(&mut self, restart_window: u32) {
        self.rule.on_idle(restart_window);
    }
}

/// Raises `ValueError` unless a number of bytes is in its range.
fn within(name: &str, bytes: i64, least: u32, most: u32) -> PyResult<u32> {
    match u32::try_from(bytes) {
        Ok(bytes) if (least..=most).contains(&bytes) => Ok(bytes),
        _ => Err(PyValueError::new_err(format!("{name}: expected {least} to {most} bytes, got {bytes}"))),
    }
}

/// An acknowledgement of new data.
#[pyclass(frozen, module = "airwatt")]
#[derive(Debug)]
pub(crate) struct Acknowledged(cc::Acknowledged);

#[pymethods]
impl Acknowledged {
    /// Bytes acknowledged for the first time.
    #[getter]
    fn nbytes(&self) -> u32 {
        self.0.bytes
    }

    /// Bytes that were in flight before it arrived.
    #[getter]
    fn flight(&self) -> u32 {
        self.0.flight
    }

    /// Time of arrival in nanoseconds.
    #[getter]
    fn now_ns(&self) -> u64 {
        self.0.now.as_nanos()
    }

    /// The smoothed round-trip time in nanoseconds; 0 before the first sample.
    #[getter]
    fn srtt_ns(&self) -> u64 {
        self.0.srtt.as_nanos()
    }
}

/// The methods that a congestion control overrides.
#[derive(Debug, Default)]
struct Hooks {
    ack: Option<Py<PyAny>>,
    enter_recovery: Option<Py<PyAny>>,
    duplicate_ack: Option<Py<PyAny>>,
    partial_ack: Option<Py<PyAny>>,
    leave_recovery: Option<Py<PyAny>>,
    timeout: Option<Py<PyAny>>,
    ack_loss: Option<Py<PyAny>>,
    idle: Option<Py<PyAny>>,
}

impl Hooks {
    fn of(made: &Bound<'_, PyAny>) -> PyResult<Self> {
        let names = [
            "on_ack",
            "on_enter_recovery",
            "on_duplicate_ack",
            "on_partial_ack",
            "on_leave_recovery",
            "on_timeout",
            "on_ack_loss",
            "on_idle",
        ];
        let [ack, enter_recovery, duplicate_ack, partial_ack, leave_recovery, timeout, ack_loss, idle] =
            hooks(made, BASE, names)?;
        Ok(Self { ack, enter_recovery, duplicate_ack, partial_ack, leave_recovery, timeout, ack_loss, idle })
    }
}

/// An instance of a congestion control in Python.
#[derive(Debug)]
struct PythonRule {
    /// What it has where it overrides nothing. It holds the window.
    rule: Box<dyn WindowRule>,
    /// `None` if it could not be made: the run is about to end.
    instance: Option<Instance>,
    failure: Failure,
}

#[derive(Debug)]
struct Instance {
    made: Py<PyAny>,
    hooks: Hooks,
    /// The window that its methods are given. It holds the rule while one is called.
    window: Py<CongestionWindow>,
}

impl PythonRule {
    /// The rule of an instance; if it could not be made, one that calls nothing.
    fn or_inert(
        py: Python<'_>,
        made: PyResult<Bound<'_, PyAny>>,
        rule: Box<dyn WindowRule>,
        failure: &Failure,
    ) -> Self {
        let instance = made.and_then(|made| {
            let window = Py::new(py, CongestionWindow { rule: rule.boxed_clone() })?;
            Ok(Instance { hooks: Hooks::of(&made)?, made: made.unbind(), window })
        });
        let instance = instance.map_err(|error| failure.note(error)).ok();
        Self { rule, instance, failure: failure.clone() }
    }

    /// Lets a method of the instance change the window. Returns whether there is one; after a failure there is none.
    fn call(
        &mut self,
        hook: impl Fn(&Hooks) -> &Option<Py<PyAny>>,
        method: impl for<'py> FnOnce(
            &Bound<'py, PyAny>,
            &Bound<'py, CongestionWindow>,
        ) -> PyResult<Bound<'py, PyAny>>,
    ) -> bool {
        let Some(instance) = self.instance.as_ref().filter(|_| !self.failure.happened()) else {
            return false;
        };
        let Some(hook) = hook(&instance.hooks) else { return false };
        Python::attach(|py| {
            let window = instance.window.bind(py);
            std::mem::swap(&mut window.borrow_mut().rule, &mut self.rule);
            if let Err(error) = method(hook.bind(py), window) {
                self.failure.note(error);
            }
            std::mem::swap(&mut window.borrow_mut().rule, &mut self.rule);
        });
        true
    }
}

impl Clone for PythonRule {
    fn clone(&self) -> Self {
        let rule = self.rule.boxed_clone();
        let failure = self.failure.clone();
        match &self.instance {
            Some(instance) => {
                Python::attach(|py| Self::or_inert(py, copied(instance.made.bind(py)), rule, &failure))
            }
            None => Self { rule, instance: None, failure },
        }
    }
}

impl WindowRule for PythonRule {
    fn classic(&self) -> &Classic {
        self.rule.classic()
    }

    fn classic_mut(&mut self) -> &mut Classic {
        self.rule.classic_mut()
    }

    fn on_ack(&mut self, ack: cc::Acknowledged) {
        if !self.call(|hooks| &hooks.ack, |hook, window| hook.call1((window, Acknowledged(ack)))) {
            self.rule.on_ack(ack);
        }
    }

    fn enter_recovery(&mut self, flight: u32, duplicates: u32) {
        if !self.call(|hooks| &hooks.enter_recovery, |hook, window| hook.call1((window, flight, duplicates)))
        {
            self.rule.enter_recovery(flight, duplicates);
        }
    }

    fn on_duplicate_ack(&mut self) {
        if !self.call(|hooks| &hooks.duplicate_ack, |hook, window| hook.call1((window,))) {
            self.rule.on_duplicate_ack();
        }
    }

    fn on_partial_ack(&mut self, ack: cc::Acknowledged) {
        if !self.call(|hooks| &hooks.partial_ack, |hook, window| hook.call1((window, Acknowledged(ack)))) {
            self.rule.on_partial_ack(ack);
        }
    }

    fn leave_recovery(&mut self) {
        if !self.call(|hooks| &hooks.leave_recovery, |hook, window| hook.call1((window,))) {
            self.rule.leave_recovery();
        }
    }

    fn on_timeout(&mut self, flight: u32, reduces: bool, recovering: bool) {
        let called = self
            .call(|hooks| &hooks.timeout, |hook, window| hook.call1((window, flight, reduces, recovering)));
        if !called {
            self.rule.on_timeout(flight, reduces, recovering);
        }
    }

    fn on_ack_loss(&mut self) {
        if !self.call(|hooks| &hooks.ack_loss, |hook, window| hook.call1((window,))) {
            self.rule.on_ack_loss();
        }
    }

    fn on_idle(&mut self, restart_window: u32) {
        if !self.call(|hooks| &hooks.idle, |hook, window| hook.call1((window, restart_window))) {
            self.rule.on_idle(restart_window);
        }
    }
}
